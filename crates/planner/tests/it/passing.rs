//! Rows on their way are cut by bytes, and the workspace is told of them.

use duramen_planner::Binder;
use duramen_query::Cx;
use duramen_query::host::Table;
use duramen_tsql::ast::StatementKind;
use duramen_tsql::{ParseOptions, parse_batch};
use duramen_types::ConvertCtx;

use super::*;

const ROWS: usize = 200;
const WIDE: usize = 3500;
/// A batch, with the row that fills it.
const MOST: usize = (64 << 10) + 2 * WIDE;

/// Joins by row and scans by column: `how many` rows went on together at most, and how many bytes the workspace was told of.
fn passed(toy: &Toy, sql: &str) -> (usize, usize) {
    let Some(StatementKind::Select(stmt)) = parse_batch(sql, &ParseOptions::default())
        .expect("it is a batch")
        .statements
        .pop()
        .map(|s| s.kind)
    else {
        panic!("{sql} is no SELECT");
    };
    let plan = Binder::new(toy).select(&stmt).expect("it can be bound");
    let mut vars = Vec::new();
    let mut cx = Cx::new(toy, &mut vars, ConvertCtx::default());
    let mut rows = plan.start(&mut cx).expect("it starts");
    let (mut together, mut reported) = (0, 0);
    while let Some(batch) = rows.next(&mut cx).expect("it goes on") {
        together = together.max(batch.len());
        reported = reported.max(toy.workspace.used());
    }
    drop(rows);
    assert_eq!(toy.workspace.used(), 0, "{sql}: something stays");
    (together, reported)
}

fn wide() -> Toy {
    let columns = vec![
        column("id", SqlType::INT, false),
        column("pad", SqlType::varchar(4000), true),
        column("n", SqlType::INT, true),
    ];
    let mut toy = world();
    let table = ToyTable::new("wide", columns, &[]);
    toy.tables.push(table.clone());
    let mut vars = Vec::new();
    let mut cx = Cx::new(&toy, &mut vars, ConvertCtx::default());
    for id in 0..ROWS {
        let row = vec![
            Value::Int(id as i32),
            Value::VarChar(vec![b'w'; WIDE]),
            Value::Int(1),
        ];
        table.insert(row, &mut cx).expect("it is put in");
    }
    toy.workspace = Workspace::new(1 << 30);
    toy
}

#[test]
fn wide_rows_go_on_by_few_and_are_told_of() {
    let toy = wide();
    for sql in [
        "SELECT TOP 1000 a.id, a.pad FROM wide a",
        "SELECT a.id, a.pad FROM wide a CROSS JOIN (VALUES (1), (2)) AS two (n)",
        "SELECT TOP 1000 a.id, b.pad FROM wide a JOIN wide b ON b.id = a.id",
        "SELECT a.id, b.pad FROM (VALUES (1), (2)) AS two (n) CROSS APPLY (SELECT TOP 500 * FROM wide WHERE n <= two.n) AS b \
         CROSS JOIN (VALUES (1)) AS a (id)",
        "SELECT id, pad FROM wide ORDER BY pad, id",
    ] {
        let (together, reported) = passed(&toy, sql);
        assert!(together * WIDE <= MOST, "{sql}: {together} rows together");
        assert!(reported > 0, "{sql}: nobody is told");
    }
    // Narrow rows go on as many as there may be, and nobody is told.
    let sql = "SELECT TOP 1000 a.n, a.id FROM (SELECT id, n FROM wide) AS a";
    assert!(passed(&toy, sql).0 <= 256, "{sql}");
}
