//! Who owns what: the allocation maps of a file, and the extents and single pages that IAM pages claim in it.

use std::collections::BTreeMap;
use std::fmt::Display;

use duramen_base::messages::{self};
use duramen_base::{AllocUnitId, EXTENT_PAGES, PageId};
use duramen_format::PageBytes;
use duramen_format::alloc::{
    GAM_INTERVAL, Iam, PFS_INTERVAL, bit_get, diff_page_of, gam_page_of, pfs, pfs_get, pfs_page_of,
    sgam_page_of,
};
use duramen_format::page::{PageRef, page_type};

use super::finding::of_nobody;
use super::schema::Schema;
use super::source::DataFile;

/// The maps of one file that could be read; each under its own page number.
#[derive(Default)]
pub(super) struct Maps {
    pfs: BTreeMap<u32, Box<PageBytes>>,
    gam: BTreeMap<u32, Box<PageBytes>>,
    sgam: BTreeMap<u32, Box<PageBytes>>,
    diff: BTreeMap<u32, Box<PageBytes>>,
    /// Uniform extents, by extent number.
    pub extents: BTreeMap<u32, Owner>,
    /// Pages of mixed extents.
    pub singles: BTreeMap<u32, Owner>,
    /// IAM pages, which nobody lists.
    pub iams: BTreeMap<u32, AllocUnitId>,
}

/// Who says so, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub unit: AllocUnitId,
    pub iam: PageId,
}

/// A bit of a map that may be missing.
pub(super) type Bit = Option<bool>;

impl Maps {
    /// Reads the maps of a file and reports those that are none.
    pub fn read(file: &mut DataFile, schema: &Schema) -> Maps {
        let mut maps = Maps::default();
        for first in (0..file.pages).step_by(PFS_INTERVAL as usize) {
            let at = pfs_page_of(first);
            if let Some(page) = map_page(file, at, page_type::PFS, schema) {
                maps.pfs.insert(at, page);
            }
        }
        for first in (0..file.pages).step_by(GAM_INTERVAL as usize) {
            let at = gam_page_of(first);
            if let Some(page) = map_page(file, at, page_type::GAM, schema) {
                maps.gam.insert(at, page);
            }
            let at = sgam_page_of(first);
            if let Some(page) = map_page(file, at, page_type::SGAM, schema) {
                maps.sgam.insert(at, page);
            }
            let at = diff_page_of(first);
            // What is wrong with it is said where the other pages are checked.
            if let Some(page) = file.read(at).filter(|p| {
                let p = PageRef::new(p);
                p.page_id() == file.page_id(at) && p.page_type() == page_type::DIFF_MAP
            }) {
                maps.diff.insert(at, page);
            }
        }
        maps
    }

    /// The PFS byte of a page; `None` when its PFS page could not be read.
    pub fn pfs(&self, page: u32) -> Option<u8> {
        self.pfs.get(&pfs_page_of(page)).map(|p| pfs_get(p, page))
    }

    pub fn is_allocated(&self, page: u32) -> bool {
        self.pfs(page).is_some_and(|b| b & pfs::ALLOCATED != 0)
    }

    /// Whether the GAM says that the extent is free.
    pub fn is_free(&self, extent: u32) -> Bit {
        let page = extent * EXTENT_PAGES;
        let map = self.gam.get(&gam_page_of(page))?;
        Some(bit_get(map, page % GAM_INTERVAL / EXTENT_PAGES))
    }

    /// Whether the DIFF map says that the extent of a page has changed.
    pub fn has_changed(&self, page: u32) -> Bit {
        let map = self.diff.get(&diff_page_of(page))?;
        Some(bit_get(map, page % GAM_INTERVAL / EXTENT_PAGES))
    }

    /// Whether the SGAM lists the extent as mixed with room.
    pub fn is_mixed(&self, extent: u32) -> Bit {
        let page = extent * EXTENT_PAGES;
        let map = self.sgam.get(&sgam_page_of(page))?;
        Some(bit_get(map, page % GAM_INTERVAL / EXTENT_PAGES))
    }

    /// Who has a page.
    pub fn owner_of(&self, page: u32) -> Option<Owner> {
        let single = self.singles.get(&page);
        single
            .or_else(|| self.extents.get(&(page / EXTENT_PAGES)))
            .copied()
    }

    /// The pages of a unit that are in use.
    pub fn pages_of(&self, unit: AllocUnitId) -> impl Iterator<Item = u32> + '_ {
        let extents = self.extents.iter().filter(move |(_, o)| o.unit == unit);
        let pages = extents.flat_map(|(e, _)| e * EXTENT_PAGES..(e + 1) * EXTENT_PAGES);
        let singles = self.singles.iter().filter(move |(_, o)| o.unit == unit);
        pages
            .chain(singles.map(|(n, _)| *n))
            .filter(|n| self.is_allocated(*n))
    }

    /// The IAM pages that the PFS lists.
    pub fn iam_pages(&self, pages: u32) -> Vec<u32> {
        const IAM: u8 = pfs::IAM | pfs::ALLOCATED;
        (0..pages)
            .filter(|n| self.pfs(*n).is_some_and(|b| b & IAM == IAM))
            .collect()
    }
}

fn map_page(file: &mut DataFile, at: u32, kind: u8, schema: &Schema) -> Option<Box<PageBytes>> {
    if at >= file.pages {
        return None;
    }
    let id = file.page_id(at);
    let page = file.sound_page(at);
    let sound = page.filter(|p| PageRef::new(p).page_type() == kind);
    if sound.is_none() {
        let interval = match kind {
            page_type::PFS => PFS_INTERVAL,
            _ => GAM_INTERVAL,
        };
        let first = at / interval * interval;
        let last = file.pages.min(first.saturating_add(interval)) - 1;
        let (first, last) = (file.page_id(first), file.page_id(last));
        let args: [&dyn Display; 3] = [&schema.database, &first, &last];
        let f = of_nobody(&messages::CHECK_MAPS_DAMAGED, Some(id), &args);
        file.report.push(f);
    }
    sound
}

/// Reads every IAM page of the database's files and enters what they claim, wherever it lies. The answer: the IAM pages
/// with which chains begin, and whose they are.
pub(super) fn read_owners(
    files: &mut [DataFile],
    maps: &mut [Maps],
    schema: &Schema,
) -> BTreeMap<PageId, AllocUnitId> {
    let mut next = Vec::new();
    let mut intervals: BTreeMap<(AllocUnitId, PageId), PageId> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    let mut sequences = BTreeMap::new();
    let mut previous = BTreeMap::new();
    for f in 0..files.len() {
        for n in maps[f].iam_pages(files[f].pages) {
            let Some(page) = files[f].sound_page(n) else {
                continue;
            };
            let id = files[f].page_id(n);
            let Ok(iam) = Iam::new(&page) else {
                let byte = maps[f].pfs(n).unwrap_or(0);
                let at = files[f].page_id(pfs_page_of(n));
                let (byte, expected) = (format!("{byte:x}"), format!("{:x}", byte & !pfs::IAM));
                let args: [&dyn Display; 4] = [&id, &at, &byte, &expected];
                let found = of_nobody(&messages::CHECK_PFS_TYPE, Some(id), &args);
                files[f].report.push(found);
                continue;
            };
            let owner = Owner {
                unit: PageRef::new(&page).alloc_unit(),
                iam: id,
            };
            seen.insert(id, owner.unit);
            maps[f].iams.insert(n, owner.unit);
            sequences.insert(id, iam.sequence());
            previous.insert(id, PageRef::new(&page).prev_page());
            if let Some(other) = intervals.insert((owner.unit, iam.start()), id) {
                let whose = schema.whose(owner.unit);
                let args: [&dyn Display; 2] = [&other, &id];
                let found = whose.finding(&messages::CHECK_IAM_INTERVAL_TWICE, Some(id), &args);
                files[f].report.push(found);
            }
            if !iam.next().is_null() {
                next.push((f, id, iam.next(), owner.unit));
            }
            enter(files, maps, f, &iam, owner, schema);
        }
    }
    let known: Vec<u16> = files.iter().map(DataFile::id).collect();
    let mut heads = seen.clone();
    for (f, id, to, unit) in next {
        heads.remove(&to);
        // A file that is not here cannot be judged.
        if !known.contains(&to.file) {
            continue;
        }
        let whose = schema.whose(unit);
        match seen.get(&to) {
            None => {
                let found =
                    whose.finding_after(&messages::CHECK_IAM_NEXT, Some(id), &[&to, &id], &[]);
                files[f].report.push(found);
            }
            Some(other) if *other != unit => {
                let of = schema.whose(*other);
                let kind = of.kind_name();
                let AllocUnitId(own) = of.unit;
                let rest: [&dyn Display; 7] =
                    [&to, &of.object, &of.index, &of.partition, &own, &kind, &id];
                // The IAM page is named first, whose it is, and then whose chain it was found in.
                let w = whose;
                let AllocUnitId(unit) = w.unit;
                let chain = w.kind_name();
                let args: [&dyn Display; 12] = [
                    rest[0],
                    rest[1],
                    rest[2],
                    rest[3],
                    rest[4],
                    rest[5],
                    &w.object,
                    &w.index,
                    &w.partition,
                    &unit,
                    &chain,
                    rest[6],
                ];
                let found = of_nobody(&messages::CHECK_IAM_OF_ANOTHER, Some(id), &args);
                files[f].report.push(found);
            }
            Some(_) if files[f].header.own => {
                let (a, b) = (sequences[&id], sequences[&to]);
                if u32::checked_add(a, 1) != Some(b) {
                    let args: [&dyn Display; 4] = [&id, &a, &to, &b];
                    let found = whose.finding(&messages::CHECK_IAM_SEQUENCE, Some(id), &args);
                    files[f].report.push(found);
                }
                let back = previous[&to];
                // Our chains have links forward only.
                if !PageId::is_null(back) && back != id {
                    let args: [&dyn Display; 4] = [&id, &to, &to, &back];
                    let found = whose.finding(&messages::CHECK_IAM_LINKAGE, Some(id), &args);
                    files[f].report.push(found);
                }
            }
            Some(_) => {}
        }
    }
    heads
}

fn enter(
    files: &mut [DataFile],
    maps: &mut [Maps],
    at: usize,
    iam: &Iam<'_>,
    owner: Owner,
    schema: &Schema,
) {
    for single in iam.singles() {
        let Some(f) = files.iter().position(|f| f.id() == single.file) else {
            continue;
        };
        if single.page >= files[f].pages {
            out_of_range(&mut files[at], owner, single, schema);
        } else if let Some(other) = maps[f].singles.insert(single.page, owner) {
            let found = schema.two_owners(single, other.unit, owner.unit);
            files[f].report.push(found);
        }
    }
    let start = iam.start();
    let Some(f) = files.iter().position(|f| f.id() == start.file) else {
        return;
    };
    if !start.page.is_multiple_of(GAM_INTERVAL) {
        let args: [&dyn Display; 3] = [&owner.iam, &"IAM_PAGE", &page_type::IAM];
        let found = of_nobody(&messages::CHECK_ALLOCATION_PAGE, Some(owner.iam), &args);
        files[at].report.push(found);
        return;
    }
    for first in iam.extents() {
        if first.page >= files[f].pages {
            out_of_range(&mut files[at], owner, first, schema);
            return;
        }
        let extent = first.page / EXTENT_PAGES;
        if maps[f].extents.insert(extent, owner).is_some() {
            let args: [&dyn Display; 2] = [&first, &schema.database];
            let found = of_nobody(&messages::CHECK_EXTENT_TWICE, Some(first), &args);
            files[f].report.push(found);
        }
    }
}

/// 2579
fn out_of_range(file: &mut DataFile, owner: Owner, page: PageId, schema: &Schema) {
    let whose = schema.whose(owner.unit);
    let message = &messages::CHECK_EXTENT_BEYOND;
    let found = whose.finding_after(message, Some(owner.iam), &[&page], &[]);
    file.report.push(found);
}
