//! What the pool holds, for `sys.dm_os_buffer_descriptors` and for backups.

use std::sync::atomic::Ordering;

use duramen_base::{AllocUnitId, DbId, PageId};
use duramen_format::PageBytes;
use duramen_format::page::seal;

use super::{Pool, db_of, key_of, page_of, shard_of};

/// A page in memory, as its header tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferedPage {
    pub db: DbId,
    pub page: PageId,
    pub page_type: u8,
    pub level: u8,
    pub unit: AllocUnitId,
    pub rows: u16,
    pub free_bytes: u16,
    /// Changed since it was read or written.
    pub dirty: bool,
}

/// Makes of a page's copy what a write would put on the disk: what nobody has formatted stays zeros.
pub(super) fn seal_copy(copy: &mut PageBytes) {
    if copy.iter().any(|b| *b != 0) {
        seal(copy);
    }
}

impl Pool {
    /// Copies a page as a write of it would put it on the disk, if it is in memory and nobody changes it just now. Its log
    /// may not be durable yet. It counts as no use of the page: a backup must not keep anything in memory.
    pub fn copy_resident(&self, db: DbId, page: PageId, into: &mut PageBytes) -> bool {
        let key = key_of(db, page);
        let data = {
            let shard = self.shards[shard_of(key)].lock();
            let Some(&i) = shard.frames.get(&key) else {
                return false;
            };
            self.frame(i).data.try_read()
        };
        match data
            .as_ref()
            .and_then(|d| d.page.as_deref().filter(|_| d.valid))
        {
            Some(bytes) => into.copy_from_slice(bytes),
            None => return false,
        }
        drop(data);
        seal_copy(into);
        true
    }

    /// The pages in memory, one after the other: each as it was when it was looked at. Pages that somebody changes at
    /// that moment, or that are being read, are left out: nobody is waited for.
    pub fn contents(&self) -> Vec<BufferedPage> {
        let mut out = Vec::new();
        for shard in &self.shards {
            let held: Vec<(u64, u32)> = {
                let shard = shard.lock();
                shard.frames.iter().map(|(k, i)| (*k, *i)).collect()
            };
            for (key, index) in held {
                let frame = self.frame(index);
                let Some(data) = frame.data.try_read() else {
                    continue;
                };
                if frame.key.load(Ordering::SeqCst) != key || !data.valid {
                    continue;
                }
                let Some(bytes) = data.page.as_deref() else {
                    continue;
                };
                let page = duramen_format::page::PageRef::new(bytes);
                out.push(BufferedPage {
                    db: DbId(db_of(key)),
                    page: page_of(key),
                    page_type: page.page_type(),
                    level: page.level(),
                    unit: page.alloc_unit(),
                    rows: page.slot_count(),
                    free_bytes: page.free_bytes(),
                    dirty: frame.dirty.load(Ordering::Relaxed),
                });
            }
        }
        out.sort_unstable_by_key(|b| (b.db.0, b.page.file, b.page.page));
        out
    }
}
