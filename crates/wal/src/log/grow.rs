//! Growth: when no VLF is reusable, and when the administrator says so.
//!
//! One growth at a time; everybody who needs room waits for it (LOGMGR_RESERVE_APPEND). New space is written (stamped
//! with 0xC0) and synced before it is used: a durable write into written space is twice as fast as into merely allocated
//! space, and no byte in it can pass for a block. The 2022 profile skips the stamp for automatic growths up to 64 MB, as
//! that version does; its space reads as zeros, which no block begins with. So does the native profile under a load
//! ([`super::ahead`]).
//!
//! The native profile grows in the background before the room is needed, by as many increments at once as the pace of the
//! log asks for; and whenever somebody had to wait all the same, the next growths are of twice as many (together at most
//! 64 MB). How much is prepared and when, and who had to wait: [`super::ahead`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::FileId;
use duramen_observe::events::{
    DatabaseFileSizeChange, DatabasesLogFileSizeChanged, DatabasesLogGrowth, FileType,
    LogGrowthPrepared, LogGrowthWait, emit,
};
use duramen_observe::{DbCounter, WaitType, wait};
use duramen_os::sync::MutexGuard;
use duramen_os::{DiskFile, IoError, time};

use super::Log;
use super::open::{go_on, make_file, write_vlfs};
use super::state::{Space, State, Vlf};
use crate::config::{LogError, LogFileSpec, LogGrowth};
use crate::vlf::{FORMAT_VERSION, LogProfile, VlfHeader, split_growth, split_last_growth};

/// No growth is smaller; bytes.
pub const MIN_GROWTH: u64 = 256 << 10;
/// Most increments of one growth in the native profile, up to 64 MB together.
const MOST_AHEAD: u64 = 64;
/// Up to this the 2022 profile does not stamp an automatic growth.
const INSTANT_GROWTH: u64 = 64 << 20;

struct Plan {
    file: usize,
    old_bytes: u64,
    automatic: bool,
    /// Nobody waits for it yet.
    background: bool,
    /// Times the growth that was asked for.
    increments: u64,
    vlfs: Vec<Vlf>,
}

impl Log {
    /// Finds room for an append: waits for a growth in progress, or grows. `Full` when neither is possible.
    pub(super) fn make_space<'a>(
        &'a self,
        mut s: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, LogError> {
        let _wait = wait(WaitType::LOGMGR_RESERVE_APPEND);
        if s.native() {
            s.growth.ahead = (s.growth.ahead * 2).min(MOST_AHEAD);
        }
        let since = time::now();
        if s.growth.running {
            let file = s.growth.file;
            s.growth.waiters += 1;
            // A truncation makes room as well.
            let free = s.space.free_bytes;
            while s.growth.running && s.space.free_bytes <= free && s.check().is_ok() {
                self.progress.wait(&mut s);
            }
            s.growth.waiters -= 1;
            self.note_wait(&mut s, file, since);
            return Ok(s);
        }
        s.note_shortage();
        s.look_at_volume();
        let Some(plan) = s.plan_growth() else {
            s.space.note_no_growth();
            return Err(LogError::Full {
                db_name: self.cfg.db_name.clone(),
                reason: s.needs.reuse_reason,
            });
        };
        let file = plan.file;
        let several = plan.increments > 1;
        let (mut s, mut result) = self.grow_by(s, plan);
        // Where several increments find no room on the disk, one may.
        if several
            && s.growth.no_space
            && let Some(plan) = s.plan_growth()
        {
            (s, result) = self.grow_by(s, plan);
        }
        self.note_wait(&mut s, file, since);
        result.map(|()| s)
    }

    fn note_wait(&self, s: &mut State, file: usize, since: time::Instant) {
        s.space.note_wait(file, since);
        emit(|| LogGrowthWait {
            duration: since.elapsed().as_micros() as u64,
            database_id: u64::from(self.cfg.db_id.0),
            file_id: s
                .space
                .files
                .get(file)
                .map_or(0, |f| u64::from(f.spec.file_id.0)),
        });
    }

    /// Grows in the background, when that is still needed.
    pub(super) fn prepare_growth(&self) {
        let mut s = self.lock();
        loop {
            s.note_shortage();
            s.look_at_volume();
            if s.growth.running || s.check().is_err() || !s.runs_short() {
                s.growth.prepare = false;
                return;
            }
            // Without a plan, or when the disk is full, `prepare` stays set: the next who needs the room is told.
            let Some(mut plan) = s.plan_growth() else {
                s.space.note_no_growth();
                return;
            };
            plan.background = true;
            let (now, result) = self.grow_by(s, plan);
            if result.is_err() {
                return;
            }
            s = now;
        }
    }

    /// Grows a file to `new_bytes` (ALTER DATABASE ... MODIFY FILE), or by [`MIN_GROWTH`] where that is more. One that has
    /// come there by itself stays.
    pub fn grow_file(&self, file_id: FileId, new_bytes: u64) -> Result<(), LogError> {
        let mut s = self.lock();
        while s.growth.running {
            self.progress.wait(&mut s);
        }
        s.check()?;
        let plan = s
            .space
            .files
            .iter()
            .position(|f| f.spec.file_id == file_id)
            .and_then(|file| {
                let growth = new_bytes.saturating_sub(s.space.files[file].bytes);
                match growth {
                    0 => Some(None),
                    _ => s.plan(file, growth.max(MIN_GROWTH), false).map(Some),
                }
            })
            .ok_or_else(|| LogError::Full {
                db_name: self.cfg.db_name.clone(),
                reason: s.needs.reuse_reason,
            })?;
        match plan {
            Some(plan) => self.grow_by(s, plan).1,
            None => Ok(()),
        }
    }

    /// Changes how a file grows.
    pub fn set_growth(&self, spec: &LogFileSpec) {
        let mut s = self.lock();
        if let Some(f) = s
            .space
            .files
            .iter_mut()
            .find(|f| f.spec.file_id == spec.file_id)
        {
            f.spec.growth = spec.growth;
            f.spec.max_size = spec.max_size;
        }
        s.note_room();
    }

    /// Makes the log follow another version's rules from its next growth on.
    pub fn set_profile(&self, profile: LogProfile) {
        self.lock().profile = profile;
    }

    /// Which version's rules it follows.
    pub fn profile(&self) -> LogProfile {
        self.lock().profile
    }

    /// Adds a log file; it is filled after those that exist.
    pub fn add_file(&self, spec: &LogFileSpec, header_page: &[u8; 8192]) -> Result<(), LogError> {
        let mut s = self.lock();
        while s.growth.running {
            self.progress.wait(&mut s);
        }
        s.check()?;
        s.growth.running = true;
        let index = s.space.files.len();
        drop(s);
        let made = make_file(&self.env, &self.cfg, spec, header_page, index, None);
        let mut s = self.lock();
        s.growth.running = false;
        self.progress.notify_all();
        let (file, vlfs) = made?;
        s.space.files.push(file);
        s.space.vlfs.extend(vlfs);
        s.count_free();
        Ok(())
    }

    fn grow_by<'a>(
        &'a self,
        mut s: MutexGuard<'a, State>,
        plan: Plan,
    ) -> (MutexGuard<'a, State>, Result<(), LogError>) {
        s.growth.begin(plan.file, plan.background);
        self.written.store(0, Ordering::Relaxed);
        let file = s.space.files[plan.file].file.clone();
        let spec = s.space.files[plan.file].spec.clone();
        let unwritten = plan.automatic && s.grows_unwritten(&plan);
        drop(s);
        let started = time::now();
        let added: u64 = plan.vlfs.iter().map(|v| v.header.size).sum();
        let result = self.write_growth(&spec, &file, &plan, added, !unwritten);
        let event_path = spec.path.clone();
        let event = LogGrowth {
            file_id: spec.file_id,
            old_bytes: plan.old_bytes,
            new_bytes: plan.old_bytes + added,
            vlfs: plan.vlfs.iter().map(|v| v.header.size).collect(),
            duration: started.elapsed(),
            automatic: plan.automatic,
        };
        let mut s = self.lock();
        s.growth.running = false;
        if let Err(e) = &result
            && *e != IoError::GivenUp
        {
            s.space.note_failure(plan.file, e);
        }
        if plan.background {
            if result.is_ok() {
                s.space.note_prepared(plan.file, added, event.duration);
            }
            emit(|| LogGrowthPrepared {
                duration: event.duration.as_micros() as u64,
                database_id: u64::from(self.cfg.db_id.0),
                file_id: u64::from(event.file_id.0),
                size_change_kb: if result.is_ok() { added / 1024 } else { 0 },
                error: result.as_ref().err().map_or(0, super::flush::error_number),
            });
        }
        let answer = match result {
            Ok(()) => {
                s.install(plan, added);
                Ok(())
            }
            Err(IoError::NoSpace) => {
                s.growth.no_space = true;
                s.note_room();
                Err(LogError::Full {
                    db_name: self.cfg.db_name.clone(),
                    reason: s.needs.reuse_reason,
                })
            }
            Err(cause @ IoError::GivenUp) => Err(LogError::Io {
                path: event_path,
                cause,
            }),
            Err(cause) => {
                self.poison(&mut s, cause.clone());
                Err(LogError::Poisoned {
                    db_name: self.cfg.db_name.clone(),
                    cause,
                })
            }
        };
        self.progress.notify_all();
        if answer.is_ok() {
            self.counters.count(DbCounter::LogGrowths, 1);
            emit(|| DatabasesLogGrowth {
                database_id: u64::from(self.cfg.db_id.0),
                count: 1,
            });
            emit(|| DatabaseFileSizeChange {
                duration: event.duration.as_micros() as u64,
                database_id: u64::from(self.cfg.db_id.0),
                file_id: u64::from(event.file_id.0),
                file_type: FileType::Log,
                is_automatic: event.automatic,
                total_size_kb: event.new_bytes / 1024,
                size_change_kb: (event.new_bytes - event.old_bytes) as i64 / 1024,
            });
            emit(|| DatabasesLogFileSizeChanged {
                database_id: u64::from(self.cfg.db_id.0),
                count: (event.new_bytes - event.old_bytes) as i64 / 1024,
            });
            if let Some(hook) = &self.cfg.on_grow {
                drop(s);
                hook(&event);
                s = self.lock();
            }
        }
        (s, answer)
    }

    fn write_growth(
        &self,
        spec: &LogFileSpec,
        file: &Arc<dyn DiskFile>,
        plan: &Plan,
        added: u64,
        stamp: bool,
    ) -> Result<(), IoError> {
        let dir = spec.path.parent().unwrap_or(&spec.path);
        if self.env.disk.free_space(dir).is_ok_and(|free| free < added) {
            return Err(IoError::NoSpace);
        }
        let allocated = {
            let _wait = wait(WaitType::PREEMPTIVE_OS_FILEOPS);
            let wanted = || go_on(!plan.automatic && !plan.background).is_ok();
            file.allocate_while(plan.old_bytes, added, &wanted)
        };
        let written = allocated.and_then(|()| {
            let _wait = wait(WaitType::PREEMPTIVE_OS_WRITEFILEGATHER);
            let since = time::now();
            let stamp = stamp && !self.cfg.volatile;
            let end = plan.old_bytes + if stamp { added } else { 0 };
            let zeroing = duramen_observe::Zeroing::begin(&spec.path, plan.old_bytes, end);
            let mut pace = |bytes| {
                zeroing.at(bytes);
                if plan.background {
                    self.keep_rate(since, bytes);
                }
                // What the log needs by itself is not the statement's to give up: its undoing needs it as well.
                go_on(!plan.automatic && !plan.background)
            };
            write_vlfs(&**file, &plan.vlfs, stamp, &mut pace)
        });
        match written {
            Ok(()) => {
                let _wait = wait(WaitType::PREEMPTIVE_OS_FLUSHFILEBUFFERS);
                file.sync()
            }
            Err(e @ (IoError::NoSpace | IoError::GivenUp)) => {
                let _undoing = duramen_os::thread::undoing();
                // The half that was made is of no use; if it cannot be given back, the next open cuts it off.
                let _ = file.set_len(plan.old_bytes);
                Err(e)
            }
            Err(e) => Err(e),
        }
    }
}

impl State {
    /// Whether an automatic growth is only allocated.
    fn grows_unwritten(&self, plan: &Plan) -> bool {
        let added: u64 = plan.vlfs.iter().map(|v| v.header.size).sum();
        match self.profile {
            LogProfile::V2022 => added <= INSTANT_GROWTH,
            LogProfile::Native => self.growth.demand.is_bulk(),
            _ => false,
        }
    }

    /// The growth of the first file that may grow.
    fn plan_growth(&self) -> Option<Plan> {
        (0..self.space.files.len()).find_map(|i| {
            let growth = self.growth_of(i)?;
            let mut plan = self.plan(i, growth, true)?;
            let file = &self.space.files[i];
            let one = file.spec.growth.increment(file.bytes)?;
            plan.increments = growth / one.max(1);
            Some(plan)
        })
    }

    /// Bytes of the next growth of a file; `None` when it may not grow.
    pub(super) fn growth_of(&self, index: usize) -> Option<u64> {
        let file = &self.space.files[index];
        let mut growth = file.spec.growth.increment(file.bytes)?;
        if self.native() && !self.growth.no_space {
            let more = growth.saturating_mul(self.increments(growth));
            growth = growth.max(more.min(INSTANT_GROWTH));
        }
        if let Some(max) = file.spec.max_size {
            let left = max.saturating_sub(file.bytes) / 8192 * 8192;
            growth = growth.min(left);
        }
        (growth >= MIN_GROWTH).then_some(growth)
    }

    fn plan(&self, file: usize, growth: u64, automatic: bool) -> Option<Plan> {
        if growth < MIN_GROWTH {
            return None;
        }
        let old_bytes = self.space.files[file].bytes;
        let total = self.space.total();
        let create_lsn = self.next_lsn();
        let mut offset = old_bytes;
        let max = self.space.files[file].spec.max_size;
        let last = max.is_some_and(|max| max.saturating_sub(old_bytes + growth) < MIN_GROWTH);
        let sizes = match automatic && last && self.native() {
            true => split_last_growth(total, growth),
            false => split_growth(self.profile, total, growth),
        };
        let vlfs = sizes
            .into_iter()
            .map(|size| {
                let header = VlfHeader {
                    version: u16::from(FORMAT_VERSION),
                    size,
                    offset,
                    create_lsn,
                    ..VlfHeader::default()
                };
                offset += size;
                Vlf {
                    file,
                    header,
                    active: false,
                }
            })
            .collect();
        Some(Plan {
            file,
            old_bytes,
            automatic,
            background: false,
            increments: 1,
            vlfs,
        })
    }

    fn install(&mut self, plan: Plan, added: u64) {
        self.growth.no_space = false;
        // Who grows in the background looks itself whether that was enough.
        self.growth.prepare &= plan.background;
        self.space.install(plan.file, plan.vlfs, added);
        self.count_free();
    }
}

impl Space {
    /// Whether a file may grow at all.
    pub fn can_grow(&self, index: usize) -> bool {
        let file = &self.files[index];
        let left = file.spec.max_size.map(|max| max.saturating_sub(file.bytes));
        let growth = file.spec.growth.increment(file.bytes).unwrap_or(0);
        growth.min(left.unwrap_or(growth)) >= MIN_GROWTH
    }

    /// Whether any of them may.
    pub fn grows(&self) -> bool {
        (0..self.files.len()).any(|i| self.can_grow(i))
    }
}
