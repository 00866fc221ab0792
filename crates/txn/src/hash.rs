//! Maps whose hasher has no random seed: the same run gives the same order everywhere.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Multiply-and-fold over words. Not for keys an enemy can choose freely.
#[derive(Default, Clone, Copy)]
pub struct FixedHasher(u64);

const K: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for FixedHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let h = (self.0 ^ word).wrapping_mul(K);
        self.0 = h ^ (h >> 32);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 56));
        }
    }
}

pub type FixedHashMap<K, V> = HashMap<K, V, BuildHasherDefault<FixedHasher>>;
