//! Building a record: header, fixed part, elements. A hot path hands the record back when it is in the log
//! ([`recycle`]), and the thread's next one takes its memory.

use std::cell::Cell;

use duramen_base::{Lsn, XdesId};

use super::{ActiveXact, FLAG_NORMAL, HEADER_BYTES, Lcx, Lop, PageFields, ROW_FIXED, align4};

/// Days from 1900-01-01 to 1970-01-01, the two epochs of `datetime` and of the system clock.
const DAYS_1900_TO_1970: i64 = 25_567;

/// A record under construction: `RecordBuilder::new(op, context).xdes(x).prev_lsn(l).page(&p).finish(&[row])`.
#[derive(Debug)]
pub struct RecordBuilder {
    buf: Vec<u8>,
    op: Lop,
}

/// What is kept for the next record at most.
const KEPT_BYTES: usize = 16 << 10;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The memory of a record that nobody needs any more is the thread's next one's.
pub fn recycle(record: Vec<u8>) {
    if record.capacity() <= KEPT_BYTES {
        // An error means that the thread is ending.
        let _ = SPARE.try_with(|spare| spare.set(record));
    }
}

impl RecordBuilder {
    /// A record with the operation's usual fixed length, outside any transaction, flags 0.
    pub fn new(op: Lop, context: Lcx) -> RecordBuilder {
        let mut buf = SPARE.try_with(Cell::take).unwrap_or_default();
        let fixed = op.fixed_length();
        buf.clear();
        buf.reserve(160);
        buf.resize(usize::from(fixed), 0);
        buf[2..4].copy_from_slice(&fixed.to_le_bytes());
        buf[22] = op.0;
        buf[23] = context.0;
        RecordBuilder { buf, op }
    }

    /// Another fixed length (never below the header's 24 bytes).
    pub fn fixed_length(mut self, fixed: u16) -> RecordBuilder {
        let fixed = fixed.max(HEADER_BYTES as u16);
        self.buf.resize(usize::from(fixed), 0);
        self.buf[2..4].copy_from_slice(&fixed.to_le_bytes());
        self
    }

    /// The transaction this record belongs to; sets the flags of a normal record in a transaction.
    pub fn xdes(mut self, xdes: XdesId) -> RecordBuilder {
        self.buf[16..22].copy_from_slice(&xdes.0.to_le_bytes()[..6]);
        if xdes.0 != 0 && self.buf[14] == 0 {
            self.buf[14..16].copy_from_slice(&FLAG_NORMAL.to_le_bytes());
        }
        self
    }

    /// The previous record of the same transaction.
    pub fn prev_lsn(self, lsn: Lsn) -> RecordBuilder {
        self.put(4, &lsn.to_bytes())
    }

    pub fn flags(self, flags: u16) -> RecordBuilder {
        self.put(14, &flags.to_le_bytes())
    }

    /// The page fields; a fixed part below 62 bytes holds those up to the index part.
    pub fn page(mut self, p: &PageFields) -> RecordBuilder {
        if self.buf.len() < 48 {
            self = self.fixed_length(ROW_FIXED);
        }
        let f = &mut self.buf;
        f[24..30].copy_from_slice(&p.page.to_bytes());
        f[30..32].copy_from_slice(&p.slot.to_le_bytes());
        f[32..36].copy_from_slice(&p.object.to_le_bytes());
        f[36..46].copy_from_slice(&p.prev_page_lsn.to_bytes());
        f[46..48].copy_from_slice(&p.index.to_le_bytes());
        if f.len() >= usize::from(ROW_FIXED) {
            f[48..56].copy_from_slice(&p.alloc_unit.0.to_le_bytes());
            f[56..58].copy_from_slice(&p.offset_in_row.to_le_bytes());
            f[58..60].copy_from_slice(&p.modify_size.to_le_bytes());
            f[60..62].copy_from_slice(&p.row_flags.to_le_bytes());
        }
        self
    }

    /// Writes bytes into the fixed part, lengthening it when they reach beyond its end.
    pub fn put(mut self, at: usize, bytes: &[u8]) -> RecordBuilder {
        let end = at + bytes.len();
        if end > self.buf.len() {
            self = self.fixed_length(u16::try_from(end).unwrap_or(u16::MAX));
        }
        if let Some(place) = self.buf.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
        self
    }

    /// Packs the elements and gives the complete record. An element longer than 65,535 bytes is a caller's error
    /// (no row, no page image is): it is asserted, since it would write a record that cannot be read.
    pub fn finish(mut self, elements: &[&[u8]]) -> Vec<u8> {
        if self.op.is_bare() && elements.is_empty() {
            self.buf.resize(align4(self.buf.len()), 0);
            return self.buf;
        }
        assert!(
            elements.len() < 30_000 && elements.iter().all(|e| e.len() <= usize::from(u16::MAX)),
            "an element fits its length field"
        );
        // Made as long as it will be and zero first: whoever appends piece by piece asks for room each time.
        let lengths = self.buf.len();
        let first = align4(lengths + 2 + 2 * elements.len());
        let end = elements.iter().fold(first, |at, e| at + align4(e.len()));
        self.buf.resize(end, 0);
        let (head, mut rest) = self.buf[lengths..].split_at_mut(first - lengths);
        head[..2].copy_from_slice(&(elements.len() as u16).to_le_bytes());
        for (place, e) in head[2..].chunks_exact_mut(2).zip(elements) {
            place.copy_from_slice(&(e.len() as u16).to_le_bytes());
            let (own, others) = rest.split_at_mut(align4(e.len()));
            own[..e.len()].copy_from_slice(e);
            rest = others;
        }
        self.buf
    }

    /// LOP_BEGIN_XACT. `name` is cut to 32 characters, `begin_time` a `datetime` (see [`datetime_from_unix_ns`]).
    pub fn begin_xact(
        xdes: XdesId,
        spid: u16,
        begin_time: [u8; 8],
        name: &str,
        sid: &[u8],
    ) -> Vec<u8> {
        let mut utf16 = [0; 64];
        let mut length = 0;
        for (place, unit) in utf16.chunks_exact_mut(2).zip(name.encode_utf16()) {
            place.copy_from_slice(&unit.to_le_bytes());
            length += 2;
        }
        RecordBuilder::new(Lop::BEGIN_XACT, Lcx::NULL)
            .xdes(xdes)
            .put(24, &spid.to_le_bytes())
            .put(40, &begin_time)
            .finish(&[&utf16[..length], &sid[..sid.len().min(85)]])
    }

    /// LOP_COMMIT_XACT.
    pub fn commit_xact(xdes: XdesId, begin_lsn: Lsn, end_time: [u8; 8]) -> Vec<u8> {
        RecordBuilder::end_xact(Lop::COMMIT_XACT, xdes, begin_lsn, end_time)
    }

    /// LOP_COMMIT_XACT of a marked transaction: its elements are the mark's name and description (ours: where SQL Server
    /// keeps them is not public).
    pub fn marked_commit_xact(
        xdes: XdesId,
        begin_lsn: Lsn,
        end_time: [u8; 8],
        (name, description): (&str, &str),
    ) -> Vec<u8> {
        let utf16 = |text: &str, most: usize| -> Vec<u8> {
            let units = text.encode_utf16().take(most);
            units.flat_map(u16::to_le_bytes).collect()
        };
        RecordBuilder::new(Lop::COMMIT_XACT, Lcx::NULL)
            .xdes(xdes)
            .prev_lsn(begin_lsn)
            .put(24, &end_time)
            .put(32, &begin_lsn.to_bytes())
            .finish(&[&utf16(name, 128), &utf16(description, 255)])
    }

    /// LOP_ABORT_XACT, the end of a rollback.
    pub fn abort_xact(xdes: XdesId, begin_lsn: Lsn, end_time: [u8; 8]) -> Vec<u8> {
        RecordBuilder::end_xact(Lop::ABORT_XACT, xdes, begin_lsn, end_time)
    }

    /// LOP_PREP_XACT: first phase of a commit that spans databases. `decision` says where the decision will be.
    pub fn prep_xact(xdes: XdesId, prev_lsn: Lsn, begin_lsn: Lsn, decision: &[u8]) -> Vec<u8> {
        RecordBuilder::new(Lop::PREP_XACT, Lcx::NULL)
            .xdes(xdes)
            .prev_lsn(prev_lsn)
            .put(32, &begin_lsn.to_bytes())
            .finish(&[decision])
    }

    /// LOP_MARK_SAVEPOINT; the element is the savepoint's name.
    pub fn savepoint(xdes: XdesId, prev_lsn: Lsn, name: &str) -> Vec<u8> {
        let utf16: Vec<u8> = name
            .encode_utf16()
            .take(32)
            .flat_map(u16::to_le_bytes)
            .collect();
        RecordBuilder::new(Lop::MARK_SAVEPOINT, Lcx::NULL)
            .xdes(xdes)
            .prev_lsn(prev_lsn)
            .finish(&[&utf16])
    }

    /// LOP_BEGIN_CKPT. `previous` is the previous BEGIN_CKPT.
    pub fn begin_checkpoint(
        previous: Lsn,
        time: [u8; 8],
        db_version: u16,
        max_xdes: XdesId,
    ) -> Vec<u8> {
        RecordBuilder::new(Lop::BEGIN_CKPT, Lcx::NULL)
            .prev_lsn(previous)
            .put(24, &time)
            .put(32, &db_version.to_le_bytes())
            .put(34, &max_xdes.0.to_le_bytes()[..6])
            .finish(&[])
    }

    /// LOP_XACT_CKPT: a part of the list of active transactions; a long list is cut into several records.
    pub fn active_xacts(begin_checkpoint: Lsn, list: &[ActiveXact]) -> Vec<Vec<u8>> {
        let mut chunks: Vec<&[ActiveXact]> = list.chunks(2_000).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let pack = |chunk: &[ActiveXact]| {
            let mut element = Vec::with_capacity(chunk.len() * ActiveXact::BYTES);
            chunk.iter().for_each(|x| x.write(&mut element));
            let record =
                RecordBuilder::new(Lop::XACT_CKPT, Lcx::BOOT_PAGE_CKPT).prev_lsn(begin_checkpoint);
            if element.is_empty() {
                record.finish(&[])
            } else {
                record.finish(&[&element])
            }
        };
        chunks.into_iter().map(pack).collect()
    }

    /// LOP_END_CKPT. `min_lsn` is the oldest LSN that recovery from this checkpoint needs.
    pub fn end_checkpoint(
        begin_checkpoint: Lsn,
        time: [u8; 8],
        db_version: u16,
        min_lsn: Lsn,
        pages_written: u32,
    ) -> Vec<u8> {
        RecordBuilder::new(Lop::END_CKPT, Lcx::NULL)
            .prev_lsn(begin_checkpoint)
            .put(24, &time)
            .put(32, &db_version.to_le_bytes())
            .put(34, &min_lsn.to_bytes())
            .put(44, &pages_written.to_le_bytes())
            .finish(&[])
    }

    fn end_xact(op: Lop, xdes: XdesId, begin_lsn: Lsn, end_time: [u8; 8]) -> Vec<u8> {
        RecordBuilder::new(op, Lcx::NULL)
            .xdes(xdes)
            .prev_lsn(begin_lsn)
            .put(24, &end_time)
            .put(32, &begin_lsn.to_bytes())
            .finish(&[])
    }
}

/// The 8 bytes of a `datetime` (1/300 s ticks since midnight, days since 1900) for a time since the Unix epoch.
pub fn datetime_from_unix_ns(ns: u64) -> [u8; 8] {
    const DAY_NS: u64 = 86_400_000_000_000;
    let days = (ns / DAY_NS) as i64 + DAYS_1900_TO_1970;
    let ticks = (ns % DAY_NS) / 1_000 * 3 / 10_000;
    let mut out = [0; 8];
    out[..4].copy_from_slice(&(ticks as u32).to_le_bytes());
    out[4..].copy_from_slice(&(days as i32).to_le_bytes());
    out
}
