//! Golden scripts: every `tests/golden/**/*.slt` runs over an instance of its own, and what it prints must be what
//! the script says.
//!
//! The results in a script are reasoned from the documentation page that its head names, never copied from a run: a
//! script that disagrees with the engine shows a bug in one of the two. `GOLDEN=update cargo test -p duramen-session
//! golden` writes what the engine answers into the scripts, for review with `git diff`; `GOLDEN=name` runs the scripts
//! whose path contains the name, `GOLDEN=update:name` writes those.
//!
//! A script is a list of records, separated by blank lines, in the form of sqllogictest; `#` starts a comment.
//!
//! ```text
//! batch                     one batch; after ---- everything a client hears, in order:
//! SELECT 7/2 AS q;            (q int)                 the columns of a result set, names and types
//! PRINT 'x'                   3                       a row, values joined by " | ", an empty text as (empty)
//! ----                        rows 1                  rows counted by the statement
//!                             print x                 PRINT and other messages without a number
//!                             Info 3621, ...          a message of severity 10 or less
//!                             Msg 8134, Level 16, State 1, [Procedure p, ]Line 1: text
//! statement ok              runs without an error
//! statement error 8134      the error's number, or a part of its text
//! query II [rowsort]        rows alone, values separated by a tab
//! connection b              goes on in the session b, which opens at its first use
//! connection b who secret   the same, opened anew for a login other than sa; then the database, if any
//! closed b                  ends a session
//! refused 18456 who secret  a login that is not let in; then the database, if any
//! ```

// The scripts are files of the repository; only the databases are on the simulated disk.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use duramen_access::cancel::CancelToken;
use duramen_base::SqlError;
use duramen_program::login::LoginRequest;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_session::Session;
use duramen_types::{ConvertCtx, SqlType, TypeId, Value, to_display};

#[test]
fn golden_scripts_say_what_they_promise() {
    let wish = std::env::var("GOLDEN").unwrap_or_default();
    let (update, only) = match wish.strip_prefix("update") {
        Some(rest) => (true, rest.trim_start_matches(':')),
        None => (false, wish.as_str()),
    };
    let mut files = Vec::new();
    collect(&root(), &mut files);
    files.sort();
    let mut differences = String::new();
    let mut records = 0;
    for file in files {
        let name = file
            .strip_prefix(root())
            .unwrap_or(&file)
            .display()
            .to_string();
        if !name.contains(only) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a script can be read");
        let script = parse(&text);
        let actual = run(&script);
        records += script.len();
        if update {
            std::fs::write(&file, rewrite(&text, &script, &actual)).expect("a script is written");
        } else {
            compare(&name, &script, &actual, &mut differences);
        }
    }
    assert!(records > 0, "no script is called like {wish}");
    assert!(differences.is_empty(), "\n{differences}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("tests/golden is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "slt") {
            out.push(path);
        }
    }
}

enum Kind {
    Batch,
    Ok,
    Error(String),
    Query {
        sorted: bool,
    },
    Connection(String),
    /// A session, login, password and database.
    Opened(String, [String; 3]),
    Closed(String),
    /// A number, login, password and database.
    Refused(String, [String; 3]),
}

struct Record {
    kind: Kind,
    /// 1-based line of the directive.
    line: usize,
    sql: String,
    expected: Vec<String>,
    /// Line indexes of the expected part, for rewriting.
    place: std::ops::Range<usize>,
    separator: bool,
}

impl Kind {
    /// A line by itself.
    fn is_bare(&self) -> bool {
        matches!(
            self,
            Kind::Connection(_) | Kind::Opened(..) | Kind::Closed(_) | Kind::Refused(..)
        )
    }
}

fn three(words: &[&str]) -> [String; 3] {
    [0, 1, 2].map(|i| words.get(i).copied().unwrap_or_default().to_owned())
}

fn parse(text: &str) -> Vec<Record> {
    let lines: Vec<&str> = text.lines().collect();
    let mut records = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let head = lines[at].trim();
        if head.is_empty() || head.starts_with('#') {
            at += 1;
            continue;
        }
        let line = at + 1;
        let words: Vec<&str> = head.split_whitespace().collect();
        let kind = match words.as_slice() {
            ["batch"] => Kind::Batch,
            ["statement", "ok"] => Kind::Ok,
            ["statement", "error", rest @ ..] => Kind::Error(rest.join(" ")),
            ["query", .., "rowsort"] => Kind::Query { sorted: true },
            ["query", ..] => Kind::Query { sorted: false },
            ["connection", name] => Kind::Connection((*name).to_owned()),
            ["connection", name, who @ ..] => Kind::Opened((*name).to_owned(), three(who)),
            ["closed", name] => Kind::Closed((*name).to_owned()),
            ["refused", number, who @ ..] => Kind::Refused((*number).to_owned(), three(who)),
            _ => panic!("line {line}: `{head}` is no directive"),
        };
        at += 1;
        let start = at;
        let with_result = matches!(kind, Kind::Batch | Kind::Query { .. });
        // A batch may hold blank lines: it ends at the separator.
        let ends = |l: &str| l == "----" || (!with_result && l.is_empty());
        while at < lines.len() && !ends(lines[at]) && !kind.is_bare() {
            at += 1;
        }
        let sql = lines[start..at].join("\n");
        let separator = lines.get(at) == Some(&"----");
        at += usize::from(separator);
        let begin = at;
        while separator && at < lines.len() && !lines[at].is_empty() {
            at += 1;
        }
        records.push(Record {
            kind,
            line,
            sql,
            expected: lines[begin..at].iter().map(|l| (*l).to_owned()).collect(),
            place: begin..at,
            separator,
        });
    }
    records
}

/// What each record really gave.
fn run(script: &[Record]) -> Vec<Vec<String>> {
    let instance = super::instance();
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let mut current = "main".to_owned();
    let mut all = Vec::new();
    for record in script {
        let request = |[user, password, database]: &[String; 3]| LoginRequest {
            user: user.clone(),
            password: password.clone(),
            database: database.clone(),
            ..LoginRequest::default()
        };
        match &record.kind {
            Kind::Connection(name) => {
                current = name.clone();
                all.push(Vec::new());
                continue;
            }
            Kind::Opened(name, who) => {
                sessions.remove(name);
                current = name.clone();
                let opened = duramen_session::login(&instance, &request(who));
                let refused = opened.as_ref().err().map(message);
                sessions.extend(opened.ok().map(|s| (name.clone(), s)));
                all.push(refused.into_iter().collect());
                continue;
            }
            Kind::Closed(name) => {
                sessions.remove(name);
                all.push(Vec::new());
                continue;
            }
            Kind::Refused(_, who) => {
                let refused = duramen_session::login(&instance, &request(who)).err();
                all.push(refused.as_ref().map(message).into_iter().collect());
                continue;
            }
            _ => {}
        }
        let session = sessions
            .entry(current.clone())
            .or_insert_with(|| super::login(&instance));
        let mut sink = Transcript {
            rows_only: matches!(record.kind, Kind::Query { .. }),
            ..Transcript::default()
        };
        session.execute_batch(&record.sql, &mut sink, &CancelToken::default());
        let mut lines = sink.lines;
        match &record.kind {
            Kind::Query { sorted: true } => lines.sort(),
            Kind::Ok | Kind::Error(_) => lines = sink.errors,
            _ => {}
        }
        all.push(lines);
    }
    all
}

fn compare(name: &str, script: &[Record], actual: &[Vec<String>], out: &mut String) {
    for (record, actual) in script.iter().zip(actual) {
        let wanted: Vec<String> = match &record.kind {
            Kind::Connection(_) | Kind::Closed(_) => continue,
            Kind::Opened(..) => Vec::new(),
            Kind::Refused(text, _) | Kind::Error(text) => {
                match actual.iter().any(|l| l.contains(text.as_str())) {
                    true => continue,
                    false => vec![format!("an error with `{text}`")],
                }
            }
            _ => record.expected.clone(),
        };
        if wanted == *actual {
            continue;
        }
        let _ = writeln!(out, "{name}:{}\n{}", record.line, indented(&record.sql));
        difference(&wanted, actual, out);
        let _ = writeln!(out);
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|l| format!("    {l}")).collect();
    lines.join("\n")
}

/// Lines that both have are shown once; `-` is what the script wants, `+` what came.
fn difference(wanted: &[String], actual: &[String], out: &mut String) {
    let same = |i: usize, j: usize| wanted[i] == actual[j];
    let (n, m) = (wanted.len(), actual.len());
    let mut longest = vec![vec![0u32; m + 1]; n + 1];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            longest[i][j] = match same(i, j) {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < n || j < m {
        if i < n && j < m && same(i, j) {
            let _ = writeln!(out, "      {}", wanted[i]);
            (i, j) = (i + 1, j + 1);
        } else if i < n && (j == m || longest[i + 1][j] >= longest[i][j + 1]) {
            let _ = writeln!(out, "    - {}", wanted[i]);
            i += 1;
        } else {
            let _ = writeln!(out, "    + {}", actual[j]);
            j += 1;
        }
    }
}

fn rewrite(text: &str, script: &[Record], actual: &[Vec<String>]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    for (record, actual) in script.iter().zip(actual) {
        let keeps = record.kind.is_bare() || matches!(record.kind, Kind::Ok | Kind::Error(_));
        out.extend(
            lines[at..record.place.start]
                .iter()
                .map(|l| (*l).to_owned()),
        );
        at = record.place.end;
        if keeps {
            out.extend(record.expected.iter().cloned());
            continue;
        }
        if !record.separator {
            out.push("----".to_owned());
        }
        out.extend(actual.iter().cloned());
    }
    out.extend(lines[at..].iter().map(|l| (*l).to_owned()));
    out.join("\n") + "\n"
}

#[derive(Default)]
struct Transcript {
    lines: Vec<String>,
    errors: Vec<String>,
    types: Vec<SqlType>,
    rows_only: bool,
}

impl Transcript {
    fn say(&mut self, line: String) {
        if !self.rows_only {
            self.lines.push(line);
        }
    }
}

impl ResultSink for Transcript {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.types = columns.iter().map(|c| c.ty).collect();
        let named = |c: &ColumnMeta| format!("{} {}", c.name, c.ty).trim().to_owned();
        let names: Vec<String> = columns.iter().map(named).collect();
        self.say(format!("({})", names.join(", ")));
    }

    fn row(&mut self, values: &[Value]) {
        let cell = |(v, t): (&Value, &SqlType)| match v {
            Value::Null => "NULL".to_owned(),
            v => match shown(v, t) {
                text if text.is_empty() => "(empty)".to_owned(),
                text if text.contains("<QueryTimeStats ") => without_times(&text),
                text => text,
            },
        };
        let cells: Vec<String> = values.iter().zip(&self.types).map(cell).collect();
        self.lines
            .push(cells.join(if self.rows_only { "\t" } else { " | " }));
    }

    fn done(&mut self, done: &Done) {
        if let Some(n) = done.rows {
            self.say(format!("rows {n}"));
        }
    }

    fn error(&mut self, e: &SqlError) {
        let line = format!("Msg {}, Level {}, {}", e.number, e.severity, place(e));
        self.errors.push(line.clone());
        self.lines.push(line);
    }

    fn info(&mut self, m: &SqlError) {
        self.say(match m.number {
            0 => format!("print {}", m.message).trim_end().to_owned(),
            n => format!("Info {n}, Level {}, {}", m.severity, place(m)),
        });
    }

    fn env_change(&mut self, _change: &EnvChange) {}
}

/// Values as query tools show them: dates to their last digit, money with four.
fn shown(v: &Value, ty: &SqlType) -> String {
    let style = match ty.id {
        TypeId::DateTime | TypeId::SmallDateTime => 121,
        TypeId::Money | TypeId::SmallMoney => 2,
        _ => return to_display(v, ty),
    };
    let text = SqlType::varchar(60);
    let converted = duramen_types::convert(v, ty, &text, Some(style), &ConvertCtx::default());
    let converted = converted.ok().and_then(|v| v.as_text());
    converted.unwrap_or_else(|| to_display(v, ty))
}

/// A plan with what it did, without what differs from run to run: times as `*`, no waits.
fn without_times(plan: &str) -> String {
    let mut out = String::new();
    let mut rest = match (plan.find("<WaitStats>"), plan.find("</WaitStats>")) {
        (Some(from), Some(to)) => {
            out.push_str(&plan[..from]);
            &plan[to + "</WaitStats>".len()..]
        }
        _ => plan,
    };
    let names = ["ms=\"", "CpuTime=\"", "ElapsedTime=\""];
    while let Some(at) = names
        .iter()
        .filter_map(|n| Some(rest.find(n)? + n.len()))
        .min()
    {
        out.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit());
        out.push('*');
    }
    out + rest
}

/// Names that the server makes up, without what differs from run to run: `PK__t__*`, `#t____*`.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric() && !"_#".contains(c)) {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric() && !"_#".contains(c));
        let made_up = |n: usize| {
            let cut = name.len().checked_sub(n)?;
            let (stem, digits) = (name.get(..cut)?, name.get(cut..)?);
            let hex = |b: u8| b.is_ascii_digit() || (b'A'..=b'F').contains(&b);
            (stem.ends_with('_') && digits.bytes().all(hex)).then_some(stem)
        };
        match made_up(16).or_else(|| made_up(12)).or_else(|| made_up(8)) {
            Some(stem) => {
                let short = stem.trim_end_matches('_');
                let gap = if stem.len() - short.len() > 3 {
                    "____"
                } else {
                    "__"
                };
                out.push_str(&format!("{short}{gap}*{}", &word[name.len()..]));
            }
            None => out.push_str(word),
        }
    }
    out
}

fn place(e: &SqlError) -> String {
    let procedure = match &e.procedure {
        Some(p) => format!("Procedure {p}, "),
        None => String::new(),
    };
    let message = masked(&e.message);
    format!("State {}, {procedure}Line {}: {message}", e.state, e.line)
}

/// A login's refusal, as the script names it.
fn message(e: &SqlError) -> String {
    format!("{} {}", e.number, e.message)
}
