//! A log that has grown to its end, full of what a statement has loaded, and the power that fails: the next start finds room
//! to undo it, wherever the log had let go of room before.

use super::*;

#[test]
fn a_load_that_fills_its_log_is_undone_by_the_next_start() {
    for seed in 0..4 {
        let disk = SimDisk::new(seed);
        let instance = start(&disk.env());
        let mut s = login(&instance);
        let make = "CREATE DATABASE b ON (NAME = b, FILENAME = '/data/b.mdf', SIZE = 1MB, FILEGROWTH = 512KB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 1MB, FILEGROWTH = 512KB, MAXSIZE = 2MB)";
        assert_eq!(run(&mut s, make), Vec::<String>::new());
        run(
            &mut s,
            "CREATE TABLE b.dbo.t (id int NOT NULL, c varchar(max) NULL, e varbinary(max) NULL, CONSTRAINT u UNIQUE NONCLUSTERED (id))",
        );
        // The reply to a client waits for its commits; here nobody has waited.
        assert_eq!(run(&mut s, "USE b; EXEC sp_flush_log")[1..], [""; 0]);
        let load = format!(
            "INSERT b.dbo.t SELECT value, REPLICATE(CONVERT(varchar(max), 'p'), 21844), CONVERT(varbinary(max), REPLICATE('p', 1642)) FROM GENERATE_SERIES(1, {})",
            32 + 4 * seed
        );
        let reported = run(&mut s, &load);
        assert!(
            reported[0].starts_with("Msg 9002, Level 17"),
            "{reported:?}"
        );
        for crash in 0..4 {
            let after = disk.crash(seed * 100 + crash);
            let instance = start(&after.env());
            let mut s = login(&instance);
            let asked = "SELECT state_desc FROM sys.databases WHERE name = 'b'; SELECT COUNT(*) FROM b.dbo.t; DBCC CHECKDB (b) WITH NO_INFOMSGS";
            let reported = run(&mut s, asked);
            assert_eq!(reported[1], "ONLINE", "{seed} {crash}");
            assert_eq!(
                reported.get(4).map(String::as_str),
                Some("0"),
                "{seed} {crash}: {reported:?}"
            );
        }
    }
}
