//! Rows that row operators keep: how many bytes they are, and where they go when those are not lent.
//!
//! An operator counts what it keeps in a [`Held`], which borrows from the workspace in steps, so that a statement that
//! keeps next to nothing asks nobody. What an operator does when it gets no more is its own: it goes on by column, whose
//! operators know files ([`crate::batch`]), or it keeps its rows in a [`Spool`], or the statement ends with error 701.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::Value;

use crate::batch::{Keeper, Kept};
use crate::cx::Cx;
use crate::passing::rows_together;
use crate::plan::{Columns, Row};
use crate::spill::Grant;

/// What a block of the heap takes besides what is in it, about.
const BLOCK: usize = 16;

/// About how many bytes a row takes in memory.
#[inline]
pub fn row_bytes(row: &[Value]) -> usize {
    size_of::<Row>() + BLOCK + row.iter().map(value_bytes).sum::<usize>()
}

/// The same of one value.
#[inline]
pub fn value_bytes(value: &Value) -> usize {
    match value.heap_bytes() {
        0 => size_of::<Value>(),
        n => size_of::<Value>() + n + BLOCK,
    }
}

/// The same of several rows.
pub fn rows_bytes(rows: &[Row]) -> usize {
    rows.iter().map(|r| row_bytes(r)).sum()
}

/// There is not enough memory for what a statement keeps.
pub fn out_of_memory() -> SqlError {
    SqlError::new(&messages::OUT_OF_MEMORY, &[&"default"]).with_state(123)
}

/// Bytes that an operator keeps.
#[derive(Debug, Default)]
pub struct Held {
    grant: Option<Grant>,
    bytes: usize,
    /// So many may be kept without asking again.
    lent: usize,
}

impl Held {
    /// Counts so many bytes more; false when they are not lent, though they are there.
    #[inline]
    pub fn add(&mut self, bytes: usize, cx: &Cx<'_>) -> bool {
        self.bytes += bytes;
        self.bytes <= self.lent || self.borrow(cx)
    }

    /// The same where there is no way but memory.
    #[inline]
    pub fn must(&mut self, bytes: usize, cx: &Cx<'_>) -> SqlResult<()> {
        match self.add(bytes, cx) {
            true => Ok(()),
            false => Err(out_of_memory()),
        }
    }

    #[cold]
    fn borrow(&mut self, cx: &Cx<'_>) -> bool {
        let unasked = cx.host.keeps_unasked();
        if self.bytes <= unasked {
            self.lent = unasked;
            return true;
        }
        let grant = match &mut self.grant {
            Some(grant) => grant,
            none => none.insert(Grant::new(cx.host.workspace())),
        };
        // In steps that grow with what is kept: the workspace is everybody's.
        for wanted in [self.bytes + self.bytes / 8 + unasked, self.bytes] {
            if grant.hold(wanted) {
                self.lent = wanted;
                return true;
            }
        }
        false
    }

    /// So many bytes have gone.
    pub fn less(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(grant) = &mut self.grant
            && self.bytes < self.lent / 2
        {
            grant.hold(self.bytes);
            self.lent = self.bytes;
        }
    }

    /// Everything has gone.
    pub fn clear(&mut self) {
        self.less(self.bytes);
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Rows in the order in which they came, in memory and then in a file.
pub struct Spool {
    columns: Columns,
    first: Vec<Row>,
    held: Held,
    rest: Option<Keeper>,
    /// Rows on their way to the file, and their bytes.
    waiting: Vec<Row>,
    waiting_bytes: usize,
    rows: usize,
}

/// Rows that go to a file together, at most, and bytes about which they go.
const WAITING: usize = 256;
const WAITING_BYTES: usize = 64 << 10;

impl Spool {
    pub fn new(columns: &Columns) -> Spool {
        Spool {
            columns: columns.clone(),
            first: Vec::new(),
            held: Held::default(),
            rest: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            rows: 0,
        }
    }

    /// One more row.
    pub fn put_row(&mut self, row: Row, cx: &Cx<'_>) -> SqlResult<()> {
        let bytes = row_bytes(&row);
        self.rows += 1;
        if self.rest.is_none() {
            if self.held.add(bytes, cx) {
                self.first.push(row);
                return Ok(());
            }
            self.held.less(bytes);
            self.rest = Some(Keeper::new(&self.columns, cx)?);
        }
        self.waiting.push(row);
        self.waiting_bytes += bytes;
        match self.waiting.len() >= WAITING || self.waiting_bytes >= WAITING_BYTES {
            true => self.write_waiting(),
            false => Ok(()),
        }
    }

    fn write_waiting(&mut self) -> SqlResult<()> {
        self.waiting_bytes = 0;
        match &mut self.rest {
            Some(file) if !self.waiting.is_empty() => file.put(std::mem::take(&mut self.waiting)),
            _ => Ok(()),
        }
    }

    pub fn put(&mut self, rows: Vec<Row>, cx: &Cx<'_>) -> SqlResult<()> {
        self.rows += rows.len();
        if self.rest.is_none() && !self.held.add(rows_bytes(&rows), cx) {
            self.held.less(rows_bytes(&rows));
            self.rest = Some(Keeper::new(&self.columns, cx)?);
        }
        self.write_waiting()?;
        match &mut self.rest {
            Some(file) => file.put(rows),
            None => {
                self.first.extend(rows);
                Ok(())
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn finish(mut self) -> SqlResult<Spooled> {
        self.write_waiting()?;
        Ok(Spooled {
            first: self.first,
            held: self.held,
            rest: self.rest.map(Keeper::finish).transpose()?,
            rows: self.rows,
        })
    }
}

/// A spool that has all its rows, to be read any number of times.
#[derive(Default)]
pub struct Spooled {
    first: Vec<Row>,
    held: Held,
    rest: Option<Kept>,
    rows: usize,
}

impl Spooled {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

/// The blocks of a file that stay in memory: as many as a window function looks at from one row, and some.
const RECENT: usize = 6;

/// The rows of a spool by their numbers.
pub struct ByNumber {
    of: Arc<Spooled>,
    /// The blocks that were looked at last, the last one first, each with the number of its first row.
    recent: RefCell<VecDeque<(usize, Rc<Vec<Row>>)>>,
}

impl ByNumber {
    pub fn new(of: Arc<Spooled>) -> ByNumber {
        ByNumber {
            of,
            recent: RefCell::default(),
        }
    }

    pub fn rows(&self) -> usize {
        self.of.rows
    }

    /// What `look` makes of the row with this number.
    pub fn look<T>(&self, row: usize, look: impl FnOnce(&Row) -> SqlResult<T>) -> SqlResult<T> {
        if let Some(row) = self.of.first.get(row) {
            return look(row);
        }
        let row = row - self.of.first.len();
        let (first, rows) = self.block_of(row)?;
        let found = rows.get(row - first);
        look(found.ok_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))?)
    }

    fn block_of(&self, row: usize) -> SqlResult<(usize, Rc<Vec<Row>>)> {
        let mut recent = self.recent.borrow_mut();
        let has =
            |(first, rows): &(usize, Rc<Vec<Row>>)| (*first..*first + rows.len()).contains(&row);
        let found = match recent.iter().position(has) {
            Some(0) => recent[0].clone(),
            Some(at) => recent.remove(at).unwrap_or_default(),
            None => {
                let file = self.of.rest.as_ref();
                let (first, rows) = file.map_or(Ok(Default::default()), |f| f.around(row))?;
                (first, Rc::new(rows))
            }
        };
        if recent.front().is_none_or(|(first, _)| *first != found.0) {
            recent.push_front(found.clone());
            recent.truncate(RECENT);
        }
        Ok(found)
    }
}

/// A reader of a spool, from its first row on.
pub struct SpoolReader {
    of: Arc<Spooled>,
    at: usize,
    rest: Option<Kept>,
}

impl SpoolReader {
    pub fn new(of: Arc<Spooled>) -> SpoolReader {
        SpoolReader {
            rest: of.rest.as_ref().map(Kept::again),
            at: 0,
            of,
        }
    }

    /// At most `n` rows, of wide ones fewer, as long as they come from memory; `None` at the end.
    pub fn next(&mut self, n: usize) -> SqlResult<Option<Vec<Row>>> {
        let left = &self.of.first[self.at..];
        if !left.is_empty() {
            let together = rows_together(self.of.held.bytes(), self.of.first.len());
            let some = left[..n.min(together).min(left.len())].to_vec();
            self.at += some.len();
            return Ok(Some(some));
        }
        match &mut self.rest {
            Some(file) => file.next_rows(),
            None => Ok(None),
        }
    }
}

/// Rows on their way out of memory, which is given back as they go.
#[derive(Default)]
pub struct Leaving {
    rows: VecDeque<Row>,
    held: Held,
}

impl Leaving {
    pub fn new(rows: VecDeque<Row>, held: Held) -> Leaving {
        Leaving { rows, held }
    }

    /// At most `n` of the next rows, of wide ones fewer.
    pub fn take(&mut self, n: usize) -> Vec<Row> {
        let all = self.rows.len();
        let n = n.min(all).min(rows_together(self.held.bytes(), all));
        if n > 0 {
            self.held.less(self.held.bytes() / all * n);
        }
        self.rows.drain(..n).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
