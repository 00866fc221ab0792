//! Statements that try to take more memory than there is, by several sessions at once, against a real server: what is resident
//! never passes 1.1 times `--max-memory` and 100 MB, and is below `--max-memory` and 100 MB soon after the last of them. Every
//! session goes on, and what the server says of its memory is what the system says.
//!
//! `DURAMEN_HOSTILE_SECONDS` makes it longer: `cargo xtask memory`.

mod attacks;
mod clients;
mod files;
mod mixed;

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duramen_server::client::Stream;
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::{ServerMessage, Token};
use duramen_types::Value;

use crate::process::{Process, Scratch, ask, resident_bytes, rows};
use attacks::{ATTACKS, ENDLESS, REFUSALS};

const MB: u64 = 1 << 20;
const LIMIT_MB: u64 = 256;
const SAMPLE: Duration = Duration::from_millis(100);
const SESSIONS: usize = 4;
/// Between the attacks with which two sessions begin: in a short run each still meets one of its own.
const FIRST_APART: usize = 6;

/// What tempdb and what spills may take: the sessions want about as much, whatever the disk has.
const TEMPDB: &str = "2GB";

fn seconds() -> u64 {
    let asked = std::env::var("DURAMEN_HOSTILE_SECONDS");
    asked.ok().and_then(|s| s.parse().ok()).unwrap_or(20)
}

/// How long what has no end may go on.
fn patience() -> Duration {
    Duration::from_millis(seconds() * 50).clamp(Duration::from_secs(1), Duration::from_secs(20))
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

/// Sets a flag when it goes, whatever happens.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `work` gives, and the most bytes that were resident in process `id` meanwhile.
fn sampled<T>(id: u32, work: impl FnOnce() -> T) -> (T, u64) {
    let (ended, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                peak.fetch_max(resident_bytes(id), Ordering::Relaxed);
                std::thread::sleep(SAMPLE);
            }
        });
        let _ends = Ends(&ended);
        work()
    });
    (done, peak.into_inner())
}

/// The bound, while it went on and soon after.
fn assert_bound(server: &Process, limit_mb: u64, peak: u64) {
    let over = Instant::now();
    let mut resident = server.resident_bytes();
    while resident > (limit_mb + 100) * MB && over.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(SAMPLE);
        resident = server.resident_bytes();
    }
    println!(
        "of {limit_mb} MB at most {} MB resident, {} MB {:?} after the last",
        peak / MB,
        resident / MB,
        over.elapsed(),
    );
    assert!(peak <= (limit_mb * 11 / 10 + 100) * MB, "{} MB", peak / MB);
    assert!(resident <= (limit_mb + 100) * MB, "{} MB", resident / MB);
}

/// Runs a batch and gives it up when it goes on for longer; its errors.
fn ask_for(
    client: &mut Client<Stream>,
    sql: &str,
    patience: Duration,
) -> Result<Vec<ServerMessage>, ClientError> {
    const MOMENT: Duration = Duration::from_millis(50);
    const ROLLBACK: Duration = Duration::from_secs(300);
    let wait =
        |client: &Client<Stream>, time| client.stream().socket().set_read_timeout(Some(time));
    let mut errors = Vec::new();
    let until = Instant::now() + patience;
    client.query(sql)?;
    wait(client, MOMENT)?;
    loop {
        match client.next_event() {
            Ok(Some(Token::Error(error))) => errors.push(error),
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(ClientError::Io(e))
                if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                if Instant::now() > until {
                    wait(client, ROLLBACK)?;
                    client.give_up()?;
                    errors.extend(client.acknowledged()?);
                    break;
                }
            }
            Err(e) => return Err(e),
        }
    }
    wait(client, ROLLBACK)?;
    errors.extend(ask(client, "IF @@TRANCOUNT > 0 ROLLBACK")?.errors);
    Ok(errors)
}

/// One session's rounds until the time is over; which attacks were refused, and how.
fn attack(server: &Process, first: usize, until: Instant, reported: &Mutex<Vec<String>>) -> u64 {
    let mut client = server.connect();
    let mut count = 0;
    let mut at = first;
    while Instant::now() < until {
        let round = at % (ATTACKS.len() + ENDLESS.len());
        at += 1;
        let endless = round.checked_sub(ATTACKS.len());
        let (name, sql) = endless.map_or_else(|| ATTACKS[round], |n| ENDLESS[n]);
        // Texts that come once come in crowds.
        if std::env::var_os("DURAMEN_HOSTILE_TELL").is_some() {
            println!("{first}: {name}");
        }
        let times = if round == 0 { 200 } else { 1 };
        for n in 0..times {
            let began = Instant::now();
            let sql = sql(at as u64 * 1000 + n + (first as u64) * 1_000_000_007);
            let errors = match endless {
                Some(_) => ask_for(&mut client, &sql, patience()),
                None => ask(&mut client, &sql).map(|answer| answer.errors),
            };
            let errors = errors.unwrap_or_else(|e| panic!("{name}: the connection ends: {e}"));
            count += 1;
            for e in &errors {
                // 15665: the context is full.
                let expected = REFUSALS.contains(&e.number) || e.number == 15665;
                assert!(expected && e.class < 20, "{name}: {e:?}");
                reported.lock().expect("nobody fails with it").push(format!(
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

    let reported = Mutex::new(Vec::new());
    let until = Instant::now() + Duration::from_secs(seconds());
    let (count, peak) = sampled(server.id(), || {
        std::thread::scope(|scope| {
            let sessions: Vec<_> = (0..SESSIONS)
                .map(|n| {
                    let (server, reported) = (&server, &reported);
                    scope.spawn(move || attack(server, n * FIRST_APART, until, reported))
                })
                .collect();
            let counts = sessions.into_iter().map(|s| s.join().expect("a session"));
            counts.sum::<u64>()
        })
    });
    println!(
        "{count} statements; refused: {:#?}",
        reported.lock().expect("nobody fails with it")
    );
    assert_bound(&server, LIMIT_MB, peak);
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
        let reported = rows(
            &mut looker,
            "SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLGENERAL'",
        );
        number(&reported[0][0]) / 1024
    };
    let mut of_all = Vec::new();
    for (n, (name, sql)) in ATTACKS.iter().chain(ENDLESS).enumerate() {
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
                let ended = match n < ATTACKS.len() {
                    true => ask(&mut client, &sql).map(drop),
                    false => ask_for(&mut client, &sql, Duration::from_millis(600)).map(drop),
                };
                ended.unwrap_or_else(|e| panic!("{name}: {e}"));
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
    for (name, before, most, after) in &of_all {
        println!("{name}: {before} MB before, at most {most} MB, {after} MB after");
    }
    for (name, before, most, after) in of_all {
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
    let reported = rows(
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
    let n: Vec<u64> = reported[0].iter().map(number).collect();
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
        let reported = rows(client, unnamed);
        let n: Vec<u64> = reported[0].iter().map(number).collect();
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
