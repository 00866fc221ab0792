//! `cargo xtask test`: everything this machine can run, and by name what it cannot.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::{book, clients, isolation, lab, model, root, sim, sources};

/// What ran: the numbers of the closing line.
#[derive(Default)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
    pub skipped: Vec<String>,
    /// What failed: the steps by name, the tests with what they printed.
    failures: Vec<String>,
}

/// At most so many lines of what failing tests of one program printed are said again at the end.
const SAID_AGAIN: usize = 60;

impl Tally {
    pub fn step(&mut self, name: &str, ok: bool) {
        println!("{} {name}", if ok { "ok    " } else { "FAILED" });
        if ok {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
    }

    /// A step that is a program, whose output is shown when it has ended. What one that failed said last is said again.
    pub fn program(&mut self, name: &str, command: &mut Command) {
        let ran = command.output();
        let ok = ran.as_ref().is_ok_and(|r| r.status.success());
        let said = match &ran {
            Ok(ran) => [&ran.stdout[..], &ran.stderr].concat(),
            Err(e) => e.to_string().into_bytes(),
        };
        let said = String::from_utf8_lossy(&said);
        print!("{said}");
        self.step(name, ok);
        if !ok {
            let lines: Vec<&str> = said.lines().collect();
            let last = lines.len().saturating_sub(SAID_AGAIN);
            self.failures.push(lines[last..].join("\n"));
        }
    }

    /// The closing lines, and the exit code. What failed is said again: whoever reads a long run reads its end.
    pub fn end(&self) -> ExitCode {
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        for skipped in &self.skipped {
            println!("skipped: {skipped}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

pub fn run(install: bool) -> ExitCode {
    let mut tally = Tally::default();
    for (name, args) in [
        ("format", &["fmt", "--all", "--check"][..]),
        (
            "clippy",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ][..],
        ),
    ] {
        let ok = cargo(args).status().is_ok_and(|s| s.success());
        tally.step(name, ok);
    }
    cargo_test(&mut tally);
    sim::in_test(&mut tally);
    isolation::in_test(&mut tally);
    model::in_test(&mut tally);
    book::in_test(install, &mut tally);
    let built = cargo(&["build", "--release"])
        .status()
        .is_ok_and(|s| s.success());
    tally.step("release build", built);
    if built {
        clients::run(install, &mut tally);
        sources::small(&mut tally);
        lab::in_test(install, &mut tally);
    }
    if std::env::var_os("DURAMEN_MATERIAL").is_none() {
        let what = "tests over real files and source scripts (DURAMEN_MATERIAL is not set)";
        tally.skipped.push(what.to_owned());
    }
    if std::env::var_os("DURAMEN_SAMPLES").is_none() {
        let what = "the install scripts of Northwind and pubs (DURAMEN_SAMPLES is not set)";
        tally.skipped.push(what.to_owned());
    }
    tally.end()
}

fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// A program of tests that says nothing for so long hangs: all of them together take a quarter of an hour.
const SILENCE: Duration = Duration::from_secs(600);

/// Runs the tests of the workspace in the simulator's profile, with every assertion alive, and adds up the `test result:` lines.
fn cargo_test(tally: &mut Tally) {
    let child = cargo(&["test", "--profile", "sim", "--workspace", "--no-fail-fast"])
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        tally.step("cargo test starts", false);
        return;
    };
    let stdout = child.stdout.take().expect("stdout is piped");
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut failed = 0;
    let mut failures = Vec::new();
    let mut running = Running::default();
    loop {
        let line = match lines.recv_timeout(SILENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break,
            // Nothing is said while cargo builds.
            Err(RecvTimeoutError::Timeout) if !running.program => continue,
            Err(RecvTimeoutError::Timeout) => {
                tally.step(&format!("tests that hang: {}", running.long()), false);
                end_children(child.id());
                running = Running::default();
                continue;
            }
        };
        println!("{line}");
        running.line(&line);
        if line == "failures:" || !failures.is_empty() {
            failures.push(line.clone());
        }
        if let Some((p, f)) = result_line(&line) {
            tally.passed += p;
            failed += f;
            if f > 0 {
                failures.truncate(SAID_AGAIN);
                tally.failures.push(failures.join("\n"));
            }
            failures.clear();
        }
    }
    let ok = child.wait().is_ok_and(|s| s.success());
    tally.failed += failed;
    if !ok && failed == 0 {
        tally.step("cargo test", false);
    }
}

/// Ends the program of tests that cargo runs; cargo goes on with the next one.
fn end_children(cargo: u32) {
    let ended = Command::new("pkill")
        .args(["-KILL", "-P", &cargo.to_string()])
        .status();
    if !ended.is_ok_and(|s| s.success()) {
        println!("the program of tests could not be ended");
    }
}

/// What a program of tests has begun and not ended.
#[derive(Default)]
struct Running {
    /// Between `running N tests` and `test result:`.
    program: bool,
    /// The tests that were said to take long and have not ended.
    long: BTreeSet<String>,
}

impl Running {
    fn line(&mut self, line: &str) {
        if line.starts_with("running ") {
            *self = Running {
                program: true,
                long: BTreeSet::new(),
            };
        } else if result_line(line).is_some() {
            self.program = false;
        } else if let Some(test) = line.strip_prefix("test ") {
            if let Some((name, _)) = test.split_once(" has been running for over ") {
                self.long.insert(name.to_owned());
            } else if let Some((name, _)) = test.split_once(" ... ") {
                self.long.remove(name);
            }
        }
    }

    fn long(&self) -> String {
        let names: Vec<&str> = self.long.iter().map(String::as_str).collect();
        names.join(", ")
    }
}

/// The counts of `test result: ok. 3 passed; 0 failed; ...`.
fn result_line(line: &str) -> Option<(u32, u32)> {
    let rest = line.strip_prefix("test result: ")?;
    let count = |what: &str| -> Option<u32> {
        let before = rest.split(what).next()?.trim_end();
        before.rsplit(' ').next()?.parse().ok()
    };
    Some((count(" passed")?, count(" failed")?))
}

#[cfg(test)]
mod tests {
    use super::{Running, result_line};

    #[test]
    fn a_test_that_hangs_has_a_name() {
        let mut running = Running::default();
        for line in [
            "running 3 tests",
            "test a::quick ... ok",
            "test b::slow has been running for over 60 seconds",
            "test c::hangs has been running for over 60 seconds",
            "test b::slow ... ok",
        ] {
            running.line(line);
        }
        assert!(running.program);
        assert_eq!(running.long(), "c::hangs");
        running.line("test result: ok. 3 passed; 0 failed; 0 ignored");
        assert!(!running.program);
    }

    #[test]
    fn counts_are_read_from_the_result_line() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured";
        assert_eq!(result_line(line), Some((12, 3)));
        assert_eq!(result_line("running 3 tests"), None);
    }
}
