//! What binding asks of a table's definition, made once for all the statements that name it.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::ObjectId;
use duramen_catalog::{IndexDef, Partitioned, TableDef};
use duramen_os::sync::Mutex;
use duramen_query::Columns;
use duramen_query::host::{AccessPath, Partitioning, TableColumn};
use duramen_query::rules::Generated;
use duramen_types::TypeId;

use super::Names;
use super::key_length::LongKey;

/// How many tables of a database are remembered.
const MOST: usize = 1024;

/// A definition in the query room's terms.
pub struct Shape {
    pub def: Arc<TableDef>,
    pub columns: Vec<TableColumn>,
    pub out: Columns,
    pub paths: Vec<AccessPath>,
    /// The partitions of its rows, and of each path.
    pub of_rows: Option<Partitioning>,
    pub of_indexes: Vec<Option<Partitioning>>,
    /// Whether some of its columns are made by it.
    pub generates: bool,
    /// Whether an index leaves duplicate keys out.
    pub ignores: bool,
    /// The indexes whose keys may be too long.
    pub(super) long_keys: Vec<LongKey>,
    pub(super) names: Arc<Names>,
}

/// The shapes of a database's tables.
#[derive(Default)]
pub struct Shapes {
    known: Mutex<BTreeMap<ObjectId, Arc<Shape>>>,
}

impl Shapes {
    /// The shape of this very definition, in this database.
    pub fn of(&self, database: &str, def: &Arc<TableDef>) -> Arc<Shape> {
        let mut known = self.known.lock();
        if let Some(shape) = known.get(&def.id)
            && Arc::ptr_eq(&shape.def, def)
            && shape.names.database == database
        {
            return shape.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        let shape = Arc::new(Shape::new(database, def.clone()));
        known.insert(def.id, shape.clone());
        shape
    }
}

impl Shape {
    fn new(database: &str, def: Arc<TableDef>) -> Shape {
        let columns: Vec<TableColumn> = def
            .columns
            .iter()
            .map(|c| TableColumn {
                name: c.name.clone(),
                ty: c.ty,
                nullable: c.nullable,
                identity: c.identity.is_some(),
                default: c.default.as_ref().map(|d| d.text.clone()),
                generated: match (&c.computed, c.ty.id) {
                    (Some(_), _) => Generated::Computed,
                    (None, TypeId::RowVersion) => Generated::RowVersion,
                    _ => Generated::No,
                },
            })
            .collect();
        let names = Names {
            table: format!("{}.{}", def.schema_name, def.name),
            database: database.to_owned(),
            full: format!("{database}.{}.{}", def.schema_name, def.name),
        };
        Shape {
            paths: def.indexes.iter().map(|i| path(&def, i)).collect(),
            of_rows: def.partitioned.as_deref().map(partitioning),
            of_indexes: def
                .indexes
                .iter()
                .map(|i| i.partitioned.as_deref().map(partitioning))
                .collect(),
            long_keys: LongKey::all(&def),
            ignores: def.indexes.iter().any(|i| i.options.ignore_dup_key),
            generates: columns.iter().any(TableColumn::is_generated),
            out: columns.iter().map(TableColumn::out).collect(),
            columns,
            names: Arc::new(names),
            def,
        }
    }
}

fn partitioning(of: &Partitioned) -> Partitioning {
    Partitioning {
        column: of.column,
        right: of.function.right,
        boundaries: of.function.boundaries.clone(),
        ty: of.function.ty,
    }
}

fn path(def: &TableDef, i: &IndexDef) -> AccessPath {
    match i.options.disabled {
        // Nothing can be sought there, and it is in no order.
        true => AccessPath {
            name: i.name.clone(),
            unique: false,
            keys: Vec::new(),
            covers_all: false,
            columns: Vec::new(),
            ordered: false,
        },
        false => AccessPath {
            name: i.name.clone(),
            unique: i.unique,
            keys: key_columns(def, i),
            covers_all: i.clustered,
            columns: entry_columns(def, i),
            ordered: true,
        },
    }
}

/// The columns that an index can be sought by: what it was declared with, and what its partition scheme adds.
fn key_columns(def: &TableDef, index: &IndexDef) -> Vec<(usize, bool)> {
    let columns = |keys: &[duramen_storage::KeyColumn]| {
        let columns = keys.iter().map(|k| (k.column, k.desc));
        columns.collect()
    };
    match index.clustered {
        true => columns(&def.clustering_keys()),
        false => columns(&index.keys),
    }
}

/// The columns of a table that an index's entries hold: keys, included columns and what they find their rows by.
fn entry_columns(def: &TableDef, index: &IndexDef) -> Vec<usize> {
    if index.clustered {
        return (0..def.columns.len()).collect();
    }
    let mut columns: Vec<usize> = index.keys.iter().map(|k| k.column).collect();
    columns.extend(&index.includes);
    columns.extend(def.clustering_keys().iter().map(|k| k.column));
    columns.extend(index.partitioned.iter().map(|p| p.column));
    columns
}
