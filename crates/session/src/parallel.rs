//! Threads that help a session's own to run a query: what they see of the session, and what follows `max degree of
//! parallelism` and `cost threshold for parallelism`.
//!
//! A helper reads under the statement's transaction, view and locks, waits in the session's name, and ends with its
//! attention. It cannot ask the session anything else: no plan that goes parallel does.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_access::cancel::CancelToken;
use duramen_access::usage::{self, Noted};
use duramen_base::{SqlError, SqlResult, messages};
use duramen_inspect::context::Context;
use duramen_observe::{SessionWaits, ThreadWork, UnitReads};
use duramen_os::sync::Mutex;
use duramen_query::Expr;
use duramen_query::execution::ExecutionContext;
use duramen_query::host::{Host, Parallelism, Source, Table, VirtualTable, WorkerHost};
use duramen_query::spill::{SpillFile, Workspace};
use duramen_tsql::ast;
use duramen_types::{CollationId, SqlType, Value};

use crate::session::Session;

impl Session {
    /// How many threads a statement may use here: the database's MAXDOP goes before the server's.
    pub(crate) fn parallelism(&self) -> Parallelism {
        let mut allowed = self.instance.parallelism();
        let db = self.instance.databases.find(&self.database);
        match db.map_or(0, |d| d.db.max_degree()) {
            0 => {}
            own => allowed.max_degree = u64::from(own),
        }
        allowed
    }
}

/// What helpers share.
pub(crate) struct Helpers {
    context: Context,
    workspace: Arc<Workspace>,
    cancel: CancelToken,
    now: (u64, i16),
    collation: CollationId,
    ansi_nulls: bool,
    waits: Option<Arc<SessionWaits>>,
    /// SET STATISTICS IO is on.
    meters: bool,
    /// What helpers that have ended have read.
    done: Mutex<(Vec<ThreadWork>, Vec<UnitReads>, Vec<Noted>)>,
}

impl Helpers {
    /// Called on the session's thread while its statement runs.
    pub fn new(context: &Context, cancel: &CancelToken, host: &dyn Host) -> Helpers {
        Helpers {
            context: context.clone(),
            workspace: host.workspace(),
            cancel: cancel.clone(),
            now: host.now(),
            collation: host.collation(),
            ansi_nulls: host.ansi_nulls(),
            waits: duramen_observe::current_waits(),
            meters: duramen_observe::metering_reads(),
            done: Mutex::default(),
        }
    }
}

impl WorkerHost for Helpers {
    fn work(&self, number: u32, stop: &Arc<AtomicBool>, f: &mut dyn FnMut(&dyn Host)) {
        let _attached = self
            .waits
            .as_ref()
            .map(|w| duramen_observe::attach(w, number));
        let _helping = duramen_txn::lock::help(stop.clone());
        let viewer = self.context.execution.as_ref().map(|e| &e.transaction);
        let _viewing = viewer.map(|t| duramen_txn::definitions::view_as(&t.owner));
        let before = duramen_observe::thread_work();
        let cpu = duramen_os::time::thread_cpu();
        if self.meters {
            duramen_observe::meter_reads();
        }
        f(&Helper {
            of: self,
            stop: stop.clone(),
        });
        let mut done = self.done.lock();
        if self.meters {
            done.1.extend(duramen_observe::metered_reads());
        }
        let cpu = duramen_os::time::thread_cpu().saturating_sub(cpu);
        done.0.push(ThreadWork {
            helped_cpu_nanos: cpu.as_nanos() as u64,
            ..duramen_observe::thread_work().since(&before)
        });
        done.2.extend(usage::take());
    }

    fn collect(&self) {
        let (work, reads, used) = std::mem::take(&mut *self.done.lock());
        usage::add(used);
        work.iter().for_each(duramen_observe::add_thread_work);
        if duramen_observe::metering_reads() {
            duramen_observe::add_metered_reads(&reads);
        }
    }
}

/// The host of one helper.
struct Helper<'h> {
    of: &'h Helpers,
    stop: Arc<AtomicBool>,
}

fn nobody<T>() -> SqlResult<T> {
    Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))
}

impl Host for Helper<'_> {
    fn source(&self, _: &ast::ObjectName) -> SqlResult<Option<Source>> {
        nobody()
    }
    fn table_function(&self, _: &ast::ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
        nobody()
    }
    fn function_type(&self, _: &str) -> Option<SqlType> {
        None
    }
    fn function(&self, _: &str, _: &[Value]) -> SqlResult<Value> {
        nobody()
    }
    fn global_type(&self, _: &str) -> Option<(&'static str, SqlType)> {
        None
    }
    fn global(&self, _: &str) -> SqlResult<Value> {
        nobody()
    }
    fn variable(&self, _: &str) -> Option<(usize, SqlType)> {
        None
    }
    fn table_variable(&self, _: &str) -> Option<Arc<dyn Table>> {
        None
    }
    fn now(&self) -> (u64, i16) {
        self.of.now
    }
    fn random(&self) -> u64 {
        duramen_os::random::next_u64()
    }
    fn collation(&self) -> CollationId {
        self.of.collation
    }
    fn ansi_nulls(&self) -> bool {
        self.of.ansi_nulls
    }
    fn cancelled(&self) -> bool {
        self.of.cancel.is_set() || self.stop.load(Ordering::Relaxed)
    }
    fn workspace(&self) -> Arc<Workspace> {
        self.of.workspace.clone()
    }
    fn spill_file(&self) -> SqlResult<Box<dyn SpillFile>> {
        let databases = &self.of.context.instance.databases;
        databases.engine.spill_file()
    }
    fn bind_default(&self, _: &str) -> SqlResult<Expr> {
        nobody()
    }
    fn execution(&self) -> Option<&ExecutionContext> {
        self.of.context.execution.as_ref()
    }
    fn session(&self) -> &dyn Any {
        &self.of.context
    }
}
