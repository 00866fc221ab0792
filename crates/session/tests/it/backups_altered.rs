//! Media that are not what they should be: short, altered, foreign. The server stays as it was.

use duramen_os::random::Rng;
use duramen_os::sim::{DiskOp, Fault};
use duramen_os::{IoError, OpenOptions};

use super::backups::{MAKE, MOVE, all, bytes_of, numbers};
use super::*;

fn write(env: &Env, path: &str, bytes: &[u8]) {
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path.as_ref(), &options).expect("opens");
    file.set_len(bytes.len() as u64).expect("a length");
    file.write_at(bytes, 0).expect("written");
}

fn number(line: &str) -> i32 {
    let digits = line.strip_prefix("Msg ").and_then(|l| l.split(',').next());
    digits.and_then(|d| d.parse().ok()).unwrap_or(0)
}

#[test]
fn an_altered_backup_changes_nothing() {
    alter("CHECKSUM");
}

#[test]
fn an_altered_compressed_backup_changes_nothing() {
    alter("COMPRESSION");
}

/// A bit of the backup turned, or its end cut off, again and again.
fn alter(with: &str) {
    let env = SimDisk::new(21).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(
        &mut s,
        &[
            MAKE,
            "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, x varchar(900))",
        ],
    );
    all(
        &mut s,
        &["INSERT b.dbo.t VALUES ('one'), ('two'), (REPLICATE('x', 900))"],
    );
    all(
        &mut s,
        &[&format!(
            "BACKUP DATABASE b TO DISK = '/data/b.bak' WITH {with}"
        )],
    );
    let whole = bytes_of(&env, "/data/b.bak");
    let restore = format!("RESTORE DATABASE c FROM DISK = '/data/bad.bak' WITH {MOVE}");
    let look = "SELECT SUM(LEN(x)), COUNT(*) FROM c.dbo.t";
    let mut rng = Rng::new(5);
    let mut refused = std::collections::BTreeMap::new();
    for n in 0..160 {
        let mut bytes = whole.clone();
        let short = n % 4 == 0;
        let at = match n % 8 {
            // Blocks at both ends; data and log.
            0..3 => rng.below(8192) as usize,
            3 => bytes.len() - 1 - rng.below(8192) as usize,
            _ => rng.below(bytes.len() as u64) as usize,
        };
        match short {
            true => bytes.truncate(at),
            false => bytes[at] ^= 1 << rng.below(8),
        }
        write(&env, "/data/bad.bak", &bytes);
        let verified = run(&mut s, "RESTORE VERIFYONLY FROM DISK = '/data/bad.bak'");
        let lines = run(&mut s, &restore);
        let first = number(&lines[0]);
        if first == 0 {
            // What was hit says nothing about the database: padding, names, dates.
            assert!(!short, "{at} of {} bytes: {lines:?}", whole.len());
            assert_eq!(numbers(&mut s, look), "906 | 3", "byte {at}");
            all(&mut s, &["DROP DATABASE c"]);
            continue;
        }
        assert_eq!(
            number(&verified[0]),
            first,
            "byte {at}: {verified:?} and {lines:?}"
        );
        assert!(
            [3203, 3241, 3189, 3183, 3287].contains(&first),
            "byte {at}: {lines:?}"
        );
        assert_eq!(number(lines.last().expect("3013")), 3013, "{lines:?}");
        *refused.entry(first).or_insert(0) += 1;
        let there = numbers(
            &mut s,
            "SELECT COUNT(*) FROM sys.databases WHERE name LIKE 'c%'",
        );
        assert_eq!(there, "0", "byte {at}");
        let files = env.disk.list("/data".as_ref()).expect("listed");
        let left = files.iter().filter(|f| f.to_string_lossy().contains("/c."));
        assert_eq!(left.count(), 0, "byte {at}");
    }
    assert!(refused.values().sum::<i32>() > 100, "{refused:?}");
    // Over a database that is there: it stays.
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    write(&env, "/data/bad.bak", &bytes);
    let lines = run(
        &mut s,
        "RESTORE DATABASE b FROM DISK = '/data/bad.bak' WITH REPLACE",
    );
    assert_eq!(number(&lines[0]), 3189, "{lines:?}");
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM b.dbo.t"), "3");
    // And from the whole one it comes back as it was then.
    all(
        &mut s,
        &[
            "DELETE b.dbo.t",
            "RESTORE DATABASE b FROM DISK = '/data/b.bak' WITH REPLACE",
        ],
    );
    assert_eq!(numbers(&mut s, "SELECT COUNT(*) FROM b.dbo.t"), "3");
    drop(s);
    instance.shutdown().expect("it closes");
}

#[test]
fn what_is_no_backup_is_refused() {
    let env = SimDisk::new(22).env();
    let instance = start(&env);
    let mut s = login(&instance);
    write(
        &env,
        "/data/text.bak",
        b"this is not a backup, but it is long enough to be looked at in every way",
    );
    write(&env, "/data/empty.bak", b"");
    for what in [
        "HEADERONLY",
        "FILELISTONLY",
        "LABELONLY",
        "VERIFYONLY",
        "DATABASE c",
    ] {
        for (file, expected) in [
            ("/data/text.bak", 3241),
            ("/data/empty.bak", 3241),
            ("/data/none.bak", 3201),
        ] {
            let lines = run(&mut s, &format!("RESTORE {what} FROM DISK = '{file}'"));
            assert_eq!(number(&lines[0]), expected, "{what} {file}: {lines:?}");
            assert_eq!(
                number(lines.last().expect("3013")),
                3013,
                "{what} {file}: {lines:?}"
            );
        }
    }
    let lines = run(&mut s, "BACKUP DATABASE model TO DISK = '/data/text.bak'");
    assert_eq!(number(&lines[0]), 3241, "{lines:?}");
    all(
        &mut s,
        &["BACKUP DATABASE model TO DISK = '/data/empty.bak' WITH FORMAT"],
    );
    all(
        &mut s,
        &["RESTORE VERIFYONLY FROM DISK = '/data/empty.bak'"],
    );
    drop(s);
    instance.shutdown().expect("it closes");
}

#[test]
fn a_differential_backup_has_what_has_changed() {
    let env = SimDisk::new(23).env();
    let instance = start(&env);
    let mut s = login(&instance);
    let pages = |lines: &[String]| -> u32 {
        let line = lines
            .iter()
            .find(|l| l.contains("successfully processed"))
            .expect("3014");
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().position(|w| *w == "pages").expect("pages");
        words[at - 1].parse().expect("a number")
    };
    all(
        &mut s,
        &[
            MAKE,
            "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, x char(4000))",
        ],
    );
    let fill = "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 400 BEGIN INSERT b.dbo.t VALUES ('x'); SET @i += 1 END";
    all(&mut s, &[fill]);
    let lines = run(
        &mut s,
        "BACKUP DATABASE b TO DISK = '/data/d.bak' WITH DIFFERENTIAL",
    );
    assert_eq!(number(&lines[0]), 3035, "{lines:?}");
    let full = pages(&run(&mut s, "BACKUP DATABASE b TO DISK = '/data/f.bak'"));
    all(&mut s, &["UPDATE b.dbo.t SET x = 'changed' WHERE id = 7"]);
    let lines = run(
        &mut s,
        "BACKUP DATABASE b TO DISK = '/data/d.bak' WITH DIFFERENTIAL",
    );
    assert!(
        lines
            .iter()
            .any(|l| l.starts_with("BACKUP DATABASE WITH DIFFERENTIAL successfully processed")),
        "{lines:?}"
    );
    let small = pages(&lines);
    assert!(small * 2 < full, "{small} of {full} pages");
    // Cumulative since the full backup; a copy-only one is no base.
    all(
        &mut s,
        &[
            fill,
            "BACKUP DATABASE b TO DISK = 'nul' WITH COPY_ONLY",
            "DELETE b.dbo.t WHERE id < 5",
        ],
    );
    all(
        &mut s,
        &["BACKUP DATABASE b TO DISK = '/data/d2.bak' WITH DIFFERENTIAL"],
    );
    let base = |s: &mut Session| {
        all(
            s,
            &[&format!(
                "RESTORE DATABASE c FROM DISK = '/data/f.bak' WITH {MOVE}, NORECOVERY"
            )],
        )
    };
    base(&mut s);
    all(&mut s, &["RESTORE DATABASE c FROM DISK = '/data/d.bak'"]);
    let looked = "SELECT (SELECT COUNT(*) FROM c.dbo.t) n, CAST(RTRIM(x) AS varchar(20)) x FROM c.dbo.t WHERE id = 7";
    assert_eq!(numbers(&mut s, looked), "400 | changed");
    all(&mut s, &["DROP DATABASE c"]);
    base(&mut s);
    all(
        &mut s,
        &["RESTORE DATABASE c FROM DISK = '/data/d.bak' WITH NORECOVERY"],
    );
    all(
        &mut s,
        &[
            "RESTORE DATABASE c FROM DISK = '/data/d2.bak' WITH NORECOVERY",
            "RESTORE DATABASE c WITH RECOVERY",
        ],
    );
    assert_eq!(
        numbers(&mut s, "SELECT COUNT(*), MIN(id) FROM c.dbo.t"),
        "796 | 5"
    );
    // Another full backup is another base.
    all(
        &mut s,
        &[
            "BACKUP DATABASE b TO DISK = 'nul'",
            "BACKUP DATABASE b TO DISK = '/data/d3.bak' WITH DIFFERENTIAL",
        ],
    );
    all(&mut s, &["DROP DATABASE c"]);
    base(&mut s);
    let lines = run(&mut s, "RESTORE DATABASE c FROM DISK = '/data/d3.bak'");
    assert_eq!(number(&lines[0]), 3136, "{lines:?}");
    drop(s);
    instance.shutdown().expect("it closes");
}

pub fn refusals(session: &mut Session, sql: &str) -> Vec<i32> {
    let lines = run(session, sql);
    lines
        .iter()
        .map(|l| number(l))
        .filter(|n| *n != 0)
        .collect()
}

/// WITH INIT keeps the header of a medium, and so needs one: of whatever else is there it keeps its hands. What has
/// nothing but zeros, as a crash may leave it, is a medium that nobody has written to.
#[test]
fn init_overwrites_media_and_nothing_else() {
    let env = SimDisk::new(22).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(&mut s, &[MAKE]);
    let backup = |with: &str| format!("BACKUP DATABASE b TO DISK = '/data/b.bak' WITH {with}");
    let letter = b"Dear Sir or Madam, ".repeat(500);
    write(&env, "/data/b.bak", &letter);
    for with in ["INIT, SKIP", "FORMAT", "INIT, FORMAT, SKIP"] {
        let reported = run(&mut s, &backup(with));
        let denied =
            "Cannot open backup device '/data/b.bak'. Operating system error 5(Access is denied.).";
        assert!(
            reported[0].contains("Msg 3201") && reported[0].ends_with(denied),
            "{reported:?}"
        );
    }
    assert_eq!(bytes_of(&env, "/data/b.bak"), letter);
    // Also what begins as nothing may be the rest of something.
    write(&env, "/data/b.bak", &[0; 70_000]);
    assert_eq!(refusals(&mut s, &backup("FORMAT")), [3201, 3013]);
    env.disk.remove("/data/b.bak".as_ref()).unwrap();
    let label = "RESTORE LABELONLY FROM DISK = '/data/b.bak'";
    all(&mut s, &[&backup("INIT, FORMAT, MEDIANAME = 'one'")]);
    let first = run(&mut s, label);
    // A first backup that was cut short before its header.
    let mut begun = vec![0; 70_000];
    begun[..4].copy_from_slice(b"TAPE");
    write(&env, "/data/b.bak", &begun);
    all(&mut s, &[&backup("INIT, MEDIANAME = 'two'")]);
    let second = run(&mut s, label);
    assert_ne!(first[1], second[1]);
    // Cut short in its first set, the medium has its header.
    let whole = bytes_of(&env, "/data/b.bak");
    write(&env, "/data/b.bak", &whole[..60_000]);
    all(&mut s, &[&backup("INIT")]);
    assert_eq!(run(&mut s, label), second);
    // Power may fail between the sectors of the header.
    for lost in 0..3 {
        let mut torn = whole.clone();
        torn[512 * lost..512 * (lost + 1)].fill(0);
        if lost == 0 {
            torn[..4].copy_from_slice(b"TAPE");
        }
        write(&env, "/data/b.bak", &torn);
        all(&mut s, &[&backup("INIT")]);
    }
    // Or before the file has the length of one.
    for length in [8, 600, 1500] {
        write(&env, "/data/b.bak", &whole[..length]);
        all(&mut s, &[&backup("INIT")]);
    }
    // Or when the file has the length of a medium that begins, and not its bytes.
    for length in [1, 4, 8] {
        write(&env, "/data/b.bak", &vec![0; length]);
        all(&mut s, &[&backup("INIT")]);
    }
    for other in [&[0; 9][..], b"dear"] {
        write(&env, "/data/b.bak", other);
        assert_eq!(refusals(&mut s, &backup("INIT")), [3201, 3013]);
    }
}

/// One of two media has a set that has not expired: the other's sets are still there when that is found out.
#[test]
fn nothing_is_overwritten_before_all_media_are_fit() {
    let env = SimDisk::new(23).env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(&mut s, &[MAKE]);
    let two = "BACKUP DATABASE b TO DISK = '/data/1.bak', DISK = '/data/2.bak'";
    all(&mut s, &[two]);
    let first = bytes_of(&env, "/data/1.bak");
    let other = "BACKUP DATABASE b TO DISK = '/data/x.bak', DISK = '/data/2.bak' WITH FORMAT";
    all(&mut s, &[other]);
    let refused = refusals(&mut s, &format!("{two} WITH INIT"));
    assert_eq!(refused, [3258, 3013]);
    assert_eq!(bytes_of(&env, "/data/1.bak"), first);
    all(&mut s, &[&format!("{two} WITH FORMAT, RETAINDAYS = 1")]);
    let kept = bytes_of(&env, "/data/1.bak");
    let refused = refusals(&mut s, &format!("{two} WITH INIT"));
    assert_eq!(refused, [3013]);
    assert_eq!(bytes_of(&env, "/data/1.bak"), kept);
    all(&mut s, &[&format!("{two} WITH INIT, SKIP")]);
    all(
        &mut s,
        &["RESTORE VERIFYONLY FROM DISK = '/data/2.bak', DISK = '/data/1.bak'"],
    );
}

/// The disk fails while a restore makes its files: they are gone, whenever power fails afterwards, and the next restore finds
/// their places free.
#[test]
fn files_of_a_restore_that_failed_do_not_come_back() {
    let disk = SimDisk::new(24);
    let env = disk.env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(&mut s, &[MAKE, "BACKUP DATABASE b TO DISK = '/data/b.bak'"]);
    let restore = "RESTORE DATABASE r FROM DISK = '/data/b.bak' WITH REPLACE, \
                   MOVE 'b' TO '/data/r.mdf', MOVE 'b_log' TO '/data/r.ldf'";
    disk.add_fault(Fault {
        op: DiskOp::Write,
        path: Some("/data/r.mdf".into()),
        nth: 1,
        error: IoError::NoSpace,
        lasting: false,
    });
    assert!(!refusals(&mut s, restore).is_empty());
    for seed in 0..20 {
        let later = disk.crash(seed);
        for path in ["/data/r.mdf", "/data/r.ldf"] {
            assert!(!later.env().disk.exists(path.as_ref()), "{path}, {seed}");
        }
    }
    all(&mut s, &[restore]);
}
