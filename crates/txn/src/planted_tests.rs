//! Bugs planted in this room, each found by a test that was there before: `cargo test -p duramen-txn --features planted
//! tests_that_planted_bugs_spoil`.

use duramen_base::planted::{Bug, found};

use crate::{gate, lock, versions};

const TESTS: [(Bug, &str, fn()); 9] = [
    (
        Bug::GateOpen,
        "gate: agrees_with_the_model",
        gate::tests::agrees_with_the_model,
    ),
    (
        Bug::HopelessHeld,
        "gate: agrees_with_the_model",
        gate::tests::agrees_with_the_model,
    ),
    (
        Bug::CommitUnnoted,
        "gate: what_was_sent_is_true_after_a_power_loss",
        gate::crash_tests::what_was_sent_is_true_after_a_power_loss,
    ),
    (
        Bug::VersionsGoEarly,
        "versions: agrees_with_the_model",
        versions::tests::agrees_with_the_model,
    ),
    (
        Bug::ConflictUnseen,
        "versions: agrees_with_the_model",
        versions::tests::agrees_with_the_model,
    ),
    (
        Bug::EscalationLosesLocks,
        "lock: escalation_counts_by_statement_and_trades_rows_for_the_table",
        lock::tests::escalation_counts_by_statement_and_trades_rows_for_the_table,
    ),
    (
        Bug::LocksStay,
        "lock: agrees_with_the_model",
        lock::tests::agrees_with_the_model,
    ),
    (
        Bug::GrantsMeet,
        "lock: agrees_with_the_model",
        lock::tests::agrees_with_the_model,
    ),
    (
        Bug::SavepointLetsGo,
        "lock: a_savepoint_keeps_older_locks",
        lock::tests::a_savepoint_keeps_older_locks,
    ),
];

#[test]
fn tests_that_planted_bugs_spoil() {
    let mut missed = Vec::new();
    for (bug, name, test) in TESTS {
        let began = duramen_os::time::now();
        match found(bug, test) {
            Some(_) => {
                let took = began.elapsed().as_millis();
                println!("planted\t{bug:?}\t{name}\t{took}");
            }
            None => missed.push((bug, name)),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
