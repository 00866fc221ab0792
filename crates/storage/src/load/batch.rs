//! The rows of a load as they will stand on pages.

use std::cmp::Ordering;
use std::ops::Range;

use duramen_base::{PAGE_BYTES, SqlError};
use duramen_txn::Transaction;
use duramen_types::Value;

use crate::change::PageOp;
use crate::format::page::{BODY_BYTES, PageMut, PageRef};
use crate::format::{FormatResult, PageBytes};
use crate::rowset::Rowset;

/// Rows as values and as bytes.
pub(super) struct Batch<'r> {
    pub values: &'r [Vec<Value>],
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
    /// The run of ascending keys that was found last.
    ascending: std::cell::Cell<(usize, usize)>,
}

impl<'r> Batch<'r> {
    /// Makes the rows' bytes; values that go outside their rows are written on the way. The row that cannot be made.
    pub fn pack(
        rowset: &Rowset,
        tx: &Transaction,
        values: &'r [Vec<Value>],
    ) -> Result<Batch<'r>, (usize, SqlError)> {
        let mut batch = Batch {
            values,
            bytes: Vec::new(),
            ends: Vec::with_capacity(values.len()),
            ascending: std::cell::Cell::new((0, 0)),
        };
        for (i, row) in values.iter().enumerate() {
            let encoded = rowset.encode_into(tx, row, &mut batch.bytes);
            encoded.map_err(|e| (i, e))?;
            batch.ends.push(batch.bytes.len());
        }
        Ok(batch)
    }

    pub fn len(&self) -> usize {
        self.values.len()
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

    /// The rows from `from` on whose keys ascend, each above the one before: where that ends.
    pub fn ascending(&self, rowset: &Rowset, from: usize) -> usize {
        let (first, end) = self.ascending.get();
        if (first..end).contains(&from) {
            return end;
        }
        let keys = &rowset.keys;
        let mut end = from + 1;
        while end < self.len()
            && keys.cmp_rows(&self.values[end - 1], &self.values[end]) == Ordering::Less
        {
            end += 1;
        }
        self.ascending.set((from, end));
        end
    }

    /// How many rows from `from` to `to` fit into `free` bytes, slots included.
    pub fn fitting(&self, range: Range<usize>, free: usize) -> usize {
        let start = self.start(range.start);
        let first = range.start;
        range
            .take_while(|i| self.ends[*i] - start + 2 * (i + 1 - first) <= free)
            .count()
    }

    /// The ranges of rows that fill empty pages, at most `most` of them.
    pub fn pages(&self, range: Range<usize>, most: usize) -> Vec<Range<usize>> {
        let mut pages = Vec::with_capacity(most);
        let mut at = range.start;
        while at < range.end && pages.len() < most {
            let n = self.fitting(at..range.end, BODY_BYTES);
            if n == 0 {
                break;
            }
            pages.push(at..at + n);
            at += n;
        }
        pages
    }

    /// The empty page `page` with rows on it.
    pub fn fill(&self, page: PageRef<'_>, rows: Range<usize>) -> FormatResult<Box<PageBytes>> {
        let mut filled = Box::new(*page.bytes());
        PageMut::new(&mut filled).append_records(self.rows(rows))?;
        Ok(filled)
    }
}

/// What a page that was empty before has now, as one change.
pub(super) fn image(page: &PageBytes) -> PageOp<'_> {
    let p = PageRef::new(page);
    PageOp::Image {
        used: &page[..usize::from(p.free_data())],
        slots: &page[PAGE_BYTES - 2 * usize::from(p.slot_count())..],
    }
}
