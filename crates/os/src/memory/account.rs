//! What one owner holds ([`Account`]) and what many hold together ([`Tally`]).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use duramen_base::SqlResult;

use super::{Broker, Clerk, STEP, out_of_memory};

/// What one owner holds: given back when it goes. It tells its clerk in steps, always a little more than it holds.
#[derive(Debug)]
pub struct Account {
    broker: Arc<Broker>,
    clerk: Clerk,
    held: u64,
    reported: u64,
}

/// In whole steps, but nothing for what is less than half of one: most owners never hold more.
fn in_steps(bytes: u64) -> u64 {
    match bytes < STEP / 2 {
        true => 0,
        false => bytes.saturating_add(STEP - 1) / STEP * STEP,
    }
}

impl Account {
    pub(super) fn new(broker: Arc<Broker>, clerk: Clerk) -> Account {
        Account {
            broker,
            clerk,
            held: 0,
            reported: 0,
        }
    }

    pub fn held(&self) -> u64 {
        self.held
    }

    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// Holds `bytes` from now on, more or less than before. False when that is more than there is: what was held stays held.
    #[inline]
    pub fn hold(&mut self, bytes: u64) -> bool {
        // Between what was told and a step less nothing is said.
        if bytes <= self.reported && bytes + STEP > self.reported {
            self.held = bytes;
            return true;
        }
        self.report(bytes, true)
    }

    /// The same; 701 when there is no room.
    #[inline]
    pub fn need(&mut self, bytes: u64) -> SqlResult<()> {
        match self.hold(bytes) {
            true => Ok(()),
            false => Err(out_of_memory()),
        }
    }

    /// Holds `more` bytes more; 701 when there is no room.
    #[inline]
    pub fn grow(&mut self, more: u64) -> SqlResult<()> {
        self.need(self.held.saturating_add(more))
    }

    /// Holds `bytes` whether there is room or not: they are there already.
    pub fn set(&mut self, bytes: u64) {
        let _ = self.report(bytes, false);
    }

    #[cold]
    fn report(&mut self, bytes: u64, ask: bool) -> bool {
        let reported = in_steps(bytes);
        match reported.checked_sub(self.reported) {
            Some(0) => {}
            Some(more) if ask => {
                if !self.broker.ask(self.clerk, more) {
                    return false;
                }
                self.broker.await_pool();
            }
            Some(more) => self.broker.take(self.clerk, more),
            None => self.broker.give(self.clerk, self.reported - reported),
        }
        self.reported = reported;
        self.held = bytes;
        true
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if self.reported > 0 {
            self.broker.give(self.clerk, self.reported);
        }
    }
}

/// What many hold together, counted where they share a count anyway; the clerk is told of whole steps. It counts without a
/// broker, too, and is told of what there is when it gets one.
#[derive(Debug)]
pub struct Tally {
    broker: OnceLock<Arc<Broker>>,
    clerk: Clerk,
    bytes: AtomicU64,
}

impl Tally {
    pub const fn new(clerk: Clerk) -> Tally {
        Tally {
            broker: OnceLock::new(),
            clerk,
            bytes: AtomicU64::new(0),
        }
    }

    /// Tells `broker` from now on. To be called before others add.
    pub fn follow(&self, broker: &Arc<Broker>) {
        if self.broker.set(broker.clone()).is_ok() {
            broker.take(self.clerk, self.bytes() / STEP * STEP);
        }
    }

    /// Who is told.
    pub fn broker(&self) -> Option<&Arc<Broker>> {
        self.broker.get()
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Whether so many more would be granted.
    pub fn fits(&self, more: u64) -> bool {
        let broker = self.broker.get();
        broker.is_none_or(|b| b.fits(self.clerk, more))
    }

    /// Adds; what there was before.
    #[inline]
    pub fn add(&self, bytes: u64) -> u64 {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        self.report(before, before.wrapping_add(bytes));
        before
    }

    #[inline]
    pub fn sub(&self, bytes: u64) {
        let before = self.bytes.fetch_sub(bytes, Relaxed);
        self.report(before, before.wrapping_sub(bytes));
    }

    /// Every step is told by whoever passes it, whatever the order in which they come.
    #[inline]
    fn report(&self, before: u64, after: u64) {
        if before / STEP != after / STEP {
            self.passed(before / STEP, after / STEP);
        }
    }

    #[cold]
    fn passed(&self, before: u64, after: u64) {
        if let Some(broker) = self.broker.get() {
            match after.checked_sub(before) {
                Some(more) => broker.take(self.clerk, more * STEP),
                None => broker.give(self.clerk, (before - after) * STEP),
            }
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(broker) = self.broker.get() {
            broker.give(self.clerk, self.bytes() / STEP * STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_tells_in_steps_and_gives_all_back() {
        let broker = Broker::new(1 << 30);
        let mut account = broker.account(Clerk::Values);
        account.need(STEP / 4).unwrap();
        assert_eq!(broker.held(), 0, "a little touches nothing");
        account.need(STEP / 2).unwrap();
        assert_eq!(broker.of(Clerk::Values), STEP);
        account.grow(10 * STEP).unwrap();
        assert_eq!(
            (account.held(), broker.held()),
            (STEP / 2 + 10 * STEP, 11 * STEP)
        );
        account.need(10 * STEP + 1).unwrap();
        assert_eq!(broker.held(), 11 * STEP);
        account.need(3 * STEP).unwrap();
        assert_eq!(broker.held(), 3 * STEP);
        assert!(!account.hold(1 << 40));
        assert_eq!(account.need(1 << 40).unwrap_err().number, 701);
        assert_eq!((account.held(), broker.held()), (3 * STEP, 3 * STEP));
        account.set(1 << 31);
        assert_eq!(broker.held(), 1 << 31);
        drop(account);
        assert_eq!(broker.held(), 0);
    }

    #[test]
    fn a_tally_tells_what_its_threads_add_up_to() {
        let broker = Broker::new(1 << 30);
        let tally = Arc::new(Tally::new(Clerk::Versions));
        tally.add(3 * STEP + 5);
        tally.follow(&broker);
        assert_eq!(broker.of(Clerk::Versions), 3 * STEP);
        let threads: Vec<_> = (1..5)
            .map(|n| {
                let tally = tally.clone();
                crate::thread::spawn("adds", move || {
                    for i in 0..10_000 {
                        tally.add(n * 100 + i % 7);
                        tally.sub(n * 99 + i % 7);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let bytes = 3 * STEP + 5 + 10_000 * (1 + 2 + 3 + 4);
        assert_eq!(tally.bytes(), bytes);
        assert_eq!(broker.held(), bytes / STEP * STEP);
        assert!(tally.fits(1 << 20) && !tally.fits(1 << 30));
        drop(tally);
        assert_eq!(broker.held(), 0);
    }
}
