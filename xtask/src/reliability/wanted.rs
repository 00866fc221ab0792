//! The rows that the page must have, in its order. Levels of isolation and targets of the fuzzer are read where they are
//! declared, so that a new one needs its row.

use std::fs;

use crate::root;

pub const ASSERTIONS: &str = "assertions in storage, txn, wal and session";
pub const INVARIANTS: &str = "invariants in the heads of modules that name what holds them";
pub const PLANTED_TESTS: &str = "planted bugs found by tests of their rooms";
pub const PLANTED_SEEDS: &str = "planted bugs found by seeds of crashes and of whole sessions";

/// Rows before those of the fuzzer, as who counts them names them.
const FIRST: [&str; 9] = [
    ASSERTIONS,
    INVARIANTS,
    PLANTED_TESTS,
    PLANTED_SEEDS,
    "crashes simulated under single statements",
    "crashes simulated under whole sessions",
    "backups taken and restored while sessions wrote and the power failed",
    "kills of the ledger, full durability",
    "kills of the ledger, delayed durability",
];
const MODES: [&str; 2] = ["PACKET", "STATEMENT"];
/// Levels that are run with delayed durability, too.
const DELAYED: [&str; 1] = ["SERIALIZABLE"];

const LEVELS: &str = "crates/duramen/tests/it/isolation/levels.rs";
const TARGETS: &str = "crates/sim/src/fuzz/targets.rs";

/// What every row is called.
pub fn wanted() -> Vec<String> {
    let mut all: Vec<String> = FIRST.map(str::to_owned).into();
    let targets = declared(TARGETS, "name: \"");
    all.extend(
        targets
            .iter()
            .map(|target| format!("hours fuzzed: {target}")),
    );
    let both =
        |level: &str, more: &str| MODES.map(|mode| format!("isolation: {level}, {mode}{more}"));
    let levels = declared(LEVELS, "title: \"");
    all.extend(levels.iter().flat_map(|level| both(level, "")));
    all.extend(
        DELAYED
            .iter()
            .flat_map(|level| both(level, ", delayed durability")),
    );
    all
}

/// The texts of a field in the rows of a source file.
fn declared(file: &str, field: &str) -> Vec<String> {
    let source = fs::read_to_string(root().join(file)).unwrap_or_default();
    let value = |line: &str| {
        Some(
            line.trim()
                .strip_prefix(field)?
                .split_once('"')?
                .0
                .to_owned(),
        )
    };
    source.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_are_read_where_they_are_declared() {
        assert_eq!(declared(LEVELS, "title: \"").len(), 6);
        assert!(declared(TARGETS, "name: \"").len() >= 13);
        let all = wanted();
        for what in [
            "hours fuzzed: tsql",
            "isolation: READ COMMITTED (RCSI), STATEMENT",
            "isolation: SERIALIZABLE, PACKET, delayed durability",
        ] {
            assert!(all.iter().any(|w| w == what), "{what}");
        }
    }

    /// What is wanted is told by somebody, under that very name: a run of hours is not to end with a row that nobody knows.
    #[test]
    fn somebody_tells_each_row() {
        let (mut sources, own) = (String::new(), "crates/sim/src/bin/fuzz.rs");
        for file in [
            "crates/sim/src/bin/sim.rs",
            own,
            "crates/duramen/tests/it/ledger.rs",
        ] {
            sources.push_str(&fs::read_to_string(root().join(file)).unwrap());
        }
        // The chores themselves count assertions and what was planted.
        for what in &FIRST[4..] {
            assert!(
                sources.contains(&format!("\"{what}\"")),
                "nobody tells '{what}'"
            );
        }
        assert!(sources.contains("hours fuzzed: {}"), "{own}");
    }
}
