//! Several sessions at once, in an order that the seed chooses, on a pool too small for the data; then a crash.
//!
//! Each session owns the ids that leave its number as the remainder, so it knows what its rows are; pages are shared by
//! all, so splits, ghosts, locks of neighbours, rollbacks and checkpoints meet.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_os::random::Rng;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_types::Value;

use super::fixture::*;
use crate::{Database, Engine, LockHint, RowLocator, ScanSpec};

const SESSIONS: i32 = 3;

type Model = BTreeMap<i32, (usize, Option<i32>)>;

fn session(engine: &Arc<Engine>, db: &Arc<Database>, number: i32, seed: u64) -> Model {
    let mut rng = Rng::new(seed ^ (number as u64) << 32);
    let table = db.rowset(&clustered());
    let index = db.rowset(&index());
    let mut model = Model::new();
    for _ in 0..25 {
        let tx = begin(engine, 60 + number as u16);
        let mut next = model.clone();
        let mut failed = None;
        for _ in 0..1 + rng.below(8) {
            let id = rng.below(60) as i32 * SESSIONS + number;
            let pad = rng.below(900) as usize;
            let n = Some(rng.below(10) as i32);
            let key = |n: Option<i32>| vec![n.map_or(Value::Null, Value::Int), Value::Int(id)];
            let at = RowLocator::Key(vec![Value::Int(id)]);
            let result = (|| match next.get(&id).copied() {
                None => {
                    table.insert(&tx, &row(id, pad, n))?;
                    index.insert(&tx, &key(n))?;
                    next.insert(id, (pad, n));
                    Ok::<(), duramen_base::SqlError>(())
                }
                Some((old_pad, old)) => {
                    let found = table.fetch(&tx, &at, LockHint::Update)?;
                    assert_eq!(found, Some(row(id, old_pad, old)));
                    if rng.one_in(2) {
                        assert!(table.delete(&tx, &at)?);
                        assert!(index.delete(&tx, &RowLocator::Key(key(old)))?);
                        next.remove(&id);
                    } else {
                        table.update(&tx, &at, &row(id, pad, n))?;
                        index.update(&tx, &RowLocator::Key(key(old)), &key(n))?;
                        next.insert(id, (pad, n));
                    }
                    Ok(())
                }
            })();
            if let Err(e) = result {
                assert_eq!(e.number, 1205, "{e}");
                failed = Some(e);
                break;
            }
            if rng.one_in(20) {
                // A reader that may meet everybody's uncommitted rows.
                let mut cursor = match table.scan(&tx, ScanSpec::all(LockHint::None)) {
                    Ok(c) => c,
                    Err(e) => panic!("{e}"),
                };
                let mut last = -1;
                while let Some((_, r)) = cursor.next(&tx).unwrap() {
                    let id = r[0].as_i64().unwrap();
                    assert!(id > last, "rows in order, none twice");
                    last = id;
                }
            }
        }
        if failed.is_some() || rng.one_in(4) {
            engine.rollback(&tx, None).unwrap();
        } else {
            engine.commit(&tx, None).unwrap();
            model = next;
        }
        if number == 0 && rng.one_in(8) {
            db.checkpoint().unwrap();
        }
        if number == 1 && rng.one_in(6) {
            db.clean_ghosts().unwrap();
        }
    }
    model
}

fn check(engine: &Arc<Engine>, db: &Arc<Database>, expected: &Model) {
    let tx = begin(engine, 59);
    let table = db.rowset(&clustered());
    let index = db.rowset(&index());
    assert_eq!(table.check_tree().unwrap(), expected.len() as u64);
    assert_eq!(index.check_tree().unwrap(), expected.len() as u64);
    assert_eq!(table.row_count().unwrap(), expected.len() as u64);
    let rows: Model = all(&table, &tx)
        .iter()
        .map(|r| match &r[1] {
            Value::VarChar(pad) => (
                r[0].as_i64().unwrap() as i32,
                (pad.len(), r[2].as_i64().map(|n| n as i32)),
            ),
            _ => panic!(),
        })
        .collect();
    assert_eq!(rows, *expected);
    for r in all(&index, &tx) {
        let id = r[1].as_i64().unwrap() as i32;
        assert_eq!(rows[&id].1, r[0].as_i64().map(|n| n as i32));
    }
    engine.commit(&tx, None).unwrap();
}

#[test]
fn sessions_on_the_same_pages_keep_their_rows_over_a_crash() {
    for seed in seeds(1, 6) {
        let (disk, expected) = Simulation::new(seed).max_steps(50_000_000).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 1 << 19);
            let db = create(&engine).unwrap();
            let threads: Vec<_> = (0..SESSIONS)
                .map(|n| {
                    let (engine, db) = (engine.clone(), db.clone());
                    thread::spawn("session", move || session(&engine, &db, n, seed))
                })
                .collect();
            let mut expected = Model::new();
            for t in threads {
                expected.extend(t.join().unwrap());
            }
            check(&engine, &db, &expected);
            db.log().unwrap().flush_all().unwrap();
            (sim.disk(), expected)
        });
        let disk = disk.crash(seed);
        Simulation::new(seed + 1).on_disk(disk).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 1 << 19);
            let db = open(&engine).unwrap();
            check(&engine, &db, &expected);
            db.close().unwrap();
        });
    }
}

/// Whoever looks for pages with room, or for all of them, meets the page that somebody else is adding: it is allocated,
/// and formatted only then (seeds 90123 and 471 of the whole engine: error 824).
#[test]
fn a_page_that_is_being_added_is_nobody_elses() {
    for seed in seeds(1, 30) {
        Simulation::new(seed).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            let workers: Vec<_> = (0..SESSIONS)
                .map(|number| {
                    let (engine, db) = (engine.clone(), db.clone());
                    thread::spawn("session", move || {
                        let heap = db.rowset(&heap());
                        for n in 0..40 {
                            let tx = begin(&engine, 60 + number as u16);
                            let pad = 700 + (n * 311 % 3_000) as usize;
                            let put = heap.insert(&tx, &row(n, pad, None)[..2]);
                            assert!(put.is_ok(), "seed {seed}: {put:?}");
                            engine.commit(&tx, None).unwrap();
                            let tx = begin(&engine, 60 + number as u16);
                            let scan = ScanSpec::all(LockHint::None);
                            let mut cursor = heap.scan(&tx, scan).unwrap();
                            let end = loop {
                                match cursor.next(&tx) {
                                    Ok(Some(_)) => {}
                                    end => break end,
                                }
                            };
                            assert!(end.is_ok(), "seed {seed}: {end:?}");
                            engine.commit(&tx, None).unwrap();
                        }
                    })
                })
                .collect();
            for w in workers {
                w.join().unwrap();
            }
        });
    }
}
