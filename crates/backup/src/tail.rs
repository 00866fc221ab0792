//! BACKUP LOG ... WITH NO_TRUNCATE of a database that cannot be opened: the tail of its log, from the log's files alone.
//!
//! What the primary file still says is used (family, where the next log backup begins); without it the set begins with the
//! oldest block that the log has, and its family is the GUID that the log's header names: right, unless the database was
//! itself restored from a backup. The set says that its metadata is incomplete.
//!
//! Opening the log does what recovery does first (`wal`): what was in flight at its end is cut off. Nothing else is
//! written, and nothing is let go of. A tail that tells of minimally logged work is refused: the extents it filled are in
//! data files that nobody can trust.

use std::sync::Arc;

use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_format::PageBytes;
use duramen_format::boot::{DATABASE_VERSION, FileHeader};
use duramen_os::{OpenOptions, time};
use duramen_pool::{FileGrowth, io_error};
use duramen_storage::{file_guid, log_files_created};
use duramen_wal::record::{Lcx, Lop, RecordView};
use duramen_wal::{BlockRange, Log, LogConfig, LogError, claimed_bytes, open_block};

use super::read::damaged;
use super::restore::Restores;
use super::set::SetFile;
use super::take::{Backed, BackupRequest, Progress, Writer, now};

const PIECE: usize = 1 << 20;
const UNIT: usize = 512;
/// Parity bits of the first byte of a block.
const PARITY: u8 = 0xC0;

/// The log is closed with this.
struct Open(Arc<Log>);

impl Drop for Open {
    fn drop(&mut self) {
        // What was opened has appended nothing.
        let _ = self.0.shutdown();
    }
}

impl Restores<'_> {
    /// Backs up the tail of the log of a database that is not open. 4214 without a chain of log backups.
    pub fn back_up_tail(
        &self,
        sector: u32,
        request: &BackupRequest,
        progress: Progress<'_>,
    ) -> SqlResult<Backed> {
        let started = time::now();
        let boot = self.closed_boot().ok();
        let fail = |e: LogError| e.to_sql(&self.files.name);
        let config = LogConfig {
            db_name: self.files.name.clone(),
            db_id: DbId(self.files.id),
            sector,
            memory: Some(self.engine.memory.clone()),
            ..LogConfig::default()
        };
        let binding = self.binding_of_log()?;
        let (log, _) =
            Log::open(&self.engine.env, config, &self.files.log, Lsn::NULL).map_err(fail)?;
        let log = Open(log);
        let own = boot.as_ref().and_then(|b| b.own.clone());
        let chain = own.as_ref().map(|o| o.log_backup_lsn);
        if chain.is_some_and(Lsn::is_null) {
            return Err(SqlError::new(&messages::NO_CURRENT_BACKUP, &[]));
        }
        let first = log.0.oldest_block().max(chain.unwrap_or(Lsn::NULL));
        let end = log.0.durable_end();
        let ranges = log.0.block_ranges(first, end).map_err(fail)?;
        for range in &ranges {
            fully_logged(&log.0, range, &self.files.name)?;
        }
        let family = match &own {
            Some(o) if o.family != [0; 16] => o.family,
            Some(o) => o.database_guid,
            None => binding,
        };
        let header = super::set::SetHeader {
            family,
            fork: family,
            guid: duramen_os::random::guid(),
            checkpoint_lsn: boot.as_ref().map_or(Lsn::NULL, |b| b.checkpoint_lsn),
            database_backup_lsn: boot.as_ref().map_or(Lsn::NULL, |b| b.differential_base_lsn),
            first_lsn: first,
            started: now(),
            version: boot.as_ref().map_or(DATABASE_VERSION, |b| b.version),
            collation: boot.as_ref().map_or(0, |b| b.collation),
            created: boot.as_ref().map_or((0, 0), |b| b.created),
            incomplete: true,
            files: self.listed(request, (family, &log.0)),
            own: true,
            ..request.header.clone()
        };
        let total = ranges.iter().map(|r| r.bytes).sum();
        let of = (self.files.name.as_str(), DbId(self.files.id));
        let mut writer = Writer::begin(self.engine, of, request, header, total)?;
        writer.log(&log.0, first, end)?;
        let mut backed = writer.end(end, progress)?;
        backed.took = started.elapsed();
        Ok(backed)
    }

    /// The database whose log it is, as its first file says.
    fn binding_of_log(&self) -> SqlResult<[u8; 16]> {
        let Some(spec) = self.files.log.first() else {
            return Err(SqlError::new(
                &messages::LOG_UNAVAILABLE,
                &[&self.files.name],
            ));
        };
        let name = spec.path.display().to_string();
        let fail = |e| io_error(&e, "read", PageId::NULL, &name);
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let mut page: PageBytes = [0; PAGE_BYTES];
        let file = self
            .engine
            .env
            .disk
            .open(&spec.path, &options)
            .map_err(fail)?;
        file.read_at(&mut page, 0).map_err(fail)?;
        Ok(FileHeader::read(&page)?.binding)
    }

    /// The files as the server's list has them, as long as they are now.
    fn listed(&self, request: &BackupRequest, (family, log): ([u8; 16], &Log)) -> Vec<SetFile> {
        let data = self.files.data.iter().map(|f| {
            let page = |n: u32| u64::from(n) * PAGE_BYTES as u64;
            let (growth, growth_percent) = match f.growth {
                FileGrowth::None => (0, false),
                FileGrowth::Pages(n) => (page(n), false),
                FileGrowth::Percent(p) => (u64::from(p), true),
            };
            let open = self.engine.env.disk.open(&f.path, &OpenOptions::default());
            SetFile {
                id: f.file_id,
                filegroup: f.filegroup,
                logical_name: f.logical_name.clone(),
                path: f.shown_path.clone(),
                size: open.and_then(|f| f.len()).unwrap_or(page(f.size)),
                max_size: f.max_size.map(page),
                growth,
                growth_percent,
                ..SetFile::default()
            }
        });
        let mut all: Vec<SetFile> = data.chain(request.log_files.iter().cloned()).collect();
        all.sort_by_key(|f| f.id);
        // When a data file was added stands in a file that may be gone: those stay without.
        let created = log_files_created(&log.vlf_slots());
        for f in &mut all {
            f.guid = match (f.is_log, created.get(&f.id)) {
                (true, Some(lsn)) => file_guid(family, f.id, *lsn),
                _ => [0; 16],
            };
        }
        all
    }
}

/// Refuses a log that says of extents that they were filled without a record of what with.
fn fully_logged(log: &Log, range: &BlockRange, name: &str) -> SqlResult<()> {
    let mut rest: Vec<u8> = Vec::new();
    let mut minimal = false;
    let read = log.read_blocks(range, PIECE, |bytes| {
        rest.extend_from_slice(bytes);
        let mut at = 0;
        while at < rest.len() {
            let bytes = &rest[at..];
            let parity = bytes[0] & PARITY;
            match claimed_bytes(bytes, parity) {
                // The rest of the block comes with the next piece.
                Some(n) if n > bytes.len() => break,
                Some(n) => {
                    let block = open_block(&bytes[..n], parity).map_err(|_| LogError::BadRecord)?;
                    for slot in 1..=block.header.records {
                        let view = block.record(slot).and_then(RecordView::parse);
                        let view = view.ok_or(LogError::BadRecord)?;
                        minimal |= view.op() == Lop::SET_BITS && view.context() == Lcx::ML_MAP;
                    }
                    at += n;
                }
                None if bytes.len() < UNIT => break,
                None => at += UNIT,
            }
        }
        rest.drain(..at);
        Ok::<(), LogError>(())
    });
    read.map_err(|e| match e {
        LogError::BadRecord => damaged(),
        e => e.to_sql(name),
    })?;
    match minimal {
        true => {
            let what = "BACKUP LOG WITH NO_TRUNCATE of minimally logged work";
            Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]))
        }
        false => Ok(()),
    }
}
