//! A log file looked at from outside: no log is opened, nothing is written, nothing is recovered.
//!
//! What must hold in a sound file: (1) VLFs tile it from the header page to its end; (2) no two have one sequence
//! number; (3) the blocks of a VLF follow one another from behind its header, each with sound marks, lengths and
//! checksums, and its records parse; (4) in our own logs each block names the CRC32C of the one before, epochs never go
//! back, and every VLF but the newest is full.
//!
//! Where the blocks of the newest VLF stop, the log ends. A torn last block looks like damage to it, and no reader can
//! tell them apart; it is reported as [`LogReport::torn`], not as a finding. If a sound block behind that place belongs
//! to this use of the VLF and says that more was durable, it was damage. A log of several files is checked file by file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_base::Lsn;
use duramen_os::{AlignedBuf, Disk, DiskFile, IoError, OpenOptions};

use super::scan::ChunkReader;
use super::state::Vlf;
use crate::block::{self, OpenBlock, UNIT};
use crate::config::LogError;
use crate::record::{Lop, RecordView};
use crate::vlf::{HEADER_BYTES, STAMP, VlfHeader};

const UNIT64: u64 = UNIT as u64;

/// Something in a log file that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFinding {
    /// Byte offset in the file.
    pub offset: u64,
    /// The block, when there is one.
    pub at: Lsn,
    pub what: &'static str,
}

/// What [`verify_file`] saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogReport {
    pub vlfs: usize,
    /// VLFs that hold something.
    pub used_vlfs: usize,
    pub blocks: u64,
    pub records: u64,
    /// Whether its blocks are ours.
    pub own: bool,
    /// The last record.
    pub last: Lsn,
    /// Whether that is the end of a checkpoint, as after a clean shutdown.
    pub ends_with_checkpoint: bool,
    /// An incomplete block where the log ends, as a crash leaves it; byte offset in the file.
    pub torn: Option<u64>,
    /// Bytes behind the last VLF that a growth had allocated when it was cut short.
    pub unfinished_growth: u64,
    pub findings: Vec<LogFinding>,
}

/// Checks a log file. The error is for files that cannot be read at all.
pub fn verify_file(disk: &dyn Disk, path: &Path) -> Result<LogReport, LogError> {
    let fail = |cause| LogError::Io {
        path: PathBuf::from(path),
        cause,
    };
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = disk.open(path, &options).map_err(fail)?;
    let mut check = Check {
        bytes: file.len().map_err(fail)?,
        file,
        reader: ChunkReader::new(),
        report: LogReport::default(),
        chain: None,
    };
    check.run().map_err(fail)?;
    Ok(check.report)
}

struct Check {
    file: Arc<dyn DiskFile>,
    bytes: u64,
    reader: ChunkReader,
    report: LogReport,
    /// VLF sequence number, epoch and CRC32C of the last block read, when it is ours.
    chain: Option<(u32, u64, u32)>,
}

impl Check {
    fn run(&mut self) -> Result<(), IoError> {
        let vlfs = self.vlfs()?;
        self.report.vlfs = vlfs.len();
        let mut used: BTreeMap<u32, Vlf> = BTreeMap::new();
        for vlf in vlfs.into_iter().filter(|v| v.header.seq != 0) {
            let (seq, at) = (vlf.header.seq, vlf.header.offset);
            if used.insert(seq, vlf).is_some() {
                let what = "two VLFs have the same sequence number";
                self.finding(at, Lsn::new(seq, 0, 0), what);
            }
        }
        self.report.used_vlfs = used.len();
        let newest = used.keys().next_back().copied();
        for (seq, vlf) in &used {
            self.vlf(vlf, Some(*seq) == newest)?;
        }
        Ok(())
    }

    /// Walks the VLF headers.
    fn vlfs(&mut self) -> Result<Vec<Vlf>, IoError> {
        let mut out = Vec::new();
        let mut at = HEADER_BYTES;
        let mut buf = AlignedBuf::zeroed(HEADER_BYTES as usize);
        while at < self.bytes {
            let left = self.bytes - at;
            if left < HEADER_BYTES {
                self.finding(at, Lsn::NULL, "bytes behind the last VLF");
                break;
            }
            self.file.read_at(&mut buf, at)?;
            let Some(header) = VlfHeader::decode(&buf).filter(|h| h.offset == at) else {
                let blank =
                    buf[..UNIT].iter().all(|b| *b == buf[0]) && [0, STAMP].contains(&buf[0]);
                if blank && !out.is_empty() {
                    self.report.unfinished_growth = left;
                } else {
                    self.finding(at, Lsn::NULL, "a VLF header is unreadable");
                }
                break;
            };
            if header.size > left {
                if header.seq == 0 && !out.is_empty() {
                    self.report.unfinished_growth = left;
                } else {
                    self.finding(at, Lsn::NULL, "a VLF goes beyond the end of the file");
                }
                break;
            }
            at += header.size;
            out.push(Vlf {
                file: 0,
                header,
                active: false,
            });
        }
        if out.is_empty() && self.report.findings.is_empty() {
            self.finding(at, Lsn::NULL, "there are no VLFs");
        }
        Ok(out)
    }

    fn vlf(&mut self, vlf: &Vlf, newest: bool) -> Result<(), IoError> {
        let header = vlf.header;
        let mut offset = HEADER_BYTES.max(u64::from(header.first_block) * UNIT64);
        while offset < header.size {
            let Some(found) = self.reader.block(&self.file, vlf, offset, true)? else {
                return self.stopped(vlf, offset, newest);
            };
            self.block(&found, header.offset + offset);
            offset += u64::from(found.header.bytes);
        }
        Ok(())
    }

    fn block(&mut self, found: &OpenBlock, at: u64) {
        self.report.blocks += 1;
        self.report.own |= found.header.own.is_some();
        let seq = found.header.vlf;
        if let (Some(own), Some((last_seq, epoch, crc))) = (found.header.own, self.chain) {
            // Of VLFs that do not follow one another, the one between may be in another file.
            let follows = seq == last_seq || seq == last_seq + 1 && own.previous_crc == crc;
            let broken = seq == last_seq && own.previous_crc != crc;
            if broken {
                self.finding(
                    at,
                    found.lsn(1),
                    "the block does not continue the one before",
                );
            }
            if follows && own.epoch < epoch {
                self.finding(at, found.lsn(1), "the block is older than the one before");
            }
        }
        self.chain = found.header.own.map(|own| (seq, own.epoch, found.crc));
        for slot in 1..=found.header.records {
            let lsn = found.lsn(slot);
            match found.record(slot).and_then(RecordView::parse) {
                Some(record) => {
                    self.report.records += 1;
                    self.report.last = lsn;
                    self.report.ends_with_checkpoint = record.op() == Lop::END_CKPT;
                }
                None => self.finding(at, lsn, "a log record does not parse"),
            }
        }
    }

    /// No block continues the VLF at `offset`: the end of the log, or damage?
    fn stopped(&mut self, vlf: &Vlf, offset: u64, newest: bool) -> Result<(), IoError> {
        let header = &vlf.header;
        let at = header.offset + offset;
        let here = (header.seq, (offset / UNIT64) as u32);
        let lsn = Lsn::new(here.0, here.1, 1);
        let own = self.chain.is_some_and(|(seq, ..)| seq == header.seq) || self.report.own;
        if own && !newest {
            self.finding(
                at,
                lsn,
                "a log block is unreadable, and a later VLF is in use",
            );
            self.chain = None;
            return Ok(());
        }
        let epoch = match self.chain {
            Some((seq, epoch, _)) if seq == header.seq => epoch,
            _ => 0,
        };
        let mut behind = offset + UNIT64;
        while behind < header.size {
            if let Some(found) = self.reader.block(&self.file, vlf, behind, true)? {
                let missing = match found.header.own {
                    Some(own) => own.epoch >= epoch && own.durable > here,
                    None => true,
                };
                if missing {
                    self.finding(
                        at,
                        lsn,
                        "a log block is unreadable, and later ones are sound",
                    );
                    return Ok(());
                }
            }
            behind += UNIT64;
        }
        let mut first = [0; UNIT];
        self.file.read_at(&mut first, at)?;
        let claims = block::claimed_bytes(&first, header.parity()).is_some()
            && u32::from_le_bytes([first[12], first[13], first[14], first[15]]) == header.seq;
        if claims {
            self.report.torn = Some(at);
        }
        Ok(())
    }

    fn finding(&mut self, offset: u64, at: Lsn, what: &'static str) {
        self.report.findings.push(LogFinding { offset, at, what });
    }
}

#[cfg(test)]
mod tests;
