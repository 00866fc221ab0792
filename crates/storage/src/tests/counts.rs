//! Counts of rows after crashes and after closes: from notes, from rows of sysrowsets, from the log.

use std::sync::Arc;

use duramen_os::Env;
use duramen_os::sim::{SimDisk, Simulation};
use duramen_types::Value;

use super::fixture::*;
use crate::{Database, Engine, RowLocator};

/// Runs on the disk that a crash, or a close, has left.
fn life(
    seed: u64,
    disk: Arc<SimDisk>,
    known: i64,
    work: fn(&Engine, &Arc<Database>),
) -> Arc<SimDisk> {
    Simulation::new(seed)
        .on_disk(disk.crash(seed))
        .run(move |sim| {
            let engine = engine(&Env::with_disk(sim.disk()), 4 << 20);
            let db = open(&engine).unwrap();
            // Not counted now, as `row_count` would where nobody knows: kept.
            let rows = db.storage(clustered().au).rows.get();
            assert_eq!(rows, Some(known), "life {seed}");
            let tx = begin(&engine, 60);
            assert_eq!(all(&db.rowset(&clustered()), &tx).len() as i64, known);
            engine.commit(&tx, None).unwrap();
            work(&engine, &db);
            sim.disk()
        })
}

fn insert(engine: &Engine, db: &Arc<Database>, ids: std::ops::Range<i32>) {
    let (tx, table) = (begin(engine, 52), db.rowset(&clustered()));
    for id in ids {
        table.insert(&tx, &row(id, 100, None)).unwrap();
    }
    engine.commit(&tx, None).unwrap();
}

fn delete(engine: &Engine, db: &Arc<Database>, ids: std::ops::Range<i32>) {
    let (tx, table) = (begin(engine, 52), db.rowset(&clustered()));
    for id in ids {
        let at = RowLocator::Key(vec![Value::Int(id)]);
        table.delete(&tx, &at).unwrap();
    }
    engine.commit(&tx, None).unwrap();
}

fn flush(db: &Database) {
    db.log().unwrap().flush_all().unwrap();
}

#[test]
fn counts_come_back_from_notes_rows_and_log() {
    let disk = Simulation::new(1).run(|sim| {
        let engine = engine(&Env::with_disk(sim.disk()), 4 << 20);
        let db = create(&engine).unwrap();
        insert(&engine, &db, 0..20);
        db.checkpoint().unwrap();
        insert(&engine, &db, 20..27);
        delete(&engine, &db, 3..5);
        flush(&db);
        sim.disk()
    });
    // The note of the checkpoint, and what the log says since.
    let disk = life(2, disk, 25, |engine, db| {
        insert(engine, db, 100..101);
        db.close().unwrap();
    });
    // The row, which a close has written.
    let disk = life(3, disk, 26, |engine, db| {
        insert(engine, db, 200..203);
        flush(db);
    });
    // The row, and the log; then nothing has changed, and no note is needed.
    let disk = life(4, disk, 29, |_, db| {
        db.checkpoint().unwrap();
        flush(db);
    });
    life(5, disk, 29, |_, _| {});
}
