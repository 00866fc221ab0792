//! The memory that a plan is expected to want: what a grant is asked by.

use duramen_query::children::{each_expr, each_input, each_subquery};
use duramen_query::estimate::{column_bytes, estimate};
use duramen_query::plan::Node;
use duramen_query::{OutColumn, Plan};

/// Rows below which a plan's tables are not looked at any closer: what keeps so few takes next to nothing.
const FEW: u64 = 8192;
/// A column of varying length is taken to hold no more than this. *Assumed*.
const LONG: f64 = 64.0;
/// What an operator takes of each row besides its columns.
const ROW_BYTES: f64 = 48.0;

/// Of a plan, in bytes and in the unit of estimated costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// What its operators would keep in memory.
    pub ideal: u64,
    /// Operators that keep rows.
    pub operators: u64,
    pub cost: f64,
    /// Several threads may run parts of it.
    pub parallel: bool,
}

impl Wanted {
    /// Of a plan whose tables have `rows` together.
    pub(super) fn of(plan: &Plan, rows: u64) -> Wanted {
        let mut wanted = Wanted::default();
        if rows >= FEW {
            wanted.add(plan);
            if wanted.operators > 0 {
                wanted.cost = estimate(plan).cost;
            }
        }
        wanted
    }

    fn add(&mut self, plan: &Plan) {
        match &plan.node {
            Node::Sort { input, .. } | Node::Window { input, .. } | Node::Distinct { input } => {
                self.keeps(input);
            }
            Node::Aggregate {
                groups,
                ordered: false,
                ..
            } if !groups.is_empty() => self.keeps(plan),
            Node::SetOperation { left, right, .. } => {
                self.keeps(left);
                self.keeps(right);
            }
            Node::Join {
                left,
                right,
                apply: false,
                merge: false,
                ..
            } => match duramen_query::batch::builds_left(left, right) {
                true => self.keeps(left),
                false => self.keeps(right),
            },
            Node::Parallel { .. } => self.parallel = true,
            _ => {}
        }
        each_input(&plan.node, &mut |p| self.add(p));
        each_expr(plan, &mut |e| each_subquery(e, &mut |p| self.add(p)));
    }

    /// An operator keeps the rows of a plan.
    fn keeps(&mut self, plan: &Plan) {
        let column = |c: &OutColumn| match c.ty.is_variable() {
            true => column_bytes(&c.ty).min(LONG),
            false => column_bytes(&c.ty),
        };
        let row = ROW_BYTES + plan.columns.iter().map(column).sum::<f64>();
        self.operators += 1;
        // A float that is too large becomes the largest number.
        self.ideal = self
            .ideal
            .saturating_add((estimate(plan).rows * row) as u64);
    }
}
