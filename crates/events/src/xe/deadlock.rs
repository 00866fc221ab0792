//! The graph of a deadlock, as `xml_deadlock_report` has it.
//!
//! Processes are named by session; in the list of resources each belongs to the process that the one waiting for it waits
//! for: which holds it, or waits before it in the line. A resource's id is the text by which `sys.dm_tran_locks` and
//! `waitresource` name it, where SQL Server has an address.

use std::fmt::Write as _;
use std::sync::Arc;

use duramen_core::activity::Activity;
use duramen_core::databases::OpenDatabases;
use duramen_observe::events::{Xml, XmlDeadlockReport, emit};
use duramen_txn::Resource;
use duramen_txn::lock::{DeadlockProcess, DeadlockReport};

use super::process::{self, Names, Sessions};
use super::render::escaped;

fn process(out: &mut String, p: &DeadlockProcess, who: Option<&Arc<Activity>>, names: &Names<'_>) {
    let _ = write!(
        out,
        "<process id=\"process{}\" taskpriority=\"0\" logused=\"{}\" waitresource=\"{}\" waittime=\"{}\" ownerId=\"{}\"",
        p.spid.0,
        p.log_used,
        escaped(&p.resource.to_string()),
        p.waited.as_millis(),
        p.transaction,
    );
    process::transaction(out, who);
    let _ = write!(out, " lockMode=\"{}\"", p.mode.name());
    process::session(out, (p.spid.0, p.priority), who, true, names);
    process::text(out, who, names);
}

/// The element of a resource with what tells which it is, up to its modes.
fn resource(out: &mut String, p: &DeadlockProcess, names: &Names<'_>) -> &'static str {
    let dbid = p.resource.db();
    let owner = names.owner(dbid, p.rowset);
    let name = match (&owner, p.resource) {
        (Some(owner), _) => owner.name.clone(),
        (None, Resource::Object(_, object)) => names.object(dbid, object.0).unwrap_or_default(),
        _ => String::new(),
    };
    let element = match p.resource {
        Resource::Key(_, rowset, _) => {
            let index = owner.and_then(|o| o.index_name).unwrap_or_default();
            let _ = write!(
                out,
                "<keylock hobtid=\"{}\" dbid=\"{}\" objectname=\"{}\" indexname=\"{}\"",
                rowset.0,
                dbid.0,
                escaped(&name),
                escaped(&index)
            );
            "keylock"
        }
        Resource::Page(_, page) | Resource::Rid(_, page, _) => {
            let element = match p.resource {
                Resource::Page(..) => "pagelock",
                _ => "ridlock",
            };
            let _ = write!(
                out,
                "<{element} fileid=\"{}\" pageid=\"{}\" dbid=\"{}\" objectname=\"{}\"",
                page.file,
                page.page,
                dbid.0,
                escaped(&name)
            );
            element
        }
        Resource::Object(_, object) => {
            let _ = write!(
                out,
                "<objectlock lockPartition=\"0\" objid=\"{}\" subresource=\"FULL\" dbid=\"{}\" objectname=\"{}\"",
                object.0,
                dbid.0,
                escaped(&name)
            );
            "objectlock"
        }
        Resource::Hobt(_, rowset) => {
            let _ = write!(
                out,
                "<hobtlock hobtid=\"{}\" dbid=\"{}\" objectname=\"{}\"",
                rowset.0,
                dbid.0,
                escaped(&name)
            );
            "hobtlock"
        }
        Resource::Database(_) => {
            let name = names.database(dbid.0).unwrap_or_default();
            let _ = write!(
                out,
                "<databaselock subresource=\"FULL\" dbid=\"{}\" dbname=\"{}\"",
                dbid.0,
                escaped(&name)
            );
            "databaselock"
        }
        Resource::Application(..) => {
            let _ = write!(out, "<applicationlock dbid=\"{}\"", dbid.0);
            "applicationlock"
        }
        _ => {
            let _ = write!(out, "<resourcelock dbid=\"{}\"", dbid.0);
            "resourcelock"
        }
    };
    let _ = write!(out, " id=\"{}\"", escaped(&p.resource.to_string()));
    element
}

fn graph(report: &DeadlockReport, sessions: &Sessions, names: &Names<'_>) -> String {
    let mut out = format!(
        "<deadlock><victim-list><victimProcess id=\"process{}\"/></victim-list><process-list>",
        report.victim.0
    );
    for p in &report.processes {
        process(&mut out, p, sessions.get(&p.spid.0), names);
    }
    out += "</process-list><resource-list>";
    let next = report.processes.iter().cycle().skip(1);
    for (waiter, owner) in report.processes.iter().zip(next) {
        let element = resource(&mut out, waiter, names);
        let held = waiter
            .held
            .map_or(String::new(), |m| format!(" mode=\"{}\"", m.name()));
        let associated = match (waiter.resource, waiter.rowset.0) {
            (Resource::Object(_, object), _) => format!(" associatedObjectId=\"{}\"", object.0),
            (_, 0) => String::new(),
            (_, rowset) => format!(" associatedObjectId=\"{rowset}\""),
        };
        let _ = write!(
            out,
            "{held}{associated}><owner-list><owner id=\"process{}\"{held}/></owner-list><waiter-list><waiter id=\"process{}\" mode=\"{}\" requestType=\"wait\"/></waiter-list></{element}>",
            owner.spid.0,
            waiter.spid.0,
            waiter.mode.name()
        );
    }
    out + "</resource-list></deadlock>"
}

/// Tells of a deadlock; `sessions` are asked only when somebody listens.
pub fn report(
    report: &DeadlockReport,
    databases: &OpenDatabases,
    sessions: impl FnOnce() -> Vec<Arc<Activity>>,
) {
    emit(|| {
        let sessions = sessions().into_iter().map(|a| (a.spid.0, a)).collect();
        XmlDeadlockReport {
            xml_report: Xml(graph(report, &sessions, &Names(databases))),
        }
    });
}
