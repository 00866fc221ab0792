//! Directories and the device below them.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::IoError;

/// Makes a directory and its missing ancestors, each made durable in its parent: a data directory that is gone after
/// a power loss would take durable files with it.
pub(super) fn create_all(dir: &Path) -> Result<(), IoError> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = dir.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_all(parent)?;
    }
    match std::fs::create_dir(dir) {
        Ok(()) => sync(parent.unwrap_or(Path::new("."))),
        // Somebody else made it meanwhile.
        Err(_) if dir.is_dir() => Ok(()),
        Err(e) => Err(IoError::from_std(&e, "mkdir")),
    }
}

/// The name without links; the last part need not be there, and is no link that leads nowhere.
pub(super) fn canonical(path: &Path) -> Result<PathBuf, IoError> {
    let err = |e| IoError::from_std(&e, "realpath");
    match std::fs::canonicalize(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        found => return found.map_err(err),
    }
    let Some(Component::Normal(name)) = path.components().next_back() else {
        return Err(IoError::NotFound);
    };
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let dir = std::fs::canonicalize(parent.unwrap_or(Path::new("."))).map_err(err)?;
    Ok(dir.join(name))
}

pub(super) fn sync(dir: &Path) -> Result<(), IoError> {
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(dir, flags, Mode::empty())
        .map_err(|e| IoError::from_errno(e, "open directory"))?;
    rustix::fs::fsync(&fd).map_err(|e| IoError::from_errno(e, "fsync directory"))
}

/// What a volume has beyond what is kept back. Its size is what is used and what may be used: what the file system keeps for
/// itself or for others can be most of it.
pub(super) fn room(s: &rustix::fs::StatVfs) -> u64 {
    let bytes = |blocks: u64| blocks.saturating_mul(s.f_frsize);
    let used = s.f_blocks.saturating_sub(s.f_bfree);
    crate::sparing::room_of(
        bytes(s.f_bavail),
        bytes(used.saturating_add(s.f_bavail)),
        crate::sparing::kept_percent(),
    )
}

/// What the kernel says about the block device that holds `path`; a partition asks its disk.
pub(super) fn physical_sector(path: &Path) -> Option<u32> {
    let stat = rustix::fs::stat(path).ok()?;
    let (major, minor) = (
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
    );
    let device = format!("/sys/dev/block/{major}:{minor}");
    ["queue", "../queue"].iter().find_map(|queue| {
        let text = std::fs::read_to_string(format!("{device}/{queue}/physical_block_size")).ok()?;
        text.trim().parse().ok().filter(|n| matches!(n, 512 | 4096))
    })
}
