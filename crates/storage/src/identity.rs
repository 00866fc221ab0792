//! `file_guid`: which file it is, in every copy of its database.
//!
//! Files say nothing of the kind in their headers that we know of, so it is made of what they keep: the family of the
//! database, which a restored copy shares (as in SQL Server, where the copy's files have the GUIDs of the original's), the
//! file's number, and the LSN at which it was added, because a number is given out again when its file was removed. The
//! form is a GUID of version 8 (RFC 9562), the version for values made in a way of one's own.

use std::collections::BTreeMap;

use duramen_base::{FileId, Lsn};
use duramen_wal::VlfSlot;

use crate::engine::Database;

fn stir(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// In the order of bytes of GUIDs on the wire.
pub fn file_guid(family: [u8; 16], file: u16, created: Lsn) -> [u8; 16] {
    let mut halves = [0x9e37_79b9_7f4a_7c15_u64, 0xd1b5_4a32_d192_ed03];
    let lsn = created.to_bytes();
    let mut bytes = family.to_vec();
    bytes.extend(file.to_le_bytes());
    bytes.extend(lsn);
    for (i, b) in bytes.iter().enumerate() {
        let half = &mut halves[i % 2];
        *half = stir(half.wrapping_add(u64::from(*b) + 1).rotate_left(17) ^ i as u64);
    }
    let [a, b] = [
        stir(halves[0] ^ halves[1]),
        stir(halves[1].wrapping_add(halves[0])),
    ];
    let mut guid = [0; 16];
    guid[..8].copy_from_slice(&a.to_le_bytes());
    guid[8..].copy_from_slice(&b.to_le_bytes());
    guid[7] = guid[7] & 0x0f | 0x80;
    guid[8] = guid[8] & 0x3f | 0x80;
    guid
}

/// When the log's files were added, as their first VLFs say.
pub fn log_files_created(vlfs: &[VlfSlot]) -> BTreeMap<u16, Lsn> {
    let mut first: BTreeMap<u16, &VlfSlot> = BTreeMap::new();
    for slot in vlfs {
        let FileId(id) = slot.file_id;
        let known = first.entry(id).or_insert(slot);
        if slot.header.offset < known.header.offset {
            *known = slot;
        }
    }
    first
        .into_iter()
        .map(|(id, slot)| (id, slot.header.create_lsn))
        .collect()
}

impl Database {
    /// What all copies of this database have in common.
    pub fn family(&self) -> [u8; 16] {
        let boot = self.boot.lock();
        let own = boot.own.as_ref();
        own.map_or([0; 16], |o| match o.family {
            f if f == [0; 16] => o.database_guid,
            f => f,
        })
    }

    /// `file_guid` of the files, by their numbers.
    pub fn file_guids(&self) -> BTreeMap<u16, [u8; 16]> {
        let family = self.family();
        let files = self.store.files.read();
        let data = files.iter().map(|f| (f.id, f.create_lsn));
        let log = self
            .log
            .as_ref()
            .map(|log| log_files_created(&log.vlf_slots()));
        data.chain(log.into_iter().flatten())
            .map(|(id, created)| (id, file_guid(family, id, created)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let lsn = Lsn::new(31, 16, 1);
        let one = file_guid([7; 16], 1, lsn);
        assert_eq!(one, file_guid([7; 16], 1, lsn));
        assert_ne!(one, file_guid([7; 16], 2, lsn));
        assert_ne!(one, file_guid([7; 16], 1, Lsn::NULL));
        let mut family = [7; 16];
        family[15] = 8;
        assert_ne!(one, file_guid(family, 1, lsn));
        assert_eq!((one[7] >> 4, one[8] >> 6), (8, 2));
    }
}
