//! SPLIT and MERGE RANGE: a function gets or loses a boundary, and with it a partition of everything that lies on its schemes.
//!
//! Rows that change their partition are deleted there and inserted here, logged one by one in the caller's transaction: a
//! rollback or a crash undoes it as it undoes any change. The partition that a split makes is, as documented, the one that
//! has the new boundary's value, and so is the one that a merge takes away; of the other no row moves.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_storage::{LockHint, OpenRowsets, RowsetDef, ScanSpec};
use duramen_txn::Transaction;
use duramen_types::Value;

use crate::catalog::CatalogDb;
use crate::def::{IndexDef, TableDef};
use crate::describe;
use crate::partitions::{PartitionFunctionDef, PartitionSchemeDef, Partitioned};
use crate::rows::{self, Base, id};
use crate::shape::IndexSource;

/// What happens to the list of partitions: one is put in at a place, or one is taken out.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// The new one, and the one whose rows may belong to it: numbers after and before.
    Split {
        new: usize,
        from: usize,
    },
    Merge {
        gone: usize,
    },
}

impl CatalogDb {
    /// Puts a boundary in at a place. Every scheme of the function has a NEXT USED filegroup.
    pub fn split_partition(
        &self,
        tx: &Transaction,
        function: &PartitionFunctionDef,
        at: usize,
        value: Value,
    ) -> SqlResult<()> {
        let mut boundaries = function.boundaries.clone();
        boundaries.insert(at.min(function.boundaries.len()), value);
        let new = if function.right { at + 1 } else { at };
        self.repartition(tx, function, boundaries, Change::Split { new, from: at })
    }

    /// Takes the boundary at a place out.
    pub fn merge_partitions(
        &self,
        tx: &Transaction,
        function: &PartitionFunctionDef,
        at: usize,
    ) -> SqlResult<()> {
        let mut boundaries = function.boundaries.clone();
        boundaries.remove(at);
        let gone = if function.right { at + 1 } else { at };
        self.repartition(tx, function, boundaries, Change::Merge { gone })
    }

    fn repartition(
        &self,
        tx: &Transaction,
        function: &PartitionFunctionDef,
        boundaries: Vec<Value>,
        change: Change,
    ) -> SqlResult<()> {
        let base = self.base(tx);
        self.claim_function(tx, function)?;
        let snapshot = self.seen_by(tx)?;
        let function = self.set_boundaries(&base, function, boundaries)?;
        let own = |s: &&Arc<PartitionSchemeDef>| s.function == function.id;
        for scheme in snapshot.partition_schemes.values().filter(own) {
            let mut next = (**scheme).clone();
            match change {
                Change::Split { new, .. } => {
                    let to = next.next_used.take().ok_or_else(|| {
                        SqlError::new(&messages::PARTITION_NO_NEXT_USED, &[&scheme.name])
                    })?;
                    next.destinations.insert(new, to);
                }
                Change::Merge { gone } => {
                    next.destinations.remove(gone);
                }
            }
            self.put_scheme(&base, next)?;
        }
        let mut tables = snapshot.tables.values();
        tables.try_for_each(|t| self.repartition_table(&base, t, &function, change))
    }

    fn repartition_table(
        &self,
        base: &Base<'_>,
        table: &Arc<TableDef>,
        function: &Arc<PartitionFunctionDef>,
        change: Change,
    ) -> SqlResult<()> {
        let uses =
            |p: &Option<Arc<Partitioned>>| p.as_ref().is_some_and(|p| p.function.id == function.id);
        let by_index = table.indexes.iter().any(|i| uses(&i.partitioned));
        if !uses(&table.partitioned) && !by_index {
            return Ok(());
        }
        // First the indexes that go their own ways.
        let mut next = (**table).clone();
        for at in 0..next.indexes.len() {
            let index = &next.indexes[at];
            let own = !index.clustered && uses(&index.partitioned) && !table.is_slice_of(index);
            if own && let Some(old) = index.partitioned.clone() {
                let ids = describe::index_column_ids(&index.sources);
                let new =
                    self.next_partitions(base, table, index.id, &old, function, change, &ids)?;
                let index = &mut next.indexes[at];
                index.rowset = new.rowsets[0].clone();
                index.partitioned = Some(Arc::new(new));
                self.move_entries(base, index, &old, change)?;
                self.finish_partitions(base, &old, change)?;
            }
        }
        // Then the rows, and the indexes whose partitions are the table's.
        let before = next.clone();
        if let Some(old) = table
            .partitioned
            .clone()
            .filter(|_| uses(&table.partitioned))
        {
            let ids = describe::data_column_ids(table);
            let index = table.data.index_id;
            let new = self.next_partitions(base, table, index, &old, function, change, &ids)?;
            next.data = new.rowsets[0].clone();
            next.partitioned = Some(Arc::new(new));
            let mut followed = vec![old.clone()];
            for index in &mut next.indexes {
                if index.clustered {
                    index.rowset = next.data.clone();
                    index.partitioned = next.partitioned.clone();
                } else if before.is_slice_of(index)
                    && let Some(old) = index.partitioned.clone()
                {
                    let ids = describe::index_column_ids(&index.sources);
                    let new =
                        self.next_partitions(base, table, index.id, &old, function, change, &ids)?;
                    index.rowset = new.rowsets[0].clone();
                    index.partitioned = Some(Arc::new(new));
                    followed.push(old);
                }
            }
            self.move_rows(base, &before, &next, change)?;
            for old in &followed {
                self.finish_partitions(base, old, change)?;
            }
        }
        self.publish(base.tx, next)?;
        Ok(())
    }

    /// The partitions after the change, the new one with pages and catalog rows, all with their numbers.
    #[allow(clippy::too_many_arguments)]
    fn next_partitions(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        index: u16,
        old: &Partitioned,
        function: &Arc<PartitionFunctionDef>,
        change: Change,
        column_ids: &[i32],
    ) -> SqlResult<Partitioned> {
        let mut rowsets = old.rowsets.clone();
        match change {
            Change::Merge { gone } => {
                rowsets.remove(gone);
            }
            Change::Split { new, .. } => {
                let (scheme, _) = self.scheme(old.scheme)?;
                let to = scheme.destinations.get(new).copied().unwrap_or(1);
                let first = &old.rowsets[0];
                let ids = self.new_ids(base.tx, table.id, index, first.layout.may_overflow())?;
                let def = Arc::new(RowsetDef {
                    rowset: ids.rowset,
                    au: ids.au,
                    lob_au: ids.lob_au,
                    ..(**first).clone()
                });
                self.database().create_storage_on(base.tx, &def, to, to)?;
                describe::partition_rows(base, &def, new as i64 + 1, column_ids)?;
                rowsets.insert(new, def);
            }
        }
        for (number, rowset) in (1..).zip(&rowsets) {
            let key = [Value::BigInt(rowset.rowset.0)];
            base.update(id::ROWSETS, &key, |row| {
                row[4] = Value::Int(number);
                true
            })?;
        }
        let key = [Value::Int(table.id.0), Value::Int(i32::from(index))];
        let first = Value::BigInt(rowsets[0].rowset.0);
        base.update(id::IDXSTATS, &key, |row| {
            row[10] = first.clone();
            true
        })?;
        Ok(Partitioned {
            scheme: old.scheme,
            function: function.clone(),
            column: old.column,
            rowsets,
        })
    }

    /// A merged partition's pages and catalog rows go.
    fn finish_partitions(
        &self,
        base: &Base<'_>,
        old: &Partitioned,
        change: Change,
    ) -> SqlResult<()> {
        let Change::Merge { gone } = change else {
            return Ok(());
        };
        if let Some(rowset) = old.rowsets.get(gone) {
            describe::delete_storage_rows(base, rowset)?;
            self.database().drop_storage(base.tx, rowset)?;
        }
        Ok(())
    }

    /// Entries of an index that has other partitions than its table.
    fn move_entries(
        &self,
        base: &Base<'_>,
        index: &IndexDef,
        old: &Partitioned,
        change: Change,
    ) -> SqlResult<()> {
        let Some(new) = index.partitioned.as_deref() else {
            return Ok(());
        };
        let source = IndexSource::Column(new.column);
        let Some(at) = index.sources.iter().position(|s| *s == source) else {
            return Err(SqlError::new(&messages::INCONSISTENCY, &[&index.id]));
        };
        let from = &old.rowsets[from(change)];
        let rowset = self.database().rowset(from);
        let mut cursor = rowset.scan(base.tx, ScanSpec::all(LockHint::None))?;
        while let Some((_, entry)) = cursor.next(base.tx)? {
            let number = new.function.partition_of(&entry[at]);
            let Some(to) = new.rowsets.get(number).filter(|r| r.rowset != from.rowset) else {
                continue;
            };
            rowset.delete(base.tx, &index.entry_locator(&entry))?;
            self.database()
                .rowset(to)
                .insert(base.tx, &entry)
                .map_err(SqlError::from)?;
        }
        Ok(())
    }

    fn move_rows(
        &self,
        base: &Base<'_>,
        before: &TableDef,
        after: &TableDef,
        change: Change,
    ) -> SqlResult<()> {
        let from = &before.data_rowsets()[from(change)];
        let rowset = self.database().rowset(from);
        let mut cursor = rowset.scan(base.tx, ScanSpec::all(LockHint::None))?;
        let numbered = from.has_uniquifier();
        let rowsets = OpenRowsets::none(self.database());
        while let Some((at, mut row)) = cursor.next(base.tx)? {
            base.tx.check_given_up()?;
            if after.data_of(&row).rowset == from.rowset {
                continue;
            }
            rows::delete_row(&rowsets, base.tx, before, &at, &row)?;
            if numbered && let Some(last) = row.last_mut() {
                *last = Value::Null;
            }
            rows::insert_row(&rowsets, base.tx, after, &row).map_err(SqlError::from)?;
        }
        Ok(())
    }
}

/// The partition, as numbered before, whose rows may move.
fn from(change: Change) -> usize {
    match change {
        Change::Split { from, .. } => from,
        Change::Merge { gone } => gone,
    }
}
