//! Backup containers: a small one of ours, changed.

use std::sync::OnceLock;

use duramen_access::cancel::CancelToken;
use duramen_backup::Medium;
use duramen_os::Disk;
use duramen_os::memory::Broker;
use duramen_os::sim::SimDisk;
use duramen_program::text::TextSink;

use crate::crash::image;

const PATH: &str = "/data/fuzz.trn";
const STREAMS: [&[u8]; 8] = [
    b"APAD", b"CSUM", b"DURA", b"MQCI", b"MQDA", b"MQTL", b"RAID", b"SPAD",
];
const BLOCKS: [&[u8]; 9] = [
    b"ESET", b"MSCI", b"MSDA", b"MSLS", b"MSTL", b"SFMB", b"SSET", b"TAPE", b"VOLB",
];

/// Two log backups on one medium, and one with checksums.
pub fn containers() -> Vec<Vec<u8>> {
    static MADE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    MADE.get_or_init(|| make().unwrap_or_default()).clone()
}

fn make() -> Option<Vec<Vec<u8>>> {
    let disk = image::prepared().of(512, 3);
    let instance = duramen_session::start(&disk.env(), image::config(4 << 20, 512)).ok()?;
    let mut session = image::login(&instance).ok()?;
    let mut out = Vec::new();
    for sql in [
        "ALTER DATABASE a SET RECOVERY FULL; BACKUP DATABASE a TO DISK = 'nul'".to_owned(),
        format!("BACKUP LOG a TO DISK = '{PATH}' WITH NAME = 'one'"),
        format!("BACKUP LOG a TO DISK = '{PATH}'"),
        format!("BACKUP LOG a TO DISK = '{PATH}' WITH CHECKSUM, FORMAT"),
    ] {
        session.execute_batch(&sql, &mut TextSink::default(), &CancelToken::default());
        out.extend(read(&disk));
    }
    drop(session);
    instance.shutdown().ok()?;
    Some(out)
}

fn read(disk: &SimDisk) -> Option<Vec<u8>> {
    let file = disk.open(PATH.as_ref(), &Default::default()).ok()?;
    let mut bytes = vec![0; file.len().ok()? as usize];
    file.read_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Makes the checksums of blocks, streams and our own chunk right, wherever something stands that looks like one.
#[allow(clippy::ptr_arg, reason = "the type of every target's repair")]
pub fn fix(input: &mut Vec<u8>) {
    for at in (0..input.len().saturating_sub(52)).step_by(4) {
        let head = &input[at..at + 4];
        if at % 512 == 0 && BLOCKS.contains(&head) {
            put_xor(input, at, 25);
        } else if STREAMS.contains(&head) {
            // The same four letters begin our chunk in the data of MQCI.
            match head == b"DURA" && chunk(input, at) {
                true => {}
                false => put_xor(input, at, 10),
            }
        }
    }
    // That chunk stands at any place.
    for at in 0..input.len().saturating_sub(52) {
        if input[at..].starts_with(b"DURA") {
            chunk(input, at);
        }
    }
}

fn put_xor(b: &mut [u8], at: usize, words: usize) {
    let of = b[at..at + 2 * words].chunks_exact(2);
    let sum = of.fold(0, |x, w| x ^ u16::from_le_bytes([w[0], w[1]]));
    b[at + 2 * words..at + 2 * words + 2].copy_from_slice(&sum.to_le_bytes());
}

/// Whether our chunk stands here; then its checksum is made right.
fn chunk(b: &mut [u8], at: usize) -> bool {
    let length = u32::from_le_bytes([b[at + 4], b[at + 5], b[at + 6], b[at + 7]]) as usize;
    let end = at.saturating_add(length);
    if !(48..1 << 20).contains(&length) || end > b.len() {
        return false;
    }
    let sum = crc32c(&b[at..end - 4]).to_le_bytes();
    b[end - 4..end].copy_from_slice(&sum);
    true
}

/// CRC32C, bit by bit.
fn crc32c(b: &[u8]) -> u32 {
    !b.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| {
            (c >> 1) ^ if c & 1 != 0 { 0x82f6_3b78 } else { 0 }
        })
    })
}

/// Whether sets were found. What is wrong is an error; memory stays bounded by the input.
pub fn feed(input: &[u8]) -> bool {
    let Ok(medium) = Medium::from_bytes(input.to_vec(), "fuzz") else {
        return false;
    };
    for set in &medium.sets {
        let _ = medium.verify(set, Default::default(), &Broker::new(64 << 20));
    }
    !medium.sets.is_empty()
}
