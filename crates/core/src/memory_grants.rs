//! Grants of memory: what a statement asks for before it runs that is expected to keep many rows.
//!
//! The server's [`Workspace`] is lent out to statements in the order in which they ask. One that is not granted what it asks
//! for waits (RESOURCE_SEMAPHORE), can be cancelled at once, and gives up after its time with error 8645; what could never be
//! granted is error 8657. Statements that keep little ask for nothing, and a statement within another (a trigger's, a
//! function's) uses what that one was granted: nobody waits for memory while it holds some.
//!
//! A grant is where a statement begins, not where it ends: operators borrow beyond it as long as there is more that nobody
//! was granted ([`Workspace::grant`]), up to MAX_GRANT_PERCENT, and what they find no room for they write to files.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::planted::{self, Bug};
use duramen_base::{SessionId, SqlError, SqlResult, messages};
use duramen_observe::{WaitType, wait};
use duramen_os::sync::{Condvar, Mutex};
use duramen_os::time;
use duramen_planner::Wanted;
use duramen_query::spill::Workspace;

use duramen_access::cancel::CancelToken;

/// A statement that would keep less asks for nothing. *Assumed*.
const SMALL: u64 = 1 << 20;
/// Of the workspace, what a statement is granted at most unless it says otherwise: the default of a workload group.
const PERCENT: f64 = 25.0;
/// What an operator cannot do without.
const LEAST: u64 = 64 << 10;
/// How long it is waited for memory: 25 times the estimated cost in seconds, as SQL Server's `query wait` does, but so long at
/// least and at most (*assumed*: costs are low here).
const WAITS: (f64, f64) = (60.0, 86_400.0);
/// Between two looks at whether the statement is still wanted, and whether operators have given memory back.
const LOOK: Duration = Duration::from_millis(10);

/// MIN_GRANT_PERCENT and MAX_GRANT_PERCENT.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percents {
    pub least: Option<f64>,
    pub most: Option<f64>,
}

/// A statement that waits for memory, or has been granted some.
#[derive(Debug)]
pub struct Asked {
    pub session: SessionId,
    /// Bytes.
    pub requested: u64,
    pub required: u64,
    pub ideal: u64,
    pub cost: f64,
    pub parallel: bool,
    /// Nanoseconds since 1970.
    pub since: i64,
    /// 0: not yet.
    granted_at: AtomicI64,
    pub timeout: Duration,
    lent: Mutex<Option<Arc<Workspace>>>,
}

impl Asked {
    /// When it was granted, and what: bytes by now, in use, and the most in use.
    pub fn granted(&self) -> Option<(i64, [u64; 3])> {
        let lent = self.lent.lock().clone()?;
        let (granted, most) = lent.granted();
        let figures = [granted as u64, lent.used() as u64, most as u64];
        Some((self.granted_at.load(Relaxed), figures))
    }
}

/// A grant; given back when it goes.
#[derive(Debug)]
pub struct MemoryGrant {
    of: Arc<Semaphore>,
    asked: Arc<Asked>,
    pub workspace: Arc<Workspace>,
}

impl Drop for MemoryGrant {
    fn drop(&mut self) {
        if let Some((_, [granted, _, most])) = self.asked.granted() {
            duramen_observe::note_grant(duramen_observe::Granted {
                granted,
                used: most,
                ideal: self.asked.ideal,
            });
        }
        if planted::on(Bug::GrantKept) {
            std::mem::forget(self.workspace.clone());
        }
        *self.asked.lent.lock() = None;
        let mut state = self.of.state.lock();
        let before = state.granted.len();
        state.granted.retain(|a| !Arc::ptr_eq(a, &self.asked));
        debug_assert!(
            state.granted.len() + 1 == before,
            "memory_grants/1: a grant is given back twice, or was none"
        );
    }
}

/// Who waits, in order, and who has been granted.
#[derive(Debug, Default)]
struct State {
    waiting: Vec<Arc<Asked>>,
    granted: Vec<Arc<Asked>>,
}

/// See the module.
#[derive(Debug)]
pub struct Semaphore {
    workspace: Arc<Workspace>,
    state: Mutex<State>,
    freed: Condvar,
    timeouts: AtomicU64,
    grants: AtomicU64,
}

impl Semaphore {
    pub fn new(workspace: &Arc<Workspace>) -> Arc<Semaphore> {
        Arc::new(Semaphore {
            workspace: workspace.clone(),
            state: Mutex::default(),
            freed: Condvar::new(),
            timeouts: AtomicU64::new(0),
            grants: AtomicU64::new(0),
        })
    }

    /// Statements that waited too long, and those that were granted memory, since the start.
    pub fn counts(&self) -> (u64, u64) {
        (self.timeouts.load(Relaxed), self.grants.load(Relaxed))
    }

    /// Who waits, in order, and who has been granted.
    pub fn all(&self) -> (Vec<Arc<Asked>>, Vec<Arc<Asked>>) {
        let state = self.state.lock();
        (state.waiting.clone(), state.granted.clone())
    }

    /// Whether a statement has to ask.
    pub fn is_asked(wanted: &Wanted, percents: Percents) -> bool {
        wanted.ideal >= SMALL || percents != Percents::default()
    }

    /// Asks for what a statement wants, and waits for it.
    pub fn ask(
        self: &Arc<Self>,
        session: SessionId,
        wanted: &Wanted,
        percents: Percents,
        cancel: &CancelToken,
    ) -> SqlResult<MemoryGrant> {
        let seconds = (wanted.cost * 25.0).clamp(WAITS.0, WAITS.1);
        let timeout = Duration::from_secs_f64(seconds);
        self.ask_for((session, timeout), wanted, percents, cancel)
    }

    fn ask_for(
        self: &Arc<Self>,
        (session, timeout): (SessionId, Duration),
        wanted: &Wanted,
        percents: Percents,
        cancel: &CancelToken,
    ) -> SqlResult<MemoryGrant> {
        let all = self.workspace.limit() as u64;
        let share = |percent: f64| (all as f64 / 100.0 * percent) as u64;
        let required = wanted.operators.saturating_mul(LEAST);
        if required > all {
            return Err(too_large(required));
        }
        let most = share(percents.most.unwrap_or(PERCENT)).max(required);
        let least = percents.least.map_or(0, share).min(all);
        let requested = wanted.ideal.max(required).min(most).max(least);
        debug_assert!(
            requested >= required && requested <= all,
            "memory_grants/2: {requested} bytes are asked for where {all} are"
        );
        let asked = Arc::new(Asked {
            session,
            requested,
            required,
            ideal: wanted.ideal.max(required),
            cost: wanted.cost,
            parallel: wanted.parallel,
            since: time::wall().unix_nanos() as i64,
            granted_at: AtomicI64::new(0),
            timeout,
            lent: Mutex::new(None),
        });
        // Without a hint what is beyond the grant may be used, too, as long as nobody else asks for it.
        let limit = match percents.most {
            Some(_) => most.max(requested),
            None => all,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let bytes = usize::try_from(requested).unwrap_or(usize::MAX);
        let grant = || self.workspace.grant(bytes, limit);
        let mut state = self.state.lock();
        let lent = match state.waiting.is_empty() {
            true => grant(),
            false => None,
        };
        let workspace = match lent {
            Some(lent) => lent,
            None => {
                state.waiting.push(asked.clone());
                let _wait = wait(WaitType::RESOURCE_SEMAPHORE);
                let began = time::now();
                let found = loop {
                    let next = state
                        .waiting
                        .first()
                        .is_some_and(|a| Arc::ptr_eq(a, &asked));
                    if let Some(lent) = next.then(grant).flatten() {
                        break Ok(lent);
                    }
                    if cancel.is_set() {
                        break Err(duramen_query::cancelled());
                    }
                    if began.elapsed() >= asked.timeout {
                        self.timeouts.fetch_add(1, Relaxed);
                        break Err(waited_too_long());
                    }
                    self.freed.wait_for(&mut state, LOOK);
                };
                let line = state.waiting.len();
                state.waiting.retain(|a| !Arc::ptr_eq(a, &asked));
                debug_assert!(
                    state.waiting.len() + 1 == line,
                    "memory_grants/3: who waits in line is not in it, or twice"
                );
                self.freed.notify_all();
                found?
            }
        };
        let now = time::wall().unix_nanos() as i64;
        asked.granted_at.store(now, Relaxed);
        *asked.lent.lock() = Some(workspace.clone());
        state.granted.push(asked.clone());
        drop(state);
        self.grants.fetch_add(1, Relaxed);
        Ok(MemoryGrant {
            of: self.clone(),
            asked,
            workspace,
        })
    }
}

/// 8657
fn too_large(bytes: u64) -> SqlError {
    let kb = bytes.div_ceil(1024);
    let args: [&dyn std::fmt::Display; 5] = [&kb, &"default", &2, &"default", &2];
    SqlError::new(&messages::GRANT_TOO_LARGE, &args)
}

/// 8645
fn waited_too_long() -> SqlError {
    SqlError::new(&messages::GRANT_TIMEOUT, &[&"default", &2])
}

#[cfg(test)]
mod tests {
    use duramen_os::thread;

    use super::*;

    const MB: u64 = 1 << 20;

    fn wanted(ideal: u64, operators: u64) -> Wanted {
        Wanted {
            ideal,
            operators,
            cost: 0.0,
            parallel: false,
        }
    }

    fn ask(of: &Arc<Semaphore>, ideal: u64, percents: Percents) -> SqlResult<MemoryGrant> {
        let none = CancelToken::default();
        of.ask(SessionId(60), &wanted(ideal, 2), percents, &none)
    }

    #[test]
    fn who_asks_is_granted_a_share_and_what_the_hints_say() {
        let workspace = Workspace::new(100 << 20);
        let all = Semaphore::new(&workspace);
        let usual = ask(&all, 90 * MB, Percents::default()).unwrap();
        assert_eq!(workspace.used() as u64, 25 * MB);
        let hint = |least: Option<f64>, most: Option<f64>| Percents { least, most };
        let much = ask(&all, 90 * MB, hint(None, Some(40.0))).unwrap();
        assert_eq!(workspace.used() as u64, 65 * MB);
        let more = ask(&all, 2 * MB, hint(Some(10.0), None)).unwrap();
        assert_eq!(workspace.used() as u64, 75 * MB);
        let little = ask(&all, 90 * MB, hint(None, Some(0.0))).unwrap();
        assert_eq!(workspace.used() as u64, 75 * MB + 2 * LEAST);
        assert_eq!(all.all().1.len(), 4);
        drop((usual, much, more, little));
        assert_eq!((workspace.used(), all.all().1.len()), (0, 0));
        let never = all.ask(
            SessionId(60),
            &wanted(90 * MB, 2000),
            Percents::default(),
            &CancelToken::default(),
        );
        assert_eq!(never.unwrap_err().number, 8657);
    }

    #[test]
    fn who_finds_it_lent_out_waits_in_line_and_can_be_cancelled() {
        let workspace = Workspace::new(100 << 20);
        let all = Semaphore::new(&workspace);
        let most = Percents {
            least: Some(100.0),
            most: Some(100.0),
        };
        let first = ask(&all, 100 * MB, most).unwrap();
        let cancel = CancelToken::default();
        let (others, token) = (all.clone(), cancel.clone());
        let waits = thread::spawn("waits", move || {
            let wanted = wanted(100 * MB, 2);
            let asked = others.ask(SessionId(61), &wanted, most, &token);
            asked.map(|_| ()).map_err(|e| e.number)
        });
        let others = all.clone();
        let next = thread::spawn("next", move || {
            while others.all().0.is_empty() {
                thread::sleep(Duration::from_millis(1));
            }
            ask(&others, 2 * MB, Percents::default()).map(|g| g.workspace.granted().0)
        });
        while all.all().0.len() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let short = (SessionId(62), Duration::from_millis(30));
        let late = all.ask_for(short, &wanted(2 * MB, 2), most, &CancelToken::default());
        assert_eq!(late.unwrap_err().number, 8645);
        assert_eq!((all.counts().0, all.all().0.len()), (1, 2));
        cancel.0.store(true, Relaxed);
        assert_eq!(waits.join().unwrap(), Err(0));
        assert_eq!(all.all().0.len(), 1);
        drop(first);
        assert_eq!(next.join().unwrap().unwrap() as u64, 2 * MB);
        assert_eq!((workspace.used(), all.all().0.len()), (0, 0));
    }
}
