//! Stories of one session that does rare things, statement after statement, while power fails again and again: partitions
//! that come, go and change tables; a standby that is looked at between two restores; pages or a file that are restored;
//! a log that is full; pages that several open transactions fill and empty.
//!
//! One session, or several whose statements come one after the other, so that what must be there is known to the row. A statement that power has cut is done or not done; what
//! was acknowledged and then made durable stays. The last start is followed by a clean shutdown and the check of all files.

mod full;
mod pages;
mod partitions;
mod room;
mod standby;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::{Sim, SimDisk, Simulation};
use duramen_session::Session;
use duramen_types::Value;

use super::wire::{Reply, execute};
use super::{audit, image};

const MAX_STEPS: u64 = 40_000_000;
/// Lives of the process that power may cut; one more goes to the end.
const LIVES: u64 = 4;

/// Which story.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Story {
    Partitions,
    Standby,
    Pages,
    Files,
    Full,
    Room,
}

impl Story {
    pub fn parse(name: &str) -> Option<Story> {
        match name {
            "partitions" => Some(Story::Partitions),
            "standby" => Some(Story::Standby),
            "pages" => Some(Story::Pages),
            "files" => Some(Story::Files),
            "full" => Some(Story::Full),
            "room" => Some(Story::Room),
            _ => None,
        }
    }
}

/// What a seed did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Statements of the story's own kind that were acknowledged.
    pub done: u64,
    /// Of those, cut by the loss of power.
    pub cut: u64,
    /// Looks at rows that were compared.
    pub looks: u64,
}

/// Runs one seed. The error says what was found; the same seed finds it again.
pub fn run_seed(story: Story, seed: u64) -> Result<Report, String> {
    let ran = match story {
        Story::Partitions => partitions::run(seed),
        Story::Standby => standby::run(seed),
        Story::Pages => pages::run(seed, pages::Part::Pages),
        Story::Full => full::run(seed),
        Story::Room => room::run(seed),
        Story::Files => pages::run(seed, pages::Part::File),
    };
    ran.map_err(|e| format!("seed {seed}: {e}"))
}

/// A machine whose power fails.
struct World {
    seed: u64,
    rng: Rng,
    disk: Arc<SimDisk>,
    sector: u32,
    memory: u64,
    elapsed: Duration,
    lives: u64,
    report: Report,
}

/// One life of the process.
struct Life<'a> {
    instance: Arc<Instance>,
    disk: Arc<SimDisk>,
    rng: &'a mut Rng,
    report: &'a mut Report,
}

/// How a statement ended.
enum End {
    Good(Reply),
    /// Its first error.
    Refused(i32, String),
    /// There is no power.
    Off,
}

impl World {
    fn new(seed: u64, salt: u64) -> World {
        let mut rng = Rng::new(seed ^ salt);
        let sector = if rng.one_in(2) { 512 } else { 4096 };
        World {
            seed,
            disk: image::prepared().of(sector, seed),
            sector,
            memory: [512 << 10, 1 << 20, 4 << 20][rng.below(3) as usize],
            elapsed: Duration::ZERO,
            lives: 0,
            report: Report::default(),
            rng,
        }
    }

    /// Starts the process; `body` works until it is through or power is off. With `cut` power fails after so many changes
    /// of the disk, the start's included. `None` when it has failed before there was an instance. Afterwards the disk is
    /// what the loss of power has left.
    fn life<T>(
        &mut self,
        cut: Option<u64>,
        body: impl FnOnce(&mut Life<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.lives += 1;
        let seed = self.seed.wrapping_mul(131).wrapping_add(self.lives);
        let (memory, sector) = (self.memory, self.sector);
        let (rng, report) = (&mut self.rng, &mut self.report);
        let simulation = Simulation::new(seed)
            .on_disk(self.disk.clone())
            .starting_at(self.elapsed)
            .max_steps(MAX_STEPS);
        let (done, disk, elapsed) = simulation.run(|sim: &Sim| {
            let disk = sim.disk();
            if let Some(n) = cut {
                disk.power_off_after(n);
            }
            let done = match duramen_session::start(&sim.env(), image::config(memory, sector)) {
                Ok(instance) => {
                    let mut life = Life {
                        instance,
                        disk: disk.clone(),
                        rng,
                        report,
                    };
                    body(&mut life).map(Some)
                }
                Err(_) if disk.is_off() => Ok(None),
                Err(e) => Err(format!("the instance does not start: {e}")),
            };
            (done, disk, sim.elapsed())
        });
        self.elapsed = elapsed;
        self.disk = disk.crash(seed);
        done
    }

    /// After how many changes the power of a life fails.
    fn cut(&mut self, most: u64) -> Option<u64> {
        let scale = [1, 4, 16][self.rng.below(3) as usize];
        Some(self.rng.below((most * scale / 16).max(2)))
    }

    /// The end: everything is closed, and all files are sound.
    fn close(mut self) -> Result<Report, String> {
        self.life(None, |life| {
            let closed = life.instance.shutdown();
            closed.map_err(|e| format!("the last shutdown fails: {e}"))?;
            audit::files(&life.disk, true)
        })?;
        Ok(self.report)
    }
}

impl Life<'_> {
    /// A session in master; `None` without power.
    fn login(&self) -> Result<Option<Session>, String> {
        match image::login_to(&self.instance, "master") {
            Ok(session) => Ok(Some(session)),
            Err(_) if self.disk.is_off() => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn run(&self, session: &mut Session, sql: &str) -> End {
        let reply = execute(session, sql);
        if std::env::var_os("DURAMEN_SIM_TALK").is_some() {
            let errors: Vec<String> = reply.errors.iter().map(|e| e.to_string()).collect();
            let rows = reply.rows.len();
            let off = self.disk.is_off();
            eprintln!("{sql} -> {rows} rows, {errors:?}, power off: {off}");
        }
        if self.disk.is_off() {
            return End::Off;
        }
        match reply.errors.first() {
            None => End::Good(reply),
            Some(e) => End::Refused(e.number, format!("{sql:.300}: {e}")),
        }
    }

    /// A statement of the story that nothing should refuse: false without power.
    fn must(&mut self, session: &mut Session, sql: &str) -> Result<bool, String> {
        match self.run(session, sql) {
            End::Good(_) => {
                self.report.done += 1;
                Ok(true)
            }
            End::Off => {
                self.report.cut += 1;
                Ok(false)
            }
            End::Refused(_, e) => Err(e),
        }
    }

    /// Rows of whole numbers; `None` without power.
    fn rows(&mut self, session: &mut Session, sql: &str) -> Result<Option<Vec<Vec<i64>>>, String> {
        match self.run(session, sql) {
            End::Good(reply) => {
                self.report.looks += 1;
                let whole = |r: &Vec<Value>| r.iter().map(Value::as_i64).collect();
                let rows: Option<Vec<Vec<i64>>> = reply.rows.iter().map(whole).collect();
                rows.map(Some)
                    .ok_or_else(|| format!("{sql}: {:?}", reply.rows))
            }
            End::Off => Ok(None),
            End::Refused(_, e) => Err(e),
        }
    }

    /// A table of two whole numbers.
    fn table(
        &mut self,
        session: &mut Session,
        sql: &str,
    ) -> Result<Option<BTreeMap<i64, i64>>, String> {
        let Some(rows) = self.rows(session, sql)? else {
            return Ok(None);
        };
        let count = rows.len();
        let map: BTreeMap<i64, i64> = rows.into_iter().map(|r| (r[0], r[1])).collect();
        match map.len() == count {
            true => Ok(Some(map)),
            false => Err(format!("{sql}: a key is there twice")),
        }
    }

    /// The state of a database, as `sys.databases` has it; empty for none, `None` without power.
    fn state(&mut self, session: &mut Session, name: &str) -> Result<Option<String>, String> {
        let sql = format!(
            "SELECT state_desc + CASE is_in_standby WHEN 1 THEN ' STANDBY' ELSE '' END FROM sys.databases WHERE name = '{name}'"
        );
        match self.run(session, &sql) {
            End::Good(reply) => {
                let first = reply.rows.first().and_then(|r| r[0].as_text());
                Ok(Some(first.unwrap_or_default()))
            }
            End::Off => Ok(None),
            End::Refused(_, e) => Err(e),
        }
    }
}
