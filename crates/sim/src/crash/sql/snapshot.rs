//! What a transaction under SNAPSHOT, or a statement that reads by versions, may see of others.
//!
//! Rows belong to sessions, and each session commits one transaction after the other: of each session what is seen is one of
//! the states that were committed when the snapshot may have been taken. Which of two sessions came first is not known, so
//! each is looked at by itself; what one look has ruled out stays so for the next.

use duramen_types::Value;

use super::fault::Fault;
use super::found;
use super::model::{At, Filter, Model};
use super::world::SESSIONS;

#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    states: Vec<Model>,
    /// By session: those that it may be.
    left: Vec<Vec<usize>>,
    /// It has been taken.
    taken: bool,
}

impl Snapshot {
    /// Of these states.
    pub fn of(states: &[Model]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        states.iter().for_each(|s| snapshot.may_be(s));
        snapshot
    }

    /// If it has not been taken before, it may be this.
    pub fn may_be(&mut self, state: &Model) {
        if !self.taken && self.states.last() != Some(state) {
            self.left.resize(SESSIONS, Vec::new());
            self.left.iter_mut().for_each(|l| l.push(self.states.len()));
            self.states.push(state.clone());
        }
    }

    pub fn is_taken(&self) -> bool {
        self.taken
    }

    /// A statement has read or changed something.
    pub fn take(&mut self) {
        self.taken = true;
    }

    /// Compares what was read of a table with what may be there of each session; the own rows are those of `view`.
    pub fn look(
        &mut self,
        who: usize,
        view: &Model,
        (at, filter): (&At, &Filter),
        rows: &[Vec<Value>],
    ) -> Option<Fault> {
        for session in 0..SESSIONS {
            let whose = |id: i64| id.rem_euclid(SESSIONS as i64) == session as i64;
            let of_row = |r: &Vec<Value>| r.first().and_then(Value::as_i64).unwrap_or(-1);
            let read: Vec<Vec<Value>> = rows.iter().filter(|r| whose(of_row(r))).cloned().collect();
            let differs = |model: &Model| {
                let table = model.table(at).map(|t| (**t).clone()).unwrap_or_default();
                let must = table.rows.iter();
                let must = must.filter(|(id, _)| whose(**id) && filter.takes(**id));
                found::differ(&at.sql(), &read, must)
            };
            if session == who {
                if let Some(fault) = differs(view) {
                    return Some(fault);
                }
                continue;
            }
            let mut first = None;
            let states = &self.states;
            self.left[session].retain(|s| match differs(&states[*s]) {
                None => true,
                Some(fault) => {
                    first.get_or_insert(fault);
                    false
                }
            });
            if self.left[session].is_empty() {
                return first;
            }
        }
        None
    }
}
