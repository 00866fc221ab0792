//! A log on a real directory: append, flush, read, wrap, grow, fill, truncate, reopen, damage.

// Fixtures and temporary directories are outside the simulated world.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use duramen_base::{DbId, FileId, Lsn, XdesId};
use duramen_os::sim::DiskOp;
use duramen_os::{Env, IoError, OpenOptions};

use super::Log;
use crate::config::{DurableState, LogConfig, LogError, LogFileSpec, LogHolds, ShrinkLimit};
use crate::record::{Lcx, Lop, RecordBuilder};
use crate::vlf::{Growth, LogProfile};

static DIRS: AtomicU32 = AtomicU32::new(0);

struct Fixture {
    env: Env,
    dir: PathBuf,
    spec: LogFileSpec,
    cfg: LogConfig,
}

impl Fixture {
    fn new(bytes: u64, growth: Growth, max: Option<u64>) -> Fixture {
        let env = Env::real();
        let n = DIRS.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("duramen-wal-{}-{n}", std::process::id()));
        env.disk.create_dir_all(&dir).unwrap();
        Fixture {
            env,
            spec: LogFileSpec {
                name: "log".to_owned(),
                path: dir.join("t_log.ldf"),
                file_id: FileId(2),
                size: bytes,
                max_size: max,
                growth,
            },
            dir,
            cfg: LogConfig {
                db_name: "t".into(),
                db_id: DbId(900),
                sector: 512,
                first_seq: 43,
                ..LogConfig::default()
            },
        }
    }

    fn create(&self) -> Arc<Log> {
        Log::create(&self.env, self.cfg.clone(), &self.spec, &[0; 8192]).unwrap()
    }

    fn open(&self) -> Result<(Arc<Log>, super::LogScan), LogError> {
        Log::open(
            &self.env,
            self.cfg.clone(),
            std::slice::from_ref(&self.spec),
            Lsn::NULL,
        )
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.env.disk.remove(&self.spec.path);
        let _ = std::fs::remove_dir(&self.dir);
    }
}

fn record(n: u64, bytes: usize) -> Vec<u8> {
    RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
        .xdes(XdesId(n))
        .finish(&[&vec![(n % 251) as u8; bytes]])
}

#[test]
fn append_flush_read_reopen() {
    let f = Fixture::new(1 << 20, Growth::None, None);
    let log = f.create();
    let mut expected = Vec::new();
    for n in 1..=300 {
        let r = record(n, 20 + (n as usize * 37) % 900);
        let lsn = log.append(&r, 0).unwrap();
        expected.push((lsn, r));
        if n % 50 == 0 {
            log.flush(lsn).unwrap();
            assert!(log.durable_lsn() >= lsn);
        }
    }
    assert_eq!(expected[0].0, Lsn::new(43, 16, 1));
    let read = |log: &Arc<Log>| -> Vec<(Lsn, Vec<u8>)> {
        log.read(Lsn::NULL)
            .map(|r| r.map(|r| (r.lsn, r.bytes)).unwrap())
            .collect()
    };
    assert_eq!(read(&log), expected, "unflushed ones included");
    let (lsn, bytes) = &expected[120];
    assert_eq!(&log.read_one(*lsn).unwrap(), bytes);
    log.shutdown().unwrap();
    assert_eq!(log.append(&record(1, 8), 0), Err(LogError::Closed));
    let epoch = log.epoch();
    drop(log);

    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, expected[299].0);
    assert_eq!(read(&log), expected);
    assert!(log.epoch() > epoch);
    let lsn = log.append(&record(7, 7), 0).unwrap();
    assert_eq!(lsn, scan.end);
    assert!(lsn > scan.last_record);
    log.flush_all().unwrap();
    log.abandon();
    drop(log);
    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, lsn);
    assert_eq!(read(&log).len(), 301);
    // From a checkpoint in the middle.
    log.abandon();
    drop(log);
    let start = expected[150].0;
    let (log, scan) =
        Log::open(&f.env, f.cfg.clone(), std::slice::from_ref(&f.spec), start).unwrap();
    assert_eq!(scan.last_record, lsn);
    assert_eq!(log.read(start).count(), 301 - 150);
    log.abandon();
}

#[test]
fn wraps_into_truncated_vlfs_with_flipped_parity() {
    let f = Fixture::new(1 << 20, Growth::None, None);
    let log = f.create();
    let mut last = Lsn::NULL;
    for n in 0..4000 {
        last = log.append(&record(n, 1000), 0).unwrap();
        if n % 40 == 0 {
            log.flush_all().unwrap();
            log.truncate(last);
        }
    }
    log.flush_all().unwrap();
    let vlfs = log.vlfs();
    assert_eq!(vlfs.len(), 4);
    assert!(last.vlf > 43 + 12);
    let highest = vlfs.iter().max_by_key(|v| v.seq).unwrap();
    assert_eq!((highest.seq, highest.status), (last.vlf, 2));
    let uses = (last.vlf - 43) / 4 + 1;
    assert_eq!(highest.parity, if uses % 2 == 1 { 64 } else { 128 });
    log.shutdown().unwrap();
    drop(log);
    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, last);
    let records: Vec<_> = log.read(Lsn::NULL).map(|r| r.unwrap()).collect();
    assert_eq!(records.last().unwrap().lsn, last);
    assert_eq!(records.last().unwrap().bytes, record(3999, 1000));
    log.abandon();
}

#[test]
fn grows_by_the_profile_and_then_is_full() {
    let mut f = Fixture::new(1 << 20, Growth::Bytes(1 << 20), Some(3 << 20));
    f.cfg.profile = LogProfile::V2012;
    let log = f.create();
    log.note_holds(LogHolds {
        checkpoint: Lsn::new(43, 17, 1),
        log_backup: Lsn::new(43, 16, 1),
        ..LogHolds::default()
    });
    assert_eq!(log.reuse_reason(), "NOTHING");
    let mut last = Lsn::NULL;
    let error = loop {
        match log.append(&record(5, 4000), 4000) {
            Ok(lsn) => last = lsn,
            Err(e) => break e,
        }
    };
    assert_eq!(
        error.to_sql("t").message,
        "The transaction log for database 't' is full due to 'LOG_BACKUP'."
    );
    assert_eq!(log.vlfs().len(), 12);
    assert_eq!(log.file_sizes(), [(FileId(2), 3 << 20)]);
    let grown: Vec<_> = log
        .vlfs()
        .into_iter()
        .filter(|v| !v.create_lsn.is_null())
        .collect();
    assert_eq!(grown.len(), 8);
    assert_eq!(grown[0].create_lsn, grown[3].create_lsn);
    // The reserve is what lets everything be undone.
    let space = log.space();
    assert!(space.reserved > 1 << 20 && space.used + space.reserved <= space.total);
    let records = space.reserved / 4000;
    for _ in 0..records {
        last = log.append(&record(6, 4000 - 100), 0).unwrap();
        log.release_reserve(4000);
    }
    log.flush_all().unwrap();
    assert_eq!(log.space().reserved, 0);
    log.shutdown().unwrap();
    drop(log);
    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, last);
    assert_eq!(log.vlfs().len(), 12);
    log.truncate(last);
    log.append(&record(5, 4000), 4000).unwrap();
    log.abandon();
}

#[test]
fn refuses_what_is_no_record() {
    let f = Fixture::new(1 << 20, Growth::None, None);
    let log = f.create();
    assert_eq!(log.append(b"short", 0), Err(LogError::BadRecord));
    let mut r = record(1, 10);
    r.push(0);
    assert_eq!(log.append(&r, 0), Err(LogError::BadRecord));
    assert_eq!(log.append(&record(1, 61_400), 0), Err(LogError::BadRecord));
    let longest = record(1, crate::MAX_RECORD_BYTES - 68);
    let lsn = log.append(&longest, 0).unwrap();
    assert_eq!(log.read_one(lsn).unwrap(), longest);
    assert_eq!(
        log.read_one(Lsn::new(1, 16, 1)),
        Err(LogError::NotFound(Lsn::new(1, 16, 1)))
    );
    log.abandon();
}

/// Damage before records that were acknowledged is refused, and to the very last block if no write that was cut can have
/// left it so. Where a sector is as it was before that write, it is a torn tail.
#[test]
fn damage_is_no_torn_tail() {
    for (which, refused) in [(5, true), (29, true), (29, false)] {
        let f = Fixture::new(1 << 20, Growth::None, None);
        let log = f.create();
        let mut lsns = Vec::new();
        for n in 0..30 {
            lsns.push(log.append(&record(n, 200), 0).unwrap());
            log.flush_all().unwrap();
        }
        log.shutdown().unwrap();
        drop(log);
        let file = f
            .env
            .disk
            .open(&f.spec.path, &OpenOptions::default())
            .unwrap();
        let at = 8192 + u64::from(lsns[which].block) * 512;
        if refused {
            file.write_durable_at(&[0xFF; 4], at + 100).unwrap();
        } else {
            file.write_durable_at(&[crate::vlf::STAMP; 512], at)
                .unwrap();
        }
        match f.open() {
            Err(LogError::Damaged { at, .. }) => {
                assert!(refused);
                assert_eq!(at.block, lsns[which].block);
            }
            Ok((log, scan)) => {
                assert!(!refused);
                assert_eq!(scan.last_record, lsns[28]);
                log.abandon();
            }
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn a_growth_cut_short_is_cut_off() {
    let f = Fixture::new(1 << 20, Growth::Bytes(1 << 20), None);
    let log = f.create();
    let lsn = log.append(&record(1, 10), 0).unwrap();
    log.shutdown().unwrap();
    drop(log);
    let file = f
        .env
        .disk
        .open(&f.spec.path, &OpenOptions::default())
        .unwrap();
    file.allocate(1 << 20, 1 << 20).unwrap();
    file.write_durable_at(&[0xC0; 65536], (1 << 20) + 8192)
        .unwrap();
    drop(file);
    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, lsn);
    assert_eq!(log.vlfs().len(), 4);
    assert_eq!(log.file_sizes(), [(FileId(2), 1 << 20)]);
    log.grow_file(FileId(2), 4 << 20).unwrap();
    // As large already: nothing is to be done.
    log.grow_file(FileId(2), 4 << 20).unwrap();
    assert_eq!(log.vlfs().len(), 5);
    // Nothing grows from here on, not in the background either: the second file has to be used.
    let mut first = f.spec.clone();
    first.growth = Growth::None;
    log.set_growth(&first);
    let mut second = first.clone();
    second.path = f.dir.join("t_log2.ldf");
    second.file_id = FileId(3);
    log.add_file(&second, &[0; 8192]).unwrap();
    assert_eq!(log.vlfs().len(), 9);
    let mut last = Lsn::NULL;
    for n in 0..1150 {
        last = log.append(&record(n, 4000), 0).unwrap();
    }
    log.shutdown().unwrap();
    assert!(
        log.vlfs()
            .iter()
            .any(|v| v.file_id == FileId(3) && v.status == 2)
    );
    drop(log);
    let specs = [f.spec.clone(), second.clone()];
    let (log, scan) = Log::open(&f.env, f.cfg.clone(), &specs, Lsn::NULL).unwrap();
    assert_eq!(scan.last_record, last);
    assert_eq!(log.read(Lsn::NULL).count(), 1151);
    // A file goes when nothing in it is needed: the head has to leave it first.
    let mut one = log.file_sizes();
    assert_eq!(log.remove_file(FileId(3)), Ok(false));
    log.truncate(log.durable_lsn());
    while log
        .vlfs()
        .iter()
        .any(|v| v.file_id == FileId(3) && v.status == 2)
    {
        last = log.append(&record(5, 4000), 0).unwrap();
        log.flush(last).unwrap();
        log.truncate(last);
    }
    assert_eq!(log.remove_file(FileId(3)), Ok(true));
    assert_eq!(log.remove_file(FileId(3)), Err(LogError::BadRecord));
    one.truncate(1);
    assert_eq!(log.file_sizes(), one);
    assert_eq!(log.remove_file(FileId(2)), Ok(false));
    for _ in 0..3000 {
        last = log.append(&record(6, 4000), 0).unwrap();
        log.flush(last).unwrap();
        log.truncate(last);
    }
    log.shutdown().unwrap();
    drop(log);
    f.env.disk.remove(&second.path).unwrap();
    let (log, scan) = Log::open(&f.env, f.cfg.clone(), &specs[..1], Lsn::NULL).unwrap();
    assert_eq!(scan.last_record, last);
    log.abandon();
}

#[test]
fn many_threads_group_their_flushes() {
    let f = Fixture::new(8 << 20, Growth::Bytes(1 << 20), None);
    let log = f.create();
    let seen = Arc::new(AtomicU32::new(0));
    let counted = seen.clone();
    log.subscribe_durable(Box::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    let threads: Vec<_> = (0..8)
        .map(|t| {
            let log = log.clone();
            duramen_os::thread::spawn("session", move || {
                for n in 0..100 {
                    let lsn = log.append(&record(t * 1000 + n, 100), 0).unwrap();
                    log.flush(lsn).unwrap();
                    assert!(log.durable_lsn() >= lsn);
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let writes = seen.load(Ordering::Relaxed);
    assert!(writes > 0 && writes <= 800, "{writes}");
    log.shutdown().unwrap();
    drop(log);
    let (log, _) = f.open().unwrap();
    assert_eq!(log.read(Lsn::NULL).count(), 800);
    log.abandon();
}

/// Records that nobody flushes become durable within a few milliseconds.
#[test]
fn the_flusher_hardens_what_nobody_waits_for() {
    let f = Fixture::new(1 << 20, Growth::None, None);
    let log = f.create();
    let lsn = log.append(&record(1, 10), 0).unwrap();
    for _ in 0..1000 {
        if log.durable_lsn() >= lsn {
            break;
        }
        duramen_os::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(log.durable_lsn(), lsn);
    let lsn = log.append(&record(1, 10), 0).unwrap();
    log.request_flush(lsn);
    for _ in 0..1000 {
        if log.durable_lsn() >= lsn {
            break;
        }
        duramen_os::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(log.durable_lsn(), lsn);
    log.abandon();
}

#[test]
fn shrinks_to_what_is_in_use() {
    let mut f = Fixture::new(1 << 20, Growth::Bytes(1 << 20), None);
    f.cfg.profile = LogProfile::V2012;
    let log = f.create();
    for n in 0..700 {
        log.append(&record(n, 4000), 0).unwrap();
    }
    log.flush_all().unwrap();
    assert_eq!(log.vlfs().len(), 12);
    let blocked = log.shrink_file(FileId(2), 0).unwrap();
    assert_eq!(blocked.limit, Some(ShrinkLimit::InUse));
    log.truncate(log.durable_lsn());
    // The head wraps to the front; then the whole tail is free.
    let mut last = Lsn::NULL;
    while last.vlf < 43 + 12 {
        last = log.append(&record(1, 4000), 0).unwrap();
    }
    log.flush_all().unwrap();
    log.truncate(last);
    let done = log.shrink_file(FileId(2), 600 << 10).unwrap();
    assert_eq!(
        (done.limit, done.removed_vlfs, done.new_bytes),
        (None, 9, 770_048)
    );
    let again = log.shrink_file(FileId(2), 0).unwrap();
    assert_eq!(again.limit, Some(ShrinkLimit::MinimumVlfs));
    log.shutdown().unwrap();
    drop(log);
    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, last);
    assert_eq!(log.vlfs().len(), 2);
    assert_eq!(log.file_sizes(), [(FileId(2), again.new_bytes)]);
    log.abandon();
}

/// After each cut there is a whole log, whether anybody wants the next one or not.
#[test]
fn a_shrink_that_is_given_up_leaves_what_it_has_reached() {
    let f = Fixture::new(256 << 20, Growth::Bytes(1 << 20), None);
    let log = f.create();
    let first = log.append(&record(1, 4000), 0).unwrap();
    log.flush_all().unwrap();
    let before = log.file_sizes()[0].1;
    {
        let given_up = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let _listening = duramen_os::thread::listen_to(given_up);
        let cause = match log.shrink_file(FileId(2), 0) {
            Err(LogError::Io { cause, .. }) => cause,
            other => panic!("{other:?}"),
        };
        assert_eq!(cause, IoError::GivenUp);
    }
    let after = log.file_sizes()[0].1;
    let once = before - after;
    assert!((1..=64 << 20).contains(&once), "{once} bytes in one cut");
    assert!(log.read_one(first).is_ok());
    let whole = log.shrink_file(FileId(2), 0).unwrap();
    assert_eq!((whole.old_bytes, log.vlfs().len()), (after, 2));
    log.shutdown().unwrap();
    drop(log);
    let (log, scan) = f.open().unwrap();
    assert_eq!(scan.last_record, first);
    log.abandon();
}

/// A disk without room refuses the growth, not the log: it goes on when there is room.
#[test]
fn a_full_disk_is_no_damage() {
    for profile in [LogProfile::V2019, LogProfile::Native] {
        let disk = duramen_os::sim::SimDisk::new(1);
        disk.env().disk.create_dir_all("/log".as_ref()).unwrap();
        let mut f = Fixture::new(1 << 20, Growth::Bytes(1 << 20), None);
        f.cfg.profile = profile;
        f.spec.path = "/log/t.ldf".into();
        f.env = disk.env();
        let log = f.create();
        disk.set_capacity((1 << 20) + (500 << 10));
        let mut last = Lsn::NULL;
        let error = loop {
            match log.append(&record(5, 4000), 0) {
                Ok(lsn) => last = lsn,
                Err(e) => break e,
            }
        };
        assert!(matches!(error, LogError::Full { .. }), "{error}");
        log.flush_all().unwrap();
        disk.set_capacity(1 << 30);
        log.append(&record(5, 4000), 0).unwrap();
        assert_eq!(log.file_sizes()[0].1 % (1 << 20), 0);
        log.flush_all().unwrap();
        log.abandon();
        let env = disk.crash(2).env();
        let specs = std::slice::from_ref(&f.spec);
        let (log, scan) = Log::open(&env, f.cfg.clone(), specs, Lsn::NULL).unwrap();
        assert!(scan.last_record > last);
        log.abandon();
    }
}

/// However fast a log is filled, it takes no more than a part of its volume in advance: others live there as well.
#[test]
fn what_is_prepared_leaves_room_on_the_volume() {
    const MB: u64 = 1 << 20;
    let disk = duramen_os::sim::SimDisk::new(1);
    disk.env().disk.create_dir_all("/log".as_ref()).unwrap();
    disk.set_capacity(64 * MB);
    let mut f = Fixture::new(MB, Growth::Bytes(MB), None);
    f.cfg.profile = LogProfile::Native;
    f.spec.path = "/log/t.ldf".into();
    f.env = disk.env();
    let log = f.create();
    for _ in 0..16 * MB / 8000 {
        log.append(&record(5, 8000), 0).unwrap();
    }
    log.flush_all().unwrap();
    for _ in 0..200 {
        let known = &log.preparation()[0];
        if !known.running && known.ready >= known.target {
            break;
        }
        duramen_os::thread::sleep(std::time::Duration::from_millis(5));
    }
    let size = log.file_sizes()[0].1;
    let filled = log.space().used;
    // What is to be ready, and the growth that makes it so: an eighth each.
    assert!(size <= filled + 64 * MB / 4 + MB, "{size} for {filled}");
    log.shutdown().unwrap();
}

/// A failed write is the end: no flush succeeds after it, whatever the disk says later.
#[test]
fn a_failed_write_poisons() {
    let disk = duramen_os::sim::SimDisk::new(1);
    disk.env().disk.create_dir_all("/log".as_ref()).unwrap();
    let mut f = Fixture::new(1 << 20, Growth::None, None);
    f.spec.path = "/log/t.ldf".into();
    f.env = disk.env();
    let log = f.create();
    let poisoned = Arc::new(AtomicU32::new(0));
    let seen = poisoned.clone();
    log.subscribe_durable(Box::new(move |state| {
        seen.fetch_add(
            u32::from(state == DurableState::Poisoned),
            Ordering::Relaxed,
        );
    }));
    let durable = log.append(&record(1, 100), 0).unwrap();
    log.flush(durable).unwrap();
    disk.fail_nth(DiskOp::Write, 1, IoError::device("pwritev2"));
    let lost = log.append(&record(2, 100), 0).unwrap();
    assert!(matches!(log.flush(lost), Err(LogError::Poisoned { .. })));
    assert!(matches!(log.flush_all(), Err(LogError::Poisoned { .. })));
    assert!(matches!(
        log.append(&record(3, 8), 0),
        Err(LogError::Poisoned { .. })
    ));
    assert_eq!(log.flush(durable), Ok(()));
    assert!(log.poisoned());
    assert_eq!(log.durable_lsn(), durable);
    assert_eq!(poisoned.load(Ordering::Relaxed), 1);
    assert_eq!(log.read_one(durable).unwrap(), record(1, 100));
    let error = log.flush_all().unwrap_err().to_sql("t");
    assert_eq!((error.number, error.severity), (9001, 21));
    log.abandon();
}
