//! UTF-16 as text. Nearly all of it is ASCII, which needs no look at one character after the other.

/// The text of UTF-16 units; a surrogate without its other half becomes U+FFFD.
pub fn text(units: &[u16]) -> String {
    let all = units.iter().fold(0, |all, unit| all | unit);
    if all < 0x80 {
        let bytes = units.iter().map(|&unit| unit as u8).collect();
        if let Ok(text) = String::from_utf8(bytes) {
            return text;
        }
    }
    String::from_utf16_lossy(units)
}

/// The same of units as they are sent, the lower byte first; a byte that is left at the end is no unit.
pub fn text_of_bytes(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let all = units
        .iter()
        .fold(0, |all, unit| all | u16::from_le_bytes(*unit));
    if all < 0x80 {
        let bytes = units.iter().map(|unit| unit[0]).collect();
        if let Ok(text) = String::from_utf8(bytes) {
            return text;
        }
    }
    let units: Vec<u16> = units.iter().map(|u| u16::from_le_bytes(*u)).collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::{text, text_of_bytes};

    #[test]
    fn every_unit_has_its_text() {
        assert_eq!(text(&[]), "");
        for unit in 0..=u16::MAX {
            let units = [0x41, unit, 0x7f];
            let expected = String::from_utf16_lossy(&units);
            assert_eq!(text(&units), expected, "{unit:x}");
            let mut bytes: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
            bytes.push(0xff);
            assert_eq!(text_of_bytes(&bytes), expected, "{unit:x}");
        }
        assert_eq!(text(&[0xd83d, 0xde00]), "\u{1f600}");
    }
}
