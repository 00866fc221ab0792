//! Sorting, and what rests on it: the numbering window functions.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column, Data, IntKind};

use super::order::{Key, compare_rows, order};
use super::store::Store;
use super::vector::{self, BatchExpr};
use super::{BATCH_ROWS, BatchOperator, Boxed, need};
use crate::cx::Cx;
use crate::expr::Expr;
use crate::plan::{Node, Plan, SortKey, WindowCall, WindowKind};

/// Rows that are sorted only to keep the first of them are thrown away when this many times as many are there.
const SLACK: usize = 4;
const FEW: usize = 1 << 16;

/// Rows kept, and their sort keys beside them.
struct Keyed<'p> {
    store: Store,
    exprs: Vec<BatchExpr<'p>>,
    keys: Vec<Column>,
}

impl<'p> Keyed<'p> {
    fn new(input: &Plan, kept: &[bool], exprs: Vec<&'p Expr>) -> Keyed<'p> {
        Keyed {
            store: Store::new(&input.columns, kept),
            keys: exprs.iter().map(|e| Column::of(&e.ty)).collect(),
            exprs: BatchExpr::all(exprs),
        }
    }

    fn add(&mut self, batch: &Batch, cx: &mut Cx<'_>) -> SqlResult<()> {
        let columns = vector::columns(&self.exprs, batch, cx)?;
        for (all, new) in self.keys.iter_mut().zip(columns) {
            all.append(&new);
        }
        self.store.append(batch);
        Ok(())
    }

    fn keep(&mut self, rows: &[u32]) {
        self.store.keep(rows);
        for column in &mut self.keys {
            *column = column.gather(rows);
        }
    }
}

fn sort_keys(keys: Vec<Column>, sorts: &[SortKey]) -> Vec<Key> {
    let pairs = keys.into_iter().zip(sorts);
    let key = |(column, sort): (Column, &SortKey)| Key {
        column: Arc::new(column),
        collation: sort.expr.ty.collation,
        descending: sort.descending,
    };
    pairs.map(key).collect()
}

/// Starts a sort of which only the first `limit` rows will be asked for.
pub fn open<'p>(
    (input, sorts): (&'p Plan, &'p [SortKey]),
    needed: &[bool],
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let mut below = needed.to_vec();
    sorts.iter().for_each(|k| need(&k.expr, &mut below));
    let exprs = sorts.iter().map(|k| &k.expr).collect();
    let mut rows = Keyed::new(input, needed, exprs);
    let mut source = super::open(input, &below, cx)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let enough = limit.saturating_mul(SLACK).max(FEW);
    while let Some(batch) = source.next(cx)? {
        rows.add(&batch, cx)?;
        if rows.store.rows() > enough {
            let keys = sort_keys(std::mem::take(&mut rows.keys), sorts);
            let mut first = order(&keys, rows.store.rows());
            first.truncate(limit);
            rows.keys = keys
                .into_iter()
                .map(|k| Arc::unwrap_or_clone(k.column))
                .collect();
            rows.keep(&first);
        }
    }
    let n = rows.store.rows();
    let mut order = order(&sort_keys(rows.keys, sorts), n);
    order.truncate(limit);
    Ok(Box::new(Ordered {
        store: rows.store,
        more: Vec::new(),
        order,
        next: 0,
    }))
}

/// Kept rows on their way out, with columns that stand behind theirs.
struct Ordered {
    store: Store,
    more: Vec<Column>,
    order: Vec<u32>,
    next: usize,
}

impl BatchOperator for Ordered {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        let end = self.order.len().min(self.next + BATCH_ROWS);
        let rows = &self.order[self.next..end];
        self.next = end;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut columns = self.store.gather(rows);
        columns.extend(self.more.iter().map(|c| Arc::new(c.gather(rows))));
        Ok(Some(Batch::new(rows.len(), columns)))
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

/// ROW_NUMBER, RANK and DENSE_RANK.
pub fn window<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let Node::Window { input, calls } = &plan.node else {
        return super::source::from_rows(plan, needed, cx);
    };
    let mut exprs = Vec::new();
    for call in calls {
        exprs.extend(&call.partition);
        exprs.extend(call.order.iter().map(|k| &k.expr));
    }
    let kept = &needed[..input.columns.len()];
    let mut below = kept.to_vec();
    exprs.iter().for_each(|e| need(e, &mut below));
    let mut rows = Keyed::new(input, kept, exprs);
    let mut source = super::open(input, &below, cx)?;
    while let Some(batch) = source.next(cx)? {
        rows.add(&batch, cx)?;
    }
    let n = rows.store.rows();
    let mut keys = rows.keys.into_iter().map(Arc::new);
    let mut last = (0..n as u32).collect();
    let mut more = Vec::with_capacity(calls.len());
    for call in calls {
        let partition = call.partition.iter().zip(&mut keys);
        let mut both: Vec<Key> = partition
            .map(|(e, column)| Key {
                column,
                collation: e.ty.collation,
                descending: false,
            })
            .collect();
        let parts = both.len();
        let sorts = call.order.iter().zip(&mut keys);
        both.extend(sorts.map(|(k, column)| Key {
            column,
            collation: k.expr.ty.collation,
            descending: k.descending,
        }));
        last = order(&both, n);
        more.push(number(call.kind, &both, parts, &last));
        cx.check_cancelled()?;
    }
    Ok(Box::new(Ordered {
        store: rows.store,
        more,
        order: last,
        next: 0,
    }))
}

/// Each row's number; `keys` are the partition's `parts` columns, then those of the order.
fn number(kind: WindowKind, keys: &[Key], parts: usize, order: &[u32]) -> Column {
    let mut numbers = vec![0i64; order.len()];
    let (partition, sort) = keys.split_at(parts);
    let (mut place, mut rank, mut dense) = (0, 0, 0);
    let mut before = None;
    for &row in order {
        let at = row as usize;
        let same_part = before.is_some_and(|b| compare_rows(partition, b, at).is_eq());
        if !same_part {
            (place, rank, dense) = (0, 0, 0);
        }
        place += 1;
        let peer = match kind {
            WindowKind::RowNumber => false,
            _ => same_part && before.is_some_and(|b| compare_rows(sort, b, at).is_eq()),
        };
        if !peer {
            rank = place;
            dense += 1;
        }
        numbers[at] = match kind {
            WindowKind::RowNumber => place,
            WindowKind::Rank => rank,
            _ => dense,
        };
        before = Some(at);
    }
    Column::new(Data::Ints(IntKind::BigInt, numbers))
}
