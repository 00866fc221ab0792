//! The server as a whole: databases, sessions, locks. One value; everything a session shares hangs from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use duramen_base::{DbId, SessionId, SqlError, SqlResult, messages};
use duramen_observe::{Counter, CpuMark, count};
use duramen_os::Env;
use duramen_os::memory::{Clerk, Tally, out_of_memory};
use duramen_os::sync::Mutex;
use duramen_os::time::{self};
use duramen_query::host::{Parallelism, Source};
use duramen_query::spill::Workspace;
use duramen_tsql::ast;
use duramen_txn::{CommitLsns, LockManager, SavePoint, Transaction};

use crate::activity::{Activity, FIRST_USER_SESSION, SESSION_BYTES};
use crate::admission::Admission;
use crate::app_locks::AppLocks;
use crate::context::SystemColumns;
use crate::databases::{Databases, StorageConfig};
use crate::error_log::{Echo, ErrorLog};
use crate::event_classes::{Column, class};
use crate::load::{Departed, Load};
use crate::login::Listener;
use crate::login::LoginRequest;
use crate::plan_cache::PlanCache;
use crate::security::Who;
use crate::session::Session;
use crate::settings::{Settings, option};
use crate::startup::Later;
use crate::stored::StoredTable;
use crate::trace::{DefaultTrace, TraceRow};
use crate::xe::Xe;

/// Who a session works for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Client,
    Server,
}

/// The dedicated administrator connection is one, and a sysadmin's.
fn may_administer(who: &Who, sessions: &BTreeMap<SessionId, Arc<Activity>>) -> SqlResult<()> {
    if !who.sysadmin {
        let args: [&dyn std::fmt::Display; 3] = [&who.name, &"", &""];
        return Err(SqlError::new(&messages::LOGIN_FAILED, &args));
    }
    match sessions.values().any(|a| a.login.admin && !a.is_dead()) {
        true => Err(SqlError::new(&messages::ADMIN_CONNECTION_TAKEN, &[&1, &""])),
        false => Ok(()),
    }
}

/// Ends the server; true: at once, without checkpoints.
pub type StopServer = Box<dyn Fn(bool) + Send + Sync>;

#[derive(Clone, Debug)]
pub struct InstanceConfig {
    pub sa_password: String,
    pub server_name: String,
    pub storage: StorageConfig,
}

pub struct Instance {
    config: InstanceConfig,
    pub(crate) locks: Arc<LockManager>,
    /// What the locks of sp_getapplock are called.
    pub(crate) app_locks: AppLocks,
    pub databases: Databases,
    sessions: Mutex<BTreeMap<SessionId, Arc<Activity>>>,
    /// Shared apart from the instance: a statement that was let in borrows it.
    pub(crate) admission: Arc<Admission>,
    /// Plans that all sessions share.
    pub(crate) plans: Arc<PlanCache>,
    /// Bytes of sessions, beside what each has asked for itself.
    connections: Tally,
    /// Indexes that plans would have been cheaper with.
    pub(crate) missing_indexes: crate::missing_indexes::MissingIndexes,
    /// The columns of the system's views that are T-SQL texts: bound once, when somebody first asks for them.
    pub(crate) system_columns: SystemColumns,
    /// The memory for rows that operators keep.
    pub(crate) workspace: Arc<Workspace>,
    /// Who is granted how much of it.
    pub(crate) grants: Arc<crate::memory_grants::Semaphore>,
    /// sp_configure and RECONFIGURE.
    pub(crate) settings: Settings,
    /// Processors that queries are spread over.
    pub(crate) processors: AtomicUsize,
    /// [`duramen_query::host::Parallelism::sent_from`]
    pub(crate) sent_from: AtomicUsize,
    /// Where the edge listens, when there is one.
    listener: OnceLock<Listener>,
    /// How many requests wait for a worker there.
    work_queue: OnceLock<Box<dyn Fn() -> usize + Send + Sync>>,
    /// What sessions that have ended had done.
    pub(crate) departed: Mutex<Departed>,
    /// What SHUTDOWN calls.
    pub(crate) stop: OnceLock<StopServer>,
    /// Event sessions.
    pub(crate) xe: Arc<Xe>,
    pub error_log: Arc<ErrorLog>,
    /// Somebody writes `msdb.dbo.suspect_pages`.
    pub(crate) writing_suspects: AtomicBool,
    /// Catalogs as logins see them.
    pub(crate) pictures: crate::security::Pictures,
    /// DBCC TRACEON with -1.
    pub(crate) trace: Arc<crate::trace_flags::TraceFlags>,
}

impl Instance {
    /// Opens every database, with recovery where it is due; a first start makes the system databases.
    pub fn start(env: &Env, config: InstanceConfig) -> SqlResult<Arc<Instance>> {
        let (instance, later) = Instance::begin(env, config, None)?;
        let owned = instance.own();
        instance.databases.open_later(later);
        drop(owned);
        Ok(instance)
    }

    /// The same, but returns when the system databases are open; the others are RECOVERING until they are
    /// ([`Databases::wait_until_open`]). Lines of the error log go to `echo`, too.
    pub fn start_early(env: &Env, config: InstanceConfig, echo: Echo) -> SqlResult<Arc<Instance>> {
        let (instance, later) = Instance::begin(env, config, Some(echo))?;
        // Whoever comes first has it: the thread, or where none can be started, the caller.
        let later = Arc::new(Mutex::new(Some(later)));
        let open = {
            let (instance, later) = (instance.clone(), later.clone());
            move || {
                let later = later.lock().take();
                if let Some(later) = later {
                    let _owned = instance.own();
                    instance.databases.open_later(later);
                }
            }
        };
        if duramen_os::thread::try_spawn("recovery", open.clone()).is_err() {
            open();
        }
        Ok(instance)
    }

    fn begin(
        env: &Env,
        config: InstanceConfig,
        echo: Option<Echo>,
    ) -> SqlResult<(Arc<Instance>, Later)> {
        let id = crate::xe::next_instance();
        let _owned = duramen_os::thread::own(id);
        // The error log's files move up at a start: that is writing, too.
        crate::startup::refuse_newer_directory(env, &config.storage.data_dir)?;
        let error_log = ErrorLog::start(env, &config.storage, echo);
        let told = error_log.clone();
        let notice = Arc::new(move |text: &str| told.server(text));
        let workspace = crate::startup::workspace_bytes(config.storage.memory);
        let (databases, later) = Databases::start(env, config.storage.clone(), Some(notice))?;
        let locks = databases.engine.locks.clone();
        let memory = &databases.engine.memory.clone();
        let folders = databases.event_folders();
        let xe = Xe::new(
            id,
            &config.server_name,
            &databases.open,
            folders,
            &error_log,
            memory,
        );
        let trace = Arc::new(crate::trace_flags::TraceFlags::default());
        error_log.attach(&xe, &trace);
        let workspace = usize::try_from(workspace).unwrap_or(usize::MAX);
        let workspace = Workspace::of(memory, workspace);
        let instance = Arc::new(Instance {
            config,
            locks,
            databases,
            sessions: Mutex::new(BTreeMap::new()),
            admission: Arc::new(Admission::new(duramen_os::machine::processors())),
            plans: PlanCache::new(memory),
            connections: memory.tally(Clerk::Connections),
            missing_indexes: Default::default(),
            system_columns: SystemColumns::default(),
            grants: crate::memory_grants::Semaphore::new(&workspace),
            workspace,
            settings: Settings::default(),
            processors: AtomicUsize::new(duramen_os::machine::processors()),
            sent_from: AtomicUsize::new(Parallelism::SENT_FROM),
            listener: OnceLock::new(),
            work_queue: OnceLock::new(),
            departed: Mutex::default(),
            stop: OnceLock::new(),
            xe,
            error_log,
            writing_suspects: AtomicBool::new(false),
            app_locks: AppLocks::default(),
            pictures: Default::default(),
            trace,
        });
        let weak = Arc::downgrade(&instance);
        instance.locks.set_on_deadlock(Box::new(move |report| {
            if let Some(instance) = weak.upgrade() {
                let databases = instance.xe.databases();
                crate::xe::deadlock::tell(report, databases, || instance.sessions());
            }
        }));
        let weak = Arc::downgrade(&instance);
        instance.locks.set_on_blocked(Box::new(move |report| {
            if let Some(instance) = weak.upgrade() {
                let databases = instance.xe.databases();
                crate::xe::blocked::tell(report, databases, || instance.sessions());
            }
        }));
        instance.restart_what_is_shut_down();
        instance.start_settings()?;
        instance.start_event_sessions()?;
        // Without an msdb that can be written there is no history, and everything else.
        let _ = crate::history::prepare(&instance);
        let _ = crate::suspect_pages::prepare(&instance);
        Ok((instance, later))
    }

    /// The calling thread does this instance's work: what it counts, waits for and tells of is not another one's.
    pub fn own(&self) -> duramen_os::thread::Owned {
        duramen_os::thread::own(self.xe.instance)
    }

    /// Clients connect here from now on; the first call counts.
    pub fn listens_at(&self, address: SocketAddr) {
        let since = duramen_os::time::wall();
        let _ = self.listener.set(Listener { address, since });
    }

    /// The edge says how many requests wait for a worker, whenever it is asked.
    pub fn set_work_queue(&self, length: impl Fn() -> usize + Send + Sync + 'static) {
        let _ = self.work_queue.set(Box::new(length));
    }

    /// Requests that wait for a worker.
    pub(crate) fn work_queue(&self) -> usize {
        self.work_queue.get().map_or(0, |length| length())
    }

    pub(crate) fn listener(&self) -> Option<Listener> {
        self.listener.get().copied()
    }

    /// SHUTDOWN calls this, with whether it is to go without checkpoints; without it the statement is refused.
    pub fn stops_by(&self, stop: StopServer) {
        // Whoever was first runs the server.
        let _ = self.stop.set(stop);
    }

    /// Checkpoints and closes every database.
    pub fn shutdown(&self) -> SqlResult<()> {
        let _owned = self.own();
        self.plans.clear();
        self.tell_server(1);
        self.xe.shutdown();
        let closed = self.databases.shutdown();
        self.error_log.flush();
        closed
    }

    /// Bytes that operators may keep rows in, from now on; with none everything is written to files.
    pub fn lend_rows(&self, bytes: usize) {
        self.workspace.set_limit(bytes);
    }

    /// Bytes that operators may keep rows in.
    pub fn lends_rows(&self) -> usize {
        self.workspace.limit()
    }

    /// The default trace, while it is enabled.
    pub(crate) fn default_trace(&self) -> Option<Arc<DefaultTrace>> {
        self.xe.trace()
    }

    /// Writes what the default trace has.
    pub(crate) fn flush_trace(&self) {
        self.xe.flush_trace();
    }

    /// Audit Server Starts And Stops: 1 stops, 2 starts.
    pub(crate) fn tell_server(&self, subclass: i64) {
        if let Some(trace) = self.default_trace() {
            let class = class::SERVER_STARTS_AND_STOPS;
            let row = TraceRow::new(class, duramen_os::time::wall()).by(None);
            trace.tell(row.int(Column::EventSubClass, subclass));
        }
    }

    /// Audit Login Failed.
    fn tell_refused(&self, request: &LoginRequest, error: &SqlError) {
        if let Some(trace) = self.default_trace() {
            let text = format!("{} [CLIENT: {}]", error.message, request.client_address);
            let row = TraceRow::new(class::LOGIN_FAILED, duramen_os::time::wall())
                .text(Column::TextData, &text)
                .text(Column::LoginName, &request.user)
                .text(Column::SessionLoginName, &request.user)
                .text(Column::HostName, &request.host)
                .text(Column::ApplicationName, &request.app)
                .int(Column::Error, i64::from(error.number))
                .int(Column::State, i64::from(error.state))
                .int(Column::EventSubClass, 1)
                .int(Column::Success, 0);
            trace.tell(row);
        }
    }

    pub fn server_name(&self) -> &str {
        &self.config.server_name
    }

    /// Opens a session: 18456 for a wrong name or password, 18470 for a disabled login, 4060 or 4064 for a database
    /// that is not there or not open to it. All have state 1 here, as clients see them.
    pub fn login(self: &Arc<Instance>, request: &LoginRequest) -> SqlResult<Session> {
        let _owned = self.own();
        let mark = CpuMark::request(time::now());
        let session = self.let_in(request);
        match &session {
            Ok(session) => {
                session.activity.note_login(mark.spent(time::now()).cpu);
                session.tell_login();
            }
            Err((error, why)) => {
                crate::exceptions::note_refused(request, error, why.0);
                self.tell_refused(request, error);
                self.error_log.login_failed(request, error, why);
            }
        }
        session.map_err(|(error, _)| error)
    }

    /// Whether sa has been given this password since the first start.
    pub fn is_password_of_sa(&self, password: &str) -> bool {
        let master = self.databases.master().ok();
        let snapshot = master.and_then(|m| m.catalog.snapshot().ok());
        let sa = snapshot.as_ref().and_then(|s| s.security.login("sa"));
        let hash = sa.and_then(|sa| sa.hash.as_ref());
        hash.is_some_and(|hash| crate::security::password::matches(password, hash))
    }

    /// A session, or why there is none: the error, the state of it that only the error log tells, and the reason in words.
    fn let_in(
        self: &Arc<Instance>,
        request: &LoginRequest,
    ) -> Result<Session, (SqlError, (u8, String))> {
        let other = |e: SqlError| {
            let why = (e.state, e.message.clone());
            (e, why)
        };
        let master = self.databases.master().map_err(other)?;
        let version = master.catalog.version();
        let snapshot = master.catalog.snapshot().map_err(other)?;
        let found = snapshot.security.login(&request.user);
        let right = found.is_some_and(|l| match &l.hash {
            Some(hash) => crate::security::password::matches(&request.password, hash),
            // The password of the first start.
            None => same_secret(
                request.password.as_bytes(),
                self.config.sa_password.as_bytes(),
            ),
        });
        let Some(known) = found.filter(|_| right) else {
            let args: [&dyn std::fmt::Display; 3] = [&request.user, &"", &""];
            let why = match found {
                Some(_) => (8, "Password did not match that for the login provided."),
                None => (5, "Could not find a login matching the name provided."),
            };
            let error = SqlError::new(&messages::LOGIN_FAILED, &args);
            return Err((error, (why.0, why.1.to_owned())));
        };
        if known.disabled {
            let args: [&dyn std::fmt::Display; 2] = [&request.user, &""];
            let error = SqlError::new(&messages::LOGIN_DISABLED, &args);
            return Err((error, (1, String::new())));
        }
        let who = Arc::new(Who::of(known, &snapshot.security, version));
        if !who.connects(&snapshot.security) {
            let args: [&dyn std::fmt::Display; 3] = [&request.user, &"", &""];
            let why = "Login-based server access validation failed with an infrastructure error. Login lacks Connect SQL permission.";
            let error = SqlError::new(&messages::LOGIN_FAILED, &args);
            return Err((error, (149, why.to_owned())));
        }
        let (wanted, own) = match request.database.as_str() {
            "" => (known.database.as_str(), true),
            wanted => (wanted, false),
        };
        let refused = || match own {
            true => {
                let why = format!(
                    "Failed to open the database '{wanted}' specified in the login properties."
                );
                let error = SqlError::new(&messages::CANNOT_OPEN_DEFAULT_DATABASE, &[]);
                (error, (40, why))
            }
            false => {
                let why = format!("Failed to open the explicitly specified database '{wanted}'.");
                let error = SqlError::new(&messages::CANNOT_OPEN_DATABASE_LOGIN, &[&wanted]);
                (error, (38, why))
            }
        };
        let database = self.database_name(wanted).ok_or_else(refused)?;
        let language = known.language.clone();
        let activity = self.admit(request, &who, Whose::Client).map_err(other)?;
        let mut login = request.clone();
        login.password.clear();
        login.database = database;
        login.user.clone_from(&who.name);
        let mut session = Session::new(self.clone(), activity, login, who).map_err(other)?;
        count(Counter::Logins, 1);
        let db = self.databases.find(&session.database);
        if let Some(db) = db
            && session.may_enter(&db).is_err()
        {
            return Err(refused());
        }
        // What the client asks for goes before what the login has; an unknown language is as none.
        session.home_language =
            match crate::options::Options::default().set_language(&request.language) {
                true => request.language.clone(),
                false => language,
            };
        session.options = session.options_at_login();
        session.follow_database();
        Ok(session)
    }

    /// Whether a session of that login is open.
    pub(crate) fn is_logged_in(&self, login: i32) -> bool {
        self.sessions.lock().values().any(|a| a.principal == login)
    }

    /// A client's session gets the lowest number from 51 on that is free, one of the server's own the highest below.
    pub(crate) fn admit(
        &self,
        request: &LoginRequest,
        who: &Who,
        whose: Whose,
    ) -> SqlResult<Arc<Activity>> {
        let mut sessions = self.sessions.lock();
        if request.admin {
            may_administer(who, &sessions)?;
        }
        let most = self.settings.holding(option::USER_CONNECTIONS);
        let clients = sessions.range(SessionId(FIRST_USER_SESSION)..).count();
        if most > 0 && clients as i64 >= most && !request.admin && whose == Whose::Client {
            return Err(SqlError::new(
                &messages::TOO_MANY_CONNECTIONS,
                &[&most, &""],
            ));
        }
        // What else the process has does not count: a session is small, and may be there to end another.
        let most = self.databases.engine.memory.most(Clerk::Connections);
        if !request.admin && self.connections.bytes() + SESSION_BYTES > most {
            return Err(out_of_memory());
        }
        // Threads have numbers below as well, from the first on. Where none is left, the server is as any client.
        let threads = match whose {
            Whose::Client => Vec::new(),
            Whose::Server => duramen_observe::background_tasks(),
        };
        let own = (1..FIRST_USER_SESSION).rev().map(SessionId);
        let own =
            own.filter(|id| whose == Whose::Server && !threads.iter().any(|t| t.session == *id));
        let mut numbers = own.chain((FIRST_USER_SESSION..=32767).map(SessionId));
        let spid = numbers.find(|id| !sessions.contains_key(id));
        let spid =
            spid.ok_or_else(|| SqlError::new(&messages::TOO_MANY_CONNECTIONS, &[&32767, &""]))?;
        let activity = Arc::new(Activity::new(
            self.locks.owner(spid),
            request,
            who,
            self.xe.instance,
        ));
        sessions.insert(spid, activity.clone());
        self.connections.add(SESSION_BYTES);
        Ok(activity)
    }

    pub(crate) fn session_ended(&self, activity: &Activity) {
        let mut sessions = self.sessions.lock();
        if sessions.remove(&activity.spid).is_some() {
            self.connections.sub(SESSION_BYTES);
        }
        let load = Load::of(activity);
        let admin = activity.login.admin;
        self.departed.lock().add(activity.spid, admin, &load);
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Activity>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Plans are valid while this number stays; `temporary` for those that name something of tempdb.
    pub(crate) fn schema_version(&self, temporary: bool) -> u64 {
        self.databases.version(temporary)
    }

    /// 7202 for a batch with a name on another server: there are no linked servers. The server's own name is no other.
    pub(crate) fn knows_servers(&self, batch: &ast::Batch) -> SqlResult<()> {
        let mut servers = batch.servers.iter();
        servers.try_for_each(|(name, line)| self.is_own(name, *line))
    }

    /// The same for one name.
    pub(crate) fn knows_server(&self, name: &ast::ObjectName) -> SqlResult<()> {
        match name.server() {
            None | Some("") => Ok(()),
            Some(server) => self.is_own(server, name.line),
        }
    }

    fn is_own(&self, server: &str, line: u32) -> SqlResult<()> {
        if server.eq_ignore_ascii_case(self.server_name()) {
            return Ok(());
        }
        let error = SqlError::new(&messages::SERVER_NOT_FOUND, &[&server]);
        Err(error.with_state(2).at_line(line as i32))
    }

    /// The name of a database as it was created, whatever the case it is asked in.
    pub(crate) fn database_name(&self, name: &str) -> Option<String> {
        self.databases.find(name).map(|d| d.db.name.clone())
    }

    pub(crate) fn database_id(&self, name: &str) -> Option<DbId> {
        let open = self.databases.find(name).map(|d| d.db.id);
        open.or_else(|| Some(self.databases.find_unavailable(name)?.entry.id))
    }

    pub(crate) fn database_name_of(&self, id: i64) -> Option<String> {
        let id = u16::try_from(id).ok()?;
        self.databases.get(DbId(id)).map(|d| d.db.name.clone())
    }

    pub(crate) fn default_database(&self, wanted: &str) -> String {
        self.database_name(wanted)
            .unwrap_or_else(|| "master".to_owned())
    }

    /// A table that is stored in a database.
    pub(crate) fn table(
        &self,
        database: &str,
        name: &ast::ObjectName,
    ) -> SqlResult<Option<Source>> {
        let Some(db) = self.databases.find(name.database().unwrap_or(database)) else {
            return Ok(None);
        };
        let snapshot = db.catalog.snapshot()?;
        let Some(schema) = snapshot.schema(name.schema().unwrap_or("dbo")) else {
            return Ok(None);
        };
        let Some(table) = snapshot.find_table(schema.id, name.name()) else {
            return Ok(None);
        };
        Ok(Some(Source::Table(Arc::new(StoredTable::new(
            db.clone(),
            table.clone(),
        )))))
    }

    pub(crate) fn commit(&self, t: &Transaction, delayed: Option<bool>) -> SqlResult<CommitLsns> {
        self.databases.engine.commit(t, delayed)
    }

    /// Undoes back to `point`, or everything and gives the locks back. What the catalogs remember may be undone too:
    /// they forget it before others get at the tables.
    ///
    /// The session whose thread this is, is shown as one that rolls back.
    pub(crate) fn rollback(&self, t: &Transaction, point: Option<&SavePoint>) -> SqlResult<()> {
        let activity = crate::origin::current();
        let _rolling = activity.as_ref().map(|a| a.roll_back(t));
        self.rolled_back(t, point)
    }

    pub(crate) fn rolled_back(&self, t: &Transaction, point: Option<&SavePoint>) -> SqlResult<()> {
        let written = match t.has_defined() {
            true => t.ids(),
            false => Vec::new(),
        };
        let forget = || {
            for d in written.iter().filter_map(|(id, _)| self.databases.get(*id)) {
                d.catalog.invalidate();
                d.catalog.undone(t, point);
            }
        };
        self.databases.engine.rollback_then(t, point, forget)
    }
}

/// Compares without telling by its time where the difference is.
fn same_secret(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}
