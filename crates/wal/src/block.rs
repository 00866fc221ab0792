//! Log blocks as bytes: the unit of log I/O.
//!
//! ```text
//! 0   version 5           10 u16 previous block's bytes   28 u32 magic            48 u32 VLF  of the durable prefix
//! 2   u16 records         12 u32 VLF sequence             32 u64 epoch            52 u32 block  when this was sealed
//! 4   u16 used bytes      16 u32 block number             40 u32 previous block's CRC32C
//! 6   u16 block bytes     20 u32 first slot (1)           44 u32 CRC32C           56..72 zero
//! 8   u16 3               24 u32 XOR checksum
//! 72  records, each on a multiple of 8 ... record offsets (u16, last record first), ending at `used`
//! ```
//! The first byte of every 512-byte sector is replaced by a mark (parity, 0x10 on the first, 0x08 on the last sector);
//! the byte that was there stands at `block bytes - 1 - sector`. Bytes 28 to 71 are ours; a real log holds other things
//! there, and records may begin at 40, 48 or 72. The CRC32C covers the block with marks in place and with both checksum
//! words zero; it decides, the XOR word is for tools that know only that one.
//!
//! Invariants
//! 1. A block that [`open`] accepts has sound marks, lengths, offsets and checksums, so that slicing its records cannot
//!    fail. [assert: block/1; test: every_flipped_bit_is_found]
//! 2. What [`seal`] wrote [`open`] accepts, with the same records. [assert: block/2; test: round_trip]

use duramen_base::Lsn;

#[cfg(test)]
mod tests;

/// Bytes of the header of blocks that we write.
pub const HEADER_BYTES: usize = 72;
/// The largest block.
pub const MAX_BYTES: usize = 60 * 1024;
/// The unit of block numbers and of sector marks, whatever the sector of the device.
pub const UNIT: usize = 512;
/// The longest record that fits a block: what header, displaced bytes and one offset leave, in whole units of 8.
pub const MAX_RECORD_BYTES: usize = (MAX_BYTES - HEADER_BYTES - MAX_BYTES / UNIT - 2) / 8 * 8;

const MAGIC: u32 = u32::from_le_bytes(*b"DuLB");
const CHECKSUM_AT: usize = 24;
const CRC_AT: usize = 44;

/// What a block says about itself besides its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockHeader {
    pub records: u16,
    pub used: u16,
    pub bytes: u16,
    pub previous_bytes: u16,
    pub vlf: u32,
    pub number: u32,
    /// Our fields; `None` in a block that another program wrote.
    pub own: Option<OwnFields>,
}

/// The fields in bytes 28 to 71 of blocks that we write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OwnFields {
    /// New after every recovery, always larger than before.
    pub epoch: u64,
    /// CRC32C of the block before this one in the log; 0 for the first block of a log.
    pub previous_crc: u32,
    /// Start of the first block that was not yet durable when this block was sealed: everything before it must be
    /// there, or the log is damaged.
    pub durable: (u32, u32),
}

/// A block read back, its displaced bytes restored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenBlock {
    pub header: BlockHeader,
    pub crc: u32,
    pub data: Vec<u8>,
}

/// Bytes that a block with records up to `end` needs when one of `record` bytes and its offset are added, displaced
/// bytes included, in multiples of `sector`.
pub fn bytes_needed(end: usize, records: usize, sector: usize) -> usize {
    let body = end + 2 * records;
    let mut bytes = body.div_ceil(sector).max(1) * sector;
    while body + bytes / UNIT > bytes {
        bytes += sector;
    }
    bytes
}

/// What [`seal`] is told about the block.
#[derive(Clone, Copy, Debug)]
pub struct SealInfo {
    pub parity: u8,
    pub vlf: u32,
    pub number: u32,
    pub previous_bytes: u16,
    pub own: OwnFields,
}

/// Completes a block in place and gives its CRC32C. `data` holds the records from byte 72 to `end` and is as long as the
/// block is to be; `offsets` are the records' starts. The header area and the bytes behind `end` are overwritten.
pub fn seal(data: &mut [u8], end: usize, offsets: &[u16], info: &SealInfo) -> u32 {
    let bytes = data.len();
    let used = end + 2 * offsets.len();
    assert!(
        bytes <= MAX_BYTES && bytes.is_multiple_of(UNIT) && used + bytes / UNIT <= bytes,
        "a block holds its records, offsets and displaced bytes"
    );
    data[..HEADER_BYTES].fill(0);
    data[end..].fill(0);
    debug_assert!(
        offsets
            .first()
            .is_none_or(|o| usize::from(*o) >= CHECKSUM_AT),
        "block/1: a record begins in the header"
    );
    debug_assert!(
        offsets.is_sorted_by(|a, b| a < b),
        "block/1: the offsets of records ascend"
    );
    debug_assert!(
        offsets.last().is_none_or(|o| usize::from(*o) < end),
        "block/1: a record begins behind the last"
    );
    debug_assert!(info.vlf != 0, "vlf/3: a block in a VLF that holds nothing");
    debug_assert!(
        matches!(info.parity, 0x40 | 0x80),
        "vlf/2: a block of parity {:#x}",
        info.parity
    );
    debug_assert!(
        info.own.durable <= (info.vlf, info.number),
        "block/2: a block says that what comes after it is durable"
    );
    for (i, offset) in offsets.iter().enumerate() {
        let at = used - 2 * (i + 1);
        data[at..at + 2].copy_from_slice(&offset.to_le_bytes());
    }
    data[0] = crate::vlf::FORMAT_VERSION;
    put16(data, 2, offsets.len() as u16);
    put16(data, 4, used as u16);
    put16(data, 6, bytes as u16);
    put16(data, 8, 3);
    put16(data, 10, info.previous_bytes);
    put32(data, 12, info.vlf);
    put32(data, 16, info.number);
    put32(data, 20, 1);
    put32(data, 28, MAGIC);
    data[32..40].copy_from_slice(&info.own.epoch.to_le_bytes());
    put32(data, 40, info.own.previous_crc);
    put32(data, 48, info.own.durable.0);
    put32(data, 52, info.own.durable.1);
    let sectors = bytes / UNIT;
    for s in 0..sectors {
        data[bytes - 1 - s] = data[s * UNIT];
        data[s * UNIT] = mark(info.parity, s, sectors);
    }
    let crc = crc32c::crc32c(data);
    put32(data, CRC_AT, crc);
    let sum = checksum(data);
    put32(data, CHECKSUM_AT, sum);
    debug_assert!(
        claimed_bytes(data, info.parity) == Some(bytes),
        "block/2: a block does not claim what it is"
    );
    debug_assert!(
        open(data, info.parity).is_ok_and(|b| b.crc == crc
            && usize::from(b.header.records) == offsets.len()
            && (b.header.vlf, b.header.number) == (info.vlf, info.number)),
        "block/2: what is sealed does not open"
    );
    crc
}

/// Why bytes are no block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockError {
    /// The first sector does not begin with the mark of this parity: nothing was written here in this use of the VLF.
    NotWritten,
    /// Marks, lengths or offsets do not fit together.
    Malformed,
    Checksum,
}

/// The size that the first sector of a block claims; `None` when it does not begin with the right mark or the size is
/// impossible. `first` is at least 512 bytes long.
pub fn claimed_bytes(first: &[u8], parity: u8) -> Option<usize> {
    let first = first.get(..UNIT)?;
    let bytes = usize::from(get16(first, 6));
    let single = bytes == UNIT;
    let sound = first[0] == mark(parity, 0, if single { 1 } else { 2 })
        && bytes.is_multiple_of(UNIT)
        && (UNIT..=MAX_BYTES).contains(&bytes);
    sound.then_some(bytes)
}

/// What a sector of log space is to a VLF's present use, by its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sector {
    /// Of this use.
    Written { last: bool },
    /// Of the use before, or never written.
    Old,
    /// No write leaves such a sector there.
    Odd,
}

/// Tells what `sector` (512 bytes) is to a use with `parity`; `first`: where a block begins.
pub(crate) fn sector_of(sector: &[u8], parity: u8, first: bool) -> Sector {
    let (begins, last) = (sector[0] & 0x10 != 0, sector[0] & 0x08 != 0);
    let all = |byte: u8| sector.iter().all(|b| *b == byte);
    match sector[0] & !0x18 {
        p if p == parity && begins == first => Sector::Written { last },
        p if p == parity ^ 0xC0 => Sector::Old,
        0 if all(0) => Sector::Old,
        crate::vlf::STAMP if all(crate::vlf::STAMP) => Sector::Old,
        _ => Sector::Odd,
    }
}

/// The bytes that a block's first sector claims, when it is one of ours and of this place: of an older use, or of another
/// program, it tells nothing. One of magic, VLF and position may be wrong: that is what is looked for.
pub(crate) fn claims(first: &[u8], vlf: u32, number: u32) -> Option<usize> {
    let matching = [
        get32(first, 28) == MAGIC,
        get32(first, 12) == vlf,
        get32(first, 16) == number,
    ];
    let known = matching.iter().filter(|t| **t).count() >= 2;
    known.then(|| usize::from(get16(first, 6)))
}

/// Checks and opens a block. `bytes` is exactly as long as [`claimed_bytes`] said.
pub fn open(bytes: &[u8], parity: u8) -> Result<OpenBlock, BlockError> {
    open_checked(bytes, parity, true)
}

/// [`open`]; the crash test plants a bug by leaving the CRC32C and the XOR checksum unchecked.
pub(crate) fn open_checked(bytes: &[u8], parity: u8, check: bool) -> Result<OpenBlock, BlockError> {
    let size = claimed_bytes(bytes, parity).ok_or(BlockError::NotWritten)?;
    if size != bytes.len() {
        return Err(BlockError::Malformed);
    }
    let sectors = size / UNIT;
    if (0..sectors).any(|s| bytes[s * UNIT] != mark(parity, s, sectors)) {
        return Err(BlockError::Malformed);
    }
    if check && checksum(bytes) != get32(bytes, CHECKSUM_AT) {
        return Err(BlockError::Checksum);
    }
    let mut data = bytes.to_vec();
    let own = get32(bytes, 28) == MAGIC;
    let mut crc = 0;
    if own {
        crc = get32(bytes, CRC_AT);
        put32(&mut data, CRC_AT, 0);
        put32(&mut data, CHECKSUM_AT, 0);
        if check && crc32c::crc32c(&data) != crc {
            return Err(BlockError::Checksum);
        }
    }
    for s in 0..sectors {
        data[s * UNIT] = bytes[size - 1 - s];
    }
    let header = BlockHeader {
        records: get16(&data, 2),
        used: get16(&data, 4),
        bytes: size as u16,
        previous_bytes: get16(&data, 10),
        vlf: get32(&data, 12),
        number: get32(&data, 16),
        own: own.then(|| OwnFields {
            epoch: u64::from(get32(&data, 32)) | u64::from(get32(&data, 36)) << 32,
            previous_crc: get32(&data, 40),
            durable: (get32(&data, 48), get32(&data, 52)),
        }),
    };
    let block = OpenBlock { header, crc, data };
    block.check_offsets()?;
    Ok(block)
}

impl OpenBlock {
    /// Record `slot` (from 1), with the padding that follows it.
    pub fn record(&self, slot: u16) -> Option<&[u8]> {
        let records = usize::from(self.header.records);
        let i = usize::from(slot).checked_sub(1).filter(|i| *i < records)?;
        let start = self.offset(i);
        let end = if i + 1 < records {
            self.offset(i + 1)
        } else {
            usize::from(self.header.used) - 2 * records
        };
        self.data.get(start..end)
    }

    /// Address of record `slot`.
    pub fn lsn(&self, slot: u16) -> Lsn {
        Lsn::new(self.header.vlf, self.header.number, slot)
    }

    fn offset(&self, i: usize) -> usize {
        usize::from(get16(
            &self.data,
            usize::from(self.header.used) - 2 * (i + 1),
        ))
    }

    /// Offsets ascend, begin behind the smallest header there is and end before the offset array.
    fn check_offsets(&self) -> Result<(), BlockError> {
        let used = usize::from(self.header.used);
        let records = usize::from(self.header.records);
        let limit = usize::from(self.header.bytes) - usize::from(self.header.bytes) / UNIT;
        let end = used.checked_sub(2 * records).ok_or(BlockError::Malformed)?;
        if used > limit || end < CHECKSUM_AT {
            return Err(BlockError::Malformed);
        }
        let mut last = CHECKSUM_AT;
        for i in 0..records {
            let offset = self.offset(i);
            if offset < last || offset >= end {
                return Err(BlockError::Malformed);
            }
            last = offset + 1;
        }
        Ok(())
    }
}

fn mark(parity: u8, sector: usize, sectors: usize) -> u8 {
    let first = if sector == 0 { 0x10 } else { 0 };
    let last = if sector + 1 == sectors { 0x08 } else { 0 };
    parity | first | last
}

/// XOR of the words of each sector (the checksum word itself as 0), rotated left by the number of sectors behind it.
fn checksum(block: &[u8]) -> u32 {
    let sectors = block.len() / UNIT;
    let mut sum = 0u32;
    for (s, sector) in block.chunks_exact(UNIT).enumerate() {
        let mut x = [0u32; 4];
        for four in sector.chunks_exact(16) {
            for (k, w) in four.chunks_exact(4).enumerate() {
                x[k] ^= u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
            }
        }
        let word = x[0] ^ x[1] ^ x[2] ^ x[3];
        sum ^= word.rotate_left(((sectors - 1 - s) % 32) as u32);
    }
    // The stored word took part in sector 0; taking it out again makes it count as 0.
    sum ^ get32(block, CHECKSUM_AT).rotate_left(((sectors - 1) % 32) as u32)
}

fn put16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_le_bytes());
}

fn put32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_le_bytes());
}

fn get16(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

fn get32(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}
