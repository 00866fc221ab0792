//! Bulk loads count their rows for the database that they go to.

use duramen_base::SqlResult;
use duramen_session::{BulkSource, CancelToken, TextSink};
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
