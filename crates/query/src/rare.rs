//! A map that most statements leave empty. Making and dropping one costs nothing then: loops make many.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Rare<K, V>(Option<BTreeMap<K, V>>);

impl<K, V> Default for Rare<K, V> {
    #[inline]
    fn default() -> Rare<K, V> {
        Rare(None)
    }
}

impl<K: Ord, V> Rare<K, V> {
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.as_ref()?.get(key)
    }

    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.get_or_insert_default().insert(key, value)
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.0.as_mut()?.remove(key)
    }

    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(BTreeMap::is_empty)
    }

    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<K, V> From<BTreeMap<K, V>> for Rare<K, V> {
    fn from(map: BTreeMap<K, V>) -> Rare<K, V> {
        Rare((!map.is_empty()).then_some(map))
    }
}
