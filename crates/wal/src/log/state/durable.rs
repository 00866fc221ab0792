//! How far the log is durable, and how far it shall be.

use duramen_base::Lsn;

use crate::log::gather::Gather;
use crate::log::sleepers::Sleepers;

/// The durable prefix, and who waits for it to move (their methods are in [`crate::log::sleepers`]).
#[derive(Debug)]
pub(in crate::log) struct Durable {
    /// The last record of it.
    pub lsn: Lsn,
    /// Where the first block begins that is not in it.
    pub end: (u32, u32),
    /// Everything up to here should be made durable.
    pub wanted: Lsn,
    /// Threads that wait, first come first.
    pub sleepers: Sleepers,
    /// Who of them will be back soon.
    pub gather: Gather,
}

impl Durable {
    pub fn new() -> Durable {
        Durable {
            lsn: Lsn::NULL,
            end: (0, 0),
            wanted: Lsn::NULL,
            sleepers: Sleepers::new(),
            gather: Gather::default(),
        }
    }

    /// Everything up to `lsn` should be made durable, too.
    pub fn want(&mut self, lsn: Lsn) {
        self.wanted = self.wanted.max(lsn);
    }
}
