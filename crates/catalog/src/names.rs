//! What storage calls an allocation unit in its messages.

use std::sync::Arc;

use duramen_base::AllocUnitId;

use crate::catalog::CatalogDb;
use crate::snapshot::Snapshot;

impl CatalogDb {
    /// Storage asks for names from now on. It asks with latches held: the answer comes from the snapshot in memory, and
    /// there is none while somebody else is busy with it.
    pub(crate) fn offer_names(self: &Arc<CatalogDb>) {
        let catalog = Arc::downgrade(self);
        self.database().set_object_names(Arc::new(move |unit| {
            let snapshot = catalog.upgrade()?.known_snapshot()?;
            name_of(&snapshot, unit)
        }));
    }
}

/// The table with its schema, and the index unless the unit is a heap's.
fn name_of(snapshot: &Snapshot, unit: AllocUnitId) -> Option<(String, Option<String>)> {
    for table in snapshot.tables.values() {
        let name = || format!("{}.{}", table.schema_name, table.name);
        let of =
            |rowset: &duramen_storage::RowsetDef| rowset.au == unit || rowset.lob_au == Some(unit);
        let mut indexes = table.indexes.iter();
        if let Some(index) = indexes.find(|i| i.rowsets().iter().any(|r| of(r))) {
            return Some((name(), Some(index.name.clone())));
        }
        if table.data_rowsets().iter().any(|r| of(r)) {
            return Some((name(), None));
        }
    }
    None
}
