//! The files of a database in use, as they are just now: what DBCC looks at in tempdb, of which there can be no copy.
//!
//! Each page is one that somebody has finished with: it is copied under its latch, or off the disk while no page is on its
//! way there. Two pages may be of different moments. Whoever asks holds locks on the tables that are to be judged, and
//! believes nothing that is said of others, of maps, or of what only system transactions keep in step.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_base::{PAGE_BYTES, SqlResult};
use duramen_os::{Disk, DiskFile, IoError, OpenOptions};
use duramen_pool::DataFile;
use duramen_storage::Database;

use super::data::{Checked, Request, check_database};

/// Checks a database that is open, without a copy of it.
pub fn check_live(
    db: &Arc<Database>,
    request: &Request,
    progress: &mut dyn FnMut(f32) -> SqlResult<()>,
) -> SqlResult<Checked> {
    let files = db.store.files.read().clone();
    let paths: Vec<PathBuf> = files.iter().map(|f| f.path.clone()).collect();
    let disk = LiveDisk {
        db: db.clone(),
        files,
    };
    check_database(&disk, &paths, request, progress)
}

struct LiveDisk {
    db: Arc<Database>,
    files: Vec<Arc<DataFile>>,
}

impl fmt::Debug for LiveDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pages of '{}'", self.db.name)
    }
}

/// One file. It is read by whole pages, and never written.
struct LiveFile {
    db: Arc<Database>,
    file: Arc<DataFile>,
}

impl fmt::Debug for LiveFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pages of '{}'", self.file.path.display())
    }
}

impl DiskFile for LiveFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        let (pages, rest) = buf.as_chunks_mut::<PAGE_BYTES>();
        let first = u32::try_from(offset / PAGE_BYTES as u64).map_err(|_| IoError::Eof)?;
        if !rest.is_empty() || !offset.is_multiple_of(PAGE_BYTES as u64) {
            return Err(IoError::Eof);
        }
        for (page, n) in pages.iter_mut().zip(first..) {
            let pool = &self.db.engine.pool;
            pool.copy_now(&self.db.store, &self.file, n, page)?;
        }
        Ok(())
    }
    fn write_at(&self, _: &[u8], _: u64) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn write_durable_vectored_at(&self, _: &[&[u8]], _: u64) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }
    fn len(&self) -> Result<u64, IoError> {
        self.file.handle.len()
    }
    fn set_len(&self, _: u64) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn allocate(&self, _: u64, _: u64) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn handle(&self) -> u64 {
        self.file.handle.handle()
    }
    fn is_direct(&self) -> bool {
        false
    }
    fn try_lock(&self) -> Result<bool, IoError> {
        Ok(true)
    }
}

impl Disk for LiveDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
        let file = self.files.iter().find(|f| f.path == path);
        match file {
            Some(file) if options.read_only => Ok(Arc::new(LiveFile {
                db: self.db.clone(),
                file: file.clone(),
            })),
            Some(_) => Err(IoError::ReadOnly),
            None => Err(IoError::NotFound),
        }
    }
    fn remove(&self, _: &Path) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn rename(&self, _: &Path, _: &Path) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn exists(&self, path: &Path) -> bool {
        self.files.iter().any(|f| f.path == path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let below = self.files.iter().filter(|f| f.path.parent() == Some(dir));
        Ok(below.map(|f| f.path.clone()).collect())
    }
    fn create_dir_all(&self, _: &Path) -> Result<(), IoError> {
        Err(IoError::ReadOnly)
    }
    fn sync_dir(&self, _: &Path) -> Result<(), IoError> {
        Ok(())
    }
    fn free_space(&self, _: &Path) -> Result<u64, IoError> {
        Ok(0)
    }
    fn sector_bytes(&self, path: &Path) -> u32 {
        self.db.engine.env.disk.sector_bytes(path)
    }
}
