//! What reads or writes a whole database: CHECKDB, BACKUP, RESTORE, beside what the disk does by itself with the same
//! transfers, several at once, into space that was allocated before, with the sync at the end: reading, writing, and both
//! (a copy), which is what a backup to the same disk is. A pool of 256 MB, so that the database is read from the disk.
//! Only `--only maintenance` runs this.
//!
//! Each statement has two figures: what the client waited for, its own start and login included, and what the server says
//! of itself (message 3014). CHECKDB says nothing of itself.

use std::fmt::Write;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::disk::{O_DIRECT, free_mb};
use super::median;
use crate::server::Server;
use crate::sql::Sql;

/// Blocks of rows at least: 1.7 GB.
const BLOCKS: f64 = 8.0;
/// About what a block takes.
const BLOCK_MB: f64 = 215.0;
/// Copies of the data that are on the disk at the same time: the database, two backups, what is restored beside it, and
/// the disk's own.
const COPIES: f64 = 6.0;
/// How the disk by itself is used: bytes at once, and how many at once.
const TRANSFER: usize = 1 << 20;
const DEPTH: usize = 4;

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

/// Megabytes a second of a work, by round.
#[derive(Default)]
struct Rates {
    client: Vec<f64>,
    server: Vec<f64>,
}

pub fn figures(dir: &Path, rounds: usize, scale: f64) -> Result<String, String> {
    let home = dir.join("maintenance");
    let blocks = blocks(free_mb(dir), scale)?;
    let drive = format!("D={}", home.join("files").display());
    let arguments = ["--drive", &drive, "--max-memory", "256MB"];
    let server = Server::start_with(&home.join("data"), &arguments)?;
    let sql = Sql { port: server.port };
    let mb = fill(sql, blocks)?;
    let mut rates: Vec<Rates> = WORKS.iter().map(|_| Rates::default()).collect();
    let mut alone: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds {
        let own = plain(&home.join("files/g.mdf"), &home.join("plain"))
            .map_err(|e| format!("{}: {e}", home.display()))?;
        println!(
            "round {round}: the disk reads {:.0}, writes {:.0}, copies {:.0} MB/s",
            own[0], own[1], own[2]
        );
        for (all, one) in alone.iter_mut().zip(own) {
            all.push(one);
        }
        for ((name, text), rates) in WORKS.iter().zip(&mut rates) {
            let began = Instant::now();
            let said = sql.query("master", text)?;
            let client = mb / began.elapsed().as_secs_f64();
            rates.client.push(client);
            let server = said.lines().find_map(seconds_of).map(|s| mb / s);
            rates.server.extend(server);
            let by_clock = server.map_or(String::new(), |s| format!(", by its own clock {s:.0}"));
            println!("round {round}: {name}: {client:.0} MB/s{by_clock}");
        }
    }
    server.kill();
    let _ = std::fs::remove_dir_all(&home);
    let [read, written, copied] = alone.each_ref().map(|a| median(a));
    let mut table = format!(
        "A database of {mb:.0} MB; the disk by itself, {DEPTH} transfers of {} KB at once past the page cache, allocated before,
synced after: reads {read:.0} MB/s, writes {written:.0} MB/s, copies (reads and writes) {copied:.0} MB/s\n\n\
         | work | MB of data a second | by the server's clock | of reading | of writing | of copying |\n|---|---|---|---|---|---|\n",
        TRANSFER >> 10
    );
    for ((name, _), rates) in WORKS.iter().zip(&rates) {
        let client = median(&rates.client);
        let own = (!rates.server.is_empty()).then(|| median(&rates.server));
        let best = own.unwrap_or(client);
        let of = |limit: f64| best / limit.max(1e-9);
        let own = own.map_or("-".to_owned(), |o| format!("{o:.0}"));
        let _ = writeln!(
            table,
            "| {name} | {client:.0} | {own} | {:.2} | {:.2} | {:.2} |",
            of(read),
            of(written),
            of(copied)
        );
    }
    Ok(table)
}

/// How many blocks there is room for. A quarter of the disk stays free.
fn blocks(free_mb: Option<u64>, scale: f64) -> Result<f64, String> {
    let wanted = (BLOCKS * scale.max(1.0)).round();
    let room = free_mb.map_or(f64::MAX, |mb| mb as f64 * 0.75 / COPIES / BLOCK_MB);
    match room.floor().min(wanted) {
        n if n >= 1.0 => Ok(n),
        _ => Err("the disk has no room for a database to back up".to_owned()),
    }
}

/// The seconds of message 3014.
fn seconds_of(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(" successfully processed ")?;
    let (_, rest) = rest.split_once(" pages in ")?;
    rest.split_once(" seconds")?.0.parse().ok()
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

/// The disk by itself: reads what is there, writes a new file of the same size, copies the one to another; MB/s of each.
fn plain(file: &Path, copy: &Path) -> std::io::Result<[f64; 3]> {
    let blocks = std::fs::metadata(file)?.len() / TRANSFER as u64;
    let read = side_by_side(blocks, Some(file), None)?;
    let written = side_by_side(blocks, None, Some(copy))?;
    let copied = side_by_side(blocks, Some(file), Some(copy))?;
    Ok([read, written, copied])
}

/// Takes blocks from a file, or to one, or both; MB/s.
fn side_by_side(blocks: u64, from: Option<&Path>, to: Option<&Path>) -> std::io::Result<f64> {
    let source = from.map(|p| {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(O_DIRECT).open(p)
    });
    let source = source.transpose()?;
    let target = to.map(|p| {
        let _ = std::fs::remove_file(p);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        options.custom_flags(O_DIRECT).open(p)
    });
    let target = target.transpose()?;
    let next = AtomicU64::new(0);
    let began = Instant::now();
    if let Some(path) = to {
        allocate(path, blocks * TRANSFER as u64)?;
    }
    let work = || -> std::io::Result<()> {
        let mut memory = vec![0x5A_u8; TRANSFER + 4096];
        let start = memory.as_ptr().align_offset(4096);
        let block = &mut memory[start..start + TRANSFER];
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= blocks {
                return Ok(());
            }
            let at = at * TRANSFER as u64;
            if let Some(source) = &source {
                source.read_exact_at(block, at)?;
            }
            if let Some(target) = &target {
                target.write_all_at(block, at)?;
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..DEPTH).map(|_| scope.spawn(work)).collect();
        let ends = threads.into_iter().map(|t| t.join());
        ends.map(|e| e.unwrap_or_else(|_| Err(std::io::Error::other("a thread has died"))))
            .collect::<std::io::Result<Vec<()>>>()
    })?;
    if let Some(target) = &target {
        File::sync_all(target)?;
    }
    let rate = blocks as f64 * TRANSFER as f64 / 1_048_576.0 / began.elapsed().as_secs_f64();
    if let Some(path) = to {
        std::fs::remove_file(path)?;
    }
    Ok(rate)
}

/// Disk space for a file, through the tool that every Linux has.
fn allocate(path: &Path, bytes: u64) -> std::io::Result<()> {
    let done = std::process::Command::new("fallocate")
        .args(["-l", &bytes.to_string()])
        .arg(path)
        .status()?;
    match done.success() {
        true => Ok(()),
        false => Err(std::io::Error::other("fallocate fails")),
    }
}
