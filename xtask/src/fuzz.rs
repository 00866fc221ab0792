//! `cargo xtask fuzz [--target NAME|all] [--seconds N] [--seed S] [--record on]` and `cargo xtask queries [--count N]
//! [--seed S] [--keep-going on] [--threads T] [--parallel on]`: programs of the simulator room, optimised and with every
//! assertion alive. With `DURAMEN_MATERIAL` the fuzzer's seeds come from real files too.

use std::process::{Command, ExitCode};

use crate::{record, root};

/// Feeds the targets; each has its row of hours.
pub fn run(args: &[&str]) -> ExitCode {
    record::chore("fuzz", args, |words| {
        Ok(record::run(&mut program("fuzz", words)))
    })
}

/// Asks random queries.
pub fn queries(args: &[&str]) -> ExitCode {
    match program("queries", args).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The program of that name.
fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command.args(["run", "--profile", "sim", "-p", "duramen-sim", "--bin"]);
    command.args([name, "--"]).args(args);
    command
}
