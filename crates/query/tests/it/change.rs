use crate::world;

#[test]
fn insert_fills_identity_and_defaults() {
    let toy = world();
    assert_eq!(toy.text("insert log default values"), "(1)");
    assert_eq!(toy.text("insert into log (n) values (7), (8)"), "(2)");
    assert_eq!(
        toy.text("insert log (n, word) values (default, default)"),
        "(1)"
    );
    assert_eq!(
        toy.text("insert log (n, word) select id, name from dept where id < 3"),
        "(2)"
    );
    assert_eq!(toy.text("insert log (n, word) select null, 'x'"), "(1)");
    assert_eq!(
        toy.text("select * from log"),
        "1|none|NULL 2|none|7 3|none|8 4|none|NULL 5|build|1 6|sell|2 7|x|NULL"
    );
}

#[test]
fn insert_reads_the_table_as_it_was() {
    let toy = world();
    assert_eq!(
        toy.text("insert dept select id + 10, name from dept"),
        "(3)"
    );
    assert_eq!(toy.text("select count(*) from dept"), "6");
}

#[test]
fn update() {
    let toy = world();
    assert_eq!(
        toy.text("update emp set pay = pay + 1, grade = 'z' where dept = 1"),
        "(2)"
    );
    assert_eq!(
        toy.text("select id, pay, grade from emp where grade = 'z'"),
        "1|11.50|z   2|21.00|z  "
    );
    // Every row sees the old values, and the rows found before the first changed.
    assert_eq!(toy.text("update emp set id = id + 1, dept = id"), "(4)");
    assert_eq!(toy.text("select id, dept from emp"), "2|1 3|2 4|3 5|4");
    assert_eq!(toy.text("update emp set pay += 1 where id = 4"), "(1)");
    assert_eq!(toy.text("update top (1) emp set pay = null"), "(1)");
    assert_eq!(
        toy.text("select id, pay from emp"),
        "2|NULL 3|21.00 4|31.25 5|NULL"
    );
    assert_eq!(
        toy.text("update emp set pay = (select max(id) from dept) where pay is null"),
        "(2)"
    );
    assert_eq!(toy.text("update log set word = default"), "(0)");
}

#[test]
fn update_and_delete_through_joins() {
    let toy = world();
    let sql = "update e set grade = left(d.name, 3) from emp e join dept d on d.id = e.dept where d.name <> 'idle'";
    assert_eq!(toy.text(sql), "(3)");
    assert_eq!(
        toy.text("select id, grade from emp"),
        "1|bui 2|bui 3|sel 4|NULL"
    );
    // A row that joins twice is changed once.
    assert_eq!(
        toy.text("delete d from emp e join dept d on d.id = e.dept"),
        "(2)"
    );
    assert_eq!(toy.text("select id from dept"), "3");
    assert_eq!(
        toy.text("delete from emp from dept d where d.id = emp.id"),
        "(1)"
    );
    assert_eq!(toy.text("select id from emp"), "1 2 4");
}

#[test]
fn delete() {
    let toy = world();
    assert_eq!(
        toy.text("delete from emp where id in (select dept from emp)"),
        "(2)"
    );
    assert_eq!(toy.text("delete emp where pay is null"), "(1)");
    assert_eq!(toy.text("select id from emp"), "3");
    assert_eq!(toy.text("delete e from emp e where e.id = 3"), "(1)");
    assert_eq!(toy.text("delete emp"), "(0)");
}
