//! OUTPUT of INSERT, UPDATE and DELETE: what a changed row was and is, sent to the client or into another table.
//!
//! An output expression reads one row made of the new row, the old row and the row of the plan that found it, in this
//! order; what a statement does not have (`deleted` in INSERT) has no columns there.

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::exec::eval_all;
use duramen_query::host::{Event, Host, Table};
use duramen_query::kept::Spool;
use duramen_query::reads::each_read;
use duramen_query::{Cx, Expr, OutColumn, Row};
use duramen_tsql::ast;

use super::columns::{ColumnValue, assignable, column_values, named_columns};
use super::row::insert_row;
use super::target::into_table;
use crate::bind::{Binder, Exposed, Scope, ScopeSource};

#[derive(Debug)]
pub struct Output {
    exprs: Vec<Expr>,
    /// Where the row that the plan found starts.
    found: usize,
    columns: Vec<OutColumn>,
    /// OUTPUT ... INTO.
    into: Option<(Arc<dyn Table>, Vec<ColumnValue>)>,
}

/// Which of the pseudo-tables a statement has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Has {
    Inserted,
    Deleted,
    Both,
}

fn pseudo_table(alias: &str, table: &Arc<dyn Table>, offset: usize) -> ScopeSource {
    ScopeSource::new(Exposed::alias(alias), table.out_columns(), offset)
}

/// Binds an OUTPUT clause over a change of `table`; `sources` are those of the statement's FROM.
pub(crate) fn bind(
    host: &dyn Host,
    binder: &mut Binder<'_>,
    clause: &ast::Output,
    (table, has): (&Arc<dyn Table>, Has),
    sources: &[ScopeSource],
) -> SqlResult<Output> {
    let width = table.columns().len();
    let mut scope = Scope::default();
    let mut at = 0;
    if has != Has::Deleted {
        scope.sources.push(pseudo_table("inserted", table, at));
        at += width;
    }
    if has != Has::Inserted {
        scope.sources.push(pseudo_table("deleted", table, at));
        at += width;
    }
    for s in sources {
        let offset = s.offset + at;
        scope.sources.push(ScopeSource {
            offset,
            ..s.clone()
        });
    }
    let (mut exprs, columns) = binder.output_list(&clause.items, &scope)?;
    let into = match &clause.into {
        None => {
            let event = match has {
                Has::Inserted => Event::Insert,
                Has::Deleted => Event::Delete,
                Has::Both => Event::Update,
            };
            if !table.triggers(event).is_empty() {
                let message = &messages::OUTPUT_WITH_TRIGGERS;
                return Err(SqlError::new(message, &[&table.name()]));
            }
            None
        }
        Some((kind, names)) => {
            let target = into_table(host, kind)?;
            without_constraints(&*target)?;
            let named = named_columns(&target, names)?;
            if named.len() != exprs.len() {
                return Err(SqlError::new(&messages::INSERT_COLUMN_MISMATCH, &[]));
            }
            for (e, i) in exprs.iter_mut().zip(&named) {
                *e = binder.coerce(e.clone(), assignable(target.columns()[*i].ty))?;
            }
            let values = column_values(host, binder, &target, &named, true)?;
            Some((target, values))
        }
    };
    Ok(Output {
        exprs,
        found: at,
        columns,
        into,
    })
}

/// 331 to 333: rows go into the target of OUTPUT INTO untested, so it may have nothing that tests them.
fn without_constraints(target: &dyn Table) -> SqlResult<()> {
    let events = [Event::Insert, Event::Update, Event::Delete];
    if events.iter().any(|e| !target.triggers(*e).is_empty()) {
        return Err(SqlError::new(
            &messages::OUTPUT_TARGET_TRIGGERS,
            &[&target.name()],
        ));
    }
    let rules = target.rules()?;
    let (message, name) = match (
        rules.references.first().or(rules.referenced_by.first()),
        rules.checks.first(),
    ) {
        (Some(key), _) => (&messages::OUTPUT_TARGET_FOREIGN_KEY, &key.name),
        (None, Some(check)) => (&messages::OUTPUT_TARGET_CHECK, &check.name),
        (None, None) => return Ok(()),
    };
    Err(SqlError::new(message, &[&target.name(), name]))
}

impl Output {
    /// The columns that go to the client; none with INTO.
    pub fn columns(&self) -> Option<&[OutColumn]> {
        match self.into {
            None => Some(&self.columns),
            Some(_) => None,
        }
    }

    /// The columns of the row that the plan found.
    pub(crate) fn read_of_found(&self, out: &mut BTreeSet<usize>) {
        for e in &self.exprs {
            each_read(e, &mut |c| out.extend(c.checked_sub(self.found)));
        }
    }

    pub(crate) fn statement_ended(&self, succeeded: bool) {
        if let Some((table, _)) = &self.into {
            table.statement_ended(succeeded);
        }
    }

    /// One changed row.
    pub(crate) fn emit(
        &self,
        parts: [&[duramen_types::Value]; 3],
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let row: Row = parts.concat();
        let values = eval_all(&self.exprs, &row, cx)?;
        match &self.into {
            None => {
                let new = || Box::new(Spool::new(&self.columns.as_slice().into()));
                let mut all = cx.output.take().unwrap_or_else(new);
                let put = all.put_row(values, cx);
                cx.output = Some(all);
                put?;
            }
            Some((table, columns)) => {
                let identity = cx.identity;
                insert_row(table, values, columns, cx)?;
                cx.identity = identity;
            }
        }
        Ok(())
    }
}
