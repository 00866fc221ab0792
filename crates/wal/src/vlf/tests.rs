//! Every worked example of the VLF creation rules: listings of real logs, boundary cases, growth histories.

use duramen_base::Lsn;

use super::LogProfile::*;
use super::*;

const GB: u64 = 1024 * MB;

fn initial(kb: u64) -> Vec<u64> {
    split_initial(kb * KB)
}

#[test]
fn listings_of_new_logs() {
    assert_eq!(initial(504), [253_952; 2]);
    assert_eq!(initial(512), [253_952, 262_144]);
    assert_eq!(initial(528), [253_952, 278_528]);
    assert_eq!(initial(784), [253_952, 253_952, 286_720]);
    assert_eq!(initial(1024), [253_952, 253_952, 253_952, 278_528]);
    assert_eq!(initial(1040), [262_144, 262_144, 262_144, 270_336]);
    assert_eq!(initial(2048), [458_752, 458_752, 458_752, 712_704]);
    let mb = |n: u64| initial(n * 1024);
    let listing = |each: u64, n: usize, last: u64| {
        let mut v = vec![each; n];
        v.push(last);
        v
    };
    assert_eq!(mb(8), listing(2_031_616, 3, 2_285_568));
    assert_eq!(mb(10), listing(2_555_904, 3, 2_809_856));
    assert_eq!(mb(32), listing(8_323_072, 3, 8_577_024));
    assert_eq!(mb(64), listing(16_711_680, 3, 16_965_632));
    assert_eq!(mb(100), listing(13_041_664, 7, 13_557_760));
    assert_eq!(mb(256), listing(33_488_896, 7, 34_004_992));
    assert_eq!(
        (mb(1024).len(), mb(2048).len(), mb(20 * 1024).len()),
        (8, 16, 16)
    );
    assert_eq!((mb(400).len(), mb(1025).len()), (8, 16));
}

#[test]
fn listings_of_growths() {
    for p in [V2012, V2014, V2019] {
        assert_eq!(split_growth(p, 8 * MB, MB), [262_144; 4], "{p:?}");
        assert_eq!(split_growth(p, 64 * MB, 64 * MB), [16_777_216; 4]);
    }
    for p in [V2022, Native] {
        assert_eq!(split_growth(p, 8 * MB, MB), [MB]);
        assert_eq!(split_growth(p, 64 * MB, 64 * MB), [64 * MB]);
        assert_eq!(split_growth(p, 64 * MB, 64 * MB + 64 * KB).len(), 8);
    }
    for p in [V2012, V2014, V2019, V2022, Native] {
        assert_eq!(split_growth(p, GB, 512 * MB), [67_108_864; 8]);
        assert_eq!(split_growth(p, 8 * MB, GB), [134_217_728; 8]);
        assert_eq!(split_growth(p, 8 * MB, 2 * GB).len(), 16);
        for kb in [256, 264, 320] {
            assert_eq!(split_growth(p, 504 * KB, kb * KB), [kb * KB]);
        }
    }
    // Strictly less than an eighth.
    assert_eq!(split_growth(V2014, 8 * MB, MB).len(), 4);
    assert_eq!(split_growth(V2014, 8 * MB + 64 * KB, MB).len(), 1);
}

#[test]
fn the_last_growth_leaves_no_vlf_of_half_the_log() {
    assert_eq!(split_last_growth(8 * MB, 24 * MB), [2 * MB; 12]);
    assert_eq!(split_last_growth(8 * MB, 64 * KB), []);
    assert_eq!(split_last_growth(64 * MB, MB), [MB]);
    for (current, growth) in [
        (MB, MB),
        (3 * MB, 64 * MB),
        (GB, 3 * GB + 8 * KB),
        (GB, 264 * KB),
    ] {
        let sizes = split_last_growth(current, growth);
        assert_eq!(sizes.iter().sum::<u64>(), growth);
        let most = ((current + growth) / 16).max(MB);
        assert!(sizes.iter().all(|&s| s < 2 * most), "{sizes:?}");
    }
}

/// VLFs of a log that starts with `start` bytes and grows until `done(size)`.
fn history(p: LogProfile, start: u64, growth: Growth, done: impl Fn(u64) -> bool) -> (usize, u64) {
    let mut count = split_initial(start).len();
    let mut size = start;
    while !done(size) {
        let step = growth.increment(size).unwrap();
        let parts = split_growth(p, size, step);
        assert_eq!(parts.iter().sum::<u64>(), step);
        count += parts.len();
        size += step;
    }
    (count, size)
}

#[test]
fn growth_histories() {
    let run = |p, start: u64, step: u64, end: u64| {
        history(p, start * MB, Growth::Bytes(step * MB), |s| s >= end * MB).0
    };
    let versions =
        |start, step, end| [V2012, V2014, V2019, V2022].map(|p| run(p, start, step, end));
    assert_eq!(versions(1024, 512, 200 * 1024), [3192, 455, 455, 455]);
    assert_eq!(versions(8, 1, 1001), [3976, 1000, 1000, 997]);
    assert_eq!(versions(32, 64, 2528), [160, 67, 67, 43]);
    assert_eq!(versions(32, 64, 5152), [324, 108, 108, 84]);
    assert_eq!(versions(32, 1024, 3104), [28; 4]);
    assert_eq!(versions(32, 1024, 5152), [44; 4]);
    assert_eq!(run(V2022, 8, 1, 10_004), 10_000);
    let eight_by_one = |s| s >= 1_049_624_576;
    let eight = history(V2022, 8 * MB, Growth::Bytes(MB), eight_by_one);
    assert_eq!(eight, (997, 1_049_624_576));
    assert_eq!(
        history(V2022, 8 * MB, Growth::Bytes(MB), |s| s >= 1_280_512 * 8192).0,
        10_000
    );
    let percent = |p| history(p, GB, Growth::Percent(10), |s| s >= 100 * GB).0;
    assert_eq!(percent(V2012), 592);
    assert_eq!(percent(V2014), 57);
    assert_eq!(percent(V2022), 57);
}

/// The two logs of the articles on log settings start with 15 VLFs in 400 MB, which is the history of an older version
/// (one CREATE makes 8): what was added to them is the rule's.
#[test]
fn growths_of_a_log_with_fifteen_vlfs() {
    let from_fifteen = |p, step: u64, growths: u64| -> (u64, u64) {
        (0..growths).fold((15, 400), |(count, mb), _| {
            let parts = split_growth(p, mb * MB, step * MB);
            (count + parts.len() as u64, mb + step)
        })
    };
    assert_eq!(from_fifteen(V2012, 1, 31_596), (126_399, 31_996));
    // Versions after that: one VLF each, since a megabyte is less than an eighth.
    for p in [V2014, V2019, V2022, Native] {
        assert_eq!(from_fifteen(p, 1, 31_596), (15 + 31_596, 31_996));
    }
    assert_eq!(from_fifteen(V2012, 4000, 7).0, 127);
    assert_eq!(from_fifteen(V2012, 4000, 8).0, 143);
    assert_eq!(from_fifteen(V2012, 1024, 28).0, 239);
    assert_eq!(from_fifteen(V2012, 1024, 29), (247, 30_096));
    // 400 to 4400 to 8400 and so on: an eighth is reached at 32,400 MB.
    assert_eq!(from_fifteen(V2014, 4000, 8).0, 143);
    assert_eq!(from_fifteen(V2014, 4000, 9).0, 144);
    assert_eq!(initial(256 * 1024).len(), 8);
}

#[test]
fn percent_growth_as_observed() {
    let g = Growth::Percent(10);
    assert_eq!(516_096 + g.increment(516_096).unwrap(), 786_432);
    assert_eq!(540_672 + g.increment(540_672).unwrap(), 851_968);
    assert_eq!(786_432 + g.increment(786_432).unwrap(), 786_432 + 262_144);
    assert_eq!(2_883_584 + g.increment(2_883_584).unwrap(), 3_211_264);
    assert_eq!(Growth::None.increment(GB), None);
    assert_eq!(Growth::Percent(0).increment(GB), None);
    assert_eq!(Growth::Bytes(MB).increment(GB), Some(MB));
}

#[test]
fn header_round_trip_and_refusals() {
    let mut h = VlfHeader {
        version: 5,
        seq: 43,
        use_count: 3,
        size: 253_952,
        offset: 8192,
        create_lsn: Lsn::new(42, 16, 1),
        first_block: 24,
        mixed: 2,
    };
    let mut b = [0; 64];
    h.encode(&mut b);
    assert_eq!((b[0], b[1]), (0xAB, 0x40));
    assert_eq!(VlfHeader::decode(&b), Some(h));
    h.use_count = 4;
    h.encode(&mut b);
    assert_eq!(b[1], 0x80);
    h.seq = 0;
    h.encode(&mut b);
    assert_eq!((b[1], VlfHeader::decode(&b)), (0, Some(h)));
    for bit in 0..60 * 8 {
        let mut bad = b;
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(VlfHeader::decode(&bad), None, "bit {bit}");
    }
    // Of another program: no checksum of ours.
    b[44..60].fill(0);
    assert_eq!(
        VlfHeader::decode(&b),
        Some(VlfHeader {
            mixed: 0,
            first_block: 0,
            ..h
        })
    );
    for at in [0, 1, 16, 24] {
        let mut bad = b;
        bad[at] ^= 0x41;
        assert_eq!(VlfHeader::decode(&bad), None, "byte {at}");
    }
    assert_eq!(VlfHeader::decode(&b[..59]), None);
    assert_eq!(VlfHeader::decode(&[STAMP; 64]), None);
    assert_eq!(VlfHeader::decode(&[0; 64]), None);
}
