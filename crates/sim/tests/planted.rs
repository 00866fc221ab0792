//! Bugs planted in the engine: each must be found, and the seeds that find them must pass without.
//!
//! Built with the feature `planted` only: `cargo test --profile sim -p duramen-sim --features planted --test planted`.
//! `DURAMEN_BUG=Name` tries one; `DURAMEN_SEEDS=N` looks so far.

use std::panic;

use duramen_base::planted::{Bug, plant};
use duramen_sim::crash::run_seed;

/// Seeds that are tried with a bug.
const SEEDS: u64 = 150;

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn every_planted_bug_is_caught() {
    let seeds = number("DURAMEN_SEEDS", SEEDS);
    let only = std::env::var("DURAMEN_BUG").ok();
    // What a planted bug brings down says so itself; the text is in the result.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut lines = Vec::new();
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        let name = format!("{bug:?}");
        if only.as_ref().is_some_and(|o| *o != name) {
            continue;
        }
        plant(Some(bug));
        let caught = (1..=seeds).find_map(|seed| Some((seed, run_seed(seed).err()?)));
        plant(None);
        match caught {
            Some((seed, how)) => {
                println!("{name}: seed {seed}: {how:.400}");
                if let Err(e) = run_seed(seed) {
                    lines.push(format!("seed {seed} fails without {name} too: {e}"));
                }
            }
            None => {
                println!("{name}: not caught by {seeds} seeds");
                missed.push(name);
            }
        }
    }
    panic::set_hook(hook);
    assert!(lines.is_empty(), "{lines:?}");
    assert!(missed.is_empty(), "not caught by {seeds} seeds: {missed:?}");
}
