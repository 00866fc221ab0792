//! Computed columns: their types come from their expressions, which may read every column that is not computed itself.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ComputedDef, NewColumn, NewTable};
use duramen_program::normal;
use duramen_tsql::ast::{self, Expr, ExprKind};
use duramen_types::SqlType;

use super::constraints::Declared;
use super::{Ddl, constraints, refuse};

impl Ddl<'_> {
    /// A computed column as it stands among the others; its type is found later.
    pub(super) fn computed_column(&self, c: &ast::ColumnDef) -> SqlResult<NewColumn> {
        let Some(computed) = &c.computed else {
            return Err(refuse("a column without a type", c.line));
        };
        let text = match normal::normal(&computed.expr) {
            Some(text) => text,
            None => self.source(computed.source, c.line)?,
        };
        Ok(NewColumn {
            computed: Some(ComputedDef {
                text,
                persisted: computed.persisted,
            }),
            ..NewColumn::plain(&c.name, SqlType::INT, true)
        })
    }

    /// The types of a new table's computed columns.
    pub(super) fn type_computed(
        &self,
        stmt: &ast::CreateTable,
        new: &mut NewTable,
    ) -> SqlResult<()> {
        if new.columns.iter().all(|c| c.computed.is_none()) {
            return Ok(());
        }
        let columns = constraints::of_new(&new.columns);
        let defined = stmt.elements.iter().filter_map(|e| match e {
            ast::TableElement::Column(c) => Some(c),
            _ => None,
        });
        for (at, c) in defined.enumerate() {
            if c.computed.is_some() {
                let name = new.name.clone();
                self.type_of((new.schema, &name), &columns, c, &mut new.columns[at])?;
            }
        }
        Ok(())
    }

    /// Finds the type of one; 1759 and 4936.
    pub(super) fn type_of(
        &self,
        table: (i32, &str),
        columns: &[Declared],
        c: &ast::ColumnDef,
        new: &mut NewColumn,
    ) -> SqlResult<()> {
        let Some(computed) = &c.computed else {
            return Ok(());
        };
        let line = c.line as i32;
        let bound = self
            .bound(self.exposed(table)?, columns, &computed.expr)
            .map_err(|e| e.at_line(line))?;
        let mut read = bound.columns_read().into_iter().map(|i| &columns[i]);
        if let Some(other) = read.find(|d| d.computed) {
            let args: [&dyn std::fmt::Display; 2] = [&other.name, &table.1];
            let error = SqlError::new(&messages::COMPUTED_IN_COMPUTED, &args);
            return Err(error.with_state(0).at_line(line));
        }
        if computed.persisted && !bound.is_deterministic() {
            let args: [&dyn std::fmt::Display; 2] = [&c.name, &table.1];
            let error = SqlError::new(&messages::COMPUTED_NOT_PERSISTABLE, &args);
            return Err(error.at_line(line));
        }
        new.ty = bound.ty;
        new.nullable = bound.nullable || may_be_null(&computed.expr);
        if c.nullable == Some(false) {
            if !computed.persisted {
                return Err(refuse(
                    "NOT NULL of a computed column that is not PERSISTED",
                    c.line,
                ));
            }
            new.nullable = false;
        }
        Ok(())
    }
}

/// Most expressions count as nullable, whatever they read: an overflow may make NULL of them.
fn may_be_null(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Column(_) | ExprKind::Literal(_) => false,
        ExprKind::Function(call) => !call.name.name().eq_ignore_ascii_case("isnull"),
        _ => true,
    }
}
