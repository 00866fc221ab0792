//! Collations: identity, flags and the forms in which files and the wire carry them.
//!
//! A collation is one `u32`, the value of `syscolpars.collationid`: bits 0-11 select the locale, 12-19 are flags,
//! 24-31 are the sort id of the old `SQL_*` collations (zero for Windows collations). The TDS form is the LCID with
//! the same flags at bits 20-27, then the sort id. Known to be right for `SQL_Latin1_General_CP1_CI_AS`
//! (872468488); the flag positions beyond case, accent, kana and width are *assumed* from the TDS layout.

use std::fmt;

/// A collation, as the catalog stores it. Zero: the value carries no collation (numbers, dates).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CollationId(pub u32);

const IGNORE_CASE: u32 = 1 << 12;
const IGNORE_ACCENT: u32 = 1 << 13;
const BINARY: u32 = 1 << 16;
const BINARY2: u32 = 1 << 17;
const UTF8: u32 = 1 << 18;
const FLAGS: u32 = 0xff << 12;

const NAMES: &[(&str, CollationId)] = &[
    (
        "SQL_Latin1_General_CP1_CI_AS",
        CollationId::SQL_LATIN1_CI_AS,
    ),
    ("Latin1_General_CI_AS", CollationId::LATIN1_CI_AS),
    (
        "Latin1_General_CI_AS_KS_WS",
        CollationId::LATIN1_CI_AS_KS_WS,
    ),
    ("SQL_Latin1_General_CP1_CS_AS", CollationId(0x3300_c008)),
    ("SQL_Latin1_General_CP1_CI_AI", CollationId(0x3600_f008)),
    ("Latin1_General_CS_AS", CollationId(0x0000_c008)),
    ("Latin1_General_CI_AI", CollationId(0x0000_f008)),
    ("Latin1_General_CS_AI", CollationId(0x0000_e008)),
    ("Latin1_General_BIN", CollationId::LATIN1_BIN),
    ("Latin1_General_BIN2", CollationId::LATIN1_BIN2),
];

impl CollationId {
    pub const NONE: CollationId = CollationId(0);
    /// The default of a server installed for US English.
    pub const SQL_LATIN1_CI_AS: CollationId = CollationId(872_468_488);
    pub const LATIN1_CI_AS: CollationId = CollationId(0xd008);
    pub const LATIN1_CI_AS_KS_WS: CollationId = CollationId(0x1008);
    pub const LATIN1_BIN: CollationId = CollationId(0x1_0008);
    pub const LATIN1_BIN2: CollationId = CollationId(0x2_0008);
    /// What a new database gets when nobody says otherwise.
    pub const DEFAULT: CollationId = CollationId::SQL_LATIN1_CI_AS;

    /// The collation of that name, in any case; `None` when it is not supported.
    pub fn from_name(name: &str) -> Option<CollationId> {
        NAMES
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, id)| *id)
    }

    /// The name, or `None` for a collation read from a foreign file that is not in the table.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, id)| *id == self).map(|(n, _)| *n)
    }

    /// Every supported name, for `fn_helpcollations`.
    pub fn all() -> impl Iterator<Item = (&'static str, CollationId)> {
        NAMES.iter().copied()
    }

    pub fn ignores_case(self) -> bool {
        self.0 & IGNORE_CASE != 0
    }

    pub fn ignores_accent(self) -> bool {
        self.0 & IGNORE_ACCENT != 0
    }

    /// `_BIN` or `_BIN2`: values compare by code point.
    pub fn is_binary(self) -> bool {
        self.0 & (BINARY | BINARY2) != 0
    }

    /// `_BIN2`.
    pub fn is_binary2(self) -> bool {
        self.0 & BINARY2 != 0
    }

    /// `_UTF8`: `varchar` holds UTF-8.
    pub fn is_utf8(self) -> bool {
        self.0 & UTF8 != 0
    }

    /// The sort id of an `SQL_*` collation, 0 for a Windows collation.
    pub fn sort_id(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// The Windows locale. Only the Latin-1 locale is known; all others answer with it (assumed).
    pub fn lcid(self) -> u32 {
        1033
    }

    /// The code page of `varchar` data.
    pub fn code_page(self) -> u16 {
        if self.is_utf8() { 65001 } else { 1252 }
    }

    /// The five bytes of TYPE_INFO: `09 04 D0 00 34` for the default.
    pub fn tds_bytes(self) -> [u8; 5] {
        let flags = (self.0 & FLAGS) << 8;
        let b = (self.lcid() | flags).to_le_bytes();
        [b[0], b[1], b[2], b[3], self.sort_id()]
    }

    /// The inverse of `tds_bytes`, for parameters of an RPC.
    pub fn from_tds_bytes(b: [u8; 5]) -> CollationId {
        let word = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        if word == 0 && b[4] == 0 {
            return CollationId::NONE;
        }
        CollationId((word >> 8) & FLAGS | (b[4] as u32) << 24 | 8)
    }
}

impl fmt::Display for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "collation {:#x}", self.0),
        }
    }
}
