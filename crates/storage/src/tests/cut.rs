//! The empty end of tempdb's files makes room for what spills.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::SqlError;
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::{OpenOptions, thread};

use super::fixture::*;
use crate::{Database, Engine, StorageError};

const MB: u64 = 1 << 20;
const CEILING: u64 = 8 * MB;
const PIECE: usize = 256 << 10;

/// Bytes that the disk has of tempdb's files and of those that rows have spilled to: of all but the double-write file.
fn on_disk(disk: &Arc<SimDisk>) -> u64 {
    let disk = disk.env().disk;
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let other = disk.open(Path::new("/data/duramen.dwb"), &options).unwrap();
    let root = Path::new("/");
    let all = disk.total_space(root).unwrap() - disk.free_space(root).unwrap();
    all - other.len().unwrap()
}

fn tempdb(disk: &Arc<SimDisk>) -> (Arc<Engine>, Arc<Database>) {
    let env = duramen_os::Env::with_disk(disk.clone());
    // 128 frames: pages that go are on their way down all the time.
    let engine = engine(&env, 1 << 20);
    let db = create_fixed_log(&engine, 2).unwrap();
    engine.set_max_tempdb(CEILING, 2 * MB);
    (engine, db)
}

/// Fills a table until there is no room; how many rows it has then.
fn fill(engine: &Arc<Engine>, db: &Arc<Database>, first: i32) -> i32 {
    let table = db.rowset(&heap());
    for id in first.. {
        if id % 50 == 0 {
            db.checkpoint().unwrap();
        }
        let tx = begin(engine, 60);
        match table.insert(&tx, &row(id, 3000, None)[..2]) {
            Ok(_) => engine.commit(&tx, None).unwrap(),
            Err(e) => {
                let full = |e: &SqlError| [1105, 1101].contains(&e.number);
                assert!(matches!(&e, StorageError::Sql(e) if full(e)), "{e:?}");
                engine.rollback(&tx, None).unwrap();
                return id - first;
            }
        };
    }
    0
}

/// Drops the table; its pages go. Then there is a new one.
fn empty(engine: &Arc<Engine>, db: &Arc<Database>) {
    db.checkpoint().unwrap();
    let def = heap();
    let tx = begin(engine, 60);
    db.drop_storage(&tx, &def).unwrap();
    engine.commit(&tx, None).unwrap();
    let tx = begin(engine, 60);
    let roots = db.create_storage(&tx, &def).unwrap();
    db.persist_roots(&tx, def.au, roots).unwrap();
    engine.commit(&tx, None).unwrap();
}

#[test]
fn what_is_in_use_stays() {
    Simulation::new(11).run(|sim| {
        let disk = sim.disk();
        let (engine, db) = tempdb(&disk);
        let kept = db.rowset(&clustered());
        for round in 0..3 {
            let filled = fill(&engine, &db, 0);
            assert!(filled > 500, "{round}: {filled}");
            // Between what goes, something that stays.
            let tx = begin(&engine, 61);
            let _ = kept.insert(&tx, &row(round, 100, None));
            engine.commit(&tx, None).unwrap();
            let full = on_disk(&disk);
            empty(&engine, &db);
            let mut file = engine.spill_file().unwrap();
            let mut spilled = 0;
            while file.append(&vec![1; PIECE]).is_ok() {
                spilled += PIECE as u64;
                assert!(on_disk(&disk) <= CEILING);
            }
            assert!(spilled >= 4 * MB, "{round}: {spilled} beside {full}");
            let tx = begin(&engine, 61);
            kept.check_tree().unwrap();
            assert_eq!(all(&kept, &tx).len(), round as usize + 1);
            engine.commit(&tx, None).unwrap();
        }
    });
}

#[test]
fn spills_and_growths_share_the_ceiling() {
    for seed in 0..2 {
        Simulation::new(seed + 20).run(|sim| {
            let disk = sim.disk();
            let (engine, db) = tempdb(&disk);
            let (spilled, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let see = {
                let (disk, most) = (disk.clone(), most.clone());
                move || most.fetch_max(on_disk(&disk), Ordering::Relaxed)
            };
            let spills: Vec<_> = (0..3)
                .map(|_| {
                    let (engine, spilled, see) = (engine.clone(), spilled.clone(), see.clone());
                    thread::spawn("spills", move || {
                        for _ in 0..6 {
                            let mut file = engine.spill_file().unwrap();
                            while file.append(&vec![1; PIECE]).is_ok() {
                                spilled.fetch_add(PIECE as u64, Ordering::Relaxed);
                                see();
                            }
                        }
                    })
                })
                .collect();
            for round in 0..6 {
                fill(&engine, &db, round * 10_000);
                see();
                empty(&engine, &db);
            }
            for t in spills {
                t.join().unwrap();
            }
            assert!(spilled.load(Ordering::Relaxed) > 0);
            let most = most.load(Ordering::Relaxed);
            assert!(most <= CEILING, "{most}");
            // What was said of the file is what it is.
            assert!(fill(&engine, &db, 100_000) > 100);
            let tx = begin(&engine, 60);
            assert!(!all(&db.rowset(&heap()), &tx).is_empty());
            engine.commit(&tx, None).unwrap();
        });
    }
}
