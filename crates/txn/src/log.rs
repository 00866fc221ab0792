//! What transactions need of a log. `wal::Log` is one; tests have one in memory.

use duramen_base::{Lsn, SqlResult};

/// An append-only log of records, addressed by LSN. Failures come as the errors a client sees (9001, 9002).
pub trait RecordLog: Send + Sync {
    /// Appends a complete record and reserves `undo_reserve` bytes for undoing it. Not durable yet.
    /// One without reserve takes what is kept for it.
    fn append(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn>;
    /// As `append`, for a record that finds no room where only what is kept for others is left (9002).
    fn append_asking(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn> {
        self.append(record, undo_reserve)
    }
    /// The LSN of the last record appended.
    fn last_lsn(&self) -> Lsn;
    /// Every record up to here is on disk.
    fn durable_lsn(&self) -> Lsn;
    /// Asks for a flush up to `lsn` without waiting.
    fn request_flush(&self, lsn: Lsn);
    /// As `request_flush`, by a caller who has nothing else to do and may write it itself.
    fn help_flush(&self, lsn: Lsn) {
        self.request_flush(lsn);
    }
    /// Waits until every record up to `lsn` is on disk.
    fn flush(&self, lsn: Lsn) -> SqlResult<()>;
    /// Gives back undo space.
    fn release_reserve(&self, bytes: u64);
    /// Sets more bytes aside, or 9002.
    fn reserve(&self, _bytes: u64) -> SqlResult<()> {
        Ok(())
    }
    /// As `reserve`, without asking.
    fn hold(&self, _bytes: u64) {}
    /// What a flush of one record may cost beside it.
    fn flush_bytes(&self) -> u32 {
        0
    }
    /// Nothing is flushed that nobody asks for, because there is no room for it.
    fn is_short(&self) -> bool {
        false
    }
}

impl RecordLog for duramen_wal::Log {
    fn append(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn> {
        duramen_wal::Log::append(self, record, undo_reserve)
            .map_err(|error| error.to_sql(&self.config().db_name))
    }

    fn append_asking(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn> {
        duramen_wal::Log::append_asking(self, record, undo_reserve)
            .map_err(|error| error.to_sql(&self.config().db_name))
    }

    fn last_lsn(&self) -> Lsn {
        duramen_wal::Log::last_lsn(self)
    }

    fn durable_lsn(&self) -> Lsn {
        duramen_wal::Log::durable_lsn(self)
    }

    fn request_flush(&self, lsn: Lsn) {
        duramen_wal::Log::request_flush(self, lsn);
    }

    fn help_flush(&self, lsn: Lsn) {
        duramen_wal::Log::help_flush(self, lsn);
    }

    fn flush(&self, lsn: Lsn) -> SqlResult<()> {
        duramen_wal::Log::flush(self, lsn).map_err(|error| error.to_sql(&self.config().db_name))
    }

    fn release_reserve(&self, bytes: u64) {
        duramen_wal::Log::release_reserve(self, bytes);
    }

    fn reserve(&self, bytes: u64) -> SqlResult<()> {
        duramen_wal::Log::reserve(self, bytes).map_err(|e| e.to_sql(&self.config().db_name))
    }

    fn hold(&self, bytes: u64) {
        duramen_wal::Log::hold(self, bytes);
    }

    fn flush_bytes(&self) -> u32 {
        duramen_wal::Log::flush_bytes(self)
    }

    fn is_short(&self) -> bool {
        duramen_wal::Log::is_short(self)
    }
}
