//! SWITCH: a partition and an empty one change places. Only catalog rows change: pages, allocation units and counts of
//! rows stay with their rowsets. The caller has checked that shapes are the same and that the target is empty.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_storage::RowsetDef;
use duramen_txn::Transaction;
use duramen_types::Value;

use crate::catalog::CatalogDb;
use crate::def::TableDef;
use crate::partitions::Partitioned;
use crate::rows::{Base, id};

/// A table, and the position of one of its partitions: 0 for one without.
pub type Side<'a> = (&'a TableDef, usize);

impl CatalogDb {
    /// The heaps or clustered indexes of two sides change places, and the nonclustered indexes in these pairs of ids.
    pub fn switch(
        &self,
        tx: &Transaction,
        (source, from): Side<'_>,
        (target, to): Side<'_>,
        indexes: &[(u16, u16)],
    ) -> SqlResult<()> {
        let base = self.base(tx);
        let (mut a, mut b) = (source.clone(), target.clone());
        let (x, y) = (
            source.data_rowsets()[from].clone(),
            target.data_rowsets()[to].clone(),
        );
        let (x, y) = self.exchange(&base, (&x, from), (&y, to))?;
        put(&mut a.data, &mut a.partitioned, from, &x);
        put(&mut b.data, &mut b.partitioned, to, &y);
        for t in [&mut a, &mut b] {
            for index in t.indexes.iter_mut().filter(|i| i.clustered) {
                index.rowset = t.data.clone();
                index.partitioned = t.partitioned.clone();
            }
        }
        for (own, other) in indexes {
            let i = a.indexes.iter_mut().find(|i| i.id == *own);
            let j = b.indexes.iter_mut().find(|i| i.id == *other);
            let (Some(i), Some(j)) = (i, j) else { continue };
            let (x, y) = (i.rowsets()[from].clone(), j.rowsets()[to].clone());
            let (x, y) = self.exchange(&base, (&x, from), (&y, to))?;
            put(&mut i.rowset, &mut i.partitioned, from, &x);
            put(&mut j.rowset, &mut j.partitioned, to, &y);
        }
        self.publish(tx, a)?;
        self.publish(tx, b)?;
        Ok(())
    }

    /// Each rowset gets the other's owner, index and number. Gives what stands in the first's and in the second's place.
    fn exchange(
        &self,
        base: &Base<'_>,
        (x, from): (&Arc<RowsetDef>, usize),
        (y, to): (&Arc<RowsetDef>, usize),
    ) -> SqlResult<(Arc<RowsetDef>, Arc<RowsetDef>)> {
        for (rowset, owner, at) in [(x, y, to), (y, x, from)] {
            base.update(id::ROWSETS, &[Value::BigInt(rowset.rowset.0)], |row| {
                row[2] = Value::Int(owner.object.0);
                row[3] = Value::Int(i32::from(owner.index_id));
                row[4] = Value::Int(at as i32 + 1);
                true
            })?;
            if at == 0 {
                let index = i32::from(owner.index_id);
                let key = [Value::Int(owner.object.0), Value::Int(index)];
                base.update(id::IDXSTATS, &key, |row| {
                    row[10] = Value::BigInt(rowset.rowset.0);
                    true
                })?;
            }
        }
        let of = |rowset: &RowsetDef, owner: &RowsetDef| {
            Arc::new(RowsetDef {
                object: owner.object,
                index_id: owner.index_id,
                ..rowset.clone()
            })
        };
        Ok((of(y, x), of(x, y)))
    }
}

fn put(
    first: &mut Arc<RowsetDef>,
    partitioned: &mut Option<Arc<Partitioned>>,
    at: usize,
    rowset: &Arc<RowsetDef>,
) {
    if at == 0 {
        *first = rowset.clone();
    }
    if let Some(p) = partitioned {
        Arc::make_mut(p).rowsets[at] = rowset.clone();
    }
}
