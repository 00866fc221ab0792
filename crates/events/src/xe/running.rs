//! A session that listens: conditions and actions at the source, everything else later.
//!
//! Invariants
//! 1. At the source nothing waits: names come from locks that are only tried, and the buffer is behind a lock that is held
//!    for a push. What finds the memory full is dropped and counted, or it is kept all the same and its thread waits
//!    where it holds nothing (`super::room`): as the session's retention mode says. [assert: running/1]
//! 2. Targets are fed by whoever dispatches, one at a time, in the order of the buffer. [assert: running/2]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::{DbId, SqlResult};
use duramen_core::activity::Activity;
use duramen_core::databases::OpenDatabases;
use duramen_core::folders::Folders;
use duramen_observe::events::{Event, EventId, EventValue, Listener};
use duramen_os::memory::{Broker, Clerk, Tally as Held};
use duramen_os::sync::{Global, Mutex};
use duramen_os::time::{self, Instant, WallTime};

use super::definition::{Definition, EventDef, Retention};
use super::file::FileTarget;
use super::objects::{self, ActionId, Joined, TargetKind};
use super::predicate::{Predicate, Source};
use super::render::Fired;
use super::room::Room;
use super::targets::{Sink, Target};

/// What one session does with one event.
struct Wanted {
    id: EventId,
    predicate: Option<Predicate>,
    /// Values that are left empty.
    empty: Vec<usize>,
}

struct Buffer {
    events: VecDeque<Fired>,
    bytes: usize,
}

impl Buffer {
    /// Drops the oldest events, of so many bytes; how many it was.
    fn drop_oldest(&mut self, bytes: usize) -> usize {
        let before = self.bytes;
        let until = self.bytes.saturating_sub(bytes);
        while self.bytes > until
            && let Some(gone) = self.events.pop_front()
        {
            debug_assert!(
                self.bytes >= gone.bytes(),
                "running/1: an event is larger than all that wait"
            );
            self.bytes -= gone.bytes();
        }
        before - self.bytes
    }

    fn put(&mut self, fired: Fired, bytes: usize) {
        self.bytes += bytes;
        self.events.push_back(fired);
    }

    /// All events, and their bytes.
    fn take_all(&mut self) -> (Vec<Fired>, usize) {
        debug_assert!(
            self.events.is_empty() == (self.bytes == 0),
            "running/2: bytes are counted of no event"
        );
        let bytes = std::mem::take(&mut self.bytes);
        (self.events.drain(..).collect(), bytes)
    }
}

/// The memory is as many buffers: one that is full is dispatched, or dropped, at once.
pub const BUFFERS: usize = 3;

/// What a running session tells of itself.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub dropped: u64,
    pub dropped_buffers: u64,
    pub largest_dropped: u64,
    /// Bytes that wait for the targets.
    pub pending: usize,
    pub bytes: u64,
    /// How long threads have waited for room.
    pub blocked: Duration,
}

/// One target as `sys.dm_xe_session_targets` shows it.
#[derive(Clone, Debug)]
pub struct TargetData {
    pub kind: TargetKind,
    pub executions: u64,
    pub millis: u64,
    pub data: String,
    pub bytes: u64,
}

pub struct Running {
    /// Changed only while it does not listen: ALTER makes a new one.
    pub definition: Definition,
    pub id: i32,
    pub created: WallTime,
    /// Of the instance: other instances of the process are not its business.
    instance: u64,
    server_name: String,
    databases: OpenDatabases,
    wants: u64,
    shortest: [Option<Duration>; 2],
    events: Vec<Wanted>,
    most_bytes: usize,
    /// The largest event that is kept although `most_bytes` has no room for it: MAX_EVENT_SIZE.
    most_event_bytes: usize,
    buffer: Global<Buffer>,
    /// What is told of the buffer; behind its lock nobody is told, as telling may call the lazy writer.
    held: Held,
    /// Where threads wait for room.
    pub(super) room: Room,
    dropped: AtomicU64,
    dropped_buffers: AtomicU64,
    largest_dropped: AtomicU64,
    fired: AtomicU64,
    bytes: AtomicU64,
    targets: Mutex<Vec<Target>>,
    dispatched: Mutex<Instant>,
}

/// What a session needs of the server to run.
pub struct ServerContext<'a> {
    pub instance: u64,
    pub server_name: &'a str,
    pub databases: &'a OpenDatabases,
    pub folders: &'a Folders,
    pub memory: &'a Arc<Broker>,
}

impl Running {
    /// 25641 when a file target has no folder to write to.
    pub fn start(
        id: i32,
        definition: Definition,
        server: &ServerContext<'_>,
    ) -> SqlResult<Arc<Running>> {
        let mut events = Vec::new();
        let mut shortest = [None; 2];
        for def in &definition.events {
            let bound = def
                .predicate
                .as_ref()
                .map(|p| Predicate::bind(def.id, p))
                .transpose()?;
            let at = match def.id {
                EventId::WaitInfo | EventId::WaitCompleted => Some(0),
                EventId::WaitInfoExternal => Some(1),
                _ => None,
            };
            if let Some(at) = at {
                let least = bound.as_ref().map_or(Duration::ZERO, Predicate::shortest);
                let known: &mut Option<Duration> = &mut shortest[at];
                *known = Some(known.map_or(least, |k| k.min(least)));
            }
            events.push(Wanted {
                id: def.id,
                predicate: bound,
                empty: unwanted(def),
            });
        }
        let mut targets = Vec::new();
        for t in &definition.targets {
            let file = match t.kind {
                TargetKind::EventFile => {
                    let (mb, files) = (t.number("max_file_size"), t.number("max_rollover_files"));
                    let mut file = FileTarget::new(server.folders, &t.text("filename"), mb, files);
                    file.check()?;
                    file.begin();
                    Some(file)
                }
                _ => None,
            };
            let target = Target::of(t, &definition, file);
            targets.extend(target.inspect(|t| t.follow(server.memory)));
        }
        let bytes = |kb: i64| usize::try_from(kb).unwrap_or(0) << 10;
        Ok(Arc::new(Running {
            id,
            created: time::wall(),
            instance: server.instance,
            server_name: server.server_name.to_owned(),
            databases: server.databases.clone(),
            wants: events.iter().fold(0, |mask, e| mask | e.id.bit()),
            shortest,
            events,
            most_bytes: bytes(definition.options.max_memory_kb),
            most_event_bytes: bytes(definition.options.max_event_kb),
            buffer: Global::new(Buffer {
                events: VecDeque::new(),
                bytes: 0,
            }),
            held: server.memory.tally(Clerk::EventBuffers),
            room: Room::default(),
            dropped: AtomicU64::new(0),
            dropped_buffers: AtomicU64::new(0),
            largest_dropped: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            targets: Mutex::new(targets),
            dispatched: Mutex::new(time::now()),
            definition,
        }))
    }

    pub fn tally(&self) -> Tally {
        Tally {
            dropped: self.dropped.load(Relaxed),
            dropped_buffers: self.dropped_buffers.load(Relaxed),
            largest_dropped: self.largest_dropped.load(Relaxed),
            pending: self.buffer.read(|b| b.bytes),
            bytes: self.bytes.load(Relaxed),
            blocked: self.room.blocked(),
        }
    }

    /// Of one of the [`BUFFERS`].
    pub fn buffer_bytes(&self) -> usize {
        (self.most_bytes / BUFFERS).max(1)
    }

    /// Whether it has kept more than it has memory for, since it may lose nothing.
    pub fn is_over(&self) -> bool {
        self.definition.options.retention == Retention::Nothing
            && self.buffer.read(|b| b.bytes) > self.most_bytes
    }

    pub fn has_file(&self) -> bool {
        self.definition
            .targets
            .iter()
            .any(|t| t.kind == TargetKind::EventFile)
    }

    pub fn is_idle(&self) -> bool {
        self.buffer.read(|b| b.events.is_empty())
    }

    /// Whether events have waited long enough, or take a third of the memory.
    pub fn is_due(&self) -> bool {
        let bytes = self.buffer.read(|b| b.bytes);
        let latency = self
            .definition
            .options
            .dispatch_latency_seconds
            .unsigned_abs();
        let waited =
            latency > 0 && self.dispatched.lock().elapsed() >= Duration::from_secs(latency);
        bytes > 0 && (waited || bytes >= self.buffer_bytes())
    }

    /// Gives what has come to the targets.
    pub fn dispatch(&self) {
        let mut targets = self.targets.lock();
        let (events, bytes) = self.buffer.write(Buffer::take_all);
        self.held.sub(bytes as u64);
        self.room.came();
        *self.dispatched.lock() = time::now();
        if events.is_empty() {
            return;
        }
        for target in targets.iter_mut() {
            target.take(&events, &self.definition);
        }
    }

    pub fn target_data(&self) -> Vec<TargetData> {
        let dropped = self.dropped.load(Relaxed);
        let shown = |t: &Target| TargetData {
            kind: t.kind,
            executions: t.executions,
            millis: t.nanos / 1_000_000,
            data: t.data(&self.definition, dropped),
            bytes: t.bytes_written(),
        };
        self.targets.lock().iter().map(shown).collect()
    }

    /// Whether a file target may have files that a pattern means, though none is there yet.
    pub fn may_write(&self, dir: &std::path::Path, pattern: &str) -> bool {
        self.targets.lock().iter().any(|t| match &t.sink {
            Sink::File(file) => file.may_match(dir, pattern),
            _ => false,
        })
    }

    fn database_name(&self, id: u64) -> Option<String> {
        let id = DbId(u16::try_from(id).ok()?);
        let open = self.databases.try_read()?;
        Some(open.get(&id)?.db.name.clone())
    }

    fn file_name(&self, database: u64, file: u64) -> Option<String> {
        let id = DbId(u16::try_from(database).ok()?);
        let open = self.databases.try_read()?;
        let entry = open.get(&id)?.entry.try_read()?;
        let found = entry.files.iter().find(|f| u64::from(f.file_id) == file);
        found.map(|f| f.logical_name.clone())
    }

    fn file_path(&self, database: u64, file: u64) -> Option<String> {
        let id = DbId(u16::try_from(database).ok()?);
        let open = self.databases.try_read()?;
        let entry = open.get(&id)?.entry.try_read()?;
        let found = entry.files.iter().find(|f| u64::from(f.file_id) == file);
        found.map(|f| f.path.clone())
    }

    fn file_group(&self, database: u64, file: u64) -> Option<u64> {
        let id = DbId(u16::try_from(database).ok()?);
        let open = self.databases.try_read()?;
        let entry = open.get(&id)?.entry.try_read()?;
        let found = entry.files.iter().find(|f| u64::from(f.file_id) == file);
        found.and_then(|f| u64::try_from(f.filegroup).ok())
    }

    fn joined(&self, event: &Event, which: Joined) -> Option<EventValue> {
        let number = |field| match event.value(field) {
            Some(EventValue::Unsigned(n)) => Some(*n),
            _ => None,
        };
        let database = number("database_id")?;
        if which == Joined::FileGroup {
            let group = self.file_group(database, number("file_id")?)?;
            return Some(EventValue::Unsigned(group));
        }
        let text = match which {
            Joined::FileGroup => None,
            Joined::DatabaseName => self.database_name(database),
            Joined::FileName => self.file_name(database, number("file_id")?),
            Joined::Path => self.file_path(database, number("file_id")?),
        };
        text.map(EventValue::Text)
    }

    fn action(
        &self,
        event: &Event,
        action: ActionId,
        who: Option<&Activity>,
    ) -> Option<EventValue> {
        let text = |t: &str| EventValue::Text(t.to_owned());
        Some(match action {
            ActionId::CollectSystemTime => {
                EventValue::Unsigned(u64::try_from(super::file::filetime(event.at)).unwrap_or(0))
            }
            ActionId::EventSequence => EventValue::Unsigned(self.fired.load(Relaxed) + 1),
            ActionId::ServerInstanceName => text(&self.server_name),
            ActionId::IsSystem => EventValue::Boolean(who.is_none() && event.session.is_none()),
            ActionId::SessionId => {
                let spid = who.map_or_else(|| event.session.map_or(0, |s| s.0), |a| a.spid.0);
                EventValue::Unsigned(u64::from(spid))
            }
            ActionId::DatabaseId => {
                EventValue::Unsigned(u64::from(who.map_or(0, Activity::database)))
            }
            ActionId::DatabaseName => {
                EventValue::Text(self.database_name(u64::from(who?.database()))?)
            }
            ActionId::RequestId => EventValue::Unsigned(0),
            ActionId::TransactionId => {
                EventValue::Signed(i64::try_from(who?.transaction_id()).unwrap_or(0))
            }
            ActionId::ClientAppName => text(&who?.login.app),
            ActionId::ClientHostname => text(&who?.login.host),
            ActionId::ClientPid => EventValue::Unsigned(u64::from(who?.login.client_pid)),
            ActionId::ClientConnectionId => {
                EventValue::Text(duramen_types::convert::guid_text(&who?.connection))
            }
            // There are no logins of Windows.
            ActionId::NtUsername | ActionId::SessionNtUsername => text(""),
            ActionId::ServerPrincipalName
            | ActionId::SessionServerPrincipalName
            | ActionId::Username => text(&who?.login.user),
            ActionId::SqlText => EventValue::Text(who?.text()?),
            other => return super::place::of(event, other, who),
        })
    }

    /// Puts an event into the buffer, or does what the retention mode says of one that finds no room.
    fn keep(&self, fired: Fired, bytes: usize) {
        let retention = self.definition.options.retention;
        let mut lost = 0;
        // Told of before others can take it away again.
        self.held.add(bytes as u64);
        let kept = self.buffer.write(|b| {
            // What no buffer can hold goes alone into one of MAX_EVENT_SIZE.
            let alone = |b: &Buffer| {
                bytes > self.most_bytes && bytes <= self.most_event_bytes && b.events.is_empty()
            };
            let fits = |b: &Buffer| b.bytes + bytes <= self.most_bytes && self.held.fits(0);
            let room = match retention {
                Retention::OneEvent => fits(b) || alone(b),
                Retention::Nothing => true,
                Retention::OneBuffer => {
                    if !fits(b) && !b.events.is_empty() && bytes <= self.most_bytes {
                        // A third of the memory, or more when the event is larger than that.
                        lost = b.drop_oldest(self.buffer_bytes().max(bytes));
                    }
                    // What has just gone is told of when the lock is free again.
                    let same = lost >= bytes && b.bytes + bytes <= self.most_bytes;
                    same || fits(b) || alone(b)
                }
            };
            if room {
                b.put(fired, bytes);
            }
            room
        });
        self.held.sub(lost as u64);
        self.dropped_buffers.fetch_add(u64::from(lost > 0), Relaxed);
        if kept {
            self.bytes.fetch_add(bytes as u64, Relaxed);
        } else {
            self.held.sub(bytes as u64);
            self.dropped.fetch_add(1, Relaxed);
            self.largest_dropped.fetch_max(bytes as u64, Relaxed);
        }
        if self.is_over() {
            super::room::owe();
        }
    }

    fn lookup(&self, event: &Event, source: Source, who: Option<&Activity>) -> Option<EventValue> {
        match source {
            Source::Field(at) => event.values.get(at).cloned(),
            Source::Joined(which) => self.joined(event, which),
            Source::Action(action) => self.action(event, action, who),
            // A counter is the condition's own.
            Source::Counter => None,
        }
    }
}

/// The fields of an event that nobody asked for: positions among its own and the joined ones.
fn unwanted(def: &EventDef) -> Vec<usize> {
    let own = def.id.fields().iter().copied();
    let all = own.chain(objects::joined(def.id).iter().map(|j| j.name()));
    all.enumerate()
        .filter(|(_, f)| !def.wants(f))
        .map(|(at, _)| at)
        .collect()
}

impl Listener for Running {
    fn wants(&self) -> u64 {
        self.wants
    }

    fn shortest_wait(&self, external: bool) -> Option<Duration> {
        self.shortest[usize::from(external)]
    }

    fn wants_io_data(&self) -> bool {
        self.definition.events.iter().any(|def| {
            let of_file = matches!(
                def.id,
                EventId::FileReadCompleted | EventId::FileWriteCompleted
            );
            of_file && def.wants("io_data")
        })
    }

    fn wants_plans(&self) -> bool {
        let of_plan = [ActionId::QueryPlanHash, ActionId::QueryPlanHashSigned];
        let mut actions = self.definition.events.iter().flat_map(|def| &def.actions);
        actions.any(|a| of_plan.contains(a))
    }

    fn event(&self, event: &Event) {
        let who = duramen_core::origin::current();
        if !duramen_core::origin::concerns(self.instance, who.as_deref()) {
            return;
        }
        // What a packet has waited is told by whoever's thread lets it go.
        let who = who.filter(|a| event.session.is_none_or(|s| s == a.spid));
        let who = who.as_deref();
        let Some(at) = self.events.iter().position(|e| e.id == event.id) else {
            return;
        };
        let (wanted, def) = (&self.events[at], &self.definition.events[at]);
        if let Some(p) = &wanted.predicate
            && !p.holds(&|source| self.lookup(event, source, who))
        {
            return;
        }
        let empty = || EventValue::Text(String::new());
        let mut values = event.values.clone();
        for j in objects::joined(event.id) {
            values.push(self.joined(event, *j).unwrap_or_else(empty));
        }
        for at in &wanted.empty {
            values[*at] = empty();
        }
        let action = |a: &ActionId| self.action(event, *a, who).unwrap_or_else(empty);
        let fired = Fired {
            at: event.at,
            def: at,
            values,
            actions: def.actions.iter().map(action).collect(),
            activity: self
                .definition
                .options
                .track_causality
                .then(|| duramen_core::origin::event_of_task(event.sequence)),
        };
        let bytes = fired.bytes();
        self.fired.fetch_add(1, Relaxed);
        self.keep(fired, bytes);
    }
}
