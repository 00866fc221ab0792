//! DBCC statements: their result sets, messages and refusals.

use crate::{alone, instance, login, run};

const COMPLETED: &str =
    "DBCC execution completed. If DBCC printed error messages, contact your system administrator.";

#[test]
fn loginfo_has_a_row_a_vlf() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf') LOG ON (NAME = dl, FILENAME = '/data/d.ldf', SIZE = 8MB)",
    );
    let lines = run(&mut s, "DBCC LogInfo('d')");
    assert_eq!(
        lines[0],
        "(RecoveryUnitId int, FileId int, FileSize bigint, StartOffset bigint, FSeqNo int, Status int, Parity tinyint, CreateLSN numeric(25,0))"
    );
    assert!(
        lines[1].starts_with("0 | 2 | 2031616 | 8192 | "),
        "{lines:?}"
    );
    assert!(lines[1].ends_with(" | 2 | 64 | 0"), "{lines:?}");
    assert_eq!(lines[2], "0 | 2 | 2031616 | 2039808 | 0 | 0 | 0 | 0");
    assert_eq!(lines[5..], ["rows 4", COMPLETED]);
    // By id, bracketed, quietly, of the current database: the same rows.
    let rows = lines[..5].to_vec();
    for sql in [
        "DBCC LOGINFO(5) WITH NO_INFOMSGS",
        "DBCC LOGINFO([d]) WITH NO_INFOMSGS, TABLERESULTS",
        "DECLARE @d sysname = 'd'; DBCC LOGINFO(@d) WITH NO_INFOMSGS",
    ] {
        assert_eq!(run(&mut s, sql)[..5], rows, "{sql}");
    }
    run(&mut s, "USE d");
    assert_eq!(run(&mut s, "DBCC LOGINFO")[..5], rows);
}

#[test]
fn names_that_are_not_there_have_their_numbers() {
    let mut s = alone();
    let mut number = |sql: &str| run(&mut s, sql)[0].clone();
    assert!(number("DBCC LOGINFO('nowhere')").starts_with("Msg 2520, Level 16, State 5"));
    assert!(number("DBCC LOGINFO(99)").starts_with("Msg 2521, Level 16, State 10"));
    assert!(number("DBCC NOSUCHTHING").starts_with("Msg 2526, Level 16, State 3"));
    assert!(number("DBCC SQLPERF(LOGSPACE, x, y)").starts_with("Msg 2526"));
    assert!(number("DBCC CHECKCONSTRAINTS").contains("DBCC CHECKCONSTRAINTS"));
    assert!(number("DBCC LOGINFO WITH FAST").contains("DBCC LOGINFO WITH FAST"));
    assert!(number("DBCC SHRINKFILE('none', 1)").starts_with("Msg 8985"));
}

#[test]
fn sqlperf_shows_log_space_and_clears_waits() {
    let mut s = alone();
    let lines = run(&mut s, "DBCC SQLPERF(LOGSPACE) WITH NO_INFOMSGS");
    assert_eq!(
        lines[0],
        "(Database Name nvarchar(128), Log Size (MB) real, Log Space Used (%) real, Status int)"
    );
    // 4 MB without the header page.
    let master = lines.iter().find(|l| l.starts_with("master | 3.99219 | "));
    assert!(master.is_some_and(|l| l.ends_with(" | 0")), "{lines:?}");
    let waited = "SELECT CASE WHEN waiting_tasks_count > 0 THEN 1 ELSE 0 END FROM sys.dm_os_wait_stats WHERE wait_type = 'PREEMPTIVE_OS_GETPROCADDRESS'";
    assert_eq!(run(&mut s, waited)[1], "0");
    assert_eq!(
        run(&mut s, "DBCC SQLPERF (\"sys.dm_os_wait_stats\", clear)"),
        [COMPLETED]
    );
    assert_eq!(
        run(
            &mut s,
            "DBCC SQLPERF('sys.dm_os_latch_stats', CLEAR) WITH NO_INFOMSGS"
        ),
        Vec::<String>::new()
    );
    assert!(run(&mut s, "DBCC SQLPERF(THREADS)")[0].starts_with("Msg 40517"));
}

#[test]
fn opentran_names_the_oldest_transaction() {
    let instance = instance();
    let mut s = login(&instance);
    run(&mut s, "CREATE TABLE t (a int)");
    assert_eq!(
        run(&mut s, "DBCC OPENTRAN"),
        ["No active open transactions.", COMPLETED]
    );
    run(&mut s, "BEGIN TRAN first_one; INSERT t VALUES (1)");
    let mut other = login(&instance);
    let lines = run(&mut other, "DBCC OPENTRAN('master')");
    assert_eq!(lines[0], "Transaction information for database 'master'.");
    assert_eq!(lines[1], "\nOldest active transaction:");
    assert_eq!(lines[2], "    SPID (server process ID): 51");
    assert_eq!(lines[3], "    UID (user ID) : -1");
    assert_eq!(lines[4], "    Name          : first_one");
    assert!(lines[5].starts_with("    LSN           : ("), "{lines:?}");
    assert!(
        lines[6].ends_with("AM") || lines[6].ends_with("PM"),
        "{lines:?}"
    );
    assert_eq!(lines[7], "    SID           : 0x01");
    let rows = run(&mut other, "DBCC OPENTRAN WITH TABLERESULTS, NO_INFOMSGS");
    assert_eq!(rows[1], "OLDACT_SPID | 51");
    assert_eq!(rows[3], "OLDACT_NAME | first_one");
    run(&mut s, "ROLLBACK");
    assert_eq!(
        run(&mut other, "DBCC OPENTRAN")[0],
        "No active open transactions."
    );
}

#[test]
fn shrinkfile_cuts_a_log_to_its_target() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf') LOG ON (NAME = dl, FILENAME = '/data/d.ldf', SIZE = 64MB)",
    );
    run(&mut s, "USE d");
    let lines = run(&mut s, "DBCC SHRINKFILE (dl, 16) WITH NO_INFOMSGS");
    assert_eq!(
        lines[0],
        "(DbId smallint, FileId int, CurrentSize int, MinimumSize int, UsedPages int, EstimatedPages int)"
    );
    // 4 VLFs of 16 MB less the header page: the first ends at 16 MB, the second begins below it.
    assert_eq!(lines[2], "rows 1");
    let size = run(
        &mut s,
        "SELECT size FROM sys.database_files WHERE name = 'dl'",
    )[1]
    .clone();
    assert!(
        lines[1].starts_with(&format!("5 | 2 | {size} | 8192 | {size} | ")),
        "{lines:?}"
    );
    assert!(size.parse::<u64>().expect("a size") < 8192);
    // Two VLFs always stay.
    let lines = run(&mut s, "DBCC SHRINKFILE (2, 1)");
    assert!(
        lines
            .iter()
            .any(|l| l.starts_with("Cannot shrink log file 2 (dl) because ")),
        "{lines:?}"
    );
    assert_eq!(lines.last().map(String::as_str), Some(COMPLETED));
    assert!(run(&mut s, "BEGIN TRAN; DBCC SHRINKFILE (2, 1)")[0].starts_with("Msg 8920"));
    assert!(run(&mut s, "ROLLBACK; DBCC SHRINKFILE (1, 1)")[0].starts_with("Msg 40517"));
}

#[test]
fn checkident_tells_and_sets_the_identity() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (a int IDENTITY(1,1), b int); CREATE TABLE u (a int)",
    );
    run(&mut s, "INSERT t VALUES (1); INSERT t VALUES (1)");
    let said =
        "Checking identity information: current identity value '2', current column value '2'.";
    assert_eq!(
        run(&mut s, "DBCC CHECKIDENT ('t', NORESEED)"),
        [said, COMPLETED]
    );
    assert_eq!(
        run(&mut s, "DBCC CHECKIDENT ('dbo.t', RESEED, 10)"),
        [
            "Checking identity information: current identity value '2'.",
            COMPLETED
        ]
    );
    run(&mut s, "INSERT t VALUES (1)");
    assert_eq!(run(&mut s, "SELECT MAX(a) FROM t")[1], "11");
    run(
        &mut s,
        "DBCC CHECKIDENT ('t', RESEED, 3); DBCC CHECKIDENT ('t') WITH NO_INFOMSGS; INSERT t VALUES (1)",
    );
    assert_eq!(run(&mut s, "SELECT MAX(a) FROM t")[1], "12");
    // A table without a row begins with the value itself.
    run(
        &mut s,
        "TRUNCATE TABLE t; DBCC CHECKIDENT ('t', RESEED, 50); INSERT t VALUES (1)",
    );
    assert_eq!(run(&mut s, "SELECT a FROM t")[1], "50");
    assert!(run(&mut s, "DBCC CHECKIDENT ('u')")[0].starts_with("Msg 7997"));
    assert!(run(&mut s, "DBCC CHECKIDENT ('none')")[0].starts_with("Msg 2501"));
    assert!(run(&mut s, "DBCC CHECKIDENT ('t', SOMETHING)")[0].starts_with("Msg 2526"));
}

#[test]
fn log_tells_the_records_of_fn_dblog() {
    let mut s = alone();
    run(&mut s, "CREATE DATABASE d");
    run(
        &mut s,
        "USE d; CREATE TABLE t (id int); INSERT t VALUES (1)",
    );
    let brief = "(Current LSN nvarchar(23), Operation nvarchar(31), Context nvarchar(31), Transaction ID nvarchar(14), LogBlockGeneration bigint)";
    let lines = run(&mut s, "DBCC LOG(d)");
    assert_eq!(lines[0], brief);
    let count = run(&mut s, "SELECT COUNT(*) FROM fn_dblog(NULL, NULL)")[1].clone();
    assert_eq!(
        lines[lines.len() - 2..],
        [format!("rows {count}"), COMPLETED.to_owned()]
    );
    assert!(
        lines
            .iter()
            .any(|l| l.contains("| LOP_INSERT_ROWS | LCX_HEAP |"))
    );
    let widths = [-1, 1, 2, 3, 4].map(|level| {
        let lines = run(
            &mut s,
            &format!("DBCC LOG('d', {level}) WITH TABLERESULTS, NO_INFOMSGS"),
        );
        lines[0].matches(", ").count()
    });
    assert!(
        widths[1] == 10 && widths[2] == 15 && widths[3] + 1 == widths[4] && widths[0] == widths[4],
        "{widths:?}"
    );
    let refused = run(&mut s, "DBCC LOG(d, 5)");
    assert!(refused[0].starts_with("Msg 2526"), "{refused:?}");
}
