//! Event sessions over a restart: what is kept, what starts with the server, what its files still tell.

use duramen_os::sim::SimDisk;

use crate::{alone_on, run};

const MADE: &str = "CREATE EVENT SESSION kept ON SERVER
ADD EVENT sqlserver.error_reported(ACTION(sqlserver.sql_text) WHERE error_number = 50000 AND message = N'it''s kept')
ADD TARGET package0.event_file(SET filename = N'kept', max_rollover_files = 3)
WITH (STARTUP_STATE = ON);
CREATE EVENT SESSION asleep ON SERVER ADD EVENT sqlserver.sql_batch_completed ADD TARGET package0.ring_buffer";
const RECEIVED: &str =
    "SELECT COUNT(*) FROM sys.fn_xe_file_target_read_file(N'kept*.xel', NULL, NULL, NULL)";
const NAMES: &str = "SELECT name FROM sys.dm_xe_sessions ORDER BY name";

#[test]
fn sessions_come_back_with_the_server() {
    let disk = SimDisk::new(7);
    let mut s = alone_on(&disk.env());
    run(&mut s, MADE);
    run(&mut s, "RAISERROR('it''s kept', 16, 1)");
    // STARTUP_STATE does not start it now.
    assert_eq!(run(&mut s, NAMES)[1..], ["system_health", "rows 1"]);
    run(&mut s, "ALTER EVENT SESSION kept ON SERVER STATE = START");
    run(&mut s, "ALTER EVENT SESSION asleep ON SERVER STATE = START");
    run(&mut s, "RAISERROR('it''s kept', 16, 1)");
    assert_eq!(run(&mut s, RECEIVED)[1], "1");
    run(&mut s, "RAISERROR('it''s kept', 16, 1)");
    drop(s);

    let mut s = alone_on(&disk.env());
    assert_eq!(run(&mut s, NAMES)[1..], ["kept", "system_health", "rows 2"]);
    run(&mut s, "RAISERROR('it''s kept', 16, 1)");
    // What came before the end and after the start, in a file of its own each.
    assert_eq!(run(&mut s, RECEIVED)[1], "3");
    let files = "SELECT COUNT(DISTINCT file_name) FROM sys.fn_xe_file_target_read_file(N'kept*.xel', NULL, NULL, NULL)";
    assert_eq!(run(&mut s, files)[1], "2");
    run(
        &mut s,
        "DROP EVENT SESSION kept ON SERVER; DROP EVENT SESSION system_health ON SERVER",
    );
    drop(s);

    let mut s = alone_on(&disk.env());
    let left = "SELECT name FROM sys.server_event_sessions";
    assert_eq!(run(&mut s, left)[1..], ["asleep", "rows 1"]);
    // The files stay.
    assert_eq!(run(&mut s, RECEIVED)[1], "3");
}

#[test]
fn a_torn_record_ends_a_file() {
    let disk = SimDisk::new(8);
    let mut s = alone_on(&disk.env());
    run(&mut s, MADE);
    run(&mut s, "ALTER EVENT SESSION kept ON SERVER STATE = START");
    for _ in 0..3 {
        run(&mut s, "RAISERROR('it''s kept', 16, 1)");
        assert!(run(&mut s, RECEIVED).len() > 1);
    }
    let last = "SELECT TOP 1 file_name, file_offset FROM sys.fn_xe_file_target_read_file(N'kept*.xel', NULL, NULL, NULL) ORDER BY file_offset DESC";
    let row = run(&mut s, last)[1].clone();
    let (file, offset) = row.split_once(" | ").expect("two columns");
    let name = file.rsplit('\\').next().expect("a name");
    let path = std::path::Path::new("/data/log").join(name);
    disk.damage(&path, offset.parse::<u64>().expect("an offset") + 12, b"?!")
        .expect("the file is there");
    assert_eq!(run(&mut s, RECEIVED)[1], "2");
}

#[test]
fn the_default_trace_goes_on_in_new_files_and_keeps_five() {
    let disk = SimDisk::new(9);
    for start in 1..=7 {
        let mut s = alone_on(&disk.env());
        let path = run(&mut s, "SELECT path FROM sys.traces");
        assert_eq!(path[1], format!("C:\\Duramen\\Log\\log_{start}.trc"));
        run(&mut s, &format!("CREATE TABLE t{start} (n int)"));
    }
    let mut s = alone_on(&disk.env());
    run(&mut s, "CREATE TABLE t8 (n int)");
    let names = "SELECT ObjectName FROM fn_trace_gettable(N'C:\\Duramen\\Log\\log.trc', DEFAULT) WHERE EventClass = 46";
    assert_eq!(
        run(&mut s, names)[1..],
        ["t4", "t5", "t6", "t7", "t8", "rows 5"]
    );
    let stops = "SELECT COUNT(*) FROM fn_trace_gettable((SELECT path FROM sys.traces), DEFAULT) WHERE EventClass = 18";
    assert_eq!(run(&mut s, stops)[1], "1");
    // From one file on, and that one alone.
    let one = "SELECT ObjectName FROM fn_trace_gettable(N'C:\\Duramen\\Log\\log_6.trc', 1) WHERE EventClass = 46";
    assert_eq!(run(&mut s, one)[1..], ["t6", "rows 1"]);
}

/// Several sessions fire more events than the memory holds, all at once: every event comes to the targets, and who found
/// no room has waited. A session that may lose events loses some of the same.
#[test]
fn nothing_is_lost_that_may_not_be() {
    const SESSIONS: usize = 4;
    const EACH: usize = 150;
    let disk = SimDisk::new(10);
    let mut s = alone_on(&disk.env());
    // An event is some 6 KB, the memory 200.
    let make = |name: &str, mode: &str| {
        format!(
            "CREATE EVENT SESSION {name} ON SERVER ADD EVENT sqlserver.sql_batch_completed(WHERE sqlserver.like_i_sql_unicode_string(batch_text, N'SELECT 1 %'))
            ADD TARGET package0.event_counter, ADD TARGET package0.event_file(SET filename = N'{name}', max_file_size = 100)
            WITH (MAX_MEMORY = 200 KB, EVENT_RETENTION_MODE = {mode}, MAX_DISPATCH_LATENCY = INFINITE);
            ALTER EVENT SESSION {name} ON SERVER STATE = START"
        )
    };
    for (name, mode) in [
        ("kept", "NO_EVENT_LOSS"),
        ("single", "ALLOW_SINGLE_EVENT_LOSS"),
        ("several", "ALLOW_MULTIPLE_EVENT_LOSS"),
    ] {
        assert_eq!(run(&mut s, &make(name, mode)), [""; 0]);
    }
    let pad = "x".repeat(6000);
    let threads: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let mut own = crate::login(&s.instance);
            let text = format!("SELECT 1 /* noted {pad} */");
            duramen_os::thread::spawn("firing", move || {
                for _ in 0..EACH {
                    run(&mut own, &text);
                }
            })
        })
        .collect();
    for t in threads {
        t.join().expect("it ends");
    }
    let counted = "SELECT s.name, CAST(t.target_data AS xml).value('(//Event/@count)[1]', 'int')
        FROM sys.dm_xe_sessions s JOIN sys.dm_xe_session_targets t ON t.event_session_address = s.address
        WHERE t.target_name = N'event_counter' AND s.name = N'kept'";
    let all = SESSIONS * EACH;
    assert_eq!(run(&mut s, counted)[1], format!("kept | {all}"));
    let tally = "SELECT dropped_event_count + dropped_buffer_count, buffer_policy_desc, CASE WHEN blocked_event_fire_time > 0 THEN 1 ELSE 0 END,
        CASE WHEN dropped_buffer_count > 0 THEN 1 ELSE 0 END, CASE WHEN dropped_event_count > 0 THEN 1 ELSE 0 END
        FROM sys.dm_xe_sessions WHERE name IN (N'kept', N'single', N'several') ORDER BY name";
    let reported = run(&mut s, tally);
    assert_eq!(reported[1], "0 | block | 1 | 0 | 0");
    // Whether these have lost something is a matter of speed; what they say of it is not.
    for (line, policy, other) in [
        (&reported[2], "drop_buffer", 4),
        (&reported[3], "drop_event", 3),
    ] {
        let fields: Vec<&str> = line.split(" | ").collect();
        assert_eq!((fields[1], fields[2], fields[other]), (policy, "0", "0"));
    }
    let waited = "SELECT CASE WHEN waiting_tasks_count > 0 THEN 1 END FROM sys.dm_os_wait_stats WHERE wait_type = N'XE_BUFFERMGR_FREEBUF_EVENT'";
    assert_eq!(run(&mut s, waited)[1], "1");
    let kept =
        "SELECT COUNT(*) FROM sys.fn_xe_file_target_read_file(N'kept*.xel', NULL, NULL, NULL)";
    assert_eq!(run(&mut s, kept)[1], all.to_string());
}
