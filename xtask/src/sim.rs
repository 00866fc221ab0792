//! `cargo xtask sim`: crash and recovery of the whole engine under the simulator, one process a processor.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::root;
use crate::test::Tally;

/// `cargo xtask sim WORDS`.
pub fn run(words: &[&str]) -> ExitCode {
    if passes(words) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The simulator's part of the test command: a thousand seeds, and the bugs planted to be found.
pub fn in_test(tally: &mut Tally) {
    let seeds = passes(&["--seeds", "1000"]);
    tally.step("1,000 seeds of crash and recovery", seeds);
    let mut command = Command::new(cargo_program());
    command.args(["test", "--profile", "sim", "-p", "duramen-sim"]);
    command.args(["--features", "planted", "--test", "planted"]);
    command.args(["--", "--nocapture"]).current_dir(root());
    let caught = command.status().is_ok_and(|s| s.success());
    tally.step("every planted bug is caught", caught);
}

/// Passes the words on to the `sim` program; without `--seed` two processes share the seeds between them.
fn passes(words: &[&str]) -> bool {
    let alone = words.contains(&"--seed");
    let processes: u64 = if alone { 1 } else { 2 };
    let first = value(words, "--first").unwrap_or(1);
    if !build() {
        return false;
    }
    let mut children = Vec::new();
    for n in 0..processes {
        let mut command = cargo(&["run", "--quiet"]);
        command.arg("--").args(words);
        if !alone {
            command.args(["--step", "2", "--first", &(first + n).to_string()]);
            if let Some(seeds) = value(words, "--seeds") {
                command.args(["--seeds", &(seeds.div_ceil(processes)).to_string()]);
            }
        }
        match command.spawn() {
            Ok(child) => children.push(child),
            Err(e) => eprintln!("cannot start the simulator: {e}"),
        }
    }
    let mut ok = children.len() as u64 == processes;
    for mut child in children {
        ok &= child.wait().is_ok_and(|s| s.success());
    }
    ok
}

fn build() -> bool {
    cargo(&["build", "--quiet"])
        .status()
        .is_ok_and(|s| s.success())
}

fn cargo(verb: &[&str]) -> Command {
    let mut command = Command::new(cargo_program());
    command.args(verb).current_dir(root());
    command.args(["--profile", "sim", "-p", "duramen-sim", "--bin", "sim"]);
    command
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The number after a flag.
fn value(words: &[&str], flag: &str) -> Option<u64> {
    let at = words.iter().position(|w| *w == flag)?;
    words.get(at + 1)?.parse().ok()
}
