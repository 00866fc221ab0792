//! Recovery that is itself cut short, again and again: it gets on, ends in the same state, and does not fill the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_os::sim::Simulation;
use duramen_types::Value;

use super::fixture::*;
use crate::{LockHint, RowLocator};

/// A loser of 120 changes and splits; forty recoveries in a row lose their power after 1, 2, 3, ... changes of the disk.
#[test]
fn recovery_that_is_cut_short_every_time_converges() {
    let mut disk = Simulation::new(7).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 70 * (duramen_base::PAGE_BYTES as u64 + 128));
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let kept = begin(&engine, 51);
        for id in 0..40 {
            table.insert(&kept, &row(id * 3, 1500, Some(id))).unwrap();
        }
        engine.commit(&kept, None).unwrap();
        db.checkpoint().unwrap();
        let lost = begin(&engine, 52);
        for id in 0..80 {
            table.insert(&lost, &row(id * 3 + 1, 1500, None)).unwrap();
        }
        for id in 0..40 {
            let at = RowLocator::Key(vec![Value::Int(id * 3)]);
            table.update(&lost, &at, &row(id * 3, 1400, None)).unwrap();
        }
        db.log().unwrap().flush_all().unwrap();
        sim.disk()
    });
    let mut cut_short = 0;
    for n in 1..40u64 {
        disk = disk.crash(n);
        let (next, off) = Simulation::new(100 + n).on_disk(disk).run(move |sim| {
            sim.disk().power_off_after(n);
            let env = duramen_os::Env::with_disk(sim.disk());
            let config = crate::EngineConfig {
                memory: 70 * (duramen_base::PAGE_BYTES as u64 + 128),
                doublewrite_path: "/data/duramen.dwb".into(),
            };
            let opened = crate::Engine::new(&env, &config).and_then(|e| open(&e));
            assert!(opened.is_ok() || sim.disk().is_off(), "{:?}", opened.err());
            (sim.disk(), sim.disk().is_off())
        });
        disk = next;
        cut_short += u32::from(off);
    }
    assert!(cut_short > 15, "only {cut_short} were cut short");
    Simulation::new(999)
        .on_disk(disk.crash(999))
        .run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = open(&engine).unwrap();
            let table = db.rowset(&clustered());
            table.check_tree().unwrap();
            let tx = begin(&engine, 60);
            assert_eq!(all(&table, &tx).len(), 40);
            for id in 0..40 {
                let at = RowLocator::Key(vec![Value::Int(id * 3)]);
                let found = table.fetch(&tx, &at, LockHint::Read).unwrap();
                assert_eq!(found.unwrap()[2], Value::Int(id));
            }
            engine.commit(&tx, None).unwrap();
            // Undone once, compensated once: not once for each of forty starts.
            let size = db.log().unwrap().space().total;
            assert!(size <= 4 << 20, "the log has grown to {size} bytes");
        });
}

/// What the server log is told: who was carried on, who was taken back; and nothing after a clean end.
#[test]
fn recovery_says_what_it_did() {
    let disk = duramen_os::sim::SimDisk::new(3);
    {
        let engine = engine(&disk.env(), 8 << 20);
        let db = create(&engine).unwrap();
        db.checkpoint().unwrap();
        let table = db.rowset(&clustered());
        for id in 0..5 {
            let tx = begin(&engine, 51);
            table.insert(&tx, &row(id, 10, None)).unwrap();
            if id < 3 {
                engine.commit(&tx, None).unwrap();
            }
        }
        db.log().unwrap().flush_all().unwrap();
    }
    let disk = disk.crash(1);
    let engine1 = engine(&disk.env(), 8 << 20);
    let db = open(&engine1).unwrap();
    let summary = db.recovery_summary().unwrap();
    assert_eq!((summary.rolled_forward, summary.rolled_back), (3, 2));
    db.close().unwrap();
    let db = open(&engine(&disk.env(), 8 << 20)).unwrap();
    let summary = db.recovery_summary().unwrap();
    assert_eq!((summary.rolled_forward, summary.rolled_back), (0, 0));
}

/// A split whose first records another session's flush made durable, and whose end the power failure took: undoing it
/// moves rows back, and the number of rows is what it was.
#[test]
fn undo_of_a_half_made_split_keeps_the_number_of_rows() {
    let mut undone = 0;
    for seed in 15..60u64 {
        if undone > 0 && seed > 22 {
            break;
        }
        let disk = Simulation::new(seed).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            db.checkpoint().unwrap();
            sim.disk().power_off_after(10 + seed * 3);
            let flushed = db.clone();
            // The power may go in a write of data, after which nothing more comes to the log.
            let over = Arc::new(AtomicBool::new(false));
            let stop = over.clone();
            let flusher = duramen_os::thread::spawn("flusher", move || {
                while !stop.load(Ordering::SeqCst) && flushed.log().unwrap().flush_all().is_ok() {
                    duramen_os::thread::yield_now();
                }
            });
            let table = db.rowset(&clustered());
            for id in 0..2_000 {
                let tx = begin(&engine, 51);
                let key = id * 7_919 % 2_003;
                if table.insert(&tx, &row(key, 1500, None)).is_err()
                    || engine.commit(&tx, None).is_err()
                {
                    break;
                }
            }
            over.store(true, Ordering::SeqCst);
            flusher.join().unwrap();
            sim.disk()
        });
        undone += Simulation::new(1_000 + seed)
            .on_disk(disk.crash(seed))
            .run(move |sim| {
                let env = duramen_os::Env::with_disk(sim.disk());
                let engine = engine(&env, 4 << 20);
                let db = open(&engine).unwrap();
                let table = db.rowset(&clustered());
                let tx = begin(&engine, 60);
                let rows = all(&table, &tx).len() as u64;
                assert_eq!(table.row_count().unwrap(), rows, "seed {seed}");
                engine.commit(&tx, None).unwrap();
                db.recovery_summary().unwrap().system_undone
            });
    }
    assert!(undone > 0, "no split was cut in two");
}
