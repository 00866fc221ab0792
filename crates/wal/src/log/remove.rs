//! Removing a log file: possible while nothing in it is needed. What is left of it is a place in the list of files, since
//! others are known by theirs.

use duramen_base::FileId;

use super::Log;
use super::shrink::MIN_VLFS;
use super::state::FileState;
use crate::config::LogError;
use crate::vlf::Growth;

/// The id of a file that is not there any more.
const GONE: FileId = FileId(0);

impl FileState {
    pub(super) fn is_gone(&self) -> bool {
        self.spec.file_id == GONE
    }
}

impl Log {
    /// ALTER DATABASE ... REMOVE FILE: the write head cannot enter the file from here on, and the caller may delete it
    /// once nobody lists it any more. False, and nothing changed, when a VLF in it is in use, when less than two VLFs would
    /// be left, or no room for what rollbacks may need.
    pub fn remove_file(&self, file_id: FileId) -> Result<bool, LogError> {
        let mut s = self.lock();
        while s.growth.running {
            self.progress.wait(&mut s);
        }
        s.check()?;
        let found = s.space.files.iter().position(|f| f.spec.file_id == file_id);
        let Some(index) = found.filter(|_| file_id != GONE) else {
            return Err(LogError::BadRecord);
        };
        let own = |file: usize| file == index;
        let left = s.space.vlfs.iter().filter(|v| !own(v.file)).count();
        if left < MIN_VLFS || s.space.vlfs.iter().any(|v| own(v.file) && v.active) {
            return Ok(false);
        }
        let (vlfs, current) = (s.space.vlfs.clone(), s.space.current);
        let before = vlfs[..current].iter().filter(|v| own(v.file)).count();
        s.space.vlfs.retain(|v| !own(v.file));
        s.space.current -= before;
        s.count_free();
        if !s.has_room(0, 0) {
            (s.space.vlfs, s.space.current) = (vlfs, current);
            s.count_free();
            return Ok(false);
        }
        debug_assert!(
            s.space.vlf().file != index && s.space.vlf().active,
            "remove/1: the file that goes has the log's end"
        );
        let file = &mut s.space.files[index];
        file.bytes = 0;
        file.spec.file_id = GONE;
        file.spec.growth = Growth::None;
        Ok(true)
    }
}
