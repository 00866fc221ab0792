//! The shapes: each a text that is long or deep in one dimension.

use super::{Shape, around, ctes, list, modules, select};

macro_rules! shapes {
    ($($name:literal $works:literal $make:expr;)*) => {
        [$(Shape { name: $name, works: $works, make: $make }),*]
    };
}

pub(super) fn shapes() -> Vec<Shape> {
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
        "variables_unset" 1000 |n| vec![format!("DECLARE {}; SELECT 1", list(n, ",", |i| format!("@v{i} varchar(20)")))];
        "variables_declared_singly" 1000 |n| vec![list(n, " ", |i| format!("DECLARE @v{i} int = {i}"))];
        "variables_set" 500 |n| vec![format!("DECLARE {}; {}", list(n, ",", |i| format!("@v{i} varchar(1000)")), list(n, " ", |i| format!("SET @v{i} = REPLICATE('x', 1000)")))];
        "variables_selected" 500 |n| vec![format!("DECLARE {0}; SELECT {1}; SELECT {2}", list(n, ",", |i| format!("@v{i} int")), list(n, ",", |i| format!("@v{i} = {i}")), list(n, "+", |i| format!("@v{i}")))];
        "table_variables" 100 |n| vec![list(n, " ", |i| format!("DECLARE @t{i} TABLE (a int)"))];
        "parameters" 500 |n| vec![format!("CREATE PROC p {} AS RETURN 0", list(n, ",", |i| format!("@p{i} int = {i}"))), format!("EXEC p {}", list(n, ",", |i| format!("@p{i} = {i}")))];
        "arguments_by_place" 500 |n| vec![format!("CREATE PROC p {} AS RETURN 0", list(n, ",", |i| format!("@p{i} int = {i}"))), format!("EXEC p {}", list(n, ",", |i| i.to_string()))];
        "parameters_of_text" 500 |n| vec![format!("EXEC sp_executesql N'SELECT 1', N'{}', {}", list(n, ",", |i| format!("@p{i} int")), list(n, ",", |i| format!("@p{i} = {i}")))];
        "table_columns" 500 |n| vec![format!("CREATE TABLE t ({})", list(n, ",", |i| format!("c{i} int")))];
        "columns_named" 500 |n| vec![format!("SELECT {} FROM (SELECT {}) d", list(n, ",", |i| format!("c{i}")), list(n, ",", |i| format!("{i} AS c{i}")))];
        "insert_columns" 500 |n| vec![format!("CREATE TABLE t ({})", list(n, ",", |i| format!("c{i} int"))), format!("INSERT t ({}) VALUES ({})", list(n, ",", |i| format!("c{i}")), list(n, ",", |i| i.to_string()))];
        "columns_added" 500 |n| vec!["CREATE TABLE t (a int)".into(), format!("ALTER TABLE t ADD {}", list(n, ",", |i| format!("c{i} int")))];
        "columns_changed" 500 |n| vec![format!("CREATE TABLE t ({})", list(n, ",", |i| format!("c{i} int"))), "INSERT t DEFAULT VALUES".into(), format!("UPDATE t SET {}", list(n, ",", |i| format!("c{i} = {i}")))];
        "output_items" 500 |n| vec!["CREATE TABLE t (a int)".into(), format!("INSERT t OUTPUT {} VALUES (1)", list(n, ",", |i| format!("inserted.a + {i} AS c{i}")))];
        "checks" 100 |n| vec![format!("CREATE TABLE t (a int, {})", list(n, ",", |i| format!("CHECK (a <> {})", i + 5))), "INSERT t VALUES (1)".into()];
        "foreign_keys" 30 |n| vec!["CREATE TABLE u (a int PRIMARY KEY)".into(), format!("CREATE TABLE t (a int, {})", list(n, ",", |_| "FOREIGN KEY (a) REFERENCES u".into()))];
        "uniques" 50 |n| vec![format!("CREATE TABLE t (a int, {})", list(n, ",", |_| "UNIQUE (a)".into()))];
        "index_columns" 10 |n| vec![format!("CREATE TABLE t ({})", list(n.min(1000), ",", |i| format!("c{i} int"))), format!("CREATE INDEX i ON t ({})", list(n, ",", |i| format!("c{i}")))];
        "index_includes" 500 |n| vec![format!("CREATE TABLE t (a int, {})", list(n.min(1000), ",", |i| format!("c{i} int"))), format!("CREATE INDEX i ON t (a) INCLUDE ({})", list(n, ",", |i| format!("c{i}")))];
        "statistics_columns" 10 |n| vec![format!("CREATE TABLE t ({})", list(n.min(1000), ",", |i| format!("c{i} int"))), format!("CREATE STATISTICS s ON t ({})", list(n, ",", |i| format!("c{i}")))];
        "dropped" 50 |n| vec![format!("DROP TABLE IF EXISTS {}", list(n, ",", |i| format!("t{i}")))];
        "granted" 100 |n| vec![format!("{} CREATE TABLE t (a int)", list(n.min(300), " ", |i| format!("CREATE USER u{i} WITHOUT LOGIN"))), format!("GRANT SELECT ON t TO {}", list(n, ",", |i| format!("u{i}")))];
        "partition_by" 30 |n| vec![format!("SELECT ROW_NUMBER() OVER (PARTITION BY {} ORDER BY x) FROM (SELECT 1 AS x) d", list(n, ",", |i| format!("x + {i}")))];
        "window_order" 30 |n| vec![format!("SELECT ROW_NUMBER() OVER (ORDER BY {}) FROM (SELECT 1 AS x) d", list(n, ",", |i| format!("x + {i}")))];
        "left_joins_derived" 200 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) t{}", list(n, "", |i| format!(" LEFT JOIN (SELECT 1 AS x) t{i} ON t{i}.x = t.x")))];
        "left_joins_chained" 200 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) t0{}", list(n, "", |i| format!(" LEFT JOIN (SELECT 1 AS x) t{} ON t{}.x = t{i}.x", i + 1, i + 1)))];
        "left_joins_of_all" 100 |n| vec![format!("SELECT {} FROM (SELECT 1 AS x) t{}", list(n, ",", |i| format!("t{i}.x AS c{i}")), list(n, "", |i| format!(" LEFT JOIN (SELECT 1 AS x) t{i} ON 1 = 1")))];
        "right_joins" 64 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) t{}", list(n, "", |i| format!(" RIGHT JOIN (SELECT 1 AS x) t{i} ON t{i}.x = t.x")))];
        "full_joins" 64 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) t{}", list(n, "", |i| format!(" FULL JOIN (SELECT 1 AS x) t{i} ON t{i}.x = t.x")))];
        "joins_derived" 64 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) t{}", list(n, "", |i| format!(" JOIN (SELECT 1 AS x) t{i} ON t{i}.x = t.x")))];
        "outer_applies" 30 |n| vec![format!("SELECT COUNT(*) FROM (SELECT 1 AS x) d{}", list(n, "", |i| format!(" OUTER APPLY (SELECT d.x AS x) d{i}")))];
        "table_hints" 30 |n| vec!["CREATE TABLE t (a int)".into(), format!("SELECT a FROM t WITH ({})", list(n, ",", |_| "NOLOCK".into()))];
        "query_hints" 10 |n| vec![format!("SELECT 1 OPTION ({})", list(n, ",", |i| if i % 2 == 0 { "RECOMPILE".into() } else { "MAXDOP 1".into() }))];
        "concat" 200 |n| select(format!("CONCAT('a', {})", list(n, ",", |i| format!("'{i}'"))));
        "choose" 200 |n| select(format!("CHOOSE(1, {})", list(n, ",", |i| i.to_string())));
        "cte_columns" 500 |n| vec![format!("WITH c ({}) AS (SELECT {}) SELECT COUNT(*) FROM c", list(n, ",", |i| format!("c{i}")), list(n, ",", |i| i.to_string()))];
        "values_columns" 500 |n| vec![format!("SELECT COUNT(*) FROM (VALUES ({})) v({})", list(n, ",", |i| i.to_string()), list(n, ",", |i| format!("c{i}")))];
        "xml_attributes" 500 |n| select(format!("CAST('<a {}/>' AS xml)", list(n, " ", |i| format!("b{i}=\"\""))));
        "xml_namespaces" 200 |n| select(format!("CAST('<a {}/>' AS xml)", list(n, " ", |i| format!("xmlns:b{i}=\"u{i}\""))));
        "xml_namespaces_asked" 200 |n| select(format!("CAST('<a {}><b/></a>' AS xml).query('/a/b')", list(n, " ", |i| format!("xmlns:b{i}=\"u{i}\""))));
        "xml_nodes" 1000 |n| vec![format!("DECLARE @x xml = '{}'; SELECT COUNT(*) FROM @x.nodes('/a/b') t(c)", format!("<a>{}</a>", "<b/>".repeat(n)))];
        "xquery_value_path" 1000 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.value('({})[1]', 'int')", "/a".repeat(n))];
        "xquery_sequence" 1000 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.query('({})')", list(n, ",", |i| i.to_string()))];
        "xquery_prefixes" 500 |n| vec![format!("DECLARE @x xml = '<a/>'; SELECT @x.query('{} {}')", list(n, " ", |i| format!("declare namespace p{i}=\"u{i}\";")), list(n, "", |i| format!("/p{i}:a")))];
        "blanks" 10000 |n| vec![format!("SELECT {} 1", " ".repeat(n * 16))];
        "semicolons" 10000 |n| vec![format!("{} SELECT 1", ";".repeat(n))];
        "line_comments" 10000 |n| vec![format!("{}SELECT 1", "-- x\n".repeat(n))];
        "prints" 5000 |n| vec!["PRINT 'x' ".repeat(n)];
        "inserts" 2000 |n| vec!["CREATE TABLE t (a int)".into(), "INSERT t VALUES (1) ".repeat(n)];
        "executes" 1000 |n| vec!["CREATE PROC p AS RETURN 0".into(), "EXEC p ".repeat(n)];
    };
    all.into()
}
