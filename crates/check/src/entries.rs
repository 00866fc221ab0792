//! Rows and index entries as hashes, to be compared without being kept: the entry that an index should have of a row, and
//! the one that it has.

use duramen_format::PageBytes;
use duramen_format::layout::{ColumnLayout, RowLayout};
use duramen_format::page::{PageRef, record_kind};
use duramen_format::row::{Field, back_pointer, decode_fields};
use duramen_storage::RowLocator;

use super::facts::Rid;
use super::schema::{Shape, Source};

/// Whether a column says nothing in an entry's hash: it may be outside the row in one place and inside in the other.
pub(super) fn is_silent(c: &ColumnLayout) -> bool {
    c.is_variable() && c.ty.is_max()
}

fn mix(h: u64, w: u64) -> u64 {
    let h = (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^ h >> 29
}

fn hash_bytes(mut h: u64, b: &[u8]) -> u64 {
    h = mix(h, b.len() as u64 + 1);
    for chunk in b.chunks(8) {
        let mut w = [0; 8];
        w[..chunk.len()].copy_from_slice(chunk);
        h = mix(h, u64::from_le_bytes(w));
    }
    h
}

fn hash_field(h: u64, c: &ColumnLayout, field: &Field<'_>) -> u64 {
    match field {
        _ if is_silent(c) => h,
        // A uniquifier of 0 is not stored.
        Field::Null if c.uniquifier => hash_bytes(h, &[0; 4]),
        Field::Null => mix(h, 0),
        Field::Inline(b) if c.uniquifier && b.is_empty() => hash_bytes(h, &[0; 4]),
        Field::Inline(b) => hash_bytes(h, b),
        Field::Complex(_) => mix(h, 0x55),
    }
}

const SEED: u64 = 0x1234_5678;

/// The hash of an index's row.
pub(super) fn hash_entry(layout: &RowLayout, fields: &[Field<'_>]) -> u64 {
    let columns = layout.columns.iter().zip(fields);
    columns.fold(SEED, |h, (c, f)| hash_field(h, c, f))
}

/// The hash of the entry that an index should have of a row.
pub(super) fn entry_of(
    layout: &RowLayout,
    fields: &[Field<'_>],
    sources: &[Source],
    rid: Rid,
) -> u64 {
    sources.iter().fold(SEED, |h, s| match s {
        Source::Column(i) => hash_field(h, &layout.columns[*i], &fields[*i]),
        Source::Rid => hash_bytes(h, &RowLocator::rid_bytes(rid.0, rid.1)),
    })
}

/// Hash and place of every entry: those that the n-th index over `shape` should have, or, for an index, those it has.
pub(super) fn entries(page: &PageBytes, shape: &Shape, over: usize, out: &mut Vec<(u64, Rid)>) {
    let p = PageRef::new(page);
    let layout = &*shape.def.layout;
    for slot in 0..p.slot_count() {
        let Ok(Some(r)) = p.record(slot) else {
            continue;
        };
        if r.is_ghost() || r.kind() == record_kind::FORWARDING_STUB {
            continue;
        }
        let Ok(fields) = decode_fields(layout, r) else {
            continue;
        };
        let here = (p.page_id(), slot);
        let hash = if shape.is_index() {
            hash_entry(layout, &fields)
        } else {
            let rid = match r.kind() {
                record_kind::FORWARDED => back_pointer(r).unwrap_or(here),
                _ => here,
            };
            match shape.over.get(over) {
                Some(o) => entry_of(layout, &fields, &o.sources, rid),
                None => continue,
            }
        };
        out.push((hash, here));
    }
}
