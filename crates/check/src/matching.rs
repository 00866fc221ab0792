//! Tables against their indexes, row by row, both ways.
//!
//! While pages go through, each row's expected entries and each index's entries are only summed up, so a sound database
//! costs no memory. Where sums differ, the table and the index are read once more, and what has no counterpart is named.

use std::fmt::Display;

use duramen_base::{AllocUnitId, PageId, messages};
use duramen_format::page::{PageRef, record_kind};
use duramen_format::row::{Field, back_pointer, decode_fields};
use duramen_format::values::value_of;
use duramen_os::thread;
use duramen_storage::RowLocator;
use duramen_types::convert::to_display;
use duramen_types::{SqlType, Value};

use super::entries::entries;
use super::facts::{Facts, Rid};
use super::finding::Finding;
use super::schema::{Schema, Shape, Source};
use super::source::DataFile;
use super::units::page;

/// Findings of one index that are named.
const MOST: usize = 200;

/// 8951 with 8955, and 8952 with 8956.
pub(super) fn indexes(
    files: &[DataFile],
    schema: &Schema,
    facts: &Facts,
    only: Option<&[AllocUnitId]>,
    pages_of: &dyn Fn(&Shape) -> Vec<PageId>,
) -> Vec<Finding> {
    let mut out = Vec::new();
    for data in &schema.shapes {
        for (n, over) in data.over.iter().enumerate() {
            let indexes: Vec<&Shape> = over.indexes.iter().map(|i| &schema.shapes[*i]).collect();
            let Some(index) = indexes.first().copied() else {
                continue;
            };
            let is_table = |s: &&Shape| s.object == data.object && !s.is_index();
            let tables: Vec<&Shape> = match over.whole {
                true => schema.shapes.iter().filter(is_table).collect(),
                false => vec![data],
            };
            // The whole table is met once, with its first partition.
            if tables.first().is_some_and(|t| t.unit != data.unit) {
                continue;
            }
            // All must have been looked at.
            let mut all = tables.iter().chain(&indexes);
            if all.any(|s| only.is_some_and(|o| !o.contains(&s.unit))) {
                continue;
            }
            // What could not be read has been said; rows of it would be missed in the index.
            let facts_of = |s: &Shape| facts.units.get(&s.unit);
            let mut all = tables.iter().chain(&indexes);
            if all.any(|s| facts_of(s).is_some_and(|u| u.incomplete)) {
                continue;
            }
            let sum = |shapes: &[&Shape], n: usize| {
                let mut total = super::facts::Sum::default();
                for s in shapes {
                    let own = facts_of(s).and_then(|u| u.sums.get(n)).copied();
                    total.merge(own.unwrap_or_default());
                }
                total
            };
            if sum(&tables, n) == sum(&indexes, 0) {
                continue;
            }
            let gather = |shapes: &[&Shape]| {
                let mut list = Vec::new();
                for shape in shapes {
                    for id in pages_of(shape) {
                        if thread::is_given_up() {
                            return list;
                        }
                        if let Some(bytes) = page(files, id) {
                            let p = PageRef::new(&bytes);
                            let leaf = p.level() == 0 && p.alloc_unit() == shape.unit;
                            let right = p.page_type() == if shape.is_index() { 2 } else { 1 };
                            if leaf && right {
                                entries(&bytes, shape, n, &mut list);
                            }
                        }
                    }
                }
                list.sort_unstable();
                list
            };
            let (wanted, there) = (gather(&tables), gather(&indexes));
            let (missing, extra) = differences(&wanted, &there);
            let name = schema.name_of(data.object);
            for rid in missing.into_iter().take(MOST) {
                let args: [&dyn Display; 4] = [&name, &data.object, &index.name, &index.index];
                out.push(finding(&messages::CHECK_NO_INDEX_ROW, data, rid, &args));
                out.push(data_row(files, data, &over.sources, rid));
            }
            for rid in extra.into_iter().take(MOST) {
                let args: [&dyn Display; 4] = [&name, &data.object, &index.name, &index.index];
                out.push(finding(&messages::CHECK_NO_DATA_ROW, data, rid, &args));
                out.push(index_row(files, data, index, rid));
            }
        }
    }
    out
}

fn finding(message: &messages::Message, data: &Shape, rid: Rid, args: &[&dyn Display]) -> Finding {
    Finding {
        number: message.number.unsigned_abs(),
        severity: message.severity,
        state: 1,
        page: Some(rid.0),
        object: Some(data.object),
        unit: None,
        text: messages::format_message(message.text, args),
    }
}

/// What only the first and what only the second of two sorted lists has.
fn differences(a: &[(u64, Rid)], b: &[(u64, Rid)]) -> (Vec<Rid>, Vec<Rid>) {
    let (mut i, mut j) = (0, 0);
    let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                i += 1;
                j += 1;
            }
            (Some(x), Some(y)) if x.0 < y.0 => {
                only_a.push(x.1);
                i += 1;
            }
            (Some(x), None) => {
                only_a.push(x.1);
                i += 1;
            }
            (_, Some(y)) => {
                only_b.push(y.1);
                j += 1;
            }
            (None, None) => break,
        }
    }
    (only_a, only_b)
}

/// The values of a row's columns, as far as they are in the row.
fn row_values(files: &[DataFile], shape: &Shape, rid: Rid) -> Vec<Value> {
    let read = || {
        let bytes = page(files, rid.0)?;
        let r = PageRef::new(&bytes).record(rid.1).ok()??;
        let fields = decode_fields(&shape.def.layout, r).ok()?;
        let columns = &shape.def.layout.columns;
        let value = |(c, f): (_, &Field<'_>)| value_of(c, f).unwrap_or(Value::Null);
        Some(columns.iter().zip(&fields).map(value).collect())
    };
    read().unwrap_or_default()
}

type Named<'a> = (&'a str, &'a Value, SqlType);

/// As SQL Server writes them: text in quotes.
fn shown(v: &Value, ty: &SqlType) -> String {
    match v {
        Value::Null => "NULL".to_owned(),
        v if ty.id.is_string() || ty.id.is_temporal() => format!("'{}'", to_display(v, ty)),
        v => to_display(v, ty),
    }
}

fn pairs<'a>(parts: impl Iterator<Item = Named<'a>>) -> String {
    let parts = parts.map(|(name, v, ty)| format!("{name} = {}", shown(v, &ty)));
    parts.collect::<Vec<_>>().join(" and ")
}

fn of_column<'a>(shape: &'a Shape, name: &'a str, row: &'a [Value], i: usize) -> Named<'a> {
    let ty = shape.def.layout.columns[i].ty;
    (name, row.get(i).unwrap_or(&Value::Null), ty)
}

fn rid_text(rid: Rid) -> String {
    format!("HEAP RID = ({}:{}:{})", rid.0.file, rid.0.page, rid.1)
}

fn data_row(files: &[DataFile], data: &Shape, sources: &[Source], rid: Rid) -> Finding {
    let row = row_values(files, data, rid);
    let named = |i: usize| of_column(data, &data.columns[i], &row, i);
    let by = match data.is_heap() {
        true => {
            let stub = page(files, rid.0).and_then(|b| {
                let r = PageRef::new(&b).record(rid.1).ok()??;
                match r.kind() {
                    record_kind::FORWARDED => back_pointer(r).ok(),
                    _ => None,
                }
            });
            rid_text(stub.unwrap_or(rid))
        }
        false => {
            let keys = data.def.keys.iter().map(|k| k.column);
            let seen = keys.filter(|k| !data.def.layout.columns[*k].uniquifier);
            pairs(seen.map(named))
        }
    };
    let mut values: Vec<String> = Vec::new();
    for s in sources {
        if let Source::Column(c) = s
            && !data.def.layout.columns[*c].uniquifier
        {
            values.push(pairs(std::iter::once(named(*c))));
        } else if *s == Source::Rid {
            values.push(rid_text(rid));
        }
    }
    let values = values.join(" and ");
    let args: [&dyn Display; 5] = [&rid.0.file, &rid.0.page, &rid.1, &by, &values];
    finding(&messages::CHECK_DATA_ROW, data, rid, &args)
}

fn index_row(files: &[DataFile], data: &Shape, index: &Shape, rid: Rid) -> Finding {
    let row = row_values(files, index, rid);
    let names: Vec<String> = index
        .columns
        .iter()
        .enumerate()
        .map(|(i, name)| match name.is_empty() {
            // The row's name, as far as it is no key by itself.
            true => index
                .locator
                .iter()
                .position(|l| *l == i)
                .and_then(|k| data.def.keys.get(k))
                .and_then(|k| data.columns.get(k.column).cloned())
                .unwrap_or_default(),
            false => name.clone(),
        })
        .collect();
    let visible = |i: &usize| !index.def.layout.columns[*i].uniquifier;
    let named = |i: usize| of_column(index, &names[i], &row, i);
    let all = (0..names.len()).filter(visible);
    let (values, by) = if data.is_heap() {
        let place = index.locator.first().and_then(|i| match row.get(*i) {
            Some(Value::Binary(b)) => match RowLocator::from_rid_bytes(b) {
                Some(RowLocator::Rid(page, slot)) => Some(rid_text((page, slot))),
                _ => None,
            },
            _ => None,
        });
        let place = place.unwrap_or_default();
        let own = all.filter(|i| !index.locator.contains(i));
        let own = pairs(own.map(named));
        (format!("{own} and {place}"), place)
    } else {
        let keys = index.locator.iter().copied().filter(visible);
        (pairs(all.map(named)), pairs(keys.map(named)))
    };
    let args: [&dyn Display; 5] = [&rid.0.file, &rid.0.page, &rid.1, &values, &by];
    finding(&messages::CHECK_INDEX_ROW, data, rid, &args)
}
