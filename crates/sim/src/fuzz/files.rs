//! Seeds from whole files: pages and log blocks of a database that the engine has made and used, and of real files
//! where `DURAMEN_MATERIAL` names a folder that has them.

// Fixtures are real files.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use duramen_base::PAGE_BYTES;
use duramen_format::PageBytes;
use duramen_format::page::PageRef;
use duramen_os::Disk;
use duramen_wal::record::RecordView;
use duramen_wal::vlf::VlfHeader;
use duramen_wal::{claimed_bytes, open_block};

use crate::crash::image;

/// Pages kept of each type in each file.
const PAGES_OF_A_TYPE: usize = 4;
/// Blocks kept of each size, by the power of two below it.
const BLOCKS_OF_A_SIZE: usize = 6;
/// Records kept of each operation.
const RECORDS_OF_AN_OPERATION: usize = 4;

/// What the files gave.
#[derive(Default)]
pub struct Seeds {
    pub pages: Vec<Vec<u8>>,
    pub rows: Vec<Vec<u8>>,
    pub blocks: Vec<Vec<u8>>,
    pub records: Vec<Vec<u8>>,
}

/// Read once a process.
pub fn seeds() -> &'static Seeds {
    static SEEDS: OnceLock<Seeds> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let mut seeds = Seeds::default();
        for (path, bytes) in own_files().into_iter().chain(real_files()) {
            match path.extension().and_then(|e| e.to_str()) {
                Some("mdf" | "ndf") => seeds.add_pages(&bytes),
                Some("ldf") => seeds.add_blocks(&bytes),
                _ => {}
            }
        }
        seeds
    })
}

/// The files of the simulator's prepared disks, with sectors of 512 and of 4096 bytes.
fn own_files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    for sector in [512, 4096] {
        let disk = image::prepared().of(sector, 1);
        for path in disk.list(Path::new("/data")).unwrap_or_default() {
            let bytes = disk.durable_bytes(&path).unwrap_or_default();
            out.push((path, bytes));
        }
    }
    out
}

fn real_files() -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(material) = std::env::var("DURAMEN_MATERIAL") else {
        return Vec::new();
    };
    let below = ["", "real-files", "fixtures/real-files"];
    let dirs = below.iter().map(|below| Path::new(&material).join(below));
    let entries = dirs.filter_map(|dir| std::fs::read_dir(dir).ok()).flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    let read = |path: PathBuf| Some((path.clone(), std::fs::read(path).ok()?));
    paths.into_iter().filter_map(read).collect()
}

impl Seeds {
    fn add_pages(&mut self, file: &[u8]) {
        let mut kept: BTreeMap<u8, usize> = BTreeMap::new();
        for page in file.chunks_exact(PAGE_BYTES) {
            let Ok(bytes) = <&PageBytes>::try_from(page) else {
                continue;
            };
            // Byte 1 of a page is its type; 0 is a page nobody uses.
            let count = kept.entry(page[1]).or_default();
            if page[1] == 0 || *count >= PAGES_OF_A_TYPE {
                continue;
            }
            *count += 1;
            let p = PageRef::new(bytes);
            for slot in 0..p.slot_count().min(3) {
                if let Ok(Some(row)) = p.record(slot) {
                    self.rows.push(row.to_vec());
                }
            }
            self.pages.push(page.to_vec());
        }
    }

    fn add_blocks(&mut self, file: &[u8]) {
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        let mut operations: BTreeMap<u8, usize> = BTreeMap::new();
        let mut at = PAGE_BYTES;
        while let Some(vlf) = file.get(at..).and_then(VlfHeader::decode) {
            let end = (at + vlf.size as usize).min(file.len());
            let mut block = at + PAGE_BYTES;
            while vlf.seq != 0
                && block < end
                && let Some(size) = claimed_bytes(&file[block..end], vlf.parity())
                && let Some(bytes) = file.get(block..block + size)
            {
                if let Ok(open) = open_block(bytes, vlf.parity()) {
                    let count = sizes.entry(size.ilog2()).or_default();
                    if *count < BLOCKS_OF_A_SIZE {
                        *count += 1;
                        self.blocks.push(bytes.to_vec());
                    }
                    for slot in 1..=open.header.records {
                        let record = open.record(slot).unwrap_or_default();
                        let Some(view) = RecordView::parse(record) else {
                            continue;
                        };
                        let count = operations.entry(view.op().0).or_default();
                        if *count < RECORDS_OF_AN_OPERATION {
                            *count += 1;
                            self.records.push(record.to_vec());
                        }
                    }
                }
                block += size;
            }
            if vlf.size == 0 {
                break;
            }
            at += vlf.size as usize;
        }
    }
}
