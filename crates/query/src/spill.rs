//! Memory that operators borrow to keep rows in, and the files they use when it does not suffice.
//!
//! A server has one [`Workspace`]; what sorts, hash tables and their kin hold of it at any moment is never more than its
//! size, but for the [`FLOOR`] that each may always have. Nobody waits for memory: an operator that gets no more writes
//! what it has to a [`SpillFile`] and goes on with the little it keeps. So two large queries slow each other down and
//! never stand in each other's way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duramen_base::SqlResult;

/// Bytes that every operator may have, whatever others hold.
pub const FLOOR: usize = 256 << 10;

/// The memory for rows that operators keep.
#[derive(Debug)]
pub struct Workspace {
    limit: AtomicUsize,
    floor: usize,
    used: AtomicUsize,
}

impl Workspace {
    pub fn new(limit: usize) -> Arc<Workspace> {
        Workspace::with_floor(limit, FLOOR)
    }

    /// For tests that want files to be used at once: another floor.
    pub fn with_floor(limit: usize, floor: usize) -> Arc<Workspace> {
        Arc::new(Workspace {
            limit: AtomicUsize::new(limit),
            floor,
            used: AtomicUsize::new(0),
        })
    }

    /// Bytes lent at this moment.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Another size. What is lent above it comes back as its operators end.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }
}

/// What one operator has borrowed; given back when it goes.
#[derive(Debug)]
pub struct Grant {
    workspace: Arc<Workspace>,
    bytes: usize,
}

impl Grant {
    pub fn new(workspace: Arc<Workspace>) -> Grant {
        Grant {
            workspace,
            bytes: 0,
        }
    }

    /// Borrows until `bytes` are held, or gives back down to them. False when that is more than there is: what was held
    /// before stays held. No operator gets more than half of the workspace.
    pub fn hold(&mut self, bytes: usize) -> bool {
        let used = &self.workspace.used;
        if bytes <= self.bytes {
            used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.bytes = bytes;
            return true;
        }
        let more = bytes - self.bytes;
        let before = used.fetch_add(more, Ordering::Relaxed);
        let fits = before.saturating_add(more) <= self.workspace.limit()
            && bytes <= self.workspace.limit() / 2;
        if !fits && bytes > self.workspace.floor {
            used.fetch_sub(more, Ordering::Relaxed);
            return false;
        }
        self.bytes = bytes;
        true
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.workspace.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A file for rows that wait. It goes with its value, and after a crash with the next start.
pub trait SpillFile {
    /// Writes behind what is there; where that begins.
    fn append(&mut self, bytes: &[u8]) -> SqlResult<u64>;
    fn read(&self, at: u64, bytes: &mut [u8]) -> SqlResult<()>;
}

/// A spill file in memory, for hosts without a disk.
#[derive(Debug, Default)]
pub struct SpilledInMemory(Vec<u8>);

impl SpillFile for SpilledInMemory {
    fn append(&mut self, bytes: &[u8]) -> SqlResult<u64> {
        let at = self.0.len() as u64;
        self.0.extend_from_slice(bytes);
        Ok(at)
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> SqlResult<()> {
        let at = at as usize;
        match self.0.get(at..at + bytes.len()) {
            Some(found) => bytes.copy_from_slice(found),
            None => {
                let error = &duramen_base::messages::INTERNAL_QUERY_ERROR;
                return Err(duramen_base::SqlError::new(error, &[]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FLOOR, Grant, Workspace};

    #[test]
    fn nobody_gets_more_than_there_is_but_the_floor() {
        let workspace = Workspace::new(8 * FLOOR);
        let mut a = Grant::new(workspace.clone());
        let mut b = Grant::new(workspace.clone());
        let mut c = Grant::new(workspace.clone());
        assert!(a.hold(4 * FLOOR), "half of it");
        assert!(!a.hold(5 * FLOOR), "and no more");
        assert!(b.hold(4 * FLOOR));
        assert!(!c.hold(FLOOR + 1), "all is lent");
        assert!(c.hold(FLOOR), "but the floor is everybody's");
        assert_eq!(workspace.used(), 9 * FLOOR);
        assert!(a.hold(FLOOR));
        drop(b);
        assert_eq!(workspace.used(), 2 * FLOOR);
        assert!(c.hold(4 * FLOOR));
        drop((a, c));
        assert_eq!(workspace.used(), 0);
    }
}
