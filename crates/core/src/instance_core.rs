//! The server without its ears: databases, sessions, locks, plans, settings. Whoever reports what happens in it is above
//! ([`crate::instance`]).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_access::stored::StoredTable;
use duramen_base::{DbId, SessionId, SqlError, SqlResult, messages};
use duramen_os::memory::{Clerk, Tally, out_of_memory};
use duramen_os::sync::Mutex;
use duramen_program::login::{Listener, LoginRequest};
use duramen_program::missing_indexes::MissingIndexes;
use duramen_program::plan_cache::PlanCache;
use duramen_query::host::{Parallelism, Source};
use duramen_query::spill::Workspace;
use duramen_tsql::ast;
use duramen_txn::versions::VersionStats;
use duramen_txn::{CommitLsns, LockManager, SavePoint, Transaction};

use crate::activity::{Activity, FIRST_USER_SESSION, SESSION_BYTES};
use crate::admission::Admission;
use crate::app_locks::AppLocks;
use crate::databases::{Databases, StorageConfig};
use crate::load::{Departed, Load};
use crate::memory_grants::Semaphore;
use crate::security::{Pictures, Who};
use crate::settings::{Settings, option};
use crate::trace_flags::TraceFlags;

/// Who a session works for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
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

#[derive(Clone, Debug)]
pub struct InstanceConfig {
    pub sa_password: String,
    pub server_name: String,
    pub storage: StorageConfig,
}

/// What a session shares with the others.
pub struct InstanceCore {
    /// The number by which threads and events know the instance.
    pub(crate) id: u64,
    pub config: InstanceConfig,
    pub locks: Arc<LockManager>,
    /// What the locks of sp_getapplock are called.
    pub app_locks: AppLocks,
    pub databases: Databases,
    sessions: Mutex<BTreeMap<SessionId, Arc<Activity>>>,
    /// Shared apart from the instance: a statement that was let in borrows it.
    pub admission: Arc<Admission>,
    /// Plans that all sessions share.
    pub plans: Arc<PlanCache>,
    /// Bytes of sessions, beside what each has asked for itself.
    connections: Tally,
    /// Indexes that plans would have been cheaper with.
    pub missing_indexes: MissingIndexes,
    /// The memory for rows that operators keep.
    pub workspace: Arc<Workspace>,
    /// Who is granted how much of it.
    pub grants: Arc<Semaphore>,
    /// sp_configure and RECONFIGURE.
    pub settings: Settings,
    /// Processors that queries are spread over.
    pub processors: AtomicUsize,
    /// [`duramen_query::host::Parallelism::sent_from`]
    pub sent_from: AtomicUsize,
    /// Where the edge listens, when there is one.
    listener: OnceLock<Listener>,
    /// How many requests wait for a worker there.
    work_queue: OnceLock<Box<dyn Fn() -> usize + Send + Sync>>,
    /// What sessions that have ended had done.
    pub departed: Mutex<Departed>,
    /// Catalogs as logins see them.
    pub pictures: Pictures,
    /// DBCC TRACEON with -1.
    pub trace: Arc<TraceFlags>,
}

impl InstanceCore {
    pub fn new(id: u64, config: InstanceConfig, databases: Databases) -> InstanceCore {
        let memory = databases.engine.memory.clone();
        let bytes = crate::startup::workspace_bytes(config.storage.memory);
        let workspace = Workspace::of(&memory, usize::try_from(bytes).unwrap_or(usize::MAX));
        InstanceCore {
            id,
            config,
            locks: databases.engine.locks.clone(),
            app_locks: AppLocks::default(),
            databases,
            sessions: Mutex::new(BTreeMap::new()),
            admission: Arc::new(Admission::new(duramen_os::machine::processors())),
            plans: PlanCache::new(&memory),
            connections: memory.tally(Clerk::Connections),
            missing_indexes: MissingIndexes::default(),
            grants: Semaphore::new(&workspace),
            workspace,
            settings: Settings::default(),
            processors: AtomicUsize::new(duramen_os::machine::processors()),
            sent_from: AtomicUsize::new(Parallelism::SENT_FROM),
            listener: OnceLock::new(),
            work_queue: OnceLock::new(),
            departed: Mutex::default(),
            pictures: Pictures::default(),
            trace: Arc::default(),
        }
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
    pub fn work_queue(&self) -> usize {
        self.work_queue.get().map_or(0, |length| length())
    }

    pub fn listener(&self) -> Option<Listener> {
        self.listener.get().copied()
    }

    /// Bytes that operators may keep rows in, from now on; with none everything is written to files.
    pub fn lend_rows(&self, bytes: usize) {
        self.workspace.set_limit(bytes);
    }

    /// Bytes that operators may keep rows in.
    pub fn lends_rows(&self) -> usize {
        self.workspace.limit()
    }

    /// The calling thread does this instance's work: what it counts, waits for and tells of is not another one's.
    pub fn own(&self) -> duramen_os::thread::Owned {
        duramen_os::thread::own(self.id)
    }

    pub fn server_name(&self) -> &str {
        &self.config.server_name
    }

    /// Whether sa has been given this password since the first start.
    pub fn is_password_of_sa(&self, password: &str) -> bool {
        let master = self.databases.master().ok();
        let snapshot = master.and_then(|m| m.catalog.snapshot().ok());
        let sa = snapshot.as_ref().and_then(|s| s.security.login("sa"));
        let hash = sa.and_then(|sa| sa.hash.as_ref());
        hash.is_some_and(|hash| crate::security::password::matches(password, hash))
    }

    /// Whether a session of that login is open.
    pub fn is_logged_in(&self, login: i32) -> bool {
        self.sessions.lock().values().any(|a| a.principal == login)
    }

    /// A client's session gets the lowest number from 51 on that is free, one of the server's own the highest below.
    pub fn admit(
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
        let clients = || sessions.range(SessionId(FIRST_USER_SESSION)..).count() as i64;
        if most > 0 && whose == Whose::Client && !request.admin && clients() >= most {
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
        let activity = Arc::new(Activity::new(self.locks.owner(spid), request, who, self.id));
        sessions.insert(spid, activity.clone());
        self.connections.add(SESSION_BYTES);
        Ok(activity)
    }

    pub fn session_ended(&self, activity: &Activity) {
        let mut sessions = self.sessions.lock();
        if sessions.remove(&activity.spid).is_some() {
            self.connections.sub(SESSION_BYTES);
        }
        let load = Load::of(activity);
        let admin = activity.login.admin;
        self.departed.lock().add(activity.spid, admin, &load);
    }

    pub fn sessions(&self) -> Vec<Arc<Activity>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Plans are valid while this number stays; `temporary` for those that name something of tempdb.
    pub fn schema_version(&self, temporary: bool) -> u64 {
        self.databases.version(temporary)
    }

    /// 7202 for a batch with a name on another server: there are no linked servers. The server's own name is no other.
    pub fn knows_servers(&self, batch: &ast::Batch) -> SqlResult<()> {
        let mut servers = batch.servers.iter();
        servers.try_for_each(|(name, line)| self.is_own(name, *line))
    }

    /// The same for one name.
    pub fn knows_server(&self, name: &ast::ObjectName) -> SqlResult<()> {
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
    pub fn database_name(&self, name: &str) -> Option<String> {
        self.databases.find(name).map(|d| d.db.name.clone())
    }

    pub fn database_id(&self, name: &str) -> Option<DbId> {
        let open = self.databases.find(name).map(|d| d.db.id);
        open.or_else(|| Some(self.databases.find_unavailable(name)?.entry.id))
    }

    pub fn database_name_of(&self, id: i64) -> Option<String> {
        let id = u16::try_from(id).ok()?;
        self.databases.get(DbId(id)).map(|d| d.db.name.clone())
    }

    pub fn default_database(&self, wanted: &str) -> String {
        self.database_name(wanted)
            .unwrap_or_else(|| "master".to_owned())
    }

    /// A table that is stored in a database.
    pub fn table(&self, database: &str, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
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
    pub fn rollback(&self, t: &Transaction, point: Option<&SavePoint>) -> SqlResult<()> {
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

    /// What the version store holds.
    pub fn version_stats(&self) -> VersionStats {
        self.databases.engine.versions.stats()
    }
}

impl InstanceCore {
    /// How many threads a statement may use where no database says otherwise.
    pub fn parallelism(&self) -> Parallelism {
        let setting = |id| self.settings.holding(id);
        Parallelism {
            max_degree: u64::try_from(setting(option::MAX_PARALLELISM)).unwrap_or(0),
            threshold: setting(option::COST_THRESHOLD) as f64,
            processors: self.processors.load(Ordering::Relaxed),
            sent_from: self.sent_from.load(Ordering::Relaxed) as f64,
        }
    }

    /// How many processors queries are to be spread over, in place of the machine's.
    pub fn use_processors(&self, n: usize) {
        self.processors.store(n.max(1), Ordering::Relaxed);
    }

    /// From how many groups, or rows of a join's kept side, on rows change threads where that pays at all.
    pub fn send_rows_from(&self, n: usize) {
        self.sent_from.store(n, Ordering::Relaxed);
    }
}
