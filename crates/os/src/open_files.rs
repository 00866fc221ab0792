//! Which files the process has open, told apart by what they are and not by what they are called.
//!
//! A user's statement names a file by any of its names: through links, in whatever letter case a file system takes for
//! the same, as a hard link. Only the opened file says which one it is, so the question is asked of the handle, before
//! anything is written ([`crate::Disk::open_named`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::planted::{self, Bug};
use parking_lot::Mutex;

use crate::IoError;

/// How a file is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// Only read.
    Reading,
    /// As the engine holds its own.
    Writing,
    /// Nobody else has it, and nobody else gets it for writing.
    Alone,
}

#[derive(Debug, Default)]
struct Holders {
    count: u32,
    alone: bool,
}

/// Files that are open, by keys that no two files of one moment share.
#[derive(Debug)]
pub(crate) struct OpenFiles<K: Ord + Copy> {
    holders: Mutex<BTreeMap<K, Holders>>,
}

impl<K: Ord + Copy> OpenFiles<K> {
    pub const fn new() -> OpenFiles<K> {
        OpenFiles {
            holders: Mutex::new(BTreeMap::new()),
        }
    }

    /// Notes an open file until the answer is dropped; [`IoError::InUse`] when it cannot be held like this.
    pub fn enter(self: &Arc<Self>, key: K, hold: Hold) -> Result<Held<K>, IoError> {
        let mut holders = self.holders.lock();
        let found = holders.entry(key).or_default();
        let refused = match hold {
            Hold::Reading => false,
            Hold::Writing => found.alone,
            Hold::Alone => found.count > 0 && !planted::on(Bug::OpenFileGiven),
        };
        if refused {
            return Err(IoError::InUse);
        }
        found.count += 1;
        found.alone |= hold == Hold::Alone;
        Ok(Held {
            files: self.clone(),
            key,
            alone: hold == Hold::Alone,
        })
    }

    pub fn is_open(&self, key: K) -> bool {
        self.holders.lock().contains_key(&key)
    }
}

/// One opening of a file.
#[derive(Debug)]
pub(crate) struct Held<K: Ord + Copy> {
    files: Arc<OpenFiles<K>>,
    key: K,
    alone: bool,
}

impl<K: Ord + Copy> Drop for Held<K> {
    fn drop(&mut self) {
        let mut holders = self.files.holders.lock();
        if let Some(found) = holders.get_mut(&self.key) {
            found.count -= 1;
            found.alone &= !self.alone;
            if found.count == 0 {
                holders.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_stays_alone_but_for_readers() {
        let files = Arc::new(OpenFiles::new());
        let reader = files.enter(1, Hold::Reading).unwrap();
        assert!(matches!(files.enter(1, Hold::Alone), Err(IoError::InUse)));
        drop(reader);
        let alone = files.enter(1, Hold::Alone).unwrap();
        assert!(matches!(files.enter(1, Hold::Alone), Err(IoError::InUse)));
        assert!(matches!(files.enter(1, Hold::Writing), Err(IoError::InUse)));
        let reader = files.enter(1, Hold::Reading).unwrap();
        drop(alone);
        let writer = files.enter(1, Hold::Writing).unwrap();
        assert!(files.is_open(1) && !files.is_open(2));
        drop((reader, writer));
        assert!(!files.is_open(1));
    }
}
