//! RESTORE ... PAGE: a few pages of a database whose other pages are as they should be.
//!
//! The database is closed meanwhile, after a checkpoint. The pages come from a full backup and are brought up to the log
//! that follows it, set by set, in a file of their own beside the primary file:
//! ```text
//!  magic | GUID | family | base | reached | flags | files | count     80 bytes
//!  page id, page                                                      8,198 bytes each
//!  numbers of files that are restored as a whole (`whole`)            2 bytes each
//!  CRC32C of all that                                                 4 bytes
//! ```
//! Every step makes that file anew and renames it over the old one: a step that is cut short has not happened. The data
//! files are written once, at the end, when the pages have come as far as all the others; that can be repeated.
//!
//! Why they are right then
//! 1. A page in a set has every change from before the set's checkpoint, and the set's log has the rest up to its end;
//!    what no record tells (minimally logged work) stands in the extents of the log backups, which are taken first.
//! 2. Records are repeated where the page is older, and each says which LSN it expects: a gap is an error.
//! 3. The end is allowed when the pages have all changes from before the checkpoint that the boot page names
//!    ([`Engine::page_restore_target`]). That is what recovery expects of any page, and recovery does the rest.
//! 4. Sets are of this very copy of the database: another copy has gone its own way with the same LSNs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{DbId, EXTENT_PAGES, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_format::PageBytes;
use duramen_format::alloc::is_fixed_page;
use duramen_format::boot::{BOOT_PAGE, Boot, FileHeader};
use duramen_format::page::{PageRef, Verify, seal, verify};
use duramen_os::{DiskFile, IoError, OpenOptions};
use duramen_pool::{DataFile, io_error, logical_error};
use duramen_storage::{LoosePages, find_guid, repeat_on};

use super::blocks::{LogBlocks, records};
use super::read::{BackupSet, Medium};
use super::restore::Restores;
use super::set::SetKind;

/// The most pages of one statement.
pub const MOST_PAGES: usize = 1000;

const MAGIC: [u8; 16] = *b"DURAMEN-PAGERES2";
const HEAD_BYTES: usize = 80;
/// Of a database.
const MOST_FILES: usize = 32_767;
const ENTRY_BYTES: usize = 6 + PAGE_BYTES;
const EXTENT_BYTES: usize = EXTENT_PAGES as usize * PAGE_BYTES;
/// How often a boot page is read that changes meanwhile, and how long its write is waited for between two looks.
const BOOT_READS: u32 = 64;
const BOOT_WAIT: Duration = Duration::from_millis(1);
/// The file's name behind that of the primary file, and what it is called while it is made.
const SUFFIX: &str = "~pages";
const SUFFIX_NEW: &str = "~pages.new";

/// Pages that are being restored, and how far they have come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageRestore {
    guid: [u8; 16],
    family: [u8; 16],
    /// CheckpointLSN of the full backup.
    base: Lsn,
    /// Where the log ends that was repeated: the next backup must have what follows.
    pub reached: Lsn,
    /// Everything that the database's log had when it went offline is in a backup.
    pub tail_is_kept: bool,
    pages: LoosePages,
    /// Files that are restored as a whole: their pages wait beside them.
    pub(super) files: BTreeSet<u16>,
    /// They are neither what they were nor what they will be.
    pub(super) mixed: bool,
    /// They are taking their places.
    pub(super) putting: bool,
}

impl PageRestore {
    /// Without pages: the database is offline behind a backup of its tail.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.files.is_empty()
    }

    /// Whether anything of a file is restored.
    pub fn is_about(&self, file: u16) -> bool {
        self.files.contains(&file) || self.count_of(file) > 0
    }

    /// How many pages of a file are restored.
    pub fn count_of(&self, file: u16) -> usize {
        self.pages.keys().filter(|p| p.file == file).count()
    }

    pub fn family(&self) -> [u8; 16] {
        self.family
    }

    fn encode(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(HEAD_BYTES + self.pages.len() * ENTRY_BYTES + 4);
        b.extend(MAGIC);
        b.extend(self.guid);
        b.extend(self.family);
        b.extend(self.base.to_bytes());
        b.extend(self.reached.to_bytes());
        b.push(
            u8::from(self.tail_is_kept) | u8::from(self.mixed) << 1 | u8::from(self.putting) << 2,
        );
        b.push(0);
        b.extend((self.files.len() as u16).to_le_bytes());
        b.resize(HEAD_BYTES - 4, 0);
        b.extend((self.pages.len() as u32).to_le_bytes());
        for (id, page) in &self.pages {
            b.extend(id.to_bytes());
            b.extend(&page[..]);
        }
        self.files.iter().for_each(|f| b.extend(f.to_le_bytes()));
        let crc = crc32c::crc32c(&b);
        b.extend(crc.to_le_bytes());
        b
    }

    fn decode(b: &[u8]) -> Option<PageRestore> {
        let (body, crc) = b.split_last_chunk::<4>()?;
        if body.len() < HEAD_BYTES
            || body[..16] != MAGIC
            || crc32c::crc32c(body).to_le_bytes() != *crc
        {
            return None;
        }
        let (head, entries) = body.split_at(HEAD_BYTES);
        let count = u32::from_le_bytes(head[HEAD_BYTES - 4..].try_into().ok()?);
        let (entries, files) = entries.split_at_checked(count as usize * ENTRY_BYTES)?;
        let mut pages = BTreeMap::new();
        for entry in entries.chunks(ENTRY_BYTES) {
            let id = PageId::from_bytes(entry)?;
            let page: PageBytes = entry.get(6..)?.try_into().ok()?;
            pages.insert(id, Box::new(page));
        }
        let listed = u16::from_le_bytes(head[70..72].try_into().ok()?);
        let (files, rest) = files.as_chunks::<2>();
        let files: BTreeSet<u16> = files.iter().map(|f| u16::from_le_bytes(*f)).collect();
        let whole = rest.is_empty() && files.len() == usize::from(listed);
        (whole && pages.len() == count as usize).then_some(PageRestore {
            guid: head[16..32].try_into().ok()?,
            family: head[32..48].try_into().ok()?,
            base: Lsn::from_bytes(&head[48..])?,
            reached: Lsn::from_bytes(&head[58..])?,
            tail_is_kept: head[68] & 1 != 0,
            pages,
            files,
            mixed: head[68] & 2 != 0,
            putting: head[68] & 4 != 0,
        })
    }

    /// Takes what a set has of the pages, where it is not older, and repeats the set's log on them. The GUID of the
    /// database that the set is of, when the set has its first page.
    fn take(
        &mut self,
        medium: &Medium,
        set: &BackupSet,
        name: &str,
        db: DbId,
    ) -> SqlResult<[u8; 16]> {
        let mut binding = [0; 16];
        for run in &set.pages {
            let known = self.pages.keys().any(|p| p.file == run.file_id);
            if !known && run.file_id != 1 {
                continue;
            }
            medium.read_run(run, EXTENT_BYTES, |extent| {
                let Some(first) = first_page(run.file_id, extent) else {
                    return Ok(());
                };
                let (pages, _) = extent.as_chunks::<PAGE_BYTES>();
                if first == 0
                    && run.file_id == 1
                    && let Some(page) = pages.first()
                {
                    binding = FileHeader::read(page)?.binding;
                }
                for (i, bytes) in pages.iter().enumerate() {
                    let id = PageId::new(run.file_id, first + i as u32);
                    if let Some(page) = self.pages.get_mut(&id) {
                        take_image(id, bytes, page, name)?;
                    }
                }
                Ok(())
            })?;
        }
        for block in LogBlocks::new(medium, set) {
            let block = block?;
            for record in records(&block) {
                let (lsn, view) = record?;
                repeat_on(&mut self.pages, db, lsn, &view)?;
            }
        }
        self.reached = self.reached.max(set.header.last_lsn);
        Ok(binding)
    }
}

/// 3183
pub(super) fn unusable(page: PageId, name: &str) -> SqlError {
    let place = format!("({}:{})", page.file, page.page);
    SqlError::new(&messages::RESTORE_PAGE_DAMAGED, &[&place, &name])
}

/// Which extent this is, as one of its pages says that is sound.
pub(super) fn first_page(file: u16, extent: &[u8]) -> Option<u32> {
    let (pages, _) = extent.as_chunks::<PAGE_BYTES>();
    pages.iter().enumerate().find_map(|(i, page)| {
        let id = PageRef::new(page).page_id();
        let first = id.page.checked_sub(i as u32);
        let placed = id.file == file && first.is_some_and(|f| f.is_multiple_of(EXTENT_PAGES));
        first.filter(|_| placed && verify(page) == Verify::Ok)
    })
}

/// An image with the LSN of the page may still have more: what was filled in without a record.
pub(super) fn take_image(
    id: PageId,
    bytes: &PageBytes,
    page: &mut PageBytes,
    name: &str,
) -> SqlResult<()> {
    if bytes.iter().all(|b| *b == 0) {
        // Nobody had written it; if it came to be used, the log begins with how.
        return Ok(());
    }
    let image = PageRef::new(bytes);
    if verify(bytes) != Verify::Ok || image.page_id() != id {
        return Err(unusable(id, name));
    }
    if image.lsn() >= PageRef::new(page).lsn() {
        page.copy_from_slice(bytes);
    }
    Ok(())
}

fn read_boot_page(file: &dyn DiskFile, name: &str, db: DbId) -> SqlResult<PageBytes> {
    let id = PageId::new(1, BOOT_PAGE);
    let mut page: PageBytes = [0; PAGE_BYTES];
    // A checkpoint of a database that is still open may be writing it.
    for left in (0..BOOT_READS).rev() {
        file.read_at(&mut page, u64::from(BOOT_PAGE) * PAGE_BYTES as u64)
            .map_err(|e| io_error(&e, "read", id, name))?;
        if verify(&page) == Verify::Ok {
            break;
        }
        if left == 0 {
            return Err(logical_error("incorrect checksum", "read", db, id, name));
        }
        duramen_os::thread::sleep(BOOT_WAIT);
    }
    Ok(page)
}

impl Restores<'_> {
    /// The boot page of a database that is closed, or was just written down.
    pub(super) fn closed_boot(&self) -> SqlResult<Boot> {
        let (file, name) = self.state_file()?;
        let id = PageId::new(1, BOOT_PAGE);
        let fail = |what| logical_error(what, "read", DbId(self.files.id), id, &name);
        let page = match self.kept_boot() {
            Some(page) => *page,
            None => read_boot_page(&*file, &name, DbId(self.files.id))?,
        };
        let boot = Boot::read(&page)?;
        match boot.own {
            Some(_) => Ok(boot),
            None => Err(fail("not a database of ours")),
        }
    }

    /// The boot page that a batch which was cut short by a crash had on its way into its place: opening the database will
    /// write it there, whatever stands there now.
    fn kept_boot(&self) -> Option<Box<PageBytes>> {
        let spec = self.files.data.iter().find(|f| f.file_id == 1)?;
        let file = DataFile::open(&self.engine.env, spec).ok()?;
        let guid = find_guid(&[Arc::new(file)], DbId(self.files.id)).ok()?;
        self.engine
            .pool
            .doublewrite
            .kept(&guid, PageId::new(1, BOOT_PAGE))
    }

    /// Of a database that is not open: its family, where it can be read, and whether a chain of log backups has begun, as
    /// it is taken to have where that cannot be read.
    pub fn closed_chain(&self) -> (Option<[u8; 16]>, bool) {
        match self.closed_boot() {
            Ok(boot) => {
                let own = boot.own.unwrap_or_default();
                let family = match own.family {
                    f if f == [0; 16] => own.database_guid,
                    f => f,
                };
                (Some(family), !own.log_backup_lsn.is_null())
            }
            Err(_) => (None, true),
        }
    }

    /// A page restore of no page yet, as of the database that these files are.
    pub fn new_page_restore(&self) -> SqlResult<PageRestore> {
        let own = self.closed_boot()?.own.unwrap_or_default();
        let guid = own.database_guid;
        let family = match own.family {
            f if f == [0; 16] => guid,
            f => f,
        };
        Ok(PageRestore {
            guid,
            family,
            base: Lsn::NULL,
            reached: Lsn::NULL,
            tail_is_kept: false,
            pages: BTreeMap::new(),
            files: BTreeSet::new(),
            mixed: false,
            putting: false,
        })
    }

    /// A restore of nothing yet from a full backup of this very copy of the database: else 3116.
    pub(super) fn begin_restore_of_part(
        &self,
        medium: &Medium,
        set: &BackupSet,
    ) -> SqlResult<PageRestore> {
        let other = || SqlError::new(&messages::BACKUP_ON_OTHER_PATH, &[]);
        let mut restore = self.new_page_restore()?;
        if set.header.family != restore.family {
            return Err(other());
        }
        restore.base = set.header.checkpoint_lsn;
        let guid = restore.take(medium, set, &self.files.name, DbId(self.files.id))?;
        match guid == restore.guid {
            true => Ok(restore),
            false => Err(other()),
        }
    }

    /// Begins to restore pages from a full backup; nothing is written. 3111 for pages that describe their file, 3116 for
    /// a backup of another database or another copy of this one, 3183 for a page that the set does not have whole.
    pub fn take_pages(
        &self,
        medium: &Medium,
        set: &BackupSet,
        wanted: &BTreeSet<PageId>,
    ) -> SqlResult<PageRestore> {
        let other = || SqlError::new(&messages::BACKUP_ON_OTHER_PATH, &[]);
        let mut restore = self.new_page_restore()?;
        if set.header.family != restore.family {
            return Err(other());
        }
        for id in wanted {
            if is_fixed_page(id.page) || *id == PageId::new(1, BOOT_PAGE) {
                let place = format!("({}:{})", id.file, id.page);
                return Err(SqlError::new(&messages::RESTORE_OF_CONTROL_PAGE, &[&place]));
            }
            let there = self.file_bytes(id.file)?;
            if (u64::from(id.page) + 1) * PAGE_BYTES as u64 > there {
                return Err(unusable(*id, &self.files.name));
            }
            restore.pages.insert(*id, Box::new([0; PAGE_BYTES]));
        }
        restore.base = set.header.checkpoint_lsn;
        let guid = restore.take(medium, set, &self.files.name, DbId(self.files.id))?;
        match guid == restore.guid {
            true => Ok(restore),
            false => Err(other()),
        }
    }

    /// Length of a data file; 0 for one that is not there.
    fn file_bytes(&self, id: u16) -> SqlResult<u64> {
        let Some(spec) = self.files.data.iter().find(|f| f.file_id == id) else {
            return Ok(0);
        };
        let name = spec.path.display().to_string();
        let file = self
            .engine
            .env
            .disk
            .open(&spec.path, &OpenOptions::default());
        file.and_then(|f| f.len())
            .map_err(|e| io_error(&e, "open", PageId::new(id, 0), &name))
    }

    /// A differential or log backup: 3136, 3117, 4330, 4305 and 4326 when it does not follow. Nothing is written.
    pub fn roll_pages(
        &self,
        restore: &mut PageRestore,
        medium: &Medium,
        set: &BackupSet,
    ) -> SqlResult<()> {
        let h = &set.header;
        if restore.is_empty() {
            return Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]));
        }
        if h.kind == SetKind::Log {
            if h.family != restore.family {
                return Err(SqlError::new(&messages::LOG_BACKUP_OTHER_PATH, &[]));
            }
            let (first, last) = (h.first_lsn.to_numeric(), h.last_lsn.to_numeric());
            let reached = restore.reached.to_numeric();
            if h.first_lsn > restore.reached {
                let args: [&dyn std::fmt::Display; 2] = [&first, &reached];
                return Err(SqlError::new(&messages::LOG_BACKUP_TOO_RECENT, &args));
            }
            if h.last_lsn < restore.reached {
                let args: [&dyn std::fmt::Display; 2] = [&last, &reached];
                return Err(SqlError::new(&messages::LOG_BACKUP_TOO_EARLY, &args));
            }
        } else if h.differential_base_lsn != restore.base || h.family != restore.family {
            return Err(SqlError::new(&messages::DIFFERENTIAL_WRONG_STATE, &[]));
        }
        self.roll_files(restore, medium, set)?;
        restore
            .take(medium, set, &self.files.name, DbId(self.files.id))
            .map(|_| ())
    }

    /// How far pages have to come before the database can be opened with them.
    pub fn page_restore_target(&self) -> SqlResult<Lsn> {
        Ok(self.closed_boot()?.checkpoint_lsn)
    }

    fn pages_path(&self, suffix: &str) -> PathBuf {
        let first = self.files.data.iter().find(|f| f.file_id == 1);
        let mut name = first.map_or(OsString::new(), |f| f.path.clone().into_os_string());
        name.push(suffix);
        PathBuf::from(name)
    }

    /// From here on a restart finds the restore as it is.
    pub fn keep_page_restore(&self, restore: &PageRestore) -> SqlResult<()> {
        let (path, new) = (self.pages_path(SUFFIX), self.pages_path(SUFFIX_NEW));
        let disk = &self.engine.env.disk;
        let write = || {
            match disk.remove(&new) {
                Ok(()) | Err(IoError::NotFound) => {}
                Err(e) => return Err(e),
            }
            let options = OpenOptions {
                create_new: true,
                ..OpenOptions::default()
            };
            let file = disk.open(&new, &options)?;
            file.write_at(&restore.encode(), 0)?;
            file.sync()?;
            disk.rename(&new, &path)?;
            path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir))
        };
        let name = path.display().to_string();
        write().map_err(|e| io_error(&e, "write", PageId::NULL, &name))
    }

    /// The page restore that waits for more; `None` when there is none of this database. 4331 for one that cannot be read.
    pub fn page_restore(&self) -> SqlResult<Option<PageRestore>> {
        let path = self.pages_path(SUFFIX);
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let name = path.display().to_string();
        let fail = |e: IoError| io_error(&e, "read", PageId::NULL, &name);
        let file = match self.engine.env.disk.open(&path, &options) {
            Ok(file) => file,
            Err(IoError::NotFound) => return Ok(None),
            Err(e) => return Err(fail(e)),
        };
        let most = (HEAD_BYTES + MOST_PAGES * ENTRY_BYTES + 2 * MOST_FILES + 4) as u64;
        let length = file.len().map_err(fail)?;
        let mut bytes = vec![0; length.min(most) as usize];
        file.read_at(&mut bytes, 0).map_err(fail)?;
        let restore = PageRestore::decode(&bytes)
            .ok_or_else(|| SqlError::new(&messages::RESTORED_TO_INCONSISTENT_POINTS, &[]))?;
        // Left by a database that had these files before.
        let guid = self.new_page_restore()?.guid;
        Ok(Some(restore).filter(|r| r.guid == guid))
    }

    /// The pages, or the files, take their places. May be repeated.
    pub fn put_pages(&self, restore: &PageRestore) -> SqlResult<()> {
        self.put_files(restore)?;
        for spec in &self.files.data {
            if restore.count_of(spec.file_id) == 0 {
                continue;
            }
            let file = DataFile::open(&self.engine.env, spec)?;
            for (id, page) in restore.pages.iter().filter(|(id, _)| id.file == file.id) {
                if page.iter().all(|b| *b == 0) {
                    // In no use, then and now.
                    continue;
                }
                let mut page = page.clone();
                seal(&mut page);
                file.write_page(id.page, &page)?;
            }
            file.sync()?;
        }
        Ok(())
    }

    /// The restore is over, or the database gone.
    pub fn forget_page_restore(&self) -> SqlResult<()> {
        self.forget_files();
        let path = self.pages_path(SUFFIX);
        let disk = &self.engine.env.disk;
        let gone = match disk.remove(&path) {
            Ok(()) => path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir)),
            Err(IoError::NotFound) => Ok(()),
            Err(e) => Err(e),
        };
        let name = path.display().to_string();
        gone.map_err(|e| io_error(&e, "remove", PageId::NULL, &name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_or_not_at_all() {
        let mut restore = PageRestore {
            guid: [7; 16],
            family: [8; 16],
            base: Lsn::new(40, 16, 1),
            reached: Lsn::new(43, 24, 2),
            tail_is_kept: true,
            pages: BTreeMap::new(),
            files: BTreeSet::from([3, 700]),
            mixed: false,
            putting: true,
        };
        let empty = restore.encode();
        assert_eq!(PageRestore::decode(&empty).as_ref(), Some(&restore));
        for n in [57, 202] {
            let page = Box::new([n as u8; PAGE_BYTES]);
            restore.pages.insert(PageId::new(1, n), page);
        }
        let bytes = restore.encode();
        assert_eq!(PageRestore::decode(&bytes).as_ref(), Some(&restore));
        for at in (0..bytes.len()).step_by(97).chain([0, bytes.len() - 1]) {
            let mut turned = bytes.clone();
            turned[at] ^= 4;
            assert_eq!(PageRestore::decode(&turned), None, "{at}");
            assert_eq!(PageRestore::decode(&bytes[..at]), None, "{at}");
        }
    }
}
