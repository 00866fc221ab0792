//! What the catalog keeps of an expression means what was written: every function's example, and the forms of expressions,
//! as defaults and computed columns, which are parsed again from the kept text whenever a row goes in or comes out.

use crate::{Alone, alone, run};

/// Forms that no function's example has.
const FORMS: &[&str] = &[
    "CASE WHEN 1 < 2 THEN 'a' ELSE 'b' END",
    "CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END",
    "CASE WHEN 'x' LIKE 'a[_]%' ESCAPE '!' OR NOT ('b' IN ('b', 'c')) THEN 1 ELSE 0 END",
    "CASE WHEN 3 BETWEEN 1 AND 5 AND 3 NOT BETWEEN 7 AND 8 THEN 1 END",
    "CASE WHEN NULL IS NULL AND 1 IS NOT NULL THEN 1 END",
    "CASE WHEN 1 NOT IN (2, 3) AND 'a' NOT LIKE 'b%' THEN 1 END",
    "CAST('2024-02-29' AS date)",
    "CAST(1.5 AS decimal(10, 3))",
    "CONVERT(varchar(10), CAST('2024-02-29' AS datetime), 112)",
    "TRY_CAST('x' AS int)",
    "TRY_CONVERT(int, '7')",
    "PARSE('1,5' AS decimal(9, 2) USING 'de-DE')",
    "CAST('a' AS varchar(max)) + 'b'",
    "'It''s' + N'ünï'",
    "'a' COLLATE Latin1_General_BIN",
    "-5 + +3 - (2 - 1) * 4 / 2 % 3",
    "1 - (2 - 3)",
    "~1 & 7 | 8 ^ 2",
    "-(-5)",
    "0x0F + 1",
    "1e3 * 2.50",
    "$12.50",
    "NULL",
    "(SYSTEM_USER)",
    "CURRENT_USER + SESSION_USER + USER",
    "{fn UCASE('abc')}",
    "{d '2024-02-29'}",
    "{ts '2024-02-29 01:02:03'}",
    "DATEDIFF(dd, '2024-02-28', '2024-03-01')",
    "IIF('a' = 'A', 1, 0)",
    "ISNULL(NULLIF('a', 'b'), 'c')",
    "LEFT('abc', 2) + RIGHT('abc', 1)",
    "CHECKSUM('a', 1)",
];

/// Functions that mean something of their own where they are kept, or tell of the statement that asks.
const OTHERWISE: &[&str] = &["NEWSEQUENTIALID", "ROWCOUNT_BIG"];

fn wrong(lines: &[String]) -> Option<&String> {
    lines.iter().find(|l| l.starts_with("Msg "))
}

/// The value of a query of one row, or its error.
fn value(s: &mut Alone, sql: &str) -> String {
    let lines = run(s, sql);
    let found = wrong(&lines).or(lines.get(1)).cloned();
    found.unwrap_or_default()
}

/// What is wrong with a column that keeps the expression; `None` where its definition was refused.
fn kept(s: &mut Alone, expression: &str, column: &str) -> Option<String> {
    let create = format!("CREATE TABLE k (a int, {column})");
    if wrong(&run(s, &create)).is_some() {
        return None;
    }
    let went = run(s, "INSERT k (a) VALUES (1)");
    // What a variant cannot hold says so.
    let unfit = went.iter().any(|l| l.contains("sql_variant"));
    let text = |value: &str| format!("SELECT CAST(({value}) AS nvarchar(200))");
    let reported = match wrong(&went) {
        _ if unfit => String::new(),
        Some(error) => format!("{create}: {error}\n"),
        None => {
            let direct = value(s, &text(expression));
            let stored = value(s, &format!("{} FROM k", text("b")));
            match stored == direct || direct.starts_with("Msg ") {
                true => String::new(),
                false => format!("{create}: {stored}, not {direct}\n"),
            }
        }
    };
    assert!(wrong(&run(s, "DROP TABLE k")).is_none());
    Some(reported)
}

#[test]
fn what_is_kept_means_what_was_written() {
    let mut s = alone();
    let examples = duramen_inspect::reference::functions().map(|f| f.doc);
    let examples = examples.filter(|d| !OTHERWISE.contains(&d.name.to_uppercase().as_str()));
    let examples = examples.map(|d| d.example);
    let plain = examples.filter(|e| !e.is_empty() && !e.contains(" FROM "));
    let (mut count, mut reported) = (0, String::new());
    for expression in plain.chain(FORMS.iter().copied()) {
        let columns = [
            format!("b AS ({expression})"),
            format!("b sql_variant DEFAULT ({expression})"),
        ];
        for column in columns {
            if let Some(found) = kept(&mut s, expression, &column) {
                count += 1;
                reported += &found;
            }
        }
    }
    assert!(reported.is_empty(), "{reported}");
    assert!(count > 250, "only {count} were taken at all");
}
