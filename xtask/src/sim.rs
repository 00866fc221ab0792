//! `cargo xtask sim`: crash and recovery of the whole engine under the simulator, one process a processor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::planted;
use crate::record::{self, Figure, Ran};
use crate::root;
use crate::test::Tally;

/// `cargo xtask sim WORDS`.
pub fn run(words: &[&str]) -> ExitCode {
    if let (words, true) = record::asked(words)
        && !has_row(&words)
    {
        eprintln!("the page of figures has no row for this run");
        return ExitCode::from(2);
    }
    record::chore("sim", words, |words| {
        let without_figures = |passed| Ok((passed, Vec::new()));
        match words {
            ["--log", seconds] => without_figures(whole_log(seconds)),
            ["--flips", count] => without_figures(count.parse().is_ok_and(flips)),
            ["--small"] => without_figures(small("2")),
            ["--small", steps] => without_figures(small(steps)),
            ["--planted"] => Ok(find_planted(true)),
            ["--planted", said @ ..] => without_figures(planted::take(said)),
            _ => Ok(seeds(words)),
        }
    })
}

/// Whether the page of figures has a row for the run: all planted bugs, or many seeds of single statements, of whole
/// sessions or of backups, without preference for anything.
fn has_row(words: &[&str]) -> bool {
    let only = ["--log", "--flips", "--small", "--seed", "--focus", "--aim"];
    let (planted, sql) = (
        words.contains(&"--planted"),
        words.windows(2).any(|w| w == ["--story", "sql"]),
    );
    let alone = !words.iter().any(|word| only.contains(word));
    alone && (!planted || words.len() == 1) && (sql || !words.contains(&"--story"))
}

/// The simulator's part of the test command: a thousand seeds, and the bugs planted to be found.
pub fn in_test(tally: &mut Tally) {
    let seeds = passes(&["--seeds", "1000"]);
    tally.step("1,000 seeds of crash and recovery", seeds);
    let room = passes(&["--story", "room", "--seconds", "60"]);
    tally.step("room on shared pages, for a minute", room);
    let sql = passes(&["--story", "sql", "--seconds", "75", "--shrink", "100"]);
    tally.step("whole sessions, for 75 seconds", sql);
    tally.program(
        "the log alone, crash after crash for a minute",
        &mut log_program(
            "crash_and_recover",
            &[("DURAMEN_SECONDS", "60"), ("DURAMEN_SEEDS", "1000000")],
        ),
    );
    tally.program(
        "every crash point and failure of small workloads",
        &mut small_program("1"),
    );
    tally.step("every planted bug is caught", find_planted(false).0);
}

/// Bugs planted in the engine, each of which must be found; `write`: and the page that tells by what. Gives their figures
/// where all were found.
fn find_planted(write: bool) -> Ran {
    // One at a time: what is planted is planted in the whole process.
    let spoiled = ["--nocapture", "--test-threads=1"];
    let runs: [(&str, &[&str], &str); 8] = [
        ("duramen-sim", &["--features", "planted"], ""),
        (
            "duramen-storage",
            &["--features", "planted"],
            "planted_bugs_spoil",
        ),
        (
            "duramen-txn",
            &["--features", "planted"],
            "planted_bugs_spoil",
        ),
        (
            "duramen-os",
            &["--features", "planted"],
            "planted_bugs_spoil",
        ),
        (
            "duramen-session",
            &["--features", "planted"],
            "planted_bugs_spoil",
        ),
        ("duramen-wal", &[], "planted_bugs_are_found"),
        ("duramen-wal", &[], "planted_blindness_is_found"),
        ("duramen-wal", &[], "planted_trust_is_found"),
    ];
    let (mut all, mut rows) = (true, Vec::new());
    for (room, features, name) in runs {
        let mut command = Command::new(cargo_program());
        command
            .args(["test", "--profile", "sim", "-p", room])
            .args(features);
        match (room, name) {
            ("duramen-sim", _) => command.args(["--test", "planted"]),
            ("duramen-session", name) => command.args(["--test", "it", name]),
            (_, name) => command.args(["--lib", name]),
        };
        command.arg("--").args(spoiled).current_dir(root());
        if room == "duramen-wal" {
            command.env("DURAMEN_SEEDS", "6000");
        }
        let Ok(ran) = command.output() else {
            return (false, Vec::new());
        };
        let said = String::from_utf8_lossy(&ran.stdout);
        print!("{said}");
        rows.extend(said.lines().filter_map(planted::row));
        all &= ran.status.success();
        if !ran.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&ran.stderr));
        }
    }
    match all && (!write || planted::write(&rows)) {
        true => (true, planted::figures(&rows).into()),
        false => (false, Vec::new()),
    }
}

fn small(steps: &str) -> bool {
    small_program(steps).status().is_ok_and(|s| s.success())
}

/// Storage: every crash point and every failure of the disk under all workloads of up to so many steps.
fn small_program(steps: &str) -> Command {
    let mut command = Command::new(cargo_program());
    command.args([
        "test",
        "--quiet",
        "--profile",
        "sim",
        "-p",
        "duramen-storage",
    ]);
    command.args(["--lib", "small::", "--", "--nocapture"]);
    command.env("DURAMEN_SEEDS", steps).current_dir(root());
    command
}

/// Bits that turn, so many together: four fifths anywhere in the files of a database (pages, boot page, log, double-write
/// file), half of them by each of two processes; the others in a log alone.
fn flips(count: u64) -> bool {
    let test = |first: u64| {
        let mut command = Command::new(cargo_program());
        command.args(["test", "--quiet", "--profile", "sim", "-p"]);
        command.args(["duramen-storage", "--lib", "no_bit_anywhere"]);
        command.args(["--", "--nocapture"]).current_dir(root());
        command.env("DURAMEN_FLIPS", (count * 2 / 5).max(1).to_string());
        command.env("DURAMEN_FIRST", first.to_string());
        command
    };
    // The first brings the program, which the second then finds.
    let built = test(0).arg("--list").status().is_ok_and(|s| s.success());
    let children: Vec<_> = [1, 2].map(|n| test(n).spawn()).into_iter().collect();
    let all = children
        .into_iter()
        .map(|c| c.is_ok_and(|mut c| c.wait().is_ok_and(|s| s.success())))
        .fold(built, |all, one| all & one);
    let alone = (count / 10).max(1).to_string();
    all && log_test("no_flipped_bit_is_silent", &[("DURAMEN_SEEDS", &alone)])
}

/// The log alone: crashes for so many seconds, every crash point and failure of workloads of three operations, every bit
/// of every header and 50,000 bits anywhere.
fn whole_log(seconds: &str) -> bool {
    let crashes = [("DURAMEN_SECONDS", seconds), ("DURAMEN_SEEDS", "100000000")];
    log_test("crash_and_recover", &crashes)
        && log_test("exhaustive", &[("DURAMEN_SEEDS", "3")])
        && log_test("no_flipped_bit_is_silent", &[("DURAMEN_SEEDS", "25000")])
}

/// Runs tests of the log's room at the simulator's speed; they say how much they did.
fn log_test(name: &str, settings: &[(&str, &str)]) -> bool {
    let ran = log_program(name, settings).status();
    ran.is_ok_and(|s| s.success())
}

fn log_program(name: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(cargo_program());
    command.args(["test", "--quiet", "--profile", "sim", "-p", "duramen-wal"]);
    command.args(["--lib", name, "--", "--nocapture"]);
    command.envs(settings.iter().copied()).current_dir(root());
    command
}

/// Whether the `sim` program finds nothing.
fn passes(words: &[&str]) -> bool {
    seeds(words).0
}

/// Passes the words on to the `sim` program; without `--seed` two processes share the seeds between them, and their
/// figures are added.
fn seeds(words: &[&str]) -> Ran {
    let alone = words.contains(&"--seed");
    let processes: u64 = if alone { 1 } else { 2 };
    let first = value(words, "--first").unwrap_or(1);
    if !build() {
        return Ran::default();
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
        match record::start(&mut command) {
            Ok(child) => children.push(child),
            Err(e) => eprintln!("cannot start the simulator: {e}"),
        }
    }
    let (mut ok, mut figures) = (children.len() as u64 == processes, Vec::new());
    for child in children {
        let (passed, reported) = child.join().unwrap_or_default();
        ok &= passed;
        figures.extend(reported);
    }
    let (seldom, figures) = figures
        .into_iter()
        .partition::<Vec<_>, _>(|f| f.what.starts_with(SELDOM));
    for cell in too_seldom(&seldom, processes as usize) {
        println!("FAILED too {cell}");
        ok = false;
    }
    let figures = record::added(&figures, processes as usize).unwrap_or_else(|why| {
        eprintln!("no figures: {why}");
        Vec::new()
    });
    (ok, figures)
}

/// What a process of a long run says of a cell of its matrix to which it has come less often than the whole run has to.
const SELDOM: &str = "seldom: ";

/// The cells to which all processes together have come less often than they had to. One that does not name a cell has come
/// there as often by itself.
fn too_seldom(seldom: &[Figure], processes: usize) -> Vec<String> {
    // `37 of 100`
    let counts = |f: &Figure| -> Option<(u64, u64)> {
        let (hits, least) = f.figure.split_once(" of ")?;
        Some((hits.parse().ok()?, least.parse().ok()?))
    };
    let mut cells: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for f in seldom {
        cells.entry(&f.what).or_default().extend(counts(f));
    }
    cells
        .into_iter()
        .filter(|(_, said)| said.len() == processes)
        .map(|(cell, said)| (cell, said.iter().map(|s| s.0).sum::<u64>(), said[0].1))
        .filter(|(_, hits, least)| hits < least)
        .map(|(cell, hits, least)| format!("{cell}, {hits} of {least}"))
        .collect()
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

#[cfg(test)]
mod tests {
    use super::{Figure, has_row, too_seldom};

    #[test]
    fn a_cell_is_seldom_where_all_have_come_there_too_seldom() {
        let said = |what: &str, hits: u64| Figure {
            what: format!("seldom: {what}"),
            figure: format!("{hits} of 100"),
            command: None,
        };
        let seldom = [
            said("A / kill", 60),
            said("B / kill", 40),
            said("A / kill", 39),
            said("B / kill", 60),
            // The other has come to this one a hundred times.
            said("C / kill", 3),
        ];
        assert_eq!(too_seldom(&seldom, 2), ["seldom: A / kill, 99 of 100"]);
    }

    #[test]
    fn only_whole_runs_have_a_row() {
        let row = |words: &str| has_row(&words.split_whitespace().collect::<Vec<_>>());
        for recorded in [
            "--seconds 45",
            "--story sql --hours 2 --keep-going on",
            "--backups on --seeds 100",
            "--planted",
        ] {
            assert!(row(recorded), "{recorded}");
        }
        for not in [
            "--seed 7",
            "--story room --seconds 60",
            "--story sql --aim 'DROP VIEW/kill'",
            "--log 60",
            "--planted said.txt",
        ] {
            assert!(!row(not), "{not}");
        }
    }
}
