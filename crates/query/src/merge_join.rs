//! Merge joins: both sides come in the order of the join's keys and are read once, side by side.
//!
//! Nothing is kept but the rows of the right side that share one key, so a join of any size takes no workspace where the
//! right side's keys differ. Rows come out in the left side's order when each of them comes from a row on the left.
//!
//! Invariants
//! 1. Each input is in ascending order of its key expressions, NULL first, strings by the collation that the join compares
//!    them by. `optimize::merge` sees to it.
//! 2. A row with NULL in its key has no partner.

use std::cmp::Ordering;
use std::collections::VecDeque;

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::cx::Cx;
use crate::exec::{BATCH_ROWS, Operator, open_for};
use crate::expr::Expr;
use crate::key::compare_nullable;
use crate::plan::{JoinKind, Node, Plan, Row};

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
    /// Each with whether it has found a partner.
    rows: Vec<(Row, bool)>,
}

/// A row on the left on its way through the group.
struct Current {
    row: Row,
    at: usize,
    matched: bool,
}

pub struct MergeJoin<'p> {
    left: Side<'p>,
    right: Side<'p>,
    pairs: &'p [(Expr, Expr)],
    on: Option<&'p Expr>,
    outer_left: bool,
    outer_right: bool,
    left_width: usize,
    right_width: usize,
    group: Option<Group>,
    current: Option<Current>,
    pending: VecDeque<Row>,
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
            left: Side::new(left_input, hash.iter().map(|p| &p.0).collect()),
            right: Side::new(right_input, hash.iter().map(|p| &p.1).collect()),
            pairs: hash,
            on: on.as_ref(),
            outer_left: matches!(kind, JoinKind::Left | JoinKind::Full),
            outer_right: matches!(kind, JoinKind::Right | JoinKind::Full),
            left_width: left.columns.len(),
            right_width: right.columns.len(),
            group: None,
            current: None,
            pending: VecDeque::new(),
            done: false,
        }))
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        while self.pending.len() < BATCH_ROWS && !self.done {
            match self.current.is_some() {
                true => self.pair(cx)?,
                false => self.advance(cx)?,
            }
        }
        let n = self.pending.len().min(BATCH_ROWS);
        Ok((n > 0).then(|| self.pending.drain(..n).collect()))
    }

    /// Puts the current row beside the group's rows, until a batch is full or the group has been through.
    fn pair(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let Some(mut current) = self.current.take() else {
            return Ok(());
        };
        if let Some(group) = &mut self.group {
            while current.at < group.rows.len() {
                if self.pending.len() >= BATCH_ROWS {
                    self.current = Some(current);
                    return Ok(());
                }
                // A residual predicate may let no pair through: a cancellation is seen all the same.
                if current.at % BATCH_ROWS == BATCH_ROWS - 1 {
                    cx.check_cancelled()?;
                }
                let (right, found) = &mut group.rows[current.at];
                current.at += 1;
                let mut joined = Vec::with_capacity(self.left_width + self.right_width);
                joined.extend_from_slice(&current.row);
                joined.extend_from_slice(right);
                let holds = match self.on {
                    Some(on) => on.test(&joined, cx)? == Some(true),
                    None => true,
                };
                if holds {
                    current.matched = true;
                    *found = true;
                    self.pending.push_back(joined);
                }
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
            self.leave_group();
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
                    if let Some((row, _)) = self.left.take() {
                        self.current = Some(Current {
                            row,
                            at: 0,
                            matched: false,
                        });
                    }
                }
                Ordering::Less => self.skip_left(),
                Ordering::Greater => self.leave_group(),
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
        let mut rows = vec![(row, false)];
        while let Some(next) = self.right.peek(cx)?
            && compare(self.pairs, &key, next).is_eq()
        {
            rows.extend(self.right.take().map(|(row, _)| (row, false)));
        }
        self.group = Some(Group { key, rows });
        Ok(())
    }

    /// Lets the group go; its rows without partners come out.
    fn leave_group(&mut self) {
        if let Some(group) = self.group.take()
            && self.outer_right
        {
            for (row, _) in group.rows.into_iter().filter(|(_, found)| !found) {
                self.alone_right(row);
            }
        }
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
            self.pending.push_back(row);
        }
    }

    fn alone_right(&mut self, row: Row) {
        if self.outer_right {
            let mut out = vec![Value::Null; self.left_width];
            out.extend(row);
            self.pending.push_back(out);
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
