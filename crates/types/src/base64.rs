//! Bytes as text by RFC 4648, in either alphabet.

use duramen_base::{SqlError, SqlResult, messages};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The same for addresses: RFC 4648, table 2.
const URL_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes as text; for addresses without padding.
pub fn encode(bytes: &[u8], for_addresses: bool, out: &mut Vec<u8>) {
    let alphabet = if for_addresses {
        URL_ALPHABET
    } else {
        ALPHABET
    };
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            match n <= three.len() {
                true => out.push(alphabet[(bits >> (18 - 6 * n) & 63) as usize]),
                false if for_addresses => {}
                false => out.push(b'='),
            }
        }
    }
}

/// Text on its way to bytes, piece after piece.
#[derive(Default)]
pub struct Decoder {
    /// Bits that make no byte yet, and how many they are.
    bits: u32,
    count: u32,
    /// Characters that carry bits.
    letters: u64,
    padding: u32,
}

/// 9803; the states are those of the documentation.
fn invalid(state: u8) -> SqlError {
    SqlError::new(&messages::INVALID_DATA_FOR_TYPE, &[&"Base64Decode"]).with_state(state)
}

impl Decoder {
    /// Blanks are passed over. Padding may be left out, and nothing but more of it, two at most, may follow it.
    pub fn take(&mut self, units: &[u16], out: &mut Vec<u8>) -> SqlResult<()> {
        for unit in units {
            let letter = u8::try_from(*unit).map_err(|_| invalid(20))?;
            let letter = match letter {
                b' ' | b'\t' | b'\r' | b'\n' => continue,
                b'=' => {
                    self.padding += 1;
                    match self.padding > 2 {
                        true => return Err(invalid(23)),
                        false => continue,
                    }
                }
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            };
            let six = ALPHABET.iter().position(|a| *a == letter);
            let six = six.ok_or_else(|| invalid(20))? as u32;
            if self.padding > 0 {
                return Err(invalid(23));
            }
            self.letters += 1;
            self.bits = self.bits << 6 | six;
            self.count += 6;
            if self.count >= 8 {
                self.count -= 8;
                out.push((self.bits >> self.count) as u8);
                self.bits &= (1 << self.count) - 1;
            }
        }
        Ok(())
    }

    /// A last character by itself is the half of nothing.
    pub fn end(&self) -> SqlResult<()> {
        match self.letters % 4 == 1 {
            true => Err(invalid(21)),
            false => Ok(()),
        }
    }
}
