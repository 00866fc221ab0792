//! Hashing of texts that clients choose: who does not know the seed cannot choose such that fall together.
//!
//! Two words at a time are multiplied, each mixed with a secret before: to make two texts collide is to know the secrets.
//! An eighth of the work of the standard library's hasher for a text of a hundred bytes, which a new batch pays for some
//! seven times.

use std::hash::{BuildHasher, Hasher};

/// Makes hashers of one map.
#[derive(Clone)]
pub struct SeededTexts {
    secrets: [u64; 3],
}

impl Default for SeededTexts {
    fn default() -> SeededTexts {
        SeededTexts {
            secrets: std::array::from_fn(|_| duramen_os::random::next_u64()),
        }
    }
}

impl BuildHasher for SeededTexts {
    type Hasher = TextHasher;

    fn build_hasher(&self) -> TextHasher {
        let [state, first, second] = self.secrets;
        TextHasher {
            state,
            first,
            second,
        }
    }
}

pub struct TextHasher {
    state: u64,
    first: u64,
    second: u64,
}

impl TextHasher {
    #[inline]
    fn pair(&mut self, a: u64, b: u64) {
        let wide = u128::from(a ^ self.first) * u128::from(b ^ self.second ^ self.state);
        // The state goes in once more: a factor of zero does not make it forget.
        self.state = (wide >> 64) as u64 ^ wide as u64 ^ self.state.rotate_left(23);
    }
}

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let (words, _) = pair.as_chunks::<8>();
            self.pair(u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]));
        }
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        let (words, _) = last.as_chunks::<8>();
        self.pair(
            u64::from_le_bytes(words[0]),
            // What is left is at most 15 bytes: the last one says how many.
            u64::from_le_bytes(words[1]) | (rest.len() as u64) << 56,
        );
    }

    /// What ends a text; the lengths are in it already.
    fn write_u8(&mut self, n: u8) {
        self.state ^= u64::from(n);
    }

    fn finish(&self) -> u64 {
        let wide = u128::from(self.state ^ self.first) * u128::from(self.second | 1);
        (wide >> 64) as u64 ^ wide as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Texts that differ in one number, in their length or in one byte: no two the same, and both ends of the hash, from which
    /// a map takes slot and tag, spread as chance would.
    #[test]
    fn near_texts_fall_apart() {
        let seeded = SeededTexts::default();
        let mut texts: Vec<String> = (0..20_000)
            .map(|i| format!("master\u{1}true\u{1}SELECT a, b FROM p WHERE id = {i} AND a > {i}"))
            .collect();
        texts.extend((0..500).map(|n| "\0".repeat(n)));
        texts.extend((0..64).map(|at| {
            let mut text = "x".repeat(64).into_bytes();
            text[at] = b'y';
            String::from_utf8(text).unwrap()
        }));
        let hashes: Vec<u64> = texts.iter().map(|t| seeded.hash_one(t)).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), texts.len());
        for part in [|h: u64| h & 0x3FF, |h: u64| h >> 54] {
            let mut counts = [0; 1024];
            hashes.iter().for_each(|h| counts[part(*h) as usize] += 1);
            let most = counts.iter().max().unwrap();
            assert!(*most < 60, "{most} of 20 in one of 1,024 places");
        }
        let other = SeededTexts::default();
        assert_ne!(other.hash_one("a"), seeded.hash_one("a"));
    }
}
