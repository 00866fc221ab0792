//! The n-th operation of the disk fails, for every n: once, or from then on until somebody mends the disk. A write that
//! fails has written some of its sectors. After it the database goes on with what was committed, or its log has failed
//! and it says so; a start on the mended disk finds everything that was promised.

use std::time::Duration;

use duramen_base::SqlError;
use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault, Simulation};
use duramen_os::time;

use super::asked;
use super::work::{Base, Life, Step, caught, recovers, workloads};

/// What may fail, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Failure {
    op: DiskOp,
    full: bool,
    lasting: bool,
}

const FAILURES: [Failure; 16] = {
    const fn once(op: DiskOp, full: bool) -> Failure {
        Failure {
            op,
            full,
            lasting: false,
        }
    }
    const fn lasting(op: DiskOp, full: bool) -> Failure {
        Failure {
            op,
            full,
            lasting: true,
        }
    }
    [
        once(DiskOp::Read, false),
        once(DiskOp::Write, false),
        once(DiskOp::Write, true),
        once(DiskOp::Sync, false),
        once(DiskOp::Sync, true),
        once(DiskOp::SetLen, true),
        once(DiskOp::Allocate, true),
        once(DiskOp::Allocate, false),
        once(DiskOp::Open, false),
        once(DiskOp::SyncDir, false),
        lasting(DiskOp::Read, false),
        lasting(DiskOp::Write, false),
        lasting(DiskOp::Write, true),
        lasting(DiskOp::Sync, false),
        lasting(DiskOp::SetLen, true),
        lasting(DiskOp::Allocate, true),
    ]
};

impl Failure {
    fn fault(self, nth: u64) -> Fault {
        let error = match self.full {
            true => IoError::NoSpace,
            false => IoError::device("simulated"),
        };
        Fault {
            op: self.op,
            path: None,
            nth,
            error,
            lasting: self.lasting,
        }
    }
}

/// Numbers that a client, or the error log, may be given for a failing disk.
fn expected(e: &SqlError) -> bool {
    // 3314 where it was undo that could not read: the error log has the number below it.
    const NUMBERS: [i32; 13] = [
        823, 824, 1101, 1105, 3257, 3314, 5009, 5120, 5149, 9001, 9002, 3149, 17053,
    ];
    NUMBERS.contains(&e.number)
}

/// One workload with one failure. False when it was over before the failure.
fn run(base: &Base, work: &[Step], failure: Failure, nth: u64) -> Result<bool, String> {
    let disk = base.disk.fork();
    disk.add_fault(failure.fault(nth));
    let simulation = Simulation::new(7).on_disk(disk.clone());
    let simulation = simulation.starting_at(Duration::from_secs(100));
    let (struck, promise) = simulation.run(|_| {
        let struck = || disk.failures() > 0;
        let mut life = match Life::open(&disk, base.promise.clone()) {
            Ok(life) => life,
            Err(e) if struck() => {
                return match expected(&e) {
                    true => Ok((true, base.promise.clone())),
                    false => Err(format!("the open says {e}")),
                };
            }
            Err(e) => return Err(format!("the first open: {e}")),
        };
        for step in work {
            match life.step(*step) {
                Ok(()) => {}
                Err(e) if struck() => {
                    if !expected(&e) {
                        return Err(format!("{step:?} says {e}"));
                    }
                    disk.clear_faults();
                    life.goes_on()
                        .map_err(|e| format!("after a failed {step:?}: {e}"))?;
                    break;
                }
                Err(e) => return Err(format!("{step:?} on a sound disk: {e}")),
            }
        }
        disk.clear_faults();
        life.settle();
        life.end();
        Ok((struck(), life.promise.clone()))
    })?;
    recovers(&disk.crash(nth), &promise, nth).map_err(|e| format!("after a crash, {e}"))?;
    Ok(struck)
}

/// The n-th operation fails, for every n; gives how many that were.
fn every_failure(base: &Base, work: &[Step]) -> Result<u64, String> {
    let mut failures = 0;
    for failure in FAILURES {
        for nth in 1.. {
            let struck = caught(|| run(base, work, failure, nth))
                .map_err(|e| format!("{failure:?}, number {nth}: {e}"))?;
            if !struck {
                break;
            }
            failures += 1;
        }
    }
    Ok(failures)
}

#[test]
fn every_failure_of_the_disk_under_small_workloads() {
    let started = time::now();
    let (mut works, mut failures) = (0, 0);
    let bases = match asked() {
        Some(_) => vec![Base::closed(), Base::crashed()],
        None => vec![Base::closed()],
    };
    for base in bases {
        for work in workloads(asked().unwrap_or(0)) {
            works += 1;
            failures += every_failure(&base, &work)
                .unwrap_or_else(|e| panic!("{} base, {work:?}, {e}", base.name));
        }
    }
    let took = started.elapsed().as_secs_f64();
    println!("{works} workloads, {failures} failures of the disk: {took:.1} s");
    assert!(failures > 20);
}
