//! What is remembered of pages until all of them have been seen: how they hang together is judged then.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, PageId};
use duramen_os::memory::Account;
use duramen_types::Value;

use super::counted::Counted;
use super::finding::Finding;

/// What is looked up of a page of a tree while it is judged: who refers to it, and itself by its id.
const JUDGED: usize = 128;

/// So much each thread remembers without asking: a small database is checked however little memory is left.
const UNASKED: u64 = 2 << 20;

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
    /// About what all of it takes, and what judging it takes beside.
    pub bytes: u64,
    pub pages: u64,
    /// Pages without protection, by file.
    pub unprotected: BTreeMap<u16, u64>,
    pub checked: BTreeMap<u16, u64>,
    /// What was asked for it, by each thread.
    pub held: Vec<Account>,
}

impl TreePage {
    /// Whoever judges looks its page and its children up in trees of their own.
    fn bytes(&self) -> u64 {
        let key = |key: &Option<Vec<Value>>| {
            let own = |v: &Value| size_of::<Value>() + v.heap_bytes();
            key.iter().flatten().map(own).sum::<usize>()
        };
        let child = |c: &(u16, PageId, Option<Vec<Value>>)| size_of_val(c) + key(&c.2);
        let children: usize = self.children.iter().map(child).sum();
        let ends = key(&self.low) + key(&self.high);
        (2 * size_of::<TreePage>() + JUDGED + ends + children) as u64
    }
}

impl Facts {
    /// Asks for the memory that all of it takes, where somebody answers for that: false when there is none.
    pub fn hold(&mut self) -> bool {
        let bytes = self.bytes.saturating_sub(UNASKED);
        self.held.first_mut().is_none_or(|held| held.hold(bytes))
    }

    pub fn add_tree_page(&mut self, unit: AllocUnitId, page: TreePage) {
        self.bytes += page.bytes();
        self.unit(unit).tree.push(page);
    }

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
        self.bytes += other.bytes;
        self.held.extend(other.held);
        self.pages += other.pages;
        for (file, n) in other.unprotected {
            *self.unprotected.entry(file).or_default() += n;
        }
        for (file, n) in other.checked {
            *self.checked.entry(file).or_default() += n;
        }
    }
}
