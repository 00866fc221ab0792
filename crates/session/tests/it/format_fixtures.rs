//! Directories made by earlier builds, kept in `fixtures/`: this build opens them, and what they hold is right.
//!
//! `format-1.bin` was made by `make_a_fixture` as of the first version of the format: a database with rows in a heap, in
//! trees, outside the row and in partitions, transactions behind its last checkpoint, one that was open when the power
//! went, a full and a log backup, an event file. `format-2.bin` has the same, in records of the second version; its open
//! transaction has changed and deleted rows of base tables, too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_os::sim::SimDisk;

use duramen_format::version::{FORMAT_VERSION, too_new};
use duramen_storage::version_of_file;

use super::packed::{bytes_of, files_below, pack, unpack};
use super::{Session, alone_on, login, run, start};

/// By their versions.
const FIXTURES: [(u8, &[u8]); 2] = [
    (1, include_bytes!("fixtures/format-1.bin")),
    (2, include_bytes!("fixtures/format-2.bin")),
];

const MAKE: &[&str] = &[
    "CREATE DATABASE f ON (NAME = f, FILENAME = 'C:\\f.mdf', SIZE = 2MB), FILEGROUP g (NAME = f2, FILENAME = 'C:\\f2.ndf', SIZE = 1MB) LOG ON (NAME = f_log, FILENAME = 'C:\\f.ldf', SIZE = 1MB)",
    "ALTER DATABASE f SET RECOVERY FULL",
    "USE f; CREATE TABLE tree (id int IDENTITY PRIMARY KEY, n int NOT NULL, name varchar(50) COLLATE Latin1_General_CI_AS, at datetime2, d decimal(18,4), u uniqueidentifier); CREATE INDEX ix ON tree (n) INCLUDE (name)",
    "USE f; CREATE TABLE heap (a int, l varchar(max), x xml, b varbinary(max))",
    "USE f; CREATE TABLE wide (k int NOT NULL, v varchar(8000), w varchar(8000)); CREATE UNIQUE CLUSTERED INDEX c ON wide (k)",
    "USE f; CREATE TABLE ing (a int, b char(100)) ON g",
    "USE f; CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (10, 20)",
    "USE f; CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
    "USE f; CREATE TABLE part (p int NOT NULL, v int) ON ps (p)",
    "USE f; INSERT tree (n, name, at, d, u) SELECT value % 7, CONCAT('name ', value), DATEADD(day, value, '2020-01-01'), value / 3.0, CAST(REPLICATE(CAST(value % 10 AS char(1)), 8) + '-0000-0000-0000-000000000000' AS uniqueidentifier) FROM GENERATE_SERIES(1, 500)",
    "USE f; INSERT heap VALUES (1, REPLICATE(CONVERT(varchar(max), 'abc'), 9000), '<r><a b=\"1\"/></r>', 0x0102), (2, 'short', NULL, NULL)",
    "USE f; INSERT wide VALUES (1, REPLICATE('v', 3000), REPLICATE('w', 3000)); INSERT ing VALUES (1, 'one'), (2, 'two')",
    "USE f; INSERT part SELECT value, value * value FROM GENERATE_SERIES(1, 30)",
    "BACKUP DATABASE f TO DISK = 'f.bak'",
    "USE f; CHECKPOINT; DELETE tree WHERE id % 5 = 0; UPDATE heap SET a = a + 10; UPDATE wide SET v = 'now short'",
    "BACKUP LOG f TO DISK = 'f.trn'",
    "CREATE EVENT SESSION e ON SERVER ADD EVENT sqlserver.sql_batch_completed ADD TARGET package0.event_file (SET filename = 'e.xel'); ALTER EVENT SESSION e ON SERVER STATE = START",
    "SELECT 'an event'",
    "ALTER EVENT SESSION e ON SERVER STATE = STOP",
    "USE f; INSERT tree (n, name) VALUES (100, 'behind the checkpoint'); UPDATE part SET v = 0 WHERE p = 30; CREATE TABLE late (a int PRIMARY KEY); INSERT late VALUES (7)",
];
const OPEN_AT_THE_END: &str = "USE f; BEGIN TRAN; DELETE tree WHERE id < 100; INSERT heap (a) VALUES (99); CREATE TABLE never (a int); INSERT never VALUES (1); ALTER TABLE ing ADD never int NULL; DROP TABLE late";

/// What a fixture holds, as questions and answers.
const ASKED: &[(&str, &str)] = &[
    (
        "SELECT COUNT(*), SUM(id), MAX(n), MIN(at), SUM(d) FROM f.dbo.tree",
        "401 | 100501 | 100 | 2020-01-02 00:00:00.0000000 | 33333.3333",
    ),
    (
        "SELECT COUNT(*), MAX(id) FROM f.dbo.tree WITH (INDEX(ix)) WHERE n = 3",
        "57 | 493",
    ),
    (
        "SELECT name FROM f.dbo.tree WHERE n = 100",
        "behind the checkpoint",
    ),
    (
        "SELECT a, LEN(l), RIGHT(l, 6), x.value('(/r/a/@b)[1]', 'int'), b FROM f.dbo.heap WHERE a = 11",
        "11 | 27000 | abcabc | 1 | 0x0102",
    ),
    ("SELECT COUNT(*) FROM f.dbo.heap", "2"),
    ("SELECT v, LEN(w) FROM f.dbo.wide", "now short | 3000"),
    ("SELECT SUM(a) FROM f.dbo.ing", "3"),
    (
        "SELECT COUNT(*), SUM(v) FROM f.dbo.part WHERE p >= 20",
        "11 | 6085",
    ),
    ("SELECT a FROM f.dbo.late", "7"),
    (
        "SELECT COUNT(*) FROM f.sys.tables WHERE name = 'never'",
        "0",
    ),
    (
        "SELECT COUNT(*) FROM f.sys.columns WHERE object_id = OBJECT_ID('f.dbo.ing')",
        "2",
    ),
    (
        "SELECT COUNT(*) FROM sys.fn_xe_file_target_read_file('e*.xel', NULL, NULL, NULL) WHERE CAST(event_data AS nvarchar(max)) LIKE '%an event%'",
        "1",
    ),
];

/// Makes a fixture of the format as it is: `MAKE_FIXTURE=PATH cargo test -p duramen-session --test it -- --ignored make_a_fixture`.
#[test]
#[ignore = "writes a file; run it once when the format's version goes up"]
fn make_a_fixture() {
    let to = std::env::var("MAKE_FIXTURE").expect("the file to write");
    let disk = SimDisk::new(19);
    let instance = start(&disk.env());
    let (mut s, mut other) = (login(&instance), login(&instance));
    for sql in MAKE {
        let reported = run(&mut s, sql);
        assert!(
            reported.iter().all(|l| !l.starts_with("Msg ")),
            "{sql}: {reported:?}"
        );
    }
    run(&mut other, OPEN_AT_THE_END);
    run(&mut s, "EXEC f.sys.sp_flush_log; EXEC sys.sp_flush_log");
    // Event files wait for nobody's sync.
    let log = Path::new("/data/log");
    for path in files_below(&*disk.env().disk, log) {
        let file = disk.env().disk.open(&path, &Default::default()).unwrap();
        file.sync().unwrap();
    }
    disk.env().disk.sync_dir(log).unwrap();
    let after = disk.crash(1).env().disk;
    let mut paths = files_below(&*after, Path::new("/data"));
    let kept = |p: &PathBuf| {
        let name = p.file_name().unwrap().to_string_lossy().into_owned();
        !name.starts_with("temp") && !p.starts_with("/data/log")
            || name.ends_with(".xel") && name.starts_with('e')
    };
    paths.retain(kept);
    let packed = pack(&*after, &paths);
    let real = duramen_os::Env::real().disk;
    let options = duramen_os::OpenOptions {
        create: true,
        ..Default::default()
    };
    let file = real.open(Path::new(&to), &options).unwrap();
    file.set_len(0).unwrap();
    file.write_at(&packed, 0).unwrap();
    for p in paths {
        let alone = pack(&*after, std::slice::from_ref(&p)).len();
        println!("{} {} {alone}", p.display(), bytes_of(&*after, &p).len());
    }
    println!("{} bytes", packed.len());
    let mut s = alone_on(&disk.crash(1).env());
    for (sql, _) in ASKED {
        println!("{sql} -> {:?}", run(&mut s, sql));
    }
}

/// The fixture on a disk of its own.
fn on_a_disk(fixture: &[u8]) -> Arc<SimDisk> {
    let disk = SimDisk::new(2);
    unpack(fixture, &*disk.env().disk);
    disk
}

fn of_this_format() -> Arc<SimDisk> {
    let (_, fixture) = FIXTURES[FIXTURES.len() - 1];
    on_a_disk(fixture)
}

/// The versions of all marks, by file. tempdb is made anew at each start.
fn versions(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let disk = disk.fork().env().disk;
    let mut all = Vec::new();
    for path in files_below(&*disk, Path::new("/data")) {
        let kind = path.extension().map(|e| e.to_string_lossy().into_owned());
        let pages: &[usize] = match kind.as_deref() {
            _ if path.to_string_lossy().contains("/temp") => continue,
            Some("mdf") => &[0, 9],
            Some("ndf" | "ldf") => &[0],
            _ => continue,
        };
        let bytes = bytes_of(&*disk, &path);
        let version = |page: &usize| {
            let page = &bytes[page * 8192..][..8192];
            let mark = page.windows(15).position(|w| w == b"DURAMEN-FORMAT-");
            page[mark.expect("a mark") + 15] - b'0'
        };
        all.push((path.clone(), pages.iter().map(version).collect()));
    }
    all
}

/// Every file is of this version: what a server of the version before does with each of them.
fn says_this_version(disk: &SimDisk) {
    let all = versions(disk);
    assert!(all.len() >= 9, "{all:?}");
    for (path, marks) in all {
        assert!(
            marks.iter().all(|v| *v == FORMAT_VERSION),
            "{path:?}: {marks:?}"
        );
        let found = version_of_file(&*disk.fork().env().disk, &path);
        let refused = too_new("d", found, FORMAT_VERSION - 1).unwrap_err();
        assert_eq!((refused.number, refused.severity), (948, 20), "{path:?}");
    }
}

fn holds_what_it_held(s: &mut Session) {
    for (sql, answer) in ASKED {
        let reported = run(s, sql);
        assert_eq!(
            reported.get(1).map(String::as_str),
            Some(*answer),
            "{sql}: {reported:?}"
        );
    }
}

fn opens_and_holds_what_it_held((version, fixture): (u8, &[u8])) {
    let disk = on_a_disk(fixture);
    for (path, marks) in versions(&disk) {
        assert!(marks.iter().all(|v| *v == version), "{path:?}: {marks:?}");
    }
    let mut s = alone_on(&disk.env());
    holds_what_it_held(&mut s);
    for db in ["f", "master", "model", "msdb"] {
        let reported = run(&mut s, &format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS"));
        assert_eq!(reported, Vec::<String>::new(), "{db}");
    }
    says_this_version(&disk);
    // It can be written, and so can what its backups hold.
    for sql in [
        "INSERT f.dbo.tree (n, name) SELECT n, name FROM f.dbo.tree",
        "BACKUP LOG f TO DISK = 'next.trn'",
        "RESTORE DATABASE g FROM DISK = 'f.bak' WITH MOVE 'f' TO 'C:\\g.mdf', MOVE 'f2' TO 'C:\\g2.ndf', MOVE 'f_log' TO 'C:\\g.ldf', NORECOVERY",
        "RESTORE LOG g FROM DISK = 'f.trn' WITH NORECOVERY",
        "RESTORE LOG g FROM DISK = 'next.trn'",
    ] {
        let reported = run(&mut s, sql);
        assert!(
            reported.iter().all(|l| !l.starts_with("Msg ")),
            "{sql}: {reported:?}"
        );
    }
    let both = "SELECT (SELECT COUNT(*) FROM f.dbo.tree), (SELECT COUNT(*) FROM g.dbo.tree)";
    assert_eq!(run(&mut s, both)[1], "802 | 802");
    let reported = run(&mut s, "DBCC CHECKDB (g) WITH NO_INFOMSGS");
    assert_eq!(reported, Vec::<String>::new());
    says_this_version(&disk);
    drop(s);
    let mut s = alone_on(&disk.env());
    assert_eq!(run(&mut s, both)[1], "802 | 802");
    says_this_version(&disk);
}

#[test]
fn the_first_format_opens_and_holds_what_it_held() {
    opens_and_holds_what_it_held(FIXTURES[0]);
}

#[test]
fn the_second_format_opens_and_holds_what_it_held() {
    opens_and_holds_what_it_held(FIXTURES[1]);
}

/// The power goes in the middle of the first start, at some of its writes (storage tries each of one database). What has
/// still its old mark then is brought up by the next start.
#[test]
fn a_first_start_that_is_cut_short_begins_again() {
    let whole = on_a_disk(FIXTURES[0].1);
    let before = whole.changes();
    drop(start(&whole.env()));
    let changes = whole.changes() - before;
    let mut mixed = 0;
    for n in 1..6 {
        let disk = on_a_disk(FIXTURES[0].1);
        disk.power_off_after(changes * n / 8);
        let config = super::config(Default::default());
        if let Ok(started) = duramen_session::start(&disk.env(), config) {
            drop(super::Started(started));
        }
        let disk = disk.crash(n);
        let all = versions(&disk);
        let old = |(_, marks): &(PathBuf, Vec<u8>)| marks.contains(&1);
        mixed += u32::from(all.iter().any(old) && !all.iter().all(old));
        let mut s = alone_on(&disk.env());
        holds_what_it_held(&mut s);
        says_this_version(&disk);
    }
    assert!(mixed > 0);
}

/// A database that the server before has left RESTORING gets log of this version: nobody may take that for the older one's.
#[test]
fn log_that_is_laid_into_older_files_raises_their_marks() {
    let disk = on_a_disk(FIXTURES[0].1);
    let mut s = alone_on(&disk.env());
    for sql in [
        "RESTORE DATABASE g FROM DISK = 'f.bak' WITH MOVE 'f' TO 'C:\\g.mdf', MOVE 'f2' TO 'C:\\g2.ndf', MOVE 'f_log' TO 'C:\\g.ldf', NORECOVERY",
        "BACKUP LOG f TO DISK = 'next.trn'",
    ] {
        run(&mut s, sql);
    }
    drop(s);
    let log = "/data/drives/C/g.ldf";
    put_version(&disk, log, 0, 1);
    let mut s = alone_on(&disk.env());
    let version = || version_of_file(&*disk.fork().env().disk, Path::new(log));
    assert_eq!(version(), Some(1));
    for sql in [
        "RESTORE LOG g FROM DISK = 'f.trn' WITH NORECOVERY",
        "RESTORE LOG g FROM DISK = 'next.trn' WITH NORECOVERY",
    ] {
        let reported = run(&mut s, sql);
        assert!(
            reported.iter().all(|l| !l.starts_with("Msg ")),
            "{sql}: {reported:?}"
        );
        assert_eq!(version(), Some(FORMAT_VERSION));
    }
}

/// A raised mark is in one sector of a log file's header and the checksum in another: with one of them the file is still known,
/// also when its server does not open it again.
#[test]
fn a_log_file_whose_mark_is_half_raised_can_be_attached() {
    let disk = of_this_format();
    let mut s = alone_on(&disk.env());
    run(&mut s, "USE master; EXEC sp_detach_db 'f'");
    let log = Path::new("/data/drives/C/f.ldf");
    let header = &bytes_of(&*disk.env().disk, log)[..8192];
    let mark = header.windows(15).position(|w| w == b"DURAMEN-FORMAT-");
    let last = mark.unwrap() as u64 + 15;
    disk.damage(log, last, b"1").unwrap();
    let attach = "CREATE DATABASE f ON (FILENAME = 'C:\\f.mdf') FOR ATTACH";
    let reported = run(&mut s, attach);
    assert!(
        reported.iter().all(|l| !l.starts_with("Msg ")),
        "{reported:?}"
    );
    holds_what_it_held(&mut s);
    says_this_version(&disk);
}

/// Every file with its bytes.
fn contents(disk: &SimDisk, dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let disk = disk.fork().env().disk;
    let paths = files_below(&*disk, dir);
    paths
        .into_iter()
        .map(|p| (p.clone(), bytes_of(&*disk, &p)))
        .collect()
}

/// Raises the version in a page's mark, as a later server would have it.
fn raise(disk: &SimDisk, path: &str, page: usize) {
    put_version(disk, path, page, FORMAT_VERSION + 1);
}

fn put_version(disk: &SimDisk, path: &str, page: usize, version: u8) {
    let path = Path::new(path);
    let bytes = bytes_of(&*disk.fork().env().disk, path);
    let at = page * 8192;
    let mut one: [u8; 8192] = bytes[at..at + 8192].try_into().unwrap();
    let mark = one
        .windows(15)
        .position(|w| w == b"DURAMEN-FORMAT-")
        .unwrap();
    one[mark + 15] = b'0' + version;
    duramen_format::page::seal(&mut one);
    disk.damage(path, at as u64, &one).unwrap();
}

#[test]
fn a_newer_directory_is_refused_before_anything_is_written() {
    type Change = (&'static str, fn(&SimDisk));
    let changes: [Change; 6] = [
        ("master", |d| raise(d, "/data/master.mdf", 9)),
        ("master", |d| raise(d, "/data/master.mdf", 0)),
        ("model", |d| raise(d, "/data/model.ldf", 0)),
        ("msdb", |d| {
            raise(d, "/data/msdb.mdf", 0);
            raise(d, "/data/msdb.mdf", 9);
        }),
        ("master", |d| {
            d.damage("/data/duramen.instance".as_ref(), 8, b"2")
                .unwrap();
        }),
        ("duramen.dwb", |d| {
            d.damage("/data/duramen.dwb".as_ref(), 0, b"DURAMEN-DWRITE-3")
                .unwrap();
        }),
    ];
    for (n, (name, change)) in changes.into_iter().enumerate() {
        let disk = of_this_format();
        change(&disk);
        let before = contents(&disk, Path::new("/"));
        let changed = disk.changes();
        let config = super::config(Default::default());
        let refused = duramen_session::start(&disk.env(), config).err();
        let error = refused.expect("a newer directory");
        assert_eq!((error.number, error.severity), (948, 20), "{n}: {error:?}");
        assert!(
            error.message.starts_with(&format!(
                "The database '{name}' cannot be opened because it is version "
            )),
            "{error:?}"
        );
        assert_eq!(disk.changes(), changed, "{n}");
        assert!(contents(&disk, Path::new("/")) == before, "{n}");
    }
}

#[test]
fn a_newer_database_is_refused_alone() {
    for (path, page) in [
        ("/data/drives/C/f.mdf", 9),
        ("/data/drives/C/f2.ndf", 0),
        ("/data/drives/C/f.ldf", 0),
    ] {
        let disk = of_this_format();
        let good = bytes_of(&*disk.env().disk, Path::new(path));
        raise(&disk, path, page);
        let files = Path::new("/data/drives/C");
        let before = contents(&disk, files);
        {
            let mut s = alone_on(&disk.env());
            let reported = run(&mut s, "USE f");
            assert!(
                reported[0].starts_with("Msg 948")
                    || reported[0].starts_with("Msg 945")
                    || reported[0].starts_with("Msg 926"),
                "{reported:?}"
            );
            let reported = run(&mut s, "ALTER DATABASE f SET ONLINE");
            assert!(
                reported[0].starts_with("Msg 948, Level 20"),
                "{path}: {reported:?}"
            );
            assert!(run(&mut s, "SELECT 1")[1] == "1");
        }
        let after = contents(&disk, files);
        for ((name, was), (_, is)) in before.iter().zip(&after) {
            // What is found before the newer file was of this version, and repaired from the double-write file as ever.
            assert!(was == is || path.ends_with("f2.ndf"), "{path}: {name:?}");
        }
        disk.damage(Path::new(path), 0, &good).unwrap();
        let mut s = alone_on(&disk.env());
        assert_eq!(run(&mut s, "SELECT COUNT(*) FROM f.dbo.tree")[1], "401");
    }
}
