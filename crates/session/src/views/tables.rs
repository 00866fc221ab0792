//! `sys.tables`, `sys.objects`, `sys.columns`, `sys.schemas`, `sys.indexes`: what the catalog's snapshot says.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::{ObjectKind, Snapshot, TableDef};
use duramen_types::{SqlType, Value};

use super::View;
use crate::host::Context;

const OBJECT_COLUMNS: &[(&str, SqlType, bool)] = &[
    ("name", SqlType::SYSNAME, false),
    ("object_id", SqlType::INT, false),
    ("schema_id", SqlType::INT, false),
    ("parent_object_id", SqlType::INT, false),
    ("type", SqlType::char(2), true),
    ("create_date", SqlType::DATETIME, false),
    ("modify_date", SqlType::DATETIME, false),
];

fn snapshot(cx: &Context) -> SqlResult<Arc<Snapshot>> {
    match cx.instance.databases.find(&cx.database) {
        Some(d) => d.catalog.snapshot(),
        None => Ok(Arc::default()),
    }
}

fn objects(cx: &Context, wanted: impl Fn(ObjectKind) -> bool) -> SqlResult<Vec<Vec<Value>>> {
    let snapshot = snapshot(cx)?;
    let row = |o: &Arc<duramen_catalog::ObjectDef>| {
        vec![
            Value::nvarchar(&o.name),
            Value::Int(o.id.0),
            Value::Int(o.schema),
            Value::Int(o.parent.0),
            Value::varchar(o.kind.as_str()),
            Value::DateTime(o.created),
            Value::DateTime(o.modified),
        ]
    };
    Ok(snapshot
        .objects
        .values()
        .filter(|o| wanted(o.kind))
        .map(row)
        .collect())
}

pub const TABLES: View = View {
    name: "tables",
    columns: OBJECT_COLUMNS,
    rows: |cx, _| objects(cx, |k| k == ObjectKind::TABLE),
};

pub const OBJECTS: View = View {
    name: "objects",
    columns: OBJECT_COLUMNS,
    rows: |cx, _| objects(cx, |_| true),
};

fn tables(cx: &Context) -> SqlResult<Vec<Arc<TableDef>>> {
    Ok(snapshot(cx)?.tables.values().cloned().collect())
}

pub const COLUMNS: View = View {
    name: "columns",
    columns: &[
        ("object_id", SqlType::INT, false),
        ("name", SqlType::SYSNAME, true),
        ("column_id", SqlType::INT, false),
        ("system_type_id", SqlType::TINYINT, false),
        ("user_type_id", SqlType::INT, false),
        ("max_length", SqlType::SMALLINT, false),
        ("precision", SqlType::TINYINT, false),
        ("scale", SqlType::TINYINT, false),
        ("is_nullable", SqlType::BIT, true),
        ("is_identity", SqlType::BIT, false),
    ],
    rows: |cx, _| {
        let mut rows = Vec::new();
        for t in tables(cx)? {
            for c in &t.columns {
                rows.push(vec![
                    Value::Int(t.id.0),
                    Value::nvarchar(&c.name),
                    Value::Int(c.id),
                    Value::TinyInt(c.ty.id.xtype()),
                    Value::Int(i32::from(c.ty.id.xtype())),
                    Value::SmallInt(c.ty.catalog_length()),
                    Value::TinyInt(c.ty.precision),
                    Value::TinyInt(c.ty.scale),
                    Value::Bit(c.nullable),
                    Value::Bit(c.identity.is_some()),
                ]);
            }
        }
        Ok(rows)
    },
};

pub const SCHEMAS: View = View {
    name: "schemas",
    columns: &[
        ("name", SqlType::SYSNAME, false),
        ("schema_id", SqlType::INT, false),
        ("principal_id", SqlType::INT, true),
    ],
    rows: |cx, _| {
        let snapshot = snapshot(cx)?;
        let row = |s: &Arc<duramen_catalog::SchemaDef>| {
            vec![
                Value::nvarchar(&s.name),
                Value::Int(s.id),
                Value::Int(s.owner),
            ]
        };
        Ok(snapshot.schemas.values().map(row).collect())
    },
};

pub const INDEXES: View = View {
    name: "indexes",
    columns: &[
        ("object_id", SqlType::INT, false),
        ("name", SqlType::SYSNAME, true),
        ("index_id", SqlType::INT, false),
        ("type", SqlType::TINYINT, false),
        ("type_desc", SqlType::nvarchar(60), true),
        ("is_unique", SqlType::BIT, true),
        ("is_primary_key", SqlType::BIT, true),
        ("is_unique_constraint", SqlType::BIT, true),
    ],
    rows: |cx, _| {
        let mut rows = Vec::new();
        for t in tables(cx)? {
            if t.is_heap() {
                rows.push(vec![
                    Value::Int(t.id.0),
                    Value::Null,
                    Value::Int(0),
                    Value::TinyInt(0),
                    Value::nvarchar("HEAP"),
                    Value::Bit(false),
                    Value::Bit(false),
                    Value::Bit(false),
                ]);
            }
            for i in &t.indexes {
                rows.push(vec![
                    Value::Int(t.id.0),
                    Value::nvarchar(&i.name),
                    Value::Int(i32::from(i.id)),
                    Value::TinyInt(if i.clustered { 1 } else { 2 }),
                    Value::nvarchar(if i.clustered {
                        "CLUSTERED"
                    } else {
                        "NONCLUSTERED"
                    }),
                    Value::Bit(i.unique),
                    Value::Bit(i.primary_key),
                    Value::Bit(i.unique_constraint),
                ]);
            }
        }
        Ok(rows)
    },
};
