//! Page chains that go when their transaction commits, as the log tells of them.

use std::collections::BTreeMap;

use duramen_base::{AllocUnitId, Lsn, PageId, XdesId};
use duramen_wal::record::{Lcx, Lop, RecordBuilder, RecordView};

/// What a LOP_HOBT_DDL says of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// Goes when the record's transaction commits.
    Drop = 0,
    /// The same, said again by a checkpoint.
    Carried = 1,
    /// Has gone, when the record's transaction commits.
    Done = 2,
    /// Does not go: rolled back to a savepoint.
    Cancelled = 3,
}

/// A chain that goes: the record that says so, the unit, its first IAM page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DroppedChain {
    pub lsn: Lsn,
    pub au: AllocUnitId,
    pub first_iam: PageId,
}

impl DroppedChain {
    pub(super) fn same(&self, other: &DroppedChain) -> bool {
        self.au == other.au && self.first_iam == other.first_iam
    }

    pub(super) fn record(&self, note: Note, xdes: XdesId) -> RecordBuilder {
        RecordBuilder::new(Lop::HOBT_DDL, Lcx::NULL)
            .put(24, &self.au.0.to_le_bytes())
            .put(32, &self.first_iam.to_bytes())
            .put(38, &xdes.0.to_le_bytes())
            .put(46, &[note as u8, 0])
    }

    /// The chain, the transaction that dropped it and what is said.
    pub(super) fn parse(lsn: Lsn, view: &RecordView<'_>) -> Option<(DroppedChain, XdesId, Note)> {
        let f = view.fixed();
        let word = |at: usize| {
            let b = f.get(at..at + 8)?;
            Some(u64::from_le_bytes(b.try_into().ok()?))
        };
        let chain = DroppedChain {
            lsn,
            au: AllocUnitId(word(24)? as i64),
            first_iam: PageId::from_bytes(f.get(32..38)?)?,
        };
        let note = match f.get(46)? {
            0 => Note::Drop,
            1 => Note::Carried,
            2 => Note::Done,
            3 => Note::Cancelled,
            _ => return None,
        };
        Some((chain, XdesId(word(38)?), note))
    }
}

pub(super) fn remove_from(
    drops: &mut BTreeMap<XdesId, Vec<DroppedChain>>,
    xdes: XdesId,
    chain: &DroppedChain,
) {
    if let Some(list) = drops.get_mut(&xdes) {
        list.retain(|c| !c.same(chain));
        if list.is_empty() {
            drops.remove(&xdes);
        }
    }
}

/// What recovery has read about chains that go.
#[derive(Default)]
pub(crate) struct Doomed {
    chains: BTreeMap<XdesId, Vec<DroppedChain>>,
    /// The system transaction that says "done", and of what.
    done: Vec<(XdesId, XdesId, DroppedChain)>,
}

impl Doomed {
    /// Looks at the next record of the log.
    pub fn see(&mut self, lsn: Lsn, view: &RecordView<'_>) {
        match view.op() {
            Lop::ABORT_XACT => {
                self.chains.remove(&view.xdes());
            }
            Lop::HOBT_DDL => {
                let Some((chain, xdes, note)) = DroppedChain::parse(lsn, view) else {
                    return;
                };
                match note {
                    Note::Drop | Note::Carried => {
                        let list = self.chains.entry(xdes).or_default();
                        if !list.iter().any(|c| c.same(&chain)) {
                            list.push(chain);
                        }
                    }
                    Note::Done => self.done.push((view.xdes(), xdes, chain)),
                    Note::Cancelled => remove_from(&mut self.chains, xdes, &chain),
                }
            }
            _ => {}
        }
    }

    /// What is still to go. `lost`: whether a transaction is undone; chains of such stay. Those of transactions in doubt
    /// are in the answer: they wait for the decision.
    pub fn remaining(
        mut self,
        lost: impl Fn(XdesId) -> bool,
    ) -> BTreeMap<XdesId, Vec<DroppedChain>> {
        for (sys, xdes, chain) in &self.done {
            if !lost(*sys) {
                remove_from(&mut self.chains, *xdes, chain);
            }
        }
        self.chains.retain(|xdes, _| !lost(*xdes));
        self.chains
    }
}
