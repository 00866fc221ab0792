//! A transaction over two databases whose decision may or may not be on disk: nobody sees its changes until the log
//! that has the decision can be read.

use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault};

use super::*;

fn fault(op: DiskOp, error: IoError) -> Fault {
    Fault {
        op,
        path: Some("/data/a.ldf".into()),
        nth: 1,
        error,
        lasting: true,
    }
}

#[test]
fn what_is_in_doubt_stays_locked_and_then_unavailable() {
    let disk = SimDisk::new(11);
    let instance = start(&disk.env());
    let mut session = login(&instance);
    for name in ["a", "b"] {
        let files = format!(
            "CREATE DATABASE {name} ON (NAME = d, FILENAME = '/data/{name}.mdf') LOG ON (NAME = l, FILENAME = '/data/{name}.ldf')"
        );
        assert_eq!(run(&mut session, &files), Vec::<String>::new());
        run(
            &mut session,
            &format!("CREATE TABLE {name}.dbo.t (id int PRIMARY KEY)"),
        );
    }
    run(&mut session, "CHECKPOINT");
    let work = "BEGIN TRAN; INSERT a.dbo.t VALUES (1); INSERT b.dbo.t VALUES (1)";
    assert_eq!(run(&mut session, work), ["rows 1", "rows 1"]);
    // The beginning in the coordinator is on disk; its end will not be.
    let flushed = run(&mut session, "USE a; EXEC sys.sp_flush_log");
    assert!(!flushed.iter().any(|l| l.starts_with("Msg")), "{flushed:?}");
    disk.add_fault(fault(DiskOp::Write, IoError::device("pwrite")));
    let lines = run(&mut session, "COMMIT");
    assert!(lines[0].starts_with("Msg 9001, Level 21"), "{lines:?}");
    drop(session);
    let mut other = login(&instance);
    let look = "SET LOCK_TIMEOUT 0; SELECT * FROM b.dbo.t";
    let lines = run(&mut other, look);
    assert!(lines[1].starts_with("Msg 1222,"), "{lines:?}");

    let disk = disk.crash(5);
    disk.clear_faults();
    disk.add_fault(fault(DiskOp::Open, IoError::NotFound));
    let instance = start(&disk.env());
    let states =
        "SELECT name, state_desc FROM sys.databases WHERE name IN ('a', 'b') ORDER BY name";
    let mut session = login(&instance);
    let lines = run(&mut session, states);
    let pending = ["a | RECOVERY_PENDING", "b | RECOVERY_PENDING"];
    assert_eq!(lines[1..3], pending);
    let lines = run(&mut session, "SELECT * FROM b.dbo.t");
    assert!(lines[0].starts_with("Msg 945,"), "{lines:?}");
    drop(session);

    let disk = disk.crash(6);
    disk.clear_faults();
    let instance = start(&disk.env());
    let mut session = login(&instance);
    let both = "SELECT COUNT(*) FROM a.dbo.t; SELECT COUNT(*) FROM b.dbo.t";
    let lines = run(&mut session, both);
    assert_eq!(
        (&lines[1], &lines[4]),
        (&"0".into(), &"0".into()),
        "{lines:?}"
    );
}
