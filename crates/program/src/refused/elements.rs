//! What SQL Server refuses in the columns and constraints of a table, as their text alone tells: of CREATE TABLE and ALTER
//! TABLE, of table variables and of table types.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast::walk::{self, Part};
use duramen_tsql::ast::{self, ConstraintKind, ExprKind, TableConstraint, TableElement};

use crate::program::same;

/// The table of a DECLARE, or that a function fills.
pub fn table_variable(name: &str, elements: &[TableElement]) -> SqlResult<()> {
    check(name, elements)?;
    without_variables("CREATE TABLE", elements)?;
    all_read_themselves(name, elements)
}

fn all_read_themselves(table: &str, elements: &[TableElement]) -> SqlResult<()> {
    let columns = elements.iter().filter_map(|e| match e {
        TableElement::Column(c) => Some(c),
        _ => None,
    });
    for c in columns {
        if let Err(first) = reads_itself(table, c) {
            let last = SqlError::new(&messages::CONSTRAINT_NOT_CREATED, &[]).at_line(first.line);
            return Err(SqlError::joined(vec![first, last.clone()]).unwrap_or(last));
        }
    }
    Ok(())
}

/// 8148, 8150 and 8151: of each kind of constraint one at most is written at a column, and a key is primary or not.
pub fn check(table: &str, elements: &[TableElement]) -> SqlResult<()> {
    elements.iter().try_for_each(|e| match e {
        TableElement::Column(c) => constraints_of_column(table, c),
        _ => Ok(()),
    })
}

fn constraints_of_column(table: &str, c: &ast::ColumnDef) -> SqlResult<()> {
    let twice = |word: &str| {
        let args: [&dyn std::fmt::Display; 3] = [&word, &c.name, &table];
        let error = SqlError::new(&messages::SECOND_COLUMN_CONSTRAINT, &args);
        Err(error.at_line(c.line as i32))
    };
    if c.second_nullable {
        let args: [&dyn std::fmt::Display; 2] = [&c.name, &table];
        let error = SqlError::new(&messages::SECOND_NULL_CONSTRAINT, &args);
        return Err(error.at_line(c.line as i32));
    }
    if c.second_default {
        return twice("DEFAULT");
    }
    let words = c.constraints.iter().map(word);
    for (i, word) in words.enumerate() {
        let before = || c.constraints[..i].iter().map(self::word);
        let Some(word) = word else { continue };
        if before().any(|o| o == Some(word)) {
            return twice(word);
        }
        let keys = [PRIMARY_KEY, UNIQUE];
        if keys.contains(&word) && before().flatten().any(|o| keys.contains(&o)) {
            let args: [&dyn std::fmt::Display; 2] = [&c.name, &table];
            let error = SqlError::new(&messages::COLUMN_PRIMARY_AND_UNIQUE, &args);
            return Err(error.at_line(c.line as i32));
        }
    }
    Ok(())
}

const PRIMARY_KEY: &str = "PRIMARY KEY";
const UNIQUE: &str = "UNIQUE";

/// 8141: the condition that is written at a column is about that column alone.
pub fn reads_itself(table: &str, c: &ast::ColumnDef) -> SqlResult<()> {
    let mut strange = false;
    for constraint in &c.constraints {
        let ConstraintKind::Check { expr, .. } = &constraint.kind else {
            continue;
        };
        walk::expr(expr, &mut |part| {
            if let Part::Expr(e) = part
                && let ExprKind::Column(name) = &e.kind
            {
                strange |= !same(name.name(), &c.name);
            }
        });
    }
    if !strange {
        return Ok(());
    }
    let args: [&dyn std::fmt::Display; 3] = [&"CHECK", &c.name, &table];
    let error = SqlError::new(&messages::COLUMN_CONSTRAINT_OF_ANOTHER, &args);
    Err(error.with_state(0).at_line(c.line as i32))
}

/// How a constraint of a kind that a column has one of is called.
fn word(c: &TableConstraint) -> Option<&'static str> {
    match &c.kind {
        ConstraintKind::Key { primary: true, .. } => Some(PRIMARY_KEY),
        ConstraintKind::Key { primary: false, .. } => Some(UNIQUE),
        ConstraintKind::Check { .. } => Some("CHECK"),
        _ => None,
    }
}

/// 112: what a table keeps cannot depend on a variable of the batch that makes it.
pub fn without_variables(statement: &str, elements: &[TableElement]) -> SqlResult<()> {
    let mut found = false;
    let mut see = |part: Part<'_>| {
        if let Part::Expr(e) = part
            && let ExprKind::Variable(name) = &e.kind
        {
            found |= !name.starts_with("@@");
        }
    };
    let mut constraint = |c: &TableConstraint| match &c.kind {
        ConstraintKind::Check { expr, .. } => walk::expr(expr, &mut see),
        ConstraintKind::Default { spec, .. } => walk::expr(&spec.expr, &mut see),
        _ => {}
    };
    for e in elements {
        match e {
            TableElement::Constraint(c) => constraint(c),
            TableElement::Column(c) => c.constraints.iter().for_each(&mut constraint),
            TableElement::Index(_) => {}
        }
    }
    for e in elements {
        if let TableElement::Column(c) = e {
            let default = c.default.as_ref().map(|d| &d.expr);
            let computed = c.computed.as_ref().map(|d| &d.expr);
            let values = default.into_iter().chain(computed);
            values.for_each(|e| walk::expr(e, &mut see));
        }
    }
    match found {
        true => Err(SqlError::new(
            &messages::VARIABLES_NOT_ALLOWED,
            &[&statement],
        )),
        false => Ok(()),
    }
}
