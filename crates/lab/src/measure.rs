//! What a server has counted, before and after: waits, file I/O, growths, and the shape of the log.

use std::collections::BTreeMap;

use crate::record::{FileIo, Files, LogShape, MAP_MAX, Wait};
use crate::sql::{Rows, Sql, number, quoted, string};

/// Waits of roles that have nothing to do: their time says nothing about the work.
const IDLE: [&str; 34] = [
    "BROKER_EVENTHANDLER",
    "BROKER_TASK_STOP",
    "BROKER_TO_FLUSH",
    "BROKER_TRANSMITTER",
    "CHECKPOINT_QUEUE",
    "CLR_AUTO_EVENT",
    "CLR_MANUAL_EVENT",
    "CLR_SEMAPHORE",
    "DIRTY_PAGE_POLL",
    "DISPATCHER_QUEUE_SEMAPHORE",
    "FT_IFTS_SCHEDULER_IDLE_WAIT",
    "HADR_FILESTREAM_IOMGR_IOCOMPLETION",
    "LAZYWRITER_SLEEP",
    "LOGMGR_QUEUE",
    "ONDEMAND_TASK_QUEUE",
    "PVS_PREALLOCATE",
    "PWAIT_EXTENSIBILITY_CLEANUP_TASK",
    "QDS_ASYNC_QUEUE",
    "QDS_PERSIST_TASK_MAIN_LOOP_SLEEP",
    "REQUEST_FOR_DEADLOCK_SEARCH",
    "RESOURCE_QUEUE",
    "SLEEP_BPOOL_FLUSH",
    "SLEEP_DBSTARTUP",
    "SLEEP_SYSTEMTASK",
    "SLEEP_TASK",
    "SOS_WORK_DISPATCHER",
    "SP_SERVER_DIAGNOSTICS_SLEEP",
    "SQLTRACE_BUFFER_FLUSH",
    "SQLTRACE_INCREMENTAL_FLUSH_SLEEP",
    "WAITFOR",
    "XE_DISPATCHER_JOIN",
    "XE_DISPATCHER_WAIT",
    "XE_LIVE_TARGET_TVF",
    "XE_TIMER_EVENT",
];

/// A wait type of a role that has nothing to do.
pub fn is_idle(kind: &str) -> bool {
    IDLE.contains(&kind)
}

/// Every wait type that was waited for.
pub const WAITS: &str = "SELECT wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats \
    WHERE waiting_tasks_count > 0";

/// Tasks and milliseconds of each wait type since the server started, or since they were cleared.
pub type WaitTotals = BTreeMap<String, (f64, f64)>;

/// The answer to [`WAITS`].
pub fn wait_totals(rows: &Rows) -> WaitTotals {
    let wait = |row: &Vec<_>| (string(&row[0]), (number(&row[1]), number(&row[2])));
    rows.rows.iter().map(wait).collect()
}

/// What was waited between two moments, longest first, without the waits of idle roles.
pub fn waits_between(before: &WaitTotals, after: &WaitTotals) -> Vec<Wait> {
    let since = |(kind, (tasks, ms)): (&String, &(f64, f64))| {
        // After DBCC SQLPERF(..., CLEAR) there is less than before.
        let (tasks0, ms0) = before
            .get(kind)
            .copied()
            .filter(|b| b.0 <= *tasks)
            .unwrap_or_default();
        Wait {
            kind: kind.clone(),
            tasks: tasks - tasks0,
            ms: (ms - ms0).max(0.0),
        }
    };
    let mut all: Vec<Wait> = after
        .iter()
        .filter(|(kind, _)| !is_idle(kind))
        .map(since)
        .filter(|w| w.tasks > 0.0)
        .collect();
    all.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    all
}

/// Cumulative figures of one moment.
pub struct Snapshot {
    waits: WaitTotals,
    files: Files,
    growths: f64,
}

impl Snapshot {
    pub fn take(sql: &mut Sql, database: &str) -> Result<Snapshot, String> {
        let name = quoted(database);
        let sets = sql.query(&format!(
            "{WAITS};
             SELECT f.type, SUM(CONVERT(float, s.num_of_writes)), SUM(CONVERT(float, s.num_of_bytes_written)),
                    SUM(CONVERT(float, s.io_stall_write_ms)), SUM(CONVERT(float, s.num_of_reads)),
                    SUM(CONVERT(float, s.num_of_bytes_read))
             FROM sys.dm_io_virtual_file_stats(DB_ID({name}), NULL) AS s
             JOIN sys.master_files AS f ON f.database_id = s.database_id AND f.file_id = s.file_id
             GROUP BY f.type;
             SELECT SUM(CONVERT(float, cntr_value)) FROM sys.dm_os_performance_counters
             WHERE counter_name = 'Log Growths' AND instance_name = {name}"
        ))?;
        let [waits, files, growths] = sets.as_slice() else {
            return Err("a snapshot has three result sets".to_owned());
        };
        Ok(Snapshot {
            waits: wait_totals(waits),
            files: file_io(files),
            growths: growths.rows.first().map_or(0.0, |row| number(&row[0])),
        })
    }

    /// What was waited since an earlier moment: see [`waits_between`].
    pub fn waits_since(&self, before: &Snapshot) -> Vec<Wait> {
        waits_between(&before.waits, &self.waits)
    }

    pub fn files_since(&self, before: &Snapshot) -> Files {
        let less = |a: FileIo, b: FileIo| FileIo {
            writes: a.writes - b.writes,
            written_mb: a.written_mb - b.written_mb,
            write_stall_ms: a.write_stall_ms - b.write_stall_ms,
            reads: a.reads - b.reads,
            read_mb: a.read_mb - b.read_mb,
        };
        Files {
            data: less(self.files.data, before.files.data),
            log: less(self.files.log, before.files.log),
        }
    }

    pub fn growths_since(&self, before: &Snapshot) -> f64 {
        self.growths - before.growths
    }
}

fn file_io(set: &Rows) -> Files {
    let mut files = Files::default();
    for row in &set.rows {
        let io = FileIo {
            writes: number(&row[1]),
            written_mb: number(&row[2]) / 1_048_576.0,
            write_stall_ms: number(&row[3]),
            reads: number(&row[4]),
            read_mb: number(&row[5]) / 1_048_576.0,
        };
        match number(&row[0]) as i64 {
            0 => files.data = io,
            1 => files.log = io,
            _ => {}
        }
    }
    files
}

/// The VLFs of a database's log, by the view where there is one (2016 SP2 and later), else by DBCC LOGINFO.
pub fn log_shape(sql: &mut Sql, database: &str) -> Result<LogShape, String> {
    let name = quoted(database);
    let viewed = sql.query(&format!(
        "SELECT vlf_size_mb, CONVERT(int, vlf_active) FROM sys.dm_db_log_info(DB_ID({name})) ORDER BY file_id, vlf_begin_offset"
    ));
    let vlfs: Vec<(f64, u8)> = match viewed {
        Ok(sets) => pairs(&sets, |row| (number(&row[0]), 2 * number(&row[1]) as u8)),
        Err(_) => {
            let sets = sql.query(&format!("DBCC LOGINFO({name}) WITH NO_INFOMSGS"))?;
            let column = |n: &str| {
                let names = sets.first().map_or(&[][..], |s| &s.names);
                names.iter().position(|c| c.eq_ignore_ascii_case(n))
            };
            let (Some(size), Some(status)) = (column("FileSize"), column("Status")) else {
                return Err("DBCC LOGINFO has no FileSize or Status".to_owned());
            };
            pairs(&sets, |row| {
                (number(&row[size]) / 1_048_576.0, number(&row[status]) as u8)
            })
        }
    };
    Ok(LogShape {
        vlfs: vlfs.len() as f64,
        size_mb: vlfs.iter().map(|v| v.0).sum(),
        growths: 0.0,
        map: joined(&vlfs),
    })
}

fn pairs(sets: &[Rows], of: impl Fn(&[duramen_types::Value]) -> (f64, u8)) -> Vec<(f64, u8)> {
    let rows = sets.first().map_or(&[][..], |s| &s.rows);
    rows.iter().map(|row| of(row)).collect()
}

/// At most [`MAP_MAX`] entries: neighbours are added up.
fn joined(vlfs: &[(f64, u8)]) -> Vec<(f64, u8)> {
    let part = vlfs.len().div_ceil(MAP_MAX).max(1);
    let join = |p: &[(f64, u8)]| {
        let size = p.iter().map(|v| v.0).sum();
        (size, p.iter().map(|v| v.1).max().unwrap_or(0))
    };
    vlfs.chunks(part).map(join).collect()
}
