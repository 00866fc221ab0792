//! Sessions on threads of their own, each with one request at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, SqlResult};
use duramen_events::instance::Instance;
use duramen_os::sim::SimDisk;
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::thread::{self, JoinHandle};
use duramen_os::time;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_session::{BulkSource, Session};
use duramen_types::{SqlType, Value};

use super::super::image;

/// The command of an EXECUTE's end.
const EXECUTE: u16 = 0xE0;

/// What a request gave.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub rows: Vec<Vec<Value>>,
    pub errors: Vec<SqlError>,
    pub dones: Vec<Done>,
    /// There was no power when it ended.
    pub off: bool,
    /// Requests of all sessions are numbered as they end.
    pub number: u64,
}

impl Answer {
    /// So many statements have ended well. The end of a batch has no command; that of an EXECUTE says nothing of the string.
    pub fn has_done(&self, is_string: bool, least: usize) -> bool {
        let tells = |command| command != 0 && !(is_string && command == EXECUTE);
        let well = self.dones.iter().filter(|d| !d.error && tells(d.command));
        well.count() >= least
    }

    /// A transaction is open afterwards.
    pub fn is_open(&self) -> bool {
        self.dones.last().is_some_and(|d| d.in_transaction)
    }

    /// An error was told, or caught: a row of three that begins with -1 says so.
    pub fn is_refused(&self) -> bool {
        let caught = |r: &Vec<Value>| r.len() == 3 && r[0].as_i64() == Some(-1);
        !self.errors.is_empty() || self.rows.iter().any(caught)
    }

    pub fn has(&self, number: i32) -> bool {
        self.errors.iter().any(|e| e.number == number)
    }
}

/// A request that runs has told how far it came.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Among what all sessions tell.
    pub when: u64,
    /// So many of its statements are done.
    pub came: usize,
}

/// Takes down an answer.
struct Ear<'a> {
    answer: &'a mut Answer,
    /// Whom a batch of several statements tells how far it came.
    tells: Option<&'a Shared>,
}

impl ResultSink for Ear<'_> {
    fn columns(&mut self, _columns: &[ColumnMeta]) {}

    fn row(&mut self, values: &[Value]) {
        self.answer.rows.push(values.to_vec());
        if let (Some(shared), [Value::Int(came)]) = (self.tells, values) {
            shared.tell(usize::try_from(*came).unwrap_or(0));
        }
    }

    fn done(&mut self, done: &Done) {
        self.answer.dones.push(*done);
    }

    fn error(&mut self, error: &SqlError) {
        self.answer.errors.push(error.clone());
    }

    fn info(&mut self, _message: &SqlError) {}

    fn env_change(&mut self, _change: &EnvChange) {}
}

/// Rows of a bulk load.
#[derive(Clone, Debug)]
pub struct Rows {
    pub types: Vec<SqlType>,
    pub rows: std::vec::IntoIter<Vec<Value>>,
}

impl BulkSource for Rows {
    fn columns(&mut self) -> SqlResult<Vec<SqlType>> {
        Ok(self.types.clone())
    }

    fn row(&mut self) -> SqlResult<Option<Vec<Value>>> {
        Ok(self.rows.next())
    }
}

enum Order {
    Batch(String),
    /// Several statements, with a row of one number after each.
    Several(String),
    Bulk(String, Rows),
    Leave,
}

#[derive(Default)]
struct Mail {
    order: Option<Order>,
    answer: Option<Answer>,
    told: Vec<Told>,
    spid: Option<u16>,
    /// The login was refused.
    refused: Option<String>,
}

/// Rung whenever a request ends.
#[derive(Default)]
pub struct Bell {
    ended: Mutex<u64>,
    rung: Condvar,
    spared: AtomicU64,
    told: AtomicU64,
}

impl Bell {
    /// So many failures of the disk are told to whoever meets them, and power stays on.
    pub fn spare(&self, failures: u64) {
        self.spared.store(failures, Ordering::SeqCst);
    }

    pub fn spared(&self) -> u64 {
        self.spared.load(Ordering::SeqCst)
    }

    /// Waits for the next end of a request, or so long.
    pub fn wait(&self, seen: &mut u64, limit: std::time::Duration) -> bool {
        let mut ended = self.ended.lock();
        let until = time::now() + limit;
        while *ended == *seen {
            let now = time::now();
            if now >= until {
                return false;
            }
            self.rung.wait_for(&mut ended, until.since(now));
        }
        *seen = *ended;
        true
    }
}

struct Shared {
    mail: Mutex<Mail>,
    ordered: Condvar,
    bell: Arc<Bell>,
    disk: Arc<SimDisk>,
}

pub struct Seat {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    cancel: CancelToken,
}

impl Seat {
    pub fn open(
        instance: &Arc<Instance>,
        disk: &Arc<SimDisk>,
        bell: &Arc<Bell>,
        database: &str,
    ) -> Seat {
        let shared = Arc::new(Shared {
            mail: Mutex::default(),
            ordered: Condvar::new(),
            bell: bell.clone(),
            disk: disk.clone(),
        });
        let (own, instance, database) = (shared.clone(), instance.clone(), database.to_owned());
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let thread = thread::spawn("session", move || own.work(&instance, &database, &token));
        Seat {
            shared,
            thread,
            cancel,
        }
    }

    fn order(&self, order: Order) {
        self.cancel
            .0
            .store(false, std::sync::atomic::Ordering::SeqCst);
        self.shared.mail.lock().order = Some(order);
        self.shared.ordered.notify_all();
    }

    pub fn batch(&self, sql: String) {
        self.order(Order::Batch(sql));
    }

    pub fn several(&self, sql: String) {
        self.order(Order::Several(sql));
    }

    pub fn bulk(&self, sql: String, rows: Rows) {
        self.order(Order::Bulk(sql, rows));
    }

    /// The client goes; a running request is told.
    pub fn leave(self) -> JoinHandle<()> {
        self.order(Order::Leave);
        self.thread
    }

    pub fn attention(&self) {
        self.cancel
            .0
            .store(true, std::sync::atomic::Ordering::SeqCst);
    }

    pub fn take(&self) -> Option<Answer> {
        self.shared.mail.lock().answer.take()
    }

    /// What its request has told since the last call, the oldest first.
    pub fn told(&self) -> Vec<Told> {
        std::mem::take(&mut self.shared.mail.lock().told)
    }

    pub fn has_answer(&self) -> bool {
        self.shared.mail.lock().answer.is_some()
    }

    pub fn spid(&self) -> Option<u16> {
        self.shared.mail.lock().spid
    }

    pub fn refused(&self) -> Option<String> {
        self.shared.mail.lock().refused.clone()
    }
}

impl Shared {
    fn work(&self, instance: &Arc<Instance>, database: &str, cancel: &CancelToken) {
        let mut session = match image::login_to(instance, database) {
            Ok(session) => session,
            Err(e) => {
                self.mail.lock().refused = Some(e);
                self.ring();
                return;
            }
        };
        self.mail.lock().spid = Some(session.spid());
        loop {
            let order = {
                let mut mail = self.mail.lock();
                loop {
                    match mail.order.take() {
                        Some(order) => break order,
                        None => self.ordered.wait(&mut mail),
                    }
                }
            };
            let mut answer = Answer::default();
            match order {
                Order::Leave => return,
                Order::Batch(sql) => {
                    let (answer, tells) = (&mut answer, None);
                    session.execute_batch(&sql, &mut Ear { answer, tells }, cancel);
                }
                Order::Several(sql) => {
                    let (answer, tells) = (&mut answer, Some(self));
                    session.execute_batch(&sql, &mut Ear { answer, tells }, cancel);
                }
                Order::Bulk(sql, rows) => load(&mut session, &sql, rows, &mut answer, cancel),
            }
            let broken = self.is_broken() && answer.is_refused();
            answer.off = self.disk.is_off() || broken;
            answer.number = *self.bell.ended.lock() + 1;
            self.mail.lock().answer = Some(answer);
            self.ring();
        }
    }

    fn is_broken(&self) -> bool {
        self.disk.failures() > self.bell.spared()
    }

    /// What was told with the power on stands.
    fn tell(&self, came: usize) {
        if !self.disk.is_off() && !self.is_broken() {
            let when = self.bell.told.fetch_add(1, Ordering::SeqCst);
            self.mail.lock().told.push(Told { when, came });
        }
    }

    fn ring(&self) {
        *self.bell.ended.lock() += 1;
        self.bell.rung.notify_all();
    }
}

fn load(
    session: &mut Session,
    sql: &str,
    mut rows: Rows,
    answer: &mut Answer,
    cancel: &CancelToken,
) {
    let tells = None;
    let mut ear = Ear { answer, tells };
    session.execute_batch(sql, &mut ear, cancel);
    let answer = &mut *ear.answer;
    let announced = answer.errors.is_empty() && !cancel.is_set();
    answer.dones.clear();
    if announced {
        session.bulk_load(&mut rows, &mut ear, cancel);
    }
}
