//! The models. Each is a small story of two or three threads.

// Loom's world: one real thread, which plays all others.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64 as AtomicU64Real, Ordering as Real};
use std::sync::{Arc, Mutex};

use duramen_base::Lsn;
use loom::thread;

use super::super::parts::{Access, interleave};
use super::super::{HEADER_BYTES, Head, Sealer};
use super::parts;

const BYTES: usize = HEADER_BYTES + 4 * 32;
const RECORD: usize = 24;

/// Runs a model in every way with at most three preemptions, or `LOOM_MAX_PREEMPTIONS`; gives how many ways that were.
fn check(model: fn()) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    let ways = Arc::new(AtomicU64Real::new(0));
    let counted = ways.clone();
    builder.check(move || {
        counted.fetch_add(1, Real::SeqCst);
        model();
    });
    ways.load(Real::SeqCst)
}

/// A session's record. One that meets a closed head goes to the log's mutex in real life, and gives up here: a loop has
/// no end when every interleaving is tried.
fn appended(head: &Head, tag: u8) -> Option<(Lsn, u8)> {
    head.append(&[tag; RECORD], 8, true).map(|lsn| (lsn, tag))
}

/// The records of a taken block, with their LSNs.
fn records(block: u32, (data, offsets): &(Vec<u8>, Vec<u16>)) -> Vec<(Lsn, u8)> {
    let read = |(slot, at): (usize, &u16)| {
        let bytes = &data[usize::from(*at)..usize::from(*at) + RECORD];
        assert!(bytes.iter().all(|b| *b == bytes[0] && *b != 0), "{bytes:?}");
        (Lsn::new(1, block, slot as u16 + 1), bytes[0])
    };
    offsets.iter().enumerate().map(read).collect()
}

/// Two sessions append while blocks are sealed: what was appended comes out once, whole, where its LSN says.
fn whole_blocks() {
    let mut sealer = Sealer::of(BYTES);
    let head = sealer.head().clone();
    sealer.open(1, 0, BYTES, u64::MAX);
    let sessions = [1, 2].map(|tag| {
        let head = head.clone();
        thread::spawn(move || appended(&head, tag))
    });
    let mut found = records(0, &sealer.take(|| None));
    sealer.open(1, 1, BYTES, u64::MAX);
    let reported = sessions.map(|s| s.join().unwrap());
    found.extend(records(1, &sealer.take(|| None)));
    let mut reported: Vec<_> = reported.into_iter().flatten().collect();
    reported.sort();
    assert_eq!(reported, found);
    assert_eq!(head.reserved(), 8 * reported.len() as u64);
}

/// A reader copies the open block while somebody appends to it, and it is taken afterwards.
fn copies() {
    let mut sealer = Sealer::of(BYTES);
    let head = sealer.head().clone();
    sealer.open(1, 0, BYTES, u64::MAX);
    let session = thread::spawn({
        let head = head.clone();
        move || [1, 2].map(|tag| appended(&head, tag))
    });
    interleave();
    let seen = records(0, &sealer.copy());
    if let Some(first) = sealer.record(1) {
        assert_eq!(first, [1; RECORD]);
    }
    session.join().unwrap();
    let all = records(0, &sealer.take(|| None));
    assert_eq!(seen, all[..seen.len()]);
}

/// Whoever asks for the last record gets one that there was, of one block.
fn last_record() {
    let mut sealer = Sealer::of(BYTES);
    let head = sealer.head().clone();
    sealer.open(1, 10, BYTES, u64::MAX);
    appended(&head, 1);
    let asks = thread::spawn({
        let head = head.clone();
        move || head.last()
    });
    for vlf in 2..4 {
        sealer.take(|| None);
        sealer.open(vlf, vlf * 10, BYTES, u64::MAX);
    }
    let last = asks.join().unwrap();
    let only = Lsn::new(1, 10, 1);
    assert!(last.is_none_or(|l| l == only), "{last:?}");
}

/// Models share what is weakened.
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn the_head_under_every_interleaving() {
    let _one = ONE.lock();
    let ways = [whole_blocks, copies, last_record].map(check);
    println!("interleavings of (blocks, copies, last): {ways:?}");
}

#[test]
fn every_weakened_ordering_is_found() {
    let _one = ONE.lock();
    for weak in [Access::Publish, Access::Entry, Access::Begin, Access::Last] {
        parts::WEAKENED.store(weak as u8 + 1, Real::SeqCst);
        let found = [whole_blocks, copies, last_record]
            .map(|model| catch_unwind(AssertUnwindSafe(|| check(model))).is_err());
        parts::WEAKENED.store(0, Real::SeqCst);
        println!("{weak:?} weakened, found by (blocks, copies, last): {found:?}");
        assert!(
            found.contains(&true),
            "{weak:?} is not needed, or not modelled"
        );
    }
}
