//! INSERT ... SELECT into a table that takes many rows at once.
//!
//! Where nothing has to look at single rows (no CHECK, no value that the table makes itself) batches go by column from the
//! query's operators to the load. A batch in which a value has to be converted, is cut or is refused goes row by row, with
//! the answers and errors that this has.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_query::batch::BATCH_BYTES;
use duramen_query::host::{Load, Table};
use duramen_query::passing::rows_within;
use duramen_query::plan::Node;
use duramen_query::spill::Grant;
use duramen_query::{Cx, Kind, Plan};
use duramen_types::batch::{Batch, Column, Data, IntKind};
use duramen_types::{TypeId, Value};

use super::columns::ColumnValue;
use super::guard::Guard;
use super::{row, source};

/// Bytes that a load keeps for its indexes at most, whatever memory there is.
const HELD: usize = 256 << 20;

/// Gives the rows of a query to `load`; how many.
pub(super) fn rows(
    table: &Arc<dyn Table>,
    guard: &Guard,
    (plan, columns): (&Plan, &[ColumnValue]),
    load: Box<dyn Load + '_>,
    cx: &mut Cx<'_>,
) -> SqlResult<u64> {
    let mut to = Target {
        table,
        guard,
        columns,
        load,
        grant: Grant::new(cx.host.workspace()),
    };
    let n = match to.takes_columns(cx) && reads_many(plan) {
        true => by_column(&mut to, plan, cx)?,
        false => by_row(&mut to, plan, cx)?,
    };
    to.load.finish(cx)?;
    Ok(n)
}

/// Where the rows go.
struct Target<'t> {
    table: &'t Arc<dyn Table>,
    guard: &'t Guard,
    columns: &'t [ColumnValue],
    load: Box<dyn Load + 't>,
    grant: Grant,
}

fn by_row(to: &mut Target<'_>, plan: &Plan, cx: &mut Cx<'_>) -> SqlResult<u64> {
    let mut rows = source::Rows::open(plan, &**to.table, cx)?;
    let (mut n, mut left) = (0, cx.row_limit);
    while left > 0
        && let Some(mut some) = cx.asking(left, |cx| rows.next(cx))?
    {
        cx.check_cancelled()?;
        some.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= some.len() as u64;
        n += some.len() as u64;
        for given in some {
            let row = row::new_row(to.table, given, to.columns, to.guard, cx)?;
            to.load.put(row, cx)?;
        }
        to.account(cx)?;
    }
    Ok(n)
}

fn by_column(to: &mut Target<'_>, plan: &Plan, cx: &mut Cx<'_>) -> SqlResult<u64> {
    let mut batches = source::Batches::open(plan, &**to.table, cx)?;
    let together = to.rows_together();
    let (mut n, mut left) = (0, cx.row_limit);
    while left > 0
        && let Some(mut some) = batches.next(cx)?
    {
        cx.check_cancelled()?;
        if some.rows() as u64 > left {
            some = some.slice(0, left as usize);
        }
        left -= some.rows() as u64;
        n += some.rows() as u64;
        if some.rows() <= together {
            to.batch(&some, cx)?;
            continue;
        }
        for from in (0..some.rows()).step_by(together) {
            to.batch(&some.slice(from, (from + together).min(some.rows())), cx)?;
        }
    }
    Ok(n)
}

/// Whether it is worth it to take a query's rows apart.
fn reads_many(plan: &Plan) -> bool {
    match &plan.node {
        Node::Project { input, .. } | Node::Filter { input, .. } | Node::Top { input, .. } => {
            reads_many(input)
        }
        Node::OneRow | Node::Values(_) => false,
        _ => true,
    }
}

impl Target<'_> {
    /// Whether rows may come by column at all.
    fn takes_columns(&self, cx: &Cx<'_>) -> bool {
        let plain = |(source, at): (&ColumnValue, usize)| match source {
            ColumnValue::Given(_) => true,
            ColumnValue::Expression(e) => matches!(e.kind, Kind::Const(_)),
            ColumnValue::Identity => matches!(
                self.table.columns()[at].ty.id,
                TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt
            ),
            ColumnValue::GivenIdentity(_) | ColumnValue::Generated => false,
        };
        !cx.row_by_row
            && !self.table.generates()
            && !self.guard.checks()
            && self.columns.iter().zip(0..).all(plain)
    }

    /// How many rows are made ready at a time, however many come together: what pads narrow values makes them as wide as
    /// the table has them.
    fn rows_together(&self) -> usize {
        let columns = self.columns.iter().zip(self.table.columns());
        let padded = columns.filter(|(source, column)| {
            matches!(column.ty.id, TypeId::Char | TypeId::NChar | TypeId::Binary)
                && !matches!(source, ColumnValue::Identity)
        });
        let width = padded.map(|(_, column)| usize::from(column.ty.length));
        rows_within(BATCH_BYTES, (width.sum(), 1))
    }

    fn batch(&mut self, rows: &Batch, cx: &mut Cx<'_>) -> SqlResult<()> {
        match self.fitted(rows) {
            Some(fitted) => self.put(fitted, rows.rows(), cx)?,
            None => {
                for i in 0..rows.rows() {
                    let row = row::new_row(self.table, rows.row(i), self.columns, self.guard, cx)?;
                    self.load.put(row, cx)?;
                }
            }
        }
        self.account(cx)
    }

    /// The columns of the table that a batch gives, identity columns left out (`None`). `None` altogether when a row has
    /// a value that does not fit as it is.
    fn fitted(&self, batch: &Batch) -> Option<Vec<Option<Arc<Column>>>> {
        let mut out = Vec::with_capacity(self.columns.len());
        for (source, column) in self.columns.iter().zip(self.table.columns()) {
            let values = match source {
                ColumnValue::Given(i) => batch.columns().get(*i)?.clone(),
                ColumnValue::Expression(e) => match &e.kind {
                    Kind::Const(v) => Arc::new(Column::repeated(v, &column.ty, batch.rows())),
                    _ => return None,
                },
                _ => {
                    out.push(None);
                    continue;
                }
            };
            let nulls = values.is_absent()
                || values.nulls().contains(&true)
                || matches!(&values.data, Data::Values(v) if v.contains(&Value::Null));
            if nulls && !column.nullable {
                return None;
            }
            out.push(Some(values.assigned(&column.ty)?));
        }
        Some(out)
    }

    fn put(
        &mut self,
        fitted: Vec<Option<Arc<Column>>>,
        rows: usize,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let mut columns = Vec::with_capacity(fitted.len());
        for (values, column) in fitted.into_iter().zip(self.table.columns()) {
            columns.push(match values {
                Some(values) => values,
                None => {
                    let numbers = self.table.next_identities(rows, cx)?;
                    cx.identity = numbers.last().copied();
                    let kind = IntKind::of(column.ty.id).unwrap_or(IntKind::BigInt);
                    Arc::new(Column::new(Data::Ints(kind, numbers)))
                }
            });
        }
        self.load.put_columns(&columns, rows, cx)
    }

    /// Borrows the memory for what the load keeps; where there is none, it writes that first.
    fn account(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let held = self.load.held();
        if held > HELD || !self.grant.hold(held) {
            self.load.settle(cx)?;
            self.grant.hold(self.load.held());
        }
        Ok(())
    }
}
