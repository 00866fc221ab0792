//! Scans in parts, for threads that read one rowset together.
//!
//! The parts of a scan together give its rows, each of them once: runs of a heap's pages, or ranges of keys between
//! entries that stand in the upper levels of a B-tree. Only scans that keep no lock of a row or page are cut, because the
//! threads share one transaction: the table's lock is taken once, by [`Rowset::parts`], and stays until the statement's
//! end. A part of a heap does not look for pages that came after the scan began, which READ COMMITTED does not ask for.

use duramen_base::{PageId, SqlResult};
use duramen_observe::{Counter, count};
use duramen_txn::{LockDuration, Transaction};
use duramen_types::Value;

use super::Cursor;
use crate::def::ScanSpec;
use crate::rowset::Rowset;

/// Some rows of a scan.
#[derive(Clone, Debug, PartialEq)]
pub enum ScanPart {
    /// These pages of a heap.
    Pages(Vec<PageId>),
    /// The keys from the first on, and before the second.
    Keys(Option<Vec<Value>>, Option<Vec<Value>>),
}

/// Levels of a B-tree, at most.
const LEVELS: usize = 64;

impl Rowset {
    /// Cuts a scan in about `wanted` parts and takes the table's lock for it; `None` when it has to stay whole.
    pub fn parts(
        &self,
        tx: &Transaction,
        spec: &ScanSpec,
        wanted: usize,
    ) -> SqlResult<Option<Vec<ScanPart>>> {
        let locking = self.locking(tx, &spec.reading);
        let instant = |lock: Option<(_, LockDuration)>| {
            lock.is_none_or(|(_, duration)| duration == LockDuration::Instant)
        };
        if locking.range || !instant(locking.row) || !instant(locking.page) || !spec.forward {
            return Ok(None);
        }
        self.lock_for_read(tx, &locking, &spec.reading)?;
        self.storage.operations.scans.add(1);
        if duramen_observe::metering_reads() {
            duramen_observe::note_scan(self.db.id, self.def.au, false);
        }
        count(
            match spec.lower.is_none() && spec.upper.is_none() {
                true => Counter::FullScans,
                false => Counter::RangeScans,
            },
            1,
        );
        if self.def.is_heap() {
            let pages = self.heap_pages()?;
            let each = pages.len().div_ceil(wanted.max(1)).max(1);
            let parts = pages.chunks(each).map(|p| ScanPart::Pages(p.to_vec()));
            return Ok(Some(parts.collect()));
        }
        let mut keys = self.separators(spec, wanted)?;
        if keys.len() > wanted {
            let step = keys.len().div_ceil(wanted.max(1));
            keys = keys.into_iter().step_by(step).collect();
        }
        let mut parts = Vec::with_capacity(keys.len() + 1);
        let mut from = None;
        for key in keys {
            parts.push(ScanPart::Keys(from.replace(key.clone()), Some(key)));
        }
        parts.push(ScanPart::Keys(from, None));
        Ok(Some(parts))
    }

    /// Keys within a scan's bounds at which a B-tree's pages part, in their order: those of the highest level that has
    /// `wanted` of them, or of the level above the leaves.
    fn separators(&self, spec: &ScanSpec, wanted: usize) -> SqlResult<Vec<Vec<Value>>> {
        let _shared = self.storage.latch.read();
        let mut pages = vec![self.root()?];
        // What stands between the pages of a level is known from the level above.
        let mut between: Vec<Vec<Value>> = Vec::new();
        for _ in 0..LEVELS {
            let mut keys = Vec::new();
            let mut below = Vec::new();
            let last = pages.len() - 1;
            for (i, id) in pages.iter().enumerate() {
                let page = self.db.read_page(*id)?;
                let p = page.page();
                if p.level() == 0 {
                    return Ok(between);
                }
                let mut from = 0;
                let mut to = p.slot_count().saturating_sub(1);
                if i == 0
                    && let Some((key, inclusive)) = &spec.lower
                {
                    from = self.child_slot(p, key, !*inclusive)?;
                }
                if i == last
                    && let Some((key, inclusive)) = &spec.upper
                {
                    to = to.min(self.child_slot(p, key, *inclusive)?);
                }
                for slot in from..=to {
                    if slot > from {
                        keys.push(self.keys().of_node(p.row(slot)?)?);
                    } else if i > 0 {
                        keys.push(between[i - 1].clone());
                    }
                    below.push(self.child_at(p, slot)?);
                }
            }
            between = keys;
            if between.len() >= wanted || below.is_empty() {
                return Ok(between);
            }
            pages = below;
        }
        Ok(between)
    }

    /// Reads a part of the scan that was cut. The transaction is still the one that cut it.
    pub fn scan_part(&self, tx: &Transaction, mut spec: ScanSpec, part: &ScanPart) -> Cursor {
        let mut some = None;
        match part {
            ScanPart::Pages(pages) => some = Some(pages.clone()),
            ScanPart::Keys(from, to) => {
                if let Some(key) = from {
                    spec.lower = Some((key.clone(), true));
                }
                if let Some(key) = to {
                    spec.upper = Some((key.clone(), false));
                }
            }
        }
        Cursor::of(self.clone(), tx, spec, some)
    }
}
