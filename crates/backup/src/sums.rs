//! The data of a set, read in large pieces by several threads, and whether it is what was written.
//!
//! Sums of pieces are put together in the order of the medium, as they were when it was written.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_os::memory::Broker;

use super::read::{BackupSet, Medium, Run, Source, damaged};
use super::tape::StreamSum;
use super::team::{Team, Transfer};

/// Who reads at once, when there are buffers for all of them.
const READERS: usize = 3;

/// A medium of a set, for threads.
#[derive(Clone)]
pub(super) struct Family {
    pub source: Arc<Source>,
    pub shown: Arc<str>,
}

impl Family {
    /// 3203, 3241, 3189
    pub fn read(&self, buf: &mut [u8], at: u64) -> SqlResult<()> {
        self.source.read(buf, at).map_err(|e| e.to_sql(&self.shown))
    }
}

/// A piece of a run.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Which run.
    pub run: usize,
    pub at: u64,
    pub bytes: usize,
    /// Nothing of the run follows.
    pub last: bool,
}

/// The pieces of runs, in their order.
pub(super) fn parts(runs: &[Run], bytes: usize) -> impl Iterator<Item = Part> + Send + 'static {
    let runs = runs.to_vec();
    let piece = bytes as u64;
    runs.into_iter().enumerate().flat_map(move |(i, run)| {
        let count = run.bytes.div_ceil(piece);
        (0..count).map(move |n| Part {
            run: i,
            at: run.at + n * piece,
            bytes: (run.bytes - n * piece).min(piece) as usize,
            last: n + 1 == count,
        })
    })
}

/// What a piece adds up to.
#[derive(Clone, Copy)]
pub(super) struct Summed {
    crc: u32,
    sum: u32,
    bytes: usize,
}

impl Summed {
    pub fn of(bytes: &[u8], run: &Run) -> Summed {
        let mut sum = StreamSum::default();
        if run.checksum.is_some() {
            sum.add_sectors(bytes);
        }
        Summed {
            crc: crc32c::crc32c(bytes),
            sum: sum.value(),
            bytes: bytes.len(),
        }
    }
}

/// What a set adds up to: pages first, then log.
pub(super) struct Sums {
    found: Vec<(u32, u64)>,
    stream: StreamSum,
}

impl Sums {
    pub fn new(medium: &Medium) -> Sums {
        Sums {
            found: vec![(0, 0); 1 + medium.others.len()],
            stream: StreamSum::default(),
        }
    }

    /// The next piece of a run. 3189 when it is the last and the run is not what it was.
    pub fn add(&mut self, run: &Run, piece: Summed, last: bool) -> SqlResult<()> {
        let found = self.found.get_mut(run.family).ok_or_else(damaged)?;
        found.0 = crc32c::crc32c_combine(found.0, piece.crc, piece.bytes);
        found.1 += piece.bytes as u64;
        self.stream.add_part(piece.sum, piece.bytes as u64);
        if last {
            let sum = std::mem::take(&mut self.stream).value();
            if run.checksum.is_some_and(|expected| expected != sum) {
                return Err(damaged());
            }
        }
        Ok(())
    }

    /// 3189 when all of it is not what it was.
    pub fn check(&self, set: &BackupSet) -> SqlResult<()> {
        let has_sums = set.header.own || !set.sums.is_empty();
        match has_sums && set.sums != self.found {
            true => Err(damaged()),
            false => Ok(()),
        }
    }
}

impl Medium {
    pub(super) fn families(&self) -> Vec<Family> {
        let all = std::iter::once(self).chain(&self.others);
        let family = |m: &Medium| Family {
            source: m.file.clone(),
            shown: m.shown.as_str().into(),
        };
        all.map(family).collect()
    }

    /// Whether pages and log of a set are as they were written: 3203, 3189.
    pub fn verify(
        &self,
        set: &BackupSet,
        transfer: Transfer,
        memory: &Arc<Broker>,
    ) -> SqlResult<()> {
        let runs: Arc<[Run]> = set.pages.iter().chain(&set.log).copied().collect();
        let buffers = transfer.room(memory);
        let (families, room, of) = (self.families(), buffers.clone(), runs.clone());
        let work = move |mut buf: duramen_os::AlignedBuf, part: Part| {
            let run = &of[part.run];
            let bytes = &mut buf[..part.bytes];
            let family = families.get(run.family).ok_or_else(damaged);
            let read = family.and_then(|f| f.read(bytes, part.at));
            let read = read.map(|()| Summed::of(bytes, run));
            room.give(buf);
            (part, read)
        };
        let all = parts(&runs, transfer.bytes);
        let readers = READERS.min(transfer.buffers);
        let mut team = Team::start("backup verification", readers, all, &buffers, work)?;
        let mut sums = Sums::new(self);
        while let Some((part, read)) = team.next()? {
            sums.add(&runs[part.run], read?, part.last)?;
        }
        sums.check(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_pieces_are_the_sum_of_all() {
        let bytes: Vec<u8> = (0..10_000u32).map(|i| (i * 31 % 251) as u8).collect();
        let run = |bytes: &[u8], checksum| Run {
            file_id: 1,
            at: 7,
            bytes: bytes.len() as u64,
            checksum: Some(checksum),
            family: 0,
            vlf: 0,
            first_block: 0,
        };
        // Whole sectors, and a rest.
        for size in [0, 512, 9 * 1024, 10_000] {
            let bytes = &bytes[..size];
            let mut whole = StreamSum::default();
            whole.add(bytes);
            let run = run(bytes, whole.value());
            let crc = crc32c::crc32c(bytes);
            for piece in [512, 1024, 2048, 1 << 20] {
                let mut sums = Sums {
                    found: vec![(0, 0)],
                    stream: StreamSum::default(),
                };
                for part in parts(&[run], piece) {
                    let from = (part.at - 7) as usize;
                    let summed = Summed::of(&bytes[from..from + part.bytes], &run);
                    sums.add(&run, summed, part.last).expect("as it was");
                }
                assert_eq!(sums.found, [(crc, size as u64)], "{size} by {piece}");
            }
        }
    }
}
