//! Loads: rows in any order end where single inserts would have put them, and a rollback takes them all out again.

use std::sync::Arc;

use duramen_os::random::Rng;
use duramen_os::sim::Simulation;
use duramen_types::Value;
use duramen_types::batch::{Column, Data, IntKind};

use super::fixture::*;
use crate::{Build, Fill, Logging, NOTHING, Rowset, Sorter, StorageError, Unsorted, write_sorted};

fn ids(rowset: &Rowset, tx: &duramen_txn::Transaction) -> Vec<i64> {
    let rows = all(rowset, tx);
    rows.iter().map(|r| r[0].as_i64().unwrap()).collect()
}

#[test]
fn loads_in_any_order_give_the_table_that_single_rows_give() {
    for logging in [Logging::Rows, Logging::Pages] {
        Simulation::new(1).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            let (table, index, heap) = (
                db.rowset(&clustered()),
                db.rowset(&index()),
                db.rowset(&heap()),
            );
            let tx = begin(&engine, 52);
            let mut rng = Rng::new(7);
            let mut left: Vec<i32> = (0..5000).collect();
            while !left.is_empty() {
                let n = (1 + rng.below(700) as usize).min(left.len());
                let at = rng.below((left.len() - n + 1) as u64) as usize;
                let some: Vec<i32> = left.drain(at..at + n).collect();
                let rows: Vec<_> = some.iter().map(|id| row(*id, 100, Some(id % 7))).collect();
                table.load(logging).add(&tx, &rows, false).unwrap();
                let mut entries: Vec<_> = some
                    .iter()
                    .map(|id| vec![Value::Int(id % 7), Value::Int(*id)])
                    .collect();
                entries.sort_by_key(|e| (std::cmp::Reverse(e[0].as_i64()), e[1].as_i64()));
                index.load(logging).add(&tx, &entries, false).unwrap();
                let short: Vec<_> = rows.iter().map(|r| r[..2].to_vec()).collect();
                let located = heap.load(logging).add(&tx, &short, true).unwrap();
                for (at, row) in located.iter().zip(&short) {
                    let read = heap.fetch(&tx, at, crate::LockHint::Read).unwrap();
                    assert_eq!(read.as_ref(), Some(row));
                }
            }
            assert_eq!(table.check_tree().unwrap(), 5000);
            assert_eq!(index.check_tree().unwrap(), 5000);
            assert_eq!(ids(&table, &tx), (0..5000).collect::<Vec<_>>());
            let mut there = ids(&heap, &tx);
            there.sort_unstable();
            assert_eq!(there, (0..5000).collect::<Vec<_>>());
            for rowset in [&table, &index, &heap] {
                assert_eq!(rowset.row_count(), Ok(5000));
            }
            engine.commit(&tx, None).unwrap();
            db.close().unwrap();
            sound(&*env.disk);
        });
    }
}

/// Half of the rows come first and page by page; the others split their pages. Then all goes back.
#[test]
fn rollback_finds_the_rows_of_pages_that_have_been_split() {
    Simulation::new(2).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let (table, heap) = (db.rowset(&clustered()), db.rowset(&heap()));
        let setup = begin(&engine, 52);
        table.insert(&setup, &row(-1, 10, None)).unwrap();
        engine.commit(&setup, None).unwrap();
        let tx = begin(&engine, 52);
        let even: Vec<_> = (0..1000).map(|i| row(i * 2, 100, None)).collect();
        table.load(Logging::Pages).add(&tx, &even, false).unwrap();
        let short: Vec<_> = even.iter().map(|r| r[..2].to_vec()).collect();
        heap.load(Logging::Pages).add(&tx, &short, false).unwrap();
        let point = tx.statement_point(engine.locks.mark(&tx.owner));
        let odd: Vec<_> = (0..1000).map(|i| row(i * 2 + 1, 100, None)).collect();
        table.load(Logging::Pages).add(&tx, &odd, false).unwrap();
        engine.rollback(&tx, Some(&point)).unwrap();
        assert_eq!(table.check_tree().unwrap(), 1001);
        table.load(Logging::Pages).add(&tx, &odd, false).unwrap();
        assert_eq!(table.check_tree().unwrap(), 2001);
        engine.rollback(&tx, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 1);
        assert_eq!((table.row_count(), heap.row_count()), (Ok(1), Ok(0)));
        // The room is used again.
        let tx = begin(&engine, 52);
        table.load(Logging::Pages).add(&tx, &odd, false).unwrap();
        heap.load(Logging::Pages).add(&tx, &short, false).unwrap();
        assert_eq!(table.check_tree().unwrap(), 1001);
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
        sound(&*env.disk);
    });
}

#[test]
fn a_key_that_is_there_is_named_by_its_place_among_the_rows() {
    Simulation::new(3).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        table.insert(&tx, &row(250, 10, None)).unwrap();
        let rows: Vec<_> = (0..400).map(|id| row(id, 100, None)).collect();
        let e = table.load(Logging::Pages).add(&tx, &rows, false);
        let e = e.expect_err("the key is there");
        assert_eq!(e.row, 250);
        assert!(matches!(e.error, StorageError::DuplicateKey { .. }));
        engine.rollback(&tx, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 0);
        db.close().unwrap();
    });
}

/// Rows that no record has are there after a commit and a crash, and gone after a crash before it, wherever splits have
/// moved them meanwhile.
#[test]
fn what_is_loaded_without_records_is_kept_by_a_commit_alone() {
    for committed in [true, false] {
        let disk = Simulation::new(4).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            let (table, heap) = (db.rowset(&clustered()), db.rowset(&heap()));
            let tx = begin(&engine, 52);
            for rowset in [&table, &heap] {
                rowset.lock_object(&tx, duramen_txn::LockMode::X).unwrap();
            }
            let before = db.log().unwrap().last_lsn();
            let even: Vec<_> = (0..4000).map(|i| row(i * 2, 100, None)).collect();
            let short: Vec<_> = even.iter().map(|r| r[..2].to_vec()).collect();
            for (rowset, rows) in [(&table, &even), (&heap, &short)] {
                let mut load = rowset.load(Logging::Minimal);
                for some in rows.chunks(2000) {
                    load.add(&tx, some, false).unwrap();
                }
                load.finish(&tx).unwrap();
            }
            let data = 2 * 4000 * 115;
            let logged = db.log().unwrap().bytes_since(before);
            assert!(
                logged * 20 < data,
                "{logged} bytes of log for {data} of rows"
            );
            let odd: Vec<_> = (0..1000).map(|i| row(i * 2 + 1, 100, None)).collect();
            table.load(Logging::Pages).add(&tx, &odd, false).unwrap();
            assert_eq!(table.check_tree().unwrap(), 5000);
            if committed {
                engine.commit(&tx, None).unwrap();
            }
            let log = db.log().unwrap();
            log.flush(log.last_lsn()).unwrap();
            sim.disk()
        });
        Simulation::new(5).on_disk(disk.crash(9)).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = open(&engine).unwrap();
            let (table, heap) = (db.rowset(&clustered()), db.rowset(&heap()));
            let tx = begin(&engine, 52);
            let expected: Vec<i64> = if committed {
                (0..8000).filter(|i| *i < 2000 || i % 2 == 0).collect()
            } else {
                Vec::new()
            };
            assert_eq!(ids(&table, &tx), expected);
            assert_eq!(table.check_tree().unwrap(), expected.len() as u64);
            assert_eq!(ids(&heap, &tx).len(), if committed { 4000 } else { 0 });
            assert_eq!(table.row_count(), Ok(expected.len() as u64));
            engine.commit(&tx, None).unwrap();
            db.close().unwrap();
            sound(&*env.disk);
        });
    }
}

/// With a second thread and without, and when the one who writes has had enough.
#[test]
fn entries_come_in_the_order_of_each_index() {
    Simulation::new(4).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let rowset = db.rowset(&index());
        let mut rng = Rng::new(5);
        let mut numbers = |n: u64| -> Arc<Column> {
            let cells = (0..30_000).map(|_| rng.below(n) as i64).collect();
            Arc::new(Column::new(Data::Ints(IntKind::Int, cells)))
        };
        let both: Vec<Vec<Arc<Column>>> =
            (0..2).map(|_| vec![numbers(7), numbers(1 << 30)]).collect();
        let unsorted = || -> Vec<Unsorted> {
            let one = |columns: &Vec<Arc<Column>>| Unsorted {
                rowset: rowset.clone(),
                columns: columns.clone(),
                rows: 30_000,
            };
            both.iter().map(one).collect()
        };
        let rows = |columns: &[Arc<Column>], n: usize| -> Vec<Vec<Value>> {
            (0..n)
                .map(|i| columns.iter().map(|c| c.get(i)).collect())
                .collect()
        };
        for threads in [1, 2, 3] {
            let mut got = [Vec::new(), Vec::new()];
            write_sorted(unsorted(), threads, |index, columns, n| {
                got[index].extend(rows(columns, n));
                Ok::<(), duramen_base::SqlError>(())
            })
            .unwrap();
            for (got, columns) in got.iter().zip(&both) {
                let mut expected = rows(columns, 30_000);
                expected.sort_by(|a, b| rowset.compare_rows(a, b));
                assert_eq!(*got, expected);
            }
            let mut left = 3;
            let ended = write_sorted(unsorted(), threads, |_, _, _| {
                left -= 1;
                match left {
                    0 => Err(duramen_base::SqlError::new(
                        &duramen_base::messages::LOCK_TIMEOUT,
                        &[],
                    )),
                    _ => Ok(()),
                }
            });
            assert!(ended.is_err() && left == 0);
        }
        db.close().unwrap();
    });
}

/// All rows that a build of `target` from `source` gives, and how many leaves they take; the target is empty then.
fn built(
    (target, source): (&Rowset, &Rowset),
    tx: &duramen_txn::Transaction,
    wanted: &[usize],
    (threads, together): (usize, u64),
) -> (Vec<Vec<Value>>, u64) {
    let mut build = Build::new(target, threads, Fill::default());
    build.together = together;
    build.add(tx, std::slice::from_ref(source), wanted).unwrap();
    build.finish(tx).unwrap();
    let rows = all(target, tx);
    assert_eq!(target.check_tree().unwrap(), rows.len() as u64);
    let leaves = target.page_counts(target.def().au).unwrap().data;
    target.truncate(tx).unwrap();
    (rows, leaves)
}

/// Runs in a file make the tree that memory for all of it makes, on as few leaves.
#[test]
fn a_build_is_one_run_however_little_memory_there_is() {
    Simulation::new(5).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 16 << 20);
        let db = create(&engine).unwrap();
        let (table, index, heap, wide) = (
            db.rowset(&clustered()),
            db.rowset(&index()),
            db.rowset(&heap()),
            db.rowset(&wide()),
        );
        let tx = begin(&engine, 52);
        let mut rng = Rng::new(5);
        let n = |rng: &mut Rng| match rng.below(9) {
            0 => None,
            _ => Some(rng.below(400) as i32),
        };
        let rows: Vec<_> = (0..12_000).map(|id| row(id, 20, n(&mut rng))).collect();
        table.load(Logging::Pages).add(&tx, &rows, false).unwrap();
        let text = |rng: &mut Rng| Value::VarChar(format!("K{}", rng.below(900)).into_bytes());
        let rows: Vec<_> = (0..12_000)
            .map(|id| vec![Value::Int(id), text(&mut rng)])
            .collect();
        heap.load(Logging::Pages).add(&tx, &rows, false).unwrap();
        let files = || {
            let all = env.disk.list(std::path::Path::new("/data")).unwrap();
            all.iter()
                .filter(|p| p.to_string_lossy().contains("spill"))
                .count()
        };
        for (target, source, wanted) in [
            (&index, &table, vec![2, 0]),
            (&wide, &heap, vec![1, 1, NOTHING]),
        ] {
            let (expected, leaves) = built((target, source), &tx, &wanted, (1, 1 << 30));
            assert_eq!(expected.len(), 12_000);
            // The last is more runs than are merged at a time.
            for (threads, together) in [(1, 100_000), (2, 100_000), (3, 30_000), (2, 4_000)] {
                let (rows, taken) = built((target, source), &tx, &wanted, (threads, together));
                assert!(rows == expected, "{threads} threads, {together} bytes");
                assert_eq!(taken, leaves);
                assert_eq!(files(), 0);
            }
        }
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

/// One by one, values of many pages among them.
#[test]
fn rows_that_come_one_by_one_leave_in_order() {
    Simulation::new(6).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 16 << 20);
        let db = create(&engine).unwrap();
        let rowset = db.rowset(&wide());
        let tx = begin(&engine, 52);
        let mut rng = Rng::new(6);
        let mut rows: Vec<Vec<Value>> = (0..600)
            .map(|n| {
                let key = format!("K{}", rng.below(1 << 40)).into_bytes();
                let long = vec![b'l'; if n % 50 == 0 { 300_000 } else { 10 }];
                vec![Value::VarChar(key), Value::VarChar(long), Value::Int(0)]
            })
            .collect();
        let mut sorter = Sorter::new(&rowset);
        sorter.together = 20_000;
        for row in &rows {
            sorter.add(&tx, row.clone()).unwrap();
        }
        let mut got = Vec::new();
        let taken = sorter.finish(&tx, |columns, n| {
            got.extend((0..n).map(|i| columns.iter().map(|c| c.get(i)).collect::<Vec<_>>()));
            Ok::<(), duramen_base::SqlError>(())
        });
        taken.unwrap();
        rows.sort_by(|a, b| rowset.compare_rows(a, b));
        assert!(got == rows);
        db.close().unwrap();
    });
}
