//! `queries [--count N] [--seed S] [--keep-going on]`: random queries whose answers must agree.
//!
//! Exit code 1 when some did not.

#![forbid(unsafe_code)]

use duramen_os::time;
use duramen_sim::queries::{self, sqlite::Sqlite};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (mut count, mut seed, mut keep_going) = (10_000, 1, false);
    for pair in args.chunks(2) {
        let number = || pair.get(1).and_then(|v| v.parse::<u64>().ok());
        match (pair[0].as_str(), number()) {
            ("--count", Some(n)) => count = n,
            ("--seed", Some(n)) => seed = n,
            ("--keep-going", _) => keep_going = true,
            _ => {
                eprintln!("usage: queries [--count N] [--seed S] [--keep-going on]");
                std::process::exit(2);
            }
        }
    }
    let other = Sqlite::start();
    if other.is_none() {
        println!("no Python with SQLite 3.39 here: three-part queries only");
    }
    let start = time::now();
    let report = queries::run(seed, count, other, keep_going);
    for difference in &report.differences {
        println!("DIFFERENT: {difference}\n");
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
    std::process::exit(i32::from(!report.differences.is_empty()));
}
