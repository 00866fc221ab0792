//! Redo by several threads.
//!
//! One thread reads the log and deals its records out; each worker repeats those of its own pages, in log order. Pages go
//! to workers by groups of neighbours, so that a worker can fetch with one read what it will need next. Records travel in
//! the log blocks that they were read in, which nobody copies: a batch is some blocks and, for each worker, which records
//! of them are its own.
//!
//! A record about a file's header is repeated when everybody has come so far, and before anybody goes on: it may make the
//! file longer. All others wait for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::{Lsn, PageId, SqlError, SqlResult};
use duramen_os::memory::{Account, Clerk};
use duramen_os::sync::{Mutex, Receiver, Sender, channel};
use duramen_os::thread::{self, JoinHandle};
use duramen_pool::{RUN, ReadRoom};
use duramen_wal::OpenBlock;
use duramen_wal::record::RecordView;

use super::redo::{Reach, Redo, reach};
use crate::error::recovery_error;

/// More threads would wait for the thread that deals out.
const MOST: usize = 16;
/// Workers for each processor: some of them wait for the disk.
const PER_PROCESSOR: usize = 2;
/// Batches that may wait for each worker.
const QUEUE: usize = 4;
/// Bytes of log in a batch: the first ones are small, so that short logs are shared, too.
const FIRST_BATCH: usize = 16 << 10;
const LAST_BATCH: usize = 1 << 20;

/// Blocks that are told of until the last worker is through with them.
struct Blocks {
    all: Vec<Arc<OpenBlock>>,
    _held: Account,
}

struct Batch {
    blocks: Arc<Blocks>,
    /// Block of the batch, slot in it.
    work: Vec<(u32, u16)>,
}

enum Task {
    Batch(Batch),
    /// Says so when everything before it is done.
    Meet(Sender<()>),
}

/// The first record, in log order, that could not be repeated.
#[derive(Default)]
struct Trouble {
    met: AtomicBool,
    first: Mutex<Option<(Lsn, SqlError)>>,
}

impl Trouble {
    fn note(&self, lsn: Lsn, e: SqlError) {
        let mut first = self.first.lock();
        if first.as_ref().is_none_or(|(at, _)| lsn < *at) {
            *first = Some((lsn, e));
        }
        self.met.store(true, Ordering::SeqCst);
    }
}

struct Worker {
    tasks: Sender<Task>,
    thread: JoinHandle<()>,
}

pub(super) struct Helpers {
    redo: Redo,
    workers: Vec<Worker>,
    trouble: Arc<Trouble>,
    blocks: Vec<Arc<OpenBlock>>,
    work: Vec<Vec<(u32, u16)>>,
    bytes: usize,
    limit: usize,
}

/// Whose page it is.
fn owner(page: PageId, workers: usize) -> usize {
    let group = u64::from(page.file) << 32 | u64::from(page.page / RUN as u32);
    (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % workers.max(1)
}

impl Helpers {
    /// As many workers as the system gives, which may be none: then whoever deals out does it all.
    pub fn new(redo: &Redo) -> Helpers {
        let want = (PER_PROCESSOR * thread::available_parallelism()).clamp(1, MOST);
        let trouble = Arc::<Trouble>::default();
        let mut lines = Vec::new();
        let mut receivers = Vec::new();
        for _ in 0..want {
            let (tasks, line) = channel(QUEUE);
            lines.push(tasks);
            receivers.push(line);
        }
        let mut workers = Vec::new();
        for (number, (tasks, line)) in lines.into_iter().zip(receivers).enumerate() {
            let (redo, trouble) = (redo.clone(), trouble.clone());
            let name = format!("redo {}", redo.store.id.0);
            let run = move || work(&redo, &line, &trouble, (number, want));
            match thread::try_spawn(&name, run) {
                Ok(thread) => workers.push(Worker { tasks, thread }),
                Err(_) => break,
            }
        }
        if workers.len() < want {
            // Pages belong to a worker by its number of all.
            dismiss(std::mem::take(&mut workers));
        }
        Helpers {
            redo: redo.clone(),
            work: vec![Vec::new(); workers.len()],
            workers,
            trouble,
            blocks: Vec::new(),
            bytes: 0,
            limit: FIRST_BATCH,
        }
    }

    pub fn threads(&self) -> u32 {
        self.workers.len().max(1) as u32
    }

    /// The block that the next records stand in.
    pub fn block(&mut self, block: &Arc<OpenBlock>) -> SqlResult<()> {
        if self.bytes >= self.limit {
            self.deal()?;
            self.limit = (self.limit * 2).min(LAST_BATCH);
        }
        self.bytes += usize::from(block.header.bytes);
        self.blocks.push(block.clone());
        Ok(())
    }

    /// A record of that block.
    pub fn record(&mut self, slot: u16, lsn: Lsn, view: &RecordView<'_>) -> SqlResult<()> {
        let n = self.workers.len();
        if n == 0 {
            return self.redo.apply(lsn, view, &|_| true);
        }
        debug_assert!(
            !self.blocks.is_empty(),
            "helpers/1: the record at {lsn} stands in no block"
        );
        let at = (self.blocks.len().saturating_sub(1) as u32, slot);
        match reach(view) {
            Reach::None => Ok(()),
            Reach::Page(id) => {
                self.work[owner(id, n)].push(at);
                Ok(())
            }
            Reach::Pages => {
                self.work.iter_mut().for_each(|w| w.push(at));
                Ok(())
            }
            Reach::File(_) => {
                let block = self.blocks.last().cloned();
                self.meet()?;
                // `meet` has given the blocks out; what follows in this one needs it again.
                self.blocks.extend(block);
                self.redo.apply(lsn, view, &|_| true)
            }
        }
    }

    /// Gives out what has been gathered.
    fn deal(&mut self) -> SqlResult<()> {
        // They are there already, and as many as the workers' lines take: nobody is asked.
        let mut held = self.redo.engine.memory.account(Clerk::Recovery);
        let slots = self.work.iter().map(Vec::len).sum::<usize>();
        held.set((self.bytes + slots * size_of::<(u32, u16)>()) as u64);
        let blocks = Arc::new(Blocks {
            all: std::mem::take(&mut self.blocks),
            _held: held,
        });
        self.bytes = 0;
        for (worker, work) in self.workers.iter().zip(&mut self.work) {
            if work.is_empty() {
                continue;
            }
            let task = Task::Batch(Batch {
                blocks: blocks.clone(),
                work: std::mem::take(work),
            });
            if worker.tasks.send(task).is_err() {
                return Err(self.lost());
            }
        }
        match self.trouble.met.load(Ordering::SeqCst) {
            true => Err(self.lost()),
            false => Ok(()),
        }
    }

    /// Returns when everything given so far is done.
    fn meet(&mut self) -> SqlResult<()> {
        self.deal()?;
        let (done, all) = channel(self.workers.len());
        for worker in &self.workers {
            if worker.tasks.send(Task::Meet(done.clone())).is_err() {
                return Err(self.lost());
            }
        }
        drop(done);
        for _ in &self.workers {
            if all.recv().is_err() {
                return Err(self.lost());
            }
        }
        match self.trouble.met.load(Ordering::SeqCst) {
            true => Err(self.lost()),
            false => Ok(()),
        }
    }

    /// Why it does not go on.
    fn lost(&self) -> SqlError {
        let first = self.trouble.first.lock().clone();
        let ended = || recovery_error(self.redo.store.id, Lsn::NULL, "a redo thread has ended");
        first.map_or_else(ended, |(_, e)| e)
    }

    /// Waits until all is done; the error is that of the first record that could not be repeated.
    pub fn finish(mut self) -> SqlResult<()> {
        let dealt = self.deal();
        let ended = dismiss(std::mem::take(&mut self.workers));
        match self.trouble.met.load(Ordering::SeqCst) || !ended {
            true => Err(self.lost()),
            false => dealt,
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        dismiss(std::mem::take(&mut self.workers));
    }
}

/// Waits for the end of the workers; false when one has panicked.
fn dismiss(workers: Vec<Worker>) -> bool {
    let threads: Vec<_> = workers.into_iter().map(|w| w.thread).collect();
    // Their lines are closed now.
    let mut well = true;
    for thread in threads {
        well &= thread.join().is_ok();
    }
    well
}

/// A worker: the `number`th of `all`.
fn work(redo: &Redo, line: &Receiver<Task>, trouble: &Trouble, (number, all): (usize, usize)) {
    let mine = |page: PageId| owner(page, all) == number;
    let run = redo.engine.pool.share_of(all);
    let mut room = ReadRoom::default();
    let mut last = Lsn::NULL;
    while let Ok(task) = line.recv() {
        let batch = match task {
            Task::Batch(batch) => batch,
            Task::Meet(done) => {
                let _ = done.send(());
                continue;
            }
        };
        // Taken off the line all the same: who deals out would wait for a place in it.
        if trouble.met.load(Ordering::SeqCst) {
            continue;
        }
        if run > 1 {
            fetch(redo, &batch, run, &mut room);
        }
        for (block, slot) in batch.records() {
            let lsn = block.lsn(slot);
            debug_assert!(
                last < lsn,
                "helpers/2: a worker is given {lsn} after {last}"
            );
            last = lsn;
            let view = block.record(slot).and_then(RecordView::parse);
            let unread = || recovery_error(redo.store.id, lsn, "the record cannot be read");
            let done = view
                .ok_or_else(unread)
                .and_then(|view| redo.apply(lsn, &view, &mine));
            if let Err(e) = done {
                trouble.note(lsn, e);
                break;
            }
        }
    }
}

impl Batch {
    fn records(&self) -> impl Iterator<Item = (&OpenBlock, u16)> {
        let block =
            |(block, slot): &(u32, u16)| Some((&**self.blocks.all.get(*block as usize)?, *slot));
        self.work.iter().filter_map(block)
    }
}

/// Brings in the pages that a batch is about.
fn fetch(redo: &Redo, batch: &Batch, run: usize, room: &mut ReadRoom) {
    let page =
        |(block, slot): (&OpenBlock, u16)| match reach(&RecordView::parse(block.record(slot)?)?) {
            Reach::Page(id) if redo.store.file(id.file).is_some() => Some(id),
            _ => None,
        };
    let mut pages: Vec<PageId> = Vec::new();
    for id in batch.records().filter_map(page) {
        // The same page again and again is the rule.
        if pages.last() != Some(&id) {
            pages.push(id);
        }
    }
    pages.sort_unstable();
    pages.dedup();
    redo.engine.pool.bring(&redo.store, &pages, run, room);
}
