//! Runs trials round after round and keeps what they give; finds what fits a budget: fewer experiments and smaller ones, never
//! fewer repeats.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::experiment::{Experiment, Trial};
use crate::machine::free_bytes;
use crate::measure::{Snapshot, log_shape};
use crate::progress::Live;
use crate::record::{self, Outcome, Samples, Skipped};
use crate::sampler::Sampler;
#[cfg(doc)]
use crate::spread::REPEATS;
use crate::target::Target;

/// Space that stays free on the disk, whatever a trial wants.
const SPARE_BYTES: f64 = 512e6;
/// Of the time that is left, what a second pilot may take.
const SECOND_PILOT_SHARE: f64 = 0.1;
/// Of the time that is left, what is planned for.
const MARGIN: f64 = 0.9;
/// Of a budget, what no experiment is given: the last one has nobody behind it who could take less.
const RESERVE: f64 = 0.05;

/// How much of the work is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// A fixed part of the published work.
    Scale(f64),
    /// What fits.
    Budget { time: Duration, bytes: f64 },
}

/// What a pilot tells: what does not shrink with the work, and what does (at full scale).
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub fixed_s: f64,
    pub full_s: f64,
}

impl Estimate {
    /// What two runs tell, each its scale and its seconds; `None` when the greater one took no longer.
    pub fn between(small: (f64, f64), great: (f64, f64)) -> Option<Estimate> {
        let full_s = (great.1 - small.1) / (great.0 - small.0);
        let fixed_s = (small.1 - full_s * small.0).max(0.0);
        (full_s > 0.0).then_some(Estimate { fixed_s, full_s })
    }

    pub fn seconds(&self, scale: f64) -> f64 {
        self.fixed_s + self.full_s * scale
    }

    /// The greatest scale, at most 1, whose run takes at most so long.
    pub fn scale_for(&self, seconds: f64) -> f64 {
        ((seconds - self.fixed_s) / self.full_s.max(1e-9)).min(1.0)
    }
}

pub struct Runner {
    pub target: Target,
    pub live: Live,
    /// Where the samples are written as they come.
    pub out: PathBuf,
    /// Where servers of our own keep their files.
    pub below: PathBuf,
    /// How often each trial is run, at least [`REPEATS`].
    pub repeats: u32,
}

/// What fits into a budget: an experiment, and what its pilot has told.
struct Planned<'a> {
    at: usize,
    experiment: &'a Experiment,
    estimate: Estimate,
    pilot_s: f64,
}

impl Runner {
    /// Runs the experiments; what fails is in the outcome's list of skipped trials with its error.
    pub fn run(&mut self, list: &[&Experiment], extent: Extent) -> Vec<Outcome> {
        match extent {
            Extent::Scale(scale) => {
                let rounds = self.repeats;
                let run = |e: &&Experiment| self.experiment(e, scale, f64::INFINITY, rounds);
                list.iter().map(run).collect()
            }
            Extent::Budget { time, bytes } => {
                let seconds = time.mul_f64(1.0 - RESERVE).as_secs_f64();
                self.within_budget(list, seconds, bytes)
            }
        }
    }

    /// As many of the experiments as there is time for, the first of the list first: what does not fit is left out by
    /// name, and what fits is run as often as it must be.
    fn within_budget(&mut self, list: &[&Experiment], seconds: f64, bytes: f64) -> Vec<Outcome> {
        let began = Instant::now();
        let left = || seconds - began.elapsed().as_secs_f64();
        let rounds = f64::from(self.repeats);
        let mut outcomes: Vec<Outcome> = list.iter().map(|e| nothing_of(e, 0.0)).collect();
        let mut planned: Vec<Planned> = Vec::new();
        let least = |planned: &[Planned]| planned.iter().map(|p| p.pilot_s * rounds).sum::<f64>();
        for (at, experiment) in list.iter().enumerate() {
            let free = left() * MARGIN - least(&planned);
            let shortest = planned.iter().map(|p| p.pilot_s).reduce(f64::min);
            if shortest.is_some_and(|s| free < s * (rounds + 1.0)) {
                outcomes[at].skipped.push(no_time(self.repeats, None, free));
                continue;
            }
            let (pilot, estimate) = self.pilot(experiment, bytes);
            let free = left() * MARGIN - least(&planned);
            if pilot.seconds * rounds > free {
                let wanted = Some(pilot.seconds * rounds);
                outcomes[at]
                    .skipped
                    .push(no_time(self.repeats, wanted, free));
                continue;
            }
            planned.push(Planned {
                at,
                experiment,
                estimate,
                pilot_s: pilot.seconds,
            });
        }
        // From the last to the first: what one takes longer than was planned, those after it have less, and the
        // first of the list are those whose time grows most evenly with their work.
        while let Some(last) = planned.pop() {
            let own = last.pilot_s * rounds;
            let weights =
                last.experiment.weight + planned.iter().map(|p| p.experiment.weight).sum::<f64>();
            let spare = (left() - own - least(&planned)).max(0.0);
            let share = own + spare * last.experiment.weight / weights;
            outcomes[last.at] = self.within(&last, share, bytes);
        }
        outcomes
    }

    /// Runs another pilot, where that is worth its time, then the most of the work that fits into so many seconds and
    /// bytes as often as it must be.
    fn within(&mut self, planned: &Planned<'_>, seconds: f64, bytes: f64) -> Outcome {
        let began = Instant::now();
        let (experiment, mut estimate) = (planned.experiment, planned.estimate);
        let a_round = |began: &Instant, rounds: u32| {
            (seconds - began.elapsed().as_secs_f64()) * MARGIN / f64::from(rounds)
        };
        let most = scale_for_bytes(experiment, bytes);
        let goal = estimate.scale_for(a_round(&began, self.repeats)).min(most);
        // The smallest run cannot tell what of its preparations grows with the work: one between it and the goal does.
        let between = (experiment.pilot * goal.max(0.0)).sqrt();
        let second = between.min(estimate.scale_for(seconds * SECOND_PILOT_SHARE));
        if second >= 2.0 * experiment.pilot {
            let pilot = self.experiment(experiment, second, bytes, 1);
            let small = (experiment.pilot, planned.pilot_s);
            estimate = Estimate::between(small, (second, pilot.seconds)).unwrap_or(estimate);
        }
        let scale = estimate.scale_for(a_round(&began, self.repeats)).min(most);
        self.experiment(experiment, scale.max(experiment.pilot), bytes, self.repeats)
    }

    /// One round of the experiment at its smallest, and what it says about a greater one.
    pub fn pilot(&mut self, experiment: &Experiment, bytes: f64) -> (Outcome, Estimate) {
        let outcome = self.experiment(experiment, experiment.pilot, bytes, 1);
        let work: f64 = outcome.trials.iter().map(|t| t.elapsed_s).sum();
        let estimate = Estimate {
            fixed_s: (outcome.seconds - work).max(0.0),
            full_s: work / experiment.pilot,
        };
        (outcome, estimate)
    }

    /// All trials at a scale, round after round: forwards, then backwards, so that what drifts meets all alike.
    pub fn experiment(
        &mut self,
        experiment: &Experiment,
        scale: f64,
        bytes: f64,
        rounds: u32,
    ) -> Outcome {
        let began = Instant::now();
        let trials = (experiment.trials)(scale);
        self.live.more(trials.len() as u64 * u64::from(rounds));
        let mut outcome = nothing_of(experiment, scale);
        let mut done: Vec<Result<Vec<record::Trial>, String>> =
            trials.iter().map(|_| Ok(Vec::new())).collect();
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..trials.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for at in order {
                self.repeat(experiment, trials[at].as_ref(), bytes, round, &mut done[at]);
            }
        }
        for (trial, repeats) in trials.iter().zip(done) {
            let kept = repeats.and_then(|repeats| {
                let middle = middle(repeats).ok_or("it was not run")?;
                self.keep_samples(experiment.name, &middle).map(|()| middle)
            });
            match kept {
                Ok(middle) => outcome.trials.push(middle),
                Err(why) => outcome.skipped.push(Skipped {
                    name: trial.name(),
                    why,
                }),
            }
        }
        outcome.seconds = began.elapsed().as_secs_f64();
        outcome.findings = (experiment.findings)(&outcome);
        outcome.claims = (experiment.claims)(&outcome);
        outcome
    }

    /// One more run of a trial, unless one has failed.
    fn repeat(
        &mut self,
        experiment: &Experiment,
        trial: &dyn Trial,
        bytes: f64,
        round: u32,
        done: &mut Result<Vec<record::Trial>, String>,
    ) {
        let name = trial.name();
        let Ok(repeats) = done else {
            self.live.done();
            return;
        };
        self.live.begin(&format!("{}: {name}", experiment.name));
        let ran = match self.obstacle(trial, bytes) {
            Some(why) => Err(why),
            None => self.trial(trial),
        };
        match ran {
            Ok(mut ran) => {
                ran.repeats[0].round = round;
                self.live.say(&format!(
                    "{:<12} {name:<52} {:>9.2} s",
                    experiment.name, ran.elapsed_s
                ));
                repeats.push(ran);
            }
            Err(why) => {
                self.live.say(&format!(
                    "{:<12} {name:<52} skipped: {why}",
                    experiment.name
                ));
                *done = Err(why);
            }
        }
        self.target.clean(trial.database());
        self.live.done();
    }

    /// Why a trial cannot run here.
    fn obstacle(&self, trial: &dyn Trial, bytes: f64) -> Option<String> {
        if let Some(lack) = self.target.lacks(&trial.server()) {
            return Some(lack);
        }
        if trial.restarts() && !self.target.is_embedded() {
            return Some("it restarts its server".to_owned());
        }
        let wanted = trial.disk_bytes();
        if wanted > bytes {
            return Some(format!("it takes {:.1} GB of disk", wanted / 1e9));
        }
        let free = free_bytes(&self.below).map_or(f64::INFINITY, |b| b as f64);
        if self.target.is_embedded() && wanted + SPARE_BYTES > free {
            return Some(format!(
                "it takes {:.1} GB of disk, and {:.1} GB are free",
                wanted / 1e9,
                free / 1e9
            ));
        }
        None
    }

    fn trial(&mut self, trial: &dyn Trial) -> Result<record::Trial, String> {
        let database = trial.database();
        self.target.fresh(&trial.server())?;
        self.target.clean(database);
        trial.prepare(&mut self.target)?;
        let mut sql = self.target.connect("master")?;
        let before = Snapshot::take(&mut sql, database)?;
        // A server that restarts has no counters to compare and nobody to sample.
        let sampler = match trial.restarts() {
            true => None,
            false => Some(Sampler::start(
                self.target.connect("master")?,
                database,
                self.live.clone(),
            )),
        };
        let began = Instant::now();
        let work = trial.work(&mut self.target);
        let all = began.elapsed();
        let samples = sampler.map_or(Ok(Samples::default()), Sampler::stop);
        let work = work?;
        let samples = samples?;
        let elapsed_s = work.elapsed.unwrap_or(all).as_secs_f64();
        let mut done = record::Trial {
            name: trial.name(),
            family: trial.family(),
            settings: owned(trial.settings()),
            elapsed_s,
            repeats: vec![record::Repeat {
                round: 0,
                elapsed_s,
                figures: work.figures.clone(),
            }],
            published_s: trial.published_s(),
            figures: work.figures,
            published_waits: trial
                .published_waits()
                .iter()
                .map(|(kind, part)| ((*kind).to_owned(), *part))
                .collect(),
            latencies: work.latencies.buckets(),
            samples,
            ..record::Trial::default()
        };
        if trial.restarts() {
            return Ok(done);
        }
        let after = Snapshot::take(&mut sql, database)?;
        done.waits = after.waits_since(&before);
        done.files = after.files_since(&before);
        done.log = log_shape(&mut sql, database)?;
        done.log.growths = after.growths_since(&before);
        Ok(done)
    }

    /// Raw samples as CSV, a file a trial.
    fn keep_samples(&self, experiment: &str, trial: &record::Trial) -> Result<(), String> {
        if trial.samples.rows.is_empty() {
            return Ok(());
        }
        let dir = self.out.join("samples");
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let path = dir.join(format!("{experiment}-{}.csv", file_name(&trial.name)));
        let mut text = trial.samples.columns.join(",") + "\n";
        for row in &trial.samples.rows {
            let cells: Vec<String> = row.iter().map(|v| format!("{v}")).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// An experiment of which nothing was run yet.
fn nothing_of(experiment: &Experiment, scale: f64) -> Outcome {
    Outcome {
        name: experiment.name.to_owned(),
        title: experiment.title.to_owned(),
        question: experiment.question.to_owned(),
        source: experiment.source.to_owned(),
        scale,
        full: experiment.full.to_owned(),
        ..Outcome::default()
    }
}

fn no_time(repeats: u32, wanted_s: Option<f64>, free_s: f64) -> Skipped {
    let free_s = free_s.max(0.0);
    let wanted = wanted_s.map_or_else(
        || "more".to_owned(),
        |s| format!("about {s:.0} s even at its smallest"),
    );
    Skipped {
        name: "all of it".to_owned(),
        why: format!("{repeats} repeats take {wanted}, and the budget has {free_s:.0} s left"),
    }
}

/// The repeat whose time is in the middle, with the times and figures of all.
fn middle(mut repeats: Vec<record::Trial>) -> Option<record::Trial> {
    repeats.sort_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s));
    let all: Vec<record::Repeat> = repeats.iter().flat_map(|t| t.repeats.clone()).collect();
    let at = repeats.len().checked_sub(1)? / 2;
    let mut middle = repeats.swap_remove(at);
    middle.repeats = all;
    middle.repeats.sort_by_key(|r| r.round);
    Some(middle)
}

/// The greatest scale, at most 1, at which the greatest trial fits into so many bytes. Space grows with the work or
/// stays; halving finds it.
pub fn scale_for_bytes(experiment: &Experiment, bytes: f64) -> f64 {
    let wanted = |scale: f64| {
        let all = (experiment.trials)(scale);
        all.iter().map(|t| t.disk_bytes()).fold(0.0, f64::max)
    };
    let mut scale = 1.0;
    while wanted(scale) > bytes && scale > experiment.pilot {
        scale /= 1.25;
    }
    scale
}

/// The greatest space of any trial at a scale.
pub fn disk_bytes(experiment: &Experiment, scale: f64) -> f64 {
    let all = (experiment.trials)(scale);
    all.iter().map(|t| t.disk_bytes()).fold(0.0, f64::max)
}

/// A name that every file system takes.
pub fn file_name(name: &str) -> String {
    let keep = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    let name: String = name.chars().map(keep).collect();
    let parts: Vec<&str> = name.split('-').filter(|p| !p.is_empty()).collect();
    parts.join("-")
}

fn owned(settings: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    let own = |(name, value): (&str, String)| (name.to_owned(), value);
    settings.into_iter().map(own).collect()
}

/// A directory that exists, absolute.
pub fn directory(path: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))?;
    std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))
}
