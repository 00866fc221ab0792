//! `cargo xtask ledger [--kills N] [--durability full|delayed|both] [--dir DIR] [--sessions N] [--seed N]
//! [--record on]`: the ledger test of the binary, at length.
//!
//! The test itself lies with the binary (`crates/duramen/tests/it/ledger.rs`), where `cargo test` runs a few kills of
//! it. Here it runs in the simulator's profile: fast, with every assertion alive. `--dir` is a folder of the file system
//! to run on.

use std::process::{Command, ExitCode};

use crate::record::{self, Ran};
use crate::root;

/// What the test is called, by the durability of its commits.
fn tests(durability: &str) -> Option<&'static [&'static str]> {
    Some(match durability {
        "full" => &["ledger_of_acknowledged"],
        "delayed" => &["ledger_of_delayed"],
        "both" => &["ledger_of_acknowledged", "ledger_of_delayed"],
        _ => return None,
    })
}

pub fn run(args: &[&str]) -> ExitCode {
    record::chore("ledger", args, |words| {
        let (tests, settings) = parse(words)?;
        let (mut all, mut figures) = (true, Vec::new());
        for test in tests {
            let (passed, reported) = ran(test, &settings);
            figures.extend(reported);
            all = passed;
            if !all {
                break;
            }
        }
        Ok((all, figures))
    })
}

type Settings = Vec<(&'static str, String)>;

fn parse(args: &[&str]) -> Result<(&'static [&'static str], Settings), String> {
    let mut chosen = tests("full").unwrap_or_default();
    let mut settings = vec![("DURAMEN_LEDGER_KILLS", "50".to_owned())];
    for pair in args.chunks(2) {
        let [flag, value] = pair else {
            return Err(format!("{} needs a value", pair[0]));
        };
        let variable = match *flag {
            "--kills" => "DURAMEN_LEDGER_KILLS",
            "--sessions" => "DURAMEN_LEDGER_SESSIONS",
            "--seed" => "DURAMEN_LEDGER_SEED",
            "--dir" => {
                let dir = std::path::absolute(value).map_err(|e| format!("{value}: {e}"))?;
                settings.push(("DURAMEN_LEDGER_DIR", dir.display().to_string()));
                continue;
            }
            "--durability" => {
                chosen = tests(value).ok_or("--durability is full, delayed or both")?;
                continue;
            }
            _ => return Err(format!("unknown option '{flag}'")),
        };
        if value.parse::<u64>().is_err() {
            return Err(format!("{flag} needs a number"));
        }
        settings.push((variable, (*value).to_owned()));
    }
    Ok((chosen, settings))
}

fn ran(test: &str, settings: &Settings) -> Ran {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command.args(["test", "--profile", "sim", "-p", "duramen", "--test", "it"]);
    command.args([test, "--", "--nocapture"]);
    command.envs(settings.iter().map(|(name, value)| (name, value)));
    record::run(&mut command)
}
