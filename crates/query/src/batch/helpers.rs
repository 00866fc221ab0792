//! The threads of a parallel part of a plan, and the queues between them and the thread that runs the statement.
//!
//! Every worker runs the same plan over parts of one scan, which it takes from a common list until there are none left.
//! What it makes goes through a bounded queue: it waits (CXPACKET) while nobody takes it, and who takes it waits
//! (CXCONSUMER) while there is nothing. The first error is the statement's: the others are told to stop, and nobody goes
//! on before all have ended, so that no thread ever works for a statement that is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::{Parallel, WaitType, wait};
use duramen_os::sync::{Mutex, Receiver, Sender, TryRecvError, TrySendError, channel};
use duramen_os::thread::{self, JoinHandle};
use duramen_types::{ConvertCtx, Value};

use super::built::{Build, Built};
use crate::children::each_input;
use crate::cx::{Cx, cancelled};
use crate::host::{Bounds, Part, WorkerHost};
use crate::in_list::InList;
use crate::plan::{Plan, Row};
use crate::profile::Profile;

/// Items that a worker may be ahead.
const AHEAD: usize = 8;

/// What the workers of one parallel part share.
pub struct Dealt {
    /// The scan that is cut, by its address in the plan.
    scan: usize,
    pub(super) bounds: Option<Bounds>,
    parts: Vec<Part>,
    next: AtomicUsize,
    /// The kept sides of joins, by the addresses of the joins.
    builds: BTreeMap<usize, Arc<Build>>,
    /// No batch has rows of two parts: [`Cx::part`] says of which its rows are.
    pub(super) by_part: bool,
    /// The rows of subqueries that look at no row outside, by plan address.
    once: Mutex<BTreeMap<usize, Arc<Once<Vec<Row>>>>>,
    /// The values of those behind IN.
    lists: Mutex<BTreeMap<usize, Arc<Once<InList>>>>,
}

/// What one thread finds for all; its lock is held meanwhile.
type Once<T> = Mutex<Option<Arc<T>>>;

pub(crate) fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

impl Dealt {
    pub(super) fn new(scan: &Plan, bounds: Option<Bounds>, parts: Vec<Part>) -> Dealt {
        Dealt {
            scan: address(scan),
            bounds,
            parts,
            next: AtomicUsize::new(0),
            builds: BTreeMap::new(),
            by_part: false,
            once: Mutex::default(),
            lists: Mutex::default(),
        }
    }

    /// Where the rows of that subquery are to be found, or put. A subquery within another is locked after it.
    pub(crate) fn once(&self, subquery: usize) -> Arc<Once<Vec<Row>>> {
        self.once.lock().entry(subquery).or_default().clone()
    }

    /// The same of the values of one behind IN.
    pub(crate) fn list_once(&self, subquery: usize) -> Arc<Once<InList>> {
        self.lists.lock().entry(subquery).or_default().clone()
    }

    /// Whether the scan is a part of this plan.
    pub(super) fn is_below(&self, plan: &Plan) -> bool {
        let mut found = self.deals(plan);
        each_input(&plan.node, &mut |p| found = found || self.is_below(p));
        found
    }

    pub(super) fn share(&mut self, join: &Plan, build: Arc<Build>) {
        self.builds.insert(address(join), build);
    }

    pub(super) fn each_build(&self, f: &mut dyn FnMut(usize, &Build)) {
        self.builds.iter().for_each(|(at, build)| f(*at, build));
    }

    /// The kept sides, which nobody shares after all.
    pub(super) fn take_builds(&mut self) -> BTreeMap<usize, (bool, Built)> {
        let builds = std::mem::take(&mut self.builds).into_iter();
        builds
            .map(|(at, b)| (at, (b.left, Built::All(b))))
            .collect()
    }

    pub(crate) fn build_of(&self, join: &Plan) -> Option<Arc<Build>> {
        self.builds.get(&address(join)).cloned()
    }

    /// Whether this is the scan whose parts are dealt out.
    pub(super) fn deals(&self, scan: &Plan) -> bool {
        self.scan == address(scan)
    }

    /// The next part of the scan that nobody has, with its number.
    pub(super) fn next_part(&self) -> Option<(usize, &Part)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.parts.get(at).map(|part| (at, part))
    }

    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }
}

/// What a worker's statement is.
pub(super) struct Task {
    pub host: Arc<dyn WorkerHost>,
    pub dealt: Arc<Dealt>,
    pub vars: Vec<Value>,
    pub convert: ConvertCtx,
    /// Threads that do the same thing, at most.
    pub degree: usize,
    pub profile: Option<Arc<Profile>>,
}

enum Message<T> {
    Item(T),
    /// The worker has done all; whether an aggregate met a NULL.
    Ended(bool),
    Failed(SqlError),
}

/// Where a worker puts what it makes. An error: nobody wants it any more.
pub(super) type Give<'g, T> = &'g mut dyn FnMut(T) -> SqlResult<()>;

/// Running workers.
pub(super) struct Helpers<T: Send + 'static> {
    host: Arc<dyn WorkerHost>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
    /// One for all, or one for each.
    queues: Vec<Receiver<Message<T>>>,
    /// Workers that still run, by queue.
    left: Vec<usize>,
    /// The first error of a worker that is more than the end that it was told.
    error: Arc<Mutex<Option<SqlError>>>,
    parallel: Option<Parallel>,
}

impl<T: Send + 'static> Helpers<T> {
    /// Starts `count` workers, each with a queue of its own or all with one. Fewer when the system refuses threads. `work` is
    /// told the worker's number, from 1.
    pub fn start<W>(task: Task, count: usize, own_queues: bool, work: W) -> SqlResult<Helpers<T>>
    where
        W: Fn(u32, &mut Cx<'_>, Give<'_, T>) -> SqlResult<()> + Send + Sync + 'static,
    {
        let mut helpers = Helpers {
            host: task.host.clone(),
            stop: Arc::new(AtomicBool::new(false)),
            workers: Vec::with_capacity(count),
            queues: Vec::new(),
            left: Vec::new(),
            error: Arc::default(),
            parallel: None,
        };
        let degree = task.degree;
        let (task, work) = (Arc::new(task), Arc::new(work));
        let mut common = None;
        for number in 1..=count as u32 {
            let to = match (own_queues, &common) {
                (false, Some(to)) => Sender::clone(to),
                _ => {
                    let (to, from) = channel(if own_queues { AHEAD } else { AHEAD * count });
                    helpers.queues.push(from);
                    helpers.left.push(0);
                    common = (!own_queues).then(|| to.clone());
                    to
                }
            };
            let (task, work) = (task.clone(), work.clone());
            let (stop, error) = (helpers.stop.clone(), helpers.error.clone());
            let flag = thread::given_up_flag();
            let started = thread::try_spawn("parallel worker", move || {
                let _listening = flag.map(thread::listen_to);
                run(&task, number, (&stop, &error), &to, &*work);
            });
            match started {
                Ok(worker) => {
                    helpers.workers.push(worker);
                    if let Some(left) = helpers.left.last_mut() {
                        *left += 1;
                    }
                }
                Err(_) if own_queues => {
                    helpers.queues.pop();
                    helpers.left.pop();
                    break;
                }
                Err(_) => break,
            }
        }
        helpers.parallel = Some(duramen_observe::parallel(
            helpers.workers.len().min(degree) as u32
        ));
        match helpers.workers.is_empty() {
            true => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
            false => Ok(helpers),
        }
    }

    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// The next item of a queue; `None` when its workers have made their last.
    pub fn next(&mut self, queue: usize, cx: &mut Cx<'_>) -> SqlResult<Option<T>> {
        loop {
            if self.left.get(queue).is_none_or(|left| *left == 0) {
                if self.left.iter().all(|left| *left == 0) {
                    self.end();
                }
                return Ok(None);
            }
            let received = match self.queues[queue].try_recv() {
                Ok(message) => Some(message),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => {
                    let _wait = wait(WaitType::CXCONSUMER);
                    self.queues[queue].recv().ok()
                }
            };
            match received {
                Some(Message::Item(item)) => return Ok(Some(item)),
                Some(Message::Ended(nulls)) => {
                    cx.null_eliminated |= nulls;
                    self.left[queue] -= 1;
                }
                Some(Message::Failed(e)) => return Err(self.failed(e)),
                // A worker that says nothing before it ends has panicked.
                None => {
                    self.end();
                    return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
                }
            }
        }
    }

    /// A worker has failed: ends all. One that found the way to another closed has only been told to end, by one that knows
    /// the error.
    fn failed(&mut self, first: SqlError) -> SqlError {
        self.end();
        match first.number {
            0 => self.error.lock().take().unwrap_or(first),
            _ => first,
        }
    }

    /// Nobody wants more: waits until every worker has ended.
    fn end(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.queues.clear();
        self.left.clear();
        if self.workers.is_empty() {
            return;
        }
        for worker in self.workers.drain(..) {
            // What it says of a panic has been told by its queue.
            let _ = worker.join();
        }
        self.parallel = None;
        self.host.collect();
    }
}

impl<T: Send + 'static> Drop for Helpers<T> {
    fn drop(&mut self) {
        let _others = thread::others();
        self.end();
    }
}

fn run<T, W>(
    task: &Task,
    number: u32,
    (stop, error): (&Arc<AtomicBool>, &Mutex<Option<SqlError>>),
    to: &Sender<Message<T>>,
    work: &W,
) where
    W: Fn(u32, &mut Cx<'_>, Give<'_, T>) -> SqlResult<()>,
{
    task.host.work(number, stop, &mut |host| {
        let mut vars = task.vars.clone();
        let mut cx = Cx::new(host, &mut vars, task.convert);
        cx.dealt = Some(task.dealt.clone());
        cx.profile.clone_from(&task.profile);
        cx.thread = number;
        let done = work(number, &mut cx, &mut |item| give(to, Message::Item(item)));
        let last = match done {
            Ok(()) => Message::Ended(cx.null_eliminated),
            Err(e) => {
                if e.number != 0 {
                    error.lock().get_or_insert_with(|| e.clone());
                }
                Message::Failed(e)
            }
        };
        // Nobody listens any more: then nobody has to know.
        let _ = give(to, last);
    });
}

/// Puts an item into a queue. An error: nobody takes it any more.
pub(super) fn give<T>(to: &Sender<T>, item: T) -> SqlResult<()> {
    match to.try_send(item) {
        Ok(()) => Ok(()),
        Err(TrySendError::Full(item)) => {
            let _wait = wait(WaitType::CXPACKET);
            to.send(item).map_err(|_| cancelled())
        }
        Err(TrySendError::Disconnected(_)) => Err(cancelled()),
    }
}
