//! Identifiers. Things that get mixed up are different types.

use std::fmt;

/// A database id: 1 master, 2 tempdb, 3 model, 4 msdb, user databases from 5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DbId(pub u16);

impl DbId {
    pub const MASTER: DbId = DbId(1);
    pub const TEMPDB: DbId = DbId(2);
    pub const MODEL: DbId = DbId(3);
    pub const MSDB: DbId = DbId(4);
}

/// A file of a database: 1 is the primary data file, 2 the first log file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileId(pub u16);

/// The address of a page: byte offset `page * 8192` in file `file`. `0:0` means none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PageId {
    pub file: u16,
    pub page: u32,
}

impl PageId {
    pub const NULL: PageId = PageId { file: 0, page: 0 };

    pub const fn new(file: u16, page: u32) -> PageId {
        PageId { file, page }
    }

    pub fn is_null(self) -> bool {
        self == PageId::NULL
    }

    /// The 6-byte form of page pointers: page number, then file number, little-endian.
    pub fn to_bytes(self) -> [u8; 6] {
        let p = self.page.to_le_bytes();
        let f = self.file.to_le_bytes();
        [p[0], p[1], p[2], p[3], f[0], f[1]]
    }

    /// Reads the 6-byte form from the start of `b`; `None` when `b` is shorter.
    pub fn from_bytes(b: &[u8]) -> Option<PageId> {
        let b = b.get(..6)?;
        Some(PageId {
            page: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            file: u16::from_le_bytes([b[4], b[5]]),
        })
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{})", self.file, self.page)
    }
}

/// A slot of a page: the position in its row-offset array.
pub type SlotId = u16;

/// A transaction as the log prints it, `xxxx:yyyyyyyy` (48 bits). Zero means outside a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct XdesId(pub u64);

impl fmt::Display for XdesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:08x}", (self.0 >> 32) & 0xffff, self.0 as u32)
    }
}

/// A session (`@@SPID`); user sessions start at 51.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SessionId(pub u16);

/// `sys.objects.object_id`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectId(pub i32);

/// A HoBT: one heap or B-tree, `sys.partitions.hobt_id` (the same number as the partition id here).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RowsetId(pub i64);

/// `sys.allocation_units.allocation_unit_id`; `(m_indexId << 48) | (m_objId << 16)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AllocUnitId(pub i64);

impl AllocUnitId {
    /// `m_indexId` of the pages of this unit.
    pub fn index_part(self) -> u16 {
        ((self.0 as u64) >> 48) as u16
    }

    /// `m_objId` of the pages of this unit.
    pub fn object_part(self) -> u32 {
        ((self.0 as u64) >> 16) as u32
    }

    pub fn from_parts(index: u16, object: u32) -> AllocUnitId {
        AllocUnitId((((index as u64) << 48) | ((object as u64) << 16)) as i64)
    }
}
