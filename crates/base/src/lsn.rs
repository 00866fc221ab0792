//! Log sequence numbers: `VLF sequence : block offset / 512 within the VLF : slot`.

use std::fmt;

/// The address of a log record. Ordered by (VLF, block, slot); the block number counts 512-byte units from the
/// start of the VLF, its 8 KB header included, so a VLF's first record is `vlf:16:1`. Slots start at 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn {
    pub vlf: u32,
    pub block: u32,
    pub slot: u16,
}

impl Lsn {
    pub const NULL: Lsn = Lsn {
        vlf: 0,
        block: 0,
        slot: 0,
    };
    pub const MAX: Lsn = Lsn {
        vlf: u32::MAX,
        block: u32::MAX,
        slot: u16::MAX,
    };

    pub const fn new(vlf: u32, block: u32, slot: u16) -> Lsn {
        Lsn { vlf, block, slot }
    }

    pub fn is_null(self) -> bool {
        self == Lsn::NULL
    }

    /// The 10 bytes of page headers and log records: 4 + 4 + 2, little-endian.
    pub fn to_bytes(self) -> [u8; 10] {
        let mut b = [0; 10];
        b[..4].copy_from_slice(&self.vlf.to_le_bytes());
        b[4..8].copy_from_slice(&self.block.to_le_bytes());
        b[8..].copy_from_slice(&self.slot.to_le_bytes());
        b
    }

    /// Reads the 10-byte form from the start of `b`; `None` when `b` is shorter.
    pub fn from_bytes(b: &[u8]) -> Option<Lsn> {
        let b = b.get(..10)?;
        Some(Lsn {
            vlf: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            block: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            slot: u16::from_le_bytes([b[8], b[9]]),
        })
    }

    /// `VLF * 10^15 + block * 10^5 + slot`, the `numeric(25,0)` form.
    pub fn to_numeric(self) -> u128 {
        self.vlf as u128 * 1_000_000_000_000_000 + self.block as u128 * 100_000 + self.slot as u128
    }

    /// `(43:16:1)`, the form of DBCC PAGE and the error log.
    pub fn to_decimal_text(self) -> String {
        format!("({}:{}:{})", self.vlf, self.block, self.slot)
    }

    /// The inverse of the arguments of `fn_dblog`: `43:16:1` decimal, or hex with the prefix `0x`.
    pub fn parse(text: &str) -> Option<Lsn> {
        let (text, radix) = match text.strip_prefix("0x") {
            Some(rest) => (rest, 16),
            None => (text, 10),
        };
        let mut parts = text.split(':');
        let lsn = Lsn {
            vlf: u32::from_str_radix(parts.next()?, radix).ok()?,
            block: u32::from_str_radix(parts.next()?, radix).ok()?,
            slot: u16::from_str_radix(parts.next()?, radix).ok()?,
        };
        parts.next().is_none().then_some(lsn)
    }
}

/// `0000002b:00000010:0001`, the form of `fn_dblog`.
impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.vlf, self.block, self.slot)
    }
}
