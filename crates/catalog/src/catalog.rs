//! The catalog of one open database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{ObjectId, SessionId, SqlResult};
use duramen_os::sync::Mutex;
use duramen_storage::Database;
use duramen_txn::{IsolationLevel, Transaction, TxnKind};
use duramen_types::DateTime;

use crate::def::TableDef;
use crate::identity::Blocks;
use crate::rows::Base;
use crate::rowversions::Counter;
use crate::snapshot::Snapshot;
use crate::{bootstrap, load};

/// Days from 1900-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 25_567;

struct State {
    snapshot: Option<Arc<Snapshot>>,
    version: u64,
    /// The object id given out last.
    last_object: i32,
}

/// The catalog of one open database. Shared by all sessions.
pub struct CatalogDb {
    db: Arc<Database>,
    state: Mutex<State>,
    pub(crate) identities: Mutex<Blocks>,
    pub(crate) rowversions: Mutex<Option<Counter>>,
    /// `State::version`, for those who only compare: every step of every program does.
    version: AtomicU64,
}

impl CatalogDb {
    /// Makes the base tables of a database that was just created, in a transaction of their own.
    pub fn create(db: &Arc<Database>) -> SqlResult<Arc<CatalogDb>> {
        // Nothing of it is ever undone: without its end there is no database.
        let tx = system_transaction(db, "CREATE DATABASE").unreserved();
        bootstrap::bootstrap(db, &tx, now())?;
        db.engine.commit(&tx, None)?;
        Ok(CatalogDb::open(db))
    }

    /// The catalog of a database that has one; rows are read when first asked for.
    pub fn open(db: &Arc<Database>) -> Arc<CatalogDb> {
        let catalog = Arc::new(CatalogDb {
            db: db.clone(),
            state: Mutex::new(State {
                snapshot: None,
                version: 1,
                last_object: 0,
            }),
            identities: Mutex::new(Blocks::new()),
            rowversions: Mutex::new(None),
            version: AtomicU64::new(1),
        });
        catalog.offer_names();
        catalog
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// What [`Catalog::snapshot`] gives, if it is made and nobody is at it: for those who may wait for nothing.
    pub fn try_snapshot(&self) -> Option<Arc<Snapshot>> {
        self.state.try_lock()?.snapshot.clone()
    }

    /// The objects as they are now, uncommitted changes included: object locks keep others away from those.
    pub fn snapshot(&self) -> SqlResult<Arc<Snapshot>> {
        let mut state = self.state.lock();
        if let Some(s) = &state.snapshot {
            return Ok(s.clone());
        }
        let tx = system_transaction(&self.db, "catalog");
        let base = Base {
            db: &self.db,
            tx: &tx,
        };
        let loaded = load::load(&base, state.version);
        self.db.engine.locks.release_all(&tx.owner);
        let loaded = Arc::new(loaded?);
        state.snapshot = Some(loaded.clone());
        Ok(loaded)
    }

    /// The cached snapshot, when there is one and nobody is busy with it.
    pub(crate) fn known_snapshot(&self) -> Option<Arc<Snapshot>> {
        self.state.try_lock()?.snapshot.clone()
    }

    /// Forgets the cached snapshot: after the rollback (whole or to a savepoint) of a transaction that did DDL.
    pub fn invalidate(&self) {
        let mut state = self.state.lock();
        state.version += 1;
        self.version.store(state.version, Ordering::Release);
        self.db.engine.definitions_changed(self.db.id);
        state.snapshot = None;
    }

    /// The version that the next snapshot has, at least.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Changes the cached snapshot the way the rows were changed.
    pub(crate) fn patch(&self, change: impl FnOnce(&mut Snapshot, u64)) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        self.version.store(version, Ordering::Release);
        self.db.engine.definitions_changed(self.db.id);
        if let Some(s) = &mut state.snapshot {
            let s = Arc::make_mut(s);
            s.version = version;
            change(s, version);
        }
    }

    /// A table with that id.
    pub fn table(&self, id: ObjectId) -> SqlResult<Option<Arc<TableDef>>> {
        Ok(self.snapshot()?.table(id).cloned())
    }

    /// The object id that the next object gets, unless another session is faster.
    pub fn peek_object_id(&self) -> SqlResult<ObjectId> {
        let last = self.state.lock().last_object;
        let next = self.next_object_id();
        self.state.lock().last_object = last;
        next
    }

    /// An object id that nobody has.
    pub(crate) fn next_object_id(&self) -> SqlResult<ObjectId> {
        const STEP: i32 = 16_000_057;
        const FIRST: i32 = 565_577_053;
        let snapshot = self.snapshot()?;
        let mut state = self.state.lock();
        if state.last_object == 0 {
            state.last_object = FIRST - STEP;
        }
        loop {
            let next = match state.last_object.checked_add(STEP) {
                Some(n) => n,
                None => state.last_object - (i32::MAX - STEP),
            };
            state.last_object = next;
            let id = ObjectId(next);
            if next > load::FIRST_USER_OBJECT && !snapshot.objects.contains_key(&id) {
                return Ok(id);
            }
        }
    }
}

pub(crate) fn system_transaction(db: &Arc<Database>, name: &str) -> Transaction {
    let owner = db.engine.locks.owner(SessionId(0));
    Transaction::new(
        &owner,
        TxnKind::Autocommit,
        name,
        IsolationLevel::ReadUncommitted,
    )
}

/// The clock as `datetime`, for `created` and `modified`.
pub fn now() -> DateTime {
    date_time(duramen_os::time::wall().unix_nanos())
}

/// A moment, in nanoseconds since 1970, as the catalog writes it.
pub fn date_time(ns: i128) -> DateTime {
    let days = ns.div_euclid(86_400_000_000_000);
    let rest = ns.rem_euclid(86_400_000_000_000);
    DateTime {
        days: (days as i64 + EPOCH_DAYS) as i32,
        ticks: (rest * 3 / 10_000_000) as u32,
    }
}
