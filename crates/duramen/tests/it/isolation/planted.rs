//! The judge judged: histories with one planted anomaly each, found at every level that forbids it and at no other.

use super::judge::judge;
use super::levels::LEVELS;
use super::prefix::{self, NO_PREFIX};
use super::round::{Finals, Kind, Outcome, Round, Tried};
use super::settle::{self, DELETED_TWICE, LOST, TOLD_AND_LOST, TORN, settle};
use super::steps::{Seen, Step};

type Reported = (Step, Seen);

fn append(key: u32, value: u32) -> Reported {
    (Step::Append { key, value }, Seen::Nothing)
}

fn read(key: u32, list: &[u32]) -> Reported {
    (Step::Read { key }, Seen::Lists(vec![(key, list.to_vec())]))
}

fn write(key: u32, value: u32) -> Reported {
    (Step::Write { key, value }, Seen::Nothing)
}

fn peek(key: u32, value: u32) -> Reported {
    let value = (value > 0).then_some(value);
    (Step::Peek { key }, Seen::Register(value))
}

fn insert(group: u32, slot: u32) -> Reported {
    (Step::Insert { group, slot }, Seen::Nothing)
}

fn delete(group: u32, slot: u32) -> Reported {
    (Step::Delete { group, slot }, Seen::Deleted(true))
}

fn range(group: u32, slots: &[u32]) -> Reported {
    (Step::Range { group }, Seen::Slots(slots.to_vec()))
}

fn count(group: u32, slots: &[u32]) -> Reported {
    (Step::Count { group }, Seen::Slots(slots.to_vec()))
}

/// A transaction that ran while all others did.
fn ran(outcome: Outcome, steps: &[Reported]) -> Tried {
    Tried {
        began: 10,
        ended: 20,
        steps: steps.to_vec(),
        outcome,
    }
}

fn ok(steps: &[Reported]) -> Tried {
    ran(Outcome::Committed, steps)
}

fn fail(steps: &[Reported]) -> Tried {
    ran(Outcome::Failed(0), steps)
}

/// One that ran after those of `ran`.
fn later(steps: &[Reported]) -> Tried {
    Tried {
        began: 30,
        ended: 40,
        ..ok(steps)
    }
}

fn round(tried: Vec<Tried>, lists: &[(u32, &[u32])], rows: &[(u32, u32)]) -> Round {
    let lists = lists.iter().map(|(key, list)| (*key, list.to_vec()));
    Round {
        kind: Kind::Lists,
        tried,
        finals: Finals {
            lists: lists.collect(),
            rows: rows.iter().copied().collect(),
            ..Finals::default()
        },
    }
}

fn registers(tried: Vec<Tried>, last: &[(u32, u32)]) -> Round {
    let last = last.iter().map(|(key, value)| (*key, Some(*value)));
    Round {
        kind: Kind::Registers,
        tried,
        finals: Finals {
            registers: last.collect(),
            ..Finals::default()
        },
    }
}

/// What is planted, where, and at which levels it is forbidden: their first letters, of `u` READ UNCOMMITTED, `c` READ
/// COMMITTED, `v` with row versions, `r` REPEATABLE READ, `s` SNAPSHOT, `S` SERIALIZABLE.
fn plants() -> Vec<(&'static str, Round, &'static str)> {
    vec![
        (
            "no anomaly",
            round(
                vec![
                    ok(&[append(1, 1), append(2, 1)]),
                    ok(&[read(1, &[1]), append(1, 2)]),
                    fail(&[append(1, 3)]),
                    later(&[read(1, &[1, 2]), read(2, &[1])]),
                ],
                &[(1, &[1, 2]), (2, &[1])],
                &[],
            ),
            "",
        ),
        (
            "G0: writes in either order",
            round(
                vec![
                    ok(&[append(1, 1), append(2, 1)]),
                    ok(&[append(1, 2), append(2, 2)]),
                ],
                &[(1, &[1, 2]), (2, &[2, 1])],
                &[],
            ),
            "ucvrsS",
        ),
        (
            "G1a: a read of what is rolled back",
            round(
                vec![fail(&[append(1, 1)]), ok(&[read(1, &[1]), append(2, 2)])],
                &[(1, &[]), (2, &[2])],
                &[],
            ),
            "cvrsS",
        ),
        (
            "G1a: what is rolled back stays",
            round(
                vec![fail(&[append(1, 1)]), ok(&[append(2, 2)])],
                &[(1, &[1]), (2, &[2])],
                &[],
            ),
            "cvrsS",
        ),
        (
            "G1a: what a savepoint took back is read",
            round(
                vec![
                    ok(&[
                        (Step::Undone { key: 1, value: 1 }, Seen::Nothing),
                        append(2, 2),
                    ]),
                    ok(&[read(1, &[1])]),
                ],
                &[(1, &[]), (2, &[2])],
                &[],
            ),
            "cvrsS",
        ),
        (
            "G1b: a read between two writes of a transaction",
            round(
                vec![ok(&[append(1, 1), append(1, 2)]), ok(&[read(1, &[1])])],
                &[(1, &[1, 2])],
                &[],
            ),
            "cvrsS",
        ),
        (
            "G1c: two read each other",
            round(
                vec![
                    ok(&[append(1, 1), read(2, &[2])]),
                    ok(&[append(2, 2), read(1, &[1])]),
                ],
                &[(1, &[1]), (2, &[2])],
                &[],
            ),
            "cvrsS",
        ),
        (
            "lost update",
            round(
                vec![
                    ok(&[read(1, &[]), append(1, 1)]),
                    ok(&[read(1, &[]), append(1, 2)]),
                ],
                &[(1, &[1, 2])],
                &[],
            ),
            "rsS",
        ),
        (
            "G-single: half of a transaction is read",
            round(
                vec![
                    ok(&[append(1, 1), append(2, 1)]),
                    ok(&[read(1, &[1]), read(2, &[])]),
                ],
                &[(1, &[1]), (2, &[1])],
                &[],
            ),
            "rsS",
        ),
        (
            "G-single in one statement",
            round(
                vec![
                    ok(&[append(1, 1), append(2, 1)]),
                    ok(&[(
                        Step::ReadMany { from: 1, to: 2 },
                        Seen::Lists(vec![(1, vec![]), (2, vec![1])]),
                    )]),
                ],
                &[(1, &[1]), (2, &[1])],
                &[],
            ),
            "vrsS",
        ),
        (
            "a read that does not repeat",
            round(
                vec![ok(&[append(1, 1)]), ok(&[read(1, &[]), read(1, &[1])])],
                &[(1, &[1])],
                &[],
            ),
            "rsS",
        ),
        (
            "write skew",
            round(
                vec![
                    ok(&[read(1, &[]), read(2, &[]), append(1, 1)]),
                    ok(&[read(1, &[]), read(2, &[]), append(2, 2)]),
                ],
                &[(1, &[1]), (2, &[2])],
                &[],
            ),
            "rS",
        ),
        (
            "phantom: a range that grows for its reader",
            round(
                vec![ok(&[insert(1, 0)]), ok(&[range(1, &[]), range(1, &[0])])],
                &[],
                &[(1, 0)],
            ),
            "sS",
        ),
        (
            "phantom: G-single by a range",
            round(
                vec![
                    ok(&[insert(1, 0), append(1, 1)]),
                    ok(&[range(1, &[]), read(1, &[1])]),
                ],
                &[(1, &[1])],
                &[(1, 0)],
            ),
            "sS",
        ),
        (
            "phantom: G2 by COUNT",
            round(
                vec![
                    ok(&[count(1, &[]), insert(1, 0)]),
                    ok(&[count(1, &[]), insert(1, 1)]),
                ],
                &[],
                &[(1, 0), (1, 1)],
            ),
            "S",
        ),
        (
            "a row that was read is deleted before its reader writes",
            round(
                vec![
                    ok(&[insert(1, 0)]),
                    ok(&[range(1, &[0]), append(2, 1)]),
                    ok(&[delete(1, 0), append(2, 2)]),
                ],
                &[(2, &[2, 1])],
                &[],
            ),
            "rsS",
        ),
        (
            "what a transaction has inserted it does not find",
            round(
                vec![ok(&[insert(1, 0), range(1, &[])]), ok(&[append(1, 1)])],
                &[(1, &[1])],
                &[(1, 0)],
            ),
            "rsS",
        ),
        (
            "a snapshot of before the last commit",
            round(
                vec![ok(&[append(1, 1)]), later(&[read(1, &[])])],
                &[(1, &[1])],
                &[],
            ),
            "sS",
        ),
        (
            "registers: G1a",
            registers(
                vec![
                    fail(&[write(1, 1)]),
                    ok(&[peek(1, 1)]),
                    ok(&[write(1, 2)]),
                    later(&[peek(1, 2)]),
                ],
                &[(1, 2)],
            ),
            "cvrsS",
        ),
        (
            "registers: G1b",
            registers(
                vec![ok(&[write(1, 1), write(1, 2)]), ok(&[peek(1, 1)])],
                &[(1, 2)],
            ),
            "cvrsS",
        ),
        (
            "registers: G1c",
            registers(
                vec![
                    ok(&[write(1, 1), peek(2, 2)]),
                    ok(&[write(2, 2), peek(1, 1)]),
                ],
                &[(1, 1), (2, 2)],
            ),
            "cvrsS",
        ),
        (
            "registers: G-single",
            registers(
                vec![
                    ok(&[write(1, 1), write(2, 1)]),
                    ok(&[peek(1, 1), peek(2, 0)]),
                ],
                &[(1, 1), (2, 1)],
            ),
            "rsS",
        ),
        (
            "registers: lost update",
            registers(
                vec![
                    ok(&[write(1, 1)]),
                    Tried {
                        began: 30,
                        ..ok(&[])
                    },
                    later(&[peek(1, 1), write(1, 2)]),
                    later(&[peek(1, 1), write(1, 3)]),
                ],
                &[(1, 3)],
            ),
            "rsS",
        ),
        (
            "registers: write skew",
            registers(
                vec![
                    ok(&[peek(1, 0), peek(2, 0), write(1, 1)]),
                    ok(&[peek(1, 0), peek(2, 0), write(2, 2)]),
                ],
                &[(1, 1), (2, 2)],
            ),
            "rS",
        ),
    ]
}

#[test]
fn planted_anomalies_are_found_at_the_levels_that_forbid_them() {
    let mut wrong = Vec::new();
    for (what, round, forbidden) in plants() {
        for (level, letter) in LEVELS.iter().zip("ucvrsS".chars()) {
            let verdict = judge(level, &round);
            if verdict.forbidden.is_empty() == forbidden.contains(letter) {
                let found: Vec<&String> = verdict.forbidden.iter().map(|f| &f.0).collect();
                wrong.push(format!("{what}, {}: {found:?}", level.title));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_weak_levels_allow_is_counted_by_name() {
    let weakest = &LEVELS[0];
    let name_of = |what: &str| -> Vec<String> {
        let (_, round, _) = plants()
            .into_iter()
            .find(|(name, _, _)| *name == what)
            .expect("a plant");
        judge(weakest, &round).seen.into_keys().collect()
    };
    for (what, name) in [
        ("G1a: a read of what is rolled back", "G1a"),
        ("G1b: a read between two writes of a transaction", "G1b"),
        ("G1c: two read each other", "G1c"),
        ("lost update", "lost-update"),
        ("G-single: half of a transaction is read", "G-single-item"),
        ("a read that does not repeat", "internal"),
        ("write skew", "G2-item"),
        ("phantom: G-single by a range", "G-single"),
        ("phantom: G2 by COUNT", "G2"),
        ("registers: write skew", "G2-item"),
    ] {
        let seen = name_of(what);
        assert!(seen.iter().any(|s| s == name), "{what}: {seen:?}");
    }
    assert_eq!(name_of("no anomaly"), Vec::<String>::new());
}

fn names(findings: &[settle::Finding]) -> Vec<&'static str> {
    findings.iter().map(|(name, _)| *name).collect()
}

#[test]
fn the_end_tells_what_is_lost_torn_or_there_twice() {
    let mut lost = round(vec![ok(&[append(1, 1)])], &[(1, &[])], &[]);
    assert_eq!(names(&settle(&mut lost, false)), [LOST]);
    let torn = [append(1, 1), append(2, 1), insert(1, 0)];
    let mut torn = round(
        vec![ran(Outcome::Unknown, &torn)],
        &[(1, &[1]), (2, &[1])],
        &[],
    );
    assert_eq!(names(&settle(&mut torn, false)), [TORN]);
    // Told to a transaction that did not commit, even so.
    let reader = fail(&[read(1, &[1])]);
    let mut reported = round(
        vec![ran(Outcome::Unknown, &[append(1, 1)]), reader],
        &[(1, &[])],
        &[],
    );
    assert_eq!(names(&settle(&mut reported, false)), [TOLD_AND_LOST]);
    let mut twice = round(
        vec![
            ok(&[insert(1, 0)]),
            ok(&[delete(1, 0)]),
            ok(&[delete(1, 0)]),
        ],
        &[],
        &[],
    );
    assert_eq!(names(&settle(&mut twice, false)), [DELETED_TWICE]);
    let in_doubt = ran(Outcome::Unknown, &[append(1, 1), append(2, 2)]);
    let mut there = round(vec![in_doubt.clone()], &[(1, &[1]), (2, &[2])], &[]);
    assert!(settle(&mut there, false).is_empty());
    assert_eq!(there.tried[0].outcome, Outcome::Committed);
    let mut gone = round(vec![in_doubt], &[(1, &[]), (2, &[])], &[]);
    assert!(settle(&mut gone, false).is_empty());
    assert!(matches!(gone.tried[0].outcome, Outcome::Failed(_)));
}

/// Another has read one of two writes, of which none is there at the end.
#[test]
fn a_dirty_read_does_not_tell_that_a_write_was_there() {
    let in_doubt = ran(Outcome::Unknown, &[write(1, 7), write(2, 8)]);
    let mut read = registers(vec![in_doubt, ok(&[peek(1, 7)])], &[]);
    read.finals.registers.extend([(1, None), (2, None)]);
    assert_eq!(names(&settle(&mut read, false)), [TORN]);
    read.tried[0].outcome = Outcome::Unknown;
    assert!(settle(&mut read, true).is_empty());
    assert!(matches!(read.tried[0].outcome, Outcome::Failed(_)));
}

#[test]
fn what_survives_a_kill_must_be_a_prefix() {
    let cut = |round: &mut Round| {
        let loss = prefix::cut(round, true);
        (names(&loss.findings), loss.lost)
    };
    // The end of the order is lost, and who was told of it is not judged.
    let mut end = round(
        vec![
            ok(&[append(1, 1)]),
            later(&[append(1, 2)]),
            later(&[read(1, &[1, 2])]),
        ],
        &[(1, &[1])],
        &[],
    );
    assert_eq!(cut(&mut end), (vec![], 1));
    assert_eq!(end.tried.len(), 1);
    // Acknowledged before the survivor was sent.
    let mut by_time = round(
        vec![ok(&[append(1, 1)]), later(&[append(2, 2)])],
        &[(1, &[]), (2, &[2])],
        &[],
    );
    assert_eq!(cut(&mut by_time).0, [NO_PREFIX]);
    // Read by the survivor.
    let mut by_read = round(
        vec![ok(&[append(1, 1)]), ok(&[read(1, &[1]), append(2, 2)])],
        &[(1, &[]), (2, &[2])],
        &[],
    );
    assert_eq!(cut(&mut by_read).0, [NO_PREFIX]);
    // Lost, though the survivor overwrote what it had read.
    let readers = vec![ok(&[read(1, &[]), insert(1, 0)]), ok(&[append(1, 1)])];
    let mut by_write = round(readers, &[(1, &[1])], &[]);
    assert_eq!(cut(&mut by_write).0, [NO_PREFIX]);
    let torn = [append(1, 1), append(2, 1)];
    let mut torn = round(vec![ok(&torn)], &[(1, &[1]), (2, &[])], &[]);
    assert_eq!(cut(&mut torn).0, [TORN]);
}
