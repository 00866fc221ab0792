//! `cargo xtask bench --against BINARY`: the README's figures on two builds of this server, to hold a change against what
//! was before it.
//!
//! The machine's noise is larger than what is asked for. So both servers are up all the time, each cell runs on one right
//! after the other, which comes first changes from round to round, and what counts is the ratio of neighbours: its median,
//! and the interval that holds the median of such ratios with 95 % and more (order statistics, so nothing is assumed about
//! how they are distributed). Where a server's files came to lie on the disk decides some percent of what its commits cost,
//! for as long as it is up: so there is a new pair of servers every few rounds. The binary's examples that load it are the
//! present tree's.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use super::duramen::Duramen;
use super::{Cell, analytics, bulk, instructions, median, one, wire};
use crate::server::Server;
use crate::sql::Sql;
use crate::target_dir;

/// What one cell does on a server; more is better.
pub type Work<'a, S> = (String, Box<dyn Fn(&S) -> Result<f64, String> + 'a>);

/// The ratios of one cell: this build by the other.
struct Ratios {
    name: String,
    before: Vec<f64>,
    now: Vec<f64>,
}

impl Ratios {
    fn ratios(&self) -> Vec<f64> {
        let pairs = self.now.iter().zip(&self.before);
        let mut all: Vec<f64> = pairs.map(|(n, b)| n / b.max(1e-12)).collect();
        all.sort_by(f64::total_cmp);
        all
    }
}

/// How many of `n` values in order may be left out at each end so that the median still lies between the others with 95 %
/// and more; none where there are few.
fn cut(n: usize) -> usize {
    // P(at most k of n fall below the median) for a fair coin.
    let (mut below, mut term) = (0.0, 0.5_f64.powi(n as i32));
    for k in 0..n / 2 {
        below += term;
        if below > 0.025 {
            return k.saturating_sub(1);
        }
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    0
}

/// Rounds on one pair of servers.
const ROUNDS_OF_A_PAIR: usize = 3;

/// Runs all cells, round after round, on pairs of servers that `start` makes (of the other build: 0, of this one: 1) and
/// `end` puts away.
fn rounds<S>(
    count: usize,
    work: &[Work<'_, S>],
    start: impl Fn(usize) -> Result<S, String>,
    end: impl Fn(S),
) -> Result<Vec<Ratios>, String> {
    let series = |(name, _): &Work<'_, S>| Ratios {
        name: name.clone(),
        before: Vec::new(),
        now: Vec::new(),
    };
    let mut all: Vec<Ratios> = work.iter().map(series).collect();
    for (pair, first) in (0..count).step_by(ROUNDS_OF_A_PAIR).enumerate() {
        let servers = match pair % 2 {
            0 => {
                let other = start(0)?;
                [other, start(1)?]
            }
            _ => {
                let this = start(1)?;
                [start(0)?, this]
            }
        };
        for round in first..count.min(first + ROUNDS_OF_A_PAIR) {
            for ((name, work), series) in work.iter().zip(&mut all) {
                for turn in 0..2 {
                    let now = (round + turn) % 2 == 1;
                    let rate = work(&servers[usize::from(now)])?;
                    match now {
                        true => series.now.push(rate),
                        false => series.before.push(rate),
                    }
                }
                let (before, now) = (series.before[round], series.now[round]);
                println!(
                    "round {round}: {name}: {before:.1}, {now:.1}: {:.3}",
                    now / before
                );
            }
        }
        servers.into_iter().for_each(&end);
    }
    Ok(all)
}

/// What `--only` may name, beside `instructions`, which are counted where they are asked for by name.
const PARTS: [&str; 5] = ["start", "loops", "wire", "analytics", "bulk"];

/// The table; `only` is a part.
pub fn figures(
    dir: &Path,
    other: &Path,
    (count, seconds, scale): (usize, f64, f64),
    only: Option<&str>,
) -> Result<String, String> {
    let this = target_dir().join("release").join("duramen");
    let both = [other, this.as_path()];
    if only == Some("instructions") {
        return instructions::figures(dir, both, count);
    }
    if let Some(word) = only.filter(|word| !PARTS.contains(word)) {
        return Err(format!("{word} is none of {PARTS:?} and instructions"));
    }
    let wanted = |part: &str| only.is_none_or(|o| o == part);
    let mut all = Vec::new();
    if wanted("start") {
        all.extend(starts(dir, both, count)?);
    }
    if wanted("loops") {
        let homes = [dir.join("loops-other"), dir.join("loops-this")];
        let works: Vec<Work<'_, Duramen>> = super::CELLS
            .iter()
            .map(|cell: &Cell| {
                let work = move |s: &Duramen| one(s, cell, seconds).map(|reported| reported.0);
                (cell.name.to_owned(), Box::new(work) as Box<_>)
            })
            .collect();
        let start = |at: usize| {
            let _ = std::fs::remove_dir_all(&homes[at]);
            Duramen::start_binary(both[at], &homes[at])
        };
        all.extend(rounds(count, &works, start, Duramen::kill)?);
        homes
            .iter()
            .for_each(|home| drop(std::fs::remove_dir_all(home)));
    }
    for part in ["wire", "analytics", "bulk"] {
        if wanted(part) {
            all.extend(served(dir, both, part, (count, seconds, scale))?);
        }
    }
    Ok(table(&all))
}

/// The parts that ask a server of their own.
fn served(
    dir: &Path,
    both: [&Path; 2],
    part: &str,
    (count, seconds, scale): (usize, f64, f64),
) -> Result<Vec<Ratios>, String> {
    let homes = [dir.join("other"), dir.join("this")];
    let start = |at: usize| {
        let _ = std::fs::remove_dir_all(&homes[at]);
        let drive = format!("D={}", homes[at].join("files").display());
        let server = Server::start_binary(both[at], &homes[at].join("data"), &["--drive", &drive])?;
        match part {
            "wire" => drop(wire::load(&server, "setup", 1, 1.0)?),
            "analytics" => analytics::load_here(Sql { port: server.port })?,
            _ => {}
        }
        Ok(server)
    };
    let works: Vec<Work<'_, Server>> = match part {
        "wire" => wire::works(seconds),
        "analytics" => analytics::works(),
        _ => bulk::works(scale),
    };
    let measured = rounds(count, &works, start, Server::kill);
    homes
        .iter()
        .for_each(|home| drop(std::fs::remove_dir_all(home)));
    measured
}

/// Starts a second: the first on an empty directory, and one after a clean shutdown; by memory when idle.
fn starts(dir: &Path, both: [&Path; 2], count: usize) -> Result<Vec<Ratios>, String> {
    // Each build has a directory of its own: the older one may not read what the newer one writes.
    let homes = [dir.join("start-other"), dir.join("start-this")];
    let first = |at: &usize| {
        let _ = std::fs::remove_dir_all(&homes[*at]);
        answered(both[*at], &homes[*at])
    };
    let again = |at: &usize| answered(both[*at], &homes[*at]);
    let works: Vec<Work<'_, usize>> = vec![
        ("first starts a second".to_owned(), Box::new(first)),
        ("restarts a second".to_owned(), Box::new(again)),
    ];
    let measured = rounds(count, &works, Ok, drop);
    homes
        .iter()
        .for_each(|home| drop(std::fs::remove_dir_all(home)));
    measured
}

fn answered(binary: &Path, home: &Path) -> Result<f64, String> {
    let start = Instant::now();
    let server = Server::start_binary(binary, home, &[])?;
    Sql { port: server.port }.query("master", "SELECT 1")?;
    let took = start.elapsed().as_secs_f64();
    match server.stop() {
        true => Ok(1.0 / took),
        false => Err("the server does not end cleanly".to_owned()),
    }
}

fn table(all: &[Ratios]) -> String {
    let mut out = String::from(
        "Pairs of neighbouring runs on two builds: medians, and the ratio's median with the interval that holds it with 95 %\n\n\
         | what | before | now | ratio | interval |\n|---|---|---|---|---|\n",
    );
    for cell in all {
        let ratios = cell.ratios();
        let k = cut(ratios.len());
        let (low, high) = (ratios[k], ratios[ratios.len() - 1 - k]);
        let slower = if high < 0.97 { " slower" } else { "" };
        let _ = writeln!(
            out,
            "| {} | {:.1} | {:.1} | {:.3} | {low:.3} to {high:.3}{slower} |",
            cell.name,
            median(&cell.before),
            median(&cell.now),
            median(&ratios),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Ratios, cut, table};

    #[test]
    fn an_interval_holds_the_median_with_95_percent() {
        // Of nine values the second and the eighth, of six the least and the greatest.
        assert_eq!([cut(5), cut(6), cut(9), cut(15)], [0, 0, 1, 3]);
        let ratios = Ratios {
            name: "x".to_owned(),
            before: vec![10.0; 9],
            now: (0..9).map(|n| 8.0 + f64::from(n) / 10.0).collect(),
        };
        assert!(table(&[ratios]).contains("| x | 10.0 | 8.4 | 0.840 | 0.810 to 0.870 slower |"));
    }
}
