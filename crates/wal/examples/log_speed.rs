//! How fast the log is here: `cargo run --release -p duramen-wal --example log_speed -- DIR`.
//!
//! Prints the durable 4 KB write of the same disk next to each figure, because only the ratio means something.

#![allow(clippy::print_stdout, reason = "a program whose output is its purpose")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_base::{DbId, FileId, Lsn, XdesId};
use duramen_os::{Env, OpenOptions, thread, time};
use duramen_wal::record::{Lcx, Lop, RecordBuilder};
use duramen_wal::{Growth, Log, LogConfig, LogFileSpec};

const MB: u64 = 1 << 20;

fn main() {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let env = Env::real();
    let path = dir.join("log_speed.ldf");
    println!("durable 4 KB write, median: {} us", calibrate(&env, &dir));
    let record = RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
        .xdes(XdesId(1))
        .finish(&[&[7; 100]]);

    let log = create(&env, &path, 512 * MB);
    // A queue's worth at a time: this measures the append, not the disk.
    let (rounds, n) = (30u32, 30_000u32);
    let mut appending = 0;
    let started = time::now();
    for _ in 0..rounds {
        let started = time::now();
        for _ in 0..n {
            log.append(&record, 0).expect("room");
        }
        appending += started.elapsed().as_nanos();
        log.flush_all().expect("the disk works");
    }
    println!(
        "append of {} B: {} ns; with flushes of 5 MB {} MB/s",
        record.len(),
        appending / u128::from(n * rounds),
        u128::from(n * rounds) * record.len() as u128 / started.elapsed().as_micros().max(1)
    );

    let sessions = 16;
    let mut appending = 0;
    for _ in 0..rounds {
        let started = time::now();
        let threads: Vec<_> = (0..sessions)
            .map(|_| {
                let (log, record) = (log.clone(), record.clone());
                thread::spawn("session", move || {
                    for _ in 0..n / sessions {
                        log.append(&record, 0).expect("room");
                    }
                })
            })
            .collect();
        for t in threads {
            let _ = t.join();
        }
        appending += started.elapsed().as_nanos();
        log.flush_all().expect("the disk works");
    }
    println!(
        "append of {} B, {sessions} sessions: {} k records/s",
        record.len(),
        u128::from(n * rounds) * 1_000_000 / appending
    );

    let mut waits: Vec<u128> = (0..2000)
        .map(|_| {
            let started = time::now();
            let lsn = log.append(&record, 0).expect("room");
            log.flush(lsn).expect("the disk works");
            started.elapsed().as_nanos()
        })
        .collect();
    println!(
        "commit, one client, median: {} us",
        median(&mut waits) / 1000
    );

    for clients in [4u32, 16, 64] {
        let started = time::now();
        let each = 20_000 / clients;
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                let (log, record) = (log.clone(), record.clone());
                thread::spawn("client", move || {
                    for _ in 0..each {
                        let lsn = log.append(&record, 0).expect("room");
                        log.flush(lsn).expect("the disk works");
                    }
                })
            })
            .collect();
        for t in threads {
            let _ = t.join();
        }
        let per_second = u128::from(each * clients) * 1_000_000 / started.elapsed().as_micros();
        println!("commits, {clients} clients: {per_second}/s");
    }
    end(&env, &log, &path);

    for (name, size, growth) in [("written ahead", 300, 64), ("1 MB growth", 8, 1)] {
        let log = create_growing(&env, &path, size * MB, growth * MB);
        let started = time::now();
        let mut last = Lsn::NULL;
        for _ in 0..1_500_000 {
            last = log.append(&record, 0).expect("room");
        }
        log.flush(last).expect("the disk works");
        println!(
            "240 MB of log, {name}: {} ms",
            started.elapsed().as_millis()
        );
        end(&env, &log, &path);
    }
}

fn create(env: &Env, path: &Path, size: u64) -> Arc<Log> {
    create_growing(env, path, size, 64 * MB)
}

fn create_growing(env: &Env, path: &Path, size: u64, growth: u64) -> Arc<Log> {
    let spec = LogFileSpec {
        path: path.to_path_buf(),
        file_id: FileId(2),
        size,
        max_size: None,
        growth: Growth::Bytes(growth),
    };
    let cfg = LogConfig {
        db_name: "speed".into(),
        db_id: DbId(9),
        ..LogConfig::default()
    };
    Log::create(env, cfg, &spec, &[0; 8192]).expect("a new file in a writable directory")
}

fn end(env: &Env, log: &Log, path: &Path) {
    log.shutdown().expect("the disk works");
    env.disk.remove(path).expect("our own file");
}

fn calibrate(env: &Env, dir: &Path) -> u128 {
    let path = dir.join("log_speed.calibrate");
    let options = OpenOptions {
        create: true,
        direct: true,
        ..OpenOptions::default()
    };
    let file = env
        .disk
        .open(&path, &options)
        .expect("a writable directory");
    file.write_durable_at(&vec![1; 4 << 20], 0).expect("room");
    let mut waits: Vec<u128> = (0..1000)
        .map(|i| {
            let started = time::now();
            file.write_durable_at(&[2; 4096], i * 4096).expect("room");
            started.elapsed().as_nanos()
        })
        .collect();
    env.disk.remove(&path).expect("our own file");
    median(&mut waits) / 1000
}

fn median(values: &mut [u128]) -> u128 {
    values.sort_unstable();
    values[values.len() / 2]
}
