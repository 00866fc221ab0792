//! Temporary tables and procedures: `#t` for a session and what it calls, `##t` for everybody.
//!
//! They are tables and procedures of tempdb, whatever the current database; what stands before the name does not count. A local one has a name there that no other session's has: padded with underscores to 116
//! characters and ended by twelve hexadecimal digits. It is dropped when the scope that made it ends; what was made or
//! seen inside an open transaction is hidden at once and dropped when the transaction has ended.
//!
//! A global one is its session's whatever others do with it, and goes with that session: who ends waits for those that have
//! changed it in transactions that are still open, however briefly its statements were to wait for locks. Another object
//! that has its name meanwhile, since it was dropped or its making rolled back, is another session's.
//!
//! The body of a temporary procedure runs in the database in which it is called (*assumed*: as a `sp_` procedure of the
//! system does), with the rights of whoever calls it: it opens nothing that its owner may see.

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_access::temporary::{NAME_LIMIT, TemporaryTable, is_temporary, nobodys, owner_mark};
use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_define::Ddl;
use duramen_observe::Counter;
use duramen_program::program::same;
use duramen_program::statements::Kind;
use duramen_query::host::{Source, Table};
use duramen_tsql::ast;
use duramen_txn::TxnKind;

use super::Run;
use super::failure::RunResult;
use crate::session::Session;

const TEMPDB: &str = "tempdb";
/// SET LOCK_TIMEOUT of those that wait as long as it takes.
const NO_TIMEOUT: i64 = -1;

fn in_tempdb(full: &str, line: u32) -> ast::ObjectName {
    ast::ObjectName {
        parts: vec![TEMPDB.to_owned(), "dbo".to_owned(), full.to_owned()],
        line,
    }
}

/// An error about a table of tempdb, in the words of the user.
pub(super) fn shown_as(
    mut error: SqlError,
    there: &ast::ObjectName,
    written: &ast::ObjectName,
) -> SqlError {
    error.message = error.message.replace(&there.display(), &written.display());
    error
}

impl Session {
    /// The temporary procedure that a name means: its name in tempdb.
    pub(crate) fn temporary_procedure(&self, name: &ast::ObjectName) -> Option<ast::ObjectName> {
        let mut known = self.state.temporary.iter().rev();
        let found = known.find(|t| t.procedure && same(&t.name, name.name()));
        match found {
            Some(t) => Some(in_tempdb(&t.full, name.line)),
            None if name.name().starts_with("##") => Some(in_tempdb(name.name(), name.line)),
            None => None,
        }
    }

    /// Whether a temporary name means nothing that the session may define anew or drop: a local one that is not its own, or
    /// a global procedure that another session has made. *Assumed*: 208 and 3701, as for what is not there.
    pub(crate) fn is_anothers_procedure(&self, name: &ast::ObjectName) -> bool {
        let own = |t: &TemporaryTable| {
            let is_it = |id| t.is_local() || id == t.id;
            let is_there = || matches!(self.find_in_tempdb(&t.full), Ok(Some(id)) if is_it(id));
            t.procedure && same(&t.name, name.name()) && is_there()
        };
        is_temporary(name) && !self.state.temporary.iter().any(own) && !self.who.sysadmin
    }

    /// The object of that name in tempdb.
    fn find_in_tempdb(&self, full: &str) -> SqlResult<Option<ObjectId>> {
        let Some(db) = self.instance.databases.find(TEMPDB) else {
            return Ok(None);
        };
        let snapshot = db.catalog.snapshot()?;
        let found = snapshot
            .schema("dbo")
            .and_then(|s| snapshot.find(s.id, full));
        Ok(found.map(|o| o.id))
    }

    /// A temporary table by the user's name.
    pub(crate) fn temporary(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn Table>>> {
        let full = match self.temporary_name(name.name()) {
            Some(full) => full,
            None if name.name().starts_with("##") => name.name(),
            None => return Ok(None),
        };
        let found = self.instance.table(TEMPDB, &in_tempdb(full, name.line))?;
        Ok(match found {
            Some(Source::Table(t)) => Some(t),
            _ => None,
        })
    }

    /// Where a definition that names a table belongs: the database, and the name there.
    pub(crate) fn definition_target(&self, name: &ast::ObjectName) -> (String, ast::ObjectName) {
        if is_temporary(name) {
            let written = name.name();
            let full = match self.temporary_name(written) {
                Some(full) => full.to_owned(),
                None if written.starts_with("##") => written.to_owned(),
                None => nobodys(written),
            };
            return (TEMPDB.to_owned(), in_tempdb(&full, name.line));
        }
        let database = name.database().unwrap_or(&self.database);
        (database.to_owned(), name.clone())
    }

    /// Hides the local tables of nesting level `level` and deeper, and drops what no transaction holds.
    pub(crate) fn drop_temporaries(&mut self, level: u32) {
        let state = &mut self.state;
        let known = std::mem::take(&mut state.temporary);
        let (gone, kept): (Vec<_>, Vec<_>) = known.into_iter().partition(|t| t.level >= level);
        state.temporary = kept;
        state.hidden.extend(gone);
        if self.transaction.is_some() || self.state.hidden.is_empty() {
            return;
        }
        let Some(db) = self.instance.databases.find(TEMPDB) else {
            return;
        };
        let _viewing = duramen_txn::definitions::view_as(&self.owner);
        for gone in std::mem::take(&mut self.state.hidden) {
            // Tempdb is made anew at every start: a failure loses space only, and the name of a global one.
            let Some(id) = self.what_is(&gone) else {
                continue;
            };
            while self.drop_temporary(&db, id) == Err(messages::DEADLOCK_VICTIM.number) {}
        }
    }

    /// What a temporary object is now. The name of a local one is nobody else's, but what has it may be another than the one
    /// that was made first: one that a rollback has brought back.
    fn what_is(&self, known: &TemporaryTable) -> Option<ObjectId> {
        match known.is_local() {
            true => self.find_in_tempdb(&known.full).ok().flatten(),
            false => Some(known.id),
        }
    }

    /// Drops what is not the session's scope's any more, however long others keep it; the number of what has failed.
    fn drop_temporary(&self, db: &Arc<OpenDb>, id: ObjectId) -> Result<(), i32> {
        let tx = self.new_transaction(TxnKind::Autocommit, "DROPOBJ");
        tx.set_lock_timeout(NO_TIMEOUT);
        let dropped = Ddl::bare(db, &tx).drop_temporary(id);
        let ended = match &dropped {
            Ok(()) => self.finish(&tx, None),
            Err(_) => self.instance.rollback(&tx, None),
        };
        dropped.and(ended).map_err(|e| e.number)
    }
}

impl Run<'_> {
    pub(super) fn create_temporary(&mut self, stmt: &ast::CreateTable) -> RunResult<()> {
        let name = stmt.name.name().to_owned();
        let full = self.new_temporary(&name, stmt.name.line)?;
        let created = ast::CreateTable {
            name: ast::ObjectName::single(&full, stmt.name.line),
            ..stmt.clone()
        };
        self.define_in(TEMPDB, Kind::CreateTable.definition(), |d| {
            d.create_table(&created)
        })?;
        self.note_temporary(name, full, false)
    }

    /// A name in tempdb for a new temporary table or procedure; 2714 when the scope has one of that name.
    pub(super) fn new_temporary(&mut self, name: &str, line: u32) -> RunResult<String> {
        let level = self.session.state.nesting;
        let known = &self.session.state.temporary;
        let mine = known.iter().rev().find(|t| same(&t.name, name));
        // One that was dropped, or whose making was rolled back, is in the list but not in the catalog.
        if let Some(mine) = mine.filter(|t| t.level == level) {
            if self.session.find_in_tempdb(&mine.full)?.is_some() {
                let error = SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]).with_state(6);
                return Err(error.at_line(line as i32).into());
            }
            match self.session.in_transaction() {
                // What the transaction has dropped comes back with it: the name must lead to either.
                true if mine.is_local() => return Ok(mine.full.clone()),
                true => {}
                false => {
                    let temporary = &mut self.session.state.temporary;
                    temporary.retain(|t| t.level != level || !same(&t.name, name));
                }
            }
        }
        if name.starts_with("##") {
            return Ok(name.to_owned());
        }
        let length = name.chars().count();
        if length > NAME_LIMIT {
            let args: [&dyn std::fmt::Display; 2] = [&name, &NAME_LIMIT];
            return Err(SqlError::new(&messages::OBJECT_NAME_TOO_LONG, &args)
                .at_line(line as i32)
                .into());
        }
        let session = &mut self.session;
        session.state.made = session.state.made.wrapping_add(1);
        let made = session.state.made;
        let padding = "_".repeat(NAME_LIMIT - length);
        let owner = owner_mark(session.spid);
        Ok(format!("{name}{padding}{owner}{made:08X}"))
    }

    /// Makes a table or procedure that was created visible. A global one lives until the session ends.
    pub(super) fn note_temporary(
        &mut self,
        name: String,
        full: String,
        procedure: bool,
    ) -> RunResult<()> {
        let Some(id) = self.session.find_in_tempdb(&full)? else {
            return Ok(());
        };
        duramen_observe::count(Counter::TempTablesCreated, u64::from(!procedure));
        let level = match name.starts_with("##") {
            true => 0,
            false => self.session.state.nesting,
        };
        let table = TemporaryTable {
            name,
            full,
            id,
            level,
            procedure,
        };
        let known = &mut self.session.state.temporary;
        known.retain(|t| t.full != table.full || !t.is_local());
        known.push(table);
        Ok(())
    }
}
