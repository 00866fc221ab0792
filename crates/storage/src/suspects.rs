//! Pages that cannot be read or contradict themselves, on their way to `msdb.dbo.suspect_pages`.
//!
//! Who meets such a page holds its latch, so only a note is left here, under a lock that nobody waits for anything in. The
//! room above takes the notes when it holds nothing. There is an end to the list: a page that finds no room is noted when
//! it is met again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::{DbId, PAGE_BYTES, PageId, SqlResult};
use duramen_os::AlignedBuf;
use duramen_os::sync::Mutex;

use crate::engine::{Database, Engine};
use crate::format::PageBytes;
use crate::format::alloc::{pfs, pfs_get, pfs_page_of};
use crate::format::page::{PageRef, Verify, verify};

/// Why a page is suspect: `event_type` of the table.
/// <https://learn.microsoft.com/sql/relational-databases/system-tables/suspect-pages-transact-sql>
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Suspicion {
    /// It cannot be read (823), or says that it is another page (824).
    Failed = 1,
    BadChecksum = 2,
    Torn = 3,
}

/// A page that was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspectPage {
    pub db: DbId,
    pub page: PageId,
    pub why: Suspicion,
}

/// As many as the table has rows.
const MOST: usize = 1000;

/// Pages that wait to be written down.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    waiting: Mutex<Vec<SuspectPage>>,
    any: AtomicBool,
}

impl Suspects {
    pub fn note(&self, suspect: SuspectPage) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < MOST {
            waiting.push(suspect);
            self.any.store(true, Ordering::SeqCst);
        }
    }

    fn take(&self) -> Vec<SuspectPage> {
        let mut waiting = self.waiting.lock();
        self.any.store(false, Ordering::SeqCst);
        std::mem::take(&mut *waiting)
    }
}

/// What is wrong with the bytes that were read for a page.
pub(crate) fn suspicion(bytes: &PageBytes, page: PageId) -> Option<Suspicion> {
    match verify(bytes) {
        Verify::BadChecksum { .. } => Some(Suspicion::BadChecksum),
        Verify::Torn => Some(Suspicion::Torn),
        Verify::Ok | Verify::Unprotected => {
            (PageRef::new(bytes).page_id() != page).then_some(Suspicion::Failed)
        }
    }
}

impl Engine {
    /// Whether [`Engine::take_suspects`] has any.
    pub fn has_suspects(&self) -> bool {
        self.suspects.any.load(Ordering::Relaxed)
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

/// The list of an engine.
pub(crate) type Shared = Arc<Suspects>;

#[cfg(test)]
mod tests {
    use duramen_base::AllocUnitId;

    use super::*;
    use crate::format::page::{PageMut, page_type, seal};

    #[test]
    fn bytes_say_what_is_wrong_with_them() {
        let id = PageId::new(1, 57);
        let mut page: PageBytes = [0; PAGE_BYTES];
        assert_eq!(suspicion(&page, id), Some(Suspicion::Failed));
        PageMut::new(&mut page).format(id, page_type::DATA, AllocUnitId::from_parts(9, 1), 0, 4);
        seal(&mut page);
        assert_eq!(suspicion(&page, id), None);
        assert_eq!(
            suspicion(&page, PageId::new(1, 58)),
            Some(Suspicion::Failed)
        );
        page[4000] ^= 1;
        assert_eq!(suspicion(&page, id), Some(Suspicion::BadChecksum));
    }

    #[test]
    fn the_list_has_an_end_and_is_taken_once() {
        let suspects = Suspects::default();
        let at = |page| SuspectPage {
            db: DbId(5),
            page: PageId::new(1, page),
            why: Suspicion::Torn,
        };
        for n in 0..MOST as u32 + 5 {
            suspects.note(at(n));
        }
        let taken = suspects.take();
        assert_eq!(
            (taken.len(), taken.first(), taken.last()),
            (MOST, Some(&at(0)), Some(&at(MOST as u32 - 1)))
        );
        assert!(suspects.take().is_empty() && !suspects.any.load(Ordering::SeqCst));
    }
}
