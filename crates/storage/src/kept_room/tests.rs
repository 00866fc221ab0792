//! One page of a heap, and transactions that change it in any order: whatever is undone finds its room.

use std::collections::{BTreeMap, BTreeSet};

use duramen_base::{AllocUnitId, PAGE_BYTES, PageId, XdesId};
use duramen_format::page::page_type;
use duramen_os::random::Rng;
use duramen_txn::Standing;
use duramen_wal::record::Lcx;

use super::*;

/// What a transaction has done to a slot: its bytes before, and after.
type Step = (u16, Option<Vec<u8>>, Option<Vec<u8>>);

#[derive(Default)]
struct Model {
    active: BTreeMap<XdesId, Vec<Step>>,
    locked: BTreeMap<u16, XdesId>,
    /// Redo takes everybody for active.
    all_active: bool,
}

impl Model {
    fn standing(&self, xdes: XdesId) -> Standing {
        if self.all_active {
            return Standing::Active;
        }
        match self.active.range(..=xdes).next_back() {
            Some((youngest, _)) if *youngest == xdes => Standing::Active,
            Some(_) => Standing::Ended,
            None => Standing::Gone,
        }
    }

    /// Puts `to` into a slot, as a change by `xdes`.
    fn put(&self, page: &mut PageMut<'_>, xdes: XdesId, slot: u16, to: Option<&[u8]>) {
        let bytes = |p: PageRef<'_>| p.free_bytes() + 2 * p.slot_count();
        let before = bytes(page.as_ref());
        let there = page.as_ref().record(slot).ok().flatten().is_some();
        let done = match (there, to) {
            (true, Some(row)) => page.replace_record(slot, row),
            (false, Some(row)) => page.put_record(slot, row),
            (_, None) => page.clear_slot(slot),
        };
        done.unwrap_or_else(|e| panic!("{xdes:?} does not get slot {slot} as it was: {e}"));
        let after = bytes(page.as_ref());
        account(page, xdes, (before, after), Lcx::HEAP, |x| self.standing(x));
    }

    fn undo(&mut self, page: &mut PageMut<'_>, xdes: XdesId, keep: usize) {
        let mut steps = self.active.remove(&xdes).unwrap();
        while steps.len() > keep {
            let (slot, before, after) = steps.pop().unwrap();
            // Still there as long as it is undone.
            self.active.insert(xdes, Vec::new());
            let unkept = page.as_ref().reserved_bytes() == 0;
            self.put(page, xdes, slot, before.as_deref());
            if unkept && before.is_none() && after.is_some() {
                page.trim_slots();
            }
        }
        self.active.insert(xdes, steps);
    }

    fn end(&mut self, xdes: XdesId) {
        self.active.remove(&xdes);
        self.locked.retain(|_, owner| *owner != xdes);
    }
}

fn record(len: usize) -> Vec<u8> {
    // A record of a large value: it says how long it is.
    let mut row = vec![0; len.max(9)];
    row[0] = 4 << 1;
    let len = row.len() as u16;
    row[2..4].copy_from_slice(&len.to_le_bytes());
    row
}

/// One change by `xdes` of a page, if there is room for it.
fn change(model: &mut Model, page: &mut PageMut<'_>, rng: &mut Rng, xdes: XdesId, most: u64) {
    let p = page.as_ref();
    let kept = shares(p, xdes, |x| model.standing(x));
    let row = record(9 + rng.below(most) as usize);
    let slots: Vec<u16> = (0..p.slot_count())
        .filter(|s| model.locked.get(s).is_none_or(|owner| *owner == xdes))
        .collect();
    let (slot, to) = match rng.below(3) {
        0 => {
            // Sometimes a new slot though one is empty.
            let empty = p.first_free_slot();
            let free = model.locked.get(&empty).is_none_or(|owner| *owner == xdes);
            let slot = match free && rng.below(4) > 0 {
                true => empty,
                false => p.slot_count(),
            };
            let other = model.locked.get(&slot).is_some_and(|owner| *owner != xdes);
            if other || !fits(p, kept, row.len(), slot == p.slot_count()) {
                return;
            }
            (slot, Some(row))
        }
        kind => {
            let Some(slot) = rng.choose(&slots).copied() else {
                return;
            };
            let Ok(Some(old)) = p.record(slot) else {
                return;
            };
            let growth = row.len().saturating_sub(old.len());
            let grows = growth == 0 || growth + kept.0 <= usize::from(p.free_bytes());
            (slot, Some(row).filter(|_| kind == 1 && grows))
        }
    };
    let before = page
        .as_ref()
        .record(slot)
        .ok()
        .flatten()
        .map(duramen_format::RowRef::to_vec);
    model.locked.insert(slot, xdes);
    let step = (slot, before, to.clone());
    model.put(page, xdes, slot, to.as_deref());
    model.active.get_mut(&xdes).unwrap().push(step);
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut bytes = Box::new([0; PAGE_BYTES]);
    let mut page = PageMut::new(&mut bytes);
    page.format(
        PageId::new(1, 100),
        page_type::TEXT_MIX,
        AllocUnitId(7),
        0,
        0,
    );
    let mut model = Model {
        all_active: rng.one_in(8),
        ..Model::default()
    };
    let mut next = 1;
    let most = [20, 300, 4_000][rng.below(3) as usize];
    for _ in 0..300 {
        let known: Vec<XdesId> = model.active.keys().copied().collect();
        if known.len() < 2 || known.len() < 5 && rng.one_in(6) {
            model.active.insert(XdesId(next), Vec::new());
            next += 1;
            continue;
        }
        let xdes = *rng.choose(&known).unwrap();
        match rng.below(16) {
            0 => model.end(xdes),
            1 => {
                model.undo(&mut page, xdes, 0);
                model.end(xdes);
            }
            2 => {
                let steps = model.active[&xdes].len() as u64;
                model.undo(&mut page, xdes, rng.below(steps + 1) as usize);
            }
            _ => change(&mut model, &mut page, &mut rng, xdes, most),
        }
        page.as_ref().check().unwrap();
    }
    // Everybody goes back, in any order.
    let mut left: BTreeSet<XdesId> = model.active.keys().copied().collect();
    while !left.is_empty() {
        let all: Vec<XdesId> = left.iter().copied().collect();
        let xdes = *rng.choose(&all).unwrap();
        left.remove(&xdes);
        model.undo(&mut page, xdes, 0);
        model.end(xdes);
    }
}

#[test]
pub(crate) fn whatever_is_undone_finds_its_room() {
    for seed in duramen_os::sim::seeds(1, 300) {
        if let Err(e) = std::panic::catch_unwind(|| run(seed)) {
            let text = e.downcast_ref::<String>().cloned().unwrap_or_default();
            panic!("seed {seed}: {text}");
        }
    }
}

/// A thousand transactions, one after the other, while an older one is open: nothing is kept for those that have ended.
#[test]
fn commits_give_room_back() {
    let mut bytes = Box::new([0; PAGE_BYTES]);
    let mut page = PageMut::new(&mut bytes);
    page.format(
        PageId::new(1, 100),
        page_type::TEXT_MIX,
        AllocUnitId(7),
        0,
        0,
    );
    let mut model = Model::default();
    model.active.insert(XdesId(1), Vec::new());
    for n in 2..1_002 {
        let xdes = XdesId(n);
        model.active.insert(xdes, Vec::new());
        let kept = shares(page.as_ref(), xdes, |x| model.standing(x));
        assert_eq!(kept, (0, 0));
        model.put(&mut page, xdes, 0, Some(&record(7_000)));
        model.put(&mut page, xdes, 0, None);
        assert_eq!(page.as_ref().reserved_bytes(), 7_000);
        model.end(xdes);
    }
}
