//! SIMPLE recovery under heavy insert: checkpoints free the log as fast as it fills, so that it stays near its size.

use super::backups::all;
use super::*;

/// Rows of 4.1 KB that each session inserts, one a commit.
const ROWS: u32 = 8_000;
const SESSIONS: u32 = 3;
/// After so many a session rests for a hundredth of a second: 25 MB of log a second go by, on whatever machine.
const BREATH: u32 = 20;

#[test]
fn the_log_does_not_grow_beyond_what_the_pace_needs() {
    let instance = instance();
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf', SIZE = 64MB) LOG ON (NAME = l, FILENAME = '/data/d.ldf', SIZE = 8MB, FILEGROWTH = 1MB)",
            "ALTER DATABASE d SET RECOVERY SIMPLE",
            // Without native's larger growths ahead of need.
            "USE d; ALTER DATABASE SCOPED CONFIGURATION SET LOG_PROFILE = 2022; USE master",
            "CREATE TABLE d.dbo.t (c1 bigint IDENTITY PRIMARY KEY, c2 char(4100) NOT NULL)",
        ],
    );
    let writers: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let instance = instance.0.clone();
            duramen_os::thread::spawn("writer", move || {
                let mut s = login(&instance);
                let sql = format!(
                    "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < {ROWS} BEGIN INSERT d.dbo.t (c2) VALUES ('x'); SET @i += 1; \
                     IF @i % {BREATH} = 0 WAITFOR DELAY '00:00:00.010' END"
                );
                all(&mut s, &[&sql]);
            })
        })
        .collect();
    for w in writers {
        w.join().expect("a writer ends");
    }
    let numbers = run(
        &mut s,
        "SELECT (SELECT COUNT(*) FROM d.dbo.t), (SELECT SUM(vlf_size_mb) FROM sys.dm_db_log_info(DB_ID('d'))), (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Growths' AND instance_name = 'd'), (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Truncations' AND instance_name = 'd'), (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Checkpoint pages/sec')",
    );
    println!("{numbers:?}");
    let n: Vec<f64> = numbers[1]
        .split(" | ")
        .map(|v| v.parse().unwrap_or(0.0))
        .collect();
    let written = f64::from(ROWS * SESSIONS) * 4_300.0 / 1_048_576.0;
    assert_eq!(n[0], f64::from(ROWS * SESSIONS));
    // Some 100 MB of log went through it.
    assert!(
        n[1] < written / 2.0,
        "{} MB for {written} MB of records",
        n[1]
    );
    assert!(n[3] > 2.0 && n[4] > 100.0, "{numbers:?}");
}
