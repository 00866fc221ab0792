//! BACKUP LOG WITH NO_TRUNCATE: the tail of a database whose data files are gone or damaged, and what it is good for.

use std::path::Path;

use duramen_os::Disk;

use super::backups::{MAKE, all, done, is_sound, state};
use super::*;

const TAIL: &str = "BACKUP LOG b TO DISK = '/data/tail.trn' WITH NO_TRUNCATE";
const ROWS: &str = "SELECT COUNT(*), SUM(n) FROM b.dbo.t";

/// A database with a full backup, a log backup, and work behind that; power fails.
fn prepared(seed: u64, shutdown: bool) -> Arc<SimDisk> {
    let (disk, instance) = done(
        seed,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, n int NOT NULL, pad char(300) NOT NULL DEFAULT 'row')",
            "INSERT b.dbo.t (n) SELECT 1 FROM GENERATE_SERIES(1, 100)",
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
            "INSERT b.dbo.t (n) SELECT 2 FROM GENERATE_SERIES(1, 100)",
            "BACKUP LOG b TO DISK = '/data/b.trn'",
            "INSERT b.dbo.t (n) SELECT 3 FROM GENERATE_SERIES(1, 100); USE b; EXEC sys.sp_flush_log",
        ],
    );
    if shutdown {
        instance.shutdown().expect("a clean shutdown");
    }
    disk.crash(seed)
}

/// The chain with the tail at its end has every row.
fn comes_back(s: &mut Session) {
    let reported = run(s, "RESTORE HEADERONLY FROM DISK = '/data/tail.trn'");
    assert!(
        reported.iter().all(|l| !l.starts_with("Msg ")),
        "{reported:?}"
    );
    all(
        s,
        &[
            "RESTORE VERIFYONLY FROM DISK = '/data/tail.trn'",
            "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH REPLACE, NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/b.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH RECOVERY",
        ],
    );
    assert_eq!(run(s, ROWS)[1], "300 | 600");
    is_sound(s);
    // The chain goes on.
    all(
        s,
        &[
            "INSERT b.dbo.t (n) VALUES (4)",
            "BACKUP LOG b TO DISK = '/data/next.trn'",
        ],
    );
}

#[test]
fn the_tail_of_a_database_without_its_data_file() {
    for shutdown in [true, false] {
        let disk = prepared(61, shutdown);
        disk.remove(Path::new("/data/b.mdf")).expect("removed");
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(state(&mut s), "RECOVERY_PENDING");
        let refused = run(&mut s, "BACKUP LOG b TO DISK = '/data/tail.trn'");
        assert!(refused[0].starts_with("Msg 945"), "{refused:?}");
        all(&mut s, &[TAIL]);
        assert_eq!(state(&mut s), "RECOVERY_PENDING");
        // Its metadata is not what the database says of itself; nothing was let go of: it can be taken again.
        all(
            &mut s,
            &["BACKUP LOG b TO DISK = '/data/again.trn' WITH CONTINUE_AFTER_ERROR"],
        );
        let medium = duramen_backup::Medium::open(&*disk, "/data/tail.trn".as_ref(), "x");
        let header = &medium.expect("a medium").sets[0].header;
        assert!(header.incomplete && header.copy_only);
        comes_back(&mut s);
    }
}

#[test]
fn the_tail_of_a_database_that_is_damaged() {
    let disk = prepared(62, true);
    // The boot page and base tables. (The double-write file puts a few of them right.)
    let path = Path::new("/data/b.mdf");
    let bytes = disk.durable_bytes(path).expect("there");
    for page in 9..48 {
        let at = page * 8192 + 200;
        disk.damage(path, at as u64, &[bytes[at] ^ 0x55])
            .expect("damaged");
    }
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_ne!(state(&mut s), "ONLINE");
    all(&mut s, &[TAIL]);
    comes_back(&mut s);
}

#[test]
fn a_tail_with_minimally_logged_work_is_refused() {
    let (disk, _open) = done(
        63,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY BULK_LOGGED",
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
            "SELECT value AS n, REPLICATE('x', 500) AS pad INTO b.dbo.t FROM GENERATE_SERIES(1, 2000)",
            "USE b; EXEC sys.sp_flush_log",
        ],
    );
    let disk = disk.crash(3);
    disk.remove(Path::new("/data/b.mdf")).expect("removed");
    let instance = start(&disk.env());
    let mut s = login(&instance);
    let reported = run(&mut s, TAIL);
    assert!(reported[0].starts_with("Msg 40517"), "{reported:?}");
    assert!(!disk.exists(Path::new("/data/tail.trn")));
}

/// An open database: its log is neither let go of nor passed over by the next backup.
#[test]
fn no_truncate_leaves_the_chain_as_it_is() {
    let instance = start(&SimDisk::new(64).env());
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "BACKUP DATABASE b TO DISK = 'nul'",
        ],
    );
    let b = instance.databases.find("b").expect("there");
    let before = b.db.log_backup_lsn();
    all(&mut s, &[TAIL]);
    assert_eq!(b.db.log_backup_lsn(), before);
    all(&mut s, &["BACKUP LOG b TO DISK = 'nul'"]);
    assert!(b.db.log_backup_lsn() > before);
    let reported = run(&mut s, "BACKUP DATABASE b TO DISK = 'nul' WITH NO_TRUNCATE");
    assert!(reported[0].starts_with("Msg 3032"), "{reported:?}");
}

fn refused(s: &mut Session, sql: &str, number: u32) {
    let reported = run(s, sql);
    let said = reported
        .iter()
        .any(|l| l.starts_with(&format!("Msg {number}")));
    assert!(said, "{sql}: {reported:?}");
}

/// What a restore over a database that cannot be opened asks for: the tail first, and then no REPLACE.
#[test]
fn a_tail_with_norecovery_makes_room_for_a_restore() {
    const OVER: &str = "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH NORECOVERY";
    for (seed, pages) in [(65, 0..0), (66, 9..48), (67, 16..48)] {
        let disk = prepared(seed, true);
        let path = Path::new("/data/b.mdf");
        let boot_is_there = !pages.is_empty() && !pages.contains(&9);
        if pages.is_empty() {
            disk.remove(path).expect("removed");
        }
        let bytes = disk.durable_bytes(path).unwrap_or_default();
        for page in pages {
            let at = page * 8192 + 200;
            disk.damage(path, at as u64, &[bytes[at] ^ 0x55])
                .expect("damaged");
        }
        let instance = start(&disk.env());
        let mut s = login(&instance);
        let before = state(&mut s);
        assert_ne!(before, "ONLINE");
        all(
            &mut s,
            &["CREATE DATABASE other; BACKUP DATABASE other TO DISK = '/data/other.bak'"],
        );
        refused(&mut s, OVER, 3159);
        refused(
            &mut s,
            "BACKUP LOG b TO DISK = '/data/tail.trn' WITH NORECOVERY",
            if before == "SUSPECT" { 926 } else { 945 },
        );
        assert_eq!(state(&mut s), before);
        all(&mut s, &[&format!("{TAIL}, NORECOVERY")]);
        assert_eq!(state(&mut s), "RESTORING");
        drop(s);
        // It stays so over a restart.
        instance.shutdown().expect("a clean shutdown");
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(state(&mut s), "RESTORING");
        if boot_is_there {
            refused(
                &mut s,
                "RESTORE DATABASE b FROM DISK = '/data/other.bak' WITH MOVE 'other' TO '/data/x.mdf', MOVE 'other_log' TO '/data/x.ldf'",
                3154,
            );
        }
        all(
            &mut s,
            &[
                OVER,
                "RESTORE LOG b FROM DISK = '/data/b.trn' WITH NORECOVERY",
                "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH RECOVERY",
            ],
        );
        assert_eq!(run(&mut s, ROWS)[1], "300 | 600");
        is_sound(&mut s);
    }
}

/// Nothing of the log is wanted: SIMPLE, or STOPAT.
#[test]
fn a_broken_database_without_a_chain_is_restored_over() {
    let (disk, instance) = done(
        68,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY SIMPLE",
            "CREATE TABLE b.dbo.t (n int); INSERT b.dbo.t VALUES (1)",
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
        ],
    );
    instance.shutdown().expect("a clean shutdown");
    disk.remove(Path::new("/data/b.mdf")).expect("removed");
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(state(&mut s), "RECOVERY_PENDING");
    refused(&mut s, TAIL, 4208);
    all(&mut s, &["RESTORE DATABASE b FROM DISK = '/data/b.bak'"]);
    assert_eq!(run(&mut s, "SELECT n FROM b.dbo.t")[1], "1");
}
