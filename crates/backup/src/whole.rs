//! RESTORE ... FILE and FILEGROUP: whole files of a database whose other files are as they should be.
//!
//! It goes as with single pages (`pages`, whose note of how far it has come it shares), but the pages of a file are too many
//! to be kept there: they are in a file beside the data file, `...~file`, as long as it takes. A step changes that file in
//! place. Before its first change the note says so, durably; a step that is cut short leaves pages that may be torn, and
//! the files have to be restored from the beginning (4331). At the end the files are renamed over the old ones, which the
//! note says before the first of them goes.
//!
//! Every page of a file is in the log from its first change on, headers and maps among them, so a file that was taken from
//! a backup and has had all records since is the file as it is. The primary file is not restored like this: it has the
//! boot page, by which all else is judged.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use duramen_base::{DbId, PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::boot::FileHeader;
use duramen_format::page::{Verify, seal, verify};
use duramen_os::{DiskFile, IoError};
use duramen_pool::{DataFile, DataFileSpec, io_error};
use duramen_storage::{LoosePages, expand_error, pages_of, repeat_on};

use super::blocks::{LogBlocks, records};
use super::copy::EXTENT_BYTES;
use super::pages::{PageRestore, first_page, take_image, unusable};
use super::read::{BackupSet, Medium, damaged};
use super::restore::{Restores, inconsistent};

const SUFFIX: &str = "~file";
/// Pages by which a file becomes longer when a record is about one behind its end.
const GROWTH: u32 = 128;
/// Pages in memory: 16 MB.
const MOST_CACHED: usize = 2048;

/// The same file while it is restored.
fn restoring_spec(spec: &DataFileSpec) -> DataFileSpec {
    let mut path = spec.path.clone().into_os_string();
    path.push(SUFFIX);
    DataFileSpec {
        path: PathBuf::from(path),
        ..spec.clone()
    }
}

/// Files that are being restored, and those of their pages that are in memory.
struct Whole {
    files: BTreeMap<u16, Arc<DataFile>>,
    cache: LoosePages,
    db: DbId,
    name: String,
}

impl Whole {
    fn page(&mut self, id: PageId) -> SqlResult<()> {
        if self.cache.contains_key(&id) {
            return Ok(());
        }
        let Some(file) = self.files.get(&id.file).cloned() else {
            return Ok(());
        };
        if self.cache.len() >= MOST_CACHED {
            self.write()?;
        }
        let at = u64::from(id.page) * PAGE_BYTES as u64;
        let fail = |e: IoError| io_error(&e, "read", id, &self.name);
        let mut page = Box::new([0; PAGE_BYTES]);
        if at + PAGE_BYTES as u64 <= file.handle.len().map_err(fail)? {
            file.handle.read_at(&mut page[..], at).map_err(fail)?;
        }
        if page.iter().any(|b| *b != 0) && verify(&page) != Verify::Ok {
            return Err(unusable(id, &self.name));
        }
        self.cache.insert(id, page);
        Ok(())
    }

    /// Writes down what is in memory.
    fn write(&mut self) -> SqlResult<()> {
        for (id, mut page) in std::mem::take(&mut self.cache) {
            let Some(file) = self.files.get(&id.file) else {
                continue;
            };
            if page.iter().all(|b| *b == 0) {
                continue;
            }
            let expand = |e: IoError| expand_error(&e, file);
            let end = u64::from(id.page + 1) * PAGE_BYTES as u64;
            if file.handle.len().map_err(expand)? < end {
                let to = (id.page + 1).next_multiple_of(GROWTH);
                file.extend_asked(to, true).map_err(expand)?;
            }
            seal(&mut page);
            file.write_page(id.page, &page)?;
        }
        Ok(())
    }

    /// Takes what a set has of the files, where it is not older, and repeats the set's log on them.
    fn take(&mut self, medium: &Medium, set: &BackupSet) -> SqlResult<()> {
        for run in &set.pages {
            if !self.files.contains_key(&run.file_id) {
                continue;
            }
            medium.read_run(run, EXTENT_BYTES, |extent| {
                let Some(first) = first_page(run.file_id, extent) else {
                    // Never written, or no page of it says where it belongs.
                    return match extent.iter().all(|b| *b == 0) {
                        true => Ok(()),
                        false => Err(damaged()),
                    };
                };
                let (pages, _) = extent.as_chunks::<PAGE_BYTES>();
                for (bytes, n) in pages.iter().zip(first..) {
                    self.image(PageId::new(run.file_id, n), bytes)?;
                }
                Ok(())
            })?;
        }
        for block in LogBlocks::new(medium, set) {
            let block = block?;
            for record in records(&block) {
                let (lsn, view) = record?;
                let own = |id: &PageId| self.files.contains_key(&id.file);
                let mut pages = pages_of(self.db, lsn, &view)?;
                pages.retain(own);
                if pages.is_empty() {
                    continue;
                }
                // All of one record are in memory at once.
                if self.cache.len() + pages.len() > MOST_CACHED {
                    self.write()?;
                }
                for id in pages {
                    self.page(id)?;
                }
                repeat_on(&mut self.cache, self.db, lsn, &view)?;
            }
        }
        self.write()?;
        self.files.values().try_for_each(|f| f.sync())
    }

    fn image(&mut self, id: PageId, bytes: &PageBytes) -> SqlResult<()> {
        if bytes.iter().all(|b| *b == 0) {
            return Ok(());
        }
        self.page(id)?;
        match self.cache.get_mut(&id) {
            Some(page) => take_image(id, bytes, page, &self.name),
            None => Ok(()),
        }
    }
}

impl Restores<'_> {
    /// Begins to restore whole files from a full backup. 3116 for a backup of another database or another copy of this
    /// one, 3183 for a page that the set does not have whole. The primary file is not for here.
    pub fn take_files(
        &self,
        medium: &Medium,
        set: &BackupSet,
        wanted: &[u16],
    ) -> SqlResult<PageRestore> {
        let mut restore = self.begin_restore_of_part(medium, set)?;
        // One that is under way has lost what it had, should this one be cut short.
        if let Some(mut before) = self.page_restore()?.filter(|b| !b.files.is_empty()) {
            before.mixed = true;
            self.keep_page_restore(&before)?;
        }
        let mut whole = Whole {
            files: BTreeMap::new(),
            cache: LoosePages::new(),
            db: DbId(self.files.id),
            name: self.files.name.clone(),
        };
        for spec in self
            .files
            .data
            .iter()
            .filter(|f| wanted.contains(&f.file_id))
        {
            let listed = set.header.files.iter().find(|f| f.id == spec.file_id);
            let pages = listed.map_or(0, |f| f.size / PAGE_BYTES as u64);
            let spec = restoring_spec(spec);
            // Of a restore that has begun again.
            match self.engine.env.disk.remove(&spec.path) {
                Ok(()) | Err(IoError::NotFound) => {}
                Err(e) => {
                    let name = spec.path.display().to_string();
                    return Err(io_error(&e, "remove", PageId::NULL, &name));
                }
            }
            let file = DataFile::create(&self.engine.env, &spec)?;
            file.size.store(0, std::sync::atomic::Ordering::SeqCst);
            file.extend_asked(
                u32::try_from(pages).unwrap_or(u32::MAX),
                self.engine.instant_file_init(),
            )
            .map_err(|e| expand_error(&e, &file))?;
            duramen_storage::sync_parent(self.engine, &file)?;
            whole.files.insert(spec.file_id, Arc::new(file));
            restore.files.insert(spec.file_id);
        }
        whole.take(medium, set)?;
        Ok(restore)
    }

    /// A later set on the files: it is known to follow. 4331 when a step was cut short.
    pub(super) fn roll_files(
        &self,
        restore: &mut PageRestore,
        medium: &Medium,
        set: &BackupSet,
    ) -> SqlResult<()> {
        if restore.files.is_empty() {
            return Ok(());
        }
        if restore.mixed {
            return Err(inconsistent());
        }
        restore.mixed = true;
        self.keep_page_restore(restore)?;
        let mut whole = Whole {
            files: self.restoring_files(restore)?,
            cache: LoosePages::new(),
            db: DbId(self.files.id),
            name: self.files.name.clone(),
        };
        whole.take(medium, set)?;
        restore.mixed = false;
        Ok(())
    }

    fn restoring_files(&self, restore: &PageRestore) -> SqlResult<BTreeMap<u16, Arc<DataFile>>> {
        let mut out = BTreeMap::new();
        for spec in self
            .files
            .data
            .iter()
            .filter(|f| restore.files.contains(&f.file_id))
        {
            let file = DataFile::open(&self.engine.env, &restoring_spec(spec))?;
            file.take_length()?;
            out.insert(spec.file_id, Arc::new(file));
        }
        Ok(out)
    }

    /// The files take their places. May be repeated.
    pub(super) fn put_files(&self, restore: &PageRestore) -> SqlResult<()> {
        if restore.files.is_empty() {
            return Ok(());
        }
        if restore.mixed {
            return Err(inconsistent());
        }
        let mut restore = restore.clone();
        if !restore.putting {
            for (id, file) in self.restoring_files(&restore)? {
                // As long as it says that it is: what was added and never used is in no record.
                let mut page = [0; PAGE_BYTES];
                let fail = |e: IoError| io_error(&e, "read", PageId::new(id, 0), &self.files.name);
                file.handle.read_at(&mut page, 0).map_err(fail)?;
                let size = FileHeader::read(&page)?.size;
                file.extend_asked(size, self.engine.instant_file_init())
                    .map_err(|e| expand_error(&e, &file))?;
            }
            restore.putting = true;
            self.keep_page_restore(&restore)?;
        }
        let disk = &self.engine.env.disk;
        for spec in self
            .files
            .data
            .iter()
            .filter(|f| restore.files.contains(&f.file_id))
        {
            let from = restoring_spec(spec).path;
            let put = match disk.rename(&from, &spec.path) {
                // Done before.
                Err(IoError::NotFound) => Ok(()),
                Err(e) => Err(e),
                Ok(()) => spec.path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir)),
            };
            let name = spec.path.display().to_string();
            put.map_err(|e| io_error(&e, "rename", PageId::NULL, &name))?;
        }
        Ok(())
    }

    /// Files that wait beside others for nothing any more.
    pub(super) fn forget_files(&self) {
        for spec in &self.files.data {
            // What stays is made over by the next restore of the file.
            let _ = self.engine.env.disk.remove(&restoring_spec(spec).path);
        }
    }
}
