//! Indexes and key constraints: made, filled, rebuilt, dropped.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_storage::{Fill, KeyColumn, StorageError};
use duramen_txn::Transaction;
use duramen_types::Value;

use super::NewIndex;
use super::constraints::Named;
use super::fill::Rows;

use crate::catalog::CatalogDb;
use crate::def::*;
use crate::describe;
use crate::loads::RowError;
use crate::partition_rows::{with_hidden, with_partitioning};
use crate::partitions::Place;
use crate::rows::{Base, id};
use crate::shape::{Keys, RowsetIds, data_rowset, index_rowset};

impl CatalogDb {
    /// The rows and pages of an index of a table whose data rowset exists; not its entries.
    pub(super) fn add_index(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        new: &NewIndex,
    ) -> SqlResult<IndexDef> {
        let constraint = new.primary_key || new.unique_constraint;
        let mut name = new.name.clone().unwrap_or_default();
        let taken = table.index(&name).is_some() || table.statistics(&name).is_some();
        if new.name.is_some() && taken {
            let args: [&dyn std::fmt::Display; 3] = [&name, &"table", &table.name];
            return Err(SqlError::new(&messages::INDEX_ALREADY_EXISTS, &args));
        }
        if new.primary_key && table.indexes.iter().any(|i| i.primary_key) {
            return Err(SqlError::new(
                &messages::PRIMARY_KEY_ALREADY_DEFINED,
                &[&table.name],
            ));
        }
        if new.primary_key && new.keys.iter().any(|k| table.columns[k.column].nullable) {
            return Err(SqlError::new(
                &messages::PRIMARY_KEY_NULLABLE,
                &[&table.name],
            ));
        }
        if constraint {
            let kind = if new.primary_key {
                ObjectKind::PRIMARY_KEY
            } else {
                ObjectKind::UNIQUE
            };
            let prefix = if new.primary_key { "PK" } else { "UQ" };
            let named = Named::or_made(&new.name, prefix, &table.name, "");
            let object = self.add_object(base, table.schema, named, kind, (table.id, 0), 0)?;
            name = object.name;
        }
        let place = match new.place {
            Place::Default => self.place_of(table, None).0,
            named => named,
        };
        let keyed = |c: usize| new.keys.iter().any(|k| k.column == c);
        if let Some(column) = place.column().filter(|c| new.unique && !keyed(*c)) {
            let column = table.columns.get(column).map_or("", |c| c.name.as_str());
            let args: [&dyn std::fmt::Display; 2] = [&column, &name];
            return Err(SqlError::new(&messages::PARTITION_COLUMN_NOT_IN_KEY, &args));
        }
        let mut index = IndexDef {
            id: 1,
            name,
            unique: new.unique,
            clustered: new.clustered,
            primary_key: new.primary_key,
            unique_constraint: new.unique_constraint,
            keys: new.keys.clone(),
            includes: new.includes.clone(),
            options: new.options.clone(),
            rowset: table.data.clone(),
            partitioned: table.partitioned.clone(),
            sources: Vec::new(),
            locator: Vec::new(),
        };
        if !new.clustered {
            self.check_partitioning(&table.name, &table.columns, place)?;
            index.id = table.next_index_id();
            self.make_index(base, table, &mut index, place)?;
        }
        describe::index_rows(base, table, &index)?;
        Ok(index)
    }

    /// Creates an index (or key constraint) on a table and fills it. A clustered one rebuilds the table. `threads`: how many
    /// may read and sort.
    pub fn create_index(
        &self,
        tx: &Transaction,
        table: &TableDef,
        new: &NewIndex,
        threads: usize,
    ) -> SqlResult<Arc<TableDef>> {
        self.hold_place(tx, new.place)?;
        let base = self.base(tx);
        let mut table = table.clone();
        if new.clustered {
            if !table.is_heap() {
                let name = table.indexes.first().map_or("", |i| i.name.as_str());
                let args: [&dyn std::fmt::Display; 3] = [&"table", &table.name, &name];
                return Err(SqlError::new(
                    &messages::MORE_THAN_ONE_CLUSTERED_INDEX,
                    &args,
                ));
            }
            return self.rebuild(tx, &table, Some(new), threads);
        }
        let index = self.add_index(&base, &table, new)?;
        self.fill(tx, &table, &index, threads)?;
        table.indexes.push(index);
        self.publish(tx, table)
    }

    /// Makes the pages of a nonclustered index and the rows that tell where they are.
    fn make_index(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        index: &mut IndexDef,
        place: Place,
    ) -> SqlResult<()> {
        let below = table.partitioned.as_ref().map(|p| p.column);
        let includes = with_hidden(&index.includes, place.column(), below);
        let specs = table.specs();
        let shape = |ids: &RowsetIds| {
            let keys = Keys {
                columns: &index.keys,
                unique: index.unique,
            };
            index_rowset(ids, &specs, &table.data, keys, &includes)
        };
        let (_, sources, locator) = shape(&RowsetIds::none(table.id));
        let laid = self.lay_out(base.tx, (place, 0), (table, index.id), &|ids| shape(ids).0)?;
        describe::storage_rows(base, laid.rowsets(), &describe::index_column_ids(&sources))?;
        index.rowset = laid.first;
        index.partitioned = laid.partitioned;
        index.sources = sources;
        index.locator = locator;
        Ok(())
    }

    /// Moves the rows of a table into a new heap or clustered index; columns stay as they are.
    fn rebuild(
        &self,
        tx: &Transaction,
        table: &TableDef,
        clustered: Option<&NewIndex>,
        threads: usize,
    ) -> SqlResult<Arc<TableDef>> {
        let next = TableDef {
            indexes: table.nonclustered().cloned().collect(),
            ..table.clone()
        };
        self.rebuild_as(tx, table, next, clustered, Rows::Same { threads })
    }

    /// Moves the rows of `old` into a new heap or clustered index with the columns of `next`, and makes the indexes of
    /// `next` again. `clustered` is a new clustered index; otherwise the one of `next`, if any, is kept.
    pub(super) fn rebuild_as(
        &self,
        tx: &Transaction,
        old: &TableDef,
        mut next: TableDef,
        clustered: Option<&NewIndex>,
        rows: Rows<'_>,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let threads = match &rows {
            Rows::Same { threads } => *threads,
            Rows::Changed(_) => 1,
        };
        let indexes = std::mem::take(&mut next.indexes);
        let kept = indexes.iter().find(|i| i.clustered);
        let (here, lob_place) = self.place_of(&next, None);
        // A new clustered index may take the table elsewhere.
        let place = match clustered.map_or(Place::Default, |n| n.place) {
            Place::Default => here,
            named => named,
        };
        self.check_partitioning(&next.name, &next.columns, place)?;
        let keys = match (clustered, kept) {
            (Some(n), _) => Some((&n.keys, n.unique)),
            (None, Some(k)) => Some((&k.keys, k.unique)),
            (None, None) => None,
        };
        let keys = keys.map(|(k, unique)| (with_partitioning(k, unique, place.column()), unique));
        let specs = next.specs();
        let make = |ids: &RowsetIds| {
            let keys = keys.as_ref().map(|(columns, unique)| Keys {
                columns,
                unique: *unique,
            });
            data_rowset(ids, &specs, keys)
        };
        let index = u16::from(keys.is_some());
        let laid = self.lay_out(tx, (place, lob_place), (&next, index), &make)?;
        let data_rowsets = laid.rowsets().to_vec();
        next.data = laid.first;
        next.partitioned = laid.partitioned;
        let fail = |e: Box<RowError>| match (&e.error, clustered) {
            (StorageError::DuplicateKey { .. }, Some(n)) => {
                let name = n.name.clone().unwrap_or_default();
                duplicate_key(&next, &name, &key_text(&e.row, &n.keys))
            }
            _ => SqlError::from(e.error),
        };
        let options = clustered.map(|n| &n.options);
        let options = options.or(kept.map(|k| &k.options));
        let fill = options.map_or(Fill::default(), |o| o.fill());
        self.fill_from(tx, old, &next, (rows, fill)).map_err(fail)?;
        // Old definitions and pages go; then everything is declared again.
        let key = [Value::Int(old.id.0)];
        base.delete(id::IDXSTATS, &key, |_| true)?;
        base.delete(id::ISCOLS, &key, |_| true)?;
        for rowset in old.all_rowsets() {
            describe::delete_storage_rows(&base, rowset)?;
            self.database().drop_storage(tx, rowset)?;
        }
        describe::storage_rows(&base, &data_rowsets, &describe::data_column_ids(&next))?;
        if let Some(n) = clustered {
            let index = self.add_index(&base, &next, n)?;
            next.indexes.push(index);
        } else if let Some(kept) = kept {
            let index = IndexDef {
                rowset: next.data.clone(),
                partitioned: next.partitioned.clone(),
                ..kept.clone()
            };
            describe::index_rows(&base, &next, &index)?;
            next.indexes.push(index);
        } else {
            describe::heap_rows(&base, &next)?;
        }
        for index in indexes.iter().filter(|i| !i.clustered) {
            let index = self.remake(&base, &next, index)?;
            if !index.options.disabled {
                self.fill(tx, &next, &index, threads)?;
            }
            next.indexes.push(index);
        }
        for statistics in &next.statistics {
            describe::statistics_rows(&base, &next, statistics)?;
        }
        self.publish(tx, next)
    }

    /// Makes the pages of an index anew and gives it these options. Those of the clustered one are the table's; its other
    /// indexes stay.
    pub fn rebuild_index(
        &self,
        tx: &Transaction,
        table: &TableDef,
        index: u16,
        options: IndexOptions,
        threads: usize,
    ) -> SqlResult<Arc<TableDef>> {
        let (mut next, Some(at)) = with_options(table, index, options.clone()) else {
            return self.publish(tx, table.clone());
        };
        let old = &table.indexes[at];
        if old.clustered {
            let mut table = self.set_index_options(tx, table, index, options)?;
            for partition in 0..old.rowsets().len() {
                table = self.rebuild_partition(tx, &table, index, partition, threads)?;
            }
            return Ok(table);
        }
        let base = self.base(tx);
        self.delete_index_rows(&base, table, index)?;
        for rowset in old.rowsets() {
            describe::delete_storage_rows(&base, rowset)?;
        }
        let declared = next.indexes[at].clone();
        let made = self.remake(&base, &next, &declared)?;
        for rowset in old.rowsets() {
            self.database().drop_storage(tx, rowset)?;
        }
        self.fill(tx, &next, &made, threads)?;
        next.indexes[at] = made;
        self.publish(tx, next)
    }

    /// Gives an index other options; its pages stay as they are.
    pub fn set_index_options(
        &self,
        tx: &Transaction,
        table: &TableDef,
        index: u16,
        options: IndexOptions,
    ) -> SqlResult<Arc<TableDef>> {
        let (next, Some(at)) = with_options(table, index, options) else {
            return self.publish(tx, table.clone());
        };
        let base = self.base(tx);
        self.delete_index_rows(&base, table, index)?;
        describe::index_rows(&base, &next, &next.indexes[at])?;
        self.publish(tx, next)
    }

    /// A nonclustered index again, over another data rowset; names and constraint objects stay.
    fn remake(&self, base: &Base<'_>, table: &TableDef, old: &IndexDef) -> SqlResult<IndexDef> {
        let (place, _) = self.place_of(table, Some(old));
        let mut index = old.clone();
        self.make_index(base, table, &mut index, place)?;
        describe::index_rows(base, table, &index)?;
        Ok(index)
    }

    /// Where a table's rows (or an index's entries) are, and the filegroup of values outside them.
    pub(super) fn place_of(&self, table: &TableDef, index: Option<&IndexDef>) -> (Place, u16) {
        let (rowset, partitioned) = match index {
            Some(i) => (&i.rowset, &i.partitioned),
            None => (&table.data, &table.partitioned),
        };
        let rows = self.database().filegroup_of(rowset.au);
        let lob = rowset.lob_au.map(|au| self.database().filegroup_of(au));
        let place = match partitioned {
            Some(p) => p.place(),
            None => Place::Filegroup(rows),
        };
        (place, lob.unwrap_or(rows))
    }

    pub(super) fn delete_index_rows(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        index: u16,
    ) -> SqlResult<()> {
        let key = [Value::Int(table.id.0), Value::Int(i32::from(index))];
        base.delete(id::IDXSTATS, &key, |_| true)?;
        base.delete(id::ISCOLS, &key, |_| true)?;
        Ok(())
    }

    /// Drops an index or key constraint. Dropping the clustered one leaves a heap.
    pub fn drop_index(
        &self,
        tx: &Transaction,
        table: &TableDef,
        name: &str,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let index = table
            .index(name)
            .cloned()
            .ok_or_else(|| SqlError::new(&messages::CANNOT_DROP, &[&"drop", &"index", &name]))?;
        if index.primary_key || index.unique_constraint {
            let object = self
                .seen_by(tx)?
                .find(table.schema, &index.name)
                .map(|o| o.id);
            if let Some(object) = object {
                self.delete_object(&base, object)?;
            }
        }
        let of_indexes = crate::properties::class::INDEX;
        self.forget_properties(&base, of_indexes, table.id.0, Some(i32::from(index.id)))?;
        if index.clustered {
            return self.rebuild(tx, table, None, 1);
        }
        self.delete_index_rows(&base, table, index.id)?;
        for rowset in index.rowsets() {
            describe::delete_storage_rows(&base, rowset)?;
            self.database().drop_storage(tx, rowset)?;
        }
        let mut next = table.clone();
        next.indexes.retain(|i| i.id != index.id);
        self.publish(tx, next)
    }
}

/// The table with these options at an index, and where that index is, if it is.
fn with_options(table: &TableDef, index: u16, options: IndexOptions) -> (TableDef, Option<usize>) {
    let mut next = table.clone();
    let at = next.indexes.iter().position(|i| i.id == index);
    if let Some(at) = at {
        next.indexes[at].options = options;
    }
    (next, at)
}

pub(super) fn duplicate(
    e: StorageError,
    table: &TableDef,
    index: &IndexDef,
    entry: &[Value],
) -> SqlError {
    match e {
        StorageError::DuplicateKey { .. } => {
            let keys: Vec<KeyColumn> = (0..index.keys.len())
                .map(|column| KeyColumn {
                    column,
                    desc: false,
                })
                .collect();
            duplicate_key(table, &index.name, &key_text(entry, &keys))
        }
        StorageError::Sql(e) => e,
    }
}

fn duplicate_key(table: &TableDef, index: &str, key: &str) -> SqlError {
    let name = format!("{}.{}", table.schema_name, table.name);
    let args: [&dyn std::fmt::Display; 3] = [&name, &index, &key];
    SqlError::new(&messages::CREATE_UNIQUE_INDEX_DUPLICATE, &args)
}

/// Key values as error messages show them: `(1, abc)`.
pub fn key_text(row: &[Value], keys: &[KeyColumn]) -> String {
    let parts: Vec<String> = keys
        .iter()
        .map(|k| match row.get(k.column) {
            None | Some(Value::Null) => "<NULL>".to_owned(),
            Some(v) => match (v.as_i64(), v.as_text()) {
                (Some(n), _) => n.to_string(),
                (_, Some(t)) => t,
                _ => match v {
                    Value::Decimal(d) => d.to_string(),
                    Value::Float(f) => f.to_string(),
                    Value::Binary(b) => b
                        .iter()
                        .fold("0x".to_owned(), |s, x| s + &format!("{x:02X}")),
                    other => format!("{other:?}"),
                },
            },
        })
        .collect();
    format!("({})", parts.join(", "))
}
