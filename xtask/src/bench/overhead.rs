//! What it costs to be observed: the same work on a build that records no waits, counters and events, on the usual one, and
//! on the usual one while somebody samples it ten times a second, as the lab does. Only `--only overhead` runs this.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::median;
use super::wire::load;
use crate::server::Server;
use crate::sql::Sql;
use crate::target_dir;

/// How the server is built and watched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Silent,
    Recorded,
    Sampled,
}

const WATCHES: [Watch; 3] = [Watch::Silent, Watch::Recorded, Watch::Sampled];

/// The name, the load's kind (a loop in the server: none), and how many clients.
const WORKS: [(&str, Option<&str>, usize); 4] = [
    ("loop of inserts, rows/s", None, 1),
    ("point SELECT, 8 clients", Some("point"), 8),
    ("commit, 64 clients", Some("commit"), 64),
    ("empty batch, 8 clients", Some("empty"), 8),
];

const LOOP_ROWS: u32 = 300_000;

pub fn is_wanted(only: Option<&str>) -> bool {
    only == Some("overhead")
}

pub fn figures(dir: &Path, rounds: usize, seconds: f64, built: bool) -> Result<String, String> {
    let silent = silent_binary(built)?;
    let usual = target_dir().join("release").join("duramen");
    let mut rates = vec![vec![Vec::new(); WATCHES.len()]; WORKS.len()];
    for round in 0..rounds {
        for (n, watch) in WATCHES.iter().enumerate() {
            let binary = if *watch == Watch::Silent {
                &silent
            } else {
                &usual
            };
            let home = dir.join(format!("overhead-{round}-{n}"));
            let drive = format!("D={}", home.join("files").display());
            let server = Server::start_binary(binary, &home.join("data"), &["--drive", &drive])?;
            load(&server, "setup", 1, 1.0)?;
            let sampler = match watch {
                Watch::Sampled => Some(Sampler::start(&server)?),
                _ => None,
            };
            for (work, rates) in WORKS.iter().zip(&mut rates) {
                let rate = one(&server, work, seconds)?;
                println!("round {round}, watched {n}: {}: {rate:.0}/s", work.0);
                rates[n].push(rate);
            }
            drop(sampler);
            server.kill();
            let _ = std::fs::remove_dir_all(&home);
        }
    }
    Ok(table(&rates))
}

fn table(rates: &[Vec<Vec<f64>>]) -> String {
    let mut out = String::from(
        "What observing costs (targets: recording 3 %, sampling ten times a second 2 %)\n\n\
         | work | nothing recorded | recorded | cost | sampled too | cost of that |\n|---|---|---|---|---|---|\n",
    );
    for (work, rates) in WORKS.iter().zip(rates) {
        let [silent, recorded, sampled] = [0, 1, 2].map(|n| median(&rates[n]));
        let less = |of: f64, than: f64| (1.0 - of / than.max(1e-9)) * 100.0;
        let _ = writeln!(
            out,
            "| {} | {silent:.0} | {recorded:.0} | {:.1} % | {sampled:.0} | {:.1} % |",
            work.0,
            less(recorded, silent),
            less(sampled, recorded)
        );
    }
    out
}

fn one(server: &Server, work: &(&str, Option<&str>, usize), seconds: f64) -> Result<f64, String> {
    if let Some(kind) = work.1 {
        return Ok(load(server, kind, work.2, seconds)?.0);
    }
    let text = format!(
        "DECLARE @i int = 0, @began datetime2 = SYSDATETIME(); WHILE @i < {LOOP_ROWS} \
         BEGIN INSERT hit (client) VALUES (1); SET @i += 1 END; SELECT DATEDIFF(microsecond, @began, SYSDATETIME())"
    );
    let micros = Sql { port: server.port }.number("wire", &text)?;
    Ok(f64::from(LOOP_ROWS) * 1e6 / (micros as f64).max(1.0))
}

/// The other build, below the target directory of this one.
fn silent_binary(built: bool) -> Result<PathBuf, String> {
    let target = target_dir().join("silent");
    if !built {
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args([
                "build",
                "--release",
                "-p",
                "duramen",
                "--features",
                "silent",
            ])
            .arg("--target-dir")
            .arg(&target)
            .current_dir(crate::root())
            .status();
        if !status.is_ok_and(|s| s.success()) {
            return Err("the silent build failed".to_owned());
        }
    }
    Ok(target.join("release").join("duramen"))
}

/// A client that reads waits, counters and files ten times a second until it is killed.
struct Sampler(Child);

impl Sampler {
    fn start(server: &Server) -> Result<Sampler, String> {
        let text = "SET NOCOUNT ON; WHILE 1 = 1 BEGIN WAITFOR DELAY '00:00:00.100'; \
                    SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters WHERE instance_name IN ('wire', ''); \
                    SELECT SUM(num_of_writes), SUM(io_stall_write_ms) FROM sys.dm_io_virtual_file_stats(DB_ID('wire'), NULL); \
                    SELECT wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats WHERE waiting_tasks_count > 0 END";
        let mut command = Sql { port: server.port }.command("wire");
        command.args(["-Q", text]).stdout(Stdio::null());
        let child = command.spawn().map_err(|e| e.to_string())?;
        Ok(Sampler(child))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
