//! GROUP BY: one state a group, found by hashing its key. Few groups leave in the order of their keys, as those of a
//! sorting plan do; many in the order in which they were met.

use std::collections::HashMap;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{BinaryOp, CollationId, Decimal, SqlType, TypeId, Value};

use crate::cx::Cx;
use crate::expr::Expr;
use crate::hash;
use crate::key::{KeySet, RowKey, compare_keys, compare_nullable};
use crate::plan::{Aggregate, AggregateKind, Row};

pub struct Groups<'p> {
    by: &'p [Expr],
    aggregates: &'p [Aggregate],
    collations: Arc<[CollationId]>,
    numbers: HashMap<RowKey, usize, hash::Build>,
    groups: Vec<Group>,
    kept: usize,
}

/// More groups than these are not put in order.
pub(crate) const ORDERED_GROUPS: usize = 1 << 16;

struct Group {
    /// The first columns of the first row.
    first: Row,
    states: Vec<State>,
}

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
            numbers: HashMap::default(),
            groups: Vec::new(),
        }
    }

    pub fn add(&mut self, row: &Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        let key = crate::exec::eval_all(self.by, row, cx)?;
        let key = RowKey::new(key, self.collations.clone());
        let at = *self.numbers.entry(key).or_insert_with(|| {
            self.groups.push(Group {
                first: row[..self.kept].to_vec(),
                states: self.aggregates.iter().map(State::for_aggregate).collect(),
            });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        for (state, aggregate) in group.states.iter_mut().zip(self.aggregates) {
            state.take(aggregate, row, cx)?;
        }
        Ok(())
    }

    /// A row a group, in the order of their first rows when they came `ordered`: the keys, then the aggregates. Without GROUP BY there is one row, even of nothing.
    pub fn finish(mut self, ordered: bool) -> SqlResult<Vec<Row>> {
        if self.by.is_empty() && self.groups.is_empty() {
            let states = self.aggregates.iter().map(State::for_aggregate).collect();
            let first = vec![Value::Null; self.kept];
            self.groups.push(Group { first, states });
            self.numbers
                .insert(RowKey::new(Vec::new(), self.collations), 0);
        }
        let mut keys: Vec<(RowKey, usize)> = self.numbers.into_iter().collect();
        if keys.len() <= ORDERED_GROUPS && !ordered {
            keys.sort_unstable();
        } else {
            keys.sort_unstable_by_key(|(_, at)| *at);
        }
        let mut groups: Vec<Option<Group>> = self.groups.into_iter().map(Some).collect();
        let mut rows = Vec::with_capacity(keys.len());
        for (key, at) in keys {
            let Some(group) = groups[at].take() else {
                continue;
            };
            let mut row = group.first;
            row.extend_from_slice(key.values());
            for (state, aggregate) in group.states.into_iter().zip(self.aggregates) {
                row.push(state.finish(aggregate)?);
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

impl State {
    /// One row of the group.
    pub(crate) fn take(
        &mut self,
        aggregate: &Aggregate,
        row: &Row,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let Some(e) = &aggregate.input else {
            self.count += 1;
            return Ok(());
        };
        let value = e.eval(row, cx)?;
        if let Some((separator, order)) = &aggregate.list {
            if value.is_null() {
                return Ok(());
            }
            if self.parts.is_empty() {
                self.separator = separator.eval(row, cx)?;
            }
            let mut key = Vec::with_capacity(order.len());
            for k in order {
                key.push(k.expr.eval(row, cx)?);
            }
            self.parts.push((key, value));
            return Ok(());
        }
        if value.is_null() {
            cx.null_eliminated = true;
            return Ok(());
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

    /// One text of a STRING_AGG, and what it is sorted by.
    pub(crate) fn add_part(
        &mut self,
        value: Value,
        separator: impl FnOnce() -> Value,
        order: Vec<Value>,
    ) {
        if self.parts.is_empty() {
            self.separator = separator();
        }
        self.parts.push((order, value));
    }

    /// One value that is not NULL.
    pub(crate) fn add(
        &mut self,
        aggregate: &Aggregate,
        value: Value,
        ty: &SqlType,
    ) -> SqlResult<()> {
        if let Some(seen) = &mut self.seen
            && !seen.insert(RowKey::new(vec![value.clone()], Arc::new([ty.collation])))
        {
            return Ok(());
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
        Ok(())
    }

    pub(crate) fn finish(self, aggregate: &Aggregate) -> SqlResult<Value> {
        if aggregate.kind == AggregateKind::StringAgg {
            return joined(self, aggregate);
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
fn joined(mut state: State, aggregate: &Aggregate) -> SqlResult<Value> {
    if state.parts.is_empty() {
        return Ok(Value::Null);
    }
    if let Some((_, order)) = &aggregate.list {
        state
            .parts
            .sort_by(|(a, _), (b, _)| compare_keys(order, a, b));
    }
    let separator = state.separator.as_text().unwrap_or_default();
    let texts: Vec<String> = state
        .parts
        .iter()
        .map(|(_, v)| v.as_text().unwrap_or_default())
        .collect();
    let text = texts.join(&separator);
    let value = match aggregate.ty.id.is_nchar() {
        true => Value::nvarchar(&text),
        false => Value::varchar(&text),
    };
    let bytes = value.data_length(&aggregate.ty).unwrap_or(0);
    if !aggregate.ty.is_max() && bytes > 8000 {
        return Err(SqlError::new(&messages::STRING_AGG_LIMIT, &[]));
    }
    Ok(value)
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
