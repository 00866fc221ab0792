//! Opening files, and knowing which ones are open.
//!
//! Every open file of the process is noted by device and inode, so that one that a user names is recognised whatever the
//! name. Nothing but plain files is ever opened: a pipe would hold its opener until somebody writes, and a device or
//! `/proc/self/mem` is no place for data.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::file::RealFile;
use crate::open_files::{Held, Hold, OpenFiles};
use crate::{DiskFile, IoError, OpenOptions};

/// Device and inode.
pub(super) type FileKey = (u64, u64);

static OPEN: LazyLock<Arc<OpenFiles<FileKey>>> = LazyLock::new(|| Arc::new(OpenFiles::new()));

/// File systems whose files are doors into the kernel, by the magic numbers of `statfs`: proc, sysfs, debugfs, tracefs,
/// cgroup, cgroup2, securityfs, devpts, bpf, configfs, efivarfs, pstore, selinuxfs, nsfs.
const KERNEL: [u64; 14] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x0027_e0eb,
    0x6367_7270,
    0x7363_6673,
    0x1cd1,
    0xcafe_4a11,
    0x6265_6570,
    0xde5e_81e4,
    0x6165_676c,
    0xf97c_ff8c,
    0x6e73_6673,
];

fn mode() -> Mode {
    Mode::from_raw_mode(0o640)
}

fn flags_of(options: &OpenOptions) -> OFlags {
    // A pipe or a terminal must not make its opener wait or become its master's.
    let always = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    always
        | match options.read_only {
            true => OFlags::RDONLY,
            false => OFlags::RDWR,
        }
}

fn making(options: &OpenOptions) -> OFlags {
    let mut flags = OFlags::empty();
    if options.create || options.create_new {
        flags |= OFlags::CREATE;
    }
    if options.create_new {
        flags |= OFlags::EXCL;
    }
    flags
}

fn again<T>(mut f: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match f() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// Which file a descriptor is, and how many names it has. [`IoError::Denied`] when it is no plain file.
fn plain_file(fd: &OwnedFd) -> Result<(FileKey, u64), IoError> {
    let stat = rustix::fs::fstat(fd).map_err(|e| IoError::from_errno(e, "fstat"))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(((stat.st_dev, stat.st_ino), u64::from(stat.st_nlink as u32))),
        _ => Err(IoError::Denied),
    }
}

/// The same file past the page cache. EINVAL is how file systems refuse; any other refusal still leaves a file that works.
fn direct(fd: &OwnedFd, options: &OpenOptions) -> Option<OwnedFd> {
    if !options.direct {
        return None;
    }
    // Not by its name: that may be another file's by now.
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = flags_of(options) | OFlags::DIRECT;
    again(|| rustix::fs::open(path.as_str(), flags, mode())).ok()
}

fn made(
    held: Held<FileKey>,
    fd: OwnedFd,
    options: &OpenOptions,
) -> Result<Arc<dyn DiskFile>, IoError> {
    let direct = direct(&fd, options);
    Ok(Arc::new(RealFile::new(held, fd, direct)))
}

pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, IoError> {
    let flags = flags_of(options) | making(options);
    let fd = again(|| rustix::fs::open(path, flags, mode()));
    let fd = fd.map_err(|e| IoError::from_errno(e, "open"))?;
    let (key, _) = plain_file(&fd)?;
    let hold = match options.read_only {
        true => Hold::Reading,
        false => Hold::Writing,
    };
    made(OPEN.enter(key, hold)?, fd, options)
}

/// Opens a file by a name without links: one that has come there meanwhile is refused. With `once` a file that has other
/// names too is refused, as those may be anywhere.
pub(super) fn open_alone(
    path: &Path,
    options: &OpenOptions,
    once: bool,
) -> Result<Arc<dyn DiskFile>, IoError> {
    let flags = flags_of(options);
    // First as it is: whether this call has made it decides whether it may be taken away again.
    let found = match options.create_new {
        true => Err(Errno::NOENT),
        false => without_links(path, flags),
    };
    let (fd, new) = match found {
        Err(Errno::NOENT) if options.create || options.create_new => (
            without_links(path, flags | OFlags::CREATE | OFlags::EXCL),
            true,
        ),
        found => (found, false),
    };
    let fd = fd.map_err(|e| IoError::from_errno(e, "open"))?;
    let checked = plain_file(&fd).and_then(|(key, names)| {
        let kernel =
            rustix::fs::fstatfs(&fd).map(|s| KERNEL.contains(&(s.f_type as u64 & 0xffff_ffff)));
        if kernel != Ok(false) || once && names > 1 {
            return Err(IoError::Denied);
        }
        OPEN.enter(key, Hold::Alone)
    });
    match checked {
        Ok(held) => made(held, fd, options),
        Err(e) => {
            if new {
                let _ = std::fs::remove_file(path);
            }
            Err(e)
        }
    }
}

/// Every part of the path is what it says; where the kernel has no such call, the last part is.
fn without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let made = match flags.contains(OFlags::CREATE) {
        true => mode(),
        false => Mode::empty(),
    };
    let whole = || {
        rustix::fs::openat2(
            rustix::fs::CWD,
            path,
            flags,
            made,
            ResolveFlags::NO_SYMLINKS,
        )
    };
    match again(whole) {
        // Also what sandboxes say that do not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
            again(|| rustix::fs::open(path, flags | OFlags::NOFOLLOW, made))
        }
        done => done,
    }
}

fn key_of(path: &Path) -> Option<FileKey> {
    let stat = rustix::fs::stat(path).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    key_of(a).is_some_and(|a| key_of(b) == Some(a))
}

pub(super) fn is_open(path: &Path) -> bool {
    key_of(path).is_some_and(|key| OPEN.is_open(key))
}
