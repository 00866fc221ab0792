//! How far the last words of a connection are.

use std::sync::atomic::{AtomicU8, Ordering};

/// How far the last words are that a lost connection gets. Not part of the connection's `state`: the gate says that a
/// connection is lost under its own lock, and the state's lock comes before that one.
#[derive(Default)]
pub struct Farewell(AtomicU8);

impl Farewell {
    pub const NONE: u8 = 0;
    pub const WANTED: u8 = 1;
    pub const BEGUN: u8 = 2;
    pub const SAID: u8 = 3;

    pub fn want(&self) {
        self.step(Farewell::NONE, Farewell::WANTED);
    }

    pub fn step(&self, from: u8, to: u8) -> bool {
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The words are still to be said: the connection stays open for them, though its session may have ended too.
    pub fn is_due(&self) -> bool {
        matches!(
            self.0.load(Ordering::Acquire),
            Farewell::WANTED | Farewell::BEGUN
        )
    }

    /// They have been said, or cannot be.
    pub fn said(&self) {
        self.0.store(Farewell::SAID, Ordering::Release);
    }
}
