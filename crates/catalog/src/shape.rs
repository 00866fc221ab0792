//! From declared columns and keys to rowsets: which columns the rows of a heap or index have, and in what order.
//!
//! * Data rows: the table's columns; a non-unique clustered index adds the uniquifier, last in the values and first in
//!   the row. The clustering key's columns stand first in the row, the others follow by column id.
//! * Nonclustered rows: the keys; then the locator's columns that are not keys already (the RID of a heap; else the
//!   clustering key and its uniquifier); then the included columns that are not there already.

use std::sync::Arc;

use duramen_base::{AllocUnitId, ObjectId, RowsetId};
use duramen_format::{ColumnSpec, RowKind, layout_in_order};
use duramen_storage::{KeyColumn, RowLocator, RowsetDef, RowsetKind};
use duramen_types::{SqlType, Value};

use crate::def::{ColumnDef, IndexDef, TableDef};

/// Where a column of a nonclustered row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexSource {
    /// A column of the table, by position.
    Column(usize),
    /// The heap row's RID.
    Rid,
    /// The clustered row's uniquifier.
    Uniquifier,
}

/// Ids of a rowset and its allocation units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsetIds {
    pub object: ObjectId,
    pub rowset: RowsetId,
    pub index_id: u16,
    pub au: AllocUnitId,
    pub lob_au: Option<AllocUnitId>,
}

impl RowsetIds {
    /// Of a rowset that only has a shape.
    pub(crate) fn none(object: ObjectId) -> RowsetIds {
        RowsetIds {
            object,
            rowset: RowsetId(0),
            index_id: 0,
            au: AllocUnitId(0),
            lob_au: None,
        }
    }
}

/// Declared keys and whether no two rows may share them.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    pub columns: &'a [KeyColumn],
    pub unique: bool,
}

/// The rowset of a heap (`clustered` is `None`) or clustered index.
pub fn data_rowset(
    ids: &RowsetIds,
    columns: &[ColumnSpec],
    clustered: Option<Keys<'_>>,
) -> RowsetDef {
    let mut specs = columns.to_vec();
    let mut order = Vec::new();
    let mut keys = Vec::new();
    let mut kind = RowsetKind::Heap;
    if let Some(c) = clustered {
        kind = RowsetKind::Clustered { unique: c.unique };
        keys = c.columns.to_vec();
        if !c.unique {
            keys.push(KeyColumn {
                column: specs.len(),
                desc: false,
            });
            order.push(specs.len());
            specs.push(ColumnSpec::uniquifier());
        }
        for k in c.columns {
            if !order.contains(&k.column) {
                order.push(k.column);
            }
        }
    }
    for (i, c) in columns.iter().enumerate() {
        if !order.contains(&i) && !c.absent {
            order.push(i);
        }
    }
    RowsetDef {
        rowset: ids.rowset,
        object: ids.object,
        index_id: ids.index_id,
        kind,
        layout: Arc::new(layout_in_order(&specs, &order, RowKind::Data)),
        keys,
        au: ids.au,
        lob_au: ids.lob_au,
        known: Default::default(),
    }
}

/// A nonclustered rowset over `data`, with the sources of its columns and the positions of the locator.
pub fn index_rowset(
    ids: &RowsetIds,
    columns: &[ColumnSpec],
    data: &RowsetDef,
    keys: Keys<'_>,
    includes: &[usize],
) -> (RowsetDef, Vec<IndexSource>, Vec<usize>) {
    let mut sources: Vec<IndexSource> = keys
        .columns
        .iter()
        .map(|k| IndexSource::Column(k.column))
        .collect();
    let mut order: Vec<KeyColumn> = keys
        .columns
        .iter()
        .enumerate()
        .map(|(i, k)| KeyColumn {
            column: i,
            desc: k.desc,
        })
        .collect();
    let mut locator = Vec::new();
    for source in locator_sources(data, columns.len()) {
        let at = match sources.iter().position(|s| *s == source) {
            Some(at) => at,
            None => {
                sources.push(source);
                if !keys.unique {
                    order.push(KeyColumn {
                        column: sources.len() - 1,
                        desc: false,
                    });
                }
                sources.len() - 1
            }
        };
        locator.push(at);
    }
    for &i in includes {
        if !sources.contains(&IndexSource::Column(i)) {
            sources.push(IndexSource::Column(i));
        }
    }
    let specs: Vec<ColumnSpec> = sources
        .iter()
        .map(|s| match s {
            IndexSource::Column(i) => columns[*i],
            IndexSource::Rid => ColumnSpec::new(SqlType::binary(8), false),
            IndexSource::Uniquifier => ColumnSpec::uniquifier(),
        })
        .collect();
    let in_order: Vec<usize> = (0..specs.len()).collect();
    let def = RowsetDef {
        rowset: ids.rowset,
        object: ids.object,
        index_id: ids.index_id,
        kind: RowsetKind::NonClustered {
            unique: keys.unique,
        },
        layout: Arc::new(layout_in_order(&specs, &in_order, RowKind::IndexLeaf)),
        keys: order,
        au: ids.au,
        lob_au: ids.lob_au,
        known: Default::default(),
    };
    (def, sources, locator)
}

/// What names a base row, in the order of its locator's values.
fn locator_sources(data: &RowsetDef, columns: usize) -> Vec<IndexSource> {
    if data.is_heap() {
        return vec![IndexSource::Rid];
    }
    data.keys
        .iter()
        .map(|k| {
            if k.column < columns {
                IndexSource::Column(k.column)
            } else {
                IndexSource::Uniquifier
            }
        })
        .collect()
}

impl IndexDef {
    /// The index row of a base row.
    pub fn entry(&self, row: &[Value], locator: &RowLocator) -> Vec<Value> {
        self.sources
            .iter()
            .map(|s| match (s, locator) {
                (IndexSource::Column(i), _) => row.get(*i).cloned().unwrap_or_default(),
                (IndexSource::Rid, RowLocator::Rid(page, slot)) => {
                    Value::Binary(RowLocator::rid_bytes(*page, *slot).to_vec())
                }
                (IndexSource::Uniquifier, RowLocator::Key(key)) => {
                    key.last().cloned().unwrap_or_default()
                }
                _ => Value::Null,
            })
            .collect()
    }

    /// The base row that an index row points to.
    pub fn base_locator(&self, data: &RowsetDef, entry: &[Value]) -> Option<RowLocator> {
        if data.is_heap() {
            match entry.get(*self.locator.first()?)? {
                Value::Binary(b) => RowLocator::from_rid_bytes(b),
                _ => None,
            }
        } else {
            let key = self
                .locator
                .iter()
                .map(|i| entry.get(*i).cloned())
                .collect::<Option<Vec<_>>>()?;
            Some(RowLocator::Key(key))
        }
    }

    /// What names a row of this index: its key values.
    pub fn entry_locator(&self, entry: &[Value]) -> RowLocator {
        RowLocator::Key(
            self.rowset
                .keys
                .iter()
                .map(|k| entry.get(k.column).cloned().unwrap_or_default())
                .collect(),
        )
    }

    /// Whether the index covers a column of the table.
    pub fn covers(&self, column: usize) -> bool {
        self.sources.contains(&IndexSource::Column(column))
    }
}

impl TableDef {
    pub fn specs(&self) -> Vec<ColumnSpec> {
        self.columns.iter().map(spec).collect()
    }
}

/// How a column is placed in rows.
pub(crate) fn spec(c: &ColumnDef) -> ColumnSpec {
    ColumnSpec {
        absent: !c.is_stored(),
        ..ColumnSpec::new(c.ty, c.nullable)
    }
}

#[cfg(test)]
mod tests;
