//! Lists of things with names, such as the variables of a text: found by name without a walk where they are many, because
//! whoever names each of them would walk over all the others.

use std::collections::BTreeMap;
use std::ops::Deref;

use duramen_catalog::{fold, same_name};

/// Something with a name, compared without case as all names are.
pub trait HasName {
    fn name(&self) -> &str;
}

impl HasName for &str {
    fn name(&self) -> &str {
        self
    }
}

impl HasName for String {
    fn name(&self) -> &str {
        self
    }
}

/// A list that only grows. Of several things of one name the first is found.
#[derive(Clone, Debug)]
pub struct Named<T> {
    items: Vec<T>,
    /// Where the first of each name is, once there are more than a few; folded.
    places: BTreeMap<String, usize>,
}

/// A walk over fewer takes no longer than folding a name.
const FEW: usize = 16;

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named::new()
    }
}

impl<T> Named<T> {
    pub const fn new() -> Named<T> {
        Named {
            items: Vec::new(),
            places: BTreeMap::new(),
        }
    }
}

impl<T: HasName> Named<T> {
    pub fn push(&mut self, item: T) {
        self.items.push(item);
        if self.items.len() > FEW {
            let from = match self.places.is_empty() {
                true => 0,
                false => self.items.len() - 1,
            };
            for (at, item) in self.items.iter().enumerate().skip(from) {
                self.places.entry(fold(item.name())).or_insert(at);
            }
        }
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        match self.items.len() > FEW {
            true => self.places.get(&fold(name)).copied(),
            false => self.items.iter().position(|i| same_name(i.name(), name)),
        }
    }
}

impl<T: HasName> FromIterator<T> for Named<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Named<T> {
        let mut named = Named::new();
        items.into_iter().for_each(|i| named.push(i));
        named
    }
}

impl<T> Deref for Named<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_name_is_found_however_many_there_are() {
        let mut named = Named::new();
        for i in 0..3 * FEW {
            named.push(format!("@V{i}"));
            named.push(format!("@v{}", i / 2));
            for (at, name) in named.iter().enumerate() {
                let first = named.iter().position(|n| same_name(n, name));
                assert_eq!(named.find(&name.to_lowercase()), first, "{at} of {i}");
            }
            assert_eq!(named.find("@w"), None);
        }
    }
}
