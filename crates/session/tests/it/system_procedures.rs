//! Procedures and views of the system whose results name moments, files or sessions: what else they show.

use crate::{alone, run};

#[test]
fn every_view_of_the_system_answers() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (id int PRIMARY KEY, c varchar(9) DEFAULT 1)",
    );
    let names = run(
        &mut s,
        "SELECT QUOTENAME(SCHEMA_NAME(schema_id)) + '.' + QUOTENAME(name) FROM sys.all_objects WHERE type = 'V'",
    );
    let views = &names[1..names.len() - 1];
    assert!(views.len() > 80, "{}", views.len());
    for view in views {
        let out = run(&mut s, &format!("SELECT COUNT(*) FROM {view}"));
        assert!(out[1].parse::<u64>().is_ok(), "{view}: {out:?}");
    }
}

/// The lines without the date that a heading promises last.
fn undated(lines: &[String]) -> Vec<String> {
    let cut = |l: &String| match l.rsplit_once(" | ") {
        Some((rest, date)) if date.ends_with('M') => rest.to_owned(),
        _ => l.clone(),
    };
    lines.iter().map(cut).collect()
}

#[test]
fn sp_help_shows_a_table_whole() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE people (id int IDENTITY(10, 2) CONSTRAINT pk_people PRIMARY KEY, paid decimal(9, 2) CONSTRAINT df_paid DEFAULT (0), note char(5))",
    );
    let out = undated(&run(&mut s, "EXEC sp_help people"));
    let expected = "\
(Name nvarchar(128), Owner nvarchar(128), Type nvarchar(31), Created_datetime datetime)
people | dbo | user table
(Column_name nvarchar(128), Type nvarchar(128), Computed varchar(35), Length int, Prec char(5), Scale char(5), Nullable varchar(35), TrimTrailingBlanks varchar(35), FixedLenNullInSource varchar(35), Collation nvarchar(128))
id | int | no | 4 | 10    | 0     | no | (n/a) | (n/a) | NULL
paid | decimal | no | 5 | 9     | 2     | yes | (n/a) | (n/a) | NULL
note | char | no | 5 |       |       | yes | no | yes | SQL_Latin1_General_CP1_CI_AS
(Identity nvarchar(128), Seed numeric(38,0), Increment numeric(38,0), Not For Replication int)
id | 10 | 2 | 0
(RowGuidCol nvarchar(128))
No rowguidcol column defined.
(Data_located_on_filegroup nvarchar(128))
PRIMARY
(index_name nvarchar(128), index_description varchar(210), index_keys nvarchar(2126))
pk_people | clustered, unique, primary key located on PRIMARY | id
(constraint_type nvarchar(146), constraint_name nvarchar(128), delete_action nvarchar(9), update_action nvarchar(9), status_enabled varchar(8), status_for_replication varchar(19), constraint_keys nvarchar(2126))
DEFAULT on column paid | df_paid | (n/a) | (n/a) | (n/a) | (n/a) | ((0))
PRIMARY KEY (clustered) | pk_people | (n/a) | (n/a) | (n/a) | (n/a) | id
No foreign keys reference table 'people', or you do not have permissions on referencing tables.
No views with schema binding reference table 'people'.";
    assert_eq!(out.join("\n"), expected);
}

#[test]
fn sp_help_shows_parameters() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE FUNCTION twice (@x varchar(5)) RETURNS decimal(9, 3) AS BEGIN RETURN 2 END",
    );
    let out = undated(&run(&mut s, "EXEC sp_help twice"));
    assert_eq!(
        out[1..],
        [
            "twice | dbo | scalar function",
            "(Parameter_name nvarchar(128), Type nvarchar(128), Length smallint, Prec int, Scale int, Param_order int, Collation nvarchar(128))",
            " | decimal | 5 | 9 | 3 | 0 | NULL",
            "@x | varchar | 5 | 5 | NULL | 1 | SQL_Latin1_General_CP1_CI_AS",
        ]
    );
    let all = run(&mut s, "EXEC sp_help");
    assert!(all.iter().any(|l| l == "twice | dbo | scalar function"));
}

#[test]
fn sessions_and_databases_are_listed() {
    let mut s = alone();
    let out = run(&mut s, "EXEC sp_who");
    assert_eq!(
        out[0],
        "(spid smallint, ecid smallint, status nchar(30), loginame nchar(128), hostname nchar(128), blk char(5), dbname nvarchar(128), cmd nchar(52), request_id int)"
    );
    let own = |out: &[String]| out.iter().find(|l| l.starts_with("51")).cloned();
    assert!(
        own(&out).is_some_and(|l| l.contains("running") && l.contains("| master |")),
        "{out:?}"
    );
    let lazy = |out: &[String]| out.iter().find(|l| l.contains("LAZY WRITER")).cloned();
    assert!(
        lazy(&out).is_some_and(|l| l.contains("| background ") && l.contains("| sa ")),
        "{out:?}"
    );
    let out = run(&mut s, "EXEC sp_who2 'active'");
    assert!(
        own(&out)
            .is_some_and(|l| l.contains("| RUNNABLE | sa |") || l.contains("| RUNNING | sa |")),
        "{out:?}"
    );
    assert!(
        lazy(&out).is_some_and(|l| l.contains("| BACKGROUND | sa |")),
        "{out:?}"
    );
    assert!(run(&mut s, "EXEC sp_who nobody")[0].contains("'nobody' is not a valid login"));
    let out = run(&mut s, "EXEC sp_helpdb master");
    assert!(out[1].contains("Status=ONLINE, Updateability=READ_WRITE, UserAccess=MULTI_USER, Recovery=SIMPLE, Version="), "{out:?}");
    assert!(
        out[3].starts_with("master | 1 |") && out[4].ends_with("log only"),
        "{out:?}"
    );
    let out = run(&mut s, "EXEC sp_databases");
    assert_eq!(
        out[0],
        "(DATABASE_NAME nvarchar(128), DATABASE_SIZE int, REMARKS varchar(254))"
    );
    assert_eq!(out.len(), 5);
    let out = run(
        &mut s,
        "BEGIN TRAN; CREATE TABLE held (a int); EXEC sp_lock @@SPID; ROLLBACK",
    );
    assert!(
        out.iter()
            .any(|l| l.contains("| TAB |") && l.contains("Sch-M")),
        "{out:?}"
    );
    let out = run(&mut s, "EXEC sp_spaceused @oneresultset = 1");
    assert_eq!(
        out[0],
        "(database_name nvarchar(128), database_size varchar(18), unallocated space varchar(18), reserved varchar(18), data varchar(18), index_size varchar(18), unused varchar(18))"
    );
    let out = run(&mut s, "EXEC sp_datatype_info_100 @ODBCVer = 3");
    assert_eq!(out.len(), 1 + 30 + 6 + 1, "30 types, 6 identities, sysname");
}

#[test]
fn every_listed_procedure_can_be_executed() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (id int PRIMARY KEY, c varchar(9) DEFAULT 1 CHECK (c > '0'))",
    );
    let names = run(
        &mut s,
        "SELECT name FROM sys.all_objects WHERE type = 'P' AND is_ms_shipped = 1",
    );
    let procedures = &names[1..names.len() - 1];
    assert!(procedures.len() > 130, "{}", procedures.len());
    let mut broken = Vec::new();
    for p in procedures {
        // A missing parameter is said to be missing, by whoever looks for it.
        let mut lines = run(&mut s, &format!("EXEC sys.{p}"));
        let fails = |l: &String| l.starts_with("Msg ");
        let missing = |l: &String| MISSING.iter().any(|m| l.starts_with(m));
        if p.contains("_rowset") && lines.iter().any(missing) {
            lines = run(&mut s, &format!("EXEC sys.{p} '1'"));
        }
        let left = lines.into_iter().filter(|l| fails(l) && !missing(l));
        broken.extend(left.map(|l| format!("{p}: {l}")));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// 201, and what procedures say that look at their parameters themselves: no server is called 1.
const MISSING: [&str; 5] = [
    "Msg 201,",
    "Msg 15015,",
    "Msg 15252,",
    "Msg 15249,",
    "Msg 15600,",
];

/// No statement inside says so.
#[test]
fn a_procedure_that_is_code_leaves_no_error_of_before() {
    let mut s = alone();
    run(&mut s, "CREATE TABLE t (x int)");
    let out = run(&mut s, "EXEC nobody EXEC sp_rename 't', 'u' SELECT @@ERROR");
    assert_eq!(out[out.len() - 2], "0", "{out:?}");
    let lock = "EXEC nobody EXEC sp_getapplock 'l', 'Exclusive', 'Session' SELECT @@ERROR";
    let out = run(&mut s, lock);
    assert_eq!(out[out.len() - 2], "0", "{out:?}");
}
