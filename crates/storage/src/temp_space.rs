//! What tempdb and the rows that queries spill beside it may take of the disk together: `--max-tempdb`.
//!
//! A file of tempdb stops growing at its own maximum, which the ceiling is divided into; what spills counts beside the
//! files. The log's part is kept for it, because what rolls back may need it. What spills and finds no room cuts off the
//! empty end of tempdb's data files (`files::cut`); whoever finds none then has 1105, and only its statement ends.
//!
//! Invariant: files and spilled rows together are never beyond the ceiling, whoever asks at the same time: whoever grows
//! first claims the bytes, and counts and claims under one lock.
//! [test: spills_and_growths_share_the_ceiling]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{DbId, PAGE_BYTES, SqlError, messages};
use duramen_os::{DiskFile, IoError};
use duramen_pool::DataFile;

use crate::engine::{Database, Engine};
use crate::temp_claims::Growing;

impl Engine {
    /// Bytes that tempdb's files and what spills may take together, and how many of them are its log's.
    pub fn set_max_tempdb(&self, bytes: u64, log_part: u64) {
        self.temp_space.ceiling.store(bytes, Ordering::Relaxed);
        self.temp_space.log_part.store(log_part, Ordering::Relaxed);
    }

    pub fn max_tempdb(&self) -> u64 {
        self.temp_space.ceiling.load(Ordering::Relaxed)
    }

    fn tempdb(&self) -> Option<Arc<Database>> {
        let all = self.open_databases();
        all.into_iter().find(|db| db.id == DbId::TEMPDB)
    }

    /// Counts so many bytes more of one kind, where there is room below the ceiling.
    fn claim(&self, tempdb: Option<&Database>, bytes: u64, spills: bool) -> bool {
        let ceiling = self.max_tempdb();
        let mut claims = self.temp_space.claims.lock();
        if ceiling != u64::MAX {
            let log_part = self.temp_space.log_part.load(Ordering::Relaxed);
            let files = tempdb.map_or(0, |db| db.data_bytes() + db.log_bytes().max(log_part));
            let now = claims.spilled + claims.growing + files;
            if now.saturating_add(bytes) > ceiling {
                return false;
            }
        }
        match spills {
            true => claims.spilled += bytes,
            false => claims.growing += bytes,
        }
        true
    }

    /// Counts bytes that a data file does not have any more, until the disk has taken them back.
    pub(crate) fn still_there(&self, bytes: u64) -> Growing<'_> {
        let space = &self.temp_space;
        space.claims.lock().growing += bytes;
        Growing { space, bytes }
    }

    /// A file that rows spill to grows by so much: 1105 when there is no room. `number` is the file's, for the message.
    pub fn take_spill(&self, bytes: u64, number: u64) -> Result<(), SqlError> {
        if self.max_tempdb() == u64::MAX {
            self.claim(None, bytes, true);
            return Ok(());
        }
        let Some(tempdb) = self.tempdb() else {
            let taken = self.claim(None, bytes, true);
            return taken.then_some(()).ok_or_else(|| no_room_to_spill(number));
        };
        let claim = || self.claim(Some(&tempdb), bytes, true);
        match claim() || tempdb.cut_until(bytes, &claim)? {
            true => Ok(()),
            false => Err(no_room_to_spill(number)),
        }
    }

    /// So much of it is gone.
    pub fn give_spill(&self, bytes: u64) {
        self.temp_space.claims.lock().spilled -= bytes;
    }
}

/// 1105 for a file that rows spill to.
pub fn no_room_to_spill(number: u64) -> SqlError {
    let object = format!("<temporary system object: {number}>");
    let args: [&dyn std::fmt::Display; 4] = [&object, &"", &"tempdb", &"PRIMARY"];
    SqlError::new(&messages::FILEGROUP_FULL, &args).with_state(2)
}

impl Database {
    fn data_bytes(&self) -> u64 {
        let files = self.store.files.read();
        let pages = |f: &Arc<DataFile>| u64::from(f.size.load(Ordering::SeqCst));
        files.iter().map(pages).sum::<u64>() * PAGE_BYTES as u64
    }

    fn log_bytes(&self) -> u64 {
        let log = self.log.as_ref();
        log.map_or(0, |l| l.file_sizes().iter().map(|f| f.1).sum())
    }

    /// Lets a data file take so much more, of what its volume does not keep back and in tempdb below the ceiling. What
    /// comes back goes when the file is so long.
    pub(crate) fn take_growth(
        &self,
        file: &DataFile,
        bytes: u64,
    ) -> Result<Option<Growing<'_>>, IoError> {
        if file.handle.room()? < bytes {
            return Err(IoError::NoSpace);
        }
        if !self.store.temporary {
            return Ok(None);
        }
        match self.engine.claim(Some(self), bytes, false) {
            true => Ok(Some(Growing {
                space: &self.engine.temp_space,
                bytes,
            })),
            false => Err(IoError::NoSpace),
        }
    }
}
