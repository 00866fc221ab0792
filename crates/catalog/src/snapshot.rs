//! An immutable picture of a database's objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_base::ObjectId;

use crate::claims::{Claim, Claims};
use crate::def::{ModuleDef, ObjectDef, SchemaDef, TableDef, TypeDef, fold, same_name};
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
    /// What others are just changing: looking such a name up raises a [`crate::doubt::Doubt`].
    pub(crate) claims: Arc<Claims>,
}

impl Snapshot {
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaDef>> {
        self.claims.ask(|| Claim::Schema(fold(name)));
        self.schemas.values().find(|s| same_name(&s.name, name))
    }

    /// The name of a schema; empty when there is none of that id.
    pub fn schema_name(&self, id: i32) -> &str {
        self.schemas.get(&id).map_or("", |s| s.name.as_str())
    }

    pub fn find_partition_function(&self, name: &str) -> Option<&Arc<PartitionFunctionDef>> {
        self.claims.ask(|| Claim::PartitionFunction(fold(name)));
        let mut all = self.partition_functions.values();
        all.find(|f| same_name(&f.name, name))
    }

    pub fn find_partition_scheme(&self, name: &str) -> Option<&Arc<PartitionSchemeDef>> {
        self.claims.ask(|| Claim::PartitionScheme(fold(name)));
        let mut all = self.partition_schemes.values();
        all.find(|s| same_name(&s.name, name))
    }

    /// The alias type of that name in a schema.
    pub fn find_type(&self, schema: i32, name: &str) -> Option<&Arc<TypeDef>> {
        self.claims.ask(|| Claim::Type(schema, fold(name)));
        let mut types = self.types.values();
        types.find(|t| t.schema == schema && same_name(&t.name, name))
    }

    /// The object of that name in a schema.
    pub fn find(&self, schema: i32, name: &str) -> Option<&Arc<ObjectDef>> {
        let id = self.named(schema, name)?;
        self.objects.get(&id)
    }

    fn named(&self, schema: i32, name: &str) -> Option<ObjectId> {
        let key = (schema, fold(name));
        let id = self.names.get(&key).copied();
        self.claims.ask(|| Claim::Name(schema, key.1));
        if let Some(id) = id {
            self.claims.ask(|| Claim::Object(id));
        }
        id
    }

    /// The table of that name; base tables answer in schema `sys`.
    pub fn find_table(&self, schema: i32, name: &str) -> Option<&Arc<TableDef>> {
        if let Some(id) = self.named(schema, name) {
            return self.tables.get(&id);
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

    /// What is not alike in another snapshot of the same definitions; versions do not count.
    pub(crate) fn differs(&self, other: &Snapshot) -> Option<String> {
        let tables = |s: &Snapshot| -> Vec<TableDef> {
            let all = s.tables.values();
            all.map(|t| TableDef {
                version: 0,
                ..(**t).clone()
            })
            .collect()
        };
        let modules = |s: &Snapshot| -> Vec<ModuleDef> {
            let all = s.modules.values();
            all.map(|m| ModuleDef {
                version: 0,
                ..(**m).clone()
            })
            .collect()
        };
        let (a, b) = (self, other);
        let (p, q) = (&a.security, &b.security);
        let differences = [
            difference("schemas", &a.schemas, &b.schemas),
            difference("objects", &a.objects, &b.objects),
            difference("tables", &tables(a), &tables(b)),
            difference("modules", &modules(a), &modules(b)),
            difference("functions", &a.partition_functions, &b.partition_functions),
            difference("schemes", &a.partition_schemes, &b.partition_schemes),
            difference("types", &a.types, &b.types),
            difference("logins", &p.logins, &q.logins),
            difference("users", &p.users, &q.users),
            difference("members", &p.members, &q.members),
            difference("server members", &p.server_members, &q.server_members),
            difference("privileges", &p.privileges, &q.privileges),
            difference("properties", &*a.properties, &*b.properties),
            difference("names", &a.names, &b.names),
        ];
        differences.into_iter().flatten().next()
    }
}

/// The first thing that only one of two lists has.
fn difference<'a, L, T>(what: &str, ours: &'a L, read: &'a L) -> Option<String>
where
    &'a L: IntoIterator<Item = T>,
    T: PartialEq + std::fmt::Debug,
{
    let (mut ours, mut read) = (ours.into_iter(), read.into_iter());
    loop {
        let (a, b) = (ours.next(), read.next());
        if a != b {
            return Some(format!("{what}: {a:?}, but the rows say {b:?}"));
        }
        a.as_ref()?;
    }
}
