//! `cargo xtask ledger [--kills N] [--sessions N] [--seed N]`: the ledger test of the binary, at length.
//!
//! The test itself lies with the binary (`crates/duramen/tests/it/ledger.rs`), where `cargo test` runs a few kills of
//! it. Here it runs in the simulator's profile: fast, with every assertion alive.

use std::process::{Command, ExitCode};

use crate::root;

pub fn run(args: &[&str]) -> ExitCode {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args([
        "test",
        "--profile",
        "sim",
        "-p",
        "duramen",
        "--test",
        "it",
        "ledger",
        "--",
        "--nocapture",
    ]);
    command.env("DURAMEN_LEDGER_KILLS", "50");
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let variable = match *flag {
            "--kills" => "DURAMEN_LEDGER_KILLS",
            "--sessions" => "DURAMEN_LEDGER_SESSIONS",
            "--seed" => "DURAMEN_LEDGER_SEED",
            _ => {
                eprintln!("unknown option '{flag}'");
                return ExitCode::from(2);
            }
        };
        match args.next().map(|value| value.parse::<u64>()) {
            Some(Ok(value)) => command.env(variable, value.to_string()),
            _ => {
                eprintln!("{flag} needs a number");
                return ExitCode::from(2);
            }
        };
    }
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
