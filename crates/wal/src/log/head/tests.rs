use std::sync::Arc;

use duramen_os::sim::Simulation;
use duramen_os::thread;

use super::*;

const LIMIT: usize = MAX_BYTES - 120;

fn record(tag: u8, len: usize) -> Vec<u8> {
    vec![tag; len]
}

#[test]
fn records_stand_in_the_order_of_their_lsns() {
    let mut sealer = Sealer::new();
    let head = sealer.head().clone();
    assert_eq!(
        head.append(&record(1, 24), 0, false),
        None,
        "nothing is open yet"
    );
    sealer.open(32, 16, LIMIT, u64::MAX);
    let first = head.append(&record(1, 24), 0, false);
    let second = head.append(&record(2, 29), 0, false);
    assert_eq!(first, Some(Lsn::new(32, 16, 1)));
    assert_eq!(second, Some(Lsn::new(32, 16, 2)));
    let (data, offsets) = sealer.take(|| None);
    assert_eq!(offsets, [72, 96]);
    assert_eq!(data.len(), 96 + 32);
    assert_eq!(data[96..125], record(2, 29)[..]);
    assert_eq!(data[125..], [0; 3], "padded to eight bytes");
    assert_eq!(head.append(&record(3, 24), 0, false), None, "closed");
}

#[test]
fn a_full_block_takes_nothing_and_the_next_begins_empty() {
    let mut sealer = Sealer::new();
    let head = sealer.head().clone();
    for generation in 0..5 {
        sealer.open(7, generation, LIMIT, u64::MAX);
        let mut n = 0;
        while head
            .append(&record(generation as u8, 1000), 0, false)
            .is_some()
        {
            n += 1;
        }
        assert_eq!(n, (LIMIT - HEADER_BYTES) / 1002);
        let (data, offsets) = sealer.take(|| Some(vec![0xEE; 10]));
        assert_eq!(offsets.len(), n);
        assert!(data[HEADER_BYTES..].iter().all(|b| *b == generation as u8));
    }
}

#[test]
fn reserve_is_given_only_within_the_budget() {
    let mut sealer = Sealer::new();
    let head = sealer.head().clone();
    sealer.open(7, 16, LIMIT, 10_000);
    let mut granted = 0;
    while head.append(&record(1, 104), 400, true).is_some() {
        granted += 1;
    }
    let total = granted * 400;
    assert!(total + total / 8 + head.used() as u64 <= 10_000);
    assert_eq!(head.reserved(), total, "a refusal leaves no reserve behind");
    assert!(
        head.append(&record(1, 104), 0, false).is_some(),
        "a record that needs none goes on"
    );
    head.release(400);
    sealer.set_budget(11_000);
    assert!(head.append(&record(1, 104), 400, true).is_some());
}

/// Threads append while one seals again and again: every record comes out once, whole, in LSN order.
#[test]
fn blocks_are_whole_whoever_is_copying() {
    for seed in 0..200 {
        Simulation::new(seed).run(|_| {
            let mut sealer = Sealer::new();
            let head = sealer.head().clone();
            sealer.open(1, 0, 2000, u64::MAX);
            let writers: Vec<_> = (1..=4u8)
                .map(|tag| {
                    let head: Arc<Head> = head.clone();
                    thread::spawn("writer", move || {
                        let mut lsns = Vec::new();
                        while lsns.len() < 12 {
                            match head.append(&record(tag, 40 + usize::from(tag)), 8, true) {
                                Some(lsn) => lsns.push((lsn, tag)),
                                None => thread::yield_now(),
                            }
                        }
                        lsns
                    })
                })
                .collect();
            let mut found = Vec::new();
            let mut block = 0;
            while found.len() < 48 {
                let (data, offsets) = sealer.take(|| None);
                for (slot, at) in offsets.iter().enumerate() {
                    let at = usize::from(*at);
                    let tag = data[at];
                    let len = 40 + usize::from(tag);
                    assert_eq!(data[at..at + len], record(tag, len)[..], "seed {seed}");
                    found.push((Lsn::new(1, block, slot as u16 + 1), tag));
                }
                block += 1;
                sealer.open(1, block, 2000, u64::MAX);
                thread::yield_now();
            }
            let mut reported: Vec<_> = writers
                .into_iter()
                .flat_map(|w| w.join().unwrap())
                .collect();
            reported.sort();
            assert_eq!(reported, found, "seed {seed}");
            assert_eq!(head.reserved(), 48 * 8);
        });
    }
}

/// The same with threads of the operating system: for Miri, which sees races and what is wrong with pointers.
#[test]
fn real_threads_append_while_blocks_are_taken() {
    let mut sealer = Sealer::new();
    let head = sealer.head().clone();
    sealer.open(1, 0, 400, u64::MAX);
    let writers = [1u8, 2].map(|tag| {
        let head = head.clone();
        thread::spawn("writer", move || {
            let mut left = 6;
            while left > 0 {
                match head.append(&record(tag, 40), 8, true) {
                    Some(_) => left -= 1,
                    None => thread::yield_now(),
                }
            }
        })
    });
    let mut found = [0; 3];
    let mut block = 0;
    while found[1] + found[2] < 12 {
        let open = sealer.copy().1.len();
        let (data, offsets) = sealer.take(|| None);
        assert!(offsets.len() >= open);
        for at in offsets.into_iter().map(usize::from) {
            assert_eq!(data[at..at + 40], record(data[at], 40)[..]);
            found[usize::from(data[at])] += 1;
        }
        block += 1;
        sealer.open(1, block, 400, u64::MAX);
        thread::yield_now();
    }
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(found, [0, 6, 6]);
}
