//! Global temporary tables and procedures: whose they are, and who keeps them.
//!
//! One goes with the session that made it, whoever has used it; where others have changed it in transactions that are open, or
//! are about to, with the last of those. Until then nobody begins anything with it.

use std::collections::{BTreeMap, BTreeSet};

use duramen_os::thread::JoinHandle;

use super::life::{Life, Who};
use super::model::{At, GLOBAL, Model, Op};
use super::step::Batch;

/// The global temporary objects of a life, as operations touch them.
#[derive(Default)]
pub struct Globals {
    /// Whose each is.
    of: BTreeMap<At, usize>,
    /// Those of sessions that have gone.
    left: BTreeSet<At>,
}

impl Globals {
    /// A session has committed something.
    pub fn note(&mut self, who: usize, op: &Op) {
        let (makes, drops) = match op {
            Op::Create { .. } | Op::Into { .. } => (true, false),
            Op::Drop { .. } => (false, true),
            Op::Other { text, replaces, .. } => (text.is_some() && !replaces, text.is_none()),
            _ => return,
        };
        let Some((at, _)) = op.touches().into_iter().next().filter(|t| t.0.is_global()) else {
            return;
        };
        if makes {
            self.of.insert(at, who);
        } else if drops {
            self.of.remove(&at);
            self.left.remove(&at);
        }
    }
}

/// Whether a session has changed it in a transaction that is open, or is about to.
fn keeps(w: &Who, at: &At) -> bool {
    let open = w.txn.iter().flat_map(|t| t.ops.iter().chain(&t.undone));
    let open = open.flat_map(Op::touches);
    let busy = w.busy.iter().flat_map(|b| b.batch.touches());
    open.chain(busy).any(|(touched, _)| touched.meets(at))
}

/// Takes one out of the model.
fn remove(model: &mut Model, at: &At) {
    let Some(db) = model.dbs.get_mut(GLOBAL) else {
        return;
    };
    match at.table.split_once(' ') {
        Some((kind, name)) => drop(db.others.remove(&(kind.to_owned(), name.to_owned()))),
        None => drop(db.tables.remove(&at.table)),
    }
}

impl Life<'_> {
    /// Others keep something that this session has made.
    pub fn is_kept_by_others(&self, who: usize) -> bool {
        let others = self.who.iter().enumerate().filter(|(n, _)| *n != who);
        let own = self.globals.of.iter().filter(|(_, of)| **of == who);
        let mut own = own.map(|(at, _)| at);
        own.any(|at| others.clone().any(|(_, w)| keeps(w, at)))
    }

    /// A session has gone.
    pub fn leave_globals(&mut self, who: usize) {
        let globals = &mut self.globals;
        let own = globals.of.iter().filter(|(_, of)| **of == who);
        let own: Vec<At> = own.map(|(at, _)| at.clone()).collect();
        globals.of.retain(|_, of| *of != who);
        globals.left.extend(own);
        self.reap_globals();
    }

    /// What nobody keeps any more is gone.
    pub fn reap_globals(&mut self) {
        let who = &self.who;
        let kept = |at: &At| who.iter().any(|w| keeps(w, at));
        let (left, gone): (BTreeSet<At>, BTreeSet<At>) = std::mem::take(&mut self.globals.left)
            .into_iter()
            .partition(kept);
        self.globals.left = left;
        for at in &gone {
            remove(&mut self.world.model, at);
        }
    }

    /// Nobody knows what it would find: what it names is about to go.
    pub fn meets_going(&self, batch: &Batch) -> bool {
        let is_going =
            !self.globals.left.is_empty() || !self.leaving.iter().all(JoinHandle::is_finished);
        is_going && batch.touches().iter().any(|(at, _)| at.is_global())
    }

    /// It is about something that goes, whoever still uses it.
    pub fn is_of_going(&self, op: &Op) -> bool {
        let touched = op.touches();
        touched.iter().any(|(at, _)| self.globals.left.contains(at))
    }
}
