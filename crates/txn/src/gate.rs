//! The packet gate: no packet leaves the process before what it tells is durable.
//!
//! COMMIT appends its record, releases its locks and goes on; the debt moves to the packets. When the server seals a
//! response packet it asks the session what the packet *depends* on ([`SessionDeps::seal`]): for every database the
//! LSN up to which that database's log must be on disk. The gate keeps the packet until all of it is.
//!
//! Invariants
//! 1. The packets of a connection leave in the order in which they were submitted.
//!    [assert: gate/1; test: agrees_with_the_model]
//! 2. A packet leaves only when every database it depends on is durable up to the LSN named. [assert: gate/2]
//! 3. A packet that depends on a poisoned database beyond its durable prefix never leaves; its connection ends, and
//!    with it everything held behind that packet. Connections without such a packet are not touched. [assert: gate/3]
//! 4. Nothing waits without a reason: whenever a call returns, the first held packet of every connection has a
//!    dependency that is not yet durable. [assert: gate/4]
//!
//! Because of (1) a dependency need not be repeated: once one packet has carried it, later packets are behind that one.
//!
//! A database may be closed, dropped or detached before a packet is sealed that tells of its commits (a batch that fills a
//! table and drops its database), and its id given to another. So closings are counted: a dependency remembers how many
//! there had been when it was noted, and one from before the closing of its database asks how far the log was then.
//!
//! [`PacketGate`] is plain code: no threads, no clock, no sockets. [`GateHub`] puts it between sessions, flushers and the
//! server's buffers.

mod hub;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::planted::{self, Bug};
use duramen_base::{DbId, Lsn};
use duramen_os::sync::Mutex;

use crate::commits::CommitTracker;

pub use hub::{GateHub, Help, Outcome, Outlet};

/// A connection, as the server numbers them. Never reused while packets of it are held.
pub type ConnectionId = u64;

/// Closings of one database that are remembered: far more than a batch goes through before it seals a packet.
const CLOSINGS_KEPT: usize = 64;

/// What must be durable of one database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Need {
    db: DbId,
    /// How many databases had been closed when it was noted.
    closings: u64,
    lsn: Lsn,
}

/// For each database the LSN that must be durable: sorted by database and by when it was noted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dependencies {
    needs: Vec<Need>,
}

impl Dependencies {
    pub const fn none() -> Dependencies {
        Dependencies { needs: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Raises what `db` must reach, as it is after so many closings. tempdb is never waited for: it does not survive a
    /// restart.
    pub fn add(&mut self, db: DbId, lsn: Lsn, closings: u64) {
        if db == DbId::TEMPDB || lsn.is_null() {
            return;
        }
        let place = |n: &Need| (n.db, n.closings);
        match self.needs.binary_search_by_key(&(db, closings), place) {
            Ok(at) => self.needs[at].lsn = self.needs[at].lsn.max(lsn),
            Err(at) => self.needs.insert(at, Need { db, closings, lsn }),
        }
        debug_assert!(
            self.needs.is_sorted_by(|a, b| place(a) < place(b)),
            "gate/2: one need for a database and a closing"
        );
    }

    pub fn iter(&self) -> impl Iterator<Item = (DbId, Lsn)> + '_ {
        self.needs.iter().map(|n| (n.db, n.lsn))
    }

    pub fn get(&self, db: DbId) -> Lsn {
        let of_db = self.iter().filter(|n| n.0 == db);
        of_db.map(|n| n.1).max().unwrap_or(Lsn::NULL)
    }
}

/// What became of a submitted packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Submit<P> {
    /// Send it now.
    Released(P),
    /// The gate has it. Ask these logs for a flush; `durable` gives the packet back later.
    Held(Vec<(DbId, Lsn)>),
    /// It can never be sent: end the connection (error 9001, severity 21).
    Ended,
}

#[derive(Debug)]
struct Queue<P> {
    held: VecDeque<(Dependencies, P)>,
    /// The dependency under which the first held packet is filed in `waiting`.
    filed: (DbId, Lsn),
}

/// Packets held back, by connection, and why.
#[derive(Debug)]
pub struct PacketGate<P> {
    durable: BTreeMap<DbId, Lsn>,
    poisoned: BTreeSet<DbId>,
    /// How many databases have been closed. Changed under the gate's lock only.
    closings: Arc<AtomicU64>,
    /// How far the log was at the closing of that number.
    closed: BTreeMap<(DbId, u64), Lsn>,
    queues: BTreeMap<ConnectionId, Queue<P>>,
    /// One entry for every queue: the first unmet dependency of its first packet.
    waiting: BTreeSet<(DbId, Lsn, ConnectionId)>,
    held: usize,
}

impl<P> Default for PacketGate<P> {
    fn default() -> Self {
        PacketGate::new()
    }
}

impl<P> PacketGate<P> {
    pub fn new() -> PacketGate<P> {
        PacketGate {
            durable: BTreeMap::new(),
            poisoned: BTreeSet::new(),
            closings: Arc::default(),
            closed: BTreeMap::new(),
            queues: BTreeMap::new(),
            waiting: BTreeSet::new(),
            held: 0,
        }
    }

    /// The invariants that follow from the queues alone; of gates that hold little.
    #[cfg(debug_assertions)]
    fn assert_sound(&self) {
        const FEW: usize = 16;
        debug_assert!(
            self.waiting.len() == self.queues.len(),
            "gate/4: a connection waits for one thing"
        );
        debug_assert!(
            self.held >= self.queues.len(),
            "gate/4: a queue that holds nothing is kept"
        );
        if self.queues.len() > FEW || self.held > 4 * FEW {
            return;
        }
        let mut held = 0;
        for (connection, queue) in &self.queues {
            let (db, lsn) = queue.filed;
            held += queue.held.len();
            debug_assert!(
                self.waiting.contains(&(db, lsn, *connection)),
                "gate/4: a queue that nothing will wake"
            );
            debug_assert!(
                self.durable_lsn(db) < lsn,
                "gate/4: what is waited for is durable"
            );
            let first = queue.held.front();
            debug_assert!(
                first.is_some(),
                "gate/4: a queue that holds nothing is kept"
            );
            debug_assert!(
                first.is_some_and(|(deps, _)| deps.get(db) >= lsn),
                "gate/4: the first packet does not wait for what it is filed under"
            );
            debug_assert!(
                queue.held.iter().all(|(deps, _)| !self.is_hopeless(deps)),
                "gate/3: a packet that can never leave is held"
            );
        }
        debug_assert!(
            held == self.held,
            "gate/1: packets are counted that are not held"
        );
    }

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    fn assert_sound(&self) {}

    fn first_unmet(&self, deps: &Dependencies) -> Option<(DbId, Lsn)> {
        let seen = if planted::on(Bug::GateSeesOneDatabase) {
            1
        } else {
            usize::MAX
        };
        deps.iter()
            .take(seen)
            .find(|&(db, lsn)| self.durable_lsn(db) < lsn)
    }

    fn is_hopeless(&self, deps: &Dependencies) -> bool {
        !self.poisoned.is_empty()
            && !planted::on(Bug::HopelessHeld)
            && deps
                .iter()
                .any(|(db, lsn)| self.poisoned.contains(&db) && self.durable_lsn(db) < lsn)
    }

    /// Takes out what databases had on disk that have been closed since; false when one had not.
    fn settle(&self, deps: &mut Dependencies) -> bool {
        if self.closed.is_empty() {
            return true;
        }
        let mut whole = true;
        deps.needs.retain(|need| {
            let since = (need.db, need.closings + 1)..=(need.db, u64::MAX);
            let closed = self.closed.range(since).next();
            whole &= closed.is_none_or(|(_, durable)| need.lsn <= *durable);
            closed.is_none()
        });
        whole
    }

    /// A sealed packet of `connection`, behind every packet submitted for it before.
    pub fn submit(
        &mut self,
        connection: ConnectionId,
        mut deps: Dependencies,
        packet: P,
    ) -> Submit<P> {
        // Closings first: of a closed database nobody reports any more, or another one of its id does.
        if !self.settle(&mut deps) || self.is_hopeless(&deps) {
            self.disconnect(connection);
            return Submit::Ended;
        }
        let mut unmet: Vec<_> = deps
            .iter()
            .filter(|&(db, lsn)| self.durable_lsn(db) < lsn)
            .collect();
        if planted::on(Bug::GateSeesOneDatabase) {
            unmet = self.first_unmet(&deps).into_iter().collect();
        }
        if planted::on(Bug::GateOpen) {
            unmet.clear();
        }
        // Behind one that is held even a packet without needs waits: invariant 1.
        if let Some(queue) = self.queues.get_mut(&connection) {
            queue.held.push_back((deps, packet));
            self.held += 1;
            return Submit::Held(unmet);
        }
        // One need is enough to be filed under: when that is met, `advance` looks for the next.
        let Some(&filed) = unmet.first() else {
            return Submit::Released(packet);
        };
        self.queues.insert(
            connection,
            Queue {
                held: VecDeque::from([(deps, packet)]),
                filed,
            },
        );
        self.waiting.insert((filed.0, filed.1, connection));
        self.held += 1;
        self.assert_sound();
        Submit::Held(unmet)
    }

    /// The log of `db` is on disk up to `lsn`. Gives what may leave now, each connection's packets in order.
    pub fn durable(&mut self, db: DbId, lsn: Lsn) -> Vec<(ConnectionId, P)> {
        let known = self.durable.entry(db).or_insert(Lsn::NULL);
        // Reports may overtake each other: what is durable never gets less.
        if lsn <= *known {
            return Vec::new();
        }
        *known = lsn;
        let due: Vec<_> = self
            .waiting
            .range((db, Lsn::NULL, 0)..=(db, lsn, ConnectionId::MAX))
            .copied()
            .collect();
        let mut released = Vec::new();
        for entry in due {
            self.waiting.remove(&entry);
            self.advance(entry.2, &mut released);
        }
        self.assert_sound();
        released
    }

    /// Releases the ready head of a queue that is not filed, and files the rest.
    fn advance(&mut self, connection: ConnectionId, released: &mut Vec<(ConnectionId, P)>) {
        let Some(mut queue) = self.queues.remove(&connection) else {
            return;
        };
        while let Some((deps, packet)) = queue.held.pop_front() {
            if let Some((db, lsn)) = self.first_unmet(&deps) {
                queue.held.push_front((deps, packet));
                queue.filed = (db, lsn);
                self.waiting.insert((db, lsn, connection));
                self.queues.insert(connection, queue);
                return;
            }
            debug_assert!(
                deps.iter().all(|(db, lsn)| self.durable_lsn(db) >= lsn),
                "gate/2: a packet leaves before what it tells is durable"
            );
            self.held -= 1;
            released.push((connection, packet));
        }
    }

    /// The log of `db` has failed: nothing beyond its durable prefix will ever be durable. Gives the connections to
    /// end; their held packets are gone.
    pub fn poisoned(&mut self, db: DbId) -> Vec<ConnectionId> {
        self.poisoned.insert(db);
        // All that is held, not the first alone: behind a packet that never leaves none can.
        let ends: Vec<_> = self
            .queues
            .iter()
            .filter(|(_, queue)| queue.held.iter().any(|(deps, _)| self.is_hopeless(deps)))
            .map(|(&connection, _)| connection)
            .collect();
        for &connection in &ends {
            self.disconnect(connection);
        }
        ends
    }

    /// The connection is gone; its packets with it.
    pub fn disconnect(&mut self, connection: ConnectionId) {
        if let Some(queue) = self.queues.remove(&connection) {
            self.held -= queue.held.len();
            let (db, lsn) = queue.filed;
            let filed = self.waiting.remove(&(db, lsn, connection));
            debug_assert!(filed, "gate/4: a queue was not filed where it says");
        }
    }

    /// `db` was closed or dropped and its id may come back with another log. A clean close has reported its last
    /// durable LSN before; whatever still waits for `db` can never leave, and the connections to end are given back.
    pub fn forget(&mut self, db: DbId) -> Vec<ConnectionId> {
        // As if its log had failed, but for this moment only: the next of its id is sound.
        let ends = self.poisoned(db);
        self.poisoned.remove(&db);
        let durable = self.durable.remove(&db).unwrap_or(Lsn::NULL);
        let count = self.closings.fetch_add(1, Ordering::AcqRel) + 1;
        self.closed.insert((db, count), durable);
        let of_db = self.closed.range((db, 0)..=(db, u64::MAX));
        if of_db.clone().count() > CLOSINGS_KEPT
            && let Some(oldest) = of_db.map(|(key, _)| *key).next()
        {
            self.closed.remove(&oldest);
        }
        // Those who are left have it: nobody may take it for a dependency on the next of that id.
        for queue in self.queues.values_mut() {
            debug_assert!(
                queue.filed.0 != db,
                "gate/3: somebody waits for a closed database"
            );
            for (deps, _) in &mut queue.held {
                deps.needs.retain(|need| need.db != db);
            }
        }
        self.assert_sound();
        ends
    }

    /// The count of closings, for those who note dependencies.
    pub fn closings(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.closings)
    }

    pub fn durable_lsn(&self, db: DbId) -> Lsn {
        self.durable.get(&db).copied().unwrap_or(Lsn::NULL)
    }

    /// Does the connection have packets held (its finished request is then `suspended` on WRITELOG)?
    pub fn is_holding(&self, connection: ConnectionId) -> bool {
        self.queues.contains_key(&connection)
    }

    /// Packets held in all.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The highest LSN of each database that a held packet waits for.
    pub fn wanted(&self) -> Dependencies {
        let mut all = Dependencies::none();
        for queue in self.queues.values() {
            for (deps, _) in &queue.held {
                let unmet = deps.needs.iter();
                for n in unmet.filter(|n| self.durable_lsn(n.db) < n.lsn) {
                    all.add(n.db, n.lsn, n.closings);
                }
            }
        }
        all
    }
}

/// What the next packet of a session depends on. Shared by the session, which notes, and the packet writer, which
/// seals; both on the worker that runs the request, so the lock is never contended.
#[derive(Debug, Default)]
pub struct SessionDeps {
    /// The gate's.
    closings: Arc<AtomicU64>,
    state: Mutex<DepsState>,
}

#[derive(Debug, Default)]
struct DepsState {
    /// Own commits and fixed read points since the last seal.
    own: Dependencies,
    /// Databases read by the running request, whose rows may have been put in place by others, and how many closings there
    /// had been.
    reads: Vec<(Arc<CommitTracker>, u64)>,
}

impl SessionDeps {
    fn closings(&self) -> u64 {
        self.closings.load(Ordering::Acquire)
    }

    /// This session has committed with full durability at `lsn`.
    pub fn note_commit(&self, db: DbId, lsn: Lsn) {
        self.state.lock().own.add(db, lsn, self.closings());
    }

    /// The running request reads current rows: what it sees may be as new as the last full commit of that database
    /// at the moment a packet is sealed. Stands until `request_done`.
    pub fn note_read(&self, tracker: &Arc<CommitTracker>) {
        if tracker.db() == DbId::TEMPDB {
            return;
        }
        let mut state = self.state.lock();
        let mut known = state.reads.iter();
        if !known.any(|(known, _)| Arc::ptr_eq(known, tracker)) {
            state.reads.push((Arc::clone(tracker), self.closings()));
        }
    }

    /// The running request reads row versions as of a moment at which the last full commit was `lsn`.
    pub fn note_read_at(&self, db: DbId, lsn: Lsn) {
        self.state.lock().own.add(db, lsn, self.closings());
    }

    /// What a packet that is complete now depends on. Call it after the last byte was put into the packet.
    pub fn seal(&self) -> Dependencies {
        let mut state = self.state.lock();
        let mut deps = std::mem::take(&mut state.own);
        if planted::on(Bug::ReaderNotGated) {
            return deps;
        }
        // Asked now: the packet may tell of what was committed since the request began to read.
        for (tracker, closings) in &state.reads {
            deps.add(tracker.db(), tracker.last_full(), *closings);
        }
        deps
    }

    /// The session's own commits that no packet has carried yet.
    pub fn pending(&self) -> Dependencies {
        self.state.lock().own.clone()
    }

    /// The last packet of the request is sealed and no cursor is left open: nothing more will be sent of what it read.
    pub fn request_done(&self) {
        self.state.lock().reads.clear();
    }
}

#[cfg(test)]
pub(crate) mod crash_tests;
#[cfg(test)]
pub(crate) mod tests;
