//! Failures that a test has ordered.

use std::path::{Path, PathBuf};

use crate::IoError;

/// What an injected failure strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskOp {
    Read,
    /// Plain and durable writes alike.
    Write,
    /// `sync` of a file.
    Sync,
    SetLen,
    Allocate,
    Open,
    /// `remove` and `rename`.
    Name,
    SyncDir,
}

/// An ordered failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub op: DiskOp,
    /// Only in this file; in any file when `None`.
    pub path: Option<PathBuf>,
    /// Which matching call from now: 1 is the next one.
    pub nth: u64,
    pub error: IoError,
    /// Every matching call from the n-th on fails, not only that one.
    pub lasting: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    ordered: Vec<Fault>,
    struck: u64,
}

impl Faults {
    pub(super) fn add(&mut self, mut fault: Fault) {
        fault.nth = fault.nth.max(1);
        self.ordered.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.ordered.clear();
    }

    pub(super) fn struck(&self) -> u64 {
        self.struck
    }

    /// Counts one call; the error it shall give.
    pub(super) fn strike(&mut self, op: DiskOp, path: &Path) -> Result<(), IoError> {
        let mut error = None;
        self.ordered.retain_mut(|f| {
            if f.op != op || f.path.as_deref().is_some_and(|p| p != path) {
                return true;
            }
            if f.nth > 1 {
                f.nth -= 1;
                return true;
            }
            error.get_or_insert(f.error.clone());
            f.lasting
        });
        self.struck += u64::from(error.is_some());
        error.map_or(Ok(()), Err)
    }
}
