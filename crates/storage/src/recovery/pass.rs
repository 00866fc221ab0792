//! The pass over the log: analysis and redo while the log's end is looked for.
//!
//! The scan for the end reads every block from the checkpoint on, and proves of each that it continues the one before. So
//! its records are facts, whatever comes after them, and may be repeated at once: nothing of the log is read twice. If the
//! log turns out to be damaged further on, the pages are no worse than after any crash.
//!
//! Where the pass begins is what the checkpoint says: with the oldest transaction that was active then. What happened
//! before the checkpoint is on the pages already and is only looked at.

use std::sync::Arc;
use std::time::Duration;

use duramen_base::{Lsn, SqlError, SqlResult};
use duramen_os::time::{self, Instant};
use duramen_pool::DbStore;
use duramen_wal::record::{Lop, RecordView};
use duramen_wal::{OpenBlock, Watch};

use super::analysis::Analysis;
use super::helpers::Helpers;
use super::progress::Progress;
use super::redo::Redo;
use crate::engine::Engine;
use crate::error::recovery_error;

/// Blocks that one thread repeats alone: what a clean shutdown leaves is not worth more threads.
const ALONE: u32 = 4;

pub(crate) struct Pass {
    redo: Redo,
    /// Nobody is told, without one.
    progress: Option<Arc<Progress>>,
    checkpoint: Lsn,
    /// Of those active at the checkpoint, the oldest.
    from: Lsn,
    analysis: Analysis,
    helpers: Option<Helpers>,
    blocks: u32,
    error: Option<SqlError>,
    begun: Instant,
    looked: Duration,
}

/// What the pass has found.
pub(crate) struct Found {
    pub from: Lsn,
    pub(super) analysis: Analysis,
    /// Finding out where to begin.
    pub looked: Duration,
    pub redo: Duration,
    pub threads: u32,
}

impl Pass {
    pub fn new(engine: &Arc<Engine>, store: &Arc<DbStore>, checkpoint: Lsn) -> Pass {
        Pass {
            progress: engine.recovery_of(store.id),
            redo: Redo {
                engine: engine.clone(),
                store: store.clone(),
            },
            checkpoint,
            from: checkpoint,
            analysis: Analysis {
                checkpoint,
                ..Analysis::default()
            },
            helpers: None,
            blocks: 0,
            error: None,
            begun: time::now(),
            looked: Duration::ZERO,
        }
    }

    fn repeat(&mut self, block: &Arc<OpenBlock>) -> SqlResult<()> {
        self.blocks = self.blocks.saturating_add(1);
        if let Some(progress) = &self.progress {
            progress.advance(u64::from(block.header.bytes))?;
        }
        if self.blocks > ALONE && self.helpers.is_none() {
            self.helpers = Some(Helpers::new(&self.redo));
        }
        if let Some(helpers) = &mut self.helpers {
            helpers.block(block)?;
        }
        for slot in 1..=block.header.records {
            let lsn = block.lsn(slot);
            if lsn < self.from {
                continue;
            }
            let view = block.record(slot).and_then(RecordView::parse);
            let unread = || recovery_error(self.redo.store.id, lsn, "the record cannot be read");
            let view = view.ok_or_else(unread)?;
            self.analysis.see(lsn, &view);
            if lsn < self.checkpoint {
                continue;
            }
            match &mut self.helpers {
                Some(helpers) => helpers.record(slot, lsn, &view)?,
                None => self.redo.apply(lsn, &view, &|_| true)?,
            }
        }
        Ok(())
    }

    /// Waits for the end of redo.
    pub fn finish(mut self) -> SqlResult<Found> {
        let threads = self.helpers.as_ref().map_or(1, Helpers::threads);
        // Whatever went wrong here: nobody may be at work on pages when this returns.
        let done = self.helpers.take().map_or(Ok(()), Helpers::finish);
        if let Some(e) = self.error {
            return Err(e);
        }
        done?;
        if let Some(progress) = &self.progress {
            progress.redone();
        }
        Ok(Found {
            from: self.from,
            analysis: self.analysis,
            looked: self.looked,
            redo: self.begun.elapsed(),
            threads,
        })
    }
}

impl Watch for Pass {
    fn look(&mut self, block: &OpenBlock) -> bool {
        for slot in 1..=block.header.records {
            let Some(view) = block.record(slot).and_then(RecordView::parse) else {
                // Reported when the pass comes here.
                continue;
            };
            if view.prev_lsn() != self.checkpoint {
                continue;
            }
            match view.op() {
                Lop::XACT_CKPT => {
                    let begins = view.active_xacts().into_iter().map(|a| a.begin_lsn);
                    let oldest = begins.filter(|l| !l.is_null()).min();
                    self.from = oldest.map_or(self.from, |l| l.min(self.from));
                }
                Lop::END_CKPT => return true,
                _ => {}
            }
        }
        false
    }

    fn begin(&mut self) -> Lsn {
        self.looked = self.begun.elapsed();
        self.begun = time::now();
        self.from
    }

    fn expect(&mut self, bytes: u64) {
        if let Some(progress) = &self.progress {
            progress.enter(2, bytes);
        }
    }

    fn block(&mut self, block: Arc<OpenBlock>) {
        // The scan goes on to the log's end all the same; but nothing is repeated behind a gap.
        if self.error.is_none()
            && let Err(e) = self.repeat(&block)
        {
            self.error = Some(e);
        }
    }
}
