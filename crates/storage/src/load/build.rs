//! Building: all rows of other rowsets into one that is new, by column.
//!
//! Where the source has the target's order, or the target has none, rows go through as they are read. Else they are read
//! by several threads (`parts`), sorted, a share by each thread, and merged. In both cases one thread makes the pieces while
//! the calling one, which alone has locks, log and pages, writes them (`sorted`).
//!
//! Rows that are sorted together take a quarter of the server's memory, at most. Where there are more, they are sorted as
//! several runs that wait in a file (`external`) and are merged on their way into the tree, which is written once, from its
//! beginning to its end.

use std::sync::Arc;

use duramen_base::{PAGE_BYTES, SqlResult};
use duramen_os::memory::{Account, Clerk};
use duramen_txn::Transaction;
use duramen_types::batch::Column;
use duramen_types::{SqlType, Value};

use super::external::{self, LEAST_TOGETHER, Runs, sorting_bytes};
use super::order::KeyColumns;
use super::parts::{Parts, Read};
use super::sorted::{BYTES, ROWS, Unsorted, exchanged, write_pieces};
use super::{Fill, Load, LoadError};
use crate::cursor::NOTHING;
use crate::def::ScanSpec;
use crate::error::StorageError;
use crate::hints::LockHint;
use crate::rowset::Rowset;

/// Bytes of memory that are asked for at once.
const ASKED: usize = 1 << 20;

/// A rowset that is being built.
pub struct Build {
    load: Load,
    threads: usize,
    /// Bytes of rows that are sorted together.
    pub(crate) together: u64,
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

impl Build {
    /// `threads`: how many may work on it, the calling one not counted. `fill`: how far pages are filled.
    pub fn new(target: &Rowset, threads: usize, fill: Fill) -> Build {
        let mut load = target.load(target.logging_of_build()).fill_to(fill);
        load.numbered = target.def.has_uniquifier();
        Build {
            together: external::together(target),
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
        let declared = target.keys().column_count() - usize::from(target.def.has_uniquifier());
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
            |read: Read| write_read(load, tx, read),
            move |give| {
                let mut numbers = Numbers::new(&target, wanted.last() == Some(&NOTHING));
                for source in &sources {
                    let mut cursor = source.scan(&own, ScanSpec::all(LockHint::None))?;
                    loop {
                        own.check_given_up()?;
                        let mut read = Read::empty(&target);
                        let (mut more, mut bytes) = (1, 0);
                        while read.rows < ROWS && bytes < BYTES && more > 0 {
                            more = cursor.fill(&own, &wanted, &mut read.columns)?;
                            read.rows += more;
                            bytes = read.columns.iter().map(Column::heap_bytes).sum();
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
        let mut held = target.db.engine.memory.account(Clerk::Loads);
        let together = self.room_for(tx, sources, rows, &mut held)?;
        let mut parts = Parts::new(tx, &target, sources, wanted, threads)?;
        let mut runs: Option<Runs> = None;
        loop {
            let read = parts.read(tx, together as usize)?;
            held.set(sorting_bytes(&read.columns, read.rows) as u64);
            if runs.is_none() && parts.is_over() {
                return self.sort_in_memory(tx, read, threads);
            }
            let runs = match &mut runs {
                Some(runs) => runs,
                none => none.insert(Runs::new(&target)?),
            };
            runs.add(tx, read.columns, read.rows, threads)?;
            if parts.is_over() {
                break;
            }
        }
        let Some(runs) = runs else {
            return Ok(());
        };
        held.set(runs.merge_bytes());
        self.load.numbered = target.def.has_uniquifier();
        let (own, load) = (tx.system("index build"), &mut self.load);
        exchanged(
            threads > 1,
            |read: Read| write_read(load, tx, read),
            move |give| {
                let mut numbers = Numbers::new(&target, true);
                runs.merge(&own, &mut |columns, rows| {
                    let mut read = Read { columns, rows };
                    numbers.put(&mut read);
                    give(read)
                })
            },
        )
    }

    /// Memory to sort in, as much as is wanted or a part of it: bytes of rows that are sorted together. Nobody knows how wide
    /// the rows are: no wider than their pages.
    fn room_for(
        &self,
        tx: &Transaction,
        sources: &[Rowset],
        rows: u64,
        held: &mut Account,
    ) -> SqlResult<u64> {
        let mut pages = 0;
        for source in sources {
            pages += source.db.page_counts(source.def.au)?.0;
        }
        let least = rows.saturating_mul(about(&self.load.rowset) as u64);
        let mut together = self.together;
        loop {
            let wanted = least.max(pages * PAGE_BYTES as u64).min(together);
            // By pieces: the pool may need its time to give so much back.
            let mut pieces = (0..wanted).step_by(ASKED).skip(1).chain([wanted]);
            if pieces.all(|some| held.hold(some) && tx.check_given_up().is_ok()) {
                return Ok(together);
            }
            tx.check_given_up()?;
            if together / 2 < LEAST_TOGETHER {
                held.need(wanted)?;
            }
            together /= 2;
        }
    }

    /// Rows that fit into memory together.
    fn sort_in_memory(
        &mut self,
        tx: &Transaction,
        read: Read,
        threads: usize,
    ) -> Result<(), Box<BuildError>> {
        let rowset = self.load.rowset.clone();
        let numbered = rowset.def.has_uniquifier();
        self.load.numbered = numbered;
        let unsorted = Unsorted {
            rowset,
            columns: read.columns.into_iter().map(Arc::new).collect(),
            rows: read.rows,
        };
        let load = &mut self.load;
        write_pieces(vec![unsorted], (threads, numbered), |_, columns, rows| {
            write(load, tx, columns, rows)
        })
    }
}

fn write_read(load: &mut Load, tx: &Transaction, read: Read) -> Result<(), Box<BuildError>> {
    let columns: Vec<Arc<Column>> = read.columns.into_iter().map(Arc::new).collect();
    write(load, tx, &columns, read.rows)
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
        let declared = self.rowset.keys().column_count() - 1;
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
