//! The system base tables as declared data: columns in physical order and indexes, as databases of version 852 have
//! them (read from the catalog rows of a real file).
//!
//! Rowset ids of base tables follow from object and index (see `SystemIndex::rowset`); placements follow from the
//! column order by the rules of `format::layout`, which give the placements of the real files.

use duramen_base::{ObjectId, RowsetId};
use duramen_types::{CollationId, SqlType};

mod high;
mod low;

/// A base table.
#[derive(Debug, PartialEq, Eq)]
pub struct SystemTable {
    pub id: i32,
    pub name: &'static str,
    pub columns: &'static [SystemColumn],
    /// Index 1 is the clustered one; a table without it is a heap.
    pub indexes: &'static [SystemIndex],
}

/// A column of a base table; its id is its position + 1.
#[derive(Debug, PartialEq, Eq)]
pub struct SystemColumn {
    pub name: &'static str,
    pub ty: SqlType,
    pub nullable: bool,
}

/// An index of a base table.
#[derive(Debug, PartialEq, Eq)]
pub struct SystemIndex {
    pub id: u16,
    pub name: &'static str,
    pub unique: bool,
    /// Positions of the key columns.
    pub keys: &'static [usize],
}

const KSWS: CollationId = CollationId::LATIN1_CI_AS_KS_WS;
const BIN: CollationId = CollationId::LATIN1_BIN;

const fn c(name: &'static str, ty: SqlType) -> SystemColumn {
    SystemColumn {
        name,
        ty,
        nullable: false,
    }
}

const fn n(name: &'static str, ty: SqlType) -> SystemColumn {
    SystemColumn {
        name,
        ty,
        nullable: true,
    }
}

const fn ix(id: u16, name: &'static str, unique: bool, keys: &'static [usize]) -> SystemIndex {
    SystemIndex {
        id,
        name,
        unique,
        keys,
    }
}

/// Every base table, by id.
pub fn system_tables() -> impl Iterator<Item = &'static SystemTable> {
    low::TABLES.iter().chain(high::TABLES)
}

/// The base table of that id.
pub fn system_table(id: i32) -> Option<&'static SystemTable> {
    system_tables().find(|t| t.id == id)
}

impl SystemTable {
    pub fn object(&self) -> ObjectId {
        ObjectId(self.id)
    }

    /// The position of a column; the names are declared here, so a wrong one is a bug that a test finds.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The rowset id of one of its indexes (0: the heap).
    pub fn rowset(&self, index: u16) -> RowsetId {
        let object = i64::from(self.id) << 16;
        if matches!(self.id, 3 | 5 | 7 | 8) && index <= 1 {
            RowsetId(object)
        } else {
            RowsetId(i64::from(index) << 48 | object)
        }
    }
}

#[cfg(test)]
mod tests;
