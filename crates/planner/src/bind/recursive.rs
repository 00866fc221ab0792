//! Recursive common table expressions: an anchor, and members that read what the last round gave.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::plan::Node;
use duramen_query::{Columns, OutColumn, Plan};
use duramen_tsql::ast::{self, QueryExpr, SetOp};

use super::{Binder, same_name};

/// Tells work tables of one statement apart, wherever they are bound.
static NEXT_WORK_TABLE: AtomicU64 = AtomicU64::new(0);

/// How deep a recursion goes when OPTION (MAXRECURSION) says nothing.
pub(super) const DEFAULT_MAX_RECURSION: u64 = 100;

/// A common table expression whose members are being bound.
#[derive(Clone, Debug)]
pub(super) struct Recursion {
    pub name: String,
    pub columns: Columns,
    id: u64,
}

impl Recursion {
    /// The rows of the last round.
    pub fn scan(&self) -> Plan {
        Plan {
            node: Node::WorkTable { id: self.id },
            columns: self.columns.clone(),
            correlated: false,
        }
    }
}

/// Whether a query names a table of its own outermost FROM clauses, joins and derived tables.
pub(super) fn names_table(body: &QueryExpr, name: &str) -> bool {
    fn source(s: &ast::TableSource, name: &str) -> bool {
        match s {
            ast::TableSource::Table(t) => t.name.parts.len() == 1 && same_name(t.name.name(), name),
            ast::TableSource::Join(j) => source(&j.left, name) || source(&j.right, name),
            ast::TableSource::Derived { query, .. } => names_table(&query.body, name),
            _ => false,
        }
    }
    match body {
        QueryExpr::Select(spec) => spec.from.iter().any(|s| source(s, name)),
        QueryExpr::SetOp { left, right, .. } => names_table(left, name) || names_table(right, name),
        QueryExpr::Values(_) => false,
    }
}

/// The terms of a chain of set operations, each with the operator before it.
fn terms<'q>(body: &'q QueryExpr, out: &mut Vec<(Option<(SetOp, bool)>, &'q QueryExpr)>) {
    match body {
        QueryExpr::SetOp {
            op,
            all,
            left,
            right,
        } => {
            terms(left, out);
            out.push((Some((*op, *all)), right));
        }
        other => out.push((None, other)),
    }
}

impl Binder<'_> {
    /// A CTE that names itself.
    pub(super) fn recursive(&mut self, cte: &ast::Cte) -> SqlResult<Plan> {
        let mut all = Vec::new();
        terms(&cte.query.body, &mut all);
        let own = |body: &QueryExpr| names_table(body, &cte.name);
        let anchors = all.iter().take_while(|(_, body)| !own(body)).count();
        let members = all.split_off(anchors);
        if all.is_empty()
            || members
                .iter()
                .any(|(op, _)| *op != Some((SetOp::Union, true)))
        {
            let error = SqlError::new(&messages::RECURSIVE_CTE_NO_UNION_ALL, &[&cte.name]);
            return Err(error.at_line(cte.line as i32));
        }
        let mut anchor: Option<Plan> = None;
        for (op, body) in all {
            let plan = self.body(body, None)?;
            anchor = Some(match (anchor, op) {
                (Some(left), Some((op, all))) => self.set_operation(op, all, left, plan)?,
                (_, _) => plan,
            });
        }
        let Some(anchor) = anchor else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        };
        let mut columns = anchor.columns.clone();
        for (i, c) in Arc::make_mut(&mut columns).iter_mut().enumerate() {
            c.nullable = true;
            c.identity = false;
            c.updatable = false;
            if let Some(name) = cte.columns.get(i) {
                c.name = name.as_str().into();
            }
        }
        let id = NEXT_WORK_TABLE.fetch_add(1, Ordering::Relaxed);
        self.recursions.push(Recursion {
            name: cte.name.clone(),
            columns: columns.clone(),
            id,
        });
        let mut bound = Vec::new();
        let mut failed = None;
        for (_, body) in members {
            match self
                .body(body, None)
                .and_then(|p| matching(p, &columns, cte))
            {
                Ok(plan) => bound.push(plan),
                Err(e) => failed = failed.or(Some(e)),
            }
        }
        self.recursions.pop();
        match failed {
            Some(e) => Err(e),
            None => Ok(Plan {
                node: Node::Recursive {
                    anchor: Box::new(anchor),
                    members: bound,
                    id,
                    limit: self.max_recursion,
                },
                columns,
                correlated: false,
            }),
        }
    }
}

/// 205 and 240: a member has the anchor's columns, exactly.
fn matching(plan: Plan, columns: &[OutColumn], cte: &ast::Cte) -> SqlResult<Plan> {
    if plan.columns.len() != columns.len() {
        return Err(SqlError::new(&messages::UNION_COLUMN_COUNT, &[]));
    }
    for (own, anchor) in plan.columns.iter().zip(columns) {
        let (a, b) = (&own.ty, &anchor.ty);
        let decimals = a.id.is_decimal() && b.id.is_decimal();
        let same = (a.id == b.id || decimals)
            && (a.length, a.precision, a.scale) == (b.length, b.precision, b.scale);
        if !same {
            let args: [&dyn std::fmt::Display; 2] = [&anchor.name, &cte.name];
            return Err(SqlError::new(&messages::RECURSIVE_TYPES_DIFFER, &args));
        }
    }
    Ok(plan)
}
