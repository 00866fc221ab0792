//! What open transactions have made, changed or taken away, by name: one transaction has a name at a time.
//!
//! Invariants
//! 1. A name is claimed before the rows that give or take it are written, under Sch-M on what it names: whoever doubts it
//!    waits for that lock. [test: nobody_sees_or_uses_what_another_has_not_committed]
//! 2. Claims go when what was claimed is what everybody sees, or undone, and before the locks go.
//!    [test: nobody_sees_or_uses_what_another_has_not_committed]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use duramen_base::ObjectId;
use duramen_base::planted::{self, Bug};
use duramen_os::sync::{Mutex, Rank};
use duramen_txn::Resource;
use duramen_txn::definitions::viewer_id;

use crate::def::fold;
use crate::doubt::{self, Doubt};

/// What can be claimed. Names are folded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Claim {
    /// A name in a schema.
    Name(i32, String),
    /// What an object is.
    Object(ObjectId),
    Schema(String),
    Type(i32, String),
    PartitionFunction(String),
    PartitionScheme(String),
    User(String),
    Login(String),
    /// A number of a kind of thing, by the base table that its row is in and a class there.
    Number(i32, i64, i32),
}

impl Claim {
    pub fn name(schema: i32, name: &str) -> Claim {
        Claim::Name(schema, fold(name))
    }
}

#[derive(Debug)]
struct Claimed {
    /// [`duramen_txn::LockOwner::id`]
    owner: u64,
    /// [`duramen_txn::Transaction::points`] when it was claimed.
    number: u64,
    resource: Resource,
}

/// All claims in a database.
#[derive(Debug)]
pub(crate) struct Claims {
    /// How many there are: mostly none, and then nobody looks for them.
    count: AtomicUsize,
    all: Mutex<BTreeMap<Claim, Claimed>>,
}

impl Default for Claims {
    fn default() -> Claims {
        Claims {
            count: AtomicUsize::default(),
            all: Mutex::ranked(Rank::Claims, BTreeMap::new()),
        }
    }
}

impl Claims {
    /// Notes a doubt when somebody other than the viewer has what `claim` gives.
    #[inline]
    pub fn ask(&self, claim: impl FnOnce() -> Claim) {
        if self.count.load(Ordering::Acquire) != 0 {
            self.look(&claim());
        }
    }

    #[cold]
    fn look(&self, claim: &Claim) {
        let viewer = viewer_id();
        if let Some(c) = self.all.lock().get(claim)
            && c.owner != viewer
            && !planted::on(Bug::NameBeforeLock)
        {
            doubt::note(Doubt::Until(c.resource));
        }
    }

    /// Whether anybody has it.
    pub fn has(&self, claim: &Claim) -> bool {
        self.count.load(Ordering::Acquire) != 0 && self.all.lock().contains_key(claim)
    }

    /// Claims for an owner; false, and a doubt, when another one has it.
    pub fn take(&self, claim: Claim, owner: u64, number: u64, resource: Resource) -> bool {
        let mut all = self.all.lock();
        if let Some(c) = all.get(&claim) {
            if c.owner != owner {
                doubt::note(Doubt::Until(c.resource));
                return false;
            }
            return true;
        }
        let claimed = Claimed {
            owner,
            number,
            resource,
        };
        all.insert(claim, claimed);
        self.count.store(all.len(), Ordering::Release);
        true
    }

    /// Claims a number of a kind that nobody has claimed: `least`, or the first after it.
    pub fn take_number(
        &self,
        (table, class, least): (i32, i64, i32),
        owner: u64,
        number: u64,
        resource: impl Fn(i32) -> Resource,
    ) -> i32 {
        let mut id = least;
        let mut all = self.all.lock();
        while all.contains_key(&Claim::Number(table, class, id)) {
            id += 1;
        }
        let claimed = Claimed {
            owner,
            number,
            resource: resource(id),
        };
        all.insert(Claim::Number(table, class, id), claimed);
        self.count.store(all.len(), Ordering::Release);
        id
    }

    /// Gives up what an owner has claimed, since a point when one is given.
    pub fn give_back(&self, owner: u64, since: Option<u64>) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut all = self.all.lock();
        all.retain(|_, c| c.owner != owner || since.is_some_and(|s| c.number < s));
        self.count.store(all.len(), Ordering::Release);
    }
}
