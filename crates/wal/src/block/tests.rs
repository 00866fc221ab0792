//! Round trips at every size, every kind of damage refused, and blocks of real log files read.

// Fixtures and temporary directories are outside the simulated world.
#![allow(clippy::disallowed_methods)]

use super::*;
use crate::record::{Lop, RecordView};
use crate::vlf::VlfHeader;

fn info() -> SealInfo {
    SealInfo {
        parity: 0x40,
        vlf: 43,
        number: 16,
        previous_bytes: 512,
        own: OwnFields {
            epoch: 0x1122_3344_5566_7788,
            previous_crc: 9,
            durable: (43, 16),
        },
    }
}

fn sealed(records: &[Vec<u8>], sector: usize) -> Vec<u8> {
    let mut data = vec![0xEE; HEADER_BYTES];
    let mut offsets = Vec::new();
    for r in records {
        offsets.push(data.len() as u16);
        data.extend_from_slice(r);
        data.resize(data.len().div_ceil(8) * 8, 0);
    }
    let end = data.len();
    data.resize(bytes_needed(end, offsets.len(), sector), 0xEE);
    seal(&mut data, end, &offsets, &info());
    data
}

#[test]
fn round_trip() {
    for sector in [512, 4096] {
        for n in [0, 1, 7, 60, 300] {
            let records: Vec<Vec<u8>> = (0..n)
                .map(|i| vec![(i % 250) as u8 + 1; 8 * (i % 20 + 3)])
                .collect();
            let b = sealed(&records, sector);
            assert_eq!(b.len() % sector, 0);
            assert_eq!(claimed_bytes(&b, 0x40), Some(b.len()));
            let o = open(&b, 0x40).unwrap();
            assert_eq!(o.header.own, Some(info().own));
            assert_eq!((o.header.vlf, o.header.number), (43, 16));
            assert_eq!(usize::from(o.header.records), records.len());
            for (i, r) in records.iter().enumerate() {
                assert_eq!(o.record(i as u16 + 1), Some(&r[..]));
            }
            assert_eq!(o.record(0), None);
            assert_eq!(o.record(n as u16 + 1), None);
            assert_eq!(open(&b, 0x80), Err(BlockError::NotWritten));
        }
    }
}

#[test]
fn the_longest_record_fits() {
    let b = sealed(&[vec![7; MAX_RECORD_BYTES]], 512);
    assert_eq!(b.len(), MAX_BYTES);
    assert_eq!(
        open(&b, 0x40).unwrap().record(1).unwrap().len(),
        MAX_RECORD_BYTES
    );
}

#[test]
fn marks() {
    let b = sealed(&[vec![7; 1200]], 512);
    assert_eq!((b[0], b[512], b[1024], b.len()), (0x50, 0x40, 0x48, 1536));
    assert_eq!(sealed(&[], 512)[0], 0x58);
}

#[test]
fn every_flipped_bit_is_found() {
    let b = sealed(&[vec![7; 600], vec![8; 40]], 512);
    for bit in 0..b.len() * 8 {
        let mut bad = b.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&bad, 0x40).is_err(), "bit {bit}");
    }
}

#[test]
fn a_torn_block_is_found() {
    let new = sealed(&[vec![7; 5000]], 512);
    let old = vec![crate::vlf::STAMP; new.len()];
    for kept in 0..new.len() / UNIT {
        let mut torn = old.clone();
        torn[..kept * UNIT].copy_from_slice(&new[..kept * UNIT]);
        assert!(open(&torn, 0x40).is_err());
    }
}

/// Reads the logs of two real databases: every VLF tiles its file, every block is sound, every record parses.
#[test]
fn real_log_files() {
    let Ok(dir) = std::env::var("DURAMEN_MATERIAL") else {
        eprintln!("skipped: DURAMEN_MATERIAL is not set");
        return;
    };
    for (name, seq) in [("northwnd_log.ldf", 50), ("pubs_log.ldf", 27)] {
        let path = ["", "real-files/", "fixtures/real-files/"]
            .iter()
            .map(|sub| std::path::Path::new(&dir).join(format!("{sub}{name}")))
            .find(|p| p.exists());
        let Some(path) = path else {
            eprintln!("skipped: {name} is not in DURAMEN_MATERIAL");
            continue;
        };
        let file = std::fs::read(path).unwrap();
        let (mut at, mut vlfs, mut blocks, mut records, mut begins) = (8192, 0, 0, 0, 0);
        while at < file.len() {
            let h = VlfHeader::decode(&file[at..]).unwrap();
            assert_eq!((h.offset, h.version), (at as u64, 4));
            vlfs += 1;
            let mut b = at + 8192;
            while h.seq != 0 && b < at + h.size as usize {
                let Some(size) = claimed_bytes(&file[b..], h.parity()) else {
                    break;
                };
                let o = open(&file[b..b + size], h.parity()).unwrap();
                assert_eq!((o.header.vlf, o.header.own), (seq, None));
                assert_eq!(o.header.number as usize, (b - at) / UNIT);
                for slot in 1..=o.header.records {
                    let v = RecordView::parse(o.record(slot).unwrap()).unwrap();
                    assert!(v.op().name().is_some() && v.context().name().is_some());
                    begins += usize::from(v.op() == Lop::BEGIN_XACT);
                    records += 1;
                }
                blocks += 1;
                b += size;
            }
            at += h.size as usize;
        }
        assert_eq!(at, file.len());
        assert_eq!(vlfs, 2);
        assert!(
            blocks > 5 && records > 20 && begins > 0,
            "{blocks} {records} {begins}"
        );
    }
}
