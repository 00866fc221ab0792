//! A log copied block by block and laid elsewhere is the same log up to the copy's end.

use duramen_base::{DbId, FileId, Lsn, XdesId};
use duramen_os::Env;
use duramen_os::sim::SimDisk;

use super::LaidLog;
use crate::config::{LogConfig, LogError, LogFileSpec};
use crate::log::Log;
use crate::record::{Lcx, Lop, RecordBuilder};
use crate::vlf::Growth;

fn spec(path: &str) -> LogFileSpec {
    LogFileSpec {
        name: "log".to_owned(),
        path: path.into(),
        file_id: FileId(2),
        size: 1 << 20,
        max_size: None,
        growth: Growth::Bytes(1 << 20),
    }
}

fn config() -> LogConfig {
    LogConfig {
        db_id: DbId(9),
        sector: 512,
        first_seq: 7,
        ..LogConfig::default()
    }
}

fn append(log: &Log, from: u64, n: u64) {
    for i in from..from + n {
        let record = RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
            .xdes(XdesId(i))
            .finish(&[&vec![i as u8; 900]]);
        log.append(&record, 0).expect("room");
    }
    log.flush_all().expect("durable");
}

fn xacts(log: &std::sync::Arc<Log>, from: Lsn) -> Vec<u64> {
    let view = |bytes: &[u8]| crate::record::RecordView::parse(bytes).map(|v| v.xdes().0);
    let all: Result<Vec<_>, _> = log.read(from).collect();
    let all = all.expect("readable");
    all.iter().filter_map(|r| view(&r.bytes)).collect()
}

/// Copies what lies between and lays it.
fn copy(env: &Env, log: &Log, laid: &mut LaidLog, from: Lsn, to: Lsn) {
    for range in log.block_ranges(from, to).expect("it is there") {
        let first = match range.first_block {
            16 => 0,
            n => n,
        };
        laid.place(&range.slot, first).expect("placed");
        let mut block = range.first_block;
        log.read_blocks(&range, 8192, |bytes| {
            laid.write(range.slot.header.seq, block, bytes)?;
            block += (bytes.len() / 512) as u32;
            Ok::<(), LogError>(())
        })
        .expect("copied");
    }
    laid.sync(env).expect("durable");
}

#[test]
fn a_copied_log_is_the_same_and_ends_where_it_was_told() {
    let env = SimDisk::new(3).env();
    env.disk.create_dir_all("/d".as_ref()).expect("made");
    let log = Log::create(&env, config(), &spec("/d/a.ldf"), &[0; 8192]).expect("made");
    append(&log, 1, 10);
    let from = log.durable_end();
    append(&log, 11, 500);
    let to = log.durable_end();
    append(&log, 511, 700);
    let slots = log.vlf_slots();
    let mut laid = LaidLog::make(&env, &[(spec("/d/b.ldf"), [0; 8192])], &slots).expect("made");
    copy(&env, &log, &mut laid, from, to);
    let opened = |stop| {
        let spec = [spec("/d/b.ldf")];
        Log::open_restored(&env, config(), &spec, from, stop)
    };
    let beyond = opened(log.durable_end()).map(|_| ());
    assert!(
        matches!(beyond, Err(LogError::Damaged { .. })),
        "{beyond:?}"
    );
    let (copied, _) = opened(to).expect("opens");
    assert_eq!(xacts(&copied, Lsn::NULL), (11..511).collect::<Vec<_>>());
    assert_eq!(copied.oldest_block(), from);
    copied.abandon();
    // What comes later is laid behind it, also when a first try was cut short, and again ends where it is told.
    let end = log.durable_end();
    let mut laid = LaidLog::open(&env, &[spec("/d/b.ldf")]).expect("opens");
    copy(&env, &log, &mut laid, to, end);
    let mut laid = LaidLog::open(&env, &[spec("/d/b.ldf")]).expect("opens");
    copy(&env, &log, &mut laid, to, end);
    let (copied, _) = opened(end).expect("opens");
    assert_eq!(xacts(&copied, from), (11..1211).collect::<Vec<_>>());
    append(&copied, 5000, 3);
    copied.abandon();
    let (copied, _) = Log::open(&env, config(), &[spec("/d/b.ldf")], from).expect("opens");
    assert_eq!(xacts(&copied, from).len(), 1203);
    copied.abandon();
    log.abandon();
}
