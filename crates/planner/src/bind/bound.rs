//! What is bound before its plan is made: names and types are known, nothing is chosen yet.

use std::collections::BTreeSet;

use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_query::{Expr, Plan};
use duramen_types::{SqlType, Value};

use super::Binder;
use crate::optimize::{Hints, optimize, optimize_exists, optimize_for};

/// A query that is bound and not planned.
#[derive(Debug)]
pub struct BoundQuery {
    pub(super) plan: Plan,
    pub(super) hints: Hints,
}

impl BoundQuery {
    pub fn columns(&self) -> &duramen_query::plan::Columns {
        &self.plan.columns
    }

    /// As it is bound, to look at.
    pub(crate) fn unplanned(&self) -> &Plan {
        &self.plan
    }

    /// The best plan. 8622 when its hints allow none.
    pub fn planned(self) -> SqlResult<Plan> {
        self.hints.planned(self.plan)
    }

    /// The same, for several threads to run.
    pub fn parallel(self) -> SqlResult<Plan> {
        let plan = self.hints.planned(self.plan)?;
        let hints = &self.hints;
        let (in_order, degree) = (hints.in_order.get(), hints.max_degree);
        Ok(duramen_query::parallel::marked(plan, in_order, degree))
    }
}

impl Hints {
    /// The best plan for what is bound. 8622 when these hints allow none.
    pub(crate) fn planned(&self, plan: Plan) -> SqlResult<Plan> {
        self.possible(optimize(plan, self))
    }

    /// The same, when these of its columns are wanted.
    pub(crate) fn planned_for(&self, plan: Plan, wanted: &BTreeSet<usize>) -> SqlResult<Plan> {
        self.possible(optimize_for(plan, wanted, self))
    }

    fn possible(&self, plan: Plan) -> SqlResult<Plan> {
        // What was made for a statement that is given up is not to be used.
        given_up::check()?;
        match self.impossible.get() {
            false => Ok(plan),
            true => Err(SqlError::new(&messages::NO_PLAN_FOR_HINTS, &[])),
        }
    }
}

/// Errors of the names of columns, and of tables.
fn is_of_names(e: &SqlError) -> bool {
    let names = [
        &messages::INVALID_COLUMN_NAME,
        &messages::AMBIGUOUS_COLUMN_NAME,
        &messages::MULTIPART_NOT_BOUND,
        &messages::INVALID_OBJECT_NAME,
    ];
    names.iter().any(|m| m.number == e.number)
}

impl Binder<'_> {
    /// The plan of a subquery.
    pub(super) fn nested_plan(&mut self, plan: Plan) -> SqlResult<Plan> {
        match self.leaves_unplanned() {
            true => Ok(plan),
            false => self.plan_hints.planned(plan),
        }
    }

    /// The plan of a subquery of which only the existence of rows is wanted.
    pub(super) fn nested_exists(&mut self, plan: Plan) -> SqlResult<Plan> {
        match self.leaves_unplanned() {
            true => Ok(plan),
            false => {
                let plan = optimize_exists(plan, &self.plan_hints);
                self.plan_hints.possible(plan)
            }
        }
    }

    fn leaves_unplanned(&mut self) -> bool {
        self.unplanned |= self.checking;
        self.checking
    }

    /// Binds a whole statement: all of its names that mean nothing are told, not only the first.
    pub(crate) fn with_all_names<T>(
        &mut self,
        bind: impl FnOnce(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if std::mem::replace(&mut self.collecting, true) {
            return bind(self);
        }
        let bound = bind(self);
        self.collecting = false;
        let mut unknown = self.unknown.take();
        if unknown.is_empty() {
            return bound;
        }
        // What else is wrong may only follow from the names. One that is not a column's was reached in spite of them.
        match bound {
            Err(e) if !is_of_names(&e) => {}
            Err(e) => unknown.push(e),
            Ok(_) => {}
        }
        let missing = |e: &SqlError| e.number == messages::INVALID_OBJECT_NAME.number;
        match unknown.iter().position(missing) {
            Some(at) => Err(unknown.swap_remove(at)),
            None => Err(SqlError::joined(unknown)
                .unwrap_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))),
        }
    }

    /// A column, or the error of its name: noted where the whole statement is looked through, with a NULL in its place.
    pub(super) fn known(&self, found: SqlResult<Expr>, line: u32) -> SqlResult<Expr> {
        match found {
            Err(e) if self.collecting && is_of_names(&e) => {
                self.unknown.borrow_mut().push(e.at_line(line as i32));
                Ok(Expr::constant(Value::Null, SqlType::INT))
            }
            found => found,
        }
    }

    pub(crate) fn take_hints(&mut self) -> Hints {
        std::mem::take(&mut self.plan_hints)
    }
}
