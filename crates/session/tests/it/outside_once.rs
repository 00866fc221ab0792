//! Values outside their rows are written once, whatever way the rows go: no page is used that one copy does not need, and
//! nothing is left of what was rolled back.

use duramen_base::SqlResult;
use duramen_session::BulkSource;
use duramen_types::{SqlType, Value};

use super::*;

fn quiet(s: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql);
    let wrong: Vec<&String> = lines.iter().filter(|l| l.starts_with("Msg ")).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {sql}");
    lines
}

fn whole(s: &mut Session) {
    let said = quiet(s, "DBCC CHECKDB('r') WITH NO_INFOMSGS, ALL_ERRORMSGS");
    assert!(said.is_empty(), "{said:?}");
}

fn begin() -> Alone {
    let mut s = alone();
    quiet(
        &mut s,
        "CREATE DATABASE r; ALTER DATABASE r SET RECOVERY FULL",
    );
    quiet(&mut s, "USE r");
    quiet(&mut s, "SET NOCOUNT ON");
    s
}

/// Pages that hold a table's values outside its rows.
fn outside(s: &mut Session, table: &str) -> u64 {
    let sql = format!(
        "SELECT SUM(lob_used_page_count + row_overflow_used_page_count) FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('{table}')"
    );
    quiet(s, &sql)[1].parse().unwrap()
}

/// Columns that go outside, and a value of theirs.
const KINDS: &[(&str, &str)] = &[
    ("varchar(max)", "REPLICATE(CAST('v' AS varchar(max)), 9000)"),
    (
        "nvarchar(max)",
        "REPLICATE(CAST(N'n' AS nvarchar(max)), 5000)",
    ),
    (
        "varbinary(max)",
        "CAST(REPLICATE(CAST('b' AS varchar(max)), 9000) AS varbinary(max))",
    ),
    ("text", "REPLICATE(CAST('t' AS varchar(max)), 9000)"),
    ("ntext", "REPLICATE(CAST(N't' AS nvarchar(max)), 5000)"),
    (
        "image",
        "CAST(REPLICATE(CAST('i' AS varchar(max)), 9000) AS varbinary(max))",
    ),
    (
        "xml",
        "CAST('<a>' + REPLICATE(CAST('x' AS varchar(max)), 9000) + '</a>' AS xml)",
    ),
    (
        "varchar(8000), p varchar(8000), q varchar(max)",
        "REPLICATE('o', 5000), REPLICATE('p', 5000), NULL",
    ),
];

#[test]
pub(super) fn rows_of_every_type_go_in_once() {
    let mut s = begin();
    for (n, (ty, value)) in KINDS.iter().enumerate() {
        let columns = format!("a int NOT NULL, l {ty}");
        quiet(
            &mut s,
            &format!(
                "CREATE TABLE one{n} ({columns}); CREATE TABLE h{n} ({columns}); CREATE TABLE c{n} ({columns}); CREATE CLUSTERED INDEX k ON c{n} (a)"
            ),
        );
        quiet(
            &mut s,
            &format!(
                "DECLARE @i int = 0; WHILE @i < 7 BEGIN INSERT one{n} VALUES (@i / 3, {value}); SET @i += 1 END"
            ),
        );
        let needed = outside(&mut s, &format!("one{n}"));
        assert!(needed > 1, "{ty} is not outside");
        let rows = if ty.contains(", p") {
            "a, l, p, q"
        } else {
            "a, l"
        };
        for sql in [
            format!("INSERT h{n} SELECT {rows} FROM one{n}"),
            format!("INSERT c{n} SELECT {rows} FROM one{n} ORDER BY a DESC"),
            format!("SELECT * INTO i{n} FROM one{n}"),
        ] {
            quiet(&mut s, &sql);
        }
        for table in ["h", "c", "i"] {
            let used = outside(&mut s, &format!("{table}{n}"));
            assert_eq!(used, needed, "{table}, {ty}");
        }
        // From heap to tree and back, and anew.
        for sql in [
            "CREATE CLUSTERED INDEX k ON {} (a)",
            "ALTER INDEX k ON {} REBUILD",
            "DROP INDEX k ON {}",
        ] {
            quiet(&mut s, &sql.replace("{}", &format!("i{n}")));
            let used = outside(&mut s, &format!("i{n}"));
            assert_eq!(used, needed, "{sql}, {ty}");
        }
    }
    whole(&mut s);
}

/// A stream of rows as a bulk load brings them.
struct Texts(i32);

impl BulkSource for Texts {
    fn columns(&mut self) -> SqlResult<Vec<SqlType>> {
        Ok(vec![SqlType::INT, SqlType::VARCHAR_MAX])
    }

    fn row(&mut self) -> SqlResult<Option<Vec<Value>>> {
        self.0 -= 1;
        let text = Value::VarChar(vec![b'w'; 9_000]);
        Ok((self.0 >= 0).then(|| vec![Value::Int(self.0 / 3), text]))
    }
}

#[test]
fn bulk_loads_and_partitions_write_once() {
    let mut s = begin();
    quiet(
        &mut s,
        "CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (1, 2); CREATE PARTITION SCHEME sc AS PARTITION f ALL TO ([PRIMARY])",
    );
    quiet(
        &mut s,
        "CREATE TABLE one (a int, l varchar(max)); CREATE TABLE h (a int, l varchar(max)); CREATE TABLE c (a int, l varchar(max)); CREATE CLUSTERED INDEX k ON c (a); CREATE TABLE p (a int, l varchar(max)) ON sc (a)",
    );
    quiet(
        &mut s,
        "DECLARE @i int = 0; WHILE @i < 7 BEGIN INSERT one VALUES (@i / 3, REPLICATE(CAST('w' AS varchar(max)), 9000)); SET @i += 1 END",
    );
    let needed = outside(&mut s, "one");
    for table in ["h", "c"] {
        for hint in ["", " WITH (TABLOCK)"] {
            quiet(&mut s, &format!("TRUNCATE TABLE {table}"));
            run(
                &mut s,
                &format!("INSERT BULK {table} (a int, l varchar(max)){hint}"),
            );
            let mut sink = TextSink::default();
            let loaded = s.bulk_load(&mut Texts(7), &mut sink, &CancelToken::default());
            assert!(loaded, "{:?}", sink.lines);
            assert_eq!(outside(&mut s, table), needed, "{table}{hint}");
        }
    }
    quiet(&mut s, "INSERT p SELECT a, l FROM one");
    // Each partition has an IAM page of its own.
    let used = outside(&mut s, "p");
    assert!(used <= needed + 2 * 2, "{used} for {needed}");
    whole(&mut s);
}

/// Equal keys of a clustered index get their numbers after their values are written.
#[test]
fn equal_keys_write_once() {
    let mut s = begin();
    quiet(
        &mut s,
        "CREATE TABLE c (a int, l varchar(max)); CREATE CLUSTERED INDEX k ON c (a); CREATE TABLE h (a int, l varchar(max))",
    );
    for table in ["h", "c"] {
        quiet(
            &mut s,
            &format!(
                "DECLARE @i int = 0; WHILE @i < 9 BEGIN INSERT {table} VALUES (1, REPLICATE(CAST('w' AS varchar(max)), 9000)); SET @i += 1 END"
            ),
        );
    }
    assert_eq!(outside(&mut s, "c"), outside(&mut s, "h"));
    whole(&mut s);
}

/// What is rolled back is filled again: no page more each time.
#[test]
fn nothing_is_left_of_what_is_rolled_back() {
    let mut s = begin();
    quiet(
        &mut s,
        "CREATE TABLE h (a int, l varchar(max)); CREATE TABLE one (a int, l varchar(max))",
    );
    quiet(
        &mut s,
        "DECLARE @i int = 0; WHILE @i < 7 BEGIN INSERT one VALUES (@i, REPLICATE(CAST('w' AS varchar(max)), 9000)); SET @i += 1 END",
    );
    let load = "BEGIN TRAN; INSERT h SELECT a, l FROM one; SAVE TRAN x; INSERT h SELECT a + 10, l FROM one; ROLLBACK TRAN x; ROLLBACK";
    quiet(&mut s, load);
    let first = outside(&mut s, "h");
    for _ in 0..5 {
        quiet(&mut s, load);
    }
    let after = outside(&mut s, "h");
    assert!(after <= first + 1, "{first} pages, then {after}");
    quiet(&mut s, "INSERT h SELECT a, l FROM one");
    assert!(outside(&mut s, "h") <= first + 1);
    assert_eq!(
        quiet(&mut s, "SELECT COUNT(*), MIN(DATALENGTH(l)) FROM h")[1],
        "7 | 9000"
    );
    whole(&mut s);
}
