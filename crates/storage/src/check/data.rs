//! The data files of one database: extents against their owners, then every page in use.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, EXTENT_PAGES, Lsn, PageId};

use super::catalog::{self, Counted};
use super::maps::{Maps, read_owners};
use super::source::{DataFile, verify_page};
use super::{FileReport, number};
use crate::format::PageBytes;
use crate::format::alloc::{GAM_INTERVAL, PFS_INTERVAL, is_fixed_page, pfs};
use crate::format::boot::{BOOT_PAGE, Boot};
use crate::format::file_table::FILE_TABLE_PAGES;
use crate::format::page::{PageRef, page_type, restore_torn_bits};

/// Checks files that belong together.
pub(super) fn check(mut files: Vec<DataFile>) -> Vec<FileReport> {
    let mut maps: Vec<Maps> = files.iter_mut().map(Maps::read).collect();
    let heads = read_owners(&mut files, &mut maps);
    let base = catalog::differential_base(&files);
    let mut counts = BTreeMap::new();
    for (file, maps) in files.iter_mut().zip(&maps) {
        check_extents(file, maps);
        check_pages(file, maps, base, &mut counts);
    }
    catalog::check(&mut files, &heads, &counts);
    files.into_iter().map(|f| f.report).collect()
}

/// Pages that nobody owns and that no map need list: the maps, the header, the boot page, and what stands beside it:
/// master's configuration page, the file table of our own files.
fn is_unowned(id: PageId, own: bool) -> bool {
    let last = if own { FILE_TABLE_PAGES.end - 1 } else { 10 };
    is_fixed_page(id.page) || id.file == 1 && (8..=last).contains(&id.page)
}

fn check_extents(file: &mut DataFile, maps: &Maps) {
    for extent in 0..file.pages / EXTENT_PAGES {
        let first = extent * EXTENT_PAGES;
        let id = file.page_id(first);
        let (Some(free), Some(mixed)) = (maps.is_free(extent), maps.is_mixed(extent)) else {
            continue;
        };
        let owner = maps.extents.get(&extent);
        if free && mixed {
            let text = format!("Extent {id} is free in the GAM and mixed in the SGAM.");
            file.report.add(number::FREE_AND_MIXED, Some(id), text);
        }
        if let Some(owner) = owner
            && (free || mixed)
        {
            let whose = if free {
                "free in the GAM"
            } else {
                "mixed in the SGAM"
            };
            let text = format!(
                "Extent {id} belongs to IAM page {} and is {whose}.",
                owner.iam
            );
            file.report.add(number::TWO_EXTENT_OWNERS, Some(id), text);
        }
        let mut pages = first..first + EXTENT_PAGES;
        if pages
            .clone()
            .any(|n| is_unowned(file.page_id(n), file.header.own))
        {
            continue;
        }
        let pfs_known = maps.pfs(first).is_some();
        let used = pages.any(|n| maps.is_allocated(n) || maps.singles.contains_key(&n));
        if pfs_known && !free && !mixed && owner.is_none() && !used {
            let text = format!("Extent {id} is in use by the GAM, and neither mixed nor owned.");
            file.report.add(number::EXTENT_OF_NOBODY, Some(id), text);
        }
    }
}

fn check_pages(
    file: &mut DataFile,
    maps: &Maps,
    base: Option<Lsn>,
    counts: &mut BTreeMap<AllocUnitId, Counted>,
) {
    let (id, own) = (file.id(), file.header.own);
    let (mut checked, mut unprotected) = (0u64, 0u64);
    let total = file.pages;
    let wanted = |n: u32| match fixed_type(id, n) {
        Some(_) => true,
        None => !is_fixed_page(n) && (maps.is_allocated(n) || maps.singles.contains_key(&n)),
    };
    file.for_pages(wanted, |report, n, page| {
        let page_id = PageId::new(id, n);
        checked += 1;
        // Header, maps and IAM pages were verified, and reported, when they were read.
        let reported = report.findings.iter().any(|f| f.page == Some(page_id));
        if reported && is_map(page_id, maps) {
            return;
        }
        if fixed_type(id, n).is_none() {
            check_owner(report, maps, page_id, own);
        }
        if !verify_page(report, page, page_id, own) {
            return;
        }
        restore_torn_bits(page);
        unprotected += u64::from(PageRef::new(page).flags() & 0x300 == 0);
        check_page(report, maps, page_id, page);
        if base.is_some_and(|base| PageRef::new(page).lsn() > base)
            && maps.has_changed(n) == Some(false)
        {
            let text = format!("Page {page_id} has changed, and the DIFF map does not say so.");
            report.add(number::BAD_MAP, Some(page_id), text);
        }
        counts
            .entry(PageRef::new(page).alloc_unit())
            .or_default()
            .add(page, maps.pfs(n).unwrap_or(0));
    });
    let dialect = if own { "" } else { "foreign " };
    file.report.summary = format!("{dialect}data file {id}: {checked} of {total} pages checked");
    if unprotected > 0 {
        let note = format!("{unprotected} pages carry neither checksum nor torn bits");
        file.report.notes.push(note);
    }
}

fn is_map(id: PageId, maps: &Maps) -> bool {
    let known = |kind| {
        matches!(
            kind,
            page_type::FILE_HEADER | page_type::PFS | page_type::GAM | page_type::SGAM
        )
    };
    fixed_type(id.file, id.page).is_some_and(known)
        || maps.pfs(id.page).is_some_and(|b| b & pfs::IAM != 0)
}

/// What stands at a place that every file uses alike.
fn fixed_type(file: u16, page: u32) -> Option<u8> {
    match (page, page % GAM_INTERVAL) {
        (0, _) => Some(page_type::FILE_HEADER),
        (1, _) => Some(page_type::PFS),
        (4 | 5, _) => None,
        (2, _) => Some(page_type::GAM),
        (3, _) => Some(page_type::SGAM),
        (BOOT_PAGE, _) if file == 1 => Some(page_type::BOOT),
        (_, 0) => Some(page_type::GAM),
        (_, 1) => Some(page_type::SGAM),
        (_, 6) => Some(page_type::DIFF_MAP),
        (_, 7) => Some(page_type::ML_MAP),
        _ if page.is_multiple_of(PFS_INTERVAL) => Some(page_type::PFS),
        _ => None,
    }
}

/// A page in use has an owner.
fn check_owner(report: &mut FileReport, maps: &Maps, id: PageId, own: bool) {
    if is_unowned(id, own) {
        return;
    }
    let Some(byte) = maps.pfs(id.page) else {
        return;
    };
    let in_extent = maps.extents.get(&(id.page / EXTENT_PAGES));
    let single = maps.singles.get(&id.page);
    if let (Some(extent), Some(single)) = (in_extent, single) {
        let text = format!(
            "Page {id} is a single page of IAM page {} in an extent of IAM page {}.",
            single.iam, extent.iam
        );
        report.add(number::TWO_PAGE_OWNERS, Some(id), text);
    }
    if single.is_some() && byte & pfs::ALLOCATED == 0 {
        let text = format!("Page {id} is owned, and not in use by its PFS byte {byte:#04x}.");
        report.add(number::WRONG_PFS, Some(id), text);
    }
    // IAM pages are not listed by themselves.
    if in_extent.is_none() && single.is_none() && byte & pfs::IAM == 0 {
        let text = format!("Page {id} is in use (PFS byte {byte:#04x}), and no IAM page lists it.");
        report.add(number::PAGE_OF_NOBODY, Some(id), text);
    }
}

/// A sound page against its place, its owner and itself.
fn check_page(report: &mut FileReport, maps: &Maps, id: PageId, page: &PageBytes) {
    let p = PageRef::new(page);
    let kind = p.page_type();
    if let Some(expected) = fixed_type(id.file, id.page)
        && kind != expected
    {
        let text = format!("Page {id} has type {kind}, and its place is for type {expected}.");
        report.add(number::BAD_MAP, Some(id), text);
        return;
    }
    if kind == page_type::BOOT && id == PageId::new(1, BOOT_PAGE) {
        if let Err(e) = Boot::read(page) {
            let text = format!("The boot page {id} is not one: {e}.");
            report.add(number::BAD_MAP, Some(id), text);
        }
        return;
    }
    let listed_as_iam = maps.pfs(id.page).is_some_and(|b| b & pfs::IAM != 0);
    if kind == page_type::IAM && !listed_as_iam {
        let text = format!("Page {id} is an IAM page, and its PFS byte does not say so.");
        report.add(number::WRONG_PFS, Some(id), text);
    }
    let owner = maps.singles.get(&id.page);
    let owner = owner.or_else(|| maps.extents.get(&(id.page / EXTENT_PAGES)));
    if let Some(owner) = owner
        && !is_fixed_page(id.page)
        && p.alloc_unit() != owner.unit
    {
        let text = format!(
            "Page {id} of {:?} (IAM page {}) was not seen: its header says {:?}.",
            owner.unit,
            owner.iam,
            p.alloc_unit()
        );
        report.add(number::PAGE_NOT_SEEN, Some(id), text);
    }
    if matches!(
        kind,
        page_type::DATA | page_type::INDEX | page_type::TEXT_MIX | page_type::TEXT_TREE
    ) && let Err(e) = p.check()
    {
        report.add(number::BAD_STRUCTURE, Some(id), format!("Page {id}: {e}."));
    }
}
