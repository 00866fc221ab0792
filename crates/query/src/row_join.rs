//! Joins row by row. The right side is kept, and hashed when there are equalities; APPLY runs it anew for each row on the
//! left, and few rows on the left seek their partners.
//!
//! A right side that finds no room in memory: with equalities both sides go on by column, which knows files; without any
//! the right side is read from a file for each row on the left, so that rows come in the same order.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::batch::{self, Handed};
use crate::cx::Cx;
use crate::exec::{BATCH_ROWS, Operator, open, open_for};
use crate::expr::Expr;
use crate::host::RowCursor;
use crate::kept::{Held, Leaving, Spool, SpoolReader, Spooled, rows_bytes};
use crate::key::{KeyIndex, RowKey};
use crate::passing::{Passing, rows_together};
use crate::plan::{JoinKind, Node, Plan, Row};
use crate::seek_join::{FEW_ROWS, SeekJoin};

/// Pairs that are tried between two looks at whether somebody still wants them.
const TRIED: usize = 1024;
/// Bytes that an entry of the hash table takes besides the values of its key, about.
const ENTRY_BYTES: usize = 96;

pub struct Join<'p> {
    plan: &'p Plan,
    left: Operator<'p>,
    right_plan: &'p Plan,
    /// The rows on the right: all of them, or those at hand of a file, an APPLY or a seek.
    right: Vec<Row>,
    /// Of a right side whose rows come even without a partner: which have had one.
    right_matched: Vec<bool>,
    table: Option<KeyIndex>,
    held: Held,
    spool: Option<Arc<Spooled>>,
    seek: Option<SeekJoin<'p>>,
    /// How many rows on the left have sought, where it is not known whether they are few.
    sought: Option<usize>,
    hash: &'p [(Expr, Expr)],
    on: Option<&'p Expr>,
    kind: JoinKind,
    apply: bool,
    left_width: usize,
    right_width: usize,
    pending: VecDeque<Row>,
    /// Rows of the left side that have come and not been joined yet.
    waiting: VecDeque<Row>,
    probing: Option<Probing<'p>>,
    /// After the last row on the left: the rows on the right that nobody has joined.
    lonely: Option<Lonely>,
    tried: usize,
    /// Of the rows in `pending`.
    passing: Passing,
    /// Of the rows at hand on the right, where those come anew for each row on the left.
    at_hand: Passing,
}

/// A left row on its way through its partners: whoever wants few rows pays for few, however many partners there are.
struct Probing<'p> {
    left: Row,
    /// Places in `right` that may fit; `None`: all of them.
    candidates: Option<Vec<usize>>,
    at: usize,
    /// Rows on the right before those at hand.
    before: usize,
    more: More<'p>,
    matched: bool,
}

/// Where further rows on the right come from.
enum More<'p> {
    Nothing,
    File(SpoolReader),
    Apply(Operator<'p>),
    Seek(Box<dyn RowCursor>, RowKey),
}

/// How far the rows without a partner have been given out.
struct Lonely {
    at: usize,
    file: Option<SpoolReader>,
}

/// Starts a join; `goal` as of [`open_for`].
pub fn start<'p>(plan: &'p Plan, goal: bool, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
    let Node::Join { left, .. } = &plan.node else {
        unreachable!("joins are started for join nodes")
    };
    let left = open_for(left, goal, cx)?;
    over(plan, left, cx)
}

/// Starts a join whose left input is running already.
pub fn over<'p>(
    plan: &'p Plan,
    mut input: Operator<'p>,
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let Node::Join {
        left,
        right,
        kind,
        hash,
        on,
        apply,
        ..
    } = &plan.node
    else {
        unreachable!("joins are started for join nodes")
    };
    let mut seek = match *apply {
        true => None,
        false => SeekJoin::find(right, hash, *kind),
    };
    // Whoever may stop soon does not wait until all rows on the left have been counted.
    let may_stop = cx.wanted < BATCH_ROWS;
    if seek.is_some() && !may_stop {
        let mut first = VecDeque::new();
        let mut ended = false;
        while first.len() <= FEW_ROWS && !ended {
            match input.next(cx)? {
                Some(batch) => first.extend(batch),
                None => ended = true,
            }
        }
        if ended {
            input = Operator::Rows(first);
        } else {
            seek = None;
            input = Operator::Buffered {
                first,
                rest: Box::new(input),
            };
        }
    }
    let join = Join {
        plan,
        left: input,
        right_plan: right,
        right: Vec::new(),
        right_matched: Vec::new(),
        table: None,
        held: Held::default(),
        spool: None,
        hash,
        on: on.as_ref(),
        kind: *kind,
        apply: *apply,
        left_width: left.columns.len(),
        right_width: right.columns.len(),
        pending: VecDeque::new(),
        waiting: VecDeque::new(),
        probing: None,
        lonely: None,
        tried: 0,
        passing: Passing::of(plan.columns.iter().map(|c| &c.ty)),
        at_hand: Passing::of(right.columns.iter().map(|c| &c.ty)),
        sought: (seek.is_some() && may_stop).then_some(0),
        seek,
    };
    if *apply || join.seek.is_some() {
        return Ok(Operator::Join(Box::new(join)));
    }
    Box::new(join).keep(cx)
}

/// What comes next of a join.
pub enum Step {
    Rows(Option<Vec<Row>>),
    /// So many rows on the left have sought that the right side is better kept ([`Join::keep`]).
    Keep,
}

impl<'p> Join<'p> {
    /// Goes on with the right side kept, and hashed where there are equalities.
    pub fn keep(mut self: Box<Self>, cx: &mut Cx<'_>) -> SqlResult<Operator<'p>> {
        self.seek = None;
        self.sought = None;
        self.right.clear();
        match cx.asking(u64::MAX, |cx| self.keep_right(cx))? {
            None => {
                self.begin_noting();
                Ok(Operator::Join(self))
            }
            Some(right) => {
                let Node::Join { left, .. } = &self.plan.node else {
                    unreachable!("joins are started for join nodes")
                };
                let first = Leaving::new(self.waiting, Held::default());
                let below = Handed::new(left, first, Some(self.left));
                batch::joined(self.plan, below, right, cx)
            }
        }
    }

    /// Reads the right side. What of it is to be joined by column, because there is no room for it.
    fn keep_right(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Handed<'p>>> {
        let mut held = Held::default();
        let mut input = open(self.right_plan, cx)?;
        let entry = match self.hash {
            [] => 0,
            keys => ENTRY_BYTES + keys.len() * size_of::<Value>(),
        };
        while let Some(batch) = input.next(cx)? {
            let bytes = rows_bytes(&batch) + batch.len() * entry;
            self.right.extend(batch);
            if held.add(bytes, cx) {
                continue;
            }
            let rows = std::mem::take(&mut self.right);
            if !self.hash.is_empty() {
                let first = Leaving::new(rows.into(), held);
                return Ok(Some(Handed::new(self.right_plan, first, Some(input))));
            }
            let mut spool = Spool::new(&self.right_plan.columns);
            let mut first = Leaving::new(rows.into(), held);
            while !first.is_empty() {
                cx.check_cancelled()?;
                spool.put(first.take(BATCH_ROWS), cx)?;
            }
            while let Some(batch) = input.next(cx)? {
                spool.put(batch, cx)?;
            }
            self.spool = Some(Arc::new(spool.finish()?));
            return Ok(None);
        }
        if !self.hash.is_empty() {
            let mut index = KeyIndex::default();
            for (i, row) in self.right.iter().enumerate() {
                if i % TRIED == TRIED - 1 {
                    cx.check_cancelled()?;
                }
                let mut key = Vec::with_capacity(self.hash.len());
                for (_, r) in self.hash {
                    key.push(r.eval(row, cx)?);
                }
                if !key.iter().any(Value::is_null) {
                    index.add(RowKey::of_exprs(&key, self.hash.iter().map(|h| &h.1)), i);
                }
            }
            self.table = Some(index);
        }
        self.held = held;
        Ok(None)
    }

    /// From now on it is noted which rows on the right have partners, if anybody is to know.
    fn begin_noting(&mut self) {
        if matches!(self.kind, JoinKind::Right | JoinKind::Full) {
            let rows = self.spool.as_ref().map_or(self.right.len(), |s| s.len());
            self.right_matched = vec![false; rows];
        }
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Step> {
        while !self.is_full(cx) {
            if let Some(probing) = self.probing.take() {
                self.probe(probing, cx)?;
            } else if self.sought.is_some_and(|n| n > FEW_ROWS) && self.pending.is_empty() {
                return Ok(Step::Keep);
            } else if let Some(left) = self.waiting.pop_front() {
                self.sought = self.sought.map(|n| n + 1);
                self.probing = Some(self.begin(left, cx)?);
            } else if self.lonely.is_some() {
                if !self.alone(cx)? {
                    break;
                }
            } else {
                match self.left.next(cx)? {
                    Some(batch) => self.waiting.extend(batch),
                    None => {
                        self.lonely = Some(Lonely {
                            at: 0,
                            file: self.spool.clone().map(SpoolReader::new),
                        });
                    }
                }
            }
        }
        let n = self.pending.len().min(cx.wanted);
        self.passing.go_on(cx);
        let rows = (n > 0).then(|| self.pending.drain(..n).collect());
        Ok(Step::Rows(rows))
    }

    /// Whether there are enough rows for a batch.
    fn is_full(&self, cx: &Cx<'_>) -> bool {
        self.pending.len() >= cx.wanted || self.passing.is_full()
    }

    /// Gives out some of the right rows that nobody has joined; false when there are no more.
    fn alone(&mut self, cx: &mut Cx<'_>) -> SqlResult<bool> {
        let Some(lonely) = &mut self.lonely else {
            return Ok(false);
        };
        cx.check_cancelled()?;
        if lonely.at >= self.right_matched.len() {
            return Ok(false);
        }
        let from_file = match &mut lonely.file {
            Some(file) => file.next(BATCH_ROWS)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let rows = match &lonely.file {
            Some(_) => &from_file[..],
            None => {
                let some = rows_together(self.held.bytes(), self.right.len());
                let end = self.right.len().min(lonely.at + some);
                &self.right[lonely.at..end]
            }
        };
        if rows.is_empty() {
            return Ok(false);
        }
        for (row, matched) in rows.iter().zip(&self.right_matched[lonely.at..]) {
            if !matched {
                let mut out = vec![Value::Null; self.left_width];
                out.extend_from_slice(row);
                self.passing.add(&out);
                self.pending.push_back(out);
            }
        }
        lonely.at += rows.len();
        Ok(true)
    }

    /// Finds the partners that a left row may have.
    fn begin(&mut self, left: Row, cx: &mut Cx<'_>) -> SqlResult<Probing<'p>> {
        let mut candidates = None;
        let mut more = More::Nothing;
        if self.apply {
            self.right.clear();
            more = self.applied(&left, None, cx)?;
        } else if self.seek.is_some() {
            self.right.clear();
            more = self.sought(&left, cx)?;
        } else if let Some(spool) = &self.spool {
            self.right.clear();
            more = More::File(SpoolReader::new(spool.clone()));
        } else if let Some(index) = &self.table {
            let key = self.key(&left, cx)?;
            let wanted = RowKey::of_exprs(&key, self.hash.iter().map(|h| &h.0));
            candidates = Some(match key.iter().any(Value::is_null) {
                true => Vec::new(),
                false => index.get(&wanted).to_vec(),
            });
        }
        Ok(Probing {
            left,
            candidates,
            at: 0,
            before: 0,
            more,
            matched: false,
        })
    }

    /// The values of the left side's keys.
    fn key(&self, left: &Row, cx: &mut Cx<'_>) -> SqlResult<Vec<Value>> {
        let mut key = Vec::with_capacity(self.hash.len());
        for (l, _) in self.hash {
            key.push(l.eval(left, cx)?);
        }
        Ok(key)
    }

    /// Some rows of the right side for a row on the left, run anew or further.
    fn applied(
        &mut self,
        left: &Row,
        running: Option<Operator<'p>>,
        cx: &mut Cx<'_>,
    ) -> SqlResult<More<'p>> {
        cx.push_outer(left);
        let read = || -> SqlResult<More<'p>> {
            let mut operator = match running {
                Some(operator) => operator,
                None => open(self.right_plan, cx)?,
            };
            while self.right.len() < cx.wanted && !self.at_hand.is_full() {
                match operator.next(cx)? {
                    Some(batch) => {
                        batch.iter().for_each(|row| self.at_hand.add(row));
                        self.right.extend(batch);
                    }
                    None => return Ok(More::Nothing),
                }
            }
            Ok(More::Apply(operator))
        };
        let read = read();
        cx.pop_outer();
        self.at_hand.go_on(cx);
        read
    }

    /// Opens the right side at the left row's key.
    fn sought(&mut self, left: &Row, cx: &mut Cx<'_>) -> SqlResult<More<'p>> {
        let key = self.key(left, cx)?;
        match &self.seek {
            Some(seek) if !key.iter().any(Value::is_null) => {
                let wanted = RowKey::of_exprs(&key, self.hash.iter().map(|h| &h.0));
                let cursor = seek.open(&key, cx)?;
                self.seek_on(cursor, wanted, cx)
            }
            _ => Ok(More::Nothing),
        }
    }

    /// Reads on behind a key.
    fn seek_on(
        &mut self,
        mut cursor: Box<dyn RowCursor>,
        wanted: RowKey,
        cx: &mut Cx<'_>,
    ) -> SqlResult<More<'p>> {
        let Some(seek) = &self.seek else {
            return Ok(More::Nothing);
        };
        let (rows, ended) = seek.some(&mut *cursor, cx.wanted, &mut self.at_hand, cx)?;
        for row in rows {
            let mut own = Vec::with_capacity(self.hash.len());
            for (_, r) in self.hash {
                own.push(r.eval(&row, cx)?);
            }
            let same = wanted == RowKey::of_exprs(&own, self.hash.iter().map(|h| &h.1));
            if same && !own.iter().any(Value::is_null) {
                self.right.push(row);
            }
        }
        Ok(match ended {
            true => More::Nothing,
            false => More::Seek(cursor, wanted),
        })
    }

    /// Brings the next rows on the right to hand; false when there are none.
    fn go_on(&mut self, probing: &mut Probing<'p>, cx: &mut Cx<'_>) -> SqlResult<bool> {
        loop {
            let more = std::mem::replace(&mut probing.more, More::Nothing);
            if matches!(more, More::Nothing) {
                return Ok(false);
            }
            probing.before += self.right.len();
            probing.at = 0;
            self.right.clear();
            probing.more = match more {
                More::Nothing => More::Nothing,
                More::Apply(operator) => self.applied(&probing.left, Some(operator), cx)?,
                More::Seek(cursor, wanted) => self.seek_on(cursor, wanted, cx)?,
                More::File(mut reader) => match reader.next(BATCH_ROWS)? {
                    Some(rows) => {
                        self.right = rows;
                        More::File(reader)
                    }
                    None => More::Nothing,
                },
            };
            if !self.right.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Joins a left row with its partners, as far as a batch has room.
    fn probe(&mut self, mut probing: Probing<'p>, cx: &mut Cx<'_>) -> SqlResult<()> {
        loop {
            let count = match &probing.candidates {
                Some(list) => list.len(),
                None => self.right.len(),
            };
            while probing.at < count {
                if self.is_full(cx) {
                    self.probing = Some(probing);
                    return Ok(());
                }
                self.tried += 1;
                if self.tried.is_multiple_of(TRIED) {
                    cx.check_cancelled()?;
                }
                let i = match &probing.candidates {
                    Some(list) => list[probing.at],
                    None => probing.at,
                };
                probing.at += 1;
                let mut joined = Vec::with_capacity(self.left_width + self.right_width);
                joined.extend_from_slice(&probing.left);
                joined.extend_from_slice(&self.right[i]);
                let holds = match self.on {
                    Some(on) => on.test(&joined, cx)? == Some(true),
                    None => true,
                };
                if holds {
                    probing.matched = true;
                    if let Some(slot) = self.right_matched.get_mut(probing.before + i) {
                        *slot = true;
                    }
                    self.passing.add(&joined);
                    self.pending.push_back(joined);
                }
            }
            if !self.go_on(&mut probing, cx)? {
                break;
            }
        }
        if !probing.matched && matches!(self.kind, JoinKind::Left | JoinKind::Full) {
            let mut out = probing.left;
            out.resize(self.left_width + self.right_width, Value::Null);
            self.passing.add(&out);
            self.pending.push_back(out);
        }
        Ok(())
    }
}
