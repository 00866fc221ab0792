//! The buffer pool: its limit holds under pressure, the lazy writer keeps the write-ahead rule, torn pages come back from
//! the double-write file, latches that are waited for are counted, checkpoints come when they are due.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duramen_base::{DbId, PAGE_BYTES, PageId};
use duramen_format::PageBytes;
use duramen_format::page::{PageMut, Verify, seal, verify};
use duramen_observe::{Counter, WaitType, counter, wait_stats};
use duramen_os::random::Rng;
use duramen_os::sim::{DiskOp, Fault, SimDisk, Simulation};
use duramen_os::{IoError, thread, time};
use duramen_types::Value;

use super::fixture::*;
use crate::{Database, Engine, LockHint, RowLocator};

fn fill(engine: &Arc<Engine>, db: &Arc<Database>, ids: std::ops::Range<i32>) {
    let table = db.rowset(&clustered());
    for id in ids {
        let tx = begin(engine, 60);
        table.insert(&tx, &row(id, 3000, Some(id))).unwrap();
        engine.commit(&tx, None).unwrap();
    }
}

fn fetch(engine: &Arc<Engine>, db: &Arc<Database>, id: i32) -> bool {
    let tx = begin(engine, 61);
    let at = RowLocator::Key(vec![Value::Int(id)]);
    let found = db.rowset(&clustered()).fetch(&tx, &at, LockHint::Read);
    engine.commit(&tx, None).unwrap();
    found.unwrap().is_some()
}

/// 100 frames, four hundred pages, several threads, the lazy writer beside them: never a frame above the limit.
#[test]
fn the_limit_holds_under_pressure() {
    Simulation::new(11).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let memory = 100 * (PAGE_BYTES as u64 + 128);
        let engine = engine(&env, memory);
        let db = create(&engine).unwrap();
        let workers: Vec<_> = (0..3)
            .map(|w| {
                let (engine, db) = (engine.clone(), db.clone());
                thread::spawn("worker", move || {
                    fill(&engine, &db, w * 1000..w * 1000 + 150);
                    for id in (0..150).rev() {
                        assert!(fetch(&engine, &db, w * 1000 + id));
                    }
                })
            })
            .collect();
        while workers.iter().any(|w| !w.is_finished()) {
            let stats = engine.pool_stats();
            // Shards are counted one after the other: a page that each worker is moving may be seen twice.
            assert!(stats.committed <= 100 && stats.used <= 103, "{stats:?}");
            let wait = engine.lazy_step(time::now()).unwrap();
            thread::sleep(wait.clamp(Duration::from_micros(200), Duration::from_millis(5)));
        }
        workers.into_iter().for_each(|w| w.join().unwrap());
        db.rowset(&clustered()).check_tree().unwrap();
    });
}

/// A limit that is lowered is reached by giving memory back, and one that is raised is grown into.
#[test]
fn a_lower_limit_gives_memory_back() {
    let disk = SimDisk::new(3);
    let engine = engine(&disk.env(), 400 * (PAGE_BYTES as u64 + 128));
    let db = create(&engine).unwrap();
    fill(&engine, &db, 0..500);
    assert!(engine.pool_stats().committed > 250);
    engine.set_memory_limit(100 * (PAGE_BYTES as u64 + 128));
    while engine.lazy_step(time::now()).unwrap() == Duration::ZERO {}
    let stats = engine.pool_stats();
    assert!(stats.committed <= 100, "{stats:?}");
    assert!((0..500).all(|id| fetch(&engine, &db, id)));
    assert!(engine.pool_stats().committed <= 100);
    engine.set_memory_limit(1 << 30);
    assert!((0..500).all(|id| fetch(&engine, &db, id)));
    assert!(engine.pool_stats().committed > 250);
    // What nobody needs any more goes at once.
    db.close().unwrap();
    engine
        .lazy_step(time::now() + Duration::from_secs(9))
        .unwrap();
    let stats = engine.pool_stats();
    assert!(stats.used == 0 && stats.committed <= 64, "{stats:?}");
}

/// The hot pages of a table survive the scan of another that is larger than the pool.
#[test]
fn a_scan_does_not_throw_out_what_is_used_all_the_time() {
    // In a world of its own: how often a page is used is told by the clock.
    Simulation::new(5).run(|sim| {
        let engine = engine(&sim.env(), 200 * (PAGE_BYTES as u64 + 128));
        let db = create(&engine).unwrap();
        fill(&engine, &db, 0..700);
        for _ in 0..5 {
            thread::sleep(Duration::from_secs(2));
            engine.lazy_step(time::now()).unwrap();
            assert!((0..60).all(|id| fetch(&engine, &db, id)));
        }
        let tx = begin(&engine, 62);
        assert_eq!(all(&db.rowset(&clustered()), &tx).len(), 700);
        engine.commit(&tx, None).unwrap();
        sim.disk().add_fault(Fault {
            op: DiskOp::Read,
            path: Some("/data/t.mdf".into()),
            nth: 1,
            error: IoError::device("read"),
            lasting: true,
        });
        assert!((0..60).all(|id| fetch(&engine, &db, id)), "read again");
        sim.disk().clear_faults();
        db.close().unwrap();
    });
}

/// Frames are put in order to be written down while they change their pages and become dirty anew: no sort may ask twice
/// what they have.
#[test]
fn pages_are_written_down_while_frames_change_theirs() {
    let disk = SimDisk::new(10);
    let engine = engine(&disk.env(), 200 * (PAGE_BYTES as u64 + 128));
    let db = create(&engine).unwrap();
    fill(&engine, &db, 0..700);
    let ended = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2)
        .map(|w| {
            let (engine, db, ended) = (engine.clone(), db.clone(), ended.clone());
            thread::spawn("writer", move || {
                let mut dice = Rng::new(w);
                while !ended.load(Ordering::SeqCst) {
                    let id = dice.below(700) as i32;
                    let at = RowLocator::Key(vec![Value::Int(id)]);
                    let tx = begin(&engine, 70 + w as u16);
                    let values = row(id, 3000, Some(id + 1));
                    db.rowset(&clustered()).update(&tx, &at, &values).unwrap();
                    engine.commit(&tx, None).unwrap();
                }
            })
        })
        .collect();
    for _ in 0..300 {
        engine.pool.write_oldest(db.id, 150).unwrap();
    }
    ended.store(true, Ordering::SeqCst);
    writers.into_iter().for_each(|w| w.join().unwrap());
    assert!((0..700).all(|id| fetch(&engine, &db, id)));
}

/// No page is found on the disk that says more than the log on the disk: the lazy writer flushes first. Seen by cutting
/// the power after every number of changes while it writes, and by recovery being content each time.
#[test]
fn the_lazy_writer_keeps_the_write_ahead_rule() {
    let mut written = 0;
    for cut in (5..110u64).step_by(25) {
        let (disk, n) = Simulation::new(cut).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 70 * (PAGE_BYTES as u64 + 128));
            let db = create(&engine).unwrap();
            fill(&engine, &db, 0..180);
            db.checkpoint().unwrap();
            // Not committed, never flushed by anybody but those who write pages.
            let tx = begin(&engine, 60);
            let table = db.rowset(&clustered());
            sim.disk().power_off_after(cut);
            let mut written = 0;
            for id in 0..180 {
                let at = RowLocator::Key(vec![Value::Int(id)]);
                if table.update(&tx, &at, &row(id, 2990, None)).is_err() {
                    break;
                }
                let before = engine.pool_stats().dirty;
                if engine.lazy_step(time::now()).is_err() {
                    break;
                }
                written += before.saturating_sub(engine.pool_stats().dirty);
            }
            (sim.disk(), written)
        });
        written += n;
        let disk = disk.crash(cut);
        Simulation::new(cut + 50).on_disk(disk).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = open(&engine).unwrap();
            let tx = begin(&engine, 60);
            let rows = all(&db.rowset(&clustered()), &tx);
            assert_eq!(rows.len(), 180);
            for r in rows {
                let Value::VarChar(pad) = &r[1] else { panic!() };
                assert_eq!(pad.len(), 3000, "an update that was never committed");
            }
        });
    }
    assert!(written > 50, "the lazy writer wrote {written} pages");
}

/// A start that fails because pages cannot be written leaves their copies to the next one of the same process: a page may
/// have been torn.
#[test]
fn a_start_that_fails_leaves_its_copies_to_the_next() {
    let disk = SimDisk::new(9);
    let first = engine(&disk.env(), 4 << 20);
    let db = create(&first).unwrap();
    let guid = db.store.guid;
    fill(&first, &db, 0..60);
    db.checkpoint().unwrap();
    fill(&first, &db, 60..180);
    db.log().unwrap().flush_all().unwrap();
    let disk = disk.crash(1);
    let engine = engine(&disk.env(), 4 << 20);
    disk.add_fault(Fault {
        op: DiskOp::Write,
        path: Some(MDF.into()),
        nth: 1,
        error: IoError::device("write"),
        lasting: true,
    });
    assert!(open(&engine).is_err(), "its checkpoint cannot be taken");
    disk.clear_faults();
    let mut torn = 0;
    for n in 0..400 {
        let kept = engine.pool.doublewrite.kept(&guid, PageId::new(1, n));
        if kept.is_some() {
            let at = u64::from(n) * PAGE_BYTES as u64 + 1024;
            disk.damage(Path::new(MDF), at, &[0x5a; 512]).unwrap();
            torn += 1;
        }
    }
    assert!(torn > 0, "nothing was kept");
    let db = open(&engine).unwrap();
    let lost: Vec<i32> = (0..180).filter(|id| !fetch(&engine, &db, *id)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Pages of the last batch are torn in every way; all of them are whole after the restart.
#[test]
pub(super) fn torn_pages_come_back_from_the_double_write_file() {
    let (disk, pages) = one_unfinished_batch();
    let image = disk.durable_bytes(Path::new(MDF)).unwrap();
    for (i, page) in pages.into_iter().enumerate() {
        // Half of the sectors are those of an older page.
        let from = page * PAGE_BYTES + 512 * (1 + i % 8);
        let old: Vec<u8> = (0..512 * (1 + i % 7))
            .map(|b| (b * 37 + b / 251) as u8)
            .collect();
        assert_ne!(image[from..from + old.len()], old[..]);
        disk.damage(Path::new(MDF), from as u64, &old).unwrap();
        assert!(!seems_whole(&disk, page) || page == 0);
    }
    all_rows_are_there(&disk);
}

/// The checksum of a page is an XOR of words: what has changed twice alike in a sector does not show. Such a page is
/// repaired all the same, because nobody asks its checksum.
#[test]
pub(super) fn a_torn_page_whose_checksum_fits_is_repaired_too() {
    let (disk, pages) = one_unfinished_batch();
    let image = disk.durable_bytes(Path::new(MDF)).unwrap();
    let mut torn = 0;
    for page in pages {
        // Two words of a sector in the middle of the rows, each with the same bits turned.
        let from = page * PAGE_BYTES + 8 * 512 + 64;
        let both: Vec<u8> = image[from..from + 8].iter().map(|b| b ^ 0x20).collect();
        disk.damage(Path::new(MDF), from as u64, &both).unwrap();
        torn += usize::from(seems_whole(&disk, page));
    }
    assert!(torn > 2, "{torn} pages pass for whole");
    all_rows_are_there(&disk);
}

const MDF: &str = "/data/t.mdf";

/// A database that died after a batch of pages was written, and the pages of that batch.
fn one_unfinished_batch() -> (Arc<SimDisk>, Vec<usize>) {
    let disk = SimDisk::new(9);
    {
        let engine = engine(&disk.env(), 8 << 20);
        let db = create(&engine).unwrap();
        fill(&engine, &db, 0..60);
        db.checkpoint().unwrap();
        fill(&engine, &db, 60..66);
        db.log().unwrap().flush_all().unwrap();
        // Writes the pages, without telling the boot page: the last batch is that of the data.
        let pool = &engine.pool;
        let written = pool.write_oldest(db.id, 1000).unwrap();
        assert!(written > 2, "{written}");
    }
    let file = disk.durable_bytes(Path::new("/data/duramen.dwb")).unwrap();
    let (even, odd) = file.split_at(file.len() / 2);
    let batch = |half: &[u8]| u64::from_le_bytes(half[16..24].try_into().unwrap());
    let head = if batch(odd) > batch(even) { odd } else { even };
    let count = u32::from_le_bytes(head[24..28].try_into().unwrap()) as usize;
    assert!(count > 2);
    let page = |i: usize| {
        let at = 64 + i * 32 + 20;
        u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize
    };
    let pages = (0..count).map(page).collect();
    (disk, pages)
}

/// Whether the checksum of a page in its place fits.
fn seems_whole(disk: &SimDisk, page: usize) -> bool {
    let image = disk.durable_bytes(Path::new(MDF)).unwrap();
    let bytes: &[u8; PAGE_BYTES] = image[page * PAGE_BYTES..][..PAGE_BYTES].try_into().unwrap();
    !matches!(verify(bytes), Verify::BadChecksum { .. })
}

fn all_rows_are_there(disk: &SimDisk) {
    let engine = engine(&disk.crash(1).env(), 8 << 20);
    let db = open(&engine).unwrap();
    assert!((0..66).all(|id| fetch(&engine, &db, id)));
    let tx = begin(&engine, 61);
    let rows = all(&db.rowset(&clustered()), &tx);
    for (id, found) in rows.iter().enumerate() {
        assert_eq!(*found, row(id as i32, 3000, Some(id as i32)), "row {id}");
    }
    db.rowset(&clustered()).check_tree().unwrap();
}

/// Two threads want one page: the wait shows as PAGELATCH, not as PAGEIOLATCH.
#[test]
fn a_latch_that_is_waited_for_is_counted() {
    let waits = |kind: WaitType| {
        let all = wait_stats();
        *all.iter().find(|w| w.wait_type == kind).unwrap()
    };
    let before = waits(WaitType::PAGELATCH_SH).waiting_tasks_count;
    Simulation::new(2).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 8 << 20);
        let db = create(&engine).unwrap();
        let id = PageId::new(1, 9);
        let held = db.write_page(id).unwrap();
        let other = {
            let db = db.clone();
            thread::spawn("reader", move || {
                assert!(db.read_page(PageId::new(1, 9)).is_ok());
            })
        };
        thread::sleep(Duration::from_millis(7));
        drop(held);
        other.join().unwrap();
    });
    assert!(waits(WaitType::PAGELATCH_SH).waiting_tasks_count > before);
}

/// With a target of one second, pages do not stay dirty beyond what can be redone in half of it, and the checkpoint comes
/// when the log says so; without one, neither happens here.
#[test]
fn indirect_checkpoints_keep_to_their_target() {
    let disk = SimDisk::new(4);
    let engine = engine(&disk.env(), 64 << 20);
    engine.redo_speed.set(2 << 20, 200);
    let db = create(&engine).unwrap();
    assert_eq!(db.target_recovery_time(), 60);
    db.set_target_recovery_time(0).unwrap();
    db.set_truncate_on_checkpoint(false);
    fill(&engine, &db, 0..400);
    assert!(!db.checkpoint_step(1));
    assert!(db.engine.pool.dirty_count(DbId(5)) > 150);
    db.set_target_recovery_time(1).unwrap();
    assert!(db.estimated_recovery_ms() > 1_000);
    // Half a second is for 100 pages, the other for 1 MB of log.
    let previous = db.boot().checkpoint_lsn;
    let due = (0..10).any(|_| db.checkpoint_step(1));
    assert!(due && db.boot().checkpoint_lsn > previous);
    assert!(db.estimated_recovery_ms() <= 100);
    // Changes of many pages with little log: no checkpoint, yet the pages go down.
    for id in 0..400 {
        let tx = begin(&engine, 60);
        let at = RowLocator::Key(vec![Value::Int(id)]);
        let mut changed = row(id, 3000, Some(id + 1));
        changed[1] = row(id, 3000, None)[1].clone();
        db.rowset(&clustered()).update(&tx, &at, &changed).unwrap();
        engine.commit(&tx, None).unwrap();
    }
    assert!(db.engine.pool.dirty_count(DbId(5)) > 150);
    let before = counter(Counter::BackgroundWriterPages);
    let previous = db.boot().checkpoint_lsn;
    assert!(!db.checkpoint_step(1) && !db.checkpoint_step(1));
    assert_eq!(db.boot().checkpoint_lsn, previous);
    assert!(db.engine.pool.dirty_count(DbId(5)) <= 100);
    assert!(counter(Counter::BackgroundWriterPages) > before);
    // The setting outlives a crash.
    let engine = super::fixture::engine(&disk.crash(1).env(), 8 << 20);
    assert_eq!(open(&engine).unwrap().target_recovery_time(), 1);
}

/// What nobody can have written is found when it is read, though its checksum fits: the pair of what is asserted at a write.
#[test]
#[cfg(debug_assertions)]
fn a_page_that_nobody_writes_so_is_no_page_of_ours() {
    let disk = SimDisk::new(9);
    let first = {
        let engine = engine(&disk.env(), 8 << 20);
        let db = create(&engine).unwrap();
        fill(&engine, &db, 0..60);
        let first = db.roots(clustered().au).first;
        db.close().unwrap();
        first.page as usize
    };
    let bytes = disk.durable_bytes(Path::new(MDF)).unwrap();
    let from = first * PAGE_BYTES;
    let mut page: Box<PageBytes> = Box::new(bytes[from..][..PAGE_BYTES].try_into().unwrap());
    PageMut::new(&mut page).set_ghost_count(u16::MAX);
    seal(&mut page);
    disk.damage(Path::new(MDF), from as u64, &page[..]).unwrap();
    let read = move || {
        let engine = engine(&disk.env(), 8 << 20);
        let db = open(&engine).unwrap();
        let tx = begin(&engine, 60);
        all(&db.rowset(&clustered()), &tx).len()
    };
    let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert!(said.starts_with("format/3: page (1:"), "{said}");
}
