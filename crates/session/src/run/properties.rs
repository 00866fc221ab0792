//! sp_addextendedproperty, sp_updateextendedproperty and sp_dropextendedproperty.
//!
//! Microsoft Learn, the pages of the three. Levels that exist here: the database, schemas, tables, views, procedures and
//! functions, and of these columns, constraints, triggers and indexes; others are refused by name.

use std::fmt::Display;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::properties::{PropertyDef, class};
use duramen_catalog::{ObjectKind, Snapshot};
use duramen_core::security::On;
use duramen_program::coded::Procedure;
use duramen_program::program::same;
use duramen_program::rights::Right;
use duramen_program::statements::Definition;
use duramen_types::Value;

use super::arguments::Arguments;
use super::exec::Called;
use super::failure::RunResult;
use super::{Run, not_supported};

const LEVELS: [(&str, &str); 3] = [
    ("@level0type", "@level0name"),
    ("@level1type", "@level1name"),
    ("@level2type", "@level2name"),
];

impl Run<'_> {
    pub(super) fn change_property(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let (called, procedure) = (args.row.name, args.row.procedure);
        let drops = procedure == Procedure::DropProperty;
        let Some(name) = args.text("@name").filter(|n| !n.is_empty()) else {
            return Err(SqlError::new(&messages::INVALID_PROCEDURE_OPTION, &[&called]).into());
        };
        let value = match args.given("@value").map(|t| (t.ty, t.value.clone())) {
            None | Some((_, Value::Null)) => Value::Null,
            Some((_, whole @ Value::Variant(_))) => whole,
            Some(plain) => Value::Variant(Box::new(plain)),
        };
        if value
            .data_length(&duramen_types::SqlType::VARIANT)
            .unwrap_or(0)
            > 7500
        {
            return Err(SqlError::new(&messages::PROPERTY_TOO_LONG, &[]).into());
        }
        let mut levels = Vec::new();
        for (n, (kind, of)) in LEVELS.iter().enumerate() {
            let kind = args.text(kind).map(|k| k.trim().to_ascii_uppercase());
            let of = args.text(of);
            match (kind, of) {
                (Some(kind), Some(of)) if levels.len() == n => levels.push((kind, of)),
                (None, None) => {}
                _ => {
                    return Err(
                        SqlError::new(&messages::INVALID_PROCEDURE_OPTION, &[&called]).into(),
                    );
                }
            }
        }
        let shown: Vec<&str> = levels.iter().map(|(_, n)| n.as_str()).collect();
        let shown = match shown.is_empty() {
            true => "object specified".to_owned(),
            false => shown.join("."),
        };
        let Some(db) = self.session.instance.databases.find(&self.session.database) else {
            return Ok(Called::with_status(0));
        };
        let snapshot = db.catalog.snapshot()?;
        let (class, id, part, schema) = place(&snapshot, &levels, &shown)?;
        let on = match class {
            class::DATABASE => On::Database,
            class::SCHEMA => On::Schema(id),
            _ => On::Object { id, schema },
        };
        if !self.session.may(&db, Right::Alter, on)? {
            let args: [&dyn Display; 1] = [&shown];
            return Err(SqlError::new(&messages::EXTENDED_PROPERTY_OBJECT_INVALID, &args).into());
        }
        let there = snapshot
            .properties
            .iter()
            .find(|p| (p.class, p.id, p.part) == (class, id, part) && same(&p.name, &name));
        let args: [&dyn Display; 2] = [&name, &shown];
        match (there, procedure == Procedure::AddProperty) {
            (Some(_), true) => {
                return Err(SqlError::new(&messages::PROPERTY_ALREADY_EXISTS, &args).into());
            }
            (None, false) => {
                return Err(SqlError::new(&messages::PROPERTY_DOES_NOT_EXIST, &args).into());
            }
            _ => {}
        }
        let new = there.is_none();
        let property = PropertyDef {
            class,
            id,
            part,
            name: there.map_or(name, |p| p.name.clone()),
            value,
        };
        self.define(Definition::of_procedure(called), |d| match drops {
            true => d.db.catalog.delete_property(d.tx, &property),
            false => d.db.catalog.put_property(d.tx, &property, new),
        })?;
        Ok(Called::with_status(0))
    }
}

/// Class, id, part and schema of what the levels name; 15135 when it is not there.
fn place(
    snapshot: &Snapshot,
    levels: &[(String, String)],
    shown: &str,
) -> SqlResult<(u8, i32, i32, i32)> {
    let missing = || SqlError::new(&messages::EXTENDED_PROPERTY_OBJECT_INVALID, &[&shown]);
    let Some((kind, name)) = levels.first() else {
        return Ok((class::DATABASE, 0, 0, 0));
    };
    if !matches!(kind.as_str(), "SCHEMA" | "USER") {
        return Err(not_supported(&format!("extended properties of {kind}")));
    }
    let schema = snapshot.schema(name).ok_or_else(missing)?.id;
    let Some((kind, name)) = levels.get(1) else {
        return Ok((class::SCHEMA, schema, 0, schema));
    };
    let kinds: &[ObjectKind] = match kind.as_str() {
        "TABLE" => &[ObjectKind::TABLE],
        "VIEW" => &[ObjectKind::VIEW],
        "PROCEDURE" => &[ObjectKind::PROCEDURE],
        "FUNCTION" => &[
            ObjectKind::SCALAR_FUNCTION,
            ObjectKind::INLINE_FUNCTION,
            ObjectKind::TABLE_FUNCTION,
        ],
        other => return Err(not_supported(&format!("extended properties of {other}"))),
    };
    let object = snapshot
        .find(schema, name)
        .filter(|o| kinds.contains(&o.kind));
    let object = object.ok_or_else(missing)?;
    let Some((kind, name)) = levels.get(2) else {
        return Ok((class::OBJECT, object.id.0, 0, schema));
    };
    let table = snapshot.table(object.id);
    match kind.as_str() {
        "COLUMN" => {
            let of_table = table
                .and_then(|t| t.columns.get(t.column(name)?))
                .map(|c| c.id);
            let module = snapshot.module(object.id);
            let mut of_view = module.iter().flat_map(|m| (1..).zip(&m.columns));
            let of_view = of_view.find(|(_, c)| same(&c.name, name)).map(|(n, _)| n);
            let column = of_table.or(of_view).ok_or_else(missing)?;
            Ok((class::OBJECT, object.id.0, column, schema))
        }
        "INDEX" => {
            let index = table.and_then(|t| t.index(name)).ok_or_else(missing)?;
            Ok((class::INDEX, object.id.0, i32::from(index.id), schema))
        }
        "CONSTRAINT" | "TRIGGER" => {
            let part = snapshot
                .find(schema, name)
                .filter(|o| o.parent == object.id);
            Ok((class::OBJECT, part.ok_or_else(missing)?.id.0, 0, schema))
        }
        other => Err(not_supported(&format!("extended properties of {other}"))),
    }
}
