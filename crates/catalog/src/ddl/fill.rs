//! Filling: indexes get the entries of a table's rows, tables the rows of what they were before.
//!
//! Where every rowset of the target gets all rows of one or more of the source's as they are, the rows go by column
//! (`storage::Build`); where each has to be looked at (new values, other partitions), one by one.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_storage::{
    Build, BuildError, Fill, LockHint, NOTHING, RID, Rowset, RowsetDef, ScanSpec,
};
use duramen_txn::Transaction;
use duramen_types::Value;

use super::indexes::duplicate;
use crate::catalog::CatalogDb;
use crate::def::{IndexDef, TableDef};
use crate::describe;
use crate::loads::{IndexLoad, RowError};
use crate::rows::id;
use crate::shape::IndexSource;

/// What becomes of a table's rows when they move.
pub(super) enum Rows<'a> {
    /// Nothing; how many threads may read and sort them.
    Same {
        threads: usize,
    },
    Changed(&'a mut dyn FnMut(Vec<Value>) -> SqlResult<Vec<Value>>),
}

impl From<Box<BuildError>> for Box<RowError> {
    fn from(e: Box<BuildError>) -> Box<RowError> {
        Box::new(RowError {
            row: e.row,
            error: e.error,
        })
    }
}

/// For each column of an index's entries, where the rows of `data` have it.
fn places(index: &IndexDef, data: &RowsetDef) -> Vec<usize> {
    let place = |source: &IndexSource| match source {
        IndexSource::Column(i) => *i,
        IndexSource::Rid => RID,
        IndexSource::Uniquifier => data.layout.columns.len() - 1,
    };
    index.sources.iter().map(place).collect()
}

impl CatalogDb {
    fn rowsets_of(&self, defs: &[Arc<RowsetDef>]) -> Vec<Rowset> {
        defs.iter().map(|r| self.database().rowset(r)).collect()
    }

    /// Gives a new rowset all rows of others.
    fn build(
        &self,
        tx: &Transaction,
        target: &Arc<RowsetDef>,
        sources: &[Rowset],
        places: &[usize],
        (threads, fill): (usize, Fill),
    ) -> Result<(), Box<RowError>> {
        let target = self.database().rowset(target);
        let mut build = Build::new(&target, threads, fill);
        build.add(tx, sources, places)?;
        build.finish(tx)?;
        Ok(())
    }

    /// Inserts the entries of every row of the table into an index.
    pub(super) fn fill(
        &self,
        tx: &Transaction,
        table: &TableDef,
        index: &IndexDef,
        threads: usize,
    ) -> SqlResult<()> {
        let fail = |e: Box<RowError>| duplicate(e.error, table, index, &e.row);
        let sources = self.rowsets_of(table.data_rowsets());
        let places = places(index, &table.data);
        let fill = index.options.fill();
        let how = (threads, fill);
        if index.partitioned.is_none() {
            let built = self.build(tx, &index.rowset, &sources, &places, how);
            return built.map_err(fail);
        }
        if table.is_slice_of(index) {
            for (source, target) in sources.chunks(1).zip(index.rowsets()) {
                self.build(tx, target, source, &places, how).map_err(fail)?;
            }
            return Ok(());
        }
        let load = |r: &Arc<RowsetDef>| IndexLoad::new(&self.database().rowset(r)).fill_to(fill);
        let mut loads: Vec<IndexLoad> = index.rowsets().iter().map(load).collect();
        for source in sources {
            let mut cursor = source.scan(tx, ScanSpec::all(LockHint::None))?;
            while let Some((at, row)) = cursor.next(tx)? {
                tx.check_given_up()?;
                let to = index.partitioned.as_ref().map_or(0, |p| p.number_of(&row));
                if let Some(load) = loads.get_mut(to) {
                    load.add(tx, index.entry(&row, &at)).map_err(fail)?;
                }
            }
        }
        let mut loads = loads.iter_mut();
        loads.try_for_each(|l| l.finish(tx)).map_err(fail)
    }

    /// Puts the rows of `old` into the new heap or clustered index of `next`, whose pages are filled so far.
    pub(super) fn fill_from(
        &self,
        tx: &Transaction,
        old: &TableDef,
        next: &TableDef,
        (rows, fill): (Rows<'_>, Fill),
    ) -> Result<(), Box<RowError>> {
        let width = next.data.layout.columns.len();
        let sources = self.rowsets_of(old.data_rowsets());
        let targets = next.data_rowsets();
        let alike = match (&old.partitioned, &next.partitioned) {
            (Some(a), Some(b)) => a.function.id == b.function.id && a.column == b.column,
            _ => false,
        };
        let mut change = match rows {
            Rows::Same { threads } if next.partitioned.is_none() || alike => {
                // A new row has its own uniquifier.
                let own = |i: usize| if i < old.columns.len() { i } else { NOTHING };
                let places: Vec<usize> = (0..width).map(own).collect();
                if next.partitioned.is_none() {
                    let how = (threads, fill);
                    return self.build(tx, &next.data, &sources, &places, how);
                }
                let mut pairs = sources.chunks(1).zip(targets);
                return pairs.try_for_each(|(s, t)| self.build(tx, t, s, &places, (threads, fill)));
            }
            Rows::Same { .. } => None,
            Rows::Changed(change) => Some(change),
        };
        let load = |r: &Arc<RowsetDef>| IndexLoad::new(&self.database().rowset(r)).fill_to(fill);
        let mut loads: Vec<IndexLoad> = targets.iter().map(load).collect();
        for source in sources {
            let mut cursor = source.scan(tx, ScanSpec::all(LockHint::None))?;
            while let Some((_, mut row)) = cursor.next(tx)? {
                tx.check_given_up()?;
                row.truncate(old.columns.len());
                if let Some(change) = &mut change {
                    row = change(row)?;
                }
                row.resize(width, Value::Null);
                let to = next.partitioned.as_ref().map_or(0, |p| p.number_of(&row));
                if let Some(load) = loads.get_mut(to) {
                    load.add(tx, row)?;
                }
            }
        }
        loads.iter_mut().try_for_each(|l| l.finish(tx))
    }

    /// Makes the pages of one partition of an index anew; of an index without partitions, all of them. The entries of
    /// other indexes keep finding the rows of a clustered one: its uniquifiers stay.
    pub fn rebuild_partition(
        &self,
        tx: &Transaction,
        table: &TableDef,
        index: u16,
        partition: usize,
        threads: usize,
    ) -> SqlResult<Arc<TableDef>> {
        let mut next = table.clone();
        let found = next.indexes.iter().position(|i| i.id == index);
        let (Some(at), base) = (found, self.base(tx)) else {
            return self.publish(tx, next);
        };
        let own = next.indexes[at].clone();
        let Some(old) = own.rowsets().get(partition).cloned() else {
            return self.publish(tx, next);
        };
        let overflows = old.lob_au.is_some() || old.layout.may_overflow();
        let ids = self.new_ids(tx, table.id, index, overflows)?;
        let new = Arc::new(RowsetDef {
            rowset: ids.rowset,
            au: ids.au,
            lob_au: ids.lob_au,
            ..(*old).clone()
        });
        let rows_in = self.database().filegroup_of(old.au);
        let lob_in = old.lob_au.map(|au| self.database().filegroup_of(au));
        self.database()
            .create_storage_on(tx, &new, rows_in, lob_in.unwrap_or(rows_in))?;
        let rows = table.data_rowsets().get(partition);
        let (source, places) = match rows {
            Some(rows) if !own.clustered && table.is_slice_of(&own) => {
                (rows, places(&own, &table.data))
            }
            // Columns stand in the old pages as they do in the new.
            _ => (&old, (0..new.layout.columns.len()).collect()),
        };
        let source = [self.database().rowset(source)];
        let how = (threads, own.options.fill());
        let built = self.build(tx, &new, &source, &places, how);
        built.map_err(|e| duplicate(e.error, table, &own, &e.row))?;
        describe::delete_storage_rows(&base, &old)?;
        self.database().drop_storage(tx, &old)?;
        let column_ids = match own.clustered {
            true => describe::data_column_ids(table),
            false => describe::index_column_ids(&own.sources),
        };
        describe::partition_rows(&base, &new, partition as i64 + 1, &column_ids)?;
        if partition == 0 {
            let key = [Value::Int(table.id.0), Value::Int(i32::from(index))];
            base.update(id::IDXSTATS, &key, |row| {
                row[10] = Value::BigInt(new.rowset.0);
                true
            })?;
        }
        let changed = &mut next.indexes[at];
        if partition == 0 {
            changed.rowset = new.clone();
        }
        if let Some(p) = &mut changed.partitioned {
            Arc::make_mut(p).rowsets[partition] = new;
        }
        if own.clustered {
            next.data = changed.rowset.clone();
            next.partitioned = changed.partitioned.clone();
        }
        self.publish(tx, next)
    }
}
