//! Where the log stands in its files, and what room that leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::Lsn;
use duramen_observe::FileIo;
use duramen_os::DiskFile;

use crate::block::UNIT;
use crate::config::{LogFileSpec, VlfInfo};
use crate::log::ahead::Ahead;
use crate::log::room::{self, usable_bytes};
use crate::vlf::{FORMAT_VERSION, HEADER_BYTES, VlfHeader};

/// Room that only records without reserve may use: commits and a checkpoint must fit a full log, and each flush may
/// waste most of a sector. A sixteenth of the log between these.
const MIN_SLACK: u64 = 64 << 10;
const MAX_SLACK: u64 = 1 << 20;

#[derive(Debug)]
pub(in crate::log) struct FileState {
    pub spec: LogFileSpec,
    pub file: Arc<dyn DiskFile>,
    pub bytes: u64,
    pub io: Arc<FileIo>,
    pub ahead: Ahead,
}

#[derive(Clone, Debug)]
pub(in crate::log) struct Vlf {
    /// Index into the files.
    pub file: usize,
    pub header: VlfHeader,
    pub active: bool,
}

/// The files and their VLFs, the place of the write head in them, and the room that is left.
#[derive(Debug)]
pub(in crate::log) struct Space {
    pub sector: usize,
    pub files: Vec<FileState>,
    /// By file and offset.
    pub vlfs: Vec<Vlf>,
    /// Index of the VLF of the write head.
    pub current: usize,
    /// Where the open block begins in it.
    pub offset: u64,
    pub free_bytes: u64,
    /// Bytes of the active VLFs, which may be a hundred thousand.
    pub active_bytes: u64,
    pub slack: u64,
    /// See [`Space::note_room`].
    pub tight: Arc<AtomicBool>,
}

impl Space {
    pub fn new(sector: usize, files: Vec<FileState>, vlfs: Vec<Vlf>) -> Space {
        Space {
            sector,
            files,
            vlfs,
            current: 0,
            offset: HEADER_BYTES,
            free_bytes: 0,
            active_bytes: 0,
            slack: MIN_SLACK,
            tight: Arc::default(),
        }
    }

    /// The VLF of the write head.
    pub fn vlf(&self) -> &Vlf {
        &self.vlfs[self.current]
    }

    /// Number of the open block.
    pub fn open_number(&self) -> u32 {
        (self.offset / UNIT as u64) as u32
    }

    /// Sorts before every record of the open block and behind all sealed ones.
    pub fn before_open(&self) -> Lsn {
        Lsn::new(self.vlf().header.seq, self.open_number(), 0)
    }

    /// Bytes of all files.
    pub fn total(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }

    /// Counts afresh what depends on the list of VLFs and the sizes of the files.
    pub fn count(&mut self) {
        self.slack = (self.total() / 16).clamp(MIN_SLACK, MAX_SLACK);
        let reusable = self.vlfs.iter().filter(|v| !v.active);
        self.free_bytes = reusable.map(|v| usable_bytes(v.header.size)).sum();
        self.active_bytes = self.sum_active();
    }

    fn sum_active(&self) -> u64 {
        let active = self.vlfs.iter().filter(|v| v.active);
        active.map(|v| v.header.size).sum()
    }

    /// Bytes of the active VLFs before that of the write head.
    pub fn active_behind(&self) -> u64 {
        debug_assert_eq!(
            self.active_bytes,
            self.sum_active(),
            "log/6: active bytes are those of the active VLFs"
        );
        self.active_bytes - self.vlf().header.size
    }

    /// Tells those who are about to change something whether the log is tight: less than half of it is reusable and no file
    /// can grow, or the disk has no room for that (`no_space`).
    pub fn note_room(&self, no_space: bool) {
        let short = self.free_bytes < self.total() / 2;
        self.tight
            .store(short && (no_space || !self.grows()), Ordering::Relaxed);
    }

    /// Bytes that the open block's records and all reserve may come to together.
    pub fn budget(&self) -> u64 {
        debug_assert!(
            self.offset >= HEADER_BYTES,
            "log/2: blocks begin behind the VLF's header"
        );
        let kept = self.slack + room::margin(self.sector);
        self.free().saturating_sub(kept)
    }

    /// Bytes of records that fit what is free, the open block's included.
    pub fn free(&self) -> u64 {
        let vlf = self.vlf().header.size;
        debug_assert!(self.offset <= vlf, "log/6: the write head is in its VLF");
        let left = vlf - self.offset;
        // The end may be too short for what comes.
        let end = vlf - HEADER_BYTES - usable_bytes(vlf);
        self.free_bytes + left.saturating_sub(end)
    }

    /// The next reusable VLF: the next in physical order, else the first from the front.
    pub fn next_reusable(&self) -> Option<usize> {
        let n = self.vlfs.len();
        (1..n)
            .map(|step| (self.current + step) % n)
            .find(|i| !self.vlfs[*i].active)
    }

    /// Activates a VLF with a sequence number; it is the write head's from here on.
    pub fn activate(&mut self, index: usize, seq: u32) {
        debug_assert!(
            self.vlfs.iter().all(|v| !v.active || v.header.seq < seq),
            "vlf/3: a sequence number is given again: {seq}"
        );
        debug_assert!(seq != 0, "vlf/3: a VLF in use has a sequence number");
        let vlf = &mut self.vlfs[index];
        let parity = vlf.header.parity();
        if !vlf.active {
            self.active_bytes += vlf.header.size;
        }
        vlf.active = true;
        vlf.header.version = u16::from(FORMAT_VERSION);
        vlf.header.seq = seq;
        vlf.header.use_count += 1;
        debug_assert!(
            vlf.header.parity() != parity,
            "vlf/2: two uses that follow each other have one parity"
        );
        vlf.header.first_block = 0;
        vlf.header.mixed = vlf.header.mixed.saturating_sub(1);
        self.free_bytes = self
            .free_bytes
            .saturating_sub(usable_bytes(vlf.header.size));
        self.current = index;
    }

    /// Marks the VLFs with lower sequence numbers reusable. Returns how many.
    pub fn free_before(&mut self, seq: u32) -> usize {
        let mut freed = 0;
        for vlf in &mut self.vlfs {
            if vlf.active && vlf.header.seq < seq {
                vlf.active = false;
                self.free_bytes += usable_bytes(vlf.header.size);
                self.active_bytes -= vlf.header.size;
                freed += 1;
            }
        }
        debug_assert!(
            self.vlf().active,
            "log/6: truncation leaves the VLF of the write head"
        );
        debug_assert!(
            self.active_bytes == self.sum_active(),
            "log/6: active bytes are those of the active VLFs"
        );
        freed
    }

    /// A file has grown by VLFs of so many bytes together.
    pub fn install(&mut self, file: usize, vlfs: Vec<Vlf>, added: u64) {
        self.files[file].bytes += added;
        let at = self
            .vlfs
            .iter()
            .rposition(|v| v.file <= file)
            .map_or(0, |i| i + 1);
        if self.current >= at {
            self.current += vlfs.len();
        }
        self.vlfs.splice(at..at, vlfs);
        debug_assert!(self.vlfs[0].header.offset == HEADER_BYTES);
    }

    pub fn vlf_infos(&self) -> Vec<VlfInfo> {
        let info = |v: &Vlf| VlfInfo {
            file_id: self.files[v.file].spec.file_id,
            size: v.header.size,
            offset: v.header.offset,
            seq: v.header.seq,
            status: if v.active { 2 } else { 0 },
            parity: v.header.parity(),
            create_lsn: v.header.create_lsn,
        };
        self.vlfs.iter().map(info).collect()
    }
}
