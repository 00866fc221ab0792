//! WITH SCHEMABINDING: what a module reads can be neither dropped nor changed under it.
//!
//! A schema-bound module must write names of objects with their schema, so that a name in its text is an object's: it
//! is found as a word of the text. A word in a comment or string holds an object too, which is stricter than need be.

use std::fmt::Display;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ModuleDef, ObjectKind, Snapshot};
use duramen_program::schema_bound::is_schema_bound;
use duramen_program::schema_bound::names;
use duramen_tsql::ast::{self, QueryExpr, SelectItem, TableSource};

use super::Run;
use super::failure::{Failure, Origin, RunResult};

/// A schema-bound module that names all of these.
fn bound_by(snapshot: &Snapshot, words: &[&str]) -> Option<Arc<ModuleDef>> {
    let mut all = snapshot.modules.values();
    let found = all.find(|m| {
        let itself = m.name.eq_ignore_ascii_case(words[0]);
        !itself && words.iter().all(|w| names(&m.text, w)) && is_schema_bound(m)
    });
    found.cloned()
}

/// The table whose computed column, or the constraint, that calls a function of this name.
fn used_by_table(snapshot: &Snapshot, name: &ast::ObjectName) -> Option<String> {
    let schema = snapshot.schema(name.schema().unwrap_or("dbo"))?;
    let functions = [
        ObjectKind::SCALAR_FUNCTION,
        ObjectKind::INLINE_FUNCTION,
        ObjectKind::TABLE_FUNCTION,
    ];
    let meant = snapshot.find(schema.id, name.name())?;
    if !functions.contains(&meant.kind) {
        return None;
    }
    let calls = |text: &str| {
        // Few texts have the word: only they are parsed.
        names(text, &meant.name) && calls_function(text, &schema.name, &meant.name)
    };
    snapshot.tables.values().find_map(|t| {
        let computed = t.columns.iter().filter_map(|c| c.computed.as_ref());
        if computed.into_iter().any(|c| calls(&c.text)) {
            return Some(t.name.clone());
        }
        let check = t.checks.iter().find(|c| calls(&c.text)).map(|c| &c.name);
        let mut defaults = t.columns.iter().filter_map(|c| c.default.as_ref());
        let default = || defaults.find(|d| calls(&d.text)).map(|d| &d.name);
        check.or_else(default).cloned()
    })
}

/// Whether an expression calls a function of a user by this name.
fn calls_function(text: &str, schema: &str, name: &str) -> bool {
    let options = duramen_tsql::ParseOptions {
        quoted_identifier: true,
    };
    let parsed = duramen_tsql::parse_expression(text, &options);
    let Ok(parsed) = parsed.or_else(|_| duramen_tsql::parse_condition(text, &options)) else {
        return false;
    };
    let mut found = false;
    ast::walk::expr(&parsed, &mut |part| {
        if let ast::walk::Part::Expr(e) = part
            && let ast::ExprKind::Function(call) = &e.kind
        {
            let of = call
                .name
                .schema()
                .is_some_and(|s| s.eq_ignore_ascii_case(schema));
            found |= of && call.name.name().eq_ignore_ascii_case(name);
        }
    });
    found
}

impl Run<'_> {
    fn catalog(&self, database: &str) -> RunResult<Option<Arc<Snapshot>>> {
        let found = self.session.instance.databases.find(database);
        Ok(found.map(|d| d.catalog.snapshot()).transpose()?)
    }

    /// 3729: `what` would take an object away from a module that is bound to it.
    pub(super) fn not_bound(
        &self,
        database: &str,
        name: &ast::ObjectName,
        what: &str,
    ) -> RunResult<()> {
        let Some(snapshot) = self.catalog(database)? else {
            return Ok(());
        };
        if let Some(user) = used_by_table(&snapshot, name) {
            let args: [&dyn Display; 3] = [&what, &name.display(), &user];
            return Err(SqlError::new(&messages::OBJECT_REFERENCED, &args).into());
        }
        match bound_by(&snapshot, &[name.name()]) {
            None => Ok(()),
            Some(module) => {
                let args: [&dyn Display; 3] = [&what, &name.display(), &module.name];
                Err(SqlError::new(&messages::OBJECT_REFERENCED, &args).into())
            }
        }
    }

    /// 5074 and 4922: ALTER TABLE would change a column that a module is bound to.
    pub(super) fn columns_not_bound(
        &mut self,
        database: &str,
        stmt: &ast::AlterTable,
    ) -> RunResult<()> {
        let (what, columns) = match &stmt.action {
            ast::AlterTableAction::DropColumns { names, .. } => {
                ("ALTER TABLE DROP COLUMN", names.clone())
            }
            ast::AlterTableAction::AlterColumn { name, .. } => {
                ("ALTER TABLE ALTER COLUMN", vec![name.clone()])
            }
            _ => return Ok(()),
        };
        let Some(snapshot) = self.catalog(database)? else {
            return Ok(());
        };
        for column in columns {
            if let Some(module) = bound_by(&snapshot, &[stmt.table.name(), &column]) {
                let args: [&dyn Display; 4] = [&"object", &module.name, &"column", &column];
                let first = SqlError::new(&messages::OBJECT_DEPENDS, &args);
                let args: [&dyn Display; 3] = [&what, &column, &"column"];
                let last = SqlError::new(&messages::OBJECTS_ACCESS_COLUMN, &args).with_state(9);
                return Err(Failure::of(last, Origin::Statement).after(vec![first]));
            }
        }
        Ok(())
    }
}

/// 1054 and 4512: what a schema-bound view may not write.
pub(super) fn bindable(view: &str, query: &ast::SelectStmt) -> SqlResult<()> {
    let ctes: Vec<&str> = query.ctes.iter().map(|c| c.name.as_str()).collect();
    let queries = query.ctes.iter().map(|c| &c.query.body);
    queries
        .chain([&query.body])
        .try_for_each(|q| bindable_body(view, q, &ctes))
}

fn bindable_body(view: &str, body: &QueryExpr, ctes: &[&str]) -> SqlResult<()> {
    match body {
        QueryExpr::Values(_) => Ok(()),
        QueryExpr::SetOp { left, right, .. } => {
            bindable_body(view, left, ctes)?;
            bindable_body(view, right, ctes)
        }
        QueryExpr::Select(spec) => {
            if spec
                .items
                .iter()
                .any(|i| matches!(i, SelectItem::Star { .. }))
            {
                return Err(SqlError::new(&messages::STAR_IN_SCHEMA_BOUND, &[]));
            }
            spec.from
                .iter()
                .try_for_each(|s| bindable_source(view, s, ctes))
        }
    }
}

fn bindable_source(view: &str, source: &TableSource, ctes: &[&str]) -> SqlResult<()> {
    match source {
        TableSource::Table(t) => {
            let name = &t.name;
            let own =
                name.parts.len() == 1 && ctes.iter().any(|c| c.eq_ignore_ascii_case(name.name()));
            if own || (name.parts.len() == 2 && name.schema().is_some_and(|s| !s.is_empty())) {
                return Ok(());
            }
            let args: [&dyn Display; 3] = [&"view", &view, &name.display()];
            Err(SqlError::new(&messages::CANNOT_SCHEMA_BIND, &args))
        }
        TableSource::Join(j) => {
            bindable_source(view, &j.left, ctes)?;
            bindable_source(view, &j.right, ctes)
        }
        TableSource::Derived { query, .. } => bindable_body(view, &query.body, ctes),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_whole_word() {
        let text = "CREATE VIEW v AS SELECT [a] FROM dbo.Orders";
        assert!(names(text, "orders") && names(text, "A"));
        assert!(!names(text, "order") && !names(text, "Orders2"));
    }
}
