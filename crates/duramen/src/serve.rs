//! `duramen serve`: from flags to a running server and back.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duramen_core::databases::StorageConfig;
use duramen_core::instance_core::InstanceConfig;
use duramen_core::places::FilesConfig;
use duramen_events::error_log::ErrorLog;
use duramen_lab::dashboard::Dashboard;
use duramen_os::{DiskFile, Env, OpenOptions, machine, random, thread};
use duramen_server::{Credential, CredentialError, EngineBackend, Server, ServerConfig, TlsSetup};

use crate::console::say;
use crate::options::{self, Options, Parsed};

/// Extents that a file gives in its turn with -E.
const EXTENTS_IN_TURN: u32 = 64;
/// How long the reply to SHUTDOWN has to leave.
const REPLY_TIME: Duration = Duration::from_millis(250);

/// Runs until SIGTERM, SIGINT or SHUTDOWN; the exit code.
pub fn run(args: &[String]) -> u8 {
    let password = std::env::var("MSSQL_SA_PASSWORD").ok();
    let options = match options::parse(args, password) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Help) => {
            print!("{}", options::HELP);
            return 0;
        }
        Err(message) => {
            eprintln!("duramen: {message}");
            return 2;
        }
    };
    match serve(&options) {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("duramen: {message}");
            1
        }
    }
}

fn serve(options: &Options) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let env = Env::real();
    // Where the kernel refuses, as many clients come in as it allows.
    let _ = machine::raise_open_files();
    let dir = &options.data_dir;
    duramen_core::startup::refuse_newer_directory(&env, dir).map_err(|e| text(&e))?;
    duramen_os::keep_back(options.keep_free);
    env.disk
        .create_dir_all(dir)
        .map_err(|e| format!("{}: {e}", dir.display()))?;
    let _exclusive = exclusive(&env, dir)?;
    let given = options.sa_password.as_deref();
    let (opened, differs) = match Credential::open(&env, dir, given) {
        Err(CredentialError::Differs) => (Credential::open(&env, dir, None), true),
        opened => (opened, false),
    };
    let (credential, made) = opened.map_err(|e| text(&e))?;
    let tls = match (&options.tls_cert, &options.tls_key) {
        (Some(cert), Some(key)) => TlsSetup::load(&env, cert, key),
        _ => TlsSetup::load_or_create(&env, dir),
    };
    let tls = tls.map_err(|e| text(&e))?;
    let certificate = tls.certificate_path.clone();
    protect(dir);

    // Between the edge, which checks passwords, and the instance.
    let token = hex(random::guid()) + &hex(random::guid());
    let config = InstanceConfig {
        sa_password: token.clone(),
        server_name: server_name(),
        storage: storage(&env, options),
    };
    let instance =
        duramen_session::start_early(&env, config, Arc::new(say)).map_err(|e| text(&e))?;
    // It may have been changed since the first start: who says what it is now is right.
    if differs && !given.is_some_and(|password| instance.is_password_of_sa(password)) {
        return Err(text(&CredentialError::Differs));
    }
    instance.watch_process();
    let log = Arc::clone(&instance.error_log);
    if options.large_extents {
        instance
            .databases
            .engine
            .set_extents_in_turn(EXTENTS_IN_TURN);
    }
    duramen_inspect::dbcc::trace_on(&instance, &options.trace_flags).map_err(|e| e.message)?;
    let gate = Arc::clone(&instance.databases.gate);
    let backend = EngineBackend::new(Arc::clone(&instance), gate, credential, token);
    let mut config = ServerConfig::new(options.listen);
    config.admin = options.admin_address();
    config.tls = Some(tls);
    config.force_encryption = options.force_encryption;
    config.handle_signals = true;
    let server = Server::start(Arc::new(backend), config).map_err(|e| text(&e))?;
    let stop = Arc::new(server.stopper());
    instance.stops_by(Box::new(move |at_once| {
        if at_once {
            std::process::exit(0);
        }
        let stop = Arc::clone(&stop);
        let later = move || {
            thread::sleep(REPLY_TIME);
            stop();
        };
        // Who asked is told before its connection ends; where no thread can be had, it is not.
        if thread::try_spawn("shutdown", later.clone()).is_err() {
            later();
        }
    }));
    let address = server.address();
    instance.listens_at(address);
    let dashboard = dashboard(options.dashboard, address)?;
    // Whoever comes before finds master, and the others RECOVERING.
    instance.databases.wait_until_open();
    for database in instance.databases.unavailable() {
        eprintln!("duramen: {database}");
    }
    report_ready(&log, &server);
    say(&format!(
        "connect: sqlcmd -S {},{} -U sa -C    certificate: {}",
        address.ip(),
        address.port(),
        certificate.display()
    ));
    if let Some(password) = made {
        say(&format!("password of sa, shown this once: {password}"));
    }
    server.wait();
    if let Some(dashboard) = dashboard {
        dashboard.stop();
    }
    log.server(
        "SQL Server is terminating because of a system shutdown. This is an informational message only. No user action is required.",
    );
    instance.shutdown().map_err(|e| text(&e))?;
    log.server("SQL Server is terminating; all databases are closed.");
    Ok(())
}

/// Where it listens, in SQL Server's words.
fn report_ready(log: &ErrorLog, server: &Server) {
    let address = server.address();
    let kind = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    log.server(&format!(
        "Server is listening on [ {} <{kind}> {} ].",
        address.ip(),
        address.port()
    ));
    if let Some(admin) = server.admin_address() {
        let reach = if admin.ip().is_loopback() {
            "locally"
        } else {
            "remotely"
        };
        log.server(&format!(
            "Dedicated admin connection support was established for listening {reach} on port {}.",
            admin.port()
        ));
    }
    log.server(&format!(
        "SQL Server is now ready for client connections. ({address})"
    ));
}

/// The live page, which asks the server at `server`.
fn dashboard(listen: Option<SocketAddr>, server: SocketAddr) -> Result<Option<Dashboard>, String> {
    let Some(listen) = listen else {
        return Ok(None);
    };
    let started = Dashboard::start(listen, server);
    let dashboard = started.map_err(|e| format!("--dashboard {listen}: {e}"))?;
    say(&format!("dashboard: http://{}/", dashboard.address()));
    if !listen.ip().is_loopback() {
        say("The dashboard is reached from other machines; passwords go there unencrypted.");
    }
    Ok(Some(dashboard))
}

/// Two servers over one directory would destroy it. The lock goes with the process, however it ends.
fn exclusive(env: &Env, dir: &Path) -> Result<Arc<dyn DiskFile>, String> {
    let path = dir.join("duramen.lock");
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let failed = |e| format!("{}: {e}", path.display());
    let file = env.disk.open(&path, &options).map_err(failed)?;
    if file.try_lock().map_err(failed)? {
        Ok(file)
    } else {
        Err(format!("another server uses {}", dir.display()))
    }
}

fn absolute(dir: &Path) -> PathBuf {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}

fn storage(env: &Env, options: &Options) -> StorageConfig {
    StorageConfig {
        // The catalog keeps file paths: they must hold whatever the next start's directory is.
        data_dir: absolute(&options.data_dir),
        drives: options
            .drives
            .iter()
            .map(|(letter, dir)| (*letter, absolute(dir)))
            .collect(),
        memory: options
            .max_memory
            .unwrap_or_else(|| machine::memory_bytes() / 2),
        profile: options.profile,
        sector: options
            .sector
            .unwrap_or_else(|| env.disk.sector_bytes(&options.data_dir)),
        instant_file_init: options.instant_file_init,
        files: FilesConfig {
            backup_dir: options.backup_dir.as_deref().map(absolute),
            file_dirs: options.file_dirs.iter().map(|d| absolute(d)).collect(),
            max_tempdb: options.max_tempdb,
        },
    }
}

/// The key and the password's hash are their owner's alone.
fn protect(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for name in ["server-key.pem", "sa.credential"] {
        let owner_only = std::fs::Permissions::from_mode(0o600);
        if let Err(error) = std::fs::set_permissions(dir.join(name), owner_only) {
            eprintln!("duramen: {name} may be readable by others: {error}");
        }
    }
}

fn hex(bytes: [u8; 16]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// `@@SERVERNAME`: the machine's name.
fn server_name() -> String {
    match machine::host_name().to_uppercase() {
        name if name.is_empty() => "DURAMEN".to_owned(),
        name => name,
    }
}
