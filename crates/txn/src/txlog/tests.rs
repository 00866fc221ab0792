//! The records of a transaction as the log sees them: order, chain, undo space, and who was made durable before whom.

use std::sync::Arc;

use duramen_base::{DbId, Lsn, RowsetId, SessionId, XdesId};
use duramen_wal::record::{Lcx, Lop, RecordBuilder, RecordView};

use super::{Decision, TransactionLog, abort, commit, forget, save};
use crate::durability::{DelayedDurability, Durability};
use crate::lock::{Entity, LockDuration, LockError, LockManager, LockMark, LockMode, Resource};
use crate::testing::MemoryLog;
use crate::transaction::{IsolationLevel, Transaction, TxnKind, XactState};

struct World {
    locks: LockManager,
    logs: Vec<Arc<MemoryLog>>,
    dbs: Vec<Arc<TransactionLog>>,
}

fn world(ids: &[u16]) -> World {
    let logs: Vec<_> = ids.iter().map(|_| Arc::new(MemoryLog::default())).collect();
    let dbs = ids
        .iter()
        .zip(&logs)
        .map(|(&id, log)| TransactionLog::new(DbId(id), Arc::clone(log) as _, XdesId(700)))
        .collect();
    World {
        locks: LockManager::new(),
        logs,
        dbs,
    }
}

impl World {
    fn begin(&self, kind: TxnKind, name: &'static str) -> Transaction {
        let owner = self.locks.owner(SessionId(51));
        Transaction::new(&owner, kind, name, IsolationLevel::ReadCommitted)
    }

    fn ops(&self, log: usize) -> Vec<Lop> {
        let records = self.logs[log].records();
        records
            .iter()
            .map(|r| RecordView::parse(r).expect("a record").op())
            .collect()
    }
}

fn row() -> Vec<u8> {
    RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP).finish(&[b"row", b"", b""])
}

#[test]
fn reading_leaves_no_trace() {
    let w = world(&[5]);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    tx.note_read(&w.dbs[0]);
    let done = commit(&tx, None).expect("commit");
    assert!(done.parts.is_empty());
    assert!(w.logs[0].records().is_empty());
}

#[test]
fn begin_comes_with_the_first_change_and_the_chain_holds() {
    let w = world(&[5]);
    let owner = w.locks.owner(SessionId(51));
    let (kind, level) = (TxnKind::Autocommit, IsolationLevel::ReadCommitted);
    let tx = Transaction::of(&owner, kind, "INSERT", level, Some(&Arc::from([1; 28])));
    let first = w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    let second = w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    assert_eq!((first.block, second.block), (2, 3));
    assert_eq!(w.dbs[0].table.oldest_lsn(), Some(Lsn::new(1, 1, 1)));
    assert_eq!(w.dbs[0].table.active()[0].last_lsn, second);
    let done = commit(&tx, None).expect("commit");
    assert_eq!(done.parts, [(DbId(5), Lsn::new(1, 4, 1))]);
    assert_eq!(done.durability, Durability::Full);
    assert_eq!(w.dbs[0].commits.last_full(), Lsn::new(1, 4, 1));
    assert!(w.dbs[0].table.is_empty());
    assert_eq!(w.logs[0].reserved(), 0);
    assert_eq!(w.logs[0].flushes(), 0, "nobody waits at commit");

    let records = w.logs[0].records();
    let views: Vec<_> = records
        .iter()
        .map(|r| RecordView::parse(r).expect("a record"))
        .collect();
    assert_eq!(
        w.ops(0),
        [
            Lop::BEGIN_XACT,
            Lop::INSERT_ROWS,
            Lop::INSERT_ROWS,
            Lop::COMMIT_XACT
        ]
    );
    assert_eq!((views[0].length(), views[3].length()), (124, 84));
    assert!(views.iter().all(|v| v.xdes() == XdesId(700)));
    assert_eq!(views[1].prev_lsn(), Lsn::new(1, 1, 1));
    assert_eq!(views[2].prev_lsn(), first);
    assert_eq!(views[3].begin_lsn(), Some(Lsn::new(1, 1, 1)));
}

#[test]
fn a_rollback_compensates_and_ends_with_abort() {
    let w = world(&[5]);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    let first = w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    save(&tx, "half", LockMark::default()).expect("save");
    let point = tx.savepoint("half").expect("there");
    let second = w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    assert_eq!(point.lsn(DbId(5)), Lsn::new(1, 3, 1));
    assert!(second > point.lsn(DbId(5)));
    save(&tx, "later", LockMark::default()).expect("save");

    let mut undo = row();
    w.dbs[0]
        .append_compensation(&tx, &mut undo, point.lsn(DbId(5)), 100)
        .expect("compensation");
    tx.rolled_back_to(&point);
    assert!(tx.savepoint("half").is_some() && tx.savepoint("later").is_none());

    w.dbs[0]
        .append_compensation(&tx, &mut row(), Lsn::new(1, 1, 1), 100)
        .expect("compensation");
    let ended = abort(&tx);
    assert_eq!(ended.len(), 1);
    assert_eq!(w.logs[0].reserved(), 0);
    assert!(w.dbs[0].table.is_empty());
    let records = w.logs[0].records();
    let views: Vec<_> = records
        .iter()
        .map(|r| RecordView::parse(r).expect("a record"))
        .collect();
    assert_eq!(views[5].prev_lsn(), point.lsn(DbId(5)));
    assert_eq!(views[7].op(), Lop::ABORT_XACT);
    assert_eq!(w.dbs[0].commits.last_full(), Lsn::NULL);
    let _ = first;
}

#[test]
fn delayed_commits_do_not_raise_what_readers_depend_on() {
    let w = world(&[5]);
    w.dbs[0].set_delayed_durability(DelayedDurability::Allowed);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    let done = commit(&tx, Some(true)).expect("commit");
    assert_eq!(done.durability, Durability::Delayed);
    assert_eq!(w.dbs[0].commits.last_full(), Lsn::NULL);
}

#[test]
fn a_commit_follows_what_it_read_elsewhere() {
    let w = world(&[5, 6]);
    let other = w.begin(TxnKind::Autocommit, "INSERT");
    w.dbs[1].append(&other, &mut row(), 100).expect("append");
    let seen = commit(&other, None).expect("commit").parts[0].1;
    let tx = w.begin(TxnKind::Autocommit, "INSERT");
    tx.note_read(&w.dbs[1]);
    w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    assert!(w.dbs[1].log.durable_lsn() < seen);
    commit(&tx, None).expect("commit");
    assert!(w.dbs[1].log.durable_lsn() >= seen);
    assert_eq!(w.logs[0].flushes(), 0);
}

#[test]
fn two_databases_commit_in_two_phases() {
    let w = world(&[5, 6, 2]);
    w.dbs[0].set_delayed_durability(DelayedDurability::Forced);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    for db in &w.dbs {
        db.append(&tx, &mut row(), 100).expect("append");
    }
    let coordinator = tx.part(DbId(5)).expect("a part");
    let done = commit(&tx, Some(true)).expect("commit");
    assert_eq!(done.durability, Durability::Full);
    assert_eq!(done.parts.len(), 3);
    let work = [Lop::BEGIN_XACT, Lop::INSERT_ROWS];
    assert_eq!(w.ops(0), [&work[..], &[Lop::COMMIT_XACT]].concat());
    assert_eq!(
        w.ops(1),
        [&work[..], &[Lop::PREP_XACT, Lop::COMMIT_XACT]].concat()
    );
    assert_eq!(w.ops(2), [&work[..], &[Lop::COMMIT_XACT]].concat());
    // Prepared and durable there, then decided and durable here.
    assert_eq!(w.dbs[1].log.durable_lsn(), Lsn::new(1, 3, 1));
    assert_eq!(w.dbs[0].log.durable_lsn(), Lsn::new(1, 3, 1));
    forget(&coordinator).expect("forget");
    assert_eq!(w.ops(0).last(), Some(&Lop::FORGET_XACT));
    assert!(w.dbs.iter().all(|db| db.table.is_empty()));
    assert!(w.logs.iter().all(|log| log.reserved() == 0));
}

#[test]
fn a_participant_that_cannot_prepare_stops_the_commit() {
    let w = world(&[5, 6]);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    for db in &w.dbs {
        db.append(&tx, &mut row(), 100).expect("append");
    }
    w.logs[1].break_down();
    assert_eq!(commit(&tx, None).expect_err("broken").number, 9001);
    assert!(!w.ops(0).contains(&Lop::COMMIT_XACT));
    assert_eq!(abort(&tx).len(), 1);
    assert_eq!(w.ops(0).last(), Some(&Lop::ABORT_XACT));
}

#[test]
fn a_decision_in_doubt_keeps_the_participants_locked() {
    let w = world(&[5, 6]);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    for db in &w.dbs {
        db.append(&tx, &mut row(), 100).expect("append");
    }
    let key = Resource::Key(DbId(6), RowsetId(1), 0);
    let taken = w.locks.try_lock_in(
        &tx.owner,
        &Entity::default(),
        &key,
        LockMode::X,
        LockDuration::Normal,
    );
    assert!(taken.is_some());
    // Its beginning is durable, its end will not be.
    w.dbs[0].log.flush(w.dbs[0].log.last_lsn()).expect("flush");
    w.logs[0].break_flushes();
    let error = commit(&tx, None).expect_err("broken");
    assert_eq!(error.number, 9001);
    assert!(tx.is_in_doubt());
    // The engine does this with it.
    w.locks.keep_for_ever(&tx.owner, &error);
    assert!(w.ops(0).contains(&Lop::COMMIT_XACT));
    // What the session does with a commit that failed, and then with itself.
    assert!(abort(&tx).is_empty());
    w.locks.release_all(&tx.owner);
    w.locks.release_session(&tx.owner);
    assert!(!w.dbs[1].table.is_empty(), "in doubt");
    let other = w.locks.owner(SessionId(52));
    let theirs = w.locks.try_lock_in(
        &other,
        &Entity::default(),
        &key,
        LockMode::S,
        LockDuration::Normal,
    );
    assert!(theirs.is_none(), "nobody reads what may be undone");
    let waits = w
        .locks
        .lock(&other, &key, LockMode::S, LockDuration::Normal, None);
    let why = Box::new(error);
    assert_eq!(waits, Err(LockError::Kept(why)), "nobody waits for it");
}

#[test]
fn a_log_that_refuses_the_begin_leaves_no_active_transaction() {
    let w = world(&[5]);
    w.logs[0].break_down();
    let tx = w.begin(TxnKind::Autocommit, "INSERT");
    assert!(w.dbs[0].append(&tx, &mut row(), 100).is_err());
    assert!(w.dbs[0].table.is_empty());
    assert!(!tx.has_written());
}

#[test]
fn the_decision_survives_its_bytes() {
    let decision = Decision {
        coordinator: DbId(7),
        xdes: XdesId(0x0000_1234_5678_9abc),
        begin_lsn: Lsn::new(43, 16, 1),
    };
    assert_eq!(Decision::from_bytes(&decision.to_bytes()), Some(decision));
    assert_eq!(Decision::from_bytes(&[0; 17]), None);
}

#[test]
fn nesting_and_state() {
    let w = world(&[]);
    let tx = w.begin(TxnKind::Explicit, "user_transaction");
    assert_eq!((tx.nesting(), tx.xact_state()), (1, XactState::Active));
    assert_eq!(tx.enter(), 2);
    assert!(!tx.leave());
    tx.doom();
    assert_eq!(tx.xact_state(), XactState::Doomed);
    assert!(tx.leave());
    let auto = w.begin(TxnKind::Autocommit, "INSERT");
    assert_eq!((auto.nesting(), auto.xact_state()), (0, XactState::None));
    tx.set_lock_timeout(0);
    assert_eq!(tx.lock_timeout(), Some(std::time::Duration::ZERO));
    tx.set_lock_timeout(-1);
    assert_eq!(tx.lock_timeout(), None);
}

#[test]
fn a_system_transaction_is_nobodys_dependency_and_leaves_the_outer_account_alone() {
    let w = world(&[5]);
    let tx = w.begin(TxnKind::Autocommit, "INSERT");
    w.dbs[0].append(&tx, &mut row(), 100).expect("append");
    let used = tx.owner.log_used();
    assert!(used > 0);
    let split = tx.system("SplitPage");
    w.dbs[0].append(&split, &mut row(), 100).expect("append");
    assert!(tx.owner.log_used() > used);
    assert_ne!(
        split.part(DbId(5)).map(|p| p.xdes),
        tx.part(DbId(5)).map(|p| p.xdes)
    );
    let done = commit(&split, None).expect("commit");
    assert_eq!(done.durability, Durability::Delayed);
    assert_eq!(w.dbs[0].commits.last_full(), Lsn::NULL);
    assert_eq!(tx.owner.log_used(), used);
    commit(&tx, None).expect("commit");
    assert_eq!(tx.owner.log_used(), 0);
    assert!(!w.dbs[0].commits.last_full().is_null());
}
