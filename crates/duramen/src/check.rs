//! `duramen check DIR`: are the files of a stopped server whole?
//!
//! Data and log files are checked by [`duramen_check`], page by page and block by block; then, for databases
//! that fit in memory, the catalog is read and every row of every table decoded. Nothing is written. A server that died
//! leaves pages that recovery repairs at the next start: that is said, not hidden.

use std::path::Path;

use duramen_check::{FileReport, check_directory};
use duramen_format::foreign::ForeignDatabase;
use duramen_os::{Env, IoError, OpenOptions};

const USAGE: &str = "\
usage: duramen check DIR

Checks the data and log files (*.mdf, *.ndf, *.ldf) in DIR and below. The server must be stopped.
Exit code 0: whole; 1: damage found; 2: could not check.
";
/// Larger files have their pages checked, not their rows.
const MAX_DECODED_BYTES: u64 = 1 << 30;
/// So many findings of a file are named; all are counted.
const NAMED: usize = 50;

/// The exit code.
pub fn run(args: &[String]) -> u8 {
    let [dir] = args else {
        eprint!("{USAGE}");
        return 2;
    };
    if matches!(dir.as_str(), "--help" | "-h") {
        print!("{USAGE}");
        return 0;
    }
    let env = Env::real();
    let dir = Path::new(dir);
    let reports = match check_directory(&*env.disk, dir) {
        Ok(reports) if !reports.is_empty() => reports,
        Ok(_) => {
            eprintln!("duramen: no data or log files in {}", dir.display());
            return 2;
        }
        Err(error) => {
            eprintln!("duramen: {}: {error}", dir.display());
            return 2;
        }
    };
    let mut clean = true;
    for report in &reports {
        let rows = Rows::of(&env, report);
        clean &= report.is_clean() && rows.as_ref().is_none_or(|r| r.failed.is_empty());
        print!("{}", render(report, rows.as_ref()));
    }
    if !clean {
        println!("after a crash, the next start repairs pages that were being written");
    }
    u8::from(!clean)
}

fn render(report: &FileReport, rows: Option<&Rows>) -> String {
    let mut out = format!("{}: ", report.path.display());
    let mut said: Vec<String> = Vec::new();
    if !report.summary.is_empty() {
        said.push(report.summary.clone());
    }
    if let Some(rows) = rows {
        said.push(format!("{} tables, {} rows read", rows.tables, rows.rows));
    }
    let failed = rows.map_or(&[][..], |r| &r.failed);
    let count = report.findings.len() + report.more_findings + failed.len();
    match count {
        0 if !report.checked => {}
        0 => said.push("clean".to_owned()),
        n => said.push(format!("{n} findings")),
    }
    out += &said.join("; ");
    out.push('\n');
    for note in &report.notes {
        out += &format!("  note: {note}\n");
    }
    let lines = report
        .findings
        .iter()
        .map(|f| format!("{}: {}", f.number, f.text));
    for line in lines.chain(failed.iter().cloned()).take(NAMED) {
        out += &format!("  {line}\n");
    }
    if count > NAMED {
        out += &format!("  and {} more\n", count - NAMED);
    }
    out
}

/// What reading the tables of a primary data file gave.
#[derive(Debug, Default)]
struct Rows {
    tables: usize,
    rows: usize,
    failed: Vec<String>,
}

impl Rows {
    /// Only of files whose pages are sound: what is wrong there would be said twice.
    fn of(env: &Env, report: &FileReport) -> Option<Rows> {
        let primary = report.path.extension()?.eq_ignore_ascii_case("mdf");
        if !primary || !report.checked || !report.is_clean() {
            return None;
        }
        let mut out = Rows::default();
        match bytes(env, &report.path) {
            Ok(bytes) => out.read(&bytes?),
            Err(error) => out.failed.push(error.to_string()),
        }
        Some(out)
    }

    fn read(&mut self, bytes: &[u8]) {
        let database = match ForeignDatabase::from_mdf(bytes) {
            Ok(database) => database,
            Err(error) => {
                let text = format!("the catalog cannot be read: {}", error.message);
                self.failed.push(text);
                return;
            }
        };
        for table in database.user_tables() {
            match database.table_rows(table.id) {
                Ok(rows) => {
                    self.tables += 1;
                    self.rows += rows.len();
                }
                Err(error) => {
                    let text = format!("table {}: {}", table.name, error.message);
                    self.failed.push(text);
                }
            }
        }
    }
}

fn bytes(env: &Env, path: &Path) -> Result<Option<Vec<u8>>, IoError> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path, &options)?;
    let len = file.len()?;
    if len > MAX_DECODED_BYTES {
        return Ok(None);
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
