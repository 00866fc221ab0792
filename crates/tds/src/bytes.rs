//! Little-endian cursors over byte slices, every length checked.

use std::fmt;

/// Why bytes could not be read as what they claim to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TdsError {
    /// The bytes end before the value does. A stream reader waits for more; a message reader refuses.
    Truncated,
    /// The bytes break the protocol; the text says where.
    Malformed(&'static str),
    /// All the bytes of a value are there, and it is none of its type; the text names what.
    Invalid(&'static str),
    /// More than the limit for this kind of message.
    TooLarge(&'static str),
    /// More parameters than a call may have.
    TooManyParameters,
    /// A value of more bytes than any may have.
    TooLong,
    /// Legal, but not offered here; the text names it.
    Unsupported(&'static str),
}

impl fmt::Display for TdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TdsError::Truncated => f.write_str("the TDS stream ends inside a value"),
            TdsError::Malformed(what) => write!(f, "malformed TDS stream: {what}"),
            TdsError::Invalid(what) => write!(f, "invalid value: {what}"),
            TdsError::TooLarge(what) => write!(f, "too large: {what}"),
            TdsError::TooManyParameters => write!(f, "too large: RPC parameters"),
            TdsError::TooLong => write!(f, "too large: value"),
            TdsError::Unsupported(what) => write!(f, "not supported: {what}"),
        }
    }
}

impl std::error::Error for TdsError {}

pub type TdsResult<T> = Result<T, TdsError>;

/// A forward cursor. Cheap to copy, so that a parser can try and start over.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8]) -> Reader<'a> {
        Reader { data, at: 0 }
    }

    /// Bytes consumed so far.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The next byte, not consumed.
    pub fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    pub fn take(&mut self, len: usize) -> TdsResult<&'a [u8]> {
        if len > self.remaining() {
            return Err(TdsError::Truncated);
        }
        let bytes = &self.data[self.at..self.at + len];
        self.at += len;
        Ok(bytes)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        let bytes = &self.data[self.at..];
        self.at = self.data.len();
        bytes
    }

    pub fn array<const N: usize>(&mut self) -> TdsResult<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub fn u8(&mut self) -> TdsResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> TdsResult<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u16_be(&mut self) -> TdsResult<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> TdsResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> TdsResult<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> TdsResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// `units` UTF-16 code units, unpaired surrogates kept.
    pub fn units(&mut self, units: usize) -> TdsResult<Vec<u16>> {
        Ok(to_units(self.take(units * 2)?))
    }

    pub fn utf16(&mut self, units: usize) -> TdsResult<String> {
        Ok(duramen_base::utf16::text(&self.units(units)?))
    }

    pub fn b_varchar(&mut self) -> TdsResult<String> {
        let units = self.u8()? as usize;
        self.utf16(units)
    }

    pub fn us_varchar(&mut self) -> TdsResult<String> {
        let units = self.u16()? as usize;
        self.utf16(units)
    }

    pub fn b_varbyte(&mut self) -> TdsResult<&'a [u8]> {
        let len = self.u8()? as usize;
        self.take(len)
    }
}

/// UTF-16LE bytes as code units; an odd last byte is dropped.
pub fn to_units(bytes: &[u8]) -> Vec<u16> {
    bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

pub fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_units(out: &mut Vec<u8>, units: &[u16]) {
    out.reserve(units.len() * 2);
    for unit in units {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

pub fn put_utf16(out: &mut Vec<u8>, text: &str) {
    out.reserve(2 * text.len());
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// At most `max` code units of `text`, never half a surrogate pair.
fn clipped_units(text: &str, max: usize) -> Vec<u16> {
    let mut units: Vec<u16> = text.encode_utf16().take(max + 1).collect();
    if units.len() > max {
        units.truncate(max);
        if units
            .last()
            .is_some_and(|unit| (0xD800..0xDC00).contains(unit))
        {
            units.pop();
        }
    }
    units
}

/// A string with a one-byte count; what does not fit is cut.
pub fn put_b_varchar(out: &mut Vec<u8>, text: &str) {
    let units = clipped_units(text, 255);
    out.push(units.len() as u8);
    put_units(out, &units);
}

/// A string with a two-byte count, cut at `max` units.
pub fn put_us_varchar(out: &mut Vec<u8>, text: &str, max: usize) {
    let units = clipped_units(text, max.min(65_535));
    put_u16(out, units.len() as u16);
    put_units(out, &units);
}
