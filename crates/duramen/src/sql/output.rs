//! Where text goes: standard output, standard error, or a file in UTF-8 or UTF-16.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::drives;

/// The output of that name: `stdout`, `stderr` or a file, which is made anew.
pub fn open(
    name: &str,
    drives: &[(char, PathBuf)],
    unicode: bool,
) -> Result<Box<dyn Write>, String> {
    match name.to_ascii_lowercase().as_str() {
        "stdout" => Ok(Box::new(io::stdout())),
        "stderr" => Ok(Box::new(io::stderr())),
        _ => file(&drives::place(drives, name), unicode).map_err(|e| format!("'{name}': {e}")),
    }
}

/// A file of that name.
pub fn file(path: &Path, unicode: bool) -> io::Result<Box<dyn Write>> {
    let mut file = BufWriter::new(File::create(path)?);
    if !unicode {
        return Ok(Box::new(file));
    }
    file.write_all(&[0xFF, 0xFE])?;
    Ok(Box::new(Utf16 {
        inner: file,
        cut: Vec::new(),
    }))
}

/// Writes UTF-8 on as UTF-16, little end first.
struct Utf16<W: Write> {
    inner: W,
    /// The first bytes of a character whose others are still to come.
    cut: Vec<u8>,
}

impl<W: Write> Write for Utf16<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cut.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.cut) {
            Ok(text) => text.len(),
            Err(e) if e.error_len().is_none() => e.valid_up_to(),
            Err(e) => return Err(io::Error::new(io::ErrorKind::InvalidData, e)),
        };
        let rest = self.cut.split_off(whole);
        let text = String::from_utf8(std::mem::replace(&mut self.cut, rest));
        for unit in text.unwrap_or_default().encode_utf16() {
            self.inner.write_all(&unit.to_le_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_may_come_in_parts() {
        let mut out = Utf16 {
            inner: Vec::new(),
            cut: Vec::new(),
        };
        let text = "aé€😀";
        for byte in text.bytes() {
            out.write_all(&[byte]).expect("in memory");
        }
        let units: Vec<u16> = out
            .inner
            .chunks(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
            .collect();
        assert_eq!(String::from_utf16_lossy(&units), text);
        assert!(out.write_all(&[0xFF]).is_err());
    }
}
