//! Whoever stops early gets a part of what whoever reads on gets: random queries under TOP, OFFSET ... FETCH, EXISTS and SET
//! ROWCOUNT, held against the same queries read to their end. The tables have more rows than a join seeks for before it
//! keeps its right side. `ROW_GOAL_SEED` and `ROW_GOAL_QUERIES` run it longer.

use std::collections::BTreeMap;

use duramen_os::random::Rng;

use super::*;

const TABLES: &str = "
    CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NOT NULL, b int NULL);
    CREATE TABLE u (id int NOT NULL PRIMARY KEY, a int NOT NULL, b int NULL);
    CREATE INDEX ua ON u (a);
    CREATE TABLE h (id int NOT NULL, a int NOT NULL, b int NULL);
    INSERT t SELECT value, value * 7919 % 1301, NULLIF(value % 5, 0) FROM GENERATE_SERIES(1, 1300);
    INSERT u SELECT value, value * 31 % 977, NULLIF(value % 7, 0) FROM GENERATE_SERIES(1, 1100);
    INSERT h SELECT value, value * 17 % 501, NULLIF(value % 3, 0) FROM GENERATE_SERIES(1, 600)";

fn of<'s>(rng: &mut Rng, all: &[&'s str]) -> &'s str {
    all[rng.below(all.len() as u64) as usize]
}

fn condition(rng: &mut Rng, name: &str) -> String {
    let n = rng.below(1300);
    match rng.below(9) {
        0 => format!("{name}.id > {n}"),
        1 => format!("{name}.a % 5 = {}", n % 5),
        2 => format!("{name}.b IS NULL"),
        3 => format!("{name}.a BETWEEN {} AND {n}", n / 2),
        4 => format!(
            "EXISTS (SELECT * FROM u AS e WHERE e.id = {name}.a AND e.b > {})",
            n % 8
        ),
        5 => format!(
            "{name}.id IN (SELECT i.a FROM h AS i WHERE i.b = {})",
            n % 3
        ),
        6 => format!(
            "{name}.id NOT IN (SELECT TOP ({}) i.id FROM t AS i ORDER BY i.id)",
            n / 3
        ),
        7 => format!("{name}.a < (SELECT MAX(m.b) FROM u AS m WHERE m.id = {name}.a) + {n}"),
        _ => "1 = 1".to_owned(),
    }
}

/// A query of two columns, `x` and `y`.
fn query(rng: &mut Rng, depth: u32) -> String {
    let (one, two) = (of(rng, &["t", "u", "h"]), of(rng, &["t", "u", "h"]));
    let on = of(
        rng,
        &[
            "p.id = q.id",
            "p.a = q.id",
            "p.id = q.a",
            "p.a = q.a AND p.b = q.b",
            "p.a = q.id + 1",
        ],
    );
    let (first, second) = (condition(rng, "p"), condition(rng, "p"));
    match rng.below(if depth == 0 { 5 } else { 11 }) {
        0 => format!("SELECT p.id AS x, p.a AS y FROM {one} AS p WHERE {first}"),
        1 => format!(
            "SELECT p.id AS x, q.id AS y FROM {one} AS p JOIN {two} AS q ON {on} WHERE {first} AND {second}"
        ),
        2 => format!(
            "SELECT p.id AS x, q.a AS y FROM {one} AS p LEFT JOIN {two} AS q ON {on} AND q.b > 1 WHERE {first}"
        ),
        3 => format!("SELECT DISTINCT p.a % 100 AS x, p.b AS y FROM {one} AS p WHERE {first}"),
        4 => format!("SELECT p.b AS x, COUNT(*) AS y FROM {one} AS p WHERE {first} GROUP BY p.b"),
        5 => format!(
            "SELECT x, y FROM ({}) AS l UNION ALL SELECT x, y FROM ({}) AS r",
            query(rng, depth - 1),
            query(rng, depth - 1)
        ),
        6 => format!(
            "SELECT x, y FROM ({}) AS l EXCEPT SELECT x, y FROM ({}) AS r",
            query(rng, depth - 1),
            query(rng, depth - 1)
        ),
        7 => format!(
            "SELECT x, y FROM ({}) AS l INTERSECT SELECT x, y FROM ({}) AS r",
            query(rng, depth - 1),
            query(rng, depth - 1)
        ),
        8 => format!(
            "SELECT p.id AS x, v.id AS y FROM {one} AS p CROSS APPLY (SELECT TOP ({}) w.id FROM u AS w WHERE w.a = p.a ORDER BY w.a, w.id) AS v WHERE {first}",
            1 + rng.below(3)
        ),
        9 => format!(
            "SELECT p.id AS x, ROW_NUMBER() OVER (ORDER BY p.a, p.id) AS y FROM {one} AS p WHERE {first}"
        ),
        _ => format!(
            "SELECT p.id AS x, s.y FROM {one} AS p JOIN ({}) AS s ON s.x = p.a WHERE {first}",
            query(rng, depth - 1)
        ),
    }
}

fn counted(rows: &[String]) -> BTreeMap<&str, i64> {
    let mut all = BTreeMap::new();
    for row in rows {
        *all.entry(row.as_str()).or_default() += 1;
    }
    all
}

/// The rows alone.
fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(session, sql);
    assert!(
        !lines.iter().any(|l| l.starts_with("Msg")),
        "{sql}: {lines:?}"
    );
    let reported = |l: &&String| !["(", "rows ", "Warning:"].iter().any(|w| l.starts_with(w));
    lines.iter().filter(reported).cloned().collect()
}

#[test]
fn whoever_stops_early_gets_a_part_of_the_whole() {
    let mut s = alone();
    run(&mut s, TABLES);
    let rng = &mut Rng::new(number_from("ROW_GOAL_SEED", 1));
    for _ in 0..number_from("ROW_GOAL_QUERIES", 25) {
        let inner = query(rng, 2);
        let ordered = rows(
            &mut s,
            &format!("SELECT x, y FROM ({inner}) AS z ORDER BY x, y"),
        );
        let all = counted(&ordered);
        let few = [1, 2, 10, 600, 900][rng.below(5) as usize].min(ordered.len().max(1));
        let past = (rng.below(1200) as usize).min(ordered.len());
        let end = ordered.len().min(past + few);

        let sql = format!("SELECT TOP ({few}) x, y FROM ({inner}) AS z ORDER BY x, y");
        assert_eq!(
            rows(&mut s, &sql),
            ordered[..few.min(ordered.len())],
            "{sql}"
        );
        let sql = format!(
            "SELECT x, y FROM ({inner}) AS z ORDER BY x, y OFFSET {past} ROWS FETCH NEXT {few} ROWS ONLY"
        );
        assert_eq!(rows(&mut s, &sql), ordered[past..end], "{sql}");
        let few = few.min(ordered.len());
        for (sql, n) in [
            (format!("SELECT TOP ({few}) x, y FROM ({inner}) AS z"), few),
            (
                format!("SET ROWCOUNT {few}; SELECT x, y FROM ({inner}) AS z; SET ROWCOUNT 0"),
                few,
            ),
            (
                format!("SELECT x, y FROM ({inner}) AS z WHERE EXISTS ({inner})"),
                ordered.len(),
            ),
        ] {
            if n == 0 {
                // Without a row the first line is all there is, and 0 lifts the limit.
                continue;
            }
            let some = rows(&mut s, &sql);
            assert_eq!(some.len(), n, "{sql}");
            for (row, n) in counted(&some) {
                assert!(
                    all.get(row).is_some_and(|m| n <= *m),
                    "{row} is not in the whole: {sql}"
                );
            }
        }
    }
}
