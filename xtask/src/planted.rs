//! `docs/reference/planted.md`: the bugs planted on purpose, and by what each was found, as `cargo xtask sim --planted` saw it.

use std::fs;

use crate::record::Figure;
use crate::reliability::{PLANTED_SEEDS, PLANTED_TESTS};
use crate::root;

pub const PAGE: &str = "docs/reference/planted.md";

/// Where bugs are declared.
const SOURCES: [&str; 2] = ["crates/base/src/planted.rs", "crates/wal/src/planted.rs"];

/// A bug that was found: its name, by what, and after how many milliseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub bug: String,
    pub by: String,
    pub millis: u64,
}

/// What a test says of a bug that it has found.
pub fn row(line: &str) -> Option<Row> {
    // The first may stand behind the name of its test.
    let mut words = line.split_once("planted\t")?.1.split('\t');
    Some(Row {
        bug: words.next()?.to_owned(),
        by: words.next()?.to_owned(),
        millis: words.next()?.trim().parse().ok()?,
    })
}

/// What a bug breaks, as the place says that declares it.
fn meaning(source: &str, bug: &str) -> Option<String> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let at = lines.iter().position(|l| {
        let name = l.trim_end_matches(',');
        name.split(' ').next() == Some(bug) && l.ends_with(',')
    })?;
    let said = lines[..at]
        .iter()
        .rev()
        .map_while(|l| l.strip_prefix("/// "));
    let mut said: Vec<&str> = said.collect();
    said.reverse();
    Some(said.join(" "))
}

/// The bugs that a source declares: what its enumeration of that name has.
#[cfg(test)]
fn declared(source: &str) -> Vec<&str> {
    let body = source.split("enum Bug {").nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    let names = body.lines().map(str::trim).filter(|l| l.ends_with(','));
    let bugs = names.filter(|l| !l.starts_with('/'));
    bugs.filter_map(|l| l.split([' ', ',']).next()).collect()
}

/// The rows of the page as it is.
pub fn known(page: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let (bug, _, by) = (cells.next()?, cells.next()?, cells.next()?);
        Some(Row {
            bug: bug.to_owned(),
            by: by.to_owned(),
            millis: cells.next()?.parse().ok()?,
        })
    };
    page.lines().filter_map(row).collect()
}

/// What rows come to: how many bugs tests of their rooms have found and how many seeds, and how long the slowest took.
pub fn figures(rows: &[Row]) -> [Figure; 2] {
    let by_seed = |row: &&Row| row.by.starts_with("sim ");
    let (seeds, tests): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(by_seed);
    [(PLANTED_TESTS, tests), (PLANTED_SEEDS, seeds)].map(|(what, rows)| {
        let slowest = rows.iter().map(|row| row.millis).max().unwrap_or(0);
        Figure {
            what: what.to_owned(),
            figure: format!(
                "{}, each within {} s",
                rows.len(),
                slowest.div_ceil(1000).max(1)
            ),
            command: None,
        }
    })
}

/// Puts what runs of single rooms have printed, each kept in a file, into the page; rows of other bugs stay.
pub fn take(files: &[&str]) -> bool {
    let mut rows: Vec<Row> = Vec::new();
    for file in files {
        match fs::read_to_string(file) {
            Ok(said) => rows.extend(said.lines().filter_map(row)),
            Err(e) => {
                eprintln!("{file}: {e}");
                return false;
            }
        }
    }
    let page = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    let others = known(&page);
    let others = others.into_iter();
    let stay: Vec<Row> = others
        .filter(|k| rows.iter().all(|r| r.bug != k.bug))
        .collect();
    rows.extend(stay);
    write(&rows)
}

/// Writes the page; false when it cannot be written, or a bug is no bug of ours.
pub fn write(rows: &[Row]) -> bool {
    let sources = SOURCES.map(|p| fs::read_to_string(root().join(p)).unwrap_or_default());
    let mut page = String::from(
        "# Planted bugs\n\nBugs that are planted on purpose, to show that what looks for bugs finds them. Written by \
         `cargo xtask sim --planted`,\nwhich plants each and runs what finds it; all of it is compiled out of every other \
         build.\n\n| bug | what it breaks | found by | ms |\n|---|---|---|---|\n",
    );
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.bug.cmp(&b.bug));
    for row in &rows {
        let Some(meaning) = sources.iter().find_map(|s| meaning(s, &row.bug)) else {
            eprintln!("{} is no bug that is declared", row.bug);
            return false;
        };
        page.push_str(&format!(
            "| {} | {meaning} | {} | {} |\n",
            row.bug, row.by, row.millis
        ));
    }
    let path = root().join(PAGE);
    fs::write(&path, page)
        .map_err(|e| eprintln!("{}: {e}", path.display()))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_say_is_read() {
        let found = row("planted\tGateOpen\tgate: agrees_with_the_model\t12").unwrap();
        assert_eq!((found.bug.as_str(), found.millis), ("GateOpen", 12));
        let first = "test tests_that_planted_bugs_spoil ... planted\tGateOpen\tgate: agrees_with_the_model\t12\n";
        assert_eq!(row(first), Some(found.clone()));
        assert_eq!(row("planted"), None);
        let page = "| bug | what it breaks | found by | ms |\n|---|---|---|---|\n| GateOpen | x. | gate: agrees_with_the_model | 12 |\n";
        assert_eq!(known(page), [found]);
        let source = "    /// `txn`: packets leave\n    /// too early.\n    GateOpen,\n";
        assert_eq!(
            meaning(source, "GateOpen").unwrap(),
            "`txn`: packets leave too early."
        );
    }

    #[test]
    fn seeds_and_tests_are_counted_apart() {
        let found = |by: &str, millis| Row {
            bug: "GateOpen".to_owned(),
            by: by.to_owned(),
            millis,
        };
        let rows = [
            found("sim Mixed, seed 1", 1001),
            found("sim --story sql, seed 1", 20),
            found("gate: agrees_with_the_model", 0),
        ];
        let figures = figures(&rows).map(|one| one.figure);
        assert_eq!(figures, ["1, each within 1 s", "2, each within 2 s"]);
    }

    /// Every bug that is declared has a row in the page: those of the whole, and those of a log alone.
    #[test]
    fn every_planted_bug_is_in_the_page() {
        let page = fs::read_to_string(root().join(PAGE)).unwrap();
        for source in SOURCES {
            let source = fs::read_to_string(root().join(source)).unwrap();
            let bugs = declared(&source);
            assert!(bugs.len() >= 11, "{} bugs", bugs.len());
            for bug in bugs {
                assert!(
                    page.contains(&format!("| {bug} |")),
                    "{bug} is not in the page"
                );
            }
        }
    }
}
