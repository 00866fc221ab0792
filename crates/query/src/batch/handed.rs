//! Where row operators go on whose memory has ended: by column, with the rows that they have kept and those still to come.
//!
//! The operators over columns answer as the row operators do, ties included, and they know files.

use duramen_base::SqlResult;
use duramen_types::batch::Batch;

use super::compared::Compared;
use super::source::{Rows, batch_of};
use super::{BATCH_ROWS, BatchOperator, aggregate, join, sort, stream};
use crate::aggregate::Begun;
use crate::cx::Cx;
use crate::exec::Operator;
use crate::kept::Leaving;
use crate::plan::{OutColumn, Plan, SortKey};

/// Rows that were kept, whose memory is given back as they go, then the rest.
pub struct Handed<'p> {
    plan: &'p Plan,
    needed: Vec<bool>,
    first: Leaving,
    rest: Option<Operator<'p>>,
}

impl<'p> Handed<'p> {
    /// The rows of `plan`.
    pub fn new(plan: &'p Plan, first: Leaving, rest: Option<Operator<'p>>) -> Handed<'p> {
        Handed {
            plan,
            needed: vec![true; plan.columns.len()],
            first,
            rest,
        }
    }
}

impl BatchOperator for Handed<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        if !self.first.is_empty() {
            let rows = self.first.take(BATCH_ROWS);
            return Ok(Some(batch_of(rows, self.plan, &self.needed)));
        }
        let Some(rest) = &mut self.rest else {
            return Ok(None);
        };
        let rows = rest.next(cx)?;
        Ok(rows.map(|rows| batch_of(rows, self.plan, &self.needed)))
    }
}

fn rows<'p>(operator: impl BatchOperator + 'p) -> Operator<'p> {
    Operator::Columns(Box::new(Rows::new(Box::new(operator))))
}

/// Sorts them.
pub fn sorted<'p>(
    handed: Handed<'p>,
    by: (&'p Plan, &'p [SortKey]),
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    Ok(rows(sort::over(Box::new(handed), by, cx)?))
}

/// Leaves out those that equal an earlier one; `seen` have come out already.
pub fn distinct<'p>(
    mut seen: Leaving,
    input: (&'p Plan, Operator<'p>),
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let (plan, rest) = input;
    let all = vec![true; plan.columns.len()];
    let handed = Handed::new(plan, Leaving::default(), Some(rest));
    let mut distinct = stream::Distinct::new(Box::new(handed), &plan.columns, cx);
    while !seen.is_empty() {
        cx.check_cancelled()?;
        let some = seen.take(BATCH_ROWS);
        distinct.has_seen(batch_of(some, plan, &all), cx)?;
    }
    Ok(rows(distinct))
}

/// Goes on with groups that were begun.
pub fn grouped<'p>(
    plan: &'p Plan,
    begun: Begun,
    rest: Handed<'p>,
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let grouped = aggregate::resumed(plan, begun, Box::new(rest), cx)?;
    Ok(Operator::Columns(Box::new(Rows::new(grouped))))
}

/// EXCEPT and INTERSECT with what was read of the other side.
pub fn compared<'p>(
    input: (&'p Plan, Operator<'p>),
    other: Handed<'p>,
    (columns, keep_common): (&'p [OutColumn], bool),
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let (plan, rest) = input;
    let input = Handed::new(plan, Leaving::default(), Some(rest));
    let other = Box::new(other);
    let compared = Compared::new(Box::new(input), columns, other, keep_common, cx)?;
    Ok(rows(compared))
}

/// Computes window functions over them.
pub fn windowed<'p>(
    handed: Handed<'p>,
    plan: &'p Plan,
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    Ok(rows(super::windowed::over(Box::new(handed), plan, cx)?))
}

/// Joins the rows of both sides of a hash join.
pub fn joined<'p>(
    plan: &'p Plan,
    left: Handed<'p>,
    right: Handed<'p>,
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let joined = join::over(plan, Box::new(left), Box::new(right), cx)?;
    Ok(rows(joined))
}
