//! Cutting off the empty end of tempdb's data files, when rows that spill beside them find no room below the ceiling.
//!
//! A file that was full once is as long as it was then, and what it does not use any more counts against those that spill
//! (`temp_space`). The space is made as it is when a file grows, the other way round: the header page says first, logged,
//! that the file is shorter, then its pages are forgotten and the disk gets them back. A crash in between harms nobody,
//! because tempdb is made anew at every start.
//!
//! Invariants
//! 1. Only extents that are free go: allocation in the file stands still while they are looked for and forgotten.
//!    [test: what_is_in_use_stays]
//! 2. No write of a page that has gone is on its way when the file is cut: it would make the file longer again.
//!    [test: what_is_in_use_stays]
//! 3. What is cut off counts until the disk has it. [test: spills_and_growths_share_the_ceiling]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{PAGE_BYTES, PageId, SqlResult};
use duramen_format::alloc::{GAM_EXTENTS, bit_get, gam_page_of};
use duramen_observe::WaitType;
use duramen_os::{DiskFile, time};
use duramen_pool::{DataFile, io_error};

use crate::engine::Database;

/// An extent's bytes.
const EXTENT: u64 = 8 * PAGE_BYTES as u64;
/// So much goes at once, where it is there: forgetting pages looks at every frame of the pool.
const CUT: u64 = 64 << 20;

impl Database {
    /// Cuts the empty ends of data files off until `claim` says that there was room; false when they do not suffice.
    pub(crate) fn cut_until(&self, bytes: u64, claim: &dyn Fn() -> bool) -> SqlResult<bool> {
        let _no_growth = self.file_state.growth.lock();
        // Others may have made room while this one waited.
        if claim() {
            return Ok(true);
        }
        let files = self.store.files.read().clone();
        for file in files.iter().filter(|f| !f.closing.load(Ordering::SeqCst)) {
            if self.cut_end(file, bytes.max(CUT))? && claim() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Cuts at most so many bytes off the end of a file; whether there were any. The caller holds `growth`.
    fn cut_end(&self, file: &Arc<DataFile>, most: u64) -> SqlResult<bool> {
        let started = time::now();
        let tx = self.own_transaction("FileShrink");
        let mut from = file.alloc.lock();
        let old = file.size.load(Ordering::SeqCst);
        let most = u32::try_from(most.div_ceil(EXTENT) * 8).unwrap_or(u32::MAX);
        let to = self.end_of_use(file)?.max(old.saturating_sub(most));
        if to >= old {
            return Ok(false);
        }
        self.system(&tx, "FileShrink", |sys| {
            self.change_header(sys, file, |h| h.size = to)
        })?;
        let cut = u64::from(old - to) * PAGE_BYTES as u64;
        let still_there = self.engine.still_there(cut);
        file.size.store(to, Ordering::SeqCst);
        file.spec.write().size = to;
        *from = (*from).min(to / 8);
        self.engine
            .pool
            .drop_pages_from(self.id, PageId::new(file.id, to));
        let free = self.count_free(file)?;
        file.free_extents.store(free, Ordering::SeqCst);
        drop(from);
        let shorter = {
            let _wait = duramen_observe::wait(WaitType::PREEMPTIVE_OS_FILEOPS);
            file.handle.set_len(u64::from(to) * PAGE_BYTES as u64)
        };
        if let Err(e) = shorter {
            // The disk keeps it: then it is the file's again.
            self.take_up(&tx, file, old)?;
            let name = file.path.display().to_string();
            return Err(io_error(&e, "cut", PageId::new(file.id, to), &name));
        }
        drop(still_there);
        self.report_growth(file, old, started, true);
        Ok(true)
    }

    /// The page behind the last extent that is not free. The caller holds the file's allocation mutex.
    fn end_of_use(&self, file: &DataFile) -> SqlResult<u32> {
        let mut end = file.size.load(Ordering::SeqCst) / 8;
        while end > 0 {
            let base = (end - 1) / GAM_EXTENTS * GAM_EXTENTS;
            let map = self.read_page(PageId::new(file.id, gam_page_of(base * 8)))?;
            // An interval's first extent has its maps, and goes with them when it is the last one.
            let least = if base == 0 { 0 } else { base + 1 };
            while end > least && bit_get(map.bytes(), end - 1 - base) {
                end -= 1;
            }
            match end == least && base > 0 {
                true => end = base,
                false => break,
            }
        }
        Ok(end * 8)
    }
}
