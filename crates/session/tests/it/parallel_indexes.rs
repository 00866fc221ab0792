//! Indexes that several threads build: the entries, their order, the errors, and who says that threads were at work.

use super::parallel::{rows, world};
use super::run;

/// Key columns, and what comes along: numbers that fit into a word and such that do not, strings with and without a weight
/// for each byte, NULLs, descending keys, equal keys.
const INDEXES: [(&str, &str); 9] = [
    ("heap", "(g)"),
    ("heap", "(v DESC, g) INCLUDE (s)"),
    ("heap", "(s, id)"),
    ("heap", "(n, g DESC)"),
    ("heap", "(m DESC, f)"),
    ("heap", "(u) INCLUDE (id)"),
    ("tree", "(v, filler)"),
    ("tree", "(v DESC) INCLUDE (g)"),
    ("heap", "(big, id DESC)"),
];

const COLUMNS: &str =
    "ALTER TABLE heap ADD n nvarchar(20), f float, u uniqueidentifier, big bigint";
const MORE: &str = "UPDATE heap SET n = CASE WHEN id % 11 = 0 THEN NULL ELSE CONCAT(N'n-', id % 77) END, f = (id % 13) / -7.0, \
        u = CONVERT(uniqueidentifier, HASHBYTES('MD5', s)), \
        big = CASE id % 3 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 ELSE id END; \
    UPDATE heap SET v = NULL WHERE id % 17 = 0";

#[test]
fn entries_are_those_of_one_thread() {
    let mut s = world();
    let mut more = run(&mut s, COLUMNS);
    more.extend(run(&mut s, MORE));
    assert!(!more.iter().any(|l| l.starts_with("Msg")), "{more:?}");
    for (table, keys) in INDEXES {
        // The order of the entries is the index's, whoever asks; of those that are equal in all keys it is the locator's.
        let listed = |s: &mut _| {
            let column = keys.trim_start_matches('(').split([',', ')', ' ']).next();
            let column = column.unwrap_or("id");
            run(
                s,
                &format!("SELECT {column}, id FROM {table} WITH (INDEX (ix)) OPTION (MAXDOP 1)"),
            )
        };
        let make = |s: &mut _, threads: u32| {
            let sql = format!("CREATE INDEX ix ON {table} {keys} WITH (MAXDOP = {threads})");
            let made = run(s, &sql);
            assert!(
                !made.iter().any(|l| l.starts_with("Msg")),
                "{sql}: {made:?}"
            );
        };
        make(&mut s, 1);
        let one = listed(&mut s);
        run(&mut s, &format!("DROP INDEX ix ON {table}"));
        make(&mut s, 4);
        assert_eq!(listed(&mut s), one, "{table} {keys}");
        let rebuilt = run(&mut s, &format!("ALTER INDEX ix ON {table} REBUILD"));
        assert!(!rebuilt.iter().any(|l| l.starts_with("Msg")), "{rebuilt:?}");
        assert_eq!(listed(&mut s), one, "{table} {keys}");
        let found = run(&mut s, "DBCC CHECKDB WITH NO_INFOMSGS");
        assert!(!found.iter().any(|l| l.starts_with("Msg")), "{found:?}");
        run(&mut s, &format!("DROP INDEX ix ON {table}"));
    }
}

/// Rows with equal keys are numbered; the other indexes find them by these numbers.
#[test]
fn a_clustered_index_of_equal_keys() {
    let mut s = world();
    let all = "SELECT id, g, v, s FROM heap";
    let before = rows(&mut s, all);
    for sql in [
        "CREATE INDEX other ON heap (v)",
        "CREATE CLUSTERED INDEX cl ON heap (g, v DESC)",
        "ALTER INDEX cl ON heap REBUILD",
        "ALTER INDEX other ON heap REBUILD WITH (MAXDOP = 2)",
        "INSERT heap (id, g, v) SELECT id + 10000, g, v FROM heap WHERE g = 3; DELETE heap WHERE id > 10000",
        "ALTER INDEX ALL ON heap REBUILD",
        "DROP INDEX cl ON heap",
    ] {
        let done = run(&mut s, sql);
        assert!(
            !done.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {done:?}"
        );
        assert_eq!(rows(&mut s, all), before, "{sql}");
        let by_index = "SELECT COUNT(*), SUM(id) FROM heap WITH (INDEX (other)) WHERE v >= 0";
        let by_rows = "SELECT COUNT(*), SUM(id) FROM heap WITH (INDEX (0)) WHERE v >= 0";
        assert_eq!(rows(&mut s, by_index), rows(&mut s, by_rows), "{sql}");
        let found = run(&mut s, "DBCC CHECKDB WITH NO_INFOMSGS");
        assert!(
            !found.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {found:?}"
        );
    }
}

#[test]
fn a_duplicate_is_named_and_nothing_stays() {
    let mut s = world();
    run(&mut s, "UPDATE heap SET id = 5999 WHERE id = 6000");
    for kind in ["UNIQUE", "UNIQUE CLUSTERED"] {
        let refused = run(&mut s, &format!("CREATE {kind} INDEX ux ON heap (id)"));
        assert!(
            refused
                .iter()
                .any(|l| l.contains("1505") && l.contains("(5999)")),
            "{refused:?}"
        );
        assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM heap")[1], "6000");
    }
    // Trees that have grown are undone, too.
    for sql in [
        "CREATE INDEX ix ON heap (id)",
        "CREATE CLUSTERED INDEX ix ON heap (id)",
    ] {
        let done = run(&mut s, &format!("BEGIN TRAN; {sql}; ROLLBACK"));
        assert!(!done.iter().any(|l| l.starts_with("Msg")), "{done:?}");
        assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM heap")[1], "6000");
    }
    let found = run(&mut s, "DBCC CHECKDB WITH NO_INFOMSGS");
    assert!(!found.iter().any(|l| l.starts_with("Msg")), "{found:?}");
}

#[test]
fn statistics_of_a_statement_tell_its_degree() {
    let mut s = world();
    let sql = "SELECT g, COUNT(*) AS told FROM heap GROUP BY g";
    run(&mut s, sql);
    run(&mut s, sql);
    let reported = run(
        &mut s,
        "SELECT min_dop, max_dop, last_dop, total_dop FROM sys.dm_exec_query_stats AS q \
         CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t WHERE t.text LIKE 'SELECT g, COUNT(*) AS told%'",
    );
    assert!(
        reported.contains(&"4 | 4 | 4 | 8".to_owned()),
        "{reported:?}"
    );
    let one = "SELECT g, COUNT(*) AS single FROM heap GROUP BY g OPTION (MAXDOP 1)";
    run(&mut s, one);
    let reported = run(
        &mut s,
        "SELECT min_dop, max_dop FROM sys.dm_exec_query_stats AS q \
         CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t WHERE t.text LIKE 'SELECT g, COUNT(*) AS single%'",
    );
    assert!(reported.contains(&"1 | 1".to_owned()), "{reported:?}");
}

/// What several threads read goes into tables as what one reads does.
#[test]
fn inserts_have_parallel_sources() {
    let mut s = world();
    run(
        &mut s,
        "CREATE TABLE got (id int, v int); CREATE INDEX iv ON got (v)",
    );
    let plan = {
        run(&mut s, "SET SHOWPLAN_TEXT ON");
        let plan = run(&mut s, "INSERT got SELECT id, v FROM heap WHERE v < 100").join("\n");
        run(&mut s, "SET SHOWPLAN_TEXT OFF");
        plan
    };
    assert!(plan.contains("Parallelism(Gather Streams)"), "{plan}");
    run(&mut s, "INSERT got SELECT id, v FROM heap WHERE v < 100");
    run(
        &mut s,
        "SELECT h.id, t.v INTO made FROM heap AS h JOIN tree AS t ON t.v = h.v WHERE h.v < 90",
    );
    let of_got = rows(&mut s, "SELECT id, v FROM got OPTION (MAXDOP 1)");
    let wanted = rows(
        &mut s,
        "SELECT id, v FROM heap WHERE v < 100 OPTION (MAXDOP 1)",
    );
    assert_eq!(of_got, wanted);
    let of_made = rows(&mut s, "SELECT id, v FROM made OPTION (MAXDOP 1)");
    let joined = "SELECT h.id, t.v FROM heap AS h JOIN tree AS t ON t.v = h.v WHERE h.v < 90 OPTION (MAXDOP 1)";
    assert_eq!(of_made, rows(&mut s, joined));
    // Its own rows are read before any is written.
    let n = rows(&mut s, "SELECT COUNT(*) FROM got")[1].clone();
    run(&mut s, "INSERT got SELECT id, v FROM got WHERE v < 100");
    let twice = rows(&mut s, "SELECT COUNT(*) FROM got")[1].clone();
    assert_eq!(n.parse::<u32>().map(|n| n * 2), twice.parse());
    let found = run(&mut s, "DBCC CHECKDB WITH NO_INFOMSGS");
    assert!(!found.iter().any(|l| l.starts_with("Msg")), "{found:?}");
}

/// Partitions are read side by side, and only those that a condition leaves.
#[test]
fn partitions_are_parts_of_a_scan() {
    let mut s = world();
    run(
        &mut s,
        "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (1000, 2000, 3000, 4000, 5000); \
         CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY]); \
         CREATE TABLE parts (id int NOT NULL, g int, v int, CONSTRAINT pkparts PRIMARY KEY (id)) ON ps (id); \
         CREATE INDEX ig ON parts (g) INCLUDE (v); \
         INSERT parts SELECT id, g, v FROM heap",
    );
    for sql in [
        "SELECT v, COUNT(*), SUM(g) FROM parts GROUP BY v",
        "SELECT COUNT(*), SUM(v) FROM parts WHERE id BETWEEN 1500 AND 3500",
        "SELECT COUNT(*), SUM(v) FROM parts WHERE v < 500 AND (id IN (5, 4500, 4501) OR id >= 5500)",
        "SELECT COUNT(*), SUM(v) FROM parts WHERE g = 3",
        "SELECT p.id, h.v FROM parts AS p JOIN heap AS h ON h.id = p.id WHERE p.v < 100",
        "SELECT TOP (20) id, v FROM parts ORDER BY v DESC, id",
    ] {
        let one = rows(&mut s, &format!("{sql} OPTION (MAXDOP 1)"));
        assert_eq!(rows(&mut s, sql), one, "{sql}");
        run(&mut s, "SET SHOWPLAN_TEXT ON");
        let plan = run(&mut s, sql).join("\n");
        run(&mut s, "SET SHOWPLAN_TEXT OFF");
        assert!(plan.contains("Parallelism"), "{sql}: {plan}");
    }
}
