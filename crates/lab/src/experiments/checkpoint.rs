//! What writers notice of a checkpoint: throughput and latency of single-row commits before, while and after one runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::embedded::Settings;
use crate::experiment::{Experiment, Trial, Work, no_claims, run_clients, scaled, times};
use crate::latency::Latencies;
use crate::record::{self, Figure, Outcome, Repeat};
use crate::spread::{Ratio, Spread};
use crate::sql::Sql;
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "checkpoint",
    title: "Checkpoints: dip and latency",
    question: "How much slower are commits while a checkpoint writes what has gathered?",
    source: "",
    full: "1,000,000 pages changed, 16 clients, 60 s",
    weight: 1.0,
    pilot: 0.01,
    trials,
    findings,
    claims: no_claims,
};

const CLIENTS: usize = 16;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// One CHECKPOINT in the middle; TARGET_RECOVERY_TIME = 0 and nothing written before.
    Manual,
    /// TARGET_RECOVERY_TIME is set in the middle: from then on the indirect checkpoint writes what has gathered.
    Indirect,
}

struct Checkpoint {
    profile: &'static str,
    kind: Kind,
    pages: u64,
    seconds: f64,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let pages = scaled(1_000_000.0, scale);
    let seconds = (60.0 * scale).max(1.5);
    let mut out: Vec<Box<dyn Trial>> = Vec::new();
    for profile in ["2022", "native"] {
        for kind in [Kind::Manual, Kind::Indirect] {
            out.push(Box::new(Checkpoint {
                profile,
                kind,
                pages,
                seconds,
            }));
        }
    }
    out
}

impl Trial for Checkpoint {
    fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Manual => "one CHECKPOINT",
            Kind::Indirect => "indirect checkpoint",
        };
        format!("{}, {kind}", self.profile)
    }

    fn family(&self) -> String {
        self.profile.to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.to_owned()),
            ("dirty pages", self.pages.to_string()),
            ("clients", CLIENTS.to_string()),
        ]
    }

    fn server(&self) -> Settings {
        Settings {
            profile: self.profile,
            ..Settings::default()
        }
    }

    fn disk_bytes(&self) -> f64 {
        self.pages as f64 * (8_400.0 + 600.0) + 6e8
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        let (data, log) = (target.file("lab.mdf"), target.file("lab.ldf"));
        let data_mb = 64 + self.pages * 8_400 / 1_000_000;
        target.connect("master")?.run(&format!(
            "CREATE DATABASE lab ON (NAME = lab, FILENAME = {data}, SIZE = {data_mb}MB, FILEGROWTH = 256MB)
             LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = 512MB, FILEGROWTH = 256MB);
             ALTER DATABASE lab SET TARGET_RECOVERY_TIME = 0 SECONDS"
        ))?;
        let mut sql = target.connect("lab")?;
        sql.run(&format!(
            "CREATE TABLE dbo.page (id int PRIMARY KEY, hits int, filler char(6000) DEFAULT 'a');
             INSERT dbo.page (id, hits)
             SELECT TOP ({}) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)), 0
             FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b;
             CREATE TABLE dbo.entry (id int IDENTITY PRIMARY KEY, word varchar(100));
             CHECKPOINT",
            self.pages
        ))
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        // Everything is dirty before the clients begin.
        target
            .connect("lab")?
            .run("UPDATE dbo.page SET hits += 1")?;
        let (manual, third) = (
            self.kind == Kind::Manual,
            Duration::from_secs_f64(self.seconds / 3.0),
        );
        // 0: before, 1: while, 2: after.
        let phase = Arc::new(AtomicU8::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let conductor = {
            let (phase, over) = (Arc::clone(&phase), Arc::clone(&over));
            let address = target.address().clone();
            std::thread::spawn(move || -> Result<[f64; 3], String> {
                // The end must come whatever happens here, or the clients would go on for ever.
                let lasted = conduct(&address, &phase, manual, third);
                over.store(true, Ordering::SeqCst);
                lasted
            })
        };
        let seen = Arc::new(std::sync::Mutex::new([
            Latencies::default(),
            Latencies::default(),
            Latencies::default(),
        ]));
        let all = Arc::clone(&seen);
        let work = run_clients(target, "lab", CLIENTS, move |_, sql| {
            let mut mine = [
                Latencies::default(),
                Latencies::default(),
                Latencies::default(),
            ];
            while !over.load(Ordering::SeqCst) {
                let at = usize::from(phase.load(Ordering::SeqCst)).min(2);
                let began = Instant::now();
                sql.run("INSERT dbo.entry (word) VALUES ('Some words to remember')")?;
                mine[at].note(began.elapsed());
            }
            let mut all = all
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            for (sum, part) in all.iter_mut().zip(&mine) {
                sum.add(part);
            }
            Ok(mine[1].clone())
        });
        let lasted = conductor
            .join()
            .map_err(|_| "the checkpoint's session ended")??;
        let mut work = work?;
        let seen = seen
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let rate = |n: usize| times(seen[n].count() as f64, lasted[n]);
        let quiet = (seen[0].count() + seen[2].count()) as f64 / (lasted[0] + lasted[2]).max(1e-9);
        let p99 = |n: usize| seen[n].quantile_ms(0.99);
        work.figures = vec![
            Figure::new("commits/s before", rate(0), "/s"),
            Figure::new("commits/s while", rate(1), "/s"),
            Figure::new("commits/s after", rate(2), "/s"),
            Figure::new("the checkpoint took", lasted[1], "s"),
            Figure::new("dip", 100.0 * (1.0 - times(rate(1), quiet)), "%"),
            Figure::new("p99 before", p99(0), "ms"),
            Figure::new("p99 while", p99(1), "ms"),
            Figure::new("p99 after", p99(2), "ms"),
        ];
        Ok(work)
    }
}

/// Leads through the three phases; how long each lasted.
fn conduct(
    address: &crate::sql::Address,
    phase: &AtomicU8,
    manual: bool,
    third: Duration,
) -> Result<[f64; 3], String> {
    let mut sql = Sql::connect(address, "lab")?;
    let mut lasted = [0.0; 3];
    let began = Instant::now();
    std::thread::sleep(third);
    lasted[0] = began.elapsed().as_secs_f64();
    phase.store(1, Ordering::SeqCst);
    let began = Instant::now();
    match manual {
        true => sql.run("CHECKPOINT")?,
        false => {
            sql.run("ALTER DATABASE lab SET TARGET_RECOVERY_TIME = 1 SECONDS")?;
            std::thread::sleep(third);
        }
    }
    lasted[1] = began.elapsed().as_secs_f64();
    if !manual {
        sql.run("ALTER DATABASE lab SET TARGET_RECOVERY_TIME = 0 SECONDS")?;
    }
    phase.store(2, Ordering::SeqCst);
    let began = Instant::now();
    std::thread::sleep(third);
    lasted[2] = began.elapsed().as_secs_f64();
    Ok(lasted)
}

/// One figure of a repeat by another of the same repeat.
fn within(trial: &record::Trial, of: impl Fn(&Repeat) -> Option<f64>) -> Option<Ratio> {
    Spread::of(trial.repeats.iter().filter_map(of).collect()).map(Ratio)
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let mut out = Vec::new();
    for trial in &outcome.trials {
        let rate = within(trial, |r| Some(1.0 - r.figure("dip")? / 100.0));
        let latency = within(trial, |r| {
            let before = r.figure("p99 before")?;
            (before > 0.0).then_some(r.figure("p99 while")? / before)
        });
        let (Some(rate), Some(latency)) = (rate, latency) else {
            continue;
        };
        out.push(format!(
            "{}: commits a second while the checkpoint runs against before and after: {}; the 99th percentile of a commit: {}.",
            trial.name,
            rate.describe("times"),
            latency.describe("times")
        ));
    }
    out
}
