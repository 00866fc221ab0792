//! Reading the extents of a backup: large pieces, several at once, checked and summed up where they were read.
//!
//! A piece is as many extents as a transfer has (MAXTRANSFERSIZE), neighbours or not; extents that are all zeros are left
//! out of it, because a new file has them anyway. Its sums are put together with those of the pieces before by whoever
//! takes it (CRC32C and the stream's checksum are sums of sums), so nobody looks at the bytes a second time.
//!
//! Extents whose pages are all in memory are copied from there: a disk that writes the backup has better to do than to
//! read what is known. Such a page may be newer than its durable log; the log is made durable before the set's log ends.
//! WITH CHECKSUM reads everything from the disk, because that is what it is to vouch for.

use std::iter::Peekable;
use std::sync::Arc;

use duramen_base::{DbId, EXTENT_PAGES, PAGE_BYTES, PageId, SqlError, SqlResult};
use duramen_format::PageBytes;
use duramen_format::alloc::is_fixed_page;
use duramen_format::page::{PageMut, PageRef, Verify, verify};
use duramen_os::AlignedBuf;
use duramen_pool::{DataFile, SuspectPage, Suspicion, suspicion};
use duramen_storage::Engine;

use super::tape::StreamSum;
use super::team::Buffers;
use super::tolerance::Tolerance;

pub(super) const EXTENT_BYTES: usize = EXTENT_PAGES as usize * PAGE_BYTES;

/// First extent and how many: neighbours that are read together.
type Neighbours = (u32, u32);

/// The pieces of a file's extents.
pub(super) struct Pieces<I: Iterator<Item = u32>> {
    rest: Peekable<I>,
    /// Extents of a piece.
    size: u32,
}

impl<I: Iterator<Item = u32>> Pieces<I> {
    /// Extents in their order, `bytes` of them at once.
    pub fn new(extents: I, bytes: usize) -> Pieces<I> {
        Pieces {
            rest: extents.peekable(),
            size: (bytes / EXTENT_BYTES).max(1) as u32,
        }
    }
}

impl<I: Iterator<Item = u32>> Iterator for Pieces<I> {
    type Item = Vec<Neighbours>;

    fn next(&mut self) -> Option<Vec<Neighbours>> {
        let mut piece: Vec<Neighbours> = Vec::new();
        for _ in 0..self.size {
            let Some(extent) = self.rest.next() else {
                break;
            };
            match piece.last_mut() {
                Some((first, count)) if *first + *count == extent => *count += 1,
                _ => piece.push((extent, 1)),
            }
        }
        (!piece.is_empty()).then_some(piece)
    }
}

/// A piece that was read.
pub(super) struct Filled {
    pub buf: AlignedBuf,
    pub bytes: usize,
    pub crc: u32,
    /// Of BACKUP WITH CHECKSUM.
    pub sum: u32,
}

/// Why a piece cannot be copied.
pub(super) enum Bad {
    Failed(SqlError),
    /// A page that is not what it should be, and what is wrong with it where that is known.
    Page(PageId, Option<Suspicion>),
}

/// Who reads the pieces of one file.
pub(super) struct Reader {
    pub engine: Arc<Engine>,
    pub db: DbId,
    pub file: Arc<DataFile>,
    /// BACKUP WITH CHECKSUM: every page has to be sound.
    pub checksums: bool,
    pub tolerance: Tolerance,
    pub buffers: Arc<Buffers>,
}

impl Reader {
    /// Reads a piece. The buffer comes back with it, or goes back where it is from.
    pub fn fill(&self, mut buf: AlignedBuf, piece: &[Neighbours]) -> Result<Filled, Bad> {
        match self.read(&mut buf, piece) {
            Ok(bytes) => {
                let crc = crc32c::crc32c(&buf[..bytes]);
                let mut sum = StreamSum::default();
                if self.checksums {
                    sum.add_sectors(&buf[..bytes]);
                }
                let sum = sum.value();
                Ok(Filled {
                    buf,
                    bytes,
                    crc,
                    sum,
                })
            }
            Err(e) => {
                self.buffers.give(buf);
                Err(e)
            }
        }
    }

    /// How many bytes there are to copy.
    fn read(&self, buf: &mut [u8], piece: &[Neighbours]) -> Result<usize, Bad> {
        let mut kept = 0;
        for (first, count) in piece {
            let from = kept;
            let bytes = *count as usize * EXTENT_BYTES;
            self.bring(*first, &mut buf[from..from + bytes])
                .map_err(Bad::Failed)?;
            for i in 0..*count {
                let at = from + i as usize * EXTENT_BYTES;
                let extent = &mut buf[at..at + EXTENT_BYTES];
                if extent.iter().all(|b| *b == 0) {
                    continue;
                }
                self.check(first + i, extent)?;
                if at != kept {
                    buf.copy_within(at..at + EXTENT_BYTES, kept);
                }
                kept += EXTENT_BYTES;
            }
        }
        Ok(kept)
    }

    /// Neighbours, from memory what is there, the rest in reads as long as can be.
    fn bring(&self, first: u32, into: &mut [u8]) -> SqlResult<()> {
        let pool = &self.engine.pool;
        let mut missing: Option<(u32, u32)> = None;
        let (extents, _) = into.as_chunks_mut::<EXTENT_BYTES>();
        let count = extents.len() as u32;
        for extent in 0..=count {
            let there =
                extent == count || self.is_copied(first + extent, &mut extents[extent as usize]);
            match (&mut missing, there) {
                (Some((_, end)), false) => *end = extent + 1,
                (None, false) => missing = Some((extent, extent + 1)),
                (None, true) => {}
                (Some((from, end)), true) => {
                    let run = extents[*from as usize..*end as usize].as_flattened_mut();
                    pool.read_quietly(&self.file, (first + *from) * EXTENT_PAGES, run)?;
                    missing = None;
                }
            }
        }
        Ok(())
    }

    /// Copies an extent from memory, if all its pages are there. Maps, file headers and the boot page are not taken from
    /// there: some of their changes go to the file alone.
    fn is_copied(&self, extent: u32, into: &mut [u8; EXTENT_BYTES]) -> bool {
        if self.checksums || extent < 2 || is_fixed_page(extent * EXTENT_PAGES) {
            return false;
        }
        let (pages, _) = into.as_chunks_mut::<PAGE_BYTES>();
        pages.iter_mut().enumerate().all(|(i, page)| {
            let id = PageId::new(self.file.id, extent * EXTENT_PAGES + i as u32);
            self.engine.pool.copy_resident(self.db, id, page)
        })
    }

    /// An extent says by its pages which it is: one of them has to be sound.
    fn check(&self, extent: u32, bytes: &mut [u8]) -> Result<(), Bad> {
        let all = self.checksums || self.tolerance.is_tolerant();
        let mut placed = false;
        let mut damaged = None;
        let (pages, _) = bytes.as_chunks_mut::<PAGE_BYTES>();
        for (i, page) in pages.iter().enumerate() {
            let id = PageId::new(self.file.id, extent * EXTENT_PAGES + i as u32);
            if is_sound(page, id) {
                placed = true;
                if !all {
                    break;
                }
            } else if all && page.iter().any(|b| *b != 0) {
                let why = suspicion(page, id).unwrap_or(Suspicion::Failed);
                if !self.tolerance.is_tolerant() {
                    return Err(Bad::Page(id, Some(why)));
                }
                self.tolerate(id, why);
                damaged = damaged.or(Some((i, id)));
            }
        }
        match (placed, damaged) {
            (true, _) => Ok(()),
            (false, Some((i, id))) => {
                PageMut::new(&mut pages[i]).set_page_id(id);
                Ok(())
            }
            (false, None) => {
                let first = PageId::new(self.file.id, extent * EXTENT_PAGES);
                Err(Bad::Page(first, None))
            }
        }
    }

    fn tolerate(&self, page: PageId, why: Suspicion) {
        let db = self.db;
        self.engine.suspects.note(SuspectPage { db, page, why });
        self.tolerance.meet(page);
    }
}

fn is_sound(page: &PageBytes, id: PageId) -> bool {
    PageRef::new(page).page_id() == id && verify(page) == Verify::Ok
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_neighbours_together_and_are_full() {
        let extents = [0, 1, 2, 7, 8, 20, 21, 22, 23];
        let pieces: Vec<_> = Pieces::new(extents.into_iter(), 4 * EXTENT_BYTES).collect();
        assert_eq!(
            pieces,
            [vec![(0, 3), (7, 1)], vec![(8, 1), (20, 3)], vec![(23, 1)]]
        );
        assert_eq!(Pieces::new([5].into_iter(), 1).next(), Some(vec![(5, 1)]));
    }
}
