//! A log file read from outside, of ours or of another program: its VLFs, blocks and records as they stand.
//!
//! For people who look: nothing is opened as a log, nothing is written, nothing decided about where the log ends or whether
//! it is whole (`verify` does that). Blocks of a VLF are walked from its beginning to where no sound block of its present
//! use stands.

use std::path::Path;
use std::sync::Arc;

use duramen_os::{Disk, DiskFile, OpenOptions};

use super::headers::Headers;
use super::scan::ChunkReader;
use super::state::Vlf;
use crate::block::{OpenBlock, UNIT};
use crate::config::LogError;
use crate::vlf::{HEADER_BYTES, VlfHeader};

/// The VLFs and blocks of one log file.
pub struct LogFileReader {
    path: std::path::PathBuf,
    file: Arc<dyn DiskFile>,
    reader: ChunkReader,
    vlfs: Vec<Vlf>,
    /// Bytes behind the last VLF header that is one.
    pub left_over: u64,
    /// VLFs that hold something, oldest first, from the one that is being read.
    order: Vec<usize>,
    at: (usize, u64),
}

impl std::fmt::Debug for LogFileReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogFileReader")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl LogFileReader {
    /// Reads the VLF headers.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<LogFileReader, LogError> {
        let fail = |cause| LogError::Io {
            path: path.to_path_buf(),
            cause,
        };
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let file = disk.open(path, &options).map_err(fail)?;
        let bytes = file.len().map_err(fail)?;
        let mut headers = Headers::new(&file, bytes);
        let mut vlfs = Vec::new();
        let mut at = HEADER_BYTES;
        while at + HEADER_BYTES <= bytes {
            let found = headers.at(at).map_err(fail)?;
            let Some(header) = found.filter(|h| h.size <= bytes - at) else {
                break;
            };
            at += header.size;
            vlfs.push(Vlf {
                file: 0,
                header,
                active: false,
            });
        }
        let mut order: Vec<usize> = (0..vlfs.len())
            .filter(|i| vlfs[*i].header.seq != 0)
            .collect();
        order.sort_by_key(|i| vlfs[*i].header.seq);
        Ok(LogFileReader {
            path: path.to_path_buf(),
            file,
            reader: ChunkReader::new(),
            vlfs,
            left_over: bytes.saturating_sub(at),
            order,
            at: (0, 0),
        })
    }

    /// In the order of the file.
    pub fn vlfs(&self) -> impl Iterator<Item = &VlfHeader> {
        self.vlfs.iter().map(|v| &v.header)
    }

    /// The next block, in log order: of the VLF with the lowest sequence number first. `None` behind the last.
    pub fn next_block(&mut self) -> Result<Option<OpenBlock>, LogError> {
        while let Some(&index) = self.order.get(self.at.0) {
            let vlf = &self.vlfs[index];
            let begin = HEADER_BYTES.max(u64::from(vlf.header.first_block) * UNIT as u64);
            let offset = self.at.1.max(begin);
            let found = self.reader.block(&self.file, vlf, offset, true);
            let found = found.map_err(|cause| LogError::Io {
                path: self.path.clone(),
                cause,
            })?;
            if let Some(block) = found {
                self.at.1 = offset + u64::from(block.header.bytes);
                return Ok(Some(block));
            }
            self.at = (self.at.0 + 1, 0);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    //! What a log has written is read back from outside, in order and whole.

    use super::*;
    use crate::config::{LogConfig, LogFileSpec};
    use crate::log::Log;
    use crate::record::{Lcx, Lop, RecordBuilder, RecordView};
    use duramen_base::{FileId, Lsn};
    use duramen_os::sim::SimDisk;

    #[test]
    fn blocks_come_in_log_order_with_their_records() {
        let env = SimDisk::new(7).env();
        let spec = LogFileSpec {
            name: "log".to_owned(),
            file_id: FileId(2),
            path: "/outside.ldf".into(),
            size: 1 << 20,
            max_size: None,
            growth: crate::vlf::Growth::None,
        };
        let config = LogConfig {
            first_seq: 30,
            ..LogConfig::default()
        };
        let log = Log::create(&env, config, &spec, &[0; 8192]).expect("a log");
        let mut expected = Vec::new();
        for n in 0..300u32 {
            let record =
                RecordBuilder::new(Lop::IDENT_NEWVAL, Lcx::NULL).finish(&[&n.to_le_bytes()]);
            let lsn = log.append(&record, 0).expect("room");
            expected.push((lsn, record));
            if n % 7 == 0 {
                log.flush(lsn).expect("durable");
            }
        }
        log.flush_all().expect("durable");
        let mut reader = LogFileReader::open(&*env.disk, &spec.path).expect("a log file");
        assert_eq!(reader.vlfs().count(), log.vlfs().len());
        assert_eq!(reader.left_over, 0);
        let mut found: Vec<(Lsn, Vec<u8>)> = Vec::new();
        while let Some(block) = reader.next_block().expect("readable") {
            for slot in 1..=block.header.records {
                let bytes = block
                    .record(slot)
                    .and_then(RecordView::parse)
                    .expect("a record");
                found.push((block.lsn(slot), bytes.bytes().to_vec()));
            }
        }
        assert_eq!(found, expected);
        log.shutdown().expect("closed");
    }
}
