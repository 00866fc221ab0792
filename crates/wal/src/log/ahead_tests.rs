//! The native profile grows before anybody needs it, within its bounds: MAXSIZE and the room on the disk.

use std::sync::Arc;
use std::time::Duration;

use duramen_base::{FileId, Lsn, XdesId};
use duramen_os::sim::SimDisk;
use duramen_os::sync::Mutex;
use duramen_os::thread;

use super::Log;
use crate::config::{LogConfig, LogError, LogFileSpec, LogHolds};
use crate::record::{Lcx, Lop, RecordBuilder};
use crate::vlf::{Growth, LogProfile};

const MB: u64 = 1 << 20;

fn spec(max_size: Option<u64>) -> LogFileSpec {
    LogFileSpec {
        name: "log".to_owned(),
        path: "/ahead.ldf".into(),
        file_id: FileId(2),
        size: MB,
        max_size,
        growth: Growth::Bytes(MB),
    }
}

/// A log of 1 MB that nothing frees, its disk, and the sizes that its growths have led to.
fn log_of(max_size: Option<u64>) -> (Arc<Log>, Arc<SimDisk>, Arc<Mutex<Vec<u64>>>) {
    let disk = SimDisk::new(1);
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let noted = sizes.clone();
    let config = LogConfig {
        profile: LogProfile::Native,
        first_seq: 43,
        on_grow: Some(Arc::new(move |g| {
            assert!(g.automatic && g.new_bytes - g.old_bytes <= 64 * MB);
            noted.lock().push(g.new_bytes);
        })),
        ..LogConfig::default()
    };
    let log = Log::create(&disk.env(), config, &spec(max_size), &[0; 8192]).expect("a log");
    log.note_holds(LogHolds {
        log_backup: Lsn::new(43, 16, 1),
        ..LogHolds::default()
    });
    (log, disk, sizes)
}

#[test]
fn an_opened_log_does_not_grow_before_it_is_known_what_is_needed() {
    let (log, disk, _) = log_of(Some(MB));
    log.note_holds(LogHolds::default());
    // Several rounds through all VLFs, of which one is needed at a time.
    for _ in 0..1_000 {
        let lsn = append(&log).expect("room");
        log.flush_all().expect("durable");
        log.truncate(lsn);
    }
    log.shutdown().expect("closed");
    drop(log);

    let config = LogConfig {
        profile: LogProfile::Native,
        ..LogConfig::default()
    };
    let (log, _) = Log::open(&disk.env(), config, &[spec(None)], Lsn::NULL).expect("it opens");
    let space = log.space();
    assert!(space.used > space.total * 3 / 4, "every VLF may be needed");
    let lsn = append(&log).expect("room in the last VLF");
    for truncates in [false, true] {
        if truncates {
            log.truncate(lsn);
        }
        append(&log).expect("room");
        log.flush_all().expect("durable");
        thread::sleep(Duration::from_millis(50));
        assert_eq!(
            (log.space().total, log.preparation()[0].growths),
            (space.total, 0)
        );
    }
    log.shutdown().expect("closed");
}

fn append(log: &Log) -> Result<Lsn, LogError> {
    let builder = RecordBuilder::new(Lop::IDENT_NEWVAL, Lcx::NULL).xdes(XdesId(1));
    log.append(&builder.finish(&[&[7; 4000]]), 0)
}

#[test]
fn a_growth_is_there_before_it_is_needed() {
    let (log, _disk, sizes) = log_of(None);
    let total = log.space().total;
    // Into the second half of the last VLF, and no further: nobody needs more than there is.
    while log.space().used < total * 9 / 10 {
        append(&log).expect("room");
        log.flush_all().expect("durable");
        if !sizes.lock().is_empty() {
            break;
        }
    }
    for _ in 0..500 {
        if !sizes.lock().is_empty() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(sizes.lock().first(), Some(&(2 * MB)));
    assert!(log.space().used < total, "nobody had to wait");
    let reported = &log.preparation()[0];
    assert_eq!(
        (reported.growths, reported.bytes, reported.waits),
        (1, MB, 0)
    );
    assert!(reported.prepares && !reported.running && reported.failure.is_none());
    assert!(reported.ready >= MB && reported.target < MB);
    assert_eq!(reported.next, Some(MB));
    log.shutdown().expect("closed");
}

#[test]
fn growing_ahead_stops_at_maxsize_and_where_the_disk_is_full() {
    let (log, _disk, sizes) = log_of(Some(5 * MB));
    let error = loop {
        if let Err(e) = append(&log) {
            break e;
        }
    };
    assert!(matches!(error, LogError::Full { .. }), "{error}");
    // Whoever grows the file tells of it a moment later.
    let since = duramen_os::time::now();
    while sizes.lock().last() != Some(&(5 * MB)) {
        assert!(since.elapsed().as_secs() < 10, "{:?}", sizes.lock());
        duramen_os::thread::yield_now();
    }
    assert_eq!(log.file_sizes(), [(FileId(2), 5 * MB)]);
    let reported = &log.preparation()[0];
    assert_eq!((reported.max_size, reported.next), (Some(5 * MB), None));
    assert!(reported.growths * MB <= reported.bytes && reported.failure.is_some());
    log.shutdown().expect("closed");

    let (log, disk, sizes) = log_of(None);
    disk.set_capacity(3 * MB + MB / 2);
    let error = loop {
        if let Err(e) = append(&log) {
            break e;
        }
    };
    assert!(matches!(error, LogError::Full { .. }), "{error}");
    let reported = &log.preparation()[0];
    assert!(reported.failure.is_some() && reported.disk_free < Some(MB));
    let full = log.file_sizes()[0].1;
    assert!(full <= 3 * MB + MB / 2, "{full}");
    // With room again it goes on, without a restart.
    disk.set_capacity(1 << 30);
    append(&log).expect("room");
    assert!(sizes.lock().last().is_some_and(|last| *last > full));
    log.shutdown().expect("closed");
}

/// A log that nobody is short of is prepared no faster than the rate limit, one that somebody waits for at full speed.
#[test]
fn growing_ahead_keeps_to_its_rate() {
    use duramen_os::sim::Simulation;
    use duramen_os::{Env, time};
    for hurried in [false, true] {
        let took = Simulation::new(5).run(move |sim| {
            let spec = LogFileSpec {
                name: "log".to_owned(),
                path: "/rate.ldf".into(),
                file_id: FileId(2),
                size: MB,
                max_size: None,
                growth: Growth::Bytes(16 * MB),
            };
            let env = Env::with_disk(sim.disk());
            let config = LogConfig {
                profile: LogProfile::Native,
                ..LogConfig::default()
            };
            let log = Log::create(&env, config, &spec, &[0; 8192]).expect("a log");
            log.note_holds(LogHolds {
                log_backup: Lsn::new(1, 16, 1),
                ..LogHolds::default()
            });
            let started = time::now();
            while log.preparation()[0].growths == 0 {
                // Nobody writes while it is prepared, or somebody who soon has no room left.
                if hurried || !log.preparation()[0].running {
                    append(&log).expect("room");
                }
                thread::sleep(Duration::from_micros(100));
                assert!(started.elapsed() < Duration::from_secs(5));
            }
            let reported = log.preparation()[0].clone();
            log.shutdown().expect("closed");
            (reported.spent, reported.waits)
        });
        let due = Duration::from_nanos(16 * MB * 1_000_000_000 / super::ahead::RATE);
        assert_eq!(took.0 < due, hurried, "{took:?} {due:?}");
        assert!(hurried || took.1 == 0);
    }
}

/// Space for large writes is allocated and no more; where single commits are written, every byte has been written before.
#[test]
fn a_load_gets_space_that_is_not_written_first() {
    use crate::vlf::{HEADER_BYTES, STAMP};
    use duramen_os::OpenOptions;
    for (write, expected) in [(4096, STAMP), (MB, 0)] {
        let (log, disk, sizes) = log_of(None);
        (0..40).for_each(|_| log.lock().growth.demand.note_write(write));
        while sizes.lock().is_empty() {
            append(&log).expect("room");
        }
        let grown = *log.vlfs().last().expect("a growth");
        let file = disk
            .env()
            .disk
            .open("/ahead.ldf".as_ref(), &OpenOptions::default())
            .expect("the log's file");
        let mut bytes = vec![1; 4096];
        let middle = grown.offset + grown.size / 2 / HEADER_BYTES * HEADER_BYTES;
        file.read_at(&mut bytes, middle).expect("readable");
        assert!(bytes.iter().all(|b| *b == expected), "writes of {write}");
        log.shutdown().expect("closed");
    }
}
