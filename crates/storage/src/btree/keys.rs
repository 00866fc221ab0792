//! Keys: comparing values with the bytes of rows, on leaves and on nodes.
//!
//! Every entry's full key differs from all others (the definition's `keys` ends with a uniquifier or the locator where
//! it must), except in unique nonclustered indexes, whose declared key is enough. A probe may be shorter than the key:
//! it then compares equal to every entry that begins with it.

use std::cmp::Ordering;
use std::hash::Hasher;

use duramen_base::{PageId, SqlResult};
use duramen_format::layout::{ColumnLayout, ColumnSpec, RowKind, RowLayout, layout_for};
use duramen_format::row::decode_field;
use duramen_format::values::{encode_node_row, value_of};
use duramen_format::{FormatResult, RowRef};
use duramen_types::{CollationId, TypeId, Value, compare};

use super::fields;
use crate::def::RowsetDef;

/// A B-tree's key as seen on its pages.
#[derive(Debug, Clone)]
pub struct KeyInfo {
    pub node: RowLayout,
    /// For each key column: position in the leaf layout, descending.
    pub columns: Vec<(usize, bool)>,
    plain: Vec<Plain>,
    plain_node: Vec<Plain>,
}

/// A key column whose leaf bytes need no null bitmap to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    Int(usize),
    BigInt(usize),
    No,
}

impl Plain {
    /// Compares without decoding, where that can be.
    #[inline]
    fn cmp(self, row: RowRef<'_>, v: &Value) -> Option<Ordering> {
        let row = row.bytes();
        match (self, v) {
            (Plain::Int(at), Value::Int(v)) => {
                let b = row.get(at..at + 4)?;
                Some(i32::from_le_bytes([b[0], b[1], b[2], b[3]]).cmp(v))
            }
            (Plain::BigInt(at), Value::BigInt(v)) => {
                let b = row.get(at..at + 8)?;
                let w = [b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]];
                Some(i64::from_le_bytes(w).cmp(v))
            }
            _ => None,
        }
    }
}

fn plain(c: &ColumnLayout) -> Plain {
    if c.nullable || c.leaf_offset <= 0 {
        return Plain::No;
    }
    match c.ty.id {
        TypeId::Int => Plain::Int(c.leaf_offset as usize),
        TypeId::BigInt => Plain::BigInt(c.leaf_offset as usize),
        _ => Plain::No,
    }
}

impl KeyInfo {
    pub fn new(def: &RowsetDef) -> KeyInfo {
        let columns: Vec<(usize, bool)> = def.keys.iter().map(|k| (k.column, k.desc)).collect();
        let specs: Vec<ColumnSpec> = columns
            .iter()
            .filter_map(|(i, _)| def.layout.columns.get(*i))
            .map(|c| ColumnSpec {
                ty: c.ty,
                nullable: c.nullable,
                uniquifier: c.uniquifier,
                absent: false,
            })
            .collect();
        let node = layout_for(&specs, RowKind::IndexNode);
        KeyInfo {
            plain_node: node.columns.iter().map(plain).collect(),
            node,
            plain: columns
                .iter()
                .map(|(i, _)| def.layout.columns.get(*i).map_or(Plain::No, plain))
                .collect(),
            columns,
        }
    }

    /// 0 of a heap, which has no key.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// The key values of a leaf row.
    pub fn of_leaf(&self, layout: &RowLayout, row: RowRef<'_>) -> SqlResult<Vec<Value>> {
        self.columns
            .iter()
            .map(|(i, _)| {
                let field = decode_field(layout, row, *i)?;
                value_of(&layout.columns[*i], &field)
            })
            .collect()
    }

    /// The key values of a node row.
    pub fn of_node(&self, row: RowRef<'_>) -> SqlResult<Vec<Value>> {
        (0..self.column_count())
            .map(|i| value_of(&self.node.columns[i], &decode_field(&self.node, row, i)?))
            .collect()
    }

    /// The key values among the values of a whole row.
    pub fn of_values(&self, values: &[Value]) -> Vec<Value> {
        self.columns
            .iter()
            .map(|(i, _)| values.get(*i).cloned().unwrap_or(Value::Null))
            .collect()
    }

    pub fn node_row(&self, key: &[Value], child: PageId) -> SqlResult<Vec<u8>> {
        encode_node_row(&self.node, key, child)
    }

    /// How a leaf row stands to `probe`.
    pub fn cmp_leaf(
        &self,
        layout: &RowLayout,
        row: RowRef<'_>,
        probe: &[Value],
    ) -> SqlResult<Ordering> {
        for (k, v) in probe.iter().enumerate().take(self.column_count()) {
            let (i, desc) = self.columns[k];
            let ord = match self.plain[k].cmp(row, v) {
                Some(ord) => ord,
                None => {
                    let c = &layout.columns[i];
                    let have = value_of(c, &decode_field(layout, row, i)?)?;
                    compare_key(c, &have, v)
                }
            };
            if ord != Ordering::Equal {
                return Ok(if desc { ord.reverse() } else { ord });
            }
        }
        Ok(Ordering::Equal)
    }

    /// How a node row stands to `probe`.
    pub fn cmp_node(&self, row: RowRef<'_>, probe: &[Value]) -> SqlResult<Ordering> {
        for (k, v) in probe.iter().enumerate().take(self.column_count()) {
            let ord = match self.plain_node[k].cmp(row, v) {
                Some(ord) => ord,
                None => {
                    let c = &self.node.columns[k];
                    let have = value_of(c, &decode_field(&self.node, row, k)?)?;
                    compare_key(c, &have, v)
                }
            };
            if ord != Ordering::Equal {
                return Ok(if self.columns[k].1 {
                    ord.reverse()
                } else {
                    ord
                });
            }
        }
        Ok(Ordering::Equal)
    }

    /// How two keys stand in this tree's order.
    pub fn cmp_values(&self, a: &[Value], b: &[Value]) -> Ordering {
        for (k, (x, y)) in a.iter().zip(b).enumerate().take(self.column_count()) {
            let ord = compare_key(&self.node.columns[k], x, y);
            if ord != Ordering::Equal {
                return if self.columns[k].1 {
                    ord.reverse()
                } else {
                    ord
                };
            }
        }
        Ordering::Equal
    }

    /// How the keys of two whole rows stand.
    pub fn cmp_rows(&self, a: &[Value], b: &[Value]) -> Ordering {
        for (k, (i, desc)) in self.columns.iter().enumerate() {
            let (Some(x), Some(y)) = (a.get(*i), b.get(*i)) else {
                continue;
            };
            let ord = compare_key(&self.node.columns[k], x, y);
            if ord != Ordering::Equal {
                return if *desc { ord.reverse() } else { ord };
            }
        }
        Ordering::Equal
    }

    /// How two values of the key's `k`-th column stand, whichever way it is sorted.
    pub fn cmp_part(&self, k: usize, a: &Value, b: &Value) -> Ordering {
        match self.node.columns.get(k) {
            Some(c) => compare_key(c, a, b),
            None => Ordering::Equal,
        }
    }

    /// The collation of the key's `k`-th column.
    pub fn collation(&self, k: usize) -> CollationId {
        let column = self.node.columns.get(k);
        column.map_or(CollationId::NONE, |c| c.ty.collation)
    }

    /// The 48-bit hash that names a key in the lock manager: equal keys have equal hashes.
    pub fn hash(&self, key: &[Value]) -> u64 {
        let mut h = KeyHasher(0x51_7cc1_b727);
        for (c, v) in self.node.columns.iter().zip(key) {
            match v {
                Value::Int(v) => h.write_u64(*v as i64 as u64),
                Value::BigInt(v) => h.write_u64(*v as u64),
                v => duramen_types::hash_key(v, c.ty.collation, &mut h),
            }
        }
        h.finish() & 0xffff_ffff_ffff
    }

    /// The bytes by which undo finds a row without knowing its index: for every key column its place in the row, its
    /// null bit, and what it holds (`fields`).
    pub fn identity(&self, layout: &RowLayout, row: RowRef<'_>) -> FormatResult<Vec<u8>> {
        let mut out = Vec::with_capacity(24 * self.column_count());
        for (i, _) in &self.columns {
            fields::put(
                &mut out,
                &layout.columns[*i],
                &decode_field(layout, row, *i)?,
            );
        }
        Ok(out)
    }
}

fn compare_key(c: &ColumnLayout, a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        _ => compare(a, b, c.ty.collation),
    }
}

struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 17
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut w = [0; 8];
            w[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(w) ^ (chunk.len() as u64) << 56);
        }
    }
    fn write_u64(&mut self, v: u64) {
        let h = (self.0 ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = h ^ h >> 31;
    }
}
