//! The document of `blocked_process_report`: who is blocked, who blocks.
//!
//! The statements are those of the requests at hand; frames of modules there are none.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use duramen_observe::events::{BlockedProcessReport, LockModes, ResourceOwnerType, Xml, emit};
use duramen_storage::RowsetDef;
use duramen_txn::Resource;
use duramen_txn::lock::BlockedReport;

use super::render::escaped;
use crate::activity::Activity;
use crate::databases::OpenDatabases;

/// What a process says of its session, from `status` on.
fn session(out: &mut String, spid: u16, who: Option<&Arc<Activity>>, waits: bool) {
    let now = who.map(|a| a.glance());
    let status = match &now {
        _ if waits => "suspended",
        Some(now) if now.running => "running",
        _ => "sleeping",
    };
    let trancount = now.as_ref().map_or(0, |n| n.open_transactions);
    let _ = write!(
        out,
        " status=\"{status}\" spid=\"{spid}\" sbid=\"0\" ecid=\"0\" priority=\"0\" trancount=\"{trancount}\"",
    );
    let (Some(a), Some(now)) = (who, now) else {
        return;
    };
    let _ = write!(
        out,
        " clientapp=\"{}\" hostname=\"{}\" hostpid=\"{}\" loginname=\"{}\" isolationlevel=\"{}\" currentdb=\"{}\" lockTimeout=\"{}\"",
        escaped(&a.login.app),
        escaped(&a.login.host),
        a.login.client_pid,
        escaped(&a.login.user),
        isolation(now.options.isolation as u8),
        a.database(),
        // -1 as the unsigned number that it is there.
        now.options.lock_timeout as u32,
    );
}

fn isolation(level: u8) -> &'static str {
    match level {
        1 => "read uncommitted (1)",
        3 => "repeatable read (3)",
        4 => "serializable (4)",
        5 => "snapshot (5)",
        _ => "read committed (2)",
    }
}

fn text(out: &mut String, who: Option<&Arc<Activity>>) {
    let text = who.and_then(|a| a.text()).unwrap_or_default();
    let _ = write!(
        out,
        "><executionStack/><inputbuf>{}</inputbuf></process>",
        escaped(&text)
    );
}

fn document(report: &BlockedReport, sessions: &BTreeMap<u16, Arc<Activity>>) -> String {
    let p = &report.blocked;
    let mut out = format!(
        "<blocked-process-report monitorLoop=\"{}\"><blocked-process><process id=\"process{}\" taskpriority=\"0\" logused=\"{}\" waitresource=\"{}\" waittime=\"{}\" ownerId=\"{}\" lockMode=\"{}\"",
        report.round,
        p.spid.0,
        p.log_used,
        escaped(&p.resource.to_string()),
        p.waited.as_millis(),
        report.transaction,
        p.mode.name(),
    );
    let blocked = sessions.get(&p.spid.0);
    session(&mut out, p.spid.0, blocked, true);
    text(&mut out, blocked);
    out += "</blocked-process><blocking-process><process";
    let blocking = sessions.get(&report.blocking.0);
    let waits = duramen_observe::waiting_tasks()
        .iter()
        .any(|w| w.session == report.blocking);
    session(&mut out, report.blocking.0, blocking, waits);
    text(&mut out, blocking);
    out + "</blocking-process></blocked-process-report>"
}

/// The table and index whose rows are in a rowset. It may be asked under any lock, and takes none that it would have to wait
/// for: `None`, too, when one of them is held.
pub(crate) fn owner_of(databases: &OpenDatabases, resource: &Resource) -> Option<(i32, u16)> {
    let (Resource::Key(db, rowset, _) | Resource::Hobt(db, rowset)) = resource else {
        return None;
    };
    let open = databases.try_read()?;
    let snapshot = open.get(db)?.catalog.try_snapshot()?;
    for table in snapshot.tables.values() {
        let own = |all: &[Arc<RowsetDef>]| all.iter().any(|d| d.rowset == *rowset);
        if own(table.data_rowsets()) {
            let clustered = table.indexes.iter().find(|i| i.clustered);
            return Some((table.id.0, clustered.map_or(0, |i| i.id)));
        }
        let others = table.indexes.iter();
        let index = others.filter(|i| !i.clustered).find(|i| own(i.rowsets()));
        if let Some(index) = index {
            return Some((table.id.0, index.id));
        }
    }
    None
}

/// Tells of a blocked request; `sessions`, and the `owner` of what is locked, are asked for only when somebody listens.
pub(crate) fn tell(
    report: &BlockedReport,
    sessions: impl FnOnce() -> Vec<Arc<Activity>>,
    owner: impl FnOnce(&Resource) -> Option<(i32, u16)>,
) {
    emit(|| {
        let sessions = sessions().into_iter().map(|a| (a.spid.0, a)).collect();
        let owner = owner(&report.blocked.resource);
        let p = &report.blocked;
        BlockedProcessReport {
            duration: p.waited.as_micros() as u64,
            database_id: u64::from(p.resource.db().0),
            object_id: match p.resource {
                Resource::Object(_, object) => u64::from(object.0 as u32),
                _ => owner.map_or(0, |(object, _)| u64::from(object as u32)),
            },
            index_id: owner.map_or(0, |(_, index)| u64::from(index)),
            lock_mode: LockModes(p.mode as u32 + 1),
            transaction_id: i64::try_from(report.transaction).unwrap_or(0),
            resource_owner_type: ResourceOwnerType::LOCK,
            blocked_process: Xml(document(report, &sessions)),
        }
    });
}
