//! Cells straight from their stored bytes, without a value in between.

use duramen_base::SqlResult;

use super::{Column, Data, IntKind};
use crate::{SqlType, Value};

impl Column {
    /// Appends fixed-length cells as rows hold them, `None` for NULL. `ty` is the column's own.
    pub fn append_fixed<'a>(
        &mut self,
        ty: &SqlType,
        cells: impl Iterator<Item = SqlResult<Option<&'a [u8]>>>,
    ) -> SqlResult<()> {
        match &mut self.data {
            Data::Ints(IntKind::Int | IntKind::SmallMoney, v) => {
                numbers(ty, v, &mut self.nulls, cells, |b| {
                    b.first_chunk().map(|b| i64::from(i32::from_le_bytes(*b)))
                })
            }
            Data::Ints(IntKind::BigInt | IntKind::Money, v) => {
                numbers(ty, v, &mut self.nulls, cells, |b| {
                    b.first_chunk().map(|b| i64::from_le_bytes(*b))
                })
            }
            Data::Ints(IntKind::SmallInt, v) => numbers(ty, v, &mut self.nulls, cells, |b| {
                b.first_chunk().map(|b| i64::from(i16::from_le_bytes(*b)))
            }),
            Data::Ints(IntKind::TinyInt, v) => numbers(ty, v, &mut self.nulls, cells, |b| {
                b.first().map(|b| i64::from(*b))
            }),
            Data::Ints(IntKind::DateTime, v) => {
                numbers(ty, v, &mut self.nulls, cells, stored_datetime)
            }
            Data::Bytes(_, runs) if !ty.is_variable() && self.nulls.is_empty() => {
                let width = usize::from(ty.length);
                let mut cells = cells;
                for cell in cells.by_ref() {
                    match cell? {
                        Some(b) if b.len() == width => runs.push(b),
                        other => {
                            self.push_stored(ty, other)?;
                            break;
                        }
                    }
                }
                for cell in cells {
                    self.push_stored(ty, cell?)?;
                }
                Ok(())
            }
            _ => {
                for cell in cells {
                    self.push_stored(ty, cell?)?;
                }
                Ok(())
            }
        }
    }

    /// Appends one cell as a row holds it, `None` for NULL.
    pub fn push_stored(&mut self, ty: &SqlType, cell: Option<&[u8]>) -> SqlResult<()> {
        let Some(b) = cell else {
            self.push_null();
            return Ok(());
        };
        if let Data::Bytes(_, runs) = &mut self.data {
            // A cell that is cut short must be refused, not kept: only its own length is known to be right.
            if ty.is_variable() || b.len() == usize::from(ty.length) {
                runs.push(b);
                if !self.nulls.is_empty() {
                    self.nulls.push(false);
                }
                return Ok(());
            }
        }
        if let Data::Wide(runs) = &mut self.data
            && let (pairs, []) = b.as_chunks::<2>()
            && (ty.is_variable() || b.len() == usize::from(ty.length))
        {
            runs.items
                .extend(pairs.iter().map(|u| u16::from_le_bytes(*u)));
            runs.ends.push(runs.items.len());
            if !self.nulls.is_empty() {
                self.nulls.push(false);
            }
            return Ok(());
        }
        self.push(Value::decode_var(ty, b)?);
        Ok(())
    }
}

/// Numbers of one width; a cell that is too short goes the way of every other value, to the same error.
fn numbers<'a>(
    ty: &SqlType,
    out: &mut Vec<i64>,
    nulls: &mut Vec<bool>,
    cells: impl Iterator<Item = SqlResult<Option<&'a [u8]>>>,
    read: impl Fn(&[u8]) -> Option<i64>,
) -> SqlResult<()> {
    out.reserve(cells.size_hint().0);
    for cell in cells {
        match cell? {
            Some(b) => {
                let n = match read(b) {
                    Some(n) => n,
                    None => {
                        Value::decode_fixed(ty, b)?;
                        0
                    }
                };
                out.push(n);
                if !nulls.is_empty() {
                    nulls.push(false);
                }
            }
            None => {
                if nulls.is_empty() {
                    nulls.resize(out.len(), false);
                }
                out.push(0);
                nulls.push(true);
            }
        }
    }
    Ok(())
}

/// The number that stands for a datetime, whose two halves a row holds in the same order; `None` for what is none.
fn stored_datetime(b: &[u8]) -> Option<i64> {
    let n = i64::from_le_bytes(*b.first_chunk()?);
    crate::temporal::is_datetime((n >> 32) as i32, n as u32).then_some(n)
}
