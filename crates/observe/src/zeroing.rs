//! Filling new space of a file: told at its beginning, after each piece and at its end, on the thread that does it.
//!
//! Who shows it (`percent_complete`, the error log under trace flags 3004 and 3605) hears [`crate::events::FileZeroing`].

use std::path::Path;
use std::time::Duration;

use duramen_os::time::{self, Instant};

use crate::events::{FileZeroing, emit};

/// A range of a file that is being filled.
#[derive(Debug)]
pub struct Zeroing<'a> {
    path: &'a Path,
    /// Bytes from the file's beginning.
    from: u64,
    to: u64,
    began: Instant,
}

impl<'a> Zeroing<'a> {
    /// The bytes from `from` to `to` are about to be filled. A range without bytes is not told of.
    pub fn begin(path: &'a Path, from: u64, to: u64) -> Zeroing<'a> {
        let zeroing = Zeroing {
            path,
            from,
            to,
            began: time::now(),
        };
        zeroing.at(0);
        zeroing
    }

    /// So many bytes of them have been filled; all of them: it is done.
    pub fn at(&self, done: u64) {
        let bytes = self.to.saturating_sub(self.from);
        if bytes == 0 {
            return;
        }
        emit(|| FileZeroing {
            file_name: self.path.to_string_lossy().into_owned(),
            offset: self.from,
            length: bytes,
            done: done.min(bytes),
            duration: micros(self.began.elapsed()),
        });
    }
}

fn micros(d: Duration) -> u64 {
    u64::try_from(d.as_micros()).unwrap_or(u64::MAX)
}
