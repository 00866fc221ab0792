//! What went wrong lately: the buffers of `sys.dm_os_ring_buffers` for errors that clients were told or CATCH blocks have met
//! (`RING_BUFFER_EXCEPTION`), and for logins that were refused (`RING_BUFFER_CONNECTIVITY`).
//!
//! What happens to a thread of one instance is that one's: the rings are the process's, and a record says whose it is.
//! The records are not documented: their form is what scripts take apart, without the elements that nobody knows here.

use std::collections::VecDeque;

use duramen_base::SqlError;
use duramen_os::sync::Global;
use duramen_os::thread;
use duramen_os::time::{self, WallTime};

use crate::login::LoginRequest;

/// Records of all instances of the process.
const KEPT: usize = 1024;

/// Errors are those of more than this severity.
const INFORMATION: u8 = 10;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Record<T> {
    owner: u64,
    pub id: u64,
    /// `ms_ticks` of `sys.dm_os_sys_info`.
    pub ticks: u64,
    what: T,
}

struct Ring<T> {
    records: VecDeque<Record<T>>,
    next: u64,
}

impl<T: Clone> Ring<T> {
    const fn new() -> Ring<T> {
        Ring {
            records: VecDeque::new(),
            next: 0,
        }
    }

    fn put(&mut self, owner: u64, ticks: u64, what: T) {
        let id = self.next;
        self.next += 1;
        if self.records.len() == KEPT {
            self.records.pop_front();
        }
        self.records.push_back(Record {
            owner,
            id,
            ticks,
            what,
        });
    }

    fn of(&self, owner: u64) -> Vec<Record<T>> {
        let mine = |r: &&Record<T>| r.owner == owner;
        self.records.iter().filter(mine).cloned().collect()
    }
}

/// An error of a session.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    session: u16,
    number: i32,
    severity: u8,
    state: u8,
}

/// A login that was refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    number: i32,
    state: u8,
    remote: (String, u16),
    local: Option<std::net::SocketAddr>,
    at: WallTime,
}

static EXCEPTIONS: Global<Ring<Exception>> = Global::new(Ring::new());
static REFUSALS: Global<Ring<Refusal>> = Global::new(Ring::new());

fn now() -> (u64, u64) {
    (thread::owner(), time::now().nanos() / 1_000_000)
}

/// Keeps an error of the calling thread's session.
pub fn note(error: &SqlError) {
    if error.severity <= INFORMATION {
        return;
    }
    let (owner, ticks) = now();
    let exception = Exception {
        session: duramen_observe::current_session().map_or(0, |s| s.0),
        number: error.number,
        severity: error.severity,
        state: error.state,
    };
    EXCEPTIONS.write(|ring| ring.put(owner, ticks, exception));
}

/// Keeps that a login was refused, with the state that only the server tells.
pub fn note_refused(request: &LoginRequest, error: &SqlError, state: u8) {
    let (owner, ticks) = now();
    let refusal = Refusal {
        number: error.number,
        state,
        remote: (request.client_address.clone(), request.client_port),
        local: request.local,
        at: time::wall(),
    };
    REFUSALS.write(|ring| ring.put(owner, ticks, refusal));
}

/// Those of the calling thread's instance, oldest first.
pub fn records() -> Vec<Record<Exception>> {
    let owner = thread::owner();
    EXCEPTIONS.read(|ring| ring.of(owner))
}

/// The refusals of the calling thread's instance, oldest first.
pub fn refusals() -> Vec<Record<Refusal>> {
    let owner = thread::owner();
    REFUSALS.read(|ring| ring.of(owner))
}

/// The number of a session's last error since a moment of [`Record::ticks`].
pub fn last_of(session: u16, since: u64) -> Option<i32> {
    let owner = thread::owner();
    let of_it =
        |r: &&Record<Exception>| r.owner == owner && r.what.session == session && r.ticks >= since;
    EXCEPTIONS.read(|ring| ring.records.iter().rev().find(of_it).map(|r| r.what.number))
}

impl Record<Exception> {
    /// The task's address is that of `sys.dm_os_tasks`.
    pub fn xml(&self) -> String {
        let e = &self.what;
        let task = u64::from(e.session) << 32;
        format!(
            "<Record id = \"{}\" type =\"RING_BUFFER_EXCEPTION\" time =\"{}\"><Exception><Task address=\"0x{task:016X}\"></Task>\
             <Error>{}</Error><Severity>{}</Severity><State>{}</State><UserDefined>{}</UserDefined></Exception></Record>",
            self.id,
            self.ticks,
            e.number,
            e.severity,
            e.state,
            u8::from(e.number >= 50_000),
        )
    }
}

impl Record<Refusal> {
    /// Addresses are digits, dots and colons.
    pub fn xml(&self) -> String {
        let r = &self.what;
        let mut ends = String::new();
        if !r.remote.0.is_empty() {
            let (host, port) = &r.remote;
            ends += &format!("<RemoteHost>{host}</RemoteHost><RemotePort>{port}</RemotePort>");
        }
        if let Some(local) = r.local {
            let (host, port) = (local.ip(), local.port());
            ends += &format!("<LocalHost>{host}</LocalHost><LocalPort>{port}</LocalPort>");
        }
        let at = recorded(r.at);
        format!(
            "<Record id=\"{}\" type=\"RING_BUFFER_CONNECTIVITY\" time=\"{}\"><ConnectivityTraceRecord><RecordType>Error</RecordType>\
             <RecordSource>Tds</RecordSource><Spid>0</Spid><OSError>0</OSError><SniConsumerError>{}</SniConsumerError>\
             <State>{}</State>{ends}<RecordTime>{at}</RecordTime></ConnectivityTraceRecord></Record>",
            self.id, self.ticks, r.number, r.state,
        )
    }
}

/// `5/6/2024 17:30:26.664`, of `2024-05-06T17:30:26.664Z`.
fn recorded(at: WallTime) -> String {
    let text = crate::timestamp::timestamp(at);
    let Some((date, clock)) = text.trim_end_matches('Z').split_once('T') else {
        return text;
    };
    let mut parts = date.split('-').map(|p| p.trim_start_matches('0'));
    match (parts.next(), parts.next(), parts.next()) {
        (Some(year), Some(month), Some(day)) => format!("{month}/{day}/{year} {clock}"),
        _ => text,
    }
}
