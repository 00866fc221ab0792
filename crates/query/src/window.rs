//! Window functions: rows are put in the order of a window, each partition is computed by itself, and every row gets
//! the result as one more column. Rows leave in the order of the last window.

use std::cmp::Ordering;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::Value;

use crate::aggregate::State;
use crate::cx::Cx;
use crate::exec::eval_all;
use crate::expr::{Expr, Kind};
use crate::key::{compare_keys, compare_nullable};
use crate::plan::{Aggregate, FrameEdge, Plan, Row, WindowCall, WindowKind};

/// Whether the calls only number rows as they come: ROW_NUMBER() OVER (ORDER BY (SELECT NULL)). Nobody needs to see all
/// rows for that.
pub fn by_arrival(calls: &[WindowCall]) -> bool {
    let constant = |e: &Expr| match &e.kind {
        Kind::Const(_) | Kind::Variable(_) => true,
        Kind::Scalar(plan) => !plan.correlated,
        _ => false,
    };
    calls.iter().all(|c| {
        c.kind == WindowKind::RowNumber
            && c.partition.is_empty()
            && c.order.iter().all(|k| constant(&k.expr))
    })
}

/// The rows of `input` with the results of `calls`.
pub fn rows(input: &Plan, calls: &[WindowCall], cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
    let rows = input.rows(cx)?;
    let mut results: Vec<Vec<Value>> = Vec::with_capacity(calls.len());
    let mut order: Vec<usize> = (0..rows.len()).collect();
    for call in calls {
        let mut keyed = Keyed::new(call, &rows, cx)?;
        order = std::mem::take(&mut keyed.order);
        let mut values = vec![Value::Null; rows.len()];
        let mut start = 0;
        while start < order.len() {
            cx.check_cancelled()?;
            let same = |at: &usize| keyed.same_partition(call, order[start], *at);
            let length = order[start..].iter().take_while(|at| same(at)).count();
            let partition = Partition {
                call,
                rows: &rows,
                order: &order[start..start + length],
                peers: peers(call, &keyed.sorts, &order[start..start + length]),
            };
            partition.compute(&mut values, cx)?;
            start += length;
        }
        results.push(values);
    }
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(rows.len());
    for at in order {
        if let Some(mut row) = rows[at].take() {
            row.extend(results.iter_mut().map(|r| std::mem::take(&mut r[at])));
            out.push(row);
        }
    }
    Ok(out)
}

/// The rows' keys, and their numbers in the window's order.
struct Keyed {
    partitions: Vec<Vec<Value>>,
    sorts: Vec<Vec<Value>>,
    order: Vec<usize>,
}

impl Keyed {
    fn new(call: &WindowCall, rows: &[Row], cx: &mut Cx<'_>) -> SqlResult<Keyed> {
        let mut partitions = Vec::with_capacity(rows.len());
        let mut sorts = Vec::with_capacity(rows.len());
        for row in rows {
            partitions.push(eval_all(&call.partition, row, cx)?);
            let mut sort = Vec::with_capacity(call.order.len());
            for k in &call.order {
                sort.push(k.expr.eval(row, cx)?);
            }
            sorts.push(sort);
        }
        let mut keyed = Keyed {
            partitions,
            sorts,
            order: (0..rows.len()).collect(),
        };
        let mut order = std::mem::take(&mut keyed.order);
        order.sort_by(|a, b| {
            let partition = keyed.compare_partitions(call, *a, *b);
            partition.then_with(|| compare_keys(&call.order, &keyed.sorts[*a], &keyed.sorts[*b]))
        });
        keyed.order = order;
        Ok(keyed)
    }

    fn compare_partitions(&self, call: &WindowCall, a: usize, b: usize) -> Ordering {
        let pairs = self.partitions[a].iter().zip(&self.partitions[b]);
        pairs
            .zip(&call.partition)
            .map(|((x, y), e)| compare_nullable(x, y, e.ty.collation))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn same_partition(&self, call: &WindowCall, a: usize, b: usize) -> bool {
        self.compare_partitions(call, a, b).is_eq()
    }
}

/// For each place of a partition the places of the rows that sort alike: start and end.
fn peers(call: &WindowCall, sorts: &[Vec<Value>], order: &[usize]) -> Vec<(usize, usize)> {
    let mut out = Vec::with_capacity(order.len());
    while out.len() < order.len() {
        let start = out.len();
        let first = &sorts[order[start]];
        let alike = |at: &&usize| compare_keys(&call.order, first, &sorts[**at]).is_eq();
        let n = order[start..].iter().take_while(alike).count().max(1);
        out.extend(std::iter::repeat_n((start, start + n), n));
    }
    out
}

struct Partition<'a> {
    call: &'a WindowCall,
    rows: &'a [Row],
    order: &'a [usize],
    peers: Vec<(usize, usize)>,
}

impl Partition<'_> {
    fn row(&self, place: usize) -> &Row {
        &self.rows[self.order[place]]
    }

    fn compute(&self, values: &mut [Value], cx: &mut Cx<'_>) -> SqlResult<()> {
        let n = self.order.len();
        if let WindowKind::Aggregate(kind) = self.call.kind {
            return self.aggregate(kind, values, cx);
        }
        let (mut rank, mut dense) = (0, 0);
        for place in 0..n {
            let (first, last) = self.peers[place];
            if place == first {
                rank = place as i64 + 1;
                dense += 1;
            }
            values[self.order[place]] = match self.call.kind {
                WindowKind::RowNumber => Value::BigInt(place as i64 + 1),
                WindowKind::Rank => Value::BigInt(rank),
                WindowKind::DenseRank => Value::BigInt(dense),
                WindowKind::PercentRank if n < 2 => Value::Float(0.0),
                WindowKind::PercentRank => Value::Float((rank - 1) as f64 / (n - 1) as f64),
                WindowKind::CumeDist => Value::Float(last as f64 / n as f64),
                WindowKind::Ntile => self.tile(place, cx)?,
                WindowKind::Lag => self.neighbour(place, -1, cx)?,
                WindowKind::Lead => self.neighbour(place, 1, cx)?,
                WindowKind::FirstValue | WindowKind::LastValue => {
                    let (start, end) = self.frame(place, cx)?;
                    let at = match self.call.kind {
                        WindowKind::FirstValue => start,
                        _ => end.saturating_sub(1),
                    };
                    match start < end {
                        true => self.call.args[0].eval(self.row(at), cx)?,
                        false => Value::Null,
                    }
                }
                WindowKind::Aggregate(_) => Value::Null,
            };
        }
        Ok(())
    }

    /// NTILE: larger tiles come first.
    fn tile(&self, place: usize, cx: &mut Cx<'_>) -> SqlResult<Value> {
        let tiles = self.call.args[0].eval(self.row(place), cx)?.as_i64();
        let tiles = tiles.filter(|t| *t > 0);
        let tiles = tiles.ok_or_else(|| SqlError::new(&messages::NTILE_INVALID, &[]))?;
        let (n, place) = (self.order.len() as i64, place as i64);
        let (size, larger) = (n / tiles, n % tiles);
        let in_larger = larger * (size + 1);
        Ok(Value::BigInt(if place < in_larger {
            place / (size + 1) + 1
        } else {
            larger + (place - in_larger) / size.max(1) + 1
        }))
    }

    /// LAG and LEAD: the value `offset` rows away, or the default.
    fn neighbour(&self, place: usize, sign: i64, cx: &mut Cx<'_>) -> SqlResult<Value> {
        let args = &self.call.args;
        let offset = match args.get(1) {
            Some(e) => match e.eval(self.row(place), cx)?.as_i64() {
                Some(n) if n >= 0 => n,
                _ => return Err(SqlError::new(&messages::LAG_OFFSET_NEGATIVE, &[])),
            },
            None => 1,
        };
        let at = (place as i64).checked_add(sign.saturating_mul(offset));
        let at = at.and_then(|at| usize::try_from(at).ok());
        match at.filter(|at| *at < self.order.len()) {
            Some(at) => args[0].eval(self.row(at), cx),
            None => match args.get(2) {
                Some(default) => default.eval(self.row(place), cx),
                None => Ok(Value::Null),
            },
        }
    }

    /// The places of a row's frame: start and end.
    fn frame(&self, place: usize, cx: &mut Cx<'_>) -> SqlResult<(usize, usize)> {
        let n = self.order.len();
        let (first, last) = self.peers[place];
        let frame = &self.call.frame;
        let mut count = |e: &crate::expr::Expr| -> SqlResult<usize> {
            let k = e
                .eval(&[], cx)?
                .as_i64()
                .and_then(|k| usize::try_from(k).ok());
            k.ok_or_else(|| SqlError::new(&messages::INVALID_WINDOW_FRAME, &[&"ROWS"]))
        };
        let start = match &frame.start {
            FrameEdge::UnboundedPreceding => 0,
            FrameEdge::CurrentRow if frame.rows => place,
            FrameEdge::CurrentRow => first,
            FrameEdge::Preceding(e) => place.saturating_sub(count(e)?),
            FrameEdge::Following(e) => place.saturating_add(count(e)?),
            FrameEdge::UnboundedFollowing => n,
        };
        let end = match &frame.end {
            FrameEdge::UnboundedFollowing => n,
            FrameEdge::CurrentRow if frame.rows => place + 1,
            FrameEdge::CurrentRow => last,
            FrameEdge::Following(e) => place.saturating_add(count(e)?).saturating_add(1),
            FrameEdge::Preceding(e) => (place + 1).saturating_sub(count(e)?),
            FrameEdge::UnboundedPreceding => 0,
        };
        Ok((start.min(n), end.min(n)))
    }

    fn aggregate(
        &self,
        kind: crate::plan::AggregateKind,
        values: &mut [Value],
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let aggregate = Aggregate {
            kind,
            input: self.call.args.first().cloned(),
            distinct: false,
            ty: self.call.ty,
            list: None,
        };
        // A frame that starts with the partition only grows: what is counted stays counted.
        let grows = matches!(self.call.frame.start, FrameEdge::UnboundedPreceding);
        let mut running = State::for_aggregate(&aggregate);
        let mut counted = 0;
        for place in 0..self.order.len() {
            let (start, end) = self.frame(place, cx)?;
            if !grows || end < counted {
                running = State::for_aggregate(&aggregate);
                counted = start;
            }
            while counted < end {
                running.take(&aggregate, self.row(counted), cx)?;
                counted += 1;
            }
            values[self.order[place]] = running.clone().finish(&aggregate)?;
        }
        Ok(())
    }
}
