//! One open file of the machine.

use std::cell::RefCell;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::{FallocateFlags, FlockOperation, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags};

use super::open::FileKey;
use crate::open_files::Held;
use crate::{AlignedBuf, DiskFile, IoError};

#[derive(Debug)]
pub(super) struct RealFile {
    /// Given back before the descriptors are closed.
    _held: Held<FileKey>,
    buffered: OwnedFd,
    direct: Option<OwnedFd>,
    /// Offsets and lengths of direct I/O are multiples of this, and so are its addresses (a power of two).
    align: usize,
    /// pwritev2 with RWF_DSYNC works here, as far as we know.
    dsync: AtomicBool,
}

thread_local! {
    /// The copy for buffers at unaligned addresses; grows to the largest write of the thread, up to `KEEP_BYTES`.
    static BOUNCE: RefCell<Option<AlignedBuf>> = const { RefCell::new(None) };
}

const KEEP_BYTES: usize = 1 << 20;

impl RealFile {
    pub(super) fn new(held: Held<FileKey>, buffered: OwnedFd, direct: Option<OwnedFd>) -> RealFile {
        let align = direct.as_ref().map_or(1, direct_alignment);
        RealFile {
            _held: held,
            buffered,
            direct,
            align,
            dsync: AtomicBool::new(true),
        }
    }

    fn whole_sectors(&self, len: usize, offset: u64) -> bool {
        len.is_multiple_of(self.align) && offset.is_multiple_of(self.align as u64)
    }

    fn write(&self, parts: &[&[u8]], offset: u64, durable: bool) -> Result<(), IoError> {
        let len: usize = parts.iter().map(|p| p.len()).sum();
        let aligned = |p: &&[u8]| p.as_ptr().addr().is_multiple_of(self.align);
        let whole = |p: &&[u8]| p.len().is_multiple_of(self.align);
        match &self.direct {
            Some(fd) if self.whole_sectors(len, offset) => {
                if parts.iter().all(|p| aligned(p) && whole(p)) {
                    return self.write_parts(fd, parts, offset, durable);
                }
                with_bounce(len, |copy| {
                    let mut at = 0;
                    for part in parts {
                        copy[at..at + part.len()].copy_from_slice(part);
                        at += part.len();
                    }
                    self.write_parts(fd, &[copy], offset, durable)
                })
            }
            _ => self.write_parts(&self.buffered, parts, offset, durable),
        }
    }

    fn write_parts(
        &self,
        fd: &OwnedFd,
        parts: &[&[u8]],
        offset: u64,
        durable: bool,
    ) -> Result<(), IoError> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|p| IoSlice::new(p)).collect();
        let mut rest = &mut slices[..];
        let mut at = offset;
        let mut must_sync = false;
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let dsync = durable && self.dsync.load(Relaxed);
            let flags = if dsync {
                ReadWriteFlags::DSYNC
            } else {
                ReadWriteFlags::empty()
            };
            must_sync |= durable && !dsync;
            // The kernel takes 1024 slices at most.
            let now = &rest[..rest.len().min(1024)];
            let written = if dsync {
                rustix::io::pwritev2(fd, now, at, flags)
            } else {
                rustix::io::pwritev(fd, now, at)
            };
            match written {
                Ok(0) => return Err(IoError::device("write")),
                Ok(n) => {
                    at += n as u64;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) if dsync => self.dsync.store(false, Relaxed),
                Err(e) => return Err(IoError::from_errno(e, "write")),
            }
        }
        if must_sync {
            self.sync()?;
        }
        Ok(())
    }

    fn read(&self, fd: &OwnedFd, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        let mut done = 0;
        while done < buf.len() {
            match rustix::io::pread(fd, &mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(IoError::Eof),
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(IoError::from_errno(e, "read")),
            }
        }
        Ok(())
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), IoError> {
        match &self.direct {
            Some(fd) if self.whole_sectors(buf.len(), offset) => {
                if buf.as_ptr().addr().is_multiple_of(self.align) {
                    return self.read(fd, buf, offset);
                }
                with_bounce(buf.len(), |copy| {
                    self.read(fd, copy, offset)?;
                    buf.copy_from_slice(copy);
                    Ok(())
                })
            }
            _ => self.read(&self.buffered, buf, offset),
        }
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.write(&[data], offset, false)
    }

    fn write_durable_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), IoError> {
        self.write(parts, offset, true)
    }

    fn sync(&self) -> Result<(), IoError> {
        // Not repeated on EINTR or anything else: after a failure the kernel may have dropped the pages.
        rustix::fs::fdatasync(&self.buffered).map_err(|e| IoError::from_errno(e, "fdatasync"))
    }

    fn len(&self) -> Result<u64, IoError> {
        let stat =
            rustix::fs::fstat(&self.buffered).map_err(|e| IoError::from_errno(e, "fstat"))?;
        Ok(stat.st_size as u64)
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        loop {
            match rustix::fs::ftruncate(&self.buffered, len) {
                Err(Errno::INTR) => {}
                Err(e) => return Err(IoError::from_errno(e, "ftruncate")),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), IoError> {
        if len == 0 {
            return Ok(());
        }
        loop {
            match rustix::fs::fallocate(&self.buffered, FallocateFlags::empty(), offset, len) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => break,
                Err(e) => return Err(IoError::from_errno(e, "fallocate")),
                Ok(()) => return Ok(()),
            }
        }
        // Without fallocate only new space can be reserved, by writing it.
        let zeros = AlignedBuf::zeroed(64 * 1024);
        let end = offset + len;
        let mut at = self.len()?.max(offset);
        while at < end {
            let n = (end - at).min(zeros.len() as u64) as usize;
            self.write_at(&zeros[..n], at)?;
            at += n as u64;
        }
        Ok(())
    }

    fn handle(&self) -> u64 {
        use std::os::fd::AsRawFd;
        let fd = self.direct.as_ref().unwrap_or(&self.buffered);
        u64::try_from(fd.as_raw_fd()).unwrap_or(0)
    }

    fn room(&self) -> Result<u64, IoError> {
        let s = rustix::fs::fstatvfs(&self.buffered);
        s.map(|s| super::dir::room(&s))
            .map_err(|e| IoError::from_errno(e, "fstatvfs"))
    }

    fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    fn try_lock(&self) -> Result<bool, IoError> {
        match rustix::fs::flock(&self.buffered, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(IoError::from_errno(e, "flock")),
        }
    }
}

fn direct_alignment(fd: &OwnedFd) -> usize {
    let asked = rustix::fs::statx(
        fd,
        c"",
        rustix::fs::AtFlags::EMPTY_PATH,
        StatxFlags::DIOALIGN,
    );
    match asked {
        Ok(s) if s.stx_dio_offset_align != 0 => {
            (s.stx_dio_offset_align.max(s.stx_dio_mem_align) as usize).next_power_of_two()
        }
        // A kernel before 6.1: every device takes whole 4096-byte sectors.
        _ => 4096,
    }
}

fn with_bounce<R>(len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
    let kept = BOUNCE.try_with(|b| b.borrow_mut().take()).ok().flatten();
    let mut buf = match kept {
        Some(buf) if buf.len() >= len => buf,
        _ => AlignedBuf::zeroed(len.max(64 * 1024)),
    };
    let result = f(&mut buf[..len]);
    if buf.len() <= KEEP_BYTES {
        // An error means the thread is ending.
        let _ = BOUNCE.try_with(|b| *b.borrow_mut() = Some(buf));
    }
    result
}
