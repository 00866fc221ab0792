//! The double-write file: torn pages are repaired from it, never guessed at.
//!
//! A batch of pages goes to this file first (durably), then to its places, which are then synced. After a crash every
//! page of the last batch whose CRC32C is right is written to its place again, whatever stands there. Why that is
//! right: (1) at most one batch is unfinished, the last; (2) pages are only ever written through here, so a page of the
//! last batch is at least as new as the one in its place; (3) a batch torn while it was written here has not begun in
//! its places, and an entry is only believed with its CRC.
//!
//! ```text
//! page 0   magic 16 | batch u64 | count u32 | crc32c of this page with 0 here | entries of 32 from 64 on
//! entry    database guid 16 | file u16 | 0 u16 | page u32 | crc32c u32 | 0 u32
//! page 1.. the pages
//! ```
//! Entries of databases that are not open yet are kept and written again with every batch until their database comes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crc32c::crc32c;
use duramen_base::planted::{self, Bug};
use duramen_base::{PAGE_BYTES, PageId, SqlResult};
use duramen_os::sync::Mutex;
use duramen_os::{AlignedBuf, DiskFile, Env, OpenOptions};

use crate::error::io_error;
use crate::files::{DataFile, DbStore};
use crate::format::PageBytes;
use crate::format::page::{Verify, verify};

const MAGIC: [u8; 16] = *b"DURAMEN-DWRITE-1";
const ENTRY_AT: usize = 64;
const ENTRY_BYTES: usize = 32;
const MAX_ENTRIES: usize = (PAGE_BYTES - ENTRY_AT) / ENTRY_BYTES;

struct Entry {
    guid: [u8; 16],
    page: PageId,
    bytes: Box<PageBytes>,
}

struct Inner {
    batch: u64,
    pending: Vec<Entry>,
}

pub(crate) struct DoubleWrite {
    file: Arc<dyn DiskFile>,
    name: String,
    inner: Mutex<Inner>,
}

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
        let bytes = ((MAX_ENTRIES + 1) * PAGE_BYTES) as u64;
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
            inner: Mutex::new(Inner { batch, pending }),
        })
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
                    if planted::on(Bug::ChecksumTrusted) && looks_whole(&file, e.page.page) {
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

    /// A database is repaired, or gone: its pages must not come back.
    pub fn forget(&self, guid: &[u8; 16]) {
        self.inner.lock().pending.retain(|e| e.guid != *guid);
    }

    /// Writes pages here, then in place, then syncs. The caller has flushed the log; tempdb's pages are not for here.
    pub fn write_batch(&self, pages: &[(Arc<DbStore>, PageId, Box<PageBytes>)]) -> SqlResult<()> {
        let pages: Vec<_> = pages.iter().filter(|p| !p.0.temporary).collect();
        if pages.is_empty() {
            return Ok(());
        }
        let mut inner = self.inner.lock();
        let room = MAX_ENTRIES.saturating_sub(inner.pending.len()).max(1);
        for part in pages.chunks(room) {
            inner.batch += 1;
            self.write_here(&inner, part)?;
            let mut touched: BTreeMap<(u16, u16), _> = BTreeMap::new();
            for (store, page, bytes) in part {
                let file = store.expect_file(*page)?;
                file.write_page(page.page, bytes)?;
                touched.insert((store.id.0, page.file), file);
            }
            for file in touched.values() {
                file.sync()?;
            }
        }
        Ok(())
    }

    fn write_here(
        &self,
        inner: &Inner,
        pages: &[&(Arc<DbStore>, PageId, Box<PageBytes>)],
    ) -> SqlResult<()> {
        let pending = inner.pending.iter().map(|e| (&e.guid, e.page, &e.bytes));
        let fresh = pages.iter().map(|(s, p, b)| (&s.guid, *p, b));
        let all: Vec<_> = pending.chain(fresh).take(MAX_ENTRIES).collect();
        let mut buf = AlignedBuf::zeroed((all.len() + 1) * PAGE_BYTES);
        buf[..16].copy_from_slice(&MAGIC);
        buf[16..24].copy_from_slice(&inner.batch.to_le_bytes());
        buf[24..28].copy_from_slice(&(all.len() as u32).to_le_bytes());
        for (i, (guid, page, bytes)) in all.iter().enumerate() {
            let at = ENTRY_AT + i * ENTRY_BYTES;
            buf[at..at + 16].copy_from_slice(*guid);
            buf[at + 16..at + 18].copy_from_slice(&page.file.to_le_bytes());
            buf[at + 20..at + 24].copy_from_slice(&page.page.to_le_bytes());
            buf[at + 24..at + 28].copy_from_slice(&crc32c(&bytes[..]).to_le_bytes());
            let data = (i + 1) * PAGE_BYTES;
            buf[data..data + PAGE_BYTES].copy_from_slice(&bytes[..]);
        }
        let crc = crc32c(&buf[..PAGE_BYTES]);
        buf[28..32].copy_from_slice(&crc.to_le_bytes());
        self.file
            .write_durable_at(&buf, 0)
            .map_err(|e| io_error(&e, "write", PageId::NULL, &self.name))
    }
}

/// Whether the page in place has the right checksum: what the planted bug goes by.
fn looks_whole(file: &DataFile, page: u32) -> bool {
    let mut bytes = Box::new([0u8; PAGE_BYTES]);
    let at = u64::from(page) * PAGE_BYTES as u64;
    file.handle.read_at(&mut bytes[..], at).is_ok() && verify(&bytes) == Verify::Ok
}

fn read_batch(file: &dyn DiskFile) -> Result<(u64, Vec<Entry>), duramen_os::IoError> {
    let mut head = vec![0u8; PAGE_BYTES];
    file.read_at(&mut head, 0)?;
    let stored = u32::from_le_bytes([head[28], head[29], head[30], head[31]]);
    head[28..32].fill(0);
    if head[..16] != MAGIC || crc32c(&head) != stored {
        return Ok((0, Vec::new()));
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let batch = u64::from(word(16)) | u64::from(word(20)) << 32;
    let count = (word(24) as usize).min(MAX_ENTRIES);
    let mut entries = Vec::new();
    for i in 0..count {
        let at = ENTRY_AT + i * ENTRY_BYTES;
        let mut bytes = Box::new([0u8; PAGE_BYTES]);
        file.read_at(&mut bytes[..], ((i + 1) * PAGE_BYTES) as u64)?;
        if crc32c(&bytes[..]) != word(at + 24) {
            continue;
        }
        let mut guid = [0; 16];
        guid.copy_from_slice(&head[at..at + 16]);
        entries.push(Entry {
            guid,
            page: PageId::new(word(at + 16) as u16, word(at + 20)),
            bytes,
        });
    }
    Ok((batch, entries))
}
