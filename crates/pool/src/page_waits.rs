//! What was waited for pages, by allocation unit: a part of `sys.dm_db_index_operational_stats`.

use std::collections::BTreeMap;
use std::time::Duration;

use duramen_base::AllocUnitId;
use duramen_format::page::PageRef;
use duramen_os::sync::Mutex;

/// Waits for pages: PAGELATCH and PAGEIOLATCH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatchWaits {
    pub count: u64,
    pub in_ms: u64,
    pub io_count: u64,
    pub io_in_ms: u64,
}

const NANOS_PER_MS: u64 = 1_000_000;

/// Counts and nanoseconds: latch, then I/O latch.
#[derive(Clone, Copy, Debug, Default)]
struct Waited([(u64, u64); 2]);

impl Waited {
    fn shown(self) -> LatchWaits {
        let [latch, io] = self.0;
        LatchWaits {
            count: latch.0,
            in_ms: latch.1 / NANOS_PER_MS,
            io_count: io.0,
            io_in_ms: io.1 / NANOS_PER_MS,
        }
    }
}

/// Waits for the pages of a database, by unit: the leaves, and what is above them. The buffer pool adds here after a wait.
#[derive(Debug, Default)]
pub struct PageWaits(Mutex<BTreeMap<AllocUnitId, [Waited; 2]>>);

impl PageWaits {
    /// Somebody has waited for this page, `io`: for the disk.
    #[cold]
    pub fn add(&self, page: PageRef<'_>, io: bool, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        let mut all = self.0.lock();
        let unit = all.entry(page.alloc_unit()).or_default();
        let sum = &mut unit[usize::from(page.level() > 0)].0[usize::from(io)];
        *sum = (sum.0 + 1, sum.1.saturating_add(nanos));
    }

    /// A unit is gone.
    pub fn forget(&self, unit: AllocUnitId) {
        self.0.lock().remove(&unit);
    }

    /// On all levels, and above the leaves.
    pub fn of(&self, unit: AllocUnitId) -> (LatchWaits, LatchWaits) {
        let [leaves, above] = self.0.lock().get(&unit).copied().unwrap_or_default();
        let mut all = leaves;
        for (sum, more) in all.0.iter_mut().zip(above.0) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
        (all.shown(), above.shown())
    }
}
