//! What operators did in one execution of a statement: how many rows they gave and how often they were started. Counted while
//! somebody asks for it (SET STATISTICS XML, SET STATISTICS PROFILE): without a [`Profile`] in the context no operator is
//! wrapped, and nothing is counted.
//!
//! An operator is known by the place of its plan in memory, which is that of the plan that is shown afterwards. Whoever is
//! asked for a profile runs on one thread: helpers work on plans of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_os::sync::Mutex;
use duramen_types::batch::Batch;

use crate::batch::BatchOperator;
use crate::cx::Cx;
use crate::plan::Plan;

/// Of one operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: u64,
    pub executions: u64,
    /// Executions that came to their end.
    pub ends: u64,
}

/// Of the operators of a statement, by the places of their plans.
#[derive(Debug, Default)]
pub struct Profile(Mutex<BTreeMap<usize, Counts>>);

/// By what a plan is known.
pub(crate) fn place(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

impl Profile {
    /// What the operator did; `None` when nobody has counted.
    pub fn of(&self, place: usize) -> Option<Counts> {
        self.0.lock().get(&place).copied()
    }

    pub(crate) fn begins(&self, place: usize) {
        self.0.lock().entry(place).or_default().executions += 1;
    }

    /// So many rows have come; `None`: that was the end.
    pub(crate) fn gives(&self, place: usize, rows: Option<usize>) {
        let mut all = self.0.lock();
        let counts = all.entry(place).or_default();
        match rows {
            Some(n) => counts.rows += n as u64,
            None => counts.ends += 1,
        }
    }
}

/// An operator over columns whose rows are counted.
pub(crate) struct Counted<'p> {
    input: Box<dyn BatchOperator + 'p>,
    profile: Arc<Profile>,
    place: usize,
    ended: bool,
}

/// Counts what an operator over columns gives, when somebody asks.
pub(crate) fn counted<'p>(
    input: Box<dyn BatchOperator + 'p>,
    plan: &Plan,
    cx: &Cx<'_>,
) -> Box<dyn BatchOperator + 'p> {
    match &cx.profile {
        None => input,
        Some(profile) => {
            profile.begins(place(plan));
            Box::new(Counted {
                input,
                profile: profile.clone(),
                place: place(plan),
                ended: false,
            })
        }
    }
}

impl BatchOperator for Counted<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let batch = self.input.next(cx)?;
        match &batch {
            Some(batch) => self.profile.gives(self.place, Some(batch.rows())),
            None if self.ended => {}
            None => {
                self.ended = true;
                self.profile.gives(self.place, None);
            }
        }
        Ok(batch)
    }
}
