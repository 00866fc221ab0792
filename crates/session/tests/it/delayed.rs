//! Delayed durability, case by case: setting of the database x option of COMMIT x what the transaction wrote.
//! <https://learn.microsoft.com/sql/relational-databases/logs/control-transaction-durability>
//!
//! With COMMIT_WAIT = STATEMENT a fully durable commit is on disk when COMMIT returns. In simulation no time passes by
//! itself, so a delayed one is not: the flusher comes to it later. Both are seen in the log, and then in what is there
//! after the power has failed.

use duramen_events::instance::Instance;
use duramen_os::sim::{SimDisk, Simulation};
use duramen_session::Session;

use super::{alone_on, login, run, start};

fn quiet(s: &mut Session, sql: &str) {
    let lines = run(s, sql);
    let bad = lines.iter().find(|l| l.starts_with("Msg "));
    assert_eq!(bad, None, "{sql}");
}

/// Whether everything appended to the log of `d` is on disk.
fn is_durable(instance: &Instance) -> bool {
    let db = instance.databases.find("d").expect("open");
    let log = db.db.log().expect("a log");
    log.durable_lsn() >= log.last_lsn()
}

fn made(s: &mut Session) {
    for name in ["d", "e"] {
        quiet(
            s,
            &format!("CREATE DATABASE {name}; CREATE TABLE {name}.dbo.t (id int PRIMARY KEY)"),
        );
        quiet(
            s,
            &format!(
                "USE {name}; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT; EXEC sys.sp_flush_log; USE master"
            ),
        );
    }
}

const FULL: bool = false;
const DELAYED: bool = true;

/// For no option, OFF and ON.
const MATRIX: [(&str, [bool; 3]); 3] = [
    ("DISABLED", [FULL, FULL, FULL]),
    ("ALLOWED", [FULL, FULL, DELAYED]),
    ("FORCED", [DELAYED, DELAYED, DELAYED]),
];

const OPTIONS: [&str; 3] = [
    "",
    " WITH (DELAYED_DURABILITY = OFF)",
    " WITH (DELAYED_DURABILITY = ON)",
];

#[test]
fn every_case_of_the_matrix() {
    Simulation::new(7).run(|sim| {
        let instance = start(&sim.disk().env());
        let mut s = login(&instance);
        made(&mut s);
        quiet(&mut s, "CREATE TABLE #t (id int)");
        let mut id = 0;
        for (setting, expected) in MATRIX {
            quiet(
                &mut s,
                &format!("ALTER DATABASE d SET DELAYED_DURABILITY = {setting}"),
            );
            for (option, delayed) in OPTIONS.iter().zip(expected) {
                // Work of one database, of one and tempdb, and of two: the last is full whatever is asked for.
                for (also, may) in [
                    ("", true),
                    ("INSERT #t VALUES (1);", true),
                    ("INSERT e.dbo.t SELECT COUNT(*) FROM e.dbo.t;", false),
                ] {
                    id += 1;
                    quiet(&mut s, "USE d; EXEC sys.sp_flush_log; USE master");
                    assert!(is_durable(&instance), "sp_flush_log");
                    quiet(
                        &mut s,
                        &format!("BEGIN TRAN; INSERT d.dbo.t VALUES ({id}); {also} COMMIT{option}"),
                    );
                    let found = !is_durable(&instance);
                    assert_eq!(found, delayed && may, "{setting}{option}, {also}");
                }
                // A statement of its own has no option to ask for.
                if option.is_empty() {
                    id += 1;
                    quiet(&mut s, &format!("INSERT d.dbo.t VALUES ({id})"));
                    assert_eq!(!is_durable(&instance), delayed, "{setting}, autocommit");
                }
            }
        }
        // A full commit hardens the delayed ones before it.
        quiet(&mut s, "ALTER DATABASE d SET DELAYED_DURABILITY = ALLOWED");
        quiet(
            &mut s,
            "BEGIN TRAN; INSERT d.dbo.t VALUES (1000); COMMIT WITH (DELAYED_DURABILITY = ON)",
        );
        assert!(!is_durable(&instance));
        quiet(&mut s, "INSERT d.dbo.t VALUES (1001)");
        assert!(is_durable(&instance));
        drop(s);
        instance.shutdown().expect("closed");
    });
}

#[test]
fn what_is_lost_is_an_end_and_only_what_was_delayed() {
    let mut lost = 0;
    for seed in 1..6 {
        let kept: u32 = Simulation::new(seed).run(|sim| {
            let instance = start(&sim.disk().env());
            let mut s = login(&instance);
            made(&mut s);
            quiet(&mut s, "ALTER DATABASE d SET DELAYED_DURABILITY = ALLOWED");
            for id in 1..=10 {
                let option = if id == 5 { "OFF" } else { "ON" };
                quiet(
                    &mut s,
                    &format!("BEGIN TRAN; INSERT d.dbo.t VALUES ({id}); COMMIT WITH (DELAYED_DURABILITY = {option})"),
                );
            }
            let after = sim.disk().crash(seed);
            let lines = run(&mut alone_on(&after.env()), "SELECT COUNT(*), MAX(id) FROM d.dbo.t");
            let (count, last) = lines[1].split_once(" | ").expect("two columns");
            // A prefix, which has all that was committed before the full commit and that itself.
            assert_eq!(count, last);
            drop(s);
            instance.shutdown().expect("closed");
            count.parse().expect("a number")
        });
        assert!((5..=10).contains(&kept), "{kept}");
        lost += 10 - kept;
    }
    assert!(lost > 0, "no crash lost anything: nothing was delayed");
}

#[test]
fn a_clean_shutdown_loses_nothing() {
    let disk = SimDisk::new(3);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    made(&mut s);
    quiet(
        &mut s,
        "ALTER DATABASE d SET DELAYED_DURABILITY = FORCED; INSERT d.dbo.t VALUES (1)",
    );
    drop(s);
    instance.shutdown().expect("closed");
    let mut s = alone_on(&disk.crash(1).env());
    assert_eq!(run(&mut s, "SELECT COUNT(*) FROM d.dbo.t")[1], "1");
}
