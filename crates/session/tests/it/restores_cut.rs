//! A RESTORE that fails after its point of no return: master lists what it has made, and its files have not got their places.

use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault};

use super::backups::{MAKE, all, done, is_sound, state};
use super::backups_altered::refusals;
use super::*;

const RESTORE: &str = "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH REPLACE";
/// What it holds when it is the restored one.
const TWO: &str = "2 rows 1";
const ONLINE: &str = "ALTER DATABASE b SET ONLINE";

/// A database of three rows, with a backup that has two of them.
fn backed_up(seed: u64) -> (Arc<SimDisk>, Started) {
    done(
        seed,
        &[
            MAKE,
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY)",
            "INSERT b.dbo.t VALUES (1), (2)",
            "BACKUP DATABASE b TO DISK = '/data/b.bak'",
            "INSERT b.dbo.t VALUES (3)",
        ],
    )
}

fn rows(s: &mut Session) -> String {
    run(s, "SELECT COUNT(*) FROM b.dbo.t")[1..].join(" ")
}

/// This file cannot be renamed. (What is there of a restore before is taken away first.)
fn fail_rename(disk: &SimDisk, file: &str) {
    disk.add_fault(Fault {
        op: DiskOp::Name,
        path: Some(format!("/data/{file}~restoring").into()),
        nth: 2,
        error: IoError::Os {
            code: 5,
            call: "rename",
        },
        lasting: true,
    });
}

/// The database is listed and nobody gets in; it is whole, and the restored one, as soon as its files have their places.
#[test]
fn files_without_their_places_leave_it_pending() {
    let ways: [&[&str]; 4] = [
        &[],
        &[ONLINE],
        &[RESTORE],
        &["ALTER DATABASE b SET EMERGENCY", ONLINE],
    ];
    for file in ["b.mdf", "b.ldf"] {
        for way in ways {
            let (disk, instance) = backed_up(26);
            let mut s = login(&instance);
            fail_rename(&disk, file);
            assert_eq!(refusals(&mut s, RESTORE), [5123, 3013]);
            assert_eq!(state(&mut s), "RECOVERY_PENDING");
            assert_eq!(refusals(&mut s, "USE b"), [945]);
            let tail = "BACKUP LOG b TO DISK = '/data/t.trn' WITH NO_TRUNCATE";
            assert_eq!(refusals(&mut s, tail), [945, 3013]);
            for again in [ONLINE, "ALTER DATABASE b SET EMERGENCY"] {
                assert_eq!(refusals(&mut s, again), [5123, 5069], "{again}");
                assert_eq!(state(&mut s), "RECOVERY_PENDING");
            }
            assert_eq!(refusals(&mut s, RESTORE), [5123, 3013]);
            let crashed = disk.crash(1);
            disk.clear_faults();
            let started;
            if way.is_empty() {
                started = start(&crashed.env());
                s = login(&started);
            }
            all(&mut s, way);
            assert_eq!(state(&mut s), "ONLINE", "{file} {way:?}");
            assert_eq!(rows(&mut s), TWO, "{file} {way:?}");
            is_sound(&mut s);
        }
    }
}

/// With NORECOVERY it is RESTORING then, and goes on from there.
#[test]
fn one_without_recovery_is_restoring_when_its_files_have_their_places() {
    let (disk, instance) = backed_up(27);
    let mut s = login(&instance);
    fail_rename(&disk, "b.ldf");
    let restore = format!("{RESTORE}, NORECOVERY");
    assert_eq!(refusals(&mut s, &restore), [5123, 3013]);
    assert_eq!(state(&mut s), "RECOVERY_PENDING");
    let recover = "RESTORE DATABASE b WITH RECOVERY";
    assert_eq!(refusals(&mut s, recover), [3117, 3013]);
    disk.clear_faults();
    all(&mut s, &[ONLINE]);
    assert_eq!(state(&mut s), "RESTORING");
    all(&mut s, &[recover]);
    assert_eq!(rows(&mut s), TWO);
}

/// Dropped, it leaves nothing that another restore could take for its own.
#[test]
fn one_that_is_pending_can_be_dropped() {
    let (disk, instance) = backed_up(28);
    let mut s = login(&instance);
    fail_rename(&disk, "b.mdf");
    assert_eq!(refusals(&mut s, RESTORE), [5123, 3013]);
    disk.clear_faults();
    all(&mut s, &["DROP DATABASE b"]);
    for file in ["b.mdf", "b.ldf"] {
        let restoring = format!("/data/{file}~restoring");
        assert!(!disk.env().disk.exists(restoring.as_ref()), "{restoring}");
    }
    all(&mut s, &[RESTORE]);
    assert_eq!(rows(&mut s), TWO);
}

/// The disk fails in the change of master's list itself: after the next start the database is the old or the new one.
#[test]
fn the_point_of_no_return_is_one_point() {
    let (mut old, mut new) = (0, 0);
    for nth in 1..7 {
        let (disk, instance) = backed_up(29);
        let mut s = login(&instance);
        for op in [DiskOp::Write, DiskOp::Sync] {
            disk.add_fault(Fault {
                op,
                path: Some("/data/master.ldf".into()),
                nth,
                error: IoError::device("write"),
                lasting: true,
            });
        }
        let refused = !refusals(&mut s, RESTORE).is_empty();
        let later = start(&disk.crash(nth).env());
        let mut s = login(&later);
        assert_eq!(state(&mut s), "ONLINE", "{nth}");
        match rows(&mut s).as_str() {
            TWO => new += 1,
            "3 rows 1" if refused => old += 1,
            n => panic!("{nth}: {n}, refused: {refused}"),
        }
        is_sound(&mut s);
    }
    assert!(old > 0 && new > 0, "{old} {new}");
}

/// A start gives the files of a restore that was cut their places, and writes down that it has: those of the next one, cut
/// before it came to anything, do not take the same places. (One that is open has its row written for other reasons, too.)
#[test]
fn a_restore_over_a_database_may_be_cut_twice() {
    let (disk, instance) = backed_up(25);
    let mut s = login(&instance);
    let before = disk.changes();
    all(&mut s, &[RESTORE]);
    let whole = disk.changes() - before;
    fail_rename(&disk, "b.mdf");
    let restore = format!("{RESTORE}, NORECOVERY");
    assert_eq!(refusals(&mut s, &restore), [5123, 3013]);
    let mut half = 0;
    for n in 0..8 {
        let later = disk.crash(n);
        let again = start(&later.env());
        let mut session = login(&again);
        later.power_off_after(whole * n / 10);
        run(&mut session, &restore);
        let cut = later.crash(n);
        half += u32::from(cut.env().disk.exists("/data/b.mdf~restoring".as_ref()));
        let last = start(&cut.env());
        let mut session = login(&last);
        all(&mut session, &["RESTORE DATABASE b WITH RECOVERY"]);
        assert_eq!(rows(&mut session), TWO, "cut at {n}");
        is_sound(&mut session);
    }
    assert!(half > 0, "no file of the second restore is left");
}
