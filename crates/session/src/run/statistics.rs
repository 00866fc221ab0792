//! SET STATISTICS IO and TIME: what a statement read and how long it took, told after it.

use duramen_base::{SqlError, messages};
use duramen_observe::{ThreadWork, UnitReads, WaitStat};
use duramen_os::time::{self, Instant};
use duramen_planner::showplan::{Took, Waited};
use duramen_program::bound::Bound;
use duramen_program::program::Op;
use duramen_query::profile::Profile;
use duramen_tsql::ast::{self, StatementKind};
use std::sync::Arc;
use std::time::Duration;

use super::failure::RunResult;
use super::{Next, Run, not_supported};

/// Processor and clock time since something began.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    cpu: Duration,
    start: Instant,
    work: ThreadWork,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch {
            cpu: time::thread_cpu(),
            start: time::now(),
            work: duramen_observe::thread_work(),
        }
    }

    /// The message with both times, in milliseconds.
    fn message(&self, message: &'static messages::Message) -> SqlError {
        let (cpu, elapsed) = self.times();
        SqlError::new(message, &[&cpu.as_millis(), &elapsed.as_millis()])
    }

    /// Processor time since it was started, that of threads that have helped included, and time of the clock.
    pub fn times(&self) -> (Duration, Duration) {
        let own = time::thread_cpu().saturating_sub(self.cpu);
        let helped = Duration::from_nanos(self.work().helped_cpu_nanos);
        (own + helped, self.start.elapsed())
    }

    /// The same in microseconds.
    pub fn micros(&self) -> (u64, u64) {
        let (cpu, elapsed) = self.times();
        (cpu.as_micros() as u64, elapsed.as_micros() as u64)
    }

    /// Pages read and made dirty since it was started, by this thread and those that helped it.
    pub fn work(&self) -> ThreadWork {
        duramen_observe::thread_work().since(&self.work)
    }

    /// 3613
    pub fn compiled(&self) -> SqlError {
        self.message(&messages::COMPILE_TIMES)
    }
}

/// What the session has waited for until a moment.
struct Waits(Vec<WaitStat>);

impl Waits {
    fn now() -> Waits {
        let waits = duramen_observe::current_waits();
        Waits(waits.map_or_else(Vec::new, |w| w.stats()))
    }

    /// What it has waited for since then, its helpers included: the ten longest of at least a millisecond.
    fn since(&self) -> Vec<Waited> {
        const MOST: usize = 10;
        let mut all: Vec<Waited> = Vec::new();
        for w in Waits::now().0 {
            let before = self.0.iter().find(|b| b.wait_type == w.wait_type);
            let (ms, count) = before.map_or((0, 0), |b| (b.wait_time_ms, b.waiting_tasks_count));
            let waited = Waited {
                name: w.name,
                ms: w.wait_time_ms.saturating_sub(ms),
                count: w.waiting_tasks_count.saturating_sub(count),
            };
            all.extend((waited.ms > 0).then_some(waited));
        }
        all.sort_by_key(|w| std::cmp::Reverse(w.ms));
        all.truncate(MOST);
        all
    }
}

impl Run<'_> {
    /// SET STATISTICS IO, TIME, XML, PROFILE ON | OFF.
    pub(super) fn set_statistics(&mut self, names: &[String], on: bool) -> RunResult<()> {
        let known = |n: &&String| !matches!(n.as_str(), "IO" | "TIME" | "XML" | "PROFILE");
        if let Some(other) = names.iter().find(known).filter(|_| on) {
            return Err(not_supported(&format!("SET STATISTICS {other}")).into());
        }
        for name in names {
            match name.as_str() {
                "IO" => self.session.options.statistics_io = on,
                "TIME" => self.session.options.statistics_time = on,
                "XML" => self.session.options.statistics_xml = on,
                "PROFILE" => self.session.options.statistics_profile = on,
                _ => {}
            }
        }
        Ok(())
    }

    /// A step whose reads or times are wanted.
    pub(super) fn measured(&mut self, at: usize) -> RunResult<Next> {
        let op = &self.program.steps[at].op;
        let calls = match op {
            Op::Run(StatementKind::Exec(_)) => true,
            Op::Run(StatementKind::Insert(i)) => matches!(i.source, ast::InsertSource::Exec(_)),
            Op::Run(_) | Op::Assign { .. } => false,
            _ => return self.step(at),
        };
        // The statements of a call tell of themselves.
        let io = self.session.options.statistics_io && !calls;
        let outside = self.clock.replace(Stopwatch::start());
        if io {
            duramen_observe::meter_reads();
        }
        let wanted = super::reporting::plans_are_wanted();
        let counting = (self.session.options.profiled() || wanted) && !calls;
        let counting = counting.then(Arc::<Profile>::default);
        let around = std::mem::replace(&mut self.profile, counting.clone());
        let waits = counting.as_ref().map(|_| Waits::now());
        // That of a statement outside comes back.
        let outer = counting
            .as_ref()
            .map(|_| self.session.activity.show_live_plan(None));
        let next = self.step(at);
        if let Some(outer) = outer {
            self.session.activity.show_live_plan(outer);
        }
        self.profile = around;
        let reads = match io {
            true => duramen_observe::metered_reads(),
            false => Vec::new(),
        };
        let clock = std::mem::replace(&mut self.clock, outside);
        let next = next?;
        for message in self.tables_read(&reads) {
            self.say(&message, at);
        }
        if let (Some(profile), Some(waits), Some(clock)) = (counting, waits, clock) {
            let (cpu, elapsed) = clock.times();
            let waits = waits.since();
            let took = Took {
                cpu,
                elapsed,
                waits,
            };
            self.show_profile(at, &profile, took)?;
        }
        if let Some(clock) = clock
            && self.session.options.statistics_time
        {
            self.say(&clock.message(&messages::EXECUTION_TIMES), at);
        }
        Ok(next)
    }

    /// A statement has been bound: what follows is its execution.
    pub(super) fn note_bound(&mut self, at: usize, bound: &Bound) {
        if self.session.options.statistics_io && matches!(bound, Bound::Plan(..) | Bound::Dml(..)) {
            // What a plan was chosen by is not what the statement reads.
            duramen_observe::meter_reads();
        }
        if let (Some(clock), Bound::Plan(..) | Bound::Dml(..)) = (self.clock, bound) {
            if self.session.options.statistics_time {
                self.say(&clock.compiled(), at);
            }
            self.clock = Some(Stopwatch::start());
        }
    }

    /// 3615 for each table of users that was read, in the order of the first read. Reads of base tables are no
    /// statement's own: the catalog is in memory. Large values are not read ahead; nor are there page servers.
    fn tables_read(&self, reads: &[UnitReads]) -> Vec<SqlError> {
        let mut tables: Vec<(duramen_base::DbId, String, UnitReads)> = Vec::new();
        for r in reads {
            let Some(db) = self.session.instance.databases.get(r.db) else {
                continue;
            };
            let Ok(snapshot) = db.catalog.snapshot() else {
                continue;
            };
            let own = |d: &duramen_storage::RowsetDef| d.au == r.unit || d.lob_au == Some(r.unit);
            let mut all = snapshot.tables.values();
            let found = all.find(|t| t.all_rowsets().any(|r| own(r)));
            let Some(table) = found else { continue };
            let known = tables
                .iter_mut()
                .find(|(d, name, _)| *d == r.db && *name == table.name);
            match known {
                Some((_, _, sum)) => {
                    sum.scans += r.scans;
                    sum.logical += r.logical;
                    sum.physical += r.physical;
                    sum.ahead += r.ahead;
                    sum.lob_logical += r.lob_logical;
                    sum.lob_physical += r.lob_physical;
                }
                None => tables.push((r.db, table.name.clone(), *r)),
            }
        }
        let message = |(_, name, r): (_, String, UnitReads)| {
            let args: [&dyn std::fmt::Display; 12] = [
                &name,
                &r.scans,
                &r.logical,
                &r.physical,
                &0,
                &r.ahead,
                &0,
                &r.lob_logical,
                &r.lob_physical,
                &0,
                &0,
                &0,
            ];
            SqlError::new(&messages::STATISTICS_IO, &args)
        };
        tables.into_iter().map(message).collect()
    }
}
