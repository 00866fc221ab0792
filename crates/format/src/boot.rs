//! The boot page (1:9).
//!
//! The boot page holds one record whose fields stand at fixed offsets from the record's start (page offset 96). Fields
//! whose meaning is not public stay zero in our files. Our own mark stands at record offset 1,400, beyond every field
//! known: readers choose the dialect by it, never by a version number.

use duramen_base::{AllocUnitId, Lsn, PageId};

pub use super::file_header::FileHeader;
use super::page::{HEADER_BYTES, PageMut, PageRef, page_type};
pub use super::version::MARK;
use super::version::is_known;
use super::{FormatError, FormatResult, PageBytes, u16_at, u32_at};

/// Internal database version that our files carry: base tables as in 2016.
pub const DATABASE_VERSION: u16 = 852;
/// Page number of the boot page in file 1.
pub const BOOT_PAGE: u32 = 9;
/// Bytes of our boot record.
const BOOT_BYTES: usize = 1504;
const MARK_AT: usize = 1400;
/// Our fields after the mark.
const EPOCH_AT: usize = MARK_AT + 16;
const PROFILE_AT: usize = MARK_AT + 20;
const OPTIONS_AT: usize = MARK_AT + 24;
const XDES_AT: usize = MARK_AT + 32;
const NEXT_AU_AT: usize = MARK_AT + 40;
const GUID_AT: usize = MARK_AT + 48;
const TARGET_AT: usize = MARK_AT + 64;
const CLOSED_AT: usize = MARK_AT + 68;
const CHECKED_AT: usize = MARK_AT + 72;
const LOG_FIRST_AT: usize = MARK_AT + 80;
const LOG_BACKED_UP_AT: usize = MARK_AT + 84;
/// Our fields before the mark, where real boot pages of 2008 to 2022 have zeros.
const FAMILY_AT: usize = MARK_AT - 96;
const LOG_BACKUP_AT: usize = MARK_AT - 80;
const BASE_GUID_AT: usize = MARK_AT - 64;
const NAME_AT: usize = 52;
const NAME_UNITS: usize = 128;
/// What the name is padded with, U+2020: two bytes 0x20.
const PAD: u16 = 0x2020;

/// The fields of the boot page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    pub version: u16,
    pub create_version: u16,
    pub status: u32,
    pub next_object_id: u32,
    /// Days since 1900-01-01 and 1/300 s ticks.
    pub created: (i32, u32),
    pub name: String,
    pub database_id: u16,
    pub compatibility_level: u16,
    /// The LOP_BEGIN_CKPT record from which recovery starts.
    pub checkpoint_lsn: Lsn,
    pub differential_base_lsn: Lsn,
    pub last_backup_lsn: Lsn,
    pub collation: u32,
    /// First page of sysallocunits.
    pub first_sysallocunits: PageId,
    /// Ours: `None` in foreign files.
    pub own: Option<OwnBoot>,
}

/// Fields that only our files have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OwnBoot {
    pub log_epoch: u32,
    /// The log profile's number.
    pub log_profile: u32,
    /// Option bits: see `configuration`.
    pub options: u64,
    /// No transaction id at or above this one was given out when the page was written.
    pub next_xdes: u64,
    /// The next allocation unit number (object part).
    pub next_alloc_unit: u64,
    pub database_guid: [u8; 16],
    /// TARGET_RECOVERY_TIME; 0: automatic checkpoints.
    pub target_recovery_seconds: u32,
    /// Shared by a database and the copies that were restored from its backups; zero: `database_guid`.
    pub family: [u8; 16],
    /// Where the next log backup begins; NULL: there is no chain of log backups.
    pub log_backup_lsn: Lsn,
    /// The backup set that is the differential base.
    pub differential_base: [u8; 16],
    /// The database was closed: nothing is left for recovery to do, and the counts in base tables are right.
    pub closed: bool,
    /// `dbi_dbccLastKnownGood`: when the last DBCC CHECKDB that found nothing began, in days since 1900-01-01 and ticks of
    /// 1/300 s, local time; zero: none has.
    pub last_good_check: (i32, u32),
    /// Nothing in VLFs of the log before this one is needed by anybody. Not logged; 0 says nothing.
    pub log_first: u32,
    /// When the last log backup was taken that the chain goes on from, as `last_good_check`; zero: none has been.
    pub log_backed_up: (i32, u32),
}

impl Boot {
    /// Reads a boot page.
    pub fn read(page: &PageBytes) -> FormatResult<Boot> {
        let p = PageRef::new(page);
        if p.page_type() != page_type::BOOT {
            return Err(FormatError::Corrupt("boot page type"));
        }
        let row = &page[HEADER_BYTES..];
        let lsn = |at: usize| {
            row.get(at..)
                .and_then(Lsn::from_bytes)
                .ok_or(FormatError::Corrupt("boot page LSN"))
        };
        let units: Vec<u16> = row[NAME_AT..NAME_AT + 2 * NAME_UNITS]
            .chunks_exact(2)
            .map(|c| u16::from_le_bytes([c[0], c[1]]))
            .take_while(|u| *u != 0)
            .collect();
        let name = String::from_utf16_lossy(&units);
        let own = is_known(&row[MARK_AT..MARK_AT + 16]).then(|| read_own(row));
        Ok(Boot {
            version: u16_at(row, 4)?,
            create_version: u16_at(row, 6)?,
            status: u32_at(row, 36)?,
            next_object_id: u32_at(row, 40)?,
            created: (u32_at(row, 48)? as i32, u32_at(row, 44)?),
            name: name.trim_end_matches(['\u{2020}', ' ']).to_owned(),
            database_id: u16_at(row, 312)?,
            compatibility_level: u16_at(row, 314)?,
            checkpoint_lsn: lsn(348)?,
            differential_base_lsn: lsn(360)?,
            last_backup_lsn: lsn(372)?,
            collation: u32_at(row, 392)?,
            first_sysallocunits: PageId::from_bytes(&row[516..]).unwrap_or_default(),
            own: own.transpose()?,
        })
    }

    /// Makes a whole boot page.
    pub fn format(&self, page: &mut PageBytes) -> FormatResult<()> {
        let mut p = PageMut::new(page);
        p.format(
            PageId::new(1, BOOT_PAGE),
            page_type::BOOT,
            AllocUnitId::from_parts(0, 99),
            0,
            0,
        );
        let mut row = vec![0u8; BOOT_BYTES];
        row[2..4].copy_from_slice(&(BOOT_BYTES as u16).to_le_bytes());
        p.insert_record(0, &row)?;
        self.write(page)
    }

    /// Writes the fields into an existing boot page, leaving every other byte as it is. The fields ours go only into a
    /// page that has room for them (it was made by [`Boot::format`]).
    pub fn write(&self, page: &mut PageBytes) -> FormatResult<()> {
        if PageRef::new(page).page_type() != page_type::BOOT {
            return Err(FormatError::Corrupt("boot page type"));
        }
        let row = &mut page[HEADER_BYTES..];
        let mut put = |at: usize, b: &[u8]| row[at..at + b.len()].copy_from_slice(b);
        put(4, &self.version.to_le_bytes());
        put(6, &self.create_version.to_le_bytes());
        put(36, &self.status.to_le_bytes());
        put(40, &self.next_object_id.to_le_bytes());
        put(44, &self.created.1.to_le_bytes());
        put(48, &self.created.0.to_le_bytes());
        let mut units = [PAD; NAME_UNITS];
        for (slot, unit) in units.iter_mut().zip(self.name.encode_utf16()) {
            *slot = unit;
        }
        for (i, unit) in units.iter().enumerate() {
            put(NAME_AT + 2 * i, &unit.to_le_bytes());
        }
        put(312, &self.database_id.to_le_bytes());
        put(314, &self.compatibility_level.to_le_bytes());
        put(348, &self.checkpoint_lsn.to_bytes());
        put(360, &self.differential_base_lsn.to_bytes());
        put(372, &self.last_backup_lsn.to_bytes());
        put(392, &self.collation.to_le_bytes());
        put(516, &self.first_sysallocunits.to_bytes());
        if let Some(own) = &self.own {
            put(MARK_AT, &MARK);
            put(EPOCH_AT, &own.log_epoch.to_le_bytes());
            put(PROFILE_AT, &own.log_profile.to_le_bytes());
            put(OPTIONS_AT, &own.options.to_le_bytes());
            put(XDES_AT, &own.next_xdes.to_le_bytes());
            put(NEXT_AU_AT, &own.next_alloc_unit.to_le_bytes());
            put(GUID_AT, &own.database_guid);
            put(TARGET_AT, &own.target_recovery_seconds.to_le_bytes());
            put(CLOSED_AT, &[u8::from(own.closed)]);
            put(CHECKED_AT, &own.last_good_check.0.to_le_bytes());
            put(CHECKED_AT + 4, &own.last_good_check.1.to_le_bytes());
            put(LOG_FIRST_AT, &own.log_first.to_le_bytes());
            put(LOG_BACKED_UP_AT, &own.log_backed_up.0.to_le_bytes());
            put(LOG_BACKED_UP_AT + 4, &own.log_backed_up.1.to_le_bytes());
            put(FAMILY_AT, &own.family);
            put(LOG_BACKUP_AT, &own.log_backup_lsn.to_bytes());
            put(BASE_GUID_AT, &own.differential_base);
        }
        Ok(())
    }
}

/// Where a boot page has its mark; `None` for another page.
pub(super) fn mark_of(page: &PageBytes) -> Option<&[u8]> {
    let boot = PageRef::new(page).page_type() == page_type::BOOT;
    let row = &page[HEADER_BYTES..];
    boot.then(|| &row[MARK_AT..MARK_AT + 16])
}

/// The same, to be written.
pub(super) fn mark_mut(page: &mut PageBytes) -> Option<&mut [u8]> {
    let boot = PageRef::new(page).page_type() == page_type::BOOT;
    boot.then(|| &mut page[HEADER_BYTES + MARK_AT..HEADER_BYTES + MARK_AT + 16])
}

fn read_own(row: &[u8]) -> FormatResult<OwnBoot> {
    let guid = |at: usize| {
        let mut guid = [0; 16];
        guid.copy_from_slice(&row[at..at + 16]);
        guid
    };
    let moment = |at: usize| Ok((u32_at(row, at)? as i32, u32_at(row, at + 4)?));
    Ok(OwnBoot {
        log_epoch: u32_at(row, EPOCH_AT)?,
        log_profile: u32_at(row, PROFILE_AT)?,
        options: super::u64_at(row, OPTIONS_AT)?,
        next_xdes: super::u64_at(row, XDES_AT)?,
        next_alloc_unit: super::u64_at(row, NEXT_AU_AT)?,
        database_guid: guid(GUID_AT),
        family: guid(FAMILY_AT),
        log_backup_lsn: Lsn::from_bytes(&row[LOG_BACKUP_AT..]).unwrap_or_default(),
        differential_base: guid(BASE_GUID_AT),
        target_recovery_seconds: u32_at(row, TARGET_AT)?,
        closed: row[CLOSED_AT] == 1,
        last_good_check: moment(CHECKED_AT)?,
        log_first: u32_at(row, LOG_FIRST_AT)?,
        log_backed_up: moment(LOG_BACKED_UP_AT)?,
    })
}

#[cfg(test)]
mod tests;
