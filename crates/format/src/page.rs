//! The 8 KB page: header fields, the slot array, records.
//!
//! ```text
//! 0        96                                   freeData                8192 - 2*slots     8192
//! | header | records, in any order, with holes  | contiguous free bytes | slot n-1 ... 0 |
//! ```
//! A slot holds the page offset of its record; 0 is a slot without record (heaps keep it, so that row ids stay).
//! Slots give the logical order, the place of a record says nothing.

mod protection;

use duramen_base::{AllocUnitId, Lsn, PAGE_BYTES, PageId, XdesId};

use super::{FormatError, FormatResult, PageBytes, RowRef, u16_at};

pub use protection::{Verify, checksum, restore_torn_bits, seal, verify};

/// Bytes of the page header.
pub const HEADER_BYTES: usize = 96;
/// Bytes for records and slots.
pub const BODY_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
/// The longest record that is kept in a row's own page.
pub const MAX_RECORD_BYTES: usize = 8060;

/// Page types (`m_type`).
pub mod page_type {
    pub const DATA: u8 = 1;
    pub const INDEX: u8 = 2;
    pub const TEXT_MIX: u8 = 3;
    pub const TEXT_TREE: u8 = 4;
    pub const SORT: u8 = 7;
    pub const GAM: u8 = 8;
    pub const SGAM: u8 = 9;
    pub const IAM: u8 = 10;
    pub const PFS: u8 = 11;
    pub const BOOT: u8 = 13;
    pub const SERVER_CONFIG: u8 = 14;
    pub const FILE_HEADER: u8 = 15;
    pub const DIFF_MAP: u8 = 16;
    pub const ML_MAP: u8 = 17;
}

/// `m_flagBits`: torn-page bits are in the word at 60.
pub const FLAG_TORN_BITS: u16 = 0x100;
/// `m_flagBits`: the word at 60 is the page checksum.
pub const FLAG_CHECKSUM: u16 = 0x200;

/// The record kind in bits 1-3 of a record's first byte.
pub mod record_kind {
    pub const PRIMARY: u8 = 0;
    pub const FORWARDED: u8 = 1;
    pub const FORWARDING_STUB: u8 = 2;
    pub const INDEX: u8 = 3;
    pub const BLOB: u8 = 4;
    pub const GHOST_INDEX: u8 = 5;
    pub const GHOST_DATA: u8 = 6;
    pub const GHOST_VERSION: u8 = 7;
}

/// Status A bit: a null bitmap is present.
pub const STATUS_NULL_BITMAP: u8 = 0x10;
/// Status A bit: a variable part is present.
pub const STATUS_VARIABLE: u8 = 0x20;
/// Status A bit: a 14-byte version tag follows the record.
pub const STATUS_VERSION_TAG: u8 = 0x40;
/// Bytes of the version tag.
pub const VERSION_TAG_BYTES: usize = 14;
/// Bytes of a forwarding stub: status, page, file, slot.
pub const FORWARDING_STUB_BYTES: usize = 9;

/// The kind of a record, from its first byte.
#[inline]
pub(crate) fn kind_of(status_a: u8) -> u8 {
    (status_a >> 1) & 7
}

/// Length of the record at the start of `b`, version tag included; `pminlen` is the page's (index rows have no length
/// of their own).
#[inline]
pub fn record_len(b: &[u8], pminlen: u16) -> FormatResult<usize> {
    let status = *b.first().ok_or(FormatError::Corrupt("record (empty)"))?;
    let fixed_end = match kind_of(status) {
        record_kind::FORWARDING_STUB => return checked(FORWARDING_STUB_BYTES, b),
        record_kind::BLOB => return checked(stated_len(b)?, b),
        record_kind::INDEX | record_kind::GHOST_INDEX => usize::from(pminlen),
        _ => stated_len(b)?,
    };
    let mut end = fixed_end;
    if status & STATUS_NULL_BITMAP != 0 {
        let columns = usize::from(u16_at(b, end)?);
        end += 2 + columns.div_ceil(8);
    }
    if status & STATUS_VARIABLE != 0 {
        let count = usize::from(u16_at(b, end)?);
        end += 2 + 2 * count;
        if count > 0 {
            let last = usize::from(u16_at(b, end - 2)? & 0x7fff);
            if last < end {
                return Err(FormatError::Corrupt("variable column end offset"));
            }
            end = last;
        }
    }
    if status & STATUS_VERSION_TAG != 0 {
        end += VERSION_TAG_BYTES;
    }
    checked(end, b)
}

/// The length in bytes 2 and 3. They are the record's own: what lies behind it says nothing of it.
#[inline]
fn stated_len(b: &[u8]) -> FormatResult<usize> {
    match usize::from(u16_at(b, 2)?) {
        ..4 => Err(FormatError::Corrupt("record length")),
        len => Ok(len),
    }
}

fn checked(len: usize, b: &[u8]) -> FormatResult<usize> {
    if len == 0 || len > b.len() {
        return Err(FormatError::Corrupt("record length"));
    }
    Ok(len)
}

/// A page to read.
#[derive(Clone, Copy)]
pub struct PageRef<'a> {
    b: &'a PageBytes,
}

impl<'a> PageRef<'a> {
    pub fn new(b: &'a PageBytes) -> PageRef<'a> {
        PageRef { b }
    }

    pub fn bytes(&self) -> &'a PageBytes {
        self.b
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.b[at], self.b[at + 1]])
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes([self.b[at], self.b[at + 1], self.b[at + 2], self.b[at + 3]])
    }

    fn page(&self, at: usize) -> PageId {
        PageId {
            page: self.u32(at),
            file: self.u16(at + 4),
        }
    }

    pub fn header_version(&self) -> u8 {
        self.b[0]
    }
    pub fn page_type(&self) -> u8 {
        self.b[1]
    }
    pub fn type_flags(&self) -> u8 {
        self.b[2]
    }
    pub fn level(&self) -> u8 {
        self.b[3]
    }
    pub fn flags(&self) -> u16 {
        self.u16(4)
    }
    pub fn prev_page(&self) -> PageId {
        self.page(8)
    }
    pub fn pminlen(&self) -> u16 {
        self.u16(14)
    }
    pub fn next_page(&self) -> PageId {
        self.page(16)
    }
    pub fn slot_count(&self) -> u16 {
        self.u16(22)
    }
    pub fn alloc_unit(&self) -> AllocUnitId {
        AllocUnitId::from_parts(self.u16(6), self.u32(24))
    }
    /// `m_freeCnt`: free bytes, holes included.
    pub fn free_bytes(&self) -> u16 {
        self.u16(28)
    }
    /// `m_freeData`: the first byte after the last record.
    pub fn free_data(&self) -> u16 {
        self.u16(30)
    }
    pub fn page_id(&self) -> PageId {
        self.page(32)
    }
    pub fn reserved_bytes(&self) -> u16 {
        self.u16(38)
    }
    pub fn lsn(&self) -> Lsn {
        Lsn {
            vlf: self.u32(40),
            block: self.u32(44),
            slot: self.u16(48),
        }
    }
    pub fn xact_reserved(&self) -> u16 {
        self.u16(50)
    }
    pub fn xdes(&self) -> XdesId {
        XdesId(u64::from(self.u32(52)) | u64::from(self.u16(56)) << 32)
    }
    pub fn ghost_count(&self) -> u16 {
        self.u16(58)
    }
    pub fn torn_bits(&self) -> u32 {
        self.u32(60)
    }

    /// Page offset of slot `slot`'s record; 0 for a slot without record.
    pub fn slot_offset(&self, slot: u16) -> FormatResult<u16> {
        if slot >= self.slot_count() {
            return Err(FormatError::NoSlot(slot));
        }
        let at = PAGE_BYTES
            .checked_sub(2 * (usize::from(slot) + 1))
            .filter(|at| *at >= HEADER_BYTES)
            .ok_or(FormatError::Corrupt("slot count"))?;
        let offset = self.u16(at);
        if offset != 0 && (usize::from(offset) < HEADER_BYTES || usize::from(offset) >= at) {
            return Err(FormatError::Corrupt("slot offset"));
        }
        Ok(offset)
    }

    /// The record of `slot`, exactly its bytes (version tag included); `None` when the slot has no record.
    pub fn record(&self, slot: u16) -> FormatResult<Option<RowRef<'a>>> {
        let offset = usize::from(self.slot_offset(slot)?);
        if offset == 0 {
            return Ok(None);
        }
        // slot_offset has checked that the slot array fits the page up to this slot; the rest may not.
        let end = PAGE_BYTES.saturating_sub(2 * usize::from(self.slot_count()));
        let all = self
            .b
            .get(offset..end)
            .ok_or(FormatError::Corrupt("slot offset"))?;
        let len = record_len(all, self.pminlen())?;
        Ok(Some(RowRef::new(&all[..len])))
    }

    /// The record of `slot`; a slot without record is an error.
    #[inline]
    pub fn expect_record(&self, slot: u16) -> FormatResult<RowRef<'a>> {
        self.record(slot)?.ok_or(FormatError::NoSlot(slot))
    }

    /// The first slot without record, or the slot count: where a heap puts its next row.
    pub fn first_free_slot(&self) -> u16 {
        (0..self.slot_count())
            .find(|s| self.slot_offset(*s) == Ok(0))
            .unwrap_or(self.slot_count())
    }

    /// Whether a record of `len` bytes fits, in a new slot when `new_slot`.
    pub fn fits(&self, len: usize, new_slot: bool) -> bool {
        len + if new_slot { 2 } else { 0 } <= usize::from(self.free_bytes())
    }

    /// Checks that the header, slots and records do not contradict each other.
    pub fn check(&self) -> FormatResult<()> {
        let slots = usize::from(self.slot_count());
        if 2 * slots > BODY_BYTES {
            return Err(FormatError::Corrupt("slot count"));
        }
        let mut spans = Vec::with_capacity(slots);
        for s in 0..self.slot_count() {
            if let Some(r) = self.record(s)? {
                spans.push((usize::from(self.slot_offset(s)?), r.len()));
            }
        }
        spans.sort_unstable();
        for pair in spans.windows(2) {
            if pair[0].0 + pair[0].1 > pair[1].0 {
                return Err(FormatError::Corrupt("records (they overlap)"));
            }
        }
        if usize::from(self.free_data()) > PAGE_BYTES - 2 * slots {
            return Err(FormatError::Corrupt("free-data offset"));
        }
        if let Some((at, len)) = spans.last()
            && at + len > usize::from(self.free_data())
        {
            return Err(FormatError::Corrupt("free-data offset"));
        }
        Ok(())
    }
}

/// A page to change.
pub struct PageMut<'a> {
    b: &'a mut PageBytes,
}

impl<'a> PageMut<'a> {
    pub fn new(b: &'a mut PageBytes) -> PageMut<'a> {
        PageMut { b }
    }

    pub fn as_ref(&self) -> PageRef<'_> {
        PageRef { b: self.b }
    }

    pub fn bytes_mut(&mut self) -> &mut PageBytes {
        self.b
    }

    /// Makes an empty page; every byte is set.
    pub fn format(&mut self, id: PageId, kind: u8, au: AllocUnitId, level: u8, pminlen: u16) {
        self.b.fill(0);
        self.b[0] = 1;
        self.b[1] = kind;
        self.b[3] = level;
        self.set_flags(FLAG_CHECKSUM);
        self.set_alloc_unit(au);
        self.set_pminlen(pminlen);
        self.set_u16(28, BODY_BYTES as u16);
        self.set_u16(30, HEADER_BYTES as u16);
        self.set_page(32, id);
    }

    fn set_u16(&mut self, at: usize, v: u16) {
        self.b[at..at + 2].copy_from_slice(&v.to_le_bytes());
    }
    fn set_u32(&mut self, at: usize, v: u32) {
        self.b[at..at + 4].copy_from_slice(&v.to_le_bytes());
    }
    fn set_page(&mut self, at: usize, v: PageId) {
        self.b[at..at + 6].copy_from_slice(&v.to_bytes());
    }

    pub fn set_page_type(&mut self, v: u8) {
        self.b[1] = v;
    }
    pub fn set_type_flags(&mut self, v: u8) {
        self.b[2] = v;
    }
    pub fn set_level(&mut self, v: u8) {
        self.b[3] = v;
    }
    pub fn set_flags(&mut self, v: u16) {
        self.set_u16(4, v);
    }
    pub fn set_prev_page(&mut self, v: PageId) {
        self.set_page(8, v);
    }
    pub fn set_pminlen(&mut self, v: u16) {
        self.set_u16(14, v);
    }
    pub fn set_next_page(&mut self, v: PageId) {
        self.set_page(16, v);
    }
    pub fn set_alloc_unit(&mut self, au: AllocUnitId) {
        self.set_u16(6, au.index_part());
        self.set_u32(24, au.object_part());
    }
    pub fn set_page_id(&mut self, v: PageId) {
        self.set_page(32, v);
    }
    pub fn set_reserved_bytes(&mut self, v: u16) {
        self.set_u16(38, v);
    }
    pub fn set_lsn(&mut self, v: Lsn) {
        self.b[40..50].copy_from_slice(&v.to_bytes());
    }
    pub fn set_xact_reserved(&mut self, v: u16) {
        self.set_u16(50, v);
    }
    pub fn set_xdes(&mut self, v: XdesId) {
        self.set_u32(52, v.0 as u32);
        self.set_u16(56, (v.0 >> 32) as u16);
    }
    pub fn set_ghost_count(&mut self, v: u16) {
        self.set_u16(58, v);
    }
    fn set_slot_count(&mut self, v: u16) {
        self.set_u16(22, v);
    }
    fn set_free_bytes(&mut self, v: usize) {
        self.set_u16(28, v as u16);
    }
    fn set_free_data(&mut self, v: usize) {
        debug_assert!(
            (HEADER_BYTES..=PAGE_BYTES).contains(&v),
            "format/3: records end outside the page: {v}"
        );
        self.set_u16(30, v as u16);
    }

    fn set_slot(&mut self, slot: u16, offset: u16) {
        debug_assert!(
            offset == 0 || usize::from(offset) >= HEADER_BYTES,
            "format/3: a slot leads into the header"
        );
        debug_assert!(
            usize::from(offset) < PAGE_BYTES - 2 * usize::from(slot),
            "format/3: a slot leads into the slot array"
        );
        let at = PAGE_BYTES - 2 * (usize::from(slot) + 1);
        self.set_u16(at, offset);
    }

    /// Puts `record` at `slot`, moving this slot and the later ones up by one (`slot` may be the slot count).
    pub fn insert_record(&mut self, slot: u16, record: &[u8]) -> FormatResult<()> {
        let count = self.as_ref().slot_count();
        if slot > count {
            return Err(FormatError::NoSlot(slot));
        }
        if 2 * usize::from(count) > BODY_BYTES {
            return Err(FormatError::Corrupt("slot count"));
        }
        if !self.as_ref().fits(record.len(), true) {
            return Err(FormatError::NoSpace);
        }
        let offset = self.place(record, usize::from(count) + 1)?;
        // Slots slot..count move down by two bytes in memory.
        let low = PAGE_BYTES - 2 * usize::from(count);
        let high = PAGE_BYTES - 2 * usize::from(slot);
        self.b.copy_within(low..high, low - 2);
        self.set_slot(slot, offset);
        self.set_slot_count(count + 1);
        let free = usize::from(self.as_ref().free_bytes());
        debug_assert!(
            free >= record.len() + 2,
            "format/3: a record takes more than is free"
        );
        self.set_free_bytes(free - record.len() - 2);
        Ok(())
    }

    /// `insert_record` for neighbours: the first goes to `slot`, each of the others behind the one before.
    pub fn insert_records(&mut self, slot: u16, records: &[&[u8]]) -> FormatResult<()> {
        let count = self.as_ref().slot_count();
        if slot > count {
            return Err(FormatError::NoSlot(slot));
        }
        let bytes: usize = records.iter().map(|r| r.len()).sum();
        let slots = 2 * (usize::from(count) + records.len());
        if 2 * usize::from(count) > BODY_BYTES {
            return Err(FormatError::Corrupt("slot count"));
        }
        let free = usize::from(self.as_ref().free_bytes());
        let left = free.checked_sub(bytes + 2 * records.len());
        let left = left.ok_or(FormatError::NoSpace)?;
        if usize::from(self.as_ref().free_data()) + bytes + slots > PAGE_BYTES {
            // All at once: a record without a slot would not survive it.
            self.compact()?;
        }
        let mut at = usize::from(self.as_ref().free_data());
        if at < HEADER_BYTES || at + bytes + slots > PAGE_BYTES {
            return Err(FormatError::NoSpace);
        }
        let low = PAGE_BYTES - 2 * usize::from(count);
        let high = PAGE_BYTES - 2 * usize::from(slot);
        self.b.copy_within(low..high, low - 2 * records.len());
        for (slot, record) in (slot..).zip(records) {
            self.b[at..at + record.len()].copy_from_slice(record);
            self.set_slot(slot, at as u16);
            at += record.len();
        }
        debug_assert!(
            at + slots <= PAGE_BYTES,
            "format/3: records end behind the slot array"
        );
        self.set_free_data(at);
        self.set_slot_count(count + records.len() as u16);
        self.set_free_bytes(left);
        Ok(())
    }

    /// Puts `record` into `slot` without moving other slots: an empty slot, or the slot after the last (heaps).
    /// Empty slots are made up to `slot` when it is further out (redo and undo of heap rows).
    pub fn put_record(&mut self, slot: u16, record: &[u8]) -> FormatResult<()> {
        let mut count = self.as_ref().slot_count();
        if slot < count && self.as_ref().slot_offset(slot)? != 0 {
            return Err(FormatError::Corrupt("slot (it already has a record)"));
        }
        if record.len() > usize::from(self.as_ref().free_bytes()) {
            // A rollback may have dropped slots at the end that are there when its records are repeated.
            self.trim_slots();
            count = self.as_ref().slot_count();
        }
        let new_slots = (usize::from(slot) + 1).saturating_sub(usize::from(count));
        let need = record.len() + 2 * new_slots;
        if need > usize::from(self.as_ref().free_bytes()) {
            return Err(FormatError::NoSpace);
        }
        let offset = self.place(record, usize::from(count) + new_slots)?;
        if new_slots > 0 {
            for s in count..=slot {
                self.set_slot(s, 0);
            }
            self.set_slot_count(slot + 1);
        }
        self.set_slot(slot, offset);
        let free = usize::from(self.as_ref().free_bytes());
        debug_assert!(free >= need, "format/3: a record takes more than is free");
        self.set_free_bytes(free - need);
        debug_assert!(
            slot < self.as_ref().slot_count(),
            "heap/1: a record is put where there is no slot"
        );
        Ok(())
    }

    /// Puts records into new slots behind the last, their bytes behind the last record.
    pub fn append_records<'r>(
        &mut self,
        records: impl Iterator<Item = &'r [u8]>,
    ) -> FormatResult<()> {
        let p = self.as_ref();
        let mut slot = p.slot_count();
        let mut free = usize::from(p.free_bytes());
        let mut at = usize::from(p.free_data());
        if 2 * usize::from(slot) > BODY_BYTES || at < HEADER_BYTES {
            return Err(FormatError::Corrupt("slot count"));
        }
        for record in records {
            let left = free.checked_sub(record.len() + 2);
            free = left.ok_or(FormatError::NoSpace)?;
            let limit = PAGE_BYTES.saturating_sub(2 * (usize::from(slot) + 1));
            if at + record.len() > limit {
                self.set_free_data(at);
                self.set_slot_count(slot);
                self.compact()?;
                at = usize::from(self.as_ref().free_data());
                if at < HEADER_BYTES || at + record.len() > limit {
                    return Err(FormatError::NoSpace);
                }
            }
            self.b[at..at + record.len()].copy_from_slice(record);
            self.set_slot(slot, at as u16);
            at += record.len();
            slot += 1;
        }
        self.set_free_data(at);
        self.set_slot_count(slot);
        self.set_free_bytes(free);
        Ok(())
    }

    /// Makes the page what an image says: its bytes from the header to the end of the last record, and its slots.
    pub fn restore_image(&mut self, used: &[u8], slots: &[u8]) -> FormatResult<()> {
        let sizes = used.len() >= HEADER_BYTES && used.len() + slots.len() <= PAGE_BYTES;
        if !sizes || !slots.len().is_multiple_of(2) {
            return Err(FormatError::Corrupt("page image"));
        }
        self.b[..used.len()].copy_from_slice(used);
        self.b[used.len()..PAGE_BYTES - slots.len()].fill(0);
        self.b[PAGE_BYTES - slots.len()..].copy_from_slice(slots);
        match usize::from(self.as_ref().slot_count()) * 2 == slots.len() {
            true => Ok(()),
            false => Err(FormatError::Corrupt("page image")),
        }
    }

    /// Copies `record` behind the last record, compacting first when the hole there is too small.
    fn place(&mut self, record: &[u8], slots_after: usize) -> FormatResult<u16> {
        let limit = PAGE_BYTES
            .checked_sub(2 * slots_after)
            .ok_or(FormatError::NoSpace)?;
        let mut at = usize::from(self.as_ref().free_data());
        if at + record.len() > limit {
            self.compact()?;
            at = usize::from(self.as_ref().free_data());
        }
        if at < HEADER_BYTES || at + record.len() > limit {
            return Err(FormatError::NoSpace);
        }
        self.b[at..at + record.len()].copy_from_slice(record);
        self.set_free_data(at + record.len());
        Ok(at as u16)
    }

    /// Removes the record and the slot; later slots move down by one (B-trees).
    pub fn delete_record(&mut self, slot: u16) -> FormatResult<()> {
        let count = self.as_ref().slot_count();
        self.drop_bytes(slot)?;
        let low = PAGE_BYTES
            .checked_sub(2 * usize::from(count))
            .filter(|low| *low >= HEADER_BYTES)
            .ok_or(FormatError::Corrupt("slot count"))?;
        let high = PAGE_BYTES - 2 * (usize::from(slot) + 1);
        self.b.copy_within(low..high, low + 2);
        self.b[low..low + 2].fill(0);
        self.set_slot_count(count - 1);
        let free = usize::from(self.as_ref().free_bytes());
        self.set_free_bytes((free + 2).min(BODY_BYTES));
        Ok(())
    }

    /// `delete_record` for neighbours.
    pub fn delete_records(&mut self, slots: std::ops::Range<u16>) -> FormatResult<()> {
        let count = self.as_ref().slot_count();
        let gone = 2 * slots.len();
        if slots.end > count {
            return Err(FormatError::NoSlot(slots.end));
        }
        for slot in slots.clone().rev() {
            self.drop_bytes(slot)?;
        }
        let low = PAGE_BYTES
            .checked_sub(2 * usize::from(count))
            .filter(|low| *low >= HEADER_BYTES)
            .ok_or(FormatError::Corrupt("slot count"))?;
        let high = PAGE_BYTES - 2 * usize::from(slots.end);
        self.b.copy_within(low..high, low + gone);
        self.b[low..low + gone].fill(0);
        self.set_slot_count(count - slots.len() as u16);
        let free = usize::from(self.as_ref().free_bytes());
        self.set_free_bytes((free + gone).min(BODY_BYTES));
        Ok(())
    }

    /// Removes the record and keeps the slot, empty (heaps: row ids of others stay).
    pub fn clear_slot(&mut self, slot: u16) -> FormatResult<()> {
        self.drop_bytes(slot)?;
        self.set_slot(slot, 0);
        Ok(())
    }

    /// Gives a record's bytes back; the slot still points there.
    fn drop_bytes(&mut self, slot: u16) -> FormatResult<()> {
        let p = self.as_ref();
        let offset = usize::from(p.slot_offset(slot)?);
        let len = match p.record(slot)? {
            Some(r) => r.len(),
            None => return Ok(()),
        };
        let free = usize::from(p.free_bytes()) + len;
        let free_data = usize::from(p.free_data());
        self.set_free_bytes(free.min(BODY_BYTES));
        if offset + len == free_data {
            self.set_free_data(offset);
        }
        Ok(())
    }

    /// Replaces the record of `slot`, in place when it does not grow.
    pub fn replace_record(&mut self, slot: u16, record: &[u8]) -> FormatResult<()> {
        let p = self.as_ref();
        let offset = usize::from(p.slot_offset(slot)?);
        let old = p.expect_record(slot)?.len();
        let free = usize::from(p.free_bytes());
        let count = usize::from(p.slot_count());
        if record.len() > old + free {
            return Err(FormatError::NoSpace);
        }
        if record.len() <= old {
            self.b[offset..offset + record.len()].copy_from_slice(record);
            if offset + old == usize::from(self.as_ref().free_data()) {
                self.set_free_data(offset + record.len());
            }
            self.set_free_bytes(free + old - record.len());
            return Ok(());
        }
        self.clear_slot(slot)?;
        let at = self.place(record, count)?;
        self.set_slot(slot, at);
        self.set_free_bytes(free + old - record.len());
        Ok(())
    }

    /// The bytes of a record, to change in place without changing its length.
    pub fn record_mut(&mut self, slot: u16) -> FormatResult<&mut [u8]> {
        let p = self.as_ref();
        let offset = usize::from(p.slot_offset(slot)?);
        let len = p.expect_record(slot)?.len();
        Ok(&mut self.b[offset..offset + len])
    }

    /// Closes the holes: records move together from 96 up, in slot order.
    pub fn compact(&mut self) -> FormatResult<()> {
        let p = self.as_ref();
        let count = p.slot_count();
        if 2 * usize::from(count) > BODY_BYTES {
            return Err(FormatError::Corrupt("slot count"));
        }
        let mut body = Vec::with_capacity(BODY_BYTES);
        let mut offsets = Vec::with_capacity(usize::from(count));
        for s in 0..count {
            match p.record(s)? {
                Some(r) => {
                    offsets.push((HEADER_BYTES + body.len()) as u16);
                    body.extend_from_slice(r.bytes());
                }
                None => offsets.push(0),
            }
        }
        let slots = 2 * usize::from(count);
        if body.len() + slots > BODY_BYTES {
            return Err(FormatError::Corrupt("records (they overlap)"));
        }
        let end = HEADER_BYTES + body.len();
        self.b[HEADER_BYTES..end].copy_from_slice(&body);
        self.b[end..PAGE_BYTES - slots].fill(0);
        for (s, offset) in offsets.iter().enumerate() {
            self.set_slot(s as u16, *offset);
        }
        self.set_free_data(end);
        self.set_free_bytes(BODY_BYTES - body.len() - slots);
        debug_assert!(
            self.as_ref().check().is_ok(),
            "format/2: a page that was compacted contradicts itself"
        );
        Ok(())
    }

    /// Drops empty slots at the end of the slot array (a heap page whose last rows are gone).
    pub fn trim_slots(&mut self) {
        let mut count = self.as_ref().slot_count();
        let mut free = usize::from(self.as_ref().free_bytes());
        while count > 0 && self.as_ref().slot_offset(count - 1) == Ok(0) {
            count -= 1;
            free += 2;
            self.set_slot_count(count);
        }
        self.set_free_bytes(free.min(BODY_BYTES));
    }
}

#[cfg(test)]
mod tests;
