//! Commits a second of sessions in the process of the engine: no sockets, no clients that need the same processors.
//!
//! `sessions DIR SESSIONS SECONDS gate|statement` prints `commits a second|median|99th percentile` (microseconds) of
//! sessions that insert a row, wait until that is durable, and insert the next. `gate`: as the server does it; a worker
//! runs a statement and goes on with another session's, and the packet gate says whose commit is durable. `statement`: a
//! thread for each session, which COMMIT_WAIT = STATEMENT lets wait. `cargo xtask bench --only sessions` runs both.

#![allow(clippy::print_stdout, reason = "a program whose output is its purpose")]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duramen_access::cancel::CancelToken;
use duramen_base::SqlError;
use duramen_core::databases::StorageConfig;
use duramen_core::instance_core::InstanceConfig;
use duramen_events::instance::Instance;
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::time::{self, Instant};
use duramen_os::{Env, thread};
use duramen_program::login::LoginRequest;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_session::Session;
use duramen_txn::gate::{Outcome, Outlet, Submit};
use duramen_types::Value;

const INSERT: &str = "INSERT hit (client) VALUES (1)";
/// As many as the server has for a load that waits for the disk.
const WORKERS: usize = 4;

fn main() {
    let mut words = std::env::args().skip(1);
    let dir = PathBuf::from(words.next().unwrap_or_else(|| ".".to_owned()));
    let mut number = |default: u64| words.next().and_then(|w| w.parse().ok()).unwrap_or(default);
    let (sessions, seconds) = (number(64) as usize, number(5));
    let is_gate = words.next().is_none_or(|w| w == "gate");
    let instance = start(&dir);
    prepare(&instance, is_gate);
    let until = Duration::from_secs(seconds);
    let waits = match is_gate {
        true => through_the_gate(&instance, sessions, until),
        false => each_waits(&instance, sessions, until),
    };
    report(waits, until);
    instance.shutdown().expect("the disk works");
}

fn report(mut waits: Vec<u64>, took: Duration) {
    waits.sort_unstable();
    let share = |part: usize| waits.get(waits.len() * part / 100).map_or(0, |w| w / 1000);
    let rate = waits.len() as f64 / took.as_secs_f64();
    println!("{rate:.0}|{}|{}", share(50), share(99));
}

fn start(dir: &std::path::Path) -> Arc<Instance> {
    let storage = StorageConfig {
        data_dir: dir.to_path_buf(),
        drives: Default::default(),
        memory: 512 << 20,
        profile: Default::default(),
        sector: 4096,
        instant_file_init: true,
        files: Default::default(),
    };
    let config = InstanceConfig {
        sa_password: "Sessions-1".to_owned(),
        server_name: "SESSIONS".to_owned(),
        storage,
    };
    duramen_session::start(&Env::real(), config).expect("a directory that can be written")
}

fn login(instance: &Arc<Instance>, database: &str) -> Session {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "Sessions-1".to_owned(),
        database: database.to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(instance, &request).expect("sa logs in")
}

fn prepare(instance: &Arc<Instance>, is_gate: bool) {
    let mut session = login(instance, "master");
    let wait = if is_gate { "PACKET" } else { "STATEMENT" };
    for text in [
        "CREATE DATABASE sessions; ALTER DATABASE sessions MODIFY FILE (NAME = sessions_log, SIZE = 1GB)".to_owned(),
        format!(
            "USE sessions; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {wait}; \
             CREATE TABLE hit (id bigint IDENTITY PRIMARY KEY, client int NOT NULL)"
        ),
    ] {
        run(&mut session, &text);
    }
}

fn run(session: &mut Session, text: &str) {
    session.execute_batch(text, &mut Quiet, &CancelToken::default());
}

/// Nobody reads the results; an error ends the program.
struct Quiet;

impl ResultSink for Quiet {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) {}
    fn done(&mut self, _: &Done) {}
    fn error(&mut self, error: &SqlError) {
        panic!("{error:?}");
    }
    fn info(&mut self, _: &SqlError) {}
    fn env_change(&mut self, _: &EnvChange) {}
}

/// A thread for each session, which waits at its COMMIT.
fn each_waits(instance: &Arc<Instance>, sessions: usize, until: Duration) -> Vec<u64> {
    let began = time::now();
    let one = |_| {
        let mut session = login(instance, "sessions");
        thread::spawn("session", move || {
            let mut waits = Vec::new();
            while began.elapsed() < until {
                let since = time::now();
                run(&mut session, INSERT);
                waits.push(since.elapsed().as_nanos() as u64);
            }
            waits
        })
    };
    let threads: Vec<_> = (0..sessions).map(one).collect();
    let ended = threads.into_iter().map(|t| t.join().expect("no panic"));
    ended.flatten().collect()
}

/// A session and the moment its statement began.
struct Place {
    session: Session,
    outlet: Outlet,
    since: Option<Instant>,
    waits: Vec<u64>,
}

#[derive(Default)]
struct Ready {
    places: Mutex<VecDeque<usize>>,
    changed: Condvar,
    over: AtomicBool,
}

impl Ready {
    fn push(&self, place: usize) {
        self.places.lock().push_back(place);
        self.changed.notify_one();
    }

    fn take(&self) -> Option<usize> {
        let mut places = self.places.lock();
        loop {
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            match places.pop_front() {
                Some(place) => return Some(place),
                None => self.changed.wait(&mut places),
            }
        }
    }
}

/// Workers that run whichever session may go on.
fn through_the_gate(instance: &Arc<Instance>, sessions: usize, until: Duration) -> Vec<u64> {
    let gate = &instance.databases.gate;
    let ready = Arc::new(Ready::default());
    let released = ready.clone();
    gate.set_deliver(Box::new(move |outcome| match outcome {
        Outcome::Packet { connection, .. } => released.push(connection as usize),
        Outcome::Round => {}
        Outcome::End { .. } => panic!("the log has failed"),
    }));
    let place = |number: usize| {
        let session = login(instance, "sessions");
        let outlet = gate.outlet(number as u64, session.deps());
        Mutex::new(Place {
            session,
            outlet,
            since: None,
            waits: Vec::new(),
        })
    };
    let places: Arc<Vec<_>> = Arc::new((0..sessions).map(place).collect());
    let worker = |_| {
        let (ready, places) = (ready.clone(), places.clone());
        thread::spawn("worker", move || {
            while let Some(place) = ready.take() {
                step(&ready, &places[place], place);
            }
        })
    };
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    (0..sessions).for_each(|place| ready.push(place));
    thread::sleep(until);
    ready.over.store(true, Ordering::Relaxed);
    ready.changed.notify_all();
    for w in workers {
        w.join().expect("no panic");
    }
    let taken = places.iter().map(|p| std::mem::take(&mut p.lock().waits));
    taken.flatten().collect()
}

/// One statement of a session whose last one is durable.
fn step(ready: &Ready, place: &Mutex<Place>, number: usize) {
    let mut p = place.lock();
    let now = time::now();
    if let Some(since) = p.since.replace(now) {
        p.waits.push((now - since).as_nanos() as u64);
    }
    run(&mut p.session, INSERT);
    // A DONE of 13 bytes in a packet.
    let (answer, help) = p.outlet.submit_then_help(vec![0; 21]);
    p.outlet.request_done();
    drop(p);
    if matches!(answer, Submit::Released(_)) {
        ready.push(number);
    }
    if let Some(help) = help {
        help.flush();
    }
}
