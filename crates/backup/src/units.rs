//! Compressed media: the container, cut into units that are compressed each by itself.
//!
//! The form is that of SQL Server's compressed backups: after 16 bytes, records of 28 bytes with a unit behind each, at
//! most 64 KB of the container as LZ77 with Huffman codes (`format::xpress`). What those 28 bytes mean is known in part;
//! where it is not, ours say who they are, which place of the container the unit has, and a CRC32C (`docs/format/backup.md`).
//!
//! 1. A unit holds whole sectors of 512 bytes, and so does everything that is handed over.
//! 2. A sector whose bytes are not all known yet (the header of a stream of pages, whose length is its end) is a unit of its
//!    own with room for whatever it becomes: what follows never moves.
//! 3. One thread per medium compresses and writes, while the backup reads; it has ended before [`UnitWriter`] is gone.

use std::sync::Arc;

use duramen_os::sync::{Mutex, Sender, channel};
use duramen_os::thread::{JoinHandle, try_spawn};
use duramen_os::{DiskFile, IoError};

use duramen_format::xpress::{self, encode::Encoder};
use duramen_format::{u32_at, u64_at};

pub(super) const MAGIC: &[u8; 8] = b"MSSQLBAK";
/// Where the first record stands.
const FIRST_AT: u64 = 16;
const HEAD_BYTES: usize = 28;
pub(super) const SECTOR: usize = 512;
const UNIT_BYTES: usize = 64 << 10;
/// A sector that may change takes so much.
const HELD_BYTES: usize = 1024;
const MARK: &[u8; 8] = b"DURAMEN\0";
/// Written at once.
const PIECE: usize = 1 << 20;
/// Pieces of a megabyte that wait for the thread.
const QUEUE: usize = 4;

enum Job {
    Bytes(Vec<u8>),
    /// One sector, of which bytes are still to come.
    Held(Vec<u8>),
    /// Bytes of such a sector.
    Patch(u64, Vec<u8>),
}

/// Compresses and writes on a thread of its own.
pub(super) struct UnitWriter {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<Result<u64, IoError>>>,
}

impl UnitWriter {
    /// Goes on behind `stored` bytes of a medium that hold `plain` bytes of the container. Without a file it only counts.
    pub fn new(
        file: Option<Arc<dyn DiskFile>>,
        stored: u64,
        plain: u64,
    ) -> Result<UnitWriter, IoError> {
        let (jobs, work) = channel(QUEUE);
        let thread = try_spawn("backup compression", move || {
            let mut worker = Worker {
                file,
                out: Vec::with_capacity(PIECE + 2 * UNIT_BYTES),
                at: stored,
                plain,
                rest: Vec::new(),
                held: Vec::new(),
                encoder: Encoder::default(),
            };
            if stored == 0 {
                worker.out.extend(MAGIC);
                worker.out.extend([2, 0, 0, 0, 3, 0, 0, 0]);
            }
            while let Ok(job) = work.recv() {
                worker.work(job)?;
            }
            worker.end_rest()?;
            worker.flush()?;
            Ok(worker.at)
        })?;
        Ok(UnitWriter {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    fn send(&mut self, job: Job) -> Result<(), IoError> {
        let sent = self.jobs.as_ref().is_some_and(|j| j.send(job).is_ok());
        match sent {
            true => Ok(()),
            false => self.finish().map(|_| ()),
        }
    }

    /// Whole sectors.
    pub fn put(&mut self, bytes: Vec<u8>) -> Result<(), IoError> {
        self.send(Job::Bytes(bytes))
    }

    /// A sector that [`UnitWriter::patch`] will change.
    pub fn hold(&mut self, sector: Vec<u8>) -> Result<(), IoError> {
        self.send(Job::Held(sector))
    }

    /// Changes bytes of a sector that was held, at a place of the container.
    pub fn patch(&mut self, at: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.send(Job::Patch(at, bytes.to_vec()))
    }

    /// Everything is written: how many bytes the medium has.
    pub fn finish(&mut self) -> Result<u64, IoError> {
        self.jobs = None;
        let gone = IoError::Os {
            code: 5,
            call: "compress",
        };
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(gone),
        }
    }
}

impl Drop for UnitWriter {
    fn drop(&mut self) {
        // Whoever gives the medium up may cut it then.
        let _ = self.finish();
    }
}

struct Held {
    plain: u64,
    stored: u64,
    sector: Vec<u8>,
}

struct Worker {
    file: Option<Arc<dyn DiskFile>>,
    out: Vec<u8>,
    /// Where `out` goes.
    at: u64,
    /// Where the next unit begins in the container.
    plain: u64,
    /// Sectors that do not fill a unit yet.
    rest: Vec<u8>,
    held: Vec<Held>,
    encoder: Encoder,
}

impl Worker {
    fn work(&mut self, job: Job) -> Result<(), IoError> {
        match job {
            Job::Bytes(bytes) => {
                let mut bytes = bytes.as_slice();
                if !self.rest.is_empty() {
                    let n = (UNIT_BYTES - self.rest.len()).min(bytes.len());
                    self.rest.extend_from_slice(&bytes[..n]);
                    bytes = &bytes[n..];
                    if self.rest.len() == UNIT_BYTES {
                        self.end_rest()?;
                    }
                }
                let mut units = bytes.chunks_exact(UNIT_BYTES);
                for unit in &mut units {
                    self.unit(unit)?;
                }
                self.rest.extend_from_slice(units.remainder());
            }
            Job::Held(sector) => {
                self.end_rest()?;
                let stored = self.at + self.out.len() as u64;
                self.held.push(Held {
                    plain: self.plain,
                    stored,
                    sector: sector.clone(),
                });
                let record = held_record(&mut self.encoder, self.plain, &sector);
                self.plain += sector.len() as u64;
                self.append(&record)?;
            }
            Job::Patch(at, bytes) => {
                let holds = |h: &Held| (h.plain..h.plain + SECTOR as u64).contains(&at);
                let Some(place) = self.held.iter().position(holds) else {
                    return Err(IoError::Eof);
                };
                let mut held = self.held.swap_remove(place);
                let from = (at - held.plain) as usize;
                held.sector[from..from + bytes.len()].copy_from_slice(&bytes);
                let record = held_record(&mut self.encoder, held.plain, &held.sector);
                self.flush()?;
                if let Some(file) = &self.file {
                    file.write_at(&record, held.stored)?;
                }
            }
        }
        Ok(())
    }

    fn end_rest(&mut self) -> Result<(), IoError> {
        let rest = std::mem::take(&mut self.rest);
        self.unit(&rest)?;
        self.rest = rest;
        self.rest.clear();
        Ok(())
    }

    fn unit(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let from = self.out.len();
        if !record(&mut self.encoder, self.plain, bytes, &mut self.out) {
            // What does not get smaller: a half fits certainly.
            self.out.truncate(from);
            let (a, b) = bytes.split_at((bytes.len() / 2).next_multiple_of(SECTOR));
            self.unit(a)?;
            return self.unit(b);
        }
        self.plain += bytes.len() as u64;
        if self.out.len() >= PIECE {
            self.flush()?;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.out.extend_from_slice(bytes);
        match self.out.len() >= PIECE {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// The records so far are on the medium.
    fn flush(&mut self) -> Result<(), IoError> {
        if let Some(file) = &self.file {
            file.write_at(&self.out, self.at)?;
        }
        self.at += self.out.len() as u64;
        self.out.clear();
        Ok(())
    }
}

/// Appends a record; false when the unit is too large for one.
fn record(encoder: &mut Encoder, plain: u64, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let from = out.len();
    out.extend([0; HEAD_BYTES]);
    encoder.compress(bytes, out);
    seal(plain, bytes.len(), &mut out[from..])
}

fn held_record(encoder: &mut Encoder, plain: u64, sector: &[u8]) -> Vec<u8> {
    let mut out = vec![0; HEAD_BYTES];
    encoder.compress(sector, &mut out);
    // A literal takes at most 9 bits on average, beside the code.
    out.resize(HEAD_BYTES + HELD_BYTES, 0);
    seal(plain, sector.len(), &mut out);
    out
}

/// Fills in a record's head.
fn seal(plain: u64, size: usize, record: &mut [u8]) -> bool {
    let Ok(stored) = u16::try_from(record.len() - HEAD_BYTES) else {
        return false;
    };
    let sectors = (size / SECTOR) as u32;
    let tag = (u32::from(stored) << 16) | (sectors << 8) | 0x21;
    record[..4].copy_from_slice(&tag.to_le_bytes());
    record[4..12].copy_from_slice(MARK);
    record[12..20].copy_from_slice(&plain.to_le_bytes());
    let sum = sum_of(record);
    record[24..28].copy_from_slice(&sum.to_le_bytes());
    true
}

/// CRC32C of a record without the sum itself.
fn sum_of(record: &[u8]) -> u32 {
    let head = crc32c::crc32c(&record[..24]);
    crc32c::crc32c_append(head, &record[HEAD_BYTES..])
}

/// Where a unit is.
#[derive(Clone, Copy, Debug)]
struct Unit {
    plain: u64,
    size: u32,
    at: u64,
    stored: u32,
}

/// Why something of a compressed medium cannot be read.
pub(super) enum UnitError {
    Io(IoError),
    Damaged,
}

impl From<IoError> for UnitError {
    fn from(e: IoError) -> UnitError {
        UnitError::Io(e)
    }
}

/// A compressed medium of ours, read unit by unit.
#[derive(Debug)]
pub(super) struct UnitReader {
    file: Arc<dyn DiskFile>,
    units: Vec<Unit>,
    /// The unit that was read last.
    last: Mutex<(usize, Vec<u8>)>,
}

impl UnitReader {
    /// Finds the units of a file of `length` bytes, as far as they are whole; `None` when they are not of ours.
    pub fn open(file: Arc<dyn DiskFile>, length: u64) -> Result<Option<UnitReader>, IoError> {
        let mut units: Vec<Unit> = Vec::new();
        let (mut at, mut plain) = (FIRST_AT, 0);
        while at + HEAD_BYTES as u64 <= length {
            let mut head = [0; HEAD_BYTES];
            file.read_at(&mut head, at)?;
            if &head[4..12] != MARK {
                break;
            }
            let tag = u32_at(&head, 0).unwrap_or(0);
            let stored = tag >> 16;
            let size = ((tag >> 8) & 0xff) * SECTOR as u32;
            let end = at + HEAD_BYTES as u64 + u64::from(stored);
            let follows = u64_at(&head, 12) == Ok(plain);
            if !follows || tag & 0xff != 0x21 || size == 0 || end > length {
                break;
            }
            units.push(Unit {
                plain,
                size,
                at,
                stored,
            });
            plain += u64::from(size);
            at = end;
        }
        let reader = UnitReader {
            file,
            units,
            last: Mutex::new((usize::MAX, Vec::new())),
        };
        Ok((!reader.units.is_empty()).then_some(reader))
    }

    /// Bytes of the container.
    pub fn len(&self) -> u64 {
        self.units.last().map_or(0, |u| u.plain + u64::from(u.size))
    }

    /// How many bytes of the medium hold the container up to `plain`, where a unit ends.
    pub fn stored(&self, plain: u64) -> u64 {
        let n = self.units.partition_point(|u| u.plain < plain);
        let end = |u: &Unit| u.at + HEAD_BYTES as u64 + u64::from(u.stored);
        n.checked_sub(1).map_or(0, |n| end(&self.units[n]))
    }

    pub fn read(&self, buf: &mut [u8], at: u64) -> Result<(), UnitError> {
        let mut done = 0;
        while done < buf.len() {
            let from = at + done as u64;
            let n = self.units.partition_point(|u| u.plain <= from);
            let n = n.checked_sub(1).ok_or(IoError::Eof)?;
            let unit = &self.units[n];
            let whole = done..done + unit.size as usize;
            if from == unit.plain && whole.end <= buf.len() {
                // Nobody waits for anybody who reads in large pieces.
                buf[whole.clone()].copy_from_slice(&self.unit(unit)?);
                done = whole.end;
                continue;
            }
            let mut last = self.last.lock();
            if last.0 != n {
                let bytes = self.unit(&self.units[n])?;
                *last = (n, bytes);
            }
            let skip = (from - self.units[n].plain) as usize;
            let have = last.1.get(skip..).unwrap_or(&[]);
            let take = have.len().min(buf.len() - done);
            if take == 0 {
                return Err(IoError::Eof.into());
            }
            buf[done..done + take].copy_from_slice(&have[..take]);
            done += take;
        }
        Ok(())
    }

    fn unit(&self, unit: &Unit) -> Result<Vec<u8>, UnitError> {
        let mut record = vec![0; HEAD_BYTES + unit.stored as usize];
        self.file.read_at(&mut record, unit.at)?;
        if u32_at(&record, 24) != Ok(sum_of(&record)) {
            return Err(UnitError::Damaged);
        }
        xpress::decompress(&record[HEAD_BYTES..], unit.size as usize)
            .map_err(|_| UnitError::Damaged)
    }
}
