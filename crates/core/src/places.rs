//! Where a file may be that a statement names to be written.
//!
//! ```text
//! a name as written -> resolve (drives) -> one name without links -> may it be there? -> open, and ask the handle
//! ```
//! Nothing that is written at a user's word touches a file that the server has open: [`duramen_os::Disk::open_named`]
//! asks the opened file itself, whatever its name. Names that the server keeps for files of its own are nobody's, whether
//! the files are there or not. Members of `sysadmin` may name any other place; everybody else writes below the folders
//! that are given for it: the backup folder for backups, the data directory itself and the folders of `--file-dir` for
//! database files, and for both the folders that stand for drives.

use std::path::{Path, PathBuf};

use duramen_base::{PAGE_BYTES, SqlError, SqlResult, messages};
use duramen_format::boot::FileHeader;
use duramen_os::{Disk, IoError, OpenOptions};

use crate::databases::{Databases, StorageConfig};

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Backup,
    /// Data and log files, undo files.
    Database,
}

/// What `serve` was told about places and space for files.
#[derive(Clone, Debug, Default)]
pub struct FilesConfig {
    /// Backups without a full path, and those of who is no sysadmin; `None`: `backup` in the data directory.
    pub backup_dir: Option<PathBuf>,
    /// Where who is no sysadmin may make database files, besides the data directory.
    pub file_dirs: Vec<PathBuf>,
    /// Bytes of tempdb and of what spills beside it; `None`: a quarter of what is free at the start.
    pub max_tempdb: Option<u64>,
}

/// What follows the name of a database's file in names of files that a restore or a check makes beside it.
const OWN_ENDINGS: [&str; 6] = [
    "~restoring",
    "~file",
    "~pages",
    "~pages.new",
    "~making",
    "_mssql_dbcc",
];
/// Names in the data directory that are the server's; `#` stands for digits.
const OWN_NAMES: [&str; 11] = [
    "duramen.dwb",
    "duramen.instance",
    "duramen.lock",
    "duramen.tempdb",
    "sa.credential",
    "sa.credential.new",
    "server-certificate.pem",
    "server-key.pem",
    "tempdb.mdf",
    "tempdb_mssql_#.ndf",
    "templog.ldf",
];
/// The same in its log folder, and for what queries keep beside tempdb.
const OWN_LOGS: [&str; 3] = ["errorlog", "errorlog.#", "log_#.trc"];
const OWN_SPILLS: [&str; 1] = ["tempdb_spill_#.tmp"];

/// Whether a name is one of the list.
fn is_one_of(names: &[&str], name: &str) -> bool {
    let fits = |pattern: &&str| match pattern.split_once('#') {
        None => name == *pattern,
        Some((before, after)) => {
            let rest = name.strip_prefix(before);
            let digits = rest.and_then(|r| r.strip_suffix(after));
            digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        }
    };
    names.iter().any(fits)
}

/// `X:\a\b` through the drive map; any other letter is a folder of the data directory. As on the system that such paths are
/// from, letter case does not tell files apart, and nothing is above the drive.
pub(crate) fn resolve(config: &StorageConfig, disk: &dyn Disk, path: &str) -> PathBuf {
    let mut chars = path.chars();
    let (Some(letter), Some(':')) = (chars.next(), chars.next()) else {
        return PathBuf::from(path);
    };
    let letter = letter.to_ascii_uppercase();
    let root = match config.drives.get(&letter) {
        Some(dir) => dir.clone(),
        None => config.data_dir.join("drives").join(letter.to_string()),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in chars.as_str().split(['\\', '/']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut full = root;
    for part in parts {
        full = in_any_case(disk, &full, part);
    }
    if let Some(parent) = full.parent() {
        // A directory that cannot be made is found missing when the file is made.
        let _ = disk.create_dir_all(parent);
    }
    full
}

/// What is called so, in whatever case; as written when nothing is, or several are.
fn in_any_case(disk: &dyn Disk, dir: &Path, part: &str) -> PathBuf {
    let exact = dir.join(part);
    if disk.exists(&exact) {
        return exact;
    }
    let wanted = part.to_lowercase();
    let there = disk.list(dir).unwrap_or_default();
    let mut same = there.into_iter().filter(|p| {
        let name = p.file_name().and_then(|n| n.to_str());
        name.is_some_and(|n| n.to_lowercase() == wanted)
    });
    match (same.next(), same.next()) {
        (Some(one), None) => one,
        _ => exact,
    }
}

impl Databases {
    /// The folders in which a session may write files; `None` is everywhere.
    pub(crate) fn folders(&self, purpose: Purpose, everywhere: bool) -> Option<Vec<PathBuf>> {
        if everywhere {
            return None;
        }
        let config = &self.config;
        let mut folders: Vec<PathBuf> = config.drives.values().cloned().collect();
        folders.push(config.data_dir.join("drives"));
        match purpose {
            Purpose::Backup => folders.push(self.backup_dir()),
            Purpose::Database => folders.extend(config.files.file_dirs.iter().cloned()),
        }
        Some(folders)
    }

    /// Whether a file may be made here, as far as its name tells.
    pub(crate) fn may_be_at(
        &self,
        path: &Path,
        purpose: Purpose,
        everywhere: bool,
    ) -> Result<(), IoError> {
        let disk = &*self.engine.env.disk;
        let path = disk.canonical(path)?;
        let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase());
        let name = name.ok_or(IoError::Denied)?;
        let in_own = |dir: &Path| {
            let dir = disk.canonical(dir);
            dir.is_ok_and(|dir| path.parent() == Some(dir.as_path()))
        };
        let data = &self.config.data_dir;
        if OWN_ENDINGS.iter().any(|e| name.ends_with(e))
            || is_one_of(&OWN_NAMES, &name) && in_own(data)
            || is_one_of(&OWN_SPILLS, &name) && in_own(data)
            || is_one_of(&OWN_LOGS, &name) && in_own(&data.join("log"))
        {
            return Err(IoError::Denied);
        }
        let Some(folders) = self.folders(purpose, everywhere) else {
            return Ok(());
        };
        let below = |dir: &PathBuf| {
            disk.canonical(dir)
                .is_ok_and(|d| path != d && path.starts_with(d))
        };
        let database_file = [".mdf", ".ndf", ".ldf"].iter().any(|e| name.ends_with(e));
        let in_data_dir = purpose == Purpose::Database && database_file && in_own(data);
        match in_data_dir || folders.iter().any(below) {
            true => Ok(()),
            false => Err(IoError::Denied),
        }
    }

    /// 5123 for a database file that may not be where a statement wants it; a directory that is not there is somebody
    /// else's error.
    pub fn may_place(&self, shown: &str, everywhere: bool) -> SqlResult<()> {
        let allowed = self.may_be_at(&self.resolve(shown), Purpose::Database, everywhere);
        match allowed {
            Err(e) if e != IoError::NotFound => Err(cannot_create(&e, shown)),
            Err(_) if !everywhere => Err(cannot_create(&IoError::Denied, shown)),
            _ => Ok(()),
        }
    }

    /// REPLACE takes the place of a file that no database here has, when it is one of a database, or empty; 5123 otherwise.
    pub fn may_replace(&self, shown: &str, path: &Path) -> SqlResult<()> {
        let disk = &self.engine.env.disk;
        let options = OpenOptions::default();
        let check = || {
            let file = disk.open_named(path, &options, None)?;
            if file.len()? == 0 {
                return Ok(());
            }
            let mut page = [0; PAGE_BYTES];
            file.read_at(&mut page, 0)?;
            FileHeader::read(&page).map_err(|_| IoError::Denied)?;
            Ok(())
        };
        check().map_err(|e| match e {
            IoError::Eof => cannot_create(&IoError::Denied, shown),
            e => cannot_create(&e, shown),
        })
    }

    /// The database that has a file, by whatever name, open or not.
    pub(crate) fn database_with(&self, path: &Path) -> Option<String> {
        let its = |f: &duramen_catalog::FileEntry| self.same_place(&self.resolve(&f.path), path);
        let all = self.listed().into_iter();
        let mut with = all.filter(|(entry, _)| entry.files.iter().any(its));
        with.next().map(|(entry, _)| entry.name)
    }

    /// Whether two names mean one file, or would if it were there.
    pub fn same_place(&self, a: &Path, b: &Path) -> bool {
        let disk = &self.engine.env.disk;
        if a == b || disk.same_file(a, b) {
            return true;
        }
        // Where neither is there, letter case does not make two of them: the next who looks finds the one that was made.
        let names = |p: &Path| disk.canonical(p).map(|p| (disk.exists(&p), p));
        match (names(a), names(b)) {
            (Ok((false, a)), Ok((false, b))) => {
                a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase()
            }
            _ => false,
        }
    }
}

/// 5123
pub(crate) fn cannot_create(e: &IoError, shown: &str) -> SqlError {
    let code = format!("{}({e})", e.code());
    SqlError::new(&messages::CREATE_FILE_OS_ERROR, &[&code, &shown])
}
