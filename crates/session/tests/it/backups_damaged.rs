//! CONTINUE_AFTER_ERROR: a damaged database is backed up and restored as far as it goes, and everybody is told.

use std::path::Path;

use super::suspect_pages::{damage, listed, prepared};
use super::*;

const MOVED: &str = "MOVE 'b' TO '/data/c.mdf', MOVE 'b_log' TO '/data/c.ldf'";

fn number(lines: &[String]) -> Option<u32> {
    let number = |l: &String| l.strip_prefix("Msg ")?.split(',').next()?.parse().ok();
    lines.iter().find_map(number)
}

fn says(lines: &[String], text: &str) -> bool {
    lines.iter().any(|l| l.contains(text))
}

/// Backs `b` up, which has damaged pages, and restores it as `c`.
fn backed_up_and_restored(s: &mut Session, with: &str) {
    let backup = "BACKUP DATABASE b TO DISK = '/data/bad.bak'";
    let lines = run(s, &format!("{backup} WITH CHECKSUM"));
    assert_eq!(number(&lines), Some(3043), "{lines:?}");
    let lines = run(
        s,
        &format!("{backup} WITH FORMAT, CONTINUE_AFTER_ERROR{with}"),
    );
    assert_eq!(number(&lines), None, "{lines:?}");
    let made =
        "BACKUP WITH CONTINUE_AFTER_ERROR successfully generated a backup of the damaged database.";
    assert!(says(&lines, made), "{lines:?}");
    let known = "SELECT TOP 1 is_damaged FROM msdb.dbo.backupset ORDER BY backup_set_id DESC";
    assert_eq!(run(s, known)[1], "1");
    let lines = run(s, "RESTORE VERIFYONLY FROM DISK = '/data/bad.bak'");
    let written =
        "The backup set was written with damaged data by a BACKUP WITH CONTINUE_AFTER_ERROR.";
    assert!(says(&lines, written), "{lines:?}");
    let restore = format!("RESTORE DATABASE c FROM DISK = '/data/bad.bak' WITH {MOVED}");
    let lines = run(s, &restore);
    assert_eq!(number(&lines), Some(3183), "{lines:?}");
    let lines = run(s, &format!("{restore}, CONTINUE_AFTER_ERROR"));
    assert_eq!(number(&lines), None, "{lines:?}");
    let done = "RESTORE WITH CONTINUE_AFTER_ERROR was successful but some damage was encountered.";
    assert!(says(&lines, done), "{lines:?}");
}

/// The pages that are suspect in both databases, and that the log tells of.
fn reported(s: &mut Session, pages: &[u32]) {
    let in_b = listed(s);
    let in_c =
        "SELECT page_id FROM msdb.dbo.suspect_pages WHERE database_id = DB_ID('c') ORDER BY 1";
    let in_c = run(s, in_c);
    let log = run(
        s,
        "EXEC sys.sp_readerrorlog 0, 1, N'detected an error on page'",
    );
    for page in pages {
        assert!(says(&in_b, &format!("1 | {page} | ")), "{in_b:?}");
        assert!(in_c.contains(&page.to_string()), "{in_c:?}");
        let place = format!("(1:{page})");
        let times = |word: &str| log.iter().any(|l| l.contains(word) && l.contains(&place));
        assert!(times("BACKUP 'b'") && times("RESTORE detected"), "{log:?}");
    }
}

#[test]
fn a_damaged_page_goes_along() {
    for with in ["", ", CHECKSUM", ", COMPRESSION"] {
        let (disk, page) = prepared(91);
        damage(&disk, page);
        let mut s = alone_on(&disk.env());
        backed_up_and_restored(&mut s, with);
        reported(&mut s, &[page]);
        // What is not damaged is there; what is stays so.
        assert_eq!(
            run(&mut s, "SELECT COUNT(*) FROM c.dbo.t WHERE id = 1")[1],
            "1"
        );
        let read = run(&mut login(&s.instance), "SELECT MAX(pad) FROM c.dbo.t");
        assert_eq!(number(&read), Some(824), "{read:?}");
        let found = run(&mut s, "DBCC CHECKDB('c') WITH NO_INFOMSGS");
        assert!(says(&found, &format!("(1:{page})")), "{found:?}");
    }
}

#[test]
fn an_extent_without_a_sound_page_has_its_place() {
    let (disk, page) = prepared(92);
    let path = Path::new("/data/b.mdf");
    let first = page / 8 * 8;
    let bytes = disk.durable_bytes(path).expect("there");
    let pages: Vec<u32> = (first..first + 8)
        .filter(|n| bytes[*n as usize * 8192..][..8192].iter().any(|b| *b != 0))
        .collect();
    for n in &pages {
        // The header with the page's number, too.
        let at = u64::from(*n) * 8192;
        disk.damage(path, at + 24, &[0xA5; 64]).expect("damaged");
    }
    let mut s = alone_on(&disk.env());
    backed_up_and_restored(&mut s, "");
    reported(&mut s, &pages);
}

#[test]
fn nothing_is_said_of_a_sound_database() {
    let (disk, _) = prepared(93);
    let mut s = alone_on(&disk.env());
    let backup = "BACKUP DATABASE b TO DISK = '/data/good.bak' WITH CHECKSUM, CONTINUE_AFTER_ERROR";
    let lines = run(&mut s, backup);
    assert!(!says(&lines, "CONTINUE_AFTER_ERROR"), "{lines:?}");
    let restore = format!(
        "RESTORE DATABASE c FROM DISK = '/data/good.bak' WITH {MOVED}, CONTINUE_AFTER_ERROR, CHECKSUM"
    );
    let lines = run(&mut s, &restore);
    assert!(
        number(&lines).is_none() && !says(&lines, "damage"),
        "{lines:?}"
    );
    assert_eq!(
        run(&mut s, "SELECT COUNT(*), SUM(id) FROM c.dbo.t")[1],
        "200 | 20100"
    );
}
