//! An engine of a few words: `rows N`, `error SEVERITY`, `sleep MILLISECONDS`, `wait`, separated by semicolons.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_os::thread;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_server::{
    Backend, BackendSession, Cancel, Delivery, LoginRequest, Outlet, ParameterSpec,
    ProcedureOutcome, Submission,
};
use duramen_session::{BulkSource, TransactionRequest};
use duramen_types::{SqlType, Value};

type Deliver = Box<dyn Fn(Delivery) + Send + Sync>;

#[derive(Default)]
struct Gate {
    held: Vec<(u64, Vec<u8>)>,
    deliver: Option<Deliver>,
}

#[derive(Default)]
pub struct Toy {
    gate: Arc<Mutex<Gate>>,
    pub hold: Arc<AtomicBool>,
    running: Arc<AtomicBool>,
    pub sessions: Arc<AtomicUsize>,
    next_spid: AtomicUsize,
}

impl Toy {
    pub fn held(&self) -> usize {
        self.gate.lock().held.len()
    }

    pub fn release(&self) {
        let mut gate = self.gate.lock();
        self.hold.store(false, Ordering::SeqCst);
        let held = std::mem::take(&mut gate.held);
        if let Some(deliver) = &gate.deliver {
            for (connection, bytes) in held {
                deliver(Delivery::Packet { connection, bytes });
            }
            deliver(Delivery::Round);
        }
    }

    /// What is held can never leave.
    pub fn poison(&self) {
        let mut gate = self.gate.lock();
        self.hold.store(false, Ordering::SeqCst);
        for (connection, _) in std::mem::take(&mut gate.held) {
            if let Some(deliver) = &gate.deliver {
                deliver(Delivery::End { connection });
            }
        }
    }

    pub fn wait_until_running(&self) {
        while !self.running.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Backend for Toy {
    fn login(&self, connection: u64, request: &LoginRequest) -> SqlResult<Box<dyn BackendSession>> {
        if request.password != "right" {
            return Err(SqlError::new(
                &messages::LOGIN_FAILED,
                &[&request.user, &"", &""],
            ));
        }
        self.sessions.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(ToySession {
            spid: 51 + self.next_spid.fetch_add(1, Ordering::SeqCst) as u16,
            running: self.running.clone(),
            sessions: self.sessions.clone(),
            outlet: Arc::new(ToyOutlet {
                connection,
                gate: self.gate.clone(),
                hold: self.hold.clone(),
            }),
        }))
    }

    fn is_holding(&self, connection: u64) -> bool {
        self.gate
            .lock()
            .held
            .iter()
            .any(|(held, _)| *held == connection)
    }

    fn disconnect(&self, connection: u64) {
        self.gate
            .lock()
            .held
            .retain(|(held, _)| *held != connection);
    }

    fn set_work_queue(&self, _length: Box<dyn Fn() -> usize + Send + Sync>) {}

    fn set_delivery(&self, deliver: Deliver) {
        self.gate.lock().deliver = Some(deliver);
    }

    fn failed_database(&self) -> String {
        "toys".into()
    }

    fn server_name(&self) -> String {
        "toy".into()
    }

    fn version(&self) -> (u8, u8, u16) {
        (16, 0, 4158)
    }
}

struct ToyOutlet {
    connection: u64,
    gate: Arc<Mutex<Gate>>,
    hold: Arc<AtomicBool>,
}

impl Outlet for ToyOutlet {
    fn submit(&self, packet: Vec<u8>) -> Submission {
        let mut gate = self.gate.lock();
        if self.hold.load(Ordering::SeqCst) {
            gate.held.push((self.connection, packet));
            return Submission::Held;
        }
        Submission::Send(packet)
    }

    fn request_done(&self) {}
}

struct ToySession {
    spid: u16,
    running: Arc<AtomicBool>,
    sessions: Arc<AtomicUsize>,
    outlet: Arc<ToyOutlet>,
}

impl Drop for ToySession {
    fn drop(&mut self) {
        self.sessions.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ToySession {
    fn statement(&self, text: &str, sink: &mut dyn ResultSink, cancel: &Cancel) {
        let (word, number) = text.split_once(' ').unwrap_or((text, "0"));
        let number: i32 = number.trim().parse().unwrap_or(0);
        match word {
            "rows" => {
                let column = |name: &str, ty| ColumnMeta {
                    name: name.into(),
                    ty,
                    nullable: true,
                    identity: false,
                    updatable: false,
                };
                sink.columns(&[
                    column("a", SqlType::INT),
                    column("b", SqlType::nvarchar(10)),
                ]);
                for i in 0..number {
                    sink.row(&[Value::Int(i), Value::Null]);
                }
                sink.done(&Done {
                    rows: Some(number as u64),
                    command: 0xC1,
                    ..Done::default()
                });
            }
            "error" => sink.error(&SqlError {
                number: 50_000,
                severity: number as u8,
                state: 1,
                line: 1,
                ..SqlError::print("asked for".into())
            }),
            "sleep" => thread::sleep(Duration::from_millis(number as u64)),
            "wait" => {
                self.running.store(true, Ordering::SeqCst);
                while !cancel.is_set() {
                    thread::sleep(Duration::from_millis(1));
                }
                self.running.store(false, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

impl BackendSession for ToySession {
    fn spid(&self) -> u16 {
        self.spid
    }

    fn database(&self) -> String {
        "master".into()
    }

    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink, cancel: &Cancel) {
        for statement in text.split(';') {
            self.statement(statement.trim(), sink, cancel);
        }
    }

    fn execute_sql(
        &mut self,
        text: &str,
        _: &str,
        _: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> ProcedureOutcome {
        self.execute_batch(text, sink, cancel);
        ProcedureOutcome {
            status: Some(0),
            outputs: Vec::new(),
        }
    }

    fn prepare(&mut self, _: &str, _: &str, _: &mut dyn ResultSink, _: &Cancel) -> bool {
        true
    }

    fn execute_procedure(
        &mut self,
        name: &str,
        _: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        _: &Cancel,
    ) -> ProcedureOutcome {
        sink.error(&SqlError::new(&messages::PROCEDURE_NOT_FOUND, &[&name]));
        ProcedureOutcome::default()
    }

    fn manage_transaction(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
        _: &Cancel,
    ) {
        if let TransactionRequest::Begin(_) = request {
            sink.env_change(&EnvChange::BeginTran { descriptor: 7 });
        }
    }

    fn bulk_load(
        &mut self,
        source: &mut dyn BulkSource,
        sink: &mut dyn ResultSink,
        _: &Cancel,
    ) -> bool {
        let mut rows = 0;
        if source.columns().is_ok() {
            while let Ok(Some(_)) = source.row() {
                rows += 1;
            }
        }
        sink.done(&Done {
            rows: Some(rows),
            command: 0xF0,
            ..Done::default()
        });
        true
    }

    fn reset(&mut self, _: bool) -> Option<u64> {
        None
    }

    fn outlet(&self) -> Arc<dyn Outlet> {
        self.outlet.clone()
    }
}
