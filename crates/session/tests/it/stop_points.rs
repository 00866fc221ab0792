//! STOPAT, STOPATMARK, STOPBEFOREMARK: which rows are there when a restore ends in the middle of a log backup.

use super::backups::{MAKE, all};
use super::*;

/// A database whose first log backup holds rows 1 to 4, 3 in a marked transaction, and whose second holds row 5. Gives
/// the moment between rows 1 and 2, and the LSN of row 2's commit.
fn made(s: &mut Session) -> (String, String) {
    all(
        s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY, x varchar(500))",
            "BACKUP DATABASE b TO DISK = 'b.bak'",
            "INSERT b.dbo.t VALUES (1, 'one'); WAITFOR DELAY '00:00:02'",
        ],
    );
    let moment = run(s, "SELECT CONVERT(varchar(23), GETDATE(), 121)")[1].clone();
    all(
        s,
        &[
            "WAITFOR DELAY '00:00:02'; INSERT b.dbo.t VALUES (2, 'two')",
            "BEGIN TRAN m WITH MARK 'the third'; INSERT b.dbo.t VALUES (3, 'three'); COMMIT",
            "INSERT b.dbo.t VALUES (4, 'four')",
        ],
    );
    let lsn = run(
        s,
        "USE b; SELECT CONVERT(varchar(23), [Current LSN]) FROM fn_dblog(NULL, NULL) WHERE [Mark Name] = 'm'; USE master",
    );
    all(
        s,
        &[
            "BACKUP LOG b TO DISK = 'l1.trn'",
            "INSERT b.dbo.t VALUES (5, 'five')",
            "BACKUP LOG b TO DISK = 'l2.trn'",
        ],
    );
    (moment, lsn[2].clone())
}

const FULL: &str = "RESTORE DATABASE c FROM DISK = 'b.bak' WITH NORECOVERY, REPLACE, MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'";

fn rows(s: &mut Session) -> String {
    run(
        s,
        "SELECT STRING_AGG(CONVERT(varchar(9), id), ' ') WITHIN GROUP (ORDER BY id) FROM c.dbo.t",
    )[1]
    .clone()
}

#[test]
fn a_restore_stops_where_it_is_told() {
    let env = SimDisk::new(31).env();
    let instance = start(&env);
    let mut s = login(&instance);
    let (moment, mark) = made(&mut s);
    for (stop, expected) in [
        (format!("STOPAT = '{moment}'"), "1"),
        ("STOPATMARK = 'm'".to_owned(), "1 2 3"),
        ("STOPBEFOREMARK = 'M'".to_owned(), "1 2"),
        (format!("STOPATMARK = 'm' AFTER '{moment}'"), "1 2 3"),
        (format!("STOPATMARK = 'lsn:0x{mark}'"), "1 2 3"),
        (format!("STOPBEFOREMARK = 'lsn:0x{mark}'"), "1 2"),
    ] {
        all(&mut s, &[FULL]);
        let restore = format!("RESTORE LOG c FROM DISK = 'l1.trn' WITH RECOVERY, {stop}");
        all(&mut s, &[&restore]);
        assert_eq!(rows(&mut s), expected, "{stop}");
    }
    // The copy goes on by itself, and lives through a restart.
    all(&mut s, &["INSERT c.dbo.t VALUES (9, 'nine')"]);
    drop(s);
    instance.shutdown().expect("closed");
    let disk = &*env.disk;
    for report in duramen_check::check_files(disk, &["/data/c.mdf".into(), "/data/c.ldf".into()]) {
        assert!(report.is_clean(), "{report:?}");
    }
    let instance = start(&env);
    let mut s = login(&instance);
    assert_eq!(rows(&mut s), "1 2 9");
    all(
        &mut s,
        &[
            "BACKUP DATABASE c TO DISK = 'nul'",
            "BACKUP LOG c TO DISK = 'nul'",
        ],
    );
}

#[test]
fn a_point_behind_a_backup_leaves_the_database_restoring() {
    let env = SimDisk::new(32).env();
    let instance = start(&env);
    let mut s = login(&instance);
    let (moment, _) = made(&mut s);
    let reported = "This log file contains records logged before the designated mark. The database is being left in the Restoring state so you can apply another log file.";
    all(&mut s, &[FULL]);
    for (file, stop) in [
        ("l1.trn", "STOPAT = '2099-01-01'"),
        ("l2.trn", "STOPATMARK = 'nobody'"),
    ] {
        let lines = run(
            &mut s,
            &format!("RESTORE LOG c FROM DISK = '{file}' WITH RECOVERY, {stop}"),
        );
        assert!(lines.iter().any(|l| l.ends_with(reported)), "{lines:?}");
        let state = run(
            &mut s,
            "SELECT state_desc FROM sys.databases WHERE name = 'c'",
        );
        assert_eq!(state[1], "RESTORING");
    }
    all(&mut s, &["RESTORE DATABASE c WITH RECOVERY"]);
    assert_eq!(rows(&mut s), "1 2 3 4 5");
    // Stopped, and then on from the same backup.
    let stop = format!("RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY, STOPAT = '{moment}'");
    all(
        &mut s,
        &[
            FULL,
            &stop,
            "RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY, STOPBEFOREMARK = 'm'",
            "RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY",
            "RESTORE LOG c FROM DISK = 'l2.trn' WITH RECOVERY",
        ],
    );
    assert_eq!(rows(&mut s), "1 2 3 4 5");
    // A point that has passed.
    all(
        &mut s,
        &[FULL, "RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY"],
    );
    let early = format!("RESTORE LOG c FROM DISK = 'l2.trn' WITH NORECOVERY, STOPAT = '{moment}'");
    assert!(run(&mut s, &early)[0].starts_with("Msg 4335, "));
    let early = FULL.replace("NORECOVERY", "NORECOVERY, STOPAT = '2001-01-01'");
    let reported = run(&mut s, &early);
    assert!(reported[0].starts_with("Msg 4338, "), "{reported:?}");
    let mark = FULL.replace("NORECOVERY", "NORECOVERY, STOPATMARK = 'm'");
    assert!(run(&mut s, &mark)[0].starts_with("Msg 4340, "));
}
