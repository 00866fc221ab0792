//! Growth of data files: by themselves when a filegroup is full, or because somebody asks.
//!
//! A file is first longer on the disk, for sure, and then in its header page, logged: a crash in between leaves a file
//! that is longer than it says, and the next growth takes the rest. With instant initialization the new space is only
//! allocated; without, it is written with zeros before anybody may use it.

use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_format::alloc::{GAM_INTERVAL, PFS_INTERVAL, is_fixed_page};
use duramen_format::boot::FileHeader;
use duramen_format::page::page_type;
use duramen_observe::events::{
    DatabaseFileSizeChange, DatabasesDataFileSizeChanged, FileType, emit,
};
use duramen_observe::{LatchClass, WaitType};
use duramen_os::{IoError, time};
use duramen_pool::DataFile;
use duramen_txn::Transaction;
use duramen_wal::record::Lcx;

use crate::change::{PageOp, Role};
use crate::engine::{Database, Engine};

impl Engine {
    /// `--instant-file-init`: whether the space of a data file that is made or grows is only allocated (the default), or
    /// written with zeros.
    pub fn set_instant_file_init(&self, on: bool) {
        self.instant_file_init.store(on, Ordering::Relaxed);
    }

    /// What `sys.dm_server_services` shows.
    pub fn instant_file_init(&self) -> bool {
        self.instant_file_init.load(Ordering::Relaxed)
    }
}

impl Database {
    /// Makes a file of the filegroup larger, the one after the file that grew last; all of them with
    /// AUTOGROW_ALL_FILES. 1105 when none may grow.
    pub(crate) fn grow(&self, sys: &Transaction, filegroup: u16, au: AllocUnitId) -> SqlResult<()> {
        let waited =
            duramen_observe::latch_wait(LatchClass::FGCB_ADD_REMOVE, WaitType::LATCH_EX, "");
        let mut last = self.file_state.growth.lock();
        drop(waited);
        let files = self.files_of(filegroup);
        if files
            .iter()
            .any(|f| f.free_extents.load(Ordering::SeqCst) > 0)
        {
            // Somebody else has grown one meanwhile.
            return Ok(());
        }
        let all = {
            let groups = self.file_state.filegroups.read();
            groups.iter().any(|g| g.id == filegroup && g.autogrow_all)
        };
        let first = match last.get(&filegroup) {
            Some(id) => files.iter().position(|f| f.id > *id).unwrap_or(0),
            None => 0,
        };
        let mut grown = false;
        for file in files[first..].iter().chain(&files[..first]) {
            let (growth, max) = {
                let spec = file.spec.read();
                (spec.growth, spec.max_size)
            };
            let size = file.size.load(Ordering::SeqCst);
            let Some(to) = growth.next_size(size, max) else {
                continue;
            };
            let started = time::now();
            match self.grow_to(sys, file, to) {
                Ok(()) => {
                    self.report_growth(file, size, started, true);
                    last.insert(filegroup, file.id);
                    grown = true;
                    if !all {
                        break;
                    }
                }
                // The disk is full, or the file system refuses: another file may lie elsewhere.
                Err(e) if e.number == messages::MODIFY_FILE_OS_ERROR.number => {}
                Err(e) => return Err(e),
            }
        }
        if grown {
            Ok(())
        } else {
            Err(self.filegroup_full(filegroup, au))
        }
    }

    /// Makes `file` `to` pages long. 5149 when the operating system refuses. The caller holds `growth`.
    pub(crate) fn grow_to(&self, sys: &Transaction, file: &DataFile, to: u32) -> SqlResult<()> {
        let size = file.size.load(Ordering::SeqCst);
        if to <= size {
            return Ok(());
        }
        let bytes = u64::from(to - size) * PAGE_BYTES as u64;
        let growing = self
            .take_growth(file, bytes)
            .map_err(|e| expand_error(&e, file))?;
        file.extend(to, self.engine.instant_file_init())
            .map_err(|e| expand_error(&e, file))?;
        let taken = self.take_up(sys, file, to);
        drop(growing);
        taken
    }

    /// Takes into use what the disk has of a file up to page `to`. The caller holds `growth`.
    pub(crate) fn take_up(&self, sys: &Transaction, file: &DataFile, to: u32) -> SqlResult<()> {
        let _guard = file.alloc.lock();
        let size = file.size.swap(to, Ordering::SeqCst);
        let logged = self.system(sys, "FileGrow", |sys| {
            for page in maps_between(size, to) {
                self.format_map_page(sys, PageId::new(file.id, page))?;
            }
            self.change_header(sys, file, |h| h.size = to)
        });
        if let Err(e) = logged {
            file.size.store(size, Ordering::SeqCst);
            return Err(e);
        }
        file.spec.write().size = to;
        let free = self.count_free(file)?;
        file.free_extents.store(free, Ordering::SeqCst);
        Ok(())
    }

    /// `database_file_size_change`
    pub(crate) fn report_growth(
        &self,
        file: &DataFile,
        old: u32,
        started: time::Instant,
        automatic: bool,
    ) {
        let size = file.size.load(Ordering::SeqCst);
        emit(|| DatabaseFileSizeChange {
            duration: started.elapsed().as_micros() as u64,
            database_id: u64::from(self.id.0),
            file_id: u64::from(file.id),
            file_type: FileType::Data,
            is_automatic: automatic,
            total_size_kb: u64::from(size) * PAGE_BYTES as u64 / 1024,
            size_change_kb: (i64::from(size) - i64::from(old)) * PAGE_BYTES as i64 / 1024,
        });
        emit(|| DatabasesDataFileSizeChanged {
            database_id: u64::from(self.id.0),
            count: (i64::from(size) - i64::from(old)) * PAGE_BYTES as i64 / 1024,
        });
    }

    /// Changes fields of a file's header page; logged.
    pub(crate) fn change_header(
        &self,
        sys: &Transaction,
        file: &DataFile,
        f: impl FnOnce(&mut FileHeader),
    ) -> SqlResult<()> {
        let id = PageId::new(file.id, 0);
        let mut page = self.write_page(id)?;
        let p = page.page();
        let mut header = p.sound(FileHeader::read(p.bytes()))?;
        f(&mut header);
        let old = p.row(0)?.to_vec();
        let new = p.sound(header.changed_row(p.bytes()))?;
        self.replace_record(sys, id, &mut page, (0, &old, &new), Lcx::FILE_HEADER)
    }

    /// Formats an allocation map of its interval.
    fn format_map_page(&self, sys: &Transaction, id: PageId) -> SqlResult<()> {
        let n = id.page;
        let (kind, context, extra) = if n.is_multiple_of(PFS_INTERVAL) {
            (page_type::PFS, Lcx::PFS, 0)
        } else {
            match n % GAM_INTERVAL {
                0 => (page_type::GAM, Lcx::GAM, 1),
                1 => (page_type::SGAM, Lcx::SGAM, 0),
                6 => (page_type::DIFF_MAP, Lcx::DIFF_MAP, 0),
                _ => (page_type::ML_MAP, Lcx::ML_MAP, 0),
            }
        };
        let op = PageOp::Format {
            kind,
            level: 0,
            pminlen: 0,
            au: AllocUnitId::from_parts(0, 99),
            start: PageId::new(id.file, n / GAM_INTERVAL * GAM_INTERVAL),
            extra,
        };
        let mut page = self.write_new_page(id)?;
        self.change(sys, id, &mut page, &op, context, Role::Normal)?;
        Ok(())
    }
}

/// The allocation maps between two sizes, neither of them the first of its kind. Those of a GAM interval come before the
/// PFS pages, whose formatting the DIFF map tells.
fn maps_between(from: u32, to: u32) -> Vec<u32> {
    let mut maps = Vec::new();
    for start in (from / GAM_INTERVAL * GAM_INTERVAL..to).step_by(GAM_INTERVAL as usize) {
        maps.extend([6, 0, 1, 7].map(|n| start + n));
    }
    maps.extend((from.next_multiple_of(PFS_INTERVAL)..to).step_by(PFS_INTERVAL as usize));
    maps.retain(|n| *n >= 8 && (from..to).contains(n));
    debug_assert!(
        maps.iter().all(|n| is_fixed_page(*n)),
        "grow/1: a map is made where pages are given out"
    );
    maps
}

/// 5149
pub fn expand_error(e: &IoError, file: &DataFile) -> SqlError {
    if *e == IoError::GivenUp {
        return SqlError::given_up();
    }
    let code = format!("{}({e})", e.code());
    let path = file.spec.read().shown_path.clone();
    SqlError::new(&messages::MODIFY_FILE_OS_ERROR, &[&code, &path])
}

#[cfg(test)]
mod tests {
    use super::maps_between;
    use duramen_pool::FileGrowth;

    #[test]
    fn growth_is_in_whole_extents_and_ends_at_the_maximum() {
        let next = |g: FileGrowth, size, max| g.next_size(size, max);
        assert_eq!(next(FileGrowth::None, 64, None), None);
        assert_eq!(next(FileGrowth::Pages(1), 64, None), Some(72));
        assert_eq!(next(FileGrowth::Pages(128), 64, Some(100)), Some(96));
        assert_eq!(next(FileGrowth::Pages(128), 96, Some(100)), None);
        assert_eq!(next(FileGrowth::Percent(10), 1000, None), Some(1104));
        assert_eq!(next(FileGrowth::Percent(1), 64, None), Some(72));
        assert_eq!(
            next(FileGrowth::Pages(u32::MAX), 64, None),
            Some(u32::MAX / 8 * 8)
        );
    }

    #[test]
    fn every_map_is_found_once() {
        assert_eq!(maps_between(64, 8088), []);
        assert_eq!(maps_between(64, 8096), [8088]);
        assert_eq!(maps_between(8088, 16_184), [8088, 16_176]);
        let end = maps_between(511_224, 511_240);
        assert_eq!(end, [511_238, 511_232, 511_233, 511_239]);
        assert_eq!(maps_between(511_240, 511_248), []);
    }
}
