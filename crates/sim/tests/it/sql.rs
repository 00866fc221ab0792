//! Whole sessions: a few seeds; the long run is the program's (`cargo xtask sim --story sql`).

use duramen_sim::crash::sql::{self, Report};

fn seed(seed: u64) -> Report {
    match sql::run_seed(seed) {
        Ok(report) => report,
        Err(failure) => panic!(
            "seed {seed}: {}\n{}",
            failure.fault,
            sql::script(&failure.steps)
        ),
    }
}

#[test]
fn sessions_leave_what_they_committed() {
    let mut sum = Report::default();
    for n in duramen_os::sim::seeds(1, 6) {
        sum.add(&seed(n));
    }
    let done = sum.statements > 500 && sum.crashes > 20 && sum.audits >= 6;
    assert!(done, "{sum:?}");
}

#[test]
fn a_story_replays() {
    let once = seed(5);
    let again = seed(5);
    assert_eq!(once.trace, again.trace);
    assert_eq!(once.matrix.show(), again.matrix.show());
    assert_ne!(once.trace, seed(6).trace);
}
