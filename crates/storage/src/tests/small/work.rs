//! The operations of small workloads, and what the database may hold after them.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{FileId, SqlError, SqlResult};
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::thread;
use duramen_txn::Transaction;
use duramen_types::Value;

use crate::tests::fixture::*;
use crate::tests::tables::{Model, Tables, tables};
use crate::{Database, Engine, FileChange};

/// What a session does. All but `CreateTable`, `Checkpoint` and the growths belong to its transaction, which the first of
/// them begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Insert,
    /// Rows until a page splits.
    Split,
    /// Rows as INSERT ... SELECT brings them: log records of whole pages.
    Load,
    /// The same with TABLOCK: nothing of the rows of new pages is in the log.
    LoadMinimal,
    Update,
    Delete,
    Truncate,
    Commit,
    /// Nobody waits until it is durable.
    CommitUnflushed,
    Rollback,
    Checkpoint,
    CreateTable,
    GrowData,
    GrowLog,
    Close,
}

pub const STEPS: [Step; 15] = [
    Step::Insert,
    Step::Split,
    Step::Load,
    Step::LoadMinimal,
    Step::Update,
    Step::Delete,
    Step::Truncate,
    Step::Commit,
    Step::CommitUnflushed,
    Step::Rollback,
    Step::Checkpoint,
    Step::CreateTable,
    Step::GrowData,
    Step::GrowLog,
    Step::Close,
];

/// All workloads of up to so many steps, the shorter ones first.
pub fn workloads(length: usize) -> Vec<Vec<Step>> {
    let mut all = vec![Vec::new()];
    let mut longest = all.clone();
    for _ in 0..length {
        longest = longest
            .iter()
            .filter(|w| w.last() != Some(&Step::Close))
            .flat_map(|w: &Vec<Step>| STEPS.map(|s| [w.as_slice(), &[s]].concat()))
            .collect();
        all.extend(longest.iter().cloned());
    }
    all
}

/// What the database holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    pub rows: Model,
    /// Numbers of heaps that were made.
    pub made: BTreeSet<u16>,
}

/// The states after each commit, and the first of them that may be found after a crash.
#[derive(Clone, Debug)]
pub struct Promise {
    pub states: Vec<State>,
    pub durable: usize,
}

impl Promise {
    fn last(&self) -> &State {
        &self.states[self.states.len() - 1]
    }

    fn commit(&mut self, state: State) {
        self.states.push(state);
    }

    fn all_durable(&mut self) {
        self.durable = self.states.len() - 1;
    }
}

/// The numbers that heaps made by workloads may have.
const MADE: std::ops::Range<u16> = 400..404;

/// A database on its disk, before the workload.
pub struct Base {
    pub name: &'static str,
    pub disk: Arc<SimDisk>,
    pub promise: Promise,
}

const MEMORY: u64 = 1 << 20;

impl Base {
    /// Closed cleanly with a few rows.
    pub fn closed() -> Base {
        Base::made("closed", |life| {
            life.step(Step::Close).map_err(|e| e.to_string())
        })
    }

    /// Lost its power: committed rows and a transaction under way, part of it in the data file.
    pub fn crashed() -> Base {
        let mut base = Base::made("crashed", |life| {
            use Step::*;
            let steps = [Split, Update, Checkpoint, Commit, Delete, Update, Insert];
            for step in steps {
                life.step(step).map_err(|e| format!("{step:?}: {e}"))?;
            }
            let log = life.db.log().ok_or("a log")?;
            log.flush_all().map_err(|e| e.to_string())
        });
        base.disk = base.disk.crash(3);
        base
    }

    fn made(name: &'static str, end: impl FnOnce(&mut Life) -> Result<(), String>) -> Base {
        let (disk, promise) = Simulation::new(1).run(|sim| {
            let engine = engine(&sim.env(), MEMORY);
            let db = create(&engine).unwrap();
            let promise = Promise {
                states: vec![State::default()],
                durable: 0,
            };
            let mut life = Life::new(engine, db, promise);
            for step in [Step::Insert, Step::Insert, Step::Insert, Step::Commit] {
                life.step(step).unwrap();
            }
            end(&mut life).unwrap();
            (sim.disk(), life.promise)
        });
        Base {
            name,
            disk,
            promise,
        }
    }
}

/// An open database and its one session.
pub struct Life {
    engine: Arc<Engine>,
    pub db: Arc<Database>,
    tables: Tables,
    /// The transaction, and what the database will hold when it commits.
    open: Option<(Transaction, Model)>,
    pub promise: Promise,
    closed: bool,
}

impl Life {
    fn new(engine: Arc<Engine>, db: Arc<Database>, promise: Promise) -> Life {
        Life {
            tables: tables(&db),
            engine,
            db,
            open: None,
            promise,
            closed: false,
        }
    }

    /// Opens the database. An error is what was said.
    pub fn open(disk: &Arc<SimDisk>, promise: Promise) -> SqlResult<Life> {
        let config = crate::EngineConfig {
            memory: MEMORY,
            doublewrite_path: "/data/duramen.dwb".into(),
        };
        let engine = Engine::new(&disk.env(), &config)?;
        let db = open(&engine)?;
        Ok(Life::new(engine, db, promise))
    }

    pub fn step(&mut self, step: Step) -> SqlResult<()> {
        use Step::*;
        match step {
            Insert | Split | Load | LoadMinimal | Update | Delete | Truncate => self.change(step),
            Commit | CommitUnflushed => self.commit(step == Commit),
            Rollback => self.roll_back(),
            Checkpoint => self.db.checkpoint().map(|_| ()),
            CreateTable => self.create_table(),
            GrowData => {
                let size = self.db.files()[0].size + 64;
                let change = FileChange {
                    size: Some(size),
                    ..FileChange::default()
                };
                self.db.modify_data_file("t", &change)
            }
            GrowLog => {
                let log = self.db.log().expect("not tempdb");
                let size = log.file_sizes()[0].1 + (512 << 10);
                log.grow_file(FileId(2), size).map_err(|e| e.to_sql("t"))
            }
            Close => {
                self.roll_back()?;
                self.closed = true;
                self.db.close()?;
                self.promise.all_durable();
                Ok(())
            }
        }
    }

    fn change(&mut self, step: Step) -> SqlResult<()> {
        let begun = || (begin(&self.engine, 52), self.promise.last().rows.clone());
        let (tx, rows) = self.open.get_or_insert_with(begun);
        let new = rows.keys().next_back().map_or(1, |id| id + 1);
        let first = rows.iter().next().map(|(id, (_, n))| (*id, *n));
        match (step, first) {
            (Step::Insert, _) => {
                self.tables.insert(tx, new, 40, Some(new))?;
                rows.insert(new, (40, Some(new)));
            }
            (Step::Split, _) => {
                for id in new..new + 4 {
                    self.tables.insert(tx, id, 3000, None)?;
                    rows.insert(id, (3000, None));
                }
            }
            (Step::Load | Step::LoadMinimal, _) => {
                let alone = step == Step::LoadMinimal;
                self.tables.load(tx, new, 12, alone)?;
                rows.extend((new..new + 12).map(|id| (id, (1500, None))));
            }
            (Step::Update, Some((id, n))) => {
                self.tables.update(tx, id, n, 1200, Some(-id))?;
                rows.insert(id, (1200, Some(-id)));
            }
            (Step::Delete, Some((id, n))) => {
                self.tables.delete(tx, id, n)?;
                rows.remove(&id);
            }
            (Step::Truncate, _) => {
                let t = &self.tables;
                for rowset in [&t.table, &t.index, &t.heap] {
                    rowset.truncate(tx)?;
                }
                rows.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn commit(&mut self, wait: bool) -> SqlResult<()> {
        if let Some((tx, rows)) = self.open.take() {
            if let Err(e) = self.engine.commit(&tx, None) {
                self.open = Some((tx, rows));
                return Err(e);
            }
            let made = self.promise.last().made.clone();
            self.promise.commit(State { rows, made });
        }
        if wait && let Some(log) = self.db.log() {
            log.flush_all().map_err(|e| e.to_sql("t"))?;
            self.promise.all_durable();
        }
        Ok(())
    }

    fn roll_back(&mut self) -> SqlResult<()> {
        match self.open.take() {
            Some((tx, _)) => self.engine.rollback(&tx, None),
            None => Ok(()),
        }
    }

    fn create_table(&mut self) -> SqlResult<()> {
        let mut state = self.promise.last().clone();
        let Some(number) = MADE.clone().find(|n| !state.made.contains(n)) else {
            return Ok(());
        };
        let heap = new_heap(&self.engine, &self.db, number, 1)?;
        state.made.insert(number);
        self.promise.commit(state.clone());
        debug_assert_eq!(heap.def().au, heap_numbered(number).au);
        Ok(())
    }

    /// After a step has failed: what it began is rolled back and the database holds what it held, and takes more; or its log
    /// has failed, and it says so.
    pub fn goes_on(&mut self) -> Result<(), String> {
        let failed = |db: &Database| db.log().is_none_or(|log| log.poisoned());
        if self.closed || failed(&self.db) {
            return Ok(());
        }
        if let Err(e) = self.roll_back() {
            return match failed(&self.db) {
                true => Ok(()),
                false => Err(format!("the log lives, but the rollback fails: {e}")),
            };
        }
        let went_on = (|| {
            let found = self.state()?;
            if found != *self.promise.last() {
                return Ok(Some(found));
            }
            self.step(Step::Insert)?;
            self.step(Step::Commit)?;
            Ok::<_, SqlError>(None)
        })();
        match went_on {
            Ok(None) => Ok(()),
            Ok(Some(found)) => Err(format!(
                "after an error {found:?} is there, not {:?}",
                self.promise.last()
            )),
            Err(_) if failed(&self.db) => Ok(()),
            Err(e) => Err(format!("after an error the database does not go on: {e}")),
        }
    }

    /// Lets the log's own threads do what they do when nobody asks, and learns what is durable.
    pub fn settle(&mut self) {
        if self.closed {
            return;
        }
        thread::sleep(Duration::from_millis(8));
        if let Some(log) = self.db.log()
            && log.durable_lsn() >= log.last_lsn()
        {
            self.promise.all_durable();
        }
    }

    /// The session is gone and the process with it.
    pub fn end(&self) {
        if let Some(log) = self.db.log() {
            log.abandon();
        }
    }

    /// What the database holds, all of its tables read.
    pub fn state(&self) -> SqlResult<State> {
        let tx = begin(&self.engine, 60);
        let rows = self.tables.try_state(&tx);
        let made = self.made(&tx);
        self.engine.locks.release_session(&tx.owner);
        Ok(State {
            rows: rows?,
            made: made?,
        })
    }

    /// The heaps that are listed; each can be read.
    fn made(&self, tx: &Transaction) -> SqlResult<BTreeSet<u16>> {
        let units: Vec<Value> = try_all(&self.db.rowset(&sysallocunits()), tx)?
            .into_iter()
            .map(|row| row[0].clone())
            .collect();
        let mut made = BTreeSet::new();
        for number in MADE {
            let def = heap_numbered(number);
            if units.contains(&Value::BigInt(def.au.0)) {
                assert_eq!(try_all(&self.db.rowset(&def), tx)?.len(), 0);
                made.insert(number);
            }
        }
        Ok(made)
    }
}

/// Opens the database after a crash: it holds one of the states that it may. Then it takes a change, closes, and the offline
/// check finds nothing.
pub fn recovers(disk: &Arc<SimDisk>, promise: &Promise, seed: u64) -> Result<(), String> {
    let looked = Simulation::new(seed).on_disk(disk.clone());
    let looked = looked.starting_at(Duration::from_secs(300));
    looked.run(|_| {
        let mut life = Life::open(disk, promise.clone()).map_err(|e| format!("the open: {e}"))?;
        let found = life.state().map_err(|e| format!("reading: {e}"))?;
        let Some(at) = promise.states.iter().rposition(|s| *s == found) else {
            return Err(format!("{found:?} is none of {:?}", promise.states));
        };
        if at < promise.durable {
            return Err(format!("{found:?} is there, not {:?}", promise.last()));
        }
        life.promise.states.truncate(at + 1);
        for step in [Step::Insert, Step::Commit, Step::Close] {
            life.step(step)
                .map_err(|e| format!("{step:?} after the recovery: {e}"))?;
        }
        sound(&**disk);
        Ok(())
    })
}

/// Runs a case; a panic is one more thing that may be wrong with it.
pub fn caught<T>(case: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Err(text.unwrap_or_else(|| "a panic".to_owned()))
    })
}
