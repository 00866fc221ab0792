//! The order of rows that are kept by column: which of two comes first, and all of them sorted.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_types::Value;
use duramen_types::batch::{Column, Data, IntKind};

use crate::btree::keys::KeyInfo;
use crate::rowset::Rowset;

/// The key columns of rows.
pub(super) struct KeyColumns<'r> {
    keys: &'r KeyInfo,
    columns: Vec<KeyColumn<'r>>,
}

struct KeyColumn<'r> {
    column: Option<&'r Column>,
    /// Its numbers, when it has nothing else.
    numbers: Option<(IntKind, &'r [i64])>,
    desc: bool,
}

impl<'r> KeyColumns<'r> {
    pub fn new(rowset: &'r Rowset, columns: &'r [Arc<Column>]) -> KeyColumns<'r> {
        let keys = &*rowset.keys;
        let one = |(at, desc): &(usize, bool)| {
            let column = columns.get(*at).map(|c| &**c);
            let numbers = column.filter(|c| c.nulls().is_empty());
            KeyColumn {
                column,
                numbers: numbers.and_then(|c| match &c.data {
                    Data::Ints(kind, v) => Some((*kind, v.as_slice())),
                    _ => None,
                }),
                desc: *desc,
            }
        };
        KeyColumns {
            keys,
            columns: keys.columns.iter().map(one).collect(),
        }
    }

    /// The values of a row's key.
    pub fn values(&self, row: usize) -> Vec<Value> {
        let columns = self.columns.iter();
        columns
            .map(|c| c.column.map_or(Value::Null, |c| c.get(row)))
            .collect()
    }

    /// How the keys of two rows stand.
    pub fn cmp(&self, a: usize, b: usize) -> Ordering {
        for (k, c) in self.columns.iter().enumerate() {
            let ord = match (&c.numbers, c.column) {
                (Some((_, v)), _) => v[a].cmp(&v[b]),
                (None, Some(column)) => self.keys.cmp_part(k, &column.get(a), &column.get(b)),
                _ => Ordering::Equal,
            };
            if ord != Ordering::Equal {
                return if c.desc { ord.reverse() } else { ord };
            }
        }
        Ordering::Equal
    }

    /// How the key of a row stands to another key.
    pub fn cmp_key(&self, row: usize, key: &[Value]) -> Ordering {
        for (k, (c, other)) in self.columns.iter().zip(key).enumerate() {
            let number = |kind: IntKind| kind.number(other);
            let ord = match (&c.numbers, c.column) {
                (Some((kind, v)), Some(column)) => match number(*kind) {
                    Some(n) => v[row].cmp(&n),
                    None => self.keys.cmp_part(k, &column.get(row), other),
                },
                (None, Some(column)) => self.keys.cmp_part(k, &column.get(row), other),
                _ => Ordering::Equal,
            };
            if ord != Ordering::Equal {
                return if c.desc { ord.reverse() } else { ord };
            }
        }
        Ordering::Equal
    }

    /// One number for each row's key that stands as the keys stand, with the row's own number in its low bits; how
    /// many bits these are. `None` when 64 do not suffice.
    fn packed(&self, rows: usize) -> Option<(Vec<u64>, u32)> {
        let row_bits = usize::BITS - rows.leading_zeros();
        // The row's number takes at least one, so that no shift is one of 64.
        let mut bits = row_bits;
        let mut parts = Vec::with_capacity(self.columns.len());
        for c in &self.columns {
            let (_, v) = c.numbers.as_ref()?;
            let v = v.get(..rows)?;
            let (low, high) = (*v.iter().min()?, *v.iter().max()?);
            let range = high.wrapping_sub(low) as u64;
            let width = u64::BITS - range.leading_zeros();
            bits += width;
            parts.push((v, low, high, width, c.desc));
        }
        if bits > u64::BITS {
            return None;
        }
        let mut packed = vec![0u64; rows];
        for (v, low, high, width, desc) in parts {
            for (place, n) in packed.iter_mut().zip(v) {
                let n = match desc {
                    true => high.wrapping_sub(*n),
                    false => n.wrapping_sub(low),
                };
                *place = *place << width | n as u64;
            }
        }
        for (i, place) in packed.iter_mut().enumerate() {
            *place = *place << row_bits | i as u64;
        }
        Some((packed, row_bits))
    }
}

impl Rowset {
    /// The rows that `columns` hold, in the order of this B-tree; equal ones as they came.
    pub fn order_of(&self, columns: &[Arc<Column>], rows: usize) -> Vec<u32> {
        let keys = KeyColumns::new(self, columns);
        if let Some((mut packed, bits)) = keys.packed(rows) {
            packed.sort_unstable();
            let mask = (1u64 << bits) - 1;
            return packed.into_iter().map(|n| (n & mask) as u32).collect();
        }
        let mut order: Vec<u32> = (0..rows as u32).collect();
        order.sort_by(|a, b| keys.cmp(*a as usize, *b as usize));
        order
    }
}
