//! What holds for every page that this program has made: asserted before a page is written down, and when it is read.
//!
//! A page that comes from the disk may be anything: another program's, or damaged. It is looked at by the same rules, and
//! what it breaks when it comes it may break when it goes ([`faults`]): only what was sound must stay so. But where all
//! pages are ours, in the simulator and in tests of rooms that make them ([`expect_own`]), one that comes with a sound checksum is sound.

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::PAGE_BYTES;

use super::RowRef;
use super::page::{BODY_BYTES, HEADER_BYTES, PageRef, page_type, record_kind};

#[cfg(debug_assertions)]
static ALL_OWN: AtomicBool = AtomicBool::new(false);

/// From now on every page that this process reads, in whatever world of it, is one that the program has made: debug builds
/// assert so. Pages that are damaged on purpose, without a checksum that fits, are errors before that.
pub fn expect_own() {
    #[cfg(debug_assertions)]
    ALL_OWN.store(true, Ordering::Relaxed);
}

/// Whether a page that has been read must be sound.
#[cfg(debug_assertions)]
pub fn must_be_own() -> bool {
    ALL_OWN.load(Ordering::Relaxed)
}

type Rule = (&'static str, fn(PageRef<'_>) -> bool);

/// The rules, each by the bit of its place.
const RULES: [Rule; 16] = [
    ("the page has an id", |p| !p.page_id().is_null()),
    ("the header's version is 1", |p| p.header_version() == 1),
    ("the slot array fits the page", |p| array(p) <= BODY_BYTES),
    ("records begin behind the header", |p| {
        usize::from(p.free_data()) >= HEADER_BYTES
    }),
    ("records end before the slot array", |p| {
        usize::from(p.free_data()) + array(p) <= PAGE_BYTES
    }),
    ("what is free fits beside the slots", |p| {
        usize::from(p.free_bytes()) + array(p) <= BODY_BYTES
    }),
    (
        "free bytes, records and slots come to the page's body",
        |p| {
            records(p)
                .is_none_or(|bytes| usize::from(p.free_bytes()) + bytes + array(p) == BODY_BYTES)
        },
    ),
    ("records do not overlap, slots lead to records", |p| {
        p.check().is_ok()
    }),
    ("what the youngest has reserved is part of the whole", |p| {
        p.xact_reserved() <= p.reserved_bytes()
    }),
    ("room is reserved for a transaction", |p| {
        p.reserved_bytes() == 0 || p.xdes().0 != 0
    }),
    ("no more ghosts than slots", |p| {
        p.ghost_count() <= p.slot_count()
    }),
    ("a page is not its own neighbour", |p| {
        p.page_id() != p.next_page() && p.page_id() != p.prev_page()
    }),
    (
        "a page between two others lies between different ones",
        |p| p.next_page().is_null() || p.next_page() != p.prev_page(),
    ),
    ("a tree is not higher than it is searched", |p| {
        p.level() < 64
    }),
    ("an inner page has an entry in every slot", |p| {
        p.page_type() != page_type::INDEX || (0..p.slot_count()).all(|s| p.slot_offset(s) != Ok(0))
    }),
    ("an inner page has no ghosts", |p| {
        p.page_type() != page_type::INDEX
            || p.level() == 0
            || (0..p.slot_count()).all(|s| p.record(s).is_ok_and(|r| r.is_none_or(is_entry)))
    }),
];

/// Bytes of the slot array.
fn array(p: PageRef<'_>) -> usize {
    2 * usize::from(p.slot_count())
}

/// Bytes of all records; `None` where they cannot be told, which is another rule's.
fn records(p: PageRef<'_>) -> Option<usize> {
    (0..p.slot_count()).try_fold(0, |sum, slot| {
        let record = p.record(slot).ok()?;
        Some(sum + record.map_or(0, RowRef::len))
    })
}

fn is_entry(record: RowRef<'_>) -> bool {
    record.kind() == record_kind::INDEX
}

/// Whether the page has records in slots.
fn has_records(p: PageRef<'_>) -> bool {
    matches!(
        p.page_type(),
        page_type::DATA | page_type::INDEX | page_type::TEXT_MIX | page_type::TEXT_TREE
    )
}

/// The rules that a page breaks, a bit each.
pub fn faults(p: PageRef<'_>) -> u16 {
    if !has_records(p) {
        return 0;
    }
    let broken = RULES.iter().enumerate().filter(|(_, rule)| !rule.1(p));
    broken.fold(0, |bits, (n, _)| bits | 1 << n)
}

/// What rules say that are broken.
pub fn broken_rules(faults: u16) -> Vec<&'static str> {
    let rules = RULES.iter().enumerate();
    rules
        .filter(|(n, _)| faults & 1 << n != 0)
        .map(|(_, rule)| rule.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use duramen_base::{AllocUnitId, PageId};

    use super::*;
    use crate::PageBytes;
    use crate::page::PageMut;

    /// Every rule but those that follow from others is broken by a page that breaks it alone or with its followers.
    #[test]
    fn rules_are_told_that_a_page_breaks() {
        let mut bytes: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
        let fresh = |bytes: &mut PageBytes| {
            let mut p = PageMut::new(bytes);
            p.format(
                PageId::new(1, 100),
                page_type::DATA,
                AllocUnitId(1 << 40),
                0,
                8,
            );
            p.insert_record(0, &[0x10, 0, 8, 0, 1, 0, 0, 0, 1, 0, 0])
                .unwrap();
        };
        fresh(&mut bytes);
        assert_eq!(
            broken_rules(faults(PageRef::new(&bytes))),
            Vec::<&str>::new()
        );
        type Break = fn(&mut PageMut<'_>);
        let breaks: [(&str, Break); 5] = [
            ("the page has an id", |p| p.set_page_id(PageId::NULL)),
            ("what the youngest has reserved is part of the whole", |p| {
                p.set_xact_reserved(9)
            }),
            ("room is reserved for a transaction", |p| {
                p.set_reserved_bytes(9)
            }),
            ("no more ghosts than slots", |p| p.set_ghost_count(2)),
            ("a page is not its own neighbour", |p| {
                p.set_next_page(PageId::new(1, 100))
            }),
        ];
        for (rule, harm) in breaks {
            fresh(&mut bytes);
            harm(&mut PageMut::new(&mut bytes));
            assert!(
                broken_rules(faults(PageRef::new(&bytes))).contains(&rule),
                "{rule}"
            );
        }
    }
}
