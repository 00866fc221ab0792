//! The order in which a thread takes locks that it holds together: the outermost first.
//!
//! A lock that takes part has a row here. In debug builds a thread that waits for one whose rank is not above that of
//! every ranked lock it holds panics, whether or not anybody is in its way; in release builds a rank is nothing. What is
//! only tried cannot wait, so it is not looked at.
//! Locks that have no rank have the order that is seen ([`super::order`]).
//!
//! Waits that are no locks (for a row, for a name) are looked at by [`super::held`].

/// A place in the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Rank {
    /// Takes no part.
    #[default]
    None,
    /// `storage`: one checkpoint of a database at a time.
    Checkpoint,
    /// `storage`: one thread gives back the pages of what was dropped.
    Releasing,
    /// `storage`: what was dropped and not yet given back.
    Drops,
    /// `catalog`: the snapshots and drafts of a database's schema.
    Catalog,
    /// `catalog`: what open transactions have given names to, made, changed or dropped.
    Claims,
    /// `catalog`: blocks of identity values.
    Identities,
    /// `catalog`: the last value of a database's row versions.
    RowVersions,
    /// `storage`: the shape of a tree or heap. Under that of a table those of the system's own.
    Tree,
    /// `storage`: where an allocation unit looks for room next.
    Allocation,
    /// `storage`: one growth of a file at a time.
    Growth,
    /// `storage`: the allocation maps of a file.
    FileMaps,
    /// `storage`: who needs which part of the log.
    Truncation,
    /// `storage`: the boot page's fields.
    Boot,
    /// `storage`: a page. Several at a time: down a tree, and to the right.
    Page,
    /// `storage`: up to where counts of rows are noted.
    RowCounts,
    /// `storage`: the allocation units in memory.
    Units,
    /// `storage`: where an allocation unit begins.
    Roots,
    /// `txn`: a transaction's parts.
    Transaction,
    /// `txn`: the last commit of a database.
    Commits,
    /// `txn`: the transactions of a database that are active.
    Active,
    /// `storage`: who writes pages.
    PageWriter,
    /// `storage`: the double-write file.
    DoubleWrite,
    /// `storage`: pages go to their places in the data files.
    Places,
    /// `storage`: the list of a database's data files.
    Files,
    /// `txn`: whose turn it is among the threads of one owner of locks; held while one of them waits.
    LockTurn,
    /// `txn`: what an owner of locks has.
    LocksHeld,
    /// `txn`: the owners that have had private locks.
    LockOwners,
    /// `txn`: a part of the table of locks. All of them, in their order, for a search for deadlocks.
    LockTable,
    /// `txn`: the owners that wait.
    LockWaiting,
    /// `txn`: what an owner waits for.
    OwnerWaiting,
    /// `txn`: how a wait for a lock stands.
    LockWait,
    /// `txn`: some of the row versions.
    Versions,
    /// `txn`: what a writer has pushed.
    VersionsPushed,
    /// `txn`: commits and snapshots of row versions in their order.
    VersionClock,
    /// `wal`: who hears how far a log is durable; they are called under it.
    LogSubscribers,
    /// `txn`: the logs that the packet gate listens to.
    GateLogs,
    /// `txn`: the packets that wait for logs.
    Gate,
    /// `wal`: the threads of a log.
    LogThreads,
    /// `wal`: where a log was read last.
    LogRead,
    /// `wal`: a log.
    Log,
}

#[cfg(debug_assertions)]
impl Rank {
    /// Whether a thread may hold several.
    fn nests(self) -> bool {
        matches!(
            self,
            Rank::Tree | Rank::Page | Rank::FileMaps | Rank::LockTable
        )
    }

    /// Whether who holds `self` may wait for `next`.
    pub(super) fn lets_take(self, next: Rank) -> bool {
        let unranked = self == Rank::None || next == Rank::None;
        unranked || self < next || self == next && self.nests()
    }
}
