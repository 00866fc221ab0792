//! `cargo xtask cancels`: statements of every kind given up at random moments, against the release build, and a table of how
//! long each kind went on. It fails where 99 of 100 of a kind go on for more than 50 ms.
//!
//! The test lies with the binary (`crates/duramen/tests/it/cancels.rs`), where `cargo test` takes few moments.

use std::process::{Command, ExitCode};

use crate::root;

pub fn run(args: &[&str]) -> ExitCode {
    let mut settings = vec![
        ("ROWS", "200000".to_owned()),
        ("MOMENTS", "12".to_owned()),
        ("HOLD", "1".to_owned()),
    ];
    for pair in args.chunks(2) {
        let (name, value) = match *pair {
            ["--rows", value] if value.parse::<u64>().is_ok() => ("ROWS", value),
            ["--moments", value] if value.parse::<u64>().is_ok() => ("MOMENTS", value),
            ["--seed", value] if value.parse::<u64>().is_ok() => ("SEED", value),
            ["--only", value] => ("ONLY", value),
            ["--from", value] => ("FROM", value),
            _ => {
                eprintln!(
                    "usage: cargo xtask cancels [--rows N] [--moments N] [--seed S] [--only NAME] [--from NAME]"
                );
                return ExitCode::from(2);
            }
        };
        settings.push((name, value.to_owned()));
    }
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command.args(["test", "--release", "-p", "duramen", "--test", "it"]);
    command.args(["cancels::", "--", "--nocapture"]);
    for (name, value) in settings {
        command.env(format!("DURAMEN_CANCELS_{name}"), value);
    }
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
