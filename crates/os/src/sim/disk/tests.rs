//! The fault model, promise by promise (docs/simulated-disk.md), and the reproducibility of it all.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::random::Rng;
use crate::sim::{Simulation, seeds};
use crate::{thread, time};

const A: &str = "/a";

fn open(disk: &Arc<SimDisk>, path: &str) -> Arc<dyn DiskFile> {
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = disk.open(Path::new(path), &options).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    file
}

fn contents(disk: &Arc<SimDisk>, path: &str) -> Vec<u8> {
    let file = disk.open(Path::new(path), &OpenOptions::default()).unwrap();
    let mut all = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut all, 0).unwrap();
    all
}

/// 8 sectors of zeros, durable.
fn prepared() -> (Arc<SimDisk>, Arc<dyn DiskFile>) {
    let disk = SimDisk::new(0);
    let file = open(&disk, A);
    file.allocate(0, 4096).unwrap();
    file.sync().unwrap();
    assert!(disk.is_clean());
    (disk, file)
}

/// Each sector's first byte, when the whole sector has it.
fn sectors(all: &[u8]) -> Vec<u8> {
    let uniform = |s: &[u8]| s.iter().all(|b| *b == s[0]).then_some(s[0]);
    all.chunks(512)
        .map(|s| uniform(s).expect("a torn sector"))
        .collect()
}

#[test]
fn reads_see_writes_and_zeros() {
    let (_, file) = prepared();
    file.write_at(&[7; 700], 100).unwrap();
    let mut b = [1; 1000];
    file.read_at(&mut b, 0).unwrap();
    assert!(b[..100].iter().all(|x| *x == 0) && b[100..800].iter().all(|x| *x == 7));
    assert!(b[800..].iter().all(|x| *x == 0));
    assert_eq!(file.read_at(&mut b, 4000), Err(IoError::Eof));
}

#[test]
fn the_image_agrees_with_a_plain_vector() {
    let mut rng = Rng::new(5);
    let disk = SimDisk::new(5);
    let file = open(&disk, A);
    let mut model: Vec<u8> = Vec::new();
    for i in 0..500 {
        let at = rng.below(40_000) as usize;
        let len = rng.below(9_000) as usize;
        match rng.below(6) {
            0 => {
                file.set_len(at as u64).unwrap();
                model.resize(at, 0);
            }
            n => {
                let data = vec![i as u8 | 1; len];
                if model.len() < at + len && len > 0 {
                    model.resize(at + len, 0);
                }
                model[at..at + len].copy_from_slice(&data);
                match n {
                    1 => file.write_durable_at(&data, at as u64).unwrap(),
                    _ => file.write_at(&data, at as u64).unwrap(),
                }
            }
        }
        if rng.one_in(20) {
            file.sync().unwrap();
            assert!(disk.is_clean());
            assert!(contents(&disk.crash(i), A) == model, "step {i}");
        }
        assert!(contents(&disk, A) == model, "step {i}");
    }
}

#[test]
fn unsynced_sectors_are_lost_torn_or_kept_but_never_split() {
    let (disk, file) = prepared();
    file.write_at(&[1; 4096], 0).unwrap();
    file.write_at(&[2; 2048], 1024).unwrap();
    let mut outcomes = BTreeSet::new();
    for seed in 0..300 {
        let s = sectors(&contents(&disk.crash(seed), A));
        assert!(s[0] < 2 && s[7] < 2, "the second write is not there");
        outcomes.insert(s);
    }
    assert!(outcomes.contains(&vec![0; 8]));
    assert!(outcomes.contains(&vec![1, 1, 2, 2, 2, 2, 1, 1]));
    assert!(
        outcomes.contains(&vec![0, 0, 2, 2, 2, 2, 0, 0]),
        "reordered"
    );
    assert!(outcomes.len() > 50, "{}", outcomes.len());
}

#[test]
fn synced_and_durable_writes_survive_every_crash() {
    let (disk, file) = prepared();
    file.write_at(&[1; 2048], 0).unwrap();
    file.sync().unwrap();
    file.write_at(&[9; 512], 3584).unwrap();
    file.write_durable_at(&[2; 1024], 1024).unwrap();
    // A plain write before a durable one of the same sector is superseded by it.
    file.write_at(&[9; 512], 2048).unwrap();
    file.write_durable_vectored_at(&[&[3; 100], &[3; 412]], 2048)
        .unwrap();
    for seed in 0..200 {
        let s = sectors(&contents(&disk.crash(seed), A));
        assert_eq!(s[..7], [1, 1, 2, 2, 3, 0, 0]);
    }
}

#[test]
fn names_need_a_sync_of_their_directory() {
    let disk = SimDisk::new(1);
    let create = OpenOptions {
        create_new: true,
        ..OpenOptions::default()
    };
    disk.create_dir_all(Path::new("/d")).unwrap();
    let [one, two] = [Path::new("/d/1"), Path::new("/d/2")];
    disk.open(one, &create)
        .unwrap()
        .write_durable_at(b"one", 0)
        .unwrap();
    assert_eq!(disk.open(one, &create).unwrap_err(), IoError::Exists);
    let survived = (0..100).filter(|s| disk.crash(*s).exists(one)).count();
    assert!((1..100).contains(&survived));
    disk.sync_dir(Path::new("/d")).unwrap();
    disk.open(two, &create)
        .unwrap()
        .write_durable_at(b"two", 0)
        .unwrap();
    disk.rename(two, one).unwrap();
    for seed in 0..100 {
        let after = disk.crash(seed);
        let bytes = contents(&after, "/d/1");
        assert!(bytes == b"one" || bytes == b"two");
    }
    let nowhere = disk.open(Path::new("/no/file"), &create).unwrap_err();
    assert_eq!(nowhere, IoError::NotFound);
    assert_eq!(disk.list(Path::new("/d")).unwrap(), [one.to_owned()]);
}

#[test]
fn a_length_may_survive_without_its_data() {
    let (disk, file) = prepared();
    file.write_at(&[5; 4096], 4096).unwrap();
    let outcomes: BTreeSet<_> = (0..200)
        .map(|s| {
            let all = contents(&disk.crash(s), A);
            (all.len(), all.get(4096).copied())
        })
        .collect();
    let expected = [(4096, None), (8192, Some(0)), (8192, Some(5))];
    assert_eq!(outcomes, expected.into_iter().collect());
}

#[test]
fn a_failed_sync_forgets_and_the_next_one_lies() {
    let mut lost = 0;
    for round in 0..20 {
        let disk = SimDisk::new(round);
        let file = open(&disk, A);
        file.allocate(0, 4096).unwrap();
        file.write_at(&[1; 4096], 0).unwrap();
        disk.fail_nth(DiskOp::Sync, 1, IoError::device("fdatasync"));
        assert_eq!(file.sync(), Err(IoError::device("fdatasync")));
        assert_eq!(file.sync(), Ok(()));
        assert_eq!(sectors(&contents(&disk, A)), [1; 8], "reads still see it");
        lost += sectors(&contents(&disk.crash(0), A)).contains(&0) as u32;
    }
    assert!(lost > 15);
}

#[test]
fn ordered_failures_strike_the_nth_call_of_their_file() {
    let (disk, file) = prepared();
    let other = open(&disk, "/b");
    disk.add_fault(Fault {
        op: DiskOp::Write,
        path: Some("/b".into()),
        nth: 2,
        error: IoError::NoSpace,
        lasting: true,
    });
    disk.fail_nth(DiskOp::Read, 1, IoError::device("read"));
    assert!(file.read_at(&mut [0], 0).is_err() && file.read_at(&mut [0], 0).is_ok());
    for _ in 0..3 {
        file.write_at(&[1], 0).unwrap();
    }
    other.write_at(&[1], 0).unwrap();
    assert_eq!(other.write_at(&[1], 0), Err(IoError::NoSpace));
    assert_eq!(other.write_durable_at(&[1], 0), Err(IoError::NoSpace));
    disk.clear_faults();
    other.write_at(&[1], 0).unwrap();
}

#[test]
fn a_full_disk_says_so_and_stays_usable() {
    let (disk, file) = prepared();
    disk.set_capacity(5000);
    assert_eq!(disk.free_space(Path::new("/")), Ok(904));
    assert_eq!(file.allocate(4096, 4096), Err(IoError::NoSpace));
    assert_eq!(file.write_at(&[1; 1000], 4096), Err(IoError::NoSpace));
    file.write_durable_at(&[1; 4096], 0).unwrap();
    assert_eq!(file.write_at(&[1], u64::MAX), Err(IoError::NoSpace));
}

#[test]
fn a_lying_disk_loses_what_it_promised() {
    let (disk, file) = prepared();
    disk.set_sync_lies(true);
    file.write_durable_at(&[1; 4096], 0).unwrap();
    file.sync().unwrap();
    assert!((0..20).any(|s| sectors(&contents(&disk.crash(s), A)).contains(&0)));
}

#[test]
fn power_goes_off_in_the_middle_of_a_change() {
    let (disk, file) = prepared();
    disk.power_off_after(1);
    file.write_durable_at(&[1; 512], 0).unwrap();
    assert!(file.write_durable_at(&[2; 2048], 512).is_err());
    assert!(disk.is_off() && file.sync().is_err() && file.read_at(&mut [0], 0).is_err());
    let outcomes: BTreeSet<_> = (0..100)
        .map(|s| sectors(&contents(&disk.crash(s), A)))
        .collect();
    assert!(outcomes.iter().all(|s| s[0] == 1));
    assert!(outcomes.contains(&vec![1, 0, 0, 0, 0, 0, 0, 0]) && outcomes.len() > 5);
}

#[test]
fn damage_is_there_after_a_crash() {
    let (disk, file) = prepared();
    disk.damage(Path::new(A), 5, &[0xff]).unwrap();
    let mut b = [0; 1];
    file.read_at(&mut b, 5).unwrap();
    assert_eq!(b, [0xff]);
    assert_eq!(disk.durable_bytes(Path::new(A)).unwrap()[5], 0xff);
    assert_eq!(contents(&disk.crash(1), A)[5], 0xff);
}

/// Two writers and a syncer, then a crash at a moment the seed chooses.
fn world(seed: u64) -> (u64, u64, Vec<u8>) {
    let (disk, trace) = Simulation::new(seed).run(|sim| {
        let disk = sim.disk();
        let file = open(&disk, A);
        file.allocate(0, 16 * 512).unwrap();
        for id in 1..3u8 {
            let file = file.clone();
            thread::spawn("writer", move || {
                for i in 0..8u64 {
                    file.write_at(&[id; 1024], i * 512).unwrap();
                    file.write_durable_at(&[id + 10; 512], (8 + i) * 512)
                        .unwrap();
                }
            });
        }
        let before = time::now();
        thread::sleep(std::time::Duration::from_micros(seed % 1500));
        assert!(before.elapsed().as_millis() < 3);
        (disk, sim.trace_hash())
    });
    let after = disk.crash(seed);
    (trace, disk.trace_hash(), contents(&after, A))
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let mut seen = BTreeSet::new();
    for seed in seeds(1, 60) {
        let first = world(seed * 37);
        assert_eq!(first, world(seed * 37), "seed {seed}");
        seen.insert(first.2);
    }
    assert!(seen.len() > 1);
}

/// The target: thousands of crash-recover cycles a second.
#[test]
fn a_crash_cycle_is_cheap() {
    let started = std::time::Instant::now();
    let mut disk = SimDisk::new(9);
    open(&disk, A).allocate(0, 1 << 20).unwrap();
    let cycles = 500;
    for seed in 0..cycles {
        let file = disk.open(Path::new(A), &OpenOptions::default()).unwrap();
        for i in 0..10 {
            file.write_at(&[i; 8192], i as u64 * 65_536).unwrap();
            file.write_durable_at(&[i; 4096], i as u64 * 4096).unwrap();
        }
        disk = disk.crash(seed);
    }
    let each = started.elapsed() / cycles as u32;
    assert!(each.as_millis() < 20, "{each:?} a cycle");
    println!("{each:?} a cycle");
}
