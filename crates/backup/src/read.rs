//! Reading a medium: which sets it has, where their pages and log blocks stand, whether they are whole.
//!
//! Only headers are read on the way; data is passed over. What a header says is believed within bounds: sets, streams and
//! their sizes are limited, places lie within the file. A compressed container of ours is read unit by unit; one of another
//! program is unwrapped first, in memory, and so has a limit of its own.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_format::{FormatError, FormatResult, u16_at, u32_at, u64_at};
use duramen_os::{AlignedBuf, Disk, DiskFile, IoError, OpenOptions};

use super::set::{SetHeader, SetKind, TapeTime, string_at};
use super::tape::{BLOCK_ALIGN, COMMON_BYTES, HAS_CHECKSUM, Media, STREAM_BYTES, xor};
use super::units::{MAGIC, UnitError, UnitReader};

/// What a file begins with, durably, before anything else of a backup is in it: one that is cut short is still known for a
/// medium, over which the next may go.
pub const BEGUN: [u8; 8] = *b"TAPE\0\0\0\0";

/// Bytes of a block and its strings that are looked at.
const BLOCK_BYTES: usize = 4096;
/// The longest MQCI stream that is read: a million VLFs.
const MOST_HEADER_BYTES: u64 = 64 << 20;
/// A compressed container that is unwrapped in memory.
const MOST_COMPRESSED_BYTES: u64 = 256 << 20;
const MOST_BLOCKS: usize = 1 << 21;
/// The media header: its block and a filemark.
const LABEL_BYTES: u64 = 1024 + 512;
/// What a disk writes whole, whatever it calls its sectors.
const LEAST_SECTOR: usize = 512;

/// The data of one stream, its two first bytes left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Of the file whose pages or log it has.
    pub file_id: u16,
    pub at: u64,
    pub bytes: u64,
    /// BACKUP WITH CHECKSUM
    pub checksum: Option<u32>,
    /// Which of the media it is on, from 0.
    pub family: usize,
    /// Log: the VLF and where the first block stands in it.
    pub vlf: u32,
    pub first_block: u32,
}

/// A backup set and where its parts are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BackupSet {
    /// From 1.
    pub position: u32,
    pub header: SetHeader,
    pub pages: Vec<Run>,
    pub log: Vec<Run>,
    /// CRC32C and length of all pages and log, of each medium, when we wrote the set.
    pub sums: Vec<(u32, u64)>,
    /// Its last filemark is there.
    pub complete: bool,
    /// Where it ends in the container.
    pub end: u64,
    /// How many bytes of the media it takes; 0 when that is not known.
    pub stored: u64,
}

/// A medium that was opened.
#[derive(Debug)]
pub struct Medium {
    pub(super) file: Arc<Source>,
    /// The other families of a striped set, in their order.
    pub(super) others: Vec<Medium>,
    pub shown: String,
    pub media: Media,
    pub sets: Vec<BackupSet>,
    pub compressed: bool,
}

#[derive(Debug)]
pub(super) enum Source {
    File(Arc<dyn DiskFile>, u64),
    Memory(Vec<u8>),
    Units(UnitReader),
}

impl Source {
    fn len(&self) -> u64 {
        match self {
            Source::File(_, len) => *len,
            Source::Memory(b) => b.len() as u64,
            Source::Units(u) => u.len(),
        }
    }

    pub fn read(&self, buf: &mut [u8], at: u64) -> Result<(), Stop> {
        match self {
            Source::Units(units) => Ok(units.read(buf, at)?),
            Source::File(file, _) => Ok(file.read_at(buf, at)?),
            Source::Memory(b) => {
                let from = usize::try_from(at).map_err(|_| IoError::Eof)?;
                let end = from.checked_add(buf.len()).ok_or(IoError::Eof)?;
                buf.copy_from_slice(b.get(from..end).ok_or(IoError::Eof)?);
                Ok(())
            }
        }
    }
}

/// Why a medium cannot be read on.
pub(super) enum Stop {
    Format,
    /// The file ends too soon.
    Short,
    /// A unit of a compressed medium is not as it was written.
    Damaged,
    Io(IoError),
}

impl From<FormatError> for Stop {
    fn from(_: FormatError) -> Stop {
        Stop::Format
    }
}

impl From<UnitError> for Stop {
    fn from(e: UnitError) -> Stop {
        match e {
            UnitError::Io(e) => e.into(),
            UnitError::Damaged => Stop::Damaged,
        }
    }
}

impl Stop {
    /// 3203, 3241, 3189
    pub fn to_sql(&self, shown: &str) -> SqlError {
        match self {
            Stop::Format => malformed(shown),
            Stop::Short => too_short(shown),
            Stop::Damaged => damaged(),
            Stop::Io(e) => read_failed(e, shown),
        }
    }
}

impl From<IoError> for Stop {
    fn from(e: IoError) -> Stop {
        match e {
            IoError::Eof => Stop::Short,
            e => Stop::Io(e),
        }
    }
}

/// 3241
pub fn malformed(shown: &str) -> SqlError {
    SqlError::new(&messages::BACKUP_FAMILY_INVALID, &[&shown])
}

/// 3189
pub(super) fn damaged() -> SqlError {
    SqlError::new(&messages::BACKUP_DAMAGED, &[])
}

/// 3203, as SQL Server says it of a file that ends too soon.
pub fn too_short(shown: &str) -> SqlError {
    let what = "38(Reached the end of the file.)";
    SqlError::new(&messages::BACKUP_READ_FAILED, &[&shown, &what])
}

/// 3203
pub fn read_failed(e: &IoError, shown: &str) -> SqlError {
    let what = format!("{}({e})", e.code());
    SqlError::new(&messages::BACKUP_READ_FAILED, &[&shown, &what])
}

/// 3201
pub fn cannot_open(e: &IoError, shown: &str) -> SqlError {
    let what = match e {
        IoError::NotFound => "2(The system cannot find the file specified.)".to_owned(),
        e => format!("{}({e})", e.code()),
    };
    SqlError::new(&messages::CANNOT_OPEN_BACKUP_DEVICE, &[&shown, &what])
}

struct Block {
    /// Its first bytes.
    bytes: Vec<u8>,
    streams: Vec<Stream>,
    end: u64,
}

struct Stream {
    id: [u8; 4],
    media: u16,
    at: u64,
    bytes: u64,
}

/// A file to be read, and its length. 3201, 3203
fn opened(
    disk: &dyn Disk,
    path: &std::path::Path,
    shown: &str,
) -> SqlResult<(Arc<dyn DiskFile>, u64)> {
    let options = OpenOptions {
        read_only: true,
        direct: true,
        ..OpenOptions::default()
    };
    let file = disk
        .open(path, &options)
        .map_err(|e| cannot_open(&e, shown))?;
    let len = file.len().map_err(|e| read_failed(&e, shown))?;
    Ok((file, len))
}

impl Medium {
    /// Opens a file and looks at its sets. 3201, 3203; 3241 when it is no backup or its first set is damaged.
    pub fn open(disk: &dyn Disk, path: &std::path::Path, shown: &str) -> SqlResult<Medium> {
        let (file, len) = opened(disk, path, shown)?;
        Medium::of(Source::File(file, len), shown)
    }

    /// The medium that BACKUP WITH INIT overwrites, whose header stays: with the sets that can be read, down to none.
    /// The file begins as a medium. `None` when no whole header has come to the disk since [`BEGUN`]: power may have failed
    /// between its sectors, or before the file was longer. 3241 when what is there is no header of a backup.
    pub fn labelled(
        disk: &dyn Disk,
        path: &std::path::Path,
        shown: &str,
    ) -> SqlResult<Option<Medium>> {
        let (file, len) = opened(disk, path, shown)?;
        if len < LABEL_BYTES {
            return Ok(None);
        }
        let mut head = vec![0; LABEL_BYTES as usize];
        file.read_at(&mut head, 0)
            .map_err(|e| read_failed(&e, shown))?;
        let sectors = head.chunks(LEAST_SECTOR);
        let torn = sectors.clone().any(|s| {
            let rest = s.strip_prefix(&BEGUN[..]).unwrap_or(s);
            rest.iter().all(|b| *b == 0)
        });
        let begun = |s: &[u8]| {
            s.strip_prefix(&BEGUN[..])
                .is_some_and(|r| r.iter().all(|b| *b == 0))
        };
        if sectors.take(1).any(begun) {
            return Ok(None);
        }
        let (medium, walked) = Medium::walked(Source::File(file, len), shown)?;
        match walked {
            Err(e @ Stop::Io(_)) => Err(e.to_sql(shown)),
            Err(_) if medium.media.families == 0 && torn => Ok(None),
            Err(_) if medium.media.families == 0 => Err(malformed(shown)),
            _ => Ok(Some(medium)),
        }
    }

    /// The same of bytes at hand.
    pub fn from_bytes(bytes: Vec<u8>, shown: &str) -> SqlResult<Medium> {
        Medium::of(Source::Memory(bytes), shown)
    }

    fn of(source: Source, shown: &str) -> SqlResult<Medium> {
        let (medium, walked) = Medium::walked(source, shown)?;
        match walked {
            Ok(()) => Ok(medium),
            Err(e @ Stop::Io(_)) => Err(e.to_sql(shown)),
            // Sets before the damage can be used.
            Err(_) if medium.sets.iter().any(|s| s.complete) => Ok(medium),
            Err(Stop::Short) if medium.media.families > 0 => Err(too_short(shown)),
            Err(_) => Err(malformed(shown)),
        }
    }

    /// The medium as far as it can be read, and why no further.
    fn walked(source: Source, shown: &str) -> SqlResult<(Medium, Result<(), Stop>)> {
        let mut medium = Medium {
            file: Arc::new(source),
            others: Vec::new(),
            shown: shown.to_owned(),
            media: Media::default(),
            sets: Vec::new(),
            compressed: false,
        };
        let mut magic = [0; 8];
        let length = medium.file.len();
        if length < magic.len() as u64 {
            return Err(malformed(shown));
        }
        medium
            .file
            .read(&mut magic, 0)
            .map_err(|e| e.to_sql(shown))?;
        if &magic == MAGIC {
            medium.unwrap_compressed()?;
        }
        let mut open = None;
        let walked = medium.walk(&mut open);
        // Unwrapping leaves out what lies behind the last unit: a set that has told everything has ended there.
        if let Some(mut set) = open
            && matches!(*medium.file, Source::Memory(_))
            && medium.compressed
            && !set.header.database.is_empty()
        {
            set.complete = true;
            medium.sets.push(set);
        }
        Ok((medium, walked))
    }

    fn unwrap_compressed(&mut self) -> SqlResult<()> {
        let length = self.file.len();
        self.compressed = true;
        if let Source::File(file, _) = &*self.file {
            let units = UnitReader::open(file.clone(), length);
            if let Some(units) = units.map_err(|e| read_failed(&e, &self.shown))? {
                self.file = Arc::new(Source::Units(units));
                return Ok(());
            }
        }
        if length > MOST_COMPRESSED_BYTES {
            let what = "RESTORE FROM a compressed backup of more than 256 MB";
            return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
        }
        let mut bytes = vec![0; length as usize];
        self.file
            .read(&mut bytes, 0)
            .map_err(|e| e.to_sql(&self.shown))?;
        let plain = duramen_format::backup::open(bytes).map_err(|_| malformed(&self.shown))?;
        self.file = Arc::new(Source::Memory(plain));
        Ok(())
    }

    fn walk(&mut self, open: &mut Option<BackupSet>) -> Result<(), Stop> {
        let length = self.file.len();
        let (mut at, mut base) = (0, 0);
        let mut ended = false;
        for n in 0..MOST_BLOCKS {
            if at >= length {
                break;
            }
            let mut head = vec![0; COMMON_BYTES];
            self.file.read(&mut head, at)?;
            if head[..4] == [0; 4] && n > 0 && open.is_none() {
                break;
            }
            let first_stream = u64::from(u16_at(&head, 8)?);
            if xor(&head, 25) != u16_at(&head, 50)? || first_stream < COMMON_BYTES as u64 {
                return Err(FormatError::Corrupt("descriptor block").into());
            }
            let kind = [head[0], head[1], head[2], head[3]];
            if n == 0 && &kind != b"TAPE" {
                return Err(FormatError::Corrupt("media header").into());
            }
            if &kind == b"SFMB" {
                at += first_stream;
                base = at;
                if at > length {
                    return Err(Stop::Short);
                }
                if ended && let Some(mut set) = open.take() {
                    set.complete = true;
                    set.end = at;
                    let from = self.sets.last().map_or(0, |s| s.end);
                    set.stored = self.stored(at) - self.stored(from);
                    self.sets.push(set);
                    ended = false;
                }
                continue;
            }
            let block = self.block(at, base, first_stream)?;
            at = block.end;
            match &kind {
                b"TAPE" => self.media = self.media_of(&block)?,
                b"SSET" => {
                    let position = self.sets.len() as u32 + 1;
                    *open = Some(self.new_set(&block, position)?);
                    ended = false;
                }
                b"ESET" => {
                    ended = true;
                    if let Some(set) = open {
                        self.end_of_set(&block, set)?;
                    }
                }
                _ => {
                    if let Some(set) = open {
                        self.add_to_set(&block, set)?;
                    }
                }
            }
        }
        match open {
            // The set has no end.
            Some(_) => Err(Stop::Short),
            None if self.sets.is_empty() => Err(Stop::Short),
            None => Ok(()),
        }
    }

    fn block(&self, at: u64, base: u64, first_stream: u64) -> Result<Block, Stop> {
        let length = self.file.len();
        let n = (length - at).min(BLOCK_BYTES as u64).min(first_stream);
        let mut bytes = vec![0; n as usize];
        self.file.read(&mut bytes, at)?;
        let mut streams = Vec::new();
        let mut place = at + first_stream;
        loop {
            let mut head = [0; STREAM_BYTES];
            self.file.read(&mut head, place)?;
            if xor(&head, 10) != u16_at(&head, 20)? {
                return Err(FormatError::Corrupt("stream header").into());
            }
            let id = [head[0], head[1], head[2], head[3]];
            let from = place + STREAM_BYTES as u64;
            let bytes = u64_at(&head, 8)?;
            let end = from
                .checked_add(bytes)
                .filter(|end| *end <= length)
                .ok_or(Stop::Short)?;
            if &id == b"SPAD" {
                place = end;
                break;
            }
            if streams.len() >= MOST_BLOCKS {
                return Err(FormatError::Corrupt("streams").into());
            }
            let media = u16_at(&head, 6)?;
            streams.push(Stream {
                id,
                media,
                at: from,
                bytes,
            });
            place = end.next_multiple_of(4);
        }
        Ok(Block {
            bytes,
            streams,
            end: base + (place - base).next_multiple_of(BLOCK_ALIGN),
        })
    }

    fn whole(&self, stream: &Stream, most: u64) -> Result<Vec<u8>, Stop> {
        if stream.bytes > most {
            return Err(FormatError::Corrupt("stream length").into());
        }
        let mut bytes = vec![0; stream.bytes as usize];
        self.file.read(&mut bytes, stream.at)?;
        Ok(bytes)
    }

    fn media_of(&self, block: &Block) -> Result<Media, Stop> {
        let b = &block.bytes;
        let mut media = Media {
            family: u32_at(b, 52)?,
            name: string_at(b, 68)?,
            description: string_at(b, 72)?,
            software: string_at(b, 80)?,
            written: time_at(b, 88)?,
            families: 1,
            number: 1,
            ..Media::default()
        };
        if let Some(raid) = block.streams.iter().find(|s| &s.id == b"RAID") {
            let raid = self.whole(raid, 64)?;
            media.set_guid = guid_at(&raid, 0)?;
            media.families = u16_at(&raid, 20)?;
            media.number = u16_at(&raid, 24)?;
        }
        Ok(media)
    }

    fn new_set(&self, block: &Block, position: u32) -> Result<BackupSet, Stop> {
        let b = &block.bytes;
        let mut set = BackupSet {
            position,
            ..BackupSet::default()
        };
        let h = &mut set.header;
        let attributes = u32_at(b, 52)?;
        if attributes & 8 != 0 {
            h.kind = SetKind::Differential;
        }
        h.copy_only = attributes & 2 != 0;
        h.name = string_at(b, 64)?;
        h.description = string_at(b, 68)?;
        h.user = string_at(b, 76)?;
        let os = usize::from(u16_at(b, 46)?);
        if u16_at(b, 44)? >= 16 {
            h.guid = guid_at(b, os)?;
        }
        Ok(set)
    }

    fn add_to_set(&self, block: &Block, set: &mut BackupSet) -> Result<(), Stop> {
        let b = &block.bytes;
        let sums = block.streams.iter().filter(|s| &s.id == b"CSUM");
        let mut sums = sums.map(|s| self.whole(s, 4));
        for stream in &block.streams {
            match &stream.id {
                b"MQCI" => {
                    let bytes = self.whole(stream, MOST_HEADER_BYTES)?;
                    let known = std::mem::take(&mut set.header);
                    let found = SetHeader::decode(&bytes)?;
                    set.header = merged(known, found);
                }
                b"MQDA" | b"MQTL" if stream.bytes >= 2 => {
                    let has_sum = stream.media & HAS_CHECKSUM != 0;
                    let checksum = match has_sum.then(|| sums.next()).flatten() {
                        Some(sum) => Some(u32_at(&sum?, 0)?),
                        None => None,
                    };
                    let is_log = &stream.id == b"MQTL";
                    let run = Run {
                        file_id: u16_at(b, if is_log { 76 } else { 58 })?,
                        at: stream.at + 2,
                        bytes: stream.bytes - 2,
                        checksum,
                        family: 0,
                        vlf: if is_log { u32_at(b, 92)? } else { 0 },
                        first_block: if is_log { u32_at(b, OWN_BLOCK_AT)? } else { 0 },
                    };
                    match is_log {
                        true => set.log.push(run),
                        false => set.pages.push(run),
                    }
                }
                _ => {}
            }
        }
        if set.pages.is_empty() && !set.log.is_empty() && !set.header.own {
            set.header.kind = SetKind::Log;
        }
        if !set.pages.is_empty() && set.header.kind == SetKind::Log && !set.header.own {
            set.header.kind = SetKind::Database;
        }
        Ok(())
    }

    fn end_of_set(&self, block: &Block, set: &mut BackupSet) -> Result<(), Stop> {
        if let Some(sum) = block.streams.iter().find(|s| &s.id == b"DURA") {
            let sum = self.whole(sum, 64)?;
            set.sums = vec![(u32_at(&sum, 0)?, u64_at(&sum, 4)?)];
        }
        let summed = set.pages.iter().chain(&set.log);
        set.header.checksums |= summed.clone().any(|r| r.checksum.is_some());
        Ok(())
    }

    /// Reads a run in pieces of at most `piece` bytes.
    pub fn read_run(
        &self,
        run: &Run,
        piece: usize,
        mut each: impl FnMut(&[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let medium = match run.family.checked_sub(1) {
            None => self,
            Some(i) => self.others.get(i).ok_or_else(damaged)?,
        };
        let mut buf = AlignedBuf::zeroed(piece.min(usize::try_from(run.bytes).unwrap_or(piece)));
        let mut done = 0;
        while done < run.bytes {
            let n = (run.bytes - done).min(piece as u64) as usize;
            medium
                .file
                .read(&mut buf[..n], run.at + done)
                .map_err(|e| e.to_sql(&medium.shown))?;
            each(&buf[..n])?;
            done += n as u64;
        }
        Ok(())
    }

    /// Where the next set goes in the container: behind the last that is complete.
    pub fn end(&self) -> u64 {
        self.sets.iter().map(|s| s.end).max().unwrap_or(0)
    }

    /// Which place of the medium a set's end in the container is.
    pub fn stored(&self, at: u64) -> u64 {
        match &*self.file {
            Source::Units(units) => units.stored(at),
            _ => at,
        }
    }

    /// A compressed medium that another program has written, to which no set can be added.
    pub fn foreign_compressed(&self) -> bool {
        self.compressed && !matches!(*self.file, Source::Units(_))
    }
}

/// Where our MSTL blocks say at which block their log begins.
pub(super) const OWN_BLOCK_AT: usize = 140;

/// What the block at a set's beginning said, with what its MQCI stream says.
fn merged(known: SetHeader, found: SetHeader) -> SetHeader {
    let kind = match known.kind {
        SetKind::Differential if !found.own => known.kind,
        _ => found.kind,
    };
    SetHeader {
        kind,
        copy_only: known.copy_only || found.copy_only,
        name: known.name,
        description: known.description,
        user: known.user,
        guid: known.guid,
        ..found
    }
}

fn time_at(b: &[u8], at: usize) -> FormatResult<TapeTime> {
    let bytes = b.get(at..at + 5).and_then(|b| b.try_into().ok());
    bytes
        .map(TapeTime)
        .ok_or(FormatError::Corrupt("time (5 bytes expected)"))
}

fn guid_at(b: &[u8], at: usize) -> FormatResult<[u8; 16]> {
    let bytes = b.get(at..at + 16).and_then(|b| b.try_into().ok());
    bytes.ok_or(FormatError::Corrupt("GUID (16 bytes expected)"))
}
