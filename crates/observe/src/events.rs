//! Events: what happened, recorded where it happened, with the names and units of Extended Events.
//!
//! An event is declared once, with its fields. Nobody listening costs one load: [`emit`] builds the event only when a
//! [`Listener`] asks for it. Names of databases and files are joined by whoever shows the events: the source knows ids.
//!
//! Invariants
//! 1. Emitting never blocks on anything that a listener could hold, and never fails.
//!    [assert: global/1; test: a_listener_may_change_who_listens]
//! 2. A ring is bounded: the oldest event goes when a new one finds no room, and is counted. [test: the_oldest_goes_first]
//! 3. A world hears of itself alone: no simulation runs otherwise for a listener outside of it.
//!    [test: a_simulation_is_not_heard_from_outside_and_hears_itself]

use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_base::SessionId;
use duramen_os::sim;
use duramen_os::sync::Global;
use duramen_os::time::{self, WallTime};

use crate::session::{SessionWaits, attach, current_session};
use crate::waits::{NANOS_PER_MS, WaitKind, WaitType};

/// A field's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventValue {
    Unsigned(u64),
    Signed(i64),
    Boolean(bool),
    Text(String),
    /// A key of a map and what the map says of it.
    Mapped(u32, &'static str),
    /// An address, or what stands for one.
    Pointer(u64),
    Binary(Vec<u8>),
}

/// What can be a field.
pub trait EventField {
    /// The type's name in `sys.dm_xe_object_columns`.
    const TYPE: &'static str;
    fn into_value(self) -> EventValue;
}

impl EventField for u64 {
    const TYPE: &'static str = "uint64";
    fn into_value(self) -> EventValue {
        EventValue::Unsigned(self)
    }
}

impl EventField for i64 {
    const TYPE: &'static str = "int64";
    fn into_value(self) -> EventValue {
        EventValue::Signed(self)
    }
}

impl EventField for Vec<u8> {
    const TYPE: &'static str = "binary_data";
    fn into_value(self) -> EventValue {
        EventValue::Binary(self)
    }
}

impl EventField for bool {
    const TYPE: &'static str = "boolean";
    fn into_value(self) -> EventValue {
        EventValue::Boolean(self)
    }
}

impl EventField for String {
    const TYPE: &'static str = "unicode_string";
    fn into_value(self) -> EventValue {
        EventValue::Text(self)
    }
}

/// An event that was built at its source.
pub trait EventData {
    const ID: EventId;
    fn into_values(self) -> Vec<EventValue>;
}

mod blocking;
mod list;
mod maps;

pub use list::*;
pub use maps::*;

/// An event in a ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Counts all events of the process from 1.
    pub sequence: u64,
    pub at: WallTime,
    /// Whose work it was part of; `None` for background roles.
    pub session: Option<SessionId>,
    pub id: EventId,
    /// In the order of [`EventId::fields`].
    pub values: Vec<EventValue>,
}

impl Event {
    pub fn value(&self, field: &str) -> Option<&EventValue> {
        let at = self.id.fields().iter().position(|f| *f == field)?;
        self.values.get(at)
    }
}

/// Who hears events, on the thread where they happen.
pub trait Listener: Send + Sync {
    /// The events it wants: the bits of [`EventId::bit`].
    fn wants(&self) -> u64;

    /// The shortest wait that it wants to hear of as `wait_info` or, when `external`, as `wait_info_external`. Zero: their
    /// beginnings, too.
    fn shortest_wait(&self, _external: bool) -> Option<Duration> {
        None
    }

    /// Whether it wants the bytes of reads and writes, `io_data`: they are copied only then.
    fn wants_io_data(&self) -> bool {
        false
    }

    /// Whether it wants to know of plans: their hashes are found out only then.
    fn wants_plans(&self) -> bool {
        false
    }

    /// Called under whatever locks the source holds: it must neither block on them nor emit.
    fn event(&self, event: &Event);
}

/// A bounded listener; it hears from its start until it is dropped.
#[derive(Debug)]
pub struct EventRing {
    mask: u64,
    capacity: usize,
    events: Global<VecDeque<Event>>,
    dropped: AtomicU64,
}

/// A listener, whose world it hears, and what it wanted when it was asked.
struct Registration {
    world: u64,
    listener: Weak<dyn Listener>,
    wants: u64,
    io_data: bool,
    plans: bool,
    /// The shortest wait, in nanoseconds: of workers, and external ones. All ones: none.
    shortest: [u64; 2],
}

static LISTENERS: Global<Vec<Registration>> = Global::new(Vec::new());
/// What anybody listens to, in whatever world.
static ENABLED: AtomicU64 = AtomicU64::new(0);
/// The shortest wait that anybody wants, in nanoseconds: of workers, and external ones. All ones: none.
static SHORTEST: [AtomicU64; 2] = [const { AtomicU64::new(u64::MAX) }; 2];
/// Whether anybody wants the bytes of reads and writes.
static IO_DATA: AtomicBool = AtomicBool::new(false);
/// Whether anybody wants to know of plans.
static PLANS: AtomicBool = AtomicBool::new(false);
/// How often [`relisten`] was called.
static CHANGES: AtomicU64 = AtomicU64::new(0);
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

impl EventRing {
    /// Listens to `ids`, keeping the newest `capacity` events.
    pub fn start(ids: &[EventId], capacity: usize) -> Arc<EventRing> {
        let ring = Arc::new(EventRing {
            mask: ids.iter().fold(0, |mask, id| mask | id.bit()),
            capacity,
            events: Global::new(VecDeque::new()),
            dropped: AtomicU64::new(0),
        });
        listen(ring.clone());
        ring
    }

    /// What it holds, oldest first.
    pub fn snapshot(&self) -> Vec<Event> {
        self.events.read(|e| e.iter().cloned().collect())
    }

    /// Takes what it holds, oldest first.
    pub fn drain(&self) -> Vec<Event> {
        self.events.write(|e| e.drain(..).collect())
    }

    /// Events that found no room.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

impl Listener for EventRing {
    fn wants(&self) -> u64 {
        self.mask
    }

    fn event(&self, event: &Event) {
        let full = self.events.write(|e| {
            let full = e.len() >= self.capacity;
            if full {
                e.pop_front();
            }
            e.push_back(event.clone());
            full
        });
        self.dropped.fetch_add(u64::from(full), Relaxed);
    }
}

impl Drop for EventRing {
    fn drop(&mut self) {
        relisten();
    }
}

/// Gives events of the calling thread's world ([`sim::world`]) to `listener`, until nobody else holds it and [`relisten`] is
/// called.
pub fn listen(listener: Arc<dyn Listener>) {
    let registration = Registration {
        world: sim::world(),
        listener: Arc::downgrade(&listener),
        wants: 0,
        io_data: false,
        plans: false,
        shortest: [u64::MAX; 2],
    };
    LISTENERS.write(|all| all.push(registration));
    relisten();
}

/// Forgets listeners that are gone, and asks the others of this world anew what they want.
pub fn relisten() {
    CHANGES.fetch_add(1, SeqCst);
    loop {
        let seen = CHANGES.load(SeqCst);
        ask();
        // Whoever came in between may have been overwritten with what was so before.
        if CHANGES.load(SeqCst) == seen {
            return;
        }
    }
}

/// The listeners of this world. Those of another are never held, not even for a moment: the last who lets go of one ends it.
fn listeners() -> Vec<Arc<dyn Listener>> {
    let world = sim::world();
    LISTENERS.read(|all| {
        let own = all.iter().filter(|h| h.world == world);
        own.filter_map(|h| h.listener.upgrade()).collect()
    })
}

fn ask() {
    let asked: Vec<_> = listeners()
        .into_iter()
        .map(|l| {
            let shortest = [false, true].map(|external| {
                let wanted = l.shortest_wait(external).map(|d| d.as_nanos());
                wanted.map_or(u64::MAX, |n| u64::try_from(n).unwrap_or(u64::MAX))
            });
            Registration {
                world: sim::world(),
                listener: Arc::downgrade(&l),
                wants: l.wants(),
                io_data: l.wants_io_data(),
                plans: l.wants_plans(),
                shortest,
            }
        })
        .collect();
    LISTENERS.write(|all| {
        all.retain(|h| h.listener.strong_count() > 0);
        for answer in asked {
            let asked = all.iter_mut().find(|h| h.listener.ptr_eq(&answer.listener));
            if let Some(registration) = asked {
                *registration = answer;
            }
        }
        ENABLED.store(all.iter().fold(0, |mask, h| mask | h.wants), SeqCst);
        IO_DATA.store(all.iter().any(|h| h.io_data), SeqCst);
        PLANS.store(all.iter().any(|h| h.plans), SeqCst);
        for (i, shortest) in SHORTEST.iter().enumerate() {
            let wanted = all.iter().map(|h| h.shortest[i]).min();
            shortest.store(wanted.unwrap_or(u64::MAX), SeqCst);
        }
    });
}

/// Records an event when somebody listens.
#[inline]
pub fn emit<E: EventData>(make: impl FnOnce() -> E) {
    if is_wanted(E::ID) {
        record(E::ID, make().into_values());
    }
}

/// An event for one listener alone, which is given it by whoever makes it.
pub fn made<E: EventData>(event: E) -> Event {
    Event {
        sequence: SEQUENCE.fetch_add(1, Relaxed) + 1,
        at: time::wall(),
        session: current_session(),
        id: E::ID,
        values: event.into_values(),
    }
}

/// Whether somebody listens to such events: what costs something to know is found out only then.
#[inline]
pub fn is_wanted(id: EventId) -> bool {
    are_wanted(id.bit())
}

/// The same for several: the bits of [`EventId::bit`].
#[inline]
pub fn are_wanted(mask: u64) -> bool {
    crate::RECORDS && ENABLED.load(Relaxed) & mask != 0 && are_wanted_here(mask)
}

/// Somebody listens; in a simulation only listeners of its own count, for to make an event takes time.
fn are_wanted_here(mask: u64) -> bool {
    let world = sim::world();
    let own = |h: &&Registration| h.world == world;
    world == 0 || LISTENERS.read(|all| all.iter().filter(own).any(|h| h.wants & mask != 0))
}

/// Whether events are to tell which plan a statement has.
#[inline]
pub fn plans_are_wanted() -> bool {
    crate::RECORDS && PLANS.load(Relaxed)
}

/// The bytes of a read or write, if somebody wants them.
pub(crate) fn io_data(data: &[u8]) -> Vec<u8> {
    match IO_DATA.load(Relaxed) {
        true => data.to_vec(),
        false => Vec::new(),
    }
}

/// A wait begins; `resource` is what is waited for, if that has a name.
#[inline]
pub(crate) fn wait_begins(wait_type: WaitType, resource: &str) {
    let external = wait_type.kind() == WaitKind::External;
    if SHORTEST[usize::from(external)].load(Relaxed) == 0 {
        wait_event(wait_type, external, None, resource);
    }
}

/// A wait has ended, after so many nanoseconds.
#[inline]
pub(crate) fn wait_ends(wait_type: WaitType, waited: u64, signal: u64, resource: &str) {
    let external = wait_type.kind() == WaitKind::External;
    if waited >= SHORTEST[usize::from(external)].load(Relaxed) {
        wait_event(wait_type, external, Some((waited, signal)), resource);
    }
}

/// A wait is over that no thread sat through, after so many nanoseconds.
#[inline]
pub(crate) fn wait_ended(wait_type: WaitType, waited: u64, of: Option<&Arc<SessionWaits>>) {
    if waited >= SHORTEST[0].load(Relaxed) {
        let _attached = of.map(|waits| attach(waits, 0));
        wait_event(wait_type, false, Some((waited, 0)), "");
    }
}

#[cold]
fn wait_event(wait_type: WaitType, external: bool, ended: Option<(u64, u64)>, resource: &str) {
    let (waited, signal) = ended.unwrap_or_default();
    let (duration, signal_duration) = (waited / NANOS_PER_MS, signal / NANOS_PER_MS);
    let (wait_type, opcode) = (WaitTypes(wait_type), Opcode(ended.is_some()));
    let wait_resource = || resource.to_owned();
    if external {
        emit(|| WaitInfoExternal {
            wait_type,
            opcode,
            duration,
            wait_resource: wait_resource(),
        });
        return;
    }
    emit(|| WaitInfo {
        wait_type,
        opcode,
        duration,
        signal_duration,
        wait_resource: wait_resource(),
    });
    if ended.is_some() {
        emit(|| WaitCompleted {
            wait_type,
            duration,
            signal_duration,
            wait_resource: wait_resource(),
        });
    }
}

#[cold]
fn record(id: EventId, values: Vec<EventValue>) {
    let event = Event {
        sequence: SEQUENCE.fetch_add(1, Relaxed) + 1,
        at: time::wall(),
        session: current_session(),
        id,
        values,
    };
    for listener in listeners().iter().filter(|l| l.wants() & id.bit() != 0) {
        listener.event(&event);
    }
}

#[cfg(test)]
mod tests;
