//! What a transaction has made is undone, whatever system transactions wrote into its rows meanwhile: blocks of identity
//! values, where units begin, the counter of row versions.

use super::*;

/// What is there before, what a transaction does, and a query whose answer must be the same before it and after it.
struct Work {
    before: &'static str,
    work: &'static str,
    after: &'static str,
}

const ALL: &[Work] = &[
    Work {
        before: "",
        work: "CREATE TABLE c1 (id int IDENTITY, a int); INSERT c1 (a) VALUES (1)",
        after: "SELECT OBJECT_ID('c1')",
    },
    Work {
        before: "",
        work: "CREATE TABLE c2 (id smallint IDENTITY(5, 3) PRIMARY KEY, a varchar(max)); INSERT c2 SELECT REPLICATE(CAST('x' AS varchar(max)), 9000) FROM GENERATE_SERIES(1, 110)",
        after: "SELECT OBJECT_ID('c2')",
    },
    Work {
        before: "CREATE TABLE c3 (a int); INSERT c3 VALUES (1), (2)",
        work: "ALTER TABLE c3 ADD id int IDENTITY; INSERT c3 (a) VALUES (3)",
        after: "SELECT * FROM c3 ORDER BY a; SELECT name, is_identity FROM sys.columns WHERE object_id = OBJECT_ID('c3')",
    },
    Work {
        before: "CREATE TABLE c4 (a int); INSERT c4 VALUES (1), (2)",
        work: "SELECT IDENTITY(int, 1, 1) AS id, a INTO c4b FROM c4; INSERT c4b VALUES (7)",
        after: "SELECT OBJECT_ID('c4b'); SELECT * FROM c4 ORDER BY a",
    },
    Work {
        before: "CREATE TABLE c5 (id int IDENTITY, a int)",
        work: "ALTER TABLE c5 ADD b int; EXEC ('INSERT c5 VALUES (1, 2)'); DBCC CHECKIDENT (c5, RESEED, 500) WITH NO_INFOMSGS; EXEC ('INSERT c5 VALUES (3, 4)')",
        after: "SELECT * FROM c5; SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('c5') ORDER BY column_id",
    },
    Work {
        before: "",
        work: "CREATE TABLE c6 (id int IDENTITY, a int); DBCC CHECKIDENT (c6, RESEED, 70) WITH NO_INFOMSGS; INSERT c6 VALUES (1); DROP TABLE c6; CREATE TABLE c6 (id bigint IDENTITY, b int); INSERT c6 VALUES (9)",
        after: "SELECT OBJECT_ID('c6')",
    },
    Work {
        before: "CREATE TABLE c7 (id int IDENTITY, a int); INSERT c7 VALUES (1), (2)",
        work: "EXEC sp_rename 'c7.id', 'a_much_longer_name_of_the_column', 'COLUMN'; SET IDENTITY_INSERT c7 ON; EXEC ('INSERT c7 (a_much_longer_name_of_the_column, a) VALUES (5000, 3)'); SET IDENTITY_INSERT c7 OFF; INSERT c7 VALUES (4)",
        after: "SELECT * FROM c7 ORDER BY id",
    },
    Work {
        before: "CREATE TABLE c8 (id int IDENTITY PRIMARY KEY, a char(900)); INSERT c8 SELECT 'x' FROM GENERATE_SERIES(1, 50)",
        work: "TRUNCATE TABLE c8; INSERT c8 SELECT 'y' FROM GENERATE_SERIES(1, 1100)",
        after: "SELECT COUNT(*), MIN(id), MAX(id), MIN(a) FROM c8",
    },
    Work {
        before: "CREATE TABLE c9 (id int IDENTITY, a int); INSERT c9 VALUES (1)",
        work: "ALTER TABLE c9 ALTER COLUMN a bigint; INSERT c9 VALUES (2); ALTER TABLE c9 DROP COLUMN a; ALTER TABLE c9 ADD CONSTRAINT pk PRIMARY KEY (id); INSERT c9 DEFAULT VALUES",
        after: "SELECT * FROM c9",
    },
    Work {
        before: "CREATE TABLE c10 (v rowversion, a int)",
        work: "CREATE TABLE c10b (v rowversion, a int); INSERT c10b (a) SELECT value FROM GENERATE_SERIES(1, 20); INSERT c10 (a) VALUES (1)",
        after: "SELECT COUNT(*) FROM c10; SELECT OBJECT_ID('c10b')",
    },
    Work {
        before: "CREATE TABLE c11 (id int IDENTITY, a int); INSERT c11 VALUES (1)",
        work: "DROP TABLE c11; CREATE TABLE c11 (id int IDENTITY(100, 1), b int); INSERT c11 VALUES (2)",
        after: "SELECT id, a FROM c11",
    },
    Work {
        before: "CREATE TABLE c12 (id int IDENTITY, a int); INSERT c12 VALUES (1)",
        work: "CREATE INDEX i ON c12 (a); SAVE TRAN s; INSERT c12 SELECT value FROM GENERATE_SERIES(1, 300); CREATE CLUSTERED INDEX k ON c12 (id); ROLLBACK TRAN s; INSERT c12 VALUES (9)",
        after: "SELECT * FROM c12; SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID('c12')",
    },
    Work {
        before: "",
        work: "CREATE TABLE c13 (k int PRIMARY KEY, a char(1600)); INSERT c13 SELECT value, 'x' FROM GENERATE_SERIES(1, 200); CREATE INDEX i ON c13 (a); UPDATE c13 SET a = 'y' WHERE k % 3 = 0; DELETE c13 WHERE k % 2 = 0; TRUNCATE TABLE c13; INSERT c13 VALUES (1, 'z')",
        after: "SELECT OBJECT_ID('c13')",
    },
    Work {
        before: "CREATE PROCEDURE p14 AS BEGIN CREATE TABLE #t (id int IDENTITY, a int); INSERT #t VALUES (1), (2); SELECT COUNT(*) FROM #t END",
        work: "EXEC p14; CREATE TABLE #u (id int IDENTITY, a int); INSERT #u VALUES (1); SELECT IDENTITY(int, 1, 1) AS id INTO #v",
        after: "SELECT OBJECT_ID('tempdb..#u'), OBJECT_ID('tempdb..#v')",
    },
];

fn fine(lines: &[String], what: &str) {
    assert!(
        !lines.iter().any(|l| l.starts_with("Msg")),
        "{what}: {lines:?}"
    );
}

fn prepare(instance: &Arc<Instance>) -> Session {
    let mut s = login(instance);
    fine(&run(&mut s, "CREATE DATABASE d"), "d");
    fine(&run(&mut s, "USE d"), "d");
    for w in ALL {
        fine(&run(&mut s, w.before), w.before);
    }
    s
}

/// Both databases are sound, and nobody is left behind.
fn sound(instance: &Arc<Instance>, what: &str) {
    let mut s = login(instance);
    for db in ["d", "tempdb"] {
        let check = format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS");
        assert_eq!(run(&mut s, &check), Vec::<String>::new(), "{what}");
    }
    let open = "SELECT COUNT(*) FROM sys.dm_tran_database_transactions WHERE database_transaction_begin_lsn IS NOT NULL; SELECT name FROM sys.databases WHERE state <> 0; SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_mode IN ('X', 'IX', 'Sch-M')";
    let lines = run(&mut s, open);
    assert_eq!(
        (&*lines[1], &*lines[4], &*lines[6]),
        ("0", "rows 0", "0"),
        "{what}: {lines:?}"
    );
}

/// Each kind of work, begun by `begin` and ended by `end`, in one session after the other.
fn each(begin: &str, end: &dyn Fn(&Arc<Instance>, Session)) {
    let instance = instance();
    drop(prepare(&instance));
    for w in ALL {
        let mut s = login(&instance);
        run(&mut s, "USE d");
        let was = run(&mut s, w.after);
        run(&mut s, begin);
        let lines = run(&mut s, w.work);
        fine(&lines, w.work);
        end(&instance, s);
        let mut s = login(&instance);
        run(&mut s, "USE d");
        assert_eq!(run(&mut s, w.after), was, "{}", w.work);
    }
    sound(&instance, begin);
}

#[test]
fn a_rollback_undoes_it() {
    each("BEGIN TRAN", &|_, mut s| {
        fine(&run(&mut s, "ROLLBACK"), "ROLLBACK")
    });
}

#[test]
pub(super) fn so_does_one_to_a_savepoint() {
    each(
        "BEGIN TRAN; CREATE TABLE first (a int); SAVE TRAN outer_one",
        &|_, mut s| {
            let lines = run(&mut s, "ROLLBACK TRAN outer_one; DROP TABLE first; COMMIT");
            fine(&lines, "ROLLBACK TRAN");
        },
    );
}

#[test]
fn so_does_an_error_under_xact_abort() {
    each("SET XACT_ABORT ON; BEGIN TRAN", &|_, mut s| {
        let lines = run(&mut s, "SELECT 1 / 0");
        assert!(lines[1].starts_with("Msg 8134"), "{lines:?}");
        assert_eq!(run(&mut s, "SELECT @@TRANCOUNT")[1], "0");
    });
}

#[test]
fn so_does_a_client_that_leaves() {
    each("BEGIN TRAN", &|_, s| drop(s));
}

#[test]
fn so_does_kill() {
    each("BEGIN TRAN", &|instance, mut s| {
        let spid = run(&mut s, "SELECT @@SPID")[1].clone();
        let mut other = login(instance);
        fine(&run(&mut other, &format!("KILL {spid}")), "KILL");
    });
}

/// The databases as they were before, after all work was open when the power went; the second time also while that was
/// undone.
#[test]
fn a_crash_undoes_it() {
    let disk = SimDisk::new(21);
    let instance = duramen_session::start(&disk.env(), config(Default::default())).unwrap();
    let mut first = prepare(&instance);
    let was: Vec<_> = ALL.iter().map(|w| run(&mut first, w.after)).collect();
    let mut open = Vec::new();
    for w in ALL {
        let mut s = login(&instance);
        run(&mut s, "USE d; BEGIN TRAN");
        fine(&run(&mut s, w.work), w.work);
        open.push(s);
    }
    fine(&run(&mut first, "EXEC sys.sp_flush_log"), "flush");
    for again in [None, Some(3), Some(40), Some(400)] {
        assert_eq!(look(disk.crash(22), again), was, "{again:?}");
    }
    // Nothing more goes to that disk.
    std::mem::forget((open, first, instance));
}

fn look(mut disk: Arc<SimDisk>, again: Option<u64>) -> Vec<Vec<String>> {
    if let Some(after) = again {
        disk.power_off_after(after);
        let cut = duramen_session::start(&disk.env(), config(Default::default()));
        disk = disk.crash(23);
        std::mem::forget(cut);
    }
    let instance = start(&disk.env());
    let mut s = login(&instance);
    run(&mut s, "USE d");
    let now = ALL.iter().map(|w| run(&mut s, w.after)).collect();
    drop(s);
    sound(&instance, "after the crash");
    now
}

#[test]
fn a_backup_taken_meanwhile_is_restored() {
    let instance = instance();
    let mut first = prepare(&instance);
    let was: Vec<_> = ALL.iter().map(|w| run(&mut first, w.after)).collect();
    let mut open = Vec::new();
    for w in ALL {
        let mut s = login(&instance);
        run(&mut s, "USE d; BEGIN TRAN");
        fine(&run(&mut s, w.work), w.work);
        open.push(s);
    }
    fine(
        &run(&mut first, "BACKUP DATABASE d TO DISK = '/data/d.bak'"),
        "backup",
    );
    drop(open);
    let restore = "USE master; RESTORE DATABASE e FROM DISK = '/data/d.bak' WITH MOVE 'd' TO '/data/e.mdf', MOVE 'd_log' TO '/data/e.ldf'";
    fine(&run(&mut first, restore), "restore");
    run(&mut first, "USE e");
    let now: Vec<_> = ALL.iter().map(|w| run(&mut first, w.after)).collect();
    assert_eq!(now, was);
    assert_eq!(
        run(&mut first, "DBCC CHECKDB WITH NO_INFOMSGS"),
        Vec::<String>::new()
    );
}

/// Values are neither given twice nor skipped because a definition was undone or refused.
#[test]
fn identities_go_on_where_they_were() {
    let mut s = alone();
    fine(
        &run(
            &mut s,
            "CREATE TABLE t (id int IDENTITY, a int); CREATE TABLE u (id int IDENTITY, a int); INSERT t VALUES (0), (0); INSERT u VALUES (0)",
        ),
        "t",
    );
    let given = |s: &mut Session, table: &str| {
        let sql = format!("INSERT {table} VALUES (1); SELECT CAST(SCOPE_IDENTITY() AS int)");
        run(s, &sql)[2].clone()
    };
    for undone in [
        "BEGIN TRAN; TRUNCATE TABLE t; INSERT t VALUES (1); ROLLBACK",
        "BEGIN TRAN; DROP TABLE t; ROLLBACK",
        "BEGIN TRAN; SAVE TRAN s; TRUNCATE TABLE t; ROLLBACK TRAN s; COMMIT",
        "BEGIN TRAN; ALTER TABLE t DROP COLUMN id; ALTER TABLE t ADD id int IDENTITY(700, 1); INSERT t VALUES (1); ROLLBACK",
        "BEGIN TRAN; CREATE TABLE other (id int IDENTITY); ROLLBACK",
        "DROP TABLE there_is_none",
        "ALTER TABLE t ADD a int",
    ] {
        let next = run(
            &mut s,
            "SELECT IDENT_CURRENT('t') + 1, IDENT_CURRENT('u') + 1",
        )[1]
        .clone();
        run(&mut s, undone);
        let got = format!("{} | {}", given(&mut s, "t"), given(&mut s, "u"));
        assert_eq!(got, next, "{undone}");
    }
    // Undone to a point after the table was made, it stays, and so do its values.
    let lines = run(
        &mut s,
        "BEGIN TRAN; CREATE TABLE v (id int IDENTITY, a int); INSERT v VALUES (1); SAVE TRAN s; ALTER TABLE v ADD b int; INSERT v VALUES (1, 2); ROLLBACK TRAN s",
    );
    fine(&lines, "v");
    assert_eq!(given(&mut s, "v"), "3");
    fine(&run(&mut s, "ROLLBACK"), "ROLLBACK");
    // Made again, it begins again.
    fine(&run(&mut s, "CREATE TABLE v (id int IDENTITY, a int)"), "v");
    assert_eq!(given(&mut s, "v"), "1");
    fine(
        &run(
            &mut s,
            "BEGIN TRAN; CREATE TABLE w (a int); ALTER TABLE w ADD id int IDENTITY; INSERT w VALUES (1), (2); ROLLBACK; CREATE TABLE w (a int); INSERT w VALUES (8); ALTER TABLE w ADD id int IDENTITY",
        ),
        "w",
    );
    assert_eq!(given(&mut s, "w"), "2");
}
