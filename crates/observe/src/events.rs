//! Events: what happened, recorded where it happened, with the names and units of Extended Events.
//!
//! An event is declared once, with its fields. Nobody listening costs one load: [`emit`] builds the event only when a
//! [`Listener`] asks for it. Names of databases and files are joined by whoever shows the events: the source knows ids.
//!
//! Invariants
//! 1. Emitting never blocks on anything that a listener could hold, and never fails.
//! 2. A ring is bounded: the oldest event goes when a new one finds no room, and is counted.

use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_base::SessionId;
use duramen_os::sync::Global;
use duramen_os::time::{self, WallTime};

use crate::session::current_session;
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

static LISTENERS: Global<Vec<Weak<dyn Listener>>> = Global::new(Vec::new());
/// What anybody listens to.
static ENABLED: AtomicU64 = AtomicU64::new(0);
/// The shortest wait that anybody wants, in nanoseconds: of workers, and external ones. All ones: none.
static SHORTEST: [AtomicU64; 2] = [const { AtomicU64::new(u64::MAX) }; 2];
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

/// Gives events to `listener` until nobody else holds it and [`relisten`] is called.
pub fn listen(listener: Arc<dyn Listener>) {
    let weak = Arc::downgrade(&listener);
    LISTENERS.write(|all| all.push(weak));
    relisten();
}

/// Forgets listeners that are gone, and asks the others anew what they want.
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

fn ask() {
    let all = LISTENERS.write(|all| {
        all.retain(|l| l.strong_count() > 0);
        all.clone()
    });
    let all: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
    let mask = all.iter().fold(0, |mask, l| mask | l.wants());
    ENABLED.store(mask, SeqCst);
    for (external, shortest) in [false, true].into_iter().zip(&SHORTEST) {
        let wanted = all.iter().filter_map(|l| l.shortest_wait(external));
        let nanos = wanted.map(|d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
        shortest.store(nanos.min().unwrap_or(u64::MAX), SeqCst);
    }
}

/// Records an event when somebody listens.
#[inline]
pub fn emit<E: EventData>(make: impl FnOnce() -> E) {
    if is_wanted(E::ID) {
        record(E::ID, make().into_values());
    }
}

/// Whether somebody listens to such events: what costs something to know is found out only then.
#[inline]
pub fn is_wanted(id: EventId) -> bool {
    crate::RECORDS && ENABLED.load(Relaxed) & id.bit() != 0
}

/// The same for several: the bits of [`EventId::bit`].
#[inline]
pub fn are_wanted(mask: u64) -> bool {
    crate::RECORDS && ENABLED.load(Relaxed) & mask != 0
}

/// A wait begins.
#[inline]
pub(crate) fn wait_begins(wait_type: WaitType) {
    let external = wait_type.kind() == WaitKind::External;
    if SHORTEST[usize::from(external)].load(Relaxed) == 0 {
        wait_event(wait_type, external, None);
    }
}

/// A wait has ended, after so many nanoseconds.
#[inline]
pub(crate) fn wait_ends(wait_type: WaitType, waited: u64, signal: u64) {
    let external = wait_type.kind() == WaitKind::External;
    if waited >= SHORTEST[usize::from(external)].load(Relaxed) {
        wait_event(wait_type, external, Some((waited, signal)));
    }
}

#[cold]
fn wait_event(wait_type: WaitType, external: bool, ended: Option<(u64, u64)>) {
    let (waited, signal) = ended.unwrap_or_default();
    let (duration, signal_duration) = (waited / NANOS_PER_MS, signal / NANOS_PER_MS);
    let (wait_type, opcode) = (WaitTypes(wait_type), Opcode(ended.is_some()));
    match external {
        true => emit(|| WaitInfoExternal {
            wait_type,
            opcode,
            duration,
        }),
        false => emit(|| WaitInfo {
            wait_type,
            opcode,
            duration,
            signal_duration,
        }),
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
    let listening: Vec<_> = LISTENERS.read(|all| all.iter().filter_map(Weak::upgrade).collect());
    for listener in listening.iter().filter(|l| l.wants() & id.bit() != 0) {
        listener.event(&event);
    }
}

#[cfg(test)]
mod tests;
