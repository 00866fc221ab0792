//! One life of the process: steps are taken, answers judged, until power fails or there are no more steps.

use std::sync::Arc;
use std::time::Duration;

use duramen_os::sim::SimDisk;
use duramen_os::thread::JoinHandle;
use duramen_os::{thread, time};
use duramen_session::Instance;

use super::super::image;
use super::super::wire::execute;
use super::fault::Fault;
use super::model::{Model, No, Op};
use super::seat::{Answer, Bell, Seat};
use super::step::{Batch, Effect, Form, Step};
use super::world::{End, SESSIONS, Source, World};
use super::{bulk, close, found, judge, kinds};

/// How long a request runs before the next step comes beside it: by then it waits for somebody.
const PATIENCE: Duration = Duration::from_millis(4);
/// How long nobody may move.
pub const STUCK: Duration = Duration::from_secs(300);

/// An open transaction.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    pub depth: u32,
    pub ops: Vec<Op>,
    /// Those that a savepoint has undone: their locks stay.
    pub undone: Vec<Op>,
    /// Savepoints: name, operations and kinds before it.
    pub saves: Vec<(String, usize, usize)>,
    /// Kinds of its statements.
    pub kinds: Vec<usize>,
}

pub struct Busy {
    pub batch: Batch,
    pub cancelled: bool,
    pub killed: bool,
    /// For a backup: what was committed while it ran.
    pub states: Vec<Model>,
    /// What the session saw when it was asked.
    pub seen: Model,
    pub since: time::Instant,
}

/// A session and its client.
#[derive(Default)]
pub struct Who {
    pub seat: Option<Seat>,
    pub txn: Option<Txn>,
    pub xact_abort: bool,
    pub busy: Option<Busy>,
}

impl Who {
    /// An attention to its request, if it has one.
    fn attention(&mut self) -> bool {
        match (&mut self.busy, &self.seat) {
            (Some(busy), Some(seat)) => {
                busy.cancelled = true;
                seat.attention();
                true
            }
            _ => false,
        }
    }
}

pub struct Life<'a> {
    pub world: &'a mut World,
    pub instance: Arc<Instance>,
    pub disk: Arc<SimDisk>,
    pub who: Vec<Who>,
    pub bell: Arc<Bell>,
    /// Threads of sessions that have been let go.
    pub leaving: Vec<JoinHandle<()>>,
    seen: u64,
    /// Power is to fail.
    pub ordered: bool,
}

impl<'a> Life<'a> {
    pub fn new(world: &'a mut World, instance: &Arc<Instance>, disk: &Arc<SimDisk>) -> Life<'a> {
        Life {
            world,
            instance: instance.clone(),
            disk: disk.clone(),
            who: (0..SESSIONS).map(|_| Who::default()).collect(),
            bell: Arc::default(),
            leaving: Vec::new(),
            seen: 0,
            ordered: false,
        }
    }

    pub fn run(mut self) -> Result<End, Fault> {
        loop {
            self.settle()?;
            if self.disk.is_off() {
                return self.down();
            }
            let Some(step) = self.next() else {
                // An order that power did not come to.
                self.disk.power_off_after(u64::MAX);
                close::audit(&mut self)?;
                return match self.disk.is_off() {
                    true => self.down(),
                    false => Ok(End::Through),
                };
            };
            if let Step::Down { cuts } = step {
                self.note(Step::Down { cuts: cuts.clone() });
                return Ok(judge::power(&mut self, cuts));
            }
            self.take(step)?;
        }
    }

    /// Power has failed by itself.
    fn down(mut self) -> Result<End, Fault> {
        let cuts = loop {
            match &mut self.world.source {
                Source::Generated(g) => break g.cuts(),
                Source::Given(steps) => match steps.next() {
                    Some(Step::Down { cuts }) => break cuts,
                    Some(_) => {}
                    None => break Vec::new(),
                },
            }
        };
        self.note(Step::Down { cuts: cuts.clone() });
        Ok(judge::power(&mut self, cuts))
    }

    pub fn note(&mut self, step: Step) {
        if self.world.talk {
            eprintln!("{:>12} {}", time::now().nanos(), step.show());
        }
        self.world.steps.push(step);
    }

    fn next(&mut self) -> Option<Step> {
        // The generator is taken out while it looks around.
        match std::mem::replace(
            &mut self.world.source,
            Source::Given(Vec::new().into_iter()),
        ) {
            Source::Generated(mut g) => {
                let step = g.next(self);
                self.world.source = Source::Generated(g);
                step
            }
            Source::Given(mut steps) => {
                let step = steps.find(|s| self.fits(s));
                self.world.source = Source::Given(steps);
                step
            }
        }
    }

    /// A step of a shortened story that makes no sense any more is left out.
    pub fn fits(&self, step: &Step) -> bool {
        match step {
            Step::Run { who, batch, .. } => {
                let w = &self.who[*who];
                if w.busy.is_some() || self.is_restoring(batch) {
                    return false;
                }
                judge::fits(self, *who, batch) && !self.meets(*who, batch)
            }
            Step::Leave { who } | Step::Cancel { who, .. } => !self.is_whole(*who),
            Step::Kill { by, who } => {
                let free = self.who[*by].busy.is_none() && self.who[*by].txn.is_none();
                free && by != who && !self.is_whole(*who)
            }
            _ => true,
        }
    }

    /// It would run beside another's statement on the same table, and one of both changes what the table is: nobody could
    /// say which came first.
    pub fn meets(&self, who: usize, batch: &Batch) -> bool {
        let own = |at: &super::model::At| {
            let txn = self.who[who].txn.as_ref();
            txn.is_some_and(|t| {
                t.ops
                    .iter()
                    .flat_map(Op::touches)
                    .any(|(a, defines)| defines && a.meets(at))
            })
        };
        let touched = batch.touches();
        self.who.iter().enumerate().any(|(n, other)| {
            let Some(busy) = other.busy.as_ref().filter(|_| n != who) else {
                return false;
            };
            busy.batch.touches().into_iter().any(|(at, defines)| {
                touched
                    .iter()
                    .any(|(mine, d)| mine.meets(&at) && (*d || defines) && !own(mine))
            })
        })
    }

    /// A backup or restore beside another: they would meet in the same files.
    fn is_restoring(&self, batch: &Batch) -> bool {
        let is = |b: &Batch| matches!(b.stmts[0].effect, Effect::Backup(_) | Effect::Restored(..));
        let known = match &batch.stmts[0].effect {
            Effect::Restored(path, _) => self.world.backups.contains_key(path),
            _ => true,
        };
        !known
            || is(batch)
                && self
                    .who
                    .iter()
                    .any(|w| w.busy.as_ref().is_some_and(|b| is(&b.batch)))
    }

    /// It runs something that may not be interrupted.
    pub fn is_whole(&self, who: usize) -> bool {
        let w = &self.who[who];
        let busy = w.busy.as_ref();
        busy.is_some_and(|b| b.batch.is_whole(w.txn.is_some()))
    }

    /// The databases as a session sees them.
    pub fn view(&self, who: usize) -> Model {
        let mut model = self.world.model.clone();
        for op in self.who[who].txn.iter().flat_map(|t| &t.ops) {
            let _ = model.apply(op);
        }
        model
    }

    /// Something was committed: backups that run may hold it.
    pub fn note_state(&mut self) {
        let model = &self.world.model;
        for busy in self.who.iter_mut().filter_map(|w| w.busy.as_mut()) {
            if matches!(busy.batch.stmts[0].effect, Effect::Backup(_)) {
                busy.states.push(model.clone());
            }
        }
    }

    /// What a backup that has ended may hold: what was committed while it ran, with or without what has not been told.
    pub fn backed_up(&self, states: &[Model]) -> Vec<Model> {
        let mut all = states.to_vec();
        all.extend(super::world::possible(
            &self.world.model,
            judge::in_doubt(self),
        ));
        all
    }

    /// Compares a database that was made from a backup with what that may hold, and drops it.
    pub fn restored(&mut self, path: &str, db: &str) -> Result<(), Fault> {
        let mut session =
            image::login_to(&self.instance, "master").map_err(|e| Fault::new("login", e))?;
        let found = match found::read(&mut session, db) {
            Err(_) if self.disk.is_off() => return Ok(()),
            other => other?,
        };
        let states = self.world.backups.get(path).cloned().unwrap_or_default();
        let differences: Vec<Option<Fault>> = states
            .iter()
            .map(|m| {
                m.dbs
                    .get(super::disk::DATABASES[0])
                    .map_or_else(|| None, |d| found.difference(d))
            })
            .collect();
        if !differences.iter().any(Option::is_none) {
            let first = differences.into_iter().flatten().next();
            let first = first.unwrap_or_else(|| Fault::new("backup", "nobody knows the backup"));
            return Err(Fault::new(format!("restored {}", first.class), first.text));
        }
        self.world.restores += 1;
        let reply = execute(&mut session, &format!("DROP DATABASE {db}"));
        match reply.errors.first() {
            Some(e) if !self.disk.is_off() => {
                Err(Fault::new(format!("error {}", e.number), e.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Opens the session's connection, if there is none. False without power.
    pub fn connect(&mut self, who: usize) -> Result<bool, Fault> {
        if self.who[who].seat.is_some() {
            return Ok(true);
        }
        let db = super::disk::DATABASES[who % 2];
        let seat = Seat::open(&self.instance, &self.disk, &self.bell, db);
        let since = time::now();
        while seat.spid().is_none() {
            if self.disk.is_off() {
                return Ok(false);
            }
            if let Some(e) = seat.refused() {
                return Err(Fault::new("login", e));
            }
            if since.elapsed() > STUCK {
                return Err(Fault::new("stuck login", "a login takes for ever"));
            }
            thread::sleep(Duration::from_micros(20));
        }
        self.who[who] = Who {
            seat: Some(seat),
            ..Who::default()
        };
        Ok(true)
    }

    fn take(&mut self, step: Step) -> Result<(), Fault> {
        self.note(step.clone());
        match step {
            Step::Run { who, batch, on } => {
                if !self.connect(who)? {
                    return Ok(());
                }
                self.dispatch(who, batch);
                match on {
                    true => Ok(()),
                    false => self.wait_for(who),
                }
            }
            Step::Leave { who } => self.leave(who),
            Step::Cancel { who, after } => {
                thread::sleep(Duration::from_micros(after));
                self.who[who].attention();
                self.wait_for(who)
            }
            Step::Kill { by, who } => self.kill(by, who),
            Step::Rest { ms } => {
                thread::sleep(Duration::from_millis(ms));
                self.settle()
            }
            Step::Fails { after } => {
                self.disk.power_off_after(after);
                self.ordered = true;
                Ok(())
            }
            Step::Audit => close::audit(self),
            Step::Down { .. } => Ok(()),
        }
    }

    fn dispatch(&mut self, who: usize, batch: Batch) {
        let seen = self.view(who);
        if let Effect::Backup(path) = &batch.stmts[0].effect {
            // Whatever is in that file is overwritten.
            self.world.backups.remove(path);
        }
        let sql = batch.sql();
        self.world.statements += batch.stmts.len() as u64;
        let w = &mut self.who[who];
        let Some(seat) = &w.seat else { return };
        match &batch.form {
            Form::Bulk(load) => seat.bulk(sql, bulk::rows(load)),
            _ => seat.batch(sql),
        }
        w.busy = Some(Busy {
            batch,
            cancelled: false,
            killed: false,
            states: vec![self.world.model.clone()],
            seen,
            since: time::now(),
        });
    }

    /// Waits until the session's request has ended, or waits itself.
    fn wait_for(&mut self, who: usize) -> Result<(), Fault> {
        let since = time::now();
        while since.elapsed() < PATIENCE && !self.disk.is_off() {
            if self.who[who].seat.as_ref().is_none_or(Seat::has_answer) {
                break;
            }
            self.bell.wait(&mut self.seen, Duration::from_millis(1));
        }
        self.settle()
    }

    /// A request beside the story's: what it answers, or `None` without power or after too long.
    pub fn ask(&mut self, who: usize, sql: &str) -> Option<Answer> {
        let seat = self.who[who].seat.as_ref()?;
        seat.batch(sql.to_owned());
        let since = time::now();
        loop {
            if let Some(answer) = self.who[who].seat.as_ref()?.take() {
                return (!answer.off).then_some(answer);
            }
            if self.disk.is_off() || since.elapsed() > STUCK {
                return None;
            }
            self.bell.wait(&mut self.seen, Duration::from_millis(1));
        }
    }

    /// Judges the answers that are there: first of those whose transactions have changed definitions, for the others may
    /// have waited for them.
    pub fn settle(&mut self) -> Result<(), Fault> {
        loop {
            if self.disk.is_off() {
                return self.judge_all();
            }
            let waiting =
                |w: &Who| w.busy.is_some() && !w.seat.as_ref().is_none_or(Seat::has_answer);
            let ended = |w: &Who| w.busy.is_some() && w.seat.as_ref().is_some_and(Seat::has_answer);
            if !self.who.iter().any(ended) {
                if self.who.iter().all(|w| w.busy.is_none())
                    || self.who.iter().any(|w| w.busy.is_none())
                {
                    return Ok(());
                }
                // Everybody waits: time solves it.
                let first = self
                    .who
                    .iter()
                    .filter_map(|w| w.busy.as_ref())
                    .map(|b| b.since)
                    .max();
                if first.is_some_and(|f| f.elapsed() > STUCK) {
                    return Err(Fault::new("stuck", judge::stuck(self)));
                }
                self.bell.wait(&mut self.seen, Duration::from_millis(50));
                continue;
            }
            // Whoever is about to end a transaction ends it first.
            for _ in 0..50 {
                let ender = |w: &Who| waiting(w) && judge::ends(w);
                if !self.who.iter().any(ender) || self.disk.is_off() {
                    break;
                }
                thread::sleep(Duration::from_micros(200));
            }
            self.judge_all()?;
        }
    }

    fn judge_all(&mut self) -> Result<(), Fault> {
        let mut ended: Vec<(bool, u64, usize, Answer)> = Vec::new();
        for (n, w) in self.who.iter().enumerate() {
            if w.busy.is_some()
                && let Some(answer) = w.seat.as_ref().and_then(Seat::take)
            {
                ended.push((!judge::ends(w), answer.number, n, answer));
            }
        }
        ended.sort_by_key(|e| (e.0, e.1));
        for (_, _, who, answer) in ended {
            judge::answer(self, who, answer)?;
        }
        Ok(())
    }

    pub fn leave(&mut self, who: usize) -> Result<(), Fault> {
        let interrupted = !self.is_whole(who) && self.who[who].attention();
        if interrupted || self.who[who].busy.is_some() {
            let since = time::now();
            while self.who[who].busy.is_some() && !self.disk.is_off() {
                if since.elapsed() > STUCK {
                    return Err(Fault::new("stuck", judge::stuck(self)));
                }
                self.bell.wait(&mut self.seen, Duration::from_millis(1));
                self.settle()?;
            }
        }
        let Some(seat) = self.who[who].seat.take() else {
            return Ok(());
        };
        if self.disk.is_off() {
            self.who[who].seat = Some(seat);
            return Ok(());
        }
        let thread = seat.leave();
        let since = time::now();
        while !thread.is_finished() {
            if self.disk.is_off() {
                return Ok(());
            }
            if since.elapsed() > STUCK {
                return Err(Fault::new("stuck leaving", judge::stuck(self)));
            }
            thread::sleep(Duration::from_micros(50));
        }
        judge::left(self, who);
        self.settle()
    }

    fn kill(&mut self, by: usize, who: usize) -> Result<(), Fault> {
        if !self.connect(by)? || self.who[by].busy.is_some() {
            return Ok(());
        }
        let Some(spid) = self.who[who].seat.as_ref().and_then(Seat::spid) else {
            return Ok(());
        };
        if let Some(busy) = &mut self.who[who].busy {
            busy.killed = true;
        }
        let Some(answer) = self.ask(by, &format!("KILL {spid}")) else {
            return Ok(());
        };
        self.world.statements += 1;
        self.world
            .matrix
            .count(&[kinds::number("KILL")], super::matrix::Ending::Commit);
        if let Some(e) = answer.errors.first() {
            return Err(Fault::new(
                format!("error {}", e.number),
                format!("KILL: {e}"),
            ));
        }
        if self.who[who].busy.is_some() {
            return self.wait_for(who);
        }
        judge::killed(self, who);
        self.leave(who)
    }
}

/// What a session sees when an operation is done: `Ok` when it must be done.
pub fn allowed(model: &Model, op: &Op) -> Result<(), No> {
    model.clone().apply(op)
}
