//! A data file that somebody may want as it was: what is about to be overwritten is kept for them first.
//!
//! This is below everything that writes to a data file (the double-write file's second half, loads past the pool,
//! growth), so that nothing has to think of it. A write takes the list of watchers shared for as long as it lasts;
//! whoever begins to watch takes it exclusively, and so finds no write half done.

use std::sync::Arc;

use duramen_os::sync::RwLock;
use duramen_os::{DiskFile, IoError};

use crate::overlay::OverlayFile;

#[derive(Debug)]
pub struct Watched {
    pub file: Arc<dyn DiskFile>,
    watchers: RwLock<Vec<Arc<OverlayFile>>>,
}

impl Watched {
    pub fn new(file: Arc<dyn DiskFile>) -> Watched {
        Watched {
            file,
            watchers: RwLock::new(Vec::new()),
        }
    }

    /// From now on, for the watcher that `make` gives, which sees the file as it is.
    pub fn watch(
        &self,
        make: impl FnOnce(&Arc<dyn DiskFile>) -> Result<Arc<OverlayFile>, IoError>,
    ) -> Result<Arc<OverlayFile>, IoError> {
        let mut watchers = self.watchers.write();
        let watcher = make(&self.file)?;
        watchers.push(watcher.clone());
        Ok(watcher)
    }

    pub fn unwatch(&self, watcher: &Arc<OverlayFile>) {
        let mut watchers = self.watchers.write();
        watchers.retain(|w| !Arc::ptr_eq(w, watcher));
    }
}

impl DiskFile for Watched {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        let watchers = self.watchers.read();
        watchers
            .iter()
            .for_each(|w| w.preserve(offset, data.len() as u64));
        self.file.write_at(data, offset)
    }
    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        let watchers = self.watchers.read();
        let len = parts.iter().map(|p| p.len() as u64).sum();
        watchers.iter().for_each(|w| w.preserve(offset, len));
        self.file.write_durable_vectored_at(parts, offset)
    }
    fn sync(&self) -> Result<(), IoError> {
        self.file.sync()
    }
    fn len(&self) -> Result<u64, IoError> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> Result<(), IoError> {
        let watchers = self.watchers.read();
        let old = self.file.len()?;
        watchers
            .iter()
            .for_each(|w| w.preserve(len, old.saturating_sub(len)));
        self.file.set_len(len)
    }
    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.file.allocate(offset, len)
    }
    fn handle(&self) -> u64 {
        self.file.handle()
    }
    fn is_direct(&self) -> bool {
        self.file.is_direct()
    }
    fn room(&self) -> Result<u64, IoError> {
        self.file.room()
    }
    fn try_lock(&self) -> Result<bool, IoError> {
        self.file.try_lock()
    }
}
