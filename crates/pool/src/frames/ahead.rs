//! Pages brought in before they are asked for: neighbours come with one read.
//!
//! A read of 8 KB takes most of what a read of 128 KB takes. Whoever knows what he will need (redo: the log says it)
//! names it here. It is advice: a page that cannot be read, or fails its check, is left to whoever asks for it, who gets
//! the error.

use duramen_base::{PAGE_BYTES, PageId, SqlResult};
use duramen_observe::events::{PhysicalPageRead, emit};
use duramen_observe::{Counter, count, wait_on};
use duramen_os::AlignedBuf;

use super::{Pool, io_latch, key_of, resource_of, shard_of};
use crate::store::DbStore;

/// Most pages of one read.
pub const RUN: usize = 16;

/// Where a run is read before its pages go to their frames: made when the first one is.
#[derive(Default)]
pub struct ReadRoom(Option<AlignedBuf>);

impl ReadRoom {
    fn of(&mut self, pages: usize) -> &mut [u8] {
        let all = self
            .0
            .get_or_insert_with(|| AlignedBuf::zeroed(RUN * PAGE_BYTES));
        &mut all[..pages * PAGE_BYTES]
    }
}

impl Pool {
    /// How many frames each of `users` may hold at a time and leave enough for everybody.
    pub fn share_of(&self, users: usize) -> usize {
        self.replacer.allowed() as usize / (16 * users.max(1))
    }

    /// Brings in those of `pages` (in order, none twice) that are in no frame, at most `run` neighbours at a time, which
    /// may not be more than [`Pool::share_of`] says. No latch of a page is held. How many came.
    pub fn bring(&self, store: &DbStore, pages: &[PageId], run: usize, room: &mut ReadRoom) -> u64 {
        let run = run.clamp(1, RUN);
        let missing = |p: &PageId| {
            let key = key_of(store.id, *p);
            !self.shards[shard_of(key)].lock().frames.contains_key(&key)
        };
        let wanted: Vec<PageId> = pages.iter().copied().filter(missing).collect();
        let (mut at, mut brought) = (0, 0);
        while at < wanted.len() {
            let first = wanted[at];
            let next = |(i, p): &(usize, &PageId)| {
                p.file == first.file && p.page == first.page.saturating_add(*i as u32)
            };
            let rest = wanted[at..].iter().take(run).enumerate();
            let n = rest.take_while(next).count();
            // An error is met by whoever asks for the page.
            brought += self.bring_run(store, first, n, room).unwrap_or(0);
            at += n;
        }
        brought
    }

    fn bring_run(
        &self,
        store: &DbStore,
        first: PageId,
        n: usize,
        room: &mut ReadRoom,
    ) -> SqlResult<u64> {
        let n = n.min(store.pages_from(first)?);
        let id = |i: usize| PageId::new(first.file, first.page + i as u32);
        let mut claimed = Vec::with_capacity(n);
        for i in 0..n {
            let key = key_of(store.id, id(i));
            match self.claim(key, true) {
                Ok(Some((index, guard))) => claimed.push((i, key, index, guard)),
                Ok(None) => {}
                Err(e) => {
                    for (_, key, index, guard) in claimed {
                        self.unload(index, key, guard);
                    }
                    return Err(e);
                }
            }
        }
        if claimed.is_empty() {
            return Ok(0);
        }
        let mut brought = 0;
        let bytes = room.of(n);
        let read = {
            let _wait = wait_on(io_latch(true), resource_of(key_of(store.id, first)), None);
            count(Counter::PageReads, claimed.len() as u64);
            store.read_raw(first, bytes)
        };
        let (pages, _) = bytes.as_chunks::<PAGE_BYTES>();
        for (i, key, index, mut guard) in claimed {
            let sound = read.is_ok() && store.check_read(id(i), &pages[i]).is_ok();
            self.frame(index)
                .loading
                .store(false, std::sync::atomic::Ordering::Relaxed);
            match guard.page.as_deref_mut() {
                Some(page) if sound => {
                    emit(|| PhysicalPageRead::of(store.id, id(i)));
                    page.copy_from_slice(&pages[i]);
                    guard.valid = true;
                    brought += 1;
                }
                _ => self.unload(index, key, guard),
            }
        }
        read.map(|()| brought)
    }
}
