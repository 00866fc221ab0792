//! A session at work, and what a crash may take from it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use duramen_os::random::Rng;
use duramen_server::client::Stream;
use duramen_tds::client::Client;

use super::Durability;
use super::model::{Change, Model, statements};
use crate::process::ask;

const DEADLOCK: i32 = 1205;

/// A transaction that the session was told is committed.
#[derive(Clone, Debug)]
pub struct Committed {
    pub change: Change,
    /// Before its COMMIT left.
    pub sent: Instant,
    /// When the answer was there.
    pub answered: Instant,
}

/// A session at work until its connection breaks.
pub struct Writer {
    pub session: usize,
    pub durability: Durability,
    /// What it was told is committed.
    pub model: Model,
    pub acknowledged: u64,
    pub deadlocks: u64,
    /// Sent at that time, and not answered when the connection broke.
    pub pending: Option<(Change, Instant)>,
    /// What was there after the last start, and what came since.
    start: Model,
    since: Vec<Committed>,
}

/// What a crash made of a session's transactions since the start before it.
#[derive(Default)]
pub struct Settled {
    /// The request that was under way is there.
    pub pending_there: bool,
    pub kept: Vec<Committed>,
    pub lost: Vec<Committed>,
}

impl Writer {
    pub fn new(session: usize, durability: Durability) -> Writer {
        Writer {
            session,
            durability,
            model: Model::default(),
            acknowledged: 0,
            deadlocks: 0,
            pending: None,
            start: Model::default(),
            since: Vec::new(),
        }
    }

    pub fn work(
        &mut self,
        client: &mut Client<Stream>,
        rng: &mut Rng,
        stop: &AtomicBool,
    ) -> Result<(), String> {
        while !stop.load(Ordering::Acquire) {
            let change = self.model.next(rng, self.durability.share_over_two());
            let statements = statements(self.session, &change);
            let requests: Vec<String> = if change.stepwise {
                statements
            } else {
                vec![statements.join(";\n")]
            };
            let requests_last = requests.len() - 1;
            let mut failed = None;
            let mut sent = Instant::now();
            for (i, request) in requests.iter().enumerate() {
                sent = Instant::now();
                if i == requests_last && !change.rollback {
                    self.pending = Some((change.clone(), sent));
                }
                // A connection that breaks here was killed.
                let Ok(answer) = ask(client, request) else {
                    return Ok(());
                };
                if let Some(error) = answer.errors.first() {
                    failed = Some(error.clone());
                    break;
                }
            }
            self.pending = None;
            match failed {
                None if change.rollback => {}
                None => {
                    self.model.apply(&change);
                    self.acknowledged += 1;
                    self.since.push(Committed {
                        change,
                        sent,
                        answered: Instant::now(),
                    });
                }
                // The victim's transaction is rolled back whole: the same again.
                Some(error) if error.number == DEADLOCK => self.deadlocks += 1,
                // After SIGTERM the server may end requests as it likes; this one is pending no more.
                Some(_) if stop.load(Ordering::Acquire) => return Ok(()),
                Some(error) => return Err(format!("session {}: {error:?}", self.session)),
            }
        }
        Ok(())
    }

    /// After a start: `last` is the last transaction that is there. From now on the model is what there must be; whether
    /// that much may be lost is for the caller to say.
    pub fn settle(&mut self, last: i64) -> Settled {
        let mut settled = Settled::default();
        let there = |c: &Change| c.number <= last;
        let mut model = std::mem::take(&mut self.start);
        for committed in self.since.drain(..) {
            if there(&committed.change) {
                model.apply(&committed.change);
                settled.kept.push(committed);
            } else {
                settled.lost.push(committed);
            }
        }
        if let Some((change, sent)) = self.pending.take()
            && there(&change)
        {
            model.apply(&change);
            settled.pending_there = true;
            settled.kept.push(Committed {
                change,
                sent,
                answered: Instant::now(),
            });
        }
        self.start = model.clone();
        self.model = model;
        settled
    }
}
