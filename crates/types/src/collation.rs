//! Collations: identity, flags and the forms in which files and the wire carry them.
//!
//! A collation is one `u32`, the value of `syscolpars.collationid`: bits 0-11 select the locale, 12-19 are flags,
//! 24-31 are the sort id of the old `SQL_*` collations (zero for Windows collations). The TDS form is the LCID with
//! the same flags at bits 20-27, then the sort id. Known to be right for `SQL_Latin1_General_CP1_CI_AS`
//! (872468488); the flag positions beyond case, accent, kana and width, and the version at bits 20-23, are *assumed* from
//! the TDS layout ([MS-TDS] 2.2.5.1.2), which has them in the same order; `_SC` is its reserved flag here.

use std::fmt;
use std::sync::LazyLock;

/// A collation, as the catalog stores it. Zero: the value carries no collation (numbers, dates).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CollationId(pub u32);

const IGNORE_CASE: u32 = 1 << 12;
const IGNORE_ACCENT: u32 = 1 << 13;
const BINARY: u32 = 1 << 16;
const BINARY2: u32 = 1 << 17;
const UTF8: u32 = 1 << 18;
const FLAGS: u32 = 0xff << 12;

/// Supplementary characters count as one (`_SC`).
const SUPPLEMENTARY: u32 = 1 << 19;
/// The collation's version: 0 for 80, 2 for 100, at bit 20.
const VERSION: u32 = 0xf << 20;
const VERSION_100: u32 = 2 << 20;
/// The locale of Latin1_General.
const LATIN1: u32 = 8;

/// Every supported collation: the old `SQL_*` ones, then Latin1_General and Latin1_General_100 with all their suffixes.
static NAMES: LazyLock<Vec<(String, CollationId)>> = LazyLock::new(|| {
    let mut names = Vec::new();
    for (name, id) in [
        ("CI_AS", CollationId::SQL_LATIN1_CI_AS),
        ("CS_AS", CollationId(0x3300_c008)),
        ("CI_AI", CollationId(0x3600_f008)),
    ] {
        names.push((format!("SQL_Latin1_General_CP1_{name}"), id));
    }
    for (prefix, version) in [("Latin1_General", 0), ("Latin1_General_100", VERSION_100)] {
        let base = version | LATIN1;
        names.push((format!("{prefix}_BIN"), CollationId(base | BINARY)));
        names.push((format!("{prefix}_BIN2"), CollationId(base | BINARY2)));
        if version != 0 {
            let id = CollationId(base | BINARY2 | UTF8);
            names.push((format!("{prefix}_BIN2_UTF8"), id));
        }
        for suffix in 0..16u32 {
            let bit = |n: u32| suffix & (1 << n) != 0;
            let word = |on: bool, yes: &'static str, no: &'static str| if on { yes } else { no };
            let name = format!(
                "{prefix}_{}_{}{}{}",
                word(bit(3), "CS", "CI"),
                word(bit(2), "AS", "AI"),
                word(bit(1), "_KS", ""),
                word(bit(0), "_WS", "")
            );
            // What the name does not make sensitive is ignored.
            let ignored =
                (!suffix & 8) >> 3 | (!suffix & 4) >> 1 | (!suffix & 2) << 1 | (!suffix & 1) << 3;
            let id = base | ignored << 12;
            if version != 0 {
                let sc = id | SUPPLEMENTARY;
                names.push((format!("{name}_SC"), CollationId(sc)));
                names.push((format!("{name}_SC_UTF8"), CollationId(sc | UTF8)));
            }
            names.push((name, CollationId(id)));
        }
    }
    names
});

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
        let mut names = NAMES.iter();
        names.find(|(_, id)| *id == self).map(|(n, _)| n.as_str())
    }

    /// Every supported name, for `fn_helpcollations`.
    pub fn all() -> impl Iterator<Item = (&'static str, CollationId)> {
        NAMES.iter().map(|(n, id)| (n.as_str(), *id))
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

    /// `_SC`: LEN, SUBSTRING and their like count a supplementary character as one.
    pub fn is_supplementary(self) -> bool {
        self.0 & (SUPPLEMENTARY | UTF8) != 0
    }

    /// COLLATIONPROPERTY's version: 0 for 80, 2 for 100.
    pub fn version(self) -> u8 {
        ((self.0 & VERSION) >> 20) as u8
    }

    /// The flags of Windows' comparison functions: 1 ignores case, 2 accents, 0x10000 kana types, 0x20000 widths.
    pub fn comparison_style(self) -> u32 {
        let bit = |from: u32, to: u32| if self.0 & from != 0 { to } else { 0 };
        bit(IGNORE_CASE, 1)
            | bit(IGNORE_ACCENT, 2)
            | bit(1 << 14, 0x1_0000)
            | bit(1 << 15, 0x2_0000)
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
        let flags = (self.0 & (FLAGS | VERSION)) << 8;
        let b = (self.lcid() | flags).to_le_bytes();
        [b[0], b[1], b[2], b[3], self.sort_id()]
    }

    /// The inverse of `tds_bytes`, for parameters of an RPC.
    pub fn from_tds_bytes(b: [u8; 5]) -> CollationId {
        let word = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        if word == 0 && b[4] == 0 {
            return CollationId::NONE;
        }
        CollationId((word >> 8) & (FLAGS | VERSION) | (b[4] as u32) << 24 | LATIN1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_one_to_one() {
        let mut seen: Vec<u32> = CollationId::all().map(|(_, id)| id.0).collect();
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
        for (name, id) in CollationId::all() {
            assert_eq!(CollationId::from_name(&name.to_uppercase()), Some(id));
            assert_eq!(CollationId::from_tds_bytes(id.tds_bytes()), id, "{name}");
        }
        assert_eq!(
            CollationId::from_name("Latin1_General_CI_AS"),
            Some(CollationId::LATIN1_CI_AS)
        );
        let sensitive = CollationId::from_name("Latin1_General_CI_AS_KS_WS");
        assert_eq!(sensitive, Some(CollationId::LATIN1_CI_AS_KS_WS));
        assert_eq!(CollationId::DEFAULT.comparison_style(), 196_609);
        assert_eq!(CollationId::from_name("Latin1_General_CI_AS_SC"), None);
    }
}
