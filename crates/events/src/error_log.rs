//! The error log: what the server says of itself, in SQL Server's words, as a file and on standard output.
//!
//! ```text
//!  sessions, recovery, the binary --say--+
//!  events (errors, slow growth) --queue--+--> file ERRORLOG --> echo (standard output), default trace, errorlog_written
//! ```
//! It is made before anything is opened, so that a start that fails is told too, and hears events once the instance is
//! there. Every start begins a new file; the last six are kept (`file`). `sp_readerrorlog` reads them.
//!
//! Invariants
//! 1. Hearing an event takes no lock but the one around the queue, which is bounded: an entry without room is counted.
//!    [test: a_disk_that_takes_nothing_stops_nothing_and_a_flood_is_counted]
//! 2. A disk that takes no entry stops nothing, and nobody waits for a file to be synced. What could not be opened or
//!    written is said to the echo, once until it works again.
//!    [test: a_log_that_cannot_be_opened_or_written_is_said_to_the_echo]
//! 3. The echo is called under no lock of this room: whoever reads it may take its time.
//!    [assert: error_log/3]
//! 4. It never takes more than its files' bound: a full file is followed by a new one (`file`), and an error that repeats is
//!    counted instead of written (`repeats`). [test: a_full_file_is_followed_by_a_new_one_and_repeats_are_counted]
//! 5. In a simulation there is no file: worlds of one process must not see each other.
//!    [assert: error_log/5]

mod deadlock;
pub mod entry;
pub(crate) mod file;
mod listener;
mod preamble;
mod repeats;
mod said;
mod session;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::activity::Activity;
use duramen_core::databases::StorageConfig;
use duramen_core::trace_flags::TraceFlags;
use duramen_observe::events::{ErrorlogWritten, emit};
use duramen_os::sync::{Global, Mutex};
use duramen_os::{Env, IoError};
use duramen_program::event_classes::{Column, class};

use self::entry::Entry;
use self::file::{Archive, Files};
use self::repeats::Repeats;
use crate::trace::TraceRow;
use crate::xe::Xe;

/// Is given each line as it is written.
pub type Echo = Arc<dyn Fn(&str) + Send + Sync>;

/// Entries that wait for the file at most.
const QUEUE: usize = 1000;

const CYCLED: &str =
    "The error log has been reinitialized. See the previous log for older entries.";

/// An entry and whose work it is part of.
struct Waiting {
    entry: Entry,
    who: Option<Arc<Activity>>,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Waiting>,
    repeats: Repeats,
}

impl Queue {
    /// Whether there was room.
    fn put(&mut self, entry: Entry, who: Option<Arc<Activity>>) -> bool {
        let room = self.entries.len() < QUEUE;
        if room {
            self.entries.push_back(Waiting { entry, who });
        }
        room
    }
}

pub struct ErrorLog {
    queue: Global<Queue>,
    missed: AtomicU64,
    files: Mutex<Option<Files>>,
    /// The file did not take the last entries.
    refused: AtomicBool,
    echo: Option<Echo>,
    /// What stands at the head of every file.
    preamble: Vec<String>,
    /// Set when the instance is there.
    xe: OnceLock<Weak<Xe>>,
    listener: OnceLock<Arc<listener::EventListener>>,
}

impl ErrorLog {
    /// Begins a new file; the ones before it move up.
    pub fn start(env: &Env, config: &StorageConfig, echo: Option<Echo>) -> Arc<ErrorLog> {
        let mut files = Files::new(&env.disk, config.data_dir.join("log"));
        // A directory that takes no log may still hold databases that can be read.
        let begun = match duramen_os::sim::is_simulated() {
            true => None,
            false => Some(files.cycle()),
        };
        let log = Arc::new(ErrorLog {
            queue: Global::new(Queue::default()),
            missed: AtomicU64::new(0),
            files: Mutex::new(begun.is_some().then_some(files)),
            refused: AtomicBool::new(false),
            echo,
            preamble: preamble::lines(config),
            xe: OnceLock::new(),
            listener: OnceLock::new(),
        });
        for line in log.preamble.iter().chain(&preamble::once(config)) {
            log.put(Entry::new("Server", line), None);
        }
        log.flush();
        if let Some(Err(e)) = begun {
            log.say_not_opened(&e);
        }
        log
    }

    fn say_not_opened(&self, error: &IoError) {
        let path = self.files.lock().as_ref().map(Files::current_path);
        let path = path.unwrap_or_default().display().to_string();
        let text = os_text(error);
        let error = SqlError::new(&messages::ERROR_LOG_NOT_OPENED, &[&path, &text]);
        self.error("Server", &error, 1, &error.message);
    }

    /// From now on events are heard, and the default trace and event sessions are told.
    pub fn attach(self: &Arc<ErrorLog>, xe: &Arc<Xe>, trace: &Arc<TraceFlags>) {
        if duramen_os::sim::is_simulated() || self.xe.set(Arc::downgrade(xe)).is_err() {
            return;
        }
        let listener = listener::EventListener::start(self, xe, trace);
        xe.have_thread();
        let _ = self.listener.set(listener);
    }

    /// An entry of the server itself.
    pub fn server(&self, text: &str) {
        self.say("Server", text);
    }

    /// An entry, at once.
    pub fn say(&self, source: &str, text: &str) {
        self.put(Entry::new(source, text), duramen_core::origin::current());
        self.flush();
    }

    /// An error: its numbers, then its text.
    pub fn error(&self, source: &str, error: &SqlError, state: u8, text: &str) {
        let number = i64::from(error.number);
        self.put_error(
            number,
            [numbers(source, error, state), Entry::new(source, text)],
        );
        self.flush();
    }

    /// An error's two entries, unless it comes too often.
    fn put_error(&self, number: i64, entries: [Entry; 2]) {
        let who = duramen_core::origin::current();
        // Clocks are not looked at inside.
        let now = duramen_os::time::now();
        let (admitted, say) = self.queue.write(|q| {
            let mut say = Vec::new();
            let admitted = q.repeats.admit(number, &entries[1].text, now, &mut say);
            (admitted, say)
        });
        let repeated = say.iter().map(|text| (Entry::new("Server", text), None));
        let mut all: Vec<_> = repeated.collect();
        if admitted {
            all.extend(entries.map(|entry| (entry, who.clone())));
        }
        let missed = self.queue.write(|q| {
            let put = all
                .into_iter()
                .map(|(entry, who)| u64::from(!q.put(entry, who)));
            put.sum::<u64>()
        });
        self.missed.fetch_add(missed, Relaxed);
    }

    fn put(&self, entry: Entry, who: Option<Arc<Activity>>) {
        let kept = self.queue.write(|q| q.put(entry, who));
        self.missed.fetch_add(u64::from(!kept), Relaxed);
    }

    /// Writes what has come.
    pub fn flush(&self) {
        let mut written = Vec::new();
        {
            let mut files = self.files.lock();
            self.write(files.as_mut(), &mut written);
        }
        for waiting in &written {
            self.pass_on(waiting);
        }
    }

    fn write(&self, files: Option<&mut Files>, written: &mut Vec<Waiting>) {
        let now = duramen_os::time::now();
        let (mut waiting, over) = self.queue.write(|q| {
            let mut over = Vec::new();
            q.repeats.expire(now, &mut over);
            (q.entries.drain(..).collect::<Vec<Waiting>>(), over)
        });
        waiting.extend(over.into_iter().map(|text| Waiting {
            entry: Entry::new("Server", &text),
            who: None,
        }));
        let missed = self.missed.swap(0, Relaxed);
        if missed > 0 {
            let text = format!("{missed} messages came too fast to be written.");
            waiting.push(Waiting {
                entry: Entry::new("Server", &text),
                who: None,
            });
        }
        debug_assert!(
            files.is_none() || !duramen_os::sim::is_simulated(),
            "error_log/5: a simulation writes a log that other worlds read"
        );
        if let Some(files) = files {
            let mut text = String::new();
            for w in &waiting {
                text.push_str(&w.entry.line());
                text.push('\n');
            }
            if files.is_full(text.len()) && files.cycle().is_ok() {
                let lines = self.preamble.iter().map(String::as_str);
                let head: String = lines
                    .chain([CYCLED])
                    .map(|line| Entry::new("Server", line).line() + "\n")
                    .collect();
                text.insert_str(0, &head);
            }
            if !text.is_empty() {
                // What the disk does not take is lost: the echo has it, and this.
                let appended = files.append(&text);
                let news = appended.is_err() && !self.refused.swap(appended.is_err(), Relaxed);
                self.refused.store(appended.is_err(), Relaxed);
                if let (true, Err(e)) = (news, appended) {
                    let path = files.current_path().display().to_string();
                    let error =
                        SqlError::new(&messages::OS_ERROR_ENCOUNTERED, &[&path, &os_text(&e)]);
                    for entry in [
                        numbers("Server", &error, 1),
                        Entry::new("Server", &error.message),
                    ] {
                        waiting.push(Waiting { entry, who: None });
                    }
                }
            }
        }
        written.append(&mut waiting);
    }

    fn pass_on(&self, Waiting { entry, who }: &Waiting) {
        let line = entry.line();
        debug_assert!(
            !duramen_os::sync::held()
                .iter()
                .any(|at| at.file().contains("error_log")),
            "error_log/3: the echo is called under a lock of the log"
        );
        if let Some(echo) = &self.echo {
            echo(&line);
        }
        let Some(xe) = self.xe.get().and_then(Weak::upgrade) else {
            return;
        };
        if let Some(trace) = xe.trace() {
            let row = TraceRow::new(class::ERROR_LOG, entry.at)
                .text(Column::TextData, &line)
                .by(who.as_deref());
            trace.record(row);
        }
        emit(|| ErrorlogWritten { message: line });
    }

    /// The current log becomes an archive and a new one begins: sp_cycle_errorlog.
    pub(crate) fn cycle(&self, source: &str) -> SqlResult<()> {
        self.flush();
        {
            let mut guard = self.files.lock();
            let Some(files) = guard.as_mut() else {
                return Ok(());
            };
            if let Err(e) = files.cycle() {
                drop(guard);
                self.say_not_opened(&e);
                return Err(unreadable(&e));
            }
            self.refused.store(false, Relaxed);
        }
        for line in &self.preamble {
            self.put(Entry::new("Server", line), None);
        }
        self.say(source, CYCLED);
        Ok(())
    }

    /// The entries of a log that `wanted` takes, oldest first. 22004 when there is no such log.
    pub fn read(
        &self,
        number: i64,
        wanted: &mut dyn FnMut(&Entry) -> SqlResult<bool>,
    ) -> SqlResult<Vec<Entry>> {
        self.flush();
        let number = u32::try_from(number).map_err(|_| unreadable(&IoError::NotFound))?;
        let files = self.files.lock();
        let files = files
            .as_ref()
            .ok_or_else(|| unreadable(&IoError::NotFound))?;
        let mut found = Vec::new();
        let mut stopped = Ok(());
        let read = files.read(number, &mut |entry| match wanted(&entry) {
            Ok(wanted) => {
                if wanted {
                    found.push(entry);
                }
                true
            }
            Err(e) => {
                stopped = Err(e);
                false
            }
        });
        read.map_err(|e| unreadable(&e))?;
        stopped.map(|()| found)
    }

    /// The logs that there are, the current one first.
    pub fn list(&self) -> Vec<Archive> {
        self.flush();
        self.files.lock().as_ref().map_or(Vec::new(), Files::list)
    }
}

/// `Error: 9002, Severity: 17, State: 2.`
fn numbers(source: &str, error: &SqlError, state: u8) -> Entry {
    let (number, severity) = (error.number, error.severity);
    let text = format!("Error: {number}, Severity: {severity}, State: {state}.");
    Entry::new(source, &text)
}

/// The number of a failure and the words of the system that SQL Server's users know.
fn os_error(error: &IoError) -> (i32, String) {
    match error {
        IoError::NotFound => (2, "The system cannot find the file specified.".to_owned()),
        IoError::Denied => (5, "Access is denied.".to_owned()),
        other => (1117, other.to_string()),
    }
}

/// `5(Access is denied.)`
fn os_text(error: &IoError) -> String {
    let (code, text) = os_error(error);
    format!("{code}({text})")
}

/// 22004 with such words.
fn unreadable(error: &IoError) -> SqlError {
    let (code, text) = os_error(error);
    let text = format!("xp_readerrorlog() returned error {code}, '{text}'");
    SqlError::new(&messages::EXTENDED_PROCEDURE_FAILED, &[&text])
}

#[cfg(test)]
mod tests {
    use duramen_os::sim::SimDisk;

    use super::*;

    fn config() -> StorageConfig {
        StorageConfig {
            data_dir: "/data".into(),
            drives: Default::default(),
            memory: 32 << 20,
            profile: Default::default(),
            sector: 4096,
            instant_file_init: true,
            files: Default::default(),
        }
    }

    fn texts(log: &ErrorLog, number: i64) -> Vec<String> {
        let read = log.read(number, &mut |_| Ok(true)).unwrap();
        read.into_iter().map(|e| e.text).collect()
    }

    #[test]
    fn the_file_and_the_echo_say_the_same() {
        let disk = SimDisk::new(1);
        let echoed: Arc<Mutex<Vec<String>>> = Arc::default();
        let echo = {
            let echoed = echoed.clone();
            Arc::new(move |line: &str| echoed.lock().push(line.to_owned())) as Echo
        };
        let log = ErrorLog::start(&disk.env(), &config(), Some(echo));
        log.say("spid51", "one");
        log.cycle("spid51").unwrap();
        log.say("spid52", "two");
        let (old, new) = (texts(&log, 1), texts(&log, 0));
        assert_eq!(old.last().map(String::as_str), Some("one"));
        assert_eq!(new.last().map(String::as_str), Some("two"));
        assert_eq!(old[0], duramen_access::version::text());
        assert_eq!(old[0], new[0]);
        let all: Vec<String> = old.into_iter().chain(new).collect();
        let echoed = echoed.lock();
        assert!(
            echoed.len() == all.len() && echoed.iter().zip(&all).all(|(line, t)| line.ends_with(t))
        );
        let missing = log.read(6, &mut |_| Ok(true)).unwrap_err();
        assert_eq!(missing.number, 22004);
    }

    #[test]
    fn a_disk_that_takes_nothing_stops_nothing_and_a_flood_is_counted() {
        let disk = SimDisk::new(1);
        let log = ErrorLog::start(&disk.env(), &config(), None);
        for n in 0..QUEUE + 5 {
            log.put(Entry::new("spid51", &n.to_string()), None);
        }
        log.flush();
        let all = texts(&log, 0);
        let last = all.last().map(String::as_str);
        assert_eq!(last, Some("5 messages came too fast to be written."));
    }

    #[test]
    fn a_full_file_is_followed_by_a_new_one_and_repeats_are_counted() {
        let disk = SimDisk::new(1);
        let log = ErrorLog::start(&disk.env(), &config(), None);
        let long = "x".repeat(1 << 20);
        for n in 0..40 {
            log.say("spid51", &format!("{n} {long}"));
        }
        let bytes: Vec<u64> = log.list().iter().map(|a| a.bytes).collect();
        assert_eq!(bytes.len(), 3, "{bytes:?}");
        assert!(bytes.iter().all(|b| *b <= file::MOST_BYTES), "{bytes:?}");
        let all = texts(&log, 0);
        assert_eq!(all[0], duramen_access::version::text());
        assert!(all.iter().any(|t| t == CYCLED) && all.last().unwrap().starts_with("39 "));
        let error = SqlError::new(&messages::DIVIDE_BY_ZERO, &[]);
        for _ in 0..100_000 {
            log.error("spid51", &error, 1, &error.message);
        }
        let all = texts(&log, 0);
        let said = |part: &str| all.iter().filter(|t| t.contains(part)).count();
        assert_eq!((said("Error: 8134"), said(&error.message)), (20, 20));
    }

    #[test]
    fn a_log_that_cannot_be_opened_or_written_is_said_to_the_echo() {
        let disk = SimDisk::new(1);
        let echoed: Arc<Mutex<Vec<String>>> = Arc::default();
        let echo = || {
            let echoed = echoed.clone();
            Some(Arc::new(move |line: &str| echoed.lock().push(line.to_owned())) as Echo)
        };
        // Where the directory should be there is a file.
        let create = duramen_os::OpenOptions {
            create: true,
            ..Default::default()
        };
        let env = disk.env();
        env.disk.create_dir_all("/data".as_ref()).unwrap();
        let in_the_way = env.disk.open("/data/log".as_ref(), &create).unwrap();
        in_the_way.set_len(1).unwrap();
        let log = ErrorLog::start(&env, &config(), echo());
        let said = |part: &str| echoed.lock().iter().filter(|l| l.contains(part)).count();
        assert_eq!(
            said("Error: 17058, Severity: 16, State: 1."),
            1,
            "{echoed:?}"
        );
        assert_eq!(
            said("initerrlog: Could not open error log file '/data/log/ERRORLOG'."),
            1
        );
        assert_eq!(log.cycle("spid51").unwrap_err().number, 22004);
        drop(log);

        let disk = SimDisk::new(1);
        let log = ErrorLog::start(&disk.env(), &config(), echo());
        disk.set_capacity(1);
        log.say("spid51", "one");
        log.say("spid51", "two");
        assert_eq!(said("Error: 17053, Severity: 16, State: 1."), 1);
        disk.set_capacity(1 << 30);
        log.say("spid51", "three");
        let all = texts(&log, 0);
        assert!(all.iter().any(|t| t == "three") && !all.iter().any(|t| t == "two"));
    }
}
