//! Merge joins over batches.
//!
//! Both inputs come in the order of the join's keys (`optimize::merge` sees to it) and are read side by side. On each side
//! a *window* of rows is in memory, by column: on the left a batch, on the right as much as the rows that share the key at
//! hand need. Walking along the two windows makes pairs of places, and joined batches are gathered from those.
//!
//! Invariants
//! 1. Rows come out in the left side's order when each of them comes from a row on the left.
//!    [test: merges_of_several_keys_keep_rows_and_order]
//! 2. A row with NULL in its key has no partner. [test: every_kind_of_join_finds_what_hashing_finds]
//! 3. Places stand for rows of the windows at hand: what was paired is given out before a window changes.
//!    [test: every_kind_of_join_finds_what_hashing_finds]
//! 4. Memory: right rows of one key that find no room go to a file, which is read again for each left row of that key.
//!    [test: batches_and_files_end_within_groups]

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::CollationId;
use duramen_types::batch::{Batch, Column, Data, NO_ROW};

use super::join::Reads;
use super::order::compare_cells;
use super::spilled::{Purpose, Reader, Writer};
use super::store::nothing;
use super::vector::{self, BatchExpr};
use super::{BATCH_ROWS, BatchOperator, Boxed, may_be_wide, rows_together, source};
use crate::cx::Cx;
use crate::plan::{JoinKind, Node, OutColumn, Plan};
use crate::spill::Grant;

/// Pairs that are put together at a time.
const PAIRS: usize = 4096;

type Columns = Vec<Arc<Column>>;

/// Starts a merge join.
pub fn open<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let Node::Join {
        left,
        right,
        kind,
        hash,
        on,
        ..
    } = &plan.node
    else {
        return source::from_rows(plan, needed, cx);
    };
    let reads = Reads::of(needed, left.columns.len(), hash, on.as_ref());
    let left_input = super::open(left, &reads.left_needed, cx)?;
    let right_input = super::open(right, &reads.right_needed, cx)?;
    Ok(Box::new(MergeJoin {
        left: Side::new(
            left_input,
            BatchExpr::all(hash.iter().map(|h| &h.0)),
            (&left.columns, reads.left_carried()),
            matches!(kind, JoinKind::Left | JoinKind::Full),
        ),
        right: Side::new(
            right_input,
            BatchExpr::all(hash.iter().map(|h| &h.1)),
            (&right.columns, reads.right_carried()),
            matches!(kind, JoinKind::Right | JoinKind::Full),
        ),
        collations: hash.iter().map(|(l, _)| l.ty.collation).collect(),
        on: on.as_ref().map(BatchExpr::new),
        grant: Grant::new(cx.host.workspace()),
        may_be_wide: may_be_wide(plan.columns.iter().map(|c| &c.ty)),
        most: PAIRS,
        group: None,
        in_group: 0,
        scanned: 0,
        large: None,
    }))
}

/// Some rows of one side, with their keys.
struct Window {
    rows: usize,
    columns: Columns,
    keys: Columns,
    /// Which rows have a partner; empty where nobody asks.
    matched: Vec<bool>,
    /// The rows before this have been joined.
    at: usize,
    /// The rows before this have come out, with partners or without.
    returned: usize,
}

/// One input.
struct Side<'p> {
    input: Boxed<'p>,
    exprs: Vec<BatchExpr<'p>>,
    columns: &'p [OutColumn],
    /// The columns that ON or somebody above reads.
    carried: Vec<bool>,
    /// Its rows come even when nobody joins them.
    outer: bool,
    ended: bool,
    window: Window,
}

impl<'p> Side<'p> {
    fn new(
        input: Boxed<'p>,
        exprs: Vec<BatchExpr<'p>>,
        (columns, carried): (&'p [OutColumn], &[bool]),
        outer: bool,
    ) -> Side<'p> {
        Side {
            window: Window {
                rows: 0,
                columns: nothing(columns, carried, 0),
                keys: Vec::new(),
                matched: Vec::new(),
                at: 0,
                returned: 0,
            },
            input,
            exprs,
            columns,
            carried: carried.to_vec(),
            outer,
            ended: false,
        }
    }

    /// The next rows of the input: the carried columns, and the keys.
    fn read(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<(usize, Columns, Columns)>> {
        cx.check_cancelled()?;
        if self.ended {
            return Ok(None);
        }
        let Some(batch) = self.input.next(cx)? else {
            self.ended = true;
            return Ok(None);
        };
        let keys = vector::columns(&self.exprs, &batch, cx)?;
        let n = batch.rows();
        Ok(Some((n, batch.only(&self.carried).into_columns(), keys)))
    }

    /// Puts the next rows in the window's place, all of which have come out.
    fn next_window(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        if let Some((rows, columns, keys)) = self.read(cx)? {
            self.show(rows, columns, keys);
        }
        Ok(())
    }

    fn show(&mut self, rows: usize, columns: Columns, keys: Columns) {
        self.window = Window {
            rows,
            columns,
            keys,
            matched: vec![false; if self.outer { rows } else { 0 }],
            at: 0,
            returned: 0,
        };
    }

    /// Lets go of the rows that have come out, and adds the next ones behind the others. How many have gone.
    fn extend(&mut self, cx: &mut Cx<'_>) -> SqlResult<usize> {
        let Some((rows, columns, keys)) = self.read(cx)? else {
            return Ok(0);
        };
        let w = &mut self.window;
        let gone = w.returned;
        if gone > 0 {
            let rest = |c: &Arc<Column>| match c.is_absent() {
                true => c.clone(),
                false => Arc::new(c.slice(w.returned, w.rows)),
            };
            w.columns = w.columns.iter().map(rest).collect();
            w.keys = w.keys.iter().map(rest).collect();
            w.matched.drain(..w.returned.min(w.matched.len()));
            w.rows -= w.returned;
            w.at -= w.returned;
            w.returned = 0;
        }
        let all = w.columns.iter_mut().chain(&mut w.keys);
        for (all, new) in all.zip(columns.iter().chain(&keys)) {
            Arc::make_mut(all).append(new);
        }
        w.rows += rows;
        if self.outer {
            w.matched.resize(w.rows, false);
        }
        Ok(gone)
    }

    /// Bytes of a row of the window, about.
    fn row_bytes(&self) -> usize {
        self.heap_bytes() / self.window.rows.max(1)
    }

    fn heap_bytes(&self) -> usize {
        let w = &self.window;
        let columns = w.columns.iter().chain(&w.keys);
        columns.map(|c| c.heap_bytes()).sum::<usize>() + w.matched.len()
    }
}

fn has_null(keys: &[Arc<Column>], i: usize) -> bool {
    keys.iter().any(|c| c.is_null(i))
}

/// The order of a key of one list of columns and one of another.
fn compare(
    (left, i): (&[Arc<Column>], usize),
    (right, j): (&[Arc<Column>], usize),
    collations: &[CollationId],
) -> Ordering {
    let keys = left.iter().zip(right).zip(collations);
    keys.map(|((l, r), collation)| compare_cells(l, i, r, j, *collation))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The numbers of a key that is one column of numbers, no NULL among them.
fn numbers(keys: &[Arc<Column>]) -> Option<(duramen_types::batch::IntKind, &[i64])> {
    match keys {
        [column] => match &column.data {
            Data::Ints(kind, values) if !column.nulls().contains(&true) => Some((*kind, values)),
            _ => None,
        },
        _ => None,
    }
}

/// Right rows of one key that found no room.
struct Large {
    reader: Reader,
    /// The key, in columns of one row.
    key: Columns,
    /// Which rows have a partner; empty where nobody asks.
    matched: Vec<bool>,
    /// The rows read before the next block, for the left row at hand.
    read: usize,
    /// No left row has the key any more: the rows without partners come out.
    leaving: bool,
}

impl Large {
    fn leave(&mut self) {
        self.leaving = true;
        self.reader.rewind();
        self.read = 0;
    }
}

struct MergeJoin<'p> {
    left: Side<'p>,
    right: Side<'p>,
    collations: Vec<CollationId>,
    on: Option<BatchExpr<'p>>,
    grant: Grant,
    may_be_wide: bool,
    /// So many pairs are put together.
    most: usize,
    /// The end of the right rows that have the left row's key; they begin where the right window stands.
    group: Option<usize>,
    /// The next of them to pair with the left row.
    in_group: usize,
    /// The right rows from where the window stands to here have one key.
    scanned: usize,
    large: Option<Large>,
}

/// Why a walk has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// Enough pairs, or no left row any more.
    Nothing,
    /// Right rows behind those at hand.
    Right,
    /// Nothing more: no left row can find a partner.
    End,
}

impl MergeJoin<'_> {
    /// Pairs of places, as far as the windows go.
    fn walk(&mut self, pairs: &mut (Vec<u32>, Vec<u32>)) -> Wants {
        if self.may_be_wide {
            let row_bytes = self.left.row_bytes() + self.right.row_bytes();
            self.most = rows_together(row_bytes, 1);
        }
        let left = std::mem::take(&mut self.left.window.keys);
        let right = std::mem::take(&mut self.right.window.keys);
        let wants = match (numbers(&left), numbers(&right)) {
            (Some((k, l)), Some((m, r))) if k == m => {
                self.walk_by(pairs, |i, j| l[i].cmp(&r[j]), |_| false, |_| false)
            }
            _ => {
                let collations = std::mem::take(&mut self.collations);
                let wants = self.walk_by(
                    pairs,
                    |i, j| compare((&left, i), (&right, j), &collations),
                    |i| has_null(&left, i),
                    |j| has_null(&right, j),
                );
                self.collations = collations;
                wants
            }
        };
        self.left.window.keys = left;
        self.right.window.keys = right;
        wants
    }

    fn walk_by(
        &mut self,
        (of_left, of_right): &mut (Vec<u32>, Vec<u32>),
        compare: impl Fn(usize, usize) -> Ordering,
        null_left: impl Fn(usize) -> bool,
        null_right: impl Fn(usize) -> bool,
    ) -> Wants {
        let (l, r) = (&mut self.left.window, &mut self.right.window);
        while l.at < l.rows && of_left.len() < self.most {
            if null_left(l.at) {
                l.at += 1;
                continue;
            }
            let end = match self.group {
                Some(end) => match compare(l.at, r.at) {
                    Ordering::Equal => end,
                    Ordering::Less => {
                        l.at += 1;
                        continue;
                    }
                    Ordering::Greater => {
                        r.at = end;
                        self.group = None;
                        continue;
                    }
                },
                None => {
                    if r.at >= r.rows {
                        return match self.right.ended {
                            true => Wants::End,
                            false => Wants::Right,
                        };
                    }
                    if null_right(r.at) {
                        r.at += 1;
                        continue;
                    }
                    match compare(l.at, r.at) {
                        Ordering::Less => {
                            l.at += 1;
                            continue;
                        }
                        Ordering::Greater => {
                            r.at += 1;
                            continue;
                        }
                        Ordering::Equal => {}
                    }
                    let mut end = self.scanned.max(r.at + 1);
                    while end < r.rows && compare(l.at, end).is_eq() {
                        end += 1;
                    }
                    if end == r.rows && !self.right.ended {
                        self.scanned = end;
                        return Wants::Right;
                    }
                    self.scanned = 0;
                    self.group = Some(end);
                    self.in_group = r.at;
                    end
                }
            };
            let some = end.min(self.in_group + self.most - of_left.len());
            of_left.extend(std::iter::repeat_n(l.at as u32, some - self.in_group));
            of_right.extend(self.in_group as u32..some as u32);
            self.in_group = some;
            if some == end {
                l.at += 1;
                self.in_group = r.at;
            }
        }
        Wants::Nothing
    }

    /// The joined rows of pairs that ON lets through, and of the rows passed by without a partner.
    fn joined(
        &mut self,
        (mut of_left, mut of_right): (Vec<u32>, Vec<u32>),
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Batch>> {
        if let Some(on) = &self.on
            && !of_left.is_empty()
        {
            let kept = vector::select(on, &self.gathered(&of_left, &of_right), cx)?;
            of_left = kept.iter().map(|i| of_left[*i as usize]).collect();
            of_right = kept.iter().map(|i| of_right[*i as usize]).collect();
        }
        if self.left.outer {
            let w = &mut self.left.window;
            of_left.iter().for_each(|i| w.matched[*i as usize] = true);
            let lonely = (w.returned..w.at).filter(|i| !w.matched[*i]);
            let lonely: Vec<u32> = lonely.map(|i| i as u32).collect();
            if !lonely.is_empty() {
                (of_left, of_right) = with_lonely((&of_left, &of_right), &lonely);
            }
        }
        self.left.window.returned = self.left.window.at;
        let w = &mut self.right.window;
        if self.right.outer {
            let partners = of_right.iter().filter(|j| **j != NO_ROW);
            partners.for_each(|j| w.matched[*j as usize] = true);
            for j in (w.returned..w.at).filter(|j| !w.matched[*j]) {
                of_left.push(NO_ROW);
                of_right.push(j as u32);
            }
        }
        w.returned = w.at;
        match of_left.is_empty() {
            true => Ok(None),
            false => Ok(Some(self.gathered(&of_left, &of_right))),
        }
    }

    fn gathered(&self, of_left: &[u32], of_right: &[u32]) -> Batch {
        let left = picked(&self.left.window, of_left);
        let right = picked(&self.right.window, of_right);
        Batch::new(of_left.len(), left.into_iter().chain(right).collect())
    }

    /// More right rows, for a group that may go on. One too large for memory goes to a file.
    fn more_right(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let w = &self.right.window;
        if w.returned >= w.rows {
            self.scanned = 0;
            self.grant.hold(0);
            return self.right.next_window(cx);
        }
        let gone = self.right.extend(cx)?;
        self.scanned = self.scanned.saturating_sub(gone);
        match self.grant.hold(self.right.heap_bytes()) {
            true => Ok(()),
            false => self.spill(cx),
        }
    }

    /// Writes the group that the right window begins with to a file, with what follows of it.
    fn spill(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut writer = Writer::new(Purpose::Spool, cx)?;
        let part = writer.part();
        let mut from = self.right.window.at;
        let key: Columns = {
            let keys = self.right.window.keys.iter();
            keys.map(|c| Arc::new(c.slice(from, from + 1))).collect()
        };
        let mut matched = Vec::new();
        loop {
            let w = &self.right.window;
            let same = |j: usize| compare((&key, 0), (&w.keys, j), &self.collations).is_eq();
            let mut end = self.scanned.clamp(from, w.rows);
            while end < w.rows && same(end) {
                end += 1;
            }
            let group: Vec<u32> = (from as u32..end as u32).collect();
            for some in group.chunks(BATCH_ROWS) {
                writer.put(part, &w.columns, some)?;
            }
            if self.right.outer {
                matched.extend_from_slice(&w.matched[from..end]);
            }
            (from, self.scanned) = (0, 0);
            if end < w.rows {
                self.right.window.at = end;
                self.right.window.returned = end;
                break;
            }
            self.right.next_window(cx)?;
            if self.right.ended {
                let none = nothing(self.right.columns, &self.right.carried, 0);
                self.right.show(0, none, Vec::new());
                break;
            }
        }
        self.grant.hold(0);
        let Some(reader) = writer.finish()?.into_iter().next() else {
            return Ok(());
        };
        self.large = Some(Large {
            reader,
            key,
            matched,
            read: 0,
            leaving: false,
        });
        Ok(())
    }

    /// The next joined rows of the group in the file; `None`: look again.
    fn next_of_large(&mut self, mut large: Large, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        if !large.leaving {
            let w = &self.left.window;
            if w.at >= w.rows {
                let joined = self.joined(Default::default(), cx)?;
                self.left.next_window(cx)?;
                if self.left.window.at >= self.left.window.rows {
                    large.leave();
                }
                self.large = Some(large);
                return Ok(joined);
            }
            if compare((&w.keys, w.at), (&large.key, 0), &self.collations).is_ne() {
                large.leave();
            }
        }
        if large.leaving && large.matched.is_empty() {
            return Ok(None);
        }
        let Some(block) = large.reader.next_block()? else {
            if !large.leaving {
                self.left.window.at += 1;
                large.reader.rewind();
                large.read = 0;
                self.large = Some(large);
            }
            return self.joined(Default::default(), cx);
        };
        let n = block.rows();
        let from = large.read;
        large.read += n;
        let batch = match large.leaving {
            true => self.lonely_of(&large, &block, from),
            false => self.joined_with(&mut large, &block, from, cx)?,
        };
        self.large = Some(large);
        Ok(batch)
    }

    /// The left row at hand beside the rows of a block.
    fn joined_with(
        &mut self,
        large: &mut Large,
        block: &Batch,
        from: usize,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Batch>> {
        let n = block.rows();
        let at = self.left.window.at;
        let left = picked(&self.left.window, &vec![at as u32; n]);
        let right = block.columns().iter().cloned();
        let all = Batch::new(n, left.into_iter().chain(right).collect());
        let kept = match &self.on {
            Some(on) => vector::select(on, &all, cx)?,
            None => (0..n as u32).collect(),
        };
        if kept.is_empty() {
            return Ok(None);
        }
        if let Some(matched) = self.left.window.matched.get_mut(at) {
            *matched = true;
        }
        if !large.matched.is_empty() {
            let places = kept.iter().map(|j| from + *j as usize);
            places.for_each(|j| large.matched[j] = true);
        }
        Ok(Some(match kept.len() == n {
            true => all,
            false => all.gather(&kept),
        }))
    }

    /// The rows of a block that have found no partner.
    fn lonely_of(&self, large: &Large, block: &Batch, from: usize) -> Option<Batch> {
        let lonely: Vec<u32> = (0..block.rows() as u32)
            .filter(|j| large.matched.get(from + *j as usize) == Some(&false))
            .collect();
        if lonely.is_empty() {
            return None;
        }
        let n = lonely.len();
        let left = nothing(self.left.columns, &self.left.carried, n);
        let right = block.gather(&lonely).into_columns();
        Some(Batch::new(n, left.into_iter().chain(right).collect()))
    }
}

/// The rows at these places; the window's own columns where those are all of its rows.
fn picked(window: &Window, rows: &[u32]) -> Columns {
    let all = rows.len() == window.rows && rows.iter().enumerate().all(|(i, r)| i as u32 == *r);
    let columns = window.columns.iter();
    match all {
        true => columns.cloned().collect(),
        false => columns.map(|c| Arc::new(c.gather(rows))).collect(),
    }
}

/// Pairs with left rows without partners between them, in the left rows' order.
fn with_lonely((of_left, of_right): (&[u32], &[u32]), lonely: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let n = of_left.len() + lonely.len();
    let (mut left, mut right) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut rest = lonely.iter().peekable();
    for (l, r) in of_left.iter().zip(of_right) {
        while let Some(alone) = rest.next_if(|alone| **alone < *l) {
            left.push(*alone);
            right.push(NO_ROW);
        }
        left.push(*l);
        right.push(*r);
    }
    for alone in rest {
        left.push(*alone);
        right.push(NO_ROW);
    }
    (left, right)
}

impl BatchOperator for MergeJoin<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            cx.check_cancelled()?;
            if let Some(large) = self.large.take() {
                match self.next_of_large(large, cx)? {
                    Some(batch) => return Ok(Some(batch)),
                    None => continue,
                }
            }
            let l = &self.left.window;
            if l.returned >= l.rows && !self.left.ended {
                self.left.next_window(cx)?;
                continue;
            }
            let mut wants = Wants::End;
            let mut pairs = Default::default();
            if l.at < l.rows {
                wants = self.walk(&mut pairs);
            }
            if wants == Wants::End {
                // Only rows without partners are still wanted.
                self.left.window.at = self.left.window.rows;
                self.right.window.at = match self.left.ended {
                    true => self.right.window.rows,
                    false => self.right.window.at,
                };
                self.group = None;
            }
            let batch = self.joined(pairs, cx)?;
            match wants {
                Wants::Right => self.more_right(cx)?,
                Wants::Nothing => {}
                Wants::End => {
                    let over = match self.left.ended {
                        true => !self.right.outer || self.right.ended,
                        false => !self.left.outer,
                    };
                    if over && batch.is_none() {
                        return Ok(None);
                    }
                    if self.left.ended && self.right.outer {
                        self.right.next_window(cx)?;
                    }
                }
            }
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }
}
