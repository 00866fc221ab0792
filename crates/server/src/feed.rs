//! The packets of a bulk load on their way from the worker that reads them to the one that loads them.
//!
//! Invariants:
//! 1. No more than [`FEED_BYTES_MAX`] and what one turn reads waits here: a full feed stops the
//!    reading of the socket, and TCP stops the client. [test: pieces_come_in_order_up_to_the_end_and_a_full_feed_says_so]
//! 2. A feed that has been given up (attention, the ignore bit, a lost client) gives nothing more but that.
//!    [test: who_gives_up_or_is_cancelled_ends_the_wait]

use std::collections::VecDeque;
use std::time::Duration;

use duramen_observe::WaitType;
use duramen_os::sync::{Condvar, Mutex};

use crate::backend::Cancel;

/// With more than this waiting, the socket is not read.
pub const FEED_BYTES_MAX: usize = 256 * 1024;
/// How soon a waiting worker sees that its request has been cancelled by other means than the client.
const GLANCE: Duration = Duration::from_millis(50);

/// What a worker gets.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// The message has ended well.
    End,
    /// The client wants no more of it.
    GivenUp,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Idle,
    Open,
    Ended,
    GivenUp,
}

#[derive(Default)]
struct State {
    phase: Phase,
    pieces: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The rest is read only to find its end.
    discarding: bool,
}

#[derive(Default)]
pub struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

impl Feed {
    /// A packet's body, as it is read. False when it does not follow on what came before.
    pub fn push(&self, body: Vec<u8>, first: bool, last: bool) -> bool {
        let mut state = self.state.lock();
        match (first, state.phase) {
            (true, Phase::Idle | Phase::GivenUp) => *state = State::default(),
            (false, Phase::Open) => {}
            _ => return false,
        }
        state.phase = if last { Phase::Ended } else { Phase::Open };
        if !state.discarding {
            state.bytes += body.len();
            state.pieces.push_back(body);
        }
        drop(state);
        self.changed.notify_all();
        true
    }

    /// The client gives up, or is gone.
    pub fn give_up(&self) {
        let mut state = self.state.lock();
        if state.phase != Phase::Idle {
            *state = State {
                phase: Phase::GivenUp,
                ..State::default()
            };
            self.changed.notify_all();
        }
    }

    pub fn is_full(&self) -> bool {
        self.state.lock().bytes > FEED_BYTES_MAX
    }

    /// Has who waits for a piece look whether it is still wanted.
    pub fn look(&self) {
        self.changed.notify_all();
    }

    /// The next piece, waited for; and whether the socket may be read again.
    pub fn take(&self, cancel: &Cancel) -> (Piece, bool) {
        let mut state = self.state.lock();
        let mut waiting = None;
        loop {
            if let Some(piece) = state.pieces.pop_front() {
                let full = state.bytes > FEED_BYTES_MAX;
                state.bytes -= piece.len();
                return (Piece::Bytes(piece), full && state.bytes <= FEED_BYTES_MAX);
            }
            match state.phase {
                Phase::Open if !cancel.is_set() => {}
                Phase::Ended => {
                    state.phase = Phase::Idle;
                    return (Piece::End, false);
                }
                Phase::Open | Phase::Idle => return (Piece::GivenUp, false),
                Phase::GivenUp => {
                    state.phase = Phase::Idle;
                    return (Piece::GivenUp, false);
                }
            }
            if waiting.is_none() {
                waiting = Some(duramen_observe::wait(WaitType::ASYNC_NETWORK_IO));
            }
            self.changed.wait_for(&mut state, GLANCE);
        }
    }

    /// Drops what is here and what still comes; returns at the end of it. `read_on`: the socket may be read again.
    pub fn discard(&self, cancel: &Cancel, read_on: impl FnOnce()) {
        {
            let mut state = self.state.lock();
            state.discarding = true;
            state.pieces.clear();
            state.bytes = 0;
        }
        read_on();
        while let (Piece::Bytes(_), _) = self.take(cancel) {}
        self.state.lock().discarding = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_order_up_to_the_end_and_a_full_feed_says_so() {
        let (feed, cancel) = (Feed::default(), Cancel::new());
        assert!(!feed.push(vec![1], false, false), "no beginning");
        assert!(feed.push(vec![1; FEED_BYTES_MAX], true, false) && !feed.is_full());
        assert!(feed.push(vec![2], false, false) && feed.is_full());
        assert!(!feed.push(vec![3], true, false), "two at once");
        assert!(feed.push(vec![4], false, true));
        let (piece, again) = feed.take(&cancel);
        assert_eq!(
            (piece, again),
            (Piece::Bytes(vec![1; FEED_BYTES_MAX]), true)
        );
        assert_eq!(feed.take(&cancel), (Piece::Bytes(vec![2]), false));
        assert_eq!(feed.take(&cancel), (Piece::Bytes(vec![4]), false));
        assert_eq!(feed.take(&cancel), (Piece::End, false));
        assert!(feed.push(vec![5], true, true), "the next one");
    }

    #[test]
    fn who_gives_up_or_is_cancelled_ends_the_wait() {
        let (feed, cancel) = (Feed::default(), Cancel::new());
        assert!(feed.push(vec![1], true, false));
        feed.give_up();
        assert_eq!(feed.take(&cancel), (Piece::GivenUp, false));
        assert!(feed.push(vec![1], true, false));
        feed.take(&cancel);
        cancel.set();
        assert_eq!(feed.take(&cancel), (Piece::GivenUp, false));
        cancel.clear();
        assert!(feed.push(vec![2], false, true));
        feed.discard(&cancel, || {});
        assert!(feed.push(vec![3], true, true), "the next one");
    }
}
