//! BACKUP WITH COMPRESSION: chains, stripes, media of one kind, and what is told of their size.

use super::backups::{MAKE, MOVE, all, bytes_of, numbers};
use super::*;

const FILL: &str = "INSERT b.dbo.t SELECT TOP 1500 ROW_NUMBER() OVER (ORDER BY (SELECT 1)), 'region' + STR(column_id), NEWID() FROM sys.all_columns";

fn made(s: &mut Session) {
    all(
        s,
        &[
            MAKE,
            "ALTER DATABASE b SET RECOVERY FULL",
            "CREATE TABLE b.dbo.t (id int PRIMARY KEY, x char(900), g uniqueidentifier)",
            FILL,
        ],
    );
}

#[test]
fn a_compressed_chain_brings_back_every_row() {
    let env = SimDisk::new(61).env();
    let instance = start(&env);
    let mut s = login(&instance);
    made(&mut s);
    all(
        &mut s,
        &[
            "BACKUP DATABASE b TO DISK = 'plain.bak' WITH COPY_ONLY",
            "BACKUP DATABASE b TO DISK = 'b.bak' WITH INIT, SKIP, COMPRESSION, STATS = 50",
            "DELETE b.dbo.t WHERE id % 10 = 0",
            "BACKUP DATABASE b TO DISK = 'b.bak' WITH DIFFERENTIAL, COMPRESSION, CHECKSUM",
            "INSERT b.dbo.t VALUES (5000, 'late', NEWID())",
            // As the others of the media set.
            "BACKUP LOG b TO DISK = 'b.bak'",
        ],
    );
    let (plain, packed) = (
        bytes_of(&env, "/data/backup/plain.bak").len(),
        bytes_of(&env, "/data/backup/b.bak").len(),
    );
    assert!(packed < plain / 3, "{packed} of {plain}");
    for n in 1..=3 {
        let verify = format!("RESTORE VERIFYONLY FROM DISK = 'b.bak' WITH FILE = {n}");
        all(&mut s, &[&verify]);
    }
    let sum = "SELECT COUNT(*), MAX(id), COUNT(DISTINCT g), SUM(CONVERT(bigint, CONVERT(binary(6), g))) FROM";
    let before = numbers(&mut s, &format!("{sum} b.dbo.t"));
    assert!(before.starts_with("1351 | 5000 | 1351 | "), "{before}");
    all(
        &mut s,
        &[
            &format!("RESTORE DATABASE c FROM DISK = 'b.bak' WITH NORECOVERY, {MOVE}"),
            "RESTORE DATABASE c FROM DISK = 'b.bak' WITH FILE = 2, NORECOVERY",
            "RESTORE LOG c FROM DISK = 'b.bak' WITH FILE = 3",
        ],
    );
    assert_eq!(numbers(&mut s, &format!("{sum} c.dbo.t")), before);
    let header = run(&mut s, "RESTORE HEADERONLY FROM DISK = 'b.bak'");
    let names: Vec<&str> = header[0].trim_matches(['(', ')']).split(", ").collect();
    let column = |row: &str, name: &str| {
        let place = names.iter().position(|n| n.starts_with(name));
        row.split(" | ").nth(place.expect(name)).map(str::to_owned)
    };
    let mut stored = Vec::new();
    for row in &header[1..4] {
        assert_eq!(column(row, "Compressed bit").as_deref(), Some("1"));
        assert_eq!(
            column(row, "CompressionAlgorithm").as_deref(),
            Some("MS_XPRESS")
        );
        stored.push(column(row, "CompressedBackupSize").expect("a size"));
    }
    // Behind the medium's first 16 bytes they fill it.
    let sizes: usize = stored.iter().map(|n| n.parse().unwrap_or(0)).sum();
    assert_eq!(sizes, packed, "{stored:?}");
    let reported = run(
        &mut s,
        "SELECT s.compressed_backup_size, m.is_compressed FROM msdb.dbo.backupset s JOIN msdb.dbo.backupmediaset m ON m.media_set_id = s.media_set_id WHERE is_copy_only = 0 ORDER BY backup_set_id",
    );
    let expected: Vec<String> = stored.iter().map(|n| format!("{n} | 1")).collect();
    assert_eq!(reported[1..4], expected);
    let dumped = "SELECT COUNT(*) FROM fn_dump_dblog(NULL, NULL, N'DISK', 3, N'b.bak') WHERE Operation = 'LOP_COMMIT_XACT'";
    assert_ne!(run(&mut s, dumped)[1], "0");
}

#[test]
fn compressed_stripes_are_one_set() {
    let env = SimDisk::new(62).env();
    let instance = start(&env);
    let mut s = login(&instance);
    made(&mut s);
    let two = "DISK = 's1.bak', DISK = 's2.bak'";
    all(
        &mut s,
        &[
            &format!("BACKUP DATABASE b TO {two} WITH COMPRESSION"),
            &format!("RESTORE VERIFYONLY FROM {two}"),
            &format!("RESTORE DATABASE c FROM {two} WITH {MOVE}"),
            "BACKUP DATABASE b TO DISK = 'nul' WITH COMPRESSION, COPY_ONLY",
        ],
    );
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM c.dbo.t"), "1500");
    // To nowhere it has a size as well, and the same one but for a header or two.
    let reported = run(
        &mut s,
        "SELECT compressed_backup_size, backup_size FROM msdb.dbo.backupset ORDER BY backup_set_id",
    );
    let size = |row: &String| row.split(" | ").next().and_then(|n| n.parse::<i64>().ok());
    let (one, other) = (
        size(&reported[1]).expect("a size"),
        size(&reported[2]).expect("one"),
    );
    assert!((one - other).abs() < 60_000, "{reported:?}");
    // Any bit of either is missed.
    let path = "/data/backup/s2.bak".as_ref();
    let file = env.disk.open(path, &Default::default()).expect("opens");
    let middle = file.len().expect("a length") / 2;
    let mut byte = [0];
    file.read_at(&mut byte, middle).expect("read");
    file.write_at(&[byte[0] ^ 8], middle).expect("written");
    let verified = run(&mut s, &format!("RESTORE VERIFYONLY FROM {two}"));
    assert!(
        verified[0].starts_with("Msg 3189,") || verified[0].starts_with("Msg 3203,"),
        "{verified:?}"
    );
}

#[test]
fn a_media_set_is_of_one_kind() {
    let env = SimDisk::new(63).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "BACKUP DATABASE b TO DISK = 'p.bak'",
            "BACKUP DATABASE b TO DISK = 'c.bak' WITH COMPRESSION",
        ],
    );
    let mut number = |sql: &str| run(&mut s, sql)[0].chars().take(9).collect::<String>();
    let asked = "BACKUP DATABASE b TO DISK = 'p.bak' WITH COMPRESSION";
    assert_eq!(number(asked), "Msg 3098,");
    let refused = "BACKUP DATABASE b TO DISK = 'c.bak' WITH NO_COMPRESSION";
    assert_eq!(number(refused), "Msg 3098,");
    let both = "BACKUP DATABASE b TO DISK = 'x.bak' WITH NO_COMPRESSION, COMPRESSION";
    assert_eq!(number(both), "Msg 3031,");
    // What is there decides before the setting, and the setting before nothing.
    all(
        &mut s,
        &[
            "EXEC sp_configure 'backup compression default', 1; RECONFIGURE",
            "BACKUP DATABASE b TO DISK = 'p.bak'",
            "BACKUP DATABASE b TO DISK = 'n.bak'",
            "BACKUP DATABASE b TO DISK = 'o.bak' WITH NO_COMPRESSION",
            "BACKUP DATABASE b TO DISK = 'p.bak' WITH FORMAT, COMPRESSION",
        ],
    );
    for (name, packed) in [("p", true), ("n", true), ("o", false), ("c", true)] {
        let bytes = bytes_of(&env, &format!("/data/backup/{name}.bak"));
        assert_eq!(bytes.starts_with(b"MSSQLBAK"), packed, "{name}");
    }
}
