//! Transactions over two databases, and pages that have gone bad.

use std::sync::Arc;

use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault, SimDisk, Simulation};

use super::fixture::*;
use crate::{Database, Engine, LockHint, RowLocator, ScanSpec};
use duramen_types::Value;

/// A disk whose power went after so many changes while a transaction over two databases, a row in each, was committed.
fn committing(seed: u64, changes: u64) -> Arc<SimDisk> {
    Simulation::new(seed).run(move |sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let first = create_as(&engine, 5, "t").unwrap();
        let second = create_as(&engine, 6, "u").unwrap();
        first.checkpoint().unwrap();
        second.checkpoint().unwrap();
        let tx = begin(&engine, 52);
        for db in [&first, &second] {
            let table = db.rowset(&clustered());
            table.insert(&tx, &row(1, 10, None)).unwrap();
        }
        sim.disk().power_off_after(changes);
        let _ = engine.commit(&tx, None);
        sim.disk()
    })
}

/// Opens the second database, then the coordinator; whether the second was in doubt until then.
fn open_both(disk: Arc<SimDisk>) -> (Arc<Engine>, [Arc<Database>; 2], bool) {
    let engine = engine(&duramen_os::Env::with_disk(disk), 4 << 20);
    let second = open_as(&engine, 6, "u").unwrap();
    let doubt = second.waits_for().is_some();
    let first = open_as(&engine, 5, "t").unwrap();
    (engine, [first, second], doubt)
}

/// Power is lost after every possible number of disk changes during the commit: both databases have the row, or none.
#[test]
fn a_transaction_over_two_databases_is_atomic_over_a_crash() {
    let (mut both, mut none) = (0, 0);
    for n in 0..24u64 {
        let disk = committing(n, n);
        let found = Simulation::new(n + 100)
            .on_disk(disk.crash(n))
            .run(move |sim| {
                let env = duramen_os::Env::with_disk(sim.disk());
                let engine = engine(&env, 4 << 20);
                // The participant is opened before the coordinator half of the time.
                let (first, second) = if n % 2 == 0 {
                    let second = open_as(&engine, 6, "u").unwrap();
                    (open_as(&engine, 5, "t").unwrap(), second)
                } else {
                    let first = open_as(&engine, 5, "t").unwrap();
                    (first, open_as(&engine, 6, "u").unwrap())
                };
                let tx = begin(&engine, 52);
                let at = RowLocator::Key(vec![Value::Int(1)]);
                [first, second].map(|db| {
                    assert!(db.transactions.table.is_empty(), "nobody is left in doubt");
                    let table = db.rowset(&clustered());
                    table.fetch(&tx, &at, LockHint::Read).unwrap().is_some()
                })
            });
        assert_eq!(found[0], found[1], "after {n} changes");
        both += u32::from(found[0]);
        none += u32::from(!found[0]);
    }
    assert!(both > 0 && none > 0, "{both} committed, {none} did not");
}

/// The coordinator has lost what it had of the transaction, goes on, and crashes again before the participant asks.
#[test]
fn a_coordinator_that_went_on_is_asked_for_what_it_lost() {
    let mut asked = 0;
    for n in 0..30u64 {
        let disk = committing(n, n / 2);
        let disk = disk.crash(n);
        let disk = Simulation::new(n + 100).on_disk(disk).run(move |sim| {
            let engine = engine(&duramen_os::Env::with_disk(sim.disk()), 4 << 20);
            let first = open_as(&engine, 5, "t").unwrap();
            for id in 100..140 {
                let tx = begin(&engine, 52);
                let table = first.rowset(&clustered());
                table
                    .insert(&tx, &row(id, 10 * (id as usize % 7), None))
                    .unwrap();
                engine.commit(&tx, None).unwrap();
                if id % 3 == 0 {
                    first.access.flush(first.access.last_lsn()).unwrap();
                }
            }
            first.access.flush(first.access.last_lsn()).unwrap();
            sim.disk()
        });
        let disk = disk.crash(n + 1);
        let found = Simulation::new(n + 200).on_disk(disk).run(move |sim| {
            let (engine, [first, second], doubt) = open_both(sim.disk());
            let tx = begin(&engine, 52);
            let at = RowLocator::Key(vec![Value::Int(1)]);
            let found = [first, second].map(|db| {
                assert_eq!(db.waits_for(), None, "{}, after {n}", db.name);
                let table = db.rowset(&clustered());
                table.fetch(&tx, &at, LockHint::Read).unwrap().is_some()
            });
            (doubt, found)
        });
        asked += u32::from(found.0);
        assert_eq!(found.1[0], found.1[1], "after {n}");
    }
    assert!(asked > 0, "nobody was in doubt");
}

/// A transaction over two databases drops a heap of the second and is in doubt after a crash: undone, the heap has its rows
/// and knows how many, whether its opening is cut short before the coordinator could be asked, or not.
#[test]
fn a_heap_whose_drop_is_undone_late_is_whole() {
    const ROWS: i32 = 40;
    let (mut dropped, mut kept_in_doubt) = (0, 0);
    for n in 0..40u64 {
        let disk = Simulation::new(n).run(move |sim| {
            let engine = engine(&duramen_os::Env::with_disk(sim.disk()), 4 << 20);
            let first = create_as(&engine, 5, "t").unwrap();
            let second = create_as(&engine, 6, "u").unwrap();
            let heap = new_heap(&engine, &second, 400, 1).unwrap();
            let fill = begin(&engine, 51);
            for id in 0..ROWS {
                heap.insert(&fill, &[Value::Int(id), Value::VarChar(b"x".repeat(700))])
                    .unwrap();
            }
            engine.commit(&fill, None).unwrap();
            first.checkpoint().unwrap();
            second.checkpoint().unwrap();
            let tx = begin(&engine, 52);
            let table = first.rowset(&clustered());
            table.insert(&tx, &row(1, 10, None)).unwrap();
            second.drop_storage(&tx, heap.def()).unwrap();
            remove_unit(&second, &tx, 400).unwrap();
            sim.disk().power_off_after(n / 2);
            let _ = engine.commit(&tx, None);
            sim.disk()
        });
        // Every other time the second database is opened alone, and power goes again.
        let disk = match n % 2 {
            0 => disk.crash(n),
            _ => Simulation::new(n + 50)
                .on_disk(disk.crash(n))
                .run(|sim| {
                    let engine = engine(&duramen_os::Env::with_disk(sim.disk()), 4 << 20);
                    open_as(&engine, 6, "u").unwrap();
                    sim.disk()
                })
                .crash(n + 1),
        };
        let (doubt, committed, found) = Simulation::new(n + 100).on_disk(disk).run(move |sim| {
            let (engine, [first, second], doubt) = open_both(sim.disk());
            let tx = begin(&engine, 52);
            let at = RowLocator::Key(vec![Value::Int(1)]);
            let table = first.rowset(&clustered());
            let committed = table.fetch(&tx, &at, LockHint::Read).unwrap().is_some();
            let heap = second.rowset(&heap_numbered(400));
            let counted = heap.row_count().unwrap();
            let mut rows = heap.scan(&tx, ScanSpec::all(LockHint::Read)).unwrap();
            let mut read = 0;
            while rows.next(&tx).unwrap().is_some() {
                read += 1;
            }
            (doubt, committed, (read, counted))
        });
        let rows = if committed { 0 } else { ROWS as u64 };
        assert_eq!(found, (rows, rows), "read and counted, seed {n}");
        dropped += u32::from(committed);
        kept_in_doubt += u32::from(doubt && !committed);
    }
    assert!(
        dropped > 0 && kept_in_doubt > 0,
        "{dropped}, {kept_in_doubt}"
    );
}

/// One that is asked about while its coordinator is being opened is settled by whoever comes last.
#[test]
fn a_coordinator_that_opens_meanwhile_settles_what_is_in_doubt() {
    let disk = Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let first = create_as(&engine, 5, "t").unwrap();
        let second = create_as(&engine, 6, "u").unwrap();
        let tx = begin(&engine, 52);
        for db in [&first, &second] {
            let table = db.rowset(&clustered());
            table.insert(&tx, &row(1, 10, None)).unwrap();
        }
        // Prepared and decided; the participant's own COMMIT is lost with the power.
        engine.commit(&tx, None).unwrap();
        sim.disk()
    });
    let mut doubtful = 0;
    for seed in 0..400 {
        Simulation::new(seed).on_disk(disk.crash(seed)).run(|sim| {
            let engine = engine(&duramen_os::Env::with_disk(sim.disk()), 4 << 20);
            let second = open_as(&engine, 6, "u").unwrap();
            doubtful += u32::from(second.waits_for().is_some());
            let opened = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let asking = duramen_os::thread::spawn("asks", {
                let (second, opened) = (second.clone(), opened.clone());
                move || {
                    while !opened.load(std::sync::atomic::Ordering::SeqCst) {
                        second.resolve_in_doubt().unwrap();
                        duramen_os::thread::yield_now();
                    }
                }
            });
            open_as(&engine, 5, "t").unwrap();
            opened.store(true, std::sync::atomic::Ordering::SeqCst);
            asking.join().unwrap();
            assert_eq!(second.waits_for(), None, "seed {seed}");
        });
    }
    assert!(doubtful > 20, "in doubt with {doubtful} seeds");
}

#[test]
pub(super) fn a_page_that_rotted_is_error_824() {
    let disk = Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        for id in 0..200 {
            table.insert(&tx, &row(id, 300, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
        let page = table.first_page().page;
        let at = u64::from(page) * 8192 + 4000;
        sim.disk()
            .damage("/data/t.mdf".as_ref(), at, b"rot")
            .unwrap();
        sim.disk()
    });
    let disk: std::sync::Arc<SimDisk> = disk;
    Simulation::new(2).on_disk(disk).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        // The last batch of the double-write file may have the page: it is not allowed to hide the damage here.
        let dwb = std::path::Path::new("/data/duramen.dwb");
        let bytes = sim.disk().durable_bytes(dwb).unwrap().len() as u64;
        for half in [0, bytes / 2] {
            sim.disk().damage(dwb, half, b"gone").unwrap();
        }
        let engine = engine(&env, 4 << 20);
        let db = open(&engine).unwrap();
        let tx = begin(&engine, 52);
        let at = RowLocator::Key(vec![Value::Int(0)]);
        let error = db
            .rowset(&clustered())
            .fetch(&tx, &at, LockHint::Read)
            .unwrap_err();
        assert_eq!(error.number, 824);
        assert!(error.message.contains("incorrect checksum"), "{error}");
    });
}

/// The places of some pages cannot be written, so they may be torn; then another database writes its own. The copies
/// must still be there after a crash.
#[test]
fn pages_that_failed_are_kept_while_others_are_written() {
    for seed in 0..40u64 {
        let disk = Simulation::new(seed).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let first = create_as(&engine, 5, "t").unwrap();
            let second = create_as(&engine, 6, "u").unwrap();
            let fill = |id: i32| {
                let tx = begin(&engine, 52);
                for db in [&first, &second] {
                    let table = db.rowset(&clustered());
                    for i in 0..20 {
                        table.insert(&tx, &row(id + i, 700, None)).unwrap();
                    }
                }
                engine.commit(&tx, None).unwrap();
            };
            fill(0);
            first.checkpoint().unwrap();
            second.checkpoint().unwrap();
            fill(100);
            let op = [DiskOp::Write, DiskOp::Sync][seed as usize % 2];
            sim.disk().add_fault(Fault {
                op,
                path: Some("/data/t.mdf".into()),
                nth: 1 + seed / 2 % 3,
                error: IoError::device("test"),
                lasting: false,
            });
            let failed = first.checkpoint().is_err();
            assert!(failed || seed / 2 % 3 > 0);
            second.checkpoint().unwrap();
            second.checkpoint().unwrap();
            sim.disk()
        });
        Simulation::new(seed + 100)
            .on_disk(disk.crash(seed))
            .run(|sim| {
                let env = duramen_os::Env::with_disk(sim.disk());
                let engine = engine(&env, 4 << 20);
                let db = open_as(&engine, 5, "t").unwrap();
                let tx = begin(&engine, 52);
                for id in 0..20 {
                    let at = RowLocator::Key(vec![Value::Int(id)]);
                    let found = db.rowset(&clustered()).fetch(&tx, &at, LockHint::Read);
                    assert!(found.unwrap().is_some(), "seed {seed}: row {id}");
                }
            });
    }
}

/// A log that cannot be written any more takes no compensation either: what a transaction has changed stays on the
/// pages, and its session may go, but nobody is let at it.
#[test]
fn what_cannot_be_rolled_back_is_not_seen() {
    for over_both in [false, true] {
        Simulation::new(7).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let first = create_as(&engine, 5, "t").unwrap();
            let second = create_as(&engine, 6, "u").unwrap();
            let lost = begin(&engine, 52);
            let table = first.rowset(&clustered());
            table.insert(&lost, &row(1, 10, None)).unwrap();
            if over_both {
                let other = second.rowset(&clustered());
                other.insert(&lost, &row(1, 10, None)).unwrap();
            }
            sim.disk().add_fault(Fault {
                op: DiskOp::Write,
                path: Some("/data/t_log.ldf".into()),
                nth: 1,
                error: IoError::device("test"),
                lasting: false,
            });
            let by_others = begin(&engine, 53);
            table.insert(&by_others, &row(2, 10, None)).unwrap();
            engine.commit(&by_others, None).unwrap();
            assert!(first.access.flush(first.access.last_lsn()).is_err());
            let waiting = duramen_os::thread::spawn("reader", {
                let (engine, table) = (engine.clone(), table.clone());
                move || {
                    let reader = begin(&engine, 54);
                    let at = RowLocator::Key(vec![Value::Int(1)]);
                    let seen = table.fetch(&reader, &at, LockHint::Read);
                    seen.unwrap_err().number
                }
            });
            duramen_os::thread::sleep(std::time::Duration::from_millis(1));
            assert_eq!(engine.commit(&lost, None).unwrap_err().number, 9001);
            assert_eq!(engine.rollback(&lost, None).unwrap_err().number, 9001);
            engine.locks.release_session(&lost.owner);
            assert_eq!(waiting.join().unwrap(), 9001);
            let reader = begin(&engine, 55);
            let at = RowLocator::Key(vec![Value::Int(1)]);
            let seen = table.fetch(&reader, &at, LockHint::Read);
            assert_eq!(seen.unwrap_err().number, 9001);
        });
    }
}
