//! Restored files take the places of those that were there: what comes after a restore's point of no return.
//!
//! That point is the change of master's list, by which the restored database is the one of that name. What goes wrong later
//! is told, and undoes nothing: the database is RECOVERY_PENDING (945) until its files have their places, for which a start,
//! ALTER DATABASE SET ONLINE, SET EMERGENCY or the next RESTORE go on where it stopped. It is listed at every moment.
//! When nobody can say whether the list was changed, because master's log has failed, the next start finds out.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_access::database_options::option;
use duramen_backup::Restores;
use duramen_base::SqlResult;
use duramen_catalog::DatabaseEntry;

use crate::databases::{Databases, os_error};
use crate::unavailable::Unavailable;

/// Files that wait to take the place of others.
pub(crate) const RESTORING_SUFFIX: &str = "~restoring";

/// What there was in the place of a restored database.
enum Before {
    Nothing,
    Open(DatabaseEntry),
    Gone(Arc<Unavailable>),
}

impl Unavailable {
    /// Files of it wait beside those whose places they take: what is in those places is not of this database.
    pub fn is_swapping(&self) -> bool {
        self.entry.options & option::SWAPPING != 0
    }
}

impl Databases {
    /// The point of no return, and what comes after it: `laid`, closed and whole, becomes `entry` in the place of `replaced`.
    pub(crate) fn replace_by_restored(
        &self,
        laid: &DatabaseEntry,
        entry: DatabaseEntry,
        replaced: Option<&DatabaseEntry>,
    ) -> SqlResult<()> {
        let master = self.master()?;
        let mut before = Before::Nothing;
        if let Some(old) = replaced {
            let (open, gone) = (
                self.get(old.id),
                self.unavailable.read().get(&old.id).cloned(),
            );
            self.set_recovering(entry.clone());
            if let Some(open) = open {
                self.close(&open);
                open.db.detach();
                before = Before::Open(open.entry.read().clone());
            } else if let Some(gone) = gone {
                before = Before::Gone(gone);
            }
            // One that stays is not of the new database.
            let _ = Restores::new(&self.engine, &self.restore_files(old)).forget_page_restore();
        }
        let changed = self.in_master(&master.catalog, |r, tx| {
            r.remove(tx, laid.id)?;
            r.replace(tx, &entry)
        });
        if let Err(e) = changed {
            match master.db.log() {
                Some(log) if log.poisoned() => self.put_pending(entry, e.clone()),
                _ => {
                    self.delete_files(laid);
                    let removed = self.in_master(&master.catalog, |r, tx| r.remove(tx, laid.id));
                    self.as_before(before, entry);
                    removed?;
                }
            }
            return Err(e);
        }
        if let Some(old) = replaced {
            let kept = |path: &String| !entry.files.iter().any(|n| n.path == *path);
            let old = old.files.iter().map(|f| &f.path);
            old.filter(|p| kept(p)).for_each(|p| self.delete_file(p));
        }
        self.end_swap(entry)
    }

    /// The list says what it said: so does this server.
    fn as_before(&self, before: Before, entry: DatabaseEntry) {
        match before {
            Before::Open(old) => {
                // What goes wrong is in the list then.
                let _ = self.open_again(old);
            }
            Before::Gone(gone) => drop(self.unavailable.write().insert(gone.entry.id, gone)),
            Before::Nothing => drop(self.unavailable.write().remove(&entry.id)),
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Gives restored files their places, if they have not got them, and makes the database what it is to be: RESTORING or
    /// open. The lock of changes of the list is held. What goes wrong leaves it RECOVERY_PENDING, or as an opening does.
    pub(crate) fn end_swap(&self, entry: DatabaseEntry) -> SqlResult<()> {
        let entry = self.swapped(entry)?;
        match entry.options & option::RESTORING != 0 {
            true => {
                self.set_restoring(entry);
                Ok(())
            }
            false => self.open_again(entry),
        }
    }

    /// Files that wait beside have their places, and master's list says so. Else the database is RECOVERY_PENDING.
    pub(crate) fn swapped(&self, mut entry: DatabaseEntry) -> SqlResult<DatabaseEntry> {
        if entry.options & option::SWAPPING == 0 {
            return Ok(entry);
        }
        let waiting = entry.clone();
        let done = self.swap_files(&entry).and_then(|()| {
            entry.options &= !option::SWAPPING;
            let master = self.master()?;
            self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))
        });
        match done {
            Ok(()) => Ok(entry),
            Err(e) => {
                self.put_pending(waiting, e.clone());
                Err(e)
            }
        }
    }

    /// Goes on with a restore over the database of that name which has not come to its end. Only files that do not get their
    /// places are an error; how the database opens with them is seen in its state.
    pub fn go_on_with_swap(&self, name: &str) -> SqlResult<()> {
        let waiting = self.find_unavailable(name).filter(|u| u.is_swapping());
        let Some(waiting) = waiting else {
            return Ok(());
        };
        let _one = self.admin.lock();
        let ended = self.end_swap(waiting.entry.clone());
        let still = self.find_unavailable(name);
        match ended {
            Err(e) if still.is_some_and(|u| u.is_swapping()) => Err(e),
            _ => Ok(()),
        }
    }

    /// Files that wait beside take their places, durably; done before, or begun before, it goes on.
    pub(crate) fn swap_files(&self, entry: &DatabaseEntry) -> SqlResult<()> {
        let disk = &self.engine.env.disk;
        for f in &entry.files {
            let path = self.resolve(&f.path);
            let restoring = self.restoring_path(&f.path);
            let renamed = match disk.exists(&restoring) {
                true => disk.rename(&restoring, &path),
                false => Ok(()),
            };
            // Also of one that was renamed before: whoever did it may not have come to this.
            let durable = renamed.and_then(|()| match path.parent() {
                Some(dir) => disk.sync_dir(dir),
                None => Ok(()),
            });
            durable.map_err(|e| os_error(&e, &path))?;
        }
        Ok(())
    }

    /// Nobody wants the files that wait beside any more.
    pub(crate) fn delete_restoring_files(&self, entry: &DatabaseEntry) {
        for f in &entry.files {
            self.delete_file(&format!("{}{RESTORING_SUFFIX}", f.path));
        }
    }

    fn restoring_path(&self, shown: &str) -> PathBuf {
        self.resolve(&format!("{shown}{RESTORING_SUFFIX}"))
    }
}
