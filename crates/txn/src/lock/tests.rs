//! The lock manager: single requests, a randomized comparison with a model, and many threads under the simulator,
//! where a lost wake-up or an unseen deadlock stops the world and prints the seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use duramen_base::{DbId, ObjectId, PageId, RowsetId, SessionId};
use duramen_os::random::Rng;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::sync::Mutex;
use duramen_os::thread;

use super::*;
use LockDuration::{Instant, Normal, Session};
use LockMode::*;

const DB: DbId = DbId(5);

fn row(n: u64) -> Resource {
    Resource::Key(DB, RowsetId(72), n)
}

fn table() -> Resource {
    Resource::Object(DB, ObjectId(100))
}

fn entity() -> Entity {
    Entity {
        object: ObjectId(100),
        rowset: RowsetId(72),
    }
}

fn now(
    m: &LockManager,
    o: &LockOwner,
    r: &Resource,
    mode: LockMode,
) -> Result<Acquired, LockError> {
    m.lock(o, r, mode, Normal, Some(Duration::ZERO))
        .map(|g| g.acquired)
}

#[test]
fn grants_conversions_and_refusals() {
    let m = LockManager::new();
    let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
    assert_eq!(now(&m, &a, &table(), IX), Ok(Acquired::New));
    assert_eq!(now(&m, &a, &table(), IS), Ok(Acquired::Already));
    assert_eq!(now(&m, &b, &table(), IX), Ok(Acquired::New));
    assert_eq!(now(&m, &a, &table(), S), Err(LockError::Timeout));
    assert_eq!(a.holds(&table()), Some(IX));
    m.unlock(&b, &table(), IX);
    assert_eq!(
        now(&m, &a, &table(), S),
        Ok(Acquired::Converted { from: IX })
    );
    assert_eq!(a.holds(&table()), Some(SIX));
    assert_eq!(now(&m, &b, &table(), IS), Ok(Acquired::New));
    assert_eq!(now(&m, &b, &table(), IX), Err(LockError::Timeout));
    m.release_all(&a);
    assert_eq!(
        now(&m, &b, &table(), X),
        Ok(Acquired::Converted { from: IS })
    );
    m.release_all(&b);
    assert!(m.snapshot().is_empty());
    assert_eq!(m.stats().timeouts, 2);
}

/// Whoever asks for the IX that it holds is not sent to its list; it is when it holds it no more, however that came.
#[test]
fn a_known_intent_is_forgotten_with_its_lock() {
    let m = LockManager::new();
    let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
    let other = Resource::Object(DB, ObjectId(101));
    let gone: [fn(&LockManager, &LockOwner, LockMark); 4] = [
        |m, a, _| m.release_all(a),
        |m, a, mark| m.release_to(a, mark),
        |m, a, _| m.unlock(a, &table(), IX),
        |m, a, _| m.lower(a, &table(), Some(IS), None),
    ];
    for give_back in gone {
        let mark = m.mark(&a);
        assert_eq!(now(&m, &a, &table(), IX), Ok(Acquired::New));
        assert_eq!(now(&m, &a, &table(), IX), Ok(Acquired::Already));
        assert_eq!(now(&m, &a, &other, IX), Ok(Acquired::New));
        assert_eq!(now(&m, &a, &table(), IX), Ok(Acquired::Already));
        assert_eq!(now(&m, &b, &table(), S), Err(LockError::Timeout));
        give_back(&m, &a, mark);
        assert_eq!(now(&m, &b, &table(), S), Ok(Acquired::New));
        assert_eq!(now(&m, &a, &table(), IX), Err(LockError::Timeout));
        m.release_all(&b);
        m.release_all(&a);
    }
}

#[test]
fn an_instant_lock_leaves_nothing() {
    let m = LockManager::new();
    let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
    let instant = |o: &LockOwner| m.lock(o, &row(1), RangeIN, Instant, Some(Duration::ZERO));
    assert_eq!(instant(&a).map(|g| g.acquired), Ok(Acquired::Instant));
    assert!(m.snapshot().is_empty());
    now(&m, &b, &row(1), RangeSS).expect("free");
    assert!(instant(&a).is_err());
    assert!(instant(&b).is_ok(), "one's own range is not in the way");
    assert_eq!(b.holds(&row(1)), Some(RangeSS));
}

#[test]
fn session_locks_outlive_transactions() {
    let m = LockManager::new();
    let a = m.owner(SessionId(51));
    let db = Resource::Database(DB);
    m.lock(&a, &db, S, Session, None).expect("free");
    m.lock(&a, &db, X, Normal, None).expect("own");
    now(&m, &a, &row(1), X).expect("free");
    m.release_all(&a);
    assert_eq!(a.holds(&db), Some(S));
    assert_eq!(m.snapshot().len(), 1);
    assert_eq!(m.snapshot()[0].mode, S);
    m.unlock(&a, &db, S);
    assert_eq!(a.holds(&db), Some(S), "not a transaction's to give back");
    m.unlock_session(&a, &db, false);
    assert!(m.snapshot().is_empty());
}

#[test]
pub(crate) fn a_savepoint_keeps_older_locks() {
    let m = LockManager::new();
    let a = m.owner(SessionId(51));
    now(&m, &a, &row(1), U).expect("free");
    let mark = m.mark(&a);
    now(&m, &a, &row(1), X).expect("own");
    now(&m, &a, &row(2), X).expect("free");
    m.release_to(&a, mark);
    assert_eq!((a.holds(&row(1)), a.holds(&row(2))), (Some(X), None));
}

/// A limit of which locks may escalate from 24 % and are refused from 30 % on: 24,000 and 30,000 of them.
const LITTLE: u64 = 40_000_000;

#[test]
fn little_memory_makes_statements_of_one_row_escalate() {
    let m = LockManager::new();
    m.set_memory_limit(LITTLE);
    let a = m.owner(SessionId(51));
    now(&m, &a, &table(), IX).expect("free");
    let mut asked = None;
    for n in 0..30_000 {
        a.statement_start();
        let got = m.lock_in(&a, &entity(), &row(n), X, Normal, None);
        if got.expect("free").escalate {
            asked = Some(n);
            break;
        }
    }
    let at = asked.expect("long before there is no memory left");
    assert!((23_900..24_200).contains(&at), "{at}");
    assert!(m.memory_bytes() > LITTLE / 100 * 23);
    assert!(m.escalate(&a, DB, ObjectId(100)));
    assert_eq!(m.memory_bytes(), 400, "the table's lock");
    // From here on the table's lock is enough.
    m.lock_in(&a, &entity(), &row(50_000), X, Normal, None)
        .expect("covered");
    m.release_all(&a);
    assert_eq!((m.memory_bytes(), m.snapshot().len()), (0, 0));
}

#[test]
fn who_cannot_escalate_gets_no_more_locks_and_others_do() {
    let m = LockManager::new();
    m.set_memory_limit(LITTLE);
    let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
    now(&m, &a, &table(), IX).expect("free");
    now(&m, &b, &table(), IX).expect("free");
    let (mut tries, mut refused) = (0, None);
    for n in 0..40_000 {
        a.statement_start();
        match m.lock_in(&a, &entity(), &row(n), X, Normal, None) {
            Ok(got) if got.escalate => {
                tries += 1;
                assert!(!m.escalate(&a, DB, ObjectId(100)), "b is in the way");
            }
            Ok(_) => {}
            Err(error) => {
                refused = Some((n, error));
                break;
            }
        }
    }
    let (at, error) = refused.expect("memory has an end");
    assert_eq!(error, LockError::OutOfMemory);
    assert!((29_900..30_200).contains(&at), "{at}");
    // Each try looks through all that is held: there are few.
    assert!((1..4).contains(&tries), "{tries}");
    // What is held may become stronger, tables may be locked, and who holds little is not in want.
    now(&m, &a, &row(1), X).expect("held already");
    m.lock_in(&b, &entity(), &row(60_000), X, Normal, None)
        .expect("a first lock");
    let mark = m.mark(&a);
    m.release_to(&a, mark);
    m.release_all(&a);
    assert_eq!(m.memory_bytes(), 0);
    m.lock_in(&a, &entity(), &row(1), X, Normal, None)
        .expect("there is room again");
    m.release_session(&a);
    m.release_session(&b);
    assert!(m.snapshot().is_empty());
}

#[test]
pub(crate) fn escalation_counts_by_statement_and_trades_rows_for_the_table() {
    let m = LockManager::new();
    let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
    now(&m, &a, &table(), IX).expect("free");
    now(&m, &b, &table(), IS).expect("free");
    let mut asked = Vec::new();
    for n in 0..8000 {
        let got = m.lock_in(&a, &entity(), &row(n), X, Normal, None);
        if got.expect("free").escalate {
            asked.push(n + 1);
        }
    }
    assert_eq!(asked, [5000, 6250, 7500]);
    assert!(!m.escalate(&a, DB, ObjectId(100)), "b is in the way");
    assert_eq!(a.held_count(), 8001);
    m.release_all(&b);
    assert!(m.escalate(&a, DB, ObjectId(100)));
    assert_eq!((a.held_count(), a.holds(&table())), (1, Some(X)));
    m.release_all(&a);
    assert!(m.snapshot().is_empty());

    // Statement by statement nothing adds up; given back rows do not count.
    for statement in 0..3 {
        a.statement_start();
        for n in 0..3000 {
            let key = row(statement * 3000 + n);
            let got = m.lock_in(&a, &entity(), &key, S, Normal, None);
            assert!(!got.expect("free").escalate);
        }
    }
    a.statement_start();
    for n in 0..20_000 {
        let key = row(100_000 + n);
        let got = m.lock_in(&a, &entity(), &key, S, Normal, None);
        assert!(!got.expect("free").escalate);
        m.unlock(&a, &key, S);
    }
    assert!(m.escalate(&a, DB, ObjectId(100)));
    assert_eq!(a.holds(&table()), Some(S), "only read");
}

#[test]
pub(crate) fn agrees_with_the_model() {
    for seed in 0..60 {
        let mut dice = Rng::new(seed);
        let m = LockManager::new();
        let owners: Vec<_> = (0..4).map(|n| m.owner(SessionId(51 + n))).collect();
        let mut model: BTreeMap<(Resource, usize), LockMode> = BTreeMap::new();
        for _ in 0..400 {
            let who = dice.below(4) as usize;
            let resource = row(dice.below(3));
            match dice.below(10) {
                0..=6 => {
                    let mode = LockMode::ALL[dice.below(21) as usize];
                    let instant = dice.one_in(8);
                    let held = model.get(&(resource, who)).copied();
                    let target = held.map_or(mode, |h| h.join(mode));
                    let asked = if instant { mode } else { target };
                    let free = held == Some(target)
                        || model
                            .iter()
                            .all(|((r, o), &g)| *r != resource || *o == who || g.compatible(asked));
                    let duration = if instant { Instant } else { Normal };
                    let got = m.lock(
                        &owners[who],
                        &resource,
                        mode,
                        duration,
                        Some(Duration::ZERO),
                    );
                    assert_eq!(got.is_ok(), free, "seed {seed}");
                    if free && !instant {
                        model.insert((resource, who), target);
                    }
                }
                7..=8 => {
                    if let Some(&mode) = model.get(&(resource, who)) {
                        m.unlock(&owners[who], &resource, mode);
                        model.remove(&(resource, who));
                    }
                }
                _ => {
                    m.release_all(&owners[who]);
                    model.retain(|(_, o), _| *o != who);
                }
            }
            let got: Vec<_> = m
                .snapshot()
                .into_iter()
                .map(|l| ((l.resource, (l.spid.0 - 51) as usize), l.mode))
                .collect();
            let want: Vec<_> = model.iter().map(|(k, v)| (*k, *v)).collect();
            assert_eq!(got, want, "seed {seed}");
        }
    }
}

/// Waits until `owner` sleeps.
fn until_waiting(owner: &LockOwner) {
    while owner.waiting_for().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_queue_is_fair_and_conversions_go_first() {
    for seed in seeds(1, 10) {
        Simulation::new(seed).run(|_| {
            let m = Arc::new(LockManager::new());
            let order = Arc::new(Mutex::new(Vec::new()));
            let a = m.owner(SessionId(50));
            let b = m.owner(SessionId(51));
            now(&m, &a, &row(1), S).expect("free");
            now(&m, &b, &row(1), S).expect("free");
            let mut threads = Vec::new();
            for (n, mode) in [(52, X), (53, S), (51, X)] {
                let owner = if n == 51 {
                    b.clone()
                } else {
                    m.owner(SessionId(n))
                };
                let (m, order, waiting) = (Arc::clone(&m), Arc::clone(&order), owner.clone());
                threads.push(thread::spawn("locker", move || {
                    m.lock(&owner, &row(1), mode, Normal, None)
                        .expect("granted");
                    order.lock().push(n);
                    thread::sleep(Duration::from_millis(1));
                    m.release_all(&owner);
                }));
                until_waiting(&waiting);
            }
            let waits: Vec<_> = m
                .snapshot()
                .into_iter()
                .filter(|l| l.waited.is_some())
                .map(|l| (l.spid.0, l.status))
                .collect();
            assert_eq!(waits.len(), 3);
            assert!(waits.contains(&(51, LockStatus::Convert)));
            assert_eq!(
                now(&m, &m.owner(SessionId(60)), &row(1), S),
                Err(LockError::Timeout),
                "a reader does not pass a waiting writer"
            );
            m.release_all(&a);
            for t in threads {
                t.join().expect("no panic");
            }
            assert_eq!(*order.lock(), [51, 52, 53]);
            assert!(m.snapshot().is_empty());
        });
    }
}

#[test]
fn a_timeout_lets_those_behind_through() {
    Simulation::new(7).run(|sim| {
        let m = Arc::new(LockManager::new());
        let (a, b, c) = (
            m.owner(SessionId(51)),
            m.owner(SessionId(52)),
            m.owner(SessionId(53)),
        );
        now(&m, &a, &row(1), S).expect("free");
        let (m2, b2) = (Arc::clone(&m), b.clone());
        let writer = thread::spawn("writer", move || {
            m2.lock(&b2, &row(1), X, Normal, Some(Duration::from_millis(300)))
        });
        until_waiting(&b);
        let got = m.lock(&c, &row(1), S, Normal, Some(Duration::from_secs(5)));
        assert!(got.expect("granted").waited);
        assert!(
            sim.elapsed() >= Duration::from_millis(300) && sim.elapsed() < Duration::from_secs(2)
        );
        assert_eq!(writer.join().expect("no panic"), Err(LockError::Timeout));
    });
}

#[test]
fn who_is_woken_looks_at_its_attention_at_once() {
    Simulation::new(8).run(|sim| {
        let m = Arc::new(LockManager::new());
        let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
        let flag = Arc::new(AtomicBool::new(false));
        b.set_attention(Arc::clone(&flag));
        now(&m, &a, &row(1), X).expect("free");
        let (m2, b2) = (Arc::clone(&m), b.clone());
        let waiter = thread::spawn("waiter", move || m2.lock(&b2, &row(1), S, Normal, None));
        until_waiting(&b);
        let said = sim.elapsed();
        flag.store(true, Ordering::SeqCst);
        m.wake(&b);
        assert_eq!(waiter.join().expect("no panic"), Err(LockError::Cancelled));
        assert!(sim.elapsed() - said < Duration::from_millis(5));
    });
}

#[test]
fn an_attention_ends_the_wait_and_sticks() {
    Simulation::new(8).run(|_| {
        let m = Arc::new(LockManager::new());
        let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
        let asked = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&asked);
        b.set_before_wait(Box::new(move || {
            seen.fetch_add(1, Ordering::SeqCst);
        }));
        now(&m, &a, &row(1), X).expect("free");
        let (m2, b2) = (Arc::clone(&m), b.clone());
        let waiter = thread::spawn("waiter", move || m2.lock(&b2, &row(1), S, Normal, None));
        until_waiting(&b);
        m.cancel(&b);
        assert_eq!(waiter.join().expect("no panic"), Err(LockError::Cancelled));
        assert_eq!(
            m.lock(&b, &row(1), S, Normal, None),
            Err(LockError::Cancelled)
        );
        b.clear_cancel();
        m.release_all(&a);
        assert!(m.lock(&b, &row(1), S, Normal, None).is_ok());
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    });
}

/// Two sessions lock two rows in opposite order; gives who died.
fn opposite_orders(seed: u64, prepare: impl Fn(&LockOwner, &LockOwner)) -> SessionId {
    Simulation::new(seed).run(|_| {
        let m = Arc::new(LockManager::new());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        m.set_on_deadlock(Box::new(move |r| seen.lock().push(r.clone())));
        let (a, b) = (m.owner(SessionId(51)), m.owner(SessionId(52)));
        prepare(&a, &b);
        let threads = [(a, 1, 2), (b, 2, 1)].map(|(owner, first, second)| {
            let m = Arc::clone(&m);
            thread::spawn("locker", move || {
                m.lock(&owner, &row(first), X, Normal, None).expect("free");
                thread::sleep(Duration::from_millis(5));
                let got = m.lock(&owner, &row(second), X, Normal, None);
                m.release_all(&owner);
                got.map(|_| ()).map_err(|e| (e, owner.spid()))
            })
        });
        let results: Vec<_> = threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect();
        let dead: Vec<_> = results.iter().filter_map(|r| r.clone().err()).collect();
        assert_eq!(dead.len(), 1, "seed {seed}: {results:?}");
        assert_eq!(dead[0].0, LockError::Deadlock);
        let reports = reports.lock();
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].victim, dead[0].1);
        assert_eq!(reports[0].processes.len(), 2);
        assert_eq!(m.stats().deadlocks, 1);
        dead[0].1
    })
}

#[test]
fn the_victim_is_the_least_important_then_the_cheapest() {
    for seed in seeds(1, 10) {
        assert_eq!(
            opposite_orders(seed, |a, _| a.set_deadlock_priority(-5)),
            SessionId(51)
        );
        assert_eq!(
            opposite_orders(seed, |a, b| {
                a.set_log_used(10_000);
                b.set_log_used(500);
            }),
            SessionId(52)
        );
        assert_eq!(
            opposite_orders(seed, |a, b| {
                a.set_log_used(10_000);
                b.set_deadlock_priority(1);
            }),
            SessionId(51)
        );
        assert_eq!(opposite_orders(seed, |_, _| {}), SessionId(52));
    }
}

#[test]
fn two_readers_that_both_want_to_write() {
    for seed in seeds(1, 20) {
        Simulation::new(seed).run(|_| {
            let m = Arc::new(LockManager::new());
            let threads: Vec<_> = (0..2)
                .map(|n| {
                    let m = Arc::clone(&m);
                    thread::spawn("converter", move || {
                        let owner = m.owner(SessionId(51 + n));
                        m.lock(&owner, &row(1), S, Normal, None).expect("shared");
                        thread::sleep(Duration::from_millis(2));
                        let got = m.lock(&owner, &row(1), X, Normal, None);
                        m.release_all(&owner);
                        got.is_ok()
                    })
                })
                .collect();
            let won = threads
                .into_iter()
                .map(|t| t.join().expect("no panic"))
                .filter(|won| *won)
                .count();
            assert_eq!(won, 1, "seed {seed}");
            assert!(m.snapshot().is_empty());
        });
    }
}

/// What every snapshot must show.
fn check_grants(m: &LockManager, seed: u64) {
    let locks = m.snapshot();
    for (n, a) in locks.iter().enumerate() {
        for b in &locks[n + 1..] {
            if a.resource == b.resource
                && a.status == LockStatus::Grant
                && b.status == LockStatus::Grant
            {
                assert!(
                    a.owner != b.owner && a.mode.compatible(b.mode),
                    "seed {seed}: {a:?} {b:?}"
                );
            }
        }
    }
}

#[test]
fn many_sessions_in_a_simulated_world() {
    let modes = [S, U, X, IS, IX, RangeSS, RangeSU, RangeXX, SchS, SIX];
    let mut deadlocks = 0;
    for seed in seeds(1, 40) {
        deadlocks += Simulation::new(seed).run(|_| {
            let m = Arc::new(LockManager::new());
            let threads: Vec<_> = (0..5)
                .map(|n| {
                    let m = Arc::clone(&m);
                    thread::spawn("session", move || {
                        let mut dice = Rng::new(seed * 31 + n);
                        let owner = m.owner(SessionId(51 + n as u16));
                        owner.set_deadlock_priority(dice.below(3) as i8);
                        for _ in 0..6 {
                            for _ in 0..1 + dice.below(4) {
                                let mode = modes[dice.below(modes.len() as u64) as usize];
                                let timeout = match dice.below(5) {
                                    0 => Some(Duration::ZERO),
                                    1 => Some(Duration::from_millis(dice.below(15))),
                                    _ => None,
                                };
                                let duration = if dice.one_in(5) { Instant } else { Normal };
                                let resource = row(dice.below(3));
                                match m.lock(&owner, &resource, mode, duration, timeout) {
                                    Ok(g) if g.acquired == Acquired::New && dice.one_in(4) => {
                                        m.unlock(&owner, &resource, mode);
                                    }
                                    Ok(_) | Err(LockError::Timeout) => {}
                                    Err(_) => break,
                                }
                                if dice.one_in(3) {
                                    thread::sleep(Duration::from_millis(dice.below(8)));
                                }
                                check_grants(&m, seed);
                            }
                            m.release_all(&owner);
                        }
                    })
                })
                .collect();
            for t in threads {
                t.join().expect("no panic");
            }
            assert!(m.snapshot().is_empty(), "seed {seed}");
            m.stats().deadlocks
        });
    }
    assert!(deadlocks > 0, "the worlds were too peaceful");
}

/// Several threads of one owner want intents on a table that others want whole: whoever waits for the table and whoever
/// finds it open a moment later have one lock, and that is given back whole.
#[test]
fn threads_of_one_owner_share_their_intents() {
    for seed in seeds(1, 200) {
        Simulation::new(seed).run(|_| {
            let m = Arc::new(LockManager::new());
            let readers = m.owner(SessionId(51));
            let mut threads = Vec::new();
            for n in 0..3 {
                let (m, readers) = (Arc::clone(&m), readers.clone());
                threads.push(thread::spawn("reader", move || {
                    let mut dice = Rng::new(seed * 31 + n);
                    for _ in 0..6 {
                        let mode = [IS, IX, SchS][dice.below(3) as usize];
                        let got = m.lock(&readers, &table(), mode, Normal, None);
                        let got = got.expect("granted").acquired;
                        if dice.one_in(2) {
                            thread::sleep(Duration::from_millis(dice.below(3)));
                        }
                        if got == Acquired::New && dice.one_in(2) {
                            m.unlock(&readers, &table(), mode);
                        }
                    }
                }));
            }
            for n in 0..2 {
                let m = Arc::clone(&m);
                threads.push(thread::spawn("writer", move || {
                    let mut dice = Rng::new(seed * 37 + n);
                    let writer = m.owner(SessionId(60 + n as u16));
                    for _ in 0..6 {
                        let limit = Some(Duration::from_millis(dice.below(6)));
                        let mode = [X, S, SchM][dice.below(3) as usize];
                        let got = m.lock(&writer, &table(), mode, Normal, limit);
                        thread::sleep(Duration::from_millis(dice.below(2)));
                        check_grants(&m, seed);
                        assert!(matches!(got, Ok(_) | Err(LockError::Timeout)), "{got:?}");
                        m.release_all(&writer);
                    }
                }));
            }
            for t in threads {
                t.join().expect("no panic");
            }
            m.release_all(&readers);
            let left = m.snapshot();
            assert!(left.is_empty(), "seed {seed}: {left:?}");
            let last = m.owner(SessionId(70));
            assert_eq!(now(&m, &last, &table(), X), Ok(Acquired::New));
        });
    }
}

/// Several threads of one owner read rows that others change: whoever was granted a row, or joined the lock of another
/// thread that nobody gave back since, has it in the table; and what is given back is given back whole.
#[test]
fn threads_of_one_owner_share_the_locks_of_rows() {
    let (mut joined, mut shared) = (0, 0);
    for seed in seeds(1, 200) {
        (joined, shared) = Simulation::new(seed).run(move |_| {
            let m = Arc::new(LockManager::new());
            let readers = m.owner(SessionId(51));
            let has = |m: &LockManager, readers: &LockOwner, resource: Resource| {
                m.snapshot().iter().any(|l| {
                    l.owner == readers.id()
                        && l.resource == resource
                        && l.status == LockStatus::Grant
                        && l.mode.covers(S)
                })
            };
            let reading: Vec<_> = (0..3)
                .map(|n| {
                    let (m, readers) = (Arc::clone(&m), readers.clone());
                    thread::spawn("reader", move || {
                        let mut dice = Rng::new(seed * 31 + n);
                        let (mut joined, mut shared) = (0, 0);
                        for _ in 0..12 {
                            let resource = row(dice.below(2));
                            let given_back = readers.given_back();
                            let got = m.lock(&readers, &resource, S, Normal, None);
                            let got = got.expect("granted").acquired;
                            if dice.one_in(2) {
                                thread::sleep(Duration::from_millis(dice.below(3)));
                            }
                            if got == Acquired::New {
                                assert!(has(&m, &readers, resource), "seed {seed}");
                                m.unlock(&readers, &resource, S);
                                continue;
                            }
                            joined += 1;
                            let holds = has(&m, &readers, resource);
                            if readers.given_back() == given_back {
                                assert!(holds, "seed {seed}");
                                shared += 1;
                            }
                        }
                        (joined, shared)
                    })
                })
                .collect();
            let writing: Vec<_> = (0..2)
                .map(|n| {
                    let m = Arc::clone(&m);
                    thread::spawn("writer", move || {
                        let mut dice = Rng::new(seed * 37 + n);
                        let writer = m.owner(SessionId(60 + n as u16));
                        for _ in 0..8 {
                            let limit = Some(Duration::from_millis(dice.below(6)));
                            let got = m.lock(&writer, &row(dice.below(2)), X, Normal, limit);
                            thread::sleep(Duration::from_millis(dice.below(2)));
                            check_grants(&m, seed);
                            assert!(matches!(got, Ok(_) | Err(LockError::Timeout)), "{got:?}");
                            m.release_all(&writer);
                        }
                    })
                })
                .collect();
            let (mut joined, mut shared) = (joined, shared);
            for t in reading {
                let (j, s) = t.join().expect("no panic");
                joined += j;
                shared += s;
            }
            for t in writing {
                t.join().expect("no panic");
            }
            let left = m.snapshot();
            assert!(left.is_empty(), "seed {seed}: {left:?}");
            (joined, shared)
        });
    }
    assert!(
        joined > shared && shared > 0,
        "{joined} joined, {shared} to the end"
    );
}

#[test]
fn real_threads_transfer_without_loss() {
    // Each thread locks two accounts in random order and moves money; victims try again. The sum stays.
    let m = Arc::new(LockManager::new());
    let accounts = Arc::new([const { Mutex::new(100i64) }; 6]);
    let threads: Vec<_> = (0..4u16)
        .map(|n| {
            let (m, accounts) = (Arc::clone(&m), Arc::clone(&accounts));
            thread::spawn("transfer", move || {
                let mut dice = Rng::new(n as u64);
                let owner = m.owner(SessionId(51 + n));
                let mut done = 0;
                while done < 300 {
                    let (from, to) = (dice.below(6), dice.below(6));
                    let both = m
                        .lock(&owner, &row(from), X, Normal, None)
                        .and_then(|_| m.lock(&owner, &row(to), X, Normal, None));
                    if both.is_ok() {
                        let take = *accounts[from as usize].lock();
                        *accounts[from as usize].lock() = take - 1;
                        thread::yield_now();
                        *accounts[to as usize].lock() += 1;
                        done += 1;
                    }
                    m.release_all(&owner);
                }
            })
        })
        .collect();
    for t in threads {
        t.join().expect("no panic");
    }
    assert_eq!(accounts.iter().map(|a| *a.lock()).sum::<i64>(), 600);
    assert!(m.snapshot().is_empty());
}

#[test]
fn names_of_resources() {
    assert_eq!(
        row(0x8194_4432_84a0).to_string(),
        "KEY: 5:72 (8194443284a0)"
    );
    assert_eq!(
        Resource::Rid(DB, PageId::new(1, 121), 3).to_string(),
        "RID: 5:1:121:3"
    );
    assert_eq!(table().to_string(), "OBJECT: 5:100:0");
    assert_eq!(Resource::Database(DB).to_string(), "DATABASE: 5");
    assert_eq!(
        Resource::Page(DB, PageId::new(1, 9)).to_string(),
        "PAGE: 5:1:9"
    );
}
