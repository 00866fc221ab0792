//! A data directory that lies elsewhere than at its last start: it was moved, or copied, or is mounted at another place.
//!
//! `master` lists all files by their full paths, itself among them, and so says where the directory was. Files that it lists
//! below that place are looked for below the new one: a directory is whole in itself, and what may still lie at the old place
//! is another's. Files of users elsewhere stay where they are listed. (SQL Server, whose system databases are told by the
//! registry where they are, lists theirs anew by ALTER DATABASE.)

use std::path::{Path, PathBuf};

use duramen_base::{DbId, SqlResult};
use duramen_catalog::{CatalogDb, DatabaseEntry};

use crate::databases::Databases;

/// The directory of the file that `master` lists as its own first one.
fn place_of_master(listed: &[DatabaseEntry]) -> Option<PathBuf> {
    let master = listed.iter().find(|e| e.id == DbId::MASTER)?;
    let first = master.files.iter().find(|f| f.file_id == 1)?;
    Path::new(&first.path).parent().map(Path::to_owned)
}

impl Databases {
    /// The list as it is now, which `master` has, too, when this returns: all of it or nothing.
    pub(super) fn follow_moved(
        &self,
        catalog: &CatalogDb,
        mut listed: Vec<DatabaseEntry>,
    ) -> SqlResult<Vec<DatabaseEntry>> {
        let here = &self.config.data_dir;
        let Some(was) = place_of_master(&listed).filter(|was| was != here) else {
            return Ok(listed);
        };
        let mut moved = Vec::new();
        for entry in &mut listed {
            let before = entry.clone();
            for file in &mut entry.files {
                if let Ok(rest) = Path::new(&file.path).strip_prefix(&was) {
                    file.path = here.join(rest).to_string_lossy().into_owned();
                }
            }
            if *entry != before {
                moved.push(entry.clone());
            }
        }
        self.engine.notice(&format!(
            "The data directory was at {} and is at {} now: what lies in it is listed there.",
            was.display(),
            here.display()
        ));
        self.in_master(catalog, |r, tx| {
            moved.iter().try_for_each(|entry| r.replace(tx, entry))
        })?;
        Ok(listed)
    }
}
