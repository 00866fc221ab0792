//! Files that have grown since the backup they are restored from began.

use super::backups::all;
use super::*;

const MAKE: &str =
    "CREATE DATABASE g ON (NAME = g, FILENAME = '/data/g.mdf', SIZE = 2MB, FILEGROWTH = 64KB)
                    LOG ON (NAME = g_log, FILENAME = '/data/g.ldf', SIZE = 2MB, FILEGROWTH = 2MB)";
const TABLE: &str =
    "CREATE TABLE g.dbo.t (id int PRIMARY KEY, v int NOT NULL, x char(7000) NOT NULL)";
const MOVES: &str = "MOVE 'g' TO '/data/r.mdf', MOVE 'g_log' TO '/data/r.ldf'";

/// Pages that redo itself has added leave the pool, and more of the log is about them.
#[test]
fn redo_reads_pages_again_that_it_has_added() {
    let env = SimDisk::new(1).env();
    let mut config = config(Default::default());
    config.storage.memory = 8 << 20;
    let instance = Started(duramen_session::start(&env, config).expect("the instance starts"));
    let mut s = login(&instance);
    all(&mut s, &[MAKE, "ALTER DATABASE g SET RECOVERY FULL", TABLE]);
    all(
        &mut s,
        &[
            "ALTER DATABASE g MODIFY FILE (NAME = g, FILEGROWTH = 1MB)",
            "BACKUP DATABASE g TO DISK = '/data/g.bak'",
            "INSERT g.dbo.t SELECT value, 0, 'x' FROM GENERATE_SERIES(1, 2500)",
            "UPDATE g.dbo.t SET v = 1",
            "BACKUP LOG g TO DISK = '/data/g.trn'",
            &format!("RESTORE DATABASE r FROM DISK = '/data/g.bak' WITH NORECOVERY, {MOVES}"),
            "RESTORE LOG r FROM DISK = '/data/g.trn' WITH RECOVERY",
        ],
    );
    let found = run(&mut s, "SELECT COUNT(*), SUM(v) FROM r.dbo.t");
    assert_eq!(found[1], "2500 | 2500");
    all(&mut s, &["DBCC CHECKDB (r) WITH NO_INFOMSGS"]);
}
