//! Money that only moves: whoever reads without locks must find all of it at every moment.
//!
//! Writers move amounts between rows, move rows to other keys, change what an index is about, let rows grow until pages
//! split and rows are forwarded, roll back wholly or to a savepoint. Readers under READ_COMMITTED_SNAPSHOT count the
//! money in one statement; readers in SNAPSHOT also find the same rows again. Ghost cleanup and checkpoints run beside
//! them. Then the power fails: the money is there, the options are as they were, and no version is left.

use std::sync::Arc;
use std::time::Duration;

use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::{SimDisk, Simulation, seeds};
use duramen_os::thread;
use duramen_session::Session;

use super::{login, run, start};

const ACCOUNTS: u64 = 24;
const TOTAL: u64 = ACCOUNTS * 100;

/// A clustered table with an index, and a heap with one.
const TABLES: [&str; 2] = ["a", "h"];

fn make(s: &mut Session) {
    let silent = |s: &mut Session, sql: &str| {
        let lines = run(s, sql);
        assert!(
            !lines.iter().any(|l| l.starts_with("Msg")),
            "{sql}: {lines:?}"
        );
    };
    silent(
        s,
        "CREATE DATABASE d; ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON",
    );
    silent(s, "ALTER DATABASE d SET ALLOW_SNAPSHOT_ISOLATION ON");
    silent(
        s,
        "USE d; CREATE TABLE a (id int PRIMARY KEY, owner int, amount int, pad varchar(3000)); CREATE INDEX ao ON a (owner)",
    );
    silent(
        s,
        "CREATE TABLE h (id int, owner int, amount int, pad varchar(3000)); CREATE INDEX hi ON h (id); CREATE INDEX ho ON h (owner)",
    );
    for table in TABLES {
        for id in 0..ACCOUNTS {
            silent(
                s,
                &format!("INSERT {table} VALUES ({id}, {}, 100, '')", id % 5),
            );
        }
    }
}

fn session(instance: &Arc<Instance>) -> Session {
    let mut s = login(instance);
    run(&mut s, "USE d");
    s
}

/// Whether the batch ran; a deadlock or an update conflict has ended the transaction.
fn done(s: &mut Session, sql: &str) -> bool {
    let lines = run(s, sql);
    match lines.iter().find(|l| l.starts_with("Msg ")) {
        None => true,
        Some(m) => {
            let known = ["Msg 1205,", "Msg 3960,"];
            assert!(known.iter().any(|k| m.starts_with(k)), "{sql}: {m}");
            false
        }
    }
}

/// One change that keeps the sum.
fn change(table: &str, rng: &mut Rng) -> String {
    let (x, y) = (rng.below(ACCOUNTS), rng.below(ACCOUNTS));
    let n = rng.below(50);
    match rng.below(5) {
        0 | 1 => format!(
            "IF (SELECT COUNT(*) FROM {table} WITH (UPDLOCK) WHERE id IN ({x}, {y})) = 2 \
             BEGIN UPDATE {table} SET amount = amount - {n} WHERE id = {x}; \
             UPDATE {table} SET amount = amount + {n} WHERE id = {y} END"
        ),
        2 => format!("UPDATE {table} SET owner = {} WHERE id = {x}", rng.below(5)),
        3 => format!(
            "UPDATE {table} SET pad = REPLICATE('x', {}) WHERE id = {x}",
            rng.below(2500)
        ),
        _ => format!(
            "DECLARE @m int = (SELECT amount FROM {table} WITH (XLOCK) WHERE id = {x}); \
             IF @m IS NOT NULL AND NOT EXISTS (SELECT * FROM {table} WITH (HOLDLOCK, UPDLOCK) WHERE id = {x} + 100) \
             BEGIN DELETE {table} WHERE id = {x}; INSERT {table} VALUES ({x} + 100, {}, @m, '') END \
             ELSE IF @m IS NULL UPDATE {table} SET id = {x} WHERE id = {x} + 100",
            rng.below(5)
        ),
    }
}

fn writer(instance: Arc<Instance>, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut s = session(&instance);
    let level = ["READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"][rng.below(3) as usize];
    run(&mut s, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
    for _ in 0..12 {
        thread::sleep(Duration::from_micros(rng.below(2000)));
        run(&mut s, "BEGIN TRAN");
        let table = TABLES[rng.below(2) as usize];
        let mut alive = done(&mut s, &change(table, &mut rng));
        if alive && rng.one_in(3) {
            run(&mut s, "SAVE TRAN p");
            alive = done(&mut s, &change(table, &mut rng)) && done(&mut s, "ROLLBACK TRAN p");
        }
        if alive && rng.one_in(2) {
            alive = done(&mut s, &change(TABLES[rng.below(2) as usize], &mut rng));
        }
        if alive {
            done(&mut s, if rng.one_in(4) { "ROLLBACK" } else { "COMMIT" });
        }
    }
}

fn rows(s: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql);
    assert!(
        !lines.iter().any(|l| l.starts_with("Msg")),
        "{sql}: {lines:?}"
    );
    let mut rows: Vec<String> = lines[1..lines.len() - 1].to_vec();
    rows.sort();
    rows
}

/// The three ways into a table: all of it, by an index, by single look-ups.
fn counted(s: &mut Session, table: &str, rng: &mut Rng, at: &str) {
    let whole = format!("{TOTAL}");
    let sums = [
        format!("SELECT SUM(amount) FROM {table}"),
        format!("SELECT SUM(amount) FROM {table} WHERE owner >= 0"),
        format!("SELECT SUM(amount) FROM {table} WHERE id >= 0"),
    ];
    let sql = &sums[rng.below(3) as usize];
    assert_eq!(rows(s, sql), [whole], "{at}: {sql}");
}

fn reader(instance: Arc<Instance>, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut s = session(&instance);
    for round in 0..10 {
        let at = format!("seed {seed} round {round}");
        thread::sleep(Duration::from_micros(rng.below(3000)));
        let table = TABLES[rng.below(2) as usize];
        run(&mut s, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        counted(&mut s, table, &mut rng, &at);
        run(
            &mut s,
            "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN",
        );
        let sql = format!("SELECT id, owner, amount, LEN(pad) FROM {table}");
        let first = rows(&mut s, &sql);
        thread::sleep(Duration::from_micros(rng.below(4000)));
        counted(&mut s, table, &mut rng, &at);
        assert_eq!(rows(&mut s, &sql), first, "{at}: {sql}");
        let id = rng.below(ACCOUNTS);
        let one = format!("{sql} WHERE id = {id}");
        let wanted: Vec<String> = first
            .iter()
            .filter(|r| r.starts_with(&format!("{id} |")))
            .cloned()
            .collect();
        assert_eq!(rows(&mut s, &one), wanted, "{at}: {one}");
        run(&mut s, "COMMIT");
    }
}

#[test]
fn readers_without_locks_find_all_the_money_and_a_crash_leaves_no_versions() {
    for seed in seeds(0, 5) {
        let disk = SimDisk::new(seed);
        let simulation = Simulation::new(seed).on_disk(disk.clone());
        simulation.max_steps(80_000_000).run(|sim| {
            let instance = start(&sim.env());
            make(&mut login(&instance));
            let mut threads = Vec::new();
            for n in 0..3 {
                let instance = instance.clone();
                let work = move || writer(instance, seed * 100 + n);
                threads.push(thread::spawn("writer", work));
            }
            for n in 0..2 {
                let instance = instance.clone();
                let work = move || reader(instance, seed * 100 + 50 + n);
                threads.push(thread::spawn("reader", work));
            }
            if seed % 2 == 0 {
                for t in threads {
                    t.join().expect("no session fails");
                }
                let mut s = session(&instance);
                for table in TABLES {
                    counted(&mut s, table, &mut Rng::new(seed), "at the end");
                }
                run(&mut s, "EXEC sys.sp_flush_log");
            } else {
                // The power fails while they work.
                thread::sleep(Duration::from_millis(20 + seed * 7 % 30));
            }
        });
        let after = disk.crash(seed);
        Simulation::new(seed).on_disk(after).run(|sim| {
            let instance = start(&sim.env());
            assert_eq!(instance.version_stats(), Default::default());
            let mut s = login(&instance);
            let sql = "SELECT snapshot_isolation_state, is_read_committed_snapshot_on FROM sys.databases WHERE name = 'd'";
            assert_eq!(rows(&mut s, sql), ["1 | 1"], "seed {seed}");
            run(&mut s, "USE d");
            for table in TABLES {
                for level in ["READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"] {
                    run(&mut s, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
                    for _ in 0..4 {
                        counted(&mut s, table, &mut Rng::new(seed), level);
                    }
                }
            }
        });
    }
}
