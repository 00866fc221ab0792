//! The end of everybody's work: sessions go, and nothing may be left of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use duramen_events::instance::Instance;
use duramen_os::memory::Clerk;
use duramen_os::thread::{self, JoinHandle};
use duramen_os::time;
use duramen_txn::{LockInfo, Resource};

use super::super::image;
use super::super::wire::execute;
use super::asks;
use super::disk::DATABASES;
use super::fault::Fault;
use super::found;
use super::life::{Life, STUCK};
use super::world::{SESSIONS, check_structures, differs, look, present};

/// Lets everybody go, and looks at everything. Without power nothing is said.
pub fn audit(life: &mut Life<'_>) -> Result<(), Fault> {
    // Those that may not be interrupted wait for what the others hold.
    let mut order: Vec<usize> = (0..SESSIONS).collect();
    order.sort_by_key(|who| life.is_whole(*who));
    for who in order {
        if !life.is_off() {
            life.leave(who)?;
        }
    }
    let since = time::now();
    while !life.leaving.iter().all(JoinHandle::is_finished) && !life.is_off() {
        if since.elapsed() > STUCK {
            return Err(Fault::new(
                "stuck leaving",
                "a session that was killed does not go",
            ));
        }
        thread::sleep(Duration::from_micros(100));
    }
    match whole(life) {
        Err(_) if life.is_off() => Ok(()),
        other => other,
    }
}

fn whole(life: &mut Life<'_>) -> Result<(), Fault> {
    left(life)?;
    nothing_held(life)?;
    let found = look(&life.instance)?;
    if let Some(fault) = differs(&found, &life.world.model) {
        return Err(Fault::new(
            format!("live {}", fault.class),
            format!("when everybody has gone: {}", fault.text),
        ));
    }
    check_structures(&life.instance)?;
    asks::users(&life.instance, &life.world.model)?;
    life.world.audits += 1;
    met(life)?;
    check_database(life)
}

/// A session that has no transaction holds nothing but the databases that it is in; one that has gone not even them.
pub fn holds_nothing(life: &Life<'_>, spid: u16, has_gone: bool) -> Result<(), Fault> {
    if life.is_off_already() {
        return Ok(());
    }
    let all = life.instance.databases.all();
    let locks = all.first().map(|d| d.db.engine.locks.snapshot());
    let own = |l: &&LockInfo| l.spid.0 == spid;
    let kept = |l: &&LockInfo| has_gone || !matches!(l.resource, Resource::Database(_));
    let locks = locks.unwrap_or_default();
    match locks.iter().filter(own).find(kept) {
        Some(l) => {
            let text = format!("session {spid} has ended its transaction, and holds {l:?}");
            Err(Fault::new("lock kept", text))
        }
        None => Ok(()),
    }
}

/// No lock and no transaction of a session that has gone.
fn left(life: &Life<'_>) -> Result<(), Fault> {
    for open in life.instance.databases.all() {
        let locks = open.db.engine.locks.snapshot();
        if let Some(l) = locks.iter().find(|l| l.spid.0 > 50) {
            let text = format!("{:?} of session {} has nobody to give it back", l, l.spid.0);
            return Err(Fault::new("lock left", text));
        }
    }
    Ok(())
}

/// How many pages of the first database's log were changed by two sessions or more.
fn met(life: &mut Life<'_>) -> Result<(), Fault> {
    if life.world.audits % 4 != 1 {
        return Ok(());
    }
    let session = image::login_to(&life.instance, DATABASES[0]);
    let mut session = session.map_err(|e| Fault::new("login", e))?;
    let sql = "SELECT [Transaction ID], [Page ID], SPID, Operation FROM sys.fn_dblog(NULL, NULL)";
    let reply = execute(&mut session, sql);
    if let Some(e) = reply.errors.first() {
        return Err(Fault::new(
            format!("error {}", e.number),
            format!("{sql}: {e}"),
        ));
    }
    let mut of: BTreeMap<String, i64> = BTreeMap::new();
    let mut pages: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    for row in &reply.rows {
        let (Some(tx), spid) = (row[0].as_text(), row[2].as_i64()) else {
            continue;
        };
        if let Some(spid) = spid {
            of.insert(tx.clone(), spid);
        }
        if let (Some(page), Some(spid)) = (row[1].as_text(), of.get(&tx)) {
            pages.entry(page).or_default().insert(*spid);
        }
    }
    life.world.pages.0 += pages.len() as u64;
    life.world.pages.1 += pages.values().filter(|s| s.len() > 1).count() as u64;
    Ok(())
}

/// Whose memory is for sessions and what they ask for: without any it is nobody's.
const EMPTY: [Clerk; 10] = [
    Clerk::Workspace,
    Clerk::Values,
    Clerk::Compile,
    Clerk::Locks,
    Clerk::Connections,
    Clerk::Packets,
    Clerk::Versions,
    Clerk::Loads,
    Clerk::Utilities,
    Clerk::Backup,
];

/// No page is held, no transaction open and no memory borrowed. Writers of pages and who removes old versions may be at work for a moment.
fn nothing_held(life: &Life<'_>) -> Result<(), Fault> {
    let engine = &life.instance.databases.engine;
    let since = time::now();
    while engine.pages_in_use() > 0 && !life.is_off() {
        if since.elapsed() > STUCK {
            let text = format!("{} pages are in use for ever", engine.pages_in_use());
            return Err(Fault::new("pages held", text));
        }
        thread::sleep(Duration::from_millis(1));
    }
    let since = time::now();
    let all = life.instance.databases.all();
    let open = all.iter().filter(|d| !d.db.transactions.table.is_empty());
    while let Some(d) = open.clone().next().filter(|_| !life.is_off()) {
        if since.elapsed() > STUCK {
            let active = d.db.transactions.table.active();
            let text = format!(
                "in {} transactions are open for ever: {active:?}",
                d.db.name
            );
            return Err(Fault::new("transaction left over", text));
        }
        thread::sleep(Duration::from_millis(1));
    }
    let held = || EMPTY.iter().find(|c| engine.memory.of(**c) > 0);
    while let Some(clerk) = held().filter(|_| !life.is_off()) {
        if since.elapsed() > STUCK {
            let bytes = engine.memory.of(*clerk);
            let text = format!("{clerk:?} has {bytes} bytes, and nobody is there");
            return Err(Fault::new("memory held", text));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn check_database(life: &Life<'_>) -> Result<(), Fault> {
    let session = image::login_to(&life.instance, "master");
    let mut session = session.map_err(|e| Fault::new("login", e))?;
    let sql = "SELECT COUNT(*) FROM sys.dm_tran_active_transactions WHERE transaction_type = 1 AND name NOT LIKE 'SELECT%'";
    let reply = execute(&mut session, sql);
    let count = reply.rows.first().and_then(|r| r[0].as_i64());
    if count != Some(0) {
        let text = format!("{count:?} transactions are left, {:?}", reply.errors);
        return Err(Fault::new("transaction left over", text));
    }
    let sql = "SELECT name FROM tempdb.sys.objects WHERE name LIKE '#%'";
    let reply = execute(&mut session, sql);
    if let Some(row) = reply.rows.first() {
        let text = format!("in tempdb {} is left", found::line(row));
        return Err(Fault::new("temporary object left", text));
    }
    drop(session);
    check(&life.instance)
}

/// CHECKDB of the databases.
pub fn check(instance: &Arc<Instance>) -> Result<(), Fault> {
    let session = image::login_to(instance, "master");
    let mut session = session.map_err(|e| Fault::new("login", e))?;
    for db in present(instance) {
        let reply = execute(
            &mut session,
            &format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS"),
        );
        if let Some(e) = reply.errors.first() {
            let all: Vec<String> = reply.errors.iter().take(5).map(|e| e.to_string()).collect();
            return Err(Fault::new(
                format!("CHECKDB {}", e.number),
                format!("CHECKDB of {db}: {}", all.join("; ")),
            ));
        }
    }
    Ok(())
}
