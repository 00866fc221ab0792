//! Window functions: rows are put in the order of a window, each partition is computed by itself, and every row gets
//! the result as one more column. Rows leave in the order of the last window.

use std::cmp::Ordering;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_columns::steps::ordered_while;
use duramen_types::Value;

use crate::aggregate::State;
use crate::batch::{self, Handed};
use crate::cx::Cx;
use crate::exec::{Operator, eval_all, open};
use crate::expr::{Expr, Kind};
use crate::kept::{Held, Leaving, rows_bytes};
use crate::key::{compare_keys, compare_nullable};
use crate::plan::{Aggregate, AggregateKind, FrameEdge, Node, Plan, Row, WindowCall, WindowKind};

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

/// Bytes that a row takes besides itself and what its keys are made of, about.
const ROW_BYTES: usize = 160;
/// Rows between two looks at whether somebody still wants them.
const SOME: usize = 1024;

/// The rows of a window's input with the results of its calls.
pub fn started<'p>(plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    let Node::Window { input, calls } = &plan.node else {
        unreachable!("windows are started for window nodes")
    };
    let mut held = Held::default();
    let mut rows = Vec::new();
    let mut source = open(input, cx)?;
    let keys = calls.iter().map(|c| c.partition.len() + c.order.len());
    let own = ROW_BYTES + (calls.len() + keys.max().unwrap_or(0)) * size_of::<Value>();
    while let Some(batch) = source.next(cx)? {
        let bytes = rows_bytes(&batch) + batch.len() * own;
        rows.extend(batch);
        if !held.add(bytes, cx) {
            let first = Leaving::new(rows.into(), held);
            let handed = Handed::new(input, first, Some(source));
            return batch::windowed(handed, plan, cx);
        }
    }
    let rows = computed(rows, calls, cx)?;
    Ok(Operator::Leaving(Leaving::new(rows.into(), held)))
}

fn computed(rows: Vec<Row>, calls: &[WindowCall], cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
    let mut results: Vec<Vec<Value>> = Vec::with_capacity(calls.len());
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    for call in calls {
        let mut keyed = Keyed::new(call, &rows, cx)?;
        order = std::mem::take(&mut keyed.order);
        let mut values = vec![Value::Null; rows.len()];
        let mut start = 0;
        while start < order.len() {
            cx.check_cancelled()?;
            let same = |at: &u32| keyed.same_partition(call, order[start] as usize, *at as usize);
            let length = order[start..].iter().take_while(|at| same(at)).count();
            let own = &order[start..start + length];
            let partition = Partition {
                rows: &rows,
                order: own,
                peers: peers(call, &keyed.sorts, own),
            };
            let mut course = Course::new(call);
            for (place, at) in own.iter().enumerate() {
                values[*at as usize] = course.at(place, &partition, cx)?;
            }
            start += length;
        }
        results.push(values);
    }
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(rows.len());
    for at in order {
        if let Some(mut row) = rows[at as usize].take() {
            let taken = results
                .iter_mut()
                .map(|r| std::mem::take(&mut r[at as usize]));
            row.extend(taken);
            out.push(row);
        }
    }
    Ok(out)
}

/// The rows' keys, and their numbers in the window's order.
struct Keyed {
    partitions: Vec<Vec<Value>>,
    sorts: Vec<Vec<Value>>,
    order: Vec<u32>,
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
            order: Vec::new(),
        };
        let compare = |a: usize, b: usize| {
            let partition = keyed.compare_partitions(call, a, b);
            partition.then_with(|| compare_keys(&call.order, &keyed.sorts[a], &keyed.sorts[b]))
        };
        keyed.order = ordered_while(&|| cx.check_cancelled(), rows.len(), compare)?;
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
fn peers(call: &WindowCall, sorts: &[Vec<Value>], order: &[u32]) -> Vec<(usize, usize)> {
    let mut out = Vec::with_capacity(order.len());
    while out.len() < order.len() {
        let start = out.len();
        let first = &sorts[order[start] as usize];
        let alike = |at: &&u32| compare_keys(&call.order, first, &sorts[**at as usize]).is_eq();
        let n = order[start..].iter().take_while(alike).count().max(1);
        out.extend(std::iter::repeat_n((start, start + n), n));
    }
    out
}

/// The rows of one partition, by their places in the window's order.
pub trait Places {
    fn len(&self) -> usize;
    /// What `look` makes of the row at a place.
    fn look<T>(&self, place: usize, look: impl FnOnce(&Row) -> SqlResult<T>) -> SqlResult<T>;
    /// The places of the rows that sort like the row whose turn it is: start and end.
    fn peers(&self, place: usize) -> (usize, usize);
}

/// A partition in memory.
struct Partition<'a> {
    rows: &'a [Row],
    order: &'a [u32],
    peers: Vec<(usize, usize)>,
}

impl Places for Partition<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    #[inline]
    fn look<T>(&self, place: usize, look: impl FnOnce(&Row) -> SqlResult<T>) -> SqlResult<T> {
        look(&self.rows[self.order[place] as usize])
    }

    fn peers(&self, place: usize) -> (usize, usize) {
        self.peers[place]
    }
}

/// A call on its way through one partition, from place to place.
pub struct Course<'p> {
    call: &'p WindowCall,
    rank: i64,
    dense: i64,
    aggregate: Option<Aggregate>,
    running: State,
    /// Where the rows that `running` has taken end.
    counted: usize,
    taken: usize,
}

impl<'p> Course<'p> {
    pub fn new(call: &'p WindowCall) -> Course<'p> {
        let aggregate = match call.kind {
            WindowKind::Aggregate(kind) => Some(aggregate_of(call, kind)),
            _ => None,
        };
        Course {
            call,
            rank: 0,
            dense: 0,
            running: aggregate
                .as_ref()
                .map(State::for_aggregate)
                .unwrap_or_default(),
            aggregate,
            counted: 0,
            taken: 0,
        }
    }

    /// The result at `place`, which comes after the one before.
    pub fn at<P: Places>(&mut self, place: usize, of: &P, cx: &mut Cx<'_>) -> SqlResult<Value> {
        if place % SOME == SOME - 1 {
            cx.check_cancelled()?;
        }
        let n = of.len();
        let (first, last) = of.peers(place);
        if place == first {
            self.rank = place as i64 + 1;
            self.dense += 1;
        }
        Ok(match self.call.kind {
            WindowKind::RowNumber => Value::BigInt(place as i64 + 1),
            WindowKind::Rank => Value::BigInt(self.rank),
            WindowKind::DenseRank => Value::BigInt(self.dense),
            WindowKind::PercentRank if n < 2 => Value::Float(0.0),
            WindowKind::PercentRank => Value::Float((self.rank - 1) as f64 / (n - 1) as f64),
            WindowKind::CumeDist => Value::Float(last as f64 / n as f64),
            WindowKind::Ntile => self.tile(place, of, cx)?,
            WindowKind::Lag => self.neighbour(place, -1, of, cx)?,
            WindowKind::Lead => self.neighbour(place, 1, of, cx)?,
            WindowKind::FirstValue | WindowKind::LastValue => {
                let (start, end) = self.frame(place, of, cx)?;
                let at = match self.call.kind {
                    WindowKind::FirstValue => start,
                    _ => end.saturating_sub(1),
                };
                match start < end {
                    true => of.look(at, |row| self.call.args[0].eval(row, cx))?,
                    false => Value::Null,
                }
            }
            WindowKind::Aggregate(_) => self.aggregate(place, of, cx)?,
        })
    }

    /// NTILE: larger tiles come first.
    fn tile<P: Places>(&self, place: usize, of: &P, cx: &mut Cx<'_>) -> SqlResult<Value> {
        let tiles = of
            .look(place, |row| self.call.args[0].eval(row, cx))?
            .as_i64();
        let tiles = tiles.filter(|t| *t > 0);
        let tiles = tiles.ok_or_else(|| SqlError::new(&messages::NTILE_INVALID, &[]))?;
        let (n, place) = (of.len() as i64, place as i64);
        let (size, larger) = (n / tiles, n % tiles);
        let in_larger = larger * (size + 1);
        Ok(Value::BigInt(if place < in_larger {
            place / (size + 1) + 1
        } else {
            larger + (place - in_larger) / size.max(1) + 1
        }))
    }

    /// LAG and LEAD: the value `offset` rows away, or the default.
    fn neighbour<P: Places>(
        &self,
        place: usize,
        sign: i64,
        of: &P,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Value> {
        let args = &self.call.args;
        let offset = match args.get(1) {
            Some(e) => match of.look(place, |row| e.eval(row, cx))?.as_i64() {
                Some(n) if n >= 0 => n,
                _ => return Err(SqlError::new(&messages::LAG_OFFSET_NEGATIVE, &[])),
            },
            None => 1,
        };
        let at = (place as i64).checked_add(sign.saturating_mul(offset));
        let at = at.and_then(|at| usize::try_from(at).ok());
        match at.filter(|at| *at < of.len()) {
            Some(at) => of.look(at, |row| args[0].eval(row, cx)),
            None => match args.get(2) {
                Some(default) => of.look(place, |row| default.eval(row, cx)),
                None => Ok(Value::Null),
            },
        }
    }

    /// The places of a row's frame: start and end.
    fn frame<P: Places>(&self, place: usize, of: &P, cx: &mut Cx<'_>) -> SqlResult<(usize, usize)> {
        let n = of.len();
        let (first, last) = of.peers(place);
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

    fn aggregate<P: Places>(&mut self, place: usize, of: &P, cx: &mut Cx<'_>) -> SqlResult<Value> {
        let (start, end) = self.frame(place, of, cx)?;
        let Some(aggregate) = &self.aggregate else {
            return Ok(Value::Null);
        };
        // A frame that starts with the partition only grows: what is counted stays counted.
        let grows = matches!(self.call.frame.start, FrameEdge::UnboundedPreceding);
        if !grows || end < self.counted {
            self.running = State::for_aggregate(aggregate);
            self.counted = start;
        }
        let running = &mut self.running;
        while self.counted < end {
            self.taken += 1;
            if self.taken.is_multiple_of(SOME) {
                cx.check_cancelled()?;
            }
            of.look(self.counted, |row| running.take(aggregate, row, cx))?;
            self.counted += 1;
        }
        running.clone().finish(aggregate, cx)
    }
}

/// The aggregate of a call.
pub fn aggregate_of(call: &WindowCall, kind: AggregateKind) -> Aggregate {
    Aggregate {
        kind,
        input: call.args.first().cloned(),
        distinct: false,
        ty: call.ty,
        list: None,
    }
}
