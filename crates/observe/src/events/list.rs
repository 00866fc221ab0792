//! The events, declared once: their names, fields and units are those of SQL Server, but for the package `duramen`.

use duramen_os::time::WallTime;

use super::maps::{
    ConnectionReset, FileIoMode, HashWarningType, LockModes, LockOwnerType, LockResourceType,
    LogContext, LogOperation, ObjectType, PageSplitKind, RecompileCause, ResourceOwnerType,
    SortWarningType,
};
use super::{EventData, EventField, EventValue};
use crate::waits::WaitType;

macro_rules! events {
    ($($id:ident $package:literal $name:literal $about:literal { $($(#[$unit:meta])* $field:ident: $ty:ty,)* })*) => {
        /// Every event there is.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum EventId { $(#[doc = $about] $id,)* }

        impl EventId {
            pub const ALL: &'static [EventId] = &[$(EventId::$id,)*];

            /// The name in `sys.dm_xe_objects`.
            pub const fn name(self) -> &'static str {
                match self { $(EventId::$id => $name,)* }
            }

            /// Names of the fields, in order.
            pub const fn fields(self) -> &'static [&'static str] {
                match self { $(EventId::$id => &[$(stringify!($field),)*],)* }
            }

            /// Names of the fields' types, in the same order.
            pub const fn types(self) -> &'static [&'static str] {
                match self { $(EventId::$id => &[$(<$ty as EventField>::TYPE,)*],)* }
            }

            /// The package that declares it.
            pub const fn package(self) -> &'static str {
                match self { $(EventId::$id => $package,)* }
            }

            /// What it tells.
            pub const fn description(self) -> &'static str {
                match self { $(EventId::$id => $about,)* }
            }

            /// Its place in the mask of a [`Listener`](super::Listener).
            pub const fn bit(self) -> u64 {
                1 << self as u8
            }
        }

        $(
            #[doc = $about]
            // Names are SQL Server's, whatever their case.
            #[allow(non_snake_case)]
            #[derive(Clone, Debug)]
            pub struct $id { $($(#[$unit])* pub $field: $ty,)* }

            impl EventData for $id {
                const ID: EventId = EventId::$id;
                fn into_values(self) -> Vec<EventValue> {
                    vec![$(self.$field.into_value(),)*]
                }
            }
        )*
    };
}

events! {
    DatabaseFileSizeChange "sqlserver" "database_file_size_change" "A data or log file grew or shrank." {
        /// Microseconds.
        duration: u64,
        database_id: u64,
        file_id: u64,
        file_type: FileType,
        is_automatic: bool,
        total_size_kb: u64,
        /// Negative when it shrank.
        size_change_kb: i64,
    }
    LogFlushStart "sqlserver" "log_flush_start" "A log write was given to the disk." {
        database_id: u64,
        /// VLF sequence number << 32 | block.
        log_block_id: u64,
        /// Bytes.
        write_size: u64,
        /// Writes in flight, this one included.
        pending_writes: u64,
        /// Bytes of the writes in flight.
        pending_bytes: u64,
    }
    LogFlushComplete "sqlserver" "log_flush_complete" "A log write came back from the disk." {
        database_id: u64,
        log_block_id: u64,
        /// Milliseconds.
        duration: u64,
        /// When the write was given to the disk.
        start_timestamp: FileTime,
        write_size: u64,
        pending_writes: u64,
        /// The operating system's error number; 0 when it succeeded.
        error: u64,
    }
    LogTruncation "sqlserver" "databases_log_truncation" "VLFs were marked reusable." {
        database_id: u64,
        /// How many VLFs.
        count: u64,
    }
    CheckpointBegin "sqlserver" "checkpoint_begin" "A checkpoint began." {
        database_id: u64,
    }
    CheckpointEnd "sqlserver" "checkpoint_end" "A checkpoint ended." {
        database_id: u64,
    }
    LockDeadlock "sqlserver" "lock_deadlock" "A session was chosen as the victim of a deadlock." {
        /// Sessions in the cycle.
        cycle_length: u64,
        victim_session_id: u64,
    }
    LockEscalation "sqlserver" "lock_escalation" "Row or page locks were traded for one of the table." {
        database_id: u64,
        object_id: u64,
        escalated_lock_count: u64,
    }
    ErrorReported "sqlserver" "error_reported" "An error or message was given to a client." {
        error_number: i64,
        severity: u64,
        state: u64,
        /// RAISERROR or THROW.
        user_defined: bool,
        category: ErrorCategory,
        destination: ErrorDestination,
        /// TRY caught it: such errors are not reported here.
        is_intercepted: bool,
        message: String,
    }
    ErrorlogWritten "sqlserver" "errorlog_written" "A line was written to the error log." {
        message: String,
    }
    FileZeroing "duramen" "file_zeroing" "New space of a file is being filled: at its beginning, after each piece, at its end." {
        file_name: String,
        /// Bytes: where the new space begins, how much it is, how much of it is filled.
        offset: u64,
        length: u64,
        done: u64,
        /// Microseconds since it began.
        duration: u64,
    }
    LogGrowthPrepared "duramen" "log_growth_prepared" "A growth of a log file was prepared in the background." {
        /// Microseconds.
        duration: u64,
        database_id: u64,
        file_id: u64,
        /// 0 when it failed.
        size_change_kb: u64,
        /// The operating system's error number; 0 when it succeeded.
        error: u64,
    }
    LogGrowthWait "duramen" "log_growth_wait" "Somebody had to wait for a log file to grow." {
        /// Microseconds.
        duration: u64,
        database_id: u64,
        file_id: u64,
    }
    WaitInfo "sqlos" "wait_info" "A task began or ended a wait." {
        wait_type: WaitTypes,
        opcode: Opcode,
        /// Milliseconds; 0 at the beginning.
        duration: u64,
        /// Milliseconds from being woken to running.
        signal_duration: u64,
        /// As in `sys.dm_os_waiting_tasks`; empty where it has no name.
        wait_resource: String,
    }
    WaitInfoExternal "sqlos" "wait_info_external" "A call into the operating system began or ended." {
        wait_type: WaitTypes,
        opcode: Opcode,
        /// Milliseconds; 0 at the beginning.
        duration: u64,
        wait_resource: String,
    }
    SqlBatchStarting "sqlserver" "sql_batch_starting" "A batch begins." {
        batch_text: String,
    }
    SqlBatchCompleted "sqlserver" "sql_batch_completed" "A batch has ended." {
        /// Microseconds of the worker's own thread.
        cpu_time: u64,
        /// Microseconds.
        duration: u64,
        /// Pages, as in the other events of statements: from the disk, from memory or the disk, made dirty.
        physical_reads: u64,
        logical_reads: u64,
        writes: u64,
        /// Pages of 8 KB that operators have put into files.
        spills: u64,
        row_count: u64,
        result: Outcome,
        batch_text: String,
    }
    RpcStarting "sqlserver" "rpc_starting" "A remote procedure call begins." {
        object_name: String,
        statement: String,
    }
    RpcCompleted "sqlserver" "rpc_completed" "A remote procedure call has ended." {
        /// Microseconds of the worker's own thread.
        cpu_time: u64,
        /// Microseconds.
        duration: u64,
        physical_reads: u64,
        logical_reads: u64,
        writes: u64,
        result: Outcome,
        row_count: u64,
        /// What was asked for with the call: a session of a pool that begins anew.
        connection_reset_option: ConnectionReset,
        object_name: String,
        statement: String,
        /// The bytes of the call, which nobody can ask for: empty, as in SQL Server without `collect_data_stream`.
        data_stream: Vec<u8>,
        /// The same without `collect_output_parameters`.
        output_parameters: String,
    }
    SqlStatementStarting "sqlserver" "sql_statement_starting" "A statement of a batch begins." {
        line_number: u64,
        /// Bytes of UTF-16 from the batch's beginning.
        offset: u64,
        offset_end: u64,
        statement: String,
    }
    SqlStatementCompleted "sqlserver" "sql_statement_completed" "A statement of a batch has ended." {
        /// Microseconds.
        duration: u64,
        /// Microseconds of the worker's own thread.
        cpu_time: u64,
        physical_reads: u64,
        logical_reads: u64,
        writes: u64,
        /// Pages of 8 KB that operators have put into files.
        spills: u64,
        row_count: u64,
        /// `@@ROWCOUNT` behind the statement.
        last_row_count: u64,
        line_number: u64,
        offset: u64,
        offset_end: u64,
        statement: String,
        /// No statement is parameterised by the server: empty.
        parameterized_plan_handle: Vec<u8>,
    }
    SpStatementStarting "sqlserver" "sp_statement_starting" "A statement of a module begins." {
        nest_level: u64,
        line_number: u64,
        offset: u64,
        offset_end: u64,
        object_name: String,
        statement: String,
    }
    SpStatementCompleted "sqlserver" "sp_statement_completed" "A statement of a module has ended." {
        /// The module's, as in `sys.objects`.
        source_database_id: u64,
        object_id: i64,
        object_type: ObjectType,
        /// Microseconds.
        duration: u64,
        /// Microseconds of the worker's own thread.
        cpu_time: u64,
        physical_reads: u64,
        logical_reads: u64,
        writes: u64,
        row_count: u64,
        /// `@@ROWCOUNT` behind the statement.
        last_row_count: u64,
        nest_level: u64,
        line_number: u64,
        offset: u64,
        offset_end: u64,
        object_name: String,
        statement: String,
    }
    Login "sqlserver" "login" "A session was opened." {
        /// A connection of a pool that is used again; those are not told of.
        is_cached: bool,
        database_id: u64,
    }
    Logout "sqlserver" "logout" "A session was closed." {
        is_cached: bool,
        /// Microseconds from login to logout.
        duration: u64,
    }
    Attention "sqlserver" "attention" "A client gave up on a request." {
        /// Microseconds since the request began.
        duration: u64,
        request_id: u64,
    }
    XmlDeadlockReport "sqlserver" "xml_deadlock_report" "The graph of a deadlock." {
        xml_report: Xml,
    }
    ObjectCreated "sqlserver" "object_created" "An object was created." {
        database_id: u64,
        object_id: u64,
        object_name: String,
    }
    ObjectAltered "sqlserver" "object_altered" "An object was altered." {
        database_id: u64,
        object_id: u64,
        object_name: String,
    }
    ObjectDeleted "sqlserver" "object_deleted" "An object was dropped." {
        database_id: u64,
        object_id: u64,
        object_name: String,
    }
    PageSplit "sqlserver" "page_split" "A page of an index was split, or got a right neighbour at the edge of its level." {
        file_id: u64,
        page_id: u64,
        database_id: u64,
        rowset_id: u64,
        splitOperation: PageSplitKind,
        new_page_file_id: u64,
        new_page_page_id: u64,
    }
    TransactionLog "sqlserver" "transaction_log" "A record was added to a transaction log." {
        operation: LogOperation,
        context: LogContext,
        /// As in `sys.dm_tran_active_transactions`; 0 for a record of none.
        transaction_id: i64,
        /// When the transaction began; 0 for a record of none.
        transaction_start_time: FileTime,
        database_id: u64,
        /// Bytes.
        log_record_size: u64,
        /// 0 where the record is about no page of rows.
        alloc_unit_id: u64,
    }
    FileReadCompleted "sqlserver" "file_read_completed" "A read of a database's file is over." {
        mode: FileIoMode,
        /// Milliseconds.
        duration: u64,
        /// The operating system's number for the open file.
        file_handle: FilePointer,
        /// Bytes from the file's beginning.
        offset: u64,
        database_id: u64,
        file_id: u64,
        /// Bytes.
        size: u64,
        /// What was read; empty without `collect_io_data`.
        io_data: Vec<u8>,
    }
    FileWriteCompleted "sqlserver" "file_write_completed" "A write to a database's file is over." {
        mode: FileIoMode,
        /// Milliseconds.
        duration: u64,
        /// The operating system's number for the open file.
        file_handle: FilePointer,
        /// Bytes from the file's beginning.
        offset: u64,
        database_id: u64,
        file_id: u64,
        /// Bytes.
        size: u64,
        /// What was written; empty without `collect_io_data`.
        io_data: Vec<u8>,
    }
    PhysicalPageRead "sqlserver" "physical_page_read" "A page was read from the disk." {
        file_id: u64,
        page_id: u64,
        database_id: u64,
    }
    PhysicalPageWrite "sqlserver" "physical_page_write" "A page was written to the disk." {
        file_id: u64,
        page_id: u64,
        database_id: u64,
    }
    DatabasesLogGrowth "sqlserver" "databases_log_growth" "A log file has grown." {
        database_id: u64,
        /// Growths that this event stands for.
        count: u64,
    }
    DatabasesLogShrink "sqlserver" "databases_log_shrink" "A log file has shrunk." {
        database_id: u64,
        count: u64,
    }
    DatabasesLogFlush "sqlserver" "databases_log_flush" "Log was written to the disk." {
        database_id: u64,
        count: u64,
    }
    LockAcquired "sqlserver" "lock_acquired" "A lock was granted." {
        resource_type: LockResourceType,
        mode: LockModes,
        owner_type: LockOwnerType,
        transaction_id: i64,
        database_id: u64,
        lockspace_workspace_id: u64,
        lockspace_sub_id: u64,
        lockspace_nest_id: u64,
        resource_0: u64,
        resource_1: u64,
        resource_2: u64,
        /// Of the table, where the resource is one.
        object_id: u64,
        /// The table, or the index that a row, key or page is of.
        associated_object_id: u64,
        /// Microseconds that it took.
        duration: u64,
        /// As in `sys.dm_tran_locks`; empty without `collect_resource_description`.
        resource_description: String,
    }
    LockReleased "sqlserver" "lock_released" "A lock was given back." {
        resource_type: LockResourceType,
        mode: LockModes,
        owner_type: LockOwnerType,
        transaction_id: i64,
        database_id: u64,
        lockspace_workspace_id: u64,
        lockspace_sub_id: u64,
        lockspace_nest_id: u64,
        resource_0: u64,
        resource_1: u64,
        resource_2: u64,
        object_id: u64,
        associated_object_id: u64,
        resource_description: String,
    }
    LockTimeout "sqlserver" "lock_timeout" "A request for a lock was given up after its time." {
        resource_type: LockResourceType,
        mode: LockModes,
        owner_type: LockOwnerType,
        transaction_id: i64,
        database_id: u64,
        lockspace_workspace_id: u64,
        lockspace_sub_id: u64,
        lockspace_nest_id: u64,
        resource_0: u64,
        resource_1: u64,
        resource_2: u64,
        /// Of the table, where the resource is one.
        object_id: u64,
        /// The table, or the index that a row, key or page is of.
        associated_object_id: u64,
        /// Microseconds that it has waited.
        duration: u64,
        /// As in `sys.dm_tran_locks`; empty without `collect_resource_description`.
        resource_description: String,
    }
    LockTimeoutGreaterThan0 "sqlserver" "lock_timeout_greater_than_0" "A request for a lock was given up after its time, which was more than none." {
        resource_type: LockResourceType,
        mode: LockModes,
        owner_type: LockOwnerType,
        transaction_id: i64,
        database_id: u64,
        lockspace_workspace_id: u64,
        lockspace_sub_id: u64,
        lockspace_nest_id: u64,
        resource_0: u64,
        resource_1: u64,
        resource_2: u64,
        /// Of the table, where the resource is one.
        object_id: u64,
        /// The table, or the index that a row, key or page is of.
        associated_object_id: u64,
        /// Microseconds that it has waited.
        duration: u64,
        /// As in `sys.dm_tran_locks`; empty without `collect_resource_description`.
        resource_description: String,
    }
    ModuleStart "sqlserver" "module_start" "A module begins." {
        source_database_id: u64,
        object_id: i64,
        object_type: ObjectType,
        object_name: String,
        /// The statement that calls it; empty for a call by name.
        statement: String,
    }
    ModuleEnd "sqlserver" "module_end" "A module has ended." {
        source_database_id: u64,
        object_id: i64,
        object_type: ObjectType,
        /// Microseconds.
        duration: u64,
        /// `@@ROWCOUNT` behind its last statement.
        row_count: u64,
        object_name: String,
        statement: String,
    }
    BlockedProcessReport "sqlserver" "blocked_process_report" "A task has waited for a lock for longer than 'blocked process threshold (s)'." {
        /// Microseconds so far.
        duration: u64,
        database_id: u64,
        /// The table that is locked, or that what is locked is of; 0 where it is none.
        object_id: u64,
        /// The index of the key that is locked; 0 where it is none.
        index_id: u64,
        lock_mode: LockModes,
        transaction_id: i64,
        resource_owner_type: ResourceOwnerType,
        blocked_process: Xml,
    }
    WaitCompleted "sqlos" "wait_completed" "A task has waited." {
        wait_type: WaitTypes,
        /// Milliseconds.
        duration: u64,
        /// Milliseconds from being woken to running.
        signal_duration: u64,
        wait_resource: String,
    }
    FileRead "sqlserver" "file_read" "A read of a database's file begins." {
        mode: FileIoMode,
        file_handle: FilePointer,
        /// Bytes from the file's beginning.
        offset: u64,
        database_id: u64,
        file_id: u64,
        /// Bytes.
        size: u64,
    }
    FileWritten "sqlserver" "file_written" "A write to a database's file begins." {
        mode: FileIoMode,
        file_handle: FilePointer,
        /// Bytes from the file's beginning.
        offset: u64,
        database_id: u64,
        file_id: u64,
        /// Bytes.
        size: u64,
    }
    LogFlushRequested "sqlserver" "log_flush_requested" "Somebody asks for log to be written." {
        database_id: u64,
        /// VLF sequence number << 32 | block: up to this one.
        log_block_id: u64,
    }
    DatabasesLogFlushWait "sqlserver" "databases_log_flush_wait" "A commit waits for log to be written." {
        database_id: u64,
        count: u64,
    }
    DatabasesLogFileSizeChanged "sqlserver" "databases_log_file_size_changed" "A log file grew or shrank." {
        database_id: u64,
        /// Kilobytes by which it did; negative when it shrank.
        count: i64,
    }
    DatabasesDataFileSizeChanged "sqlserver" "databases_data_file_size_changed" "A data file grew or shrank." {
        database_id: u64,
        count: i64,
    }
    DatabasesLogFileUsedSizeChanged "sqlserver" "databases_log_file_used_size_changed" "Log was written, or let go of." {
        database_id: u64,
        /// Kilobytes by which there is more of it in use; negative for less.
        count: i64,
    }
    LogGenerateStall "sqlserver" "log_generate_stall" "Who appends to the log waits until the disk has taken some of it." {
        database_id: u64,
        /// VLF sequence number << 32 | block: the last that was appended.
        log_block_id: u64,
    }
    AsyncIoRequested "sqlos" "async_io_requested" "A transfer to or from a database's file begins." {
        /// Which fields SQL Server's has is not published (*assumed*; the same below).
        file_handle: FilePointer,
    }
    AsyncIoCompleted "sqlos" "async_io_completed" "A transfer to or from a database's file has ended." {
        file_handle: FilePointer,
    }
    ExistingConnection "sqlserver" "existing_connection" "A session was there already when the event session started." {
        database_id: u64,
        /// Bytes; 0 where the client is in the process.
        packet_size: u64,
        /// The SET statements that would bring about its options; empty without `collect_options_text`.
        options_text: String,
    }
    SqlStatementRecompile "sqlserver" "sql_statement_recompile" "A statement that was bound before is bound anew." {
        recompile_cause: RecompileCause,
        /// The module's that it is of; 0 for a batch.
        source_database_id: u64,
        object_id: i64,
        object_type: ObjectType,
        /// Bytes of UTF-16 from the beginning of the module or batch.
        offset: u64,
        offset_end: u64,
        nest_level: u64,
        line_number: u64,
        object_name: String,
        statement: String,
    }
    QueryPostExecutionShowplan "sqlserver" "query_post_execution_showplan" "A statement has run with this plan." {
        source_database_id: u64,
        object_type: ObjectType,
        object_id: i64,
        nest_level: u64,
        /// Microseconds.
        cpu_time: u64,
        duration: u64,
        estimated_rows: u64,
        estimated_cost: u64,
        dop: u64,
        object_name: String,
        showplan_xml: Xml,
    }
    SortWarning "sqlserver" "sort_warning" "A sort has no memory for its rows, and writes some of them to a file." {
        sort_warning_type: SortWarningType,
    }
    HashWarning "sqlserver" "hash_warning" "A hash join, grouping or DISTINCT has no memory for its rows, and writes some of them to files." {
        hash_warning_type: HashWarningType,
        /// How often what it reads now was written before.
        recursion_level: u64,
    }
}

/// `file_type`: what a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileType {
    Data,
    Log,
}

impl FileType {
    /// Keys and texts of the map.
    pub const MAP: &'static [(u32, &'static str)] =
        &[(0, "Data file"), (1, "Log file"), (2, "FILESTREAM file")];
}

/// `event_opcode`: whether a wait begins or has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opcode(pub bool);

impl Opcode {
    /// Keys and texts of the map.
    pub const MAP: &'static [(u32, &'static str)] = &[(0, "Begin"), (1, "End")];
}

/// `result`: how a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Ok,
    Error,
    Abort,
}

impl Outcome {
    /// Keys and texts of the map.
    pub const MAP: &'static [(u32, &'static str)] = &[(0, "OK"), (1, "Error"), (2, "Abort")];
}

/// `error_category`: what kind of error it is; all of them are the server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorCategory;

impl ErrorCategory {
    /// Keys and texts of the map.
    pub const MAP: &'static [(u32, &'static str)] = &[(2, "SERVER")];
}

/// `error_destination`: who is told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorDestination;

impl ErrorDestination {
    /// Keys and texts of the map.
    pub const MAP: &'static [(u32, &'static str)] = &[(2, "USER")];
}

/// `wait_types`: a wait type, its key that of [`WaitType::key`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTypes(pub WaitType);

/// An address, or a number that stands for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilePointer(pub u64);

/// A moment, in units of 100 ns since 1601; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileTime(pub u64);

impl FileTime {
    pub fn of(at: WallTime) -> FileTime {
        const TO_1970: i128 = 116_444_736_000_000_000;
        FileTime(u64::try_from(at.unix_nanos() / 100 + TO_1970).unwrap_or(0))
    }
}

/// A document: it stands as such in the event, not as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Xml(pub String);

macro_rules! mapped {
    ($ty:ty, $name:literal, $key:expr) => {
        impl EventField for $ty {
            const TYPE: &'static str = $name;
            fn into_value(self) -> EventValue {
                let key: fn($ty) -> usize = $key;
                let (key, text) = <$ty>::MAP[key(self)];
                EventValue::Mapped(key, text)
            }
        }
    };
}

mapped!(FileType, "database_file_type", |f| f as usize);
mapped!(Opcode, "event_opcode", |o| usize::from(o.0));
mapped!(ErrorCategory, "error_category", |_| 0);
mapped!(ErrorDestination, "error_destination", |_| 0);
mapped!(Outcome, "event_result", |o| o as usize);

impl EventField for WaitTypes {
    const TYPE: &'static str = "wait_types";
    fn into_value(self) -> EventValue {
        EventValue::Mapped(u32::from(self.0.key()), self.0.name())
    }
}

impl EventField for FilePointer {
    const TYPE: &'static str = "ptr";
    fn into_value(self) -> EventValue {
        EventValue::Pointer(self.0)
    }
}

impl EventField for FileTime {
    const TYPE: &'static str = "filetime";
    fn into_value(self) -> EventValue {
        EventValue::Unsigned(self.0)
    }
}

impl EventField for Xml {
    const TYPE: &'static str = "xml";
    fn into_value(self) -> EventValue {
        EventValue::Text(self.0)
    }
}
