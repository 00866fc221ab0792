//! `sys.columns`, `sys.all_columns`, `sys.identity_columns` and `sys.types`.

use duramen_base::SqlResult;
use duramen_catalog::{ColumnDef, Identity, TableDef};
use duramen_program::column::*;
use duramen_types::{CollationId, SqlType as T, TypeId, Value};

use super::objects::tables;
use super::{Listed, View, every};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1007, &COLUMNS_VIEW),
    (-1022, &ALL_COLUMNS),
    (-1023, &SYSTEM_COLUMNS),
    (-1024, &IDENTITY_COLUMNS),
    (-1025, &TYPES),
    (-1055, &COMPUTED_COLUMNS),
    (-1068, &TABLE_TYPES),
];

pub struct Source {
    table: i32,
    id: i32,
    name: String,
    ty: T,
    nullable: bool,
    identity: Option<Identity>,
    default: i32,
    user_type: i32,
    rowguid: bool,
    computed: bool,
}

impl Source {
    /// A column that is nothing but a name and a type.
    fn plain(table: i32, id: i32, name: &str, ty: T, nullable: bool) -> Source {
        Source {
            table,
            id,
            name: name.to_owned(),
            ty,
            nullable,
            identity: None,
            default: 0,
            user_type: i32::from(ty.id.xtype()),
            rowguid: false,
            computed: false,
        }
    }

    fn of(table: &TableDef, c: &ColumnDef) -> Source {
        Source {
            table: table.id.0,
            id: c.id,
            name: c.name.clone(),
            ty: c.ty,
            nullable: c.nullable,
            identity: c.identity,
            default: c.default.as_ref().map_or(0, |d| d.id.0),
            user_type: c.type_id(),
            rowguid: c.rowguid,
            computed: c.computed.is_some(),
        }
    }
}

/// The collation's name; NULL for types that have none.
fn collation(ty: &T) -> Value {
    if ty.id.is_string() {
        text_or_null(ty.collation.name())
    } else {
        Value::Null
    }
}

/// The lines of `sys.columns`, also the first of `sys.identity_columns`.
macro_rules! column_columns {
    ($source:ty, $column:expr; $($rest:tt)*) => {
        columns! { $source;
            "object_id", T::INT, NOT_NULL, |s| int($column(s).table);
            "name", T::SYSNAME, NULL, |s| text(&$column(s).name);
            "column_id", T::INT, NOT_NULL, |s| int($column(s).id);
            "system_type_id", T::TINYINT, NOT_NULL, |s| tiny($column(s).ty.id.xtype());
            "user_type_id", T::INT, NOT_NULL, |s| int($column(s).user_type);
            "max_length", T::SMALLINT, NOT_NULL, |s| small($column(s).ty.catalog_length());
            "precision", T::TINYINT, NOT_NULL, |s| tiny($column(s).ty.precision);
            "scale", T::TINYINT, NOT_NULL, |s| tiny($column(s).ty.scale);
            "collation_name", T::SYSNAME, NULL, |s| collation(&$column(s).ty);
            "is_nullable", T::BIT, NULL, |s| bit($column(s).nullable);
            "is_ansi_padded", T::BIT, NOT_NULL, |s| {
                bit($column(s).ty.id.is_string() || $column(s).ty.id.is_binary())
            };
            "is_rowguidcol", T::BIT, NOT_NULL, |s| bit($column(s).rowguid);
            "is_identity", T::BIT, NOT_NULL, |s| bit($column(s).identity.is_some());
            "is_computed", T::BIT, NULL, |s| bit($column(s).computed);
            "is_filestream", T::BIT, NOT_NULL, |_| bit(false);
            "is_replicated", T::BIT, NULL, |_| bit(false);
            "is_non_sql_subscribed", T::BIT, NULL, |_| bit(false);
            "is_merge_published", T::BIT, NULL, |_| bit(false);
            "is_dts_replicated", T::BIT, NULL, |_| bit(false);
            "is_xml_document", T::BIT, NOT_NULL, |_| bit(false);
            "xml_collection_id", T::INT, NOT_NULL, |_| int(0);
            "default_object_id", T::INT, NOT_NULL, |s| int($column(s).default);
            "rule_object_id", T::INT, NOT_NULL, |_| int(0);
            "is_sparse", T::BIT, NULL, |_| bit(false);
            "is_column_set", T::BIT, NULL, |_| bit(false);
            "generated_always_type", T::TINYINT, NULL, |_| tiny(0);
            "generated_always_type_desc", DESC, NULL, |_| text("NOT_APPLICABLE");
            "encryption_type", T::INT, NULL, |_| Value::Null;
            "encryption_type_desc", T::nvarchar(64), NULL, |_| Value::Null;
            "encryption_algorithm_name", T::SYSNAME, NULL, |_| Value::Null;
            "column_encryption_key_id", T::INT, NULL, |_| Value::Null;
            "column_encryption_key_database_name", T::SYSNAME, NULL, |_| Value::Null;
            "is_hidden", T::BIT, NULL, |_| bit(false);
            "is_masked", T::BIT, NOT_NULL, |_| bit(false);
            "graph_type", T::INT, NULL, |_| Value::Null;
            "graph_type_desc", DESC, NULL, |_| Value::Null;
            "is_data_deletion_filter_column", T::BIT, NULL, |_| bit(false);
            "ledger_view_column_type", T::INT, NULL, |_| Value::Null;
            "ledger_view_column_type_desc", DESC, NULL, |_| Value::Null;
            "is_dropped_ledger_column", T::BIT, NULL, |_| bit(false);
            $($rest)*
        }
    };
}

fn itself(s: &Source) -> &Source {
    s
}

column_columns! { Source, itself; }

fn sources(cx: &Context) -> SqlResult<Vec<Source>> {
    let mut all = Vec::new();
    for t in tables(cx, true)? {
        all.extend(t.columns.iter().map(|c| Source::of(&t, c)));
    }
    for module in super::objects::snapshot(cx)?.modules.values() {
        let columns = (1..).zip(&module.columns);
        all.extend(
            columns.map(|(id, c)| Source::plain(module.id.0, id, &c.name, c.ty, c.nullable)),
        );
    }
    Ok(all)
}

/// The columns of the system's views: those that are declared, and those that are T-SQL texts.
fn declared(cx: &Context) -> Vec<Source> {
    let of_view = |table, id, name: &str, ty: T, nullable| Source {
        user_type: match ty {
            T::SYSNAME => 256,
            _ => i32::from(ty.id.xtype()),
        },
        ..Source::plain(table, id, name, ty, nullable)
    };
    let mut all = Vec::new();
    let texts = cx.instance.system_columns.columns.get();
    for (table, id, name, ty, nullable) in texts.into_iter().flatten() {
        all.push(of_view(*table, *id, name, *ty, *nullable));
    }
    for Listed {
        id: table, view, ..
    } in every()
    {
        let columns = (1..).zip(view.columns);
        all.extend(
            columns.map(|(id, (name, ty, nullable))| of_view(table, id, name, *ty, *nullable)),
        );
    }
    all
}

pub const COLUMNS_VIEW: View = View::new("columns", VISIBLE, COLUMNS, |cx, _| {
    Ok(sources(cx)?.iter().map(row).collect())
});

pub const ALL_COLUMNS: View = View::new("all_columns", VISIBLE, COLUMNS, |cx, _| {
    let mut all = sources(cx)?;
    all.extend(declared(cx));
    Ok(all.iter().map(row).collect())
});

pub const SYSTEM_COLUMNS: View = View::new("system_columns", FACTS, COLUMNS, |cx, _| {
    Ok(declared(cx).iter().map(row).collect())
});

pub use identity::IDENTITY_COLUMNS;

/// The columns of `sys.columns`, then the identity's own.
mod identity {
    use super::*;

    pub struct Identified {
        column: Source,
        identity: Identity,
        last: Option<i64>,
    }

    fn column(s: &Identified) -> &Source {
        &s.column
    }

    /// A number of the column's type in a `sql_variant`.
    fn variant(s: &Identified, n: i64) -> Value {
        let ty = s.column.ty;
        let plain = match ty.id {
            TypeId::TinyInt => Value::TinyInt(n as u8),
            TypeId::SmallInt => Value::SmallInt(n as i16),
            TypeId::Int => Value::Int(n as i32),
            _ => return Value::Variant(Box::new((T::BIGINT, Value::BigInt(n)))),
        };
        Value::Variant(Box::new((ty, plain)))
    }

    column_columns! { Identified, column;
        "seed_value", T::VARIANT, NULL, |s| variant(s, s.identity.seed);
        "increment_value", T::VARIANT, NULL, |s| variant(s, s.identity.increment);
        "last_value", T::VARIANT, NULL, |s| s.last.map_or(Value::Null, |n| variant(s, n));
        "is_not_for_replication", T::BIT, NULL, |_| bit(false);
    }

    pub const IDENTITY_COLUMNS: View = View::new("identity_columns", VISIBLE, COLUMNS, |cx, _| {
        let Some(db) = cx.instance.databases.find(&cx.database) else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for t in tables(cx, false)? {
            for c in &t.columns {
                let Some(identity) = c.identity else {
                    continue;
                };
                let last = db.catalog.peek_identity(&t)?;
                rows.push(row(&Identified {
                    column: Source::of(&t, c),
                    identity,
                    last,
                }));
            }
        }
        Ok(rows)
    });
}

pub use computed::COMPUTED_COLUMNS;

/// The columns of `sys.columns`, then the expression.
mod computed {
    use duramen_catalog::ComputedDef;

    use super::*;

    pub struct Made {
        column: Source,
        computed: ComputedDef,
        /// Its expression may be seen.
        defined: bool,
    }

    fn column(s: &Made) -> &Source {
        &s.column
    }

    column_columns! { Made, column;
        "definition", T::NVARCHAR_MAX, NULL, |s| {
            text_or_null(Some(&*s.computed.text).filter(|_| s.defined))
        };
        "uses_database_collation", T::BIT, NOT_NULL, |_| bit(true);
        "is_persisted", T::BIT, NOT_NULL, |s| bit(s.computed.persisted);
    }

    pub const COMPUTED_COLUMNS: View = View::new("computed_columns", VISIBLE, COLUMNS, |cx, _| {
        let mut rows = Vec::new();
        let visible = cx.visible()?;
        for t in visible.snapshot.tables.values() {
            let defined = visible.text(t.id, "").is_some();
            for c in &t.columns {
                if let Some(computed) = c.computed.clone() {
                    let column = Source::of(t, c);
                    rows.push(row(&Made {
                        column,
                        computed,
                        defined,
                    }));
                }
            }
        }
        Ok(rows)
    });
}

pub use types::{TABLE_TYPES, TYPES, type_by_id, type_by_name};

mod types {
    use duramen_catalog::{ObjectDef, ObjectKind, TypeDef};

    use super::*;

    /// Name, type id, user type id, length in bytes, precision, scale.
    pub struct Type(&'static str, u8, i32, i16, u8, u8);

    /// A type of the system, or an alias.
    pub struct Row {
        name: String,
        system: u8,
        id: i32,
        schema: i32,
        length: i16,
        precision: u8,
        scale: u8,
        collation: Option<&'static str>,
        nullable: bool,
        user: bool,
        /// The object that a table type is.
        table: Option<i32>,
    }

    const ALL: &[Type] = &[
        Type("image", 34, 34, 16, 0, 0),
        Type("text", 35, 35, 16, 0, 0),
        Type("uniqueidentifier", 36, 36, 16, 0, 0),
        Type("date", 40, 40, 3, 10, 0),
        Type("time", 41, 41, 5, 16, 7),
        Type("datetime2", 42, 42, 8, 27, 7),
        Type("datetimeoffset", 43, 43, 10, 34, 7),
        Type("tinyint", 48, 48, 1, 3, 0),
        Type("smallint", 52, 52, 2, 5, 0),
        Type("int", 56, 56, 4, 10, 0),
        Type("smalldatetime", 58, 58, 4, 16, 0),
        Type("real", 59, 59, 4, 24, 0),
        Type("money", 60, 60, 8, 19, 4),
        Type("datetime", 61, 61, 8, 23, 3),
        Type("float", 62, 62, 8, 53, 0),
        Type("sql_variant", 98, 98, 8016, 0, 0),
        Type("ntext", 99, 99, 16, 0, 0),
        Type("bit", 104, 104, 1, 1, 0),
        Type("decimal", 106, 106, 17, 38, 38),
        Type("numeric", 108, 108, 17, 38, 38),
        Type("smallmoney", 122, 122, 4, 10, 4),
        Type("bigint", 127, 127, 8, 19, 0),
        Type("varbinary", 165, 165, 8000, 0, 0),
        Type("varchar", 167, 167, 8000, 0, 0),
        Type("binary", 173, 173, 8000, 0, 0),
        Type("char", 175, 175, 8000, 0, 0),
        Type("timestamp", 189, 189, 8, 0, 0),
        Type("nvarchar", 231, 231, 8000, 0, 0),
        Type("nchar", 239, 239, 8000, 0, 0),
        Type("xml", 241, 241, -1, 0, 0),
        Type("sysname", 231, 256, 256, 0, 0),
    ];

    fn is_text(t: &Type) -> bool {
        matches!(t.1, 35 | 99 | 167 | 175 | 231 | 239)
    }

    columns! { Row;
        "name", T::SYSNAME, NOT_NULL, |t| text(&t.name);
        "system_type_id", T::TINYINT, NOT_NULL, |t| tiny(t.system);
        "user_type_id", T::INT, NOT_NULL, |t| int(t.id);
        "schema_id", T::INT, NOT_NULL, |t| int(t.schema);
        "principal_id", T::INT, NULL, |_| Value::Null;
        "max_length", T::SMALLINT, NOT_NULL, |t| small(t.length);
        "precision", T::TINYINT, NOT_NULL, |t| tiny(t.precision);
        "scale", T::TINYINT, NOT_NULL, |t| tiny(t.scale);
        "collation_name", T::SYSNAME, NULL, |t| text_or_null(t.collation);
        "is_nullable", T::BIT, NULL, |t| bit(t.nullable);
        "is_user_defined", T::BIT, NOT_NULL, |t| bit(t.user);
        "is_assembly_type", T::BIT, NOT_NULL, |_| bit(false);
        "default_object_id", T::INT, NOT_NULL, |_| int(0);
        "rule_object_id", T::INT, NOT_NULL, |_| int(0);
        "is_table_type", T::BIT, NOT_NULL, |t| bit(t.table.is_some());
    }

    /// Table types have the type 243, and the id of their object.
    fn of_table_type(o: &ObjectDef) -> Row {
        Row {
            name: duramen_program::table_types::type_name(&o.name).to_owned(),
            system: 243,
            id: o.id.0,
            schema: o.schema,
            length: -1,
            precision: 0,
            scale: 0,
            collation: None,
            nullable: false,
            user: true,
            table: Some(o.id.0),
        }
    }

    fn table_types(cx: &Context) -> SqlResult<Vec<Row>> {
        let snapshot = crate::views::objects::snapshot(cx)?;
        let objects = snapshot.objects.values();
        let types = objects.filter(|o| o.kind == ObjectKind::TABLE_TYPE);
        Ok(types.map(|o| of_table_type(o)).collect())
    }

    pub use of_tables::TABLE_TYPES;

    /// The columns of `sys.types`, then those of table types.
    mod of_tables {
        use super::*;

        columns! { Row;
            "name", T::SYSNAME, NOT_NULL, |t| text(&t.name);
            "system_type_id", T::TINYINT, NOT_NULL, |t| tiny(t.system);
            "user_type_id", T::INT, NOT_NULL, |t| int(t.id);
            "schema_id", T::INT, NOT_NULL, |t| int(t.schema);
            "principal_id", T::INT, NULL, |_| Value::Null;
            "max_length", T::SMALLINT, NOT_NULL, |t| small(t.length);
            "precision", T::TINYINT, NOT_NULL, |t| tiny(t.precision);
            "scale", T::TINYINT, NOT_NULL, |t| tiny(t.scale);
            "collation_name", T::SYSNAME, NULL, |_| Value::Null;
            "is_nullable", T::BIT, NULL, |t| bit(t.nullable);
            "is_user_defined", T::BIT, NOT_NULL, |_| bit(true);
            "is_assembly_type", T::BIT, NOT_NULL, |_| bit(false);
            "default_object_id", T::INT, NOT_NULL, |_| int(0);
            "rule_object_id", T::INT, NOT_NULL, |_| int(0);
            "is_table_type", T::BIT, NOT_NULL, |_| bit(true);
            "type_table_object_id", T::INT, NOT_NULL, |t| int(t.table.unwrap_or(0));
            "is_memory_optimized", T::BIT, NULL, |_| bit(false);
        }

        pub const TABLE_TYPES: View = View::new("table_types", VISIBLE, COLUMNS, |cx, _| {
            Ok(table_types(cx)?.iter().map(row).collect())
        });
    }

    fn of_system(t: &Type) -> Row {
        Row {
            name: t.0.to_owned(),
            system: t.1,
            id: t.2,
            schema: 4,
            length: t.3,
            precision: t.4,
            scale: t.5,
            collation: CollationId::DEFAULT.name().filter(|_| is_text(t)),
            nullable: t.2 != 256,
            user: false,
            table: None,
        }
    }

    fn of_user(t: &TypeDef) -> Row {
        Row {
            name: t.name.clone(),
            system: t.ty.id.xtype(),
            id: t.id,
            schema: t.schema,
            length: t.ty.catalog_length(),
            precision: t.ty.precision,
            scale: t.ty.scale,
            collation: t.ty.collation.name().filter(|_| t.ty.id.is_string()),
            nullable: t.nullable,
            user: true,
            table: None,
        }
    }

    pub const TYPES: View = View::new("types", VISIBLE, COLUMNS, |cx, _| {
        let snapshot = crate::views::objects::snapshot(cx)?;
        let aliases = snapshot.types.values().map(|t| of_user(t));
        Ok(ALL
            .iter()
            .map(of_system)
            .chain(aliases)
            .chain(table_types(cx)?)
            .map(|r| row(&r))
            .collect())
    });

    /// TYPE_ID: the user type id.
    pub fn type_by_name(name: &str) -> Option<i32> {
        ALL.iter()
            .find(|t| t.0.eq_ignore_ascii_case(name))
            .map(|t| t.2)
    }

    /// TYPE_NAME.
    pub fn type_by_id(id: i32) -> Option<&'static str> {
        ALL.iter().find(|t| t.2 == id).map(|t| t.0)
    }
}
