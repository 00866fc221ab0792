//! Files as they were at a moment, under which the real ones go on changing, and in which one may write.
//!
//! An [`OverlayFile`] is a base that is only read, and blocks of 8 KB that stand before it: those that somebody was
//! about to overwrite in the base ([`OverlayFile::preserve`]) and those that were written to the overlay itself. An
//! [`OverlayDisk`] is a name space of such files; what is made in it has no base. Nothing of it outlives it.
//!
//! Invariants
//! 1. A block of the base is read only while the file's map is locked shared, and it is overwritten in the base only
//!    after it was kept, for which the map is locked exclusively: a reader gets the block as it was at the moment.
//!    [test: copies_of_a_moment_are_whole_while_eight_sessions_write]
//! 2. A block that cannot be kept does not keep the writer of the base from writing. The overlay is *broken* from then
//!    on: every read of it fails, so nothing false is concluded. [test: what_cannot_be_kept_breaks_the_overlay_and_not_its_base]
//! 3. Blocks are in memory up to [`MEMORY_BLOCKS`] and as long as the server has room for them; the others go, one behind the other, to a file beside the database
//!    which is removed at the end. One that a crash has left behind is made over by the next. An overlay whose file has a
//!    name that a user has given begins it with a page that says whose it is ([`OverlayDisk::marked`]).
//!    [assert: overlay/3; test: an_undo_file_that_is_left_is_made_over_by_its_own_database_alone]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::PAGE_BYTES;
use duramen_os::memory::{Broker, Clerk, Tally};
use duramen_os::sync::{Mutex, RwLock};
use duramen_os::{AlignedBuf, Disk, DiskFile, IoError, OpenOptions};

/// Blocks that an overlay keeps in memory: 32 MB.
const MEMORY_BLOCKS: u32 = 4096;
const BLOCK: u64 = PAGE_BYTES as u64;

/// Where a block of the overlay is.
#[derive(Debug)]
enum Place {
    /// All of its bytes are this one.
    Filled(u8),
    Memory(Box<[u8; PAGE_BYTES]>),
    /// The n-th block of the spill file.
    Spilled(u32),
}

/// The blocks of all files of an overlay that are not in memory.
#[derive(Debug)]
struct Spill {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Blocks that stay in memory.
    memory_blocks: u32,
    /// Of those in memory.
    held: Tally,
    state: Mutex<SpillState>,
    broken: AtomicBool,
}

#[derive(Debug, Default)]
struct SpillState {
    in_memory: u32,
    file: Option<Arc<dyn DiskFile>>,
    blocks: u32,
}

impl Spill {
    /// Finds a place for a block.
    fn keep(&self, block: &[u8]) -> Result<Place, IoError> {
        let first = block.first().copied().unwrap_or(0);
        if block.iter().all(|b| *b == first) {
            return Ok(Place::Filled(first));
        }
        let mut state = self.state.lock();
        // Caches are not asked: whoever writes the base holds its map.
        let room = self.held.fits(BLOCK);
        if state.in_memory < self.memory_blocks && room {
            state.in_memory += 1;
            self.held.add(BLOCK);
            let mut copy = Box::new([0; PAGE_BYTES]);
            copy[..block.len()].copy_from_slice(block);
            return Ok(Place::Memory(copy));
        }
        let file = match &state.file {
            Some(file) => file.clone(),
            None => {
                let options = OpenOptions {
                    create: true,
                    ..OpenOptions::default()
                };
                let file = self.disk.open(&self.path, &options)?;
                file.set_len(0)?;
                state.file = Some(file.clone());
                file
            }
        };
        debug_assert!(
            state.in_memory == self.memory_blocks || !room,
            "overlay/3: a block goes to the file while there is room in memory"
        );
        let at = state.blocks;
        state.blocks += 1;
        drop(state);
        file.write_at(block, u64::from(at) * BLOCK)?;
        Ok(Place::Spilled(at))
    }

    fn read(&self, place: &Place, from: usize, into: &mut [u8]) -> Result<(), IoError> {
        match place {
            Place::Filled(byte) => into.fill(*byte),
            Place::Memory(block) => into.copy_from_slice(&block[from..from + into.len()]),
            Place::Spilled(n) => {
                let file = self.state.lock().file.clone().ok_or(IoError::NotFound)?;
                file.read_at(into, u64::from(*n) * BLOCK + from as u64)?;
            }
        }
        Ok(())
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if self.state.lock().file.take().is_some() {
            // What stays is made over by the next overlay of the database.
            let _ = self.disk.remove(&self.path);
        }
    }
}

#[derive(Debug)]
struct Map {
    len: u64,
    blocks: BTreeMap<u64, Place>,
}

/// One file as it was, and what was written to it since.
#[derive(Debug)]
pub struct OverlayFile {
    base: Option<Arc<dyn DiskFile>>,
    /// Bytes of the base that count.
    base_len: u64,
    map: RwLock<Map>,
    spill: Arc<Spill>,
}

impl OverlayFile {
    /// Keeps the blocks of a range of the base, which is about to be overwritten.
    pub fn preserve(&self, offset: u64, len: u64) {
        let Some(base) = &self.base else { return };
        let end = (offset + len).min(self.base_len);
        let mut map = self.map.write();
        let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
        for n in offset / BLOCK..end.div_ceil(BLOCK) {
            if map.blocks.contains_key(&n) {
                continue;
            }
            let bytes = (self.base_len - n * BLOCK).min(BLOCK) as usize;
            buf.fill(0);
            let kept = base
                .read_at(&mut buf[..bytes], n * BLOCK)
                .and_then(|()| self.spill.keep(&buf));
            match kept {
                Ok(place) => {
                    map.blocks.insert(n, place);
                }
                Err(_) => {
                    self.spill.broken.store(true, Ordering::SeqCst);
                    return;
                }
            }
        }
    }

    fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.read_in(&self.map.read(), buf, offset)
    }

    /// Runs of neighbouring blocks: from the overlay, or from the base in one piece.
    fn read_in(&self, map: &Map, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        if self.spill.broken.load(Ordering::SeqCst) {
            return Err(IoError::NoSpace);
        }
        if offset + buf.len() as u64 > map.len {
            return Err(IoError::Eof);
        }
        let mut at = 0;
        while at < buf.len() {
            let here = offset + at as u64;
            let from = (here % BLOCK) as usize;
            if let Some(place) = map.blocks.get(&(here / BLOCK)) {
                let n = (PAGE_BYTES - from).min(buf.len() - at);
                self.spill.read(place, from, &mut buf[at..at + n])?;
                at += n;
                continue;
            }
            let next = map.blocks.range(here / BLOCK + 1..).next();
            let end = next.map_or(u64::MAX, |(n, _)| n * BLOCK);
            let end = end.min(offset + buf.len() as u64);
            let n = (end - here) as usize;
            let from_base = self.base_len.saturating_sub(here).min(n as u64) as usize;
            let (front, zeros) = buf[at..at + n].split_at_mut(from_base);
            if let (Some(base), false) = (&self.base, front.is_empty()) {
                base.read_at(front, here)?;
            }
            zeros.fill(0);
            at += n;
        }
        Ok(())
    }

    /// A block that is written in part is read and put back under one lock: its other parts may be written just now.
    fn write(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        let mut at = 0;
        let mut buf = AlignedBuf::zeroed(PAGE_BYTES);
        while at < data.len() {
            let here = offset + at as u64;
            let (n, from) = (here / BLOCK, (here % BLOCK) as usize);
            let count = (PAGE_BYTES - from).min(data.len() - at);
            let part = &data[at..at + count];
            at += count;
            let mut map = self.map.write();
            map.len = map.len.max(here + count as u64);
            if let Some(Place::Memory(block)) = map.blocks.get_mut(&n) {
                block[from..from + count].copy_from_slice(part);
                continue;
            }
            if count < PAGE_BYTES {
                let len = (map.len - n * BLOCK).min(BLOCK) as usize;
                buf.fill(0);
                self.read_in(&map, &mut buf[..len], n * BLOCK)?;
            }
            buf[from..from + count].copy_from_slice(part);
            match map.blocks.get(&n) {
                Some(Place::Spilled(place)) => {
                    let file = self.spill.state.lock().file.clone();
                    let file = file.ok_or(IoError::NotFound)?;
                    file.write_at(&buf, u64::from(*place) * BLOCK)?;
                }
                _ => {
                    let place = self.spill.keep(&buf)?;
                    map.blocks.insert(n, place);
                }
            }
        }
        Ok(())
    }
}

impl DiskFile for OverlayFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.read(buf, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.write(data, offset)
    }
    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        let mut at = offset;
        for part in parts {
            self.write(part, at)?;
            at += part.len() as u64;
        }
        Ok(())
    }
    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }
    fn len(&self) -> Result<u64, IoError> {
        Ok(self.map.read().len)
    }
    fn set_len(&self, len: u64) -> Result<(), IoError> {
        let mut map = self.map.write();
        let old = map.len;
        map.len = len;
        if len < old {
            // What was cut off reads as zeros when the file is long again.
            map.blocks.retain(|n, _| n * BLOCK < len);
            for n in len.div_ceil(BLOCK)..self.base_len.div_ceil(BLOCK) {
                map.blocks.insert(n, Place::Filled(0));
            }
        }
        Ok(())
    }
    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        let mut map = self.map.write();
        map.len = map.len.max(offset + len);
        Ok(())
    }
    /// Nobody has opened it.
    fn handle(&self) -> u64 {
        0
    }
    fn is_direct(&self) -> bool {
        false
    }
    fn try_lock(&self) -> Result<bool, IoError> {
        Ok(true)
    }
}

/// The files of an overlay, by the paths that the real ones have.
#[derive(Debug)]
pub struct OverlayDisk {
    real: Arc<dyn Disk>,
    files: Mutex<BTreeMap<PathBuf, Arc<OverlayFile>>>,
    spill: Arc<Spill>,
}

impl OverlayDisk {
    /// With a spill file at `spill`, made when it is needed.
    pub fn new(real: &Arc<dyn Disk>, spill: &Path) -> Arc<OverlayDisk> {
        OverlayDisk::with(real, spill, MEMORY_BLOCKS, SpillState::default())
    }

    /// `memory` answers for the blocks in memory.
    pub fn follow(&self, memory: &Arc<Broker>) {
        self.spill.held.follow(memory);
    }

    /// With no block in memory, and a spill file that is made now and begins with `mark`. Whatever stands there is
    /// replaced at once, so that a file of that name always has the mark.
    pub fn marked(
        real: &Arc<dyn Disk>,
        spill: &Path,
        mark: &[u8; PAGE_BYTES],
    ) -> Result<Arc<OverlayDisk>, IoError> {
        let mut making = spill.to_owned().into_os_string();
        making.push("~making");
        let making = PathBuf::from(making);
        let options = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let file = real.open(&making, &options)?;
        file.set_len(0)?;
        file.write_at(mark, 0)?;
        file.sync()?;
        drop(file);
        real.rename(&making, spill)?;
        if let Some(dir) = spill.parent() {
            real.sync_dir(dir)?;
        }
        let state = SpillState {
            in_memory: 0,
            file: Some(real.open(spill, &OpenOptions::default())?),
            blocks: 1,
        };
        Ok(OverlayDisk::with(real, spill, 0, state))
    }

    fn with(
        real: &Arc<dyn Disk>,
        spill: &Path,
        memory_blocks: u32,
        state: SpillState,
    ) -> Arc<OverlayDisk> {
        Arc::new(OverlayDisk {
            real: real.clone(),
            files: Mutex::default(),
            spill: Arc::new(Spill {
                disk: real.clone(),
                path: spill.to_owned(),
                memory_blocks,
                held: Tally::new(Clerk::Utilities),
                state: Mutex::new(state),
                broken: AtomicBool::new(false),
            }),
        })
    }

    /// Puts a file over `base`, as long as that is now.
    pub fn put(&self, path: &Path, base: &Arc<dyn DiskFile>) -> Result<Arc<OverlayFile>, IoError> {
        let len = base.len()?;
        let file = Arc::new(OverlayFile {
            base: Some(base.clone()),
            base_len: len,
            map: RwLock::new(Map {
                len,
                blocks: BTreeMap::new(),
            }),
            spill: self.spill.clone(),
        });
        self.files.lock().insert(path.to_owned(), file.clone());
        Ok(file)
    }

    /// Whether something could not be kept: what is read from now on is an error.
    pub fn is_broken(&self) -> bool {
        self.spill.broken.load(Ordering::SeqCst)
    }
}

impl Disk for OverlayDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
        let mut files = self.files.lock();
        match files.get(path) {
            Some(_) if options.create_new => Err(IoError::Exists),
            Some(file) => Ok(file.clone()),
            None if options.create || options.create_new => {
                let file = Arc::new(OverlayFile {
                    base: None,
                    base_len: 0,
                    map: RwLock::new(Map {
                        len: 0,
                        blocks: BTreeMap::new(),
                    }),
                    spill: self.spill.clone(),
                });
                files.insert(path.to_owned(), file.clone());
                Ok(file)
            }
            None => Err(IoError::NotFound),
        }
    }
    fn remove(&self, path: &Path) -> Result<(), IoError> {
        match self.files.lock().remove(path) {
            Some(_) => Ok(()),
            None => Err(IoError::NotFound),
        }
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        let mut files = self.files.lock();
        let file = files.remove(from).ok_or(IoError::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }
    fn exists(&self, path: &Path) -> bool {
        self.files.lock().contains_key(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let files = self.files.lock();
        let below = files.keys().filter(|p| p.parent() == Some(dir));
        Ok(below.cloned().collect())
    }
    fn create_dir_all(&self, _: &Path) -> Result<(), IoError> {
        Ok(())
    }
    fn sync_dir(&self, _: &Path) -> Result<(), IoError> {
        Ok(())
    }
    fn free_space(&self, path: &Path) -> Result<u64, IoError> {
        self.real.free_space(path)
    }
    fn sector_bytes(&self, path: &Path) -> u32 {
        self.real.sector_bytes(path)
    }
}

#[cfg(test)]
mod tests;
