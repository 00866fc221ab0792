//! A failing story made short: steps, then statements of batches, then rows are left out as long as the finding stays: it is
//! of the same class, and the model's opinion has the same grounds. A name that nobody has made is refused for its own sake.

use super::step::{Effect, Form, Step};
use super::{Failure, run_steps};

struct Hunt {
    seed: u64,
    left: u32,
    best: Failure,
}

pub fn shrink(seed: u64, failure: Failure, runs: u32) -> Failure {
    let steps = failure.steps.clone();
    let mut hunt = Hunt {
        seed,
        left: runs,
        best: failure,
    };
    // The given steps may not find it again (what was not waited for may come otherwise); then they stay as they are.
    if !hunt.has(&steps) {
        return hunt.best;
    }
    loop {
        let before = (hunt.best.steps.len(), size(&hunt.best.steps));
        hunt.fewer_steps();
        hunt.simpler_steps();
        if (hunt.best.steps.len(), size(&hunt.best.steps)) == before || hunt.left == 0 {
            return hunt.best;
        }
    }
}

fn size(steps: &[Step]) -> usize {
    steps.iter().map(|s| s.show().len()).sum()
}

impl Hunt {
    /// Whether these steps have the same finding; then they are the best.
    fn has(&mut self, steps: &[Step]) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match run_steps(self.seed, steps) {
            Err(found) if found.fault.is_like(&self.best.fault) => {
                // What was left out because it made no sense any more is gone.
                self.best = found;
                true
            }
            _ => false,
        }
    }

    fn fewer_steps(&mut self) {
        let mut chunk = self.best.steps.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < self.best.steps.len() && self.left > 0 {
                let mut steps = self.best.steps.clone();
                steps.drain(at..(at + chunk).min(steps.len()));
                if !self.has(&steps) {
                    at += chunk;
                }
            }
            if chunk == 1 || self.left == 0 {
                return;
            }
            chunk = chunk.div_ceil(2);
        }
    }

    fn simpler_steps(&mut self) {
        let mut at = 0;
        while at < self.best.steps.len() && self.left > 0 {
            for simpler in simpler(&self.best.steps[at]) {
                let mut steps = self.best.steps.clone();
                steps[at] = simpler;
                if self.has(&steps) {
                    break;
                }
            }
            at += 1;
        }
    }
}

/// Forms of a step with less in it.
fn simpler(step: &Step) -> Vec<Step> {
    let mut out = Vec::new();
    match step {
        Step::Run { who, batch, on } => {
            if *on {
                out.push(Step::Run {
                    who: *who,
                    batch: batch.clone(),
                    on: false,
                });
            }
            if batch.stmts.len() > 1 {
                for n in 0..batch.stmts.len() {
                    let mut less = batch.clone();
                    less.stmts.remove(n);
                    if less.stmts.len() == 1 && !matches!(less.stmts[0].effect, Effect::Fails(_)) {
                        let mut plain = less.clone();
                        plain.form = Form::Plain;
                        out.push(Step::Run {
                            who: *who,
                            batch: plain,
                            on: *on,
                        });
                    }
                    out.push(Step::Run {
                        who: *who,
                        batch: less,
                        on: *on,
                    });
                }
            }
            let is_string = batch.stmts.len() == 1 && batch.stmts[0].is_string();
            if is_string {
                let mut bare = batch.clone();
                let sql = &batch.stmts[0].sql;
                bare.stmts[0].sql = sql[6..sql.len() - 2].replace("''", "'");
                out.push(Step::Run {
                    who: *who,
                    batch: bare,
                    on: *on,
                });
            }
        }
        Step::Down { cuts } if !cuts.is_empty() => {
            out.push(Step::Down { cuts: Vec::new() });
            if cuts.len() > 1 {
                out.push(Step::Down {
                    cuts: vec![cuts[0]],
                });
            }
        }
        _ => {}
    }
    out
}
