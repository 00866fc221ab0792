//! Bugs planted in the engine: each must be found, and the seeds that find them must pass without.
//!
//! Built with the feature `planted` only: `cargo test --profile sim -p duramen-sim --features planted --test planted`.
//! `DURAMEN_BUG=Name` tries one; `DURAMEN_SEEDS=N` looks so far.

use std::panic;

use duramen_base::planted::{Bug, plant};
use duramen_sim::crash::{Focus, run_seed_of};

/// Seeds that are tried with a bug, at most.
fn seeds(bug: Bug) -> u64 {
    match bug {
        // The crash must fall between two writes that follow each other.
        Bug::DecisionSkipped | Bug::PreparedIsAborted | Bug::DecisionBeforePrepared => 2_000,
        // It must fall between a packet and the flush that a reader did not wait for.
        Bug::ReaderNotGated => 800,
        _ => 200,
    }
}

/// Bugs that take more seeds than a test has time for; `DURAMEN_BUG` tries them all the same. The epoch is caught by the
/// crash tests of `wal`, the checksum by a test of `storage`'s pool, the others by stories of `storage` made for them
/// (`storage/src/tests/planted.rs`).
const LATER: [Bug; 7] = [
    Bug::NoEpochBump,
    Bug::ChecksumTrusted,
    Bug::LocksBeforeCommit,
    Bug::CheckpointForgetsActive,
    Bug::TruncatedTooFar,
    Bug::DecisionBeforePrepared,
    Bug::LostKeepsNoLocks,
];

/// Where a bug shows soonest.
fn focus(bug: Bug) -> Focus {
    match bug {
        Bug::AckBeforeDurable | Bug::NoEpochBump => Focus::Mixed,
        Bug::RetriedSync => Focus::Log,
        Bug::ForgottenPageLsn | Bug::NoCompensation | Bug::PageBeforeLog => Focus::Mixed,
        Bug::GateSeesOneDatabase
        | Bug::DecisionSkipped
        | Bug::PreparedIsAborted
        | Bug::LostKeepsNoLocks
        | Bug::DecisionBeforePrepared => Focus::Commits,
        Bug::ReaderNotGated | Bug::LocksBeforeCommit => Focus::Readers,
        Bug::TruncatedTooFar => Focus::Volume,
        Bug::ChecksumTrusted | Bug::CheckpointWithoutPages | Bug::CheckpointForgetsActive => {
            Focus::Pages
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn every_planted_bug_is_caught() {
    // The prepared disk is made by a sound engine.
    duramen_sim::crash::image::prepared();
    let only = std::env::var("DURAMEN_BUG").ok();
    // What a planted bug brings down says so itself; the text is in the result.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut wrong = Vec::new();
    for bug in Bug::ALL {
        let name = format!("{bug:?}");
        let wanted = only.as_ref().map(|o| *o == name);
        if !wanted.unwrap_or(!LATER.contains(&bug)) {
            continue;
        }
        let focus = focus(bug);
        let seeds = number("DURAMEN_SEEDS", seeds(bug));
        plant(Some(bug));
        let caught = (1..=seeds).find_map(|seed| Some((seed, run_seed_of(seed, focus).err()?)));
        plant(None);
        match caught {
            Some((seed, how)) => {
                println!("{name} ({focus:?}): {how:.300}");
                if let Err(e) = run_seed_of(seed, focus) {
                    wrong.push(format!("seed {seed} fails without {name} too: {e}"));
                }
            }
            None => wrong.push(format!("{name} ({focus:?}) is not caught by {seeds} seeds")),
        }
    }
    panic::set_hook(hook);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
