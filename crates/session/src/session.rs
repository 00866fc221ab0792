//! One session: its settings, its transaction, what it tells about itself.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::activity::Activity;
use duramen_core::security::Who;
use duramen_core::session_core::{SessionCore, State};
use duramen_events::instance::Instance;
use duramen_inspect::context::SessionContext;
use duramen_observe::{Counter, SessionWaits, count};
use duramen_os::memory::{Account, Clerk};
use duramen_os::{stack, thread};
use duramen_program::login::LoginRequest;
use duramen_program::options::Options;
use duramen_program::sink::{Done, EnvChange, ResultSink};
use duramen_program::statement_stats::Standing;
use duramen_txn::TxnKind;
use duramen_txn::gate::SessionDeps;

use crate::run::{Run, Stopwatch, reporting};

pub struct Session {
    pub(crate) core: SessionCore,
    pub(crate) instance: Arc<Instance>,
    /// DEFAULT_LANGUAGE of the login.
    pub(crate) home_language: String,
    /// Where the last statement ran.
    pub(crate) session_context: Option<Arc<SessionContext>>,
    /// The state of the databases' options that the session's own follow.
    pub(crate) followed: u64,
    /// What it keeps for itself between requests.
    memory: Account,
    /// The savepoints of its transaction, of this number: a loop makes a million in some seconds.
    savepoints: (u64, Account),
}

impl Deref for Session {
    type Target = SessionCore;

    fn deref(&self) -> &SessionCore {
        &self.core
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut SessionCore {
        &mut self.core
    }
}

/// What a savepoint takes beside its name, in a list that has doubled.
const SAVEPOINT_BYTES: usize = 200;

impl Session {
    /// What a statement of this session is told of where it runs.
    pub(crate) fn context(&self) -> Arc<SessionContext> {
        Arc::new(SessionContext {
            instance: self.instance.clone(),
            who: self.who.clone(),
            database: self.database.clone(),
            session: self.spid,
        })
    }

    /// Whether that is still so.
    pub(crate) fn is_there(&self, context: &SessionContext) -> bool {
        Arc::ptr_eq(&context.who, &self.who) && Arc::ptr_eq(&context.database, &self.database)
    }
}

impl Session {
    pub(crate) fn new(
        instance: Arc<Instance>,
        activity: Arc<Activity>,
        login: LoginRequest,
        who: Arc<Who>,
    ) -> SqlResult<Session> {
        let id = instance.database_id(&login.database);
        let account = || instance.databases.engine.memory.account(Clerk::Connections);
        let (memory, savepoints) = (account(), (0, account()));
        let session = Session {
            core: SessionCore::new(instance.core.clone(), activity, login, who),
            instance,
            home_language: String::new(),
            session_context: None,
            followed: 0,
            memory,
            savepoints,
        };
        if let Some(id) = id {
            session.take_share(id)?;
            session.activity.set_database(id.0);
        }
        Ok(session)
    }

    pub fn spid(&self) -> u16 {
        self.spid.0
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    /// Called when a request's token has been set: what waits for a lock looks at it at once.
    pub fn waker(&self) -> Box<dyn Fn() + Send + Sync> {
        let (locks, owner) = (self.instance.locks.clone(), self.owner.clone());
        Box::new(move || locks.wake(&owner))
    }

    /// `notify` is called when the session is killed while a request of it runs: what waits for its client waits no longer.
    /// Of several the first holds.
    pub fn on_kill(&self, notify: Box<dyn Fn() + Send + Sync>) {
        self.activity.on_kill(notify);
    }

    /// Others may be waiting for what this session has: its next request must find a thread.
    pub fn may_release(&self) -> bool {
        self.transaction.is_some() || self.instance.app_locks.has_any(self.owner.id())
    }

    /// What every login is told of the server's state.
    pub fn warning(&self) -> Option<SqlError> {
        let warning = self.instance.databases.warning();
        warning.map(|text| SqlError::print(text.to_owned()))
    }

    /// The language that the session speaks.
    pub fn language(&self) -> &'static str {
        self.options.language.data().name
    }

    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// What the session's replies depend on.
    pub fn deps(&self) -> &Arc<SessionDeps> {
        &self.deps
    }

    /// Plans are valid while this number stays; `temporary` for those that name something of tempdb. While the session's
    /// transaction has defined something it is a number that no other session ever has.
    pub(crate) fn schema_version(&self, temporary: bool) -> u64 {
        let committed = self.instance.schema_version(temporary);
        match self.owner.draft(temporary) {
            0 => committed,
            stamp => duramen_catalog::version_of_draft(stamp, committed),
        }
    }

    /// What the session has waited for since it was opened or reset; its way out adds what its packets wait.
    pub fn waits(&self) -> &Arc<SessionWaits> {
        &self.activity.waits
    }

    /// Parses, compiles and runs one batch. Everything that happens, errors too, goes to the sink.
    /// A session that KILL or ALTER DATABASE has ended answers with error 596, of severity 21, from then on.
    pub fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink, cancel: &CancelToken) {
        self.request(
            sink,
            cancel,
            |s, sink| match reporting::batches_are_wanted() {
                false => s.run_batch(text, sink, cancel),
                true => s.run_reported_batch(text, sink, cancel),
            },
        );
    }

    /// One request of the client: the session is busy while `work` runs, and can be interrupted. `None` when the session
    /// has been ended, before or meanwhile: whoever ends a busy session leaves it to it to undo its work.
    pub(crate) fn request<T>(
        &mut self,
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
        work: impl FnOnce(&mut Session, &mut dyn ResultSink) -> T,
    ) -> Option<T> {
        self.state.bulk = None;
        self.state.given_up = false;
        if let Some(mark) = self.activity.begin(cancel) {
            duramen_catalog::doubt::clear();
            duramen_os::heap::mark();
            let _working = duramen_core::origin::work_for(&self.activity);
            let _attached = duramen_observe::attach(&self.activity.waits, 0);
            self.owner.clear_cancel();
            self.owner.set_attention(cancel.0.clone());
            let _listening = thread::listen_to(cancel.0.clone());
            let _reporting = thread::report_undoing(self.activity.conduct());
            // A login that cannot be read any more goes on with what it had.
            if self.instance.databases.generation() != self.followed {
                self.follow_database();
            }
            let _ = self.recognise();
            let result = stack::deep(|| work(self, sink));
            duramen_types::xquery::forget_large();
            self.state.reset_by = None;
            let (rows, open) = (self.state.rowcount, self.transaction.clone());
            if self.activity.end(&mark, open.as_ref(), rows, &self.options) {
                if cancel.is_set() {
                    self.report_attention();
                    // It is no error that a TRY could catch; the transaction goes all the same.
                    if self.state.given_up
                        && self.options.xact_abort
                        && self.transaction.is_some()
                        && let Err(e) = self.rollback_and_report(sink)
                    {
                        sink.error(&e);
                    }
                }
                debug_assert!(
                    self.has_share(),
                    "a session is in another database than its share"
                );
                self.note_memory();
                self.instance.xe.settle();
                duramen_admin::suspect_pages::write(&self.instance, self);
                return Some(result);
            }
            if let Err(e) = self.rollback_all() {
                sink.error(&e);
            }
            self.instance.locks.release_session(&self.owner);
            self.instance.app_locks.forget(self.owner.id());
        }
        self.transaction = None;
        let error = SqlError::new(&messages::SESSION_KILLED, &[]);
        self.state.error = error.number;
        sink.error(&error);
        sink.done(&Done {
            error: true,
            ..Done::default()
        });
        None
    }

    /// What the session keeps is told when it has changed.
    fn note_memory(&mut self) {
        if self.transaction.is_none() && self.savepoints.1.held() > 0 {
            self.savepoints.1.set(0);
        }
        let context = self.state.context.bytes() as u64;
        if context != self.memory.held() {
            self.memory.set(context);
        }
        self.activity
            .note_memory(context + self.state.programs.bytes());
    }

    pub(crate) fn run_batch(
        &mut self,
        text: &str,
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) {
        let clock = self.options.statistics_time.then(Stopwatch::start);
        let key = self.text_key(text, "");
        match self.batch_program(&key, text) {
            Ok(mut batch) => {
                let said = batch.program.parse_only;
                self.options.parse_only = said.unwrap_or(self.options.parse_only);
                if self.options.parse_only {
                    return sink.done(&Done {
                        in_transaction: self.in_transaction(),
                        ..Done::default()
                    });
                }
                if let Some(clock) = clock {
                    sink.info(&clock.compiled().at_line(1));
                }
                let program = batch.program.clone();
                self.activity.note_program(&program);
                let bound = std::mem::take(&mut batch.bound);
                let (bound, rebound) = Run::new(self, &program, sink, cancel).batch(bound);
                batch.bound = bound;
                if let Some(bytes) = rebound {
                    batch.grew(bytes);
                }
                let gone = program.stats.standing() == Standing::Gone;
                if batch.fresh || rebound.is_some() || gone {
                    self.share_program(&key, &batch);
                }
            }
            Err(error) => {
                self.state.error = error.number;
                duramen_program::outcome::report(sink, &error);
                sink.done(&Done {
                    error: true,
                    in_transaction: self.in_transaction(),
                    ..Done::default()
                });
            }
        }
    }

    /// What the session has is put away from now on, whatever became of its last request: it waits for others that use it, and
    /// nobody waits for the session any more.
    fn end_uninterrupted(&self) {
        self.owner.clear_cancel();
        self.owner.set_attention(Arc::default());
        self.give_back_app_locks();
    }

    /// Options as every session begins with them, in the language of the login.
    pub(crate) fn options_at_login(&self) -> Options {
        let mut options = Options::default();
        options.set_language(&self.home_language);
        options
    }

    /// sp_reset_connection: as after login, in the login's database; an open transaction is rolled back.
    pub fn reset(&mut self, keep_transaction: bool) -> SqlResult<()> {
        let _viewing = duramen_txn::definitions::view_as(&self.owner);
        if !keep_transaction {
            self.rollback_all()?;
        }
        self.end_uninterrupted();
        self.drop_temporaries(0);
        debug_assert!(
            keep_transaction || self.transaction.is_none(),
            "a session is reset and its transaction goes on"
        );
        self.options = self.options_at_login();
        self.state = State {
            reset_by: Some(keep_transaction),
            // What its transaction holds is dropped when that has ended.
            hidden: std::mem::take(&mut self.state.hidden),
            ..State::default()
        };
        self.activity.note_context_info(None);
        let home = self.instance.default_database(&self.login.database);
        self.move_to(&home)?;
        self.follow_database();
        self.activity.waits.clear();
        Ok(())
    }

    /// What the current database decides for a session that has not said otherwise.
    pub(crate) fn follow_database(&mut self) {
        self.followed = self.instance.databases.generation();
        let (level, bits) = self.instance.databases.language_of(&self.database);
        self.options.level = level;
        if !self.options.roundabort_said {
            let on = duramen_access::database_options::switch(bits, "NUMERIC_ROUNDABORT");
            self.options.numeric_roundabort = on == Some(true);
        }
    }

    /// The number by which clients know the open transaction.
    pub fn open_transaction(&self) -> Option<u64> {
        self.transaction.as_ref().map(|t| t.id)
    }

    pub(crate) fn begin_transaction(
        &mut self,
        name: &str,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        debug_assert!(
            self.transaction.as_ref().is_none_or(|t| t.nesting() > 0),
            "a session keeps a transaction that has ended"
        );
        match &self.transaction {
            Some(t) if t.is_doomed() => Err(SqlError::new(&messages::TRANSACTION_DOOMED, &[])),
            Some(t) => {
                t.enter();
                self.activity.note_transaction(Some(t));
                Ok(())
            }
            None => {
                let name = match name {
                    "" => Cow::Borrowed("user_transaction"),
                    _ => Cow::Owned(name.to_owned()),
                };
                let t = self.new_transaction(TxnKind::Explicit, name);
                debug_assert!(t.nesting() == 1, "a transaction begins with @@TRANCOUNT 1");
                debug_assert!(!t.is_doomed(), "a transaction begins doomed");
                sink.env_change(&EnvChange::BeginTran { descriptor: t.id });
                self.activity.note_transaction(Some(&t));
                self.transaction = Some(t);
                Ok(())
            }
        }
    }

    pub(crate) fn commit_transaction(
        &mut self,
        delayed: Option<bool>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let Some(t) = self.transaction.clone() else {
            return Err(SqlError::new(&messages::COMMIT_WITHOUT_BEGIN, &[]));
        };
        if t.is_doomed() {
            return Err(SqlError::new(&messages::TRANSACTION_DOOMED, &[]));
        }
        if self.state.insert_exec.is_some_and(|n| t.nesting() <= n) {
            return Err(SqlError::new(&messages::COMMIT_IN_INSERT_EXEC, &[]).with_state(0));
        }
        if !t.leave() {
            self.activity.note_transaction(Some(&t));
            return Ok(());
        }
        debug_assert!(t.nesting() == 0, "an inner COMMIT ends nothing");
        self.transaction = None;
        self.activity.note_transaction(None);
        let lsns = self.committed(&t, delayed)?;
        if let Some(mark) = t.mark().filter(|_| !lsns.parts.is_empty()) {
            // The mark is in the log: a history that cannot be written takes nothing from it.
            let user = &self.who.name;
            let _ = duramen_admin::history::marked(&self.instance, mark, user, &lsns.parts);
        }
        debug_assert!(
            !t.has_written(),
            "a transaction has committed and has parts"
        );
        debug_assert!(
            self.owner.draft(true) == 0,
            "a transaction has committed and its definitions have not"
        );
        sink.env_change(&EnvChange::CommitTran { descriptor: t.id });
        Ok(())
    }

    /// ROLLBACK to a savepoint, or of everything.
    pub(crate) fn rollback_transaction(
        &mut self,
        name: Option<&str>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let Some(t) = self.transaction.clone() else {
            return Err(SqlError::new(&messages::ROLLBACK_WITHOUT_BEGIN, &[]));
        };
        if self.state.insert_exec.is_some() {
            return Err(SqlError::new(&messages::ROLLBACK_IN_INSERT_EXEC, &[]).with_state(0));
        }
        if let Some(name) = name.filter(|n| *n != t.name) {
            let Some(point) = t.savepoint(name) else {
                return Err(SqlError::new(&messages::ROLLBACK_NAME_NOT_FOUND, &[&name]));
            };
            if t.is_doomed() {
                return Err(SqlError::new(&messages::TRANSACTION_DOOMED_SAVEPOINT, &[]));
            }
            let nesting = t.nesting();
            let result = self.instance.rollback(&t, Some(&point));
            debug_assert!(
                t.nesting() == nesting,
                "a rollback to a savepoint changes @@TRANCOUNT"
            );
            debug_assert!(
                self.transaction
                    .as_ref()
                    .is_none_or(|own| Arc::ptr_eq(own, &t)),
                "a rollback to a savepoint brings another transaction"
            );
            return result;
        }
        self.transaction = None;
        self.activity.note_transaction(None);
        self.instance.rollback(&t, None)?;
        debug_assert!(
            !t.has_written(),
            "a transaction was rolled back and has parts"
        );
        debug_assert!(
            self.owner.draft(true) == 0,
            "a transaction was rolled back and its definitions were not"
        );
        sink.env_change(&EnvChange::RollbackTran { descriptor: t.id });
        Ok(())
    }

    pub(crate) fn rollback_all(&mut self) -> SqlResult<()> {
        match self.transaction.take() {
            Some(t) => self.instance.rollback(&t, None),
            None => Ok(()),
        }
    }

    /// As [`Session::rollback_all`], and the client is told that its transaction is gone.
    pub(crate) fn rollback_and_report(&mut self, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let descriptor = self.transaction.as_ref().map(|t| t.id);
        self.activity.note_transaction(None);
        let result = self.rollback_all();
        if let Some(descriptor) = descriptor {
            sink.env_change(&EnvChange::RollbackTran { descriptor });
        }
        result
    }

    pub(crate) fn save_transaction(&mut self, name: &str) -> SqlResult<()> {
        let Some(t) = &self.core.transaction else {
            return Err(SqlError::new(&messages::SAVE_WITHOUT_TRANSACTION, &[]).with_state(0));
        };
        if name.chars().count() > 32 {
            return Err(SqlError::new(&messages::SAVEPOINT_NAME_TOO_LONG, &[&name]));
        }
        let (of, held) = &mut self.savepoints;
        if *of != t.id {
            *of = t.id;
            held.set(0);
        }
        held.grow((name.len() + SAVEPOINT_BYTES) as u64)?;
        duramen_txn::txlog::save(t, name, self.instance.locks.mark(&self.owner))?;
        debug_assert!(
            t.savepoint(name).is_some_and(|p| p.number() == t.points()),
            "a savepoint is not the last point of its transaction"
        );
        Ok(())
    }

    /// USE: changes the database and says so (5701).
    pub(crate) fn use_database(
        &mut self,
        name: &str,
        line: i32,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let found = self.instance.database_name(name);
        let found = found.ok_or_else(|| self.instance.databases.not_open(name))?;
        if !self.who.sysadmin
            && let Some(db) = self.instance.databases.find(&found)
        {
            self.may_enter(&db)?;
        }
        let old = self.move_to(&found)?;
        self.follow_database();
        sink.env_change(&EnvChange::Database {
            old: old.to_string(),
            new: found.clone(),
        });
        sink.info(&SqlError::new(&messages::CHANGED_DATABASE, &[&found]).at_line(line));
        Ok(())
    }
}

impl Session {
    fn is_granted_memory(&self) -> bool {
        let (_, granted) = self.instance.grants.all();
        granted.iter().any(|g| g.session == self.spid)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _owned = duramen_os::thread::own(self.activity.instance);
        let _viewing = duramen_txn::definitions::view_as(&self.owner);
        count(Counter::Logouts, 1);
        self.report_logout();
        if self.activity.is_dead() {
            // Whoever ended it has rolled back.
            self.transaction = None;
        }
        // A simulated process that has ended rolls nothing back: the threads that it would wait for are gone.
        if duramen_os::sim::ending() {
            return;
        }
        // A failed rollback keeps its locks; recovery will finish it.
        let undone = self.rollback_all();
        if let Err(e) = &undone {
            duramen_program::outcome::report_to_listeners(e);
        }
        self.end_uninterrupted();
        debug_assert!(
            self.transaction.is_none(),
            "a session ends and its transaction does not"
        );
        self.drop_temporaries(0);
        self.instance.locks.release_session(&self.owner);
        self.instance.app_locks.forget(self.owner.id());
        debug_assert!(
            self.owner.waiting_for().is_none(),
            "a session ends and waits for a lock"
        );
        debug_assert!(
            std::thread::panicking() || !self.is_granted_memory(),
            "a session ends and has memory that it was granted"
        );
        self.instance.session_ended(&self.activity);
    }
}
