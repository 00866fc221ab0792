//! What the statements of a compiled program have taken so far: `sys.dm_exec_query_stats`.
//!
//! Statistics live as long as the program, which is as long as it is in the plan cache; all runs of all sessions add to the
//! same. Counted are statements that have a plan. Time is the clock's; worker time is what of it the thread that ran the
//! statement did not wait; reads and writes are of pages in the buffer pool that this thread asked for or made dirty. Threads
//! that help a parallel statement are not among them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use duramen_observe::ThreadWork;
use duramen_os::time::{self, Instant};

use crate::program::{Op, Step};
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
    fn add(&self, n: u64) {
        self.total.fetch_add(n, Relaxed);
        self.last.store(n, Relaxed);
        if !n > self.least.load(Relaxed) {
            self.least.fetch_max(!n, Relaxed);
        }
        if n > self.most.load(Relaxed) {
            self.most.fetch_max(n, Relaxed);
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
}

impl Default for ProgramStats {
    fn default() -> ProgramStats {
        static LAST: AtomicU64 = AtomicU64::new(0);
        ProgramStats {
            id: 1 + LAST.fetch_add(1, Relaxed),
            created: now(),
            whole: StatementStats::default(),
            steps: OnceLock::new(),
        }
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

impl ProgramStats {
    /// A statement has ended.
    pub fn ended(&self, at: usize, steps: usize, running: &Running, rows: u64) {
        let all = self
            .steps
            .get_or_init(|| (0..steps).map(|_| StatementStats::default()).collect());
        if let Some(s) = all.get(at) {
            s.add(running, rows);
        }
    }

    /// The program has run.
    pub fn ran(&self, running: &Running) {
        self.whole.add(running, 0);
    }

    /// Those that have run, by their steps.
    pub fn statements(&self) -> impl Iterator<Item = (usize, &StatementStats)> {
        let all = self.steps.get().map_or(&[][..], |s| s);
        let all = all.iter().enumerate();
        all.filter(|(_, s)| s.executions.load(Relaxed) > 0)
    }
}

impl StatementStats {
    fn add(&self, running: &Running, rows: u64) {
        let s = self;
        let elapsed = running.start.elapsed().as_nanos() as u64;
        let work = duramen_observe::thread_work().since(&running.work);
        s.executions.fetch_add(1, Relaxed);
        s.last_at.store(now(), Relaxed);
        s.elapsed.add(elapsed);
        s.worker.add(elapsed.saturating_sub(work.waited_nanos));
        s.logical_reads.add(work.logical_reads);
        s.physical_reads.add(work.physical_reads);
        s.logical_writes.add(work.logical_writes);
        s.rows.add(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_knows_its_ends() {
        let m = Measure::default();
        assert_eq!(m.values(1), [0; 4]);
        for n in [7, 3, 9, 5] {
            m.add(n);
        }
        assert_eq!(m.values(1), [24, 5, 3, 9]);
        m.add(0);
        assert_eq!(m.values(1), [24, 0, 0, 9]);
    }

    #[test]
    fn only_what_ran_is_told() {
        let stats = ProgramStats::default();
        assert_eq!(stats.statements().count(), 0);
        stats.ended(1, 3, &Running::begin(), 4);
        stats.ended(1, 3, &Running::begin(), 2);
        let told: Vec<_> = stats
            .statements()
            .map(|(at, s)| (at, s.executions.load(Relaxed), s.rows.values(1)))
            .collect();
        assert_eq!(told, [(1, 2, [6, 2, 2, 4])]);
        assert_ne!(ProgramStats::default().id, stats.id);
    }
}
