//! Every workload of up to three operations on a small log, cut at every change of the disk, and with every write, sync and
//! read failing once: after each of these the log opens and holds what was promised.
//!
//! `DURAMEN_SEEDS=3` takes workloads of three operations on three logs; without it there are two on one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::FileId;
use duramen_os::IoError;
use duramen_os::sim::{DiskOp, SimDisk, Simulation};
use duramen_os::{thread, time};

use super::Log;
use super::crash_tests::{World, count};
use crate::config::LogError;

/// What a client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Append,
    /// Records until a new VLF is begun.
    FillVlf,
    Flush,
    Truncate,
    Grow,
    Shrink,
    Shutdown,
}

const STEPS: [Step; 7] = [
    Step::Append,
    Step::FillVlf,
    Step::Flush,
    Step::Truncate,
    Step::Grow,
    Step::Shrink,
    Step::Shutdown,
];

/// What happens to the disk.
#[derive(Clone, Copy, Debug)]
enum Event {
    Nothing,
    /// Power fails in the middle of the change after so many.
    Cut(u64),
    Fails(DiskOp, u64),
}

fn all(length: usize) -> Vec<Vec<Step>> {
    let mut all = vec![Vec::new()];
    let mut longest = all.clone();
    for _ in 0..length {
        longest = longest
            .iter()
            .flat_map(|w| {
                STEPS.map(|s| {
                    let mut next = w.clone();
                    next.push(s);
                    next
                })
            })
            // Nothing comes after a shutdown.
            .filter(|w| w.iter().rev().skip(1).all(|s| *s != Step::Shutdown))
            .collect();
        all.extend(longest.iter().cloned());
    }
    all
}

fn step(world: &World, log: &Arc<Log>, step: Step) -> Result<(), LogError> {
    match step {
        Step::Append => world.append(log).map(|_| ()),
        Step::FillVlf => {
            let vlf = log.last_lsn().vlf;
            while world.append(log)?.vlf == vlf {}
            Ok(())
        }
        Step::Flush => {
            let last = log.last_lsn();
            log.flush_all()?;
            world.acked(last);
            Ok(())
        }
        Step::Truncate => {
            world.truncate(log);
            Ok(())
        }
        Step::Grow => log.grow_file(FileId(2), 1 << 20),
        Step::Shrink => log.shrink_file(FileId(2), 504 << 10).map(|_| ()),
        Step::Shutdown => {
            let last = log.last_lsn();
            log.shutdown()?;
            world.acked(last);
            Ok(())
        }
    }
}

struct Base {
    disk: Arc<SimDisk>,
    world: World,
}

/// A log with a few records, all durable.
fn base(seed: u64) -> Base {
    let world = World::new(seed, None);
    let disk = SimDisk::new(seed);
    let env = disk.env();
    env.disk.create_dir_all(Path::new("/log")).unwrap();
    env.disk.sync_dir(Path::new("/")).unwrap();
    Simulation::new(seed).on_disk(disk.clone()).run(|_| {
        let log = world.create(&env).unwrap();
        for _ in 0..5 {
            world.append(&log).unwrap();
        }
        step(&world, &log, Step::Shutdown).unwrap();
    });
    Base { disk, world }
}

/// One workload with one event, a crash, and two openings, the second after another crash. Gives the changes of the disk
/// until the end of the work; what was wrong, if anything.
fn one(base: &Base, work: &[Step], event: Event, seed: u64) -> Result<u64, String> {
    let disk = base.disk.fork();
    let world = base.world.forked();
    let before = disk.changes();
    match event {
        Event::Nothing => {}
        Event::Cut(n) => disk.power_off_after(n),
        Event::Fails(op, n) => disk.fail_nth(op, n, IoError::device("simulated")),
    }
    Simulation::new(seed)
        .on_disk(disk.clone())
        .starting_at(Duration::from_secs(100))
        .run(|_| match world.open(&disk.env()) {
            Ok((log, scan)) => {
                // Looking at everything reads, too.
                if !matches!(event, Event::Fails(DiskOp::Read, _)) {
                    world.verify(&log, &scan)?;
                }
                for s in work {
                    if step(&world, &log, *s).is_err() {
                        break;
                    }
                }
                // What nobody waits for is hardened meanwhile.
                thread::sleep(Duration::from_millis(8));
                world.acked(log.durable_lsn());
                log.abandon();
                Ok(())
            }
            Err(LogError::Io { .. }) => Ok(()),
            Err(e) => Err(format!("the first open: {e}")),
        })?;
    let changes = disk.changes() - before;
    let mut disk = disk.crash(seed);
    for again in 0..2u64 {
        let later = Simulation::new(seed + 1).starting_at(Duration::from_secs(200 + again));
        later.on_disk(disk.clone()).run(|_| {
            let (log, scan) = world
                .open(&disk.env())
                .map_err(|e| format!("open {again} after the crash: {e}"))?;
            world.verify(&log, &scan)?;
            log.abandon();
            Ok::<(), String>(())
        })?;
        disk = disk.crash(seed + 2);
    }
    Ok(changes)
}

#[test]
fn every_crash_point_and_every_failure_of_small_workloads() {
    let length = count(2) as usize;
    let started = time::now();
    let (mut workloads, mut crashes, mut failures) = (0u64, 0u64, 0u64);
    // Each base has another sector and profile: the seed says which.
    let bases: &[u64] = if length > 2 { &[1, 2, 6] } else { &[2] };
    for &seed in bases {
        let base = base(seed);
        for work in all(length) {
            workloads += 1;
            let tried = |event| {
                one(&base, &work, event, seed)
                    .unwrap_or_else(|e| panic!("seed {seed}, {work:?}, {event:?}: {e}"))
            };
            let changes = tried(Event::Nothing);
            for n in 0..changes {
                crashes += 1;
                tried(Event::Cut(n));
            }
            for op in [DiskOp::Write, DiskOp::Sync, DiskOp::Read] {
                for n in 1..=changes.min(12) {
                    failures += 1;
                    tried(Event::Fails(op, n));
                }
            }
        }
    }
    let took = started.elapsed();
    println!(
        "{workloads} workloads, {crashes} crash points, {failures} failures: {:.0} crashes and recoveries a second",
        (crashes + failures) as f64 * 2.0 / took.max(Duration::from_millis(1)).as_secs_f64()
    );
    assert!(crashes > 100);
}
