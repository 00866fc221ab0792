//! DROP DATABASE and sp_detach_db.

use std::time::Duration;

use duramen_base::{SqlError, SqlResult, messages};

use super::Admin;
use crate::suspect_pages;

impl Admin<'_> {
    /// 3701 when it is not there, 3702 while somebody is in it, 3708 for a system database.
    pub fn drop_database(&mut self, name: &str, if_exists: bool) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let Some(db) = databases.find(name) else {
            if let Some(gone) = databases.find_unavailable(name) {
                databases.remove_unavailable(&gone)?;
                let _ = suspect_pages::forget(&self.instance(), gone.entry.id, None);
                return Ok(());
            }
            if if_exists {
                return Ok(());
            }
            let args: [&dyn std::fmt::Display; 3] = [&"drop", &"database", &name];
            return Err(SqlError::new(&messages::CANNOT_DROP, &args));
        };
        if db.db.id.0 <= 4 {
            let args: [&dyn std::fmt::Display; 4] =
                [&"drop", &"database", &db.db.name, &"database"];
            return Err(SqlError::new(&messages::CANNOT_DROP_SYSTEM, &args));
        }
        let in_use = || SqlError::new(&messages::DATABASE_IN_USE, &[&db.db.name]).with_state(3);
        let here = self.session.is_in(db.db.id);
        if here || self.session.try_alone(&db, Some(Duration::ZERO)).is_err() {
            return Err(in_use());
        }
        let id = db.db.id;
        let result = databases.remove(&db);
        self.session.among_others();
        if result.is_ok() {
            // Rows that stay tell of a number that is nobody's.
            let _ = suspect_pages::forget(&self.instance(), id, None);
        }
        result
    }

    /// sp_detach_db: 15010 when it is not there, 7940 for a system database, 3703 while somebody is in it, 3707 for one
    /// that cannot be opened.
    pub fn detach_database(&mut self, name: &str) -> SqlResult<()> {
        let instance = self.instance();
        let databases = &instance.databases;
        let Some(db) = databases.find(name) else {
            return Err(match databases.find_unavailable(name) {
                Some(gone) if gone.is_broken() => {
                    SqlError::new(&messages::CANNOT_DETACH_SUSPECT, &[])
                }
                Some(gone) => gone.refusal(),
                None => SqlError::new(&messages::DATABASE_NAME_NOT_FOUND, &[&name]),
            });
        };
        if db.db.id.0 <= 4 {
            return Err(SqlError::new(&messages::CANNOT_DETACH_SYSTEM, &[]));
        }
        let in_use = || {
            let args: [&dyn std::fmt::Display; 2] = [&"database", &db.db.name];
            SqlError::new(&messages::CANNOT_DETACH_IN_USE, &args).with_state(2)
        };
        let here = self.session.is_in(db.db.id);
        if here || self.session.try_alone(&db, Some(Duration::ZERO)).is_err() {
            return Err(in_use());
        }
        let id = db.db.id;
        let files = db.entry.read().files.clone();
        let result = databases.detach(&db);
        self.session.among_others();
        drop(db);
        if result.is_ok() {
            databases.await_closed(&files);
            let _ = suspect_pages::forget(&instance, id, None);
        }
        result
    }
}
