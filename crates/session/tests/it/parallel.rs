//! Queries that several threads run: their answers, waits, locks and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_session::{CancelToken, Instance, Session, TextSink};

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

const QUERIES: [&str; 12] = [
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
];

#[test]
fn answers_are_those_of_one_thread() {
    let mut s = world();
    for sql in QUERIES {
        let one = rows(&mut s, &format!("{sql} OPTION (MAXDOP 1)"));
        let four = rows(&mut s, sql);
        assert_eq!(four, one, "{sql}");
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
        "SELECT SUM(CONVERT(float, v)) FROM heap",
        "SELECT id FROM heap WHERE v < 100 AND NEWID() IS NOT NULL",
        "SELECT id FROM heap",
    ] {
        assert!(!plan(&mut s, serial).contains("Parallelism"), "{serial}");
    }
    let waits = "SELECT SUM(waiting_tasks_count) FROM sys.dm_os_wait_stats \
        WHERE wait_type IN ('CXPACKET', 'CXCONSUMER') HAVING SUM(waiting_tasks_count) > 0";
    for _ in 0..20 {
        run(&mut s, "SELECT id, v, m FROM heap WHERE v < 500");
    }
    assert_eq!(run(&mut s, waits).len(), 3, "somebody has waited");
    // The threshold is followed.
    run(
        &mut s,
        "EXEC sp_configure 'cost threshold for parallelism', 5; RECONFIGURE",
    );
    assert!(!plan(&mut s, sql).contains("Parallelism"));
}

#[test]
fn an_error_in_a_thread_is_the_statements() {
    let mut s = world();
    for sql in [
        "SELECT id / (v - 500) FROM heap WHERE v BETWEEN 400 AND 600",
        "SELECT SUM(id / (v - 500)) FROM heap",
        "SELECT id FROM heap ORDER BY id / (v - 500)",
    ] {
        let answer = run(&mut s, sql);
        assert!(
            answer.iter().any(|l| l.contains("8134")),
            "{sql}: {answer:?}"
        );
    }
    let overflow = run(&mut s, "SELECT SUM(v * 2000000) FROM tree");
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
        "SELECT COUNT(*) FROM t AS x JOIN t AS y ON x.a = y.id",
        "SELECT id, a FROM t ORDER BY a, id",
    ] {
        let mut answers = Vec::new();
        for hint in [" OPTION (MAXDOP 1)", ""] {
            let start = duramen_os::time::now();
            answers.push(run(&mut s, &format!("{sql}{hint}")));
            if many {
                println!("{:>6} ms {sql}{hint}", start.elapsed().as_millis());
            }
        }
        assert!(answers[0] == answers[1], "{sql}");
    }
}
