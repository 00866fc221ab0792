//! Rows that come in order: groups without hashing, joins without hashing, no sort above them.

use std::sync::atomic::Ordering;

use duramen_observe::events::{EventId, EventRing, EventValue};
use duramen_os::sim::Simulation;
use duramen_planner::{Binder, showplan};
use duramen_query::spill::Workspace;
use duramen_tsql::ast::StatementKind;
use duramen_tsql::{ParseOptions, parse_batch};
use duramen_types::{SqlType, Value};

use crate::toy::{Toy, ToyTable, column};

/// t(k, i, c) by k and i, u by c; 3,000 rows each with duplicates and NULLs.
fn world() -> Toy {
    let columns = || {
        vec![
            column("k", SqlType::INT, true),
            column("i", SqlType::INT, true),
            column("c", SqlType::varchar(10), true),
        ]
    };
    let toy = Toy {
        tables: vec![
            ToyTable::keyed("t", columns(), &[0, 1], true),
            ToyTable::keyed("u", columns(), &[2], true),
        ],
        variables: vec![("@n", SqlType::INT, Value::Int(2))],
        workspace: Workspace::new(1 << 20),
        asked: Default::default(),
        given_up_at: Default::default(),
    };
    for i in 0..10 {
        toy.text(&format!("insert t values ({i}, {i}, NULL)"));
    }
    let numbers = "select a.k + b.k * 10 + c.k * 100 n, d.k from t a cross join t b cross join t c cross join t d where d.k < 3";
    toy.text(&format!(
        "insert u select nullif(n % 17, 5), n % 5, case when n % 13 > 0 then 'w' + cast(n % 700 as varchar(9)) end from ({numbers}) x"
    ));
    toy.text("delete t");
    toy.text("insert t select k, i, c from u");
    for table in &toy.tables {
        table.claimed.store(3_000, Ordering::Relaxed);
    }
    toy
}

fn plan(toy: &Toy, sql: &str) -> String {
    let parsed = parse_batch(sql, &ParseOptions::default()).expect(sql);
    let StatementKind::Select(select) = &parsed.statements[0].kind else {
        panic!("not a query: {sql}");
    };
    let plan = Binder::new(toy).select(select).expect(sql);
    let lines = showplan::lines(&plan, &[]);
    let names: Vec<&str> = lines.iter().map(|l| l.physical).collect();
    names.join(" ")
}

#[test]
fn groups_come_in_the_order_of_a_key() {
    let mut toy = world();
    for (sql, streams) in [
        ("select k, count(*), sum(i) from t group by k", true),
        ("select i, k, count(*) from t group by i, k", true),
        ("select k, count(*) from t where k = 3 group by k", true),
        ("select i, count(*) from t where k = 3 group by i", true),
        ("select c, count(*), max(k) from u group by c", true),
        ("select i, count(*) from t group by i", false),
        ("select k, c, count(*) from t group by k, c", false),
    ] {
        let found = plan(&toy, sql);
        assert_eq!(
            found.contains("Stream Aggregate"),
            streams,
            "{sql}: {found}"
        );
        // The same groups as without the order.
        let lines = |toy: &Toy, sql: &str| {
            let mut lines = toy.run(sql).expect(sql);
            lines.sort();
            lines
        };
        let hashed = sql
            .replace(" group by k", " group by k + 0")
            .replace(" group by c", " group by c + ''");
        if !sql.contains("group by i") && !sql.contains(", c ") && !sql.contains("select k, c") {
            let hashed = hashed
                .replace("select k,", "select k + 0,")
                .replace("select c,", "select c + '',");
            assert_eq!(lines(&toy, sql), lines(&toy, &hashed), "{sql}");
        }
        let plenty = std::mem::replace(&mut toy.workspace, Workspace::with_floor(0, 0));
        let tight = lines(&toy, sql);
        toy.workspace = plenty;
        assert_eq!(tight, lines(&toy, sql), "{sql}");
    }
}

/// In a world of its own, where nobody else's operators are heard.
#[test]
fn operators_without_memory_tell_of_it() {
    Simulation::new(1).run(|_| {
        let mut toy = world();
        let ring = EventRing::start(&[EventId::SortWarning, EventId::HashWarning], 1000);
        for (sql, event) in [
            ("select i from u order by i, k", "sort_warning"),
            (
                "select i + 0, count(*) from u group by i + 0",
                "hash_warning",
            ),
            ("select distinct i + 0 from u", "hash_warning"),
            (
                "select count(*) from t join u on t.i + 0 = u.i + 0",
                "hash_warning",
            ),
        ] {
            toy.text(sql);
            assert!(ring.drain().is_empty(), "{sql}: there was room");
            let plenty = std::mem::replace(&mut toy.workspace, Workspace::with_floor(0, 0));
            toy.text(sql);
            toy.workspace = plenty;
            let reported = ring.drain();
            let first = reported.first().expect("a warning");
            assert_eq!(first.id.name(), event, "{sql}");
            if event == "hash_warning" {
                let levels = reported.iter().filter_map(|e| e.value("recursion_level"));
                let levels: Vec<_> = levels.collect();
                assert_eq!(levels[0], &EventValue::Unsigned(0), "{sql}");
                // What was written is too much for no memory at all, too.
                assert!(levels.contains(&&EventValue::Unsigned(1)), "{sql}");
            } else {
                assert_eq!(reported.len(), 1, "{sql}");
            }
        }
    });
}

#[test]
fn sorts_are_saved() {
    let toy = world();
    for (sql, sorts) in [
        ("select k, count(*) from t group by k order by k", false),
        (
            "select k, count(*) from t group by k order by k desc",
            false,
        ),
        (
            "select i, k, count(*) from t group by i, k order by k, i",
            false,
        ),
        (
            "select i, k, count(*) from t group by i, k order by i, k",
            true,
        ),
        (
            "select k, count(*) n from t group by k having count(*) > 1 order by k",
            false,
        ),
        ("select k, count(*) n from t group by k order by n", true),
    ] {
        let found = plan(&toy, sql);
        assert_eq!(found.contains("Sort"), sorts, "{sql}: {found}");
        let rows = toy.run(sql).expect(sql);
        let keys: Vec<(i64, i64)> = rows
            .iter()
            .map(|r| {
                let mut cells = r.split('|').map(|c| c.parse().unwrap_or(-1));
                (cells.next().unwrap_or(-1), cells.next().unwrap_or(-1))
            })
            .collect();
        let mut sorted = keys.clone();
        match sql.rsplit("order by ").next() {
            Some("k") => sorted.sort_by_key(|k| k.0),
            Some("k desc") => sorted.sort_by_key(|k| -k.0),
            Some("k, i") => sorted.sort_by_key(|k| (k.1, k.0)),
            Some("i, k") => sorted.sort_by_key(|k| (k.0, k.1)),
            _ => sorted.sort_by_key(|k| k.1),
        }
        assert_eq!(keys, sorted, "{sql}");
    }
}

#[test]
fn lists_and_prefixes_are_sought_for_changes_too() {
    let toy = world();
    let seeks = |sql: &str| {
        let before = toy.tables[0].seeks() + toy.tables[1].seeks();
        let reported = toy.text(sql);
        (
            reported,
            toy.tables[0].seeks() + toy.tables[1].seeks() - before,
        )
    };
    let (all, _) = seeks("select count(*) from u where c + '' like 'w12%'");
    let (some, sought) = seeks("select count(*) from u where c like 'w12%'");
    assert_eq!((&some, sought), (&all, 1));
    let (expected, _) = seeks("select count(*) from t where k + 0 in (3, 7, 11)");
    let (_, sought) = seeks("delete t where k in (3, 7, 11, 7, null)");
    assert_eq!(sought, 3);
    assert_ne!(expected, "0");
    assert_eq!(
        seeks("select count(*) from t where k + 0 in (3, 7, 11)").0,
        "0"
    );
    let (_, sought) = seeks("update t set i = i + 1000 where k = 1 or k = 2");
    assert_eq!(sought, 2);
    let changed = seeks("select count(*) from t where i + 0 >= 1000").0;
    assert_eq!(
        changed,
        seeks("select count(*) from t where k + 0 in (1, 2)").0
    );
}

/// More runs than are merged at a time.
#[test]
fn a_sort_of_many_runs_is_merged_in_passes() {
    let mut toy = Toy {
        tables: vec![
            ToyTable::new("d", vec![column("n", SqlType::INT, false)], &[]),
            ToyTable::new(
                "t",
                vec![
                    column("id", SqlType::INT, false),
                    column("k", SqlType::INT, false),
                ],
                &[],
            ),
        ],
        variables: vec![],
        workspace: Workspace::new(1 << 28),
        asked: Default::default(),
        given_up_at: Default::default(),
    };
    let digits: Vec<String> = (0..42).map(|n| format!("({n})")).collect();
    toy.text(&format!("insert d values {}", digits.join(", ")));
    toy.text(
        "insert t select a.n * 1764 + b.n * 42 + c.n, (a.n * 1764 + b.n * 42 + c.n) * 7919 % 1009
         from d a cross join d b cross join d c",
    );
    toy.tables[1].claimed.store(1_000_000, Ordering::Relaxed);
    let sql = "select k, id from t order by k";
    let found = toy.text(sql);
    toy.workspace = Workspace::with_floor(0, 0);
    let rows = toy.run(sql).unwrap();
    assert_eq!(rows.len(), 42 * 42 * 42);
    assert_eq!(rows.join(" "), found);
}
