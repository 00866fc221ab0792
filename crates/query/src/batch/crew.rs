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
use duramen_os::sync::{Receiver, Sender, TryRecvError, TrySendError, channel};
use duramen_os::thread::{self, JoinHandle};
use duramen_types::{ConvertCtx, Value};

use super::join::{Build, Built};
use crate::cx::{Cx, cancelled};
use crate::host::{Bounds, Part, WorkerHost};
use crate::plan::Plan;

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
}

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
        }
    }

    pub(super) fn share(&mut self, join: &Plan, build: Arc<Build>) {
        self.builds.insert(address(join), build);
    }

    /// The kept sides, which nobody shares after all.
    pub(super) fn take_builds(&mut self) -> BTreeMap<usize, Built> {
        let builds = std::mem::take(&mut self.builds).into_iter();
        builds.map(|(at, b)| (at, Built::All(b))).collect()
    }

    pub(crate) fn build_of(&self, join: &Plan) -> Option<Arc<Build>> {
        self.builds.get(&address(join)).cloned()
    }

    /// Whether this is the scan whose parts are dealt out.
    pub(super) fn deals(&self, scan: &Plan) -> bool {
        self.scan == address(scan)
    }

    /// The next part of the scan that nobody has.
    pub(super) fn next_part(&self) -> Option<&Part> {
        self.parts.get(self.next.fetch_add(1, Ordering::Relaxed))
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
pub(super) struct Crew<T: Send + 'static> {
    host: Arc<dyn WorkerHost>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
    /// One for all, or one for each.
    queues: Vec<Receiver<Message<T>>>,
    /// Workers that still run, by queue.
    left: Vec<usize>,
    parallel: Option<Parallel>,
}

impl<T: Send + 'static> Crew<T> {
    /// Starts `count` workers, each with a queue of its own or all with one. Fewer when the system refuses threads.
    pub fn start<W>(task: Task, count: usize, own_queues: bool, work: W) -> SqlResult<Crew<T>>
    where
        W: Fn(&mut Cx<'_>, Give<'_, T>) -> SqlResult<()> + Send + Sync + 'static,
    {
        let mut crew = Crew {
            host: task.host.clone(),
            stop: Arc::new(AtomicBool::new(false)),
            workers: Vec::with_capacity(count),
            queues: Vec::new(),
            left: Vec::new(),
            parallel: None,
        };
        let (task, work) = (Arc::new(task), Arc::new(work));
        let mut common = None;
        for number in 1..=count as u32 {
            let to = match (own_queues, &common) {
                (false, Some(to)) => Sender::clone(to),
                _ => {
                    let (to, from) = channel(if own_queues { AHEAD } else { AHEAD * count });
                    crew.queues.push(from);
                    crew.left.push(0);
                    common = (!own_queues).then(|| to.clone());
                    to
                }
            };
            let (task, work, stop) = (task.clone(), work.clone(), crew.stop.clone());
            let started = thread::try_spawn("parallel worker", move || {
                run(&task, number, &stop, &to, &*work);
            });
            match started {
                Ok(worker) => {
                    crew.workers.push(worker);
                    if let Some(left) = crew.left.last_mut() {
                        *left += 1;
                    }
                }
                Err(_) if own_queues => {
                    crew.queues.pop();
                    crew.left.pop();
                    break;
                }
                Err(_) => break,
            }
        }
        crew.parallel = Some(duramen_observe::parallel(crew.workers.len() as u32));
        match crew.workers.is_empty() {
            true => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
            false => Ok(crew),
        }
    }

    pub fn queues(&self) -> usize {
        self.queues.len()
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
                Some(Message::Failed(e)) => {
                    self.end();
                    return Err(e);
                }
                // A worker that says nothing before it ends has panicked.
                None => {
                    self.end();
                    return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
                }
            }
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

impl<T: Send + 'static> Drop for Crew<T> {
    fn drop(&mut self) {
        self.end();
    }
}

fn run<T, W>(task: &Task, number: u32, stop: &Arc<AtomicBool>, to: &Sender<Message<T>>, work: &W)
where
    W: Fn(&mut Cx<'_>, Give<'_, T>) -> SqlResult<()>,
{
    task.host.work(number, stop, &mut |host| {
        let mut vars = task.vars.clone();
        let mut cx = Cx::new(host, &mut vars, task.convert);
        cx.dealt = Some(task.dealt.clone());
        let done = work(&mut cx, &mut |item| give(to, Message::Item(item)));
        let last = match done {
            Ok(()) => Message::Ended(cx.null_eliminated),
            Err(e) => Message::Failed(e),
        };
        // Nobody listens any more: then nobody has to know.
        let _ = give(to, last);
    });
}

fn give<T>(to: &Sender<T>, item: T) -> SqlResult<()> {
    match to.try_send(item) {
        Ok(()) => Ok(()),
        Err(TrySendError::Full(item)) => {
            let _wait = wait(WaitType::CXPACKET);
            to.send(item).map_err(|_| cancelled())
        }
        Err(TrySendError::Disconnected(_)) => Err(cancelled()),
    }
}
