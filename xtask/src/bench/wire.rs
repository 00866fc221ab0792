//! The figures of the wire: what one client, 64 and 256 get over TDS, each with one request on its way.
//!
//! The clients are an example of the server's crate (`crates/server/examples/load.rs`), built with it; PostgreSQL does the
//! same under pgbench where that is installed, its clients on one thread too.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::noise::Noise;
use super::paired::Work;
use super::postgres::{self, Postgres};
use super::{bare, disk, median};
use crate::server::{PASSWORD, Server};
use crate::sql::Sql;
use crate::target_dir;

/// What is measured: its name, what the load is called, the clients, what PostgreSQL's do.
struct Cell {
    name: &'static str,
    kind: &'static str,
    clients: usize,
    /// COMMIT_WAIT.
    wait: &'static str,
    script: Option<&'static str>,
}

const POINT: &str = "\\set id random(1, 100000)\nselect word from point where id = :id;\n";
const HIT: &str = "insert into hit (client) values (:client_id);\n";

const CELLS: [Cell; 8] = [
    Cell {
        name: "empty batch, 1 client",
        kind: "empty",
        clients: 1,
        wait: "PACKET",
        script: None,
    },
    Cell {
        name: "point SELECT, prepared, 1 client",
        kind: "point",
        clients: 1,
        wait: "PACKET",
        script: Some(POINT),
    },
    Cell {
        name: "commit, 1 client",
        kind: "commit",
        clients: 1,
        wait: "PACKET",
        script: Some(HIT),
    },
    Cell {
        name: "commit, 64 clients",
        kind: "commit",
        clients: 64,
        wait: "PACKET",
        script: Some(HIT),
    },
    Cell {
        name: "commit, 1 client, STATEMENT",
        kind: "commit",
        clients: 1,
        wait: "STATEMENT",
        script: None,
    },
    Cell {
        name: "commit, 64 clients, STATEMENT",
        kind: "commit",
        clients: 64,
        wait: "STATEMENT",
        script: None,
    },
    Cell {
        name: "point SELECT, prepared, 64 clients",
        kind: "point",
        clients: 64,
        wait: "PACKET",
        script: Some(POINT),
    },
    Cell {
        name: "point SELECT, prepared, 256 clients",
        kind: "point",
        clients: 256,
        wait: "PACKET",
        script: Some(POINT),
    },
];

const THEIR_SETUP: &str = "\
create table point (id int primary key, word varchar(50) not null);
create table hit (id bigint generated always as identity primary key, client int not null);
insert into point select i, 'a word' from generate_series(1, 100000) i;";

/// Rounds of one cell.
#[derive(Default)]
struct Series {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// The client with the fewest requests by the one with the most.
    fairness: Vec<f64>,
    foreign: Vec<f64>,
    /// Of the disk's durable writes just then.
    of_disk: Vec<f64>,
}

/// What the machine does without us, a second.
#[derive(Default)]
struct Limits {
    writes: Vec<f64>,
    /// [`bare::commits`].
    asleep: Vec<f64>,
    awake: Vec<f64>,
}

/// Whether a word of `--only` asks for these figures.
pub fn is_wanted(only: Option<&str>) -> bool {
    only.is_none_or(|word| word == "wire")
}

pub fn figures(dir: &Path, rounds: usize, seconds: f64) -> Result<String, String> {
    let drive = format!("D={}", dir.join("wire-files").display());
    let server = Server::start_with(&dir.join("wire"), &["--drive", &drive])?;
    load(&server, "setup", 1, 1.0)?;
    let theirs = match Postgres::start(dir) {
        Ok(p) => {
            p.psql(&["-c", THEIR_SETUP], "bench")?;
            Some(p)
        }
        Err(why) => {
            println!("skipped: PostgreSQL: {why}");
            None
        }
    };
    let mut series: Vec<Series> = CELLS.iter().map(|_| Series::default()).collect();
    let mut limits = Limits::default();
    for round in 0..rounds {
        let [asleep, awake] = bare::commits(dir)?;
        limits.asleep.push(asleep);
        limits.awake.push(awake);
        for (cell, series) in CELLS.iter().zip(&mut series) {
            let wait = format!(
                "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {}",
                cell.wait
            );
            Sql { port: server.port }.query("wire", &wait)?;
            let run = || {
                let noise = Noise::start(server.pid());
                let (rate, fairness) = load(&server, cell.kind, cell.clients, seconds)?;
                Ok((rate, fairness, noise.foreign()))
            };
            let (rate, fairness, foreign) = match cell.kind {
                "commit" => {
                    let (ran, writes) = disk::with_disk_rate(dir, run)?;
                    limits.writes.push(writes);
                    series.of_disk.push(ran.0 / writes.max(1.0));
                    ran
                }
                _ => run()?,
            };
            println!(
                "round {round}: {}: {rate:.0}/s, others {foreign:.0} %",
                cell.name
            );
            series.ours.push(rate);
            series.fairness.push(fairness);
            series.foreign.push(foreign);
            if let (Some(there), Some(script)) = (&theirs, cell.script) {
                match pgbench(there, dir, script, cell.clients, seconds)? {
                    Some(rate) => {
                        println!("round {round}: {}: PostgreSQL {rate:.0}/s", cell.name);
                        series.theirs.push(rate);
                    }
                    None => println!("round {round}: {}: PostgreSQL has done nothing", cell.name),
                }
            }
        }
    }
    if !server.stop() {
        return Err("the server does not end cleanly".to_owned());
    }
    Ok(table(&series, &limits))
}

/// Every cell, for a server that has been set up.
pub fn works(seconds: f64) -> Vec<Work<'static, Server>> {
    let work = |cell: &'static Cell| {
        let run = move |server: &Server| {
            let wait = format!(
                "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {}",
                cell.wait
            );
            Sql { port: server.port }.query("wire", &wait)?;
            load(server, cell.kind, cell.clients, seconds).map(|reported| reported.0)
        };
        (cell.name.to_owned(), Box::new(run) as Box<_>)
    };
    CELLS.iter().map(work).collect()
}

/// Requests a second, and the fairness among the clients.
pub fn load(
    server: &Server,
    kind: &str,
    clients: usize,
    seconds: f64,
) -> Result<(f64, f64), String> {
    let program = target_dir().join("release").join("examples").join("load");
    let reported = crate::sql::finish(
        Command::new(program)
            .args([&server.port.to_string(), PASSWORD, kind])
            .args([clients.to_string(), seconds.to_string()]),
    )?;
    if kind == "setup" {
        return Ok((0.0, 0.0));
    }
    let numbers: Vec<f64> = reported
        .trim()
        .split('|')
        .filter_map(|n| n.parse().ok())
        .collect();
    match numbers[..] {
        [requests, micros, fewest, most] => {
            Ok((requests * 1e6 / micros.max(1.0), fewest / most.max(1.0)))
        }
        _ => Err(format!("the load of {kind} says {reported}")),
    }
}

/// Transactions a second; `None` when the time went by before the clients were connected.
fn pgbench(
    server: &Postgres,
    dir: &Path,
    script: &str,
    clients: usize,
    seconds: f64,
) -> Result<Option<f64>, String> {
    let file = dir.join("pgbench.sql");
    std::fs::write(&file, script).map_err(|e| e.to_string())?;
    let reported = crate::sql::finish(
        Command::new(postgres::find()?.join("pgbench"))
            .args(["-h", "127.0.0.1", "-p", &server.port().to_string()])
            .args(["-U", "postgres", "-n", "-M", "prepared", "-j", "1"])
            .args(["-c", &clients.to_string(), "-T"])
            // Many clients take a while to connect, which counts here.
            .arg((seconds.ceil() as usize).max(clients / 32).to_string())
            .arg("-f")
            .arg(&file)
            .arg("bench"),
    )?;
    let rate = reported.lines().find_map(|l| {
        let rest = l.strip_prefix("tps = ")?;
        rest.split_whitespace().next()?.parse().ok()
    });
    match rate {
        None if !reported.contains("actually processed: 0") => {
            Err(format!("pgbench says {reported}"))
        }
        rate => Ok(rate),
    }
}

fn table(series: &[Series], limits: &Limits) -> String {
    let mut out = String::new();
    let writes = median(&limits.writes);
    let _ = writeln!(
        out,
        "over TDS in clear on the loopback; durable 4 KB writes: {writes:.0}/s; a bare loop of receive, durable write, send \
         and one client: {:.0}/s, {:.0}/s while it stays awake for its client\n",
        median(&limits.asleep),
        median(&limits.awake),
    );
    let _ = writeln!(
        out,
        "| what | requests/s | us each | of the durable-write rate | slowest client by quickest | PostgreSQL/s | others' CPU (% of a core) |"
    );
    let _ = writeln!(out, "|---|---|---|---|---|---|---|");
    for (cell, series) in CELLS.iter().zip(series) {
        let rate = median(&series.ours);
        let peer = match series.theirs.is_empty() {
            true => "-".to_owned(),
            false => format!("{:.0}", median(&series.theirs)),
        };
        let _ = writeln!(
            out,
            "| {} | {rate:.0} | {:.1} | {:.2} | {:.2} | {peer} | {:.0} |",
            cell.name,
            1e6 / rate.max(1e-9),
            median(&series.of_disk),
            median(&series.fairness),
            median(&series.foreign),
        );
    }
    out
}
