//! An immutable picture of a database's objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::ObjectId;

use crate::def::{ModuleDef, ObjectDef, SchemaDef, TableDef, fold};
use crate::rows::base_table;
use crate::system_tables::system_tables;

/// Everything named in a database. User objects and schemas come from rows; base tables are declared.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Goes up with every change of anything.
    pub version: u64,
    pub schemas: BTreeMap<i32, Arc<SchemaDef>>,
    /// Tables, modules and constraints of users.
    pub objects: BTreeMap<ObjectId, Arc<ObjectDef>>,
    pub tables: BTreeMap<ObjectId, Arc<TableDef>>,
    pub modules: BTreeMap<ObjectId, Arc<ModuleDef>>,
    pub(crate) names: BTreeMap<(i32, String), ObjectId>,
}

impl Snapshot {
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaDef>> {
        let folded = fold(name);
        self.schemas.values().find(|s| fold(&s.name) == folded)
    }

    /// The object of that name in a schema.
    pub fn find(&self, schema: i32, name: &str) -> Option<&Arc<ObjectDef>> {
        let id = self.names.get(&(schema, fold(name)))?;
        self.objects.get(id)
    }

    /// The table of that name; base tables answer in schema `sys`.
    pub fn find_table(&self, schema: i32, name: &str) -> Option<&Arc<TableDef>> {
        if let Some(id) = self.names.get(&(schema, fold(name))) {
            return self.tables.get(id);
        }
        if schema == crate::def::SCHEMA_SYS {
            let folded = fold(name);
            let table = system_tables().find(|t| t.name == folded)?;
            return base_table(table.id);
        }
        None
    }

    /// The table with that id, base tables included.
    pub fn table(&self, id: ObjectId) -> Option<&Arc<TableDef>> {
        self.tables.get(&id).or_else(|| base_table(id.0))
    }

    pub fn module(&self, id: ObjectId) -> Option<&Arc<ModuleDef>> {
        self.modules.get(&id)
    }

    /// The triggers of a table.
    pub fn triggers(&self, table: ObjectId) -> impl Iterator<Item = &Arc<ModuleDef>> {
        self.modules
            .values()
            .filter(move |m| m.parent == table && m.kind == crate::def::ObjectKind::TRIGGER)
    }

    /// Foreign keys of other tables that refer to this one.
    pub fn referencing(&self, table: ObjectId) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables
            .values()
            .filter(move |t| t.foreign_keys.iter().any(|f| f.referenced == table))
    }

    pub(crate) fn add_object(&mut self, object: ObjectDef) {
        self.names
            .insert((object.schema, fold(&object.name)), object.id);
        self.objects.insert(object.id, Arc::new(object));
    }

    pub(crate) fn remove_object(&mut self, id: ObjectId) {
        if let Some(o) = self.objects.remove(&id) {
            self.names.remove(&(o.schema, fold(&o.name)));
        }
        self.tables.remove(&id);
        self.modules.remove(&id);
    }
}
