//! A story from its first start to the check of its files: lives of the process, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use duramen_core::unavailable::{DatabaseState, Unavailable};
use duramen_events::instance::Instance;
use duramen_os::sim::{Sim, SimDisk, Simulation};
use duramen_session::Session;

use super::super::wire::execute;
use super::super::{audit, image};
use super::commits::Commit;
use super::fault::Fault;
use super::found;
use super::generate::Generator;
use super::life::Life;
use super::matrix::Matrix;
use super::model::{At, Db, Model, Op};
use super::restores::{Rolling, restore_again};
use super::step::Step;
use super::table::{Column, Index, Made, Table, Ty, Val};
use super::{asks, close, disk, found::Found};

const MAX_STEPS: u64 = 60_000_000;
/// Where the model keeps databases.
pub const MASTER: &str = "master";
/// Sessions; also what ids are divided by.
pub const SESSIONS: usize = 4;

/// Where the steps come from.
pub enum Source {
    Generated(Box<Generator>),
    /// These, and then the end.
    Given(std::vec::IntoIter<Step>),
}

/// Operations that may have been done when power failed, by session: alternatives, the first of which is none.
pub type InDoubt = Vec<Vec<Vec<Op>>>;

/// A backup.
pub struct Kept {
    /// The database.
    pub of: String,
    /// What it may hold.
    pub states: Vec<Model>,
    /// What a restore of it reads: a backup of the database, and log backups up to this one.
    pub files: Vec<String>,
}

pub struct World {
    pub seed: u64,
    pub source: Source,
    pub steps: Vec<Step>,
    pub model: Model,
    /// What has been there, sometime.
    pub known: BTreeSet<At>,
    pub matrix: Matrix,
    pub statements: u64,
    pub crashes: u64,
    /// Pages of logs that were looked at, and those changed by two sessions or more.
    pub pages: (u64, u64),
    /// Backups by file.
    pub backups: BTreeMap<String, Kept>,
    /// The RESTORE over the first database that power has cut: until it has been done again, nobody can use that.
    pub cut_restore: Option<String>,
    /// The newest backup of the first database, and the log backups that follow it without a gap.
    pub chain: Vec<String>,
    /// The same while another log backup runs.
    pub open_chain: Vec<String>,
    pub restores: u64,
    /// What is restored step by step.
    pub rolling: Option<Rolling>,
    /// Chains of log backups that were restored step by step to their end.
    pub chains: u64,
    /// Restores over the first database that left it RECOVERY_PENDING.
    pub pending: u64,
    /// The first database is one of these: it was restored, and nobody has looked.
    pub become_one_of: Vec<Db>,
    /// The databases have row versions.
    pub versioned: bool,
    /// A log is soon full.
    pub tight: bool,
    /// Audits with CHECKDB.
    pub audits: u64,
    pub in_doubt: InDoubt,
    /// The last commits.
    pub committed: Vec<Commit>,
    /// Kinds of the statements of each transaction that the next recovery has to repeat.
    pub to_repeat: Vec<Vec<usize>>,
    pub trace: u64,
    disk: Arc<SimDisk>,
    memory: u64,
    elapsed: Duration,
    lives: u64,
    pub talk: bool,
}

/// How far a life came.
enum Lived {
    /// To its end.
    To(End),
    /// Power failed in its start.
    Cut,
    /// It was to be cut in its start, and had started before.
    Started,
}

/// Why a life is over.
pub enum End {
    /// Power has failed; the next recoveries are cut after so many changes.
    Down(Vec<u64>),
    /// There are no more steps.
    Through,
}

impl World {
    pub fn new(seed: u64, source: Source) -> World {
        World {
            seed,
            source,
            steps: Vec::new(),
            model: prepared_model(),
            known: BTreeSet::new(),
            matrix: Matrix::default(),
            statements: 0,
            crashes: 0,
            audits: 0,
            pages: (0, 0),
            backups: BTreeMap::new(),
            cut_restore: None,
            chain: Vec::new(),
            open_chain: Vec::new(),
            restores: 0,
            rolling: None,
            chains: 0,
            pending: 0,
            become_one_of: Vec::new(),
            versioned: disk::is_versioned(seed),
            tight: disk::is_tight(seed),
            in_doubt: Vec::new(),
            committed: Vec::new(),
            to_repeat: Vec::new(),
            trace: 0,
            disk: disk::of(seed),
            memory: [2 << 20, 4 << 20, 16 << 20][(seed % 3) as usize],
            elapsed: Duration::ZERO,
            lives: 0,
            talk: std::env::var_os("DURAMEN_SIM_TALK").is_some(),
        }
    }

    /// Runs to the end.
    pub fn run(&mut self) -> Result<(), Fault> {
        loop {
            match self.life(None)? {
                Lived::To(End::Through) => break,
                Lived::To(End::Down(cuts)) => {
                    self.crash();
                    self.crashes += 1;
                    self.recoveries(cuts)?;
                }
                Lived::Cut => {
                    return Err(Fault::new("start", "the start stopped with the power on"));
                }
                Lived::Started => return Err(Fault::new("start", "nobody lived after the start")),
            }
        }
        self.check_files()
    }

    /// The offline check of everything but what a restore or a CREATE DATABASE that power has cut left behind.
    fn check_files(&self) -> Result<(), Fault> {
        let reports = duramen_check::check_directory(&*self.disk, "/data".as_ref());
        let reports = reports.map_err(|e| Fault::new("files", e.to_string()))?;
        let is_there = |name: &str| {
            let master = self.model.dbs.get(MASTER);
            master.is_some_and(|d| d.has("DB", name))
        };
        for report in reports {
            let path = report.path.display().to_string();
            let left = path.starts_with("/data/r.")
                || path.starts_with("/data/q.")
                || disk::MADE
                    .iter()
                    .any(|d| path.starts_with(&format!("/data/{d}.")) && !is_there(d));
            if let Some(f) = report.findings.first().filter(|_| !left) {
                return Err(Fault::new(
                    format!("files {}", f.number),
                    format!("the offline check of {path}: {} {}", f.number, f.text),
                ));
            }
        }
        Ok(())
    }

    /// Recoveries that power cuts, one after the other. One that has come to its end before is none of them, and there is
    /// nothing behind it to be cut; power fails all the same.
    fn recoveries(&mut self, cuts: Vec<u64>) -> Result<(), Fault> {
        for cut in cuts {
            let lived = self.life(Some(cut))?;
            self.crash();
            match lived {
                Lived::Cut => {
                    self.crashes += 1;
                    self.cut_recovery();
                }
                Lived::To(_) | Lived::Started => break,
            }
        }
        Ok(())
    }

    fn crash(&mut self) {
        let seed = self.seed.wrapping_mul(31).wrapping_add(self.lives);
        self.disk = self.disk.crash(seed);
    }

    /// One life of the process. With `cut` power fails in its start; then there is nothing else.
    fn life(&mut self, cut: Option<u64>) -> Result<Lived, Fault> {
        self.lives += 1;
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.lives);
        let simulation = Simulation::new(seed)
            .on_disk(self.disk.clone())
            .starting_at(self.elapsed)
            .max_steps(MAX_STEPS);
        let memory = self.memory;
        let (end, disk, elapsed, trace) = simulation.run(|sim: &Sim| {
            let disk = sim.disk();
            if let Some(n) = cut {
                disk.power_off_after(n);
            }
            let end = match duramen_session::start(&sim.env(), image::config(memory, disk::SECTOR))
            {
                Ok(_) if cut.is_some() => Ok(Lived::Started),
                Ok(instance) => self.live(&instance, &disk).map(Lived::To),
                Err(_) if disk.is_off() => Ok(Lived::Cut),
                Err(e) => Err(Fault::new(
                    format!("start {}", e.number),
                    format!("the instance does not start: {e}"),
                )),
            };
            (end, sim.disk(), sim.elapsed(), sim.trace_hash())
        });
        self.disk = disk;
        self.elapsed = elapsed;
        self.trace = self.trace.rotate_left(5) ^ trace;
        end
    }

    fn live(&mut self, instance: &Arc<Instance>, disk: &Arc<SimDisk>) -> Result<End, Fault> {
        if self.lives > 1 {
            self.recovered(instance)?;
        }
        let end = Life::new(self, instance, disk).run()?;
        if let End::Through = end {
            instance.shutdown().map_err(|e| {
                Fault::new(
                    format!("shutdown {}", e.number),
                    format!("the last shutdown fails: {e}"),
                )
            })?;
        }
        Ok(end)
    }

    /// After a crash: what is there must be what was committed, with or without what was in doubt.
    fn recovered(&mut self, instance: &Arc<Instance>) -> Result<(), Fault> {
        let unavailable = instance.databases.unavailable();
        // One whose restore was cut waits for another.
        let cut = self.cut_restore.take();
        let left = |u: &&Arc<Unavailable>| u.state != DatabaseState::Restoring;
        if let Some(refused) = unavailable.iter().find(left) {
            let text = format!("after a start, {refused}");
            return Err(Fault::new("suspect", text));
        }
        // A restore that power has cut, or one that nobody has looked at.
        let session = image::login_to(instance, "master");
        let mut session = session.map_err(|e| Fault::new("login", e))?;
        if let Some(e) = execute(&mut session, "DROP DATABASE IF EXISTS r")
            .errors
            .first()
        {
            return Err(Fault::new(
                format!("error {}", e.number),
                format!("DROP DATABASE r: {e}"),
            ));
        }
        self.roll_after_start(instance, &mut session)?;
        if let Some(sql) = &cut {
            restore_again(instance, &mut session, sql)?;
        }
        for db in present(instance).filter(|db| disk::MADE.contains(db)) {
            harden(&mut session, db)?;
        }
        drop(session);
        let found = look(instance)?;
        let mut first = None;
        let in_doubt = std::mem::take(&mut self.in_doubt);
        let mut models = vec![self.model.clone()];
        if !self.become_one_of.is_empty() {
            let like = |state: Db| {
                let mut model = self.model.clone();
                model.dbs.insert(disk::DATABASES[0].to_owned(), state);
                model
            };
            models = std::mem::take(&mut self.become_one_of)
                .into_iter()
                .map(like)
                .collect();
        }
        let models = models.iter().flat_map(|m| possible(m, in_doubt.clone()));
        for mut model in models {
            model.dbs.retain(|name, _| !name.starts_with('#'));
            match differs(&found, &model) {
                None => {
                    if let (Some(_), Some(db)) = (&cut, model.dbs.get_mut(disk::DATABASES[0])) {
                        db.next_used = true;
                    }
                    self.model = model;
                    check_structures(instance)?;
                    asks::users(instance, &self.model)?;
                    // Every second recovery: it takes as long as several statements.
                    return match self.lives.is_multiple_of(2) {
                        true => close::check(instance),
                        false => Ok(()),
                    };
                }
                Some(fault) => {
                    if self.talk {
                        println!("             not this state: {}", fault.text);
                    }
                    first.get_or_insert(fault);
                }
            }
        }
        let fault = first.unwrap_or_else(|| Fault::new("nothing", "no state at all"));
        Err(Fault::new(
            format!("recovered {}", fault.class),
            format!("after a recovery: {}", fault.text),
        ))
    }
}

/// What may be there: the model with any of the alternatives of each session.
pub fn possible(model: &Model, in_doubt: InDoubt) -> Vec<Model> {
    let mut models = vec![model.clone()];
    for alternatives in in_doubt {
        let before = models.clone();
        for ops in alternatives.iter().filter(|ops| !ops.is_empty()) {
            for model in &before {
                let mut with = model.clone();
                // What the model refuses, the engine cannot have done.
                if ops.iter().all(|op| with.apply(op).is_ok()) {
                    models.push(with);
                }
            }
        }
    }
    models
}

/// The databases of the story that are there.
pub fn present(instance: &Instance) -> impl Iterator<Item = &'static str> {
    let made = disk::MADE.into_iter();
    let made = made.filter(|db| instance.databases.find(db).is_some());
    disk::DATABASES.into_iter().chain(made)
}

/// From now on commits in a database are durable when they are told.
pub fn harden(session: &mut Session, db: &str) -> Result<(), Fault> {
    let sql = format!(
        "USE {db}; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT; USE master"
    );
    match execute(session, &sql).errors.first() {
        Some(e) => Err(Fault::new(
            format!("error {}", e.number),
            format!("{sql}: {e}"),
        )),
        None => Ok(()),
    }
}

/// Reads the databases.
pub fn look(instance: &Arc<Instance>) -> Result<Vec<Found>, Fault> {
    let session = image::login_to(instance, "master");
    let mut session = session.map_err(|e| Fault::new("login", e))?;
    let mut all = Vec::new();
    for db in present(instance) {
        all.push(found::read(&mut session, db)?);
    }
    all.push(found::of_server(&mut session)?);
    Ok(all)
}

/// The first difference between what was read and what must be there.
pub fn differs(found: &[Found], model: &Model) -> Option<Fault> {
    let none = super::model::Db::default();
    found
        .iter()
        .find_map(|f| f.difference(model.dbs.get(&f.db).unwrap_or(&none)))
}

/// A table of one row that everybody changes: sessions meet there when they are to wait for each other.
fn lock_table(n: u32) -> Table {
    Table {
        columns: vec![Column {
            name: "c0".to_owned(),
            ty: Ty::Int,
            nullable: true,
            made: Made::Plain,
            default: None,
        }],
        indexes: vec![Index {
            name: format!("pkl{n}"),
            columns: vec!["id".to_owned()],
            include: Vec::new(),
            unique: true,
            clustered: true,
            constraint: Some("PRIMARY KEY"),
            disabled: false,
        }],
        rows: [(0, vec![Val::Int(0)])].into(),
        ..Table::default()
    }
}

/// What is on the prepared disk.
fn prepared_model() -> Model {
    let mut model = Model::default();
    for db in disk::DATABASES {
        let db = model.dbs.entry(db.to_owned()).or_default();
        db.boundaries.extend(disk::BOUNDARIES);
        db.next_used = true;
        for n in 1..=2 {
            db.tables.insert(format!("lk{n}"), Arc::new(lock_table(n)));
        }
    }
    model
}

/// Trees and indexes of the databases.
pub fn check_structures(instance: &Arc<Instance>) -> Result<(), Fault> {
    for db in present(instance) {
        let open = instance.databases.find(db);
        let open = open.ok_or_else(|| Fault::new("gone", format!("database {db} is not there")))?;
        audit::structures(&open)
            .map_err(|e| Fault::new("structures", format!("database {db}: {e}")))?;
    }
    Ok(())
}
