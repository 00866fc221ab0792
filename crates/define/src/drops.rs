//! DROP TABLE, DROP INDEX and TRUNCATE TABLE.

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::ObjectKind;
use duramen_tsql::ast;
use duramen_txn::LockMode;

use super::Ddl;

impl Ddl<'_> {
    pub fn drop_table(&self, name: &ast::ObjectName, if_exists: bool) -> SqlResult<()> {
        let missing = || cannot_drop("table", &name.display()).at_line(name.line as i32);
        let found = self.locked(LockMode::SchM, || {
            let snapshot = self.db.catalog.snapshot()?;
            let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
            let table = schema.and_then(|s| snapshot.find_table(s.id, name.name()));
            let table = table.filter(|t| t.kind == ObjectKind::TABLE);
            let table = table.ok_or_else(missing)?;
            if table.referenced_by.iter().any(|(o, _)| *o != table.id) {
                let message = &messages::OBJECT_REFERENCED_BY_FOREIGN_KEY;
                let error = SqlError::new(message, &[&name.display()]);
                return Err(error.at_line(name.line as i32));
            }
            Ok(table.clone())
        });
        let table = match found {
            Err(e) if if_exists && e.number == messages::CANNOT_DROP.number => return Ok(()),
            found => found?,
        };
        for key in &table.foreign_keys {
            self.lock_other(key.referenced)?;
        }
        self.db.catalog.drop_table(self.tx, &table)
    }

    /// Drops a temporary table or procedure, if it is there.
    pub fn drop_temporary(&self, id: ObjectId) -> SqlResult<()> {
        let snapshot = self.db.catalog.snapshot()?;
        if let Some(module) = snapshot.module(id) {
            return self.db.catalog.drop_module(self.tx, module);
        }
        let gone = || cannot_drop("table", &id.0.to_string());
        let found = self.locked(LockMode::SchM, || {
            self.db.catalog.table(id)?.ok_or_else(gone)
        });
        match found {
            Ok(table) => self.db.catalog.drop_table(self.tx, &table),
            Err(e) if e.number == messages::CANNOT_DROP.number => Ok(()),
            Err(e) => Err(e),
        }
    }

    pub fn drop_index(
        &self,
        index: &str,
        name: &ast::ObjectName,
        if_exists: bool,
    ) -> SqlResult<()> {
        let full = format!("{}.{index}", name.display());
        let at_line = |e: SqlError| e.at_line(name.line as i32);
        let found = self.locked(LockMode::SchM, || {
            let snapshot = self.db.catalog.snapshot()?;
            let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
            let table = schema.and_then(|s| snapshot.find_table(s.id, name.name()));
            match table.and_then(|t| t.index(index).map(|i| (t, i))) {
                Some((_, i)) if i.primary_key || i.unique_constraint => {
                    let kind = match i.primary_key {
                        true => "PRIMARY KEY",
                        false => "UNIQUE KEY",
                    };
                    let args: [&dyn std::fmt::Display; 2] = [&full, &kind];
                    let error = SqlError::new(&messages::DROP_CONSTRAINT_INDEX, &args);
                    Err(at_line(error.with_state(4)))
                }
                Some((t, _)) => Ok(t.clone()),
                None => Err(at_line(cannot_drop("index", &full))),
            }
        });
        let table = match found {
            Err(e) if if_exists && e.number == messages::CANNOT_DROP.number => return Ok(()),
            found => found?,
        };
        self.db.catalog.drop_index(self.tx, &table, index)?;
        Ok(())
    }

    /// `parts`: ranges of partition numbers; empty: the whole table.
    pub fn truncate(&self, name: &ast::ObjectName, parts: &[(i64, i64)]) -> SqlResult<()> {
        let table = self.locked(LockMode::SchM, || {
            let table = self.table(name, (&messages::TRUNCATE_OBJECT_NOT_FOUND, 1))?;
            if table
                .referenced_by
                .iter()
                .any(|(other, _)| *other != table.id)
            {
                let error = SqlError::new(&messages::TRUNCATE_REFERENCED, &[&name.display()]);
                return Err(error.at_line(name.line as i32));
            }
            Ok(table)
        })?;
        if !parts.is_empty() {
            return self.truncate_partitions(&table, parts);
        }
        for rowset in table.all_rowsets() {
            self.db.db.rowset(rowset).truncate(self.tx)?;
        }
        self.db.catalog.restart_identity(self.tx, &table)
    }
}

pub(super) fn cannot_drop(kind: &str, name: &str) -> SqlError {
    SqlError::new(&messages::CANNOT_DROP, &[&"drop", &kind, &name]).with_state(5)
}
