//! CREATE, ALTER and DROP of partition functions and schemes, and what ON says.
//!
//! A function or scheme is locked under its own id, as an object is: whoever puts a table on it holds Sch-S, whoever
//! makes, changes or drops it Sch-M.

use duramen_access::open_db::OpenDb;
use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::partitions::MOST_PARTITIONS;
use duramen_catalog::{PartitionFunctionDef, PartitionSchemeDef, Place, Snapshot, TableDef, fold};
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_tsql::ast;
use duramen_txn::{LockDuration, LockMode, Resource};
use duramen_types::{CollationId, SqlType, TypeId, Value};

use super::Ddl;

/// Whether any heap or index of a table lies on a scheme.
fn lies_on(table: &TableDef, scheme: i32) -> bool {
    let of_indexes = table.indexes.iter().map(|i| &i.partitioned);
    let mut all = of_indexes.chain([&table.partitioned]).flatten();
    all.any(|p| p.scheme == scheme)
}

fn cannot(verb: &str, kind: &str, name: &str) -> SqlError {
    let kind = format!("partition {kind}");
    let args: [&dyn std::fmt::Display; 3] = [&verb, &kind, &name];
    SqlError::new(&messages::CANNOT_ACT_ON_PRINCIPAL, &args)
}

/// 7704, for types whose values cannot be boundaries.
fn check_type(ty: &SqlType) -> SqlResult<()> {
    let never = [
        TypeId::Text,
        TypeId::NText,
        TypeId::Image,
        TypeId::Xml,
        TypeId::RowVersion,
        TypeId::Udt,
    ];
    if !never.contains(&ty.id) && !ty.is_max() {
        return Ok(());
    }
    let shown = match ty.is_max() && ty.id != TypeId::Xml {
        true => format!("{}(max)", ty.id.name()),
        false => ty.id.name().to_owned(),
    };
    Err(SqlError::new(&messages::PARTITION_TYPE_INVALID, &[&shown]))
}

/// The type of a function's only parameter.
pub fn parameter_type(db: &OpenDb, types: &[ast::DataType]) -> SqlResult<SqlType> {
    let ty = match types {
        [] => return Err(SqlError::new(&messages::PARTITION_NO_PARAMETERS, &[])),
        [one] => one,
        _ => return Err(SqlError::new(&messages::PARTITION_MANY_PARAMETERS, &[])),
    };
    let alias = |n: &ast::ObjectName| -> SqlResult<bool> {
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema(n.schema().unwrap_or("dbo"));
        Ok(schema.is_some_and(|s| snapshot.find_type(s.id, n.name()).is_some()))
    };
    let mut resolved = match resolve_type(ty, TypeSite::Variable(1)) {
        Ok(resolved) => resolved,
        Err(_) if alias(&ty.name)? => {
            let name = ty.name.display();
            return Err(SqlError::new(&messages::PARTITION_TYPE_INVALID, &[&name]));
        }
        Err(e) => return Err(e),
    };
    check_type(&resolved)?;
    let of_database = CollationId(db.db.boot().collation);
    if resolved.id.is_string() && of_database.name().is_some() {
        resolved.collation = of_database;
    }
    Ok(resolved)
}

impl Ddl<'_> {
    /// Where ON puts a heap or index with these columns.
    pub(super) fn place(
        &self,
        on: Option<&ast::DataSpace>,
        columns: &[String],
        line: u32,
    ) -> SqlResult<Place> {
        let Some(on) = on else {
            return Ok(Place::Default);
        };
        if on.columns.is_empty() {
            return self.filegroup(Some(&on.name), line).map(Place::Filegroup);
        }
        let line = line as i32;
        let snapshot = self.db.catalog.snapshot()?;
        let Some(scheme) = snapshot.find_partition_scheme(&on.name) else {
            let args: [&dyn std::fmt::Display; 2] = [&"partition scheme", &on.name];
            return Err(SqlError::new(&messages::INVALID_PLACE, &args).at_line(line));
        };
        self.lock_space(scheme.id, LockMode::SchS)?;
        self.lock_space(scheme.function, LockMode::SchS)?;
        let (scheme, function) = self.db.catalog.scheme(scheme.id)?;
        let [column] = &on.columns[..] else {
            let args: [&dyn std::fmt::Display; 2] = [&function.name, &1];
            return Err(SqlError::new(&messages::PARTITION_COLUMN_COUNT, &args).at_line(line));
        };
        let at = columns.iter().position(|c| fold(c) == fold(column));
        let column = at.ok_or_else(|| {
            let error = SqlError::new(&messages::INDEX_COLUMN_DOES_NOT_EXIST, &[column]);
            error.at_line(line)
        })?;
        Ok(Place::Scheme {
            scheme: scheme.id,
            column,
        })
    }

    fn lock_space(&self, id: i32, mode: LockMode) -> SqlResult<()> {
        let resource = Resource::Object(self.db.db.id, ObjectId(id));
        let (owner, timeout) = (&self.tx.owner, self.tx.lock_timeout());
        let locks = &self.db.db.engine.locks;
        let taken = locks.lock(owner, &resource, mode, LockDuration::Normal, timeout);
        taken.map(drop).map_err(|e| {
            duramen_txn::errors::lock_error(e, self.tx.spid())
                .unwrap_or_else(duramen_query::cancelled)
        })?;
        self.tx.keep_lock(&resource);
        Ok(())
    }

    /// `values` are of the type, in the order they were given in.
    pub fn create_partition_function(
        &self,
        name: &str,
        ty: SqlType,
        right: bool,
        values: Vec<Value>,
    ) -> SqlResult<()> {
        let catalog = &self.db.catalog;
        if catalog.snapshot()?.find_partition_function(name).is_some() {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        if values.len() >= MOST_PARTITIONS {
            let error = SqlError::new(&messages::PARTITION_TOO_MANY, &[&MOST_PARTITIONS]);
            return Err(error);
        }
        let order = PartitionFunctionDef {
            id: 0,
            name: String::new(),
            ty,
            right,
            boundaries: Vec::new(),
            created: duramen_catalog::now(),
            modified: duramen_catalog::now(),
        };
        let mut numbered: Vec<(usize, Value)> = (1..).zip(values).collect();
        let sorted = numbered.is_sorted_by(|a, b| order.compare(&a.1, &b.1).is_le());
        numbered.sort_by(|a, b| order.compare(&a.1, &b.1));
        let equal = numbered
            .windows(2)
            .find(|w| order.compare(&w[0].1, &w[1].1).is_eq());
        if let Some([a, b]) = equal {
            let args: [&dyn std::fmt::Display; 2] = [&a.0, &b.0];
            return Err(SqlError::new(&messages::PARTITION_DUPLICATE_VALUES, &args));
        }
        if !sorted {
            let args: [&dyn std::fmt::Display; 2] = [&name, &name];
            self.note(SqlError::new(&messages::PARTITION_VALUES_UNSORTED, &args));
        }
        let boundaries = numbered.into_iter().map(|n| n.1).collect();
        catalog.create_partition_function(self.tx, name, ty, right, boundaries)
    }

    pub fn create_partition_scheme(
        &self,
        name: &str,
        function: &str,
        all: bool,
        filegroups: &[String],
    ) -> SqlResult<()> {
        let catalog = &self.db.catalog;
        let snapshot = catalog.snapshot()?;
        let taken = snapshot.find_partition_scheme(name).is_some();
        if taken || self.db.db.filegroup(name).is_some() {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        let of = self.function(function, || {
            SqlError::new(&messages::INVALID_OBJECT_NAME, &[&function])
        })?;
        self.lock_space(of.id, LockMode::SchS)?;
        if all && filegroups.len() > 1 {
            return Err(SqlError::new(&messages::PARTITION_ALL_WITH_SEVERAL, &[]));
        }
        let mut to = Vec::new();
        for f in filegroups {
            to.push(self.filegroup(Some(f), 0)?);
        }
        let fanout = of.fanout();
        let mut next_used = None;
        if all {
            next_used = to.first().copied();
            to = vec![to.first().copied().unwrap_or(1); fanout];
        } else if to.len() < fanout {
            let args: [&dyn std::fmt::Display; 2] = [&of.name, &name];
            return Err(SqlError::new(
                &messages::PARTITION_TOO_FEW_FILEGROUPS,
                &args,
            ));
        } else if to.len() > fanout {
            next_used = to.get(fanout).copied();
        }
        if let Some(next) = next_used {
            let next = self.filegroup_name(next);
            let args: [&dyn std::fmt::Display; 3] = [&name, &next, &name];
            self.note(SqlError::new(&messages::PARTITION_SCHEME_CREATED, &args));
            let ignored = to.len().saturating_sub(fanout + 1);
            if ignored > 0 {
                let message = &messages::PARTITION_FILEGROUPS_IGNORED;
                self.note(SqlError::new(message, &[&ignored]));
            }
        }
        to.truncate(fanout);
        catalog.create_partition_scheme(self.tx, name, of.id, to, next_used)
    }

    fn filegroup_name(&self, id: u16) -> String {
        let groups = self.db.db.filegroups();
        let found = groups.into_iter().find(|g| g.id == id);
        found.map_or(String::new(), |g| g.name)
    }

    fn function(
        &self,
        name: &str,
        missing: impl FnOnce() -> SqlError,
    ) -> SqlResult<std::sync::Arc<PartitionFunctionDef>> {
        let snapshot = self.db.catalog.snapshot()?;
        let found = snapshot.find_partition_function(name).cloned();
        found.ok_or_else(missing)
    }

    fn scheme(&self, verb: &str, name: &str) -> SqlResult<std::sync::Arc<PartitionSchemeDef>> {
        let snapshot = self.db.catalog.snapshot()?;
        let found = snapshot.find_partition_scheme(name).cloned();
        found.ok_or_else(|| cannot(verb, "scheme", name))
    }

    /// NEXT USED
    pub fn alter_partition_scheme(&self, name: &str, next_used: Option<&str>) -> SqlResult<()> {
        let scheme = self.scheme("alter", name)?;
        self.lock_space(scheme.id, LockMode::SchM)?;
        let scheme = self.scheme("alter", name)?;
        let next = match next_used {
            Some(filegroup) => Some(self.filegroup(Some(filegroup), 0)?),
            None => None,
        };
        if next.is_none() && scheme.next_used.is_none() {
            let message = &messages::PARTITION_NO_NEXT_USED;
            self.note(SqlError::new(message, &[&scheme.name]));
            return Ok(());
        }
        self.db.catalog.set_next_used(self.tx, &scheme, next)
    }

    pub fn drop_partition_function(&self, name: &str) -> SqlResult<()> {
        let function = self.function(name, || cannot("drop", "function", name))?;
        self.lock_space(function.id, LockMode::SchM)?;
        let snapshot = self.db.catalog.snapshot()?;
        let mut schemes = snapshot.partition_schemes.values();
        if schemes.any(|s| s.function == function.id) {
            return Err(SqlError::new(
                &messages::PARTITION_FUNCTION_USED,
                &[&function.name],
            ));
        }
        self.db
            .catalog
            .drop_partition_function(self.tx, function.id)
    }

    pub fn drop_partition_scheme(&self, name: &str) -> SqlResult<()> {
        let scheme = self.scheme("drop", name)?;
        self.lock_space(scheme.id, LockMode::SchM)?;
        let snapshot: &Snapshot = &*self.db.catalog.snapshot()?;
        if snapshot.tables.values().any(|t| lies_on(t, scheme.id)) {
            let message = &messages::PARTITION_SCHEME_USED;
            return Err(SqlError::new(message, &[&scheme.name]));
        }
        self.db.catalog.drop_partition_scheme(self.tx, scheme.id)
    }

    /// SPLIT and MERGE RANGE: `value` is of the function's type. 7719, 7721, 7715, and 7710 as an error where a scheme
    /// has no place for a new partition.
    pub fn alter_partition_function(&self, name: &str, split: bool, value: Value) -> SqlResult<()> {
        let catalog = &self.db.catalog;
        let missing = || cannot("alter", "function", name);
        let function = self.function(name, missing)?;
        self.lock_space(function.id, LockMode::SchM)?;
        let snapshot = catalog.snapshot()?;
        let function = self.function(name, missing)?;
        let own = |s: &&std::sync::Arc<PartitionSchemeDef>| s.function == function.id;
        for scheme in snapshot.partition_schemes.values().filter(own) {
            self.lock_space(scheme.id, LockMode::SchM)?;
        }
        let schemes = catalog.snapshot()?;
        let schemes: Vec<_> = schemes
            .partition_schemes
            .values()
            .filter(own)
            .cloned()
            .collect();
        for table in snapshot.tables.values() {
            if schemes.iter().any(|s| lies_on(table, s.id)) {
                self.lock(table, LockMode::SchM)?;
            }
        }
        match (split, function.boundary(&value)) {
            (true, Ok(at)) => {
                let message = &messages::PARTITION_VALUE_EXISTS;
                Err(SqlError::new(message, &[&(at + 1)]))
            }
            (true, Err(_)) if function.fanout() >= MOST_PARTITIONS => Err(SqlError::new(
                &messages::PARTITION_TOO_MANY,
                &[&MOST_PARTITIONS],
            )),
            (true, Err(at)) => {
                if let Some(s) = schemes.iter().find(|s| s.next_used.is_none()) {
                    let message = &messages::PARTITION_NO_NEXT_USED;
                    let mut error = SqlError::new(message, &[&s.name]);
                    error.severity = 16;
                    return Err(error);
                }
                catalog.split_partition(self.tx, &function, at, value)
            }
            // Without a boundary there is one partition, whatever the value; the last boundary itself may go.
            (false, _) if function.boundaries.is_empty() => {
                Err(SqlError::new(&messages::PARTITION_NONE_LEFT, &[]).with_state(2))
            }
            (false, Ok(at)) => catalog.merge_partitions(self.tx, &function, at),
            (false, Err(_)) => {
                let message = &messages::PARTITION_VALUE_NOT_FOUND;
                Err(SqlError::new(message, &[]))
            }
        }
    }

    /// TRUNCATE TABLE ... WITH (PARTITIONS ...): identities go on. 7722, 7728, 7729 and 3756.
    pub(super) fn truncate_partitions(
        &self,
        table: &TableDef,
        parts: &[(i64, i64)],
    ) -> SqlResult<()> {
        let Some(of) = &table.partitioned else {
            let args: [&dyn std::fmt::Display; 4] = [&"truncate", &"table", &"table", &table.name];
            return Err(SqlError::new(&messages::NOT_PARTITIONED, &args).with_state(3));
        };
        if !table.is_aligned() {
            let index = table.nonclustered().find(|i| !table.is_aligned_with(i));
            let index = index.map_or("", |i| i.name.as_str());
            let args: [&dyn std::fmt::Display; 3] = [&index, &table.name, &of.function.name];
            return Err(SqlError::new(&messages::TRUNCATE_NOT_ALIGNED, &args));
        }
        let fanout = of.rowsets.len() as i64;
        for (from, to) in parts {
            if let Some(wrong) = [from, to].into_iter().find(|n| !(1..=fanout).contains(*n)) {
                let args: [&dyn std::fmt::Display; 4] = [wrong, &"table", &table.name, &fanout];
                return Err(SqlError::new(&messages::PARTITION_NUMBER_INVALID, &args).with_state(2));
            }
            if from > to {
                let args: [&dyn std::fmt::Display; 2] = [from, to];
                return Err(SqlError::new(&messages::PARTITION_RANGE_INVALID, &args));
            }
        }
        for (from, to) in parts {
            for number in *from..=*to {
                let Some(slice) = table.slice(number as usize - 1) else {
                    continue;
                };
                for rowset in slice.all_rowsets() {
                    self.db.db.rowset(rowset).truncate(self.tx)?;
                }
            }
        }
        Ok(())
    }
}
