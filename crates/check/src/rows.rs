//! A page by itself: header, slots, records, columns. What it says of others goes to the facts.
//!
//! Only pages of our own files are looked at so closely; of those of others a page's slots and records are
//! (`PageRef::check`).

use duramen_base::messages::{self, Message};
use duramen_base::{PAGE_BYTES, PageId};
use duramen_format::layout::{ColumnLayout, RowKind, RowLayout};
use duramen_format::lob::{Node, Pointer, decode_node, decode_pointer};
use duramen_format::page::{
    BODY_BYTES, HEADER_BYTES, PageRef, STATUS_NULL_BITMAP, STATUS_VARIABLE, page_type, record_kind,
    record_len,
};
use duramen_format::row::{
    Field, Parts, back_pointer, decode_fields, forwarding_target, node_child,
};
use duramen_format::value::decode_value;
use duramen_format::{PageBytes, RowRef};
use duramen_types::{TypeId, Value};

use super::entries::{entry_of, hash_entry, is_silent};
use super::facts::{Facts, Reference, Rid, TreePage, UnitFacts};
use super::finding::Whose;
use super::schema::{Schema, Shape};

/// About what a piece, a reference or a stub takes, with the trees in which they are looked up.
const EACH_BYTES: u64 = 96;

/// What is looked at on pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Depth {
    /// Rows and their columns, keys; not with PHYSICAL_ONLY.
    pub rows: bool,
    /// Whether values are values of their types.
    pub purity: bool,
    /// Indexes against their tables; not with NOINDEX.
    pub indexes: bool,
}

/// One page on its way through.
pub(super) struct Page<'a> {
    pub id: PageId,
    pub bytes: &'a PageBytes,
    pub whose: Whose,
    pub depth: Depth,
    pub schema: &'a Schema,
}

/// A record that can be read.
struct Found<'a> {
    slot: u16,
    record: RowRef<'a>,
}

impl<'a> Page<'a> {
    fn p(&self) -> PageRef<'a> {
        PageRef::new(self.bytes)
    }

    fn say(&self, facts: &mut Facts, message: &Message, rest: &[&dyn std::fmt::Display]) {
        let f = self.whose.finding(message, Some(self.id), rest);
        facts.findings.push(f);
    }

    /// 8939
    fn test(&self, facts: &mut Facts, what: &str, a: i64, b: i64) {
        self.say(
            facts,
            &messages::PAGE_TEST_FAILED,
            &[&self.id, &what, &a, &b],
        );
    }

    /// 8944
    fn row_test(&self, facts: &mut Facts, slot: u16, what: &str, a: i64, b: i64) {
        let args: [&dyn std::fmt::Display; 5] = [&self.id, &slot, &what, &a, &b];
        self.say(facts, &messages::CHECK_ROW_TEST, &args);
    }

    /// Looks at everything that the page can tell by itself.
    pub fn examine(&self, facts: &mut Facts) {
        let p = self.p();
        let before = facts.findings.len();
        let shape = self.schema.of(p.alloc_unit());
        if self.bytes[0] != 1 {
            let version = i64::from(self.bytes[0]);
            self.test(facts, "m_headerVersion == HEADER_7_0", version, 1);
        }
        if !self.right_type(shape, facts) {
            facts.unit(p.alloc_unit()).incomplete = true;
            return self.not_processed(facts);
        }
        let Some(records) = self.slots(facts) else {
            facts.unit(p.alloc_unit()).incomplete = true;
            return self.not_processed(facts);
        };
        match (p.page_type(), shape) {
            (page_type::TEXT_MIX | page_type::TEXT_TREE, _) => self.pieces(&records, facts),
            (page_type::DATA | page_type::INDEX, Some((shape, _))) => {
                self.data_or_index(shape, &records, facts);
            }
            _ => {}
        }
        if facts.findings[before..]
            .iter()
            .any(|f| matches!(f.number, 8939 | 8941..=8943))
        {
            self.not_processed(facts);
        }
    }

    fn not_processed(&self, facts: &mut Facts) {
        self.say(facts, &messages::PAGE_NOT_PROCESSED, &[&self.id]);
    }

    /// 8938: a page of a type that its unit has none of; 8939: a level that it cannot have.
    fn right_type(&self, shape: Option<(&Shape, u8)>, facts: &mut Facts) -> bool {
        let p = self.p();
        let kind = p.page_type();
        let fits = match shape {
            Some((_, 2 | 3)) => matches!(kind, page_type::TEXT_MIX | page_type::TEXT_TREE),
            Some((s, _)) if s.is_heap() => kind == page_type::DATA,
            Some((s, _)) if s.is_index() => kind == page_type::INDEX,
            Some(_) => match p.level() {
                0 => matches!(kind, page_type::DATA | page_type::INDEX),
                _ => kind == page_type::INDEX,
            },
            None => true,
        };
        if !fits {
            let args: [&dyn std::fmt::Display; 1] = [&kind];
            let f = self.whose.finding_after(
                &messages::CHECK_PAGE_TYPE,
                Some(self.id),
                &[&self.id],
                &args,
            );
            facts.findings.push(f);
            return false;
        }
        let flat = matches!(kind, page_type::TEXT_MIX | page_type::TEXT_TREE)
            || shape.is_some_and(|(s, _)| s.is_heap());
        if flat && p.level() != 0 {
            self.test(facts, "m_level == 0", i64::from(p.level()), 0);
            return false;
        }
        if flat && shape.is_some() && !(p.prev_page().is_null() && p.next_page().is_null()) {
            let (a, b) = (p.prev_page().page, p.next_page().page);
            self.test(facts, "m_prevPage == m_nextPage == 0", a.into(), b.into());
        }
        true
    }

    /// The records, when header and slots can be believed.
    fn slots(&self, facts: &mut Facts) -> Option<Vec<Found<'a>>> {
        let p = self.p();
        let slots = usize::from(p.slot_count());
        let array = PAGE_BYTES - 2 * slots.min(BODY_BYTES / 2);
        if 2 * slots > BODY_BYTES {
            let most = (BODY_BYTES / 2) as i64;
            self.test(facts, "m_slotCnt <= MaxSlotCnt", slots as i64, most);
            return None;
        }
        let free_data = usize::from(p.free_data());
        if free_data < HEADER_BYTES || free_data > array {
            let what = "m_freeData >= PAGEHEADSIZE && m_freeData <= (UINT)PAGESIZE - m_slotCnt * sizeof (Slot)";
            self.test(facts, what, free_data as i64, array as i64);
            return None;
        }
        let heap_like = self
            .schema
            .of(p.alloc_unit())
            .is_none_or(|(s, kind)| s.is_heap() || kind != 1);
        let mut spans = Vec::with_capacity(slots);
        let mut found = Vec::with_capacity(slots);
        let mut used = 0;
        let mut sound = true;
        for slot in 0..p.slot_count() {
            let at = PAGE_BYTES - 2 * (usize::from(slot) + 1);
            let offset = usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]));
            if offset == 0 && heap_like {
                continue;
            }
            if offset < HEADER_BYTES || offset >= array {
                let what = "sorted [i].offset >= PAGEHEADSIZE";
                let hex = format!("{offset:x}");
                let args: [&dyn std::fmt::Display; 4] = [&self.id, &what, &slot, &hex];
                self.say(facts, &messages::CHECK_SLOT_OFFSET, &args);
                sound = false;
                continue;
            }
            let all = &self.bytes[offset..array];
            let Ok(len) = record_len(all, p.pminlen()) else {
                let rest = (array - offset) as i64;
                self.row_test(
                    facts,
                    slot,
                    "ColumnOffsets <= (nextRec - pRec)",
                    rest + 1,
                    rest,
                );
                sound = false;
                continue;
            };
            if offset + len > free_data {
                let what = "sorted[i].offset + length <= m_freeData";
                let hex = format!("{free_data:x}");
                let args: [&dyn std::fmt::Display; 4] = [&self.id, &what, &slot, &hex];
                self.say(facts, &messages::CHECK_SLOT_IN_FREE_SPACE, &args);
                sound = false;
                continue;
            }
            spans.push((offset, len, slot));
            used += len;
            found.push(Found {
                slot,
                record: RowRef::new(&all[..len]),
            });
        }
        spans.sort_unstable();
        for pair in spans.windows(2) {
            if pair[0].0 + pair[0].1 > pair[1].0 {
                let what = "sorted[i].offset >= sorted[i - 1].offset + length";
                let hex = format!("{:x}", pair[1].0);
                let args: [&dyn std::fmt::Display; 4] = [&self.id, &what, &pair[1].2, &hex];
                self.say(facts, &messages::CHECK_SLOT_OVERLAP, &args);
                sound = false;
            }
        }
        if !sound {
            return None;
        }
        let free = (BODY_BYTES as i64) - (used + 2 * slots) as i64;
        if i64::from(p.free_bytes()) != free {
            self.test(facts, "m_freeCnt == freeCnt", p.free_bytes().into(), free);
        }
        let ghosts = found.iter().filter(|f| f.record.is_ghost()).count();
        if usize::from(p.ghost_count()) != ghosts {
            let args: [&dyn std::fmt::Display; 3] = [&p.ghost_count(), &ghosts, &self.id];
            self.say(facts, &messages::CHECK_GHOST_COUNT, &args);
        }
        Some(found)
    }

    fn data_or_index(&self, shape: &Shape, records: &[Found<'_>], facts: &mut Facts) {
        let p = self.p();
        let leaf = p.level() == 0 && (p.page_type() == page_type::DATA || shape.is_index());
        if !shape.known {
            if !shape.is_heap() {
                self.links_only(shape, leaf, records, facts);
            }
            return;
        }
        if !shape.is_heap() {
            let layout = if leaf {
                &*shape.def.layout
            } else {
                &shape.keys.node
            };
            // Data rows say themselves how long their fixed part is.
            if !(leaf && layout.kind == RowKind::Data) && p.pminlen() != layout.pminlen {
                let (a, b) = (p.pminlen().into(), layout.pminlen.into());
                self.test(facts, "m_pminlen == minLen", a, b);
                facts.unit(shape.unit).incomplete = true;
                return;
            }
        }
        if shape.is_heap() || leaf {
            self.leaf(shape, records, facts);
        } else {
            self.node(shape, records, facts);
        }
    }

    fn tree_page(&self) -> TreePage {
        let p = self.p();
        TreePage {
            id: self.id,
            level: p.level(),
            prev: p.prev_page(),
            next: p.next_page(),
            low: None,
            high: None,
            children: Vec::new(),
        }
    }

    /// A page of a tree whose keys cannot be read.
    fn links_only(&self, shape: &Shape, leaf: bool, records: &[Found<'_>], facts: &mut Facts) {
        let mut page = self.tree_page();
        if !leaf {
            for f in records {
                if let Ok(child) = node_child(f.record, self.p().pminlen()) {
                    page.children.push((f.slot, child, None));
                }
            }
        }
        facts.add_tree_page(shape.unit, page);
    }

    fn node(&self, shape: &Shape, records: &[Found<'_>], facts: &mut Facts) {
        let mut page = self.tree_page();
        let p = self.p();
        if records.is_empty() {
            let args: [&dyn std::fmt::Display; 1] = [&p.level()];
            let f = self.whose.finding_after(
                &messages::CHECK_EMPTY_PAGE,
                Some(self.id),
                &[&self.id],
                &args,
            );
            facts.findings.push(f);
        }
        let mut last: Option<(u16, Vec<Value>)> = None;
        for f in records {
            let status = f.record.status();
            if f.record.kind() != record_kind::INDEX || status & 0x81 != 0 {
                let status = i64::from(status);
                self.row_test(facts, f.slot, "hdr.r_tagA is an index record's", status, 6);
                continue;
            }
            if !self.sound_columns(&shape.keys.node, f, facts) {
                continue;
            }
            let Ok(child) = node_child(f.record, p.pminlen()) else {
                continue;
            };
            let key = shape.keys.of_node(f.record).ok();
            // The first entry stands for everything below the second.
            if self.depth.rows && f.slot > 0 {
                match &key {
                    Some(key) => {
                        self.order(shape, last.as_ref(), f.slot, key, facts);
                        last = Some((f.slot, key.clone()));
                    }
                    None => self.bad_record(f.slot, "key columns", facts),
                }
            }
            page.children.push((f.slot, child, key));
        }
        page.high = last.map(|(_, key)| key);
        facts.add_tree_page(shape.unit, page);
    }

    /// 2511 and 2512
    fn order(
        &self,
        shape: &Shape,
        last: Option<&(u16, Vec<Value>)>,
        slot: u16,
        key: &[Value],
        facts: &mut Facts,
    ) {
        let Some((before, lower)) = last else { return };
        match shape.keys.cmp_values(lower, key) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => {
                let args: [&dyn std::fmt::Display; 4] = [&self.id, before, &self.id, &slot];
                self.say(facts, &messages::CHECK_DUPLICATE_KEYS, &args);
            }
            std::cmp::Ordering::Greater => {
                let args: [&dyn std::fmt::Display; 3] = [&self.id, before, &slot];
                self.say(facts, &messages::CHECK_KEY_ORDER, &args);
            }
        }
    }

    /// 2537
    fn bad_record(&self, slot: u16, what: &str, facts: &mut Facts) {
        let args: [&dyn std::fmt::Display; 5] = [&self.id, &slot, &what, &0, &0];
        self.say(facts, &messages::CHECK_RECORD, &args);
    }

    fn leaf(&self, shape: &Shape, records: &[Found<'_>], facts: &mut Facts) {
        let layout = &*shape.def.layout;
        let mut page = self.tree_page();
        let mut last: Option<(u16, Vec<Value>)> = None;
        let sums = match shape.is_index() {
            true => 1,
            false => shape.over.len(),
        };
        let mut own = std::mem::take(facts.unit(shape.unit));
        own.sums.resize(sums, super::facts::Sum::default());
        for f in records {
            let (status, kind) = (f.record.status(), f.record.kind());
            let allowed: &[u8] = match (shape.is_heap(), shape.is_index()) {
                (true, _) => &[
                    record_kind::PRIMARY,
                    record_kind::FORWARDED,
                    record_kind::FORWARDING_STUB,
                    record_kind::GHOST_DATA,
                ],
                (_, true) => &[record_kind::INDEX, record_kind::GHOST_INDEX],
                _ => &[record_kind::PRIMARY, record_kind::GHOST_DATA],
            };
            if !allowed.contains(&kind) || status & 0x81 != 0 {
                self.row_test(facts, f.slot, "hdr.r_tagA", status.into(), kind.into());
                own.incomplete = true;
                continue;
            }
            let here: Rid = (self.id, f.slot);
            if kind == record_kind::FORWARDING_STUB {
                match forwarding_target(f.record) {
                    Ok(to) => {
                        own.stubs.push((here, to));
                        facts.bytes += EACH_BYTES;
                    }
                    Err(_) => self.bad_record(f.slot, "forwarding stub", facts),
                }
                continue;
            }
            if kind == record_kind::FORWARDED {
                match back_pointer(f.record) {
                    Ok(stub) => {
                        own.forwarded.push((here, stub));
                        facts.bytes += EACH_BYTES;
                    }
                    Err(_) => self.bad_record(f.slot, "back pointer", facts),
                }
            }
            if !self.sound_columns(layout, f, facts) {
                own.incomplete = true;
                continue;
            }
            if !self.depth.rows {
                continue;
            }
            self.row(shape, f, &mut own, facts);
            if !shape.is_heap() {
                match shape.keys.of_leaf(layout, f.record) {
                    Ok(key) => {
                        self.order(shape, last.as_ref(), f.slot, &key, facts);
                        if page.low.is_none() {
                            page.low = Some(key.clone());
                        }
                        last = Some((f.slot, key));
                    }
                    Err(_) => own.incomplete = true,
                }
            }
        }
        page.high = last.map(|(_, key)| key);
        *facts.unit(shape.unit) = own;
        if !shape.is_heap() {
            facts.add_tree_page(shape.unit, page);
        }
    }

    /// Whether null bitmap and end offsets are within the record and in order. 8944
    fn sound_columns(&self, layout: &RowLayout, f: &Found<'_>, facts: &mut Facts) -> bool {
        let (r, status) = (f.record.bytes(), f.record.status());
        let u16_at = |at: usize| -> Option<usize> {
            Some(usize::from(u16::from_le_bytes([
                *r.get(at)?,
                *r.get(at + 1)?,
            ])))
        };
        let mut at = match layout.kind {
            RowKind::Data => u16_at(2).unwrap_or(0),
            _ => usize::from(layout.pminlen),
        };
        if layout.kind == RowKind::Data {
            if at < 4 || at > usize::from(layout.pminlen) {
                let least = i64::from(layout.pminlen);
                self.row_test(facts, f.slot, "fixed length", at as i64, least);
                return false;
            }
            if r[1] & !1 != 0 {
                self.row_test(facts, f.slot, "hdr.r_tagB", r[1].into(), 0);
                return false;
            }
            if status & STATUS_NULL_BITMAP == 0 {
                self.row_test(facts, f.slot, "HasNullBitmap", status.into(), 0x10);
                return false;
            }
        }
        if status & STATUS_NULL_BITMAP != 0 {
            let columns = u16_at(at).unwrap_or(usize::MAX);
            if columns > 1024 + 1 || columns == 0 {
                self.row_test(facts, f.slot, "columnCount", columns as i64, 1024);
                return false;
            }
            at += 2 + columns.div_ceil(8);
        } else if layout.kind != RowKind::Data && layout.has_null_bitmap() {
            self.row_test(facts, f.slot, "HasNullBitmap", status.into(), 0x10);
            return false;
        }
        if status & STATUS_VARIABLE != 0 {
            let count = u16_at(at).unwrap_or(usize::MAX);
            // The pointer back to its stub is a forwarded row's last.
            let most = usize::from(layout.variable_columns) + 1;
            if count == 0 || count > most.max(1024) || at + 2 + 2 * count > r.len() {
                self.row_test(facts, f.slot, "varColumnCount", count as i64, most as i64);
                return false;
            }
            let mut low = at + 2 + 2 * count;
            for i in 0..count {
                let end = u16_at(at + 2 + 2 * i).unwrap_or(0) & 0x7fff;
                if end < low || end > r.len() {
                    let what = "VarColOffsets <= (nextRec - pRec)";
                    self.row_test(facts, f.slot, what, end as i64, low as i64);
                    return false;
                }
                low = end;
            }
        }
        true
    }

    /// The columns of a row: NULL, values of their types, pointers out of the row; and what indexes should have of it.
    fn row(&self, shape: &Shape, f: &Found<'_>, own: &mut UnitFacts, facts: &mut Facts) {
        let layout = &*shape.def.layout;
        let Ok(fields) = decode_fields(layout, f.record) else {
            self.bad_record(f.slot, "columns", facts);
            own.incomplete = true;
            return;
        };
        let ghost = f.record.is_ghost();
        let parts = Parts::read(layout, f.record);
        for (i, (c, field)) in layout.columns.iter().zip(&fields).enumerate() {
            match field {
                Field::Null => {
                    // A column that was added later is not in the row.
                    let there = parts.as_ref().is_ok_and(|p| p.has(c));
                    if !c.nullable && c.leaf_offset != 0 && there {
                        let name = &shape.columns[i];
                        let args: [&dyn std::fmt::Display; 3] = [&self.id, &f.slot, name];
                        self.say(facts, &messages::CHECK_NULL_IN_ROW, &args);
                    }
                }
                Field::Inline(b) => {
                    if self.depth.purity && !pure(c, b) {
                        self.impure(shape, i, f.slot, facts);
                    }
                }
                // The pieces of a deleted row are gone, the row is not yet.
                Field::Complex(_) if ghost => {}
                Field::Complex(b) => {
                    if !self.references(shape, c, (f.slot, b), facts) {
                        let args: [&dyn std::fmt::Display; 3] = [&self.id, &f.slot, &(i + 1)];
                        self.say(facts, &messages::CHECK_COMPLEX_COLUMN, &args);
                    }
                }
            }
        }
        if ghost || !self.depth.indexes {
            return;
        }
        // A value outside the row may be inside the entry: nothing is said of indexes of such rows.
        let outside = layout
            .columns
            .iter()
            .zip(&fields)
            .any(|(c, f)| matches!(f, Field::Complex(_)) && !is_silent(c));
        own.incomplete |= outside;
        if shape.is_index() {
            own.sums[0].add(hash_entry(layout, &fields));
            return;
        }
        let rid = match f.record.kind() {
            record_kind::FORWARDED => back_pointer(f.record).unwrap_or((self.id, f.slot)),
            _ => (self.id, f.slot),
        };
        for (n, over) in shape.over.iter().enumerate() {
            own.sums[n].add(entry_of(layout, &fields, &over.sources, rid));
        }
    }

    /// 2570
    fn impure(&self, shape: &Shape, column: usize, slot: u16, facts: &mut Facts) {
        let ty = shape.def.layout.columns[column].ty.id.name();
        let name = &shape.columns[column];
        let f = self.whose.finding_after(
            &messages::COLUMN_VALUE_OUT_OF_RANGE,
            Some(self.id),
            &[&self.id, &slot],
            &[name, &ty],
        );
        facts.findings.push(f);
    }

    /// Notes what a pointer points to; false when it is none.
    fn references(
        &self,
        shape: &Shape,
        c: &ColumnLayout,
        (slot, pointer): (u16, &[u8]),
        facts: &mut Facts,
    ) -> bool {
        let Some(lob) = shape.lob.filter(|_| c.is_variable()) else {
            return false;
        };
        let from = (self.id, slot);
        let list = facts.references.entry(lob).or_default();
        match decode_pointer(pointer) {
            Ok(Pointer::Text { page, slot }) => {
                if !page.is_null() {
                    facts.bytes += EACH_BYTES;
                    let blob = u32::from_le_bytes(pointer[4..8].try_into().unwrap_or_default());
                    list.push(Reference {
                        to: (page, slot),
                        from,
                        blob,
                        from_row: true,
                    });
                }
                true
            }
            Ok(Pointer::InRow { links, level, .. }) => {
                let mut end = 0;
                let rises = links
                    .iter()
                    .all(|l| std::mem::replace(&mut end, l.end) < l.end);
                if links.is_empty() || !rises || level > 8 {
                    return false;
                }
                let blob = u32::from_le_bytes(pointer[8..12].try_into().unwrap_or_default());
                facts.bytes += EACH_BYTES * links.len() as u64;
                list.extend(links.iter().map(|l| Reference {
                    to: (l.page, l.slot),
                    from,
                    blob,
                    from_row: true,
                }));
                true
            }
            Err(_) => false,
        }
    }

    /// Pieces of values. 8962 for one that is none, 8963 for one on a page of the other type.
    fn pieces(&self, records: &[Found<'_>], facts: &mut Facts) {
        let unit = self.whose.unit;
        for f in records {
            let (r, status) = (f.record.bytes(), f.record.status());
            let id = |r: &[u8]| -> Option<u64> {
                Some(u64::from_le_bytes(r.get(4..12)?.try_into().ok()?))
            };
            let (true, Some(blob)) = (f.record.kind() == record_kind::BLOB && status == 8, id(r))
            else {
                self.row_test(facts, f.slot, "hdr.r_tagA", status.into(), 8);
                facts.unit(unit).incomplete = true;
                continue;
            };
            let kind = r.get(12).copied().unwrap_or(0);
            facts.unit(unit).pieces.push(((self.id, f.slot), blob));
            facts.bytes += EACH_BYTES;
            let text = blob as i64;
            match decode_node(r) {
                Ok(Node::Root { links, .. } | Node::Internal { links, .. }) => {
                    let mut end = 0;
                    let rises = links
                        .iter()
                        .all(|l| std::mem::replace(&mut end, l.end) < l.end);
                    if links.is_empty() || !rises {
                        let args: [&dyn std::fmt::Display; 4] = [&self.id, &f.slot, &text, &kind];
                        self.say(facts, &messages::CHECK_OFF_ROW_TYPE, &args);
                    }
                    let from = (self.id, f.slot);
                    facts.bytes += EACH_BYTES * links.len() as u64;
                    let list = facts.references.entry(unit).or_default();
                    list.extend(links.iter().map(|l| Reference {
                        to: (l.page, l.slot),
                        from,
                        blob: blob as u32,
                        from_row: false,
                    }));
                }
                Ok(Node::Small(_) | Node::Data(_)) => {}
                Err(_) => {
                    let args: [&dyn std::fmt::Display; 4] = [&self.id, &f.slot, &text, &kind];
                    self.say(facts, &messages::CHECK_OFF_ROW_TYPE, &args);
                }
            }
        }
    }
}

/// Whether bytes are a value of the column's type. Of most types all bytes are.
fn pure(c: &ColumnLayout, b: &[u8]) -> bool {
    match c.ty.id {
        TypeId::TinyInt
        | TypeId::SmallInt
        | TypeId::Int
        | TypeId::BigInt
        | TypeId::Money
        | TypeId::SmallMoney
        | TypeId::UniqueIdentifier
        | TypeId::Bit
        | TypeId::Char
        | TypeId::NChar
        | TypeId::Binary
        | TypeId::RowVersion
        | TypeId::Image
        | TypeId::Udt => true,
        _ if c.uniquifier => matches!(b.len(), 0 | 4),
        TypeId::Float => b
            .try_into()
            .is_ok_and(|b| f64::from_le_bytes(b).is_finite()),
        TypeId::Real => b
            .try_into()
            .is_ok_and(|b| f32::from_le_bytes(b).is_finite()),
        TypeId::VarChar | TypeId::VarBinary => c.ty.is_max() || b.len() <= c.ty.length.into(),
        TypeId::NVarChar => {
            b.len().is_multiple_of(2) && (c.ty.is_max() || b.len() <= c.ty.length.into())
        }
        _ => decode_value(&c.ty, b).is_ok(),
    }
}
