//! The operators over columns answer as the row operators do: random tables, expressions and queries, each run both ways.
//! Rows are compared as they come, those of joins and windows in any order. Of a query that meets several errors, which one it tells is not promised.

use std::sync::atomic::Ordering;

use duramen_planner::Binder;
use duramen_query::Cx;
use duramen_query::spill::Workspace;
use duramen_tsql::ast::StatementKind;
use duramen_tsql::{ParseOptions, parse_batch};
use duramen_types::{ConvertCtx, SqlType, Value, to_display};

use crate::toy::{Toy, ToyTable, all_rows, column};

/// xorshift64
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const COLUMNS: [&str; 12] = ["id", "k", "i", "s", "b", "f", "d", "m", "c", "n", "t", "z"];

fn world(dice: &mut Dice) -> Toy {
    let columns = || {
        vec![
            column("id", SqlType::INT, false),
            column("k", SqlType::TINYINT, true),
            column("i", SqlType::INT, true),
            column("s", SqlType::SMALLINT, true),
            column("b", SqlType::BIGINT, true),
            column("f", SqlType::FLOAT, true),
            column("d", SqlType::decimal(9, 2), true),
            column("m", SqlType::MONEY, true),
            column("c", SqlType::varchar(10), true),
            column("n", SqlType::nvarchar(10), true),
            column("t", SqlType::DATETIME, true),
            column("z", SqlType::BIT, true),
        ]
    };
    let toy = Toy {
        tables: vec![
            match dice.below(2) {
                0 => ToyTable::new("a", columns(), &[]),
                _ => ToyTable::keyed("a", columns(), &[8, 1], true),
            },
            match dice.below(3) {
                0 => ToyTable::new("b", columns(), &[0]),
                1 => ToyTable::keyed("b", columns(), &[1, 2], true),
                _ => ToyTable::keyed("b", columns(), &[8], true),
            },
        ],
        variables: vec![("@v", SqlType::INT, Value::Int(3))],
        workspace: Workspace::new(1 << 20),
        asked: Default::default(),
        given_up_at: Default::default(),
    };
    for (i, table) in ["a", "b"].into_iter().enumerate() {
        let claimed = [0, 1_000_000][dice.below(2)];
        toy.tables[i].claimed.store(claimed, Ordering::Relaxed);
        let rows = dice.below(30);
        for id in 0..rows {
            let values: Vec<&str> = vec![
                dice.of(&["0", "1", "2", "NULL"]),
                dice.of(&["0", "1", "-7", "40", "2147483647", "NULL"]),
                dice.of(&["0", "3", "-3", "32767", "NULL"]),
                dice.of(&["0", "5", "-5", "9223372036854775807", "NULL"]),
                dice.of(&["0", "-0.0", "1.5", "-2e10", "1e300", "NULL"]),
                dice.of(&["0", "1.25", "-9.99", "9999999.99", "NULL"]),
                dice.of(&["0", "1.5", "-3.0001", "922337203685477.58", "NULL"]),
                dice.of(&["'a'", "'A '", "'b'", "'ab'", "''", "'12'", "NULL"]),
                dice.of(&["N'a'", "N'A'", "N'æ'", "N'ae'", "N'7'", "NULL"]),
                dice.of(&["'2020-01-31'", "'1999-12-31 23:59'", "NULL"]),
                dice.of(&["0", "1", "NULL"]),
            ];
            toy.text(&format!(
                "insert {table} values ({id}, {})",
                values.join(", ")
            ));
        }
    }
    toy
}

/// A scalar expression over the columns of `from`.
fn scalar(dice: &mut Dice, from: &str, depth: usize) -> String {
    if depth == 0 || dice.below(4) == 0 {
        return match dice.below(5) {
            0 => dice
                .of(&[
                    "0",
                    "1",
                    "-2",
                    "3.5",
                    "2147483647",
                    "1e3",
                    "'a'",
                    "N'b'",
                    "NULL",
                    "@v",
                    "'x1'",
                ])
                .to_owned(),
            _ => format!("{from}.{}", dice.of(&COLUMNS)),
        };
    }
    let part = |dice: &mut Dice| scalar(dice, from, depth - 1);
    match dice.below(9) {
        0..=3 => {
            let op = dice.of(&["+", "-", "*", "/", "%", "&"]);
            format!("({} {op} {})", part(dice), part(dice))
        }
        4 => {
            let ty = dice.of(&[
                "int",
                "bigint",
                "smallint",
                "decimal(12,3)",
                "float",
                "varchar(8)",
                "bit",
                "money",
            ]);
            let how = dice.of(&["cast", "try_cast"]);
            format!("{how}({} as {ty})", part(dice))
        }
        5 => {
            let when = predicate(dice, from, depth - 1);
            format!(
                "case when {when} then {} else {} end",
                part(dice),
                part(dice)
            )
        }
        6 => format!("(- {})", part(dice)),
        7 => format!("isnull({}, {})", part(dice), part(dice)),
        _ => format!("nullif({}, {})", part(dice), part(dice)),
    }
}

fn predicate(dice: &mut Dice, from: &str, depth: usize) -> String {
    let depth = depth.min(2);
    match dice.below(8) {
        0..=3 => {
            let op = dice.of(&["=", "<>", "<", "<=", ">", ">="]);
            let (a, b) = (scalar(dice, from, depth), scalar(dice, from, depth));
            format!("{a} {op} {b}")
        }
        4 if depth > 0 => {
            let op = dice.of(&["and", "or"]);
            let (a, b) = (
                predicate(dice, from, depth - 1),
                predicate(dice, from, depth - 1),
            );
            format!("({a} {op} {b})")
        }
        5 if depth > 0 => format!("not ({})", predicate(dice, from, depth - 1)),
        6 => format!(
            "{} is {} null",
            scalar(dice, from, depth),
            dice.of(&["", "not"])
        ),
        7 => format!(
            "{from}.c {} like '{}'",
            dice.of(&["", "not"]),
            dice.of(&["a%", "_", "%b", ""])
        ),
        _ => format!(
            "{} {} in ({}, 1, {})",
            scalar(dice, from, depth),
            dice.of(&["", "not"]),
            scalar(dice, from, 0),
            scalar(dice, from, 0)
        ),
    }
}

fn query(dice: &mut Dice) -> String {
    let condition = match dice.below(3) {
        0 => String::new(),
        _ => format!("where {}", predicate(dice, "x", 2)),
    };
    match dice.below(9) {
        3 | 4 => return join(dice),
        5 => return sorted(dice),
        6 => return set(dice),
        7 => return numbered(dice),
        _ => {}
    }
    match dice.below(3) {
        0 => format!(
            "select {}, {} from a x {condition}",
            scalar(dice, "x", 3),
            scalar(dice, "x", 2)
        ),
        1 => {
            let keys = match dice.below(4) {
                0 => String::new(),
                1 => format!("x.{}", dice.of(&["c", "k", "i", "id", "d"])),
                2 if dice.below(3) == 0 => dice.of(&["x.k, x.c", "x.c, x.k"]).to_owned(),
                2 => format!("x.{}, x.{}", dice.of(&COLUMNS), dice.of(&COLUMNS)),
                _ => scalar(dice, "x", 1),
            };
            let by = if keys.is_empty() {
                String::new()
            } else {
                format!("group by {keys}")
            };
            format!("select {} from a x {condition} {by}", aggregates(dice))
        }
        _ => format!(
            "select k, count(*), max(y) from (select x.k, {} y from a x {condition}) z group by k",
            scalar(dice, "x", 2)
        ),
    }
}

fn join(dice: &mut Dice) -> String {
    let kind = dice.of(&["join", "left join", "right join", "full join"]);
    // Keys of one type and of two, one column and two, with a rest that is no equality.
    let mut on = match dice.below(4) {
        0 => "x.k = y.k".to_owned(),
        1 => format!("x.{} = y.{}", dice.of(&COLUMNS), dice.of(&COLUMNS)),
        2 => {
            let c = dice.of(&COLUMNS);
            format!("x.{c} = y.{c}")
        }
        _ => {
            let (c, d) = (dice.of(&COLUMNS), dice.of(&COLUMNS));
            format!("x.{c} = y.{c} and y.{d} = x.{d}")
        }
    };
    if dice.below(3) == 0 {
        on.push_str(&format!(" and {}", predicate(dice, "x", 1)));
    }
    if dice.below(4) == 0 {
        on.push_str(" and x.i < y.i");
    }
    let condition = match dice.below(3) {
        0 => format!("where {}", predicate(dice, "y", 1)),
        _ => String::new(),
    };
    let (left, right) = match dice.below(2) {
        0 => ("a", "b"),
        _ => ("b", "a"),
    };
    let how = dice.of(&["", "option (merge join)"]);
    match dice.below(2) {
        0 => format!(
            "select x.id, y.id, {} from {left} x {kind} {right} y on {on} {condition} {how}",
            scalar(dice, "y", 1)
        ),
        _ => format!(
            "select x.k, count(*), count(y.id) from {left} x {kind} {right} y on {on} {condition} group by x.k {how}"
        ),
    }
}

fn sorted(dice: &mut Dice) -> String {
    let order = |dice: &mut Dice| {
        format!(
            "{} {}, {} {}",
            dice.of(&COLUMNS),
            dice.of(&["", "desc"]),
            dice.of(&COLUMNS),
            dice.of(&["", "desc"])
        )
    };
    match dice.below(3) {
        0 => format!("select id, c, n from a order by {}", order(dice)),
        1 => format!(
            "select top {} id, {} e from a x order by {}",
            dice.below(20),
            scalar(dice, "x", 1),
            order(dice)
        ),
        _ => format!(
            "select count(*), max(id), min(c) from (select id, c from a order by {} offset {} rows fetch next {} rows only) z",
            order(dice),
            dice.below(9),
            1 + dice.below(9)
        ),
    }
}

fn set(dice: &mut Dice) -> String {
    let columns = format!("{}, {}", dice.of(&COLUMNS), dice.of(&COLUMNS));
    match dice.below(3) {
        0 => format!("select distinct {columns} from a"),
        _ => {
            let how = dice.of(&["union", "union all", "except", "intersect"]);
            format!("select {columns} from a {how} select {columns} from b")
        }
    }
}

fn numbered(dice: &mut Dice) -> String {
    let calls: Vec<String> = (0..1 + dice.below(2))
        .map(|i| {
            // A later window meets the rows in the order of the one before: it must not number rows that sort alike.
            let name = dice.of(&["rank", "dense_rank", "row_number"][..3 - i]);
            let partition = match dice.below(2) {
                0 => String::new(),
                _ => format!("partition by {}", dice.of(&COLUMNS)),
            };
            let (by, desc) = (dice.of(&COLUMNS), dice.of(&["", "desc"]));
            format!("{name}() over ({partition} order by {by} {desc})")
        })
        .collect();
    format!("select id, {} from a", calls.join(", "))
}

/// What runs row by row.
fn by_row(dice: &mut Dice) -> String {
    let (c, d) = (dice.of(&COLUMNS), dice.of(&COLUMNS));
    let join = dice.of(&["join", "left join", "right join", "full join"]);
    match dice.below(14) {
        0 => format!("select x.id, y.{c} from a x {join} b y on x.{d} < y.{d}"),
        1 => format!("select x.id, y.{c} from a x cross join b y"),
        2 => format!("select x.id, y.{c} from a x {join} b y on x.{c} = y.{c} and x.{d} <> y.{d}"),
        3 => {
            let apply = dice.of(&["cross", "outer"]);
            let inner = match dice.below(3) {
                0 => format!("select distinct y.{c} from b y where y.{d} = x.{d}"),
                1 => {
                    format!("select y.{c}, count(*) n from b y where y.{d} >= x.{d} group by y.{c}")
                }
                _ => {
                    format!("select top 3 y.{c} from b y where y.{d} <> x.{d} order by y.{d}, y.id")
                }
            };
            format!("select x.id, z.{c} from a x {apply} apply ({inner}) z")
        }
        4 => format!(
            "with r(n, v) as (select 1, {c} from a union all select n + 1, v from r where n < {}) select n, v from r",
            1 + dice.below(4)
        ),
        5 => format!(
            "select top {} percent id, {c} from a order by {d}, id",
            dice.below(101)
        ),
        6 => format!(
            "select id from a x where exists (select 1 from b y where y.{c} = x.{c} and y.{d} > x.{d})"
        ),
        7 => {
            let not = dice.of(&["", "not"]);
            format!(
                "select id from a x where {c} {not} in (select y.{c} from b y where y.{d} >= x.{d})"
            )
        }
        8 => {
            let not = dice.of(&["", "not"]);
            format!("select id from a where {c} {not} in (select {c} from b)")
        }
        9 => format!(
            "select id, (select count(distinct y.{c}) from b y where y.{d} <= x.{d}) from a x"
        ),
        10 => format!(
            "select {c}, string_agg(cast(id as varchar(9)), ',') within group (order by {d}, id) from a group by {c}"
        ),
        11 => format!(
            "select {c}, count(distinct {d}), count({d}), min({d}), max({d}) from a group by {c}"
        ),
        _ => {
            let partition = match dice.below(2) {
                0 => String::new(),
                _ => format!("partition by {}", dice.of(&COLUMNS)),
            };
            let calls: Vec<String> = (0..1 + dice.below(3))
                .map(|_| {
                    let (by, desc) = (dice.of(&COLUMNS), dice.of(&["", "desc"]));
                    let name = dice.of(&[
                        "rank()",
                        "row_number()",
                        "dense_rank()",
                        "ntile(3)",
                        "percent_rank()",
                        "cume_dist()",
                        "lag(id)",
                        "lead(id, 2, -1)",
                    ]);
                    let sum = dice.of(&["count(*)", "sum(i % 9)", "min(c)", "avg(d)", "count(n)"]);
                    let frame = dice.of(&[
                        "",
                        "rows unbounded preceding",
                        "range unbounded preceding",
                        "rows between 2 preceding and 1 following",
                        "rows between unbounded preceding and unbounded following",
                        "rows between current row and unbounded following",
                    ]);
                    match dice.below(4) {
                        0 => format!("{sum} over ({partition})"),
                        1 => format!("{sum} over ({partition} order by {by} {desc}, id {frame})"),
                        2 => format!("{sum} over ({partition} order by {by} {desc})"),
                        _ => format!("{name} over ({partition} order by {by} {desc})"),
                    }
                })
                .collect();
            format!("select id, {} from a", calls.join(", "))
        }
    }
}

fn aggregates(dice: &mut Dice) -> String {
    let one = |dice: &mut Dice| {
        let name = dice.of(&[
            "count",
            "sum",
            "avg",
            "min",
            "max",
            "var",
            "stdevp",
            "count_big",
        ]);
        let distinct = dice.of(&["", "", "", "distinct "]);
        format!("{name}({distinct}{})", scalar(dice, "x", 1))
    };
    format!("count(*), {}, {}", one(dice), one(dice))
}

/// Rows or the error, as text.
fn answer(toy: &Toy, sql: &str, row_by_row: bool) -> Option<String> {
    let parsed = parse_batch(sql, &ParseOptions::default()).expect(sql);
    let StatementKind::Select(select) = &parsed.statements[0].kind else {
        panic!("not a query: {sql}");
    };
    // Most random pairs of types are refused; that is not what is tested.
    let plan = Binder::new(toy).select(select).ok()?;
    let mut vars: Vec<Value> = toy.variables.iter().map(|v| v.2.clone()).collect();
    let mut cx = Cx::new(toy, &mut vars, ConvertCtx::default());
    cx.row_by_row = row_by_row;
    let rows = all_rows(&plan, &mut cx);
    let warned = cx.null_eliminated;
    Some(match rows {
        Err(e) => format!("error {} {} state {}", e.number, e.message, e.state),
        Ok(rows) => {
            let shown = rows.iter().map(|row| {
                let cells = row.iter().zip(&*plan.columns).map(|(v, c)| match v {
                    Value::Null => "NULL".to_owned(),
                    v => format!("{v:?}={}", to_display(v, &c.ty)),
                });
                cells.collect::<Vec<_>>().join("|")
            });
            let mut shown: Vec<String> = shown.collect();
            if sql.contains(" join ") || sql.contains(" over ") {
                shown.sort();
            }
            format!("{}\nwarned: {warned}", shown.join("\n"))
        }
    })
}

/// What finds no room goes to files, or the statement ends with 701; with a little memory everything does as with much.
#[test]
fn rows_answer_alike_with_and_without_memory() {
    let (mut answers, mut refused) = (0, 0);
    for seed in 1..150u64 {
        let mut dice = Dice(seed << 20 ^ 0x517c_c1b7_2722_0a95);
        let mut toy = world(&mut dice);
        for _ in 0..40 {
            let sql = by_row(&mut dice);
            let Some(expected) = answer(&toy, &sql, true) else {
                continue;
            };
            let floor = dice.of(&["0", "300", "3000"]).parse().unwrap();
            let plenty = std::mem::replace(&mut toy.workspace, Workspace::with_floor(0, floor));
            let tight = answer(&toy, &sql, true).unwrap_or_default();
            assert_eq!(toy.workspace.used(), 0, "seed {seed}: {sql}");
            toy.workspace = plenty;
            if tight.starts_with("error 701") {
                refused += 1;
                continue;
            }
            if expected.starts_with("error") && tight.starts_with("error") {
                continue;
            }
            let lines = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                if !sql.contains("percent") {
                    lines.sort();
                }
                lines
            };
            assert_eq!(lines(&tight), lines(&expected), "seed {seed}: {sql}");
            answers += 1;
        }
    }
    assert!(
        answers > 3000 && refused > 100,
        "{answers} answers, {refused} refused"
    );
}

#[test]
fn columns_answer_as_rows_do() {
    let (mut answers, mut errors) = (0, 0);
    for seed in 1..100u64 {
        let mut dice = Dice(seed << 20 ^ 0x9e37_79b9_7f4a_7c15);
        let mut toy = world(&mut dice);
        for _ in 0..40 {
            let sql = query(&mut dice);
            let Some(expected) = answer(&toy, &sql, true) else {
                continue;
            };
            let found = answer(&toy, &sql, false).unwrap_or_default();
            // The same without any memory: every operator writes what it keeps to files.
            let plenty = std::mem::replace(&mut toy.workspace, Workspace::with_floor(0, 0));
            let tight = answer(&toy, &sql, false).unwrap_or_default();
            let by_row = answer(&toy, &sql, true).unwrap_or_default();
            assert_eq!(toy.workspace.used(), 0, "seed {seed}: {sql}");
            toy.workspace = plenty;
            let ordered = sql.contains("order by") && !sql.contains(" over ");
            let lines = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                if !ordered {
                    lines.sort();
                }
                lines
            };
            for (tight, found) in [(&tight, &found), (&by_row, &expected)] {
                if !found.starts_with("error") || !tight.starts_with("error") {
                    assert_eq!(
                        lines(tight),
                        lines(found),
                        "without memory, seed {seed}: {sql}"
                    );
                }
            }
            match expected.starts_with("error") && found.starts_with("error") {
                true => errors += 1,
                false => {
                    assert_eq!(found, expected, "seed {seed}: {sql}");
                    answers += 1;
                }
            }
        }
    }
    assert!(
        answers > 400 && errors > 100,
        "{answers} answers, {errors} errors"
    );
}
