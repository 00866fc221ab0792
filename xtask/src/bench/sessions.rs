//! Commits of sessions in the process of the engine: an example of the session's crate (`crates/session/examples/sessions.rs`)
//! runs them, through the packet gate and with COMMIT_WAIT = STATEMENT, each time in a directory of its own.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::{disk, median};
use crate::target_dir;

const SESSIONS: [usize; 4] = [1, 4, 16, 64];

pub fn is_wanted(only: Option<&str>) -> bool {
    only.is_none_or(|o| o == "sessions")
}

pub fn figures(dir: &Path, rounds: usize, seconds: f64) -> Result<String, String> {
    let mut writes = Vec::new();
    let mut runs = vec![Vec::new(); SESSIONS.len() * 2];
    for round in 0..rounds {
        for (at, runs) in runs.iter_mut().enumerate() {
            let (sessions, wait) = cell(at);
            let run = || one(dir, sessions, seconds, wait);
            let ([rate, p50, p99], disk_rate) = disk::with_disk_rate(dir, run)?;
            writes.push(disk_rate);
            println!(
                "round {round}: {sessions} sessions, {wait}: {rate:.0}/s, {p50:.0} us, {p99:.0} us"
            );
            runs.push([rate, p50, p99, rate / disk_rate.max(1.0)]);
        }
    }
    let writes = median(&writes);
    let mut table = format!(
        "Sessions in the engine's process that wait for each commit; the disk makes {writes:.0} durable writes a second.\n\
         PACKET: a worker goes on with another session until the gate lets the answer go. STATEMENT: a thread for each\n\
         session, which sleeps and is woken at each commit.\n\n\
         | sessions | wait | commits/s | of the disk's writes | median us | 99th us |\n|---|---|---|---|---|---|\n"
    );
    for (at, runs) in runs.iter().enumerate() {
        let (sessions, wait) = cell(at);
        let of = |i: usize| median(&runs.iter().map(|r: &[f64; 4]| r[i]).collect::<Vec<_>>());
        let _ = writeln!(
            table,
            "| {sessions} | {wait} | {:.0} | {:.2} | {:.0} | {:.0} |",
            of(0),
            of(3),
            of(1),
            of(2)
        );
    }
    Ok(table)
}

fn cell(at: usize) -> (usize, &'static str) {
    let wait = if at.is_multiple_of(2) {
        "gate"
    } else {
        "statement"
    };
    (SESSIONS[at / 2], wait)
}

fn one(dir: &Path, sessions: usize, seconds: f64, wait: &str) -> Result<[f64; 3], String> {
    let data = dir.join("sessions");
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(|e| e.to_string())?;
    let program = target_dir()
        .join("release")
        .join("examples")
        .join("sessions");
    let mut command = Command::new(program);
    command
        .arg(&data)
        .arg(sessions.to_string())
        .arg(format!("{:.0}", seconds.ceil()))
        .arg(wait);
    let answer = crate::sql::finish(&mut command)?;
    let _ = std::fs::remove_dir_all(&data);
    let mut numbers = answer.trim().split('|').map(str::parse);
    match [numbers.next(), numbers.next(), numbers.next()] {
        [Some(Ok(rate)), Some(Ok(p50)), Some(Ok(p99))] => Ok([rate, p50, p99]),
        _ => Err(format!("sessions said {answer}")),
    }
}
