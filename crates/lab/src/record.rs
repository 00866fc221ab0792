//! What a run leaves: plain values, kept as JSON. A reader of a later version takes what it knows.

use serde::{Deserialize, Serialize};

use crate::spread::Spread;

/// A whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// The version of the program that measured.
    pub program: String,
    /// UTC, `2026-01-31 12:00:00`.
    pub began: String,
    pub seconds: f64,
    pub machine: Machine,
    pub disk: Disk,
    pub server: Server,
    /// The command as it was typed.
    pub command: String,
    pub experiments: Vec<Outcome>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    pub system: String,
    pub processor: String,
    pub processors: usize,
    pub memory_mb: u64,
}

/// What the disk below a server of our own can do, measured before the trials; zeros where it is somebody else's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    pub directory: String,
    pub free_gb: f64,
    pub durable_write_us: f64,
    pub durable_writes_per_s: f64,
    pub allocated_write_us: f64,
    pub growing_write_us: f64,
    pub write_mb_s: f64,
    pub read_mb_s: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    pub version: String,
    pub ours: bool,
    pub embedded: bool,
}

/// One experiment: its trials, and what follows from them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    pub name: String,
    pub title: String,
    pub question: String,
    /// Where the published figures come from.
    pub source: String,
    /// The part of the published work that was done, 0 to 1.
    pub scale: f64,
    /// The work at full scale, in words.
    pub full: String,
    pub seconds: f64,
    pub trials: Vec<Trial>,
    pub skipped: Vec<Skipped>,
    pub findings: Vec<String>,
    pub claims: Vec<Claim>,
}

/// What somebody has published, and what was seen here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    pub claim: String,
    pub published: String,
    pub ours: String,
    pub verdict: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Skipped {
    pub name: String,
    pub why: String,
}

/// One trial's measurements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trial {
    pub name: String,
    /// Trials of the same family stand together and share a colour.
    pub family: String,
    pub settings: Vec<(String, String)>,
    /// Of the work alone. Everything here is of the middle one of the repeats.
    pub elapsed_s: f64,
    pub repeats: Vec<Repeat>,
    /// The elapsed time that was published for it.
    pub published_s: Option<f64>,
    pub figures: Vec<Figure>,
    pub waits: Vec<Wait>,
    /// The published list of waits: type and percent.
    pub published_waits: Vec<(String, f64)>,
    pub files: Files,
    pub log: LogShape,
    /// Milliseconds, by bucket.
    pub latencies: Vec<(f64, f64, f64)>,
    pub samples: Samples,
}

/// One of the runs of a trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// Repeats of one round ran one after the other.
    pub round: u32,
    pub elapsed_s: f64,
    pub figures: Vec<Figure>,
}

impl Repeat {
    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        figure(&self.figures, name)
    }
}

fn figure(all: &[Figure], name: &str) -> Option<f64> {
    all.iter().find(|f| f.name == name).map(|f| f.value)
}

impl Trial {
    /// A figure by its name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        figure(&self.figures, name)
    }

    /// The elapsed times of its repeats.
    pub fn times(&self) -> Option<Spread> {
        Spread::of(self.repeats.iter().map(|r| r.elapsed_s).collect())
    }

    /// All the waits of a type in seconds.
    pub fn wait_s(&self, kind: &str) -> f64 {
        let found = self.waits.iter().find(|w| w.kind == kind);
        found.map_or(0.0, |w| w.ms / 1000.0)
    }

    pub fn setting(&self, name: &str) -> &str {
        let found = self.settings.iter().find(|s| s.0 == name);
        found.map_or("", |s| &s.1)
    }
}

/// A number with its name and unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: String,
}

impl Figure {
    pub fn new(name: &str, value: f64, unit: &str) -> Figure {
        Figure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        }
    }
}

/// What sys.dm_os_wait_stats grew by.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Wait {
    pub kind: String,
    pub tasks: f64,
    pub ms: f64,
}

/// What sys.dm_io_virtual_file_stats grew by: data files, log files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Files {
    pub data: FileIo,
    pub log: FileIo,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileIo {
    pub writes: f64,
    pub written_mb: f64,
    pub write_stall_ms: f64,
    pub reads: f64,
    pub read_mb: f64,
}

/// The log after the work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LogShape {
    pub vlfs: f64,
    pub size_mb: f64,
    pub growths: f64,
    /// VLFs in file order: size in MB, and 2 when active. A log of more VLFs than [`MAP_MAX`] has neighbours joined.
    pub map: Vec<(f64, u8)>,
}

/// More VLFs than this are joined with their neighbours in the record.
pub const MAP_MAX: usize = 2_000;

/// What the sampler saw: a row a sample, columns as named; the first is the time in seconds since the work began.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Samples {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<f64>>,
}

impl Samples {
    /// A cumulative column as a rate per second between samples.
    pub fn rate(&self, column: &str) -> Vec<(f64, f64)> {
        self.ratio(column, None)
    }

    /// The growth of a column by the growth of another (or by seconds), between samples.
    pub fn ratio(&self, column: &str, by: Option<&str>) -> Vec<(f64, f64)> {
        let index = |name: &str| self.columns.iter().position(|c| c == name);
        let Some(at) = index(column) else {
            return Vec::new();
        };
        let Some(by) = by.map_or(Some(0), index) else {
            return Vec::new();
        };
        let pair = |w: &[Vec<f64>]| {
            let (a, b) = (&w[0], &w[1]);
            let grown = |n: usize| b.get(n).zip(a.get(n)).map(|(b, a)| b - a);
            let (up, down) = (grown(at)?, grown(by)?);
            let time = *b.first()?;
            Some((time, if down > 0.0 { up / down } else { 0.0 }))
        };
        self.rows.windows(2).filter_map(pair).collect()
    }
}
