//! One aggregate of all groups of a GROUP BY over batches, by the number of the group.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Column, Data, IntKind};
use duramen_types::{CollationId, POW10, Value};

use super::BatchOperator;
use super::keys::{KeyTable, NONE};
use super::lists::{Joined, Lists};
use super::spilled::{Purpose, Writer};
use super::stream::Distinct;
use crate::aggregate::{State, overflow_of_sum};
use crate::cx::Cx;
use crate::plan::{Aggregate, AggregateKind};

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
        /// Groups' numbers and values that are none of those, when no more can be kept.
        rest: Option<Box<Writer>>,
    },
    Any(Vec<State>),
    /// STRING_AGG whose texts wait in a file.
    Lists(Box<Lists>),
}

impl Accumulator {
    pub(super) fn new(aggregate: &Aggregate) -> Accumulator {
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
                rest: None,
            },
            _ => of,
        }
    }

    /// The states that a row operator has begun.
    pub(super) fn resumed(
        aggregate: &Aggregate,
        mut states: Vec<State>,
        cx: &Cx<'_>,
    ) -> SqlResult<Accumulator> {
        let mut all = Accumulator::new(aggregate);
        if let (Accumulator::Distinct { seen, .. }, Some(input)) = (&mut all, &aggregate.input) {
            for (g, state) in states.iter_mut().enumerate() {
                let mut values = Column::of(&input.ty);
                state.take_seen().into_iter().for_each(|v| values.push(v));
                let n = values.len();
                let group = Column::new(Data::Ints(IntKind::BigInt, vec![g as i64; n]));
                let keys = [Arc::new(group), Arc::new(values)];
                cx.check_at(g)?;
                seen.number(&keys, n, true, &mut Vec::new(), &mut Vec::new(), cx)?;
            }
        }
        let own = match &mut all {
            Accumulator::Distinct { of, .. } => &mut **of,
            all => all,
        };
        *own = match own {
            Accumulator::Count(_) => {
                Accumulator::Count(states.into_iter().map(|s| s.into_parts().0).collect())
            }
            _ => Accumulator::Any(states),
        };
        Ok(all)
    }

    pub(super) fn grow(&mut self, groups: usize) {
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
            Accumulator::Distinct { of, .. } => of.grow(groups),
            Accumulator::Any(states) => {
                states.resize_with(groups, State::default);
            }
            Accumulator::Lists(lists) => lists.grow(groups),
        }
    }

    /// Bytes held besides what each group takes.
    pub(super) fn shared_bytes(&self) -> usize {
        match self {
            Accumulator::Distinct { seen, .. } => seen.heap_bytes(),
            _ => 0,
        }
    }

    /// Whether what is kept may grow without a new group.
    pub(super) fn grows(&self) -> bool {
        matches!(self, Accumulator::Distinct { rest: None, .. })
    }

    /// Bytes that a group takes, about.
    pub(super) fn group_bytes(&self) -> usize {
        match self {
            Accumulator::Empty => 0,
            Accumulator::Count(_) => 8,
            Accumulator::Ints { .. } | Accumulator::Floats { .. } | Accumulator::Best { .. } => 16,
            Accumulator::Decimals { .. } => 24,
            Accumulator::Distinct { of, .. } => of.group_bytes(),
            Accumulator::Any(_) => size_of::<State>(),
            Accumulator::Lists(_) => size_of::<Value>(),
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
        self.grow(groups);
    }

    /// Bytes of what [`Accumulator::keep_no_more`] would let go of.
    pub(super) fn list_bytes(&self, aggregate: &Aggregate) -> usize {
        match self {
            Accumulator::Any(states) if aggregate.list.is_some() => {
                states.iter().map(State::parts_bytes).sum()
            }
            _ => 0,
        }
    }

    /// From now on different values that are not known yet wait in a file, and so do all texts of STRING_AGG. False when there
    /// are none, or they do already.
    pub(super) fn keep_no_more(
        &mut self,
        aggregate: &Aggregate,
        cx: &mut Cx<'_>,
    ) -> SqlResult<bool> {
        match self {
            Accumulator::Any(states) if aggregate.list.is_some() => {
                let states = std::mem::take(states);
                let mut lists = Box::new(Lists::new(aggregate, cx));
                for state in states {
                    lists.take_over(state, cx)?;
                }
                *self = Accumulator::Lists(lists);
                Ok(true)
            }
            Accumulator::Distinct { rest, .. } if rest.is_none() => {
                let mut writer = Writer::new(Purpose::Hash(0), cx)?;
                writer.part();
                *rest = Some(Box::new(writer));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Takes the different values that have waited.
    pub(super) fn settle(
        &mut self,
        aggregate: &Aggregate,
        groups: usize,
        wide: bool,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let Accumulator::Distinct { seen, of, rest } = self else {
            return Ok(());
        };
        let (Some(rest), Some(input)) = (rest.take(), &aggregate.input) else {
            return Ok(());
        };
        let collations = vec![CollationId::NONE, input.ty.collation];
        *seen = KeyTable::new(collations.clone());
        let Some(reader) = rest.finish()?.into_iter().next() else {
            return Ok(());
        };
        let mut different = Distinct::of(Box::new(reader), collations, cx);
        while let Some(batch) = different.next(cx)? {
            let [group, values] = batch.columns() else {
                continue;
            };
            let number = |i: usize| group.get(i).as_i64().unwrap_or_default() as u32;
            let numbers: Vec<u32> = (0..batch.rows()).map(number).collect();
            of.take(
                aggregate,
                std::slice::from_ref(values),
                (&numbers, groups),
                wide,
                cx,
            )?;
        }
        Ok(())
    }

    /// One batch: `arguments` of each row, and its group's number. `wide`: a sum may be any machine number. How many bytes
    /// are kept of it besides what each group takes and what is shared.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm an aggregate and representation"
    )]
    pub(super) fn take(
        &mut self,
        aggregate: &Aggregate,
        arguments: &[Arc<Column>],
        (numbers, groups): (&[u32], usize),
        wide: bool,
        cx: &mut Cx<'_>,
    ) -> SqlResult<usize> {
        if let Accumulator::Distinct { seen, of, rest } = self {
            let Some(column) = arguments.first() else {
                return Ok(0);
            };
            cx.null_eliminated |= column.nulls().contains(&true);
            let group = numbers.iter().map(|g| i64::from(*g)).collect();
            let group = Arc::new(Column::new(Data::Ints(IntKind::BigInt, group)));
            let (mut all, mut fresh) = (Vec::new(), Vec::new());
            let keys = [group, column.clone()];
            let adds = rest.is_none();
            seen.number(&keys, numbers.len(), adds, &mut all, &mut fresh, cx)?;
            if let Some(rest) = rest {
                let waits = |i: &usize| all[*i] == NONE && !column.is_null(*i);
                let rows: Vec<u32> = (0..all.len()).filter(waits).map(|i| i as u32).collect();
                rest.put(0, &keys, &rows)?;
                return Ok(0);
            }
            fresh.retain(|i| !column.is_null(*i as usize));
            let values = [Arc::new(column.gather(&fresh))];
            let own: Vec<u32> = fresh.iter().map(|i| numbers[*i as usize]).collect();
            return of.take(aggregate, &values, (&own, groups), wide, cx);
        }
        if let Accumulator::Lists(lists) = self {
            lists.take(numbers, arguments, cx)?;
            return Ok(0);
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
            return Ok(0);
        }
        let Some(column) = arguments.first() else {
            return Ok(0);
        };
        let mut kept = 0;
        if matches!(self, Accumulator::Empty) {
            self.begin(aggregate, &column.data, groups);
        }
        if !self.fits(&column.data) {
            self.check_range(aggregate)?;
            self.loosen();
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
                            kept += state.add_part(value, || separator.get(i), order.collect());
                        }
                        None => kept += state.add(aggregate, value, &ty)?,
                    }
                }
            }
            _ => {}
        }
        Ok(kept)
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

    pub(super) fn loosen(&mut self) {
        *self = Accumulator::Any(self.states());
    }

    /// The groups as the row aggregates keep them.
    pub(super) fn states(&mut self) -> Vec<State> {
        let resumed = |counts: &[i64], value: &dyn Fn(usize) -> Value| {
            let one = |(g, n): (usize, &i64)| match *n {
                0 => State::default(),
                n => State::resumed(n, value(g)),
            };
            counts.iter().enumerate().map(one).collect()
        };
        match std::mem::replace(self, Accumulator::Empty) {
            Accumulator::Empty => Vec::new(),
            Accumulator::Distinct { mut of, .. } => of.states(),
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
            // They are never joined with another thread's, and go out by `into_lists`.
            Accumulator::Lists(_) => Vec::new(),
        }
    }

    /// The values of a STRING_AGG whose texts wait in a file; anything else as it is.
    pub(super) fn into_lists<'p>(
        self,
        aggregate: &'p Aggregate,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Result<Joined<'p>, Accumulator>> {
        match self {
            Accumulator::Lists(lists) => lists.finish(aggregate, cx).map(Ok),
            other => Ok(Err(other)),
        }
    }

    /// The groups' values, by their numbers.
    pub(super) fn finish(
        mut self,
        aggregate: &Aggregate,
        groups: usize,
        cx: &Cx<'_>,
    ) -> SqlResult<Vec<Value>> {
        let mut states = self.states();
        states.resize_with(groups, State::default);
        let values = states.into_iter().map(|s| s.finish(aggregate, cx));
        values.collect()
    }
}
