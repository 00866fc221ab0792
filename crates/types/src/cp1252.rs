//! Windows-1252, the code page of `SQL_Latin1_General_CP1_CI_AS`.

/// The characters of bytes 0x80-0x9F. The five holes map to the C1 control of the same number, as Windows does.
const HIGH: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039,
    0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc,
    0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
];

/// The UTF-16 unit of one byte.
#[inline]
pub const fn to_utf16(b: u8) -> u16 {
    match b {
        0x80..=0x9f => HIGH[(b - 0x80) as usize],
        _ => b as u16,
    }
}

/// The byte of one UTF-16 unit, `None` when the code page lacks it.
#[inline]
pub fn from_utf16(u: u16) -> Option<u8> {
    match u {
        0..=0x7f | 0xa0..=0xff => Some(u as u8),
        _ => HIGH.iter().position(|&h| h == u).map(|i| 0x80 + i as u8),
    }
}

/// The plain letter of Latin Extended-A that `best_fit` gives, 0 for none.
pub(crate) const fn best_fit_letter(u: u16) -> u8 {
    match latin_extended(u) {
        c @ (b'A'..=b'Z' | b'a'..=b'z') => c,
        _ => 0,
    }
}

/// Like `from_utf16`, with the best fits a Windows conversion makes, and `?` for everything else.
/// Only the Latin part of Windows' best-fit table is here: letters lose diacritics the code page lacks,
/// full-width ASCII becomes ASCII.
pub fn best_fit(u: u16) -> u8 {
    if let Some(b) = from_utf16(u) {
        return b;
    }
    match u {
        0xff01..=0xff5e => (u - 0xff01) as u8 + b'!',
        0x2000..=0x2006 | 0x3000 => b' ',
        0x2010 | 0x2011 | 0x2212 => b'-',
        0x2032 | 0x2bc => b'\'',
        _ => latin_extended(u),
    }
}

const fn latin_extended(u: u16) -> u8 {
    match u {
        0x100 | 0x102 | 0x104 | 0x1cd => b'A',
        0x101 | 0x103 | 0x105 | 0x1ce => b'a',
        0x106 | 0x108 | 0x10a | 0x10c => b'C',
        0x107 | 0x109 | 0x10b | 0x10d => b'c',
        0x10e => b'D',
        0x110 => 0xd0,
        0x10f | 0x111 => b'd',
        0x112 | 0x114 | 0x116 | 0x118 | 0x11a => b'E',
        0x113 | 0x115 | 0x117 | 0x119 | 0x11b => b'e',
        0x11c | 0x11e | 0x120 | 0x122 => b'G',
        0x11d | 0x11f | 0x121 | 0x123 => b'g',
        0x124 | 0x126 => b'H',
        0x125 | 0x127 => b'h',
        0x128 | 0x12a | 0x12c | 0x12e | 0x130 => b'I',
        0x129 | 0x12b | 0x12d | 0x12f | 0x131 => b'i',
        0x134 => b'J',
        0x135 => b'j',
        0x136 => b'K',
        0x137 => b'k',
        0x139 | 0x13b | 0x13d | 0x141 => b'L',
        0x13a | 0x13c | 0x13e | 0x142 => b'l',
        0x143 | 0x145 | 0x147 => b'N',
        0x144 | 0x146 | 0x148 => b'n',
        0x14c | 0x14e | 0x150 => b'O',
        0x14d | 0x14f | 0x151 => b'o',
        0x154 | 0x156 | 0x158 => b'R',
        0x155 | 0x157 | 0x159 => b'r',
        0x15a | 0x15c | 0x15e => b'S',
        0x15b | 0x15d | 0x15f => b's',
        0x162 | 0x164 | 0x166 => b'T',
        0x163 | 0x165 | 0x167 => b't',
        0x168 | 0x16a | 0x16c | 0x16e | 0x170 | 0x172 => b'U',
        0x169 | 0x16b | 0x16d | 0x16f | 0x171 | 0x173 => b'u',
        0x174 => b'W',
        0x175 => b'w',
        0x176 => b'Y',
        0x177 => b'y',
        0x179 | 0x17b => b'Z',
        0x17a | 0x17c => b'z',
        _ => b'?',
    }
}

/// Text to bytes; what does not fit becomes `?`. A character outside the BMP becomes two, as on the server.
pub fn encode(text: &str) -> Vec<u8> {
    // As many as there are, as a rule: long texts need no room beyond.
    let mut out = Vec::with_capacity(text.len());
    encode_into(text, &mut out);
    out
}

/// The same, behind what is there.
pub fn encode_into(text: &str, out: &mut Vec<u8>) {
    out.extend(text.encode_utf16().map(best_fit));
}

/// UTF-16 units to bytes.
pub fn encode_units(units: &[u16]) -> Vec<u8> {
    units.iter().map(|&u| best_fit(u)).collect()
}

/// Bytes to UTF-16 units.
pub fn decode_units(bytes: &[u8]) -> Vec<u16> {
    bytes.iter().map(|&b| to_utf16(b)).collect()
}

/// Bytes to text.
pub fn decode(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|&b| char::from_u32(to_utf16(b) as u32).unwrap_or('?'))
        .collect()
}
