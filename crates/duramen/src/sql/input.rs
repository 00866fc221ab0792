//! Lines of scripts, whatever they are written in: UTF-8, UTF-16 with its mark, or Windows-1252.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use duramen_types::cp1252;

/// A script file, ready to be read line by line. A file in UTF-16 is read whole.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(File::open(path)?);
    let mark = reader.fill_buf()?.get(..2).map(|m| [m[0], m[1]]);
    let unit = match mark {
        Some([0xFF, 0xFE]) => u16::from_le_bytes,
        Some([0xFE, 0xFF]) => u16::from_be_bytes,
        _ => return Ok(Box::new(reader)),
    };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let units: Vec<u16> = bytes.chunks_exact(2).map(|b| unit([b[0], b[1]])).collect();
    let text = String::from_utf16_lossy(&units);
    Ok(Box::new(Cursor::new(text.into_bytes())))
}

/// The next line without its end; `None` at the end of the input.
pub fn line(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if input.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    // What is not UTF-8 is what Windows editors write.
    let text = String::from_utf8(bytes).unwrap_or_else(|e| cp1252::decode(e.as_bytes()));
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut input = Cursor::new(bytes.to_vec());
        std::iter::from_fn(|| line(&mut input).expect("in memory")).collect()
    }

    #[test]
    fn lines_end_in_either_way_and_may_be_windows_text() {
        assert_eq!(lines(b"a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(lines(b"M\xfcnchen\nK\xc3\xb6ln"), ["München", "Köln"]);
    }

    #[test]
    fn a_mark_tells_utf_16() {
        let path = std::env::temp_dir().join(format!("duramen-input-{}.sql", std::process::id()));
        for (mark, big) in [([0xFF, 0xFE], false), ([0xFE, 0xFF], true)] {
            let mut bytes = mark.to_vec();
            for unit in "é\r\nx".encode_utf16() {
                bytes.extend(match big {
                    true => unit.to_be_bytes(),
                    false => unit.to_le_bytes(),
                });
            }
            std::fs::write(&path, bytes).expect("written");
            let mut input = open(&path).expect("opened");
            let first = line(&mut *input).expect("read").expect("a line");
            assert_eq!(first.trim_start_matches('\u{feff}'), "é");
            assert_eq!(line(&mut *input).expect("read").as_deref(), Some("x"));
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
