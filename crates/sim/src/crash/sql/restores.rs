//! Restores: beside the database that a backup is of, over it, and step by step; what a backup may hold, and what came of it.
//!
//! A restore over the first database has one point of no return. What is cut or refused before leaves the old database, whole;
//! afterwards it is the one of the backup, whole, though it may have to be given its files' places first: by a start or by
//! SET ONLINE. Nothing else may come of it.

use std::sync::Arc;

use duramen_core::unavailable::DatabaseState;
use duramen_events::instance::Instance;
use duramen_session::Session;

use super::super::image;
use super::super::wire::execute;
use super::disk::DATABASES;
use super::fault::Fault;
use super::found;
use super::life::Life;
use super::model::{Db, Model};
use super::world::World;

/// What is restored step by step.
pub const ROLLED: &str = "q";

/// A database that waits for its next log backup.
#[derive(Default)]
pub struct Rolling {
    /// What was restored: a backup, and log backups.
    pub files: Vec<String>,
    /// What it holds then.
    states: Vec<Model>,
    /// The step that was begun and has not been told as done.
    pub begun: Option<Begun>,
}

pub struct Begun {
    /// `None`: RECOVERY and nothing more.
    pub file: Option<String>,
    states: Vec<Model>,
}

impl Rolling {
    /// These files may be restored next, the last of them upon the others.
    pub fn takes(&self, files: &[String]) -> bool {
        let Some((next, before)) = files.split_last() else {
            return false;
        };
        let begun = self.begun.as_ref().map(|b| b.file.as_ref());
        self.files == before && begun.is_none_or(|file| file == Some(next))
    }

    pub fn takes_recovery(&self) -> bool {
        let begun = self.begun.as_ref().map(|b| &b.file);
        !self.files.is_empty() && begun.is_none_or(Option::is_none)
    }
}

impl World {
    /// A step begins: of these files the last, or RECOVERY.
    pub fn begin_roll(&mut self, files: &[String]) {
        let rolling = match files.len() {
            1 => self.rolling.insert(Rolling::default()),
            _ => self.rolling.get_or_insert_default(),
        };
        let file = files.last().cloned();
        let states = match &file {
            Some(file) => self.backups.get(file).map(|k| k.states.clone()),
            None => Some(rolling.states.clone()),
        };
        rolling.begun = Some(Begun {
            file,
            states: states.unwrap_or_default(),
        });
    }

    /// After a start: the database is as far as it was, or open, if that was begun. What nobody goes on with goes.
    pub fn roll_after_start(
        &mut self,
        instance: &Arc<Instance>,
        session: &mut Session,
    ) -> Result<(), Fault> {
        let waits = instance.databases.find_unavailable(ROLLED);
        let waits = waits.is_some_and(|u| u.state == DatabaseState::Restoring);
        let is_open = instance.databases.find(ROLLED).is_some();
        match self.rolling.take() {
            Some(rolling) if waits && !rolling.files.is_empty() => self.rolling = Some(rolling),
            Some(Rolling { files, .. }) if files.is_empty() && !is_open => {
                drop_it(session, ROLLED)?
            }
            Some(Rolling {
                begun: Some(begun), ..
            }) if is_open => {
                look_and_drop(session, (&begun.states, DATABASES[0]), ROLLED)?;
                self.restores += 1;
                self.chains += 1;
            }
            Some(rolling) => {
                let text = format!(
                    "{ROLLED} does not wait any more for what follows {:?}",
                    rolling.files
                );
                return Err(Fault::new("rolled", text));
            }
            None => drop_it(session, ROLLED)?,
        }
        Ok(())
    }
}

impl Life<'_> {
    /// A step of a chain was done.
    pub fn rolled(&mut self, last: bool) -> Result<(), Fault> {
        let Some(rolling) = &mut self.world.rolling else {
            return Ok(());
        };
        let Some(begun) = rolling.begun.take() else {
            return Ok(());
        };
        rolling.files.extend(begun.file);
        rolling.states = begun.states;
        if !last {
            return Ok(());
        }
        let states = std::mem::take(&mut rolling.states);
        self.world.rolling = None;
        self.world.chains += 1;
        self.look_and_drop((&states, DATABASES[0]), ROLLED)
    }

    /// A step of a chain was interrupted: it is done, when the database is open.
    pub fn roll_interrupted(&mut self) -> Result<(), Fault> {
        match self.instance.databases.find(ROLLED) {
            Some(_) if !self.is_off() => self.rolled(true),
            _ => Ok(()),
        }
    }

    /// Compares a database that was made from a backup with what that may hold, and drops it.
    pub fn restored(&mut self, path: &str, db: &str) -> Result<(), Fault> {
        let kept = self.world.backups.get(path);
        let states = kept.map_or_else(Vec::new, |k| k.states.clone());
        let of = kept.map_or_else(String::new, |k| k.of.clone());
        self.look_and_drop((&states, &of), db)
    }

    fn look_and_drop(&mut self, kept: (&[Model], &str), db: &str) -> Result<(), Fault> {
        let session = image::login_to(&self.instance, "master");
        let mut session = session.map_err(|e| Fault::new("login", e))?;
        match look_and_drop(&mut session, kept, db) {
            Err(_) if self.is_off() => Ok(()),
            Err(fault) => Err(fault),
            Ok(()) => {
                self.world.restores += 1;
                Ok(())
            }
        }
    }

    /// The first database has become what is in a backup. Without power the next start is looked at.
    pub fn replaced(&mut self, path: &str) -> Result<(), Fault> {
        let db = DATABASES[0];
        self.end_break();
        let session = image::login_to(&self.instance, db);
        let found = session
            .map_err(|e| Fault::new("login", e))
            .and_then(|mut session| Ok((found::read(&mut session, db)?, session)));
        let (found, mut session) = match found {
            Err(_) if self.is_off() => return self.replaced_unseen(path),
            other => other?,
        };
        let kept = self.world.backups.get(path);
        let states = kept.map_or(&[][..], |k| &k.states);
        let mut state = backup_like((states, db), &found)?;
        // Whether there is a place for one more partition nobody can read.
        let sql = "ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]";
        let reply = execute(&mut session, sql);
        if self.is_off() {
            return self.replaced_unseen(path);
        }
        if let Some(e) = reply.errors.first() {
            return Err(Fault::new(format!("error {}", e.number), e.to_string()));
        }
        state.next_used = true;
        self.world.model.dbs.insert(db.to_owned(), state);
        self.world.restores += 1;
        self.world.cut_restore = None;
        Ok(())
    }

    /// It is what is in this backup, and nobody has looked: one of what that may hold.
    fn replaced_unseen(&mut self, path: &str) -> Result<(), Fault> {
        let kept = self.world.backups.get(path);
        let states = kept.map_or_else(Vec::new, |k| k.states.clone());
        let states = states.iter().filter_map(|m| m.dbs.get(DATABASES[0]));
        self.world.become_one_of = states.cloned().collect();
        Ok(())
    }

    /// A restore over the first database has said an error, with the power on.
    pub fn not_replaced(&mut self, path: &str, sql: &str) -> Result<(), Fault> {
        let db = DATABASES[0];
        self.end_break();
        let databases = &self.instance.databases;
        if databases.find(db).is_some() {
            self.world.cut_restore = None;
            return Ok(());
        }
        let state = databases.find_unavailable(db).map(|u| u.state);
        let session = image::login_to(&self.instance, "master");
        let mut session = session.map_err(|e| Fault::new("login", e))?;
        if state == Some(DatabaseState::RecoveryPending) {
            let told = execute(&mut session, &format!("USE {db}"));
            if told.errors.first().map(|e| e.number) != Some(945) {
                let text = format!("USE of what is RECOVERY_PENDING: {:?}", told.errors);
                return Err(Fault::new("pending", text));
            }
            self.world.pending += 1;
            if self.world.pending.is_multiple_of(2) {
                // The next start goes on: power fails in the next change.
                self.replaced_unseen(path)?;
                self.disk.power_off_after(0);
                let _ = self.disk.env().disk.remove("/data/nothing".as_ref());
                return Ok(());
            }
            self.done_by(&mut session, &format!("ALTER DATABASE {db} SET ONLINE"))?;
        } else if state != Some(DatabaseState::Restoring) {
            let text = format!("{db} is {state:?} after a restore over it that was refused");
            return Err(Fault::new("refused restore", text));
        }
        if self.instance.databases.find(db).is_none() {
            // A chain that was left in between.
            self.done_by(&mut session, sql)?;
        }
        drop(session);
        self.replaced(path)
    }

    fn done_by(&mut self, session: &mut Session, sql: &str) -> Result<(), Fault> {
        match execute(session, sql).errors.first() {
            Some(e) if !self.is_off() => {
                let text = format!("after a restore that was refused: {sql}: {e}");
                Err(Fault::new(format!("error {}", e.number), text))
            }
            _ => Ok(()),
        }
    }
}

fn look_and_drop(session: &mut Session, kept: (&[Model], &str), db: &str) -> Result<(), Fault> {
    let found = found::read(session, db)?;
    backup_like(kept, &found)?;
    drop_it(session, db)
}

fn drop_it(session: &mut Session, db: &str) -> Result<(), Fault> {
    let sql = format!("DROP DATABASE IF EXISTS {db}");
    match execute(session, &sql).errors.first() {
        Some(e) => Err(Fault::new(
            format!("error {}", e.number),
            format!("{sql}: {e}"),
        )),
        None => Ok(()),
    }
}

/// Of what a backup of a database may hold, what was found.
fn backup_like((states, of): (&[Model], &str), found: &found::Found) -> Result<Db, Fault> {
    let none = || Fault::new("restored backup", "nobody knows the backup");
    let mut first = None;
    for db in states.iter().filter_map(|m| m.dbs.get(of)) {
        match found.difference(db) {
            None => return Ok(db.clone()),
            Some(f) => drop(first.get_or_insert(f)),
        }
    }
    let f = first.ok_or_else(none)?;
    Err(Fault::new(format!("restored {}", f.class), f.text))
}

/// A restore over the first database that power has cut is done again, if it was not through. Then that has a place for one
/// more partition: whether it has, nobody can read.
pub fn restore_again(
    instance: &Arc<Instance>,
    session: &mut Session,
    sql: &str,
) -> Result<(), Fault> {
    let db = DATABASES[0];
    let again = instance
        .databases
        .find(db)
        .is_none()
        .then(|| sql.to_owned());
    let place = format!("USE {db}; ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; USE master");
    for sql in again.into_iter().chain([place]) {
        if let Some(e) = execute(session, &sql).errors.first() {
            let text = format!("after a restore that power has cut: {sql}: {e}");
            return Err(Fault::new(format!("error {}", e.number), text));
        }
    }
    Ok(())
}
