//! An immutable picture of a database's objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_base::ObjectId;

use crate::def::{ModuleDef, ObjectDef, SchemaDef, TableDef, TypeDef, fold};
use crate::partitions::{PartitionFunctionDef, PartitionSchemeDef};
use crate::properties::PropertyDef;
use crate::rows::base_table;
use crate::security::Security;
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
    pub partition_functions: BTreeMap<i32, Arc<PartitionFunctionDef>>,
    pub partition_schemes: BTreeMap<i32, Arc<PartitionSchemeDef>>,
    /// Alias types.
    pub types: BTreeMap<i32, Arc<TypeDef>>,
    /// Users, roles, permissions; in master the logins.
    pub security: Arc<Security>,
    /// Extended properties, by what they are on.
    pub properties: Arc<Vec<PropertyDef>>,
    pub(crate) names: BTreeMap<(i32, String), ObjectId>,
}

impl Snapshot {
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaDef>> {
        let folded = fold(name);
        self.schemas.values().find(|s| fold(&s.name) == folded)
    }

    /// The name of a schema; empty when there is none of that id.
    pub fn schema_name(&self, id: i32) -> &str {
        self.schemas.get(&id).map_or("", |s| s.name.as_str())
    }

    pub fn find_partition_function(&self, name: &str) -> Option<&Arc<PartitionFunctionDef>> {
        let folded = fold(name);
        let mut all = self.partition_functions.values();
        all.find(|f| fold(&f.name) == folded)
    }

    pub fn find_partition_scheme(&self, name: &str) -> Option<&Arc<PartitionSchemeDef>> {
        let folded = fold(name);
        let mut all = self.partition_schemes.values();
        all.find(|s| fold(&s.name) == folded)
    }

    /// The alias type of that name in a schema.
    pub fn find_type(&self, schema: i32, name: &str) -> Option<&Arc<TypeDef>> {
        let folded = fold(name);
        let mut types = self.types.values();
        types.find(|t| t.schema == schema && fold(&t.name) == folded)
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

    /// The same without the objects that are not `seen`.
    pub fn only(&self, seen: &dyn Fn(&ObjectDef) -> bool) -> Snapshot {
        let mut rest = self.clone();
        rest.objects.retain(|_, o| seen(o));
        let there = &rest.objects;
        rest.tables.retain(|id, _| there.contains_key(id));
        rest.modules.retain(|id, _| there.contains_key(id));
        rest.names.retain(|_, id| there.contains_key(id));
        rest
    }

    /// Puts a table's definition in, and tells the tables that its foreign keys refer to, or did.
    pub(crate) fn put_table(&mut self, table: TableDef) {
        let old = self.tables.get(&table.id);
        let old = old.map_or(&[][..], |t| &t.foreign_keys[..]);
        let mut touched = BTreeSet::new();
        if old != table.foreign_keys {
            let keys = old.iter().chain(&table.foreign_keys);
            touched.extend(keys.map(|f| f.referenced));
        }
        self.tables.insert(table.id, Arc::new(table));
        self.link(touched);
    }

    /// Says to these tables anew who refers to them.
    pub(crate) fn link(&mut self, tables: impl IntoIterator<Item = ObjectId>) {
        for id in tables {
            let mut found = Vec::new();
            for t in self.tables.values() {
                let keys = t.foreign_keys.iter().filter(|f| f.referenced == id);
                found.extend(keys.map(|f| (t.id, f.clone())));
            }
            if let Some(t) = self.tables.get_mut(&id)
                && t.referenced_by != found
            {
                Arc::make_mut(t).referenced_by = found;
            }
        }
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
        if let Some(t) = self.tables.remove(&id) {
            let touched: BTreeSet<ObjectId> = t.foreign_keys.iter().map(|f| f.referenced).collect();
            self.link(touched);
        }
        self.modules.remove(&id);
    }
}
