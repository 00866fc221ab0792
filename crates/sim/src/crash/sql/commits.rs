//! What was committed before power failed: what a crash comes just after, and what the next recovery has to repeat.

use duramen_base::Lsn;
use duramen_events::instance::Instance;

use super::disk::DATABASES;
use super::life::Life;
use super::matrix::Ending;
use super::world::{MASTER, World};

/// Commits that are remembered.
const MOST: usize = 100;
/// The databases that a transaction may have changed.
const LOGS: [&str; 3] = [DATABASES[0], DATABASES[1], MASTER];

/// Places in the logs of [`LOGS`]; `None` where the database is not there.
pub type Places = [Option<Lsn>; 3];

/// A commit.
pub struct Commit {
    who: usize,
    kinds: Vec<usize>,
    /// The request that committed it logged nothing before these.
    began: Places,
}

/// The ends of the logs.
pub fn ends(instance: &Instance) -> Places {
    LOGS.map(|name| {
        let open = instance.databases.find(name)?;
        Some(open.db.log()?.next_lsn())
    })
}

/// Where the next recovery begins.
fn checkpoints(instance: &Instance) -> Places {
    LOGS.map(|name| Some(instance.databases.find(name)?.db.boot().checkpoint_lsn))
}

impl Commit {
    /// Whichever log it is in, a recovery that begins there has its commit to repeat.
    fn is_behind(&self, checkpoints: &Places) -> bool {
        let mut both = self.began.iter().zip(checkpoints);
        both.all(|(began, from)| matches!((began, from), (Some(b), Some(f)) if b >= f))
    }
}

/// A session has committed statements of these kinds.
pub fn committed(life: &mut Life<'_>, who: usize, kinds: Vec<usize>) {
    life.world.matrix.count(&kinds, Ending::Commit);
    let began = life.who[who].began;
    let all = &mut life.world.committed;
    if all.len() == MOST {
        all.remove(0);
    }
    all.push(Commit { who, kinds, began });
}

impl World {
    /// Power is off. The last commit of each session has been just before; what is behind the last checkpoint waits for the
    /// recovery.
    pub fn lost_power(&mut self, instance: &Instance) {
        let commits = std::mem::take(&mut self.committed);
        for (n, c) in commits.iter().enumerate() {
            if commits[n + 1..].iter().all(|later| later.who != c.who) {
                self.matrix.count(&c.kinds, Ending::CrashAfter);
            }
        }
        let from = checkpoints(instance);
        let behind = commits.into_iter().filter(|c| c.is_behind(&from));
        self.to_repeat = behind.map(|c| c.kinds).collect();
    }

    /// A recovery that had them to repeat was cut.
    pub fn cut_recovery(&mut self) {
        for kinds in &self.to_repeat {
            self.matrix.count(kinds, Ending::CrashInRecovery);
        }
    }
}
