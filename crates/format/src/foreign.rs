//! Foreign databases, read-only: pages of an `.mdf` or of a backup, the catalog in them, the rows of their tables.
//!
//! Five base tables have layouts known in advance; everything else is described by them. Page pointers of the catalog
//! are followed, page headers found by scanning are never trusted. `pgfirst` is a hint only: trees are entered at
//! their root, heaps through their IAM chain.
//!
//! A database in a backup is a fuzzy copy; no log is applied here.

use std::collections::{BTreeMap, BTreeSet};

use duramen_base::{AllocUnitId, EXTENT_PAGES, PAGE_BYTES, PageId, SqlResult, messages};
use duramen_types::{SqlType, Value};

use super::alloc::{self, Iam, pfs};
use super::boot::{BOOT_PAGE, Boot};
use super::layout::{ColumnLayout, RowKind, RowLayout};
use super::page::{PageRef, Verify, page_type, record_kind, restore_torn_bits, verify};
use super::values::decode_row_with;
use super::{FormatError, FormatResult, PageBytes, backup, lob, row};

/// The oldest internal version that is read (2008).
pub const OLDEST_VERSION: u16 = 655;

/// An allocation unit, as `sysallocunits` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub id: AllocUnitId,
    pub kind: u8,
    pub owner: i64,
    pub first: PageId,
    pub root: PageId,
    pub first_iam: PageId,
}

/// A rowset, as `sysrowsets` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rowset {
    pub id: i64,
    pub object: i32,
    pub index: i32,
    pub rows: i64,
    pub compression: u8,
}

/// A row of `sysrscols`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsetColumn {
    pub rscolid: i32,
    pub hbcolid: i32,
    pub type_info: i32,
    pub collation: u32,
    pub ordkey: i16,
    pub max_length: i16,
    pub status: i32,
    pub offset: i32,
    pub nullbit: i32,
    pub bitpos: i16,
}

/// A row of `sysschobjs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub id: i32,
    pub schema: i32,
    pub kind: String,
    pub name: String,
}

/// A row of `syscolpars` that describes a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub id: i32,
    pub name: String,
    pub ty: Option<SqlType>,
    pub status: i32,
}

/// What the check of every allocated page found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageCheck {
    pub checksums: usize,
    pub torn: usize,
    pub unprotected: usize,
    pub bad: Vec<PageId>,
}

/// A database opened from bytes.
pub struct ForeignDatabase {
    pages: BTreeMap<u32, Box<PageBytes>>,
    pub boot: Boot,
    pub units: BTreeMap<(i64, u8), Unit>,
    pub rowsets: BTreeMap<i64, Rowset>,
    pub rowset_columns: BTreeMap<i64, Vec<RowsetColumn>>,
    pub objects: BTreeMap<i32, Object>,
    pub columns: BTreeMap<i32, Vec<Column>>,
}

impl ForeignDatabase {
    /// Opens the bytes of a primary data file.
    pub fn from_mdf(bytes: &[u8]) -> SqlResult<ForeignDatabase> {
        let pages = bytes
            .chunks_exact(PAGE_BYTES)
            .enumerate()
            .filter_map(|(i, p)| Some((i as u32, Box::<[u8]>::from(p).try_into().ok()?)))
            .collect();
        ForeignDatabase::open(pages)
    }

    /// Opens the bytes of a full backup, compressed or not, of a database with one data file.
    pub fn from_backup(bytes: Vec<u8>) -> SqlResult<ForeignDatabase> {
        let plain = backup::open(bytes)?;
        ForeignDatabase::open(backup::pages(&plain)?)
    }

    fn open(mut pages: BTreeMap<u32, Box<PageBytes>>) -> SqlResult<ForeignDatabase> {
        let boot_page = pages
            .get(&BOOT_PAGE)
            .ok_or(FormatError::Corrupt("boot page (missing)"))?;
        let boot = Boot::read(boot_page)?;
        if boot.version < OLDEST_VERSION {
            let what = "opening a database file older than SQL Server 2008";
            return Err(duramen_base::SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&what],
            ));
        }
        for p in pages.values_mut() {
            if matches!(verify(p), Verify::Ok) {
                restore_torn_bits(p);
            }
        }
        let mut db = ForeignDatabase {
            pages,
            boot,
            units: BTreeMap::new(),
            rowsets: BTreeMap::new(),
            rowset_columns: BTreeMap::new(),
            objects: BTreeMap::new(),
            columns: BTreeMap::new(),
        };
        db.load_catalog()?;
        Ok(db)
    }

    fn load_catalog(&mut self) -> SqlResult<()> {
        let first = self.boot.first_sysallocunits;
        for v in self.chain_rows(first, &sysallocunits())? {
            let page = |i: usize| match &v[i] {
                Value::Binary(b) => PageId::from_bytes(b).unwrap_or_default(),
                _ => PageId::NULL,
            };
            let unit = Unit {
                id: AllocUnitId(int(&v[0])),
                kind: int(&v[1]) as u8,
                owner: int(&v[2]),
                first: page(5),
                root: page(6),
                first_iam: page(7),
            };
            self.units.insert((unit.owner, unit.kind), unit);
        }
        for v in self.base_rows(5, &sysrowsets())? {
            let r = Rowset {
                id: int(&v[0]),
                object: int(&v[2]) as i32,
                index: int(&v[3]) as i32,
                rows: int(&v[7]),
                compression: int(&v[8]) as u8,
            };
            self.rowsets.insert(r.id, r);
        }
        for v in self.base_rows(3, &sysrscols())? {
            let c = RowsetColumn {
                rscolid: int(&v[1]) as i32,
                hbcolid: int(&v[2]) as i32,
                type_info: int(&v[4]) as i32,
                collation: int(&v[5]) as u32,
                ordkey: int(&v[6]) as i16,
                max_length: int(&v[7]) as i16,
                status: int(&v[8]) as i32,
                offset: int(&v[9]) as i32,
                nullbit: int(&v[10]) as i32,
                bitpos: int(&v[11]) as i16,
            };
            self.rowset_columns.entry(int(&v[0])).or_default().push(c);
        }
        for v in self.base_rows(34, &sysschobjs())? {
            let o = Object {
                id: int(&v[0]) as i32,
                schema: int(&v[1]) as i32,
                kind: v[4].as_text().unwrap_or_default(),
                name: v[5].as_text().unwrap_or_default(),
            };
            self.objects.insert(o.id, o);
        }
        for v in self.base_rows(41, &syscolpars())? {
            if int(&v[1]) != 0 {
                continue;
            }
            let ty = SqlType::from_catalog(
                int(&v[3]) as u8,
                int(&v[5]) as i16,
                int(&v[6]) as u8,
                int(&v[7]) as u8,
                int(&v[8]) as u32,
            );
            let c = Column {
                id: int(&v[2]) as i32,
                name: v[10].as_text().unwrap_or_default(),
                ty,
                status: int(&v[9]) as i32,
            };
            self.columns.entry(int(&v[0]) as i32).or_default().push(c);
        }
        for columns in self.columns.values_mut() {
            columns.sort_by_key(|c| c.id);
        }
        Ok(())
    }

    /// The user tables: type `U `, positive id.
    pub fn user_tables(&self) -> impl Iterator<Item = &Object> {
        self.objects
            .values()
            .filter(|o| o.kind.trim_end() == "U" && o.id > 0)
    }

    /// The rowset of a table's heap (0) or clustered index (1).
    pub fn data_rowset(&self, object: i32) -> Option<&Rowset> {
        self.rowsets
            .values()
            .find(|r| r.object == object && r.index <= 1)
    }

    pub fn page(&self, id: PageId) -> FormatResult<&PageBytes> {
        if id.file != 1 {
            return Err(FormatError::Corrupt("page pointer (other file)"));
        }
        self.pages
            .get(&id.page)
            .map(|p| &**p)
            .ok_or(FormatError::Corrupt("page pointer"))
    }

    /// Whether the PFS says that the page is in use.
    pub fn is_allocated(&self, page: u32) -> bool {
        self.pages
            .get(&alloc::pfs_page_of(page))
            .filter(|p| PageRef::new(p).page_type() == page_type::PFS)
            .is_some_and(|p| alloc::pfs_get(p, page) & pfs::ALLOCATED != 0)
    }

    /// Verifies every allocated page.
    pub fn check_pages(&self) -> PageCheck {
        let mut out = PageCheck::default();
        for (&n, p) in self.pages.iter().filter(|(n, _)| self.is_allocated(**n)) {
            let r = PageRef::new(p);
            if n == 4 || n == 5 {
                continue;
            }
            // Torn bits were put back when the file was opened, so only checksums can still be compared.
            match verify(p) {
                _ if r.page_id() != PageId::new(1, n) => out.bad.push(PageId::new(1, n)),
                Verify::Ok => out.checksums += 1,
                Verify::Unprotected => out.unprotected += 1,
                Verify::BadChecksum { .. } => out.bad.push(PageId::new(1, n)),
                Verify::Torn => out.torn += 1,
            }
        }
        out
    }

    /// All rows of a table, columns by `syscolpars`.
    pub fn table_rows(&self, object: i32) -> SqlResult<Vec<Vec<Value>>> {
        let rowset = self
            .data_rowset(object)
            .ok_or(FormatError::Corrupt("table (no rowset)"))?;
        if rowset.compression != 0 {
            let what = "reading compressed rows";
            return Err(duramen_base::SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&what],
            ));
        }
        let layout = self.table_layout(object, rowset.id)?;
        self.rowset_rows(rowset, &layout)
    }

    /// The layout of a table's data rows.
    pub fn table_layout(&self, object: i32, rowset: i64) -> SqlResult<RowLayout> {
        let empty = Vec::new();
        let placed = self.rowset_columns.get(&rowset).unwrap_or(&empty);
        let mut out = Vec::new();
        for c in self.columns.get(&object).unwrap_or(&Vec::new()) {
            let ty = c.ty.ok_or(FormatError::Corrupt("column type (unknown)"))?;
            let p = placed.iter().find(|p| p.rscolid == c.id);
            // A column without a place is computed and not stored: it reads as NULL.
            out.push(match p {
                Some(p) => p.layout(ty),
                None => column(ty, 0, 0),
            });
        }
        Ok(RowLayout::from_columns(RowKind::Data, out))
    }

    /// All rows of a heap or clustered rowset.
    pub fn rowset_rows(&self, rowset: &Rowset, layout: &RowLayout) -> SqlResult<Vec<Vec<Value>>> {
        let Some(unit) = self.units.get(&(rowset.id, 1)) else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        if rowset.index == 0 {
            for id in self.heap_pages(unit)? {
                self.page_rows(id, layout, &mut out)?;
            }
        } else if !unit.root.is_null() {
            let leaf = self.leftmost_leaf(unit.root)?;
            out = self.chain_rows(leaf, layout)?;
        }
        Ok(out)
    }

    /// The data pages of a heap, by its IAM chain.
    pub fn heap_pages(&self, unit: &Unit) -> FormatResult<Vec<PageId>> {
        let mut out = Vec::new();
        let mut seen = BTreeSet::new();
        let mut at = unit.first_iam;
        while !at.is_null() && seen.insert(at) {
            let iam = Iam::new(self.page(at)?)?;
            let of_extents = iam.extents().flat_map(|first| {
                (0..EXTENT_PAGES).map(move |i| PageId::new(first.file, first.page + i))
            });
            for id in iam.singles().chain(of_extents) {
                let Ok(p) = self.page(id) else { continue };
                let r = PageRef::new(p);
                if self.is_allocated(id.page)
                    && r.page_type() == page_type::DATA
                    && r.page_id() == id
                {
                    out.push(id);
                }
            }
            at = iam.next();
        }
        Ok(out)
    }

    /// Descends from the root of a clustered tree to its first data page.
    pub fn leftmost_leaf(&self, root: PageId) -> FormatResult<PageId> {
        let mut at = root;
        for _ in 0..32 {
            let p = PageRef::new(self.page(at)?);
            if p.page_type() == page_type::DATA {
                return Ok(at);
            }
            at = row::node_child(p.expect_record(0)?, p.pminlen())?;
        }
        Err(FormatError::Corrupt("tree (too deep)"))
    }

    fn base_rows(&self, object: i64, layout: &RowLayout) -> SqlResult<Vec<Vec<Value>>> {
        let id = base_rowset_id(object, 1);
        let unit = self
            .units
            .get(&(id, 1))
            .ok_or(FormatError::Corrupt("base table (no allocation unit)"))?;
        let leaf = self
            .leftmost_leaf(unit.root)
            .or_else(|_| self.page(unit.first).map(|_| unit.first))?;
        self.chain_rows(leaf, layout)
    }

    /// The rows from a leaf to the end of its chain.
    fn chain_rows(&self, first: PageId, layout: &RowLayout) -> SqlResult<Vec<Vec<Value>>> {
        let mut out = Vec::new();
        let mut seen = BTreeSet::new();
        let mut at = first;
        while !at.is_null() {
            if !seen.insert(at) {
                return Err(FormatError::Corrupt("page chain (loop)").into());
            }
            self.page_rows(at, layout, &mut out)?;
            at = PageRef::new(self.page(at)?).next_page();
        }
        Ok(out)
    }

    fn page_rows(
        &self,
        id: PageId,
        layout: &RowLayout,
        out: &mut Vec<Vec<Value>>,
    ) -> SqlResult<()> {
        let p = PageRef::new(self.page(id)?);
        for slot in 0..p.slot_count() {
            let Some(mut r) = p.record(slot)? else {
                continue;
            };
            match r.kind() {
                _ if r.is_ghost() => continue,
                // A forwarded row is read where its stub is.
                record_kind::FORWARDED => continue,
                record_kind::FORWARDING_STUB => {
                    let (page, slot) = row::forwarding_target(r)?;
                    r = PageRef::new(self.page(page)?).expect_record(slot)?;
                }
                _ => {}
            }
            let values = decode_row_with(layout, r, &mut |_, pointer| {
                Ok(lob::read_value(pointer, &mut |page, slot| {
                    Ok(PageRef::new(self.page(page)?).expect_record(slot)?.to_vec())
                })?)
            })?;
            out.push(values);
        }
        Ok(())
    }
}

impl RowsetColumn {
    /// The leaf placement of a column of this type.
    pub fn layout(&self, ty: SqlType) -> ColumnLayout {
        ColumnLayout {
            ty,
            leaf_offset: self.offset as i16,
            nullbit: self.nullbit as u16,
            bitpos: self.bitpos as u8,
            nullable: self.status & 0x80 == 0,
            uniquifier: false,
        }
    }
}

/// The rowset id of a base table's index: objects 3, 5, 7 and 8 have no index part.
pub fn base_rowset_id(object: i64, index: i64) -> i64 {
    if matches!(object, 3 | 5 | 7 | 8) {
        object << 16
    } else {
        index << 48 | object << 16
    }
}

fn int(v: &Value) -> i64 {
    v.as_i64().unwrap_or(0)
}

fn column(ty: SqlType, leaf_offset: i16, nullbit: u16) -> ColumnLayout {
    ColumnLayout {
        ty,
        leaf_offset,
        nullbit,
        bitpos: 0,
        nullable: true,
        uniquifier: false,
    }
}

fn known(columns: &[(SqlType, i16)]) -> RowLayout {
    let placed = columns.iter().map(|(ty, at)| column(*ty, *at, 0)).collect();
    RowLayout::from_columns(RowKind::Data, placed)
}

use SqlType as T;

pub fn sysallocunits() -> RowLayout {
    known(&[
        (T::BIGINT, 4),
        (T::TINYINT, 12),
        (T::BIGINT, 13),
        (T::INT, 21),
        (T::SMALLINT, 25),
        (T::binary(6), 27),
        (T::binary(6), 33),
        (T::binary(6), 39),
    ])
}

pub fn sysrowsets() -> RowLayout {
    known(&[
        (T::BIGINT, 4),
        (T::TINYINT, 12),
        (T::INT, 13),
        (T::INT, 17),
        (T::INT, 21),
        (T::INT, 25),
        (T::SMALLINT, 29),
        (T::BIGINT, 31),
        (T::TINYINT, 39),
        // minleaf
        (T::SMALLINT, 49),
    ])
}

pub fn sysrscols() -> RowLayout {
    known(&[
        (T::BIGINT, 4),
        (T::INT, 12),
        (T::INT, 16),
        (T::BIGINT, 20),
        (T::INT, 28),
        (T::INT, 32),
        (T::SMALLINT, 36),
        (T::SMALLINT, 38),
        (T::INT, 40),
        (T::INT, 44),
        (T::INT, 48),
        (T::SMALLINT, 52),
    ])
}

pub fn sysschobjs() -> RowLayout {
    known(&[
        (T::INT, 4),
        (T::INT, 8),
        (T::TINYINT, 12),
        (T::INT, 13),
        (T::char(2), 17),
        (T::SYSNAME, -1),
    ])
}

pub fn syscolpars() -> RowLayout {
    known(&[
        (T::INT, 4),
        (T::SMALLINT, 8),
        (T::INT, 10),
        (T::TINYINT, 14),
        (T::INT, 15),
        (T::SMALLINT, 19),
        (T::TINYINT, 21),
        (T::TINYINT, 22),
        (T::INT, 23),
        (T::INT, 27),
        (T::SYSNAME, -1),
    ])
}

/// Object, index, status, name, data space.
pub fn sysidxstats() -> RowLayout {
    known(&[
        (T::INT, 4),
        (T::INT, 8),
        (T::INT, 12),
        (T::SYSNAME, -1),
        (T::INT, 23),
    ])
}

/// Object, index, place, status, column, whether it decides the partition.
pub fn sysiscols() -> RowLayout {
    known(&[
        (T::INT, 4),
        (T::INT, 8),
        (T::INT, 12),
        (T::INT, 16),
        (T::INT, 20),
        (T::TINYINT, 25),
    ])
}

#[cfg(test)]
mod tests;
