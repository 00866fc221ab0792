//! GROUP BY over batches: each row's group by number ([`KeyTable`]), then one loop a batch for each aggregate.
//!
//! Sums of machine numbers are kept as such, with the checks of the row aggregates ([`State`]) at every step, so that an
//! overflow is met where it would be met row by row; everything that is not such a sum, count or extreme is a `State`.
//! DISTINCT passes on the first of each group's equal values.
//!
//! When no more memory is lent, no more groups are begun: rows of groups that are there go on being added, the others are
//! written to files by their key's hash, and each file is grouped by itself afterwards.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column, Data, IntKind};
use duramen_types::{CollationId, POW10, Value};

use super::crew::Crew;
use super::grouped::Grouped;
use super::keys::{KeyTable, MAX_ROUNDS, NONE};
use super::spilled::{Reader, Writer};
use super::vector::{self, BatchExpr};
use super::{BATCH_ROWS, BatchOperator, Boxed, need};
use crate::aggregate::{ORDERED_GROUPS, State, overflow_of_sum};
use crate::cx::Cx;
use crate::expr::Expr;
use crate::key::compare_nullable;
use crate::plan::{Aggregate, AggregateKind, Node, Plan};
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
    let mut work = Vec::new();
    let groups = state.finish(&mut work)?;
    Ok(Box::new(Output { plan, groups, work }))
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
    /// These are some of a statement's groups: sums may leave the range of their type on the way.
    some: bool,
    /// Some groups found no room.
    no_room: bool,
}

/// The groups that one of several threads has made of its rows.
pub(super) struct Partial {
    keys: Vec<Column>,
    states: Vec<Accumulator>,
    groups: usize,
    _grant: Grant,
}

/// The groups of the rows that this thread gets; `None` when memory does not suffice for them.
pub(super) fn partial(plan: &Plan, needed: &[bool], cx: &mut Cx<'_>) -> SqlResult<Option<Partial>> {
    let Node::Aggregate {
        input,
        groups,
        aggregates,
        ..
    } = &plan.node
    else {
        return Ok(None);
    };
    let exprs = BatchExpr::all(inputs(groups, aggregates));
    let mut rows = super::open(input, &below(plan, needed), cx)?;
    let mut state = Grouping::new(groups, aggregates, (0, 0), cx);
    state.some = true;
    while let Some(batch) = rows.next(cx)? {
        let columns = vector::columns(&exprs, &batch, cx)?;
        state.add(&columns, batch.rows(), cx)?;
        if state.no_room {
            return Ok(None);
        }
    }
    Ok(Some(Partial {
        keys: state.keys,
        states: state.states,
        groups: state.groups,
        _grant: state.grant,
    }))
}

/// Puts the workers' groups together; `None` when one of them found no room.
pub(super) fn together<'p>(
    plan: &'p Plan,
    mut crew: Crew<Option<Partial>>,
    cx: &mut Cx<'_>,
) -> SqlResult<Option<Boxed<'p>>> {
    let Node::Aggregate {
        groups, aggregates, ..
    } = &plan.node
    else {
        return Ok(None);
    };
    let mut state = Grouping::new(groups, aggregates, (0, 0), cx);
    while let Some(partial) = crew.next(0, cx)? {
        match partial {
            Some(partial) => state.join(partial)?,
            None => return Ok(None),
        }
    }
    drop(crew);
    let mut work = Vec::new();
    let groups = state.finish(&mut work)?;
    Ok(Some(Box::new(Output { plan, groups, work })))
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
            some: false,
            no_room: false,
        };
        if by.is_empty() {
            state.grow(1);
        }
        state
    }

    fn grow(&mut self, groups: usize) {
        self.groups = groups;
        for (state, aggregate) in self.states.iter_mut().zip(self.aggregates) {
            state.grow(groups, aggregate);
        }
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
                .number(keys, n, add, &mut self.numbers, &mut self.fresh);
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
        for (state, aggregate) in self.states.iter_mut().zip(self.aggregates) {
            let count = self::arguments(aggregate).count();
            let (own, rest) = arguments.split_at(count);
            arguments = rest;
            state.take(aggregate, own, (&self.numbers, self.groups), self.some, cx)?;
        }
        if !self.fresh.is_empty() && !self.by.is_empty() {
            let states: usize = self.states.iter().map(Accumulator::group_bytes).sum();
            let first = self.kept * size_of::<Value>();
            let shared: usize = self.states.iter().map(Accumulator::shared_bytes).sum();
            let own = self.table.heap_bytes() + self.key_bytes + shared;
            let bytes = own + self.groups * (states + first);
            if !self.grant.hold(bytes) && self.round < MAX_ROUNDS && self.rest.is_none() {
                match self.some {
                    true => self.no_room = true,
                    false => self.rest = Some(Writer::new(cx)?),
                }
            }
        }
        Ok(())
    }

    /// Adds the groups of another thread. Their memory was lent to it: ours is held whatever there is.
    fn join(&mut self, other: Partial) -> SqlResult<()> {
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
            );
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

    /// The groups that are there; what had to wait is added to `work`.
    pub fn finish(self, work: &mut Vec<(Reader, u32)>) -> SqlResult<Groups> {
        let mut order: Vec<u32> = (0..self.groups as u32).collect();
        let all = self.round == 0 && self.rest.is_none();
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
        for (state, aggregate) in self.states.into_iter().zip(self.aggregates) {
            columns.push(state.finish(aggregate, self.groups)?);
        }
        Ok(Groups {
            columns: columns.into_iter().map(Arc::new).collect(),
            order,
            next: 0,
            _grant: self.grant,
        })
    }
}

/// The groups that found room, then those of each file.
struct Output<'p> {
    plan: &'p Plan,
    groups: Groups,
    work: Vec<(Reader, u32)>,
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
            let mut state = Grouping::new(groups, aggregates, (*kept, round), cx);
            while let Some(batch) = reader.next()? {
                cx.check_cancelled()?;
                state.add(batch.columns(), batch.rows(), cx)?;
            }
            self.groups = state.finish(&mut self.work)?;
        }
    }
}

/// Finished groups on their way out.
pub(super) struct Groups {
    columns: Vec<Arc<Column>>,
    order: Vec<u32>,
    next: usize,
    _grant: Grant,
}

impl BatchOperator for Groups {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        let end = self.order.len().min(self.next + BATCH_ROWS);
        let rows = &self.order[self.next..end];
        self.next = end;
        let columns = self.columns.iter().map(|c| Arc::new(c.gather(rows)));
        Ok((!rows.is_empty()).then(|| Batch::new(rows.len(), columns.collect())))
    }
}

/// One aggregate of every group.
pub(super) enum Accumulator {
    /// Nothing taken yet: the first batch decides.
    Empty,
    Count(Vec<i64>),
    /// SUM and AVG of integers and money, in the type of the result.
    Ints {
        kind: IntKind,
        sums: Vec<i64>,
        counts: Vec<i64>,
    },
    Floats {
        sums: Vec<f64>,
        counts: Vec<i64>,
    },
    Decimals {
        precision: u8,
        scale: u8,
        sums: Vec<i128>,
        counts: Vec<i64>,
    },
    /// MIN and MAX of what machine numbers stand for.
    Best {
        kind: IntKind,
        best: Vec<i64>,
        counts: Vec<i64>,
    },
    /// Of different values only: each group's are told from others' by the group's number.
    Distinct {
        seen: KeyTable,
        of: Box<Accumulator>,
    },
    Any(Vec<State>),
}

impl Accumulator {
    fn new(aggregate: &Aggregate) -> Accumulator {
        let counts = matches!(
            aggregate.kind,
            AggregateKind::CountStar | AggregateKind::Count
        );
        let of = match counts {
            true => Accumulator::Count(Vec::new()),
            false => Accumulator::Empty,
        };
        match (
            &aggregate.input,
            aggregate.distinct && aggregate.list.is_none(),
        ) {
            (Some(input), true) => Accumulator::Distinct {
                seen: KeyTable::new(vec![CollationId::NONE, input.ty.collation]),
                of: Box::new(of),
            },
            _ => of,
        }
    }

    pub(super) fn grow(&mut self, groups: usize, aggregate: &Aggregate) {
        match self {
            Accumulator::Empty => {}
            Accumulator::Count(counts) => counts.resize(groups, 0),
            Accumulator::Ints { sums, counts, .. } => {
                sums.resize(groups, 0);
                counts.resize(groups, 0);
            }
            Accumulator::Floats { sums, counts } => {
                sums.resize(groups, 0.0);
                counts.resize(groups, 0);
            }
            Accumulator::Decimals { sums, counts, .. } => {
                sums.resize(groups, 0);
                counts.resize(groups, 0);
            }
            Accumulator::Best { best, counts, .. } => {
                best.resize(groups, 0);
                counts.resize(groups, 0);
            }
            Accumulator::Distinct { of, .. } => of.grow(groups, aggregate),
            Accumulator::Any(states) => {
                states.resize_with(groups, || State::for_aggregate(aggregate));
            }
        }
    }

    /// Bytes held besides what each group takes.
    fn shared_bytes(&self) -> usize {
        match self {
            Accumulator::Distinct { seen, .. } => seen.heap_bytes(),
            _ => 0,
        }
    }

    /// Bytes that a group takes, about.
    fn group_bytes(&self) -> usize {
        match self {
            Accumulator::Empty => 0,
            Accumulator::Count(_) => 8,
            Accumulator::Ints { .. } | Accumulator::Floats { .. } | Accumulator::Best { .. } => 16,
            Accumulator::Decimals { .. } => 24,
            Accumulator::Distinct { of, .. } => of.group_bytes(),
            Accumulator::Any(_) => size_of::<State>(),
        }
    }

    /// Takes the form that suits values like these.
    fn begin(&mut self, aggregate: &Aggregate, data: &Data, groups: usize) {
        let sum = matches!(aggregate.kind, AggregateKind::Sum | AggregateKind::Avg);
        let best = matches!(aggregate.kind, AggregateKind::Min | AggregateKind::Max);
        let result = IntKind::of(aggregate.ty.id);
        *self = match data {
            Data::Ints(_, _) if sum && result.is_some() => Accumulator::Ints {
                kind: result.unwrap_or(IntKind::BigInt),
                sums: Vec::new(),
                counts: Vec::new(),
            },
            Data::Floats(_) if sum => Accumulator::Floats {
                sums: Vec::new(),
                counts: Vec::new(),
            },
            Data::Decimals {
                precision, scale, ..
            } if sum => Accumulator::Decimals {
                precision: *precision,
                scale: *scale,
                sums: Vec::new(),
                counts: Vec::new(),
            },
            Data::Ints(kind, _) if best => Accumulator::Best {
                kind: *kind,
                best: Vec::new(),
                counts: Vec::new(),
            },
            _ => Accumulator::Any(Vec::new()),
        };
        self.grow(groups, aggregate);
    }

    /// One batch: `arguments` of each row, and its group's number. `wide`: a sum may be any machine number.
    fn take(
        &mut self,
        aggregate: &Aggregate,
        arguments: &[Arc<Column>],
        (numbers, groups): (&[u32], usize),
        wide: bool,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        if let Accumulator::Distinct { seen, of } = self {
            let Some(column) = arguments.first() else {
                return Ok(());
            };
            cx.null_eliminated |= column.nulls().contains(&true);
            let group = numbers.iter().map(|g| i64::from(*g)).collect();
            let group = Arc::new(Column::new(Data::Ints(IntKind::BigInt, group)));
            let (mut all, mut fresh) = (Vec::new(), Vec::new());
            let keys = [group, column.clone()];
            seen.number(&keys, numbers.len(), true, &mut all, &mut fresh);
            fresh.retain(|i| !column.is_null(*i as usize));
            let values = [Arc::new(column.gather(&fresh))];
            let own: Vec<u32> = fresh.iter().map(|i| numbers[*i as usize]).collect();
            return of.take(aggregate, &values, (&own, groups), wide, cx);
        }
        if let Accumulator::Count(counts) = self {
            match arguments.first() {
                None => numbers.iter().for_each(|g| counts[*g as usize] += 1),
                Some(c) => {
                    for (i, g) in numbers.iter().enumerate() {
                        counts[*g as usize] += i64::from(!c.is_null(i));
                    }
                    cx.null_eliminated |= c.nulls().contains(&true);
                }
            }
            return Ok(());
        }
        let Some(column) = arguments.first() else {
            return Ok(());
        };
        if matches!(self, Accumulator::Empty) {
            self.begin(aggregate, &column.data, groups);
        }
        if !self.fits(&column.data) {
            self.check_range(aggregate)?;
            self.loosen(aggregate);
        }
        cx.null_eliminated |= aggregate.list.is_none() && column.nulls().contains(&true);
        match (&mut *self, &column.data) {
            (Accumulator::Ints { kind, sums, counts }, Data::Ints(_, values)) => {
                let (low, high) = match wide {
                    true => (i64::MIN, i64::MAX),
                    false => kind.range(),
                };
                let nulls = column.nulls();
                for (i, (g, v)) in numbers.iter().zip(values).enumerate() {
                    if !nulls.is_empty() && nulls[i] {
                        continue;
                    }
                    let g = *g as usize;
                    match sums[g].checked_add(*v) {
                        Some(sum) if low <= sum && sum <= high => sums[g] = sum,
                        _ => {
                            return Err(overflow_of_sum(
                                &kind.value(sums[g]),
                                &kind.value(*v),
                                &aggregate.ty,
                            ));
                        }
                    }
                    counts[g] += 1;
                }
            }
            (Accumulator::Floats { sums, counts }, Data::Floats(values)) => {
                for (i, (g, v)) in numbers.iter().zip(values).enumerate() {
                    if column.is_null(i) {
                        continue;
                    }
                    let g = *g as usize;
                    // The first value is taken as it is: 0.0 + -0.0 is another zero.
                    let sum = if counts[g] == 0 { *v } else { sums[g] + v };
                    if !sum.is_finite() {
                        return Err(overflow_of_sum(
                            &Value::Float(sums[g]),
                            &Value::Float(*v),
                            &aggregate.ty,
                        ));
                    }
                    sums[g] = sum;
                    counts[g] += 1;
                }
            }
            (
                Accumulator::Decimals {
                    precision,
                    scale,
                    sums,
                    counts,
                },
                Data::Decimals { mantissas, .. },
            ) => {
                for (i, (g, v)) in numbers.iter().zip(mantissas).enumerate() {
                    if column.is_null(i) {
                        continue;
                    }
                    let g = *g as usize;
                    match sums[g].checked_add(*v) {
                        Some(sum) if -POW10[38] < sum && sum < POW10[38] => sums[g] = sum,
                        _ => {
                            let value = |m| crate::aggregate::decimal_sum(m, 38, *scale);
                            return Err(overflow_of_sum(
                                &value(sums[g]),
                                &value(*v),
                                &aggregate.ty,
                            ));
                        }
                    }
                    let _ = precision;
                    counts[g] += 1;
                }
            }
            (Accumulator::Best { best, counts, .. }, Data::Ints(_, values)) => {
                let least = aggregate.kind == AggregateKind::Min;
                for (i, (g, v)) in numbers.iter().zip(values).enumerate() {
                    if column.is_null(i) {
                        continue;
                    }
                    let g = *g as usize;
                    let better = if least { *v < best[g] } else { *v > best[g] };
                    if counts[g] == 0 || better {
                        best[g] = *v;
                    }
                    counts[g] += 1;
                }
            }
            (Accumulator::Any(states), _) => {
                let ty = aggregate.input.as_ref().map_or(aggregate.ty, |e| e.ty);
                for (i, g) in numbers.iter().enumerate() {
                    let value = column.get(i);
                    if value.is_null() {
                        continue;
                    }
                    let state = &mut states[*g as usize];
                    match arguments.get(1) {
                        Some(separator) => {
                            let order = arguments[2..].iter().map(|c| c.get(i));
                            state.add_part(value, || separator.get(i), order.collect());
                        }
                        None => state.add(aggregate, value, &ty)?,
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether values of this form can be added as they are.
    fn fits(&self, data: &Data) -> bool {
        match (self, data) {
            (Accumulator::Ints { .. }, Data::Ints(..)) => true,
            (Accumulator::Floats { .. }, Data::Floats(_)) => true,
            (
                Accumulator::Decimals {
                    precision, scale, ..
                },
                Data::Decimals {
                    precision: p,
                    scale: s,
                    ..
                },
            ) => precision == p && scale == s,
            (Accumulator::Best { kind, .. }, Data::Ints(k, _)) => kind == k,
            (Accumulator::Any(_), _) => true,
            _ => false,
        }
    }

    pub(super) fn loosen(&mut self, aggregate: &Aggregate) {
        *self = Accumulator::Any(self.states(aggregate));
    }

    /// The groups as the row aggregates keep them.
    pub(super) fn states(&mut self, aggregate: &Aggregate) -> Vec<State> {
        let resumed = |counts: &[i64], value: &dyn Fn(usize) -> Value| {
            let one = |(g, n): (usize, &i64)| match *n {
                0 => State::for_aggregate(aggregate),
                n => State::resumed(n, value(g)),
            };
            counts.iter().enumerate().map(one).collect()
        };
        match std::mem::replace(self, Accumulator::Empty) {
            Accumulator::Empty => Vec::new(),
            Accumulator::Distinct { mut of, .. } => of.states(aggregate),
            Accumulator::Count(counts) => resumed(&counts, &|_| Value::Null),
            Accumulator::Ints { kind, sums, counts } => resumed(&counts, &|g| kind.value(sums[g])),
            Accumulator::Floats { sums, counts } => resumed(&counts, &|g| Value::Float(sums[g])),
            Accumulator::Decimals {
                precision,
                scale,
                sums,
                counts,
            } => resumed(&counts, &|g| {
                // One value keeps its own precision, a sum has them all.
                let digits = if counts[g] == 1 { precision } else { 38 };
                crate::aggregate::decimal_sum(sums[g], digits, scale)
            }),
            Accumulator::Best { kind, best, counts } => resumed(&counts, &|g| kind.value(best[g])),
            Accumulator::Any(states) => states,
        }
    }

    fn finish(mut self, aggregate: &Aggregate, groups: usize) -> SqlResult<Column> {
        let mut out = Column::of(&aggregate.ty);
        let mut states = self.states(aggregate);
        states.resize_with(groups, || State::for_aggregate(aggregate));
        for state in states {
            out.push(state.finish(aggregate)?);
        }
        Ok(out)
    }
}
