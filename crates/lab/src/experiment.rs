//! What an experiment is: a question, trials that differ in one thing at a time, and what is concluded from them.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crate::embedded::Settings;
use crate::latency::Latencies;
use crate::record::{Claim, Figure, Outcome};
use crate::spread::Ratio;
use crate::sql::Sql;
use crate::target::Target;

/// An experiment as `duramen lab list` shows it.
pub struct Experiment {
    pub name: &'static str,
    pub title: &'static str,
    pub question: &'static str,
    /// Where the published figures are from; empty where there are none.
    pub source: &'static str,
    /// The work at scale 1, in words.
    pub full: &'static str,
    /// Its share of a budget's time, relative to the others'.
    pub weight: f64,
    /// The scale at which a pilot tells how long a run takes.
    pub pilot: f64,
    /// The trials at a scale.
    pub trials: fn(f64) -> Vec<Box<dyn Trial>>,
    /// What the measurements say, in plain words, computed from them.
    pub findings: fn(&Outcome) -> Vec<String>,
    /// What was published, beside what was measured.
    pub claims: fn(&Outcome) -> Vec<Claim>,
}

/// What a published claim says of two times.
#[derive(Clone, Copy)]
pub enum Published {
    /// One is so many times the other.
    Ratio(f64),
    /// They are the same.
    NoDifference,
}

impl Published {
    /// The claim beside our measurement of the same; `grew` is false where nothing of it can be seen at this scale.
    pub fn compare(self, claim: &str, ours: Option<Ratio>, grew: bool) -> Claim {
        let published = match self {
            Published::Ratio(r) => format!("{r:.2} times"),
            Published::NoDifference => "no difference".to_owned(),
        };
        let ours = ours.filter(|_| grew);
        let verdict = match (self, &ours) {
            (_, None) if !grew => "not tested: at this scale no log has grown",
            (_, None) => "not tested",
            (_, Some(r)) if !r.0.is_sure() => "not tested: too few repeats",
            (Published::Ratio(p), Some(r)) if r.differs() => {
                match (p > 1.0) == (r.0.median > 1.0) {
                    true => "reproduced",
                    false => "not reproduced: the other way round",
                }
            }
            (Published::Ratio(_), Some(_)) => "not reproduced",
            (Published::NoDifference, Some(r)) if r.differs() => "not reproduced",
            (Published::NoDifference, Some(_)) => "reproduced",
        };
        Claim {
            claim: claim.to_owned(),
            published,
            ours: ours.map_or_else(String::new, |r| r.describe("times")),
            verdict: verdict.to_owned(),
        }
    }
}

/// For experiments of our own.
pub fn no_claims(_: &Outcome) -> Vec<Claim> {
    Vec::new()
}

/// One cell of an experiment. `prepare` is not timed; `work` is, and the server is sampled meanwhile.
pub trait Trial {
    fn name(&self) -> String;

    /// Trials of one family stand together in the report.
    fn family(&self) -> String;

    /// What varies, for the report's table.
    fn settings(&self) -> Vec<(&'static str, String)>;

    /// How a server of our own is started for it; also what somebody else's must be like.
    fn server(&self) -> Settings;

    /// The database the trial works in.
    fn database(&self) -> &'static str {
        "lab"
    }

    /// The greatest space it takes, in bytes.
    fn disk_bytes(&self) -> f64;

    /// The elapsed seconds that were published for it, at full scale.
    fn published_s(&self) -> Option<f64> {
        None
    }

    /// The published waits: type and percent.
    fn published_waits(&self) -> &'static [(&'static str, f64)] {
        &[]
    }

    /// It needs to crash or restart its server: only one of our own can be treated so.
    fn restarts(&self) -> bool {
        false
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String>;

    fn work(&self, target: &mut Target) -> Result<Work, String>;
}

/// What a trial's work gives beside the time it took.
#[derive(Default)]
pub struct Work {
    /// Of the part that counts; `None`: all of it.
    pub elapsed: Option<Duration>,
    pub figures: Vec<Figure>,
    pub latencies: Latencies,
}

/// How a group of clients does its work: everybody connects first, then all begin at once.
pub fn run_clients<F>(
    target: &Target,
    database: &str,
    clients: usize,
    body: F,
) -> Result<Work, String>
where
    F: Fn(usize, &mut Sql) -> Result<Latencies, String> + Send + Sync + 'static,
{
    let body = Arc::new(body);
    let gate = Arc::new(Barrier::new(clients + 1));
    let mut threads = Vec::with_capacity(clients);
    for n in 0..clients {
        let address = target.address().clone();
        let database = database.to_owned();
        let (body, gate) = (Arc::clone(&body), Arc::clone(&gate));
        threads.push(std::thread::spawn(move || {
            let session = Sql::connect(&address, &database);
            gate.wait();
            body(n, &mut session?)
        }));
    }
    gate.wait();
    let began = Instant::now();
    let mut work = Work::default();
    let mut failed = None;
    for thread in threads {
        match thread.join() {
            Ok(Ok(latencies)) => work.latencies.add(&latencies),
            Ok(Err(error)) => failed = Some(error),
            Err(_) => failed = Some("a client ended".to_owned()),
        }
    }
    work.elapsed = Some(began.elapsed());
    match failed {
        Some(error) => Err(error),
        None => Ok(work),
    }
}

/// The profile, and how a commit waits in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// Every COMMIT waits until its record is durable.
    Classic,
    /// The reply waits, not the statement.
    Gate,
    /// Nobody waits.
    Delayed,
}

impl Commit {
    pub fn name(self) -> &'static str {
        match self {
            Commit::Classic => "classic wait",
            Commit::Gate => "packet gate",
            Commit::Delayed => "delayed",
        }
    }

    /// Makes a database commit so. A server that is not ours knows no gate; its wait is the classic one.
    pub fn set(self, target: &Target, database: &str) -> Result<(), String> {
        let mut sql = target.connect(database)?;
        if target.about.ours {
            let wait = match self {
                Commit::Gate => "PACKET",
                _ => "STATEMENT",
            };
            sql.run(&format!(
                "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {wait}"
            ))?;
        }
        if self == Commit::Delayed {
            sql.run(&format!(
                "ALTER DATABASE [{database}] SET DELAYED_DURABILITY = FORCED"
            ))?;
        }
        Ok(())
    }
}

/// So much of a published count, at least 1.
pub fn scaled(full: f64, scale: f64) -> u64 {
    (full * scale).round().max(1.0) as u64
}

/// What a small scale leaves to be said about growth: times that differ then differ by chance.
pub fn never_grew(trials: &str) -> String {
    format!("{trials}: at this scale no log has grown, so that this says nothing about growth.")
}

/// `a` is so many times `b`, in words; 0 where it cannot be said.
pub fn times(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}
