//! Pages that are not rows of a table: allocation maps as ranges, file header and boot page by field.

use duramen_base::PageId;
use duramen_format::PageBytes;
use duramen_format::alloc::{GAM_INTERVAL, IAM_SINGLES, Iam, PFS_INTERVAL, bit_get, pfs, pfs_get};
use duramen_format::boot::{BOOT_PAGE, Boot, FileHeader};
use duramen_format::page::{PageRef, page_type};
use duramen_types::temporal::{DAYS_TO_1900, ymd_from_days};

use super::{Dump, Subject};

/// Whether the page is an allocation map.
pub(super) fn is_map(kind: u8) -> bool {
    matches!(
        kind,
        page_type::GAM
            | page_type::SGAM
            | page_type::IAM
            | page_type::PFS
            | page_type::DIFF_MAP
            | page_type::ML_MAP
    )
}

/// Shows the page if it is of a kind that has no table's rows.
pub(super) fn fields(out: &mut Dump, subject: &Subject<'_>) -> bool {
    let page = subject.page;
    match PageRef::new(page).page_type() {
        page_type::PFS => free_space(out, subject),
        page_type::GAM => bitmap(out, subject, "GAM", ["ALLOCATED", "NOT ALLOCATED"]),
        page_type::SGAM => bitmap(out, subject, "SGAM", ["NOT ALLOCATED", "ALLOCATED"]),
        page_type::DIFF_MAP => bitmap(out, subject, "DIFF_MAP", ["NOT CHANGED", "CHANGED"]),
        page_type::ML_MAP => {
            bitmap(out, subject, "ML_MAP", ["NOT MIN_LOGGED", "MIN_LOGGED"]);
        }
        page_type::IAM => iam(out, subject),
        page_type::FILE_HEADER => file_header(out, page),
        page_type::BOOT if subject.id == PageId::new(1, BOOT_PAGE) => boot(out, page),
        _ => return false,
    }
    true
}

/// How full a page is, by its PFS byte.
pub(super) fn fullness(byte: u8) -> &'static str {
    match byte & pfs::FULLNESS {
        0 => "  0_PCT_FULL",
        1 => " 50_PCT_FULL",
        2 => " 80_PCT_FULL",
        3 => " 95_PCT_FULL",
        _ => "100_PCT_FULL",
    }
}

/// Equal neighbours as one line each: `(1:0) - (1:7) = ...`.
fn ranges(
    out: &mut Dump,
    file: u16,
    (first, end, step): (u32, u32, u32),
    state: impl Fn(u32) -> String,
) {
    let mut from = first;
    while from < end {
        let of = state(from);
        let mut last = from;
        while last + step < end && state(last + step) == of {
            last += step;
        }
        let name = match last == from {
            true => format!("({file}:{from}) -"),
            false => format!("({file}:{from}) - ({file}:{last})"),
        };
        out.alone(name, of);
        from = last + step;
    }
}

fn free_space(out: &mut Dump, subject: &Subject<'_>) {
    let PageId { file, page } = subject.id;
    let first = page / PFS_INTERVAL * PFS_INTERVAL;
    let end = subject.file_pages.min(first.saturating_add(PFS_INTERVAL));
    out.parent("PFS: Page Alloc Status");
    ranges(out, file, (first, end, 1), |n| {
        let byte = pfs_get(subject.page, n);
        let mut text = match byte & pfs::ALLOCATED {
            0 => format!("NOT ALLOCATED {}", fullness(byte)),
            _ => format!("    ALLOCATED {}", fullness(byte)),
        };
        for (bit, word) in [
            (pfs::MIXED, "Mixed Ext"),
            (pfs::IAM, "IAM Page"),
            (pfs::HAS_GHOSTS, "Has Ghost"),
        ] {
            if byte & bit != 0 {
                text += &format!("     {word}");
            }
        }
        text
    });
}

/// A bit an extent; `states` for 0 and 1.
fn bitmap(out: &mut Dump, subject: &Subject<'_>, name: &str, states: [&str; 2]) {
    let PageId { file, page } = subject.id;
    let first = page / GAM_INTERVAL * GAM_INTERVAL;
    let end = subject.file_pages.min(first.saturating_add(GAM_INTERVAL));
    out.parent(format!("{name}: Extent Alloc Status"));
    ranges(out, file, (first, end, 8), |n| {
        let set = bit_get(subject.page, (n - first) / 8);
        states[usize::from(set)].to_owned()
    });
}

fn iam(out: &mut Dump, subject: &Subject<'_>) {
    let Ok(iam) = Iam::new(subject.page) else {
        return;
    };
    out.parent("IAM: Header");
    out.field("sequenceNumber", iam.sequence());
    out.field("start_pg", iam.start());
    out.parent("IAM: Single Page Allocations");
    for i in 0..IAM_SINGLES {
        out.field(format!("Slot {i}"), iam.single(i));
    }
    out.parent("IAM: Extent Alloc Status Slot 1");
    let start = iam.start();
    // The pages of another file: its length is not known, the map's own is.
    let end = match start.file == subject.id.file {
        true => subject.file_pages,
        false => u32::MAX,
    };
    let end = end.min(start.page.saturating_add(GAM_INTERVAL));
    ranges(out, start.file, (start.page, end, 8), |n| {
        match bit_get(subject.page, (n - start.page) / 8) {
            true => "    ALLOCATED".to_owned(),
            false => "NOT ALLOCATED".to_owned(),
        }
    });
}

fn file_header(out: &mut Dump, page: &PageBytes) {
    out.parent("FILE HEADER:");
    out.object("File Header Data:");
    let header = match FileHeader::read(page) {
        Ok(header) => header,
        Err(e) => return out.alone("File Header Data", e),
    };
    let max = header.max_size.map_or(-1, i64::from);
    out.field("BindingID", guid(&header.binding));
    out.field("FileGroupId", header.filegroup);
    out.field("FileIdProp", header.file_id);
    out.field("Size", header.size);
    out.field("MaxSize", max);
    out.field("Growth", header.growth);
    out.field("GrowthIsPercent", u8::from(header.growth_percent));
    out.field("MinSize", header.min_size);
    out.field("CreateLsn", header.create_lsn.to_decimal_text());
    out.field("FileGuid", guid(&header.guid));
    out.alone("LogicalName", &header.logical_name);
}

fn boot(out: &mut Dump, page: &PageBytes) {
    match Boot::read(page) {
        Ok(boot) => boot_fields(out, &boot),
        Err(e) => {
            out.parent("DBINFO STRUCTURE:");
            out.object("DBINFO");
            out.alone("DBINFO", e);
        }
    }
}

/// The fields of a boot page.
pub(super) fn boot_fields(out: &mut Dump, boot: &Boot) {
    out.parent("DBINFO STRUCTURE:");
    out.object("DBINFO");
    let lsn = duramen_base::Lsn::to_decimal_text;
    out.field("dbi_version", boot.version);
    out.field("dbi_createVersion", boot.create_version);
    out.field("dbi_status", boot.status);
    out.field("dbi_nextid", boot.next_object_id);
    out.alone("dbi_crdate", moment(boot.created));
    out.alone("dbi_dbname", &boot.name);
    out.field("dbi_dbid", boot.database_id);
    out.field("dbi_cmptlevel", boot.compatibility_level);
    out.field("dbi_checkptLSN", lsn(boot.checkpoint_lsn));
    out.field("dbi_differentialBaseLSN", lsn(boot.differential_base_lsn));
    out.field("dbi_dbbackupLSN", lsn(boot.last_backup_lsn));
    out.field("dbi_collation", boot.collation);
    out.field("dbi_firstSysIndexes", boot.first_sysallocunits);
    if let Some(own) = &boot.own {
        out.alone("dbi_differentialBaseGuid", guid(&own.differential_base));
        out.alone("dbi_familyGUID", guid(&own.family));
        out.alone("dbi_dbccLastKnownGood", moment(own.last_good_check));
    }
}

/// Days since 1900-01-01 and ticks of 1/300 s, as the boot page's dates are shown.
fn moment((days, ticks): (i32, u32)) -> String {
    let (year, month, day) = ymd_from_days(days.saturating_add(DAYS_TO_1900));
    let (seconds, rest) = (ticks / 300, ticks % 300);
    // Thirds of ten milliseconds, rounded as datetime is.
    let thousandths = (rest * 10 + 1) / 3;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{thousandths:03}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// As uniqueidentifiers are written.
fn guid(b: &[u8; 16]) -> String {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02X}")).collect() };
    let back = |from: usize, to: usize| -> String {
        let turned: Vec<u8> = b[from..to].iter().rev().copied().collect();
        hex(&turned)
    };
    format!(
        "{}-{}-{}-{}-{}",
        back(0, 4),
        back(4, 6),
        back(6, 8),
        hex(&b[8..10]),
        hex(&b[10..])
    )
}
