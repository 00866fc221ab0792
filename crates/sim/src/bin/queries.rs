//! `queries [--count N] [--seed S] [--keep-going on] [--threads T] [--parallel on]`: random queries whose answers must agree. How far it has
//! come, and what does not agree, is told on the way. `--parallel on`: by plans of four threads, whatever they cost.
//!
//! Exit code 1 when some did not.

#![forbid(unsafe_code)]

use duramen_os::{thread, time};
use duramen_sim::queries::{self, Report, sqlite::Sqlite};

/// Queries between two words of how far it has come.
const PROGRESS: u64 = 1_000;

/// Every `step`th world from a seed, on an instance of its own.
fn part(name: String, (seed, step): (u64, u64), count: u64, how: (bool, bool)) -> Report {
    let start = time::now();
    let (mut last, mut different) = (0, 0);
    queries::run((seed, step), count, Sqlite::start(), how, |report| {
        for difference in &report.differences[different..] {
            println!("DIFFERENT: {difference}\n");
        }
        different = report.differences.len();
        if report.asked() >= last + PROGRESS || report.asked() >= count {
            last = report.asked();
            let seconds = start.elapsed().as_secs_f64();
            println!("{name}{last} of {count} queries, {different} differences, {seconds:.0} s");
        }
    })
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (mut count, mut seed, mut threads) = (10_000, 1, 1);
    let (mut keep_going, mut parallel) = (false, false);
    for pair in args.chunks(2) {
        let number = || pair.get(1).and_then(|v| v.parse::<u64>().ok());
        match (pair[0].as_str(), number()) {
            ("--count", Some(n)) => count = n,
            ("--seed", Some(n)) => seed = n,
            ("--threads", Some(n)) => threads = n.clamp(1, 64),
            ("--keep-going", _) => keep_going = true,
            ("--parallel", _) => parallel = true,
            _ => {
                eprintln!(
                    "usage: queries [--count N] [--seed S] [--keep-going on] [--threads T] [--parallel on]"
                );
                std::process::exit(2);
            }
        }
    }
    if Sqlite::start().is_none() {
        println!("no Python with SQLite 3.39 here: three-part queries only");
    }
    let start = time::now();
    let parts: Vec<_> = (0..threads)
        .map(|t| {
            let name = match threads {
                1 => String::new(),
                _ => format!("thread {t}: "),
            };
            let count = count / threads + u64::from(t < count % threads);
            thread::spawn("queries", move || {
                part(name, (seed + t, threads), count, (keep_going, parallel))
            })
        })
        .collect();
    let mut report = Report::default();
    for part in parts {
        match part.join() {
            Ok(found) => report.add(found),
            Err(_) => std::process::exit(101),
        }
    }
    println!(
        "seeds from {seed}: {} queries equal to SQLite's, {} cut in three, {} changes of rows, {} refused by both or \
         beyond 32 bits, {} differences, {:.1} s",
        report.compared,
        report.partitioned,
        report.changes,
        report.refused,
        report.differences.len(),
        start.elapsed().as_secs_f64()
    );
    let (took, query) = &report.slowest;
    println!("the slowest took {:.1} s: {query}", took.as_secs_f64());
    std::process::exit(i32::from(!report.differences.is_empty()));
}
