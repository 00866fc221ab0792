//! Ghost cleanup: removing deleted B-tree rows whose deleters have ended.
//!
//! A ghost may go when nobody holds its key lock (its deleter has ended) and nobody can hold it under the cover of a
//! table lock: the cleaner holds IX on the table, which no X lock goes with. Removal is logged outside any transaction and
//! never undone. While prepared transactions are in doubt, which hold no locks, nothing is removed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::SqlResult;
use duramen_txn::{LockDuration, LockMode, Resource};

use crate::engine::Database;
use crate::rowset::Rowset;

/// Pages looked at between two looks at the rest of the world.
const PAGES_A_STEP: usize = 64;

/// Row versions dropped in one pass at most; committers drop them too.
const VERSIONS_A_PASS: usize = 100_000;

impl Database {
    /// One pass over the B-trees in which rows were deleted since the last one; the number of ghosts removed.
    pub fn clean_ghosts(self: &Arc<Database>) -> SqlResult<u64> {
        let mut candidates: Vec<_> = self
            .storages
            .read()
            .values()
            .filter(|s| s.ghosts.load(Ordering::Relaxed) > 0)
            .filter_map(|s| s.known_def())
            .collect();
        candidates.sort_unstable_by_key(|def| def.au);
        // Readers that ended since have left versions behind that only they needed.
        self.engine.versions.clean(VERSIONS_A_PASS);
        let mut removed = 0;
        for def in candidates {
            removed += self.rowset(&def).clean()?;
        }
        Ok(removed)
    }
}

impl Rowset {
    fn clean(&self) -> SqlResult<u64> {
        let tx = self.db.own_transaction("GhostCleanupTask");
        let table = Resource::Object(self.db.id, self.def.object);
        let intent = LockMode::IX;
        let entity = self.entity();
        if !self
            .db
            .try_lock(&tx, &entity, &table, intent, LockDuration::Normal)
        {
            return Ok(0);
        }
        // Deletes that come from here on are counted for the next pass.
        self.storage.ghosts.store(0, Ordering::Relaxed);
        let result = self.clean_leaves(&tx);
        self.db.engine.locks.release_all(&tx.owner);
        result
    }

    fn clean_leaves(&self, tx: &duramen_txn::Transaction) -> SqlResult<u64> {
        let (mut removed, mut left) = (0, 0);
        let mut at = {
            let _shared = self.storage.latch.read();
            self.edge_leaf(false)?
        };
        let mut pages = 0;
        while !at.is_null() {
            // What the log keeps back is for rollbacks and commits: ghosts can wait.
            self.db.make_log_room();
            if self.db.log_is_short() {
                left += 1;
                break;
            }
            // Let go of after each page: whoever splits waits for one page at most.
            let next = {
                let _shared = self.storage.latch.read();
                let (next, ghosts) = {
                    let page = self.db.read_page(at)?;
                    let p = page.page();
                    if p.alloc_unit() != self.def.au || p.level() != 0 {
                        break;
                    }
                    (p.next_page(), p.ghost_count())
                };
                if ghosts > 0 {
                    let gone = self.expunge_ghosts(tx, at)?;
                    removed += gone;
                    left += u64::from(ghosts).saturating_sub(gone);
                }
                next
            };
            at = next;
            pages += 1;
            if pages % PAGES_A_STEP == 0 {
                duramen_os::thread::yield_now();
            }
        }
        // Those that had to stay bring the next pass here.
        self.storage.ghosts.fetch_add(left, Ordering::Relaxed);
        Ok(removed)
    }
}
