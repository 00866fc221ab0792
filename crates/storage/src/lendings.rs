//! The values of a database that somebody has lent ([`crate::lent`]).

use std::collections::BTreeMap;
use std::sync::Weak;
use std::sync::atomic::AtomicUsize;
#[cfg(test)]
use std::sync::atomic::Ordering::Relaxed;

use duramen_base::PageId;
use duramen_os::sync::Mutex;
use duramen_types::spooled::Bytes;

/// Where a value begins: no two that are there have the same.
pub(crate) type Place = (PageId, u16);

/// The values of a database that somebody has lent.
#[derive(Default)]
pub(crate) struct Lendings {
    pub count: AtomicUsize,
    pub of: Mutex<BTreeMap<Place, Vec<Weak<dyn Bytes>>>>,
}

impl Lendings {
    /// How many there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }
}
