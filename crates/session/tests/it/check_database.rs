//! DBCC CHECKDB and its like: nothing is said of databases that are whole, whatever was done to them, and of damage
//! everything that SQL Server's users would look for.

use duramen_session::Session;

use super::*;

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
        "ALTER TABLE h ADD extra int NULL; ALTER TABLE h ADD given int NOT NULL DEFAULT 5; UPDATE h SET extra = id WHERE id % 2 = 0",
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
