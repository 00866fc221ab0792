//! The graph of a deadlock, as `xml_deadlock_report` has it.
//!
//! Processes are named by session; in the list of resources each belongs to the process that the one waiting for it waits
//! for. In what mode it is held there the search does not tell.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use duramen_observe::events::{Xml, XmlDeadlockReport, emit};
use duramen_txn::lock::{DeadlockProcess, DeadlockReport};

use super::render::escaped;
use crate::activity::Activity;

/// The element of a resource, by how it is named.
fn element(resource: &str) -> &'static str {
    match resource.split(':').next() {
        Some("KEY") => "keylock",
        Some("RID") => "ridlock",
        Some("PAGE") => "pagelock",
        Some("OBJECT") => "objectlock",
        Some("DATABASE") => "databaselock",
        _ => "resourcelock",
    }
}

fn process(out: &mut String, p: &DeadlockProcess, who: Option<&Arc<Activity>>) {
    let _ = write!(
        out,
        "<process id=\"process{}\" taskpriority=\"0\" logused=\"{}\" waitresource=\"{}\" waittime=\"{}\" lockMode=\"{}\" spid=\"{}\" sbid=\"0\" ecid=\"0\" priority=\"{}\"",
        p.spid.0,
        p.log_used,
        escaped(&p.resource.to_string()),
        p.waited.as_millis(),
        p.mode.name(),
        p.spid.0,
        p.priority,
    );
    let text = who.and_then(|a| a.text()).unwrap_or_default();
    if let Some(a) = who {
        let _ = write!(
            out,
            " currentdb=\"{}\" clientapp=\"{}\" hostname=\"{}\" loginname=\"{}\"",
            a.database(),
            escaped(&a.login.app),
            escaped(&a.login.host),
            escaped(&a.login.user)
        );
    }
    let _ = write!(out, "><inputbuf>{}</inputbuf></process>", escaped(&text));
}

fn graph(report: &DeadlockReport, sessions: &BTreeMap<u16, Arc<Activity>>) -> String {
    let mut out = format!(
        "<deadlock><victim-list><victimProcess id=\"process{}\"/></victim-list><process-list>",
        report.victim.0
    );
    for p in &report.processes {
        process(&mut out, p, sessions.get(&p.spid.0));
    }
    out += "</process-list><resource-list>";
    let next = report.processes.iter().cycle().skip(1);
    for (waiter, owner) in report.processes.iter().zip(next) {
        let resource = waiter.resource.to_string();
        let element = element(&resource);
        let _ = write!(
            out,
            "<{element} resource=\"{}\"><owner-list><owner id=\"process{}\"/></owner-list><waiter-list><waiter id=\"process{}\" mode=\"{}\" requestType=\"wait\"/></waiter-list></{element}>",
            escaped(&resource),
            owner.spid.0,
            waiter.spid.0,
            waiter.mode.name()
        );
    }
    out + "</resource-list></deadlock>"
}

/// Tells of a deadlock; `sessions` are asked only when somebody listens.
pub(crate) fn tell(report: &DeadlockReport, sessions: impl FnOnce() -> Vec<Arc<Activity>>) {
    emit(|| {
        let sessions = sessions().into_iter().map(|a| (a.spid.0, a)).collect();
        XmlDeadlockReport {
            xml_report: Xml(graph(report, &sessions)),
        }
    });
}
