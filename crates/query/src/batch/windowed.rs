//! Window functions over rows that find no room in memory: for each call a sort by its partition and order, and partition by
//! partition the results as one more column.
//!
//! A partition waits in a spool while it is read ([`Spool`]), which writes to a file what is not lent. What looks only from a
//! partition's beginning on (ranks, running and whole aggregates) is computed while the spool is read again. What looks around
//! a row (LAG, LEAD, frames that move) takes the rows from there by their numbers ([`ByNumber`]): those that it looks at
//! from one row and the next mostly lie in the same few blocks of the file, which stay in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column, Data, IntKind};
use duramen_types::{SqlType, Value};

use super::order::compare_cells;
use super::sort::{Sorted, Sorter, by};
use super::source::batch_of_types;
use super::{BatchOperator, Boxed};
use crate::aggregate::State;
use crate::cx::Cx;
use crate::exec;
use crate::kept::{ByNumber, Spool, SpoolReader, Spooled};
use crate::key::compare_keys;
use crate::plan::{
    Aggregate, Columns, FrameEdge, Node, OutColumn, Plan, Row, WindowCall, WindowKind,
};
use crate::window::{Course, Places, aggregate_of};

/// Numbers rows as they come, in one more column.
struct Numbered<'p> {
    input: Boxed<'p>,
    next: i64,
}

impl BatchOperator for Numbered<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let Some(batch) = self.input.next(cx)? else {
            return Ok(None);
        };
        let n = batch.rows();
        let numbers = (self.next..self.next + n as i64).collect();
        self.next += n as i64;
        let mut columns = batch.into_columns();
        let numbers = Data::Ints(IntKind::BigInt, numbers);
        columns.push(Arc::new(Column::new(numbers)));
        Ok(Some(Batch::new(n, columns)))
    }
}

/// Starts the calls of a window over these rows.
pub fn over<'p>(
    input: Boxed<'p>,
    plan: &'p Plan,
    cx: &mut Cx<'_>,
) -> SqlResult<impl BatchOperator + use<'p>> {
    let (below, calls): (&[OutColumn], &[WindowCall]) = match &plan.node {
        Node::Window { input, calls } => (&input.columns, calls),
        _ => (&[], &[]),
    };
    let width = below.len();
    let mut source: Boxed<'p> = Box::new(Numbered { input, next: 0 });
    // Rows that sort alike stay in the order in which they came, whatever calls have sorted them since: by their number.
    let mut columns = below.to_vec();
    columns.push(OutColumn::unnamed(SqlType::BIGINT, false));
    for (i, call) in calls.iter().enumerate() {
        let all = vec![true; columns.len()];
        let mut sorter = Sorter::new((&columns, &all), by(call), u64::MAX, cx).then_by(width);
        while let Some(batch) = source.next(cx)? {
            sorter.add(&batch, cx)?;
        }
        let read = columns.clone();
        columns.push(plan.columns[width + i].clone());
        source = Box::new(Windowed {
            sorted: sorter.finish(cx)?,
            call,
            read: read.into(),
            types: columns.iter().map(|c| c.ty).collect(),
            next: None,
            partition: None,
        });
    }
    Ok(Unnumbered { source, at: width })
}

/// Leaves the numbers out again.
struct Unnumbered<'p> {
    source: Boxed<'p>,
    at: usize,
}

impl BatchOperator for Unnumbered<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let batch = self.source.next(cx)?;
        Ok(batch.map(|batch| {
            let n = batch.rows();
            let mut columns = batch.into_columns();
            columns.remove(self.at);
            Batch::new(n, columns)
        }))
    }
}

/// Rows in a window's order, with the results of its call.
struct Windowed<'p> {
    sorted: Sorted,
    call: &'p WindowCall,
    read: Columns,
    types: Vec<SqlType>,
    /// Rows that have been read and belong to the next partition, with their keys.
    next: Option<(Batch, Vec<Arc<Column>>)>,
    partition: Option<Partition<'p>>,
}

impl Windowed<'_> {
    /// Reads a partition; false when there is none.
    fn collect(&mut self, cx: &mut Cx<'_>) -> SqlResult<bool> {
        let parts = self.call.partition.len();
        let mut first: Option<Vec<Arc<Column>>> = None;
        let mut rows = Spool::new(&self.read);
        loop {
            let (batch, keys) = match self.next.take() {
                Some(next) => next,
                None => match self.sorted.next(cx)? {
                    Some(batch) => {
                        let n = batch.rows();
                        let (columns, keys) = self.sorted.part(batch);
                        (Batch::new(n, columns), keys)
                    }
                    None => break,
                },
            };
            let begin = first.get_or_insert_with(|| {
                keys[..parts]
                    .iter()
                    .map(|c| Arc::new(c.slice(0, 1)))
                    .collect()
            });
            let same = |at: usize| {
                let mut by = self.call.partition.iter().enumerate();
                by.all(|(i, e)| compare_cells(&begin[i], 0, &keys[i], at, e.ty.collation).is_eq())
            };
            let n = (0..batch.rows()).take_while(|at| same(*at)).count();
            rows.put((0..n).map(|i| batch.row(i)).collect(), cx)?;
            if n < batch.rows() {
                let slice = |c: &Arc<Column>| Arc::new(c.slice(n, batch.rows()));
                let keys = keys.iter().map(slice).collect();
                self.next = Some((batch.slice(n, batch.rows()), keys));
                break;
            }
        }
        if first.is_none() {
            return Ok(false);
        }
        let rows = Arc::new(rows.finish()?);
        self.partition = Some(match looks(self.call) {
            Looks::Around => Partition::Around(Box::new(Around::new(self.call, rows))),
            looks => Partition::Read(Box::new(Running::new(self.call, rows, &looks, cx)?)),
        });
        Ok(true)
    }
}

impl BatchOperator for Windowed<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            cx.check_cancelled()?;
            if let Some(partition) = &mut self.partition {
                let rows = partition.next(cx)?;
                if !rows.is_empty() {
                    return Ok(Some(batch_of_types(rows, &self.types)));
                }
                self.partition = None;
            }
            if !self.collect(cx)? {
                return Ok(None);
            }
        }
    }
}

/// What a call looks at.
enum Looks {
    /// What stands before a row, and those that sort like it.
    Back,
    /// The whole partition, always the same.
    All,
    /// Anything.
    Around,
}

fn looks(call: &WindowCall) -> Looks {
    let grows = matches!(call.frame.start, FrameEdge::UnboundedPreceding);
    match (&call.kind, &call.frame.end) {
        (WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank, _) => Looks::Back,
        (WindowKind::Aggregate(_), FrameEdge::CurrentRow) if grows => Looks::Back,
        (WindowKind::Aggregate(_), FrameEdge::UnboundedFollowing) if grows => Looks::All,
        _ => Looks::Around,
    }
}

fn sort_key(call: &WindowCall, row: &Row, cx: &mut Cx<'_>) -> SqlResult<Vec<Value>> {
    let mut key = Vec::with_capacity(call.order.len());
    for k in &call.order {
        key.push(k.expr.eval(row, cx)?);
    }
    Ok(key)
}

/// A partition whose rows go out with their results.
enum Partition<'p> {
    Around(Box<Around<'p>>),
    Read(Box<Running<'p>>),
}

impl Partition<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
        match self {
            Partition::Around(around) => around.next(cx),
            Partition::Read(running) => running.next(cx),
        }
    }
}

/// A partition whose rows look at others of it.
struct Around<'p> {
    call: &'p WindowCall,
    course: Course<'p>,
    rows: SpoolReader,
    ahead: Ahead,
    seen: Seen,
    /// Rows that have gone out.
    place: usize,
}

/// The rows of a partition as a call sees them from the row whose turn it is.
struct Seen {
    rows: ByNumber,
    peers: (usize, usize),
}

impl Places for Seen {
    fn len(&self) -> usize {
        self.rows.rows()
    }

    fn look<T>(&self, place: usize, look: impl FnOnce(&Row) -> SqlResult<T>) -> SqlResult<T> {
        self.rows.look(place, look)
    }

    fn peers(&self, _: usize) -> (usize, usize) {
        self.peers
    }
}

impl<'p> Around<'p> {
    fn new(call: &'p WindowCall, rows: Arc<Spooled>) -> Around<'p> {
        Around {
            call,
            course: Course::new(call),
            rows: SpoolReader::new(rows.clone()),
            ahead: Ahead::new(rows.clone()),
            seen: Seen {
                rows: ByNumber::new(rows),
                peers: (0, 0),
            },
            place: 0,
        }
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
        let mut rows = self.rows.next(exec::BATCH_ROWS)?.unwrap_or_default();
        for row in &mut rows {
            if self.place == self.seen.peers.1 {
                self.ahead.pass_peers(self.call, cx)?;
                self.seen.peers = (self.place, self.ahead.place as usize);
            }
            row.push(self.course.at(self.place, &self.seen, cx)?);
            self.place += 1;
        }
        Ok(rows)
    }
}

/// Reads a partition twice: ahead to the end of the rows that sort alike, and behind that to give the rows out.
struct Running<'p> {
    call: &'p WindowCall,
    rows: SpoolReader,
    ahead: Ahead,
    aggregate: Option<Aggregate>,
    state: State,
    /// Rows that have gone out, and where the rows that sort like the next one begin and end.
    place: i64,
    peers: (i64, i64),
    rank: i64,
    dense: i64,
    /// The result of the peers at hand.
    value: Value,
}

/// The reader that is ahead.
struct Ahead {
    rows: SpoolReader,
    read: VecDeque<Row>,
    /// Rows taken.
    place: i64,
    key: Option<Vec<Value>>,
}

impl Ahead {
    fn new(rows: Arc<Spooled>) -> Ahead {
        Ahead {
            rows: SpoolReader::new(rows),
            read: VecDeque::new(),
            place: 0,
            key: None,
        }
    }

    /// Takes the next row and those that sort like it.
    fn pass_peers(&mut self, call: &WindowCall, cx: &mut Cx<'_>) -> SqlResult<()> {
        let key = self.peek(call, cx)?.map(<[Value]>::to_vec);
        while let (Some(key), Some(next)) = (&key, self.peek(call, cx)?)
            && compare_keys(&call.order, key, next).is_eq()
        {
            if self.place % 1024 == 1023 {
                cx.check_cancelled()?;
            }
            self.take();
        }
        Ok(())
    }

    /// The next row and its key stay where they are.
    fn peek(&mut self, call: &WindowCall, cx: &mut Cx<'_>) -> SqlResult<Option<&[Value]>> {
        if self.read.is_empty() {
            match self.rows.next(exec::BATCH_ROWS)? {
                Some(rows) => self.read.extend(rows),
                None => return Ok(None),
            }
        }
        if self.key.is_none()
            && let Some(row) = self.read.front()
        {
            self.key = Some(sort_key(call, row, cx)?);
        }
        Ok(self.key.as_deref())
    }

    fn take(&mut self) -> Option<Row> {
        self.place += 1;
        self.key = None;
        self.read.pop_front()
    }
}

impl<'p> Running<'p> {
    fn new(
        call: &'p WindowCall,
        rows: Arc<Spooled>,
        looks: &Looks,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Running<'p>> {
        let aggregate = match call.kind {
            WindowKind::Aggregate(kind) => Some(aggregate_of(call, kind)),
            _ => None,
        };
        let mut running = Running {
            call,
            rows: SpoolReader::new(rows.clone()),
            ahead: Ahead::new(rows),
            state: aggregate
                .as_ref()
                .map(State::for_aggregate)
                .unwrap_or_default(),
            aggregate,
            place: 0,
            peers: (0, 0),
            rank: 0,
            dense: 0,
            value: Value::Null,
        };
        if matches!(looks, Looks::All) {
            while running.ahead.peek(call, cx)?.is_some() {
                running.count(cx)?;
            }
            running.peers = (0, running.ahead.place);
            running.value = running.result(cx)?;
        }
        Ok(running)
    }

    /// Counts the row that is next ahead.
    fn count(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        if self.ahead.place % 1024 == 1023 {
            cx.check_cancelled()?;
        }
        if let (Some(row), Some(aggregate)) = (self.ahead.take(), &self.aggregate) {
            self.state.take(aggregate, &row, cx)?;
        }
        Ok(())
    }

    fn result(&self, cx: &Cx<'_>) -> SqlResult<Value> {
        match &self.aggregate {
            Some(aggregate) => self.state.clone().finish(aggregate, cx),
            None => Ok(Value::Null),
        }
    }

    /// Reads ahead to the end of the rows that sort like the next one; by ROWS each row is for itself.
    fn next_peers(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let begin = self.ahead.place;
        let key = self.ahead.peek(self.call, cx)?.map(<[Value]>::to_vec);
        self.count(cx)?;
        let alone = self.aggregate.is_some() && self.call.frame.rows;
        while !alone
            && let Some(key) = &key
            && let Some(next) = self.ahead.peek(self.call, cx)?
            && compare_keys(&self.call.order, key, next).is_eq()
        {
            self.count(cx)?;
        }
        self.peers = (begin, self.ahead.place);
        self.value = self.result(cx)?;
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
        let mut rows = self.rows.next(exec::BATCH_ROWS)?.unwrap_or_default();
        for row in &mut rows {
            if self.place == self.peers.1 {
                self.next_peers(cx)?;
            }
            if self.place == self.peers.0 {
                self.rank = self.place + 1;
                self.dense += 1;
            }
            self.place += 1;
            row.push(match self.call.kind {
                WindowKind::RowNumber => Value::BigInt(self.place),
                WindowKind::Rank => Value::BigInt(self.rank),
                WindowKind::DenseRank => Value::BigInt(self.dense),
                _ => self.value.clone(),
            });
        }
        Ok(rows)
    }
}
