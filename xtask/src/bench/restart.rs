//! From kill -9 to the first answer: under sixteen clients that insert, with the target of recovery time that databases have
//! and with one of a second, and with a long stretch of log to redo. PostgreSQL is killed in the same way under the same
//! work.

use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::duramen::Duramen;
use super::postgres::Postgres;
use super::{Cell, Engine, Shape, Wait, median};
use crate::server::Server;
use crate::sql::Sql;

const LOAD: Cell = Cell {
    name: "killed under 16 clients",
    shape: Shape::Narrow,
    wait: Wait::Packet,
    sessions: 16,
};

/// Rows of a page each, whose log is redone.
const ROWS: u64 = 100_000;
const MB: f64 = 1_048_576.0;

pub fn is_wanted(only: Option<&str>) -> bool {
    only.is_none_or(|o| o == "restart")
}

#[derive(Default)]
struct Series {
    seconds: Vec<f64>,
    /// Megabytes of log from where recovery begins.
    log: Vec<f64>,
}

pub fn figures(dir: &Path, rounds: usize, seconds: f64) -> Result<String, String> {
    let mut ours = [Series::default(), Series::default(), Series::default()];
    let mut theirs = [Series::default(), Series::default()];
    let peer = super::postgres::find();
    if let Err(why) = &peer {
        println!("skipped: PostgreSQL: {why}");
    }
    for round in 0..rounds {
        let home = dir.join(format!("restart-{round}"));
        for (i, work) in [loaded_here, filled_here, hurried_here].iter().enumerate() {
            let home = home.join(i.to_string());
            std::fs::create_dir_all(&home).map_err(|e| e.to_string())?;
            let log = work(&home, seconds)?;
            let took = started_again(&home)?;
            println!("round {round}: restart {i}: {took:.2} s for {log:.0} MB of log");
            ours[i].seconds.push(took);
            ours[i].log.push(log);
            if peer.is_ok() && i < 2 {
                let (took, log) = there(&home, i == 0, seconds)?;
                println!(
                    "round {round}: restart {i}: PostgreSQL {took:.2} s for {log:.0} MB of log"
                );
                theirs[i].seconds.push(took);
                theirs[i].log.push(log);
            }
            let _ = std::fs::remove_dir_all(&home);
        }
    }
    Ok(table(&ours, &theirs))
}

/// The megabytes of log that a recovery of `bench` would read now.
fn to_recover(sql: Sql) -> Result<f64, String> {
    let text =
        "SET NOCOUNT ON; SELECT log_recovery_size_mb FROM sys.dm_db_log_stats(DB_ID('bench'))";
    let reported = sql.query("master", text)?;
    reported.trim().parse().map_err(|_| reported)
}

/// Lets clients insert, and kills the server meanwhile.
fn loaded_here(home: &Path, seconds: f64) -> Result<f64, String> {
    loaded(home, seconds, 60)
}

/// The same with a target of a second, of which half is for the log.
fn hurried_here(home: &Path, seconds: f64) -> Result<f64, String> {
    loaded(home, seconds, 1)
}

fn loaded(home: &Path, seconds: f64, target: u32) -> Result<f64, String> {
    let server = Duramen::start(home)?;
    server.prepare(&LOAD)?;
    let set = format!("ALTER DATABASE bench SET TARGET_RECOVERY_TIME = {target} SECONDS");
    server.sql().query("bench", &set)?;
    let clients = clients(&server, seconds + 5.0)?;
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let log = to_recover(server.sql())?;
    server.kill();
    gone(clients);
    Ok(log)
}

/// One long stretch of log, no checkpoint, and the end.
fn filled_here(home: &Path, _: f64) -> Result<f64, String> {
    let server = Duramen::start(home)?;
    server.sql().query(
        "bench",
        &format!(
            "ALTER DATABASE bench SET TARGET_RECOVERY_TIME = 3600 SECONDS;
             ALTER DATABASE SCOPED CONFIGURATION SET LOG_PROFILE = 2022;
             CHECKPOINT;
             INSERT wide (filler) SELECT 'a' FROM GENERATE_SERIES(1, {ROWS})"
        ),
    )?;
    let log = to_recover(server.sql())?;
    server.kill();
    Ok(log)
}

/// Seconds until the database answers.
fn started_again(home: &Path) -> Result<f64, String> {
    let start = Instant::now();
    let drive = format!("D={}", home.join("files").display());
    let server = Server::start_with(&home.join("data"), &["--drive", &drive])?;
    let sql = Sql { port: server.port };
    sql.query("bench", "SELECT TOP 1 x FROM gate")?;
    let took = start.elapsed().as_secs_f64();
    match server.stop() {
        true => Ok(took),
        false => Err("the server does not end cleanly".to_owned()),
    }
}

/// The same there: seconds, and megabytes of log behind the last checkpoint.
fn there(home: &Path, loaded: bool, seconds: f64) -> Result<(f64, f64), String> {
    let server = Postgres::start(home)?;
    server.psql(&["-c", "checkpoint"], "bench")?;
    let mut waiting = Vec::new();
    if loaded {
        waiting = clients(&server, seconds + 5.0)?;
        std::thread::sleep(Duration::from_secs_f64(seconds));
    } else {
        let fill = format!("insert into wide (filler) select 'a' from generate_series(1, {ROWS})");
        server.psql(&["-c", &fill], "bench")?;
    }
    let log = "select (pg_current_wal_lsn() - redo_lsn)::bigint from pg_control_checkpoint()";
    let log = server.psql(&["-c", log], "bench")?;
    let log: f64 = log.trim().parse().map_err(|_| log)?;
    let (bin, data) = server.kill();
    gone(waiting);
    let start = Instant::now();
    let server = super::postgres::run(&bin, &data)?;
    server.psql(&["-c", "select x from gate limit 1"], "bench")?;
    Ok((start.elapsed().as_secs_f64(), log / MB))
}

fn clients(engine: &dyn Engine, seconds: f64) -> Result<Vec<Child>, String> {
    let start = |_| {
        engine
            .client(&LOAD, seconds)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("a client does not start: {e}"))
    };
    (0..LOAD.sessions).map(start).collect()
}

fn gone(clients: Vec<Child>) {
    for mut client in clients {
        let _ = client.kill();
        let _ = client.wait();
    }
}

fn table(ours: &[Series; 3], theirs: &[Series; 2]) -> String {
    let mut out = "| after kill -9, to the first answer | seconds | log | of it a second | PostgreSQL seconds | log | of it a second |\n\
                   |---|---|---|---|---|---|---|\n"
        .to_owned();
    let cells = |s: &Series| {
        let (seconds, log) = (median(&s.seconds), median(&s.log));
        match seconds {
            0.0 => "- | - | -".to_owned(),
            _ => format!("{seconds:.2} | {log:.0} MB | {:.0} MB", log / seconds),
        }
    };
    let names = [
        LOAD.name,
        "one statement of 100,000 pages",
        "killed under 16 clients, target 1 s",
    ];
    let none = Series::default();
    let theirs = theirs.iter().chain([&none]);
    for ((name, ours), theirs) in names.iter().zip(ours).zip(theirs) {
        let _ = writeln!(out, "| {name} | {} | {} |", cells(ours), cells(theirs));
    }
    out
}
