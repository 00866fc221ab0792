//! The header of a page, what the allocation maps say of it, and the way to what it holds.

use duramen_base::PAGE_BYTES;
use duramen_format::PageBytes;
use duramen_format::alloc::{
    GAM_INTERVAL, bit_get, diff_page_of, gam_page_of, ml_page_of, pfs, pfs_get, pfs_page_of,
    sgam_page_of,
};
use duramen_format::page::{PageRef, Verify, page_type, verify};

use super::{Detail, Dump, Subject, fixed, rows};

/// Shows a page.
pub fn dump(subject: &mut Subject<'_>, detail: Detail) -> Dump {
    let mut out = Dump::default();
    out.parent(format!("PAGE: {}", subject.id));
    header(&mut out, subject);
    allocation(&mut out, subject);
    let page = PageRef::new(subject.page);
    match detail {
        Detail::Header => {}
        Detail::Whole => {
            out.parent("DATA:");
            out.bytes(0, subject.page);
            offsets(&mut out, &page);
        }
        Detail::Records => {
            out.parent("DATA:");
            rows::records(&mut out, &page);
            offsets(&mut out, &page);
        }
        Detail::Columns => {
            if !fixed::fields(&mut out, subject) {
                rows::columns(&mut out, &page, subject.owner.as_ref());
            }
        }
    }
    out
}

fn header(out: &mut Dump, subject: &Subject<'_>) {
    let p = PageRef::new(subject.page);
    let au = p.alloc_unit();
    let owner = subject.owner.clone().unwrap_or_default();
    out.parent("PAGE HEADER:");
    let at = u64::from(subject.id.page) * PAGE_BYTES as u64;
    out.object(format!("Page @0x{at:016X}"));
    out.field("m_pageId", p.page_id());
    out.field("m_headerVersion", p.header_version());
    out.field("m_type", p.page_type());
    out.field("m_typeFlagBits", format_args!("{:#x}", p.type_flags()));
    out.field("m_level", p.level());
    out.field("m_flagBits", format_args!("{:#x}", p.flags()));
    out.field("m_objId (AllocUnitId.idObj)", au.object_part());
    out.field("m_indexId (AllocUnitId.idInd)", au.index_part());
    out.field("Metadata: AllocUnitId", au.0);
    out.field("Metadata: PartitionId", owner.partition);
    out.field("Metadata: IndexId", owner.index);
    // Pages that belong to no table name the number that stands in their header.
    let object = match owner.object {
        0 => i64::from(au.object_part()),
        id => i64::from(id),
    };
    out.field("Metadata: ObjectId", object);
    out.field("m_prevPage", p.prev_page());
    out.field("m_nextPage", p.next_page());
    out.field("pminlen", p.pminlen());
    out.field("m_slotCnt", p.slot_count());
    out.field("m_freeCnt", p.free_bytes());
    out.field("m_freeData", p.free_data());
    out.field("m_reservedCnt", p.reserved_bytes());
    out.field("m_lsn", p.lsn().to_decimal_text());
    out.field("m_xactReserved", p.xact_reserved());
    let xdes = p.xdes().0;
    let halves = (xdes >> 32, xdes & 0xffff_ffff);
    out.field("m_xdesId", format_args!("({}:{})", halves.0, halves.1));
    out.field("m_ghostRecCnt", p.ghost_count());
    out.field("m_tornBits", p.torn_bits() as i32);
    if let Some(problem) = problem(subject.page) {
        out.alone("DuramenPageAudit", problem);
    }
    out.end_line();
}

/// What is wrong with the page's protection. A page in memory need not have a right checksum: only one that was read
/// from a file is asked.
fn problem(page: &PageBytes) -> Option<String> {
    match verify(page) {
        Verify::BadChecksum { expected, actual } => Some(format!(
            "incorrect checksum (expected: {expected:#010x}; actual: {actual:#010x})"
        )),
        Verify::Torn => Some("torn page".to_owned()),
        Verify::Ok | Verify::Unprotected => None,
    }
}

fn allocation(out: &mut Dump, subject: &mut Subject<'_>) {
    let file = subject.id.file;
    let maps = Maps::of(subject);
    let bits = |name: &str, map: &MapState| {
        let state = map.word().map(str::to_owned);
        (format!("{name} ({file}:{})", map.page), state)
    };
    let free = maps
        .pfs
        .1
        .map(|byte| format!("{byte:#x} {}", pfs_text(byte)));
    let states = [
        bits("GAM", &maps.gam),
        bits("SGAM", &maps.sgam),
        (format!("PFS ({file}:{})", maps.pfs.0), free),
        bits("DIFF", &maps.diff),
        bits("ML", &maps.ml),
    ];
    if states.iter().all(|(_, state)| state.is_none()) {
        return;
    }
    out.object("Allocation Status");
    for (i, (name, state)) in states.into_iter().enumerate() {
        out.field(name, state.as_deref().unwrap_or("UNREADABLE"));
        if matches!(i, 1 | 3 | 4) {
            out.end_line();
        }
    }
}

/// What a bitmap says of a page's extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapState {
    /// The map's own page.
    pub page: u32,
    /// Whether what the map tells is so; `None` when it cannot be read.
    pub set: Option<bool>,
    words: [&'static str; 2],
}

impl MapState {
    /// The words of DBCC PAGE for it.
    pub fn word(&self) -> Option<&'static str> {
        self.set.map(|set| self.words[usize::from(set)])
    }
}

/// What the allocation maps of a file say of one of its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maps {
    /// Whether the extent is somebody's.
    pub gam: MapState,
    /// Whether it is a mixed extent with free pages.
    pub sgam: MapState,
    /// Whether it has changed since the last full backup.
    pub diff: MapState,
    /// Whether work in it was minimally logged since the last backup of the log.
    pub ml: MapState,
    /// The PFS page, and its byte for the page.
    pub pfs: (u32, Option<u8>),
}

impl Maps {
    pub(super) fn of(subject: &mut Subject<'_>) -> Maps {
        let page = subject.id.page;
        // A bit of the GAM stands for a free extent.
        let mut bit = |at: u32, means: bool, words: [&'static str; 2]| {
            let found = map(subject, at);
            let set = found.map(|m| bit_get(&m, page % GAM_INTERVAL / 8) == means);
            MapState {
                page: at,
                set,
                words,
            }
        };
        let allocated = ["NOT ALLOCATED", "ALLOCATED"];
        let gam = bit(gam_page_of(page), false, allocated);
        let sgam = bit(sgam_page_of(page), true, allocated);
        let diff = bit(diff_page_of(page), true, ["NOT CHANGED", "CHANGED"]);
        let ml = bit(ml_page_of(page), true, ["NOT MIN_LOGGED", "MIN_LOGGED"]);
        let at = pfs_page_of(page);
        let pfs = (at, map(subject, at).map(|m| pfs_get(&m, page)));
        Maps {
            gam,
            sgam,
            diff,
            ml,
            pfs,
        }
    }
}

/// A map page; the page itself when it is its own map.
fn map(subject: &mut Subject<'_>, at: u32) -> Option<Box<PageBytes>> {
    if at == subject.id.page {
        return Some(Box::new(*subject.page));
    }
    let found = (subject.read)(at)?;
    let kind = PageRef::new(&found).page_type();
    let expected = [
        page_type::GAM,
        page_type::SGAM,
        page_type::PFS,
        page_type::DIFF_MAP,
        page_type::ML_MAP,
    ];
    expected.contains(&kind).then_some(found)
}

/// `IAM_PG MIXED_EXT ALLOCATED   0_PCT_FULL`
pub fn pfs_text(byte: u8) -> String {
    let mut words = String::new();
    for (bit, word) in [
        (pfs::IAM, "IAM_PG"),
        (pfs::HAS_GHOSTS, "HAS_GHOST"),
        (pfs::MIXED, "MIXED_EXT"),
        (pfs::ALLOCATED, "ALLOCATED"),
    ] {
        if byte & bit != 0 {
            words += word;
            words += " ";
        }
    }
    words + fixed::fullness(byte)
}

/// The row-offset array, as it stands on the page: the last slot first.
fn offsets(out: &mut Dump, page: &PageRef<'_>) {
    // Allocation pages have slots for their own use.
    if fixed::is_map(page.page_type()) {
        return;
    }
    out.parent("OFFSET TABLE:");
    out.object("Row - Offset");
    for slot in (0..page.slot_count()).rev() {
        let row = format!("{slot} ({slot:#x}) - ");
        match page.slot_offset(slot) {
            Ok(at) => out.alone(row, format_args!("{at} ({at:#x})")),
            Err(e) => {
                out.alone(row, e);
                break;
            }
        }
    }
}
