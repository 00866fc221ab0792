//! Bulk loads count their rows for the database that they go to.

use duramen_access::cancel::CancelToken;
use duramen_base::SqlResult;
use duramen_program::text::TextSink;
use duramen_session::BulkSource;
use duramen_types::{SqlType, Value};

use crate::{instance, login, run};

/// So many rows of one int.
struct Numbers(i32);

impl BulkSource for Numbers {
    fn columns(&mut self) -> SqlResult<Vec<SqlType>> {
        Ok(vec![SqlType::INT])
    }

    fn row(&mut self) -> SqlResult<Option<Vec<Value>>> {
        self.0 -= 1;
        Ok((self.0 >= 0).then(|| vec![Value::Int(self.0)]))
    }
}

#[test]
fn rows_of_bulk_loads_are_counted() {
    let instance = instance();
    let mut s = login(&instance);
    run(&mut s, "CREATE DATABASE b");
    run(&mut s, "CREATE TABLE b.dbo.t (id int CHECK (id < 5))");
    let count = "SELECT RTRIM(instance_name), cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Bulk Copy Rows/sec' AND instance_name IN ('b', 'master', '_Total') ORDER BY 1";
    let before = run(&mut s, count);
    assert_eq!(before[1..], ["_Total | 0", "b | 0", "master | 0", "rows 3"]);
    for (rows, checked) in [(5, ""), (7, " WITH (CHECK_CONSTRAINTS)")] {
        run(&mut s, &format!("INSERT BULK b.dbo.t (id int){checked}"));
        let mut sink = TextSink::default();
        assert!(s.bulk_load(&mut Numbers(rows), &mut sink, &CancelToken::default()));
    }
    // The second load has failed: none of its rows are there.
    assert_eq!(run(&mut s, "SELECT COUNT(*) FROM b.dbo.t")[1], "5");
    let after = run(&mut s, count);
    assert_eq!(after[1..], ["_Total | 5", "b | 5", "master | 0", "rows 3"]);
}

#[test]
fn rows_are_held_to_the_order_that_is_announced() {
    let instance = instance();
    let mut s = login(&instance);
    run(
        &mut s,
        "CREATE TABLE down (id int NOT NULL, PRIMARY KEY (id DESC))",
    );
    run(
        &mut s,
        "CREATE TABLE up (id int PRIMARY KEY); CREATE TABLE heap (id int)",
    );
    let mut load = |insert: &str| {
        run(&mut s, insert);
        let mut sink = TextSink::default();
        assert!(s.bulk_load(&mut Numbers(3), &mut sink, &CancelToken::default()));
        sink.lines.join(" ")
    };
    // The rows come downwards.
    let up = load("INSERT BULK up (id int) WITH (ORDER (id))");
    assert!(
        up.contains("Msg 4819") && up.contains("first row: 2, primary key of second row: 1"),
        "{up}"
    );
    assert!(!load("INSERT BULK up (id int)").contains("Msg"));
    assert!(!load("INSERT BULK down (id int) WITH (ORDER (id DESC))").contains("Msg"));
    // Another order than the clustered key's says nothing.
    assert!(!load("INSERT BULK heap (id int) WITH (ORDER (id))").contains("Msg"));
}

#[test]
fn a_column_that_is_left_out_gets_its_default() {
    let instance = instance();
    let mut s = login(&instance);
    run(
        &mut s,
        "CREATE TABLE g (id int, g uniqueidentifier NOT NULL DEFAULT NEWSEQUENTIALID())",
    );
    run(&mut s, "INSERT BULK g (id int)");
    let mut sink = TextSink::default();
    assert!(s.bulk_load(&mut Numbers(3), &mut sink, &CancelToken::default()));
    assert_eq!(run(&mut s, "SELECT COUNT(DISTINCT g) FROM g")[1], "3");
}
