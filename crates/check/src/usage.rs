//! What the files' extents are used for: the figures of DBCC CHECKALLOC.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, EXTENT_PAGES, ObjectId, PageId};

use super::data::Checked;
use super::maps::Maps;
use super::schema::Schema;
use super::source::DataFile;
use super::units::Unit;

/// Extents and pages of one data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileUse {
    pub file: u16,
    /// Extents that are not free, mixed ones among them.
    pub extents: u64,
    /// Extents that no allocation unit has as a whole.
    pub mixed_extents: u64,
    /// Pages in use in those.
    pub mixed_pages: u64,
    /// Pages in use in all extents.
    pub used: u64,
}

impl FileUse {
    /// Pages that nobody else can have: of uniform extents all, of mixed ones those in use.
    pub fn reserved(&self) -> u64 {
        (self.extents - self.mixed_extents) * u64::from(EXTENT_PAGES) + self.mixed_pages
    }

    pub fn add(&mut self, other: &FileUse) {
        self.extents += other.extents;
        self.mixed_extents += other.mixed_extents;
        self.mixed_pages += other.mixed_pages;
        self.used += other.used;
    }
}

/// What an allocation unit has of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// Uniform extents.
    pub extents: u64,
    /// Pages in use, IAM pages and those of mixed extents among them.
    pub pages: u64,
    pub mixed_pages: u64,
}

/// An allocation unit as the catalog and the maps have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitUse {
    pub object: ObjectId,
    /// The object's name, without its schema's.
    pub name: String,
    pub index: i32,
    pub partition: i64,
    pub unit: AllocUnitId,
    /// `In-row data` and so on.
    pub kind: &'static str,
    pub first_iam: PageId,
    pub root: PageId,
    /// Pages of its lowest level.
    pub data_pages: i64,
    /// By file, where it has anything.
    pub shares: BTreeMap<u16, Share>,
}

impl Checked {
    pub(super) fn count_use(
        &mut self,
        files: &[DataFile],
        maps: &[Maps],
        schema: &Schema,
        units: &[Unit],
    ) {
        let mut shares: BTreeMap<AllocUnitId, BTreeMap<u16, Share>> = BTreeMap::new();
        for (file, maps) in files.iter().zip(maps) {
            self.files.push(of_file(file, maps));
            add_shares(&mut shares, file, maps);
        }
        for unit in units {
            let whose = schema.whose(unit.id);
            if whose.object == 0 {
                continue;
            }
            self.units.push(UnitUse {
                object: ObjectId(whose.object),
                name: schema.name_of(whose.object),
                index: whose.index,
                partition: whose.partition,
                unit: unit.id,
                kind: whose.kind_name(),
                first_iam: unit.first_iam,
                root: unit.root,
                data_pages: unit.data,
                shares: shares.remove(&unit.id).unwrap_or_default(),
            });
        }
        self.units
            .sort_by_key(|u| (u.object, u.index, u.partition, u.unit));
    }
}

fn of_file(file: &DataFile, maps: &Maps) -> FileUse {
    let mut sum = FileUse {
        file: file.id(),
        ..FileUse::default()
    };
    for extent in 0..file.pages / EXTENT_PAGES {
        let pages = extent * EXTENT_PAGES..(extent + 1) * EXTENT_PAGES;
        let used = pages.filter(|n| maps.is_allocated(*n)).count() as u64;
        sum.used += used;
        if maps.is_free(extent) != Some(false) {
            continue;
        }
        sum.extents += 1;
        if !maps.extents.contains_key(&extent) {
            sum.mixed_extents += 1;
            sum.mixed_pages += used;
        }
    }
    sum
}

fn add_shares(
    shares: &mut BTreeMap<AllocUnitId, BTreeMap<u16, Share>>,
    file: &DataFile,
    maps: &Maps,
) {
    let mut of = |unit: AllocUnitId, add: Share| {
        let share = shares
            .entry(unit)
            .or_default()
            .entry(file.id())
            .or_default();
        share.extents += add.extents;
        share.pages += add.pages;
        share.mixed_pages += add.mixed_pages;
    };
    for (extent, owner) in &maps.extents {
        let pages = extent * EXTENT_PAGES..(extent + 1) * EXTENT_PAGES;
        let pages = pages.filter(|n| maps.is_allocated(*n)).count() as u64;
        let add = Share {
            extents: 1,
            pages,
            mixed_pages: 0,
        };
        of(owner.unit, add);
    }
    let single = Share {
        extents: 0,
        pages: 1,
        mixed_pages: 1,
    };
    let iams = maps.iams.iter().map(|(n, unit)| (*n, *unit));
    let singles = maps.singles.iter().map(|(n, owner)| (*n, owner.unit));
    for (page, unit) in singles.chain(iams) {
        // What lies in an extent of its own unit is counted with it.
        let within = maps.extents.get(&(page / EXTENT_PAGES));
        if maps.is_allocated(page) && within.is_none_or(|o| o.unit != unit) {
            of(unit, single);
        }
    }
}
