//! Reading a record: one check at the door, then plain accessors.

use duramen_base::{AllocUnitId, Lsn, PageId, XdesId};

use super::{HEADER_BYTES, Lcx, Lop, ROW_FIXED, align4};

/// The fields of a record that describes a change to a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageFields {
    pub page: PageId,
    pub slot: u16,
    /// `m_objId` of the page.
    pub object: u32,
    /// The LSN that the page had before this change; redo and error 3456 depend on it.
    pub prev_page_lsn: Lsn,
    /// `m_indexId` of the page.
    pub index: u16,
    /// Allocation unit. Stored by records whose fixed part is 62 bytes or more; else derived from object and index.
    pub alloc_unit: AllocUnitId,
    pub offset_in_row: u16,
    pub modify_size: u16,
    pub row_flags: u16,
}

/// One active transaction, as an XACT_CKPT record lists it (26 bytes: id 6, first LSN 10, last LSN 10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveXact {
    pub xdes: XdesId,
    pub begin_lsn: Lsn,
    pub last_lsn: Lsn,
}

impl ActiveXact {
    pub(super) const BYTES: usize = 26;

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.xdes.0.to_le_bytes()[..6]);
        out.extend_from_slice(&self.begin_lsn.to_bytes());
        out.extend_from_slice(&self.last_lsn.to_bytes());
    }

    fn read(b: &[u8]) -> Option<ActiveXact> {
        Some(ActiveXact {
            xdes: read_xdes(b.get(..6)?),
            begin_lsn: Lsn::from_bytes(b.get(6..)?)?,
            last_lsn: Lsn::from_bytes(b.get(16..)?)?,
        })
    }
}

/// A record whose lengths have been checked. Bytes after the record (padding in the block) are ignored.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    bytes: &'a [u8],
    fixed: usize,
    elements: usize,
}

impl<'a> RecordView<'a> {
    /// `None` when the bytes cannot be a record: shorter than its header, its fixed part or its elements say.
    pub fn parse(bytes: &'a [u8]) -> Option<RecordView<'a>> {
        if bytes.len() < HEADER_BYTES || bytes[0] != 0 || bytes[1] != 0 {
            return None;
        }
        let fixed = usize::from(u16_at(bytes, 2));
        if fixed < HEADER_BYTES || fixed > bytes.len() {
            return None;
        }
        // A record without elements ends with its fixed part; so does one in a block where only padding follows.
        let op = Lop(bytes[22]);
        let elements = match bytes.get(fixed..fixed + 2) {
            Some(n) if !op.is_bare() => usize::from(u16::from_le_bytes([n[0], n[1]])),
            _ if !op.is_bare() && (fixed < bytes.len() || !fixed.is_multiple_of(4)) => return None,
            _ => {
                return Some(RecordView {
                    bytes: bytes.get(..align4(fixed))?,
                    fixed,
                    elements: 0,
                });
            }
        };
        let lengths = bytes.get(fixed + 2..fixed + 2 + 2 * elements)?;
        let mut end = align4(fixed + 2 + 2 * elements);
        for length in lengths.chunks_exact(2) {
            end += align4(usize::from(u16::from_le_bytes([length[0], length[1]])));
        }
        Some(RecordView {
            bytes: bytes.get(..end)?,
            fixed,
            elements,
        })
    }

    /// The record's own bytes, without padding of the block.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `Log Record Length`.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// `Log Record Fixed Length`.
    pub fn fixed_length(&self) -> usize {
        self.fixed
    }

    /// The fixed part, header included.
    pub fn fixed(&self) -> &'a [u8] {
        &self.bytes[..self.fixed]
    }

    pub fn prev_lsn(&self) -> Lsn {
        Lsn::from_bytes(&self.bytes[4..14]).unwrap_or_default()
    }

    pub fn flags(&self) -> u16 {
        u16_at(self.bytes, 14)
    }

    pub fn is_compensation(&self) -> bool {
        self.flags() & 1 != 0
    }

    pub fn xdes(&self) -> XdesId {
        read_xdes(&self.bytes[16..22])
    }

    pub fn op(&self) -> Lop {
        Lop(self.bytes[22])
    }

    pub fn context(&self) -> Lcx {
        Lcx(self.bytes[23])
    }

    /// `Num Elements`.
    pub fn element_count(&self) -> usize {
        self.elements
    }

    /// `RowLog Contents i`; `None` when the record has fewer elements.
    pub fn element(&self, i: usize) -> Option<&'a [u8]> {
        if i >= self.elements {
            return None;
        }
        let mut at = align4(self.fixed + 2 + 2 * self.elements);
        for k in 0..i {
            at += align4(self.element_length(k));
        }
        self.bytes.get(at..at + self.element_length(i))
    }

    /// All elements in order.
    pub fn elements(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let view = *self;
        let mut at = align4(view.fixed + 2 + 2 * view.elements);
        (0..view.elements).filter_map(move |i| {
            let length = view.element_length(i);
            let start = at;
            at += align4(length);
            view.bytes.get(start..start + length)
        })
    }

    /// The fields of a page record; `None` when the fixed part is too short to hold them.
    pub fn page(&self) -> Option<PageFields> {
        let f = self.fixed();
        if f.len() < 48 {
            return None;
        }
        let object = u32_at(f, 32);
        let index = u16_at(f, 46);
        let mut fields = PageFields {
            page: PageId::from_bytes(&f[24..30])?,
            slot: u16_at(f, 30),
            object,
            prev_page_lsn: Lsn::from_bytes(&f[36..46])?,
            index,
            alloc_unit: AllocUnitId::from_parts(index, object),
            ..PageFields::default()
        };
        if f.len() >= usize::from(ROW_FIXED) {
            fields.alloc_unit = AllocUnitId(u64_at(f, 48) as i64);
            fields.offset_in_row = u16_at(f, 56);
            fields.modify_size = u16_at(f, 58);
            fields.row_flags = u16_at(f, 60);
        }
        Some(fields)
    }

    /// SET_BITS: first bit, bit count, value.
    pub fn bits(&self) -> Option<(u16, u16, bool)> {
        let f = self.fixed();
        (self.op() == Lop::SET_BITS && f.len() >= 54)
            .then(|| (u16_at(f, 48), u16_at(f, 50), f[52] != 0))
    }

    /// SET_FREE_SPACE: byte offset in the PFS page's map, new value, old value.
    pub fn free_space(&self) -> Option<(u16, u8, u8)> {
        let f = self.fixed();
        (self.op() == Lop::SET_FREE_SPACE && f.len() >= 52).then(|| (u16_at(f, 48), f[50], f[51]))
    }

    /// BEGIN_XACT: spid.
    pub fn spid(&self) -> Option<u16> {
        (self.op() == Lop::BEGIN_XACT && self.fixed >= 26).then(|| u16_at(self.bytes, 24))
    }

    /// BEGIN_XACT, COMMIT_XACT, ABORT_XACT, BEGIN_CKPT, END_CKPT: the `datetime` of the event (ticks u32, days i32).
    pub fn datetime(&self) -> Option<[u8; 8]> {
        let at = match self.op() {
            Lop::BEGIN_XACT => 40,
            Lop::COMMIT_XACT | Lop::ABORT_XACT | Lop::BEGIN_CKPT | Lop::END_CKPT => 24,
            _ => return None,
        };
        self.fixed().get(at..at + 8)?.try_into().ok()
    }

    /// COMMIT_XACT, ABORT_XACT: the LSN of the transaction's BEGIN_XACT.
    pub fn begin_lsn(&self) -> Option<Lsn> {
        match self.op() {
            Lop::COMMIT_XACT | Lop::ABORT_XACT => Lsn::from_bytes(self.fixed().get(32..42)?),
            _ => None,
        }
    }

    /// COMMIT_XACT of a marked transaction: name and description of the mark.
    pub fn mark(&self) -> Option<(String, String)> {
        if self.op() != Lop::COMMIT_XACT || self.elements < 2 {
            return None;
        }
        let text = |i: usize| {
            let bytes = self.element(i).unwrap_or_default();
            let units = bytes.chunks_exact(2);
            let units: Vec<u16> = units.map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
            String::from_utf16_lossy(&units)
        };
        Some((text(0), text(1)))
    }

    /// BEGIN_CKPT: database version and the largest transaction id used so far.
    pub fn checkpoint_begin(&self) -> Option<(u16, XdesId)> {
        let f = self.fixed();
        (self.op() == Lop::BEGIN_CKPT && f.len() >= 42)
            .then(|| (u16_at(f, 32), read_xdes(&f[34..40])))
    }

    /// END_CKPT: minimum LSN and number of pages written.
    pub fn checkpoint_end(&self) -> Option<(Lsn, u32)> {
        let f = self.fixed();
        if self.op() != Lop::END_CKPT || f.len() < 52 {
            return None;
        }
        Some((Lsn::from_bytes(&f[34..44])?, u32_at(f, 44)))
    }

    /// XACT_CKPT: the active transactions of element 0.
    pub fn active_xacts(&self) -> Vec<ActiveXact> {
        match self.element(0) {
            Some(list) if self.op() == Lop::XACT_CKPT => list
                .chunks_exact(ActiveXact::BYTES)
                .filter_map(ActiveXact::read)
                .collect(),
            _ => Vec::new(),
        }
    }

    fn element_length(&self, i: usize) -> usize {
        usize::from(u16_at(self.bytes, self.fixed + 2 + 2 * i))
    }
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

fn u64_at(b: &[u8], at: usize) -> u64 {
    u64::from(u32_at(b, at)) | (u64::from(u32_at(b, at + 4)) << 32)
}

fn read_xdes(b: &[u8]) -> XdesId {
    let mut wide = [0; 8];
    wide[..6].copy_from_slice(&b[..6]);
    XdesId(u64::from_le_bytes(wide))
}
