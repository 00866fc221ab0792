//! Pages shown to people: what DBCC PAGE prints of a page in a running database, and `duramen page` of one in a file.
//!
//! A dump is made once, as [`Line`]s, and rendered twice: as text ([`Dump::text`]) and as the four columns of WITH
//! TABLERESULTS ([`Dump::rows`]). Nothing here reads a disk or takes a latch: the caller brings the page, a way to the
//! allocation maps of its file, and whatever is known of its owner.
//!
//! Section titles, field names and states are SQL Server's. It prints memory addresses where this prints offsets, in the
//! file (`Page @`) or in the page (`Memory Dump @`), and fields of its buffer headers, which have no counterpart here.
//!
//! Bytes are never trusted: a page whose slots, records or maps are damaged is still shown, with the error in the place of
//! what could not be read.

mod fixed;
mod online;
mod page;
mod render;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use duramen_base::PageId;
use duramen_format::PageBytes;
use duramen_format::layout::RowLayout;
use duramen_types::{SqlType, Value};

use duramen_storage::RowsetDef;

pub use online::{PageInfo, has_data_file, inspect_boot, inspect_page, page_info};
pub use page::{MapState, Maps, dump, pfs_text};

/// How much of a page is shown: the print options of DBCC PAGE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// 0: the header and what the allocation maps say.
    #[default]
    Header,
    /// 1: the bytes of every record, and the row-offset array.
    Records,
    /// 2: the bytes of the whole page, and the row-offset array.
    Whole,
    /// 3: every record with its columns, allocation maps as ranges, header and boot pages by field.
    Columns,
}

impl Detail {
    /// The print option of that number.
    pub fn of(number: i64) -> Option<Detail> {
        [
            Detail::Header,
            Detail::Records,
            Detail::Whole,
            Detail::Columns,
        ]
        .get(usize::try_from(number).ok()?)
        .copied()
    }
}

/// A page and its file.
pub struct Subject<'a> {
    pub id: PageId,
    pub page: &'a PageBytes,
    /// Pages of the file: maps are shown as far as it goes.
    pub file_pages: u32,
    /// Other pages of the file; `None` for one that cannot be read. A log file has none.
    pub read: &'a mut dyn FnMut(u32) -> Option<Box<PageBytes>>,
    pub owner: Option<Owner>,
}

/// Whose page it is, from the catalog.
#[derive(Clone, Debug, Default)]
pub struct Owner {
    pub object: i32,
    pub index: i32,
    pub partition: i64,
    pub shape: Option<Shape>,
}

/// How the rows of its leaf level are read.
#[derive(Clone, Debug)]
pub struct Shape {
    pub layout: RowLayout,
    /// Of the layout's columns.
    pub names: Vec<String>,
    /// In our own databases: keys, node rows and key hashes follow from it.
    pub def: Option<Arc<RowsetDef>>,
}

/// One line of a dump.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Line {
    /// Column ParentObject of what follows.
    Parent(String),
    /// Column Object of what follows.
    Object(String),
    Field(String, String),
    /// Ends a line of fields, of which otherwise three stand side by side.
    Break,
    /// Bytes of the page from an offset on.
    Bytes(usize, Vec<u8>),
}

/// The rows of an index page, which print option 3 gives as a result set.
pub type IndexRows = (Vec<(String, SqlType)>, Vec<Vec<Value>>);

/// A page, shown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Dump {
    pub(crate) lines: Vec<Line>,
    pub index: Option<IndexRows>,
}

impl Dump {
    fn parent(&mut self, title: impl Into<String>) {
        self.lines.push(Line::Parent(title.into()));
    }

    fn object(&mut self, title: impl Into<String>) {
        self.lines.push(Line::Object(title.into()));
    }

    fn field(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.lines.push(Line::Field(name.into(), value.to_string()));
    }

    /// A field that has a line of its own.
    fn alone(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.field(name, value);
        self.end_line();
    }

    fn end_line(&mut self) {
        self.lines.push(Line::Break);
    }

    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        self.object(format!("Memory Dump @0x{at:016X}"));
        self.lines.push(Line::Bytes(at, bytes.to_vec()));
    }
}
