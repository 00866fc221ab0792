//! Memory that operators borrow to keep rows in, and the files they use when it does not suffice.
//!
//! A server has one [`Workspace`]; what sorts, hash tables and their kin hold of it at any moment is never more than its
//! size, but for the [`FLOOR`] that each may always have. A statement that is expected to keep much is granted memory
//! before it runs ([`Workspace::grant`]), and waits for that as the session sees fit. Once it runs nobody waits for others'
//! memory: an operator that gets no more writes what it has to a [`SpillFile`] and goes on with the little it keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duramen_os::memory::{Broker, Clerk, Tally};
pub use duramen_types::batch::spill::{SpillFile, SpilledInMemory};

/// Bytes that every operator may have, whatever others hold.
pub const FLOOR: usize = 256 << 10;

/// The memory for rows that operators keep: a server's, or what a statement was granted of it.
#[derive(Debug)]
pub struct Workspace {
    limit: AtomicUsize,
    floor: usize,
    used: Tally,
    granted: Option<Granted>,
}

/// Where a statement's memory comes from.
#[derive(Debug)]
struct Granted {
    of: Arc<Workspace>,
    /// Lent by it: what was granted at first, and what has been needed beyond that.
    reserved: AtomicUsize,
    /// The most that operators have used.
    most: AtomicUsize,
}

impl Workspace {
    pub fn new(limit: usize) -> Arc<Workspace> {
        Workspace::with_floor(limit, FLOOR)
    }

    /// One whose loans count as the server's memory.
    pub fn of(broker: &Arc<Broker>, limit: usize) -> Arc<Workspace> {
        let workspace = Workspace::new(limit);
        workspace.used.follow(broker);
        workspace
    }

    /// For tests that want files to be used at once: another floor.
    pub fn with_floor(limit: usize, floor: usize) -> Arc<Workspace> {
        Arc::new(Workspace {
            limit: AtomicUsize::new(limit),
            floor,
            used: Tally::new(Clerk::Workspace),
            granted: None,
        })
    }

    /// Grants `bytes` of it to a statement, which may use `most` if there are as many; `None` while they are not there.
    pub fn grant(self: &Arc<Workspace>, bytes: usize, most: usize) -> Option<Arc<Workspace>> {
        if !self.lend(bytes) {
            return None;
        }
        Some(Arc::new(Workspace {
            limit: AtomicUsize::new(most),
            floor: self.floor,
            used: Tally::new(Clerk::Workspace),
            granted: Some(Granted {
                of: self.clone(),
                reserved: AtomicUsize::new(bytes),
                most: AtomicUsize::new(0),
            }),
        }))
    }

    /// Bytes lent at this moment.
    pub fn used(&self) -> usize {
        self.used.bytes() as usize
    }

    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Of a statement's: what it has been granted by now, and the most that it has used.
    pub fn granted(&self) -> (usize, usize) {
        let of = |g: &Granted| {
            (
                g.reserved.load(Ordering::Relaxed),
                g.most.load(Ordering::Relaxed),
            )
        };
        self.granted.as_ref().map_or((0, 0), of)
    }

    /// Whether one more piece of that size is within the limit now.
    pub fn could_lend(&self, bytes: usize) -> bool {
        let then = self.used().saturating_add(bytes);
        let more = match &self.granted {
            None => return then <= self.limit() && self.used.fits(bytes as u64),
            Some(g) => then.saturating_sub(g.reserved.load(Ordering::Relaxed)),
        };
        let above = self.granted.as_ref().map(|g| &g.of);
        then <= self.limit() && (more == 0 || above.is_some_and(|w| w.could_lend(more)))
    }

    /// Whether the server has memory for so many bytes more, whatever operators may have of it.
    pub fn has_memory(&self, bytes: usize) -> bool {
        let of = self.granted.as_ref().map_or(self, |g| &g.of);
        of.used.fits(bytes as u64)
    }

    /// Another size. What is lent above it comes back as its operators end.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// What every operator may have; nothing of a workspace that lends nothing.
    fn floor(&self) -> usize {
        let lends = |w: &Workspace| w.limit() > 0 || w.floor < FLOOR;
        let of = self.granted.as_ref().map_or(self, |g| &g.of);
        if lends(of) { self.floor } else { 0 }
    }

    /// What one operator may have, at most: half of what the server has.
    fn share(&self) -> usize {
        match &self.granted {
            None => self.limit() / 2,
            Some(g) => self.limit().min(g.of.share()),
        }
    }

    /// Lends so many bytes more if they are there.
    fn lend(&self, more: usize) -> bool {
        let room = self.granted.is_some() || self.used.fits(more as u64);
        let before = self.used.add(more as u64) as usize;
        let after = before.saturating_add(more);
        if room && after <= self.limit() && self.reach(after) {
            return true;
        }
        self.used.sub(more as u64);
        false
    }

    /// Has a statement's memory reach so far.
    fn reach(&self, bytes: usize) -> bool {
        let Some(g) = &self.granted else {
            return true;
        };
        g.most.fetch_max(bytes, Ordering::Relaxed);
        let more = bytes.saturating_sub(g.reserved.load(Ordering::Relaxed));
        if more == 0 {
            return true;
        }
        let fits = g.of.lend(more);
        if fits {
            g.reserved.fetch_add(more, Ordering::Relaxed);
        }
        fits
    }

    /// Lends them whether they are there or not.
    fn overdraw(&self, more: usize) {
        let after = self.used.add(more as u64) as usize + more;
        if let Some(g) = &self.granted {
            g.most.fetch_max(after, Ordering::Relaxed);
            let more = after.saturating_sub(g.reserved.load(Ordering::Relaxed));
            g.of.overdraw(more);
            g.reserved.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// See [`Broker::await_pool`].
    fn await_pool(&self) {
        let of = self.granted.as_ref().map_or(self, |g| &g.of);
        if let Some(broker) = of.used.broker() {
            broker.await_pool();
        }
    }

    fn give_back(&self, bytes: usize) {
        self.used.sub(bytes as u64);
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        self.of.give_back(*self.reserved.get_mut());
    }
}

/// What one operator has borrowed; given back when it goes.
#[derive(Debug)]
pub struct Grant {
    workspace: Arc<Workspace>,
    bytes: usize,
    /// All of the workspace may be had.
    whole: bool,
}

impl Grant {
    pub fn new(workspace: Arc<Workspace>) -> Grant {
        Grant {
            workspace,
            bytes: 0,
            whole: false,
        }
    }

    /// For values, which no file can keep: all of the workspace.
    pub fn of_values(workspace: Arc<Workspace>) -> Grant {
        let mut grant = Grant::new(workspace);
        grant.whole = true;
        grant
    }

    /// Borrows until `bytes` are held, or gives back down to them. False when that is more than there is: what was held
    /// before stays held. No operator gets more than half of the workspace.
    pub fn hold(&mut self, bytes: usize) -> bool {
        if bytes <= self.bytes {
            self.workspace.give_back(self.bytes - bytes);
            self.bytes = bytes;
            return true;
        }
        let more = bytes - self.bytes;
        let fits = (self.whole || bytes <= self.workspace.share()) && self.workspace.lend(more);
        if !fits {
            if bytes > self.workspace.floor() {
                return false;
            }
            self.workspace.overdraw(more);
        }
        self.bytes = bytes;
        self.workspace.await_pool();
        true
    }
}

impl Grant {
    /// Holds `bytes` whether they are lent or not: they are there already, and bounded.
    pub fn set(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(0) => return,
            Some(more) => self.workspace.overdraw(more),
            None => self.workspace.give_back(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// See [`Workspace::has_memory`].
    pub fn has_memory(&self, bytes: usize) -> bool {
        self.workspace.has_memory(bytes)
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.workspace.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{FLOOR, Grant, Workspace};

    #[test]
    fn a_statement_has_what_it_was_granted_and_what_is_there_beyond() {
        let server = Workspace::new(16 * FLOOR);
        let one = server.grant(4 * FLOOR, usize::MAX).unwrap();
        assert_eq!(server.used(), 4 * FLOOR);
        let mut a = Grant::new(one.clone());
        assert!(a.hold(3 * FLOOR));
        assert_eq!((server.used(), one.used()), (4 * FLOOR, 3 * FLOOR));
        assert!(a.hold(6 * FLOOR), "there is more");
        assert_eq!(
            (server.used(), one.granted()),
            (6 * FLOOR, (6 * FLOOR, 6 * FLOOR))
        );
        assert!(!a.hold(9 * FLOOR), "half of all for one operator");
        assert!(server.grant(11 * FLOOR, usize::MAX).is_none(), "not now");
        let small = server.grant(FLOOR, 2 * FLOOR).unwrap();
        let mut b = Grant::new(small.clone());
        assert!(
            b.hold(2 * FLOOR) && !b.hold(2 * FLOOR + 1),
            "no more than it may"
        );
        assert!(!small.could_lend(1) && one.could_lend(8 * FLOOR) && !one.could_lend(9 * FLOOR));
        drop(a);
        assert_eq!((one.used(), one.granted().1), (0, 6 * FLOOR));
        drop(one);
        assert_eq!(server.used(), 2 * FLOOR);
        drop((b, small));
        assert_eq!(server.used(), 0);
    }

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
