//! `DECLARE @t TABLE (...)`: the declaration as a table in memory.
//!
//! Table variables live as long as their batch, are emptied by nothing but DELETE, and take no part in transactions:
//! [`duramen_query::memory`].

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::bind::resolve_type;
use duramen_query::host::TableColumn;
use duramen_query::memory::{MemoryKey, MemoryTableDef};
use duramen_query::rules::CheckRule;
use duramen_tsql::ast::{self, ConstraintKind, TableElement};
use duramen_types::TypeId;

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
        identity: None,
    };
    for element in elements {
        match element {
            TableElement::Column(c) => column(text, c, &mut def)?,
            TableElement::Constraint(_) => {}
            TableElement::Index(i) => return Err(refuse("INDEX", i.line)),
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
            TableElement::Index(_) => {}
        }
    }
    Ok(def)
}

fn column(text: &str, c: &ast::ColumnDef, def: &mut MemoryTableDef) -> SqlResult<()> {
    let line = c.line as i32;
    let Some(ty) = &c.ty else {
        return Err(refuse("computed columns", c.line));
    };
    if position(&c.name, def).is_some() {
        let args: [&dyn std::fmt::Display; 2] = [&c.name, &def.name];
        return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args).at_line(line));
    }
    if c.sparse || c.rowguidcol {
        return Err(refuse("SPARSE and ROWGUIDCOL", c.line));
    }
    let mut resolved = resolve_type(ty, false)?;
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
        if !resolved.id.is_integer() || resolved.id == TypeId::Bit {
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

fn position(name: &str, def: &MemoryTableDef) -> Option<usize> {
    let folded = name.to_lowercase();
    def.columns
        .iter()
        .position(|c| c.name.to_lowercase() == folded)
}

fn constraint(text: &str, k: &ast::TableConstraint, def: &mut MemoryTableDef) -> SqlResult<()> {
    if let ConstraintKind::Check { expr, source, .. } = &k.kind {
        let written = text.get(source.start as usize..source.end as usize);
        let form = crate::ddl::normal_form(expr).or(written.map(str::to_owned));
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
    let mut key = Vec::new();
    for c in columns {
        let missing = || {
            SqlError::new(&messages::INDEX_COLUMN_DOES_NOT_EXIST, &[&c.name]).at_line(k.line as i32)
        };
        key.push(position(&c.name, def).ok_or_else(missing)?);
    }
    if *primary {
        if def.keys.iter().any(|k| k.primary) {
            let error = SqlError::new(&messages::SECOND_PRIMARY_KEY, &[&def.name]);
            return Err(error.at_line(k.line as i32));
        }
        key.iter().for_each(|c| def.columns[*c].nullable = false);
    }
    // Constraints of table variables cannot be named; the server makes a name up.
    let prefix = if *primary { "PK" } else { "UQ" };
    def.keys.push(MemoryKey {
        name: format!("{prefix}__#{:08X}", def.keys.len() + 1),
        primary: *primary,
        columns: key,
    });
    Ok(())
}
