//! What the statements of a compiled program have taken so far: `sys.dm_exec_query_stats`.
//!
//! Statistics live as long as the program, which is as long as it is in the plan cache; all runs of all sessions add to the
//! same. Counted are statements that have a plan. Time is the clock's; worker time is that of the processors, by
//! `observe::CpuMark`; reads and writes are of pages in the buffer pool that were asked for or made dirty. The work of threads
//! that help a parallel statement is among them.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_access::usage;
use duramen_base::{DbId, SqlResult};
use duramen_catalog::ModuleDef;
use duramen_observe::{CpuMark, ThreadWork};
use duramen_os::sync::Mutex;
use duramen_os::time::{self, Instant};
use duramen_planner::showplan::plan_hash;

use crate::missing_indexes::Missed;
use crate::planned::Planned;

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

    fn take_over(&self, other: &Measure) {
        self.total.fetch_add(other.total.swap(0, Relaxed), Relaxed);
        self.last.store(other.last.load(Relaxed), Relaxed);
        self.least.fetch_max(other.least.swap(0, Relaxed), Relaxed);
        self.most.fetch_max(other.most.swap(0, Relaxed), Relaxed);
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
    /// Pages that operators have written to files.
    pub spills: Measure,
    /// Bytes of memory: granted, used of that, and ideal.
    pub grant: Measure,
    pub used_grant: Measure,
    pub ideal_grant: Measure,
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

    fn take_over(&self, other: &StatementStats) {
        let executions = other.executions.swap(0, Relaxed);
        if executions == 0 {
            return;
        }
        self.executions.fetch_add(executions, Relaxed);
        self.last_at.fetch_max(other.last_at.load(Relaxed), Relaxed);
        let measures: [fn(&StatementStats) -> &Measure; 11] = [
            |s| &s.elapsed,
            |s| &s.worker,
            |s| &s.logical_reads,
            |s| &s.physical_reads,
            |s| &s.logical_writes,
            |s| &s.rows,
            |s| &s.degree,
            |s| &s.spills,
            |s| &s.grant,
            |s| &s.used_grant,
            |s| &s.ideal_grant,
        ];
        measures.iter().for_each(|of| of(self).take_over(of(other)));
    }

    /// What the plan misses that has been bound last.
    pub fn set_missed(&self, missed: Vec<Missed>) {
        let misses = !missed.is_empty();
        *self.missed.lock() = missed;
        self.misses.store(misses, Relaxed);
    }

    pub fn misses(&self) -> bool {
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
    steps: OnceLock<Steps>,
    module: OnceLock<ModuleId>,
    standing: AtomicU8,
}

/// Statistics of a program's steps: of long ones only for those that are asked for.
#[derive(Debug)]
enum Steps {
    Few(Box<[StatementStats]>),
    Many(Box<[OnceLock<Box<StatementStats>>]>),
}

/// Steps of a program that is not long.
const FEW: usize = 32;

impl Steps {
    fn new(steps: usize) -> Steps {
        match steps <= FEW {
            true => Steps::Few((0..steps).map(|_| StatementStats::default()).collect()),
            false => Steps::Many((0..steps).map(|_| OnceLock::new()).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Steps::Few(all) => all.len(),
            Steps::Many(all) => all.len(),
        }
    }

    fn get(&self, at: usize) -> Option<&StatementStats> {
        match self {
            Steps::Few(all) => all.get(at),
            Steps::Many(all) => all.get(at)?.get().map(|s| &**s),
        }
    }

    fn get_or_make(&self, at: usize) -> Option<&StatementStats> {
        match self {
            Steps::Few(all) => all.get(at),
            Steps::Many(all) => all.get(at).map(|s| &**s.get_or_init(Box::default)),
        }
    }
}

/// How a program stands to the plan cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// In it, or not yet.
    Cached,
    /// It had to make room, or was replaced.
    Gone,
    /// Somebody wanted it to be forgotten, or its database has gone.
    Forgotten,
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
            standing: AtomicU8::new(Standing::Cached as u8),
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

    #[inline]
    pub fn standing(&self) -> Standing {
        match self.standing.load(Relaxed) {
            0 => Standing::Cached,
            1 => Standing::Gone,
            _ => Standing::Forgotten,
        }
    }

    pub fn set_standing(&self, standing: Standing) {
        self.standing.store(standing as u8, Relaxed);
    }

    /// Counts what another program of the same text has counted, which has counted nothing then.
    pub fn take_over(&self, other: &ProgramStats) {
        self.whole.take_over(&other.whole);
        let Some(others) = other.steps.get() else {
            return;
        };
        for at in 0..others.len() {
            if let Some(theirs) = others.get(at)
                && let Some(own) = self.step(others.len(), at)
            {
                own.take_over(theirs);
            }
        }
    }
}

fn now() -> i64 {
    time::wall().unix_nanos() as i64
}

/// A statement that runs.
#[derive(Debug)]
pub struct Running {
    start: Instant,
    mark: CpuMark,
    work: ThreadWork,
}

impl Running {
    pub fn begin() -> Running {
        let start = time::now();
        Running {
            start,
            mark: CpuMark::within(start),
            work: duramen_observe::thread_work(),
        }
    }
}

/// Statements of one run that were not yet added to those of all sessions: a loop adds its rounds together.
#[derive(Debug)]
pub struct Collected<'p> {
    stats: &'p ProgramStats,
    /// Of the program.
    steps: usize,
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

    /// Adds 0.
    fn add_nothing(&mut self) {
        (self.last, self.least) = (0, 0);
    }
}

/// So many figures are different from nothing as a rule.
const COMMON: usize = 7;

/// Of executions: elapsed, worker, logical and physical reads, logical writes, rows, degree of parallelism, spilled pages,
/// memory granted, used and ideal.
#[derive(Clone, Copy, Debug)]
struct Sums {
    executions: u64,
    of: [Sum; 11],
}

impl Sums {
    const NONE: Sums = Sums {
        executions: 0,
        of: [Sum::NONE; 11],
    };

    fn add(&mut self, running: &Running, ended: Instant, rows: u64) {
        let spent = running.mark.spent(ended);
        let work = duramen_observe::thread_work().since(&running.work);
        let grant = duramen_observe::take_grant();
        let figures = [
            spent.elapsed,
            spent.cpu + work.helped_cpu_nanos,
            work.logical_reads,
            work.physical_reads,
            work.logical_writes,
            rows,
            duramen_observe::take_degree().into(),
            work.spilled,
            grant.granted,
            grant.used,
            grant.ideal,
        ];
        self.executions += 1;
        let (common, rare) = figures.split_at(COMMON);
        let (of, of_rare) = self.of.split_at_mut(COMMON);
        for (sum, n) in of.iter_mut().zip(common) {
            sum.add(*n);
        }
        match rare {
            [0, 0, 0, 0] => of_rare.iter_mut().for_each(Sum::add_nothing),
            _ => of_rare.iter_mut().zip(rare).for_each(|(s, n)| s.add(*n)),
        }
    }
}

impl<'p> Collected<'p> {
    /// Of a run of a program of so many steps.
    pub fn new(stats: &'p ProgramStats, steps: usize, whole: &Running) -> Collected<'p> {
        Collected {
            stats,
            steps,
            sums: Vec::new(),
            statements: 0,
            since: whole.start,
        }
    }

    /// A statement has ended.
    pub fn ended(&mut self, at: usize, running: &Running, rows: u64) {
        let now = time::now();
        self.statements += 1;
        if self.statements <= SINGLY {
            let mut sums = Sums::NONE;
            sums.add(running, now, rows);
            self.stats.add(self.steps, at, &sums);
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
            self.flush();
        }
    }

    /// Adds what was kept back.
    pub fn flush(&mut self) {
        for (at, sums) in self.sums.drain(..) {
            self.stats.add(self.steps, at, &sums);
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
    pub fn bound(
        &self,
        steps: usize,
        at: usize,
        version: u64,
        plan: impl FnOnce() -> SqlResult<Planned>,
    ) {
        let Some(stats) = self.step(steps, at) else {
            return;
        };
        let is_new = |k: &KnownPlan| k.at.elapsed() < LOOK_AGAIN;
        if !stats.plan.lock().as_ref().is_some_and(is_new)
            && let Ok(plan) = plan()
        {
            stats.know_plan(version, plan, true);
        }
    }

    /// Of a program of so many steps.
    pub fn step(&self, steps: usize, at: usize) -> Option<&StatementStats> {
        self.steps.get_or_init(|| Steps::new(steps)).get_or_make(at)
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
        let steps = self.steps.get();
        let all =
            (0..steps.map_or(0, Steps::len)).filter_map(move |at| Some((at, steps?.get(at)?)));
        all.filter(|(_, s)| s.executions.load(Relaxed) > 0)
    }
}

impl StatementStats {
    fn add(&self, sums: &Sums) {
        let [
            elapsed,
            worker,
            logical,
            physical,
            writes,
            rows,
            degree,
            memory @ ..,
        ] = &sums.of;
        self.executions.fetch_add(sums.executions, Relaxed);
        self.last_at.store(now(), Relaxed);
        self.elapsed.add(elapsed);
        self.worker.add(worker);
        self.logical_reads.add(logical);
        self.physical_reads.add(physical);
        self.logical_writes.add(writes);
        self.rows.add(rows);
        self.degree.add(degree);
        let measures = [
            &self.spills,
            &self.grant,
            &self.used_grant,
            &self.ideal_grant,
        ];
        for (measure, sum) in measures.into_iter().zip(memory) {
            measure.add(sum);
        }
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
        let reported: Vec<_> = stats
            .statements()
            .map(|(at, s)| (at, s.executions.load(Relaxed), s.rows.values(1)))
            .collect();
        assert_eq!(reported, [(1, 2, [6, 2, 2, 4])]);
        assert_ne!(ProgramStats::default().id, stats.id);
    }
}
