//! Who owns what: the allocation maps of a file, and the extents and single pages that IAM pages claim in it.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, EXTENT_PAGES, PageId};

use super::number;
use super::source::DataFile;
use crate::format::PageBytes;
use crate::format::alloc::{
    GAM_INTERVAL, Iam, PFS_INTERVAL, bit_get, diff_page_of, gam_page_of, pfs, pfs_get, pfs_page_of,
    sgam_page_of,
};
use crate::format::page::{PageRef, page_type};

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
    pub fn read(file: &mut DataFile) -> Maps {
        let mut maps = Maps::default();
        for first in (0..file.pages).step_by(PFS_INTERVAL as usize) {
            let at = pfs_page_of(first);
            if let Some(page) = map_page(file, at, page_type::PFS, "PFS") {
                maps.pfs.insert(at, page);
            }
        }
        for first in (0..file.pages).step_by(GAM_INTERVAL as usize) {
            let at = gam_page_of(first);
            if let Some(page) = map_page(file, at, page_type::GAM, "GAM") {
                maps.gam.insert(at, page);
            }
            let at = sgam_page_of(first);
            if let Some(page) = map_page(file, at, page_type::SGAM, "SGAM") {
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

    /// The IAM pages that the PFS lists.
    pub fn iam_pages(&self, pages: u32) -> Vec<u32> {
        const IAM: u8 = pfs::IAM | pfs::ALLOCATED;
        (0..pages)
            .filter(|n| self.pfs(*n).is_some_and(|b| b & IAM == IAM))
            .collect()
    }
}

fn map_page(file: &mut DataFile, at: u32, kind: u8, name: &str) -> Option<Box<PageBytes>> {
    if at >= file.pages {
        return None;
    }
    let id = file.page_id(at);
    let page = file.sound_page(at);
    let sound = page.filter(|p| PageRef::new(p).page_type() == kind);
    if sound.is_none() {
        let text = format!(
            "{name} page {id} is damaged: the allocation of what it covers cannot be checked."
        );
        file.report.add(number::NOT_CHECKED, Some(id), text);
    }
    sound
}

/// Reads every IAM page of the database's files and enters what they claim, wherever it lies. The answer: the IAM pages
/// with which chains begin, and whose they are.
pub(super) fn read_owners(
    files: &mut [DataFile],
    maps: &mut [Maps],
) -> BTreeMap<PageId, AllocUnitId> {
    let mut next = Vec::new();
    let mut seen = BTreeMap::new();
    let mut sequences = BTreeMap::new();
    for f in 0..files.len() {
        for n in maps[f].iam_pages(files[f].pages) {
            let Some(page) = files[f].sound_page(n) else {
                continue;
            };
            let id = files[f].page_id(n);
            let Ok(iam) = Iam::new(&page) else {
                let text = format!("Page {id} is an IAM page by its PFS byte only.");
                files[f].report.add(number::WRONG_PFS, Some(id), text);
                continue;
            };
            let owner = Owner {
                unit: PageRef::new(&page).alloc_unit(),
                iam: id,
            };
            seen.insert(id, owner.unit);
            sequences.insert(id, iam.sequence());
            if !iam.next().is_null() {
                next.push((f, id, iam.next(), owner.unit));
            }
            enter(files, maps, f, &iam, owner);
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
        if seen.get(&to) != Some(&unit) {
            let text =
                format!("IAM page {id} goes on at page {to}, which is no IAM page of {unit:?}.");
            files[f].report.add(number::IAM_CHAIN, Some(id), text);
        } else if files[f].header.own && sequences[&id].checked_add(1) != Some(sequences[&to]) {
            let text = format!(
                "IAM page {id} has number {}, and the next, {to}, has {}.",
                sequences[&id], sequences[&to]
            );
            files[f].report.add(number::IAM_SEQUENCE, Some(id), text);
        }
    }
    heads
}

fn enter(files: &mut [DataFile], maps: &mut [Maps], at: usize, iam: &Iam<'_>, owner: Owner) {
    for single in iam.singles() {
        let Some(f) = files.iter().position(|f| f.id() == single.file) else {
            continue;
        };
        if single.page >= files[f].pages {
            out_of_range(&mut files[at], owner, single);
        } else if let Some(other) = maps[f].singles.insert(single.page, owner) {
            let text = format!(
                "Page {single} belongs to IAM pages {} and {}.",
                other.iam, owner.iam
            );
            files[f]
                .report
                .add(number::TWO_PAGE_OWNERS, Some(single), text);
        }
    }
    let start = iam.start();
    let Some(f) = files.iter().position(|f| f.id() == start.file) else {
        return;
    };
    if !start.page.is_multiple_of(GAM_INTERVAL) {
        let text = format!("IAM page {} covers a range from {start}.", owner.iam);
        files[at].report.add(number::BAD_MAP, Some(owner.iam), text);
        return;
    }
    for first in iam.extents() {
        if first.page >= files[f].pages {
            out_of_range(&mut files[at], owner, first);
            return;
        }
        if let Some(other) = maps[f].extents.insert(first.page / EXTENT_PAGES, owner) {
            let text = format!(
                "Extent {first} belongs to IAM pages {} and {}.",
                other.iam, owner.iam
            );
            files[f]
                .report
                .add(number::TWO_EXTENT_OWNERS, Some(first), text);
        }
    }
}

fn out_of_range(file: &mut DataFile, owner: Owner, page: PageId) {
    let text = format!(
        "IAM page {} claims {page}, behind the end of the file.",
        owner.iam
    );
    file.report.add(number::BAD_MAP, Some(owner.iam), text);
}
