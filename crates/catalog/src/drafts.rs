//! What open transactions have defined: each sees its own changes over what is committed, nobody else does.
//!
//! ```text
//!   committed snapshot  <- everybody           draft of A: changes, in order
//!                                              A's view = committed + A's changes, made when A looks
//! ```
//!
//! A change is kept as what it does to a snapshot. At the commit it is done to the committed one, at a rollback dropped:
//! rows are never read again for it, since others may be at work in them.
//!
//! Invariants
//! 1. The committed snapshot has no uncommitted change, and all committed ones from before their locks are given back.
//!    [test: nobody_sees_or_uses_what_another_has_not_committed]
//! 2. A stamp (`TableDef::version`, `ModuleDef::version`) stands for one definition, whatever is rolled back.
//!    [test: a_rollback_takes_ddl_back]
//! 3. The version that a viewer with a draft has is nobody else's, and none that anybody has had before.
//!    [test: nobody_sees_or_uses_what_another_has_not_committed]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, SqlResult};
use duramen_txn::definitions::{Definitions, viewer_draft};
use duramen_txn::{
    LockDuration, LockMode, LockOutcome, LockOwner, Resource, SavePoint, Transaction,
};

use crate::catalog::CatalogDb;
use crate::claims::Claim;
use crate::doubt::{self, Doubt};
use crate::draft::{Change, Draft, begin_again};
use crate::snapshot::Snapshot;

/// A version that only a viewer with a draft can have: its own number, and what others have committed meanwhile.
pub fn version_of_draft(stamp: u64, committed: u64) -> u64 {
    1 << 63 | (stamp & 0x7fff_ffff) << 32 | committed & 0xffff_ffff
}

impl CatalogDb {
    fn is_temporary(&self) -> bool {
        self.database().id == DbId::TEMPDB
    }

    /// Changes definitions as the rows were changed, in the name of `tx`: others see it when that commits. The stamp of the
    /// change. `change` may be done again, to later snapshots.
    pub(crate) fn patch(
        &self,
        tx: &Transaction,
        change: impl Fn(&mut Snapshot, u64) + Send + Sync + 'static,
    ) -> u64 {
        tx.defines();
        if let Some(me) = self.me.upgrade() {
            tx.note_definitions(me);
        }
        let mut state = self.state.lock();
        state.stamp += 1;
        let stamp = state.stamp;
        // Nobody has looked yet: who does so first reads the rows.
        let Some(committed) = state.committed.clone() else {
            return stamp;
        };
        if planted::on(Bug::NameBeforeLock) {
            let mut seen = Snapshot::clone(&committed);
            change(&mut seen, stamp);
            state.show(Some(Arc::new(seen)));
        }
        let draft = state.drafts.entry(tx.owner.id()).or_insert_with(|| Draft {
            owner: tx.owner.clone(),
            changes: Vec::new(),
            view: Some((committed.clone(), committed)),
        });
        if let Some((view, _)) = &mut draft.view {
            let view = Arc::make_mut(view);
            view.version = stamp;
            change(view, stamp);
        }
        draft.changes.push(Change {
            number: tx.points(),
            stamp,
            apply: Box::new(change),
        });
        let engine = &self.database().engine;
        tx.owner.set_draft(self.is_temporary(), engine.next_draft());
        stamp
    }

    /// The version that goes with what the viewer sees.
    pub fn version(&self) -> u64 {
        let committed = self.version.load(Ordering::Acquire);
        match viewer_draft(self.is_temporary()) {
            0 => committed,
            stamp => version_of_draft(stamp, committed),
        }
    }

    /// Takes a lock on definitions for the transaction's life.
    fn lock_definition(
        &self,
        tx: &Transaction,
        resource: &Resource,
        mode: LockMode,
    ) -> SqlResult<LockOutcome> {
        let locks = &self.database().engine.locks;
        let duration = LockDuration::Normal;
        locks
            .lock(&tx.owner, resource, mode, duration, tx.lock_timeout())
            .map_err(|e| duramen_storage::lock_error(e, tx))
    }

    /// Claims a name for `tx`, with Sch-M on what it names. An error when somebody else has it or has had it meanwhile:
    /// the statement has to begin again (there is a [`Doubt`]).
    pub(crate) fn claim(
        &self,
        tx: &Transaction,
        claims: impl IntoIterator<Item = Claim>,
        resource: Resource,
    ) -> SqlResult<()> {
        let outcome = self.lock_definition(tx, &resource, LockMode::SchM)?;
        if outcome.waited {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        self.claim_locked(tx, claims, resource)
    }

    /// The same where `tx` has the lock.
    pub(crate) fn claim_locked(
        &self,
        tx: &Transaction,
        claims: impl IntoIterator<Item = Claim>,
        resource: Resource,
    ) -> SqlResult<()> {
        tx.defines();
        if let Some(me) = self.me.upgrade() {
            tx.note_definitions(me);
        }
        let (owner, number) = (tx.owner.id(), tx.points());
        let mut claims = claims.into_iter();
        match claims.all(|c| self.claims.take(c, owner, number, resource)) {
            true => Ok(()),
            false => Err(begin_again()),
        }
    }

    /// A number for a new thing of a kind, above all that are there and all that others are just giving out.
    pub(crate) fn claim_number(
        &self,
        tx: &Transaction,
        (table, class, first): (i32, i64, i32),
        last: impl Fn(&Snapshot) -> Option<i32>,
    ) -> SqlResult<i32> {
        let least = last(&*self.seen_by(tx)?)
            .map_or(first, |n| n + 1)
            .max(first);
        tx.defines();
        if let Some(me) = self.me.upgrade() {
            tx.note_definitions(me);
        }
        let (owner, number) = (tx.owner.id(), tx.points());
        let kind = (table, class, least);
        let of = |id| self.metadata(table, class, id);
        Ok(self.claims.take_number(kind, owner, number, of))
    }

    /// What stands for a thing that is no object in locks: the class is its base table's, with the class of its row.
    pub(crate) fn metadata(&self, table: i32, class: i64, id: i32) -> Resource {
        let class = (table as u32) << 8 | (class as u32 & 0xff);
        Resource::Metadata(self.database().id, class, id as u32 as u64)
    }

    /// Rows of a class about one thing belong to `tx`: they are found again and written by what was read, which nobody else
    /// may be changing.
    pub(crate) fn claim_rows(
        &self,
        tx: &Transaction,
        table: i32,
        class: i64,
        of: i32,
    ) -> SqlResult<()> {
        self.claim(tx, [], self.metadata(table, class, of))
    }

    /// What `tx` defines uses a thing that must stay what it is until `tx` ends: Sch-S. `still` says whether it is there.
    pub(crate) fn hold(
        &self,
        tx: &Transaction,
        resource: Resource,
        still: impl Fn(&Snapshot) -> bool,
    ) -> SqlResult<()> {
        let outcome = self.lock_definition(tx, &resource, LockMode::SchS)?;
        if outcome.waited || !still(&*self.seen_by(tx)?) {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        Ok(())
    }

    /// What is being taken away is used by nothing, now that nobody can begin to use it.
    pub(crate) fn unused(
        &self,
        tx: &Transaction,
        used: impl Fn(&Snapshot) -> bool,
    ) -> SqlResult<()> {
        match used(&*self.seen_by(tx)?) {
            false => Ok(()),
            true => {
                doubt::note(Doubt::Over);
                Err(begin_again())
            }
        }
    }

    /// Whether the definitions that everybody sees are those of the rows; what is not, in words. Nothing may be open.
    pub fn differs_from_rows(&self) -> SqlResult<Option<String>> {
        let committed = self.snapshot()?;
        let read = self.read_rows(0)?;
        Ok(committed.differs(&read))
    }
}

impl Definitions for CatalogDb {
    fn committed(&self, owner: &LockOwner) {
        let engine = &self.database().engine;
        let temporary = self.is_temporary();
        let mut state = self.state.lock();
        if let Some(draft) = state.drafts.remove(&owner.id())
            && let Some(committed) = state.committed.clone()
        {
            let next = match &draft.view {
                Some((view, base)) if Arc::ptr_eq(base, &committed) => view.clone(),
                _ => Arc::new(draft.apply_to(&committed)),
            };
            state.show(Some(next));
            for other in state.drafts.values_mut() {
                other.view = None;
                other.owner.set_draft(temporary, engine.next_draft());
            }
            state.stamp += 1;
            self.version.store(state.stamp, Ordering::Release);
            engine.definitions_changed(self.database().id);
        }
        owner.set_draft(temporary, 0);
        drop(state);
        self.claims.give_back(owner.id(), None);
    }

    fn undone(&self, owner: &LockOwner, to: Option<&SavePoint>) {
        let temporary = self.is_temporary();
        let mut state = self.state.lock();
        match to {
            None => {
                state.drafts.remove(&owner.id());
                owner.set_draft(temporary, 0);
            }
            Some(point) => {
                if let Some(draft) = state.drafts.get_mut(&owner.id()) {
                    draft.changes.retain(|c| c.number < point.number());
                    draft.view = None;
                    owner.set_draft(temporary, self.database().engine.next_draft());
                }
            }
        }
        drop(state);
        self.claims.give_back(owner.id(), to.map(SavePoint::number));
    }
}
