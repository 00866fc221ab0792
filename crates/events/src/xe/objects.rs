//! What the packages of Extended Events declare: events with their fields, actions, targets, maps.
//!
//! Events and the fields that their sources know are declared in `observe::events`. Here stands what is joined to them by
//! whoever knows names, which fields are there only when asked for (`SET collect_...`), and everything else. An object
//! that has no source in this engine is not declared, so that CREATE EVENT SESSION refuses it by name.

use duramen_observe::WaitType;
use duramen_observe::events::{
    ConnectionReset, ErrorCategory, ErrorDestination, EventId, FileIoMode, FileType,
    HashWarningType, LockModes, LockOwnerType, LockResourceType, ObjectType, Opcode, Outcome,
    PageSplitKind, RecompileCause, ResourceOwnerType, SortWarningType,
};
use duramen_wal::record::{Lcx, Lop};

/// A package of `sys.dm_xe_packages`.
#[derive(Debug)]
pub struct Package {
    pub name: &'static str,
    pub guid: [u8; 16],
    pub description: &'static str,
}

const fn guid(last: u8) -> [u8; 16] {
    [
        b'D', b'u', b'r', b'a', b'm', b'e', b'n', b'X', 0x80, b'E', 0, 0, 0, 0, 0, last,
    ]
}

/// The module that all packages belong to.
pub const MODULE: [u8; 16] = guid(0xff);

/// The GUIDs are our own; scripts find packages by name.
pub const PACKAGES: &[Package] = &[
    Package {
        name: "package0",
        guid: guid(0),
        description: "Default package. Contains all standard types, maps, compare operators, actions and targets",
    },
    Package {
        name: "sqlos",
        guid: guid(1),
        description: "Extended events for SQL Operating System",
    },
    Package {
        name: "sqlserver",
        guid: guid(2),
        description: "Extended events for Microsoft SQL Server",
    },
    Package {
        name: "duramen",
        guid: guid(3),
        description: "Extended events of Duramen's own",
    },
];

pub fn package(name: &str) -> Option<&'static Package> {
    PACKAGES.iter().find(|p| p.name.eq_ignore_ascii_case(name))
}

/// A field that is joined to what the source knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    DatabaseName,
    FileName,
    /// As it was written when the file was made.
    Path,
    /// 0 for a log.
    FileGroup,
}

impl Joined {
    pub fn name(self) -> &'static str {
        match self {
            Joined::DatabaseName => "database_name",
            Joined::FileName => "file_name",
            Joined::Path => "path",
            Joined::FileGroup => "file_group_id",
        }
    }

    /// The type's name, as of an event's own fields.
    pub fn type_name(self) -> &'static str {
        match self {
            Joined::FileGroup => "uint16",
            _ => "unicode_string",
        }
    }
}

/// What is joined to an event, behind its own fields.
pub fn joined(event: EventId) -> &'static [Joined] {
    match event {
        EventId::DatabaseFileSizeChange => &[Joined::FileName, Joined::DatabaseName],
        EventId::CheckpointBegin
        | EventId::CheckpointEnd
        | EventId::LogTruncation
        | EventId::DatabasesLogGrowth
        | EventId::DatabasesLogShrink
        | EventId::DatabasesLogFlush
        | EventId::DatabasesLogFlushWait
        | EventId::DatabasesLogFileSizeChanged
        | EventId::DatabasesDataFileSizeChanged
        | EventId::DatabasesLogFileUsedSizeChanged
        | EventId::LockAcquired
        | EventId::LockReleased
        | EventId::LockTimeout
        | EventId::LockTimeoutGreaterThan0
        | EventId::BlockedProcessReport => &[Joined::DatabaseName],
        EventId::FileRead
        | EventId::FileWritten
        | EventId::FileReadCompleted
        | EventId::FileWriteCompleted => &[Joined::FileGroup, Joined::Path],
        EventId::Login
        | EventId::ObjectCreated
        | EventId::ObjectAltered
        | EventId::ObjectDeleted
        | EventId::ExistingConnection => &[Joined::DatabaseName],
        _ => &[],
    }
}

/// A customizable attribute of an event: a field that is empty unless it is 1.
#[derive(Debug)]
pub struct Collect {
    pub name: &'static str,
    pub field: &'static str,
    pub default: bool,
}

const NAME_OFF: &[Collect] = &[Collect {
    name: "collect_database_name",
    field: "database_name",
    default: false,
}];
const STATEMENT: &[Collect] = &[Collect {
    name: "collect_statement",
    field: "statement",
    default: true,
}];
/// No plan has such a handle: there is nothing to collect, and nothing that keeps it from being asked for.
const SQL_STATEMENT: &[Collect] = &[
    Collect {
        name: "collect_parameterized_plan_handle",
        field: "parameterized_plan_handle",
        default: false,
    },
    Collect {
        name: "collect_statement",
        field: "statement",
        default: true,
    },
];
const PATH_OFF: &[Collect] = &[Collect {
    name: "collect_path",
    field: "path",
    default: false,
}];
const FILE_IO: &[Collect] = &[
    Collect {
        name: "collect_io_data",
        field: "io_data",
        default: false,
    },
    Collect {
        name: "collect_path",
        field: "path",
        default: false,
    },
];
const LOCK: &[Collect] = &[
    Collect {
        name: "collect_database_name",
        field: "database_name",
        default: false,
    },
    Collect {
        name: "collect_resource_description",
        field: "resource_description",
        default: false,
    },
];
const CONNECTION: &[Collect] = &[
    Collect {
        name: "collect_database_name",
        field: "database_name",
        default: false,
    },
    Collect {
        name: "collect_options_text",
        field: "options_text",
        default: false,
    },
];
const OBJECT_AND_STATEMENT: &[Collect] = &[
    Collect {
        name: "collect_object_name",
        field: "object_name",
        default: false,
    },
    Collect {
        name: "collect_statement",
        field: "statement",
        default: false,
    },
];
const BATCH_TEXT: &[Collect] = &[Collect {
    name: "collect_batch_text",
    field: "batch_text",
    default: true,
}];
pub fn customizable(event: EventId) -> &'static [Collect] {
    match event {
        EventId::DatabaseFileSizeChange
        | EventId::ObjectCreated
        | EventId::ObjectAltered
        | EventId::ObjectDeleted
        | EventId::Login => NAME_OFF,
        EventId::LockAcquired
        | EventId::LockReleased
        | EventId::LockTimeout
        | EventId::LockTimeoutGreaterThan0 => LOCK,
        EventId::FileRead | EventId::FileWritten => PATH_OFF,
        EventId::FileReadCompleted | EventId::FileWriteCompleted => FILE_IO,
        EventId::SqlBatchStarting | EventId::SqlBatchCompleted => BATCH_TEXT,
        EventId::ExistingConnection => CONNECTION,
        EventId::SqlStatementRecompile => OBJECT_AND_STATEMENT,
        EventId::SqlStatementCompleted => SQL_STATEMENT,
        EventId::SqlStatementStarting
        | EventId::SpStatementStarting
        | EventId::SpStatementCompleted
        | EventId::ModuleStart
        | EventId::ModuleEnd
        | EventId::RpcStarting
        | EventId::RpcCompleted => STATEMENT,
        _ => &[],
    }
}

/// The event of that package and name; the package may be left out where the name is enough.
pub fn event(package: Option<&str>, name: &str) -> Option<EventId> {
    EventId::ALL.iter().copied().find(|e| {
        e.name().eq_ignore_ascii_case(name)
            && package.is_none_or(|p| p.eq_ignore_ascii_case(e.package()))
    })
}

macro_rules! actions {
    ($($id:ident $package:literal $name:literal $ty:literal $about:literal;)*) => {
        /// What can be added to an event, and most of it asked for in a predicate.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum ActionId { $($id,)* }

        impl ActionId {
            pub const ALL: &'static [ActionId] = &[$(ActionId::$id,)*];

            pub fn name(self) -> &'static str {
                match self { $(ActionId::$id => $name,)* }
            }

            pub fn package(self) -> &'static str {
                match self { $(ActionId::$id => $package,)* }
            }

            /// The type's name.
            pub fn type_name(self) -> &'static str {
                match self { $(ActionId::$id => $ty,)* }
            }

            pub fn description(self) -> &'static str {
                match self { $(ActionId::$id => $about,)* }
            }
        }
    };
}

actions! {
    CollectSystemTime "package0" "collect_system_time" "filetime" "Collect the current system time";
    EventSequence "package0" "event_sequence" "uint64" "Collect event sequence number";
    CpuId "sqlos" "cpu_id" "uint32" "Collect current CPU ID";
    SchedulerId "sqlos" "scheduler_id" "uint32" "Collect current scheduler ID";
    SystemThreadId "sqlos" "system_thread_id" "uint32" "Collect current system thread ID";
    TaskTime "sqlos" "task_time" "uint64" "Collect current task execution time";
    WorkerAddress "sqlos" "worker_address" "ptr" "Collect current worker address";
    ClientAppName "sqlserver" "client_app_name" "unicode_string" "Collect client application name";
    ClientConnectionId "sqlserver" "client_connection_id" "guid" "Collects the optional identifier provided at connection time by a client";
    ClientHostname "sqlserver" "client_hostname" "unicode_string" "Collect client hostname";
    ClientPid "sqlserver" "client_pid" "uint32" "Collect client process ID";
    ContextInfo "sqlserver" "context_info" "binary_data" "Collect the same value as the CONTEXT_INFO() function";
    DatabaseId "sqlserver" "database_id" "uint16" "Collect database ID";
    DatabaseName "sqlserver" "database_name" "unicode_string" "Collect current database name";
    IsSystem "sqlserver" "is_system" "boolean" "Collect whether current session is system";
    NtUsername "sqlserver" "nt_username" "unicode_string" "Collect NT username";
    PlanHandle "sqlserver" "plan_handle" "binary_data" "Collect plan handle";
    QueryHash "sqlserver" "query_hash" "uint64" "Collect query hash. Use this to identify queries with similar logic. You can use the query hash to determine the aggregate resource usage for queries that differ only by literal values";
    QueryHashSigned "sqlserver" "query_hash_signed" "int64" "Collect query hash as a signed number";
    QueryPlanHash "sqlserver" "query_plan_hash" "uint64" "Collect query plan hash. Use this to identify similar query plans. You can use query plan hash to find the cumulative cost of queries with similar execution plans";
    QueryPlanHashSigned "sqlserver" "query_plan_hash_signed" "int64" "Collect query plan hash as a signed number";
    RequestId "sqlserver" "request_id" "uint32" "Collect current request ID";
    ServerInstanceName "sqlserver" "server_instance_name" "unicode_string" "Collect the name of the Server instance";
    ServerPrincipalName "sqlserver" "server_principal_name" "unicode_string" "Collect the name of the Server Principal in whose context the event is being fired";
    SessionId "sqlserver" "session_id" "uint16" "Collect session ID";
    SessionNtUsername "sqlserver" "session_nt_username" "unicode_string" "Collect session's NT username";
    SessionServerPrincipalName "sqlserver" "session_server_principal_name" "unicode_string" "Collect the name of the Server Principal that originated the session";
    SqlText "sqlserver" "sql_text" "unicode_string" "Collect SQL text";
    TransactionId "sqlserver" "transaction_id" "int64" "Collect transaction ID";
    TsqlFrame "sqlserver" "tsql_frame" "xml" "Collect Transact-SQL frame";
    TsqlStack "sqlserver" "tsql_stack" "xml" "Collect Transact-SQL stack";
    Username "sqlserver" "username" "unicode_string" "Collect username";
}

impl ActionId {
    /// Whether a predicate can ask for it, too.
    pub fn is_source(self) -> bool {
        !matches!(
            self,
            ActionId::CollectSystemTime
                | ActionId::EventSequence
                | ActionId::PlanHandle
                | ActionId::QueryHash
                | ActionId::QueryHashSigned
                | ActionId::QueryPlanHash
                | ActionId::QueryPlanHashSigned
                | ActionId::ContextInfo
                | ActionId::TsqlFrame
                | ActionId::TsqlStack
        )
    }
}

pub fn action(package: Option<&str>, name: &str) -> Option<ActionId> {
    ActionId::ALL.iter().copied().find(|a| {
        a.name().eq_ignore_ascii_case(name)
            && package.is_none_or(|p| p.eq_ignore_ascii_case(a.package()))
    })
}

/// Where the events of a session go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetKind {
    EventFile,
    RingBuffer,
    Histogram,
    EventCounter,
    PairMatching,
}

/// A setting of a target.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    /// Its type's name.
    pub ty: &'static str,
    pub required: bool,
    pub default: &'static str,
}

const fn parameter(name: &'static str, ty: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        ty,
        required: false,
        default,
    }
}

impl TargetKind {
    pub const ALL: &'static [TargetKind] = &[
        TargetKind::EventFile,
        TargetKind::RingBuffer,
        TargetKind::Histogram,
        TargetKind::EventCounter,
        TargetKind::PairMatching,
    ];

    pub fn name(self) -> &'static str {
        match self {
            TargetKind::EventFile => "event_file",
            TargetKind::RingBuffer => "ring_buffer",
            TargetKind::Histogram => "histogram",
            TargetKind::EventCounter => "event_counter",
            TargetKind::PairMatching => "pair_matching",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            TargetKind::EventFile => {
                "Use the event_file target to save the event data to an XEL file"
            }
            TargetKind::RingBuffer => "Asynchronous ring buffer target.",
            TargetKind::Histogram => {
                "Use the histogram target to aggregate event data based on a specific event data field or action"
            }
            TargetKind::EventCounter => {
                "Use the event_counter target to count the number of occurrences of each event in the event session."
            }
            TargetKind::PairMatching => "Pairing target",
        }
    }

    pub fn parameters(self) -> &'static [Parameter] {
        const FILE: &[Parameter] = &[
            Parameter {
                name: "filename",
                ty: "unicode_string_ptr",
                required: true,
                default: "",
            },
            parameter("max_file_size", "uint64", "1024"),
            parameter("max_rollover_files", "uint32", "5"),
        ];
        const RING: &[Parameter] = &[
            parameter("max_memory", "uint32", "1024"),
            parameter("max_events_limit", "uint32", "1000"),
            parameter("occurrence_number", "uint32", "0"),
        ];
        const HISTOGRAM: &[Parameter] = &[
            parameter("filtering_event_name", "unicode_string_ptr", ""),
            parameter("slots", "uint32", "256"),
            Parameter {
                name: "source",
                ty: "unicode_string_ptr",
                required: true,
                default: "",
            },
            parameter("source_type", "uint32", "1"),
        ];
        const fn needed(name: &'static str) -> Parameter {
            Parameter {
                name,
                ty: "unicode_string_ptr",
                required: true,
                default: "",
            }
        }
        const PAIRS: &[Parameter] = &[
            needed("begin_event"),
            parameter("begin_matching_actions", "unicode_string_ptr", ""),
            parameter("begin_matching_columns", "unicode_string_ptr", ""),
            needed("end_event"),
            parameter("end_matching_actions", "unicode_string_ptr", ""),
            parameter("end_matching_columns", "unicode_string_ptr", ""),
            parameter("max_orphans", "uint32", "10000"),
            parameter("respond_to_memory_pressure", "boolean", "0"),
        ];
        match self {
            TargetKind::EventFile => FILE,
            TargetKind::RingBuffer => RING,
            TargetKind::Histogram => HISTOGRAM,
            TargetKind::EventCounter => &[],
            TargetKind::PairMatching => PAIRS,
        }
    }
}

/// The target of that name; those of 2008 are known, too.
pub fn target(package: Option<&str>, name: &str) -> Option<TargetKind> {
    if package.is_some_and(|p| !p.eq_ignore_ascii_case("package0")) {
        return None;
    }
    let name = match name.to_ascii_lowercase().as_str() {
        "asynchronous_file_target" => "event_file".to_owned(),
        "asynchronous_bucketizer" | "synchronous_bucketizer" => "histogram".to_owned(),
        "synchronous_event_counter" => "event_counter".to_owned(),
        other => other.to_owned(),
    };
    TargetKind::ALL.iter().copied().find(|t| t.name() == name)
}

/// A map: its name, the package that declares it, and what its keys mean.
pub type Map = (&'static str, &'static str, Vec<(u32, &'static str)>);

/// Every map.
pub fn maps() -> Vec<Map> {
    let waits = WaitType::ALL.iter().map(|w| (u32::from(w.key()), w.name()));
    let operations = Lop::ALL
        .iter()
        .map(|op| (u32::from(op.0), op.name().unwrap_or("")));
    let contexts = Lcx::ALL
        .iter()
        .map(|c| (u32::from(c.0), c.name().unwrap_or("")));
    vec![
        ("wait_types", "sqlos", waits.collect()),
        ("event_opcode", "sqlos", Opcode::MAP.to_vec()),
        ("database_file_type", "sqlserver", FileType::MAP.to_vec()),
        ("error_category", "sqlserver", ErrorCategory::MAP.to_vec()),
        (
            "error_destination",
            "sqlserver",
            ErrorDestination::MAP.to_vec(),
        ),
        ("event_result", "sqlserver", Outcome::MAP.to_vec()),
        (
            "page_split_operation",
            "sqlserver",
            PageSplitKind::MAP.to_vec(),
        ),
        ("file_io_mode", "sqlserver", FileIoMode::MAP.to_vec()),
        ("lock_mode", "sqlserver", LockModes::MAP.to_vec()),
        (
            "lock_resource_type",
            "sqlserver",
            LockResourceType::MAP.to_vec(),
        ),
        ("lock_owner_type", "sqlserver", LockOwnerType::MAP.to_vec()),
        (
            "resource_owner_type",
            "sqlserver",
            ResourceOwnerType::MAP.to_vec(),
        ),
        ("object_type", "sqlserver", ObjectType::MAP.to_vec()),
        (
            "statement_recompile_cause",
            "sqlserver",
            RecompileCause::MAP.to_vec(),
        ),
        (
            "sort_warning_type",
            "sqlserver",
            SortWarningType::MAP.to_vec(),
        ),
        (
            "hash_warning_type",
            "sqlserver",
            HashWarningType::MAP.to_vec(),
        ),
        (
            "connection_reset_option",
            "sqlserver",
            ConnectionReset::MAP.to_vec(),
        ),
        ("log_op", "sqlserver", operations.collect()),
        ("log_context", "sqlserver", contexts.collect()),
    ]
}

/// The key of a map's text, in any letter case; `None` when the type is no map or has no such text.
pub fn map_key(type_name: &str, text: &str) -> Option<u32> {
    let (_, _, entries) = maps().into_iter().find(|m| m.0 == type_name)?;
    let found = entries.iter().find(|(_, t)| t.eq_ignore_ascii_case(text));
    found.map(|(key, _)| *key)
}

pub fn is_map(type_name: &str) -> bool {
    maps().iter().any(|m| m.0 == type_name)
}

/// How values of a type compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeClass {
    Number,
    Text,
}

pub fn class_of(type_name: &str) -> TypeClass {
    match type_name {
        "unicode_string" | "ansi_string" | "xml" | "guid" | "binary_data" => TypeClass::Text,
        _ => TypeClass::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_asked_for_by_name_is_a_field() {
        for event in EventId::ALL {
            for collect in customizable(*event) {
                let own = event.fields().contains(&collect.field);
                let added = joined(*event).iter().any(|j| j.name() == collect.field);
                assert!(own != added, "{}: {}", event.name(), collect.name);
            }
            assert!(package(event.package()).is_some());
        }
    }

    #[test]
    fn ranges_of_wait_types_hold_what_system_health_means() {
        let key = |text| map_key("wait_types", text).expect("a wait type");
        assert!(key("LATCH_NL") < key("LATCH_SH") && key("LATCH_SH") < key("LATCH_DT"));
        assert!(key("IO_COMPLETION") < key("NETWORK_IO"));
        assert!((key("FCB_REPLICA_WRITE")..=key("WRITELOG")).contains(&key("WRITELOG")));
        assert!(key("LCK_M_S") < key("LCK_M_RX_X") && key("LCK_M_RX_X") < key("LATCH_NL"));
        assert_eq!(map_key("wait_types", "writelog"), Some(key("WRITELOG")));
    }
}
