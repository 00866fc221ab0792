//! Two instances in one process: neither sees what the other does.

use duramen_os::sim::SimDisk;

use super::{login, run, start};

#[test]
fn what_another_instance_does_is_not_told_or_counted() {
    let watching = start(&SimDisk::new(1).env());
    let mut w = login(&watching);
    let on = "DBCC TRACEON (3004, 3605, -1) WITH NO_INFOMSGS; CREATE DATABASE mine";
    assert!(run(&mut w, on).is_empty());
    let counted = "SET NOCOUNT ON; SELECT cntr_value FROM sys.dm_os_performance_counters
                   WHERE counter_name = 'Write Transactions/sec' AND instance_name = 'mine'";
    let before = run(&mut w, counted);

    // Made by no session: tempdb's log, and those of the system databases.
    let other = start(&SimDisk::new(2).env());
    let mut o = login(&other);
    let work = "SET NOCOUNT ON; CREATE DATABASE theirs";
    assert!(run(&mut o, work).is_empty());
    let work = "SET NOCOUNT ON; USE theirs; CREATE TABLE t (i int); INSERT t VALUES (1); INSERT t VALUES (2)";
    run(&mut o, work);

    assert_eq!(run(&mut w, counted), before);
    let reported =
        "SET NOCOUNT ON; CREATE TABLE #l (at datetime, who nvarchar(12), text nvarchar(3999))
                INSERT #l EXEC xp_readerrorlog 0, 1, N'Zeroing'
                SELECT text FROM #l WHERE text NOT LIKE '%mine%'
                SELECT COUNT(*) FROM #l WHERE text LIKE '%mine%'";
    let reported = run(&mut w, reported);
    assert_eq!(reported, ["(text nvarchar(3999))", "( int)", "2"]);
    drop((w, o));
}
