//! A file that leaves alone what a volume keeps back.
//!
//! The last part of every volume is for what must not fail: logs that grow, and recovery. What may be refused (data files
//! that grow, backups, rows that spill, event files) takes space only while more than that is left, and finds the disk
//! full before it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{DiskFile, IoError};

/// Per cent of each volume of the machine that are kept back unless it is said otherwise.
pub const KEPT_PERCENT: u32 = 5;

static KEPT: AtomicU32 = AtomicU32::new(KEPT_PERCENT);

/// Says how many per cent of each of the machine's volumes are kept back; of the whole process.
pub fn keep_back(percent: u32) {
    KEPT.store(percent.min(100), Ordering::Relaxed);
}

/// What may still be taken of a volume of `total` bytes with `free` left, when so many per cent are kept back.
pub(crate) fn room_of(free: u64, total: u64, percent: u32) -> u64 {
    free.saturating_sub(total / 100 * u64::from(percent))
}

pub(crate) fn kept_percent() -> u32 {
    KEPT.load(Ordering::Relaxed)
}

/// Wraps a file so that it does not grow into what is kept back: [`IoError::NoSpace`] then.
pub fn sparing(file: Arc<dyn DiskFile>) -> Result<Arc<dyn DiskFile>, IoError> {
    let has = AtomicU64::new(file.len()?);
    Ok(Arc::new(Sparing { file, has }))
}

#[derive(Debug)]
struct Sparing {
    file: Arc<dyn DiskFile>,
    /// Up to here space has been asked for.
    has: AtomicU64,
}

impl Sparing {
    /// The file is to reach to `end`.
    fn reach(&self, end: u64) -> Result<(), IoError> {
        let has = self.has.load(Ordering::Acquire);
        if end > has {
            if self.file.room()? < end - has {
                return Err(IoError::NoSpace);
            }
            self.has.fetch_max(end, Ordering::AcqRel);
        }
        Ok(())
    }
}

impl DiskFile for Sparing {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.reach(offset.saturating_add(data.len() as u64))?;
        self.file.write_at(data, offset)
    }
    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        let bytes: u64 = parts.iter().map(|p| p.len() as u64).sum();
        self.reach(offset.saturating_add(bytes))?;
        self.file.write_durable_vectored_at(parts, offset)
    }
    fn sync(&self) -> Result<(), IoError> {
        self.file.sync()
    }
    fn len(&self) -> Result<u64, IoError> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> Result<(), IoError> {
        // Extends without space of its own: what is written there later asks.
        self.file.set_len(len)?;
        self.has.fetch_min(len, Ordering::AcqRel);
        Ok(())
    }
    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        let end = offset.saturating_add(len);
        let before = self.has.load(Ordering::Acquire);
        self.reach(end)?;
        let done = self.file.allocate(offset, len);
        if done.is_err() {
            self.has.fetch_min(before, Ordering::AcqRel);
        }
        done
    }
    fn handle(&self) -> u64 {
        self.file.handle()
    }
    fn is_direct(&self) -> bool {
        self.file.is_direct()
    }
    fn try_lock(&self) -> Result<bool, IoError> {
        self.file.try_lock()
    }
    fn room(&self) -> Result<u64, IoError> {
        self.file.room()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::OpenOptions;
    use crate::sim::SimDisk;

    #[test]
    fn a_sparing_file_finds_the_disk_full_before_it_is() {
        let disk = SimDisk::new(1);
        disk.set_volume(100 << 10, 5);
        let env = disk.env();
        let create = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let open = |name: &str| env.disk.open(Path::new(name), &create).unwrap();
        let plain = open("/plain");
        let file = sparing(open("/sparing")).unwrap();
        file.write_at(&[1; 90 << 10], 0).unwrap();
        file.write_at(&[2; 90 << 10], 0).unwrap();
        assert_eq!(env.disk.room(Path::new("/")), Ok(5 << 10));
        assert_eq!(
            file.write_at(&[3; 6 << 10], 90 << 10),
            Err(IoError::NoSpace)
        );
        assert_eq!(file.allocate(90 << 10, 6 << 10), Err(IoError::NoSpace));
        file.allocate(90 << 10, 5 << 10).unwrap();
        plain.write_at(&[4; 4 << 10], 0).unwrap();
        // Its space was given before; the log's is there.
        file.write_at(&[5; 5 << 10], 90 << 10).unwrap();
        assert_eq!(file.write_at(&[6; 1], 95 << 10), Err(IoError::NoSpace));
        plain.write_at(&[7; 5 << 10], 0).unwrap();
        file.set_len(10 << 10).unwrap();
        file.write_at(&[8; 10], 10 << 10).unwrap();
    }

    #[test]
    fn room_is_what_is_free_beyond_what_is_kept() {
        assert_eq!(room_of(100, 1000, 5), 50);
        assert_eq!(room_of(40, 1000, 5), 0);
        assert_eq!(room_of(40, 1000, 0), 40);
        assert_eq!(room_of(u64::MAX, u64::MAX, 100), 15);
    }
}
