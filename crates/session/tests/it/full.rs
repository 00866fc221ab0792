//! A filegroup that is full, as a client hears of it.

use super::*;

#[test]
fn a_full_filegroup_names_object_index_and_filegroup() {
    let instance = instance();
    let mut session = login(&instance);
    let make = "CREATE DATABASE f ON PRIMARY (NAME = f, FILENAME = '/data/f.mdf', SIZE = 8MB, MAXSIZE = 8MB, FILEGROWTH = 64KB) LOG ON (NAME = f_log, FILENAME = '/data/f.ldf', SIZE = 8MB)";
    assert_eq!(run(&mut session, make), Vec::<String>::new());
    run(&mut session, "USE f");
    for (table, name) in [
        (
            "t (id int IDENTITY CONSTRAINT PK_t PRIMARY KEY, pad char(8000) NOT NULL)",
            "'dbo.t'.'PK_t'",
        ),
        ("h (id int IDENTITY, pad char(8000) NOT NULL)", "'dbo.h'"),
    ] {
        run(&mut session, &format!("CREATE TABLE {table}"));
        let fill = format!(
            "WHILE 1 = 1 INSERT {} (pad) VALUES ('x')",
            table.split(' ').next().unwrap()
        );
        let lines = run(&mut session, &format!("SET NOCOUNT ON; {fill}"));
        let text = format!(
            "Msg 1105, Level 17, State 2, Line 1: Could not allocate space for object {name} in database 'f' because the 'PRIMARY' filegroup is full."
        );
        assert!(lines[0].starts_with(&text), "{lines:?}");
        run(&mut session, "DELETE t; DROP TABLE t");
    }
}

#[test]
fn a_closed_instance_passes_the_offline_check() {
    let env = SimDisk::new(7).env();
    let instance = start(&env);
    let mut session = login(&instance);
    let make = "CREATE DATABASE f ON PRIMARY (NAME = f, FILENAME = '/data/f.mdf', SIZE = 8MB), (NAME = f2, FILENAME = '/data/f2.ndf', SIZE = 8MB) LOG ON (NAME = f_log, FILENAME = '/data/f.ldf', SIZE = 8MB)";
    run(&mut session, make);
    run(&mut session, "USE f");
    run(
        &mut session,
        "CREATE TABLE t (id int IDENTITY PRIMARY KEY, n int, pad varchar(max)); CREATE INDEX i ON t (n); CREATE TABLE h (id int, pad varchar(2000))",
    );
    let work = "SET NOCOUNT ON; DECLARE @i int = 0;
WHILE @i < 300 BEGIN
  INSERT t (n, pad) VALUES (@i % 7, REPLICATE(CAST('x' AS varchar(max)), @i * 60));
  INSERT h VALUES (@i, REPLICATE('y', @i * 5));
  SET @i += 1;
END;
DELETE t WHERE n = 3; UPDATE h SET pad = REPLICATE('z', 1500) WHERE id % 3 = 0; DELETE h WHERE id % 5 = 0; DROP INDEX i ON t";
    assert_eq!(run(&mut session, work), Vec::<String>::new());
    let counted = run(
        &mut session,
        "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM h",
    );
    drop(session);
    instance.shutdown().expect("it closes");
    let reports = duramen_check::check_directory(&*env.disk, "/data".as_ref()).unwrap();
    for report in &reports {
        assert_eq!(report.findings, [], "{}", report.path.display());
    }
    assert!(reports.len() >= 9, "{reports:?}");
    assert!(!counted.is_empty());
}

#[test]
fn a_new_database_fits_into_the_smallest_log() {
    let instance = instance();
    let mut session = login(&instance);
    for kb in [512, 576, 768] {
        let make = format!(
            "CREATE DATABASE f{kb} ON (NAME = f, FILENAME = '/data/f{kb}.mdf', SIZE = 8MB) LOG ON (NAME = f_log, FILENAME = '/data/f{kb}.ldf', SIZE = {kb}KB, FILEGROWTH = 0)"
        );
        assert_eq!(run(&mut session, &make), Vec::<String>::new());
        run(&mut session, &format!("USE f{kb}"));
        let reported = run(
            &mut session,
            "CREATE TABLE t (a int); INSERT t VALUES (1); SELECT a FROM t; DBCC CHECKDB WITH NO_INFOMSGS",
        );
        assert_eq!(reported, ["rows 1", "(a int)", "1", "rows 1"], "{kb}");
    }
}
