//! Batches: rows kept by column, for operators that work on many at a time.
//!
//! A column holds its cells as plain machine numbers or as one run of bytes where its type allows ([`Data`]), with a list
//! of which are NULL. Invariants:
//!
//! 1. A column gives back exactly the values that were put in: a value that does not fit the column's form turns the whole
//!    column into [`Data::Values`], never the value into another one. [test: what_goes_in_comes_out]
//! 2. Within [`Data::Ints`] of one kind, the numbers are in the order of the values, and equal where the values are.
//!    [test: columns_answer_as_rows_do]
//! 3. `nulls` is empty (no cell is NULL) or has one entry a cell. The data of a NULL cell is a zero or nothing.
//!    [test: stored_bytes_are_read_as_the_value_reader_reads_them]
//! 4. Every column of a [`Batch`] has the batch's number of rows, or is [`Data::Absent`]: nobody above asked for it.
//!    [test: a_batch_gathers_all_its_columns]

mod assigned;
mod codec;
pub mod spill;
mod stored;

use std::sync::Arc;

use crate::temporal::UNITS_PER_DAY;
use crate::{Date, DateTime, DateTime2, Decimal, SmallDateTime, SqlType, Time, TypeId, Value};

/// What the numbers of a column of integers stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntKind {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    SmallMoney,
    Money,
    /// Days since 0001-01-01.
    Date,
    /// 100 ns units since midnight.
    Time,
    /// Days since 1900 in the high half, ticks in the low one.
    DateTime,
    /// Days since 1900 times 65536, and minutes.
    SmallDateTime,
    /// 100 ns units since 0001-01-01.
    DateTime2,
}

impl IntKind {
    /// Every kind, each at the place that `kind as usize` says.
    pub const ALL: [IntKind; 12] = [
        IntKind::Bit,
        IntKind::TinyInt,
        IntKind::SmallInt,
        IntKind::Int,
        IntKind::BigInt,
        IntKind::SmallMoney,
        IntKind::Money,
        IntKind::Date,
        IntKind::Time,
        IntKind::DateTime,
        IntKind::SmallDateTime,
        IntKind::DateTime2,
    ];

    /// The kind of a value and the number that stands for it; `None` for values that are no numbers of 64 bits.
    pub fn of_value(value: &Value) -> Option<(IntKind, i64)> {
        let kind = match value {
            Value::Bit(_) => IntKind::Bit,
            Value::TinyInt(_) => IntKind::TinyInt,
            Value::SmallInt(_) => IntKind::SmallInt,
            Value::Int(_) => IntKind::Int,
            Value::BigInt(_) => IntKind::BigInt,
            Value::SmallMoney(_) => IntKind::SmallMoney,
            Value::Money(_) => IntKind::Money,
            Value::Date(_) => IntKind::Date,
            Value::Time(_) => IntKind::Time,
            Value::DateTime(_) => IntKind::DateTime,
            Value::SmallDateTime(_) => IntKind::SmallDateTime,
            Value::DateTime2(_) => IntKind::DateTime2,
            _ => return None,
        };
        Some((kind, kind.number(value)?))
    }

    pub fn of(id: TypeId) -> Option<IntKind> {
        Some(match id {
            TypeId::Bit => IntKind::Bit,
            TypeId::TinyInt => IntKind::TinyInt,
            TypeId::SmallInt => IntKind::SmallInt,
            TypeId::Int => IntKind::Int,
            TypeId::BigInt => IntKind::BigInt,
            TypeId::SmallMoney => IntKind::SmallMoney,
            TypeId::Money => IntKind::Money,
            TypeId::Date => IntKind::Date,
            TypeId::Time => IntKind::Time,
            TypeId::DateTime => IntKind::DateTime,
            TypeId::SmallDateTime => IntKind::SmallDateTime,
            TypeId::DateTime2 => IntKind::DateTime2,
            _ => return None,
        })
    }

    /// bit, tinyint, smallint, int, bigint: their numbers compare across kinds.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            IntKind::Bit | IntKind::TinyInt | IntKind::SmallInt | IntKind::Int | IntKind::BigInt
        )
    }

    /// The least and the greatest number that the kind can hold, for the integer kinds.
    pub fn range(self) -> (i64, i64) {
        match self {
            IntKind::Bit => (0, 1),
            IntKind::TinyInt => (0, u8::MAX as i64),
            IntKind::SmallInt => (i16::MIN as i64, i16::MAX as i64),
            IntKind::Int | IntKind::SmallMoney => (i32::MIN as i64, i32::MAX as i64),
            _ => (i64::MIN, i64::MAX),
        }
    }

    /// The number that stands for a value of this kind; `None` for any other value.
    pub fn number(self, value: &Value) -> Option<i64> {
        Some(match (self, value) {
            (IntKind::Bit, Value::Bit(b)) => i64::from(*b),
            (IntKind::TinyInt, Value::TinyInt(n)) => i64::from(*n),
            (IntKind::SmallInt, Value::SmallInt(n)) => i64::from(*n),
            (IntKind::Int, Value::Int(n)) => i64::from(*n),
            (IntKind::BigInt, Value::BigInt(n)) => *n,
            (IntKind::SmallMoney, Value::SmallMoney(n)) => i64::from(*n),
            (IntKind::Money, Value::Money(n)) => *n,
            (IntKind::Date, Value::Date(d)) => i64::from(d.0),
            (IntKind::Time, Value::Time(t)) => t.0 as i64,
            (IntKind::DateTime, Value::DateTime(d)) => i64::from(d.days) << 32 | i64::from(d.ticks),
            (IntKind::SmallDateTime, Value::SmallDateTime(d)) => {
                i64::from(d.days) << 16 | i64::from(d.minutes)
            }
            (IntKind::DateTime2, Value::DateTime2(d)) => {
                i64::from(d.days) * UNITS_PER_DAY as i64 + d.time as i64
            }
            _ => return None,
        })
    }

    /// The value that a number of this kind stands for.
    pub fn value(self, n: i64) -> Value {
        match self {
            IntKind::Bit => Value::Bit(n != 0),
            IntKind::TinyInt => Value::TinyInt(n as u8),
            IntKind::SmallInt => Value::SmallInt(n as i16),
            IntKind::Int => Value::Int(n as i32),
            IntKind::BigInt => Value::BigInt(n),
            IntKind::SmallMoney => Value::SmallMoney(n as i32),
            IntKind::Money => Value::Money(n),
            IntKind::Date => Value::Date(Date(n as i32)),
            IntKind::Time => Value::Time(Time(n as u64)),
            IntKind::DateTime => Value::DateTime(DateTime {
                days: (n >> 32) as i32,
                ticks: n as u32,
            }),
            IntKind::SmallDateTime => Value::SmallDateTime(SmallDateTime {
                days: (n >> 16) as u16,
                minutes: n as u16,
            }),
            IntKind::DateTime2 => Value::DateTime2(DateTime2 {
                days: n.div_euclid(UNITS_PER_DAY as i64) as i32,
                time: n.rem_euclid(UNITS_PER_DAY as i64) as u64,
            }),
        }
    }
}

/// What runs of bytes stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BytesKind {
    VarChar,
    Binary,
}

/// Cells of varying length, one behind the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Runs<T> {
    /// Where each cell ends.
    ends: Vec<usize>,
    items: Vec<T>,
}

impl<T: Copy> Runs<T> {
    // Sorts ask dozens of times a row.
    #[inline(always)]
    pub fn get(&self, i: usize) -> &[T] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.items[start..self.ends[i]]
    }

    #[inline]
    pub fn push(&mut self, cell: &[T]) {
        self.items.extend_from_slice(cell);
        self.ends.push(self.items.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// Bytes from which on a vector grows by a part of itself instead of to twice its size: the allocator moves its pages, not
/// what is in them, and nobody is told of room that is not used.
const LARGE: usize = 2 << 20;
const GROWTH_PART: usize = 8;

#[inline]
fn make_room<T>(v: &mut Vec<T>, more: usize) {
    let needed = v.len().saturating_add(more);
    if needed > v.capacity() && needed.saturating_mul(size_of::<T>()) > LARGE {
        v.reserve_exact(more.max(v.len() / GROWTH_PART));
    }
}

#[inline]
fn extend<T: Copy>(v: &mut Vec<T>, more: &[T]) {
    make_room(v, more.len());
    v.extend_from_slice(more);
}

/// The cells of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Nobody asked for the column; its cells read as NULL.
    Absent,
    Ints(IntKind, Vec<i64>),
    Floats(Vec<f64>),
    /// All of one precision and scale.
    Decimals {
        precision: u8,
        scale: u8,
        mantissas: Vec<i128>,
    },
    Bytes(BytesKind, Runs<u8>),
    /// UTF-16 units.
    Wide(Runs<u16>),
    /// Everything else, and columns of unlike values.
    Values(Vec<Value>),
}

/// One column of a batch; see the module.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub data: Data,
    nulls: Vec<bool>,
}

impl Column {
    /// An empty column in the form that values of `ty` have.
    pub fn of(ty: &SqlType) -> Column {
        let data = match ty.id {
            TypeId::Float => Data::Floats(Vec::new()),
            TypeId::Decimal | TypeId::Numeric => Data::Decimals {
                precision: ty.precision,
                scale: ty.scale,
                mantissas: Vec::new(),
            },
            id if id.is_char() => Data::Bytes(BytesKind::VarChar, Runs::default()),
            id if id.is_nchar() => Data::Wide(Runs::default()),
            id if id.is_binary() => Data::Bytes(BytesKind::Binary, Runs::default()),
            id => match IntKind::of(id) {
                Some(kind) => Data::Ints(kind, Vec::new()),
                None => Data::Values(Vec::new()),
            },
        };
        Column::new(data)
    }

    /// A column without NULLs.
    pub fn new(data: Data) -> Column {
        Column {
            data,
            nulls: Vec::new(),
        }
    }

    /// A column that nobody asked for.
    pub fn absent() -> Column {
        Column::new(Data::Absent)
    }

    /// A column with the NULLs of a list that is empty or as long as the data.
    pub fn with_nulls(data: Data, nulls: Vec<bool>) -> Column {
        let column = Column { data, nulls };
        debug_assert!(column.nulls.is_empty() || column.nulls.len() == column.len());
        column
    }

    pub fn is_absent(&self) -> bool {
        matches!(self.data, Data::Absent)
    }

    /// Cells; 0 for an absent column.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Absent => 0,
            Data::Ints(_, v) => v.len(),
            Data::Floats(v) => v.len(),
            Data::Decimals { mantissas, .. } => mantissas.len(),
            Data::Bytes(_, r) => r.len(),
            Data::Wide(r) => r.len(),
            Data::Values(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which cells are NULL; empty when none is.
    pub fn nulls(&self) -> &[bool] {
        &self.nulls
    }

    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        !self.nulls.is_empty() && self.nulls[i] || matches!(self.data, Data::Absent)
    }

    /// Whether some of its values are not in memory.
    pub fn has_spooled(&self) -> bool {
        match &self.data {
            Data::Values(v) => v.iter().any(|v| matches!(v, Value::Spooled(_))),
            _ => false,
        }
    }

    /// Bytes of memory held, about.
    pub fn heap_bytes(&self) -> usize {
        let data = match &self.data {
            Data::Absent => 0,
            Data::Ints(_, v) => v.capacity() * 8,
            Data::Floats(v) => v.capacity() * 8,
            Data::Decimals { mantissas, .. } => mantissas.capacity() * 16,
            Data::Bytes(_, r) => r.ends.capacity() * 8 + r.items.capacity(),
            Data::Wide(r) => r.ends.capacity() * 8 + r.items.capacity() * 2,
            Data::Values(v) => {
                v.capacity() * size_of::<Value>() + v.iter().map(Value::heap_bytes).sum::<usize>()
            }
        };
        data + self.nulls.capacity()
    }

    /// The value of a cell.
    pub fn get(&self, i: usize) -> Value {
        if self.is_null(i) {
            return Value::Null;
        }
        match &self.data {
            Data::Absent => Value::Null,
            Data::Ints(kind, v) => kind.value(v[i]),
            Data::Floats(v) => Value::Float(v[i]),
            Data::Decimals {
                precision,
                scale,
                mantissas,
            } => Decimal::new(mantissas[i], *precision, *scale).map_or(Value::Null, Value::Decimal),
            Data::Bytes(BytesKind::VarChar, r) => Value::VarChar(r.get(i).to_vec()),
            Data::Bytes(BytesKind::Binary, r) => Value::Binary(r.get(i).to_vec()),
            Data::Wide(r) => Value::NVarChar(r.get(i).to_vec()),
            Data::Values(v) => v[i].clone(),
        }
    }

    /// Appends a cell.
    pub fn push(&mut self, value: Value) {
        if value.is_null() {
            return self.push_null();
        }
        match (&mut self.data, value) {
            (Data::Ints(kind, v), value) => match kind.number(&value) {
                Some(n) => v.push(n),
                None => return self.push_unlike(value),
            },
            (Data::Floats(v), Value::Float(f)) => v.push(f),
            (
                Data::Decimals {
                    precision,
                    scale,
                    mantissas,
                },
                Value::Decimal(d),
            ) if d.precision() == *precision && d.scale() == *scale => mantissas.push(d.mantissa()),
            (Data::Bytes(BytesKind::VarChar, r), Value::VarChar(b)) => r.push(&b),
            (Data::Bytes(BytesKind::Binary, r), Value::Binary(b)) => r.push(&b),
            (Data::Wide(r), Value::NVarChar(u)) => r.push(&u),
            (Data::Values(v), value) => v.push(value),
            (_, value) => return self.push_unlike(value),
        }
        if !self.nulls.is_empty() {
            self.nulls.push(false);
        }
    }

    pub fn push_null(&mut self) {
        if self.nulls.is_empty() {
            self.nulls.resize(self.len(), false);
        }
        match &mut self.data {
            Data::Absent => return,
            Data::Ints(_, v) => v.push(0),
            Data::Floats(v) => v.push(0.0),
            Data::Decimals { mantissas, .. } => mantissas.push(0),
            Data::Bytes(_, r) => r.push(&[]),
            Data::Wide(r) => r.push(&[]),
            Data::Values(v) => v.push(Value::Null),
        }
        self.nulls.push(true);
    }

    /// A value that the column's form has no place for: the column takes the form that has one for everything.
    #[cold]
    fn push_unlike(&mut self, value: Value) {
        self.loosen();
        self.push(value);
    }

    fn loosen(&mut self) {
        if !matches!(self.data, Data::Values(_)) {
            self.data = Data::Values((0..self.len()).map(|i| self.get(i)).collect());
        }
    }

    /// An empty column of the same form.
    pub fn like(&self) -> Column {
        Column::new(match &self.data {
            Data::Absent => Data::Absent,
            Data::Ints(kind, _) => Data::Ints(*kind, Vec::new()),
            Data::Floats(_) => Data::Floats(Vec::new()),
            Data::Decimals {
                precision, scale, ..
            } => Data::Decimals {
                precision: *precision,
                scale: *scale,
                mantissas: Vec::new(),
            },
            Data::Bytes(kind, _) => Data::Bytes(*kind, Runs::default()),
            Data::Wide(_) => Data::Wide(Runs::default()),
            Data::Values(_) => Data::Values(Vec::new()),
        })
    }

    /// Appends every cell of another column.
    pub fn append(&mut self, other: &Column) {
        if self.is_absent() {
            return;
        }
        let before = self.len();
        match (&mut self.data, &other.data) {
            (Data::Ints(k, v), Data::Ints(l, w)) if k == l => extend(v, w),
            (Data::Floats(v), Data::Floats(w)) => extend(v, w),
            (
                Data::Decimals {
                    precision,
                    scale,
                    mantissas,
                },
                Data::Decimals {
                    precision: p,
                    scale: s,
                    mantissas: m,
                },
            ) if precision == p && scale == s => extend(mantissas, m),
            (Data::Bytes(k, r), Data::Bytes(l, s)) if k == l => {
                let base = r.items.len();
                extend(&mut r.items, &s.items);
                make_room(&mut r.ends, s.ends.len());
                r.ends.extend(s.ends.iter().map(|e| base + e));
            }
            (Data::Wide(r), Data::Wide(s)) => {
                let base = r.items.len();
                extend(&mut r.items, &s.items);
                make_room(&mut r.ends, s.ends.len());
                r.ends.extend(s.ends.iter().map(|e| base + e));
            }
            (Data::Values(v), Data::Values(w)) => v.extend_from_slice(w),
            _ => {
                (0..other.len()).for_each(|i| self.push(other.get(i)));
                return;
            }
        }
        if !other.nulls.is_empty() {
            self.nulls.resize(before, false);
            self.nulls.extend_from_slice(&other.nulls);
        } else if !self.nulls.is_empty() {
            self.nulls.resize(self.len(), false);
        }
    }

    /// Appends one cell of another column.
    pub fn push_from(&mut self, other: &Column, i: usize) {
        if self.is_absent() {
            return;
        }
        if other.is_null(i) {
            return self.push_null();
        }
        match (&mut self.data, &other.data) {
            (Data::Ints(k, v), Data::Ints(l, w)) if k == l => v.push(w[i]),
            (Data::Floats(v), Data::Floats(w)) => v.push(w[i]),
            (Data::Bytes(k, r), Data::Bytes(l, s)) if k == l => r.push(s.get(i)),
            (Data::Wide(r), Data::Wide(s)) => r.push(s.get(i)),
            _ => return self.push(other.get(i)),
        }
        if !self.nulls.is_empty() {
            self.nulls.push(false);
        }
    }

    /// The cells `from..to`.
    pub fn slice(&self, from: usize, to: usize) -> Column {
        fn runs<T: Copy>(r: &Runs<T>, from: usize, to: usize) -> Runs<T> {
            let start = if from == 0 { 0 } else { r.ends[from - 1] };
            let end = if to == 0 { 0 } else { r.ends[to - 1] };
            Runs {
                ends: r.ends[from..to].iter().map(|e| e - start).collect(),
                items: r.items[start..end].to_vec(),
            }
        }
        let data = match &self.data {
            Data::Absent => return Column::absent(),
            Data::Ints(kind, v) => Data::Ints(*kind, v[from..to].to_vec()),
            Data::Floats(v) => Data::Floats(v[from..to].to_vec()),
            Data::Decimals {
                precision,
                scale,
                mantissas,
            } => Data::Decimals {
                precision: *precision,
                scale: *scale,
                mantissas: mantissas[from..to].to_vec(),
            },
            Data::Bytes(kind, r) => Data::Bytes(*kind, runs(r, from, to)),
            Data::Wide(r) => Data::Wide(runs(r, from, to)),
            Data::Values(v) => Data::Values(v[from..to].to_vec()),
        };
        let nulls = match self.nulls.is_empty() {
            true => Vec::new(),
            false => self.nulls[from..to].to_vec(),
        };
        Column { data, nulls }
    }

    /// The cells at `rows`, in that order; [`NO_ROW`] gives NULL.
    pub fn gather(&self, rows: &[u32]) -> Column {
        fn pick<T: Copy + Default>(v: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter()
                .map(|&i| v.get(i as usize).copied().unwrap_or_default())
                .collect()
        }
        fn runs<T: Copy + Default>(r: &Runs<T>, rows: &[u32]) -> Runs<T> {
            let mut out = Runs {
                ends: Vec::with_capacity(rows.len()),
                items: Vec::new(),
            };
            for &i in rows {
                out.push(if i == NO_ROW { &[] } else { r.get(i as usize) });
            }
            out
        }
        let data = match &self.data {
            Data::Absent => return Column::absent(),
            Data::Ints(kind, v) => Data::Ints(*kind, pick(v, rows)),
            Data::Floats(v) => Data::Floats(pick(v, rows)),
            Data::Decimals {
                precision,
                scale,
                mantissas,
            } => Data::Decimals {
                precision: *precision,
                scale: *scale,
                mantissas: pick(mantissas, rows),
            },
            Data::Bytes(kind, r) => Data::Bytes(*kind, runs(r, rows)),
            Data::Wide(r) => Data::Wide(runs(r, rows)),
            Data::Values(v) => {
                let cell = |i: &u32| v.get(*i as usize).cloned().unwrap_or_default();
                Data::Values(rows.iter().map(cell).collect())
            }
        };
        let nulls = if self.nulls.is_empty() {
            match rows.contains(&NO_ROW) {
                true => rows.iter().map(|i| *i == NO_ROW).collect(),
                false => Vec::new(),
            }
        } else {
            let null = |i: &u32| *i == NO_ROW || self.nulls[*i as usize];
            rows.iter().map(null).collect()
        };
        Column { data, nulls }
    }
}

/// In [`Column::gather`]: no row, a NULL.
pub const NO_ROW: u32 = u32::MAX;

/// Rows by column; see the module.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    rows: usize,
    columns: Vec<Arc<Column>>,
}

impl Batch {
    pub fn new(rows: usize, columns: Vec<Arc<Column>>) -> Batch {
        debug_assert!(columns.iter().all(|c| c.is_absent() || c.len() == rows));
        Batch { rows, columns }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> &[Arc<Column>] {
        &self.columns
    }

    pub fn into_columns(self) -> Vec<Arc<Column>> {
        self.columns
    }

    /// The values of a row.
    pub fn row(&self, i: usize) -> Vec<Value> {
        self.columns.iter().map(|c| c.get(i)).collect()
    }

    /// The values of a row, in the place of another's.
    pub fn row_into(&self, i: usize, row: &mut Vec<Value>) {
        row.clear();
        row.extend(self.columns.iter().map(|c| c.get(i)));
    }

    /// The rows at these places; [`NO_ROW`] gives a row of NULLs.
    pub fn gather(&self, rows: &[u32]) -> Batch {
        let columns = self.columns.iter().map(|c| Arc::new(c.gather(rows)));
        Batch {
            rows: rows.len(),
            columns: columns.collect(),
        }
    }

    /// The rows `from..to`.
    pub fn slice(&self, from: usize, to: usize) -> Batch {
        let columns = self.columns.iter().map(|c| Arc::new(c.slice(from, to)));
        Batch {
            rows: to - from,
            columns: columns.collect(),
        }
    }

    /// The columns that `kept` marks, the others absent.
    pub fn only(mut self, kept: &[bool]) -> Batch {
        let absent = Arc::new(Column::absent());
        for (column, kept) in self.columns.iter_mut().zip(kept) {
            if !kept {
                *column = absent.clone();
            }
        }
        self
    }

    pub fn heap_bytes(&self) -> usize {
        self.columns.iter().map(|c| c.heap_bytes()).sum()
    }
}

#[cfg(test)]
mod tests;
