//! Which columns of each node a plan reads: an index that holds them all answers without a look at the table, and what
//! nobody reads is not computed.

use std::collections::BTreeSet;

use duramen_os::stack;
use duramen_query::Plan;
use duramen_query::children::{each_expr, each_input_mut};
use duramen_query::plan::Node;
use duramen_query::reads::{outer_of, read_by};

use super::spared::spare;

type Columns = BTreeSet<usize>;

/// Notes at every scan what is read of it, when `wanted` of the plan's columns are.
pub fn note(plan: &mut Plan, wanted: &Columns) {
    stack::deep(|| note_into(plan, wanted));
}

fn note_into(plan: &mut Plan, wanted: &Columns) {
    spare(plan, wanted);
    let mut own = Columns::new();
    let mut below = wanted.clone();
    each_expr(plan, &mut |e| read_by(e, &mut own));
    match &mut plan.node {
        Node::Scan { table, .. } => {
            // A scan for rows to change gives out whole rows.
            let width = table.def.columns().len();
            table.needed = match plan.columns.len() > width {
                true => None,
                false => Some(below.into_iter().collect()),
            };
        }
        Node::OneRow | Node::Values(_) | Node::Virtual { .. } | Node::WorkTable { .. } => {}
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Top { input, .. }
        | Node::Skip { input, .. } => {
            below.extend(own);
            note(input, &below);
        }
        Node::Window { input, .. } => {
            below.retain(|c| *c < input.columns.len());
            below.extend(own);
            note(input, &below);
        }
        Node::Project { input, exprs } => {
            let mut read = Columns::new();
            for c in wanted {
                if let Some(e) = exprs.get(*c) {
                    read_by(e, &mut read);
                }
            }
            note(input, &read);
        }
        Node::Assign { input, .. } => note(input, &own),
        Node::Aggregate { input, kept, .. } => {
            own.extend(0..*kept);
            note(input, &own);
        }
        Node::Join {
            left,
            right,
            hash,
            on,
            apply,
            ..
        } => {
            let width = left.columns.len();
            if let Some(on) = on {
                read_by(on, &mut below);
            }
            let mut sides = (Columns::new(), Columns::new());
            for c in below {
                match c.checked_sub(width) {
                    None => sides.0.insert(c),
                    Some(c) => sides.1.insert(c),
                };
            }
            for (l, r) in hash.iter() {
                read_by(l, &mut sides.0);
                read_by(r, &mut sides.1);
            }
            // What the right side spares it does not read of the left.
            note(right, &sides.1);
            if *apply {
                outer_of(right, 1, &mut sides.0);
            }
            note(left, &sides.0);
        }
        // Zones are marked in plans that are done.
        Node::Parallel { .. } => {}
        Node::Concat(inputs) => inputs.iter_mut().for_each(|p| note(p, &below)),
        node @ (Node::Recursive { .. } | Node::Distinct { .. } | Node::SetOperation { .. }) => {
            each_input_mut(node, &mut |p| {
                let columns = (0..p.columns.len()).collect();
                note(p, &columns);
            });
        }
    }
}
