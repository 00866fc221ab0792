//! What comes next: steps made up from what a session sees.

mod admin;
mod aims;
mod alone;
mod chains;
mod flow;
mod kind;
mod lesser;
mod names;
mod needs;
mod rights;
mod rows;
mod tables;

use std::collections::VecDeque;

use duramen_os::random::Rng;
use duramen_os::sim::DiskOp;

use super::disk::{DATABASES, MADE};
use super::life::Life;
use super::matrix::Cell;
use super::model::{At, Filter, GLOBAL, Model};
use super::step::{Batch, Form, Level, Step, Stmt};
use super::table::Table;
use super::world::{Kept, MASTER, SESSIONS};

/// Tables of a database.
const SLOTS: u64 = 5;
/// Seeds from here on are of long stories, which make what a statement needs before it: so that what is changed and dropped
/// seldom comes to every end. The first are short ones, for tests.
const LONG_FROM: u64 = 1000;
/// Temporary tables of a session, and of everybody.
const TEMPORARY: u64 = 2;

pub struct Generator {
    rng: Rng,
    long: bool,
    /// Steps that are left.
    left: u32,
    /// Steps until power is taken for gone, when its failure is ordered.
    patience: u32,
    /// Sessions that take part.
    sessions: usize,
    /// For names that nobody has had.
    names: u64,
    /// Steps that belong together.
    plan: VecDeque<Step>,
    /// One in so many steps begins such.
    aims: u64,
    /// Backups that are there.
    backups: Vec<Backed>,
    /// A log backup would follow one of them.
    chained: bool,
    /// Columns of the table in hand that refer to others, and rows that they may refer to.
    parents: Vec<(String, Vec<i64>)>,
    /// Of 100 batches in a transaction: those that end it.
    ends: u64,
    /// Of 100: those that define.
    defines: u64,
    /// One in so many steps orders a failure of power.
    fails: u64,
    /// What the story favours.
    theme: Option<Cell>,
}

/// A backup that is there.
#[derive(Clone)]
pub struct Backed {
    /// Its last file.
    pub path: String,
    /// All that a restore of it reads.
    pub files: Vec<String>,
    /// The database.
    pub of: String,
}

/// What a batch is made for.
pub struct Scene<'a> {
    pub who: usize,
    pub view: &'a Model,
    pub depth: u32,
    pub saves: Vec<String>,
    pub level: Level,
    pub versioned: bool,
}

impl Scene<'_> {
    /// Its transaction sees a snapshot: it defines nothing.
    pub fn is_snapshot(&self) -> bool {
        self.level == Level::Snapshot && self.depth > 0
    }
}

impl Generator {
    pub fn new(seed: u64, theme: Option<Cell>) -> Generator {
        let mut rng = Rng::new(seed ^ 0x005d_1575_1a11);
        let long = seed >= LONG_FROM || theme.is_some();
        let scale = match long {
            true => [3, 9, 30][rng.below(3) as usize],
            false => [1, 3, 9][rng.below(3) as usize],
        };
        Generator {
            left: 20 + rng.below(40 * scale) as u32,
            long,
            patience: 0,
            sessions: 1 + rng.below(SESSIONS as u64) as usize,
            names: 0,
            backups: Vec::new(),
            chained: false,
            parents: Vec::new(),
            plan: VecDeque::new(),
            aims: match theme {
                Some(_) => 2,
                None => [3, 6, 1000][rng.below(3) as usize],
            },
            ends: [6, 15, 40][rng.below(3) as usize],
            defines: [8, 25, 60][rng.below(3) as usize],
            fails: [12, 40, 150][rng.below(3) as usize],
            theme,
            rng,
        }
    }

    /// Changes of the disk after which the next recoveries are cut.
    pub fn cuts(&mut self) -> Vec<u64> {
        self.patience = 0;
        self.plan.clear();
        let count = [0, 0, 0, 1, 1, 2][self.rng.below(6) as usize];
        (0..count).map(|_| self.rng.below(150)).collect()
    }

    pub fn next(&mut self, life: &Life<'_>) -> Option<Step> {
        if life.ordered {
            self.patience += 1;
            if self.patience > 25 {
                let cuts = self.cuts();
                return Some(Step::Down { cuts });
            }
        } else {
            self.patience = 0;
        }
        self.left = self.left.checked_sub(1)?;
        if self.plan.is_empty() && !life.ordered && self.rng.one_in(self.aims) {
            self.plan = self.aim(life).unwrap_or_default();
        }
        while let Some(step) = self.plan.pop_front() {
            if life.fits(&step) {
                return Some(step);
            }
        }
        for _ in 0..40 {
            if let Some(step) = self.step(life)
                && life.fits(&step)
            {
                return Some(step);
            }
        }
        Some(Step::Audit)
    }

    fn step(&mut self, life: &Life<'_>) -> Option<Step> {
        let busy: Vec<usize> = (0..SESSIONS)
            .filter(|n| life.who[*n].busy.is_some())
            .collect();
        if let Some(who) = self.rng.choose(&busy).copied()
            && self.rng.one_in(8)
        {
            return self.interrupt(life, who);
        }
        let who = self.rng.below(self.sessions as u64) as usize;
        if !life.ordered && self.rng.one_in(self.fails) {
            let scale = [1, 6, 30][self.rng.below(3) as usize];
            let after = self.rng.below(10 * scale);
            if self.rng.one_in(8) {
                let all = [
                    DiskOp::Write,
                    DiskOp::Sync,
                    DiskOp::SetLen,
                    DiskOp::Allocate,
                ];
                let op = all[self.rng.below(4) as usize];
                let after = 1 + after;
                return Some(Step::Breaks { op, after });
            }
            return Some(Step::Fails { after });
        }
        match self.rng.below(300) {
            0..3 => Some(Step::Leave { who }),
            3..6 => {
                let by = self.rng.below(SESSIONS as u64) as usize;
                Some(Step::Kill { by, who })
            }
            6 => Some(Step::Audit),
            7 => {
                let cuts = self.cuts();
                Some(Step::Down { cuts })
            }
            _ if life.who[who].busy.is_some() => None,
            _ => {
                let batch = self.batch(life, who)?;
                let on = self.rng.one_in(5);
                Some(Step::Run { who, batch, on })
            }
        }
    }

    /// Something that ends a running request.
    fn interrupt(&mut self, life: &Life<'_>, who: usize) -> Option<Step> {
        let w = &life.who[who];
        let batch = &w.busy.as_ref()?.batch;
        match self.rng.below(3) {
            0 => {
                let by = (0..SESSIONS).find(|n| *n != who && life.who[*n].busy.is_none())?;
                Some(Step::Kill { by, who })
            }
            1 if batch.stmts.len() == 1 => Some(Step::Leave { who }),
            _ => {
                let after = self.rng.below(300);
                Some(Step::Cancel { who, after })
            }
        }
    }

    fn batch(&mut self, life: &Life<'_>, who: usize) -> Option<Batch> {
        let view = life.view(who);
        let txn = life.who[who].txn.as_ref();
        let scene = Scene {
            who,
            view: &view,
            depth: txn.map_or(0, |t| t.depth),
            saves: txn.map_or_else(Vec::new, |t| t.saves.iter().map(|s| s.0.clone()).collect()),
            level: life.who[who].level,
            versioned: life.world.versioned,
        };
        let ends = if scene.depth > 0 { self.ends } else { 30 };
        if self.rng.below(100) < ends {
            return Some(self.flow(&scene));
        }
        match self.rng.below(100) {
            _ if scene.is_snapshot() && self.rng.one_in(3) => self.look(&scene),
            0..10 => self.try_catch(&scene),
            10..12 => Some(self.call(&scene)),
            12..16 => self.look(&scene),
            16 if !scene.is_snapshot() => self.look_at_rights(&scene),
            17..21 => {
                self.look_at_backups(life);
                self.administer(&scene)
            }
            21..24 => self.bulk(&scene),
            24..27 => {
                let form = self.rng.below(admin::BLOCKS);
                self.block(&scene, form)
            }
            _ => self.change(&scene).map(|stmt| Batch {
                stmts: vec![stmt],
                form: Form::Plain,
            }),
        }
    }

    /// A statement that changes rows or names.
    fn change(&mut self, scene: &Scene<'_>) -> Option<Stmt> {
        let defines = !scene.is_snapshot() && self.rng.below(100) < self.defines;
        let stmt = match defines {
            true => self.define(scene),
            false => self.rows(scene),
        }?;
        // The same, in a string.
        if self.rng.one_in(12) && stmt.fits_string() {
            return Some(stmt.in_string());
        }
        Some(stmt)
    }

    fn look_at_backups(&mut self, life: &Life<'_>) {
        self.chained = !life.world.chain.is_empty();
        let kept = life.world.backups.iter();
        let backed = |(path, kept): (&String, &Kept)| Backed {
            path: path.clone(),
            files: kept.files.clone(),
            of: kept.of.clone(),
        };
        self.backups = kept.map(backed).collect();
    }

    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}{}", self.names)
    }

    /// The database that a session is in.
    fn home(who: usize) -> &'static str {
        DATABASES[who % 2]
    }

    /// The place of a table, whether there is one or not.
    fn place(&mut self, scene: &Scene<'_>) -> At {
        let db = match self.rng.below(20) {
            0..3 => {
                return At {
                    db: format!("#{}", scene.who),
                    table: format!("#x{}", self.rng.below(TEMPORARY)),
                };
            }
            3 => {
                return At {
                    db: GLOBAL.to_owned(),
                    table: format!("##x{}", self.rng.below(TEMPORARY)),
                };
            }
            4..8 => self.made(scene).unwrap_or(DATABASES[0]),
            8..12 => Self::home(scene.who),
            _ => DATABASES[0],
        };
        At {
            db: db.to_owned(),
            table: format!("t{}", self.rng.below(SLOTS)),
        }
    }

    /// A database that has come and may go.
    fn made(&mut self, scene: &Scene<'_>) -> Option<&'static str> {
        let master = scene.view.dbs.get(MASTER)?;
        let there = MADE.into_iter().filter(|db| master.has("DB", db));
        let there: Vec<&'static str> = there.collect();
        self.rng.choose(&there).copied()
    }

    /// A table that the session sees.
    fn table<'a>(&mut self, scene: &Scene<'a>) -> Option<(At, &'a Table)> {
        for _ in 0..8 {
            let at = self.place(scene);
            if let Some(table) = scene.view.table(&at) {
                self.look_up_parents(scene, &at, table);
                return Some((at, &**table));
            }
        }
        None
    }

    /// Some of the session's own rows.
    fn filter(&mut self, who: usize) -> Filter {
        let of = Some((SESSIONS as i64, who as i64));
        let low = self.rng.below(1200) as i64;
        let wide = [40, 400, 20_000][self.rng.below(3) as usize];
        Filter {
            low,
            high: low + 1 + self.rng.below(wide) as i64,
            of,
        }
    }
}
