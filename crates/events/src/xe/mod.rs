//! Extended Events: the sessions of the server.
//!
//! ```text
//!  source --emit--> Running (condition, actions) --> buffer --dispatch--> targets --> files, views
//! ```
//! Events come from `observe::events`; what they are called and what can be asked of them is in [`objects`]. A session is a
//! [`definition::Definition`], kept in master as the statement that makes it; started it is a [`running::Running`]. A thread
//! of the instance feeds the targets when a session's latency is over; whoever reads a target or its file feeds it first.
//!
//! Invariants
//! 1. Nothing is written to a file before the logs of all databases are durable up to what the events tell of.
//!    [assert: xe/1]
//! 2. In a simulation no session runs by itself: what happens in other worlds of the process must not be seen there.
//!    [assert: xe/2]

pub mod blocked;
pub mod deadlock;
pub mod definition;
pub mod file;
pub mod objects;
pub(crate) mod pairing;
mod place;
pub mod predicate;
mod process;
pub(crate) mod records;
pub(crate) mod render;
pub(crate) mod room;
pub mod running;
pub(crate) mod system_health;
pub(crate) mod targets;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_core::databases::OpenDatabases;
use duramen_core::folders::Folders;
use duramen_core::health::Health;
use duramen_observe::events::{EventId, Listener as _, listen, relisten};
use duramen_os::memory::Broker;
use duramen_os::sync::{Condvar, Mutex};
use duramen_tsql::ast::{AlterEventAction, AlterEventSession, EventSession};

use self::definition::Definition;
use self::running::{Running, ServerContext};
use crate::error_log::ErrorLog;
use crate::trace::DefaultTrace;

/// How often the dispatcher looks.
const EVERY: Duration = Duration::from_millis(250);
/// Ids of event sessions begin here (SQL Server's do, too).
const FIRST_ID: i32 = 65536;

/// A session that was created.
#[derive(Clone)]
pub struct Entry {
    pub id: i32,
    pub definition: Definition,
    pub running: Option<Arc<Running>>,
}

/// What the dispatcher is asked for.
#[derive(Default)]
struct Asked {
    stop: bool,
    /// Somebody waits for room.
    room: bool,
}

/// The event sessions of an instance.
pub struct Xe {
    /// Tells instances of one process apart.
    pub instance: u64,
    server_name: String,
    databases: OpenDatabases,
    pub folders: Folders,
    /// By lower-case name.
    sessions: Mutex<BTreeMap<String, Entry>>,
    /// The default trace, while it is enabled.
    trace: Mutex<Option<Arc<DefaultTrace>>>,
    /// What it hears is written by the dispatcher.
    error_log: Arc<ErrorLog>,
    asked: Mutex<Asked>,
    woken: Condvar,
    has_thread: AtomicBool,
    /// Looked after by the same thread.
    /// What events that are kept take is asked of it.
    memory: Arc<Broker>,
    pub health: Health,
}

/// Changes of what is kept: id and statement, or that it is gone.
pub(crate) type Keep<'a> = &'a dyn Fn(i32, Option<&str>) -> SqlResult<()>;

pub fn next_instance() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Xe {
    pub fn new(
        instance: u64,
        server_name: &str,
        databases: &OpenDatabases,
        folders: Folders,
        error_log: &Arc<ErrorLog>,
        memory: &Arc<Broker>,
    ) -> Arc<Xe> {
        Arc::new(Xe {
            instance,
            server_name: server_name.to_owned(),
            databases: databases.clone(),
            folders,
            sessions: Mutex::new(BTreeMap::new()),
            trace: Mutex::new(None),
            error_log: error_log.clone(),
            asked: Mutex::new(Asked::default()),
            woken: Condvar::new(),
            has_thread: AtomicBool::new(false),
            health: Health::default(),
            memory: memory.clone(),
        })
    }

    /// Takes over what was kept, and starts what starts with the server. A statement that cannot be read any more is
    /// passed over.
    pub fn load(self: &Arc<Xe>, kept: Vec<(i32, String)>) {
        for (id, statement) in kept {
            let Ok(definition) = Definition::parse(&statement) else {
                continue;
            };
            let startup = definition.options.startup && !duramen_os::sim::is_simulated();
            let name = definition.name.clone();
            let entry = Entry {
                id,
                definition,
                running: None,
            };
            self.sessions.lock().insert(name.to_lowercase(), entry);
            if startup {
                // A file that cannot be made keeps a session from starting, not the server.
                let _ = self.start(&name);
            }
        }
        debug_assert!(
            !duramen_os::sim::is_simulated() || self.running().is_empty(),
            "xe/2: an event session begins by itself in a simulation"
        );
    }

    pub fn databases(&self) -> &OpenDatabases {
        &self.databases
    }

    pub fn trace(&self) -> Option<Arc<DefaultTrace>> {
        self.trace.lock().clone()
    }

    /// 'default trace enabled': a new trace begins, or the running one ends. True when it has begun.
    pub fn enable_trace(self: &Arc<Xe>, on: bool) -> bool {
        if duramen_os::sim::is_simulated() || on == self.trace().is_some() {
            return false;
        }
        if on {
            let trace = DefaultTrace::new(
                self.instance,
                &self.server_name,
                &self.databases,
                &self.folders,
                &self.memory,
            );
            *self.trace.lock() = Some(trace.clone());
            listen(trace);
            self.have_thread();
        } else {
            self.end_trace();
        }
        on
    }

    fn end_trace(&self) {
        let ended = self.trace.lock().take();
        if let Some(trace) = ended {
            trace.flush(|| self.harden());
            drop(trace);
            relisten();
        }
    }

    pub fn flush_trace(&self) {
        if let Some(trace) = self.trace() {
            trace.flush(|| self.harden());
        }
    }

    pub fn have_thread(self: &Arc<Xe>) {
        if self.has_thread.swap(true, Ordering::SeqCst) {
            return;
        }
        let weak = Arc::downgrade(self);
        let role = duramen_observe::background(duramen_observe::Duty::XeDispatcher, None);
        let work = move || {
            run(&weak);
            drop(role);
        };
        if duramen_os::thread::try_spawn("xe dispatcher", work).is_err() {
            self.has_thread.store(false, Ordering::SeqCst);
        }
    }

    /// Ends the dispatcher; what has come goes to the targets.
    pub fn shutdown(&self) {
        self.asked.lock().stop = true;
        self.woken.notify_all();
        for entry in self.entries() {
            if let Some(running) = entry.running {
                self.feed(&running);
            }
        }
        let running: Vec<_> = self
            .sessions
            .lock()
            .values_mut()
            .map(|e| e.running.take())
            .collect();
        drop(running);
        self.end_trace();
        relisten();
    }

    /// By name.
    pub fn entries(&self) -> Vec<Entry> {
        self.sessions.lock().values().cloned().collect()
    }

    pub fn running(&self) -> Vec<Arc<Running>> {
        self.entries()
            .into_iter()
            .filter_map(|e| e.running)
            .collect()
    }

    /// Gives what has come to the targets of a session.
    pub fn feed(&self, running: &Running) {
        if running.is_idle() {
            return;
        }
        if running.has_file() {
            self.harden();
        }
        running.dispatch();
    }

    /// Everything appended to the logs so far becomes durable, where a log still can.
    pub fn harden(&self) {
        let open = self.databases.read();
        let kept = open.values().filter(|d| d.db.id != DbId::TEMPDB);
        let logs: Vec<_> = kept.filter_map(|d| d.db.log().cloned()).collect();
        drop(open);
        for log in logs {
            // A log that has failed will never tell of what the events told.
            let last = log.last_lsn();
            let flushed = log.flush_all();
            debug_assert!(
                flushed.is_err() || log.durable_lsn() >= last,
                "xe/1: a log is durable to {}, and events may tell of {last}",
                log.durable_lsn()
            );
        }
    }

    /// Wakes the dispatcher: a session's buffers are full.
    fn ask_for_room(&self) {
        self.asked.lock().room = true;
        self.woken.notify_all();
    }

    fn tick(&self) {
        self.error_log.flush();
        for running in self.running() {
            if running.is_due() {
                self.feed(&running);
            }
        }
        if let Some(trace) = self.trace().filter(|t| t.is_due()) {
            trace.flush(|| self.harden());
        }
    }

    /// CREATE EVENT SESSION: 25631 when there is one of that name.
    pub fn create(&self, stmt: &EventSession, keep: Keep<'_>) -> SqlResult<()> {
        on_server(stmt.on_server)?;
        let definition = Definition::of(stmt)?;
        let mut sessions = self.sessions.lock();
        let key = stmt.name.to_lowercase();
        if sessions.contains_key(&key) {
            let args: [&dyn std::fmt::Display; 2] = [&"event session", &stmt.name];
            return Err(SqlError::new(&messages::EVENT_SESSION_EXISTS, &args));
        }
        let used = |id: &i32| sessions.values().any(|e| e.id == *id);
        let id = (FIRST_ID..).find(|id| !used(id)).unwrap_or(FIRST_ID);
        keep(id, Some(&definition.statement()))?;
        let entry = Entry {
            id,
            definition,
            running: None,
        };
        sessions.insert(key, entry);
        Ok(())
    }

    /// DROP EVENT SESSION: a running one is stopped.
    pub fn drop_session(&self, name: &str, keep: Keep<'_>) -> SqlResult<()> {
        let entry = self.find(name, "drop")?;
        keep(entry.id, None)?;
        self.sessions.lock().remove(&name.to_lowercase());
        if let Some(running) = entry.running {
            self.end(running);
        }
        Ok(())
    }

    fn find(&self, name: &str, verb: &str) -> SqlResult<Entry> {
        let found = self.sessions.lock().get(&name.to_lowercase()).cloned();
        found.ok_or_else(|| {
            let args: [&dyn std::fmt::Display; 3] = [&verb, &"event session", &name];
            SqlError::new(&messages::CANNOT_ACT_ON_PRINCIPAL, &args)
        })
    }

    pub fn alter(self: &Arc<Xe>, stmt: &AlterEventSession, keep: Keep<'_>) -> SqlResult<()> {
        on_server(stmt.on_server)?;
        let entry = self.find(&stmt.name, "alter")?;
        match &stmt.action {
            AlterEventAction::Start if entry.running.is_some() => {
                Err(SqlError::new(&messages::EVENT_SESSION_STARTED, &[]))
            }
            AlterEventAction::Start => self.start(&stmt.name),
            AlterEventAction::Stop => {
                let stopped = self
                    .sessions
                    .lock()
                    .get_mut(&stmt.name.to_lowercase())
                    .and_then(|e| e.running.take());
                match stopped {
                    Some(running) => {
                        self.end(running);
                        Ok(())
                    }
                    None => Err(SqlError::new(&messages::EVENT_SESSION_STOPPED, &[])),
                }
            }
            AlterEventAction::Change {
                add_events,
                drop_events,
                add_targets,
                drop_targets,
                options,
            } => {
                let mut changed = entry.definition.clone();
                // Which options a running session may change is not said for all: none but the start.
                let fixed = options.iter().find(|o| o.name != "STARTUP_STATE");
                if let (Some(option), true) = (fixed, entry.running.is_some()) {
                    let shown = option.name.to_lowercase();
                    return Err(SqlError::new(&messages::EVENT_OPTION_RUNNING, &[&shown]));
                }
                drop_events.iter().try_for_each(|e| changed.drop_event(e))?;
                add_events.iter().try_for_each(|e| changed.add_event(e))?;
                drop_targets
                    .iter()
                    .try_for_each(|t| changed.drop_target(t))?;
                add_targets.iter().try_for_each(|t| changed.add_target(t))?;
                changed.set_options(options)?;
                changed.check_retention()?;
                keep(entry.id, Some(&changed.statement()))?;
                if let Some(e) = self.sessions.lock().get_mut(&stmt.name.to_lowercase()) {
                    e.definition = changed;
                }
                // Targets of a running session begin anew with what it is now.
                let is_startup_only = add_events.is_empty()
                    && drop_events.is_empty()
                    && add_targets.is_empty()
                    && drop_targets.is_empty();
                match entry.running {
                    Some(running) if !is_startup_only => {
                        self.end(running);
                        self.start(&stmt.name)
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn start(self: &Arc<Xe>, name: &str) -> SqlResult<()> {
        let entry = self.find(name, "alter")?;
        let server = ServerContext {
            instance: self.instance,
            server_name: &self.server_name,
            databases: &self.databases,
            folders: &self.folders,
            memory: &self.memory,
        };
        let running = Running::start(entry.id, entry.definition, &server)?;
        if let Some(e) = self.sessions.lock().get_mut(&name.to_lowercase()) {
            e.running = Some(running.clone());
        }
        listen(running);
        self.have_thread();
        Ok(())
    }

    /// The running session of that name, when it listens to these events.
    pub fn listening(&self, name: &str, id: EventId) -> Option<Arc<Running>> {
        let sessions = self.sessions.lock();
        let running = sessions.get(&name.to_lowercase())?.running.clone()?;
        (running.wants() & id.bit() != 0).then_some(running)
    }

    fn end(&self, running: Arc<Running>) {
        self.feed(&running);
        drop(running);
        relisten();
    }

    /// Feeds the files of all sessions, so that a reader finds what has come.
    pub fn feed_files(&self) {
        for running in self.running().iter().filter(|r| r.has_file()) {
            self.feed(running);
        }
    }
}

fn on_server(on_server: bool) -> SqlResult<()> {
    match on_server {
        true => Ok(()),
        false => Err(SqlError::new(
            &messages::NOT_SUPPORTED,
            &[&"EVENT SESSION ... ON DATABASE"],
        )),
    }
}

/// The dispatcher: ends with the instance.
fn run(xe: &Weak<Xe>) {
    loop {
        let Some(xe) = xe.upgrade() else { return };
        xe.tick();
        xe.health.tick();
        let mut asked = xe.asked.lock();
        if !asked.stop && !asked.room {
            xe.woken.wait_for(&mut asked, EVERY);
        }
        asked.room = false;
        if asked.stop {
            return;
        }
    }
}
