//! Sound logs are clean; flipped bits are found where they must be.

// Fixtures and temporary directories are outside the simulated world.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use duramen_base::{DbId, FileId, XdesId};
use duramen_os::{Env, OpenOptions};

use super::*;
use crate::record::{Lcx, RecordBuilder};
use crate::vlf::Growth;
use crate::{Log, LogConfig, LogFileSpec};

static DIRS: AtomicU32 = AtomicU32::new(0);

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn dir() -> Dir {
    let n = DIRS.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("duramen-verify-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    Dir(dir)
}

/// A log with records in several blocks of several VLFs.
fn make(path: &Path, records: u64) {
    let spec = LogFileSpec {
        name: "log".to_owned(),
        path: path.to_owned(),
        file_id: FileId(2),
        size: 1 << 20,
        max_size: None,
        growth: Growth::None,
    };
    let cfg = LogConfig {
        db_name: "t".into(),
        db_id: DbId(901),
        sector: 512,
        first_seq: 7,
        ..LogConfig::default()
    };
    let log = Log::create(&Env::real(), cfg, &spec, &[0; 8192]).unwrap();
    for n in 0..records {
        let record = RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
            .xdes(XdesId(n + 1))
            .finish(&[&[n as u8; 900]]);
        log.append(&record, 0).unwrap();
        if n % 10 == 9 {
            log.flush_all().unwrap();
        }
    }
    log.shutdown().unwrap();
}

fn verify(path: &Path) -> LogReport {
    verify_file(&*Env::real().disk, path).unwrap()
}

fn flip(path: &Path, at: u64) {
    let file = Env::real()
        .disk
        .open(path, &OpenOptions::default())
        .unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ 4], at).unwrap();
}

#[test]
fn a_sound_log_is_clean() {
    let dir = dir();
    let path = dir.0.join("t.ldf");
    make(&path, 600);
    let report = verify(&path);
    assert_eq!(report.findings, []);
    assert_eq!((report.vlfs, report.used_vlfs, report.torn), (4, 3, None));
    assert_eq!(report.records, 600);
    assert!(report.own && report.blocks >= 60 && !report.ends_with_checkpoint);
}

#[test]
fn damage_in_front_of_the_end_is_found() {
    let dir = dir();
    let path = dir.0.join("t.ldf");
    make(&path, 600);
    let second = 8192 + 31 * 8192;
    let places = [
        (
            8192 + 8192 + 300,
            "a log block is unreadable, and later ones are sound",
        ),
        (
            second + 8192 + 20_000,
            "a log block is unreadable, and a later VLF is in use",
        ),
        (
            2 * second - 8192 + 8192 + 70,
            "a log block is unreadable, and later ones are sound",
        ),
        (second, "a VLF header is unreadable"),
    ];
    for (at, what) in places {
        flip(&path, at);
        let report = verify(&path);
        assert_eq!(
            report.findings.first().map(|f| f.what),
            Some(what),
            "at {at}"
        );
        flip(&path, at);
    }
    assert_eq!(verify(&path).findings, []);
}

#[test]
fn a_torn_last_block_and_an_unfinished_growth_are_no_findings() {
    let dir = dir();
    let path = dir.0.join("t.ldf");
    make(&path, 25);
    let whole = verify(&path);
    let end = 8192 + u64::from(whole.last.block) * UNIT64;
    flip(&path, end + 1000);
    let file = Env::real()
        .disk
        .open(&path, &OpenOptions::default())
        .unwrap();
    file.set_len((1 << 20) + 65536).unwrap();
    let report = verify(&path);
    assert_eq!(report.findings, []);
    assert_eq!(report.torn, Some(end));
    assert_eq!(report.unfinished_growth, 65536);
    assert!(report.last < whole.last);
}

#[test]
fn a_file_that_is_no_log() {
    let dir = dir();
    let path = dir.0.join("t.ldf");
    for bytes in [0, 100, 8192, 9000, 20_000] {
        std::fs::write(&path, vec![0x5a; bytes]).unwrap();
        assert!(!verify(&path).findings.is_empty(), "{bytes}");
    }
    let missing = verify_file(&*Env::real().disk, &dir.0.join("none"));
    assert!(matches!(missing, Err(LogError::Io { .. })));
}

#[test]
fn real_logs_are_clean() {
    let Ok(material) = std::env::var("DURAMEN_MATERIAL") else {
        eprintln!("skipped: DURAMEN_MATERIAL is not set");
        return;
    };
    for name in ["northwnd_log.ldf", "pubs_log.ldf"] {
        let path = ["", "real-files/", "fixtures/real-files/"]
            .iter()
            .map(|sub| Path::new(&material).join(format!("{sub}{name}")))
            .find(|p| p.exists());
        let Some(path) = path else {
            eprintln!("skipped: {name} is not in DURAMEN_MATERIAL");
            continue;
        };
        let report = verify(&path);
        assert_eq!(report.findings, [], "{name}");
        assert!(!report.own && report.records > 50, "{name}: {report:?}");
    }
}
