//! tempdb's files: changed by statements, made again by the next start.

use duramen_os::sim::SimDisk;
use duramen_session::Session;

use super::{login, run, start};

fn files(s: &mut Session) -> Vec<String> {
    let mut told = run(
        s,
        "SELECT file_id, type, name, physical_name, size * 8 / 1024, growth, is_percent_growth FROM tempdb.sys.database_files ORDER BY file_id",
    );
    let master = run(
        s,
        "SELECT file_id, type, name, physical_name, size * 8 / 1024, growth, is_percent_growth FROM sys.master_files WHERE database_id = 2 ORDER BY file_id",
    );
    assert_eq!(told[1..], master[1..]);
    told.remove(0);
    told.retain(|l| !l.starts_with("rows"));
    told
}

/// How many files of tempdb have pages of a table with rows.
fn spread(s: &mut Session) -> String {
    let told = run(
        s,
        "SET NOCOUNT ON; SELECT REPLICATE('x', 3000) AS x INTO #t FROM GENERATE_SERIES(1, 4000);
         SELECT COUNT(DISTINCT file_id) FROM sys.dm_os_buffer_descriptors WHERE database_id = 2 AND page_type = 'DATA_PAGE';
         DROP TABLE #t",
    );
    let count = told.iter().find_map(|l| l.parse::<usize>().ok());
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
    let told = run(
        &mut s,
        "ALTER DATABASE tempdb REMOVE FILE more2; ALTER DATABASE tempdb MODIFY FILE (NAME = tempdev, SIZE = 40MB);
         ALTER DATABASE tempdb MODIFY FILE (NAME = more1, NEWNAME = first, FILEGROWTH = 10%);
         ALTER DATABASE tempdb MODIFY FILE (NAME = templog, FILENAME = 'L:\\tlog.ldf');
         ALTER DATABASE tempdb MODIFY FILE (NAME = more3, FILENAME = 'L:\\more3.ndf')",
    );
    assert!(told.iter().all(|l| l.starts_with("The file")), "{told:?}");
    assert_eq!(told.len(), 4, "{told:?}");
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
    let reports = duramen_storage::check::check_directory(&*disk.env().disk, "/data".as_ref());
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
        let told = run(&mut s, &format!("ALTER DATABASE tempdb {sql}"));
        let first = format!("Msg {number},");
        assert!(
            told.iter().any(|l| l.starts_with(&first)),
            "{sql}: {told:?}"
        );
    }
}
