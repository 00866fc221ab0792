//! Shrinking a log file: VLFs go from its end, as far as they are not in use and at least two stay in the log.

use std::path::PathBuf;
use std::time::Duration;

use duramen_base::FileId;
use duramen_observe::events::{
    DatabaseFileSizeChange, DatabasesLogFileSizeChanged, DatabasesLogShrink, FileType, emit,
};
use duramen_os::{IoError, thread, time};

use super::Log;
use crate::config::{LogError, LogShrink, ShrinkLimit};
use crate::planted::Bug;
use crate::vlf::HEADER_BYTES;

/// A log has at least this many VLFs.
pub(super) const MIN_VLFS: usize = 2;

/// So many bytes of a file are cut off at once, and more only where one VLF has more: a file system takes its time over
/// large ones, and whoever asked may have left meanwhile.
const CUT_BYTES: u64 = 64 << 20;

/// One cut at the end of a file.
struct Cut {
    old_bytes: u64,
    new_bytes: u64,
    removed_vlfs: usize,
    limit: Option<ShrinkLimit>,
    /// Nothing more can go.
    last: bool,
}

impl Log {
    /// DBCC SHRINKFILE: brings a file down to the VLF boundary at or above `target_bytes`, or as near as it goes, in cuts:
    /// each leaves a whole log, and after each it can be given up.
    pub fn shrink_file(&self, file_id: FileId, target_bytes: u64) -> Result<LogShrink, LogError> {
        let started = time::now();
        let mut cut = self.cut_tail(file_id, target_bytes)?;
        let mut shrunk = LogShrink {
            old_bytes: cut.old_bytes,
            new_bytes: cut.new_bytes,
            removed_vlfs: cut.removed_vlfs,
            limit: cut.limit,
        };
        let mut failed = None;
        while !cut.last {
            match self.cut_on(file_id, target_bytes) {
                Ok(next) => cut = next,
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
            shrunk.new_bytes = cut.new_bytes;
            shrunk.removed_vlfs += cut.removed_vlfs;
            shrunk.limit = cut.limit;
        }
        if shrunk.removed_vlfs > 0 {
            self.report_shrunk(file_id, &shrunk, started.elapsed());
        }
        match failed {
            None => Ok(shrunk),
            Some(e) => Err(e),
        }
    }

    /// Another cut, if it is still wanted.
    fn cut_on(&self, file_id: FileId, target_bytes: u64) -> Result<Cut, LogError> {
        match thread::is_given_up() {
            false => self.cut_tail(file_id, target_bytes),
            true => Err(LogError::Io {
                path: PathBuf::new(),
                cause: IoError::GivenUp,
            }),
        }
    }

    /// The VLFs leave the list first, so that the write head cannot enter them while the file is cut.
    fn cut_tail(&self, file_id: FileId, target_bytes: u64) -> Result<Cut, LogError> {
        let mut s = self.lock();
        while s.growth.running {
            self.progress.wait(&mut s);
        }
        s.check()?;
        let Some(index) = s.space.files.iter().position(|f| f.spec.file_id == file_id) else {
            return Err(LogError::BadRecord);
        };
        let old_bytes = s.space.files[index].bytes;
        let mut cut = Cut {
            old_bytes,
            new_bytes: old_bytes,
            removed_vlfs: 0,
            limit: None,
            last: true,
        };
        while let Some(tail) = s.space.vlfs.iter().rposition(|v| v.file == index) {
            let start = s.space.vlfs[tail].header.offset;
            if start < target_bytes.max(2 * HEADER_BYTES) {
                break;
            }
            if cut.removed_vlfs > 0 && old_bytes - start > CUT_BYTES {
                cut.last = false;
                break;
            }
            let missed = self.planted.on(Bug::ShrinksUsed) && tail != s.space.current;
            if s.space.vlfs[tail].active && !missed {
                cut.limit = Some(ShrinkLimit::InUse);
                break;
            }
            if s.space.vlfs.len() <= MIN_VLFS {
                cut.limit = Some(ShrinkLimit::MinimumVlfs);
                break;
            }
            let vlf = s.space.vlfs.remove(tail);
            let before_head = s.space.current > tail;
            s.space.current -= usize::from(before_head);
            s.count_free();
            if !s.has_room(0, 0) {
                // What rollbacks may need is not given away.
                s.space.vlfs.insert(tail, vlf);
                s.space.current += usize::from(before_head);
                s.count_free();
                cut.limit = Some(ShrinkLimit::InUse);
                break;
            }
            cut.new_bytes = start;
            cut.removed_vlfs += 1;
        }
        debug_assert!(
            s.space.vlf().active,
            "shrink/1: the log's end has gone with the VLFs of a file"
        );
        debug_assert!(
            cut.new_bytes <= old_bytes && cut.new_bytes >= HEADER_BYTES,
            "shrink/2: a file of {old_bytes} bytes is cut to {}",
            cut.new_bytes
        );
        s.space.files[index].bytes = cut.new_bytes;
        s.count_free();
        if cut.removed_vlfs == 0 {
            return Ok(cut);
        }
        s.growth.running = true;
        let file = s.space.files[index].file.clone();
        let path = s.space.files[index].spec.path.clone();
        drop(s);
        let done = file.set_len(cut.new_bytes).and_then(|()| file.sync());
        let mut s = self.lock();
        s.growth.running = false;
        self.progress.notify_all();
        if let Err(cause) = done {
            self.poison(&mut s, cause.clone());
            return Err(LogError::Io { path, cause });
        }
        Ok(cut)
    }

    fn report_shrunk(&self, file_id: FileId, shrunk: &LogShrink, took: Duration) {
        let database_id = u64::from(self.cfg.db_id.0);
        let change = shrunk.new_bytes as i64 / 1024 - shrunk.old_bytes as i64 / 1024;
        emit(|| DatabasesLogShrink {
            database_id,
            count: 1,
        });
        emit(|| DatabaseFileSizeChange {
            duration: took.as_micros() as u64,
            database_id,
            file_id: u64::from(file_id.0),
            file_type: FileType::Log,
            is_automatic: false,
            total_size_kb: shrunk.new_bytes / 1024,
            size_change_kb: change,
        });
        emit(|| DatabasesLogFileSizeChanged {
            database_id,
            count: change,
        });
    }
}
