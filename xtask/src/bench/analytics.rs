//! Questions over many rows: scan and GROUP BY, a hash join and a sort of 12.8 million narrow rows, here and in PostgreSQL
//! on the same data in the same run.
//!
//! The rows are made by each server itself, there in unlogged tables. PostgreSQL has memory to sort and hash in (`work_mem`), its statistics and
//! whatever parallel workers it takes by itself; both have all pages in memory after the first round's first query.
//! A figure is the median of the rounds, the client's start included on both sides.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use super::median;
use super::noise::Noise;
use super::paired::Work;
use super::postgres::Postgres;
use crate::server::Server;
use crate::sql::Sql;

const ROWS: u64 = 12_800_000;
/// Rows that one INSERT makes.
const STEP: u64 = 100_000;
/// Prime, above ROWS: `v` hits every row number in another order.
const PRIME: u64 = 12_800_009;

/// A question; `{v}` is the value in a type that has room for its sums.
struct Cell {
    name: &'static str,
    query: &'static str,
}

const CELLS: [Cell; 3] = [
    Cell {
        name: "scan and GROUP BY",
        query: "SELECT COUNT(*), SUM(n), SUM(s) FROM (SELECT k, COUNT(*) AS n, SUM({a.v}) AS s FROM one a GROUP BY k) g",
    },
    Cell {
        name: "hash join",
        query: "SELECT COUNT(*), SUM({a.v} + b.k) FROM one a JOIN two b ON a.id = b.id",
    },
    Cell {
        name: "sort",
        query: "SELECT COUNT(*), SUM({a.v}) FROM (SELECT v, id FROM one ORDER BY v, id OFFSET 1 ROWS) a",
    },
];

/// Whether `--only` asks for this part.
pub fn is_wanted(only: Option<&str>) -> bool {
    only.is_none_or(|o| "analytics".contains(o) || CELLS.iter().any(|c| c.name.contains(o)))
}

/// The part's table.
pub fn figures(dir: &Path, rounds: usize) -> Result<String, String> {
    let server = Server::start(&dir.join("analytics"))?;
    let here = Sql { port: server.port };
    load_here(here)?;
    let there = match Postgres::start(dir) {
        Ok(p) => {
            load_there(&p)?;
            Some(p)
        }
        Err(why) => {
            println!("skipped: PostgreSQL: {why}");
            None
        }
    };
    let mut out = "| 12.8 million rows | seconds | PostgreSQL | ratio | others' CPU % |\n|---|---|---|---|---|\n".to_owned();
    let mut series: Vec<[Vec<f64>; 3]> = CELLS.iter().map(|_| Default::default()).collect();
    for round in 0..rounds {
        for (cell, [ours, theirs, foreign]) in CELLS.iter().zip(&mut series) {
            let noise = Noise::start(server.pid());
            let start = Instant::now();
            let answer = here.query("bench", &question(cell, "CAST(", " AS bigint)", true))?;
            ours.push(start.elapsed().as_secs_f64());
            foreign.push(noise.foreign());
            let answer = numbers(&answer);
            println!("round {round}: {}: {:.2} s", cell.name, ours[round]);
            if let Some(there) = &there {
                let start = Instant::now();
                let text = question(cell, "CAST(", " AS bigint)", false);
                let reported = there.psql(&["-c", "set work_mem = '1GB'", "-c", &text], "bench")?;
                theirs.push(start.elapsed().as_secs_f64());
                println!(
                    "round {round}: {}: PostgreSQL {:.2} s",
                    cell.name, theirs[round]
                );
                if numbers(&reported) != answer {
                    return Err(format!(
                        "{}: {answer:?} here, {reported:?} there",
                        cell.name
                    ));
                }
            }
        }
    }
    for (cell, [ours, theirs, foreign]) in CELLS.iter().zip(&series) {
        let (ours, theirs) = (median(ours), median(theirs));
        let peer = match theirs {
            0.0 => "- | -".to_owned(),
            theirs => format!("{theirs:.2} | {:.2}", ours / theirs),
        };
        let _ = writeln!(
            out,
            "| {} | {ours:.2} | {peer} | {:.0} |",
            cell.name,
            median(foreign)
        );
    }
    match server.stop() {
        true => Ok(out),
        false => Err("the server does not end cleanly".to_owned()),
    }
}

/// Every question, as often as it is answered in a second, on a server that has the rows.
pub fn works() -> Vec<Work<'static, Server>> {
    let work = |cell: &'static Cell| {
        let run = move |server: &Server| {
            let text = question(cell, "CAST(", " AS bigint)", true);
            let start = Instant::now();
            Sql { port: server.port }.query("bench", &text)?;
            Ok(1.0 / start.elapsed().as_secs_f64())
        };
        (cell.name.to_owned(), Box::new(run) as Box<_>)
    };
    CELLS.iter().map(work).collect()
}

/// The query's text, with sums in bigint.
fn question(cell: &Cell, before: &str, after: &str, quiet: bool) -> String {
    let text = cell.query.replace('{', before).replace('}', after);
    match quiet {
        true => format!("SET NOCOUNT ON; {text}"),
        false => text,
    }
}

/// The numbers that a client has printed.
fn numbers(text: &str) -> Vec<i128> {
    let words = text.split(|c: char| c.is_whitespace() || c == '|');
    words.filter_map(|w| w.parse().ok()).collect()
}

pub fn load_here(sql: Sql) -> Result<(), String> {
    sql.query(
        "master",
        "CREATE DATABASE bench; ALTER DATABASE bench SET RECOVERY SIMPLE",
    )?;
    for table in ["one", "two"] {
        sql.query(
            "bench",
            &format!(
                "SET NOCOUNT ON;
                 CREATE TABLE {table} (id int NOT NULL, k int NOT NULL, v int NOT NULL);
                 DECLARE @i int = 0;
                 WHILE @i < {ROWS}
                 BEGIN
                     INSERT {table} SELECT value, value % 1000, CAST(CAST(value AS bigint) * 7919 % {PRIME} AS int)
                         FROM GENERATE_SERIES(@i + 1, @i + {STEP});
                     SET @i = @i + {STEP};
                 END;
                 CHECKPOINT"
            ),
        )?;
    }
    Ok(())
}

fn load_there(server: &Postgres) -> Result<(), String> {
    for table in ["one", "two"] {
        let create = format!(
            "create unlogged table {table} as select i::int as id, (i % 1000)::int as k, (i::bigint * 7919 % {PRIME})::int as v
             from generate_series(1, {ROWS}) i"
        );
        let vacuum = format!("vacuum analyze {table}");
        server.psql(&["-c", &create, "-c", &vacuum], "bench")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CELLS, ROWS, STEP, is_wanted, numbers, question};

    #[test]
    fn both_servers_get_the_same_question() {
        let text = question(&CELLS[1], "CAST(", " AS bigint)", false);
        assert_eq!(
            text,
            "SELECT COUNT(*), SUM(CAST(a.v AS bigint) + b.k) FROM one a JOIN two b ON a.id = b.id"
        );
        assert_eq!(ROWS % STEP, 0);
        assert_eq!(numbers("12|-3\n x 4"), [12, -3, 4]);
        assert!(is_wanted(None) && is_wanted(Some("sort")) && !is_wanted(Some("start")));
    }
}
