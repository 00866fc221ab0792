//! A table, an index on it and a heap that hold the same rows, changed together.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::SqlError;
use duramen_storage::{Database, LockHint, Logging, RowLocator, Rowset, ScanSpec};
use duramen_txn::LockMode;
use duramen_types::Value;

use super::fixture::*;

/// id -> (pad length, n)
pub type Model = BTreeMap<i32, (usize, Option<i32>)>;

pub struct Tables {
    pub table: Rowset,
    pub index: Rowset,
    pub heap: Rowset,
}

pub fn tables(db: &Arc<Database>) -> Tables {
    Tables {
        table: db.rowset(&clustered()),
        index: db.rowset(&index()),
        heap: db.rowset(&heap()),
    }
}

fn n_value(n: Option<i32>) -> Value {
    n.map_or(Value::Null, Value::Int)
}

pub fn index_key(id: i32, n: Option<i32>) -> Vec<Value> {
    vec![n_value(n), Value::Int(id)]
}

impl Tables {
    pub fn insert(
        &self,
        tx: &duramen_txn::Transaction,
        id: i32,
        pad: usize,
        n: Option<i32>,
    ) -> Result<(), SqlError> {
        self.table.insert(tx, &row(id, pad, n))?;
        self.index.insert(tx, &index_key(id, n))?;
        self.heap.insert(tx, &row(id, pad / 2, None)[..2])?;
        Ok(())
    }

    /// Rows with ids from `first` on and no `n`, loaded page by page; `alone`: under a lock of the table, logged minimally
    /// where that may be.
    pub fn load(
        &self,
        tx: &duramen_txn::Transaction,
        first: i32,
        count: i32,
        alone: bool,
    ) -> Result<(), SqlError> {
        let pad = 1500;
        let ids = first..first + count;
        let rows: Vec<_> = ids.clone().map(|id| row(id, pad, None)).collect();
        let entries: Vec<_> = ids.clone().map(|id| index_key(id, None)).collect();
        let short: Vec<_> = ids.map(|id| row(id, pad / 2, None)[..2].to_vec()).collect();
        for (rowset, rows) in [
            (&self.table, &rows),
            (&self.index, &entries),
            (&self.heap, &short),
        ] {
            let mut logging = Logging::Pages;
            if alone && (rowset.def().is_heap() || rowset.row_count()? == 0) {
                rowset.lock_object(tx, LockMode::X)?;
                logging = Logging::Minimal;
            }
            let mut load = rowset.load(logging);
            load.add(tx, rows, false)
                .map_err(|e| SqlError::from(e.error))?;
            load.finish(tx)?;
        }
        Ok(())
    }

    fn heap_rid(
        &self,
        tx: &duramen_txn::Transaction,
        id: i32,
    ) -> Result<Option<RowLocator>, SqlError> {
        let mut cursor = self.heap.scan(tx, ScanSpec::all(LockHint::Read))?;
        while let Some((at, values)) = cursor.next(tx)? {
            if values[0] == Value::Int(id) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    pub fn delete(
        &self,
        tx: &duramen_txn::Transaction,
        id: i32,
        n: Option<i32>,
    ) -> Result<(), SqlError> {
        let at = RowLocator::Key(vec![Value::Int(id)]);
        assert!(self.table.delete(tx, &at)?);
        assert!(self.index.delete(tx, &RowLocator::Key(index_key(id, n)))?);
        let rid = self.heap_rid(tx, id)?.expect("the heap has the row too");
        assert!(self.heap.delete(tx, &rid)?);
        Ok(())
    }

    pub fn update(
        &self,
        tx: &duramen_txn::Transaction,
        id: i32,
        old_n: Option<i32>,
        pad: usize,
        n: Option<i32>,
    ) -> Result<(), SqlError> {
        let at = RowLocator::Key(vec![Value::Int(id)]);
        self.table.update(tx, &at, &row(id, pad, n))?;
        let at = RowLocator::Key(index_key(id, old_n));
        self.index.update(tx, &at, &index_key(id, n))?;
        let rid = self.heap_rid(tx, id)?.expect("the heap has the row too");
        self.heap.update(tx, &rid, &row(id, pad / 2, None)[..2])?;
        Ok(())
    }

    /// What the tables hold; asserts that they agree with each other.
    pub fn state(&self, tx: &duramen_txn::Transaction) -> Model {
        self.try_state(tx).unwrap()
    }

    /// The same on a disk that may fail.
    pub fn try_state(&self, tx: &duramen_txn::Transaction) -> Result<Model, SqlError> {
        let mut model = Model::new();
        for r in try_all(&self.table, tx)? {
            let Value::VarChar(pad) = &r[1] else { panic!() };
            let n = r[2].as_i64().map(|n| n as i32);
            model.insert(r[0].as_i64().unwrap() as i32, (pad.len(), n));
        }
        let mut from_index: Vec<(i32, Option<i32>)> = try_all(&self.index, tx)?
            .iter()
            .map(|r| {
                (
                    r[1].as_i64().unwrap() as i32,
                    r[0].as_i64().map(|n| n as i32),
                )
            })
            .collect();
        from_index.sort_unstable();
        let expected: Vec<_> = model.iter().map(|(id, (_, n))| (*id, *n)).collect();
        assert_eq!(from_index, expected, "index and table differ");
        let mut from_heap: Vec<(i32, usize)> = try_all(&self.heap, tx)?
            .iter()
            .map(|r| match &r[1] {
                Value::VarChar(pad) => (r[0].as_i64().unwrap() as i32, pad.len()),
                _ => panic!(),
            })
            .collect();
        from_heap.sort_unstable();
        let expected: Vec<_> = model.iter().map(|(id, (p, _))| (*id, p / 2)).collect();
        assert_eq!(from_heap, expected, "heap and table differ");
        for tree in [&self.table, &self.index] {
            tree.check_tree()?;
        }
        for rowset in [&self.table, &self.index, &self.heap] {
            let unit = rowset.def().au;
            assert_eq!(rowset.row_count()?, model.len() as u64, "rows of {unit:?}");
        }
        Ok(model)
    }
}
