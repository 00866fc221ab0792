//! LZ77 with Huffman codes, the Xpress variant of compressed backups (MS-XCA 2.2).
//!
//! A unit starts with 256 bytes: 512 code lengths of 4 bits. Symbols below 256 are literals; the others are a match:
//! low four bits of the length, high bits the number of offset bits. Bits come from 16-bit little-endian words, most
//! significant first; the long match lengths are whole bytes taken from the input in between.

pub mod encode;

use super::{FormatError, FormatResult};

const SYMBOLS: usize = 512;
const TABLE_BITS: u32 = 15;
/// Bytes of the code lengths at the start of a unit.
pub const LENGTHS_BYTES: usize = 256;

const BAD: FormatError = FormatError::Corrupt("compressed data");

/// Whether `b` starts with a complete prefix code: what tells a unit from other bytes.
pub fn is_complete_code(b: &[u8]) -> bool {
    let Some(lengths) = b.get(..LENGTHS_BYTES) else {
        return false;
    };
    let sum: u32 = lengths
        .iter()
        .flat_map(|b| [b & 15, b >> 4])
        .filter(|n| *n > 0)
        .map(|n| 1u32 << (TABLE_BITS - u32::from(n)))
        .sum();
    sum == 1 << TABLE_BITS
}

/// Decompresses one unit into exactly `size` bytes.
pub fn decompress(unit: &[u8], size: usize) -> FormatResult<Vec<u8>> {
    if !is_complete_code(unit) {
        return Err(BAD);
    }
    let table = decoding_table(&unit[..LENGTHS_BYTES]);
    let mut bits = Bits {
        b: unit,
        at: LENGTHS_BYTES,
        word: 0,
        extra: 16,
    };
    bits.word = u32::from(bits.u16()) << 16;
    bits.word |= u32::from(bits.u16());
    let mut out = Vec::with_capacity(size);
    while out.len() < size {
        let (symbol, length) = table[(bits.word >> (32 - TABLE_BITS)) as usize];
        bits.drop(u32::from(length));
        if symbol < 256 {
            out.push(symbol as u8);
            continue;
        }
        let match_length = bits.match_length(usize::from(symbol & 15))?;
        let offset_bits = u32::from((symbol - 256) >> 4);
        let offset = (1usize << offset_bits) + bits.take(offset_bits) as usize;
        let from = out.len().checked_sub(offset).ok_or(BAD)?;
        for i in 0..match_length.min(size - out.len()) {
            out.push(out[from + i]);
        }
    }
    Ok(out)
}

/// For every 15-bit prefix: symbol and code length. The code is complete, so every prefix has one.
fn decoding_table(lengths: &[u8]) -> Vec<(u16, u8)> {
    let length_of = |s: usize| lengths[s / 2] >> (4 * (s % 2)) & 15;
    let mut table = Vec::with_capacity(1 << TABLE_BITS);
    for length in 1..=15u8 {
        for symbol in (0..SYMBOLS).filter(|s| length_of(*s) == length) {
            let copies = 1usize << (TABLE_BITS - u32::from(length));
            table.extend(std::iter::repeat_n((symbol as u16, length), copies));
        }
    }
    table
}

struct Bits<'a> {
    b: &'a [u8],
    at: usize,
    word: u32,
    /// Valid bits below the top 16 of `word`.
    extra: i32,
}

impl Bits<'_> {
    /// The next word; zeros after the end (the last words are read ahead).
    fn u16(&mut self) -> u16 {
        let lo = self.b.get(self.at).copied().unwrap_or(0);
        let hi = self.b.get(self.at + 1).copied().unwrap_or(0);
        self.at += 2;
        u16::from_le_bytes([lo, hi])
    }

    fn drop(&mut self, n: u32) {
        self.word <<= n;
        self.extra -= n as i32;
        if self.extra < 0 {
            self.word |= u32::from(self.u16()) << -self.extra;
            self.extra += 16;
        }
    }

    fn take(&mut self, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        let v = self.word >> (32 - n);
        self.drop(n);
        v
    }

    fn match_length(&mut self, code: usize) -> FormatResult<usize> {
        if code < 15 {
            return Ok(code + 3);
        }
        let byte = *self.b.get(self.at).ok_or(BAD)?;
        self.at += 1;
        if byte < 255 {
            return Ok(usize::from(byte) + 15 + 3);
        }
        let wide = usize::from(self.u16());
        if wide < 15 {
            return Err(BAD);
        }
        Ok(wide + 3)
    }
}

#[cfg(test)]
mod tests;
