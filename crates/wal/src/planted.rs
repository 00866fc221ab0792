//! Bugs that the crash test plants to show that it would find them. Outside tests no bug can be planted: the question
//! is answered at compile time.

/// A way to break the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "only tests plant bugs"))]
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

    #[cfg(not(test))]
    pub const fn on(self, _: Bug) -> bool {
        false
    }
}
