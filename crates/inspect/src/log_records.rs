//! Log records outside a server: the blocks of a log file or of a backup, and records with the columns of `fn_dblog`.

use std::path::Path;

use duramen_base::{Lsn, SqlResult};
use duramen_os::Disk;
use duramen_types::{SqlType, Value};
use duramen_wal::OpenBlock;

use crate::views::{dblog, dump_dblog};

/// The columns of [`columns_of`].
pub fn columns() -> &'static [(&'static str, SqlType, bool)] {
    dblog::COLUMNS
}

/// A record's columns; `None` when the bytes are no record. Without a catalog allocation units have no names.
pub fn columns_of(lsn: Lsn, record: &[u8]) -> Option<Vec<Value>> {
    dblog::shown(lsn, record, &Default::default(), 0)
}

/// The blocks of a log file or of a backup set (from 1), in log order.
pub struct Blocks(dump_dblog::Blocks);

impl Blocks {
    /// Opens a file: a log file by its header page, else a backup.
    pub fn open(disk: &dyn Disk, path: &Path, set: i64) -> SqlResult<Blocks> {
        let shown = path.display().to_string();
        dump_dblog::Blocks::open(disk, path, &shown, set).map(Blocks)
    }

    /// Whether it is a log file, which has a map of VLFs.
    pub fn is_log_file(&self) -> bool {
        matches!(self.0, dump_dblog::Blocks::LogFile(_))
    }

    /// The next block; `None` behind the last.
    pub fn next_block(&mut self) -> SqlResult<Option<OpenBlock>> {
        self.0.next_block()
    }
}
