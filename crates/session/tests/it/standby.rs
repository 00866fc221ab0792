//! RESTORE WITH STANDBY: reading between two restores, over crashes and failures.

use duramen_os::sim::SimDisk;
use duramen_session::Session;

use super::{login, run, start};

fn quiet(s: &mut Session, sql: &str) {
    let reported = run(s, sql);
    assert!(
        reported.iter().all(|l| !l.starts_with("Msg ")),
        "{sql}: {reported:?}"
    );
}

fn rows(s: &mut Session) -> String {
    let reported = run(s, "SELECT COUNT(*), MIN(id), MAX(id) FROM copy.dbo.t");
    reported
        .get(1)
        .or(reported.first())
        .cloned()
        .unwrap_or_default()
}

fn state(s: &mut Session) -> String {
    run(
        s,
        "SELECT state_desc, is_in_standby, is_read_only, DATABASEPROPERTYEX('copy', 'IsInStandBy'), DATABASEPROPERTYEX('copy', 'Updateability') FROM sys.databases WHERE name = 'copy'",
    )[1]
    .clone()
}

const STANDBY: &str = "ONLINE | 1 | 1 | 1 | READ_ONLY";
const WITH: &str = "WITH STANDBY = 'C:\\copy.undo'";

/// A full backup and three log backups; one transaction is open over the second, committed in the third.
fn backups(s: &mut Session, other: &mut Session) {
    quiet(
        s,
        "CREATE DATABASE b ON (NAME = b, FILENAME = 'C:\\b.mdf', SIZE = 8MB) LOG ON (NAME = b_log, FILENAME = 'C:\\b.ldf', SIZE = 2MB);
         ALTER DATABASE b SET RECOVERY FULL",
    );
    quiet(
        s,
        "CREATE TABLE b.dbo.t (id int PRIMARY KEY, x char(2000) NOT NULL DEFAULT 'x')",
    );
    quiet(
        s,
        "INSERT b.dbo.t (id) VALUES (1); BACKUP DATABASE b TO DISK = 'C:\\b.bak'",
    );
    quiet(
        s,
        "INSERT b.dbo.t (id) SELECT value FROM GENERATE_SERIES(2, 100); BACKUP LOG b TO DISK = 'C:\\b1.trn'",
    );
    quiet(
        other,
        "BEGIN TRAN; INSERT b.dbo.t (id) SELECT value FROM GENERATE_SERIES(1001, 1500)",
    );
    quiet(
        s,
        "INSERT b.dbo.t (id) VALUES (101); BACKUP LOG b TO DISK = 'C:\\b2.trn'",
    );
    quiet(other, "COMMIT");
    quiet(
        s,
        "INSERT b.dbo.t (id) VALUES (102); BACKUP LOG b TO DISK = 'C:\\b3.trn'",
    );
}

fn full(s: &mut Session, with: &str) {
    let with = with.replacen("WITH ", "", 1);
    quiet(
        s,
        &format!(
            "RESTORE DATABASE copy FROM DISK = 'C:\\b.bak' WITH MOVE 'b' TO 'C:\\c.mdf', MOVE 'b_log' TO 'C:\\c.ldf', {with}"
        ),
    );
}

fn log(s: &mut Session, n: u32, with: &str) {
    quiet(
        s,
        &format!("RESTORE LOG copy FROM DISK = 'C:\\b{n}.trn' {with}"),
    );
}

#[test]
fn a_standby_is_read_between_restores_and_over_crashes() {
    let disk = SimDisk::new(31);
    let instance = start(&disk.env());
    let (mut s, mut other) = (login(&instance), login(&instance));
    backups(&mut s, &mut other);
    full(&mut s, WITH);
    assert_eq!(
        (state(&mut s).as_str(), rows(&mut s).as_str()),
        (STANDBY, "1 | 1 | 1")
    );
    let there = |disk: &std::sync::Arc<SimDisk>| {
        let path = std::path::Path::new("/data/drives/C/copy.undo");
        disk.env().disk.exists(path)
    };
    assert!(there(&disk));
    log(&mut s, 1, WITH);
    assert_eq!(rows(&mut s), "100 | 1 | 100");
    for (sql, number) in [
        ("INSERT copy.dbo.t (id) VALUES (7777)", 3906),
        ("ALTER DATABASE copy SET RECOVERY SIMPLE", 5004),
        ("BACKUP DATABASE copy TO DISK = 'nul'", 3036),
        (
            "RESTORE LOG copy FROM DISK = 'C:\\b3.trn' WITH STANDBY = 'C:\\copy.undo'",
            4305,
        ),
        (
            "RESTORE LOG copy FROM DISK = 'C:\\b2.trn' WITH STANDBY = 'C:\\b.bak'",
            5170,
        ),
        (
            "RESTORE LOG copy FROM DISK = 'C:\\b2.trn' WITH STANDBY = 'C:\\u', NORECOVERY",
            3031,
        ),
        (
            "USE copy; RESTORE LOG copy FROM DISK = 'C:\\b2.trn' WITH NORECOVERY",
            3102,
        ),
        ("USE master; DBCC CHECKDB (copy) WITH NO_INFOMSGS", 0),
    ] {
        let reported = run(&mut s, sql);
        let first = reported.iter().find(|l| l.starts_with("Msg "));
        let found = first.map_or(0, |l| {
            l[4..].split(',').next().unwrap_or("").parse().unwrap_or(-1)
        });
        assert_eq!(found, number, "{sql}: {reported:?}");
        assert_eq!(
            (state(&mut s).as_str(), rows(&mut s).as_str()),
            (STANDBY, "100 | 1 | 100"),
            "{sql}"
        );
    }
    // Somebody who is in it keeps a RESTORE away.
    quiet(&mut other, "USE copy");
    let reported = run(
        &mut s,
        "RESTORE LOG copy FROM DISK = 'C:\\b2.trn' WITH NORECOVERY",
    );
    assert!(
        reported.iter().any(|l| l.starts_with("Msg 3101")),
        "{reported:?}"
    );
    quiet(&mut other, "USE master");
    // What was not committed is not seen, and not lost either.
    log(&mut s, 2, WITH);
    assert_eq!(rows(&mut s), "101 | 1 | 101");
    drop((s, other));
    // A crash, and a start that closes well.
    let disk = disk.crash(3);
    for round in 0..2 {
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(
            (state(&mut s).as_str(), rows(&mut s).as_str()),
            (STANDBY, "101 | 1 | 101"),
            "{round}"
        );
    }
    let instance = start(&disk.env());
    let mut s = login(&instance);
    log(&mut s, 3, WITH);
    assert_eq!(rows(&mut s), "602 | 1 | 1500");
    quiet(
        &mut s,
        "RESTORE DATABASE copy WITH RECOVERY; INSERT copy.dbo.t (id) VALUES (5000)",
    );
    assert_eq!(state(&mut s), "ONLINE | 0 | 0 | 0 | READ_WRITE");
    assert_eq!(rows(&mut s), "603 | 1 | 5000");
    assert!(!there(&disk));
    quiet(&mut s, "DBCC CHECKDB (copy) WITH NO_INFOMSGS");
}

#[test]
fn norecovery_ends_a_standby_and_a_drop_takes_it_away() {
    let disk = SimDisk::new(32);
    let instance = start(&disk.env());
    let (mut s, mut other) = (login(&instance), login(&instance));
    backups(&mut s, &mut other);
    full(&mut s, WITH);
    log(&mut s, 1, "WITH NORECOVERY");
    let reported = run(&mut s, "SELECT * FROM copy.dbo.t");
    assert!(reported[0].starts_with("Msg 927"), "{reported:?}");
    // From NORECOVERY to STANDBY without a backup.
    quiet(&mut s, &format!("RESTORE DATABASE copy {WITH}"));
    assert_eq!(rows(&mut s), "100 | 1 | 100");
    quiet(&mut s, "DROP DATABASE copy");
    for path in ["c.mdf", "c.ldf", "copy.undo"] {
        let path = format!("/data/drives/C/{path}");
        assert!(
            !disk.env().disk.exists(std::path::Path::new(&path)),
            "{path}"
        );
    }
    full(&mut s, WITH);
    quiet(
        &mut s,
        "RESTORE DATABASE copy FROM DISK = 'C:\\b.bak' WITH REPLACE, MOVE 'b' TO 'C:\\c.mdf', MOVE 'b_log' TO 'C:\\c.ldf'",
    );
    assert_eq!(state(&mut s), "ONLINE | 0 | 0 | 0 | READ_WRITE");
}

/// Power may leave an undo file behind whose database nobody remembers. It stands in nobody's way but other people's.
#[test]
fn an_undo_file_that_is_left_is_made_over_by_its_own_database_alone() {
    let sim = SimDisk::new(33);
    let instance = start(&sim.env());
    let (mut s, mut other) = (login(&instance), login(&instance));
    backups(&mut s, &mut other);
    full(&mut s, WITH);
    let disk = sim.env().disk;
    let undo = std::path::Path::new("/data/drives/C/copy.undo");
    let read = || {
        let file = disk
            .open(undo, &duramen_os::OpenOptions::default())
            .unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    };
    let write = |bytes: &[u8]| {
        let options = duramen_os::OpenOptions {
            create: true,
            ..duramen_os::OpenOptions::default()
        };
        let file = disk.open(undo, &options).unwrap();
        file.set_len(0).unwrap();
        file.write_at(bytes, 0).unwrap();
    };
    let left = read();
    // While the standby is open, its file is not another one's.
    let mut second = |name: &str| {
        let sql = format!(
            "RESTORE DATABASE {name} FROM DISK = 'C:\\b.bak' WITH MOVE 'b' TO 'C:\\{name}.mdf', MOVE 'b_log' TO 'C:\\{name}.ldf', STANDBY = 'C:\\copy.undo'"
        );
        run(&mut s, &sql)
    };
    let reported = second("copy2");
    assert!(reported[0].starts_with("Msg 5170"), "{reported:?}");
    let drop_it = "DROP DATABASE copy";
    quiet(&mut other, drop_it);
    assert!(!disk.exists(undo));
    write(&left);
    let reported = second("copy2");
    assert!(reported[0].starts_with("Msg 5170"), "{reported:?}");
    assert_eq!(read(), left);
    let reported = second("COPY");
    assert!(
        reported.iter().all(|l| !l.starts_with("Msg ")),
        "{reported:?}"
    );
    quiet(&mut other, drop_it);
    // A file that is no undo file stays as it is, and so does an empty one.
    for bytes in [&b"a letter to somebody"[..], b"", &vec![7; 20_000]] {
        write(bytes);
        let reported = second("copy");
        assert!(reported[0].starts_with("Msg 5170"), "{reported:?}");
        assert_eq!(read(), bytes);
    }
}
