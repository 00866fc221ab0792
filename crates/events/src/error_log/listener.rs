//! What the error log hears: errors of severity 17 and more, growth that took long, deadlocks.
//!
//! Errors that statements raise of their own will are the administrator's business only WITH LOG, which `run::raise` writes
//! itself.

use std::sync::{Arc, Weak};

use duramen_base::{DbId, PAGE_BYTES, SqlError, messages};
use duramen_core::activity::Activity;
use duramen_core::databases::OpenDatabases;
use duramen_core::trace_flags::{DEADLOCK_LIST, OUTPUT_TO_LOG, TraceFlags, ZEROING};
use duramen_observe::events::{Event, EventId, EventValue, Listener, listen};

use super::{Entry, ErrorLog, deadlock};
use crate::xe::Xe;

/// Errors from this severity on are written.
const SEVERE: u64 = 17;
/// Growth that took less is in the default trace alone (*assumed*: SQL Server does not say when it tells).
const SLOW_MS: u64 = 1000;

pub(super) struct EventListener {
    log: Weak<ErrorLog>,
    instance: u64,
    databases: OpenDatabases,
    trace: Arc<TraceFlags>,
}

impl EventListener {
    pub fn start(log: &Arc<ErrorLog>, xe: &Arc<Xe>, trace: &Arc<TraceFlags>) -> Arc<EventListener> {
        let listener = Arc::new(EventListener {
            log: Arc::downgrade(log),
            instance: xe.instance,
            databases: xe.databases().clone(),
            trace: trace.clone(),
        });
        listen(listener.clone());
        listener
    }

    /// 5145
    fn growth(&self, event: &Event) -> Option<String> {
        let grew = matches!(event.value("size_change_kb"), Some(EventValue::Signed(1..)));
        let automatic = event.value("is_automatic") == Some(&EventValue::Boolean(true));
        let took = unsigned(event, "duration") / 1000;
        if !grew || !automatic || took < SLOW_MS {
            return None;
        }
        let (db, file) = (unsigned(event, "database_id"), unsigned(event, "file_id"));
        let (db, file) = self.names(db, file);
        let args: [&dyn std::fmt::Display; 3] = [&file, &db, &took];
        Some(SqlError::new(&messages::AUTOGROW_SLOW, &args).message)
    }

    /// The session's statement is so far; under trace flags 3004 and 3605 the beginning and the end are told.
    fn zeroing(&self, event: &Event, who: Option<&Activity>) -> Option<String> {
        let (length, done) = (unsigned(event, "length"), unsigned(event, "done"));
        if let Some(who) = who {
            let percent = done as f32 * 100.0 / length.max(1) as f32;
            who.advance(if done >= length { 0.0 } else { percent });
        }
        let on = |flag| self.trace.has(flag) || who.is_some_and(|a| a.trace.has(flag));
        if done > 0 && done < length || !on(ZEROING) || !on(OUTPUT_TO_LOG) {
            return None;
        }
        let Some(EventValue::Text(file)) = event.value("file_name") else {
            return None;
        };
        if done >= length {
            let took = unsigned(event, "duration") / 1000;
            return Some(format!("Zeroing completed on {file} (elapsed = {took} ms)"));
        }
        let from = unsigned(event, "offset");
        let to = from + length;
        let page = PAGE_BYTES as u64;
        Some(format!(
            "Zeroing {file} from page {} to {} (0x{from:x} to 0x{to:x})",
            from / page,
            to / page
        ))
    }

    /// Names of a database and of one of its files; their numbers where the names cannot be had at once.
    fn names(&self, db: u64, file: u64) -> (String, String) {
        let numbers = || (db.to_string(), file.to_string());
        let id = DbId(u16::try_from(db).unwrap_or(0));
        let open = self.databases.try_read().and_then(|d| d.get(&id).cloned());
        let Some(open) = open else { return numbers() };
        let Some(entry) = open.entry.try_read() else {
            return (open.db.name.clone(), file.to_string());
        };
        let name = entry.files.iter().find(|f| u64::from(f.file_id) == file);
        let name = name.map_or_else(|| file.to_string(), |f| f.logical_name.clone());
        (open.db.name.clone(), name)
    }
}

fn unsigned(event: &Event, field: &str) -> u64 {
    match event.value(field) {
        Some(EventValue::Unsigned(n)) => *n,
        Some(EventValue::Signed(n)) => n.unsigned_abs(),
        _ => 0,
    }
}

impl Listener for EventListener {
    fn wants(&self) -> u64 {
        EventId::DatabaseFileSizeChange.bit()
            | EventId::LockDeadlock.bit()
            | EventId::ErrorReported.bit()
            | EventId::FileZeroing.bit()
            | EventId::XmlDeadlockReport.bit()
    }

    fn event(&self, event: &Event) {
        let Some(log) = self.log.upgrade() else {
            return;
        };
        let who = duramen_core::origin::current();
        if !duramen_core::origin::concerns(self.instance, who.as_deref()) {
            return;
        }
        let source = who
            .as_ref()
            .map_or_else(|| "Server".to_owned(), |a| format!("spid{}", a.spid.0));
        let put = |text: &str| {
            let entry = Entry {
                at: event.at,
                source: source.clone(),
                text: text.to_owned(),
            };
            log.put(entry, who.clone());
        };
        match event.id {
            EventId::DatabaseFileSizeChange => {
                if let Some(text) = self.growth(event) {
                    put(&text);
                }
            }
            EventId::FileZeroing => {
                if let Some(text) = self.zeroing(event, who.as_deref()) {
                    put(&text);
                }
            }
            EventId::LockDeadlock => put(&format!(
                "Deadlock of {} sessions; the victim is spid {}.",
                unsigned(event, "cycle_length"),
                unsigned(event, "victim_session_id")
            )),
            EventId::XmlDeadlockReport => {
                let session = who.as_ref().is_some_and(|a| a.trace.has(DEADLOCK_LIST));
                if let Some(EventValue::Text(graph)) = event.value("xml_report")
                    && (session || self.trace.has(DEADLOCK_LIST))
                {
                    deadlock::lines(graph).iter().for_each(|line| put(line));
                }
            }
            EventId::ErrorReported => {
                let severity = unsigned(event, "severity");
                let own = event.value("user_defined") == Some(&EventValue::Boolean(true));
                if severity < SEVERE || own {
                    return;
                }
                let (number, state) = (unsigned(event, "error_number"), unsigned(event, "state"));
                let numbers = format!("Error: {number}, Severity: {severity}, State: {state}.");
                let entry = |text: &str| Entry {
                    at: event.at,
                    source: source.clone(),
                    text: text.to_owned(),
                };
                match event.value("message") {
                    Some(EventValue::Text(text)) => {
                        log.put_error(number as i64, [entry(&numbers), entry(text)]);
                    }
                    _ => put(&numbers),
                }
            }
            _ => {}
        }
    }
}
