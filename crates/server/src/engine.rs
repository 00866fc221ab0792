//! The real engine behind the edge: sessions of an [`Instance`], their packets through its [`GateHub`].

use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_access::version;
use duramen_base::{SqlError, SqlResult};
use duramen_events::instance::Instance;
use duramen_observe::{Attached, SessionWaits, attach};
use duramen_os::memory::Broker;
use duramen_program::sink::ResultSink;
use duramen_session::{BulkSource, RpcOutcome, RpcParameter, Session, Spool, TransactionRequest};
use duramen_txn::gate::{self, GateHub, Outcome, Submit};

use crate::backend::{
    Backend, BackendSession, Cancel, Delivery, Help, LoginRequest, Outlet, ParameterSpec,
    ProcedureOutcome, Submission,
};
use crate::credential::Credential;

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
        // The first password of sa is known here alone; every other one is the engine's to judge.
        let sa = request.user.eq_ignore_ascii_case("sa");
        let password = match sa && self.credential.matches(&request.password) {
            true => self.token.clone(),
            false => request.password.clone(),
        };
        let session = duramen_session::login(
            &self.instance,
            &duramen_program::login::LoginRequest {
                user: request.user.clone(),
                password,
                database: request.database.clone(),
                app: request.app.clone(),
                host: request.host.clone(),
                language: request.language.clone(),
                client_pid: request.client_pid,
                client_address: request.client_address.clone(),
                client_port: request.client_port,
                local: request.local,
                packet_bytes: request.packet_bytes,
                encrypted: request.encrypted,
                admin: request.admin,
                library: request.library.clone(),
                traffic: request.traffic.clone(),
            },
        )?;
        let gate = self.gate.outlet(connection, session.deps());
        let outlet = Arc::new(SessionOutlet {
            gate: gate.waiting_as(session.waits()),
        });
        Ok(Box::new(EngineSession { session, outlet }))
    }

    fn set_work_queue(&self, length: Box<dyn Fn() -> usize + Send + Sync>) {
        self.instance.set_work_queue(length);
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
                Outcome::Round => Delivery::Round,
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

    fn spool(&self) -> Option<SqlResult<Spool>> {
        Some(Spool::new(&self.instance))
    }

    fn memory(&self) -> Option<Arc<Broker>> {
        Some(self.instance.databases.engine.memory.clone())
    }

    fn version(&self) -> (u8, u8, u16) {
        version::VERSION
    }
}

struct SessionOutlet {
    gate: gate::Outlet,
}

impl Outlet for SessionOutlet {
    fn submit(&self, packet: Vec<u8>) -> Submission {
        submission(self.gate.submit(packet))
    }

    fn submit_last(&self, packet: Vec<u8>) -> (Submission, Option<Help>) {
        let (answer, help) = self.gate.submit_then_help(packet);
        let help = help.map(|help| Box::new(move || help.flush()) as Help);
        (submission(answer), help)
    }

    fn before_block(&self) {
        self.gate.before_block();
    }

    fn request_done(&self) {
        self.gate.request_done();
    }
}

fn submission(answer: Submit<Vec<u8>>) -> Submission {
    match answer {
        Submit::Released(packet) => Submission::Send(packet),
        Submit::Held(_) => Submission::Held,
        Submit::Ended => Submission::Ended,
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

    fn attach(&self) -> Option<Attached> {
        Some(attach(self.session.waits(), 0))
    }

    fn waits(&self) -> Option<Arc<SessionWaits>> {
        Some(Arc::clone(self.session.waits()))
    }

    fn waker(&self) -> Option<Box<dyn Fn() + Send + Sync>> {
        Some(self.session.waker())
    }

    fn on_kill(&self, notify: Box<dyn Fn() + Send + Sync>) {
        self.session.on_kill(notify);
    }

    fn may_release(&self) -> bool {
        self.session.may_release()
    }

    fn database(&self) -> String {
        self.session.database().to_owned()
    }

    fn warning(&self) -> Option<SqlError> {
        self.session.warning()
    }

    fn language(&self) -> String {
        self.session.language().to_owned()
    }

    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink, cancel: &Cancel) {
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
        let token = CancelToken(Arc::clone(cancel.flag()));
        let given = given(parameters);
        let session = &mut self.session;
        outcome(session.execute_sql(text, declarations, &given, sink, &token))
    }

    fn prepare(
        &mut self,
        text: &str,
        declarations: &str,
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> bool {
        let token = CancelToken(Arc::clone(cancel.flag()));
        self.session.prepare(text, declarations, sink, &token)
    }

    fn execute_procedure(
        &mut self,
        name: &str,
        parameters: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> ProcedureOutcome {
        let token = CancelToken(Arc::clone(cancel.flag()));
        let given = given(parameters);
        let session = &mut self.session;
        outcome(session.execute_procedure(name, &given, sink, &token))
    }

    fn manage_transaction(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) {
        let token = CancelToken(Arc::clone(cancel.flag()));
        self.session.manage_transaction(request, sink, &token);
    }

    fn bulk_load(
        &mut self,
        source: &mut dyn BulkSource,
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> bool {
        let token = CancelToken(Arc::clone(cancel.flag()));
        self.session.bulk_load(source, sink, &token)
    }

    fn reset(&mut self, keep_transaction: bool) -> Option<u64> {
        let open = self.session.open_transaction();
        // A rollback that fails has taken its database offline; the next statement there says so.
        let _ = self.session.reset(keep_transaction);
        open.filter(|_| !keep_transaction)
    }

    fn outlet(&self) -> Arc<dyn Outlet> {
        self.outlet.clone()
    }
}

fn given(parameters: &[ParameterSpec]) -> Vec<RpcParameter> {
    let one = |p: &ParameterSpec| RpcParameter {
        name: p.name.clone(),
        ty: p.ty,
        value: p.value.clone(),
        output: p.output,
        default: p.default,
        table: p.table.clone(),
    };
    parameters.iter().map(one).collect()
}

fn outcome(called: RpcOutcome) -> ProcedureOutcome {
    ProcedureOutcome {
        status: called.status,
        outputs: called.outputs,
    }
}
