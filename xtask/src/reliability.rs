//! `docs/reference/reliability.md`, generated from the rows of `docs/reference/reliability.tsv`: `cargo xtask reliability`.
//!
//! A row is what was counted, how much, by which command, at which commit, on which day. Whoever runs the proof adds or
//! replaces rows; the page is never written by hand.

use std::fs;
use std::process::ExitCode;

use crate::root;

const ROWS: &str = "docs/reference/reliability.tsv";
const PAGE: &str = "docs/reference/reliability.md";

/// Writes the page.
pub fn run() -> ExitCode {
    let rows = fs::read_to_string(root().join(ROWS)).map_err(|e| e.to_string());
    let written = rows
        .and_then(|rows| page(&rows))
        .and_then(|page| fs::write(root().join(PAGE), page).map_err(|e| e.to_string()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// The page of these rows; an error names the row that is none.
fn page(rows: &str) -> Result<String, String> {
    let mut page = String::from(
        "# Reliability\n\nWhat was run to find bugs, and how much of it. Made from `reliability.tsv` by `cargo xtask \
         reliability`; [planted.md](planted.md)\nlists the bugs planted to show that these would find them.\n\n\
         | what | figure | command | commit | date |\n|---|---:|---|---|---|\n",
    );
    for (n, line) in rows.lines().enumerate().skip(1) {
        let words: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [what, figure, command, commit, date] = words[..] else {
            return Err(format!(
                "{ROWS}, line {}: five fields, not {}",
                n + 1,
                words.len()
            ));
        };
        if words.iter().any(|w| w.is_empty() || w.contains('|')) {
            return Err(format!(
                "{ROWS}, line {}: an empty field, or a bar in one",
                n + 1
            ));
        }
        page.push_str(&format!(
            "| {what} | {figure} | `{command}` | {commit} | {date} |\n"
        ));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_that_of_the_rows() {
        let read = |p: &str| fs::read_to_string(root().join(p)).unwrap();
        assert_eq!(
            read(PAGE),
            page(&read(ROWS)).unwrap(),
            "run: cargo xtask reliability"
        );
    }

    #[test]
    fn a_row_has_five_fields() {
        assert!(
            page("head\na\tb\tc\td\te\n").is_ok_and(|p| p.ends_with("| a | b | `c` | d | e |\n"))
        );
        assert!(page("head\na\tb\tc\td\n").is_err());
        assert!(page("head\na\tb\tc\td\t\n").is_err());
    }
}
