//! Recursive common table expressions: the anchor's rows, then round after round what the members make of the round before.
//!
//! Only one round is kept, and what finds no room of it waits in a file. Rows go out as they are made.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};

use crate::cx::Cx;
use crate::exec::{BATCH_ROWS, Operator, open};
use crate::kept::{Spool, SpoolReader, Spooled};
use crate::plan::{Plan, Row};

pub struct Recursion<'p> {
    anchor: &'p Plan,
    members: &'p [Plan],
    id: u64,
    /// Rounds at most; 0 for no limit.
    limit: u64,
    rounds: u64,
    /// The round that is being made.
    making: Spool,
    /// The round before, which the members read.
    before: Option<Arc<Spooled>>,
    /// What is running: the anchor, or a member.
    running: Option<Operator<'p>>,
    /// Members of this round that have begun.
    begun: usize,
    ended: bool,
}

impl<'p> Recursion<'p> {
    pub fn new(
        anchor: &'p Plan,
        members: &'p [Plan],
        (id, limit): (u64, u64),
        cx: &mut Cx<'_>,
    ) -> SqlResult<Recursion<'p>> {
        Ok(Recursion {
            running: Some(open(anchor, cx)?),
            anchor,
            members,
            id,
            limit,
            rounds: 0,
            making: Spool::new(&anchor.columns),
            before: None,
            begun: 0,
            ended: false,
        })
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        if self.ended {
            return Ok(None);
        }
        // A recursion within a subquery of its own members has the same work table.
        let outside = cx.work.remove(&self.id);
        if let Some(rows) = &self.before {
            cx.work.insert(self.id, rows.clone());
        }
        let next = self.next_within(cx);
        match outside {
            Some(rows) => cx.work.insert(self.id, rows),
            None => cx.work.remove(&self.id),
        };
        next
    }

    fn next_within(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        loop {
            cx.check_cancelled()?;
            if let Some(running) = &mut self.running {
                if let Some(rows) = running.next(cx)? {
                    if self.making.is_empty() && self.before.is_some() {
                        self.another_round()?;
                    }
                    self.making.put(rows.clone(), cx)?;
                    return Ok(Some(rows));
                }
                self.running = None;
            }
            if self.before.is_none() || self.begun == self.members.len() {
                let made = std::mem::replace(&mut self.making, Spool::new(&self.anchor.columns));
                if made.is_empty() {
                    self.ended = true;
                    return Ok(None);
                }
                let made = Arc::new(made.finish()?);
                cx.work.insert(self.id, made.clone());
                self.before = Some(made);
                self.begun = 0;
            }
            self.running = Some(open(&self.members[self.begun], cx)?);
            self.begun += 1;
        }
    }

    /// The first row of a round has come.
    fn another_round(&mut self) -> SqlResult<()> {
        self.rounds += 1;
        if self.limit > 0 && self.rounds > self.limit {
            let limit = self.limit;
            return Err(SqlError::new(&messages::MAXRECURSION_EXHAUSTED, &[&limit]));
        }
        Ok(())
    }
}

/// The rows of the last round of a running recursion.
pub fn work_table(id: u64, cx: &Cx<'_>) -> Option<SpoolReader> {
    cx.work.get(&id).cloned().map(SpoolReader::new)
}

/// Some of them.
pub fn next_of(reader: &mut Option<SpoolReader>) -> SqlResult<Option<Vec<Row>>> {
    match reader {
        Some(reader) => reader.next(BATCH_ROWS),
        None => Ok(None),
    }
}
