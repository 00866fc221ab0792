//! Chores: `cargo xtask test [--install]`, `cargo xtask sources`, `cargo xtask fuzz`... One file per chore.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod bench;
mod book;
mod cancels;
mod clients;
mod connections;
mod fuzz;
mod invariants;
mod isolation;
mod lab;
mod ledger;
mod memory;
mod model;
mod planted;
mod record;
mod reliability;
mod rooms;
mod server;
mod sim;
mod sources;
mod sql;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask test [--install]   run every test this machine can, name what is skipped
                               --install adds missing foreign clients below the target folder
cargo xtask clients [--install] [NAME...]
                               the drivers that other people wrote, all or some, against the release build
cargo xtask sim [--hours N | --seconds N | --seeds N] [--first S] [--backups on] | --seed S [--backups on]
                               crash and recovery of the whole engine, seed after seed, or with backups taken and
                               restored meanwhile; --seed runs one again
cargo xtask sim --log SECONDS  the log alone: crashes, every crash point of small workloads, turned bits
cargo xtask sim --small [2]    storage: every crash point and every failure of the disk under all workloads of up to so
                               many operations (3: hours), every bit of every page header turned
cargo xtask sim --flips N      so many bits turned anywhere in the files of a database and in a log; none may be silent
cargo xtask sim --planted      bugs planted in log and engine, each of which must be found; writes docs/reference/planted.md
cargo xtask sim --planted FILE  the page from what the tests of single rooms have printed; other rows stay
cargo xtask invariants         how many assertions there are, and how many invariants that say what holds them
cargo xtask reliability        docs/reference/reliability.md, from the rows of reliability.tsv. Runs put their rows there
                               themselves, from a tree without changes: --record on with invariants, sim (seeds without
                               a story, --story sql, --backups on), sim --planted, fuzz, ledger and isolation
cargo xtask model              the log's write head and the buffer pool's protocol under loom: every interleaving of a
                               few threads
cargo xtask miri               the unsafe code under Miri, where the nightly toolchain has it
cargo xtask ledger [--kills 50] [--durability full|delayed|both] [--dir DIR] [--sessions 16] [--seed 1]
                               kill -9 under writing sessions; what was acknowledged must be there, whole; delayed
                               commits may lose the end of the log; DIR: a folder of the file system to run on
cargo xtask isolation [--level L] [--mode PACKET|STATEMENT|both] [--transactions 1000000] [--kills 100]
                      [--durability full|delayed] [--sessions 8] [--seconds S] [--seed 1] [--dir DIR] [--record on]
                      [--profile release|sim]
                               histories over sockets under kill -9, judged at their isolation level (L: all,
                               read-uncommitted, read-committed, rcsi, repeatable-read, snapshot, serializable)
cargo xtask sources [--built]  run the scripts of the published experiments (below DURAMEN_MATERIAL)
cargo xtask bench              measure the figures of the README, PostgreSQL beside them
                               [--built] [--rounds N] [--seconds S] [--only WORD]
cargo xtask connections [--count 1000]
                               what idle connections cost, and that nothing of them stays
cargo xtask memory [--seconds N]
                               statements that try to pass --max-memory, for ten minutes or so long
cargo xtask cancels [--rows 200000] [--moments 12] [--seed 1] [--only NAME] [--from NAME]
                               statements of every kind given up at random moments: how long each goes on
cargo xtask fuzz [--target NAME] [--seconds N] [--seed S]
                               hostile bytes for everything that reads from outside
cargo xtask queries [--count 10000] [--seed S] [--keep-going on] [--threads T] [--parallel on]
                               random queries: SQLite's answers beside ours, and queries cut in three
cargo xtask book [--install]   the book as HTML below the target folder; --install fetches mdBook
cargo xtask rooms              check the imports of the rooms against ARCHITECTURE.md
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => test::run(false),
        ["test", "--install"] => test::run(true),
        ["clients", words @ ..] => clients::alone(words),
        ["sim", rest @ ..] => sim::run(rest),
        ["connections", options @ ..] => connections::run(options),
        ["memory", options @ ..] => memory::run(options),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["queries", options @ ..] => fuzz::queries(options),
        ["model"] => model::run(),
        ["miri"] => model::miri(),
        ["cancels", options @ ..] => cancels::run(options),
        ["isolation", options @ ..] => isolation::run(options),
        ["ledger", options @ ..] => ledger::run(options),
        ["book", options @ ..] => book::run(options),
        ["sources"] => sources::run(false),
        ["sources", "--built"] => sources::run(true),
        ["bench", rest @ ..] => bench::run(rest),
        ["invariants", options @ ..] => invariants::run(options),
        ["reliability"] => reliability::run(),
        ["rooms"] => {
            let wrong = rooms::violations();
            for line in &wrong {
                eprintln!("{line}");
            }
            if wrong.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The root of the checkout.
fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies below the root")
        .to_path_buf()
}

/// The folder that holds build products: `CARGO_TARGET_DIR`, or `target` of the checkout.
fn target_dir() -> std::path::PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}
