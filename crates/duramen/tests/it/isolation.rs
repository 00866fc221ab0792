//! Isolation, checked by strangers' theory: what concurrent transactions tell over their sockets, judged by the `adya`
//! crate at the level that was asked for, under `kill -9`.
//!
//! A run is one level with one COMMIT_WAIT. It goes in rounds: sessions try transactions over keys of the round
//! (`isolation/steps.rs`), some rounds end by a kill, and when nobody works the round's keys are read once more. Then:
//!
//! 1. Transactions in doubt are there whole or not at all; what was acknowledged, or told to anybody, is there
//!    (`isolation/settle.rs`); what the round before has left is still there after a kill.
//! 2. The round is a history without anomalies that the level forbids (`isolation/history.rs`, `isolation/judge.rs`); what
//!    it allows is counted, and must be seen: a judge that finds nothing at a weak level is blind.
//! 3. With delayed durability what a kill leaves is a prefix of the order of commits (`isolation/prefix.rs`).
//!
//! `cargo test` runs little of it, `cargo xtask isolation` as much as asked for.

mod history;
mod judge;
mod levels;
mod planted;
mod prefix;
mod round;
mod run;
mod settle;
mod steps;
mod table;
mod worker;

use levels::{LEVELS, level};
use run::{Durability, Mode, Settings, run};

fn setting(name: &str) -> Option<String> {
    std::env::var(format!("DURAMEN_ISOLATION_{name}")).ok()
}

fn number(name: &str, default: u64) -> u64 {
    setting(name).map_or(default, |text| text.parse().expect("a number"))
}

/// All that was asked for, one after the other.
fn runs(transactions: u64, kills: u64, names: &[&str]) {
    let levels: Vec<_> = match setting("LEVEL") {
        Some(name) if name != "all" => vec![level(&name)],
        _ => names.iter().map(|name| level(name)).collect(),
    };
    // Unless both are asked for, levels take turns.
    let modes = |at: usize| match setting("MODE").as_deref() {
        Some("PACKET") => vec![Mode::Packet],
        Some("STATEMENT") => vec![Mode::Statement],
        Some(_) => vec![Mode::Packet, Mode::Statement],
        None if at.is_multiple_of(2) => vec![Mode::Packet],
        None => vec![Mode::Statement],
    };
    let durability = match setting("DURABILITY").as_deref() {
        Some("delayed") => Durability::Delayed,
        _ => Durability::Full,
    };
    let transactions = number("TRANSACTIONS", transactions);
    let settings = Settings {
        transactions,
        kills: number("KILLS", kills),
        sessions: number("SESSIONS", 8) as usize,
        seconds: number("SECONDS", u64::MAX),
        round: number("ROUND", transactions.min(2000)) as u32,
        seed: number("SEED", 1),
        durability,
    };
    let mut results = Vec::new();
    for (at, level) in levels.into_iter().enumerate() {
        for mode in modes(at) {
            let result = run(level, mode, &settings);
            println!("{}", result.line());
            results.push(result);
        }
    }
    println!("{}", table::table(&results));
    let profile = setting("PROFILE").filter(|name| name != "release");
    table::print_figures(&results, &settings, profile.as_deref());
    for result in &results {
        result.demand();
    }
}

#[test]
fn histories_at_each_level_hold_what_it_promises() {
    let names: Vec<&str> = LEVELS.iter().map(|level| level.name).collect();
    runs(300, 1, &names);
}
