//! `duramen`: one binary, a command a word.

#![forbid(unsafe_code)]

mod check;
mod console;
mod drives;
mod log;
mod options;
mod page;
mod serve;
mod sql;

use std::process::ExitCode;

/// What is allocated is counted, so that the server can bound all of it and tell who has it.
#[global_allocator]
static HEAP: duramen_os::heap::Counted = duramen_os::heap::Counted;

const HELP: &str = "\
duramen: a T-SQL database server that keeps its data in SQL Server's page and log format

usage: duramen [COMMAND] [OPTIONS]

  serve          the server (the default); duramen serve --help
  sql            the command-line client; duramen sql -?
  check          checks the files of a stopped server
  page           shows a page of a data file
  log            shows the VLFs, blocks and records of a log file or backup
  lab            experiments with the log: runs, measures and draws them; duramen lab --help
  sample         makes the sample database; duramen sample --help
  calibrate      measures the disk below a directory
  --version      the version
  --help         this text

start a server:      duramen serve --data-dir ./data
ask it something:    duramen sql -U sa -P PASSWORD -Q 'SELECT @@VERSION'
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        // Options without a command are the server's.
        Some((first, _)) if first.starts_with("--") && !is_global(first) => ("serve", &args[..]),
        Some((first, rest)) => (first.as_str(), rest),
        None => ("serve", &args[..]),
    };
    let code = match command {
        "serve" => serve::run(rest),
        // What the system keeps of an exit code is its low byte.
        "sql" => (sql::run(rest) & 0xff) as u8,
        "check" => check::run(rest),
        "page" => page::run(rest),
        "log" => log::run(rest),
        "calibrate" => u8::try_from(duramen_lab::calibrate::run(rest)).unwrap_or(1),
        "lab" => duramen_lab::run(rest),
        "sample" => duramen_lab::sample::run(rest),
        "--version" | "-V" | "version" => {
            println!("duramen {}", env!("CARGO_PKG_VERSION"));
            0
        }
        "--help" | "-h" | "help" => {
            print!("{HELP}");
            0
        }
        other => {
            eprintln!("duramen: unknown command '{other}'; duramen --help lists them");
            2
        }
    };
    ExitCode::from(code)
}

fn is_global(arg: &str) -> bool {
    matches!(arg, "--version" | "--help")
}
