//! What BACKUP, RESTORE and marked transactions leave in msdb.

use super::backups::{MAKE, all};
use super::*;
use duramen_os::thread;
use std::time::Duration;

#[test]
fn history_is_written_by_a_session_of_the_servers_own() {
    let env = SimDisk::new(42).env();
    let instance = start(&env);
    let (mut s, mut other) = (login(&instance), login(&instance));
    run(&mut s, MAKE);
    all(
        &mut s,
        &["BEGIN TRAN; DELETE msdb.dbo.backupset WITH (TABLOCKX)"],
    );
    let backup = thread::spawn("backup", move || {
        run(&mut other, "BACKUP DATABASE b TO DISK = 'b.bak'")
    });
    let own = "SELECT session_id, is_user_process FROM sys.dm_exec_sessions WHERE program_name = 'Duramen'";
    let shown = loop {
        let shown = run(&mut s, own);
        let waits = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = 50 AND blocking_session_id > 50";
        match run(&mut s, waits)[1].as_str() {
            "1" => break shown,
            _ => thread::sleep(Duration::from_millis(2)),
        }
    };
    assert_eq!(shown[1..], ["50 | 0", "rows 1"]);
    let connections = "SELECT COUNT(*) FROM sys.dm_exec_connections WHERE session_id < 51";
    assert_eq!(run(&mut s, connections)[1], "0");
    let killed = run(&mut login(&instance), "KILL 50");
    assert!(killed[0].starts_with("Msg 6107"), "{killed:?}");
    all(&mut s, &["COMMIT"]);
    let reported = backup.join().expect("it does not panic");
    assert!(
        reported
            .last()
            .is_some_and(|l| l.contains("BACKUP DATABASE successfully")),
        "{reported:?}"
    );
    assert_eq!(run(&mut s, own)[1..], ["rows 0"]);
}

#[test]
fn backups_and_restores_have_rows_in_msdb() {
    let env = SimDisk::new(41).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "BACKUP DATABASE b TO DISK = 'b.bak' WITH NAME = 'it''s full', CHECKSUM",
            "CREATE TABLE b.dbo.t (id int)",
            "BEGIN TRAN m WITH MARK 'why'; INSERT b.dbo.t VALUES (1); COMMIT",
            "BACKUP DATABASE b TO DISK = 'b.bak' WITH DIFFERENTIAL",
            "BACKUP LOG b TO DISK = 'b.bak'",
            "BACKUP DATABASE b TO DISK = 'nul' WITH COPY_ONLY",
        ],
    );
    let sets = run(
        &mut s,
        "SELECT s.type, s.position, s.name, s.database_name, s.user_name, s.recovery_model, s.is_copy_only, s.has_backup_checksums, f.physical_device_name, f.device_type, m.media_family_count FROM msdb.dbo.backupset s JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id JOIN msdb.dbo.backupmediaset m ON m.media_set_id = s.media_set_id ORDER BY s.backup_set_id",
    );
    assert_eq!(
        sets[1..],
        [
            "D | 1 | it's full | b | sa | FULL | 0 | 1 | b.bak | 2 | 1",
            "I | 2 | NULL | b | sa | FULL | 0 | 0 | b.bak | 2 | 1",
            "L | 3 | NULL | b | sa | FULL | 0 | 0 | b.bak | 2 | 1",
            "D | 1 | NULL | b | sa | FULL | 1 | 0 | nul | 2 | 1",
            "rows 4"
        ]
    );
    // One medium has three of the sets, and all their columns are those of HEADERONLY.
    assert_eq!(
        run(&mut s, "SELECT COUNT(*) FROM msdb.dbo.backupmediaset")[1],
        "2"
    );
    let shown = run(&mut s, "RESTORE HEADERONLY FROM DISK = 'b.bak'");
    let lsns = run(
        &mut s,
        "SELECT first_lsn, last_lsn, checkpoint_lsn, backup_set_uuid, backup_start_date FROM msdb.dbo.backupset WHERE type = 'L'",
    );
    let log = shown
        .iter()
        .find(|l| l.contains("TRANSACTION LOG"))
        .expect("the set");
    for value in lsns[1].split(" | ") {
        assert!(log.contains(value), "{value}: {log}");
    }
    let files = run(
        &mut s,
        "SELECT file_number, file_type, logical_name, physical_name, filegroup_name FROM msdb.dbo.backupfile f JOIN msdb.dbo.backupset s ON s.backup_set_id = f.backup_set_id WHERE s.type = 'D' AND s.is_copy_only = 0 ORDER BY 1",
    );
    assert_eq!(
        files[1..],
        [
            "1 | D | b | /data/b.mdf | PRIMARY",
            "2 | L | b_log | /data/b.ldf | NULL",
            "rows 2"
        ]
    );
    let marks = run(
        &mut s,
        "SELECT database_name, mark_name, description, user_name, CASE WHEN lsn > 0 THEN 'lsn' END FROM msdb.dbo.logmarkhistory",
    );
    assert_eq!(marks[1..], ["b | m | why | sa | lsn", "rows 1"]);
    all(
        &mut s,
        &[
            "RESTORE DATABASE c FROM DISK = 'b.bak' WITH NORECOVERY, REPLACE, MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'",
            "RESTORE LOG c FROM DISK = 'b.bak' WITH FILE = 3, STOPBEFOREMARK = 'm'",
        ],
    );
    let restored = run(
        &mut s,
        "SELECT r.destination_database_name, r.restore_type, s.type, r.replace, r.recovery, r.stop_at_mark_name, r.stop_before, r.user_name FROM msdb.dbo.restorehistory r JOIN msdb.dbo.backupset s ON s.backup_set_id = r.backup_set_id ORDER BY r.restore_history_id",
    );
    assert_eq!(
        restored[1..],
        [
            "c | D | D | 1 | 0 | NULL | NULL | sa",
            "c | L | L | 0 | 1 | m | 1 | sa",
            "rows 2"
        ]
    );
    assert_eq!(
        run(
            &mut s,
            "SELECT r.restore_type, f.file_number, f.destination_phys_drive, f.destination_phys_name, g.filegroup_name FROM msdb.dbo.restorefile f JOIN msdb.dbo.restorehistory r ON r.restore_history_id = f.restore_history_id JOIN msdb.dbo.restorefilegroup g ON g.restore_history_id = f.restore_history_id ORDER BY 2",
        )[1..],
        [
            "D | 1 | NULL | /data/c.mdf | PRIMARY",
            "D | 2 | NULL | /data/c.ldf | PRIMARY",
            "rows 2"
        ]
    );
    assert_eq!(
        run(
            &mut s,
            "SELECT s.type, g.name, g.filegroup_id, g.type, g.is_default, g.is_readonly FROM msdb.dbo.backupfilegroup g JOIN msdb.dbo.backupset s ON s.backup_set_id = g.backup_set_id WHERE s.position = 1",
        )[1..],
        [
            "D | PRIMARY | 1 | FG | 1 | 0",
            "D | PRIMARY | 1 | FG | 1 | 0",
            "rows 2"
        ]
    );
    // All of it lives through a restart, and another server that restores learns of the sets.
    drop(s);
    instance.shutdown().expect("closed");
    let instance = start(&env);
    let mut s = login(&instance);
    assert_eq!(
        run(&mut s, "SELECT COUNT(*) FROM msdb.dbo.backupset")[1],
        "4"
    );
    all(&mut s, &["DELETE msdb.dbo.backupset"]);
    all(
        &mut s,
        &[
            "RESTORE DATABASE d FROM DISK = 'b.bak' WITH MOVE 'b' TO '/data/d.mdf', MOVE 'b_log' TO '/data/d.ldf'",
        ],
    );
    let learnt = run(
        &mut s,
        "SELECT s.name, r.destination_database_name FROM msdb.dbo.restorehistory r JOIN msdb.dbo.backupset s ON s.backup_set_id = r.backup_set_id",
    );
    assert_eq!(learnt[1..], ["it's full | d", "rows 1"]);
}

#[test]
fn a_backup_without_history_is_a_backup() {
    let instance = instance();
    let mut s = login(&instance);
    all(&mut s, &[MAKE, "DROP TABLE msdb.dbo.backupset"]);
    let lines = run(&mut s, "BACKUP DATABASE b TO DISK = 'b.bak'");
    assert!(
        lines
            .iter()
            .any(|l| l.contains("BACKUP DATABASE successfully processed")),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|l| l.starts_with("Msg 3009, Level 16")),
        "{lines:?}"
    );
    all(&mut s, &["RESTORE VERIFYONLY FROM DISK = 'b.bak'"]);
}
