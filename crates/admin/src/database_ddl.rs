//! CREATE, ALTER and DROP DATABASE.
//!
//! What a statement changes in several places (master's list, the database's own list of files, files on disks) is
//! written in an order that a crash cannot cut into something wrong; see [`duramen_core::databases`].

pub mod create;
mod files;
pub mod option_rows;
pub mod options;
mod removal;
mod tempdb;
mod versioning;

use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_access::open_db::OpenDb;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::databases::Databases;
use duramen_core::session_core::SessionCore;
use duramen_tsql::ast::{self, AlterDatabaseAction};
use duramen_types::CollationId;

use duramen_events::instance::Instance;

/// One of these statements at work for a session.
pub struct Admin<'s> {
    instance: Arc<Instance>,
    session: &'s mut SessionCore,
    /// What is told besides the result, in order: messages, and errors that come before the last one.
    pub notes: Vec<SqlError>,
    cancel: CancelToken,
}

fn refuse(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}

impl<'s> Admin<'s> {
    pub fn new(
        instance: Arc<Instance>,
        session: &'s mut SessionCore,
        cancel: &CancelToken,
    ) -> Admin<'s> {
        Admin {
            instance,
            session,
            notes: Vec::new(),
            cancel: cancel.clone(),
        }
    }

    pub(crate) fn session(&self) -> &SessionCore {
        self.session
    }

    pub(crate) fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    pub(crate) fn instance(&self) -> Arc<Instance> {
        self.instance.clone()
    }

    pub(crate) fn note(
        &mut self,
        message: &'static messages::Message,
        args: &[&dyn std::fmt::Display],
    ) {
        self.notes.push(SqlError::new(message, args));
    }

    /// ALTER DATABASE: 5069 follows what went wrong with SET, 5009 why a new file could not be made, 5072 why the collation
    /// stays; other errors stand alone.
    pub fn alter(&mut self, stmt: &ast::AlterDatabase) -> SqlResult<()> {
        let current = self.session.database.clone();
        let name = stmt.name.clone().unwrap_or_else(|| current.to_string());
        let result = self.alter_named(&name, &stmt.action);
        result.map_err(|mut e| {
            // What is not supported is one error, as everywhere.
            let alone = [
                messages::NOT_SUPPORTED.number,
                messages::ALTER_DATABASE_NO_ACCESS.number,
            ];
            let next = match &stmt.action {
                _ if alone.contains(&e.number) => return e,
                AlterDatabaseAction::Set { .. } => {
                    // Brought online without its files: 945 says what it is now.
                    if e.number == messages::CANNOT_OPEN_FILE.number
                        && let Some(gone) = self.instance().databases.find_unavailable(&name)
                    {
                        self.notes.push(e);
                        e = gone.refusal();
                    }
                    SqlError::new(&messages::ALTER_DATABASE_FAILED, &[])
                }
                AlterDatabaseAction::AddFiles { .. } | AlterDatabaseAction::AddLogFiles(_)
                    if (5100..5200).contains(&e.number) =>
                {
                    SqlError::new(&messages::FILES_NOT_FOUND, &[]).with_state(8)
                }
                AlterDatabaseAction::Collate(wanted)
                    if e.number == messages::DATABASE_LOCK_FAILED.number =>
                {
                    let args: [&dyn std::fmt::Display; 2] = [&name, wanted];
                    SqlError::new(&messages::COLLATION_CANNOT_BE_SET, &args)
                }
                _ => return e,
            };
            self.notes.push(e);
            next
        })
    }

    fn alter_named(&mut self, name: &str, action: &AlterDatabaseAction) -> SqlResult<()> {
        let found = self.session.instance.databases.find(name);
        if found.as_ref().is_some_and(|d| d.is_standby()) {
            return Err(SqlError::new(&messages::ALTER_DATABASE_STATE, &[]));
        }
        if let AlterDatabaseAction::Set {
            options,
            termination,
        } = action
        {
            return self.set(name, options, *termination);
        }
        let db = self.open(name)?;
        db.check_not_in_emergency()?;
        match action {
            AlterDatabaseAction::ModifyName(new) => self.rename(&db, new),
            AlterDatabaseAction::Collate(collation) => self.collate(&db, collation),
            _ => self.alter_files(&db, action),
        }
    }

    /// The open database of that name: 5011 when there is none, 942 when it is offline.
    fn open(&self, name: &str) -> SqlResult<Arc<OpenDb>> {
        let databases = &self.session.instance.databases;
        databases.find(name).ok_or_else(|| {
            let gone = databases.find_unavailable(name);
            gone.map_or_else(
                || SqlError::new(&messages::ALTER_DATABASE_NO_ACCESS, &[&name]),
                |gone| gone.refusal(),
            )
        })
    }

    /// X on the database at once, or 5030; its state says for what.
    fn alone_now(&self, db: &OpenDb, state: u8) -> SqlResult<()> {
        let locked = self.session.try_alone(db, Some(std::time::Duration::ZERO));
        locked.map_err(|_| SqlError::new(&messages::DATABASE_LOCK_FAILED, &[]).with_state(state))
    }

    /// MODIFY NAME: the database is closed and opened again under its new name.
    fn rename(&mut self, db: &Arc<OpenDb>, new: &str) -> SqlResult<()> {
        let databases = &self.instance().databases;
        if db.db.id.0 <= 4 {
            let name = &db.db.name;
            return Err(SqlError::new(&messages::SYSTEM_DATABASE_NAME, &[name]));
        }
        if databases.is_listed(new) && !db.db.name.eq_ignore_ascii_case(new) {
            return Err(SqlError::new(&messages::DATABASE_ALREADY_EXISTS, &[&new]));
        }
        self.alone_now(db, 2)?;
        let result = databases.reopen(db, |entry| entry.name = new.to_owned());
        self.session.among_others();
        result?;
        self.session.call_home(db.db.id, new);
        self.note(&messages::NAME_HAS_BEEN_SET, &[&"database", &new]);
        Ok(())
    }

    /// COLLATE: what columns made from now on have that name no collation.
    fn collate(&mut self, db: &Arc<OpenDb>, name: &str) -> SqlResult<()> {
        let collation = collation(name)?;
        if db.db.id.0 <= 4 {
            let args: [&dyn std::fmt::Display; 2] = [&db.db.name, &name];
            return Err(SqlError::new(&messages::COLLATION_CANNOT_BE_SET, &args));
        }
        self.alone_now(db, 5)?;
        let result = Databases::set_collation(db, collation);
        self.session.among_others();
        result
    }
}

/// 448 for a collation that is not there.
fn collation(name: &str) -> SqlResult<CollationId> {
    CollationId::from_name(name)
        .ok_or_else(|| SqlError::new(&messages::INVALID_COLLATION, &[&name]))
}
