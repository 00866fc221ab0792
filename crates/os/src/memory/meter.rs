//! Memory of work whose growth nobody can foresee, compiling above all: measured by what its thread takes, and asked for in
//! steps. What makes trees looks now and then ([`check`]): two reads of numbers of the thread's own, and whether the work has
//! been given up.
//!
//! In a program that does not count its allocations nothing is measured, and every look is content.

use std::cell::{Cell, RefCell};

use duramen_base::{SqlError, SqlResult};

use super::Account;
use crate::{heap, thread};

/// What is asked for together.
const AHEAD: i64 = 1 << 20;
/// What nobody is asked for: most work takes less, and some can be done whatever others hold.
const FREE: i64 = 4 << 20;

thread_local! {
    /// What the thread may have taken until it asks again.
    static NEXT: Cell<i64> = const { Cell::new(i64::MAX) };
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

struct Meter {
    account: Account,
    /// What the thread had taken when it began.
    began: i64,
}

/// While it lives, what the thread takes is measured; dropping it gives that back and restores what was before.
#[must_use = "nothing is measured when this is dropped"]
pub struct Metered {
    next: i64,
    meter: Option<Meter>,
}

/// From now on the thread works on something that `account` pays for.
pub fn metered(account: Account) -> Metered {
    let began = heap::of_thread();
    let meter = Some(Meter { account, began });
    Metered {
        next: NEXT.replace(began + FREE),
        meter: METER.replace(meter),
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        // An error means that the thread is ending.
        let _ = NEXT.try_with(|next| next.set(self.next));
        let before = self.meter.take();
        let _ = METER.try_with(|meter| meter.replace(before));
    }
}

/// 701 when there is no memory for what the thread has taken since [`metered`]; an error without a number when nobody
/// wants it any more.
#[inline]
pub fn check() -> SqlResult<()> {
    match heap::of_thread() < NEXT.get() && !thread::is_given_up() {
        true => Ok(()),
        false => ask(),
    }
}

#[cold]
#[inline(never)]
fn ask() -> SqlResult<()> {
    METER.with_borrow_mut(|meter| {
        let Some(meter) = meter else {
            return Ok(());
        };
        if thread::is_given_up() {
            return Err(SqlError::given_up());
        }
        let taken = heap::of_thread() - meter.began + AHEAD;
        meter.account.need(u64::try_from(taken).unwrap_or(0))?;
        NEXT.set(meter.began + taken);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::memory::{Broker, Clerk};

    #[test]
    fn what_grows_is_asked_for_until_there_is_no_more() {
        let broker = Broker::new(64 << 20);
        let metered = metered(broker.account(Clerk::Compile));
        let mut taken = Vec::new();
        let refused = loop {
            taken.push(vec![1_u8; 256 << 10]);
            if let Err(e) = check() {
                break e;
            }
        };
        assert_eq!(refused.number, 701);
        let most = broker.most(Clerk::Compile) >> 18;
        assert!(
            (most - 8..=most + 8).contains(&(taken.len() as u64)),
            "{}",
            taken.len()
        );
        assert!(broker.of(Clerk::Compile) > 0);
        {
            // Something within it has a measure of its own.
            let other = Broker::new(1 << 30);
            let _inner = super::metered(other.account(Clerk::Compile));
            taken.push(vec![1_u8; 8 << 20]);
            check().unwrap();
            assert!(other.of(Clerk::Compile) >= 8 << 20);
        }
        assert!(check().is_err());
        drop(taken);
        check().unwrap();
        drop(metered);
        assert_eq!(broker.held(), 0);
        check().unwrap();
    }

    #[test]
    fn work_that_is_given_up_goes_on_no_further() {
        let flag = Arc::new(AtomicBool::new(false));
        let _listening = thread::listen_to(Arc::clone(&flag));
        let broker = Broker::new(64 << 20);
        {
            let _metered = metered(broker.account(Clerk::Compile));
            check().unwrap();
            flag.store(true, Ordering::Relaxed);
            assert_eq!(check().unwrap_err().number, 0);
        }
        // What is not measured is not to be given up here.
        check().unwrap();
    }
}
