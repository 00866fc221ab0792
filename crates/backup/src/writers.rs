//! Writing pages of a backup: several large writes at once, past the page cache, from the buffers they were read into.
//!
//! Where each goes is known before (`tape::Tape::reserve`), so their order does not matter; what becomes durable is the
//! business of the sync at the set's end, which comes when all have ended.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_os::sync::{Mutex, Sender, channel};
use duramen_os::thread::{JoinHandle, try_spawn};
use duramen_os::{AlignedBuf, DiskFile, IoError};

use super::tape::write_failed;
use super::team::{Buffers, no_thread};

/// A buffer on its way: its first `bytes` go to `at`.
pub(super) struct Job {
    pub file: Arc<dyn DiskFile>,
    /// As the user wrote the device's name.
    pub shown: Arc<str>,
    pub at: u64,
    pub buf: AlignedBuf,
    pub bytes: usize,
}

type Failure = Arc<Mutex<Option<(IoError, Arc<str>)>>>;

/// Threads that write. They are gone when this is.
pub(super) struct Writers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    failed: Failure,
}

impl Writers {
    /// Buffers go back to `buffers` when they are written.
    pub fn start(threads: usize, buffers: &Arc<Buffers>) -> SqlResult<Writers> {
        let (sender, jobs) = channel::<Job>(threads);
        let mut writers = Writers {
            jobs: Some(sender),
            threads: Vec::new(),
            failed: Failure::default(),
        };
        for _ in 0..threads.max(1) {
            let (jobs, buffers) = (jobs.clone(), buffers.clone());
            let failed = writers.failed.clone();
            let thread = try_spawn("backup writer", move || {
                while let Ok(job) = jobs.recv() {
                    let over = failed.lock().is_some();
                    if !over && let Err(e) = job.file.write_at(&job.buf[..job.bytes], job.at) {
                        failed.lock().get_or_insert((e, job.shown));
                    }
                    buffers.give(job.buf);
                }
            });
            match thread {
                Ok(thread) => writers.threads.push(thread),
                Err(_) if !writers.threads.is_empty() => break,
                Err(e) => return Err(no_thread(&e)),
            }
        }
        Ok(writers)
    }

    /// 3202 when one has failed.
    fn check(&self) -> SqlResult<()> {
        match &*self.failed.lock() {
            Some((e, shown)) => Err(write_failed(e, shown)),
            None => Ok(()),
        }
    }

    /// Takes a job when somebody has time for it. The error is of one before.
    pub fn put(&self, job: Job) -> SqlResult<()> {
        self.check()?;
        match self.jobs.as_ref().map(|j| j.send(job)) {
            Some(Ok(())) => Ok(()),
            _ => Err(no_thread(&IoError::device("clone"))),
        }
    }

    /// Everything is written.
    pub fn finish(&mut self) -> SqlResult<()> {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                return Err(no_thread(&IoError::device("clone")));
            }
        }
        self.check()
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        let _others = duramen_os::thread::others();
        // What nobody has asked to be finished is of no use: it goes unwritten.
        let given_up = (IoError::GivenUp, Arc::from(""));
        self.failed.lock().get_or_insert(given_up);
        // Who gives the medium up cuts it: nothing may be written behind that.
        let _ = self.finish();
    }
}
