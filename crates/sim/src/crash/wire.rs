//! Replies as packets: what a session tells, held by the gate, and what the client may believe once it left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_base::SqlError;
use duramen_events::instance::Instance;
use duramen_os::sim::SimDisk;
use duramen_os::sync::{Condvar, Mutex};
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_session::Session;
use duramen_txn::gate::{Outcome, Outlet, Submit};
use duramen_types::Value;

use super::model::{Claim, Ledger};

#[derive(Default)]
struct Net {
    ledger: Ledger,
    /// Claims of packets that have not left.
    held: BTreeMap<u64, Vec<Claim>>,
    next: u64,
    released: u64,
    statements: u64,
    commits: u64,
    ended: BTreeSet<u64>,
    violation: Option<String>,
    /// The packet at which power fails.
    last: Option<u64>,
    /// The disk and the promises at that moment.
    frozen: Option<(Arc<SimDisk>, Ledger)>,
}

/// The network of one process: packets in, claims out.
pub struct Wire {
    net: Mutex<Net>,
    moved: Condvar,
    disk: Arc<SimDisk>,
}

impl Wire {
    /// `last` is the packet at which power fails, if one does it.
    pub fn new(
        instance: &Instance,
        disk: Arc<SimDisk>,
        ledger: Ledger,
        last: Option<u64>,
    ) -> Arc<Wire> {
        let wire = Arc::new(Wire {
            net: Mutex::new(Net {
                ledger,
                last,
                ..Net::default()
            }),
            moved: Condvar::new(),
            disk,
        });
        let out = Arc::downgrade(&wire);
        instance.databases.gate.set_deliver(Box::new(move |what| {
            let Some(wire) = out.upgrade() else { return };
            match what {
                Outcome::Packet { bytes, .. } => wire.left(&bytes),
                Outcome::Round => {}
                Outcome::End { connection } => {
                    wire.net.lock().ended.insert(connection);
                    wire.moved.notify_all();
                }
            }
        }));
        wire
    }

    fn left(&self, packet: &[u8]) {
        let mut net = self.net.lock();
        let mut id = [0; 8];
        id.copy_from_slice(&packet[..8]);
        for claim in net.held.remove(&u64::from_le_bytes(id)).unwrap_or_default() {
            net.ledger.keep(claim);
        }
        net.released += 1;
        if net.last == Some(net.released) {
            net.frozen = Some((self.disk.fork(), net.ledger.clone()));
        }
        drop(net);
        self.moved.notify_all();
    }

    /// Reads or changes what is promised.
    pub fn with<T>(&self, f: impl FnOnce(&mut Ledger) -> T) -> T {
        f(&mut self.net.lock().ledger)
    }

    /// Something that must not be.
    pub fn violate(&self, what: String) {
        self.net.lock().violation.get_or_insert(what);
        self.moved.notify_all();
    }

    pub fn has_violation(&self) -> bool {
        self.net.lock().violation.is_some()
    }

    pub fn violation(&self) -> Option<String> {
        self.net.lock().violation.clone()
    }

    pub fn ledger(&self) -> Ledger {
        self.net.lock().ledger.clone()
    }

    /// Disk and promises at the moment at which the packet left that power was to fail at.
    pub fn frozen(&self) -> Option<(Arc<SimDisk>, Ledger)> {
        self.net.lock().frozen.take()
    }

    pub fn is_frozen(&self) -> bool {
        self.net.lock().frozen.is_some()
    }

    pub fn count(&self, statements: u64, commits: u64) {
        let mut net = self.net.lock();
        net.statements += statements;
        net.commits += commits;
    }

    /// Statements, commits and packets that have left.
    pub fn counts(&self) -> (u64, u64, u64) {
        let net = self.net.lock();
        (net.statements, net.commits, net.released)
    }
}

/// What a batch gave.
#[derive(Default)]
pub struct Reply {
    pub rows: Vec<Vec<Value>>,
    pub errors: Vec<SqlError>,
    pub in_transaction: bool,
}

impl ResultSink for Reply {
    fn columns(&mut self, _columns: &[ColumnMeta]) {}

    fn row(&mut self, values: &[Value]) {
        self.rows.push(values.to_vec());
    }

    fn done(&mut self, done: &Done) {
        self.in_transaction = done.in_transaction;
    }

    fn error(&mut self, error: &SqlError) {
        self.errors.push(error.clone());
    }

    fn info(&mut self, _message: &SqlError) {}

    fn env_change(&mut self, _change: &EnvChange) {}
}

/// Runs a batch to its end.
pub fn execute(session: &mut Session, sql: &str) -> Reply {
    let mut reply = Reply::default();
    session.execute_batch(sql, &mut reply, &CancelToken::default());
    reply
}

/// One connection: a session and its way out.
pub struct Connection {
    pub session: Session,
    wire: Arc<Wire>,
    outlet: Outlet,
    id: u64,
    /// What the packet under construction will tell.
    claims: Vec<Claim>,
    last: u64,
}

impl Connection {
    pub fn new(instance: &Instance, wire: &Arc<Wire>, session: Session, id: u64) -> Connection {
        let outlet = instance.databases.gate.outlet(id, session.deps());
        let outlet = outlet.waiting_as(session.waits());
        Connection {
            session,
            wire: wire.clone(),
            outlet,
            id,
            claims: Vec::new(),
            last: 0,
        }
    }

    pub fn claim(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Seals what was told into a packet and gives it to the gate. False: the connection is at its end.
    pub fn send(&mut self) -> bool {
        let claims = std::mem::take(&mut self.claims);
        let packet = {
            let mut net = self.wire.net.lock();
            net.next += 1;
            let packet = net.next;
            net.held.insert(packet, claims);
            packet
        };
        self.last = packet;
        let bytes = packet.to_le_bytes().to_vec();
        // Every other reply ends here, and its worker may write the log itself.
        let answer = match packet % 2 {
            0 => self.outlet.submit_last(bytes),
            _ => self.outlet.submit(bytes),
        };
        self.outlet.request_done();
        match answer {
            Submit::Released(bytes) => self.wire.left(&bytes),
            Submit::Held(_) => {}
            Submit::Ended => {
                self.wire.net.lock().ended.insert(self.id);
                return false;
            }
        }
        true
    }

    /// Waits until the last packet has left. False: it never will.
    pub fn wait(&self) -> bool {
        let mut net = self.wire.net.lock();
        loop {
            if net.ended.contains(&self.id) || net.violation.is_some() {
                return false;
            }
            if !net.held.contains_key(&self.last) {
                return true;
            }
            self.wire.moved.wait(&mut net);
        }
    }
}
