//! Batches that wait in a spill file, in parts: sorted runs, or rows parted by the hash of a key.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_observe::events::{HashWarning, HashWarningType, SortWarning, SortWarningType, emit};
use duramen_observe::{Counter, count};
use duramen_types::CollationId;
pub use duramen_types::batch::spill::Reader;
use duramen_types::batch::{Batch, Column};

use super::BatchOperator;
use super::keys::PARTS;
use crate::cx::Cx;
use crate::spill::Grant;

/// For what rows are written.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// A hash table's, which reads what was written so often.
    Hash(u32),
    /// The other input of one that has told already.
    Other,
    Sort,
    /// Runs of a sort that are merged more than once.
    Passes,
    /// Rows that are read more than once.
    Spool,
}

impl Purpose {
    /// Counts the file, and tells of memory that did not suffice.
    fn report(self) {
        match self {
            Purpose::Hash(round) => {
                count(Counter::Workfiles, 1);
                emit(|| HashWarning {
                    hash_warning_type: HashWarningType::RECURSION,
                    recursion_level: u64::from(round),
                });
            }
            Purpose::Other => count(Counter::Workfiles, 1),
            Purpose::Sort => {
                count(Counter::Worktables, 1);
                emit(|| SortWarning {
                    sort_warning_type: SortWarningType::SINGLE_PASS,
                });
            }
            Purpose::Passes => count(Counter::Worktables, 1),
            Purpose::Spool => count(Counter::Worktables, 1),
        }
    }
}

/// Bytes of rows on their way to files that are told of together.
const STEP: usize = 256 << 10;

/// Parts that are being written.
pub struct Writer {
    parts: duramen_types::batch::spill::Writer,
    /// Holds what rows take that fill no block yet.
    grant: Grant,
    held: usize,
}

impl Writer {
    pub fn new(purpose: Purpose, cx: &Cx<'_>) -> SqlResult<Writer> {
        purpose.report();
        let file = cx.host.spill_file()?;
        Ok(Writer {
            parts: duramen_types::batch::spill::Writer::new(file),
            grant: Grant::new(cx.host.workspace()),
            held: 0,
        })
    }

    /// A new part's number.
    pub fn part(&mut self) -> usize {
        self.parts.part()
    }

    /// Adds rows of `columns`: those at `rows`, in that order.
    pub fn put(&mut self, part: usize, columns: &[Arc<Column>], rows: &[u32]) -> SqlResult<()> {
        self.parts.put(part, columns, rows)?;
        let waiting = self.parts.waiting();
        if waiting.abs_diff(self.held) > STEP {
            self.grant.set(waiting);
            self.held = waiting;
        }
        Ok(())
    }

    /// Adds `n` rows of `columns`, each to the part of its key: the first [`PARTS`] parts are for that.
    pub fn put_by_key(
        &mut self,
        columns: &[Arc<Column>],
        (keys, collations): (&[Arc<Column>], &[CollationId]),
        n: usize,
        round: u32,
    ) -> SqlResult<()> {
        self.have_parts();
        let parts = super::keys::parts(keys, collations, n, round);
        for (part, rows) in parts.iter().enumerate() {
            if !rows.is_empty() {
                self.put(part, columns, rows)?;
            }
        }
        Ok(())
    }

    fn have_parts(&mut self) {
        while self.parts.parts() < PARTS {
            self.part();
        }
    }

    /// As `finish`, with all the parts of keys, whether any row came or not.
    pub fn finish_all(mut self) -> SqlResult<Vec<Reader>> {
        self.have_parts();
        self.finish()
    }

    /// Everything is written: each part can be read, by its number.
    pub fn finish(self) -> SqlResult<Vec<Reader>> {
        self.parts.finish()
    }

    /// The writer itself, for what knows no purpose.
    pub fn into_parts(self) -> duramen_types::batch::spill::Writer {
        self.parts
    }
}

impl BatchOperator for Reader {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        self.next_block()
    }
}
