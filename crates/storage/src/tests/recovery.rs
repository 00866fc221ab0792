//! What recovery costs, and that nothing is paid twice: undo over many crashes, redo by several threads, and the log that a
//! target of recovery time leaves to be redone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use duramen_base::{Lsn, PAGE_BYTES, SqlError, XdesId};
use duramen_format::page::PageRef;
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::{Env, thread};
use duramen_wal::record::RecordView;

use super::fixture::*;
use super::tables::tables;
use crate::change::PageOp;
use crate::{Database, Engine, EngineConfig, RowLocator};

/// Frames enough for half of what the transaction changes: pages, and with them the log, go down during undo.
const SMALL: u64 = 70 * (PAGE_BYTES as u64 + 128);
const KEPT: i32 = 30;

fn small_engine(env: &Env) -> Result<Arc<Engine>, SqlError> {
    let config = EngineConfig {
        memory: SMALL,
        doublewrite_path: "/data/duramen.dwb".into(),
    };
    Engine::new(env, &config)
}

/// A long transaction over three rowsets, durable, without its end; `rollback`: its rollback has begun when the power goes,
/// `after` changes of the disk later.
fn long_transaction(rollback: bool, after: u64) -> (Arc<SimDisk>, XdesId) {
    Simulation::new(11).run(move |sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, SMALL);
        let db = create(&engine).unwrap();
        let tables = tables(&db);
        let kept = begin(&engine, 51);
        for id in 0..KEPT {
            tables.insert(&kept, id * 3, 600, Some(id)).unwrap();
        }
        engine.commit(&kept, None).unwrap();
        db.checkpoint().unwrap();
        let lost = begin(&engine, 52);
        for id in 0..90 {
            tables.insert(&lost, id * 3 + 1, 1000, None).unwrap();
            if id == 45 {
                db.checkpoint().unwrap();
            }
        }
        for id in 0..KEPT {
            match id % 2 {
                0 => tables.delete(&lost, id * 3, Some(id)).unwrap(),
                _ => tables.update(&lost, id * 3, Some(id), 400, None).unwrap(),
            }
        }
        db.log().unwrap().flush_all().unwrap();
        let xdes = lost.part(db.id).unwrap().xdes;
        if rollback {
            sim.disk().power_off_after(after);
            // Others commit meanwhile: what is undone becomes durable bit by bit.
            let (flushed, done) = (db.clone(), Arc::new(AtomicBool::new(false)));
            let stop = done.clone();
            let flusher = thread::spawn("flusher", move || {
                while !stop.load(SeqCst) && flushed.log().unwrap().flush_all().is_ok() {
                    thread::sleep(Duration::from_micros(10));
                }
            });
            let _ = engine.rollback(&lost, None);
            done.store(true, SeqCst);
            flusher.join().unwrap();
            assert!(
                sim.disk().is_off(),
                "the rollback was over before the power went"
            );
        }
        (sim.disk(), xdes)
    })
}

/// Undoable records of a transaction, and the places where undo went on after each of its compensation records.
fn undone(db: &Database, xdes: XdesId) -> (usize, Vec<Lsn>) {
    let mut changes = 0;
    let mut next = Vec::new();
    for record in db.log().unwrap().read(Lsn::NULL) {
        let record = record.unwrap();
        let view = RecordView::parse(&record.bytes).unwrap();
        if view.xdes() != xdes {
            continue;
        }
        if view.is_compensation() {
            next.push(view.prev_lsn());
        } else if let Some((_, _, op)) = PageOp::parse(&view).unwrap() {
            changes += usize::from(!matches!(
                op,
                PageOp::Format { .. } | PageOp::SetFreeSpace { .. }
            ));
        }
    }
    (changes, next)
}

/// Each of forty starts loses its power a little later than the one before. Undo goes on where compensation records say:
/// nothing is undone twice, and all starts together do the work of one.
fn undone_once(rollback: bool) {
    let (mut disk, xdes) = long_transaction(rollback, 3);
    let mut cut_short = 0;
    for n in 0..40u64 {
        disk = disk.crash(n);
        let (next, off) = Simulation::new(200 + n).on_disk(disk).run(move |sim| {
            sim.disk().power_off_after(4 + n);
            let env = Env::with_disk(sim.disk());
            let opened = small_engine(&env).and_then(|e| open(&e));
            assert!(opened.is_ok() || sim.disk().is_off(), "{:?}", opened.err());
            (sim.disk(), sim.disk().is_off())
        });
        disk = next;
        cut_short += u32::from(off);
    }
    assert!(cut_short > 15, "only {cut_short} were cut short");
    Simulation::new(999)
        .on_disk(disk.crash(99))
        .run(move |sim| {
            let env = Env::with_disk(sim.disk());
            let engine = small_engine(&env).unwrap();
            let db = open(&engine).unwrap();
            let (changes, next) = undone(&db, xdes);
            assert!(changes > 200, "{changes} changes");
            assert_eq!(next.len(), changes, "each change is undone once");
            assert!(next.is_sorted_by(|a, b| a > b), "undo only goes backwards");
            let tx = begin(&engine, 60);
            let state = tables(&db).state(&tx);
            let expected = (0..KEPT).map(|id| (id * 3, (600, Some(id)))).collect();
            assert_eq!(state, expected);
            engine.commit(&tx, None).unwrap();
        });
}

#[test]
pub(super) fn undo_that_is_cut_short_again_and_again_undoes_nothing_twice() {
    undone_once(false);
}

#[test]
fn a_rollback_that_a_crash_cuts_short_is_finished_and_not_repeated() {
    undone_once(true);
}

/// Work of some seconds with the background thread at it; then the power goes. What must be redone is no more than the
/// target allows (half of it is for the log), and less for a smaller target.
#[test]
fn the_log_to_redo_keeps_to_the_target() {
    const RATE: u64 = 256 << 10;
    let to_redo = |target: u32| {
        let disk = Simulation::new(5).run(move |sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 16 << 20);
            engine.redo_speed.set(RATE, 100);
            let db = create(&engine).unwrap();
            db.set_target_recovery_time(target).unwrap();
            // Otherwise a log that fills up asks for checkpoints, too.
            db.set_truncate_on_checkpoint(false);
            db.checkpoint().unwrap();
            db.start_background();
            let table = db.rowset(&clustered());
            for id in 0..3_000 {
                let tx = begin(&engine, 51);
                table.insert(&tx, &row(id, 900, None)).unwrap();
                engine.commit(&tx, None).unwrap();
                thread::sleep(Duration::from_millis(2));
            }
            db.log().unwrap().flush_all().unwrap();
            let dirty = db.engine.pool.dirty_count(db.id);
            let pages = u64::from(target) * 100 / 2;
            assert!(u64::from(dirty) <= pages + 40, "{dirty} dirty pages");
            sim.disk()
        });
        Simulation::new(6).on_disk(disk.crash(3)).run(|sim| {
            let env = Env::with_disk(sim.disk());
            let db = open(&engine(&env, 16 << 20)).unwrap();
            db.recovery_summary().unwrap().log_bytes
        })
    };
    // A checkpoint and the look before it take some time, in which log comes.
    let slack = 256 << 10;
    let reported: Vec<u64> = [1u32, 4, 60].map(to_redo).to_vec();
    assert!(reported[0] <= RATE / 2 + slack, "{reported:?}");
    assert!(reported[1] <= 2 * RATE + slack, "{reported:?}");
    // Three megabytes are less than what a minute allows.
    assert!(reported[2] > 2 << 20, "{reported:?}");
    assert!(
        reported[0] < reported[1] && reported[1] < reported[2],
        "{reported:?}"
    );
}

/// Records about few pages in many blocks: each page's records are repeated in their order, whoever has them, and what was
/// redone by several threads is what one would have made.
#[test]
pub(super) fn redo_by_several_threads_keeps_the_order_of_each_page() {
    for seed in 1..4u64 {
        let (disk, state) = Simulation::new(seed).run(move |sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 8 << 20);
            let db = create(&engine).unwrap();
            db.checkpoint().unwrap();
            let tables = tables(&db);
            for round in 0..40 {
                let tx = begin(&engine, 51);
                for id in 0..8 {
                    match round {
                        0 => tables.insert(&tx, id, 100, Some(0)).unwrap(),
                        n => tables
                            .update(&tx, id, Some(n - 1), 100 + n as usize, Some(n))
                            .unwrap(),
                    }
                }
                engine.commit(&tx, None).unwrap();
                db.log().unwrap().flush_all().unwrap();
            }
            let tx = begin(&engine, 60);
            let state = tables.state(&tx);
            engine.commit(&tx, None).unwrap();
            (sim.disk(), state)
        });
        Simulation::new(seed + 50)
            .on_disk(disk.crash(seed))
            .run(move |sim| {
                let env = Env::with_disk(sim.disk());
                let engine = engine(&env, 8 << 20);
                let db = open(&engine).unwrap();
                assert!(db.recovery_summary().unwrap().threads > 1);
                let tx = begin(&engine, 60);
                assert_eq!(tables(&db).state(&tx), state);
                engine.commit(&tx, None).unwrap();
            });
    }
}

/// Recovery undoes whole transactions. Where a crash falls between a change and the PFS byte that follows it, another
/// loser that is undone first may hide that the byte is of no moment at all.
#[test]
fn the_class_of_a_page_is_right_after_undo_in_another_order() {
    let disk = SimDisk::new(7);
    let engine = engine(&disk.env(), 8 << 20);
    let db = create(&engine).unwrap();
    let rows = db.rowset(&heap());
    let tx = begin(&engine, 51);
    let mut places = Vec::new();
    for (id, pad) in [(1, 3000), (2, 3000), (3, 570)] {
        places.push(rows.insert(&tx, &row(id, pad, None)[..2]).unwrap());
    }
    engine.commit(&tx, None).unwrap();
    let RowLocator::Rid(page, _) = places[2] else {
        panic!("a heap")
    };
    let class = || {
        let p = db.read_page(page).unwrap();
        crate::fullness::class_of(PageRef::new(p.bytes()))
    };
    assert_eq!(class(), 3);
    // One transaction takes a row away, another one fills the room that was there before.
    let first = begin(&engine, 52);
    assert!(rows.delete(&first, &places[2]).unwrap());
    assert_eq!(class(), 2);
    let second = begin(&engine, 53);
    let added = rows.insert(&second, &row(4, 700, None)[..2]).unwrap();
    assert!(matches!(added, RowLocator::Rid(p, _) if p == page));
    assert_eq!(class(), 3);
    // As if the record of the byte were behind the end of the log.
    db.set_free_space(page, 2).unwrap();
    // The first one has the later end: it is undone first.
    let other = db.rowset(&clustered());
    other.insert(&first, &row(1, 10, None)).unwrap();
    db.log().unwrap().flush_all().unwrap();

    let disk = disk.crash(1);
    let engine = super::fixture::engine(&disk.env(), 8 << 20);
    let db = open(&engine).unwrap();
    let tx = begin(&engine, 51);
    assert_eq!(all(&db.rowset(&heap()), &tx).len(), 3);
    engine.rollback(&tx, None).unwrap();
    db.close().unwrap();
    sound(&*disk.env().disk);
}
