//! Table types: table-valued parameters from clients, from T-SQL, and what is wrong with them.

use duramen_os::sim::SimDisk;
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_types::{SqlType, Value};

use crate::faults::{Stack, run};
use crate::replies::{TEXT, batch, call};

fn row(n: i32, s: &str) -> Vec<Value> {
    vec![Value::Int(n), Value::nvarchar(s)]
}

#[test]
fn tables_go_into_procedures() {
    let stack = Stack::over(SimDisk::new(1));
    let mut client = stack.connect();
    run(
        &mut client,
        "CREATE TYPE dbo.pairs AS TABLE (n int NOT NULL PRIMARY KEY, s varchar(5) NULL DEFAULT 'd')",
    );
    run(&mut client, "CREATE TYPE other AS TABLE (n int)");
    run(
        &mut client,
        "CREATE PROCEDURE p @a int, @t pairs READONLY AS SELECT @a AS a, COUNT(*) AS c, MAX(s) AS s FROM @t",
    );
    // T-SQL.
    let sql =
        "DECLARE @v pairs, @x int = 3; INSERT @v (n) VALUES (1), (2); EXEC p @x, @v; EXEC p @a = 4";
    let reply = batch(&mut client, sql);
    let rows: Vec<&String> = reply.iter().filter(|t| t.starts_with("row")).collect();
    assert_eq!(rows, ["row 3,2,d", "row 4,0,Null"]);
    for (sql, number) in [
        ("DECLARE @v other; EXEC p 1, @v", "error 206"),
        (
            "DECLARE @v TABLE (n int, s varchar(5)); EXEC p 1, @v",
            "error 206",
        ),
        ("EXEC p 1, 5", "error 206"),
        ("DECLARE @v pairs; EXEC p @v, @v", "error 206"),
        (
            "CREATE PROCEDURE q @t pairs READONLY AS DELETE @t",
            "error 10700",
        ),
        ("CREATE PROCEDURE q @t pairs AS SELECT 1", "error 352"),
        (
            "CREATE PROCEDURE q @t int READONLY AS SELECT 1",
            "error 346",
        ),
        ("DECLARE @v nosuch", "error 2715"),
        ("CREATE TYPE pairs AS TABLE (a int)", "error 219"),
        ("DROP TYPE nosuch", "error 3701"),
    ] {
        let reply = batch(&mut client, sql);
        assert!(reply[0].starts_with(number), "{sql}: {reply:?}");
    }

    // From a client: with and without the type's name, NULL, empty, defaults.
    let pairs = [SqlType::INT, SqlType::nvarchar(40)];
    let int = |b: CallBuilder| {
        b.parameter("@a", false, &SqlType::INT, &Value::Int(1))
            .unwrap()
    };
    for (name, rows, reported) in [
        ("pairs", Some(vec![row(1, "x"), row(2, "z")]), "row 1,2,z"),
        ("", Some(vec![row(1, "x")]), "row 1,1,x"),
        ("PAIRS", Some(Vec::new()), "row 1,0,Null"),
        ("pairs", None, "row 1,0,Null"),
    ] {
        let reply = call(&mut client, |b| {
            int(b.named("p"))
                .table("@t", ("", name), &pairs, rows.as_deref())
                .unwrap()
        });
        assert_eq!(reply[1], reported, "{name} {rows:?}");
    }
    for (name, columns, rows, number) in [
        (
            "pairs",
            &pairs[..],
            vec![row(1, "x"), row(1, "y")],
            "error 2627",
        ),
        (
            "pairs",
            &pairs,
            vec![vec![Value::Null, Value::Null]],
            "error 515",
        ),
        ("pairs", &pairs, vec![row(1, "too long")], "error 2628"),
        ("pairs", &pairs[..1], vec![vec![Value::Int(1)]], "error 500"),
        ("other", &pairs[..1], vec![vec![Value::Int(1)]], "error 206"),
    ] {
        let reply = call(&mut client, |b| {
            int(b.named("p"))
                .table("@t", ("dbo", name), columns, Some(&rows))
                .unwrap()
        });
        assert!(reply[0].starts_with(number), "{name} {rows:?}: {reply:?}");
        assert_eq!(reply.last().unwrap(), "doneproc E0 error");
    }

    // sp_executesql, and the type changes under a statement that is kept.
    let many: Vec<Vec<Value>> = (0..3000).map(|n| row(n, "w")).collect();
    for sql in [
        None,
        Some(
            "DROP PROCEDURE p; DROP TYPE pairs; CREATE TYPE pairs AS TABLE (m bigint, s nvarchar(max))",
        ),
    ] {
        if let Some(sql) = sql {
            run(&mut client, sql);
        }
        let reply = call(&mut client, |b| {
            b.procedure(ProcId::ExecuteSql)
                .parameter(
                    "",
                    false,
                    &TEXT,
                    &Value::nvarchar("SELECT COUNT(*) AS c FROM @t"),
                )
                .unwrap()
                .parameter("", false, &TEXT, &Value::nvarchar("@t dbo.pairs READONLY"))
                .unwrap()
                .table("@t", ("dbo", "pairs"), &pairs, Some(&many))
                .unwrap()
        });
        assert_eq!(reply[1], "row 3000");
    }
    assert_eq!(
        batch(&mut client, "DECLARE @v pairs; SELECT m FROM @v")[0],
        "columns m"
    );
    stack.close();
}
