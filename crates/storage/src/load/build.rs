//! Building: all rows of other rowsets into one that is new, by column.
//!
//! Where the source has the target's order, or the target has none, rows go through as they are read. Else they are read
//! by several threads, each some parts of the source; put together in the source's order, so that the outcome does not
//! depend on who was faster; sorted, a share by each thread; and merged. In both cases one thread makes the pieces while
//! the calling one, which alone has locks, log and pages, writes them (`sorted`).
//!
//! Rows that are sorted together are as many as [`SORTED_BYTES`] hold; more come as several ordered runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use duramen_base::SqlResult;
use duramen_txn::Transaction;
use duramen_types::batch::Column;
use duramen_types::{SqlType, Value};

use super::helpers::{self, internal};
use super::order::KeyColumns;
use super::sorted::{ROWS, Unsorted, exchanged, write_pieces};
use super::{Load, LoadError};
use crate::cursor::{NOTHING, ScanPart};
use crate::def::{LockHint, ScanSpec};
use crate::error::StorageError;
use crate::rowset::Rowset;

/// Bytes of rows that are put in order together.
const SORTED_BYTES: usize = 256 << 20;
/// Parts of the source for each thread: those that end early take more.
const PARTS_EACH: usize = 16;

/// A rowset that is being built.
pub struct Build {
    load: Load,
    threads: usize,
}

/// A row that the target does not take.
#[derive(Debug)]
pub struct BuildError {
    /// As the target would have it; empty for an error that is not a row's.
    pub row: Vec<Value>,
    pub error: StorageError,
}

impl BuildError {
    fn of(error: impl Into<StorageError>) -> Box<BuildError> {
        Box::new(BuildError {
            row: Vec::new(),
            error: error.into(),
        })
    }
}

impl From<duramen_base::SqlError> for Box<BuildError> {
    fn from(e: duramen_base::SqlError) -> Box<BuildError> {
        BuildError::of(e)
    }
}

/// Rows by column, as they were read.
struct Read {
    columns: Vec<Column>,
    rows: usize,
}

impl Build {
    /// `threads`: how many may work on it, the calling one not counted.
    pub fn new(target: &Rowset, threads: usize) -> Build {
        let mut load = target.load(target.logging_of_build());
        load.numbered = target.def.has_uniquifier();
        Build {
            load,
            threads: threads.max(1),
        }
    }

    /// All rows of the sources, which have one layout. `wanted`: for each of the target's columns its place in that layout,
    /// [`RID`](crate::RID), or [`NOTHING`](crate::NOTHING). The target's uniquifiers are made, unless they come with rows
    /// that are in order. Comes once.
    pub fn add(
        &mut self,
        tx: &Transaction,
        sources: &[Rowset],
        wanted: &[usize],
    ) -> Result<(), Box<BuildError>> {
        let rows: u64 = sources
            .iter()
            .map(Rowset::row_count)
            .sum::<SqlResult<u64>>()?;
        let threads = self.threads;
        let _parallel = (threads > 1).then(|| duramen_observe::parallel(threads as u32));
        match self.comes_in_order(sources, wanted) {
            true => self.pass_through(tx, sources, wanted, threads),
            false => self.sort(tx, sources, wanted, (rows, threads)),
        }
    }

    /// The last row has been given.
    pub fn finish(&mut self, tx: &Transaction) -> SqlResult<()> {
        self.load.finish(tx)
    }

    fn comes_in_order(&self, sources: &[Rowset], wanted: &[usize]) -> bool {
        let target = &self.load.rowset;
        if target.def.is_heap() {
            return true;
        }
        let [source] = sources else {
            return sources.is_empty();
        };
        let declared = target.keys().len() - usize::from(target.def.has_uniquifier());
        let mut keys = target.keys().columns.iter().take(declared).enumerate();
        let alike = |(k, (column, desc)): (usize, &(usize, bool))| {
            let own = source.keys().columns.get(k);
            let place = wanted.get(*column);
            own.is_some_and(|(at, d)| Some(at) == place && d == desc)
                && source.keys().collation(k) == target.keys().collation(k)
        };
        !source.def.is_heap() && keys.all(alike)
    }

    fn pass_through(
        &mut self,
        tx: &Transaction,
        sources: &[Rowset],
        wanted: &[usize],
        threads: usize,
    ) -> Result<(), Box<BuildError>> {
        let target = self.load.rowset.clone();
        let (own, sources, wanted) = (tx.system("index build"), sources.to_vec(), wanted.to_vec());
        let load = &mut self.load;
        exchanged(
            threads > 1,
            |read: Read| {
                let columns: Vec<Arc<Column>> = read.columns.into_iter().map(Arc::new).collect();
                write(load, tx, &columns, read.rows)
            },
            move |give| {
                let mut numbers = Numbers::new(&target, wanted.last() == Some(&NOTHING));
                for source in &sources {
                    let mut cursor = source.scan(&own, ScanSpec::all(LockHint::None))?;
                    loop {
                        own.check_given_up()?;
                        let mut read = Read::empty(&target);
                        let mut more = 1;
                        while read.rows < ROWS && more > 0 {
                            more = cursor.fill(&own, &wanted, &mut read.columns)?;
                            read.rows += more;
                        }
                        if read.rows == 0 {
                            break;
                        }
                        numbers.put(&mut read);
                        if !give(read) {
                            return Ok(false);
                        }
                    }
                }
                Ok(true)
            },
        )
    }

    fn sort(
        &mut self,
        tx: &Transaction,
        sources: &[Rowset],
        wanted: &[usize],
        (rows, threads): (u64, usize),
    ) -> Result<(), Box<BuildError>> {
        let target = self.load.rowset.clone();
        let bytes = rows.saturating_mul(about(&target) as u64);
        let runs = usize::try_from(bytes / SORTED_BYTES as u64).unwrap_or(usize::MAX) + 1;
        let mut parts = Vec::new();
        let count = (threads * PARTS_EACH).max(runs.saturating_mul(2));
        for (n, source) in sources.iter().enumerate() {
            let spec = ScanSpec::all(LockHint::None);
            let cut = source.parts(tx, &spec, count)?.ok_or_else(internal)?;
            parts.extend(cut.into_iter().map(|p| (n, p)));
        }
        // Equal keys of several runs must find their numbers in the tree.
        let numbered = target.def.has_uniquifier() && runs == 1;
        self.load.numbered = numbered;
        let each = parts.len().div_ceil(runs).max(1);
        for some in parts.chunks(each) {
            let read = read_all(tx, &target, sources, (some, wanted), threads)?;
            let columns = read.columns.into_iter().map(Arc::new);
            let unsorted = Unsorted {
                rowset: target.clone(),
                columns: columns.collect(),
                rows: read.rows,
            };
            let load = &mut self.load;
            write_pieces(vec![unsorted], (threads, numbered), |_, columns, rows| {
                write(load, tx, columns, rows)
            })?;
        }
        Ok(())
    }
}

fn write(
    load: &mut Load,
    tx: &Transaction,
    columns: &[Arc<Column>],
    rows: usize,
) -> Result<(), Box<BuildError>> {
    tx.check_given_up()?;
    let written = load.add_columns(tx, columns, rows, false);
    let failed = |e: LoadError| {
        Box::new(BuildError {
            row: columns.iter().map(|c| c.get(e.row)).collect(),
            error: e.error,
        })
    };
    written.map(drop).map_err(failed)
}

/// Bytes of a row by column, about.
fn about(target: &Rowset) -> usize {
    let columns = target.def.layout.columns.iter();
    let bytes = columns.map(|c| match c.leaf_offset > 0 {
        true => c.ty.fixed_bytes().max(8),
        // *Assumed*: what most strings have.
        false => 32,
    });
    bytes.sum()
}

impl Read {
    fn empty(target: &Rowset) -> Read {
        let columns = target.def.layout.columns.iter();
        Read {
            columns: columns.map(|c| Column::of(&c.ty)).collect(),
            rows: 0,
        }
    }
}

/// Uniquifiers of rows that come in order.
struct Numbers {
    rowset: Rowset,
    makes: bool,
    before: Option<(Vec<Value>, i32)>,
}

impl Numbers {
    fn new(rowset: &Rowset, makes: bool) -> Numbers {
        Numbers {
            rowset: rowset.clone(),
            makes: makes && rowset.def.has_uniquifier(),
            before: None,
        }
    }

    fn put(&mut self, read: &mut Read) {
        if !self.makes || read.rows == 0 {
            return;
        }
        let Some(last) = read.columns.last_mut() else {
            return;
        };
        *last = Column::repeated(&Value::Int(0), &SqlType::INT, read.rows);
        let columns: Vec<Arc<Column>> = std::mem::take(&mut read.columns)
            .into_iter()
            .map(Arc::new)
            .collect();
        let keys = KeyColumns::new(&self.rowset, &columns);
        let declared = self.rowset.keys().len() - 1;
        let mut made = Column::of(&SqlType::INT);
        let mut number = match &self.before {
            Some((key, n)) if keys.cmp_key(0, &key[..declared]).is_eq() => n + 1,
            _ => 0,
        };
        made.push(Value::Int(number));
        for row in 1..read.rows {
            number = match keys.cmp(row - 1, row).is_eq() {
                true => number + 1,
                false => 0,
            };
            made.push(Value::Int(number));
        }
        self.before = Some((keys.values(read.rows - 1), number));
        drop(keys);
        read.columns = columns.into_iter().map(Arc::unwrap_or_clone).collect();
        if let Some(last) = read.columns.last_mut() {
            *last = made;
        }
    }
}

/// Reads parts of the sources, in their order.
fn read_all(
    tx: &Transaction,
    target: &Rowset,
    sources: &[Rowset],
    (parts, wanted): (&[(usize, ScanPart)], &[usize]),
    threads: usize,
) -> SqlResult<Read> {
    let task = Task {
        target: target.clone(),
        sources: sources.to_vec(),
        wanted: wanted.to_vec(),
        parts: parts.to_vec(),
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        transactions: (0..threads).map(|_| tx.system("index build")).collect(),
    };
    let done = helpers::on_all("index read", (1, threads), move |n| {
        let read = task.work(n);
        if read.is_err() {
            task.failed.store(true, Ordering::Relaxed);
        }
        read
    })?;
    let mut pieces: Vec<(usize, Read)> = Vec::with_capacity(parts.len());
    for done in done {
        pieces.extend(done?);
    }
    pieces.sort_by_key(|(part, _)| *part);
    let mut all = Read::empty(target);
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

/// What the threads that read share.
struct Task {
    target: Rowset,
    sources: Vec<Rowset>,
    wanted: Vec<usize>,
    parts: Vec<(usize, ScanPart)>,
    next: AtomicUsize,
    failed: AtomicBool,
    /// One for each: all of them the owner's, who has the table.
    transactions: Vec<Transaction>,
}

impl Task {
    fn work(&self, n: usize) -> SqlResult<Vec<(usize, Read)>> {
        let tx = self.transactions.get(n).ok_or_else(internal)?;
        let mut done = Vec::new();
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((source, part)) = self.parts.get(number) else {
                break;
            };
            let spec = ScanSpec::all(LockHint::None);
            let mut cursor = self.sources[*source].scan_part(tx, spec, part);
            let mut read = Read::empty(&self.target);
            loop {
                tx.check_given_up()?;
                let more = cursor.fill(tx, &self.wanted, &mut read.columns)?;
                if more == 0 {
                    break;
                }
                read.rows += more;
            }
            done.push((number, read));
        }
        Ok(done)
    }
}
