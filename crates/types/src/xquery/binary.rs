//! `xs:hexBinary` and `xs:base64Binary`: bytes and how they are written (XML Schema part 2, 3.2.15 and 3.2.16).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

/// `None` for what is no pairs of hexadecimal digits. Blanks around it do not count.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim().as_bytes();
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let digit = |b: u8| char::from(b).to_digit(16);
    let byte = |[a, b]: &[u8; 2]| u8::try_from(digit(*a)? << 4 | digit(*b)?).ok();
    pairs.iter().map(byte).collect()
}

pub(super) fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            match n <= three.len() {
                true => out.push(char::from(ALPHABET[(bits >> (18 - 6 * n) & 63) as usize])),
                false => out.push('='),
            }
        }
    }
    out
}

/// `None` for what is none. Blanks do not count, wherever they are.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let chars: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let (fours, []) = chars.as_chunks::<4>() else {
        return None;
    };
    let mut out = Vec::new();
    for (i, four) in fours.iter().enumerate() {
        let padding = four.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || padding > 0 && i + 1 < fours.len() {
            return None;
        }
        let mut bits = 0;
        for b in &four[..4 - padding] {
            let six = ALPHABET.iter().position(|a| a == b)?;
            bits = bits << 6 | six as u32;
        }
        bits <<= 6 * padding;
        out.extend(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for n in 0..20u8 {
            let bytes: Vec<u8> = (0..n).map(|b| b.wrapping_mul(37)).collect();
            assert_eq!(from_hex(&hex(&bytes)).as_ref(), Some(&bytes));
            assert_eq!(from_base64(&base64(&bytes)), Some(bytes));
        }
        assert_eq!(base64(b"Duramen"), "RHVyYW1lbg==");
        assert_eq!(hex(&[1, 0xab]), "01AB");
        for bad in ["A", "AB=", "A===", "QQ==QQ==", "Q*=="] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
        assert_eq!(from_hex("ABC"), None);
        assert_eq!(from_hex("0x"), None);
    }
}
