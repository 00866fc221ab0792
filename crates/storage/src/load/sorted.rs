//! Entries of indexes in the order of each, a piece at a time.
//!
//! Where there are many, an exchange stands between two threads: the producer puts one index's entries in order, and gathers
//! them by column, while the consumer, which is the session's own thread, writes those of the index before. Locks, log and
//! pages are the consumer's alone. The producer waits (CXPACKET) while the consumer has pieces enough, the consumer
//! (CXCONSUMER) while there is none.

use std::sync::Arc;

use duramen_base::{SqlError, messages};
use duramen_observe::{WaitType, wait};
use duramen_os::sync::{Receiver, Sender, TryRecvError, TrySendError, channel};
use duramen_os::thread;
use duramen_types::batch::Column;

use crate::rowset::Rowset;

/// Entries of a piece, at most.
const ROWS: usize = 8192;

/// The entries of an index as they came.
pub struct Unsorted {
    pub rowset: Rowset,
    pub columns: Vec<Arc<Column>>,
    pub rows: usize,
}

/// Entries from which on a second thread is worth it.
const MANY: usize = 50_000;
/// Pieces that the producer may be ahead.
const AHEAD: usize = 8;

/// Some entries of the index with this number, in order.
struct Piece {
    index: usize,
    columns: Vec<Arc<Column>>,
    rows: usize,
}

impl Unsorted {
    /// Gives the pieces to `give` until that says no more.
    fn pieces(&self, index: usize, mut give: impl FnMut(Piece) -> bool) -> bool {
        if self.rows == 0 {
            return true;
        }
        let order = self.rowset.order_of(&self.columns, self.rows);
        order.chunks(ROWS).all(|some| {
            let columns = self.columns.iter().map(|c| Arc::new(c.gather(some)));
            give(Piece {
                index,
                columns: columns.collect(),
                rows: some.len(),
            })
        })
    }
}

/// Gives `write` the entries of each index, in its order: the index's number, columns, rows. `parallel`: a second thread
/// may help.
pub fn write_sorted<E: From<SqlError>>(
    unsorted: Vec<Unsorted>,
    parallel: bool,
    mut write: impl FnMut(usize, &[Arc<Column>], usize) -> Result<(), E>,
) -> Result<(), E> {
    let rows: usize = unsorted.iter().map(|u| u.rows).sum();
    let parallel = parallel && rows >= MANY && thread::available_parallelism() > 1;
    if !parallel {
        return serially(&unsorted, write);
    }
    let unsorted = Arc::new(unsorted);
    let (to, from) = channel(AHEAD);
    let all = unsorted.clone();
    let Ok(producer) = thread::try_spawn("index sort", move || produce(&all, &to)) else {
        return serially(&unsorted, write);
    };
    let mut done = Ok(());
    while let Some(piece) = next(&from) {
        done = write(piece.index, &piece.columns, piece.rows);
        if done.is_err() {
            break;
        }
    }
    // Nobody takes pieces any more: the producer ends, too.
    drop(from);
    let ended = producer.join();
    done?;
    match ended {
        Ok(true) => Ok(()),
        _ => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into()),
    }
}

fn serially<E>(
    unsorted: &[Unsorted],
    mut write: impl FnMut(usize, &[Arc<Column>], usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = Ok(());
    for (index, entries) in unsorted.iter().enumerate() {
        let wanted = entries.pieces(index, |piece| {
            done = write(piece.index, &piece.columns, piece.rows);
            done.is_ok()
        });
        if !wanted {
            break;
        }
    }
    done
}

/// False when nobody wanted all of it.
fn produce(unsorted: &[Unsorted], to: &Sender<Piece>) -> bool {
    let give = |piece| match to.try_send(piece) {
        Ok(()) => true,
        Err(TrySendError::Full(piece)) => {
            let _wait = wait(WaitType::CXPACKET);
            to.send(piece).is_ok()
        }
        Err(TrySendError::Disconnected(_)) => false,
    };
    let mut indexes = unsorted.iter().enumerate();
    indexes.all(|(index, entries)| entries.pieces(index, give))
}

/// The next piece; `None` at the end.
fn next(from: &Receiver<Piece>) -> Option<Piece> {
    match from.try_recv() {
        Ok(piece) => Some(piece),
        Err(TryRecvError::Disconnected) => None,
        Err(TryRecvError::Empty) => {
            let _wait = wait(WaitType::CXCONSUMER);
            from.recv().ok()
        }
    }
}
