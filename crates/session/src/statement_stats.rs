//! What the statements of a compiled program have taken so far: `sys.dm_exec_query_stats`.
//!
//! Statistics live as long as the program, which is as long as it is in the plan cache; all runs of all sessions add to the
//! same. Counted are statements that have a plan. Time is the clock's; worker time is what of it the thread that ran the
//! statement did not wait; reads and writes are of pages in the buffer pool that this thread asked for or made dirty. Threads
//! that help a parallel statement are not among them.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_base::DbId;
use duramen_catalog::ModuleDef;
use duramen_observe::ThreadWork;
use duramen_os::sync::Mutex;
use duramen_os::time::{self, Instant};
use duramen_query::showplan::plan_hash;

use crate::missing_indexes::Missed;
use crate::plan_xml::Planned;
use crate::program::{Op, Program, Step};
use crate::usage;
use duramen_tsql::ast::StatementKind;

/// The sum of a figure, its last, least and greatest value.
#[derive(Debug, Default)]
pub struct Measure {
    total: AtomicU64,
    last: AtomicU64,
    /// The complement of the least, so that 0 is none.
    least: AtomicU64,
    most: AtomicU64,
}

impl Measure {
    fn add(&self, sum: &Sum) {
        self.last.store(sum.last, Relaxed);
        if sum.total > 0 {
            self.total.fetch_add(sum.total, Relaxed);
        }
        if !sum.least > self.least.load(Relaxed) {
            self.least.fetch_max(!sum.least, Relaxed);
        }
        if sum.most > self.most.load(Relaxed) {
            self.most.fetch_max(sum.most, Relaxed);
        }
    }

    /// Total, last, least and greatest, all divided.
    pub fn values(&self, by: u64) -> [u64; 4] {
        let least = !self.least.load(Relaxed);
        [
            self.total.load(Relaxed) / by,
            self.last.load(Relaxed) / by,
            if least == u64::MAX { 0 } else { least / by },
            self.most.load(Relaxed) / by,
        ]
    }
}

/// Of one statement.
#[derive(Debug, Default)]
pub struct StatementStats {
    pub executions: AtomicU64,
    /// Nanoseconds since 1970.
    pub last_at: AtomicI64,
    /// Nanoseconds.
    pub elapsed: Measure,
    pub worker: Measure,
    pub logical_reads: Measure,
    pub physical_reads: Measure,
    pub logical_writes: Measure,
    pub rows: Measure,
    /// Threads.
    pub degree: Measure,
    plan: Mutex<Option<KnownPlan>>,
    /// Its `query_plan_hash`, for who may not wait; 0: none is known.
    plan_hash: AtomicU64,
    /// Some are missed.
    misses: AtomicBool,
    /// The indexes that its plan would have been cheaper with.
    missed: Mutex<Vec<Missed>>,
}

/// What is known of a statement's plan without the plan.
#[derive(Clone, Debug)]
pub struct KnownPlan {
    /// The schema's, when it was bound.
    pub version: u64,
    at: Instant,
    /// `query_plan_hash`
    pub hash: u64,
    /// What it looks like, where the plan itself is its session's own and not kept.
    pub planned: Option<Arc<Planned>>,
}

/// A plan that comes again sooner is not looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl StatementStats {
    pub fn plan(&self) -> Option<KnownPlan> {
        self.plan.lock().clone()
    }

    /// What the plan misses that has been bound last.
    pub(crate) fn set_missed(&self, missed: Vec<Missed>) {
        let misses = !missed.is_empty();
        *self.missed.lock() = missed;
        self.misses.store(misses, Relaxed);
    }

    pub(crate) fn misses(&self) -> bool {
        self.misses.load(Relaxed)
    }

    pub fn know_plan(&self, version: u64, planned: Planned, keep: bool) -> u64 {
        let hash = plan_hash(&planned.0);
        self.plan_hash.store(hash, Relaxed);
        *self.plan.lock() = Some(KnownPlan {
            version,
            at: time::now(),
            hash,
            planned: keep.then(|| Arc::new(planned)),
        });
        hash
    }
}

/// Of a program, statement by statement.
#[derive(Debug)]
pub struct ProgramStats {
    /// Which program it is: no two of a server's life have one number.
    pub id: u64,
    /// When it was compiled, in nanoseconds since 1970.
    pub created: i64,
    /// Its runs, from the first statement to the last.
    pub whole: StatementStats,
    steps: OnceLock<Box<[StatementStats]>>,
    module: OnceLock<ModuleId>,
}

/// The module that a program is the body of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModuleId {
    pub database: u16,
    pub object: i32,
    /// `sys.objects.type`
    pub kind: [u8; 2],
}

impl Default for ProgramStats {
    fn default() -> ProgramStats {
        static LAST: AtomicU64 = AtomicU64::new(0);
        ProgramStats {
            id: 1 + LAST.fetch_add(1, Relaxed),
            created: now(),
            whole: StatementStats::default(),
            steps: OnceLock::new(),
            module: OnceLock::new(),
        }
    }
}

impl ProgramStats {
    /// The program is this module's: said once, when it has been compiled.
    pub fn belongs_to(&self, database: DbId, module: &ModuleDef) {
        let id = ModuleId {
            database: database.0,
            object: module.id.0,
            kind: module.kind.0,
        };
        let _ = self.module.set(id);
    }

    pub fn module(&self) -> Option<ModuleId> {
        self.module.get().copied()
    }
}

fn now() -> i64 {
    time::wall().unix_nanos() as i64
}

/// Whether a step is a statement with a plan.
pub fn has_plan(step: &Step) -> bool {
    let Op::Run(kind) = &step.op else {
        return false;
    };
    matches!(
        kind,
        StatementKind::Select(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
    )
}

/// A statement that runs.
#[derive(Debug)]
pub struct Running {
    start: Instant,
    work: ThreadWork,
}

impl Running {
    pub fn begin() -> Running {
        Running {
            start: time::now(),
            work: duramen_observe::thread_work(),
        }
    }
}

/// Statements of one run that were not yet added to those of all sessions: a loop adds its rounds together.
#[derive(Debug)]
pub struct Collected {
    /// By the statement's place; short, and made once statements come again and again.
    sums: Vec<(usize, Sums)>,
    statements: u32,
    since: Instant,
}

/// So many statements of a run are added as they end, those after them in lots.
const SINGLY: u32 = 8;
const LOT: u32 = 64;
/// No statement is kept back for longer than this, if another ends then.
const LOT_AGE: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
struct Sum {
    total: u64,
    last: u64,
    least: u64,
    most: u64,
}

impl Sum {
    const NONE: Sum = Sum {
        total: 0,
        last: 0,
        least: u64::MAX,
        most: 0,
    };

    fn add(&mut self, n: u64) {
        self.total += n;
        self.last = n;
        self.least = self.least.min(n);
        self.most = self.most.max(n);
    }
}

/// Of executions: elapsed, worker, logical and physical reads, logical writes, rows, degree of parallelism.
#[derive(Clone, Copy, Debug)]
struct Sums {
    executions: u64,
    of: [Sum; 7],
}

impl Sums {
    const NONE: Sums = Sums {
        executions: 0,
        of: [Sum::NONE; 7],
    };

    fn add(&mut self, running: &Running, ended: Instant, rows: u64) {
        let elapsed = ended.since(running.start).as_nanos() as u64;
        let work = duramen_observe::thread_work().since(&running.work);
        let figures = [
            elapsed,
            elapsed.saturating_sub(work.waited_nanos),
            work.logical_reads,
            work.physical_reads,
            work.logical_writes,
            rows,
            duramen_observe::take_degree().into(),
        ];
        self.executions += 1;
        for (sum, n) in self.of.iter_mut().zip(figures) {
            sum.add(n);
        }
    }
}

impl Collected {
    pub fn new(whole: &Running) -> Collected {
        Collected {
            sums: Vec::new(),
            statements: 0,
            since: whole.start,
        }
    }

    /// A statement has ended.
    pub fn ended(&mut self, program: &Program, at: usize, running: &Running, rows: u64) {
        let now = time::now();
        self.statements += 1;
        if self.statements <= SINGLY {
            let mut sums = Sums::NONE;
            sums.add(running, now, rows);
            program.stats.add(program.steps.len(), at, &sums);
            return usage::count();
        }
        match self.sums.iter_mut().find(|(of, _)| *of == at) {
            Some((_, sums)) => sums.add(running, now, rows),
            None => {
                let mut sums = Sums::NONE;
                sums.add(running, now, rows);
                self.sums.push((at, sums));
            }
        }
        if self.statements.is_multiple_of(LOT) || now.since(self.since) > LOT_AGE {
            self.since = now;
            self.flush(program);
        }
    }

    /// Adds what was kept back.
    pub fn flush(&mut self, program: &Program) {
        for (at, sums) in self.sums.drain(..) {
            program.stats.add(program.steps.len(), at, &sums);
        }
        usage::count();
    }
}

impl ProgramStats {
    fn add(&self, steps: usize, at: usize, sums: &Sums) {
        if let Some(s) = self.step(steps, at) {
            s.add(sums);
        }
    }

    /// The plan that a step has bound, for a program whose plans are not kept. Of those that come quickly one after the
    /// other the first is remembered.
    pub fn bound(&self, steps: usize, at: usize, version: u64, plan: impl FnOnce() -> Planned) {
        let Some(stats) = self.step(steps, at) else {
            return;
        };
        let is_new = |k: &KnownPlan| k.at.elapsed() < LOOK_AGAIN;
        if !stats.plan.lock().as_ref().is_some_and(is_new) {
            stats.know_plan(version, plan(), true);
        }
    }

    /// Of a program of so many steps.
    pub fn step(&self, steps: usize, at: usize) -> Option<&StatementStats> {
        let all = self
            .steps
            .get_or_init(|| (0..steps).map(|_| StatementStats::default()).collect());
        all.get(at)
    }

    /// What is known of the plan of a step.
    pub fn plan(&self, at: usize) -> Option<KnownPlan> {
        self.steps.get()?.get(at)?.plan()
    }

    /// `query_plan_hash` of a step, as far as it has been found out.
    pub fn plan_hash(&self, at: usize) -> Option<u64> {
        let hash = self.steps.get()?.get(at)?.plan_hash.load(Relaxed);
        Some(hash).filter(|h| *h != 0)
    }

    /// The program has run.
    pub fn ran(&self, running: &Running) {
        let mut sums = Sums::NONE;
        sums.add(running, time::now(), 0);
        self.whole.add(&sums);
    }

    /// Those that have run, by their steps.
    pub fn statements(&self) -> impl Iterator<Item = (usize, &StatementStats)> {
        let all = self.steps.get().map_or(&[][..], |s| s);
        let all = all.iter().enumerate();
        all.filter(|(_, s)| s.executions.load(Relaxed) > 0)
    }
}

impl StatementStats {
    fn add(&self, sums: &Sums) {
        let [elapsed, worker, logical, physical, writes, rows, degree] = &sums.of;
        self.executions.fetch_add(sums.executions, Relaxed);
        self.last_at.store(now(), Relaxed);
        self.elapsed.add(elapsed);
        self.worker.add(worker);
        self.logical_reads.add(logical);
        self.physical_reads.add(physical);
        self.logical_writes.add(writes);
        self.rows.add(rows);
        self.degree.add(degree);
        if self.misses() {
            let missed = self.missed.lock();
            missed.iter().for_each(|m| m.ran(sums.executions));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(n: u64) -> Sum {
        let mut sum = Sum::NONE;
        sum.add(n);
        sum
    }

    #[test]
    fn a_measure_knows_its_ends() {
        let m = Measure::default();
        assert_eq!(m.values(1), [0; 4]);
        let mut three = one(7);
        three.add(3);
        three.add(9);
        m.add(&three);
        assert_eq!(m.values(1), [19, 9, 3, 9]);
        m.add(&one(5));
        assert_eq!(m.values(1), [24, 5, 3, 9]);
        m.add(&one(0));
        assert_eq!(m.values(1), [24, 0, 0, 9]);
    }

    #[test]
    fn only_what_ran_is_told() {
        let stats = ProgramStats::default();
        assert_eq!(stats.statements().count(), 0);
        for rows in [4, 2] {
            let mut sums = Sums::NONE;
            sums.add(&Running::begin(), time::now(), rows);
            stats.add(3, 1, &sums);
        }
        let told: Vec<_> = stats
            .statements()
            .map(|(at, s)| (at, s.executions.load(Relaxed), s.rows.values(1)))
            .collect();
        assert_eq!(told, [(1, 2, [6, 2, 2, 4])]);
        assert_ne!(ProgramStats::default().id, stats.id);
    }
}
