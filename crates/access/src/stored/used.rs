//! What a statement uses the table's indexes for.

use duramen_catalog::IndexDef;
use duramen_catalog::shape::IndexSource;
use duramen_query::host::Bounds;
use duramen_types::Value;

use super::StoredTable;
use crate::statistics::Changes;
use crate::usage::{self, LOOKS, TableUsage, Use};

/// Whether an entry of the index is not what it was.
fn changes(index: &IndexDef, old: &[Value], new: &[Value]) -> bool {
    index.sources.iter().any(|source| match source {
        IndexSource::Column(c) => old.get(*c) != new.get(*c),
        _ => false,
    })
}

impl StoredTable {
    pub(super) fn used(&self) -> &TableUsage {
        self.used.get_or_init(|| {
            self.db.usage.of(&self.def, || {
                let now = self.db.catalog.snapshot().ok()?;
                Some(now.tables.keys().map(|id| id.0).collect())
            })
        })
    }

    /// Where changes of the table are counted.
    pub(super) fn changes(&self) -> &Changes {
        self.changes.get_or_init(|| {
            self.db.statistics.changes(&self.def, || {
                let now = self.db.catalog.snapshot().ok()?;
                Some(now.tables.keys().map(|id| id.0).collect())
            })
        })
    }

    /// A part of the table is read by the path that `bounds` names; all of it without.
    pub(super) fn note_read(&self, bounds: Option<&Bounds>) {
        let used = self.used();
        let read = bounds.and_then(|b| used.indexes.get(b.path));
        let limited = |b: &Bounds| !b.equal.is_empty() || b.lower.is_some() || b.upper.is_some();
        let how = match bounds.is_some_and(limited) {
            true => Use::Seek,
            false => Use::Scan,
        };
        usage::note(read.unwrap_or(&used.data), how);
    }

    /// Rows come or go: they are in all indexes.
    pub(super) fn note_all_updated(&self) {
        let used = self.used();
        if usage::note(&used.data, Use::Update) > 1 {
            return;
        }
        let indexes = self.def.indexes.iter().zip(&used.indexes);
        for (_, usage) in indexes.filter(|(i, _)| !i.clustered && !i.options.disabled) {
            usage::note(usage, Use::Update);
        }
    }

    /// A row changes: the indexes count that it is then in differently.
    pub(super) fn note_update(&self, old: &[Value], new: &[Value]) {
        let used = self.used();
        if usage::note(&used.data, Use::Update) > LOOKS {
            return;
        }
        let indexes = self.def.indexes.iter().zip(&used.indexes);
        for (index, usage) in indexes.filter(|(i, _)| !i.clustered && !i.options.disabled) {
            if changes(index, old, new) {
                usage::note(usage, Use::Update);
            }
        }
    }
}
