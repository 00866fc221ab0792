//! Locks that applications name: sp_getapplock, sp_releaseapplock, APPLOCK_MODE and APPLOCK_TEST.
//!
//! A lock is one of the lock manager on [`Resource::Application`], which knows a hash of the name and of the principal in whose
//! name it is asked for. Here stand, for every session, the names and how often the session and its transaction have asked:
//! as often they must give back. What a session holds of one name for itself and for its transaction never stands against
//! each other (*assumed*); it is one lock of the manager, in the mode of both together.
//! <https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql>

use std::collections::BTreeMap;
use std::time::Duration;

use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::security::{DB_OWNER, DBO};
use duramen_os::sync::Mutex;
use duramen_txn::{LockDuration, LockError, LockMode, Resource};

use crate::session_core::SessionCore;

/// Names are cut to this many characters (UTF-16).
const LONGEST_NAME: usize = 255;
/// So many of them can be read in `sys.dm_tran_locks`.
const SHOWN: usize = 32;
const PUBLIC: i32 = 0;
/// Of the hash of a name, FNV-1a over 16-bit words.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// The modes that can be asked for.
pub const MODES: [(&str, LockMode); 5] = [
    ("Shared", LockMode::S),
    ("Update", LockMode::U),
    ("IntentShared", LockMode::IS),
    ("IntentExclusive", LockMode::IX),
    ("Exclusive", LockMode::X),
];

/// For whom a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    Session,
    Transaction,
}

impl Holder {
    pub fn of(text: &str) -> Option<Holder> {
        match text {
            t if t.eq_ignore_ascii_case("Session") => Some(Holder::Session),
            t if t.eq_ignore_ascii_case("Transaction") => Some(Holder::Transaction),
            _ => None,
        }
    }

    /// `sys.dm_tran_locks.request_owner_type`.
    pub fn name(self) -> &'static str {
        match self {
            Holder::Session => "SESSION",
            Holder::Transaction => "TRANSACTION",
        }
    }
}

/// What is locked.
pub struct Name {
    principal: i32,
    name: Vec<u16>,
    resource: Resource,
}

impl Name {
    pub fn new(db: DbId, principal: i32, name: &str) -> Name {
        let name: Vec<u16> = name.encode_utf16().take(LONGEST_NAME).collect();
        let words = [principal as u16, (principal >> 16) as u16];
        let hash = words.iter().chain(&name).fold(FNV_BASIS, |hash, word| {
            (hash ^ u64::from(*word)).wrapping_mul(FNV_PRIME)
        });
        Name {
            principal,
            resource: Resource::Application(db, hash),
            name,
        }
    }

    /// `sys.dm_tran_locks.resource_description`: `0:[name]:(5f3a11c2)`.
    fn description(&self) -> String {
        let shown: Vec<u16> = self.name.iter().copied().take(SHOWN).collect();
        let name = String::from_utf16_lossy(&shown);
        let Resource::Application(_, hash) = self.resource else {
            return name;
        };
        format!("{}:[{name}]:({:08x})", self.principal, hash >> 32)
    }
}

/// What one holder has asked for and been given.
#[derive(Clone, Copy, Default)]
struct Part {
    mode: Option<LockMode>,
    times: u32,
}

impl Part {
    fn add(&mut self, mode: LockMode) {
        self.mode = Some(self.mode.map_or(mode, |m| m.join(mode)));
        self.times += 1;
    }
}

struct Entry {
    description: String,
    session: Part,
    transaction: Part,
    /// The transaction that the second part belongs to.
    of: u64,
    waits_for: Option<Holder>,
}

impl Entry {
    /// Forgets what a transaction held that is over.
    fn settle(&mut self, transaction: u64) {
        if self.of != transaction {
            self.transaction = Part::default();
            self.of = transaction;
        }
    }

    fn part(&mut self, of: Holder) -> &mut Part {
        match of {
            Holder::Session => &mut self.session,
            Holder::Transaction => &mut self.transaction,
        }
    }

    fn both(&self) -> Option<LockMode> {
        match (self.session.mode, self.transaction.mode) {
            (Some(a), Some(b)) => Some(a.join(b)),
            (a, b) => a.or(b),
        }
    }

    fn is_idle(&self) -> bool {
        self.session.times == 0 && self.transaction.times == 0 && self.waits_for.is_none()
    }
}

/// One row's worth of `sys.dm_tran_locks`: for whom, in which mode, how often; no mode for the request that waits.
pub struct Shown {
    pub description: String,
    pub holder: Holder,
    pub mode: Option<LockMode>,
    pub times: u32,
}

/// Every session's named locks, by the id of the session's lock owner.
#[derive(Default)]
pub struct AppLocks(Mutex<BTreeMap<(u64, Resource), Entry>>);

impl AppLocks {
    /// Whether an owner has, or waits for, anything.
    pub fn has_any(&self, owner: u64) -> bool {
        let all = self.0.lock();
        all.keys().any(|(of, _)| *of == owner)
    }

    /// The session is over, and its locks are released.
    pub fn forget(&self, owner: u64) {
        self.0.lock().retain(|(of, _), _| *of != owner);
    }

    /// What an owner has of a resource; `transaction`: the id of the one that is open, 0 for none.
    pub fn shown(
        &self,
        owner: u64,
        resource: &Resource,
        transaction: u64,
        waits: bool,
    ) -> Vec<Shown> {
        let all = self.0.lock();
        let Some(entry) = all.get(&(owner, *resource)) else {
            return Vec::new();
        };
        let shown = |holder, mode, times| Shown {
            description: entry.description.clone(),
            holder,
            mode,
            times,
        };
        if waits {
            let waiting = entry.waits_for.into_iter();
            return waiting.map(|h| shown(h, None, 1)).collect();
        }
        let mut parts = vec![(Holder::Session, entry.session)];
        if entry.of == transaction {
            parts.push((Holder::Transaction, entry.transaction));
        }
        let held = parts.into_iter().filter(|(_, p)| p.times > 0);
        held.map(|(h, p)| shown(h, p.mode, p.times)).collect()
    }
}

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
