//! A disk in memory that may lose, tear and reorder what was not synced.
//!
//! The fault model is `docs/simulated-disk.md`; read it before relying on anything here. In short: plain writes are
//! pending until `sync`, durable writes until they return, names until `sync_dir`; [`SimDisk::crash`] decides about
//! everything pending; failures, full disks, lying syncs and power cuts are ordered by the test.
//!
//! Works with and without [`super::Simulation`]. Inside, calls take virtual time and other threads run meanwhile.
//! Outside, it is a plain value: no threads, no time.

mod faults;
mod image;
mod inode;
mod world;

use std::borrow::Cow;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::sched::{self, Wait};
use crate::disk::is_below;
use crate::open_files::{Held, Hold, OpenFiles};
use crate::{Disk, DiskFile, Env, IoError, OpenOptions};
pub use faults::{DiskOp, Fault};
use world::{InodeId, POWER_LOST, Power, World, digest};

/// A disk decided by a seed.
pub struct SimDisk {
    world: Arc<parking_lot::Mutex<World>>,
    /// Files that are open here: not those of what a crash leaves.
    open: Arc<OpenFiles<InodeId>>,
}

impl SimDisk {
    /// An empty disk with sectors of 512 bytes and room for a tebibyte.
    pub fn new(seed: u64) -> Arc<SimDisk> {
        Self::with_sector(seed, 512)
    }

    /// The same with atomic sectors of another size (512 or 4096).
    pub fn with_sector(seed: u64, sector_bytes: u32) -> Arc<SimDisk> {
        Self::of(World::new(seed, sector_bytes.max(1) as u64, 1 << 40))
    }

    fn of(world: World) -> Arc<SimDisk> {
        Arc::new(SimDisk {
            world: Arc::new(parking_lot::Mutex::new(world)),
            open: Arc::new(OpenFiles::new()),
        })
    }

    /// Gives a file another name, as a hard link does; durable at once.
    pub fn link(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.world.lock().link(&plain(from), &plain(to))
    }

    /// An environment whose disk this is.
    pub fn env(self: &Arc<Self>) -> Env {
        Env::with_disk(self.clone())
    }

    /// The disk as it is found after a power loss at this moment. This one stays as it is: whoever still holds it can do
    /// no harm to the new one, and the same moment can be crashed again with another seed. Ordered faults and lies
    /// do not carry over.
    pub fn crash(&self, seed: u64) -> Arc<SimDisk> {
        Self::of(self.world.lock().crashed(seed))
    }

    /// An exact copy, pending changes and ordered faults included.
    pub fn fork(&self) -> Arc<SimDisk> {
        Self::of(self.world.lock().clone())
    }

    /// The n-th operation from now (1 is the next) fails once, in whatever file.
    pub fn fail_nth(&self, op: DiskOp, n: u64, error: IoError) {
        self.add_fault(Fault {
            op,
            path: None,
            nth: n,
            error,
            lasting: false,
        });
    }

    pub fn add_fault(&self, fault: Fault) {
        self.world.lock().faults.add(fault);
    }

    pub fn clear_faults(&self) {
        self.world.lock().faults.clear();
    }

    /// Operations that have failed by order so far.
    pub fn failures(&self) -> u64 {
        self.world.lock().faults.struck()
    }

    /// From now on syncs and durable writes succeed without doing anything.
    pub fn set_sync_lies(&self, lies: bool) {
        self.world.lock().lies = lies;
    }

    /// All files together may be this long.
    pub fn set_capacity(&self, bytes: u64) {
        self.world.lock().capacity = bytes;
    }

    /// The same, and so many per cent of it are kept back for logs and recovery; else none are.
    pub fn set_volume(&self, bytes: u64, kept_percent: u32) {
        let mut w = self.world.lock();
        (w.capacity, w.kept) = (bytes, kept_percent);
    }

    /// `n` more changes are carried out; the next is cut in its middle and nothing works after it.
    pub fn power_off_after(&self, n: u64) {
        self.world.lock().power = Some(n);
    }

    /// Whether the ordered power cut has happened.
    pub fn is_off(&self) -> bool {
        self.world.lock().off
    }

    /// Writes, syncs, length and name changes so far: the range for [`SimDisk::power_off_after`].
    pub fn changes(&self) -> u64 {
        self.world.lock().changes
    }

    /// A digest of every call so far, contents included.
    pub fn trace_hash(&self) -> u64 {
        self.world.lock().hash
    }

    /// Whether nothing is pending: a crash now would change nothing.
    pub fn is_clean(&self) -> bool {
        self.world.lock().is_clean()
    }

    /// Bytes of all files whose names are of the asked kind, at one moment.
    pub fn used_by(&self, asked: impl Fn(&Path) -> bool) -> u64 {
        self.world.lock().used_by(asked)
    }

    /// Overwrites bytes of a file, visible and durable, past all counting: rot. Nothing beyond its end.
    pub fn damage(&self, path: &Path, offset: u64, data: &[u8]) -> Result<(), IoError> {
        let mut w = self.world.lock();
        let id = w.find(path).ok_or(IoError::NotFound)?;
        w.inode(id).damage(data, offset);
        Ok(())
    }

    /// What a crash that loses everything pending would leave of a file.
    pub fn durable_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        self.world.lock().durable_bytes(path)
    }
}

const READ_US: u64 = 80;
const WRITE_US: u64 = 20;
const DURABLE_US: u64 = 150;
const SYNC_US: u64 = 400;
const NAME_US: u64 = 20;

/// Lets virtual time pass, if this is a simulation: from a fifth to twice the given time, seeded.
fn take_time(world: &parking_lot::Mutex<World>, microseconds: u64) {
    if let Some(here) = sched::here() {
        let nanos = microseconds * 200 + world.lock().rng.below(microseconds * 1800);
        here.block(Wait::Time, Some(nanos));
    }
}

/// A name without `.` and `..`: there are no symbolic links, so that is what it means.
fn plain(path: &Path) -> Cow<'_, Path> {
    let odd = |c: Component<'_>| matches!(c, Component::ParentDir | Component::CurDir);
    if !path.components().any(odd) {
        return Cow::Borrowed(path);
    }
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

impl SimDisk {
    fn open_as(
        &self,
        path: &Path,
        options: &OpenOptions,
        hold: Hold,
    ) -> Result<Arc<dyn DiskFile>, IoError> {
        take_time(&self.world, NAME_US);
        let mut w = self.world.lock();
        w.begin(DiskOp::Open, path, [options.create as u64, 0])?;
        if w.is_dir(path) {
            return Err(IoError::Denied);
        }
        let id = match w.find(path) {
            Some(_) if options.create_new => return Err(IoError::Exists),
            Some(id) => id,
            None if options.create || options.create_new => {
                let power = w.change();
                let id = w.create(path)?;
                power.is_on()?;
                id
            }
            None => return Err(IoError::NotFound),
        };
        Ok(Arc::new(SimFile {
            _held: self.open.enter(id, hold)?,
            world: self.world.clone(),
            id,
            path: path.to_owned(),
            read_only: options.read_only,
            direct: options.direct,
        }))
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
        let hold = match options.read_only {
            true => Hold::Reading,
            false => Hold::Writing,
        };
        self.open_as(&plain(path), options, hold)
    }

    fn open_named(
        &self,
        path: &Path,
        options: &OpenOptions,
        below: Option<&[PathBuf]>,
    ) -> Result<Arc<dyn DiskFile>, IoError> {
        let path = plain(path);
        if below.is_some_and(|dirs| !is_below(self, &path, dirs)) {
            return Err(IoError::Denied);
        }
        self.open_as(&path, options, Hold::Alone)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, IoError> {
        let path = plain(path).into_owned();
        let w = self.world.lock();
        match w.find(&path).is_some() || path.parent().is_none_or(|dir| w.is_dir(dir)) {
            true => Ok(path),
            false => Err(IoError::NotFound),
        }
    }

    fn same_file(&self, a: &Path, b: &Path) -> bool {
        let w = self.world.lock();
        let a = w.find(&plain(a));
        a.is_some() && a == w.find(&plain(b))
    }

    fn is_open(&self, path: &Path) -> bool {
        let found = self.world.lock().find(&plain(path));
        found.is_some_and(|id| self.open.is_open(id))
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        let path = &plain(path);
        take_time(&self.world, NAME_US);
        let mut w = self.world.lock();
        w.begin(DiskOp::Name, path, [0, 0])?;
        let power = w.change();
        w.unlink(path)?;
        power.is_on()
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        let (from, to) = (&plain(from), &plain(to));
        take_time(&self.world, NAME_US);
        let mut w = self.world.lock();
        let target = digest(to.as_os_str().as_encoded_bytes());
        w.begin(DiskOp::Name, from, [1, target])?;
        let power = w.change();
        w.rename(from, to)?;
        power.is_on()
    }

    fn exists(&self, path: &Path) -> bool {
        let path = &plain(path);
        let w = self.world.lock();
        w.find(path).is_some() || w.is_dir(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let dir = &plain(dir);
        let w = self.world.lock();
        if !w.is_dir(dir) {
            return Err(IoError::NotFound);
        }
        Ok(w.list(dir))
    }

    fn create_dir_all(&self, dir: &Path) -> Result<(), IoError> {
        let dir = &plain(dir);
        take_time(&self.world, NAME_US);
        let mut w = self.world.lock();
        if w.off || sched::ending() {
            return Err(POWER_LOST);
        }
        if dir.ancestors().any(|d| w.find(d).is_some()) {
            return Err(IoError::Exists);
        }
        w.make_dirs(dir);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), IoError> {
        let dir = &plain(dir);
        take_time(&self.world, SYNC_US);
        let mut w = self.world.lock();
        w.begin(DiskOp::SyncDir, dir, [0, 0])?;
        if !w.is_dir(dir) {
            return Err(IoError::NotFound);
        }
        w.change().is_on()?;
        if !w.lies {
            w.sync_names(dir);
        }
        Ok(())
    }

    fn free_space(&self, _path: &Path) -> Result<u64, IoError> {
        let w = self.world.lock();
        Ok(w.capacity.saturating_sub(w.used()))
    }

    fn total_space(&self, _path: &Path) -> Result<u64, IoError> {
        Ok(self.world.lock().capacity)
    }

    fn room(&self, _path: &Path) -> Result<u64, IoError> {
        Ok(self.world.lock().room())
    }

    fn sector_bytes(&self, _path: &Path) -> u32 {
        self.world.lock().sector as u32
    }
}

impl Power {
    fn is_on(self) -> Result<(), IoError> {
        match self {
            Power::On => Ok(()),
            Power::Cut => Err(POWER_LOST),
        }
    }
}

/// An open file. It outlives its name, as files do.
struct SimFile {
    _held: Held<InodeId>,
    world: Arc<parking_lot::Mutex<World>>,
    id: InodeId,
    path: PathBuf,
    read_only: bool,
    direct: bool,
}

impl SimFile {
    fn writable(&self) -> Result<(), IoError> {
        if self.read_only {
            return Err(IoError::ReadOnly);
        }
        Ok(())
    }

    fn write(&self, data: &[u8], offset: u64, durable: bool) -> Result<(), IoError> {
        self.writable()?;
        let end = end_of(offset, data.len() as u64)?;
        let simulated = sched::here().is_some();
        let mut w = self.world.lock();
        let sector = w.sector;
        let seq = w.seq();
        let begun = w.begin(DiskOp::Write, &self.path, [offset, digest(data)]);
        if let Err(e) = begun {
            if !w.off && !sched::ending() {
                let (inode, rng) = w.inode_and_rng(self.id);
                inode.write_some(seq, data, offset, sector, rng);
            }
            return Err(e);
        }
        w.room_for(self.id, end)?;
        if data.is_empty() {
            return Ok(());
        }
        let power = w.change();
        if durable && !simulated && !w.lies && power == Power::On {
            w.inode(self.id).write_through(seq, data, offset, sector);
            return Ok(());
        }
        w.inode(self.id).write(seq, data, offset, sector);
        power.is_on()?;
        drop(w);
        take_time(&self.world, if durable { DURABLE_US } else { WRITE_US });
        let mut w = self.world.lock();
        if w.off {
            return Err(POWER_LOST);
        }
        if durable && !w.lies {
            let inode = w.inode(self.id);
            inode.finish_write(seq, data.len(), offset, sector);
        }
        Ok(())
    }

    fn resize(&self, op: DiskOp, len: u64, detail: [u64; 2]) -> Result<(), IoError> {
        self.writable()?;
        take_time(&self.world, NAME_US);
        let mut w = self.world.lock();
        w.begin(op, &self.path, detail)?;
        let len = match op {
            DiskOp::Allocate => len.max(w.inode(self.id).len()),
            _ => len,
        };
        w.room_for(self.id, len)?;
        let power = w.change();
        let (seq, sector) = (w.seq(), w.sector);
        w.inode(self.id).set_len(seq, len, sector);
        power.is_on()
    }
}

fn end_of(offset: u64, len: u64) -> Result<u64, IoError> {
    offset.checked_add(len).ok_or(IoError::NoSpace)
}

impl DiskFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        take_time(&self.world, READ_US);
        let mut w = self.world.lock();
        w.begin(DiskOp::Read, &self.path, [offset, buf.len() as u64])?;
        let inode = w.inode(self.id);
        if offset
            .checked_add(buf.len() as u64)
            .is_none_or(|end| end > inode.len())
        {
            return Err(IoError::Eof);
        }
        inode.read(buf, offset);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.write(data, offset, false)
    }

    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        match parts {
            [one] => self.write(one, offset, true),
            many => self.write(&many.concat(), offset, true),
        }
    }

    fn sync(&self) -> Result<(), IoError> {
        let (seq, sector) = {
            let mut w = self.world.lock();
            let (seq, sector) = (w.latest(), w.sector);
            if let Err(e) = w.begin(DiskOp::Sync, &self.path, [0, 0]) {
                if !w.off && !sched::ending() {
                    let (inode, rng) = w.inode_and_rng(self.id);
                    inode.fail_sync(seq, sector, rng);
                }
                return Err(e);
            }
            w.change().is_on()?;
            (seq, sector)
        };
        take_time(&self.world, SYNC_US);
        let mut w = self.world.lock();
        if w.off {
            return Err(POWER_LOST);
        }
        if !w.lies {
            w.inode(self.id).finish_sync(seq, sector);
        }
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        Ok(self.world.lock().inode(self.id).len())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.resize(DiskOp::SetLen, len, [len, 0])
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        self.resize(DiskOp::Allocate, end_of(offset, len)?, [offset, len])
    }

    fn handle(&self) -> u64 {
        self.id
    }

    fn room(&self) -> Result<u64, IoError> {
        Ok(self.world.lock().room())
    }

    fn is_direct(&self) -> bool {
        self.direct
    }

    /// A simulation is one process: nobody else is there.
    fn try_lock(&self) -> Result<bool, IoError> {
        Ok(true)
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimDisk({:016x})", self.trace_hash())
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimFile({})", self.path.display())
    }
}

#[cfg(test)]
mod tests;
