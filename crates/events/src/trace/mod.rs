//! The default trace: what an administrator asks for afterwards, kept over restarts in five files of 20 MB.
//!
//! Growth of files comes from events, on whatever thread it happened; definitions, logins, DBCC and backups are told by the
//! session that runs them. Rows wait in memory until the dispatcher of event sessions looks again, or somebody reads the
//! trace. The files' frame is that of event files (`docs/format/events.md`).
//!
//! Invariants
//! 1. Telling a row takes no lock but the one around the queue, which is bounded in rows and in bytes: a row that finds no
//!    room is counted.
//!    [assert: trace/1]
//! 2. Rows are written after the logs are durable up to what they tell of. [assert: xe/1]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::DbId;
use duramen_core::activity::Activity;
use duramen_core::databases::OpenDatabases;
use duramen_core::folders::{Folders, LOG_FOLDER};
use duramen_observe::events::{Event, EventId, EventValue, Listener};
use duramen_os::memory::{Broker, Clerk, Tally};
use duramen_os::sync::{Global, Mutex};
use duramen_os::time::{self, Instant, WallTime};
use duramen_program::event_classes::{Column, class};

use crate::xe::records::{self, Payload, TRACE, Writer, put_text};

/// Rows in memory at most.
const QUEUE: usize = 10_000;
/// Bytes that do not wait for the file any longer: a statement's text may be megabytes.
const QUEUE_BYTES: u64 = 1 << 20;
pub const FILE_MB: u64 = 20;
pub const FILES: usize = 5;
/// How long rows may wait for their file.
const LATENCY: Duration = Duration::from_secs(4);

/// A value of a trace column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    Int(i64),
    /// Nanoseconds since 1970.
    Time(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row: the columns that it fills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceRow {
    pub fields: Vec<(u8, Field)>,
}

impl TraceRow {
    pub fn new(class: u16, at: WallTime) -> TraceRow {
        let nanos = at.unix_nanos() as i64;
        TraceRow { fields: Vec::new() }
            .with(Column::EventClass, Field::Int(i64::from(class)))
            .with(Column::StartTime, Field::Time(nanos))
    }

    pub fn with(mut self, column: Column, field: Field) -> TraceRow {
        self.fields.push((column.number(), field));
        self
    }

    pub fn int(self, column: Column, n: i64) -> TraceRow {
        self.with(column, Field::Int(n))
    }

    pub fn text(self, column: Column, text: &str) -> TraceRow {
        self.with(column, Field::Text(text.to_owned()))
    }

    /// Who did it: a session of a client, or the system.
    pub fn by(self, who: Option<&Activity>) -> TraceRow {
        let Some(a) = who else {
            return self.int(Column::IsSystem, 1);
        };
        self.int(Column::SPID, i64::from(a.spid.0))
            .int(Column::RequestID, 0)
            .text(Column::HostName, &a.login.host)
            .text(Column::ApplicationName, &a.login.app)
            .text(Column::LoginName, &a.login.user)
            .text(Column::SessionLoginName, &a.login.user)
            .with(Column::LoginSid, Field::Bytes(a.sid.to_vec()))
            .int(Column::TransactionID, a.transaction_id() as i64)
    }

    pub fn field(&self, column: u8) -> Option<&Field> {
        self.fields
            .iter()
            .find(|(c, _)| *c == column)
            .map(|(_, f)| f)
    }

    /// About what it takes while it waits.
    fn bytes(&self) -> u64 {
        let field = |(_, f): &(u8, Field)| match f {
            Field::Int(_) | Field::Time(_) => 0,
            Field::Text(t) => t.len(),
            Field::Bytes(b) => b.len(),
        };
        let texts: usize = self.fields.iter().map(field).sum();
        (texts + self.fields.capacity() * size_of::<(u8, Field)>()) as u64
    }

    fn payload(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (column, field) in &self.fields {
            out.push(*column);
            match field {
                Field::Int(n) => {
                    out.push(0);
                    out.extend_from_slice(&n.to_le_bytes());
                }
                Field::Time(n) => {
                    out.push(1);
                    out.extend_from_slice(&n.to_le_bytes());
                }
                Field::Text(t) => {
                    out.push(2);
                    put_text(&mut out, t);
                }
                Field::Bytes(b) => {
                    out.push(3);
                    out.extend_from_slice(&(b.len() as u32).to_le_bytes());
                    out.extend_from_slice(b);
                }
            }
        }
        out
    }

    fn parse(payload: &[u8]) -> Option<TraceRow> {
        let mut p = Payload(payload);
        let mut fields = Vec::new();
        while let Some(column) = p.u8() {
            let field = match p.u8()? {
                0 => Field::Int(p.i64()?),
                1 => Field::Time(p.i64()?),
                2 => Field::Text(p.text()?),
                3 => {
                    let n = p.u32()? as usize;
                    Field::Bytes(p.bytes(n)?.to_vec())
                }
                _ => return None,
            };
            fields.push((column, field));
        }
        Some(TraceRow { fields })
    }
}

/// What `sys.traces` says of it.
#[derive(Clone, Debug)]
pub struct TraceState {
    pub path: String,
    pub position: u64,
    pub started: WallTime,
    /// Nanoseconds since 1970.
    pub last: Option<i64>,
    pub count: u64,
    pub dropped: u64,
}

struct Output {
    number: u64,
    writer: Option<Writer>,
    flushed: Instant,
}

pub struct DefaultTrace {
    instance: u64,
    server_name: String,
    databases: OpenDatabases,
    folders: Folders,
    started: WallTime,
    queue: Global<VecDeque<(TraceRow, Option<Names>)>>,
    /// Of the rows in the queue.
    held: Tally,
    sequence: AtomicU64,
    dropped: AtomicU64,
    output: Mutex<Output>,
    last: Mutex<Option<i64>>,
}

/// Ids whose names are found when the row is written.
#[derive(Clone, Copy)]
struct Names {
    database: u64,
    file: u64,
}

fn number_of(name: &str) -> Option<u64> {
    let middle = name.strip_prefix("log_")?.strip_suffix(".trc")?;
    middle.parse().ok()
}

impl DefaultTrace {
    pub fn new(
        instance: u64,
        server_name: &str,
        databases: &OpenDatabases,
        folders: &Folders,
        memory: &Arc<Broker>,
    ) -> Arc<DefaultTrace> {
        let names = folders.names(&folders.log);
        let newest = names.iter().filter_map(|n| number_of(n)).max().unwrap_or(0);
        Arc::new(DefaultTrace {
            instance,
            server_name: server_name.to_owned(),
            databases: databases.clone(),
            folders: folders.clone(),
            started: time::wall(),
            queue: Global::new(VecDeque::new()),
            held: memory.tally(Clerk::Traces),
            sequence: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            output: Mutex::new(Output {
                number: newest + 1,
                writer: None,
                flushed: time::now(),
            }),
            last: Mutex::new(None),
        })
    }

    /// Adds a row.
    pub fn record(&self, row: TraceRow) {
        self.put(row, None);
    }

    fn put(&self, row: TraceRow, names: Option<Names>) {
        let sequence = self.sequence.fetch_add(1, Relaxed) + 1;
        let row = row
            .text(Column::ServerName, &self.server_name)
            .int(Column::EventSequence, sequence as i64);
        let bytes = row.bytes();
        let fits = self.held.fits(bytes);
        // Told of before others can take it away again.
        self.held.add(bytes);
        let kept = self.queue.write(|q| {
            let room = fits && q.len() < QUEUE;
            if room {
                q.push_back((row, names));
            }
            debug_assert!(
                q.len() <= QUEUE,
                "trace/1: more rows wait than there is room for"
            );
            room
        });
        if !kept {
            self.held.sub(bytes);
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    pub fn is_due(&self) -> bool {
        let waiting = self.queue.read(VecDeque::len);
        let many = waiting > QUEUE / 2 || self.held.bytes() > QUEUE_BYTES;
        many || waiting > 0 && self.output.lock().flushed.elapsed() >= LATENCY
    }

    /// Writes what has come. Rows that a file does not take are lost, and counted.
    pub fn flush(&self, harden: impl FnOnce()) {
        let mut output = self.output.lock();
        output.flushed = time::now();
        let rows: Vec<_> = self.queue.write(|q| q.drain(..).collect());
        if rows.is_empty() {
            return;
        }
        let bytes = rows.iter().map(|(row, _)| row.bytes()).sum();
        harden();
        let count = rows.len() as u64;
        let mut records = Vec::new();
        for (row, names) in rows {
            let row = match names {
                Some(names) => self.named(row, names),
                None => row,
            };
            if let Some(Field::Time(at)) = row.field(Column::StartTime.number()) {
                *self.last.lock() = Some(*at);
            }
            records.push(row.payload());
        }
        if self.write(&mut output, &records).is_err() {
            output.writer = None;
            self.dropped.fetch_add(count, Relaxed);
        }
        self.held.sub(bytes);
    }

    fn write(&self, output: &mut Output, records: &[Vec<u8>]) -> Result<(), duramen_os::IoError> {
        if output
            .writer
            .as_ref()
            .is_some_and(|w| w.end >= FILE_MB << 20)
        {
            output.writer = None;
            output.number += 1;
        }
        if let Some(writer) = &mut output.writer {
            return writer.append(records);
        }
        let disk = &self.folders.disk;
        disk.create_dir_all(&self.folders.log)?;
        while disk.exists(&self.path(output.number)) {
            output.number += 1;
        }
        let writer = Writer::create(&**disk, &self.path(output.number), &TRACE)?;
        let oldest = output.number.saturating_sub(FILES as u64 - 1);
        for name in self.folders.names(&self.folders.log) {
            if number_of(&name).is_some_and(|n| n < oldest) {
                let _ = disk.remove(&self.folders.log.join(&name));
            }
        }
        output.writer.insert(writer).append(records)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folders.log.join(format!("log_{number}.trc"))
    }

    fn named(&self, row: TraceRow, names: Names) -> TraceRow {
        let id = DbId(u16::try_from(names.database).unwrap_or(0));
        let open = self.databases.read().get(&id).cloned();
        let Some(open) = open else { return row };
        let entry = open.entry.read();
        let file = entry
            .files
            .iter()
            .find(|f| u64::from(f.file_id) == names.file);
        let row = row.text(Column::DatabaseName, &open.db.name);
        match file {
            Some(f) => row.text(Column::FileName, &f.logical_name),
            None => row,
        }
    }

    pub fn state(&self) -> TraceState {
        let output = self.output.lock();
        TraceState {
            path: format!("{LOG_FOLDER}log_{}.trc", output.number),
            position: output.writer.as_ref().map_or(0, |w| w.end),
            started: self.started,
            last: *self.last.lock(),
            count: self.sequence.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
        }
    }

    fn growth(&self, event: &Event, who: Option<&Activity>) {
        let number = |field| match event.value(field) {
            Some(EventValue::Unsigned(n)) => *n as i64,
            Some(EventValue::Signed(n)) => *n,
            Some(EventValue::Mapped(n, _)) => i64::from(*n),
            _ => 0,
        };
        if event.value("is_automatic") != Some(&EventValue::Boolean(true)) {
            return;
        }
        let change = number("size_change_kb");
        let class = match (number("file_type"), change < 0) {
            (1, false) => class::LOG_GROWTH,
            (1, true) => class::LOG_SHRINK,
            (_, false) => class::DATA_GROWTH,
            (_, true) => class::DATA_SHRINK,
        };
        let micros = number("duration");
        let end = event.at.unix_nanos() as i64;
        let begin = WallTime(event.at.unix_nanos() - i128::from(micros) * 1000);
        let row = TraceRow::new(class, begin)
            .with(Column::EndTime, Field::Time(end))
            .int(Column::Duration, micros)
            // Pages of 8 KB.
            .int(Column::IntegerData, change.abs() / 8)
            .int(Column::DatabaseID, number("database_id"))
            .by(who);
        let names = Names {
            database: number("database_id") as u64,
            file: number("file_id") as u64,
        };
        self.put(row, Some(names));
    }
}

impl Listener for DefaultTrace {
    fn wants(&self) -> u64 {
        EventId::DatabaseFileSizeChange.bit()
    }

    fn event(&self, event: &Event) {
        let who = duramen_core::origin::current();
        if !duramen_core::origin::concerns(self.instance, who.as_deref()) {
            return;
        }
        if event.id == EventId::DatabaseFileSizeChange {
            self.growth(event, who.as_deref());
        }
    }
}

/// The rows of a trace file, or of the files that follow it, at most `files` (`None`: all). The name of a trace without its
/// number means all that there are.
pub fn read(folders: &Folders, path: &str, files: Option<usize>) -> Option<Vec<TraceRow>> {
    let (_, dir, name) = folders.split(path);
    let mut names = folders.names(&dir);
    let (base, first) = match name.strip_suffix(".trc")?.rsplit_once('_') {
        Some((base, n)) if n.parse::<u64>().is_ok() => (base.to_owned(), n.parse::<u64>().ok()),
        _ => (name.strip_suffix(".trc")?.to_owned(), None),
    };
    let number = |n: &String| -> Option<u64> {
        n.strip_prefix(base.as_str())?
            .strip_prefix('_')?
            .strip_suffix(".trc")?
            .parse()
            .ok()
    };
    names.retain(|n| number(n).is_some_and(|n| first.is_none_or(|f| n >= f)) || *n == name);
    names.sort_by_key(number);
    if names.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for name in names.iter().take(files.unwrap_or(usize::MAX)) {
        let read = records::read(&*folders.disk, &dir.join(name), &TRACE).ok()??;
        rows.extend(read.iter().filter_map(|(_, p)| TraceRow::parse(p)));
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = TraceRow::new(class::LOG_GROWTH, WallTime(5_000))
            .int(Column::Duration, -1)
            .text(Column::DatabaseName, "d\u{e4}")
            .with(Column::LoginSid, Field::Bytes(vec![1, 2]));
        assert_eq!(TraceRow::parse(&row.payload()), Some(row.clone()));
        let short = &row.payload()[..row.payload().len() - 1];
        assert_eq!(TraceRow::parse(short), None);
    }
}
