//! The records of a page: their bytes, and their columns where somebody knows them.
//!
//! A record's columns are named by the [`Shape`] of its page's owner. Node rows of B-trees and the rows of nonclustered
//! leaves are a result set instead, as in SQL Server; so are both only in our own databases, whose definitions are at hand.

use duramen_base::PAGE_BYTES;
use duramen_format::layout::{ColumnLayout, RowKind, RowLayout};
use duramen_format::lob::{self, Pointer};
use duramen_format::page::{
    PageRef, STATUS_NULL_BITMAP, STATUS_VARIABLE, STATUS_VERSION_TAG, page_type, record_kind,
};
use duramen_format::row::{Field, decode_field, decode_fields, node_child};
use duramen_format::values::value_of;
use duramen_format::{FormatResult, RowRef, lob::decode_node};
use duramen_storage::KeyInfo;
use duramen_types::{ConvertCtx, SqlType, TypeId, Value, convert};

use super::{Dump, IndexRows, Owner, Shape};

/// Print option 1: every record with its bytes.
pub(super) fn records(out: &mut Dump, page: &PageRef<'_>) {
    each(out, page, |out, slot, at, record| {
        let length = record.len();
        out.parent(format!(
            "Slot {slot}, Offset {at:#x}, Length {length}, DumpStyle BYTE"
        ));
        record_head(out, record);
        out.bytes(at, record.bytes());
    });
}

/// Print option 3.
pub(super) fn columns(out: &mut Dump, page: &PageRef<'_>, owner: Option<&Owner>) {
    let shape = owner.and_then(|o| o.shape.as_ref());
    if page.page_type() == page_type::INDEX
        && let Some(rows) = shape.and_then(|shape| index_rows(page, shape))
    {
        out.index = Some(rows);
        return;
    }
    let data = page.page_type() == page_type::DATA;
    let text = matches!(page.page_type(), page_type::TEXT_MIX | page_type::TEXT_TREE);
    each(out, page, |out, slot, at, record| {
        let length = record.len();
        out.parent(format!("Slot {slot} Offset {at:#x} Length {length}"));
        record_head(out, record);
        out.bytes(at, record.bytes());
        if record.kind() == record_kind::FORWARDING_STUB {
            forwarded(out, record);
        } else if text {
            text_node(out, record);
        } else if data && let Some(shape) = shape {
            row(out, slot, record, shape);
        }
    });
}

fn each(
    out: &mut Dump,
    page: &PageRef<'_>,
    mut show: impl FnMut(&mut Dump, u16, usize, RowRef<'_>),
) {
    for slot in 0..page.slot_count() {
        let found = page
            .slot_offset(slot)
            .and_then(|at| Ok((usize::from(at), page.record(slot)?)));
        match found {
            Ok((at, Some(record))) => show(out, slot, at, record),
            Ok(_) => {}
            Err(e) => {
                out.parent(format!("Slot {slot}"));
                out.alone("DuramenPageAudit", e);
                if 2 * usize::from(slot) >= PAGE_BYTES {
                    break;
                }
            }
        }
    }
}

/// Kind, attributes and size.
fn record_head(out: &mut Dump, record: RowRef<'_>) {
    let status = record.status();
    let kind = match record.kind() {
        record_kind::PRIMARY => "PRIMARY_RECORD",
        record_kind::FORWARDED => "FORWARDED_RECORD",
        record_kind::FORWARDING_STUB => "FORWARDING_STUB",
        record_kind::INDEX => "INDEX_RECORD",
        record_kind::BLOB => "BLOB_FRAGMENT",
        record_kind::GHOST_INDEX => "GHOST_INDEX_RECORD",
        record_kind::GHOST_DATA => "GHOST_DATA_RECORD",
        _ => "GHOST_VERSION_RECORD",
    };
    let mut attributes = String::new();
    for (bit, word) in [
        (STATUS_NULL_BITMAP, " NULL_BITMAP"),
        (STATUS_VARIABLE, " VARIABLE_COLUMNS"),
        (STATUS_VERSION_TAG, " VERSIONING_INFO"),
    ] {
        if status & bit != 0 {
            attributes += word;
        }
    }
    out.field("Record Type", kind);
    out.field("Record Attributes", attributes);
    out.field("Record Size", record.len());
    out.end_line();
}

fn forwarded(out: &mut Dump, record: RowRef<'_>) {
    match duramen_format::row::forwarding_target(record) {
        Ok((page, slot)) => {
            let to = format!("file {} page {} slot {slot}", page.file, page.page);
            out.alone("Forwarding to", to);
        }
        Err(e) => out.alone("Forwarding to", e),
    }
}

fn text_node(out: &mut Dump, record: RowRef<'_>) {
    let links = match decode_node(record.bytes()) {
        Ok(lob::Node::Small(b)) => {
            return out.alone("Small Root", format_args!("{} bytes", b.len()));
        }
        Ok(lob::Node::Data(b)) => return out.alone("Data", format_args!("{} bytes", b.len())),
        Ok(lob::Node::Root { level, links } | lob::Node::Internal { level, links }) => {
            out.alone("Level", level);
            links
        }
        Err(e) => return out.alone("DuramenPageAudit", e),
    };
    each_link(out, &links);
}

fn each_link(out: &mut Dump, links: &[lob::Link]) {
    for (i, link) in links.iter().enumerate() {
        let row = format!("({}:{}:{})", link.page.file, link.page.page, link.slot);
        out.alone(
            format!("Link {i}"),
            format_args!("Size = {} RowId = {row}", link.end),
        );
    }
}

/// The columns of a data row.
fn row(out: &mut Dump, slot: u16, record: RowRef<'_>, shape: &Shape) {
    let fields = match decode_fields(&shape.layout, record) {
        Ok(fields) => fields,
        Err(e) => return out.alone("DuramenPageAudit", e),
    };
    let columns = shape.layout.columns.iter().zip(fields).zip(&shape.names);
    for (i, ((c, field), name)) in columns.enumerate() {
        // SQL Server counts a hidden uniquifier as column 0.
        let number = if c.uniquifier { 0 } else { i + 1 };
        let place = Place::of(record.bytes(), c, &field);
        out.object(format!(
            "Slot {slot} Column {number} Offset {:#x} Length {} Length (physical) {}",
            place.offset, place.length, place.physical
        ));
        match &field {
            Field::Complex(pointer) => pointed(out, name, pointer),
            field => out.alone(name, shown(c, field)),
        }
    }
    if record.is_ghost() {
        return;
    }
    if let Some(hash) = key_hash(shape, record) {
        out.object(format!(
            "Slot {slot} Offset 0x0 Length 0 Length (physical) 0"
        ));
        out.alone("KeyHashValue", hash);
    }
}

/// Where a column stands in its row.
struct Place {
    offset: usize,
    length: usize,
    physical: usize,
}

impl Place {
    fn of(record: &[u8], c: &ColumnLayout, field: &Field<'_>) -> Place {
        let bytes: &[u8] = match field {
            Field::Null => {
                return Place {
                    offset: 0,
                    length: if c.uniquifier { 4 } else { 0 },
                    physical: 0,
                };
            }
            Field::Inline(b) | Field::Complex(b) => b,
        };
        // The bytes of a field are a part of the record; those of a bit, which has none of its own, are not.
        let at = (bytes.as_ptr() as usize).wrapping_sub(record.as_ptr() as usize);
        let offset = match at < record.len() {
            true => at,
            false => usize::from(c.leaf_offset.max(0).unsigned_abs()),
        };
        Place {
            offset,
            length: bytes.len(),
            physical: bytes.len(),
        }
    }
}

/// A value that stands elsewhere.
fn pointed(out: &mut Dump, name: &str, pointer: &[u8]) {
    match lob::decode_pointer(pointer) {
        Ok(Pointer::Text { page, slot }) => {
            let row = format!("({}:{}:{slot})", page.file, page.page);
            out.alone(name, format_args!("[Textpointer] RowId = {row}"));
        }
        Ok(Pointer::InRow { links, .. }) => {
            out.alone(name, "[BLOB Inline Root]");
            each_link(out, &links);
        }
        Err(e) => out.alone(name, e),
    }
}

/// A value as text; `[NULL]` where there is none.
fn shown(c: &ColumnLayout, field: &Field<'_>) -> String {
    match value_of(c, field) {
        Ok(Value::Null) => "[NULL]".to_owned(),
        Ok(value) => text_of(&value, &c.ty),
        Err(e) => format!("({})", e.message),
    }
}

fn text_of(value: &Value, ty: &SqlType) -> String {
    if let Value::Binary(b) = value {
        return format!("0x{}", hex(b));
    }
    let style = match ty.id {
        TypeId::DateTime | TypeId::SmallDateTime => Some(121),
        _ => None,
    };
    let to = SqlType::nvarchar(4000);
    let text = convert::convert(value, ty, &to, style, &ConvertCtx::default());
    match text.ok().and_then(|v| v.as_text()) {
        Some(text) => text,
        None => format!("{value:?}"),
    }
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|b| format!("{b:02x}")).collect()
}

/// The lock manager's name of a clustered row.
fn key_hash(shape: &Shape, record: RowRef<'_>) -> Option<String> {
    let def = shape.def.as_ref().filter(|d| !d.keys.is_empty())?;
    let keys = KeyInfo::new(def);
    let key = keys.of_leaf(&shape.layout, record).ok()?;
    Some(format!("({:012x})", keys.hash(&key)))
}

/// The rows of a node or of a nonclustered leaf: place, child, columns. `None` where they are not known.
fn index_rows(page: &PageRef<'_>, shape: &Shape) -> Option<IndexRows> {
    let def = shape.def.as_ref()?;
    let keys = KeyInfo::new(def);
    let node = page.level() > 0;
    let layout: &RowLayout = if node { &keys.node } else { &shape.layout };
    let is_key = |i: usize| def.keys.iter().any(|k| k.column == i);
    let named = |i: usize| {
        let name = shape.names.get(i).map_or("", String::as_str);
        match is_key(i) {
            true => format!("{name} (key)"),
            false => name.to_owned(),
        }
    };
    let mut columns = vec![
        ("FileId".to_owned(), SqlType::INT),
        ("PageId".to_owned(), SqlType::INT),
        ("Row".to_owned(), SqlType::INT),
        ("Level".to_owned(), SqlType::INT),
    ];
    if node {
        columns.push(("ChildFileId".to_owned(), SqlType::INT));
        columns.push(("ChildPageId".to_owned(), SqlType::INT));
    }
    let shown_columns: Vec<String> = match layout.kind {
        RowKind::IndexNode => def.keys.iter().map(|k| named(k.column)).collect(),
        _ => (0..layout.columns.len()).map(named).collect(),
    };
    for (name, c) in shown_columns.into_iter().zip(&layout.columns) {
        columns.push((name, c.ty));
    }
    columns.push(("KeyHashValue".to_owned(), SqlType::varchar(14)));
    columns.push(("Row Size".to_owned(), SqlType::INT));
    let id = page.page_id();
    let number = |n: u32| Value::Int(n as i32);
    let mut rows = Vec::new();
    for slot in 0..page.slot_count() {
        let Ok(Some(record)) = page.record(slot) else {
            continue;
        };
        let mut row = vec![
            number(u32::from(id.file)),
            number(id.page),
            number(u32::from(slot)),
            number(u32::from(page.level())),
        ];
        if node {
            let child = node_child(record, page.pminlen()).unwrap_or_default();
            row.extend([number(u32::from(child.file)), number(child.page)]);
        }
        // The first row of a node says nothing of where its child begins.
        let infinite = node && slot == 0 && page.prev_page().is_null();
        row.extend((0..layout.columns.len()).map(|i| match infinite {
            true => Value::Null,
            false => column_value(layout, record, i).unwrap_or(Value::Null),
        }));
        let key = match node {
            true => None,
            false => keys.of_leaf(layout, record).ok(),
        };
        row.push(key.map_or(Value::Null, |key| {
            Value::varchar(&format!("({:012x})", keys.hash(&key)))
        }));
        row.push(number(record.len() as u32));
        rows.push(row);
    }
    Some((columns, rows))
}

fn column_value(layout: &RowLayout, record: RowRef<'_>, i: usize) -> FormatResult<Value> {
    let field = decode_field(layout, record, i)?;
    Ok(value_of(&layout.columns[i], &field).unwrap_or(Value::Null))
}
