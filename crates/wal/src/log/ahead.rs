//! What the native profile prepares before it is needed, and what it cost those who had to wait all the same.
//!
//! Growth in the background is written at no more than [`RATE`], so that it takes little from those who write. The limit
//! falls when somebody waits for the growth, or when less than a quarter of a VLF is left.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::FileId;
use duramen_os::time::{self, Instant, WallTime};
use duramen_os::{IoError, thread};

use super::Log;
use super::state::State;

/// Bytes of background growth in a second while nobody is short of room.
pub(super) const RATE: u64 = 256 << 20;
/// How long a pause goes on before it looks whether somebody is short of room.
const LOOK: Duration = Duration::from_millis(2);

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
    /// Somebody waits for the growth that is under way, or soon will.
    fn needs_growth(&self) -> bool {
        let quarter = self.vlfs[self.current].header.size / 4;
        self.growth_waiters > 0 || self.closed || !self.has_room(quarter, 0)
    }

    /// Somebody has waited for `file` to grow.
    pub(super) fn note_wait(&mut self, file: usize, since: Instant) {
        let waited = time::now() - since;
        if let Some(f) = self.files.get_mut(file) {
            f.ahead.waits += 1;
            f.ahead.waited += waited;
            f.ahead.longest = f.ahead.longest.max(waited);
        }
    }

    /// A background growth has ended well.
    pub(super) fn note_prepared(&mut self, file: usize, bytes: u64, took: Duration) {
        if let Some(f) = self.files.get_mut(file) {
            f.ahead.growths += 1;
            f.ahead.bytes += bytes;
            f.ahead.spent += took;
        }
    }

    pub(super) fn note_failure(&mut self, file: usize, error: &IoError) {
        if let Some(f) = self.files.get_mut(file) {
            f.ahead.failure = Some((error.to_string(), time::wall()));
        }
    }

    /// No file may grow.
    pub(super) fn note_no_growth(&mut self) {
        if let Some(f) = self.files.iter_mut().rfind(|f| !f.is_gone()) {
            let why = "the file has reached its maximum size or does not grow".to_owned();
            f.ahead.failure = Some((why, time::wall()));
        }
    }

    fn preparations(&self, written: u64) -> Vec<(Arc<std::path::Path>, LogPreparation)> {
        let here = (0..self.files.len()).filter(|i| !self.files[*i].is_gone());
        here.map(|i| {
            let f = &self.files[i];
            let running = self.growing && self.preparing && self.growing_file == i;
            let reusable = self.vlfs.iter().filter(|v| v.file == i && !v.active);
            let current = &self.vlfs[self.current];
            let left = match current.file == i {
                true => current.header.size - self.offset,
                false => 0,
            };
            let a = &f.ahead;
            let known = LogPreparation {
                file_id: f.spec.file_id,
                prepares: self.native(),
                running,
                ready: reusable.map(|v| v.header.size).sum::<u64>() + left,
                target: current.header.size / 2,
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
