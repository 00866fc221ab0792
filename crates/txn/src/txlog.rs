//! Transactions in the log: the lazy BEGIN, the chain of previous LSNs, COMMIT, ABORT, savepoints, two phases.
//!
//! Invariants, which everything above relies on: the order at a commit
//! 1. whatever the transaction read from or wrote to *other* databases becomes durable;
//!    [test: a_commit_follows_what_it_read_elsewhere]
//! 2. the COMMIT record is appended; [assert: txlog/2]
//! 3. the commit is noted in the database's [`CommitTracker`] (full durability only);
//!    [test: what_was_sent_is_true_after_a_power_loss]
//! 4. where the database says COMMIT_WAIT = STATEMENT, the record is hardened (WRITELOG);
//!    [test: with_statement_nobody_sees_what_a_crash_can_take]
//! 5. its row versions are published; [assert: txlog/5]
//! 6. and only then does it leave the table of active ones: readers may now take its pages for committed without a look
//!    at locks or versions ([`crate::view`]); [assert: view/1]
//! 7. the caller releases the locks. [test: every_planted_bug_is_caught]
//!
//! Otherwise nothing here waits for the COMMIT record itself to become durable (unless a second database must follow
//! it): that is owed to the client, and the packet gate waits for it.
//!
//! Two databases or more: the beginning of the first one's part (the *coordinator*'s) is made durable, then every other
//! participant gets a PREP_XACT, which names it, and is made durable; the COMMIT record in the coordinator's log, made durable, is the decision; then the participants commit, and a
//! FORGET_XACT in the coordinator's log says, once their commits are durable, that nobody will ask again. Recovery
//! keeps a prepared transaction in doubt until it has looked for that COMMIT.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn, SqlResult, XdesId};
use duramen_observe::{DbCounter, DbCounters};
use duramen_os::time::{self, WallTime};
use duramen_wal::record::{Lcx, Lop, RecordBuilder, datetime_from_unix_ns, recycle};

use crate::appender::on_behalf_of;
use crate::commits::CommitTracker;
use crate::durability::{CommitWait, DelayedDurability, Durability, decide};
use crate::lock::LockMark;
use crate::log::RecordLog;
use crate::table::TxnTable;
use crate::transaction::{DbPart, State, Transaction, TxnKind};
use crate::versioning::Versioning;

/// Undo space of a transaction's own end: its COMMIT_XACT or ABORT_XACT and block overhead. What a flush of it alone may
/// cost comes to it for those whose end somebody waits for.
pub const ABORT_RESERVE: u32 = 128;
/// The same of PREP_XACT.
const PREPARE_RESERVE: u32 = 128;

/// The transactions of one database and the log they are written to.
pub struct TransactionLog {
    pub db: DbId,
    pub log: Arc<dyn RecordLog>,
    pub table: TxnTable,
    pub commits: Arc<CommitTracker>,
    counters: DbCounters,
    /// READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION.
    pub versioning: Versioning,
    delayed: AtomicU8,
    commit_wait: AtomicU8,
}

impl fmt::Debug for TransactionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionLog")
            .field("db", &self.db)
            .field("active", &self.table.len())
            .finish_non_exhaustive()
    }
}

/// Where a transaction's commit records are, and what was promised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitLsns {
    /// One for each database that was written; empty for a transaction that only read.
    pub parts: Vec<(DbId, Lsn)>,
    pub durability: Durability,
}

/// Where the decision about a prepared transaction is found: the payload of PREP_XACT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    pub coordinator: DbId,
    pub xdes: XdesId,
    /// The coordinator's BEGIN_XACT: no decision is older.
    pub begin_lsn: Lsn,
}

impl Decision {
    pub fn to_bytes(self) -> [u8; 18] {
        let mut b = [0; 18];
        b[..2].copy_from_slice(&self.coordinator.0.to_le_bytes());
        b[2..8].copy_from_slice(&self.xdes.0.to_le_bytes()[..6]);
        b[8..].copy_from_slice(&self.begin_lsn.to_bytes());
        b
    }

    pub fn from_bytes(b: &[u8]) -> Option<Decision> {
        let b = b.get(..18)?;
        let mut xdes = [0; 8];
        xdes[..6].copy_from_slice(&b[2..8]);
        Some(Decision {
            coordinator: DbId(u16::from_le_bytes([b[0], b[1]])),
            xdes: XdesId(u64::from_le_bytes(xdes)),
            begin_lsn: Lsn::from_bytes(&b[8..])?,
        })
    }
}

fn now() -> [u8; 8] {
    datetime(time::wall())
}

fn datetime(at: WallTime) -> [u8; 8] {
    datetime_from_unix_ns(u64::try_from(at.unix_nanos()).unwrap_or(0))
}

/// When a transaction that writes its first record began: one that nobody began by name has existed for an instant.
fn began(tx: &Transaction) -> [u8; 8] {
    match tx.kind {
        TxnKind::Autocommit => datetime(tx.started),
        _ => now(),
    }
}

/// Puts the transaction's fields into a record that was built without them.
fn stamp(record: &mut [u8], prev: Lsn, xdes: XdesId) {
    if let Some(field) = record.get_mut(4..14) {
        field.copy_from_slice(&prev.to_bytes());
    }
    if let Some(field) = record.get_mut(16..22) {
        field.copy_from_slice(&xdes.0.to_le_bytes()[..6]);
    }
}

impl TransactionLog {
    /// `next_xdes` must be above every transaction id in the log, `durable` is the log's end.
    pub fn new(db: DbId, log: Arc<dyn RecordLog>, next_xdes: XdesId) -> Arc<TransactionLog> {
        let durable = log.durable_lsn();
        Arc::new(TransactionLog {
            db,
            log,
            table: TxnTable::new(next_xdes),
            commits: Arc::new(CommitTracker::new(db, durable)),
            counters: DbCounters::of(db),
            versioning: Versioning::default(),
            delayed: AtomicU8::new(DelayedDurability::Disabled as u8),
            commit_wait: AtomicU8::new(CommitWait::Packet as u8),
        })
    }

    pub fn set_delayed_durability(&self, setting: DelayedDurability) {
        self.delayed.store(setting as u8, Ordering::Relaxed);
    }

    pub fn delayed_durability(&self) -> DelayedDurability {
        match self.delayed.load(Ordering::Relaxed) {
            1 => DelayedDurability::Allowed,
            2 => DelayedDurability::Forced,
            _ => DelayedDurability::Disabled,
        }
    }

    pub fn set_commit_wait(&self, setting: CommitWait) {
        self.commit_wait.store(setting as u8, Ordering::Relaxed);
    }

    pub fn commit_wait(&self) -> CommitWait {
        match self.commit_wait.load(Ordering::Relaxed) {
            1 => CommitWait::Statement,
            _ => CommitWait::Packet,
        }
    }

    fn part<'s>(
        self: &Arc<Self>,
        tx: &Transaction,
        state: &'s mut State,
    ) -> SqlResult<&'s mut DbPart> {
        if let Some(at) = state.parts.iter().position(|p| p.db == self.db) {
            return Ok(&mut state.parts[at]);
        }
        let again = self.room_for_two_phases(state)?;
        let active = self.table.begin(self.log.last_lsn());
        let sid = tx.sid.as_deref().unwrap_or_default();
        let record = RecordBuilder::begin_xact(active.xdes, tx.spid().0, began(tx), &tx.name, sid);
        let flush = match tx.kind {
            TxnKind::System => 0,
            _ => self.log.flush_bytes(),
        };
        let reserve = match tx.unreserved {
            true => 0,
            false => ABORT_RESERVE + flush + again,
        };
        let lsn = match on_behalf_of(tx, || self.log.append(&record, reserve)) {
            Ok(lsn) => lsn,
            Err(error) => {
                self.table.end(active.xdes);
                return Err(error);
            }
        };
        debug_assert!(!lsn.is_null(), "BEGIN_XACT has a place in the log");
        debug_assert!(
            self.table.oldest_lsn().is_none_or(|oldest| oldest <= lsn),
            "a transaction is in the table before its BEGIN_XACT is in the log"
        );
        active.began(lsn);
        let bytes = record.len() as u64;
        recycle(record);
        // Those that only read have no record here; SQL Server does not count single SELECTs either.
        self.counters.count(DbCounter::Transactions, 1);
        tx.owner.add_log_used(bytes);
        state.parts.push(DbPart {
            db: self.db,
            xdes: active.xdes,
            begin_lsn: lsn,
            last_lsn: lsn,
            spid: tx.spid(),
            reserved: u64::from(reserve),
            records: 1,
            bytes,
            log: Arc::clone(self),
            active,
        });
        self.note_begun(tx);
        Ok(state.parts.last_mut().expect("just pushed"))
    }

    /// It has a part here.
    fn note_begun(&self, tx: &Transaction) {
        // Whoever finds it here finds the transaction in the table, too.
        tx.begun.store(self.code(), Ordering::Release);
        if self.commit_wait() == CommitWait::Statement {
            tx.waits.store(true, Ordering::Relaxed);
        }
    }

    /// This database in `Transaction::begun`.
    fn code(&self) -> u32 {
        u32::from(self.db.0) + 1
    }

    /// A second database that survives a restart makes a transaction one of two phases. The coordinator's beginning is
    /// flushed then, and every participant's PREP_XACT: what that needs here, after it was set aside there.
    fn room_for_two_phases(&self, state: &mut State) -> SqlResult<u32> {
        if self.db == DbId::TEMPDB {
            return Ok(0);
        }
        let lasting = |p: &&mut DbPart| p.db != DbId::TEMPDB;
        let mut others = state.parts.iter_mut().filter(lasting);
        let Some(first) = others.next() else {
            return Ok(0);
        };
        if others.next().is_none() {
            let bytes = u64::from(first.log.log.flush_bytes());
            first.log.log.reserve(bytes)?;
            first.reserved += bytes;
        }
        Ok(PREPARE_RESERVE + self.log.flush_bytes())
    }

    /// Sets aside, without asking, what the end of an adopted transaction needs.
    pub fn keep(&self, tx: &Transaction, bytes: u64) {
        let mut state = tx.state.lock();
        if let Some(part) = state.parts.iter_mut().find(|p| p.db == self.db) {
            let bytes = bytes + u64::from(ABORT_RESERVE + self.log.flush_bytes());
            self.log.hold(bytes);
            part.reserved += bytes;
        }
    }

    /// Makes sure that the transaction is in the table of active ones, and its BEGIN_XACT in the log.
    #[inline]
    pub fn ensure_begun(self: &Arc<Self>, tx: &Transaction) -> SqlResult<()> {
        if tx.begun.load(Ordering::Acquire) == self.code() {
            return Ok(());
        }
        self.begin_if_needed(tx).map(|_| ())
    }

    /// The same; gives the transaction's id and last LSN here.
    pub fn begin_if_needed(self: &Arc<Self>, tx: &Transaction) -> SqlResult<(XdesId, Lsn)> {
        let mut state = tx.state.lock();
        let part = self.part(tx, &mut state)?;
        Ok((part.xdes, part.last_lsn))
    }

    /// Appends a record of `tx`: begins the transaction here if this is its first, fills in the previous LSN and the
    /// transaction id, and keeps the chain. `undo_reserve` is what its compensation record will need.
    pub fn append(
        self: &Arc<Self>,
        tx: &Transaction,
        record: &mut [u8],
        undo_reserve: u32,
    ) -> SqlResult<Lsn> {
        let undo_reserve = if tx.unreserved { 0 } else { undo_reserve };
        let mut state = tx.state.lock();
        let part = self.part(tx, &mut state)?;
        debug_assert!(
            part.db == self.db,
            "a record goes to the log of its own database"
        );
        debug_assert!(
            part.begin_lsn <= part.last_lsn,
            "a transaction's last record is not before its first"
        );
        stamp(record, part.last_lsn, part.xdes);
        let lsn = on_behalf_of(tx, || match tx.unreserved {
            true => self.log.append(record, 0),
            false => self.log.append_asking(record, undo_reserve),
        })?;
        note(tx, part, lsn, record.len(), undo_reserve);
        Ok(lsn)
    }

    /// Appends a compensation record. Its previous LSN is `undo_next`, the record that undo goes on with, so that a
    /// repeated undo skips what is undone. `undone` is the reserve given when the undone record was appended.
    pub fn append_compensation(
        self: &Arc<Self>,
        tx: &Transaction,
        record: &mut [u8],
        undo_next: Lsn,
        undone: u32,
    ) -> SqlResult<Lsn> {
        let mut state = tx.state.lock();
        let part = self.part(tx, &mut state)?;
        // The record itself, where it is undone by several compensations.
        debug_assert!(
            undo_next <= part.last_lsn,
            "undo goes on at {undo_next}, which is behind {}",
            part.last_lsn
        );
        debug_assert!(
            undo_next >= part.begin_lsn || part.records == 0 || undo_next.is_null(),
            "undo goes on before its transaction has begun"
        );
        let undo_next = match planted::on(Bug::UndoNextForgotten) {
            true => part.last_lsn,
            false => undo_next,
        };
        stamp(record, undo_next, part.xdes);
        let lsn = on_behalf_of(tx, || self.log.append(record, 0))?;
        // Not before: somebody else would take it.
        let given = part.reserved.min(undone as u64);
        part.reserved -= given;
        self.log.release_reserve(given);
        note(tx, part, lsn, record.len(), 0);
        Ok(lsn)
    }

    /// Enters a loser that recovery has found, so that its undo can append here.
    pub fn adopt(self: &Arc<Self>, tx: &Transaction, xdes: XdesId, begin: Lsn, last: Lsn) {
        debug_assert!(begin <= last, "a loser ends before it begins");
        tx.drops_pages();
        let active = self.table.adopt(xdes, begin, last);
        self.note_begun(tx);
        tx.state.lock().parts.push(DbPart {
            db: self.db,
            xdes,
            begin_lsn: begin,
            last_lsn: last,
            spid: tx.spid(),
            reserved: 0,
            records: 0,
            bytes: 0,
            log: Arc::clone(self),
            active,
        });
    }

    fn append_commit(
        &self,
        tx: &Transaction,
        part: &DbPart,
        durability: Durability,
    ) -> SqlResult<Lsn> {
        let record = match tx.mark() {
            None => RecordBuilder::commit_xact(part.xdes, part.begin_lsn, now()),
            Some((name, description)) => {
                let mark = (name.as_str(), description.as_str());
                RecordBuilder::marked_commit_xact(part.xdes, part.begin_lsn, now(), mark)
            }
        };
        let lsn = on_behalf_of(tx, || self.log.append(&record, 0))?;
        debug_assert!(
            part.last_lsn < lsn,
            "a commit comes after all that it commits"
        );
        recycle(record);
        if durability == Durability::Full {
            self.commits.note(lsn);
        }
        self.log.release_reserve(part.reserved);
        Ok(lsn)
    }

    /// Before a commit at `lsn` ends its transaction: hardens it where that is asked for. An error
    /// (9001) is final: whether the commit is on disk is known after the restart. The transaction stays listed then, so
    /// that nobody reads it as committed.
    fn harden(&self, lsn: Lsn, durability: Durability) -> SqlResult<()> {
        match (durability, self.commit_wait()) {
            (Durability::Full, CommitWait::Statement) => self.log.flush(lsn),
            (Durability::Full, CommitWait::Packet) if self.log.is_short() => {
                self.log.request_flush(lsn);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn append_prepare(
        &self,
        tx: &Transaction,
        part: &mut DbPart,
        decision: Decision,
    ) -> SqlResult<Lsn> {
        let record = RecordBuilder::prep_xact(
            part.xdes,
            part.last_lsn,
            part.begin_lsn,
            &decision.to_bytes(),
        );
        let lsn = on_behalf_of(tx, || self.log.append(&record, 0))?;
        note(tx, part, lsn, record.len(), 0);
        part.active.prepared();
        Ok(lsn)
    }

    fn append_forget(&self, part: &DbPart) -> SqlResult<Lsn> {
        let record = RecordBuilder::new(Lop::FORGET_XACT, Lcx::NULL)
            .xdes(part.xdes)
            .prev_lsn(part.begin_lsn)
            .finish(&[]);
        self.log.append_asking(&record, 0)
    }
}

fn note(tx: &Transaction, part: &mut DbPart, lsn: Lsn, bytes: usize, reserve: u32) {
    debug_assert!(
        part.last_lsn < lsn,
        "a transaction's records ascend in the log"
    );
    debug_assert!(bytes >= 24, "a record has a header");
    part.last_lsn = lsn;
    part.records += 1;
    part.bytes += bytes as u64;
    part.reserved += reserve as u64;
    part.active.logged(lsn);
    tx.owner.add_log_used(bytes as u64);
}

/// SAVE TRAN: a MARK_SAVEPOINT record in every database written so far, and the point to come back to.
pub fn save(tx: &Transaction, name: &str, locks: LockMark) -> SqlResult<()> {
    {
        let mut state = tx.state.lock();
        for part in &mut state.parts {
            let record = RecordBuilder::savepoint(part.xdes, part.last_lsn, name);
            let lsn = on_behalf_of(tx, || part.log.log.append_asking(&record, 0))?;
            note(tx, part, lsn, record.len(), 0);
        }
    }
    tx.push_savepoint(name, locks);
    Ok(())
}

/// Appends the commit records of every part. `option` is the DELAYED_DURABILITY option of COMMIT. On success the
/// transaction has no parts left; the caller then releases locks and owes the client durability up to the LSNs given.
/// An error before the decision leaves the transaction to be rolled back; one after it (9001, a log has failed) leaves it
/// without parts.
pub fn commit(tx: &Transaction, option: Option<bool>) -> SqlResult<CommitLsns> {
    let mut state = tx.state.lock();
    if state.parts.is_empty() {
        clear(&mut state);
        return Ok(CommitLsns {
            parts: Vec::new(),
            durability: Durability::Full,
        });
    }
    for read in &state.reads {
        let other = state.parts.len() > 1 || state.parts[0].db != read.db;
        if other && read.db != DbId::TEMPDB {
            let lsn = read.commits.last_full();
            if read.log.durable_lsn() < lsn {
                read.log.flush(lsn)?;
            }
        }
    }
    // tempdb dies with the process: it takes no part in a decision.
    let durable_parts = state.parts.iter().filter(|p| p.db != DbId::TEMPDB).count();
    let setting = state.parts[0].log.delayed_durability();
    // Nobody is told of a system transaction: whoever depends on its work depends on a later commit as well.
    let durability = match tx.kind {
        TxnKind::System => Durability::Delayed,
        _ => decide(setting, option, durable_parts > 1),
    };
    let mut lsns = Vec::with_capacity(state.parts.len());
    if durable_parts > 1 && !planted::on(Bug::DecisionSkipped) {
        commit_two_phase(tx, &mut state, &mut lsns)?;
    } else {
        // The one that survives a restart first: when it is refused, the whole is rolled back; after it nothing is.
        let lasting = state.parts.iter().filter(|p| p.db != DbId::TEMPDB);
        let temporary = state.parts.iter().filter(|p| p.db == DbId::TEMPDB);
        for part in lasting.chain(temporary) {
            match part.log.append_commit(tx, part, durability) {
                Ok(lsn) => lsns.push((part.db, lsn)),
                Err(error) if lsns.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
    }
    debug_assert!(
        !lsns.is_empty(),
        "txlog/2: a transaction that has written commits nowhere"
    );
    debug_assert!(
        lsns.iter()
            .all(|(db, _)| state.parts.iter().any(|p| p.db == *db)),
        "a commit record in a database without a part"
    );
    debug_assert!(
        durability == Durability::Full || durable_parts <= 1 || tx.kind == TxnKind::System,
        "what two databases decide is durable"
    );
    tx.begun.store(0, Ordering::Relaxed);
    let parts = std::mem::take(&mut state.parts);
    let mut hardened = Ok(());
    let mut unknown = Vec::new();
    for part in &parts {
        tx.owner.sub_log_used(part.bytes);
        let result = match lsns.iter().find(|(db, _)| *db == part.db) {
            Some((_, lsn)) => part.log.harden(*lsn, durability),
            None => {
                unknown.push(part.db);
                continue;
            }
        };
        if let Err(e) = result {
            unknown.push(part.db);
            hardened = hardened.and(Err(e));
        }
    }
    // Whether it is on disk is known after the restart: until then nobody sees it, and its versions stay.
    if let Some(writer) = state.writer.take()
        && hardened.is_ok()
    {
        debug_assert!(
            parts.iter().all(|p| p.log.table.is_active(p.xdes)),
            "txlog/5: versions are published of one that is not active any more"
        );
        writer.commit();
    }
    for part in parts.iter().filter(|p| !unknown.contains(&p.db)) {
        part.log.table.end(part.xdes);
        part.log.counters.count(DbCounter::WriteTransactions, 1);
    }
    clear(&mut state);
    hardened?;
    Ok(CommitLsns {
        parts: lsns,
        durability,
    })
}

fn commit_two_phase(
    tx: &Transaction,
    state: &mut State,
    lsns: &mut Vec<(DbId, Lsn)>,
) -> SqlResult<()> {
    debug_assert!(
        state.parts.iter().filter(|p| p.db != DbId::TEMPDB).count() > 1,
        "two phases are for two databases"
    );
    // The coordinator is the first database written that survives a restart.
    let first = state
        .parts
        .iter()
        .position(|p| p.db != DbId::TEMPDB)
        .unwrap_or(0);
    let decision = Decision {
        coordinator: state.parts[first].db,
        xdes: state.parts[first].xdes,
        begin_lsn: state.parts[first].begin_lsn,
    };
    // Whoever is found prepared asks for this transaction by its id and its beginning. A coordinator whose log was lost from
    // before that beginning gives both to others.
    state.parts[first].log.log.flush(decision.begin_lsn)?;
    let participant = |p: &DbPart| p.db != decision.coordinator && p.db != DbId::TEMPDB;
    let mut prepared = Vec::new();
    for part in state.parts.iter_mut().filter(|p| participant(p)) {
        let log = Arc::clone(&part.log);
        prepared.push((Arc::clone(&log), log.append_prepare(tx, part, decision)?));
    }
    for (log, lsn) in &prepared {
        log.log.request_flush(*lsn);
    }
    for (log, lsn) in &prepared {
        if !planted::on(Bug::DecisionBeforePrepared) {
            log.log.flush(*lsn)?;
        }
    }
    let coordinator = &state.parts[first];
    let decided = coordinator
        .log
        .append_commit(tx, coordinator, Durability::Full)?;
    if let Err(error) = coordinator.log.log.flush(decided) {
        // Whether the decision is on disk is known only after the restart: nobody may roll the participants back now,
        // or see what they did. They stay in their tables, in doubt, with their versions and (`is_in_doubt` tells the caller)
        // with their locks.
        state.in_doubt = true;
        tx.begun.store(0, Ordering::Relaxed);
        state.parts.clear();
        state.writer = None;
        return Err(error);
    }
    lsns.push((coordinator.db, decided));
    for part in state.parts.iter().filter(|p| p.db != decision.coordinator) {
        // A participant whose log fails now is decided all the same: its recovery asks the coordinator.
        if let Ok(lsn) = part.log.append_commit(tx, part, Durability::Full) {
            lsns.push((part.db, lsn));
        }
    }
    Ok(())
}

/// After the commits of all participants are durable: lets the coordinator forget. `parts` are the parts before the
/// commit. Left out after a crash it costs a look-up, never correctness.
pub fn forget(coordinator: &DbPart) -> SqlResult<Lsn> {
    coordinator.log.append_forget(coordinator)
}

/// The end of a rollback, after every change is undone: ABORT_XACT in each part. A log that has failed gets none;
/// its recovery rolls back again. The caller releases the locks.
pub fn abort(tx: &Transaction) -> Vec<(DbId, Lsn)> {
    let mut state = tx.state.lock();
    let mut lsns = Vec::new();
    for part in &state.parts {
        let log = &part.log;
        let record = RecordBuilder::abort_xact(part.xdes, part.begin_lsn, now());
        if let Ok(lsn) = on_behalf_of(tx, || log.log.append(&record, 0)) {
            lsns.push((part.db, lsn));
        }
        log.log.release_reserve(part.reserved);
    }
    // As at a commit: first what readers see, then the table.
    if let Some(writer) = state.writer.take() {
        writer.abort();
    }
    tx.begun.store(0, Ordering::Relaxed);
    for part in std::mem::take(&mut state.parts) {
        part.log.table.end(part.xdes);
        tx.owner.sub_log_used(part.bytes);
    }
    clear(&mut state);
    lsns
}

/// What is left of a transaction that has ended.
fn clear(state: &mut State) {
    debug_assert!(
        state.parts.is_empty(),
        "a transaction that has ended has parts"
    );
    debug_assert!(
        state.writer.is_none(),
        "versions/3: a transaction ends and its versions do not"
    );
    state.view = None;
    state.statement_locks.clear();
    state.savepoints.clear();
    state.reads.clear();
}

/// A database was shut down with what `tx` did in it, which its recovery undoes: its log gets no record, and nothing of it
/// is let go of.
pub fn lose(tx: &Transaction, db: DbId) {
    let mut state = tx.state.lock();
    let bytes: u64 = state
        .parts
        .iter()
        .filter(|p| p.db == db)
        .map(|p| p.bytes)
        .sum();
    state.parts.retain(|p| p.db != db);
    tx.begun.store(0, Ordering::Relaxed);
    tx.owner.sub_log_used(bytes);
}

#[cfg(test)]
mod tests;
