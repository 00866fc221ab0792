//! Writing the tape format: descriptor blocks, their streams, filemarks.
//!
//! Everything is written forward in large pieces; the length of a data stream, which is known at its end, is put into its
//! header afterwards. What streams of pages and log have is summed up as it goes by (CRC32C), for the end of the set; the
//! headers have the format's own checksums.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::{DiskFile, IoError, thread};

use super::set::TapeTime;
use super::units::{SECTOR, UnitWriter};

/// Blocks begin at multiples of this, counted from the last filemark.
pub(super) const BLOCK_ALIGN: u64 = 1024;
/// Bytes of a filemark.
const FILEMARK_BYTES: usize = 512;
/// Pages and log blocks stand at multiples of this: a write past the page cache begins there on any device.
const DATA_ALIGN: u64 = 4096;
pub(super) const COMMON_BYTES: usize = 52;
pub(super) const STREAM_BYTES: usize = 22;
const BUFFER_BYTES: usize = 1 << 20;
/// Media attribute of a stream that a CSUM stream follows.
pub(super) const HAS_CHECKSUM: u16 = 0x100;

/// Where a backup goes; `None` as file is the null device.
#[derive(Clone, Debug)]
pub struct Device {
    pub file: Option<Arc<dyn DiskFile>>,
    /// As the user wrote it.
    pub shown: String,
}

/// 3202
pub(super) fn write_failed(e: &IoError, shown: &str) -> SqlError {
    let what = format!("{}({e})", e.code());
    SqlError::new(&messages::BACKUP_WRITE_FAILED, &[&shown, &what])
}

struct Open {
    header_at: u64,
    length: u64,
    checksum: Option<StreamSum>,
}

/// BACKUP WITH CHECKSUM: the sum of a stream's data behind its first two bytes, sector by sector.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct StreamSum {
    sum: u32,
    sector: u32,
    filled: usize,
    word: u32,
}

impl StreamSum {
    pub fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.word |= u32::from(*b) << (8 * (self.filled % 4));
            self.filled += 1;
            if self.filled.is_multiple_of(4) {
                self.sector ^= self.word;
                self.word = 0;
            }
            if self.filled == 512 {
                self.sum = self.sum.rotate_left(1) ^ self.sector;
                (self.sector, self.filled) = (0, 0);
            }
        }
    }

    /// The same, of whole sectors.
    pub fn add_sectors(&mut self, bytes: &[u8]) {
        if self.filled != 0 || !bytes.len().is_multiple_of(512) {
            return self.add(bytes);
        }
        let (sectors, _) = bytes.as_chunks::<512>();
        for sector in sectors {
            let (words, _) = sector.as_chunks::<4>();
            let x = words.iter().fold(0, |x, w| x ^ u32::from_le_bytes(*w));
            self.sum = self.sum.rotate_left(1) ^ x;
        }
    }

    /// What [`StreamSum::value`] is of `bytes` bytes that follow, added up apart. Whole sectors must have come before.
    pub fn add_part(&mut self, value: u32, bytes: u64) {
        let sectors = bytes.div_ceil(512);
        self.sum = self.sum.rotate_left((sectors % 32) as u32) ^ value;
    }

    pub fn value(self) -> u32 {
        match self.filled {
            0 => self.sum,
            _ => self.sum.rotate_left(1) ^ self.sector ^ self.word,
        }
    }
}

/// XOR of the first `words` little-endian words.
pub(super) fn xor(b: &[u8], words: usize) -> u16 {
    let words = b.chunks_exact(2).take(words);
    words.fold(0, |x, w| x ^ u16::from_le_bytes([w[0], w[1]]))
}

/// A medium at its end. Places are those of the container, whether it is compressed or not.
pub(super) struct Tape {
    device: Device,
    /// Of a compressed medium. `buf_at` is then a multiple of a sector.
    units: Option<UnitWriter>,
    /// Where the set begins on the medium.
    stored_from: u64,
    buf: Vec<u8>,
    buf_at: u64,
    /// Behind the last filemark.
    base: u64,
    control: u32,
    os_data: (u16, u16),
    open: Option<Open>,
    /// Pages and log blocks stand at multiples of it.
    data_align: u64,
    pub crc: u32,
    pub payload_bytes: u64,
}

impl Tape {
    /// WITH BLOCKSIZE: pages and log blocks stand at multiples of that, too.
    pub fn align_data(&mut self, block_bytes: u32) {
        self.data_align = DATA_ALIGN.max(u64::from(block_bytes));
    }

    /// Goes on at `at`, where a filemark ends, or begins at 0. A compressed medium has that place at another, `stored`.
    pub fn new(device: Device, at: u64, compressed: bool, stored: u64) -> SqlResult<Tape> {
        let units = match compressed {
            true => Some(
                UnitWriter::new(device.file.clone(), stored, at)
                    .map_err(|e| write_failed(&e, &device.shown))?,
            ),
            false => None,
        };
        Ok(Tape {
            device,
            units,
            stored_from: stored,
            buf: Vec::with_capacity(BUFFER_BYTES),
            buf_at: at,
            base: at,
            control: 0,
            os_data: (0, 0),
            open: None,
            data_align: DATA_ALIGN,
            crc: 0,
            payload_bytes: 0,
        })
    }

    /// Asks for the disk space of `bytes` more at once, so that writes into it change nothing of the file but its bytes.
    /// A disk that has less may have enough all the same: extents of zeros are left out.
    pub fn expect(&mut self, bytes: u64) -> SqlResult<()> {
        let Some(file) = &self.device.file else {
            return Ok(());
        };
        if self.units.is_some() || bytes == 0 {
            return Ok(());
        }
        match file.allocate_while(self.buf_at, bytes, &|| !thread::is_given_up()) {
            Ok(()) => Ok(()),
            Err(IoError::GivenUp) => Err(SqlError::given_up()),
            Err(IoError::NoSpace) => file
                .set_len(self.buf_at)
                .map_err(|e| write_failed(&e, &self.device.shown)),
            Err(e) => Err(write_failed(&e, &self.device.shown)),
        }
    }

    pub fn at(&self) -> u64 {
        self.buf_at + self.buf.len() as u64
    }

    fn put(&mut self, bytes: &[u8]) -> SqlResult<()> {
        if self.buf.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.buf.extend_from_slice(bytes);
        Ok(())
    }

    fn failed(&self) -> impl Fn(IoError) -> SqlError + use<> {
        let shown = self.device.shown.clone();
        move |e| write_failed(&e, &shown)
    }

    /// Hands over what is buffered; of a compressed medium, whole sectors.
    fn flush(&mut self) -> SqlResult<()> {
        let fail = self.failed();
        if let Some(units) = &mut self.units {
            let rest = self.buf.split_off(self.buf.len() / SECTOR * SECTOR);
            self.buf_at += self.buf.len() as u64;
            let mut next = Vec::with_capacity(BUFFER_BYTES);
            next.extend(rest);
            return units
                .put(std::mem::replace(&mut self.buf, next))
                .map_err(fail);
        }
        if let Some(file) = &self.device.file {
            file.write_at(&self.buf, self.buf_at)
                .map_err(|e| write_failed(&e, &self.device.shown))?;
        }
        self.buf_at += self.buf.len() as u64;
        self.buf.clear();
        Ok(())
    }

    /// Puts bytes where others were written.
    fn patch(&mut self, at: u64, bytes: &[u8]) -> SqlResult<()> {
        if at < self.buf_at {
            // A header is buffered whole or not at all.
            let fail = self.failed();
            if let Some(units) = &mut self.units {
                return units.patch(at, bytes).map_err(fail);
            }
            if let Some(file) = &self.device.file {
                file.write_at(bytes, at)
                    .map_err(|e| write_failed(&e, &self.device.shown))?;
            }
            return Ok(());
        }
        let from = (at - self.buf_at) as usize;
        self.buf[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Numbers of blocks in a set begin with it.
    pub fn begin_set(&mut self) {
        self.control = 0;
    }

    /// A descriptor block: `body` from byte 52 on, then strings, whose size and place go to `at` (from the block's
    /// start). The block's streams follow, then [`Tape::end_block`].
    pub fn block(
        &mut self,
        kind: &[u8; 4],
        attributes: u32,
        body: &[u8],
        strings: &[(usize, &str)],
    ) -> SqlResult<()> {
        let mut b = vec![0; COMMON_BYTES];
        b[..4].copy_from_slice(kind);
        b[4..8].copy_from_slice(&attributes.to_le_bytes());
        // Operating system 14 (NT), version 1.
        b[10..12].copy_from_slice(&[14, 1]);
        let numbered = !matches!(kind, b"TAPE" | b"ESET");
        if numbered {
            let address = (self.at() - self.base) / BLOCK_ALIGN;
            b[20..28].copy_from_slice(&address.to_le_bytes());
            b[36..40].copy_from_slice(&self.control.to_le_bytes());
            self.control += 1;
        }
        b[44..46].copy_from_slice(&self.os_data.0.to_le_bytes());
        b[46..48].copy_from_slice(&self.os_data.1.to_le_bytes());
        // Strings are UTF-16.
        b[48] = 2;
        b.extend_from_slice(body);
        for (at, text) in strings {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            if !bytes.is_empty() {
                let place = (bytes.len() as u16, b.len() as u16);
                b[*at..at + 2].copy_from_slice(&place.0.to_le_bytes());
                b[at + 2..at + 4].copy_from_slice(&place.1.to_le_bytes());
                b.extend(bytes);
            }
        }
        b.resize(b.len().next_multiple_of(4), 0);
        let first_stream = b.len() as u16;
        b[8..10].copy_from_slice(&first_stream.to_le_bytes());
        let sum = xor(&b, 25);
        b[50..52].copy_from_slice(&sum.to_le_bytes());
        self.put(&b)
    }

    /// SSET: bytes 100 to 120, between fixed fields and strings, are what the format calls the operating system's.
    pub fn block_with_os_data(&mut self, body: &[u8], strings: &[(usize, &str)]) -> SqlResult<()> {
        self.os_data = (21, 100);
        let written = self.block(b"SSET", 0, body, strings);
        self.os_data = (0, 0);
        written
    }

    fn stream_header(id: &[u8; 4], media: u16, length: u64) -> [u8; STREAM_BYTES] {
        let mut h = [0; STREAM_BYTES];
        h[..4].copy_from_slice(id);
        h[6..8].copy_from_slice(&media.to_le_bytes());
        h[8..16].copy_from_slice(&length.to_le_bytes());
        let sum = xor(&h, 10);
        h[20..22].copy_from_slice(&sum.to_le_bytes());
        h
    }

    fn align(&mut self, to: u64) -> SqlResult<()> {
        let zeros = [0; 4];
        let n = (self.at().next_multiple_of(to) - self.at()) as usize;
        self.put(&zeros[..n])
    }

    /// A stream whose data is at hand.
    pub fn stream(&mut self, id: &[u8; 4], media: u16, data: &[u8]) -> SqlResult<()> {
        self.align(4)?;
        self.put(&Tape::stream_header(id, media, data.len() as u64))?;
        data.chunks(BUFFER_BYTES).try_for_each(|c| self.put(c))
    }

    /// Begins a stream of pages or log, behind padding that puts what follows its two first bytes at a multiple of 4,096.
    pub fn begin_data(&mut self, id: &[u8; 4], media: u16, checksum: bool) -> SqlResult<()> {
        self.align(4)?;
        if self.units.is_some() {
            // What follows is buffered whole.
            self.flush()?;
        }
        let overhead = 2 * STREAM_BYTES as u64 + 2;
        // The padding's end is where the next header begins, itself at a multiple of 4.
        let from = self.at() + overhead;
        let pad = from.next_multiple_of(self.data_align) - from;
        let zeros = vec![0; pad as usize];
        self.stream(b"APAD", 0x80, &zeros)?;
        let media = media | if checksum { HAS_CHECKSUM } else { 0 };
        let header_at = self.at();
        self.put(&Tape::stream_header(id, media, 0))?;
        self.put(&[0, 0])?;
        self.open = Some(Open {
            header_at,
            length: 2,
            checksum: checksum.then(StreamSum::default),
        });
        self.hold_sector()
    }

    /// The last sector has the header of a stream, whose length is put into it later: a compressed medium has to know.
    fn hold_sector(&mut self) -> SqlResult<()> {
        if self.units.is_none() {
            return Ok(());
        }
        let sector = self.buf.split_off(self.buf.len() - SECTOR);
        self.flush()?;
        self.buf_at += SECTOR as u64;
        let fail = self.failed();
        match &mut self.units {
            Some(units) => units.hold(sector).map_err(fail),
            None => Ok(()),
        }
    }

    /// Blocks of log.
    pub fn payload(&mut self, bytes: &[u8]) -> SqlResult<()> {
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.payload_bytes += bytes.len() as u64;
        if let Some(open) = &mut self.open {
            open.length += bytes.len() as u64;
            if let Some(sum) = &mut open.checksum {
                sum.add_sectors(bytes);
            }
        }
        bytes.chunks(BUFFER_BYTES).try_for_each(|c| self.put(c))
    }

    /// A piece that was summed up already: its CRC32C and, with checksums, its stream sum.
    fn count(&mut self, bytes: usize, crc: u32, sum: u32) {
        self.crc = crc32c::crc32c_combine(self.crc, crc, bytes);
        self.payload_bytes += bytes as u64;
        if let Some(open) = &mut self.open {
            open.length += bytes as u64;
            if let Some(all) = &mut open.checksum {
                all.add_part(sum, bytes as u64);
            }
        }
    }

    /// Pages that were summed up already, to a medium that does not want them from elsewhere.
    pub fn payload_summed(&mut self, bytes: &[u8], crc: u32, sum: u32) -> SqlResult<()> {
        self.count(bytes.len(), crc, sum);
        bytes.chunks(BUFFER_BYTES).try_for_each(|c| self.put(c))
    }

    /// The same pages, which somebody else writes: where they go. `None` where they must come through here.
    pub fn reserve(&mut self, bytes: usize, crc: u32, sum: u32) -> SqlResult<Option<u64>> {
        if self.units.is_some() {
            return Ok(None);
        }
        if !self.buf.is_empty() {
            self.flush()?;
        }
        self.count(bytes, crc, sum);
        let at = self.buf_at;
        self.buf_at += bytes as u64;
        Ok(Some(at))
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Ends the stream that [`Tape::begin_data`] began.
    pub fn end_data(&mut self, id: &[u8; 4], media: u16) -> SqlResult<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let media = media
            | match open.checksum {
                Some(_) => HAS_CHECKSUM,
                None => 0,
            };
        let header = Tape::stream_header(id, media, open.length);
        self.patch(open.header_at, &header)?;
        match open.checksum {
            Some(sum) => self.stream(b"CSUM", 0, &sum.value().to_le_bytes()),
            None => Ok(()),
        }
    }

    /// Pads the block with the stream that ends every block.
    pub fn end_block(&mut self) -> SqlResult<()> {
        self.align(4)?;
        let from = self.at() + STREAM_BYTES as u64 - self.base;
        let pad = from.next_multiple_of(BLOCK_ALIGN) - from;
        self.stream(b"SPAD", 0, &vec![0; pad as usize])
    }

    /// A filemark, the `n`th of the medium. Numbers count from it.
    pub fn filemark(&mut self, n: u32) -> SqlResult<()> {
        let mut b = vec![0; FILEMARK_BYTES];
        b[..4].copy_from_slice(b"SFMB");
        b[4..8].copy_from_slice(&0x8000_0000u32.to_le_bytes());
        b[8..10].copy_from_slice(&(FILEMARK_BYTES as u16).to_le_bytes());
        b[10..12].copy_from_slice(&[14, 1]);
        b[52..56].copy_from_slice(&0x37u32.to_le_bytes());
        b[56..60].copy_from_slice(&n.to_le_bytes());
        b[60..64].copy_from_slice(&0x48u32.to_le_bytes());
        let sum = xor(&b, 25);
        b[50..52].copy_from_slice(&sum.to_le_bytes());
        self.put(&b)?;
        self.base = self.at();
        Ok(())
    }

    /// Everything is on the medium, for sure, and nothing behind it: how many bytes of it the set has.
    pub fn finish(&mut self) -> SqlResult<u64> {
        self.flush()?;
        let fail = self.failed();
        let end = match &mut self.units {
            Some(units) => units.finish().map_err(fail)?,
            None => self.buf_at,
        };
        if let Some(file) = &self.device.file {
            file.set_len(end)
                .and_then(|()| file.sync())
                .map_err(|e| write_failed(&e, &self.device.shown))?;
        }
        Ok(end - self.stored_from)
    }
}

/// What the media header says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Media {
    /// RESTORE LABELONLY: MediaSetId, of which the family's id is a part.
    pub set_guid: [u8; 16],
    pub family: u32,
    pub name: String,
    pub description: String,
    pub software: String,
    pub written: TapeTime,
    /// How many families the set has, and which this is, from 1.
    pub families: u16,
    pub number: u16,
}

pub(super) const SOFTWARE: &str = "Microsoft SQL Server";

impl Tape {
    /// TAPE and the first filemark.
    pub fn media_header(&mut self, media: &Media) -> SqlResult<()> {
        let mut body = vec![0; 42];
        body[..4].copy_from_slice(&media.family.to_le_bytes());
        body[4..8].copy_from_slice(&5u32.to_le_bytes());
        body[8..10].copy_from_slice(&media.number.to_le_bytes());
        // Filemarks of one unit of 512 bytes; catalogs on the medium of type 3.
        body[12..14].copy_from_slice(&1u16.to_le_bytes());
        body[14..16].copy_from_slice(&3u16.to_le_bytes());
        body[32..34].copy_from_slice(&(BLOCK_ALIGN as u16).to_le_bytes());
        // The software vendor that SQL Server's sets name.
        body[34..36].copy_from_slice(&0x1200u16.to_le_bytes());
        body[36..41].copy_from_slice(&media.written.0);
        body[41] = 1;
        let strings = [
            (68, media.name.as_str()),
            (72, media.description.as_str()),
            (80, media.software.as_str()),
        ];
        self.block(b"TAPE", 0x0003_0000, &body, &strings)?;
        let mut raid = [0; 32];
        raid[..16].copy_from_slice(&media.set_guid);
        raid[16..20].copy_from_slice(&0xf000_00adu32.to_le_bytes());
        raid[20..22].copy_from_slice(&media.families.to_le_bytes());
        raid[22..24].copy_from_slice(&1u16.to_le_bytes());
        raid[24..26].copy_from_slice(&media.number.to_le_bytes());
        raid[30..32].copy_from_slice(&1u16.to_le_bytes());
        self.stream(b"RAID", 0, &raid)?;
        self.end_block()?;
        self.filemark(0)
    }
}
