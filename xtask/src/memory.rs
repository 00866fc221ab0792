//! `cargo xtask memory [--seconds N]`: statements that try to pass `--max-memory`, against the real server.
//!
//! The test lies with the binary (`crates/duramen/tests/it/memory.rs`), where `cargo test` runs it for some seconds.

use std::process::{Command, ExitCode};

use crate::root;

pub fn run(args: &[&str]) -> ExitCode {
    let seconds = match args {
        [] => Some(600),
        ["--seconds", value] => value.parse::<u32>().ok(),
        _ => None,
    };
    let Some(seconds) = seconds else {
        eprintln!("usage: cargo xtask memory [--seconds N]");
        return ExitCode::from(2);
    };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let arguments =
        "test --profile sim -p duramen --test it memory:: -- --nocapture --test-threads 1";
    command
        .current_dir(root())
        .args(arguments.split(' '))
        .env("DURAMEN_HOSTILE_SECONDS", seconds.to_string());
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
