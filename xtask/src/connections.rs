//! `cargo xtask connections [--count N]`: what idle and waiting connections cost, measured on the real server.
//!
//! The test lies with the binary (`crates/duramen/tests/it/connections.rs`), where `cargo test` opens a few.

use std::process::{Command, ExitCode};

use crate::root;

pub fn run(args: &[&str]) -> ExitCode {
    let count = match args {
        [] => Some(1000),
        ["--count", value] => value.parse::<u32>().ok(),
        _ => None,
    };
    let Some(count) = count else {
        eprintln!("usage: cargo xtask connections [--count N]");
        return ExitCode::from(2);
    };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let arguments =
        "test --profile sim -p duramen --test it connections:: -- --nocapture --test-threads 1";
    command
        .current_dir(root())
        .args(arguments.split(' '))
        .env("DURAMEN_CONNECTIONS", count.to_string());
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
