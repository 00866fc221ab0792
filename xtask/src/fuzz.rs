//! `cargo xtask fuzz [--target NAME|all] [--seconds N] [--seed S]` and `cargo xtask queries [--count N] [--seed S]
//! [--keep-going on] [--threads T] [--parallel on]`: programs of the simulator room, optimised and with every assertion alive. With `DURAMEN_MATERIAL`
//! the fuzzer's seeds come from real files too.

use std::process::{Command, ExitCode};

use crate::root;

/// Runs the program of that name.
pub fn run(program: &str, args: &[&str]) -> ExitCode {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command.args(["run", "--profile", "sim", "-p", "duramen-sim", "--bin"]);
    command.args([program, "--"]).args(args);
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
