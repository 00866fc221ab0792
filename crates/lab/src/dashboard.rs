//! `duramen serve --dashboard ADDR:PORT`: a live page of the server, drawn by the server.
//!
//! Who opens it logs in with a SQL login. Everything shown is read with that login's own connection over TDS, so that
//! nobody sees here what they could not select ([`visits`]); the page is text and SVG, and a script of a dozen lines
//! fetches its moving part every second ([`page`]).
//!
//! Invariants
//! 1. Requests, visits and the memory of each are bounded. [test: half_open_requests_do_not_keep_others_out]
//! 2. Nothing of a request reaches a query but the name and password of a login.
//!    [test: nobody_sees_anything_without_a_login]
//! 3. What came from the server is escaped where it enters the page.
//!    [test: a_login_that_fails_says_why_and_what_it_said_is_escaped]

mod http;
mod look;
mod page;
mod visits;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::Method;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::AbortHandle;

use http::{Request, Response};
use visits::Visits;

/// Requests answered at once; one more is told to come back.
const REQUESTS_MAX: usize = 32;
/// Connections that have not sent their request yet; one more, and the oldest goes.
const COMING_MAX: usize = 64;
/// The request line and the headers together.
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// A connection has had its answer by then, or does without.
const LIFE: Duration = Duration::from_secs(30);
const COOKIE: &str = "duramen";

/// A dashboard that is being served; it ends with [`Dashboard::stop`].
pub struct Dashboard {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    visits: Arc<Visits>,
    thread: JoinHandle<()>,
}

impl Dashboard {
    /// Listens, and reads from the server at `server`. The error is the operating system's.
    pub fn start(listen: SocketAddr, server: SocketAddr) -> std::io::Result<Dashboard> {
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(REQUESTS_MAX)
            .thread_name("dashboard login")
            .build()?;
        let visits = Arc::new(Visits::new(server));
        let site = Arc::new(Site {
            visits: Arc::clone(&visits),
            answered: Arc::new(Semaphore::new(REQUESTS_MAX)),
            coming: Coming::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("dashboard".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = accept(listener, site) => {}
                        _ = stopped => {}
                    }
                });
                // A login that is being tried ends by itself.
                runtime.shutdown_background();
            })?;
        Ok(Dashboard {
            address,
            stop,
            visits,
            thread,
        })
    }

    /// Where it listens, with the port that the system chose for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it and everybody's visit.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
        self.visits.end_all();
    }
}

/// What all connections share.
struct Site {
    visits: Arc<Visits>,
    /// A permit for each request that is being answered.
    answered: Arc<Semaphore>,
    coming: Coming,
}

/// Connections whose request is still coming, oldest first. Whoever opens many and sends nothing loses the oldest of them;
/// a request that comes at once is never among those for long.
#[derive(Default)]
struct Coming(Mutex<VecDeque<(u64, AbortHandle)>>);

impl Coming {
    fn add(&self, id: u64, connection: AbortHandle) {
        let mut all = visits::lock(&self.0);
        all.push_back((id, connection));
        if all.len() > COMING_MAX
            && let Some((_, oldest)) = all.pop_front()
        {
            oldest.abort();
        }
    }

    fn remove(&self, id: u64) {
        visits::lock(&self.0).retain(|(known, _)| *known != id);
    }
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    for id in 0.. {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: the next may find some.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let of_connection = Arc::clone(&site);
        let task = tokio::spawn(async move {
            let served = serve(id, stream, &of_connection);
            let _ = tokio::time::timeout(LIFE, served).await;
            of_connection.coming.remove(id);
        });
        site.coming.add(id, task.abort_handle());
    }
}

/// One request and its answer; whether that arrives is the client's affair. Its permit is given back with the connection, so
/// that answers that nobody takes are bounded too.
async fn serve(id: u64, stream: TcpStream, site: &Arc<Site>) {
    let permit: Mutex<Option<OwnedSemaphorePermit>> = Mutex::default();
    let service = service_fn(async |request| {
        let request = Request::read(request).await;
        site.coming.remove(id);
        let Ok(own) = Arc::clone(&site.answered).try_acquire_owned() else {
            return Ok::<_, Infallible>(http::text(503, "Too many requests at once."));
        };
        *visits::lock(&permit) = Some(own);
        Ok(match request {
            Ok(request) => answer(&request, &site.visits).await,
            Err(refused) => refused,
        })
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .title_case_headers(true)
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(http::PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

async fn answer(request: &Request, visits: &Arc<Visits>) -> Response {
    let visit = request.cookie(COOKIE).and_then(|token| visits.get(&token));
    match (&request.method, request.path.as_str(), visit) {
        (&Method::GET, "/", Some(visit)) => http::html(200, page::whole(&visit)),
        (&Method::GET, "/", None) => http::html(200, page::login(None)),
        (&Method::GET, "/live", Some(visit)) => http::html(200, page::live(&visit)),
        (&Method::GET, "/live", None) => http::text(401, "Log in first."),
        (&Method::GET, "/live.js", _) => http::script(page::SCRIPT),
        (&Method::POST, "/login", _) => log_in(request, visits).await,
        (&Method::POST, "/logout", visit) => {
            if let Some(visit) = visit {
                visits.end(&visit);
            }
            http::go_to("/", &format!("{COOKIE}=; Max-Age=0; {COOKIE_RULES}"))
        }
        (&Method::GET | &Method::HEAD, ..) => http::text(404, "There is no such page."),
        _ => http::text(405, "Only GET and POST are understood."),
    }
}

/// For this site alone, never for scripts.
const COOKIE_RULES: &str = "Path=/; HttpOnly; SameSite=Lax";

/// The server's answer is waited for aside, where others need not wait too.
async fn log_in(request: &Request, visits: &Arc<Visits>) -> Response {
    let field = |name: &str| request.form.get(name).cloned().unwrap_or_default();
    let (visits, user, password) = (Arc::clone(visits), field("user"), field("password"));
    let begun = tokio::task::spawn_blocking(move || visits.begin(&user, &password));
    match begun.await {
        Ok(Ok(token)) => http::go_to("/", &format!("{COOKIE}={token}; {COOKIE_RULES}")),
        Ok(Err(why)) => http::html(403, page::login(Some(&why))),
        Err(_) => http::text(503, "The login was given up."),
    }
}

#[cfg(test)]
mod tests;
