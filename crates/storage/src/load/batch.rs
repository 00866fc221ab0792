//! The rows of a load as they will stand on pages.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use duramen_base::{PAGE_BYTES, SqlError, SqlResult};
use duramen_format::PageBytes;
use duramen_format::page::{BODY_BYTES, HEADER_BYTES, PageMut, PageRef};
use duramen_pool::PageAt;
use duramen_txn::Transaction;
use duramen_types::Value;
use duramen_types::batch::Column;

use super::order::KeyColumns;
use crate::change::PageOp;
use crate::rowset::Rowset;

/// Rows as columns and as bytes.
pub(super) struct Batch<'r> {
    keys: KeyColumns<'r>,
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
    /// The run of ascending keys that was found last.
    ascending: Cell<(usize, usize)>,
}

impl<'r> Batch<'r> {
    /// Makes the bytes of `rows` rows; values that go outside their rows are written on the way. The row that cannot be
    /// made.
    pub fn pack(
        rowset: &'r Rowset,
        tx: &Transaction,
        columns: &'r [Arc<Column>],
        rows: usize,
    ) -> Result<Batch<'r>, (usize, SqlError)> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        rowset.encode_rows(tx, columns, rows, &mut bytes, &mut ends)?;
        Ok(Batch {
            keys: KeyColumns::new(rowset, columns),
            bytes,
            ends,
            ascending: Cell::new((0, 0)),
        })
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn row(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i]]
    }

    fn start(&self, i: usize) -> usize {
        match i {
            0 => 0,
            i => self.ends[i - 1],
        }
    }

    pub fn rows(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        range.map(|i| self.row(i))
    }

    /// The values of a row's key, in the order of the rowset's keys.
    pub fn key(&self, i: usize) -> Vec<Value> {
        self.keys.values(i)
    }

    /// The rows from `from` on whose keys ascend, each above the one before: where that ends.
    pub fn ascending(&self, from: usize) -> usize {
        let (first, end) = self.ascending.get();
        if (first..end).contains(&from) {
            return end;
        }
        let mut end = from + 1;
        while end < self.len() && self.keys.cmp(end - 1, end) == Ordering::Less {
            end += 1;
        }
        self.ascending.set((from, end));
        end
    }

    /// How many of some ascending rows have keys below `key`.
    pub fn below(&self, rows: Range<usize>, key: &[Value]) -> usize {
        // Mostly few or all.
        let (mut low, mut step) = (0, 1);
        while low + step <= rows.len() && self.is_below(rows.start + low + step - 1, key) {
            low += step;
            step *= 2;
        }
        let mut high = rows.len().min(low + step - 1);
        while low < high {
            let mid = (low + high) / 2;
            match self.is_below(rows.start + mid, key) {
                true => low = mid + 1,
                false => high = mid,
            }
        }
        low
    }

    fn is_below(&self, row: usize, key: &[Value]) -> bool {
        self.keys.cmp_key(row, key) == Ordering::Less
    }

    /// How many rows from `from` to `to` fit into `free` bytes, slots included.
    pub fn fitting(&self, range: Range<usize>, free: usize) -> usize {
        let start = self.start(range.start);
        let first = range.start;
        range
            .take_while(|i| self.ends[*i] - start + 2 * (i + 1 - first) <= free)
            .count()
    }

    /// How many rows fit onto an empty page with so much room, if it keeps so many `spare` bytes; one row may take them.
    pub fn first_of(&self, range: Range<usize>, room: usize, spare: usize) -> usize {
        match self.fitting(range.clone(), room.saturating_sub(spare)) {
            0 => self.fitting(range.start..range.end.min(range.start + 1), room),
            n => n,
        }
    }

    /// The ranges of rows that fill empty pages but for so many `spare` bytes, at most `most` of them.
    pub fn pages(&self, range: Range<usize>, most: usize, spare: usize) -> Vec<Range<usize>> {
        let mut pages = Vec::with_capacity(most);
        let mut at = range.start;
        while at < range.end && pages.len() < most {
            let n = self.first_of(at..range.end, BODY_BYTES, spare);
            if n == 0 {
                break;
            }
            pages.push(at..at + n);
            at += n;
        }
        pages
    }

    /// Makes `filled` the empty page `page` with rows on it; what lies between rows and slots is whatever was there.
    pub fn fill(
        &self,
        page: PageAt<'_>,
        rows: Range<usize>,
        filled: &mut PageBytes,
    ) -> SqlResult<()> {
        filled[..HEADER_BYTES].copy_from_slice(&page.bytes()[..HEADER_BYTES]);
        page.sound(PageMut::new(filled).append_records(self.rows(rows)))
    }
}

/// A page that is made beside the pool, before it is logged.
pub(super) fn blank() -> Box<PageBytes> {
    Box::new([0; PAGE_BYTES])
}

/// What a page that was empty before has now, as one change.
pub(super) fn image(page: &PageBytes) -> PageOp<'_> {
    let p = PageRef::new(page);
    PageOp::Image {
        used: &page[..usize::from(p.free_data())],
        slots: &page[PAGE_BYTES - 2 * usize::from(p.slot_count())..],
    }
}
