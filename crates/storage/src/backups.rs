//! The backups of a database that run now: one after the other, and what changes under them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use duramen_base::PageId;
use duramen_format::alloc::{GAM_EXTENTS, GAM_INTERVAL};
use duramen_os::sync::{Mutex, RwLock};

/// Backups of a database that run now.
#[derive(Debug, Default)]
pub struct Backups {
    /// Database backups one after the other; log backups as well.
    pub database: Mutex<()>,
    pub log: Mutex<()>,
    watching: AtomicBool,
    /// File and extent of what was freed since a database backup began.
    freed: Mutex<Vec<(u16, u32)>>,
    /// Backups that copy pages. Held shared by whoever fills a page without a record of what with (`load::unlogged`).
    pub(crate) copying: RwLock<u32>,
    /// How many have begun to.
    begun: AtomicU64,
}

/// Pages are being copied as long as this lives.
pub struct Copying<'a>(&'a Backups);

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        *self.0.copying.write() -= 1;
    }
}

impl Backups {
    /// The extent of a GAM page's bit is about to be free.
    pub fn extent_freed(&self, gam: PageId, bit: u16) {
        if self.watching.load(Ordering::SeqCst) {
            let extent = gam.page / GAM_INTERVAL * GAM_EXTENTS + u32::from(bit);
            self.freed.lock().push((gam.file, extent));
        }
    }

    /// From now on every change of a page is in the log.
    pub fn begin_copying(&self) -> Copying<'_> {
        let mut copying = self.copying.write();
        *copying += 1;
        self.begun.fetch_add(1, Ordering::SeqCst);
        drop(copying);
        Copying(self)
    }

    /// How many backups have begun to copy pages. Does not change while `copying` is held.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    pub fn watch(&self) {
        self.freed.lock().clear();
        self.watching.store(true, Ordering::SeqCst);
    }

    pub fn end_watch(&self) -> Vec<(u16, u32)> {
        self.watching.store(false, Ordering::SeqCst);
        std::mem::take(&mut *self.freed.lock())
    }
}
