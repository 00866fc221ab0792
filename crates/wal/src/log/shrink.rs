//! Shrinking a log file: VLFs go from its end, as far as they are not in use and at least two stay in the log.

use duramen_base::FileId;
use duramen_observe::events::{
    DatabaseFileSizeChange, DatabasesLogFileSizeChanged, DatabasesLogShrink, FileType, emit,
};
use duramen_os::time;

use super::Log;
use crate::config::{LogError, LogShrink, ShrinkLimit};
use crate::planted::Bug;
use crate::vlf::HEADER_BYTES;

/// A log has at least this many VLFs.
pub(super) const MIN_VLFS: usize = 2;

impl Log {
    /// DBCC SHRINKFILE: brings a file down to the VLF boundary at or above `target_bytes`, or as near as it goes. The
    /// VLFs leave the list first, so that the write head cannot enter them while the file is cut.
    pub fn shrink_file(&self, file_id: FileId, target_bytes: u64) -> Result<LogShrink, LogError> {
        let started = time::now();
        let mut s = self.lock();
        while s.growing {
            self.progress.wait(&mut s);
        }
        s.check()?;
        let Some(index) = s.files.iter().position(|f| f.spec.file_id == file_id) else {
            return Err(LogError::BadRecord);
        };
        let old_bytes = s.files[index].bytes;
        let mut new_bytes = old_bytes;
        let mut removed = 0;
        let mut limit = None;
        while let Some(tail) = s.vlfs.iter().rposition(|v| v.file == index) {
            let start = s.vlfs[tail].header.offset;
            if start < target_bytes.max(2 * HEADER_BYTES) {
                break;
            }
            let missed = self.planted.on(Bug::ShrinksUsed) && tail != s.current;
            if s.vlfs[tail].active && !missed {
                limit = Some(ShrinkLimit::InUse);
                break;
            }
            if s.vlfs.len() <= MIN_VLFS {
                limit = Some(ShrinkLimit::MinimumVlfs);
                break;
            }
            let vlf = s.vlfs.remove(tail);
            let before_head = s.current > tail;
            s.current -= usize::from(before_head);
            s.count_free();
            if !s.has_room(0, 0) {
                // What rollbacks may need is not given away.
                s.vlfs.insert(tail, vlf);
                s.current += usize::from(before_head);
                s.count_free();
                limit = Some(ShrinkLimit::InUse);
                break;
            }
            new_bytes = start;
            removed += 1;
        }
        debug_assert!(
            s.vlfs[s.current].active,
            "shrink/1: the log's end has gone with the VLFs of a file"
        );
        debug_assert!(
            new_bytes <= old_bytes && new_bytes >= HEADER_BYTES,
            "shrink/2: a file of {old_bytes} bytes is cut to {new_bytes}"
        );
        s.files[index].bytes = new_bytes;
        s.count_free();
        if removed > 0 {
            s.growing = true;
            let file = s.files[index].file.clone();
            let path = s.files[index].spec.path.clone();
            drop(s);
            let cut = file.set_len(new_bytes).and_then(|()| file.sync());
            let mut s = self.lock();
            s.growing = false;
            self.progress.notify_all();
            if let Err(cause) = cut {
                self.poison(&mut s, cause.clone());
                return Err(LogError::Io { path, cause });
            }
            emit(|| DatabasesLogShrink {
                database_id: u64::from(self.cfg.db_id.0),
                count: 1,
            });
            emit(|| DatabaseFileSizeChange {
                duration: started.elapsed().as_micros() as u64,
                database_id: u64::from(self.cfg.db_id.0),
                file_id: u64::from(file_id.0),
                file_type: FileType::Log,
                is_automatic: false,
                total_size_kb: new_bytes / 1024,
                size_change_kb: new_bytes as i64 / 1024 - old_bytes as i64 / 1024,
            });
            emit(|| DatabasesLogFileSizeChanged {
                database_id: u64::from(self.cfg.db_id.0),
                count: new_bytes as i64 / 1024 - old_bytes as i64 / 1024,
            });
        }
        Ok(LogShrink {
            old_bytes,
            new_bytes,
            removed_vlfs: removed,
            limit,
        })
    }
}
