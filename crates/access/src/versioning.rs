//! READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION: how a read finds its level. How they are switched is ALTER DATABASE's
//! affair.

use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_query::{LockGrain, LockIntent, ScanLock};
use duramen_storage::{Database, Grain, LockHint, Reading};
use duramen_txn::{IsolationLevel, ReadView, SnapshotState, Transaction};

use crate::database_options::option;

/// A database is opened with these options: nothing is running in it.
pub fn admit(db: &Database, options: u64) {
    let versioning = &db.transactions.versioning;
    let always = matches!(db.id, DbId::MASTER | DbId::MSDB);
    versioning.set_read_committed(options & option::READ_COMMITTED_SNAPSHOT != 0);
    versioning.set_snapshot_state(if always || options & option::ALLOW_SNAPSHOT != 0 {
        SnapshotState::On
    } else {
        SnapshotState::Off
    });
    versioning.set_since(db.engine.versions.now());
}

/// The view of a SNAPSHOT transaction that touches `db`; `None` in tempdb, whose tables are the session's own.
pub(crate) fn snapshot(db: &Database, tx: &Transaction) -> SqlResult<Option<ReadView>> {
    let started = tx.start_as();
    if !db.can_version() {
        return Ok(None);
    }
    let versioning = &db.transactions.versioning;
    let fail = |message| Err(SqlError::new(message, &[&db.name]));
    match versioning.snapshot_state() {
        SnapshotState::On => {}
        SnapshotState::ToOff if tx.view().is_some() => {}
        SnapshotState::ToOn => return fail(&messages::SNAPSHOT_PENDING),
        SnapshotState::Off | SnapshotState::ToOff => return fail(&messages::SNAPSHOT_NOT_ALLOWED),
    }
    if started != IsolationLevel::Snapshot {
        return fail(&messages::SNAPSHOT_NOT_STARTED);
    }
    let view = tx.view_or(|| ReadView::now(&db.engine.versions, &db.transactions));
    if view.snapshot().number() < versioning.since() {
        return fail(&messages::SNAPSHOT_TOO_OLD);
    }
    Ok(Some(view))
}

/// How a scan reads, from its hints, its transaction's level and the database's options. `statement` gives the view of
/// the running statement.
pub(crate) fn reading(
    db: &Database,
    tx: &Transaction,
    lock: ScanLock,
    statement: impl FnOnce() -> ReadView,
) -> SqlResult<Reading> {
    tx.start_as();
    let mut level = lock.level.unwrap_or(tx.isolation());
    let reads = matches!(lock.intent, LockIntent::Read | LockIntent::Change);
    let mut view = None;
    if level == IsolationLevel::Snapshot {
        let seen = snapshot(db, tx)?;
        if reads && lock.grain != LockGrain::Table {
            view = seen;
        }
        // What is locked all the same is locked as a reader of committed rows does.
        level = IsolationLevel::ReadCommitted;
    } else if level == IsolationLevel::ReadCommitted
        && lock.intent == LockIntent::Read
        && lock.grain != LockGrain::Table
        && !lock.unversioned
        && db.can_version()
        && db.transactions.versioning.read_committed()
    {
        view = Some(statement());
    }
    let locks_committed = matches!(
        level,
        IsolationLevel::ReadCommitted | IsolationLevel::RepeatableRead
    );
    if lock.skip_locked && (view.is_some() || !locks_committed) {
        return Err(SqlError::new(&messages::READPAST_LEVEL, &[]));
    }
    let hint = match lock.intent {
        _ if view.is_some() => LockHint::Read,
        LockIntent::Read => LockHint::Read,
        LockIntent::Change | LockIntent::Update => LockHint::Update,
        LockIntent::Exclusive => LockHint::Exclusive,
    };
    Ok(Reading {
        lock: hint,
        level: Some(level),
        grain: match lock.grain {
            LockGrain::Row => Grain::Row,
            LockGrain::Table => Grain::Table,
        },
        keep: lock.intent == LockIntent::Update,
        skip_locked: lock.skip_locked,
        no_wait: lock.no_wait,
        view,
        lends: lock.lends,
    })
}

/// A table was defined anew between binding and locking: the statement is bound again (state 1), unless it has told
/// something by then.
pub fn is_stale(e: &SqlError) -> bool {
    (e.number, e.state) == (2801, 1)
}

/// Storage's errors about versions with the table's name in them.
pub(crate) fn named(e: SqlError, table: &str, database: &str) -> SqlError {
    let message = match e.number {
        3958 => &messages::SNAPSHOT_VERSION_MISSING,
        3960 => &messages::SNAPSHOT_UPDATE_CONFLICT,
        _ => return e,
    };
    SqlError::new(message, &[&table, &database]).with_state(e.state)
}
