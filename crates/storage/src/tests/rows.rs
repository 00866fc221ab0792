//! Rows in and out, one session, no crash.

use duramen_os::sim::Simulation;
use duramen_types::Value;

use super::fixture::*;
use crate::{Database, LockHint, RowLocator, Rowset, ScanSpec, StorageError};

#[test]
pub(super) fn inserts_in_random_order_come_back_in_key_order() {
    Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        for i in 0..3001i32 {
            let id = (i * 7919) % 3001;
            table
                .insert(&tx, &row(id, (id % 300) as usize, Some(i)))
                .unwrap();
        }
        assert_eq!(table.check_tree().unwrap(), 3001);
        assert_eq!(table.row_count().unwrap(), 3001);
        let rows = all(&table, &tx);
        assert_eq!(rows.len(), 3001);
        for (at, r) in rows.iter().enumerate() {
            assert_eq!(r[0], Value::Int(at as i32));
        }
        let duplicate = table.insert(&tx, &row(5, 1, None));
        assert!(matches!(duplicate, Err(StorageError::DuplicateKey { .. })));
        // Backwards, from the middle.
        let spec = ScanSpec {
            lower: Some((vec![Value::Int(100)], false)),
            upper: Some((vec![Value::Int(200)], true)),
            forward: false,
            reading: LockHint::Read.into(),
        };
        let mut cursor = table.scan(&tx, spec).unwrap();
        let mut ids = Vec::new();
        while let Some((_, r)) = cursor.next(&tx).unwrap() {
            ids.push(r[0].as_i64().unwrap());
        }
        assert_eq!(ids, (101..=200).rev().collect::<Vec<_>>());
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

#[test]
fn rollback_brings_back_rows_that_splits_have_moved() {
    Simulation::new(2).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let setup = begin(&engine, 52);
        for id in 0..500 {
            table.insert(&setup, &row(id * 2, 100, Some(id))).unwrap();
        }
        engine.commit(&setup, None).unwrap();
        let check = begin(&engine, 53);
        let before = all(&table, &check);
        engine.commit(&check, None).unwrap();

        let tx = begin(&engine, 52);
        for id in 0..500 {
            match id % 4 {
                0 => {
                    table
                        .delete(&tx, &RowLocator::Key(vec![Value::Int(id * 2)]))
                        .unwrap();
                    table.insert(&tx, &row(id * 2, 700, None)).unwrap();
                }
                1 => {
                    let at = RowLocator::Key(vec![Value::Int(id * 2)]);
                    table.update(&tx, &at, &row(id * 2, 900, Some(-1))).unwrap();
                }
                2 => {
                    let at = RowLocator::Key(vec![Value::Int(id * 2)]);
                    table.update(&tx, &at, &row(id * 2, 3, None)).unwrap();
                    table.insert(&tx, &row(id * 2 + 1, 300, None)).unwrap();
                }
                _ => {
                    table
                        .delete(&tx, &RowLocator::Key(vec![Value::Int(id * 2)]))
                        .unwrap();
                }
            }
        }
        table.check_tree().unwrap();
        engine.rollback(&tx, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 500);
        assert_eq!(table.row_count().unwrap(), 500);
        let check = begin(&engine, 53);
        assert_eq!(all(&table, &check), before);
        engine.commit(&check, None).unwrap();
        db.close().unwrap();
    });
}

#[test]
fn heaps_forward_rows_and_keep_their_rids() {
    Simulation::new(3).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&heap());
        let tx = begin(&engine, 52);
        let mut rids = Vec::new();
        for id in 0..200 {
            rids.push(table.insert(&tx, &row(id, 100, None)[..2]).unwrap());
        }
        engine.commit(&tx, None).unwrap();
        let tx = begin(&engine, 52);
        for id in 0..200 {
            let at = &rids[id as usize];
            if id % 3 == 0 {
                table.update(&tx, at, &row(id, 3000, None)[..2]).unwrap();
                table.update(&tx, at, &row(id, 3900, None)[..2]).unwrap();
            } else if id % 3 == 1 {
                assert!(table.delete(&tx, at).unwrap());
            }
        }
        let fetched = table.fetch(&tx, &rids[0], LockHint::Read).unwrap().unwrap();
        assert_eq!(fetched, row(0, 3900, None)[..2]);
        assert_eq!(all(&table, &tx).len(), 133);
        engine.rollback(&tx, None).unwrap();
        let tx = begin(&engine, 52);
        for id in 0..200 {
            let at = &rids[id as usize];
            let fetched = table.fetch(&tx, at, LockHint::Read).unwrap().unwrap();
            assert_eq!(fetched, row(id, 100, None)[..2]);
        }
        assert_eq!(all(&table, &tx).len(), 200);
        assert_eq!(table.row_count().unwrap(), 200);
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

#[test]
fn equal_keys_get_uniquifiers_and_large_values_leave_the_row() {
    Simulation::new(4).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&wide());
        let tx = begin(&engine, 52);
        for (i, bytes) in [10usize, 9_000, 100_000, 7_000_000, 10].iter().enumerate() {
            let values = [
                Value::varchar("k"),
                Value::VarChar(vec![b'0' + i as u8; *bytes]),
            ];
            let at = table.insert(&tx, &values).unwrap();
            let RowLocator::Key(key) = at else { panic!() };
            assert_eq!(key[1], Value::Int(i as i32));
        }
        let rows = all(&table, &tx);
        let lengths: Vec<usize> = rows
            .iter()
            .map(|r| match &r[1] {
                Value::VarChar(b) => b.len(),
                _ => 0,
            })
            .collect();
        assert_eq!(lengths, [10, 9_000, 100_000, 7_000_000, 10]);
        assert!(
            table
                .delete(
                    &tx,
                    &RowLocator::Key(vec![Value::varchar("k"), Value::Int(3)])
                )
                .unwrap()
        );
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

/// Wide keys make trees of several levels: nodes split at the right edge and in the middle.
#[test]
pub(super) fn nodes_split_on_every_level() {
    Simulation::new(5).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 16 << 20);
        let db = create(&engine).unwrap();
        for (step, expected) in [(1u64, 1200), (1193, 1200)] {
            let def = wide_keys(if step == 1 { 305 } else { 306 });
            let tx = begin(&engine, 52);
            db.create_storage(&tx, &def).unwrap();
            let table = db.rowset(&def);
            for i in 0..1200u64 {
                let n = (i * step) % 1201;
                let key = format!("{n:0>800}");
                table.insert(&tx, &[Value::varchar(&key)]).unwrap();
                if i % 400 == 399 {
                    table.check_tree().unwrap();
                }
            }
            assert_eq!(table.check_tree().unwrap(), expected);
            engine.rollback(&tx, None).unwrap();
        }
        let free = db.files()[0].free_extents;
        let size = db.files()[0].size;
        assert!(
            free * 8 + 300 > size,
            "the pages came back: {free} extents of {size} pages"
        );
        db.close().unwrap();
    });
}

/// A row that shrank may grow again in the same transaction, and others may not take the room that its undo needs,
/// not even after a split has moved it.
#[test]
fn room_for_undo_is_kept_when_rows_move() {
    Simulation::new(6).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let setup = begin(&engine, 52);
        for id in 0..8 {
            table.insert(&setup, &row(id * 100, 900, None)).unwrap();
        }
        engine.commit(&setup, None).unwrap();
        let tx = begin(&engine, 52);
        for id in 0..8 {
            let at = RowLocator::Key(vec![Value::Int(id * 100)]);
            table.update(&tx, &at, &row(id * 100, 1, None)).unwrap();
        }
        let other = begin(&engine, 53);
        for id in 0..400 {
            if id % 100 != 0 {
                table.insert(&other, &row(id, 30, None)).unwrap();
            }
        }
        engine.commit(&other, None).unwrap();
        let at = RowLocator::Key(vec![Value::Int(300)]);
        table.update(&tx, &at, &row(300, 3900, None)).unwrap();
        table.update(&tx, &at, &row(300, 2, None)).unwrap();
        table.update(&tx, &at, &row(300, 3900, None)).unwrap();
        table.check_tree().unwrap();
        engine.rollback(&tx, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 404);
        let tx = begin(&engine, 52);
        for id in 0..8 {
            let at = RowLocator::Key(vec![Value::Int(id * 100)]);
            let found = table.fetch(&tx, &at, LockHint::Read).unwrap();
            assert_eq!(found, Some(row(id * 100, 900, None)));
        }
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

#[test]
fn truncate_gives_the_pages_back_or_brings_the_rows_back() {
    let disk = Simulation::new(7).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let setup = begin(&engine, 52);
        for id in 0..2000 {
            table.insert(&setup, &row(id, 300, None)).unwrap();
        }
        engine.commit(&setup, None).unwrap();
        let free = db.files()[0].free_extents;

        let tx = begin(&engine, 52);
        table.truncate(&tx).unwrap();
        assert_eq!(all(&table, &tx).len(), 0);
        table.insert(&tx, &row(1, 10, None)).unwrap();
        engine.rollback(&tx, None).unwrap();
        let tx = begin(&engine, 52);
        assert_eq!(all(&table, &tx).len(), 2000);
        assert_eq!(table.row_count().unwrap(), 2000);
        assert_eq!(db.files()[0].free_extents, free);

        table.truncate(&tx).unwrap();
        for id in 0..10 {
            table.insert(&tx, &row(id, 10, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        assert!(db.files()[0].free_extents > free + 8);
        let tx = begin(&engine, 52);
        assert_eq!(all(&table, &tx).len(), 10);
        assert_eq!(table.row_count().unwrap(), 10);
        engine.commit(&tx, None).unwrap();
        db.log().unwrap().flush_all().unwrap();
        sim.disk()
    });
    Simulation::new(8).on_disk(disk.crash(8)).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = open(&engine).unwrap();
        let tx = begin(&engine, 52);
        let table = db.rowset(&clustered());
        assert_eq!(all(&table, &tx).len(), 10);
        table.insert(&tx, &row(11, 10, None)).unwrap();
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

#[test]
pub(super) fn ghosts_go_when_their_deleter_has_ended_and_not_before() {
    Simulation::new(9).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        for id in 0..300 {
            table.insert(&tx, &row(id, 100, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        let tx = begin(&engine, 52);
        for id in 0..250 {
            let at = RowLocator::Key(vec![Value::Int(id)]);
            assert!(table.delete(&tx, &at).unwrap());
        }
        assert_eq!(db.clean_ghosts().unwrap(), 0);
        engine.rollback(&tx, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 300);
        let tx = begin(&engine, 52);
        for id in 0..250 {
            let at = RowLocator::Key(vec![Value::Int(id)]);
            assert!(table.delete(&tx, &at).unwrap());
        }
        engine.commit(&tx, None).unwrap();
        assert_eq!(db.clean_ghosts().unwrap(), 250);
        assert_eq!(db.clean_ghosts().unwrap(), 0);
        let tx = begin(&engine, 52);
        for id in 0..250 {
            table.insert(&tx, &row(id, 90, None)).unwrap();
        }
        assert_eq!(table.check_tree().unwrap(), 300);
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

/// A log of fixed size takes any amount of work in SIMPLE, and a transaction that is too large for it is rolled back.
#[test]
fn a_full_log_is_error_9002_and_rolls_back() {
    Simulation::new(10).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 8 << 20);
        let db = create_fixed_log(&engine, 5).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        let mut failed = None;
        for id in 0..20_000 {
            if let Err(e) = table.insert(&tx, &row(id, 900, None)) {
                failed = Some(duramen_base::SqlError::from(e));
                break;
            }
        }
        assert_eq!(failed.map(|e| e.number), Some(9002));
        engine.rollback(&tx, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 0);
        db.checkpoint().unwrap();
        for round in 0..10 {
            let tx = begin(&engine, 52);
            for id in 0..100 {
                table
                    .insert(&tx, &row(round * 100 + id, 900, None))
                    .unwrap();
            }
            engine.commit(&tx, None).unwrap();
            db.checkpoint().unwrap();
        }
        assert_eq!(table.check_tree().unwrap(), 1000);
        db.close().unwrap();
    });
}

/// The count of ghosts in a page's header follows from what is logged: over a row in a ghost's place, the undo of that,
/// a split that moves ghosts, and a crash. It was kept beside the log once, and cleanup went past pages that had some.
#[test]
fn pages_know_how_many_ghosts_they_have() {
    let disk = Simulation::new(3).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let key = |id: i32| RowLocator::Key(vec![Value::Int(id)]);
        let tx = begin(&engine, 51);
        for id in 0..60 {
            table.insert(&tx, &row(id * 2, 100, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        let tx = begin(&engine, 51);
        for id in 20..50 {
            assert!(table.delete(&tx, &key(id * 2)).unwrap());
        }
        engine.commit(&tx, None).unwrap();
        // In the places of ghosts, and taken back.
        let tx = begin(&engine, 51);
        for id in 20..26 {
            table.insert(&tx, &row(id * 2, 90, Some(1))).unwrap();
        }
        engine.rollback(&tx, None).unwrap();
        let tx = begin(&engine, 51);
        table.insert(&tx, &row(60, 100, Some(1))).unwrap();
        // Splits among ghosts.
        for id in 0..20 {
            table.insert(&tx, &row(id * 2 + 1, 700, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        db.log().unwrap().flush_all().unwrap();
        sim.disk()
    });
    Simulation::new(4).on_disk(disk.crash(1)).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        open(&engine).unwrap().close().unwrap();
        sound(&*sim.disk());
    });
}

/// The keys of a root above the leaves, but for the first.
fn separators(db: &Database, table: &Rowset) -> Vec<i32> {
    let root = db.read_page(table.root().unwrap()).unwrap();
    let key = |slot| {
        let row = root.page().expect_record(slot).unwrap().bytes();
        i32::from_le_bytes(row[1..5].try_into().unwrap())
    };
    (1..root.page().slot_count()).map(key).collect()
}

/// A row that grows finds a ghost beside it, which goes; what is alone then has its page for itself. It was split off at
/// its own separator once, which gave the parent two equal keys.
#[test]
fn a_row_that_is_alone_is_not_split_off() {
    Simulation::new(11).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        for id in 0..8 {
            table.insert(&tx, &row(id, 4000, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        let at = |id| RowLocator::Key(vec![Value::Int(id)]);
        let tx = begin(&engine, 52);
        assert!(table.delete(&tx, &at(3)).unwrap());
        engine.commit(&tx, None).unwrap();
        let tx = begin(&engine, 52);
        table.update(&tx, &at(2), &row(2, 6000, None)).unwrap();
        engine.commit(&tx, None).unwrap();
        assert_eq!(separators(&db, &table), [2, 4, 6]);
        assert_eq!(table.check_tree().unwrap(), 7);
        db.close().unwrap();
        sound(&*env.disk);
    });
}

/// Room that was kept for an undo on a page that has no row left: a split at its own separator gave the parent two equal keys.
#[test]
fn an_empty_page_keeps_room_for_nobody() {
    Simulation::new(10).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        for id in 0..8 {
            table.insert(&tx, &row(id, 4000, None)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        // An older transaction still runs: what is reserved counts.
        let older = begin(&engine, 53);
        db.rowset(&heap())
            .insert(&older, &row(1, 10, None)[..2])
            .unwrap();
        let tx = begin(&engine, 52);
        for id in [2, 3] {
            let at = RowLocator::Key(vec![Value::Int(id)]);
            table.update(&tx, &at, &row(id, 10, None)).unwrap();
            assert!(table.delete(&tx, &at).unwrap());
        }
        engine.commit(&tx, None).unwrap();
        assert_eq!(db.clean_ghosts().unwrap(), 2);
        let tx = begin(&engine, 52);
        table.insert(&tx, &row(2, 4000, None)).unwrap();
        engine.commit(&tx, None).unwrap();
        assert_eq!(separators(&db, &table), [2, 4, 6]);
        engine.commit(&older, None).unwrap();
        assert_eq!(table.check_tree().unwrap(), 7);
        db.close().unwrap();
        sound(&*env.disk);
    });
}

/// A heap's insert whose transaction holds more locks than there is memory for, and which cannot have the table's instead.
#[test]
fn a_heap_without_room_for_locks_does_not_grow() {
    Simulation::new(8).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        engine.locks.set_memory_limit(0);
        let db = create(&engine).unwrap();
        let table = db.rowset(&heap());
        let short = |id: i32| vec![Value::Int(id), Value::varchar("x")];
        let other = begin(&engine, 53);
        table.insert(&other, &short(-1)).unwrap();
        let tx = begin(&engine, 52);
        let inserted = (0..30_000).find_map(|id| table.insert(&tx, &short(id)).err());
        let error = duramen_base::SqlError::from(inserted.expect("30,000 locks are too many"));
        assert_eq!(error.number, 1204);
        let pages = table.heap_pages().unwrap().len();
        assert!(pages < 200, "{pages} pages");
        engine.rollback(&tx, None).unwrap();
        // Alone it gets the table.
        engine.commit(&other, None).unwrap();
        let tx = begin(&engine, 52);
        for id in 0..6000 {
            table.insert(&tx, &short(id)).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}
