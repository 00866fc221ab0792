//! DBCC CHECKDB, CHECKTABLE and CHECKFILEGROUP of tempdb, of which there is no copy of a moment: its log is never read.
//!
//! As in SQL Server, allocation and the catalog are not checked (CHECKALLOC and CHECKCATALOG say so and end), and the tables
//! are looked at as they are, each under an S lock. Those that nobody changes just now are locked and looked at together, so
//! that one pass over the pages does for all of them; whoever changes one is waited for, table by table, holding nothing
//! else, and no longer than LOCK_TIMEOUT says (5245).
//!
//! What system transactions do (splits, ghosts) is kept in step by no lock of a table. So what is found is looked for a
//! second time, and said when it is found again, word for word. Base tables are tables like others: who makes a temporary
//! table meanwhile waits.
//! <https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-checkdb-transact-sql>

use std::collections::BTreeSet;
use std::time::Duration;

use duramen_access::open_db::OpenDb;
use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::system_tables::system_tables;
use duramen_check::{Checked, Request, check_live};
use duramen_core::activity::Check;
use duramen_txn::{LockDuration, LockError, LockMode, Resource};

use super::Call;

/// S locks on tables of tempdb, as long as it lasts.
struct Locked<'a> {
    call: &'a Call<'a>,
    db: &'a OpenDb,
    held: BTreeSet<ObjectId>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let session = self.call.session;
        for id in &self.held {
            let resource = Resource::Object(self.db.db.id, *id);
            let locks = &session.instance.locks;
            locks.unlock_session(&session.owner, &resource, session.transaction.is_some());
        }
    }
}

impl<'a> Locked<'a> {
    fn none(call: &'a Call<'a>, db: &'a OpenDb) -> Locked<'a> {
        Locked {
            call,
            db,
            held: BTreeSet::new(),
        }
    }

    /// False when somebody else has it for longer than `timeout`.
    fn take(&mut self, id: ObjectId, timeout: Option<Duration>) -> SqlResult<bool> {
        let session = self.call.session;
        let resource = Resource::Object(self.db.db.id, id);
        let (mode, duration) = (LockMode::S, LockDuration::Session);
        let locks = &session.instance.locks;
        match locks.lock(&session.owner, &resource, mode, duration, timeout) {
            Ok(_) => {
                self.held.insert(id);
                Ok(true)
            }
            Err(LockError::Timeout) => Ok(false),
            Err(e) => Err(duramen_txn::errors::lock_error(e, session.spid)
                .unwrap_or_else(duramen_query::cancelled)),
        }
    }
}

/// What was found, and 5245 for each table that could not be locked.
pub(super) fn look(
    call: &Call<'_>,
    db: &OpenDb,
    request: &Request,
) -> SqlResult<(Checked, Vec<SqlError>)> {
    let request = Request {
        allocation: false,
        catalog: false,
        ..request.clone()
    };
    let wanted = |id: &ObjectId| request.objects.is_empty() || request.objects.contains(id);
    let snapshot = db.catalog.snapshot()?;
    let base: BTreeSet<ObjectId> = system_tables().map(|t| ObjectId(t.id)).collect();
    let user = snapshot.tables.keys().copied();
    let tables: BTreeSet<ObjectId> = base.iter().copied().chain(user).filter(wanted).collect();
    let mut free = Locked::none(call, db);
    let mut busy = Vec::new();
    for id in tables {
        if !free.take(id, Some(Duration::ZERO))? {
            busy.push(id);
        }
    }
    let mut all = Checked::default();
    if request.objects.is_empty() || !free.held.is_empty() {
        all = twice(call, db, &request, &free.held)?;
    }
    drop(free);
    let timeout = u64::try_from(call.session.options.lock_timeout);
    let timeout = timeout.ok().map(Duration::from_millis);
    let mut skipped = Vec::new();
    for id in busy {
        let mut locked = Locked::none(call, db);
        if !locked.take(id, timeout)? {
            let ObjectId(number) = id;
            skipped.push(SqlError::new(&messages::CHECK_TABLE_LOCKED, &[&number]));
            continue;
        }
        // It may have gone while it was waited for.
        if !base.contains(&id) && !db.catalog.snapshot()?.tables.contains_key(&id) {
            continue;
        }
        let request = Request {
            objects: vec![id],
            ..request.clone()
        };
        let found = twice(call, db, &request, &locked.held)?;
        all.findings.extend(found.findings);
        all.objects.extend(found.objects);
    }
    all.objects.sort_by_key(|o| o.id);
    Ok((all, skipped))
}

/// What is found of these tables each time that it is looked for.
fn twice(
    call: &Call<'_>,
    db: &OpenDb,
    request: &Request,
    held: &BTreeSet<ObjectId>,
) -> SqlResult<Checked> {
    let activity = &call.session.activity;
    let once = || -> SqlResult<Checked> {
        let mut checked = check_live(&db.db, request, &mut |percent| {
            activity.checking(Check::Tables, percent);
            match call.cancel.is_set() {
                true => Err(duramen_query::cancelled()),
                false => Ok(()),
            }
        })?;
        checked.objects.retain(|o| held.contains(&o.id));
        let judged: BTreeSet<i32> = checked.objects.iter().map(|o| o.id.0).collect();
        checked
            .findings
            .retain(|f| !f.is_allocation() && f.object.is_some_and(|o| judged.contains(&o)));
        Ok(checked)
    };
    let mut checked = once()?;
    if !checked.findings.is_empty() {
        let again = once()?;
        checked.findings.retain(|f| again.findings.contains(f));
    }
    Ok(checked)
}
