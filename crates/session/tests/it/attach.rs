//! sp_detach_db and CREATE DATABASE ... FOR ATTACH under power cuts, and over restarts.

use std::time::Duration;

use duramen_os::sim::SimDisk;
use duramen_os::thread;

use crate::{Alone, alone_on, run};

const BEFORE: [&str; 5] = [
    "CREATE DATABASE d ON (NAME = d1, FILENAME = '/data/d1.mdf', SIZE = 2MB), FILEGROUP g (NAME = d2, FILENAME = '/data/d2.ndf', SIZE = 1MB) LOG ON (NAME = l1, FILENAME = '/data/l1.ldf', SIZE = 1MB, FILEGROWTH = 3MB)",
    "CREATE TABLE d.dbo.t (a int IDENTITY PRIMARY KEY, b char(500)); CREATE TABLE d.dbo.u (a int) ON g; INSERT d.dbo.u VALUES (7)",
    "ALTER DATABASE d SET RECOVERY FULL",
    "DECLARE @i int = 0; WHILE @i < 100 BEGIN INSERT d.dbo.t VALUES ('x'); SET @i += 1 END",
    "USE d; EXEC sys.sp_flush_log; USE master",
];
const DETACH: &str = "EXEC sp_detach_db 'd'";
const ATTACH: &str = "CREATE DATABASE d ON (FILENAME = '/data/d1.mdf') FOR ATTACH";

fn row(s: &mut Alone, sql: &str) -> String {
    run(s, sql).get(1).cloned().unwrap_or_default()
}

/// The database is there, or can be attached; it has all that it had.
fn whole(s: &mut Alone, after: &str) -> bool {
    let state = row(s, "SELECT state_desc FROM sys.databases WHERE name = 'd'");
    let there = state == "ONLINE";
    if !there {
        assert_eq!(state, "rows 0", "{after}");
        let lines = run(s, ATTACH);
        assert!(lines.is_empty(), "{after}: {lines:?}");
    }
    let sums = "SELECT COUNT(*), SUM(a), (SELECT SUM(a) FROM d.dbo.u) FROM d.dbo.t";
    assert_eq!(row(s, sums), "100 | 5050 | 7", "{after}");
    let kept = "SELECT name, growth, (SELECT recovery_model_desc FROM sys.databases WHERE name = 'd') FROM d.sys.database_files WHERE file_id = 2";
    assert_eq!(row(s, kept), "l1 | 384 | FULL", "{after}");
    let found = run(s, "DBCC CHECKDB (d) WITH NO_INFOMSGS");
    assert!(found.is_empty(), "{after}: {found:?}");
    there
}

/// A machine that loses power after `n` writes and syncs of `sql`; then the next start.
fn cut(seed: u64, n: u64, before: &[&str], sql: &str) -> bool {
    let disk = SimDisk::new(seed);
    let mut s = alone_on(&disk.env());
    for sql in before {
        run(&mut s, sql);
    }
    disk.power_off_after(n);
    run(&mut s, sql);
    let disk = disk.crash(seed + n);
    whole(&mut alone_on(&disk.env()), &format!("{sql}, {n}"))
}

#[test]
fn a_power_cut_in_detach_or_attach_leaves_before_or_after() {
    let mut detached = BEFORE.to_vec();
    detached.push(DETACH);
    for (seed, before, sql) in [(500, &BEFORE[..], DETACH), (900, &detached[..], ATTACH)] {
        let there: Vec<bool> = (0..90)
            .step_by(3)
            .map(|n| cut(seed, n, before, sql))
            .collect();
        assert!(there.contains(&true) && there.contains(&false), "{there:?}");
    }
}

#[test]
fn files_that_were_detached_are_attached_after_a_restart() {
    let disk = SimDisk::new(31);
    let mut s = alone_on(&disk.env());
    for sql in BEFORE {
        run(&mut s, sql);
    }
    assert!(run(&mut s, DETACH).is_empty());
    drop(s);
    let mut s = alone_on(&disk.env());
    assert!(!whole(&mut s, "a restart"));
    // Attached, it is a database like any other: a crash takes nothing.
    run(&mut s, "INSERT d.dbo.u VALUES (1)");
    run(&mut s, "USE d; EXEC sys.sp_flush_log; USE master");
    drop(s);
    let mut s = alone_on(&disk.crash(32).env());
    assert_eq!(row(&mut s, "SELECT SUM(a) FROM d.dbo.u"), "8");
    drop(s);
    // One that cannot be opened stays.
    let disk = disk.crash(33);
    disk.env()
        .disk
        .remove("/data/l1.ldf".as_ref())
        .expect("removed");
    let mut s = alone_on(&disk.env());
    assert!(run(&mut s, DETACH)[0].starts_with("Msg 3707, Level 16,"));
}

/// A background thread between two steps, or a view, may be the last to have a database.
#[test]
fn files_are_closed_when_their_database_is_detached() {
    let mut s = alone_on(&SimDisk::new(34).env());
    for sql in BEFORE {
        run(&mut s, sql);
    }
    for _ in 0..3 {
        let looking = s.instance.databases.find("d").expect("it is open");
        let holder = thread::spawn("holder", move || {
            thread::sleep(Duration::from_millis(30));
            drop(looking);
        });
        assert!(run(&mut s, DETACH).is_empty());
        assert!(!whole(&mut s, "somebody looked at it"));
        holder.join().expect("it ends");
    }
}
