//! What DBCC looks at: copies of a database as of a moment, taken while eight sessions write to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use duramen_os::memory::Clerk;
use duramen_os::random::Rng;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_storage::{Database, Engine};

use super::fixture::*;
use super::tables::{Model, tables};

use crate::{Snapshot, check_files};

const SESSIONS: i32 = 8;

/// Each session has the ids that leave its number as the remainder, and moves nothing that is not its own.
fn session(engine: &Arc<Engine>, db: &Arc<Database>, number: i32, seed: u64) {
    let mut rng = Rng::new(seed ^ (number as u64) << 32);
    let all = tables(db);
    let mut model = Model::new();
    for round in 0..12 {
        let tx = begin(engine, 60 + number as u16);
        let mut next = model.clone();
        let mut failed = false;
        for _ in 0..1 + rng.below(5) {
            let id = rng.below(40) as i32 * SESSIONS + number;
            let (pad, n) = (rng.below(1800) as usize, Some(rng.below(9) as i32));
            let done = match next.get(&id).copied() {
                None => {
                    next.insert(id, (pad, n));
                    all.insert(&tx, id, pad, n)
                }
                Some((_, old)) if rng.one_in(2) => {
                    next.remove(&id);
                    all.delete(&tx, id, old)
                }
                Some((_, old)) => {
                    next.insert(id, (pad, n));
                    all.update(&tx, id, old, pad, n)
                }
            };
            if let Err(e) = done {
                assert_eq!(e.number, 1205, "{e}");
                failed = true;
                break;
            }
        }
        if failed || rng.one_in(4) {
            engine.rollback(&tx, None).unwrap();
        } else {
            engine.commit(&tx, None).unwrap();
            model = next;
        }
        if number == 1 && round % 3 == 0 {
            db.checkpoint().unwrap();
        }
        if number == 2 && round % 4 == 0 {
            db.clean_ghosts().unwrap();
        }
    }
}

/// What there was at one moment is whole: what is found of it by the check is nothing, and the table, its index and the
/// heap have the same rows, committed ones.
fn one(db: &Arc<Database>, seed: u64) -> usize {
    let snapshot = Snapshot::take(db).unwrap();
    let copy = snapshot.open().unwrap();
    let tx = begin(&copy.engine, 51);
    let rows = tables(&copy).state(&tx).len();
    copy.engine.commit(&tx, None).unwrap();
    copy.close().unwrap();
    for report in check_files(&*snapshot.disk(), &snapshot.data_paths()) {
        assert_eq!(report.findings, [], "seed {seed}");
    }
    snapshot.still_good().unwrap();
    rows
}

#[test]
fn copies_of_a_moment_are_whole_while_eight_sessions_write() {
    let mut taken = 0;
    for seed in seeds(1, 4) {
        taken += Simulation::new(seed)
            .max_steps(100_000_000)
            .run(move |sim| {
                let env = duramen_os::Env::with_disk(sim.disk());
                // A pool too small for the data: pages go down all the time.
                let engine = engine(&env, 1 << 19);
                let db = create(&engine).unwrap();
                let left = Arc::new(AtomicI32::new(SESSIONS));
                let threads: Vec<_> = (0..SESSIONS)
                    .map(|n| {
                        let (engine, db, left) = (engine.clone(), db.clone(), left.clone());
                        thread::spawn("session", move || {
                            session(&engine, &db, n, seed);
                            left.fetch_sub(1, Ordering::SeqCst);
                        })
                    })
                    .collect();
                let mut taken = 0;
                while left.load(Ordering::SeqCst) > 0 {
                    one(&db, seed);
                    taken += 1;
                }
                for t in threads {
                    t.join().unwrap();
                }
                let rows = one(&db, seed);
                let tx = begin(&engine, 51);
                assert_eq!(tables(&db).state(&tx).len(), rows);
                engine.commit(&tx, None).unwrap();
                taken
            });
    }
    assert!(taken >= 8, "{taken} copies while sessions wrote");
}

/// Whatever is given up on the way, nothing of the copy stays: no thread of its log, no file that keeps what is overwritten.
#[test]
fn copies_that_are_given_up_leave_nothing_behind() {
    let given_up = Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 1 << 19);
        let db = create(&engine).unwrap();
        let all = tables(&db);
        let tx = begin(&engine, 60);
        for id in 0..200 {
            all.insert(&tx, id, 900, Some(id)).unwrap();
        }
        let mut given_up = 0;
        for wait in 0..40 {
            let flag = Arc::new(AtomicBool::new(wait == 0));
            let asker = flag.clone();
            let giving = thread::spawn("attention", move || {
                thread::sleep(Duration::from_micros(50 * wait * wait));
                asker.store(true, Ordering::SeqCst);
            });
            let listening = thread::listen_to(flag);
            let made = Snapshot::take(&db).and_then(|snapshot| snapshot.recover());
            drop(listening);
            given_up += usize::from(made.is_err());
            giving.join().unwrap();
            assert_eq!(engine.memory.of(Clerk::Utilities), 0, "after {wait}");
        }
        engine.rollback(&tx, None).unwrap();
        given_up
    });
    assert!(given_up >= 8, "{given_up} of 40");
}
