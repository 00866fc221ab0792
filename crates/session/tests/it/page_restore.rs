//! RESTORE DATABASE ... PAGE and FILE, from the damage to the clean check, and with the power failing on the way.

use super::backups::{all, is_sound, state};
use super::suspect_pages::{damage, listed, prepared};
use super::*;

/// Rows changed before and behind log backups; the sum of `n` is 1,000 and there are 201 rows.
const CHANGES: [&str; 4] = [
    "UPDATE b.dbo.t SET n = n + 2",
    "BACKUP LOG b TO DISK = '/data/1.trn'",
    "UPDATE b.dbo.t SET n = n + 3 WHERE id > 0; INSERT b.dbo.t VALUES (1000, 0, 'more')",
    "UPDATE b.dbo.t SET pad = CONCAT('new-', id) WHERE id BETWEEN 70 AND 80; EXEC sys.sp_flush_log",
];
const COUNTS: &str =
    "SELECT COUNT(*), SUM(n), COUNT(CASE WHEN pad LIKE 'new-%' THEN 1 END) FROM b.dbo.t";
const EXPECTED: &str = "201 | 1000 | 11";

/// The damaged database, changed since its backups, closed.
fn damaged(seed: u64) -> (Arc<SimDisk>, u32) {
    let (disk, page) = prepared(seed);
    let instance = start(&disk.env());
    all(&mut login(&instance), &CHANGES);
    instance.shutdown().expect("a clean shutdown");
    damage(&disk, page);
    (disk, page)
}

fn from_full(page: u32) -> String {
    format!("RESTORE DATABASE b PAGE = '1:{page}' FROM DISK = '/data/full.bak' WITH NORECOVERY")
}

fn number(s: &mut Session, sql: &str) -> Option<u32> {
    let lines = run(s, sql);
    let number = |l: &String| l.strip_prefix("Msg ")?.split(',').next()?.parse().ok();
    lines.iter().find_map(number)
}

fn is_whole(s: &mut Session) {
    assert_eq!(run(s, COUNTS)[1], EXPECTED);
    is_sound(s);
}

#[test]
fn a_page_comes_back_as_it_was_last() {
    let (disk, page) = damaged(81);
    let first = start(&disk.env());
    let mut s = login(&first);
    assert_eq!(number(&mut s, COUNTS), Some(824));
    let mut s = login(&first);
    let lines = run(&mut s, &from_full(page));
    let says = |text: &str| lines.iter().any(|l| l.starts_with(text));
    assert!(
        says("Processed 1 pages for database 'b', file 'b' on file 1.")
            && says("RESTORE DATABASE ... FILE=<name> successfully processed "),
        "{lines:?}"
    );
    assert_eq!(state(&mut s), "RESTORING");
    assert_eq!(listed(&mut s), [format!("1 | {page} | 4 | 1")]);
    // The log of the first backup is not enough, nor is none.
    let early = "RESTORE LOG b FROM DISK = '/data/1.trn'";
    assert_eq!(number(&mut s, early), Some(4318));
    assert_eq!(
        number(&mut s, "RESTORE DATABASE b WITH RECOVERY"),
        Some(4333)
    );
    all(&mut s, &[&format!("{early} WITH NORECOVERY")]);
    drop(s);
    // A power failure takes nothing of that back.
    let disk = disk.crash(5);
    drop(first);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(state(&mut s), "RESTORING");
    assert_eq!(
        number(&mut s, "RESTORE DATABASE b WITH RECOVERY"),
        Some(4333)
    );
    assert_eq!(
        number(&mut s, "RESTORE DATABASE b FROM DISK = '/data/full.bak'"),
        Some(3159)
    );
    all(
        &mut s,
        &[
            "BACKUP LOG b TO DISK = '/data/tail.trn'",
            "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH RECOVERY",
        ],
    );
    assert_eq!(state(&mut s), "ONLINE");
    is_whole(&mut s);
    // The chain goes on, and a copy made of it is the same.
    all(
        &mut s,
        &[
            "UPDATE b.dbo.t SET n = n WHERE id = 77",
            "BACKUP LOG b TO DISK = '/data/2.trn'",
            "RESTORE DATABASE c FROM DISK = '/data/full.bak' WITH NORECOVERY, MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'",
            "RESTORE LOG c FROM DISK = '/data/1.trn' WITH NORECOVERY",
            "RESTORE LOG c FROM DISK = '/data/tail.trn' WITH NORECOVERY",
            "RESTORE LOG c FROM DISK = '/data/2.trn'",
        ],
    );
    assert_eq!(run(&mut s, &COUNTS.replace("b.dbo", "c.dbo"))[1], EXPECTED);
    // Of the copy's backups none fits the original.
    all(&mut s, &["BACKUP DATABASE c TO DISK = '/data/c.bak'"]);
    let other = from_full(page).replace("full", "c");
    assert_eq!(number(&mut s, &other), Some(3116));
    assert_eq!(state(&mut s), "ONLINE");
}

#[test]
fn the_tail_first() {
    let (disk, page) = damaged(82);
    let mut s = alone_on(&disk.env());
    all(
        &mut s,
        &["BACKUP LOG b TO DISK = '/data/tail.trn' WITH NORECOVERY"],
    );
    assert_eq!(state(&mut s), "RESTORING");
    assert_eq!(
        number(&mut s, "RESTORE LOG b FROM DISK = '/data/tail.trn'"),
        Some(3117)
    );
    all(
        &mut s,
        &[
            &from_full(page),
            "RESTORE LOG b FROM DISK = '/data/1.trn' WITH NORECOVERY",
            "RESTORE LOG b FROM DISK = '/data/tail.trn' WITH RECOVERY",
        ],
    );
    is_whole(&mut s);
}

#[test]
fn a_differential_backup_shortens_the_way() {
    let (disk, page) = prepared(83);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    all(&mut s, &CHANGES[..2]);
    all(
        &mut s,
        &["BACKUP DATABASE b TO DISK = '/data/diff.bak' WITH DIFFERENTIAL"],
    );
    all(&mut s, &CHANGES[2..]);
    drop(s);
    instance.shutdown().expect("a clean shutdown");
    damage(&disk, page);
    let mut s = alone_on(&disk.env());
    all(
        &mut s,
        &[
            &from_full(page),
            "RESTORE DATABASE b FROM DISK = '/data/diff.bak' WITH NORECOVERY",
            "BACKUP LOG b TO DISK = '/data/tail.trn'",
            "RESTORE LOG b FROM DISK = '/data/tail.trn'",
        ],
    );
    is_whole(&mut s);
}

/// Wherever the power fails, the sequence can be gone through again, and ends in the same database.
#[test]
fn the_power_fails_on_the_way() {
    let (disk, page) = damaged(84);
    let steps = |tail: &str| {
        [
            from_full(page),
            "RESTORE LOG b FROM DISK = '/data/1.trn' WITH NORECOVERY".to_owned(),
            format!("BACKUP LOG b TO DISK = '{tail}'"),
            format!("RESTORE LOG b FROM DISK = '{tail}' WITH RECOVERY"),
        ]
    };
    let mut restoring = 0;
    for cut in 0..8 {
        let world = disk.fork();
        let instance = start(&world.env());
        let mut s = login(&instance);
        world.power_off_after(cut * 27);
        for step in steps("/data/cut.trn") {
            run(&mut s, &step);
        }
        drop(s);
        let after = world.crash(cut);
        drop(instance);
        let mut s = alone_on(&after.env());
        let found = state(&mut s);
        restoring += u32::from(found == "RESTORING");
        if found == "ONLINE" && number(&mut login(&s.instance), COUNTS).is_none() {
            is_whole(&mut s);
            continue;
        }
        // What was backed up before the cut may be one more link of the chain.
        let between = "RESTORE LOG b FROM DISK = '/data/cut.trn' WITH NORECOVERY";
        let [first, second, third, last] = steps("/data/again.trn");
        all(&mut s, &[&first, &second]);
        run(&mut s, between);
        all(&mut s, &[&third, &last]);
        is_whole(&mut s);
    }
    assert!(restoring > 0, "{restoring}");
}

/// RESTORE DATABASE ... FILE: a file that is gone or damaged comes back, over restarts and losses of power.
mod files {
    use std::path::Path;

    use duramen_os::Disk;

    use super::super::backups::{all, done, is_sound, state};
    use super::super::*;

    const FILE: &str = "/data/b2.ndf";
    const MAKE: &str = "CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = '/data/b.mdf', SIZE = 8MB), FILEGROUP other (NAME = b2, FILENAME = '/data/b2.ndf', SIZE = 512KB, FILEGROWTH = 64KB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 8MB)";
    const FROM_FULL: &str =
        "RESTORE DATABASE b FILE = 'b2' FROM DISK = '/data/full.bak' WITH NORECOVERY";
    const ROWS: &str = "SELECT COUNT(*), SUM(n) FROM b.dbo.t; SELECT COUNT(*) FROM b.dbo.loaded";

    /// A file that has grown since its backup: rows one by one, and rows of which the log has only the pages' numbers.
    fn prepared(seed: u64) -> Arc<SimDisk> {
        let (disk, instance) = done(
            seed,
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
        let reported = run(s, ROWS);
        let [rows, loaded] = expected();
        assert!(
            reported.contains(&rows) && reported.contains(&loaded),
            "{reported:?}"
        );
        is_sound(s);
    }

    #[test]
    fn a_file_that_is_gone_comes_back() {
        let disk = prepared(91);
        disk.remove(Path::new(FILE)).expect("removed");
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(state(&mut s), "RECOVERY_PENDING");
        // Nothing of it may be restored while nobody has the end of its log.
        let reported = run(&mut s, FROM_FULL);
        assert!(
            reported.iter().any(|l| l.starts_with("Msg 3117")),
            "{reported:?}"
        );
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
        let reported = run(&mut s, "RESTORE DATABASE b WITH RECOVERY");
        assert!(
            reported.iter().any(|l| l.starts_with("Msg 4333")),
            "{reported:?}"
        );
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
        let reported = run(&mut s, "SELECT COUNT(*) FROM b.dbo.t WHERE pad = 'behind'");
        assert_eq!(reported[1], "7");
    }
}
