//! Power lost at every change of the disk of every workload, and at every change of the recovery after it.

use std::sync::Arc;
use std::time::Duration;

use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::time;

use super::asked;
use super::work::{Base, Life, Promise, Step, caught, recovers, workloads};

/// What a workload leaves.
struct Left {
    disk: Arc<SimDisk>,
    promise: Promise,
    /// Changes of the disk before the last step and at the end.
    changes: (u64, u64),
}

/// Runs a workload until it ends or the power does, after `cut` changes.
fn run(base: &Base, work: &[Step], cut: Option<u64>) -> Result<Left, String> {
    let disk = base.disk.fork();
    let before = disk.changes();
    if let Some(n) = cut {
        disk.power_off_after(n);
    }
    let simulation = Simulation::new(7).on_disk(disk.clone());
    simulation.starting_at(Duration::from_secs(100)).run(|_| {
        let mut left = Left {
            disk: disk.clone(),
            promise: base.promise.clone(),
            changes: (0, 0),
        };
        let mut life = match Life::open(&disk, base.promise.clone()) {
            Ok(life) => life,
            Err(_) if disk.is_off() => return Ok(left),
            Err(e) => return Err(format!("the first open: {e}")),
        };
        for (n, step) in work.iter().enumerate() {
            if n + 1 == work.len() {
                left.changes.0 = disk.changes() - before;
            }
            match life.step(*step) {
                Ok(()) => {}
                Err(_) if disk.is_off() => break,
                Err(e) => return Err(format!("{step:?} with the power on: {e}")),
            }
        }
        life.settle();
        life.end();
        left.promise = life.promise.clone();
        left.changes.1 = disk.changes() - before;
        Ok(left)
    })
}

/// The recovery of a crashed disk, cut after so many changes. Gives its changes.
fn recovery(disk: &Arc<SimDisk>, promise: &Promise, cut: Option<u64>) -> Result<u64, String> {
    let before = disk.changes();
    if let Some(n) = cut {
        disk.power_off_after(n);
    }
    let simulation = Simulation::new(8).on_disk(disk.clone());
    simulation.starting_at(Duration::from_secs(200)).run(|_| {
        match Life::open(disk, promise.clone()) {
            Ok(life) => life.end(),
            Err(_) if disk.is_off() => {}
            Err(e) => return Err(format!("the recovery: {e}")),
        }
        Ok(disk.changes() - before)
    })
}

/// Cuts the recovery at every change; gives how many there are.
fn every_cut_of_recovery(left: &Left, seed: u64) -> Result<u64, String> {
    let crashed = left.disk.crash(seed);
    let changes = recovery(&crashed.fork(), &left.promise, None)?;
    for n in 0..changes {
        let disk = crashed.fork();
        recovery(&disk, &left.promise, Some(n))
            .and_then(|_| recovers(&disk.crash(seed + n), &left.promise, seed))
            .map_err(|e| format!("recovery cut after {n}: {e}"))?;
    }
    Ok(changes)
}

#[derive(Default)]
struct Counts {
    workloads: u64,
    points: u64,
    crashes: u64,
    /// In the middle of recoveries.
    nested: u64,
}

/// Every crash point of a workload that is not one of a shorter one's. `long`: more of what may be lost at each.
fn every_point(base: &Base, work: &[Step], long: bool, counts: &mut Counts) -> Result<(), String> {
    let whole = caught(|| run(base, work, None))?;
    counts.workloads += 1;
    // Up to its last step the workload is one of the shorter ones, and the disk does the same.
    for cut in whole.changes.0..=whole.changes.1 {
        let at = |e: String| format!("cut after {cut}: {e}");
        let left = caught(|| run(base, work, Some(cut))).map_err(at)?;
        counts.points += 1;
        // What is pending is kept or lost as a seed says: some of its styles at each point.
        for seed in (0..if long { 3 } else { 1 }).map(|style| cut * 5 + style) {
            counts.crashes += 1;
            caught(|| recovers(&left.disk.crash(seed), &left.promise, seed))
                .map_err(|e| at(format!("crashed with {seed}: {e}")))?;
        }
        if long && work.len() <= 1 {
            counts.nested += caught(|| every_cut_of_recovery(&left, cut)).map_err(at)?;
        }
    }
    Ok(())
}

#[test]
fn every_crash_point_of_small_workloads() {
    let asked = asked();
    let started = time::now();
    let mut counts = Counts::default();
    let bases = match asked {
        Some(_) => vec![Base::closed(), Base::crashed()],
        None => vec![Base::crashed()],
    };
    for base in bases {
        for work in workloads(asked.unwrap_or(1)) {
            every_point(&base, &work, asked.is_some(), &mut counts)
                .unwrap_or_else(|e| panic!("{} base, {work:?}, {e}", base.name));
        }
    }
    println!(
        "{} workloads, {} crash points, {} crashes and {} in recoveries, in {:.1} s",
        counts.workloads,
        counts.points,
        counts.crashes,
        counts.nested,
        started.elapsed().as_secs_f64()
    );
    assert!(counts.points > 30, "{} points only", counts.points);
}

/// The first crash that a workload of two steps does not survive.
#[cfg(feature = "planted")]
fn found_by_points(base: &Base) -> Result<(), String> {
    let mut counts = Counts::default();
    for work in workloads(2) {
        every_point(base, &work, true, &mut counts).map_err(|e| format!("{work:?}, {e}"))?;
    }
    Ok(())
}

#[cfg(feature = "planted")]
#[test]
fn small_workloads_that_planted_bugs_spoil() {
    use duramen_base::planted::{Bug, plant};
    let base = Base::closed();
    for bug in [
        Bug::PageBeforeLog,
        Bug::NoCompensation,
        Bug::ForgottenPageLsn,
        Bug::CheckpointWithoutPages,
        Bug::CheckpointForgetsActive,
    ] {
        plant(Some(bug));
        let found = caught(|| found_by_points(&base));
        plant(None);
        let how = found
            .err()
            .unwrap_or_else(|| panic!("{bug:?} is not found"));
        println!("{bug:?}: {how}");
    }
}
