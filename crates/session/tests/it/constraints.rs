//! Constraints over crashes, and between sessions.

use duramen_os::sim::SimDisk;
use duramen_session::Session;

use crate::{alone_on, instance, login, run};

const MADE: &str = "\
CREATE TYPE code FROM varchar(5) NOT NULL
CREATE TABLE p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY, c code DEFAULT 'x', n int CONSTRAINT ck_n CHECK (n > 0), twice AS n * 2, thrice AS n * 3 PERSISTED, v rowversion)
CREATE TABLE k (id int NOT NULL PRIMARY KEY, pid int NULL CONSTRAINT fk_k REFERENCES p ON DELETE CASCADE)
CREATE TABLE off_ (id int CONSTRAINT fk_off REFERENCES p)
CREATE TABLE log_ (n int)
ALTER TABLE off_ NOCHECK CONSTRAINT fk_off
INSERT p (id, n) VALUES (1, 1), (2, 2)
INSERT k VALUES (10, 1), (20, 2)";

const TRIGGER: &str = "CREATE TRIGGER tr ON k AFTER DELETE AS INSERT log_ SELECT id FROM deleted";

fn values(s: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql);
    let rows = lines
        .iter()
        .filter(|l| !l.starts_with("rows ") && !l.starts_with('('));
    rows.cloned().collect()
}

fn number(s: &mut Session, sql: &str) -> i64 {
    values(s, sql)[0].parse().expect("a number")
}

/// What the definitions say and do.
fn check(s: &mut Session) {
    assert_eq!(
        values(s, "SELECT id, c, n, twice, thrice FROM p ORDER BY id")[..2],
        ["1 | x | 1 | 2 | 3", "2 | x | 2 | 4 | 6"]
    );
    let refused = |s: &mut Session, sql: &str, part: &str| {
        let lines = run(s, sql);
        assert!(
            lines[0].starts_with("Msg 547") && lines[0].contains(part),
            "{sql}: {lines:?}"
        );
    };
    refused(
        s,
        "INSERT p (id, n) VALUES (9, -1)",
        "CHECK constraint \"ck_n\"",
    );
    refused(
        s,
        "INSERT k VALUES (9, 9)",
        "FOREIGN KEY constraint \"fk_k\"",
    );
    let off = "SELECT is_disabled, is_not_trusted FROM sys.foreign_keys WHERE name = 'fk_off'";
    assert_eq!(values(s, off), ["1 | 1"]);
    assert_eq!(
        values(s, "SELECT name FROM sys.types WHERE is_user_defined = 1"),
        ["code"]
    );
}

#[test]
fn definitions_and_their_state_survive_a_crash() {
    for seed in 0..4 {
        let disk = SimDisk::new(seed);
        let mut s = alone_on(&disk.env());
        for sql in MADE.lines() {
            let lines = run(&mut s, sql);
            assert!(
                lines.iter().all(|l| l.starts_with("rows")),
                "{sql}: {lines:?}"
            );
        }
        assert_eq!(run(&mut s, TRIGGER), Vec::<String>::new());
        if seed % 2 == 0 {
            run(&mut s, "CHECKPOINT");
        }
        run(&mut s, "EXEC sys.sp_flush_log");
        let last = number(&mut s, "SELECT CONVERT(bigint, MAX(v)) FROM p");
        let mut s = alone_on(&disk.crash(seed).env());
        check(&mut s);
        run(&mut s, "UPDATE p SET n = n WHERE id = 1");
        let next = number(&mut s, "SELECT CONVERT(bigint, v) FROM p WHERE id = 1");
        assert!(next > last, "{next} comes after {last}");
        // The cascade and the trigger are there too.
        run(&mut s, "DELETE p WHERE id = 2");
        assert_eq!(values(&mut s, "SELECT id FROM k"), ["10"]);
        run(&mut s, "DELETE k");
        assert_eq!(values(&mut s, "SELECT n FROM log_"), ["10"]);
    }
}

/// A loss of power in the middle of a definition leaves all of it or nothing.
#[test]
fn a_crash_in_alter_table_leaves_before_or_after() {
    let (mut before, mut after) = (0, 0);
    for n in [0, 3, 6, 10, 15, 25, 1000] {
        let disk = SimDisk::new(n);
        let mut s = alone_on(&disk.env());
        for sql in MADE.lines() {
            run(&mut s, sql);
        }
        run(&mut s, "EXEC sys.sp_flush_log");
        disk.power_off_after(n);
        run(
            &mut s,
            "ALTER TABLE off_ ADD CONSTRAINT ck_off CHECK (id < 5), w AS id + 1 PERSISTED, CONSTRAINT fk_two FOREIGN KEY (id) REFERENCES k (id) ON DELETE SET NULL",
        );
        run(&mut s, "EXEC sys.sp_flush_log");
        let mut s = alone_on(&disk.crash(n).env());
        check(&mut s);
        let made = "SELECT COUNT(*) FROM sys.objects WHERE name IN ('ck_off', 'fk_two')";
        match number(&mut s, made) {
            0 => {
                before += 1;
                assert_eq!(run(&mut s, "INSERT off_ VALUES (7)"), ["rows 1"]);
            }
            n => {
                assert_eq!(n, 2);
                after += 1;
                assert!(run(&mut s, "INSERT off_ VALUES (7)")[0].contains("ck_off"));
                assert!(run(&mut s, "INSERT off_ VALUES (4)")[0].contains("fk_two"));
            }
        }
    }
    assert!(before > 0 && after > 0, "{before} {after}");
}

/// Who adds a reference and who takes the key away see each other, whichever comes first and however they read.
#[test]
fn references_and_keys_wait_for_each_other() {
    let instance = instance();
    let mut a = login(&instance);
    for sql in MADE.lines() {
        run(&mut a, sql);
    }
    let mut b = login(&instance);
    run(&mut b, "SET LOCK_TIMEOUT 0");
    for level in ["READ UNCOMMITTED", "READ COMMITTED", "SERIALIZABLE"] {
        run(&mut b, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
        run(&mut a, "BEGIN TRAN; INSERT k VALUES (30, 2)");
        assert!(
            run(&mut b, "DELETE p WHERE id = 2")[0].starts_with("Msg 1222"),
            "{level}"
        );
        run(&mut a, "ROLLBACK");
        run(&mut a, "BEGIN TRAN; DELETE p WHERE id = 2");
        assert!(
            run(&mut b, "INSERT k VALUES (31, 2)")[0].starts_with("Msg 1222"),
            "{level}"
        );
        run(&mut a, "ROLLBACK");
    }
    // A plan that was kept notices a reference that comes later.
    let delete = "EXEC sp_executesql N'DELETE p WHERE id = @id', N'@id int', @id = 1";
    run(&mut b, "DELETE k");
    run(
        &mut b,
        "EXEC sp_executesql N'DELETE p WHERE id = @id', N'@id int', @id = 99",
    );
    run(
        &mut a,
        "CREATE TABLE late (pid int CONSTRAINT fk_late REFERENCES p); INSERT late VALUES (1)",
    );
    assert!(run(&mut b, delete)[0].contains("fk_late"));
}

/// Under READ_COMMITTED_SNAPSHOT a test of a key still waits for who is changing it.
#[test]
fn versions_do_not_fool_a_foreign_key() {
    let instance = instance();
    let mut a = login(&instance);
    run(&mut a, "CREATE DATABASE d");
    run(&mut a, "ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON");
    run(&mut a, "USE d");
    for sql in MADE.lines() {
        run(&mut a, sql);
    }
    let mut b = login(&instance);
    run(&mut b, "USE d; SET LOCK_TIMEOUT 0");
    run(&mut a, "BEGIN TRAN; DELETE k; DELETE p WHERE id = 2");
    // The old row can still be read, but not referred to.
    assert_eq!(number(&mut b, "SELECT COUNT(*) FROM p"), 2);
    assert!(run(&mut b, "INSERT k VALUES (31, 2)")[0].starts_with("Msg 1222"));
    run(&mut a, "COMMIT");
    assert!(run(&mut b, "INSERT k VALUES (31, 2)")[0].starts_with("Msg 547"));
}
