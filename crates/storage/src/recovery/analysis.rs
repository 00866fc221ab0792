//! What recovery learns from the log's records besides the pages: who was active, what was counted, what was dropped.

use std::collections::BTreeMap;

use duramen_base::{Lsn, XdesId};
use duramen_txn::txlog::Decision;
use duramen_wal::record::{Lop, RecordView};

use crate::alloc::dropped::Doomed;
use crate::row_counts::noted::Recovered;

/// A transaction whose end the log does not have.
#[derive(Clone, Debug)]
pub(super) struct Loser {
    pub begin: Lsn,
    pub last: Lsn,
    pub system: bool,
    /// Of its records.
    pub bytes: u64,
    /// Prepared: another database's log says how it ended.
    pub decision: Option<Decision>,
}

/// The name under which recovery undoes a system transaction.
pub(super) const UNDO_OF_SYSTEM: &str = "UndoOfSystem";

/// Names of the system transactions: their undo is physical and comes first.
fn is_system(name: &[u8]) -> bool {
    let units: Vec<u16> = name
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .collect();
    is_system_name(&String::from_utf16_lossy(&units))
}

/// See `is_system`.
pub(crate) fn is_system_name(name: &str) -> bool {
    matches!(
        name,
        "SplitPage"
            | "AllocFirstPage"
            | "AllocHeapPage"
            | "AllocMixedExtent"
            | "AllocUnitId"
            | "DeallocChain"
            | "FileGrow"
            | "AddFile"
            | "RemoveFile"
            | "ModifyFile"
            | "AddFilegroup"
            | "RemoveFilegroup"
            | "ModifyFilegroup"
            | UNDO_OF_SYSTEM
    )
}

/// What the records have said so far.
#[derive(Default)]
pub(super) struct Analysis {
    /// Counts are taken from here on: the checkpoint.
    pub checkpoint: Lsn,
    pub active: BTreeMap<XdesId, Loser>,
    pub max_xdes: XdesId,
    pub doomed: Doomed,
    pub counts: Recovered,
    pub records: u64,
    pub rolled_forward: u64,
}

impl Analysis {
    /// Looks at the next record of the log.
    pub fn see(&mut self, lsn: Lsn, view: &RecordView<'_>) {
        self.records += 1;
        self.max_xdes = self.max_xdes.max(view.xdes());
        let system = self.note_transaction(lsn, view);
        self.doomed.see(lsn, view);
        if lsn >= self.checkpoint {
            self.counts.see(view, system);
        }
    }

    /// Follows who is active; true for a record of a system transaction.
    fn note_transaction(&mut self, lsn: Lsn, view: &RecordView<'_>) -> bool {
        let xdes = view.xdes();
        if xdes.0 == 0 {
            return false;
        }
        let active = &mut self.active;
        match view.op() {
            Lop::COMMIT_XACT => {
                let user = active.remove(&xdes).is_some_and(|l| !l.system);
                self.rolled_forward += u64::from(user);
                false
            }
            Lop::ABORT_XACT => {
                active.remove(&xdes);
                false
            }
            // It comes behind the COMMIT of its transaction, which must not be active again by it.
            Lop::FORGET_XACT => false,
            Lop::BEGIN_XACT => {
                let system = view.element(0).is_some_and(is_system);
                let loser = Loser {
                    begin: lsn,
                    last: lsn,
                    system,
                    bytes: 0,
                    decision: None,
                };
                let other = active.insert(xdes, loser);
                debug_assert!(
                    other.is_none(),
                    "analysis/1: transaction {xdes} begins at {lsn} and has not ended"
                );
                system
            }
            op => {
                // One that began before the pass was not active when the checkpoint listed: its end is still to come.
                let entry = active.entry(xdes).or_insert(Loser {
                    begin: lsn,
                    last: lsn,
                    system: false,
                    bytes: 0,
                    decision: None,
                });
                debug_assert!(
                    entry.last <= lsn,
                    "analysis/2: the records of transaction {xdes} are read out of order"
                );
                entry.last = lsn;
                entry.bytes += view.length() as u64;
                if op == Lop::PREP_XACT {
                    entry.decision = view.element(0).and_then(Decision::from_bytes);
                }
                entry.system
            }
        }
    }
}
