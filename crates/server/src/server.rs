//! Start, accept, stop.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use duramen_observe::{Counter, gauge};
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::{IoError, thread};
use duramen_tds::dialect::Dialect;
use duramen_tds::packet::DEFAULT_PACKET_BYTES;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backend::{Backend, Cancel};
use crate::brake::Brake;
use crate::connection::Connection;
use crate::farewell::Farewell;
use crate::feed::Feed;
use crate::inbound::Inbound;
use crate::outbound::Outbound;
use crate::poller::Ready;
use crate::pool::{Pool, TICK};
use crate::prepared::Prepared;
use crate::shared::Shared;
use crate::tls::TlsSetup;
use crate::turns;

const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// Threads of the dedicated administrator connection: one runs its request, one reads meanwhile, one for those who are told
/// that it is taken.
const ADMIN_WORKERS: usize = 3;
/// So many may be at its door at once: one stays, the others are told that it is taken.
const ADMIN_CONNECTIONS: usize = 8;
/// How long a shutdown waits for running requests after cancelling them.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    /// Where the dedicated administrator connection is accepted; a port that is taken gives way to any that is free.
    pub admin: Option<SocketAddr>,
    /// `None`: no encryption is offered.
    pub tls: Option<TlsSetup>,
    pub force_encryption: bool,
    /// More connections than this are closed at once (`@@MAX_CONNECTIONS`).
    pub max_connections: usize,
    pub max_workers: usize,
    pub max_message_bytes: usize,
    /// From accept to a successful login; whoever takes longer is hung up on.
    pub login_timeout: Duration,
    /// SIGTERM and SIGINT stop the server.
    pub handle_signals: bool,
}

impl ServerConfig {
    pub fn new(listen: SocketAddr) -> ServerConfig {
        ServerConfig {
            listen,
            admin: None,
            tls: None,
            force_encryption: false,
            max_connections: 32_767,
            // SQL Server's rule for 64-bit machines, which `sys.dm_os_sys_info` tells.
            max_workers: 512 + thread::available_parallelism().saturating_sub(4) * 16,
            max_message_bytes: 256 * 1024 * 1024,
            login_timeout: Duration::from_secs(30),
            handle_signals: false,
        }
    }
}

#[derive(Debug)]
pub enum ServerError {
    Listen(SocketAddr, std::io::Error),
    Runtime(std::io::Error),
    Thread(IoError),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Listen(addr, error) => write!(f, "cannot listen on {addr}: {error}"),
            ServerError::Runtime(error) => write!(f, "cannot start the workers: {error}"),
            ServerError::Thread(error) => write!(f, "cannot start the event loop: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// A socket is ready, or somebody asked for a look.
fn serve(shared: &Shared, ready: Ready, buffer: &mut [u8], run: bool) {
    let connection = shared.connections.lock().get(&ready.connection).cloned();
    if let Some(connection) = connection {
        turns::turn(&connection, ready, buffer, run);
    }
}

/// A running server. Dropping it without [`Server::stop`] leaves it running until the process ends.
pub struct Server {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    stop: Arc<Notify>,
    stopped: Arc<Stopped>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Stopped {
    flag: Mutex<bool>,
    changed: Condvar,
}

impl Server {
    /// Binds and starts the workers, and the thread that accepts.
    pub fn start(backend: Arc<dyn Backend>, config: ServerConfig) -> Result<Server, ServerError> {
        let listen_error = |error| ServerError::Listen(config.listen, error);
        let listener = std::net::TcpListener::bind(config.listen).map_err(listen_error)?;
        listener.set_nonblocking(true).map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        let admin_listener = config.admin.map(listen_for_admin).transpose()?;
        let admin_address = admin_listener
            .as_ref()
            .map(std::net::TcpListener::local_addr)
            .transpose()
            .map_err(listen_error)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ServerError::Runtime)?;
        let pool = Pool::new(config.max_workers).map_err(ServerError::Runtime)?;
        let admin_pool = admin_address
            .map(|_| Pool::new(ADMIN_WORKERS))
            .transpose()
            .map_err(ServerError::Runtime)?;
        let shared = Arc::new(Shared {
            memory: backend.memory(),
            backend,
            pool,
            admin_pool,
            tls: config.tls,
            force_encryption: config.force_encryption,
            max_message_bytes: config.max_message_bytes,
            login_timeout: config.login_timeout,
            brake: Brake::default(),
            timer: runtime.handle().clone(),
            connections: Mutex::new(BTreeMap::new()),
            released: Mutex::default(),
            next_id: AtomicU64::new(1),
        });
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        shared.backend.set_delivery(Box::new(move |delivery| {
            if let Some(shared) = weak.upgrade() {
                shared.deliver(delivery);
            }
        }));
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        shared.backend.set_work_queue(Box::new(move || {
            weak.upgrade().map_or(0, |shared| shared.pool.in_line())
        }));
        for pool in shared.pools() {
            let weak: Weak<Shared> = Arc::downgrade(&shared);
            pool.set_serve(Box::new(move |ready, buffer, run| {
                if let Some(shared) = weak.upgrade() {
                    serve(&shared, ready, buffer, run);
                }
            }));
        }
        let stop = Arc::new(Notify::new());
        let stopped = Arc::new(Stopped::default());
        let (of_loop, stop_loop, stopped_loop) =
            (Arc::clone(&shared), Arc::clone(&stop), Arc::clone(&stopped));
        let max_connections = config.max_connections;
        // Before anybody is told that the server runs: a signal must not find it without its handlers.
        let signals = {
            let _context = runtime.enter();
            config.handle_signals.then(Signals::new).transpose()
        };
        let signals = signals.map_err(ServerError::Runtime)?;
        thread::try_spawn("network", move || {
            runtime.block_on(accept(
                Listeners {
                    listener,
                    admin: admin_listener,
                },
                &of_loop,
                &stop_loop,
                max_connections,
                signals,
            ));
            *stopped_loop.flag.lock() = true;
            stopped_loop.changed.notify_all();
        })
        .map_err(ServerError::Thread)?;
        Ok(Server {
            address,
            admin_address,
            stop,
            stopped,
            shared,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the dedicated administrator connection is accepted.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.lock().len()
    }

    /// Returns when a signal (or `stop` on another thread) has ended the event loop and the workers.
    pub fn wait(&self) {
        let mut flag = self.stopped.flag.lock();
        while !*flag {
            self.stopped.changed.wait(&mut flag);
        }
        drop(flag);
        for pool in self.shared.pools() {
            pool.close(SHUTDOWN_LIMIT);
        }
    }

    /// What ends all connections as [`Server::stop`] does, and waits for nothing.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + use<> {
        let stop = Arc::clone(&self.stop);
        move || stop.notify_one()
    }

    /// Ends all connections, cancelling what they run, and waits for the workers.
    pub fn stop(&self) {
        self.stop.notify_one();
        self.wait();
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns when one has come; never without handlers.
    async fn received(signals: &mut Option<Signals>) {
        let Some(Signals { term, int }) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }
}

/// What clients connect to.
struct Listeners {
    listener: std::net::TcpListener,
    admin: Option<std::net::TcpListener>,
}

/// Listens where it was asked to, or, where that port is taken, at any port of the same address.
fn listen_for_admin(asked: SocketAddr) -> Result<std::net::TcpListener, ServerError> {
    let bound = std::net::TcpListener::bind(asked)
        .or_else(|_| std::net::TcpListener::bind(SocketAddr::new(asked.ip(), 0)));
    let listener = bound.map_err(|error| ServerError::Listen(asked, error))?;
    listener
        .set_nonblocking(true)
        .map_err(|error| ServerError::Listen(asked, error))?;
    Ok(listener)
}

/// Looks after a pool's workers while requests come.
async fn mind(pool: Pool) {
    let mut ticking = false;
    loop {
        match ticking {
            true => tokio::time::sleep(TICK).await,
            false => pool.stirred().await,
        }
        ticking = !ticking || pool.tick();
    }
}

/// The next client of a door that may not be there.
async fn next_client(listener: Option<&TcpListener>) -> std::io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

async fn accept(
    listeners: Listeners,
    shared: &Arc<Shared>,
    stop: &Notify,
    max_connections: usize,
    mut signals: Option<Signals>,
) {
    let Ok(listener) = TcpListener::from_std(listeners.listener) else {
        return;
    };
    let admin = listeners.admin.map(TcpListener::from_std);
    let admin = admin.and_then(Result::ok);
    for pool in shared.pools() {
        tokio::spawn(mind(pool.clone()));
    }
    // Those who have not logged in when their time is up, in order of time.
    let mut logins: VecDeque<(Instant, Weak<Connection>)> = VecDeque::new();
    loop {
        let first = logins.front().map(|first| first.0);
        let (accepted, most) = tokio::select! {
            accepted = listener.accept() => (accepted, Some(max_connections)),
            accepted = next_client(admin.as_ref()) => (accepted, None),
            () = tokio::time::sleep_until(first.unwrap_or_else(Instant::now)), if first.is_some() => {
                if let Some((_, late)) = logins.pop_front() {
                    late.upgrade().iter().for_each(|late| late.expire_login());
                }
                continue;
            }
            () = stop.notified() => break,
            () = Signals::received(&mut signals) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let deadline = Instant::now() + shared.login_timeout;
                if let Some(opened) = open(shared, stream, peer, most) {
                    logins.push_back((deadline, Arc::downgrade(&opened)));
                }
            }
            // Out of descriptors or a connection that died in the queue: do not spin.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    drop((listener, admin));
    let open: Vec<Arc<Connection>> = shared.connections.lock().values().cloned().collect();
    for connection in open {
        connection.cancel.set();
        connection.out.close();
    }
    // A worker looks at each and forgets it.
    for _ in 0..200 {
        if shared.connections.lock().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A client's connection, if there may be so many; without a number it is the administrator's.
fn open(
    shared: &Arc<Shared>,
    stream: TcpStream,
    peer: SocketAddr,
    most: Option<usize>,
) -> Option<Arc<Connection>> {
    let stream = stream.into_std().ok()?;
    let local = stream.local_addr().ok();
    let mut connections = shared.connections.lock();
    let admin = most.is_none();
    let pool = match &shared.admin_pool {
        Some(pool) if admin => pool,
        _ => &shared.pool,
    };
    // Strangers at the administrator's door are few, whether or not they log in.
    let most = most.unwrap_or(connections.len() + 1);
    let knocking = || connections.values().filter(|c| c.admin).count();
    if connections.len() >= most || admin && knocking() >= ADMIN_CONNECTIONS {
        return None;
    }
    let _ = stream.set_nodelay(true);
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE)
        .with_interval(KEEPALIVE_INTERVAL);
    let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive);
    let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
    let connection = Arc::new(Connection {
        id,
        shared: Arc::clone(shared),
        pool: pool.clone(),
        admin,
        out: Outbound::new(stream, pool.clone(), id, shared.memory.as_ref()),
        inbound: Mutex::new(Inbound::new(shared.memory.as_ref())),
        lookers: AtomicU32::new(0),
        hung_up: AtomicBool::new(false),
        peer,
        local,
        cancel: Cancel::new(),
        packet_bytes: AtomicUsize::new(DEFAULT_PACKET_BYTES),
        dialect: AtomicU8::new(Dialect::default() as u8),
        session: Mutex::new(None),
        spid: AtomicU16::new(0),
        farewell: Farewell::default(),
        closing: AtomicBool::new(false),
        waker: OnceLock::new(),
        prepared: Mutex::new(Prepared::new(shared.memory.as_ref())),
        feed: Feed::default(),
        state: Mutex::default(),
        parked: Mutex::default(),
    });
    connections.insert(id, Arc::clone(&connection));
    drop(connections);
    gauge(Counter::UserConnections, 1);
    gauge(Counter::LogicalConnections, 1);
    // From here on it is the workers'.
    if connection.pool.watch(connection.out.stream(), id).is_err() {
        shared.forget(id);
        return None;
    }
    Some(connection)
}
