//! What is remembered of pages until all of them have been seen: how they hang together is judged then.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, PageId};
use duramen_types::Value;

use super::catalog::Counted;
use super::finding::Finding;

/// A page and a slot.
pub(super) type Rid = (PageId, u16);

/// A page of a tree.
#[derive(Debug)]
pub(super) struct TreePage {
    pub id: PageId,
    pub level: u8,
    pub prev: PageId,
    pub next: PageId,
    /// The least and the greatest key, where keys could be read; of inner pages the first key stands for nothing.
    pub low: Option<Vec<Value>>,
    pub high: Option<Vec<Value>>,
    /// Slot, page and key.
    pub children: Vec<(u16, PageId, Option<Vec<Value>>)>,
}

/// A pointer to a piece of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Reference {
    pub to: Rid,
    pub from: Rid,
    /// The half of the value's id that rows know, or the whole, of which only that half counts.
    pub blob: u32,
    /// From a row, not from a node.
    pub from_row: bool,
}

/// How many entries, and what they come to whatever their order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Sum {
    pub count: u64,
    pub sum: u64,
    pub xor: u64,
}

impl Sum {
    pub fn add(&mut self, hash: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash);
        self.xor ^= hash.rotate_left((hash & 63) as u32);
    }

    pub fn merge(&mut self, other: Sum) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.xor ^= other.xor;
    }
}

/// What was seen of an allocation unit.
#[derive(Debug, Default)]
pub(super) struct UnitFacts {
    pub counted: Counted,
    pub tree: Vec<TreePage>,
    /// Pages whose header could be believed, of a tree.
    pub stubs: Vec<(Rid, Rid)>,
    /// Forwarded rows, and the stub that each says it has.
    pub forwarded: Vec<(Rid, Rid)>,
    /// Pieces of values: place, id.
    pub pieces: Vec<(Rid, u64)>,
    /// Of an index: its own entries. Of data: what the entries of the n-th index over it should be.
    pub sums: Vec<Sum>,
    /// Something on a page could not be read: sums say nothing.
    pub incomplete: bool,
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub units: BTreeMap<AllocUnitId, UnitFacts>,
    /// References into a LOB unit, by that unit.
    pub references: BTreeMap<AllocUnitId, Vec<Reference>>,
    pub findings: Vec<Finding>,
    pub pages: u64,
    /// Pages without protection, by file.
    pub unprotected: BTreeMap<u16, u64>,
    pub checked: BTreeMap<u16, u64>,
}

impl Facts {
    pub fn unit(&mut self, unit: AllocUnitId) -> &mut UnitFacts {
        self.units.entry(unit).or_default()
    }

    pub fn merge(&mut self, other: Facts) {
        for (unit, facts) in other.units {
            let own = self.units.entry(unit).or_default();
            own.counted.merge(facts.counted);
            own.tree.extend(facts.tree);
            own.stubs.extend(facts.stubs);
            own.forwarded.extend(facts.forwarded);
            own.pieces.extend(facts.pieces);
            own.incomplete |= facts.incomplete;
            if own.sums.len() < facts.sums.len() {
                own.sums.resize(facts.sums.len(), Sum::default());
            }
            for (a, b) in own.sums.iter_mut().zip(facts.sums) {
                a.merge(b);
            }
        }
        for (unit, references) in other.references {
            self.references.entry(unit).or_default().extend(references);
        }
        self.findings.extend(other.findings);
        self.pages += other.pages;
        for (file, n) in other.unprotected {
            *self.unprotected.entry(file).or_default() += n;
        }
        for (file, n) in other.checked {
            *self.checked.entry(file).or_default() += n;
        }
    }
}
