//! Hashing of keys: the same bytes give the same number in every run, so that a seed replays a run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

/// Maps and sets that are walked in an order of their own are not: use them to look up only.
pub type Build = BuildHasherDefault<KeyHasher>;

/// Entries of a [`SplitMap`] from which on it has parts, and how many those are.
const WHOLE: usize = 1 << 16;
const PARTS: usize = 64;

/// A map that grows in steps which all take little time, however much it holds: whoever has given up is not kept waiting
/// while a hundred million entries find new places. From [`WHOLE`] entries on it is [`PARTS`] maps, each of which grows when
/// it is its turn.
#[derive(Clone)]
pub enum SplitMap<K, V> {
    Whole(HashMap<K, V, Build>),
    Parts(Vec<HashMap<K, V, Build>>),
}

impl<K, V> Default for SplitMap<K, V> {
    fn default() -> SplitMap<K, V> {
        SplitMap::Whole(HashMap::default())
    }
}

/// By bits that the maps themselves do not begin with.
fn part_of<K: Hash>(key: &K) -> usize {
    (Build::default().hash_one(key) >> 40) as usize % PARTS
}

impl<K: Eq + Hash, V> SplitMap<K, V> {
    fn part(&self, key: &K) -> &HashMap<K, V, Build> {
        match self {
            SplitMap::Whole(map) => map,
            SplitMap::Parts(parts) => &parts[part_of(key)],
        }
    }

    /// The map that `key` is in or belongs in.
    fn part_mut(&mut self, key: &K) -> &mut HashMap<K, V, Build> {
        if let SplitMap::Whole(map) = self
            && map.len() >= WHOLE
        {
            let mut parts: Vec<HashMap<K, V, Build>> = Vec::new();
            parts.resize_with(PARTS, HashMap::default);
            for (k, v) in std::mem::take(map) {
                parts[part_of(&k)].insert(k, v);
            }
            *self = SplitMap::Parts(parts);
        }
        match self {
            SplitMap::Whole(map) => map,
            SplitMap::Parts(parts) => &mut parts[part_of(key)],
        }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.part(key).get(key)
    }

    /// What was there under the key.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.part_mut(&key).insert(key, value)
    }

    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        self.part_mut(&key).entry(key)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.part_mut(key).remove(key)
    }

    pub fn entries(&self) -> usize {
        match self {
            SplitMap::Whole(map) => map.len(),
            SplitMap::Parts(parts) => parts.iter().map(HashMap::len).sum(),
        }
    }
}

impl<K, V> IntoIterator for SplitMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<HashMap<K, V, Build>>>;

    fn into_iter(self) -> Self::IntoIter {
        let parts = match self {
            SplitMap::Whole(map) => vec![map],
            SplitMap::Parts(parts) => parts,
        };
        parts.into_iter().flatten()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_in_parts_is_one_map() {
        let mut map = SplitMap::default();
        for n in 0..3 * WHOLE {
            assert_eq!(map.insert(n, n), None);
            assert_eq!(map.insert(n / 2, n / 2), Some(n / 2));
            assert_eq!(map.entries(), n + 1);
        }
        assert!(matches!(map, SplitMap::Parts(_)));
        for n in 0..3 * WHOLE {
            assert_eq!(map.get(&n), Some(&n));
            if n % 3 == 0 {
                assert_eq!(map.remove(&n), Some(n));
                assert_eq!(map.get(&n), None);
            }
        }
        *map.entry(1).or_default() += 5;
        let mut all: Vec<(usize, usize)> = map.into_iter().collect();
        all.sort_unstable();
        assert_eq!(all.len(), 2 * WHOLE);
        assert_eq!(all[..2], [(1, 6), (2, 2)]);
    }
}
