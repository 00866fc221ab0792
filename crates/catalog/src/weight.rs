//! What the definitions that everybody sees take in memory, about: told to the server's broker as they change.
//!
//! Snapshots share what has not changed, so a change costs a look at each definition's address and a count of those that are
//! others now.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_os::memory::{Broker, Clerk, Tally};
use duramen_storage::RowsetDef;

use crate::def::{ColumnDef, IndexDef, ModuleDef, ObjectDef, TableDef};
use crate::snapshot::Snapshot;

/// An entry of a map, beside what it points to, about.
const ENTRY: usize = 48;

/// What a snapshot takes, told to the broker.
pub(crate) struct Weight(Tally);

impl Weight {
    pub fn new(broker: &Arc<Broker>) -> Weight {
        Weight(broker.tally(Clerk::Schemas))
    }

    /// One snapshot takes the place of another.
    pub fn changes(&self, from: Option<&Snapshot>, to: Option<&Snapshot>) {
        let none = Snapshot::default();
        let (from, to) = (from.unwrap_or(&none), to.unwrap_or(&none));
        let more = change(&from.tables, &to.tables, table)
            + change(&from.modules, &to.modules, module)
            + change(&from.objects, &to.objects, object);
        match u64::try_from(more) {
            Ok(more) => {
                self.0.add(more);
            }
            Err(_) => self.0.sub(more.unsigned_abs()),
        }
    }
}

/// How many bytes more the definitions of one map take than those of another.
fn change<K: Ord, V>(
    from: &BTreeMap<K, Arc<V>>,
    to: &BTreeMap<K, Arc<V>>,
    bytes: fn(&V) -> usize,
) -> i64 {
    let new = to.iter().filter(|(k, v)| !has(from, k, v));
    let old = from.iter().filter(|(k, v)| !has(to, k, v));
    let sum = |all: &mut dyn Iterator<Item = (&K, &Arc<V>)>| -> i64 {
        all.map(|(_, v)| (ENTRY + bytes(v)) as i64).sum()
    };
    sum(&mut { new }) - sum(&mut { old })
}

fn has<K: Ord, V>(all: &BTreeMap<K, Arc<V>>, key: &K, value: &Arc<V>) -> bool {
    all.get(key).is_some_and(|v| Arc::ptr_eq(v, value))
}

fn table(t: &TableDef) -> usize {
    let columns: usize = t.columns.iter().map(column).sum();
    let indexes: usize = t.indexes.iter().map(index).sum();
    let checks = t.checks.iter().map(|c| c.name.len() + c.text.len());
    let keys = t.foreign_keys.len() + t.referenced_by.len();
    let others = keys * 128 + t.triggers.len() * 64 + t.statistics.len() * 96;
    let partitions = t.partitioned.as_ref().map_or(0, |p| p.rowsets.len());
    size_of::<TableDef>()
        + t.name.len()
        + columns
        + indexes
        + checks.sum::<usize>()
        + others
        + rowset(&t.data) * (1 + partitions)
}

fn column(c: &ColumnDef) -> usize {
    let default = c
        .default
        .as_ref()
        .map_or(0, |d| d.name.len() + d.text.len());
    let computed = c.computed.as_ref().map_or(0, |e| e.text.len());
    size_of::<ColumnDef>() + c.name.len() + default + computed
}

fn index(i: &IndexDef) -> usize {
    let partitions = i.partitioned.as_ref().map_or(0, |p| p.rowsets.len());
    let columns = i.keys.len() + i.includes.len() + i.sources.len() + i.locator.len();
    size_of::<IndexDef>() + i.name.len() + columns * 16 + rowset(&i.rowset) * (1 + partitions)
}

fn rowset(r: &RowsetDef) -> usize {
    size_of::<RowsetDef>() + size_of_val(&r.layout.columns[..]) + size_of_val(&r.keys[..])
}

fn module(m: &ModuleDef) -> usize {
    let columns: usize = m.columns.iter().map(|c| 64 + c.name.len()).sum();
    size_of::<ModuleDef>() + m.name.len() + m.text.len() + columns
}

/// An object and its name.
fn object(o: &ObjectDef) -> usize {
    size_of::<ObjectDef>() + 2 * o.name.len() + ENTRY
}

#[cfg(test)]
mod tests {
    use duramen_base::ObjectId;

    use super::*;
    use crate::def::ObjectKind;

    const TEXT: usize = 1 << 20;

    fn put(into: &Snapshot, id: i32) -> Snapshot {
        let mut next = into.clone();
        let module = ModuleDef {
            columns: Vec::new(),
            id: ObjectId(id),
            schema: 1,
            name: format!("m{id}"),
            kind: ObjectKind::TRIGGER,
            parent: ObjectId(0),
            text: "t".repeat(TEXT),
            ansi_nulls: true,
            quoted_identifier: true,
            version: 1,
        };
        next.modules.insert(module.id, Arc::new(module));
        next
    }

    #[test]
    fn what_everybody_sees_is_told_and_given_back() {
        let broker = Broker::new(1 << 30);
        let weight = Weight::new(&broker);
        let reported = || broker.of(Clerk::Schemas) as usize;
        let one = put(&Snapshot::default(), 1);
        weight.changes(None, Some(&one));
        assert!(
            (TEXT..TEXT + TEXT / 8).contains(&reported()),
            "{}",
            reported()
        );
        let two = put(&one, 2);
        weight.changes(Some(&one), Some(&two));
        assert!((2 * TEXT..2 * TEXT + TEXT / 8).contains(&reported()));
        // The same module once more is another one.
        let again = put(&two, 2);
        weight.changes(Some(&two), Some(&again));
        assert!((2 * TEXT..2 * TEXT + TEXT / 8).contains(&reported()));
        weight.changes(Some(&again), Some(&one));
        weight.changes(Some(&one), None);
        assert_eq!((weight.0.bytes(), reported()), (0, 0));
    }
}
