//! DBCC PAGE as text: what has places and LSNs in it, which golden scripts should not hold.

use crate::{alone, run};

/// The page of the first record in the log whose allocation unit is `unit`.
fn page_of(s: &mut duramen_session::Session, unit: &str) -> u32 {
    let lines = run(
        s,
        &format!(
            "SELECT TOP 1 [Page ID] FROM fn_dblog(NULL, NULL) WHERE AllocUnitName = '{unit}' AND Operation = 'LOP_FORMAT_PAGE' AND Context NOT IN ('LCX_IAM', 'LCX_DIFF_MAP')"
        ),
    );
    let (_, page) = lines[1].split_once(':').expect("a page id");
    u32::from_str_radix(page, 16).expect("a page number")
}

#[test]
fn text_goes_to_the_client_only_with_trace_flag_3604() {
    let mut s = alone();
    run(&mut s, "CREATE DATABASE d");
    let sql = "DBCC PAGE('d', 1, 1, 3) WITH NO_INFOMSGS";
    assert_eq!(run(&mut s, sql), Vec::<String>::new());
    run(&mut s, "DBCC TRACEON(3604)");
    let lines = run(&mut s, sql);
    assert_eq!(lines[0], "PAGE: (1:1)");
    assert!(lines.iter().any(|l| l.starts_with("m_pageId = (1:1) ")));
    let status = "PFS (1:1) = 0x44 ALLOCATED 100_PCT_FULL";
    assert!(lines.iter().any(|l| l.starts_with(status)), "{lines:#?}");
    assert!(lines.iter().any(|l| l == "PFS: Page Alloc Status"));
    // The header page of the log, which has no maps.
    let lines = run(&mut s, "DBCC PAGE('d', 2, 0, 3) WITH NO_INFOMSGS");
    let header = |l: &String| l.starts_with("Size = ") && l.contains("MaxSize = ");
    assert!(lines.iter().any(header), "{lines:#?}");
    assert!(!lines.iter().any(|l| l == "Allocation Status"));
    let lines = run(&mut s, "DBCC PAGE('d', 1, 9, 3) WITH NO_INFOMSGS");
    assert!(lines.iter().any(|l| l == "dbi_dbname = d"), "{lines:#?}");
}

#[test]
fn index_pages_are_a_result_set() {
    let mut s = alone();
    run(&mut s, "CREATE DATABASE d");
    run(
        &mut s,
        "USE d; CREATE TABLE t (id int NOT NULL PRIMARY KEY, word varchar(20)); INSERT t VALUES (1, 'one'), (2, NULL); CREATE INDEX w ON t (word)",
    );
    let page = page_of(&mut s, "dbo.t.w");
    run(&mut s, "DBCC TRACEON(3604)");
    let lines = run(
        &mut s,
        &format!("DBCC PAGE(0, 1, {page}, 3) WITH NO_INFOMSGS"),
    );
    let columns = "(FileId int, PageId int, Row int, Level int, word (key) varchar(20), id (key) int, KeyHashValue varchar(14), Row Size int)";
    let at = lines.iter().position(|l| l == columns);
    let at = at.unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(lines[at + 1].starts_with(&format!("1 | {page} | 0 | 0 | NULL | 2 | (")));
    assert!(lines[at + 2].starts_with(&format!("1 | {page} | 1 | 0 | one | 1 | (")));
    assert_eq!(lines[at + 3], "rows 2");
}

#[test]
fn only_sysadmin_looks_at_pages() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE LOGIN l WITH PASSWORD = 'Secret-2'; CREATE DATABASE d",
    );
    run(
        &mut s,
        "USE d; CREATE USER l FOR LOGIN l; ALTER ROLE db_owner ADD MEMBER l",
    );
    let request = duramen_program::login::LoginRequest {
        user: "l".to_owned(),
        password: "Secret-2".to_owned(),
        database: "d".to_owned(),
        ..Default::default()
    };
    let mut l = duramen_session::login(s.instance(), &request).expect("a login");
    for (sql, name) in [
        ("DBCC PAGE(d, 1, 9)", "PAGE"),
        ("DBCC TRACEON(3604)", "TRACEON"),
    ] {
        let lines = run(&mut l, sql);
        let denied = format!("User 'l' does not have permission to run DBCC {name}.");
        assert!(lines[0].ends_with(&denied), "{lines:?}");
    }
    assert!(run(&mut l, "DBCC TRACESTATUS")[0].starts_with("(TraceFlag smallint"));
}
