//! Crash recovery.
//!
//! Recovery starts from a checkpoint that was finished (`checkpoint`): one pass from the oldest transaction that was active
//! then. It notes who began and who ended (analysis) and repeats every change whose page is older than the record (redo).
//! Then the losers are undone, system transactions first, so that the structures are whole when rows are looked for. A
//! crash during recovery is a crash: redo looks at page LSNs, undo leaves compensation records.
//!
//! A loser that was prepared (it had written several databases) stays in doubt until the database that decided is open
//! too; each `open` looks again at all that wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlResult, XdesId};
use duramen_os::{IoError, time};
use duramen_txn::Transaction;
use duramen_txn::txlog::{self, Decision};
use duramen_wal::record::{Lcx, Lop, RecordView};

use crate::alloc::Doomed;
use crate::change::PageOp;
use crate::engine::Database;
use crate::error::recovery_error;
use crate::files::grow::expand_error;
use crate::format::PageBytes;
use crate::format::boot::{BOOT_PAGE, FileHeader};
use crate::row_counts::Recovered;

/// What recovery did, for the error log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecoverySummary {
    pub rolled_forward: u64,
    pub rolled_back: u64,
    /// Splits, allocations and the like that were cut in two.
    pub system_undone: u64,
    pub records: u64,
    /// Finding out where to begin. Who was active is noted during redo.
    pub analysis: Duration,
    pub redo: Duration,
    pub undo: Duration,
}

#[derive(Clone, Debug)]
struct Loser {
    begin: Lsn,
    last: Lsn,
    system: bool,
    /// Prepared: another database's log says how it ended.
    decision: Option<Decision>,
}

/// The name under which recovery undoes a system transaction.
const UNDO_OF_SYSTEM: &str = "UndoOfSystem";

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

impl Database {
    /// Analysis, redo, undo, checkpoint. The source of a restored database acknowledged no commit whose record is not in
    /// its log: what is merely prepared is undone.
    pub(crate) fn recover(self: &Arc<Database>, restored: bool) -> SqlResult<RecoverySummary> {
        let begun = time::now();
        let start = self.boot.lock().checkpoint_lsn;
        let from = self.scan_start(start)?;
        let mut summary = RecoverySummary {
            analysis: begun.elapsed(),
            ..RecoverySummary::default()
        };
        let mut active: BTreeMap<XdesId, Loser> = BTreeMap::new();
        let mut max_xdes = XdesId(0);
        let mut doomed = Doomed::default();
        let mut counts = Recovered::default();
        let started = time::now();
        self.access.scan(from, &mut |lsn, bytes| {
            let view = RecordView::parse(bytes)
                .ok_or_else(|| recovery_error(self.id, lsn, "the record cannot be read"))?;
            summary.records += 1;
            max_xdes = max_xdes.max(view.xdes());
            if note_transaction(&mut active, lsn, &view) {
                summary.rolled_forward += 1;
            }
            doomed.see(lsn, &view);
            if lsn >= start {
                let system = active.get(&view.xdes()).is_some_and(|l| l.system);
                counts.see(&view, system);
            }
            self.redo(lsn, &view)
        })?;
        if let Some(log) = &self.log {
            let speed = &self.engine.redo_speed;
            speed.learn(log.bytes_since(from), started.elapsed());
        }
        summary.redo = started.elapsed();
        let started = time::now();
        self.after_redo()?;
        self.keep_recovered_counts(counts);
        *self.drops.lock() =
            doomed.remaining(|xdes| active.get(&xdes).is_some_and(|l| l.decision.is_none()));
        summary.system_undone = active.values().filter(|l| l.system).count() as u64;
        summary.rolled_back = active.values().filter(|l| !l.system).count() as u64;
        // Ids of the lost end of the log are not given again either: `next_xdes` of the boot page may be behind.
        let floor = self
            .transactions
            .table
            .adopt(max_xdes, Lsn::NULL, Lsn::NULL);
        self.transactions.table.end(floor.xdes);
        let mut losers: Vec<(XdesId, Loser)> = active.into_iter().collect();
        losers.sort_by_key(|(_, l)| (!l.system, std::cmp::Reverse(l.last)));
        for (xdes, loser) in losers {
            // Undo of a half-made split moves rows back: their number does not change (`row_counts`).
            let tx = self.own_transaction(match loser.system {
                true => UNDO_OF_SYSTEM,
                false => "recovery",
            });
            self.transactions.adopt(&tx, xdes, loser.begin, loser.last);
            if let Some(decision) = loser.decision
                && !restored
                && !planted::on(Bug::PreparedIsAborted)
            {
                self.in_doubt.lock().push((tx, decision));
                continue;
            }
            self.undo(&tx, Lsn::NULL)?;
            txlog::abort(&tx);
        }
        summary.undo = started.elapsed();
        self.access.flush(self.access.last_lsn())?;
        self.settle_files()?;
        self.load_roots()?;
        self.load_counts()?;
        if let Some(own) = &mut self.boot.lock().own
            && !std::mem::replace(&mut own.closed, false)
        {
            self.doubt_page_counts();
        }
        self.store.recovering.store(false, Ordering::SeqCst);
        for file in self.store.files.read().iter() {
            file.free_extents
                .store(self.count_free(file)?, Ordering::SeqCst);
        }
        self.release_leftovers();
        // Nothing is truncated yet: databases that are opened later may have to look for decisions in this log.
        let truncate = self.truncate_on_checkpoint.swap(false, Ordering::SeqCst);
        let checkpoint = self.checkpoint();
        self.truncate_on_checkpoint
            .store(truncate, Ordering::SeqCst);
        checkpoint?;
        Ok(summary)
    }

    /// Ends the prepared transactions whose coordinator is open: committed when its log has their COMMIT, else undone.
    /// One that cannot be ended stays in doubt; the error is that of the first.
    pub(crate) fn resolve_in_doubt(&self) -> SqlResult<()> {
        let _one = self.resolving.lock();
        let waiting = std::mem::take(&mut *self.in_doubt.lock());
        let mut result = Ok(());
        for (tx, decision) in waiting {
            let settled = match self.engine.database(decision.coordinator) {
                Some(coordinator) => self.settle(&tx, &decision, &coordinator).map(|()| true),
                None => Ok(false),
            };
            if !matches!(settled, Ok(true)) {
                self.in_doubt.lock().push((tx, decision));
            }
            result = result.and(settled.map(|_| ()));
        }
        result
    }

    /// The database whose log must tell how a transaction of this one has ended, and could not be asked.
    pub fn waits_for(&self) -> Option<DbId> {
        self.in_doubt.lock().first().map(|(_, d)| d.coordinator)
    }

    fn settle(&self, tx: &Transaction, decision: &Decision, by: &Database) -> SqlResult<()> {
        if by.has_committed(decision)? {
            let xdes = tx.part(self.id).map(|p| p.xdes);
            let committed = txlog::commit(tx, Some(false))?;
            // The coordinator's log may go as soon as everything is open: from here on this log tells it alone.
            for (_, lsn) in committed.parts {
                self.access.flush(lsn)?;
            }
            if let Some(xdes) = xdes
                && let Err(e) = self.release_chains(tx, xdes)
            {
                // The chains stay noted.
                let _ = e;
            }
        } else {
            self.undo(tx, Lsn::NULL)?;
            txlog::abort(tx);
        }
        Ok(())
    }

    fn has_committed(&self, decision: &Decision) -> SqlResult<bool> {
        let mut found = false;
        self.access
            .scan_while(decision.begin_lsn, &mut |_, bytes| {
                if let Some(view) = RecordView::parse(bytes) {
                    found |= view.op() == Lop::COMMIT_XACT && view.xdes() == decision.xdes;
                }
                Ok(!found)
            })?;
        Ok(found)
    }

    /// Where the pass begins: the oldest begin among the transactions active at the checkpoint.
    fn scan_start(&self, checkpoint: Lsn) -> SqlResult<Lsn> {
        let mut from = checkpoint;
        let mut ended = false;
        self.access.scan_while(checkpoint, &mut |_, bytes| {
            if let Some(view) = RecordView::parse(bytes) {
                if view.op() == Lop::XACT_CKPT && view.prev_lsn() == checkpoint {
                    for a in view.active_xacts() {
                        if !a.begin_lsn.is_null() {
                            from = from.min(a.begin_lsn);
                        }
                    }
                }
                ended = view.op() == Lop::END_CKPT && view.prev_lsn() == checkpoint;
            }
            Ok(!ended)
        })?;
        Ok(from)
    }

    fn redo(&self, lsn: Lsn, view: &RecordView<'_>) -> SqlResult<()> {
        if view.op() == Lop::BULK_EXT_ALLOCATION {
            return self.redo_extent(lsn, view);
        }
        let fail = |e: crate::format::FormatError| recovery_error(self.id, lsn, &e.to_string());
        let Some((id, previous, op)) = PageOp::parse(view).map_err(fail)? else {
            return Ok(());
        };
        if !self.redo_applies(id, lsn) {
            return Ok(());
        }
        let formats = matches!(op, PageOp::Format { .. } | PageOp::Image { .. });
        let mut page = match self.write_page(id) {
            Ok(page) => page,
            Err(e) if formats => {
                // What stood there before does not matter.
                let _ = e;
                self.write_new_page(id)?
            }
            Err(e) => return Err(e),
        };
        let have = page.page().lsn();
        if have >= lsn {
            return Ok(());
        }
        if !formats && have != previous {
            let what = format!(
                "page {id} has LSN {} and the record expects {}",
                have.to_decimal_text(),
                previous.to_decimal_text()
            );
            return Err(recovery_error(self.id, lsn, &what));
        }
        let mut p = page.change();
        op.apply(id, view.context(), &mut p).map_err(fail)?;
        if view.is_compensation()
            && view.context() == Lcx::HEAP
            && matches!(op, PageOp::Delete { .. } | PageOp::Remove { .. })
        {
            // As the rollback did: the rows that came later have filled these bytes.
            p.trim_slots();
        }
        p.set_lsn(lsn);
        match view.context() {
            Lcx::FILE_HEADER => self.redo_growth(id, page.bytes()),
            _ => Ok(()),
        }
    }

    /// A restored file is as long as it was when its backup began: redo of a growth makes it longer. The header's latch is
    /// held, so that none is on disk that counts more pages than there are.
    fn redo_growth(&self, id: PageId, header: &PageBytes) -> SqlResult<()> {
        let Some(file) = self.store.file(id.file) else {
            return Ok(());
        };
        let size = FileHeader::read(header)
            .map_err(|e| self.corrupt(id, e))?
            .size;
        let expand = |e: IoError| expand_error(&e, &file);
        if u64::from(size) * PAGE_BYTES as u64 <= file.handle.len().map_err(expand)? {
            return Ok(());
        }
        file.extend(size, self.engine.instant_file_init())
            .map_err(expand)
    }

    /// Sizes and boot fields as redo has left them.
    fn after_redo(&self) -> SqlResult<()> {
        let files = self.store.files.read().clone();
        for file in &files {
            self.read_header(file)?;
        }
        self.reload_boot()
    }

    /// Reads the boot page's fields again, after redo or undo may have changed them.
    pub(crate) fn reload_boot(&self) -> SqlResult<()> {
        let id = PageId::new(1, BOOT_PAGE);
        let fresh = {
            let page = self.read_page(id)?;
            crate::format::boot::Boot::read(page.bytes()).map_err(|e| self.corrupt(id, e))?
        };
        *self.boot.lock() = fresh;
        self.follow_configuration();
        Ok(())
    }
}

/// Follows who is active; true when a user transaction has committed.
fn note_transaction(active: &mut BTreeMap<XdesId, Loser>, lsn: Lsn, view: &RecordView<'_>) -> bool {
    let xdes = view.xdes();
    if xdes.0 == 0 {
        return false;
    }
    match view.op() {
        Lop::COMMIT_XACT => active.remove(&xdes).is_some_and(|l| !l.system),
        Lop::ABORT_XACT => {
            active.remove(&xdes);
            false
        }
        Lop::FORGET_XACT => false,
        Lop::BEGIN_XACT => {
            let system = view.element(0).is_some_and(is_system);
            let loser = Loser {
                begin: lsn,
                last: lsn,
                system,
                decision: None,
            };
            active.insert(xdes, loser);
            false
        }
        _ => {
            let entry = active.entry(xdes).or_insert(Loser {
                begin: lsn,
                last: lsn,
                system: false,
                decision: None,
            });
            entry.last = lsn;
            if view.op() == Lop::PREP_XACT {
                entry.decision = view.element(0).and_then(Decision::from_bytes);
            }
            false
        }
    }
}
