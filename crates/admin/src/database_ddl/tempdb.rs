//! ALTER DATABASE tempdb on its files.
//!
//! tempdb is made anew at every start, of the files that master lists: a file that is added or changed is so at once and
//! after the next start, FILENAME only then. A start begins with the sizes that were asked for, not with those that the
//! files have grown to. Files that tempdb leaves behind when they move stay where they are, as in SQL Server.
//! <https://learn.microsoft.com/sql/relational-databases/databases/tempdb-database>

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{FileKind, fold};
use duramen_core::databases::os_exists;
use duramen_tsql::ast::AlterDatabaseAction;

use super::{Admin, refuse};

/// The log file that cannot be removed.
const FIRST_LOG: u16 = 2;

impl Admin<'_> {
    /// 1826: tempdb has one filegroup, as it is.
    pub(super) fn check_tempdb(&self, action: &AlterDatabaseAction) -> SqlResult<()> {
        match action {
            AlterDatabaseAction::AddFilegroup(_) => Err(SqlError::new(
                &messages::NO_FILEGROUPS_IN_TEMPDB,
                &[&"tempdb"],
            )),
            AlterDatabaseAction::RemoveFilegroup(_)
            | AlterDatabaseAction::ModifyFilegroup { .. } => {
                Err(refuse("ALTER DATABASE tempdb on filegroups"))
            }
            _ => Ok(()),
        }
    }

    /// MODIFY FILE with FILENAME: the next start makes the file there. 5041 when there is no such file; 5133 and 5170 for a
    /// place that is not free, because a start writes over what is there.
    pub(super) fn move_tempdb_file(
        &mut self,
        db: &Arc<OpenDb>,
        name: &str,
        path: &str,
    ) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let found = {
            let entry = db.entry.read();
            let mut files = entry.files.iter();
            files.find(|f| fold(&f.logical_name) == fold(name)).cloned()
        };
        let Some(file) = found else {
            return Err(SqlError::new(&messages::MODIFY_FILE_NOT_FOUND, &[&name]));
        };
        if file.kind == FileKind::Log && file.file_id != FIRST_LOG {
            return Err(refuse("FILENAME of a log file of tempdb besides the first"));
        }
        let wanted = databases.resolve(path);
        let is_wanted = |p: &std::path::PathBuf| databases.same_place(p, &wanted);
        let own = databases.tempdb_paths(db).iter().any(is_wanted);
        let twin = db
            .entry
            .read()
            .files
            .iter()
            .any(|f| f.file_id != file.file_id && is_wanted(&databases.resolve(&f.path)));
        if twin {
            return Err(SqlError::new(&messages::FILE_ALREADY_USED, &[&path]));
        }
        // What tempdb has, or would have if nobody had changed it, is its own to write over.
        if !own {
            databases.may_place(path, self.session.who.sysadmin)?;
            os_exists(databases, path)?;
        }
        databases.write_entry(db, |e| {
            for f in e.files.iter_mut().filter(|f| f.file_id == file.file_id) {
                f.path = path.to_owned();
            }
        })?;
        self.note(&messages::FILE_MOVED_IN_CATALOG, &[&file.logical_name]);
        Ok(())
    }
}
