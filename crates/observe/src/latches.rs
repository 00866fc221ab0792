//! Latch statistics by class: the source of `sys.dm_os_latch_stats`.
//!
//! A latch wait counts twice, as in SQL Server: in its class here and in its wait type (`LATCH_*`, or `PAGELATCH_*`
//! for the class BUFFER).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::counters::{Counter, count};
use crate::waits::{NANOS_PER_MS, WaitGuard, WaitType, wait_on};

macro_rules! latch_classes {
    ($($name:ident)*) => {
        /// What a latch protects. Spelt as users see it.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum LatchClass { $($name,)* }

        impl LatchClass {
            pub const ALL: &'static [LatchClass] = &[$(LatchClass::$name,)*];
            pub const COUNT: usize = Self::ALL.len();

            /// The name in `sys.dm_os_latch_stats`.
            pub const fn name(self) -> &'static str {
                match self { $(LatchClass::$name => stringify!($name),)* }
            }
        }
    };
}

latch_classes! {
    BUFFER LOG_MANAGER ACCESS_METHODS_HOBT_COUNT ACCESS_METHODS_DATASET_PARENT ALLOC_EXTENT_CACHE FGCB_ADD_REMOVE FCB
    TRACE_CONTROLLER DATABASE_MIRRORING_CONNECTION NESTING_TRANSACTION_FULL
}

struct Totals {
    requests: AtomicU64,
    nanos: AtomicU64,
    max_nanos: AtomicU64,
}

static TOTALS: [Totals; LatchClass::COUNT] = [const {
    Totals {
        requests: AtomicU64::new(0),
        nanos: AtomicU64::new(0),
        max_nanos: AtomicU64::new(0),
    }
}; LatchClass::COUNT];

/// One row of `sys.dm_os_latch_stats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatchStat {
    pub class: LatchClass,
    pub name: &'static str,
    pub waiting_requests_count: u64,
    pub wait_time_ms: u64,
    pub max_wait_time_ms: u64,
}

/// A latch wait in progress; it ends when this is dropped.
#[must_use = "the wait ends when the guard is dropped"]
#[derive(Debug)]
pub struct LatchGuard {
    class: LatchClass,
    wait: WaitGuard,
}

/// Starts a wait for a latch. `resource` is what `wait_resource` shows: `5:1:103` for a page; the class otherwise
/// (when empty).
pub fn latch_wait(class: LatchClass, wait_type: WaitType, resource: &str) -> LatchGuard {
    if crate::RECORDS {
        TOTALS[class as usize].requests.fetch_add(1, Relaxed);
    }
    let resource = if resource.is_empty() {
        class.name()
    } else {
        resource
    };
    LatchGuard {
        class,
        wait: wait_on(wait_type, resource, None),
    }
}

impl Drop for LatchGuard {
    fn drop(&mut self) {
        if !crate::RECORDS {
            return;
        }
        let waited = u64::try_from(self.wait.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let totals = &TOTALS[self.class as usize];
        totals.nanos.fetch_add(waited, Relaxed);
        totals.max_nanos.fetch_max(waited, Relaxed);
        let ms = waited.div_ceil(NANOS_PER_MS);
        count(Counter::LatchWaits, 1);
        count(Counter::LatchWaitTimeMs, ms);
        count(Counter::LatchWaitTimeAverage, ms);
        count(Counter::LatchWaitTimeBase, 1);
    }
}

/// One row per class, in the order of the list, zeros included.
pub fn latch_stats() -> Vec<LatchStat> {
    let row = |&class: &LatchClass| {
        let totals = &TOTALS[class as usize];
        LatchStat {
            class,
            name: class.name(),
            waiting_requests_count: totals.requests.load(Relaxed),
            wait_time_ms: totals.nanos.load(Relaxed) / NANOS_PER_MS,
            max_wait_time_ms: totals.max_nanos.load(Relaxed) / NANOS_PER_MS,
        }
    };
    LatchClass::ALL.iter().map(row).collect()
}

/// `DBCC SQLPERF('sys.dm_os_latch_stats', CLEAR)`.
pub fn clear_latch_stats() {
    for totals in &TOTALS {
        totals.requests.store(0, Relaxed);
        totals.nanos.store(0, Relaxed);
        totals.max_nanos.store(0, Relaxed);
    }
}
