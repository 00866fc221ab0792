//! What a backup set says of itself: the data of an MQCI stream.
//!
//! A chunk `SCIN` about the database, `SFGI` per filegroup, `SFIN` per file; each begins with its tag and its length. The
//! places named here were worked out on sets of 2008 to 2022 (`docs/format/backup.md`); every other byte of these chunks
//! is zero in ours. A last chunk `DURA` has what a restore needs and no other chunk of a known place: how files grow, the
//! VLFs of the log, option bits; with its own CRC32C. A set without it is another program's.

use duramen_base::{FileId, Lsn};
use duramen_types::temporal::ymd_hms;
use duramen_wal::VlfSlot;
use duramen_wal::vlf::VlfHeader;

use duramen_format::{FormatError, FormatResult, u16_at, u32_at, u64_at};

/// `RESTORE HEADERONLY.BackupType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SetKind {
    #[default]
    Database,
    Log,
    Differential,
}

impl SetKind {
    /// 1, 2 or 5.
    pub fn number(self) -> u8 {
        match self {
            SetKind::Database => 1,
            SetKind::Log => 2,
            SetKind::Differential => 5,
        }
    }

    fn of(number: u8) -> FormatResult<SetKind> {
        [SetKind::Database, SetKind::Log, SetKind::Differential]
            .into_iter()
            .find(|k| k.number() == number)
            .ok_or(FormatError::Corrupt("backup set kind"))
    }
}

/// A moment as the tape format has it, in five bytes: 14 bits of year, 4 of month, 5, 5, 6 and 6 of day, hour, minute, second.
/// Later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct TapeTime(pub [u8; 5]);

impl TapeTime {
    pub fn new(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> TapeTime {
        let bits = u64::from(year) << 26
            | u64::from(month) << 22
            | u64::from(day) << 17
            | u64::from(hour) << 12
            | u64::from(minute) << 6
            | u64::from(second);
        let b = bits.to_be_bytes();
        TapeTime([b[3], b[4], b[5], b[6], b[7]])
    }

    /// Of seconds since 1970.
    pub fn of_unix(seconds: i64) -> TapeTime {
        let ((year, month, day), time) = ymd_hms(seconds);
        let [hour, minute, second] = time.map(|n| n as u8);
        TapeTime::new(year as u16, month as u8, day as u8, hour, minute, second)
    }

    /// Year, month, day, hour, minute, second.
    pub fn parts(self) -> (u16, u8, u8, u8, u8, u8) {
        let b = self.0;
        let bits = u64::from_be_bytes([0, 0, 0, b[0], b[1], b[2], b[3], b[4]]);
        let part = |shift: u32, mask: u64| (bits >> shift & mask) as u8;
        let year = (bits >> 26 & 0x3fff) as u16;
        (
            year,
            part(22, 15),
            part(17, 31),
            part(12, 31),
            part(6, 63),
            part(0, 63),
        )
    }
}

/// A file of the database, when the set was taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetFile {
    pub id: u16,
    pub is_log: bool,
    /// 0 for log files.
    pub filegroup: u16,
    pub logical_name: String,
    /// As the user wrote it.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Bytes; `None`: unlimited.
    pub max_size: Option<u64>,
    /// Bytes, or percent.
    pub growth: u64,
    pub growth_percent: bool,
    pub create_lsn: Lsn,
    pub guid: [u8; 16],
    /// Bytes of it in the set.
    pub backup_bytes: u64,
}

/// What RESTORE HEADERONLY and FILELISTONLY show of a set, and what a restore needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetHeader {
    pub kind: SetKind,
    pub copy_only: bool,
    /// WITH CHECKSUM
    pub checksums: bool,
    /// A log backup with extents that were changed by minimally logged work.
    pub bulk_logged: bool,
    pub begins_log_chain: bool,
    /// The tail of the log of a database that could not be opened: some of this is not what the database says.
    pub incomplete: bool,
    /// WITH CONTINUE_AFTER_ERROR, and it had to: some of its pages are damaged.
    pub damaged: bool,
    pub name: String,
    pub description: String,
    pub user: String,
    pub server: String,
    pub database: String,
    pub guid: [u8; 16],
    /// The same for a database and all its copies.
    pub family: [u8; 16],
    pub fork: [u8; 16],
    pub first_lsn: Lsn,
    /// Behind the last record: where the next log backup begins.
    pub last_lsn: Lsn,
    pub checkpoint_lsn: Lsn,
    pub database_backup_lsn: Lsn,
    pub differential_base_lsn: Lsn,
    pub differential_base: [u8; 16],
    pub started: TapeTime,
    pub finished: TapeTime,
    /// EXPIREDATE and RETAINDAYS: no medium that has the set is to be overwritten before; zero without them.
    pub expires: TapeTime,
    /// BLOCKSIZE; 0: as the device has it.
    pub block_bytes: u32,
    /// Bytes of data and log.
    pub size: u64,
    /// Internal version of the database.
    pub version: u16,
    pub compatibility_level: u8,
    /// Major, minor, build.
    pub product: (u8, u8, u16),
    pub collation: u32,
    /// 1 FULL, 2 BULK_LOGGED, 3 SIMPLE; 0: not known.
    pub recovery_model: u8,
    pub created: (i32, u32),
    /// The database's option bits in master.
    pub options: u64,
    /// Number and name.
    pub filegroups: Vec<(u16, String)>,
    pub files: Vec<SetFile>,
    /// The log's VLFs; 0 as number: nothing of it is in the set.
    pub vlfs: Vec<VlfSlot>,
    /// Written by us.
    pub own: bool,
}

const SCIN_BYTES: usize = 0x16c;
const SFGI_BYTES: usize = 0x30;
const SFIN_BYTES: usize = 0x400;
/// `SCIN`, flags: what is not said by the bits below has this bit in every set seen.
const FLAGS: u32 = 0x200;
const FLAG_DIFFERENTIAL: u32 = 0x800;
/// Without a limit a data file says this, and a log file 2 TB.
const NO_LIMIT: u64 = 0x1fff_ffff_e000;
const NO_LOG_LIMIT: u64 = 0x200_0000_0000;
/// Most VLFs and files that are believed.
const MOST_VLFS: usize = 1 << 20;
const MOST_FILES: usize = 1 << 15;
/// 2 since log records of the second version of files are in the sets.
const OWN_VERSION: u16 = 2;

fn put(b: &mut [u8], at: usize, bytes: &[u8]) {
    b[at..at + bytes.len()].copy_from_slice(bytes);
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Puts strings behind a chunk and their places, `(at, text)`, into it.
fn with_strings(mut chunk: Vec<u8>, tag: &[u8; 4], strings: &[(usize, &str)]) -> Vec<u8> {
    for (at, text) in strings {
        let bytes = utf16(text);
        let place = [bytes.len() as u16, chunk.len() as u16];
        put(&mut chunk, *at, &place[0].to_le_bytes());
        put(&mut chunk, at + 2, &place[1].to_le_bytes());
        chunk.extend(bytes);
    }
    let length = chunk.len() as u32;
    put(&mut chunk, 0, tag);
    put(&mut chunk, 4, &length.to_le_bytes());
    chunk
}

impl SetHeader {
    /// The stream's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.scin();
        for (id, name) in &self.filegroups {
            let mut b = vec![0; SFGI_BYTES];
            put(&mut b, 8, &0x10u32.to_le_bytes());
            put(&mut b, 12, &u32::from(*id).to_le_bytes());
            put(&mut b, 20, &1u16.to_le_bytes());
            out.extend(with_strings(b, b"SFGI", &[(16, name)]));
        }
        for f in &self.files {
            out.extend(sfin(f));
        }
        out.extend(self.own_chunk());
        out
    }

    fn scin(&self) -> Vec<u8> {
        let mut b = vec![0; SCIN_BYTES];
        let mut flags = FLAGS;
        if self.kind == SetKind::Differential {
            flags |= FLAG_DIFFERENTIAL;
        }
        put(&mut b, 8, &flags.to_le_bytes());
        put(&mut b, 12, &1u32.to_le_bytes());
        put(&mut b, 16, &1u32.to_le_bytes());
        put(&mut b, 24, &self.product.2.to_le_bytes());
        put(&mut b, 26, &[self.product.1, self.product.0]);
        put(&mut b, 32, &self.first_lsn.to_bytes());
        put(&mut b, 42, &self.last_lsn.to_bytes());
        put(&mut b, 52, &self.checkpoint_lsn.to_bytes());
        put(&mut b, 62, &self.database_backup_lsn.to_bytes());
        put(&mut b, 72, &self.started.0);
        put(&mut b, 77, &self.finished.0);
        put(&mut b, 0x58, &[52]);
        put(&mut b, 0x5b, &[self.compatibility_level]);
        put(&mut b, 0x5e, &self.version.to_le_bytes());
        put(&mut b, 0x60, &self.size.to_le_bytes());
        put(&mut b, 0x74, &0x409u32.to_le_bytes());
        put(&mut b, 0x7c, &self.family);
        put(&mut b, 0x9c, &self.fork);
        put(&mut b, 0xe0, &self.fork);
        if self.kind == SetKind::Differential {
            put(&mut b, 0x104, &self.differential_base_lsn.to_bytes());
            put(&mut b, 0x110, &self.differential_base);
        }
        put(&mut b, 0x158, &self.size.to_le_bytes());
        let strings = [(0x68, self.database.as_str()), (0x6c, self.server.as_str())];
        with_strings(b, b"SCIN", &strings)
    }

    fn own_chunk(&self) -> Vec<u8> {
        let mut b = vec![0; 8];
        b.extend(OWN_VERSION.to_le_bytes());
        b.push(self.kind.number());
        let bits = [
            self.copy_only,
            self.checksums,
            self.bulk_logged,
            self.begins_log_chain,
            self.incomplete,
            self.damaged,
        ];
        b.push((0..bits.len()).map(|i| u8::from(bits[i]) << i).sum());
        b.push(self.recovery_model);
        b.extend(self.options.to_le_bytes());
        b.extend(self.created.0.to_le_bytes());
        b.extend(self.created.1.to_le_bytes());
        b.extend(self.collation.to_le_bytes());
        b.extend((self.files.len() as u32).to_le_bytes());
        for f in &self.files {
            b.extend(f.id.to_le_bytes());
            b.push(u8::from(f.growth_percent));
            b.extend(f.growth.to_le_bytes());
            b.extend(f.max_size.unwrap_or(u64::MAX).to_le_bytes());
            b.extend(f.create_lsn.to_bytes());
        }
        b.extend((self.vlfs.len() as u32).to_le_bytes());
        for v in &self.vlfs {
            let FileId(file) = v.file_id;
            let h = &v.header;
            b.extend(file.to_le_bytes());
            b.extend(h.version.to_le_bytes());
            b.extend(h.seq.to_le_bytes());
            b.extend(h.use_count.to_le_bytes());
            b.extend(h.size.to_le_bytes());
            b.extend(h.offset.to_le_bytes());
            b.extend(h.create_lsn.to_bytes());
        }
        b.extend(self.expires.0);
        b.extend(self.block_bytes.to_le_bytes());
        let length = b.len() as u32 + 4;
        put(&mut b, 0, b"DURA");
        put(&mut b, 4, &length.to_le_bytes());
        let crc = crc32c::crc32c(&b);
        b.extend(crc.to_le_bytes());
        b
    }

    /// The inverse of [`SetHeader::encode`], also of sets of other programs. Name, description, user, set GUID and kind
    /// of those stand elsewhere: see [`super::read`].
    pub fn decode(b: &[u8]) -> FormatResult<SetHeader> {
        let mut h = SetHeader::default();
        let mut at = 0;
        while at + 8 <= b.len() {
            let length = u32_at(b, at + 4)? as usize;
            let chunk = at
                .checked_add(length)
                .filter(|_| length >= 8)
                .and_then(|end| b.get(at..end))
                .ok_or(FormatError::Corrupt("backup set chunk length"))?;
            match &chunk[..4] {
                b"SCIN" => h.read_scin(chunk)?,
                b"SFGI" if h.filegroups.len() < MOST_FILES => {
                    let id = u32_at(chunk, 12)? as u16;
                    h.filegroups.push((id, string_at(chunk, 16)?));
                }
                b"SFIN" if h.files.len() < MOST_FILES => h.files.push(read_sfin(chunk)?),
                b"DURA" => h.read_own(chunk)?,
                // Chunks of other versions.
                tag if at > 0 && tag.iter().all(u8::is_ascii_uppercase) => {}
                _ => return Err(FormatError::Corrupt("backup set chunk")),
            }
            at += length;
        }
        match at {
            0 => Err(FormatError::Corrupt("backup set header")),
            _ => Ok(h),
        }
    }

    fn read_scin(&mut self, b: &[u8]) -> FormatResult<()> {
        if b.len() < SCIN_BYTES {
            return Err(FormatError::Corrupt("SCIN length"));
        }
        let lsn = |at: usize| Lsn::from_bytes(&b[at..]).unwrap_or_default();
        let guid = |at: usize| b[at..at + 16].try_into().unwrap_or_default();
        let time = |at: usize| TapeTime(b[at..at + 5].try_into().unwrap_or_default());
        self.product = (b[27], b[26], u16_at(b, 24)?);
        (self.first_lsn, self.last_lsn) = (lsn(32), lsn(42));
        (self.checkpoint_lsn, self.database_backup_lsn) = (lsn(52), lsn(62));
        (self.started, self.finished) = (time(72), time(77));
        self.compatibility_level = b[0x5b];
        self.version = u16_at(b, 0x5e)?;
        self.size = u64_at(b, 0x60)?;
        (self.family, self.fork) = (guid(0x7c), guid(0x9c));
        (self.differential_base_lsn, self.differential_base) = (lsn(0x104), guid(0x110));
        self.database = string_at(b, 0x68)?;
        self.server = string_at(b, 0x6c)?;
        if u32_at(b, 8)? & FLAG_DIFFERENTIAL != 0 {
            self.kind = SetKind::Differential;
        }
        Ok(())
    }

    fn read_own(&mut self, b: &[u8]) -> FormatResult<()> {
        let end = b.len().saturating_sub(4);
        if end < 8 || u32_at(b, end)? != crc32c::crc32c(&b[..end]) {
            return Err(FormatError::Corrupt("DURA checksum"));
        }
        let mut r = Reader {
            b: &b[..end],
            at: 8,
        };
        if !(1..=OWN_VERSION).contains(&r.u16()?) {
            return Err(FormatError::Corrupt("DURA version"));
        }
        self.kind = SetKind::of(r.u8()?)?;
        let bits = r.u8()?;
        self.copy_only = bits & 1 != 0;
        self.checksums = bits & 2 != 0;
        self.bulk_logged = bits & 4 != 0;
        self.begins_log_chain = bits & 8 != 0;
        self.incomplete = bits & 16 != 0;
        self.damaged = bits & 32 != 0;
        self.recovery_model = r.u8()?;
        self.options = r.u64()?;
        self.created = (r.u32()? as i32, r.u32()?);
        self.collation = r.u32()?;
        for _ in 0..r.count(MOST_FILES)? {
            let id = r.u16()?;
            let (percent, growth, max) = (r.u8()?, r.u64()?, r.u64()?);
            let create_lsn = r.lsn()?;
            if let Some(f) = self.files.iter_mut().find(|f| f.id == id) {
                f.growth_percent = percent != 0;
                f.growth = growth;
                f.max_size = (max != u64::MAX).then_some(max);
                f.create_lsn = create_lsn;
            }
        }
        for _ in 0..r.count(MOST_VLFS)? {
            self.vlfs.push(VlfSlot {
                file_id: FileId(r.u16()?),
                header: VlfHeader {
                    version: r.u16()?,
                    seq: r.u32()?,
                    use_count: r.u32()?,
                    size: r.u64()?,
                    offset: r.u64()?,
                    create_lsn: r.lsn()?,
                    first_block: 0,
                    mixed: 0,
                },
            });
        }
        // Older sets end here.
        if r.at < r.b.len() {
            self.expires = TapeTime(r.take(5)?.try_into().unwrap_or_default());
            self.block_bytes = r.u32()?;
        }
        self.own = true;
        Ok(())
    }
}

fn sfin(f: &SetFile) -> Vec<u8> {
    let mut b = vec![0; SFIN_BYTES];
    put(
        &mut b,
        8,
        &(if f.is_log { 0x0cu32 } else { 0x84 }).to_le_bytes(),
    );
    put(&mut b, 16, &8192u32.to_le_bytes());
    put(&mut b, 20, &u32::from(f.id).to_le_bytes());
    let pages = if f.is_log { 0 } else { f.backup_bytes / 8192 };
    put(&mut b, 24, &(pages as u32).to_le_bytes());
    put(&mut b, 28, &u32::from(f.id).to_le_bytes());
    put(&mut b, 32, &512u32.to_le_bytes());
    put(&mut b, 36, &u32::from(f.filegroup).to_le_bytes());
    put(&mut b, 40, &f.size.to_le_bytes());
    let none = if f.is_log { NO_LOG_LIMIT } else { NO_LIMIT };
    put(&mut b, 86, &f.max_size.unwrap_or(none).to_le_bytes());
    put(&mut b, 94, &f.growth.to_le_bytes());
    put(&mut b, 186, &f.guid);
    put(&mut b, 250, &f.backup_bytes.to_le_bytes());
    with_strings(b, b"SFIN", &[(48, &f.logical_name), (52, &f.path)])
}

fn read_sfin(b: &[u8]) -> FormatResult<SetFile> {
    if b.len() < SFIN_BYTES {
        return Err(FormatError::Corrupt("SFIN length"));
    }
    let filegroup = u32_at(b, 36)? as u16;
    let max = u64_at(b, 86)?;
    Ok(SetFile {
        id: u32_at(b, 20)? as u16,
        is_log: filegroup == 0,
        filegroup,
        logical_name: string_at(b, 48)?,
        path: string_at(b, 52)?,
        size: u64_at(b, 40)?,
        max_size: (max != NO_LIMIT && max != NO_LOG_LIMIT).then_some(max),
        growth: u64_at(b, 94)?,
        growth_percent: false,
        create_lsn: Lsn::NULL,
        guid: b[186..202].try_into().unwrap_or_default(),
        backup_bytes: u64_at(b, 250)?,
    })
}

/// The UTF-16 string whose size and place stand at `at`.
pub(super) fn string_at(b: &[u8], at: usize) -> FormatResult<String> {
    let (size, place) = (usize::from(u16_at(b, at)?), usize::from(u16_at(b, at + 2)?));
    let bytes = b
        .get(place..place + size)
        .ok_or(FormatError::Corrupt("string place"))?;
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|c| u16::from_le_bytes([c[0], c[1]]))
        .collect();
    Ok(String::from_utf16_lossy(&units))
}

struct Reader<'a> {
    b: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, n: usize) -> FormatResult<&[u8]> {
        let bytes = self.b.get(self.at..self.at + n);
        self.at += n;
        bytes.ok_or(FormatError::Corrupt("DURA length"))
    }
    fn u8(&mut self) -> FormatResult<u8> {
        self.take(1).map(|b| b[0])
    }
    fn u16(&mut self) -> FormatResult<u16> {
        u16_at(self.take(2)?, 0)
    }
    fn u32(&mut self) -> FormatResult<u32> {
        u32_at(self.take(4)?, 0)
    }
    fn u64(&mut self) -> FormatResult<u64> {
        u64_at(self.take(8)?, 0)
    }
    fn lsn(&mut self) -> FormatResult<Lsn> {
        let bytes = self.take(10)?;
        Lsn::from_bytes(bytes).ok_or(FormatError::Corrupt("DURA length"))
    }
    fn count(&mut self, most: usize) -> FormatResult<usize> {
        let n = self.u32()? as usize;
        match n <= most {
            true => Ok(n),
            false => Err(FormatError::Corrupt("DURA count")),
        }
    }
}
