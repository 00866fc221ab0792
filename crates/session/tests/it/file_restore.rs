//! RESTORE DATABASE ... FILE: a file that is gone or damaged comes back, over restarts and losses of power.

use std::path::Path;

use duramen_os::Disk;

use super::backups::all;
use super::*;

const FILE: &str = "/data/b2.ndf";
const MAKE: &str = "CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = '/data/b.mdf', SIZE = 8MB), FILEGROUP other (NAME = b2, FILENAME = '/data/b2.ndf', SIZE = 512KB, FILEGROWTH = 64KB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 8MB)";
const FROM_FULL: &str =
    "RESTORE DATABASE b FILE = 'b2' FROM DISK = '/data/full.bak' WITH NORECOVERY";
const ROWS: &str = "SELECT COUNT(*), SUM(n) FROM b.dbo.t; SELECT COUNT(*) FROM b.dbo.loaded";

/// A file that has grown since its backup: rows one by one, and rows of which the log has only the pages' numbers.
fn prepared(seed: u64) -> Arc<SimDisk> {
    let disk = SimDisk::new(seed);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY BULK_LOGGED",
            "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, n int NOT NULL, pad char(300) NOT NULL DEFAULT 'row', big varchar(max)) ON other; CREATE INDEX i ON b.dbo.t (n) ON other",
            "CREATE TABLE b.dbo.loaded (id int, pad char(500)) ON other",
            "INSERT b.dbo.t (n) SELECT 1 FROM GENERATE_SERIES(1, 100)",
            "BACKUP DATABASE b TO DISK = '/data/full.bak'",
            "INSERT b.dbo.t (n, big) SELECT 2, REPLICATE(CONVERT(varchar(max), 'x'), 9000) FROM GENERATE_SERIES(1, 100)",
            "INSERT b.dbo.loaded WITH (TABLOCK) SELECT value, 'loaded' FROM GENERATE_SERIES(1, 2000)",
            "BACKUP LOG b TO DISK = '/data/1.trn'",
            "ALTER DATABASE b SET RECOVERY FULL",
            "DELETE b.dbo.t WHERE id % 4 = 0; UPDATE b.dbo.t SET n = n + 1 WHERE id % 3 = 0",
            "DELETE b.dbo.loaded WHERE id % 2 = 0; USE b; EXEC sys.sp_flush_log",
        ],
    );
    drop(s);
    instance.shutdown().expect("a clean shutdown");
    disk
}

/// What the rows are in the end.
fn expected() -> [String; 2] {
    let mut sum = 0;
    let mut count = 0;
    for id in (1..=200).filter(|id| id % 4 != 0) {
        count += 1;
        sum += 1 + i32::from(id > 100) + i32::from(id % 3 == 0);
    }
    [format!("{count} | {sum}"), "1000".to_owned()]
}

fn is_whole(s: &mut Session) {
    let told = run(s, ROWS);
    let [rows, loaded] = expected();
    assert!(told.contains(&rows) && told.contains(&loaded), "{told:?}");
    let found = run(s, "DBCC CHECKDB('b') WITH NO_INFOMSGS");
    assert_eq!(found, Vec::<String>::new());
}

fn state(s: &mut Session) -> String {
    run(s, "SELECT state_desc FROM sys.databases WHERE name = 'b'")[1].clone()
}

#[test]
fn a_file_that_is_gone_comes_back() {
    let disk = prepared(91);
    disk.remove(Path::new(FILE)).expect("removed");
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(state(&mut s), "RECOVERY_PENDING");
    // Nothing of it may be restored while nobody has the end of its log.
    let told = run(&mut s, FROM_FULL);
    assert!(told.iter().any(|l| l.starts_with("Msg 3117")), "{told:?}");
    all(
        &mut s,
        &[
            "BACKUP LOG b TO DISK = '/data/tail.trn' WITH NO_TRUNCATE, NORECOVERY",
            FROM_FULL,
        ],
    );
    drop(s);
    // Power fails between the steps.
    drop(instance);
    let disk = disk.crash(4);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(state(&mut s), "RESTORING");
    let told = run(&mut s, "RESTORE DATABASE b WITH RECOVERY");
    assert!(told.iter().any(|l| l.starts_with("Msg 4333")), "{told:?}");
    all(
        &mut s,
        &[
            "RESTORE LOG b FROM DISK = '/data/1.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH RECOVERY",
        ],
    );
    assert_eq!(state(&mut s), "ONLINE");
    is_whole(&mut s);
    assert!(!disk.exists(Path::new("/data/b2.ndf~file")));
    // And it is a database like any other.
    all(
        &mut s,
        &[
            "INSERT b.dbo.t (n) VALUES (5)",
            "BACKUP LOG b TO DISK = '/data/next.trn'",
        ],
    );
    drop(s);
    instance.shutdown().expect("a clean shutdown");
    assert_eq!(state(&mut login(&start(&disk.env()))), "ONLINE");
}

/// A database that is open, and a differential backup on the way.
#[test]
fn a_file_of_an_open_database_with_a_differential_backup() {
    let disk = prepared(92);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            "BACKUP DATABASE b TO DISK = '/data/diff.bak' WITH DIFFERENTIAL",
            "UPDATE b.dbo.t SET pad = 'behind' WHERE id < 10",
            "USE master",
            FROM_FULL,
            "RESTORE DATABASE b FROM DISK = '/data/diff.bak' WITH NORECOVERY",
            "BACKUP LOG b TO DISK = '/data/tail.trn'",
            // It begins again, and goes by another way.
            FROM_FULL,
            "RESTORE LOG b FROM DISK = '/data/1.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH RECOVERY",
        ],
    );
    is_whole(&mut s);
    all(
        &mut s,
        &[
            "USE master",
            FROM_FULL,
            "RESTORE DATABASE b FROM DISK = '/data/diff.bak' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH NORECOVERY",
            "BACKUP LOG b TO DISK = '/data/last.trn'",
            "RESTORE LOG b FROM DISK = '/data/last.trn' WITH RECOVERY",
        ],
    );
    is_whole(&mut s);
    let told = run(&mut s, "SELECT COUNT(*) FROM b.dbo.t WHERE pad = 'behind'");
    assert_eq!(told[1], "7");
}
