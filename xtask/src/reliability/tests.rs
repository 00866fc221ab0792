//! The page is true: of its rows, with what is missing, and of one mind with the page of planted bugs.

use super::*;
use crate::planted;

fn row(what: &str, commit: &str) -> Row {
    Row {
        what: what.to_owned(),
        figure: "1 crashes, 0 failed".to_owned(),
        command: "cargo xtask sim".to_owned(),
        commit: commit.to_owned(),
        date: "2026-11-27".to_owned(),
    }
}

/// What is there and not wanted, and what is there twice.
fn strange(rows: &[Row], wanted: &[String]) -> Vec<String> {
    let times = |what: &str| rows.iter().filter(|row| row.what == what).count();
    let mut wrong = Vec::new();
    for row in rows {
        if !wanted.contains(&row.what) {
            wrong.push(format!("nobody records '{}'", row.what));
        } else if times(&row.what) > 1 {
            wrong.push(format!("'{}' is there twice", row.what));
        }
    }
    wrong
}

/// Rows that say of planted bugs something else than their page.
fn unlike_planted(rows: &[Row], page: &str) -> Vec<String> {
    let figures = planted::figures(&planted::known(page));
    let said = |what: &str| rows.iter().find(|row| row.what == what);
    let wrong = figures.iter().filter_map(|one| {
        let said = &said(&one.what)?.figure;
        (*said != one.figure).then(|| {
            format!(
                "{}: '{said}', and '{}' by {}",
                one.what,
                one.figure,
                planted::PAGE
            )
        })
    });
    wrong.collect()
}

#[test]
fn the_page_is_that_of_the_rows() {
    let written = fs::read_to_string(root().join(PAGE)).unwrap();
    // Both are too long to be shown.
    assert!(
        written == page(&read().unwrap(), &wanted::wanted()),
        "run: cargo xtask reliability"
    );
}

#[test]
fn every_row_is_one_that_a_command_records() {
    let wrong = strange(&read().unwrap(), &wanted::wanted());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_recorded_yet_is_told() {
    let wanted = ["a".to_owned(), "b".to_owned()];
    let all = [row("a", "1"), row("b", "1")];
    assert!(!page(&all, &wanted).contains("Not recorded"));
    assert!(page(&all[..1], &wanted).ends_with("\nNot recorded yet:\n\n- b\n"));
}

#[test]
fn rows_agree_with_the_page_of_planted_bugs() {
    let planted = fs::read_to_string(root().join(planted::PAGE)).unwrap();
    let wrong = unlike_planted(&read().unwrap(), &planted);
    assert!(
        wrong.is_empty(),
        "run: cargo xtask sim --planted --record on\n{}",
        wrong.join("\n")
    );
}

/// A judge that found something is no proof.
#[test]
fn no_level_has_shown_what_it_forbids() {
    for row in read()
        .unwrap()
        .iter()
        .filter(|row| row.what.starts_with("isolation: "))
    {
        assert!(
            row.figure.ends_with("; forbidden: 0"),
            "{}: {}",
            row.what,
            row.figure
        );
    }
}

/// A minute is no figure in hours.
#[test]
fn each_target_was_fuzzed_for_some_time() {
    for row in read()
        .unwrap()
        .iter()
        .filter(|row| row.what.starts_with("hours fuzzed: "))
    {
        let hours = row
            .figure
            .split_once(" hours, ")
            .map(|(hours, _)| hours.parse::<f64>());
        let long = matches!(hours, Some(Ok(hours)) if hours >= 0.1);
        assert!(long, "{}: {}", row.what, row.figure);
    }
}

#[test]
fn what_is_wrong_with_rows_is_seen() {
    let wanted = ["a".to_owned(), "b".to_owned()];
    assert!(strange(&[row("a", "1"), row("b", "1")], &wanted).is_empty());
    let typed = [row("a", "1"), row("b", "1"), row("by hand", "1")];
    assert_eq!(strange(&typed, &wanted), ["nobody records 'by hand'"]);
    let twice = [row("a", "1"), row("b", "1"), row("b", "2")];
    assert_eq!(strange(&twice, &wanted).len(), 2);

    let found = "| GateOpen | x. | gate: agrees_with_the_model | 12 |\n| GateShut | y. | sim Mixed, seed 1 | 900 |\n";
    let mut rows: Vec<Row> = Vec::new();
    for one in planted::figures(&planted::known(found)) {
        rows.push(Row {
            figure: one.figure,
            ..row(&one.what, "1")
        });
    }
    assert_eq!(rows.len(), 2);
    assert!(unlike_planted(&rows, found).is_empty());
    let one_less = found.lines().next().unwrap_or_default();
    assert_eq!(unlike_planted(&rows, one_less).len(), 1);
}

#[test]
fn a_recorded_row_takes_the_place_of_the_old_one() {
    let order = ["a", "b", "c"].map(str::to_owned);
    let rows = replaced(
        vec![row("b", "1"), row("c", "1")],
        vec![row("c", "2"), row("a", "2")],
        &order,
    );
    assert_eq!(rows, [row("a", "2"), row("b", "1"), row("c", "2")]);
    assert_eq!(parse(&lines(&rows)), Ok(rows));
}

#[test]
fn a_row_has_five_fields() {
    let rows = parse("head\na\tb\tc\td\te\n").unwrap();
    assert!(page(&rows, &[]).ends_with("| a | b | `c` | d | e |\n"));
    assert!(parse("head\na\tb\tc\td\n").is_err());
    assert!(parse("head\na\tb\tc\td\t\n").is_err());
    assert!(parse("head\na\tb|\tc\td\te\n").is_err());
}
