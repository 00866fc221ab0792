//! The whole engine on a disk that loses power: sessions, packet gate, crash, recovery, and a comparison with what was
//! promised.
//!
//! One seed is one story: an instance is started on a copy of a prepared disk, sessions run generated T-SQL on
//! simulated threads, their replies go through the packet gate, power fails at some moment (in the middle of a write, of
//! a checkpoint, of a recovery), the instance starts again, and everything is looked at. Then the work goes on, until
//! the last start, which is followed by a clean shutdown and the offline check of all files.
//!
//! | module | owns |
//! |---|---|
//! | [`image`] | the prepared disk: two databases with their tables, made once a process |
//! | [`model`] | what each session's rows must be, and what has been promised of it |
//! | [`wire`] | replies as packets, and what a released packet told the client |
//! | [`actor`] | a session that makes up its work as it goes |
//! | [`audit`] | what is looked at after a recovery |
//! | [`backups`] | stories with backups, and what they are restored to |
//! | [`sql`] | whole sessions: definitions and rows by several at once |
//! | [`stories`] | one session and what is rare: partitions, standbys, pages that are restored |
//!
//! What a run asserts:
//! 1. Each session's rows in each database are those after one of its commits, and not before the last that a released
//!    packet told of. A transaction over two databases is in both or in neither.
//! 2. What a released packet told of another session's commits still holds.
//! 3. Accounts that all sessions change agree with their history, without a gap: nothing was lost, nothing counted twice.
//! 4. A session reads what it wrote, and of others what was committed.
//! 5. Indexes agree with their tables, trees with themselves, files with the offline check.
//! 6. No panic, no deadlock of threads, no error that nothing explains.

pub mod actor;
pub mod audit;
pub mod backups;
pub mod image;
pub mod model;
mod plan;
pub mod sql;
pub mod stories;
pub mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use duramen_events::instance::Instance;
use duramen_os::sim::{Sim, SimDisk, Simulation};
use duramen_os::{thread, time};

use actor::Actor;
use model::Ledger;
pub use plan::Focus;
use plan::{Plan, Round, Stop};
use wire::Wire;

/// Primitives after which a round has run away.
const MAX_STEPS: u64 = 20_000_000;

/// What a seed did: sums over its rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub statements: u64,
    pub commits: u64,
    /// Packets that the gate let go.
    pub packets: u64,
    pub crashes: u64,
    /// Crashes in the middle of a recovery.
    pub recoveries_cut: u64,
    /// Virtual time.
    pub simulated: Duration,
    /// Digest of every switch of threads and every disk operation.
    pub trace: u64,
}

impl Report {
    /// Adds another seed's numbers.
    pub fn add(&mut self, other: &Report) {
        self.statements += other.statements;
        self.commits += other.commits;
        self.packets += other.packets;
        self.crashes += other.crashes;
        self.recoveries_cut += other.recoveries_cut;
        self.simulated += other.simulated;
        self.trace ^= other.trace;
    }
}

/// Runs one seed. The error says what was found; the same seed finds it again.
pub fn run_seed(seed: u64) -> Result<Report, String> {
    run_seed_of(seed, Focus::Any)
}

/// Runs one seed whose sessions have these habits.
pub fn run_seed_of(seed: u64, focus: Focus) -> Result<Report, String> {
    image::prepared();
    match catch_unwind(AssertUnwindSafe(|| Story::new(seed, focus).run())) {
        Ok(result) => result,
        Err(payload) => Err(payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_else(|| "a panic without text".to_owned())),
    }
}

/// What the process of a start leaves.
struct Left {
    disk: Arc<SimDisk>,
    ledger: Ledger,
    elapsed: Duration,
    trace: u64,
    /// The start itself was cut short.
    cut: bool,
}

struct Story {
    plan: Plan,
    disk: Arc<SimDisk>,
    ledger: Ledger,
    elapsed: Duration,
    report: Report,
    /// Processes started.
    starts: u64,
}

impl Story {
    fn new(seed: u64, focus: Focus) -> Story {
        let plan = Plan::new(seed, focus);
        Story {
            disk: image::prepared().of(plan.sector, seed),
            ledger: Ledger::new(plan.sessions),
            plan,
            elapsed: Duration::ZERO,
            report: Report::default(),
            starts: 0,
        }
    }

    fn run(mut self) -> Result<Report, String> {
        let rounds = std::mem::take(&mut self.plan.rounds);
        for (n, round) in rounds.iter().enumerate() {
            for cut in &round.cuts {
                self.process(round, n, Some(*cut))?;
                self.crash(n);
                self.report.recoveries_cut += 1;
            }
            if self.process(round, n, None)?.cut {
                return Err(format!("round {n}: the start stopped with the power on"));
            }
            self.crash(n);
        }
        self.report.simulated = self.elapsed;
        Ok(self.report)
    }

    fn crash(&mut self, round: usize) {
        let seed = self.plan.seed.wrapping_mul(31).wrapping_add(self.starts);
        let _ = round;
        self.disk = self.disk.crash(seed);
        // Somebody has made room meanwhile.
        self.disk.set_capacity(1 << 40);
        self.report.crashes += 1;
    }

    /// One life of the process: start, look, work. With `cut` the power fails after so many changes of the disk.
    fn process(&mut self, round: &Round, n: usize, cut: Option<u64>) -> Result<Cut, String> {
        self.starts += 1;
        let seed = self
            .plan
            .seed
            .wrapping_mul(1_000_003)
            .wrapping_add(self.starts);
        let plan = self.plan.clone();
        let ledger = std::mem::take(&mut self.ledger);
        let simulation = Simulation::new(seed)
            .on_disk(self.disk.clone())
            .starting_at(self.elapsed)
            .max_steps(MAX_STEPS);
        let first = self.starts == 1;
        let report = &mut self.report;
        let left = simulation.run(|sim| live(sim, &plan, round, ledger, cut, first, report));
        let left = left.map_err(|e| format!("seed {}, round {n}: {e}", self.plan.seed))?;
        self.disk = left.disk;
        self.ledger = left.ledger;
        self.elapsed = left.elapsed;
        self.report.trace ^= left.trace.rotate_left(self.starts as u32);
        Ok(Cut { cut: left.cut })
    }
}

struct Cut {
    cut: bool,
}

/// The process: everything between power on and power off.
fn live(
    sim: &Sim,
    plan: &Plan,
    round: &Round,
    ledger: Ledger,
    cut: Option<u64>,
    first: bool,
    report: &mut Report,
) -> Result<Left, String> {
    let disk = sim.disk();
    let left = |disk: Arc<SimDisk>, ledger: Ledger, cut: bool| Left {
        disk,
        ledger,
        elapsed: sim.elapsed(),
        trace: sim.trace_hash(),
        cut,
    };
    if let Some(n) = cut {
        disk.power_off_after(n);
    }
    let instance = match duramen_session::start(&sim.env(), image::config(plan.memory, plan.sector))
    {
        Ok(instance) => instance,
        Err(_) if disk.is_off() => return Ok(left(disk, ledger, true)),
        Err(e) => return Err(format!("the instance does not start: {e}")),
    };
    let mut ledger = ledger;
    if !first && !disk.is_off() {
        match audit::after_recovery(&instance, &mut ledger) {
            Ok(()) => {}
            Err(_) if disk.is_off() => return Ok(left(disk, ledger, true)),
            Err(e) => {
                let refused = instance.databases.unavailable();
                return Err(match refused.first() {
                    Some(refused) => format!("after a start, {refused}"),
                    None => e,
                });
            }
        }
    }
    if cut.is_some() {
        // Recovery was shorter than the cut: power fails all the same, right after it.
        return Ok(left(disk, ledger, true));
    }
    let Some(stop) = &round.stop else {
        instance
            .shutdown()
            .map_err(|e| format!("the last shutdown fails: {e}"))?;
        audit::files(&disk, plan.check_all)?;
        return Ok(left(disk, ledger, false));
    };
    let (disk, ledger) = work(sim, &instance, plan, round, stop, ledger, report)?;
    Ok(left(disk, ledger, false))
}

/// Runs the sessions until they are through or the round is over.
fn work(
    sim: &Sim,
    instance: &Arc<Instance>,
    plan: &Plan,
    round: &Round,
    stop: &Stop,
    ledger: Ledger,
    report: &mut Report,
) -> Result<(Arc<SimDisk>, Ledger), String> {
    let disk = sim.disk();
    let last = match stop {
        Stop::Packet(n) => Some(*n),
        _ => None,
    };
    let wire = Wire::new(instance, disk.clone(), ledger, last);
    for fault in &round.faults {
        plan::order(&disk, fault);
    }
    if let Stop::Changes(n) = stop {
        disk.power_off_after(*n);
    }
    let faulty = !round.faults.is_empty();
    let mut threads = Vec::new();
    for n in 0..plan.sessions {
        let actor = Actor::new(instance, &wire, plan, round, n, faulty);
        let disk = disk.clone();
        threads.push(thread::spawn("session", move || actor.run(&disk)));
    }
    let end = match stop {
        Stop::After(d) => time::now() + *d,
        _ => time::now() + Duration::from_secs(600),
    };
    loop {
        thread::sleep(Duration::from_micros(200));
        let over = threads.iter().all(|t| t.is_finished());
        let end = disk.is_off() || time::now() >= end || wire.is_frozen();
        if over || end || wire.has_violation() {
            break;
        }
    }
    if !matches!(stop, Stop::After(_)) && time::now() >= end {
        return Err("sessions are still at work after ten minutes".to_owned());
    }
    let (statements, commits, packets) = wire.counts();
    report.statements += statements;
    report.commits += commits;
    report.packets += packets;
    if let Some(violation) = wire.violation() {
        return Err(violation);
    }
    Ok(wire.frozen().unwrap_or_else(|| (disk, wire.ledger())))
}
