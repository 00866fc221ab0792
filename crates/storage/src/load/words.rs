//! Keys as numbers: what a row's key says, as far as one number has room for it, with the row's number in the low bits.
//!
//! A column of numbers takes as many bits as lie between its least and its greatest one, and a code more for NULL, which is
//! below all. Binary cells of eight bytes (RIDs) are numbers, too. Of a string whose collation weighs byte by byte there
//! are the first bytes' weights. The first column that is not told in full is the last that is told.

use std::ops::Range;

use duramen_types::CollationId;
use duramen_types::batch::{BytesKind, Column, Data};
use duramen_types::collate::prefix;

use super::order::{KeyColumn, KeyColumns};

/// Rows whose words are made together.
const TOGETHER: usize = 512;
/// Bits of a word, at most.
const MOST: u32 = u128::BITS;

/// A word that is sorted: 64 bits where they suffice.
pub(super) trait Word: Copy + Ord + Send + Default + 'static {
    fn of(word: u128) -> Self;
    fn wide(self) -> u128;
}

impl Word for u64 {
    fn of(word: u128) -> u64 {
        word as u64
    }
    fn wide(self) -> u128 {
        self.into()
    }
}

impl Word for u128 {
    fn of(word: u128) -> u128 {
        word
    }
    fn wide(self) -> u128 {
        self
    }
}

/// How the words of some rows are made.
pub(super) struct Words {
    parts: Vec<Part>,
    row_bits: u32,
    all: bool,
}

/// What one column gives to a word.
struct Part {
    bits: u32,
    code: Code,
    collation: CollationId,
    desc: bool,
}

enum Code {
    /// The number itself, from the least one on; one more where NULL has 0.
    Number { least: i128, nulls: bool },
    /// Weights of a string's first bytes.
    Prefix,
}

/// The number of a cell that is not NULL, where it has one.
#[inline]
fn number(column: &Column, i: usize) -> Option<i128> {
    Some(match &column.data {
        Data::Ints(_, v) => v[i].into(),
        Data::Decimals { mantissas, .. } => mantissas[i],
        Data::Floats(v) => ordered(v[i]).into(),
        Data::Bytes(BytesKind::Binary, r) => u64::from_be_bytes(r.get(i).try_into().ok()?).into(),
        _ => return None,
    })
}

/// A float as a number that stands among numbers as it stands among floats.
fn ordered(f: f64) -> i64 {
    // 0.0 and -0.0 are one.
    let bits = (f + 0.0).to_bits() as i64;
    match bits < 0 {
        true => !(bits & i64::MAX),
        false => bits,
    }
}

/// The least and the greatest number of a column; `None` where a cell has none.
fn spread(column: &Column, rows: usize) -> Option<(i128, i128)> {
    if let Data::Ints(_, v) = &column.data {
        // What stands under a NULL is a zero, and only widens the spread.
        let v = v.get(..rows)?;
        let (low, high) = (v.iter().min()?, v.iter().max()?);
        return Some(((*low).into(), (*high).into()));
    }
    let mut found: Option<(i128, i128)> = None;
    for i in (0..rows).filter(|i| !column.is_null(*i)) {
        let n = number(column, i)?;
        found = Some(found.map_or((n, n), |(low, high)| (low.min(n), high.max(n))));
    }
    Some(found.unwrap_or_default())
}

impl Part {
    fn of(c: &KeyColumn<'_>, rows: usize, room: u32) -> Option<Part> {
        let column = c.column.filter(|c| !c.is_absent())?;
        let part = |bits, code| Part {
            bits,
            code,
            collation: c.collation,
            desc: c.desc,
        };
        if let Data::Bytes(BytesKind::VarChar, r) = &column.data {
            let known = rows == 0 || prefix(r.get(0), c.collation).is_some();
            return (known && column.nulls().is_empty() && room >= u64::BITS)
                .then(|| part(u64::BITS, Code::Prefix));
        }
        let (least, most) = spread(column, rows)?;
        let nulls = !column.nulls().is_empty();
        let top = (most.checked_sub(least)? as u128).checked_add(u128::from(nulls))?;
        let bits = u128::BITS - top.leading_zeros();
        (bits <= room).then(|| part(bits, Code::Number { least, nulls }))
    }

    fn says_all(&self) -> bool {
        matches!(self.code, Code::Number { .. })
    }

    #[inline]
    fn code(&self, column: &Column, i: usize) -> u128 {
        let code = match (&self.code, &column.data) {
            (Code::Number { nulls: true, .. }, _) if column.is_null(i) => 0,
            (Code::Number { least, nulls }, _) => {
                let n = number(column, i).unwrap_or(*least);
                (n - least) as u128 + u128::from(*nulls)
            }
            (Code::Prefix, Data::Bytes(_, r)) => {
                prefix(r.get(i), self.collation).unwrap_or_default().into()
            }
            _ => 0,
        };
        match (self.desc, self.bits) {
            (false, _) | (_, 0) => code,
            (true, bits) => (u128::MAX >> (u128::BITS - bits)) - code,
        }
    }
}

impl Words {
    pub fn of(keys: &KeyColumns<'_>, rows: usize) -> Words {
        let row_bits = usize::BITS - rows.leading_zeros();
        let mut words = Words {
            parts: Vec::with_capacity(keys.columns.len()),
            row_bits,
            all: true,
        };
        for c in &keys.columns {
            match Part::of(c, rows, MOST - words.bits()) {
                Some(part) => {
                    words.all = part.says_all();
                    words.parts.push(part);
                }
                None => words.all = false,
            }
            if !words.all {
                break;
            }
        }
        words
    }

    pub fn bits(&self) -> u32 {
        self.row_bits + self.parts.iter().map(|p| p.bits).sum::<u32>()
    }

    /// Whether two rows whose words say the same have the same key.
    pub fn says_all(&self) -> bool {
        self.all
    }

    /// The words of some rows. Wide ones are made for a few rows at a time, which stay in the processor's cache.
    pub fn make<W: Word>(&self, keys: &KeyColumns<'_>, rows: Range<usize>) -> Vec<W> {
        let mut words = Vec::with_capacity(rows.len());
        for from in rows.clone().step_by(TOGETHER) {
            let some = from..(from + TOGETHER).min(rows.end);
            let mut wide = [0_u128; TOGETHER];
            for (part, c) in self.parts.iter().zip(&keys.columns) {
                let Some(column) = c.column.filter(|_| part.bits > 0) else {
                    continue;
                };
                for (word, i) in wide.iter_mut().zip(some.clone()) {
                    // A part of 128 bits is the only one.
                    *word = word.checked_shl(part.bits).unwrap_or_default() | part.code(column, i);
                }
            }
            words.extend(wide.iter().zip(some).map(|(word, i)| {
                W::of(word.checked_shl(self.row_bits).unwrap_or_default() | i as u128)
            }));
        }
        words
    }

    /// The row's number.
    pub fn row<W: Word>(&self, word: W) -> u32 {
        (word.wide() & ((1u128 << self.row_bits) - 1)) as u32
    }

    /// What the word says of the key.
    pub fn key<W: Word>(&self, word: W) -> u128 {
        word.wide() >> self.row_bits
    }
}
