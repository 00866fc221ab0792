//! sp_configure: what is set holds, and lives through a restart.

use super::backups::{MAKE, all};
use super::*;

const ADVANCED: &str = "EXEC sp_configure 'show advanced options', 1; RECONFIGURE";

fn value(s: &mut Session, name: &str) -> String {
    let sql = format!(
        "SELECT CONVERT(int, value), CONVERT(int, value_in_use) FROM sys.configurations WHERE name = '{name}'"
    );
    run(s, &sql).get(1).cloned().unwrap_or_default()
}

#[test]
fn settings_live_through_a_restart() {
    let disk = SimDisk::new(5);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            ADVANCED,
            "EXEC sp_configure 'recovery interval (min)', 7; EXEC sp_configure 'user connections', 3; RECONFIGURE",
            "EXEC sp_configure 'max degree of parallelism', 4",
        ],
    );
    assert_eq!(value(&mut s, "recovery interval (min)"), "7 | 7");
    assert_eq!(value(&mut s, "user connections"), "3 | 0");
    assert_eq!(value(&mut s, "max degree of parallelism"), "4 | 0");
    // Nobody waits for a reply here, which would come when this is durable.
    run(&mut s, "EXEC sys.sp_flush_log");
    let after = disk.crash(3);
    let instance = start(&after.env());
    let mut s = login(&instance);
    assert_eq!(value(&mut s, "recovery interval (min)"), "7 | 7");
    assert_eq!(value(&mut s, "user connections"), "3 | 3");
    // Never installed.
    assert_eq!(value(&mut s, "max degree of parallelism"), "0 | 0");
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "Secret-1".to_owned(),
        ..LoginRequest::default()
    };
    let more: Vec<_> = (0..3)
        .map(|_| duramen_session::login(&instance, &request))
        .collect();
    let refused = more.iter().filter_map(|l| l.as_ref().err());
    let numbers: Vec<i32> = refused.map(|e| e.number).collect();
    assert_eq!(numbers, [17809]);
}

#[test]
fn triggers_do_not_nest_when_they_must_not() {
    let mut s = alone();
    all(
        &mut s,
        &[
            "CREATE TABLE a (n int); CREATE TABLE b (n int); CREATE TABLE c (n int)",
            "CREATE TRIGGER ta ON a AFTER INSERT AS INSERT b VALUES (1)",
            "CREATE TRIGGER tb ON b AFTER INSERT AS INSERT c VALUES (1)",
            "INSERT a VALUES (1)",
            "EXEC sp_configure 'nested triggers', 0; RECONFIGURE",
            "INSERT a VALUES (2)",
        ],
    );
    let counts =
        "SELECT (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM b), (SELECT COUNT(*) FROM c)";
    assert_eq!(run(&mut s, counts)[1], "2 | 2 | 1");
}

#[test]
fn backups_have_checksums_by_default_when_asked_to() {
    let mut s = alone();
    all(
        &mut s,
        &[
            MAKE,
            "EXEC sp_configure 'backup checksum default', 1; RECONFIGURE",
            "BACKUP DATABASE b TO DISK = '/data/1.bak'",
            "BACKUP DATABASE b TO DISK = '/data/2.bak' WITH NO_CHECKSUM",
        ],
    );
    let reported = run(
        &mut s,
        "SELECT has_backup_checksums FROM msdb.dbo.backupset ORDER BY backup_set_id",
    );
    assert_eq!(reported[1..3], ["1", "0"]);
}

#[test]
fn less_memory_is_what_pages_and_rows_have() {
    let storage = StorageConfig {
        data_dir: "/data".into(),
        drives: Default::default(),
        memory: 256 << 20,
        profile: Default::default(),
        sector: 4096,
        instant_file_init: true,
        files: Default::default(),
    };
    let config = InstanceConfig {
        sa_password: "Secret-1".to_owned(),
        server_name: "TEST".to_owned(),
        storage,
    };
    let env = SimDisk::new(1).env();
    let instance = Started(duramen_session::start(&env, config).expect("the instance starts"));
    let mut s = login(&instance);
    let frames = || instance.databases.engine.pool_stats().frames;
    let before = frames();
    // What logs hold beside the pages changes all the time.
    let about = |n: u64| n - n / 20..=n + n / 20;
    let set = |mb: u32| format!("EXEC sp_configure 'max server memory', {mb}; RECONFIGURE");
    all(&mut s, &[ADVANCED, &set(128)]);
    assert!(about(before / 2).contains(&frames()), "{}", frames());
    // Never more than the server was started with.
    all(&mut s, &[&set(100_000)]);
    assert!(about(before).contains(&frames()), "{}", frames());
}
