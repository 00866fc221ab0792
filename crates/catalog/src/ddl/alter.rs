//! ALTER TABLE: columns and constraints of a table that has rows.
//!
//! A change of columns rewrites the table: every row gets its final shape, so that no reader has to know what was
//! added when. Rows that were stored before a column existed (foreign files) read as NULL there all the same.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_storage::KeyColumn;
use duramen_txn::Transaction;
use duramen_types::{SqlType, Value};

use super::fill::Rows;
use super::{MOST_COLUMNS, NewCheck, NewColumn, NewForeignKey, too_many_columns};
use crate::bootstrap::{self, COLUMN_IDENTITY};
use crate::catalog::CatalogDb;
use crate::cells::{VALUE_TEXT, int};
use crate::def::*;
use crate::partitions::Partitioned;
use crate::rows::id;

impl CatalogDb {
    /// Adds a column; `value` gives the value of each row that is there already.
    pub fn add_column(
        &self,
        tx: &Transaction,
        table: &TableDef,
        new: &NewColumn,
        value: &mut dyn FnMut(&[Value]) -> SqlResult<Value>,
    ) -> SqlResult<Arc<TableDef>> {
        if table.column(&new.name).is_some() {
            let args: [&dyn std::fmt::Display; 2] = [&new.name, &table.name];
            return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args));
        }
        if table.columns.len() >= MOST_COLUMNS {
            return Err(too_many_columns(&new.name, &table.name));
        }
        let base = self.base(tx);
        let column_id = table.columns.iter().map(|c| c.id).max().unwrap_or(0) + 1;
        let object = self.object_of(tx, table)?;
        self.hold_type(tx, new.user_type)?;
        let column = self.create_column(&base, &object, column_id, new)?;
        let mut next = table.clone();
        next.columns.push(column);
        self.rebuild_as(
            tx,
            table,
            next,
            None,
            Rows::Changed(&mut |mut row| {
                let made = value(&row)?;
                row.push(made);
                Ok(row)
            }),
        )
    }

    /// Drops the column at `position`. The caller has checked that nothing depends on it.
    pub fn drop_column(
        &self,
        tx: &Transaction,
        table: &TableDef,
        position: usize,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let mut next = table.clone();
        if position >= next.columns.len() {
            return self.publish(tx, next);
        }
        let column = next.columns.remove(position);
        for index in &mut next.indexes {
            let uses = index.keys.iter().any(|k| k.column == position)
                || index.includes.contains(&position);
            if uses {
                let args: [&dyn std::fmt::Display; 4] =
                    [&"index", &index.name, &"column", &column.name];
                return Err(SqlError::new(&messages::OBJECT_DEPENDS, &args));
            }
            let shift = |c: usize| if c > position { c - 1 } else { c };
            index.keys = index
                .keys
                .iter()
                .map(|k| KeyColumn {
                    column: shift(k.column),
                    desc: k.desc,
                })
                .collect();
            index.includes = index.includes.iter().map(|c| shift(*c)).collect();
            shift_partitioning(&mut index.partitioned, position);
        }
        shift_partitioning(&mut next.partitioned, position);
        next.statistics
            .retain(|s| !(s.automatic() && s.columns.contains(&column.id)));
        let uses = next
            .statistics
            .iter()
            .find(|s| s.columns.contains(&column.id));
        if let Some(s) = uses {
            let args: [&dyn std::fmt::Display; 4] =
                [&"statistics", &s.name, &"column", &column.name];
            return Err(SqlError::new(&messages::OBJECT_DEPENDS, &args));
        }
        if column.identity.is_some() {
            self.settle_identity(tx, table)?;
        }
        base.delete(id::COLPARS, &column_key(table, column.id), |_| true)?;
        let of_objects = crate::properties::class::OBJECT;
        self.forget_properties(&base, of_objects, table.id.0, Some(column.id))?;
        if column.computed.is_some() {
            let text = [
                Value::TinyInt(VALUE_TEXT as u8),
                Value::Int(table.id.0),
                Value::Int(column.id),
            ];
            base.delete(id::OBJVALUES, &text, |_| true)?;
        }
        if let Some(d) = &column.default {
            self.delete_object(&base, d.id)?;
        }
        self.rebuild_as(
            tx,
            table,
            next,
            None,
            Rows::Changed(&mut |mut row| {
                row.remove(position);
                Ok(row)
            }),
        )
    }

    /// Gives the column at `position` another type or nullability; `convert` makes the new value of an old one.
    pub fn alter_column(
        &self,
        tx: &Transaction,
        table: &TableDef,
        position: usize,
        (ty, nullable): (SqlType, bool),
        convert: &mut dyn FnMut(Value) -> SqlResult<Value>,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let mut next = table.clone();
        let Some(column) = next.columns.get_mut(position) else {
            return self.publish(tx, next);
        };
        column.ty = ty;
        column.nullable = nullable;
        let fields = bootstrap::column_row(table.id.0, column.id, &column.name, &ty, nullable)?;
        base.update(id::COLPARS, &column_key(table, column.id), |row| {
            let identity = int(row, 10) & COLUMN_IDENTITY;
            // From xtype to maxinrow; name, default and identity stay.
            row[4..12].clone_from_slice(&fields.values[4..12]);
            row[10] = Value::Int((int(row, 10) | identity) as i32);
            true
        })?;
        let name = column.name.clone();
        self.rebuild_as(
            tx,
            table,
            next,
            None,
            Rows::Changed(&mut |mut row| {
                row[position] = convert(std::mem::take(&mut row[position]))?;
                if row[position].is_null() && !nullable {
                    let table = format!("{}.{}", table.schema_name, table.name);
                    let args: [&dyn std::fmt::Display; 3] = [&name, &table, &"UPDATE"];
                    return Err(SqlError::new(&messages::NULL_NOT_ALLOWED, &args));
                }
                Ok(row)
            }),
        )
    }

    /// Adds a check constraint. The caller has checked the rows.
    pub fn add_check(
        &self,
        tx: &Transaction,
        table: &TableDef,
        new: &NewCheck,
    ) -> SqlResult<Arc<TableDef>> {
        let mut next = table.clone();
        let check = self.create_check(&self.base(tx), table, new)?;
        next.checks.push(check);
        self.publish(tx, next)
    }

    /// Adds a foreign key. The caller has checked the rows.
    pub fn add_foreign_key(
        &self,
        tx: &Transaction,
        table: &TableDef,
        new: &NewForeignKey,
    ) -> SqlResult<Arc<TableDef>> {
        let mut next = table.clone();
        let key = self.create_foreign_key(&self.base(tx), table, new)?;
        next.foreign_keys.push(key);
        self.publish(tx, next)
    }

    /// Adds a default to the column at `position`.
    pub fn add_default(
        &self,
        tx: &Transaction,
        table: &TableDef,
        position: usize,
        name: Option<&str>,
        text: &str,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let mut next = table.clone();
        let Some(column) = next.columns.get_mut(position) else {
            return self.publish(tx, next);
        };
        if column.default.is_some() {
            return Err(SqlError::new(&messages::DEFAULT_ALREADY_BOUND, &[]));
        }
        let of = self.object_of(tx, table)?;
        let name = name.map(str::to_owned);
        let made = self.create_default(&base, &of, (column.id, &column.name), &name, text)?;
        base.update(id::COLPARS, &column_key(table, column.id), |row| {
            row[13] = Value::Int(made.id.0);
            true
        })?;
        column.default = Some(made);
        self.publish(tx, next)
    }

    /// Drops a constraint of any kind by name.
    pub fn drop_constraint(
        &self,
        tx: &Transaction,
        table: &TableDef,
        name: &str,
    ) -> SqlResult<Arc<TableDef>> {
        if table
            .index(name)
            .is_some_and(|i| i.primary_key || i.unique_constraint)
        {
            return self.drop_index(tx, table, name);
        }
        let base = self.base(tx);
        let folded = fold(name);
        let mut next = table.clone();
        let mut gone = None;
        for c in &mut next.columns {
            if let Some(d) = c.default.take_if(|d| fold(&d.name) == folded) {
                gone = Some(d.id);
                base.update(id::COLPARS, &column_key(table, c.id), |row| {
                    row[13] = Value::Int(0);
                    true
                })?;
            }
        }
        next.checks.retain(|c| {
            let hit = fold(&c.name) == folded;
            gone = if hit { Some(c.id) } else { gone };
            !hit
        });
        next.foreign_keys.retain(|f| {
            let hit = fold(&f.name) == folded;
            gone = if hit { Some(f.id) } else { gone };
            !hit
        });
        let Some(object) = gone else {
            let args: [&dyn std::fmt::Display; 1] = [&name];
            return Err(SqlError::new(&messages::NOT_A_CONSTRAINT, &args));
        };
        self.delete_object(&base, object)?;
        self.publish(tx, next)
    }

    fn object_of(&self, tx: &Transaction, table: &TableDef) -> SqlResult<ObjectDef> {
        self.seen_by(tx)?
            .objects
            .get(&table.id)
            .map(|o| (**o).clone())
            .ok_or_else(|| SqlError::new(&messages::INVALID_OBJECT_NAME, &[&table.name]))
    }
}

/// The partitioning column moves up when a column before it goes. The caller has seen to it that it does not go itself.
fn shift_partitioning(of: &mut Option<Arc<Partitioned>>, gone: usize) {
    if let Some(p) = of.as_mut().filter(|p| p.column > gone) {
        Arc::make_mut(p).column -= 1;
    }
}

pub(super) fn column_key(table: &TableDef, column: i32) -> [Value; 3] {
    [
        Value::Int(table.id.0),
        Value::SmallInt(0),
        Value::Int(column),
    ]
}
