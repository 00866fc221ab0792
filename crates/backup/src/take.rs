//! BACKUP: see the invariants of the room above.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{
    DbId, EXTENT_PAGES, FileId, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, messages,
};
use duramen_format::alloc::{
    GAM_EXTENTS, GAM_INTERVAL, bit_get, diff_page_of, gam_page_of, is_fixed_page,
};
use duramen_observe::{DbCounter, WaitType, count_db};
use duramen_os::time;
use duramen_pool::{DataFile, FileGrowth, SuspectPage};
use duramen_storage::{Database, Engine};
use duramen_wal::{BlockRange, Log, LogError};

use super::copy::{Bad, EXTENT_BYTES, Filled, Pieces, Reader};
use super::read::OWN_BLOCK_AT;
use super::set::{SetFile, SetHeader, SetKind, TapeTime};
use super::tape::{COMMON_BYTES, Device, Media, SOFTWARE, Tape};
use super::team::{Buffers, Team, Transfer};
use super::tolerance::Tolerance;
use super::writers::{Job, Writers};

/// Who reads and who writes at once, when there are buffers for all of them.
const READERS: usize = 3;
const WRITERS: usize = 2;
/// Bytes of a stripe beside pages and log.
const HEADERS: u64 = 1 << 20;
const LOG_PIECE: usize = 1 << 20;
/// Body of an MSTL block, as long as in sets of SQL Server.
const MSTL_BYTES: usize = 592 - COMMON_BYTES;

/// Called with the percentage done; an error ends the backup.
pub type Progress<'a> = &'a mut dyn FnMut(u32) -> SqlResult<()>;

/// BACKUP, as the room above was asked for it.
#[derive(Clone, Debug)]
pub struct BackupRequest {
    /// One, or several over which extents and log are spread.
    pub stripes: Vec<Stripe>,
    /// Which set of the medium it will be, from 1.
    pub position: u32,
    /// Kind, flags, names, options: what the database does not know itself. The rest is filled in.
    pub header: SetHeader,
    /// The log's files; their sizes are filled in.
    pub log_files: Vec<SetFile>,
    pub transfer: Transfer,
    /// What becomes of damaged pages.
    pub tolerance: Tolerance,
}

/// A device of a backup.
#[derive(Clone, Debug)]
pub struct Stripe {
    pub device: Device,
    /// Where the set goes in the container: behind others, or 0.
    pub at: u64,
    /// The medium is a compressed one, which has that place at `stored`.
    pub compressed: bool,
    pub stored: u64,
    /// Written when `at` is 0.
    pub media: Media,
}

/// A file in a backup that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackedFile {
    pub logical_name: String,
    pub is_log: bool,
    pub pages: u64,
}

/// A backup that was taken.
#[derive(Clone, Debug)]
pub struct Backed {
    pub header: SetHeader,
    pub files: Vec<BackedFile>,
    pub took: Duration,
    /// Bytes that the set takes on its media.
    pub stored: u64,
}

/// A moment in the form of the tape format.
pub(super) fn now() -> TapeTime {
    TapeTime::of_unix(time::wall().unix_seconds())
}

/// What a log error is inside a backup.
struct Failed(SqlError);

impl From<LogError> for Failed {
    fn from(e: LogError) -> Failed {
        Failed(e.to_sql(""))
    }
}

/// Keeps log, notes of changes and of freed extents until it is dropped, however the backup ends.
struct Running<'a> {
    db: &'a Database,
    ticket: u64,
    notes: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.db.release_log(self.ticket);
        if self.notes {
            self.db.changed.end_notes();
        }
        self.db.backups.end_watch();
    }
}

/// BACKUP DATABASE or LOG. The set is on its device, durably, before the database says of itself that it has it; the caller
/// has made the device's name durable. 4208, 4214, 3035 when the set cannot be taken; 3202 when the device fails; 3043 for a
/// damaged page.
pub fn back_up(
    db: &Database,
    request: &BackupRequest,
    progress: Progress<'_>,
) -> SqlResult<Backed> {
    Source { db, request }.back_up(progress)
}

/// A database that is backed up.
struct Source<'a> {
    db: &'a Database,
    request: &'a BackupRequest,
}

impl Source<'_> {
    fn back_up(&self, progress: Progress<'_>) -> SqlResult<Backed> {
        match self.request.header.kind {
            SetKind::Log => self.back_up_log(progress),
            _ => self.back_up_pages(progress),
        }
    }

    fn expect_log(&self) -> SqlResult<&Arc<Log>> {
        let unavailable = || SqlError::new(&messages::LOG_UNAVAILABLE, &[&self.db.name]);
        self.db.log.as_ref().ok_or_else(unavailable)
    }

    fn back_up_pages(&self, progress: Progress<'_>) -> SqlResult<Backed> {
        let started = time::now();
        let _one = self.db.backups.database.lock();
        let _copying = self.db.backups.begin_copying();
        // Files neither come nor go while they are copied.
        let _files = self.db.file_state.admin.lock();
        let log = self.expect_log()?.clone();
        let full = self.request.header.kind == SetKind::Database;
        let base = {
            let boot = self.db.boot.lock();
            let own = boot.own.clone().unwrap_or_default();
            (boot.differential_base_lsn, own.differential_base)
        };
        if !full && base.0.is_null() {
            return Err(SqlError::new(
                &messages::NO_DIFFERENTIAL_BASE,
                &[&self.db.name],
            ));
        }
        let kept = self.db.admit_backup()?;
        let mut running = Running {
            db: self.db,
            ticket: self.db.hold_log(),
            notes: full && !self.request.header.copy_only,
        };
        if running.notes {
            self.db.changed.begin_notes();
        }
        self.db.backups.watch();
        self.db.checkpoint()?;
        let (checkpoint, first) = self.db.last_checkpoint();
        self.db.hold_log_from(running.ticket, first);
        let mut copied = self.allocated(full)?;
        for (file, extent) in self.db.backups.end_watch() {
            let of_file = copied.iter_mut().find(|(f, _)| f.id == file);
            if let Some((file, extents)) = of_file
                && (full || self.extent_differs(file.id, extent)?)
            {
                extents.insert(extent);
            }
        }
        let mut header = self.header(checkpoint, first);
        if !full {
            header.differential_base_lsn = base.0;
            header.differential_base = base.1;
        }
        header.database_backup_lsn = base.0;
        let total: usize = copied.iter().map(|(_, e)| e.len()).sum();
        let mut writer = Writer::begin(
            &self.db.engine,
            (&self.db.name, self.db.id),
            self.request,
            header,
            total as u64 * EXTENT_BYTES as u64,
        )?;
        for (file, extents) in copied {
            writer.data_file(&file, extents, progress)?;
        }
        let end = self.end_of_log(&log)?;
        writer.log(&log, first, end)?;
        let mut backed = writer.end(end, progress)?;
        if running.notes {
            if self.db.log_backup_lsn().is_null() {
                // Marks of an older chain, which the set makes up for.
                self.db.clear_ml_maps(&self.db.minimally_logged()?)?;
            }
            drop(kept);
            self.becomes_base(&backed.header)?;
            // Until now a crash would have left the bits of the old base.
            running.notes = false;
            self.db.clear_diff_maps()?;
        }
        drop(running);
        // What keeps the log from now on may be another than before.
        self.db.truncate_log(false);
        backed.took = started.elapsed();
        Ok(backed)
    }

    fn back_up_log(&self, progress: Progress<'_>) -> SqlResult<Backed> {
        let started = time::now();
        let _one = self.db.backups.log.lock();
        let log = self.expect_log()?.clone();
        if self.db.log_backup_lsn().is_null() {
            return Err(SqlError::new(&messages::NO_CURRENT_BACKUP, &[]));
        }
        let kept = self.db.admit_log_backup(self.request.header.copy_only)?;
        let running = Running {
            db: self.db,
            ticket: self.db.hold_log(),
            notes: false,
        };
        // It may have ended meanwhile.
        let first = self.db.log_backup_lsn();
        if first.is_null() {
            return Err(SqlError::new(&messages::NO_CURRENT_BACKUP, &[]));
        }
        let copying = self.db.backups.begin_copying();
        let marked = self.db.minimally_logged()?;
        let alone = (!marked.is_empty()).then(|| {
            let database = self.db.backups.database.lock();
            (copying, database, self.db.file_state.admin.lock())
        });
        if alone.is_some() {
            // What was filled is on the disk then.
            self.db.checkpoint()?;
        }
        let (checkpoint, _) = self.db.last_checkpoint();
        let mut header = self.header(checkpoint, first);
        header.database_backup_lsn = self.db.boot.lock().differential_base_lsn;
        header.bulk_logged = !marked.is_empty();
        let so_far = self.end_of_log(&log)?;
        let ranges = log
            .block_ranges(first, so_far)
            .map_err(|e| e.to_sql(&self.db.name))?;
        let extents: usize = marked.iter().map(|(_, e)| e.len()).sum();
        let total = ranges.iter().map(|r| r.bytes).sum::<u64>() + (extents * EXTENT_BYTES) as u64;
        let mut writer = Writer::begin(
            &self.db.engine,
            (&self.db.name, self.db.id),
            self.request,
            header,
            total,
        )?;
        for (file, extents) in &marked {
            writer.data_file(file, extents.clone(), progress)?;
        }
        // Behind everything that a copied page tells.
        let end = match marked.is_empty() {
            true => so_far,
            false => self.end_of_log(&log)?,
        };
        writer.log(&log, first, end)?;
        let mut backed = writer.end(end, progress)?;
        if !self.request.header.copy_only {
            drop(kept);
            self.db.log_backup_taken(end)?;
            self.db.clear_ml_maps(&marked)?;
        }
        drop(alone);
        drop(running);
        self.db.truncate_log(!self.request.header.copy_only);
        backed.took = started.elapsed();
        Ok(backed)
    }

    /// Makes everything durable that was appended; where the next block begins.
    fn end_of_log(&self, log: &Log) -> SqlResult<Lsn> {
        self.db.access.flush(self.db.access.last_lsn())?;
        Ok(log.durable_end())
    }

    /// The set is the base of differential backups from now on, and a chain of log backups begins with it if none has.
    fn becomes_base(&self, header: &SetHeader) -> SqlResult<()> {
        let keeps = self.db.recovery_model() != duramen_storage::RecoveryModel::Simple;
        self.db.change_boot_now("DatabaseBackup", |b| {
            b.differential_base_lsn = header.checkpoint_lsn;
            b.last_backup_lsn = header.last_lsn;
            if let Some(own) = &mut b.own {
                own.differential_base = header.guid;
                // Whoever repeats this record has the family with it.
                own.family = header.family;
                if keeps && own.log_backup_lsn.is_null() {
                    own.log_backup_lsn = header.first_lsn;
                }
            }
        })
    }

    /// The extents in use, or of those the ones that have changed since the base.
    fn allocated(&self, all: bool) -> SqlResult<Vec<(Arc<DataFile>, BTreeSet<u32>)>> {
        let mut out = Vec::new();
        let files = self.db.store.files.read().clone();
        for file in files {
            let size = file.size.load(std::sync::atomic::Ordering::SeqCst);
            let mut extents = BTreeSet::new();
            for start in (0..size).step_by(GAM_INTERVAL as usize) {
                let gam = *self
                    .db
                    .read_page(PageId::new(file.id, gam_page_of(start)))?
                    .bytes();
                let count = ((size - start) / EXTENT_PAGES).min(GAM_EXTENTS);
                for bit in 0..count {
                    let extent = start / EXTENT_PAGES + bit;
                    // Maps stand in extents that nobody has allocated.
                    let fixed = is_fixed_page(extent * EXTENT_PAGES);
                    if fixed || !bit_get(&gam, bit) {
                        extents.insert(extent);
                    }
                }
            }
            if !all {
                let mut changed = BTreeSet::new();
                for extent in extents {
                    if self.extent_differs(file.id, extent)? {
                        changed.insert(extent);
                    }
                }
                extents = changed;
            }
            out.push((file, extents));
        }
        Ok(out)
    }

    /// Whether the DIFF map has the extent, or does not speak of it: maps and the file header change without a mark.
    fn extent_differs(&self, file: u16, extent: u32) -> SqlResult<bool> {
        let page = extent * EXTENT_PAGES;
        if is_fixed_page(page) || page.is_multiple_of(GAM_INTERVAL) {
            return Ok(true);
        }
        let map = PageId::new(file, diff_page_of(page));
        let bit = page % GAM_INTERVAL / EXTENT_PAGES;
        // The extent of the boot page is written without log.
        Ok(file == 1 && extent == 1 || bit_get(self.db.read_page(map)?.bytes(), bit))
    }

    fn header(&self, checkpoint: Lsn, first: Lsn) -> SetHeader {
        let boot = self.db.boot.lock().clone();
        let own = boot.own.clone().unwrap_or_default();
        let mut h = self.request.header.clone();
        h.family = self.db.family();
        h.fork = h.family;
        h.guid = duramen_os::random::guid();
        h.checkpoint_lsn = checkpoint;
        h.first_lsn = first;
        h.started = now();
        h.version = boot.version;
        h.collation = boot.collation;
        h.created = boot.created;
        h.begins_log_chain = own.log_backup_lsn.is_null();
        let groups = self.db.filegroups();
        h.filegroups = groups.into_iter().map(|g| (g.id, g.name)).collect();
        h.files = Vec::new();
        for f in self.db.store.files.read().iter() {
            let spec = f.spec.read();
            let (growth, growth_percent) = match spec.growth {
                FileGrowth::None => (0, false),
                FileGrowth::Pages(n) => (u64::from(n) * PAGE_BYTES as u64, false),
                FileGrowth::Percent(p) => (u64::from(p), true),
            };
            h.files.push(SetFile {
                id: f.id,
                is_log: false,
                filegroup: spec.filegroup,
                logical_name: spec.logical_name.clone(),
                path: spec.shown_path.clone(),
                size: u64::from(f.size.load(std::sync::atomic::Ordering::SeqCst))
                    * PAGE_BYTES as u64,
                max_size: spec.max_size.map(|m| u64::from(m) * PAGE_BYTES as u64),
                growth,
                growth_percent,
                create_lsn: f.create_lsn,
                guid: [0; 16],
                backup_bytes: 0,
            });
        }
        h.files.extend(self.request.log_files.iter().cloned());
        h.files.sort_by_key(|f| f.id);
        let guids = self.db.file_guids();
        for f in &mut h.files {
            f.guid = guids.get(&f.id).copied().unwrap_or_default();
        }
        h.own = true;
        h
    }
}

/// A set on its way to the device.
pub(super) struct Writer<'a> {
    engine: &'a Arc<Engine>,
    /// The database.
    name: &'a str,
    id: DbId,
    tapes: Vec<Tape>,
    /// Which gets the next piece.
    next_tape: usize,
    header: SetHeader,
    request: &'a BackupRequest,
    total: u64,
    reported: u32,
    buffers: Arc<Buffers>,
    writers: Writers,
}

impl<'a> Writer<'a> {
    pub fn begin(
        engine: &'a Arc<Engine>,
        (name, id): (&'a str, DbId),
        request: &'a BackupRequest,
        header: SetHeader,
        total: u64,
    ) -> SqlResult<Writer<'a>> {
        let mut tapes = Vec::new();
        let share = total / request.stripes.len().max(1) as u64;
        for stripe in &request.stripes {
            let mut tape = Tape::new(
                stripe.device.clone(),
                stripe.at,
                stripe.compressed,
                stripe.stored,
            )?;
            tape.align_data(header.block_bytes);
            tape.expect(share + HEADERS)?;
            if stripe.at == 0 {
                let mut media = Media {
                    software: SOFTWARE.to_owned(),
                    ..stripe.media.clone()
                };
                // WITH INIT the header stays as it was.
                if media.written == TapeTime::default() {
                    media.written = header.started;
                }
                tape.media_header(&media)?;
            }
            tapes.push(tape);
        }
        let buffers = request.transfer.room(&engine.memory);
        let mut w = Writer {
            writers: Writers::start(WRITERS.min(request.transfer.buffers), &buffers)?,
            buffers,
            engine,
            name,
            id,
            tapes,
            next_tape: 0,
            header,
            request,
            total,
            reported: 0,
        };
        w.set_header()?;
        Ok(w)
    }

    /// SSET, VOLB, MSCI, on every device.
    fn set_header(&mut self) -> SqlResult<()> {
        let h = &self.header;
        let kind: u32 = match (h.kind, h.copy_only) {
            (SetKind::Differential, _) => 8,
            (_, true) => 2,
            _ => 4,
        };
        for tape in &mut self.tapes {
            tape.begin_set();
            let mut body = vec![0; 48];
            body[..4].copy_from_slice(&kind.to_le_bytes());
            body[8..10].copy_from_slice(&0x1200u16.to_le_bytes());
            body[10..12].copy_from_slice(&(self.request.position as u16).to_le_bytes());
            body[28..36].copy_from_slice(&tape.at().to_le_bytes());
            body[36..41].copy_from_slice(&h.started.0);
            body[41..43].copy_from_slice(&[h.product.0, h.product.1]);
            body[45] = 2;
            body.extend(h.guid);
            body.extend([0; 5]);
            let strings = [
                (64, h.name.as_str()),
                (68, h.description.as_str()),
                (76, h.user.as_str()),
            ];
            tape.block_with_os_data(&body, &strings)?;
            tape.end_block()?;
            let mut body = vec![0; 21];
            body[..4].copy_from_slice(&2u32.to_le_bytes());
            body[16..21].copy_from_slice(&h.started.0);
            let strings = [(56, "/"), (64, h.server.as_str())];
            tape.block(b"VOLB", 0, &body, &strings)?;
            tape.end_block()?;
        }
        self.configuration(b"MSCI")
    }

    /// MSCI at the beginning, MSLS at the end.
    fn configuration(&mut self, kind: &[u8; 4]) -> SqlResult<()> {
        let bytes = self.header.encode();
        for tape in &mut self.tapes {
            tape.block(kind, 0, &[0; 4], &[])?;
            tape.stream(b"MQCI", 0, &bytes)?;
            tape.end_block()?;
        }
        Ok(())
    }

    /// Bytes of pages and log so far.
    fn payload_bytes(&self) -> u64 {
        self.tapes.iter().map(|t| t.payload_bytes).sum()
    }

    /// MSDA: the extents that are not all zeros, which a new file has anyway.
    fn data_file(
        &mut self,
        file: &Arc<DataFile>,
        extents: BTreeSet<u32>,
        progress: Progress<'_>,
    ) -> SqlResult<()> {
        let mut body = [0; 8];
        body[6..8].copy_from_slice(&file.id.to_le_bytes());
        let checksums = self.header.checksums;
        for tape in &mut self.tapes {
            tape.block(b"MSDA", 0, &body, &[])?;
            tape.begin_data(b"MQDA", 2, checksums)?;
        }
        let before = self.payload_bytes();
        self.extents(file, extents, progress)?;
        let written = self.payload_bytes() - before;
        if let Some(f) = self.header.files.iter_mut().find(|f| f.id == file.id) {
            f.backup_bytes = written;
        }
        for tape in &mut self.tapes {
            tape.end_data(b"MQDA", 2)?;
            tape.stream(b"MQDA", 6, &[])?;
            tape.end_block()?;
        }
        Ok(())
    }

    /// Reads extents, several pieces at once, and hands them on in their order.
    fn extents(
        &mut self,
        file: &Arc<DataFile>,
        extents: BTreeSet<u32>,
        progress: Progress<'_>,
    ) -> SqlResult<()> {
        let reader = Reader {
            engine: self.engine.clone(),
            db: self.id,
            file: file.clone(),
            checksums: self.header.checksums,
            tolerance: self.request.tolerance.clone(),
            buffers: self.buffers.clone(),
        };
        let Transfer { bytes, buffers } = self.request.transfer;
        let count = (extents.len() * EXTENT_BYTES).div_ceil(bytes);
        let readers = READERS.min(buffers).min(count);
        if readers == 0 {
            return Ok(());
        }
        let pieces = Pieces::new(extents.into_iter(), bytes);
        let work = move |buf, piece: Vec<(u32, u32)>| reader.fill(buf, &piece);
        let mut team = Team::start("backup reader", readers, pieces, &self.buffers, work)?;
        while let Some(filled) = {
            let _wait = duramen_observe::wait(WaitType::BACKUPIO);
            team.next()?
        } {
            match filled {
                Ok(filled) => self.hand_on(filled)?,
                Err(Bad::Failed(e)) => return Err(e),
                Err(Bad::Page(page, why)) => {
                    if let Some(why) = why {
                        let db = self.id;
                        let suspects = &self.engine.suspects;
                        suspects.note(SuspectPage { db, page, why });
                    }
                    return Err(self.damaged(file, page));
                }
            }
            self.next_tape = (self.next_tape + 1) % self.tapes.len();
            self.report(self.payload_bytes(), progress)?;
        }
        Ok(())
    }

    /// To whoever writes, where there is something to write; the buffer goes back in any case.
    fn hand_on(&mut self, filled: Filled) -> SqlResult<()> {
        let Filled {
            buf,
            bytes,
            crc,
            sum,
        } = filled;
        count_db(self.id, DbCounter::BackupRestoreBytes, bytes as u64);
        let tape = &mut self.tapes[self.next_tape];
        let written = match bytes {
            0 => Ok(()),
            _ => match tape.reserve(bytes, crc, sum)? {
                None => tape.payload_summed(&buf[..bytes], crc, sum),
                Some(at) => {
                    let device = tape.device();
                    if let Some(file) = device.file.clone() {
                        let _wait = duramen_observe::wait(WaitType::BACKUPBUFFER);
                        return self.writers.put(Job {
                            file,
                            shown: device.shown.as_str().into(),
                            at,
                            buf,
                            bytes,
                        });
                    }
                    Ok(())
                }
            },
        };
        self.buffers.give(buf);
        written
    }

    /// 3043
    fn damaged(&self, file: &DataFile, page: PageId) -> SqlError {
        let place = format!("({}:{})", page.file, page.page);
        let path = file.spec.read().shown_path.clone();
        let args: [&dyn std::fmt::Display; 3] = [&self.name, &place, &path];
        SqlError::new(&messages::BACKUP_PAGE_DAMAGED, &args)
    }

    /// MSTL per VLF that has any of the log between, and one without data.
    pub fn log(&mut self, log: &Log, from: Lsn, to: Lsn) -> SqlResult<()> {
        let fail = |e: LogError| e.to_sql(self.name);
        let ranges = log.block_ranges(from, to).map_err(fail)?;
        self.header.vlfs = log.vlf_slots();
        for slot in &mut self.header.vlfs {
            if !ranges.iter().any(|r| r.slot.header.seq == slot.header.seq) {
                slot.header.seq = 0;
            }
        }
        let checksums = self.header.checksums;
        for range in &ranges {
            let tape = &mut self.tapes[self.next_tape];
            mstl(tape, Some(range))?;
            tape.begin_data(b"MQTL", 0, checksums)?;
            let read = log.read_blocks(range, LOG_PIECE, |bytes| {
                if duramen_os::thread::is_given_up() {
                    return Err(Failed(SqlError::given_up()));
                }
                tape.payload(bytes).map_err(Failed)
            });
            read.map_err(|Failed(e)| e)?;
            tape.end_data(b"MQTL", 0)?;
            tape.end_block()?;
            self.next_tape = (self.next_tape + 1) % self.tapes.len();
            let FileId(id) = range.slot.file_id;
            if let Some(f) = self.header.files.iter_mut().find(|f| f.id == id) {
                f.backup_bytes += range.bytes;
            }
        }
        for tape in &mut self.tapes {
            mstl(tape, None)?;
            tape.end_block()?;
        }
        for (FileId(id), bytes) in log.file_sizes() {
            if let Some(f) = self.header.files.iter_mut().find(|f| f.id == id) {
                f.size = bytes;
            }
        }
        Ok(())
    }

    fn report(&mut self, done: u64, progress: Progress<'_>) -> SqlResult<()> {
        let percent = (done * 100).checked_div(self.total).unwrap_or(100).min(99) as u32;
        if percent > self.reported {
            self.reported = percent;
        }
        progress(self.reported)
    }

    /// MSLS and the end of the set; the device has everything when it returns.
    pub fn end(mut self, last: Lsn, progress: Progress<'_>) -> SqlResult<Backed> {
        self.writers.finish()?;
        self.header.last_lsn = last;
        self.header.finished = now();
        self.header.size = self.payload_bytes();
        self.header.damaged = !self.request.tolerance.met().is_empty();
        self.configuration(b"MSLS")?;
        let marks = 2 * self.request.position;
        let mut body = [0; 36];
        let kind: u32 = match self.header.kind {
            SetKind::Differential => 8,
            _ => 4,
        };
        body[..4].copy_from_slice(&kind.to_le_bytes());
        body[26..28].copy_from_slice(&(self.request.position as u16).to_le_bytes());
        body[28..33].copy_from_slice(&self.header.finished.0);
        let mut stored = 0;
        for tape in &mut self.tapes {
            tape.filemark(marks - 1)?;
            tape.block(b"ESET", 0, &body, &[])?;
            let mut sum = tape.crc.to_le_bytes().to_vec();
            sum.extend(tape.payload_bytes.to_le_bytes());
            tape.stream(b"DURA", 0, &sum)?;
            tape.end_block()?;
            tape.block(b"ESET", 0, &body, &[])?;
            tape.end_block()?;
            tape.filemark(marks)?;
            stored += tape.finish()?;
        }
        progress(100)?;
        let pages = |f: &SetFile| f.backup_bytes.div_ceil(PAGE_BYTES as u64);
        let files = self.header.files.iter();
        let in_set =
            files.filter(|f| f.is_log || self.header.kind != SetKind::Log || f.backup_bytes > 0);
        let files = in_set.map(|f| BackedFile {
            logical_name: f.logical_name.clone(),
            is_log: f.is_log,
            pages: pages(f),
        });
        Ok(Backed {
            files: files.collect(),
            header: self.header,
            took: Duration::ZERO,
            stored,
        })
    }
}

/// Begins the block of a VLF's log, or of none.
fn mstl(tape: &mut Tape, range: Option<&BlockRange>) -> SqlResult<()> {
    let mut body = vec![0; MSTL_BYTES];
    let mut put = |at: usize, bytes: &[u8]| {
        body[at - COMMON_BYTES..at - COMMON_BYTES + bytes.len()].copy_from_slice(bytes);
    };
    put(58, &1u16.to_le_bytes());
    if let Some(range) = range {
        let FileId(id) = range.slot.file_id;
        put(60, &range.bytes.to_le_bytes());
        put(76, &id.to_le_bytes());
        put(92, &range.slot.header.seq.to_le_bytes());
        put(OWN_BLOCK_AT, &range.first_block.to_le_bytes());
    }
    tape.block(b"MSTL", 0, &body, &[])
}
