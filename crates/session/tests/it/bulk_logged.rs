//! BULK_LOGGED: loads whose rows are in no log record, and the log backups that have their pages.

use super::backups::{MAKE, all};
use super::*;

/// A database whose chain of log backups has begun under BULK_LOGGED, with 1,000 rows to load from.
fn chain(s: &mut Session) {
    all(
        s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY BULK_LOGGED",
            "CREATE TABLE b.dbo.src (id int NOT NULL PRIMARY KEY, pad char(200) NOT NULL)",
            "INSERT b.dbo.src SELECT TOP (1000) ROW_NUMBER() OVER (ORDER BY (SELECT 1)), 'x' FROM sys.all_columns",
            "BACKUP DATABASE b TO DISK = '/data/full.bak'",
        ],
    );
}

fn one(s: &mut Session, sql: &str) -> String {
    let lines = run(s, sql);
    let last = lines.len().checked_sub(2).and_then(|i| lines.get(i));
    last.cloned().unwrap_or_default()
}

/// HasBulkLoggedData of a log backup.
fn reported(s: &mut Session, path: &str) -> String {
    let sql = format!(
        "SELECT TOP 1 has_bulk_logged_data FROM msdb.dbo.backupset b JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = b.media_set_id WHERE f.physical_device_name = '{path}' ORDER BY backup_set_id DESC"
    );
    one(s, &sql)
}

const COPY: &str = "RESTORE DATABASE c FROM DISK = '/data/full.bak' WITH NORECOVERY, MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'";

#[test]
fn a_log_backup_has_the_pages_that_no_record_has() {
    let mut s = alone();
    chain(&mut s);
    all(
        &mut s,
        &[
            "BACKUP LOG b TO DISK = '/data/1.trn'",
            "SELECT * INTO b.dbo.into_heap FROM b.dbo.src",
            "CREATE TABLE b.dbo.heap (id int NOT NULL, pad char(200) NOT NULL); CREATE TABLE b.dbo.tree (id int NOT NULL PRIMARY KEY, pad char(200) NOT NULL)",
            "INSERT b.dbo.heap WITH (TABLOCK) SELECT * FROM b.dbo.src; INSERT b.dbo.tree WITH (TABLOCK) SELECT * FROM b.dbo.src",
            "CREATE INDEX ix ON b.dbo.heap (pad, id)",
        ],
    );
    let rows = one(
        &mut s,
        "USE b; SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Operation IN ('LOP_INSERT_ROWS', 'LOP_FORMAT_PAGE') AND [Log Record Length] > 200 AND Context IN ('LCX_HEAP', 'LCX_CLUSTERED', 'LCX_INDEX_LEAF') AND AllocUnitName LIKE 'dbo.[iht]%'",
    );
    let bits = one(
        &mut s,
        "USE b; SELECT COUNT(*) FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_SET_BITS' AND Context = 'LCX_ML_MAP'",
    );
    // The first page of a tree takes its rows with records.
    assert!(rows.parse::<u32>().is_ok_and(|n| n < 5), "{rows} rows");
    assert!(bits.parse::<u32>().is_ok_and(|n| n > 12), "{bits} bits");
    all(&mut s, &["USE master"]);
    let copy_only = run(
        &mut s,
        "BACKUP LOG b TO DISK = '/data/c.trn' WITH COPY_ONLY",
    );
    let lines = run(&mut s, "BACKUP LOG b TO DISK = '/data/2.trn' WITH CHECKSUM");
    for lines in [copy_only, lines] {
        let of = |file: &str| {
            lines
                .iter()
                .any(|l| l.contains(&format!("file '{file}' on file 1.")))
        };
        assert!(of("b") && of("b_log"), "{lines:?}");
    }
    // What is logged row by row afterwards stands on those pages.
    all(
        &mut s,
        &[
            "INSERT b.dbo.heap VALUES (5000, 'more'); DELETE b.dbo.tree WHERE id = 7; UPDATE b.dbo.into_heap SET pad = 'y' WHERE id = 8",
            "BACKUP LOG b TO DISK = '/data/3.trn'",
        ],
    );
    let flags = ["1", "c", "2", "3"].map(|n| reported(&mut s, &format!("/data/{n}.trn")));
    assert_eq!(flags, ["0", "1", "1", "0"]);
    all(
        &mut s,
        &[
            COPY,
            "RESTORE LOG c FROM DISK = '/data/1.trn' WITH NORECOVERY",
        ],
    );
    let stopped = run(
        &mut s,
        "RESTORE LOG c FROM DISK = '/data/2.trn' WITH NORECOVERY, STOPAT = '2000-01-02'",
    );
    assert!(
        stopped
            .iter()
            .any(|l| l.contains("4341") || l.contains("4338") || l.contains("4335")),
        "{stopped:?}"
    );
    all(
        &mut s,
        &[
            "RESTORE LOG c FROM DISK = '/data/2.trn' WITH NORECOVERY, CHECKSUM",
            "RESTORE LOG c FROM DISK = '/data/3.trn' WITH RECOVERY",
        ],
    );
    let counts = "(SELECT COUNT(*) FROM c.dbo.into_heap), (SELECT COUNT(*) FROM c.dbo.heap), (SELECT COUNT(*) FROM c.dbo.tree), (SELECT COUNT(*) FROM c.dbo.heap WITH (INDEX (ix))), (SELECT COUNT(*) FROM c.dbo.into_heap WHERE pad = 'y')";
    assert_eq!(
        one(&mut s, &format!("SELECT {counts}")),
        "1000 | 1001 | 999 | 1001 | 1"
    );
}

#[test]
fn a_load_that_is_open_during_a_log_backup_is_undone_in_the_copy() {
    let mut s = alone();
    chain(&mut s);
    all(
        &mut s,
        &[
            "CREATE TABLE b.dbo.heap (id int NOT NULL, pad char(200) NOT NULL)",
            "BEGIN TRAN; INSERT b.dbo.heap WITH (TABLOCK) SELECT * FROM b.dbo.src",
        ],
    );
    let mut other = login(&s.instance);
    all(&mut other, &["BACKUP LOG b TO DISK = '/data/1.trn'"]);
    all(
        &mut s,
        &["INSERT b.dbo.heap WITH (TABLOCK) SELECT * FROM b.dbo.src; COMMIT"],
    );
    all(
        &mut s,
        &[
            "BACKUP LOG b TO DISK = '/data/2.trn'",
            COPY,
            "RESTORE LOG c FROM DISK = '/data/1.trn' WITH RECOVERY",
        ],
    );
    assert_eq!(one(&mut s, "SELECT COUNT(*) FROM c.dbo.heap"), "0");
    all(
        &mut s,
        &[
            "DROP DATABASE c",
            COPY,
            "RESTORE LOG c FROM DISK = '/data/1.trn' WITH NORECOVERY",
            "RESTORE LOG c FROM DISK = '/data/2.trn' WITH RECOVERY",
        ],
    );
    assert_eq!(one(&mut s, "SELECT COUNT(*) FROM c.dbo.heap"), "2000");
}

#[test]
fn a_chain_that_begins_anew_has_nothing_to_make_up_for() {
    let mut s = alone();
    chain(&mut s);
    all(
        &mut s,
        &[
            "SELECT * INTO b.dbo.x FROM b.dbo.src",
            "ALTER DATABASE b SET RECOVERY SIMPLE; ALTER DATABASE b SET RECOVERY FULL",
            "BACKUP DATABASE b TO DISK = '/data/again.bak'",
            "BACKUP LOG b TO DISK = '/data/1.trn'",
        ],
    );
    assert_eq!(reported(&mut s, "/data/1.trn"), "0");
    // From BULK_LOGGED to FULL the chain goes on, and so do its marks.
    all(
        &mut s,
        &[
            "ALTER DATABASE b SET RECOVERY BULK_LOGGED; SELECT * INTO b.dbo.y FROM b.dbo.src; ALTER DATABASE b SET RECOVERY FULL",
            "BACKUP LOG b TO DISK = '/data/2.trn'",
        ],
    );
    assert_eq!(reported(&mut s, "/data/2.trn"), "1");
}

#[test]
fn what_a_minimally_logged_load_logs_is_two_percent_of_its_pages() {
    let mut s = alone();
    chain(&mut s);
    all(
        &mut s,
        &[
            "ALTER DATABASE b SET RECOVERY SIMPLE",
            "USE b; SELECT a.id * 1000 + b.id AS id, b.pad INTO b.dbo.big FROM b.dbo.src a CROSS JOIN b.dbo.src b WHERE a.id <= 20; CHECKPOINT",
            "CREATE TABLE c (id int NOT NULL PRIMARY KEY, pad char(200) NOT NULL)",
        ],
    );
    // 20,000 rows of 211 bytes and their slots: 38 a page.
    let pages = 20_000 / 38;
    for (percent, sql) in [
        (1.2, "SELECT * INTO h FROM big"),
        (1.6, "INSERT c WITH (TABLOCK) SELECT * FROM big ORDER BY id"),
        (2.0, "CREATE INDEX ix ON h (id) INCLUDE (pad)"),
    ] {
        let logged = one(
            &mut s,
            &format!(
                "CHECKPOINT; DECLARE @from varchar(30) = (SELECT MAX([Current LSN]) FROM fn_dblog(NULL, NULL)); {sql}; SELECT SUM([Log Record Length]) FROM fn_dblog(NULL, NULL) WHERE [Current LSN] > @from"
            ),
        );
        let bytes: f64 = logged.parse().unwrap_or(f64::MAX);
        let part = bytes / f64::from(pages * 8192) * 100.0;
        assert!(part < percent, "{part} %: {sql}");
    }
}
