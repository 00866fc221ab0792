//! Reading rowsets by several threads, as many rows at a time as there is memory for.
//!
//! The sources are cut in parts, which threads take in their order; what they have read is put together in that order, so
//! that rows with the same key come out the same whoever was faster. When enough has been read, a thread leaves its part
//! where it is: the next reading goes on there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use duramen_base::{PAGE_BYTES, SqlResult};
use duramen_os::sync::Mutex;
use duramen_txn::Transaction;
use duramen_types::batch::Column;

use super::external::{empty, sorting_bytes, together};
use super::helpers::{self, internal};
use super::sorted::ROWS;
use crate::cursor::{Cursor, ScanPart};
use crate::def::ScanSpec;
use crate::hints::LockHint;
use crate::rowset::Rowset;

/// Parts for each thread: those that end early take more.
const PARTS_EACH: usize = 16;
/// Bytes of rows after which a thread says how many it has read.
const PROGRESS_BYTES: usize = 1 << 20;

/// Rows by column, as they were read.
pub(super) struct Read {
    pub columns: Vec<Column>,
    pub rows: usize,
}

impl Read {
    pub fn empty(target: &Rowset) -> Read {
        Read {
            columns: empty(target),
            rows: 0,
        }
    }
}

/// Of some sources, what has not been read yet.
pub(super) struct Parts {
    task: Arc<Task>,
    threads: usize,
}

enum Part {
    /// Of the source with this number.
    Whole(usize, ScanPart),
    /// One that somebody has left.
    Begun(Box<Cursor>),
}

/// What the threads that read share.
struct Task {
    target: Rowset,
    sources: Vec<Rowset>,
    wanted: Vec<usize>,
    /// By their places in the order.
    left: Mutex<BTreeMap<usize, Part>>,
    /// Bytes of memory that the rows of this reading take, and how many they may.
    bytes: AtomicUsize,
    enough: AtomicUsize,
    failed: AtomicBool,
    /// One for each: all of them the owner's, who has the table.
    transactions: Vec<Transaction>,
}

impl Parts {
    /// `wanted`: for each of the target's columns its place in the sources' layout.
    pub fn new(
        tx: &Transaction,
        target: &Rowset,
        sources: &[Rowset],
        wanted: &[usize],
        threads: usize,
    ) -> SqlResult<Parts> {
        let mut left = BTreeMap::new();
        for (n, source) in sources.iter().enumerate() {
            let spec = ScanSpec::all(LockHint::None);
            let (pages, _) = source.db.page_counts(source.def.au)?;
            let readings = (pages * PAGE_BYTES as u64)
                .div_ceil(together(target))
                .max(1);
            let count = threads
                .saturating_mul(PARTS_EACH)
                .saturating_mul(readings as usize);
            let cut = source.parts(tx, &spec, count)?.ok_or_else(internal)?;
            for part in cut {
                left.insert(left.len(), Part::Whole(n, part));
            }
        }
        Ok(Parts {
            task: Arc::new(Task {
                target: target.clone(),
                sources: sources.to_vec(),
                wanted: wanted.to_vec(),
                left: Mutex::new(left),
                bytes: AtomicUsize::new(0),
                enough: AtomicUsize::new(0),
                failed: AtomicBool::new(false),
                transactions: (0..threads).map(|_| tx.system("index build")).collect(),
            }),
            threads,
        })
    }

    pub fn is_over(&self) -> bool {
        self.task.left.lock().is_empty()
    }

    /// The next rows: about `enough` bytes, or all that are left.
    pub fn read(&mut self, tx: &Transaction, enough: usize) -> SqlResult<Read> {
        self.task.bytes.store(0, Ordering::Relaxed);
        self.task.enough.store(enough, Ordering::Relaxed);
        let task = self.task.clone();
        let done = helpers::on_all("index read", (1, self.threads), move |n| {
            let read = task.work(n);
            if read.is_err() {
                task.failed.store(true, Ordering::Relaxed);
            }
            read
        })?;
        let mut pieces: Vec<(usize, Read)> = Vec::new();
        for done in done {
            pieces.extend(done?);
        }
        tx.check_given_up()?;
        pieces.sort_by_key(|(part, _)| *part);
        let mut all = Read::empty(&self.task.target);
        all.rows = pieces.iter().map(|(_, read)| read.rows).sum();
        // Column by column, so that no more than one is there twice.
        for (i, column) in all.columns.iter_mut().enumerate() {
            for (_, read) in &mut pieces {
                let some = std::mem::replace(&mut read.columns[i], Column::absent());
                column.append(&some);
            }
        }
        Ok(all)
    }
}

impl Task {
    fn has_enough(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.enough.load(Ordering::Relaxed)
    }

    /// What one thread reads: pieces with the places of their parts.
    fn work(&self, n: usize) -> SqlResult<Vec<(usize, Read)>> {
        let tx = self.transactions.get(n).ok_or_else(internal)?;
        let mut done = Vec::new();
        while !self.failed.load(Ordering::Relaxed) && !self.has_enough() {
            let Some((place, part)) = self.left.lock().pop_first() else {
                break;
            };
            let mut cursor = match part {
                Part::Begun(cursor) => *cursor,
                Part::Whole(source, part) => {
                    let spec = ScanSpec::all(LockHint::None);
                    self.sources[source].scan_part(tx, spec, &part)
                }
            };
            let ended = loop {
                let (read, ended) = self.piece(tx, &mut cursor)?;
                done.push((place, read));
                if ended || self.has_enough() {
                    break ended;
                }
            };
            if !ended {
                self.left
                    .lock()
                    .insert(place, Part::Begun(Box::new(cursor)));
            }
        }
        Ok(done)
    }

    /// Some rows of a part; whether they were its last.
    fn piece(&self, tx: &Transaction, cursor: &mut Cursor) -> SqlResult<(Read, bool)> {
        let mut read = Read::empty(&self.target);
        let mut bytes = 0;
        let mut ended = false;
        while !ended && read.rows < ROWS && bytes < PROGRESS_BYTES {
            tx.check_given_up()?;
            let more = cursor.fill(tx, &self.wanted, &mut read.columns)?;
            read.rows += more;
            ended = more == 0;
            bytes = sorting_bytes(&read.columns, read.rows);
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok((read, ended))
    }
}
