//! The tables below `docs/reference` are what the lists in the code say. `UPDATE_REFERENCE=1` writes them anew.

use std::fmt::Write;
use std::path::Path;

use duramen_admin::database_ddl::option_rows;
use duramen_base::messages;
use duramen_core::security::set_options;
use duramen_core::settings;
use duramen_inspect::reference;
use duramen_observe::events::EventId;
use duramen_observe::{Counter, DbCounter, LatchClass, WaitType};
use duramen_program::coded;

const NOTE: &str = "Made from the lists in the code; a test keeps it so.";

#[test]
#[allow(clippy::disallowed_methods, reason = "documents lie on the real disk")]
fn the_reference_is_what_the_lists_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let update = std::env::var_os("UPDATE_REFERENCE").is_some();
    for (name, text) in pages() {
        let path = dir.join(name);
        if update {
            std::fs::create_dir_all(&dir).expect("the directory of the reference");
            std::fs::write(&path, &text).expect("a page of the reference");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "docs/reference/{name} is old: run the test again with UPDATE_REFERENCE=1"
        );
    }
}

fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("messages.md", message_page()),
        ("waits.md", wait_page()),
        ("counters.md", counter_page()),
        ("events.md", event_page()),
        ("views.md", view_page()),
        ("statements.md", statement_page()),
        ("dbcc.md", dbcc_page()),
        ("options.md", option_page()),
        ("procedures.md", procedure_page()),
        ("trace-flags.md", trace_page()),
        ("functions.md", function_page()),
        ("permissions.md", permission_page()),
        ("compatibility-levels.md", level_page()),
    ]
}

fn page(title: &str, header: &str, rows: impl Iterator<Item = String>) -> String {
    let line: String = header.split('|').map(|_| "---|").collect();
    let mut out = format!("# {title}\n\n{NOTE}\n\n| {header} |\n|{line}\n");
    for row in rows {
        let _ = writeln!(out, "| {row} |");
    }
    out
}

fn message_page() -> String {
    let row = |m: &&messages::Message| {
        let text = m.text.replace('|', "\\|").replace('\n', " ");
        format!("{} | {} | {text}", m.number, m.severity)
    };
    page(
        "Messages",
        "number | severity | text",
        messages::ALL.iter().map(row),
    )
}

fn wait_page() -> String {
    let row = |w: &WaitType| format!("{} | {:?}", w.name(), w.kind());
    let mut out = page("Wait types", "name | kind", WaitType::ALL.iter().map(row));
    out += "\nLatch classes: ";
    let names: Vec<_> = LatchClass::ALL.iter().map(|l| l.name()).collect();
    out += &names.join(", ");
    out += ".\n";
    out
}

fn counter_page() -> String {
    let server = Counter::ALL
        .iter()
        .map(|c| format!("{} | {} | {}", c.object(), c.name(), c.kind().cntr_type()));
    let databases = DbCounter::ALL
        .iter()
        .map(|c| format!("{} | {} | {}", c.object(), c.name(), c.kind().cntr_type()));
    let disk = duramen_observe::DISK_COUNTERS
        .iter()
        .map(|(name, kind, _)| format!("LogicalDisk | {name} | {}", kind.cntr_type()));
    page(
        "Counters",
        "object | counter | cntr_type",
        server.chain(databases).chain(disk),
    )
}

fn event_page() -> String {
    let row = |e: &EventId| format!("{} | {}", e.name(), e.fields().join(", "));
    page("Events", "event | fields", EventId::ALL.iter().map(row))
}

fn view_page() -> String {
    let mut views: Vec<_> = reference::views().collect();
    views.sort_by_key(|v| v.name);
    let row = |v: reference::ViewEntry| {
        let column = |(name, ty, nullable): &(&str, duramen_types::SqlType, bool)| {
            format!("{name} {ty}{}", if *nullable { "" } else { " NOT NULL" })
        };
        let columns: Vec<_> = v.columns.iter().map(column).collect();
        let call = if v.is_function { " ()" } else { "" };
        format!("sys.{}{call} | {}", v.name, columns.join(", "))
    };
    page("System views", "name | columns", views.into_iter().map(row))
}

/// Options of sessions, databases and the server, with what follows each.
fn option_page() -> String {
    let of_sessions = set_options::OPTIONS.iter();
    let of_sessions = of_sessions.map(|o| format!("SET {} | | {}", o.name, o.does));
    let of_databases = option_rows::ROWS.iter();
    let of_databases = of_databases.map(|o| {
        let words = o.words().join(", ");
        format!("ALTER DATABASE SET {} | {words} | {}", o.name, o.follows)
    });
    let of_server = settings::all().iter().map(|s| {
        let (values, follows) = match s.follows {
            "" => (s.default.to_string(), "default only"),
            follows => (format!("{} to {}", s.least, s.greatest), follows),
        };
        format!("sp_configure '{}' | {values} | {follows}", s.name)
    });
    page(
        "Options",
        "option | values | what follows it",
        of_sessions.chain(of_databases).chain(of_server),
    )
}

/// Procedures that are code with what they take, and the names of those that are text.
fn procedure_page() -> String {
    let row = |p: &coded::Row| {
        let shown: Vec<String> = p.parameters.iter().map(parameter).collect();
        format!("sys.{} | {} | {}", p.name, shown.join(", "), p.does)
    };
    let mut out = page(
        "System procedures",
        "name | parameters | what it does",
        coded::all().map(row),
    );
    let texts: Vec<String> = reference::procedures_of_text().collect();
    out += "\nWritten in T-SQL (`sys.sql_modules` shows their parameters): ";
    out += &texts.join(", ");
    out += ".\n";
    out
}

fn parameter(p: &coded::Parameter) -> String {
    let without = match p.without {
        coded::Fallback::Needed => String::new(),
        coded::Fallback::Null | coded::Fallback::Nothing => " = NULL".to_owned(),
        coded::Fallback::Number(n) => format!(" = {n}"),
        coded::Fallback::Text(t) => format!(" = '{t}'"),
    };
    let output = if p.output { " OUTPUT" } else { "" };
    format!("{} {}{without}{output}", p.name, p.ty)
}

fn statement_page() -> String {
    let yes = |yes: bool| if yes { "yes" } else { "-" };
    let row = |s: reference::StatementEntry| match s.runs {
        false => format!("{} | {} | 40517 | | | |", s.name, s.does),
        true => {
            let places = [
                s.in_transactions,
                s.in_triggers,
                s.in_functions,
                s.in_read_only,
            ];
            let places: Vec<&str> = places.map(yes).to_vec();
            format!("{} | {} | yes | {}", s.name, s.does, places.join(" | "))
        }
    };
    page(
        "Statements",
        "statement | what it does | runs | in a transaction | in a trigger | in a function | in a read-only database",
        reference::statements().map(row),
    )
}

fn dbcc_page() -> String {
    let row = |(name, options): (&str, &[&str])| {
        let mut all = vec!["NO_INFOMSGS"];
        all.extend(options);
        format!("DBCC {name} | {}", all.join(", "))
    };
    page("DBCC", "statement | WITH", reference::dbcc().map(row))
}

fn trace_page() -> String {
    let row = |(flag, what): (i64, &str)| format!("{flag} | {what}");
    page(
        "Trace flags",
        "flag | what it does",
        reference::trace_flags().map(row),
    )
}

fn permission_page() -> String {
    let right = |(name, code, on): (&str, &str, &str)| format!("{name} | {code} | {on}");
    let mut out = page(
        "Permissions",
        "permission | code | given on",
        reference::rights().map(right),
    );
    out += "\nWhat each thing needs of a login that is not sysadmin. Of several rights one is enough. A database that the login \
            has no user in refuses everything in it with 916.\n";
    let mut last = "";
    let mut all = reference::permissions();
    let order = ["statement", "SET", "DBCC", "procedure", "function", "view"];
    let place = |kind: &str| order.iter().position(|k| *k == kind);
    all.sort_by(|a, b| (place(a.kind), &a.name).cmp(&(place(b.kind), &b.name)));
    for p in all {
        if p.kind != last {
            last = p.kind;
            let _ = write!(out, "\n## {last}\n\n| name | right | of |\n|---|---|---|\n");
        }
        let _ = writeln!(out, "| {} | {} | {} |", p.name, p.right, p.of);
    }
    out
}

fn level_page() -> String {
    let row = |d: &reference::Difference| {
        let followed = match d.followed {
            reference::Followed::Yes(how) => format!("yes | {how}"),
            reference::Followed::No(why) => format!("no | {why}"),
        };
        format!("{} | {} | {followed}", d.level, d.what)
    };
    let rows = reference::DIFFERENCES.iter().map(row);
    let mut out = page(
        "Compatibility levels",
        "from level | difference | followed | where, or why not",
        rows,
    );
    out += "\nThe level is that of the database whose language is spoken: of the session's current one, of a module its own. Each difference that is followed has a part of its own in `tests/golden/compatibility_levels.slt`.\n";
    out
}

/// An example and the rows that it gives.
fn shown(session: &mut crate::Alone, example: &str) -> (String, String) {
    if example.is_empty() {
        return (String::new(), String::new());
    }
    let lines = crate::run(session, &format!("SELECT {example}"));
    let failed = lines.iter().any(|l| l.starts_with("Msg ")) || lines.len() < 3;
    assert!(!failed, "{example}: {lines:?}");
    // Between the heading and the count.
    let rows = lines[1..lines.len() - 1].join("; ");
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    (code(example), code(&rows))
}

/// What a function of the session gives for NULL, or the number of its error.
fn given_null(session: &mut crate::Alone, f: &duramen_query::FunctionEntry) -> String {
    if f.max == 0 || f.doc.example.is_empty() {
        return String::new();
    }
    let nulls = vec!["NULL"; f.min.max(1)].join(", ");
    let lines = crate::run(session, &format!("SELECT {}({nulls})", f.doc.name));
    let error = lines.iter().find_map(|l| l.strip_prefix("Msg "));
    match error.and_then(|e| e.split(',').next()) {
        Some(number) => number.to_owned(),
        None => lines.get(1).cloned().unwrap_or_default(),
    }
}

/// Functions with an example each, which is run.
fn function_page() -> String {
    let mut session = crate::alone();
    let row = |f: duramen_query::FunctionEntry| {
        let name = f.doc.name.to_uppercase();
        let count = match f.min == f.max {
            true => f.min.to_string(),
            false => format!("{} to {}", f.min, f.max),
        };
        let (example, gives) = shown(&mut session, f.doc.example);
        let deterministic = if f.deterministic { "yes" } else { "no" };
        let of_null = match f.of_null {
            Some(said) => said.to_owned(),
            None => given_null(&mut session, &f),
        };
        let facts = format!("{of_null} | {deterministic} | {}", f.needs);
        format!(
            "{name} | {count} | {} | {facts} | {example} | {gives}",
            f.doc.gives
        )
    };
    let mut out = page(
        "Functions",
        "name | arguments | gives | of NULL | deterministic | needs | example | which gives",
        reference::functions().map(row),
    );
    out += "\nDate functions count their datepart. CAST, CONVERT, TRY_CAST, TRY_CONVERT, PARSE and TRY_PARSE have a syntax of their own.\n";
    out += "\n## Globals\n\n| name | type | gives |\n|---|---|---|\n";
    for (name, ty, gives) in reference::globals() {
        let _ = writeln!(out, "| @@{} | {ty} | {gives} |", name.to_uppercase());
    }
    out
}
