//! The disk's own limit: durable 4 KB writes one after the other into space that has been written before, past the page
//! cache, the way a log is written.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;
const FILE_BYTES: u64 = 16 << 20;

// Linux's numbers; `O_DIRECT` differs on some architectures.
const O_DSYNC: i32 = 0o10000;
pub const O_DIRECT: i32 = if cfg!(any(target_arch = "aarch64", target_arch = "arm")) {
    0o200_000
} else {
    0o40_000
};

/// Writes a second, counted over one second.
pub fn durable_writes(dir: &Path) -> Result<f64, String> {
    let path = dir.join("disk");
    let result = writes(&path).map_err(|e| format!("{}: {e}", path.display()));
    let _ = std::fs::remove_file(&path);
    result
}

/// Runs something between two looks at the disk, whose speed changes from minute to minute: what comes of it, and the
/// durable writes a second beside it.
pub fn with_disk_rate<T>(
    dir: &Path,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<(T, f64), String> {
    let before = durable_writes(dir)?;
    let done = work()?;
    Ok((done, f64::midpoint(before, durable_writes(dir)?)))
}

/// Megabytes free where `dir` is, as `df` tells.
pub fn free_mb(dir: &Path) -> Option<u64> {
    let output = std::process::Command::new("df")
        .args(["--output=avail", "-BM"])
        .arg(dir)
        .output();
    let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    text.lines()
        .nth(1)?
        .trim()
        .trim_end_matches('M')
        .parse()
        .ok()
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    match options.clone().custom_flags(O_DSYNC | O_DIRECT).open(path) {
        // A file system without O_DIRECT is measured through its cache.
        Err(_) => options.custom_flags(O_DSYNC).open(path),
        opened => opened,
    }
}

/// A block to write past the page cache.
pub struct Block {
    buffer: Vec<u8>,
    aligned: usize,
}

impl Block {
    pub fn new() -> Block {
        let buffer = vec![0x5A_u8; 2 * BLOCK];
        let aligned = buffer.as_ptr().align_offset(BLOCK);
        Block { buffer, aligned }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.aligned..self.aligned + BLOCK]
    }
}

/// Where the write after the one at `offset` goes.
pub fn next(offset: u64) -> u64 {
    (offset + BLOCK as u64) % FILE_BYTES
}

/// A file whose every byte has been written, open for durable writes.
pub fn prepare(path: &Path) -> std::io::Result<File> {
    std::fs::write(path, vec![0xC0; FILE_BYTES as usize])?;
    File::open(path)?.sync_all()?;
    open(path)
}

fn writes(path: &Path) -> std::io::Result<f64> {
    let file = prepare(path)?;
    let block = Block::new();
    let start = Instant::now();
    let (mut written, mut offset) = (0u32, 0);
    while start.elapsed() < Duration::from_secs(1) {
        file.write_all_at(block.bytes(), offset)?;
        written += 1;
        offset = next(offset);
    }
    Ok(f64::from(written) / start.elapsed().as_secs_f64())
}
