//! Processor time is told truly: of requests while they run, of sessions, of statements with all threads of their plans, and of
//! the schedulers that both belong to.

use super::*;
use duramen_os::{thread, time};
use std::time::Duration;

/// A loop that computes for about so many milliseconds of processor time on any machine.
fn computing(ms: u64) -> String {
    format!(
        "DECLARE @until bigint = 0, @n int = 0; WHILE @n < {} SET @n += 1",
        ms * 100
    )
}

fn number(s: &mut Session, sql: &str) -> i64 {
    let lines = run(s, sql);
    lines[1]
        .parse()
        .unwrap_or_else(|_| panic!("{sql}: {lines:?}"))
}

fn cpu_of(s: &mut Session, spid: u16) -> i64 {
    number(
        s,
        &format!("SELECT cpu_time FROM sys.dm_exec_sessions WHERE session_id = {spid}"),
    )
}

#[test]
fn a_session_has_the_time_of_its_requests() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    let spid = a.spid();
    let before = cpu_of(&mut b, spid);
    let start = time::thread_cpu();
    run(&mut a, &computing(100));
    let took = (time::thread_cpu() - start).as_millis() as i64;
    let reported = cpu_of(&mut b, spid) - before;
    assert!(
        (reported - took).abs() <= 2 + took / 20,
        "{reported} of {took} ms"
    );
    // Waiting is no computing, but it is elapsed.
    let columns = "SELECT total_elapsed_time FROM sys.dm_exec_sessions WHERE session_id = ";
    let elapsed = number(&mut b, &format!("{columns}{spid}"));
    run(&mut a, "WAITFOR DELAY '00:00:00.200'");
    assert!(cpu_of(&mut b, spid) - before - reported < 50);
    assert!(number(&mut b, &format!("{columns}{spid}")) - elapsed >= 190);
    let scheduled = format!(
        "SELECT total_elapsed_time - total_scheduled_time FROM sys.dm_exec_sessions WHERE session_id = {spid}"
    );
    assert!(number(&mut b, &scheduled) >= 190);
    let old = format!("SELECT cpu FROM sys.sysprocesses WHERE spid = {spid}");
    assert_eq!(number(&mut b, &old), cpu_of(&mut b, spid));
    // The processor that the session belongs to has it, also when the session has gone.
    let all = "SELECT SUM(total_cpu_usage_ms) FROM sys.dm_os_schedulers";
    let now = number(&mut b, all);
    assert!(now >= reported, "{now}");
    drop(a);
    assert!(number(&mut b, all) >= now);
    let rows = "SELECT COUNT(*) FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE (DAC)' AND scheduler_id = 1048576";
    assert_eq!(number(&mut b, rows), 1);
}

#[test]
fn a_request_shows_its_time_while_it_runs() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    let spid = a.spid();
    let cancel = CancelToken::default();
    let other = cancel.clone();
    let runs = thread::spawn("computes", move || {
        let mut sink = TextSink::default();
        a.execute_batch(
            "DECLARE @n int = 0; WHILE 1 = 1 SET @n = 1",
            &mut sink,
            &other,
        );
        a
    });
    let query = format!(
        "SELECT ISNULL(MAX(cpu_time), 0) FROM sys.dm_exec_requests WHERE session_id = {spid}"
    );
    let start = time::now();
    let mut seen = 0;
    while seen < 40 && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
        let now = number(&mut b, &query);
        assert!(now >= seen, "{now} after {seen}");
        seen = now;
    }
    assert!(seen >= 40, "{seen}");
    assert!(cpu_of(&mut b, spid) >= seen);
    cancel.0.store(true, std::sync::atomic::Ordering::Release);
    let a = runs.join().unwrap();
    assert!(cpu_of(&mut b, a.spid()) >= seen);
}

#[test]
fn a_parallel_plan_has_the_time_of_all_its_threads() {
    let mut s = alone();
    run(
        &mut s,
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'cost threshold for parallelism', 0; EXEC sp_configure 'max degree of parallelism', 4; RECONFIGURE",
    );
    run(
        &mut s,
        "CREATE TABLE big (id int NOT NULL PRIMARY KEY, v int); INSERT big SELECT value, value % 1000 FROM GENERATE_SERIES(1, 300000)",
    );
    let query = "SELECT COUNT(*), SUM(CAST(a.v AS bigint)) FROM big AS a JOIN big AS b ON a.v = b.id /* all threads */";
    let start = time::process_cpu();
    run(&mut s, query);
    let whole = (time::process_cpu() - start).as_micros() as i64;
    let of = "FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) x WHERE x.text LIKE '%/* all threads */' AND x.text NOT LIKE '%dm_exec%'";
    let dop = number(&mut s, &format!("SELECT last_dop {of}"));
    assert!(dop > 1, "a plan of one thread");
    let (worker, elapsed) = (
        number(&mut s, &format!("SELECT last_worker_time {of}")),
        number(&mut s, &format!("SELECT last_elapsed_time {of}")),
    );
    assert!(worker <= whole, "{worker} of {whole} us");
    // SET STATISTICS TIME tells the same of the same statement.
    run(&mut s, "SET STATISTICS TIME ON");
    let start = time::process_cpu();
    let lines = run(&mut s, query);
    let whole = (time::process_cpu() - start).as_millis() as i64;
    let reported = lines.iter().rfind(|l| l.contains("Execution Times"));
    let reported = reported.unwrap_or_else(|| panic!("{lines:?}"));
    let cpu: i64 = reported
        .split("CPU time = ")
        .nth(1)
        .and_then(|t| t.split(' ').next())
        .and_then(|t| t.parse().ok())
        .unwrap();
    run(&mut s, "SET STATISTICS TIME OFF");
    let worker = number(&mut s, &format!("SELECT last_worker_time / 1000 {of}"));
    assert!(
        (worker - cpu).abs() <= 2 + cpu / 5,
        "{worker} and {cpu} ms of {whole}"
    );
    let _ = elapsed;
}

/// A session that waits for a lock is told how long it took to run after it was signalled.
#[test]
fn signals_and_switches_are_counted() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(
        &mut a,
        "CREATE TABLE t (id int PRIMARY KEY, x int); INSERT t VALUES (1, 1)",
    );
    let spid = b.spid();
    let switches = "SELECT SUM(CAST(context_switches_count AS bigint)) FROM sys.dm_os_schedulers";
    let before = number(&mut a, switches);
    for _ in 0..20 {
        run(&mut a, "BEGIN TRAN; UPDATE t SET x = x + 1");
        let waits = thread::spawn("waits", move || {
            run(&mut b, "SELECT x FROM t");
            b
        });
        let waiting =
            format!("SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE session_id = {spid}");
        while number(&mut a, &waiting) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let task = format!(
            "SELECT context_switches_count FROM sys.dm_os_tasks WHERE session_id = {spid} AND exec_context_id = 0"
        );
        assert!(number(&mut a, &task) >= 1);
        run(&mut a, "COMMIT");
        b = waits.join().unwrap();
    }
    assert!(number(&mut a, switches) >= before + 20);
    // Nanoseconds add up; a signal takes some microseconds, so 20 may be less than a millisecond of the view.
    let signal: u64 = b.waits().switches().signal_nanos;
    let whole = number(
        &mut a,
        &format!(
            "SELECT SUM(wait_time_ms) FROM sys.dm_exec_session_wait_stats WHERE session_id = {spid} AND wait_type LIKE 'LCK%'"
        ),
    );
    assert!(
        signal > 0 && signal / 1_000_000 <= whole as u64,
        "{signal} ns of {whole} ms"
    );
}

#[test]
fn errors_are_in_the_ring_and_of_their_session() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "SELECT * FROM nothing_of_that_name");
    run(&mut a, "SELECT 1");
    let last = format!(
        "SELECT prev_error FROM sys.dm_exec_sessions WHERE session_id = {}",
        a.spid()
    );
    assert_eq!(number(&mut b, &last), 208);
    let own = format!(
        "SELECT prev_error FROM sys.dm_exec_sessions WHERE session_id = {}",
        b.spid()
    );
    assert_eq!(number(&mut b, &own), 0);
    let reported = "SELECT TOP 1 CAST(record AS xml).value('(/Record/Exception/Error)[1]', 'int') FROM sys.dm_os_ring_buffers WHERE ring_buffer_type = 'RING_BUFFER_EXCEPTION' ORDER BY timestamp DESC";
    assert_eq!(number(&mut b, reported), 208);
    run(
        &mut b,
        "CREATE PROCEDURE deep AS SELECT nest_level FROM sys.dm_exec_requests WHERE session_id = @@SPID",
    );
    assert_eq!(number(&mut b, "EXEC deep"), 1);
    // A login that is refused is in a ring of its own.
    let wrong = LoginRequest {
        user: "sa".to_owned(),
        password: "wrong".to_owned(),
        client_address: "10.0.0.7".to_owned(),
        client_port: 4711,
        ..LoginRequest::default()
    };
    assert!(duramen_session::login(&instance, &wrong).is_err());
    let refused = "SELECT TOP 1 CAST(record AS xml).value('(/Record/ConnectivityTraceRecord/SniConsumerError)[1]', 'int') + CAST(record AS xml).value('(/Record/ConnectivityTraceRecord/RemotePort)[1]', 'int') FROM sys.dm_os_ring_buffers WHERE ring_buffer_type = 'RING_BUFFER_CONNECTIVITY' ORDER BY timestamp DESC";
    assert_eq!(number(&mut b, refused), 18456 + 4711);
}
