//! The gate against an obvious model: random submits, durability reports, failures and disconnects, and after every
//! step both agree on what left, in which order, and who was ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_base::{DbId, Lsn};

use super::{Dependencies, Need, PacketGate, SessionDeps, Submit};
use crate::commits::CommitTracker;
use duramen_os::random::Rng;

fn lsn(n: u32) -> Lsn {
    Lsn::new(1, n, 1)
}

fn deps(list: &[(u16, u32)]) -> Dependencies {
    let mut d = Dependencies::none();
    for &(db, n) in list {
        d.add(DbId(db), lsn(n), 0);
    }
    d
}

#[derive(Default)]
struct Model {
    durable: BTreeMap<DbId, Lsn>,
    poisoned: BTreeSet<DbId>,
    /// Every closing, with what was durable then.
    closed: Vec<(DbId, Lsn)>,
    held: Vec<(u64, Dependencies, u32)>,
}

impl Model {
    /// How far the log is that a dependency is on, and whether it can get further.
    fn reached(&self, n: &Need) -> (Lsn, bool) {
        let since = self.closed.iter().skip(n.closings as usize);
        match since.into_iter().find(|c| c.0 == n.db) {
            Some((_, durable)) => (*durable, false),
            None => {
                let known = self.durable.get(&n.db).copied().unwrap_or(Lsn::NULL);
                (known, !self.poisoned.contains(&n.db))
            }
        }
    }

    fn met(&self, d: &Dependencies) -> bool {
        d.needs.iter().all(|n| self.reached(n).0 >= n.lsn)
    }

    fn hopeless(&self, d: &Dependencies) -> bool {
        let ended = |n: &Need| matches!(self.reached(n), (lsn, false) if lsn < n.lsn);
        d.needs.iter().any(ended)
    }

    /// Repeats the rule from the start: the first packet of a connection leaves when its dependencies are met.
    fn release(&mut self) -> Vec<(u64, u32)> {
        let mut out = Vec::new();
        let mut blocked = BTreeSet::new();
        let held = std::mem::take(&mut self.held);
        for (connection, d, packet) in held {
            if !blocked.contains(&connection) && self.met(&d) {
                out.push((connection, packet));
            } else {
                blocked.insert(connection);
                self.held.push((connection, d, packet));
            }
        }
        out
    }

    fn end(&mut self, connections: &BTreeSet<u64>) {
        self.held.retain(|h| !connections.contains(&h.0));
    }

    fn doomed(&self) -> BTreeSet<u64> {
        self.held
            .iter()
            .filter(|h| self.hopeless(&h.1))
            .map(|h| h.0)
            .collect()
    }
}

fn by_connection(list: &[(u64, u32)]) -> BTreeMap<u64, Vec<u32>> {
    let mut map: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for &(c, p) in list {
        map.entry(c).or_default().push(p);
    }
    map
}

#[test]
pub(crate) fn agrees_with_the_model() {
    for seed in 0..300 {
        let mut dice = Rng::new(seed);
        let mut gate = PacketGate::new();
        let mut model = Model::default();
        let mut packet = 0;
        for _ in 0..200 {
            match dice.below(20) {
                0..=9 => {
                    let connection = dice.below(5);
                    let mut d = Dependencies::none();
                    for _ in 0..dice.below(3) {
                        // Some were noted before the last closings.
                        let closings = model.closed.len() as u64;
                        d.add(
                            DbId(5 + dice.below(3) as u16),
                            lsn(dice.below(60) as u32 + 1),
                            closings.saturating_sub(dice.below(5).saturating_sub(2)),
                        );
                    }
                    packet += 1;
                    let got = gate.submit(connection, d.clone(), packet);
                    if model.hopeless(&d) {
                        assert_eq!(got, Submit::Ended);
                        model.end(&BTreeSet::from([connection]));
                        continue;
                    }
                    model.held.push((connection, d, packet));
                    let out = model.release();
                    match got {
                        Submit::Released(p) => assert_eq!(out, [(connection, p)]),
                        Submit::Held(_) => assert!(out.is_empty()),
                        Submit::Ended => panic!("seed {seed}: ended without a reason"),
                    }
                }
                10..=16 => {
                    let db = DbId(5 + dice.below(3) as u16);
                    if model.poisoned.contains(&db) {
                        continue;
                    }
                    let to = lsn(dice.below(70) as u32);
                    let got = gate.durable(db, to);
                    let have = model.durable.entry(db).or_insert(Lsn::NULL);
                    *have = (*have).max(to);
                    let want = model.release();
                    assert_eq!(by_connection(&got), by_connection(&want), "seed {seed}");
                }
                17..=18 => {
                    let connection = dice.below(5);
                    gate.disconnect(connection);
                    model.end(&BTreeSet::from([connection]));
                }
                _ => {
                    let db = DbId(5 + dice.below(3) as u16);
                    if dice.below(2) == 0 {
                        let got: BTreeSet<u64> = gate.poisoned(db).into_iter().collect();
                        model.poisoned.insert(db);
                        let want = model.doomed();
                        assert_eq!(got, want, "seed {seed}");
                        model.end(&want);
                    } else {
                        let got: BTreeSet<u64> = gate.forget(db).into_iter().collect();
                        model.poisoned.insert(db);
                        let want = model.doomed();
                        assert_eq!(got, want, "seed {seed}");
                        model.end(&want);
                        model.poisoned.remove(&db);
                        let durable = model.durable.remove(&db).unwrap_or(Lsn::NULL);
                        model.closed.push((db, durable));
                    }
                }
            }
            assert_eq!(gate.held(), model.held.len(), "seed {seed}");
            for connection in 0..5 {
                assert_eq!(
                    gate.is_holding(connection),
                    model.held.iter().any(|h| h.0 == connection)
                );
            }
        }
    }
}

#[test]
fn a_packet_waits_for_every_database_and_keeps_its_place() {
    let mut gate = PacketGate::new();
    let first = gate.submit(1, deps(&[(5, 10), (6, 20)]), "first");
    assert_eq!(
        first,
        Submit::Held(deps(&[(5, 10), (6, 20)]).iter().collect())
    );
    assert_eq!(
        gate.submit(1, Dependencies::none(), "second"),
        Submit::Held(vec![])
    );
    assert_eq!(
        gate.submit(2, Dependencies::none(), "other"),
        Submit::Released("other")
    );
    assert_eq!(gate.wanted(), deps(&[(5, 10), (6, 20)]));
    assert!(gate.durable(DbId(5), lsn(15)).is_empty());
    assert!(gate.durable(DbId(6), lsn(19)).is_empty());
    assert_eq!(
        gate.durable(DbId(6), lsn(20)),
        [(1, "first"), (1, "second")]
    );
    assert_eq!(
        gate.submit(1, deps(&[(5, 15)]), "third"),
        Submit::Released("third")
    );
}

#[test]
fn a_failed_log_ends_only_those_who_depend_on_it() {
    let mut gate = PacketGate::new();
    gate.durable(DbId(5), lsn(10));
    gate.submit(1, deps(&[(5, 11)]), 1);
    gate.submit(2, deps(&[(6, 1)]), 2);
    assert_eq!(gate.poisoned(DbId(5)), [1]);
    assert_eq!(gate.submit(3, deps(&[(5, 10)]), 3), Submit::Released(3));
    assert_eq!(gate.submit(3, deps(&[(5, 12)]), 4), Submit::Ended);
    assert_eq!(gate.durable(DbId(6), lsn(1)), [(2, 2)]);
    assert_eq!(gate.held(), 0);
}

#[test]
fn a_session_depends_on_its_commits_and_on_what_it_reads_at_the_moment_of_sealing() {
    let session = SessionDeps::default();
    let tracker = Arc::new(CommitTracker::new(DbId(5), lsn(3)));
    session.note_read(&tracker);
    session.note_read(&tracker);
    session.note_commit(DbId(6), lsn(9));
    session.note_commit(DbId::TEMPDB, lsn(99));
    tracker.note(lsn(7));
    assert_eq!(session.seal(), deps(&[(5, 7), (6, 9)]));
    // The own commit has been carried; the reading goes on.
    tracker.note(lsn(8));
    tracker.note(lsn(4));
    assert_eq!(session.seal(), deps(&[(5, 8)]));
    session.request_done();
    assert!(session.seal().is_empty());
}

/// A batch fills a database and drops it; its id is given to another, whose log begins anew.
#[test]
fn what_was_noted_before_a_closing_asks_the_log_of_then() {
    let mut gate = PacketGate::new();
    gate.durable(DbId(5), lsn(10));
    // Behind another database, with what the closed one has.
    gate.submit(1, deps(&[(6, 3)]), 1);
    gate.submit(1, deps(&[(5, 8)]), 2);
    assert!(gate.forget(DbId(5)).is_empty());
    assert_eq!(gate.submit(2, deps(&[(5, 10)]), 3), Submit::Released(3));
    assert_eq!(gate.submit(3, deps(&[(5, 11)]), 4), Submit::Ended);
    gate.durable(DbId(5), lsn(1));
    assert_eq!(gate.submit(4, deps(&[(5, 10)]), 5), Submit::Released(5));
    let mut both = deps(&[(5, 10)]);
    both.add(DbId(5), lsn(2), 1);
    assert_eq!(
        gate.submit(5, both, 6),
        Submit::Held(vec![(DbId(5), lsn(2))])
    );
    assert_eq!(gate.durable(DbId(6), lsn(3)), [(1, 1), (1, 2)]);
    assert_eq!(gate.durable(DbId(5), lsn(2)), [(5, 6)]);
}
