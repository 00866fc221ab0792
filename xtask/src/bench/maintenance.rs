//! What reads or writes a whole database: CHECKDB, BACKUP, RESTORE, beside the disk's own sequential bandwidth. A pool of
//! 256 MB, so that a full-size database is read from the disk. Only `--only maintenance` runs this.

use std::fmt::Write;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use super::disk::O_DIRECT;
use super::median;
use crate::server::Server;
use crate::sql::Sql;

/// Blocks of rows at full size: a gigabyte.
const BLOCKS: f64 = 5.0;

/// What is measured: the name, the statement.
const WORKS: [(&str, &str); 9] = [
    (
        "CHECKDB PHYSICAL_ONLY",
        "DBCC CHECKDB(g) WITH PHYSICAL_ONLY, NO_INFOMSGS",
    ),
    ("CHECKDB", "DBCC CHECKDB(g) WITH NO_INFOMSGS"),
    (
        "CHECKDB, MAXDOP 1",
        "DBCC CHECKDB(g) WITH NO_INFOMSGS, MAXDOP = 1",
    ),
    (
        "BACKUP TO DISK = 'nul'",
        "BACKUP DATABASE g TO DISK = 'nul'",
    ),
    (
        "BACKUP to a file",
        "BACKUP DATABASE g TO DISK = 'D:\\g.bak' WITH INIT",
    ),
    (
        "BACKUP, CHECKSUM",
        "BACKUP DATABASE g TO DISK = 'D:\\g.bak' WITH INIT, CHECKSUM",
    ),
    (
        "BACKUP, COMPRESSION",
        "BACKUP DATABASE g TO DISK = 'D:\\c.bak' WITH INIT, COMPRESSION",
    ),
    (
        "RESTORE VERIFYONLY",
        "RESTORE VERIFYONLY FROM DISK = 'D:\\g.bak'",
    ),
    (
        "RESTORE",
        "RESTORE DATABASE g FROM DISK = 'D:\\g.bak' WITH REPLACE",
    ),
];

pub fn is_wanted(only: Option<&str>) -> bool {
    only == Some("maintenance")
}

pub fn figures(dir: &Path, rounds: usize, scale: f64) -> Result<String, String> {
    let home = dir.join("maintenance");
    let drive = format!("D={}", home.join("files").display());
    let arguments = ["--drive", &drive, "--max-memory", "256MB"];
    let server = Server::start_with(&home.join("data"), &arguments)?;
    let sql = Sql { port: server.port };
    let mb = fill(sql, (BLOCKS * scale).round().max(1.0))?;
    let mut rates = vec![Vec::new(); WORKS.len()];
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let [r, w] = plain(&home.join("files/g.mdf"), &home.join("plain"))
            .map_err(|e| format!("{}: {e}", home.display()))?;
        read.push(r);
        written.push(w);
        for ((name, text), rates) in WORKS.iter().zip(&mut rates) {
            let began = Instant::now();
            sql.query("master", text)?;
            let rate = mb / began.elapsed().as_secs_f64();
            println!("round {round}: {name}: {rate:.0} MB/s");
            rates.push(rate);
        }
    }
    server.kill();
    let _ = std::fs::remove_dir_all(&home);
    let mut table = format!(
        "A database of {mb:.0} MB; the disk, 1 MB at a time past the page cache: reads {:.0} MB/s, writes {:.0} MB/s\n\n\
         | work | MB of data a second | of reading | of writing |\n|---|---|---|---|\n",
        median(&read),
        median(&written)
    );
    for ((name, _), rates) in WORKS.iter().zip(&rates) {
        let rate = median(rates);
        let of = |limit: &[f64]| rate / median(limit).max(1e-9);
        let _ = writeln!(
            table,
            "| {name} | {rate:.0} | {:.2} | {:.2} |",
            of(&read),
            of(&written)
        );
    }
    Ok(table)
}

/// A table with an index and rows of 200 bytes, a million a block; its megabytes.
fn fill(sql: Sql, blocks: f64) -> Result<f64, String> {
    sql.query(
        "master",
        &format!(
            "CREATE DATABASE g ON (NAME = g, FILENAME = 'D:\\g.mdf', SIZE = {:.0}MB)
             LOG ON (NAME = g_log, FILENAME = 'D:\\g.ldf', SIZE = 256MB);
             ALTER DATABASE g SET RECOVERY SIMPLE",
            blocks * 240.0 + 20.0
        ),
    )?;
    sql.query(
        "g",
        &format!(
            "CREATE TABLE t (id int NOT NULL PRIMARY KEY, n int NOT NULL, d datetime2 NOT NULL, v decimal(18, 2) NOT NULL,
                 word varchar(60) NOT NULL, pad char(80) NOT NULL);
             CREATE INDEX i ON t (n);
             WITH a AS (SELECT value AS i FROM GENERATE_SERIES(1, 1000))
             INSERT t WITH (TABLOCK) SELECT (z.value - 1) * 1000000 + (x.i - 1) * 1000 + y.i, x.i * y.i % 99991, '2020-01-01', x.i,
                 REPLICATE('w', y.i % 50 + 5), 'pad' FROM GENERATE_SERIES(1, {blocks:.0}) AS z CROSS JOIN a AS x CROSS JOIN a AS y;
             CHECKPOINT"
        ),
    )?;
    let pages = sql.number("g", "SELECT SUM(used_pages) FROM sys.allocation_units")?;
    Ok(pages as f64 / 128.0)
}

/// The disk alone: reads what is there, writes a new file of the same size; MB/s of each.
fn plain(file: &Path, copy: &Path) -> std::io::Result<[f64; 2]> {
    const BLOCK: usize = 1 << 20;
    let memory = vec![0x5A_u8; BLOCK + 4096];
    let start = memory.as_ptr().align_offset(4096);
    let mut memory = memory;
    let block = &mut memory[start..start + BLOCK];
    let mut source = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(file)?;
    let began = Instant::now();
    let mut blocks = 0_usize;
    while source.read(block)? == BLOCK {
        blocks += 1;
    }
    let read = blocks as f64 / began.elapsed().as_secs_f64();
    let mut target = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(O_DIRECT)
        .open(copy)?;
    let began = Instant::now();
    for _ in 0..blocks {
        target.write_all(block)?;
    }
    File::sync_all(&target)?;
    let written = blocks as f64 / began.elapsed().as_secs_f64();
    std::fs::remove_file(copy)?;
    Ok([read, written])
}
