//! Backups with log backups that follow them, restored step by step: each waits for the next, at times for long, at times over
//! a failure of power, and at times nobody goes on.

use super::Generator;
use super::aims::{meet, run};
use crate::crash::sql::disk::DATABASES;
use crate::crash::sql::kinds::K;
use crate::crash::sql::life::Life;
use crate::crash::sql::matrix::Ending;
use crate::crash::sql::restores::ROLLED;
use crate::crash::sql::step::{Batch, Effect, Step};

/// A step of a restore.
fn roll(who: usize, files: &[String], last: bool) -> Step {
    let from = DATABASES[0];
    let file = files.last().map_or("", String::as_str);
    let sql = match files.len() {
        1 => format!(
            "RESTORE DATABASE {ROLLED} FROM DISK = '{file}' WITH REPLACE, NORECOVERY, \
             MOVE '{from}' TO '/data/{ROLLED}.mdf', MOVE '{from}_log' TO '/data/{ROLLED}.ldf'"
        ),
        _ => {
            let no = if last { "" } else { "NO" };
            format!("RESTORE LOG {ROLLED} FROM DISK = '{file}' WITH {no}RECOVERY")
        }
    };
    let files = files.to_vec();
    run(who, &sql, Effect::Rolls { files, last })
}

impl Generator {
    /// A RESTORE LOG that comes to this end, and what it needs before it.
    pub(super) fn roll_forward(
        &mut self,
        life: &Life<'_>,
        (who, other): (usize, usize),
        ending: Option<Ending>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        let rolling = life.world.rolling.as_ref();
        // What is there goes on from where it is.
        let mut at = rolling.map_or(0, |r| r.files.len());
        let follows = |files: &Vec<String>| {
            let mut next = files.clone();
            next.truncate(at + 1);
            at > 0 && files.len() > at && rolling.is_some_and(|r| r.takes(&next))
        };
        let kept: Vec<Vec<String>> = life
            .world
            .backups
            .values()
            .map(|k| k.files.clone())
            .collect();
        let next: Vec<Vec<String>> = kept.iter().filter(|f| follows(f)).cloned().collect();
        let chains: Vec<Vec<String>> = kept.into_iter().filter(|f| f.len() > 1).collect();
        let files = match (self.rng.choose(&next), self.rng.choose(&chains)) {
            (Some(files), _) => files.clone(),
            (None, Some(files)) if self.rng.below(4) > 0 => {
                at = 0;
                files.clone()
            }
            _ => {
                at = 0;
                self.chain(life, who, &mut steps)
            }
        };
        // The step that the ending is about.
        let aim = at.max(1) + self.rng.below((files.len() - at.max(1)) as u64) as usize;
        for n in at..aim {
            steps.push(roll(who, &files[..=n], false));
            if self.rng.one_in(12) {
                steps.push(Step::Down { cuts: Vec::new() });
            }
        }
        let last = self.rng.one_in(3);
        let step = roll(who, &files[..=aim], last);
        steps.extend(self.alone((who, other), K::RestoreLog, step.clone(), ending));
        match self.rng.below(4) {
            // Nobody goes on until the next step.
            0 => {}
            // What was cut is done again.
            1 => steps.push(step),
            _ => {
                steps.push(step);
                for n in aim + 1..files.len() {
                    steps.push(roll(who, &files[..=n], n + 1 == files.len()));
                }
                let sql = format!("RESTORE DATABASE {ROLLED} WITH RECOVERY");
                steps.push(run(who, &sql, Effect::Recovers));
            }
        }
        steps
    }

    /// A backup, changes, and backups of the log: their files.
    fn chain(&mut self, life: &Life<'_>, who: usize, steps: &mut Vec<Step>) -> Vec<String> {
        let mut files = life.world.chain.clone();
        let do_it = |batch: Batch| Step::Run {
            who,
            batch,
            on: false,
        };
        if files.is_empty() || self.rng.one_in(4) {
            let mut before = self.chained();
            let last = before.last().map(|b| b.stmts[0].effect.clone());
            if let Some(Effect::Backup { path, .. }) = last {
                files = vec![path];
            }
            steps.extend(before.drain(..).map(do_it));
        }
        for _ in 0..1 + self.rng.below(3) {
            if self.rng.one_in(2) {
                steps.push(meet(who, 1 + self.rng.below(2) as u32));
            }
            let batch = self.back_up_log();
            if let Effect::BackupLog(path, _) = &batch.stmts[0].effect {
                files.push(path.clone());
            }
            steps.push(do_it(batch));
        }
        files
    }
}
