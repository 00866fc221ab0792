//! The hot path, right and measured: `DURAMEN_SPEED=1 cargo test -p duramen-storage --profile sim speed -- --nocapture`
//! takes enough turns for the printed times to mean something; otherwise a few, for the answers.

use duramen_os::sim::SimDisk;
use duramen_types::Value;

use super::fixture::*;
use crate::{LockHint, RowLocator, ScanSpec};

/// How many turns to take.
fn turns(few: i32, many: i32) -> i32 {
    if std::env::var_os("DURAMEN_SPEED").is_some() {
        many
    } else {
        few
    }
}

#[test]
fn autocommit_inserts_into_a_table_with_one_index() {
    let disk = SimDisk::new(1);
    let engine = engine(&disk.env(), 256 << 20);
    let db = create(&engine).unwrap();
    let table = db.rowset(&clustered());
    let index = db.rowset(&index());
    let owner = engine.locks.owner(duramen_base::SessionId(60));
    let rows = turns(2_000, 200_000);
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
    assert_eq!(n, rows as u128);
    let per = start.elapsed().as_nanos() / n;
    println!("scan: {per} ns a row");
}

#[test]
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
        let turns = turns(50_000, 5_000_000) as usize / pages.len();
        let start = duramen_os::time::now();
        let mut sum = 0u64;
        for _ in 0..turns {
            for p in &pages {
                sum += u64::from(db.read_page(*p).unwrap().bytes()[1]);
            }
        }
        let kinds: u64 = pages
            .iter()
            .map(|p| u64::from(db.read_page(*p).unwrap().bytes()[1]))
            .sum();
        assert_eq!(sum, kinds * turns as u64);
        let per = start.elapsed().as_nanos() as f64 / (turns * pages.len()) as f64;
        println!("fix and unfix, shared: {per:.1} ns ({sum})");
    }
}
