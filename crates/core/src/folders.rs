//! The folders that files of events, traces and the error log go to, by the names that scripts have for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_os::Disk;

/// The log folder as scripts see it.
pub const LOG_FOLDER: &str = "C:\\Duramen\\Log\\";

/// Where files are, by the names that scripts have for them.
#[derive(Clone)]
pub struct Folders {
    pub disk: Arc<dyn Disk>,
    /// The log folder itself.
    pub log: PathBuf,
    /// Any other folder that a path names, such as `X:\a`.
    pub resolve: Arc<dyn Fn(&str) -> PathBuf + Send + Sync>,
}

impl std::fmt::Debug for Folders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Folders({})", self.log.display())
    }
}

impl Folders {
    /// A path as written: its folder as shown, with the separator behind it, and on disk, and the name in it.
    pub fn split(&self, path: &str) -> (String, PathBuf, String) {
        let at = path.rfind(['\\', '/']).map_or(0, |at| at + 1);
        let (folder, name) = path.split_at(at);
        let in_log = folder.is_empty() || folder.eq_ignore_ascii_case(LOG_FOLDER);
        match in_log {
            true => (LOG_FOLDER.to_owned(), self.log.clone(), name.to_owned()),
            // The resolver makes the folders above the last part of a path.
            false => {
                let inside = (self.resolve)(&format!("{folder}x"));
                let dir = inside.parent().unwrap_or(Path::new("/")).to_path_buf();
                (folder.to_owned(), dir, name.to_owned())
            }
        }
    }

    /// Names in a folder.
    pub fn names(&self, dir: &Path) -> Vec<String> {
        let listed = self.disk.list(dir).unwrap_or_default();
        let name = |p: PathBuf| Some(p.file_name()?.to_str()?.to_owned());
        listed.into_iter().filter_map(name).collect()
    }
}

/// The name of the error log's newest file.
pub const ERROR_LOG: &str = "ERRORLOG";

/// The log's name as scripts see it.
pub fn shown_error_log() -> String {
    format!("{LOG_FOLDER}{ERROR_LOG}")
}
