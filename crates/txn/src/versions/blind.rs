//! Rowsets whose rows a writer changes without a word about each: what there was no memory for.
//!
//! Invariants
//! 1. A mark is there before the change it is for, as a version would be. [test: beyond_that_not_even_keys_are_kept]
//! 2. It stays until every snapshot sees its writer's work, or that it was undone. [test: beyond_that_not_even_keys_are_kept]

use std::sync::atomic::{AtomicUsize, Ordering};

use duramen_base::{DbId, RowsetId};
use duramen_os::sync::Mutex;

use super::{ABORTED, ACTIVE, VersionWriter};

#[derive(Debug, Default)]
pub(super) struct Blind {
    /// How many marks there are: most of the time none, and nobody asks further.
    count: AtomicUsize,
    marks: Mutex<Vec<(DbId, RowsetId, VersionWriter)>>,
}

impl Blind {
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// `writer` is about to change rows of the rowset that nobody keeps.
    pub fn mark(&self, db: DbId, rowset: RowsetId, writer: &VersionWriter) {
        let mut marks = self.marks.lock();
        let known =
            |(d, r, w): &(DbId, RowsetId, VersionWriter)| (*d, *r) == (db, rowset) && w == writer;
        if !marks.iter().any(known) {
            marks.push((db, rowset, writer.clone()));
            self.count.store(marks.len(), Ordering::SeqCst);
        }
    }

    fn any(&self, db: DbId, rowset: RowsetId, of: impl Fn(&VersionWriter) -> bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let marks = self.marks.lock();
        let mut of_it = marks.iter().filter(|m| (m.0, m.1) == (db, rowset));
        of_it.any(|m| of(&m.2))
    }

    pub fn has(&self, db: DbId, rowset: RowsetId, writer: &VersionWriter) -> bool {
        self.any(db, rowset, |w| w == writer)
    }

    pub fn has_any(&self, db: DbId, rowset: RowsetId) -> bool {
        self.any(db, rowset, |_| true)
    }

    /// Whether somebody else has changed rows of the rowset whose work a snapshot of that number does not see.
    pub fn hides(
        &self,
        db: DbId,
        rowset: RowsetId,
        number: u64,
        own: Option<&VersionWriter>,
    ) -> bool {
        self.any(db, rowset, |w| {
            let outcome = w.outcome();
            // What was undone is as it was before.
            let seen = outcome != ACTIVE && (outcome & ABORTED != 0 || outcome <= number);
            own != Some(w) && !seen
        })
    }

    /// Every snapshot sees what is numbered up to here.
    pub fn clean(&self, seen_by_all: u64) {
        if self.is_empty() {
            return;
        }
        let mut marks = self.marks.lock();
        marks.retain(|(_, _, w)| {
            let outcome = w.outcome();
            outcome == ACTIVE || outcome & !ABORTED > seen_by_all
        });
        self.count.store(marks.len(), Ordering::SeqCst);
    }
}
