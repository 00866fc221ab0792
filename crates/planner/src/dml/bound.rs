//! A statement that changes rows, bound and not planned: everything that can be wrong with it is known, how its rows are
//! found is chosen when it is reached.

use std::collections::BTreeSet;

use duramen_base::SqlResult;
use duramen_query::plan::Node;
use duramen_query::reads::read_by;
use duramen_query::{Expr, Plan};
use duramen_types::SqlType;

use super::statement::{Action, Dml, InsertSource};
use super::target::topmost;
use crate::bind::{Binder, BoundQuery, converted};
use crate::optimize::Hints;

/// A statement that changes rows, to be planned when it is reached.
#[derive(Debug)]
pub struct BoundDml {
    dml: Dml,
    later: Later,
    incomplete: bool,
}

/// What is left to plan.
#[derive(Debug)]
pub(super) enum Later {
    Nothing,
    /// How an UPDATE or DELETE finds its rows.
    Rows(Box<Hints>),
    /// The query of an INSERT; its TOP, which may be a percentage; the types that it is converted to.
    Query(Box<BoundQuery>, Option<(Expr, bool)>, Vec<SqlType>),
}

impl BoundDml {
    pub(super) fn new(dml: Dml, later: Later, binder: &Binder<'_>) -> BoundDml {
        BoundDml {
            dml,
            later,
            incomplete: binder.is_incomplete(),
        }
    }

    /// Whether it lacks plans within, so that nothing can run it.
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// The statement, ready to run.
    pub fn planned(mut self) -> SqlResult<Dml> {
        let wanted = self.dml.wanted();
        match (self.later, &mut self.dml.action) {
            (Later::Rows(hints), Action::Update { plan, .. } | Action::Delete { plan, .. }) => {
                let bound = std::mem::replace(plan, Plan::one_row());
                *plan = hints.planned_for(bound, &wanted)?;
                if self.dml.table.takes_spooled() {
                    duramen_query::lent::mark(plan);
                }
            }
            (Later::Query(query, top, types), Action::Insert { source, .. }) => {
                let plan = match top {
                    None => query.parallel()?,
                    // Not all of the rows are wanted.
                    Some((count, percent)) => topmost(query.planned()?, count, percent),
                };
                let mut plan = converted(plan, &types)?;
                if self.dml.table.takes_spooled() {
                    duramen_query::lent::mark(&mut plan);
                }
                *source = match plan.node {
                    // One row, whose large values may go unread as those of VALUES.
                    Node::Project { input, exprs }
                        if matches!(input.node, Node::OneRow)
                            && exprs.iter().any(|e| e.ty.is_max()) =>
                    {
                        InsertSource::Row(exprs)
                    }
                    node => InsertSource::Query(Box::new(Plan { node, ..plan })),
                };
            }
            _ => {}
        }
        Ok(self.dml)
    }
}

impl Dml {
    /// What the statement reads of the rows that it finds: what lies in the table, and what its expressions name.
    fn wanted(&self) -> BTreeSet<usize> {
        let mut wanted = BTreeSet::new();
        let offset = match &self.action {
            Action::Insert { .. } => return wanted,
            Action::Delete { offset, .. } => *offset,
            Action::Update {
                offset,
                assignments,
                variables,
                ..
            } => {
                let exprs = assignments.iter().chain(variables);
                exprs.for_each(|(_, e)| read_by(e, &mut wanted));
                *offset
            }
        };
        // The row's place stands behind its columns.
        wanted.extend(offset..=offset + self.table.columns().len());
        if let Some(output) = &self.output {
            output.read_of_found(&mut wanted);
        }
        wanted
    }
}

pub(super) fn planned(bound: BoundDml) -> SqlResult<Dml> {
    bound.planned()
}
