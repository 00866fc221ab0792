//! Reading by column gives what reading by row gives: pages in bulk, pages with changes under way, heaps with rows that
//! moved, ranges both ways, values outside their rows.

use duramen_os::sim::Simulation;
use duramen_txn::{IsolationLevel, Transaction};
use duramen_types::Value;
use duramen_types::batch::Column;

use super::fixture::*;
use crate::{LockHint, Reading, RowLocator, Rowset, ScanSpec};

/// The columns `wanted` of the rows of `spec`, read both ways.
fn both(table: &Rowset, tx: &Transaction, spec: &ScanSpec, wanted: &[usize]) -> Vec<Vec<Value>> {
    let mut cursor = table.scan(tx, spec.clone()).unwrap();
    let mut rows = Vec::new();
    while let Some((_, row)) = cursor.next(tx).unwrap() {
        rows.push(wanted.iter().map(|c| row[*c].clone()).collect());
    }
    let layout = &table.def().layout;
    let fresh = wanted.iter().map(|c| Column::of(&layout.columns[*c].ty));
    let mut columns: Vec<Column> = fresh.collect();
    let mut cursor = table.scan(tx, spec.clone()).unwrap();
    let mut n = 0;
    loop {
        match cursor.fill(tx, wanted, &mut columns).unwrap() {
            0 => break,
            more => n += more,
        }
    }
    assert!(columns.iter().all(|c| c.len() == n));
    let row = |i| columns.iter().map(|c| c.get(i)).collect();
    let by_column: Vec<Vec<Value>> = (0..n).map(row).collect();
    assert_eq!(by_column, rows);
    rows
}

#[test]
fn a_tree_is_read_alike_by_row_and_by_column() {
    Simulation::new(31).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let setup = begin(&engine, 52);
        for id in 0..600 {
            let n = (id % 7 > 0).then_some(id);
            table
                .insert(&setup, &row(id, (id % 50) as usize, n))
                .unwrap();
        }
        engine.commit(&setup, None).unwrap();
        let tx = begin(&engine, 52);
        let some = ScanSpec {
            lower: Some((vec![Value::Int(100)], false)),
            upper: Some((vec![Value::Int(480)], true)),
            forward: false,
            reading: LockHint::Read.into(),
        };
        let everything = ScanSpec::all(LockHint::Read);
        // First everything is committed; then the reader itself has changes under way, and ghosts.
        for round in 0..2 {
            assert_eq!(
                both(&table, &tx, &everything, &[0, 1, 2]).len(),
                600 - round * 100
            );
            both(&table, &tx, &everything, &[2]);
            both(&table, &tx, &everything, &[]);
            both(&table, &tx, &some, &[1, 0]);
            both(&table, &tx, &ScanSpec::all(LockHint::None), &[0, 2]);
            both(&table, &tx, &ScanSpec::all(LockHint::Update), &[2, 1]);
            let serializable = Reading {
                level: Some(IsolationLevel::Serializable),
                ..Reading::default()
            };
            let range = ScanSpec {
                reading: serializable,
                ..some.clone()
            };
            both(&table, &tx, &range, &[0, 1]);
            for id in (0..600).step_by(6).filter(|_| round == 0) {
                table
                    .delete(&tx, &RowLocator::Key(vec![Value::Int(id)]))
                    .unwrap();
            }
        }
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}

#[test]
fn heaps_and_large_values_are_read_alike_by_row_and_by_column() {
    Simulation::new(32).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&heap());
        let setup = begin(&engine, 52);
        let mut rids = Vec::new();
        for id in 0..200 {
            rids.push(table.insert(&setup, &row(id, 100, None)[..2]).unwrap());
        }
        for (id, at) in rids.iter().enumerate() {
            match id % 3 {
                0 => {
                    table
                        .update(&setup, at, &row(id as i32, 3000, None)[..2])
                        .unwrap();
                }
                1 => assert!(table.delete(&setup, at).unwrap()),
                _ => {}
            }
        }
        let wide = db.rowset(&wide());
        for bytes in [10usize, 9_000, 100_000, 10] {
            let values = [Value::varchar("k"), Value::VarChar(vec![b'x'; bytes])];
            wide.insert(&setup, &values).unwrap();
        }
        let everything = ScanSpec::all(LockHint::Read);
        assert_eq!(both(&table, &setup, &everything, &[1, 0]).len(), 133);
        assert_eq!(both(&wide, &setup, &everything, &[0, 1, 2]).len(), 4);
        engine.commit(&setup, None).unwrap();
        let tx = begin(&engine, 52);
        assert_eq!(both(&table, &tx, &everything, &[0]).len(), 133);
        assert_eq!(both(&wide, &tx, &everything, &[1]).len(), 4);
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
    });
}
