//! Allocation units as sysallocunits lists them, and what every check reads of its own: the boot page, chains of rows.

use duramen_base::{AllocUnitId, Lsn, PageId};
use duramen_format::PageBytes;
use duramen_format::boot::{BOOT_PAGE, Boot};
use duramen_format::page::{PageRef, page_type};

use super::source::DataFile;

/// Places in a row of sysallocunits.
const UNIT_AT: usize = 4;
const UNIT_TYPE_AT: usize = 12;
const UNIT_OWNER_AT: usize = 13;
const FILEGROUP_AT: usize = 25;
const FIRST_AT: usize = 27;
const ROOT_AT: usize = 33;
const FIRST_IAM_AT: usize = 39;
const USED_AT: usize = 45;
const DATA_AT: usize = 53;
/// A chain of more pages than this runs in a circle.
const MAX_CHAIN: usize = 1 << 22;

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub id: AllocUnitId,
    pub kind: u8,
    pub owner: i64,
    pub filegroup: i16,
    pub first: PageId,
    pub root: PageId,
    pub first_iam: PageId,
    pub used: i64,
    pub data: i64,
    /// Where the row is.
    pub at: PageId,
}

/// The boot page, when it can be read.
pub(super) fn boot(files: &[DataFile]) -> Option<Boot> {
    let page = page(files, PageId::new(1, BOOT_PAGE))?;
    Boot::read(&page).ok()
}

/// The LSN since which the DIFF map tells changes, in a database of ours.
pub(super) fn differential_base(files: &[DataFile]) -> Option<Lsn> {
    let boot = boot(files)?;
    boot.own.map(|_| boot.differential_base_lsn)
}

pub(super) fn units(files: &[DataFile], first: PageId) -> Option<Vec<Unit>> {
    let rows = leaf_rows(files, first)?;
    rows.iter()
        .map(|(at, row)| {
            Some(Unit {
                at: *at,
                used: i64_at(row, USED_AT)?,
                data: i64_at(row, DATA_AT)?,
                id: AllocUnitId(i64_at(row, UNIT_AT)?),
                kind: *row.get(UNIT_TYPE_AT)?,
                owner: i64_at(row, UNIT_OWNER_AT)?,
                filegroup: i16::from_le_bytes(
                    row.get(FILEGROUP_AT..FILEGROUP_AT + 2)?.try_into().ok()?,
                ),
                first: PageId::from_bytes(row.get(FIRST_AT..FIRST_AT + 6)?)?,
                root: PageId::from_bytes(row.get(ROOT_AT..ROOT_AT + 6)?)?,
                first_iam: PageId::from_bytes(row.get(FIRST_IAM_AT..FIRST_IAM_AT + 6)?)?,
            })
        })
        .collect()
}

/// The rows of a chain of data pages; `None` when one of them cannot be read.
pub(super) fn leaf_rows(files: &[DataFile], first: PageId) -> Option<Vec<(PageId, Vec<u8>)>> {
    let mut rows = Vec::new();
    let mut at = first;
    for _ in 0..MAX_CHAIN {
        if at.is_null() {
            return Some(rows);
        }
        let bytes = page(files, at)?;
        let p = PageRef::new(&bytes);
        if p.page_type() != page_type::DATA {
            return None;
        }
        for slot in 0..p.slot_count() {
            let row = p.expect_record(slot).ok()?;
            if !row.is_ghost() {
                rows.push((at, row.to_vec()));
            }
        }
        at = p.next_page();
    }
    None
}

/// A page, when it is there, sound and itself. What is wrong with it has been said already.
pub(super) fn page(files: &[DataFile], id: PageId) -> Option<Box<PageBytes>> {
    let file = files.iter().find(|f| f.id() == id.file)?;
    file.read(id.page)
        .filter(|p| PageRef::new(p).page_id() == id)
}

pub(super) fn i64_at(row: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?))
}
