//! The base tables of a new database: pages, and the rows that describe the base tables themselves.
//!
//! Order matters: every `sysallocunits` row is written right after the pages of its unit exist, so that storage finds
//! it when a root moves; and sysallocunits comes first.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{CollationId, DateTime, SqlType, TypeId, Value};

use crate::def::{ObjectKind, SCHEMA_SYS, TableDef};
use crate::describe;
use crate::rows::{Base, Fields, base_table, id};
use crate::system_tables::system_tables;

/// Fixed principals and their schemas: id, name, type.
const PRINCIPALS: &[(i32, &str, &str)] = &[
    (0, "public", "R"),
    (1, "dbo", "S"),
    (2, "guest", "S"),
    (3, "INFORMATION_SCHEMA", "S"),
    (4, "sys", "S"),
    (16384, "db_owner", "R"),
    (16385, "db_accessadmin", "R"),
    (16386, "db_securityadmin", "R"),
    (16387, "db_ddladmin", "R"),
    (16389, "db_backupoperator", "R"),
    (16390, "db_datareader", "R"),
    (16391, "db_datawriter", "R"),
    (16392, "db_denydatareader", "R"),
    (16393, "db_denydatawriter", "R"),
];

/// `sysclsobjs.class` of filegroups, data spaces and schemas.
pub(crate) const CLASS_FILEGROUP: i64 = 5;
pub(crate) const CLASS_DATASPACE: i64 = 31;
pub(crate) const CLASS_SCHEMA: i64 = 50;

/// Fills a database that has been created and has no pages of its own yet. `transaction` runs one part of it in a transaction
/// of its own: no part needs more of the log than the description of the widest base table.
pub(crate) fn bootstrap(
    now: DateTime,
    transaction: impl Fn(&dyn Fn(&Base<'_>) -> SqlResult<()>) -> SqlResult<()>,
) -> SqlResult<()> {
    transaction(&pages)?;
    for table in system_tables() {
        if let Some(def) = base_table(table.id) {
            transaction(&|base| describe_table(base, def, now))?;
        }
    }
    transaction(&|base| {
        principals(base, now)?;
        types(base, now)?;
        filegroup(base, now)
    })
}

/// The base tables' pages, and the rows that say where they are.
fn pages(base: &Base<'_>) -> SqlResult<()> {
    for table in id::STORED {
        let def = stored(*table)?;
        let mut rowsets = vec![&def.data];
        rowsets.extend(def.nonclustered().map(|i| &i.rowset));
        for rowset in rowsets {
            let roots = base.db.create_storage(base.tx, rowset)?;
            if *table == id::ALLOCUNITS && rowset.index_id == 1 {
                base.db.set_boot_first_sysallocunits(base.tx, roots.first)?;
            } else if *table == id::ALLOCUNITS {
                // Both rowsets of sysallocunits exist now: their rows can go in, index entries and all.
                describe::allocation_rows(base, &def.data)?;
                describe::allocation_rows(base, rowset)?;
            } else {
                describe::allocation_rows(base, rowset)?;
            }
        }
    }
    Ok(())
}

fn filegroup(base: &Base<'_>, now: DateTime) -> SqlResult<()> {
    for (class, kind) in [(CLASS_FILEGROUP, ""), (CLASS_DATASPACE, "FG")] {
        base.insert(
            Fields::new(id::CLSOBJS)?
                .int("class", class)
                .int("id", 1)
                .text("name", "PRIMARY")
                .int("status", 1)
                .set("type", Value::varchar(kind))
                .set("created", Value::DateTime(now))
                .set("modified", Value::DateTime(now)),
        )?;
    }
    base.insert(
        Fields::new(id::PHFG)?
            .int("dbfragid", 1)
            .int("phfgid", 1)
            .int("fgid", 1)
            .set("type", Value::varchar("FG"))
            .text("name", "PRIMARY"),
    )
}

fn stored(table: i32) -> SqlResult<&'static Arc<TableDef>> {
    base_table(table)
        .ok_or_else(|| SqlError::new(&messages::INVALID_OBJECT_NAME, &[&format!("sys.{table}")]))
}

/// The rows that describe a base table, but for those of sysallocunits.
fn describe_table(base: &Base<'_>, def: &TableDef, now: DateTime) -> SqlResult<()> {
    object_row(base, def, SCHEMA_SYS, now)?;
    for c in &def.columns {
        base.insert(column_row(def.id.0, c.id, &c.name, &c.ty, c.nullable)?)?;
    }
    let data_ids = describe::data_column_ids(def);
    describe::placement_rows(base, &def.data, &data_ids)?;
    if def.is_heap() {
        describe::heap_row(base, &def.data)?;
    }
    for index in &def.indexes {
        describe::index_rows(base, def, index)?;
        if !index.clustered {
            let ids = describe::index_column_ids(&index.sources);
            describe::placement_rows(base, &index.rowset, &ids)?;
        }
    }
    Ok(())
}

/// The `sysschobjs` row of a table.
pub(crate) fn object_row(
    base: &Base<'_>,
    def: &TableDef,
    schema: i32,
    now: DateTime,
) -> SqlResult<()> {
    let system = def.kind == ObjectKind::SYSTEM_TABLE;
    base.insert(
        Fields::new(id::SCHOBJS)?
            .int("id", i64::from(def.id.0))
            .text("name", &def.name)
            .int("nsid", i64::from(schema))
            .int("status", if system { 917_505 } else { 917_504 })
            .set("type", Value::varchar(def.kind.as_str()))
            .int("pclass", 1)
            .int("intprop", def.columns.len() as i64)
            .set("created", Value::DateTime(now))
            .set("modified", Value::DateTime(now)),
    )
}

/// `syscolpars.status` bits.
pub(crate) const COLUMN_NOT_NULL: i64 = 1;
pub(crate) const COLUMN_ANSI_PADDED: i64 = 2;
pub(crate) const COLUMN_IDENTITY: i64 = 4;
pub(crate) const COLUMN_ROWGUID: i64 = 8;
pub(crate) const COLUMN_COMPUTED: i64 = 16;
/// *Assumed*: which bit real files use is not public.
pub(crate) const COLUMN_PERSISTED: i64 = 0x80;

/// The `syscolpars` row of a column.
pub(crate) fn column_row(
    object: i32,
    column: i32,
    name: &str,
    ty: &SqlType,
    nullable: bool,
) -> SqlResult<Fields> {
    let mut status = 0;
    if !nullable {
        status |= COLUMN_NOT_NULL;
    }
    if ty.id.is_string() || ty.id.is_binary() {
        status |= COLUMN_ANSI_PADDED;
    }
    let length = i64::from(ty.catalog_length());
    Ok(Fields::new(id::COLPARS)?
        .int("id", i64::from(object))
        .int("colid", i64::from(column))
        .text("name", name)
        .int("xtype", i64::from(ty.id.xtype()))
        .int("utype", i64::from(ty.id.xtype()))
        .int("length", length)
        .int("prec", i64::from(ty.precision))
        .int("scale", i64::from(ty.scale))
        .int("collationid", i64::from(ty.collation.0 as i32))
        .int("status", status)
        .int("maxinrow", length))
}

fn principals(base: &Base<'_>, now: DateTime) -> SqlResult<()> {
    for (principal, name, kind) in PRINCIPALS {
        base.insert(
            Fields::new(id::OWNERS)?
                .int("id", i64::from(*principal))
                .text("name", name)
                .set("type", Value::varchar(kind))
                .text("dfltsch", if *principal == 1 { "dbo" } else { "" })
                .set("created", Value::DateTime(now))
                .set("modified", Value::DateTime(now)),
        )?;
        if *principal == 0 {
            continue;
        }
        base.insert(
            Fields::new(id::CLSOBJS)?
                .int("class", CLASS_SCHEMA)
                .int("id", i64::from(*principal))
                .text("name", name)
                .set("created", Value::DateTime(now))
                .set("modified", Value::DateTime(now)),
        )?;
    }
    Ok(())
}

/// The built-in types, with the widest facets each can have.
fn types(base: &Base<'_>, now: DateTime) -> SqlResult<()> {
    for t in TypeId::ALL {
        let (length, precision, scale) = facets(t);
        let collated = t.is_char() || t.is_nchar();
        if t == TypeId::Udt {
            continue;
        }
        type_row(
            base,
            i64::from(t.xtype()),
            t.name(),
            t,
            (length, precision, scale),
            collated,
            now,
        )?;
    }
    type_row(
        base,
        256,
        "sysname",
        TypeId::NVarChar,
        (256, 0, 0),
        true,
        now,
    )
}

fn type_row(
    base: &Base<'_>,
    type_id: i64,
    name: &str,
    t: TypeId,
    (length, precision, scale): (i64, i64, i64),
    collated: bool,
    now: DateTime,
) -> SqlResult<()> {
    let collation = if collated { CollationId::DEFAULT.0 } else { 0 };
    let not_null = t == TypeId::RowVersion || type_id == 256;
    base.insert(
        Fields::new(id::SCALARTYPES)?
            .int("id", type_id)
            .int("schid", i64::from(SCHEMA_SYS))
            .text("name", name)
            .int("xtype", i64::from(t.xtype()))
            .int("length", length)
            .int("prec", precision)
            .int("scale", scale)
            .int("collationid", i64::from(collation as i32))
            .int("status", i64::from(not_null))
            .set("created", Value::DateTime(now))
            .set("modified", Value::DateTime(now)),
    )
}

fn facets(t: TypeId) -> (i64, i64, i64) {
    let of = |ty: SqlType| {
        (
            i64::from(ty.catalog_length()),
            i64::from(ty.precision),
            i64::from(ty.scale),
        )
    };
    match t {
        TypeId::Image | TypeId::Text | TypeId::NText => (16, 0, 0),
        TypeId::UniqueIdentifier => (16, 0, 0),
        TypeId::Date => of(SqlType::DATE),
        TypeId::Time => of(SqlType::time(7)),
        TypeId::DateTime2 => of(SqlType::datetime2(7)),
        TypeId::DateTimeOffset => of(SqlType::datetimeoffset(7)),
        TypeId::TinyInt => of(SqlType::TINYINT),
        TypeId::SmallInt => of(SqlType::SMALLINT),
        TypeId::Int => of(SqlType::INT),
        TypeId::SmallDateTime => of(SqlType::SMALLDATETIME),
        TypeId::Real => of(SqlType::REAL),
        TypeId::Money => of(SqlType::MONEY),
        TypeId::DateTime => of(SqlType::DATETIME),
        TypeId::Float => of(SqlType::FLOAT),
        TypeId::SqlVariant => (8016, 0, 0),
        TypeId::Bit => of(SqlType::BIT),
        TypeId::Decimal | TypeId::Numeric => (17, 38, 38),
        TypeId::SmallMoney => of(SqlType::SMALLMONEY),
        TypeId::BigInt => of(SqlType::BIGINT),
        TypeId::RowVersion => (8, 0, 0),
        TypeId::Xml | TypeId::Udt => (-1, 0, 0),
        TypeId::VarBinary
        | TypeId::VarChar
        | TypeId::Binary
        | TypeId::Char
        | TypeId::NVarChar
        | TypeId::NChar => (8000, 0, 0),
    }
}
