//! A process in the documents of `xml_deadlock_report` and `blocked_process_report`: what is known of its session, the
//! statement that it is at, the text that came last.
//!
//! Names are found by locks that are only tried (`Names`): whoever tells of a lock may hold any. The stack begins with the
//! statement that waits and goes on with those that have called its module, up to the batch's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use duramen_base::{DbId, RowsetId};
use duramen_core::activity::{Activity, At};
use duramen_core::databases::OpenDatabases;
use duramen_os::time::WallTime;
use duramen_program::program::handle::sql_handle;
use duramen_storage::RowsetDef;

use super::render::escaped;

/// Sessions by number.
pub(super) type Sessions = BTreeMap<u16, Arc<Activity>>;

/// The names of what is locked.
pub(crate) struct Names<'a>(pub &'a OpenDatabases);

/// The table and index of a rowset; the index's number is 0 for a heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    pub object: i32,
    pub index: u16,
    /// `database.schema.table`
    pub name: String,
    pub index_name: Option<String>,
}

impl Names<'_> {
    pub(super) fn database(&self, id: u16) -> Option<String> {
        let open = self.0.try_read()?;
        Some(open.get(&DbId(id))?.db.name.clone())
    }

    /// `database.schema.name` of a table or module.
    pub(super) fn object(&self, db: DbId, object: i32) -> Option<String> {
        let open = self.0.try_read()?;
        let found = open.get(&db)?;
        let snapshot = found.catalog.try_snapshot()?;
        let table = snapshot.tables.values().find(|t| t.id.0 == object);
        let (schema, name) = match table {
            Some(t) => (t.schema, t.name.clone()),
            None => {
                let module = snapshot.modules.values().find(|m| m.id.0 == object)?;
                (module.schema, module.name.clone())
            }
        };
        let schema = snapshot.schema_name(schema);
        Some(format!("{}.{schema}.{name}", found.db.name))
    }

    /// Whose rows are in a rowset.
    pub(crate) fn owner(&self, db: DbId, rowset: RowsetId) -> Option<Owner> {
        let open = self.0.try_read()?;
        let found = open.get(&db)?;
        let snapshot = found.catalog.try_snapshot()?;
        for table in snapshot.tables.values() {
            let own = |all: &[Arc<RowsetDef>]| all.iter().any(|d| d.rowset == rowset);
            let index = match own(table.data_rowsets()) {
                true => table.indexes.iter().find(|i| i.clustered),
                false => {
                    let mut others = table.indexes.iter().filter(|i| !i.clustered);
                    match others.find(|i| own(i.rowsets())) {
                        None => continue,
                        index => index,
                    }
                }
            };
            let schema = snapshot.schema_name(table.schema);
            return Some(Owner {
                object: table.id.0,
                index: index.map_or(0, |i| i.id),
                name: format!("{}.{schema}.{}", found.db.name, table.name),
                index_name: index.map(|i| i.name.clone()),
            });
        }
        None
    }
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

/// `2026-11-23T07:12:19.417`
fn moment(nanos: i64) -> String {
    let shown = duramen_program::timestamp::timestamp(WallTime(i128::from(nanos)));
    shown.trim_end_matches('Z').to_owned()
}

/// What a process says of its session, from `status` on.
pub(super) fn session(
    out: &mut String,
    (spid, priority): (u16, i8),
    who: Option<&Arc<Activity>>,
    waits: bool,
    names: &Names<'_>,
) {
    let now = who.map(|a| a.glance());
    let status = match &now {
        _ if waits => "suspended",
        Some(now) if now.running => "running",
        _ => "sleeping",
    };
    let trancount = now.as_ref().map_or(0, |n| n.open_transactions);
    let _ = write!(
        out,
        " status=\"{status}\" spid=\"{spid}\" sbid=\"0\" ecid=\"0\" priority=\"{priority}\" trancount=\"{trancount}\"",
    );
    let (Some(a), Some(now)) = (who, now) else {
        return;
    };
    let name = names.database(a.database()).unwrap_or_default();
    let _ = write!(
        out,
        " lastbatchstarted=\"{}\" lastbatchcompleted=\"{}\" clientapp=\"{}\" hostname=\"{}\" hostpid=\"{}\" loginname=\"{}\" isolationlevel=\"{}\" xactid=\"{}\" currentdb=\"{}\" currentdbname=\"{}\" lockTimeout=\"{}\"",
        moment(now.started),
        moment(now.ended),
        escaped(&a.login.app),
        escaped(&a.login.host),
        a.login.client_pid,
        escaped(&a.login.user),
        isolation(now.options.isolation as u8),
        now.transaction_id,
        a.database(),
        escaped(&name),
        // -1 as the unsigned number that it is there.
        now.options.lock_timeout as u32,
    );
}

/// The transaction that a session has open.
pub(super) fn transaction(out: &mut String, who: Option<&Arc<Activity>>) {
    if let Some(open) = who.and_then(|a| a.open_transaction()) {
        let _ = write!(
            out,
            " transactionname=\"{}\" lasttranstarted=\"{}\"",
            escaped(&open.name),
            moment(open.started.unix_nanos() as i64)
        );
    }
}

/// A program and the statement that it is at.
fn frame(out: &mut String, at: &At, names: &Names<'_>) -> Option<()> {
    let (program, step) = at;
    let step = program.steps.get((*step)?)?;
    let statement = program.shown_part(step.span);
    let statement = &*statement;
    let name = match program.stats.module() {
        Some(m) => names.object(DbId(m.database), m.object),
        None => Some("adhoc".to_owned()),
    };
    let _ = write!(
        out,
        "<frame procname=\"{}\" line=\"{}\" stmtstart=\"{}\" stmtend=\"{}\" sqlhandle=\"0x{}\" queryhash=\"0x{:016x}\">{}</frame>",
        escaped(&name.unwrap_or_else(|| "unknown".to_owned())),
        step.line,
        duramen_program::program::shown::offset(&program.text, step.span.0),
        duramen_program::program::shown::offset(&program.text, step.span.1),
        super::place::hex(&sql_handle(program)).to_lowercase(),
        duramen_program::planned::query_hash(statement),
        escaped(statement),
    );
    Some(())
}

/// The rest of a process: its statement and its text.
pub(super) fn text(out: &mut String, who: Option<&Arc<Activity>>, names: &Names<'_>) {
    out.push_str("><executionStack>");
    // What a session that is idle has run last is one frame.
    let mut stack = who.map_or_else(Vec::new, |w| w.stack());
    if stack.is_empty() {
        stack.extend(who.and_then(|w| w.statement()));
    }
    for at in &stack {
        frame(out, at, names);
    }
    let text = who.and_then(|a| a.text()).unwrap_or_default();
    let _ = write!(
        out,
        "</executionStack><inputbuf>{}</inputbuf></process>",
        escaped(&text)
    );
}
