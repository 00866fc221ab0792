//! RESTORE: files made from a backup set, with the set's log behind them, so that opening them is crash recovery.
//!
//! While a database is being restored its files are only added to: pages of a differential backup take the places of older
//! ones, blocks of log backups go behind the log that is there. Redo and undo wait for RECOVERY, which is
//! [`Database::open`]. Page 4 of the first file, which has no other use, says how far the log reaches: a restore that is
//! cut short leaves blocks behind that place, and nobody believes them.
//!
//! The copy gets a GUID of its own (the double-write file tells databases apart by it) and keeps the family's.

use std::path::Path;
use std::sync::Arc;

use duramen_base::{
    DbId, EXTENT_PAGES, FileId, Lsn, PAGE_BYTES, PageId, SqlError, SqlResult, messages,
};
use duramen_format::PageBytes;
use duramen_format::boot::{BOOT_PAGE, Boot, FileHeader};
use duramen_format::page::{PageMut, PageRef, Verify, seal, verify};
use duramen_observe::{DbCounter, count_db};
use duramen_os::memory::Broker;
use duramen_os::{AlignedBuf, DiskFile, Env, IoError, OpenOptions};
use duramen_pool::{DataFile, DataFileSpec, io_error};
use duramen_storage::{Database, Engine, RecoveryModel, expand_error, log_header, raise_log_files};
use duramen_wal::{LaidLog, LogError, LogFileSpec};

use super::copy::EXTENT_BYTES;
use super::read::{BackupSet, Medium, Run, damaged, malformed};
use super::set::{SetHeader, SetKind};
use super::stop::{self, Stop, StopPoint};
use super::sums::{Family, Part, Summed, Sums, parts};
use super::team::{Team, Transfer};
use super::tolerance::Tolerance;

/// Who reads from the medium and writes to files at once, when there are buffers for all of them.
const LAYERS: usize = 4;
const LOG_PIECE: usize = 1 << 20;
/// The page of the first file that says how far a restore has come.
pub(super) const STATE_PAGE: u64 = 4;
const STATE_BYTES: usize = 512;
const MAGIC: [u8; 16] = *b"DURAMEN-RESTORE1";

/// Files that a backup is restored to.
#[derive(Clone, Debug)]
pub struct RestoreFiles {
    /// The database's name and its number on this server.
    pub name: String,
    pub id: u16,
    /// By their numbers in the set; sizes are taken from there.
    pub data: Vec<DataFileSpec>,
    pub log: Vec<LogFileSpec>,
    /// What becomes of damaged pages.
    pub tolerance: Tolerance,
}

/// What is to be restored, and the engine whose files are made.
pub struct Restores<'a> {
    pub(super) engine: &'a Arc<Engine>,
    pub(super) files: &'a RestoreFiles,
}

/// How far a restore has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RestoreState {
    /// Where the log ends that was restored: the next backup must have what follows.
    pub end: Lsn,
    /// CheckpointLSN of the full backup.
    pub base: Lsn,
    pub family: [u8; 16],
    pub guid: [u8; 16],
    /// Where the log ends when a point to stop has cut the block at `end` short; else NULL. The next backup begins with
    /// the whole block.
    pub tail: Lsn,
    /// More log may stand behind `end`.
    pub unfinished: bool,
    /// A differential backup is being laid: the files are neither what they were nor what they will be.
    pub mixed: bool,
    /// Pages of a log backup with minimally logged work are being laid: no recovery before the log reaches this.
    pub needed: Lsn,
}

impl RestoreState {
    fn encode(&self) -> [u8; STATE_BYTES] {
        let mut b = [0; STATE_BYTES];
        b[..16].copy_from_slice(&MAGIC);
        b[16..26].copy_from_slice(&self.end.to_bytes());
        b[26..36].copy_from_slice(&self.base.to_bytes());
        b[36..52].copy_from_slice(&self.family);
        b[52..68].copy_from_slice(&self.guid);
        b[68] = u8::from(self.unfinished) | u8::from(self.mixed) << 1;
        b[70..80].copy_from_slice(&self.tail.to_bytes());
        b[80..90].copy_from_slice(&self.needed.to_bytes());
        let crc = crc32c::crc32c(&b[..STATE_BYTES - 4]);
        b[STATE_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        b
    }

    fn decode(b: &[u8; STATE_BYTES]) -> Option<RestoreState> {
        let crc = crc32c::crc32c(&b[..STATE_BYTES - 4]).to_le_bytes();
        if b[..16] != MAGIC || b[STATE_BYTES - 4..] != crc {
            return None;
        }
        Some(RestoreState {
            end: Lsn::from_bytes(&b[16..])?,
            base: Lsn::from_bytes(&b[26..])?,
            family: b[36..52].try_into().ok()?,
            guid: b[52..68].try_into().ok()?,
            tail: Lsn::from_bytes(&b[70..])?,
            needed: Lsn::from_bytes(&b[80..])?,
            unfinished: b[68] & 1 != 0,
            mixed: b[68] & 2 != 0,
        })
    }
}

fn log_failed(name: &str) -> impl Fn(LogError) -> SqlError + '_ {
    move |e| match e {
        LogError::BadRecord => SqlError::new(&messages::BACKUP_DAMAGED, &[]),
        LogError::Io {
            cause: IoError::GivenUp,
            ..
        } => SqlError::given_up(),
        LogError::Io { path, cause } => {
            let code = format!("{}({cause})", cause.code());
            SqlError::new(&messages::CREATE_FILE_OS_ERROR, &[&code, &path.display()])
        }
        e => e.to_sql(name),
    }
}

/// A file that was added since the full backup would have to be made: that is not here.
fn same_files(files: &RestoreFiles, header: &SetHeader) -> SqlResult<()> {
    let known = |id: u16| files.data.iter().any(|d| d.file_id == id);
    match header.files.iter().all(|f| f.is_log || known(f.id)) {
        true => Ok(()),
        false => {
            let what = "RESTORE of a backup that follows ADD FILE";
            Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]))
        }
    }
}

/// 4331
pub(super) fn inconsistent() -> SqlError {
    SqlError::new(&messages::RESTORED_TO_INCONSISTENT_POINTS, &[])
}

impl<'a> Restores<'a> {
    pub fn new(engine: &'a Arc<Engine>, files: &'a RestoreFiles) -> Restores<'a> {
        Restores { engine, files }
    }

    /// A full backup: makes every file and lays pages and log, which are summed up on the way: nobody has to have verified
    /// the set. On an error the files that were made are deleted. 3189 when the set is not as it was written.
    pub fn lay_backup(
        &self,
        medium: &Medium,
        set: &BackupSet,
        transfer: Transfer,
        progress: super::Progress<'_>,
    ) -> SqlResult<()> {
        let mut made = Vec::new();
        let laid = self.lay_all((medium, set), transfer, progress, &mut made);
        if let Err(e) = &laid {
            let undoing = duramen_os::thread::undoing();
            for path in &made {
                // What stays is in nobody's list.
                let _ = self.engine.env.disk.remove(path);
            }
            drop(undoing);
            let strange = [
                &messages::RESTORE_PAGE_DAMAGED,
                &messages::BACKUP_FAMILY_INVALID,
            ];
            if strange.iter().any(|m| m.number == e.number) {
                // Was it written so?
                medium.verify(set, transfer, &self.engine.memory)?;
            }
        }
        laid
    }

    fn laying<'s>(
        &'s self,
        (medium, header): (&'s Medium, &'s SetHeader),
        state: RestoreState,
        transfer: Transfer,
    ) -> Laying<'s> {
        Laying {
            env: &self.engine.env,
            memory: &self.engine.memory,
            files: self.files,
            medium,
            header,
            state,
            transfer,
        }
    }

    fn lay_all(
        &self,
        (medium, set): (&Medium, &BackupSet),
        transfer: Transfer,
        progress: super::Progress<'_>,
        made: &mut Vec<std::path::PathBuf>,
    ) -> SqlResult<()> {
        let guid = duramen_os::random::guid();
        let mut data = Vec::new();
        for spec in &self.files.data {
            let listed = set.header.files.iter().find(|f| f.id == spec.file_id);
            let listed = listed.ok_or_else(|| malformed(&medium.shown))?;
            let pages = u32::try_from(listed.size / PAGE_BYTES as u64);
            let pages = pages.map_err(|_| malformed(&medium.shown))?;
            let file = DataFile::create(&self.engine.env, spec)?;
            made.push(spec.path.clone());
            file.size.store(0, std::sync::atomic::Ordering::SeqCst);
            file.extend_asked(pages, self.engine.instant_file_init())
                .map_err(|e| expand_error(&e, &file))?;
            data.push(Arc::new(file));
        }
        let state = RestoreState {
            end: set.header.last_lsn,
            base: set.header.checkpoint_lsn,
            family: set.header.family,
            guid,
            ..RestoreState::default()
        };
        let laying = self.laying((medium, &set.header), state, transfer);
        let mut sums = Sums::new(medium);
        laying.pages(set, &data, &mut sums, progress)?;
        let log = self.files.log.iter().map(|spec| {
            made.push(spec.path.clone());
            Ok((spec.clone(), log_header(spec, &guid)?))
        });
        let log = log.collect::<SqlResult<Vec<_>>>()?;
        let mut laid = LaidLog::make(&self.engine.env, &log, &set.header.vlfs)
            .map_err(log_failed(&self.files.name))?;
        laying.log(set, &mut laid, Lsn::NULL, &mut sums)?;
        sums.check(set)?;
        for file in &data {
            file.sync()?;
            duramen_storage::sync_parent(self.engine, file)?;
        }
        self.write_state(&state)?;
        progress(100)
    }

    /// A differential backup over a restored full one: 3136 when that is not its base.
    pub fn lay_differential(
        &self,
        medium: &Medium,
        set: &BackupSet,
        transfer: Transfer,
        progress: super::Progress<'_>,
    ) -> SqlResult<()> {
        let state = self.restore_state()?;
        if set.header.differential_base_lsn != state.base || set.header.family != state.family {
            return Err(SqlError::new(&messages::DIFFERENTIAL_WRONG_STATE, &[]));
        }
        same_files(self.files, &set.header)?;
        let data = self.files_to_lay(&set.header)?;
        // From the first page on nothing fits but this set or a later one of the same base, laid again.
        self.write_state(&RestoreState {
            mixed: true,
            ..state
        })?;
        let state = RestoreState {
            end: set.header.last_lsn,
            tail: Lsn::NULL,
            unfinished: false,
            mixed: false,
            needed: Lsn::NULL,
            ..state
        };
        let laying = self.laying((medium, &set.header), state, transfer);
        let mut sums = Sums::new(medium);
        // The log begins anew with the set's own: what it has goes back to where its checkpoint was.
        let log = self.files.log.iter();
        let log = log.map(|spec| {
            match self.engine.env.disk.remove(&spec.path) {
                // A restore that was cut short may have come as far.
                Ok(()) | Err(IoError::NotFound) => {}
                Err(e) => {
                    let name = spec.path.display().to_string();
                    return Err(io_error(&e, "remove", PageId::NULL, &name));
                }
            }
            Ok((spec.clone(), log_header(spec, &state.guid)?))
        });
        let log = log.collect::<SqlResult<Vec<_>>>()?;
        let mut laid = LaidLog::make(&self.engine.env, &log, &set.header.vlfs)
            .map_err(log_failed(&self.files.name))?;
        laying.log(set, &mut laid, Lsn::NULL, &mut sums)?;
        laying.pages(set, &data, &mut sums, progress)?;
        for file in &data {
            file.sync()?;
        }
        self.write_state(&state)?;
        progress(100)
    }

    /// Restored files, made as long as a later set says.
    fn files_to_lay(&self, header: &SetHeader) -> SqlResult<Vec<Arc<DataFile>>> {
        let lay = |spec: &DataFileSpec| {
            let file = DataFile::open(&self.engine.env, spec)?;
            let listed = header.files.iter().find(|f| f.id == spec.file_id);
            let pages = listed.map_or(0, |f| f.size / PAGE_BYTES as u64) as u32;
            file.take_length()?;
            file.extend_asked(pages, self.engine.instant_file_init())
                .map_err(|e| expand_error(&e, &file))?;
            Ok(Arc::new(file))
        };
        self.files.data.iter().map(lay).collect()
    }

    /// A log backup, up to the point to stop at: 4305 and 4326 when it does not follow what is there, 4330 when it is of
    /// another database, 4335 when the point is passed, 4341 when it is in a backup with minimally logged work. False
    /// when the point lies behind the backup.
    pub fn lay_log(
        &self,
        medium: &Medium,
        set: &BackupSet,
        stop: Option<&StopPoint>,
        transfer: Transfer,
        progress: super::Progress<'_>,
    ) -> SqlResult<bool> {
        let state = self.restore_state()?;
        if state.mixed {
            return Err(inconsistent());
        }
        let h = &set.header;
        same_files(self.files, h)?;
        if h.family != state.family {
            return Err(SqlError::new(&messages::LOG_BACKUP_OTHER_PATH, &[]));
        }
        let lsn = |l: Lsn| l.to_numeric();
        if h.first_lsn > state.end {
            let args: [&dyn std::fmt::Display; 2] = [&lsn(h.first_lsn), &lsn(state.end)];
            return Err(SqlError::new(&messages::LOG_BACKUP_TOO_RECENT, &args));
        }
        if h.last_lsn < state.end {
            let args: [&dyn std::fmt::Display; 2] = [&lsn(h.last_lsn), &lsn(state.end)];
            return Err(SqlError::new(&messages::LOG_BACKUP_TOO_EARLY, &args));
        }
        let from = state.end;
        let found = match stop {
            None => Stop::Behind,
            Some(point) => {
                self.not_passed(&state, point)?;
                stop::find(medium, set, from, point)?
            }
        };
        if found != Stop::Behind && h.bulk_logged {
            return Err(SqlError::new(&messages::BULK_LOGGED_STOP, &[]));
        }
        let needed = match set.pages.is_empty() {
            true => state.needed,
            false => state.needed.max(h.last_lsn),
        };
        self.write_state(&RestoreState {
            unfinished: true,
            tail: Lsn::NULL,
            needed,
            ..state
        })?;
        let mut state = RestoreState {
            end: h.last_lsn,
            tail: Lsn::NULL,
            needed: Some(needed)
                .filter(|l| *l > h.last_lsn)
                .unwrap_or(Lsn::NULL),
            ..state
        };
        let laying = self.laying((medium, h), state, transfer);
        let mut sums = Sums::new(medium);
        // They may be of an earlier version, and the records that come now are not.
        raise_log_files(&self.engine.env, &self.files.log)?;
        let mut laid = LaidLog::open(&self.engine.env, &self.files.log)
            .map_err(log_failed(&self.files.name))?;
        laying.log(set, &mut laid, from, &mut sums)?;
        if !set.pages.is_empty() {
            let data = self.files_to_lay(h)?;
            laying.pages(set, &data, &mut sums, progress)?;
            data.iter().try_for_each(|f| f.sync())?;
        }
        if let Stop::Before(lsn) = found {
            let fail = log_failed(&self.files.name);
            state.tail = laid.cut_before(lsn).map_err(&fail)?;
            state.end = Lsn::new(lsn.vlf, lsn.block, 1);
            laid.sync(&self.engine.env).map_err(&fail)?;
        }
        self.write_state(&state)?;
        progress(100)?;
        Ok(stop.is_none() || found != Stop::Behind)
    }

    /// 4335 when something that was committed after the point is restored already.
    fn not_passed(&self, state: &RestoreState, point: &StopPoint) -> SqlResult<()> {
        let StopPoint::Time(time) = point else {
            return Ok(());
        };
        let end = state.tail.max(state.end);
        for spec in &self.files.log {
            let newest = stop::newest_commit(&self.engine.env, spec, end);
            if newest.map_err(log_failed(&self.files.name))? > Some(*time) {
                return Err(SqlError::new(&messages::STOPAT_TOO_EARLY, &[]));
            }
        }
        Ok(())
    }

    /// How far the restore of these files has come. 3117 when none is under way.
    pub fn restore_state(&self) -> SqlResult<RestoreState> {
        let none = || SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]);
        let (file, name) = self.state_file()?;
        let mut b = [0; STATE_BYTES];
        file.read_at(&mut b, STATE_PAGE * PAGE_BYTES as u64)
            .map_err(|e| io_error(&e, "read", PageId::new(1, STATE_PAGE as u32), &name))?;
        RestoreState::decode(&b).ok_or_else(none)
    }

    fn write_state(&self, state: &RestoreState) -> SqlResult<()> {
        self.put_state(&state.encode())
    }

    /// The restore is over: page 4 is as it was.
    pub fn forget_restore(&self) -> SqlResult<()> {
        self.note_standby(None)?;
        self.put_state(&[0; STATE_BYTES])
    }

    fn put_state(&self, b: &[u8; STATE_BYTES]) -> SqlResult<()> {
        let (file, name) = self.state_file()?;
        file.write_durable_at(b, STATE_PAGE * PAGE_BYTES as u64)
            .map_err(|e| io_error(&e, "write", PageId::new(1, STATE_PAGE as u32), &name))
    }

    pub(super) fn state_file(&self) -> SqlResult<(Arc<dyn DiskFile>, String)> {
        let first = self.files.data.iter().find(|f| f.file_id == 1);
        let path = first.map_or(Path::new(""), |f| f.path.as_path());
        let name = path.display().to_string();
        let fail = |e: IoError| {
            let args: [&dyn std::fmt::Display; 3] = [&name, &e.code(), &e];
            SqlError::new(&messages::CANNOT_OPEN_FILE, &args)
        };
        let file = self.engine.env.disk.open(path, &OpenOptions::default());
        file.map(|f| (f, name.clone())).map_err(fail)
    }

    /// Before the files are opened: nothing stands behind the end of their log.
    pub fn end_restore(&self) -> SqlResult<RestoreState> {
        let state = self.restore_state()?;
        let end = state.tail.max(state.end);
        if state.mixed || state.needed > end {
            return Err(inconsistent());
        }
        if state.unfinished {
            let mut laid = LaidLog::open(&self.engine.env, &self.files.log)
                .map_err(log_failed(&self.files.name))?;
            laid.cut(end).map_err(log_failed(&self.files.name))?;
            laid.sync(&self.engine.env)
                .map_err(log_failed(&self.files.name))?;
        }
        Ok(state)
    }
}

/// A set on its way to files.
struct Laying<'a> {
    env: &'a Env,
    memory: &'a Arc<Broker>,
    files: &'a RestoreFiles,
    medium: &'a Medium,
    header: &'a SetHeader,
    state: RestoreState,
    transfer: Transfer,
}

impl Laying<'_> {
    /// Lays all pages of a set, several pieces at once; what they add up to goes to `sums`.
    fn pages(
        &self,
        set: &BackupSet,
        data: &[Arc<DataFile>],
        sums: &mut Sums,
        progress: super::Progress<'_>,
    ) -> SqlResult<()> {
        let total: u64 = set.pages.iter().map(|r| r.bytes).sum();
        let mut targets = Vec::new();
        for run in &set.pages {
            let file = data.iter().find(|f| f.id == run.file_id);
            let file = file.ok_or_else(|| malformed(&self.medium.shown))?;
            if !run.bytes.is_multiple_of(EXTENT_BYTES as u64) {
                return Err(malformed(&self.medium.shown));
            }
            targets.push((*run, file.clone()));
        }
        let layer = Layer {
            families: self.medium.families(),
            targets,
            copy: Copy::of(self),
        };
        let buffers = self.transfer.room(self.memory);
        let room = buffers.clone();
        let work = move |mut buf: AlignedBuf, part: Part| {
            let laid = layer.lay(&mut buf[..part.bytes], &part);
            room.give(buf);
            (part, laid)
        };
        let all = parts(&set.pages, self.transfer.bytes.max(EXTENT_BYTES));
        let threads = LAYERS.min(self.transfer.buffers);
        let mut team = Team::start("restore", threads, all, &buffers, work)?;
        let mut done = 0;
        while let Some((part, laid)) = team.next()? {
            let run = set.pages.get(part.run).ok_or_else(damaged)?;
            sums.add(run, laid?, part.last)?;
            done += part.bytes as u64;
            let percent = (done * 100).checked_div(total).unwrap_or(100);
            progress(percent.min(99) as u32)?;
        }
        Ok(())
    }

    /// Lays the blocks from `from` on: what stands before is there, or nobody needs it.
    /// What is read whole is added to `sums`.
    fn log(
        &self,
        set: &BackupSet,
        laid: &mut LaidLog,
        from: Lsn,
        sums: &mut Sums,
    ) -> SqlResult<()> {
        let fail = log_failed(&self.files.name);
        for (i, run) in set.log.iter().enumerate() {
            let mut skip = match run.vlf.cmp(&from.vlf) {
                std::cmp::Ordering::Less => continue,
                std::cmp::Ordering::Equal => from.block.saturating_sub(run.first_block),
                std::cmp::Ordering::Greater => 0,
            };
            let slot = self.header.vlfs.iter().find(|s| s.header.seq == run.vlf);
            let mut slot = *slot.ok_or_else(|| malformed(&self.medium.shown))?;
            slot.file_id = FileId(run.file_id);
            // The log of a database backup begins in the middle of a VLF.
            let begins = i == 0 && self.header.kind != SetKind::Log && run.first_block > 16;
            let first_block = if begins { run.first_block } else { 0 };
            laid.place(&slot, first_block).map_err(&fail)?;
            let mut block = run.first_block;
            let mut left = run.bytes;
            self.medium.read_run(run, LOG_PIECE, |bytes| {
                if duramen_os::thread::is_given_up() {
                    return Err(SqlError::given_up());
                }
                left -= bytes.len() as u64;
                sums.add(run, Summed::of(bytes, run), left == 0)?;
                let blocks = (bytes.len() / 512) as u32;
                let known = skip.min(blocks);
                skip -= known;
                let rest = &bytes[known as usize * 512..];
                if !rest.is_empty() {
                    laid.write(run.vlf, block + known, rest).map_err(&fail)?;
                }
                block += blocks;
                Ok(())
            })?;
        }
        laid.sync(self.env).map_err(&fail)
    }
}

/// What pages of a copy say of it that said something else of the original.
struct Copy {
    name: String,
    id: u16,
    state: RestoreState,
    checkpoint: Lsn,
    /// The set becomes the base of differential backups, under this GUID.
    base: Option<[u8; 16]>,
    tolerance: Tolerance,
}

impl Copy {
    fn of(laying: &Laying<'_>) -> Copy {
        let h = laying.header;
        Copy {
            name: laying.files.name.clone(),
            id: laying.files.id,
            state: laying.state,
            checkpoint: h.checkpoint_lsn,
            base: (h.kind == SetKind::Database && !h.copy_only).then_some(h.guid),
            tolerance: laying.files.tolerance.clone(),
        }
    }

    fn damaged(&self, page: PageId) -> SqlError {
        let place = format!("({}:{})", page.file, page.page);
        let args: [&dyn std::fmt::Display; 2] = [&place, &self.name];
        SqlError::new(&messages::RESTORE_PAGE_DAMAGED, &args)
    }

    /// The first page of an extent, by the pages in it, all of which must be sound unless damage is tolerated: then by
    /// the first sound one, or the first. The pages that say whose they are say it of the copy afterwards. 3183
    fn place(&self, file: u16, extent: &mut [u8]) -> SqlResult<u32> {
        let (pages, _) = extent.as_chunks_mut::<PAGE_BYTES>();
        if self.tolerance.is_tolerant() {
            return self.place_damaged(file, pages);
        }
        let mut first = None;
        for (i, page) in pages.iter_mut().enumerate() {
            if page.iter().all(|b| *b == 0) {
                continue;
            }
            let id = PageRef::new(page).page_id();
            let start = id.page.checked_sub(i as u32);
            let sound = verify(page) == Verify::Ok
                && id.file == file
                && start.is_some_and(|s| s.is_multiple_of(EXTENT_PAGES))
                && first.is_none_or(|f| Some(f) == start);
            if !sound {
                return Err(self.damaged(id));
            }
            first = start;
            self.rebind(id, page)?;
        }
        first.ok_or_else(|| self.damaged(PageId::new(file, 0)))
    }

    fn place_damaged(&self, file: u16, pages: &mut [PageBytes]) -> SqlResult<u32> {
        let start_of = |i: usize, page: &PageBytes| {
            let id = PageRef::new(page).page_id();
            let start = id.page.checked_sub(i as u32);
            start.filter(|s| id.file == file && s.is_multiple_of(EXTENT_PAGES))
        };
        let there = |p: &PageBytes| p.iter().any(|b| *b != 0);
        let numbered = || pages.iter().enumerate().filter(|(_, p)| there(p));
        let sound = numbered().find(|(_, p)| verify(p) == Verify::Ok);
        let by = sound.or_else(|| numbered().next());
        let start = by.and_then(|(i, p)| start_of(i, p));
        let start = start.ok_or_else(|| self.damaged(PageId::new(file, 0)))?;
        for (i, page) in pages.iter_mut().enumerate().filter(|(_, p)| there(p)) {
            let id = PageId::new(file, start + i as u32);
            match verify(page) == Verify::Ok && start_of(i, page) == Some(start) {
                true => self.rebind(id, page)?,
                // Without these nothing can be opened.
                false if id.page == 0 || id == PageId::new(1, BOOT_PAGE) => {
                    return Err(self.damaged(id));
                }
                false => self.tolerance.meet(id),
            }
        }
        Ok(start)
    }

    fn rebind(&self, id: PageId, page: &mut PageBytes) -> SqlResult<()> {
        if id.page == 0 {
            let mut header = FileHeader::read(page)?;
            header.binding = self.state.guid;
            let row = header.changed_row(page)?;
            PageMut::new(page).record_mut(0)?.copy_from_slice(&row);
            seal(page);
        } else if id == PageId::new(1, BOOT_PAGE) {
            let mut boot = Boot::read(page)?;
            // Later checkpoints of the source do not help here: pages were copied before them.
            boot.checkpoint_lsn = self.checkpoint;
            boot.name = self.name.clone();
            boot.database_id = self.id;
            if self.base.is_some() {
                boot.differential_base_lsn = self.checkpoint;
            }
            if let Some(own) = &mut boot.own {
                own.database_guid = self.state.guid;
                own.family = self.state.family;
                own.closed = false;
                if let Some(base) = self.base {
                    own.differential_base = base;
                }
            }
            boot.write(page)?;
            seal(page);
        }
        Ok(())
    }
}

/// Takes pieces from a medium to files.
struct Layer {
    families: Vec<Family>,
    /// By number of the run.
    targets: Vec<(Run, Arc<DataFile>)>,
    copy: Copy,
}

impl Layer {
    /// Reads a piece, and writes its extents where they belong.
    fn lay(&self, bytes: &mut [u8], part: &Part) -> SqlResult<Summed> {
        let (run, file) = self.targets.get(part.run).ok_or_else(damaged)?;
        let family = self.families.get(run.family).ok_or_else(damaged)?;
        family.read(bytes, part.at)?;
        let db = DbId(self.copy.id);
        count_db(db, DbCounter::BackupRestoreBytes, bytes.len() as u64);
        let summed = Summed::of(bytes, run);
        let there = file.handle.len().unwrap_or(0);
        // Extents that are neighbours in the file go down together.
        let mut waiting: Option<(usize, u32)> = None;
        for at in (0..bytes.len()).step_by(EXTENT_BYTES) {
            let extent = &mut bytes[at..at + EXTENT_BYTES];
            let first = self.copy.place(file.id, extent)?;
            if (u64::from(first) + 8) * PAGE_BYTES as u64 > there {
                return Err(self.copy.damaged(PageId::new(file.id, first)));
            }
            match waiting {
                Some((from, start)) if start + ((at - from) / PAGE_BYTES) as u32 == first => {}
                Some((from, start)) => {
                    file.write_pages(start, &bytes[from..at])?;
                    waiting = Some((at, first));
                }
                None => waiting = Some((at, first)),
            }
        }
        if let Some((from, start)) = waiting {
            file.write_pages(start, &bytes[from..])?;
        }
        Ok(summed)
    }
}

/// What a database that was restored and recovered says of itself from now on. Unless its recovery model is SIMPLE, the
/// chain of log backups goes on where the restored log ended.
pub fn after_restore(db: &Database, state: &RestoreState) -> SqlResult<()> {
    let name = db.name.clone();
    let end = state.tail.max(state.end);
    let end = match db.recovery_model() {
        RecoveryModel::Simple => Lsn::NULL,
        RecoveryModel::Full | RecoveryModel::BulkLogged => end,
    };
    let family = state.family;
    db.change_boot("Restore", |b| {
        b.name = name;
        if let Some(own) = &mut b.own {
            own.log_backup_lsn = end;
            own.family = family;
        }
    })
}
