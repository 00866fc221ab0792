//! The file header page: page 0 of every file.
//!
//! One row: a fixed part of 4 bytes and 46 columns of variable length. What the numbered columns hold was worked out on
//! files of 2008; those that are not named here are empty, zero LSNs and zero GUIDs in every file seen, and in ours.
//! Column 46, which no other server writes, is our mark.
//!
//! | column | bytes | what |
//! |---|---|---|
//! | 0 | 16 | binding: the same in all files of a database |
//! | 2, 3 | 2 | file id; filegroup id, 0 for a log file |
//! | 4, 5, 6 | 4 | size; maximum size, -1 without one; growth: pages, or percent |
//! | 12 | 4 | size at creation |
//! | 13 | 4 | status: 0x100000 growth is in percent |
//! | 14 | 4 | -1 |
//! | 15 | 4 | sector bytes |
//! | 19 | 10 | LSN at which the file was added (*assumed*: zero in every file seen) |
//! | 23 | 16 | GUID of the file |
//! | 27 | | logical name, UTF-16 |

use duramen_base::{AllocUnitId, Lsn, PageId};

use super::page::{PageMut, PageRef, page_type};
use super::version::{MARK, is_known};
use super::{FormatError, FormatResult, PageBytes, u16_at, u32_at};

/// Bytes of each column in a fresh header, by column; variable ones are 0.
const LENGTHS: [u16; COLUMNS] = [
    16, 0, 2, 2, 4, 4, 4, 4, 10, 10, 10, 0, 4, 4, 4, 4, 10, 28, 10, 10, 10, 16, 10, 16, 4, 10, 0,
    0, 16, 0, 0, 0, 0, 0, 0, 16, 0, 0, 10, 10, 28, 10, 16, 28, 8, 600, 16,
];
const COLUMNS: usize = 47;
const FILE_ID: usize = 2;
const FILEGROUP: usize = 3;
const SIZE: usize = 4;
const MAX_SIZE: usize = 5;
const GROWTH: usize = 6;
const MIN_SIZE: usize = 12;
const STATUS: usize = 13;
const USER_SHRINK_SIZE: usize = 14;
const SECTOR: usize = 15;
const CREATE_LSN: usize = 19;
const FILE_GUID: usize = 23;
const NAME: usize = 27;
const OUR_MARK: usize = 46;
/// `STATUS`: growth is in percent.
const STATUS_PERCENT: u32 = 0x10_0000;
/// `SECTOR` of the files that we make.
const SECTOR_BYTES: u32 = 512;

/// The fields of a file header page.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FileHeader {
    /// Binds the files of one database together.
    pub binding: [u8; 16],
    pub file_id: u16,
    /// 0 in a log file.
    pub filegroup: u16,
    /// Pages.
    pub size: u32,
    /// Pages; `None` is unlimited.
    pub max_size: Option<u32>,
    /// Pages, or percent (see `growth_percent`).
    pub growth: u32,
    pub growth_percent: bool,
    /// Pages when the file was made.
    pub min_size: u32,
    /// Log records before it are about another file of this id; NULL in the files that came with the database.
    pub create_lsn: Lsn,
    pub guid: [u8; 16],
    pub logical_name: String,
    /// Whether the file carries our mark, of this version or an earlier one. It is written as this one's.
    pub own: bool,
}

/// The mark of a file header page; `None` for another page.
pub(super) fn mark_of(page: &PageBytes) -> Option<&[u8]> {
    let p = PageRef::new(page);
    if p.page_type() != page_type::FILE_HEADER {
        return None;
    }
    let columns = variable_columns(p.expect_record(0).ok()?.bytes()).ok()?;
    columns.get(OUR_MARK).copied()
}

/// The same, to be written: the mark is the last column.
pub(super) fn mark_mut(page: &mut PageBytes) -> Option<&mut [u8]> {
    mark_of(page).filter(|mark| mark.len() == MARK.len())?;
    let p = PageRef::new(page);
    let length = p.expect_record(0).ok()?.len();
    let end = usize::from(p.slot_offset(0).ok()?) + length;
    page.get_mut(end.checked_sub(MARK.len())?..end)
}

impl FileHeader {
    pub fn read(page: &PageBytes) -> FormatResult<FileHeader> {
        let p = PageRef::new(page);
        if p.page_type() != page_type::FILE_HEADER {
            return Err(FormatError::Corrupt("file header page type"));
        }
        let columns = variable_columns(p.expect_record(0)?.bytes())?;
        let get = |i: usize| columns.get(i).copied().unwrap_or(&[]);
        let guid = |i: usize| get(i).try_into().unwrap_or_default();
        let max_size = u32_at(get(MAX_SIZE), 0)?;
        Ok(FileHeader {
            binding: guid(0),
            file_id: u16_at(get(FILE_ID), 0)?,
            filegroup: u16_at(get(FILEGROUP), 0)?,
            size: u32_at(get(SIZE), 0)?,
            max_size: (max_size != u32::MAX).then_some(max_size),
            growth: u32_at(get(GROWTH), 0)?,
            growth_percent: u32_at(get(STATUS), 0)? & STATUS_PERCENT != 0,
            min_size: u32_at(get(MIN_SIZE), 0)?,
            create_lsn: Lsn::from_bytes(get(CREATE_LSN)).unwrap_or_default(),
            guid: guid(FILE_GUID),
            logical_name: utf16(get(NAME)),
            own: is_known(get(OUR_MARK)),
        })
    }

    /// Makes a whole file header page of ours.
    pub fn format(&self, page: &mut PageBytes) -> FormatResult<()> {
        let mut p = PageMut::new(page);
        p.format(
            PageId::new(self.file_id, 0),
            page_type::FILE_HEADER,
            AllocUnitId::from_parts(0, 99),
            0,
            0,
        );
        let mut columns: Vec<Vec<u8>> = LENGTHS.iter().map(|n| vec![0; usize::from(*n)]).collect();
        columns[USER_SHRINK_SIZE] = u32::MAX.to_le_bytes().to_vec();
        columns[SECTOR] = SECTOR_BYTES.to_le_bytes().to_vec();
        columns[OUR_MARK] = MARK.to_vec();
        p.insert_record(0, &self.row(columns))
    }

    /// The row of an existing file header page with these fields put in; what is no field stays as it is.
    pub fn changed_row(&self, page: &PageBytes) -> FormatResult<Vec<u8>> {
        let row = PageRef::new(page).expect_record(0)?;
        let columns = variable_columns(row.bytes())?;
        if columns.len() <= NAME {
            return Err(FormatError::Corrupt("file header columns"));
        }
        Ok(self.row(columns.into_iter().map(<[u8]>::to_vec).collect()))
    }

    fn row(&self, mut columns: Vec<Vec<u8>>) -> Vec<u8> {
        columns[0] = self.binding.to_vec();
        columns[FILE_ID] = self.file_id.to_le_bytes().to_vec();
        columns[FILEGROUP] = self.filegroup.to_le_bytes().to_vec();
        columns[SIZE] = self.size.to_le_bytes().to_vec();
        columns[MAX_SIZE] = self.max_size.unwrap_or(u32::MAX).to_le_bytes().to_vec();
        columns[GROWTH] = self.growth.to_le_bytes().to_vec();
        columns[MIN_SIZE] = self.min_size.to_le_bytes().to_vec();
        let status = u32_at(&columns[STATUS], 0).unwrap_or(0) & !STATUS_PERCENT;
        let percent = if self.growth_percent {
            STATUS_PERCENT
        } else {
            0
        };
        columns[STATUS] = (status | percent).to_le_bytes().to_vec();
        columns[CREATE_LSN] = self.create_lsn.to_bytes().to_vec();
        columns[FILE_GUID] = self.guid.to_vec();
        columns[NAME] = self
            .logical_name
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        if let Some(mark) = columns.get_mut(OUR_MARK).filter(|_| self.own) {
            *mark = MARK.to_vec();
        }
        encode(&[0; 4], 1, &columns)
    }
}

/// A FixedVar row without NULLs: `fixed` bytes that are `fixed_columns` columns, then columns of variable length.
pub fn encode(fixed: &[u8], fixed_columns: usize, columns: &[Vec<u8>]) -> Vec<u8> {
    let count = fixed_columns + columns.len();
    let mut row = vec![0x30, 0];
    row.extend((4 + fixed.len() as u16).to_le_bytes());
    row.extend(fixed);
    row.extend((count as u16).to_le_bytes());
    row.extend(vec![0u8; count.div_ceil(8)]);
    row.extend((columns.len() as u16).to_le_bytes());
    let mut end = row.len() + 2 * columns.len();
    for c in columns {
        end += c.len();
        row.extend((end as u16).to_le_bytes());
    }
    for c in columns {
        row.extend(c);
    }
    row
}

fn utf16(b: &[u8]) -> String {
    let units: Vec<u16> = b
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .collect();
    String::from_utf16_lossy(&units)
}

/// The variable-length columns of a FixedVar row.
pub fn variable_columns(row: &[u8]) -> FormatResult<Vec<&[u8]>> {
    let mut at = usize::from(u16_at(row, 2)?);
    let columns = usize::from(u16_at(row, at)?);
    at += 2 + columns.div_ceil(8);
    let count = usize::from(u16_at(row, at)?);
    at += 2;
    let mut start = at + 2 * count;
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let end = usize::from(u16_at(row, at + 2 * i)? & 0x7fff);
        out.push(
            row.get(start..end)
                .ok_or(FormatError::Corrupt("variable column end offset"))?,
        );
        start = end;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
