//! Crash recovery.
//!
//! Recovery starts from a checkpoint that was finished (`checkpoint`): one pass from the oldest transaction that was active
//! then. It notes who began and who ended (analysis) and repeats every change whose page is older than the record (redo).
//! Then the losers are undone, system transactions first, so that the structures are whole when rows are looked for. A
//! crash during recovery is a crash: redo looks at page LSNs, undo leaves compensation records.
//!
//! A loser that was prepared (it had written several databases) stays in doubt until the database that decided is open
//! too; each `open` looks again at all that wait.

mod analysis;
mod helpers;
mod notices;
mod pass;
pub(crate) mod progress;
mod redo;
pub(crate) mod summary;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, PageId, SqlError, SqlResult, XdesId, messages};
use duramen_format::boot::BOOT_PAGE;
use duramen_os::time;
use duramen_txn::Transaction;
use duramen_txn::txlog::{self, Decision};
use duramen_wal::record::{Lop, RecordView};

use crate::engine::Database;
use analysis::{Analysis, Loser, UNDO_OF_SYSTEM};

pub(crate) use analysis::is_system_name;
pub(crate) use pass::{Found, Pass};
pub use progress::{Notice, Recovering};
pub(crate) use redo::Redo;
pub use redo::{LoosePages, pages_of, repeat_on};
pub use summary::RecoverySummary;

impl Database {
    /// What is left when the log has been read and repeated ([`Pass`]): undo and a checkpoint. The source of a restored
    /// database acknowledged no commit whose record is not in its log: what is merely prepared is undone.
    #[expect(
        clippy::too_many_lines,
        reason = "the passes of recovery in their order"
    )]
    pub(crate) fn recover(
        self: &Arc<Database>,
        found: Found,
        restored: bool,
    ) -> SqlResult<RecoverySummary> {
        let Analysis {
            active,
            max_xdes,
            doomed,
            counts,
            records,
            rolled_forward,
            ..
        } = found.analysis;
        let mut summary = RecoverySummary {
            analysis: found.looked,
            redo: found.redo,
            records,
            rolled_forward,
            threads: found.threads,
            ..RecoverySummary::default()
        };
        // What is needed until there is another checkpoint.
        let checkpoint = self.boot.lock().checkpoint_lsn;
        self.checkpoint_taken(checkpoint, found.from.min(checkpoint));
        if let Some(log) = &self.log {
            summary.log_bytes = log.bytes_since(found.from);
            self.engine.redo_speed.learn(summary.log_bytes, found.redo);
        }
        summary.system_undone = active.values().filter(|l| l.system).count() as u64;
        summary.rolled_back = active.values().filter(|l| !l.system).count() as u64;
        let started = time::now();
        // What redo has left of sizes and boot fields: undo and whatever it allocates go by them.
        self.after_redo()?;
        self.say_counted(&messages::RECOVERY_ROLLED_FORWARD, &summary, true);
        self.keep_recovered_counts(counts);
        // Before undo, which may note chains of its own (`leave_chain`).
        *self.drops.lock() =
            doomed.remaining(|xdes| active.get(&xdes).is_some_and(|l| l.decision.is_none()));
        // Ids of the lost end of the log are not given again either: `next_xdes` of the boot page may be behind.
        let floor = self
            .transactions
            .table
            .adopt(max_xdes, Lsn::NULL, Lsn::NULL);
        self.transactions.table.end(floor.xdes);
        debug_assert!(
            active.keys().all(|xdes| *xdes <= max_xdes),
            "recovery/1: a loser's id may be given again"
        );
        debug_assert!(
            active.values().all(|l| l.begin <= l.last),
            "recovery/1: a loser ends before it begins"
        );
        let mut losers: Vec<(XdesId, Loser)> = active.into_iter().collect();
        if let Some(progress) = self.engine.recovery_of(self.id) {
            progress.enter(3, losers.iter().map(|(_, l)| l.bytes).sum());
        }
        // Newest first: a system transaction that began within another goes back before it.
        losers.sort_by_key(|(_, l)| (!l.system, std::cmp::Reverse(l.last)));
        // Room for the undo of all comes before the first: what gives pages back on the way asks for its own.
        let losers: Vec<(Transaction, Loser)> = losers
            .into_iter()
            .map(|(xdes, loser)| {
                // Undo of a half-made split moves rows back: their number does not change (`row_counts`).
                let tx = self.own_transaction(match loser.system {
                    true => UNDO_OF_SYSTEM,
                    false => "recovery",
                });
                self.transactions.adopt(&tx, xdes, loser.begin, loser.last);
                self.transactions.keep(&tx, loser.bytes + loser.bytes / 2);
                (tx, loser)
            })
            .collect();
        let mut system_undo = None;
        for (tx, loser) in losers {
            // Those of the system come first.
            if !loser.system {
                system_undo.get_or_insert_with(|| started.elapsed());
            }
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
        debug_assert!(
            self.transactions.table.len() == self.in_doubt.lock().len(),
            "recovery/2: a loser is left that is not in doubt"
        );
        summary.undo = started.elapsed();
        summary.system_undo = system_undo.unwrap_or(summary.undo);
        self.say_counted(&messages::RECOVERY_ROLLED_BACK, &summary, false);
        // Files that undo has taken out of the list are deleted next: the log must know of it before, and the list.
        self.access.flush(self.access.last_lsn())?;
        self.settle_files()?;
        self.raise_data_marks()?;
        // Behind undo: the rows of units and rowsets are now as they stay. Counts are kept with the units.
        self.load_roots()?;
        self.load_counts()?;
        let closed = match &mut self.boot.lock().own {
            Some(own) => std::mem::replace(&mut own.closed, false),
            None => true,
        };
        if !closed {
            self.doubt_page_counts();
        }
        // Behind `load_counts`: until then what changes is counted with what recovery has read.
        self.store.recovering.store(false, Ordering::SeqCst);
        self.count_all_free()?;
        self.release_leftovers();
        if summary.did_something() {
            self.say_recovery(&messages::RECOVERY_CHECKPOINT, &[&self.name, &self.id.0]);
        }
        // Many pages take their time, and nobody has to wait for them: until the checkpoint is taken, a crash has more
        // log to redo. A boot page that says that the database was closed must not say so any longer.
        let pages = self.engine.pool.dirty_count(self.id);
        let many = pages > self.engine.checkpoint_debt.load(Ordering::SeqCst);
        let later = many && !restored && !self.log_is_fuller_than(70);
        // In a full log it is taken when some of it has been let go of: the next restarts find room, too.
        if !closed && (later || !self.log_lets_in(self.checkpoint_bytes())) {
            self.owes_checkpoint.store(true, Ordering::SeqCst);
        } else {
            // Nothing is truncated yet: databases that are opened later may have to look for decisions in this log.
            let truncate = self.truncate_on_checkpoint.swap(false, Ordering::SeqCst);
            let checkpoint = self.checkpoint_of_recovery();
            self.truncate_on_checkpoint
                .store(truncate, Ordering::SeqCst);
            checkpoint?;
        }
        if summary.did_something() {
            let ms = |d: Duration| d.as_millis();
            let all = (summary.analysis + summary.redo + summary.undo).max(self.recovering_for());
            let regular = summary.undo.saturating_sub(summary.system_undo);
            let args: [&dyn std::fmt::Display; 8] = [
                &self.name,
                &self.id.0,
                &all.as_secs(),
                &ms(summary.analysis),
                &ms(summary.redo),
                &ms(summary.undo),
                &ms(summary.system_undo),
                &ms(regular),
            ];
            self.say_recovery(&messages::RECOVERY_TIMES, &args);
        }
        Ok(summary)
    }

    fn recovering_for(&self) -> Duration {
        let progress = self.engine.recovery_of(self.id);
        progress.map_or(Duration::ZERO, |p| p.took())
    }

    fn say_recovery(&self, message: &messages::Message, args: &[&dyn std::fmt::Display]) {
        self.engine.notice(&SqlError::new(message, args).message);
    }

    /// How many transactions were rolled forward, or back; nothing when there were neither.
    fn say_counted(&self, message: &messages::Message, summary: &RecoverySummary, forward: bool) {
        let count = match forward {
            true => summary.rolled_forward,
            false => summary.rolled_back,
        };
        if summary.did_something() {
            self.say_recovery(message, &[&count, &self.name, &self.id.0, &0]);
        }
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

    /// Whether what is read of the catalog while the database opens may lack rows: those that a transaction in doubt has
    /// deleted. Whoever reads it then takes the ghosts as well; nothing is read again when the transaction is undone.
    pub(crate) fn ghosts_may_come_back(&self) -> bool {
        !self.in_doubt.lock().is_empty()
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

    /// Sizes and boot fields as redo has left them.
    pub(crate) fn after_redo(&self) -> SqlResult<()> {
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
            page.page()
                .sound(duramen_format::boot::Boot::read(page.bytes()))?
        };
        *self.boot.lock() = fresh;
        self.follow_configuration();
        Ok(())
    }
}
