//! The rows that an INSERT takes from a query.
//!
//! A query that cannot see what the statement writes gives its rows one batch after the other. Any other is read to its end
//! before the first row is written; what finds no room in memory meanwhile waits in a file.

use std::collections::VecDeque;

use duramen_base::SqlResult;
use duramen_types::batch::Batch;

use duramen_query::batch::{BatchOperator, Keeper, Kept};
use duramen_query::children::{each_expr, each_input};
use duramen_query::host::Table;
use duramen_query::kept::rows_bytes;
use duramen_query::plan::Node;
use duramen_query::reads::is_volatile;
use duramen_query::spill::Grant;
use duramen_query::{Cx, Expr, Kind, Operator, Plan, Row};

pub(super) enum Rows<'p> {
    Stream(Operator<'p>),
    Read {
        first: VecDeque<Vec<Row>>,
        rest: Option<Kept>,
        _grant: Grant,
    },
}

impl<'p> Rows<'p> {
    pub fn open(plan: &'p Plan, target: &dyn Table, cx: &mut Cx<'_>) -> SqlResult<Rows<'p>> {
        let mut input = plan.start_for(cx.row_limit, cx)?;
        if !sees(plan, target) {
            return Ok(Rows::Stream(input));
        }
        let mut grant = Grant::new(cx.host.workspace());
        let (mut first, mut bytes) = (VecDeque::new(), 0);
        let mut rest: Option<Keeper> = None;
        while let Some(rows) = input.next(cx)? {
            cx.check_cancelled()?;
            if rest.is_none() {
                bytes += rows_bytes(&rows);
                if !grant.hold(bytes) {
                    rest = Some(Keeper::new(&plan.columns, cx)?);
                }
            }
            match &mut rest {
                Some(file) => file.put(rows)?,
                None => first.push_back(rows),
            }
        }
        Ok(Rows::Read {
            first,
            rest: rest.map(Keeper::finish).transpose()?,
            _grant: grant,
        })
    }

    /// Some rows; `None` at the end.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        match self {
            Rows::Stream(input) => input.next(cx),
            Rows::Read { first, rest, .. } => match (first.pop_front(), rest) {
                (Some(rows), _) => Ok(Some(rows)),
                (None, Some(file)) => file.next_rows(),
                (None, None) => Ok(None),
            },
        }
    }
}

/// The same by column.
pub(super) enum Batches<'p> {
    Stream(Box<dyn BatchOperator + 'p>),
    Read {
        first: VecDeque<Batch>,
        rest: Option<Kept>,
        _grant: Grant,
    },
}

impl<'p> Batches<'p> {
    pub fn open(plan: &'p Plan, target: &dyn Table, cx: &mut Cx<'_>) -> SqlResult<Batches<'p>> {
        let mut input = duramen_query::batch::open_whole(plan, cx)?;
        if !sees(plan, target) {
            return Ok(Batches::Stream(input));
        }
        let mut grant = Grant::new(cx.host.workspace());
        let (mut first, mut bytes) = (VecDeque::new(), 0);
        let mut rest: Option<Keeper> = None;
        while let Some(batch) = input.next(cx)? {
            cx.check_cancelled()?;
            if rest.is_none() {
                bytes += batch.heap_bytes();
                if !grant.hold(bytes) {
                    rest = Some(Keeper::new(&plan.columns, cx)?);
                }
            }
            match &mut rest {
                Some(file) => file.put_batch(&batch)?,
                None => first.push_back(batch),
            }
        }
        Ok(Batches::Read {
            first,
            rest: rest.map(Keeper::finish).transpose()?,
            _grant: grant,
        })
    }

    /// A batch; `None` at the end.
    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        match self {
            Batches::Stream(input) => input.next(cx),
            Batches::Read { first, rest, .. } => match (first.pop_front(), rest) {
                (Some(batch), _) => Ok(Some(batch)),
                (None, Some(file)) => file.next_batch(),
                (None, None) => Ok(None),
            },
        }
    }
}

/// Whether a query may read what the target holds: by its name, or in ways that a plan does not show.
fn sees(plan: &Plan, target: &dyn Table) -> bool {
    let own = match &plan.node {
        Node::Scan { table, .. } => table.def.full_name() == target.full_name(),
        Node::Virtual { table, .. } => table.may_change(),
        _ => false,
    };
    let mut found = own;
    each_input(&plan.node, &mut |p| found |= sees(p, target));
    each_expr(plan, &mut |e| found |= expr_sees(e, target));
    found
}

fn expr_sees(e: &Expr, target: &dyn Table) -> bool {
    let mut found = is_volatile(e);
    if let Kind::Scalar(p)
    | Kind::Exists(p)
    | Kind::InQuery { plan: p, .. }
    | Kind::Quantified { plan: p, .. } = &e.kind
    {
        found |= sees(p, target);
    }
    e.for_each_child(&mut |c| found |= expr_sees(c, target));
    found
}
