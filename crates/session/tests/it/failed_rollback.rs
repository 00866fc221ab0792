//! A rollback that fails shuts its database down and nothing else; it is recovered once, and SUSPECT if that fails too.

use std::path::Path;
use std::time::Duration;

use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault};
use duramen_os::thread;

use super::*;

fn fine(lines: &[String]) {
    assert!(!lines.iter().any(|l| l.starts_with("Msg")), "{lines:?}");
}

/// Databases `b` and `other`, each with a row, and a session that has changed both; no page of `b` is in memory.
fn changed(disk: &Arc<SimDisk>) -> (Started, Session) {
    let instance = start(&disk.env());
    let mut s = login(&instance);
    for sql in [
        "CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = '/data/b.mdf') LOG ON (NAME = b_log, FILENAME = '/data/b.ldf')",
        "CREATE DATABASE other",
        "CREATE TABLE b.dbo.t (a int, pad varchar(100)); INSERT b.dbo.t VALUES (1, 'the row to look for')",
        "CREATE TABLE other.dbo.t (a int); INSERT other.dbo.t VALUES (1)",
        "USE b; BEGIN TRAN; UPDATE b.dbo.t SET a = 2; UPDATE other.dbo.t SET a = 2; CHECKPOINT",
        "DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS",
    ] {
        fine(&run(&mut s, sql));
    }
    (instance, s)
}

/// A page of `b` cannot be read, once.
fn fail_once(disk: &SimDisk) {
    disk.add_fault(Fault {
        op: DiskOp::Read,
        path: Some("/data/b.mdf".into()),
        nth: 1,
        error: IoError::device("pread"),
        lasting: false,
    });
}

fn state(instance: &Arc<Instance>) -> String {
    let mut s = login(instance);
    run(
        &mut s,
        "SELECT state_desc FROM sys.databases WHERE name = 'b'",
    )[1]
    .clone()
}

/// Waits until the database is in its last state.
fn settled(instance: &Arc<Instance>) -> String {
    for _ in 0..2000 {
        let state = state(instance);
        if state != "RECOVERING" {
            return state;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("the database does not come back");
}

/// Everything is as if the transaction had never been, and nobody holds anything.
fn undone(instance: &Arc<Instance>) {
    let mut s = login(instance);
    let lines = run(&mut s, "SELECT a FROM b.dbo.t; SELECT a FROM other.dbo.t");
    fine(&lines);
    assert_eq!((&*lines[1], &*lines[4]), ("1", "1"), "{lines:?}");
    for check in [
        "DBCC CHECKDB (b) WITH NO_INFOMSGS",
        "DBCC CHECKDB (other) WITH NO_INFOMSGS",
    ] {
        assert_eq!(run(&mut s, check), Vec::<String>::new());
    }
    let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_mode <> 'S'; SELECT COUNT(*) FROM sys.dm_tran_database_transactions WHERE database_transaction_begin_lsn IS NOT NULL";
    let lines = run(&mut s, locks);
    assert_eq!((&*lines[1], &*lines[4]), ("0", "0"), "{lines:?}");
    fine(&run(
        &mut s,
        "UPDATE b.dbo.t SET a = 5; UPDATE other.dbo.t SET a = 5; CREATE TABLE b.dbo.u (a int)",
    ));
}

#[test]
fn a_database_whose_rollback_fails_is_recovered_once_by_itself() {
    for how in ["ROLLBACK", "disconnect", "kill", "savepoint"] {
        let disk = SimDisk::new(31);
        let (instance, mut s) = changed(&disk);
        let mut inside = login(&instance);
        fine(&run(&mut inside, "USE b; SELECT 1"));
        let mut outside = login(&instance);
        fine(&run(&mut outside, "USE other; SELECT 1"));
        let waits = {
            let instance = Arc::clone(&instance);
            thread::spawn("waits", move || {
                let mut waits = login(&instance);
                run(&mut waits, "SELECT a FROM b.dbo.t")
            })
        };
        let waiting = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_status = 'WAIT'";
        while run(&mut outside, waiting)[1] == "0" {
            thread::sleep(Duration::from_millis(2));
        }
        if how == "savepoint" {
            fine(&run(
                &mut s,
                "SAVE TRAN s; UPDATE b.dbo.t SET a = 3; CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS",
            ));
        }
        // Who waits has read the page again.
        fine(&run(&mut outside, "DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS"));
        fail_once(&disk);
        match how {
            "disconnect" => drop(s),
            "kill" => {
                let spid = run(&mut s, "SELECT @@SPID")[1].clone();
                fine(&run(&mut outside, &format!("KILL {spid}")));
            }
            _ => {
                let text = if how == "savepoint" {
                    "ROLLBACK TRAN s"
                } else {
                    how
                };
                let lines = run(&mut s, text);
                assert!(
                    lines[0].starts_with("Msg 3314, Level 21"),
                    "{how}: {lines:?}"
                );
                drop(s);
            }
        }
        let reported = waits.join().expect("ends");
        assert!(
            reported.iter().any(|l| l.starts_with("Msg 9001, Level 21")),
            "{how}: {reported:?}"
        );
        assert_eq!(settled(&instance), "ONLINE", "{how}");
        // Who was in it is out; who was not has noticed nothing.
        let lines = run(&mut inside, "SELECT 1 AS still_there");
        assert!(lines[0].starts_with("Msg 596"), "{how}: {lines:?}");
        fine(&run(&mut outside, "SELECT a FROM other.dbo.t"));
        drop(inside);
        drop(outside);
        undone(&instance);
        let mut s = login(&instance);
        let log = "CREATE TABLE #l (d datetime, p nvarchar(50), t nvarchar(max)); INSERT #l EXEC xp_readerrorlog 0, 1; SELECT COUNT(*) FROM #l WHERE t LIKE 'Error: 3314, Severity: 21%' UNION ALL SELECT COUNT(*) FROM #l WHERE t LIKE 'Error: 823%' UNION ALL SELECT COUNT(*) FROM #l WHERE t LIKE 'Database b was shutdown due to error 3314%'";
        let lines = run(&mut s, log);
        assert_eq!(
            lines[lines.len() - 4..lines.len() - 1],
            ["1", "1", "1"],
            "{how}: {lines:?}"
        );
    }
}

#[test]
fn if_undo_fails_again_it_is_suspect_and_the_others_go_on() {
    let disk = SimDisk::new(32);
    let (instance, mut s) = changed(&disk);
    let path = Path::new("/data/b.mdf");
    let bytes = disk.durable_bytes(path).expect("there");
    let text = b"the row to look for";
    let at = bytes
        .windows(text.len())
        .position(|w| w == text)
        .expect("on its page");
    disk.damage(path, at as u64, b"T").expect("damaged");
    let lines = run(&mut s, "ROLLBACK");
    assert!(lines[0].starts_with("Msg 3314, Level 21"), "{lines:?}");
    drop(s);
    assert_eq!(settled(&instance), "SUSPECT");
    let mut s = login(&instance);
    let lines = run(&mut s, "SELECT a FROM b.dbo.t");
    assert!(lines[0].starts_with("Msg 926, Level 14"), "{lines:?}");
    assert_eq!(run(&mut s, "SELECT a FROM other.dbo.t")[1], "1");
    let lines = run(
        &mut s,
        "CREATE TABLE #l (d datetime, p nvarchar(50), t nvarchar(max)); INSERT #l EXEC xp_readerrorlog 0, 1; SELECT COUNT(*) FROM #l WHERE t LIKE 'Error: 3414, Severity: 21%'",
    );
    assert_eq!(lines[lines.len() - 2], "1", "{lines:?}");
    let bytes = disk.durable_bytes(path).expect("there");
    emergency(&disk, &instance);
    assert!(
        disk.durable_bytes(path).expect("there") == bytes,
        "nothing of the file has changed"
    );
    // Nobody pins it: the damage undone, it comes back.
    disk.damage(path, at as u64, b"t").expect("mended");
    fine(&run(&mut s, "ALTER DATABASE b SET ONLINE"));
    drop(s);
    undone(&instance);
}

/// `b` is SUSPECT, and is read by sysadmin as its files are; then it is SUSPECT again.
fn emergency(disk: &Arc<SimDisk>, instance: &Arc<Instance>) {
    let mut s = login(instance);
    fine(&run(
        &mut s,
        "CREATE LOGIN reader WITH PASSWORD = 'Reads1!reads'; CREATE USER reader FOR LOGIN reader",
    ));
    fine(&run(&mut s, "ALTER DATABASE b SET EMERGENCY"));
    let shown = "SELECT state_desc, is_read_only, CAST(DATABASEPROPERTYEX('b', 'Status') AS varchar(20)), DATABASEPROPERTY('b', 'IsEmergencyMode') FROM sys.databases WHERE name = 'b'";
    assert_eq!(run(&mut s, shown)[1], "EMERGENCY | 1 | EMERGENCY | 1");
    // The damaged page is the one that could not be undone; others are read.
    let reported = run(&mut s, "SELECT a FROM b.dbo.t");
    assert!(
        reported.iter().any(|l| l.starts_with("Msg 824")),
        "{reported:?}"
    );
    let mut s = login(instance);
    assert_eq!(run(&mut s, "SELECT COUNT(*) FROM b.sys.tables")[1], "1");
    for (sql, number) in [
        ("USE b; CREATE TABLE x (a int)", 3908),
        ("INSERT b.dbo.t VALUES (7, 'x')", 3908),
        ("BACKUP DATABASE b TO DISK = 'b.bak'", 3033),
        ("ALTER DATABASE b MODIFY NAME = c", 3908),
        ("ALTER DATABASE b SET READ_WRITE", 3908),
        ("ALTER DATABASE b SET EMERGENCY, SINGLE_USER", 40517),
        ("USE master; EXEC sp_detach_db b", 3707),
        ("ALTER DATABASE tempdb SET EMERGENCY", 5058),
    ] {
        let reported = run(&mut s, sql);
        let first = format!("Msg {number},");
        assert!(
            reported.iter().any(|l| l.starts_with(&first)),
            "{sql}: {reported:?}"
        );
    }
    let request = LoginRequest {
        user: "reader".to_owned(),
        password: "Reads1!reads".to_owned(),
        ..LoginRequest::default()
    };
    let mut other = duramen_session::login(instance, &request).expect("known");
    let reported = run(&mut other, "USE b");
    assert!(reported[0].starts_with("Msg 916, Level 14"), "{reported:?}");
    drop(other);
    // Its recovery fails as before.
    fine(&run(
        &mut s,
        "USE master; DBCC FREEPROCCACHE WITH NO_INFOMSGS",
    ));
    drop(s);
    let mut s = login(instance);
    let reported = run(&mut s, "ALTER DATABASE b SET ONLINE");
    assert!(reported[0].starts_with("Msg "), "{reported:?}");
    assert_eq!(state(instance), "SUSPECT");
    let left = Path::new("/data/b.mdf_MSSQL_EMERGENCY");
    assert!(!disk.env().disk.exists(left));
}

#[test]
fn an_emergency_outlasts_starts_and_shows_what_was_not_committed() {
    let disk = SimDisk::new(33);
    let (instance, s) = changed(&disk);
    let disk = disk.crash(5);
    drop((instance, s));
    {
        let instance = start(&disk.env());
        let mut s = login(&instance);
        fine(&run(
            &mut s,
            "ALTER DATABASE b SET EMERGENCY WITH ROLLBACK IMMEDIATE",
        ));
        assert_eq!(
            run(&mut s, "SELECT a FROM b.dbo.t")[1],
            "1",
            "it was recovered"
        );
        fine(&run(&mut s, "ALTER DATABASE b SET ONLINE"));
        fine(&run(
            &mut s,
            "BEGIN TRAN; UPDATE b.dbo.t SET a = 3; CHECKPOINT; USE b; CHECKPOINT",
        ));
        let crashed = disk.crash(6);
        drop((s, instance));
        // The row is put to EMERGENCY in a start that finds the transaction's change in the file: by master's row alone.
        let instance = start(&crashed.env());
        let mut s = login(&instance);
        assert_eq!(run(&mut s, "SELECT a FROM b.dbo.t")[1], "1");
        fine(&run(&mut s, "ALTER DATABASE b SET EMERGENCY"));
        drop(s);
        instance.shutdown().expect("it ends");
        let instance = start(&crashed.env());
        assert_eq!(state(&instance), "EMERGENCY");
        let mut s = login(&instance);
        assert_eq!(run(&mut s, "SELECT a FROM b.dbo.t")[1], "1");
        assert_eq!(
            run(&mut s, "DBCC CHECKDB (b) WITH NO_INFOMSGS"),
            Vec::<String>::new()
        );
        fine(&run(
            &mut s,
            "ALTER DATABASE b SET EMERGENCY; ALTER DATABASE b SET ONLINE",
        ));
        fine(&run(&mut s, "UPDATE b.dbo.t SET a = 9"));
        fine(&run(&mut s, "ALTER DATABASE b SET EMERGENCY"));
        fine(&run(&mut s, "ALTER DATABASE b SET OFFLINE"));
        assert_eq!(state(&instance), "OFFLINE");
        fine(&run(&mut s, "ALTER DATABASE b SET ONLINE"));
        assert_eq!(run(&mut s, "SELECT a FROM b.dbo.t")[1], "9");
        fine(&run(
            &mut s,
            "ALTER DATABASE b SET EMERGENCY; DROP DATABASE b",
        ));
        assert!(!crashed.env().disk.exists(Path::new("/data/b.mdf")));
    }
}
