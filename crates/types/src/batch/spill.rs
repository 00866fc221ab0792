//! Rows that wait in a file because there is no memory for them: one kind of file, of blocks and of merges for index
//! builds and for whatever queries keep.
//!
//! | module | owns |
//! |---|---|
//! | `blocks` | rows by column in parts: sorted runs, or rows parted by the hash of a key |
//! | `merge` | sorted runs, merged |

mod blocks;
mod merge;

use duramen_base::{SqlError, SqlResult, messages};

pub use blocks::{BLOCK_BYTES, BLOCK_ROWS, Reader, Writer};
pub use merge::{Merge, RowOrder, fewer};

/// Runs that are merged at a time: each has a block in memory.
pub const TOGETHER: usize = 64;

/// A file for rows that wait. It goes with its value, and after a crash with the next start.
pub trait SpillFile: Send + Sync {
    /// Writes behind what is there; where that begins.
    fn append(&mut self, bytes: &[u8]) -> SqlResult<u64>;
    fn read(&self, at: u64, bytes: &mut [u8]) -> SqlResult<()>;
}

/// What was read back is not what was written.
fn damaged() -> SqlError {
    SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])
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
        let found = self.0.get(at..at + bytes.len()).ok_or_else(damaged)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}
