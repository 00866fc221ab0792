//! What is in memory is backed up from there; WITH CHECKSUM vouches for what is on the disk.

use std::path::Path;

use super::backups::all;
use super::*;

const BACKUP: &str = "BACKUP DATABASE b TO DISK = '/data/b.bak' WITH FORMAT";

#[test]
fn pages_in_memory_are_not_read_again() {
    let disk = SimDisk::new(91);
    let s = alone_on(&disk.env());
    let mut s = login(&s.instance);
    all(
        &mut s,
        &[
            "CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = '/data/b.mdf', SIZE = 4MB) LOG ON (NAME = b_log, FILENAME = '/data/b.ldf', SIZE = 4MB)",
            "CREATE TABLE b.dbo.t (id int NOT NULL PRIMARY KEY, pad char(1000) NOT NULL)",
            "INSERT b.dbo.t SELECT value, CONCAT('row-', value, '-') FROM GENERATE_SERIES(1, 1000)",
            "CHECKPOINT",
            BACKUP,
        ],
    );
    // The only copy of a row is the one in memory now.
    let path = Path::new("/data/b.mdf");
    let bytes = disk.durable_bytes(path).expect("there");
    let at = bytes.windows(8).position(|w| w == b"row-500-");
    disk.damage(path, at.expect("a page with the row") as u64, b"lost")
        .expect("damaged");
    let reported = run(&mut s, &format!("{BACKUP}, CHECKSUM"));
    assert!(
        reported.iter().any(|l| l.starts_with("Msg 3043,")),
        "{reported:?}"
    );
    all(
        &mut s,
        &[
            BACKUP,
            "DROP DATABASE b",
            "RESTORE DATABASE b FROM DISK = '/data/b.bak'",
        ],
    );
    let sound = "SELECT COUNT(*) FROM b.dbo.t WHERE pad = CONCAT('row-', id, '-')";
    assert_eq!(run(&mut s, sound)[1], "1000");
}
