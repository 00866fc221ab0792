//! A server at work while databases are still being recovered, and one that ends meanwhile.

use std::sync::Arc;

use duramen_events::instance::Instance;
use duramen_os::sim::SimDisk;
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::thread;
use duramen_program::login::LoginRequest;

use super::{Started, config, login, run, start};

/// Holds up whoever says a certain line.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    reached: Mutex<bool>,
    changed: Condvar,
    lines: Mutex<Vec<String>>,
}

impl Gate {
    fn say(&self, text: &str) {
        self.lines.lock().push(text.to_owned());
        if text.contains("rolled forward in database 'late'") {
            *self.reached.lock() = true;
            self.changed.notify_all();
            let mut open = self.open.lock();
            while !*open {
                self.changed.wait(&mut open);
            }
        }
    }

    fn wait(&self) {
        let mut reached = self.reached.lock();
        while !*reached {
            self.changed.wait(&mut reached);
        }
    }

    fn release(&self) {
        *self.open.lock() = true;
        self.changed.notify_all();
    }
}

/// What a crash leaves: two databases, one with a committed transaction and one that lost.
fn crashed() -> Arc<SimDisk> {
    let disk = SimDisk::new(1);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    run(&mut s, "CREATE DATABASE early; CREATE DATABASE late");
    run(
        &mut s,
        "USE late; CREATE TABLE t (id int, pad char(500)); INSERT t VALUES (1, 'a')",
    );
    run(
        &mut s,
        "BEGIN TRAN; INSERT t SELECT value, 'b' FROM GENERATE_SERIES(1, 300); EXEC sys.sp_flush_log",
    );
    let after = disk.crash(1);
    drop(s);
    after
}

/// A start that is held up in the recovery of `late`.
fn held_up(disk: &Arc<SimDisk>) -> (Arc<Instance>, Arc<Gate>) {
    let gate = Arc::<Gate>::default();
    let notice = {
        let gate = gate.clone();
        Arc::new(move |text: &str| gate.say(text))
    };
    let instance = duramen_session::start_early(&disk.env(), config(Default::default()), notice);
    let instance = instance.expect("the system databases open");
    gate.wait();
    (instance, gate)
}

#[test]
fn users_come_in_while_a_database_is_recovered() {
    let disk = crashed();
    let (instance, gate) = held_up(&disk);
    let mut s = login(&instance);
    let states = "SELECT state, state_desc, DATABASEPROPERTYEX(name, 'Status') FROM sys.databases \
                  WHERE name = 'late'";
    let reported = run(&mut s, states);
    assert_eq!(reported[1], "2 | RECOVERING | RECOVERING");
    for sql in [
        "USE late",
        "SELECT * FROM late.dbo.t",
        "DROP DATABASE late",
        "DBCC CHECKDB (late)",
    ] {
        let reported = run(&mut s, sql);
        let text = "Msg 922, Level 14, State 1, Line 1: Database 'late' is being recovered. \
                    Waiting until recovery is finished.";
        assert_eq!(reported.last().map(String::as_str), Some(text), "{sql}");
    }
    let reported = run(&mut s, "CREATE DATABASE late");
    assert!(reported[0].starts_with("Msg 1801"), "{reported:?}");
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "Secret-1".to_owned(),
        database: "late".to_owned(),
        ..LoginRequest::default()
    };
    assert_eq!(
        duramen_session::login(&instance, &request)
            .err()
            .map(|e| e.number),
        Some(4060)
    );
    let requests = "SELECT command, status, DB_NAME(database_id), database_id, \
                    CASE WHEN percent_complete BETWEEN 1 AND 100 THEN 1 END, \
                    CASE WHEN session_id < 51 THEN 1 END \
                    FROM sys.dm_exec_requests WHERE command = 'DB STARTUP' \
                    AND database_id = (SELECT database_id FROM sys.databases WHERE name = 'late')";
    let reported = run(&mut s, requests);
    assert!(
        reported[1].starts_with("DB STARTUP | background | "),
        "{reported:?}"
    );
    assert!(reported[1].ends_with("| 1 | 1"), "{reported:?}");
    assert_eq!(reported[2], "rows 1");
    gate.release();
    instance.databases.wait_until_open();
    assert_eq!(run(&mut s, states)[1], "0 | ONLINE | ONLINE");
    assert_eq!(run(&mut s, requests)[1], "rows 0");
    assert_eq!(run(&mut s, "SELECT COUNT(*) FROM late.dbo.t")[1], "1");
    let lines = gate.lines.lock().clone();
    let place = |part: &str| lines.iter().position(|l| l.contains(part));
    let order = [
        "Starting up database 'master'.",
        "Starting up database 'late'.",
        "rolled forward in database 'late' (6:0)",
        "1 transactions rolled back in database 'late' (6:0)",
        "Recovery is writing a checkpoint in database 'late' (6).",
        "Recovery completed for database late (database ID 6) in 0 second(s)",
        "Recovery is complete.",
    ];
    let places: Vec<_> = order.iter().map(|part| place(part)).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{lines:#?}");
    let times = lines
        .iter()
        .find(|l| l.contains("Recovery completed for database late"));
    let undo =
        times.is_some_and(|l| l.contains(" ms [system undo ") && l.contains(" ms, regular undo "));
    assert!(undo, "{times:?}");
    drop(s);
    drop(Started(instance));
}

#[test]
fn a_recovery_that_a_shutdown_interrupts_is_finished_by_the_next_start() {
    let disk = crashed();
    let (instance, gate) = held_up(&disk);
    let ending = {
        let instance = instance.clone();
        thread::spawn("shutdown", move || instance.shutdown())
    };
    while !instance.databases.engine.is_interrupted() {
        thread::yield_now();
    }
    gate.release();
    ending.join().expect("no panic").expect("a clean end");
    let reported = gate.lines.lock().join("\n");
    assert!(
        !reported.contains("rolled back in database 'late'"),
        "{reported}"
    );
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(run(&mut s, "SELECT COUNT(*) FROM late.dbo.t")[1], "1");
}
