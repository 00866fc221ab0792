//! What the edge needs from the engine. The instance implements it; tests put a toy in its place.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::{SqlError, SqlResult};
use duramen_observe::{Attached, SessionWaits, Traffic};
use duramen_os::memory::Broker;
use duramen_program::sink::ResultSink;
use duramen_program::table_types::RemoteTable;
use duramen_session::{BulkSource, Spool, TransactionRequest};
use duramen_types::{SqlType, Value};

/// Set when the client has cancelled or gone; requests look at it where they loop or wait.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn new() -> Cancel {
        Cancel::default()
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// The flag itself, for code below that polls it.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}

/// A login as the engine judges it.
#[derive(Clone, Default)]
pub struct LoginRequest {
    pub user: String,
    pub password: String,
    /// Empty: the login's default.
    pub database: String,
    pub app: String,
    pub host: String,
    pub library: String,
    pub language: String,
    pub client_pid: u32,
    pub packet_bytes: u32,
    /// The client asks for the ANSI options (ODBC, OLE DB).
    pub ansi_defaults: bool,
    pub read_only_intent: bool,
    /// `127.0.0.1`, for `sys.dm_exec_connections`.
    pub client_address: String,
    pub client_port: u16,
    /// The server's end of the connection.
    pub local: Option<SocketAddr>,
    pub encrypted: bool,
    /// Came to the port of the dedicated administrator connection.
    pub admin: bool,
    /// Packets of the connection.
    pub traffic: Arc<Traffic>,
}

/// What becomes of a packet given to the gate.
#[derive(Debug)]
pub enum Submission {
    /// Everything it depends on is durable: send it now.
    Send(Vec<u8>),
    /// The gate keeps it and delivers it later.
    Held,
    /// It can never be sent: the connection ends.
    Ended,
}

/// Helps packets that the gate holds to leave; may take a while.
pub type Help = Box<dyn FnOnce() + Send>;

/// What the gate gives back, called under the gate's lock so that the order of packets is kept. It only appends to
/// buffers and wakes a worker.
#[derive(Debug)]
pub enum Delivery {
    Packet {
        connection: u64,
        bytes: Vec<u8>,
    },
    /// What was given back before may be sent now; this one comes without the gate's lock.
    Round,
    End {
        connection: u64,
    },
}

/// A parameter of a remote procedure call.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// With `@`, or empty: by position.
    pub name: String,
    pub ty: SqlType,
    pub value: Value,
    pub output: bool,
    /// Use the declared default instead of the value.
    pub default: bool,
    /// A table-valued parameter: `ty` and `value` mean nothing.
    pub table: Option<Arc<RemoteTable>>,
}

/// How a procedure ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcedureOutcome {
    /// `None` when it was aborted.
    pub status: Option<i32>,
    /// Final values of output parameters: index into the parameters, type, value.
    pub outputs: Vec<(usize, SqlType, Value)>,
}

pub trait Backend: Send + Sync + 'static {
    /// Opens a session or says why not. `connection` names it in deliveries.
    fn login(&self, connection: u64, request: &LoginRequest) -> SqlResult<Box<dyn BackendSession>>;

    /// Does the gate hold packets of this connection?
    fn is_holding(&self, connection: u64) -> bool;

    /// The connection is gone; so are its held packets.
    fn disconnect(&self, connection: u64);

    /// Where released packets go. Called once, before the first login.
    fn set_delivery(&self, deliver: Box<dyn Fn(Delivery) + Send + Sync>);

    /// `length` says how many requests wait for a worker, whenever it is called. Called once.
    fn set_work_queue(&self, length: Box<dyn Fn() -> usize + Send + Sync>);

    /// Name of a database whose log has failed, for the farewell of connections that depended on it (the first, when
    /// there are several); empty when none has.
    fn failed_database(&self) -> String;

    /// `@@SERVERNAME`, which error messages carry.
    fn server_name(&self) -> String;

    /// Major, minor, build: `16.0.x`, as in `@@VERSION`.
    fn version(&self) -> (u8, u8, u16);

    /// Where a call too long for memory is put; `None` where it has to stay in memory.
    fn spool(&self) -> Option<SqlResult<Spool>> {
        None
    }

    /// Who answers for the server's memory.
    fn memory(&self) -> Option<Arc<Broker>> {
        None
    }
}

pub trait BackendSession: Send {
    fn spid(&self) -> u16;

    /// While what comes back lives, the calling thread waits in the session's name.
    fn attach(&self) -> Option<Attached> {
        None
    }

    /// What waits for this session's requests when there is no thread for them.
    fn waits(&self) -> Option<Arc<SessionWaits>> {
        None
    }

    /// Called, from any thread, when a request's `cancel` has been set: what sleeps in the session looks at it.
    fn waker(&self) -> Option<Box<dyn Fn() + Send + Sync>> {
        None
    }

    /// `notify` is called, from any thread, when the session is killed while its request runs.
    fn on_kill(&self, notify: Box<dyn Fn() + Send + Sync>) {
        drop(notify);
    }

    /// Others may be waiting for what the session holds: its next request must find a thread.
    fn may_release(&self) -> bool {
        false
    }

    fn database(&self) -> String;

    /// What every login is told of the server's state.
    fn warning(&self) -> Option<SqlError> {
        None
    }

    /// The language that the session begins with.
    fn language(&self) -> String {
        "us_english".to_owned()
    }

    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink, cancel: &Cancel);

    /// `sp_executesql` and what is built on it: a statement with declared parameters.
    fn execute_sql(
        &mut self,
        text: &str,
        declarations: &str,
        parameters: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> ProcedureOutcome;

    /// Compiles what `execute_sql` will run, and tells the columns of its first result; false when it cannot be compiled.
    fn prepare(
        &mut self,
        text: &str,
        declarations: &str,
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> bool;

    /// A procedure by name.
    fn execute_procedure(
        &mut self,
        name: &str,
        parameters: &[ParameterSpec],
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> ProcedureOutcome;

    /// A request of the transaction manager.
    fn manage_transaction(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    );

    /// The rows that an INSERT BULK has announced; false when none has.
    fn bulk_load(
        &mut self,
        source: &mut dyn BulkSource,
        sink: &mut dyn ResultSink,
        cancel: &Cancel,
    ) -> bool;

    /// The session reset that pooling clients ask for; the transaction may be kept.
    /// The descriptor of a transaction that it has rolled back.
    fn reset(&mut self, keep_transaction: bool) -> Option<u64>;

    /// The way out for this session's reply packets.
    fn outlet(&self) -> Arc<dyn Outlet>;
}

/// A session's side of the packet gate; on the worker that runs the session's request.
pub trait Outlet: Send + Sync {
    /// Seals a reply packet, that is, notes what it depends on at this moment, and passes it through the gate.
    fn submit(&self, packet: Vec<u8>) -> Submission;

    /// The last packets of a reply. What a held one waits for is for the worker to do, as soon as it has let go of the
    /// connection.
    fn submit_last(&self, packet: Vec<u8>) -> (Submission, Option<Help>) {
        (self.submit(packet), None)
    }

    /// The request is about to wait for something else: what it has committed should be on its way to the disk.
    fn before_block(&self) {}

    /// The last packet of a reply has been submitted.
    fn request_done(&self);
}
