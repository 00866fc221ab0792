//! What is told of damaged pages that BACKUP and RESTORE took along WITH CONTINUE_AFTER_ERROR.

use duramen_backup::Tolerance;
use duramen_base::{SqlError, messages};
use duramen_catalog::DatabaseEntry;
use duramen_pool::Suspicion;

use crate::database_ddl::Admin;

impl Admin<'_> {
    /// 3043 of each page that went along damaged, to the error log.
    pub(super) fn log_damaged(&mut self, entry: &DatabaseEntry, tolerance: &Tolerance) {
        for page in tolerance.met() {
            let file = entry.files.iter().find(|f| f.file_id == page.file);
            let place = format!("({}:{})", page.file, page.page);
            let path = file.map_or("", |f| f.path.as_str());
            let args: [&dyn std::fmt::Display; 3] = [&entry.name, &place, &path];
            let error = SqlError::new(&messages::BACKUP_PAGE_DAMAGED, &args);
            self.instance().log_error_of(self.session(), &error);
        }
    }

    /// Damage that was restored as it is: each page to the error log (3183) and to the suspect ones, and 3184 to the client.
    pub(super) fn report_tolerated(&mut self, name: &str, tolerance: &Tolerance) {
        let pages = tolerance.met();
        if pages.is_empty() {
            return;
        }
        let instance = self.instance();
        for page in pages {
            let place = format!("({}:{})", page.file, page.page);
            let args: [&dyn std::fmt::Display; 2] = [&place, &name];
            let error = SqlError::new(&messages::RESTORE_PAGE_DAMAGED, &args);
            self.instance().log_error_of(self.session(), &error);
            if let Some(db) = instance.databases.find(name) {
                db.db.note_suspect(page, Suspicion::BadChecksum);
            }
        }
        self.note(&messages::RESTORED_DAMAGED, &[]);
    }
}
