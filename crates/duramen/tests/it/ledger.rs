//! A ledger of acknowledged commits under `kill -9`.
//!
//! Sessions write over TDS, each transaction into several tables and some into two databases; each session keeps a
//! model of what it was told is committed. The server is killed at random moments: while they write, while it starts,
//! while it shuts down. After every restart the tables must equal the models:
//!
//! 1. Nothing acknowledged is lost: a session's rows are those of its model. With delayed durability the last commits
//!    before the kill may be lost, in the order of the log and no more than is documented (`ledger/loss.rs`).
//! 2. Nothing is half applied: the one request that was under way at the kill is there wholly (all its tables, both
//!    databases) or not at all.
//! 3. Sums over sessions agree: `total` counts every transaction that is there.
//! 4. The checks find every page and every log block whole after a kill, and nothing at all after a clean stop.
//!
//! `cargo test` runs a few kills; `cargo xtask ledger` as many as asked for, in a directory of any file system
//! (`DURAMEN_LEDGER_KILLS`, `_SESSIONS`, `_SEED`, `_DIR`).

mod loss;
mod model;
mod session;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use duramen_check::{check_directory, number};
use duramen_os::Env;
use duramen_os::random::Rng;
use duramen_server::client::{Stream, Trust, connect};
use duramen_tds::client::Client;
use duramen_types::Value;

use crate::process::{Process, Scratch, check, rows};
use loss::Losses;
use model::TOTALS;
use session::{Settled, Writer};
use tables::set_up;

/// The databases' DELAYED_DURABILITY: DISABLED or FORCED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    Full,
    Delayed,
}

impl Durability {
    /// One transaction in so many writes two databases: such a commit is never delayed, and hardens what is before it.
    fn share_over_two(self) -> u64 {
        match self {
            Durability::Full => 3,
            Durability::Delayed => 200,
        }
    }
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => i64::from(*n),
        Value::BigInt(n) => *n,
        other => panic!("not a number: {other:?}"),
    }
}

/// Compares the tables with the models. With `restarted`, settles first what the crash has made of each session; gives
/// that.
fn verify(client: &mut Client<Stream>, writers: &mut [Writer], restarted: bool) -> Vec<Settled> {
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
    let counters: BTreeMap<i64, i64> = rows(client, "SELECT session, value FROM la.dbo.counter")
        .iter()
        .map(|row| (int(&row[0]), int(&row[1])))
        .collect();
    let mut settled = Vec::new();
    for (writer, mut found) in writers.iter_mut().zip(found) {
        found.sort();
        let session = writer.session;
        let counter = counters[&(session as i64)];
        if restarted {
            settled.push(writer.settle(counter));
        }
        assert_eq!(counter, writer.model.last, "counter of session {session}");
        let expected = writer.model.rows(session);
        if found != expected {
            let missing: Vec<_> = expected.iter().filter(|r| !found.contains(r)).collect();
            let extra: Vec<_> = found.iter().filter(|r| !expected.contains(r)).collect();
            panic!("session {session}: missing {missing:?}, not acknowledged whole {extra:?}");
        }
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
    settled
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

/// Lets all sessions write for a while; when that ended, too.
fn write(
    server: &mut Option<Process>,
    writers: Vec<Writer>,
    rng: &mut Rng,
    end: End,
) -> (Vec<Writer>, Instant) {
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
    let mut ended_at = Instant::now();
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
            ended_at = Instant::now();
            running.kill();
        }
    }
    let ended = threads
        .into_iter()
        .map(|thread| thread.join().expect("a writer does not panic"));
    let writers = ended
        .map(|writer| writer.unwrap_or_else(|error| panic!("{error}")))
        .collect();
    (writers, ended_at)
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
            // A checksum that is wrong is said as DBCC says it.
            .filter(|f| DAMAGE.contains(&f.number) || f.text.contains("BUF_IOERR"))
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

/// The whole story: kills, starts, comparisons.
fn ledger(durability: Durability, kills: u64) {
    let kills = setting("DURAMEN_LEDGER_KILLS", kills);
    let sessions = setting("DURAMEN_LEDGER_SESSIONS", 16) as usize;
    let seed = setting("DURAMEN_LEDGER_SEED", 1);
    let name = format!("ledger-{durability:?}");
    let scratch = match std::env::var_os("DURAMEN_LEDGER_DIR") {
        Some(dir) => Scratch::below(Path::new(&dir), &name),
        None => Scratch::new(&name),
    };
    let dir = scratch.path();
    let mut rng = Rng::new(seed);
    let mut writers: Vec<Writer> = (0..sessions)
        .map(|session| Writer::new(session, durability))
        .collect();
    let server = Process::start(dir, &[]);
    set_up(&mut server.connect(), sessions, seed, durability);
    let mut running = Some(server);
    let mut killed = Instant::now();
    let (mut started, mut there, mut not) = (0, 0, 0);
    let mut losses = Losses::default();
    let mut slowest = Duration::ZERO;
    let mut recovered = |server: &Process, writers: &mut [Writer], killed: Instant| {
        let pending = writers.iter().filter(|w| w.pending.is_some()).count();
        let settled = verify(&mut server.connect(), writers, true);
        losses.judge(durability, killed, &settled);
        let kept = settled.iter().filter(|s| s.pending_there).count();
        there += kept;
        not += pending - kept;
    };
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
        if running.is_none() {
            let before = Instant::now();
            let server = Process::start(dir, &[]);
            slowest = slowest.max(before.elapsed());
            recovered(&server, &mut writers, killed);
            running = Some(server);
        }
        if rng.one_in(4) {
            (writers, _) = write(&mut running, writers, &mut rng, End::Pause);
            let server = running.as_ref().expect("it lives");
            verify(&mut server.connect(), &mut writers, false);
        }
        let end = if rng.one_in(6) {
            End::KillInShutdown
        } else {
            End::Kill
        };
        (writers, killed) = write(&mut running, writers, &mut rng, end);
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
    recovered(&server, &mut writers, killed);
    server.stop();
    sound(dir, "after a clean stop");
    let server = Process::start(dir, &[]);
    verify(&mut server.connect(), &mut writers, false);
    server.stop();
    let acknowledged: u64 = writers.iter().map(|w| w.acknowledged).sum();
    let deadlocks: u64 = writers.iter().map(|w| w.deadlocks).sum();
    println!(
        "ledger, {durability:?} durability: {kills} kills ({started} at the start), {sessions} sessions, seed {seed}: \
         {acknowledged} acknowledged, {} of them lost by {} kills, the oldest answered {:.1} ms before its kill; none half \
         applied; of those under way {there} were there, {not} were not; {deadlocks} deadlock victims; slowest start {} ms",
        losses.commits,
        losses.kills,
        losses.oldest.as_secs_f64() * 1000.0,
        slowest.as_millis(),
    );
    assert!(acknowledged > 0, "the sessions wrote nothing");
    // For the page of figures (`cargo xtask ledger --record on`).
    let what = match durability {
        Durability::Full => "kills of the ledger, full durability",
        Durability::Delayed => "kills of the ledger, delayed durability",
    };
    println!(
        "figure\t{what}\t{kills} kills survived, {started} of them at the start, {sessions} sessions, {acknowledged} commits \
         acknowledged, {} of them lost from the end by {} kills, none half applied",
        losses.commits, losses.kills
    );
}

#[test]
fn ledger_of_acknowledged_commits_under_kill_9() {
    ledger(Durability::Full, 5);
}

#[test]
fn ledger_of_delayed_commits_under_kill_9() {
    ledger(Durability::Delayed, 3);
}
