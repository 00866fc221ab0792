//! The order in which a plan gives out its rows, where it has one.

use duramen_query::host::AccessPath;
use duramen_query::plan::{JoinKind, Node, Seek, SortKey};
use duramen_query::{Expr, Kind, Plan};

use super::grouping;

/// A plan's order: columns, each ascending or descending, and columns of which every row has the same value.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub by: Vec<(usize, bool)>,
    pub fixed: Vec<usize>,
    /// No two rows agree in all of `by` and `fixed`: further keys change nothing.
    pub unique: bool,
}

impl Order {
    /// Whether rows in this order are in the order of `keys` too.
    pub fn gives(&self, keys: &[(usize, bool)]) -> bool {
        let mut by = self.by.iter();
        for key in keys.iter().filter(|(c, _)| !self.fixed.contains(c)) {
            match by.next() {
                Some(have) if have == key => {}
                Some(_) => return false,
                None => return self.unique,
            }
        }
        true
    }
}

/// The order in which an access path gives out what is sought in it.
pub fn of_path(path: &AccessPath, seek: &Seek, forward: bool) -> Order {
    if !path.ordered {
        return Order::default();
    }
    let (fixed, by) = path.keys.split_at(seek.equal.len().min(path.keys.len()));
    Order {
        by: by.iter().map(|(c, desc)| (*c, *desc == forward)).collect(),
        fixed: fixed.iter().map(|k| k.0).collect(),
        unique: path.unique,
    }
}

/// The keys of a sort as columns, if they are.
pub fn columns_of(keys: &[SortKey]) -> Option<Vec<(usize, bool)>> {
    let one = |k: &SortKey| match k.expr.kind {
        Kind::Column { depth: 0, index } => Some((index, k.descending)),
        _ => None,
    };
    keys.iter().map(one).collect()
}

/// The order of a plan's rows.
pub fn of(plan: &Plan) -> Order {
    match &plan.node {
        Node::Scan {
            table,
            seek: Some(seek),
            ..
        } => match table.def.paths().get(seek.index) {
            Some(path) => of_path(path, seek, !seek.backward),
            None => Order::default(),
        },
        Node::Filter { input, .. } | Node::Top { input, .. } | Node::Skip { input, .. } => {
            of(input)
        }
        Node::Project { input, exprs } => {
            let below = of(input);
            let place = |c: usize| {
                exprs
                    .iter()
                    .position(|e| matches!(e.kind, Kind::Column { depth: 0, index } if index == c))
            };
            let by: Vec<_> = below
                .by
                .iter()
                .map_while(|(c, d)| Some((place(*c)?, *d)))
                .collect();
            Order {
                unique: below.unique && by.len() == below.by.len(),
                by,
                fixed: below.fixed.iter().filter_map(|c| place(*c)).collect(),
            }
        }
        Node::Join {
            left, apply: true, ..
        }
        | Node::Join {
            left,
            kind: JoinKind::Inner | JoinKind::Left,
            merge: true,
            ..
        } => Order {
            unique: false,
            ..of(left)
        },
        Node::Aggregate {
            input,
            groups,
            kept,
            ordered: true,
            ..
        } => {
            let column = |e: &Expr| match e.kind {
                Kind::Column { depth: 0, index } => Some(index),
                _ => None,
            };
            let columns: Option<Vec<usize>> = groups.iter().map(column).collect();
            columns.map_or_else(Order::default, |columns| {
                grouping::groups_given(&of(input), &columns, *kept)
            })
        }
        Node::Sort { keys, .. } => {
            let one = |k: &SortKey| match k.expr.kind {
                Kind::Column { depth: 0, index } => Some((index, k.descending)),
                _ => None,
            };
            Order {
                by: keys.iter().map_while(one).collect(),
                ..Order::default()
            }
        }
        _ => Order::default(),
    }
}
