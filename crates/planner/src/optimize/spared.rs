//! What nobody wants is not computed: columns of derived tables, views and functions that the query around them does not
//! read cost nothing and raise no error.
//!
//! A column keeps its place and its type and has no value. Expressions give NULL for it; aggregates and window functions
//! go, and a projection above puts the others where they were.

use std::collections::BTreeSet;

use duramen_types::Value;

use duramen_query::plan::Node;
use duramen_query::{Expr, Kind, OutColumn, Plan};

/// Leaves out of a node what makes columns that are not among `wanted`.
pub(super) fn spare(plan: &mut Plan, wanted: &BTreeSet<usize>) {
    let unwanted = |column: usize| !wanted.contains(&column);
    match &mut plan.node {
        Node::Project { exprs, .. } => without_values(exprs, unwanted),
        Node::Values(rows) => rows.iter_mut().for_each(|r| without_values(r, unwanted)),
        Node::Aggregate {
            groups,
            aggregates,
            kept,
            ..
        } => {
            let first = *kept + groups.len();
            if let Some(gone) = gone(first, aggregates.len(), unwanted) {
                without(aggregates, first, &gone);
                around(plan, &gone);
            }
        }
        Node::Window { input, calls } => {
            let first = input.columns.len();
            if let Some(gone) = gone(first, calls.len(), unwanted) {
                without(calls, first, &gone);
                around(plan, &gone);
            }
        }
        _ => {}
    }
}

/// What costs nothing stays as it is.
fn without_values(exprs: &mut [Expr], unwanted: impl Fn(usize) -> bool) {
    for (i, e) in exprs.iter_mut().enumerate() {
        if !matches!(e.kind, Kind::Column { .. } | Kind::Const(_)) && unwanted(i) {
            *e = Expr::constant(Value::Null, e.ty);
        }
    }
}

/// The columns that go, of `count` from `first` on; `None` when all stay.
fn gone(first: usize, count: usize, unwanted: impl Fn(usize) -> bool) -> Option<BTreeSet<usize>> {
    let mut columns = first..first + count;
    match columns.clone().any(&unwanted) {
        true => Some(columns.by_ref().filter(|c| unwanted(*c)).collect()),
        false => None,
    }
}

fn without<T>(makers: &mut Vec<T>, first: usize, gone: &BTreeSet<usize>) {
    let mut column = first..;
    makers.retain(|_| column.next().is_some_and(|c| !gone.contains(&c)));
}

/// The plan, which has lost columns, below a projection that gives out as many as before.
fn around(plan: &mut Plan, gone: &BTreeSet<usize>) {
    let mut there: Vec<OutColumn> = Vec::with_capacity(plan.columns.len() - gone.len());
    let mut exprs = Vec::with_capacity(plan.columns.len());
    for (i, c) in plan.columns.iter().enumerate() {
        exprs.push(match gone.contains(&i) {
            true => Expr::constant(Value::Null, c.ty),
            false => {
                there.push(c.clone());
                Expr::column(there.len() - 1, c.ty, c.nullable)
            }
        });
    }
    let mut below = Plan {
        node: std::mem::replace(&mut plan.node, Node::OneRow),
        columns: there.into(),
        correlated: plan.correlated,
    };
    if let Node::Window { input, calls } = &mut below.node
        && calls.is_empty()
    {
        below = std::mem::replace(&mut **input, Plan::one_row());
    }
    plan.node = Node::Project {
        input: Box::new(below),
        exprs,
    };
}
