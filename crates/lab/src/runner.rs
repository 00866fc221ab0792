//! Runs trials one after the other and keeps what they give; finds the scale that fits a budget.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::experiment::{Experiment, Trial};
use crate::machine::free_bytes;
use crate::measure::{Snapshot, log_shape};
use crate::progress::Live;
use crate::record::{self, Outcome, Samples, Skipped};
use crate::sampler::Sampler;
use crate::target::Target;

/// Space that stays free on the disk, whatever a trial wants.
const SPARE_BYTES: f64 = 512e6;
/// A pilot is this much cheaper than the least run that is worth its time.
const PILOT_SHARE: f64 = 0.25;
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
}

impl Runner {
    /// Runs the experiments; what fails is in the outcome's list of skipped trials with its error.
    pub fn run(&mut self, list: &[&Experiment], extent: Extent) -> Vec<Outcome> {
        let began = Instant::now();
        match extent {
            Extent::Scale(scale) => {
                let run = |e: &&Experiment| self.experiment(e, scale, f64::INFINITY);
                list.iter().map(run).collect()
            }
            Extent::Budget { time, bytes } => {
                // From the last to the first: what one takes longer than was planned, those after it have less, and the
                // first of the list are those whose time grows most evenly with their work.
                let time = time.mul_f64(1.0 - RESERVE);
                let mut outcomes: Vec<Outcome> = Vec::new();
                for (n, experiment) in list.iter().enumerate().rev() {
                    let left = time.saturating_sub(began.elapsed()).as_secs_f64();
                    let weights: f64 = list[..=n].iter().map(|e| e.weight).sum();
                    outcomes.push(self.within(
                        experiment,
                        left * experiment.weight / weights,
                        bytes,
                    ));
                }
                outcomes.reverse();
                outcomes
            }
        }
    }

    /// Runs one pilot or two, then the most of the work that fits into so many seconds and bytes.
    fn within(&mut self, experiment: &Experiment, seconds: f64, bytes: f64) -> Outcome {
        let began = Instant::now();
        let left = |began: &Instant| seconds - began.elapsed().as_secs_f64();
        let most = scale_for_bytes(experiment, bytes);
        let (mut pilot, mut estimate) = self.pilot(experiment, bytes);
        let goal = estimate.scale_for(left(&began) * MARGIN).min(most);
        // The smallest run cannot tell what of its preparations grows with the work: one between it and the goal does.
        let between = (experiment.pilot * goal.max(0.0)).sqrt();
        let second = between.min(estimate.scale_for(left(&began) * SECOND_PILOT_SHARE));
        if second >= 2.0 * experiment.pilot {
            let small = (experiment.pilot, pilot.seconds);
            pilot = self.experiment(experiment, second, bytes);
            estimate = Estimate::between(small, (second, pilot.seconds)).unwrap_or(estimate);
        }
        let scale = estimate.scale_for(left(&began) * MARGIN).min(most);
        if scale < pilot.scale / PILOT_SHARE {
            // The pilot is as much as there is time for.
            return pilot;
        }
        self.experiment(experiment, scale, bytes)
    }

    /// The experiment at its smallest, and what it says about a greater one.
    pub fn pilot(&mut self, experiment: &Experiment, bytes: f64) -> (Outcome, Estimate) {
        let outcome = self.experiment(experiment, experiment.pilot, bytes);
        let work: f64 = outcome.trials.iter().map(|t| t.elapsed_s).sum();
        let estimate = Estimate {
            fixed_s: (outcome.seconds - work).max(0.0),
            full_s: work / experiment.pilot,
        };
        (outcome, estimate)
    }

    /// All trials at a scale.
    pub fn experiment(&mut self, experiment: &Experiment, scale: f64, bytes: f64) -> Outcome {
        let began = Instant::now();
        let trials = (experiment.trials)(scale);
        self.live.more(trials.len() as u64);
        let mut outcome = Outcome {
            name: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            question: experiment.question.to_owned(),
            source: experiment.source.to_owned(),
            scale,
            full: experiment.full.to_owned(),
            ..Outcome::default()
        };
        for trial in &trials {
            let name = trial.name();
            self.live.begin(&format!("{}: {name}", experiment.name));
            let why = match self.obstacle(trial.as_ref(), bytes) {
                Some(why) => Some(why),
                None => match self.trial(experiment.name, trial.as_ref()) {
                    Ok(done) => {
                        self.live.say(&format!(
                            "{:<12} {name:<52} {:>9.2} s",
                            experiment.name, done.elapsed_s
                        ));
                        outcome.trials.push(done);
                        None
                    }
                    Err(error) => Some(error),
                },
            };
            if let Some(why) = why {
                self.live.say(&format!(
                    "{:<12} {name:<52} skipped: {why}",
                    experiment.name
                ));
                outcome.skipped.push(Skipped { name, why });
            }
            self.target.clean(trial.database());
            self.live.done();
        }
        outcome.seconds = began.elapsed().as_secs_f64();
        outcome.findings = (experiment.findings)(&outcome);
        outcome
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

    fn trial(&mut self, experiment: &str, trial: &dyn Trial) -> Result<record::Trial, String> {
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
        let mut done = record::Trial {
            name: trial.name(),
            family: trial.family(),
            settings: owned(trial.settings()),
            elapsed_s: work.elapsed.unwrap_or(all).as_secs_f64(),
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
        self.keep_samples(experiment, &done)?;
        Ok(done)
    }

    /// Raw samples as CSV, a file a trial.
    fn keep_samples(&self, experiment: &str, trial: &record::Trial) -> Result<(), String> {
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
