//! Pages that cannot be read or contradict themselves, on their way to `msdb.dbo.suspect_pages`.
//!
//! Who meets such a page holds its latch, so only a note is left here, under a lock that nobody waits for anything in. The
//! room above takes the notes when it holds nothing. There is an end to the list: a page that finds no room is noted when
//! it is met again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::{DbId, PageId};
use duramen_format::PageBytes;
use duramen_format::page::{PageRef, Verify, verify};
use duramen_os::sync::Mutex;

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
pub struct Suspects {
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

    /// Whether [`Suspects::take`] has any.
    pub fn has_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Those met since the last call, in the order of their errors.
    pub fn take(&self) -> Vec<SuspectPage> {
        let mut waiting = self.waiting.lock();
        self.any.store(false, Ordering::SeqCst);
        std::mem::take(&mut *waiting)
    }
}

/// What is wrong with the bytes that were read for a page.
pub fn suspicion(bytes: &PageBytes, page: PageId) -> Option<Suspicion> {
    match verify(bytes) {
        Verify::BadChecksum { .. } => Some(Suspicion::BadChecksum),
        Verify::Torn => Some(Suspicion::Torn),
        Verify::Ok | Verify::Unprotected => {
            (PageRef::new(bytes).page_id() != page).then_some(Suspicion::Failed)
        }
    }
}

/// The list of an engine.
pub type Shared = Arc<Suspects>;

#[cfg(test)]
mod tests {
    use duramen_base::{AllocUnitId, PAGE_BYTES};

    use super::*;
    use duramen_format::page::{PageMut, page_type, seal};

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
