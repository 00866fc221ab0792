//! The gate of one instance, with its threads: sessions submit, flushers report, the server gets the bytes.
//!
//! Packets are handed over *under the gate's lock*, so that two threads cannot exchange the order of one connection's
//! packets between leaving the gate and entering its buffer. The receiver must only append; it may send when the round is
//! over and the lock is free. No log is called under that lock.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use duramen_base::{DbId, Lsn};
use duramen_observe::{SessionWaits, WaitType, record_wait};
use duramen_os::sync::{Mutex, Rank, RwLock};
use duramen_os::time::{self, Instant};
use duramen_wal::{DurableState, Log};

use super::{ConnectionId, Dependencies, PacketGate, SessionDeps, Submit};
use crate::log::RecordLog;

/// What comes out of the gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Packet {
        connection: ConnectionId,
        bytes: Vec<u8>,
    },
    /// The packets before this one may be sent now: this comes without the gate's lock.
    Round,
    /// A packet of it can never be sent: error 9001 and good bye.
    End { connection: ConnectionId },
}

type Deliver = Box<dyn Fn(Outcome) + Send + Sync>;

#[derive(Debug)]
struct Sealed {
    bytes: Vec<u8>,
    at: Instant,
    /// Of the session that waits for it.
    waits: Option<Arc<SessionWaits>>,
}

struct Attached {
    log: Arc<dyn RecordLog>,
    /// Cleared under the gate's lock at `detach`: a late report of a closed log must not count for its successor.
    current: Arc<AtomicBool>,
}

/// The packet gate of an instance.
pub struct GateHub {
    gate: Mutex<PacketGate<Sealed>>,
    logs: RwLock<BTreeMap<DbId, Attached>>,
    deliver: OnceLock<Deliver>,
}

impl fmt::Debug for GateHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateHub")
            .field("held", &self.gate.lock().held())
            .finish_non_exhaustive()
    }
}

impl Default for GateHub {
    fn default() -> Self {
        GateHub {
            gate: Mutex::ranked(Rank::Gate, PacketGate::new()),
            logs: RwLock::ranked(Rank::GateLogs, BTreeMap::new()),
            deliver: OnceLock::new(),
        }
    }
}

impl GateHub {
    pub fn new() -> Arc<GateHub> {
        Arc::default()
    }

    /// Where packets go. Called once, before the first submit. The function runs under the gate's lock, except for
    /// [`Outcome::Round`].
    pub fn set_deliver(&self, deliver: Deliver) {
        let _ = self.deliver.set(deliver);
    }

    /// A database is open: its log reports here from now on.
    pub fn attach(self: &Arc<Self>, db: DbId, log: &Arc<Log>) {
        let current = Arc::new(AtomicBool::new(true));
        let attached = Attached {
            log: Arc::clone(log) as _,
            current: Arc::clone(&current),
        };
        self.logs.write().insert(db, attached);
        let first = Arc::clone(&current);
        let hub: Weak<GateHub> = Arc::downgrade(self);
        log.subscribe_durable(Box::new(move |state| {
            if let Some(hub) = hub.upgrade() {
                match state {
                    DurableState::Upto(lsn) => hub.durable(db, lsn, &current),
                    DurableState::Poisoned => hub.poisoned(db, &current),
                }
            }
        }));
        // Subscribed first: a report in between is not lost, and an older one than known changes nothing.
        self.durable(db, log.durable_lsn(), &first);
    }

    /// What a new session's packets depend on.
    pub fn session_deps(&self) -> Arc<SessionDeps> {
        Arc::new(SessionDeps {
            closings: self.gate.lock().closings(),
            ..SessionDeps::default()
        })
    }

    /// A database is closed, or about to be: its log is flushed, and whoever waits for more than it has then is ended.
    pub fn detach(&self, db: DbId) {
        let attached = self.logs.write().remove(&db);
        if let Some(attached) = &attached {
            // A log that has failed has said so to the gate.
            let _ = attached.log.flush(attached.log.last_lsn());
            let durable = attached.log.durable_lsn();
            self.durable(db, durable, &attached.current);
        }
        // Its reports end and it is forgotten in one hold: one in between would count for the next of that id.
        let mut gate = self.gate.lock();
        if let Some(attached) = attached {
            attached.current.store(false, Ordering::Relaxed);
        }
        for connection in gate.forget(db) {
            self.hand_over(Outcome::End { connection });
        }
    }

    fn durable(&self, db: DbId, lsn: Lsn, current: &AtomicBool) {
        let mut gate = self.gate.lock();
        if !current.load(Ordering::Relaxed) {
            return;
        }
        let released = gate.durable(db, lsn);
        if released.is_empty() {
            return;
        }
        let now = time::now();
        for (n, (connection, sealed)) in released.iter().enumerate() {
            // The finished request was blocked from its last packet on; earlier ones it did not wait for.
            let last = released.get(n + 1).is_none_or(|next| next.0 != *connection);
            if last && !gate.is_holding(*connection) {
                let waited = now.since(sealed.at);
                record_wait(WaitType::WRITELOG, waited, sealed.waits.as_ref());
            }
        }
        for (connection, sealed) in released {
            self.hand_over(Outcome::Packet {
                connection,
                bytes: sealed.bytes,
            });
        }
        // Sending may take long: packets are in their order by now, and the lock is for the next report.
        drop(gate);
        self.hand_over(Outcome::Round);
    }

    fn poisoned(&self, db: DbId, current: &AtomicBool) {
        let mut gate = self.gate.lock();
        if !current.load(Ordering::Relaxed) {
            return;
        }
        for connection in gate.poisoned(db) {
            self.hand_over(Outcome::End { connection });
        }
    }

    fn hand_over(&self, outcome: Outcome) {
        if let Some(deliver) = self.deliver.get() {
            deliver(outcome);
        }
    }

    /// Passes a packet through: `Released` is the caller's to send now. A held one has its logs flushing when this
    /// returns.
    pub fn submit(
        &self,
        connection: ConnectionId,
        deps: Dependencies,
        bytes: Vec<u8>,
    ) -> Submit<Vec<u8>> {
        self.pass_and_flush(connection, deps, bytes, None)
    }

    fn pass_and_flush(
        &self,
        connection: ConnectionId,
        deps: Dependencies,
        bytes: Vec<u8>,
        waits: Option<&Arc<SessionWaits>>,
    ) -> Submit<Vec<u8>> {
        let answer = self.pass(connection, deps, bytes, waits);
        if let Submit::Held(unmet) = &answer {
            self.request_flush(unmet);
        }
        answer
    }

    fn pass(
        &self,
        connection: ConnectionId,
        deps: Dependencies,
        bytes: Vec<u8>,
        waits: Option<&Arc<SessionWaits>>,
    ) -> Submit<Vec<u8>> {
        let sealed = Sealed {
            bytes,
            at: time::now(),
            waits: waits.cloned(),
        };
        match self.gate.lock().submit(connection, deps, sealed) {
            Submit::Released(sealed) => Submit::Released(sealed.bytes),
            Submit::Held(unmet) => Submit::Held(unmet),
            Submit::Ended => Submit::Ended,
        }
    }

    /// Asks the logs for what is named, without waiting.
    pub fn request_flush(&self, wanted: &[(DbId, Lsn)]) {
        let logs = self.logs.read();
        for (db, lsn) in wanted {
            if let Some(attached) = logs.get(db) {
                attached.log.request_flush(*lsn);
            }
        }
    }

    pub fn is_holding(&self, connection: ConnectionId) -> bool {
        self.gate.lock().is_holding(connection)
    }

    pub fn disconnect(&self, connection: ConnectionId) {
        self.gate.lock().disconnect(connection);
    }

    /// Packets held in all.
    pub fn held(&self) -> usize {
        self.gate.lock().held()
    }

    /// The way out for one session.
    pub fn outlet(self: &Arc<Self>, connection: ConnectionId, deps: &Arc<SessionDeps>) -> Outlet {
        Outlet {
            hub: Arc::clone(self),
            deps: Arc::clone(deps),
            connection,
            waits: None,
        }
    }
}

/// A flush that a held packet waits for, and that nobody has asked for yet.
#[must_use = "the packet stays where it is"]
pub struct Help {
    log: Arc<dyn RecordLog>,
    lsn: Lsn,
}

impl fmt::Debug for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Help")
            .field("lsn", &self.lsn)
            .finish_non_exhaustive()
    }
}

impl Help {
    /// Writes the log when nobody else does, or leaves it to who does.
    pub fn flush(self) {
        self.log.help_flush(self.lsn);
    }
}

/// Seals and submits the packets of one session.
#[derive(Clone, Debug)]
pub struct Outlet {
    hub: Arc<GateHub>,
    deps: Arc<SessionDeps>,
    connection: ConnectionId,
    waits: Option<Arc<SessionWaits>>,
}

impl Outlet {
    /// The same, where what held packets wait is the session's, too.
    pub fn waiting_as(self, waits: &Arc<SessionWaits>) -> Outlet {
        Outlet {
            waits: Some(Arc::clone(waits)),
            ..self
        }
    }

    pub fn submit(&self, packet: Vec<u8>) -> Submit<Vec<u8>> {
        let deps = self.deps.seal();
        self.hub
            .pass_and_flush(self.connection, deps, packet, self.waits.as_ref())
    }

    /// The last packets of a reply: the session has nothing else to do until they have left.
    pub fn submit_last(&self, packet: Vec<u8>) -> Submit<Vec<u8>> {
        let (answer, help) = self.submit_then_help(packet);
        if let Some(help) = help {
            help.flush();
        }
        answer
    }

    /// The same for a caller with something to do first: the flush that a held packet waits for is for it to make.
    pub fn submit_then_help(&self, packet: Vec<u8>) -> (Submit<Vec<u8>>, Option<Help>) {
        let deps = self.deps.seal();
        let waits = self.waits.as_ref();
        let answer = self.hub.pass(self.connection, deps, packet, waits);
        let help = match &answer {
            Submit::Held(unmet) => match unmet[..] {
                [(db, lsn)] => {
                    let logs = self.hub.logs.read();
                    let log = logs.get(&db).map(|a| Arc::clone(&a.log));
                    log.map(|log| Help { log, lsn })
                }
                _ => {
                    self.hub.request_flush(unmet);
                    None
                }
            },
            _ => None,
        };
        (answer, help)
    }

    /// The last packet of a reply has been submitted.
    pub fn request_done(&self) {
        self.deps.request_done();
    }

    /// Before the session blocks for another reason: asks for the flush of what it has committed.
    pub fn before_block(&self) {
        let own: Vec<_> = self.deps.pending().iter().collect();
        self.hub.request_flush(&own);
    }
}
