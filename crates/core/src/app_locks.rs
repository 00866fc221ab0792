//! Locks that applications name: sp_getapplock, sp_releaseapplock, APPLOCK_MODE and APPLOCK_TEST.
//!
//! A lock is one of the lock manager on [`Resource::Application`], which knows a hash of the name and of the principal in whose
//! name it is asked for. Here stand, for every session, the names and how often the session and its transaction have asked:
//! as often they must give back. What a session holds of one name for itself and for its transaction never stands against
//! each other (*assumed*); it is one lock of the manager, in the mode of both together.
//! <https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql>

use std::collections::BTreeMap;

use duramen_base::DbId;
use duramen_os::sync::Mutex;
use duramen_txn::{LockMode, Resource};

/// Names are cut to this many characters (UTF-16).
const LONGEST_NAME: usize = 255;
/// So many of them can be read in `sys.dm_tran_locks`.
const SHOWN: usize = 32;
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
    pub(crate) resource: Resource,
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
    pub fn description(&self) -> String {
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
pub(crate) struct Part {
    pub mode: Option<LockMode>,
    pub times: u32,
}

impl Part {
    pub fn add(&mut self, mode: LockMode) {
        self.mode = Some(self.mode.map_or(mode, |m| m.join(mode)));
        self.times += 1;
    }
}

pub(crate) struct Entry {
    pub description: String,
    pub session: Part,
    pub transaction: Part,
    /// The transaction that the second part belongs to.
    pub of: u64,
    pub waits_for: Option<Holder>,
}

impl Entry {
    /// Forgets what a transaction held that is over.
    pub fn settle(&mut self, transaction: u64) {
        if self.of != transaction {
            self.transaction = Part::default();
            self.of = transaction;
        }
    }

    pub fn part(&mut self, of: Holder) -> &mut Part {
        match of {
            Holder::Session => &mut self.session,
            Holder::Transaction => &mut self.transaction,
        }
    }

    pub fn both(&self) -> Option<LockMode> {
        match (self.session.mode, self.transaction.mode) {
            (Some(a), Some(b)) => Some(a.join(b)),
            (a, b) => a.or(b),
        }
    }

    pub fn is_idle(&self) -> bool {
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
pub struct AppLocks(pub(crate) Mutex<BTreeMap<(u64, Resource), Entry>>);

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
