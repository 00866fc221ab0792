//! GROUP BY over batches: each row's group by number ([`KeyTable`]), then one loop a batch for each aggregate.
//!
//! Sums of machine numbers are kept as such, with the checks of the row aggregates ([`State`]) at every step, so that an
//! overflow is met where it would be met row by row; everything that is not such a sum, count or extreme is a `State`.
//! DISTINCT passes on the first of each group's equal values.
//!
//! When no more memory is lent, no more groups are begun: rows of groups that are there go on being added, the others are
//! written to files by their key's hash, and each file is grouped by itself afterwards. Texts of STRING_AGG, which make a single
//! group as large as they like, wait in files of their own then (`lists`).

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column, Data};
use duramen_types::{SqlType, Value};

use super::accumulator::Accumulator;
use super::grouped::Grouped;
use super::helpers::{Give, Helpers};
use super::keys::{KeyTable, MAX_ROUNDS, NONE};
use super::lists::Joined;
use super::repartition::{Incoming, Outgoing};
use super::spilled::{Purpose, Reader, Writer};
use super::vector::{self, BatchExpr};
use super::{BatchOperator, Boxed, need, rows_together};
use crate::aggregate::{Begun, ORDERED_GROUPS};
use crate::cx::Cx;
use crate::expr::Expr;
use crate::kept::out_of_memory;
use crate::key::compare_nullable;
use crate::plan::{Aggregate, Node, Plan};
use crate::spill::Grant;

pub fn open<'p>(plan: &'p Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
    let Node::Aggregate {
        input,
        groups,
        aggregates,
        kept,
        ordered,
    } = &plan.node
    else {
        return super::source::from_rows(plan, needed, cx);
    };
    let mut input = super::open(input, &below(plan, needed), cx)?;
    let exprs = BatchExpr::all(inputs(groups, aggregates));
    if *ordered {
        let what = (groups.as_slice(), aggregates.as_slice(), *kept);
        return Ok(Box::new(Grouped::new(input, exprs, what, cx)));
    }
    let mut state = Grouping::new(groups, aggregates, (*kept, 0), cx);
    while let Some(batch) = input.next(cx)? {
        let mut columns = batch.columns()[..*kept].to_vec();
        columns.extend(vector::columns(&exprs, &batch, cx)?);
        state.add(&columns, batch.rows(), cx)?;
    }
    drop(input);
    state.into_output(plan, cx)
}

/// Goes on with the groups that a row operator has begun, and has no more room for, over the rest of its input.
pub fn resumed<'p>(
    plan: &'p Plan,
    begun: Begun,
    mut input: Boxed<'p>,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let Node::Aggregate {
        groups,
        aggregates,
        kept,
        ordered,
        ..
    } = &plan.node
    else {
        return Ok(input);
    };
    let exprs = BatchExpr::all(inputs(groups, aggregates));
    let what = (groups.as_slice(), aggregates.as_slice(), *kept);
    if *ordered {
        let last = begun.keys.last().map(|key| {
            let mut columns: Vec<Column> = groups.iter().map(|e| Column::of(&e.ty)).collect();
            let pairs = columns.iter_mut().zip(key);
            pairs.for_each(|(column, value)| column.push(value.clone()));
            columns.into_iter().map(Arc::new).collect()
        });
        let state = Grouping::of_begun(what, super::grouped::ROUND, begun, cx)?;
        return Ok(Box::new(
            Grouped::new(input, exprs, what, cx).after(state, last),
        ));
    }
    let mut state = Grouping::of_begun(what, 0, begun, cx)?;
    while let Some(batch) = input.next(cx)? {
        let mut columns = batch.columns()[..*kept].to_vec();
        columns.extend(vector::columns(&exprs, &batch, cx)?);
        state.add(&columns, batch.rows(), cx)?;
    }
    drop(input);
    state.into_output(plan, cx)
}

/// Input, keys and aggregates of a grouping; `None` of another plan.
fn parts_of(plan: &Plan) -> Option<(&Plan, &[Expr], &[Aggregate])> {
    match &plan.node {
        Node::Aggregate {
            input,
            groups,
            aggregates,
            ..
        } => Some((input, groups, aggregates)),
        _ => None,
    }
}

/// The groups' keys, then every aggregate's arguments.
fn inputs<'p>(groups: &'p [Expr], aggregates: &'p [Aggregate]) -> Vec<&'p Expr> {
    let mut exprs: Vec<&Expr> = groups.iter().collect();
    exprs.extend(aggregates.iter().flat_map(arguments));
    exprs
}

/// The columns that a grouping reads below it.
pub(super) fn below(plan: &Plan, needed: &[bool]) -> Vec<bool> {
    let Node::Aggregate {
        input,
        groups,
        aggregates,
        kept,
        ..
    } = &plan.node
    else {
        return Vec::new();
    };
    let mut below = vec![false; input.columns.len()];
    below[..*kept].copy_from_slice(&needed[..*kept]);
    for e in inputs(groups, aggregates) {
        need(e, &mut below);
    }
    below
}

/// The expressions that an aggregate takes from each row: the value, then STRING_AGG's separator and sort keys.
fn arguments(a: &Aggregate) -> impl Iterator<Item = &Expr> {
    let list = a.list.iter().flat_map(|(separator, order)| {
        std::iter::once(&**separator).chain(order.iter().map(|k| &k.expr))
    });
    a.input.iter().chain(list)
}

/// The rows that a thread groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The statement's.
    All,
    /// Those that the thread has read: others have more of each group, so that a sum may leave the range of its type.
    Own,
    /// Those of the thread's keys, in no order: here too a sum has to fit only at the end.
    Keys,
}

pub(super) struct Grouping<'p> {
    by: &'p [Expr],
    aggregates: &'p [Aggregate],
    table: KeyTable,
    /// The values of each group's key, as first met.
    keys: Vec<Column>,
    /// The first columns of each group's first row.
    firsts: Vec<Column>,
    states: Vec<Accumulator>,
    groups: usize,
    numbers: Vec<u32>,
    fresh: Vec<u32>,
    kept: usize,
    grant: Grant,
    /// Bytes of the keys' values.
    key_bytes: usize,
    /// Rows of groups that found no room.
    rest: Option<Writer>,
    round: u32,
    whose: Whose,
    /// Some groups found no room.
    no_room: bool,
    /// Bytes that states keep: texts, and what they are sorted by.
    kept_bytes: usize,
    /// What was kept when no more memory was lent.
    full_at: Option<usize>,
}

/// Bytes that what is kept of groups may grow by after no more memory is lent: extremes of texts do, by a little.
const GROWTH: usize = 1 << 20;
/// Bytes of lists that go out together, about.
const LISTS_BYTES: usize = 1 << 20;

/// The groups that one of several threads has made of its rows, or of one part of them.
pub(super) struct Partial {
    part: usize,
    keys: Vec<Column>,
    states: Vec<Accumulator>,
    groups: usize,
    _grant: Grant,
}

impl Partial {
    pub fn groups(&self) -> usize {
        self.groups
    }
}

/// Gives the groups of the rows that this thread gets; `None` when memory does not suffice for them. `by_part`: those of
/// each part of the scan for themselves.
pub(super) fn partials(
    plan: &Plan,
    needed: &[bool],
    by_part: bool,
    cx: &mut Cx<'_>,
    give: Give<'_, Option<Partial>>,
) -> SqlResult<()> {
    let Some((input, groups, aggregates)) = parts_of(plan) else {
        return Ok(());
    };
    let exprs = BatchExpr::all(inputs(groups, aggregates));
    let mut rows = super::open(input, &below(plan, needed), cx)?;
    let fresh = |cx: &Cx<'_>| Grouping::new(groups, aggregates, (0, 0), cx).of(Whose::Own);
    let (mut state, mut part) = (fresh(cx), None);
    while let Some(batch) = rows.next(cx)? {
        if by_part && let Some(before) = part.replace(cx.part).filter(|p| *p != cx.part) {
            let done = std::mem::replace(&mut state, fresh(cx));
            give(Some(done.into_partial(before)))?;
        }
        let columns = vector::columns(&exprs, &batch, cx)?;
        state.add(&columns, batch.rows(), cx)?;
        if state.no_room {
            return give(None);
        }
    }
    give(Some(state.into_partial(part.unwrap_or(0))))
}

/// Puts the workers' groups together, those of parts in the order of the parts; `None` when one of them found no room.
pub(super) fn together<'p>(
    plan: &'p Plan,
    by_part: bool,
    mut helpers: Helpers<Option<Partial>>,
    cx: &mut Cx<'_>,
) -> SqlResult<Option<Boxed<'p>>> {
    let Some((_, groups, aggregates)) = parts_of(plan) else {
        return Ok(None);
    };
    let mut state = Grouping::new(groups, aggregates, (0, 0), cx);
    let mut parts = Vec::new();
    while let Some(partial) = helpers.next(0, cx)? {
        match partial {
            Some(partial) if by_part => parts.push(partial),
            Some(partial) => state.join(partial, cx)?,
            None => return Ok(None),
        }
    }
    drop(helpers);
    parts.sort_by_key(|p| p.part);
    parts.into_iter().try_for_each(|p| state.join(p, cx))?;
    Ok(Some(state.into_output(plan, cx)?))
}

/// Sends what a grouping takes from the rows that this thread gets to the threads of the groups' keys.
pub(super) fn send(
    plan: &Plan,
    needed: &[bool],
    mut out: Outgoing,
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let Some((input, groups, aggregates)) = parts_of(plan) else {
        return out.end(Ok(()));
    };
    let exprs = BatchExpr::all(inputs(groups, aggregates));
    let collations: Vec<_> = groups.iter().map(|e| e.ty.collation).collect();
    let mut sent = || -> SqlResult<()> {
        let mut rows = super::open(input, &below(plan, needed), cx)?;
        while let Some(batch) = rows.next(cx)? {
            let columns = vector::columns(&exprs, &batch, cx)?;
            out.put(
                &columns,
                (&columns[..groups.len()], &collations),
                batch.rows(),
            )?;
        }
        Ok(())
    };
    let sent = sent();
    out.end(sent)
}

/// The groups whose rows have been sent to this thread: all of each.
pub(super) fn received<'p>(
    plan: &'p Plan,
    mut from: Incoming,
    cx: &mut Cx<'_>,
) -> SqlResult<Boxed<'p>> {
    let Some((_, groups, aggregates)) = parts_of(plan) else {
        return Ok(Box::new(from));
    };
    let mut state = Grouping::new(groups, aggregates, (0, 0), cx).of(Whose::Keys);
    while let Some(batch) = from.next(cx)? {
        state.add(batch.columns(), batch.rows(), cx)?;
    }
    state.into_output(plan, cx)
}

impl<'p> Grouping<'p> {
    pub fn new(
        by: &'p [Expr],
        aggregates: &'p [Aggregate],
        (kept, round): (usize, u32),
        cx: &Cx<'_>,
    ) -> Grouping<'p> {
        let mut state = Grouping {
            by,
            aggregates,
            table: KeyTable::new(by.iter().map(|e| e.ty.collation).collect()),
            keys: by.iter().map(|e| Column::of(&e.ty)).collect(),
            firsts: vec![Column::new(Data::Values(Vec::new())); kept],
            states: aggregates.iter().map(Accumulator::new).collect(),
            groups: 0,
            numbers: Vec::new(),
            fresh: Vec::new(),
            kept,
            grant: Grant::new(cx.host.workspace()),
            key_bytes: 0,
            rest: None,
            round,
            whose: Whose::All,
            no_room: false,
            kept_bytes: 0,
            full_at: None,
        };
        if by.is_empty() {
            state.grow(1);
        }
        state
    }

    /// The groups that a row operator has begun.
    fn of_begun(
        (by, aggregates, kept): (&'p [Expr], &'p [Aggregate], usize),
        round: u32,
        begun: Begun,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Grouping<'p>> {
        let mut state = Grouping::new(by, aggregates, (kept, round), cx);
        let n = begun.keys.len();
        for (at, key) in begun.keys.into_iter().enumerate() {
            cx.check_at(at)?;
            let pairs = state.keys.iter_mut().zip(key);
            pairs.for_each(|(column, value)| column.push(value));
        }
        for (at, first) in begun.firsts.into_iter().enumerate() {
            cx.check_at(at)?;
            let pairs = state.firsts.iter_mut().zip(first);
            pairs.for_each(|(column, value)| column.push(value));
        }
        if !by.is_empty() {
            let columns = std::mem::take(&mut state.keys).into_iter().map(Arc::new);
            let columns: Vec<Arc<Column>> = columns.collect();
            let (numbers, fresh) = (&mut state.numbers, &mut state.fresh);
            state.table.number(&columns, n, true, numbers, fresh, cx)?;
            state.keys = columns.into_iter().map(Arc::unwrap_or_clone).collect();
            state.key_bytes = state.keys.iter().map(Column::heap_bytes).sum();
        }
        let states = aggregates.iter().zip(begun.states);
        let states = states.map(|(a, s)| Accumulator::resumed(a, s, cx));
        state.states = states.collect::<SqlResult<_>>()?;
        state.kept_bytes = begun.held.bytes();
        state.grow(n.max(usize::from(by.is_empty())));
        // What the row operator was lent is ours from here on.
        drop(begun.held);
        state.grant.set(state.bytes());
        state.bounded(cx)?;
        Ok(state)
    }

    fn of(mut self, whose: Whose) -> Self {
        self.whose = whose;
        self
    }

    fn grow(&mut self, groups: usize) {
        self.groups = groups;
        self.states.iter_mut().for_each(|state| state.grow(groups));
    }

    /// `columns`: the kept ones, the group's keys, then every aggregate's arguments.
    pub fn add(&mut self, columns: &[Arc<Column>], n: usize, cx: &mut Cx<'_>) -> SqlResult<()> {
        let (firsts, rest) = columns.split_at(self.kept);
        let (keys, mut arguments) = rest.split_at(self.by.len());
        if self.by.is_empty() {
            self.numbers.clear();
            self.numbers.resize(n, 0);
            self.fresh.clear();
            if self.firsts.first().is_some_and(Column::is_empty) {
                self.fresh.push(0);
            }
        } else {
            let add = self.rest.is_none();
            self.table
                .number(keys, n, add, &mut self.numbers, &mut self.fresh, cx)?;
        }
        if self.rest.is_some() && self.numbers.contains(&NONE) {
            return self.part(columns, cx);
        }
        if !self.fresh.is_empty() {
            for (all, new) in self.keys.iter_mut().zip(keys) {
                let new = new.gather(&self.fresh);
                self.key_bytes += new.heap_bytes();
                all.append(&new);
            }
            for (all, column) in self.firsts.iter_mut().zip(firsts) {
                match column.is_absent() {
                    true => self.fresh.iter().for_each(|_| all.push_null()),
                    false => all.append(&column.gather(&self.fresh)),
                }
            }
            if !self.by.is_empty() {
                self.grow(self.table.len());
            }
        }
        let mut kept = 0;
        for (state, aggregate) in self.states.iter_mut().zip(self.aggregates) {
            let count = self::arguments(aggregate).count();
            let (own, rest) = arguments.split_at(count);
            arguments = rest;
            let wide = self.whose != Whose::All;
            kept += state.take(aggregate, own, (&self.numbers, self.groups), wide, cx)?;
        }
        self.kept_bytes += kept;
        if kept > 0 || !self.fresh.is_empty() || self.states.iter().any(Accumulator::grows) {
            self.bounded(cx)?;
        }
        Ok(())
    }

    /// Bytes that are kept, about.
    fn bytes(&self) -> usize {
        let states: usize = self.states.iter().map(Accumulator::group_bytes).sum();
        let first = self.kept * size_of::<Value>();
        let shared: usize = self.states.iter().map(Accumulator::shared_bytes).sum();
        let own = self.table.heap_bytes() + self.key_bytes + shared + self.kept_bytes;
        own + self.groups * (states + first)
    }

    /// Begins no more groups, and keeps no more different values and texts, than memory is lent for; 701 where that is not
    /// enough.
    fn bounded(&mut self, cx: &mut Cx<'_>) -> SqlResult<()> {
        let bytes = self.bytes();
        if self.grant.hold(bytes) {
            return Ok(());
        }
        if self.whose == Whose::Own {
            self.no_room = true;
            return Ok(());
        }
        let full_at = *self.full_at.get_or_insert(bytes);
        let mut stopped = false;
        for i in 0..self.states.len() {
            let aggregate = &self.aggregates[i];
            let gone = self.states[i].list_bytes(aggregate);
            if gone > 0 {
                // Who sorts them has the memory while they go.
                self.kept_bytes = self.kept_bytes.saturating_sub(gone);
                self.grant.hold(self.bytes());
            }
            stopped |= self.states[i].keep_no_more(aggregate, cx)?;
        }
        let begins = !self.by.is_empty() && self.rest.is_none() && self.round < MAX_ROUNDS;
        if begins {
            self.rest = Some(Writer::new(Purpose::Hash(self.round), cx)?);
        } else if !stopped && bytes > full_at + GROWTH {
            return Err(out_of_memory());
        }
        Ok(())
    }

    fn into_partial(self, part: usize) -> Partial {
        Partial {
            part,
            keys: self.keys,
            states: self.states,
            groups: self.groups,
            _grant: self.grant,
        }
    }

    /// Adds the groups of another thread. Their memory was lent to it: ours is held whatever there is.
    fn join(&mut self, other: Partial, cx: &Cx<'_>) -> SqlResult<()> {
        if self.by.is_empty() {
            self.numbers.clear();
            self.numbers.resize(other.groups, 0);
        } else {
            let keys: Vec<Arc<Column>> = other.keys.into_iter().map(Arc::new).collect();
            self.table.number(
                &keys,
                other.groups,
                true,
                &mut self.numbers,
                &mut self.fresh,
                cx,
            )?;
            for (all, new) in self.keys.iter_mut().zip(&keys) {
                all.append(&new.gather(&self.fresh));
            }
            self.grow(self.table.len());
        }
        let states = self.states.iter_mut().zip(self.aggregates);
        for ((state, aggregate), other) in states.zip(other.states) {
            state.join(other, aggregate, (&self.numbers, self.groups))?;
        }
        Ok(())
    }

    /// Writes the rows of unknown groups, and adds the others.
    fn part(&mut self, columns: &[Arc<Column>], cx: &mut Cx<'_>) -> SqlResult<()> {
        let numbers = self.numbers.iter().enumerate();
        let (known, unknown): (Vec<_>, Vec<_>) = numbers.partition(|(_, k)| **k != NONE);
        let gather = |rows: Vec<(usize, &u32)>| -> (usize, Vec<Arc<Column>>) {
            let rows: Vec<u32> = rows.into_iter().map(|(i, _)| i as u32).collect();
            let columns = columns.iter().map(|c| Arc::new(c.gather(&rows)));
            (rows.len(), columns.collect())
        };
        let (n, waiting) = gather(unknown);
        let (some, known) = gather(known);
        let collations: Vec<_> = self.by.iter().map(|e| e.ty.collation).collect();
        if let Some(rest) = &mut self.rest {
            let keys = &waiting[self.kept..self.kept + self.by.len()];
            rest.put_by_key(&waiting, (keys, &collations), n, self.round)?;
        }
        match some {
            0 => Ok(()),
            some => self.add(&known, some, cx),
        }
    }

    /// Every group, those of rows that had to wait included.
    fn into_output(self, plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<Boxed<'p>> {
        let whose = self.whose;
        let mut work = Vec::new();
        let groups = self.finish(&mut work, cx)?;
        Ok(Box::new(Output {
            plan,
            groups,
            work,
            whose,
        }))
    }

    /// The groups that are there; what had to wait is added to `work`.
    pub fn finish(
        mut self,
        work: &mut Vec<(Reader, u32)>,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Groups<'p>> {
        let wide = self.whose != Whose::All;
        for (state, aggregate) in self.states.iter_mut().zip(self.aggregates) {
            state.settle(aggregate, self.groups, wide, cx)?;
        }
        let together = rows_together(self.bytes(), self.groups);
        let mut order: Vec<u32> = (0..self.groups as u32).collect();
        // What is one of many threads' comes in no order anyway.
        let waits = |s: &Accumulator| matches!(s, Accumulator::Lists(_));
        let waits = self.states.iter().any(waits);
        let all = self.round == 0 && self.rest.is_none() && self.whose == Whose::All && !waits;
        if let Some(rest) = self.rest {
            let parts = rest.finish()?.into_iter();
            work.extend(parts.map(|r| (r, self.round + 1)));
        }
        if all && self.groups <= ORDERED_GROUPS && !self.by.is_empty() {
            let key =
                |g: u32| -> Vec<Value> { self.keys.iter().map(|c| c.get(g as usize)).collect() };
            let keys: Vec<Vec<Value>> = order.iter().map(|g| key(*g)).collect();
            let collations: Vec<_> = self.by.iter().map(|e| e.ty.collation).collect();
            order.sort_by(|a, b| {
                let pairs = keys[*a as usize].iter().zip(&keys[*b as usize]);
                pairs
                    .zip(&collations)
                    .map(|((a, b), c)| compare_nullable(a, b, *c))
                    .find(|o| o.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        let mut columns = self.firsts;
        for column in &mut columns {
            // No row at all: the group of nothing has no first row.
            while column.len() < self.groups {
                column.push_null();
            }
        }
        columns.extend(self.keys);
        let (mut lists, mut values) = (Vec::new(), Vec::new());
        for (state, aggregate) in self.states.into_iter().zip(self.aggregates) {
            state.check_range(aggregate)?;
            match state.into_lists(aggregate, cx)? {
                Ok(joined) => {
                    lists.push((columns.len(), joined));
                }
                Err(state) => {
                    let all = state.finish(aggregate, self.groups, cx)?;
                    values.push((columns.len(), aggregate.ty, all));
                }
            }
            columns.push(Column::absent());
        }
        Ok(Groups {
            columns: columns.into_iter().map(Arc::new).collect(),
            lists,
            values,
            order,
            next: 0,
            together,
            _grant: self.grant,
        })
    }
}

/// The groups that found room, then those of each file.
struct Output<'p> {
    plan: &'p Plan,
    groups: Groups<'p>,
    work: Vec<(Reader, u32)>,
    whose: Whose,
}

impl BatchOperator for Output<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            if let Some(batch) = self.groups.next(cx)? {
                return Ok(Some(batch));
            }
            let Node::Aggregate {
                groups,
                aggregates,
                kept,
                ..
            } = &self.plan.node
            else {
                return Ok(None);
            };
            let Some((mut reader, round)) = self.work.pop() else {
                return Ok(None);
            };
            let mut state = Grouping::new(groups, aggregates, (*kept, round), cx).of(self.whose);
            while let Some(batch) = reader.next_block()? {
                cx.check_cancelled()?;
                state.add(batch.columns(), batch.rows(), cx)?;
            }
            self.groups = state.finish(&mut self.work, cx)?;
        }
    }
}

/// Finished groups on their way out.
pub(super) struct Groups<'p> {
    columns: Vec<Arc<Column>>,
    /// Columns whose values are made as they go out, in the order of the groups' numbers; above they are absent.
    lists: Vec<(usize, Joined<'p>)>,
    /// Values of the other aggregates by the groups' numbers, which go as they come out: nothing is there twice. Above they
    /// are absent, too.
    values: Vec<(usize, SqlType, Vec<Value>)>,
    order: Vec<u32>,
    next: usize,
    /// So many groups go out at a time.
    together: usize,
    _grant: Grant,
}

impl Groups<'_> {
    /// The next groups, with lists of about a megabyte at most.
    fn next_lists(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let lists = self.lists.iter();
        let mut made: Vec<Column> = lists.map(|(_, joined)| joined.column()).collect();
        let (from, mut bytes) = (self.next, 0);
        while self.next < self.order.len()
            && self.next - from < self.together
            && bytes < LISTS_BYTES
        {
            for (column, (_, joined)) in made.iter_mut().zip(&mut self.lists) {
                let value = joined.of(self.next, cx)?;
                bytes += value.heap_bytes();
                column.push(value);
            }
            self.next += 1;
        }
        let mut columns = self.columns_of(from..self.next);
        for (column, (at, _)) in made.into_iter().zip(&self.lists) {
            columns[*at] = Arc::new(column);
        }
        Ok((self.next > from).then(|| Batch::new(self.next - from, columns)))
    }

    /// The groups at these places of the order, but for their lists.
    fn columns_of(&mut self, places: std::ops::Range<usize>) -> Vec<Arc<Column>> {
        let rows = &self.order[places];
        let columns = self.columns.iter().map(|c| Arc::new(c.gather(rows)));
        let mut columns: Vec<Arc<Column>> = columns.collect();
        for (at, ty, values) in &mut self.values {
            let mut column = Column::of(ty);
            for group in rows {
                column.push(std::mem::take(&mut values[*group as usize]));
            }
            columns[*at] = Arc::new(column);
        }
        columns
    }
}

impl BatchOperator for Groups<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        if !self.lists.is_empty() {
            return self.next_lists(cx);
        }
        let from = self.next;
        self.next = self.order.len().min(from + self.together);
        let columns = self.columns_of(from..self.next);
        Ok((self.next > from).then(|| Batch::new(self.next - from, columns)))
    }
}
