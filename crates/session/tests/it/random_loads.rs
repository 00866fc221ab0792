//! INSERT ... SELECT by column against the same row by row: random columns and values go into two tables of one definition, of
//! which one has a CHECK that always holds, so that its rows are looked at one by one. Both end with the same rows, numbers
//! and errors, and with sound pages.
//!
//! `LOADS=seeds cargo test -p duramen-session --test it random_loads` runs so many seeds, `LOADS_FIRST` is the first.

use duramen_os::random::Rng;

use super::*;

/// Loads into each pair of tables.
const LOADS: usize = 4;

/// Columns of the source: name, type, and the value of row `n`; `@` is a number of the seed.
const SOURCE: &[(&str, &str, &str)] = &[
    ("i1", "tinyint", "(n * @) % 256"),
    ("i2", "smallint", "(n * @) % 65536 - 32768"),
    ("i4", "int", "n * @ - 5000"),
    ("i8", "bigint", "CONVERT(bigint, n) * @ * 1000003 - 77"),
    ("d1", "decimal(9,2)", "(n * @) % 900000 / 7.0"),
    ("d2", "decimal(28,6)", "CONVERT(decimal(28,6), n) * @ / 13"),
    ("m", "money", "(n * @) % 100000 / 3.0"),
    ("f", "float", "n / (@ + 0.5)"),
    ("r", "real", "@ / (n + 0.25)"),
    ("b", "bit", "n / @ % 2"),
    ("t1", "date", "DATEADD(day, (n * @) % 20000, '19600101')"),
    (
        "t2",
        "datetime",
        "DATEADD(ms, (n * @) % 100000000, '20000101')",
    ),
    (
        "t3",
        "datetime2(5)",
        "DATEADD(second, (n * @) % 100000000, CONVERT(datetime2(5), '19900101 10:11:12.12345'))",
    ),
    ("t4", "time(3)", "DATEADD(ms, (n * @) % 86000000, '00:00')"),
    ("c1", "char(7)", "CONCAT('c', n * @ % 1000)"),
    (
        "c2",
        "varchar(40)",
        "REPLICATE(CHAR(97 + n % 26), n * @ % 41)",
    ),
    ("c3", "nchar(5)", "CONCAT(NCHAR(1040 + n % 32), n % 100)"),
    (
        "c4",
        "nvarchar(60)",
        "REPLICATE(NCHAR(200 + n % 300), n * @ % 30)",
    ),
    (
        "c5",
        "varchar(max)",
        "REPLICATE(CONVERT(varchar(max), 'long '), CASE WHEN n % 97 = 0 THEN 2500 ELSE n % 5 END)",
    ),
    ("c6", "varchar(20)", "CONVERT(varchar(20), n * @ % 300)"),
    ("x1", "binary(6)", "CONVERT(binary(4), n * @ % 1000000)"),
    (
        "x2",
        "varbinary(30)",
        "CONVERT(varbinary(30), REPLICATE('b', n * @ % 31))",
    ),
    (
        "g",
        "uniqueidentifier",
        "CONVERT(uniqueidentifier, CONVERT(binary(16), CONCAT(n, 'g', @)))",
    ),
];

const NUMBERS: &[&str] = &[
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "decimal(5,1)",
    "decimal(20,4)",
    "numeric(38,10)",
    "money",
    "smallmoney",
    "float",
    "real",
    "bit",
    "varchar(12)",
    "nvarchar(40)",
    "char(30)",
];
const TIMES: &[&str] = &[
    "date",
    "datetime",
    "smalldatetime",
    "datetime2(0)",
    "datetime2(7)",
    "datetimeoffset(3)",
    "varchar(40)",
    "nchar(30)",
];
const CLOCKS: &[&str] = &[
    "time(0)",
    "time(7)",
    "datetime",
    "datetime2(2)",
    "varchar(20)",
];
const TEXTS: &[&str] = &[
    "char(4)",
    "char(60)",
    "char(2000)",
    "nchar(9)",
    "nchar(800)",
    "varchar(6)",
    "varchar(50)",
    "varchar(8000)",
    "nvarchar(5)",
    "nvarchar(100)",
    "varchar(max)",
    "nvarchar(max)",
];
const DIGITS: &[&str] = &[
    "tinyint",
    "int",
    "decimal(9,3)",
    "char(3)",
    "nchar(900)",
    "bigint",
];
const BYTES: &[&str] = &[
    "binary(3)",
    "binary(50)",
    "binary(1500)",
    "varbinary(5)",
    "varbinary(60)",
    "varbinary(max)",
];
const GUIDS: &[&str] = &["uniqueidentifier", "char(36)", "nvarchar(36)"];

fn targets(name: &str) -> &'static [&'static str] {
    match name {
        "c6" => DIGITS,
        "t4" => CLOCKS,
        "g" => GUIDS,
        _ => match name.as_bytes()[0] {
            b't' => TIMES,
            b'c' => TEXTS,
            b'x' => BYTES,
            _ => NUMBERS,
        },
    }
}

/// A table: its columns' definitions, and the index that it gets.
struct Shape {
    columns: Vec<String>,
    names: Vec<String>,
    /// What is given, from which column of the source.
    given: Vec<(String, &'static str)>,
    index: Option<String>,
}

fn shape(r: &mut Rng) -> Shape {
    let mut s = Shape {
        columns: vec![format!(
            "id int IDENTITY({}, {}) NOT NULL",
            r.below(50),
            1 + r.below(3)
        )],
        names: vec!["id".to_owned()],
        given: Vec::new(),
        index: None,
    };
    for n in 0..1 + r.below(7) {
        let (source, own, _) = SOURCE[r.below(SOURCE.len() as u64) as usize];
        let ty = match r.below(3) {
            0 => own,
            _ => r.choose(targets(source)).expect("there are some"),
        };
        let name = format!("k{n}");
        let null = if r.one_in(4) { "NOT NULL" } else { "NULL" };
        // What is not given has its default.
        if r.one_in(6) {
            s.columns
                .push(format!("{name} char(20) NOT NULL DEFAULT 'not given'"));
        } else {
            s.columns.push(format!("{name} {ty} {null}"));
            s.given.push((name.clone(), source));
        }
        s.names.push(name);
    }
    if r.one_in(2) {
        let column = s.columns.remove(0);
        let at = r.below(s.columns.len() as u64 + 1) as usize;
        s.columns.insert(at, column);
    }
    let key = r.choose(&s.names).expect("there are some").clone();
    s.index = match r.below(5) {
        0 => Some("CREATE UNIQUE CLUSTERED INDEX c ON ~ (id)".to_owned()),
        1 => Some(format!("CREATE CLUSTERED INDEX c ON ~ ({key})")),
        2 => Some(format!(
            "CREATE INDEX i ON ~ ({key}) INCLUDE ({})",
            s.names[s.names.len() - 1]
        )),
        3 => Some("CREATE UNIQUE INDEX i ON ~ (id DESC)".to_owned()),
        _ => None,
    };
    s
}

/// One load into `~`.
fn load(r: &mut Rng, s: &Shape, rows: u64) -> String {
    let mut into = Vec::new();
    let mut list = Vec::new();
    for (name, source) in &s.given {
        into.push(name.as_str());
        let value = match r.below(12) {
            0 => format!(
                "CASE WHEN s.n % {} = 0 THEN NULL ELSE s.{source} END",
                2 + r.below(900)
            ),
            1 => "NULL".to_owned(),
            2 => format!("MAX(s.{source}) OVER (PARTITION BY s.n % 7)")
                .replace("MAX(s.b)", "MAX(s.i1)"),
            _ => format!("s.{source}"),
        };
        list.push(value);
    }
    let lock = if r.one_in(4) { " WITH (TABLOCK)" } else { "" };
    let top = if r.one_in(4) {
        format!("TOP ({}) ", r.below(rows * 2))
    } else {
        String::new()
    };
    let place = match r.below(5) {
        0 => format!(" WHERE s.n % {} <> 0", 2 + r.below(9)),
        1 => format!(" WHERE s.n > {}", r.below(rows)),
        2 => format!(" JOIN src AS o ON o.n = s.n + {}", r.below(40)),
        _ => String::new(),
    };
    let order = if top.is_empty() && !r.one_in(4) {
        ""
    } else {
        " ORDER BY s.n DESC"
    };
    let load = format!(
        "INSERT ~{lock} ({}) SELECT {top}{} FROM src AS s{place}{order}",
        into.join(", "),
        list.join(", ")
    );
    match r.below(8) {
        0 => format!("SET ROWCOUNT {}; {load}; SET ROWCOUNT 0", 1 + r.below(rows)),
        1 => format!("SET ANSI_WARNINGS OFF; {load}; SET ANSI_WARNINGS ON"),
        _ => load,
    }
}

/// What a statement said, its table's name left out.
fn said(session: &mut Session, sql: &str, table: &str) -> Vec<String> {
    let lines = run(session, &sql.replace('~', table));
    lines
        .into_iter()
        .map(|l| {
            l.replace(&format!("dbo.{table}"), "dbo.~")
                .replace(&format!("'{table}'"), "'~'")
        })
        .collect()
}

/// Runs a seed; how many of its loads went through.
fn seed(seed: u64) -> Result<usize, String> {
    let mut r = Rng::new(seed);
    let mut s = alone();
    let rows = 1 + match r.below(3) {
        0 => r.below(60),
        1 => r.below(1_500),
        _ => r.below(6_000),
    };
    let salt = 1 + r.below(37);
    let columns: Vec<String> = SOURCE
        .iter()
        .map(|(n, ty, _)| format!("{n} {ty} NULL"))
        .collect();
    let values: Vec<String> = SOURCE
        .iter()
        .map(|(.., v)| v.replace('@', &salt.to_string()))
        .collect();
    quiet(
        &mut s,
        &format!(
            "CREATE TABLE src (n int PRIMARY KEY, {})",
            columns.join(", ")
        ),
    );
    quiet(
        &mut s,
        &format!(
            "INSERT src SELECT n, {} FROM (SELECT value AS n FROM GENERATE_SERIES(1, {rows})) AS g",
            values.join(", ")
        ),
    );
    let mut through = 0;
    for pair in 0..3 {
        let shape = shape(&mut r);
        if shape.given.is_empty() {
            continue;
        }
        for (table, check) in [("a", ""), ("b", ", CHECK (id > -1)")] {
            run(&mut s, &format!("DROP TABLE IF EXISTS {table}"));
            quiet(
                &mut s,
                &format!("CREATE TABLE {table} ({}{check})", shape.columns.join(", ")),
            );
        }
        if let Some(index) = &shape.index {
            let [a, b] = ["a", "b"].map(|t| said(&mut s, index, t));
            if a != b {
                return Err(format!("{index}: {a:?} or {b:?}"));
            }
        }
        for _ in 0..LOADS {
            let sql = load(&mut r, &shape, rows);
            let [a, b] = ["a", "b"].map(|t| said(&mut s, &sql, t));
            let describe = |what: &str| {
                format!(
                    "pair {pair}: {what}\n{}\n{:?}\n{sql}",
                    shape.columns.join(", "),
                    shape.index
                )
            };
            let failed = |lines: &[String]| lines.iter().any(|l| l.starts_with("Msg"));
            // Of several rows that are wrong, the one that is met first depends on how many are read together.
            if a != b && !(failed(&a) && failed(&b)) {
                return Err(describe(&format!("{a:?} or {b:?}")));
            }
            let failed = failed(&a);
            let bytes = shape
                .names
                .iter()
                .map(|n| format!("CONVERT(varbinary(max), {n}) AS {n}"));
            let bytes = bytes.collect::<Vec<_>>().join(", ");
            let differ = format!(
                "SELECT (SELECT COUNT(*) FROM a) - (SELECT COUNT(*) FROM b), \
                 (SELECT COUNT(*) FROM (SELECT {bytes} FROM a EXCEPT SELECT {bytes} FROM b) AS x), \
                 (SELECT COUNT(*) FROM (SELECT {bytes} FROM b EXCEPT SELECT {bytes} FROM a) AS x)"
            );
            let differ = quiet(&mut s, &differ);
            if differ[1] != "0 | 0 | 0" {
                return Err(describe(&format!("{differ:?}")));
            }
            let sound = run(
                &mut s,
                "DBCC CHECKTABLE (a) WITH NO_INFOMSGS; DBCC CHECKTABLE (b) WITH NO_INFOMSGS",
            );
            if sound.iter().any(|l| l.starts_with("Msg")) {
                return Err(describe(&format!("{sound:?}")));
            }
            // Of rows that failed each may have taken other numbers.
            if failed {
                quiet(&mut s, "TRUNCATE TABLE a; TRUNCATE TABLE b");
            }
            through += usize::from(!failed);
        }
    }
    Ok(through)
}

#[test]
fn loads_by_column_are_as_by_row() {
    let (first, seeds) = (number_from("LOADS_FIRST", 1), number_from("LOADS", 6));
    let (mut through, mut failed) = (0, Vec::new());
    for n in first..first + seeds {
        match seed(n) {
            Ok(count) => through += count,
            Err(why) => {
                println!("seed {n}: {why}");
                failed.push(n);
            }
        }
    }
    println!("{seeds} seeds, {through} loads went through");
    assert!(failed.is_empty(), "seeds {failed:?}");
    assert!(through as u64 >= seeds, "{through} loads of {seeds} seeds");
}
