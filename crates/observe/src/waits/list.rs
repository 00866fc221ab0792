//! The wait types, declared once.
//!
//! Names are SQL Server's. The order is a fact that scripts rely on: the map keys of `sys.dm_xe_map_values` follow
//! it, and the definition of the system_health session compares them by range (`LCK_M_*` first, then LATCH,
//! PAGELATCH and PAGEIOLATCH each from NL to DT, then the groups IO_COMPLETION to NETWORK_IO and FCB_REPLICA_WRITE
//! to WRITELOG). New types go to the end of their group; keys may change with the version, as they do there.

use std::fmt;

/// How the time of a wait type is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitKind {
    /// Somebody who has work is blocked.
    Blocking,
    /// A call into the operating system that takes its time; the thread keeps running (`PREEMPTIVE_*`).
    External,
    /// A background thread has nothing to do.
    Idle,
}

macro_rules! wait_types {
    ($($kind:ident: $($name:ident)*;)*) => {
        /// Why a task waits. Spelt as users see it.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum WaitType { $($($name,)*)* }

        impl WaitType {
            /// Every type, by key.
            pub const ALL: &'static [WaitType] = &[$($(WaitType::$name,)*)*];
            pub const COUNT: usize = Self::ALL.len();

            /// The name in `sys.dm_os_wait_stats`.
            pub const fn name(self) -> &'static str {
                match self { $($(WaitType::$name => stringify!($name),)*)* }
            }

            pub const fn kind(self) -> WaitKind {
                match self { $($(WaitType::$name)|* => WaitKind::$kind,)* }
            }
        }
    };
}

wait_types! {
    Blocking:
        LCK_M_SCH_S LCK_M_SCH_M LCK_M_S LCK_M_U LCK_M_X LCK_M_IS LCK_M_IU LCK_M_IX LCK_M_SIU LCK_M_SIX LCK_M_UIX
        LCK_M_BU LCK_M_RS_S LCK_M_RS_U LCK_M_RIn_NL LCK_M_RIn_S LCK_M_RIn_U LCK_M_RIn_X LCK_M_RX_S LCK_M_RX_U
        LCK_M_RX_X
        LATCH_NL LATCH_KP LATCH_SH LATCH_UP LATCH_EX LATCH_DT
        PAGELATCH_NL PAGELATCH_KP PAGELATCH_SH PAGELATCH_UP PAGELATCH_EX PAGELATCH_DT
        PAGEIOLATCH_NL PAGEIOLATCH_KP PAGEIOLATCH_SH PAGEIOLATCH_UP PAGEIOLATCH_EX PAGEIOLATCH_DT
        IO_COMPLETION ASYNC_IO_COMPLETION ASYNC_NETWORK_IO NETWORK_IO
        SOS_SCHEDULER_YIELD THREADPOOL RESOURCE_SEMAPHORE RESOURCE_SEMAPHORE_QUERY_COMPILE
        RESOURCE_SEMAPHORE_MUTEX CMEMTHREAD
        CXPACKET CXCONSUMER CXSYNC_PORT CXSYNC_CONSUMER EXECSYNC HTBUILD HTDELETE HTMEMO HTREINIT HTREPARTITION
        BPSORT BMPALLOCATION BMPBUILD BMPREPARTITION
        OLEDB BACKUPIO BACKUPBUFFER BACKUPTHREAD BACKUP_OPERATOR
        LOGBUFFER LOGMGR LOGMGR_FLUSH LOGMGR_RESERVE_APPEND LOG_RATE_GOVERNOR POOL_LOG_RATE_GOVERNOR
        INSTANCE_LOG_RATE_GOVERNOR
        WRITE_COMPLETION FCB_REPLICA_WRITE FCB_REPLICA_READ WRITELOG
        SLEEP_BPOOL_FLUSH TRANSACTION_MUTEX MSQL_XACT_MUTEX TRAN_MARKLATCH_NL TRAN_MARKLATCH_KP TRAN_MARKLATCH_SH
        TRAN_MARKLATCH_UP TRAN_MARKLATCH_EX TRAN_MARKLATCH_DT
        DTC DTC_STATE HADR_SYNC_COMMIT SNI_CRITICAL_SECTION SNI_TASK_COMPLETION PVS_CLEANUP
        PARALLEL_REDO_DRAIN_WORKER PARALLEL_REDO_TRAN_TURN FT_IFTSHC_MUTEX MEMORY_ALLOCATION_EXT
        XE_BUFFERMGR_FREEBUF_EVENT;
    Idle:
        WAITFOR LOGMGR_QUEUE CHECKPOINT_QUEUE DIRTY_PAGE_POLL LAZYWRITER_SLEEP SLEEP_TASK SLEEP_SYSTEMTASK
        SLEEP_DBSTARTUP SLEEP_TEMPDBSTARTUP SLEEP_MASTERDBREADY SLEEP_MSDBSTARTUP REQUEST_FOR_DEADLOCK_SEARCH
        RESOURCE_QUEUE ONDEMAND_TASK_QUEUE KSOURCE_WAKEUP DISPATCHER_QUEUE_SEMAPHORE SOS_WORK_DISPATCHER
        SQLTRACE_BUFFER_FLUSH SQLTRACE_INCREMENTAL_FLUSH_SLEEP XE_TIMER_EVENT XE_DISPATCHER_WAIT
        XE_DISPATCHER_JOIN XE_LIVE_TARGET_TVF BROKER_TO_FLUSH BROKER_TASK_STOP BROKER_EVENTHANDLER
        BROKER_RECEIVE_WAITFOR BROKER_TRANSMITTER CLR_SEMAPHORE CLR_MANUAL_EVENT CLR_AUTO_EVENT
        FT_IFTS_SCHEDULER_IDLE_WAIT HADR_FILESTREAM_IOMGR_IOCOMPLETION HADR_WORK_QUEUE HADR_TIMER_TASK
        HADR_CLUSAPI_CALL HADR_LOGCAPTURE_WAIT HADR_NOTIFICATION_DEQUEUE SP_SERVER_DIAGNOSTICS_SLEEP
        QDS_PERSIST_TASK_MAIN_LOOP_SLEEP QDS_ASYNC_QUEUE QDS_SHUTDOWN_QUEUE
        QDS_CLEANUP_STALE_QUERIES_TASK_MAIN_LOOP_SLEEP PVS_PREALLOCATE PARALLEL_REDO_WORKER_WAIT_WORK
        REDO_THREAD_PENDING_WORK;
    External:
        PREEMPTIVE_OS_WRITEFILEGATHER PREEMPTIVE_OS_FLUSHFILEBUFFERS PREEMPTIVE_OS_FILEOPS PREEMPTIVE_OS_CREATEFILE
        PREEMPTIVE_OS_DELETEFILE PREEMPTIVE_OS_GETDISKFREESPACE PREEMPTIVE_OS_SETFILEVALIDDATA
        PREEMPTIVE_OS_DEVICEIOCONTROL PREEMPTIVE_OS_WRITEFILE PREEMPTIVE_OS_GETPROCADDRESS
        PREEMPTIVE_OS_AUTHENTICATIONOPS PREEMPTIVE_OS_LOOKUPACCOUNTSID PREEMPTIVE_OS_QUERYREGISTRY
        PREEMPTIVE_XE_CALLBACKEXECUTE PREEMPTIVE_XE_DISPATCHER PREEMPTIVE_XE_GETTARGETSTATE;
}

impl WaitType {
    /// The key in the `wait_types` map.
    pub const fn key(self) -> u16 {
        self as u16
    }

    /// The type of a name, in any letter case.
    pub fn from_name(name: &str) -> Option<WaitType> {
        Self::ALL
            .iter()
            .copied()
            .find(|w| w.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for WaitType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
