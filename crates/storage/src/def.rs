//! What a caller says about a rowset, and how it names rows.

use std::fmt;
use std::sync::{Arc, OnceLock};

use duramen_base::{AllocUnitId, ObjectId, PageId, RowsetId};
use duramen_format::layout::RowLayout;
use duramen_types::Value;

use crate::btree::keys::KeyInfo;
use crate::hints::Reading;

/// The shape of a rowset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowsetKind {
    Heap,
    Clustered { unique: bool },
    NonClustered { unique: bool },
}

/// One column of a B-tree's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyColumn {
    /// Position in the layout's columns.
    pub column: usize,
    pub desc: bool,
}

/// One heap or B-tree, as the catalog describes it.
///
/// * `keys` is the whole order of the entries, and makes them different: the declared key columns, then, where those
///   are not declared unique, the hidden uniquifier (clustered) or the row locator's columns (nonclustered: the RID as
///   a binary(8), or the clustering key's columns that are not keys already, and its uniquifier).
/// * A unique index lists exactly its declared columns: no two rows may share them. A unique nonclustered index has its
///   locator columns in the layout only.
/// * The rows of a non-unique clustered index have the uniquifier as the *last* column of the layout; storage fills
///   it in when it is given as NULL or left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowsetDef {
    pub rowset: RowsetId,
    pub object: ObjectId,
    pub index_id: u16,
    pub kind: RowsetKind,
    pub layout: Arc<RowLayout>,
    pub keys: Vec<KeyColumn>,
    /// IN_ROW_DATA
    pub au: AllocUnitId,
    /// For values outside their rows: LOB_DATA, or ROW_OVERFLOW_DATA where there are no (max) columns.
    pub lob_au: Option<AllocUnitId>,
    pub known: Known,
}

/// What follows from a definition and is worked out once. A copy of the definition, which may be changed, works it out anew,
/// and no definition differs by it.
#[derive(Default)]
pub struct Known(OnceLock<KeyInfo>);

impl Clone for Known {
    fn clone(&self) -> Known {
        Known::default()
    }
}

impl PartialEq for Known {
    fn eq(&self, _: &Known) -> bool {
        true
    }
}

impl Eq for Known {}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Known")
    }
}

impl RowsetDef {
    /// How its keys are compared and stored.
    pub(crate) fn key_info(&self) -> &KeyInfo {
        self.known.0.get_or_init(|| KeyInfo::new(self))
    }

    pub fn is_heap(&self) -> bool {
        self.kind == RowsetKind::Heap
    }

    /// Whether storage adds a uniquifier to equal keys.
    pub fn has_uniquifier(&self) -> bool {
        self.kind == RowsetKind::Clustered { unique: false }
            && self.layout.columns.last().is_some_and(|c| c.uniquifier)
    }
}

/// The name of a row that survives page splits: a heap's RID, or a B-tree's key values in the order of `keys`.
#[derive(Clone, PartialEq, Debug)]
pub enum RowLocator {
    Rid(PageId, u16),
    Key(Vec<Value>),
}

impl RowLocator {
    /// The 8 bytes of a RID in a nonclustered row: page, file, slot.
    pub fn rid_bytes(page: PageId, slot: u16) -> [u8; 8] {
        let p = page.to_bytes();
        let s = slot.to_le_bytes();
        [p[0], p[1], p[2], p[3], p[4], p[5], s[0], s[1]]
    }

    /// The locator that those bytes name.
    pub fn from_rid_bytes(b: &[u8]) -> Option<RowLocator> {
        let page = PageId::from_bytes(b)?;
        let slot = b.get(6..8)?;
        Some(RowLocator::Rid(
            page,
            u16::from_le_bytes([slot[0], slot[1]]),
        ))
    }
}

/// The part of a rowset to scan. Bounds are values of leading `keys`.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// Values and whether rows equal to them belong to the range.
    pub lower: Option<(Vec<Value>, bool)>,
    pub upper: Option<(Vec<Value>, bool)>,
    pub forward: bool,
    pub reading: Reading,
}

impl ScanSpec {
    /// Everything, in key order.
    pub fn all(reading: impl Into<Reading>) -> ScanSpec {
        ScanSpec {
            lower: None,
            upper: None,
            forward: true,
            reading: reading.into(),
        }
    }

    /// The rows whose leading keys equal `key`.
    pub fn equal(key: Vec<Value>, reading: impl Into<Reading>) -> ScanSpec {
        ScanSpec {
            lower: Some((key.clone(), true)),
            upper: Some((key, true)),
            forward: true,
            reading: reading.into(),
        }
    }
}
