//! Merge joins: both sides come in the order of the join's keys and are read once, side by side.
//!
//! Nothing is kept but the rows of the right side that share one key, in a file when they are many, so a join of any size
//! takes no workspace where the right side's keys differ. Rows come out in the left side's order when each of them comes from a row on the left.
//!
//! Invariants
//! 1. Each input is in ascending order of its key expressions, NULL first, strings by the collation that the join compares
//!    them by. `optimize::merge` sees to it. [test: merges_of_several_keys_keep_rows_and_order]
//! 2. A row with NULL in its key has no partner. [test: duplicates_pair_with_duplicates_and_null_with_nothing]

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::cx::Cx;
use crate::exec::{BATCH_ROWS, Operator, open_for};
use crate::expr::Expr;
use crate::kept::{Held, Spool, SpoolReader, Spooled, row_bytes};
use crate::key::compare_nullable;
use crate::passing::{Passing, rows_together};
use crate::plan::{Columns, JoinKind, Node, Plan, Row};

/// One side: its rows with their keys, the next one looked at before it is taken.
struct Side<'p> {
    input: Operator<'p>,
    keys: Vec<&'p Expr>,
    read: VecDeque<Row>,
    /// The key of the first row of `read`.
    key: Option<Vec<Value>>,
    ended: bool,
}

impl<'p> Side<'p> {
    fn new(input: Operator<'p>, keys: Vec<&'p Expr>) -> Side<'p> {
        Side {
            input,
            keys,
            read: VecDeque::new(),
            key: None,
            ended: false,
        }
    }

    /// The key of the next row; `None` after the last.
    fn peek(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<&[Value]>> {
        while self.key.is_none() {
            if let Some(row) = self.read.front() {
                let mut key = Vec::with_capacity(self.keys.len());
                for e in &self.keys {
                    key.push(e.eval(row, cx)?);
                }
                self.key = Some(key);
            } else if self.ended {
                return Ok(None);
            } else {
                match self.input.next(cx)? {
                    Some(batch) => self.read.extend(batch),
                    None => self.ended = true,
                }
            }
        }
        Ok(self.key.as_deref())
    }

    /// The row that was looked at, and its key.
    fn take(&mut self) -> Option<(Row, Vec<Value>)> {
        let key = self.key.take()?;
        Some((self.read.pop_front()?, key))
    }
}

/// The rows on the right that share a key.
struct Group {
    key: Vec<Value>,
    /// All of them, or those at hand of a file.
    rows: Vec<Row>,
    /// How many stand before those at hand.
    before: usize,
    /// Of each, in all, whether it has found a partner.
    found: Vec<bool>,
    held: Held,
    file: Option<Arc<Spooled>>,
    reader: Option<SpoolReader>,
}

impl Group {
    /// Stands before the first row.
    fn begin(&mut self) -> SqlResult<()> {
        self.before = 0;
        if let Some(file) = &self.file {
            self.rows.clear();
            self.reader = Some(SpoolReader::new(file.clone()));
            self.go_on()?;
        }
        Ok(())
    }

    /// Brings the next rows of a file to hand; false at the end.
    fn go_on(&mut self) -> SqlResult<bool> {
        let Some(reader) = &mut self.reader else {
            return Ok(false);
        };
        self.before += self.rows.len();
        self.rows = reader.next(BATCH_ROWS)?.unwrap_or_default();
        Ok(!self.rows.is_empty())
    }
}

/// A row on the left on its way through the group.
struct Current {
    row: Row,
    at: usize,
    matched: bool,
}

pub struct MergeJoin<'p> {
    /// Of the right side.
    columns: &'p Columns,
    left: Side<'p>,
    right: Side<'p>,
    pairs: &'p [(Expr, Expr)],
    on: Option<&'p Expr>,
    outer_left: bool,
    outer_right: bool,
    left_width: usize,
    right_width: usize,
    group: Option<Group>,
    /// A group that is left: its rows without a partner come out.
    left_group: Option<Group>,
    current: Option<Current>,
    pending: VecDeque<Row>,
    /// Of the rows in `pending`.
    passing: Passing,
    done: bool,
}

impl<'p> MergeJoin<'p> {
    /// Starts the join that a plan is; `None` when it is another kind of plan. `goal` as of [`open_for`].
    pub fn open(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Option<MergeJoin<'p>>> {
        let Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            merge: true,
            ..
        } = &plan.node
        else {
            return Ok(None);
        };
        let left_input = open_for(left, goal, cx)?;
        let right_input = open_for(right, goal, cx)?;
        Ok(Some(MergeJoin {
            columns: &right.columns,
            left: Side::new(left_input, hash.iter().map(|p| &p.0).collect()),
            right: Side::new(right_input, hash.iter().map(|p| &p.1).collect()),
            pairs: hash,
            on: on.as_ref(),
            outer_left: matches!(kind, JoinKind::Left | JoinKind::Full),
            outer_right: matches!(kind, JoinKind::Right | JoinKind::Full),
            left_width: left.columns.len(),
            right_width: right.columns.len(),
            group: None,
            left_group: None,
            current: None,
            pending: VecDeque::new(),
            passing: Passing::of(plan.columns.iter().map(|c| &c.ty)),
            done: false,
        }))
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        while !self.is_full(cx) && !self.done {
            match (&self.left_group, &self.current) {
                (Some(_), _) => self.alone_of_group(cx)?,
                (None, Some(_)) => self.pair(cx)?,
                (None, None) => self.advance(cx)?,
            }
        }
        let n = self.pending.len().min(cx.wanted);
        self.passing.go_on(cx);
        Ok((n > 0).then(|| self.pending.drain(..n).collect()))
    }

    /// Whether there are enough rows for a batch.
    fn is_full(&self, cx: &Cx<'_>) -> bool {
        self.pending.len() >= cx.wanted || self.passing.is_full()
    }

    /// One more row comes out.
    fn give(&mut self, row: Row) {
        self.passing.add(&row);
        self.pending.push_back(row);
    }

    /// Puts the current row beside the group's rows, until a batch is full or the group has been through.
    fn pair(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let Some(mut current) = self.current.take() else {
            return Ok(());
        };
        let Some(group) = &mut self.group else {
            return Ok(());
        };
        loop {
            while current.at < group.rows.len() {
                if self.pending.len() >= cx.wanted || self.passing.is_full() {
                    self.current = Some(current);
                    return Ok(());
                }
                // A residual predicate may let no pair through: a cancellation is seen all the same.
                if current.at % BATCH_ROWS == BATCH_ROWS - 1 {
                    cx.check_cancelled()?;
                }
                let right = &group.rows[current.at];
                let mut joined = Vec::with_capacity(self.left_width + self.right_width);
                joined.extend_from_slice(&current.row);
                joined.extend_from_slice(right);
                let holds = match self.on {
                    Some(on) => on.test(&joined, cx)? == Some(true),
                    None => true,
                };
                if holds {
                    current.matched = true;
                    group.found[group.before + current.at] = true;
                    self.passing.add(&joined);
                    self.pending.push_back(joined);
                }
                current.at += 1;
            }
            current.at = 0;
            if !group.go_on()? {
                break;
            }
        }
        if !current.matched {
            self.alone_left(current.row);
        }
        Ok(())
    }

    /// Takes the next row on the left, or moves the right side on to its key.
    fn advance(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let Some(key) = self.left.peek(cx)? else {
            if self.leave_group()? {
                return Ok(());
            }
            // Only the right side's rows without partners are still wanted.
            match self.outer_right && self.right.peek(cx)?.is_some() {
                true => self.skip_right(),
                false => self.done = true,
            }
            return Ok(());
        };
        if key.iter().any(Value::is_null) {
            self.skip_left();
            return Ok(());
        }
        if let Some(group) = &self.group {
            match compare(self.pairs, key, &group.key) {
                Ordering::Equal => {
                    if let (Some((row, _)), Some(group)) = (self.left.take(), &mut self.group) {
                        group.begin()?;
                        self.current = Some(Current {
                            row,
                            at: 0,
                            matched: false,
                        });
                    }
                }
                Ordering::Less => self.skip_left(),
                Ordering::Greater => {
                    self.leave_group()?;
                }
            }
            return Ok(());
        }
        let Some(other) = self.right.peek(cx)? else {
            match self.outer_left {
                true => self.skip_left(),
                false => self.done = true,
            }
            return Ok(());
        };
        if other.iter().any(Value::is_null) {
            self.skip_right();
            return Ok(());
        }
        match compare(self.pairs, key, other) {
            Ordering::Less => self.skip_left(),
            Ordering::Greater => self.skip_right(),
            Ordering::Equal => self.collect(cx)?,
        }
        Ok(())
    }

    /// Reads the rows on the right that share the key of the next one.
    fn collect(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let Some((row, key)) = self.right.take() else {
            return Ok(());
        };
        let mut held = Held::default();
        let mut rows = vec![row];
        let mut file: Option<Spool> = None;
        let mut n = 1;
        while let Some(next) = self.right.peek(cx)?
            && compare(self.pairs, &key, next).is_eq()
        {
            let Some((row, _)) = self.right.take() else {
                break;
            };
            n += 1;
            let fits = file.is_none() && held.add(row_bytes(&row), cx);
            rows.push(row);
            if !fits && (file.is_none() || rows.len() >= BATCH_ROWS) {
                held.clear();
                let spool = file.get_or_insert_with(|| Spool::new(self.columns));
                spool.put(std::mem::take(&mut rows), cx)?;
            }
        }
        let file = match file {
            Some(mut spool) => {
                spool.put(std::mem::take(&mut rows), cx)?;
                Some(Arc::new(spool.finish()?))
            }
            None => None,
        };
        self.group = Some(Group {
            key,
            rows,
            before: 0,
            found: vec![false; n],
            held,
            file,
            reader: None,
        });
        Ok(())
    }

    /// Lets the group go; whether rows of it without partners are to come out.
    fn leave_group(&mut self) -> SqlResult<bool> {
        let Some(mut group) = self.group.take() else {
            return Ok(false);
        };
        if self.outer_right && group.found.contains(&false) {
            group.begin()?;
            self.left_group = Some(group);
            return Ok(true);
        }
        Ok(false)
    }

    /// Gives out rows of a group that have found no partner.
    fn alone_of_group(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        cx.check_cancelled()?;
        let Some(mut group) = self.left_group.take() else {
            return Ok(());
        };
        let (begin, end) = match group.file {
            Some(_) => (0, group.rows.len()),
            None => (
                group.before,
                group
                    .rows
                    .len()
                    .min(group.before + rows_together(group.held.bytes(), group.rows.len())),
            ),
        };
        for (row, found) in group.rows[begin..end]
            .iter()
            .zip(&group.found[group.before..])
        {
            if !found {
                let mut out = vec![Value::Null; self.left_width];
                out.extend_from_slice(row);
                self.give(out);
            }
        }
        let more = match group.file {
            Some(_) => group.go_on()?,
            None => {
                group.before = end;
                end < group.rows.len()
            }
        };
        if more {
            self.left_group = Some(group);
        }
        Ok(())
    }

    fn skip_left(&mut self) {
        if let Some((row, _)) = self.left.take() {
            self.alone_left(row);
        }
    }

    fn skip_right(&mut self) {
        if let Some((row, _)) = self.right.take() {
            self.alone_right(row);
        }
    }

    fn alone_left(&mut self, mut row: Row) {
        if self.outer_left {
            row.resize(self.left_width + self.right_width, Value::Null);
            self.give(row);
        }
    }

    fn alone_right(&mut self, row: Row) {
        if self.outer_right {
            let mut out = vec![Value::Null; self.left_width];
            out.extend(row);
            self.give(out);
        }
    }
}

/// The order of a key on the left and one on the right.
fn compare(pairs: &[(Expr, Expr)], left: &[Value], right: &[Value]) -> Ordering {
    let values = left.iter().zip(right).zip(pairs);
    values
        .map(|((a, b), (e, _))| compare_nullable(a, b, e.ty.collation))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}
