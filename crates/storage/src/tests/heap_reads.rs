//! Reads of heaps while others change their rows: what is not committed is not read, and a row that moves is not missed.

use std::sync::Arc;
use std::time::Duration;

use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_types::Value;

use super::fixture::*;
use crate::{Database, Engine, LockHint, Reading, RowLocator, Rowset, ScanSpec};

const NO_WAIT: Reading = Reading {
    lends: false,
    lock: LockHint::Read,
    level: None,
    grain: crate::Grain::Row,
    keep: false,
    skip_locked: false,
    no_wait: true,
    view: None,
};

fn text(letter: u8, bytes: usize) -> Value {
    Value::VarChar(vec![letter; bytes])
}

fn row_of(letter: u8, bytes: usize) -> Vec<Value> {
    vec![Value::Int(1), text(letter, bytes)]
}

/// A heap of a few pages whose first row has moved away from its home.
fn with_moved_row(engine: &Arc<Engine>, db: &Arc<Database>) -> (Rowset, RowLocator) {
    let heap = new_heap(engine, db, 20, 1).unwrap();
    let tx = begin(engine, 52);
    let home = heap.insert(&tx, &row_of(b'a', 300)).unwrap();
    let fill = || {
        for _ in 0..60 {
            let other = [Value::Int(2), text(b'x', 300)];
            heap.insert(&tx, &other).unwrap();
        }
    };
    fill();
    heap.update(&tx, &home, &row_of(b'b', 3000)).unwrap();
    // No room is left where it has gone.
    fill();
    engine.commit(&tx, None).unwrap();
    (heap, home)
}

fn letters(heap: &Rowset, tx: &duramen_txn::Transaction, reading: Reading) -> Result<Vec<u8>, i32> {
    let spec = ScanSpec {
        lower: None,
        upper: None,
        forward: true,
        reading,
    };
    let mut cursor = heap.scan(tx, spec).map_err(number)?;
    let mut letters = Vec::new();
    while let Some((_, row)) = cursor.next(tx).map_err(number)? {
        if let (Value::Int(1), Value::VarChar(text)) = (&row[0], &row[1]) {
            letters.push(text[0]);
        }
    }
    Ok(letters)
}

fn rid(heap: &Rowset, at: &RowLocator) -> duramen_txn::Resource {
    match at {
        RowLocator::Rid(page, slot) => heap.rid(*page, *slot),
        RowLocator::Key(_) => panic!("a heap has no keys"),
    }
}

fn number(e: impl Into<duramen_base::SqlError>) -> i32 {
    e.into().number
}

#[test]
fn a_scan_waits_for_who_changes_a_row_far_from_its_home() {
    Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let (heap, home) = with_moved_row(&engine, &db);
        let writer = begin(&engine, 52);
        // In place at the far end: nothing on the home's page changes.
        heap.update(&writer, &home, &row_of(b'c', 3000)).unwrap();
        let reader = begin(&engine, 53);
        assert_eq!(letters(&heap, &reader, NO_WAIT), Err(1222));
        let past = Reading {
            skip_locked: true,
            ..NO_WAIT
        };
        assert_eq!(letters(&heap, &reader, past), Ok(vec![]));
        let dirty = Reading::from(LockHint::None);
        assert_eq!(letters(&heap, &reader, dirty), Ok(vec![b'c']));
        engine.rollback(&writer, None).unwrap();
        assert_eq!(letters(&heap, &reader, NO_WAIT), Ok(vec![b'b']));
        assert_eq!(reader.owner.holds(&rid(&heap, &home)), None);
        engine.commit(&reader, None).unwrap();
        db.close().unwrap();
    });
}

/// A writer whose changes never last, and beside it `threads` of one reader; what they have seen that was never committed,
/// and how often nothing.
fn read_during_writes(seed: u64, hint: LockHint, threads: usize) -> (usize, usize) {
    Simulation::new(seed).run(move |sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let (heap, home) = with_moved_row(&engine, &db);
        let writer = thread::spawn("writer", {
            let (engine, heap, home) = (engine.clone(), heap.clone(), home.clone());
            move || {
                for n in 0..40 {
                    let tx = begin(&engine, 52);
                    // In place, moved on, and back at home.
                    let bytes = [3000, 3900, 200][n % 3];
                    heap.update(&tx, &home, &row_of(b'c', bytes)).unwrap();
                    thread::sleep(Duration::from_micros(50));
                    engine.rollback(&tx, None).unwrap();
                }
            }
        });
        let tx = Arc::new(begin(&engine, 53));
        let readers: Vec<_> = (0..threads)
            .map(|_| {
                let (tx, heap, home) = (tx.clone(), heap.clone(), home.clone());
                thread::spawn("reader", move || {
                    let (mut dirty, mut missed) = (0, 0);
                    for _ in 0..120 {
                        match heap.fetch(&tx, &home, hint).unwrap() {
                            Some(row) if row[1] == text(b'b', 3000) => {}
                            Some(_) => dirty += 1,
                            None => missed += 1,
                        }
                        thread::sleep(Duration::from_micros(20));
                    }
                    (dirty, missed)
                })
            })
            .collect();
        let seen = readers.into_iter().map(|r| r.join().expect("a reader"));
        let seen = seen.fold((0, 0), |sum, seen| (sum.0 + seen.0, sum.1 + seen.1));
        writer.join().expect("the writer");
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
        seen
    })
}

#[test]
fn a_row_found_by_its_rid_is_read_committed() {
    for seed in seeds(1, 30) {
        let seen = read_during_writes(seed, LockHint::Read, 1);
        assert_eq!(seen, (0, 0), "seed {seed}");
    }
}

/// One of the threads takes the lock, and gives it back while another still reads under it.
#[test]
fn threads_that_share_a_lock_read_committed_rows() {
    for seed in seeds(1, 60) {
        let seen = read_during_writes(seed, LockHint::Read, 3);
        assert_eq!(seen, (0, 0), "seed {seed}");
    }
}

#[test]
fn who_reads_without_locks_follows_a_row_that_moves() {
    let mut seen = 0;
    for seed in seeds(1, 30) {
        let (dirty, missed) = read_during_writes(seed, LockHint::None, 1);
        assert_eq!(missed, 0, "seed {seed}");
        seen += dirty;
    }
    assert!(seen > 0, "nothing uncommitted was ever there to be read");
}
