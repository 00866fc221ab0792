//! Crashes, thousands of them: a log in the simulated world, several threads that append, flush, truncate and make it
//! grow and wrap, and an end at any moment - the process dies, the power fails in the middle of a write, a write fails,
//! recovery itself is cut. After each crash the log is opened and must hold: every record that was reported durable, at
//! its LSN, byte for byte; nothing that was not appended; nothing that an earlier recovery had already given up.
//!
//! The same test is run with bugs planted in the log, and must find each. A failure names its seed; `DURAMEN_SEED=n`
//! with the same test repeats exactly that history. `DURAMEN_SEEDS=n` runs that many, `DURAMEN_SECONDS=n` not longer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{DbId, FileId, Lsn, XdesId};
use duramen_os::random::Rng;
use duramen_os::sim::{DiskOp, SimDisk, Simulation, seeds};
use duramen_os::sync::Mutex;
use duramen_os::{Env, IoError, thread, time};

use super::Log;
use crate::config::{DurableState, LogConfig, LogError, LogFileSpec, LogScan};
use crate::planted::{Bug, Planted};
use crate::record::{Lcx, Lop, RecordBuilder, RecordView};
use crate::vlf::{Growth, LogProfile};

pub(super) const PATH: &str = "/log/t_log.ldf";
const CYCLES: usize = 5;
/// Ids from here on belong to short records of one size.
const UNIFORM: u64 = 1 << 32;
/// And from here on to long ones: a few dozen fill the log, which then wraps again and again.
const BULKY: u64 = 1 << 33;

/// What the clients of the log know.
#[derive(Clone, Default)]
struct Ledger {
    next_id: u64,
    /// Every attempt to append, with the LSN once it is known.
    attempts: BTreeMap<u64, Option<Lsn>>,
    /// Attempts that a recovery did not find: they must never come back.
    dead: BTreeMap<u64, ()>,
    /// Everything up to here was reported durable.
    acked: Lsn,
    /// Records before this may be gone: the log was truncated.
    min: Lsn,
    epoch: u64,
}

fn record(id: u64) -> Vec<u8> {
    let mut rng = Rng::new(id);
    let bytes = match rng.below(40) {
        n if id >= BULKY => (n + 1) * 700,
        // All blocks alike: then a block left over from before a crash can fit exactly behind a new one.
        _ if id >= UNIFORM => 24,
        0 => rng.below(30_000),
        1..=4 => rng.below(4_000),
        _ => 24 + rng.below(8) * 8,
    };
    let body: Vec<u8> = (0..bytes)
        .map(|i| (id as u8).wrapping_mul(31) ^ i as u8)
        .collect();
    RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
        .xdes(XdesId(id))
        .finish(&[&body])
}

pub(super) struct World {
    pub spec: LogFileSpec,
    pub cfg: LogConfig,
    pub planted: Planted,
    ledger: Arc<Mutex<Ledger>>,
}

impl World {
    pub fn new(seed: u64, bug: Option<Bug>) -> World {
        let mut rng = Rng::new(seed ^ 0x5EED);
        World {
            spec: LogFileSpec {
                name: "log".to_owned(),
                path: PATH.into(),
                file_id: FileId(2),
                size: 504 << 10,
                max_size: Some(2 << 20),
                growth: Growth::Bytes(256 << 10),
            },
            cfg: LogConfig {
                db_name: "t".into(),
                db_id: DbId(901),
                profile: *rng
                    .choose(&[LogProfile::V2012, LogProfile::V2022, LogProfile::Native])
                    .unwrap_or(&LogProfile::Native),
                sector: if rng.one_in(4) { 4096 } else { 512 },
                first_seq: 43,
                ..LogConfig::default()
            },
            planted: Planted { bug },
            ledger: Arc::new(Mutex::new(Ledger {
                next_id: match rng.below(6) {
                    _ if bug == Some(Bug::NoEpochBump) => UNIFORM,
                    0..=2 => UNIFORM,
                    3 => BULKY,
                    _ => 0,
                },
                ..Ledger::default()
            })),
        }
    }

    pub fn create(&self, env: &Env) -> Result<Arc<Log>, LogError> {
        let cfg = self.cfg.clone();
        let log = Log::create_planted(env, cfg, &self.spec, &[0; 8192], self.planted)?;
        self.ledger.lock().epoch = log.epoch();
        Ok(log)
    }

    /// The same log and the same memory of it, for another future.
    pub fn forked(&self) -> World {
        World {
            spec: self.spec.clone(),
            cfg: self.cfg.clone(),
            planted: self.planted,
            ledger: Arc::new(Mutex::new(self.ledger.lock().clone())),
        }
    }

    /// Appends the next record.
    pub fn append(&self, log: &Log) -> Result<Lsn, LogError> {
        let id = {
            let mut l = self.ledger.lock();
            l.next_id += 1;
            let id = l.next_id;
            l.attempts.insert(id, None);
            id
        };
        let appended = log.append(&record(id), 0);
        let mut l = self.ledger.lock();
        match &appended {
            Ok(lsn) => {
                l.attempts.insert(id, Some(*lsn));
            }
            Err(_) => {
                l.attempts.remove(&id);
            }
        }
        appended
    }

    /// Everything up to here was reported durable.
    pub fn acked(&self, lsn: Lsn) {
        let mut l = self.ledger.lock();
        l.acked = l.acked.max(lsn);
    }

    pub fn truncate(&self, log: &Log) {
        truncate(log, &self.ledger);
    }

    pub fn open(&self, env: &Env) -> Result<(Arc<Log>, LogScan), LogError> {
        let specs = std::slice::from_ref(&self.spec);
        let opened = Log::open_planted(
            env,
            self.cfg.clone(),
            specs,
            Lsn::NULL,
            Lsn::NULL,
            self.planted,
        )?;
        // Several small writes at once: the order of completion is what the prefix rule is about.
        opened.0.lock().flights.parallel_bytes = 0;
        Ok(opened)
    }

    /// Compares what the log holds with what its clients know.
    pub fn verify(&self, log: &Arc<Log>, scan: &LogScan) -> Result<(), String> {
        let mut l = self.ledger.lock();
        if scan.last_record < l.acked {
            return Err(format!(
                "{} was durable, the log ends at {}",
                l.acked, scan.last_record
            ));
        }
        if self.planted.bug != Some(Bug::NoEpochBump) && log.epoch() <= l.epoch {
            return Err(format!("epoch {} after {}", log.epoch(), l.epoch));
        }
        l.epoch = log.epoch();
        let mut found = BTreeMap::new();
        let first = scan.first;
        for r in log.read(Lsn::NULL) {
            let r = r.map_err(|e| format!("reading after a sound scan: {e}"))?;
            let id = RecordView::parse(&r.bytes).ok_or("not a record")?.xdes().0;
            if r.bytes != record(id) {
                return Err(format!("record {id} at {} is not what was appended", r.lsn));
            }
            match l.attempts.get(&id) {
                None => return Err(format!("record {id} at {} was never appended", r.lsn)),
                Some(Some(at)) if *at != r.lsn => {
                    return Err(format!("record {id} was at {at}, now at {}", r.lsn));
                }
                Some(_) => {}
            }
            if l.dead.contains_key(&id) {
                return Err(format!("record {id} at {} came back from the dead", r.lsn));
            }
            if found.insert(id, r.lsn).is_some() {
                return Err(format!("record {id} twice"));
            }
        }
        if !l.min.is_null() && first > l.min {
            return Err(format!(
                "truncated at {}, but the log begins at {first}",
                l.min
            ));
        }
        let mut dead = Vec::new();
        for (id, at) in &mut l.attempts {
            match (found.get(id), *at) {
                (Some(lsn), _) => *at = Some(*lsn),
                (None, Some(lsn)) if lsn <= scan.last_record && lsn >= first => {
                    return Err(format!("record {id} at {lsn} is missing"));
                }
                (None, Some(lsn)) if lsn < first => {}
                (None, _) => dead.push(*id),
            }
        }
        for id in dead {
            l.attempts.remove(&id);
            l.attempts.insert(id, None);
            l.dead.insert(id, ());
        }
        l.acked = l.acked.max(scan.last_record);
        Ok(())
    }
}

fn is_storm(ledger: &Mutex<Ledger>) -> bool {
    (UNIFORM..BULKY).contains(&ledger.lock().next_id)
}

/// One client: appends and flushes until it has done its part or the log ends.
fn client(log: &Arc<Log>, ledger: &Arc<Mutex<Ledger>>, seed: u64, steps: u64) {
    let mut rng = Rng::new(seed);
    let mut last = Lsn::NULL;
    let storm = is_storm(ledger);
    for _ in 0..steps {
        // A storm of one-record commits keeps several writes in flight.
        let action = match rng.below(12) {
            n if !storm => n,
            0..=5 => 0,
            6..=10 => 7,
            _ => 11,
        };
        match action {
            0..=6 => {
                let id = {
                    let mut l = ledger.lock();
                    l.next_id += 1;
                    let id = l.next_id;
                    l.attempts.insert(id, None);
                    id
                };
                match log.append(&record(id), 0) {
                    Ok(lsn) => {
                        last = lsn;
                        ledger.lock().attempts.insert(id, Some(lsn));
                    }
                    Err(LogError::Full { .. }) => {
                        ledger.lock().attempts.remove(&id);
                        if log.flush_all().is_err() {
                            return;
                        }
                        truncate(log, ledger);
                    }
                    Err(_) => {
                        ledger.lock().attempts.remove(&id);
                        return;
                    }
                }
            }
            7..=8 => match log.flush(last) {
                Ok(()) => {
                    let mut l = ledger.lock();
                    l.acked = l.acked.max(last);
                }
                Err(_) => return,
            },
            9 => {
                let durable = log.durable_lsn();
                let mut l = ledger.lock();
                l.acked = l.acked.max(durable);
            }
            10 => log.request_flush(last),
            _ if rng.one_in(6) => truncate(log, ledger),
            _ if rng.one_in(12) => {
                // Fails like any write when the power does.
                let _ = log.shrink_file(FileId(2), 504 << 10);
            }
            _ => thread::sleep(Duration::from_micros(rng.below(500))),
        }
    }
}

fn truncate(log: &Log, ledger: &Mutex<Ledger>) {
    let min = log.durable_lsn();
    let mut l = ledger.lock();
    l.min = l.min.max(min);
    l.acked = l.acked.max(min);
    drop(l);
    log.truncate(min);
}

/// One life of the process: recovery, work, some end. Gives the clock at that end.
fn life(
    world: &World,
    disk: &Arc<SimDisk>,
    seed: u64,
    start: Duration,
    first: bool,
) -> Result<Duration, String> {
    let mut rng = Rng::new(seed);
    let storm = is_storm(&world.ledger);
    let ordered = match (first, storm) {
        (true, _) => 0,
        (_, true) => rng.below(3),
        _ => rng.below(6),
    };
    match ordered {
        0 => disk.power_off_after(3 + rng.below(if storm { 30 } else { 400 })),
        1 => disk.power_off_after(rng.below(8)),
        2 => disk.fail_nth(
            DiskOp::Write,
            2 + rng.below(60),
            IoError::device("pwritev2"),
        ),
        _ => {}
    }
    Simulation::new(seed)
        .on_disk(disk.clone())
        .starting_at(start)
        .run(|sim| {
            let env = disk.env();
            let (log, scan) = match world.open(&env) {
                Ok(opened) => opened,
                // Cut or failed while recovering: the next life tries again.
                Err(LogError::Io { .. }) if disk.is_off() || ordered == 2 => {
                    return Ok(sim.elapsed());
                }
                Err(e) => return Err(format!("open: {e}")),
            };
            world.verify(&log, &scan)?;
            let acked = world.ledger.clone();
            log.subscribe_durable(Box::new(move |state| {
                if let DurableState::Upto(lsn) = state {
                    let mut l = acked.lock();
                    l.acked = l.acked.max(lsn);
                }
            }));
            let steps = 20 + rng.below(150);
            let clients: Vec<_> = (0..1 + rng.below(4))
                .map(|_| {
                    let (log, ledger, seed) = (log.clone(), world.ledger.clone(), rng.next_u64());
                    thread::spawn("client", move || client(&log, &ledger, seed, steps))
                })
                .collect();
            if rng.one_in(3) {
                for c in clients {
                    let _ = c.join();
                }
                if rng.one_in(2) && log.shutdown().is_ok() {
                    let mut l = world.ledger.lock();
                    l.acked = l.acked.max(log.last_lsn());
                }
            } else {
                thread::sleep(Duration::from_micros(rng.below(20_000)));
            }
            Ok(sim.elapsed())
        })
}

fn run(seed: u64, bug: Option<Bug>) -> Result<usize, String> {
    let world = World::new(seed, bug);
    let mut rng = Rng::new(seed);
    let sector = if world.cfg.sector == 4096 { 4096 } else { 512 };
    let mut disk = SimDisk::with_sector(seed, sector);
    let env = disk.env();
    env.disk
        .create_dir_all(Path::new("/log"))
        .map_err(|e| e.to_string())?;
    env.disk
        .sync_dir(Path::new("/"))
        .map_err(|e| e.to_string())?;
    let log = Log::create_planted(
        &env,
        world.cfg.clone(),
        &world.spec,
        &[0; 8192],
        world.planted,
    )
    .map_err(|e| e.to_string())?;
    world.ledger.lock().epoch = log.epoch();
    log.abandon();
    let mut clock = Duration::from_secs(1_900_000_000);
    for cycle in 0..CYCLES {
        clock = life(&world, &disk, rng.next_u64(), clock, cycle == 0)?;
        disk = disk.crash(rng.next_u64());
    }
    Ok(CYCLES)
}

pub(super) fn count(default: u64) -> u64 {
    std::env::var("DURAMEN_SEEDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(default)
}

#[test]
fn crash_and_recover() {
    let started = time::now();
    let mut cycles = 0;
    let over = |cycles: usize| {
        let seconds = std::env::var("DURAMEN_SECONDS").ok();
        let seconds = seconds.and_then(|s| s.parse().ok());
        seconds.is_some_and(|s| cycles > 0 && started.elapsed() >= Duration::from_secs(s))
    };
    for seed in seeds(1, count(60)) {
        if over(cycles) {
            break;
        }
        match run(seed, None) {
            Ok(n) => cycles += n,
            Err(why) => panic!("seed {seed}: {why} (DURAMEN_SEED={seed} repeats it)"),
        }
    }
    let took = started.elapsed().max(Duration::from_millis(1));
    let rate = cycles as f64 / took.as_secs_f64();
    println!("{cycles} crashes and recoveries, {rate:.0} a second");
}

/// How many seeds it takes to find a planted bug; `None` when it is not found.
fn found_after(bug: Bug, limit: u64) -> Option<u64> {
    (1..=limit).find(|seed| run(*seed, Some(bug)).is_err())
}

#[test]
fn planted_bugs_are_found() {
    for bug in [
        Bug::AckBeforeDurable,
        Bug::NoEpochBump,
        Bug::WrongPrefix,
        Bug::RetriedSync,
        Bug::HeaderNotAwaited,
        Bug::ShrinksUsed,
        Bug::TruncatesNeeded,
    ] {
        let started = time::now();
        let seed = found_after(bug, count(2000));
        println!("{bug:?}: seed {seed:?}, {:?}", started.elapsed());
        if let Some(seed) = seed {
            let took = started.elapsed().as_millis();
            println!("planted\t{bug:?}\twal: crash test, seed {seed}\t{took}");
        }
        assert!(seed.is_some(), "{bug:?} is not found");
    }
}

/// One life without crash, then one byte of the file rots. Opening may refuse or cut; what it gives must be true.
fn rot(seed: u64, bug: Option<Bug>) -> Result<(), String> {
    let world = World::new(seed, bug);
    let disk = SimDisk::new(seed);
    let mut rng = Rng::new(seed);
    Simulation::new(seed).on_disk(disk.clone()).run(|_| {
        let env = disk.env();
        env.disk
            .create_dir_all(Path::new("/log"))
            .map_err(|e| e.to_string())?;
        let log = Log::create_planted(
            &env,
            world.cfg.clone(),
            &world.spec,
            &[0; 8192],
            world.planted,
        )
        .map_err(|e| e.to_string())?;
        client(&log, &world.ledger, seed, 60);
        let _ = log.shutdown();
        let last = log.last_lsn();
        if last.vlf > 43 {
            return Ok(());
        }
        let end = (u64::from(last.block) + 1) * 512;
        let at = 8192 + 8192 + rng.below(end.saturating_sub(8192).max(1));
        let value = [rng.next_u64() as u8];
        disk.damage(Path::new(PATH), at, &value)
            .map_err(|e| e.to_string())?;
        world.ledger.lock().acked = Lsn::NULL;
        match world.open(&env) {
            Ok((log, scan)) => world.verify(&log, &scan),
            Err(LogError::Damaged { .. }) => Ok(()),
            Err(e) => Err(e.to_string()),
        }
    })
}

#[test]
fn rot_is_never_read_as_a_record() {
    for seed in seeds(1, count(100)) {
        if let Err(why) = rot(seed, None) {
            panic!("seed {seed}: {why} (DURAMEN_SEED={seed} repeats it)");
        }
    }
}

/// A log that believes every block reads rot as records.
#[test]
fn planted_trust_is_found() {
    let (bug, started) = (Bug::SkipCrc, time::now());
    let found = (1..=500).find(|seed| rot(*seed, Some(bug)).is_err());
    if let Some(seed) = found {
        let took = started.elapsed().as_millis();
        println!("planted\t{bug:?}\twal: rot test, seed {seed}\t{took}");
    }
    assert!(found.is_some(), "{bug:?} is not found");
}
