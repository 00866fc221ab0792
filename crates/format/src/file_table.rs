//! The file table: which data files and filegroups a database has, on pages (1:10) to (1:15).
//!
//! Ours: SQL Server keeps this in base tables, which storage cannot read before recovery. The pages are data pages of
//! allocation unit object 99, formatted when the database is made and never given back; their rows are FixedVar rows.
//!
//! ```text
//! offset 4   kind u8: 1 file, 2 filegroup
//!        5   file id or filegroup id u16
//!        7   file: its filegroup u16
//!        9   filegroup: flags u32, 1 default, 2 all files grow together
//!        13  file: LSN at which it was added (10 bytes), zero when it came with the database
//!        23
//! variable   name | path as the user wrote it | path that was opened; UTF-8, a filegroup has its name only
//! ```

use std::ops::Range;

use duramen_base::{AllocUnitId, Lsn, PageId};

use super::file_header::{encode, variable_columns};
use super::page::{PageMut, PageRef, page_type};
use super::{FormatError, FormatResult, PageBytes, u16_at, u32_at};

/// The pages of the table, in file 1.
pub const FILE_TABLE_PAGES: Range<u32> = 10..16;

const KIND_FILE: u8 = 1;
const KIND_FILEGROUP: u8 = 2;
const FIXED_BYTES: usize = 19;
const FLAG_DEFAULT: u32 = 1;
const FLAG_GROW_ALL: u32 = 2;

/// A row of the file table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableRow {
    File(FileRow),
    Filegroup(FilegroupRow),
}

/// A data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRow {
    pub file_id: u16,
    pub filegroup: u16,
    pub create_lsn: Lsn,
    pub logical_name: String,
    pub shown_path: String,
    pub path: String,
}

/// A filegroup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilegroupRow {
    pub id: u16,
    pub name: String,
    /// Where objects go that name no filegroup.
    pub is_default: bool,
    /// AUTOGROW_ALL_FILES.
    pub autogrow_all: bool,
}

impl TableRow {
    /// Kind and id: no two rows share them.
    pub fn key(&self) -> (u8, u16) {
        match self {
            TableRow::File(f) => (KIND_FILE, f.file_id),
            TableRow::Filegroup(g) => (KIND_FILEGROUP, g.id),
        }
    }

    /// The row's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut fixed = [0u8; FIXED_BYTES];
        let (kind, id) = self.key();
        fixed[0] = kind;
        fixed[1..3].copy_from_slice(&id.to_le_bytes());
        let columns: Vec<Vec<u8>> = match self {
            TableRow::File(f) => {
                fixed[3..5].copy_from_slice(&f.filegroup.to_le_bytes());
                fixed[9..19].copy_from_slice(&f.create_lsn.to_bytes());
                [&f.logical_name, &f.shown_path, &f.path]
                    .map(|s| s.as_bytes().to_vec())
                    .to_vec()
            }
            TableRow::Filegroup(g) => {
                let flags = if g.is_default { FLAG_DEFAULT } else { 0 }
                    | if g.autogrow_all { FLAG_GROW_ALL } else { 0 };
                fixed[5..9].copy_from_slice(&flags.to_le_bytes());
                vec![g.name.as_bytes().to_vec()]
            }
        };
        encode(&fixed, 5, &columns)
    }

    pub fn decode(row: &[u8]) -> FormatResult<TableRow> {
        const BAD: FormatError = FormatError::Corrupt("file table row");
        let fixed = row.get(4..4 + FIXED_BYTES).ok_or(BAD)?;
        if u16_at(row, 2)? != 4 + FIXED_BYTES as u16 {
            return Err(BAD);
        }
        let columns = variable_columns(row)?;
        let text = |i: usize| match columns.get(i) {
            Some(b) => String::from_utf8(b.to_vec()).map_err(|_| BAD),
            None => Err(BAD),
        };
        let id = u16_at(fixed, 1)?;
        match fixed[0] {
            KIND_FILE => Ok(TableRow::File(FileRow {
                file_id: id,
                filegroup: u16_at(fixed, 3)?,
                create_lsn: Lsn::from_bytes(&fixed[9..]).ok_or(BAD)?,
                logical_name: text(0)?,
                shown_path: text(1)?,
                path: text(2)?,
            })),
            KIND_FILEGROUP => {
                let flags = u32_at(fixed, 5)?;
                Ok(TableRow::Filegroup(FilegroupRow {
                    id,
                    name: text(0)?,
                    is_default: flags & FLAG_DEFAULT != 0,
                    autogrow_all: flags & FLAG_GROW_ALL != 0,
                }))
            }
            _ => Err(BAD),
        }
    }
}

/// Makes an empty page of the table.
pub fn format_table_page(b: &mut PageBytes, page: u32) {
    let unit = AllocUnitId::from_parts(0, 99);
    let id = PageId::new(1, page);
    PageMut::new(b).format(id, page_type::DATA, unit, 0, 4 + FIXED_BYTES as u16);
}

/// The rows of one page of the table, with their slots.
pub fn table_rows(page: &PageBytes) -> FormatResult<Vec<(u16, TableRow)>> {
    let p = PageRef::new(page);
    if p.page_type() != page_type::DATA {
        return Err(FormatError::Corrupt("file table page type"));
    }
    (0..p.slot_count())
        .map(|s| Ok((s, TableRow::decode(p.expect_record(s)?.bytes())?)))
        .collect()
}

#[cfg(test)]
mod tests;
