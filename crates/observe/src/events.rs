//! Events: what happened, recorded where it happened, with the names and units of Extended Events.
//!
//! An event is declared once, with its fields. Nobody listening costs one load: [`emit`] builds the event only when a
//! [`EventRing`] asks for it. Names of databases and files are joined by whoever shows the events: the source knows ids.
//!
//! Invariants
//! 1. Emitting never blocks on anything that a listener could hold, and never fails.
//! 2. A ring is bounded: the oldest event goes when a new one finds no room, and is counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use duramen_base::SessionId;
use duramen_os::sync::Global;
use duramen_os::time::{self, WallTime};

use crate::session::current_session;

/// A field's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventValue {
    Unsigned(u64),
    Signed(i64),
    Boolean(bool),
    Text(String),
}

/// What can be a field.
pub trait EventField {
    fn into_value(self) -> EventValue;
}

impl EventField for u64 {
    fn into_value(self) -> EventValue {
        EventValue::Unsigned(self)
    }
}

impl EventField for i64 {
    fn into_value(self) -> EventValue {
        EventValue::Signed(self)
    }
}

impl EventField for bool {
    fn into_value(self) -> EventValue {
        EventValue::Boolean(self)
    }
}

impl EventField for String {
    fn into_value(self) -> EventValue {
        EventValue::Text(self)
    }
}

/// An event that was built at its source.
pub trait EventData {
    const ID: EventId;
    fn into_values(self) -> Vec<EventValue>;
}

macro_rules! events {
    ($($(#[$doc:meta])* $id:ident $name:literal { $($(#[$unit:meta])* $field:ident: $ty:ty,)* })*) => {
        /// Every event there is.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum EventId { $($(#[$doc])* $id,)* }

        impl EventId {
            pub const ALL: &'static [EventId] = &[$(EventId::$id,)*];

            /// The name in `sys.dm_xe_objects`.
            pub const fn name(self) -> &'static str {
                match self { $(EventId::$id => $name,)* }
            }

            /// Names of the fields, in order.
            pub const fn fields(self) -> &'static [&'static str] {
                match self { $(EventId::$id => &[$(stringify!($field),)*],)* }
            }
        }

        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $id { $($(#[$unit])* pub $field: $ty,)* }

            impl EventData for $id {
                const ID: EventId = EventId::$id;
                fn into_values(self) -> Vec<EventValue> {
                    vec![$(self.$field.into_value(),)*]
                }
            }
        )*
    };
}

events! {
    /// A data or log file grew or shrank.
    DatabaseFileSizeChange "database_file_size_change" {
        /// Microseconds.
        duration: u64,
        database_id: u64,
        file_id: u64,
        /// 0 data, 1 log.
        file_type: u64,
        is_automatic: bool,
        total_size_kb: u64,
        /// Negative when it shrank.
        size_change_kb: i64,
    }
    /// A log write was given to the disk.
    LogFlushStart "log_flush_start" {
        database_id: u64,
        /// VLF sequence number << 32 | block.
        log_block_id: u64,
        /// Bytes.
        write_size: u64,
        /// Writes in flight, this one included.
        pending_writes: u64,
    }
    /// A log write came back from the disk.
    LogFlushComplete "log_flush_complete" {
        database_id: u64,
        log_block_id: u64,
        /// Milliseconds.
        duration: u64,
        write_size: u64,
        pending_writes: u64,
        /// The operating system's error number; 0 when it succeeded.
        error: u64,
    }
    /// VLFs were marked reusable.
    LogTruncation "databases_log_truncation" {
        database_id: u64,
        /// How many VLFs.
        count: u64,
    }
    CheckpointBegin "checkpoint_begin" {
        database_id: u64,
    }
    CheckpointEnd "checkpoint_end" {
        database_id: u64,
    }
    /// A session was chosen as the victim of a deadlock.
    LockDeadlock "lock_deadlock" {
        /// Sessions in the cycle.
        cycle_length: u64,
        victim_session_id: u64,
    }
    /// Row or page locks were traded for one of the table.
    LockEscalation "lock_escalation" {
        database_id: u64,
        object_id: u64,
        escalated_lock_count: u64,
    }
    /// An error or message was given to a client.
    ErrorReported "error_reported" {
        error_number: i64,
        severity: u64,
        state: u64,
        message: String,
    }
    /// A growth of a log file was prepared in the background (Duramen's own).
    LogGrowthPrepared "log_growth_prepared" {
        /// Microseconds.
        duration: u64,
        database_id: u64,
        file_id: u64,
        /// 0 when it failed.
        size_change_kb: u64,
        /// The operating system's error number; 0 when it succeeded.
        error: u64,
    }
    /// Somebody had to wait for a log file to grow (Duramen's own).
    LogGrowthWait "log_growth_wait" {
        /// Microseconds.
        duration: u64,
        database_id: u64,
        file_id: u64,
    }
}

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

/// A bounded listener; it hears from its start until it is dropped.
#[derive(Debug)]
pub struct EventRing {
    mask: u64,
    capacity: usize,
    events: Global<VecDeque<Event>>,
    dropped: AtomicU64,
}

static RINGS: Global<Vec<Weak<EventRing>>> = Global::new(Vec::new());
/// What any ring listens to.
static ENABLED: AtomicU64 = AtomicU64::new(0);
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

const fn bit(id: EventId) -> u64 {
    1 << id as u8
}

impl EventRing {
    /// Listens to `ids`, keeping the newest `capacity` events.
    pub fn start(ids: &[EventId], capacity: usize) -> Arc<EventRing> {
        let ring = Arc::new(EventRing {
            mask: ids.iter().fold(0, |mask, id| mask | bit(*id)),
            capacity,
            events: Global::new(VecDeque::new()),
            dropped: AtomicU64::new(0),
        });
        let weak = Arc::downgrade(&ring);
        RINGS.write(|rings| {
            rings.push(weak);
            enable(rings);
        });
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

    fn add(&self, event: Event) {
        let full = self.events.write(|e| {
            let full = e.len() >= self.capacity;
            if full {
                e.pop_front();
            }
            e.push_back(event);
            full
        });
        self.dropped.fetch_add(u64::from(full), Relaxed);
    }
}

impl Drop for EventRing {
    fn drop(&mut self) {
        RINGS.write(enable);
    }
}

/// Forgets rings that are gone and sets what is still listened to.
fn enable(rings: &mut Vec<Weak<EventRing>>) {
    rings.retain(|r| r.strong_count() > 0);
    let mask = rings
        .iter()
        .filter_map(Weak::upgrade)
        .fold(0, |mask, r| mask | r.mask);
    ENABLED.store(mask, Relaxed);
}

/// Records an event when somebody listens.
#[inline]
pub fn emit<E: EventData>(make: impl FnOnce() -> E) {
    if ENABLED.load(Relaxed) & bit(E::ID) != 0 {
        record(E::ID, make().into_values());
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
    let listening: Vec<_> = RINGS.read(|rings| rings.iter().filter_map(Weak::upgrade).collect());
    for ring in listening.iter().filter(|r| r.mask & bit(id) != 0) {
        ring.add(event.clone());
    }
}

#[cfg(test)]
mod tests;
