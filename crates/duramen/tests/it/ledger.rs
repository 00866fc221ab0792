//! A ledger of acknowledged commits under `kill -9`.
//!
//! Sessions write over TDS, each transaction into several tables and some into two databases; each session keeps a
//! model of what it was told is committed. The server is killed at random moments: while they write, while it starts,
//! while it shuts down. After every restart the tables must equal the models:
//!
//! 1. Nothing acknowledged is lost: a session's rows are those of its model.
//! 2. Nothing is half applied: the one request that was under way at the kill is there wholly (all its tables, both
//!    databases) or not at all.
//! 3. Sums over sessions agree: `total` counts every transaction that is there.
//! 4. The checks find every page and every log block whole after a kill, and nothing at all after a clean stop.
//!
//! `cargo test` runs a few kills; `cargo xtask ledger` as many as asked for (`DURAMEN_LEDGER_KILLS`, `_SESSIONS`,
//! `_SEED`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use duramen_os::Env;
use duramen_os::random::Rng;
use duramen_server::client::{Stream, Trust, connect};
use duramen_storage::check::{check_directory, number};
use duramen_tds::client::Client;
use duramen_types::Value;

use crate::process::{Process, Scratch, ask, check, rows};

/// Transactions of a session that are kept; each further one deletes the oldest.
const LIVE_MAX: usize = 60;
const TOTALS: u64 = 4;
const DEADLOCK: i32 = 1205;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Three rows in a clustered table, two in a heap with an index.
    One,
    /// Two rows in either database.
    Two,
}

/// What a session's transactions have left: by number, the kind and how often the rows were updated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Model {
    live: BTreeMap<i64, (Kind, i32)>,
    /// Number of the last transaction.
    last: i64,
}

/// One transaction.
#[derive(Clone, Debug)]
struct Change {
    number: i64,
    kind: Kind,
    delete: Option<i64>,
    touch: Option<i64>,
    rollback: bool,
    /// Statements travel one by one instead of in one batch.
    stepwise: bool,
}

impl Model {
    fn next(&self, rng: &mut Rng) -> Change {
        let oldest = self.live.keys().next().copied();
        let middle = self.live.keys().nth(self.live.len() / 2).copied();
        Change {
            number: self.last + 1,
            kind: if rng.one_in(3) { Kind::Two } else { Kind::One },
            delete: oldest.filter(|_| self.live.len() >= LIVE_MAX),
            touch: middle.filter(|_| rng.one_in(2)),
            rollback: rng.one_in(8),
            stepwise: rng.one_in(3),
        }
    }

    fn apply(&mut self, change: &Change) {
        if let Some(number) = change.delete {
            self.live.remove(&number);
        }
        if let Some((_, version)) = change.touch.and_then(|number| self.live.get_mut(&number)) {
            *version += 1;
        }
        self.live.insert(change.number, (change.kind, 0));
        self.last = change.number;
    }

    /// The rows that must be there: table, number, part, version, text.
    fn rows(&self, session: usize) -> Vec<(&'static str, i64, i32, i32, String)> {
        let mut out = Vec::new();
        for (&number, &(kind, version)) in &self.live {
            for (table, parts) in tables(kind) {
                for part in 0..parts {
                    let text = text(session, number, part);
                    out.push((table, number, part, version, text));
                }
            }
        }
        out.sort();
        out
    }
}

fn tables(kind: Kind) -> [(&'static str, i32); 2] {
    match kind {
        Kind::One => [("la.dbo.entry", 3), ("la.dbo.mirror", 2)],
        Kind::Two => [("la.dbo.entry", 2), ("lb.dbo.entry", 2)],
    }
}

/// A text of many lengths, so that pages split, updates move rows, and some are kept outside their rows.
fn text(session: usize, number: i64, part: i32) -> String {
    let length = match (number % 23, number % 17) {
        (_, 9) => 20_000,
        (0, _) => 2500,
        (n, _) => (n * 37 + i64::from(part) * 11) % 300,
    };
    let mut text = format!("{session}.{number}.{part}.");
    text.extend(std::iter::repeat_n('x', length as usize));
    text
}

/// The statements of a transaction; the last one ends it.
fn statements(session: usize, change: &Change) -> Vec<String> {
    let n = change.number;
    let mut out = vec!["BEGIN TRANSACTION".to_owned()];
    for (table, parts) in tables(change.kind) {
        let mut sql = format!("INSERT INTO {table} (session, number, part, version, text) VALUES ");
        for part in 0..parts {
            let comma = if part == 0 { "" } else { ", " };
            let text = text(session, n, part);
            let _ = write!(sql, "{comma}({session}, {n}, {part}, 0, '{text}')");
        }
        out.push(sql);
    }
    let everywhere = ["la.dbo.entry", "la.dbo.mirror", "lb.dbo.entry"];
    if let Some(old) = change.touch {
        out.extend(everywhere.map(|table| {
            format!("UPDATE {table} SET version = version + 1 WHERE session = {session} AND number = {old}")
        }));
    }
    if let Some(old) = change.delete {
        out.extend(everywhere.map(|table| {
            format!("DELETE FROM {table} WHERE session = {session} AND number = {old}")
        }));
    }
    out.push(format!(
        "UPDATE la.dbo.counter SET value = {n} WHERE session = {session}"
    ));
    let total = n as u64 % TOTALS;
    out.push(format!(
        "UPDATE la.dbo.total SET value = value + 1 WHERE id = {total}"
    ));
    if n % 5 == 0 {
        // In an order of its own: some of these end as deadlock victims.
        let step = if session.is_multiple_of(2) {
            1
        } else {
            TOTALS - 1
        };
        let total = (total + step) % TOTALS;
        out.push(format!(
            "UPDATE la.dbo.total SET value = value WHERE id = {total}"
        ));
    }
    let end = if change.rollback {
        "ROLLBACK"
    } else {
        "COMMIT"
    };
    out.push(format!("{end} TRANSACTION"));
    out
}

/// A session at work until its connection breaks.
struct Writer {
    session: usize,
    model: Model,
    acknowledged: u64,
    deadlocks: u64,
    /// Sent, and not answered when the connection broke.
    pending: Option<Change>,
}

impl Writer {
    fn work(
        &mut self,
        client: &mut Client<Stream>,
        rng: &mut Rng,
        stop: &AtomicBool,
    ) -> Result<(), String> {
        while !stop.load(Ordering::Acquire) {
            let change = self.model.next(rng);
            let statements = statements(self.session, &change);
            let requests: Vec<String> = if change.stepwise {
                statements
            } else {
                vec![statements.join(";\n")]
            };
            let requests_last = requests.len() - 1;
            let mut failed = None;
            for (i, request) in requests.iter().enumerate() {
                if i == requests_last && !change.rollback {
                    self.pending = Some(change.clone());
                }
                // A connection that breaks here was killed.
                let Ok(answer) = ask(client, request) else {
                    return Ok(());
                };
                if let Some(error) = answer.errors.first() {
                    failed = Some(error.clone());
                    break;
                }
            }
            self.pending = None;
            match failed {
                None if change.rollback => {}
                None => {
                    self.model.apply(&change);
                    self.acknowledged += 1;
                }
                // The victim's transaction is rolled back whole: the same again.
                Some(error) if error.number == DEADLOCK => self.deadlocks += 1,
                // After SIGTERM the server may end requests as it likes; this one is pending no more.
                Some(_) if stop.load(Ordering::Acquire) => return Ok(()),
                Some(error) => return Err(format!("session {}: {error:?}", self.session)),
            }
        }
        Ok(())
    }
}

const SETUP: [&str; 7] = [
    "CREATE DATABASE la",
    "CREATE DATABASE lb",
    "USE la; CREATE TABLE dbo.entry (session int NOT NULL, number bigint NOT NULL, part int NOT NULL, \
     version int NOT NULL, text varchar(max) NOT NULL, PRIMARY KEY (session, number, part))",
    "USE lb; CREATE TABLE dbo.entry (session int NOT NULL, number bigint NOT NULL, part int NOT NULL, \
     version int NOT NULL, text varchar(max) NOT NULL, PRIMARY KEY (session, number, part))",
    "USE la; CREATE TABLE dbo.mirror (session int NOT NULL, number bigint NOT NULL, part int NOT NULL, \
     version int NOT NULL, text varchar(max) NOT NULL)",
    "USE la; CREATE TABLE dbo.counter (session int NOT NULL PRIMARY KEY, value bigint NOT NULL)",
    "USE la; CREATE TABLE dbo.total (id int NOT NULL PRIMARY KEY, value bigint NOT NULL)",
];

/// The second database commits the classic way; under even seeds the first keeps row versions for its readers.
fn set_up(client: &mut Client<Stream>, sessions: usize, seed: u64) {
    for sql in SETUP {
        rows(client, sql);
    }
    rows(
        client,
        "USE lb; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT",
    );
    if seed.is_multiple_of(2) {
        rows(
            client,
            "USE master; ALTER DATABASE la SET READ_COMMITTED_SNAPSHOT ON",
        );
    }
    rows(
        client,
        "USE la; CREATE INDEX mirror_key ON dbo.mirror (session, number)",
    );
    for session in 0..sessions {
        rows(
            client,
            &format!("INSERT INTO la.dbo.counter (session, value) VALUES ({session}, 0)"),
        );
    }
    for id in 0..TOTALS {
        rows(
            client,
            &format!("INSERT INTO la.dbo.total (id, value) VALUES ({id}, 0)"),
        );
    }
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => i64::from(*n),
        Value::BigInt(n) => *n,
        other => panic!("not a number: {other:?}"),
    }
}

/// Compares the tables with the models; settles what was pending. Gives how many pending ones were there and were not.
fn verify(client: &mut Client<Stream>, writers: &mut [Writer]) -> (u32, u32) {
    let mut found = vec![Vec::new(); writers.len()];
    for table in ["la.dbo.entry", "la.dbo.mirror", "lb.dbo.entry"] {
        let sql = format!("SELECT session, number, part, version, text FROM {table}");
        for row in rows(client, &sql) {
            let Value::VarChar(text) = &row[4] else {
                panic!("{table}: {:?}", row[4]);
            };
            let text = String::from_utf8_lossy(text).into_owned();
            let (part, version) = (int(&row[2]) as i32, int(&row[3]) as i32);
            found[int(&row[0]) as usize].push((table, int(&row[1]), part, version, text));
        }
    }
    let counters = rows(client, "SELECT session, value FROM la.dbo.counter");
    let (mut there, mut not) = (0, 0);
    for (writer, mut found) in writers.iter_mut().zip(found) {
        found.sort();
        let session = writer.session;
        if let Some(change) = writer.pending.take() {
            let mut with = writer.model.clone();
            with.apply(&change);
            if found == with.rows(session) {
                writer.model = with;
                there += 1;
            } else {
                not += 1;
            }
        }
        let expected = writer.model.rows(session);
        if found != expected {
            let missing: Vec<_> = expected.iter().filter(|r| !found.contains(r)).collect();
            let extra: Vec<_> = found.iter().filter(|r| !expected.contains(r)).collect();
            panic!("session {session}: missing {missing:?}, not acknowledged whole {extra:?}");
        }
        let counter = counters.iter().find(|row| int(&row[0]) == session as i64);
        let counter = counter.map(|row| int(&row[1]));
        assert_eq!(
            counter,
            Some(writer.model.last),
            "counter of session {session}"
        );
        // The heap through its index.
        let sql = format!("SELECT COUNT(*) FROM la.dbo.mirror WHERE session = {session}");
        let in_heap = expected.iter().filter(|r| r.0 == "la.dbo.mirror").count();
        assert_eq!(
            int(&rows(client, &sql)[0][0]),
            in_heap as i64,
            "index of the heap"
        );
    }
    for row in rows(client, "SELECT id, value FROM la.dbo.total") {
        let (id, counted) = (int(&row[0]), int(&row[1]));
        let numbers = writers.iter().flat_map(|w| 1..=w.model.last);
        let applied = numbers.filter(|n| n % TOTALS as i64 == id).count() as i64;
        assert_eq!(counted, applied, "transactions counted by all in row {id}");
    }
    (there, not)
}

/// How a round of writing ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The sessions finish their transactions; the server lives.
    Pause,
    Kill,
    /// SIGTERM, and SIGKILL soon after.
    KillInShutdown,
}

/// Lets all sessions write for a while.
fn write(
    server: &mut Option<Process>,
    writers: Vec<Writer>,
    rng: &mut Rng,
    end: End,
) -> Vec<Writer> {
    let running = server.take().expect("a server runs");
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = writers
        .into_iter()
        .map(|mut writer| {
            let trust = if writer.session % 4 == 0 {
                Trust::Any
            } else {
                Trust::NoEncryption
            };
            let options = running.options(trust);
            let mut rng = Rng::new(rng.next_u64());
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                // The kill may come before the login.
                if let Ok(mut client) = connect(&options) {
                    writer.work(&mut client, &mut rng, &stop)?;
                }
                Ok::<Writer, String>(writer)
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50 + rng.below(1200)));
    match end {
        End::Pause => {
            stop.store(true, Ordering::Release);
            *server = Some(running);
        }
        End::Kill => running.kill(),
        End::KillInShutdown => {
            stop.store(true, Ordering::Release);
            running.terminate();
            std::thread::sleep(Duration::from_millis(rng.below(60)));
            running.kill();
        }
    }
    let ended = threads
        .into_iter()
        .map(|thread| thread.join().expect("a writer does not panic"));
    ended
        .map(|writer| writer.unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// After a clean stop everything must agree.
fn sound(dir: &Path, when: &str) {
    let (code, text) = check(dir);
    assert_eq!(code, 0, "{when}: {text}");
}

/// After a kill pages may be older than the maps that lead to them, for recovery is still to come; but each must be
/// whole, and so must every header and log block.
fn whole(dir: &Path, when: &str) {
    const DAMAGE: [u32; 4] = [
        number::READ_FAILED,
        number::BAD_PAGE,
        number::BAD_FILE_HEADER,
        number::LOG,
    ];
    let reports = check_directory(&*Env::real().disk, dir).expect("the directory can be read");
    for report in reports {
        let damage: Vec<_> = report
            .findings
            .iter()
            .filter(|f| DAMAGE.contains(&f.number))
            .collect();
        assert!(
            damage.is_empty(),
            "{when}: {}: {damage:?}",
            report.path.display()
        );
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

#[test]
fn ledger_of_acknowledged_commits_under_kill_9() {
    let kills = setting("DURAMEN_LEDGER_KILLS", 5);
    let sessions = setting("DURAMEN_LEDGER_SESSIONS", 16) as usize;
    let seed = setting("DURAMEN_LEDGER_SEED", 1);
    let scratch = Scratch::new("ledger");
    let dir = scratch.path();
    let mut rng = Rng::new(seed);
    let mut writers: Vec<Writer> = (0..sessions)
        .map(|session| Writer {
            session,
            model: Model::default(),
            acknowledged: 0,
            deadlocks: 0,
            pending: None,
        })
        .collect();
    let server = Process::start(dir, &[]);
    set_up(&mut server.connect(), sessions, seed);
    let mut running = Some(server);
    let (mut started, mut there, mut not) = (0, 0, 0);
    let mut slowest = Duration::ZERO;
    for kill in 1..=kills {
        // One in four comes while the server starts and recovers.
        if running.is_none() && rng.one_in(4) {
            let server = Process::spawn(dir, &[]);
            std::thread::sleep(Duration::from_millis(rng.below(250)));
            server.kill();
            started += 1;
            whole(dir, &format!("kill {kill}, at the start"));
            continue;
        }
        let before = Instant::now();
        let server = running.take().unwrap_or_else(|| Process::start(dir, &[]));
        slowest = slowest.max(before.elapsed());
        let settled = verify(&mut server.connect(), &mut writers);
        there += settled.0;
        not += settled.1;
        running = Some(server);
        if rng.one_in(4) {
            writers = write(&mut running, writers, &mut rng, End::Pause);
            let server = running.as_ref().expect("it lives");
            verify(&mut server.connect(), &mut writers);
        }
        let end = if rng.one_in(6) {
            End::KillInShutdown
        } else {
            End::Kill
        };
        writers = write(&mut running, writers, &mut rng, end);
        whole(dir, &format!("kill {kill}"));
        if rng.one_in(5) {
            // Recovery has the last word: stopped cleanly, everything agrees.
            Process::start(dir, &[]).stop();
            sound(dir, &format!("kill {kill}, recovered"));
        }
        let acknowledged: u64 = writers.iter().map(|w| w.acknowledged).sum();
        println!("kill {kill}: {acknowledged} transactions acknowledged so far");
    }
    let server = Process::start(dir, &[]);
    let settled = verify(&mut server.connect(), &mut writers);
    server.stop();
    sound(dir, "after a clean stop");
    let server = Process::start(dir, &[]);
    verify(&mut server.connect(), &mut writers);
    server.stop();
    let acknowledged: u64 = writers.iter().map(|w| w.acknowledged).sum();
    let deadlocks: u64 = writers.iter().map(|w| w.deadlocks).sum();
    println!(
        "ledger: {kills} kills ({started} at the start), {sessions} sessions, seed {seed}: {acknowledged} acknowledged, \
         none lost, none half applied; of those under way {} were there, {} were not; {deadlocks} deadlock victims; \
         slowest start {} ms",
        there + settled.0,
        not + settled.1,
        slowest.as_millis(),
    );
    assert!(acknowledged > 0, "the sessions wrote nothing");
}
