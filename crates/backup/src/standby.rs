//! RESTORE WITH STANDBY: a database that is being restored, opened for reading.
//!
//! Redo and undo of what has been restored so far happen in an overlay: the files themselves stay as the restore has laid
//! them, so the next log backup goes on from them as if nobody had looked. The overlay's blocks are the undo file. They are
//! never needed again: a start makes them anew, and the next RESTORE throws them away.
//!
//! Behind the restore's state, in the second half kilobyte of the same page, stands the undo file's name as long as the
//! database is a standby; it is durable before the database is opened.
//!
//! An undo file that power has left behind stands in the way of the next standby of that database, which nobody but the
//! file itself may remember. So its first page says whose it is, and only its own database makes it over.
//!
//! ```text
//! page 0   magic 16 | server 16 | length of the name u16 | database name, lower case, UTF-8 | 0 ... | crc32c u32
//! page 1.. blocks of the overlay
//! ```

use std::path::Path;
use std::sync::Arc;

use duramen_base::{PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_os::{Disk, Env, OpenOptions};
use duramen_pool::{OverlayDisk, io_error};
use duramen_storage::{Database, Engine, OpenDatabase};

use super::restore::{Restores, STATE_PAGE};

const NOTE_AT: u64 = STATE_PAGE * PAGE_BYTES as u64 + 512;
const NOTE_BYTES: usize = 512;
const MAGIC: [u8; 16] = *b"DURAMEN-STANDBY1";
/// Bytes of a name that fit between magic, length and checksum.
const LONGEST_NAME: usize = NOTE_BYTES - 22;

fn encode(undo: &str) -> [u8; NOTE_BYTES] {
    let mut b = [0; NOTE_BYTES];
    let name = &undo.as_bytes()[..undo.len().min(LONGEST_NAME)];
    b[..16].copy_from_slice(&MAGIC);
    b[16..18].copy_from_slice(&(name.len() as u16).to_le_bytes());
    b[18..18 + name.len()].copy_from_slice(name);
    let crc = crc32c::crc32c(&b[..NOTE_BYTES - 4]);
    b[NOTE_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    b
}

fn decode(b: &[u8; NOTE_BYTES]) -> Option<String> {
    let crc = crc32c::crc32c(&b[..NOTE_BYTES - 4]).to_le_bytes();
    if b[..16] != MAGIC || b[NOTE_BYTES - 4..] != crc {
        return None;
    }
    let length = usize::from(u16::from_le_bytes([b[16], b[17]]));
    let name = b.get(18..18 + length.min(LONGEST_NAME))?;
    String::from_utf8(name.to_vec()).ok()
}

const UNDO_MAGIC: [u8; 16] = *b"DURAMEN-UNDOFIL1";

/// Whose an undo file is.
#[derive(Clone, Copy, Debug)]
pub struct UndoOwner<'a> {
    /// What no two servers have in common.
    pub server: [u8; 16],
    pub database: &'a str,
}

impl UndoOwner<'_> {
    /// The first page of its undo files.
    fn mark(&self) -> Box<[u8; PAGE_BYTES]> {
        let mut b = Box::new([0; PAGE_BYTES]);
        let name = self.database.to_lowercase();
        // A name has at most 128 characters.
        let name = &name.as_bytes()[..name.len().min(PAGE_BYTES / 2)];
        b[..16].copy_from_slice(&UNDO_MAGIC);
        b[16..32].copy_from_slice(&self.server);
        b[32..34].copy_from_slice(&(name.len() as u16).to_le_bytes());
        b[34..34 + name.len()].copy_from_slice(name);
        let crc = crc32c::crc32c(&b[..PAGE_BYTES - 4]);
        b[PAGE_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        b
    }

    /// Whether an undo file may be made at this path: nothing is there, or one of the same database is. What cannot be
    /// read is somebody else's.
    pub fn may_make(&self, disk: &dyn Disk, path: &Path) -> bool {
        if !disk.exists(path) {
            return true;
        }
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let mut page = Box::new([0; PAGE_BYTES]);
        let read = disk
            .open(path, &options)
            .and_then(|f| f.read_at(&mut page[..], 0));
        read.is_ok() && page == self.mark()
    }
}

impl Restores<'_> {
    /// From now on the database is a standby with this undo file, or none any more.
    pub fn note_standby(&self, undo: Option<&str>) -> SqlResult<()> {
        let (file, name) = self.state_file()?;
        let note = undo.map_or([0; NOTE_BYTES], encode);
        file.write_durable_at(&note, NOTE_AT)
            .map_err(|e| io_error(&e, "write", PageId::new(1, STATE_PAGE as u32), &name))
    }

    /// The undo file's name, as it was given, of a database that is a standby.
    pub fn standby_note(&self) -> SqlResult<Option<String>> {
        let (file, name) = self.state_file()?;
        let mut b = [0; NOTE_BYTES];
        file.read_at(&mut b, NOTE_AT)
            .map_err(|e| io_error(&e, "read", PageId::new(1, STATE_PAGE as u32), &name))?;
        Ok(decode(&b))
    }
}

/// Opens what has been restored, in an overlay with its blocks in the file `undo`, which is made over and goes with the
/// database. The files are only read. 5170 when something else than an undo file of `owner` is there.
pub fn open_standby(
    engine: &Arc<Engine>,
    spec: &OpenDatabase,
    (undo, owner): (&Path, UndoOwner<'_>),
) -> SqlResult<Arc<Database>> {
    let real = &engine.env.disk;
    let shown = undo.display().to_string();
    if !owner.may_make(&**real, undo) {
        return Err(SqlError::new(&messages::FILE_ALREADY_EXISTS, &[&shown]));
    }
    let disk = OverlayDisk::marked(real, undo, &owner.mark())
        .map_err(|e| io_error(&e, "create", PageId::NULL, &shown))?;
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let data = spec.data.iter().map(|f| &f.path);
    for path in data.chain(spec.log.iter().map(|f| &f.path)) {
        let name = path.display().to_string();
        let base = real.open(path, &options).and_then(|b| disk.put(path, &b));
        base.map_err(|e| io_error(&e, "open", PageId::NULL, &name))?;
    }
    Database::open_on(engine, &Env::with_disk(disk), spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_undo_file_of_the_same_database_is_made_over() {
        let disk = duramen_os::sim::SimDisk::new(3).env().disk;
        let owner = |server: u8, database| UndoOwner {
            server: [server; 16],
            database,
        };
        let path = Path::new("/undo");
        let may = |o: UndoOwner<'_>| o.may_make(&*disk, path);
        assert!(may(owner(1, "r")));
        let overlay = OverlayDisk::marked(&disk, path, &owner(1, "r").mark()).unwrap();
        assert!(may(owner(1, "R")));
        assert!(!may(owner(1, "other")));
        assert!(!may(owner(2, "r")));
        drop(overlay);
        assert!(!disk.exists(path), "it goes with the database");
        let create = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let file = disk.open(path, &create).unwrap();
        assert!(!may(owner(1, "r")), "an empty file is somebody's");
        let mut mark = owner(1, "r").mark();
        file.write_at(&mark[..], 0).unwrap();
        assert!(may(owner(1, "r")));
        mark[7000] ^= 1;
        file.write_at(&mark[..], 0).unwrap();
        assert!(!may(owner(1, "r")), "damaged");
    }

    #[test]
    fn a_note_is_read_as_it_was_written_or_not_at_all() {
        let note = encode("C:\\undo\u{e4}.dat");
        assert_eq!(decode(&note).as_deref(), Some("C:\\undo\u{e4}.dat"));
        for at in 0..NOTE_BYTES {
            let mut turned = note;
            turned[at] ^= 1;
            assert_eq!(decode(&turned), None, "{at}");
        }
        assert_eq!(decode(&[0; NOTE_BYTES]), None);
    }
}
