//! The files of a database of an earlier version become files of this one: their marks are raised.
//!
//! 1. What is on the pages is what an earlier version has written, and stays as it is; what this version means otherwise are
//!    log records. So marks are raised when a database is opened, behind redo and before undo writes the first record, and
//!    a server of the earlier version never finds records under a mark that it believes.
//! 2. Log files come first, then data files, the primary one last of them, and the boot page at the end. Each step is
//!    durable before the next; whatever a crash leaves, the next start finds what has the earlier mark still.
//! 3. Headers of data files and the boot page go through the double-write file as ever. For log files see `log_header`.
//! 4. Records of an earlier version may have the mark among their bytes, where fields on both sides of it were changed at
//!    once: only those of the boot page, and redo and undo put it back with them. So pages are looked at behind both. No
//!    record of a file's header has it: it is the last column.
//! 5. A file that was restored from an older backup is behind the others. So all are looked at, at every start.
//! 6. Whoever opens files without their database, to lay more log into them (`backup::restore`), raises the log files' marks
//!    before. Overlays (a standby, SET EMERGENCY) leave the files as they are: what is raised goes with the overlay.

use duramen_base::{PageId, SqlResult};
use duramen_format::boot::BOOT_PAGE;
use duramen_format::version::{is_older, raise};
use duramen_wal::LogFileSpec;

use super::log_header::raise_log_files;
use crate::engine::Database;

impl Database {
    /// All files; durable when it returns.
    pub(crate) fn raise_marks(&self, log: &[LogFileSpec]) -> SqlResult<()> {
        raise_log_files(&self.store.env, log)?;
        self.raise_data_marks()
    }

    /// Data files and the boot page.
    pub(crate) fn raise_data_marks(&self) -> SqlResult<()> {
        let mut files: Vec<u16> = self.store.files.read().iter().map(|f| f.id).collect();
        files.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        let headers = files.into_iter().map(|file| PageId::new(file, 0));
        for id in headers.chain([PageId::new(1, BOOT_PAGE)]) {
            self.raise_mark(id)?;
        }
        Ok(())
    }

    /// Not logged: redo of what came before finds the mark raised, and its records say nothing of it.
    fn raise_mark(&self, id: PageId) -> SqlResult<()> {
        if !is_older(self.read_page(id)?.bytes()) {
            return Ok(());
        }
        raise(self.write_page(id)?.change().bytes_mut());
        self.engine.pool.flush_page(self.id, id)
    }
}
