//! What one transaction has defined and not yet committed.

use std::fmt;
use std::sync::Arc;

use duramen_base::{SqlError, messages};
use duramen_txn::LockOwner;

use crate::doubt::{self, Doubt};
use crate::snapshot::Snapshot;

pub(crate) type Apply = Box<dyn Fn(&mut Snapshot, u64) + Send + Sync>;

pub(crate) struct Change {
    /// [`Transaction::points`] when it was made.
    pub number: u64,
    pub stamp: u64,
    pub apply: Apply,
}

/// What one transaction has changed.
pub(crate) struct Draft {
    pub owner: LockOwner,
    pub changes: Vec<Change>,
    /// What the owner sees, and the committed snapshot that it was made from; none until it looks again.
    pub view: Option<(Arc<Snapshot>, Arc<Snapshot>)>,
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Draft({} changes)", self.changes.len())
    }
}

impl Draft {
    pub fn apply_to(&self, committed: &Snapshot) -> Snapshot {
        let mut view = committed.clone();
        for c in &self.changes {
            view.version = c.stamp;
            (c.apply)(&mut view, c.stamp);
        }
        view
    }

    /// What its owner sees.
    pub fn view(&mut self, committed: &Arc<Snapshot>) -> Arc<Snapshot> {
        if let Some((view, base)) = &self.view
            && Arc::ptr_eq(base, committed)
        {
            return view.clone();
        }
        let view = Arc::new(self.apply_to(committed));
        self.view = Some((view.clone(), committed.clone()));
        view
    }
}

/// 2801: the statement begins again.
pub(crate) fn begin_again() -> SqlError {
    SqlError::new(&messages::DEFINITION_CHANGED, &[&"of the statement"]).with_state(2)
}

/// What was found is not what is there.
pub(crate) fn again() -> SqlError {
    doubt::note(Doubt::Over);
    begin_again()
}
