//! `msdb.dbo.suspect_pages`: what reads, backups and checks find, and what becomes of it.

use std::path::Path;

use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault};

use super::backups::{all, done};
use super::*;

/// A database `b` with full log, 200 rows of which row 77 is on the page returned, and a full backup of it.
pub fn prepared(seed: u64) -> (Arc<SimDisk>, u32) {
    let (disk, instance) = done(
        seed,
        &[
            "CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = '/data/b.mdf', SIZE = 4MB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 2MB)",
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int NOT NULL PRIMARY KEY, n int NOT NULL, pad char(300) NOT NULL)",
            "INSERT b.dbo.t SELECT value, 0, CONCAT('row-', value, '-') FROM GENERATE_SERIES(1, 200)",
            "BACKUP DATABASE b TO DISK = '/data/full.bak'",
        ],
    );
    instance.shutdown().expect("a clean shutdown");
    let page = page_with(&disk, b"row-77-");
    (disk, page)
}

fn page_with(disk: &SimDisk, text: &[u8]) -> u32 {
    let bytes = disk.durable_bytes(Path::new("/data/b.mdf")).expect("there");
    let has = |p: &[u8]| p.windows(text.len()).any(|w| w == text);
    let page = bytes.chunks(8192).position(has);
    page.expect("a page with the row") as u32
}

/// Turns a bit in the middle of a page.
pub fn damage(disk: &SimDisk, page: u32) {
    let path = Path::new("/data/b.mdf");
    let at = u64::from(page) * 8192 + 4000;
    let byte = disk.durable_bytes(path).expect("there")[at as usize] ^ 0x10;
    disk.damage(path, at, &[byte]).expect("damaged");
}

pub fn listed(s: &mut Session) -> Vec<String> {
    let sql = "SELECT file_id, page_id, event_type, error_count FROM msdb.dbo.suspect_pages WHERE database_id = DB_ID('b') ORDER BY 1, 2";
    let mut lines = run(s, sql);
    lines.remove(0);
    lines.pop();
    lines
}

const READ: &str = "SELECT COUNT(*) FROM b.dbo.t WHERE pad = 'x'";

#[test]
fn a_damaged_page_has_a_row_until_it_is_restored() {
    let (disk, page) = prepared(71);
    damage(&disk, page);
    let s = alone_on(&disk.env());
    let number = |sql: &str| -> Option<u32> {
        let lines = run(&mut login(&s.instance), sql);
        lines
            .iter()
            .find_map(|l| l.strip_prefix("Msg ")?.split(',').next()?.parse().ok())
    };
    // The page's event, and how often it was met: a statement may try more than once.
    let row = || {
        let lines = listed(&mut login(&s.instance));
        let Some(line) = lines.first() else {
            return (0, 0);
        };
        let parts: Vec<u32> = line.split(" | ").filter_map(|n| n.parse().ok()).collect();
        assert_eq!((lines.len(), &parts[..2]), (1, &[1, page][..]));
        (parts[2], parts[3])
    };
    assert_eq!(row(), (0, 0));
    let mut met = 0;
    for (sql, error) in [
        (READ, 824),
        (READ, 824),
        ("DBCC CHECKDB('b') WITH NO_INFOMSGS", 8939),
        (
            "BACKUP DATABASE b TO DISK = '/data/2.bak' WITH CHECKSUM, COPY_ONLY",
            3043,
        ),
    ] {
        let lines = run(&mut login(&s.instance), sql);
        let msg = format!("Msg {error},");
        assert!(
            lines.iter().any(|l| l.starts_with(&msg)),
            "{sql}: {lines:?}"
        );
        let (event, times) = row();
        assert!(event == 2 && times > met, "{sql}: {event} {times} {met}");
        met = times;
    }
    all(
        &mut login(&s.instance),
        &["RESTORE DATABASE b FROM DISK = '/data/full.bak' WITH REPLACE"],
    );
    assert_eq!(row(), (4, met));
    assert_eq!(number(READ), None);
    all(&mut login(&s.instance), &["DROP DATABASE b"]);
    let left = run(
        &mut login(&s.instance),
        "SELECT COUNT(*) FROM msdb.dbo.suspect_pages",
    );
    assert_eq!(left[1], "0");
}

#[test]
fn what_a_check_finds_sound_is_repaired() {
    let (disk, page) = prepared(72);
    let s = alone_on(&disk.env());
    disk.add_fault(Fault {
        op: DiskOp::Read,
        path: Some("/data/b.mdf".into()),
        nth: 1,
        error: IoError::device("pread"),
        lasting: true,
    });
    let lines = run(&mut login(&s.instance), READ);
    assert!(lines.iter().any(|l| l.starts_with("Msg 823")), "{lines:?}");
    disk.clear_faults();
    let first = listed(&mut login(&s.instance));
    assert!(
        !first.is_empty() && first.iter().all(|l| l.contains(" | 1 | ")),
        "{first:?}"
    );
    // One that an administrator has noted, of a page that nobody uses.
    all(
        &mut login(&s.instance),
        &[
            "INSERT msdb.dbo.suspect_pages (database_id, file_id, page_id, event_type, error_count) VALUES (DB_ID('b'), 1, 500, 2, 7)",
        ],
    );
    all(
        &mut login(&s.instance),
        &["DBCC CHECKDB('b') WITH NO_INFOMSGS"],
    );
    let lines = listed(&mut login(&s.instance));
    let (last, rest) = lines.split_last().expect("rows");
    assert_eq!(last, "1 | 500 | 7 | 7");
    assert!(
        rest.len() == first.len() && rest.iter().all(|l| l.contains(" | 5 | ")),
        "{lines:?}"
    );
    assert!(page > 8);
}

#[test]
fn the_table_takes_a_thousand_rows_and_waits_for_nobody() {
    let (disk, page) = prepared(73);
    damage(&disk, page);
    let s = alone_on(&disk.env());
    all(
        &mut login(&s.instance),
        &[
            "INSERT msdb.dbo.suspect_pages SELECT 99, 1, value, 1, 1, GETDATE() FROM GENERATE_SERIES(1, 1000)",
        ],
    );
    run(&mut login(&s.instance), READ);
    assert_eq!(listed(&mut login(&s.instance)), Vec::<String>::new());
    all(
        &mut login(&s.instance),
        &["DELETE msdb.dbo.suspect_pages WHERE page_id > 900"],
    );
    run(&mut login(&s.instance), READ);
    assert_eq!(
        listed(&mut login(&s.instance)),
        [format!("1 | {page} | 2 | 1")]
    );
}
