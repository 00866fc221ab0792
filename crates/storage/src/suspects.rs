//! Pages that cannot be read or contradict themselves, as an engine and its databases know them (`pool::suspects`).

use std::sync::atomic::Ordering;

use duramen_base::{PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::alloc::{pfs, pfs_get, pfs_page_of};
use duramen_os::AlignedBuf;
use duramen_pool::{SuspectPage, Suspicion, suspicion};

use crate::engine::{Database, Engine};

impl Engine {
    /// Whether [`Engine::take_suspects`] has any.
    pub fn has_suspects(&self) -> bool {
        self.suspects.has_any()
    }

    /// The pages met since the last call, in the order of their errors.
    pub fn take_suspects(&self) -> Vec<SuspectPage> {
        self.suspects.take()
    }
}

impl Database {
    /// What is wrong with a page as it stands on the disk, whatever memory has of it; `None` also for a page that the
    /// database does not have.
    pub fn suspicion_of(&self, page: PageId) -> Option<Suspicion> {
        let file = self.store.file(page.file)?;
        if page.page >= file.size.load(Ordering::SeqCst) {
            return None;
        }
        let mut bytes = AlignedBuf::zeroed(PAGE_BYTES);
        let pool = &self.engine.pool;
        if pool.read_quietly(&file, page.page, &mut bytes).is_err() {
            return Some(Suspicion::Failed);
        }
        let bytes = <&PageBytes>::try_from(&bytes[..]).ok()?;
        suspicion(bytes, page)
    }

    /// A page that somebody has met who does not read through the pool.
    pub fn note_suspect(&self, page: PageId, why: Suspicion) {
        let db = self.id;
        self.engine.suspects.note(SuspectPage { db, page, why });
    }

    /// Whether the page is in use, as its PFS page says; what lies behind the end of its file is not.
    pub fn is_page_in_use(&self, page: PageId) -> SqlResult<bool> {
        let file = self.store.file(page.file);
        if file.is_none_or(|f| page.page >= f.size.load(Ordering::SeqCst)) {
            return Ok(false);
        }
        let map = self.read_page(PageId::new(page.file, pfs_page_of(page.page)))?;
        Ok(pfs_get(map.bytes(), page.page) & pfs::ALLOCATED != 0)
    }
}
