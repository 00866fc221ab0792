//! Sessions that commit in a loop share writes; sessions that do not are not waited for.

use std::time::Duration;

use duramen_base::{FileId, XdesId};
use duramen_os::sim::Simulation;
use duramen_os::{Env, thread, time};

use super::Log;
use crate::config::{LogConfig, LogFileSpec};
use crate::record::{Lcx, Lop, RecordBuilder};
use crate::vlf::Growth;

/// What a durable write takes on the simulated disk, on average.
const WRITE: Duration = Duration::from_micros(165);

/// What sessions do that commit so often and think so long after each commit: how many writes that were, and how long one
/// commit took on average.
fn commits(seed: u64, sessions: u32, each: u32, think: fn(u32) -> Duration) -> (u64, Duration) {
    Simulation::new(seed).run(move |sim| {
        let env = Env::with_disk(sim.disk());
        let spec = LogFileSpec {
            name: "log".to_owned(),
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
        let (_, together) = commits(seed, 2, 100, think);
        assert!(
            together < alone * 3 / 2,
            "seed {seed}: {together:?}, alone {alone:?}"
        );
    }
}
