//! What sysallocunits and sysrowsets say of allocation units, against the units that are there.
//!
//! The two tables are read as raw rows, whose fields stand at the same places in every version; trees are not descended,
//! their leaf chains are followed from the first page. Where a page of them cannot be read, nothing is concluded.

use std::collections::BTreeMap;
use std::fmt::Display;

use duramen_base::messages::{self};
use duramen_base::{AllocUnitId, Lsn, PageId};

use super::data::fullness_name;
use super::facts::Facts;
use super::finding::{Finding, of_nobody};
use super::schema::Schema;
use super::source::DataFile;
use crate::format::PageBytes;
use crate::format::alloc::{pfs, pfs_page_of, sgam_page_of};
use crate::format::boot::{BOOT_PAGE, Boot};
use crate::format::page::{PageRef, is_ghost, kind_of, page_type, record_kind};
use crate::free_space::class_of;

/// Places in a row of sysallocunits, and in one of sysrowsets.
const UNIT_AT: usize = 4;
const UNIT_TYPE_AT: usize = 12;
const UNIT_OWNER_AT: usize = 13;
const FILEGROUP_AT: usize = 25;
const FIRST_AT: usize = 27;
const ROOT_AT: usize = 33;
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

    pub fn merge(&mut self, other: Counted) {
        self.data += other.data;
        self.index += other.index;
        self.data_pages += other.data_pages;
        self.index_pages += other.index_pages;
        self.text_pages += other.text_pages;
        self.pages += other.pages;
        self.wrong_class.extend(other.wrong_class);
        self.wrong_class.sort_unstable();
        self.wrong_class.truncate(MAX_WRONG);
    }

    /// `pcdata`
    pub fn leaves(&self) -> u64 {
        match (self.data_pages, self.text_pages) {
            (0, 0) => self.index_pages,
            (data, text) => data + text,
        }
    }

    pub fn rows(&self) -> i64 {
        if self.data_pages > 0 {
            self.data
        } else {
            self.index
        }
    }
}

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

/// Chains of IAM pages begin where the catalog says. `heads`: where they begin.
pub(super) fn check_chains(
    schema: &Schema,
    heads: &BTreeMap<PageId, AllocUnitId>,
    units: &[Unit],
) -> Vec<Finding> {
    let mut out = Vec::new();
    let begins: BTreeMap<PageId, AllocUnitId> = units
        .iter()
        .filter(|u| !u.first_iam.is_null())
        .map(|u| (u.first_iam, u.id))
        .collect();
    for (id, unit) in heads {
        if begins.get(id) != Some(unit) {
            // Nobody leads to the page.
            let sgam = PageId::new(id.file, sgam_page_of(id.page));
            let pfs = PageId::new(id.file, pfs_page_of(id.page));
            let args: [&dyn Display; 5] = [id, &schema.database, &sgam, &pfs, &"IAM_PG"];
            out.push(of_nobody(&messages::CHECK_PAGE_OF_NOBODY, Some(*id), &args));
        }
    }
    for (id, unit) in begins {
        if heads.get(&id) != Some(&unit) {
            let whose = schema.whose(unit);
            let none = PageId::NULL;
            let message = &messages::CHECK_IAM_NEXT;
            out.push(whose.finding_after(message, Some(id), &[&id, &none], &[]));
        }
    }
    out
}

/// 2508: counts of rows and pages; 8914: how full the PFS says that pages are.
pub(super) fn check_counts(
    files: &[DataFile],
    schema: &Schema,
    units: &[Unit],
    facts: &Facts,
    all: &[Unit],
) -> Vec<Finding> {
    let mut out = Vec::new();
    let own = files.iter().all(|f| f.header.own);
    let empty = Counted::default();
    let counted = |unit: &Unit| facts.units.get(&unit.id).map_or(&empty, |u| &u.counted);
    let wrong = |unit: &Unit, at: PageId, what: &str| {
        let whose = schema.whose(unit.id);
        let name = schema.name_of(whose.object);
        let (AllocUnitId(id), kind) = (unit.id, whose.kind_name());
        let args: [&dyn Display; 6] = [&what, &name, &whose.index, &whose.partition, &id, &kind];
        Finding {
            object: (whose.object != 0).then_some(whose.object),
            unit: Some((whose.index, whose.partition, id)),
            ..of_nobody(&messages::CHECK_WRONG_COUNT, Some(at), &args)
        }
    };
    // What hangs on a page that could not be read is not judged.
    let whole = |unit: &Unit| facts.units.get(&unit.id).is_none_or(|u| !u.incomplete);
    for unit in units
        .iter()
        .filter(|u| own && !u.first_iam.is_null() && whole(u))
    {
        let found = counted(unit);
        if found.pages as i64 != unit.used {
            out.push(wrong(unit, unit.at, "USED page"));
        }
        if found.leaves() as i64 != unit.data {
            let what = match unit.kind {
                IN_ROW_DATA => "In-row data USED page",
                _ => "LOB data USED page",
            };
            out.push(wrong(unit, unit.at, what));
        }
    }
    let in_row = |u: &&Unit| u.kind == IN_ROW_DATA;
    let first = all.iter().filter(in_row).find(|u| u.owner == SYSROWSETS);
    let Some(rowsets) = first.and_then(|u| leaf_rows(files, u.first)) else {
        return out;
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
        for (id, said, class) in &counted(unit).wrong_class {
            // The rules of others are not known well enough.
            if files.iter().any(|f| f.id() == id.file && f.header.own) {
                let whose = schema.whose(unit.id);
                let names: [&dyn Display; 2] = [&fullness_name(*class), &fullness_name(*said)];
                let message = &messages::CHECK_FREE_SPACE;
                out.push(whose.finding_after(message, Some(*id), &[id], &names));
            }
        }
    }
    for unit in units.iter().filter(in_row) {
        if let Some((id, said)) = stored.get(&unit.owner)
            && whole(unit)
            && *said != counted(unit).rows()
        {
            out.push(wrong(unit, *id, "ROW"));
        }
    }
    out
}

/// Whether base tables fit together: 8992 with 3853 and its like.
pub(super) fn check_catalog(files: &[DataFile], schema: &Schema, units: &[Unit]) -> Vec<Finding> {
    let mut out = Vec::new();
    if schema.tables.is_empty() || !files.iter().all(|f| f.header.own) {
        return out;
    }
    let mut add = |attribute: &str, row: String, table: &str, wanted: String, other: &str| {
        let args: [&dyn Display; 7] = [&attribute, &row, &table, &"", &wanted, &other, &""];
        let text = messages::format_message(messages::CHECK_NO_MATCHING_ROW.text, &args);
        let number = messages::CHECK_NO_MATCHING_ROW.number;
        let args: [&dyn Display; 3] = [&number, &1, &text];
        out.push(of_nobody(&messages::CHECK_CATALOG_MESSAGE, None, &args));
    };
    for unit in units {
        if schema.of(unit.id).is_none() {
            let AllocUnitId(id) = unit.id;
            let owner = unit.owner;
            let row = format!("allocation_unit_id={id}");
            add(
                "owner",
                row,
                "allocation_units",
                format!("hobt_id={owner}"),
                "partitions",
            );
        }
    }
    for (table, key, object) in &schema.orphans {
        let wanted = format!("object_id={object}");
        add("object_id", key.clone(), table, wanted, "objects");
    }
    for (object, table) in &schema.without_schema {
        let row = format!("object_id={object}");
        add(
            "schema_id",
            row,
            "objects",
            format!("schema_id={table}"),
            "schemas",
        );
    }
    out
}

fn i64_at(row: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?))
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
            if !is_ghost(*row.first()?) {
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
