//! What a statement's plan looks like, line by line, and the number that goes with its text.

use duramen_base::{SqlResult, given_up};
use duramen_planner::dml::Dml;
use duramen_planner::showplan::{PlanLine, lines_of, of_expression};
use duramen_query::Plan;
use duramen_query::host::Parallelism;

use crate::bound::Bound;

/// A statement's operators, and how many threads it is to use where that is known.
pub type Planned = (Vec<PlanLine>, Option<usize>);

/// Of a query that may use so many threads.
pub fn of_plan(plan: &Plan, variables: &[String], allowed: Parallelism) -> Planned {
    let lines = lines_of(plan, variables, Some(allowed));
    let degree = lines.iter().find_map(|l| l.degree);
    (lines, Some(degree.unwrap_or(1)))
}

/// Of a change of rows: how many threads find them is told where it is more than one.
pub fn of_change(change: &Dml, variables: &[String], allowed: Parallelism) -> Planned {
    let lines = change.explain(variables, allowed);
    let degree = lines.iter().find_map(|l| l.degree);
    (lines, degree)
}

/// Of what a step has bound. The error: the request has been given up meanwhile, and what there is is not the whole plan.
pub fn of_bound(bound: &Bound, variables: &[String], allowed: Parallelism) -> SqlResult<Planned> {
    let planned = match bound {
        Bound::Plan(plan, _) => of_plan(plan, variables, allowed),
        Bound::Dml(dml, _) => of_change(dml, variables, allowed),
        Bound::Expr(e) if e.reads_tables() => (of_expression((**e).clone(), variables), None),
        Bound::Expr(_) | Bound::Simple(_) => Planned::default(),
    };
    given_up::check()?;
    Ok(planned)
}

/// `query_hash`: the same for statements that differ in literals only. Numbers are not those of SQL Server, which
/// numbers what it makes of a text and not the text.
pub fn query_hash(text: &str) -> u64 {
    duramen_tsql::shape_hash(text)
}
