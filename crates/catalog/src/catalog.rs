//! The catalog of one open database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{ObjectId, SessionId, SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_storage::Database;
use duramen_txn::{IsolationLevel, Transaction, TxnKind};
use duramen_types::DateTime;

use crate::def::TableDef;
use crate::identity::{self, Block, Blocks, IdentityState};
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
    identities: Mutex<Blocks>,
    pub(crate) rowversions: Mutex<Option<Counter>>,
    /// `State::version`, for those who only compare: every step of every program does.
    version: AtomicU64,
}

impl CatalogDb {
    /// Makes the base tables of a database that was just created, in a transaction of their own.
    pub fn create(db: &Arc<Database>) -> SqlResult<Arc<CatalogDb>> {
        let tx = system_transaction(db, "CREATE DATABASE");
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
        self.identities.lock().clear();
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

    /// The next IDENTITY value of a table. Never rolled back.
    pub fn next_identity(&self, tx: &Transaction, table: &TableDef) -> SqlResult<i64> {
        let column = table.identity_column().ok_or_else(|| no_identity(table))?;
        let ty = table.columns[column].ty;
        let mut blocks = self.identities.lock();
        let block = self.block(&mut blocks, tx, table)?;
        if let Some(value) = identity::take(block, &ty)? {
            return Ok(value);
        }
        let value = identity::reserve(block, &ty);
        let stored = IdentityState {
            last: Some(block.reserved),
            ..block.state
        };
        let written = self.write_identity(tx, "IdentReserve", table, &stored);
        if written.is_err() {
            blocks.remove(&table.id);
        }
        written.map(|()| value)
    }

    /// The next `n` IDENTITY values of a table, one behind the other. After an error those before it are gone.
    pub fn next_identities(
        &self,
        tx: &Transaction,
        table: &TableDef,
        n: usize,
    ) -> SqlResult<Vec<i64>> {
        let column = table.identity_column().ok_or_else(|| no_identity(table))?;
        let ty = table.columns[column].ty;
        let mut values = Vec::with_capacity(n);
        while values.len() < n {
            values.push(self.next_identity(tx, table)?);
            let mut blocks = self.identities.lock();
            let block = self.block(&mut blocks, tx, table)?;
            while values.len() < n
                && let Some(value) = identity::take(block, &ty)?
            {
                values.push(value);
            }
        }
        Ok(values)
    }

    /// The value given out last; `None` when there was none (DBCC CHECKIDENT, IDENT_CURRENT).
    pub fn current_identity(&self, tx: &Transaction, table: &TableDef) -> SqlResult<Option<i64>> {
        let mut blocks = self.identities.lock();
        Ok(self.block(&mut blocks, tx, table)?.state.last)
    }

    /// The same, read without a user's transaction: `IDENT_CURRENT`, `sys.identity_columns`.
    pub fn peek_identity(&self, table: &TableDef) -> SqlResult<Option<i64>> {
        let tx = system_transaction(&self.db, "IdentRead");
        let last = self.current_identity(&tx, table);
        self.db.engine.locks.release_all(&tx.owner);
        last
    }

    /// Sets the value given out last (CHECKIDENT RESEED, explicit values); `None` starts again at the seed.
    pub fn set_identity(
        &self,
        tx: &Transaction,
        table: &TableDef,
        last: Option<i64>,
    ) -> SqlResult<()> {
        let mut blocks = self.identities.lock();
        let mut state = self.block(&mut blocks, tx, table)?.state;
        state.last = last;
        blocks.remove(&table.id);
        self.write_identity(tx, "IdentSet", table, &state)
    }

    /// Writes an identity state in a transaction of its own, whose locks end with it: they must not be held as long as
    /// the user's, or another session that needs the next block would wait for that, under our mutex. Only where the
    /// row is locked already (the user's own transaction has made the table) the user's locks are used.
    fn write_identity(
        &self,
        tx: &Transaction,
        name: &str,
        table: &TableDef,
        state: &IdentityState,
    ) -> SqlResult<()> {
        let own = system_transaction(&self.db, name);
        own.set_lock_timeout(0);
        let base = Base {
            db: &self.db,
            tx: &own,
        };
        match identity::write(&base, table, state) {
            Ok(()) => {
                self.db.engine.commit(&own, None)?;
                Ok(())
            }
            Err(e) if e.number == messages::LOCK_TIMEOUT.number => {
                self.db.engine.rollback(&own, None)?;
                identity::in_system_transaction(tx, name, |inner| {
                    let base = Base {
                        db: &self.db,
                        tx: inner,
                    };
                    identity::write(&base, table, state)
                })
            }
            Err(e) => {
                self.db.engine.rollback(&own, None)?;
                Err(e)
            }
        }
    }

    /// Notes an explicit value (IDENTITY_INSERT) when it is further out than any given before.
    pub fn note_identity(&self, tx: &Transaction, table: &TableDef, value: i64) -> SqlResult<()> {
        let mut blocks = self.identities.lock();
        let block = self.block(&mut blocks, tx, table)?;
        let up = block.state.identity.increment >= 0;
        let further = |a: i64, b: i64| if up { a > b } else { a < b };
        if block.state.last.is_some_and(|last| !further(value, last)) {
            return Ok(());
        }
        let covered = block.state.last.is_some() && !further(value, block.reserved);
        if covered {
            block.state.last = Some(value);
            return Ok(());
        }
        drop(blocks);
        self.set_identity(tx, table, Some(value))
    }

    fn block<'a>(
        &self,
        blocks: &'a mut Blocks,
        tx: &Transaction,
        table: &TableDef,
    ) -> SqlResult<&'a mut Block> {
        use std::collections::btree_map::Entry;
        match blocks.entry(table.id) {
            Entry::Occupied(e) => Ok(e.into_mut()),
            Entry::Vacant(e) => {
                let base = Base { db: &self.db, tx };
                let state = identity::read(&base, table)?.ok_or_else(|| no_identity(table))?;
                let reserved = state.last.unwrap_or(state.identity.seed);
                Ok(e.insert(Block { state, reserved }))
            }
        }
    }

    pub(crate) fn forget_identity(&self, table: ObjectId) {
        self.identities.lock().remove(&table);
    }

    /// Writes the values given out last back, so that a clean shutdown leaves no gaps.
    pub fn flush_identities(&self) -> SqlResult<()> {
        let blocks = std::mem::take(&mut *self.identities.lock());
        if blocks.is_empty() {
            return Ok(());
        }
        let tx = system_transaction(&self.db, "IdentFlush");
        let snapshot = self.snapshot()?;
        let base = Base {
            db: &self.db,
            tx: &tx,
        };
        for (id, block) in &blocks {
            if let Some(table) = snapshot.table(*id)
                && block.state.last.is_some()
            {
                identity::write(&base, table, &block.state)?;
            }
        }
        self.db.engine.commit(&tx, None)?;
        Ok(())
    }
}

fn no_identity(table: &TableDef) -> SqlError {
    SqlError::new(&messages::NO_IDENTITY_PROPERTY, &[&table.name])
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
