//! Sessions that commit in a loop share writes; sessions that do not are not waited for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{FileId, XdesId};
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::{Disk, DiskFile, Env, IoError, OpenOptions, thread, time};

use super::Log;
use crate::config::{LogConfig, LogFileSpec};
use crate::record::{Lcx, Lop, RecordBuilder};
use crate::vlf::Growth;

/// A durable write takes as long as a good disk's.
const WRITE: Duration = Duration::from_micros(100);

#[derive(Debug)]
struct SlowDisk(Arc<SimDisk>);

impl Disk for SlowDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
        Ok(Arc::new(SlowFile(self.0.open(path, options)?)))
    }
    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.0.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.0.rename(from, to)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.0.list(dir)
    }
    fn create_dir_all(&self, dir: &Path) -> Result<(), IoError> {
        self.0.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> Result<(), IoError> {
        self.0.sync_dir(dir)
    }
    fn free_space(&self, path: &Path) -> Result<u64, IoError> {
        self.0.free_space(path)
    }
    fn sector_bytes(&self, path: &Path) -> u32 {
        self.0.sector_bytes(path)
    }
}

#[derive(Debug)]
struct SlowFile(Arc<dyn DiskFile>);

impl DiskFile for SlowFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.0.write_at(data, offset)
    }
    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        thread::sleep(WRITE);
        self.0.write_durable_vectored_at(parts, offset)
    }
    fn sync(&self) -> Result<(), IoError> {
        self.0.sync()
    }
    fn len(&self) -> Result<u64, IoError> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.0.set_len(len)
    }
    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.0.allocate(offset, len)
    }
    fn is_direct(&self) -> bool {
        self.0.is_direct()
    }
    fn try_lock(&self) -> Result<bool, IoError> {
        self.0.try_lock()
    }
}

/// What sessions do that commit so often and think so long after each commit: how many writes that were, and how long one
/// commit took on average.
fn commits(seed: u64, sessions: u32, each: u32, think: fn(u32) -> Duration) -> (u64, Duration) {
    Simulation::new(seed).run(move |sim| {
        let env = Env::with_disk(Arc::new(SlowDisk(sim.disk())));
        let spec = LogFileSpec {
            path: "/gather.ldf".into(),
            file_id: FileId(2),
            size: 4 << 20,
            max_size: None,
            growth: Growth::Bytes(1 << 20),
        };
        let log = Log::create(&env, LogConfig::default(), &spec, &[0; 8192]).expect("a log");
        let before = log.write_pulse();
        let session = |number: u32| {
            let log = log.clone();
            thread::spawn("session", move || {
                let record = RecordBuilder::new(Lop::COMMIT_XACT, Lcx::NULL).xdes(XdesId(1));
                let record = record.finish(&[&[7; 40]]);
                let mut waited = Duration::ZERO;
                for _ in 0..each {
                    let since = time::now();
                    let lsn = log.append(&record, 0).expect("room");
                    log.flush(lsn).expect("the disk works");
                    waited += since.elapsed();
                    if !think(number).is_zero() {
                        thread::sleep(think(number));
                    }
                }
                waited
            })
        };
        let sessions: Vec<_> = (0..sessions).map(session).collect();
        let count = sessions.len() as u32 * each;
        let waited: Duration = sessions
            .into_iter()
            .map(|s| s.join().expect("it ends"))
            .sum();
        let writes = log.write_pulse().since(before).writes;
        log.shutdown().expect("closed");
        (writes, waited / count)
    })
}

/// Two groups that take turns would make two writes of each round.
#[test]
fn who_commits_in_a_loop_commits_together() {
    for seed in 0..10 {
        let (writes, each) = commits(seed, 8, 50, |_| Duration::ZERO);
        assert!(
            writes < 75,
            "seed {seed}: {writes} writes of 8 x 50 commits"
        );
        let (_, alone) = commits(seed, 1, 50, |_| Duration::ZERO);
        assert!(
            each < alone * 4 / 3,
            "seed {seed}: {each:?}, alone {alone:?}"
        );
    }
}

/// Of two sessions one thinks for ten writes: the other would lose half its rate by waiting for it.
#[test]
fn who_thinks_is_not_waited_for() {
    for seed in 0..10 {
        let think = |number| WRITE * (number * 10);
        let (_, alone) = commits(seed, 1, 100, think);
        let (_, beside) = commits(seed, 2, 100, think);
        assert!(
            beside < alone * 3 / 2,
            "seed {seed}: {beside:?}, alone {alone:?}"
        );
    }
}
