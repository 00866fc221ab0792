//! `fn_dump_dblog(start, end, device type, set, file 1 ... file 64)`: the log records in a backup or in a log file, with
//! the columns of `fn_dblog`.
//!
//! Not documented by SQL Server; the order of its arguments is known from what people publish. The file may be a backup of
//! the log or of a database (its set is the fourth argument, 1 when it is DEFAULT), of ours or of SQL Server's own, or the
//! log file of a database that is not running. Without a file the log of the current database is shown, as `fn_dblog`
//! does. Allocation units have the names that the current database gives them.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_backup::{LogBlocks, Medium};
use duramen_base::{Lsn, SqlError, SqlResult, messages};
use duramen_format::page::page_type;
use duramen_os::{Disk, OpenOptions};
use duramen_program::rights::needs::CONTROL_SERVER;
use duramen_query::Row;
use duramen_types::Value;
use duramen_wal::record::RecordView;
use duramen_wal::{LogFileReader, OpenBlock};

use super::dblog::{self, Names, bound};
use super::{RowStream, View};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5005, &VIEW),
];

pub const VIEW: View = View::streamed("fn_dump_dblog", CONTROL_SERVER, dblog::COLUMNS, stream);

/// Position of the first file among the arguments, and how many there may be.
const FIRST_FILE: usize = 4;
const FILES: usize = 64;

fn stream(cx: &Context, args: &[Value]) -> SqlResult<RowStream> {
    if args.len() > FIRST_FILE + FILES {
        let args: [&dyn std::fmt::Display; 1] = [&"fn_dump_dblog"];
        return Err(SqlError::new(&messages::TOO_MANY_ARGUMENTS, &args));
    }
    let (start, end) = (bound(args, 0)?, bound(args, 1)?);
    let text = |i: usize| args.get(i).and_then(Value::as_text);
    if text(2).is_some_and(|device| !device.eq_ignore_ascii_case("DISK")) {
        let what = "a device of fn_dump_dblog other than DISK";
        return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
    }
    let databases = &cx.instance.databases;
    let current = databases.find(&cx.database);
    let files: Vec<String> = (FIRST_FILE..args.len()).filter_map(text).collect();
    let Some(file) = files.first() else {
        return match &current {
            Some(db) => dblog::records(db, start, end),
            None => Ok(Box::new(std::iter::empty())),
        };
    };
    let set = args.get(3).and_then(Value::as_i64).unwrap_or(1);
    let blocks = match files.len() {
        1 => {
            let path = databases.backup_path(file);
            Blocks::open(&*databases.engine.env.disk, &path, file, set)?
        }
        _ => Blocks::of(databases.open_media(&files)?, set)?,
    };
    let (names, id) = match &current {
        Some(db) => (dblog::names(db)?, db.db.id.0),
        None => (Names::new(), 0),
    };
    let range = (start.unwrap_or(Lsn::NULL), end.unwrap_or(Lsn::MAX));
    Ok(Box::new(Records {
        blocks,
        ready: VecDeque::new(),
        range,
        names,
        id,
    }))
}

/// Where blocks come from.
pub(crate) enum Blocks {
    Backup(LogBlocks<Arc<Medium>>),
    LogFile(Box<LogFileReader>),
}

impl Blocks {
    /// Opens a log file, told by its header page, or a backup. `set` counts from 1. 3201, 3203, 3241, 3287.
    pub fn open(
        disk: &dyn Disk,
        path: &std::path::Path,
        shown: &str,
        set: i64,
    ) -> SqlResult<Blocks> {
        if is_database_file(disk, path) {
            let reader = LogFileReader::open(disk, path).map_err(|e| e.to_sql(shown))?;
            return Ok(Blocks::LogFile(Box::new(reader)));
        }
        Blocks::of(Medium::open(disk, path, shown)?, set)
    }

    fn of(medium: Medium, set: i64) -> SqlResult<Blocks> {
        let medium = Arc::new(medium);
        let found = medium.sets.iter().find(|s| i64::from(s.position) == set);
        let found = found.cloned().ok_or_else(|| {
            let args: [&dyn std::fmt::Display; 2] = [&set, &medium.shown];
            SqlError::new(&messages::BACKUP_FILE_MISSING, &args)
        })?;
        Ok(Blocks::Backup(LogBlocks::new(medium, &found)))
    }

    /// The next block, in log order.
    pub fn next_block(&mut self) -> SqlResult<Option<OpenBlock>> {
        if duramen_os::thread::is_given_up() {
            return Err(SqlError::given_up());
        }
        match self {
            Blocks::Backup(blocks) => blocks.next().transpose(),
            Blocks::LogFile(reader) => reader.next_block().map_err(|e| e.to_sql("")),
        }
    }
}

/// Whether a file begins with a page that says it is a file header.
fn is_database_file(disk: &dyn Disk, path: &std::path::Path) -> bool {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let mut head = [0; 2];
    let read = disk
        .open(path, &options)
        .and_then(|f| f.read_at(&mut head, 0));
    read.is_ok() && head == [1, page_type::FILE_HEADER]
}

struct Records {
    blocks: Blocks,
    ready: VecDeque<Row>,
    range: (Lsn, Lsn),
    names: Names,
    id: u16,
}

impl Iterator for Records {
    type Item = SqlResult<Row>;

    fn next(&mut self) -> Option<SqlResult<Row>> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Some(Ok(row));
            }
            let block = match self.blocks.next_block() {
                Ok(Some(block)) => block,
                Ok(None) => return None,
                Err(e) => return Some(Err(e)),
            };
            for slot in 1..=block.header.records {
                let lsn = block.lsn(slot);
                if lsn < self.range.0 || lsn > self.range.1 {
                    continue;
                }
                // Padding belongs to the block.
                let record = block.record(slot).and_then(RecordView::parse);
                let row = record.and_then(|r| dblog::shown(lsn, r.bytes(), &self.names, self.id));
                self.ready.extend(row);
            }
        }
    }
}
