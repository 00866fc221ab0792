//! The files of the error log: `ERRORLOG`, which is written, and `ERRORLOG.1` to `ERRORLOG.6`, the ones before it.
//!
//! They are text in UTF-8, a line an entry (`super::entry`). Nothing waits for them: they are never synced, and what a disk
//! does not take is lost here (it went to standard output too).

use std::path::PathBuf;
use std::sync::Arc;

use duramen_core::folders::ERROR_LOG;
use duramen_os::time::WallTime;
use duramen_os::{Disk, DiskFile, IoError, OpenOptions};

use super::entry::Entry;

/// As many old logs as SQL Server keeps unless it is told otherwise.
pub const ARCHIVES: u32 = 6;
/// A file that would become longer is followed by a new one: all of them together are never more than 7 times this.
pub const MOST_BYTES: u64 = 16 << 20;
/// Read at once.
const CHUNK: usize = 1 << 20;
/// A text of more lines than this is cut: nothing writes such, a damaged file may hold it.
const LONGEST_TEXT: usize = 1 << 20;

/// A log file as a list shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Archive {
    /// 0: the one that is written.
    pub number: u32,
    /// When its last entry was written.
    pub last: Option<WallTime>,
    pub bytes: u64,
}

#[derive(Debug)]
pub struct Files {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    current: Option<Arc<dyn DiskFile>>,
    end: u64,
}

impl Files {
    pub fn new(disk: &Arc<dyn Disk>, dir: PathBuf) -> Files {
        Files {
            disk: disk.clone(),
            dir,
            current: None,
            end: 0,
        }
    }

    fn path(&self, number: u32) -> PathBuf {
        match number {
            0 => self.dir.join(ERROR_LOG),
            n => self.dir.join(format!("{ERROR_LOG}.{n}")),
        }
    }

    /// Where the current log is, or should be.
    pub fn current_path(&self) -> PathBuf {
        self.path(0)
    }

    /// The current log becomes the first archive and so on; the oldest goes. A new log begins.
    pub fn cycle(&mut self) -> Result<(), IoError> {
        self.current = None;
        self.disk.create_dir_all(&self.dir)?;
        for number in (0..ARCHIVES).rev() {
            let from = self.path(number);
            if self.disk.exists(&from) {
                self.disk.rename(&from, &self.path(number + 1))?;
            }
        }
        let options = OpenOptions {
            create: true,
            ..OpenOptions::default()
        };
        let file = self.disk.open(&self.path(0), &options)?;
        file.set_len(0)?;
        self.end = 0;
        self.current = Some(file);
        Ok(())
    }

    /// Whether so much more belongs into a new file.
    pub fn is_full(&self, more: usize) -> bool {
        self.current.is_some() && self.end > 0 && self.end + more as u64 > MOST_BYTES
    }

    /// Adds text at the end.
    pub fn append(&mut self, text: &str) -> Result<(), IoError> {
        let Some(file) = &self.current else {
            return Ok(());
        };
        file.write_at(text.as_bytes(), self.end)?;
        self.end += text.len() as u64;
        Ok(())
    }

    /// Gives the entries of a log to `each`, oldest first, until it says that it has enough.
    pub fn read(&self, number: u32, each: &mut dyn FnMut(Entry) -> bool) -> Result<(), IoError> {
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let file = self.disk.open(&self.path(number), &options)?;
        let length = file.len()?;
        let mut rest: Vec<u8> = Vec::new();
        let mut open: Option<Entry> = None;
        let mut at = 0;
        while at < length {
            let mut chunk = vec![0; CHUNK.min((length - at) as usize)];
            file.read_at(&mut chunk, at)?;
            at += chunk.len() as u64;
            rest.extend_from_slice(&chunk);
            let whole = match rest.iter().rposition(|b| *b == b'\n') {
                Some(end) => end + 1,
                None if at < length && rest.len() < LONGEST_TEXT => continue,
                None => rest.len(),
            };
            let lines: Vec<u8> = rest.drain(..whole).collect();
            for line in String::from_utf8_lossy(&lines).lines() {
                match (Entry::parse(line), &mut open) {
                    (Some(next), _) => {
                        if let Some(done) = open.replace(next)
                            && !each(done)
                        {
                            return Ok(());
                        }
                    }
                    (None, Some(entry)) if entry.text.len() < LONGEST_TEXT => {
                        entry.text.push('\n');
                        entry.text.push_str(line);
                    }
                    (None, _) => {}
                }
            }
        }
        let last = String::from_utf8_lossy(&rest).into_owned();
        let last = last.trim_end();
        if let Some(mut entry) = open {
            if !last.is_empty() {
                entry.text.push('\n');
                entry.text.push_str(last);
            }
            each(entry);
        }
        Ok(())
    }

    /// The logs that there are, the current one first.
    pub fn list(&self) -> Vec<Archive> {
        let there = (0..=ARCHIVES).filter(|n| self.disk.exists(&self.path(*n)));
        there
            .map(|number| {
                let options = OpenOptions {
                    read_only: true,
                    ..OpenOptions::default()
                };
                let bytes = self.disk.open(&self.path(number), &options);
                let mut last = None;
                // One that cannot be read is listed without its time.
                let _ = self.read(number, &mut |e| {
                    last = Some(e.at);
                    true
                });
                Archive {
                    number,
                    last,
                    bytes: bytes.and_then(|f| f.len()).unwrap_or(0),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use duramen_os::sim::SimDisk;

    use super::*;

    fn texts(files: &Files, number: u32) -> Vec<String> {
        let mut all = Vec::new();
        let read = files.read(number, &mut |e| {
            all.push(e.text);
            true
        });
        read.map(|()| all).unwrap_or_default()
    }

    #[test]
    fn old_logs_move_up_and_the_oldest_goes() {
        let disk = SimDisk::new(1);
        let mut files = Files::new(&disk.env().disk, "/log".into());
        for n in 0..=ARCHIVES + 1 {
            files.cycle().unwrap();
            let line = Entry::new("Server", &format!("log {n}\n\tits second line")).line();
            files.append(&format!("{line}\n")).unwrap();
            files.append(&format!("{line}\n")).unwrap();
        }
        let numbers: Vec<u32> = files.list().iter().map(|a| a.number).collect();
        assert_eq!(numbers, (0..=ARCHIVES).collect::<Vec<_>>());
        let text = |n: u32| format!("log {n}\n\tits second line");
        assert_eq!(texts(&files, 0), [text(ARCHIVES + 1), text(ARCHIVES + 1)]);
        assert_eq!(texts(&files, ARCHIVES), [text(1), text(1)]);
        assert!(matches!(
            files.read(ARCHIVES + 1, &mut |_| true),
            Err(IoError::NotFound)
        ));
    }

    #[test]
    fn entries_over_the_edge_of_a_chunk_are_whole() {
        let disk = SimDisk::new(1);
        let mut files = Files::new(&disk.env().disk, "/log".into());
        files.cycle().unwrap();
        let long = "x".repeat(CHUNK / 3);
        for _ in 0..7 {
            let line = Entry::new("spid51", &long).line();
            files.append(&format!("{line}\n")).unwrap();
        }
        assert_eq!(texts(&files, 0), vec![long; 7]);
    }
}
