//! What is read from the server, every second and every five.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use crate::measure::{WAITS, WaitTotals, wait_totals, waits_between};
use crate::record::Wait;
use crate::sql::{Rows, Sql, number, string};

/// Looks that are remembered: five minutes.
pub const REMEMBERED: usize = 300;
/// The waits shown are those of so many looks.
const WAITS_OVER: usize = 60;
/// What takes longer to read is read once in so many looks.
const SELDOM: u64 = 5;

/// Counters of all databases together, and of the server.
const COUNTERS: [&str; 7] = [
    "Transactions/sec",
    "Log Bytes Flushed/sec",
    "Log Flushes/sec",
    "Checkpoint pages/sec",
    "Background writer pages/sec",
    "Lazy writes/sec",
    "Batch Requests/sec",
];

/// A rate that is drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rate {
    Transactions,
    Batches,
    LogBytes,
    LogFlushes,
    CheckpointPages,
    BackgroundPages,
    LazyWrites,
    DataBytes,
    LogWriteMs,
    DataWriteMs,
    /// Writes on their way, on average: the time they took together in each second.
    LogQueue,
    DataQueue,
}

/// A table of the page: what it shows, or why it cannot.
pub type Table = Result<Rows, String>;

/// The state of a database's log.
#[derive(Clone, Debug, Default)]
pub struct Map {
    pub database: String,
    /// VLFs in file order: MB, and whether active.
    pub vlfs: Vec<(f64, bool)>,
}

/// Everything the page shows.
#[derive(Debug, Default)]
pub struct Looks {
    began: Option<Instant>,
    count: u64,
    previous: Option<(f64, Totals)>,
    /// Seconds since the first look and the rate, each at most [`REMEMBERED`] long.
    pub rates: BTreeMap<Rate, VecDeque<(f64, f64)>>,
    waits: VecDeque<WaitTotals>,
    pub about: Option<Table>,
    pub databases: Option<Table>,
    pub sessions: Option<Table>,
    pub statements: Option<Table>,
    pub growths: Option<Table>,
    pub maps: Option<Result<Vec<Map>, String>>,
    pub rates_failed: Option<String>,
    pub waits_failed: Option<String>,
}

/// Counters and I/O since the server started.
#[derive(Clone, Debug, Default)]
struct Totals {
    counters: BTreeMap<String, f64>,
    /// Bytes, writes and milliseconds of data files and of log files.
    files: [[f64; 3]; 2],
}

const ABOUT: &str = "SELECT @@SERVERNAME, @@VERSION, SUSER_SNAME(), \
    (SELECT DATEDIFF(second, sqlserver_start_time, SYSDATETIME()) FROM sys.dm_os_sys_info)";

const DATABASES: &str = "SELECT d.name AS [database], d.state_desc AS state, d.recovery_model_desc AS [recovery], \
    d.log_reuse_wait_desc AS [log reuse waits for], s.mb AS [log MB], u.used AS [used %], s.vlfs AS VLFs, \
    s.active AS [active VLFs], s.backup_time AS [last log backup] \
    FROM sys.databases AS d \
    OUTER APPLY (SELECT CONVERT(decimal(18, 1), l.total_log_size_mb) AS mb, l.total_vlf_count AS vlfs, l.active_vlf_count AS active, \
        NULLIF(CONVERT(varchar(19), l.log_backup_time, 120), '1900-01-01 00:00:00') AS backup_time \
        FROM sys.dm_db_log_stats(d.database_id) AS l) AS s \
    OUTER APPLY (SELECT c.cntr_value AS used FROM sys.dm_os_performance_counters AS c \
        WHERE c.counter_name = 'Percent Log Used' AND c.instance_name = d.name) AS u \
    ORDER BY d.database_id";

const SESSIONS: &str = "SELECT TOP (50) s.session_id AS id, s.login_name AS [login], s.host_name AS host, \
    s.program_name AS program, DB_NAME(s.database_id) AS [database], s.status, r.command, r.wait_type AS [waits for], \
    r.wait_time AS [ms], r.blocking_session_id AS [blocked by], s.open_transaction_count AS [open], s.cpu_time AS [cpu ms], \
    s.reads, s.writes \
    FROM sys.dm_exec_sessions AS s LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id \
    WHERE s.is_user_process = 1 AND s.session_id <> @@SPID \
    ORDER BY CASE WHEN r.session_id IS NULL THEN 1 ELSE 0 END, s.session_id";

const STATEMENTS: &str = "SELECT TOP (15) q.execution_count AS runs, q.total_elapsed_time / 1000 AS [total ms], \
    q.total_worker_time / 1000 AS [cpu ms], q.total_elapsed_time / q.execution_count AS [us each], \
    q.total_logical_reads AS reads, \
    LEFT(SUBSTRING(t.text, q.statement_start_offset / 2 + 1, (CASE q.statement_end_offset WHEN -1 THEN DATALENGTH(t.text) \
        ELSE q.statement_end_offset END - q.statement_start_offset) / 2 + 1), 200) AS statement \
    FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t \
    ORDER BY q.total_elapsed_time DESC";

const GROWTHS: &str = "SELECT TOP (15) CONVERT(varchar(19), t.StartTime, 120) AS [when], t.DatabaseName AS [database], \
    t.FileName AS [file], CASE t.EventClass WHEN 92 THEN 'data grew' WHEN 93 THEN 'log grew' WHEN 94 THEN 'data shrank' \
    ELSE 'log shrank' END AS what, t.IntegerData / 128 AS MB, t.Duration / 1000 AS ms, t.ApplicationName AS program \
    FROM sys.traces AS d CROSS APPLY sys.fn_trace_gettable(d.path, DEFAULT) AS t \
    WHERE d.is_default = 1 AND t.EventClass IN (92, 93, 94, 95) ORDER BY t.StartTime DESC";

/// Logs of more VLFs are counted, not drawn.
const MAPS: &str = "SELECT d.name, l.vlf_size_mb, l.vlf_active FROM sys.databases AS d \
    CROSS APPLY sys.dm_db_log_stats(d.database_id) AS s CROSS APPLY sys.dm_db_log_info(d.database_id) AS l \
    WHERE s.total_vlf_count <= 1000 ORDER BY d.database_id, l.file_id, l.vlf_begin_offset";

impl Looks {
    /// Looks once. The error is of the connection: what a single query was refused stands in its place.
    pub fn look(sql: &mut Sql, known: &std::sync::Mutex<Looks>) -> Result<(), String> {
        let (seldom, now) = {
            let mut looks = super::visits::lock(known);
            let began = *looks.began.get_or_insert_with(Instant::now);
            looks.count += 1;
            (looks.count % SELDOM == 1, began.elapsed().as_secs_f64())
        };
        // Nobody who asks for the page waits for a query.
        let totals = totals(sql);
        let waits = first(sql, WAITS);
        let sessions = first(sql, SESSIONS);
        let databases = first(sql, DATABASES);
        let rest = seldom.then(|| {
            (
                first(sql, ABOUT),
                first(sql, STATEMENTS),
                first(sql, GROWTHS),
                first(sql, MAPS).map(|rows| maps(&rows)),
            )
        });
        sql.run("SELECT 1")?;
        let mut looks = super::visits::lock(known);
        looks.sessions = Some(sessions);
        looks.databases = Some(databases);
        looks.note_totals(now, totals);
        looks.note_waits(waits);
        if let Some((about, statements, growths, maps)) = rest {
            looks.about = Some(about);
            looks.statements = Some(statements);
            looks.growths = Some(growths);
            looks.maps = Some(maps);
        }
        Ok(())
    }

    fn note_totals(&mut self, now: f64, totals: Result<Totals, String>) {
        let totals = match totals {
            Ok(totals) => totals,
            Err(why) => {
                self.rates_failed = Some(why);
                return;
            }
        };
        self.rates_failed = None;
        if let Some((then, before)) = self.previous.replace((now, totals.clone())) {
            for (rate, value) in rates(&before, &totals, now - then) {
                let line = self.rates.entry(rate).or_default();
                line.push_back((now, value));
                if line.len() > REMEMBERED {
                    line.pop_front();
                }
            }
        }
    }

    fn note_waits(&mut self, waits: Table) {
        match waits {
            Ok(rows) => {
                self.waits.push_back(wait_totals(&rows));
                if self.waits.len() > WAITS_OVER + 1 {
                    self.waits.pop_front();
                }
                self.waits_failed = None;
            }
            Err(why) => self.waits_failed = Some(why),
        }
    }

    /// What was waited in the last minute, longest first, idle roles left out.
    pub fn waited(&self) -> Vec<Wait> {
        let (Some(before), Some(after)) = (self.waits.front(), self.waits.back()) else {
            return Vec::new();
        };
        let mut all = waits_between(before, after);
        all.retain(|w| w.ms > 0.0);
        all
    }
}

fn first(sql: &mut Sql, text: &str) -> Table {
    Ok(sql.query(text)?.into_iter().next().unwrap_or_default())
}

fn maps(rows: &Rows) -> Vec<Map> {
    let mut maps: Vec<Map> = Vec::new();
    for row in &rows.rows {
        let database = string(&row[0]);
        if maps.last().is_none_or(|m| m.database != database) {
            maps.push(Map {
                database,
                vlfs: Vec::new(),
            });
        }
        if let Some(map) = maps.last_mut() {
            map.vlfs.push((number(&row[1]), number(&row[2]) != 0.0));
        }
    }
    maps
}

fn totals(sql: &mut Sql) -> Result<Totals, String> {
    let names: Vec<String> = COUNTERS.iter().map(|c| format!("'{c}'")).collect();
    let sets = sql.query(&format!(
        "SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters \
         WHERE instance_name IN ('', '_Total') AND counter_name IN ({}); \
         SELECT f.type, SUM(CONVERT(float, s.num_of_bytes_written)), SUM(CONVERT(float, s.num_of_writes)), \
         SUM(CONVERT(float, s.io_stall_write_ms)) FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS s \
         JOIN sys.master_files AS f ON f.database_id = s.database_id AND f.file_id = s.file_id \
         WHERE f.type IN (0, 1) GROUP BY f.type",
        names.join(", ")
    ))?;
    let mut totals = Totals::default();
    for row in sets.first().map_or(&[][..], |s| &s.rows) {
        *totals.counters.entry(string(&row[0])).or_default() += number(&row[1]);
    }
    for row in sets.get(1).map_or(&[][..], |s| &s.rows) {
        let kind = usize::from(number(&row[0]) == 1.0);
        totals.files[kind] = [number(&row[1]), number(&row[2]), number(&row[3])];
    }
    Ok(totals)
}

fn rates(before: &Totals, after: &Totals, seconds: f64) -> Vec<(Rate, f64)> {
    let seconds = seconds.max(0.001);
    let counter = |name: &str| {
        let of = |t: &Totals| t.counters.get(name).copied().unwrap_or(0.0);
        ((of(after) - of(before)) / seconds).max(0.0)
    };
    let file =
        |kind: usize, what: usize| (after.files[kind][what] - before.files[kind][what]).max(0.0);
    let each = |kind: usize| match file(kind, 1) {
        0.0 => 0.0,
        writes => file(kind, 2) / writes,
    };
    vec![
        (Rate::Transactions, counter("Transactions/sec")),
        (Rate::Batches, counter("Batch Requests/sec")),
        (Rate::LogBytes, counter("Log Bytes Flushed/sec") / 1e6),
        (Rate::LogFlushes, counter("Log Flushes/sec")),
        (Rate::CheckpointPages, counter("Checkpoint pages/sec")),
        (
            Rate::BackgroundPages,
            counter("Background writer pages/sec"),
        ),
        (Rate::LazyWrites, counter("Lazy writes/sec")),
        (Rate::DataBytes, file(0, 0) / 1e6 / seconds),
        (Rate::LogWriteMs, each(1)),
        (Rate::DataWriteMs, each(0)),
        (Rate::LogQueue, file(1, 2) / 1000.0 / seconds),
        (Rate::DataQueue, file(0, 2) / 1000.0 / seconds),
    ]
}
