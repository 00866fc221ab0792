//! Random queries whose answers must agree.
//!
//! With SQLite, where both languages mean the same ([`generate`] stays inside that part: small integers, lower-case text
//! without spaces, no division by zero). And with themselves, over every type: a condition cuts the rows of a query in
//! three, where it is true, false and unknown, and the parts must add up to the whole ([`partition`]); a table with
//! indexes must answer like its copy without any; and a query must give the same rows when no operator is lent memory.
//!
//! | file | idea |
//! |---|---|
//! | [`both`] | a piece of SQL in both languages |
//! | [`generate`] | expressions and conditions |
//! | [`select`] | whole queries, and changes of rows |
//! | [`partition`] | three-part queries over every type |
//! | [`world`] | the tables, and the two engines |
//! | [`sqlite`] | the other engine, a child process |

pub mod both;
pub mod generate;
pub mod partition;
pub mod select;
pub mod sqlite;
pub mod world;

use std::time::Duration;

use duramen_os::random::Rng;

use sqlite::Sqlite;
use world::{Answer, World};

/// Queries asked of one set of tables before the next is made.
const PER_WORLD: u64 = 200;

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Queries compared with SQLite.
    pub compared: u64,
    /// Queries cut in three.
    pub partitioned: u64,
    /// Changes of rows, compared with SQLite.
    pub changes: u64,
    /// Queries answered without any memory as with much.
    pub without_memory: u64,
    /// Both engines gave an error, or ours an overflow that the other has no limit for.
    pub refused: u64,
    /// What did not agree, with everything needed to see it again.
    pub differences: Vec<String>,
    /// What took our engine longest, and how long.
    pub slowest: (Duration, String),
}

impl Report {
    /// Queries asked so far.
    pub fn asked(&self) -> u64 {
        self.compared + self.partitioned + self.changes + self.refused
    }

    /// Counts what another thread has found too.
    pub fn add(&mut self, other: Report) {
        self.compared += other.compared;
        self.partitioned += other.partitioned;
        self.changes += other.changes;
        self.refused += other.refused;
        self.without_memory += other.without_memory;
        self.differences.extend(other.differences);
        self.slowest = std::mem::take(&mut self.slowest).max(other.slowest);
    }
}

/// Asks `count` queries, world after world from the seed, every `step`th. Without SQLite only the three-part queries are
/// asked. `parallel`: every query that several threads can run is run by four. After each world `progress` hears what has been found so far.
pub fn run(
    (mut seed, step): (u64, u64),
    count: u64,
    mut other: Option<Sqlite>,
    (keep_going, parallel): (bool, bool),
    mut progress: impl FnMut(&Report),
) -> Report {
    let mut report = Report::default();
    let instance = world::instance();
    if parallel {
        world::be_parallel(&instance);
    }
    while report.asked() < count && (keep_going || report.differences.is_empty()) {
        let left = (count - report.asked()).min(PER_WORLD);
        // The tables are small: rows change threads from the first one on, in every other world, or never.
        instance.send_rows_from(if seed & 2 == 0 { 1 } else { usize::MAX });
        one_world(seed, left, &instance, other.as_mut(), &mut report);
        seed += step;
        progress(&report);
    }
    report
}

fn one_world(
    seed: u64,
    count: u64,
    instance: &std::sync::Arc<duramen_events::instance::Instance>,
    mut other: Option<&mut Sqlite>,
    report: &mut Report,
) {
    let mut rng = Rng::new(seed);
    let mut world = World::make(instance, &mut rng, other.as_deref_mut());
    // A query of large tables takes as long as fifty others.
    let count = if world.large { count.min(20) } else { count };
    for n in 0..count {
        let found = match (&mut other, rng.below(10)) {
            (None, _) | (_, 0 | 1) => {
                report.partitioned += 1;
                partition::check(&mut world, &mut rng)
            }
            (Some(other), 2) => {
                report.changes += 1;
                world.change(&select::change(&mut rng, &world.tables), other)
            }
            (Some(other), _) => {
                let query = select::query(&mut rng, &world.tables, world.large);
                match world.compare(&query, other) {
                    Answer::Same => {
                        report.compared += 1;
                        None
                    }
                    Answer::Refused => {
                        report.refused += 1;
                        None
                    }
                    Answer::Different(text) => Some(text),
                }
            }
        };
        if let Some(text) = found {
            let script = match world.large {
                true => "(thousands of rows)".to_owned(),
                false => world.script(),
            };
            report.differences.push(format!(
                "seed {seed}, query {n} (`cargo xtask queries --seed {seed} --count {}`):\n{text}\n-- the tables:\n{script}",
                n + 1
            ));
            break;
        }
    }
    report.without_memory += world.without_memory;
    let slowest = std::mem::take(&mut world.slowest);
    report.slowest = std::mem::take(&mut report.slowest).max(slowest);
    world.drop_all();
}
