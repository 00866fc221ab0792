//! How large a plan's tables were when it was chosen: a plan for few rows is a bad one for many.

use std::sync::Arc;

use crate::children::{each_expr, each_input};
use crate::expr::{Expr, Kind};
use crate::host::Table;
use crate::plan::{Node, Plan};

/// Tables too small to matter are taken to have this many rows more.
const SMALL: u64 = 64;
/// How many times as many rows, or as few, make a plan old.
const TIMES: u64 = 4;

/// The tables that a plan reads, with their rows at that time.
#[derive(Clone, Debug, Default)]
pub struct Sizes(Vec<(Arc<dyn Table>, u64)>);

impl Sizes {
    pub fn of(plan: &Plan) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.add(plan);
        sizes
    }

    fn add(&mut self, plan: &Plan) {
        if let Node::Scan { table, .. } = &plan.node {
            self.0.push((table.def.clone(), table.def.rows_about()));
        }
        each_input(&plan.node, &mut |p| self.add(p));
        each_expr(plan, &mut |e| self.add_subqueries(e));
    }

    fn add_subqueries(&mut self, e: &Expr) {
        match &e.kind {
            Kind::Scalar(p)
            | Kind::Exists(p)
            | Kind::InQuery { plan: p, .. }
            | Kind::Quantified { plan: p, .. } => self.add(p),
            _ => {}
        }
        e.for_each_child(&mut |c| self.add_subqueries(c));
    }

    /// Whether one of the tables has become much larger or smaller.
    pub fn have_changed(&self) -> bool {
        self.0.iter().any(|(table, then)| {
            let (then, now) = (then + SMALL, table.rows_about() + SMALL);
            now > then * TIMES || then > now * TIMES
        })
    }
}
