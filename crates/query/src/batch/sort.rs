//! Sorting, and what rests on it: the numbering window functions.
//!
//! Rows are kept in memory as long as that is lent; then what is there is sorted and written as a *run*, and at the end
//! the runs are merged. Rows that sort alike leave in the order in which they came: within a run by their number, among
//! runs by the run's.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::spill::{BLOCK_BYTES, Merge, RowOrder, TOGETHER, fewer};
use duramen_types::batch::{Batch, Column, Data, IntKind};
use duramen_types::{CollationId, SqlType};

use super::helpers::{Give, Helpers};
use super::order::{Key, compare_cells, order};
use super::spilled::{Purpose, Reader, Writer};
use super::store::Store;
use super::vector::{self, BatchExpr};
use super::{BATCH_ROWS, BatchOperator, Boxed, need, rows_together};
use crate::cx::Cx;
use crate::expr::Expr;
use crate::plan::{Node, OutColumn, Plan, SortKey, WindowCall, WindowKind};
use crate::spill::Grant;

/// Rows that are sorted only to keep the first of them are thrown away when this many times as many are there.
const SLACK: usize = 4;
const FEW: usize = 1 << 16;
/// Bytes that sorting takes for each row besides its columns.
const ORDER_BYTES: usize = 24;

/// What a sort goes by.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub collation: CollationId,
    pub descending: bool,
}

impl Direction {
    pub fn of(e: &Expr, descending: bool) -> Direction {
        Direction {
            collation: e.ty.collation,
            descending,
        }
    }
}

/// Rows with their sort keys beside them, sorted when all have come.
pub(super) struct Sorter<'p> {
    /// Columns that are the last of the keys.
    last: Vec<usize>,
    store: Store,
    exprs: Vec<BatchExpr<'p>>,
    directions: Vec<Direction>,
    keys: Vec<Column>,
    grant: Grant,
    bytes: usize,
    limit: usize,
    runs: Option<Writer>,
}

impl<'p> Sorter<'p> {
    pub(super) fn new(
        (columns, kept): (&[OutColumn], &[bool]),
        by: Vec<(&'p Expr, bool)>,
        limit: u64,
        cx: &Cx<'_>,
    ) -> Sorter<'p> {
        let direction = |(e, descending): &(&Expr, bool)| Direction::of(e, *descending);
        Sorter {
            last: Vec::new(),
            store: Store::new(columns, kept),
            directions: by.iter().map(direction).collect(),
            keys: by.iter().map(|(e, _)| Column::of(&e.ty)).collect(),
            exprs: BatchExpr::all(by.into_iter().map(|(e, _)| e)),
            grant: Grant::new(cx.host.workspace()),
            bytes: 0,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            runs: None,
        }
    }

    /// Rows that sort alike go by the numbers in this column.
    pub(super) fn then_by(self, column: usize) -> Self {
        let direction = Direction {
            collation: CollationId::NONE,
            descending: false,
        };
        self.then_by_values(column, &SqlType::BIGINT, direction)
    }

    /// Rows that sort alike go by the values in this column.
    pub(super) fn then_by_values(
        mut self,
        column: usize,
        ty: &SqlType,
        direction: Direction,
    ) -> Self {
        self.last.push(column);
        self.directions.push(direction);
        self.keys.push(Column::of(ty));
        self
    }

    pub(super) fn add(&mut self, batch: &Batch, cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut columns = vector::columns(&self.exprs, batch, cx)?;
        columns.extend(self.last.iter().map(|at| batch.columns()[*at].clone()));
        for (all, new) in self.keys.iter_mut().zip(&columns) {
            all.append(new);
        }
        self.store.append(batch);
        let keys: usize = columns.iter().map(|c| c.heap_bytes()).sum();
        self.bytes += batch.heap_bytes() + keys + batch.rows() * ORDER_BYTES;
        if self.store.rows() > self.limit.saturating_mul(SLACK).max(FEW) {
            self.forget(cx)?;
        }
        if !self.grant.hold(self.bytes) {
            self.spill(cx)?;
        }
        Ok(())
    }

    fn sort_keys(&mut self) -> Vec<Key> {
        let keys = std::mem::take(&mut self.keys).into_iter();
        keys.zip(&self.directions)
            .map(|(column, d)| Key {
                column: Arc::new(column),
                collation: d.collation,
                descending: d.descending,
            })
            .collect()
    }

    /// Lets go of the rows that are not among the first.
    fn forget(&mut self, cx: &Cx<'_>) -> SqlResult<()> {
        let n = self.store.rows();
        let keys = self.sort_keys();
        let mut first = order(&keys, n, cx)?;
        first.truncate(self.limit);
        self.store.keep(&first);
        self.keys = keys.iter().map(|k| k.column.gather(&first)).collect();
        self.bytes = self.bytes / n.max(1) * first.len();
        Ok(())
    }

    /// Writes what is there as a run.
    fn spill(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let keys = self.sort_keys();
        let mut rows = order(&keys, self.store.rows(), cx)?;
        rows.truncate(self.limit);
        if self.runs.is_none() {
            self.runs = Some(Writer::new(Purpose::Sort, cx)?);
        }
        if let Some(writer) = &mut self.runs {
            let run = writer.part();
            let mut columns = self.store.take_columns();
            columns.extend(keys.iter().map(|k| k.column.clone()));
            for some in rows.chunks(BATCH_ROWS) {
                cx.check_cancelled()?;
                writer.put(run, &columns, some)?;
            }
        }
        self.keys = keys.iter().map(|k| k.column.like()).collect();
        self.bytes = 0;
        self.grant.hold(0);
        Ok(())
    }

    pub(super) fn finish(mut self, cx: &mut Cx<'_>) -> SqlResult<Sorted> {
        let keys = self.keys.len();
        if self.runs.is_some() && self.store.rows() > 0 {
            self.spill(cx)?;
        }
        let Some(runs) = self.runs.take() else {
            let n = self.store.rows();
            let all = self.sort_keys();
            let mut rows = order(&all, n, cx)?;
            rows.truncate(self.limit);
            let mut columns = self.store.take_columns();
            columns.extend(all.into_iter().map(|k| k.column));
            return Ok(Sorted {
                keys,
                source: Source::Memory {
                    together: rows_together(self.bytes, n),
                    columns,
                    order: rows,
                    next: 0,
                    _grant: self.grant,
                },
            });
        };
        let mut readers = runs.finish()?;
        let order = KeysBehind(self.directions);
        // A block of each run is in memory.
        self.grant.set(readers.len().min(TOGETHER) * BLOCK_BYTES);
        while readers.len() > TOGETHER {
            let writer = Writer::new(Purpose::Passes, cx)?.into_parts();
            let step = &mut || cx.check_cancelled();
            readers = fewer(readers, (&order, self.limit), writer, step)?;
        }
        let count = readers.len();
        let merge = Merge::new(count, order, self.limit, &mut |run| {
            readers[run].next_block()
        })?;
        self.grant.set(merge.heap_bytes());
        Ok(Sorted {
            keys,
            source: Source::Merge(merge, readers, self.grant),
        })
    }
}

/// The order of rows whose keys stand behind their columns.
#[derive(Clone)]
pub(super) struct KeysBehind(Vec<Direction>);

impl RowOrder for KeysBehind {
    fn compare(&self, (x, a): (&Batch, usize), (y, b): (&Batch, usize)) -> Ordering {
        let first = x.columns().len() - self.0.len();
        for (i, d) in self.0.iter().enumerate() {
            let (p, q) = (&x.columns()[first + i], &y.columns()[first + i]);
            let o = compare_cells(p, a, q, b, d.collation);
            let o = if d.descending { o.reverse() } else { o };
            if o.is_ne() {
                return o;
            }
        }
        Ordering::Equal
    }
}

/// Sorted rows, their keys behind their columns.
pub(super) struct Sorted {
    /// How many columns at the end are keys.
    keys: usize,
    source: Source,
}

enum Source {
    Memory {
        columns: Vec<Arc<Column>>,
        order: Vec<u32>,
        next: usize,
        /// So many go out at a time.
        together: usize,
        _grant: Grant,
    },
    Merge(Merge<KeysBehind>, Vec<Reader>, Grant),
}

impl Sorted {
    pub(super) fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        match &mut self.source {
            Source::Memory {
                columns,
                order,
                next,
                together,
                ..
            } => {
                let end = order.len().min(*next + *together);
                let rows = &order[*next..end];
                *next = end;
                let columns = columns.iter().map(|c| Arc::new(c.gather(rows)));
                Ok((!rows.is_empty()).then(|| Batch::new(rows.len(), columns.collect())))
            }
            Source::Merge(merge, readers, grant) => {
                let next = merge.next(BATCH_ROWS, &mut |run| readers[run].next_block());
                grant.set(merge.heap_bytes());
                next
            }
        }
    }

    /// The row columns of a batch, and its keys.
    pub(super) fn part(&self, batch: Batch) -> (Vec<Arc<Column>>, Vec<Arc<Column>>) {
        let mut columns = batch.into_columns();
        let keys = columns.split_off(columns.len() - self.keys);
        (columns, keys)
    }
}

/// Sorts the rows that this thread gets, and gives them out with their keys behind their columns.
pub(super) fn run(
    (input, sorts): (&Plan, &[SortKey]),
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
    give: Give<'_, Batch>,
) -> SqlResult<()> {
    let mut sorted = sorted((input, sorts), needed, limit, cx)?;
    while let Some(batch) = sorted.next(cx)? {
        give(batch)?;
    }
    Ok(())
}

/// The rows of threads that each sort theirs.
struct Merged {
    helpers: Helpers<Batch>,
    merge: Option<Merge<KeysBehind>>,
    directions: Vec<Direction>,
    limit: usize,
}

/// Merges what the threads of a zone, whose top is a sort, give out.
pub(super) fn merged<'p>(zone: &Plan, helpers: Helpers<Batch>, limit: u64) -> Boxed<'p> {
    let keys = match &zone.node {
        Node::Sort { keys, .. } => keys.as_slice(),
        _ => &[],
    };
    let directions = keys.iter().map(|k| Direction::of(&k.expr, k.descending));
    Box::new(Merged {
        directions: directions.collect(),
        helpers,
        merge: None,
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    })
}

impl BatchOperator for Merged {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        let helpers = &mut self.helpers;
        let merge = match &mut self.merge {
            Some(merge) => merge,
            none => {
                let order = KeysBehind(self.directions.clone());
                let runs = helpers.queues();
                let made = Merge::new(runs, order, self.limit, &mut |r| helpers.next(r, cx))?;
                none.insert(made)
            }
        };
        let Some(batch) = merge.next(BATCH_ROWS, &mut |run| helpers.next(run, cx))? else {
            return Ok(None);
        };
        let n = batch.rows();
        let mut columns = batch.into_columns();
        columns.truncate(columns.len() - self.directions.len());
        Ok(Some(Batch::new(n, columns)))
    }
}

/// Starts a sort of which only the first `limit` rows will be asked for.
pub fn open<'p>(
    (input, sorts): (&'p Plan, &'p [SortKey]),
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    Ok(Box::new(Sort(sorted((input, sorts), needed, limit, cx)?)))
}

fn sorted(
    (input, sorts): (&Plan, &[SortKey]),
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Sorted> {
    let mut below = needed.to_vec();
    sorts.iter().for_each(|k| need(&k.expr, &mut below));
    let source = super::open(input, &below, cx)?;
    sorted_of(source, (&input.columns, needed), sorts, limit, cx)
}

fn sorted_of(
    mut source: Boxed<'_>,
    columns: (&[OutColumn], &[bool]),
    sorts: &[SortKey],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Sorted> {
    let by = sorts.iter().map(|k| (&k.expr, k.descending)).collect();
    let mut sorter = Sorter::new(columns, by, limit, cx);
    while let Some(batch) = source.next(cx)? {
        sorter.add(&batch, cx)?;
    }
    drop(source);
    sorter.finish(cx)
}

/// Sorts the rows of a started input, all of whose columns are wanted.
pub fn over<'p>(
    input: Boxed<'p>,
    (plan, sorts): (&'p Plan, &'p [SortKey]),
    cx: &mut Cx<'_>,
) -> SqlResult<impl BatchOperator + use<'p>> {
    let all = vec![true; plan.columns.len()];
    let columns = (&plan.columns[..], all.as_slice());
    Ok(Sort(sorted_of(input, columns, sorts, u64::MAX, cx)?))
}

struct Sort(Sorted);

impl BatchOperator for Sort {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let Some(batch) = self.0.next(cx)? else {
            return Ok(None);
        };
        let n = batch.rows();
        Ok(Some(Batch::new(n, self.0.part(batch).0)))
    }
}

/// Whether the calls only number rows.
pub fn numbers_only(calls: &[WindowCall]) -> bool {
    calls.iter().all(|c| {
        matches!(
            c.kind,
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank
        )
    })
}

/// ROW_NUMBER, RANK and DENSE_RANK: for each call a sort by its partition and order, and the numbers as one more column.
pub fn window<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let Node::Window { input, calls } = &plan.node else {
        return super::source::from_rows(plan, needed, cx);
    };
    let width = input.columns.len();
    // What is still read above each call: what is needed in the end, and what later calls go by.
    let mut kept = vec![needed[..width].to_vec()];
    for call in calls.iter().rev() {
        let mut more = kept.last().cloned().unwrap_or_default();
        by(call).iter().for_each(|(e, _)| need(e, &mut more));
        kept.push(more);
    }
    let mut source = super::open(input, kept.last().map_or(&[], Vec::as_slice), cx)?;
    for (i, call) in calls.iter().enumerate() {
        let columns = [&input.columns[..], &plan.columns[width..width + i]].concat();
        let mut own = kept[calls.len() - 1 - i].clone();
        own.resize(width + i, true);
        let mut sorter = Sorter::new((&columns, &own), by(call), u64::MAX, cx);
        while let Some(batch) = source.next(cx)? {
            sorter.add(&batch, cx)?;
        }
        source = Box::new(Number {
            sorted: sorter.finish(cx)?,
            call,
            before: None,
            place: 0,
            rank: 0,
            dense: 0,
        });
    }
    Ok(source)
}

pub(super) fn by(call: &WindowCall) -> Vec<(&Expr, bool)> {
    let partition = call.partition.iter().map(|e| (e, false));
    let order = call.order.iter().map(|k| (&k.expr, k.descending));
    partition.chain(order).collect()
}

/// Rows in a window's order, numbered.
struct Number<'p> {
    sorted: Sorted,
    call: &'p WindowCall,
    /// The keys of the row before: their columns and its place in them.
    before: Option<(Vec<Arc<Column>>, usize)>,
    place: i64,
    rank: i64,
    dense: i64,
}

impl Number<'_> {
    /// Whether the row at `at` is in the partition of the row before, and whether it sorts like that one.
    fn same(&self, keys: &[Arc<Column>], at: usize) -> (bool, bool) {
        let Some((columns, row)) = &self.before else {
            return (false, false);
        };
        let alike =
            |i: usize, collation| compare_cells(&columns[i], *row, &keys[i], at, collation).is_eq();
        let parts = self.call.partition.len();
        let mut partition = self.call.partition.iter().enumerate();
        let part = partition.all(|(i, e)| alike(i, e.ty.collation));
        let mut order = self.call.order.iter().enumerate();
        let peer = part
            && self.call.kind != WindowKind::RowNumber
            && order.all(|(i, k)| alike(parts + i, k.expr.ty.collation));
        (part, peer)
    }
}

impl BatchOperator for Number<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let Some(batch) = self.sorted.next(cx)? else {
            return Ok(None);
        };
        let n = batch.rows();
        let (mut columns, keys) = self.sorted.part(batch);
        let mut numbers = Vec::with_capacity(n);
        for at in 0..n {
            let (part, peer) = self.same(&keys, at);
            if !part {
                (self.place, self.rank, self.dense) = (0, 0, 0);
            }
            self.place += 1;
            if !peer {
                self.rank = self.place;
                self.dense += 1;
            }
            numbers.push(match self.call.kind {
                WindowKind::RowNumber => self.place,
                WindowKind::Rank => self.rank,
                _ => self.dense,
            });
            match &mut self.before {
                Some((_, row)) if at > 0 => *row = at,
                before => *before = Some((keys.clone(), at)),
            }
        }
        let numbers = Data::Ints(IntKind::BigInt, numbers);
        columns.push(Arc::new(Column::new(numbers)));
        Ok(Some(Batch::new(n, columns)))
    }
}
