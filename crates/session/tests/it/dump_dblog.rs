//! `fn_dump_dblog`: the records of a log backup are those that `fn_dblog` showed before it, column by column.

use crate::{alone, run};

const COLUMNS: &str = "[Current LSN], Operation, Context, [Transaction ID], [Log Record Length], [Previous LSN], AllocUnitName, [Page ID], [Slot ID], [Transaction Name], [Begin Time], [RowLog Contents 0], [Lock Information], Description, [Log Record]";

/// A call with all 68 arguments.
fn dump(start: &str, end: &str, file: &str) -> String {
    let rest = ", DEFAULT".repeat(63);
    format!("fn_dump_dblog({start}, {end}, N'DISK', 1, N'{file}'{rest})")
}

#[test]
fn a_log_backup_shows_what_the_log_showed() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf') LOG ON (NAME = dl, FILENAME = '/data/d.ldf'); ALTER DATABASE d SET RECOVERY FULL; BACKUP DATABASE d TO DISK = 'nul'",
    );
    run(
        &mut s,
        "USE d; CREATE TABLE t (id int PRIMARY KEY, w varchar(30)); BEGIN TRAN named; INSERT t VALUES (1, 'one'), (2, 'two'); COMMIT; DELETE t WHERE id = 1",
    );
    let sql = format!("SELECT {COLUMNS} FROM fn_dblog(NULL, NULL)");
    let logged = run(&mut s, &sql);
    run(&mut s, "BACKUP LOG d TO DISK = 'l.trn' WITH INIT");
    let dumped = run(
        &mut s,
        &format!("SELECT {COLUMNS} FROM {}", dump("NULL", "NULL", "l.trn")),
    );
    // The backup begins with the checkpoint of the full one, and has the checkpoints that came with it.
    assert_eq!(dumped[0], logged[0]);
    assert!(dumped.len() > 20, "{dumped:#?}");
    let of_rows = |lines: &[String]| -> Vec<String> {
        let rows = lines.iter().filter(|l| l.contains("| dbo.t"));
        rows.cloned().collect()
    };
    assert!(of_rows(&logged).len() >= 3, "{logged:#?}");
    assert_eq!(of_rows(&dumped), of_rows(&logged));
    let named = dumped.iter().position(|l| l.contains("| named |"));
    let named = named.expect("the transaction's begin");
    let lsn = &dumped[named][..22];
    let one = run(
        &mut s,
        &format!(
            "SELECT Operation FROM {}",
            dump(&format!("'0x{lsn}'"), &format!("'0x{lsn}'"), "l.trn")
        ),
    );
    assert_eq!(one[1..], ["LOP_BEGIN_XACT", "rows 1"]);
    // The log file itself, while the database is closed.
    run(&mut s, "USE master; ALTER DATABASE d SET OFFLINE");
    let ldf = run(
        &mut s,
        &format!(
            "SELECT COUNT(*) FROM {} WHERE Operation = 'LOP_DELETE_ROWS'",
            dump("NULL", "NULL", "/data/d.ldf")
        ),
    );
    assert_ne!(ldf[1], "0", "{ldf:?}");
}
