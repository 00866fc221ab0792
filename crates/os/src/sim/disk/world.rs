//! Everything a simulated disk holds: names, files, ordered faults, counters and the trace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::faults::{DiskOp, Faults};
use super::inode::{Inode, Seq, Style};
use crate::IoError;
use crate::random::Rng;
use crate::sim::sched;

pub(super) type InodeId = u64;

type Names = BTreeMap<PathBuf, InodeId>;

#[derive(Clone, Debug)]
enum NameChange {
    Link(PathBuf, InodeId),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf),
}

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) sector: u64,
    pub(super) capacity: u64,
    /// Per cent of the capacity that are kept back.
    pub(super) kept: u32,
    pub(super) rng: Rng,
    pub(super) faults: Faults,
    pub(super) lies: bool,
    /// Changes that are still carried out, when somebody has ordered a power cut.
    pub(super) power: Option<u64>,
    pub(super) off: bool,
    pub(super) changes: u64,
    pub(super) hash: u64,
    names: Names,
    durable_names: Names,
    pending_names: Vec<NameChange>,
    /// Directories are durable when made.
    dirs: BTreeSet<PathBuf>,
    inodes: BTreeMap<InodeId, Inode>,
    next_inode: InodeId,
    next_seq: Seq,
}

/// How the power cut treats a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    On,
    /// This change is cut in its middle.
    Cut,
}

pub(super) const POWER_LOST: IoError = IoError::Os {
    code: 5,
    call: "a disk without power",
};

impl World {
    pub(super) fn new(seed: u64, sector: u64, capacity: u64) -> World {
        World {
            sector,
            capacity,
            kept: 0,
            rng: Rng::new(seed ^ 0xd15c),
            faults: Faults::default(),
            lies: false,
            power: None,
            off: false,
            changes: 0,
            hash: seed,
            names: Names::new(),
            durable_names: Names::new(),
            pending_names: Vec::new(),
            dirs: BTreeSet::new(),
            inodes: BTreeMap::new(),
            next_inode: 1,
            next_seq: 1,
        }
    }

    /// A call begins: into the trace, and through the ordered faults.
    pub(super) fn begin(
        &mut self,
        op: DiskOp,
        path: &Path,
        detail: [u64; 2],
    ) -> Result<(), IoError> {
        // Destructors of a process that has ended reach no disk.
        if sched::ending() {
            return Err(POWER_LOST);
        }
        self.trace(op as u64 + 1);
        self.trace(digest(path.as_os_str().as_encoded_bytes()));
        self.trace(detail[0]);
        self.trace(detail[1]);
        if self.off {
            return Err(POWER_LOST);
        }
        self.faults.strike(op, path)
    }

    /// A change is about to be made.
    pub(super) fn change(&mut self) -> Power {
        self.changes += 1;
        match &mut self.power {
            Some(0) => {
                self.off = true;
                Power::Cut
            }
            Some(left) => {
                *left -= 1;
                Power::On
            }
            None => Power::On,
        }
    }

    pub(super) fn trace(&mut self, what: u64) {
        self.hash = (self.hash ^ what)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31);
        if let Some(here) = sched::here_in_drop() {
            here.trace(what);
        }
    }

    pub(super) fn seq(&mut self) -> Seq {
        self.next_seq += 1;
        self.next_seq
    }

    /// The number of the latest change.
    pub(super) fn latest(&self) -> Seq {
        self.next_seq
    }

    pub(super) fn inode(&mut self, id: InodeId) -> &mut Inode {
        self.inodes.entry(id).or_default()
    }

    /// The inode together with the generator.
    pub(super) fn inode_and_rng(&mut self, id: InodeId) -> (&mut Inode, &mut Rng) {
        (self.inodes.entry(id).or_default(), &mut self.rng)
    }

    pub(super) fn used(&self) -> u64 {
        self.used_by(|_| true)
    }

    pub(super) fn used_by(&self, asked: impl Fn(&Path) -> bool) -> u64 {
        let files = self.names.iter().filter(|(path, _)| asked(path));
        let len = |id| self.inodes.get(id).map_or(0, Inode::len);
        files.map(|(_, id)| len(id)).sum()
    }

    /// What may be taken by what can be refused.
    pub(super) fn room(&self) -> u64 {
        let free = self.capacity.saturating_sub(self.used());
        crate::sparing::room_of(free, self.capacity, self.kept)
    }

    /// Whether a file may grow to `len`.
    pub(super) fn room_for(&mut self, id: InodeId, len: u64) -> Result<(), IoError> {
        let grow = len.saturating_sub(self.inode(id).len());
        if grow > 0 && self.used().saturating_add(grow) > self.capacity {
            return Err(IoError::NoSpace);
        }
        Ok(())
    }

    pub(super) fn find(&self, path: &Path) -> Option<InodeId> {
        self.names.get(path).copied()
    }

    pub(super) fn durable_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let id = self.durable_names.get(path)?;
        self.inodes.get(id).map(Inode::durable_bytes)
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || path == Path::new("/") || self.dirs.contains(path)
    }

    pub(super) fn make_dirs(&mut self, path: &Path) {
        self.dirs.extend(path.ancestors().map(Path::to_owned));
    }

    pub(super) fn create(&mut self, path: &Path) -> Result<InodeId, IoError> {
        if !path.parent().is_some_and(|p| self.is_dir(p)) {
            return Err(IoError::NotFound);
        }
        let id = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(id, Inode::default());
        self.names.insert(path.to_owned(), id);
        self.pending_names
            .push(NameChange::Link(path.to_owned(), id));
        Ok(id)
    }

    /// Another name for a file.
    pub(super) fn link(&mut self, from: &Path, to: &Path) -> Result<(), IoError> {
        let id = self.find(from).ok_or(IoError::NotFound)?;
        if self.find(to).is_some() || self.is_dir(to) {
            return Err(IoError::Exists);
        }
        self.names.insert(to.to_owned(), id);
        self.durable_names.insert(to.to_owned(), id);
        Ok(())
    }

    pub(super) fn unlink(&mut self, path: &Path) -> Result<(), IoError> {
        self.names.remove(path).ok_or(IoError::NotFound)?;
        self.pending_names.push(NameChange::Unlink(path.to_owned()));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), IoError> {
        if !to.parent().is_some_and(|p| self.is_dir(p)) {
            return Err(IoError::NotFound);
        }
        let id = self.names.remove(from).ok_or(IoError::NotFound)?;
        self.names.insert(to.to_owned(), id);
        self.pending_names
            .push(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    pub(super) fn list(&self, dir: &Path) -> Vec<PathBuf> {
        let inside = |p: &&PathBuf| p.parent() == Some(dir);
        let mut all: Vec<PathBuf> = self.names.keys().filter(inside).cloned().collect();
        all.extend(self.dirs.iter().filter(inside).cloned());
        all.sort();
        all
    }

    /// Names up to the last change in `dir` become durable: the journal is written in order.
    pub(super) fn sync_names(&mut self, dir: &Path) {
        let last = self.pending_names.iter().rposition(|c| c.touches(dir));
        if let Some(last) = last {
            for change in self.pending_names.drain(..=last) {
                change.apply(&mut self.durable_names);
            }
        }
    }

    /// What the power leaves.
    pub(super) fn crashed(&self, seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let style = self.draw_style(&mut rng);
        let changes = self.pending_names.len();
        let kept = match style {
            Style::Nothing => 0,
            Style::Everything => changes,
            _ => rng.below(changes as u64 + 1) as usize,
        };
        let mut names = self.durable_names.clone();
        for change in &self.pending_names[..kept] {
            change.apply(&mut names);
        }
        let mut after = World::new(rng.next_u64(), self.sector, self.capacity);
        after.kept = self.kept;
        after.dirs = self.dirs.clone();
        after.next_inode = self.next_inode;
        after.next_seq = self.next_seq;
        // In name order: nothing depends on how the crash came about.
        for id in names.values() {
            if let Some(inode) = self.inodes.get(id) {
                let inode = inode.crashed(style, self.sector, &mut rng);
                after.inodes.insert(*id, inode);
            }
        }
        after.durable_names = names.clone();
        after.names = names;
        after
    }

    fn draw_style(&self, rng: &mut Rng) -> Style {
        match rng.below(8) {
            0 => Style::Nothing,
            1 => Style::Everything,
            2 | 3 => Style::Dust,
            4 | 5 => {
                let first = self.inodes.values().filter_map(Inode::first_pending).min();
                let first = first.unwrap_or(self.next_seq);
                Style::Prefix(first + rng.below(self.next_seq + 2 - first))
            }
            _ => Style::Shuffle(rng.next_u64()),
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.pending_names.is_empty() && self.inodes.values().all(Inode::is_clean)
    }
}

impl NameChange {
    fn touches(&self, dir: &Path) -> bool {
        let inside = |p: &PathBuf| p.parent() == Some(dir);
        match self {
            NameChange::Link(p, _) | NameChange::Unlink(p) => inside(p),
            NameChange::Rename(from, to) => inside(from) || inside(to),
        }
    }

    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Link(path, id) => {
                names.insert(path.clone(), *id);
            }
            NameChange::Unlink(path) => {
                names.remove(path);
            }
            NameChange::Rename(from, to) => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
        }
    }
}

/// A fast digest of bytes for the trace.
pub(super) fn digest(data: &[u8]) -> u64 {
    let mut h = data.len() as u64;
    let mut mix = |word: u64| {
        h = (h ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    let (words, rest) = data.as_chunks::<8>();
    words.iter().for_each(|w| mix(u64::from_le_bytes(*w)));
    rest.iter().for_each(|b| mix(*b as u64));
    h
}
