//! Helpers of the tests: a log in memory.

use duramen_base::{Lsn, SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;

use crate::log::RecordLog;

/// A log of one VLF: the record number is the block.
#[derive(Default)]
pub struct MemoryLog {
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    records: Vec<Vec<u8>>,
    durable: usize,
    reserved: i64,
    broken: bool,
    /// Takes records and hardens none.
    deaf: bool,
    flushes: usize,
}

fn lsn(n: usize) -> Lsn {
    if n == 0 {
        Lsn::NULL
    } else {
        Lsn::new(1, n as u32, 1)
    }
}

impl MemoryLog {
    pub fn records(&self) -> Vec<Vec<u8>> {
        self.state.lock().records.clone()
    }

    pub fn reserved(&self) -> i64 {
        self.state.lock().reserved
    }

    pub fn flushes(&self) -> usize {
        self.state.lock().flushes
    }

    pub fn break_down(&self) {
        self.state.lock().broken = true;
    }

    pub fn break_flushes(&self) {
        self.state.lock().deaf = true;
    }
}

fn broken() -> SqlError {
    SqlError::new(&messages::LOG_UNAVAILABLE, &[&"test"])
}

impl RecordLog for MemoryLog {
    fn append(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn> {
        let mut state = self.state.lock();
        if state.broken {
            return Err(broken());
        }
        state.records.push(record.to_vec());
        state.reserved += undo_reserve as i64;
        Ok(lsn(state.records.len()))
    }

    fn last_lsn(&self) -> Lsn {
        lsn(self.state.lock().records.len())
    }

    fn durable_lsn(&self) -> Lsn {
        lsn(self.state.lock().durable)
    }

    fn request_flush(&self, _lsn: Lsn) {}

    fn flush(&self, lsn: Lsn) -> SqlResult<()> {
        let mut state = self.state.lock();
        if state.durable >= lsn.block as usize {
            return Ok(());
        }
        if state.broken || state.deaf {
            return Err(broken());
        }
        state.durable = state.durable.max(lsn.block as usize);
        state.flushes += 1;
        Ok(())
    }

    fn release_reserve(&self, bytes: u64) {
        self.state.lock().reserved -= bytes as i64;
    }
}
