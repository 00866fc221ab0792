//! Hashing of keys: the same bytes give the same number in every run, so that a seed replays a run.

use std::hash::{BuildHasherDefault, Hasher};

/// Maps and sets that are walked in an order of their own are not: use them to look up only.
pub type Build = BuildHasherDefault<KeyHasher>;

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a word well enough for tables that take their slot from the high bits and their tag from the low ones.
#[inline]
pub fn mix(word: u64) -> u64 {
    let wide = (word ^ 0x2545_f491_4f6c_dd1d) as u128 * ODD as u128;
    (wide >> 64) as u64 ^ wide as u64
}

/// A hasher of words; see the module.
#[derive(Default)]
pub struct KeyHasher(u64);

impl KeyHasher {
    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = mix(self.0.rotate_left(23) ^ word);
    }
}

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for w in words {
            self.word(u64::from_le_bytes(*w));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.word(u64::from(n));
    }

    fn write_u16(&mut self, n: u16) {
        self.word(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.word(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.word(n);
    }

    fn write_i32(&mut self, n: i32) {
        self.word(n as u32 as u64);
    }

    fn write_i64(&mut self, n: i64) {
        self.word(n as u64);
    }

    fn write_i128(&mut self, n: i128) {
        self.word(n as u64);
        self.word((n >> 64) as u64);
    }
}
