//! Statements of absurd shape: each production of the grammar grows, in depth or in width, until it is refused. Whatever is
//! sent, the process lives, the answer comes in bounded time and is a result or an error that says why, and the session goes
//! on.
//!
//! `ABSURD=1` grows each shape further and prints how long each size took; `ABSURD_SHAPE=name` picks one.

use super::*;
use std::time::Duration;

/// Grown by doubling until an attempt takes so long that the next one is not worth waiting for.
const PATIENCE: Duration = Duration::from_millis(300);

/// No attempt takes longer, in unoptimised code on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

type Make = fn(usize) -> Vec<String>;

/// A shape: what makes it, `n` deep or wide, and the size up to which it must work. The last batch is the one looked at.
struct Shape {
    name: &'static str,
    make: Make,
    works: usize,
}

fn around(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

fn select(what: String) -> Vec<String> {
    vec![format!("SELECT {what}")]
}

fn list(n: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..n.max(1)).map(item).collect();
    items.join(separator)
}

fn ctes(n: usize, next: impl Fn(usize) -> String, last: &str) -> Vec<String> {
    let mut text = String::from("WITH c0 AS (SELECT 1 AS x)");
    for i in 1..=n {
        text += &format!(", c{i} AS ({})", next(i));
    }
    vec![format!("{text} {}", last.replace('#', &n.to_string()))]
}

/// Modules that call each other: `n` batches of set-up before the one looked at.
fn modules(n: usize, first: &str, next: &str, last: &str) -> Vec<String> {
    let of = |text: &str, i: usize| {
        text.replace("#-", &(i.max(1) - 1).to_string())
            .replace('#', &i.to_string())
    };
    let mut all = vec![of(first, 0)];
    all.extend((1..=n).map(|i| of(next, i)));
    all.push(of(last, n));
    all
}

macro_rules! shapes {
    ($($name:literal $works:literal $make:expr;)*) => {
        [$(Shape { name: $name, works: $works, make: $make }),*]
    };
}

fn shapes() -> Vec<Shape> {
    let all = shapes! {
        "parentheses" 200 |n| select(around("(", "1", ")", n));
        "parentheses_in_condition" 100 |n| vec![format!("SELECT 1 WHERE {}", around("(", "1 = 1", ")", n))];
        "not" 200 |n| vec![format!("SELECT 1 WHERE {}", around("NOT ", "1 = 1", "", n))];
        "minus" 200 |n| select(around("- ", "1", "", n));
        "tilde" 200 |n| select(around("~", "1", "", n));
        "plus_strings" 1000 |n| select(list(n, "+", |_| "'a'".into()));
        "plus_mixed" 1000 |n| select(list(n, "+", |i| if i % 2 == 0 { "1".into() } else { "1.5".into() }));
        "plus_columns" 1000 |n| vec!["CREATE TABLE t (a int, b varchar(10))".into(), "INSERT t VALUES (1, 'x'), (2, 'y')".into(),
            format!("SELECT {} FROM t", list(n, "+", |_| "b".into()))];
        "set_plus" 1000 |n| vec![format!("DECLARE @s varchar(max) = ''; SET @s = @s{}; SELECT LEN(@s)", "+'a'".repeat(n))];
        "minus_chain" 1000 |n| select(list(n, "-", |_| "1".into()));
        "times" 1000 |n| select(list(n, "*", |_| "1".into()));
        "collate" 100 |n| select(format!("'a'{}", " COLLATE Latin1_General_CI_AS".repeat(n)));
        "calls" 200 |n| select(around("ABS(", "1", ")", n));
        "replace" 200 |n| select(around("REPLACE(", "'a'", ", 'b', 'c')", n));
        "cast" 200 |n| select(around("CAST(", "1", " AS int)", n));
        "coalesce" 50 |n| select(around("COALESCE(NULL, ", "1", ")", n));
        "coalesce_wide" 1000 |n| select(format!("COALESCE({}, 1)", list(n, ",", |_| "NULL".into())));
        "isnull" 200 |n| select(around("ISNULL(NULL, ", "1", ")", n));
        "iif" 100 |n| select(around("IIF(1=1, ", "1", ", 2)", n));
        "case_deep" 100 |n| select(around("CASE WHEN 1=1 THEN ", "1", " END", n));
        "case_else" 100 |n| select(around("CASE WHEN 1=0 THEN 0 ELSE ", "1", " END", n));
        "case_wide" 1000 |n| select(format!("CASE {} END", list(n, " ", |i| format!("WHEN 1 = {} THEN {i}", i + 1))));
        "case_simple_wide" 1000 |n| select(format!("CASE 1 {} END", list(n, " ", |i| format!("WHEN {} THEN {i}", i + 1))));
        "and" 10000 |n| vec![format!("SELECT 1 WHERE {}", list(n, " AND ", |_| "1 = 1".into()))];
        "or" 10000 |n| vec![format!("SELECT 1 WHERE {}", list(n, " OR ", |_| "1 = 2".into()))];
        "and_columns" 1000 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            format!("SELECT a FROM t WHERE {}", list(n, " AND ", |i| format!("b <> {}", i + 2)))];
        "or_columns" 1000 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            format!("SELECT a FROM t WHERE {}", list(n, " OR ", |i| format!("a = {i}")))];
        "and_or" 1000 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            format!("SELECT a FROM t WHERE {}", list(n, " AND ", |i| format!("(b <> {} OR a = 1)", i + 2)))];
        "and_joined" 200 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            format!("SELECT t.a FROM t JOIN t u ON {}", list(n, " AND ", |i| format!("t.a = u.a AND u.b <> {}", i + 2)))];
        "in" 10000 |n| vec![format!("SELECT 1 WHERE 1 IN ({})", list(n, ",", |i| i.to_string()))];
        "in_column" 10000 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            format!("SELECT a FROM t WHERE a IN ({})", list(n, ",", |i| i.to_string()))];
        "in_strings" 1000 |n| vec!["CREATE TABLE t (a varchar(20) PRIMARY KEY)".into(), "INSERT t VALUES ('1')".into(),
            format!("SELECT a FROM t WHERE a IN ({})", list(n, ",", |i| format!("'{i}'")))];
        "not_in" 1000 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            format!("SELECT a FROM t WHERE b NOT IN ({})", list(n, ",", |i| (i + 5).to_string()))];
        "between" 200 |n| vec![format!("SELECT 1 WHERE 1 BETWEEN {} AND 2", around("(", "1", ")", n))];
        "exists" 30 |n| vec![format!("SELECT 1 WHERE {}", around("EXISTS (SELECT 1 WHERE ", "1 = 1", ")", n))];
        "scalar_subqueries" 30 |n| select(around("(SELECT ", "1", ")", n));
        "in_subqueries" 30 |n| vec![format!("SELECT 1 WHERE {}", around("1 IN (SELECT 1 WHERE ", "1 = 1", ")", n))];
        "all_subqueries" 30 |n| vec![format!("SELECT 1 WHERE {}", around("1 >= ALL (SELECT 1 WHERE ", "1 = 1", ")", n))];
        "correlated" 20 |n| {
            let mut text = String::from("1 = 1");
            for i in (0..n).rev() {
                text = format!("EXISTS (SELECT 1 FROM t t{i} WHERE t{i}.a = {} AND {text})", if i == 0 { "1".into() } else { format!("t{}.a", i - 1) });
            }
            vec!["CREATE TABLE t (a int PRIMARY KEY)".into(), "INSERT t VALUES (1)".into(), format!("SELECT 1 WHERE {text}")]
        };
        "derived" 50 |n| {
            let mut text = String::from("SELECT 1 AS x");
            for _ in 0..n {
                text = format!("SELECT x FROM ({text}) d");
            }
            vec![text]
        };
        "derived_grouped" 30 |n| {
            let mut text = String::from("SELECT 1 AS x");
            for _ in 0..n {
                text = format!("SELECT DISTINCT TOP (5) COUNT(*) + SUM(x) AS x FROM ({text}) d GROUP BY x HAVING MAX(x) < 1000000000 ORDER BY x");
            }
            vec![text]
        };
        "derived_filtered" 50 |n| {
            let mut text = String::from("SELECT 1 AS x");
            for _ in 0..n {
                text = format!("SELECT x % 7 + 1 AS x FROM ({text}) d WHERE x > 0");
            }
            vec![text]
        };
        "subqueries_wide" 200 |n| select(list(n, ",", |_| "(SELECT 1)".into()));
        "columns" 1000 |n| select(list(n, ",", |i| i.to_string()));
        "variables" 1000 |n| vec![format!("DECLARE {}; SELECT 1", list(n, ",", |i| format!("@v{i} int = {i}")))];
        "statements" 5000 |n| vec!["SELECT 1 ".repeat(n.min(8000))];
        "order_by" 100 |n| vec![format!("SELECT x FROM (SELECT 1 AS x) d ORDER BY {}", list(n, ",", |i| format!("x + {i}")))];
        "group_by" 30 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) d GROUP BY {}", list(n, ",", |i| format!("x + {i}")))];
        "aggregates" 500 |n| vec![format!("SELECT {} FROM (SELECT 1 AS x) d", list(n, ",", |i| format!("SUM(x + {i})")))];
        "windows" 100 |n| vec![format!("SELECT {} FROM (SELECT 1 AS x) d", list(n, ",", |i| format!("ROW_NUMBER() OVER (ORDER BY x + {i})")))];
        "union_all" 1000 |n| vec![list(n, " UNION ALL ", |i| format!("SELECT {i}"))];
        "union" 1000 |n| vec![list(n, " UNION ", |i| format!("SELECT {i}"))];
        "union_types" 1000 |n| vec![list(n, " UNION ALL ", |i| match i % 4 { 0 => "SELECT 1".into(), 1 => "SELECT 1.5".into(), 2 => "SELECT 2e0".into(), _ => "SELECT NULL".into() })];
        "except" 500 |n| vec![list(n, " EXCEPT ", |i| format!("SELECT {}", i + 1))];
        "intersect" 500 |n| vec![list(n, " INTERSECT ", |_| "SELECT 1".into())];
        "union_parentheses" 50 |n| {
            let mut text = String::from("SELECT 1");
            for _ in 0..n {
                text = format!("(SELECT 2 UNION ALL {text})");
            }
            vec![text]
        };
        "union_tables" 500 |n| vec!["CREATE TABLE t (a int PRIMARY KEY, b int)".into(), "INSERT t VALUES (1, 1)".into(),
            list(n, " UNION ALL ", |i| format!("SELECT a FROM t WHERE a = {i}"))];
        "ctes" 300 |n| ctes(n, |i| format!("SELECT x FROM c{}", i - 1), "SELECT * FROM c#");
        "ctes_computed" 300 |n| ctes(n, |i| format!("SELECT x + 1 AS x FROM c{} WHERE x > 0", i - 1), "SELECT * FROM c#");
        "ctes_grouped" 100 |n| ctes(n, |i| format!("SELECT DISTINCT TOP (3) MAX(x) + 1 AS x FROM c{} GROUP BY x ORDER BY x", i - 1), "SELECT * FROM c#");
        "ctes_doubling" 5 |n| ctes(n, |i| format!("SELECT a.x FROM c{} a CROSS JOIN c{} b", i - 1, i - 1), "SELECT COUNT(*) FROM c#");
        "ctes_doubling_unions" 8 |n| ctes(n, |i| format!("SELECT x FROM c{} UNION ALL SELECT x FROM c{}", i - 1, i - 1), "SELECT COUNT(*) FROM c#");
        "ctes_joined" 60 |n| ctes(n, |i| format!("SELECT a.x FROM c{} a JOIN (SELECT 1 AS y) b ON a.x = b.y", i - 1), "SELECT * FROM c#");
        "ctes_wide" 300 |n| vec![format!("WITH {} SELECT 1", list(n, ",", |i| format!("c{i} AS (SELECT {i} AS x)")))];
        "ctes_updated" 1 |n| {
            let mut all = vec!["CREATE TABLE t (x int)".to_owned(), "INSERT t VALUES (1)".to_owned()];
            let text = ctes(n, |i| format!("SELECT x FROM c{}", i - 1), "UPDATE c# SET x = 2").remove(0);
            all.push(text.replace("SELECT 1 AS x", "SELECT x FROM t"));
            all
        };
        "joins" 64 |n| vec!["CREATE TABLE t (a int PRIMARY KEY)".into(), "INSERT t VALUES (1)".into(),
            format!("SELECT COUNT(*) FROM t{}", list(n, "", |i| format!(" JOIN t t{i} ON t{i}.a = t.a")))];
        "left_joins" 64 |n| vec!["CREATE TABLE t (a int PRIMARY KEY)".into(), "INSERT t VALUES (1)".into(),
            format!("SELECT COUNT(*) FROM t{}", list(n, "", |i| format!(" LEFT JOIN t t{i} ON t{i}.a = t.a")))];
        "cross_joins" 64 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) d{}", list(n, "", |i| format!(" CROSS JOIN (SELECT 1 AS x) d{i}")))];
        "commas" 64 |n| vec![format!("SELECT COUNT(*) FROM {}", list(n, ",", |i| format!("(SELECT 1 AS x) d{i}")))];
        "nested_joins" 30 |n| {
            let mut text = String::from("(SELECT 1 AS x) d");
            for i in 0..n {
                text = format!("((SELECT 1 AS x) d{i} CROSS JOIN {text})");
            }
            vec![format!("SELECT COUNT(*) FROM {text}")]
        };
        "applies" 30 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) d{}", list(n, "", |i| format!(" CROSS APPLY (SELECT d.x AS x) d{i}")))];
        "values" 500 |n| vec![format!("SELECT COUNT(*) FROM (VALUES {}) v(x)", list(n, ",", |i| format!("({i})")))];
        "insert_values" 1000 |n| vec!["CREATE TABLE t (a int)".into(), format!("INSERT t VALUES {}", list(n, ",", |i| format!("({i})")))];
        "blocks" 100 |n| vec![around("BEGIN ", "SELECT 1", " END", n)];
        "ifs" 100 |n| vec![around("IF 1=1 ", "SELECT 1", "", n)];
        "else_ifs" 100 |n| vec![format!("{} SELECT 1", around("IF 1=0 SELECT 2 ELSE ", "", "", n))];
        "whiles" 100 |n| vec![around("WHILE 1=1 BEGIN ", "SELECT 1", " BREAK END", n)];
        "tries" 100 |n| vec![around("BEGIN TRY ", "SELECT 1/0", " END TRY BEGIN CATCH THROW END CATCH", n)];
        "executed" 20 |n| {
            let mut text = String::from("SELECT 1");
            for _ in 0..n.min(16) {
                text = format!("EXEC('{}')", text.replace('\'', "''"));
            }
            vec![text]
        };
        "recursive_procedure" 30 |n| vec!["CREATE PROC p @n int AS IF @n > 0 BEGIN SET @n -= 1; EXEC p @n END".into(), format!("EXEC p {n}")];
        "recursive_function" 30 |n| vec!["CREATE FUNCTION dbo.f (@n int) RETURNS int AS BEGIN IF @n > 0 RETURN dbo.f(@n - 1) + 1; RETURN 0 END".into(), format!("SELECT dbo.f({n})")];
        "functions_of_functions" 20 |n| modules(n.min(64), "CREATE FUNCTION dbo.f# () RETURNS int AS BEGIN RETURN 1 END", "CREATE FUNCTION dbo.f# () RETURNS int AS BEGIN RETURN dbo.f#-() + 1 END", "SELECT dbo.f#()");
        "inline_functions" 20 |n| modules(n.min(64), "CREATE FUNCTION f# () RETURNS TABLE AS RETURN SELECT 1 AS x", "CREATE FUNCTION f# () RETURNS TABLE AS RETURN SELECT x FROM dbo.f#-()", "SELECT * FROM dbo.f#()");
        "views" 30 |n| modules(n.min(64), "CREATE VIEW v# AS SELECT 1 AS x", "CREATE VIEW v# AS SELECT x FROM v#-", "SELECT * FROM v#");
        "views_doubling" 5 |n| modules(n.min(32), "CREATE VIEW v# AS SELECT 1 AS x", "CREATE VIEW v# AS SELECT a.x FROM v#- a CROSS JOIN v#- b", "SELECT COUNT(*) FROM v#");
        "views_of_chains" 5 |n| {
            let chain = |from: String, i: usize| {
                let text = ctes(60, |i| format!("SELECT x FROM c{}", i - 1), "SELECT x FROM c#").remove(0);
                format!("CREATE VIEW v{i} AS {}", text.replace("SELECT 1 AS x", &from))
            };
            let n = n.min(40);
            let mut all = vec![chain("SELECT 1 AS x".into(), 0)];
            all.extend((1..=n).map(|i| chain(format!("SELECT x FROM v{}", i - 1), i)));
            all.push(format!("SELECT * FROM v{n}"));
            all
        };
        "triggers" 20 |n| {
            let n = n.min(64);
            let mut all: Vec<String> = (0..=n).map(|i| format!("CREATE TABLE t{i} (a int)")).collect();
            all.extend((0..n).map(|i| format!("CREATE TRIGGER tr{i} ON t{i} AFTER INSERT AS INSERT t{} SELECT a FROM inserted", i + 1)));
            all.push("INSERT t0 VALUES (1)".into());
            all
        };
        "like_percents" 1000 |n| vec![format!("SELECT 1 WHERE REPLICATE('a', 200) LIKE '{}b'", "%a".repeat(n.min(3900)))];
        "like_sets" 1000 |n| vec![format!("SELECT 1 WHERE 'a' LIKE '{}'", "[^b]".repeat(n))];
        "like_brackets" 1 |n| vec![format!("SELECT 1 WHERE 'a' LIKE '{}'", "[".repeat(n))];
        "xml_deep" 100 |n| select(format!("CAST('{}' AS xml)", around("<a>", "", "</a>", n)));
        "xml_wide" 1000 |n| select(format!("CAST('{}' AS xml)", "<a/>".repeat(n)));
        "xquery_path" 100 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.query('{}')", "/a".repeat(n))];
        "xquery_parentheses" 20 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.query('{}')", around("(", "/a", ")", n))];
        "xquery_predicates" 100 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.query('/a{}')", "[1]".repeat(n))];
        "xquery_nested_predicates" 20 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.query('/a{}')", around("[a", "", "]", n))];
        "xquery_sum" 100 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.value('{}', 'int')", list(n, "+", |_| "1".into()))];
        "xquery_or" 100 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.exist('{}')", list(n, " or ", |_| "1=2".into()))];
        "computed" 1 |n| vec![format!("CREATE TABLE t (a int, {})", list(n.min(1023), ",", |i| format!("c{i} AS {}", around("(", "a + 1", ")", i.min(90)))))];
        "computed_chain" 1000 |n| vec![format!("CREATE TABLE t (a int, c AS {})", list(n, "+", |_| "a".into())), "INSERT t VALUES (0)".into(), "SELECT c FROM t".into()];
        "check" 500 |n| vec![format!("CREATE TABLE t (a int CHECK ({}))", list(n, " AND ", |i| format!("a <> {}", i + 5))), "INSERT t VALUES (1)".into()];
        "defaults" 500 |n| vec![format!("CREATE TABLE t (b int, a int DEFAULT ({}))", list(n, "+", |_| "1".into())), "INSERT t (b) VALUES (1)".into(), "SELECT a FROM t".into()];
        "update_set" 500 |n| vec!["CREATE TABLE t (a int)".into(), "INSERT t VALUES (1)".into(), format!("UPDATE t SET a = {}", list(n, "+", |_| "a".into()))];
        "comments" 1000 |n| vec![format!("{} SELECT 1", around("/*", "", "*/", n))];
        "labels" 500 |n| vec![format!("{} SELECT 1", list(n, " ", |i| format!("l{i}:")))];
        "gotos" 500 |n| vec![format!("{} SELECT 1", list(n, " ", |i| format!("GOTO l{i}; l{i}:")))];
        "long_name" 100 |n| select(format!("1 AS [{}]", "x".repeat(n)));
        "long_string" 10000 |n| select(format!("'{}'", "x".repeat(n * 64)));
        "long_number" 1 |n| select("9".repeat(n));
        "dots" 1 |n| select(list(n, ".", |_| "a".into()));
        "brackets" 1 |n| select("[".repeat(n));
        "showplan" 300 |n| {
            let text = list(n, "+", |_| "x".into());
            vec!["SET SHOWPLAN_ALL ON".into(), format!("SELECT {text} FROM (SELECT 1 AS x) d")]
        };
        "showplan_xml" 300 |n| {
            let text = ctes(n.min(390), |i| format!("SELECT DISTINCT x + 1 AS x FROM c{}", i - 1), "SELECT * FROM c#").remove(0);
            vec!["SET SHOWPLAN_XML ON".into(), text]
        };
    };
    all.into()
}

/// What came of one attempt: the number of the first error, or 0.
fn number(lines: &[String]) -> i32 {
    let error = lines.iter().find_map(|l| l.strip_prefix("Msg "));
    let digits = error.and_then(|e| e.split(',').next());
    digits.map_or(0, |d| d.parse().unwrap_or(-1))
}

/// Runs a shape in a session of its own, in a database of its own when it makes anything; the number of its error, and
/// how long the last batch took.
fn attempt(instance: &Arc<Instance>, shape: &Shape, n: usize) -> (i32, Duration) {
    let mut s = login(instance);
    let mut batches = (shape.make)(n);
    let last = batches.pop().expect("a batch at least");
    if !batches.is_empty() || last.starts_with("CREATE") {
        run(&mut s, "CREATE DATABASE absurd");
        run(&mut s, "USE absurd");
    }
    for b in &batches {
        run(&mut s, b);
    }
    let began = duramen_os::time::now();
    let lines = run(&mut s, &last);
    let took = began.elapsed();
    run(&mut s, "SET SHOWPLAN_ALL OFF");
    run(&mut s, "SET SHOWPLAN_XML OFF");
    assert_eq!(
        run(&mut s, "SELECT 1"),
        ["( int)", "1", "rows 1"],
        "{} {n}",
        shape.name
    );
    run(&mut s, "USE master");
    run(&mut s, "DROP DATABASE IF EXISTS absurd");
    (number(&lines), took)
}

/// Answers that say that a statement is too much, by the rule that it breaks.
const REFUSED: &[i32] = &[
    102, 103, 105, 113, 117, 130, 156, 164, 191, 217, 319, 330, 1007, 1056, 1204, 1702, 4104, 6335,
    701, 8115, 8152, 8621, 8623, 8631, 8632, 10738, 2628, 3728, 8134, 40517, 2209, 2217, 344, 189,
    207, 208,
];

fn grow(instance: &Arc<Instance>, shape: &Shape, furthest: usize, shown: bool) {
    let mut sizes: Vec<usize> = (0..)
        .map(|i| 1 << i)
        .take_while(|n| *n <= furthest)
        .collect();
    sizes.push(shape.works);
    sizes.sort_unstable();
    sizes.dedup();
    for n in sizes {
        let (number, took) = attempt(instance, shape, n);
        if shown {
            eprintln!(
                "{:28} {n:>7} {:>8} ms  {number}",
                shape.name,
                took.as_millis()
            );
        }
        assert!(took < BOUND, "{} of {n} took {took:?}", shape.name);
        assert!(
            number == 0 || n > shape.works || shape.works == 1 || shape.name == "tries",
            "{} of {n} is to work, and is {number}",
            shape.name
        );
        assert!(
            number == 0 || REFUSED.contains(&number),
            "{} of {n} is {number}",
            shape.name
        );
        if n >= shape.works && (took > PATIENCE || number != 0) {
            break;
        }
    }
}

#[test]
fn no_shape_ends_the_process() {
    let long = std::env::var_os("ABSURD").is_some();
    let only = std::env::var("ABSURD_SHAPE").ok();
    let furthest = if long { 1 << 17 } else { 0 };
    let instance = instance();
    let mut failed = Vec::new();
    for shape in shapes() {
        if only
            .as_ref()
            .is_some_and(|o| !shape.name.contains(o.as_str()))
        {
            continue;
        }
        let name = shape.name;
        // The stack that the server's workers have.
        let instance = instance.0.clone();
        let thread =
            duramen_os::thread::spawn(name, move || grow(&instance, &shape, furthest, long));
        if thread.join().is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
