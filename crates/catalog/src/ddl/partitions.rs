//! Partition functions and schemes as rows, and the rowsets that a scheme makes.
//!
//! | what | where |
//! |---|---|
//! | a function, a scheme | `sysclsobjs`, classes 30 and 31 |
//! | a function's parameter | `syscolpars`, number 1 |
//! | boundaries | `sysobjvalues`, class 30, by boundary |
//! | a scheme's filegroups, NEXT USED behind them | `syssingleobjrefs`, class 31 |
//!
//! The tables are those of SQL Server's catalog; classes of rows in the last two are *assumed*.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_storage::RowsetDef;
use duramen_txn::Transaction;
use duramen_types::{SqlType, Value};

use crate::catalog::{CatalogDb, now};
use crate::claims::Claim;
use crate::def::{ColumnDef, TableDef, fold};
use crate::doubt::{self, Doubt};
use crate::draft::begin_again;
use crate::partition_rows::{
    CLASS_FUNCTION, CLASS_SCHEME, FIRST_FUNCTION, FIRST_SCHEME, REF_DESTINATION, STATUS_RIGHT,
    VALUE_BOUNDARY, boundary_key,
};
use crate::partitions::{PartitionFunctionDef, PartitionSchemeDef, Partitioned, Place};
use crate::rows::{Base, Fields, id};
use crate::shape::RowsetIds;

/// The rowsets of a new heap or index.
pub(super) struct Laid {
    pub first: Arc<RowsetDef>,
    pub partitioned: Option<Arc<Partitioned>>,
}

impl Laid {
    pub fn rowsets(&self) -> &[Arc<RowsetDef>] {
        match &self.partitioned {
            Some(p) => &p.rowsets,
            None => std::slice::from_ref(&self.first),
        }
    }
}

impl CatalogDb {
    /// Makes the pages of a heap or index: one rowset, or one for each partition. `place` is no default; LOB values of
    /// partitions lie where their rows do.
    pub(super) fn lay_out(
        &self,
        tx: &Transaction,
        (place, lob_place): (Place, u16),
        (table, index): (&TableDef, u16),
        make: &dyn Fn(&RowsetIds) -> RowsetDef,
    ) -> SqlResult<Laid> {
        let layout = make(&RowsetIds::none(table.id)).layout;
        let overflows = layout.may_overflow();
        let one = |filegroup: u16, lob_filegroup: u16| -> SqlResult<Arc<RowsetDef>> {
            let def = Arc::new(make(&self.new_ids(tx, table.id, index, overflows)?));
            self.database()
                .create_storage_on(tx, &def, filegroup, lob_filegroup)?;
            Ok(def)
        };
        let Place::Scheme { scheme, column } = place else {
            let filegroup = match place {
                Place::Filegroup(named) => named,
                _ => self.database().default_filegroup(),
            };
            // Only large values of a table have a place of their own.
            let outside = match layout.has_large() && index < 2 {
                true => lob_place,
                false => filegroup,
            };
            let first = one(filegroup, outside)?;
            return Ok(Laid {
                first,
                partitioned: None,
            });
        };
        let (scheme, function) = self.scheme(scheme)?;
        let to = scheme.destinations.iter();
        let rowsets = to.map(|f| one(*f, *f)).collect::<SqlResult<Vec<_>>>()?;
        let first = rowsets.first().cloned();
        let first = first.ok_or_else(|| SqlError::new(&messages::INCONSISTENCY, &[&scheme.id]))?;
        let partitioned = Partitioned {
            scheme: scheme.id,
            function,
            column,
            rowsets,
        };
        Ok(Laid {
            first,
            partitioned: Some(Arc::new(partitioned)),
        })
    }

    /// A scheme with its function.
    pub fn scheme(
        &self,
        id: i32,
    ) -> SqlResult<(Arc<PartitionSchemeDef>, Arc<PartitionFunctionDef>)> {
        let snapshot = self.snapshot()?;
        let scheme = snapshot.partition_schemes.get(&id).cloned();
        let function = scheme
            .as_ref()
            .and_then(|s| snapshot.partition_functions.get(&s.function).cloned());
        scheme
            .zip(function)
            .ok_or_else(|| SqlError::new(&messages::INCONSISTENCY, &[&id]))
    }

    /// 7726, 7727 and 7724: whether a column may decide the partition.
    pub(super) fn check_partitioning(
        &self,
        table: &str,
        columns: &[ColumnDef],
        place: Place,
    ) -> SqlResult<()> {
        let Place::Scheme { scheme, column } = place else {
            return Ok(());
        };
        let (_, function) = self.scheme(scheme)?;
        let Some(column) = columns.get(column) else {
            return Err(SqlError::new(&messages::INCONSISTENCY, &[&scheme]));
        };
        if !column.is_stored() {
            let args: [&dyn std::fmt::Display; 2] = [&column.name, &table];
            return Err(SqlError::new(&messages::PARTITION_COLUMN_NOT_STORED, &args));
        }
        let (own, of) = (column.ty, function.ty);
        if (own.id, own.length, own.precision, own.scale)
            != (of.id, of.length, of.precision, of.scale)
        {
            let args: [&dyn std::fmt::Display; 4] = [&column.name, &own, &function.name, &of];
            return Err(SqlError::new(&messages::PARTITION_COLUMN_TYPE, &args));
        }
        if own.id.is_string() && own.collation != of.collation {
            let args: [&dyn std::fmt::Display; 2] = [&column.name, &function.name];
            return Err(SqlError::new(&messages::PARTITION_COLUMN_COLLATION, &args));
        }
        Ok(())
    }

    /// Creates a partition function; its boundaries ascend and differ.
    pub fn create_partition_function(
        &self,
        tx: &Transaction,
        name: &str,
        ty: SqlType,
        right: bool,
        boundaries: Vec<Value>,
    ) -> SqlResult<()> {
        let kind = (id::CLSOBJS, CLASS_FUNCTION, FIRST_FUNCTION);
        let number =
            self.claim_number(tx, kind, |s| s.partition_functions.keys().last().copied())?;
        let claim = Claim::PartitionFunction(fold(name));
        self.claim(tx, [claim], self.metadata(kind.0, kind.1, number))?;
        if self.seen_by(tx)?.find_partition_function(name).is_some() {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        let time = now();
        let def = PartitionFunctionDef {
            id: number,
            name: name.to_owned(),
            ty,
            right,
            boundaries,
            created: time,
            modified: time,
        };
        let base = self.base(tx);
        base.insert(
            Fields::new(id::CLSOBJS)?
                .int("class", CLASS_FUNCTION)
                .int("id", i64::from(def.id))
                .text("name", name)
                .int("status", if right { STATUS_RIGHT } else { 0 })
                .set("type", Value::varchar("R "))
                .int("intprop", def.fanout() as i64)
                .set("created", Value::DateTime(time))
                .set("modified", Value::DateTime(time)),
        )?;
        let parameter = crate::bootstrap::column_row(def.id, 1, "", &ty, true)?;
        base.insert(parameter.int("number", 1))?;
        self.put_boundaries(&base, &def)?;
        let def = Arc::new(def);
        self.patch(tx, move |s, _| {
            s.partition_functions.insert(def.id, def.clone());
        });
        Ok(())
    }

    pub(super) fn claim_function(
        &self,
        tx: &Transaction,
        f: &PartitionFunctionDef,
    ) -> SqlResult<()> {
        let resource = self.metadata(id::CLSOBJS, CLASS_FUNCTION, f.id);
        self.claim(tx, [Claim::PartitionFunction(fold(&f.name))], resource)
    }

    fn claim_scheme(&self, tx: &Transaction, s: &PartitionSchemeDef) -> SqlResult<()> {
        let resource = self.metadata(id::CLSOBJS, CLASS_SCHEME, s.id);
        self.claim(tx, [Claim::PartitionScheme(fold(&s.name))], resource)
    }

    fn put_boundaries(&self, base: &Base<'_>, def: &PartitionFunctionDef) -> SqlResult<()> {
        for (number, value) in (1..).zip(&def.boundaries) {
            let stored = match value {
                Value::Null => Value::Null,
                v => Value::Variant(Box::new((def.ty, v.clone()))),
            };
            base.insert(
                Fields::new(id::OBJVALUES)?
                    .int("valclass", VALUE_BOUNDARY)
                    .int("objid", i64::from(def.id))
                    .int("subobjid", number)
                    .int("valnum", 1)
                    .set("value", stored),
            )?;
        }
        Ok(())
    }

    /// Gives a function other boundaries; the tables that use it are the caller's business.
    pub(super) fn set_boundaries(
        &self,
        base: &Base<'_>,
        function: &PartitionFunctionDef,
        boundaries: Vec<Value>,
    ) -> SqlResult<Arc<PartitionFunctionDef>> {
        self.claim_function(base.tx, function)?;
        let next = PartitionFunctionDef {
            boundaries,
            modified: now(),
            ..function.clone()
        };
        let key = boundary_key(next.id);
        base.delete(id::OBJVALUES, &key, |_| true)?;
        self.put_boundaries(base, &next)?;
        let (fanout, time) = (next.fanout() as i32, next.modified);
        base.update(id::CLSOBJS, &object_key(CLASS_FUNCTION, next.id), |row| {
            row[5] = Value::Int(fanout);
            row[7] = Value::DateTime(time);
            true
        })?;
        let next = Arc::new(next);
        let cached = next.clone();
        self.patch(base.tx, move |s, _| {
            s.partition_functions.insert(cached.id, cached.clone());
        });
        Ok(next)
    }

    /// Drops a function that no scheme uses.
    pub fn drop_partition_function(&self, tx: &Transaction, function: i32) -> SqlResult<()> {
        if let Some(f) = self.seen_by(tx)?.partition_functions.get(&function) {
            self.claim_function(tx, f)?;
        }
        self.unused(tx, |s| {
            let mut schemes = s.partition_schemes.values();
            schemes.any(|p| p.function == function)
        })?;
        let base = self.base(tx);
        base.delete(id::CLSOBJS, &object_key(CLASS_FUNCTION, function), |_| true)?;
        base.delete(id::COLPARS, &[Value::Int(function)], |_| true)?;
        base.delete(id::OBJVALUES, &boundary_key(function), |_| true)?;
        self.patch(tx, move |s, _| {
            s.partition_functions.remove(&function);
        });
        Ok(())
    }

    /// Creates a partition scheme.
    pub fn create_partition_scheme(
        &self,
        tx: &Transaction,
        name: &str,
        function: i32,
        destinations: Vec<u16>,
        next_used: Option<u16>,
    ) -> SqlResult<()> {
        let kind = (id::CLSOBJS, CLASS_SCHEME, FIRST_SCHEME);
        let number = self.claim_number(tx, kind, |s| s.partition_schemes.keys().last().copied())?;
        let claim = Claim::PartitionScheme(fold(name));
        self.claim(tx, [claim], self.metadata(kind.0, kind.1, number))?;
        if self.seen_by(tx)?.find_partition_scheme(name).is_some() {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        let of = self.metadata(id::CLSOBJS, CLASS_FUNCTION, function);
        self.hold(tx, of, |s| s.partition_functions.contains_key(&function))?;
        let def = PartitionSchemeDef {
            id: number,
            name: name.to_owned(),
            function,
            destinations,
            next_used,
        };
        let base = self.base(tx);
        let time = Value::DateTime(now());
        base.insert(
            Fields::new(id::CLSOBJS)?
                .int("class", CLASS_SCHEME)
                .int("id", i64::from(def.id))
                .text("name", name)
                .set("type", Value::varchar("PS"))
                .int("intprop", i64::from(function))
                .set("created", time.clone())
                .set("modified", time),
        )?;
        self.put_scheme(&base, def)
    }

    /// Writes a scheme's filegroups anew, and tells the snapshot.
    pub(super) fn put_scheme(&self, base: &Base<'_>, def: PartitionSchemeDef) -> SqlResult<()> {
        self.claim_scheme(base.tx, &def)?;
        base.delete(id::SINGLEOBJREFS, &[Value::Int(def.id)], |_| true)?;
        let all = def.destinations.iter().chain(&def.next_used);
        for (number, filegroup) in (1..).zip(all) {
            base.insert(
                Fields::new(id::SINGLEOBJREFS)?
                    .int("class", REF_DESTINATION)
                    .int("depid", i64::from(def.id))
                    .int("depsubid", number)
                    .int("indepid", i64::from(*filegroup)),
            )?;
        }
        let def = Arc::new(def);
        self.patch(base.tx, move |s, _| {
            s.partition_schemes.insert(def.id, def.clone());
        });
        Ok(())
    }

    /// NEXT USED of a scheme.
    pub fn set_next_used(
        &self,
        tx: &Transaction,
        scheme: &PartitionSchemeDef,
        next_used: Option<u16>,
    ) -> SqlResult<()> {
        let next = PartitionSchemeDef {
            next_used,
            ..scheme.clone()
        };
        self.put_scheme(&self.base(tx), next)
    }

    /// Drops a scheme that nothing lies on.
    pub fn drop_partition_scheme(&self, tx: &Transaction, scheme: i32) -> SqlResult<()> {
        if let Some(s) = self.seen_by(tx)?.partition_schemes.get(&scheme) {
            self.claim_scheme(tx, s)?;
        }
        self.unused(tx, |s| {
            let lies =
                |p: &Option<Arc<Partitioned>>| p.as_ref().is_some_and(|p| p.scheme == scheme);
            s.tables
                .values()
                .any(|t| lies(&t.partitioned) || t.indexes.iter().any(|i| lies(&i.partitioned)))
        })?;
        let base = self.base(tx);
        base.delete(id::CLSOBJS, &object_key(CLASS_SCHEME, scheme), |_| true)?;
        base.delete(id::SINGLEOBJREFS, &[Value::Int(scheme)], |_| true)?;
        self.patch(tx, move |s, _| {
            s.partition_schemes.remove(&scheme);
        });
        Ok(())
    }
}

fn object_key(class: i64, id: i32) -> [Value; 2] {
    [Value::TinyInt(class as u8), Value::Int(id)]
}
