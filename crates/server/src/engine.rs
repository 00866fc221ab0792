//! The real engine behind the edge: sessions of an [`Instance`], their packets through its [`GateHub`].

use std::sync::Arc;

use duramen_base::{SessionId, SqlError, SqlResult, messages};
use duramen_observe::{SessionWaits, attach};
use duramen_session::{CancelToken, Instance, ResultSink, Session, version};
use duramen_txn::gate::{self, GateHub, Outcome, Submit};
use duramen_types::{SqlType, Value};

use crate::backend::{
    Backend, BackendSession, Cancel, Delivery, LoginRequest, Outlet, ParameterSpec,
    ProcedureOutcome, Submission,
};
use crate::credential::Credential;
use crate::parameters;

pub struct EngineBackend {
    instance: Arc<Instance>,
    gate: Arc<GateHub>,
    credential: Credential,
    /// What the instance knows as sa's password; the real one is known to nobody, only its hash.
    token: String,
}

impl EngineBackend {
    /// `token` is the password that the instance was started with; clients never see it.
    pub fn new(
        instance: Arc<Instance>,
        gate: Arc<GateHub>,
        credential: Credential,
        token: String,
    ) -> EngineBackend {
        EngineBackend {
            instance,
            gate,
            credential,
            token,
        }
    }
}

impl Backend for EngineBackend {
    fn login(&self, connection: u64, request: &LoginRequest) -> SqlResult<Box<dyn BackendSession>> {
        let password = if self.credential.matches(&request.password) {
            self.token.clone()
        } else {
            String::new()
        };
        let session = self.instance.login(&duramen_session::LoginRequest {
            user: request.user.clone(),
            password,
            database: request.database.clone(),
            app: request.app.clone(),
            host: request.host.clone(),
            language: request.language.clone(),
            client_address: request.client_address.clone(),
            encrypted: request.encrypted,
        })?;
        let outlet = Arc::new(SessionOutlet {
            gate: self.gate.outlet(connection, session.deps()),
            waits: SessionWaits::new(SessionId(session.spid())),
        });
        Ok(Box::new(EngineSession { session, outlet }))
    }

    fn is_holding(&self, connection: u64) -> bool {
        self.gate.is_holding(connection)
    }

    fn disconnect(&self, connection: u64) {
        self.gate.disconnect(connection);
    }

    fn set_delivery(&self, deliver: Box<dyn Fn(Delivery) + Send + Sync>) {
        self.gate.set_deliver(Box::new(move |outcome| {
            deliver(match outcome {
                Outcome::Packet { connection, bytes } => Delivery::Packet { connection, bytes },
                Outcome::End { connection } => Delivery::End { connection },
            });
        }));
    }

    fn failed_database(&self) -> String {
        let all = self.instance.databases.all();
        let failed = all
            .iter()
            .find(|d| d.db.log().is_some_and(|log| log.poisoned()));
        failed.map_or_else(String::new, |d| d.db.name.clone())
    }

    fn server_name(&self) -> String {
        self.instance.server_name().to_owned()
    }

    fn version(&self) -> (u8, u8, u16) {
        version::VERSION
    }
}

struct SessionOutlet {
    gate: gate::Outlet,
    waits: Arc<SessionWaits>,
}

impl Outlet for SessionOutlet {
    fn submit(&self, packet: Vec<u8>) -> Submission {
        match self.gate.submit(packet) {
            Submit::Released(packet) => Submission::Send(packet),
            Submit::Held(_) => Submission::Held,
            Submit::Ended => Submission::Ended,
        }
    }

    fn before_block(&self) {
        self.gate.before_block();
    }

    fn request_done(&self) {
        self.gate.request_done();
    }
}

struct EngineSession {
    session: Session,
    outlet: Arc<SessionOutlet>,
}

impl BackendSession for EngineSession {
    fn spid(&self) -> u16 {
        self.session.spid()
    }

    fn database(&self) -> String {
        self.session.database().to_owned()
    }

    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink, cancel: &Cancel) {
        let _attached = attach(&self.outlet.waits, 0);
        let token = CancelToken(Arc::clone(cancel.flag()));
        self.session.execute_batch(text, sink, &token);
    }

    fn execute_sql(
        &mut self,
        text: &str,
        declarations: &str,
        parameters: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> ProcedureOutcome {
        match parameters::batch(text, declarations, parameters) {
            Ok(batch) => {
                let mut watch = Watch {
                    sink,
                    failed: None,
                    capturing: false,
                    types: Vec::new(),
                    outputs: Vec::new(),
                };
                self.execute_batch(&batch.text, &mut watch, cancel);
                let (types, values) = (watch.types, watch.outputs);
                let outputs = batch.outputs.into_iter().zip(types).zip(values);
                ProcedureOutcome {
                    // sp_executesql returns the number of the last error.
                    status: Some(watch.failed.unwrap_or(0)),
                    outputs: outputs.map(|((at, ty), value)| (at, ty, value)).collect(),
                }
            }
            Err(error) => {
                sink.error(&error);
                ProcedureOutcome {
                    status: Some(error.number),
                    outputs: Vec::new(),
                }
            }
        }
    }

    fn execute_procedure(
        &mut self,
        name: &str,
        _: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        _: &Cancel,
    ) -> ProcedureOutcome {
        sink.error(&SqlError::new(&messages::PROCEDURE_NOT_FOUND, &[&name]).at_line(1));
        ProcedureOutcome::default()
    }

    fn reset(&mut self, keep_transaction: bool) {
        // A rollback that fails has taken its database offline; the next statement there says so.
        let _ = self.session.reset(keep_transaction);
    }

    fn outlet(&self) -> Arc<dyn Outlet> {
        self.outlet.clone()
    }
}

/// Passes everything on, remembers the last error, and keeps the row of output parameters to itself.
struct Watch<'a> {
    sink: &'a mut dyn ResultSink,
    failed: Option<i32>,
    capturing: bool,
    types: Vec<SqlType>,
    outputs: Vec<Value>,
}

impl ResultSink for Watch<'_> {
    fn columns(&mut self, columns: &[duramen_session::ColumnMeta]) {
        if columns
            .first()
            .is_some_and(|c| c.name == parameters::OUTPUT_MARK)
        {
            self.capturing = true;
            self.types = columns.iter().map(|c| c.ty).collect();
            return;
        }
        self.sink.columns(columns);
    }

    fn row(&mut self, values: &[Value]) {
        if self.capturing {
            self.outputs = values.to_vec();
            return;
        }
        self.sink.row(values);
    }

    fn done(&mut self, done: &duramen_session::Done) {
        if std::mem::take(&mut self.capturing) {
            return;
        }
        self.sink.done(done);
    }

    fn error(&mut self, error: &SqlError) {
        self.failed = Some(error.number);
        self.sink.error(error);
    }

    fn info(&mut self, message: &SqlError) {
        self.sink.info(message);
    }

    fn env_change(&mut self, change: &duramen_session::EnvChange) {
        self.sink.env_change(change);
    }

    fn flush_hint(&mut self) {
        self.sink.flush_hint();
    }

    fn cancelled(&self) -> bool {
        self.sink.cancelled()
    }
}
