//! What the native profile prepares before it is needed, and what it cost those who had to wait all the same.
//!
//! Room is kept for what the log is filled with in a quarter of a second ([`Demand`]), and at least half a VLF: with
//! growths of 1 MB a load that logs 500 MB/s would else use one up while the next is being written. While that much is
//! missing, a growth is of as many increments as are ready, so that it is there in time however small the log began.
//! Several increments together, and what is to be ready, are at most an eighth of what the volume still has: a log that had
//! been filled fast once took the last 100 MB of a disk that others had just made room on.
//!
//! While the log is written in large portions (a load, an index build), a growth is allocated and not written first: the
//! disk then writes each byte once. A load that grew its log by 64 MB took 1.4 times as long with the writing, 1.05 times
//! without. Small commits that come later to such a VLF are slower there, once.
//!
//! Other growth in the background is written at no more than [`RATE`], so that it takes little from those who write. The limit
//! falls when somebody waits for the growth, or when less than half of what should be ready is left.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::FileId;
use duramen_os::time::{self, Instant, WallTime};
use duramen_os::{IoError, thread};

use super::Log;
use super::state::{Space, State};

/// Bytes of background growth in a second while nobody is short of room.
pub(super) const RATE: u64 = 256 << 20;
/// How long a pause goes on before it looks whether somebody is short of room.
const LOOK: Duration = Duration::from_millis(2);
/// Room for so much of the log's recent rate is kept ready, up to so many bytes.
const LEAD_PER_SECOND: u64 = 4;
const MOST_READY: u64 = 128 << 20;
/// A part of the room that the volume has, beyond what is kept back there.
const PART_OF_VOLUME: u64 = 8;
/// The rate is taken whenever so much has been logged.
const DEMAND_BYTES: u64 = 1 << 20;

/// From writes of this size on, space that is only allocated takes them at two thirds of the speed of written space; small
/// ones at half of it. Writing the space first costs as much as writing the log itself.
const BULK_WRITE: u64 = 256 << 10;

/// How fast the log is being filled, and in what portions.
#[derive(Debug, Default)]
pub(super) struct Demand {
    since: Option<Instant>,
    bytes: u64,
    /// Bytes a second, smoothed.
    rate: u64,
    /// Bytes of a write, smoothed.
    write: u64,
    /// Bytes that the volume had to give at the last look.
    volume: u64,
}

impl Demand {
    /// So much more was logged. Looks at the clock once a megabyte.
    pub fn note(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes < DEMAND_BYTES {
            return;
        }
        let now = time::now();
        if let Some(since) = self.since {
            let nanos = (now - since).as_nanos().max(1);
            let rate = u128::from(self.bytes) * 1_000_000_000 / nanos;
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            self.rate = self.rate / 2 + rate / 2;
        }
        self.since = Some(now);
        self.bytes = 0;
    }

    /// The log was written to the disk, so many bytes at once.
    pub fn note_write(&mut self, bytes: u64) {
        self.write = self.write / 8 * 7 + bytes / 8;
    }

    /// It is filled by whoever does not wait for single commits: a growth is then better not written first.
    pub fn is_bulk(&self) -> bool {
        self.write >= BULK_WRITE
    }

    /// Bytes that should be ready for it.
    fn ready(&self) -> u64 {
        (self.rate / LEAD_PER_SECOND)
            .min(MOST_READY)
            .min(self.volume / PART_OF_VOLUME)
    }
}

/// Kept for each file since the log was opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    growths: u64,
    bytes: u64,
    spent: Duration,
    waits: u64,
    waited: Duration,
    longest: Duration,
    failure: Option<(String, WallTime)>,
}

/// What is prepared in a log file, and what came of it since the log was opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogPreparation {
    pub file_id: FileId,
    /// The profile prepares growth in the background.
    pub prepares: bool,
    /// A background growth of this file is being written now.
    pub running: bool,
    /// Bytes that can be written without a growth: of this file's reusable VLFs, and what is left of the current one.
    pub ready: u64,
    /// When less than this is left in all files, the next growth is prepared.
    pub target: u64,
    /// Bytes of the next growth; `None` when the file may not grow.
    pub next: Option<u64>,
    pub max_size: Option<u64>,
    /// Bytes free on the file's disk, when that is known.
    pub disk_free: Option<u64>,
    /// Bytes a second, while nobody is short of room.
    pub rate: u64,
    /// Background growths that were finished.
    pub growths: u64,
    /// Bytes they wrote, those of a running one included.
    pub bytes: u64,
    pub spent: Duration,
    /// How often somebody had to wait for a growth of this file, for how long together and at most.
    pub waits: u64,
    pub waited: Duration,
    pub longest: Duration,
    /// The last growth that failed, and when.
    pub failure: Option<(String, WallTime)>,
}

impl Log {
    /// What is prepared, by file.
    pub fn preparation(&self) -> Vec<LogPreparation> {
        let s = self.lock();
        let known = s.preparations(self.written.load(Ordering::Relaxed));
        drop(s);
        let free = |path: &std::path::Path| {
            let dir = path.parent().unwrap_or(path);
            self.env.disk.free_space(dir).ok()
        };
        known
            .into_iter()
            .map(|(path, p)| LogPreparation {
                disk_free: free(&path),
                ..p
            })
            .collect()
    }

    /// Called between the writes of a background growth that began at `since` and has written `bytes`.
    pub(super) fn keep_rate(&self, since: Instant, bytes: u64) {
        self.written.store(bytes, Ordering::Relaxed);
        let due = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / RATE);
        while since.elapsed() < due && !self.lock().needs_growth() {
            thread::sleep(LOOK.min(due.saturating_sub(since.elapsed())));
        }
    }
}

impl State {
    /// What growths may take of the volume is looked up when the log is opened, and before each.
    pub fn look_at_volume(&mut self) {
        let growing = (0..self.space.files.len()).find(|i| self.space.can_grow(*i));
        self.growth.demand.volume =
            growing.map_or(0, |i| self.space.files[i].file.room().unwrap_or(0));
    }

    /// Bytes that should be ready before anybody needs them.
    fn target(&self) -> u64 {
        self.growth
            .demand
            .ready()
            .max(self.space.vlf().header.size / 2)
    }

    /// Whether less is ready, beyond what is reserved: time to grow. What an opened log has ready shows only when it is known
    /// what of it is needed: each start after a crash once grew a log that had a gigabyte to reuse.
    pub fn runs_short(&self) -> bool {
        !self.needs.unknown && !self.has_room(self.target(), 0)
    }

    /// Somebody waits for the growth that is under way, or soon will.
    fn needs_growth(&self) -> bool {
        self.growth.waiters > 0 || self.closed || !self.has_room(self.target() / 2, 0)
    }

    /// How many increments the next growth is of: twice as many whenever somebody had to wait, and what is ready while
    /// the log is filled faster than that would last.
    pub(super) fn increments(&self, increment: u64) -> u64 {
        let increment = increment.max(1);
        let hurried = match self.has_room(self.growth.demand.ready(), 0) {
            true => 1,
            false => self.unreserved() / increment,
        };
        let most = self.growth.demand.volume / PART_OF_VOLUME / increment;
        self.growth.ahead.max(hurried).min(most).max(1)
    }

    fn preparations(&self, written: u64) -> Vec<(Arc<std::path::Path>, LogPreparation)> {
        let here = (0..self.space.files.len()).filter(|i| !self.space.files[*i].is_gone());
        here.map(|i| {
            let f = &self.space.files[i];
            let running = self.growth.prepares(i);
            let reusable = self.space.vlfs.iter().filter(|v| v.file == i && !v.active);
            let current = self.space.vlf();
            let left = match current.file == i {
                true => current.header.size - self.space.offset,
                false => 0,
            };
            let a = &f.ahead;
            let known = LogPreparation {
                file_id: f.spec.file_id,
                prepares: self.native(),
                running,
                ready: reusable.map(|v| v.header.size).sum::<u64>() + left,
                target: self.target(),
                next: self.growth_of(i),
                max_size: f.spec.max_size,
                disk_free: None,
                rate: RATE,
                growths: a.growths,
                bytes: a.bytes + if running { written } else { 0 },
                spent: a.spent,
                waits: a.waits,
                waited: a.waited,
                longest: a.longest,
                failure: a.failure.clone(),
            };
            (f.spec.path.as_path().into(), known)
        })
        .collect()
    }
}

impl Space {
    /// Somebody has waited for `file` to grow.
    pub fn note_wait(&mut self, file: usize, since: Instant) {
        let waited = time::now() - since;
        if let Some(f) = self.files.get_mut(file) {
            f.ahead.waits += 1;
            f.ahead.waited += waited;
            f.ahead.longest = f.ahead.longest.max(waited);
        }
    }

    /// A background growth has ended well.
    pub fn note_prepared(&mut self, file: usize, bytes: u64, took: Duration) {
        if let Some(f) = self.files.get_mut(file) {
            f.ahead.growths += 1;
            f.ahead.bytes += bytes;
            f.ahead.spent += took;
        }
    }

    pub fn note_failure(&mut self, file: usize, error: &IoError) {
        if let Some(f) = self.files.get_mut(file) {
            f.ahead.failure = Some((error.to_string(), time::wall()));
        }
    }

    /// No file may grow.
    pub fn note_no_growth(&mut self) {
        if let Some(f) = self.files.iter_mut().rfind(|f| !f.is_gone()) {
            let why = "the file has reached its maximum size or does not grow".to_owned();
            f.ahead.failure = Some((why, time::wall()));
        }
    }
}
