//! The chain of log backups goes on where a database has come from a backup or with its files: what the next log backup
//! needs is kept from the first checkpoint on.

use super::backups::all;
use super::*;

const MAKE: &str = "CREATE DATABASE b ON (NAME = b, FILENAME = '/data/b.mdf', SIZE = 4MB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 1MB, FILEGROWTH = 1MB); ALTER DATABASE b SET RECOVERY FULL";
const TABLE: &str =
    "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, n int NOT NULL, c char(900) NOT NULL)";
const FILL: &str = "INSERT b.dbo.t (n, c) SELECT value, 'x' FROM GENERATE_SERIES(1, 2000)";
const SUM: &str = "SELECT COUNT(*), SUM(n) FROM b.dbo.t";

/// Undo of what was open when the backup was taken fills VLF after VLF behind the place where the chain goes on.
#[test]
fn a_restored_database_keeps_its_log_for_the_next_log_backup() {
    let env = SimDisk::new(61).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(&mut s, &[MAKE, TABLE, FILL]);
    all(&mut s, &["BACKUP DATABASE b TO DISK = '/data/first.bak'"]);
    let mut open = login(&instance);
    all(
        &mut open,
        &["BEGIN TRAN; UPDATE b.dbo.t SET n = n + 1, c = 'y'; DELETE b.dbo.t WHERE id % 2 = 0"],
    );
    all(&mut s, &["BACKUP DATABASE b TO DISK = '/data/b.bak'"]);
    all(&mut open, &["ROLLBACK"]);
    drop(open);
    let before = run(&mut s, SUM);
    all(
        &mut s,
        &[
            "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH REPLACE",
            "UPDATE TOP (10) b.dbo.t SET n = n + 100",
            "BACKUP LOG b TO DISK = '/data/l1.trn'",
            "UPDATE TOP (10) b.dbo.t SET n = n + 1000",
            "BACKUP LOG b TO DISK = '/data/l2.trn'",
        ],
    );
    let after = run(&mut s, SUM);
    assert_ne!(before, after);
    all(
        &mut s,
        &[
            "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH REPLACE, NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/l1.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/l2.trn' WITH RECOVERY",
            "BACKUP LOG b TO DISK = '/data/l3.trn'",
        ],
    );
    assert_eq!(run(&mut s, SUM), after);
    drop(s);
    instance.shutdown().expect("it closes");
}

/// The same with files that leave the server and come back.
#[test]
fn an_attached_database_keeps_its_log_for_the_next_log_backup() {
    let env = SimDisk::new(62).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(&mut s, &[MAKE, TABLE, FILL]);
    all(&mut s, &["BACKUP DATABASE b TO DISK = '/data/b.bak'"]);
    for round in 0..3 {
        all(
            &mut s,
            &[
                "UPDATE b.dbo.t SET n = n + 1, c = 'y'",
                "UPDATE b.dbo.t SET n = n + 1, c = 'z'",
                "EXEC sp_detach_db 'b'",
                "CREATE DATABASE b ON (FILENAME = '/data/b.mdf') LOG ON (FILENAME = '/data/b.ldf') FOR ATTACH",
            ],
        );
        let log = format!("BACKUP LOG b TO DISK = '/data/a{round}.trn'");
        all(&mut s, &[&log]);
    }
    let after = run(&mut s, SUM);
    all(
        &mut s,
        &[
            "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH REPLACE, NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/a0.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/a1.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/a2.trn'",
        ],
    );
    assert_eq!(run(&mut s, SUM), after);
    drop(s);
    instance.shutdown().expect("it closes");
}
