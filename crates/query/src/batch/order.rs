//! The order of rows by some of their columns.
//!
//! Keys of whole numbers are packed, with the row's number behind them, into one 64- or 128-bit number as far as their
//! spread allows, and those are sorted: no comparison looks at a row. Other keys are compared cell by cell, as ORDER BY
//! means it (NULL first, collations decide). Rows that compare alike keep their order either way.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_columns::steps::{ordered_by_keys, sort_words};
use duramen_types::CollationId;
use duramen_types::batch::{BytesKind, Column, Data};
use duramen_types::collate::{compare_bytes, compare_units};

use crate::cx::Cx;
use crate::key::compare_nullable;

/// One column of a sort key.
#[derive(Clone)]
pub struct Key {
    pub column: Arc<Column>,
    pub collation: CollationId,
    pub descending: bool,
}

impl Key {
    /// How two cells stand to each other.
    pub fn compare(&self, a: usize, b: usize) -> Ordering {
        let o = compare_cells(&self.column, a, &self.column, b, self.collation);
        if self.descending { o.reverse() } else { o }
    }
}

/// NULL comes before everything else.
pub fn compare_cells(
    left: &Column,
    a: usize,
    right: &Column,
    b: usize,
    collation: CollationId,
) -> Ordering {
    match (left.is_null(a), right.is_null(b)) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    match (&left.data, &right.data) {
        (Data::Ints(k, x), Data::Ints(l, y)) if k == l => x[a].cmp(&y[b]),
        (Data::Floats(x), Data::Floats(y)) => x[a].partial_cmp(&y[b]).unwrap_or(Ordering::Equal),
        (
            Data::Decimals {
                scale: s,
                mantissas: x,
                ..
            },
            Data::Decimals {
                scale: t,
                mantissas: y,
                ..
            },
        ) if s == t => x[a].cmp(&y[b]),
        (Data::Bytes(BytesKind::VarChar, x), Data::Bytes(BytesKind::VarChar, y)) => {
            compare_bytes(x.get(a), y.get(b), collation)
        }
        (Data::Wide(x), Data::Wide(y)) => compare_units(x.get(a), y.get(b), collation),
        _ => compare_nullable(&left.get(a), &right.get(b), collation),
    }
}

/// How two rows stand to each other.
pub fn compare_rows(keys: &[Key], a: usize, b: usize) -> Ordering {
    keys.iter()
        .map(|k| k.compare(a, b))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The numbers of `n` rows in the order of `keys`.
pub fn order(keys: &[Key], n: usize, cx: &Cx<'_>) -> SqlResult<Vec<u32>> {
    match packed(keys, n, cx)? {
        Some(order) => Ok(order),
        None => {
            let bytes = keys.iter().map(|k| k.column.heap_bytes()).sum();
            ordered_by_keys(bytes, n, |a, b| compare_rows(keys, a, b), &|| {
                cx.check_cancelled()
            })
        }
    }
}

/// A number key: the values from the least one on, with room for NULL below.
struct Spread<'a> {
    column: &'a Column,
    values: &'a [i64],
    least: i64,
    /// One more than the greatest code, NULL's included.
    codes: u128,
    null: bool,
    descending: bool,
}

impl Spread<'_> {
    fn of(key: &Key) -> Option<Spread<'_>> {
        let Data::Ints(_, values) = &key.column.data else {
            return None;
        };
        let null = key.column.nulls().contains(&true);
        // The number under a NULL is 0 and only widens the spread.
        let least = values.iter().copied().min().unwrap_or(0);
        let greatest = values.iter().copied().max().unwrap_or(0);
        Some(Spread {
            column: &key.column,
            values,
            least,
            codes: (i128::from(greatest) - i128::from(least)) as u128 + 1 + u128::from(null),
            null,
            descending: key.descending,
        })
    }

    fn bits(&self) -> u32 {
        128 - (self.codes - 1).leading_zeros()
    }

    #[inline]
    fn code(&self, i: usize) -> u128 {
        let code = match self.null && self.column.is_null(i) {
            true => 0,
            false => self.values[i].wrapping_sub(self.least) as u64 as u128 + u128::from(self.null),
        };
        match self.descending {
            true => self.codes - 1 - code,
            false => code,
        }
    }
}

fn packed(keys: &[Key], n: usize, cx: &Cx<'_>) -> SqlResult<Option<Vec<u32>>> {
    let spreads: Option<Vec<Spread<'_>>> = keys.iter().map(Spread::of).collect();
    let Some(spreads) = spreads else {
        return Ok(None);
    };
    let bits: u32 = spreads.iter().map(Spread::bits).sum();
    let row_bits = 64 - (n as u64).leading_zeros();
    let all = bits + row_bits;
    if all > 128 {
        return Ok(None);
    }
    let word = |i: usize| {
        spreads.iter().fold(0u128, |w, s| w << s.bits() | s.code(i)) << row_bits | i as u128
    };
    let mask = (1u64 << row_bits) - 1;
    if all <= 64 {
        let mut words: Vec<u64> = (0..n).map(|i| word(i) as u64).collect();
        sort_words(&mut words, all, &|| cx.check_cancelled())?;
        return Ok(Some(words.into_iter().map(|w| (w & mask) as u32).collect()));
    }
    let mut words: Vec<u128> = (0..n).map(word).collect();
    sort_words(&mut words, all, &|| cx.check_cancelled())?;
    let rows = words.into_iter().map(|w| (w as u64 & mask) as u32);
    Ok(Some(rows.collect()))
}
