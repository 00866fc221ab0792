//! DBCC CHECKDB and its like: nothing is said of databases that are whole, whatever was done to them, and of damage
//! everything that SQL Server's users would look for.

// What is measured is measured on the real disk.
#![allow(clippy::disallowed_methods)]

use std::sync::atomic::{AtomicBool, Ordering};

use duramen_session::Session;

use super::*;

/// How often databases are looked at that sessions use meanwhile.
const CHECKS: u32 = 3;

/// What DBCC CHECKDB says besides that it has ended.
fn check(s: &mut Session, database: &str) -> Vec<String> {
    run(
        s,
        &format!("DBCC CHECKDB('{database}') WITH NO_INFOMSGS, ALL_ERRORMSGS"),
    )
}

fn quiet(s: &mut Session, sql: &str) {
    let lines = run(s, sql);
    let wrong: Vec<&String> = lines.iter().filter(|l| l.starts_with("Msg ")).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {sql}");
}

/// Everything that pages may hold, in two filegroups and three files.
const MAKE: &str = "CREATE DATABASE w ON PRIMARY (NAME = w, FILENAME = '/data/w.mdf', SIZE = 8MB, FILEGROWTH = 1MB), (NAME = w2, FILENAME = '/data/w2.ndf', SIZE = 4MB, FILEGROWTH = 1MB), FILEGROUP other (NAME = w3, FILENAME = '/data/w3.ndf', SIZE = 4MB, FILEGROWTH = 1MB) LOG ON (NAME = w_log, FILENAME = '/data/w.ldf', SIZE = 8MB)";
const TABLES: &str = "CREATE TABLE t (id int IDENTITY CONSTRAINT pk_t PRIMARY KEY, n int, word varchar(40), pad varchar(max));
CREATE INDEX i_n ON t (n DESC, word);
CREATE UNIQUE INDEX i_word ON t (word, id) INCLUDE (n);
CREATE TABLE h (id int NOT NULL, pad varchar(3000), n nvarchar(50));
CREATE INDEX i_h ON h (id);
CREATE TABLE c (k varchar(20), v decimal(18, 4), d datetime2(3), f float, b bit, g uniqueidentifier, r real, m money, dt datetime, x sql_variant, bin varbinary(100), s smallint, dd date, tt time(7), z datetimeoffset(2), ch char(10), nc nchar(5));
CREATE CLUSTERED INDEX i_c ON c (k);
CREATE INDEX i_cv ON c (v, b) INCLUDE (d, g, x);
CREATE TABLE o (id int PRIMARY KEY, pad char(500)) ON other;
CREATE TABLE wide (id int PRIMARY KEY, a varchar(8000), b varchar(8000), c varchar(max))";
const FILL: &str = "SET NOCOUNT ON; DECLARE @i int = 0;
WHILE @i < 260 BEGIN
  INSERT t (n, word, pad) VALUES (@i % 7, CONCAT('w', @i), REPLICATE(CAST('x' AS varchar(max)), @i * 90));
  INSERT h VALUES (@i, REPLICATE('y', @i * 5), CONCAT(N'n', @i));
  INSERT c VALUES (CONCAT('k', @i % 9), @i / 3.0, SYSDATETIME(), @i * 1.5, @i % 2, NEWID(), @i, @i, GETDATE(), @i, CAST(@i AS varbinary(4)), @i, GETDATE(), SYSDATETIME(), SYSDATETIMEOFFSET(), 'ch', N'nc');
  INSERT o VALUES (@i, 'o');
  SET @i += 1;
END;
INSERT c (k) VALUES (NULL), (NULL);
INSERT wide VALUES (1, REPLICATE('a', 7000), REPLICATE('b', 6000), 'c'), (2, REPLICATE('a', 3000), REPLICATE('b', 3000), REPLICATE('c', 3000))";

fn made(env: &Env) -> Alone {
    let instance = start(env);
    let session = login(&instance);
    let mut s = Alone { session, instance };
    quiet(&mut s, MAKE);
    quiet(&mut s, "USE w");
    quiet(&mut s, TABLES);
    quiet(&mut s, FILL);
    s
}

/// Nothing is reported of a database while these sessions do their batches again and again, nor when they have ended; and
/// they are told of no error.
fn nothing_while(
    s: &mut Session,
    database: &str,
    writers: impl Iterator<Item = (Session, String)>,
) {
    // They go on as long as it is looked at, however slow that is.
    let enough = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = writers
        .map(|(mut s, work)| {
            let enough = enough.clone();
            duramen_os::thread::spawn("writer", move || {
                let mut reported = Vec::new();
                loop {
                    reported.extend(run(&mut s, &work));
                    if enough.load(Ordering::Acquire) {
                        return reported;
                    }
                }
            })
        })
        .collect();
    for n in 0..CHECKS {
        assert_eq!(check(s, database), Vec::<String>::new(), "check {n}");
    }
    assert!(writers.iter().all(|w| !w.is_finished()));
    enough.store(true, Ordering::Release);
    for w in writers {
        assert_eq!(w.join().unwrap(), Vec::<String>::new());
    }
    assert_eq!(check(s, database), Vec::<String>::new());
}

#[test]
fn healthy_databases_are_never_reported() {
    let env = SimDisk::new(3).env();
    let mut s = made(&env);
    let nothing = Vec::<String>::new();
    assert_eq!(check(&mut s, "w"), nothing);
    for work in [
        // Ghosts, free slots, forwarded rows, pieces of values that go and come.
        "DELETE t WHERE n = 3; UPDATE h SET pad = REPLICATE('z', 2900) WHERE id % 3 = 0; DELETE h WHERE id % 5 = 0",
        "UPDATE t SET pad = REPLICATE(CAST('q' AS varchar(max)), 30000) WHERE id % 11 = 0; UPDATE t SET pad = 'short' WHERE id % 13 = 0",
        "UPDATE h SET pad = 'small' WHERE id % 6 = 0; UPDATE t SET word = word + 'u' WHERE id % 4 = 0",
        "BEGIN TRAN; INSERT t (n, word, pad) SELECT n, word + '2', pad FROM t; ROLLBACK",
        "INSERT t (n, word, pad) SELECT n, word + '3', pad FROM t; INSERT h WITH (TABLOCK) SELECT id, pad, n FROM h",
        "SELECT * INTO copied FROM t; CREATE UNIQUE CLUSTERED INDEX i ON copied (id)",
        "ALTER INDEX ALL ON t REBUILD; DROP INDEX i_h ON h; CREATE INDEX i_h2 ON h (n, id)",
        "ALTER TABLE h ADD extra int NULL; ALTER TABLE h ADD given int NOT NULL DEFAULT 5",
        "UPDATE h SET extra = id WHERE id % 2 = 0",
        "ALTER TABLE h DROP COLUMN extra; INSERT h (id, pad) VALUES (9999, 'after')",
        "TRUNCATE TABLE c; INSERT c (k, v) VALUES ('one', 1), ('one', 2), ('two', 3)",
        "BEGIN TRAN; TRUNCATE TABLE o; ROLLBACK; DELETE o WHERE id % 2 = 0; ALTER INDEX i_n ON t DISABLE",
        "CREATE TABLE gone (id int PRIMARY KEY, pad varchar(max)); INSERT gone SELECT id, REPLICATE(CAST('g' AS varchar(max)), 9000) FROM o; DROP TABLE gone",
        "DROP TABLE copied; CHECKPOINT",
    ] {
        quiet(&mut s, work);
        assert_eq!(check(&mut s, "w"), nothing, "{work}");
    }
    // While a transaction is open: of what it has done nothing is there.
    quiet(
        &mut s,
        "BEGIN TRAN; DELETE h WHERE id < 100; INSERT o VALUES (-1, 'x')",
    );
    let mut other = login(&s.instance);
    assert_eq!(check(&mut other, "w"), nothing);
    quiet(&mut s, "ROLLBACK");
    for database in ["master", "model", "msdb"] {
        assert_eq!(check(&mut s, database), nothing, "{database}");
    }
    quiet(
        &mut s,
        "BACKUP DATABASE w TO DISK = '/data/w.bak'; RESTORE DATABASE v FROM DISK = '/data/w.bak' WITH MOVE 'w' TO '/data/v.mdf', MOVE 'w2' TO '/data/v2.ndf', MOVE 'w3' TO '/data/v3.ndf', MOVE 'w_log' TO '/data/v.ldf'",
    );
    assert_eq!(check(&mut s, "v"), nothing);
}

/// Inserts, updates that move rows and values, deletes, rollbacks, loads and rebuilds, by eight sessions at once.
#[test]
fn nothing_is_reported_while_eight_sessions_write() {
    let env = SimDisk::new(9).env();
    let mut s = made(&env);
    let instance = s.instance.clone();
    let writers = (0..8).map(|n| {
        let mut writer = login(&instance);
        quiet(&mut writer, "USE w");
        let work = format!(
            "SET NOCOUNT ON; SET DEADLOCK_PRIORITY LOW; DECLARE @i int = 0, @k int;
WHILE @i < 30 BEGIN
  SET @k = @i * 8 + {n};
  BEGIN TRY
    BEGIN TRAN;
    INSERT t (n, word, pad) VALUES (@k % 7, CONCAT('s{n}_', @i), REPLICATE(CAST('x' AS varchar(max)), @i * 700));
    UPDATE t SET n = n + 1, word = word + 'q' WHERE id = @k;
    UPDATE t SET pad = REPLICATE(CAST('y' AS varchar(max)), 9000 + @k) WHERE id = @k + 1;
    INSERT h (id, pad, n) VALUES (@k, REPLICATE('p', @k * 3), N'new');
    UPDATE h SET pad = REPLICATE('z', 2800 - @k) WHERE id = @k;
    DELETE h WHERE id = @k - 80;
    DELETE t WHERE id = @k - 16;
    INSERT c (k, v) VALUES (CONCAT('s', @i % 5), @k);
    DELETE c WHERE v = @k - 24;
    IF @i % 4 = 3 ROLLBACK ELSE COMMIT;
  END TRY
  BEGIN CATCH
    IF @@TRANCOUNT > 0 ROLLBACK;
  END CATCH;
  IF {n} = 3 AND @i % 10 = 5 CHECKPOINT;
  SET @i += 1;
END"
        );
        (writer, work)
    });
    nothing_while(&mut s, "w", writers);
}

/// What a user sees of damage: the table's findings in its place, then the sums, and how to repair it.
#[test]
fn damage_is_told_table_by_table() {
    let disk = SimDisk::new(4);
    let mut s = made(&disk.env());
    quiet(&mut s, "CHECKPOINT");
    let file = "SELECT TOP 1 a.first_page FROM sys.system_internals_allocation_units a JOIN sys.partitions p ON p.hobt_id = a.container_id WHERE p.object_id = OBJECT_ID('o')";
    let page = run(&mut s, file);
    // 0x, then page number and file number, little-endian.
    let hex = page[1].trim_start_matches("0x");
    let byte = |i: usize| u64::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
    let number = byte(0) | byte(1) << 8;
    assert_eq!(byte(4), 4, "{page:?}: the filegroup's file");
    disk.damage(
        std::path::Path::new("/data/w3.ndf"),
        number * 8192 + 4000,
        b"rot",
    )
    .unwrap();
    let lines = check(&mut s, "w");
    let has = |text: &str| lines.iter().any(|l| l.contains(text));
    assert!(has("Msg 8928, Level 16, State 1"), "{lines:#?}");
    assert!(has(&format!(
        "Page (4:{number}) could not be processed.  See other errors for details."
    )));
    assert!(has("Msg 8939, Level 16, State 1"), "{lines:#?}");
    assert!(has("Test (IS_OFF (BUF_IOERR, pBUF->bstat)) failed."));
    assert!(has("CHECKDB found 0 allocation errors and ") && has("in database 'w'."));
    assert!(has(
        "repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKDB (w)."
    ));
    assert!(!lines.iter().any(|l| l.contains("in table 't'")));
    let sound = run(
        &mut s,
        "DBCC CHECKTABLE(t) WITH NO_INFOMSGS; DBCC CHECKFILEGROUP(1) WITH NO_INFOMSGS",
    );
    assert_eq!(sound, Vec::<String>::new());
    let damaged = run(&mut s, "DBCC CHECKFILEGROUP(other) WITH NO_INFOMSGS");
    assert!(damaged.iter().any(|l| l.contains("8939")), "{damaged:?}");
    // A check that finds something is not the last good one.
    let last = "SELECT CASE WHEN CAST(DATABASEPROPERTYEX('w', 'LastGoodCheckDbTime') AS datetime) > '20000101' THEN 1 ELSE 0 END AS checked";
    assert_eq!(run(&mut s, last)[1], "0");
}

#[test]
fn a_check_tells_how_far_it_is_and_an_attention_ends_it() {
    let disk = SimDisk::new(31);
    let mut s = made(&disk.env());
    quiet(
        &mut s,
        "INSERT o SELECT value, 'more' FROM GENERATE_SERIES(1000, 40000)",
    );
    let mut watcher = login(&s.instance);
    let cancel = CancelToken::default();
    let token = cancel.clone();
    let mut checker = login(&s.instance);
    let checking = duramen_os::thread::spawn("checking", move || {
        let mut sink = TextSink::default();
        checker.execute_batch("DBCC CHECKDB(w)", &mut sink, &token);
        (checker, sink.lines)
    });
    let progress = "SELECT CASE WHEN percent_complete BETWEEN 1 AND 100 THEN 1 ELSE 0 END FROM sys.dm_exec_requests WHERE command LIKE 'DBCC%'";
    let mut looks = 0;
    while run(&mut watcher, progress).get(1).map(String::as_str) != Some("1") {
        assert!(
            !checking.is_finished(),
            "the check ended unseen after {looks} looks"
        );
        looks += 1;
    }
    cancel.0.store(true, std::sync::atomic::Ordering::Release);
    let (mut checker, lines) = checking.join().expect("it ended");
    assert!(!lines.iter().any(|l| l.starts_with("Msg ")), "{lines:?}");
    assert!(
        !lines.iter().any(|l| l.contains("CHECKDB found")),
        "{lines:?}"
    );
    // Nothing of it is left behind.
    assert_eq!(run(&mut watcher, progress)[1], "rows 0");
    assert_eq!(check(&mut checker, "w"), Vec::<String>::new());
    quiet(
        &mut checker,
        "ALTER DATABASE w SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE w",
    );
}

/// Temporary tables come, change and go in four sessions while tempdb is checked again and again. Open transactions end
/// meanwhile: a check waits for them.
#[test]
fn nothing_is_reported_of_tempdb_while_sessions_use_it() {
    let env = SimDisk::new(10).env();
    let instance = start(&env);
    let writers = (0..4).map(|n| {
        let work = format!(
            "SET NOCOUNT ON; DECLARE @i int = 0;
CREATE TABLE #kept (id int IDENTITY PRIMARY KEY, n int, word varchar(40), pad varchar(max));
CREATE INDEX i_n ON #kept (n DESC, word);
CREATE TABLE #heap (id int, pad varchar(3000));
WHILE @i < 25 BEGIN
  BEGIN TRAN;
  INSERT #kept (n, word, pad) SELECT value % 5, CONCAT('w{n}_', @i), REPLICATE(CAST('x' AS varchar(max)), value * 300) FROM GENERATE_SERIES(1, 30);
  UPDATE #kept SET n = n + 1, pad = 'short' WHERE id % 7 = @i % 7;
  DELETE #kept WHERE id % 5 = @i % 5;
  INSERT #heap SELECT value, REPLICATE('y', value * 9) FROM GENERATE_SERIES(1, 20);
  UPDATE #heap SET pad = REPLICATE('z', 2500) WHERE id % 6 = @i % 6;
  IF @i % 4 = 3 ROLLBACK ELSE COMMIT;
  CREATE TABLE #short (id int PRIMARY KEY, pad char(900)); INSERT #short SELECT value, 'p' FROM GENERATE_SERIES(1, 40);
  SELECT * INTO #made FROM #kept;
  DROP TABLE #short; DROP TABLE #made;
  IF @i % 9 = 4 TRUNCATE TABLE #heap;
  SET @i += 1;
END;
DROP TABLE #kept; DROP TABLE #heap"
        );
        (login(&instance), work)
    });
    nothing_while(&mut login(&instance), "tempdb", writers);
}

/// The one value of a query.
fn only(s: &mut Session, sql: &str) -> String {
    let lines = run(s, sql);
    let row = lines.iter().find(|l| l.parse::<i64>().is_ok());
    row.cloned().unwrap_or_else(|| panic!("{lines:?}"))
}

/// What CHECKALLOC says of space adds up, and is what the catalog's views say.
#[test]
fn checkalloc_accounts_for_every_page() {
    let disk = SimDisk::new(6);
    let mut s = made(&disk.env());
    let text = |l: String| {
        l.split_once(": ")
            .map_or(l.clone(), |(_, text)| text.to_owned())
    };
    let lines = run(&mut s, "DBCC CHECKALLOC('w')");
    let lines: Vec<String> = lines.into_iter().map(text).collect();
    let numbers = |line: &str| -> Vec<i64> {
        let digits = |c: char| !c.is_ascii_digit();
        line.split(digits).filter_map(|n| n.parse().ok()).collect()
    };
    let after = |line: &str, word: &str| -> i64 {
        let rest = line.split(word).nth(1).unwrap_or_default();
        numbers(rest).first().copied().unwrap_or(-1)
    };
    let of =
        |start: &str| -> Vec<&String> { lines.iter().filter(|l| l.starts_with(start)).collect() };
    let (files, mixed, shares) = (of("File "), of("           File "), of("    Object ID "));
    assert_eq!((files.len(), mixed.len()), (3, 3), "{lines:#?}");
    for (file, mixed) in files.iter().zip(&mixed) {
        let (file, mixed) = (numbers(file), numbers(mixed));
        let (extents, used, reserved) = (file[1], file[2], file[3]);
        assert_eq!(reserved, (extents - mixed[1]) * 8 + mixed[2], "{lines:#?}");
        assert!(used <= reserved, "{lines:#?}");
    }
    let table = only(&mut s, "SELECT OBJECT_ID('w.dbo.t')");
    let of_table = |l: &&&String| l.starts_with(&format!("    Object ID {table}, "));
    let said: i64 = shares
        .iter()
        .filter(of_table)
        .map(|l| after(l, "pages "))
        .sum();
    let used = "SELECT SUM(used_page_count) FROM w.sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('w.dbo.t')";
    assert_eq!(said.to_string(), only(&mut s, used), "{shares:#?}");
    let extents: i64 = shares
        .iter()
        .filter(of_table)
        .map(|l| after(l, "extents "))
        .sum();
    let at = lines
        .iter()
        .position(|l| *l == format!("Table t                Object ID {table}."));
    let block = &lines[at.expect("a block for t")..];
    let total = block
        .iter()
        .find(|l| l.starts_with("Total number of extents is "));
    assert_eq!(total.map(|l| numbers(l)), Some(vec![extents]), "{lines:#?}");
    assert!(run(&mut s, "DBCC CHECKALLOC('w') WITH NO_INFOMSGS").len() <= 1);
}
