//! GROUP BY: the keys, and what becomes of expressions over the sources when they stand over the groups.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::plan::{Aggregate, Node};
use duramen_query::{Expr, Kind, OutColumn, Plan};
use duramen_tsql::ast;
use duramen_types::Value;

use super::{Aggregates, Binder, Scope, unsupported};

/// 40517 for what GROUP BY may be and is not here.
pub(super) fn refused(spec: &ast::QuerySpec) -> SqlResult<()> {
    let Some(by) = &spec.group_by else {
        return Ok(());
    };
    if by.all || by.with.is_some() {
        let what = "GROUP BY ALL, WITH ROLLUP and WITH CUBE";
        return Err(unsupported(what, spec.line));
    }
    let plain = |i: &ast::GroupItem| matches!(i, ast::GroupItem::Expr(_));
    match by.items.iter().all(plain) {
        true => Ok(()),
        false => Err(unsupported("ROLLUP, CUBE and GROUPING SETS", spec.line)),
    }
}

impl Binder<'_> {
    pub(super) fn groups(
        &mut self,
        spec: &ast::QuerySpec,
        scope: &Scope<'_>,
    ) -> SqlResult<Vec<Expr>> {
        let mut groups = Vec::new();
        let Some(by) = &spec.group_by else {
            return Ok(groups);
        };
        refused(spec)?;
        for item in &by.items {
            if let ast::GroupItem::Expr(e) = item {
                let mut none = Aggregates::Forbidden(&messages::GROUP_BY_AGGREGATE_OR_SUBQUERY);
                let group = self.expr(e, scope, &mut none)?;
                if group.has_subquery() {
                    let message = &messages::GROUP_BY_AGGREGATE_OR_SUBQUERY;
                    return Err(SqlError::new(message, &[]).at_line(e.line as i32));
                }
                super::types::check_order(&group.ty)?;
                let mut own = false;
                group.visit_columns(&mut |depth, _| own |= depth == 0);
                if !own {
                    let error = SqlError::new(&messages::GROUP_BY_NO_COLUMN, &[]);
                    return Err(error.at_line(e.line as i32));
                }
                groups.push(group);
            }
        }
        Ok(groups)
    }
}

/// What the row of a group holds: `kept` columns of one of its input rows, the keys, the aggregates.
pub(super) struct Groups {
    pub by: Vec<Expr>,
    pub kept: usize,
}

pub(super) fn aggregate(plan: Plan, groups: Groups, aggregates: Vec<Aggregate>) -> Plan {
    let out = OutColumn::unnamed;
    let Groups { by, kept } = groups;
    let mut columns: Vec<OutColumn> = plan.columns[..kept].to_vec();
    columns.extend(by.iter().map(|g| out(g.ty, g.nullable)));
    columns.extend(aggregates.iter().map(|a| out(a.ty, true)));
    let correlated = plan.correlated;
    Plan {
        node: Node::Aggregate {
            input: Box::new(plan),
            groups: by,
            aggregates,
            kept,
            ordered: false,
        },
        columns: columns.into(),
        correlated,
    }
}

/// COALESCE of a value that is there needs nothing of what follows.
fn fold(e: &mut Expr) {
    let there = |e: &Expr| match &e.kind {
        Kind::IsNull {
            input,
            negated: true,
        } => matches!(&input.kind, Kind::Const(v) if !v.is_null()),
        _ => false,
    };
    if let Kind::Case { branches, .. } = &mut e.kind
        && branches.first().is_some_and(|(when, _)| there(when))
    {
        let (_, first) = branches.swap_remove(0);
        e.kind = first.kind;
    }
}

/// Rewrites an expression over the sources into one over the groups.
pub(super) fn over_groups(
    e: &mut Expr,
    groups: &Groups,
    scope: &Scope<'_>,
    message: &'static messages::Message,
) -> SqlResult<()> {
    if let Some(i) = groups.by.iter().position(|g| g.kind == e.kind) {
        let index = groups.kept + i;
        e.kind = Kind::Column { depth: 0, index };
        return Ok(());
    }
    fold(e);
    match &mut e.kind {
        Kind::Aggregate(i) => {
            e.kind = Kind::Column {
                depth: 0,
                index: groups.kept + groups.by.len() + *i,
            };
            Ok(())
        }
        Kind::Column { depth: 0, index } => {
            let index = *index;
            let source = scope.sources.iter().rev().find(|s| s.offset <= index);
            let (table, column) = source.map_or((String::new(), String::new()), |s| {
                (
                    s.exposed.written(),
                    s.columns[index - s.offset].name.to_string(),
                )
            });
            Err(SqlError::new(message, &[&table, &column]))
        }
        Kind::Const(Value::Null) => Ok(()),
        _ => e.try_for_each_child(&mut |child| over_groups(child, groups, scope, message)),
    }
}
