//! COMMIT_WAIT on a simulated disk that loses power.
//!
//! A second session looks on from beside: what it has once seen was released by a commit. With STATEMENT that commit was
//! hardened before its locks were released, so it must be there after any crash; with PACKET the reply packet waits
//! instead, so in some crashes the row is gone. The second half is what shows that the first can fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duramen_os::sim::{SimDisk, Simulation, seeds};
use duramen_os::{IoError, thread};
use duramen_session::Session;

use super::{alone_on, login, run, start, start_with};

const TABLE: &str = "CREATE TABLE t (a int NOT NULL PRIMARY KEY)";

fn wait_is(word: &str) -> String {
    format!("ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {word}; EXEC sys.sp_flush_log")
}

fn rows(session: &mut Session) -> u64 {
    let lines = run(session, "SELECT COUNT(*) FROM t");
    lines[1].parse().expect("a number")
}

/// Writers run `insert` with their own numbers; a reader beside them reads; the power goes. How many rows it saw, and
/// how many are there afterwards.
fn seen_and_kept(seed: u64, word: &'static str, insert: &'static str) -> (u64, u64) {
    Simulation::new(seed).run(|sim| {
        let instance = start(&sim.disk().env());
        let mut setup = login(&instance);
        run(&mut setup, TABLE);
        assert!(run(&mut setup, &wait_is(word)).is_empty());
        run(
            &mut setup,
            "ALTER DATABASE master SET DELAYED_DURABILITY = ALLOWED",
        );
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..2)
            .map(|number| {
                let (instance, stop) = (instance.clone(), stop.clone());
                thread::spawn("writer", move || {
                    let mut session = login(&instance);
                    for i in (number..).step_by(2) {
                        if stop.load(Ordering::SeqCst) {
                            break;
                        }
                        let lines = run(&mut session, &insert.replace('?', &i.to_string()));
                        assert_eq!(lines, ["rows 1"]);
                        thread::sleep(Duration::from_micros(20));
                    }
                })
            })
            .collect();
        let mut reader = login(&instance);
        let mut seen = 0;
        while seen < 3 + seed % 5 {
            seen = rows(&mut reader);
            thread::sleep(Duration::from_micros(50));
        }
        let after = sim.disk().crash(seed);
        stop.store(true, Ordering::SeqCst);
        for w in writers {
            w.join().expect("writers end");
        }
        let kept = rows(&mut alone_on(&after.env()));
        (seen, kept)
    })
}

const AUTOCOMMIT: &str = "INSERT t VALUES (?)";
const EXPLICIT: &str = "BEGIN TRAN; INSERT t VALUES (?); COMMIT";
const DELAYED: &str = "BEGIN TRAN; INSERT t VALUES (?); COMMIT WITH (DELAYED_DURABILITY = ON)";

#[test]
fn with_statement_nobody_sees_what_a_crash_can_take() {
    for seed in seeds(1, 2) {
        for insert in [AUTOCOMMIT, EXPLICIT] {
            let (seen, kept) = seen_and_kept(seed, "STATEMENT", insert);
            assert!(seen <= kept, "seed {seed}: {seen} seen, {kept} kept");
        }
    }
}

#[test]
fn with_packet_or_delayed_durability_others_see_it_earlier() {
    for (word, insert) in [("PACKET", AUTOCOMMIT), ("STATEMENT", DELAYED)] {
        let lost = seeds(1, 8).any(|seed| {
            let (seen, kept) = seen_and_kept(seed, word, insert);
            seen > kept
        });
        assert!(lost, "{word}: the statement waited after all");
    }
}

#[test]
fn a_failed_log_write_ends_a_waiting_commit_with_9001() {
    use duramen_os::sim::{DiskOp, Fault};
    Simulation::new(5).run(|sim| {
        let disk = sim.disk();
        let instance = start(&disk.env());
        let mut s = login(&instance);
        run(&mut s, TABLE);
        run(&mut s, &wait_is("STATEMENT"));
        assert_eq!(run(&mut s, "INSERT t VALUES (1)"), ["rows 1"]);
        disk.add_fault(Fault {
            op: DiskOp::Write,
            path: Some("/data/master.ldf".into()),
            nth: 1,
            error: IoError::NoSpace,
            lasting: true,
        });
        let lines = run(&mut s, "INSERT t VALUES (2)");
        assert!(lines[0].starts_with("Msg 9001, Level 21"), "{lines:?}");
    });
}

const LISTED: &str = "SELECT name, value, is_value_default FROM sys.database_scoped_configurations \
     WHERE name IN ('COMMIT_WAIT', 'LOG_PROFILE') ORDER BY name";

#[test]
fn it_is_listed_kept_and_refused_where_it_means_nothing() {
    let disk = SimDisk::new(3);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(
        run(&mut s, LISTED)[1..3],
        ["COMMIT_WAIT | PACKET | 1", "LOG_PROFILE | native | 1"]
    );
    let set = "ALTER DATABASE SCOPED CONFIGURATION SET ";
    assert!(run(&mut s, &format!("{set}COMMIT_WAIT = STATEMENT")).is_empty());
    assert!(run(&mut s, &format!("{set}LOG_PROFILE = 2014")).is_empty());
    assert!(run(&mut s, &format!("{set}MAXDOP = 3")).is_empty());
    for refused in [
        "LEGACY_CARDINALITY_ESTIMATION = ON",
        "COMMIT_WAIT = SOMETIMES",
        "LOG_PROFILE = 1997",
    ] {
        let lines = run(&mut s, &format!("{set}{refused}"));
        assert!(
            lines[0].starts_with("Msg 40517") && lines[0].contains(refused),
            "{lines:?}"
        );
    }
    let nested = format!("BEGIN TRAN; {set}COMMIT_WAIT = PACKET");
    assert!(run(&mut s, &nested)[0].starts_with("Msg 226,"));
    run(&mut s, "ROLLBACK");
    let temporary = format!("USE tempdb; {set}COMMIT_WAIT = STATEMENT");
    assert!(run(&mut s, &temporary)[1].starts_with("Msg 40517"));
    run(&mut s, "USE master; EXEC sys.sp_flush_log");
    // Not a clean shutdown: the log has it.
    let mut s = alone_on(&disk.crash(1).env());
    assert_eq!(
        run(&mut s, LISTED)[1..3],
        ["COMMIT_WAIT | STATEMENT | 1", "LOG_PROFILE | 2014 | 0"]
    );
    let degree = LISTED.replace("'COMMIT_WAIT'", "'MAXDOP'");
    assert!(run(&mut s, &degree).contains(&"MAXDOP | 3 | 0".to_owned()));
}

#[test]
fn a_database_starts_as_its_log_profile_says_and_remembers_it() {
    use duramen_wal::LogProfile;
    let disk = SimDisk::new(4);
    let create = "CREATE DATABASE d ON (NAME = d1, FILENAME = '/data/d.mdf', SIZE = 4MB) LOG ON (NAME = dl, FILENAME = '/data/d.ldf', SIZE = 2MB)";
    let instance = start_with(&disk.env(), LogProfile::V2019);
    run(&mut login(&instance), create);
    instance.shutdown().expect("a clean shutdown");
    // Started with another profile for new databases: the old one keeps its own.
    let instance = start_with(&disk.env(), LogProfile::Native);
    let mut s = login(&instance);
    let of = |s: &mut Session, name: &str| {
        run(s, &format!("USE {name}"));
        run(s, LISTED)[1..3].to_vec()
    };
    assert_eq!(
        of(&mut s, "d"),
        ["COMMIT_WAIT | STATEMENT | 1", "LOG_PROFILE | 2019 | 0"]
    );
    assert_eq!(of(&mut s, "tempdb")[0], "COMMIT_WAIT | PACKET | 1");
}
