//! Commits and log bytes a second as functions of one thing at a time: clients, rows in a transaction, bytes in a row, VLFs,
//! size of the log file, databases at work. Every commit is waited for (COMMIT_WAIT = STATEMENT), so that a cliff is one of
//! the log and not of the wire.
//!
//! Points are `x, commits/s, log MB/s` in `curves.csv` and one picture a curve, `curve-NAME.svg`, in the target folder.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::{disk, plot};
use crate::server::{PASSWORD, Server};
use crate::sql::Sql;
use crate::target_dir;

struct Curve {
    name: &'static str,
    x: &'static str,
    points: &'static [u64],
}

const CURVES: [Curve; 6] = [
    Curve {
        name: "sessions",
        x: "clients, each with one commit on its way",
        points: &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    },
    Curve {
        name: "rows",
        x: "rows in a transaction (16 clients)",
        points: &[1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000],
    },
    Curve {
        name: "bytes",
        x: "bytes in a row (16 clients)",
        points: &[10, 30, 100, 300, 1_000, 3_000, 8_000],
    },
    Curve {
        name: "vlfs",
        x: "VLFs of the log (16 clients)",
        points: &[4, 16, 64, 256, 1_024, 4_096, 20_000, 100_000],
    },
    Curve {
        name: "log",
        x: "megabytes of the log file (16 clients)",
        points: &[8, 32, 128, 512, 2_048],
    },
    Curve {
        name: "databases",
        x: "databases at work (64 clients)",
        points: &[1, 2, 4, 8, 16, 32, 64],
    },
];

/// What one point runs.
struct Work {
    clients: u64,
    rows: u64,
    bytes: u64,
    /// Growths of a megabyte, of four VLFs each, that the log has seen.
    growths: u64,
    log_mb: u64,
    databases: u64,
}

impl Work {
    fn at(curve: &str, x: u64) -> Work {
        let mut work = Work {
            clients: 16,
            rows: 1,
            bytes: 100,
            growths: 0,
            log_mb: 512,
            databases: 1,
        };
        match curve {
            "sessions" => work.clients = x,
            "rows" => work.rows = x,
            "bytes" => work.bytes = x,
            "vlfs" => (work.growths, work.log_mb) = ((x - 4) / 4, 8),
            "log" => work.log_mb = x,
            _ => (work.clients, work.databases, work.log_mb) = (64, x, 64),
        }
        work
    }
}

impl Work {
    /// Of all files together.
    fn megabytes(&self) -> u64 {
        (self.log_mb + self.growths + 256) * self.databases
    }
}

pub fn is_wanted(only: Option<&str>) -> bool {
    only == Some("curves")
        || only.is_some_and(|o| CURVES.iter().any(|c| format!("curve-{}", c.name) == o))
}

pub fn figures(dir: &Path, seconds: f64, only: Option<&str>) -> Result<String, String> {
    let mut csv = "curve,x,commits_per_second,log_mb_per_second\n".to_owned();
    let mut out = "| curve | x | commits/s | log MB/s |\n|---|---|---|---|\n".to_owned();
    for curve in &CURVES {
        if only.is_some_and(|o| o != "curves" && o != format!("curve-{}", curve.name)) {
            continue;
        }
        let mut commits = Vec::new();
        let mut bytes = Vec::new();
        for x in curve.points {
            let work = Work::at(curve.name, *x);
            if let Some(free) = disk::free_mb(dir)
                && free < 2 * work.megabytes()
            {
                println!(
                    "skipped: {} {x}: the disk has no room for {} MB",
                    curve.name,
                    work.megabytes()
                );
                continue;
            }
            let (rate, log) = point(dir, &work, seconds)?;
            println!("{} {x}: {rate:.0} commits/s, {log:.1} MB/s", curve.name);
            let _ = writeln!(csv, "{},{x},{rate:.0},{log:.2}", curve.name);
            let _ = writeln!(out, "| {} | {x} | {rate:.0} | {log:.1} |", curve.name);
            commits.push((*x as f64, rate));
            bytes.push((*x as f64, log));
        }
        let lines = [("commits/s", commits), ("log MB/s", bytes)];
        let file = target_dir().join(format!("curve-{}.svg", curve.name));
        std::fs::write(&file, plot::picture(curve.x, &lines)).map_err(|e| e.to_string())?;
    }
    std::fs::write(target_dir().join("curves.csv"), csv).map_err(|e| e.to_string())?;
    Ok(out)
}

/// Commits and megabytes of log a second, on a server of its own.
fn point(dir: &Path, work: &Work, seconds: f64) -> Result<(f64, f64), String> {
    let home = dir.join("curve");
    let _ = std::fs::remove_dir_all(&home);
    let drive = format!("D={}", home.join("files").display());
    let server = Server::start_with(&home.join("data"), &["--drive", &drive])?;
    let sql = Sql { port: server.port };
    for n in 0..work.databases {
        make(sql, n, work)?;
    }
    let before = written(sql)?;
    let reported = crate::sql::finish(
        Command::new(target_dir().join("release").join("examples").join("load"))
            .args([&server.port.to_string(), PASSWORD, "batch"])
            .args([work.clients.to_string(), seconds.to_string()])
            .args([batch(work), work.databases.to_string()]),
    )?;
    let numbers: Vec<f64> = reported
        .trim()
        .split('|')
        .filter_map(|n| n.parse().ok())
        .collect();
    let [commits, micros, ..] = numbers[..] else {
        return Err(format!("the load says {reported}"));
    };
    let bytes = written(sql)? - before;
    server.kill();
    let _ = std::fs::remove_dir_all(&home);
    Ok((commits * 1e6 / micros, bytes / micros * 1e6 / 1_048_576.0))
}

fn make(sql: Sql, n: u64, work: &Work) -> Result<(), String> {
    let data = if work.databases > 1 { 32 } else { 256 };
    sql.query(
        "master",
        &format!(
            "CREATE DATABASE c{n} ON (NAME = c, FILENAME = 'D:\\c{n}.mdf', SIZE = {data}MB, FILEGROWTH = 64MB)
             LOG ON (NAME = c_log, FILENAME = 'D:\\c{n}.ldf', SIZE = {}MB, FILEGROWTH = 64MB);
             ALTER DATABASE c{n} SET RECOVERY SIMPLE",
            work.log_mb
        ),
    )?;
    let mut text = format!(
        "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT;
         CREATE TABLE t (id bigint IDENTITY PRIMARY KEY, filler char({}) NOT NULL);
         SET NOCOUNT ON;",
        work.bytes
    );
    if work.growths > 0 {
        let _ = write!(
            text,
            "ALTER DATABASE SCOPED CONFIGURATION SET LOG_PROFILE = 2012;
             DECLARE @mb int = {0}, @s nvarchar(200);
             WHILE @mb < {0} + {1}
             BEGIN
                 SET @mb += 1;
                 SET @s = N'ALTER DATABASE c{n} MODIFY FILE (NAME = c_log, SIZE = ' + CAST(@mb AS nvarchar(10)) + N'MB)';
                 EXEC (@s);
             END",
            work.log_mb, work.growths
        );
    }
    sql.query(&format!("c{n}"), &text).map(|_| ())
}

/// One transaction of a client; `{n}` is its database.
fn batch(work: &Work) -> String {
    match work.rows {
        1 => "INSERT c{n}..t (filler) VALUES ('a')".to_owned(),
        rows => format!(
            "SET NOCOUNT ON; DECLARE @i int = 0; BEGIN TRAN;
             WHILE @i < {rows} BEGIN INSERT c{{n}}..t (filler) VALUES ('a'); SET @i += 1 END;
             COMMIT"
        ),
    }
}

/// Bytes written to all logs.
fn written(sql: Sql) -> Result<f64, String> {
    let text = "SELECT SUM(num_of_bytes_written) FROM sys.dm_io_virtual_file_stats(NULL, 2)";
    sql.number("master", text).map(|n| n as f64)
}

#[cfg(test)]
mod tests {
    use super::{CURVES, Work, batch};

    #[test]
    fn a_curve_changes_one_thing() {
        let vlfs = Work::at("vlfs", 4_096);
        assert_eq!((vlfs.growths, vlfs.log_mb, vlfs.rows), (1_023, 8, 1));
        assert!(batch(&Work::at("rows", 10)).contains("@i < 10"));
        assert!(CURVES.iter().all(|c| c.points.is_sorted()));
    }
}
