//! The server as a whole: what sessions share, and what listens to it: Extended Events, the default trace, the error log.

use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use duramen_base::{SqlError, SqlResult};
use duramen_core::instance_core::InstanceCore;
use duramen_core::settings::option;
use duramen_program::event_classes::{Column, class};
use duramen_program::login::LoginRequest;
use duramen_program::sink::ResultSink;
use duramen_program::system_columns::SystemColumns;

use crate::error_log::ErrorLog;
use crate::trace::{DefaultTrace, TraceRow};
use crate::xe::Xe;
use crate::xe::system_health;

/// Ends the server; true: at once, without checkpoints.
pub type StopServer = Box<dyn Fn(bool) + Send + Sync>;

/// Runs a batch in a database as the server itself, in a session of its own.
pub(crate) type RunAsServer = fn(&Arc<Instance>, &str, &str, &mut dyn ResultSink) -> SqlResult<()>;

pub struct Instance {
    pub core: Arc<InstanceCore>,
    /// Event sessions.
    pub xe: Arc<Xe>,
    pub error_log: Arc<ErrorLog>,
    /// What is below the sessions has T-SQL to run all the same: msdb's.
    run_as_server: RunAsServer,
    /// What SHUTDOWN calls.
    pub stop: OnceLock<StopServer>,
    /// Somebody writes `msdb.dbo.suspect_pages`.
    pub writing_suspects: AtomicBool,
    /// The columns of the system's views that are T-SQL texts: bound once, when somebody first asks for them.
    pub system_columns: SystemColumns,
}

impl Deref for Instance {
    type Target = InstanceCore;

    fn deref(&self) -> &InstanceCore {
        &self.core
    }
}

impl Instance {
    pub fn new(
        core: Arc<InstanceCore>,
        xe: Arc<Xe>,
        error_log: Arc<ErrorLog>,
        run_as_server: RunAsServer,
    ) -> Arc<Instance> {
        Arc::new(Instance {
            core,
            xe,
            error_log,
            run_as_server,
            stop: OnceLock::new(),
            writing_suspects: AtomicBool::new(false),
            system_columns: SystemColumns::default(),
        })
    }

    /// Runs a batch in a database as the server itself.
    pub fn run_as_server(
        self: &Arc<Instance>,
        database: &str,
        sql: &str,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        (self.run_as_server)(self, database, sql, sink)
    }

    /// Settings that were kept hold from now on.
    pub fn start_settings(&self) -> SqlResult<()> {
        self.core.load_settings()?;
        self.follow_trace_setting();
        Ok(())
    }

    /// RECONFIGURE: 5807 for a recovery interval that is too long without `with_override`.
    pub fn reconfigure(&self, with_override: bool) -> SqlResult<()> {
        self.core.keep_settings(with_override)?;
        self.follow_trace_setting();
        Ok(())
    }

    fn follow_trace_setting(&self) {
        let enabled = self.settings.holding(option::DEFAULT_TRACE) != 0;
        if self.xe.enable_trace(enabled) {
            self.audit_server(2);
        }
    }

    /// SHUTDOWN calls this, with whether it is to go without checkpoints; without it the statement is refused.
    pub fn stops_by(&self, stop: StopServer) {
        // Whoever was first runs the server.
        let _ = self.stop.set(stop);
    }

    /// Checkpoints and closes every database.
    pub fn shutdown(&self) -> SqlResult<()> {
        let _owned = self.own();
        self.plans.clear();
        self.audit_server(1);
        self.xe.shutdown();
        let closed = self.databases.shutdown();
        self.error_log.flush();
        closed
    }

    /// The default trace, while it is enabled.
    pub fn default_trace(&self) -> Option<Arc<DefaultTrace>> {
        self.xe.trace()
    }

    /// Writes what the default trace has.
    pub fn flush_trace(&self) {
        self.xe.flush_trace();
    }

    /// Audit Server Starts And Stops: 1 stops, 2 starts.
    pub(crate) fn audit_server(&self, subclass: i64) {
        if let Some(trace) = self.default_trace() {
            let class = class::SERVER_STARTS_AND_STOPS;
            let row = TraceRow::new(class, duramen_os::time::wall()).by(None);
            trace.record(row.int(Column::EventSubClass, subclass));
        }
    }

    /// Audit Login Failed.
    pub fn audit_refused(&self, request: &LoginRequest, error: &SqlError) {
        if let Some(trace) = self.default_trace() {
            let text = format!("{} [CLIENT: {}]", error.message, request.client_address);
            let row = TraceRow::new(class::LOGIN_FAILED, duramen_os::time::wall())
                .text(Column::TextData, &text)
                .text(Column::LoginName, &request.user)
                .text(Column::SessionLoginName, &request.user)
                .text(Column::HostName, &request.host)
                .text(Column::ApplicationName, &request.app)
                .int(Column::Error, i64::from(error.number))
                .int(Column::State, i64::from(error.state))
                .int(Column::EventSubClass, 1)
                .int(Column::Success, 0);
            trace.record(row);
        }
    }
}

impl Instance {
    /// Sessions that master keeps are there again, and those with STARTUP_STATE = ON run. The first start makes
    /// system_health.
    pub fn start_event_sessions(&self) -> SqlResult<()> {
        let master = self.databases.master()?;
        let mut kept = master.catalog.event_sessions()?;
        if !kept.iter().any(|(id, _)| *id == system_health::MARKER_ID) {
            let made = (65536, system_health::STATEMENT);
            master.catalog.put_event_session(made.0, Some(made.1))?;
            master
                .catalog
                .put_event_session(system_health::MARKER_ID, Some(""))?;
            kept.push((made.0, made.1.to_owned()));
        }
        kept.retain(|(id, _)| *id != system_health::MARKER_ID);
        self.xe.load(kept);
        Ok(())
    }
}
