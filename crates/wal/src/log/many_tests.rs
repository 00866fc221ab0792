//! Logs of very many VLFs.

use std::path::Path;
use std::time::Duration;

use duramen_base::{DbId, FileId, Lsn};
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::{Env, OpenOptions, time};

use super::Log;
use crate::config::{LogConfig, LogFileSpec};
use crate::vlf::{FORMAT_VERSION, Growth, HEADER_BYTES, LogProfile, VlfHeader, split_growth};

const PATH: &str = "/log/t_log.ldf";
const MB: u64 = 1 << 20;

fn spec(size: u64) -> LogFileSpec {
    LogFileSpec {
        name: "log".to_owned(),
        path: PATH.into(),
        file_id: FileId(2),
        size,
        max_size: None,
        growth: Growth::Bytes(MB),
    }
}

fn cfg() -> LogConfig {
    LogConfig {
        db_name: "t".into(),
        db_id: DbId(902),
        profile: LogProfile::V2012,
        sector: 512,
        ..LogConfig::default()
    }
}

/// A log of these VLFs, none of them used but the first: what growths leave that nobody has written into.
fn grown(env: &Env, sizes: impl Iterator<Item = u64>) -> usize {
    env.disk.create_dir_all(Path::new("/log")).unwrap();
    let log = Log::create(env, cfg(), &spec(MB), &[0; 8192]).unwrap();
    let mut count = log.vlfs().len();
    log.shutdown().unwrap();
    let options = OpenOptions::default();
    let file = env.disk.open(Path::new(PATH), &options).unwrap();
    let mut offset = file.len().unwrap();
    for size in sizes {
        let header = VlfHeader {
            version: u16::from(FORMAT_VERSION),
            size,
            offset,
            create_lsn: Lsn::new(1, 16, 1),
            ..VlfHeader::default()
        };
        let mut first = [0; 512];
        header.encode(&mut first);
        file.write_at(&first, offset).unwrap();
        offset += size;
        count += 1;
    }
    file.set_len(offset).unwrap();
    file.sync().unwrap();
    count
}

/// The log of the article on growth by 1 MB: 400 MB with 15 VLFs, and 31,596 growths.
#[test]
fn a_log_of_126_399_vlfs() {
    let disk = SimDisk::new(1);
    let env = disk.env();
    let before = (0..11).map(|_| 33 * MB);
    let growths = (0..31_596).flat_map(|n| split_growth(LogProfile::V2012, (400 + n) * MB, MB));
    let vlfs = grown(&env, before.chain(growths));
    assert_eq!(vlfs, 126_399);
    let (log, _) = Log::open(&env, cfg(), &[spec(MB)], Lsn::NULL).unwrap();
    let vlfs = log.vlfs();
    log.abandon();
    assert_eq!(vlfs.len(), 126_399);
    let end = vlfs.last().map(|v| v.offset + v.size);
    assert_eq!(end, Some(MB + 11 * 33 * MB + 31_596 * MB));
}

/// Two seconds are allowed for 126,399 VLFs: a fortieth of each. On a disk that takes 80 us for a read, the headers would
/// take a quarter of a second one after the other.
#[test]
fn opening_does_not_wait_for_each_header() {
    let disk = SimDisk::new(1);
    let sizes = (0..3_160).map(|_| 256 << 10);
    grown(&disk.env(), sizes);
    let took = Simulation::new(1).on_disk(disk.clone()).run(|_| {
        let started = time::now();
        let (log, _) = Log::open(&disk.env(), cfg(), &[spec(MB)], Lsn::NULL).unwrap();
        let took = started.elapsed();
        log.abandon();
        took
    });
    assert!(took <= Duration::from_millis(50), "{took:?}");
}

/// Sizes that change where the next headers were expected.
#[test]
fn guesses_about_headers_decide_nothing() {
    let sizes: Vec<u64> = (0..400u64)
        .map(|n| if n % 131 > 100 { 3 } else { 1 + n / 200 } * (256 << 10))
        .collect();
    let disk = SimDisk::new(2);
    grown(&disk.env(), sizes.iter().copied());
    let vlfs = Simulation::new(2).on_disk(disk.clone()).run(|_| {
        let (log, _) = Log::open(&disk.env(), cfg(), &[spec(MB)], Lsn::NULL).unwrap();
        let vlfs = log.vlfs();
        log.abandon();
        vlfs
    });
    let found: Vec<u64> = vlfs.iter().skip(4).map(|v| v.size).collect();
    assert_eq!(found, sizes);
    assert!(
        vlfs.windows(2)
            .all(|v| v[0].offset + v[0].size == v[1].offset)
    );
    assert_eq!(vlfs[0].offset, HEADER_BYTES);
}
