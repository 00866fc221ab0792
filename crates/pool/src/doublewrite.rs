//! The double-write file: torn pages are repaired from it, never guessed at.
//!
//! A batch of pages goes to this file first (durably), then to its places, which are then synced. After a crash every
//! page of the last whole batch is written to its place again, whatever stands there.
//!
//! Invariants, for which that is right
//! 1. At most one batch is unfinished, the last, and it has a page once.
//!    [assert: doublewrite/1; test: torn_pages_come_back_from_the_double_write_file]
//! 2. Pages are only ever written through here, so a page of the last batch is at least as new as the one in its place.
//!    [test: a_torn_page_whose_checksum_fits_is_repaired_too; test: every_crash_point_of_small_workloads]
//! 3. A batch torn while it was written here has not begun in its places, and the one before, in the other half of the
//!    file, is still the last.
//!    [assert: doublewrite/3; test: no_turned_bit_of_the_double_write_file_is_believed]
//!
//! A page whose place could not be written, or whose sync failed, is torn for all we know, and goes on being dirty. Its
//! copy is written again with every batch until a newer copy of it has reached its place.
//!
//! ```text
//! two halves; batch n is in half n % 2, and each half is:
//! page 0, 1  magic 16 | batch u64 | count u32 | crc32c of both pages with 0 here | entries of 32 from 64 on
//! entry      database guid 16 | file u16 | 0 u16 | page u32 | crc32c u32 | 0 u32
//! page 2..   the pages
//! ```
//! Entries of databases that are not open yet are kept and written again with every batch until their database comes.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crc32c::crc32c;
use duramen_base::planted::{self, Bug};
use duramen_base::{PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::page::{Verify, verify};
use duramen_os::sync::{Mutex, Rank, RwLock, RwLockReadGuard};
use duramen_os::{AlignedBuf, Disk, DiskFile, Env, IoError, OpenOptions};

use crate::data_file::DataFile;
use crate::error::io_error;
use crate::store::DbStore;

const MAGIC: [u8; 16] = *b"DURAMEN-DWRITE-2";
/// What a half looks like.
struct Shape {
    magic: [u8; 16],
    head_bytes: usize,
    /// A page that is torn is none for itself; else the batch is none.
    each_for_itself: bool,
}
const SHAPE: Shape = Shape {
    magic: MAGIC,
    head_bytes: HEAD_BYTES,
    each_for_itself: false,
};
/// The first version had one batch, in the place of the first half and shorter than that, so that a torn one had none before
/// it. Databases that were not open had their pages in front of it.
const FIRST_SHAPE: Shape = Shape {
    magic: *b"DURAMEN-DWRITE-1",
    head_bytes: PAGE_BYTES,
    each_for_itself: true,
};
const ENTRY_AT: usize = 64;
const ENTRY_BYTES: usize = 32;
const HEAD_BYTES: usize = 2 * PAGE_BYTES;
/// A batch of the buffer pool, and what databases that cannot be opened have left behind.
const MAX_ENTRIES: usize = (HEAD_BYTES - ENTRY_AT) / ENTRY_BYTES;

/// Where the half begins that batch `n` belongs to.
const fn half_of(n: u64) -> u64 {
    (n % 2) * data_at(MAX_ENTRIES) as u64
}

/// Where page `i` stands in a half.
const fn data_at(i: usize) -> usize {
    HEAD_BYTES + i * PAGE_BYTES
}

struct Entry {
    guid: [u8; 16],
    page: PageId,
    bytes: Box<PageBytes>,
}

struct Inner {
    batch: u64,
    pending: Vec<Entry>,
    /// The last pages of open databases whose places could not be written.
    failed: Vec<(Arc<DbStore>, Entry)>,
}

pub struct DoubleWrite {
    file: Arc<dyn DiskFile>,
    name: String,
    inner: Mutex<Inner>,
    /// Held alone by whoever writes pages into their places, shared by whoever must not find one half written. Nothing
    /// else is waited for while it is held.
    places: RwLock<()>,
}

/// The version of a double-write file; `None` where there is none, or nothing in it.
pub fn doublewrite_version(disk: &dyn Disk, path: &Path) -> Option<u8> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = disk.open(path, &options).ok()?;
    let version = |half| {
        let mut head = [0; 16];
        file.read_at(&mut head, half_of(half)).ok()?;
        let (prefix, last) = head.split_at(15);
        let own = prefix == &MAGIC[..15];
        last[0].checked_sub(b'0').filter(|_| own)
    };
    version(0).max(version(1))
}

/// The version that is written.
pub const DOUBLEWRITE_VERSION: u8 = MAGIC[15] - b'0';

impl DoubleWrite {
    /// Opens or makes the file and reads the last batch.
    pub fn open(env: &Env, path: &Path) -> SqlResult<DoubleWrite> {
        let name = path.display().to_string();
        let fail = |e| io_error(&e, "open", PageId::NULL, &name);
        let options = OpenOptions {
            create: true,
            direct: true,
            ..OpenOptions::default()
        };
        let fresh = !env.disk.exists(path);
        let file = env.disk.open(path, &options).map_err(fail)?;
        let bytes = 2 * half_of(1);
        if file.len().map_err(fail)? < bytes {
            file.allocate(0, bytes).map_err(fail)?;
            file.sync().map_err(fail)?;
        }
        if fresh && let Some(dir) = path.parent() {
            env.disk.sync_dir(dir).map_err(fail)?;
        }
        let (batch, pending) = read_batch(&*file).map_err(fail)?;
        Ok(DoubleWrite {
            file,
            name,
            inner: Mutex::ranked(
                Rank::DoubleWrite,
                Inner {
                    batch,
                    pending,
                    failed: Vec::new(),
                },
            ),
            places: RwLock::ranked(Rank::Places, ()),
        })
    }

    /// As long as this lives no page is on its way into its place.
    pub fn at_rest(&self) -> RwLockReadGuard<'_, ()> {
        self.places.read()
    }

    /// Writes the pages of a batch into their places, while nobody reads who would mind.
    pub fn place(&self, batch: &Batch) -> SqlResult<()> {
        if batch.pages.is_empty() {
            return Ok(());
        }
        let _alone = self.places.write();
        batch.write_in_place()
    }

    /// Writes the pages of the last batch that belong to `store` to their places again. Before anything is read. The
    /// batch keeps them until `forget`: the database may have more files, which are found by what is repaired now.
    pub fn repair(&self, store: &DbStore) -> SqlResult<u32> {
        let inner = self.inner.lock();
        let mut repaired = 0;
        for e in inner.pending.iter().filter(|e| e.guid == store.guid) {
            if let Some(file) = store.file(e.page.file) {
                let have = file.handle.len().unwrap_or(0);
                // A file that was shorter at the crash has no such page in place.
                if (u64::from(e.page.page) + 1) * PAGE_BYTES as u64 <= have {
                    let trusted = planted::on(Bug::ChecksumTrusted);
                    if planted::on(Bug::TornStays) || trusted && looks_whole(&file, e.page.page) {
                        continue;
                    }
                    file.write_page(e.page.page, &e.bytes)?;
                    repaired += 1;
                }
            }
        }
        if repaired > 0 {
            for file in store.files.read().iter() {
                file.sync()?;
            }
        }
        Ok(repaired)
    }

    /// What the last batch has of a page of a database that is not open: what its place has, or what it shall have.
    pub fn kept(&self, guid: &[u8; 16], page: PageId) -> Option<Box<PageBytes>> {
        let inner = self.inner.lock();
        let mut pending = inner.pending.iter();
        let found = pending.find(|e| e.guid == *guid && e.page == page);
        found.map(|e| e.bytes.clone())
    }

    /// A database is repaired: its pages must not come back.
    pub fn forget(&self, guid: &[u8; 16]) {
        self.inner.lock().pending.retain(|e| e.guid != *guid);
    }

    /// A database is closed or gone. What could not be written of it waits for its next start; a database that is gone
    /// has no next start, and nobody has its GUID again.
    pub fn release(&self, guid: &[u8; 16]) {
        let mut inner = self.inner.lock();
        let failed = std::mem::take(&mut inner.failed);
        for (store, entry) in failed {
            if entry.guid == *guid {
                inner.pending.push(entry);
            } else {
                inner.failed.push((store, entry));
            }
        }
    }

    /// Writes pages here, then in place, then syncs. The caller has flushed the log; tempdb's pages are not for here.
    pub fn write_batch(&self, batch: &mut Batch) -> SqlResult<()> {
        if batch.pages.is_empty() {
            return Ok(());
        }
        let mut inner = self.inner.lock();
        // Before anything newer: no older copy of a page may reach its place behind a newer one.
        self.retry_failed(&mut inner, batch)?;
        let (number, newer) = (inner.batch + 1, batch.names());
        debug_assert!(
            newer.len() == batch.pages.len(),
            "doublewrite/1: a batch has a page twice, and one of them is older"
        );
        // Recovery reads the last batch alone: what only an earlier one has comes along, or is lost.
        let stays = |e: &Entry| !newer.contains(&(e.guid, e.page));
        let failed = inner.failed.iter().map(|(_, e)| e);
        let kept: Vec<&Entry> = inner
            .pending
            .iter()
            .chain(failed.filter(|e| stays(e)))
            .collect();
        if batch.pages.len() + kept.len() > MAX_ENTRIES {
            // Only databases that cannot be opened leave entries behind; their pages must not be given up silently.
            return Err(io_error(
                &IoError::NoSpace,
                "write",
                PageId::NULL,
                &self.name,
            ));
        }
        let image = batch.image(number, &kept);
        // When this fails the next attempt comes to the same half: the other one has the last batch.
        self.file
            .write_durable_at(image, half_of(number))
            .map_err(|e| io_error(&e, "write", PageId::NULL, &self.name))?;
        inner.batch = number;
        // Durable here, the newer copies stand for the older ones.
        inner.failed.retain(|(_, e)| stays(e));
        // Synced before this returns: the next batch makes recovery forget this one.
        let placed = self.place(batch).and_then(|()| batch.sync());
        if placed.is_err() {
            inner.failed.extend(batch.entries());
        }
        placed
    }

    /// Tries again to write what could not be written of the databases in `batch`. While that fails they get nothing
    /// else written, so that what has failed does not grow.
    fn retry_failed(&self, inner: &mut Inner, batch: &Batch) -> SqlResult<()> {
        if inner.failed.is_empty() {
            return Ok(());
        }
        let mut again = Batch::new(inner.failed.len());
        for (store, e) in &inner.failed {
            if batch.pages.iter().any(|(s, _)| s.guid == store.guid) {
                again.push(store, e.page, &e.bytes);
            }
        }
        if again.pages.is_empty() {
            return Ok(());
        }
        self.place(&again)?;
        again.sync()?;
        let written = again.names();
        inner
            .failed
            .retain(|(_, e)| !written.contains(&(e.guid, e.page)));
        Ok(())
    }
}

/// Pages on their way down, in the shape of the file: the head in front, then page after page. Neighbours in a data file
/// that are neighbours here go down in one write.
pub struct Batch {
    buf: AlignedBuf,
    pages: Vec<(Arc<DbStore>, PageId)>,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::new(0)
    }
}

impl Batch {
    /// Empties it; the memory stays.
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// Room for `n` pages; grows when more are put in.
    pub fn new(n: usize) -> Batch {
        let bytes = if n == 0 { 0 } else { data_at(n) };
        Batch {
            buf: AlignedBuf::zeroed(bytes),
            pages: Vec::with_capacity(n),
        }
    }

    fn room_for(&mut self, n: usize) {
        if self.buf.len() < data_at(n) {
            let mut larger = AlignedBuf::zeroed(data_at(n.next_multiple_of(32)));
            larger[..self.buf.len()].copy_from_slice(&self.buf);
            self.buf = larger;
        }
    }

    fn slot(&mut self, i: usize) -> &mut PageBytes {
        let (pages, _) = self.buf[data_at(i)..].as_chunks_mut::<PAGE_BYTES>();
        &mut pages[0]
    }

    /// Copies a page in; the copy is given back to be sealed.
    pub fn push(
        &mut self,
        store: &Arc<DbStore>,
        page: PageId,
        bytes: &PageBytes,
    ) -> &mut PageBytes {
        let i = self.pages.len();
        self.room_for(i + 1);
        self.pages.push((Arc::clone(store), page));
        let slot = self.slot(i);
        slot.copy_from_slice(bytes);
        slot
    }

    fn names(&self) -> BTreeSet<([u8; 16], PageId)> {
        self.pages.iter().map(|(s, p)| (s.guid, *p)).collect()
    }

    /// Copies of the pages with their names.
    fn entries(&self) -> Vec<(Arc<DbStore>, Entry)> {
        let (pages, _) = self.buf[HEAD_BYTES..].as_chunks::<PAGE_BYTES>();
        let copy = |(i, (store, page)): (usize, &(Arc<DbStore>, PageId))| {
            let entry = Entry {
                guid: store.guid,
                page: *page,
                bytes: Box::new(pages[i]),
            };
            (Arc::clone(store), entry)
        };
        self.pages.iter().enumerate().map(copy).collect()
    }

    /// A half of the double-write file: the pages of this batch, and `pending` behind them.
    fn image(&mut self, number: u64, pending: &[&Entry]) -> &[u8] {
        let count = self.pages.len() + pending.len();
        self.room_for(count);
        for (i, entry) in pending.iter().enumerate() {
            let at = self.pages.len() + i;
            self.slot(at).copy_from_slice(&entry.bytes[..]);
        }
        let own = self.pages.iter().map(|(s, p)| (s.guid, *p));
        let all: Vec<_> = own
            .chain(pending.iter().map(|e| (e.guid, e.page)))
            .collect();
        debug_assert!(
            count <= MAX_ENTRIES && data_at(count) as u64 <= half_of(1),
            "doublewrite/3: {count} pages are more than a half takes"
        );
        let (head, data) = self.buf.split_at_mut(HEAD_BYTES);
        head.fill(0);
        head[..16].copy_from_slice(&MAGIC);
        head[16..24].copy_from_slice(&number.to_le_bytes());
        head[24..28].copy_from_slice(&(count as u32).to_le_bytes());
        for (i, (guid, page)) in all.iter().enumerate() {
            let at = ENTRY_AT + i * ENTRY_BYTES;
            let bytes = &data[i * PAGE_BYTES..(i + 1) * PAGE_BYTES];
            head[at..at + 16].copy_from_slice(guid);
            head[at + 16..at + 18].copy_from_slice(&page.file.to_le_bytes());
            head[at + 20..at + 24].copy_from_slice(&page.page.to_le_bytes());
            head[at + 24..at + 28].copy_from_slice(&crc32c(bytes).to_le_bytes());
        }
        let crc = crc32c(head);
        head[28..32].copy_from_slice(&crc.to_le_bytes());
        &self.buf[..data_at(count)]
    }

    /// Writes every page to its place; not yet durable.
    fn write_in_place(&self) -> SqlResult<()> {
        let mut i = 0;
        while i < self.pages.len() {
            let (store, page) = &self.pages[i];
            let mut n = 1;
            while self.pages.get(i + n).is_some_and(|(s, p)| {
                s.id == store.id && p.file == page.file && p.page == page.page + n as u32
            }) {
                n += 1;
            }
            let file = store.expect_file(*page)?;
            file.write_pages(page.page, &self.buf[data_at(i)..data_at(i + n)])?;
            i += n;
        }
        Ok(())
    }

    fn sync(&self) -> SqlResult<()> {
        let mut touched: BTreeMap<(u16, u16), _> = BTreeMap::new();
        for (store, page) in &self.pages {
            let entry = touched.entry((store.id.0, page.file));
            if let Slot::Vacant(slot) = entry {
                slot.insert(store.expect_file(*page)?);
            }
        }
        touched.values().try_for_each(|file| file.sync())
    }
}

/// Whether the page in place has the right checksum: what the planted bug goes by.
fn looks_whole(file: &DataFile, page: u32) -> bool {
    let mut bytes = Box::new([0u8; PAGE_BYTES]);
    let at = u64::from(page) * PAGE_BYTES as u64;
    file.handle.read_at(&mut bytes[..], at).is_ok() && verify(&bytes) == Verify::Ok
}

/// The last batch that is whole.
fn read_batch(file: &dyn DiskFile) -> Result<(u64, Vec<Entry>), IoError> {
    let mut last = (0, Vec::new());
    for half in 0..2 {
        if let Some(found) = read_half(file, half_of(half), &SHAPE)?
            && found.0 > last.0
        {
            last = found;
        }
    }
    if last.0 == 0
        && let Some((batch, entries)) = read_half(file, 0, &FIRST_SHAPE)?
    {
        // The next one goes to the other half: until that is whole, this is the last.
        last = (batch.next_multiple_of(2), entries);
    }
    Ok(last)
}

/// The batch in one half; `None` when it is torn or there is none.
fn read_half(
    file: &dyn DiskFile,
    from: u64,
    shape: &Shape,
) -> Result<Option<(u64, Vec<Entry>)>, IoError> {
    let mut head = AlignedBuf::zeroed(shape.head_bytes);
    file.read_at(&mut head, from)?;
    let stored = u32::from_le_bytes([head[28], head[29], head[30], head[31]]);
    head[28..32].fill(0);
    if head[..16] != shape.magic || crc32c(&head) != stored {
        return Ok(None);
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let batch = u64::from(word(16)) | u64::from(word(20)) << 32;
    let most = (shape.head_bytes - ENTRY_AT) / ENTRY_BYTES;
    let count = (word(24) as usize).min(most);
    let mut entries = Vec::new();
    for i in 0..count {
        let at = ENTRY_AT + i * ENTRY_BYTES;
        let mut bytes = Box::new([0u8; PAGE_BYTES]);
        let place = shape.head_bytes + i * PAGE_BYTES;
        file.read_at(&mut bytes[..], from + place as u64)?;
        if crc32c(&bytes[..]) != word(at + 24) {
            match shape.each_for_itself {
                true => continue,
                false => return Ok(None),
            }
        }
        let mut guid = [0; 16];
        guid.copy_from_slice(&head[at..at + 16]);
        entries.push(Entry {
            guid,
            page: PageId::new(word(at + 16) as u16, word(at + 20)),
            bytes,
        });
    }
    Ok(Some((batch, entries)))
}
