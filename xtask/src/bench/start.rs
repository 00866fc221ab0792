//! How long a start takes until a first query is answered, how much memory an idle server holds, how large the binary is.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{median, postgres};
use crate::server::Server;
use crate::sql::Sql;
use crate::target_dir;

fn ms(values: &[f64]) -> String {
    format!("{:.0} ms", median(values) * 1000.0)
}

/// The rows of the table that are not rates.
pub fn figures(dir: &Path, rounds: usize) -> Result<String, String> {
    let (mut first, mut again, mut rss) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ready, mut theirs) = (Vec::new(), Vec::new());
    let cluster = postgres::make(dir);
    if let Err(why) = &cluster {
        println!("skipped: PostgreSQL: {why}");
    }
    for _ in 0..rounds {
        let data = dir.join("start");
        let _ = std::fs::remove_dir_all(&data);
        let (server, _, took) = answered(&data)?;
        first.push(took);
        std::thread::sleep(Duration::from_secs(1));
        rss.push(resident_mb(server.pid()));
        stop(server)?;
        let (server, listens, took) = answered(&data)?;
        ready.push(listens);
        again.push(took);
        stop(server)?;
        if let Ok((bin, data)) = &cluster {
            let start = Instant::now();
            let server = postgres::run(bin, data)?;
            theirs.push(start.elapsed().as_secs_f64());
            server.stop();
        }
    }
    let binary = std::fs::metadata(target_dir().join("release").join("duramen"))
        .map_or(0.0, |m| m.len() as f64 / 1048576.0);
    let peer = match theirs.is_empty() {
        true => "-".to_owned(),
        false => ms(&theirs),
    };
    Ok(format!(
        "| what | figure | PostgreSQL |\n|---|---|---|\n\
         | first start to the first query answered | {} | - |\n\
         | restart after a clean shutdown, to ready | {} | - |\n\
         | restart after a clean shutdown, to the first query answered | {} | {peer} |\n\
         | resident memory when idle | {:.0} MB | - |\n\
         | stripped binary | {binary:.1} MB | - |\n\n",
        ms(&first),
        ms(&ready),
        ms(&again),
        median(&rss),
    ))
}

/// A server, the time until it listens, and until it has answered a query.
fn answered(data: &Path) -> Result<(Server, f64, f64), String> {
    let start = Instant::now();
    let server = Server::start(data)?;
    let listens = start.elapsed().as_secs_f64();
    Sql { port: server.port }.query("master", "SELECT 1")?;
    Ok((server, listens, start.elapsed().as_secs_f64()))
}

fn stop(server: Server) -> Result<(), String> {
    match server.stop() {
        true => Ok(()),
        false => Err("the server does not end cleanly".to_owned()),
    }
}

/// VmRSS.
fn resident_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kb = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}
