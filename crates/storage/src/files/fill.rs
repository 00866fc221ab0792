//! Where the next extent comes from: the files of a filegroup, each in proportion to its free space.
//!
//! Smooth weighted round robin: every file earns as much credit as it has free extents, the richest gives the extent
//! and pays the sum. Twice the free space is twice the extents, well mixed. A full file has nothing to give; when all
//! are full, `grow` makes one larger, each file in its turn. With `-E` a file gives 64 extents when it is chosen.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, PageId, SqlError, SqlResult, messages};
use duramen_format::alloc::{GAM_EXTENTS, bit_count, bit_find, gam_page_of};
use duramen_pool::DataFile;
use duramen_txn::Transaction;
use duramen_wal::record::Lcx;

use super::state::ObjectNames;
use crate::engine::{Database, Engine};

impl Engine {
    /// `-E`: how many extents a file gives before it is the next one's turn; 1 unless it is said. SQL Server's `-E` gives
    /// 64 for one.
    pub fn set_extents_in_turn(&self, extents: u32) {
        self.extents_in_turn
            .store(extents.max(1), Ordering::Relaxed);
    }

    fn extents_in_turn(&self) -> u32 {
        self.extents_in_turn.load(Ordering::Relaxed)
    }
}

impl Database {
    /// Tells storage how to name what it cannot find room for (error 1105). Called with latches held: `names` answers
    /// from memory, without touching a page, or with `None`. Only the first call counts.
    pub fn set_object_names(&self, names: ObjectNames) {
        let _ = self.file_state.names.set(names);
    }

    /// The files of a filegroup that give extents.
    pub(crate) fn files_of(&self, filegroup: u16) -> Vec<Arc<DataFile>> {
        let files = self.store.files.read();
        let usable = |f: &&Arc<DataFile>| {
            !f.closing.load(Ordering::SeqCst) && f.spec.read().filegroup == filegroup
        };
        files.iter().filter(usable).cloned().collect()
    }

    /// The file that gives the next extent: another one after as many as a turn has.
    fn pick_file(&self, filegroup: u16) -> Option<Arc<DataFile>> {
        let files = self.files_of(filegroup);
        let in_turn = self.engine.extents_in_turn();
        if in_turn == 1 || files.len() == 1 {
            return self.richest(&files);
        }
        let mut turns = self.file_state.turns.lock();
        let turn = turns.entry(filegroup).or_insert((0, 0));
        let at = files.iter().find(|f| f.id == turn.0 && turn.1 > 0);
        let at = at.filter(|f| f.free_extents.load(Ordering::SeqCst) > 0);
        match at {
            Some(file) => {
                turn.1 -= 1;
                Some(file.clone())
            }
            None => {
                let next = self.richest(&files)?;
                *turn = (next.id, in_turn - 1);
                Some(next)
            }
        }
    }

    fn richest(&self, files: &[Arc<DataFile>]) -> Option<Arc<DataFile>> {
        let free = |f: &DataFile| i64::from(f.free_extents.load(Ordering::SeqCst));
        let total: i64 = files.iter().map(|f| free(f)).sum();
        if total == 0 {
            return None;
        }
        let mut credit = self.file_state.credit.lock();
        let mut best: Option<(&Arc<DataFile>, i64)> = None;
        for f in files.iter().filter(|f| free(f) > 0) {
            let c = credit.entry(f.id).or_insert(0);
            *c += free(f);
            if best.is_none_or(|(_, b)| *c > b) {
                best = Some((f, *c));
            }
        }
        let chosen = best?.0.clone();
        if let Some(c) = credit.get_mut(&chosen.id) {
            *c -= total;
        }
        Some(chosen)
    }

    /// Takes a free extent of `filegroup` out of the GAM for `au`; its first page.
    pub(crate) fn take_extent(
        &self,
        sys: &Transaction,
        filegroup: u16,
        au: AllocUnitId,
    ) -> SqlResult<PageId> {
        loop {
            let Some(file) = self.pick_file(filegroup) else {
                self.grow(sys, filegroup, au)?;
                continue;
            };
            let mut from = file.alloc.lock();
            if file.closing.load(Ordering::SeqCst) {
                continue;
            }
            match self.find_free_extent(&file, *from)? {
                Some(extent) => {
                    let page = PageId::new(file.id, extent * 8);
                    let map = PageId::new(file.id, gam_page_of(page.page));
                    self.set_bit(sys, map, extent % GAM_EXTENTS, false, Lcx::GAM)?;
                    file.free_extents.fetch_sub(1, Ordering::SeqCst);
                    *from = extent + 1;
                    return Ok(page);
                }
                None if *from > 0 => *from = 0,
                None => file.free_extents.store(0, Ordering::SeqCst),
            }
        }
    }

    fn find_free_extent(&self, file: &DataFile, from: u32) -> SqlResult<Option<u32>> {
        let extents = file.size.load(Ordering::SeqCst) / 8;
        let mut at = from;
        while at < extents {
            let base = at / GAM_EXTENTS * GAM_EXTENTS;
            let map = self.read_page(PageId::new(file.id, gam_page_of(base * 8)))?;
            if let Some(e) = bit_find(map.bytes(), at - base, extents - base) {
                return Ok(Some(base + e));
            }
            at = base + GAM_EXTENTS;
        }
        Ok(None)
    }

    /// The files know how many extents they have free.
    pub(crate) fn count_all_free(&self) -> SqlResult<()> {
        // Not under the list's lock: reading a page asks for the list, too.
        let files = self.store.files.read().clone();
        for file in &files {
            let free = self.count_free(file)?;
            file.free_extents.store(free, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Counts the free extents of a file from its GAM pages.
    pub(crate) fn count_free(&self, file: &DataFile) -> SqlResult<u32> {
        let extents = file.size.load(Ordering::SeqCst) / 8;
        let mut free = 0;
        let mut first = 0;
        while first < extents {
            let map = self.read_page(PageId::new(file.id, gam_page_of(first * 8)))?;
            free += bit_count(map.bytes(), extents - first);
            first += GAM_EXTENTS;
        }
        Ok(free)
    }

    /// The filegroup's name, for messages.
    pub(crate) fn filegroup_name(&self, id: u16) -> String {
        let groups = self.file_state.filegroups.read();
        match groups.iter().find(|g| g.id == id) {
            Some(g) => g.name.clone(),
            None => format!("(filegroup {id})"),
        }
    }

    /// 1105; 1101 for what has no name yet: an index that is being built, a worktable.
    pub(crate) fn filegroup_full(&self, filegroup: u16, au: AllocUnitId) -> SqlError {
        let group = self.filegroup_name(filegroup);
        let named = self.file_state.names.get().and_then(|names| names(au));
        match named {
            Some((object, index)) => {
                let index = index.map(|i| format!(".'{i}'")).unwrap_or_default();
                SqlError::new(
                    &messages::FILEGROUP_FULL,
                    &[&object, &index, &self.name, &group],
                )
                .with_state(2)
            }
            None => {
                SqlError::new(&messages::CANNOT_ALLOCATE_PAGE, &[&self.name, &group]).with_state(12)
            }
        }
    }
}
