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
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use http::{Request, Response};
use visits::Visits;

/// Requests answered at once; one more is told to come back.
const REQUESTS_MAX: usize = 32;
/// Connections that have not sent their request yet; one more, and the oldest goes.
const COMING_MAX: usize = 64;
const COOKIE: &str = "duramen";

/// A dashboard that is being served; it ends with [`Dashboard::stop`].
pub struct Dashboard {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    visits: Arc<Visits>,
    thread: JoinHandle<()>,
}

impl Dashboard {
    /// Listens, and reads from the server at `server`. The error is the operating system's.
    pub fn start(listen: SocketAddr, server: SocketAddr) -> std::io::Result<Dashboard> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let visits = Arc::new(Visits::new(server));
        let (stopped, known) = (Arc::clone(&stop), Arc::clone(&visits));
        let thread = std::thread::Builder::new()
            .name("dashboard".to_owned())
            .spawn(move || accept(&listener, &stopped, &known))?;
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
        self.stop.store(true, Ordering::SeqCst);
        // The listener looks at the flag when somebody comes.
        drop(TcpStream::connect(self.address));
        let _ = self.thread.join();
        self.visits.end_all();
    }
}

/// Connections whose request is still coming, oldest first. Whoever opens many and sends nothing loses the oldest of them;
/// a request that comes at once is never among those for long.
#[derive(Default)]
struct Coming {
    streams: std::sync::Mutex<VecDeque<(u64, TcpStream)>>,
}

impl Coming {
    fn add(&self, id: u64, stream: &TcpStream) {
        let (Ok(mut all), Ok(own)) = (self.streams.lock(), stream.try_clone()) else {
            return;
        };
        all.push_back((id, own));
        if all.len() > COMING_MAX
            && let Some((_, oldest)) = all.pop_front()
        {
            let _ = oldest.shutdown(std::net::Shutdown::Both);
        }
    }

    fn remove(&self, id: u64) {
        if let Ok(mut all) = self.streams.lock() {
            all.retain(|(known, _)| *known != id);
        }
    }
}

fn accept(listener: &TcpListener, stop: &AtomicBool, visits: &Arc<Visits>) {
    let running = Arc::new(AtomicUsize::new(0));
    let coming = Arc::new(Coming::default());
    let mut last = 0;
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else {
            // Out of descriptors, most likely: the next may find some.
            std::thread::sleep(std::time::Duration::from_millis(50));
            continue;
        };
        last += 1;
        let id = last;
        coming.add(id, &stream);
        let (visits, running) = (Arc::clone(visits), Arc::clone(&running));
        let of_request = Arc::clone(&coming);
        let spawned = std::thread::Builder::new()
            .name("dashboard request".to_owned())
            .spawn(move || {
                let request = http::read(&stream);
                of_request.remove(id);
                match running.fetch_add(1, Ordering::SeqCst) >= REQUESTS_MAX {
                    true => http::send(&stream, Response::text(503, "Too many requests at once.")),
                    false => serve(&stream, request, &visits),
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        if spawned.is_err() {
            coming.remove(id);
        }
    }
}

fn serve(stream: &TcpStream, request: Result<Request, http::Refused>, visits: &Arc<Visits>) {
    let response = match request {
        Ok(request) => answer(&request, visits),
        Err(http::Refused::Gone) => return,
        Err(http::Refused::With(status, why)) => Response::text(status, why),
    };
    http::send(stream, response);
}

fn answer(request: &Request, visits: &Arc<Visits>) -> Response {
    let visit = request.cookie(COOKIE).and_then(|token| visits.get(&token));
    match (request.method.as_str(), request.path.as_str(), visit) {
        ("GET", "/", Some(visit)) => Response::html(200, page::whole(&visit)),
        ("GET", "/", None) => Response::html(200, page::login(None)),
        ("GET", "/live", Some(visit)) => Response::html(200, page::live(&visit)),
        ("GET", "/live", None) => Response::text(401, "Log in first."),
        ("GET", "/live.js", _) => Response::script(page::SCRIPT),
        ("POST", "/login", _) => log_in(request, visits),
        ("POST", "/logout", visit) => {
            if let Some(visit) = visit {
                visits.end(&visit);
            }
            Response::go_to("/", &format!("{COOKIE}=; Max-Age=0; {COOKIE_RULES}"))
        }
        ("GET" | "HEAD", ..) => Response::text(404, "There is no such page."),
        _ => Response::text(405, "Only GET and POST are understood."),
    }
}

/// For this site alone, never for scripts.
const COOKIE_RULES: &str = "Path=/; HttpOnly; SameSite=Lax";

fn log_in(request: &Request, visits: &Arc<Visits>) -> Response {
    let field = |name: &str| request.form.get(name).cloned().unwrap_or_default();
    match visits.begin(&field("user"), &field("password")) {
        Ok(token) => Response::go_to("/", &format!("{COOKIE}={token}; {COOKIE_RULES}")),
        Err(why) => Response::html(403, page::login(Some(&why))),
    }
}

#[cfg(test)]
mod tests;
