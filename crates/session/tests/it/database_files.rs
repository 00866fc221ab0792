//! CREATE, ALTER and DROP DATABASE: files, filegroups, options, access, and crashes in the middle.

use duramen_os::sim::SimDisk;

use crate::{Alone, alone, alone_on, instance, login, run, start};

/// Rows of a query, without its heading.
fn rows(s: &mut duramen_session::Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql);
    match lines[0].starts_with('(') {
        true => lines[1..lines.len() - 1].to_vec(),
        false => lines,
    }
}

const NOTHING: Vec<String> = Vec::new();

#[test]
fn a_database_has_the_files_it_was_made_with() {
    let disk = SimDisk::new(21);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    let sql = "CREATE DATABASE d ON PRIMARY (NAME = d1, FILENAME = 'D:\\data\\d1.mdf', SIZE = 4MB, MAXSIZE = 1GB, FILEGROWTH = 10%), (NAME = d2, FILENAME = '/data/d2.ndf', SIZE = 2048KB, FILEGROWTH = 0), FILEGROUP fg2 DEFAULT (NAME = d3, FILENAME = '/data/d3.ndf', SIZE = 3, MAXSIZE = UNLIMITED, FILEGROWTH = 100KB) LOG ON (NAME = l1, FILENAME = '/data/l1.ldf', SIZE = 2MB), (NAME = l2, FILENAME = '/data/l2.ldf', SIZE = 1MB, MAXSIZE = 2TB) COLLATE Latin1_General_BIN2";
    assert_eq!(run(&mut s, sql), NOTHING);
    let files = "SELECT file_id, type, data_space_id, name, physical_name, size, max_size, growth, is_percent_growth FROM sys.master_files WHERE database_id = DB_ID('d') ORDER BY file_id";
    let wanted = [
        "1 | 0 | 1 | d1 | D:\\data\\d1.mdf | 512 | 131072 | 10 | 1",
        "2 | 1 | 0 | l1 | /data/l1.ldf | 256 | 268435456 | 8192 | 0",
        "3 | 0 | 1 | d2 | /data/d2.ndf | 256 | -1 | 0 | 0",
        "4 | 0 | 2 | d3 | /data/d3.ndf | 384 | -1 | 16 | 0",
        "5 | 1 | 0 | l2 | /data/l2.ldf | 128 | 268435456 | 8192 | 0",
    ];
    assert_eq!(rows(&mut s, files), wanted);
    run(&mut s, "USE d");
    assert_eq!(
        rows(
            &mut s,
            "SELECT name, data_space_id, is_default FROM sys.filegroups ORDER BY 2"
        ),
        ["PRIMARY | 1 | 0", "fg2 | 2 | 1"]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT collation_name FROM sys.databases WHERE name = 'd'"
        ),
        ["Latin1_General_BIN2"]
    );
    run(
        &mut s,
        "CREATE TABLE t (c varchar(10)); INSERT t VALUES ('a'), ('A')",
    );
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t WHERE c = 'a'"), ["1"]);
    drop(s);
    instance.shutdown().expect("a clean shutdown");
    let mut s = alone_on(&disk.env());
    assert_eq!(rows(&mut s, files), wanted);
    assert_eq!(rows(&mut s, "SELECT c FROM d.dbo.t ORDER BY c"), ["A", "a"]);
    assert_eq!(run(&mut s, "DROP DATABASE d"), NOTHING);
    assert!(!disk.env().disk.exists("/data/d3.ndf".as_ref()));
}

#[test]
fn what_is_not_said_has_defaults() {
    let mut s = alone();
    let sizes = "SELECT name, size, growth FROM sys.master_files WHERE database_id = DB_ID('d') ORDER BY file_id";
    run(&mut s, "CREATE DATABASE d");
    assert_eq!(
        rows(&mut s, sizes),
        ["d | 1024 | 8192", "d_log | 1024 | 8192"]
    );
    run(
        &mut s,
        "DROP DATABASE d; CREATE DATABASE d ON (NAME = x, FILENAME = '/data/x.mdf', SIZE = 16MB)",
    );
    assert_eq!(
        rows(&mut s, sizes),
        ["x | 2048 | 8192", "d_log | 512 | 8192"]
    );
}

#[test]
fn a_failed_create_leaves_nothing() {
    let disk = SimDisk::new(22);
    let mut s = alone_on(&disk.env());
    run(&mut s, "CREATE DATABASE d");
    assert!(run(&mut s, "CREATE DATABASE D")[0].starts_with("Msg 1801, Level 16, State 3"));
    let lines = run(
        &mut s,
        "CREATE DATABASE e ON (NAME = e1, FILENAME = '/data/e1.mdf'), FILEGROUP g (NAME = e2, FILENAME = '/data/d.mdf')",
    );
    assert!(lines[0].starts_with("Msg 5170"), "{lines:?}");
    assert!(lines[1].starts_with("Msg 1802"), "{lines:?}");
    assert!(!disk.env().disk.exists("/data/e1.mdf".as_ref()));
    assert!(
        run(
            &mut s,
            "CREATE DATABASE e ON (NAME = a, FILENAME = '/nowhere/a.mdf')"
        )[0]
        .starts_with("Msg 5133")
    );
    let same = "CREATE DATABASE e ON (NAME = a, FILENAME = '/data/a.mdf') LOG ON (NAME = A, FILENAME = '/data/b.ldf')";
    assert!(run(&mut s, same)[0].starts_with("Msg 1828"));
    let small = "CREATE DATABASE e ON (NAME = a, FILENAME = '/data/a.mdf', SIZE = 256KB)";
    assert!(run(&mut s, small)[0].starts_with("Msg 5174"));
    let above =
        "CREATE DATABASE e ON (NAME = a, FILENAME = '/data/a.mdf', SIZE = 4MB, MAXSIZE = 2MB)";
    assert!(run(&mut s, above)[0].starts_with("Msg 5103"));
    assert!(run(&mut s, "CREATE DATABASE e COLLATE Klingon_CI_AS")[0].starts_with("Msg 448"));
    // In a CATCH block the statement's own error counts.
    let caught = "BEGIN TRY CREATE DATABASE e ON (NAME = e1, FILENAME = '/data/d.mdf') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH";
    assert_eq!(rows(&mut s, caught), ["1802"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT name FROM sys.databases WHERE database_id > 4"
        ),
        ["d"]
    );
    assert_eq!(run(&mut s, "CREATE DATABASE e"), NOTHING);
}

#[test]
fn files_and_filegroups_come_and_go() {
    let disk = SimDisk::new(23);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    run(&mut s, "CREATE DATABASE d");
    let mut ok = |sql: &str| assert_eq!(run(&mut s, sql), NOTHING, "{sql}");
    ok("ALTER DATABASE d ADD FILEGROUP g");
    ok(
        "ALTER DATABASE d ADD FILE (NAME = f2, FILENAME = '/data/f2.ndf', SIZE = 1MB) TO FILEGROUP g",
    );
    ok("ALTER DATABASE d ADD FILE (NAME = f3, FILENAME = '/data/f3.ndf', SIZE = 1MB)");
    ok("ALTER DATABASE d ADD LOG FILE (NAME = l2, FILENAME = '/data/l2.ldf', SIZE = 2MB)");
    ok("ALTER DATABASE d MODIFY FILE (NAME = f2, SIZE = 2MB, FILEGROWTH = 1MB, MAXSIZE = 8MB)");
    ok("ALTER DATABASE d MODIFY FILE (NAME = d_log, SIZE = 16MB)");
    ok("ALTER DATABASE d MODIFY FILE (NAME = d_log, FILEGROWTH = 5%, MAXSIZE = 100MB)");
    let say = run(
        &mut s,
        "ALTER DATABASE d MODIFY FILE (NAME = f3, NEWNAME = f4)",
    );
    assert_eq!(say, ["The file name 'f4' has been set."]);
    let say = run(&mut s, "ALTER DATABASE d MODIFY FILEGROUP g DEFAULT");
    assert_eq!(say, ["The filegroup property 'DEFAULT' has been set."]);
    let files = "SELECT name, size, max_size, growth, is_percent_growth, data_space_id FROM sys.master_files WHERE database_id = DB_ID('d') ORDER BY name";
    let wanted = [
        "d | 1024 | -1 | 8192 | 0 | 1",
        "d_log | 2048 | 12800 | 5 | 1 | 0",
        "f2 | 256 | 1024 | 128 | 0 | 2",
        "f4 | 128 | -1 | 8192 | 0 | 1",
        "l2 | 256 | 268435456 | 8192 | 0 | 0",
    ];
    assert_eq!(rows(&mut s, files), wanted);
    let fails = |s: &mut duramen_session::Session, sql: &str, number: &str| {
        let lines = run(s, sql);
        assert!(
            lines[0].starts_with(&format!("Msg {number},")),
            "{sql}: {lines:?}"
        );
        assert_eq!(lines.len(), 1, "{sql}: {lines:?}");
    };
    fails(
        &mut s,
        "ALTER DATABASE d MODIFY FILE (NAME = f2, SIZE = 1MB)",
        "5039",
    );
    fails(
        &mut s,
        "ALTER DATABASE d MODIFY FILE (NAME = d_log, SIZE = 1GB)",
        "5040",
    );
    fails(
        &mut s,
        "ALTER DATABASE d MODIFY FILE (NAME = zz, SIZE = 9MB)",
        "5041",
    );
    fails(&mut s, "ALTER DATABASE d MODIFY FILE (NAME = f2)", "5038");
    fails(
        &mut s,
        "ALTER DATABASE d ADD FILE (NAME = l2, FILENAME = '/data/q.ndf')",
        "1828",
    );
    fails(
        &mut s,
        "ALTER DATABASE d ADD FILE (NAME = q, FILENAME = '/data/q.ndf') TO FILEGROUP zz",
        "5014",
    );
    fails(&mut s, "ALTER DATABASE d REMOVE FILE d", "5020");
    fails(&mut s, "ALTER DATABASE d REMOVE FILE d_log", "5020");
    fails(&mut s, "ALTER DATABASE d REMOVE FILEGROUP g", "5042");
    fails(
        &mut s,
        "ALTER DATABASE master ADD FILE (NAME = q, FILENAME = '/data/q.ndf')",
        "5013",
    );
    assert_eq!(
        run(&mut s, "ALTER DATABASE d REMOVE FILE f4"),
        ["The file 'f4' has been removed."]
    );
    assert!(!disk.env().disk.exists("/data/f3.ndf".as_ref()));
    // The second log file is used, and found again after a crash.
    run(
        &mut s,
        "USE d; CREATE TABLE t (a int, b char(4000)) ON [PRIMARY]",
    );
    run(
        &mut s,
        "SET NOCOUNT ON; BEGIN TRAN; DECLARE @i int = 0; WHILE @i < 5000 BEGIN INSERT t VALUES (@i, 'x'); SET @i += 1 END; COMMIT; EXEC sys.sp_flush_log",
    );
    let used = "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID()) WHERE file_id <> 2 AND vlf_sequence_number > 0";
    assert_ne!(rows(&mut s, used), ["0"]);
    let after = disk.crash(5);
    let mut s = alone_on(&after.env());
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM d.dbo.t"), ["5000"]);
    // It goes when the log is through with it.
    let remove = "ALTER DATABASE d REMOVE FILE l2";
    let mut said = run(&mut s, remove);
    for _ in 0..40 {
        if !said[0].starts_with("Msg 5042") {
            break;
        }
        run(
            &mut s,
            "USE d; UPDATE t SET b = 'y' WHERE a < 500; CHECKPOINT",
        );
        said = run(&mut s, remove);
    }
    assert_eq!(said, ["The file 'l2' has been removed."]);
    assert!(!after.env().disk.exists("/data/l2.ldf".as_ref()));
    let logs = "SELECT name FROM d.sys.database_files WHERE type = 1";
    assert_eq!(rows(&mut s, logs), ["d_log"]);
    run(
        &mut s,
        "USE d; UPDATE t SET b = 'z' WHERE a < 100; EXEC sys.sp_flush_log",
    );
    let again = after.crash(6);
    let mut s = alone_on(&again.env());
    let z = "SELECT COUNT(*) FROM d.dbo.t WHERE b = 'z'";
    assert_eq!(rows(&mut s, z), ["100"]);
    assert_eq!(rows(&mut s, logs), ["d_log"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT name FROM d.sys.database_files ORDER BY file_id"
        ),
        ["d", "d_log", "f2"]
    );
}

#[test]
fn a_name_is_changed_with_the_database_closed() {
    let disk = SimDisk::new(24);
    let instance = start(&disk.env());
    let (mut s, mut other) = (login(&instance), login(&instance));
    run(&mut s, "CREATE DATABASE d");
    run(
        &mut s,
        "USE d; CREATE TABLE t (a int IDENTITY); INSERT t DEFAULT VALUES",
    );
    run(&mut other, "USE d");
    let lines = run(&mut s, "ALTER DATABASE d MODIFY NAME = e");
    assert!(
        lines.len() == 1 && lines[0].starts_with("Msg 5030"),
        "{lines:?}"
    );
    run(&mut other, "USE master");
    assert!(run(&mut s, "ALTER DATABASE d MODIFY NAME = model")[0].starts_with("Msg 1801"));
    assert_eq!(
        run(&mut s, "ALTER DATABASE d MODIFY NAME = e"),
        ["The database name 'e' has been set."]
    );
    assert_eq!(rows(&mut s, "SELECT DB_NAME(), COUNT(*) FROM t"), ["e | 1"]);
    assert!(run(&mut other, "USE d")[0].starts_with("Msg 911"));
    drop((s, other));
    let mut s = alone_on(&disk.crash(1).env());
    assert_eq!(rows(&mut s, "SELECT a FROM e.dbo.t"), ["1"]);
}

#[test]
fn options_take_effect_and_show() {
    let disk = SimDisk::new(25);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    run(&mut s, "CREATE DATABASE d");
    run(&mut s, "USE d; CREATE TABLE t (a int)");
    let mut ok = |sql: &str| assert_eq!(run(&mut s, sql), NOTHING, "{sql}");
    ok(
        "ALTER DATABASE CURRENT SET RECOVERY FULL, DELAYED_DURABILITY = FORCED, ANSI_NULLS ON, AUTO_CREATE_STATISTICS OFF, AUTO_CLOSE OFF, PAGE_VERIFY CHECKSUM WITH NO_WAIT",
    );
    ok("ALTER DATABASE d SET COMPATIBILITY_LEVEL = 150, TARGET_RECOVERY_TIME = 2 MINUTES");
    ok("ALTER DATABASE d SET READ_ONLY WITH ROLLBACK IMMEDIATE");
    let show = "SELECT recovery_model_desc, delayed_durability_desc, is_ansi_nulls_on, is_auto_create_stats_on, compatibility_level, target_recovery_time_in_seconds, is_read_only FROM sys.databases WHERE name = 'd'";
    assert_eq!(
        rows(&mut s, show),
        ["FULL | FORCED | 1 | 0 | 150 | 120 | 1"]
    );
    for sql in [
        "INSERT t VALUES (1)",
        "CREATE TABLE u (a int)",
        "DELETE t",
        "TRUNCATE TABLE t",
    ] {
        let lines = run(&mut s, sql);
        // Nothing to delete is nothing refused.
        assert!(
            lines[0].starts_with("Msg 3906") || sql == "DELETE t",
            "{sql}: {lines:?}"
        );
    }
    assert_eq!(run(&mut s, "ALTER DATABASE d SET READ_WRITE"), NOTHING);
    assert_eq!(run(&mut s, "INSERT t VALUES (1)"), ["rows 1"]);
    for refused in ["AUTO_CLOSE ON", "PAGE_VERIFY NONE", "TRUSTWORTHY ON"] {
        let lines = run(&mut s, &format!("ALTER DATABASE d SET {refused}"));
        assert!(lines[0].starts_with("Msg 40517"), "{refused}: {lines:?}");
    }
    let level = "ALTER DATABASE d SET COMPATIBILITY_LEVEL =";
    assert_eq!(run(&mut s, &format!("{level} 110")), NOTHING);
    assert!(run(&mut s, &format!("{level} 90"))[0].starts_with("Msg 15048"));
    assert_eq!(run(&mut s, &format!("{level} 150")), NOTHING);
    assert!(run(&mut s, "ALTER DATABASE master SET READ_ONLY")[0].starts_with("Msg 5058"));
    assert!(run(&mut s, "ALTER DATABASE nowhere SET READ_ONLY")[0].starts_with("Msg 5011"));
    drop(s);
    let mut s = alone_on(&disk.crash(2).env());
    assert_eq!(
        rows(&mut s, show),
        ["FULL | FORCED | 1 | 0 | 150 | 120 | 0"]
    );
}

#[test]
fn offline_and_online() {
    let disk = SimDisk::new(26);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    run(&mut s, "CREATE DATABASE d");
    run(&mut s, "USE d; CREATE TABLE t (a int); INSERT t VALUES (7)");
    let lines = run(&mut s, "ALTER DATABASE d SET OFFLINE");
    assert_eq!(
        lines,
        ["Failed to restart the current database. The current database is switched to master."]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT DB_NAME(), state_desc FROM sys.databases WHERE name = 'd'"
        ),
        ["master | OFFLINE"]
    );
    assert!(run(&mut s, "USE d")[0].starts_with("Msg 942"));
    assert!(run(&mut s, "CREATE DATABASE d")[0].starts_with("Msg 1801"));
    assert_eq!(
        rows(
            &mut s,
            "SELECT COUNT(*) FROM sys.databases AS d CROSS APPLY sys.dm_db_log_info(d.database_id) WHERE d.name = 'd'"
        ),
        ["0"]
    );
    drop(s);
    instance.shutdown().expect("a clean shutdown");
    let mut s = alone_on(&disk.env());
    assert!(run(&mut s, "USE d")[0].starts_with("Msg 942"));
    assert_eq!(run(&mut s, "ALTER DATABASE d SET ONLINE"), NOTHING);
    assert_eq!(rows(&mut s, "SELECT a FROM d.dbo.t"), ["7"]);
    // A dropped offline database leaves its files.
    run(&mut s, "ALTER DATABASE d SET OFFLINE");
    assert_eq!(run(&mut s, "DROP DATABASE d"), NOTHING);
    assert!(disk.env().disk.exists("/data/d.mdf".as_ref()));
}

#[test]
fn one_user_or_many() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(&mut a, "CREATE DATABASE d");
    run(&mut a, "USE d; CREATE TABLE t (x int)");
    run(&mut b, "USE d; BEGIN TRAN; INSERT t VALUES (1)");
    run(&mut a, "USE master");
    let lines = run(&mut a, "ALTER DATABASE d SET SINGLE_USER WITH NO_WAIT");
    assert!(
        lines[0].starts_with("Msg 5070") && lines[1].starts_with("Msg 5069"),
        "{lines:?}"
    );
    assert!(run(&mut a, "DROP DATABASE d")[0].starts_with("Msg 3702"));
    let lines = run(
        &mut a,
        "ALTER DATABASE d SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
    );
    assert_eq!(
        lines,
        [
            "Nonqualified transactions are being rolled back. Estimated rollback completion: 0%.",
            "Nonqualified transactions are being rolled back. Estimated rollback completion: 100%.",
        ]
    );
    assert!(run(&mut b, "SELECT 1")[0].starts_with("Msg 596"));
    run(&mut a, "USE d");
    assert_eq!(rows(&mut a, "SELECT COUNT(*) FROM t"), ["0"]);
    let mut c = login(&instance);
    assert!(run(&mut c, "USE d")[0].starts_with("Msg 924"));
    assert!(run(&mut c, "ALTER DATABASE d SET MULTI_USER")[0].starts_with("Msg 5064"));
    assert_eq!(
        rows(
            &mut c,
            "SELECT user_access_desc FROM sys.databases WHERE name = 'd'"
        ),
        ["SINGLE_USER"]
    );
    assert_eq!(run(&mut a, "ALTER DATABASE d SET MULTI_USER"), NOTHING);
    assert_eq!(run(&mut c, "USE d"), ["Changed database context to 'd'."]);
    run(&mut a, "USE master");
    assert!(run(&mut a, "DROP DATABASE d")[0].starts_with("Msg 3702"));
    drop(c);
    assert_eq!(run(&mut a, "DROP DATABASE d"), NOTHING);
    assert!(run(&mut a, "DROP DATABASE d")[0].starts_with("Msg 3701"));
    assert_eq!(run(&mut a, "DROP DATABASE IF EXISTS d"), NOTHING);
    assert!(run(&mut a, "DROP DATABASE model")[0].starts_with("Msg 3708"));
}

fn login_as(
    instance: &std::sync::Arc<duramen_events::instance::Instance>,
    user: &str,
    password: &str,
) -> duramen_session::Session {
    let request = duramen_program::login::LoginRequest {
        user: user.to_owned(),
        password: password.to_owned(),
        ..duramen_program::login::LoginRequest::default()
    };
    duramen_session::login(instance, &request).expect("the login is there")
}

/// The statement of `s` runs in a thread of its own; what was not over after 300 ms waits.
fn waits(
    mut s: duramen_session::Session,
    sql: &'static str,
) -> duramen_os::thread::JoinHandle<(duramen_session::Session, Vec<String>)> {
    let running = duramen_os::thread::spawn("altering", move || {
        let lines = run(&mut s, sql);
        (s, lines)
    });
    duramen_os::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!running.is_finished(), "{sql} has not waited");
    running
}

/// SINGLE_USER and RESTRICTED_USER without a clause wait for who is there to leave; RESTRICTED_USER only for who may not
/// stay.
#[test]
fn access_changes_when_the_others_have_left() {
    let instance = instance();
    let (mut a, mut b) = (login(&instance), login(&instance));
    run(
        &mut a,
        "CREATE DATABASE d; CREATE LOGIN rita WITH PASSWORD = 'Secret-3'; CREATE LOGIN olga WITH PASSWORD = 'Secret-4'",
    );
    run(
        &mut a,
        "USE d; CREATE USER rita FOR LOGIN rita; CREATE USER olga FOR LOGIN olga; ALTER ROLE db_owner ADD MEMBER olga; CREATE TABLE t (x int); GRANT INSERT, SELECT ON t TO rita; USE master",
    );
    run(&mut b, "USE d");
    let waiting = waits(a, "ALTER DATABASE d SET SINGLE_USER");
    run(&mut b, "USE master");
    let (mut a, lines) = waiting.join().expect("no panic");
    assert_eq!(lines, NOTHING);
    run(&mut a, "ALTER DATABASE d SET MULTI_USER");

    let mut rita = login_as(&instance, "rita", "Secret-3");
    let mut olga = login_as(&instance, "olga", "Secret-4");
    run(&mut rita, "USE d; BEGIN TRAN; INSERT t VALUES (1)");
    run(&mut olga, "USE d");
    let lines = run(&mut a, "ALTER DATABASE d SET RESTRICTED_USER WITH NO_WAIT");
    assert!(
        lines[0].starts_with("Msg 5070") && lines[1].starts_with("Msg 5069"),
        "{lines:?}"
    );
    let waiting = waits(a, "ALTER DATABASE d SET RESTRICTED_USER");
    run(&mut rita, "COMMIT; USE master");
    let (mut a, lines) = waiting.join().expect("no panic");
    assert_eq!(lines, NOTHING);
    assert!(run(&mut rita, "USE d")[0].starts_with("Msg 923"));
    assert_eq!(rows(&mut olga, "SELECT x FROM t"), ["1"]);

    run(&mut a, "ALTER DATABASE d SET MULTI_USER");
    run(&mut rita, "USE d; BEGIN TRAN; INSERT t VALUES (2)");
    let lines = run(
        &mut a,
        "ALTER DATABASE d SET RESTRICTED_USER WITH ROLLBACK AFTER 1",
    );
    assert!(
        lines.len() == 2 && lines.iter().all(|l| l.starts_with("Nonqualified")),
        "{lines:?}"
    );
    assert!(run(&mut rita, "SELECT 1")[0].starts_with("Msg 596"));
    assert_eq!(rows(&mut olga, "SELECT x FROM t"), ["1"]);
}

/// Runs `sql` on a machine that loses power after `n` writes and syncs; what a start finds then.
fn cut(seed: u64, n: u64, before: &str, sql: &str) -> Alone {
    let disk = SimDisk::new(seed);
    let mut s = alone_on(&disk.env());
    for sql in before.split(';') {
        run(&mut s, sql);
    }
    disk.power_off_after(n);
    run(&mut s, sql);
    let after = alone_on(&disk.crash(seed + n).env());
    // Shown when the test fails.
    for gone in after.instance.databases.unavailable() {
        println!("after {n}: {gone}");
    }
    after
}

#[test]
fn a_crash_in_create_database_leaves_all_or_nothing() {
    let sql = "CREATE DATABASE d ON (NAME = d1, FILENAME = '/data/d1.mdf', SIZE = 2MB), FILEGROUP g (NAME = d2, FILENAME = '/data/d2.ndf', SIZE = 1MB) LOG ON (NAME = l1, FILENAME = '/data/l1.ldf', SIZE = 1MB)";
    let (mut made, mut missing) = (0, 0);
    for n in [0, 20, 45, 70, 95, 120, 1000] {
        let mut s = cut(100, n, "", sql);
        match rows(
            &mut s,
            "SELECT state_desc FROM sys.databases WHERE name = 'd'",
        )
        .first()
        {
            Some(state) => {
                assert_eq!(state, "ONLINE", "after {n}");
                assert_eq!(
                    rows(&mut s, "SELECT COUNT(*) FROM d.sys.database_files"),
                    ["3"]
                );
                made += 1;
            }
            None => {
                // Its files are gone too: it can be made now.
                assert_eq!(run(&mut s, sql), NOTHING, "after {n}");
                missing += 1;
            }
        }
        assert_eq!(
            run(&mut s, "USE d; CREATE TABLE t (a int)"),
            ["Changed database context to 'd'."]
        );
    }
    assert!(missing > 0 && made > 0, "{made} {missing}");
}

#[test]
fn a_crash_in_alter_and_drop_leaves_before_or_after() {
    let before = "CREATE DATABASE d; USE d; CREATE TABLE t (a int); INSERT t VALUES (1); EXEC sys.sp_flush_log; USE master";
    for n in [1, 6, 12, 20] {
        let add =
            "ALTER DATABASE d ADD LOG FILE (NAME = l2, FILENAME = '/data/l2.ldf', SIZE = 1MB)";
        let mut s = cut(200, n, before, add);
        assert_eq!(rows(&mut s, "SELECT a FROM d.dbo.t"), ["1"], "after {n}");
        let known = rows(
            &mut s,
            "SELECT name FROM d.sys.database_files WHERE name = 'l2'",
        );
        if known.is_empty() {
            run(&mut s, "USE d");
            let again = run(
                &mut s,
                "ALTER DATABASE CURRENT ADD LOG FILE (NAME = l3, FILENAME = '/data/l3.ldf', SIZE = 1MB)",
            );
            assert_eq!(again, NOTHING, "after {n}");
        }
    }
    for n in [1, 5, 9, 15] {
        let mut s = cut(300, n, before, "DROP DATABASE d");
        match rows(
            &mut s,
            "SELECT state_desc FROM sys.databases WHERE name = 'd'",
        )
        .first()
        {
            Some(state) => {
                assert_eq!(state, "ONLINE", "after {n}");
                assert_eq!(rows(&mut s, "SELECT a FROM d.dbo.t"), ["1"], "after {n}");
            }
            None => assert_eq!(run(&mut s, "CREATE DATABASE d"), NOTHING, "after {n}"),
        }
    }
    for n in [2, 10, 20, 35] {
        let mut s = cut(400, n, before, "ALTER DATABASE d MODIFY NAME = e");
        let name = rows(
            &mut s,
            "SELECT name FROM sys.databases WHERE database_id > 4",
        )[0]
        .clone();
        assert_eq!(
            rows(&mut s, &format!("SELECT a FROM {name}.dbo.t")),
            ["1"],
            "after {n}"
        );
    }
}

#[test]
fn tables_and_indexes_lie_where_they_are_put() {
    let disk = SimDisk::new(27);
    let mut s = alone_on(&disk.env());
    run(
        &mut s,
        "CREATE DATABASE d ON (NAME = d1, FILENAME = '/data/d1.mdf'), FILEGROUP g (NAME = d2, FILENAME = '/data/d2.ndf', SIZE = 1MB), FILEGROUP h (NAME = d3, FILENAME = '/data/d3.ndf', SIZE = 1MB)",
    );
    run(&mut s, "USE d");
    run(&mut s, "USE d");
    let mut ok = |sql: &str| assert_eq!(run(&mut s, sql), NOTHING, "{sql}");
    ok("CREATE TABLE a (x int, y varchar(max)) ON g TEXTIMAGE_ON h");
    ok("CREATE INDEX ix ON a (x)");
    ok("CREATE INDEX iy ON a (x) ON h");
    ok("CREATE TABLE b (x int NOT NULL, CONSTRAINT pk PRIMARY KEY (x) ON [h])");
    ok("CREATE TABLE c (x int NOT NULL)");
    ok("ALTER TABLE c ADD CONSTRAINT pc PRIMARY KEY (x) ON g");
    ok("CREATE TABLE e (x int) ON [PRIMARY]");
    assert!(run(&mut s, "CREATE TABLE f (x int) ON nowhere")[0].starts_with("Msg 1921"));
    run(
        &mut s,
        "INSERT a VALUES (1, REPLICATE(CAST('z' AS varchar(max)), 20000)); INSERT b VALUES (1); INSERT c VALUES (2)",
    );
    let places = "SELECT o.name, i.name, ds.name FROM sys.indexes AS i JOIN sys.objects AS o ON o.object_id = i.object_id JOIN sys.data_spaces AS ds ON ds.data_space_id = i.data_space_id WHERE o.type = 'U' ORDER BY o.name, i.index_id";
    let wanted = [
        "a | NULL | g",
        "a | ix | g",
        "a | iy | h",
        "b | pk | h",
        "c | pc | g",
        "e | NULL | PRIMARY",
    ];
    assert_eq!(rows(&mut s, places), wanted);
    // Where the catalog says, there the pages are: file 4 is h's.
    let files = "SELECT DISTINCT LEFT([Page ID], 4) FROM fn_dblog(NULL, NULL) WHERE Operation = 'LOP_INSERT_ROWS' AND AllocUnitName = 'dbo.b.pk'";
    assert_eq!(rows(&mut s, files), ["0004"]);
    run(
        &mut s,
        "ALTER TABLE a ADD z int NULL; EXEC sys.sp_flush_log",
    );
    drop(s);
    let mut s = alone_on(&disk.crash(9).env());
    run(&mut s, "USE d");
    assert_eq!(rows(&mut s, places), wanted);
    assert_eq!(rows(&mut s, "SELECT LEN(y), z FROM a"), ["20000 | NULL"]);
}

#[test]
fn a_script_of_management_studio_runs() {
    let mut s = alone();
    let create = "CREATE DATABASE [Shop] CONTAINMENT = NONE ON PRIMARY (NAME = N'Shop', FILENAME = N'C:\\Data\\Shop.mdf', SIZE = 8192KB, MAXSIZE = UNLIMITED, FILEGROWTH = 65536KB) LOG ON (NAME = N'Shop_log', FILENAME = N'C:\\Data\\Shop_log.ldf', SIZE = 8192KB, MAXSIZE = 2048GB, FILEGROWTH = 65536KB) WITH CATALOG_COLLATION = DATABASE_DEFAULT";
    assert_eq!(run(&mut s, create), NOTHING);
    for set in [
        "COMPATIBILITY_LEVEL = 160",
        "ANSI_NULL_DEFAULT OFF",
        "ANSI_NULLS OFF",
        "ANSI_PADDING OFF",
        "ANSI_WARNINGS OFF",
        "ARITHABORT OFF",
        "AUTO_CLOSE OFF",
        "AUTO_SHRINK OFF",
        "AUTO_CREATE_STATISTICS ON(INCREMENTAL = OFF)",
        "AUTO_UPDATE_STATISTICS ON",
        "CURSOR_CLOSE_ON_COMMIT OFF",
        "CURSOR_DEFAULT GLOBAL",
        "CONCAT_NULL_YIELDS_NULL OFF",
        "NUMERIC_ROUNDABORT OFF",
        "QUOTED_IDENTIFIER OFF",
        "RECURSIVE_TRIGGERS OFF",
        "DISABLE_BROKER",
        "AUTO_UPDATE_STATISTICS_ASYNC OFF",
        "DATE_CORRELATION_OPTIMIZATION OFF",
        "TRUSTWORTHY OFF",
        "ALLOW_SNAPSHOT_ISOLATION OFF",
        "PARAMETERIZATION SIMPLE",
        "READ_COMMITTED_SNAPSHOT OFF",
        "HONOR_BROKER_PRIORITY OFF",
        "RECOVERY FULL",
        "MULTI_USER",
        "PAGE_VERIFY CHECKSUM",
        "DB_CHAINING OFF",
        "FILESTREAM( NON_TRANSACTED_ACCESS = OFF )",
        "TARGET_RECOVERY_TIME = 60 SECONDS",
        "DELAYED_DURABILITY = DISABLED",
        "ACCELERATED_DATABASE_RECOVERY = OFF",
        "QUERY_STORE = OFF",
        "READ_WRITE",
    ] {
        assert_eq!(
            run(&mut s, &format!("ALTER DATABASE [Shop] SET {set}")),
            NOTHING,
            "{set}"
        );
    }
}

/// A log that is to be a little larger gets one VLF of the smallest size, and 5040 where its limit does not allow that.
#[test]
fn a_log_grows_by_the_smallest_vlf_at_least() {
    let disk = SimDisk::new(31);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    let sql = "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf', SIZE = 2MB) LOG ON (NAME = l, FILENAME = '/data/l.ldf', SIZE = 2MB, MAXSIZE = 3MB, FILEGROWTH = 512KB)";
    assert_eq!(run(&mut s, sql), NOTHING);
    let grow = |kb: u32| format!("ALTER DATABASE d MODIFY FILE (NAME = l, SIZE = {kb}KB)");
    assert_eq!(run(&mut s, &grow(2112)), NOTHING);
    let size = "SELECT size FROM sys.master_files WHERE name = 'l' AND database_id = DB_ID('d')";
    assert_eq!(rows(&mut s, size), ["288"]);
    assert_eq!(run(&mut s, &grow(2880)), NOTHING);
    let reported = run(&mut s, &grow(2944));
    assert!(reported[0].starts_with("Msg 5040,"), "{reported:?}");
    assert_eq!(rows(&mut s, size), ["360"]);
}
