//! tempdb's files: changed by statements, made again by the next start.

use duramen_os::sim::SimDisk;
use duramen_session::Session;

use super::{login, run, start};

fn files(s: &mut Session) -> Vec<String> {
    let mut reported = run(
        s,
        "SELECT file_id, type, name, physical_name, size * 8 / 1024, growth, is_percent_growth FROM tempdb.sys.database_files ORDER BY file_id",
    );
    let master = run(
        s,
        "SELECT file_id, type, name, physical_name, size * 8 / 1024, growth, is_percent_growth FROM sys.master_files WHERE database_id = 2 ORDER BY file_id",
    );
    assert_eq!(reported[1..], master[1..]);
    reported.remove(0);
    reported.retain(|l| !l.starts_with("rows"));
    reported
}

/// How many files of tempdb have pages of a table with rows.
fn spread(s: &mut Session) -> String {
    let reported = run(
        s,
        "SET NOCOUNT ON; SELECT REPLICATE('x', 3000) AS x INTO #t FROM GENERATE_SERIES(1, 4000);
         SELECT COUNT(DISTINCT file_id) FROM sys.dm_os_buffer_descriptors WHERE database_id = 2 AND page_type = 'DATA_PAGE';
         DROP TABLE #t",
    );
    let count = reported.iter().find_map(|l| l.parse::<usize>().ok());
    count.map_or_else(String::new, |n| n.to_string())
}

#[test]
fn files_outlive_a_start_and_are_made_as_they_were_asked_for() {
    let disk = SimDisk::new(21);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    let before = files(&mut s);
    let add = |n: u32| {
        format!(
            "ALTER DATABASE tempdb ADD FILE (NAME = more{n}, FILENAME = 'T:\\tmp\\more{n}.ndf', SIZE = 8MB, FILEGROWTH = 4MB)"
        )
    };
    for n in 1..=3 {
        assert!(run(&mut s, &add(n)).is_empty());
    }
    let n = before.len() + 3;
    assert_eq!(files(&mut s).len(), n);
    // All files take part, the new ones too.
    assert_eq!(spread(&mut s), (n - 1).to_string());
    let reported = run(
        &mut s,
        "ALTER DATABASE tempdb REMOVE FILE more2; ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, SIZE = 40MB);
         ALTER DATABASE tempdb MODIFY FILE (NAME = more1, NEWNAME = first, FILEGROWTH = 10%);
         ALTER DATABASE tempdb MODIFY FILE (NAME = templog, FILENAME = 'L:\\tlog.ldf');
         ALTER DATABASE tempdb MODIFY FILE (NAME = more3, FILENAME = 'L:\\more3.ndf')",
    );
    assert!(
        reported.iter().all(|l| l.starts_with("The file")),
        "{reported:?}"
    );
    assert_eq!(reported.len(), 4, "{reported:?}");
    let asked = files(&mut s);
    // It grows: the next start begins with what was asked for.
    run(
        &mut s,
        "SELECT REPLICATE('x', 7000) AS x INTO #big FROM GENERATE_SERIES(1, 12000)",
    );
    assert_ne!(files(&mut s), asked);
    drop(s);
    let disk = disk.crash(7);
    for round in 0..2 {
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(files(&mut s), asked, "{round}");
        assert_eq!(spread(&mut s), (n - 2).to_string());
        let there = |path: &str| disk.env().disk.exists(std::path::Path::new(path));
        assert!(there("/data/drives/L/tlog.ldf") && there("/data/drives/L/more3.ndf"));
        drop(s);
    }
    let reports = duramen_check::check_directory(&*disk.env().disk, "/data".as_ref());
    let reports = reports.expect("a directory");
    let left: Vec<_> = reports.iter().filter(|r| !r.checked).collect();
    assert!(
        left.len() >= n && reports.iter().all(|r| r.is_clean()),
        "{left:?}"
    );
}

#[test]
fn what_tempdb_cannot_have_is_refused() {
    let instance = start(&SimDisk::new(22).env());
    let mut s = login(&instance);
    run(
        &mut s,
        "CREATE DATABASE other ON (NAME = o, FILENAME = 'O:\\o.mdf')",
    );
    for (sql, number) in [
        ("ADD FILEGROUP g", 1826),
        ("ADD FILE (NAME = tempdev, FILENAME = 'T:\\x.ndf')", 1828),
        ("ADD FILE (NAME = x, FILENAME = 'O:\\o.mdf')", 5170),
        ("MODIFY FILE (NAME = tempdev, FILENAME = 'O:\\o.mdf')", 5170),
        ("MODIFY FILE (NAME = tempdev, SIZE = 1MB)", 5039),
        ("MODIFY FILE (NAME = nobody, FILENAME = 'T:\\y.ndf')", 5041),
        ("REMOVE FILE tempdev", 5020),
        ("REMOVE FILE templog", 5020),
        ("REMOVE FILE nobody", 5009),
        ("REMOVE FILEGROUP [PRIMARY]", 40517),
    ] {
        let reported = run(&mut s, &format!("ALTER DATABASE tempdb {sql}"));
        let first = format!("Msg {number},");
        assert!(
            reported.iter().any(|l| l.starts_with(&first)),
            "{sql}: {reported:?}"
        );
    }
}

#[test]
fn tempdb_has_a_ceiling_that_its_files_show_and_nothing_passes() {
    let disk = SimDisk::new(77);
    let mut config = super::config(Default::default());
    config.storage.files.max_tempdb = Some(128 << 20);
    let instance = duramen_session::start(&disk.env(), config).expect("it starts");
    let mut s = login(&instance);
    let mb = |s: &mut duramen_session::Session, what: &str| -> i64 {
        let sql =
            format!("SELECT SUM(CAST({what} AS bigint)) / 128 FROM tempdb.sys.database_files");
        run(s, &sql)[1].parse().expect("a number")
    };
    let most = mb(&mut s, "max_size");
    assert!((100..=128).contains(&most), "{most}");
    // However small the part of the log is: what stands in its way is a checkpoint away.
    let fill = "CREATE TABLE #t (c char(8000) NOT NULL); WHILE 1 = 1 BEGIN BEGIN TRY INSERT #t SELECT 'y' FROM GENERATE_SERIES(1, 500) END TRY BEGIN CATCH PRINT ERROR_NUMBER(); BREAK END CATCH END";
    let reported = run(&mut s, fill);
    assert_eq!(
        reported.last().map(String::as_str),
        Some("1105"),
        "{reported:?}"
    );
    let reported = run(&mut s, "INSERT #t SELECT 'y' FROM GENERATE_SERIES(1, 500)");
    assert!(
        reported[0].starts_with("Msg 1105, Level 17"),
        "{reported:?}"
    );
    assert!(mb(&mut s, "size") <= most);
    // That statement alone: the session goes on, and so does tempdb when there is room again.
    let rows: i64 = run(&mut s, "SELECT COUNT(*) FROM #t")[1]
        .parse()
        .expect("rows");
    assert!(rows > 5000 && rows % 500 == 0, "{rows}");
    let reported = run(
        &mut s,
        "DROP TABLE #t; SELECT 1 AS a INTO #u; SELECT a FROM #u",
    );
    assert_eq!(reported[reported.len() - 2], "1", "{reported:?}");
    // What nobody has said is not kept: the next start finds its own.
    run(
        &mut s,
        "ALTER DATABASE tempdb MODIFY FILE (NAME = templog, FILEGROWTH = 1MB)",
    );
    drop(s);
    instance.shutdown().expect("it closes");
    let mut config = super::config(Default::default());
    config.storage.files.max_tempdb = Some(256 << 20);
    let instance = duramen_session::start(&disk.env(), config).expect("it starts");
    let mut s = login(&instance);
    let now = mb(&mut s, "max_size");
    assert!((200..=256).contains(&now), "{now}");
    drop(s);
    instance.shutdown().expect("it closes");
}

#[test]
fn what_can_be_refused_leaves_the_rest_of_a_volume_to_the_logs() {
    let disk = SimDisk::new(78);
    let mut s = super::alone_on(&disk.env());
    run(
        &mut s,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'C:\\d.mdf', SIZE = 4MB, FILEGROWTH = 4MB) LOG ON (NAME = d_log, FILENAME = 'C:\\d.ldf', SIZE = 4MB, FILEGROWTH = 1MB)",
    );
    run(&mut s, "CREATE TABLE d.dbo.t (c char(8000) NOT NULL)");
    let env = disk.env();
    let used =
        env.disk.total_space("/".as_ref()).unwrap() - env.disk.free_space("/".as_ref()).unwrap();
    // Nine per cent are free, five of them kept: room for no growth of the data file.
    disk.set_volume(used * 100 / 91, 5);
    let room = env.disk.room("/".as_ref()).unwrap();
    assert!(room < 8 << 20, "{room}");
    let reported = run(
        &mut s,
        "INSERT d.dbo.t SELECT 'x' FROM GENERATE_SERIES(1, 3000)",
    );
    assert!(
        reported
            .iter()
            .any(|l| l.starts_with("Msg 1105") || l.starts_with("Msg 1101")),
        "{reported:?}"
    );
    let reported = run(
        &mut s,
        "ALTER DATABASE d MODIFY FILE (NAME = d, SIZE = 64MB)",
    );
    assert!(
        reported[0].starts_with("Msg 5149")
            && reported[0].contains("112(There is not enough space on the disk.)"),
        "{reported:?}"
    );
    let full = |s: &mut duramen_session::Session| {
        let reported = run(s, "BACKUP DATABASE d TO DISK = 'd.bak'");
        reported.iter().any(|l| {
            l.starts_with("Msg 3202")
                && l.ends_with("failed: 112(There is not enough space on the disk.)")
        })
    };
    let free = env.disk.free_space("/".as_ref()).unwrap();
    let used = env.disk.total_space("/".as_ref()).unwrap() - free;
    // So much is left that the set can begin.
    disk.set_volume((used + (300 << 10)) * 100 / 95, 5);
    assert!(full(&mut s));
    assert!(!env.disk.exists("/data/backup/d.bak".as_ref()));
    // The log has what is kept.
    let size = "SELECT size / 128 + 1 FROM d.sys.database_files WHERE type = 1";
    let more = run(&mut s, size)[1].clone();
    let reported = run(
        &mut s,
        &format!("ALTER DATABASE d MODIFY FILE (NAME = d_log, SIZE = {more}MB)"),
    );
    assert_eq!(reported, Vec::<String>::new());
    let reported = run(&mut s, "INSERT d.dbo.t VALUES ('y'); CHECKPOINT");
    assert_eq!(reported, ["rows 1"]);
    disk.set_volume(1 << 40, 5);
    let reported = run(
        &mut s,
        "BACKUP DATABASE d TO DISK = 'd.bak'; INSERT d.dbo.t SELECT 'x' FROM GENERATE_SERIES(1, 3000)",
    );
    assert!(
        reported.iter().all(|l| !l.starts_with("Msg ")),
        "{reported:?}"
    );
}

/// What was full once and is not any more is room for what spills, whoever asks for it, and the disk never has more than
/// the ceiling.
#[test]
fn room_that_a_dropped_table_leaves_is_for_what_spills() {
    const CEILING: u64 = 64 << 20;
    let disk = SimDisk::new(79);
    let mut config = super::config(Default::default());
    config.storage.files.max_tempdb = Some(CEILING);
    config.storage.memory = 12 << 20;
    let instance = duramen_session::start(&disk.env(), config).expect("it starts");
    let mut s = login(&instance);
    // At one moment: a file that is read before the others grow may have got shorter meanwhile.
    let on_disk = || {
        disk.used_by(|p| {
            let name = p.file_name().map(|n| n.to_string_lossy().into_owned());
            name.is_some_and(|n| n.starts_with("temp"))
        })
    };
    let fill = "CREATE TABLE #t (c char(8000) NOT NULL); WHILE 1 = 1 BEGIN BEGIN TRY INSERT #t SELECT 'y' FROM GENERATE_SERIES(1, 100) END TRY BEGIN CATCH PRINT ERROR_NUMBER(); BREAK END CATCH END";
    let sort = "SELECT COUNT(*) FROM (SELECT TOP (1000000) value, CAST(value AS char(1000)) AS c FROM GENERATE_SERIES(1, 12000) ORDER BY c DESC) d";
    for round in 0..2 {
        let reported = run(&mut s, fill);
        assert_eq!(
            reported.last().map(String::as_str),
            Some("1105"),
            "{reported:?}"
        );
        let reported = run(&mut s, sort);
        assert!(
            reported.iter().any(|l| l.starts_with("Msg 1105, Level 17")),
            "{round}: {reported:?}"
        );
        run(&mut s, "DROP TABLE #t");
        let sorts: Vec<_> = (0..3)
            .map(|n| {
                let instance = instance.clone();
                duramen_os::thread::spawn("sorts", move || {
                    let mut s = login(&instance);
                    (n, run(&mut s, sort))
                })
            })
            .collect();
        let mut most = 0;
        let mut done = 0;
        while sorts.iter().any(|t| !t.is_finished()) {
            most = most.max(on_disk());
            duramen_os::thread::sleep(std::time::Duration::from_millis(1));
        }
        for t in sorts {
            let (n, reported) = t.join().expect("a sort does not panic");
            match reported.get(1).map(String::as_str) {
                Some("12000") => done += 1,
                // Three at a time may be too much; that is told, and nothing else.
                _ => assert!(
                    reported.iter().any(|l| l.starts_with("Msg 1105, Level 17")),
                    "{round} {n}: {reported:?}"
                ),
            }
        }
        assert!(done > 0, "{round}");
        assert!(most <= CEILING, "{round}: {most}");
        let reported = run(&mut s, sort);
        assert_eq!(reported[1], "12000", "{round}: {reported:?}");
    }
    drop(s);
    instance.shutdown().expect("it closes");
}
