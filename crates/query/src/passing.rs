//! Rows on their way from one operator to the next, or to the client: cut by bytes as well as by their number, and told of.
//!
//! A statement whose client does not read waits with what its operators have at hand, and hundreds may wait at once. So wide
//! rows go on a few at a time, fewer still while the server is short of memory, and the workspace is told of what they take. It
//! cannot refuse them: without a row at hand nothing goes on. Narrow rows are bounded by their number and cost no look.
//!
//! Invariants
//! 1. What is told is what the rows given last take, until others take their place or their operator goes.
//!    [test: wide_rows_go_on_by_few_and_are_told_of]

use duramen_types::{SqlType, Value};

use crate::cx::Cx;
use crate::exec::BATCH_ROWS;
use crate::kept::row_bytes;
use crate::spill::Grant;

/// Bytes of rows that go on together, about, where there is more than one row.
pub const TOGETHER: usize = 64 << 10;
/// The same while the server is short of memory; nobody is told of less.
const SHORT: usize = 16 << 10;

/// How many rows go on together, where `rows` of them take `bytes`.
pub fn rows_together(bytes: usize, rows: usize) -> usize {
    rows_within(TOGETHER, (bytes, rows)).min(BATCH_ROWS)
}

/// How many rows have room in so many bytes, where `rows` of them take `bytes`: one, if it has or not.
pub fn rows_within(room: usize, (bytes, rows): (usize, usize)) -> usize {
    (room.saturating_mul(rows) / bytes.max(1)).max(1)
}

/// Rows that an operator gathers.
#[derive(Debug)]
pub struct Passing {
    /// As many rows as go on together may be more than a few bytes.
    wide: bool,
    /// Of the rows gathered.
    bytes: usize,
    /// Of those that go on together.
    most: usize,
    grant: Option<Grant>,
    reported: usize,
}

impl Passing {
    /// For rows of columns of these types.
    pub fn of<'a>(types: impl Iterator<Item = &'a SqlType>) -> Passing {
        let widths = types.map(|ty| match ty.is_max() {
            true => TOGETHER,
            false => usize::from(ty.length),
        });
        Passing {
            wide: widths.sum::<usize>() > TOGETHER / BATCH_ROWS,
            bytes: 0,
            most: TOGETHER,
            grant: None,
            reported: 0,
        }
    }

    /// One more row.
    #[inline]
    pub fn add(&mut self, row: &[Value]) {
        if self.wide {
            self.bytes += row_bytes(row);
        }
    }

    /// Whether those gathered are to go on, however few they are.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes > self.most
    }

    /// Those gathered go on: they are told of until the next do.
    #[inline]
    pub fn go_on(&mut self, cx: &Cx<'_>) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes > SHORT || self.reported > 0 {
            self.report(bytes, cx);
        }
    }

    /// Other rows are at hand, of so many bytes.
    pub fn hold(&mut self, bytes: usize, cx: &Cx<'_>) {
        self.bytes = bytes;
        self.go_on(cx);
    }

    #[cold]
    fn report(&mut self, bytes: usize, cx: &Cx<'_>) {
        let grant = match &mut self.grant {
            Some(grant) => grant,
            none => none.insert(Grant::new(cx.host.workspace())),
        };
        // Batches differ by a row or two: not each of them is worth an addition that all threads share.
        if bytes > self.reported || bytes < self.reported / 2 {
            grant.set(bytes);
            self.reported = bytes;
        }
        self.most = match grant.has_memory(TOGETHER) {
            true => TOGETHER,
            false => SHORT,
        };
    }
}
