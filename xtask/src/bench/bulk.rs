//! Many rows in one statement: a table that doubles until it is large, and rows of a page each while the log grows in
//! various steps. PostgreSQL does the same, one commit a statement.
//!
//! `--scale` is the part of the full size that is measured: 1 makes 5.12 million narrow rows and 500,000 wide ones.
//! Each cell has a database of its own, so that its log begins where the cell says. The log's bytes are those that went to
//! its file, the data's those of the pages that are used in the end.

use std::fmt::Write;
use std::path::Path;

use super::noise::Noise;
use super::postgres::Postgres;
use super::{disk, median};
use crate::server::Server;
use crate::sql::Sql;

/// What one cell does.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    /// Doubles a table of charges, with so many indexes beside its key.
    Doubling { indexes: usize },
    /// Rows of a page each, in one statement.
    Pages,
}

struct Cell {
    name: &'static str,
    work: Work,
    profile: &'static str,
    /// The log's first size (none: as much as it needs) and its growth.
    log: Option<&'static str>,
    growth: &'static str,
    /// PostgreSQL's figure stands beside this cell.
    peer: bool,
}

const fn cell(name: &'static str, work: Work, profile: &'static str) -> Cell {
    Cell {
        name,
        work,
        profile,
        log: None,
        growth: "256MB",
        peer: false,
    }
}

const fn grown(name: &'static str, profile: &'static str, growth: &'static str) -> Cell {
    Cell {
        log: Some("8MB"),
        growth,
        ..cell(name, Work::Pages, profile)
    }
}

const KEY: Work = Work::Doubling { indexes: 0 };
const THREE: Work = Work::Doubling { indexes: 3 };

const CELLS: [Cell; 11] = [
    Cell {
        peer: true,
        ..cell("doubling, key only, native", KEY, "native")
    },
    cell("doubling, key only, 2022", KEY, "2022"),
    Cell {
        peer: true,
        ..cell("doubling, three indexes, native", THREE, "native")
    },
    cell("doubling, three indexes, 2022", THREE, "2022"),
    Cell {
        peer: true,
        ..cell("pages, log sized, native", Work::Pages, "native")
    },
    grown("pages, log grows by 1 MB, native", "native", "1MB"),
    grown("pages, log grows by 64 MB, native", "native", "64MB"),
    cell("pages, log sized, 2012", Work::Pages, "2012"),
    grown("pages, log grows by 1 MB, 2012", "2012", "1MB"),
    grown("pages, log grows by 64 MB, 2022", "2022", "64MB"),
    grown("pages, log grows by 1 GB, 2022", "2022", "1GB"),
];

const INDEXES: [&str; 3] = ["member_no", "provider_no", "statement_no"];
/// Rows of the table before it doubles the first time.
const FIRST: u64 = 10_000;

/// How often the table doubles, and how many wide rows there are.
struct Size {
    doublings: u32,
    pages: u64,
}

impl Size {
    fn of(scale: f64) -> Size {
        Size {
            doublings: (512.0 * scale).log2().round().clamp(1.0, 12.0) as u32,
            pages: (500_000.0 * scale).max(1_000.0) as u64,
        }
    }

    fn rows(&self, work: Work) -> u64 {
        match work {
            Work::Doubling { .. } => FIRST * ((1 << self.doublings) - 1),
            Work::Pages => self.pages,
        }
    }
}

#[derive(Default)]
struct Series {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// Bytes of log by bytes of data.
    volume: Vec<f64>,
    vlfs: u64,
    foreign: Vec<f64>,
}

pub fn is_wanted(only: Option<&str>) -> bool {
    only.is_none_or(|o| "bulk".contains(o) || CELLS.iter().any(|c| c.name.contains(o)))
}

pub fn figures(
    dir: &Path,
    rounds: usize,
    scale: f64,
    only: Option<&str>,
) -> Result<String, String> {
    let size = Size::of(scale);
    let drive = format!("D={}", dir.join("bulk-files").display());
    let server = Server::start_with(&dir.join("bulk"), &["--drive", &drive])?;
    let there = match Postgres::start(dir) {
        Ok(p) => Some(p),
        Err(why) => {
            println!("skipped: PostgreSQL: {why}");
            None
        }
    };
    let chosen = |c: &&Cell| only.is_none_or(|o| "bulk".contains(o) || c.name.contains(o));
    let cells: Vec<&Cell> = CELLS.iter().filter(chosen).collect();
    let mut series: Vec<Series> = cells.iter().map(|_| Series::default()).collect();
    let mut writes = Vec::new();
    for round in 0..rounds {
        writes.push(disk::durable_writes(dir)?);
        for (cell, series) in cells.iter().zip(&mut series) {
            here(&server, cell, &size, series)?;
            println!(
                "round {round}: {}: {:.0} rows/s",
                cell.name, series.ours[round]
            );
            if let (Some(there), true) = (&there, cell.peer) {
                let rate = peer(there, cell.work, &size)?;
                println!("round {round}: {}: PostgreSQL {rate:.0} rows/s", cell.name);
                series.theirs.push(rate);
            }
        }
    }
    match server.stop() {
        true => Ok(table(&cells, &series, &size, median(&writes))),
        false => Err("the server does not end cleanly".to_owned()),
    }
}

/// The cells that PostgreSQL has too, and a growing log's.
pub fn works(scale: f64) -> Vec<super::paired::Work<'static, Server>> {
    let work = move |cell: &'static Cell| {
        let run = move |server: &Server| {
            let mut series = Series::default();
            here(server, cell, &Size::of(scale), &mut series)?;
            Ok(median(&series.ours))
        };
        (cell.name.to_owned(), Box::new(run) as Box<_>)
    };
    let chosen = |c: &&Cell| c.profile == "native";
    CELLS.iter().filter(chosen).map(work).collect()
}

/// Runs a cell once on our server, in a database that goes afterwards.
fn here(server: &Server, cell: &Cell, size: &Size, series: &mut Series) -> Result<(), String> {
    let sql = Sql { port: server.port };
    let data_mb = size.rows(cell.work) * row_bytes(cell.work) / (1 << 20) + 64;
    let log = match cell.log {
        Some(size) => size.to_owned(),
        None => format!("{}MB", 3 * data_mb),
    };
    sql.query(
        "master",
        &format!(
            "CREATE DATABASE loads ON (NAME = loads, FILENAME = 'D:\\bulk.mdf', SIZE = {}MB, FILEGROWTH = 256MB)
             LOG ON (NAME = loads_log, FILENAME = 'D:\\bulk.ldf', SIZE = {log}, FILEGROWTH = {});
             ALTER DATABASE loads SET RECOVERY SIMPLE",
            2 * data_mb,
            cell.growth,
        ),
    )?;
    let profile = format!(
        "ALTER DATABASE SCOPED CONFIGURATION SET LOG_PROFILE = {}",
        quoted(cell.profile)
    );
    sql.query("loads", &profile)?;
    let work = match cell.work {
        Work::Doubling { indexes } => doubling(indexes, size),
        Work::Pages => pages(size),
    };
    sql.query("loads", &work.0)?;
    let noise = Noise::start(server.pid());
    let reported = sql.query("loads", &measured(&work.1))?;
    series.foreign.push(noise.foreign());
    let numbers: Vec<f64> = reported
        .split('|')
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    let [rows, micros, log_bytes, data_bytes, vlfs] = numbers[..] else {
        return Err(format!("{}: {reported}", cell.name));
    };
    if rows as u64 != size.rows(cell.work) {
        return Err(format!("{}: {rows} rows", cell.name));
    }
    series.ours.push(rows * 1e6 / micros.max(1.0));
    series.volume.push(log_bytes / data_bytes.max(1.0));
    series.vlfs = vlfs as u64;
    sql.query("master", "DROP DATABASE loads").map(|_| ())
}

/// A profile as the statement wants it: years are numbers.
fn quoted(profile: &str) -> String {
    match profile.parse::<u32>() {
        Ok(_) => profile.to_owned(),
        Err(_) => profile.to_uppercase(),
    }
}

/// About what a row takes on its page and in its indexes.
fn row_bytes(work: Work) -> u64 {
    match work {
        Work::Doubling { indexes } => 70 + 20 * indexes as u64,
        Work::Pages => 8192,
    }
}

/// The work between two looks at clock, log and pages.
fn measured(work: &str) -> String {
    let log = "(SELECT num_of_bytes_written FROM sys.dm_io_virtual_file_stats(DB_ID(), 2))";
    format!(
        "SET NOCOUNT ON; DECLARE @rows bigint = 0, @log bigint = {log};
         DECLARE @began datetime2 = SYSDATETIME();
         {work}
         DECLARE @took bigint = DATEDIFF_BIG(microsecond, @began, SYSDATETIME());
         SELECT @rows, @took, {log} - @log,
             (SELECT SUM(used_pages) * 8192 FROM sys.allocation_units a JOIN sys.partitions p ON p.partition_id = a.container_id
              JOIN sys.tables t ON t.object_id = p.object_id),
             (SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID()))"
    )
}

/// What makes the first rows, and what is measured.
fn doubling(indexes: usize, size: &Size) -> (String, String) {
    let columns =
        "member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code";
    let mut setup = format!(
        "SET NOCOUNT ON;
         CREATE TABLE charge (charge_no int IDENTITY NOT NULL CONSTRAINT charge_pk PRIMARY KEY, member_no int NOT NULL,
             provider_no int NOT NULL, category_no int NOT NULL, charge_dt datetime NOT NULL, charge_amt money NOT NULL,
             statement_no int NOT NULL, charge_code char(2) NOT NULL);
         INSERT charge ({columns})
             SELECT value * 7919 % 10007, value * 104729 % 503, value % 10, '20260101', value % 5000, value * 31 % 20011, ''
             FROM GENERATE_SERIES(1, {FIRST});\n"
    );
    for column in &INDEXES[..indexes] {
        let _ = writeln!(setup, "CREATE INDEX charge_{column} ON charge ({column});");
    }
    let work = format!(
        "DECLARE @n int = 0;
         WHILE @n < {}
         BEGIN
             INSERT charge ({columns})
                 SELECT member_no, provider_no, category_no, charge_dt + 1, charge_amt, statement_no, charge_code FROM charge;
             SET @rows += @@ROWCOUNT; SET @n += 1;
         END",
        size.doublings
    );
    (setup, work)
}

fn pages(size: &Size) -> (String, String) {
    (
        "CREATE TABLE wide (id int IDENTITY PRIMARY KEY, filler nchar(2048) NOT NULL)".to_owned(),
        format!(
            "INSERT wide (filler) SELECT N'a' FROM GENERATE_SERIES(1, {}); SET @rows = @@ROWCOUNT;",
            size.pages
        ),
    )
}

/// The same on PostgreSQL; rows a second.
fn peer(server: &Postgres, work: Work, size: &Size) -> Result<f64, String> {
    let columns =
        "member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code";
    let (setup, body) = match work {
        Work::Doubling { indexes } => {
            let mut setup = format!(
                "create table charge (charge_no int generated always as identity primary key, member_no int not null,
                     provider_no int not null, category_no int not null, charge_dt timestamp not null,
                     charge_amt numeric(19,4) not null, statement_no int not null, charge_code char(2) not null);
                 insert into charge ({columns})
                     select i * 7919 % 10007, i * 104729 % 503, i % 10, '2026-01-01', i % 5000, i * 31 % 20011, ''
                     from generate_series(1, {FIRST}) i;"
            );
            for column in &INDEXES[..indexes] {
                let _ = write!(setup, "create index on charge ({column});");
            }
            let body = format!(
                "for n in 1..{} loop
                     insert into charge ({columns}) select member_no, provider_no, category_no,
                         charge_dt + interval '1 day', charge_amt, statement_no, charge_code from charge;
                     commit;
                 end loop;",
                size.doublings
            );
            (setup, body)
        }
        Work::Pages => (
            "create table wide (id int generated always as identity primary key, filler char(4096) not null);
             alter table wide alter filler set storage plain;"
                .to_owned(),
            format!(
                "insert into wide (filler) select 'a' from generate_series(1, {});
                 commit;",
                size.pages
            ),
        ),
    };
    let procedure = format!(
        "create or replace procedure bulk(inout told text) language plpgsql as $$
         declare began timestamptz := clock_timestamp();
         begin {body} told := (extract(epoch from clock_timestamp() - began) * 1000000)::bigint; end $$;"
    );
    // The loops have a table of that name too.
    server.psql(&["-c", "drop table if exists charge, wide"], "bench")?;
    server.psql(
        &["-c", &setup, "-c", &procedure, "-c", "checkpoint"],
        "bench",
    )?;
    let reported = server.psql(&["-c", "call bulk('')"], "bench")?;
    let micros: f64 = reported.trim().parse().map_err(|_| reported)?;
    Ok(size.rows(work) as f64 * 1e6 / micros.max(1.0))
}

fn table(cells: &[&Cell], series: &[Series], size: &Size, writes: f64) -> String {
    let mut out = format!(
        "{} narrow rows, {} of a page; durable 4 KB writes: {writes:.0}/s\n\n\
         | many rows by one statement | rows/s | log by data | VLFs in the end | PostgreSQL rows/s | ratio | others' CPU (% of a core) |\n\
         |---|---|---|---|---|---|---|\n",
        size.rows(KEY),
        size.pages
    );
    for (cell, series) in cells.iter().zip(series) {
        let rate = median(&series.ours);
        let peer = match median(&series.theirs) {
            0.0 => "- | -".to_owned(),
            other => format!("{other:.0} | {:.2}", rate / other),
        };
        let _ = writeln!(
            out,
            "| {} | {rate:.0} | {:.2} | {} | {peer} | {:.0} |",
            cell.name,
            median(&series.volume),
            series.vlfs,
            median(&series.foreign),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{KEY, Size, Work, is_wanted};

    #[test]
    fn a_scale_is_a_part_of_the_full_size() {
        let full = Size::of(1.0);
        assert_eq!((full.doublings, full.pages), (9, 500_000));
        assert_eq!(full.rows(KEY), 10_000 * 511);
        assert_eq!(Size::of(0.2).rows(Work::Pages), 100_000);
        assert!(is_wanted(None) && is_wanted(Some("bulk")) && !is_wanted(Some("wire")));
    }
}
