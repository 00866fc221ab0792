//! Entries of indexes in the order of each, a piece at a time.
//!
//! Where there are many, an exchange stands between two threads: the producer puts one index's entries in order, and gathers
//! them by column, while the consumer, which is the session's own thread, writes those of the index before. Locks, log and
//! pages are the consumer's alone. The producer waits (CXPACKET) while the consumer has pieces enough, the consumer
//! (CXCONSUMER) while there is none.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult};
use duramen_observe::{WaitType, wait};
use duramen_os::sync::{Mutex, Receiver, TryRecvError, TrySendError, channel};
use duramen_os::thread;
use duramen_types::batch::Column;
use duramen_types::{SqlType, Value};

use super::helpers::{self, internal};
use super::order::KeyColumns;
use crate::rowset::Rowset;

/// Entries of a piece, at most, and bytes about which it ends: several are on their way at a time.
pub(super) const ROWS: usize = 8192;
pub(super) const BYTES: usize = 512 << 10;

/// How many rows go into a piece, where all of them take `bytes`.
pub(super) fn together(bytes: usize, rows: usize) -> usize {
    (BYTES.saturating_mul(rows) / bytes.max(1)).clamp(1, ROWS)
}

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
/// Bytes of those, about.
pub(super) const ON_THEIR_WAY: usize = AHEAD * BYTES;

/// Some entries of the index with this number, in order.
struct Piece {
    index: usize,
    columns: Vec<Arc<Column>>,
    rows: usize,
}

impl Unsorted {
    /// Gives the pieces to `give` until that says no more. `numbered`: the last column numbers rows that have the same key.
    fn pieces(
        self,
        index: usize,
        (threads, numbered): (usize, bool),
        mut give: impl FnMut(Piece) -> bool,
    ) -> SqlResult<bool> {
        if self.rows == 0 {
            return Ok(true);
        }
        let columns = Arc::new(self.columns);
        let order = self.rowset.order_of(&columns, self.rows, threads)?;
        let keys = KeyColumns::new(&self.rowset, &columns);
        let mut before: Option<(u32, i32)> = None;
        let bytes = columns.iter().map(|c| c.heap_bytes()).sum();
        let together = together(bytes, self.rows);
        Ok(order.chunks(together).all(|some| {
            let mut cells: Vec<Arc<Column>> =
                columns.iter().map(|c| Arc::new(c.gather(some))).collect();
            if numbered && let Some(last) = cells.last_mut() {
                let mut numbers = Column::of(&SqlType::INT);
                for row in some {
                    let number = match before {
                        Some((last, n)) if keys.cmp(last as usize, *row as usize).is_eq() => n + 1,
                        _ => 0,
                    };
                    numbers.push(Value::Int(number));
                    before = Some((*row, number));
                }
                *last = Arc::new(numbers);
            }
            give(Piece {
                index,
                columns: cells,
                rows: some.len(),
            })
        }))
    }
}

/// Gives `write` the entries of each index, in its order: the index's number, columns, rows. `threads`: how many may work
/// on it, the calling one included.
pub fn write_sorted<E: From<SqlError>>(
    unsorted: Vec<Unsorted>,
    threads: usize,
    write: impl FnMut(usize, &[Arc<Column>], usize) -> Result<(), E>,
) -> Result<(), E> {
    let rows: usize = unsorted.iter().map(|u| u.rows).sum();
    let many = rows >= MANY && thread::available_parallelism() > 1;
    write_pieces(unsorted, (if many { threads } else { 1 }, false), write)
}

/// `write_sorted`; `numbered`: the last column is a uniquifier, and is made on the way.
pub(super) fn write_pieces<E: From<SqlError>>(
    unsorted: Vec<Unsorted>,
    (threads, numbered): (usize, bool),
    mut write: impl FnMut(usize, &[Arc<Column>], usize) -> Result<(), E>,
) -> Result<(), E> {
    exchanged(threads > 1, write_piece(&mut write), move |give| {
        let mut indexes = unsorted.into_iter().enumerate();
        indexes.try_fold(true, |wanted, (index, entries)| match wanted {
            true => entries.pieces(index, (threads, numbered), &mut *give),
            false => Ok(false),
        })
    })
}

fn write_piece<E>(
    write: &mut impl FnMut(usize, &[Arc<Column>], usize) -> Result<(), E>,
) -> impl FnMut(Piece) -> Result<(), E> {
    |piece| write(piece.index, &piece.columns, piece.rows)
}

/// Gives `write` what `produce` gives, which says whether somebody wanted all of it: from a thread of its own when
/// `parallel`.
pub(super) fn exchanged<T, E, P>(
    parallel: bool,
    mut write: impl FnMut(T) -> Result<(), E>,
    produce: P,
) -> Result<(), E>
where
    T: Send + 'static,
    E: From<SqlError>,
    P: FnOnce(&mut dyn FnMut(T) -> bool) -> SqlResult<bool> + Send + 'static,
{
    if !parallel {
        return here(write, produce);
    }
    let (to, from) = channel(AHEAD);
    let task = Arc::new(Mutex::new(Some(produce)));
    let own = task.clone();
    let producer = helpers::start("index sort", 1, move || {
        let Some(produce) = own.lock().take() else {
            return Ok(true);
        };
        produce(&mut |piece| match to.try_send(piece) {
            Ok(()) => true,
            Err(TrySendError::Full(piece)) => {
                let _wait = wait(WaitType::CXPACKET);
                to.send(piece).is_ok()
            }
            Err(TrySendError::Disconnected(_)) => false,
        })
    });
    let Ok(producer) = producer else {
        // The system refuses a thread.
        let produce = task.lock().take();
        return produce.map_or(Ok(()), |produce| here(write, produce));
    };
    let mut done = Ok(());
    while let Some(piece) = next(&from) {
        done = write(piece);
        if done.is_err() {
            break;
        }
    }
    // Nobody takes pieces any more: the producer ends, too.
    drop(from);
    let ended = producer.join();
    done?;
    match ended?? {
        true => Ok(()),
        false => Err(internal().into()),
    }
}

fn here<T, E: From<SqlError>>(
    mut write: impl FnMut(T) -> Result<(), E>,
    produce: impl FnOnce(&mut dyn FnMut(T) -> bool) -> SqlResult<bool>,
) -> Result<(), E> {
    let mut done = Ok(());
    let produced = produce(&mut |piece| {
        done = write(piece);
        done.is_ok()
    });
    done?;
    produced?;
    Ok(())
}

/// The next piece; `None` at the end.
fn next<T>(from: &Receiver<T>) -> Option<T> {
    match from.try_recv() {
        Ok(piece) => Some(piece),
        Err(TryRecvError::Disconnected) => None,
        Err(TryRecvError::Empty) => {
            let _wait = wait(WaitType::CXCONSUMER);
            from.recv().ok()
        }
    }
}
