//! Finding the rows that an UPDATE or DELETE changes: its target among the sources of FROM.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::{Host, Source, Table, View};
use duramen_query::locking::{check_hints, target_lock};
use duramen_query::plan::Node;
use duramen_query::{Expr, Plan};
use duramen_tsql::ast;
use duramen_types::SqlType;

use crate::bind::{Binder, Exposed, Scope, not_bound, same_name, unsupported, wrap};

/// What an UPDATE or DELETE is about, bound.
pub(super) struct Targets {
    pub table: Arc<dyn Table>,
    pub plan: Plan,
    pub scope: Scope<'static>,
    pub offset: usize,
    /// The name under which FROM exposes the target.
    pub exposed: Exposed,
    /// The columns of a target that is a query: their names, and which of the table's each is.
    pub columns: Option<Vec<(String, Option<usize>)>>,
}

/// The rows of the target, beside those of the other sources of FROM.
pub(super) fn target_rows(
    binder: &mut Binder<'_>,
    target: &ast::Target,
    from: &[ast::TableSource],
    where_: Option<&ast::DmlWhere>,
    top: Option<&ast::Top>,
) -> SqlResult<Targets> {
    let (real, exposed, listed) = resolve_from(binder, target, from)?;
    if let ast::TargetKind::Table(name) = &real.kind {
        check_hints(&real.hints, &name.display())?;
    }
    let lock = target_lock(&real.hints)?;
    let query = match &real.kind {
        ast::TargetKind::Table(name) if binder.is_query(name)? => Some(name),
        _ => None,
    };
    let (table, mut plan, scope, offset, columns) = if let Some(name) = query {
        // A query that FROM does not list stands before the others.
        let mut all = from.to_vec();
        if !listed {
            all.insert(0, ast::TableSource::Table(named(name, target.line)));
        }
        let (plan, scope, offset, found) = binder.target_query(&exposed.name, lock, &all)?;
        (found.table, plan, scope, offset, Some(found.columns))
    } else {
        let table = target_table(binder.host, &real)?;
        let (plan, scope, offset) = binder.target_from(&table, (&exposed, listed), lock, from)?;
        (table, plan, scope, offset, None)
    };
    match where_ {
        None => {}
        Some(ast::DmlWhere::Condition(e)) => {
            let predicate = binder.over(e, &scope)?;
            plan = wrap(plan, |input| Node::Filter { input, predicate });
        }
        Some(ast::DmlWhere::CurrentOf(_)) => return Err(unsupported("WHERE CURRENT OF", 0)),
    }
    if let Some(top) = top {
        let (count, percent) = top_count(binder, top)?;
        plan = topmost(plan, count, percent);
    }
    Ok(Targets {
        table,
        plan,
        scope,
        offset,
        exposed,
        columns,
    })
}

/// 4104 for a column of SET whose qualifier is not the target's. *Assumed*: a target that has an alias in FROM may be
/// called by its own name here.
pub(super) fn qualified(
    binder: &Binder<'_>,
    exposed: &Exposed,
    target: &ast::Target,
    column: &ast::ObjectName,
) -> SqlResult<()> {
    let Some((_, qualifier @ [_, ..])) = column.parts.split_last() else {
        return Ok(());
    };
    match exposed.answers_to(qualifier, binder.host)
        || own_name(binder, &target.kind).answers_to(qualifier, binder.host)
    {
        true => Ok(()),
        false => Err(not_bound(column)),
    }
}

/// The table's column that a SET clause names; 4406 for a column of a query that is none.
pub(super) fn assigned(
    table: &Arc<dyn Table>,
    columns: Option<&[(String, Option<usize>)]>,
    target: &ast::Target,
    name: &str,
) -> SqlResult<usize> {
    let missing = || SqlError::new(&messages::INVALID_COLUMN_NAME, &[&name]);
    match columns {
        None => {
            let mut all = table.columns().iter();
            all.position(|c| same_name(&c.name, name))
                .ok_or_else(missing)
        }
        Some(columns) => {
            let found = columns.iter().find(|(n, _)| same_name(n, name));
            let (_, at) = found.ok_or_else(missing)?;
            let derived = || SqlError::new(&messages::VIEW_DERIVED_FIELD, &[&target_alias(target)]);
            at.ok_or_else(derived)
        }
    }
}

/// A name as a source of FROM.
fn named(name: &ast::ObjectName, line: u32) -> ast::TableRef {
    ast::TableRef {
        name: name.clone(),
        alias: None,
        hints: Vec::new(),
        sample: None,
        line,
    }
}

fn target_alias(target: &ast::Target) -> String {
    match &target.kind {
        ast::TargetKind::Table(name) => name.name().to_owned(),
        ast::TargetKind::Variable(name) => name.clone(),
    }
}

/// TOP of a statement that changes rows. WITH TIES needs an order, which such a statement has none of.
pub(super) fn top_count(binder: &mut Binder<'_>, top: &ast::Top) -> SqlResult<(Expr, bool)> {
    if top.with_ties {
        return Err(SqlError::new(&messages::TIES_WITHOUT_ORDER_BY, &[]));
    }
    let mut count = binder.scalar(&top.count)?;
    if top.percent {
        count = binder.coerce(count, SqlType::FLOAT)?;
    }
    Ok((count, top.percent))
}

/// So many of a plan's rows.
pub(super) fn topmost(plan: Plan, count: Expr, percent: bool) -> Plan {
    wrap(plan, |input| Node::Top {
        input,
        count,
        percent,
        fetch: false,
        ties: Vec::new(),
    })
}

/// Finds the target among the sources of FROM: by the name it is exposed under, or as a table that is there once.
/// Gives the table meant, its exposed name and whether FROM lists it.
fn resolve_from(
    binder: &Binder<'_>,
    target: &ast::Target,
    from: &[ast::TableSource],
) -> SqlResult<(ast::Target, Exposed, bool)> {
    let host = binder.host;
    let own = own_name(binder, &target.kind);
    if from.is_empty() {
        return Ok((target.clone(), own, false));
    }
    let alias = target_alias(target);
    let mut refs = Vec::new();
    from.iter().for_each(|s| listed_tables(s, &mut refs));
    let (written, whole) = match &target.kind {
        ast::TargetKind::Table(name) => (name.parts.clone(), own.whole(host)),
        ast::TargetKind::Variable(name) => (vec![name.clone()], vec![name.clone()]),
    };
    let by_alias = refs.iter().find(|t| t.exposed.answers_to(&written, host));
    let mut by_name = refs
        .iter()
        .filter(|t| own_name(binder, &t.kind).answers_to(&whole, host));
    let found = match (by_alias, by_name.next(), by_name.next()) {
        (Some(t), ..) | (None, Some(t), None) => t,
        (None, Some(_), Some(_)) => {
            return Err(SqlError::new(&messages::TABLE_AMBIGUOUS, &[&alias]));
        }
        (None, None, _) => return Ok((target.clone(), own, false)),
    };
    let exposed = found.exposed.clone();
    let mut hints = found.hints.to_vec();
    hints.extend(target.hints.iter().cloned());
    let real = ast::Target {
        kind: found.kind.clone(),
        hints,
        line: target.line,
    };
    Ok((real, exposed, true))
}

/// The name of a target, whatever FROM calls it.
fn own_name(binder: &Binder<'_>, kind: &ast::TargetKind) -> Exposed {
    match kind {
        ast::TargetKind::Table(name) if binder.is_common(name) => Exposed::local(name.name(), None),
        ast::TargetKind::Table(name) => Exposed::own(name),
        ast::TargetKind::Variable(name) => Exposed::local(name, None),
    }
}

/// A table or table variable that FROM lists.
struct Listed<'t> {
    exposed: Exposed,
    kind: ast::TargetKind,
    hints: &'t [ast::TableHint],
}

fn listed_tables<'t>(source: &'t ast::TableSource, out: &mut Vec<Listed<'t>>) {
    match source {
        ast::TableSource::Table(t) => out.push(Listed {
            exposed: Exposed::of(&t.name, t.alias.as_deref()),
            kind: ast::TargetKind::Table(t.name.clone()),
            hints: &t.hints,
        }),
        ast::TableSource::Variable {
            name, alias, hints, ..
        } => out.push(Listed {
            exposed: Exposed::local(name, alias.as_deref()),
            kind: ast::TargetKind::Variable(name.clone()),
            hints,
        }),
        ast::TableSource::Join(j) => {
            listed_tables(&j.left, out);
            listed_tables(&j.right, out);
        }
        _ => {}
    }
}

/// The table that a target names.
pub(super) fn target_table(host: &dyn Host, target: &ast::Target) -> SqlResult<Arc<dyn Table>> {
    let no_view = |_| unsupported("changing rows through this view", target.line);
    viewed(host, target)?.map_err(no_view)
}

/// The table that a target names, or the view.
pub(super) fn viewed(
    host: &dyn Host,
    target: &ast::Target,
) -> SqlResult<Result<Arc<dyn Table>, Arc<View>>> {
    let line = target.line as i32;
    match &target.kind {
        ast::TargetKind::Table(name) => match host.target(name)? {
            Some(Source::Table(t)) => Ok(Ok(t)),
            Some(Source::View(view)) => Ok(Err(view)),
            Some(Source::Virtual(_)) => {
                Err(SqlError::new(&messages::CATALOG_UPDATE_NOT_ALLOWED, &[]).at_line(line))
            }
            None => {
                Err(SqlError::new(&messages::INVALID_OBJECT_NAME, &[&name.display()]).at_line(line))
            }
        },
        ast::TargetKind::Variable(name) => host.table_variable(name).map(Ok).ok_or_else(|| {
            SqlError::new(&messages::TABLE_VARIABLE_NOT_DECLARED, &[name])
                .with_state(2)
                .at_line(line)
        }),
    }
}

/// The table of OUTPUT ... INTO.
pub(crate) fn into_table(host: &dyn Host, kind: &ast::TargetKind) -> SqlResult<Arc<dyn Table>> {
    let target = ast::Target {
        kind: kind.clone(),
        hints: Vec::new(),
        line: 0,
    };
    target_table(host, &target)
}
