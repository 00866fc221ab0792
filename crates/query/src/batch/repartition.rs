//! Rows that change threads between two parts of a plan (Parallelism(Repartition Streams)): each goes to the thread that
//! the hash of its key names, so that every key is one thread's alone.
//!
//! # Why
//! Threads that each group their own rows make a group as often as there are threads, and one thread puts all of them
//! together: 30 ns a group and thread, which that thread does alone, and the memory of all. Where there are nearly as many
//! groups as rows, sending the rows costs less: 10 ns each (3 for the hash, 2 a cell, the queue next to nothing), by all
//! threads; then there is nothing to put together, and who finds no memory uses files, as one thread would. The same goes
//! for the kept side of a hash join: 40 ns a row, by one thread where it is shared, by all where it is sent.
//!
//! # Invariants
//! 1. A receiver comes to its end only when every sender has said so. One that has gone without a word has panicked.
//!    [test: threads_that_send_rows_end_with_the_statement]
//! 2. Nobody waits for ever. A queue is bounded, its sender waits (CXPACKET) while it is full and hears when the receiver
//!    has gone; who waits for rows (CXCONSUMER) hears when the last sender has gone. Senders never wait for anybody else,
//!    and look for the statement's end between batches; receivers read what they wait for in one order, first all of the
//!    kept side. So whatever ends one thread ends the others. [test: a_lock_timeout_or_an_attention_ends_all_threads]
//! 3. A sender that fails tells every receiver, and the statement; so no group of some of its rows is ever given out.
//!    [test: an_error_in_a_thread_is_the_statements]

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::{WaitType, wait};
use duramen_os::sync::{Mutex, Receiver, Sender, TryRecvError, channel};
use duramen_types::CollationId;
use duramen_types::batch::{Batch, Column};

use super::helpers::give;
use super::{BATCH_ROWS, BatchOperator, keys};
use crate::cx::Cx;
use crate::profile::Watch;

/// Batches that a receiver's queue holds, for each sender.
const AHEAD: usize = 2;
/// Bytes of rows that a sender keeps for a receiver until there is a batch of them.
const BATCH_BYTES: usize = 256 << 10;

/// Rows that are sent together. Of many receivers each gets fewer: what waits at a time does not grow with their square.
fn batch_rows(receivers: usize) -> usize {
    (4 * BATCH_ROWS / receivers.max(1)).clamp(64, BATCH_ROWS)
}

enum Piece {
    Rows(Batch),
    Ended,
    Failed(SqlError),
}

/// The ways from some threads to others. Each thread takes its own end.
pub(super) struct Streams {
    senders: Vec<Mutex<Option<Outgoing>>>,
    receivers: Vec<Mutex<Option<Incoming>>>,
}

impl Streams {
    /// `place`: by what a profile knows them.
    pub fn new(senders: usize, receivers: usize, place: usize) -> Streams {
        let ways = (0..receivers).map(|_| channel(AHEAD * senders));
        let (to, from): (Vec<_>, Vec<_>) = ways.unzip();
        let outgoing = || Outgoing {
            to: to.clone(),
            pending: vec![Vec::new(); receivers],
            sizes: vec![(0, 0); receivers],
        };
        let incoming = |from| Incoming {
            from,
            left: senders,
            place,
            started: false,
        };
        Streams {
            senders: (0..senders).map(|_| Mutex::new(Some(outgoing()))).collect(),
            receivers: from
                .into_iter()
                .map(|from| Mutex::new(Some(incoming(from))))
                .collect(),
        }
    }

    /// The end of a sender, once.
    pub fn outgoing(&self, number: usize) -> SqlResult<Outgoing> {
        self.senders[number].lock().take().ok_or_else(internal)
    }

    /// The end of a receiver, once.
    pub fn incoming(&self, number: usize) -> SqlResult<Incoming> {
        self.receivers[number].lock().take().ok_or_else(internal)
    }

    /// Not all threads could be started: those that were find nobody at the other end.
    pub fn abandon(&self) {
        self.senders.iter().for_each(|s| drop(s.lock().take()));
        self.receivers.iter().for_each(|r| drop(r.lock().take()));
    }
}

fn internal() -> SqlError {
    SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])
}

/// Where a thread's rows go.
pub(super) struct Outgoing {
    to: Vec<Sender<Piece>>,
    /// Rows that do not fill a batch yet, by receiver.
    pending: Vec<Vec<Column>>,
    /// How many, and their bytes.
    sizes: Vec<(usize, usize)>,
}

impl Outgoing {
    /// Sends `n` rows of `columns`, each to the receiver of its key. An error: one of them is gone.
    pub fn put(
        &mut self,
        columns: &[Arc<Column>],
        (keys, collations): (&[Arc<Column>], &[CollationId]),
        n: usize,
    ) -> SqlResult<()> {
        let parts = keys::spread(keys, collations, n, self.to.len());
        let bytes: usize = columns.iter().map(|c| c.heap_bytes()).sum();
        let enough = batch_rows(self.to.len());
        for (at, rows) in parts.iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            let pending = &mut self.pending[at];
            match pending.is_empty() {
                true => *pending = columns.iter().map(|c| c.gather(rows)).collect(),
                false => {
                    for (all, new) in pending.iter_mut().zip(columns) {
                        all.append(&new.gather(rows));
                    }
                }
            }
            let (count, held) = &mut self.sizes[at];
            *count += rows.len();
            *held += bytes / n * rows.len();
            if *count >= enough || *held >= BATCH_BYTES {
                self.flush(at)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, at: usize) -> SqlResult<()> {
        let (rows, _) = std::mem::take(&mut self.sizes[at]);
        let columns = std::mem::take(&mut self.pending[at]);
        match rows {
            0 => Ok(()),
            n => {
                let columns = columns.into_iter().map(Arc::new).collect();
                give(&self.to[at], Piece::Rows(Batch::new(n, columns)))
            }
        }
    }

    /// That was all, or what went wrong: the receivers learn it too.
    pub fn end(mut self, sent: SqlResult<()>) -> SqlResult<()> {
        let all = 0..self.to.len();
        let sent = sent.and_then(|()| all.clone().try_for_each(|at| self.flush(at)));
        for to in &self.to {
            let last = match &sent {
                Ok(()) => Piece::Ended,
                Err(e) => Piece::Failed(e.clone()),
            };
            // One that is gone does not have to know.
            let _ = give(to, last);
        }
        sent
    }
}

/// Where a thread's rows come from.
pub(crate) struct Incoming {
    from: Receiver<Piece>,
    /// Senders that have not ended.
    left: usize,
    place: usize,
    started: bool,
}

impl Incoming {
    fn take(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        while self.left > 0 {
            cx.check_cancelled()?;
            let piece = match self.from.try_recv() {
                Ok(piece) => Some(piece),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => {
                    let _wait = wait(WaitType::CXCONSUMER);
                    self.from.recv().ok()
                }
            };
            match piece.ok_or_else(internal)? {
                Piece::Rows(batch) => return Ok(Some(batch)),
                Piece::Ended => self.left -= 1,
                Piece::Failed(e) => return Err(e),
            }
        }
        Ok(None)
    }
}

impl BatchOperator for Incoming {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let Some(profile) = cx.profile.clone() else {
            return self.take(cx);
        };
        let (watch, first) = (Watch::start(), !std::mem::replace(&mut self.started, true));
        let batch = self.take(cx);
        profile.note(self.place, cx, |counts| {
            watch.add_to(counts);
            counts.executions += u64::from(first);
            match &batch {
                Ok(Some(batch)) => counts.rows += batch.rows() as u64,
                Ok(None) => counts.ends = counts.executions,
                Err(_) => {}
            }
        });
        batch
    }
}
