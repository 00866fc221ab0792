//! Bugs planted in the engine: each must be found, and the seeds that find them must pass without.
//!
//! Built with the feature `planted` only: `cargo test --profile sim -p duramen-sim --features planted --test planted`.
//! `DURAMEN_BUG=Name` tries one; `DURAMEN_SEEDS=N` looks so far.

use std::panic;
use std::time::Duration;

use duramen_base::planted::{Bug, plant};
use duramen_sim::crash::{Focus, run_seed_of, sql};

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
        // Those that tests find by name (`Bug::TESTED`).
        _ => Focus::Mixed,
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
        let began = duramen_os::time::now();
        plant(Some(bug));
        let caught = (1..=seeds).find_map(|seed| Some((seed, run_seed_of(seed, focus).err()?)));
        plant(None);
        match caught {
            Some((seed, how)) => {
                println!("{name} ({focus:?}): {how:.300}");
                let took = began.elapsed().as_millis();
                println!("planted\t{name}\tsim {focus:?}, seed {seed}\t{took}");
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

/// Bugs that random programs of whole sessions find (`--story sql`). `DURAMEN_BUG` tries those of other rooms, too.
const SESSIONS: [Bug; 6] = [
    Bug::RowKnownByImage,
    Bug::OldestUndoneFirst,
    Bug::PagesOfUndoneStay,
    Bug::RoomNotKept,
    Bug::OutsideTwice,
    Bug::NameBeforeLock,
];

/// Each within this time.
const TEN_MINUTES: Duration = Duration::from_secs(600);

#[test]
fn whole_sessions_find_what_is_planted() {
    let only = std::env::var("DURAMEN_BUG").ok();
    let first = number("DURAMEN_FIRST", 1);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut wrong = Vec::new();
    let others = Bug::TESTED.into_iter().chain(Bug::SESSIONS);
    let others = others.filter(|b| only.is_some() && !SESSIONS.contains(b));
    for bug in SESSIONS.into_iter().chain(others) {
        let name = format!("{bug:?}");
        if only.as_ref().is_some_and(|o| *o != name) {
            continue;
        }
        let began = duramen_os::time::now();
        plant(Some(bug));
        let caught = (first..)
            .take_while(|_| began.elapsed() < TEN_MINUTES)
            .find_map(|seed| Some((seed, sql::run_seed(seed).err()?.fault)));
        plant(None);
        let took = began.elapsed().as_millis();
        match caught {
            Some((seed, fault)) => {
                println!("{name}: {:.300}", fault.to_string());
                println!("planted\t{name}\tsim --story sql, seed {seed}\t{took}");
                if let Err(sound) = sql::run_seed(seed) {
                    let fault = sound.fault;
                    wrong.push(format!("seed {seed} fails without {name} too: {fault}"));
                }
            }
            None => wrong.push(format!("{name} is not found within ten minutes")),
        }
    }
    panic::set_hook(hook);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
