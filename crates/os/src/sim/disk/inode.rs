//! One file: what is visible, what is durable, and what is pending between them.
//!
//! Invariant: wherever no version is pending and no sync has failed, visible and durable are equal.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::image::Image;
use crate::random::Rng;

/// The number of a write, in the order of all writes of the disk.
pub(super) type Seq = u64;

#[derive(Clone, Debug)]
struct Version {
    seq: Seq,
    /// The sectors of the write, and which of them this is.
    data: Arc<[u8]>,
    index: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    visible: Arc<Image>,
    durable: Arc<Image>,
    /// By sector: the versions that are not durable yet, in the order of their writes.
    pending: BTreeMap<u64, Vec<Version>>,
    pending_len: Vec<(Seq, u64)>,
}

/// Which pending changes survive a crash.
#[derive(Clone, Copy, Debug)]
pub(super) enum Style {
    Nothing,
    Everything,
    Dust,
    /// All before this write, which is torn.
    Prefix(Seq),
    /// Each write by a coin drawn from this seed and its number.
    Shuffle(u64),
}

impl Inode {
    pub(super) fn len(&self) -> u64 {
        self.visible.len()
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: u64) {
        self.visible.read(buf, offset);
    }

    pub(super) fn durable_bytes(&self) -> Vec<u8> {
        let mut all = vec![0; self.durable.len() as usize];
        self.durable.read(&mut all, 0);
        all
    }

    pub(super) fn set_len(&mut self, seq: Seq, len: u64, sector: u64) {
        if len == self.visible.len() {
            return;
        }
        if len < self.visible.len() {
            // Whatever was pending beyond the new end can only be lost.
            self.pending.split_off(&len.div_ceil(sector));
        }
        Arc::make_mut(&mut self.visible).set_len(len);
        self.pending_len.push((seq, len));
        if let Some(versions) = self.pending.get_mut(&(len / sector)) {
            // The sector that holds the new end: its tail is zeros from now on, should the file grow again.
            let mut data = vec![0; sector as usize];
            self.visible.read(&mut data, len / sector * sector);
            versions.push(Version {
                seq,
                data: data.into(),
                index: 0,
            });
        }
    }

    /// The write becomes visible and pending.
    pub(super) fn write(&mut self, seq: Seq, data: &[u8], offset: u64, sector: u64) {
        let (first, sectors) = self.write_visible(seq, data, offset, sector);
        for (index, _) in sectors.chunks(sector as usize).enumerate() {
            let version = Version {
                seq,
                data: sectors.clone(),
                index: index as u32,
            };
            let versions = self.pending.entry(first + index as u64).or_default();
            versions.push(version);
        }
    }

    /// The same, only some sectors, as a write that failed on its way.
    pub(super) fn write_some(
        &mut self,
        seq: Seq,
        data: &[u8],
        offset: u64,
        sector: u64,
        rng: &mut Rng,
    ) {
        let mut at = 0;
        while at < data.len() {
            let until_edge = sector - (offset + at as u64) % sector;
            let n = (until_edge as usize).min(data.len() - at);
            if rng.one_in(2) {
                self.write(seq, &data[at..at + n], offset + at as u64, sector);
            }
            at += n;
        }
    }

    /// The write becomes visible and durable at once.
    pub(super) fn write_through(&mut self, seq: Seq, data: &[u8], offset: u64, sector: u64) {
        let (first, sectors) = self.write_visible(seq, data, offset, sector);
        let count = sectors.len() as u64 / sector;
        self.settle_len(seq);
        self.write_durable(&sectors, first * sector);
        if !self.pending.is_empty() {
            for s in first..first + count {
                self.pending.remove(&s);
            }
        }
    }

    /// Makes the range visible; gives the whole sectors around it, as they are now.
    fn write_visible(
        &mut self,
        seq: Seq,
        data: &[u8],
        offset: u64,
        sector: u64,
    ) -> (u64, Arc<[u8]>) {
        let end = offset + data.len() as u64;
        if end > self.visible.len() {
            self.set_len(seq, end, sector);
        }
        Arc::make_mut(&mut self.visible).write(data, offset);
        let first = offset / sector;
        let bytes = (end.div_ceil(sector) - first) * sector;
        if bytes == data.len() as u64 {
            return (first, data.into());
        }
        let mut sectors = vec![0; bytes as usize];
        self.visible.read(&mut sectors, first * sector);
        (first, sectors.into())
    }

    /// The pending write has reached the disk.
    pub(super) fn finish_write(&mut self, seq: Seq, len: usize, offset: u64, sector: u64) {
        self.settle_len(seq);
        for s in offset / sector..(offset + len as u64).div_ceil(sector) {
            self.settle_sector(s, seq, sector);
        }
    }

    /// Everything up to a write has reached the disk.
    pub(super) fn finish_sync(&mut self, seq: Seq, sector: u64) {
        self.settle_len(seq);
        for s in self.pending.keys().copied().collect::<Vec<_>>() {
            self.settle_sector(s, seq, sector);
        }
    }

    /// Some of it has, and the rest is forgotten: visible, clean in the eyes of the kernel, and not durable.
    pub(super) fn fail_sync(&mut self, seq: Seq, sector: u64, rng: &mut Rng) {
        self.settle_len(seq);
        for s in self.pending.keys().copied().collect::<Vec<_>>() {
            if rng.one_in(2) {
                self.settle_sector(s, seq, sector);
            } else {
                self.forget(s, seq);
            }
        }
    }

    fn settle_sector(&mut self, s: u64, seq: Seq, sector: u64) {
        let Some(versions) = self.pending.get(&s) else {
            return;
        };
        if let Some(v) = versions.iter().rev().find(|v| v.seq <= seq).cloned() {
            let from = v.index as usize * sector as usize;
            self.write_durable(&v.data[from..from + sector as usize], s * sector);
            self.forget(s, seq);
        }
    }

    fn forget(&mut self, s: u64, seq: Seq) {
        if let Some(versions) = self.pending.get_mut(&s) {
            versions.retain(|v| v.seq > seq);
            if versions.is_empty() {
                self.pending.remove(&s);
            }
        }
    }

    /// Length changes up to a write become durable, in order.
    fn settle_len(&mut self, seq: Seq) {
        let n = self.pending_len.partition_point(|(s, _)| *s <= seq);
        for (_, len) in self.pending_len.drain(..n) {
            Arc::make_mut(&mut self.durable).set_len(len);
        }
    }

    /// Whole sectors; what lies beyond the durable end is cut.
    fn write_durable(&mut self, data: &[u8], offset: u64) {
        let room = self.durable.len().saturating_sub(offset);
        let n = (data.len() as u64).min(room) as usize;
        if n > 0 {
            Arc::make_mut(&mut self.durable).write(&data[..n], offset);
        }
    }

    /// Changes both contents, as rot or a test's hand would.
    pub(super) fn damage(&mut self, data: &[u8], offset: u64) {
        for image in [&mut self.visible, &mut self.durable] {
            let room = image.len().saturating_sub(offset);
            let n = (data.len() as u64).min(room) as usize;
            if n > 0 {
                Arc::make_mut(image).write(&data[..n], offset);
            }
        }
    }

    /// The file as the crash leaves it.
    pub(super) fn crashed(&self, style: Style, sector: u64, rng: &mut Rng) -> Inode {
        let mut after = Inode {
            durable: self.durable.clone(),
            ..Inode::default()
        };
        let changes = self.pending_len.len();
        let kept = match style {
            Style::Nothing => 0,
            Style::Everything => changes,
            Style::Prefix(cut) => self.pending_len.partition_point(|(seq, _)| *seq < cut),
            Style::Dust | Style::Shuffle(_) => rng.below(changes as u64 + 1) as usize,
        };
        for (_, len) in &self.pending_len[..kept] {
            Arc::make_mut(&mut after.durable).set_len(*len);
        }
        for (s, versions) in &self.pending {
            let survivor = versions.iter().rfind(|v| style.keeps(v.seq, rng));
            if let Some(v) = survivor {
                let from = v.index as usize * sector as usize;
                after.write_durable(&v.data[from..from + sector as usize], s * sector);
            }
        }
        after.visible = after.durable.clone();
        after
    }

    /// Whether a crash could change what is read.
    pub(super) fn is_clean(&self) -> bool {
        self.pending.is_empty() && self.pending_len.is_empty()
    }

    pub(super) fn first_pending(&self) -> Option<Seq> {
        let data = self.pending.values().flatten().map(|v| v.seq).min();
        let len = self.pending_len.first().map(|(seq, _)| *seq);
        data.into_iter().chain(len).min()
    }
}

impl Style {
    fn keeps(self, seq: Seq, rng: &mut Rng) -> bool {
        match self {
            Style::Nothing => false,
            Style::Everything => true,
            Style::Dust => rng.one_in(2),
            Style::Prefix(cut) => seq < cut || (seq == cut && rng.one_in(2)),
            Style::Shuffle(seed) => {
                let mut coin = Rng::new(seed ^ seq.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                coin.one_in(2) && (!coin.one_in(8) || rng.one_in(2))
            }
        }
    }
}
