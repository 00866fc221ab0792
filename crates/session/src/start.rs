//! The server's start, from the first file to the first session, and logins.

use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::databases::Databases;
use duramen_core::instance_core::{InstanceConfig, InstanceCore, Whose};
use duramen_core::security::Who;
use duramen_core::startup::Later;
use duramen_events::error_log::{Echo, ErrorLog};
use duramen_events::instance::Instance;
use duramen_events::xe::Xe;
use duramen_observe::{Counter, CpuMark, count};
use duramen_os::sync::Mutex;
use duramen_os::{Env, time};
use duramen_program::login::LoginRequest;
use duramen_program::sink::ResultSink;

use crate::session::Session;

/// Opens every database, with recovery where it is due; a first start makes the system databases.
pub fn start(env: &Env, config: InstanceConfig) -> SqlResult<Arc<Instance>> {
    let (instance, later) = begin(env, config, None)?;
    let owned = instance.own();
    instance.databases.open_later(later);
    drop(owned);
    Ok(instance)
}

/// The same, but returns when the system databases are open; the others are RECOVERING until they are
/// ([`Databases::wait_until_open`]). Lines of the error log go to `echo`, too.
pub fn start_early(env: &Env, config: InstanceConfig, echo: Echo) -> SqlResult<Arc<Instance>> {
    let (instance, later) = begin(env, config, Some(echo))?;
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
    let id = duramen_events::xe::next_instance();
    let _owned = duramen_os::thread::own(id);
    // The error log's files move up at a start: that is writing, too.
    duramen_core::startup::refuse_newer_directory(env, &config.storage.data_dir)?;
    let error_log = ErrorLog::start(env, &config.storage, echo);
    let log = error_log.clone();
    let notice = Arc::new(move |text: &str| log.server(text));
    let (databases, later) = Databases::start(env, config.storage.clone(), Some(notice))?;
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
    let core = Arc::new(InstanceCore::new(id, config, databases));
    error_log.attach(&xe, &core.trace);
    let instance = Instance::new(core, xe, error_log, run_as_server);
    let weak = Arc::downgrade(&instance);
    instance.locks.set_on_deadlock(Box::new(move |report| {
        if let Some(instance) = weak.upgrade() {
            let databases = instance.xe.databases();
            duramen_events::xe::deadlock::report(report, databases, || instance.sessions());
        }
    }));
    let weak = Arc::downgrade(&instance);
    instance.locks.set_on_blocked(Box::new(move |report| {
        if let Some(instance) = weak.upgrade() {
            let databases = instance.xe.databases();
            duramen_events::xe::blocked::report(report, databases, || instance.sessions());
        }
    }));
    instance.core.restart_what_is_shut_down();
    instance.start_settings()?;
    instance.start_event_sessions()?;
    // Without an msdb that can be written there is no history, and everything else.
    let _ = duramen_admin::history::prepare(&instance);
    let _ = duramen_admin::suspect_pages::prepare(&instance);
    Ok((instance, later))
}

/// Opens a session: 18456 for a wrong name or password, 18470 for a disabled login, 4060 or 4064 for a database
/// that is not there or not open to it. All have state 1 here, as clients see them.
pub fn login(instance: &Arc<Instance>, request: &LoginRequest) -> SqlResult<Session> {
    let _owned = instance.own();
    let mark = CpuMark::request(time::now());
    let session = let_in(instance, request);
    match &session {
        Ok(session) => {
            session.activity.note_login(mark.spent(time::now()).cpu);
            session.report_login();
        }
        Err((error, why)) => {
            duramen_program::exceptions::note_refused(request, error, why.0);
            instance.audit_refused(request, error);
            instance.error_log.login_failed(request, error, why);
        }
    }
    session.map_err(|(error, _)| error)
}

/// A session, or why there is none: the error, the state of it that only the error log tells, and the reason in words.
fn let_in(
    instance: &Arc<Instance>,
    request: &LoginRequest,
) -> Result<Session, (SqlError, (u8, String))> {
    let other = |e: SqlError| {
        let why = (e.state, e.message.clone());
        (e, why)
    };
    let master = instance.databases.master().map_err(other)?;
    let version = master.catalog.version();
    let snapshot = master.catalog.snapshot().map_err(other)?;
    let found = snapshot.security.login(&request.user);
    let right = found.is_some_and(|l| match &l.hash {
        Some(hash) => duramen_core::security::password::matches(&request.password, hash),
        // The password of the first start.
        None => same_secret(
            request.password.as_bytes(),
            instance.config.sa_password.as_bytes(),
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
    let database = instance.database_name(wanted).ok_or_else(refused)?;
    let language = known.language.clone();
    let activity = instance
        .admit(request, &who, Whose::Client)
        .map_err(other)?;
    let mut login = request.clone();
    login.password.clear();
    login.database = database;
    login.user.clone_from(&who.name);
    let mut session = Session::new(instance.clone(), activity, login, who).map_err(other)?;
    count(Counter::Logins, 1);
    let db = instance.databases.find(&session.database);
    if let Some(db) = db
        && session.may_enter(&db).is_err()
    {
        return Err(refused());
    }
    // What the client asks for goes before what the login has; an unknown language is as none.
    session.home_language =
        match duramen_program::options::Options::default().set_language(&request.language) {
            true => request.language.clone(),
            false => language,
        };
    session.options = session.options_at_login();
    session.follow_database();
    Ok(session)
}

/// A session of the server's own, with the rights of sa.
fn own_session(instance: &Arc<Instance>, database: &str) -> SqlResult<Session> {
    let master = instance.databases.master()?;
    let version = master.catalog.version();
    let snapshot = master.catalog.snapshot()?;
    let Some(sa) = snapshot.security.login("sa") else {
        return Err(SqlError::new(&messages::LOGIN_FAILED, &[&"sa", &"", &""]));
    };
    let who = Arc::new(Who::of(sa, &snapshot.security, version));
    let login = LoginRequest {
        user: who.name.clone(),
        database: database.to_owned(),
        app: "Duramen".to_owned(),
        ..LoginRequest::default()
    };
    let activity = instance.admit(&login, &who, Whose::Server)?;
    // Its end counts a logout.
    count(Counter::Logins, 1);
    Session::new(instance.clone(), activity, login, who)
}

fn run_as_server(
    instance: &Arc<Instance>,
    database: &str,
    sql: &str,
    sink: &mut dyn ResultSink,
) -> SqlResult<()> {
    let mut session = own_session(instance, database)?;
    session.execute_batch(sql, sink, &CancelToken::default());
    Ok(())
}

/// Compares without telling by its time where the difference is.
fn same_secret(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}
