//! Bugs that tests of whole sessions find, which were not made for them: `cargo test -p duramen-session --features planted
//! --test it planted_bugs_spoil`.

use duramen_base::planted::{Bug, found};

use super::{granted_memory, instance, isolation, login, plan_cache, rights, run};

const TESTS: [(Bug, &str, fn()); 5] = [
    (
        Bug::RightNotAsked,
        "every_row_lets_in_who_holds_its_right_and_nobody_else",
        rights::every_row_lets_in_who_holds_its_right_and_nobody_else,
    ),
    (
        Bug::DraftShown,
        "catalog views show what is committed",
        views_show_what_is_committed,
    ),
    (
        Bug::PlanOutlivesTable,
        "a_shared_batch_follows_the_schema",
        plan_cache::a_shared_batch_follows_the_schema,
    ),
    (
        Bug::RangeNotAsked,
        "each_level_allows_its_anomalies_and_no_others",
        isolation::each_level_allows_its_anomalies_and_no_others,
    ),
    (
        Bug::GrantKept,
        "what_was_granted_comes_back_however_the_statement_ends",
        granted_memory::what_was_granted_comes_back_however_the_statement_ends,
    ),
];

/// As the golden script `uncommitted_names` has it: whoever waits for the name itself would not meet this bug.
fn views_show_what_is_committed() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "BEGIN TRAN; CREATE TABLE new (a int)");
    let seen = run(
        &mut b,
        "SET LOCK_TIMEOUT 1000; SELECT COUNT(*) FROM sys.objects WHERE name = 'new'",
    );
    assert_eq!(seen[1], "0");
}

#[test]
fn tests_that_planted_bugs_spoil() {
    views_show_what_is_committed();
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
