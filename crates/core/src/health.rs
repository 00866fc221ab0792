//! How busy the server and the machine have been, minute by minute: `RING_BUFFER_SCHEDULER_MONITOR` of
//! `sys.dm_os_ring_buffers`.
//!
//! The dispatcher of event sessions looks once a minute; the last 256 minutes are kept. In a simulation there is no machine
//! to look at. The record is not documented: its form is what scripts take apart.

use std::collections::VecDeque;
use std::time::Duration;

use duramen_os::machine::{self, ProcessTimes};
use duramen_os::sync::Mutex;
use duramen_os::time::{self, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const KEPT: usize = 256;

/// What was read at a moment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Instant,
    own: ProcessTimes,
    /// Milliseconds of all processors: at work, idle.
    all: (u64, u64),
    resident: u64,
}

/// A minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    pub id: u64,
    /// `ms_ticks` of `sys.dm_os_sys_info` at its end.
    pub ticks: u64,
    /// Percent of all processors.
    process: u64,
    idle: u64,
    /// Milliseconds of the process.
    user_ms: u64,
    kernel_ms: u64,
    page_faults: u64,
    /// Bytes by which the resident memory has grown.
    grown: i64,
    /// Percent of the memory that the process may use.
    memory: u64,
}

#[derive(Default)]
struct State {
    last: Option<Reading>,
    records: VecDeque<Record>,
    next: u64,
}

#[derive(Default)]
pub struct Health {
    state: Mutex<State>,
}

fn read(at: Instant) -> Option<Reading> {
    Some(Reading {
        at,
        own: machine::process_times()?,
        all: machine::processor_times()?,
        resident: machine::resident_bytes()?,
    })
}

impl Health {
    /// Looks, if the last look was a minute ago.
    pub fn tick(&self) {
        self.look(time::now());
    }

    fn look(&self, at: Instant) {
        let mut state = self.state.lock();
        if state.last.is_some_and(|l| at.since(l.at) < MINUTE) {
            return;
        }
        let Some(now) = read(at) else { return };
        if let Some(before) = state.last.replace(now) {
            let record = between(state.next, &before, &now, machine::memory_bytes());
            state.next += 1;
            if state.records.len() == KEPT {
                state.records.pop_front();
            }
            state.records.push_back(record);
        }
    }

    /// Oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.state.lock().records.iter().copied().collect()
    }
}

fn between(id: u64, before: &Reading, now: &Reading, memory: u64) -> Record {
    let user_ms = now.own.user_ms.saturating_sub(before.own.user_ms);
    let kernel_ms = now.own.kernel_ms.saturating_sub(before.own.kernel_ms);
    let worked = now.all.0.saturating_sub(before.all.0);
    let idle = now.all.1.saturating_sub(before.all.1);
    let all = worked + idle;
    let idle = (idle * 100).checked_div(all).unwrap_or(100);
    let own = ((user_ms + kernel_ms) * 100).checked_div(all).unwrap_or(0);
    Record {
        id,
        ticks: now.at.nanos() / 1_000_000,
        // Both are rounded, and what is left of a hundred is the others'.
        process: own.min(100 - idle),
        idle,
        user_ms,
        kernel_ms,
        page_faults: now.own.page_faults.saturating_sub(before.own.page_faults),
        grown: now.resident as i64 - before.resident as i64,
        memory: (now.resident * 100)
            .checked_div(memory)
            .unwrap_or(0)
            .min(100),
    }
}

impl Record {
    /// As `record` shows it; times are in units of 100 ns.
    pub fn xml(&self) -> String {
        const UNITS: u64 = 10_000;
        format!(
            "<Record id = \"{}\" type =\"RING_BUFFER_SCHEDULER_MONITOR\" time =\"{}\"><SchedulerMonitorEvent><SystemHealth>\
             <ProcessUtilization>{}</ProcessUtilization><SystemIdle>{}</SystemIdle><UserModeTime>{}</UserModeTime>\
             <KernelModeTime>{}</KernelModeTime><PageFaults>{}</PageFaults><WorkingSetDelta>{}</WorkingSetDelta>\
             <MemoryUtilization>{}</MemoryUtilization></SystemHealth></SchedulerMonitorEvent></Record>",
            self.id,
            self.ticks,
            self.process,
            self.idle,
            self.user_ms * UNITS,
            self.kernel_ms * UNITS,
            self.page_faults,
            self.grown,
            self.memory,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(own: (u64, u64, u64), all: (u64, u64), resident: u64) -> Reading {
        Reading {
            at: time::now(),
            own: ProcessTimes {
                user_ms: own.0,
                kernel_ms: own.1,
                page_faults: own.2,
            },
            all,
            resident,
        }
    }

    #[test]
    fn a_minute_is_told_in_percent_of_all_processors() {
        // Two processors: a quarter is the server's, another one somebody else's.
        let before = reading((1000, 500, 10), (100_000, 200_000), 4000);
        let now = reading((21_000, 10_500, 25), (160_000, 260_000), 3000);
        let record = between(7, &before, &now, 30_000);
        assert_eq!((record.process, record.idle, record.memory), (25, 50, 10));
        let xml = record.xml();
        assert!(xml.contains("<Record id = \"7\""), "{xml}");
        assert!(
            xml.contains("<UserModeTime>200000000</UserModeTime>"),
            "{xml}"
        );
        assert!(
            xml.contains("<PageFaults>15</PageFaults><WorkingSetDelta>-1000<"),
            "{xml}"
        );
    }

    #[test]
    fn nothing_is_told_before_a_minute_is_over() {
        let (health, start) = (Health::default(), time::now());
        health.look(start);
        health.look(start + MINUTE / 2);
        assert!(health.records().is_empty());
        health.look(start + MINUTE);
        let records = health.records();
        assert_eq!(records.len(), 1);
        assert!(records[0].process + records[0].idle <= 100);
    }
}
