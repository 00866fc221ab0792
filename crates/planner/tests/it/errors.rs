use crate::world;

/// (number, line, a part of the text) of each failing statement.
fn check(cases: &[(&str, i32, i32, &str)]) {
    let toy = world();
    for (sql, number, line, part) in cases {
        let e = toy.fails(sql);
        assert_eq!((e.number, e.line), (*number, *line), "{sql}: {}", e.message);
        assert!(e.message.contains(part), "{sql}: {}", e.message);
    }
}

#[test]
fn names() {
    check(&[
        (
            "with x as (select 1 as a union all select a + 1 from x) select * from x",
            530,
            0,
            "100",
        ),
        ("select\n nope from emp", 207, 2, "'nope'"),
        ("select 1\nfrom nope", 208, 2, "'nope'"),
        ("select e.nope from emp e", 207, 1, "'nope'"),
        ("select x.id from emp e", 4104, 1, "\"x.id\""),
        ("select emp.id from emp e", 4104, 1, "\"emp.id\""),
        (
            "select e.id from emp e join dept d on d.id = e.dept\norder by name",
            209,
            2,
            "'name'",
        ),
        ("select id from emp a join dept b on 1 = 1", 209, 1, "'id'"),
        (
            "select a.id from dept a, emp e join dept d on a.id = d.id",
            4104,
            1,
            "\"a.id\"",
        ),
        ("select @nope", 137, 1, "\"@nope\""),
        ("select nope(1)", 195, 1, "'nope'"),
        ("select id from emp order by 2", 108, 1, "2"),
        ("select 1 from emp e, dept e", 1011, 1, "'e'"),
        ("select * from (select 1) x", 8155, 1, "'x'"),
        ("select * from (select 1 as a, 2 as a) x", 8156, 1, "'a'"),
        ("select json_value('{}', '$')", 40517, 1, "'JSON_VALUE'"),
        ("insert emp (id, nope) values (1, 2)", 207, 1, "'nope'"),
        ("update emp set\nnope = 1", 207, 2, "'nope'"),
        ("delete nope", 208, 1, "'nope'"),
    ]);
}

#[test]
fn aggregates() {
    check(&[
        ("select id, count(*) from emp", 8120, 1, "'emp.id'"),
        (
            "select dept,\n name from emp group by dept",
            8120,
            1,
            "'emp.name'",
        ),
        (
            "select dept from emp group by dept having name = 'x'",
            8121,
            1,
            "'emp.name'",
        ),
        (
            "select dept from emp group by dept order by name",
            8127,
            1,
            "\"emp.name\"",
        ),
        ("select id from emp where count(*) > 1", 147, 1, ""),
        ("select sum(count(*)) from emp", 130, 1, ""),
        ("select sum(name) from emp", 8117, 1, "nvarchar"),
        ("select distinct id from emp order by name", 145, 1, ""),
        ("select (select id, name from emp)", 116, 1, ""),
        ("select (select id from emp)", 512, 0, ""),
    ]);
}

#[test]
fn values_that_do_not_fit() {
    check(&[
        ("insert dept values (null, 'x')", 515, 0, "'toy.dbo.dept'"),
        ("insert dept (name) values ('x')", 515, 0, "'id'"),
        ("update dept set name = null", 515, 0, "UPDATE fails"),
        (
            "insert dept values (9, 'much too long')",
            2628,
            0,
            "'much too l'",
        ),
        ("insert dept (id, name) values (1, 'x', 2)", 110, 1, ""),
        ("insert dept (id, name) values (1)", 109, 1, ""),
        ("insert dept values (1)", 213, 1, ""),
        ("insert dept (id, name) select 1", 120, 1, ""),
        ("insert log (id, n) values (1, 1)", 544, 1, "'log'"),
        ("insert log (n) values (100000)", 220, 0, ""),
        ("insert log (n) values ('x')", 245, 0, "'x'"),
        ("update log set id = 1", 8102, 1, "'id'"),
        ("update dept set id = 1, id = 2", 264, 1, "'id'"),
        ("insert dept (id, id) values (1, 2)", 264, 1, "'id'"),
        ("select 1 / 0", 8134, 0, ""),
        ("select cast('x' as int)", 245, 0, "'x'"),
        ("select 1 union select 1, 2", 205, 1, ""),
    ]);
}
