//! Which events may not wait for room: those with the capability `no_block` of `sys.dm_xe_objects`.

use super::EventId;

impl EventId {
    /// Whether it happens where nothing may wait, without a bound on how often until its thread comes to where it may:
    /// under latches of pages, within the log, the lock manager and the waits themselves. A session that specifies
    /// NO_EVENT_LOSS cannot have it (25643). Which of SQL Server's events those are is *assumed*.
    pub const fn cannot_wait(self) -> bool {
        matches!(
            self,
            EventId::WaitInfo
                | EventId::WaitInfoExternal
                | EventId::WaitCompleted
                | EventId::LogFlushRequested
                | EventId::DatabasesLogFlushWait
                | EventId::LogFlushStart
                | EventId::LogFlushComplete
                | EventId::DatabasesLogFlush
                | EventId::FileRead
                | EventId::FileReadCompleted
                | EventId::FileWritten
                | EventId::FileWriteCompleted
                | EventId::AsyncIoRequested
                | EventId::AsyncIoCompleted
                | EventId::LogGenerateStall
                | EventId::DatabasesLogFileUsedSizeChanged
                | EventId::PhysicalPageRead
                | EventId::PhysicalPageWrite
                | EventId::FileZeroing
                | EventId::LockAcquired
                | EventId::LockReleased
                | EventId::LockTimeout
                | EventId::LockTimeoutGreaterThan0
                | EventId::PageSplit
                | EventId::TransactionLog
        )
    }
}
