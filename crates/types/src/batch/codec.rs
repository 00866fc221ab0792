//! Columns as bytes, for rows that wait in a file of this process. No other program reads them and no later version:
//! the form is whatever is quick, and may change.

use super::{BytesKind, Column, Data, IntKind, Runs};
use crate::{CollationId, DateTimeOffset, Decimal, Spooled, SqlType, TypeId, Value};

/// Bytes that are not what was written: the file was changed under us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged;

mod tag {
    pub const ABSENT: u8 = 0;
    pub const FLOATS: u8 = 1;
    pub const DECIMALS: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const BINARY: u8 = 4;
    pub const WIDE: u8 = 5;
    pub const VALUES: u8 = 6;
    /// Plus the kind.
    pub const INTS: u8 = 16;
}

fn put_len(n: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(n as u32).to_le_bytes());
}

impl Column {
    /// Appends the column's bytes. Of spooled values those are elsewhere: they join `spooled`.
    pub fn write(&self, out: &mut Vec<u8>, spooled: &mut Vec<Spooled>) {
        match &self.data {
            Data::Absent => out.push(tag::ABSENT),
            Data::Ints(kind, _) => out.push(tag::INTS + *kind as u8),
            Data::Floats(_) => out.push(tag::FLOATS),
            Data::Decimals {
                precision, scale, ..
            } => out.extend_from_slice(&[tag::DECIMALS, *precision, *scale]),
            Data::Bytes(BytesKind::VarChar, _) => out.push(tag::TEXT),
            Data::Bytes(BytesKind::Binary, _) => out.push(tag::BINARY),
            Data::Wide(_) => out.push(tag::WIDE),
            Data::Values(_) => out.push(tag::VALUES),
        }
        put_len(self.len(), out);
        out.push(u8::from(!self.nulls.is_empty()));
        out.extend(self.nulls.iter().map(|n| u8::from(*n)));
        match &self.data {
            Data::Absent => {}
            Data::Ints(_, v) => v
                .iter()
                .for_each(|n| out.extend_from_slice(&n.to_le_bytes())),
            Data::Floats(v) => v
                .iter()
                .for_each(|n| out.extend_from_slice(&n.to_le_bytes())),
            Data::Decimals { mantissas, .. } => mantissas
                .iter()
                .for_each(|n| out.extend_from_slice(&n.to_le_bytes())),
            Data::Bytes(_, r) => {
                put_ends(&r.ends, out);
                out.extend_from_slice(&r.items);
            }
            Data::Wide(r) => {
                put_ends(&r.ends, out);
                r.items
                    .iter()
                    .for_each(|u| out.extend_from_slice(&u.to_le_bytes()));
            }
            Data::Values(v) => v.iter().for_each(|v| put_value(v, out, spooled)),
        }
    }

    /// Reads a column from the front of `bytes`, which moves on. `spooled` is what writing has made of it.
    pub fn read(bytes: &mut &[u8], spooled: &[Spooled]) -> Result<Column, Damaged> {
        let form = take_u8(bytes)?;
        let facets = match form {
            tag::DECIMALS => Some((take_u8(bytes)?, take_u8(bytes)?)),
            _ => None,
        };
        let n = take_len(bytes)?;
        let nulls = match take_u8(bytes)? {
            0 => Vec::new(),
            _ => take(bytes, n)?.iter().map(|b| *b != 0).collect(),
        };
        let data = match (form, facets) {
            (tag::ABSENT, _) => Data::Absent,
            (tag::FLOATS, _) => Data::Floats(numbers(bytes, n, f64::from_le_bytes)?),
            (tag::DECIMALS, Some((precision, scale))) => Data::Decimals {
                precision,
                scale,
                mantissas: numbers(bytes, n, i128::from_le_bytes)?,
            },
            (tag::TEXT | tag::BINARY, _) => {
                let ends = take_ends(bytes, n)?;
                let items = take(bytes, ends.last().copied().unwrap_or(0))?.to_vec();
                let kind = match form {
                    tag::TEXT => BytesKind::VarChar,
                    _ => BytesKind::Binary,
                };
                Data::Bytes(kind, Runs { ends, items })
            }
            (tag::WIDE, _) => {
                let ends = take_ends(bytes, n)?;
                let items = numbers(bytes, ends.last().copied().unwrap_or(0), u16::from_le_bytes)?;
                Data::Wide(Runs { ends, items })
            }
            (tag::VALUES, _) => {
                let mut values = Vec::new();
                for _ in 0..n {
                    values.push(take_value(bytes, spooled)?);
                }
                Data::Values(values)
            }
            (form, _) => {
                let kind = IntKind::ALL.get(usize::from(form.wrapping_sub(tag::INTS)));
                Data::Ints(
                    *kind.ok_or(Damaged)?,
                    numbers(bytes, n, i64::from_le_bytes)?,
                )
            }
        };
        Ok(Column { data, nulls })
    }
}

fn put_ends(ends: &[usize], out: &mut Vec<u8>) {
    ends.iter().for_each(|e| put_len(*e, out));
}

fn take_ends(bytes: &mut &[u8], n: usize) -> Result<Vec<usize>, Damaged> {
    let ends: Vec<usize> = numbers(bytes, n, |b| u32::from_le_bytes(b) as usize)?;
    match ends.is_sorted() {
        true => Ok(ends),
        false => Err(Damaged),
    }
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8], Damaged> {
    let (head, rest) = bytes.split_at_checked(n).ok_or(Damaged)?;
    *bytes = rest;
    Ok(head)
}

fn take_u8(bytes: &mut &[u8]) -> Result<u8, Damaged> {
    Ok(take(bytes, 1)?[0])
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Damaged> {
    take(bytes, N)?.try_into().map_err(|_| Damaged)
}

fn take_len(bytes: &mut &[u8]) -> Result<usize, Damaged> {
    Ok(u32::from_le_bytes(fixed(bytes)?) as usize)
}

fn numbers<const N: usize, T>(
    bytes: &mut &[u8],
    n: usize,
    of: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, Damaged> {
    let all = take(bytes, n.checked_mul(N).ok_or(Damaged)?)?;
    Ok(all.as_chunks::<N>().0.iter().map(|b| of(*b)).collect())
}

fn put_run(kind: u8, b: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    put_len(b.len(), out);
    out.extend_from_slice(b);
}

fn put_value(value: &Value, out: &mut Vec<u8>, spooled: &mut Vec<Spooled>) {
    let number = IntKind::of_value(value);
    if let Some((kind, n)) = number {
        out.push(tag::INTS + kind as u8);
        return out.extend_from_slice(&n.to_le_bytes());
    }
    match value {
        Value::Real(f) => {
            out.push(1);
            out.extend_from_slice(&f.to_le_bytes());
        }
        Value::Float(f) => {
            out.push(2);
            out.extend_from_slice(&f.to_le_bytes());
        }
        Value::Decimal(d) => {
            out.extend_from_slice(&[3, d.precision(), d.scale()]);
            out.extend_from_slice(&d.mantissa().to_le_bytes());
        }
        Value::DateTimeOffset(d) => {
            out.push(4);
            out.extend_from_slice(&d.days.to_le_bytes());
            out.extend_from_slice(&d.time.to_le_bytes());
            out.extend_from_slice(&d.offset.to_le_bytes());
        }
        Value::VarChar(b) => put_run(5, b, out),
        Value::Binary(b) => put_run(6, b, out),
        Value::NVarChar(u) => {
            let b: Vec<u8> = u.iter().flat_map(|u| u.to_le_bytes()).collect();
            put_run(7, &b, out);
        }
        Value::Guid(g) => {
            out.push(8);
            out.extend_from_slice(g);
        }
        Value::Variant(v) => {
            let ty = &v.0;
            out.extend_from_slice(&[9, ty.id.xtype(), ty.precision, ty.scale]);
            out.extend_from_slice(&ty.length.to_le_bytes());
            out.extend_from_slice(&ty.collation.0.to_le_bytes());
            put_value(&v.1, out, spooled);
        }
        Value::Spooled(s) => {
            out.push(10);
            put_len(spooled.len(), out);
            spooled.push(s.clone());
        }
        _ => out.push(0),
    }
}

fn take_value(bytes: &mut &[u8], spooled: &[Spooled]) -> Result<Value, Damaged> {
    let form = take_u8(bytes)?;
    Ok(match form {
        0 => Value::Null,
        1 => Value::Real(f32::from_le_bytes(fixed(bytes)?)),
        2 => Value::Float(f64::from_le_bytes(fixed(bytes)?)),
        3 => {
            let [precision, scale] = fixed(bytes)?;
            let m = i128::from_le_bytes(fixed(bytes)?);
            Value::Decimal(Decimal::new(m, precision, scale).ok_or(Damaged)?)
        }
        4 => Value::DateTimeOffset(DateTimeOffset {
            days: i32::from_le_bytes(fixed(bytes)?),
            time: u64::from_le_bytes(fixed(bytes)?),
            offset: i16::from_le_bytes(fixed(bytes)?),
        }),
        5..=7 => {
            let n = take_len(bytes)?;
            let run = take(bytes, n)?;
            match form {
                5 => Value::VarChar(run.to_vec()),
                6 => Value::Binary(run.to_vec()),
                _ => Value::NVarChar(numbers(&mut &*run, n / 2, u16::from_le_bytes)?),
            }
        }
        8 => Value::Guid(fixed(bytes)?),
        9 => {
            let [xtype, precision, scale] = fixed(bytes)?;
            let ty = SqlType {
                id: TypeId::from_xtype(xtype).ok_or(Damaged)?,
                precision,
                scale,
                length: u16::from_le_bytes(fixed(bytes)?),
                collation: CollationId(u32::from_le_bytes(fixed(bytes)?)),
            };
            Value::Variant(Box::new((ty, take_value(bytes, spooled)?)))
        }
        10 => Value::Spooled(spooled.get(take_len(bytes)?).ok_or(Damaged)?.clone()),
        form => {
            let kind = IntKind::ALL.get(usize::from(form.wrapping_sub(tag::INTS)));
            let n = i64::from_le_bytes(fixed(bytes)?);
            kind.ok_or(Damaged)?.value(n)
        }
    })
}
