//! Queries that several threads run: their answers, waits, locks and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_access::cancel::CancelToken;
use duramen_events::instance::Instance;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_program::text::TextSink;
use duramen_query::host::Parallelism;
use duramen_session::Session;

use super::{Alone, alone, login, run, start};

/// Every plan that can go parallel does, with four threads.
const FORCE: &str = "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; \
    EXEC sp_configure 'cost threshold for parallelism', 0; \
    EXEC sp_configure 'max degree of parallelism', 4; RECONFIGURE";

fn force(instance: &Arc<Instance>) {
    instance.use_processors(4);
    run(&mut login(instance), FORCE);
}

const TABLES: &str = "CREATE TABLE heap (id int NOT NULL, g int, v int, m decimal(9, 2), s varchar(20)); \
    CREATE TABLE tree (id int PRIMARY KEY, g int, v int NULL, filler char(60)); \
    CREATE INDEX ig ON tree (g); \
    WITH n AS (SELECT TOP (6000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS i \
               FROM sys.all_columns AS a CROSS JOIN (VALUES (1), (2), (3), (4)) AS b (x)) \
    INSERT heap SELECT i, i % 37, (i * 7919) % 1000, i / 8.0, CONCAT('s', i % 91) FROM n; \
    INSERT tree SELECT id, g, CASE WHEN v % 5 = 0 THEN NULL ELSE v END, 'x' FROM heap";

pub fn world() -> Alone {
    let mut s = alone();
    force(&s.instance);
    run(&mut s, "CREATE DATABASE d");
    run(&mut s, "USE d");
    run(&mut s, TABLES);
    s
}

/// Rows without heading and count, in an order of their own.
pub fn rows(s: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = run(s, sql);
    rows.sort();
    rows
}

fn plan(s: &mut Session, sql: &str) -> String {
    run(s, "SET SHOWPLAN_TEXT ON");
    let plan = run(s, sql).join("\n");
    run(s, "SET SHOWPLAN_TEXT OFF");
    plan
}

const QUERIES: [&str; 30] = [
    "SELECT id, v FROM heap WHERE v < 100",
    "SELECT id, g FROM tree WHERE v > 900",
    "SELECT COUNT(*), SUM(v), AVG(v), MIN(v), MAX(m), SUM(m), AVG(m), COUNT(v) FROM heap",
    "SELECT COUNT(*), SUM(v), MIN(v), COUNT(v) FROM tree WHERE id BETWEEN 100 AND 4000",
    "SELECT g, COUNT(*), SUM(v), MAX(s) FROM heap GROUP BY g",
    "SELECT s, g, SUM(m) FROM heap GROUP BY s, g HAVING COUNT(*) > 1",
    "SELECT COUNT(DISTINCT v) FROM heap WHERE v < 400",
    "SELECT h.id, t.v FROM heap AS h JOIN tree AS t ON t.v = h.v AND t.g = h.g WHERE h.v < 50",
    "SELECT h.id, t.id FROM heap AS h LEFT JOIN tree AS t ON t.v = h.id AND t.g = h.g WHERE h.g < 3",
    "SELECT t.g, COUNT(*) FROM heap AS h JOIN tree AS t ON t.v = h.v GROUP BY t.g",
    "SELECT TOP (50) id, v FROM heap ORDER BY v DESC, id",
    "SELECT COUNT(*) FROM tree WHERE g = 5",
    "SELECT h.id, t.id FROM heap AS h RIGHT JOIN tree AS t ON h.v = t.id AND h.g = t.g WHERE t.g < 20",
    "SELECT h.id, t.id FROM heap AS h FULL JOIN tree AS t ON h.v = t.v AND h.g = t.g + 1 AND h.id < t.id",
    "SELECT COUNT(*), COUNT(h.id), COUNT(t.id), SUM(t.id) FROM heap AS h FULL JOIN tree AS t ON h.id = t.id + 3000 AND h.v < 500",
    "SELECT a.id, b.id, c.g FROM heap AS a RIGHT JOIN tree AS b ON a.id = b.v FULL JOIN heap AS c ON c.id = a.id + 5",
    "SELECT h.g, COUNT(*), COUNT(t.v) FROM heap AS h LEFT JOIN tree AS t ON t.id = h.v + 900 GROUP BY h.g",
    "SELECT id FROM heap AS h WHERE EXISTS (SELECT * FROM tree AS t WHERE t.id = h.v AND t.v > 500)",
    "SELECT id FROM heap AS h WHERE NOT EXISTS (SELECT * FROM tree AS t WHERE t.id = h.v + 5300 AND t.v > 500)",
    "SELECT id FROM heap WHERE v IN (SELECT v FROM tree WHERE g = 3) AND id NOT IN (SELECT v FROM tree WHERE v IS NOT NULL)",
    "SELECT id, (SELECT COUNT(*) FROM tree AS t WHERE t.id < h.g) FROM heap AS h WHERE v < 100",
    "SELECT g, SUM(CONVERT(float, v) / 4), AVG(CONVERT(real, v)), COUNT(*) FROM heap GROUP BY g",
    "SELECT SUM(CONVERT(float, t.v)), AVG(h.v / 8e0) FROM heap AS h FULL JOIN tree AS t ON h.id = t.id + 10",
    "SELECT id, COUNT(*), SUM(v), MAX(s) FROM heap GROUP BY id",
    "SELECT s, v, MIN(m), COUNT(*) FROM heap GROUP BY s, v HAVING MIN(m) > 40",
    "SELECT h.id, COUNT(*) FROM heap AS h JOIN tree AS t ON t.v = h.v GROUP BY h.id",
    "SELECT x.id, x.n, t.id FROM (SELECT v AS id, COUNT(*) AS n FROM heap GROUP BY v) AS x FULL JOIN tree AS t ON t.id = x.id",
    "SELECT g, COUNT(DISTINCT v), SUM(DISTINCT v), COUNT(*), MAX(m) FROM heap GROUP BY g",
    "SELECT h.v % 2, COUNT(DISTINCT s) FROM tree AS t JOIN heap AS h ON h.id = t.id GROUP BY h.v % 2",
    "SELECT COUNT(*), SUM(n) FROM (SELECT v, g, COUNT(*) AS n FROM tree GROUP BY v, g) AS x",
];

/// MAXDOP of ALTER DATABASE SCOPED CONFIGURATION goes before the server's, and only where the session is.
#[test]
fn a_database_has_a_degree_of_its_own() {
    let mut s = world();
    let sql = "SELECT COUNT(*), SUM(v) FROM d.dbo.heap";
    assert!(plan(&mut s, sql).contains("Parallelism("));
    run(&mut s, "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 1");
    assert!(!plan(&mut s, sql).contains("Parallelism("));
    run(&mut s, "USE master");
    assert!(plan(&mut s, sql).contains("Parallelism("));
    run(&mut s, "USE d");
    run(&mut s, "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 0");
    assert!(plan(&mut s, sql).contains("Parallelism("));
}

#[test]
fn answers_are_those_of_one_thread() {
    let mut s = world();
    for sql in QUERIES {
        // Few rows on the left seek their partners.
        let seeks = sql.contains("LEFT JOIN tree AS t ON t.v");
        assert_ne!(plan(&mut s, sql).contains("Parallelism("), seeks, "{sql}");
        let one = rows(&mut s, &format!("{sql} OPTION (MAXDOP 1)"));
        // Rows change threads where that pays at all, where it is expected to, and nowhere.
        for from in [1, 1000, usize::MAX] {
            s.instance.send_rows_from(from);
            let four = rows(&mut s, sql);
            assert_eq!(four, one, "{sql}");
        }
    }
    let sorted = "SELECT id, g, v FROM heap ORDER BY g, v DESC, id";
    let one = run(&mut s, &format!("{sorted} OPTION (MAXDOP 1)"));
    assert_eq!(run(&mut s, sorted), one);
    let assigned =
        "DECLARE @n int, @s int; SELECT @n = COUNT(*), @s = SUM(v) FROM heap; SELECT @n, @s";
    assert!(
        run(&mut s, assigned)
            .iter()
            .any(|r| r.starts_with("6000 | "))
    );
}

#[test]
fn plans_say_so_and_waits_are_counted() {
    let mut s = world();
    let sql = "SELECT g, COUNT(*) FROM heap GROUP BY g";
    assert!(plan(&mut s, sql).contains("Parallelism(Gather Streams)"));
    assert!(!plan(&mut s, &format!("{sql} OPTION (MAXDOP 1)")).contains("Parallelism"));
    // What has to be in an order, asks the session, or may end early is not gathered.
    for serial in [
        "SELECT TOP (3) id FROM heap WHERE v < 400",
        "SELECT id FROM tree WHERE v < 100 ORDER BY id",
        "SELECT id FROM heap WHERE v < 100 AND EXISTS (SELECT * FROM sys.objects WHERE object_id = v)",
        "SELECT id FROM heap WHERE v < 100 AND NEWID() IS NOT NULL",
        "SELECT id FROM heap",
    ] {
        assert!(!plan(&mut s, serial).contains("Parallelism"), "{serial}");
    }
    let waits = "SELECT session_id FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID \
        AND wait_type IN ('CXPACKET', 'CXCONSUMER') GROUP BY session_id HAVING SUM(waiting_tasks_count) > 0";
    s.reset(false).expect("a reset");
    run(&mut s, "USE d");
    assert_eq!(run(&mut s, waits).len(), 2, "nobody has waited");
    // Threads may always find each other ready while the machine has much else to do.
    let waited = (0..1000).any(|_| {
        run(&mut s, sql);
        run(&mut s, waits).len() == 3
    });
    assert!(waited, "somebody has waited");
    // The threshold is followed.
    run(
        &mut s,
        "EXEC sp_configure 'cost threshold for parallelism', 5; RECONFIGURE",
    );
    assert!(!plan(&mut s, sql).contains("Parallelism"));
}

#[test]
fn joins_of_all_kinds_and_subqueries_go_parallel() {
    let mut s = world();
    s.instance.send_rows_from(usize::MAX);
    for sql in [
        "SELECT h.id, t.id FROM heap AS h RIGHT JOIN tree AS t ON h.v = t.v",
        "SELECT h.id, t.id FROM heap AS h FULL JOIN tree AS t ON h.v = t.v",
        "SELECT id FROM heap AS h WHERE NOT EXISTS (SELECT * FROM tree AS t WHERE t.id = h.v)",
        "SELECT id FROM heap AS h WHERE v IN (SELECT v FROM tree)",
        "SELECT SUM(CONVERT(float, v)), VAR(v) FROM heap",
    ] {
        let plan = plan(&mut s, sql);
        assert!(plan.contains("Parallelism(Gather Streams)"), "{plan}");
        assert!(!plan.contains("Repartition"), "{plan}");
    }
}

#[test]
fn rows_change_threads_where_there_are_many_groups_or_kept_rows() {
    let mut s = world();
    s.instance.send_rows_from(1000);
    let groups = "SELECT id, COUNT(*) FROM heap GROUP BY id";
    let shown = plan(&mut s, groups);
    let line = "|--Parallelism(Repartition Streams, Hash Partitioning, PARTITION COLUMNS:([d].[dbo].[heap].[id]))";
    assert!(shown.contains(line), "{shown}");
    let join = "SELECT h.id, t.id FROM heap AS h FULL JOIN tree AS t ON h.v = t.v AND t.g < 10";
    let shown = plan(&mut s, join);
    assert_eq!(shown.matches("Repartition Streams").count(), 2, "{shown}");
    // Few groups are made by each thread of its own rows; where an order is wanted no groups are sent.
    for other in [
        "SELECT g, COUNT(*) FROM heap GROUP BY g",
        "SELECT TOP (5) id, COUNT(*) FROM heap GROUP BY id",
        "SELECT id, SUM(CONVERT(float, v)) FROM heap GROUP BY id",
    ] {
        let shown = plan(&mut s, other);
        assert!(!shown.contains("Repartition"), "{shown}");
    }
    let threads = "SELECT COUNT(*) FROM sys.dm_os_wait_stats WHERE wait_type = 'CXCONSUMER' AND waiting_tasks_count > 0";
    let waited = (0..1000).any(|_| {
        run(&mut s, groups);
        run(&mut s, threads)[1] == "1"
    });
    assert!(waited, "threads that rows are sent to wait for them");
}

/// Floats that are no sums of powers of two: what as many threads make of them is always the same.
#[test]
fn sums_of_floats_are_the_same_each_time() {
    let mut s = world();
    let sql = "SELECT g, SUM(v / 3e0), AVG(v / 7e0), STDEV(v), VARP(v / 3e0) FROM heap GROUP BY g";
    let parse = |rows: &[String]| -> Vec<Vec<f64>> {
        let row = |r: &String| {
            r.split(" | ")
                .map(|c| c.parse().expect("a number"))
                .collect()
        };
        rows[1..rows.len() - 1].iter().map(row).collect()
    };
    let first = run(&mut s, sql);
    for _ in 0..10 {
        assert_eq!(run(&mut s, sql), first);
    }
    let one = run(&mut s, &format!("{sql} OPTION (MAXDOP 1)"));
    for (a, b) in parse(&first)
        .iter()
        .flatten()
        .zip(parse(&one).iter().flatten())
    {
        assert!((a - b).abs() <= b.abs() * 1e-12, "{a} {b}");
    }
    assert_eq!(first.len(), one.len());
}

/// The counters of an operator's threads in a plan: rows and executions.
fn counted(plan: &str, operator: &str) -> Vec<(u32, u64, u64)> {
    let start = plan
        .find(&format!("PhysicalOp=\"{operator}\""))
        .expect("it is there");
    let of = &plan[start
        ..start
            + plan[start..]
                .find("</RunTimeInformation>")
                .expect("counted")];
    let number = |thread: &str, name: &str| -> u64 {
        let at = thread.find(&format!(" {name}=\"")).expect("an attribute") + name.len() + 3;
        thread[at..]
            .split('"')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    of.split("<RunTimeCountersPerThread")
        .skip(1)
        .map(|t| {
            assert!(number(t, "ActualElapsedms") < 600_000 && number(t, "ActualCPUms") < 600_000);
            let rows = number(t, "ActualRows");
            (
                number(t, "Thread") as u32,
                rows,
                number(t, "ActualExecutions"),
            )
        })
        .collect()
}

#[test]
fn a_plan_tells_what_each_thread_did() {
    let mut s = world();
    s.instance.send_rows_from(1000);
    run(&mut s, "SET STATISTICS XML ON");
    let mut plan = |sql: &str| -> String {
        let lines = run(&mut s, sql);
        lines
            .into_iter()
            .find(|l| l.starts_with("<ShowPlanXML"))
            .expect("a plan")
    };
    let total = |threads: &[(u32, u64, u64)]| threads.iter().map(|t| t.1).sum::<u64>();

    let few = plan("SELECT g, COUNT(*) FROM heap GROUP BY g");
    let scan = counted(&few, "Table Scan");
    assert_eq!(total(&scan), 6000);
    assert!(scan.iter().all(|t| t.0 > 0), "helpers read: {scan:?}");
    assert_eq!(counted(&few, "Parallelism"), [(0, 37, 1)]);
    assert!(
        few.contains("<QueryTimeStats CpuTime=\"") && few.contains(" DegreeOfParallelism=\"4\"")
    );

    let many = plan("SELECT id, COUNT(*) FROM heap GROUP BY id");
    assert_eq!(total(&counted(&many, "Hash Match")), 6000);
    assert_eq!(counted(&many, "Hash Match").len(), 4);
    assert_eq!(counted(&many, "Parallelism"), [(0, 6000, 1)]);
    let repartition = &many[many.find("Repartition Streams").expect("sent") - 40..];
    assert_eq!(total(&counted(repartition, "Parallelism")), 6000);

    let sorted = plan("SELECT id FROM heap WHERE v < 500 ORDER BY v");
    assert_eq!(total(&counted(&sorted, "Sort")), 3000);
    let one = plan("SELECT COUNT(*) FROM heap OPTION (MAXDOP 1)");
    assert_eq!(counted(&one, "Table Scan"), [(0, 6000, 1)]);
}

#[test]
fn an_error_in_a_thread_is_the_statements() {
    let mut s = world();
    s.instance.send_rows_from(1);
    for sql in [
        "SELECT id / (v - 500) FROM heap WHERE v BETWEEN 400 AND 600",
        "SELECT SUM(id / (v - 500)) FROM heap",
        "SELECT id FROM heap ORDER BY id / (v - 500)",
        "SELECT id / (v - 500), COUNT(*) FROM heap GROUP BY id / (v - 500)",
        "SELECT id, SUM(id / (v - 500)) FROM heap GROUP BY id",
        "SELECT h.id FROM heap AS h JOIN tree AS t ON t.id = h.id / (h.v - 500)",
        "SELECT h.id FROM heap AS h FULL JOIN tree AS t ON t.id = h.id AND h.id / (h.v - 500) > 0",
        "SELECT id FROM heap AS h WHERE EXISTS (SELECT * FROM tree AS t WHERE t.id = h.id / (h.v - 500))",
    ] {
        let answer = run(&mut s, sql);
        assert!(
            answer.iter().any(|l| l.contains("8134")),
            "{sql}: {answer:?}"
        );
    }
    let overflow = run(&mut s, "SELECT SUM(v * 2000000) FROM tree");
    assert!(overflow.iter().any(|l| l.contains("8115")), "{overflow:?}");
    // In the threads that get the rows sent.
    let sent = "SELECT id % 1500, SUM(v * 2000000) FROM heap GROUP BY id % 1500";
    let overflow = run(&mut s, sent);
    assert!(overflow.iter().any(|l| l.contains("8115")), "{overflow:?}");
    assert_eq!(
        rows(&mut s, "SELECT COUNT(*) FROM heap WHERE v >= 0")[1],
        "6000"
    );
}

fn simulated(seed: u64, test: impl FnOnce(&Arc<Instance>) + Send + 'static) {
    Simulation::new(seed).max_steps(50_000_000).run(|sim| {
        let instance = start(&sim.env());
        force(&instance);
        let mut s = login(&instance);
        run(&mut s, "CREATE DATABASE d");
        run(
            &mut s,
            "USE d; CREATE TABLE t (id int PRIMARY KEY, v int, filler char(2000)); \
             INSERT t SELECT value, value, '' FROM GENERATE_SERIES(1, 60)",
        );
        drop(s);
        test(&instance);
    });
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut s = login(instance);
    run(&mut s, "USE d");
    s
}

#[test]
fn threads_wait_for_rows_that_others_have_locked() {
    for seed in seeds(0, 3) {
        simulated(seed, |instance| {
            let mut writer = session(instance);
            run(
                &mut writer,
                "BEGIN TRAN; UPDATE t SET v = v + 1000 WHERE id IN (7, 31, 55)",
            );
            let mut reader = session(instance);
            let sum = thread::spawn("reader", move || {
                run(&mut reader, "SELECT SUM(v), COUNT(*) FROM t")
            });
            thread::sleep(Duration::from_millis(200));
            assert!(!sum.is_finished(), "rows are locked");
            // Dirty rows are read by whoever asks for them.
            let mut dirty = session(instance);
            let now = run(&mut dirty, "SELECT SUM(v) FROM t WITH (NOLOCK)");
            assert_eq!(now[1], "4830");
            run(&mut writer, "ROLLBACK");
            assert_eq!(sum.join().expect("read")[1], "1830 | 60");
        });
    }
}

#[test]
fn a_lock_timeout_or_an_attention_ends_all_threads() {
    for seed in seeds(10, 3) {
        simulated(seed, |instance| {
            let mut writer = session(instance);
            run(
                &mut writer,
                "BEGIN TRAN; UPDATE t SET v = 0 WHERE id IN (1, 20, 40, 60)",
            );
            let mut reader = session(instance);
            let late = run(&mut reader, "SET LOCK_TIMEOUT 50; SELECT SUM(v) FROM t");
            assert!(late.iter().any(|l| l.contains("1222")), "{late:?}");
            run(&mut reader, "SET LOCK_TIMEOUT -1");
            let cancel = CancelToken::default();
            let flag = cancel.0.clone();
            let read = thread::spawn("reader", move || {
                let mut sink = TextSink::default();
                reader.execute_batch(
                    "SELECT id FROM t WHERE v < 5 ORDER BY v",
                    &mut sink,
                    &cancel,
                );
                run(&mut reader, "SELECT COUNT(*) FROM t WITH (NOLOCK)")
            });
            thread::sleep(Duration::from_millis(100));
            assert!(!read.is_finished());
            flag.store(true, Ordering::SeqCst);
            let after = read.join().expect("the session lives on");
            assert_eq!(after[1], "60");
            run(&mut writer, "ROLLBACK");
        });
    }
}

/// Rows that change threads: locked ones are waited for; an attention, a timeout and a limit of rows end everybody.
#[test]
fn threads_that_send_rows_end_with_the_statement() {
    for seed in seeds(30, 4) {
        simulated(seed, |instance| {
            instance.send_rows_from(1);
            let groups = "SELECT v, COUNT(*) FROM t GROUP BY v";
            let join = "SELECT a.id, b.id FROM t AS a FULL JOIN t AS b ON a.v = b.v + 30";
            let mut writer = session(instance);
            run(
                &mut writer,
                "BEGIN TRAN; UPDATE t SET v = v + 1000 WHERE id IN (1, 20, 40, 60)",
            );
            let mut reader = session(instance);
            for sql in [groups, join] {
                let late = run(&mut reader, &format!("SET LOCK_TIMEOUT 50; {sql}"));
                assert!(late.iter().any(|l| l.contains("1222")), "{late:?}");
            }
            run(&mut reader, "SET LOCK_TIMEOUT -1");
            for sql in [groups, join] {
                let cancel = CancelToken::default();
                let flag = cancel.0.clone();
                let read = thread::spawn("reader", move || {
                    reader.execute_batch(sql, &mut TextSink::default(), &cancel);
                    reader
                });
                thread::sleep(Duration::from_millis(100));
                assert!(!read.is_finished());
                flag.store(true, Ordering::SeqCst);
                reader = read.join().expect("the session lives on");
            }
            run(&mut writer, "ROLLBACK");
            for (sql, all) in [(groups, 60), (join, 90)] {
                assert_eq!(run(&mut reader, sql).len(), all + 2);
                let some = run(
                    &mut reader,
                    &format!("SET ROWCOUNT 3; {sql}; SET ROWCOUNT 0"),
                );
                assert_eq!(some.len(), 5, "{some:?}");
            }
        });
    }
}

#[test]
fn all_threads_see_one_snapshot() {
    for seed in seeds(20, 2) {
        simulated(seed, |instance| {
            run(
                &mut login(instance),
                "ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON",
            );
            let mut writer = session(instance);
            let moving = thread::spawn("writer", move || {
                for i in 0..30 {
                    let (from, to) = (1 + i % 60, 60 - i % 60);
                    run(
                        &mut writer,
                        &format!(
                            "BEGIN TRAN; UPDATE t SET v = v - 5 WHERE id = {from}; \
                             UPDATE t SET v = v + 5 WHERE id = {to}; COMMIT"
                        ),
                    );
                }
            });
            let mut reader = session(instance);
            for _ in 0..20 {
                assert_eq!(run(&mut reader, "SELECT SUM(v) FROM t")[1], "1830");
            }
            moving.join().expect("moved");
        });
    }
}

/// `DURAMEN_SPEED=1 cargo test -p duramen-session --profile sim speed_of_threads -- --nocapture` prints what one thread
/// and as many as there are processors need; otherwise a few rows, for the answers.
#[test]
fn speed_of_threads() {
    let many = std::env::var_os("DURAMEN_SPEED").is_some();
    let rows = if many { 3_000_000 } else { 3_000 };
    let mut s = alone();
    run(&mut s, FORCE);
    run(&mut s, "CREATE DATABASE d");
    run(&mut s, "USE d");
    run(&mut s, "CREATE TABLE t (id int NOT NULL, a int, b int)");
    run(
        &mut s,
        &format!(
            "INSERT t SELECT value, value * 7 % 1000003, value % 1000 FROM GENERATE_SERIES(1, {rows})"
        ),
    );
    for sql in [
        "SELECT b, COUNT(*), SUM(a) FROM t GROUP BY b",
        "SELECT SUM(a) FROM t WHERE a % 7 = 3",
        "SELECT a, COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > 100",
        "SELECT a, b, COUNT(*) FROM t GROUP BY a, b HAVING COUNT(*) > 100",
        "SELECT COUNT(*) FROM t AS x JOIN t AS y ON x.a = y.id",
        "SELECT id, a FROM t ORDER BY a, id",
    ] {
        let mut answers = Vec::new();
        let never = usize::MAX;
        let ways = [
            (" OPTION (MAXDOP 1)", never, ""),
            ("", never, " -- no rows change threads"),
            ("", Parallelism::SENT_FROM, ""),
        ];
        for (hint, from, how) in ways {
            s.instance.send_rows_from(from);
            let start = duramen_os::time::now();
            let mut answer = run(&mut s, &format!("{sql}{hint}"));
            if many {
                let ms = start.elapsed().as_millis();
                println!("{ms:>6} ms {sql}{hint}{how}");
            }
            if !sql.contains("ORDER BY") {
                answer.sort();
            }
            answers.push(answer);
        }
        assert!(answers.iter().all(|a| *a == answers[0]), "{sql}");
    }
}
