//! `@@` globals: name, type, value, in one list.

use std::time::Duration;

use duramen_observe::{Activity, Counter, FileIoSnapshot, activity, counter};
use duramen_os::{machine, time};
use duramen_types::{SqlType, Value};

use duramen_core::session_core::SessionCore;

/// Of @@CPU_BUSY and its kin, in microseconds: @@TIMETICKS.
const TICK_MICROS: u32 = 31_250;

fn int(n: u64) -> Value {
    Value::Int(i32::try_from(n).unwrap_or(i32::MAX))
}

fn ticks(t: Duration) -> Value {
    let ticks = t.as_micros() / u128::from(TICK_MICROS);
    int(u64::try_from(ticks).unwrap_or(u64::MAX))
}

/// What all processors together could have done since the start.
fn processor_time() -> Duration {
    let up = Duration::from_nanos(time::now().nanos());
    up.saturating_mul(u32::try_from(machine::processors()).unwrap_or(1))
}

/// A figure of every file of every database, together.
fn of_files(s: &SessionCore, figure: impl Fn(&FileIoSnapshot) -> u64) -> u64 {
    let databases = s.instance.databases.all();
    let files = databases.iter().flat_map(|d| d.db.file_io());
    files.map(|io| figure(&io.snapshot())).sum()
}

struct Global {
    name: &'static str,
    /// A line of documentation.
    gives: &'static str,
    ty: SqlType,
    value: fn(&SessionCore) -> Value,
}

const GLOBALS: &[Global] = &[
    Global {
        name: "dbts",
        gives: "the last row version of the database",
        ty: SqlType::varbinary(8),
        value: |s| {
            let db = s.instance.databases.find(&s.database);
            let last = db.and_then(|d| d.catalog.last_rowversion().ok());
            last.map_or(Value::Null, |n| Value::Binary(n.to_be_bytes().to_vec()))
        },
    },
    Global {
        name: "rowcount",
        gives: "rows of the last statement",
        ty: SqlType::INT,
        value: |s| Value::Int(s.state.rowcount.min(i32::MAX as u64) as i32),
    },
    Global {
        name: "error",
        gives: "the number of the last statement's error; 0 for none",
        ty: SqlType::INT,
        value: |s| Value::Int(s.state.error),
    },
    Global {
        name: "identity",
        gives: "the last identity value of the session",
        ty: SqlType::numeric(38, 0),
        value: |s| crate::functions::number(s.state.identity),
    },
    Global {
        name: "trancount",
        gives: "transactions that the session has open, nested",
        ty: SqlType::INT,
        value: |s| Value::Int(s.trancount() as i32),
    },
    Global {
        name: "spid",
        gives: "the session's number",
        ty: SqlType::SMALLINT,
        value: |s| Value::SmallInt(s.spid.0 as i16),
    },
    Global {
        name: "options",
        gives: "SET options as bits",
        ty: SqlType::INT,
        value: |s| Value::Int(s.options.bits()),
    },
    Global {
        name: "datefirst",
        gives: "the first day of the week",
        ty: SqlType::TINYINT,
        value: |s| Value::TinyInt(s.options.datefirst),
    },
    Global {
        name: "lock_timeout",
        gives: "milliseconds that a lock is waited for",
        ty: SqlType::INT,
        value: |s| Value::Int(s.options.lock_timeout as i32),
    },
    Global {
        name: "textsize",
        gives: "bytes of a large value that are sent",
        ty: SqlType::INT,
        value: |s| Value::Int(s.options.textsize),
    },
    Global {
        name: "langid",
        gives: "the number of the session's language",
        ty: SqlType::SMALLINT,
        value: |s| Value::SmallInt(i16::from(s.options.language.data().id)),
    },
    Global {
        name: "language",
        gives: "the session's language",
        ty: SqlType::SYSNAME,
        value: |s| Value::nvarchar(s.options.language.data().name),
    },
    Global {
        name: "max_precision",
        gives: "digits of decimal at most",
        ty: SqlType::TINYINT,
        value: |_| Value::TinyInt(38),
    },
    Global {
        name: "nestlevel",
        gives: "how deep procedures are called",
        ty: SqlType::INT,
        value: |s| Value::Int(s.state.nesting as i32),
    },
    Global {
        name: "microsoftversion",
        gives: "the version as a number",
        ty: SqlType::INT,
        value: |_| Value::Int(0x1000_03E8),
    },
    Global {
        name: "version",
        gives: "the server's version",
        ty: SqlType::nvarchar(300),
        value: |_| Value::nvarchar(&duramen_access::version::text()),
    },
    Global {
        name: "servername",
        gives: "the server's name",
        ty: SqlType::SYSNAME,
        value: |s| Value::nvarchar(s.instance.server_name()),
    },
    Global {
        name: "servicename",
        gives: "the instance's name",
        ty: SqlType::SYSNAME,
        value: |_| Value::nvarchar("MSSQLSERVER"),
    },
    Global {
        name: "connections",
        gives: "logins since the start",
        ty: SqlType::INT,
        value: |_| int(u64::try_from(counter(Counter::Logins)).unwrap_or(0)),
    },
    Global {
        name: "cpu_busy",
        gives: "ticks of processor that statements have used",
        ty: SqlType::INT,
        value: |_| ticks(time::process_cpu()),
    },
    Global {
        name: "idle",
        gives: "ticks of processor that nobody has used",
        ty: SqlType::INT,
        value: |_| ticks(processor_time().saturating_sub(time::process_cpu())),
    },
    Global {
        name: "io_busy",
        gives: "ticks of reading and writing",
        ty: SqlType::INT,
        value: |s| {
            let stall = of_files(s, |f| f.read_stall_ms + f.write_stall_ms);
            ticks(Duration::from_millis(stall))
        },
    },
    Global {
        name: "max_connections",
        gives: "sessions at most",
        ty: SqlType::INT,
        value: |_| Value::Int(32_767),
    },
    Global {
        name: "pack_received",
        gives: "packets read since the start",
        ty: SqlType::INT,
        value: |_| int(activity(Activity::PacketsReceived)),
    },
    Global {
        name: "pack_sent",
        gives: "packets sent since the start",
        ty: SqlType::INT,
        value: |_| int(activity(Activity::PacketsSent)),
    },
    Global {
        name: "packet_errors",
        gives: "packets that failed",
        ty: SqlType::INT,
        value: |_| int(activity(Activity::PacketErrors)),
    },
    Global {
        name: "remserver",
        gives: "the server of a remote login; none",
        ty: SqlType::SYSNAME,
        value: |_| Value::Null,
    },
    Global {
        name: "timeticks",
        gives: "microseconds of a tick",
        ty: SqlType::INT,
        value: |_| Value::Int(TICK_MICROS as i32),
    },
    Global {
        name: "total_errors",
        gives: "reads and writes that failed",
        ty: SqlType::INT,
        value: |_| int(activity(Activity::DiskErrors)),
    },
    Global {
        name: "total_read",
        gives: "reads since the start",
        ty: SqlType::INT,
        value: |s| int(of_files(s, |f| f.reads)),
    },
    Global {
        name: "total_write",
        gives: "writes since the start",
        ty: SqlType::INT,
        value: |s| int(of_files(s, |f| f.writes)),
    },
    Global {
        name: "cursor_rows",
        gives: "rows of the last cursor",
        ty: SqlType::INT,
        value: |_| Value::Int(0),
    },
    Global {
        name: "fetch_status",
        gives: "how the last FETCH ended",
        ty: SqlType::INT,
        value: |_| Value::Int(0),
    },
];

/// Every global with its type and its line of documentation.
pub fn every() -> impl Iterator<Item = (&'static str, SqlType, &'static str)> {
    GLOBALS.iter().map(|g| (g.name, g.ty, g.gives))
}

pub fn type_of(name: &str) -> Option<(&'static str, SqlType)> {
    GLOBALS
        .iter()
        .find(|g| g.name.eq_ignore_ascii_case(name))
        .map(|g| (g.name, g.ty))
}

/// NULL for a name that is not in the list.
pub fn value(session: &SessionCore, name: &str) -> Value {
    GLOBALS
        .iter()
        .find(|g| g.name == name)
        .map_or(Value::Null, |g| (g.value)(session))
}
