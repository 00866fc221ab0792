//! The document of `blocked_process_report`: who is blocked, who blocks.
//!
//! What is told of each is `super::process`'s.

use std::fmt::Write as _;
use std::sync::Arc;

use duramen_core::activity::Activity;
use duramen_core::databases::OpenDatabases;
use duramen_observe::events::{BlockedProcessReport, LockModes, ResourceOwnerType, Xml, emit};
use duramen_txn::Resource;
use duramen_txn::lock::BlockedReport;

use super::process::{self, Names, Sessions};
use super::render::escaped;

fn document(report: &BlockedReport, sessions: &Sessions, names: &Names<'_>) -> String {
    let p = &report.blocked;
    let mut out = format!(
        "<blocked-process-report monitorLoop=\"{}\"><blocked-process><process id=\"process{}\" taskpriority=\"0\" logused=\"{}\" waitresource=\"{}\" waittime=\"{}\" ownerId=\"{}\"",
        report.round,
        p.spid.0,
        p.log_used,
        escaped(&p.resource.to_string()),
        p.waited.as_millis(),
        p.transaction,
    );
    let blocked = sessions.get(&p.spid.0);
    process::transaction(&mut out, blocked);
    let _ = write!(out, " lockMode=\"{}\"", p.mode.name());
    process::session(&mut out, (p.spid.0, p.priority), blocked, true, names);
    process::text(&mut out, blocked, names);
    out += "</blocked-process><blocking-process><process";
    let blocking = sessions.get(&report.blocking.0);
    let waits = duramen_observe::waiting_tasks()
        .iter()
        .any(|w| w.session == report.blocking);
    process::session(&mut out, (report.blocking.0, 0), blocking, waits, names);
    process::text(&mut out, blocking, names);
    out + "</blocking-process></blocked-process-report>"
}

/// Tells of a blocked request; `sessions` are asked for only when somebody listens.
pub fn report(
    report: &BlockedReport,
    databases: &OpenDatabases,
    sessions: impl FnOnce() -> Vec<Arc<Activity>>,
) {
    emit(|| {
        let sessions = sessions().into_iter().map(|a| (a.spid.0, a)).collect();
        let names = Names(databases);
        let p = &report.blocked;
        let owner = names.owner(p.resource.db(), p.rowset);
        BlockedProcessReport {
            duration: p.waited.as_micros() as u64,
            database_id: u64::from(p.resource.db().0),
            object_id: match p.resource {
                Resource::Object(_, object) => u64::from(object.0 as u32),
                _ => owner.as_ref().map_or(0, |o| u64::from(o.object as u32)),
            },
            index_id: owner.as_ref().map_or(0, |o| u64::from(o.index)),
            lock_mode: LockModes(p.mode as u32 + 1),
            transaction_id: i64::try_from(p.transaction).unwrap_or(0),
            resource_owner_type: ResourceOwnerType::LOCK,
            blocked_process: Xml(document(report, &sessions, &names)),
        }
    });
}
