//! What a checkpoint costs those who work meanwhile: commits a second and how long they take, before it, while it runs and
//! after it, beside PostgreSQL's.
//!
//! Clients change one row each of a table whose pages are all dirty, one row to a page, and wait for every commit. In the
//! middle somebody says CHECKPOINT, or the log becomes 70 % full, or the pages are more than TARGET_RECOVERY_TIME allows.
//! Every request is traced; a request counts where it ended. A checkpoint that nobody asked for is found by its counters,
//! read every 20 ms.

use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::postgres::{self, Postgres};
use super::{disk, median};
use crate::server::{PASSWORD, Server};
use crate::sql::Sql;
use crate::target_dir;

const CLIENTS: usize = 16;
/// A run is so many times as long as what comes before the checkpoint.
const PARTS: f64 = 5.0;
/// Rows of 4.1 KB: as many pages, 310 MB.
const ROWS: u64 = 40_000;
/// Less than this many microseconds before or after a checkpoint tell nothing.
const SHORTEST: u64 = 200_000;

/// What begins the checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// CHECKPOINT.
    Manual,
    /// The log is 70 % full under SIMPLE recovery.
    Automatic,
    /// TARGET_RECOVERY_TIME becomes one second: pages are written until few enough are left.
    Indirect,
}

struct Scene {
    name: &'static str,
    kind: Kind,
    /// COMMIT_WAIT.
    wait: &'static str,
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "CHECKPOINT, PACKET",
        kind: Kind::Manual,
        wait: "PACKET",
    },
    Scene {
        name: "CHECKPOINT, STATEMENT",
        kind: Kind::Manual,
        wait: "STATEMENT",
    },
    Scene {
        name: "automatic, PACKET",
        kind: Kind::Automatic,
        wait: "PACKET",
    },
    Scene {
        name: "indirect, PACKET",
        kind: Kind::Indirect,
        wait: "PACKET",
    },
];

/// A request: when it ended (microseconds since 1970) and how long it took (microseconds).
type Request = (u64, u32);

/// Requests of a part of the time.
#[derive(Clone, Copy, Default)]
struct Part {
    rate: f64,
    p50: f64,
    p99: f64,
}

/// One run. A checkpoint that begins or ends with the load leaves nothing before or after it.
#[derive(Clone, Copy, Default)]
struct Outcome {
    before: Option<Part>,
    during: Option<Part>,
    after: Option<Part>,
    seconds: f64,
}

impl Outcome {
    /// What the checkpoint is held against: what came before it, or else after it.
    fn usual(&self) -> Option<Part> {
        self.before.or(self.after)
    }

    /// How the figure differed while the checkpoint ran.
    fn times(&self, figure: impl Fn(&Part) -> f64) -> Option<f64> {
        let usual = figure(&self.usual()?);
        (usual > 0.0).then_some(figure(&self.during?) / usual)
    }
}

pub fn is_wanted(only: Option<&str>) -> bool {
    only == Some("checkpoint")
}

pub fn figures(dir: &Path, rounds: usize, seconds: f64) -> Result<String, String> {
    let theirs = match peer(dir) {
        Ok(p) => Some(p),
        Err(why) => {
            println!("skipped: PostgreSQL: {why}");
            None
        }
    };
    let mut ours: Vec<Vec<Outcome>> = SCENES.iter().map(|_| Vec::new()).collect();
    let mut peers = Vec::new();
    let mut writes = Vec::new();
    for round in 0..rounds {
        writes.push(disk::durable_writes(dir)?);
        for (scene, outcomes) in SCENES.iter().zip(&mut ours) {
            let outcome = run(dir, scene, seconds)?;
            println!("round {round}: {}: {}", scene.name, line(&outcome));
            outcomes.push(outcome);
        }
        if let Some(there) = &theirs {
            let outcome = their_run(there, dir, seconds)?;
            println!("round {round}: PostgreSQL: {}", line(&outcome));
            peers.push(outcome);
        }
    }
    Ok(table(&ours, &peers, median(&writes)))
}

fn setup(sql: Sql, scene: &Scene) -> Result<(), String> {
    let log = match scene.kind {
        Kind::Automatic => 512,
        _ => 1024,
    };
    sql.query(
        "master",
        &format!(
            "CREATE DATABASE ckpt ON (NAME = c, FILENAME = 'D:\\ckpt.mdf', SIZE = 640MB, FILEGROWTH = 64MB)
             LOG ON (NAME = c_log, FILENAME = 'D:\\ckpt.ldf', SIZE = {log}MB, FILEGROWTH = 64MB);
             ALTER DATABASE ckpt SET RECOVERY SIMPLE"
        ),
    )?;
    sql.query(
        "ckpt",
        &format!(
            "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {};
             SET NOCOUNT ON;
             CREATE TABLE big (id int NOT NULL PRIMARY KEY, number int NOT NULL, filler char(4100) NOT NULL);
             CREATE TABLE stuffing (filler char(8000) NOT NULL);
             INSERT stuffing VALUES ('a');
             DECLARE @i int = 0;
             WHILE @i < {ROWS}
             BEGIN
                 BEGIN TRAN;
                 DECLARE @end int = @i + 1000;
                 WHILE @i < @end BEGIN SET @i += 1; INSERT big VALUES (@i, 0, 'a') END;
                 COMMIT
             END;
             CHECKPOINT",
            scene.wait
        ),
    )?;
    // Every page is dirty from here on; the log of the last scene is nearly full enough.
    sql.query("ckpt", "UPDATE big SET number += 1")?;
    if scene.kind == Kind::Automatic {
        sql.query(
            "ckpt",
            "SET NOCOUNT ON;
             WHILE (SELECT used_log_space_in_percent FROM sys.dm_db_log_space_usage) < 68
             BEGIN
                 UPDATE stuffing SET filler = REPLICATE('b', 8000);
                 UPDATE stuffing SET filler = REPLICATE('c', 8000)
             END",
        )?;
    }
    Ok(())
}

/// Our own server: sets up, runs, and tells.
fn run(dir: &Path, scene: &Scene, seconds: f64) -> Result<Outcome, String> {
    let home = dir.join("checkpoint");
    let _ = std::fs::remove_dir_all(&home);
    let drive = format!("D={}", home.join("files").display());
    let server = Server::start_with(
        &home.join("data"),
        &["--drive", &drive, "--max-memory", "1500MB"],
    )?;
    let sql = Sql { port: server.port };
    setup(sql, scene)?;
    let trace = home.join("trace");
    let whole = seconds * PARTS;
    let load = spawn(
        Command::new(target_dir().join("release").join("examples").join("load"))
            .args([&server.port.to_string(), PASSWORD, "keyed"])
            .args([CLIENTS.to_string(), whole.to_string()])
            .arg("UPDATE ckpt..big SET number += 1 WHERE id = @p")
            .arg(ROWS.to_string())
            .arg(&trace),
    )?;
    let watch = spawn(sql.command("ckpt").args(["-Q", &watcher(whole + 1.0)]))?;
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let asked = match scene.kind {
        Kind::Manual => {
            let began = now();
            sql.query("ckpt", "CHECKPOINT")?;
            Some((began, now()))
        }
        Kind::Indirect => {
            let text = "ALTER DATABASE ckpt SET TARGET_RECOVERY_TIME = 1 SECONDS";
            sql.query("master", text)?;
            None
        }
        Kind::Automatic => None,
    };
    wait(load)?;
    let seen = changes(&wait(watch)?);
    server.kill();
    let bytes = std::fs::read(&trace).map_err(|e| e.to_string())?;
    let _ = std::fs::remove_dir_all(&home);
    let window = asked.or_else(|| longest(&seen));
    let (from, to) = window.ok_or_else(|| format!("{}: no checkpoint was seen", scene.name))?;
    Ok(outcome(&requests(&bytes), from, to))
}

/// Tells, in microseconds since 1970, when pages have been written by a checkpoint or ahead of one.
fn watcher(seconds: f64) -> String {
    let ms = (seconds * 1000.0) as u64;
    format!(
        "SET NOCOUNT ON;
         DECLARE @seen bigint = -1, @pages bigint, @now datetime2, @us bigint;
         DECLARE @end datetime2 = DATEADD(millisecond, {ms}, SYSUTCDATETIME());
         WHILE SYSUTCDATETIME() < @end
         BEGIN
             SELECT @pages = SUM(cntr_value), @now = SYSUTCDATETIME() FROM sys.dm_os_performance_counters
             WHERE counter_name IN ('Checkpoint pages/sec', 'Background writer pages/sec');
             SET @us = DATEDIFF_BIG(microsecond, '1970-01-01', @now);
             IF @seen >= 0 AND @pages > @seen PRINT @us;
             SET @seen = @pages;
             WAITFOR DELAY '00:00:00.020'
         END"
    )
}

fn changes(text: &str) -> Vec<u64> {
    text.lines().filter_map(|l| l.trim().parse().ok()).collect()
}

/// The longest stretch without a pause of more than 400 ms between writes.
fn longest(seen: &[u64]) -> Option<(u64, u64)> {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for at in seen {
        match stretches.last_mut() {
            Some((_, end)) if at - *end <= 400_000 => *end = *at,
            // It began within the look before.
            _ => stretches.push((at - 20_000, *at)),
        }
    }
    stretches.into_iter().max_by_key(|(from, to)| to - from)
}

fn spawn(command: &mut Command) -> Result<Child, String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))
}

fn wait(child: Child) -> Result<String, String> {
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| d.as_micros() as u64)
}

/// The trace of the load.
fn requests(bytes: &[u8]) -> Vec<Request> {
    let Some((began, rest)) = bytes.split_first_chunk::<8>() else {
        return Vec::new();
    };
    let began = u64::from_le_bytes(*began);
    let (pairs, _) = rest.as_chunks::<8>();
    let half =
        |b: &[u8; 8], at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    pairs
        .iter()
        .map(|b| (began + u64::from(half(b, 0)), half(b, 4)))
        .collect()
}

/// Cuts the requests at the checkpoint; the first half second is not counted.
fn outcome(requests: &[Request], from: u64, to: u64) -> Outcome {
    let first = requests.iter().map(|r| r.0).min().unwrap_or(0) + 500_000;
    let last = requests.iter().map(|r| r.0).max().unwrap_or(0);
    Outcome {
        before: part(requests, first, from),
        during: part(requests, from, to.min(last)),
        after: part(requests, to.min(last), last),
        seconds: to.saturating_sub(from) as f64 / 1e6,
    }
}

/// What was done from then to then; nothing where that is too short to tell.
fn part(requests: &[Request], from: u64, to: u64) -> Option<Part> {
    let span = to.saturating_sub(from);
    if span < SHORTEST {
        return None;
    }
    let inside = requests.iter().filter(|r| r.0 >= from && r.0 < to);
    let mut times: Vec<u32> = inside.map(|r| r.1).collect();
    times.sort_unstable();
    let at = |share: f64| {
        let i = (times.len() as f64 * share) as usize;
        times.get(i).or(times.last()).map_or(0.0, |t| f64::from(*t))
    };
    Some(Part {
        rate: times.len() as f64 * 1e6 / span as f64,
        p50: at(0.50),
        p99: at(0.99),
    })
}

fn peer(dir: &Path) -> Result<Postgres, String> {
    let there = Postgres::start(dir)?;
    let setup = format!(
        "create table big (id int primary key, number int not null, filler char(4100) not null);
         alter table big alter filler set storage plain;
         insert into big select i, 0, 'a' from generate_series(1, {ROWS}) i;"
    );
    there.psql(&["-c", &setup], "bench")?;
    Ok(there)
}

fn their_run(there: &Postgres, dir: &Path, seconds: f64) -> Result<Outcome, String> {
    for text in [
        "vacuum big",
        "checkpoint",
        "update big set number = number + 1",
    ] {
        there.psql(&["-c", text], "bench")?;
    }
    let script = dir.join("checkpoint.sql");
    let text =
        format!("\\set id random(1, {ROWS})\nupdate big set number = number + 1 where id = :id;\n");
    std::fs::write(&script, text).map_err(|e| e.to_string())?;
    let home = dir.join("checkpoint-log");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).map_err(|e| e.to_string())?;
    let load = spawn(
        Command::new(postgres::find()?.join("pgbench"))
            .args(["-h", "127.0.0.1", "-p", &there.port().to_string()])
            .args(["-U", "postgres", "-n", "-M", "prepared", "-j", "1", "-l"])
            .args(["-c", &CLIENTS.to_string(), "-T"])
            .arg(((seconds * PARTS).ceil() as usize).to_string())
            .arg("-f")
            .arg(&script)
            .arg("bench")
            .current_dir(&home),
    )?;
    std::thread::sleep(Duration::from_secs_f64(seconds + 0.5));
    let from = now();
    there.psql(&["-c", "checkpoint"], "bench")?;
    let to = now();
    wait(load)?;
    let mut requests = Vec::new();
    for entry in std::fs::read_dir(&home)
        .map_err(|e| e.to_string())?
        .flatten()
    {
        let text = std::fs::read_to_string(entry.path()).map_err(|e| e.to_string())?;
        requests.extend(text.lines().filter_map(their_request));
    }
    let _ = std::fs::remove_dir_all(&home);
    Ok(outcome(&requests, from, to))
}

/// `client transaction microseconds script seconds microseconds`: the last two are when it ended.
fn their_request(line: &str) -> Option<Request> {
    let mut words = line.split(' ').skip(2);
    let took = words.next()?.parse().ok()?;
    let seconds: u64 = words.nth(1)?.parse().ok()?;
    let micros: u64 = words.next()?.parse().ok()?;
    Some((seconds * 1_000_000 + micros, took))
}

fn line(o: &Outcome) -> String {
    let parts = [o.before, o.during, o.after];
    let figures = |f: fn(&Part) -> f64| parts.map(|p| or_dash(p.map(|p| f(&p)), 0)).join(", ");
    format!(
        "{}/s (the middle for {:.1} s); p50 {} us; p99 {} us",
        figures(|p| p.rate),
        o.seconds,
        figures(|p| p.p50),
        figures(|p| p.p99)
    )
}

/// A figure, or a dash where there is none.
fn or_dash(figure: Option<f64>, digits: usize) -> String {
    figure.map_or("-".into(), |f| format!("{f:.digits$}"))
}

fn table(ours: &[Vec<Outcome>], peers: &[Outcome], writes: f64) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{CLIENTS} clients over TDS, each changing a row of {ROWS} dirty pages and waiting for its commit; durable 4 KB writes: {writes:.0}/s\n"
    );
    let _ = writeln!(
        out,
        "| checkpoint | commits/s before | while it ran | of that, or of what came after | after | p50 before; while (us) | p99 before; while (us) | times | seconds |"
    );
    let _ = writeln!(out, "|---|---|---|---|---|---|---|---|---|");
    let names = SCENES
        .iter()
        .map(|s| s.name)
        .chain(["PostgreSQL's CHECKPOINT"]);
    for (name, rounds) in names.zip(ours.iter().map(Vec::as_slice).chain([peers])) {
        if rounds.is_empty() {
            continue;
        }
        let of = |digits: usize, f: &dyn Fn(&Outcome) -> Option<f64>| {
            let there: Vec<f64> = rounds.iter().filter_map(f).collect();
            or_dash((!there.is_empty()).then(|| median(&there)), digits)
        };
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {}; {} | {}; {} | {} | {} |",
            of(0, &|o| Some(o.before?.rate)),
            of(0, &|o| Some(o.during?.rate)),
            of(2, &|o| o.times(|p| p.rate)),
            of(0, &|o| Some(o.after?.rate)),
            of(0, &|o| Some(o.before?.p50)),
            of(0, &|o| Some(o.during?.p50)),
            of(0, &|o| Some(o.before?.p99)),
            of(0, &|o| Some(o.during?.p99)),
            of(1, &|o| o.times(|p| p.p99)),
            of(1, &|o| Some(o.seconds)),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Part, line, longest, outcome, requests, their_request};

    #[test]
    fn a_trace_is_cut_at_the_checkpoint() {
        let mut bytes = 1_000_000_u64.to_le_bytes().to_vec();
        // A request every 100 ms for four seconds; those of the third take ten times as long.
        for i in 0..40_u32 {
            bytes.extend_from_slice(&(i * 100_000).to_le_bytes());
            let took = if (20..30).contains(&i) { 1000_u32 } else { 100 };
            bytes.extend_from_slice(&took.to_le_bytes());
        }
        let reported = outcome(&requests(&bytes), 3_000_000, 4_000_000);
        let p99 = |p: Option<Part>| p.map(|p| (p.rate, p.p99));
        assert_eq!(
            [reported.before, reported.during, reported.after].map(p99),
            [(10.0, 100.0), (10.0, 1000.0), (10.0, 100.0)].map(Some)
        );
        assert_eq!(
            (reported.times(|p| p.p99), reported.seconds),
            (Some(10.0), 1.0)
        );
    }

    #[test]
    fn a_checkpoint_that_begins_with_the_load_is_held_against_what_comes_after() {
        let all: Vec<_> = (0..40).map(|i| (1_000_000 + i * 100_000, 100)).collect();
        let reported = outcome(&all, 1_600_000, 2_600_000);
        assert!(reported.before.is_none());
        assert_eq!(reported.times(|p| p.p99), Some(1.0));
        assert_eq!(outcome(&all, 1_000_000, 4_900_000).times(|p| p.rate), None);
        assert!(line(&reported).starts_with("-, 10, 10/s (the middle for 1.0 s)"));
    }

    #[test]
    fn a_checkpoint_is_the_longest_stretch_of_writes() {
        let seen = [1_000_000, 5_000_000, 5_100_000, 5_400_000, 9_000_000];
        assert_eq!(longest(&seen), Some((4_980_000, 5_400_000)));
        assert_eq!(longest(&[]), None);
    }

    #[test]
    fn a_line_of_pgbench_is_read() {
        assert_eq!(
            their_request("3 17 912 0 1700000000 000250"),
            Some((1_700_000_000_000_250, 912))
        );
        assert_eq!(their_request("nothing"), None);
    }
}
