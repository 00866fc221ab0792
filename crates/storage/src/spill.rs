//! Files for rows that an operator has no memory for: beside tempdb's, never synced, gone with the statement.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::{WaitType, wait};
use duramen_os::{DiskFile, Env, IoError, OpenOptions, sparing, volatile};
use duramen_types::batch::spill::SpillFile;

use crate::engine::Engine;
use crate::temp_space::no_room_to_spill;

const PREFIX: &str = "tempdb_spill_";
/// Appends are gathered until they are this long.
const WRITE_BYTES: usize = 256 << 10;

/// Numbers of the files of this process.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A file of one operator; see the module.
struct TempFile {
    engine: Arc<Engine>,
    number: u64,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    written: u64,
    /// What comes behind `written` and is not in the file yet.
    pending: Vec<u8>,
    /// Goes when the file is closed: until then the disk has it.
    taken: Taken,
}

/// What a file has taken of the room for temporary data.
struct Taken {
    engine: Arc<Engine>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.engine.give_spill(self.bytes);
    }
}

fn os_error(e: &IoError, path: &Path) -> SqlError {
    let code = format!("{}({e})", e.code());
    SqlError::new(&messages::CREATE_FILE_OS_ERROR, &[&code, &path.display()])
}

impl Engine {
    /// A file for rows that wait, beside tempdb's.
    pub fn spill_file(self: &Arc<Engine>) -> SqlResult<Box<dyn SpillFile>> {
        create(self, self.temp_space.dir())
    }
}

fn create(engine: &Arc<Engine>, dir: &Path) -> SqlResult<Box<dyn SpillFile>> {
    let options = OpenOptions {
        create_new: true,
        ..OpenOptions::default()
    };
    // Another instance of the process may have a number in the same directory's way; a link that leads elsewhere is not
    // followed.
    let (number, path, file) = loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("{PREFIX}{number}.tmp"));
        match engine.env.disk.open(&path, &options) {
            Ok(file) => break (number, path, volatile(file)),
            Err(IoError::Exists) => {}
            Err(e) => return Err(os_error(&e, &path)),
        }
    };
    let file = sparing(file).map_err(|e| os_error(&e, &path))?;
    Ok(Box::new(TempFile {
        engine: engine.clone(),
        number,
        path,
        file,
        written: 0,
        pending: Vec::new(),
        taken: Taken {
            engine: engine.clone(),
            bytes: 0,
        },
    }))
}

/// Removes the files that a former life has left.
pub fn remove_old_spills(env: &Env, dir: &Path) -> SqlResult<()> {
    for path in env.disk.list(dir).map_err(|e| os_error(&e, dir))? {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        if name.is_some_and(|n| n.starts_with(PREFIX)) {
            env.disk.remove(&path).map_err(|e| os_error(&e, &path))?;
        }
    }
    Ok(())
}

impl SpillFile for TempFile {
    fn append(&mut self, bytes: &[u8]) -> SqlResult<u64> {
        let at = self.written + self.pending.len() as u64;
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= WRITE_BYTES {
            let _wait = wait(WaitType::IO_COMPLETION);
            let bytes = self.pending.len() as u64;
            self.engine.take_spill(bytes, self.number)?;
            self.taken.bytes += bytes;
            let written = self.file.write_at(&self.pending, self.written);
            written.map_err(|e| match e {
                IoError::NoSpace => no_room_to_spill(self.number),
                e => os_error(&e, &self.path),
            })?;
            duramen_observe::count_spilled(self.pending.len() as u64);
            self.written += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(at)
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> SqlResult<()> {
        // What is in the file, and what is not yet.
        let in_file = self.written.saturating_sub(at).min(bytes.len() as u64) as usize;
        let (bytes, rest) = bytes.split_at_mut(in_file);
        if !rest.is_empty() {
            let start = at.saturating_sub(self.written) as usize;
            if let Some(found) = self.pending.get(start..start + rest.len()) {
                rest.copy_from_slice(found);
            }
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let _wait = wait(WaitType::IO_COMPLETION);
        let read = self.file.read_at(bytes, at);
        read.map_err(|e| os_error(&e, &self.path))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // One that stays goes at the next start.
        let _ = self.engine.env.disk.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use duramen_os::Env;
    use duramen_os::sim::Simulation;

    use super::{WRITE_BYTES, create, remove_old_spills};
    use crate::engine::{Engine, EngineConfig};

    #[test]
    fn a_file_gives_back_what_was_appended_and_goes() {
        Simulation::new(5).run(|sim| {
            let env = Env::with_disk(sim.disk());
            let dir = Path::new("/data");
            env.disk.create_dir_all(dir).unwrap();
            let config = EngineConfig {
                memory: 1 << 20,
                doublewrite_path: "/duramen.dwb".into(),
            };
            let engine = Engine::new(&env, &config).unwrap();
            let mut file = create(&engine, dir).unwrap();
            let mut places = Vec::new();
            for i in 0..40u8 {
                let block = vec![i; WRITE_BYTES / 7 + usize::from(i)];
                places.push((file.append(&block).unwrap(), block));
            }
            for (at, block) in &places {
                let mut found = vec![0; block.len()];
                file.read(*at, &mut found).unwrap();
                assert_eq!(&found, block);
            }
            // Over every border, that of the file and what is still to be written to it among them.
            let whole: Vec<u8> = places.iter().flat_map(|(_, block)| block.clone()).collect();
            let mut found = vec![0; whole.len()];
            file.read(0, &mut found).unwrap();
            assert_eq!(found, whole);
            engine.set_max_tempdb(6 * WRITE_BYTES as u64, 0);
            let full = file.append(&vec![1; WRITE_BYTES]).unwrap_err();
            assert_eq!((full.number, full.severity), (1105, 17));
            let left = create(&engine, dir).unwrap();
            assert_eq!(env.disk.list(dir).unwrap().len(), 2);
            drop(file);
            assert_eq!(env.disk.list(dir).unwrap().len(), 1);
            let mut next = create(&engine, dir).unwrap();
            for _ in 0..6 {
                next.append(&vec![1; WRITE_BYTES]).unwrap();
            }
            assert!(next.append(&vec![1; WRITE_BYTES]).is_err());
            drop(next);
            std::mem::forget(left);
            remove_old_spills(&env, dir).unwrap();
            assert_eq!(env.disk.list(dir).unwrap().len(), 0);
        });
    }
}
