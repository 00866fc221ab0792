//! How pages and records hang together: trees, forwarded rows, values outside their rows.

use std::collections::BTreeMap;
use std::fmt::Display;

use duramen_base::messages::{self, Message};
use duramen_base::{AllocUnitId, PageId};
use duramen_os::thread;

use super::facts::{Facts, Reference, Rid, TreePage, UnitFacts};
use super::finding::{Finding, Whose};
use super::schema::{Schema, Shape};

/// Who refers to a page.
#[derive(Clone, Copy, Default, Debug)]
struct Refs {
    /// Parent, slot, and the child of the slot before.
    parent: Option<(PageId, u16, Option<PageId>)>,
    previous: Option<PageId>,
}

struct Tree<'a> {
    shape: &'a Shape,
    whose: Whose,
    pages: BTreeMap<PageId, &'a TreePage>,
    refs: BTreeMap<PageId, Refs>,
    out: Vec<Finding>,
}

/// Judges the trees of all rowsets. `reached`: the files that are here.
pub(super) fn trees(
    schema: &Schema,
    facts: &Facts,
    reached: &dyn Fn(PageId) -> bool,
) -> Vec<Finding> {
    let mut out = Vec::new();
    for shape in schema.shapes.iter().filter(|s| !s.is_heap()) {
        let Some(unit) = facts.units.get(&shape.unit) else {
            continue;
        };
        let mut tree = Tree {
            shape,
            whose: schema.whose(shape.unit),
            pages: unit.tree.iter().map(|p| (p.id, p)).collect(),
            refs: BTreeMap::new(),
            out: Vec::new(),
        };
        tree.gather();
        tree.judge(reached);
        out.extend(tree.out);
    }
    out
}

impl Tree<'_> {
    fn say(&mut self, message: &Message, page: PageId, rest: &[&dyn Display]) {
        let f = self.whose.finding(message, Some(page), rest);
        self.out.push(f);
    }

    fn gather(&mut self) {
        let pages: Vec<&TreePage> = self.pages.values().copied().collect();
        for page in pages {
            if thread::is_given_up() {
                return;
            }
            let mut before = None;
            for (slot, child, _) in &page.children {
                let refs = self.refs.entry(*child).or_default();
                if let Some((other, at, _)) = refs.parent {
                    let args: [&dyn Display; 5] = [child, &other, &at, &page.id, slot];
                    let child = *child;
                    self.say(&messages::CHECK_TWO_PARENTS, child, &args);
                } else {
                    refs.parent = Some((page.id, *slot, before));
                }
                before = Some(*child);
            }
            if !page.next.is_null() {
                let refs = self.refs.entry(page.next).or_default();
                refs.previous.get_or_insert(page.id);
            }
        }
    }

    fn judge(&mut self, reached: &dyn Fn(PageId) -> bool) {
        let refs = std::mem::take(&mut self.refs);
        for (id, r) in &refs {
            // A file that is not here cannot be judged.
            if self.pages.contains_key(id) || !reached(*id) {
                continue;
            }
            match (r.parent, r.previous) {
                (Some((parent, _, _)), Some(previous)) => {
                    let args: [&dyn Display; 3] = [id, &parent, &previous];
                    self.say(&messages::CHECK_CHILD_NOT_SEEN, *id, &args);
                }
                (Some((parent, slot, before)), None) => {
                    let before = before.unwrap_or_default();
                    let args: [&dyn Display; 4] = [&parent, &slot, id, &before];
                    self.say(&messages::CHECK_NO_CHILD, *id, &args);
                }
                (None, Some(previous)) => {
                    let args: [&dyn Display; 3] = [&previous, id, id];
                    self.say(&messages::CHECK_NO_NEXT, *id, &args);
                }
                (None, None) => {}
            }
        }
        let pages: Vec<&TreePage> = self.pages.values().copied().collect();
        for page in pages {
            if thread::is_given_up() {
                return;
            }
            let r = refs.get(&page.id).copied().unwrap_or_default();
            self.references(page, r);
            // A link into no file is not what the end of a chain has, and a root has no neighbours.
            let root = self.shape.root == page.id;
            for link in [page.prev, page.next] {
                if !link.is_null() && (link.file == 0 || root) {
                    let args: [&dyn Display; 4] = [&page.id, &link, &link, &PageId::NULL];
                    self.say(&messages::CHECK_CHAIN_LINKAGE, page.id, &args);
                }
            }
            self.neighbour(page, &refs);
            self.children(page);
        }
    }

    /// Parent and previous page know the page, as it knows them.
    fn references(&mut self, page: &TreePage, r: Refs) {
        let id = page.id;
        let root = self.shape.root == id;
        match (r.parent, r.previous) {
            (None, None) if root => {}
            (None, None) => {
                let args: [&dyn Display; 2] = [&id, &page.prev];
                self.say(&messages::CHECK_NO_PARENT_NO_PREVIOUS, id, &args);
            }
            (None, Some(_)) => self.say(&messages::CHECK_NO_PARENT, id, &[&id]),
            (Some(_), None) if !page.prev.is_null() => {
                self.say(&messages::CHECK_NO_PREVIOUS, id, &[&id, &page.prev]);
            }
            _ => {}
        }
        if let Some((parent, slot, Some(before))) = r.parent
            && page.prev != before
        {
            let args: [&dyn Display; 5] = [&page.prev, &id, &before, &parent, &slot];
            self.say(&messages::CHECK_PREVIOUS_OF_PARENT, id, &args);
        }
        if let Some(parent) = r.parent.and_then(|(p, _, _)| self.pages.get(&p).copied())
            && page.level.checked_add(1) != Some(parent.level)
        {
            let expected = parent.level.saturating_sub(1);
            let args: [&dyn Display; 4] = [&id, &page.level, &expected, &parent.id];
            self.say(&messages::CHECK_LEVEL_OF_PARENT, id, &args);
        }
    }

    /// The next page of the level.
    fn neighbour(&mut self, page: &TreePage, refs: &BTreeMap<PageId, Refs>) {
        let Some(next) = self.pages.get(&page.next).copied() else {
            return;
        };
        if next.prev != page.id {
            let args: [&dyn Display; 4] = [&page.id, &next.id, &next.id, &next.prev];
            self.say(&messages::CHECK_CHAIN_LINKAGE, page.id, &args);
        }
        if next.level != page.level {
            let args: [&dyn Display; 4] = [&next.id, &next.level, &page.level, &page.id];
            self.say(&messages::CHECK_LEVEL_OF_PREVIOUS, next.id, &args);
        }
        if page.level == 0
            && let (Some(high), Some(low)) = (&page.high, &next.low)
            && self.shape.keys.cmp_values(high, low).is_ge()
        {
            let parent = refs.get(&next.id).and_then(|r| r.parent);
            let (parent, slot) = parent.map_or((PageId::NULL, 0), |(p, s, _)| (p, s));
            let args: [&dyn Display; 5] = [&page.id, &page.level, &parent, &slot, &next.id];
            self.say(&messages::CHECK_HIGH_KEY, page.id, &args);
        }
    }

    /// Keys of children are between those of the entries.
    fn children(&mut self, page: &TreePage) {
        let keys = &self.shape.keys;
        let mut found: Vec<(&Message, PageId, u8, u16, PageId)> = Vec::new();
        for (i, (slot, child, key)) in page.children.iter().enumerate() {
            let Some(child) = self.pages.get(child).copied() else {
                continue;
            };
            // Of inner pages the first key is the second entry's.
            let low = child.low.as_ref();
            let low = low.or_else(|| child.children.get(1).and_then(|c| c.2.as_ref()));
            if let (Some(low), Some(key), true) = (low, key, *slot > 0)
                && keys.cmp_values(low, key).is_lt()
            {
                found.push((
                    &messages::CHECK_LOW_KEY,
                    child.id,
                    child.level,
                    *slot,
                    child.id,
                ));
            }
            if let (Some(high), Some((next, neighbour, Some(limit)))) =
                (&child.high, page.children.get(i + 1))
                && keys.cmp_values(high, limit).is_ge()
            {
                let at = (
                    &messages::CHECK_HIGH_KEY,
                    child.id,
                    child.level,
                    *next,
                    *neighbour,
                );
                found.push(at);
            }
        }
        for (message, child, level, slot, next) in found {
            let low: [&dyn Display; 4] = [&child, &level, &page.id, &slot];
            let high: [&dyn Display; 5] = [&child, &level, &page.id, &slot, &next];
            match message.number {
                8933 => self.say(message, child, &low),
                _ => self.say(message, child, &high),
            }
        }
    }
}

/// Rows that have moved: each stub has its row, each row its stub.
pub(super) fn heaps(schema: &Schema, facts: &Facts) -> Vec<Finding> {
    let mut out = Vec::new();
    for shape in schema.shapes.iter().filter(|s| s.is_heap()) {
        if let Some(unit) = facts.units.get(&shape.unit) {
            forwarded(shape, schema.whose(shape.unit), unit, &mut out);
        }
    }
    out
}

fn forwarded(shape: &Shape, whose: Whose, unit: &UnitFacts, out: &mut Vec<Finding>) {
    let rows: BTreeMap<Rid, Rid> = unit.forwarded.iter().copied().collect();
    let stubs: BTreeMap<Rid, Rid> = unit.stubs.iter().copied().collect();
    let object = shape.object;
    let plain = |message: &Message, a: Rid, b: Rid| Finding {
        number: message.number.unsigned_abs(),
        severity: message.severity,
        state: 1,
        page: Some(a.0),
        object: Some(object),
        unit: None,
        text: messages::format_message(message.text, &[&object, &a.0, &a.1, &b.0, &b.1]),
    };
    for (stub, to) in &stubs {
        match rows.get(to) {
            None => out.push(plain(&messages::CHECK_FORWARDED_NOT_SEEN, *stub, *to)),
            Some(back) if back == stub => {}
            // The row belongs to another stub, which has it.
            Some(back) if stubs.get(back) == Some(to) => {
                let args: [&dyn Display; 6] = [&stub.0, &stub.1, &to.0, &to.1, &back.0, &back.1];
                let f = whose.finding(&messages::CHECK_FORWARDED_TWICE, Some(stub.0), &args);
                out.push(f);
            }
            Some(back) => {
                let args: [&dyn Display; 6] = [&stub.0, &stub.1, &to.0, &to.1, &back.0, &back.1];
                let f = whose.finding(&messages::CHECK_FORWARDED_MISMATCH, Some(stub.0), &args);
                out.push(f);
            }
        }
    }
    for (row, back) in &rows {
        if stubs.get(back) != Some(row) {
            out.push(plain(&messages::CHECK_FORWARDING_NOT_SEEN, *row, *back));
        }
    }
}

/// Values outside their rows: every piece has one reference, every reference a piece of the same value.
pub(super) fn values(schema: &Schema, facts: &Facts) -> Vec<Finding> {
    let mut out = Vec::new();
    let units: std::collections::BTreeSet<AllocUnitId> = facts
        .references
        .keys()
        .copied()
        .chain(schema.shapes.iter().filter_map(|s| s.lob))
        .collect();
    for unit in units {
        let whose = schema.whose(unit);
        let empty = Vec::new();
        let references = facts.references.get(&unit).unwrap_or(&empty);
        let seen = facts.units.get(&unit).map_or(&[][..], |u| &u.pieces);
        pieces(schema, whose, references, seen, &mut out);
    }
    out
}

fn pieces(
    schema: &Schema,
    whose: Whose,
    references: &[Reference],
    seen: &[(Rid, u64)],
    out: &mut Vec<Finding>,
) {
    let at: BTreeMap<Rid, u64> = seen.iter().copied().collect();
    let mut by: BTreeMap<Rid, Reference> = BTreeMap::new();
    let mut owners = std::collections::BTreeSet::new();
    for r in references {
        if thread::is_given_up() {
            return;
        }
        let (to, from) = (r.to, r.from);
        let text = i64::from(r.blob);
        let args: [&dyn Display; 5] = [&to.0, &to.1, &text, &from.0, &from.1];
        let wrong = match at.get(&to) {
            None => Some(&messages::CHECK_OFF_ROW_MISSING),
            Some(blob) if *blob as u32 != r.blob => Some(&messages::CHECK_OFF_ROW_MISMATCH),
            Some(_) => None,
        };
        if let Some(message) = wrong {
            out.push(whose.finding(message, Some(to.0), &args));
            if r.from_row && owners.insert((from, r.blob)) {
                owner(schema, whose, r, out);
            }
        }
        if let Some(other) = by.insert(to, *r) {
            let (a, b) = (other.from, from);
            let args: [&dyn Display; 7] = [&to.0, &to.1, &text, &a.0, &a.1, &b.0, &b.1];
            out.push(whose.finding(&messages::CHECK_OFF_ROW_SHARED, Some(to.0), &args));
        }
    }
    for (piece, blob) in &at {
        if !by.contains_key(piece) {
            let text = i64::from(*blob as u32);
            let args: [&dyn Display; 3] = [&piece.0, &piece.1, &text];
            out.push(whose.finding(&messages::CHECK_OFF_ROW_ORPHAN, Some(piece.0), &args));
        }
    }
}

/// 8929: whose value it is.
fn owner(schema: &Schema, lob: Whose, r: &Reference, out: &mut Vec<Finding>) {
    let row = schema.of(lob.unit).map(|(s, _)| schema.whose(s.unit));
    let row = row.unwrap_or(lob);
    let place = format!("RID = ({}:{}:{})", r.from.0.file, r.from.0.page, r.from.1);
    let text = i64::from(r.blob);
    let args: [&dyn Display; 3] = [&text, &"data", &place];
    out.push(row.finding(&messages::CHECK_OFF_ROW_OWNER, Some(r.from.0), &args));
}
