use crate::world;

/// Each query beside its rows.
fn check(cases: &[(&str, &str)]) {
    let toy = world();
    for (sql, expected) in cases {
        assert_eq!(toy.text(sql), *expected, "{sql}");
    }
}

#[test]
fn where_and_order() {
    check(&[
        (
            "select id, name from emp where dept = 1 order by name desc",
            "2|bob 1|ann",
        ),
        ("select id from emp where pay > 10.5", "2 3"),
        ("select id from emp where pay >= 10.5 and pay < 30", "1 2"),
        ("select id from emp where grade = 'A'", "1 3"),
        (
            "select id from emp where grade = 'A' collate Latin1_General_BIN",
            "",
        ),
        (
            "select id from emp where 'A' collate Latin1_General_CS_AS = grade",
            "",
        ),
        (
            "select id from emp where 'A' = grade collate Latin1_General_BIN",
            "",
        ),
        (
            "select e.id from emp e join emp f on e.grade = f.grade collate Latin1_General_BIN where f.id = 3",
            "1 3",
        ),
        ("select choose(2, 'a', 'b'), choose(3, 1, 2)", "b|NULL"),
        (
            "select id from emp where name like N'%a%' order by 1",
            "1 4",
        ),
        ("select id from emp where grade = 'a'", "1 3"),
        (
            "select id from emp where grade in ('b', 'c') or dept is null",
            "2 4",
        ),
        ("select id from emp where id between 2 and 3", "2 3"),
        ("select id from emp where id not between 2 and 3", "1 4"),
        ("select id as x from emp order by x desc", "4 3 2 1"),
        ("select id from emp order by pay, id", "4 1 2 3"),
        ("select id from emp where id = @n", "2"),
        ("select id from emp where id like '%3'", "3"),
        ("select id from emp order by dept desc, -id", "3 2 1 4"),
    ]);
}

#[test]
fn top_and_offset() {
    check(&[
        ("select top 2 id from emp order by id desc", "4 3"),
        ("select top (@n) id from emp", "1 2"),
        ("select top 50 percent id from emp order by id", "1 2"),
        (
            "select top 1 with ties dept from emp where dept is not null order by dept",
            "1 1",
        ),
        ("select top 0 id from emp", ""),
        (
            "select id from emp order by id offset 1 rows fetch next 2 rows only",
            "2 3",
        ),
    ]);
}

#[test]
fn three_valued_logic() {
    check(&[
        ("select id from emp where dept = 1 or dept <> 1", "1 2 3"),
        ("select id from emp where not (dept = 1)", "3"),
        ("select id from emp where dept = null", ""),
        ("select id from emp where id in (1, null)", "1"),
        ("select id from emp where id not in (1, null)", ""),
        (
            "select id from emp where id not in (select dept from emp)",
            "",
        ),
        (
            "select id from emp where id not in (select dept from emp where dept is not null)",
            "3 4",
        ),
        (
            "select case when null = null then 1 when not (null = 1) then 2 else 3 end",
            "3",
        ),
    ]);
}

#[test]
fn groups() {
    check(&[
        (
            "select dept, count(*), sum(pay) from emp group by dept order by dept",
            "NULL|1|NULL 1|2|30.50 2|1|30.25",
        ),
        (
            "select dept from emp group by dept having count(*) > 1",
            "1",
        ),
        (
            "select count(*), count(pay), avg(id), min(name), max(pay) from emp",
            "4|3|2|ann|30.25",
        ),
        ("select count(*), sum(id) from emp where id > 99", "0|NULL"),
        ("select count(distinct grade) from emp", "2"),
        (
            "select dept + 1, count(*) from emp group by dept + 1 order by 1",
            "NULL|1 2|2 3|1",
        ),
        ("select distinct dept from emp order by dept", "NULL 1 2"),
        (
            "select grade, count(*) as n from emp where grade is not null group by grade order by n desc",
            "a  |2 b  |1",
        ),
        (
            "select sum(pay) / count(*) from emp where dept = 1",
            "15.250000",
        ),
    ]);
}

#[test]
fn a_subquery_beside_groups_sees_the_row_outside() {
    check(&[
        (
            "select dept, (select name from dept d where d.id = e.dept), count(*) from emp e group by dept order by dept",
            "NULL|NULL|1 1|build|2 2|sell|1",
        ),
        (
            "select e.dept from emp e group by e.dept having exists (select * from dept d where d.id = e.dept and d.name = 'sell')",
            "2",
        ),
        (
            "select count(*), (select max(id) from dept) from emp where 1 = 0",
            "0|3",
        ),
    ]);
}

#[test]
fn joins() {
    check(&[
        (
            "select e.name, d.name from emp e join dept d on e.dept = d.id order by e.id",
            "ann|build bob|build cid|sell",
        ),
        (
            "select e.id, d.name from emp e left join dept d on d.id = e.dept order by e.id",
            "1|build 2|build 3|sell 4|NULL",
        ),
        (
            "select e.id, d.id from emp e right join dept d on d.id = e.dept order by d.id, e.id",
            "1|1 2|1 3|2 NULL|3",
        ),
        (
            "select e.id, d.id from emp e full join dept d on d.id = e.dept order by d.id, e.id",
            "4|NULL 1|1 2|1 3|2 NULL|3",
        ),
        (
            "select e.id, d.id from emp e join dept d on e.id < d.id order by 1, 2",
            "1|2 1|3 2|3",
        ),
        (
            "select e.id, d.id from emp e left join dept d on d.id > e.id and d.name = 'idle' order by 1",
            "1|3 2|3 3|NULL 4|NULL",
        ),
        ("select count(*) from emp cross join dept", "12"),
        (
            "select e.id from emp e, dept d where e.dept = d.id and d.name = 'build'",
            "1 2",
        ),
        // Columns of an ON count from its own join, not from the whole FROM.
        (
            "select a.id, e.id, d.id from dept a, emp e join dept d on e.dept = d.id where a.id = 3 order by 2",
            "3|1|1 3|2|1 3|3|2",
        ),
        (
            "select a.id, e.id from dept a left join (emp e join dept d on e.dept = d.id) on d.id = a.id order by 1, 2",
            "1|1 1|2 2|3 3|NULL",
        ),
        // The condition above the join must not filter before it.
        (
            "select e.id from emp e left join dept d on d.id = e.dept where d.id is null",
            "4",
        ),
        (
            "select a.id, b.id from emp a join emp b on a.dept = b.dept and a.id < b.id",
            "1|2",
        ),
    ]);
}

#[test]
fn set_operations() {
    check(&[
        (
            "select dept from emp union select id from dept order by 1",
            "NULL 1 2 3",
        ),
        ("select 1 union all select 1", "1 1"),
        ("select id from dept except select dept from emp", "3"),
        ("select id from dept intersect select dept from emp", "1 2"),
        ("select 'a' union all select null", "a NULL"),
        ("select null union all select 'a'", "NULL a"),
        ("select 1 union all select 2.5 order by 1 desc", "2.5 1.0"),
    ]);
}

#[test]
fn subqueries() {
    check(&[
        ("select (select max(id) from dept), 7", "3|7"),
        (
            "select id from emp where dept in (select id from dept where name = 'sell')",
            "3",
        ),
        (
            "select id from dept d where exists (select 1 from emp where dept = d.id)",
            "1 2",
        ),
        (
            "select id from dept d where not exists (select 1 from emp e where e.dept = d.id)",
            "3",
        ),
        (
            "select id, (select count(*) from emp e where e.dept = d.id) from dept d",
            "1|2 2|1 3|0",
        ),
        (
            "select x.n from (select dept, count(*) as n from emp group by dept) x where x.dept = 1",
            "2",
        ),
        (
            "select x.a, x.b from (values (1, 'x'), (2, 'y')) x(a, b) where x.a = 2",
            "2|y",
        ),
        // Two levels out, through a subquery that looks at nothing itself.
        (
            "select id from dept d where 0 < (select count(*) from emp e where exists
                (select 1 from emp f where f.dept = d.id and f.id = e.id))",
            "1 2",
        ),
        // The inner one is correlated, the outer is not.
        (
            "select id from emp where id in (select e.id from emp e where e.pay = (select max(pay) from emp f where f.dept = e.dept))",
            "2 3",
        ),
        (
            "select d.id, (select max(x.p) from (select e.pay as p from emp e where e.dept = d.id) x) from dept d",
            "1|20.00 2|30.25 3|NULL",
        ),
        ("select 1 where exists (select * from emp where 1 = 0)", ""),
    ]);
}

#[test]
fn ctes() {
    check(&[
        (
            "with x as (select id from emp where id > 2) select * from x",
            "3 4",
        ),
        (
            "with x(a) as (select id from dept), y as (select a + 1 as b from x) select sum(b) from y",
            "9",
        ),
        ("with emp as (select 5 as five) select five from emp", "5"),
    ]);
}

#[test]
fn case_and_conversions() {
    check(&[
        (
            "select case id when 1 then 'one' when 2 then 'two' end from dept",
            "one two NULL",
        ),
        (
            "select iif(id > 1, 'big', 'small') from dept",
            "small big big",
        ),
        ("select coalesce(dept, 0) from emp", "1 1 2 0"),
        ("select nullif(id, 2) from dept", "1 NULL 3"),
        ("select '1' + 1, 'a' + 'b', 1 + null", "2|ab|NULL"),
        ("select 1 / 2, 1.0 / 2, 7 % 3", "0|0.500000|1"),
        ("select pay * 2 from emp where id = 1", "21.00"),
        (
            "select cast('12' as int) + 1, try_cast('x' as int), convert(varchar(5), 12)",
            "13|NULL|12",
        ),
        ("select id from emp where '2' = id", "2"),
        ("select -id, ~id, +id from dept where id = 1", "-1|-2|1"),
    ]);
}

#[test]
fn keys_are_sought() {
    let toy = world();
    let emp = toy.tables[1].clone();
    let sought = |sql: &str, expected: &str| {
        let before = emp.seeks();
        assert_eq!(toy.text(sql), expected, "{sql}");
        emp.seeks() > before
    };
    assert!(sought("select name from emp where id = 2", "bob"));
    assert!(sought(
        "select name from emp where id = @n and dept = 1",
        "bob"
    ));
    assert!(sought(
        "select name from emp where id > 2 and id <= 3",
        "cid"
    ));
    assert!(sought("select name from emp where 3 < id", "dan"));
    assert!(sought("select name from emp where id = null", "") || emp.seeks() > 0);
    assert!(sought(
        "select e.name from emp e left join dept d on d.id = e.dept where e.id = 4",
        "dan"
    ));
    assert!(sought(
        "select d.id from dept d where exists (select * from emp e where e.id = d.id and e.dept = 2)",
        "3"
    ));
    assert!(!sought("select name from emp where id + 0 = 2", "bob"));
    assert!(!sought(
        "select name from emp where id = 2 or id = 3",
        "bob cid"
    ));
    // Not by the WHERE, which an outer join's right side must not be narrowed by, but row by row by the join.
    assert!(sought(
        "select e.id from dept d left join emp e on e.id = d.id where e.id = 2",
        "2"
    ));
}

#[test]
fn apply_runs_its_right_side_for_each_row() {
    check(&[
        (
            "select d.id, x.id from dept d cross apply (select top 1 e.id from emp e where e.dept = d.id order by e.id desc) x",
            "1|2 2|3",
        ),
        (
            "select d.id, x.id from dept d outer apply (select top 1 e.id from emp e where e.dept = d.id order by e.id desc) x",
            "1|2 2|3 3|NULL",
        ),
        (
            "select a.id, b.id, x.s from emp a, dept b cross apply (select b.id * 10 as s) x where a.id = 1 and b.id < 3",
            "1|1|10 1|2|20",
        ),
        (
            "select id from dept d where exists (select 1 from emp e cross apply (select e.dept + d.id as s) x where x.s = 4)",
            "2 3",
        ),
    ]);
}

#[test]
fn quantified_and_distinct_from() {
    check(&[
        (
            "select id from dept where id >= all (select dept from emp where dept is not null)",
            "2 3",
        ),
        (
            "select id from dept where id >= all (select dept from emp)",
            "",
        ),
        (
            "select id from dept where id > all (select dept from emp where 1 = 0)",
            "1 2 3",
        ),
        (
            "select id from dept where id = any (select dept from emp)",
            "1 2",
        ),
        (
            "select id from dept where id < some (select e.dept from emp e where e.id <> dept.id)",
            "1",
        ),
        ("select id from emp where dept is distinct from 1", "3 4"),
        (
            "select id from emp where dept is not distinct from null",
            "4",
        ),
    ]);
}

#[test]
fn select_assigns_row_by_row() {
    let toy = world();
    for (assigning, expected) in [
        ("select @n = @n + id from dept", "8"),
        ("select @n = 7, @n = @n + 1", "8"),
        (
            "select @n = count(*) from emp group by dept order by dept desc",
            "1",
        ),
        ("select top 1 @n = id from dept order by id desc", "3"),
        ("select @n = id from dept where 1 = 0", "2"),
        ("update dept set @n = id where id = 3", "3"),
    ] {
        let rows = toy
            .run(&format!("{assigning}; select @n"))
            .expect("the batch runs");
        assert_eq!(
            rows.last().map(String::as_str),
            Some(expected),
            "{assigning}"
        );
    }
}
