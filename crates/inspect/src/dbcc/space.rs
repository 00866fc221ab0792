//! DBCC SQLPERF and SHRINKFILE: how full the logs are, and making a log file smaller.

use duramen_base::{FileId, SqlError, SqlResult, messages};
use duramen_catalog::FileKind;
use duramen_program::rights::Needs;
use duramen_program::rights::needs::CHANGES_STATE;
use duramen_types::{SqlType, Value};
use duramen_wal::ShrinkLimit;

use super::Statement;
use super::{Arg, Call, Columns, Report, incorrect, not_supported};
use duramen_program::rights::needs::{OWNER, SERVER_STATE};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "SHRINKFILE",
        needs: OWNER,
        args: (1, 3),
        options: &[],
        run: shrink_file,
    },
    Statement {
        name: "SQLPERF",
        needs: SERVER_STATE,
        args: (1, 2),
        options: &[],
        run: sql_perf,
    },
];

const PAGE: u64 = 8192;
const MB: u64 = 1 << 20;

const LOGSPACE: Columns = &[
    ("Database Name", SqlType::SYSNAME, true),
    ("Log Size (MB)", SqlType::REAL, true),
    ("Log Space Used (%)", SqlType::REAL, true),
    ("Status", SqlType::INT, true),
];

/// Of SQL Server 2000, before there was `sys.dm_os_wait_stats`; not documented since, and still there.
const WAITSTATS: Columns = &[
    ("Wait Type", SqlType::nvarchar(80), true),
    ("Requests", SqlType::FLOAT, true),
    ("Wait Time", SqlType::FLOAT, true),
    ("Signal Wait Time", SqlType::FLOAT, true),
];

/// What SQLPERF can also be asked for in SQL Server.
const NOT_HERE: &[&str] = &[
    "iostats",
    "lrustats",
    "netstats",
    "rastats",
    "spinlockstats",
    "sys.dm_os_spinlock_stats",
    "threads",
    "umsspinstats",
    "umsstats",
];

/// SQLPERF(LOGSPACE), SQLPERF(WAITSTATS), SQLPERF('sys.dm_os_wait_stats', CLEAR), SQLPERF('sys.dm_os_latch_stats', CLEAR);
/// SQLPERF(WAITSTATS, CLEAR) as the third. Any other word is 2526.
/// What SQLPERF (..., CLEAR) needs.
pub(super) const CLEARS: Needs = CHANGES_STATE;

pub fn sql_perf(call: &Call<'_>) -> SqlResult<Report> {
    let words: Vec<String> = call.args.iter().map(word).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [_, "clear"] = words[..] {
        call.permitted("SQLPERF", &CLEARS)?;
    }
    match words[..] {
        ["logspace"] => Ok(Report {
            table: Some((LOGSPACE, log_space(call))),
            ..Report::default()
        }),
        ["waitstats"] => Ok(Report {
            table: Some((WAITSTATS, wait_stats())),
            ..Report::default()
        }),
        ["sys.dm_os_wait_stats" | "waitstats", "clear"] => {
            duramen_observe::clear_wait_stats();
            Ok(Report::default())
        }
        ["sys.dm_os_latch_stats", "clear"] => {
            duramen_observe::clear_latch_stats();
            Ok(Report::default())
        }
        [what] | [what, "clear"] if NOT_HERE.contains(&what) => {
            Err(not_supported(&format!("DBCC SQLPERF({what})")))
        }
        _ => Err(incorrect()),
    }
}

fn word(arg: &Arg) -> String {
    match arg {
        Arg::Text(t) => t.trim().to_ascii_lowercase(),
        Arg::Number(n) => n.to_string(),
        Arg::Null | Arg::Binary(_) => String::new(),
    }
}

/// A row a type, times in milliseconds, and the sums.
fn wait_stats() -> Vec<Vec<Value>> {
    let mut total = [0.0; 3];
    let row = |name: &str, [requests, wait, signal]: [f64; 3]| {
        vec![
            Value::nvarchar(name),
            Value::Float(requests),
            Value::Float(wait),
            Value::Float(signal),
        ]
    };
    let mut rows = Vec::new();
    for w in duramen_observe::wait_stats() {
        let own = [
            w.waiting_tasks_count as f64,
            w.wait_time_ms as f64,
            w.signal_wait_time_ms as f64,
        ];
        for (sum, one) in total.iter_mut().zip(own) {
            *sum += one;
        }
        rows.push(row(w.name, own));
    }
    rows.push(row("Total", total));
    rows
}

fn log_space(call: &Call<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for d in call.session.instance.databases.all() {
        let Some(space) = d.db.log().map(|l| l.space()) else {
            continue;
        };
        let used = (space.used + space.reserved).min(space.total);
        let percent = used as f64 * 100.0 / (space.total.max(1)) as f64;
        rows.push(vec![
            Value::nvarchar(&d.db.name),
            Value::Real((space.total as f64 / MB as f64) as f32),
            Value::Real(percent as f32),
            Value::Int(0),
        ]);
    }
    rows
}

const SHRINKFILE: Columns = &[
    ("DbId", SqlType::SMALLINT, true),
    ("FileId", SqlType::INT, true),
    ("CurrentSize", SqlType::INT, true),
    ("MinimumSize", SqlType::INT, true),
    ("UsedPages", SqlType::INT, true),
    ("EstimatedPages", SqlType::INT, true),
];

/// SHRINKFILE of a log file of the current database: sizes come back in pages. Without a target the file goes to the
/// size it was made with. A target below what is in use is met as far as it goes; the message says why not further.
pub fn shrink_file(call: &Call<'_>) -> SqlResult<Report> {
    if call.session.in_transaction() {
        let what = "shrinkfile";
        return Err(SqlError::new(&messages::DBCC_IN_TRANSACTION, &[&what]).with_state(2));
    }
    let database = &call.session.database;
    let db = call.session.instance.databases.find(database);
    let db = db.ok_or_else(|| SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[database]))?;
    let entry = db.entry.read().clone();
    let wanted = match call.args.first() {
        Some(Arg::Text(name)) => name.clone(),
        Some(Arg::Number(id)) => id.to_string(),
        _ => return Err(incorrect()),
    };
    let file = entry.files.iter().find(|f| match &call.args[0] {
        Arg::Number(id) => i64::from(f.file_id) == *id,
        _ => f.logical_name.to_lowercase() == wanted.to_lowercase(),
    });
    let (Some(file), Some(log)) = (file, db.db.log()) else {
        let args: [&dyn std::fmt::Display; 2] = [&wanted, database];
        return Err(SqlError::new(&messages::DBCC_FILE_NOT_FOUND, &args));
    };
    if file.kind != FileKind::Log {
        return Err(not_supported("DBCC SHRINKFILE of a data file"));
    }
    let made = file.size.max(0) as u64 * PAGE;
    let mut target = made;
    for arg in &call.args[1..] {
        match arg {
            Arg::Number(mb) if *mb >= 0 => target = (*mb as u64).saturating_mul(MB),
            // Both say what happens to the pages of data files.
            Arg::Text(t)
                if matches!(
                    word(&Arg::Text(t.clone())).as_str(),
                    "truncateonly" | "notruncate"
                ) => {}
            Arg::Text(t) if t.eq_ignore_ascii_case("emptyfile") => {
                return Err(not_supported("DBCC SHRINKFILE with EMPTYFILE"));
            }
            _ => return Err(incorrect()),
        }
    }
    let shrunk = log
        .shrink_file(FileId(file.file_id), target)
        .map_err(|e| e.to_sql(database))?;
    if shrunk.removed_vlfs > 0 {
        duramen_observe::count_db(db.db.id, duramen_observe::DbCounter::LogShrinks, 1);
    }
    let args: [&dyn std::fmt::Display; 2] = [&file.file_id, &file.logical_name];
    let messages = match shrunk.limit {
        Some(ShrinkLimit::InUse) => vec![SqlError::new(&messages::LOG_SHRINK_IN_USE, &args)],
        Some(ShrinkLimit::MinimumVlfs) => {
            let args: [&dyn std::fmt::Display; 3] = [&file.file_id, &file.logical_name, &2];
            vec![SqlError::new(&messages::LOG_SHRINK_TOTAL, &args)]
        }
        None => Vec::new(),
    };
    let pages = |bytes: u64| Value::Int((bytes / PAGE) as i32);
    let row = vec![
        Value::SmallInt(db.db.id.0 as i16),
        Value::Int(i32::from(file.file_id)),
        pages(shrunk.new_bytes),
        pages(made),
        pages(shrunk.new_bytes),
        pages(made.min(shrunk.new_bytes)),
    ];
    Ok(Report {
        table: Some((SHRINKFILE, vec![row])),
        messages,
        ..Report::default()
    })
}
