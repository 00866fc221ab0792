//! What a session lets the others see of it, and the handle by which they can end it.
//!
//! A session is idle, running a batch, or dead. Its open transaction lies here too, so that whoever ends it while
//! it is idle can roll back without its thread:
//!
//! ```text
//!   idle --begin--> running --end--> idle        kill: idle -> dead at once, by the killer
//!                      \--end, if killed--> dead       running: cancelled, dead when its batch ends
//! ```
//! Whoever brings `state` to DEAD does the rollback, exactly one does.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

use duramen_access::cancel::CancelToken;
use duramen_base::SessionId;
use duramen_observe::{CpuMark, SessionWaits};
use duramen_os::sync::{Global, Mutex};
use duramen_os::thread::Conduct;
use duramen_program::live_plan::LivePlan;
use duramen_program::login::LoginRequest;
use duramen_program::options::Options;
use duramen_program::program::Program;
use duramen_program::statements::Kind;
use duramen_program::work::{Pages, SessionWork, Times};
use duramen_txn::{LockOwner, Transaction};

use crate::security::Who;
use crate::trace_flags::TraceFlags;

/// Sessions of clients have numbers from here on, as those below belong to the server.
pub(crate) const FIRST_USER_SESSION: u16 = 51;

/// What a session takes that has done nothing yet: itself, what others see of it, its connection.
pub(crate) const SESSION_BYTES: u64 = 40 << 10;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const DEAD: u8 = 2;

/// One session as the others see it.
pub struct Activity {
    pub spid: SessionId,
    /// Without the password.
    pub login: LoginRequest,
    /// The login's id.
    pub principal: i32,
    /// The login's SID.
    pub sid: Arc<[u8]>,
    /// Nanoseconds since 1970, as the other times here.
    pub login_time: i64,
    pub connection: [u8; 16],
    pub owner: LockOwner,
    /// The instance that it belongs to, as its event sessions know it.
    pub instance: u64,
    /// What its threads and its packets have waited for.
    pub waits: Arc<SessionWaits>,
    /// The batch or statement of the request at hand, or of the last one.
    program: Global<Option<Arc<Program>>>,
    /// What runs, outermost first: the batch or called procedure, and what is called from there. The innermost is at `step`.
    frames: Global<Vec<Frame>>,
    /// The procedure, when the request at hand, or the last one, is a call.
    call: Mutex<String>,
    state: AtomicU8,
    killed: AtomicBool,
    cancel: Mutex<CancelToken>,
    on_kill: OnceLock<Box<dyn Fn() + Send + Sync>>,
    transaction: Mutex<Option<Arc<Transaction>>>,
    database: AtomicU16,
    command: AtomicU8,
    /// The last statement: the low half of its program's number, and its step; all ones: none yet.
    step: AtomicU64,
    /// Of the running statement, in hundredths.
    progress: AtomicU32,
    /// When what the progress is of began; 0: with the statement.
    progress_began: AtomicI64,
    /// The rollback that runs.
    rollback: Mutex<Option<Rollback>>,
    /// Whether what no transaction undoes, such as the files of a database that was to be made, is being undone.
    conduct: Arc<Conduct>,
    /// DBCC TRACEON without -1.
    pub trace: TraceFlags,
    started: AtomicI64,
    /// 0: no batch has ended yet.
    ended: AtomicI64,
    open_transactions: AtomicU32,
    transaction_id: AtomicU64,
    /// Bytes that the session keeps between requests.
    memory: AtomicU64,
    rows: AtomicU64,
    work: SessionWork,
    options: Mutex<Options>,
    /// The plan of the statement at hand, while it is counted what its operators do.
    live_plan: Global<Option<LivePlan>>,
    /// SET CONTEXT_INFO
    context_info: Global<Option<Vec<u8>>>,
}

/// A program that a session runs, and the step by which it has called the next one.
struct Frame {
    program: Arc<Program>,
    step: u64,
}

/// No step.
const NOWHERE: u64 = u64::MAX;

/// A program that runs, and the step that it is at.
pub type At = (Arc<Program>, Option<usize>);

impl Frame {
    fn at(&self, step: u64) -> At {
        let program = self.program.clone();
        let own = step >> 32 == program.stats.id & u64::from(u32::MAX);
        let at = usize::try_from(step & u64::from(u32::MAX)).ok();
        let at = at.filter(|at| own && *at < program.steps.len());
        (program, at)
    }
}

/// A rollback at work: of so many bytes of log, of which so many are undone.
#[derive(Debug)]
struct Rollback {
    bytes: u64,
    undone: Arc<AtomicU64>,
    /// What the transaction had undone before.
    before: u64,
    began: i64,
}

impl Rollback {
    fn percent(&self) -> f32 {
        let undone = self.undone.load(Relaxed).saturating_sub(self.before);
        (undone as f32 * 100.0 / self.bytes.max(1) as f32).min(100.0)
    }
}

/// How far a rollback is.
#[derive(Clone, Copy, Debug)]
pub struct RollbackProgress {
    pub percent: f32,
    /// Milliseconds, if it goes on as it went.
    pub remaining: u64,
}

/// While it lives, its session is shown as one that rolls back.
pub struct RollingBack<'a>(&'a Activity);

impl Drop for RollingBack<'_> {
    fn drop(&mut self) {
        *self.0.rollback.lock() = None;
    }
}

/// What [`Activity`] says at a moment.
#[derive(Clone, Debug)]
pub struct Glance {
    pub running: bool,
    /// It rolls back, by its own will or because it was killed.
    pub rolling_back: bool,
    pub database: u16,
    pub command: &'static str,
    pub percent: f32,
    /// Milliseconds that the progress so far leads to expect; 0 without any.
    pub remaining: u64,
    pub started: i64,
    pub ended: i64,
    pub open_transactions: u32,
    /// 0: none.
    pub transaction_id: u64,
    pub rows: u64,
    /// Of the request at hand.
    pub request: Pages,
    /// Of the session, that included.
    pub session: Pages,
    pub options: Options,
}

/// What a DBCC check is at: names of `command`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    Allocation = 0,
    Tables = 1,
    Catalog = 2,
}

/// `sys.dm_exec_requests.command` of the parts of a check, by the number that [`Activity::checking`] gives; less is a kind of
/// statement.
const CHECKS: (u8, [&str; 3]) = (
    200,
    ["DBCC ALLOC CHECK", "DBCC TABLE CHECK", "DBCC CHECKCATALOG"],
);

fn command(number: u8) -> &'static str {
    let check = number.checked_sub(CHECKS.0).map(usize::from);
    let check = check.and_then(|part| CHECKS.1.get(part).copied());
    check
        .or_else(|| Some(Kind::numbered(number)?.request))
        .unwrap_or(Kind::Flow.row().request)
}

/// Milliseconds to the end of what is so many hundredths of a percent done, if it goes on as it went.
fn left(percent: u32, began: i64) -> u64 {
    let took = now() - began;
    if percent == 0 || percent >= 10_000 || took <= 0 {
        return 0;
    }
    let left = i128::from(took) * i128::from(10_000 - percent) / i128::from(percent);
    u64::try_from(left / 1_000_000).unwrap_or(0)
}

fn now() -> i64 {
    duramen_os::time::wall().unix_nanos() as i64
}

impl Activity {
    /// Or else the server's own, which writes msdb.
    pub fn is_of_a_client(&self) -> bool {
        self.spid.0 >= FIRST_USER_SESSION
    }

    pub fn new(owner: LockOwner, login: &LoginRequest, who: &Who, instance: u64) -> Activity {
        let mut login = login.clone();
        login.password.clear();
        let now = now();
        login.user.clone_from(&who.name);
        Activity {
            principal: who.login,
            sid: who.sid.clone(),
            spid: owner.spid(),
            login,
            waits: SessionWaits::new(owner.spid(), instance),
            login_time: now,
            connection: duramen_os::random::guid(),
            owner,
            instance,
            program: Global::new(None),
            frames: Global::new(Vec::new()),
            call: Mutex::new(String::new()),
            state: AtomicU8::new(IDLE),
            killed: AtomicBool::new(false),
            cancel: Mutex::new(CancelToken::default()),
            on_kill: OnceLock::new(),
            transaction: Mutex::new(None),
            database: AtomicU16::new(1),
            command: AtomicU8::new(Kind::Flow as u8),
            step: AtomicU64::new(NOWHERE),
            progress: AtomicU32::new(0),
            progress_began: AtomicI64::new(0),
            rollback: Mutex::new(None),
            conduct: Arc::default(),
            trace: TraceFlags::default(),
            started: AtomicI64::new(now),
            ended: AtomicI64::new(0),
            open_transactions: AtomicU32::new(0),
            transaction_id: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            work: SessionWork::default(),
            options: Mutex::new(Options::default()),
            live_plan: Global::new(None),
            context_info: Global::new(None),
        }
    }

    /// A batch begins; `None` when the session has been ended.
    pub fn begin(&self, cancel: &CancelToken) -> Option<CpuMark> {
        *self.cancel.lock() = cancel.clone();
        self.command.store(Kind::Flow as u8, Relaxed);
        self.step.store(NOWHERE, Relaxed);
        self.started.store(now(), Relaxed);
        let mark = self.work.begin(self.waits.switches().own);
        self.program.write(|p| *p = None);
        self.frames.write(Vec::clear);
        self.show_live_plan(None);
        self.call.lock().clear();
        let begun = self.state.compare_exchange(IDLE, RUNNING, AcqRel, Acquire);
        begun.is_ok().then_some(mark)
    }

    /// A batch that began at this mark has ended, leaving this transaction open; false when the session is dead now, and the caller has to
    /// roll back.
    pub fn end(
        &self,
        mark: &CpuMark,
        transaction: Option<&Arc<Transaction>>,
        rows: u64,
        options: &Options,
    ) -> bool {
        debug_assert!(
            self.state.load(Acquire) != IDLE,
            "a batch ends that has not begun"
        );
        debug_assert!(
            self.rollback.lock().is_none(),
            "a batch ends in the middle of a rollback"
        );
        self.ended.store(now(), Relaxed);
        self.work.end(mark);
        self.rows.store(rows, Relaxed);
        self.note_transaction(transaction);
        self.note_options(options);
        self.state.store(IDLE, Release);
        // Either this looks after the killer has marked, or the killer looks after the session is idle.
        !(self.killed.load(Acquire) && self.die())
    }

    /// What the request runs; whatever it calls in turn is part of that.
    pub fn note_program(&self, program: &Arc<Program>) {
        self.program.write(|p| {
            if p.is_none() {
                *p = Some(program.clone());
            }
        });
    }

    /// The request is a call of this procedure.
    pub fn note_call(&self, name: &str) {
        let mut call = self.call.lock();
        call.clear();
        call.push_str(name);
    }

    /// The procedure that the request at hand, or the last one, calls; `None` for a batch.
    pub fn call(&self) -> Option<String> {
        let call = self.call.lock();
        (!call.is_empty()).then(|| call.clone())
    }

    /// The program of the request at hand, or of the last one.
    pub fn program(&self) -> Option<Arc<Program>> {
        self.program.read(Clone::clone)
    }

    /// The text of the request at hand, or of the last one, without what is secret.
    pub fn text(&self) -> Option<String> {
        self.program
            .read(|p| p.as_ref().map(|p| p.shown_text().into_owned()))
    }

    /// The open transaction's id; 0 without one.
    pub fn transaction_id(&self) -> u64 {
        self.transaction_id.load(Relaxed)
    }

    /// The session's open transaction is this one now.
    pub fn note_transaction(&self, transaction: Option<&Arc<Transaction>>) {
        let open = transaction.map_or(0, |t| t.nesting());
        self.open_transactions.store(open, Relaxed);
        self.transaction_id
            .store(transaction.map_or(0, |t| t.id), Relaxed);
        *self.transaction.lock() = transaction.cloned();
    }

    /// The transaction that the session has open.
    pub fn open_transaction(&self) -> Option<Arc<Transaction>> {
        self.transaction.lock().clone()
    }

    /// SET has changed an option.
    pub fn note_options(&self, options: &Options) {
        *self.options.lock() = options.clone();
    }

    /// SET CONTEXT_INFO, or what a session of a pool begins with.
    pub fn note_context_info(&self, info: Option<&[u8]>) {
        let info = info.map(<[u8]>::to_vec);
        self.context_info.write(|i| *i = info);
    }

    /// A statement runs with this plan, or has ended; gives back what was there.
    pub fn show_live_plan(&self, plan: Option<LivePlan>) -> Option<LivePlan> {
        self.live_plan.write(|p| std::mem::replace(p, plan))
    }

    /// What the statement at hand runs with, while that is counted.
    pub fn live_plan(&self) -> Option<LivePlan> {
        self.live_plan.read(Clone::clone)
    }

    /// So many bytes are kept between requests.
    pub fn note_memory(&self, bytes: u64) {
        self.memory.store(bytes, Relaxed);
    }

    /// Bytes that the session takes, whatever its statements hold while they run.
    pub fn memory_bytes(&self) -> u64 {
        crate::activity::SESSION_BYTES + self.memory.load(Relaxed)
    }

    /// What SET CONTEXT_INFO has said.
    pub fn context_info(&self) -> Option<Vec<u8>> {
        self.context_info.read(Clone::clone)
    }

    fn die(&self) -> bool {
        self.state
            .compare_exchange(IDLE, DEAD, AcqRel, Acquire)
            .is_ok()
    }

    /// Ends the session: what an idle one has open is given to the caller, who rolls it back and releases the locks; a
    /// running one is cancelled and does so itself (`None`).
    pub fn kill(&self) -> Option<Option<Arc<Transaction>>> {
        self.killed.store(true, Release);
        if self.die() {
            return Some(self.transaction.lock().take());
        }
        self.cancel
            .lock()
            .0
            .store(true, std::sync::atomic::Ordering::Release);
        if let Some(notify) = self.on_kill.get() {
            notify();
        }
        None
    }

    /// Whom to tell of that; of several the first.
    pub fn on_kill(&self, notify: Box<dyn Fn() + Send + Sync>) {
        // A session has one client.
        let _ = self.on_kill.set(notify);
    }

    /// A transaction of the session is being undone from now on.
    pub fn roll_back(&self, t: &Transaction) -> RollingBack<'_> {
        let undone = t.undone();
        *self.rollback.lock() = Some(Rollback {
            bytes: t.log_bytes(),
            before: undone.load(Relaxed),
            undone,
            began: now(),
        });
        RollingBack(self)
    }

    /// Where the session's thread tells that it undoes what no transaction undoes.
    pub fn conduct(&self) -> Arc<Conduct> {
        Arc::clone(&self.conduct)
    }

    /// How far the rollback is; `None`: none runs.
    pub fn rollback(&self) -> Option<RollbackProgress> {
        let rollback = self.rollback.lock();
        let of = rollback.as_ref()?;
        let percent = of.percent();
        Some(RollbackProgress {
            percent,
            remaining: left((percent * 100.0) as u32, of.began),
        })
    }

    /// A request is at work.
    pub fn is_running(&self) -> bool {
        self.state.load(Acquire) == RUNNING
    }

    pub fn is_killed(&self) -> bool {
        self.killed.load(Acquire)
    }

    pub fn is_dead(&self) -> bool {
        self.state.load(Acquire) == DEAD
    }

    pub fn set_database(&self, id: u16) {
        self.database.store(id, Relaxed);
    }

    /// The session's current database.
    pub fn database(&self) -> u16 {
        self.database.load(Relaxed)
    }

    /// The session is at this step of a program.
    pub fn at_step(&self, program: &Program, at: usize) {
        let step = (program.stats.id & u64::from(u32::MAX)) << 32 | at as u64;
        self.step.store(step, Relaxed);
    }

    /// A program begins, within what runs already; ended by [`Activity::leave`].
    pub fn enter(&self, program: &Arc<Program>) {
        let program = program.clone();
        self.frames.write(|frames| {
            if let Some(caller) = frames.last_mut() {
                caller.step = self.step.load(Relaxed);
            }
            frames.push(Frame {
                program,
                step: NOWHERE,
            });
            self.step.store(NOWHERE, Relaxed);
        });
    }

    /// The innermost program has ended: its caller goes on where it was. The outermost one stays at its last step.
    pub fn leave(&self) {
        self.frames.write(|frames| {
            let ended = frames.pop();
            if let Some(caller) = frames.last() {
                self.step.store(caller.step, Relaxed);
            }
            ended
        });
    }

    /// How many modules and strings run within each other.
    pub fn nesting(&self) -> usize {
        self.frames.read(|frames| frames.len().saturating_sub(1))
    }

    /// When the request at hand, or the last one, has begun: nanoseconds since 1970.
    pub fn started(&self) -> i64 {
        self.started.load(Relaxed)
    }

    /// What runs, innermost first, each with the step that it is at.
    pub fn stack(&self) -> Vec<At> {
        self.frames.read(|frames| {
            let now = self.step.load(Relaxed);
            let (Some(inner), Some((_, callers))) = (frames.last(), frames.split_last()) else {
                return Vec::new();
            };
            let callers = callers.iter().rev().map(|f| f.at(f.step));
            std::iter::once(inner.at(now)).chain(callers).collect()
        })
    }

    /// Whatever it runs or has run last.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        let running = self.stack().into_iter().map(|(program, _)| program);
        running.chain(self.program()).collect()
    }

    /// The innermost program of the request at hand and the step that it is at, or what the last request has run.
    pub fn statement(&self) -> Option<At> {
        let step = self.step.load(Relaxed);
        let running = self.frames.read(|f| f.last().map(|f| f.at(step)));
        running.or_else(|| {
            let program = self.program()?;
            Some(Frame { program, step }.at(step))
        })
    }

    /// The running batch is at this statement.
    pub fn at_statement(&self, kind: Kind) {
        self.advance(0.0);
        self.command.store(kind as u8, Relaxed);
        self.work.note();
    }

    /// What the request's thread has read and changed so far may be seen.
    #[inline]
    pub fn note_work(&self) {
        self.work.note();
    }

    /// The number of the session's last error that is still remembered; 0: there was none.
    pub fn last_error(&self) -> i32 {
        let age = u64::try_from(now() - self.login_time).unwrap_or(0);
        let since = duramen_os::time::now().nanos().saturating_sub(age);
        duramen_program::exceptions::last_of(self.spid.0, since / 1_000_000).unwrap_or(0)
    }

    /// The session's login has computed so many nanoseconds.
    pub fn note_login(&self, nanos: u64) {
        self.work.computed(nanos);
    }

    /// What the request at hand has taken, and the session with it. Asks the system while one runs.
    pub fn times(&self) -> (Times, Times) {
        self.work.times(self.spid)
    }

    /// How often the session's own thread has waited in the request at hand, or since the last one.
    pub fn request_switches(&self) -> u64 {
        let now = self.waits.switches().own;
        now.saturating_sub(self.work.switches_before())
    }

    /// The running statement, or the part of it that is told of, is this far.
    pub fn advance(&self, percent: f32) {
        let before = self
            .progress
            .swap((percent.clamp(0.0, 100.0) * 100.0) as u32, Relaxed);
        if percent == 0.0 || before == 0 {
            self.progress_began.store(now(), Relaxed);
        }
    }

    /// Milliseconds to the end, if it goes on as it went.
    fn remaining(&self) -> u64 {
        let percent = self.progress.load(Relaxed);
        left(percent, self.progress_began.load(Relaxed))
    }

    /// The running DBCC is at this part of a check, and this far.
    pub fn checking(&self, part: Check, percent: f32) {
        self.advance(percent);
        self.command.store(CHECKS.0 + part as u8, Relaxed);
    }

    pub fn glance(&self) -> Glance {
        let number = self.command.load(Relaxed);
        let rollback = self.rollback();
        let is_given_up = self.cancel.lock().is_set();
        let rolling_back = rollback.is_some() || self.conduct.undoes(is_given_up);
        let command = match rolling_back && self.is_killed() {
            true => "KILLED/ROLLBACK",
            false => command(number),
        };
        let progress = self.progress.load(Relaxed) as f32 / 100.0;
        Glance {
            running: self.state.load(Acquire) == RUNNING || rollback.is_some(),
            rolling_back,
            database: self.database(),
            command,
            percent: rollback.map_or(progress, |r| r.percent),
            remaining: rollback.map_or_else(|| self.remaining(), |r| r.remaining),
            started: self.started.load(Relaxed),
            ended: self.ended.load(Relaxed),
            open_transactions: self.open_transactions.load(Relaxed),
            transaction_id: self.transaction_id.load(Relaxed),
            rows: self.rows.load(Relaxed),
            request: self.work.request(),
            session: self.work.session(),
            options: self.options.lock().clone(),
        }
    }
}
