//! Merge joins: duplicates on both sides, NULL keys, every kind of join, and what a hash join says of the same.

use duramen_base::messages;
use duramen_query::spill::Workspace;

use crate::world;

/// l(id, name, dept) and r by the columns of emp, with duplicates of 1 and 2, NULLs, and keys of one side alone.
fn pairs() -> crate::toy::Toy {
    let toy = world();
    toy.text(
        "delete emp;
         insert emp values (1, N'a', 2, 1, 'x'), (2, N'b', 1, 2, 'X'), (3, N'c', NULL, 3, 'y'), (4, N'd', 1, 2, 'z'),
            (5, N'e', 7, NULL, NULL), (6, N'f', 2, 1, 'Y'), (7, N'g', NULL, 9, 'w'), (8, N'h', 1, 0, 'v')",
    );
    toy
}

/// The sorted rows of a join of emp with itself.
fn joined(kind: &str, on: &str, method: &str) -> Vec<String> {
    let sql = format!(
        "select a.id, b.id from (select * from emp where id <> 5) a {kind} join (select * from emp where id <> 2) b on {on} option ({method} join)"
    );
    let mut rows = pairs().run(&sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    rows.sort();
    rows
}

#[test]
fn every_kind_of_join_finds_what_hashing_finds() {
    for kind in ["inner", "left", "right", "full"] {
        for on in [
            "a.dept = b.dept",
            "a.dept = b.pay",
            "a.grade = b.grade",
            "a.dept = b.dept and a.id < b.id",
            "a.dept = b.dept and a.pay = b.pay",
            "a.id = b.id",
            "a.dept = b.dept and a.id > 100",
        ] {
            assert_eq!(
                joined(kind, on, "merge"),
                joined(kind, on, "hash"),
                "{kind} {on}"
            );
        }
    }
}

#[test]
fn duplicates_pair_with_duplicates_and_null_with_nothing() {
    assert_eq!(
        joined("inner", "a.dept = b.dept", "merge"),
        [
            "1|1", "1|6", "2|4", "2|8", "4|4", "4|8", "6|1", "6|6", "8|4", "8|8"
        ]
    );
    let full = joined("full", "a.dept = b.dept and a.id < b.id", "merge");
    assert_eq!(
        full,
        [
            "1|6", "2|4", "2|8", "3|NULL", "4|8", "6|NULL", "7|NULL", "8|NULL", "NULL|1", "NULL|3",
            "NULL|5", "NULL|7"
        ]
    );
}

#[test]
fn groups_larger_than_a_batch_come_out_whole() {
    let toy = world();
    toy.text("delete emp");
    for i in 0..300 {
        toy.text(&format!("insert emp values ({i}, N'', 1, 1, NULL)"));
    }
    assert_eq!(
        toy.text(
            "select count(*), count(distinct a.id * 1000 + b.id) from emp a join emp b on a.dept = b.dept option (merge join)"
        ),
        "90000|90000"
    );
}

/// Thousands of rows, in groups of all sizes: some go on over batches, and without memory through a file.
#[test]
fn batches_and_files_end_within_groups() {
    let mut toy = world();
    toy.text("delete emp");
    for i in 0..60 {
        toy.text(&format!("insert emp values ({i}, N'', 0, 0, NULL)"));
    }
    // 3,600 rows: dept 0..3 have about 900 each, pay 0..599 six each, grade as dept or NULL.
    toy.text("insert emp select 1000 + a.id * 60 + b.id, N'', (a.id * 60 + b.id) / 900, (a.id * 60 + b.id) % 600, NULL from emp a cross join emp b");
    toy.text("delete emp where id < 1000");
    let plenty = toy.workspace.clone();
    for kind in ["inner", "left", "right", "full"] {
        for on in [
            "a.pay = b.pay",
            "a.dept = b.dept and b.pay < 3",
            "a.dept = b.dept and a.pay < 4",
            "a.dept = b.dept + 2 and a.pay % 300 = 7",
            "a.dept = b.dept and a.pay = b.pay and a.id < b.id",
            "a.id = b.id + 1700",
        ] {
            let sql = |method: &str| {
                format!(
                    "select count(*), count(a.id), count(b.id), sum(a.id), sum(b.id), sum(a.id % 97 * (b.id % 89)) from emp a {kind} join emp b on {on} option ({method} join)"
                )
            };
            let expected = toy.text(&sql("hash"));
            assert_eq!(toy.text(&sql("merge")), expected, "{kind} {on}");
            toy.workspace = Workspace::with_floor(0, 0);
            assert_eq!(toy.text(&sql("merge")), expected, "tight: {kind} {on}");
            assert_eq!(toy.workspace.used(), 0);
            toy.workspace = plenty.clone();
        }
    }
}

#[test]
fn without_an_equality_there_is_nothing_to_merge_by() {
    for sql in [
        "select a.id from emp a join emp b on a.id < b.id option (merge join)",
        "select a.id from emp a left merge join emp b on a.id < b.id",
        "select a.id from emp a cross join emp b option (merge join)",
    ] {
        assert_eq!(
            world().fails(sql).number,
            messages::NO_PLAN_FOR_HINTS.number,
            "{sql}"
        );
    }
}
