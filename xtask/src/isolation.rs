//! `cargo xtask isolation`: histories over sockets under `kill -9`, judged at the level that was asked for.
//!
//! The test itself lies with the binary (`crates/duramen/tests/it/isolation.rs`), where `cargo test` runs a little of it.
//! The long run is the release build's; `cargo xtask test` runs its part in the simulator's profile, with every assertion
//! alive, and so does `--profile sim`.

use std::process::{Command, ExitCode};

use crate::record::{self, Ran};
use crate::root;
use crate::test::Tally;

const LEVELS: [&str; 7] = [
    "all",
    "read-uncommitted",
    "read-committed",
    "rcsi",
    "repeatable-read",
    "snapshot",
    "serializable",
];

pub fn run(args: &[&str]) -> ExitCode {
    record::chore("isolation", args, |words| Ok(ran(&parse(words)?)))
}

/// The test command's part: ten thousand transactions for each level and mode, with kills; and delayed durability.
pub fn in_test(tally: &mut Tally) {
    for (what, words) in [
        (
            "isolation: ten thousand transactions for each level and mode",
            &[
                "--profile",
                "sim",
                "--transactions",
                "10000",
                "--kills",
                "2",
            ][..],
        ),
        (
            "isolation: a prefix survives under delayed durability",
            &[
                "--profile",
                "sim",
                "--transactions",
                "5000",
                "--kills",
                "5",
                "--level",
                "serializable",
                "--durability",
                "delayed",
            ][..],
        ),
    ] {
        tally.step(what, parse(words).is_ok_and(|settings| ran(&settings).0));
    }
}

type Settings = Vec<(String, String)>;

fn parse(args: &[&str]) -> Result<Settings, String> {
    let mut settings = vec![
        ("TRANSACTIONS".to_owned(), "1000000".to_owned()),
        ("KILLS".to_owned(), "100".to_owned()),
        ("MODE".to_owned(), "both".to_owned()),
        ("PROFILE".to_owned(), "release".to_owned()),
    ];
    for pair in args.chunks(2) {
        let [flag, value] = pair else {
            return Err(format!("{} needs a value", pair[0]));
        };
        let value = (*value).to_owned();
        let known = match *flag {
            "--level" => LEVELS.contains(&value.as_str()),
            "--mode" => ["PACKET", "STATEMENT", "both"].contains(&value.as_str()),
            "--durability" => ["full", "delayed"].contains(&value.as_str()),
            "--transactions" | "--kills" | "--sessions" | "--seconds" | "--round" | "--seed" => {
                value.parse::<u64>().is_ok()
            }
            "--profile" => ["release", "sim"].contains(&value.as_str()),
            "--dir" => true,
            _ => return Err(format!("unknown option '{flag}'")),
        };
        if !known {
            return Err(format!("{flag} cannot be '{value}'"));
        }
        settings.push((flag.trim_start_matches("--").to_uppercase(), value));
    }
    Ok(settings)
}

/// Each level and mode tells its figure and its command.
fn ran(settings: &Settings) -> Ran {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    let named = |word: &str| settings.iter().rfind(|(name, _)| name == word);
    let profile = named("PROFILE").map_or("release", |(_, value)| value);
    command.args([
        "test",
        "--profile",
        profile,
        "-p",
        "duramen",
        "--test",
        "it",
    ]);
    command.args(["isolation::", "--", "--nocapture"]);
    for (name, value) in settings {
        command.env(format!("DURAMEN_ISOLATION_{name}"), value);
    }
    record::run(&mut command)
}
