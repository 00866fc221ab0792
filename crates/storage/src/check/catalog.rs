//! What sysallocunits and sysrowsets say of allocation units, against the units that are there.
//!
//! The two tables are read as raw rows, whose fields stand at the same places in every version; trees are not descended,
//! their leaf chains are followed from the first page. Where a page of them cannot be read, nothing is concluded.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, Lsn, PageId};

use super::number;
use super::source::DataFile;
use crate::format::PageBytes;
use crate::format::alloc::pfs;
use crate::format::boot::{BOOT_PAGE, Boot};
use crate::format::page::{PageRef, is_ghost, kind_of, page_type, record_kind};
use crate::free_space::class_of;

/// Places in a row of sysallocunits, and in one of sysrowsets.
const UNIT_AT: usize = 4;
const UNIT_TYPE_AT: usize = 12;
const UNIT_OWNER_AT: usize = 13;
const FIRST_AT: usize = 27;
const FIRST_IAM_AT: usize = 39;
const USED_AT: usize = 45;
const DATA_AT: usize = 53;
const ROWSET_AT: usize = 4;
const INDEX_ID_AT: usize = 17;
const ROWS_AT: usize = 31;
/// `type` of the unit that has the rows.
const IN_ROW_DATA: u8 = 1;
/// sysrowsets' own rowset.
const SYSROWSETS: i64 = 5 << 16;
/// A chain of more pages than this runs in a circle.
const MAX_CHAIN: usize = 1 << 22;
/// Pages with a wrong class that are remembered of a unit: B-trees, which keep no class, have them all.
const MAX_WRONG: usize = 16;

/// Rows of one allocation unit, found on its pages.
#[derive(Clone, Default, Debug)]
pub(super) struct Counted {
    /// On data pages; forwarded rows are counted where their stub is.
    data: i64,
    /// On index pages of level 0: the rows of a nonclustered index. (Inner pages of a clustered one may say 0 as well.)
    index: i64,
    data_pages: u64,
    index_pages: u64,
    text_pages: u64,
    /// All, IAM pages included.
    pages: u64,
    /// Pages whose class of fullness is not what the PFS says, the first of them: page, PFS class, class.
    wrong_class: Vec<(PageId, u8, u8)>,
}

impl Counted {
    /// Counts a sound page, whose PFS byte this is.
    pub fn add(&mut self, page: &PageBytes, byte: u8) {
        let p = PageRef::new(page);
        let (said, class) = (byte & pfs::FULLNESS, class_of(p));
        let kept = matches!(
            p.page_type(),
            page_type::DATA | page_type::TEXT_MIX | page_type::TEXT_TREE
        );
        if kept && said != class && self.wrong_class.len() < MAX_WRONG {
            self.wrong_class.push((p.page_id(), said, class));
        }
        let is_row = |r: &[u8]| {
            r.first()
                .is_some_and(|s| !is_ghost(*s) && kind_of(*s) != record_kind::FORWARDED)
        };
        let rows = || {
            let found =
                (0..p.slot_count()).filter(|s| matches!(p.record(*s), Ok(Some(r)) if is_row(r)));
            found.count() as i64
        };
        self.pages += 1;
        match p.page_type() {
            page_type::TEXT_MIX | page_type::TEXT_TREE => self.text_pages += 1,
            page_type::DATA => {
                self.data += rows();
                self.data_pages += 1;
            }
            page_type::INDEX if p.level() == 0 => {
                self.index += rows();
                self.index_pages += 1;
            }
            _ => {}
        }
    }

    /// `pcdata`
    fn leaves(&self) -> u64 {
        match (self.data_pages, self.text_pages) {
            (0, 0) => self.index_pages,
            (data, text) => data + text,
        }
    }

    fn rows(&self) -> i64 {
        if self.data_pages > 0 {
            self.data
        } else {
            self.index
        }
    }
}

struct Unit {
    id: AllocUnitId,
    kind: u8,
    owner: i64,
    first: PageId,
    first_iam: PageId,
    used: i64,
    data: i64,
    /// Where the row is.
    at: PageId,
}

/// The LSN since which the DIFF map tells changes, in a database of ours.
pub(super) fn differential_base(files: &[DataFile]) -> Option<Lsn> {
    let page = page(files, PageId::new(1, BOOT_PAGE))?;
    let boot = Boot::read(&page).ok()?;
    boot.own.map(|_| boot.differential_base_lsn)
}

/// Compares. `heads`: where IAM chains begin.
pub(super) fn check(
    files: &mut [DataFile],
    heads: &BTreeMap<PageId, AllocUnitId>,
    counts: &BTreeMap<AllocUnitId, Counted>,
) {
    let Some(boot) = page(files, PageId::new(1, BOOT_PAGE)).and_then(|p| Boot::read(&p).ok())
    else {
        return;
    };
    // A database that has no table yet has nothing to compare with.
    if boot.first_sysallocunits.is_null() {
        return;
    }
    let Some(units) = units(files, boot.first_sysallocunits) else {
        return;
    };
    check_chains(files, heads, &units);
    // Of a database that was not closed the log knows the counts.
    if boot.own.as_ref().is_none_or(|own| own.closed) {
        check_counts(files, &units, counts);
    }
}

fn check_chains(files: &mut [DataFile], heads: &BTreeMap<PageId, AllocUnitId>, units: &[Unit]) {
    let begins: BTreeMap<PageId, AllocUnitId> = units
        .iter()
        .filter(|u| !u.first_iam.is_null())
        .map(|u| (u.first_iam, u.id))
        .collect();
    for (id, unit) in heads {
        if begins.get(id) != Some(unit) {
            let text = format!(
                "IAM page {id} of {unit:?} begins a chain that no unit of the catalog has."
            );
            add(files, *id, number::PAGE_OF_NOBODY, text);
        }
    }
    for (id, unit) in begins {
        if !heads.contains_key(&id) {
            let text =
                format!("{unit:?} begins with IAM page {id}, which is none, or not the first.");
            add(files, id, number::IAM_CHAIN, text);
        }
    }
}

fn check_counts(files: &mut [DataFile], units: &[Unit], counts: &BTreeMap<AllocUnitId, Counted>) {
    for unit in units.iter().filter(|u| !u.first_iam.is_null()) {
        let found = counts.get(&unit.id).cloned().unwrap_or_default();
        let pages = (found.pages as i64, found.leaves() as i64);
        if pages != (unit.used, unit.data) && files.iter().all(|f| f.header.own) {
            let text = format!(
                "{:?} uses {} pages, {} of them for data; sysallocunits says {} and {}.",
                unit.id, pages.0, pages.1, unit.used, unit.data
            );
            add(files, unit.at, number::WRONG_COUNT, text);
        }
    }
    let in_row = |u: &&Unit| u.kind == IN_ROW_DATA;
    let first = units.iter().filter(in_row).find(|u| u.owner == SYSROWSETS);
    let Some(rowsets) = first.and_then(|u| leaf_rows(files, u.first)) else {
        return;
    };
    let stored: BTreeMap<i64, (PageId, i64)> = rowsets
        .iter()
        .filter_map(|(id, row)| Some((i64_at(row, ROWSET_AT)?, (*id, i64_at(row, ROWS_AT)?))))
        .collect();
    let heaps: Vec<i64> = rowsets
        .iter()
        .filter(|(_, row)| row.get(INDEX_ID_AT..INDEX_ID_AT + 4) == Some(&[0; 4]))
        .filter_map(|(_, row)| i64_at(row, ROWSET_AT))
        .collect();
    let kept = |u: &&Unit| u.kind != IN_ROW_DATA || heaps.contains(&u.owner);
    for unit in units.iter().filter(kept) {
        for (id, said, class) in counts.get(&unit.id).map_or(&[][..], |c| &c.wrong_class) {
            // The rules of others are not known well enough.
            if files.iter().any(|f| f.id() == id.file && f.header.own) {
                let text = format!(
                    "The free space of page {id} is of class {class}, and of class {said} in the PFS."
                );
                add(files, *id, number::WRONG_FREE_SPACE, text);
            }
        }
    }
    for unit in units.iter().filter(in_row) {
        let found = counts.get(&unit.id).map_or(0, Counted::rows);
        if let Some((id, said)) = stored.get(&unit.owner)
            && *said != found
        {
            let text = format!(
                "{:?} has {found} rows, and sysrowsets says {said}.",
                unit.id
            );
            add(files, *id, number::WRONG_COUNT, text);
        }
    }
}

fn add(files: &mut [DataFile], id: PageId, number: u32, text: String) {
    if let Some(file) = files.iter_mut().find(|f| f.id() == id.file) {
        file.report.add(number, Some(id), text);
    }
}

fn i64_at(row: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?))
}

fn units(files: &[DataFile], first: PageId) -> Option<Vec<Unit>> {
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
                first: PageId::from_bytes(row.get(FIRST_AT..FIRST_AT + 6)?)?,
                first_iam: PageId::from_bytes(row.get(FIRST_IAM_AT..FIRST_IAM_AT + 6)?)?,
            })
        })
        .collect()
}

/// The rows of a chain of data pages; `None` when one of them cannot be read.
fn leaf_rows(files: &[DataFile], first: PageId) -> Option<Vec<(PageId, Vec<u8>)>> {
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
            if !is_ghost(*row.first()?) {
                rows.push((at, row.to_vec()));
            }
        }
        at = p.next_page();
    }
    None
}

/// A page, when it is there, sound and itself. What is wrong with it has been said already.
fn page(files: &[DataFile], id: PageId) -> Option<Box<PageBytes>> {
    let file = files.iter().find(|f| f.id() == id.file)?;
    file.read(id.page)
        .filter(|p| PageRef::new(p).page_id() == id)
}
