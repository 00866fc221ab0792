//! The end of everybody's work: sessions go, and nothing may be left of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use duramen_os::thread::{self, JoinHandle};
use duramen_os::time;

use super::super::image;
use super::super::wire::execute;
use super::disk::DATABASES;
use super::fault::Fault;
use super::life::{Life, STUCK};
use super::world::{SESSIONS, check_structures, differs, look};

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
    life.world.audits += 1;
    met(life)?;
    check_database(life)
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

/// No page is held and no memory borrowed. Writers of pages may be at work for a moment.
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
    let session = image::login_to(&life.instance, "master");
    let mut session = session.map_err(|e| Fault::new("login", e))?;
    let sql = "SELECT SUM(pages_kb) FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLQERESERVATIONS'";
    let reply = execute(&mut session, sql);
    match reply.rows.first().and_then(|r| r[0].as_i64()) {
        Some(0) => Ok(()),
        kb => {
            let text = format!("{kb:?} KB are borrowed, {:?}", reply.errors);
            Err(Fault::new("memory held", text))
        }
    }
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
    for db in DATABASES {
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
