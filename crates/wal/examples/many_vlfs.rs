//! How long a log of 126,399 VLFs takes to open: `cargo run --release -p duramen-wal --example many_vlfs -- DIR`.
//!
//! The file is sparse: headers only, a gigabyte on disk at most. It is read past the page cache.

#![allow(clippy::print_stdout, reason = "a program whose output is its purpose")]

use std::path::PathBuf;

use duramen_base::{DbId, FileId, Lsn};
use duramen_os::{Env, OpenOptions, time};
use duramen_wal::vlf::{FORMAT_VERSION, VlfHeader};
use duramen_wal::{Growth, Log, LogConfig, LogFileSpec};

const VLF: u64 = 256 << 10;

fn main() {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let env = Env::real();
    let path = dir.join("many_vlfs.ldf");
    let spec = LogFileSpec {
        name: "log".to_owned(),
        path: path.clone(),
        file_id: FileId(2),
        size: 1 << 20,
        max_size: None,
        growth: Growth::None,
    };
    let cfg = LogConfig {
        db_name: "many".into(),
        db_id: DbId(5),
        ..LogConfig::default()
    };
    let log = Log::create(&env, cfg.clone(), &spec, &[0; 8192]).expect("room for a log");
    let first = log.vlfs().len() as u64;
    log.shutdown().expect("the disk works");
    drop(log);
    let options = OpenOptions::default();
    let file = env.disk.open(&path, &options).expect("it is there");
    let mut offset = file.len().expect("it is there");
    for _ in first..126_399 {
        let header = VlfHeader {
            version: u16::from(FORMAT_VERSION),
            size: VLF,
            offset,
            ..VlfHeader::default()
        };
        let mut page = [0; 4096];
        header.encode(&mut page);
        file.write_at(&page, offset).expect("room for headers");
        offset += VLF;
    }
    file.set_len(offset).expect("room for a sparse file");
    file.sync().expect("the disk works");
    drop(file);
    for _ in 0..3 {
        let started = time::now();
        let (log, _) = Log::open(&env, cfg.clone(), std::slice::from_ref(&spec), Lsn::NULL)
            .expect("the log opens");
        println!("{} VLFs: {:?}", log.vlfs().len(), started.elapsed());
        log.shutdown().expect("the disk works");
    }
    env.disk.remove(&path).expect("it was there");
}
