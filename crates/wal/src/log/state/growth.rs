//! The growth under way, and those to come.

use crate::log::ahead::Demand;

/// Whether a growth runs, who waits for it, and what the next ones are to be.
#[derive(Debug)]
pub(in crate::log) struct Growth {
    /// One runs, or a file is added or cut: no other begins.
    pub running: bool,
    /// Which file grows, and whether that began in the background.
    pub file: usize,
    pub preparing: bool,
    /// Threads that wait for it.
    pub waiters: usize,
    /// Background growth has been asked for; stays set when it failed, until something is truncated.
    pub prepare: bool,
    /// The flusher shall start it.
    pub start: bool,
    /// Increments per growth: doubles whenever somebody had to wait for one.
    pub ahead: u64,
    pub demand: Demand,
    /// The disk had no room for the last growth.
    pub no_space: bool,
}

impl Growth {
    pub fn new() -> Growth {
        Growth {
            running: false,
            file: 0,
            preparing: false,
            waiters: 0,
            prepare: false,
            start: false,
            ahead: 1,
            demand: Demand::default(),
            no_space: false,
        }
    }

    pub fn begin(&mut self, file: usize, in_background: bool) {
        self.running = true;
        self.file = file;
        self.preparing = in_background;
    }

    /// Whether this file grows now, and that began in the background.
    pub fn prepares(&self, file: usize) -> bool {
        self.running && self.preparing && self.file == file
    }

    /// Asks for background growth. Whoever does wakes the flusher.
    pub fn ask(&mut self) {
        self.prepare = true;
        self.start = true;
    }
}
