//! `DECLARE @t TABLE (...)`: the declaration as a table in memory.
//!
//! Table variables live as long as their batch, are emptied by nothing but DELETE, and take no part in transactions:
//! [`duramen_planner::memory`].

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{MOST_COLUMNS, too_many_columns};
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_planner::dml::bind_computed_as;
use duramen_planner::memory::{KeyKind, MemoryKey, MemoryTable, MemoryTableDef};
use duramen_query::host::{Nowhere, TableColumn};
use duramen_query::rules::{CheckRule, Generated};
use duramen_tsql::ast::{self, ConstraintKind, TableElement};
use duramen_types::{SqlType, TypeId};

fn refuse(what: &str, line: u32) -> SqlError {
    let what = format!("{what} of table variables");
    SqlError::new(&messages::NOT_SUPPORTED, &[&what]).at_line(line as i32)
}

/// The table that a declaration in `text` describes.
pub fn definition(text: &str, name: &str, elements: &[TableElement]) -> SqlResult<MemoryTableDef> {
    let mut def = MemoryTableDef {
        name: name.to_owned(),
        columns: Vec::new(),
        keys: Vec::new(),
        checks: Vec::new(),
        computed: Vec::new(),
        identity: None,
    };
    for element in elements {
        if let TableElement::Column(c) = element {
            column(text, c, &mut def)?;
        }
    }
    for element in elements {
        if let TableElement::Column(c) = element {
            computed(c, &mut def)?;
        }
    }
    for element in elements {
        match element {
            TableElement::Column(c) => {
                for k in &c.constraints {
                    constraint(text, k, &mut def)?;
                }
            }
            TableElement::Constraint(k) => constraint(text, k, &mut def)?,
            TableElement::Index(i) => index(i, &mut def)?,
        }
    }
    Ok(def)
}

fn column(text: &str, c: &ast::ColumnDef, def: &mut MemoryTableDef) -> SqlResult<()> {
    let line = c.line as i32;
    if position(&c.name, def).is_some() {
        let args: [&dyn std::fmt::Display; 2] = [&c.name, &def.name];
        return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args).at_line(line));
    }
    if def.columns.len() >= MOST_COLUMNS {
        return Err(too_many_columns(&c.name, &def.name).at_line(line));
    }
    let Some(ty) = &c.ty else {
        // Its type is found when all the others are known.
        def.columns.push(TableColumn {
            name: c.name.clone(),
            ty: SqlType::INT,
            nullable: true,
            identity: false,
            default: None,
            generated: Generated::Computed,
        });
        return Ok(());
    };
    if c.sparse || c.rowguidcol {
        return Err(refuse("SPARSE and ROWGUIDCOL", c.line));
    }
    let site = TypeSite::Column(def.columns.len() + 1, &c.name);
    let mut resolved = resolve_type(ty, site)?;
    if resolved.id == TypeId::RowVersion {
        return Err(refuse("rowversion columns", c.line));
    }
    // What says nothing of its collation has the database's, and so has what names it.
    let own = |name: &&String| !name.eq_ignore_ascii_case("database_default");
    if let Some(name) = c.collation.as_ref().filter(own) {
        let id = duramen_types::CollationId::from_name(name);
        let missing = || SqlError::new(&messages::INVALID_COLLATION, &[name]).at_line(line);
        resolved.collation = id.ok_or_else(missing)?;
    }
    if let Some(spec) = &c.identity {
        let number = |s: &str| s.parse::<i64>().map_err(|_| refuse("IDENTITY", c.line));
        if !crate::table_variable::may_count(&resolved) {
            let error = SqlError::new(&messages::IDENTITY_COLUMN_TYPE, &[&c.name]);
            return Err(error.at_line(line));
        }
        def.identity = Some((number(&spec.seed)?, number(&spec.increment)?));
    }
    let default = c.default.as_ref().and_then(|d| {
        let span = d.source.start as usize..d.source.end as usize;
        text.get(span).map(str::to_owned)
    });
    def.columns.push(TableColumn {
        name: c.name.clone(),
        ty: resolved,
        nullable: c.nullable.unwrap_or(c.identity.is_none()),
        identity: c.identity.is_some(),
        default,
        generated: Default::default(),
    });
    Ok(())
}

/// The type of a computed column. Its expression may read every column that is not computed itself (1759), and calls no
/// function that needs a session: there is none when a batch is compiled.
fn computed(c: &ast::ColumnDef, def: &mut MemoryTableDef) -> SqlResult<()> {
    let (Some(computed), Some(at)) = (&c.computed, position(&c.name, def)) else {
        return Ok(());
    };
    let line = c.line as i32;
    let text = crate::normal::normal(&computed.expr)
        .ok_or_else(|| refuse("computed columns of this form", c.line))?;
    let table = MemoryTable::new(def.clone());
    let bound = bind_computed_as(&Nowhere, &table, &text).map_err(|e| e.at_line(line))?;
    let generated = |i: &usize| def.columns[*i].generated == Generated::Computed;
    if let Some(other) = bound.columns_read().into_iter().find(generated) {
        let args: [&dyn std::fmt::Display; 2] = [&def.columns[other].name, &def.name];
        let error = SqlError::new(&messages::COMPUTED_IN_COMPUTED, &args);
        return Err(error.with_state(0).at_line(line));
    }
    def.columns[at].ty = bound.ty;
    def.columns[at].nullable = c.nullable != Some(false);
    def.computed.push((at, text));
    Ok(())
}

fn position(name: &str, def: &MemoryTableDef) -> Option<usize> {
    let folded = name.to_lowercase();
    def.columns
        .iter()
        .position(|c| c.name.to_lowercase() == folded)
}

fn constraint(text: &str, k: &ast::TableConstraint, def: &mut MemoryTableDef) -> SqlResult<()> {
    if let ConstraintKind::Check { expr, source, .. } = &k.kind {
        let written = text.get(source.start as usize..source.end as usize);
        let form = crate::normal::normal(expr).or(written.map(str::to_owned));
        let number = def.checks.len() + 1;
        def.checks.push(CheckRule {
            name: format!("CK__{}__{number:08X}", def.name),
            text: form.ok_or_else(|| refuse("CHECK constraints", k.line))?,
            column: None,
        });
        return Ok(());
    }
    let ConstraintKind::Key {
        primary, columns, ..
    } = &k.kind
    else {
        return Err(refuse("DEFAULT and FOREIGN KEY constraints", k.line));
    };
    let key = key_columns(columns, k.line, def)?;
    let mut kind = KeyKind::UniqueConstraint;
    if *primary {
        kind = KeyKind::PrimaryKey;
        if def.keys.iter().any(|k| k.kind == kind) {
            let error = SqlError::new(&messages::SECOND_PRIMARY_KEY, &[&def.name]);
            return Err(error.at_line(k.line as i32));
        }
        key.iter().for_each(|c| def.columns[*c].nullable = false);
    }
    // Constraints of table variables cannot be named; the server makes a name up.
    let prefix = if *primary { "PK" } else { "UQ" };
    def.keys.push(MemoryKey {
        name: format!("{prefix}__#{:08X}", def.keys.len() + 1),
        kind,
        columns: key,
    });
    Ok(())
}

fn key_columns(
    columns: &[ast::IndexColumn],
    line: u32,
    def: &MemoryTableDef,
) -> SqlResult<Vec<usize>> {
    let place = |c: &ast::IndexColumn| {
        let missing = || SqlError::new(&messages::INDEX_COLUMN_DOES_NOT_EXIST, &[&c.name]);
        position(&c.name, def).ok_or_else(|| missing().at_line(line as i32))
    };
    columns.iter().map(place).collect()
}

/// `INDEX name [UNIQUE] (...)`. Rows in memory have no order and are there whole: CLUSTERED and INCLUDE change nothing.
fn index(i: &ast::CreateIndex, def: &mut MemoryTableDef) -> SqlResult<()> {
    if i.filter.is_some() || i.columnstore || !i.options.is_empty() {
        let what = "filters, options and columnstore of an INDEX";
        return Err(refuse(what, i.line));
    }
    let same = |k: &MemoryKey| k.name.eq_ignore_ascii_case(&i.name);
    if def.keys.iter().any(same) {
        let args: [&dyn std::fmt::Display; 3] = [&i.name, &"table", &def.name];
        let error = SqlError::new(&messages::INDEX_ALREADY_EXISTS, &args);
        return Err(error.at_line(i.line as i32));
    }
    let kind = match i.unique {
        true => KeyKind::UniqueIndex,
        false => KeyKind::Index,
    };
    let columns = key_columns(&i.columns, i.line, def)?;
    def.keys.push(MemoryKey {
        name: i.name.clone(),
        kind,
        columns,
    });
    Ok(())
}

/// Whether an identity column may have the type.
pub fn may_count(ty: &SqlType) -> bool {
    duramen_types::Value::whole(0, ty).is_some() && ty.scale == 0
}
