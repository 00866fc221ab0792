//! The anomalies of each isolation level, found or never found, in orders of events that seeds choose.
//!
//! Every pair of level and anomaly runs as two sessions in a simulated world, over a clustered table, a heap, and a
//! table that is read through a nonclustered index. What a level promises must hold under every seed. What it does not
//! promise must happen under some seed: otherwise the test would not see a level that promises nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;
use duramen_session::Session;

use super::{login, run, start};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Anomaly {
    DirtyRead,
    NonRepeatable,
    Phantom,
    LostUpdate,
    WriteSkew,
}

use Anomaly::*;

const ANOMALIES: [Anomaly; 5] = [DirtyRead, NonRepeatable, Phantom, LostUpdate, WriteSkew];

struct Level {
    /// Of the database: its READ_COMMITTED_SNAPSHOT is on or off.
    database: &'static str,
    set: &'static str,
    allows: &'static [Anomaly],
}

const LEVELS: [Level; 6] = [
    Level {
        database: "locking",
        set: "READ UNCOMMITTED",
        allows: &ANOMALIES,
    },
    Level {
        database: "locking",
        set: "READ COMMITTED",
        allows: &[NonRepeatable, Phantom, LostUpdate, WriteSkew],
    },
    Level {
        database: "versioned",
        set: "READ COMMITTED",
        allows: &[NonRepeatable, Phantom, LostUpdate, WriteSkew],
    },
    Level {
        database: "locking",
        set: "REPEATABLE READ",
        allows: &[Phantom],
    },
    Level {
        database: "locking",
        set: "SERIALIZABLE",
        allows: &[],
    },
    Level {
        database: "versioned",
        set: "SNAPSHOT",
        allows: &[WriteSkew],
    },
];

/// How the table is stored, and how it is read: `g` and `v` are what conditions are about.
const TABLES: [&str; 3] = [
    "CREATE TABLE t (id int PRIMARY KEY, g int NOT NULL, v int NOT NULL)",
    "CREATE TABLE t (id int NOT NULL, g int NOT NULL, v int NOT NULL)",
    "CREATE TABLE t (id int NOT NULL, g int NOT NULL, v int NOT NULL); CREATE INDEX tg ON t (g); CREATE UNIQUE INDEX ti ON t (id)",
];

/// The only value of the only row, if there was no error.
fn value(session: &mut Session, sql: &str) -> Option<i64> {
    let lines = run(session, sql);
    assert!(lines.len() >= 2, "{sql}: {lines:?}");
    lines[1].parse().ok()
}

fn failed(lines: &[String]) -> bool {
    let message = lines.iter().find(|l| l.starts_with("Msg "));
    if let Some(m) = message {
        // A deadlock or an update conflict: the transaction is gone.
        let known = ["Msg 1205,", "Msg 3960,"];
        assert!(known.iter().any(|k| m.starts_with(k)), "{m}");
    }
    message.is_some()
}

/// Sleeps for some of these microseconds. The readers' pauses between their statements are long, so that most orders
/// put somebody into them.
fn pause(rng: &mut Rng, from: u64, to: u64) {
    thread::sleep(Duration::from_micros(from + rng.below(to - from)));
}

fn session(instance: &Arc<Instance>, level: &Level) -> Session {
    let mut s = login(instance);
    run(&mut s, &format!("USE {}", level.database));
    run(
        &mut s,
        &format!("SET TRANSACTION ISOLATION LEVEL {}", level.set),
    );
    s
}

/// Runs two sessions to their end.
fn both(
    first: impl FnOnce() -> i64 + Send + 'static,
    second: impl FnOnce() -> i64 + Send + 'static,
) -> (i64, i64) {
    let first = thread::spawn("first", first);
    let second = thread::spawn("second", second);
    (first.join().expect("first"), second.join().expect("second"))
}

/// A read in a transaction, twice; 1 when the two differ.
fn read_twice(mut s: Session, mut rng: Rng, sql: &'static str) -> i64 {
    pause(&mut rng, 0, 1000);
    run(&mut s, "BEGIN TRAN");
    let before = value(&mut s, sql);
    pause(&mut rng, 1000, 4000);
    let after = value(&mut s, sql);
    run(&mut s, "IF @@TRANCOUNT > 0 COMMIT");
    i64::from(before.is_some() && after.is_some() && before != after)
}

fn write(mut s: Session, mut rng: Rng, sql: &str, end: &str) -> i64 {
    pause(&mut rng, 0, 3000);
    run(&mut s, "BEGIN TRAN");
    let done = !failed(&run(&mut s, sql));
    let hold = if end == "COMMIT" { 0 } else { 1500 };
    pause(&mut rng, hold, hold + 1000);
    if done {
        assert!(!failed(&run(&mut s, end)));
    }
    0
}

/// v = v + 1, read first and written then; 1 when it was committed.
fn increment(mut s: Session, mut rng: Rng) -> i64 {
    pause(&mut rng, 0, 1000);
    run(&mut s, "BEGIN TRAN");
    let Some(v) = value(&mut s, "SELECT v FROM t WHERE id = 1") else {
        return 0;
    };
    pause(&mut rng, 0, 2000);
    if failed(&run(
        &mut s,
        &format!("UPDATE t SET v = {} WHERE id = 1", v + 1),
    )) {
        return 0;
    }
    i64::from(!failed(&run(&mut s, "COMMIT")))
}

/// Leaves when another one stays: v = 1 is to be here.
fn leave(mut s: Session, mut rng: Rng, id: i64) -> i64 {
    pause(&mut rng, 0, 1000);
    run(&mut s, "BEGIN TRAN");
    let here = value(&mut s, "SELECT COUNT(*) FROM t WHERE g = 1 AND v = 1");
    pause(&mut rng, 0, 2000);
    match here {
        None => return 0,
        Some(n) if n >= 2 => {
            if failed(&run(&mut s, &format!("UPDATE t SET v = 0 WHERE id = {id}"))) {
                return 0;
            }
        }
        Some(_) => {}
    }
    failed(&run(&mut s, "COMMIT"));
    0
}

/// Whether the anomaly happened.
fn happens(instance: &Arc<Instance>, level: &Level, anomaly: Anomaly, rng: &mut Rng) -> bool {
    let mut s = session(instance, level);
    run(&mut s, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    run(
        &mut s,
        "DELETE t; INSERT t VALUES (1, 1, 1), (2, 1, 1), (3, 2, 1)",
    );
    let (a, b) = (session(instance, level), session(instance, level));
    let (ra, rb) = (Rng::new(rng.next_u64()), Rng::new(rng.next_u64()));
    match anomaly {
        DirtyRead => {
            let read = move || {
                let (mut a, mut rng) = (a, ra);
                pause(&mut rng, 500, 3000);
                i64::from(value(&mut a, "SELECT v FROM t WHERE id = 1") == Some(666))
            };
            let sql = "UPDATE t SET v = 666 WHERE id = 1";
            both(read, move || write(b, rb, sql, "ROLLBACK")).0 == 1
        }
        NonRepeatable => {
            let read = move || read_twice(a, ra, "SELECT v FROM t WHERE id = 1");
            let sql = "UPDATE t SET v = v + 10 WHERE id = 1";
            both(read, move || write(b, rb, sql, "COMMIT")).0 == 1
        }
        Phantom => {
            let read = move || read_twice(a, ra, "SELECT COUNT(*) FROM t WHERE g = 1");
            // A key that no ghost has.
            let sql = format!("INSERT t VALUES ({}, 1, 1)", 4 + rng.below(1 << 30));
            both(read, move || write(b, rb, &sql, "COMMIT")).0 == 1
        }
        LostUpdate => {
            let (x, y) = both(move || increment(a, ra), move || increment(b, rb));
            value(&mut s, "SELECT v FROM t WHERE id = 1") != Some(1 + x + y)
        }
        WriteSkew => {
            both(move || leave(a, ra, 1), move || leave(b, rb, 2));
            value(&mut s, "SELECT COUNT(*) FROM t WHERE g = 1 AND v = 1") == Some(0)
        }
    }
}

#[test]
pub(super) fn each_level_allows_its_anomalies_and_no_others() {
    let mut seen = BTreeSet::new();
    // More with ISOLATION_SEEDS=n.
    let count = std::env::var("ISOLATION_SEEDS")
        .ok()
        .and_then(|n| n.parse().ok());
    for seed in seeds(0, count.unwrap_or(6)) {
        let found = Simulation::new(seed).max_steps(40_000_000).run(|sim| {
            let instance = start(&sim.env());
            let mut rng = Rng::new(seed);
            let mut s = login(&instance);
            for sql in [
                "CREATE DATABASE locking; CREATE DATABASE versioned",
                "ALTER DATABASE versioned SET READ_COMMITTED_SNAPSHOT ON",
                "ALTER DATABASE versioned SET ALLOW_SNAPSHOT_ISOLATION ON",
            ] {
                assert_eq!(run(&mut s, sql), Vec::<String>::new());
            }
            let table = TABLES[seed as usize % TABLES.len()];
            run(&mut s, &format!("USE locking; {table}"));
            run(&mut s, &format!("USE versioned; {table}"));
            run(&mut s, "USE master");
            let mut found = Vec::new();
            for (at, level) in LEVELS.iter().enumerate() {
                for anomaly in ANOMALIES.iter().copied().chain(ANOMALIES) {
                    if happens(&instance, level, anomaly, &mut rng) {
                        found.push((at, anomaly));
                    }
                }
            }
            found
        });
        for (at, anomaly) in found {
            let level = &LEVELS[at];
            assert!(
                level.allows.contains(&anomaly),
                "{anomaly:?} under {} ({}), seed {seed}: DURAMEN_SEED={seed} runs it again",
                level.set,
                level.database
            );
            seen.insert((at, anomaly));
        }
    }
    if std::env::var_os("DURAMEN_SEED").is_some() {
        return;
    }
    for (at, level) in LEVELS.iter().enumerate() {
        for anomaly in level.allows {
            assert!(
                seen.contains(&(at, *anomaly)),
                "{anomaly:?} never happened under {} ({})",
                level.set,
                level.database
            );
        }
    }
}
