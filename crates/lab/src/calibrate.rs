//! `duramen calibrate [DIR] [--seconds N]`: what the disk below a directory can do for a log.
//!
//! Three places a durable 4 KB write can go, because they cost differently and a log meets all three:
//!
//! | place | what the file system must make durable beside the data |
//! |---|---|
//! | written | nothing: the blocks exist and have been written before (a log that has wrapped around) |
//! | allocated | that the block is now written (space from `fallocate`, never used) |
//! | growing | the new length and the new block |
//!
//! Then the bandwidth of durable 60 KB writes (the largest log block) and of 64 KB reads at several depths: depth is
//! threads that each wait for their own request, which is what a flusher with several writes in flight does.
//!
//! Numbers are of this moment on this machine. Every request is timed by itself; percentiles are exact.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use duramen_os::random::Rng;
use duramen_os::{AlignedBuf, DiskFile, Env, IoError, OpenOptions, thread, time};

use crate::args::asks_for_help;
use crate::record::Disk;

const BLOCK: usize = 4096;
const LOG_BLOCK: usize = 60 * 1024;
const READ: usize = 64 * 1024;
const WRITES: &str = "60 KB durable writes";
const READS: &str = "64 KB random reads";
const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];

const USAGE: &str = "usage: duramen calibrate [DIR] [--seconds N]";

/// How long each measurement runs and how much space it uses.
#[derive(Clone, Copy, Debug)]
struct Effort {
    each: Duration,
    file_bytes: u64,
}

/// The times of one series of single requests.
#[derive(Clone, Debug)]
struct Latency {
    what: &'static str,
    count: usize,
    p50: Duration,
    p99: Duration,
    max: Duration,
    per_second: f64,
}

#[derive(Clone, Debug)]
struct Bandwidth {
    what: &'static str,
    depth: usize,
    mib_per_second: f64,
    requests_per_second: f64,
}

#[derive(Clone, Debug)]
struct Report {
    direct: bool,
    sector: u32,
    latencies: Vec<Latency>,
    bandwidths: Vec<Bandwidth>,
}

/// Runs the command; the exit code is the result.
pub fn run(args: &[String]) -> i32 {
    if asks_for_help(args) {
        println!("{USAGE}");
        return 0;
    }
    let (dir, each) = match parse(args) {
        Ok(parsed) => parsed,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return 2;
        }
    };
    let effort = Effort {
        each,
        file_bytes: 64 << 20,
    };
    match measure(&Env::real(), &dir, effort) {
        Ok(report) => {
            print!("{}", render(&dir, &report));
            0
        }
        Err(error) => {
            eprintln!("cannot measure {}: {error}", dir.display());
            1
        }
    }
}

/// The figures a lab report stands beside, within two seconds.
pub fn quick(dir: &Path) -> Result<Disk, String> {
    let effort = Effort {
        each: Duration::from_millis(120),
        file_bytes: 64 << 20,
    };
    let report =
        measure(&Env::real(), dir, effort).map_err(|e| format!("{}: {e}", dir.display()))?;
    let latency = |what: &str| report.latencies.iter().find(|l| l.what == what);
    let us = |what: &str| latency(what).map_or(0.0, |l| l.p50.as_nanos() as f64 / 1000.0);
    let best = |what: &str| {
        let all = report.bandwidths.iter().filter(|b| b.what == what);
        all.map(|b| b.mib_per_second * 1.048_576)
            .fold(0.0, f64::max)
    };
    Ok(Disk {
        durable_write_us: us("written"),
        durable_writes_per_s: latency("written").map_or(0.0, |l| l.per_second),
        allocated_write_us: us("allocated"),
        growing_write_us: us("growing"),
        write_mb_s: best(WRITES),
        read_mb_s: best(READS),
        ..Disk::default()
    })
}

fn parse(args: &[String]) -> Result<(PathBuf, Duration), String> {
    let mut dir = PathBuf::from(".");
    let mut seconds = 1.0;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                let value = args.next().ok_or("--seconds needs a number")?;
                seconds = value
                    .parse()
                    .ok()
                    .filter(|s| (0.01..=600.0).contains(s))
                    .ok_or_else(|| {
                        format!("'{value}' is not a number of seconds from 0.01 to 600")
                    })?;
            }
            flag if flag.starts_with('-') => return Err(format!("unknown option '{flag}'")),
            path => dir = PathBuf::from(path),
        }
    }
    Ok((dir, Duration::from_secs_f64(seconds)))
}

fn measure(env: &Env, dir: &Path, effort: Effort) -> Result<Report, IoError> {
    env.disk.create_dir_all(dir)?;
    let path = dir.join("duramen-calibrate.tmp");
    if env.disk.exists(&path) {
        env.disk.remove(&path)?;
    }
    let result = measure_file(env, &path, effort);
    let removed = env.disk.remove(&path);
    let report = result?;
    removed?;
    Ok(report)
}

fn measure_file(env: &Env, path: &Path, effort: Effort) -> Result<Report, IoError> {
    let options = OpenOptions {
        create: true,
        direct: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path, &options)?;
    let blocks = effort.file_bytes / BLOCK as u64;
    let mut latencies = Vec::new();

    // Growing first: the file is empty.
    latencies.push(series("growing", effort.each, u64::MAX, |n, data| {
        file.write_durable_at(data, n * BLOCK as u64)
    })?);
    file.set_len(0)?;
    file.allocate(0, effort.file_bytes)?;
    file.sync()?;
    latencies.push(series("allocated", effort.each, blocks, |n, data| {
        file.write_durable_at(data, n * BLOCK as u64)
    })?);
    fill(&*file, effort.file_bytes)?;
    latencies.push(series("written", effort.each, u64::MAX, |n, data| {
        file.write_durable_at(data, n % blocks * BLOCK as u64)
    })?);
    latencies.push(series(
        "written, then sync",
        effort.each,
        u64::MAX,
        |n, data| {
            file.write_at(data, n % blocks * BLOCK as u64)?;
            file.sync()
        },
    )?);
    latencies.reverse();

    let mut bandwidths = Vec::new();
    for depth in DEPTHS {
        bandwidths.push(in_parallel(
            WRITES,
            &file,
            depth,
            LOG_BLOCK,
            effort,
            |file, buf, at| file.write_durable_at(buf, at),
        )?);
    }
    for depth in DEPTHS {
        bandwidths.push(in_parallel(
            READS,
            &file,
            depth,
            READ,
            effort,
            |file, buf, at| file.read_at(buf, at),
        )?);
    }
    Ok(Report {
        direct: file.is_direct(),
        sector: env.disk.sector_bytes(path.parent().unwrap_or(path)),
        latencies,
        bandwidths,
    })
}

fn fill(file: &dyn DiskFile, bytes: u64) -> Result<(), IoError> {
    let mut chunk = AlignedBuf::zeroed(1 << 20);
    let mut rng = Rng::new(1);
    rng.fill(&mut chunk);
    let mut at = 0;
    while at < bytes {
        let len = (bytes - at).min(chunk.len() as u64) as usize;
        file.write_at(&chunk[..len], at)?;
        at += len as u64;
    }
    file.sync()
}

/// One request after the other for a while, `most` at the most.
fn series(
    what: &'static str,
    each: Duration,
    most: u64,
    mut request: impl FnMut(u64, &[u8]) -> Result<(), IoError>,
) -> Result<Latency, IoError> {
    let mut data = AlignedBuf::zeroed(BLOCK);
    Rng::new(2).fill(&mut data);
    let mut times = Vec::new();
    let start = time::now();
    let mut n = 0;
    while n < most && (n == 0 || start.elapsed() < each) {
        let before = time::now();
        request(n, &data)?;
        times.push(before.elapsed());
        n += 1;
    }
    let total = start.elapsed();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Ok(Latency {
        what,
        count: times.len(),
        p50: at(0.5),
        p99: at(0.99),
        max: at(1.0),
        per_second: times.len() as f64 / total.as_secs_f64().max(1e-9),
    })
}

/// `depth` threads, each with one request of `bytes` in flight.
fn in_parallel(
    what: &'static str,
    file: &Arc<dyn DiskFile>,
    depth: usize,
    bytes: usize,
    effort: Effort,
    request: fn(&dyn DiskFile, &mut [u8], u64) -> Result<(), IoError>,
) -> Result<Bandwidth, IoError> {
    let places = (effort.file_bytes / bytes as u64).max(1);
    let stop = Arc::new(AtomicBool::new(false));
    let next = Arc::new(AtomicU64::new(0));
    let reads = bytes == READ;
    let start = time::now();
    let threads: Vec<_> = (0..depth)
        .map(|n| {
            let (file, stop, next) = (Arc::clone(file), Arc::clone(&stop), Arc::clone(&next));
            thread::spawn("calibrate", move || {
                let mut buf = AlignedBuf::zeroed(bytes);
                let mut rng = Rng::new(n as u64);
                rng.fill(&mut buf);
                let mut done = 0u64;
                while done == 0 || !stop.load(Ordering::Relaxed) {
                    let place = if reads {
                        rng.below(places)
                    } else {
                        next.fetch_add(1, Ordering::Relaxed) % places
                    };
                    request(&*file, &mut buf, place * bytes as u64)?;
                    done += 1;
                }
                Ok(done)
            })
        })
        .collect();
    thread::sleep(effort.each);
    stop.store(true, Ordering::Relaxed);
    let mut requests = 0;
    let mut failed = None;
    for thread in threads {
        match thread.join() {
            Ok(Ok(done)) => requests += done,
            Ok(Err(error)) => failed = Some(error),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    Ok(Bandwidth {
        what,
        depth,
        mib_per_second: requests as f64 * bytes as f64 / seconds / (1 << 20) as f64,
        requests_per_second: requests as f64 / seconds,
    })
}

fn render(dir: &Path, report: &Report) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let us = |d: Duration| d.as_nanos() as f64 / 1000.0;
    let _ = writeln!(
        out,
        "{}: sector {} bytes, page cache {}, {} processors",
        dir.display(),
        report.sector,
        if report.direct {
            "bypassed"
        } else {
            "in use (direct I/O refused)"
        },
        thread::available_parallelism(),
    );
    let _ = writeln!(
        out,
        "\n{:<24}{:>10}{:>12}{:>12}{:>12}{:>12}",
        "durable 4 KB write", "count", "p50 us", "p99 us", "max us", "per second"
    );
    for l in &report.latencies {
        let _ = writeln!(
            out,
            "{:<24}{:>10}{:>12.1}{:>12.1}{:>12.1}{:>12.0}",
            l.what,
            l.count,
            us(l.p50),
            us(l.p99),
            us(l.max),
            l.per_second
        );
    }
    let _ = writeln!(
        out,
        "\n{:<24}{:>10}{:>12}{:>12}",
        "bandwidth", "depth", "MiB/s", "per second"
    );
    for b in &report.bandwidths {
        let _ = writeln!(
            out,
            "{:<24}{:>10}{:>12.1}{:>12.0}",
            b.what, b.depth, b.mib_per_second, b.requests_per_second
        );
    }
    out
}

#[cfg(test)]
mod tests;
