//! Plans whose scans may leave large values where they are.
//!
//! Those are plans in which a row goes from its table to whoever asks through nothing that would compare, hash or add up the
//! value: scans, conditions, projections, sorts by other columns, TOP, groups and aggregates of what is small
//! (`MAX(DATALENGTH(doc))`). Their expressions know values that are not in memory
//! (`crate::long`). In every other plan a large value is read into memory, or refused where there is no room (701).

use std::sync::Arc;

use duramen_os::stack;

use crate::expr::Expr;
use crate::plan::{Aggregate, Node, Plan};

/// Lets the scans of a plan lend. Only of one whose rows go to the client, into variables or into a table.
pub fn mark(plan: &mut Plan) {
    stack::deep(|| match &mut plan.node {
        Node::Scan { table, lock, .. } => {
            lock.lends = table.def.columns().iter().any(|c| c.ty.is_max());
        }
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::Assign { input, .. }
        | Node::Skip { input, .. } => mark(input),
        Node::Top { input, ties, .. } if ties.is_empty() => mark(input),
        Node::Sort { input, keys } if keys.iter().all(|k| !k.expr.ty.is_max()) => mark(input),
        Node::Aggregate {
            input,
            groups,
            aggregates,
            kept: 0,
            ..
        } if groups.iter().all(is_small) && aggregates.iter().all(takes_small) => mark(input),
        // Values on their way between threads are lent as those of one.
        Node::Parallel { zone, .. } => {
            let zone = Arc::get_mut(zone);
            debug_assert!(zone.is_some(), "a plan runs before it is marked");
            if let Some(zone) = zone {
                mark(zone);
            }
        }
        _ => {}
    });
}

fn is_small(e: &Expr) -> bool {
    !e.ty.is_max()
}

fn takes_small(of: &Aggregate) -> bool {
    of.list.is_none() && of.input.iter().all(is_small)
}
