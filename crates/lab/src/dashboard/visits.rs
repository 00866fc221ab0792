//! Who has logged in, and what was seen for each of them: a visit is a connection of its own and a thread that looks
//! every second while somebody watches.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::look::Looks;
use crate::sql::{Address, Sql};

/// More are told that there are too many.
const VISITS_MAX: usize = 16;
/// A visit ends when nobody has asked for its page for so long.
const IDLE: Duration = Duration::from_secs(600);
const EVERY: Duration = Duration::from_secs(1);
/// A wrong password costs so long.
const PENALTY: Duration = Duration::from_secs(1);

pub struct Visit {
    pub user: String,
    pub looks: Mutex<Looks>,
    asked: Mutex<Instant>,
    end: AtomicBool,
}

pub struct Visits {
    server: SocketAddr,
    by_token: Mutex<BTreeMap<String, Arc<Visit>>>,
}

/// A thread that panicked while it held the lock has left whole values behind.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Visits {
    /// Visits of the server that listens at `server`.
    pub fn new(server: SocketAddr) -> Visits {
        let mut server = server;
        if server.ip().is_unspecified() {
            server.set_ip([127, 0, 0, 1].into());
        }
        Visits {
            server,
            by_token: Mutex::default(),
        }
    }

    /// Logs in to the server; what the visitor shows from then on, or what the server said.
    pub fn begin(self: &Arc<Self>, user: &str, password: &str) -> Result<String, String> {
        if lock(&self.by_token).len() >= VISITS_MAX {
            return Err("Too many have logged in; try again later.".to_owned());
        }
        let address = Address {
            host: self.server.ip().to_string(),
            port: self.server.port(),
            user: user.to_owned(),
            password: password.to_owned(),
        };
        let sql = Sql::connect_as(&address, "master", "duramen dashboard").inspect_err(|_| {
            std::thread::sleep(PENALTY);
        })?;
        let visit = Arc::new(Visit {
            user: user.to_owned(),
            looks: Mutex::default(),
            asked: Mutex::new(Instant::now()),
            end: AtomicBool::new(false),
        });
        let token = token();
        lock(&self.by_token).insert(token.clone(), Arc::clone(&visit));
        let (visits, known) = (Arc::clone(self), token.clone());
        let watch = move || {
            visit.watch(sql);
            lock(&visits.by_token).remove(&known);
        };
        let spawned = std::thread::Builder::new()
            .name("dashboard visit".to_owned())
            .spawn(watch);
        spawned.map(|_| token.clone()).map_err(|why| {
            lock(&self.by_token).remove(&token);
            why.to_string()
        })
    }

    /// The visit a token stands for, which somebody looks at now.
    pub fn get(&self, token: &str) -> Option<Arc<Visit>> {
        let visit = lock(&self.by_token).get(token).cloned()?;
        *lock(&visit.asked) = Instant::now();
        Some(visit)
    }

    pub fn end(&self, visit: &Arc<Visit>) {
        visit.end.store(true, Ordering::SeqCst);
        lock(&self.by_token).retain(|_, v| !Arc::ptr_eq(v, visit));
    }

    pub fn end_all(&self) {
        for visit in std::mem::take(&mut *lock(&self.by_token)).into_values() {
            visit.end.store(true, Ordering::SeqCst);
        }
    }
}

impl Visit {
    fn watch(&self, mut sql: Sql) {
        while !self.end.load(Ordering::SeqCst) && lock(&self.asked).elapsed() < IDLE {
            let began = Instant::now();
            // The connection is lost: the page asks to log in again.
            if Looks::look(&mut sql, &self.looks).is_err() {
                return;
            }
            while began.elapsed() < EVERY && !self.end.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// 256 random bits of the operating system.
fn token() -> String {
    let mut bytes = [0; 32];
    duramen_os::random::fill(&mut bytes);
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
