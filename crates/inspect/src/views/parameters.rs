//! `sys.parameters`: what procedures and functions take and give, read from their texts.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::ModuleDef;
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_program::column::*;
use duramen_program::{coded, resource};
use duramen_tsql::ast::{self, ModuleKind, StatementKind};
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::snapshot;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1046, &PARAMETERS),
    (-1047, &ALL_PARAMETERS),
    (-1048, &SYSTEM_PARAMETERS),
];

pub struct Source {
    module: i32,
    /// 0: what a scalar function returns.
    id: i32,
    name: String,
    ty: T,
    output: bool,
    readonly: bool,
}

columns! { Source;
    "object_id", T::INT, NOT_NULL, |p| int(p.module);
    "name", T::SYSNAME, NULL, |p| text(&p.name);
    "parameter_id", T::INT, NOT_NULL, |p| int(p.id);
    "system_type_id", T::TINYINT, NOT_NULL, |p| tiny(p.ty.id.xtype());
    "user_type_id", T::INT, NOT_NULL, |p| int(p.ty.id.xtype());
    "max_length", T::SMALLINT, NOT_NULL, |p| small(p.ty.catalog_length());
    "precision", T::TINYINT, NOT_NULL, |p| tiny(p.ty.precision);
    "scale", T::TINYINT, NOT_NULL, |p| tiny(p.ty.scale);
    "is_output", T::BIT, NOT_NULL, |p| bit(p.output);
    "is_cursor_ref", T::BIT, NOT_NULL, |_| bit(false);
    // SQL Server keeps the defaults of CLR modules only.
    "has_default_value", T::BIT, NOT_NULL, |_| bit(false);
    "is_xml_document", T::BIT, NOT_NULL, |_| bit(false);
    "default_value", T::VARIANT, NULL, |_| Value::Null;
    "xml_collection_id", T::INT, NOT_NULL, |_| int(0);
    "is_readonly", T::BIT, NOT_NULL, |p| bit(p.readonly);
    "is_nullable", T::BIT, NULL, |_| bit(true);
    "encryption_type", T::INT, NULL, |_| Value::Null;
    "encryption_type_desc", T::nvarchar(64), NULL, |_| Value::Null;
    "encryption_algorithm_name", T::SYSNAME, NULL, |_| Value::Null;
    "column_encryption_key_id", T::INT, NULL, |_| Value::Null;
    "column_encryption_key_database_name", T::SYSNAME, NULL, |_| Value::Null;
}

/// The parameters of one module, in order.
fn of(module: &ModuleDef) -> SqlResult<Vec<Source>> {
    let options = duramen_tsql::ParseOptions {
        quoted_identifier: module.quoted_identifier,
    };
    let batch = duramen_tsql::parse_batch(&module.text, &options)?;
    let Some(StatementKind::CreateModule(stmt)) =
        batch.statements.into_iter().next().map(|s| s.kind)
    else {
        return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
    };
    let none: &[ast::Parameter] = &[];
    let (params, returns) = match &stmt.kind {
        ModuleKind::Procedure { params, .. }
        | ModuleKind::InlineFunction { params, .. }
        | ModuleKind::TableFunction { params, .. } => (params.as_slice(), None),
        ModuleKind::ScalarFunction {
            params, returns, ..
        } => (params.as_slice(), Some(returns)),
        _ => (none, None),
    };
    let source = |id, name: &str, ty: &ast::DataType, output, readonly| {
        Ok::<_, SqlError>(Source {
            module: module.id.0,
            id,
            name: name.to_owned(),
            ty: resolve_type(ty, TypeSite::Variable(0))?,
            output,
            readonly,
        })
    };
    let mut all = Vec::new();
    if let Some(ty) = returns {
        all.push(source(0, "", ty, true, false)?);
    }
    for (id, p) in (1..).zip(params) {
        all.push(source(id, &p.name, &p.ty, p.output, p.readonly)?);
    }
    Ok(all)
}

/// Those of the procedures that are code.
fn of_code() -> Vec<Vec<Value>> {
    let sources = coded::all().flat_map(|c| {
        let source = |(id, p): (i32, &coded::Parameter)| Source {
            module: c.id(),
            id,
            name: p.name.to_owned(),
            ty: p.ty,
            output: p.output,
            readonly: false,
        };
        (1..).zip(c.parameters).map(source)
    });
    sources.map(|p| row(&p)).collect()
}

/// A module whose text cannot be read any more has no parameters to show.
fn rows<'m>(modules: impl Iterator<Item = &'m Arc<ModuleDef>>) -> Vec<Vec<Value>> {
    let all = modules.flat_map(|m| of(m).unwrap_or_default());
    all.map(|p| row(&p)).collect()
}

pub const PARAMETERS: View = View::new("parameters", VISIBLE, COLUMNS, |cx, _| {
    Ok(rows(snapshot(cx)?.modules.values()))
});

pub const SYSTEM_PARAMETERS: View = View::new("system_parameters", FACTS, COLUMNS, |_, _| {
    let mut all = rows(resource::listed());
    all.extend(of_code());
    Ok(all)
});

pub const ALL_PARAMETERS: View = View::new("all_parameters", VISIBLE, COLUMNS, |cx, _| {
    let snapshot = snapshot(cx)?;
    let mut all = rows(snapshot.modules.values());
    all.extend(rows(resource::listed()));
    all.extend(of_code());
    Ok(all)
});
