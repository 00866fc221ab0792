//! Who gets no more locks is told so, and does not look for a page on which it would be otherwise.

use duramen_os::sim::SimDisk;
use duramen_types::Value;

use super::fixture::*;

/// Two write to one heap, so that neither can have the table's lock in place of many rows'.
#[test]
fn an_insert_into_a_heap_ends_when_there_is_no_memory_for_its_lock() {
    let disk = SimDisk::new(4);
    let engine = engine(&disk.env(), 64 << 20);
    let db = create(&engine).unwrap();
    let heap = new_heap(&engine, &db, 20, 1).unwrap();
    engine.locks.set_memory_limit(1 << 20);
    let (one, other) = (begin(&engine, 52), begin(&engine, 53));
    let row = |n| vec![Value::Int(n), Value::VarChar(vec![b'x'; 20])];
    heap.insert(&one, &row(0)).unwrap();
    let mut refused = None;
    for n in 0..40_000 {
        if let Err(e) = heap.insert(&other, &row(n)) {
            let e: duramen_base::SqlError = e.into();
            refused = Some((n, e.number));
            break;
        }
    }
    let (at, number) = refused.expect("memory for locks has an end");
    assert_eq!(number, 1204);
    assert!((19_000..21_000).contains(&at), "{at}");
    // Who has few goes on, and what was written is undone without locks of its own.
    heap.insert(&one, &row(1)).unwrap();
    engine.rollback(&other, None).unwrap();
    engine.commit(&one, None).unwrap();
    let tx = begin(&engine, 54);
    assert_eq!(all(&heap, &tx).len(), 2);
}
