//! A database's log as the rest of the room uses it: failures are the errors a client sees.

use std::sync::Arc;

use duramen_base::{Lsn, SqlResult};
use duramen_observe::events::{
    self, EventId, FileTime, LogContext, LogOperation, TransactionLog, emit,
};
use duramen_txn::RecordLog;
use duramen_wal::record::RecordView;
use duramen_wal::{Log, LogError, LogHolds};

use crate::engine::LogAccess;

pub(crate) struct DbLog {
    pub log: Arc<Log>,
    pub name: String,
}

impl DbLog {
    fn appended_record(&self, record: &[u8], appended: Result<Lsn, LogError>) -> SqlResult<Lsn> {
        let lsn = appended.map_err(|e| e.to_sql(&self.name))?;
        if events::is_wanted(EventId::TransactionLog) {
            self.report(record);
        }
        Ok(lsn)
    }

    #[cold]
    fn report(&self, record: &[u8]) {
        let Some(view) = RecordView::parse(record) else {
            return;
        };
        let (op, context) = (view.op(), view.context());
        let tx = duramen_txn::appending();
        emit(|| TransactionLog {
            operation: LogOperation(op.0, op.name().unwrap_or("")),
            context: LogContext(context.0, context.name().unwrap_or("")),
            transaction_id: tx.map_or(0, |(id, _)| i64::try_from(id).unwrap_or(0)),
            transaction_start_time: tx.map_or(FileTime::default(), |(_, at)| FileTime::of(at)),
            database_id: u64::from(self.log.config().db_id.0),
            log_record_size: view.length() as u64,
            alloc_unit_id: match op.is_of_page() {
                true => view.page().map_or(0, |p| p.alloc_unit.0 as u64),
                false => 0,
            },
        });
    }
}

impl RecordLog for DbLog {
    fn append(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn> {
        self.appended_record(record, self.log.append(record, undo_reserve))
    }
    fn append_asking(&self, record: &[u8], undo_reserve: u32) -> SqlResult<Lsn> {
        self.appended_record(record, self.log.append_asking(record, undo_reserve))
    }
    fn last_lsn(&self) -> Lsn {
        self.log.last_lsn()
    }
    fn durable_lsn(&self) -> Lsn {
        self.log.durable_lsn()
    }
    fn request_flush(&self, lsn: Lsn) {
        self.log.request_flush(lsn);
    }
    fn flush(&self, lsn: Lsn) -> SqlResult<()> {
        self.log.flush(lsn).map_err(|e| e.to_sql(&self.name))
    }
    fn release_reserve(&self, bytes: u64) {
        self.log.release_reserve(bytes);
    }
    fn reserve(&self, bytes: u64) -> SqlResult<()> {
        self.log.reserve(bytes).map_err(|e| e.to_sql(&self.name))
    }
    fn hold(&self, bytes: u64) {
        self.log.hold(bytes);
    }
    fn flush_bytes(&self) -> u32 {
        self.log.flush_bytes()
    }
    fn is_short(&self) -> bool {
        self.log.is_short()
    }
}

impl LogAccess for DbLog {
    fn read_one(&self, lsn: Lsn) -> SqlResult<Vec<u8>> {
        self.log.read_one(lsn).map_err(|e| e.to_sql(&self.name))
    }

    fn scan_while(
        &self,
        from: Lsn,
        each: &mut dyn FnMut(Lsn, &[u8]) -> SqlResult<bool>,
    ) -> SqlResult<()> {
        for record in self.log.read(from) {
            let record = record.map_err(|e| e.to_sql(&self.name))?;
            if !each(record.lsn, &record.bytes)? {
                break;
            }
        }
        Ok(())
    }

    fn truncate(&self, holds: LogHolds, free: bool) {
        match free {
            true => {
                self.log.truncate_to(holds);
            }
            false => self.log.note_holds(holds),
        }
    }
}
