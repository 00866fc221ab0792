//! Named locks of a session: what `sp_getapplock` and its kin ask, and how they are given back.

use std::time::Duration;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::security::{DB_OWNER, DBO};
use duramen_txn::{LockDuration, LockError, LockMode};

use crate::app_locks::{Entry, Holder, Name, Part};
use crate::session_core::SessionCore;

const PUBLIC: i32 = 0;

impl SessionCore {
    /// The id of the open transaction; 0 for none.
    fn transaction_id(&self) -> u64 {
        self.transaction.as_ref().map_or(0, |t| t.id)
    }

    /// The database's principal in whose name a lock is asked for; 1202 for one that is not there, or is another's.
    pub fn app_lock_principal(&self, name: &str) -> SqlResult<i32> {
        let refused = || SqlError::new(&messages::APP_LOCK_PRINCIPAL, &[&name]);
        let db = self.instance.databases.find(&self.database);
        let db = db.ok_or_else(refused)?;
        let snapshot = db.catalog.snapshot()?;
        let asked = snapshot.security.user(name).ok_or_else(refused)?.id;
        let own = self.user_in(&db)?.ok_or_else(refused)?;
        let roles = snapshot.security.roles_of(own);
        let may = asked == PUBLIC || own == asked || own == DBO;
        match may || roles.contains(&asked) || roles.contains(&DB_OWNER) {
            true => Ok(asked),
            false => Err(refused()),
        }
    }

    pub fn app_lock_name(&self, principal: i32, name: &str) -> SqlResult<Name> {
        let missing = || SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&self.database]);
        let db = self.instance.database_id(&self.database);
        Ok(Name::new(db.ok_or_else(missing)?, principal, name))
    }

    /// Asks for a lock; what sp_getapplock returns.
    pub fn get_app_lock(
        &self,
        name: &Name,
        mode: LockMode,
        holder: Holder,
        timeout: Option<Duration>,
    ) -> SqlResult<i32> {
        let key = (self.owner.id(), name.resource);
        let all = &self.instance.app_locks;
        let transaction = self.transaction_id();
        {
            let mut entries = all.0.lock();
            let entry = entries.entry(key).or_insert_with(|| Entry {
                description: name.description(),
                session: Part::default(),
                transaction: Part::default(),
                of: transaction,
                waits_for: None,
            });
            entry.settle(transaction);
            entry.waits_for = Some(holder);
        }
        let duration = match holder {
            Holder::Session => LockDuration::Session,
            Holder::Transaction => LockDuration::Normal,
        };
        let locks = &self.instance.locks;
        let result = locks.lock(&self.owner, &name.resource, mode, duration, timeout);
        let mut entries = all.0.lock();
        if let Some(entry) = entries.get_mut(&key) {
            entry.waits_for = None;
            if result.is_ok() {
                entry.part(holder).add(mode);
            }
            if entry.is_idle() {
                entries.remove(&key);
            }
        }
        match result {
            Ok(outcome) => Ok(i32::from(outcome.waited)),
            Err(LockError::Timeout) => Ok(-1),
            Err(LockError::Cancelled) => Ok(-2),
            Err(LockError::Deadlock) => Ok(-3),
            Err(LockError::Kept(why)) => Err(*why),
            Err(LockError::OutOfMemory) => Err(SqlError::new(&messages::OUT_OF_LOCKS, &[])),
        }
    }

    /// Gives a lock back once; false for one that is not held.
    pub fn release_app_lock(&self, name: &Name, holder: Holder) -> bool {
        let key = (self.owner.id(), name.resource);
        let mut entries = self.instance.app_locks.0.lock();
        let Some(entry) = entries.get_mut(&key) else {
            return false;
        };
        entry.settle(self.transaction_id());
        let part = entry.part(holder);
        if part.times == 0 {
            return false;
        }
        part.times -= 1;
        if part.times > 0 {
            return true;
        }
        part.mode = None;
        let (left, session) = (entry.both(), entry.session.mode);
        if entry.is_idle() {
            entries.remove(&key);
        }
        drop(entries);
        let locks = &self.instance.locks;
        locks.lower(&self.owner, &name.resource, left, session);
        true
    }

    /// What is held of a lock for one holder.
    pub fn app_lock_mode(&self, name: &Name, holder: Holder) -> Option<LockMode> {
        let mut entries = self.instance.app_locks.0.lock();
        let entry = entries.get_mut(&(self.owner.id(), name.resource))?;
        entry.settle(self.transaction_id());
        entry.part(holder).mode
    }

    /// Whether a lock could be had at once.
    pub fn could_have_app_lock(&self, name: &Name, mode: LockMode) -> bool {
        let (locks, at_once) = (&self.instance.locks, LockDuration::Instant);
        let entity = duramen_txn::Entity::default();
        let had = locks.try_lock_in(&self.owner, &entity, &name.resource, mode, at_once);
        had.is_some()
    }

    /// sp_reset_connection: what the session holds goes, what an open transaction holds stays.
    pub fn give_back_app_locks(&self) {
        let (owner, transaction) = (self.owner.id(), self.transaction_id());
        let mut lowered = Vec::new();
        self.instance
            .app_locks
            .0
            .lock()
            .retain(|(of, resource), entry| {
                if *of != owner {
                    return true;
                }
                entry.settle(transaction);
                if entry.session.times > 0 {
                    lowered.push((*resource, entry.transaction.mode));
                }
                entry.session = Part::default();
                !entry.is_idle()
            });
        for (resource, mode) in lowered {
            let locks = &self.instance.locks;
            locks.lower(&self.owner, &resource, mode, None);
        }
    }
}
