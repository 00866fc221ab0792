//! Values outside the row: text nodes on text pages, and the pointers to them.
//!
//! ```text
//! node         | 08 00 | length u16 | blob id 8 | kind u16 | ...
//!   0 small    | size u16 | 4 bytes | data
//!   2 internal | max links u16 | links u16 | level u16 | entries of 16: size u64, page 6, slot u16
//!   3 data     | data to the end
//!   5 root     | max links u16 | links u16 | level u16 | 4 bytes | entries of 12: size u32, page 6, slot u16
//! text pointer | 16 bytes: u32, timestamp u32, page 6, slot u16
//! in-row root  | kind (4: (max), 2: row-overflow) | level | 6 bytes | timestamp u32 | entries of 12
//! ```
//! Sizes of entries are cumulative: the end of the child's bytes within the value.

use duramen_base::PageId;

use super::{FormatError, FormatResult, u16_at, u32_at, u64_at};

/// The most data bytes of one data node: the record then fills a page.
pub const MAX_DATA_BYTES: usize = 8040;
/// Kind byte of the in-row root of a (max) column.
pub const INROW_MAX: u8 = 4;
/// Kind byte of the in-row pointer of a row-overflow column.
pub const INROW_OVERFLOW: u8 = 2;
/// Bytes of a text, ntext or image pointer.
pub const TEXT_POINTER_BYTES: usize = 16;
/// Entries that an in-row root may have.
pub const MAX_INROW_LINKS: usize = 5;
/// Entries that fit an internal node.
pub const MAX_INTERNAL_LINKS: usize = (MAX_DATA_BYTES - 6) / 16;

const KIND_SMALL: u16 = 0;
const KIND_INTERNAL: u16 = 2;
const KIND_DATA: u16 = 3;
const KIND_ROOT: u16 = 5;

/// A link to a child node: where it is, and the end of its bytes within the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    pub end: u64,
    pub page: PageId,
    pub slot: u16,
}

/// A node on a text page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node<'a> {
    Small(&'a [u8]),
    Data(&'a [u8]),
    Root { level: u16, links: Vec<Link> },
    Internal { level: u16, links: Vec<Link> },
}

/// Reads a text record.
pub fn decode_node(record: &[u8]) -> FormatResult<Node<'_>> {
    let length = usize::from(u16_at(record, 2)?);
    let r = record
        .get(..length)
        .ok_or(FormatError::Corrupt("text record length"))?;
    let data = |from: usize, to: usize| {
        r.get(from..to)
            .ok_or(FormatError::Corrupt("text record length"))
    };
    match u16_at(r, 12)? {
        KIND_SMALL => Ok(Node::Small(data(20, 20 + usize::from(u16_at(r, 14)?))?)),
        KIND_DATA => Ok(Node::Data(data(14, length)?)),
        KIND_ROOT => {
            let n = usize::from(u16_at(r, 16)?);
            Ok(Node::Root {
                level: u16_at(r, 18)?,
                links: links12(data(24, 24 + 12 * n)?)?,
            })
        }
        KIND_INTERNAL => {
            let n = usize::from(u16_at(r, 16)?);
            let links = data(20, 20 + 16 * n)?
                .chunks_exact(16)
                .map(|e| link(u64_at(e, 0)?, &e[8..]))
                .collect::<FormatResult<_>>()?;
            Ok(Node::Internal {
                level: u16_at(r, 18)?,
                links,
            })
        }
        _ => Err(FormatError::Corrupt("text record kind")),
    }
}

fn link(end: u64, pointer: &[u8]) -> FormatResult<Link> {
    Ok(Link {
        end,
        page: PageId::from_bytes(pointer).ok_or(FormatError::Corrupt("text link"))?,
        slot: u16_at(pointer, 6)?,
    })
}

fn links12(b: &[u8]) -> FormatResult<Vec<Link>> {
    b.chunks_exact(12)
        .map(|e| link(u64::from(u32_at(e, 0)?), &e[4..]))
        .collect()
}

fn head(blob: u64, kind: u16) -> Vec<u8> {
    let mut r = vec![8, 0, 0, 0];
    r.extend(blob.to_le_bytes());
    r.extend(kind.to_le_bytes());
    r
}

fn finish(mut r: Vec<u8>) -> FormatResult<Vec<u8>> {
    let length = u16::try_from(r.len()).map_err(|_| FormatError::NoSpace)?;
    r[2..4].copy_from_slice(&length.to_le_bytes());
    Ok(r)
}

/// Builds a data node.
pub fn encode_data(blob: u64, data: &[u8]) -> FormatResult<Vec<u8>> {
    if data.len() > MAX_DATA_BYTES {
        return Err(FormatError::NoSpace);
    }
    let mut r = head(blob, KIND_DATA);
    r.extend(data);
    finish(r)
}

/// Builds an internal node.
pub fn encode_internal(blob: u64, level: u16, links: &[Link]) -> FormatResult<Vec<u8>> {
    if links.len() > MAX_INTERNAL_LINKS {
        return Err(FormatError::NoSpace);
    }
    let mut r = head(blob, KIND_INTERNAL);
    r.extend((MAX_INTERNAL_LINKS as u16).to_le_bytes());
    r.extend((links.len() as u16).to_le_bytes());
    r.extend(level.to_le_bytes());
    for l in links {
        r.extend(l.end.to_le_bytes());
        r.extend(l.page.to_bytes());
        r.extend(l.slot.to_le_bytes());
    }
    finish(r)
}

/// A pointer in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pointer {
    /// text, ntext, image: one record, whose node tells the rest.
    Text { page: PageId, slot: u16 },
    /// (max) and row-overflow columns: the root itself. `level` 0: the links are data nodes.
    InRow {
        kind: u8,
        level: u8,
        links: Vec<Link>,
    },
}

/// Reads a complex column.
pub fn decode_pointer(b: &[u8]) -> FormatResult<Pointer> {
    if b.len() == TEXT_POINTER_BYTES {
        return Ok(Pointer::Text {
            page: PageId::from_bytes(&b[8..]).unwrap_or_default(),
            slot: u16_at(b, 14)?,
        });
    }
    let (kind, level) = match b {
        [kind @ (INROW_MAX | INROW_OVERFLOW), level, ..] => (*kind, *level),
        _ => return Err(FormatError::Corrupt("off-row pointer")),
    };
    let entries = b
        .get(12..)
        .filter(|e| e.len() % 12 == 0)
        .ok_or(FormatError::Corrupt("off-row pointer length"))?;
    Ok(Pointer::InRow {
        kind,
        level,
        links: links12(entries)?,
    })
}

/// Builds the in-row root of a (max) or row-overflow column.
pub fn encode_inrow(kind: u8, level: u8, timestamp: u32, links: &[Link]) -> FormatResult<Vec<u8>> {
    if links.len() > MAX_INROW_LINKS {
        return Err(FormatError::NoSpace);
    }
    let mut b = vec![kind, level, 0, 0, 1, 0, 0, 0];
    b.extend(timestamp.to_le_bytes());
    for l in links {
        let end = u32::try_from(l.end).map_err(|_| FormatError::NoSpace)?;
        b.extend(end.to_le_bytes());
        b.extend(l.page.to_bytes());
        b.extend(l.slot.to_le_bytes());
    }
    Ok(b)
}

/// Bytes that the value of a pointer has, when the pointer says so.
pub fn pointer_len(p: &Pointer) -> Option<u64> {
    match p {
        Pointer::Text { .. } => None,
        Pointer::InRow { links, .. } => Some(links.last().map_or(0, |l| l.end)),
    }
}

/// Reads a whole value; `record` fetches the record at a place. Stops with an error at a loop.
pub fn read_value(
    pointer: &[u8],
    record: &mut dyn FnMut(PageId, u16) -> FormatResult<Vec<u8>>,
) -> FormatResult<Vec<u8>> {
    let mut out = Vec::new();
    let mut todo: Vec<(PageId, u16, u32)> = Vec::new();
    match decode_pointer(pointer)? {
        Pointer::Text { page, slot } => {
            if page.is_null() {
                return Ok(out);
            }
            todo.push((page, slot, 0));
        }
        Pointer::InRow { links, .. } => {
            todo.extend(links.iter().rev().map(|l| (l.page, l.slot, 0)));
        }
    }
    while let Some((page, slot, depth)) = todo.pop() {
        if depth > 16 {
            return Err(FormatError::Corrupt("text tree (too deep)"));
        }
        let r = record(page, slot)?;
        match decode_node(&r)? {
            Node::Small(d) | Node::Data(d) => out.extend_from_slice(d),
            Node::Root { links, .. } | Node::Internal { links, .. } => {
                todo.extend(links.iter().rev().map(|l| (l.page, l.slot, depth + 1)));
            }
        }
        if out.len() > i32::MAX as usize {
            return Err(FormatError::Corrupt("text tree (over 2 GB)"));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
