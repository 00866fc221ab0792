//! `cargo xtask sources [--built]`: the scripts of the published experiments, unchanged, through `duramen sql`, against a fresh
//! release server. They are found below the directory that `DURAMEN_MATERIAL` names; without it nothing runs.
//!
//! What must hold: no script reports an error, every client of the population fills in its row of the results table, and
//! every row it inserted is there. The times are told, not judged.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::server::{Server, scratch};
use crate::sql::{Sql, finish, finish_all};
use crate::test::Tally;

/// How much of everything.
struct Scale {
    /// Rows of one population, over all clients.
    rows: u64,
    clients: &'static [u64],
    /// Rows of a transaction of the batched population.
    batch: u64,
    /// 4b is a million inserts as it stands.
    million: bool,
}

const FULL: Scale = Scale {
    rows: 100_000,
    clients: &[1, 16, 64],
    batch: 10,
    million: true,
};

const SMALL: Scale = Scale {
    rows: 1_600,
    clients: &[1, 16],
    batch: 10,
    million: false,
};

const SCRIPTS: [&str; 6] = [
    "2a-populate-create.sql",
    "2b-populate-single.sql",
    "2c-populate-batched.sql",
    "2d-log-of-one-insert.sql",
    "4a-durability-create.sql",
    "4b-durability-million-inserts.sql",
];

/// One line of the closing table.
struct Line {
    what: String,
    rows: u64,
    seconds: f64,
}

/// `cargo xtask sources`; `built`: with the release binary that is there.
pub fn run(built: bool) -> ExitCode {
    let scripts = match find() {
        Ok(dir) => dir,
        Err(why) => {
            println!("skipped: {why}");
            return ExitCode::SUCCESS;
        }
    };
    let build = || {
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--release"])
            .current_dir(crate::root())
            .status()
            .is_ok_and(|s| s.success())
    };
    if !built && !build() {
        println!("FAILED release build");
        return ExitCode::FAILURE;
    }
    match experiment(&scripts, &FULL) {
        Ok(lines) => {
            println!("| script | rows | seconds | rows/s |\n|---|---|---|---|");
            for l in lines {
                let rate = l.rows as f64 / l.seconds.max(1e-9);
                println!("| {} | {} | {:.2} | {rate:.0} |", l.what, l.rows, l.seconds);
            }
            ExitCode::SUCCESS
        }
        Err(e) => {
            println!("FAILED {e}");
            ExitCode::FAILURE
        }
    }
}

/// The small version, a step of the test command; the release binary is built.
pub fn small(tally: &mut Tally) {
    match find() {
        Ok(scripts) => {
            let result = experiment(&scripts, &SMALL);
            if let Err(e) = &result {
                println!("{e}");
            }
            tally.step("source scripts 2a to 2d and 4a, small", result.is_ok());
        }
        Err(why) => tally.skipped.push(format!("source scripts: {why}")),
    }
}

/// The directory of the scripts.
fn find() -> Result<PathBuf, String> {
    let Some(material) = std::env::var_os("DURAMEN_MATERIAL") else {
        return Err("DURAMEN_MATERIAL is not set".to_owned());
    };
    let mut level = vec![PathBuf::from(material)];
    for _ in 0..4 {
        if let Some(dir) = level
            .iter()
            .find(|d| SCRIPTS.iter().all(|s| d.join(s).is_file()))
        {
            return Ok(dir.clone());
        }
        let entries = level.iter().filter_map(|d| std::fs::read_dir(d).ok());
        level = entries
            .flatten()
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.is_dir())
            .collect();
        level.sort();
    }
    Err("the scripts are not below DURAMEN_MATERIAL".to_owned())
}

fn experiment(scripts: &Path, scale: &Scale) -> Result<Vec<Line>, String> {
    let dir = scratch("sources")?;
    let drive = |letter: char| format!("{letter}={}", dir.join(letter.to_string()).display());
    let server = Server::start_with(
        &dir.join("data"),
        &["--drive", &drive('D'), "--drive", &drive('L')],
    )?;
    let sql = Sql { port: server.port };
    let result = population(sql, scripts, scale).and_then(|mut lines| {
        lines.extend(durability(sql, scripts, scale)?);
        Ok(lines)
    });
    let stopped = server.stop();
    let _ = std::fs::remove_dir_all(dir);
    match result {
        Ok(_) if !stopped => Err("the server does not end cleanly".to_owned()),
        other => other,
    }
}

fn timed<T>(work: impl FnOnce() -> Result<T, String>) -> Result<(T, f64), String> {
    let start = Instant::now();
    let value = work()?;
    Ok((value, start.elapsed().as_secs_f64()))
}

/// 2a, then 2b and 2c with each number of clients, then 2d.
fn population(sql: Sql, scripts: &Path, scale: &Scale) -> Result<Vec<Line>, String> {
    let of = |e: String, what: &str| format!("{what}: {e}");
    let mut lines = Vec::new();
    let variables = [
        ("DATADIR", "D:".to_owned()),
        ("LOGDIR", "L:".to_owned()),
        ("DATASIZE", "256MB".to_owned()),
    ];
    let create = scripts.join(SCRIPTS[0]);
    let (_, seconds) = timed(|| finish(&mut sql.script("master", &create, &variables)))
        .map_err(|e| of(e, SCRIPTS[0]))?;
    lines.push(line("2a".to_owned(), 0, seconds));
    let mut results = 0;
    for (script, name) in [(SCRIPTS[1], "2b"), (SCRIPTS[2], "2c")] {
        for clients in scale.clients {
            let what = format!("{name}, {clients} clients");
            sql.query("BackupPerfTest", "TRUNCATE TABLE MyBigTable")?;
            let file = scripts.join(script);
            let each = split(scale.rows, *clients);
            let commands = each
                .iter()
                .map(|rows| {
                    let rows = ("rows", rows.to_string());
                    let batch = ("batch", scale.batch.to_string());
                    sql.script("BackupPerfTest", &file, &[rows, batch])
                })
                .collect();
            let ((), seconds) =
                timed(|| finish_all(commands).map(|_| ())).map_err(|e| of(e, &what))?;
            let expected: u64 = match name {
                "2c" => each.iter().map(|r| r.next_multiple_of(scale.batch)).sum(),
                _ => scale.rows,
            };
            let rows = sql.number("BackupPerfTest", "SELECT COUNT(*) FROM MyBigTable")?;
            results += clients;
            let counted = sql.number("msdb", "SELECT COUNT(*) FROM dbo.Results")?;
            if (rows, counted) != (expected, results) {
                return Err(format!(
                    "{what}: {rows} rows of {expected}, {counted} results of {results}"
                ));
            }
            lines.push(line(what, rows, seconds));
        }
    }
    let (_, seconds) = timed(|| {
        finish(&mut sql.script("BackupPerfTest", &scripts.join(SCRIPTS[3]), &[]))
            .map_err(|e| of(e, SCRIPTS[3]))
    })?;
    lines.push(line("2d".to_owned(), 1, seconds));
    Ok(lines)
}

/// The rows of each of `clients`, together `rows`.
fn split(rows: u64, clients: u64) -> Vec<u64> {
    (0..clients)
        .map(|i| rows / clients + u64::from(i < rows % clients))
        .collect()
}

/// 4a and 4b.
fn durability(sql: Sql, scripts: &Path, scale: &Scale) -> Result<Vec<Line>, String> {
    let variables = [("DATADIR", "D:".to_owned())];
    let mut lines = Vec::new();
    let ((), seconds) = timed(|| {
        finish(&mut sql.script("master", &scripts.join(SCRIPTS[4]), &variables)).map(|_| ())
    })
    .map_err(|e| format!("{}: {e}", SCRIPTS[4]))?;
    lines.push(line("4a".to_owned(), 0, seconds));
    if scale.million {
        let file = scripts.join(SCRIPTS[5]);
        let (_, seconds) = timed(|| finish(&mut sql.script("master", &file, &[])))
            .map_err(|e| format!("{}: {e}", SCRIPTS[5]))?;
        let rows = sql.number("DelayedDurability", "SELECT COUNT(*) FROM tblData")?;
        if rows != 1_000_000 {
            return Err(format!("4b: {rows} rows of 1000000"));
        }
        lines.push(line("4b".to_owned(), rows, seconds));
    }
    Ok(lines)
}

fn line(what: String, rows: u64, seconds: f64) -> Line {
    Line {
        what,
        rows,
        seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn rows_are_split_without_loss() {
        assert_eq!(split(100_000, 64).iter().sum::<u64>(), 100_000);
        assert_eq!(split(5, 3), [2, 2, 1]);
    }
}
