//! Rot: one bit of the log file turns. The log is refused, or it is true: nothing that was durable is missing, nothing
//! is there that was not appended. Bits of the headers of VLFs and log blocks, then bits anywhere; with
//! `DURAMEN_SEEDS=n` every bit of every header, and n anywhere.

use std::path::Path;
use std::sync::Arc;

use duramen_os::random::Rng;
use duramen_os::sim::{SimDisk, Simulation};

use super::crash_tests::{PATH, World, count};
use crate::block;
use crate::config::LogError;
use crate::planted::{Bug, Planted};
use crate::vlf::{HEADER_BYTES, STAMP, VlfHeader};

/// A log that has wrapped once and was truncated, its last VLF in the middle of its use. All of it was durable.
fn made(seed: u64) -> (Arc<SimDisk>, World) {
    let world = World::new(seed, None);
    let disk = SimDisk::new(seed);
    let env = disk.env();
    env.disk.create_dir_all(Path::new("/log")).unwrap();
    Simulation::new(seed).on_disk(disk.clone()).run(|_| {
        let log = world.create(&env).unwrap();
        let mut rng = Rng::new(seed);
        while log.vlfs().iter().all(|v| v.seq < 45) || rng.below(30) > 0 {
            let last = world.append(&log).unwrap();
            if rng.one_in(3) {
                log.flush(last).unwrap();
            }
            if rng.one_in(40) && last.vlf < 45 {
                world.truncate(&log);
            }
        }
        log.flush_all().unwrap();
        world.acked(log.durable_lsn());
        log.abandon();
    });
    (disk, world)
}

/// Opens the log after a flip. What is wrong, if that was silent.
fn silent(disk: &Arc<SimDisk>, world: &World, at: u64, bit: u8) -> Option<String> {
    let byte = disk.durable_bytes(Path::new(PATH)).unwrap()[at as usize];
    damaged(disk, world, at, &[byte ^ 1 << bit]).map(|e| format!("byte {at} bit {bit}: {e}"))
}

/// Opens the log with other bytes at `at`. What is wrong, if that was silent.
fn damaged(disk: &Arc<SimDisk>, world: &World, at: u64, bytes: &[u8]) -> Option<String> {
    let disk = disk.fork();
    disk.damage(Path::new(PATH), at, bytes).unwrap();
    let world = world.forked();
    Simulation::new(1)
        .on_disk(disk.clone())
        .run(|_| match world.open(&disk.env()) {
            Ok((log, scan)) => {
                let found = world.verify(&log, &scan).err();
                log.abandon();
                found
            }
            Err(LogError::Damaged { .. }) => None,
            Err(e) => Some(e.to_string()),
        })
}

/// Where the headers stand: of VLFs, and of the blocks that recovery reads, in the order of the log.
fn headers(bytes: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut vlfs, mut blocks) = (Vec::new(), Vec::new());
    let mut at = HEADER_BYTES;
    while let Some(vlf) = bytes.get(at as usize..).and_then(VlfHeader::decode) {
        vlfs.push(at);
        let mut offset = HEADER_BYTES;
        while vlf.seq > 0 && offset < vlf.size {
            let first = &bytes[(at + offset) as usize..];
            let Some(n) = block::claimed_bytes(first, vlf.parity()) else {
                break;
            };
            let own = u32::from_le_bytes([first[12], first[13], first[14], first[15]]);
            if own != vlf.seq {
                break;
            }
            blocks.push((vlf.seq, at + offset));
            offset += n as u64;
        }
        at += vlf.size;
    }
    blocks.sort_unstable();
    (vlfs, blocks.into_iter().map(|(_, at)| at).collect())
}

#[test]
fn no_flipped_bit_is_silent() {
    let long = count(0);
    let (mut flips, mut found) = (0u64, Vec::new());
    let made_with: &[u64] = if long > 0 { &[3, 4] } else { &[3] };
    for &seed in made_with {
        let (disk, world) = made(seed);
        let bytes = disk.durable_bytes(Path::new(PATH)).unwrap();
        let (vlfs, blocks) = headers(&bytes);
        assert!(vlfs.len() >= 2 && blocks.len() > 10, "{vlfs:?} {blocks:?}");
        let mut try_bit = |at: u64, bit: u8| {
            flips += 1;
            found.extend(silent(&disk, &world, at, bit));
        };
        // In the long run all headers; here the first VLFs, and the last blocks, where rot and a torn tail look most alike.
        let some = if long > 0 { vlfs.len() } else { 2 };
        for at in &vlfs[..some] {
            (0..60 * 8).for_each(|b| try_bit(at + b / 8, (b % 8) as u8));
        }
        let some = if long > 0 { blocks.len() } else { 2 };
        for at in &blocks[blocks.len() - some..] {
            let bits = block::HEADER_BYTES as u64 * 8;
            (0..bits).for_each(|b| try_bit(at + b / 8, (b % 8) as u8));
        }
        let mut rng = Rng::new(seed);
        for _ in 0..long.max(300) {
            let at = blocks[rng.below(blocks.len() as u64) as usize] + rng.below(2048);
            try_bit(at.min(bytes.len() as u64 - 1), rng.below(8) as u8);
        }
    }
    println!("{flips} flips, {} silent", found.len());
    assert!(
        found.is_empty(),
        "{} of {flips}: {:#?}",
        found.len(),
        &found[..found.len().min(20)]
    );
}

/// A sector that was never written, in front of records that were durable; bugs planted in what notices it, and in what
/// notices rot.
#[test]
fn planted_blindness_is_found() {
    let (disk, mut world) = made(3);
    let bytes = disk.durable_bytes(Path::new(PATH)).unwrap();
    let (vlfs, blocks) = headers(&bytes);
    let middle = blocks[blocks.len() - 6];
    let last = blocks[blocks.len() - 1];
    let lost = [STAMP; block::UNIT];
    assert_eq!(damaged(&disk, &world, middle, &lost), None);
    let mut blind = |bug: Bug, find: &dyn Fn(&World) -> Option<String>| {
        let began = duramen_os::time::now();
        world.planted = Planted { bug: Some(bug) };
        assert!(find(&world).is_some(), "{bug:?} is not found");
        world.planted = Planted::default();
        assert_eq!(find(&world), None, "{bug:?}");
        let took = began.elapsed().as_millis();
        println!("planted\t{bug:?}\twal: planted_blindness_is_found\t{took}");
    };
    blind(Bug::LooksNotBehind, &|w| damaged(&disk, w, middle, &lost));
    blind(Bug::RotIsTorn, &|w| silent(&disk, w, last + 80, 3));
    blind(Bug::DamagedHeaderEnds, &|w| {
        (1..vlfs.len()).find_map(|n| silent(&disk, w, vlfs[n] + 20, 1))
    });
}
