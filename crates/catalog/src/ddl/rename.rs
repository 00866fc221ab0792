//! New names for what is there: ids stay, so nothing else changes. Texts of modules keep the old name, as they do in
//! SQL Server.

use duramen_base::ObjectId;
use duramen_base::SqlResult;
use duramen_txn::Transaction;
use duramen_types::Value;

use super::alter::column_key;
use crate::catalog::{CatalogDb, now};
use crate::def::*;
use crate::doubt::{self, Doubt};
use crate::draft::begin_again;
use crate::rows::id;

impl CatalogDb {
    /// Moves an object, with its constraints and triggers, into another schema; what was granted on it is forgotten.
    pub fn transfer(
        &self,
        tx: &Transaction,
        object: &ObjectDef,
        schema: &SchemaDef,
    ) -> SqlResult<()> {
        let base = self.base(tx);
        self.hold_schema(tx, schema.id)?;
        let snapshot = self.seen_by(tx)?;
        let time = now();
        let own = snapshot.objects.values();
        let moved: Vec<ObjectDef> = own
            .filter(|o| o.id == object.id || o.parent == object.id)
            .map(|o| (**o).clone())
            .collect();
        for o in &moved {
            self.claim_object(tx, o)?;
            let there = ObjectDef {
                schema: schema.id,
                ..o.clone()
            };
            self.claim_object(tx, &there)?;
            base.update(id::SCHOBJS, &[Value::Int(o.id.0)], |row| {
                row[2] = Value::Int(schema.id);
                row[10] = Value::DateTime(time);
                true
            })?;
            self.forget_privileges(&base, 1, o.id.0)?;
        }
        let (to, name) = (schema.id, schema.name.clone());
        self.patch(tx, move |s, version| {
            for o in &moved {
                s.names.remove(&(o.schema, fold(&o.name)));
                if let Some(module) = s.modules.get(&o.id).cloned() {
                    let module = ModuleDef {
                        schema: to,
                        version,
                        ..(*module).clone()
                    };
                    s.modules.insert(o.id, std::sync::Arc::new(module));
                }
                if let Some(table) = s.tables.get(&o.id).cloned() {
                    s.put_table(TableDef {
                        schema: to,
                        schema_name: name.clone(),
                        modified: time,
                        version,
                        ..(*table).clone()
                    });
                }
                s.add_object(ObjectDef {
                    schema: to,
                    modified: time,
                    ..o.clone()
                });
            }
        });
        Ok(())
    }

    /// Renames a table, module or constraint; an index that belongs to the constraint goes with it.
    pub fn rename_object(&self, tx: &Transaction, object: &ObjectDef, name: &str) -> SqlResult<()> {
        let base = self.base(tx);
        let time = now();
        self.claim_object(tx, object)?;
        let called = ObjectDef {
            name: name.to_owned(),
            ..object.clone()
        };
        self.claim_object(tx, &called)?;
        let there = self.seen_by(tx)?.find(object.schema, name).map(|o| o.id);
        if there.is_some_and(|id| id != object.id) {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        base.update(id::SCHOBJS, &[Value::Int(object.id.0)], |row| {
            row[1] = Value::nvarchar(name);
            row[10] = Value::DateTime(time);
            true
        })?;
        let renamed = ObjectDef {
            name: name.to_owned(),
            modified: time,
            ..object.clone()
        };
        let id = object.id;
        let old = (object.schema, fold(&object.name));
        self.patch(tx, move |s, version| {
            s.names.remove(&old);
            s.add_object(renamed.clone());
            if let Some(module) = s.modules.get(&id).cloned() {
                let module = ModuleDef {
                    name: renamed.name.clone(),
                    version,
                    ..(*module).clone()
                };
                s.modules.insert(id, std::sync::Arc::new(module));
            }
        });
        let snapshot = self.seen_by(tx)?;
        if let Some(table) = snapshot.tables.get(&id) {
            let mut next = (**table).clone();
            next.name = name.to_owned();
            next.modified = time;
            self.publish(tx, next)?;
        }
        if let Some(table) = snapshot.tables.get(&object.parent) {
            let mut next = (**table).clone();
            constraint_named(&mut next, id, name);
            let keyed = [ObjectKind::PRIMARY_KEY, ObjectKind::UNIQUE].contains(&object.kind);
            let index = next.index(&object.name).filter(|_| keyed).cloned();
            match index {
                Some(index) => self.index_named(tx, next, &index, name)?,
                None => {
                    self.publish(tx, next)?;
                }
            }
        }
        Ok(())
    }

    /// Renames a column.
    pub fn rename_column(
        &self,
        tx: &Transaction,
        table: &TableDef,
        column: i32,
        name: &str,
    ) -> SqlResult<()> {
        self.base(tx)
            .update(id::COLPARS, &column_key(table, column), |row| {
                row[3] = Value::nvarchar(name);
                true
            })?;
        let mut next = table.clone();
        if let Some(c) = next.columns.iter_mut().find(|c| c.id == column) {
            c.name = name.to_owned();
        }
        self.publish(tx, next)?;
        Ok(())
    }

    /// Renames an index, and the constraint that it is the index of.
    pub fn rename_index(
        &self,
        tx: &Transaction,
        table: &TableDef,
        index: &IndexDef,
        name: &str,
    ) -> SqlResult<()> {
        let snapshot = self.seen_by(tx)?;
        let constraint = snapshot.objects.values().find(|o| {
            let keyed = [ObjectKind::PRIMARY_KEY, ObjectKind::UNIQUE].contains(&o.kind);
            keyed && o.parent == table.id && o.name == index.name
        });
        match constraint {
            Some(constraint) => self.rename_object(tx, constraint, name),
            None => self.index_named(tx, table.clone(), index, name),
        }
    }

    fn index_named(
        &self,
        tx: &Transaction,
        mut table: TableDef,
        index: &IndexDef,
        name: &str,
    ) -> SqlResult<()> {
        let key = [Value::Int(table.id.0), Value::Int(i32::from(index.id))];
        self.base(tx).update(id::IDXSTATS, &key, |row| {
            row[2] = Value::nvarchar(name);
            true
        })?;
        if let Some(i) = table.indexes.iter_mut().find(|i| i.id == index.id) {
            i.name = name.to_owned();
        }
        self.publish(tx, table)?;
        Ok(())
    }
}

/// The new name of a constraint or trigger in its table's definition.
fn constraint_named(table: &mut TableDef, id: ObjectId, name: &str) {
    let defaults = table.columns.iter_mut().filter_map(|c| c.default.as_mut());
    for d in defaults.filter(|d| d.id == id) {
        d.name = name.to_owned();
    }
    for c in table.checks.iter_mut().filter(|c| c.id == id) {
        c.name = name.to_owned();
    }
    for t in table.triggers.iter_mut().filter(|t| t.id == id) {
        t.name = name.to_owned();
    }
    for f in table.foreign_keys.iter_mut().filter(|f| f.id == id) {
        f.name = name.to_owned();
    }
}
