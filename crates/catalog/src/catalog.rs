//! The catalog of one open database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use duramen_base::planted::{self, Bug};
use duramen_base::{ObjectId, SessionId, SqlResult};
use duramen_os::sync::{Mutex, Rank};
use duramen_storage::Database;
use duramen_txn::definitions::viewer_id;
use duramen_txn::{IsolationLevel, Transaction, TxnKind};
use duramen_types::DateTime;

use crate::claims::{Claim, Claims};
use crate::counter::Counter;
use crate::def::TableDef;
use crate::draft::Draft;
use crate::identity::Blocks;
use crate::rows::Base;
use crate::snapshot::Snapshot;
use crate::weight::Weight;
use crate::{bootstrap, cells, load};

/// Days from 1900-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 25_567;

pub(crate) struct State {
    /// What everybody sees; read when somebody first asks. Changed by [`State::show`] alone.
    pub committed: Option<Arc<Snapshot>>,
    weight: Weight,
    /// The last number given to a change.
    pub stamp: u64,
    /// What open transactions have changed, by [`duramen_txn::LockOwner::id`].
    pub drafts: BTreeMap<u64, Draft>,
    /// The object id given out last.
    last_object: i32,
}

impl State {
    /// Everybody sees these definitions from now on; `None`: whoever asks reads them.
    pub fn show(&mut self, next: Option<Arc<Snapshot>>) {
        let before = std::mem::replace(&mut self.committed, next);
        self.weight
            .changes(before.as_deref(), self.committed.as_deref());
    }
}

/// The catalog of one open database. Shared by all sessions.
pub struct CatalogDb {
    db: Arc<Database>,
    pub(crate) me: Weak<CatalogDb>,
    pub(crate) state: Mutex<State>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) identities: Mutex<Blocks>,
    pub(crate) rowversions: Mutex<Option<Counter>>,
    /// Goes up with what everybody sees, for those who only compare.
    pub(crate) version: AtomicU64,
}

impl std::fmt::Debug for CatalogDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CatalogDb({})", self.db.name)
    }
}

impl CatalogDb {
    /// Makes the base tables of a database that was just created, in transactions of their own.
    pub fn create(db: &Arc<Database>) -> SqlResult<Arc<CatalogDb>> {
        bootstrap::bootstrap(now(), |part| {
            // Nothing of it is ever undone: without its end there is no database.
            let tx = system_transaction(db, "CREATE DATABASE").unreserved();
            part(&Base { db, tx: &tx })?;
            db.engine.commit(&tx, None)?;
            // The smallest log has no room for all of it at once.
            db.make_log_room();
            Ok(())
        })?;
        Ok(CatalogDb::open(db))
    }

    /// The catalog of a database that has one; rows are read when first asked for.
    pub fn open(db: &Arc<Database>) -> Arc<CatalogDb> {
        let catalog = Arc::new_cyclic(|me| CatalogDb {
            db: db.clone(),
            me: me.clone(),
            state: Mutex::ranked(
                Rank::Catalog,
                State {
                    committed: None,
                    weight: Weight::new(&db.engine.memory),
                    stamp: 1,
                    drafts: BTreeMap::new(),
                    last_object: 0,
                },
            ),
            claims: Arc::default(),
            identities: Mutex::ranked(Rank::Identities, Blocks::new()),
            rowversions: Mutex::ranked(Rank::RowVersions, None),
            version: AtomicU64::new(1),
        });
        catalog.offer_names();
        catalog
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// What [`CatalogDb::snapshot`] gives, if it is made and nobody is at it: for those who may wait for nothing.
    pub fn try_snapshot(&self) -> Option<Arc<Snapshot>> {
        let mut state = self.state.try_lock()?;
        let committed = state.committed.clone()?;
        Some(seen(&mut state, committed, viewer_id()))
    }

    /// The objects as the calling thread's viewer sees them: what is committed, and what the viewer's own transaction has
    /// defined over it.
    pub fn snapshot(&self) -> SqlResult<Arc<Snapshot>> {
        self.seen_by_owner(viewer_id)
    }

    /// The same as a transaction sees them.
    pub(crate) fn seen_by(&self, tx: &Transaction) -> SqlResult<Arc<Snapshot>> {
        self.seen_by_owner(|| tx.owner.id())
    }

    fn seen_by_owner(&self, owner: impl FnOnce() -> u64) -> SqlResult<Arc<Snapshot>> {
        let mut state = self.state.lock();
        let committed = match &state.committed {
            Some(s) => s.clone(),
            None => {
                let read = Arc::new(self.read_rows(state.stamp)?);
                state.show(Some(read.clone()));
                read
            }
        };
        if state.drafts.is_empty() {
            return Ok(committed);
        }
        Ok(seen(&mut state, committed, owner()))
    }

    /// The rows as a snapshot. They are read as they stand: nobody may be changing them.
    pub(crate) fn read_rows(&self, version: u64) -> SqlResult<Snapshot> {
        let tx = system_transaction(&self.db, "catalog");
        let base = Base {
            db: &self.db,
            tx: &tx,
        };
        let loaded = load::load(&base, version);
        self.db.engine.locks.release_all(&tx.owner);
        let mut loaded = loaded?;
        loaded.claims = self.claims.clone();
        Arc::make_mut(&mut loaded.security).claims = self.claims.clone();
        Ok(loaded)
    }

    /// The snapshot that everybody sees, when there is one and nobody is busy with it.
    pub(crate) fn known_snapshot(&self) -> Option<Arc<Snapshot>> {
        self.state.try_lock()?.committed.clone()
    }

    /// A transaction that has changed definitions or identities is undone, wholly or to a savepoint: what is remembered of
    /// identities is read again, and whoever has bound something binds it again.
    pub fn invalidate(&self) {
        let mut state = self.state.lock();
        state.stamp += 1;
        self.version.store(state.stamp, Ordering::Release);
        self.db.engine.definitions_changed(self.db.id);
        drop(state);
    }

    /// Forgets the snapshot that everybody sees: who asks next reads the rows. Nobody may be changing them.
    pub fn reload(&self) {
        self.state.lock().show(None);
        self.invalidate();
    }

    /// A table with that id.
    pub fn table(&self, id: ObjectId) -> SqlResult<Option<Arc<TableDef>>> {
        Ok(self.snapshot()?.table(id).cloned())
    }

    /// The object id that the next object gets, unless another session is faster.
    pub fn peek_object_id(&self) -> SqlResult<ObjectId> {
        self.free_object_id(false)
    }

    /// An object id that nobody has.
    pub(crate) fn next_object_id(&self) -> SqlResult<ObjectId> {
        self.free_object_id(true)
    }

    /// An id that no object has which is committed or which an open transaction has made, changed or dropped: a rollback
    /// would bring it back.
    fn free_object_id(&self, take: bool) -> SqlResult<ObjectId> {
        const STEP: i32 = 16_000_057;
        const FIRST: i32 = 565_577_053;
        let (mut state, committed) = loop {
            self.snapshot()?;
            let state = self.state.lock();
            // Somebody may have let it be read anew.
            if let Some(committed) = state.committed.clone() {
                break (state, committed);
            }
        };
        let mut last = match state.last_object {
            0 => FIRST - STEP,
            last => last,
        };
        loop {
            last = match last.checked_add(STEP) {
                Some(n) => n,
                None => last - (i32::MAX - STEP),
            };
            let id = ObjectId(last);
            let is_free = last > cells::FIRST_USER_OBJECT
                && !committed.objects.contains_key(&id)
                && !self.claims.has(&Claim::Object(id));
            if is_free {
                if take {
                    state.last_object = last;
                }
                return Ok(id);
            }
        }
    }
}

/// What an owner sees over what is committed.
fn seen(state: &mut State, committed: Arc<Snapshot>, owner: u64) -> Arc<Snapshot> {
    match state.drafts.get_mut(&owner) {
        Some(draft) => draft.view(&committed),
        None if planted::on(Bug::DraftShown) => match state.drafts.values_mut().next() {
            Some(draft) => draft.view(&committed),
            None => committed,
        },
        None => committed,
    }
}

pub(crate) fn system_transaction(db: &Arc<Database>, name: &'static str) -> Transaction {
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
