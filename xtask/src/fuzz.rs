//! `cargo xtask fuzz [--target NAME|all] [--seconds N] [--seed S]`: the fuzzer of the simulator room, optimised and with
//! every assertion alive. With `DURAMEN_MATERIAL` its seeds come from real files too.

use std::process::{Command, ExitCode};

use crate::root;

pub fn run(args: &[&str]) -> ExitCode {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let arguments = "run --profile sim -p duramen-sim --bin fuzz --";
    command
        .current_dir(root())
        .args(arguments.split(' '))
        .args(args);
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
