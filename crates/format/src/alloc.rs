//! Allocation maps: PFS, GAM, SGAM, DIFF, ML and IAM pages.
//!
//! A PFS page has one byte per page of its interval of 8,088 pages. The bitmap pages have one bit per extent of their
//! interval of 63,904 extents (511,232 pages): record 0 is a head of 94 bytes, record 1 a head of 4 bytes and the bitmap
//! of 7,988. The slot of record 1 says where: the bitmap is at page offset 194, and at 196 on a few pages of files that
//! come from old versions. Bits count from the low end of each byte.

use duramen_base::{AllocUnitId, PageId};

use super::page::{HEADER_BYTES, PageMut, PageRef, page_type};
use super::{FormatError, FormatResult, PageBytes};

/// Pages covered by one PFS page.
pub const PFS_INTERVAL: u32 = 8088;
/// Pages covered by one GAM, SGAM, DIFF, ML or IAM page.
pub const GAM_INTERVAL: u32 = 511_232;
/// Extents covered by one bitmap page.
pub const GAM_EXTENTS: u32 = GAM_INTERVAL / 8;
/// Page offset of a PFS page's first byte.
const PFS_DATA: usize = 100;
/// The PFS byte of a page that stands at a fixed place: in use and full.
pub const FIXED_PAGE: u8 = pfs::ALLOCATED | 4;
/// Page offset of the bitmap on the pages that we make.
const BITMAP_AT: usize = 194;
const BITMAP_BYTES: usize = 7988;
/// Bytes before the bitmap in its record.
const RECORD_HEAD: usize = 4;
/// Page offset of an IAM page's first covered page, and of its 8 single-page slots.
const IAM_START_AT: usize = 96 + 40;
const IAM_SINGLES_AT: usize = 96 + 46;
/// Page offset of an IAM page's sequence number in its chain.
const IAM_SEQUENCE_AT: usize = 96 + 4;
/// Single-page slots of an IAM page.
pub const IAM_SINGLES: usize = 8;

/// Bits of a PFS byte.
pub mod pfs {
    pub const FULLNESS: u8 = 0x07;
    pub const HAS_GHOSTS: u8 = 0x08;
    pub const IAM: u8 = 0x10;
    pub const MIXED: u8 = 0x20;
    pub const ALLOCATED: u8 = 0x40;

    /// The fullness class of a page with `used` of 8,096 bytes in use: 0, 1 (to 50 %), 2 (80 %), 3 (95 %), 4.
    pub fn fullness(used: usize) -> u8 {
        match used * 100 / super::super::page::BODY_BYTES {
            _ if used == 0 => 0,
            0..=50 => 1,
            51..=80 => 2,
            81..=95 => 3,
            _ => 4,
        }
    }

    /// Free bytes that a page of this fullness class is sure to have.
    pub fn free_at_least(fullness: u8) -> usize {
        let percent_free = match fullness & FULLNESS {
            0 => 100,
            1 => 49,
            2 => 19,
            3 => 4,
            _ => 0,
        };
        super::super::page::BODY_BYTES * percent_free / 100
    }
}

/// The PFS page that covers `page`.
pub fn pfs_page_of(page: u32) -> u32 {
    if page < PFS_INTERVAL {
        1
    } else {
        page / PFS_INTERVAL * PFS_INTERVAL
    }
}

fn interval_page(page: u32, first: u32) -> u32 {
    page / GAM_INTERVAL * GAM_INTERVAL
        + if page < GAM_INTERVAL {
            first
        } else {
            // Later maps stand at the start of their interval: GAM +0, SGAM +1, DIFF +6, ML +7.
            match first {
                2 => 0,
                3 => 1,
                other => other,
            }
        }
}

/// The GAM page that covers `page`.
pub fn gam_page_of(page: u32) -> u32 {
    interval_page(page, 2)
}
/// The SGAM page that covers `page`.
pub fn sgam_page_of(page: u32) -> u32 {
    interval_page(page, 3)
}
/// The DIFF map page that covers `page`.
pub fn diff_page_of(page: u32) -> u32 {
    interval_page(page, 6)
}
/// The ML map page that covers `page`.
pub fn ml_page_of(page: u32) -> u32 {
    interval_page(page, 7)
}

/// Whether `page` is an allocation map or the file header (4 and 5, unused, included): never given out.
pub fn is_fixed_page(page: u32) -> bool {
    page < 8 || page.is_multiple_of(PFS_INTERVAL) || matches!(page % GAM_INTERVAL, 0 | 1 | 6 | 7)
}

/// Makes a PFS page in which only the fixed pages of its interval are in use: file header and allocation maps.
pub fn format_pfs(b: &mut PageBytes, id: PageId) -> FormatResult<()> {
    let mut p = PageMut::new(b);
    p.format(id, page_type::PFS, AllocUnitId::from_parts(0, 99), 0, 0);
    let mut row = vec![0u8; 4 + PFS_INTERVAL as usize];
    row[2..4].copy_from_slice(&(4 + PFS_INTERVAL as u16).to_le_bytes());
    let first = id.page / PFS_INTERVAL * PFS_INTERVAL;
    for i in 0..PFS_INTERVAL {
        // Pages 4 and 5 have no use.
        if is_fixed_page(first + i) && !matches!(first + i, 4 | 5) {
            row[4 + i as usize] = FIXED_PAGE;
        }
    }
    p.insert_record(0, &row)
}

/// Makes a bitmap page (GAM, SGAM, DIFF, ML) that starts at `start`, every bit as `fill` says; in a GAM the first
/// extent, which has the maps themselves, is never free, and in a DIFF map it has always changed.
pub fn format_bitmap(
    b: &mut PageBytes,
    id: PageId,
    kind: u8,
    start: PageId,
    fill: bool,
) -> FormatResult<()> {
    format_map(b, id, kind, AllocUnitId::from_parts(0, 99), start, fill)?;
    match kind {
        page_type::GAM => bit_set(b, 0, false),
        page_type::DIFF_MAP => bit_set(b, 0, true),
        _ => {}
    }
    Ok(())
}

/// Makes an empty IAM page of `au` for the interval that starts at `start`; `sequence` counts along the chain.
pub fn format_iam(
    b: &mut PageBytes,
    id: PageId,
    au: AllocUnitId,
    start: PageId,
    sequence: u32,
) -> FormatResult<()> {
    format_map(b, id, page_type::IAM, au, start, false)?;
    b[IAM_SEQUENCE_AT..IAM_SEQUENCE_AT + 4].copy_from_slice(&sequence.to_le_bytes());
    Ok(())
}

fn format_map(
    b: &mut PageBytes,
    id: PageId,
    kind: u8,
    au: AllocUnitId,
    start: PageId,
    fill: bool,
) -> FormatResult<()> {
    let mut p = PageMut::new(b);
    p.format(id, kind, au, 0, 90);
    let mut head = vec![0u8; 94];
    head[2..4].copy_from_slice(&94u16.to_le_bytes());
    head[40..46].copy_from_slice(&start.to_bytes());
    p.insert_record(0, &head)?;
    let mut bits = vec![if fill { 0xff } else { 0 }; RECORD_HEAD + BITMAP_BYTES];
    bits[..4].copy_from_slice(&[0, 0, 0, 0]);
    bits[2..4].copy_from_slice(&((RECORD_HEAD + BITMAP_BYTES) as u16).to_le_bytes());
    p.insert_record(1, &bits)
}

/// The PFS byte of `page` (which this PFS page must cover).
pub fn pfs_get(b: &PageBytes, page: u32) -> u8 {
    b[PFS_DATA + (page % PFS_INTERVAL) as usize]
}

pub fn pfs_set(b: &mut PageBytes, page: u32, value: u8) {
    b[PFS_DATA + (page % PFS_INTERVAL) as usize] = value;
}

/// Page offset of the bitmap, from the slot of record 1; where the slot points nowhere, the usual place.
fn bitmap_at(b: &PageBytes) -> usize {
    let slot = usize::from(u16::from_le_bytes([b[8188], b[8189]]));
    let at = slot + RECORD_HEAD;
    if slot >= HEADER_BYTES && at + BITMAP_BYTES <= 8188 {
        at
    } else {
        BITMAP_AT
    }
}

/// The bit of extent `extent`, counted from the start of the page's interval; extents beyond it read as 0.
pub fn bit_get(b: &PageBytes, extent: u32) -> bool {
    extent < GAM_EXTENTS && b[bitmap_at(b) + (extent / 8) as usize] >> (extent % 8) & 1 == 1
}

/// Sets or clears a bit; extents beyond the interval are ignored.
pub fn bit_set(b: &mut PageBytes, extent: u32, value: bool) {
    if extent >= GAM_EXTENTS {
        return;
    }
    let byte = &mut b[bitmap_at(b) + (extent / 8) as usize];
    if value {
        *byte |= 1 << (extent % 8);
    } else {
        *byte &= !(1 << (extent % 8));
    }
}

/// The first set bit at or after `from`, below `limit` (extents counted from the start of the interval).
pub fn bit_find(b: &PageBytes, from: u32, limit: u32) -> Option<u32> {
    let limit = limit.min(GAM_EXTENTS);
    let base = bitmap_at(b);
    let mut e = from;
    while e < limit {
        let byte = b[base + (e / 8) as usize] >> (e % 8);
        if byte != 0 {
            let found = e + byte.trailing_zeros();
            return (found < limit).then_some(found);
        }
        e = (e / 8 + 1) * 8;
        // Most of an IAM page is empty: 64 bytes at a time.
        let rest = &b[(base + (e / 8) as usize).min(b.len())..];
        let empty = |run: &&[u8]| run.iter().fold(0, |all, byte| all | byte) == 0;
        e += rest.chunks_exact(64).take_while(empty).count() as u32 * 512;
    }
    None
}

/// How many bits below `limit` are set.
pub fn bit_count(b: &PageBytes, limit: u32) -> u32 {
    let limit = limit.min(GAM_EXTENTS);
    let whole = (limit / 8) as usize;
    let base = bitmap_at(b);
    let mut n: u32 = b[base..base + whole].iter().map(|x| x.count_ones()).sum();
    if !limit.is_multiple_of(8) {
        n += (b[base + whole] & ((1u8 << (limit % 8)) - 1)).count_ones();
    }
    n
}

/// An IAM page to read.
pub struct Iam<'a>(&'a PageBytes);

impl<'a> Iam<'a> {
    pub fn new(b: &'a PageBytes) -> FormatResult<Iam<'a>> {
        if PageRef::new(b).page_type() != page_type::IAM {
            return Err(FormatError::Corrupt("IAM page type"));
        }
        Ok(Iam(b))
    }

    /// The first page of the covered range.
    pub fn start(&self) -> PageId {
        PageId::from_bytes(&self.0[IAM_START_AT..]).unwrap_or_default()
    }

    pub fn sequence(&self) -> u32 {
        u32::from_le_bytes([
            self.0[IAM_SEQUENCE_AT],
            self.0[IAM_SEQUENCE_AT + 1],
            self.0[IAM_SEQUENCE_AT + 2],
            self.0[IAM_SEQUENCE_AT + 3],
        ])
    }

    /// Single page `i` (0..8), from mixed extents; null when unused.
    pub fn single(&self, i: usize) -> PageId {
        if i >= IAM_SINGLES {
            return PageId::NULL;
        }
        PageId::from_bytes(&self.0[IAM_SINGLES_AT + 6 * i..]).unwrap_or_default()
    }

    /// The single pages in use, then the first page of every extent in use, of this IAM page.
    pub fn singles(&self) -> impl Iterator<Item = PageId> + '_ {
        (0..IAM_SINGLES)
            .map(|i| self.single(i))
            .filter(|p| !p.is_null())
    }

    /// The first page of every uniform extent of this IAM page, in file order.
    pub fn extents(&self) -> impl Iterator<Item = PageId> + '_ {
        let start = self.start();
        let mut from = 0;
        std::iter::from_fn(move || {
            let e = bit_find(self.0, from, GAM_EXTENTS)?;
            from = e + 1;
            Some(PageId::new(start.file, start.page.checked_add(e * 8)?))
        })
    }

    pub fn next(&self) -> PageId {
        PageRef::new(self.0).next_page()
    }
}

/// Sets single-page slot `i` of an IAM page.
pub fn iam_set_single(b: &mut PageBytes, i: usize, page: PageId) {
    if i < IAM_SINGLES {
        let at = IAM_SINGLES_AT + 6 * i;
        b[at..at + 6].copy_from_slice(&page.to_bytes());
    }
}

#[cfg(test)]
mod tests;
