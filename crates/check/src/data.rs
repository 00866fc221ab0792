//! The data files of one database: extents against their owners, then every page in use, then how pages hang together.
//!
//! Pages are looked at by several threads, a piece of a file at a time from one queue; what they find is put together
//! and in order at the end, so that it does not depend on who was faster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use duramen_base::messages::{self};
use duramen_base::{
    AllocUnitId, DbId, EXTENT_PAGES, Lsn, ObjectId, PAGE_BYTES, PageId, SqlError, SqlResult,
};
use duramen_format::PageBytes;
use duramen_format::alloc::{
    GAM_INTERVAL, PFS_INTERVAL, gam_page_of, is_fixed_page, pfs, pfs_page_of, sgam_page_of,
};
use duramen_format::boot::{BOOT_PAGE, Boot};
use duramen_format::file_table::FILE_TABLE_PAGES;
use duramen_format::page::{PageRef, page_type, restore_torn_bits};
use duramen_observe::{DbCounter, count_db};
use duramen_os::memory::{Broker, Clerk, out_of_memory};
use duramen_os::{AlignedBuf, Disk, thread};

use super::catalog;
use super::counted::fullness_name;
use super::facts::Facts;
use super::finding::{Finding, of_nobody};
use super::maps::{Maps, read_owners};
use super::matching;
use super::relations;
use super::rows::{Depth, Page};
use super::schema::{Schema, Shape};
use super::source::{CHUNK_PAGES, DataFile, faults_of};
use super::units::{Unit, boot, differential_base, units};
use super::usage::{FileUse, UnitUse};
use super::{FileReport, number};

/// What is wanted of a check.
#[derive(Clone, Debug)]
pub struct Request {
    /// Only these tables. Empty: everything.
    pub objects: Vec<ObjectId>,
    /// Of those only this index; 0 or 1 are the data.
    pub index: Option<i32>,
    /// Extents and maps; without, pages are only found by them.
    pub allocation: bool,
    /// What the pages hold; without, only who has them.
    pub contents: bool,
    /// Indexes against their tables; not with NOINDEX.
    pub indexes: bool,
    /// Rows and their columns; not with PHYSICAL_ONLY.
    pub rows: bool,
    /// Whether base tables fit together.
    pub catalog: bool,
    /// Only units of this filegroup.
    pub filegroup: Option<i16>,
    /// Threads, this one included.
    pub workers: usize,
    /// Is asked for what has to be remembered: 701 when there is no room. `None`: nobody counts.
    pub memory: Option<Arc<Broker>>,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            objects: Vec::new(),
            index: None,
            allocation: true,
            contents: true,
            indexes: true,
            rows: true,
            catalog: true,
            filegroup: None,
            workers: 1,
            memory: None,
        }
    }
}

/// A table as it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectPages {
    pub id: ObjectId,
    pub schema: i32,
    pub name: String,
    pub rows: i64,
    pub pages: u64,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    pub findings: Vec<Finding>,
    /// The tables that were looked at, by id.
    pub objects: Vec<ObjectPages>,
    pub files: Vec<FileUse>,
    /// By object, index, partition.
    pub units: Vec<UnitUse>,
    pub pages: u64,
}

/// Checks the database that these files are. `progress` is told the percentage and ends the check with an error.
pub fn check_database(
    disk: &dyn Disk,
    paths: &[PathBuf],
    request: &Request,
    progress: &mut dyn FnMut(f32) -> SqlResult<()>,
) -> SqlResult<Checked> {
    let mut files = Vec::new();
    let mut checked = Checked::default();
    for path in paths {
        match DataFile::open(disk, path) {
            Ok(file) => files.push(file),
            Err(report) => checked.findings.extend(report.findings),
        }
    }
    let reports = check_with(files, request, &mut checked, progress)?;
    for report in reports {
        checked.findings.extend(report.findings);
    }
    checked
        .findings
        .sort_by_key(|f| (f.object.is_some(), f.object, f.page.is_none()));
    Ok(checked)
}

/// Checks files that belong together.
pub(super) fn check(files: Vec<DataFile>) -> Vec<FileReport> {
    let mut checked = Checked::default();
    let all = check_with(files, &Request::default(), &mut checked, &mut |_| Ok(()));
    // Nobody ends it before its end.
    all.unwrap_or_default()
}

/// All that is looked at, and the queue.
struct Shared {
    files: Vec<DataFile>,
    maps: Vec<Maps>,
    schema: Schema,
    base: Option<Lsn>,
    depth: Depth,
    /// Units to look at; `None`: all.
    only: Option<Vec<AllocUnitId>>,
    contents: bool,
    /// File and first page of each piece.
    pieces: Vec<(usize, u32)>,
    next: AtomicUsize,
    ended: AtomicBool,
    memory: Option<Arc<Broker>>,
    /// There was no memory for what has to be remembered.
    short: AtomicBool,
}

#[expect(
    clippy::too_many_lines,
    reason = "the passes of a check in their order"
)]
fn check_with(
    mut files: Vec<DataFile>,
    request: &Request,
    checked: &mut Checked,
    progress: &mut dyn FnMut(f32) -> SqlResult<()>,
) -> SqlResult<Vec<FileReport>> {
    files.sort_by_key(DataFile::id);
    let boot = boot(&files);
    let first = boot.as_ref().map(|b| b.first_sysallocunits);
    // A database that has no table yet has nothing to compare with.
    let units = first
        .filter(|p| !p.is_null())
        .and_then(|p| units(&files, p));
    let mut schema = match &units {
        Some(units) => Schema::read(&files, units),
        None => Schema::default(),
    };
    schema.database = boot.as_ref().map_or(0, |b| b.database_id);
    let mut maps: Vec<Maps> = Vec::new();
    for file in &mut files {
        go_on()?;
        maps.push(Maps::read(file, &schema));
    }
    go_on()?;
    let heads = read_owners(&mut files, &mut maps, &schema);
    let base = differential_base(&files);
    if request.allocation {
        for (file, maps) in files.iter_mut().zip(&maps) {
            check_extents(file, maps, &schema);
        }
    } else {
        files.iter_mut().for_each(|f| f.report.findings.clear());
    }
    let wanted = |s: &&Shape| {
        (request.objects.is_empty() || request.objects.contains(&ObjectId(s.object)))
            && request.index.is_none_or(|i| i == s.index)
            && request.filegroup.is_none_or(|g| g == s.filegroup)
    };
    let everything = request.objects.is_empty() && request.filegroup.is_none();
    let only = (!everything).then(|| {
        let shapes = schema.shapes.iter().filter(wanted);
        let units = shapes.flat_map(|s| std::iter::once(s.unit).chain(s.lob));
        units.collect::<Vec<_>>()
    });
    go_on()?;
    let mut pieces = Vec::new();
    for (at, file) in files.iter().enumerate() {
        pieces.extend(
            (0..file.pages)
                .step_by(CHUNK_PAGES as usize)
                .map(|n| (at, n)),
        );
    }
    let shared = Arc::new(Shared {
        files,
        maps,
        schema,
        base,
        depth: Depth {
            rows: request.rows,
            purity: request.rows,
            indexes: request.rows && request.indexes,
        },
        only,
        contents: request.contents,
        pieces,
        next: AtomicUsize::new(0),
        ended: AtomicBool::new(false),
        memory: request.memory.clone(),
        short: AtomicBool::new(false),
    });
    let scanned = scan(&shared, request.workers, progress);
    let facts = scanned?;
    let Ok(shared) = Arc::try_unwrap(shared) else {
        // Every worker has ended.
        return Ok(Vec::new());
    };
    let Shared {
        mut files,
        maps,
        schema,
        only,
        ..
    } = shared;
    let mut found = Vec::new();
    if request.contents {
        found.extend(relations_of(&files, &maps, &schema, &facts, request, &only));
    }
    go_on()?;
    checked.pages = facts.pages;
    if let Some(units) = &units {
        let closed = boot
            .as_ref()
            .and_then(|b| b.own.as_ref())
            .is_none_or(|o| o.closed);
        if request.allocation && everything {
            found.extend(catalog::check_chains(&schema, &heads, units));
        }
        if request.contents && closed {
            let asked = |u: &Unit| only.as_ref().is_none_or(|o| o.contains(&u.id));
            // Of what a chain that is broken leads to, nobody knows how much there is.
            let reported = files.iter().flat_map(|f| &f.report.findings);
            let broken =
                reported.filter(|f| f.number == messages::CHECK_IAM_NEXT.number.unsigned_abs());
            let broken: BTreeSet<i64> = broken.filter_map(|f| Some(f.unit?.2)).collect();
            let whole = |u: &Unit| {
                let begun = u.first_iam.is_null() || heads.get(&u.first_iam) == Some(&u.id);
                begun && !broken.contains(&u.id.0)
            };
            let counted = units.iter().filter(|u| asked(u) && whole(u));
            let list: Vec<Unit> = counted.cloned().collect();
            found.extend(catalog::check_counts(&files, &schema, &list, &facts, units));
        }
        go_on()?;
        if request.catalog && everything {
            found.extend(catalog::check_catalog(&files, &schema, units));
        }
    }
    for file in &mut files {
        let dialect = if file.header.own { "" } else { "foreign " };
        let (id, total) = (file.id(), file.pages);
        let n = facts.checked.get(&id).copied().unwrap_or(0);
        file.report.summary = format!("{dialect}data file {id}: {n} of {total} pages checked");
        if let Some(n) = facts.unprotected.get(&id) {
            let note = format!("{n} pages carry neither checksum nor torn bits");
            file.report.notes.push(note);
        }
    }
    go_on()?;
    found.extend(facts.findings.iter().cloned());
    found.sort_by(|a, b| (a.page, a.number, &a.text).cmp(&(b.page, b.number, &b.text)));
    found.dedup();
    for finding in found {
        let home = finding.page.map_or(1, |p| p.file);
        let at = files.iter().position(|f| f.id() == home).unwrap_or(0);
        if let Some(file) = files.get_mut(at) {
            file.report.push(finding);
        }
    }
    objects(&schema, &facts, &only, checked);
    checked.count_use(&files, &maps, &schema, units.as_deref().unwrap_or_default());
    Ok(files.into_iter().map(|f| f.report).collect())
}

/// Whether whoever has asked for the check still wants it.
fn go_on() -> SqlResult<()> {
    match thread::is_given_up() {
        false => Ok(()),
        true => Err(SqlError::given_up()),
    }
}

/// What it finds once the check has been given up is of no use: it ends somewhere then.
fn relations_of(
    files: &[DataFile],
    maps: &[Maps],
    schema: &Schema,
    facts: &Facts,
    request: &Request,
    only: &Option<Vec<AllocUnitId>>,
) -> Vec<Finding> {
    let reached = |id: PageId| files.iter().any(|f| f.id() == id.file);
    let own = files.iter().all(|f| f.header.own);
    let mut found = Vec::new();
    if !own {
        return found;
    }
    let asked = |f: &Finding| match (only, f.object) {
        (Some(units), Some(object)) => schema
            .shapes
            .iter()
            .any(|s| s.object == object && units.contains(&s.unit)),
        _ => true,
    };
    found.extend(relations::trees(schema, facts, &reached));
    if request.rows {
        found.extend(relations::heaps(schema, facts));
        found.extend(relations::values(schema, facts));
    }
    if request.rows && request.indexes {
        let pages_of = |shape: &Shape| {
            let mut out = Vec::new();
            for (file, maps) in files.iter().zip(maps) {
                out.extend(maps.pages_of(shape.unit).map(|n| file.page_id(n)));
            }
            out
        };
        found.extend(matching::indexes(
            files,
            schema,
            facts,
            only.as_deref(),
            &pages_of,
        ));
    }
    found.retain(asked);
    found
}

fn objects(schema: &Schema, facts: &Facts, only: &Option<Vec<AllocUnitId>>, checked: &mut Checked) {
    let mut by_id = BTreeMap::new();
    for shape in &schema.shapes {
        if only.as_ref().is_some_and(|o| !o.contains(&shape.unit)) || shape.is_index() {
            continue;
        }
        let counted = facts.units.get(&shape.unit).map(|u| &u.counted);
        by_id.insert(
            shape.object,
            ObjectPages {
                id: ObjectId(shape.object),
                schema: schema.tables.get(&shape.object).copied().unwrap_or(0),
                name: schema.name_of(shape.object),
                rows: counted.map_or(0, |c| c.rows()),
                pages: counted.map_or(0, |c| c.leaves()),
            },
        );
    }
    checked.objects = by_id.into_values().collect();
}

/// Lets all workers look at pages; the calling thread is one of them and tells how far they are.
fn scan(
    shared: &Arc<Shared>,
    workers: usize,
    progress: &mut dyn FnMut(f32) -> SqlResult<()>,
) -> SqlResult<Facts> {
    let pieces = shared.pieces.len();
    let others: Vec<_> = (1..workers.clamp(1, 64).min(pieces.max(1)))
        .filter_map(|_| {
            let (shared, flag) = (shared.clone(), thread::given_up_flag());
            thread::try_spawn("check", move || {
                let _listening = flag.map(thread::listen_to);
                let mut facts = shared.facts();
                let mut buf = AlignedBuf::zeroed(CHUNK_PAGES as usize * PAGE_BYTES);
                while shared.piece(&mut facts, &mut buf).is_some() {}
                facts
            })
            .ok()
        })
        .collect();
    let mut facts = shared.facts();
    let mut result = Ok(());
    let mut buf = AlignedBuf::zeroed(CHUNK_PAGES as usize * PAGE_BYTES);
    while let Some(n) = shared.piece(&mut facts, &mut buf) {
        result = progress(n as f32 * 100.0 / pieces as f32);
        if result.is_err() {
            shared.ended.store(true, Ordering::SeqCst);
            break;
        }
    }
    let _others = thread::others();
    for worker in others {
        match worker.join() {
            Ok(theirs) => facts.merge(theirs),
            // Its findings are lost: what is found without them may not be believed.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    if shared.short.load(Ordering::SeqCst) {
        return Err(out_of_memory());
    }
    result.map(|()| facts)
}

impl Shared {
    /// None yet, with an account for them.
    fn facts(&self) -> Facts {
        let account = |broker: &Arc<Broker>| broker.account(Clerk::Utilities);
        Facts {
            held: self.memory.iter().map(account).collect(),
            ..Facts::default()
        }
    }

    /// Looks at the next piece; its number, unless there is none.
    fn piece(&self, facts: &mut Facts, buf: &mut AlignedBuf) -> Option<usize> {
        if self.ended.load(Ordering::SeqCst) {
            return None;
        }
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let (at, first) = *self.pieces.get(n)?;
        let (file, maps) = (&self.files[at], &self.maps[at]);
        let (id, own) = (file.id(), file.header.own);
        let wanted = |n: u32| !self.is_over() && self.is_wanted(id, maps, n);
        let before = facts.pages;
        file.for_pages(first, buf, wanted, facts, |facts, n, page| {
            let page_id = PageId::new(id, n);
            facts.pages += 1;
            *facts.checked.entry(id).or_default() += 1;
            self.look(file, maps, page_id, own, page, facts);
        });
        let bytes = (facts.pages - before) * PAGE_BYTES as u64;
        count_db(DbId(self.schema.database), DbCounter::DbccScanBytes, bytes);
        if !facts.hold() {
            self.short.store(true, Ordering::SeqCst);
            self.ended.store(true, Ordering::SeqCst);
        }
        Some(n)
    }

    /// Whether somebody has ended the check, or whoever asked for it has given it up: the rest of a piece is left alone then.
    fn is_over(&self) -> bool {
        if thread::is_given_up() {
            self.ended.store(true, Ordering::Relaxed);
        }
        self.ended.load(Ordering::Relaxed)
    }

    fn is_wanted(&self, file: u16, maps: &Maps, n: u32) -> bool {
        if !self.contents {
            return false;
        }
        if let Some(only) = &self.only {
            let unit = maps.owner_of(n).map(|o| o.unit);
            let unit = unit.or_else(|| maps.iams.get(&n).copied());
            return unit.is_some_and(|u| only.contains(&u)) && maps.is_allocated(n);
        }
        match fixed_type(file, n) {
            Some(_) => true,
            None => !is_fixed_page(n) && (maps.is_allocated(n) || maps.singles.contains_key(&n)),
        }
    }

    fn look(
        &self,
        file: &DataFile,
        maps: &Maps,
        page_id: PageId,
        own: bool,
        page: &mut PageBytes,
        facts: &mut Facts,
    ) {
        let n = page_id.page;
        let (id, schema) = (page_id.file, &self.schema);
        // Header, maps and IAM pages were verified, and reported, when they were read.
        let reported = file.report.findings.iter().any(|f| f.page == Some(page_id));
        if reported && is_map(page_id, maps) {
            return;
        }
        if fixed_type(id, n).is_none() {
            check_owner(facts, maps, page_id, own, schema);
        }
        let owner = maps.owner_of(n).map(|o| schema.whose(o.unit));
        if let Some(found) = faults_of(page, page_id, own, owner) {
            facts.findings.extend(found);
            if let Some(owner) = maps.owner_of(n) {
                facts.unit(owner.unit).incomplete = true;
            }
            return;
        }
        restore_torn_bits(page);
        let p = PageRef::new(page);
        if p.flags() & 0x300 == 0 {
            *facts.unprotected.entry(id).or_default() += 1;
        }
        check_page(facts, maps, page_id, page, self);
        if self.base.is_some_and(|base| p.lsn() > base) && maps.has_changed(n) == Some(false) {
            let args: [&dyn std::fmt::Display; 3] =
                [&page_id, &"differential bitmap", &p.page_type()];
            let f = of_nobody(&messages::CHECK_ALLOCATION_PAGE, Some(page_id), &args);
            facts.findings.push(f);
        }
        let unit = facts.unit(p.alloc_unit());
        unit.counted.add(page, maps.pfs(n).unwrap_or(0));
    }
}

/// Pages that nobody owns and that no map need list: the maps, the header, the boot page, and what stands beside it:
/// master's configuration page, the file table of our own files.
fn is_unowned(id: PageId, own: bool) -> bool {
    let last = if own { FILE_TABLE_PAGES.end - 1 } else { 10 };
    is_fixed_page(id.page) || id.file == 1 && (8..=last).contains(&id.page)
}

fn check_extents(file: &mut DataFile, maps: &Maps, schema: &Schema) {
    let database = schema.database;
    for extent in 0..file.pages / EXTENT_PAGES {
        let first = extent * EXTENT_PAGES;
        let id = file.page_id(first);
        let (Some(free), Some(mixed)) = (maps.is_free(extent), maps.is_mixed(extent)) else {
            continue;
        };
        let owner = maps.extents.get(&extent);
        if free && mixed {
            let gam = file.page_id(gam_page_of(first));
            let sgam = file.page_id(sgam_page_of(first));
            let args: [&dyn std::fmt::Display; 4] = [&id, &database, &gam, &sgam];
            let f = of_nobody(&messages::CHECK_EXTENT_FREE_AND_MIXED, Some(id), &args);
            file.report.push(f);
        }
        if owner.is_some() && (free || mixed) {
            let f = of_nobody(&messages::CHECK_EXTENT_TWICE, Some(id), &[&id, &database]);
            file.report.push(f);
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
            let args: [&dyn std::fmt::Display; 2] = [&id, &database];
            let f = of_nobody(&messages::CHECK_EXTENT_OF_NOBODY, Some(id), &args);
            file.report.push(f);
        }
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

/// 8948
fn wrong_pfs(id: PageId, byte: u8, expected: u8) -> Finding {
    let at = PageId::new(id.file, pfs_page_of(id.page));
    let (byte, expected) = (format!("{byte:x}"), format!("{expected:x}"));
    let args: [&dyn std::fmt::Display; 4] = [&id, &at, &byte, &expected];
    of_nobody(&messages::CHECK_PFS_TYPE, Some(id), &args)
}

/// A page in use has an owner.
fn check_owner(facts: &mut Facts, maps: &Maps, id: PageId, own: bool, schema: &Schema) {
    if is_unowned(id, own) {
        return;
    }
    let Some(byte) = maps.pfs(id.page) else {
        return;
    };
    let in_extent = maps.extents.get(&(id.page / EXTENT_PAGES));
    let single = maps.singles.get(&id.page);
    if let (Some(extent), Some(single)) = (in_extent, single) {
        let found = schema.two_owners(id, single.unit, extent.unit);
        facts.findings.push(found);
    }
    if single.is_some() && byte & pfs::ALLOCATED == 0 {
        let f = wrong_pfs(id, byte, byte | pfs::ALLOCATED);
        facts.findings.push(f);
    }
    // IAM pages are not listed by themselves.
    if in_extent.is_none() && single.is_none() && byte & pfs::IAM == 0 {
        let sgam = PageId::new(id.file, sgam_page_of(id.page));
        let pfs = PageId::new(id.file, pfs_page_of(id.page));
        let flags = pfs_flags(byte);
        let args: [&dyn std::fmt::Display; 5] = [&id, &schema.database, &sgam, &pfs, &flags];
        let f = of_nobody(&messages::CHECK_PAGE_OF_NOBODY, Some(id), &args);
        facts.findings.push(f);
    }
}

/// A PFS byte as messages and DBCC PAGE write it.
pub(super) fn pfs_flags(byte: u8) -> String {
    let mut out = String::new();
    for (bit, name) in [
        (pfs::IAM, "IAM_PG "),
        (pfs::MIXED, "MIXED_EXT "),
        (pfs::ALLOCATED, "ALLOCATED "),
    ] {
        if byte & bit != 0 {
            out += name;
        }
    }
    out + fullness_name(byte)
}

/// A sound page against its place, its owner and itself.
fn check_page(facts: &mut Facts, maps: &Maps, id: PageId, page: &PageBytes, shared: &Shared) {
    let p = PageRef::new(page);
    let (kind, schema) = (p.page_type(), &shared.schema);
    let map_fault = |what: &str| {
        let args: [&dyn std::fmt::Display; 3] = [&id, &what, &kind];
        of_nobody(&messages::CHECK_ALLOCATION_PAGE, Some(id), &args)
    };
    if let Some(expected) = fixed_type(id.file, id.page)
        && kind != expected
    {
        facts.findings.push(map_fault(place_name(expected)));
        return;
    }
    if kind == page_type::BOOT && id == PageId::new(1, BOOT_PAGE) {
        if Boot::read(page).is_err() {
            facts.findings.push(map_fault("boot page"));
        }
        return;
    }
    let byte = maps.pfs(id.page).unwrap_or(0);
    let listed_as_iam = byte & pfs::IAM != 0;
    if kind == page_type::IAM && !listed_as_iam {
        facts.findings.push(wrong_pfs(id, byte, byte | pfs::IAM));
    }
    let owner = maps.owner_of(id.page);
    let whose = schema.whose(p.alloc_unit());
    if let Some(owner) = owner
        && !is_fixed_page(id.page)
        && p.alloc_unit() != owner.unit
    {
        let of = schema.whose(owner.unit);
        let f = of.finding_after(&messages::PAGE_NOT_SEEN, Some(id), &[&id], &[]);
        facts.findings.push(f);
        let f = whose.finding_after(&messages::PAGE_NOT_ALLOCATED, Some(id), &[&id], &[]);
        facts.findings.push(f);
        facts.unit(owner.unit).incomplete = true;
    }
    if !matches!(
        kind,
        page_type::DATA | page_type::INDEX | page_type::TEXT_MIX | page_type::TEXT_TREE
    ) {
        let known = matches!(
            kind,
            page_type::IAM | page_type::SORT | page_type::SERVER_CONFIG
        ) || fixed_type(id.file, id.page).is_some();
        if !known && owner.is_some() {
            let f = whose.finding_after(&messages::CHECK_PAGE_TYPE, Some(id), &[&id], &[&kind]);
            facts.findings.push(f);
        }
        return;
    }
    let own = shared
        .files
        .iter()
        .any(|f| f.id() == id.file && f.header.own);
    if own && (8..FILE_TABLE_PAGES.end).contains(&id.page) && id.file == 1 {
        // The file table has no unit.
        if p.check().is_err() {
            facts.findings.push(map_fault("file table"));
        }
    } else if own {
        Page {
            id,
            bytes: page,
            whose,
            depth: shared.depth,
            schema,
        }
        .examine(facts);
    } else if let Err(e) = p.check() {
        let what = e.to_string();
        let args: [&dyn std::fmt::Display; 4] = [&id, &what, &0, &0];
        let f = whose.finding(&messages::PAGE_TEST_FAILED, Some(id), &args);
        debug_assert_eq!(f.number, number::BAD_STRUCTURE);
        facts.findings.push(f);
    }
}

fn place_name(kind: u8) -> &'static str {
    match kind {
        page_type::FILE_HEADER => "file header",
        page_type::PFS => "PFS_PAGE",
        page_type::GAM => "GAM_PAGE",
        page_type::SGAM => "SGAM_PAGE",
        page_type::DIFF_MAP => "DIFF_MAP",
        page_type::ML_MAP => "ML_MAP",
        _ => "boot page",
    }
}
