//! How fast the log is here: `cargo run --release -p duramen-wal --example log_speed -- DIR [append|commits|bandwidth]`, or `cargo xtask bench --only log`.
//!
//! Prints `what | figure | target` lines of a table; targets that depend on the disk are computed from what the same disk
//! did a moment before, because only the ratio means something.

#![allow(clippy::print_stdout, reason = "a program whose output is its purpose")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{DbId, FileId, Lsn, XdesId};
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::{AlignedBuf, DiskFile, Env, OpenOptions, thread, time};
use duramen_wal::record::{Lcx, Lop, RecordBuilder};
use duramen_wal::{Growth, Log, LogConfig, LogFileSpec};

const MB: u64 = 1 << 20;
/// The log's own: the largest write, and how many are on their way at once.
const BLOCK: u64 = MB;
const DEPTH: u64 = 4;

fn print_row(what: &str, figure: &str, target: &str) {
    println!("| {what} | {figure} | {target} |");
}

fn main() {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let env = Env::real();
    let path = dir.join("log_speed.ldf");
    let record = RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
        .xdes(XdesId(1))
        .finish(&[&[7; 100]]);

    // As large as all that follows: a growth would be in the figures.
    let log = create(&env, &path, 2048 * MB);
    let only = std::env::args().nth(2);
    let is_wanted = |part: &str| only.as_ref().is_none_or(|o| o == part);
    if is_wanted("append") {
        append_alone(&log, &record);
        append_together(&log, &record);
    }
    let write = calibrate(&env, &dir, Duration::ZERO);
    print_row("durable 4 KB write, median", &format!("{write} us"), "-");
    // What a client that computes between its commits gets of the same disk.
    for pause in [20, 50, 200] {
        let after = calibrate(&env, &dir, Duration::from_micros(pause));
        let what = format!("the same, {pause} us after the one before");
        print_row(&what, &format!("{after} us"), "-");
    }
    let (quiet, all) = disk_at_half_load(&env, &dir, write);
    let figure = format!(
        "{quiet:.0} us, {:.1} durable writes; with every pause of the machine {all:.0} us",
        quiet / write as f64
    );
    print_row(
        "p99 of a durable write, half as often as could be",
        &figure,
        "-",
    );
    if is_wanted("commits") {
        commits(&log, &record, write);
        for clients in [16, 64] {
            let rate = threads_without_a_log(&env, &dir, clients);
            let what = format!("the same without a log: {clients} threads, a write, waking them");
            print_row(&what, &format!("{rate:.0}/s"), "-");
        }
    }
    end(&env, &log, &path);
    if !is_wanted("bandwidth") {
        return;
    }
    bandwidth(&env, &dir, &path);

    for (name, size, growth) in [("written ahead", 300, 64), ("1 MB growth", 8, 1)] {
        let log = create_growing(&env, &path, size * MB, growth * MB);
        let started = time::now();
        let mut last = Lsn::NULL;
        for _ in 0..1_500_000 {
            last = log.append(&record, 0).expect("room");
        }
        log.flush(last).expect("the disk works");
        print_row(
            &format!("240 MB of log, {name}"),
            &format!("{} ms", started.elapsed().as_millis()),
            "-",
        );
        end(&env, &log, &path);
    }
}

/// A queue's worth at a time: this measures the append, not the disk.
const ROUNDS: u32 = 30;
const APPENDS: u32 = 30_000;

fn append_alone(log: &Log, record: &[u8]) {
    let mut appending: Vec<u128> = (0..ROUNDS)
        .map(|_| {
            let started = time::now();
            for _ in 0..APPENDS {
                log.append(record, 0).expect("room");
            }
            let took = started.elapsed().as_nanos();
            log.flush_all().expect("the disk works");
            took
        })
        .collect();
    let each = median(&mut appending) / u128::from(APPENDS);
    let what = format!("append of {} bytes, one thread", record.len());
    print_row(&what, &format!("{each} ns"), "60 ns");
}

fn append_together(log: &Arc<Log>, record: &[u8]) {
    let sessions = 16;
    let mut appending: Vec<u128> = (0..ROUNDS)
        .map(|_| {
            let started = time::now();
            let threads = (0..sessions).map(|_| {
                let (log, record) = (log.clone(), record.to_vec());
                thread::spawn("session", move || {
                    for _ in 0..APPENDS / sessions {
                        log.append(&record, 0).expect("room");
                    }
                })
            });
            for t in threads.collect::<Vec<_>>() {
                let _ = t.join();
            }
            let took = started.elapsed().as_nanos();
            log.flush_all().expect("the disk works");
            took
        })
        .collect();
    let rate = f64::from(APPENDS) * 1_000.0 / median(&mut appending) as f64;
    print_row(
        &format!("append, {sessions} sessions (starting them included)"),
        &format!("{:.1} M/s", rate),
        "10 M/s",
    );
}

/// So many sessions ask for half of what they could get.
const HALF_LOAD: u32 = 16;

/// Group commit: sessions that wait for each commit; then half as many commits as so many sessions got, in even steps.
fn commits(log: &Arc<Log>, record: &[u8], write: u128) {
    let write = write.max(1) as f64;
    let mut half = (1, 1.0);
    for clients in [1_u32, 4, 8, 16, 32, 64] {
        let each = 40_000 / clients.max(4);
        let started = time::now();
        let (mut waits, _) = together(log, record, clients, each, None);
        let rate = waits.len() as f64 / started.elapsed().as_secs_f64();
        if clients == HALF_LOAD {
            half = (clients, rate);
        }
        let group = 0.8 * f64::from(clients) / (1.5 * write) * 1e6;
        let target = match clients {
            1 => format!("{:.0}/s", 0.9e6 / write),
            64 => format!("{group:.0}/s, or 200000/s"),
            _ => format!("{group:.0}/s"),
        };
        let (p50, p99) = (share(&mut waits, 0.50), share(&mut waits, 0.99));
        print_row(
            &format!("commits, {clients} sessions"),
            &format!("{rate:.0}/s, p50 {p50:.0} us, p99 {p99:.0} us"),
            &target,
        );
    }
    let (clients, most) = half;
    let every = Duration::from_secs_f64(f64::from(clients) / (most / 2.0));
    let each = (SLICE / every.as_secs_f64()) as u32;
    let mut lates = Vec::new();
    let slice = |_| {
        let (waits, late) = together(log, record, clients, each, Some(every));
        lates.push(late);
        waits
    };
    let (quiet, all) = tails((0..SLICES).map(slice));
    let figure = |(quiet, all): (f64, f64)| {
        let writes = quiet / write;
        format!(
            "{quiet:.0} us, {writes:.1} durable writes; with every pause of the machine {all:.0} us"
        )
    };
    print_row(
        &format!(
            "p99 of a commit at {:.0} commits/s, {clients} sessions",
            most / 2.0
        ),
        &figure((quiet, all)),
        "3 durable writes",
    );
    let what = "p99 of how late the machine wakes them when a commit is due";
    print_row(what, &figure(tails(lates.into_iter())), "-");
}

/// Clients who wait for the next write, each for a word of its own.
#[derive(Default)]
struct Line {
    waiting: Mutex<Vec<Arc<Slot>>>,
    somebody: Condvar,
}

#[derive(Default)]
struct Slot {
    served: Mutex<bool>,
    bell: Condvar,
}

/// What group commit can be on this machine: threads that stand in a line, and one that takes the whole line, does a
/// durable write and wakes them. Nothing is appended, sealed, counted or checked.
fn threads_without_a_log(env: &Env, dir: &Path, clients: u32) -> f64 {
    let path = dir.join("log_speed.calibrate");
    let file = open(env, &path);
    file.write_durable_at(&vec![1; 4 << 20], 0).expect("room");
    let line = Arc::new(Line::default());
    let each = 80_000 / clients;
    let began = time::now();
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let line = line.clone();
            let slot = Arc::new(Slot::default());
            thread::spawn("client", move || {
                for _ in 0..each {
                    line.waiting.lock().push(slot.clone());
                    line.somebody.notify_one();
                    let mut served = slot.served.lock();
                    while !std::mem::take(&mut *served) {
                        slot.bell.wait(&mut served);
                    }
                }
            })
        })
        .collect();
    let (mut left, mut at) = (each * clients, 0);
    while left > 0 {
        let all = {
            let mut waiting = line.waiting.lock();
            while waiting.is_empty() {
                line.somebody.wait(&mut waiting);
            }
            std::mem::take(&mut *waiting)
        };
        file.write_durable_at(&[2; 4096], at % 1000 * 4096)
            .expect("room");
        at += 1;
        left -= all.len() as u32;
        for slot in all {
            *slot.served.lock() = true;
            slot.bell.notify_one();
        }
    }
    let took = began.elapsed().as_secs_f64();
    for t in threads {
        t.join().expect("a client does not panic");
    }
    env.disk.remove(&path).expect("our own file");
    f64::from(each * clients) / took
}

/// What is due at a rate is late after every pause of the machine: one of 20 ms in two seconds is the whole percent. So
/// the tail is taken of short stretches: that of the median stretch, in microseconds, and that of all.
const SLICES: u32 = 21;
/// Seconds.
const SLICE: f64 = 0.2;

fn tails(slices: impl Iterator<Item = Vec<u128>>) -> (f64, f64) {
    let (mut each, mut all) = (Vec::new(), Vec::new());
    for mut slice in slices {
        each.push(share(&mut slice, 0.99));
        all.append(&mut slice);
    }
    (middle(each), share(&mut all, 0.99))
}

/// The disk alone: one writer that is due to write half as often as it could.
fn disk_at_half_load(env: &Env, dir: &Path, write: u128) -> (f64, f64) {
    let path = dir.join("log_speed.calibrate");
    let file = open(env, &path);
    file.write_durable_at(&vec![1; 4 << 20], 0).expect("room");
    let every = Duration::from_micros(2 * write as u64);
    let writes = (SLICE / every.as_secs_f64()) as u32;
    let slice = |_| {
        let began = time::now();
        let due = |i: u32| every * i;
        let one = |i: u32| {
            while began.elapsed() < due(i) {}
            let at = u64::from(i % 1000) * 4096;
            file.write_durable_at(&[2; 4096], at).expect("room");
            (began.elapsed() - due(i)).as_nanos()
        };
        (0..writes).map(one).collect()
    };
    let tails = tails((0..SLICES).map(slice));
    env.disk.remove(&path).expect("our own file");
    tails
}

/// Until all clients are there to begin in step.
const GATHERING: Duration = Duration::from_millis(10);

/// Nanoseconds that each commit took; with `every`, from when it was due, and how late each client that slept until then
/// was woken.
fn together(
    log: &Arc<Log>,
    record: &[u8],
    clients: u32,
    each: u32,
    every: Option<Duration>,
) -> (Vec<u128>, Vec<u128>) {
    let began = time::now();
    let client = |number: u32| {
        let (log, record) = (log.clone(), record.to_vec());
        thread::spawn("client", move || {
            let (mut waits, mut late) = (Vec::with_capacity(each as usize), Vec::new());
            for i in 0..each {
                let mut started = time::now();
                if let Some(every) = every {
                    // Clients take turns within a step.
                    let due = GATHERING + every * i + every * number / clients;
                    let early = due.saturating_sub(began.elapsed());
                    // A sleep that ends late is the machine's, a commit that ends late is the next one's.
                    started = began + due;
                    if !early.is_zero() {
                        thread::sleep(early);
                        started = time::now();
                        late.push((started - began).saturating_sub(due).as_nanos());
                    }
                }
                let lsn = log.append(&record, 0).expect("room");
                log.flush(lsn).expect("the disk works");
                waits.push(started.elapsed().as_nanos());
            }
            (waits, late)
        })
    };
    let threads: Vec<_> = (0..clients).map(client).collect();
    let mut all = (Vec::new(), Vec::new());
    for t in threads {
        let (mut waits, mut late) = t.join().expect("a client does not panic");
        all.0.append(&mut waits);
        all.1.append(&mut late);
    }
    all
}

/// Bulk: what the disk takes of blocks as large as the log's, so many at once; then the log.
fn bandwidth(env: &Env, dir: &Path, path: &Path) {
    let file = open(env, &dir.join("log_speed.calibrate"));
    let total = 512 * MB;
    let pattern = vec![0xC0; BLOCK as usize];
    for at in (0..total).step_by(BLOCK as usize) {
        file.write_at(&pattern, at).expect("room");
    }
    file.sync().expect("the disk works");
    let disk = (0..3).map(|_| calibrated_bandwidth(&file, total)).collect();
    drop(file);
    let _ = env.disk.remove(&dir.join("log_speed.calibrate"));

    let record = RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
        .xdes(XdesId(1))
        .finish(&[&[7; 8000]]);
    let ours = (0..3)
        .map(|_| {
            let log = create(env, path, 640 * MB);
            let started = time::now();
            let mut last = Lsn::NULL;
            for _ in 0..total / record.len() as u64 {
                last = log.append(&record, 0).expect("room");
            }
            log.flush(last).expect("the disk works");
            let took = started.elapsed();
            end(env, &log, path);
            total as f64 / MB as f64 / took.as_secs_f64()
        })
        .collect();
    let (disk, ours) = (middle(disk), middle(ours));
    print_row(
        &format!("disk: durable writes of 1 MB, {DEPTH} at once"),
        &format!("{disk:.0} MB/s"),
        "-",
    );
    print_row(
        "bulk bandwidth of the log",
        &format!("{ours:.0} MB/s, {:.0} % of the disk", ours * 100.0 / disk),
        "80 %",
    );
}

fn calibrated_bandwidth(file: &Arc<dyn DiskFile>, total: u64) -> f64 {
    let started = time::now();
    let threads: Vec<_> = (0..DEPTH)
        .map(|n| {
            let file = file.clone();
            thread::spawn("calibrator", move || {
                let block = AlignedBuf::from_slice(&vec![7; BLOCK as usize]);
                for at in (n * BLOCK..total).step_by((DEPTH * BLOCK) as usize) {
                    file.write_durable_at(&block, at).expect("the disk works");
                }
            })
        })
        .collect();
    for t in threads {
        let _ = t.join();
    }
    total as f64 / MB as f64 / started.elapsed().as_secs_f64()
}

/// Microseconds below which this share of the waits is.
fn share(waits: &mut [u128], share: f64) -> f64 {
    waits.sort_unstable();
    let at = (waits.len() as f64 * share) as usize;
    waits
        .get(at)
        .or(waits.last())
        .map_or(0.0, |w| *w as f64 / 1000.0)
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn create(env: &Env, path: &Path, size: u64) -> Arc<Log> {
    create_growing(env, path, size, 64 * MB)
}

fn create_growing(env: &Env, path: &Path, size: u64, growth: u64) -> Arc<Log> {
    let spec = LogFileSpec {
        name: "log".to_owned(),
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

/// Microseconds of a durable write that begins so long after the last one has ended, with the processor awake.
fn calibrate(env: &Env, dir: &Path, pause: Duration) -> u128 {
    let path = dir.join("log_speed.calibrate");
    let file = open(env, &path);
    file.write_durable_at(&vec![1; 4 << 20], 0).expect("room");
    let mut waits: Vec<u128> = (0..1000)
        .map(|i| {
            let ended = time::now();
            while ended.elapsed() < pause {}
            let started = time::now();
            file.write_durable_at(&[2; 4096], i * 4096).expect("room");
            started.elapsed().as_nanos()
        })
        .collect();
    env.disk.remove(&path).expect("our own file");
    median(&mut waits) / 1000
}

fn open(env: &Env, path: &Path) -> Arc<dyn DiskFile> {
    let options = OpenOptions {
        create: true,
        direct: true,
        ..OpenOptions::default()
    };
    env.disk.open(path, &options).expect("a writable directory")
}

fn median(values: &mut [u128]) -> u128 {
    values.sort_unstable();
    values[values.len() / 2]
}
