//! A transaction: its locks, its parts in databases, its savepoints, and whether it can still commit.
//!
//! A session makes one when work begins (BEGIN TRAN, an implicit transaction, or each autocommit statement) and gives
//! `&Transaction` to everything below. A database becomes part of it with the first change logged there: BEGIN TRAN
//! alone writes nothing, and a transaction that only read leaves no trace in any log.
//!
//! What must not change while others look is behind one mutex that only the session's own worker takes.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_base::{DbId, Lsn, SessionId, SqlError, SqlResult, XdesId};
use duramen_os::sync::{Mutex, Rank};
use duramen_os::time::{self, WallTime};

use crate::definitions::Definitions;
use crate::lock::{LockMark, LockMode, LockOwner, Resource};
use crate::table::ActiveTxn;
use crate::txlog::TransactionLog;
use crate::versions::{VersionStore, VersionWriter};
use crate::view::ReadView;

/// SET TRANSACTION ISOLATION LEVEL, numbered as in `sys.dm_exec_sessions`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum IsolationLevel {
    ReadUncommitted = 1,
    #[default]
    ReadCommitted = 2,
    RepeatableRead = 3,
    Serializable = 4,
    Snapshot = 5,
}

impl IsolationLevel {
    fn from_code(code: u8) -> IsolationLevel {
        match code {
            1 => IsolationLevel::ReadUncommitted,
            3 => IsolationLevel::RepeatableRead,
            4 => IsolationLevel::Serializable,
            5 => IsolationLevel::Snapshot,
            _ => IsolationLevel::ReadCommitted,
        }
    }
}

/// How the transaction came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TxnKind {
    /// One statement; the name is the statement's kind (`INSERT`).
    Autocommit,
    /// BEGIN TRAN.
    Explicit,
    /// SET IMPLICIT_TRANSACTIONS ON.
    Implicit,
    /// A structure change that commits on its own whatever becomes of the user's work (`SplitPage`).
    System,
}

/// XACT_STATE().
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(i8)]
pub enum XactState {
    Doomed = -1,
    None = 0,
    Active = 1,
}

/// The transaction in one database where it has logged something.
#[derive(Clone, Debug)]
pub struct DbPart {
    pub db: DbId,
    pub xdes: XdesId,
    pub begin_lsn: Lsn,
    pub last_lsn: Lsn,
    pub spid: SessionId,
    /// Undo space not yet given back.
    pub reserved: u64,
    pub records: u64,
    pub bytes: u64,
    pub(crate) log: Arc<TransactionLog>,
    pub(crate) active: Arc<ActiveTxn>,
}

impl DbPart {
    pub fn log(&self) -> &Arc<TransactionLog> {
        &self.log
    }
}

/// A point to roll back to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SavePoint {
    /// Empty for a statement's own point.
    pub name: String,
    lsns: Vec<(DbId, Lsn)>,
    pub locks: LockMark,
    number: u64,
}

impl SavePoint {
    /// The last record to keep in `db`; NULL when the part began later and goes as a whole.
    pub fn lsn(&self, db: DbId) -> Lsn {
        self.lsns
            .iter()
            .find(|e| e.0 == db)
            .map_or(Lsn::NULL, |e| e.1)
    }

    /// Its place among the transaction's points: see [`Transaction::points`].
    pub fn number(&self) -> u64 {
        self.number
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub parts: Vec<DbPart>,
    pub savepoints: Vec<SavePoint>,
    /// SNAPSHOT: what the transaction sees, from its first access to data on.
    pub view: Option<ReadView>,
    pub writer: Option<VersionWriter>,
    /// Locks that the running statements hold only while they run, innermost statement last.
    pub statement_locks: Vec<(Resource, LockMode)>,
    /// Its decision may be on disk or not.
    pub in_doubt: bool,
    /// Catalogs in which it has changed definitions.
    pub definitions: Vec<Arc<dyn Definitions>>,
    /// Databases whose current rows were read: a commit elsewhere must not be durable before these.
    pub reads: Vec<Arc<TransactionLog>>,
}

#[derive(Debug)]
pub struct Transaction {
    /// `sys.dm_tran_active_transactions.transaction_id`, also the descriptor of TDS.
    pub id: u64,
    pub owner: LockOwner,
    pub name: Cow<'static, str>,
    pub kind: TxnKind,
    pub started: WallTime,
    /// The login's SID, for BEGIN_XACT.
    pub sid: Option<Arc<[u8]>>,
    /// BEGIN TRANSACTION ... WITH MARK: name and description, for COMMIT_XACT.
    mark: OnceLock<(String, String)>,
    isolation: AtomicU8,
    /// The level at the first access to data; 0 before it.
    started_as: AtomicU8,
    nesting: AtomicU32,
    doomed: AtomicBool,
    defined: AtomicBool,
    dropped: AtomicBool,
    /// Whether a statement has ever taken locks for itself: only then is the list of them looked at.
    statement_locked: AtomicBool,
    /// The database whose part it got last, 1 more than its id: it has begun there. 0: it has begun nowhere.
    pub(crate) begun: AtomicU32,
    /// A database that it began in has COMMIT_WAIT = STATEMENT.
    pub(crate) waits: AtomicBool,
    /// How many points to roll back to it has had.
    points: AtomicU64,
    /// Milliseconds; -1 waits for ever.
    lock_timeout: AtomicI64,
    /// Bytes of its log that have been undone, when somebody wants to know.
    undone: OnceLock<Arc<AtomicU64>>,
    /// See [`Transaction::unreserved`].
    pub(crate) unreserved: bool,
    pub(crate) state: Mutex<State>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Transaction {
    pub fn new(
        owner: &LockOwner,
        kind: TxnKind,
        name: impl Into<Cow<'static, str>>,
        isolation: IsolationLevel,
    ) -> Transaction {
        Transaction::of(owner, kind, name, isolation, None)
    }

    /// The same by a login, which the log's record of its beginning names.
    pub fn of(
        owner: &LockOwner,
        kind: TxnKind,
        name: impl Into<Cow<'static, str>>,
        isolation: IsolationLevel,
        sid: Option<&Arc<[u8]>>,
    ) -> Transaction {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        if kind != TxnKind::System {
            owner.set_transaction(id);
        }
        Transaction {
            id,
            owner: owner.clone(),
            name: name.into(),
            kind,
            started: time::wall(),
            sid: sid.cloned(),
            mark: OnceLock::new(),
            isolation: AtomicU8::new(isolation as u8),
            started_as: AtomicU8::new(0),
            nesting: AtomicU32::new(1),
            doomed: AtomicBool::new(false),
            defined: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            statement_locked: AtomicBool::new(false),
            begun: AtomicU32::new(0),
            waits: AtomicBool::new(false),
            points: AtomicU64::new(0),
            lock_timeout: AtomicI64::new(-1),
            undone: OnceLock::new(),
            unreserved: false,
            state: Mutex::ranked(Rank::Transaction, State::default()),
        }
    }

    /// A system transaction under the locks of `self`: a page split, an allocation. It is committed by itself
    /// (`txlog::commit`), holds no locks of its own, and survives the rollback of `self`.
    pub fn system(&self, name: &'static str) -> Transaction {
        let mut inner = Transaction::new(&self.owner, TxnKind::System, name, self.isolation());
        inner
            .lock_timeout
            .store(self.lock_timeout.load(Ordering::Relaxed), Ordering::Relaxed);
        inner.unreserved = self.unreserved;
        inner
    }

    /// For a change of a few hundred bytes that must be possible in a log that is full for others, because it lets go of
    /// log: nothing is set aside for its undo, so that it may use what the log keeps back for rollbacks.
    pub fn unreserved(mut self) -> Transaction {
        self.unreserved = true;
        self
    }

    /// Whether its changes ask for room in the log.
    pub fn asks(&self) -> bool {
        !self.unreserved
    }

    /// Marks the transaction: a restore can stop at its commit. False when it has a mark already, which stays.
    pub fn set_mark(&self, name: &str, description: &str) -> bool {
        let mark = (name.to_owned(), description.to_owned());
        self.mark.set(mark).is_ok()
    }

    /// Name and description of its mark.
    pub fn mark(&self) -> Option<&(String, String)> {
        self.mark.get()
    }

    pub fn spid(&self) -> SessionId {
        self.owner.spid()
    }

    pub fn isolation(&self) -> IsolationLevel {
        IsolationLevel::from_code(self.isolation.load(Ordering::Relaxed))
    }

    pub fn set_isolation(&self, level: IsolationLevel) {
        self.isolation.store(level as u8, Ordering::Relaxed);
    }

    /// SET LOCK_TIMEOUT: `None` waits for ever.
    pub fn lock_timeout(&self) -> Option<Duration> {
        u64::try_from(self.lock_timeout.load(Ordering::Relaxed))
            .ok()
            .map(Duration::from_millis)
    }

    pub fn set_lock_timeout(&self, ms: i64) {
        self.lock_timeout.store(ms, Ordering::Relaxed);
    }

    /// @@TRANCOUNT as far as this transaction counts: autocommit and system transactions count nothing.
    pub fn nesting(&self) -> u32 {
        match self.kind {
            TxnKind::Explicit | TxnKind::Implicit => self.nesting.load(Ordering::Relaxed),
            TxnKind::Autocommit | TxnKind::System => 0,
        }
    }

    /// BEGIN TRAN inside.
    pub fn enter(&self) -> u32 {
        let before = self.nesting.fetch_add(1, Ordering::Relaxed);
        debug_assert!(
            before > 0,
            "transaction/1: BEGIN TRAN in a transaction that has ended"
        );
        before + 1
    }

    /// COMMIT: true when it was the outermost, and the transaction is to be committed.
    pub fn leave(&self) -> bool {
        let before = self
            .nesting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        matches!(before, Ok(1) | Err(_))
    }

    /// After an error that ends the transaction in a TRY block: only ROLLBACK is possible.
    pub fn doom(&self) {
        self.doomed.store(true, Ordering::Relaxed);
    }

    /// It has changed definitions: its rollback makes what catalogs remember untrue.
    pub fn defines(&self) {
        self.defined.store(true, Ordering::Relaxed);
    }

    pub fn has_defined(&self) -> bool {
        self.defined.load(Ordering::Relaxed)
    }

    /// It may have noted pages that go with its commit.
    pub fn drops_pages(&self) {
        self.dropped.store(true, Ordering::Relaxed);
    }

    pub fn has_dropped_pages(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }

    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Relaxed)
    }

    pub fn xact_state(&self) -> XactState {
        if self.is_doomed() {
            XactState::Doomed
        } else if self.nesting() == 0 {
            XactState::None
        } else {
            XactState::Active
        }
    }

    /// The number of the last point to roll back to: what is done now is undone with points up to this number.
    pub fn points(&self) -> u64 {
        self.points.load(Ordering::Relaxed)
    }

    /// A catalog keeps definitions of this transaction, and is told of its end.
    pub fn note_definitions(&self, of: Arc<dyn Definitions>) {
        let known = &mut self.state.lock().definitions;
        if !known.iter().any(|k| Arc::ptr_eq(k, &of)) {
            known.push(of);
        }
    }

    /// Those catalogs; they are told once.
    pub fn take_definitions(&self) -> Vec<Arc<dyn Definitions>> {
        std::mem::take(&mut self.state.lock().definitions)
    }

    /// Those catalogs, which go on being the transaction's.
    pub fn definitions(&self) -> Vec<Arc<dyn Definitions>> {
        self.state.lock().definitions.clone()
    }

    /// Copies of the parts, in the order in which the databases were first written.
    pub fn parts(&self) -> Vec<DbPart> {
        self.state.lock().parts.clone()
    }

    /// Its ids in the databases it has written.
    pub fn ids(&self) -> Vec<(DbId, XdesId)> {
        let state = self.state.lock();
        state.parts.iter().map(|p| (p.db, p.xdes)).collect()
    }

    pub fn part(&self, db: DbId) -> Option<DbPart> {
        self.state.lock().parts.iter().find(|p| p.db == db).cloned()
    }

    /// Its COMMIT over several databases failed at a moment at which only a restart can tell whether it is decided: the
    /// caller of `txlog::commit` keeps its locks for ever.
    pub fn is_in_doubt(&self) -> bool {
        self.state.lock().in_doubt
    }

    /// Has it logged anything anywhere?
    pub fn has_written(&self) -> bool {
        !self.state.lock().parts.is_empty()
    }

    /// Will its COMMIT wait until it is hardened (COMMIT_WAIT = STATEMENT where it has written, as that was then)?
    pub fn waits_at_commit(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// Bytes of log in all databases.
    pub fn log_bytes(&self) -> u64 {
        self.state.lock().parts.iter().map(|p| p.bytes).sum()
    }

    /// Between two steps of long work forward: an error that no client sees when the request has been given up. Never
    /// asked while something is undone.
    pub fn check_given_up(&self) -> SqlResult<()> {
        match self.owner.is_given_up() {
            false => Ok(()),
            true => Err(SqlError::given_up()),
        }
    }

    /// What a rollback from now on adds up: the bytes of log that it has undone.
    pub fn undone(&self) -> Arc<AtomicU64> {
        Arc::clone(self.undone.get_or_init(Default::default))
    }

    /// A record of so many bytes is undone.
    pub fn note_undone(&self, bytes: u64) {
        if let Some(undone) = self.undone.get() {
            undone.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Current rows of this database were read under the transaction.
    pub fn note_read(&self, log: &Arc<TransactionLog>) {
        let mut state = self.state.lock();
        if !state.reads.iter().any(|known| Arc::ptr_eq(known, log)) {
            state.reads.push(Arc::clone(log));
        }
    }

    /// The point before a statement, for undoing the statement alone. Writes nothing.
    pub fn statement_point(&self, locks: LockMark) -> SavePoint {
        // Only the session's own worker makes points.
        let number = self.points.load(Ordering::Relaxed) + 1;
        self.points.store(number, Ordering::Relaxed);
        let mut lsns = Vec::new();
        if self.begun.load(Ordering::Relaxed) != 0 {
            let state = self.state.lock();
            lsns.extend(state.parts.iter().map(|p| (p.db, p.last_lsn)));
        }
        SavePoint {
            name: String::new(),
            lsns,
            locks,
            number,
        }
    }

    pub(crate) fn push_savepoint(&self, name: &str, locks: LockMark) {
        let mut point = self.statement_point(locks);
        point.name = name.to_owned();
        let mut state = self.state.lock();
        debug_assert!(
            state
                .savepoints
                .last()
                .is_none_or(|s| s.number < point.number),
            "transaction/2: savepoints are not numbered on"
        );
        state.savepoints.push(point);
    }

    /// The last savepoint of that name. Names compare exactly, as transaction names do.
    pub fn savepoint(&self, name: &str) -> Option<SavePoint> {
        let state = self.state.lock();
        state
            .savepoints
            .iter()
            .rev()
            .find(|s| s.name == name)
            .cloned()
    }

    /// After a rollback to `point`: later savepoints are gone, `point` itself stays usable.
    pub fn rolled_back_to(&self, point: &SavePoint) {
        debug_assert!(
            point.number <= self.points(),
            "transaction/2: a rollback to a point that is another transaction's"
        );
        self.state
            .lock()
            .savepoints
            .retain(|s| s.number <= point.number);
    }

    /// The transaction touches data: the level under which it did so first. A transaction starts with its first access
    /// to data, and one that did not start in SNAPSHOT cannot change to it (3951).
    pub fn start_as(&self) -> IsolationLevel {
        let now = self.isolation.load(Ordering::Relaxed);
        let first = self
            .started_as
            .compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed)
            .map_or_else(|started| started, |_| now);
        IsolationLevel::from_code(first)
    }

    /// What a SNAPSHOT transaction sees.
    pub fn view(&self) -> Option<ReadView> {
        self.state.lock().view.clone()
    }

    /// The view of a SNAPSHOT transaction, taken now if it has none.
    pub fn view_or(&self, take: impl FnOnce() -> ReadView) -> ReadView {
        self.state.lock().view.get_or_insert_with(take).clone()
    }

    /// The writer under which this transaction pushes row versions, made at its first push.
    pub fn version_writer(&self, store: &VersionStore) -> VersionWriter {
        self.state
            .lock()
            .writer
            .get_or_insert_with(|| store.writer())
            .clone()
    }

    /// The writer, if anything was pushed.
    pub fn writer(&self) -> Option<VersionWriter> {
        self.state.lock().writer.clone()
    }

    /// A lock that goes with the statement: see [`Transaction::end_statement`].
    pub fn until_statement_end(&self, resource: Resource, mode: LockMode) {
        let mut state = self.state.lock();
        self.statement_locked.store(true, Ordering::Relaxed);
        state.statement_locks.push((resource, mode));
    }

    /// A lock that was to go with the statement is needed until the end of the transaction.
    pub fn keep_lock(&self, resource: &Resource) {
        if !self.statement_locked.load(Ordering::Relaxed) {
            return;
        }
        let locks = &mut self.state.lock().statement_locks;
        // The places of the others stand for statements: this one only stops meaning anything.
        for held in locks.iter_mut().filter(|(r, _)| r == resource) {
            held.1 = LockMode::BU;
        }
    }

    /// The point to give to `end_statement`.
    pub fn begin_statement(&self) -> usize {
        self.state.lock().statement_locks.len()
    }

    /// The locks that the statement begun at `mark` took for itself: to be given back now.
    pub fn end_statement(&self, mark: usize) -> Vec<(Resource, LockMode)> {
        if !self.statement_locked.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let locks = &mut self.state.lock().statement_locks;
        if mark < locks.len() {
            locks.split_off(mark)
        } else {
            Vec::new()
        }
    }
}
