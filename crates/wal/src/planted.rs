//! Bugs that the crash test plants to show that it would find them: in one log. Outside this room's tests the question
//! goes to [`duramen_base::planted`], which answers it at compile time unless the simulator plants bugs of its own.

/// A way to break the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bug {
    /// Records count as durable when their write begins.
    AckBeforeDurable,
    /// Recovery neither starts a new epoch nor clears what was in flight, and nobody checks the chain of blocks.
    NoEpochBump,
    /// Blocks are accepted whatever their checksums say.
    SkipCrc,
    /// A completed write counts although an earlier one has not completed.
    WrongPrefix,
    /// After a failed write a sync that succeeds is taken for success.
    RetriedSync,
    /// Truncation frees the VLF that holds the first record that is needed.
    TruncatesNeeded,
    /// A VLF is written into while its header is on its way.
    HeaderNotAwaited,
    /// A shrink takes VLFs at the end of the file that are in use.
    ShrinksUsed,
    /// A block that changed by itself is taken for a torn one.
    RotIsTorn,
    /// Nobody looks for what was durable behind the end of the log.
    LooksNotBehind,
    /// A damaged VLF header ends the log file.
    DamagedHeaderEnds,
}

/// The bug planted in one log, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planted {
    #[cfg(test)]
    pub bug: Option<Bug>,
}

impl Planted {
    #[cfg(test)]
    pub fn on(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether any bug is planted: what the log asserts of itself is left to the test then.
    #[cfg(test)]
    pub fn is_any(self) -> bool {
        self.bug.is_some()
    }

    #[cfg(not(test))]
    #[inline(always)]
    pub fn is_any(self) -> bool {
        self.on(Bug::AckBeforeDurable)
    }

    #[cfg(not(test))]
    #[inline(always)]
    pub fn on(self, bug: Bug) -> bool {
        use duramen_base::planted::{self, Bug as Shared};
        planted::on(match bug {
            Bug::AckBeforeDurable => Shared::AckBeforeDurable,
            Bug::NoEpochBump => Shared::NoEpochBump,
            Bug::RetriedSync => Shared::RetriedSync,
            // Found by this room's own tests; it takes more crashes than a simulation of the whole has time for.
            _ => return false,
        })
    }
}
