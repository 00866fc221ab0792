//! READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION: how they are switched.
//!
//! READ_COMMITTED_SNAPSHOT changes what running statements see, so whoever switches it must be alone in the database:
//! every session holds S on the database it is in, the switch needs X.
//!
//! ALLOW_SNAPSHOT_ISOLATION is switched beside running transactions, in three steps: writers begin to keep versions;
//! the transactions that had begun without keeping any end; snapshots are allowed. Off goes the other way.

use std::time::Duration;

use duramen_access::cancel::CancelToken;
use duramen_access::open_db::OpenDb;
use duramen_access::versioning::admit;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_storage::Database;
use duramen_tsql::ast::{NamedOption, OptionValue, Termination};
use duramen_txn::SnapshotState;

use duramen_core::session_core::SessionCore;

const RCSI: &str = "READ_COMMITTED_SNAPSHOT";
const ALLOW: &str = "ALLOW_SNAPSHOT_ISOLATION";

/// How often somebody who waits for transactions to end looks again.
const LOOK: Duration = Duration::from_millis(10);

/// ALTER DATABASE SET, when it switches one of the two options: what must be so before the options are written
/// down. Ends with [`settle`]; the caller gives back the database that may be held for itself then.
pub(crate) fn prepare(
    session: &SessionCore,
    db: &OpenDb,
    options: &[NamedOption],
    termination: Option<Termination>,
    cancel: &CancelToken,
) -> SqlResult<Switch> {
    let wanted = |name: &str| {
        let found = options.iter().rev().find(|o| o.name == name)?;
        match &found.value {
            Some(OptionValue::Word(w)) if w.eq_ignore_ascii_case("ON") => Some(true),
            Some(OptionValue::Word(w)) if w.eq_ignore_ascii_case("OFF") => Some(false),
            _ => None,
        }
    };
    let (read_committed, snapshot) = (wanted(RCSI), wanted(ALLOW));
    let mut switch = Switch {
        read_committed,
        any: read_committed.is_some() || snapshot.is_some(),
        ended_others: false,
    };
    let versioning = &db.db.transactions.versioning;
    let system = matches!(db.db.id, DbId::MASTER | DbId::TEMPDB | DbId::MSDB);
    if read_committed.is_some() && system {
        return Err(cannot_set(RCSI, db));
    }
    if snapshot.is_some() && system {
        // What they are at every start: on, and for tempdb off.
        return Err(cannot_set(ALLOW, db));
    }
    if read_committed.is_some_and(|on| on != versioning.read_committed()) {
        switch.ended_others = session.be_alone(db, termination)?;
    }
    let result = match snapshot {
        Some(true) => allow_snapshots(&db.db, cancel),
        Some(false) => forbid_snapshots(&db.db, cancel),
        None => Ok(()),
    };
    if let Err(e) = result {
        // What was written down before counts.
        admit(&db.db, db.entry.read().options);
        return Err(e);
    }
    Ok(switch)
}

/// A switch that was prepared.
pub(crate) struct Switch {
    read_committed: Option<bool>,
    any: bool,
    /// Sessions were ended for it.
    pub ended_others: bool,
}

/// The options were written down, or not.
pub(crate) fn settle(switch: &Switch, db: &OpenDb, written: bool) {
    if written {
        if let Some(on) = switch.read_committed {
            db.db.transactions.versioning.set_read_committed(on);
        }
    } else if switch.any {
        // What was written down before counts.
        admit(&db.db, db.entry.read().options);
    }
}

fn cannot_set(what: &str, db: &OpenDb) -> SqlError {
    SqlError::new(&messages::OPTION_CANNOT_BE_SET, &[&what, &db.db.name])
}

fn allow_snapshots(db: &Database, cancel: &CancelToken) -> SqlResult<()> {
    let transactions = &db.transactions;
    let versioning = &transactions.versioning;
    if versioning.snapshot_state() == SnapshotState::On {
        return Ok(());
    }
    versioning.set_snapshot_state(SnapshotState::ToOn);
    if !versioning.read_committed() {
        // Who is not in the table yet will find that versions are kept.
        let unversioned = transactions.table.next_xdes();
        wait(cancel, || {
            transactions
                .table
                .active()
                .iter()
                .all(|t| t.xdes >= unversioned)
        })?;
    }
    versioning.set_since(db.engine.versions.now());
    versioning.set_snapshot_state(SnapshotState::On);
    Ok(())
}

fn forbid_snapshots(db: &Database, cancel: &CancelToken) -> SqlResult<()> {
    let versioning = &db.transactions.versioning;
    if versioning.snapshot_state() == SnapshotState::Off {
        return Ok(());
    }
    versioning.set_snapshot_state(SnapshotState::ToOff);
    let store = &db.engine.versions;
    let last = store.now();
    wait(cancel, || !store.has_snapshots_up_to(last))?;
    versioning.set_snapshot_state(SnapshotState::Off);
    Ok(())
}

fn wait(cancel: &CancelToken, done: impl Fn() -> bool) -> SqlResult<()> {
    while !done() {
        if cancel.is_set() {
            return Err(duramen_query::cancelled());
        }
        duramen_os::thread::sleep(LOOK);
    }
    Ok(())
}
