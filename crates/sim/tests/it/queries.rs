//! A few random queries; `cargo xtask queries` asks many.

use duramen_sim::queries::both::{pair, same};
use duramen_sim::queries::{run, sqlite::Sqlite};

#[test]
fn parts_take_their_places_in_both_languages() {
    let piece = pair(
        "F({0}, {1})",
        "g({1}) || {0}",
        &[&same("a"), &same("'{x}'")],
    );
    assert_eq!(piece.ours, "F(a, '{x}')");
    assert_eq!(piece.theirs, "g('{x}') || a");
}

#[test]
fn random_queries_agree() {
    let other = Sqlite::start();
    if other.is_none() {
        println!("skipped: no Python with SQLite 3.39");
    }
    let report = run((1, 1), 400, other, (false, false), |_| {});
    assert_eq!(report.differences, Vec::<String>::new());
    assert!(report.partitioned > 50, "{report:?}");
    let alone = report.compared == 0;
    assert!(alone || report.without_memory > 40, "{report:?}");
}

#[test]
fn random_queries_agree_when_four_threads_run_them() {
    let report = run((7, 1), 300, Sqlite::start(), (false, true), |_| {});
    assert_eq!(report.differences, Vec::<String>::new());
    assert!(report.partitioned > 30, "{report:?}");
}

/// The comparison can fail: an engine that knows other rows gives other answers.
#[test]
fn a_difference_is_seen() {
    let Some(mut other) = Sqlite::start() else {
        println!("skipped: no Python with SQLite 3.39");
        return;
    };
    let rows = other.ask("SELECT 1, NULL, 'a b'").expect("rows");
    assert_eq!(rows, [[Some("1".to_owned()), None, Some("a b".to_owned())]]);
    assert!(other.ask("SELECT x FROM nowhere").is_err());
}
