//! A log laid out from a backup: VLFs where they were, blocks where they stood. Nothing here appends; once the log is
//! laid, [`Log::open`](super::Log::open) finds its end as after any crash.
//!
//! A VLF that a later backup brings goes to its old place when that is free, else to the end of its file: as long as a
//! database is being restored, everything from its first block on is kept. What is laid may be laid again: a restore that
//! was cut short is repeated.

use std::path::Path;
use std::sync::Arc;

use duramen_base::{FileId, Lsn};
use duramen_os::{AlignedBuf, DiskFile, Env, IoError, OpenOptions};

use super::copy::VlfSlot;
use super::headers::Headers;
use crate::block::{self, OpenBlock, SealInfo, UNIT};
use crate::config::{LogError, LogFileSpec};
use crate::vlf::{HEADER_BYTES, STAMP, VlfHeader};

const STAMP_BYTES: u64 = 1 << 20;

struct LaidFile {
    spec: LogFileSpec,
    file: Arc<dyn DiskFile>,
    vlfs: Vec<VlfHeader>,
}

/// The files of a log that is being laid.
pub struct LaidLog {
    files: Vec<LaidFile>,
}

impl std::fmt::Debug for LaidLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaidLog").finish_non_exhaustive()
    }
}

fn failed(path: &Path) -> impl Fn(IoError) -> LogError + '_ {
    move |cause| LogError::Io {
        path: path.to_path_buf(),
        cause,
    }
}

fn wanted() -> bool {
    !duramen_os::thread::is_given_up()
}

impl LaidLog {
    /// Makes the files, with their header pages and the VLFs that `slots` lists, none of which holds anything. Nothing is durable before [`LaidLog::sync`]. `BadRecord` when the VLFs do not tile their files.
    pub fn make(
        env: &Env,
        files: &[(LogFileSpec, [u8; 8192])],
        slots: &[VlfSlot],
    ) -> Result<LaidLog, LogError> {
        let mut laid = LaidLog { files: Vec::new() };
        for (spec, header_page) in files {
            let own = slots.iter().filter(|s| s.file_id == spec.file_id);
            let empty = |s: &VlfSlot| VlfHeader { seq: 0, ..s.header };
            let vlfs: Vec<VlfHeader> = own.map(empty).collect();
            let mut end = HEADER_BYTES;
            for v in &vlfs {
                if v.offset != end || v.size < 2 * HEADER_BYTES || !v.size.is_multiple_of(8192) {
                    return Err(LogError::BadRecord);
                }
                end = end.checked_add(v.size).ok_or(LogError::BadRecord)?;
            }
            if vlfs.is_empty() {
                return Err(LogError::BadRecord);
            }
            let fail = failed(&spec.path);
            let options = OpenOptions {
                create_new: true,
                direct: true,
                ..OpenOptions::default()
            };
            let file = env.disk.open(&spec.path, &options).map_err(&fail)?;
            file.allocate_while(0, end, &wanted).map_err(&fail)?;
            file.write_at(header_page, 0).map_err(&fail)?;
            for vlf in &vlfs {
                write_vlf(&*file, vlf).map_err(&fail)?;
            }
            laid.files.push(LaidFile {
                spec: spec.clone(),
                file,
                vlfs,
            });
        }
        Ok(laid)
    }

    /// Opens the files of a log that was laid before.
    pub fn open(env: &Env, specs: &[LogFileSpec]) -> Result<LaidLog, LogError> {
        let mut laid = LaidLog { files: Vec::new() };
        for spec in specs {
            let fail = failed(&spec.path);
            let options = OpenOptions {
                direct: true,
                ..OpenOptions::default()
            };
            let file = env.disk.open(&spec.path, &options).map_err(&fail)?;
            let bytes = file.len().map_err(&fail)?;
            let mut vlfs = Vec::new();
            let mut at = HEADER_BYTES;
            let mut headers = Headers::new(&file, bytes);
            while at + HEADER_BYTES <= bytes {
                let header = headers.at(at).map_err(&fail)?;
                // What follows is an addition that was cut short.
                let Some(vlf) = header.filter(|h| at + h.size <= bytes) else {
                    break;
                };
                at += vlf.size;
                vlfs.push(vlf);
            }
            laid.files.push(LaidFile {
                spec: spec.clone(),
                file,
                vlfs,
            });
        }
        Ok(laid)
    }

    /// Makes sure that there is a VLF with the sequence number of `slot`: where it was before, if nothing is there, else
    /// behind the others. `first_block` says where its blocks begin, when that is not its start.
    pub fn place(&mut self, slot: &VlfSlot, first_block: u32) -> Result<(), LogError> {
        let seq = slot.header.seq;
        if self
            .find(seq)
            .is_some_and(|(_, v)| v.size == slot.header.size)
        {
            return Ok(());
        }
        let of_file = |f: &LaidFile| f.spec.file_id == slot.file_id;
        let index = self.files.iter().position(of_file).unwrap_or(0);
        let f = self.files.get_mut(index).ok_or(LogError::BadRecord)?;
        let fail = failed(&f.spec.path);
        let mut header = VlfHeader {
            first_block,
            // What was laid here before and cut off again may have had any parity.
            mixed: 2,
            ..slot.header
        };
        let free = |v: &VlfHeader| v.seq == 0 && v.size == slot.header.size;
        let own = f
            .vlfs
            .iter()
            .position(|v| v.offset == slot.header.offset && free(v));
        match own.or_else(|| f.vlfs.iter().position(free)) {
            Some(i) => {
                header.offset = f.vlfs[i].offset;
                f.vlfs[i] = header;
                let mut buf = AlignedBuf::zeroed(HEADER_BYTES as usize);
                header.encode(&mut buf);
                f.file.write_at(&buf, header.offset).map_err(&fail)
            }
            None => {
                let end = f.vlfs.last().map_or(HEADER_BYTES, |v| v.offset + v.size);
                header.offset = end;
                f.file
                    .allocate_while(end, header.size, &wanted)
                    .map_err(&fail)?;
                f.vlfs.push(header);
                write_vlf(&*f.file, &header).map_err(&fail)
            }
        }
    }

    /// Writes blocks into the VLF of that sequence number.
    pub fn write(&self, seq: u32, first_block: u32, bytes: &[u8]) -> Result<(), LogError> {
        let (f, vlf) = self.find(seq).ok_or(LogError::BadRecord)?;
        let at = u64::from(first_block) * UNIT as u64;
        if at < HEADER_BYTES || at + bytes.len() as u64 > vlf.size {
            return Err(LogError::BadRecord);
        }
        f.file
            .write_at(bytes, vlf.offset + at)
            .map_err(failed(&f.spec.path))
    }

    /// Nothing stands behind the block of `end` any more. What is given up meanwhile may be laid, and cut, again.
    pub fn cut(&mut self, end: Lsn) -> Result<(), LogError> {
        for f in &mut self.files {
            let fail = failed(&f.spec.path);
            for v in &mut f.vlfs {
                let mut buf = AlignedBuf::zeroed(STAMP_BYTES as usize);
                if v.seq > end.vlf {
                    v.seq = 0;
                    v.encode(&mut buf);
                    let header = &buf[..HEADER_BYTES as usize];
                    f.file.write_at(header, v.offset).map_err(&fail)?;
                } else if v.seq == end.vlf {
                    buf.fill(STAMP);
                    let mut at = u64::from(end.block) * UNIT as u64;
                    while at < v.size {
                        super::open::go_on(true).map_err(&fail)?;
                        let n = (v.size - at).min(STAMP_BYTES);
                        f.file
                            .write_at(&buf[..n as usize], v.offset + at)
                            .map_err(&fail)?;
                        at += n;
                    }
                }
            }
        }
        Ok(())
    }

    /// The record of `stop` and everything behind it goes. Its block keeps the records before; where the log goes on is
    /// returned. `BadRecord` when there is no sound block.
    pub fn cut_before(&mut self, stop: Lsn) -> Result<Lsn, LogError> {
        let end = self.shorten(stop)?;
        self.cut(end)?;
        Ok(end)
    }

    fn shorten(&self, stop: Lsn) -> Result<Lsn, LogError> {
        let (f, vlf) = self.find(stop.vlf).ok_or(LogError::BadRecord)?;
        let fail = failed(&f.spec.path);
        let at = u64::from(stop.block) * UNIT as u64;
        if at < HEADER_BYTES || at >= vlf.size {
            return Err(LogError::BadRecord);
        }
        let mut raw = vec![0; (vlf.size - at).min(block::MAX_BYTES as u64) as usize];
        f.file.read_at(&mut raw, vlf.offset + at).map_err(&fail)?;
        let size = block::claimed_bytes(&raw, vlf.parity()).filter(|n| *n <= raw.len());
        let size = size.ok_or(LogError::BadRecord)?;
        let whole = block::open(&raw[..size], vlf.parity()).map_err(|_| LogError::BadRecord)?;
        let kept = stop.slot.saturating_sub(1).min(whole.header.records);
        let mut end = Lsn::new(stop.vlf, stop.block, 1);
        if kept > 0 {
            let bytes = shortened(&whole, kept, vlf.parity()).ok_or(LogError::BadRecord)?;
            f.file.write_at(&bytes, vlf.offset + at).map_err(&fail)?;
            end.block += (bytes.len() / UNIT) as u32;
        }
        Ok(end)
    }

    /// Everything that was written is durable when it returns.
    pub fn sync(&self, env: &Env) -> Result<(), LogError> {
        for f in &self.files {
            let fail = failed(&f.spec.path);
            f.file.sync().map_err(&fail)?;
            if let Some(dir) = f.spec.path.parent() {
                env.disk.sync_dir(dir).map_err(&fail)?;
            }
        }
        Ok(())
    }

    /// The size of each file in bytes.
    pub fn sizes(&self) -> Vec<(FileId, u64)> {
        let end = |f: &LaidFile| f.vlfs.last().map_or(HEADER_BYTES, |v| v.offset + v.size);
        self.files
            .iter()
            .map(|f| (f.spec.file_id, end(f)))
            .collect()
    }

    fn find(&self, seq: u32) -> Option<(&LaidFile, &VlfHeader)> {
        self.files.iter().find_map(|f| {
            let vlf = f.vlfs.iter().find(|v| v.seq == seq && seq != 0)?;
            Some((f, vlf))
        })
    }
}

/// The block with its first `kept` records, of which there are more than none.
fn shortened(whole: &OpenBlock, kept: u16, parity: u8) -> Option<Vec<u8>> {
    const LARGE_SECTOR: usize = 4096;
    let mut records = Vec::new();
    let mut offsets = Vec::new();
    for slot in 1..=kept {
        offsets.push((block::HEADER_BYTES + records.len()) as u16);
        records.extend_from_slice(whole.record(slot)?);
    }
    // Written for a device of large sectors, the log goes on at one.
    let large = usize::from(whole.header.bytes).is_multiple_of(LARGE_SECTOR);
    let sector = if large { LARGE_SECTOR } else { UNIT };
    let end = block::HEADER_BYTES + records.len();
    let mut data = vec![0; block::bytes_needed(end, offsets.len(), sector)];
    data.get_mut(block::HEADER_BYTES..end)?
        .copy_from_slice(&records);
    let info = SealInfo {
        parity,
        vlf: whole.header.vlf,
        number: whole.header.number,
        previous_bytes: whole.header.previous_bytes,
        own: whole.header.own?,
    };
    block::seal(&mut data, end, &offsets, &info);
    Some(data)
}

/// Writes the header of a VLF and stamps the rest, as long as somebody wants the log.
fn write_vlf(file: &dyn DiskFile, vlf: &VlfHeader) -> Result<(), IoError> {
    let mut buf = AlignedBuf::zeroed(STAMP_BYTES as usize);
    vlf.encode(&mut buf);
    buf[HEADER_BYTES as usize..].fill(STAMP);
    let mut at = 0;
    while at < vlf.size {
        super::open::go_on(true)?;
        let n = (vlf.size - at).min(STAMP_BYTES);
        file.write_at(&buf[..n as usize], vlf.offset + at)?;
        buf[..HEADER_BYTES as usize].fill(STAMP);
        at += n;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
