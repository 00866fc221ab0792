//! The event_file target, and reading what it wrote.
//!
//! A session's events go to `<name>_0_<time>.xel`, the time being 100-ns intervals since 1601 when the file was made; a
//! full file is followed by a new one, and the oldest of the name goes when there are too many. A name without a folder is
//! in the instance's log folder, which scripts see as [`LOG_FOLDER`].

use std::path::{Path, PathBuf};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::folders::Folders;
use duramen_os::time::{self, WallTime};

use super::records::{self, Payload, Writer, put_text};

const EXTENSION: &str = ".xel";

/// 100-ns intervals since 1601-01-01.
pub fn filetime(at: WallTime) -> i128 {
    const TO_1970: i128 = 116_444_736_000_000_000;
    at.unix_nanos() / 100 + TO_1970
}

#[derive(Debug)]
pub struct FileTarget {
    folders: Folders,
    shown: String,
    dir: PathBuf,
    /// Without extension and time.
    base: String,
    most_bytes: u64,
    /// 0: all are kept.
    most_files: usize,
    current: Option<Writer>,
    logged: u64,
    dropped: u64,
    /// Of events, to all files.
    pub bytes: u64,
    /// The last error of a write.
    error: String,
}

impl FileTarget {
    pub fn new(folders: &Folders, name: &str, max_mb: i64, max_files: i64) -> FileTarget {
        let (shown, dir, name) = folders.split(name);
        let base = match name.len().checked_sub(EXTENSION.len()) {
            Some(at)
                if name
                    .get(at..)
                    .is_some_and(|e| e.eq_ignore_ascii_case(EXTENSION)) =>
            {
                name[..at].to_owned()
            }
            _ => name,
        };
        FileTarget {
            folders: folders.clone(),
            shown,
            dir,
            base,
            most_bytes: u64::try_from(max_mb).unwrap_or(1) << 20,
            most_files: usize::try_from(max_files).unwrap_or(0),
            current: None,
            logged: 0,
            dropped: 0,
            bytes: 0,
            error: String::new(),
        }
    }

    /// Whether a new file can be made: 25641 says why not.
    pub fn check(&self) -> SqlResult<()> {
        let _ = self.folders.disk.create_dir_all(&self.folders.log);
        match self.folders.disk.exists(&self.dir) {
            true => Ok(()),
            false => {
                let shown = format!("{}{}", self.shown, self.base);
                let why = format!("The target could not make the file '{shown}'.");
                let args: [&dyn std::fmt::Display; 4] =
                    [&"target", &"package0.event_file", &"filename", &why];
                Err(SqlError::new(&messages::EVENT_PARAMETER_INVALID, &args))
            }
        }
    }

    /// A session that runs has a file, as scripts expect that look for its name. Where it cannot be made, the first event
    /// tries again.
    pub fn begin(&mut self) {
        if let Err(e) = self.roll() {
            self.error = e.to_string();
        }
    }

    fn is_mine(&self, name: &str) -> bool {
        let middle = name
            .strip_prefix(self.base.as_str())
            .and_then(|n| n.strip_suffix(EXTENSION));
        let time = middle.and_then(|m| m.strip_prefix("_0_"));
        time.is_some_and(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()))
    }

    fn roll(&mut self) -> Result<&mut Writer, duramen_os::IoError> {
        let disk = &self.folders.disk;
        disk.create_dir_all(&self.dir)?;
        let mut at = filetime(time::wall());
        let mut name = || {
            at += 1;
            self.dir.join(format!("{}_0_{at}{EXTENSION}", self.base))
        };
        let mut path = name();
        while disk.exists(&path) {
            path = name();
        }
        let made = Writer::create(&**disk, &path, &records::EVENTS)?;
        let mut mine: Vec<_> = self.folders.names(&self.dir);
        mine.retain(|n| self.is_mine(n));
        mine.sort();
        let many = match self.most_files {
            0 => 0,
            most => mine.len().saturating_sub(most.max(1)),
        };
        for old in &mine[..many] {
            let _ = disk.remove(&self.dir.join(old));
        }
        Ok(self.current.insert(made))
    }

    pub fn write<'a>(&mut self, events: impl Iterator<Item = (&'a str, WallTime, String)>) {
        let records: Vec<Vec<u8>> = events
            .map(|(name, at, xml)| record(name, at, &xml))
            .collect();
        if records.is_empty() {
            return;
        }
        let count = records.len() as u64;
        let bytes: usize = records.iter().map(Vec::len).sum();
        let most = self.most_bytes;
        let room = self.current.take_if(|c| c.end < most);
        self.current = room;
        let written = match &mut self.current {
            Some(open) => open.append(&records),
            None => self.roll().and_then(|w| w.append(&records)),
        };
        match written {
            Ok(()) => {
                self.logged += count;
                self.bytes += bytes as u64;
            }
            Err(e) => {
                // What is half written ends the file; the next round begins another.
                self.current = None;
                self.dropped += count;
                self.error = e.to_string();
            }
        }
    }

    pub fn xml(&self) -> String {
        let name = self
            .current
            .as_ref()
            .and_then(|w| w.path.file_name()?.to_str());
        let file = name.map(|n| {
            format!(
                "<File name=\"{}\"/>",
                super::render::escaped(&format!("{}{n}", self.shown))
            )
        });
        format!(
            "<EventFileTarget truncated=\"0\"><Buffers logged=\"{}\" dropped=\"{}\"/>{}</EventFileTarget>",
            self.logged,
            self.dropped,
            file.unwrap_or_default()
        )
    }

    /// Whether it writes files that a pattern of names may mean.
    pub fn may_match(&self, dir: &Path, pattern: &str) -> bool {
        self.dir == dir && wild(pattern, &format!("{}_0_0{EXTENSION}", self.base))
            || wild(pattern, &format!("{}{EXTENSION}", self.base))
    }
}

fn record(name: &str, at: WallTime, xml: &str) -> Vec<u8> {
    let mut out = (at.unix_nanos() as i64).to_le_bytes().to_vec();
    put_text(&mut out, name);
    put_text(&mut out, xml);
    out
}

/// An event out of a file.
#[derive(Debug)]
pub struct Stored {
    pub name: String,
    /// Nanoseconds since 1970.
    pub at: i64,
    pub xml: String,
    /// With the folder as scripts see it.
    pub file: String,
    pub offset: u64,
}

/// `*` and `?`, in any letter case. Only the last `*` is retried, so that no pattern takes long.
pub fn wild(pattern: &str, name: &str) -> bool {
    let chars = |s: &str| s.to_lowercase().chars().collect::<Vec<_>>();
    let (pattern, name) = (chars(pattern), chars(name));
    let (mut p, mut n) = (0, 0);
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match &mut retry {
                Some((star, from)) => {
                    *from += 1;
                    (p, n) = (*star + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Names of the files that a path means, oldest first, with their folder as shown and on disk. A name without wildcards
/// that is no file's is the name that a target was given.
pub fn matching(folders: &Folders, path: &str) -> (String, PathBuf, Vec<String>) {
    let (shown, dir, pattern) = folders.split(path);
    let names = folders.names(&dir);
    let of = |pattern: &str| {
        let mut found: Vec<String> = names.iter().filter(|n| wild(pattern, n)).cloned().collect();
        found.sort();
        found
    };
    let mut found = of(&pattern);
    if found.is_empty() && !pattern.contains(['*', '?']) {
        let lower = pattern.to_lowercase();
        let base = lower.strip_suffix(EXTENSION).unwrap_or(&lower);
        found = of(&format!("{base}_0_*{EXTENSION}"));
    }
    (shown, dir, found)
}

/// The events of one file.
pub fn stored(folders: &Folders, shown: &str, dir: &Path, name: &str) -> SqlResult<Vec<Stored>> {
    let file = format!("{shown}{name}");
    let read = records::read(&*folders.disk, &dir.join(name), &records::EVENTS);
    let read = read.map_err(|e| {
        let code = format!("{}({e})", e.code());
        SqlError::new(&messages::EVENT_FILE_READ_ERROR, &[&code, &file])
    })?;
    let read = read.ok_or_else(|| SqlError::new(&messages::EVENT_FILE_INVALID, &[&file]))?;
    let event = |(offset, payload): (u64, Vec<u8>)| {
        let mut p = Payload(&payload);
        Some(Stored {
            at: p.i64()?,
            name: p.text()?,
            xml: p.text()?,
            file: file.clone(),
            offset,
        })
    };
    Ok(read.into_iter().filter_map(event).collect())
}
