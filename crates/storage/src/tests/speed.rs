//! How long the hot path takes. Run by hand, optimised: `cargo test -p duramen-storage --profile sim speed -- --ignored
//! --nocapture`.

use duramen_os::sim::SimDisk;
use duramen_types::Value;

use super::fixture::*;
use crate::{LockHint, RowLocator, ScanSpec};

#[test]
#[ignore = "a measurement"]
fn autocommit_inserts_into_a_table_with_one_index() {
    let disk = SimDisk::new(1);
    let engine = engine(&disk.env(), 256 << 20);
    let db = create(&engine).unwrap();
    let table = db.rowset(&clustered());
    let index = db.rowset(&index());
    let owner = engine.locks.owner(duramen_base::SessionId(60));
    let rows = 200_000;
    let start = duramen_os::time::now();
    for i in 0..rows {
        let tx = duramen_txn::Transaction::new(
            &owner,
            duramen_txn::TxnKind::Autocommit,
            "INSERT",
            duramen_txn::IsolationLevel::ReadCommitted,
        );
        table.insert(&tx, &row(i, 20, Some(-i))).unwrap();
        index.insert(&tx, &[Value::Int(-i), Value::Int(i)]).unwrap();
        engine.commit(&tx, None).unwrap();
    }
    let per = start.elapsed().as_nanos() / rows as u128;
    println!("autocommit insert, two ascending trees: {per} ns");
    let tx = begin(&engine, 61);
    let start = duramen_os::time::now();
    for i in 0..rows {
        let id = (i * 7919) % rows;
        let at = RowLocator::Key(vec![Value::Int(id)]);
        assert!(table.fetch(&tx, &at, LockHint::Read).unwrap().is_some());
    }
    let per = start.elapsed().as_nanos() / rows as u128;
    println!("fetch by key: {per} ns");
    let start = duramen_os::time::now();
    let mut cursor = table.scan(&tx, ScanSpec::all(LockHint::Read)).unwrap();
    let mut n = 0;
    while cursor.next(&tx).unwrap().is_some() {
        n += 1;
    }
    let per = start.elapsed().as_nanos() / n;
    println!("scan: {per} ns a row");
}

#[test]
#[ignore = "a measurement"]
fn fix_and_unfix() {
    let disk = SimDisk::new(1);
    let engine = engine(&disk.env(), 256 << 20);
    let db = create(&engine).unwrap();
    let pages: Vec<_> = (16..48).map(|n| duramen_base::PageId::new(1, n)).collect();
    let pages: Vec<_> = pages
        .into_iter()
        .filter(|p| db.read_page(*p).is_ok())
        .collect();
    for _ in 0..3 {
        let turns = 5_000_000 / pages.len();
        let start = duramen_os::time::now();
        let mut sum = 0u64;
        for _ in 0..turns {
            for p in &pages {
                sum += u64::from(db.read_page(*p).unwrap().bytes()[1]);
            }
        }
        let per = start.elapsed().as_nanos() as f64 / (turns * pages.len()) as f64;
        println!("fix and unfix, shared: {per:.1} ns ({sum})");
    }
}
