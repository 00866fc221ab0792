//! A database in which a rollback has failed: taken out of use, and recovered once.
//!
//! Storage has shut it down (`duramen_storage`, rollback): nothing is appended to its log any more and its locks stay. Here it
//! becomes RECOVERING, so that nobody comes in; whoever is in it, or holds or wants anything of it, is ended like by KILL.
//! When all have left, what memory has of it is dropped and it is opened as after a crash. If undo fails again it is SUSPECT
//! (3414) and stays so until somebody restores it or the server starts again. Nobody leaves `master` and tempdb: everybody
//! is ended. tempdb is made anew.

use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SqlError};
use duramen_os::thread;

use crate::activity::Activity;
use crate::databases::Databases;
use crate::instance_core::InstanceCore;

/// How long a wait for sessions to leave looks away.
const LOOK: Duration = Duration::from_millis(10);

impl InstanceCore {
    /// Has databases that storage shuts down restarted.
    pub fn restart_what_is_shut_down(self: &Arc<InstanceCore>) {
        let weak: Weak<InstanceCore> = Arc::downgrade(self);
        let hook = move |id: DbId, why: &SqlError| {
            let Some(instance) = weak.upgrade() else {
                return;
            };
            let Some(open) = instance.databases.get(id) else {
                return;
            };
            let name = &open.db.name;
            instance.databases.engine.notice(&format!(
                "Database {name} was shutdown due to error {} in routine 'RollbackToLsn'. Restart for non-snapshot databases will be attempted after all connections to the database are aborted.",
                why.number
            ));
            instance.databases.shut(&open);
            let (weak, kept) = (Arc::downgrade(&instance), open.clone());
            let restart = move || restart(&weak, &kept);
            if thread::try_spawn("database restart", restart).is_err() {
                // It stays as it is: SET ONLINE or the next start tries.
                let entry = open.entry.read().clone();
                let _ = instance.databases.set_aside(entry, why.clone());
            }
        };
        self.databases.engine.set_on_shut_down(Box::new(hook));
    }

    /// Whether a session may still use the database, and is to be ended for it.
    fn is_in(&self, activity: &Activity, id: DbId) -> bool {
        let everybody = matches!(id, DbId::MASTER | DbId::TEMPDB);
        let idle_and_dead = activity.is_dead();
        let uses = everybody || activity.database() == id.0 || activity.owner.holds_of(id);
        uses && !idle_and_dead
    }
}

fn restart(instance: &Weak<InstanceCore>, open: &Arc<OpenDb>) {
    let id = open.db.id;
    loop {
        let Some(instance) = instance.upgrade() else {
            return;
        };
        let _owned = instance.own();
        let mut there = instance.sessions();
        there.retain(|activity| instance.is_in(activity, id));
        if there.is_empty() {
            break;
        }
        for activity in &there {
            // What it had open here is lost, and undone by the recovery; elsewhere it is rolled back.
            let _ = instance.end(activity);
        }
        drop(instance);
        thread::sleep(LOOK);
    }
    if let Some(instance) = instance.upgrade() {
        let _owned = instance.own();
        open.db.detach();
        instance.locks.forget_database(id);
        instance.databases.reopen_shut(open);
    }
}

impl Databases {
    /// Nobody comes in from now on.
    fn shut(&self, open: &OpenDb) {
        self.set_recovering(open.entry.read().clone());
        self.close(open);
    }

    fn reopen_shut(&self, open: &OpenDb) {
        let entry = open.entry.read().clone();
        let id = entry.id;
        let result = match id {
            DbId::TEMPDB => self.make_tempdb_again(entry),
            _ => {
                let starting = format!("Starting up database '{}'.", entry.name);
                self.engine.notice(&starting);
                self.open_again(entry)
            }
        };
        if let Err(e) = result {
            // What went wrong is in `unavailable`, and was said there.
            let _ = e;
        }
    }
}
