//! A bounded queue between threads: many senders, many receivers.
//!
//! Built on this room's own mutex and conditions, so that it is simulated without further work. Every queue has a
//! bound (house rule): a sender that finds it full waits.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Condvar, Mutex};
use crate::time;

struct Shared<T> {
    state: Mutex<State<T>>,
    not_empty: Condvar,
    not_full: Condvar,
}

struct State<T> {
    queue: VecDeque<T>,
    bound: usize,
    senders: usize,
    receivers: usize,
}

/// The sending end; clone it for more senders.
pub struct Sender<T>(Arc<Shared<T>>);

/// The receiving end; clone it for more receivers (each item goes to one of them).
pub struct Receiver<T>(Arc<Shared<T>>);

/// All receivers are gone; the item comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendError<T>(pub T);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrySendError<T> {
    Full(T),
    Disconnected(T),
}

/// The queue is empty and all senders are gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecvError;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryRecvError {
    Empty,
    Disconnected,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecvTimeoutError {
    Timeout,
    Disconnected,
}

/// A queue of at most `bound` items (at least one).
pub fn channel<T>(bound: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            queue: VecDeque::new(),
            bound: bound.max(1),
            senders: 1,
            receivers: 1,
        }),
        not_empty: Condvar::new(),
        not_full: Condvar::new(),
    });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Waits for room.
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        let mut state = self.0.state.lock();
        loop {
            if state.receivers == 0 {
                return Err(SendError(item));
            }
            if state.queue.len() < state.bound {
                state.queue.push_back(item);
                drop(state);
                self.0.not_empty.notify_one();
                return Ok(());
            }
            self.0.not_full.wait(&mut state);
        }
    }

    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        let mut state = self.0.state.lock();
        if state.receivers == 0 {
            return Err(TrySendError::Disconnected(item));
        }
        if state.queue.len() >= state.bound {
            return Err(TrySendError::Full(item));
        }
        state.queue.push_back(item);
        drop(state);
        self.0.not_empty.notify_one();
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.0.state.lock().queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Receiver<T> {
    /// Waits for an item.
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(item) = state.queue.pop_front() {
                drop(state);
                self.0.not_full.notify_one();
                return Ok(item);
            }
            if state.senders == 0 {
                return Err(RecvError);
            }
            self.0.not_empty.wait(&mut state);
        }
    }

    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.state.lock();
        match state.queue.pop_front() {
            Some(item) => {
                drop(state);
                self.0.not_full.notify_one();
                Ok(item)
            }
            None if state.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        let deadline = time::now() + limit;
        let mut state = self.0.state.lock();
        loop {
            if let Some(item) = state.queue.pop_front() {
                drop(state);
                self.0.not_full.notify_one();
                return Ok(item);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            if time::now() >= deadline {
                return Err(RecvTimeoutError::Timeout);
            }
            self.0.not_empty.wait_until(&mut state, deadline);
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().receivers += 1;
        Receiver(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.senders -= 1;
        let last = state.senders == 0;
        drop(state);
        if last {
            self.0.not_empty.notify_all();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.receivers -= 1;
        // Nobody will take what is left; its destructors run outside the lock.
        let orphans = if state.receivers == 0 {
            std::mem::take(&mut state.queue)
        } else {
            VecDeque::new()
        };
        let last = state.receivers == 0;
        drop(state);
        if last {
            self.0.not_full.notify_all();
        }
        drop(orphans);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}
