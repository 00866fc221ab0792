//! Files of records: what event files and trace files are made of (`docs/format/events.md`).
//!
//! A file is 16 bytes of mark and then records, each `length u32, CRC32C u32, payload`, little-endian. A record is
//! appended in one write; a torn one at the end, found by its checksum, is as if it had not been written. The layout is
//! Duramen's own: SQL Server's is not published.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_os::{Disk, DiskFile, IoError, OpenOptions, sparing};

/// What a file holds, in its first 16 bytes.
pub type Mark = [u8; 16];
pub const EVENTS: Mark = *b"DURAMEN.XEL.0001";
pub const TRACE: Mark = *b"DURAMEN.TRC.0001";

const FRAME: usize = 8;
/// No record is longer.
const LONGEST: u32 = 64 << 20;

/// A file being written.
#[derive(Debug)]
pub struct Writer {
    file: Arc<dyn DiskFile>,
    pub path: PathBuf,
    /// Bytes so far.
    pub end: u64,
}

impl Writer {
    /// Makes a file that must not be there.
    pub fn create(disk: &dyn Disk, path: &Path, mark: &Mark) -> Result<Writer, IoError> {
        let options = OpenOptions {
            create_new: true,
            ..OpenOptions::default()
        };
        let file = sparing(disk.open(path, &options)?)?;
        file.write_at(mark, 0)?;
        Ok(Writer {
            file,
            path: path.to_path_buf(),
            end: mark.len() as u64,
        })
    }

    /// Appends records in one write.
    pub fn append(&mut self, records: &[Vec<u8>]) -> Result<(), IoError> {
        let mut bytes = Vec::new();
        for r in records.iter().filter(|r| r.len() < LONGEST as usize) {
            bytes.extend_from_slice(&(r.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&crc32c::crc32c(r).to_le_bytes());
            bytes.extend_from_slice(r);
        }
        self.file.write_at(&bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// Where a record begins, and what is in it.
pub type Record = (u64, Vec<u8>);

/// A file's records with their offsets; what is torn or foreign ends them. `None`: no such file of ours.
pub fn read(disk: &dyn Disk, path: &Path, mark: &Mark) -> Result<Option<Vec<Record>>, IoError> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = disk.open(path, &options)?;
    let length = file.len()?;
    let mut found = Mark::default();
    if length < found.len() as u64 {
        return Ok(None);
    }
    file.read_at(&mut found, 0)?;
    if found != *mark {
        return Ok(None);
    }
    let mut records = Vec::new();
    let mut at = found.len() as u64;
    let mut frame = [0; FRAME];
    while at + FRAME as u64 <= length {
        file.read_at(&mut frame, at)?;
        let word =
            |i: usize| u32::from_le_bytes([frame[i], frame[i + 1], frame[i + 2], frame[i + 3]]);
        let (bytes, sum) = (word(0), word(4));
        if bytes > LONGEST || at + FRAME as u64 + u64::from(bytes) > length {
            break;
        }
        let mut payload = vec![0; bytes as usize];
        file.read_at(&mut payload, at + FRAME as u64)?;
        if crc32c::crc32c(&payload) != sum {
            break;
        }
        records.push((at, payload));
        at += FRAME as u64 + u64::from(bytes);
    }
    Ok(Some(records))
}

/// Takes a payload apart.
pub struct Payload<'a>(pub &'a [u8]);

impl<'a> Payload<'a> {
    pub fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        if self.0.len() < n {
            return None;
        }
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        Some(head)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|b| b[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.bytes(8)?.try_into().ok().map(i64::from_le_bytes)
    }

    /// Bytes with their length before them.
    pub fn text(&mut self) -> Option<String> {
        let n = self.u32()? as usize;
        String::from_utf8(self.bytes(n)?.to_vec()).ok()
    }
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}
