//! Backup containers, to read: the tape format's blocks and streams, and the compressed wrapping around them.
//!
//! A backup is a run of descriptor blocks, each followed by streams. The data pages are in `MQDA` streams: two bytes,
//! then whole extents in file order. Filemarks are as long as their first-stream offset says; everything else is
//! aligned to 1,024 bytes counted from the last filemark.

use std::collections::BTreeMap;

use duramen_base::{EXTENT_PAGES, PAGE_BYTES};

use super::page::{PageRef, Verify, verify};
use super::{FormatError, FormatResult, PageBytes, u16_at, u32_at, u64_at, xpress};

const COMPRESSED_MAGIC: &[u8; 8] = b"MSSQLBAK";
const RECORD_HEAD: usize = 28;
const BLOCK_ALIGN: usize = 1024;

/// A descriptor block and its streams, as places in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: [u8; 4],
    pub at: usize,
    pub streams: Vec<Stream>,
}

/// A stream: its id and the range of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub id: [u8; 4],
    pub data: std::ops::Range<usize>,
}

/// The plain container: itself when it is not compressed.
pub fn open(bytes: Vec<u8>) -> FormatResult<Vec<u8>> {
    if bytes.starts_with(COMPRESSED_MAGIC) {
        decompress(&bytes)
    } else {
        Ok(bytes)
    }
}

/// Concatenates the units of a compressed container. Zero padding falls between them where the tape format has its
/// filemarks: there the next plausible unit is searched.
fn decompress(b: &[u8]) -> FormatResult<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 16;
    while let Some(found) = (at..b.len().saturating_sub(RECORD_HEAD)).find(|p| plausible(b, *p)) {
        let tag = u32_at(b, found)?;
        let size = ((tag >> 8) & 0xff) as usize * 512;
        let end = found + RECORD_HEAD + (tag >> 16) as usize;
        let unit = b
            .get(found + RECORD_HEAD..end)
            .ok_or(FormatError::Corrupt("compressed backup (cut off)"))?;
        out.extend(xpress::decompress(unit, size)?);
        at = end;
    }
    if out.is_empty() {
        return Err(FormatError::Corrupt("compressed backup"));
    }
    Ok(out)
}

fn plausible(b: &[u8], at: usize) -> bool {
    if b[at] != 0x21 || b[at + 20..at + 24] != [0; 4] {
        return false;
    }
    let size = usize::from(b[at + 1]);
    let compressed = usize::from(b[at + 2]) | usize::from(b[at + 3]) << 8;
    size > 0
        && compressed > xpress::LENGTHS_BYTES
        && xpress::is_complete_code(&b[at + RECORD_HEAD..])
}

/// Walks the blocks of a plain container to its end, checking the checksums of block and stream headers.
pub fn blocks(b: &[u8]) -> FormatResult<Vec<Block>> {
    let mut out = Vec::new();
    let (mut at, mut base) = (0, 0);
    while at + 52 <= b.len() {
        let head = &b[at..];
        let mut kind = [0; 4];
        kind.copy_from_slice(&head[..4]);
        if kind == [0; 4] {
            break;
        }
        check_xor(head, 25, 50)?;
        let first_stream = usize::from(u16_at(head, 8)?);
        if kind == *b"SFMB" {
            if first_stream == 0 {
                return Err(FormatError::Corrupt("filemark length"));
            }
            out.push(Block {
                kind,
                at,
                streams: Vec::new(),
            });
            at += first_stream;
            base = at;
            continue;
        }
        let (streams, end) = streams(b, at + first_stream)?;
        out.push(Block { kind, at, streams });
        at = base + (end - base).next_multiple_of(BLOCK_ALIGN);
    }
    Ok(out)
}

/// The streams from `at`, through the `SPAD` that ends them.
fn streams(b: &[u8], mut at: usize) -> FormatResult<(Vec<Stream>, usize)> {
    let mut out = Vec::new();
    while at + 22 <= b.len() {
        let head = &b[at..];
        check_xor(head, 10, 20)?;
        let mut id = [0; 4];
        id.copy_from_slice(&head[..4]);
        let length = usize::try_from(u64_at(head, 8)?)
            .ok()
            .filter(|n| *n <= b.len() - at - 22)
            .ok_or(FormatError::Corrupt("stream length"))?;
        let end = at + 22 + length;
        if id == *b"SPAD" {
            return Ok((out, end));
        }
        out.push(Stream {
            id,
            data: at + 22..end,
        });
        at = end.next_multiple_of(4);
    }
    Err(FormatError::Corrupt("streams (no end)"))
}

fn check_xor(b: &[u8], words: usize, at: usize) -> FormatResult<()> {
    let mut x = 0;
    for i in 0..words {
        x ^= u16_at(b, 2 * i)?;
    }
    if x == u16_at(b, at)? {
        Ok(())
    } else {
        Err(FormatError::Corrupt("header checksum"))
    }
}

/// The pages of file 1 in a plain container; later streams win.
pub fn pages(b: &[u8]) -> FormatResult<BTreeMap<u32, Box<PageBytes>>> {
    let mut out = BTreeMap::new();
    for block in blocks(b)?.iter().filter(|x| x.kind == *b"MSDA") {
        for stream in block.streams.iter().filter(|s| s.id == *b"MQDA") {
            let data = b.get(stream.data.clone()).unwrap_or(&[]);
            let extents = data.get(2..).unwrap_or(&[]);
            for extent in extents.chunks_exact(PAGE_BYTES * EXTENT_PAGES as usize) {
                place_extent(extent, &mut out);
            }
        }
    }
    Ok(out)
}

/// An extent does not say which one it is: its pages do. Unallocated ones may say anything, so a page counts when its
/// checksum and its place in the extent are right.
fn place_extent(extent: &[u8], out: &mut BTreeMap<u32, Box<PageBytes>>) {
    let pages: Vec<Box<PageBytes>> = extent
        .chunks_exact(PAGE_BYTES)
        .filter_map(|p| Box::<[u8]>::from(p).try_into().ok())
        .collect();
    let first = pages.iter().enumerate().find_map(|(i, p)| {
        let r = PageRef::new(p);
        let id = r.page_id();
        let sound = r.header_version() == 1 && verify(p) == Verify::Ok && id.file == 1;
        (sound && id.page % EXTENT_PAGES == i as u32).then(|| id.page - i as u32)
    });
    if let Some(first) = first {
        for (i, p) in pages.into_iter().enumerate() {
            out.insert(first + i as u32, p);
        }
    }
}
