//! CREATE, ALTER and DROP EVENT SESSION: what the server's event sessions do, and master keeps.

use duramen_observe::events::{self, EventId, ExistingConnection, Listener as _};
use duramen_tsql::ast::{AlterEventAction, StatementKind};

use super::failure::RunResult;
use super::{Run, command};
use duramen_events::instance::Instance;

impl Run<'_> {
    pub(super) fn event_session(&mut self, kind: &StatementKind) -> RunResult<()> {
        let instance = self.session.instance.clone();
        let keep = |id: i32, statement: Option<&str>| {
            let master = instance.databases.master()?;
            master.catalog.put_event_session(id, statement)
        };
        match kind {
            StatementKind::CreateEventSession(stmt) => instance.xe.create(stmt, &keep)?,
            StatementKind::AlterEventSession(stmt) => {
                instance.xe.alter(stmt, &keep)?;
                if matches!(stmt.action, AlterEventAction::Start) {
                    report_connections(&instance, &stmt.name);
                }
            }
            StatementKind::DropEventSession { name } => instance.xe.drop_session(name, &keep)?,
            _ => {}
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }
}

/// Tells an event session that has started of the connections that are there.
fn report_connections(instance: &Instance, name: &str) {
    let Some(running) = instance.xe.listening(name, EventId::ExistingConnection) else {
        return;
    };
    for who in instance.sessions() {
        let _working = duramen_core::origin::work_for(&who);
        let _attached = duramen_observe::attach(&who.waits, 0);
        running.event(&events::made(ExistingConnection {
            database_id: u64::from(who.database()),
            packet_size: u64::from(who.login.packet_bytes),
            options_text: who.glance().options.as_statements(),
        }));
    }
}
