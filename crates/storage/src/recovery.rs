//! Checkpoints and crash recovery.
//!
//! A checkpoint: BEGIN_CKPT, the active transactions, every page that was dirty then, END_CKPT (made durable), and only
//! then the boot page names the BEGIN_CKPT. So recovery always starts from a checkpoint that was finished: every change
//! before its BEGIN_CKPT is in the data files.
//!
//! Recovery: one pass from the oldest transaction that was active at the checkpoint. It notes who began and who ended
//! (analysis) and repeats every change whose page is older than the record (redo). Then the losers are undone, system
//! transactions first, so that the structures are whole when rows are looked for. A crash during recovery is a crash:
//! redo looks at page LSNs, undo leaves compensation records.
//!
//! A loser that was prepared (it had written several databases) stays in doubt until the database that decided is open
//! too; each `open` looks again at all that wait. A checkpoint lets go of a decision only when the commits that follow
//! from it are durable in the other logs.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use duramen_base::planted::{self, Bug};
use duramen_base::{Lsn, PageId, SqlResult, XdesId};
use duramen_observe::events::{CheckpointBegin, CheckpointEnd, emit};
use duramen_os::time;
use duramen_txn::txlog::{self, Decision};
use duramen_wal::record::{Lop, RecordBuilder, RecordView, datetime_from_unix_ns};

use crate::alloc::Doomed;
use crate::change::PageOp;
use crate::engine::{BACKGROUND_STEP, Database};
use crate::error::recovery_error;
use crate::format::boot::BOOT_PAGE;
use crate::row_counts::Recovered;

/// Steps of the background thread between two ghost cleanups: 5 seconds.
const GHOST_STEPS: u32 = 50;

/// What recovery did, for the error log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecoverySummary {
    pub rolled_forward: u64,
    pub rolled_back: u64,
    pub records: u64,
}

#[derive(Clone, Debug)]
struct Loser {
    begin: Lsn,
    last: Lsn,
    system: bool,
    /// Prepared: another database's log says how it ended.
    decision: Option<Decision>,
}

fn now() -> [u8; 8] {
    datetime_from_unix_ns(u64::try_from(time::wall().unix_nanos()).unwrap_or(0))
}

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
    )
}

impl Database {
    /// CHECKPOINT. Returns the pages written.
    pub fn checkpoint(&self) -> SqlResult<u32> {
        let _one = self.checkpoint_lock.lock();
        let database_id = u64::from(self.id.0);
        emit(|| CheckpointBegin { database_id });
        let previous = self.boot.lock().checkpoint_lsn;
        let version = self.boot.lock().version;
        let max_xdes = self.transactions.table.next_xdes();
        let begin = self.carry_drops(|| {
            self.mark_counts(|| {
                self.access.append(
                    &RecordBuilder::begin_checkpoint(previous, now(), version, max_xdes),
                    0,
                )
            })
        })?;
        let mut active = self.transactions.table.checkpoint_list();
        if planted::on(Bug::CheckpointForgetsActive) {
            active.clear();
        }
        for record in RecordBuilder::active_xacts(begin, &active) {
            self.access.append(&record, 0)?;
        }
        let written = match self.store.temporary {
            _ if planted::on(Bug::CheckpointWithoutPages) => 0,
            true => 0,
            false => self.engine.pool.flush_database(self.id)?,
        };
        self.note_counts()?;
        let min = active
            .iter()
            .map(|a| a.begin_lsn)
            .filter(|l| !l.is_null())
            .fold(begin, Lsn::min);
        let end = self.access.append(
            &RecordBuilder::end_checkpoint(begin, now(), version, min, written),
            0,
        )?;
        self.access.flush(end)?;
        emit(|| CheckpointEnd { database_id });
        if self.store.temporary {
            self.boot.lock().checkpoint_lsn = begin;
        } else {
            self.write_boot_checkpoint(begin)?;
        }
        if let Some(log) = &self.log {
            log.set_reuse_reason(if min < begin {
                "ACTIVE_TRANSACTION"
            } else {
                "NOTHING"
            });
        }
        if self.store.temporary {
            self.access.truncate(min);
        } else if self.truncate_on_checkpoint.load(Ordering::SeqCst) {
            for other in self.engine.open_databases() {
                let owed = other.transactions.commits.last_full();
                if other.id != self.id && other.access.flush(owed).is_err() {
                    // Its recovery may need decisions of this log: nothing is let go of.
                    return Ok(written);
                }
            }
            let too_far = planted::on(Bug::TruncatedTooFar);
            self.access.truncate(if too_far { begin } else { min });
        }
        self.release_leftovers();
        Ok(written)
    }

    /// The boot page's checkpoint LSN is not logged: it says where the log is to be read from.
    fn write_boot_checkpoint(&self, begin: Lsn) -> SqlResult<()> {
        let id = PageId::new(1, BOOT_PAGE);
        {
            let mut boot = self.boot.lock();
            let mut page = self.write_page(id)?;
            boot.checkpoint_lsn = begin;
            if let Some(own) = &mut boot.own {
                own.next_xdes = self.transactions.table.next_xdes().0;
            }
            boot.write(page.change().bytes_mut())
                .map_err(|e| self.corrupt(id, e))?;
        }
        self.engine.pool.flush_page(self.id, id)
    }

    /// Keeps the log until a backup takes it (FULL) instead of freeing it at checkpoints (SIMPLE, and before the first
    /// full backup).
    pub fn set_truncate_on_checkpoint(&self, on: bool) {
        self.truncate_on_checkpoint.store(on, Ordering::SeqCst);
    }

    /// Analysis, redo, undo, checkpoint.
    pub(crate) fn recover(self: &Arc<Database>) -> SqlResult<RecoverySummary> {
        let start = self.boot.lock().checkpoint_lsn;
        let from = self.scan_start(start)?;
        let mut summary = RecoverySummary::default();
        let mut active: BTreeMap<XdesId, Loser> = BTreeMap::new();
        let mut max_xdes = XdesId(0);
        let mut doomed = Doomed::default();
        let mut counts = Recovered::default();
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
        self.after_redo()?;
        self.keep_recovered_counts(counts);
        *self.drops.lock() =
            doomed.remaining(|xdes| active.get(&xdes).is_some_and(|l| l.decision.is_none()));
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
            let tx = self.own_transaction("recovery");
            self.transactions.adopt(&tx, xdes, loser.begin, loser.last);
            if let Some(decision) = loser.decision
                && !planted::on(Bug::PreparedIsAborted)
            {
                self.in_doubt.lock().push((tx, decision));
                continue;
            }
            self.undo(&tx, Lsn::NULL)?;
            txlog::abort(&tx);
        }
        self.access.flush(self.access.last_lsn())?;
        self.settle_files()?;
        self.load_roots()?;
        self.load_counts()?;
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
    pub(crate) fn resolve_in_doubt(&self) -> SqlResult<()> {
        let waiting = std::mem::take(&mut *self.in_doubt.lock());
        for (tx, decision) in waiting {
            let Some(coordinator) = self.engine.database(decision.coordinator) else {
                self.in_doubt.lock().push((tx, decision));
                continue;
            };
            if coordinator.has_committed(&decision)? {
                let xdes = tx.part(self.id).map(|p| p.xdes);
                txlog::commit(&tx, Some(false))?;
                if let Some(xdes) = xdes
                    && let Err(e) = self.release_chains(&tx, xdes)
                {
                    // The chains stay noted.
                    let _ = e;
                }
            } else {
                self.undo(&tx, Lsn::NULL)?;
                txlog::abort(&tx);
            }
        }
        Ok(())
    }

    fn has_committed(&self, decision: &Decision) -> SqlResult<bool> {
        let mut found = false;
        self.access.scan(decision.begin_lsn, &mut |_, bytes| {
            if let Some(view) = RecordView::parse(bytes) {
                found |= view.op() == Lop::COMMIT_XACT && view.xdes() == decision.xdes;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Where the pass begins: the oldest begin among the transactions active at the checkpoint.
    fn scan_start(&self, checkpoint: Lsn) -> SqlResult<Lsn> {
        let mut from = checkpoint;
        let mut ended = false;
        self.access.scan(checkpoint, &mut |_, bytes| {
            if ended {
                return Ok(());
            }
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
            Ok(())
        })?;
        Ok(from)
    }

    fn redo(&self, lsn: Lsn, view: &RecordView<'_>) -> SqlResult<()> {
        let fail = |e: crate::format::FormatError| recovery_error(self.id, lsn, &e.to_string());
        let Some((id, previous, op)) = PageOp::parse(view).map_err(fail)? else {
            return Ok(());
        };
        if !self.redo_applies(id, lsn) {
            return Ok(());
        }
        let formats = matches!(op, PageOp::Format { .. });
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
        p.set_lsn(lsn);
        Ok(())
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

    /// Starts the thread that takes automatic checkpoints. It ends with the database.
    pub fn start_background(self: &Arc<Database>) {
        let weak: Weak<Database> = Arc::downgrade(self);
        let name = format!("checkpoint {}", self.id.0);
        let thread = duramen_os::thread::try_spawn(&name, move || {
            let mut idle = 0;
            loop {
                duramen_os::thread::sleep(BACKGROUND_STEP);
                let Some(db) = weak.upgrade() else { return };
                if db.closed.load(Ordering::SeqCst) {
                    return;
                }
                idle += 1;
                if idle % GHOST_STEPS == 0
                    && let Err(e) = db.clean_ghosts()
                {
                    // Ghosts cost space, not correctness; whoever needs the page meets the error.
                    let _ = e;
                }
                if db.wants_checkpoint(idle) && db.checkpoint().is_ok() {
                    idle = 0;
                }
            }
        });
        // Without the thread there are no automatic checkpoints: the log then grows until somebody asks for one.
        drop(thread);
    }

    /// Whether an automatic checkpoint is due: enough log to redo, a log that is 70 % full, or a minute with dirty pages.
    fn wants_checkpoint(&self, steps: u32) -> bool {
        const REDO_BYTES: u64 = 256 << 20;
        const IDLE_STEPS: u32 = 600;
        let Some(log) = &self.log else { return false };
        if log.poisoned() {
            return false;
        }
        let space = log.space();
        log.bytes_since(self.boot.lock().checkpoint_lsn) > REDO_BYTES
            || space.used * 10 > space.total * 7
            || steps >= IDLE_STEPS
                && !self.store.temporary
                && self.engine.pool.dirty_count(self.id) > 0
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
