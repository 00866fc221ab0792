//! Statements that try to take more memory than there is, by several sessions at once, against a real server: what is resident
//! never passes 1.1 times `--max-memory` and 100 MB, and is below `--max-memory` and 100 MB soon after the last of them. Every
//! session goes on, and what the server says of its memory is what the system says.
//!
//! `DURAMEN_HOSTILE_SECONDS` makes it longer: `cargo xtask memory`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duramen_server::client::Stream;
use duramen_tds::client::Client;
use duramen_types::Value;

use crate::process::{Process, Scratch, ask, rows};

const MB: u64 = 1 << 20;
const LIMIT_MB: u64 = 256;
const SAMPLE: Duration = Duration::from_millis(100);
const SESSIONS: usize = 4;

/// What tempdb and what spills may take: the sessions want about as much, whatever the disk has.
const TEMPDB: &str = "2GB";

/// What a refusal may say: memory (701, 802, 1204, 8623, 8645, 8657), a value's size (7119), disk (1101, 1105, 9002), versions
/// (3958), another backup (3023, 3013).
const REFUSALS: [i32; 14] = [
    701, 802, 1101, 1105, 1204, 3013, 3023, 3958, 7119, 8623, 8631, 8645, 8657, 9002,
];

/// What a session runs in its round; `at` makes texts differ.
type Attack = (&'static str, fn(at: u64) -> String);

const ATTACKS: &[Attack] = &[
    ("texts that come once", |at| {
        format!("SELECT COUNT(*) AS n{at} FROM sys.objects o{at} WHERE o{at}.object_id = {at}")
    }),
    ("a pool that is full", |_| {
        "SELECT COUNT(*), MAX(pad) FROM d.dbo.wide".into()
    }),
    ("doubling common table expressions", |_| {
        let mut sql = "WITH c0 AS (SELECT 1 AS a UNION ALL SELECT 1)".to_owned();
        for n in 1..14 {
            let of = n - 1;
            sql += &format!(", c{n} AS (SELECT x.a FROM c{of} x CROSS JOIN c{of} y)");
        }
        sql + " SELECT COUNT(*) FROM (SELECT TOP 100000 a FROM c13) AS t"
    }),
    ("a sort of much", |_| {
        "SELECT MAX(pad) FROM (SELECT a.pad, ROW_NUMBER() OVER (ORDER BY b.id, a.id DESC) AS r FROM d.dbo.wide a \
         CROSS JOIN d.dbo.few b) AS t WHERE r > 60000"
            .into()
    }),
    ("a group for each row", |_| {
        "SELECT COUNT(*) FROM (SELECT MAX(a.pad) AS pad, a.id, b.id AS of_few FROM d.dbo.wide a CROSS JOIN d.dbo.few b \
         GROUP BY a.id, b.id HAVING MAX(a.pad) > 'A') AS t"
            .into()
    }),
    ("a table variable", |_| {
        "DECLARE @t TABLE (id int, pad varchar(4000)); \
         INSERT @t SELECT a.id, a.pad FROM d.dbo.wide a CROSS JOIN d.dbo.few b; SELECT COUNT(*) FROM @t"
            .into()
    }),
    ("a string that doubles", |_| {
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'x'), 1000), @n int = 0; \
         WHILE @n < 14 BEGIN SET @n = @n + 1; SET @s = @s + @s END; SELECT LEN(@s)"
            .into()
    }),
    ("a request of megabytes", |at| {
        format!(
            "DECLARE @s varchar(max) = '{at}{}'; SELECT LEN(@s)",
            "y".repeat(6 << 20)
        )
    }),
    ("a batch of many statements", |at| {
        format!(
            "DECLARE @a bigint; {} SELECT @a",
            format!("SET @a = {at} + 1; ").repeat(20_000)
        )
    }),
    // 701 ends a batch: what it has made is still there when the next begins.
    ("a procedure's rows into a table", |_| {
        "DROP TABLE IF EXISTS #t; CREATE TABLE #t (id int, pad varchar(4000)); INSERT #t EXEC ('SELECT TOP 20000 a.id, a.pad FROM d.dbo.wide a CROSS JOIN d.dbo.few b'); \
         SELECT COUNT(*) FROM #t; DROP TABLE #t"
            .into()
    }),
    ("windows that look around", |_| {
        "SELECT MAX(x), MAX(y) FROM (SELECT LAG(a.pad, 5) OVER (ORDER BY b.id, a.id) AS x, MAX(a.pad) OVER (ORDER BY b.id, a.id \
         ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS y FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE b.id <= 8) AS t"
            .into()
    }),
    ("rows that changed, to the client", |_| {
        "DROP TABLE IF EXISTS #t; SELECT a.id, a.pad INTO #t FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE b.id <= 8; \
         UPDATE #t SET id = 0 OUTPUT inserted.id, deleted.pad; DROP TABLE #t"
            .into()
    }),
    ("a join of one key", |_| {
        // Few rows on one side: each pair is compared.
        "SELECT COUNT(*) FROM (SELECT a.id % 1 AS k, a.pad FROM d.dbo.wide a WHERE a.id <= 100) AS x \
         FULL JOIN (SELECT id % 1 AS k, pad FROM d.dbo.wide) AS y ON x.k = y.k AND LEN(x.pad) + LEN(y.pad) < 0"
            .into()
    }),
    ("an index of wide rows", |_| {
        "DROP TABLE IF EXISTS #t; SELECT a.id, a.pad INTO #t FROM d.dbo.wide a CROSS JOIN d.dbo.few b WHERE b.id <= 8; \
         CREATE INDEX i ON #t (id) INCLUDE (pad); DROP TABLE #t"
            .into()
    }),
    ("a backup with many buffers", |_| {
        "BACKUP DATABASE d TO DISK = 'nul' WITH COPY_ONLY, BUFFERCOUNT = 400, MAXTRANSFERSIZE = 4194304".into()
    }),
    ("many locks", |_| {
        "BEGIN TRAN; DECLARE @i int = 0; WHILE @i < 10000 BEGIN INSERT d.dbo.t VALUES (@@SPID, 'l'); SET @i = @i + 1 END; ROLLBACK"
            .into()
    }),
    ("contexts with many keys", |at| {
        format!(
            "DECLARE @i int = 0, @k nvarchar(128); WHILE @i < 3000 BEGIN \
             SET @k = CONCAT('{at}', '-', @i); EXEC sp_set_session_context @k, 1; SET @i = @i + 1 END"
        )
    }),
];

fn seconds() -> u64 {
    let asked = std::env::var("DURAMEN_HOSTILE_SECONDS");
    asked.ok().and_then(|s| s.parse().ok()).unwrap_or(20)
}

fn number(value: &Value) -> u64 {
    match value {
        Value::BigInt(n) => *n as u64,
        Value::Int(n) => *n as u64,
        other => panic!("{other:?}"),
    }
}

fn prepare(client: &mut Client<Stream>) {
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.dbo.t (a int, b varchar(10))",
        "CREATE TABLE d.dbo.few (id int)",
        "INSERT d.dbo.few SELECT TOP 40 ROW_NUMBER() OVER (ORDER BY object_id) FROM sys.all_columns",
        "CREATE TABLE d.dbo.wide (id int, pad varchar(4000))",
        "INSERT d.dbo.wide SELECT ROW_NUMBER() OVER (ORDER BY b.id), REPLICATE(CHAR(65 + b.id % 26), 3500) FROM d.dbo.few b \
         CROSS JOIN (SELECT TOP 75 object_id FROM sys.all_columns) AS a",
    ] {
        rows(client, sql);
    }
}

/// One session's rounds until the time is over; which attacks were refused, and how.
fn attack(server: &Process, first: usize, until: Instant, told: &Mutex<Vec<String>>) -> u64 {
    let mut client = server.connect();
    let mut count = 0;
    let mut at = first;
    while Instant::now() < until {
        let (name, sql) = ATTACKS[at % ATTACKS.len()];
        at += 1;
        // Texts that come once come in crowds.
        if std::env::var_os("DURAMEN_HOSTILE_TELL").is_some() {
            println!("{first}: {name}");
        }
        let times = if at % ATTACKS.len() == 1 { 200 } else { 1 };
        for n in 0..times {
            let began = Instant::now();
            let answer = ask(
                &mut client,
                &sql(at as u64 * 1000 + n + (first as u64) * 1_000_000_007),
            );
            let answer = answer.unwrap_or_else(|e| panic!("{name}: the connection ends: {e}"));
            count += 1;
            for e in &answer.errors {
                // 15665: the context is full.
                let expected = REFUSALS.contains(&e.number) || e.number == 15665;
                assert!(expected && e.class < 20, "{name}: {e:?}");
                told.lock().unwrap().push(format!(
                    "{name}: {} after {:?}",
                    e.number,
                    began.elapsed()
                ));
                if e.number == 15665 {
                    break;
                }
            }
        }
    }
    // The session is as good as before.
    assert_eq!(rows(&mut client, "SELECT 1").len(), 1);
    count
}

#[test]
fn hostile_statements_do_not_pass_the_limit() {
    let scratch = Scratch::new("memory");
    let limit = format!("{LIMIT_MB}MB");
    let options = ["--max-memory", &limit, "--max-tempdb", TEMPDB];
    let server = Process::start(&scratch.path().join("data"), &options);
    let mut client = server.connect();
    prepare(&mut client);

    let ended = AtomicBool::new(false);
    let peak = AtomicU64::new(0);
    let told = Mutex::new(Vec::new());
    let until = Instant::now() + Duration::from_secs(seconds());
    let count = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                peak.fetch_max(server.resident_bytes(), Ordering::Relaxed);
                std::thread::sleep(SAMPLE);
            }
        });
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|n| {
                let (server, told) = (&server, &told);
                scope.spawn(move || attack(server, n * 3, until, told))
            })
            .collect();
        let counts: Vec<_> = sessions.into_iter().map(|s| s.join()).collect();
        ended.store(true, Ordering::Relaxed);
        counts
            .into_iter()
            .map(|c| c.expect("a session"))
            .sum::<u64>()
    });
    let peak = peak.into_inner();
    let over = Instant::now();
    let mut resident = server.resident_bytes();
    while resident > (LIMIT_MB + 100) * MB && over.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(SAMPLE);
        resident = server.resident_bytes();
    }
    println!(
        "{count} statements; at most {} MB resident, {} MB {:?} after the last; refused: {:#?}",
        peak / MB,
        resident / MB,
        over.elapsed(),
        told.lock().unwrap()
    );
    assert!(peak <= (LIMIT_MB * 11 / 10 + 100) * MB, "{} MB", peak / MB);
    assert!(resident <= (LIMIT_MB + 100) * MB, "{} MB", resident / MB);
    // What the allocator keeps goes back soon.
    std::thread::sleep(Duration::from_secs(2));
    tells_the_truth(&mut client);
}

/// Statements of every kind, one at a time: what nobody has told the broker of stays little, and goes with them. Beyond that,
/// the limit would be kept by looking at the process alone.
#[test]
fn what_nobody_counts_is_little() {
    let scratch = Scratch::new("uncounted");
    let limit = format!("{LIMIT_MB}MB");
    let options = ["--max-memory", &limit, "--max-tempdb", TEMPDB];
    let server = Process::start(&scratch.path().join("data"), &options);
    prepare(&mut server.connect());
    let mut looker = server.connect();
    let mut uncounted = move || {
        let told = rows(
            &mut looker,
            "SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLGENERAL'",
        );
        number(&told[0][0]) / 1024
    };
    let mut of_all = Vec::new();
    for (n, (name, sql)) in ATTACKS.iter().enumerate() {
        let mut client = server.connect();
        let before = uncounted();
        let ended = AtomicBool::new(false);
        let most = std::thread::scope(|scope| {
            let most = scope.spawn(|| {
                let mut most = 0;
                while !ended.load(Ordering::Relaxed) {
                    most = most.max(uncounted());
                    std::thread::sleep(Duration::from_millis(5));
                }
                most
            });
            let began = Instant::now();
            for round in 0..10 {
                let sql = sql(2_000_000_000 + round + 1000 * n as u64);
                ask(&mut client, &sql).unwrap_or_else(|e| panic!("{name}: {e}"));
                if began.elapsed() > Duration::from_millis(500) {
                    break;
                }
            }
            ended.store(true, Ordering::Relaxed);
            most.join().unwrap()
        });
        drop(client);
        of_all.push((*name, before, most, uncounted()));
    }
    let begin = of_all.first().map_or(0, |(_, before, ..)| *before);
    for (name, before, most, after) in of_all {
        println!("{name}: {before} MB before, at most {most} MB, {after} MB after");
        assert!(most <= before + UNCOUNTED_MB, "{name}");
        assert!(after <= begin + KEPT_MB, "{name}");
    }
}

/// What a statement may take that nobody is told of: batches and pieces on their way, blocks of the log.
const UNCOUNTED_MB: u64 = 36;
/// What may stay: the logs' buffers for blocks to come, a few megabytes for each database.
const KEPT_MB: u64 = 16;

/// Clerks, counters and views agree with each other and with the system.
fn tells_the_truth(client: &mut Client<Stream>) {
    let told = rows(
        client,
        "SELECT (SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks), \
         (SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks \
          WHERE type NOT IN ('MEMORYCLERK_DURAMEN_CODE', 'MEMORYCLERK_DURAMEN_STACKS')), \
         (SELECT physical_memory_in_use_kb FROM sys.dm_os_process_memory), \
         (SELECT committed_kb FROM sys.dm_os_sys_info), \
         (SELECT committed_target_kb FROM sys.dm_os_sys_info), \
         (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Total Server Memory (KB)'), \
         (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Target Server Memory (KB)'), \
         (SELECT page_fault_count FROM sys.dm_os_process_memory), \
         (SELECT SUM(CONVERT(bigint, memory_usage)) FROM sys.dm_exec_sessions WHERE is_user_process = 1)",
    );
    let n: Vec<u64> = told[0].iter().map(number).collect();
    let within = |a: u64, b: u64, percent: u64| a.abs_diff(b) * 100 <= b * percent;
    assert!(
        within(n[0], n[2], 10),
        "clerks {} KB, resident {} KB",
        n[0],
        n[2]
    );
    assert!(within(n[3], n[1], 5) && within(n[5], n[1], 5), "{n:?}");
    assert_eq!((n[4], n[6]), (LIMIT_MB * 1024, LIMIT_MB * 1024));
    assert!(n[7] > 1000 && n[8] > 0, "{n:?}");
    // What nobody can name is little, when the allocator has been asked for what it keeps.
    let unnamed = "SELECT pages_kb, (SELECT physical_memory_in_use_kb FROM sys.dm_os_process_memory) \
         FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SOSMEMMANAGER'";
    let started = std::time::Instant::now();
    loop {
        let told = rows(client, unnamed);
        let n: Vec<u64> = told[0].iter().map(number).collect();
        if n[0] < n[1] / 4 {
            break;
        }
        let waited = started.elapsed();
        assert!(waited.as_secs() < 10, "{n:?} after {waited:?}");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Thirty thousand texts that come once take their share and no more.
#[test]
fn plans_of_texts_that_come_once_are_bounded() {
    let scratch = Scratch::new("memory-plans");
    let server = Process::start(&scratch.path().join("data"), &["--max-memory", "128MB"]);
    let server = Arc::new(server);
    let texts = if seconds() > 20 { 30_000 } else { 6_000 };
    let sessions: Vec<_> = (0..2)
        .map(|session| {
            let server = server.clone();
            std::thread::spawn(move || {
                let mut client = server.connect();
                for n in 0..texts / 2 {
                    let sql = format!(
                        "SELECT o.name, c.name, {n} AS n{session}_{n} FROM sys.objects o JOIN sys.columns c \
                         ON c.object_id = o.object_id WHERE o.object_id = {n} AND c.column_id > {session}"
                    );
                    rows(&mut client, &sql);
                }
            })
        })
        .collect();
    sessions
        .into_iter()
        .for_each(|s| s.join().expect("a session"));
    let mut client = server.connect();
    let plans = "SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'CACHESTORE_SQLCP'";
    let kb = number(&rows(&mut client, plans)[0][0]);
    assert!(kb > 1024 && kb <= 32 * 1024, "{kb} KB");
    let resident = server.resident_bytes() / MB;
    assert!(resident <= 128 + 100, "{resident} MB");
    println!("{texts} texts: plans {kb} KB, resident {resident} MB");
}
