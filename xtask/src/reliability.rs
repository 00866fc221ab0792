//! `docs/reference/reliability.md`, generated from the rows of `docs/reference/reliability.tsv`: `cargo xtask reliability`.
//!
//! A row is what was counted, how much, by which command, at which commit, on which day. Runs put their own rows there
//! (`--record on`, [`crate::record`]); nobody types one.

mod wanted;

#[cfg(test)]
mod tests;

use std::fs;
use std::process::ExitCode;

use crate::root;

pub use wanted::{ASSERTIONS, INVARIANTS, PLANTED_SEEDS, PLANTED_TESTS};

pub const ROWS: &str = "docs/reference/reliability.tsv";
pub const PAGE: &str = "docs/reference/reliability.md";
const HEAD: &str = "what\tfigure\tcommand\tcommit\tdate";

/// A line of the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub what: String,
    pub figure: String,
    pub command: String,
    pub commit: String,
    pub date: String,
}

impl Row {
    /// In the order of the file's columns.
    fn fields(&self) -> [&str; 5] {
        [
            &self.what,
            &self.figure,
            &self.command,
            &self.commit,
            &self.date,
        ]
    }
}

/// Writes the page.
pub fn run() -> ExitCode {
    match read().and_then(|rows| write(PAGE, &page(&rows, &wanted::wanted()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// Puts rows in the place of those that are called the same, in the order of the page, and writes file and page.
pub fn put(new: Vec<Row>) -> Result<(), String> {
    let wanted = wanted::wanted();
    if let Some(row) = new.iter().find(|row| !wanted.contains(&row.what)) {
        return Err(format!("the page has no row '{}'", row.what));
    }
    let rows = replaced(read()?, new, &wanted);
    // What cannot be read again is not written.
    let text = lines(&rows);
    parse(&text)?;
    write(ROWS, &text)?;
    write(PAGE, &page(&rows, &wanted))
}

fn replaced(mut rows: Vec<Row>, new: Vec<Row>, order: &[String]) -> Vec<Row> {
    rows.retain(|old| new.iter().all(|row| row.what != old.what));
    rows.extend(new);
    let place = |row: &Row| order.iter().position(|what| *what == row.what);
    rows.sort_by_key(|row| place(row).unwrap_or(usize::MAX));
    rows
}

/// The rows that are there.
pub fn read() -> Result<Vec<Row>, String> {
    let text = fs::read_to_string(root().join(ROWS)).map_err(|e| format!("{ROWS}: {e}"))?;
    parse(&text)
}

fn write(path: &str, text: &str) -> Result<(), String> {
    fs::write(root().join(path), text).map_err(|e| format!("{path}: {e}"))
}

/// The rows of a file; an error names the line that is none.
fn parse(text: &str) -> Result<Vec<Row>, String> {
    let row = |(n, line): (usize, &str)| {
        let words: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [what, figure, command, commit, date] = words[..] else {
            let fields = words.len();
            return Err(format!("{ROWS}, line {}: five fields, not {fields}", n + 1));
        };
        if words.iter().any(|w| w.is_empty() || w.contains('|')) {
            return Err(format!(
                "{ROWS}, line {}: an empty field, or a bar in one",
                n + 1
            ));
        }
        Ok(Row {
            what: what.to_owned(),
            figure: figure.to_owned(),
            command: command.to_owned(),
            commit: commit.to_owned(),
            date: date.to_owned(),
        })
    };
    text.lines().enumerate().skip(1).map(row).collect()
}

fn lines(rows: &[Row]) -> String {
    let mut text = format!("{HEAD}\n");
    for row in rows {
        text.push_str(&format!("{}\n", row.fields().join("\t")));
    }
    text
}

/// The page of these rows, and of those that are wanted and not there.
fn page(rows: &[Row], wanted: &[String]) -> String {
    let mut page = String::from(
        "# Reliability\n\nWhat was run to find bugs, and how much of it. Each row is written by its own command with `--record \
         on`, at the commit that it names,\ninto `reliability.tsv`, of which `cargo xtask reliability` makes this page; \
         [planted.md](planted.md) lists the bugs planted to\nshow that these would find them.\n\n\
         | what | figure | command | commit | date |\n|---|---:|---|---|---|\n",
    );
    for row in rows {
        let [what, figure, command, commit, date] = row.fields();
        page.push_str(&format!(
            "| {what} | {figure} | `{command}` | {commit} | {date} |\n"
        ));
    }
    let there = |what: &String| rows.iter().any(|row| row.what == *what);
    let missing: Vec<&String> = wanted.iter().filter(|what| !there(what)).collect();
    if !missing.is_empty() {
        page.push_str("\nNot recorded yet:\n\n");
        for what in missing {
            page.push_str(&format!("- {what}\n"));
        }
    }
    page
}
