//! Answers that do not rest on what somebody else has not committed.
//!
//! Names are found without waiting; where one is just being made, changed or taken away by another's transaction the answer
//! is in doubt (`duramen_catalog::doubt`). Whoever asks on a statement's behalf asks in rounds: it waits, with nothing held,
//! until that transaction has ended, and asks again. *Assumed*: as in SQL Server all isolation levels wait, but metadata
//! functions under READ UNCOMMITTED, which answer from what is committed.

use duramen_base::SqlResult;
use duramen_catalog::doubt::{self, Doubt};
use duramen_txn::{LockDuration, LockMode, Resource};

use crate::session_core::SessionCore;

/// How often a question is asked again. Each time somebody's transaction has ended meanwhile.
const ROUNDS: u32 = 100;

/// The rounds of one question. Questions may be asked within questions: the doubts of the outer one stay.
pub struct Rounds {
    outer: Option<Doubt>,
    left: u32,
}

impl Rounds {
    pub fn begin() -> Rounds {
        Rounds {
            outer: doubt::take(),
            left: ROUNDS,
        }
    }

    /// Whether the question is to be asked again, after a wait.
    #[inline]
    pub fn again(&mut self, session: &SessionCore) -> SqlResult<bool> {
        match doubt::take() {
            None => Ok(false),
            Some(doubt) => self.wait(session, doubt),
        }
    }

    #[cold]
    fn wait(&mut self, session: &SessionCore, doubt: Doubt) -> SqlResult<bool> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Ok(false);
        }
        if let Doubt::Until(resource) = doubt {
            session.wait_for_definition(&resource)?;
        }
        Ok(true)
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        doubt::clear();
        doubt::put_back(self.outer.take());
    }
}

impl SessionCore {
    /// Asks until the answer is in no doubt.
    pub fn settled<T>(&self, mut ask: impl FnMut() -> SqlResult<T>) -> SqlResult<T> {
        let mut rounds = Rounds::begin();
        loop {
            let answer = ask();
            if !rounds.again(self)? {
                return answer;
            }
        }
    }

    /// Waits until nobody is changing what the resource stands for.
    fn wait_for_definition(&self, resource: &Resource) -> SqlResult<()> {
        let timeout = u64::try_from(self.options.lock_timeout);
        let timeout = timeout.ok().map(std::time::Duration::from_millis);
        let (mode, duration) = (LockMode::SchS, LockDuration::Instant);
        let locks = &self.instance.locks;
        match locks.lock(&self.owner, resource, mode, duration, timeout) {
            Ok(_) => Ok(()),
            Err(e) => Err(duramen_txn::errors::lock_error(e, self.spid)
                .unwrap_or_else(duramen_query::cancelled)),
        }
    }
}
