//! A file whose contents need not outlive the process: tempdb's.
//!
//! Nothing is ever synced, and a durable write is a plain one. What the wrapped file promises about crashes is gone; what
//! it promises to readers stays.

use std::sync::Arc;

use crate::{DiskFile, IoError};

/// Wraps a file so that no call waits for durability.
pub fn volatile(file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
    Arc::new(VolatileFile(file))
}

#[derive(Debug)]
struct VolatileFile(Arc<dyn DiskFile>);

impl DiskFile for VolatileFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.0.write_at(data, offset)
    }
    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        let mut at = offset;
        for part in parts {
            self.0.write_at(part, at)?;
            at += part.len() as u64;
        }
        Ok(())
    }
    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }
    fn len(&self) -> Result<u64, IoError> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.0.set_len(len)
    }
    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.0.allocate(offset, len)
    }
    fn handle(&self) -> u64 {
        self.0.handle()
    }
    fn is_direct(&self) -> bool {
        self.0.is_direct()
    }
    fn room(&self) -> Result<u64, IoError> {
        self.0.room()
    }
    fn try_lock(&self) -> Result<bool, IoError> {
        self.0.try_lock()
    }
}
