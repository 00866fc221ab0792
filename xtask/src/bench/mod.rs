//! `cargo xtask bench [--built] [--rounds N] [--seconds S] [--scale S] [--only WORD] [--against BINARY]`: the figures of the README, measured on the
//! release build, interleaved with PostgreSQL doing the same where it is installed. Prints a markdown table, and writes it to
//! `bench.md` of the target folder.
//!
//! A round runs every cell once on each server, one after the other; a figure is the median of the rounds. Loops run in
//! the server (a WHILE loop here, PL/pgSQL with a COMMIT per row there), so that no client takes part in what is measured.
//! Beside each figure stand the durable 4 KB writes a second that the same disk did in the same round, and how much CPU
//! others used meanwhile (100 = one core): a round on a busy machine is told from one on a quiet one.

mod analytics;
mod bare;
mod bulk;
mod checkpoint;
mod curves;
mod disk;
mod duramen;
mod instructions;
mod log;
mod maintenance;
mod noise;
mod overhead;
mod paired;
mod plot;
mod postgres;
mod restart;
mod sessions;
mod start;
mod wire;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use self::duramen::Duramen;
use self::noise::Noise;
use self::postgres::Postgres;

/// What loops insert.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A short row, a clustered and a nonclustered index.
    Narrow,
    /// 4.1 KB, a clustered index: one row a page.
    Wide,
}

/// When a COMMIT of the loop goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Here: the reply waits. There: every commit waits, as there is nothing else that is durable.
    Packet,
    /// Every commit waits.
    Statement,
    /// DELAYED_DURABILITY = FORCED; synchronous_commit = off.
    Delayed,
}

/// One measurement.
#[derive(Clone, Copy)]
pub struct Cell {
    pub name: &'static str,
    pub shape: Shape,
    pub wait: Wait,
    pub sessions: usize,
}

const fn cell(name: &'static str, shape: Shape, wait: Wait, sessions: usize) -> Cell {
    Cell {
        name,
        shape,
        wait,
        sessions,
    }
}

const CELLS: [Cell; 9] = [
    cell("loop, PACKET", Shape::Narrow, Wait::Packet, 1),
    cell("loop, STATEMENT", Shape::Narrow, Wait::Statement, 1),
    cell("loop, delayed", Shape::Narrow, Wait::Delayed, 1),
    cell("4.1 KB, 16, PACKET", Shape::Wide, Wait::Packet, 16),
    cell("4.1 KB, 16, STATEMENT", Shape::Wide, Wait::Statement, 16),
    cell("4.1 KB, 64, PACKET", Shape::Wide, Wait::Packet, 64),
    cell("4.1 KB, 64, STATEMENT", Shape::Wide, Wait::Statement, 64),
    cell("4.1 KB, 256, PACKET", Shape::Wide, Wait::Packet, 256),
    cell("4.1 KB, 256, STATEMENT", Shape::Wide, Wait::Statement, 256),
];

/// A server that runs loops.
pub trait Engine {
    /// Empties the tables, takes a checkpoint, sets when commits wait.
    fn prepare(&self, cell: &Cell) -> Result<(), String>;
    /// Holds back every client of [`Engine::client`].
    fn close_gate(&self) -> Result<Child, String>;
    /// A client that waits at the gate, runs its loop for so long, and prints `rows|microseconds`.
    fn client(&self, cell: &Cell, seconds: f64) -> Command;
    /// How many clients wait at the gate.
    fn waiting(&self) -> Result<u64, String>;
    /// What opens the gate when it is written to the process that closed it.
    fn open_gate(&self) -> &'static str;
    fn pid(&self) -> u32;
}

struct Options {
    rounds: usize,
    seconds: f64,
    only: Option<String>,
    /// The part of its full size that each of the bulk loads has.
    scale: f64,
    /// Another build of the server, to be compared with this one: nothing else is measured then.
    against: Option<PathBuf>,
    /// Measure the release binary that is there.
    built: bool,
}

fn options(words: &[&str]) -> Option<Options> {
    let mut options = Options {
        rounds: 3,
        seconds: 3.0,
        only: None,
        scale: 0.2,
        against: None,
        built: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--built" {
            options.built = true;
            continue;
        }
        let value = words.next()?;
        match *word {
            "--rounds" => options.rounds = value.parse().ok().filter(|n| *n > 0)?,
            "--seconds" => options.seconds = value.parse().ok().filter(|s| *s > 0.0)?,
            "--scale" => options.scale = value.parse().ok().filter(|s| *s > 0.0)?,
            "--against" => options.against = Some(PathBuf::from(value)),
            "--only" => options.only = Some((*value).to_owned()),
            _ => return None,
        }
    }
    Some(options)
}

pub fn run(words: &[&str]) -> ExitCode {
    let Some(options) = options(words) else {
        eprintln!(
            "usage: cargo xtask bench [--built] [--rounds N] [--seconds S] [--scale S] [--only WORD] [--against BINARY]"
        );
        return ExitCode::from(2);
    };
    let build = || {
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args([
                "build",
                "--release",
                "-p",
                "duramen",
                "-p",
                "duramen-server",
                "-p",
                "duramen-wal",
                "-p",
                "duramen-session",
            ])
            .args(["--bin", "duramen", "--example", "load"])
            .args(["--example", "log_speed", "--example", "sessions"])
            .current_dir(crate::root())
            .status()
            .is_ok_and(|s| s.success())
    };
    if !options.built && !build() {
        eprintln!("FAILED release build");
        return ExitCode::FAILURE;
    }
    match measure(&options) {
        Ok(table) => {
            println!("\n{table}");
            let file = crate::target_dir().join("bench.md");
            if let Err(e) = std::fs::write(&file, &table) {
                eprintln!("{}: {e}", file.display());
            }
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("FAILED {e}");
            ExitCode::FAILURE
        }
    }
}

/// The rounds of one cell on one server.
#[derive(Default)]
struct Series {
    rates: Vec<f64>,
    foreign: Vec<f64>,
    /// Of the disk's durable writes just then.
    of_disk: Vec<f64>,
    writes: Vec<f64>,
}

fn measure(options: &Options) -> Result<String, String> {
    let dir = crate::server::scratch("bench")?;
    if let Some(other) = &options.against {
        let sizes = (options.rounds, options.seconds, options.scale);
        let figures = paired::figures(&dir, other, sizes, options.only.as_deref());
        let _ = std::fs::remove_dir_all(&dir);
        return figures;
    }
    let wanted = |name: &str| {
        options
            .only
            .as_ref()
            .is_none_or(|o| name.contains(o.as_str()))
    };
    let cells: Vec<&Cell> = CELLS.iter().filter(|c| wanted(c.name)).collect();
    let mut table = String::new();
    if wanted("start") {
        table.push_str(&start::figures(&dir, options.rounds)?);
    }
    if wire::is_wanted(options.only.as_deref()) {
        table.push_str(&wire::figures(&dir, options.rounds, options.seconds)?);
        table.push('\n');
    }
    if analytics::is_wanted(options.only.as_deref()) {
        table.push_str(&analytics::figures(&dir, options.rounds)?);
        table.push('\n');
    }
    let only = options.only.as_deref();
    if bulk::is_wanted(only) {
        table.push_str(&bulk::figures(&dir, options.rounds, options.scale, only)?);
        table.push('\n');
    }
    if curves::is_wanted(only) {
        table.push_str(&curves::figures(&dir, options.seconds, only)?);
        table.push('\n');
    }
    if log::is_wanted(only) {
        table.push_str(&log::figures(&dir)?);
        table.push('\n');
    }
    if sessions::is_wanted(only) {
        table.push_str(&sessions::figures(&dir, options.rounds, options.seconds)?);
        table.push('\n');
    }
    if overhead::is_wanted(only) {
        let figures = overhead::figures(&dir, options.rounds, options.seconds, options.built)?;
        table.push_str(&figures);
        table.push('\n');
    }
    if maintenance::is_wanted(only) {
        table.push_str(&maintenance::figures(&dir, options.rounds, options.scale)?);
        table.push('\n');
    }
    if checkpoint::is_wanted(only) {
        table.push_str(&checkpoint::figures(&dir, options.rounds, options.seconds)?);
        table.push('\n');
    }
    if restart::is_wanted(only) {
        table.push_str(&restart::figures(&dir, options.rounds, options.seconds)?);
        table.push('\n');
    }
    if !cells.is_empty() {
        table.push_str(&loops(&dir, &cells, options)?);
    }
    let _ = std::fs::remove_dir_all(&dir);
    Ok(table)
}

/// The loops here and on PostgreSQL, round after round.
fn loops(dir: &Path, cells: &[&Cell], options: &Options) -> Result<String, String> {
    let mut ours: Vec<Series> = cells.iter().map(|_| Series::default()).collect();
    let mut theirs: Vec<Series> = cells.iter().map(|_| Series::default()).collect();
    let here = Duramen::start(dir)?;
    let there = match Postgres::start(dir) {
        Ok(p) => Some(p),
        Err(why) => {
            println!("skipped: PostgreSQL: {why}");
            None
        }
    };
    for round in 0..options.rounds {
        for (i, cell) in cells.iter().enumerate() {
            let run = || one(&here, cell, options.seconds);
            let ((rate, foreign), writes) = disk::with_disk_rate(dir, run)?;
            println!(
                "round {round}: {}: {rate:.0}/s, the disk {writes:.0}/s, others {foreign:.0} %",
                cell.name
            );
            ours[i].rates.push(rate);
            ours[i].foreign.push(foreign);
            ours[i].of_disk.push(rate / writes.max(1.0));
            ours[i].writes.push(writes);
            // PACKET has no counterpart of its own: it is held against the durable loop.
            let same = cells[..i]
                .iter()
                .position(|c| counterpart(c) == counterpart(cell));
            if let (Some(there), None) = (&there, same) {
                let (rate, foreign) = one(there, cell, options.seconds)?;
                println!(
                    "round {round}: {}: PostgreSQL {rate:.0}/s, others {foreign:.0} %",
                    cell.name
                );
                theirs[i].rates.push(rate);
                theirs[i].foreign.push(foreign);
            }
        }
    }
    here.stop()?;
    Ok(rows_table(cells, &ours, &theirs))
}

/// What PostgreSQL does for a cell: cells with the same counterpart share its figure.
fn counterpart(cell: &Cell) -> (bool, bool, usize) {
    (
        cell.shape == Shape::Wide,
        cell.wait == Wait::Delayed,
        cell.sessions,
    )
}

/// Runs a cell once: rows a second, and the CPU that others used (percent of a core).
fn one(engine: &dyn Engine, cell: &Cell, seconds: f64) -> Result<(f64, f64), String> {
    engine.prepare(cell)?;
    let mut gate = engine.close_gate()?;
    let clients: Result<Vec<Child>, String> = (0..cell.sessions)
        .map(|_| {
            engine
                .client(cell, seconds)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .map_err(|e| format!("a client does not start: {e}"))
        })
        .collect();
    let clients = clients?;
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while engine.waiting()? < cell.sessions as u64 {
        if std::time::Instant::now() > limit {
            return Err(format!("{}: the clients do not arrive", cell.name));
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    let noise = Noise::start(engine.pid());
    {
        use std::io::Write;
        let mut input = gate.stdin.take().expect("stdin is piped");
        input
            .write_all(engine.open_gate().as_bytes())
            .map_err(|e| e.to_string())?;
    }
    let (mut rows, mut micros) = (0.0, 0.0_f64);
    let mut foreign = None;
    for client in clients {
        let output = client.wait_with_output().map_err(|e| e.to_string())?;
        foreign.get_or_insert_with(|| noise.foreign());
        let text = String::from_utf8_lossy(&output.stdout);
        let counted = text.lines().find_map(|l| {
            let (rows, micros) = l.trim().split_once('|')?;
            Some((
                rows.trim().parse::<f64>().ok()?,
                micros.trim().parse::<f64>().ok()?,
            ))
        });
        let Some((r, m)) = counted else {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: a client says {text}{complaint}", cell.name));
        };
        rows += r;
        micros = micros.max(m);
    }
    let _ = gate.wait();
    Ok((rows * 1e6 / micros.max(1.0), foreign.unwrap_or(0.0)))
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn rows_table(cells: &[&Cell], ours: &[Series], theirs: &[Series]) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let writes: Vec<f64> = ours.iter().flat_map(|s| s.writes.clone()).collect();
    let writes = median(&writes);
    let _ = writeln!(
        out,
        "durable 4 KB writes, one after the other: {writes:.0}/s ({:.0} us each)\n",
        1e6 / writes.max(1.0)
    );
    let _ = writeln!(
        out,
        "| what | rows/s | us each | of the durable-write rate | PostgreSQL rows/s | ratio | others' CPU (% of a core) |"
    );
    let _ = writeln!(out, "|---|---|---|---|---|---|---|");
    for (i, cell) in cells.iter().enumerate() {
        let rate = median(&ours[i].rates);
        let other = cells
            .iter()
            .position(|c| counterpart(c) == counterpart(cell))
            .map_or(0.0, |at| median(&theirs[at].rates));
        let peer = match other {
            0.0 => "- | -".to_owned(),
            other => format!("{other:.0} | {:.2}", rate / other),
        };
        let _ = writeln!(
            out,
            "| {} | {rate:.0} | {:.1} | {:.2} | {peer} | {:.0} |",
            cell.name,
            1e6 / rate.max(1e-9),
            median(&ours[i].of_disk),
            median(&ours[i].foreign),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{median, options};

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn options_are_pairs_of_known_words() {
        assert_eq!(options(&["--rounds", "5"]).map(|o| o.rounds), Some(5));
        assert!(options(&["--rounds"]).is_none());
        assert!(options(&["--speed", "1"]).is_none());
    }
}
