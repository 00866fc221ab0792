//! GROUP BY: one state a group, found by hashing its key. Few groups leave in the order of their keys, as those of a
//! sorting plan do; many in the order in which they were met.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_columns::hash::SplitMap;
use duramen_columns::steps::ordered_while;
use duramen_types::{BinaryOp, CollationId, Decimal, SqlType, TypeId, Value, cp1252};

use crate::cx::Cx;
use crate::expr::Expr;
use crate::kept::{Held, Leaving, row_bytes};
use crate::key::{KeySet, RowKey, compare_keys, compare_nullable};
use crate::plan::{Aggregate, AggregateKind, Row};

pub struct Groups<'p> {
    by: &'p [Expr],
    aggregates: &'p [Aggregate],
    collations: Arc<[CollationId]>,
    numbers: SplitMap<RowKey, usize>,
    groups: Vec<Group>,
    kept: usize,
    held: Held,
}

/// The groups of some rows, on their way to operators that know files.
pub(crate) struct Begun {
    /// The keys of each group, in the order in which the groups were met.
    pub keys: Vec<Row>,
    /// The kept columns of each one's first row.
    pub firsts: Vec<Row>,
    /// For each aggregate one state a group.
    pub states: Vec<Vec<State>>,
    pub held: Held,
}

/// Groups between two looks at whether somebody still wants them.
const SOME: usize = 4096;

/// More groups than these are not put in order.
pub(crate) const ORDERED_GROUPS: usize = 1 << 16;

struct Group {
    /// The first columns of the first row.
    first: Row,
    states: Vec<State>,
}

/// What a group takes besides its key, its first columns and what its states keep, about.
const GROUP_BYTES: usize = 96;

#[derive(Clone, Default)]
pub(crate) struct State {
    count: i64,
    value: Value,
    /// Count, mean and sum of squared distances, for the variances.
    mean: f64,
    squares: f64,
    seen: Option<KeySet>,
    /// STRING_AGG: sort keys and texts.
    parts: Vec<(Vec<Value>, Value)>,
    separator: Value,
}

impl<'p> Groups<'p> {
    pub fn new(by: &'p [Expr], aggregates: &'p [Aggregate], kept: usize) -> Groups<'p> {
        Groups {
            kept,
            by,
            aggregates,
            collations: by.iter().map(|e| e.ty.collation).collect(),
            numbers: SplitMap::default(),
            groups: Vec::new(),
            held: Held::default(),
        }
    }

    /// Adds rows; false when there is no room for what is kept of them.
    pub fn add(&mut self, rows: &[Row], cx: &mut Cx<'_>) -> SqlResult<bool> {
        let mut kept = 0;
        for row in rows {
            kept += self.add_row(row, cx)?;
        }
        Ok(kept == 0 || self.held.add(kept, cx))
    }

    /// How many bytes are kept of a row.
    fn add_row(&mut self, row: &Row, cx: &mut Cx<'_>) -> SqlResult<usize> {
        let mut kept = 0;
        let key = crate::exec::eval_all(self.by, row, cx)?;
        let key = RowKey::new(key, self.collations.clone());
        let at = match self.numbers.get(&key) {
            Some(at) => *at,
            None => {
                let first = row[..self.kept].to_vec();
                let states = self.aggregates.len() * size_of::<State>();
                kept += row_bytes(key.values()) + row_bytes(&first) + states + GROUP_BYTES;
                self.groups.push(Group {
                    first,
                    states: self.aggregates.iter().map(State::for_aggregate).collect(),
                });
                self.numbers.insert(key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[at];
        for (state, aggregate) in group.states.iter_mut().zip(self.aggregates) {
            kept += state.take(aggregate, row, cx)?;
        }
        Ok(kept)
    }

    /// The groups so far, for who goes on with them.
    pub fn begun(self) -> SqlResult<Begun> {
        let mut keys = vec![Row::new(); self.groups.len()];
        for (n, (key, at)) in self.numbers.into_iter().enumerate() {
            given_up::after_step(n)?;
            keys[at] = key.into_values();
        }
        let mut firsts = Vec::with_capacity(keys.len());
        let mut states: Vec<Vec<State>> = self.aggregates.iter().map(|_| Vec::new()).collect();
        for (n, group) in self.groups.into_iter().enumerate() {
            given_up::after_step(n)?;
            firsts.push(group.first);
            for (all, state) in states.iter_mut().zip(group.states) {
                all.push(state);
            }
        }
        Ok(Begun {
            keys,
            firsts,
            states,
            held: self.held,
        })
    }

    /// A row a group, in the order of their first rows when they came `ordered`: the keys, then the aggregates. Without GROUP BY there is one row, even of nothing.
    pub fn finish(mut self, ordered: bool, cx: &Cx<'_>) -> SqlResult<Leaving> {
        if self.by.is_empty() && self.groups.is_empty() {
            let states = self.aggregates.iter().map(State::for_aggregate).collect();
            let first = vec![Value::Null; self.kept];
            self.groups.push(Group { first, states });
            self.numbers
                .insert(RowKey::new(Vec::new(), self.collations), 0);
        }
        let in_order = self.numbers.entries() <= ORDERED_GROUPS && !ordered;
        let mut groups: Vec<(Option<RowKey>, Group)> = Vec::with_capacity(self.groups.len());
        groups.extend(self.groups.into_iter().map(|group| (None, group)));
        for (i, (key, at)) in self.numbers.into_iter().enumerate() {
            if i % SOME == SOME - 1 {
                cx.check_cancelled()?;
            }
            groups[at].0 = Some(key);
        }
        if in_order {
            groups.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        }
        let mut rows = VecDeque::with_capacity(groups.len());
        for (i, (key, group)) in groups.into_iter().enumerate() {
            if i % SOME == SOME - 1 {
                cx.check_cancelled()?;
            }
            let Some(key) = key else {
                continue;
            };
            let mut row = group.first;
            row.extend(key.into_values());
            for (state, aggregate) in group.states.into_iter().zip(self.aggregates) {
                row.push(state.finish(aggregate, cx)?);
            }
            rows.push_back(row);
        }
        Ok(Leaving::new(rows, self.held))
    }
}

impl State {
    /// One row of the group; how many bytes are kept of it.
    pub(crate) fn take(
        &mut self,
        aggregate: &Aggregate,
        row: &Row,
        cx: &mut Cx<'_>,
    ) -> SqlResult<usize> {
        let Some(e) = &aggregate.input else {
            self.count += 1;
            return Ok(0);
        };
        let value = e.eval(row, cx)?;
        if let Some((separator, order)) = &aggregate.list {
            if value.is_null() {
                return Ok(0);
            }
            if self.parts.is_empty() {
                self.separator = separator.eval(row, cx)?;
            }
            let mut key = Vec::with_capacity(order.len());
            for k in order {
                key.push(k.expr.eval(row, cx)?);
            }
            return Ok(self.keep_part(key, value));
        }
        if value.is_null() {
            cx.null_eliminated = true;
            return Ok(0);
        }
        self.add(aggregate, value, &e.ty)
    }

    pub(crate) fn for_aggregate(a: &Aggregate) -> State {
        State {
            seen: a.distinct.then(Default::default),
            ..State::default()
        }
    }

    /// A state that has taken `count` values, whose sum, least or greatest is `value`.
    pub(crate) fn resumed(count: i64, value: Value) -> State {
        State {
            count,
            value,
            ..State::default()
        }
    }

    /// How many values it has taken, and their sum, least or greatest.
    pub(crate) fn into_parts(self) -> (i64, Value) {
        (self.count, self.value)
    }

    /// So many values more are part of it already.
    pub(crate) fn add_count(&mut self, n: i64) {
        self.count += n;
    }

    /// Adds the values of another state: count, mean and squared distances of both together (the pairwise form of Chan,
    /// Golub and LeVeque).
    pub(crate) fn join_spread(&mut self, other: &State) {
        let (n, m) = (self.count as f64, other.count as f64);
        if other.count > 0 {
            let apart = other.mean - self.mean;
            self.mean += apart * m / (n + m);
            self.squares += other.squares + apart * apart * n * m / (n + m);
            self.count += other.count;
        }
    }

    /// One text of a STRING_AGG, and what it is sorted by; how many bytes are kept of it.
    pub(crate) fn add_part(
        &mut self,
        value: Value,
        separator: impl FnOnce() -> Value,
        order: Vec<Value>,
    ) -> usize {
        if self.parts.is_empty() {
            self.separator = separator();
        }
        self.keep_part(order, value)
    }

    fn keep_part(&mut self, order: Vec<Value>, value: Value) -> usize {
        let kept = part_bytes(&order, &value);
        self.parts.push((order, value));
        kept
    }

    /// Bytes that are kept of the texts of a STRING_AGG.
    pub(crate) fn parts_bytes(&self) -> usize {
        let parts = self.parts.iter();
        parts.map(|(order, value)| part_bytes(order, value)).sum()
    }

    /// What stands between the texts of a STRING_AGG, and those with what they are sorted by, which are no longer kept.
    pub(crate) fn into_list(self) -> (Value, Vec<(Vec<Value>, Value)>) {
        (self.separator, self.parts)
    }

    /// The different values that it has taken, which are no longer kept.
    pub(crate) fn take_seen(&mut self) -> Vec<Value> {
        let seen = self.seen.take().unwrap_or_default();
        seen.into_iter()
            .flat_map(|(key, ())| key.into_values())
            .collect()
    }

    /// One value that is not NULL; how many bytes are kept of it.
    pub(crate) fn add(
        &mut self,
        aggregate: &Aggregate,
        value: Value,
        ty: &SqlType,
    ) -> SqlResult<usize> {
        let mut kept = 0;
        if let Some(seen) = &mut self.seen {
            let key = RowKey::new(vec![value.clone()], Arc::new([ty.collation]));
            if seen.insert(key, ()).is_some() {
                return Ok(0);
            }
            kept += row_bytes(std::slice::from_ref(&value)) + GROUP_BYTES;
        }
        self.count += 1;
        match aggregate.kind {
            AggregateKind::CountStar | AggregateKind::Count | AggregateKind::StringAgg => {}
            AggregateKind::Sum | AggregateKind::Avg => {
                self.value = if self.value.is_null() {
                    widened(value, &aggregate.ty)
                } else {
                    let right = widened(value, &aggregate.ty);
                    add(&self.value, &right, &aggregate.ty)?
                };
            }
            AggregateKind::Min | AggregateKind::Max => {
                let o = compare_nullable(&value, &self.value, ty.collation);
                let better = if aggregate.kind == AggregateKind::Min {
                    o.is_lt()
                } else {
                    o.is_gt()
                };
                if self.value.is_null() || better {
                    kept += value.heap_bytes().saturating_sub(self.value.heap_bytes());
                    self.value = value;
                }
            }
            AggregateKind::StDev
            | AggregateKind::StDevP
            | AggregateKind::Var
            | AggregateKind::VarP => {
                let x = as_f64(&value);
                let d = x - self.mean;
                self.mean += d / self.count as f64;
                self.squares += d * (x - self.mean);
            }
        }
        Ok(kept)
    }

    pub(crate) fn finish(self, aggregate: &Aggregate, cx: &Cx<'_>) -> SqlResult<Value> {
        if aggregate.kind == AggregateKind::StringAgg {
            return joined(self, aggregate, cx);
        }
        let n = self.count;
        Ok(match aggregate.kind {
            AggregateKind::CountStar | AggregateKind::Count
                if aggregate.ty.id == TypeId::BigInt =>
            {
                Value::BigInt(n)
            }
            AggregateKind::CountStar | AggregateKind::Count => match i32::try_from(n) {
                Ok(n) => Value::Int(n),
                Err(_) => {
                    return Err(SqlError::new(
                        &messages::ARITHMETIC_OVERFLOW,
                        &[&"expression", &"int"],
                    )
                    .with_state(2));
                }
            },
            AggregateKind::Avg if n > 0 => average(&self.value, n, &aggregate.ty)?,
            AggregateKind::Sum | AggregateKind::Avg | AggregateKind::Min | AggregateKind::Max => {
                self.value
            }
            AggregateKind::Var if n > 1 => Value::Float(self.squares / (n - 1) as f64),
            AggregateKind::VarP if n > 0 => Value::Float(self.squares / n as f64),
            AggregateKind::StDev if n > 1 => Value::Float((self.squares / (n - 1) as f64).sqrt()),
            AggregateKind::StDevP if n > 0 => Value::Float((self.squares / n as f64).sqrt()),
            AggregateKind::Var
            | AggregateKind::VarP
            | AggregateKind::StDev
            | AggregateKind::StDevP
            | AggregateKind::StringAgg => Value::Null,
        })
    }
}

/// STRING_AGG: the texts in their order, with the separator between them; NULL of nothing.
fn joined(state: State, aggregate: &Aggregate, cx: &Cx<'_>) -> SqlResult<Value> {
    let State {
        parts, separator, ..
    } = state;
    let order = match &aggregate.list {
        Some((_, by)) if !by.is_empty() => {
            let compare = |a: usize, b: usize| compare_keys(by, &parts[a].0, &parts[b].0);
            Some(ordered_while(
                &|| cx.check_cancelled(),
                parts.len(),
                compare,
            )?)
        }
        _ => None,
    };
    let mut text = ListText::new(aggregate, &separator);
    for at in 0..parts.len() {
        if at % SOME == SOME - 1 {
            cx.check_cancelled()?;
        }
        let at = order.as_ref().map_or(at, |order| order[at] as usize);
        text.put(&parts[at].1, cx)?;
    }
    Ok(text.finish())
}

/// Bytes of a list that are made before it is asked whether there is memory for so many.
const LIST_STEP: usize = 1 << 20;

/// The value of a STRING_AGG while its texts are put together.
pub(crate) struct ListText {
    national: bool,
    /// Bytes that the value may have, unless it may be large.
    most: Option<usize>,
    separator: Value,
    /// Whether a text has come: the value of none is NULL.
    some: bool,
    wide: Vec<u16>,
    narrow: Vec<u8>,
    asked: usize,
}

impl ListText {
    pub fn new(aggregate: &Aggregate, separator: &Value) -> ListText {
        ListText {
            national: aggregate.ty.id.is_nchar(),
            most: ListText::most_bytes(aggregate),
            separator: separator.clone(),
            some: false,
            wide: Vec::new(),
            narrow: Vec::new(),
            asked: LIST_STEP,
        }
    }

    /// Bytes that a value may have; `None` where it may be large.
    pub fn most_bytes(aggregate: &Aggregate) -> Option<usize> {
        (!aggregate.ty.is_max()).then_some(8000)
    }

    /// 9829
    pub fn too_long() -> SqlError {
        SqlError::new(&messages::STRING_AGG_LIMIT, &[])
    }

    /// One more text: 9829, 7119 or 701 where they become too many.
    pub fn put(&mut self, text: &Value, cx: &Cx<'_>) -> SqlResult<()> {
        if self.some {
            let separator = std::mem::take(&mut self.separator);
            self.append(&separator);
            self.separator = separator;
        }
        self.append(text);
        self.some = true;
        let bytes = self.bytes();
        if self.most.is_some_and(|most| bytes > most) {
            return Err(ListText::too_long());
        }
        if bytes >= self.asked {
            cx.room_for(bytes)?;
            self.asked = bytes + LIST_STEP;
        }
        Ok(())
    }

    fn append(&mut self, text: &Value) {
        match (self.national, text) {
            (true, Value::NVarChar(units)) => self.wide.extend_from_slice(units),
            (false, Value::VarChar(bytes)) => self.narrow.extend_from_slice(bytes),
            (true, text) => {
                let text = text.as_text().unwrap_or_default();
                self.wide.extend(text.encode_utf16());
            }
            (false, text) => {
                let text = text.as_text().unwrap_or_default();
                self.narrow.extend(cp1252::encode(&text));
            }
        }
    }

    /// How long the value is.
    pub fn bytes(&self) -> usize {
        self.narrow.len() + 2 * self.wide.len()
    }

    pub fn finish(self) -> Value {
        match (self.some, self.national) {
            (false, _) => Value::Null,
            (true, true) => Value::NVarChar(self.wide),
            (true, false) => Value::VarChar(self.narrow),
        }
    }
}

fn part_bytes(order: &[Value], value: &Value) -> usize {
    row_bytes(order) + row_bytes(std::slice::from_ref(value))
}

/// SUM and AVG compute in the type of their result.
fn widened(value: Value, ty: &SqlType) -> Value {
    match (ty.id, value) {
        (TypeId::Int, v) => v.as_i64().map_or(v.clone(), |n| Value::Int(n as i32)),
        (TypeId::BigInt, v) => v.as_i64().map_or(v.clone(), Value::BigInt),
        (TypeId::Float, Value::Real(r)) => Value::Float(r as f64),
        (TypeId::Money, Value::SmallMoney(m)) => Value::Money(m as i64),
        (_, v) => v,
    }
}

fn add(a: &Value, b: &Value, ty: &SqlType) -> SqlResult<Value> {
    match (a, b) {
        (Value::Decimal(x), Value::Decimal(y)) => {
            let sum = x.mantissa().checked_add(y.mantissa());
            sum.and_then(|m| Decimal::new(m, 38, x.scale()))
                .map(Value::Decimal)
                .ok_or_else(|| {
                    SqlError::new(&messages::ARITHMETIC_OVERFLOW, &[&"expression", &"numeric"])
                        .with_state(2)
                })
        }
        _ => duramen_types::binary(
            BinaryOp::Add,
            a,
            ty,
            b,
            ty,
            &duramen_types::ConvertCtx::default(),
        ),
    }
}

/// The error of a sum that has no room for one more value.
pub(crate) fn overflow_of_sum(sum: &Value, value: &Value, ty: &SqlType) -> SqlError {
    match add(sum, value, ty) {
        Err(e) => e,
        Ok(_) => {
            let what: [&dyn std::fmt::Display; 2] = [&"expression", &ty.id.name()];
            SqlError::new(&messages::ARITHMETIC_OVERFLOW, &what).with_state(2)
        }
    }
}

/// A decimal that is known to fit its precision.
pub(crate) fn decimal_sum(mantissa: i128, precision: u8, scale: u8) -> Value {
    Decimal::new(mantissa, precision, scale).map_or(Value::Null, Value::Decimal)
}

fn average(sum: &Value, n: i64, ty: &SqlType) -> SqlResult<Value> {
    Ok(match sum {
        Value::Int(s) => Value::Int((*s as i64 / n) as i32),
        Value::BigInt(s) => Value::BigInt(s / n),
        Value::Float(s) => Value::Float(s / n as f64),
        Value::Money(s) => Value::Money(s / n),
        Value::Decimal(s) => {
            let scaled = duramen_types::rescale_mantissa(s.mantissa(), s.scale(), ty.scale);
            scaled
                .and_then(|m| Decimal::new(m / n as i128, 38, ty.scale))
                .map_or(Value::Null, Value::Decimal)
        }
        other => other.clone(),
    })
}

fn as_f64(v: &Value) -> f64 {
    match v {
        Value::Real(r) => *r as f64,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::SmallMoney(m) => *m as f64 / 10_000.0,
        v => v.as_i64().unwrap_or(0) as f64,
    }
}
