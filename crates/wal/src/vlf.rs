//! VLFs: how many a log gets when it is made or grows, how large they are, and the header at the start of each.
//!
//! A log file is a file header page (8,192 bytes, the caller's) and then VLFs back to back to the end of the file. The
//! first 8,192 bytes of a VLF are its header. There is no status on disk: a VLF is active when it may still hold
//! records that somebody needs, and only memory knows that.
//!
//! Invariants
//! 1. The sizes of a split add up to what was split, each a multiple of 8 KB.
//!    [test: listings_of_new_logs; test: listings_of_growths]
//! 2. A VLF's parity is 0x40 when its use count is odd and 0x80 when even, 0 when the VLF holds nothing. [assert: vlf/2]
//! 3. Sequence number 0 means the VLF holds nothing, whatever its use count. [assert: vlf/3]
//! 4. A header that we wrote and that has changed by itself is no header. [test: header_round_trip_and_refusals]

use duramen_base::Lsn;

#[cfg(test)]
mod tests;

/// Bytes of the file header page in front of the first VLF, and of each VLF header.
pub const HEADER_BYTES: u64 = 8192;
/// First byte of every VLF header.
const SIGNATURE: u8 = 0xAB;
/// Log format version of 2012 to 2022.
pub const FORMAT_VERSION: u8 = 5;
/// Marks a header that has our checksum.
const MAGIC: u32 = u32::from_le_bytes(*b"DuVH");
/// Bytes of a header that mean something.
const MEANT: usize = 60;
/// What log space holds before its first use since 2016: no sector that begins with it can look written.
pub const STAMP: u8 = 0xC0;

const KB: u64 = 1024;
const MB: u64 = 1024 * KB;
/// The size of the VLFs of allocations below 1 MB: 31 pages.
const SMALL_VLF: u64 = 31 * 8 * KB;

/// Which version's rules a log follows. `Native` is ours: VLFs as in 2022, but for the last growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogProfile {
    V2012,
    V2014,
    V2019,
    V2022,
    #[default]
    Native,
}

impl LogProfile {
    /// The name that `--log-profile` takes.
    pub fn name(self) -> &'static str {
        match self {
            LogProfile::V2012 => "2012",
            LogProfile::V2014 => "2014",
            LogProfile::V2019 => "2019",
            LogProfile::V2022 => "2022",
            LogProfile::Native => "native",
        }
    }

    /// The inverse of [`LogProfile::name`].
    pub fn parse(name: &str) -> Option<LogProfile> {
        [
            LogProfile::V2012,
            LogProfile::V2014,
            LogProfile::V2019,
            LogProfile::V2022,
            LogProfile::Native,
        ]
        .into_iter()
        .find(|p| p.name().eq_ignore_ascii_case(name))
    }
}

/// The VLF sizes of a new log file of `file_bytes` bytes (its header page included). Empty when it is too small to
/// hold one VLF.
pub fn split_initial(file_bytes: u64) -> Vec<u64> {
    let total = (file_bytes / (8 * KB) * (8 * KB)).saturating_sub(HEADER_BYTES);
    if total < SMALL_VLF {
        return Vec::new();
    }
    split(total, count_by_size(total, file_bytes))
}

/// The VLF sizes of a growth by `growth` bytes of a log that has `current` bytes.
pub fn split_growth(profile: LogProfile, current: u64, growth: u64) -> Vec<u64> {
    let growth = growth / (8 * KB) * (8 * KB);
    if growth < SMALL_VLF {
        return Vec::new();
    }
    let one = match profile {
        LogProfile::V2012 => false,
        LogProfile::V2014 | LogProfile::V2019 => growth < current / 8,
        LogProfile::V2022 | LogProfile::Native => growth < current / 8 || growth <= 64 * MB,
    };
    if one {
        return vec![growth];
    }
    split(growth, count_by_size(growth, growth))
}

/// The VLF sizes of the native profile's last growth, after which a log is as large as it may be and lives by truncation:
/// that frees whole VLFs, and one of half the log would leave little to write into while anything in it is needed. None is
/// larger than a sixteenth of the log, as far as they may be that small.
pub fn split_last_growth(current: u64, growth: u64) -> Vec<u64> {
    let growth = growth / (8 * KB) * (8 * KB);
    let most = ((current + growth) / 16).max(MB);
    let as_ever = split_growth(LogProfile::Native, current, growth);
    match growth.div_ceil(most) {
        count if growth > MB && count > as_ever.len() as u64 => split(growth, count),
        _ => as_ever,
    }
}

/// `total` is what the VLFs share, `nominal` the size that was asked for: the steps go by the latter (a 64 MB file has
/// four VLFs, a 1 GB file eight).
fn count_by_size(total: u64, nominal: u64) -> u64 {
    if total < MB {
        // A 1 MB file has 1,040,384 bytes to share: four VLFs, the last with the remainder.
        (total / SMALL_VLF).max(1)
    } else if nominal <= 64 * MB {
        4
    } else if nominal <= 1024 * MB {
        8
    } else {
        16
    }
}

fn split(total: u64, count: u64) -> Vec<u64> {
    let each = if total < MB {
        SMALL_VLF
    } else {
        total / count / (64 * KB) * (64 * KB)
    };
    let mut sizes = vec![each; count as usize];
    if let Some(last) = sizes.last_mut() {
        *last = total - each * (count - 1);
    }
    sizes
}

/// How a log file grows when it is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Growth {
    #[default]
    None,
    Bytes(u64),
    Percent(u32),
}

impl Growth {
    /// By how much a file of `current` bytes grows: percentages lead to a size rounded up to 64 KB, and no growth is
    /// below 256 KB, as in real files. `None` when the file does not grow.
    pub fn increment(self, current: u64) -> Option<u64> {
        let wanted = match self {
            Growth::None => return None,
            Growth::Bytes(0) | Growth::Percent(0) => return None,
            Growth::Bytes(bytes) => bytes.div_ceil(64 * KB) * (64 * KB),
            Growth::Percent(percent) => {
                let step = (u128::from(current) * u128::from(percent) / 100) as u64;
                (current + step.max(256 * KB)).div_ceil(64 * KB) * (64 * KB) - current
            }
        };
        Some(wanted.max(256 * KB))
    }
}

/// The meaningful bytes of a VLF header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VlfHeader {
    pub version: u16,
    /// Sequence number; 0 when the VLF holds nothing.
    pub seq: u32,
    /// How often the VLF has been activated.
    pub use_count: u32,
    pub size: u64,
    /// Byte offset in the file.
    pub offset: u64,
    /// When a growth made the VLF: the LSN of that moment.
    pub create_lsn: Lsn,
    /// Ours: where its first block stands, in units of 512 bytes, when what comes before was not restored; else 0.
    pub first_block: u32,
    /// In how many uses, this one among them, sectors of an older use may stand that have this use's parity: after a
    /// recovery has taken an activation back. Ours.
    pub mixed: u8,
}

impl VlfHeader {
    /// 0x40, 0x80, or 0 when the VLF holds nothing.
    pub fn parity(&self) -> u8 {
        match (self.seq, self.use_count % 2) {
            (0, _) => 0,
            (_, 1) => 0x40,
            _ => 0x80,
        }
    }

    /// Writes the header over the first 60 bytes of `out`; what follows should be zero.
    pub fn encode(&self, out: &mut [u8]) {
        out[0] = SIGNATURE;
        out[1] = self.parity();
        out[2..4].copy_from_slice(&self.version.to_le_bytes());
        out[4..8].copy_from_slice(&self.seq.to_le_bytes());
        out[12..16].copy_from_slice(&self.use_count.to_le_bytes());
        out[16..24].copy_from_slice(&self.size.to_le_bytes());
        out[24..32].copy_from_slice(&self.offset.to_le_bytes());
        out[32..42].copy_from_slice(&self.create_lsn.to_bytes());
        out[44..48].copy_from_slice(&MAGIC.to_le_bytes());
        out[48] = self.mixed;
        out[52..56].copy_from_slice(&self.first_block.to_le_bytes());
        let crc = crc32c::crc32c(&out[..56]);
        out[56..MEANT].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads a header; `None` when the bytes are none: wrong signature, a parity that does not follow from the use
    /// count, a size that is no multiple of 8 KB or too small to hold a block, a checksum of ours that is wrong. Where
    /// other programs write zeros instead of ours, nothing is checked by it.
    pub fn decode(b: &[u8]) -> Option<VlfHeader> {
        let b = b.get(..MEANT)?;
        let u32_at = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let header = VlfHeader {
            version: u16::from_le_bytes([b[2], b[3]]),
            seq: u32_at(4),
            use_count: u32_at(12),
            size: u64_at(16),
            offset: u64_at(24),
            create_lsn: Lsn::from_bytes(&b[32..])?,
            first_block: u32_at(52),
            mixed: b[48],
        };
        let checked = u32_at(44) == MAGIC && u32_at(56) == crc32c::crc32c(&b[..56]);
        let sound = (checked || b[42..].iter().all(|x| *x == 0))
            && b[0] == SIGNATURE
            && b[1] == header.parity()
            && header.size.is_multiple_of(8 * KB)
            && (2 * HEADER_BYTES..=2 << 40).contains(&header.size)
            && header.offset.is_multiple_of(8 * KB);
        sound.then_some(header)
    }
}
