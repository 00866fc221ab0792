//! Table types: `CREATE TYPE ... AS TABLE`, found by name when a program that declares variables or parameters of them is
//! compiled.
//!
//! A table type is kept as the text that made it, in an object of type TT whose name is `TT_` and the type's: types and
//! tables may have the same name.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::ModuleDef;
use duramen_planner::memory::{MemoryTable, MemoryTableDef};
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, ModuleKind, StatementKind};
use duramen_types::{SqlType, Value};

/// A table type as a program knows it.
#[derive(Clone, Debug)]
pub struct TableType {
    /// `schema.name` as created; two tables are of one type when these are the same.
    pub name: String,
    /// Without a name of its own yet.
    pub def: MemoryTableDef,
}

/// Where a compilation finds table types.
pub trait TableTypes {
    fn table_type(&self, name: &ast::ObjectName) -> SqlResult<Option<TableType>>;

    /// What an alias type (`CREATE TYPE ... FROM`) stands for.
    fn alias_type(&self, _name: &ast::ObjectName) -> SqlResult<Option<SqlType>> {
        Ok(None)
    }
}

/// 2716: an alias type has the size that it was made with.
pub fn alias_without_width(
    written: &ast::DataType,
    alias: SqlType,
    nth: usize,
) -> SqlResult<SqlType> {
    if written.args.is_empty() {
        return Ok(alias);
    }
    let schema = written.name.schema().unwrap_or("dbo");
    let full = format!("{schema}.{}", written.name.name());
    let error = SqlError::new(&messages::COLUMN_WIDTH_NOT_ALLOWED, &[&nth, &full]);
    Err(error.with_state(3).at_line(written.name.line as i32))
}

/// For texts that may not name any.
pub struct NoTableTypes;

impl TableTypes for NoTableTypes {
    fn table_type(&self, _: &ast::ObjectName) -> SqlResult<Option<TableType>> {
        Ok(None)
    }
}

/// What the names of objects that keep types begin with.
const PREFIX: &str = "TT_";

/// The name of the object that keeps a type.
pub fn object_name(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The name of the type that an object keeps.
pub fn type_name(object: &str) -> &str {
    object.strip_prefix(PREFIX).unwrap_or(object)
}

/// What a call gives for a table-valued parameter.
#[derive(Clone, Debug)]
pub enum TableArgument {
    /// A table variable of the caller, with the name of its type.
    Variable(Option<String>, Arc<MemoryTable>),
    /// Rows that came with a remote call.
    Rows(Arc<RemoteTable>),
}

/// A table-valued parameter as a client sends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteTable {
    /// Empty: whatever type the parameter has.
    pub type_name: String,
    /// Empty: dbo.
    pub schema: String,
    /// Type by column; `None` for one that takes its default and has no values in the rows. No columns at all is the
    /// NULL table, which is empty.
    pub columns: Vec<Option<SqlType>>,
    pub rows: Vec<Vec<Value>>,
}

impl RemoteTable {
    /// The type's name, to compare with [`TableType::name`].
    pub fn full_name(&self) -> Option<String> {
        let schema = match self.schema.as_str() {
            "" => "dbo",
            schema => schema,
        };
        (!self.type_name.is_empty()).then(|| format!("{schema}.{}", self.type_name).to_lowercase())
    }
}

/// The procedure or function that has a parameter of this table type.
pub fn user_of(snapshot: &duramen_catalog::Snapshot, ty: &ModuleDef) -> Option<String> {
    let own = type_name(&ty.name);
    let schema = snapshot.schema_name(ty.schema);
    let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    let names = |name: &ast::ObjectName| {
        same(name.name(), own) && same(name.schema().unwrap_or("dbo"), schema)
    };
    let takes = |m: &ModuleDef| {
        let options = ParseOptions {
            quoted_identifier: m.quoted_identifier,
        };
        let batch = duramen_tsql::parse_batch(&m.text, &options).ok()?;
        let StatementKind::CreateModule(stmt) = batch.statements.into_iter().next()?.kind else {
            return None;
        };
        let params = match &stmt.kind {
            ModuleKind::Procedure { params, .. }
            | ModuleKind::ScalarFunction { params, .. }
            | ModuleKind::InlineFunction { params, .. }
            | ModuleKind::TableFunction { params, .. } => params.as_slice(),
            _ => return None,
        };
        params.iter().any(|p| names(&p.ty.name)).then_some(())
    };
    let found = snapshot.modules.values().find(|m| takes(m).is_some());
    found.map(|m| m.name.clone())
}
