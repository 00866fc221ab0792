//! Functions that answer from the catalog and from the list of databases and files: OBJECT_ID, COL_LENGTH, FILEPROPERTY...
//!
//! They see what is committed and what the own transaction has defined, and give NULL for whatever is not there.

mod databases;
mod properties;

use std::sync::Arc;

use duramen_access::multipart::parts;
use duramen_access::open_db::OpenDb;
use duramen_base::{ObjectId, SqlResult};
use duramen_catalog::system_tables::system_tables;
use duramen_catalog::{
    ColumnDef, FileEntry, FileKind, ObjectDef, ObjectKind, Snapshot, TableDef, fold,
};
use duramen_core::session_core::SessionCore;
use duramen_program::rights::needs::VISIBLE;
use duramen_program::table_types;
use duramen_query::doc;
use duramen_types::{SqlType, TypeId, Value};

use crate::functions::{Args, Function, function, int, number, text};
use crate::views;

pub(crate) const FUNCTIONS: &[Function] = &[
    function(
        doc(
            "col_length",
            "the bytes of a table's column",
            "COL_LENGTH('sys.objects', 'name')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::SMALLINT,
        col_length,
    )
    .of_ids(),
    function(
        doc(
            "col_name",
            "the name of a table's column by its number",
            "COL_NAME(OBJECT_ID('sys.objects'), 1)",
        ),
        VISIBLE,
        (2, 2),
        SqlType::SYSNAME,
        col_name,
    )
    .of_ids(),
    function(
        doc(
            "columnproperty",
            "a property of a column or parameter",
            "COLUMNPROPERTY(OBJECT_ID('sys.objects'), 'name', 'AllowsNull')",
        ),
        VISIBLE,
        (3, 3),
        SqlType::INT,
        column_property,
    )
    .of_ids(),
    function(
        doc(
            "databaseproperty",
            "a property of a database, as 0 or 1",
            "DATABASEPROPERTY('master', 'IsReadOnly')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::INT,
        databases::property,
    ),
    function(
        doc(
            "databasepropertyex",
            "a property of a database",
            "DATABASEPROPERTYEX('master', 'Status')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::VARIANT,
        databases::property_ex,
    ),
    function(
        doc(
            "file_id",
            "the id of a file of the database, as smallint",
            "FILE_ID('master')",
        ),
        VISIBLE,
        (1, 1),
        SqlType::SMALLINT,
        file_id,
    ),
    function(
        doc(
            "file_idex",
            "the id of a file of the database",
            "FILE_IDEX('master')",
        ),
        VISIBLE,
        (1, 1),
        SqlType::INT,
        file_idex,
    ),
    function(
        doc(
            "file_name",
            "the logical name of a file by its id",
            "FILE_NAME(1)",
        ),
        VISIBLE,
        (1, 1),
        SqlType::SYSNAME,
        file_name,
    )
    .of_ids(),
    function(
        doc(
            "filegroup_id",
            "the id of a filegroup",
            "FILEGROUP_ID('PRIMARY')",
        ),
        VISIBLE,
        (1, 1),
        SqlType::INT,
        properties::filegroup_id,
    ),
    function(
        doc(
            "filegroup_name",
            "the name of a filegroup",
            "FILEGROUP_NAME(1)",
        ),
        VISIBLE,
        (1, 1),
        SqlType::SYSNAME,
        properties::filegroup_name,
    )
    .of_ids(),
    function(
        doc(
            "filegroupproperty",
            "a property of a filegroup",
            "FILEGROUPPROPERTY('PRIMARY', 'IsDefault')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::INT,
        properties::filegroup_property,
    ),
    function(
        doc(
            "fileproperty",
            "a property of a file",
            "FILEPROPERTY('master', 'IsLogFile')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::INT,
        file_property,
    ),
    function(
        doc(
            "ident_current",
            "the last identity value of a table, of whatever session",
            "IDENT_CURRENT('nosuch')",
        ),
        VISIBLE,
        (1, 1),
        SqlType::numeric(38, 0),
        ident_current,
    ),
    function(
        doc(
            "ident_incr",
            "the increment of a table's identity",
            "IDENT_INCR('nosuch')",
        ),
        VISIBLE,
        (1, 1),
        SqlType::numeric(38, 0),
        ident_incr,
    ),
    function(
        doc(
            "ident_seed",
            "the seed of a table's identity",
            "IDENT_SEED('nosuch')",
        ),
        VISIBLE,
        (1, 1),
        SqlType::numeric(38, 0),
        ident_seed,
    ),
    function(
        doc(
            "index_col",
            "the column of an index at a place",
            "INDEX_COL('sys.objects', 1, 1)",
        ),
        VISIBLE,
        (3, 3),
        SqlType::SYSNAME,
        properties::index_col,
    )
    .of_ids(),
    function(
        doc(
            "indexkey_property",
            "a property of a key column",
            "INDEXKEY_PROPERTY(0, 1, 1, 'IsDescending')",
        ),
        VISIBLE,
        (4, 4),
        SqlType::INT,
        properties::index_key_property,
    ),
    function(
        doc(
            "indexproperty",
            "a property of an index",
            "INDEXPROPERTY(0, 'none', 'IsUnique')",
        ),
        VISIBLE,
        (3, 3),
        SqlType::INT,
        properties::index_property,
    )
    .of_ids(),
    function(
        doc(
            "object_definition",
            "the text of a module",
            "LEFT(OBJECT_DEFINITION(OBJECT_ID('sys.sp_helptext')), 6)",
        ),
        VISIBLE,
        (1, 1),
        SqlType::NVARCHAR_MAX,
        properties::object_definition,
    )
    .of_ids(),
    function(
        doc(
            "object_id",
            "the id of an object by its name",
            "OBJECT_ID('nosuch')",
        ),
        VISIBLE,
        (1, 2),
        SqlType::INT,
        object_id,
    ),
    function(
        doc(
            "object_name",
            "the name of an object by its id",
            "OBJECT_NAME(OBJECT_ID('sys.objects'))",
        ),
        VISIBLE,
        (1, 2),
        SqlType::SYSNAME,
        object_name,
    )
    .of_ids(),
    function(
        doc(
            "object_schema_name",
            "the schema of an object by its id",
            "OBJECT_SCHEMA_NAME(OBJECT_ID('sys.objects'))",
        ),
        VISIBLE,
        (1, 2),
        SqlType::SYSNAME,
        object_schema_name,
    )
    .of_ids(),
    function(
        doc(
            "objectproperty",
            "a property of an object, as int",
            "OBJECTPROPERTY(OBJECT_ID('sys.objects'), 'IsView')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::INT,
        properties::object_property,
    )
    .of_ids(),
    function(
        doc(
            "objectpropertyex",
            "a property of an object",
            "OBJECTPROPERTYEX(OBJECT_ID('sys.objects'), 'BaseType')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::VARIANT,
        properties::object_property_ex,
    )
    .of_ids(),
    function(
        doc("schema_id", "the id of a schema", "SCHEMA_ID('dbo')"),
        VISIBLE,
        (0, 1),
        SqlType::INT,
        schema_id,
    ),
    function(
        doc("schema_name", "the name of a schema", "SCHEMA_NAME(1)"),
        VISIBLE,
        (0, 1),
        SqlType::SYSNAME,
        schema_name,
    )
    .of_ids(),
    function(
        doc(
            "stats_date",
            "when statistics were made",
            "STATS_DATE(0, 1)",
        ),
        VISIBLE,
        (2, 2),
        SqlType::DATETIME,
        properties::stats_date,
    )
    .of_ids(),
    function(
        doc("type_id", "the id of a type", "TYPE_ID('int')"),
        VISIBLE,
        (1, 1),
        SqlType::INT,
        type_id,
    ),
    function(
        doc("type_name", "the name of a type", "TYPE_NAME(56)"),
        VISIBLE,
        (1, 1),
        SqlType::SYSNAME,
        type_name,
    )
    .of_ids(),
    function(
        doc(
            "typeproperty",
            "a property of a type",
            "TYPEPROPERTY('decimal', 'Precision')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::INT,
        properties::type_property,
    ),
];

/// The database of a name or, without one, the current database.
fn database(s: &SessionCore, name: Option<&str>) -> Option<Arc<OpenDb>> {
    let name = name.filter(|n| !n.is_empty()).unwrap_or(&s.database);
    s.instance.databases.find(name)
}

fn current(s: &SessionCore) -> SqlResult<Option<(Arc<OpenDb>, Arc<Snapshot>)>> {
    match database(s, None) {
        Some(db) => {
            let snapshot = s.visible(&db)?.snapshot.clone();
            Ok(Some((db, snapshot)))
        }
        None => Ok(None),
    }
}

/// Whether an object of that name is there: HAS_PERMS_BY_NAME.
pub(crate) fn object_exists(s: &SessionCore, name: &str) -> SqlResult<bool> {
    Ok(lookup(s, name)?.is_some())
}

/// The object of a name: id and type.
fn lookup(s: &SessionCore, name: &str) -> SqlResult<Option<(i32, String)>> {
    let Some(parts) = parts(name) else {
        return Ok(None);
    };
    let part = |i: usize| parts.get(i).map(String::as_str);
    let schema = part(1).filter(|s| !s.is_empty());
    let object = part(0).unwrap_or_default();
    // A local temporary table has another name in tempdb; another session's is for administrators.
    let object = match s.temporary_name(object) {
        Some(own) => own,
        None if object.starts_with('#') && !object.starts_with("##") && !s.who.sysadmin => {
            return Ok(None);
        }
        None => object,
    };
    if schema.is_none_or(|s| s.eq_ignore_ascii_case("sys")) {
        let base = system_tables().find(|t| t.name.eq_ignore_ascii_case(object));
        if let Some(t) = base {
            return Ok(Some((t.id, "S ".to_owned())));
        }
        let named = schema.is_some()
            || object
                .get(..3)
                .is_some_and(|p| p.eq_ignore_ascii_case("fn_"));
        if let Some(listed) = views::by_name(object).filter(|_| named) {
            let kind = if listed.is_function { "IF" } else { "V " };
            return Ok(Some((listed.id, kind.to_owned())));
        }
    }
    if let Some(m) = duramen_program::resource::object(schema, object) {
        return Ok(Some((m.id.0, m.kind.as_str().to_owned())));
    }
    if let Some(c) = duramen_program::coded::find(schema, object) {
        return Ok(Some((c.id(), c.kind.as_str().to_owned())));
    }
    let Some(db) = database(s, part(2)) else {
        return Ok(None);
    };
    let snapshot = s.visible(&db)?.snapshot.clone();
    let found = snapshot
        .schema(schema.unwrap_or("dbo"))
        .and_then(|schema| snapshot.find(schema.id, object));
    Ok(found.map(|o| (o.id.0, o.kind.as_str().to_owned())))
}

fn object_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let Some(name) = args.text(0) else {
        return Ok(Value::Null);
    };
    let kind = args.text(1);
    let fits = |found: &str| {
        kind.as_ref()
            .is_none_or(|k| k.trim().eq_ignore_ascii_case(found.trim()))
    };
    let found = lookup(s, &name)?;
    int(found.filter(|(_, k)| fits(k)).map(|(id, _)| id))
}

/// The database that argument `i` gives by its id, or the current one.
fn database_of(s: &SessionCore, args: &Args<'_>, i: usize) -> Option<Arc<OpenDb>> {
    match args.0.get(i) {
        None => database(s, None),
        Some(_) => {
            let id = u16::try_from(args.int(i)?).ok()?;
            s.instance.databases.get(duramen_base::DbId(id))
        }
    }
}

/// Name and schema of an object id.
fn named(s: &SessionCore, args: &Args<'_>) -> SqlResult<Option<(String, String)>> {
    let (Some(id), Some(db)) = (args.int(0), database_of(s, args, 1)) else {
        return Ok(None);
    };
    if let Some(view) = views::by_id(id).map(|l| l.view) {
        return Ok(Some((view.name.to_owned(), "sys".to_owned())));
    }
    if let Some(m) = duramen_program::resource::by_id(id) {
        let schema = duramen_program::resource::schema_name(m);
        return Ok(Some((m.name.clone(), schema.to_owned())));
    }
    if let Some(c) = duramen_program::coded::by_id(id) {
        return Ok(Some((c.name.to_owned(), "sys".to_owned())));
    }
    let snapshot = s.visible(&db)?.snapshot.clone();
    if let Some(o) = snapshot.objects.get(&ObjectId(id)) {
        let schema = snapshot.schemas.get(&o.schema);
        return Ok(Some((
            o.name.clone(),
            schema.map_or_else(String::new, |s| s.name.clone()),
        )));
    }
    let base = system_tables().find(|t| t.id == id);
    Ok(base.map(|t| (t.name.to_owned(), "sys".to_owned())))
}

fn object_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    text(named(s, args)?.as_ref().map(|n| n.0.as_str()))
}

fn object_schema_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    text(named(s, args)?.as_ref().map(|n| n.1.as_str()))
}

fn schema_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = match args.0.first() {
        None => Some("dbo".to_owned()),
        Some(_) => args.name(0),
    };
    let (Some(name), Some((_, snapshot))) = (name, current(s)?) else {
        return Ok(Value::Null);
    };
    int(snapshot.schema(&name).map(|s| s.id))
}

fn schema_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    if args.0.is_empty() {
        return text(Some("dbo"));
    }
    let found = current(s)?.zip(args.int(0));
    let name = found.and_then(|((_, snapshot), id)| snapshot.schemas.get(&id).cloned());
    text(name.as_ref().map(|s| s.name.as_str()))
}

/// The table of that name, with its database.
pub(crate) fn stored_table(
    s: &SessionCore,
    name: &str,
) -> SqlResult<Option<(Arc<OpenDb>, Arc<TableDef>)>> {
    let mut named = name.to_owned();
    let of = parts(name).unwrap_or_default();
    // One of the session's own.
    if of.len() < 3 && of.first().is_some_and(|p| p.starts_with('#')) {
        let dots = if of.len() == 1 { ".." } else { "." };
        named = format!("tempdb{dots}{name}");
    }
    let of = parts(&named).unwrap_or_default();
    let db = database(s, of.get(2).map(String::as_str));
    Ok(db.zip(table(s, &named)?))
}

fn table(s: &SessionCore, name: &str) -> SqlResult<Option<Arc<TableDef>>> {
    let parts = parts(name).unwrap_or_default();
    let id = lookup(s, name)?;
    let db = database(s, parts.get(2).map(String::as_str));
    match (id, db) {
        (Some((id, _)), Some(db)) => Ok(s.visible(&db)?.snapshot.table(ObjectId(id)).cloned()),
        _ => Ok(None),
    }
}

fn col_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(id), Some(column), Some((_, snapshot))) = (args.int(0), args.int(1), current(s)?)
    else {
        return Ok(Value::Null);
    };
    if let Some(view) = views::by_id(id).map(|l| l.view) {
        let at = usize::try_from(column - 1).ok();
        return text(at.and_then(|i| view.columns.get(i)).map(|c| c.0));
    }
    let table = snapshot.table(ObjectId(id));
    let found = table.and_then(|t| t.columns.iter().find(|c| c.id == column));
    text(found.map(|c| c.name.as_str()))
}

fn col_length(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(name), Some(column)) = (args.text(0), args.text(1)) else {
        return Ok(Value::Null);
    };
    let length = |ty: &SqlType| Value::SmallInt(ty.catalog_length());
    if let Some((id, _)) = lookup(s, &name)?
        && let Some(view) = views::by_id(id).map(|l| l.view)
    {
        let found = view
            .columns
            .iter()
            .find(|c| c.0.eq_ignore_ascii_case(&column));
        return Ok(found.map_or(Value::Null, |c| length(&c.1)));
    }
    let found = table(s, &name)?.and_then(|t| Some(t.columns[t.column(&column)?].ty));
    Ok(found.map_or(Value::Null, |ty| length(&ty)))
}

/// COLUMNPROPERTY(id, column, property) of tables.
fn column_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(id), Some(column), Some(property), Some((_, snapshot))) =
        (args.int(0), args.text(1), args.text(2), current(s)?)
    else {
        return Ok(Value::Null);
    };
    let table = snapshot.table(ObjectId(id));
    let Some(c) = table.and_then(|t| t.columns.get(t.column(&column)?)) else {
        return Ok(Value::Null);
    };
    let value = |c: &ColumnDef| match property.to_ascii_lowercase().as_str() {
        "columnid" => Some(c.id),
        "allowsnull" => Some(i32::from(c.nullable)),
        "isidentity" => Some(i32::from(c.identity.is_some())),
        "precision" if c.ty.id.is_string() || c.ty.id.is_binary() => {
            Some(c.ty.char_capacity().map_or(-1, |n| n as i32))
        }
        "precision" => Some(i32::from(c.ty.precision)),
        "scale" => Some(i32::from(c.ty.scale)),
        "charmaxlen" if c.ty.id.is_string() || c.ty.id.is_binary() => {
            Some(c.ty.char_capacity().map_or(-1, |n| n as i32))
        }
        "usesansitrim" if c.ty.id.is_string() || c.ty.id.is_binary() => Some(1),
        "iscomputed" => Some(i32::from(c.computed.is_some())),
        "isrowguidcol" => Some(i32::from(c.rowguid)),
        "isidnotforrepl" => Some(0),
        "isindexable" => Some(i32::from(!c.ty.is_max() && c.ty.id != TypeId::Xml)),
        "fulltexttypecolumn"
        | "generatedalwaystype"
        | "iscolumnset"
        | "iscursortype"
        | "isdeterministic"
        | "isfulltextindexed"
        | "ishidden"
        | "isoutparam"
        | "isprecise"
        | "issparse"
        | "issystemverified"
        | "isxmlindexable"
        | "statisticalsemantics" => Some(0),
        _ => None,
    };
    int(value(c))
}

fn type_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(0).and_then(|n| parts(&n)).unwrap_or_default();
    let system = name.first().and_then(|n| views::type_by_name(n));
    if system.is_some() {
        return int(system);
    }
    let Some(db) = database(s, None) else {
        return int(None);
    };
    let snapshot = s.visible(&db)?.snapshot.clone();
    let schema = name.get(1).map_or("dbo", |n| n.as_str());
    let schema = snapshot.schema(schema);
    let (Some(schema), Some(name)) = (schema, name.first()) else {
        return int(None);
    };
    let alias = snapshot.find_type(schema.id, name).map(|t| t.id);
    int(alias.or_else(|| {
        let object = snapshot.find(schema.id, &table_types::object_name(name));
        object.filter(|o| is_table_type(o)).map(|o| o.id.0)
    }))
}

/// A table type has the id of the object that keeps it.
fn is_table_type(object: &ObjectDef) -> bool {
    object.kind == ObjectKind::TABLE_TYPE
}

fn type_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let Some(id) = args.int(0) else {
        return text(None);
    };
    if let Some(system) = views::type_by_id(id) {
        return text(Some(system));
    }
    let Some(db) = database(s, None) else {
        return text(None);
    };
    let snapshot = s.visible(&db)?.snapshot.clone();
    let alias = snapshot.types.get(&id).map(|t| t.name.as_str());
    text(alias.or_else(|| {
        let object = snapshot.objects.get(&ObjectId(id));
        let object = object.filter(|o| is_table_type(o));
        object.map(|o| table_types::type_name(&o.name))
    }))
}

/// The file of the current database that a property is asked of.
fn file(s: &SessionCore, matches: impl Fn(&FileEntry) -> bool) -> Option<(Arc<OpenDb>, FileEntry)> {
    let db = database(s, None)?;
    let file = db.entry.read().files.iter().find(|f| matches(f)).cloned();
    file.map(|f| (db, f))
}

fn by_name(s: &SessionCore, args: &Args<'_>) -> Option<(Arc<OpenDb>, FileEntry)> {
    let name = fold(&args.text(0)?);
    file(s, |f| fold(&f.logical_name) == name)
}

fn file_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let found = by_name(s, args).map(|(_, f)| f.file_id);
    Ok(found.map_or(Value::Null, |id| Value::SmallInt(id as i16)))
}

fn file_idex(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    int(by_name(s, args).map(|(_, f)| i32::from(f.file_id)))
}

fn file_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let id = args.int(0);
    let found = file(s, |f| Some(i32::from(f.file_id)) == id);
    text(found.as_ref().map(|(_, f)| f.logical_name.as_str()))
}

fn file_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some((db, f)), Some(property)) = (by_name(s, args), args.text(1)) else {
        return Ok(Value::Null);
    };
    let log = f.kind == FileKind::Log;
    int(match property.to_ascii_lowercase().as_str() {
        "isreadonly" => Some(0),
        "isprimaryfile" => Some(i32::from(f.file_id == 1)),
        "islogfile" => Some(i32::from(log)),
        "spaceused" if log => {
            let active = db.db.log().map(|l| l.vlfs()).unwrap_or_default();
            let bytes: u64 = active
                .iter()
                .filter(|v| v.status == 2 && v.file_id.0 == f.file_id)
                .map(|v| v.size)
                .sum();
            Some((bytes / 8192) as i32)
        }
        "spaceused" => {
            let files = db.db.files();
            let info = files.iter().find(|i| i.spec.file_id == f.file_id);
            info.map(|i| i.size.saturating_sub(i.free_extents * 8) as i32)
        }
        _ => None,
    })
}

fn identity(s: &SessionCore, args: &Args<'_>) -> SqlResult<Option<(Arc<TableDef>, i64, i64)>> {
    let Some(name) = args.text(0) else {
        return Ok(None);
    };
    let table = table(s, &name)?;
    Ok(table.and_then(|t| {
        let i = t.columns[t.identity_column()?].identity?;
        Some((t, i.seed, i.increment))
    }))
}

fn ident_seed(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    Ok(number(identity(s, args)?.map(|i| i.1)))
}

fn ident_incr(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    Ok(number(identity(s, args)?.map(|i| i.2)))
}

/// The value given out last, whoever asked for it; the seed before the first.
fn ident_current(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some((table, seed, _)), Some(name)) = (identity(s, args)?, args.text(0)) else {
        return Ok(Value::Null);
    };
    let parts = parts(&name).unwrap_or_default();
    let Some(db) = database(s, parts.get(2).map(String::as_str)) else {
        return Ok(Value::Null);
    };
    Ok(number(Some(
        db.catalog.peek_identity(&table)?.unwrap_or(seed),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart_at_their_dots() {
        let of = |s: &str| parts(s).map(|p| p.join("|"));
        assert_eq!(of("t").as_deref(), Some("t"));
        assert_eq!(of("a.b.c").as_deref(), Some("c|b|a"));
        assert_eq!(of("db..t").as_deref(), Some("t||db"));
        assert_eq!(of("[a.b].[c]]d]").as_deref(), Some("c]d|a.b"));
        assert_eq!(of("\"x y\".z").as_deref(), Some("z|x y"));
        assert_eq!(of("[open"), None);
        assert_eq!(of("[a]b"), None);
        assert_eq!(of("a.b.c.d"), None);
    }
}
