//! Sessions that wait for locks: what they find when the wait is over, and how else it can end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use duramen_access::cancel::CancelToken;
use duramen_events::instance::Instance;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_program::text::TextSink;
use duramen_session::Session;

use super::{instance, login, run, start};

fn world(seed: u64, test: impl FnOnce(&Arc<Instance>) + Send + 'static) {
    Simulation::new(seed).max_steps(20_000_000).run(|sim| {
        let instance = start(&sim.env());
        let mut s = login(&instance);
        run(&mut s, "CREATE DATABASE d");
        run(
            &mut s,
            "USE d; CREATE TABLE t (id int PRIMARY KEY, v int); INSERT t VALUES (1, 1), (2, 2)",
        );
        test(&instance);
    });
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut s = login(instance);
    run(&mut s, "USE d");
    s
}

/// The batch in a session of its own, on a thread.
fn aside(instance: &Arc<Instance>, sql: &'static str) -> thread::JoinHandle<Vec<String>> {
    let mut s = session(instance);
    thread::spawn("aside", move || run(&mut s, sql))
}

fn a_while() {
    thread::sleep(Duration::from_millis(50));
}

#[test]
fn a_statement_that_waited_for_a_definition_is_bound_again() {
    for seed in seeds(0, 2) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(&mut s, "BEGIN TRAN; CREATE INDEX iv ON t (v)");
            let insert = aside(instance, "INSERT t VALUES (3, 3)");
            let select = aside(instance, "SELECT id FROM t WHERE v = 2");
            a_while();
            run(&mut s, "ROLLBACK");
            insert.join().expect("inserted");
            assert_eq!(select.join().expect("read"), ["(id int)", "2", "rows 1"]);

            run(&mut s, "BEGIN TRAN; UPDATE t SET v = 3 WHERE id = 3");
            let index = aside(instance, "CREATE INDEX iv ON t (v)");
            let insert = aside(instance, "INSERT t VALUES (4, 4)");
            let delete = aside(instance, "DELETE t WHERE id = 1");
            a_while();
            run(&mut s, "COMMIT");
            assert_eq!(index.join().expect("indexed"), Vec::<String>::new());
            insert.join().expect("inserted");
            delete.join().expect("deleted");
            // Whatever the order was: the index has what the table has.
            assert_eq!(
                run(&mut s, "SELECT v FROM t WHERE v = 4"),
                ["(v int)", "4", "rows 1"]
            );
            assert_eq!(
                run(&mut s, "SELECT v FROM t WHERE v = 1"),
                ["(v int)", "rows 0"]
            );
        });
    }
}

#[test]
fn dbcc_of_a_table_waits_for_its_definition() {
    for seed in seeds(0, 2) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(&mut s, "CREATE TABLE i (n int IDENTITY, v int)");
            let check = |sql| aside(instance, sql);
            let said = |check: thread::JoinHandle<Vec<String>>| check.join().expect("an answer");

            run(&mut s, "BEGIN TRAN; ALTER TABLE i ADD DEFAULT 5 FOR v");
            let set = check("DBCC CHECKIDENT ('i', RESEED, 7) WITH NO_INFOMSGS");
            let reported = check("DBCC CHECKIDENT ('i', NORESEED) WITH NO_INFOMSGS");
            a_while();
            run(&mut s, "COMMIT");
            assert_eq!((said(set), said(reported)), (vec![], vec![]));

            run(&mut s, "BEGIN TRAN; CREATE TABLE j (n int IDENTITY)");
            let set = check("DBCC CHECKIDENT ('j', RESEED, 7) WITH NO_INFOMSGS");
            let table = check("DBCC CHECKTABLE ('j') WITH NO_INFOMSGS");
            a_while();
            run(&mut s, "COMMIT");
            assert_eq!((said(set), said(table)), (vec![], vec![]));

            run(&mut s, "BEGIN TRAN; DROP TABLE j");
            let set = check("DBCC CHECKIDENT ('j', RESEED, 7) WITH NO_INFOMSGS");
            a_while();
            run(&mut s, "COMMIT");
            assert!(said(set)[0].contains("2501"), "it is not there any more");
        });
    }
}

#[test]
fn a_definition_that_waited_for_another_goes_on_from_it() {
    for seed in seeds(0, 3) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(&mut s, "CREATE INDEX iv ON t (v)");
            run(&mut s, "BEGIN TRAN; UPDATE t SET v = 3 WHERE id = 1");
            let waiting = [
                aside(instance, "ALTER INDEX iv ON t REBUILD"),
                aside(instance, "ALTER INDEX ALL ON t REBUILD"),
                aside(instance, "CREATE INDEX iw ON t (v, id)"),
                aside(
                    instance,
                    "ALTER INDEX iv ON t REBUILD WITH (FILLFACTOR = 70)",
                ),
            ];
            a_while();
            run(&mut s, "COMMIT");
            for w in waiting {
                assert_eq!(w.join().expect("it ended"), Vec::<String>::new());
            }
            let found = "SELECT COUNT(*), MAX(fill_factor) FROM sys.indexes WHERE object_id = OBJECT_ID('t')";
            assert_eq!(run(&mut s, found)[1], "3 | 70");
            assert_eq!(run(&mut s, "SELECT id FROM t WHERE v = 3")[1], "1");
            let check = run(&mut s, "DBCC CHECKDB (d) WITH NO_INFOMSGS");
            assert_eq!(check, Vec::<String>::new());
        });
    }
}

/// Each of them waits for the table twice: for the rows, and for the one before it, which defines the table anew.
#[test]
fn changes_of_a_table_that_waited_for_others_go_on() {
    for seed in seeds(0, 3) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(
                &mut s,
                "CREATE INDEX iv ON t (v); CREATE INDEX iw ON t (v, id); \
                 CREATE TABLE o (id int PRIMARY KEY, t int)",
            );
            run(&mut s, "BEGIN TRAN; UPDATE t SET v = 3 WHERE id = 1");
            let waiting = [
                aside(instance, "ALTER TABLE t ADD w int NOT NULL DEFAULT 7"),
                aside(instance, "DROP INDEX iv ON t"),
                aside(instance, "ALTER TABLE t ADD CHECK (v > 0)"),
                aside(instance, "UPDATE STATISTICS t"),
                aside(instance, "CREATE STATISTICS sv ON t (v)"),
                aside(
                    instance,
                    "ALTER TABLE o ADD FOREIGN KEY (t) REFERENCES t (id)",
                ),
                aside(instance, "DROP INDEX IF EXISTS iw ON t"),
            ];
            a_while();
            run(&mut s, "COMMIT");
            for w in waiting {
                assert_eq!(w.join().expect("it ended"), Vec::<String>::new());
            }
            let found = "SELECT (SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('t')), \
                (SELECT COUNT(*) FROM sys.check_constraints WHERE parent_object_id = OBJECT_ID('t')), \
                (SELECT COUNT(*) FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID('t')), \
                (SELECT SUM(w) FROM t)";
            assert_eq!(run(&mut s, found)[1], "1 | 1 | 1 | 14");

            // Tables that are emptied and dropped meanwhile.
            run(&mut s, "DROP TABLE o; BEGIN TRAN; UPDATE t SET v = 4");
            let waiting = [
                aside(instance, "TRUNCATE TABLE t"),
                aside(instance, "ALTER TABLE t ADD x int"),
                aside(instance, "TRUNCATE TABLE t"),
                aside(instance, "ALTER TABLE t ADD y int"),
            ];
            a_while();
            run(&mut s, "COMMIT");
            for w in waiting {
                assert_eq!(w.join().expect("it ended"), Vec::<String>::new());
            }
            assert_eq!(
                run(&mut s, "SELECT COUNT(x) + COUNT(y) + COUNT(*) FROM t")[1],
                "0"
            );
            run(&mut s, "BEGIN TRAN; INSERT t (id, v) VALUES (9, 9)");
            let first = aside(instance, "ALTER TABLE t ADD z int");
            let second = aside(instance, "DROP TABLE t");
            a_while();
            run(&mut s, "COMMIT");
            let first = first.join().expect("it ended");
            assert!(
                first.is_empty() || first[0].starts_with("Msg 4902,"),
                "{first:?}"
            );
            assert_eq!(second.join().expect("it ended"), Vec::<String>::new());
            let check = run(&mut s, "DBCC CHECKDB (d) WITH NO_INFOMSGS");
            assert_eq!(check, Vec::<String>::new());
        });
    }
}

#[test]
fn a_table_that_is_dropped_meanwhile_is_not_there() {
    for seed in seeds(0, 2) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(&mut s, "BEGIN TRAN; DROP TABLE t");
            let waiting = [
                aside(instance, "SELECT * FROM t"),
                aside(instance, "INSERT t VALUES (3, 3)"),
                aside(instance, "SELECT * FROM t WITH (NOLOCK)"),
                aside(instance, "DROP TABLE t"),
            ];
            a_while();
            run(&mut s, "COMMIT");
            for w in waiting {
                let lines = w.join().expect("an error, no panic");
                let known = ["Msg 208,", "Msg 2801,", "Msg 3701,"];
                let found = lines.iter().find(|l| l.starts_with("Msg"));
                let found = found.unwrap_or_else(|| panic!("{lines:?}"));
                assert!(known.iter().any(|k| found.starts_with(k)), "{found}");
            }
        });
    }
}

#[test]
fn an_attention_ends_a_wait() {
    world(1, |instance| {
        let mut s = session(instance);
        run(&mut s, "BEGIN TRAN; UPDATE t SET v = 0 WHERE id = 2");
        let mut b = session(instance);
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let waiting = thread::spawn("waiting", move || {
            run(&mut b, "BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1");
            let mut sink = TextSink::default();
            b.execute_batch("SELECT 1; UPDATE t SET v = 6; SELECT 2", &mut sink, &token);
            (b, sink.lines)
        });
        // Its second batch waits for the row that is changed here.
        a_while();
        cancel.0.store(true, Ordering::Release);
        let (mut b, lines) = waiting.join().expect("it ended");
        assert!(!lines.iter().any(|l| l.starts_with("Msg")), "{lines:?}");
        assert!(!lines.contains(&"2".to_owned()), "{lines:?}");
        assert_eq!(run(&mut b, "SELECT @@TRANCOUNT")[1], "1");
        assert_eq!(run(&mut b, "SELECT v FROM t WHERE id = 1")[1], "5");
    });
}

#[test]
fn an_attention_takes_the_transaction_with_it_under_xact_abort() {
    for (xact_abort, open) in [("OFF", "1"), ("ON", "0")] {
        world(1, move |instance| {
            let mut s = session(instance);
            run(&mut s, "BEGIN TRAN; UPDATE t SET v = 0 WHERE id = 2");
            let mut b = session(instance);
            let cancel = CancelToken::default();
            let token = cancel.clone();
            let before = run(&mut s, "SELECT v FROM t WHERE id = 1")[1].clone();
            let waiting = thread::spawn("waiting", move || {
                run(&mut b, &format!("SET XACT_ABORT {xact_abort}"));
                run(&mut b, "BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1");
                let mut sink = TextSink::default();
                let text = "BEGIN TRY UPDATE t SET v = 6 END TRY BEGIN CATCH SELECT 2 END CATCH";
                b.execute_batch(text, &mut sink, &token);
                (b, sink.lines)
            });
            a_while();
            cancel.0.store(true, Ordering::Release);
            let (mut b, lines) = waiting.join().expect("it ended");
            assert!(lines.is_empty(), "{lines:?}");
            assert_eq!(run(&mut b, "SELECT @@TRANCOUNT")[1], open);
            let now = run(&mut b, "SELECT v FROM t WHERE id = 1")[1].clone();
            match xact_abort {
                "ON" => assert_eq!(now, before),
                _ => assert_eq!(now, "5"),
            }
        });
    }
}

#[test]
fn the_victim_of_a_deadlock_is_the_one_of_low_priority() {
    for (low_first, seed) in [(true, 1), (false, 2)] {
        world(seed, move |instance| {
            let mut listener = session(instance);
            run(
                &mut listener,
                "CREATE EVENT SESSION d ON SERVER ADD EVENT sqlserver.xml_deadlock_report ADD TARGET package0.ring_buffer",
            );
            run(
                &mut listener,
                "ALTER EVENT SESSION d ON SERVER STATE = START",
            );
            let work = |low: bool, a: u8, b: u8| {
                let mut s = session(instance);
                thread::spawn("session", move || {
                    if low {
                        run(&mut s, "SET DEADLOCK_PRIORITY LOW");
                    }
                    run(
                        &mut s,
                        &format!("BEGIN TRAN; UPDATE t SET v = v + 1 WHERE id = {a}"),
                    );
                    a_while();
                    let lines = run(&mut s, &format!("UPDATE t SET v = v + 1 WHERE id = {b}"));
                    let open = run(&mut s, "SELECT @@TRANCOUNT")[1].clone();
                    run(&mut s, "IF @@TRANCOUNT > 0 COMMIT");
                    (lines, open)
                })
            };
            let first = work(low_first, 1, 2);
            let second = work(!low_first, 2, 1);
            let (first, second) = (first.join().expect("first"), second.join().expect("second"));
            let (victim, winner) = if low_first {
                (first, second)
            } else {
                (second, first)
            };
            assert!(
                victim.0[0].starts_with("Msg 1205, Level 13, State 51"),
                "{victim:?}"
            );
            assert_eq!(victim.1, "0");
            let graph = "SELECT g.x.value('count(//deadlock/process-list/process)', 'int'), g.x.value('count(//keylock)', 'int'),
                    g.x.value('(//process[@id=//victimProcess/@id]/@priority)[1]', 'int'),
                    g.x.exist('//inputbuf[contains(., \"UPDATE t\")]')
                FROM (SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t
                    ON t.event_session_address = s.address WHERE s.name = 'd') AS g(x)";
            assert_eq!(run(&mut listener, graph)[1], "2 | 2 | -5 | 1");
            // Who has what, by name, and the statements that wait.
            let named = "SELECT k.x.value('@objectname', 'nvarchar(99)'), k.x.value('@indexname', 'nvarchar(99)'), k.x.value('@mode', 'char(1)'),
                    k.x.value('(owner-list/owner/@mode)[1]', 'char(1)'), k.x.value('(waiter-list/waiter/@mode)[1]', 'char(1)'),
                    CASE WHEN k.x.value('@associatedObjectId', 'bigint') = k.x.value('@hobtid', 'bigint') THEN 1 END
                FROM (SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t
                    ON t.event_session_address = s.address WHERE s.name = 'd') AS g(x) CROSS APPLY g.x.nodes('//keylock') AS k(x)";
            let lines = run(&mut listener, named);
            let named = lines[1].split(" | ").collect::<Vec<_>>();
            assert!(
                named[0].ends_with(".dbo.t") && named[0].len() > 6,
                "{lines:?}"
            );
            assert!(named[1].starts_with("PK__t__"), "{lines:?}");
            assert_eq!(named[2..], ["X", "X", "U", "1"], "{lines:?}");
            let processes = "SELECT p.x.value('(executionStack/frame/@procname)[1]', 'nvarchar(20)'), LEFT(p.x.value('(executionStack/frame)[1]', 'nvarchar(200)'), 8),
                    p.x.value('@isolationlevel', 'nvarchar(30)'), p.x.value('@trancount', 'int'), p.x.value('@currentdbname', 'sysname'), p.x.value('@status', 'nvarchar(10)'),
                    p.x.value('@transactionname', 'sysname'), p.x.value('@lockMode', 'char(1)')
                FROM (SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t
                    ON t.event_session_address = s.address WHERE s.name = 'd') AS g(x) CROSS APPLY g.x.nodes('//process-list/process') AS p(x)";
            let lines = run(&mut listener, processes);
            let database = named[0].split('.').next().expect("a name");
            let expected = format!(
                "adhoc | UPDATE t | read committed (2) | 1 | {database} | suspended | user_transaction | U"
            );
            assert_eq!(lines[1], expected, "{lines:?}");
            assert_eq!(winner, (vec!["rows 1".to_owned()], "1".to_owned()));
            let mut s = session(instance);
            assert_eq!(run(&mut s, "SELECT SUM(v) FROM t")[1], "5");
            let sql = "SELECT COUNT(*) FROM sys.dm_os_wait_stats WHERE wait_type LIKE 'LCK_M_%' AND waiting_tasks_count > 0";
            assert_ne!(run(&mut s, sql)[1], "0");
        });
    }
}

/// Each process of a deadlock stands there with the procedures that it is in, innermost first.
#[test]
fn a_deadlock_tells_the_stack_of_procedures() {
    world(5, |instance| {
        let mut listener = session(instance);
        for sql in [
            "CREATE PROCEDURE inner_p @n int AS\nUPDATE t SET v = v + 1 WHERE id = @n",
            "CREATE PROCEDURE outer_p @n int AS\nBEGIN\n  EXEC inner_p @n\nEND",
            // Both sessions run what is compiled here.
            "EXEC outer_p 0",
            "CREATE EVENT SESSION d ON SERVER ADD EVENT sqlserver.xml_deadlock_report ADD TARGET package0.ring_buffer",
            "ALTER EVENT SESSION d ON SERVER STATE = START",
        ] {
            run(&mut listener, sql);
        }
        let work = |a: u8, b: u8| {
            let mut s = session(instance);
            thread::spawn("session", move || {
                run(&mut s, &format!("BEGIN TRAN; EXEC outer_p {a}"));
                a_while();
                run(&mut s, &format!("EXEC outer_p {b}"));
                run(&mut s, "IF @@TRANCOUNT > 0 COMMIT");
            })
        };
        let both = [work(1, 2), work(2, 1)];
        for session in both {
            session.join().expect("it ended");
        }
        let frames = "SELECT p.x.value('count(executionStack/frame)', 'int'), f.x.value('@procname', 'nvarchar(90)'), f.x.value('@line', 'int'), LEFT(f.x.value('.', 'nvarchar(200)'), 12),
                CASE WHEN SUBSTRING(t.text, f.x.value('@stmtstart', 'int') / 2 + 1, 6) = LEFT(f.x.value('.', 'nvarchar(200)'), 6) THEN 'found' END
            FROM (SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t
                ON t.event_session_address = s.address WHERE s.name = 'd') AS g(x) CROSS APPLY g.x.nodes('//process-list/process') AS p(x)
            CROSS APPLY p.x.nodes('executionStack/frame') AS f(x) OUTER APPLY sys.dm_exec_sql_text(CONVERT(varbinary(64), f.x.value('@sqlhandle', 'varchar(130)'), 1)) t";
        let lines = run(&mut listener, frames);
        let database = run(&mut listener, "SELECT DB_NAME()")[1].clone();
        let expected = [
            format!("3 | {database}.dbo.inner_p | 2 | UPDATE t SET | found"),
            format!("3 | {database}.dbo.outer_p | 3 | EXEC inner_p | found"),
            "3 | adhoc | 1 | EXEC outer_p | found".to_owned(),
        ];
        assert_eq!(
            lines[1..],
            [&expected[..], &expected[..], &["rows 6".to_owned()]].concat()
        );
    });
}

/// In a simulated world there is no error log: real threads, a simulated disk.
#[test]
fn trace_flag_1222_writes_deadlocks_into_the_error_log() {
    let instance = crate::instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(
        &mut a,
        "DBCC TRACEON(1222, -1); CREATE TABLE tempdb.dbo.t (id int PRIMARY KEY, v int); INSERT tempdb.dbo.t VALUES (1, 1), (2, 2)",
    );
    run(
        &mut a,
        "USE tempdb; BEGIN TRAN; UPDATE t SET v = 3 WHERE id = 1",
    );
    run(
        &mut b,
        "USE tempdb; BEGIN TRAN; UPDATE t SET v = 4 WHERE id = 2",
    );
    let other = thread::spawn("other", move || {
        let lines = run(&mut b, "UPDATE t SET v = 4 WHERE id = 1");
        run(&mut b, "IF @@TRANCOUNT > 0 ROLLBACK");
        lines
    });
    let own = run(&mut a, "UPDATE t SET v = 3 WHERE id = 2");
    run(&mut a, "IF @@TRANCOUNT > 0 ROLLBACK");
    let both = [own, other.join().expect("no panic")].concat();
    assert!(both.iter().any(|l| l.starts_with("Msg 1205")), "{both:?}");
    for (text, lines) in [
        ("deadlock-list", 1),
        (" deadlock victim=process", 1),
        ("   process id=process", 2),
        ("    executionStack", 2),
        ("    inputbuf", 2),
        ("   keylock hobtid=", 2),
        ("requestType=wait", 2),
    ] {
        let found = run(&mut a, &format!("EXEC sp_readerrorlog 0, 1, '{text}'"));
        let rows = found.iter().filter(|l| l.contains(text));
        assert_eq!(rows.count(), lines, "{text}: {found:?}");
    }
}

#[test]
fn who_is_blocked_for_long_is_reported_again_and_again() {
    world(9, |instance| {
        let mut listener = session(instance);
        run(
            &mut listener,
            "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; \
             EXEC sp_configure 'blocked process threshold (s)', 5; RECONFIGURE",
        );
        run(
            &mut listener,
            "CREATE EVENT SESSION b ON SERVER ADD EVENT sqlserver.blocked_process_report ADD TARGET package0.ring_buffer",
        );
        run(
            &mut listener,
            "ALTER EVENT SESSION b ON SERVER STATE = START",
        );
        let mut s = session(instance);
        run(&mut s, "BEGIN TRAN; UPDATE t SET v = 9 WHERE id = 1");
        let waiting = aside(instance, "UPDATE t SET v = 8 WHERE id = 1");
        let reports = "SELECT g.x.value('count(//blocked-process)', 'int'),
                g.x.value('(//data[@name=\"lock_mode\"]/text)[1]', 'nvarchar(10)'),
                CASE WHEN g.x.value('(//data[@name=\"duration\"]/value)[1]', 'bigint') BETWEEN 5000000 AND 7000000 THEN 1 END,
                g.x.value('(//blocked-process/process/@waitresource)[1]', 'nvarchar(4)'),
                g.x.value('(//blocked-process/process/inputbuf)[1]', 'nvarchar(200)'),
                g.x.value('(//blocking-process/process/@trancount)[1]', 'int'),
                g.x.value('(//data[@name=\"index_id\"]/value)[1]', 'int'), g.x.value('(//data[@name=\"object_id\"]/value)[1]', 'bigint') - OBJECT_ID('t')
            FROM (SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t
                ON t.event_session_address = s.address WHERE s.name = 'b') AS g(x)";
        thread::sleep(Duration::from_millis(3500));
        assert!(run(&mut listener, reports)[1].starts_with("0 | "));
        thread::sleep(Duration::from_secs(4));
        assert_eq!(
            run(&mut listener, reports)[1],
            "1 | U | 1 | KEY: | UPDATE t SET v = 8 WHERE id = 1 | 1 | 1 | 0"
        );
        thread::sleep(Duration::from_secs(5));
        assert!(run(&mut listener, reports)[1].starts_with("2 | "));
        run(&mut s, "COMMIT");
        waiting.join().expect("it went on");
    });
}

#[test]
fn rollback_immediate_ends_the_others_and_switches() {
    world(3, |instance| {
        let mut idle = session(instance);
        run(&mut idle, "BEGIN TRAN; UPDATE t SET v = 9 WHERE id = 1");
        let waiting = aside(instance, "UPDATE t SET v = 8 WHERE id = 1");
        a_while();
        let mut s = login(instance);
        let sql = "ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE";
        let lines = run(&mut s, sql);
        assert!(!lines.iter().any(|l| l.starts_with("Msg")), "{lines:?}");
        let lines = waiting.join().expect("ended");
        assert!(lines.iter().any(|l| l.starts_with("Msg 596,")), "{lines:?}");
        assert!(run(&mut idle, "SELECT 1")[0].starts_with("Msg 596,"));
        assert_eq!(run(&mut s, "SELECT SUM(v) FROM d.dbo.t")[1], "3");
        let sql = "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = 'd'";
        assert_eq!(run(&mut s, sql)[1], "1");
    });
}

/// No row, but the table is asked for all the same.
#[test]
fn a_load_without_rows_waits_for_its_table() {
    let instance = instance();
    let (mut one, mut two) = (login(&instance), login(&instance));
    run(
        &mut one,
        "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int)",
    );
    run(
        &mut one,
        "BEGIN TRAN; SELECT * FROM t WITH (TABLOCKX, HOLDLOCK)",
    );
    let lines = run(&mut two, "SET LOCK_TIMEOUT 0; INSERT t SELECT id FROM u");
    assert!(lines[0].starts_with("Msg 1222,"), "{lines:?}");
    run(&mut one, "ROLLBACK");
    assert_eq!(run(&mut two, "INSERT t SELECT id FROM u"), ["rows 0"]);
}

#[test]
fn waits_for_rows_are_counted_where_the_row_is() {
    for seed in seeds(0, 2) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(&mut s, "BEGIN TRAN; UPDATE t SET v = 3 WHERE id = 1");
            let update = aside(instance, "UPDATE t SET v = 4 WHERE id = 1");
            a_while();
            run(&mut s, "COMMIT");
            update.join().expect("updated");
            let counted = "SELECT row_lock_wait_count, CASE WHEN row_lock_wait_in_ms >= 40 THEN 1 END, page_lock_wait_count, leaf_update_count FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID('t'), 1, NULL)";
            assert_eq!(run(&mut s, counted)[1], "1 | 1 | 0 | 2");
        });
    }
}

/// The return codes of sp_getapplock that need two sessions, and what a reset gives back.
#[test]
fn locks_that_applications_name_wait_and_deadlock() {
    for seed in seeds(0, 3) {
        world(seed, |instance| {
            let mut s = session(instance);
            run(&mut s, "EXEC sp_getapplock 'a', 'Exclusive', 'Session'");
            let get =
                "DECLARE @r int; EXEC @r = sp_getapplock 'a', 'Shared', 'Session', 5000; SELECT @r";
            let waiting = aside(instance, get);
            a_while();
            let asked = "SELECT request_mode, request_status, request_owner_type, LEFT(resource_description, 6) FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION' ORDER BY request_status";
            let lines = run(&mut s, asked);
            assert_eq!(
                lines[1..3],
                [
                    "X | GRANT | SESSION | 0:[a]:",
                    "S | WAIT | SESSION | 0:[a]:"
                ]
            );
            run(&mut s, "EXEC sp_releaseapplock 'a', 'Session'");
            let lines = waiting.join().expect("it has the lock");
            assert!(lines.contains(&"1".to_owned()), "{lines:?}");

            // The victim hears of it by its return code; its transaction, and what it holds, stay.
            run(
                &mut s,
                "SET DEADLOCK_PRIORITY HIGH; BEGIN TRAN; EXEC sp_getapplock 'x', 'Exclusive'",
            );
            let other = "BEGIN TRAN; EXEC sp_getapplock 'y', 'Exclusive'; DECLARE @r int; EXEC @r = sp_getapplock 'x', 'Exclusive'; SELECT @r, @@TRANCOUNT, APPLOCK_MODE('public', 'y', 'Transaction'); ROLLBACK";
            let victim = aside(instance, other);
            a_while();
            let mine = "DECLARE @r int; EXEC @r = sp_getapplock 'y', 'Exclusive'; SELECT @r";
            let lines = run(&mut s, mine);
            assert!(lines.contains(&"1".to_owned()), "{lines:?}");
            let lines = victim.join().expect("a victim");
            assert!(
                lines.contains(&"-3 | 1 | Exclusive".to_owned()),
                "{lines:?}"
            );

            // A reset ends the transaction, and gives back what the session has.
            run(&mut s, "EXEC sp_getapplock 'z', 'Exclusive', 'Session'");
            s.reset(false).expect("reset");
            let left = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION'";
            assert_eq!(run(&mut s, left)[1], "0");
        });
    }
}
