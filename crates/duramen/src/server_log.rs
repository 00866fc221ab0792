//! The server log on standard output: what the engine reports of itself, in the words of SQL Server's error log.
//!
//! Lines come from events (`duramen_observe::events`), a few times a second, so that nobody in the engine waits for a
//! terminal.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duramen_observe::events::{Event, EventId, EventRing, EventValue};
use duramen_os::thread::{self, JoinHandle};
use duramen_os::time::WallTime;
use duramen_session::Instance;
use duramen_types::temporal::ymd_from_days;

const EVERY: Duration = Duration::from_millis(200);
/// Events between two looks; what is more is counted and said.
const CAPACITY: usize = 1000;
/// Errors from this severity on are the administrator's business.
const SEVERE: u64 = 17;

/// Days from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_DAYS: i32 = 719_162;

/// Writes the log until it is dropped.
pub struct ServerLog {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ServerLog {
    pub fn start(instance: Arc<Instance>) -> ServerLog {
        let ring = EventRing::start(
            &[
                EventId::DatabaseFileSizeChange,
                EventId::LockDeadlock,
                EventId::ErrorReported,
            ],
            CAPACITY,
        );
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn("server log", move || {
            let mut missed = 0;
            loop {
                let last = stopped.load(Ordering::SeqCst);
                for event in ring.drain() {
                    if let Some(text) = line(&event, &instance) {
                        say(&stamped(&event, &text));
                    }
                }
                let dropped = ring.dropped();
                if dropped > missed {
                    say(&format!(
                        "{} events came too fast to be written.",
                        dropped - missed
                    ));
                    missed = dropped;
                }
                if last {
                    return;
                }
                thread::sleep(EVERY);
            }
        });
        ServerLog {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn unsigned(event: &Event, field: &str) -> u64 {
    match event.value(field) {
        Some(EventValue::Unsigned(n)) => *n,
        Some(EventValue::Signed(n)) => n.unsigned_abs(),
        _ => 0,
    }
}

/// What is said of an event, if anything.
fn line(event: &Event, instance: &Instance) -> Option<String> {
    match event.id {
        EventId::DatabaseFileSizeChange => {
            let change = event.value("size_change_kb");
            let Some(EventValue::Signed(change @ 1..)) = change else {
                return None;
            };
            let (db, file) = (unsigned(event, "database_id"), unsigned(event, "file_id"));
            let (db, file) = names(instance, db, file);
            let automatic = event.value("is_automatic") == Some(&EventValue::Boolean(true));
            Some(format!(
                "{} of file '{file}' in database '{db}' took {} milliseconds: {change} KB more, now {} KB.",
                if automatic { "Autogrow" } else { "Growth" },
                unsigned(event, "duration") / 1000,
                unsigned(event, "total_size_kb"),
            ))
        }
        EventId::LockDeadlock => Some(format!(
            "Deadlock of {} sessions; the victim is spid {}.",
            unsigned(event, "cycle_length"),
            unsigned(event, "victim_session_id")
        )),
        EventId::ErrorReported if unsigned(event, "severity") >= SEVERE => {
            let message = match event.value("message") {
                Some(EventValue::Text(text)) => text.as_str(),
                _ => "",
            };
            Some(format!(
                "Error: {}, Severity: {}, State: {}. {message}",
                unsigned(event, "error_number"),
                unsigned(event, "severity"),
                unsigned(event, "state")
            ))
        }
        _ => None,
    }
}

/// Names of a database and of one of its files; their numbers where the names are gone.
fn names(instance: &Instance, db: u64, file: u64) -> (String, String) {
    let open = instance.databases.all();
    let Some(found) = open.iter().find(|d| u64::from(d.db.id.0) == db) else {
        return (db.to_string(), file.to_string());
    };
    let entry = found.entry.read();
    let name = entry
        .files
        .iter()
        .find(|f| u64::from(f.file_id) == file)
        .map_or_else(|| file.to_string(), |f| f.logical_name.clone());
    (found.db.name.clone(), name)
}

/// `2026-11-21 16:09:48.05 spid52      text`, in UTC.
fn stamped(event: &Event, text: &str) -> String {
    let from = event
        .session
        .map_or_else(|| "Server".to_owned(), |s| format!("spid{}", s.0));
    stamp(event.at, &from, text)
}

/// A line of the engine, at once.
pub fn say_now(text: &str) {
    say(&stamp(duramen_os::time::wall(), "Server", text));
}

fn stamp(at: WallTime, from: &str, text: &str) -> String {
    let seconds = at.unix_seconds();
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = ymd_from_days(days as i32 + UNIX_EPOCH_DAYS);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:02} {from:<11} {text}",
        second / 3600,
        second / 60 % 60,
        second % 60,
        at.subsec_nanos() / 10_000_000
    )
}

/// A line on standard output. Whoever read it may have gone: the server lives on.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
