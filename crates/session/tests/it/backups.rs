//! BACKUP and RESTORE, as a client sees them.

use duramen_os::OpenOptions;
use duramen_os::memory::Broker;

use super::*;

pub const MAKE: &str = "CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = '/data/b.mdf', SIZE = 8MB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 8MB)";

/// Lines without the figures of a run.
fn without_times(lines: Vec<String>) -> Vec<String> {
    let cut = |l: String| match l.find(" pages in ") {
        Some(at) => l[..at + 6].to_owned(),
        None => l,
    };
    lines.into_iter().map(cut).collect()
}

pub fn all(session: &mut Session, batches: &[&str]) {
    for sql in batches {
        let lines = run(session, sql);
        let bad: Vec<&String> = lines.iter().filter(|l| l.starts_with("Msg ")).collect();
        assert_eq!(bad, Vec::<&String>::new(), "{sql}");
    }
}

/// A new disk, and an instance on it that has done these batches.
pub fn done(seed: u64, batches: &[&str]) -> (Arc<SimDisk>, Started) {
    let disk = SimDisk::new(seed);
    let instance = start(&disk.env());
    all(&mut login(&instance), batches);
    (disk, instance)
}

/// The state of the database `b`.
pub fn state(s: &mut Session) -> String {
    run(s, "SELECT state_desc FROM sys.databases WHERE name = 'b'")[1].clone()
}

/// A check finds nothing in the database `b`.
pub fn is_sound(s: &mut Session) {
    let found = run(s, "DBCC CHECKDB('b') WITH NO_INFOMSGS");
    assert_eq!(found, Vec::<String>::new());
}

pub fn bytes_of(env: &Env, path: &str) -> Vec<u8> {
    let file = env
        .disk
        .open(path.as_ref(), &OpenOptions::default())
        .expect("there");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_at(&mut bytes, 0).expect("read");
    bytes
}

#[test]
fn a_backup_says_what_it_has_taken() {
    let env = SimDisk::new(11).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY, x varchar(500))",
        ],
    );
    all(&mut s, &["INSERT b.dbo.t VALUES (1, 'one'), (2, 'two')"]);
    let lines = run(
        &mut s,
        "BACKUP DATABASE b TO DISK = '/data/b.bak' WITH NAME = 'first', CHECKSUM",
    );
    let lines = without_times(lines);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("Processed "), "{lines:?}");
    assert!(
        lines[0].ends_with(" pages for database 'b', file 'b' on file 1."),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with(" pages for database 'b', file 'b_log' on file 1."),
        "{lines:?}"
    );
    assert!(
        lines[2].contains("BACKUP DATABASE successfully processed "),
        "{lines:?}"
    );
    let medium = duramen_backup::Medium::open(&*env.disk, "/data/b.bak".as_ref(), "x");
    let medium = medium.expect("it is a medium");
    let set = &medium.sets[0];
    assert_eq!(
        (set.header.name.as_str(), set.header.database.as_str()),
        ("first", "b")
    );
    assert!(set.header.checksums && set.complete && set.header.own);
    medium
        .verify(set, Default::default(), &Broker::new(64 << 20))
        .expect("it is whole");
    // Other programs read the same blocks.
    let bytes = bytes_of(&env, "/data/b.bak");
    let blocks = duramen_format::backup::blocks(&bytes).expect("blocks");
    let kinds: Vec<String> = blocks
        .iter()
        .map(|b| String::from_utf8_lossy(&b.kind).into_owned())
        .collect();
    let expected = [
        "TAPE", "SFMB", "SSET", "VOLB", "MSCI", "MSDA", "MSTL", "MSTL", "MSLS", "SFMB", "ESET",
        "ESET", "SFMB",
    ];
    assert_eq!(kinds, expected);
    let pages = duramen_format::backup::pages(&bytes).expect("pages");
    assert!(pages.contains_key(&9), "the boot page is there");
}

#[test]
fn a_log_backup_wants_a_chain() {
    let instance = start(&SimDisk::new(12).env());
    let mut s = login(&instance);
    let log = "BACKUP LOG b TO DISK = 'nul'";
    all(&mut s, &[MAKE, "ALTER DATABASE b SET RECOVERY SIMPLE"]);
    let refused = |lines: Vec<String>, number: &str, last: &str| {
        assert!(lines[0].starts_with(number), "{lines:?}");
        assert!(
            lines[1].starts_with("Msg 3013") && lines[1].ends_with(last),
            "{lines:?}"
        );
    };
    refused(
        run(&mut s, log),
        "Msg 4208",
        "BACKUP LOG is terminating abnormally.",
    );
    all(&mut s, &["ALTER DATABASE b SET RECOVERY FULL"]);
    refused(
        run(&mut s, log),
        "Msg 4214",
        "BACKUP LOG is terminating abnormally.",
    );
    let copy = "BACKUP DATABASE b TO DISK = 'nul' WITH COPY_ONLY";
    all(&mut s, &[copy]);
    refused(
        run(&mut s, log),
        "Msg 4214",
        "BACKUP LOG is terminating abnormally.",
    );
    all(&mut s, &["BACKUP DATABASE b TO DISK = 'nul'", log, log]);
    all(
        &mut s,
        &[
            "ALTER DATABASE b SET RECOVERY SIMPLE",
            "ALTER DATABASE b SET RECOVERY FULL",
        ],
    );
    refused(
        run(&mut s, log),
        "Msg 4214",
        "BACKUP LOG is terminating abnormally.",
    );
    let database = "BACKUP DATABASE is terminating abnormally.";
    refused(
        run(&mut s, "BACKUP DATABASE nope TO DISK = 'nul'"),
        "Msg 911",
        database,
    );
    refused(
        run(&mut s, "BACKUP DATABASE tempdb TO DISK = 'nul'"),
        "Msg 3147",
        database,
    );
    refused(
        run(&mut s, "BACKUP DATABASE b TO DISK = '/nowhere/x.bak'"),
        "Msg 3201",
        database,
    );
    refused(
        run(&mut s, "BEGIN TRAN; BACKUP DATABASE b TO DISK = 'nul'; "),
        "Msg 3021",
        database,
    );
}

pub const MOVE: &str = "MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'";

pub fn numbers(session: &mut Session, sql: &str) -> String {
    let lines = run(session, sql);
    let rows: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|l| !l.starts_with('(') && !l.starts_with("rows"))
        .collect();
    rows.join(",")
}

#[test]
fn a_backup_is_restored_under_another_name() {
    let env = SimDisk::new(13).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY SIMPLE",
            "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, x varchar(900))",
        ],
    );
    let fill = "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 500 BEGIN INSERT b.dbo.t VALUES (REPLICATE('x', @i)); SET @i += 1 END";
    all(&mut s, &[fill]);
    // Somebody is in the middle of something.
    let mut other = login(&instance);
    all(&mut other, &["BEGIN TRAN; INSERT b.dbo.t VALUES ('never')"]);
    all(
        &mut s,
        &[
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
            "INSERT b.dbo.t VALUES ('later')",
        ],
    );
    all(&mut other, &["COMMIT"]);
    let restore = format!("RESTORE DATABASE c FROM DISK = '/data/b.bak' WITH {MOVE}");
    let lines = without_times(run(&mut s, &restore));
    assert!(
        lines[0].starts_with("Processed ")
            && lines[0].ends_with(" pages for database 'c', file 'b' on file 1."),
        "{lines:?}"
    );
    assert!(
        lines[2].starts_with("RESTORE DATABASE successfully processed "),
        "{lines:?}"
    );
    assert_eq!(
        numbers(&mut s, "SELECT COUNT(*), SUM(LEN(x)) FROM c.dbo.t"),
        "500 | 124750"
    );
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM b.dbo.t"), "502");
    all(
        &mut s,
        &[
            "INSERT c.dbo.t VALUES ('mine')",
            "DELETE c.dbo.t WHERE id < 100",
        ],
    );
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM c.dbo.t"), "402");
    assert_eq!(
        numbers(
            &mut s,
            "SELECT name, state_desc, recovery_model_desc FROM sys.databases WHERE name IN ('b', 'c')"
        ),
        "b | ONLINE | SIMPLE,c | ONLINE | SIMPLE"
    );
    // Both go on after a restart, and the files are sound.
    drop((s, other));
    instance.shutdown().expect("it closes");
    for report in duramen_check::check_directory(&*env.disk, "/data".as_ref()).expect("checked") {
        assert_eq!(report.findings, [], "{}", report.path.display());
    }
    let instance = start(&env);
    let mut s = login(&instance);
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM c.dbo.t"), "402");
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM b.dbo.t"), "502");
    // And a backup of the copy is one of the same family.
    all(
        &mut s,
        &["BACKUP DATABASE c TO DISK = '/data/c.bak'", "USE master"],
    );
    let replace = "RESTORE DATABASE b FROM DISK = '/data/c.bak' WITH MOVE 'b' TO '/data/b.mdf', MOVE 'b_log' TO '/data/b.ldf'";
    all(&mut s, &[replace]);
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM b.dbo.t"), "402");
}

#[test]
fn a_chain_of_log_backups_brings_back_every_row() {
    let env = SimDisk::new(14).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY, x varchar(900))",
        ],
    );
    all(&mut s, &["BACKUP DATABASE b TO DISK = '/data/b.bak'"]);
    for n in 0..4 {
        let insert = format!(
            "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 300 BEGIN INSERT b.dbo.t VALUES ({n} * 1000 + @i, REPLICATE('x', 800)); SET @i += 1 END"
        );
        all(&mut s, &[&insert, "BACKUP LOG b TO DISK = '/data/b.trn'"]);
        if n == 1 {
            all(&mut s, &["USE b; CHECKPOINT; USE master"]);
        }
    }
    let refused = |s: &mut Session, sql: &str, number: &str| {
        let lines = run(s, sql);
        assert!(lines[0].starts_with(number), "{sql}: {lines:?}");
        assert!(
            lines.last().is_some_and(|l| l.starts_with("Msg 3013")),
            "{sql}: {lines:?}"
        );
    };
    refused(
        &mut s,
        "RESTORE LOG c FROM DISK = '/data/b.trn'",
        "Msg 3118",
    );
    refused(
        &mut s,
        "RESTORE DATABASE b FROM DISK = '/data/b.bak'",
        "Msg 3159",
    );
    refused(
        &mut s,
        "RESTORE DATABASE c FROM DISK = '/data/b.bak'",
        "Msg 1834",
    );
    refused(
        &mut s,
        "RESTORE DATABASE c FROM DISK = '/data/b.bak' WITH MOVE 'none' TO 'x'",
        "Msg 3234",
    );
    refused(
        &mut s,
        "RESTORE LOG b FROM DISK = '/data/b.trn'",
        "Msg 3117",
    );
    all(
        &mut s,
        &[&format!(
            "RESTORE DATABASE c FROM DISK = '/data/b.bak' WITH {MOVE}, NORECOVERY"
        )],
    );
    assert_eq!(
        numbers(
            &mut s,
            "SELECT state, state_desc FROM sys.databases WHERE name = 'c'"
        ),
        "1 | RESTORING"
    );
    assert!(run(&mut s, "USE c")[0].starts_with("Msg 927, Level 14"));
    let log = |n: u32, with: &str| {
        format!("RESTORE LOG c FROM DISK = '/data/b.trn' WITH FILE = {n}{with}")
    };
    all(&mut s, &[&log(1, ", NORECOVERY")]);
    refused(&mut s, &log(3, ", NORECOVERY"), "Msg 4305");
    all(&mut s, &[&log(2, ", NORECOVERY")]);
    refused(&mut s, &log(1, ", NORECOVERY"), "Msg 4326");
    // A restart in between changes nothing.
    drop(s);
    instance.shutdown().expect("it closes");
    let instance = start(&env);
    let mut s = login(&instance);
    assert_eq!(
        numbers(
            &mut s,
            "SELECT state_desc FROM sys.databases WHERE name = 'c'"
        ),
        "RESTORING"
    );
    all(
        &mut s,
        &[&log(3, ", NORECOVERY"), &log(4, ""), "USE master"],
    );
    assert_eq!(
        numbers(&mut s, "SELECT COUNT(*), SUM(id) FROM c.dbo.t"),
        "1200 | 1979400"
    );
    // The chain goes on in the copy.
    all(
        &mut s,
        &[
            "INSERT c.dbo.t VALUES (-1, 'x')",
            "BACKUP LOG c TO DISK = '/data/b.trn'",
        ],
    );
    all(
        &mut s,
        &[
            "DROP DATABASE c",
            &format!("RESTORE DATABASE c FROM DISK = '/data/b.bak' WITH {MOVE}, NORECOVERY"),
        ],
    );
    for n in 1..=5 {
        all(&mut s, &[&log(n, ", NORECOVERY")]);
    }
    all(&mut s, &["RESTORE DATABASE c WITH RECOVERY"]);
    assert_eq!(
        numbers(&mut s, "SELECT COUNT(*), MIN(id) FROM c.dbo.t"),
        "1201 | -1"
    );
}

/// The demonstration that SQL Server's engineers give of `log_reuse_wait_desc`: the reason is that of the last attempt.
/// The log says that a file grew, and the backup's file list is older: redo makes the restored file as long.
#[test]
fn growth_that_the_log_tells_is_made_up_for() {
    let env = SimDisk::new(17).env();
    let instance = start(&env);
    let mut s = login(&instance);
    let grow = "ALTER DATABASE b MODIFY FILE (NAME = b, SIZE = 24MB)";
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY)",
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
            grow,
            "INSERT b.dbo.t VALUES (1)",
            "BACKUP LOG b TO DISK = '/data/b.trn'",
            "RESTORE DATABASE c FROM DISK = '/data/b.bak' WITH NORECOVERY, MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'",
            "RESTORE LOG c FROM DISK = '/data/b.trn' WITH RECOVERY",
        ],
    );
    let sizes = "SELECT size FROM sys.master_files WHERE name = 'b' ORDER BY database_id; SELECT id FROM c.dbo.t";
    let lines = run(&mut s, sizes);
    assert_eq!(lines[1..3], ["3072", "3072"], "{lines:?}");
    assert_eq!(lines[5], "1", "{lines:?}");
    assert_eq!(bytes_of(&env, "/data/c.mdf").len(), 24 << 20);
}

#[test]
fn the_reason_is_that_of_the_last_attempt_to_truncate() {
    let instance = start(&SimDisk::new(15).env());
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            "CREATE DATABASE b ON (NAME = b, FILENAME = '/data/b.mdf', SIZE = 8MB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 1MB, FILEGROWTH = 1MB)",
            "ALTER DATABASE b SET RECOVERY FULL",
            // A growth ahead of need in native may be one large VLF.
            "USE b; ALTER DATABASE SCOPED CONFIGURATION SET LOG_PROFILE = 2022; USE master",
            "CREATE TABLE b.dbo.t (id int IDENTITY, x char(4000))",
        ],
    );
    let fill = "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 500 BEGIN INSERT b.dbo.t VALUES ('x'); SET @i += 1 END";
    let reason = |s: &mut Session| {
        numbers(
            s,
            "SELECT log_reuse_wait_desc FROM sys.databases WHERE name = 'b'",
        )
    };
    // A VLF may end in the middle of a checkpoint or of a backup. So which are active is asked, not how many; and where
    // nothing keeps the log, the second time in a row says so: VLFs are longer than all that is logged here.
    let freed = |s: &mut Session, steps: &str| {
        all(s, &[steps]);
        if reason(s) != "NOTHING" {
            all(s, &[steps]);
        }
        reason(s)
    };
    let sequence = |s: &mut Session, which: &str| {
        let query = format!(
            "SELECT {which}(vlf_sequence_number) FROM sys.dm_db_log_info(DB_ID('b')) WHERE vlf_active = 1"
        );
        numbers(s, &query)
            .parse::<u32>()
            .expect("a sequence number")
    };
    // Before the first full backup it is as under SIMPLE.
    all(&mut s, &[fill]);
    let filled = sequence(&mut s, "MAX");
    let checkpoint = "USE b; CHECKPOINT; USE master";
    assert_eq!(freed(&mut s, checkpoint), "NOTHING");
    assert!(sequence(&mut s, "MIN") >= filled);
    let backup = "BACKUP LOG b TO DISK = 'nul'";
    all(&mut s, &["BACKUP DATABASE b TO DISK = 'nul'"]);
    let mut other = login(&instance);
    all(&mut other, &["BEGIN TRAN; INSERT b.dbo.t VALUES ('open')"]);
    assert_eq!(reason(&mut s), "NOTHING");
    all(&mut s, &[fill, fill]);
    // The checkpoints that try to truncate are a thread of their own, which may not have had its turn.
    for _ in 0..2000 {
        if reason(&mut s) != "NOTHING" {
            break;
        }
        duramen_os::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(reason(&mut s), "LOG_BACKUP");
    all(&mut s, &[backup]);
    assert_eq!(reason(&mut s), "ACTIVE_TRANSACTION");
    let (held, newest) = (sequence(&mut s, "MIN"), sequence(&mut s, "MAX"));
    assert!(newest - held >= 4, "{held} to {newest}");
    all(&mut other, &["COMMIT"]);
    assert_eq!(reason(&mut s), "ACTIVE_TRANSACTION");
    all(&mut s, &[checkpoint]);
    assert_eq!(reason(&mut s), "LOG_BACKUP");
    assert_eq!(sequence(&mut s, "MIN"), held);
    assert_eq!(freed(&mut s, &format!("{checkpoint}; {backup}")), "NOTHING");
    assert!(sequence(&mut s, "MIN") >= newest);
}

#[test]
fn a_backup_that_follows_a_new_file_is_refused() {
    let instance = start(&SimDisk::new(16).env());
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
            "ALTER DATABASE b ADD FILE (NAME = b2, FILENAME = '/data/b2.ndf', SIZE = 1MB)",
            "BACKUP LOG b TO DISK = '/data/b.trn'",
        ],
    );
    let restore = format!("RESTORE DATABASE c FROM DISK = '/data/b.bak' WITH {MOVE}, NORECOVERY");
    all(&mut s, &[&restore]);
    let lines = run(&mut s, "RESTORE LOG c FROM DISK = '/data/b.trn'");
    assert!(lines[0].starts_with("Msg 40517"), "{lines:?}");
    all(&mut s, &["RESTORE DATABASE c WITH RECOVERY"]);
}
