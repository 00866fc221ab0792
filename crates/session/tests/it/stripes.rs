//! Backups over several files: all of them together are one, fewer are none.

use super::backups::{MAKE, all};
use super::*;

const THREE: &str = "DISK = 's1.bak', DISK = 's2.bak', DISK = 's3.bak'";

#[test]
fn a_backup_over_three_files_needs_all_three() {
    let env = SimDisk::new(51).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY, x char(4000))",
            "INSERT b.dbo.t SELECT TOP 600 ROW_NUMBER() OVER (ORDER BY (SELECT 1)), 'x' FROM sys.all_columns",
            &format!("BACKUP DATABASE b TO {THREE} WITH CHECKSUM"),
            "DELETE b.dbo.t WHERE id > 500",
            &format!("BACKUP DATABASE b TO {THREE} WITH DIFFERENTIAL"),
            "INSERT b.dbo.t VALUES (1000, 'late')",
            &format!("BACKUP LOG b TO {THREE}"),
        ],
    );
    // Every file has a part of the pages.
    for n in 1..=3 {
        let path = format!("/data/backup/s{n}.bak");
        let medium =
            duramen_backup::Medium::open(&*env.disk, path.as_ref(), "x").expect("a medium");
        assert_eq!((medium.media.families, medium.media.number), (3, n));
        assert_eq!(medium.sets.len(), 3);
        assert!(!medium.sets[0].pages.is_empty());
    }
    let label = run(&mut s, "RESTORE LABELONLY FROM DISK = 's2.bak'");
    assert!(label[1].contains(" | 3 | 2 | "), "{label:?}");
    let mut number = |sql: &str| run(&mut s, sql)[0].chars().take(9).collect::<String>();
    assert_eq!(
        number("RESTORE VERIFYONLY FROM DISK = 's1.bak'"),
        "Msg 3132,"
    );
    assert_eq!(
        number("RESTORE VERIFYONLY FROM DISK = 's1.bak', DISK = 's3.bak'"),
        "Msg 3132,"
    );
    let twice = "RESTORE VERIFYONLY FROM DISK = 's1.bak', DISK = 's3.bak', DISK = 's3.bak'";
    assert_eq!(number(twice), "Msg 3227,");
    assert_eq!(number("BACKUP LOG b TO DISK = 's1.bak'"), "Msg 3231,");
    assert_eq!(
        number("BACKUP LOG b TO DISK = 's1.bak', DISK = 's2.bak', DISK = 'new.bak'"),
        "Msg 3258,"
    );
    all(
        &mut s,
        &["BACKUP DATABASE b TO DISK = 'o1.bak', DISK = 'o2.bak', DISK = 'o3.bak' WITH COPY_ONLY"],
    );
    let mut number = |sql: &str| run(&mut s, sql)[0].chars().take(9).collect::<String>();
    let mixed = "RESTORE VERIFYONLY FROM DISK = 's1.bak', DISK = 's2.bak', DISK = 'o3.bak'";
    assert_eq!(number(mixed), "Msg 3258,");
    // In any order.
    let turned = "DISK = 's3.bak', DISK = 's1.bak', DISK = 's2.bak'";
    let moves = "MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'";
    all(
        &mut s,
        &[
            &format!("RESTORE VERIFYONLY FROM {turned} WITH FILE = 3"),
            &format!("RESTORE DATABASE c FROM {turned} WITH NORECOVERY, {moves}"),
            &format!("RESTORE DATABASE c FROM {turned} WITH FILE = 2, NORECOVERY"),
            &format!("RESTORE LOG c FROM {turned} WITH FILE = 3"),
        ],
    );
    let rows = "SELECT COUNT(*), MAX(id), MIN(id) FROM c.dbo.t";
    assert_eq!(run(&mut s, rows)[1], "501 | 1000 | 1");
    let families = run(
        &mut s,
        "SELECT family_sequence_number, physical_device_name FROM msdb.dbo.backupmediafamily WHERE media_set_id = 1 ORDER BY 1",
    );
    assert_eq!(
        families[1..],
        ["1 | s1.bak", "2 | s2.bak", "3 | s3.bak", "rows 3"]
    );
    let dumped = run(
        &mut s,
        "SELECT COUNT(*) FROM fn_dump_dblog(NULL, NULL, N'DISK', 3, N's1.bak', N's2.bak', N's3.bak') WHERE Operation = 'LOP_DELETE_ROWS'",
    );
    assert_ne!(dumped[1], "0");
}

#[test]
fn a_changed_byte_in_any_file_is_found() {
    let env = SimDisk::new(52).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "BACKUP DATABASE b TO DISK = 's1.bak', DISK = 's2.bak'",
        ],
    );
    let verify = "RESTORE VERIFYONLY FROM DISK = 's1.bak', DISK = 's2.bak'";
    all(&mut s, &[verify]);
    for n in 1..=2 {
        let path = format!("/data/backup/s{n}.bak");
        let medium = duramen_backup::Medium::open(&*env.disk, path.as_ref(), "x");
        let run_at = medium.expect("a medium").sets[0].pages[0].at + 5000;
        let file = env
            .disk
            .open(path.as_ref(), &Default::default())
            .expect("opens");
        let mut byte = [0];
        file.read_at(&mut byte, run_at).expect("read");
        file.write_at(&[byte[0] ^ 1], run_at).expect("written");
        assert!(run(&mut s, verify)[0].starts_with("Msg 3189,"));
        file.write_at(&byte, run_at).expect("written");
        all(&mut s, &[verify]);
    }
}
