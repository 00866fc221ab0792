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
