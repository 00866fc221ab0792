//! How large a plan's tables were when it was chosen: a plan for few rows is a bad one for many.

use std::sync::Arc;

use duramen_query::children::{each_expr, each_input};
use duramen_query::host::Table;
use duramen_query::plan::Node;
use duramen_query::{Expr, Kind, Plan};

use super::wanted::Wanted;

/// Tables too small to matter are taken to have this many rows more.
const SMALL: u64 = 64;
/// How many times as many rows, or as few, make a plan old.
const TIMES: u64 = 4;

/// The tables that a plan reads, with their rows at that time, and the memory that it was expected to want.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    tables: Vec<(Arc<dyn Table>, u64)>,
    wanted: Wanted,
}

impl Sizes {
    pub fn of(plan: &Plan) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.add(plan);
        let rows = sizes.tables.iter().map(|(_, rows)| *rows);
        sizes.wanted = Wanted::of(plan, rows.fold(0, u64::saturating_add));
        sizes
    }

    /// The memory that the plan wants.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    fn add(&mut self, plan: &Plan) {
        if let Node::Scan { table, .. } = &plan.node {
            let rows = table.def.rows_about();
            self.tables.push((table.def.clone(), rows));
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
        self.tables.iter().any(|(table, then)| {
            let (then, now) = (then + SMALL, table.rows_about() + SMALL);
            now > then * TIMES || then > now * TIMES
        })
    }
}
