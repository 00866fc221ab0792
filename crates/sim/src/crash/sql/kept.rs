//! Short stories of which one turn once misled the model.

use super::model::{At, Filter, GLOBAL, Op, Set};
use super::rights::{Held, On, Right};
use super::shrink::shrink;
use super::step::{Batch, Caught, Effect, Form, Level, Step, Stmt};
use super::table::{Column, Index, Made, Table, Ty, Val};
use super::{Failure, run_steps, script};

/// A table of the first database; with another's name before it, of that; a global temporary one.
fn at(name: &str) -> At {
    let (db, table) = match name.split_once('.') {
        Some((db, table)) => (db, table),
        None if name.starts_with(GLOBAL) => (GLOBAL, name),
        None => ("a", name),
    };
    At {
        db: db.to_owned(),
        table: table.to_owned(),
    }
}

fn stmt(sql: &str, effect: Effect) -> Stmt {
    Stmt {
        sql: sql.to_owned(),
        effect,
    }
}

fn run(who: usize, sql: &str, effect: Effect) -> Step {
    let (batch, on) = (Batch::plain(sql.to_owned(), effect), false);
    Step::Run { who, batch, on }
}

fn one(who: usize, stmt: Stmt) -> Step {
    run(who, &stmt.sql, stmt.effect)
}

/// The next step comes before anybody looks at the answer.
fn at_once(step: Step) -> Step {
    match step {
        Step::Run { who, batch, .. } => Step::Run {
            who,
            batch,
            on: true,
        },
        other => other,
    }
}

fn tries(who: usize, stmts: Vec<Stmt>) -> Step {
    let form = Form::Try(Caught::Rollback);
    let (batch, on) = (Batch { stmts, form }, false);
    Step::Run { who, batch, on }
}

fn begin() -> Stmt {
    stmt("BEGIN TRAN", Effect::Begin)
}

fn commit() -> Stmt {
    stmt("COMMIT", Effect::Commit)
}

fn number(name: &str, default: Option<&str>) -> Column {
    Column {
        name: name.to_owned(),
        ty: Ty::Int,
        nullable: default.is_none(),
        made: Made::Plain,
        default: default.map(|d| (d.to_owned(), Val::Int(1))),
    }
}

/// A table with the column c0 and, perhaps, a primary key.
fn create(name: &str, key: bool) -> Stmt {
    let mut table = Table {
        columns: vec![number("c0", None)],
        ..Table::default()
    };
    if key {
        table.indexes.push(Index {
            name: format!("pk_{name}"),
            columns: vec!["id".to_owned()],
            include: Vec::new(),
            unique: true,
            clustered: true,
            constraint: Some("PRIMARY KEY"),
            disabled: false,
        });
    }
    let at = at(name);
    let sql = format!("CREATE TABLE {} ({})", at.sql(), table.elements());
    let table = Box::new(table);
    stmt(&sql, Effect::Do(Op::Create { at, table }))
}

fn drop(name: &str) -> Stmt {
    let at = at(name);
    stmt(
        &format!("DROP TABLE {}", at.sql()),
        Effect::Do(Op::Drop { at }),
    )
}

fn insert(name: &str, id: i64) -> Stmt {
    let (at, rows, bulk) = (at(name), vec![(id, Vec::new())], false);
    let sql = format!("INSERT {} (id) VALUES ({id})", at.sql());
    stmt(&sql, Effect::Do(Op::Insert { at, rows, bulk }))
}

fn update(name: &str, id: i64) -> Stmt {
    let (low, high, of) = (id, id, None);
    let filter = Filter { low, high, of };
    let at = at(name);
    let sql = format!("UPDATE {} SET c0 = c0 + 1 WHERE {}", at.sql(), filter.sql());
    let set = vec![("c0".to_owned(), Set::Plus(1))];
    stmt(&sql, Effect::Do(Op::Update { at, filter, set }))
}

fn add(name: &str, column: Column) -> Stmt {
    let at = at(name);
    let sql = format!("ALTER TABLE {} ADD {}", at.sql(), column.sql());
    let column = Box::new(column);
    stmt(&sql, Effect::Do(Op::AddColumn { at, column }))
}

fn drop_constraint(name: &str, constraint: &str) -> Stmt {
    let (at, name) = (at(name), constraint.to_owned());
    let sql = format!("EXEC('ALTER TABLE {} DROP CONSTRAINT {name}')", at.sql());
    stmt(&sql, Effect::Do(Op::DropConstraint { at, name }))
}

fn look(name: &str) -> Stmt {
    let (low, high, of) = (0, 1000, None);
    let (at, filter) = (at(name), Filter { low, high, of });
    let sql = format!("SELECT * FROM {} WHERE {}", at.sql(), filter.sql());
    stmt(&sql, Effect::Look { at, filter })
}

fn fails() -> Stmt {
    stmt("RAISERROR('x', 16, 1)", Effect::Fails(vec![50000]))
}

fn serializable(who: usize) -> Step {
    let level = Level::Serializable;
    run(who, level.sql(), Effect::Level(level))
}

#[track_caller]
fn passes(steps: &[Step]) {
    let given = steps.iter().map(|s| match s {
        Step::Run { batch, .. } => batch.stmts.len() as u64,
        _ => 0,
    });
    match run_steps(5, steps) {
        // No step was left out as making no sense.
        Ok(report) => assert_eq!(report.statements, given.sum::<u64>()),
        Err(Failure { fault, steps }) => panic!("{fault}\n{}", script(&steps)),
    }
}

/// The first statement of a batch is committed while the second waits.
fn committed_in_the_midst() -> Vec<Step> {
    vec![
        one(1, create("t1", true)),
        one(1, create("t4", false)),
        serializable(0),
        one(0, begin()),
        one(0, update("t4", 4)),
        tries(1, vec![insert("t1", 5), insert("t4", 5)]),
    ]
}

#[test]
fn a_batch_that_waits_has_committed_what_it_told() {
    let mut steps = committed_in_the_midst();
    steps.push(one(0, look("t1")));
    passes(&steps);
}

#[test]
fn what_a_waiting_batch_told_outlives_a_crash() {
    let mut steps = committed_in_the_midst();
    steps.push(Step::Down { cuts: Vec::new() });
    steps.extend([serializable(0), one(0, begin()), one(0, look("t1"))]);
    passes(&steps);
}

#[test]
fn what_was_done_before_a_rollback_knows_nothing_of_what_waited_for_it() {
    passes(&[
        one(0, create("t4", false)),
        one(0, begin()),
        one(0, add("t4", number("c1", None))),
        tries(
            2,
            vec![
                begin(),
                add("t4", number("c2", Some("df"))),
                drop_constraint("t4", "df"),
                commit(),
            ],
        ),
        tries(0, vec![insert("t4", 4), fails()]),
    ]);
}

#[test]
fn a_transaction_ends_before_what_waited_for_it_though_its_batch_goes_on() {
    passes(&[
        one(0, create("t4", false)),
        one(0, begin()),
        one(0, add("t4", number("c1", None))),
        one(2, add("t4", number("c2", Some("df")))),
        one(3, begin()),
        one(3, update("lk1", 0)),
        tries(0, vec![insert("t4", 4), commit(), update("lk1", 0)]),
        one(2, insert("t4", 6)),
        one(3, commit()),
    ]);
}

#[test]
fn what_waited_for_a_commit_comes_after_it() {
    let (at, rows, bulk) = (
        at("t4"),
        vec![(6, vec![("c1".to_owned(), Val::Int(1))])],
        false,
    );
    let sql = "INSERT a.dbo.t4 (id, c1) VALUES (6, 1)";
    passes(&[
        one(0, create("t4", false)),
        one(0, begin()),
        one(0, add("t4", number("c1", None))),
        tries(
            2,
            vec![
                stmt(sql, Effect::Do(Op::Insert { at, rows, bulk })),
                update("lk1", 0),
            ],
        ),
        at_once(one(0, commit())),
        Step::Rest { us: 2000 },
        one(0, insert("t4", 4)),
    ]);
}

#[test]
fn a_table_is_dropped_before_it_is_read() {
    let (low, high, of) = (0, 1000, Some((4, 0)));
    let (at, filter) = (at("t2"), Filter { low, high, of });
    let read = Effect::Look { at, filter };
    passes(&[
        one(1, create("t2", false)),
        one(3, begin()),
        one(3, drop("t2")),
        run(0, "SELECT * FROM a.dbo.t2 WHERE id % 4 = 0", read),
        one(3, commit()),
    ]);
}

#[test]
fn what_a_transaction_has_read_may_change_before_its_end() {
    let of = || {
        let (low, high, of) = (0, 1000, Some((4, 1)));
        (at("t2"), vec!["c1".to_owned()], Filter { low, high, of })
    };
    let (from, columns, filter) = of();
    let into =
        "SELECT id, c1 INTO a.dbo.t0 FROM a.dbo.t2 WHERE id BETWEEN 0 AND 1000 AND id % 4 = 1";
    let into = stmt(
        into,
        Effect::Do(Op::Into {
            at: at("t0"),
            from,
            columns,
            filter,
            identity: None,
        }),
    );
    let (from, columns, filter) = of();
    let again = "INSERT a.dbo.t3 (id, c1) SELECT id + 4, c1 FROM a.dbo.t2 WHERE id BETWEEN 0 AND 1000 AND id % 4 = 1";
    let again = stmt(
        again,
        Effect::Do(Op::InsertSelect {
            at: at("t3"),
            from,
            columns,
            filter,
            add: 4,
        }),
    );
    let column = |at: At| {
        let column = "c1".to_owned();
        let sql = format!("ALTER TABLE {} DROP COLUMN c1", at.sql());
        stmt(&sql, Effect::Do(Op::DropColumn { at, column }))
    };
    passes(&[
        one(0, create("t2", false)),
        one(0, create("t3", false)),
        one(0, add("t2", number("c1", None))),
        one(0, add("t3", number("c1", None))),
        one(1, insert("t2", 5)),
        one(1, begin()),
        one(1, into),
        one(1, again),
        one(2, column(at("t2"))),
        one(1, commit()),
    ]);
}

/// A finding of 208 needs the table's end, and that needs its beginning.
#[test]
fn what_is_refused_for_its_name_keeps_who_made_the_name() {
    let steps = [
        one(0, create("t1", false)),
        one(1, create("t2", false)),
        one(0, insert("t1", 4)),
        one(0, drop("t1")),
        run(1, "SELECT COUNT(*) FROM a.dbo.t2", Effect::Nothing),
        run(0, "SELECT COUNT(*) FROM a.dbo.t1", Effect::Nothing),
    ];
    let failure = run_steps(5, &steps).expect_err("the table is gone");
    assert_eq!(failure.fault.class, "error 208");
    let short = shrink(5, failure, 100);
    assert_eq!(
        short.steps,
        [&steps[0], &steps[3], &steps[5]].map(Step::clone)
    );
}

/// Who made a global table waits, as it goes, for those that have changed it, whatever it had been told of locks.
#[test]
fn a_global_table_goes_with_the_last_that_has_changed_it() {
    passes(&[
        run(0, "SET LOCK_TIMEOUT 0", Effect::Nothing),
        one(0, create("##x0", false)),
        one(1, begin()),
        one(1, insert("##x0", 5)),
        Step::Leave { who: 0 },
        one(1, commit()),
        Step::Audit,
        one(2, create("##x0", false)),
    ]);
}

/// What has a global table's name when its maker goes may be another's.
#[test]
fn a_global_table_of_the_same_name_stays() {
    let rollback = || stmt("ROLLBACK", Effect::Rollback);
    passes(&[
        one(0, begin()),
        one(0, create("##x0", false)),
        one(0, rollback()),
        one(0, create("##x1", false)),
        one(1, create("##x0", false)),
        one(1, drop("##x1")),
        one(1, create("##x1", false)),
        Step::Leave { who: 0 },
        one(2, insert("##x0", 6)),
        one(2, insert("##x1", 6)),
    ]);
}

fn other(kind: &str, name: &str, sql: &str) -> Stmt {
    let op = Op::Other {
        db: "a".to_owned(),
        what: (kind.to_owned(), name.to_owned()),
        text: (!sql.starts_with("DROP")).then(|| match kind {
            "user" => "dbo".to_owned(),
            _ => String::new(),
        }),
        replaces: false,
    };
    stmt(sql, Effect::Do(op))
}

fn right(to: &str, held: Option<Held>) -> Stmt {
    let word = match held {
        Some(Held::Granted) => "GRANT",
        Some(Held::Denied) => "DENY",
        None => "REVOKE",
    };
    let right = Right {
        on: On::Table("t1".to_owned()),
        permission: "SELECT",
        to: to.to_owned(),
    };
    let db = "a".to_owned();
    stmt(
        &format!("{word} SELECT ON dbo.t1 TO {to}"),
        Effect::Do(Op::Right { db, right, held }),
    )
}

/// Rights are what was committed of them, and go with what they are on and with who holds them.
#[test]
fn rights_are_those_that_were_committed() {
    passes(&[
        one(0, create("t1", false)),
        one(0, other("user", "u0", "CREATE USER u0 FOR LOGIN q0")),
        one(0, other("role", "r0", "CREATE ROLE r0")),
        one(0, other("member", "r0 u0", "ALTER ROLE r0 ADD MEMBER u0")),
        one(0, right("r0", Some(Held::Granted))),
        Step::Audit,
        one(0, begin()),
        one(0, right("u0", Some(Held::Denied))),
        one(0, stmt("ROLLBACK", Effect::Rollback)),
        Step::Audit,
        one(0, right("u0", Some(Held::Denied))),
        Step::Down { cuts: Vec::new() },
        one(0, right("u0", None)),
        one(0, begin()),
        one(0, drop("t1")),
        one(0, create("t1", false)),
        Step::Down { cuts: Vec::new() },
        one(0, drop("t1")),
        one(0, create("t1", false)),
        Step::Audit,
        one(0, other("user", "u0", "DROP USER u0")),
        one(0, other("user", "u0", "CREATE USER u0 FOR LOGIN q0")),
    ]);
}
