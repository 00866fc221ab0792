//! What the drivers' programs say, case by case: read from their lines, held against the list of cases, shown as a table.
//!
//! A case that a driver does not mention has failed: programs cannot forget one. A case of `not-yet.txt` may fail, and
//! must: when it passes, its line has to go.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How a case of a driver ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// The driver cannot do it; why.
    Skipped(String),
    Failed(String),
    /// Failed, and known to.
    NotYet(String),
}

/// The cases of `cases.md`: every table row that begins with a name that holds a dot.
pub fn cases(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| name.contains('.') && !name.ends_with('.'))
        .map(str::to_owned)
        .collect()
}

/// The pairs of driver (`*` is every one) and case that are known to fail.
pub fn not_yet(text: &str) -> BTreeSet<(String, String)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        })
        .collect()
}

/// The outcome of each case of a driver, from what its program printed.
pub fn outcomes(
    driver: &str,
    printed: &str,
    cases: &[String],
    not_yet: &BTreeSet<(String, String)>,
) -> BTreeMap<String, Outcome> {
    let mut said = BTreeMap::new();
    for line in printed.lines() {
        let (make, rest): (fn(String) -> Outcome, _) = if let Some(rest) = line.strip_prefix("ok ")
        {
            (|_| Outcome::Passed, rest)
        } else if let Some(rest) = line.strip_prefix("not ok ") {
            (Outcome::Failed, rest)
        } else if let Some(rest) = line.strip_prefix("skip ") {
            (Outcome::Skipped, rest)
        } else {
            continue;
        };
        let (name, why) = rest.split_once(": ").unwrap_or((rest, ""));
        said.insert(name.to_owned(), make(why.to_owned()));
    }
    let mut all = BTreeMap::new();
    for case in cases {
        let known = [driver, "*"]
            .iter()
            .any(|d| not_yet.contains(&((*d).to_owned(), case.clone())));
        let outcome = match said.remove(case) {
            None => Outcome::Failed("the program says nothing of it".to_owned()),
            Some(Outcome::Failed(why)) if known => Outcome::NotYet(why),
            Some(Outcome::Passed) if known => {
                Outcome::Failed("passes, but not-yet.txt says it does not".to_owned())
            }
            Some(outcome) => outcome,
        };
        all.insert(case.clone(), outcome);
    }
    for case in said.into_keys() {
        all.insert(case, Outcome::Failed("is not in cases.md".to_owned()));
    }
    all
}

/// Drivers across, cases down: `ok`, `-` for what a driver cannot, `not yet`, `FAILED`.
pub fn table(cases: &[String], drivers: &[(String, BTreeMap<String, Outcome>)]) -> String {
    let width = cases.iter().map(String::len).max().unwrap_or(0);
    let mut text = format!("{:width$}", "");
    for (name, _) in drivers {
        text.push_str(&format!("  {name}"));
    }
    text.push('\n');
    for case in cases {
        text.push_str(&format!("{case:width$}"));
        for (name, outcomes) in drivers {
            let cell = match outcomes.get(case) {
                Some(Outcome::Passed) => "ok",
                Some(Outcome::Skipped(_)) => "-",
                Some(Outcome::NotYet(_)) => "not yet",
                Some(Outcome::Failed(_)) | None => "FAILED",
            };
            text.push_str(&format!("  {cell:w$}", w = name.len()));
        }
        text = text.trim_end().to_owned();
        text.push('\n');
    }
    text
}

/// A file of `tests/clients`.
pub fn read(dir: &Path, name: &str) -> Result<String, String> {
    std::fs::read_to_string(dir.join(name)).map_err(|e| format!("{name}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::{Outcome, cases, not_yet, outcomes, table};

    #[test]
    fn cases_are_the_rows_of_the_tables() {
        let text =
            "# What\n\n| case | shows |\n|---|---|\n| types.bit | 0, 1 |\n| error.goes-on | x |\n";
        assert_eq!(cases(text), ["types.bit", "error.goes-on"]);
    }

    #[test]
    fn a_case_that_is_not_mentioned_has_failed() {
        let cases = ["a.b", "a.c", "a.d", "a.e"].map(str::to_owned);
        let known = not_yet("# why\npytds a.c\n* a.d\n");
        let printed = "ok a.b\nnot ok a.c: no: really\nok a.d\nnoise\n";
        let got = outcomes("pytds", printed, &cases, &known);
        assert_eq!(got["a.b"], Outcome::Passed);
        assert_eq!(got["a.c"], Outcome::NotYet("no: really".to_owned()));
        assert!(
            matches!(got["a.d"], Outcome::Failed(_)),
            "passes although listed"
        );
        assert!(matches!(got["a.e"], Outcome::Failed(_)), "not mentioned");
        let text = table(&cases, &[("pytds".to_owned(), got)]);
        assert_eq!(
            text,
            "     pytds\na.b  ok\na.c  not yet\na.d  FAILED\na.e  FAILED\n"
        );
    }
}
