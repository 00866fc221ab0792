//! What it costs to be observed: the same work on a build that records no waits, counters and events, on the usual one, and
//! on the usual one while somebody samples it ten times a second, as the lab does. Only `--only overhead` runs this.
//!
//! The machine's own noise is larger than what is asked for. So both servers are up all the time, each slice of one has
//! the others' slices beside it, in turning order, and the cost is the median of the ratios of neighbours. Beside the rate
//! stands the processor's time of the server per operation, which neither the disk nor other programs change.

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

/// Slices of each work and watch in a round.
const SLICES: usize = 8;

/// What one slice did.
#[derive(Clone, Copy, Default)]
struct Slice {
    /// Operations a second.
    rate: f64,
    /// Microseconds of the server's processor time per operation.
    cpu: f64,
}

pub fn is_wanted(only: Option<&str>) -> bool {
    only == Some("overhead")
}

pub fn figures(dir: &Path, rounds: usize, seconds: f64, built: bool) -> Result<String, String> {
    let silent = silent_binary(built)?;
    let usual = target_dir().join("release").join("duramen");
    let homes = [dir.join("overhead-silent"), dir.join("overhead-usual")];
    let [silent, usual] = [start(&silent, &homes[0])?, start(&usual, &homes[1])?];
    let mut slices = vec![Vec::new(); WORKS.len()];
    for turn in 0..rounds * SLICES {
        for (work, slices) in WORKS.iter().zip(&mut slices) {
            let mut measured = [Slice::default(); WATCHES.len()];
            for n in order(turn) {
                let server = match WATCHES[n] {
                    Watch::Silent => &silent,
                    _ => &usual,
                };
                let sampler = match WATCHES[n] {
                    Watch::Sampled => Some(Sampler::start(server)?),
                    _ => None,
                };
                measured[n] = one(server, work, seconds)?;
                drop(sampler);
            }
            println!(
                "{} {turn}: {}",
                work.0,
                measured
                    .map(|s| format!("{:.0}/s {:.2} us", s.rate, s.cpu))
                    .join(", ")
            );
            slices.push(measured);
        }
    }
    silent.kill();
    usual.kill();
    for home in &homes {
        let _ = std::fs::remove_dir_all(home);
    }
    Ok(table(&slices))
}

fn start(binary: &Path, home: &Path) -> Result<Server, String> {
    let drive = format!("D={}", home.join("files").display());
    let server = Server::start_binary(binary, &home.join("data"), &["--drive", &drive])?;
    load(&server, "setup", 1, 1.0)?;
    Ok(server)
}

/// Every watch comes first, second and last equally often.
fn order(turn: usize) -> [usize; 3] {
    let first = turn / 2 % 3;
    match turn % 2 {
        0 => [first, (first + 1) % 3, (first + 2) % 3],
        _ => [(first + 2) % 3, (first + 1) % 3, first],
    }
}

fn table(slices: &[Vec<[Slice; 3]>]) -> String {
    let mut out = String::from(
        "What observing costs (targets: recording 3 %, sampling ten times a second 2 %). Medians of neighbouring slices; \
         processor time is the server's, in microseconds per operation\n\n\
         | work | nothing recorded | recorded | cost | processor | sampled too | cost of that | processor |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (work, slices) in WORKS.iter().zip(slices) {
        let of = |f: &dyn Fn(&[Slice; 3]) -> f64| median(&slices.iter().map(f).collect::<Vec<_>>());
        let less = |n: usize| of(&|s| (1.0 - s[n].rate / s[n - 1].rate.max(1e-9)) * 100.0);
        let more = |n: usize| of(&|s| (s[n].cpu / s[n - 1].cpu.max(1e-9) - 1.0) * 100.0);
        let [rates, cpu] = [
            [0, 1, 2].map(|n| of(&|s| s[n].rate)),
            [0, 1, 2].map(|n| of(&|s| s[n].cpu)),
        ];
        let _ = writeln!(
            out,
            "| {} | {:.0} ({:.2} us) | {:.0} ({:.2} us) | {:.1} % | {:+.1} % | {:.0} ({:.2} us) | {:.1} % | {:+.1} % |",
            work.0,
            rates[0],
            cpu[0],
            rates[1],
            cpu[1],
            less(1),
            more(1),
            rates[2],
            cpu[2],
            less(2),
            more(2)
        );
    }
    out
}

fn one(server: &Server, work: &(&str, Option<&str>, usize), seconds: f64) -> Result<Slice, String> {
    let before = cpu_micros(server)?;
    let (rate, operations) = match work.1 {
        Some(kind) => {
            let rate = load(server, kind, work.2, seconds)?.0;
            (rate, rate * seconds)
        }
        None => {
            let text = format!(
                "DECLARE @i int = 0, @began datetime2 = SYSDATETIME(); WHILE @i < {LOOP_ROWS} \
                 BEGIN INSERT hit (client) VALUES (1); SET @i += 1 END; \
                 SELECT DATEDIFF(microsecond, @began, SYSDATETIME())"
            );
            let micros = Sql { port: server.port }.number("wire", &text)?;
            let rows = f64::from(LOOP_ROWS);
            (rows * 1e6 / (micros as f64).max(1.0), rows)
        }
    };
    let cpu = (cpu_micros(server)? - before) / operations.max(1.0);
    Ok(Slice { rate, cpu })
}

/// Microseconds of processor time the server has had, in and outside the kernel; its clock ticks every 10 ms.
fn cpu_micros(server: &Server) -> Result<f64, String> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid()))
        .map_err(|e| e.to_string())?;
    // The name may contain spaces; what follows its parenthesis does not.
    let ticks = stat.rsplit(") ").next().map(|rest| {
        let field = |n: usize| rest.split(' ').nth(n).and_then(|t| t.parse::<f64>().ok());
        field(11).zip(field(12)).map(|(user, kernel)| user + kernel)
    });
    let ticks = ticks.flatten().ok_or("no processor times of the server")?;
    Ok(ticks * 10_000.0)
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
