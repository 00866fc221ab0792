//! One life of the process: steps are taken, answers judged, until power fails or there are no more steps.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::SqlError;
use duramen_events::instance::Instance;
use duramen_os::IoError;
use duramen_os::sim::{DiskOp, SimDisk};
use duramen_os::thread::JoinHandle;
use duramen_os::{thread, time};

use super::super::image;
use super::fault::Fault;
use super::hear::Heard;
use super::model::{Model, No, Op};
use super::seat::{Answer, Bell, Seat};
use super::snapshot::Snapshot;
use super::step::{Batch, Effect, Form, Level, Step, Stmt};
use super::world::{self, End, MASTER, SESSIONS, Source, World};
use super::{bulk, close, commits, doubt, fits, globals, judge, kinds};

/// KILL of a session that is not there.
const NOT_ACTIVE: i32 = 6106;
/// How long a request runs before the next step comes beside it: by then it waits for somebody.
const PATIENCE: Duration = Duration::from_millis(4);
/// The same for a backup or a restore, which waits for nobody and takes its time: what follows it is to find it done.
const PATIENCE_WITH_FILES: Duration = Duration::from_secs(20);
/// How long nobody may move.
pub const STUCK: Duration = Duration::from_secs(300);

/// An open transaction.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    pub depth: u32,
    pub ops: Vec<Op>,
    /// Those that a savepoint has undone, and those that were refused: their locks stay.
    pub undone: Vec<Op>,
    /// Databases that it has read or written, or tried to: none of them goes while it is open.
    pub used: BTreeSet<String>,
    /// Savepoints: name, operations and kinds before it.
    pub saves: Vec<(String, usize, usize)>,
    /// Kinds of its statements.
    pub kinds: Vec<usize>,
    /// Under SNAPSHOT: what was committed when it first read.
    pub snapshot: Snapshot,
}

pub struct Busy {
    pub batch: Batch,
    pub cancelled: bool,
    /// Its client goes, and does not wait for the end.
    pub leaves: bool,
    pub killed: bool,
    /// What was committed while it ran, where that matters.
    pub states: Vec<Model>,
    /// What the session saw when it was asked.
    pub seen: Model,
    /// So many of its statements are done, and the model has followed.
    pub told: usize,
    /// What it has told beyond that.
    pub heard: Heard,
    pub since: time::Instant,
}

impl Busy {
    /// Its statements that are not known to be done.
    pub fn left(&self) -> &[Stmt] {
        self.batch.stmts.get(self.told..).unwrap_or(&[])
    }
}

/// A session and its client.
#[derive(Default)]
pub struct Who {
    pub seat: Option<Seat>,
    pub txn: Option<Txn>,
    pub xact_abort: bool,
    pub level: Level,
    pub busy: Option<Busy>,
    /// Where the logs ended when it was last asked for something.
    pub began: commits::Places,
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
    pub globals: globals::Globals,
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
            globals: globals::Globals::default(),
            seen: 0,
            ordered: false,
        }
    }

    pub fn run(mut self) -> Result<End, Fault> {
        loop {
            self.settle()?;
            self.reap_globals();
            if self.is_off() {
                return self.down();
            }
            let Some(step) = self.next() else {
                // An order that power did not come to.
                self.disk.power_off_after(u64::MAX);
                self.disk.clear_faults();
                close::audit(&mut self)?;
                return match self.is_off() {
                    true => self.down(),
                    false => Ok(End::Through),
                };
            };
            if let Step::Down { cuts } = step {
                self.note(Step::Down { cuts: cuts.clone() });
                return Ok(doubt::power(&mut self, cuts));
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
        Ok(doubt::power(&mut self, cuts))
    }

    /// There is no power any more. What fails of the disk takes it with it: whoever was refused then is in doubt, and what was
    /// told stands.
    pub fn is_off(&self) -> bool {
        let failed = self.disk.failures() > self.bell.spared();
        if failed && !self.disk.is_off() {
            self.disk.power_off_after(0);
        }
        self.disk.is_off() || failed
    }

    /// The same, and nothing is done about it.
    pub fn is_off_already(&self) -> bool {
        self.disk.is_off() || self.disk.failures() > self.bell.spared()
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
                let closed = self.is_closed(*who, batch) || self.meets_going(batch);
                if w.busy.is_some() || self.is_restoring(batch) || closed {
                    return false;
                }
                fits::fits(self, *who, batch) && !self.meets(*who, batch)
            }
            Step::Leave { who } | Step::Cancel { who, .. } => !self.is_whole(*who),
            Step::Kill { by, who } => {
                let free = self.who[*by].busy.is_none() && self.who[*by].txn.is_none();
                let closed = self
                    .who
                    .iter()
                    .any(|w| w.busy.as_ref().is_some_and(|b| b.batch.is_over()));
                free && !closed && by != who && !self.is_whole(*who)
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

    /// A session's transaction holds the databases that its statements name, until it ends.
    pub fn holds(&mut self, who: usize, stmt: &Stmt) {
        if let Some(txn) = &mut self.who[who].txn {
            txn.used
                .extend(stmt.touches().into_iter().map(|(at, _)| at.db));
        }
    }

    /// Others have read or changed the database, in transactions that are open.
    pub fn is_used_by_others(&self, who: usize, database: &str) -> bool {
        let others = self.who.iter().enumerate().filter(|(n, _)| *n != who);
        let mut open = others.filter_map(|(_, w)| w.txn.as_ref());
        open.any(|t| t.used.contains(database))
    }

    /// A restore over a database of the story, beside whoever is at work; or anything beside such a restore.
    fn is_closed(&self, who: usize, batch: &Batch) -> bool {
        let mut others = self.who.iter().enumerate().filter(|(n, _)| *n != who);
        match batch.is_over() {
            true => others.any(|(_, w)| w.seat.is_some()) || who.is_multiple_of(2),
            false => others.any(|(_, w)| w.busy.as_ref().is_some_and(|b| b.batch.is_over())),
        }
    }

    /// A backup or restore beside another: they would meet in the same files.
    fn is_restoring(&self, batch: &Batch) -> bool {
        let rolling = self.world.rolling.as_ref();
        let known = match &batch.stmts[0].effect {
            Effect::Restored(path, _) | Effect::Over(path) | Effect::Shown(path) => {
                self.world.backups.contains_key(path)
            }
            Effect::Rolls { files, .. } => {
                let kept = files.last().and_then(|f| self.world.backups.get(f));
                kept.is_some_and(|k| k.files == *files)
                    && (files.len() == 1 || rolling.is_some_and(|r| r.takes(files)))
            }
            Effect::Recovers => rolling.is_some_and(|r| r.takes_recovery()),
            _ => true,
        };
        !known
            || is_of_files(batch)
                && self
                    .who
                    .iter()
                    .any(|w| w.busy.as_ref().is_some_and(|b| is_of_files(&b.batch)))
    }

    /// It runs something that may not be interrupted.
    pub fn is_whole(&self, who: usize) -> bool {
        let w = &self.who[who];
        let busy = w.busy.as_ref();
        busy.is_some_and(|b| b.batch.is_whole(w.txn.is_some()))
    }

    /// The databases as a session sees them.
    pub fn view(&self, who: usize) -> Model {
        self.view_of(self.world.model.clone(), who)
    }

    /// The same, if this is what is committed.
    pub fn view_of(&self, mut model: Model, who: usize) -> Model {
        for op in self.who[who].txn.iter().flat_map(|t| &t.ops) {
            let _ = model.apply(op);
        }
        model
    }

    /// Something was committed: backups that run may hold it, and who reads may have seen it.
    pub fn note_state(&mut self) {
        let model = &self.world.model;
        for w in &mut self.who {
            let Some(busy) = &mut w.busy else { continue };
            let effect = &busy.batch.stmts[0].effect;
            let files = matches!(effect, Effect::Backup { .. } | Effect::BackupLog(..));
            if files || matches!(effect, Effect::Look { .. } | Effect::Rights(_)) {
                busy.states.push(model.clone());
            }
            if let Some(txn) = w.txn.as_mut().filter(|_| w.level == Level::Snapshot) {
                txn.snapshot.may_be(model);
            }
        }
    }

    /// What a backup that has ended may hold: what was committed while it ran, with or without what has not been told.
    pub fn backed_up(&self, states: &[Model]) -> Vec<Model> {
        let mut all = states.to_vec();
        all.extend(super::world::possible(
            &self.world.model,
            doubt::in_doubt(self),
        ));
        all
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
            if self.is_off() {
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
            Step::Rest { us } => {
                thread::sleep(Duration::from_micros(us));
                self.settle()
            }
            Step::Fails { after } => {
                self.disk.power_off_after(after);
                self.ordered = true;
                Ok(())
            }
            Step::Breaks { op, after } => {
                let (code, call) = (5, "simulated");
                self.disk.fail_nth(op, after, IoError::Os { code, call });
                match op {
                    // That of a name is told, and nothing more.
                    DiskOp::Name => self.bell.spare(self.disk.failures() + 1),
                    _ => self.ordered = true,
                }
                Ok(())
            }
            Step::Audit => close::audit(self),
            Step::Down { .. } => Ok(()),
        }
    }

    /// No change of a name fails any more.
    pub fn end_break(&mut self) {
        if self.bell.spared() > 0 && !self.ordered {
            self.disk.clear_faults();
            self.bell.spare(self.disk.failures());
        }
    }

    fn dispatch(&mut self, who: usize, batch: Batch) {
        if !batch.is_over() {
            self.end_break();
        }
        let seen = self.view(who);
        self.forget_backups(&batch.stmts[0]);
        let world = &*self.world;
        if let Some(txn) = self.who[who].txn.as_mut() {
            txn.snapshot.may_be(&world.model);
        }
        let sql = batch.sql();
        self.world.statements += batch.stmts.len() as u64;
        let began = commits::ends(&self.instance);
        let w = &mut self.who[who];
        w.began = began;
        let Some(seat) = &w.seat else { return };
        match &batch.form {
            Form::Bulk(load) => seat.bulk(sql, bulk::rows(load)),
            Form::Plain => seat.batch(sql),
            Form::Try(_) | Form::Around(..) => seat.several(sql),
        }
        w.busy = Some(Busy {
            batch,
            cancelled: false,
            leaves: false,
            killed: false,
            states: vec![self.world.model.clone()],
            seen,
            told: 0,
            heard: Heard::new(),
            since: time::now(),
        });
    }

    /// What a statement may do to backups that are there, whether it comes to its end or not.
    fn forget_backups(&mut self, stmt: &Stmt) {
        let world = &mut *self.world;
        match &stmt.effect {
            // Whatever is in that file is overwritten.
            Effect::Backup { path, .. } => {
                world.backups.retain(|_, k| !k.files.contains(path));
                if world.chain.contains(path) {
                    world.chain.clear();
                }
            }
            // What it takes no other has.
            Effect::BackupLog(..) => world.open_chain = std::mem::take(&mut world.chain),
            Effect::Over(_) => {
                world.chain.clear();
                world.cut_restore = Some(stmt.sql.clone());
            }
            Effect::Rolls { files, .. } => world.begin_roll(files),
            Effect::Recovers => world.begin_roll(&[]),
            _ if stmt.sql.contains("RECOVERY SIMPLE") => world.chain.clear(),
            _ => {}
        }
    }

    /// Waits until the session's request has ended, or waits itself.
    fn wait_for(&mut self, who: usize) -> Result<(), Fault> {
        let busy = self.who[who].busy.as_ref();
        let patience = match busy.is_some_and(|b| is_of_files(&b.batch)) {
            true => PATIENCE_WITH_FILES,
            false => PATIENCE,
        };
        let since = time::now();
        while since.elapsed() < patience && !self.is_off() {
            if self.who[who].seat.as_ref().is_none_or(Seat::has_answer) {
                break;
            }
            self.bell.wait(&mut self.seen, Duration::from_millis(1));
        }
        self.settle()
    }

    /// What is committed in a database that was made is durable from now on.
    pub fn harden(&self, op: &Op) -> Result<(), Fault> {
        let Op::Other {
            what: (kind, name),
            text: Some(_),
            ..
        } = op
        else {
            return Ok(());
        };
        if kind != "DB" {
            return Ok(());
        }
        let session = image::login_to(&self.instance, MASTER);
        let session = session.map_err(|e| Fault::new("login", e));
        match session.and_then(|mut s| world::harden(&mut s, name)) {
            Err(_) if self.is_off_already() => Ok(()),
            other => other,
        }
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
            if self.is_off() || since.elapsed() > STUCK {
                return None;
            }
            self.bell.wait(&mut self.seen, Duration::from_millis(1));
        }
    }

    /// Judges the answers that are there: first of those whose transactions have changed definitions, for the others may
    /// have waited for them.
    pub fn settle(&mut self) -> Result<(), Fault> {
        loop {
            if self.is_off() {
                return self.judge_all();
            }
            self.hear()?;
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
            // Whoever is about to end a transaction ends it first: what others were told may follow from it.
            let since = time::now();
            while since.elapsed() < STUCK && !self.is_off() {
                let ender = |w: &Who| waiting(w) && judge::ends(w) && !self.is_blocked(w);
                if !self.who.iter().any(ender) {
                    break;
                }
                thread::sleep(Duration::from_micros(200));
            }
            self.judge_all()?;
        }
    }

    /// It waits for a lock.
    pub fn is_blocked(&self, w: &Who) -> bool {
        let Some(spid) = w.seat.as_ref().and_then(Seat::spid) else {
            return false;
        };
        let all = self.instance.databases.all();
        let locks = all.first().map(|d| d.db.engine.locks.snapshot());
        let mut locks = locks.into_iter().flatten();
        locks.any(|l| l.waited.is_some() && l.spid.0 == spid)
    }

    pub fn leave(&mut self, who: usize) -> Result<(), Fault> {
        let interrupted = !self.is_whole(who) && self.who[who].attention();
        if let Some(busy) = &mut self.who[who].busy {
            busy.leaves = interrupted;
        }
        if interrupted || self.who[who].busy.is_some() {
            let since = time::now();
            while self.who[who].busy.is_some() && !self.is_off() {
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
        if self.is_off() {
            self.who[who].seat = Some(seat);
            return Ok(());
        }
        let spid = seat.spid();
        let waits = self.is_kept_by_others(who);
        let thread = seat.leave();
        if waits {
            self.leaving.push(thread);
            judge::left(self, who);
            return self.settle();
        }
        let since = time::now();
        while !thread.is_finished() {
            if self.is_off() {
                return Ok(());
            }
            if since.elapsed() > STUCK {
                return Err(Fault::new("stuck leaving", judge::stuck(self)));
            }
            thread::sleep(Duration::from_micros(50));
        }
        if let Some(spid) = spid {
            close::holds_nothing(self, spid, true)?;
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
        let mut again = false;
        if let Some(busy) = &mut self.who[who].busy {
            again = std::mem::replace(&mut busy.killed, true);
        }
        self.who[by].began = commits::ends(&self.instance);
        let Some(answer) = self.ask(by, &format!("KILL {spid}")) else {
            return Ok(());
        };
        self.world.statements += 1;
        commits::committed(self, by, vec![kinds::number("KILL")]);
        // Who has been killed before may be gone.
        let gone = |e: &&SqlError| !(again && e.number == NOT_ACTIVE);
        if let Some(e) = answer.errors.iter().find(gone) {
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

/// A backup or a restore.
fn is_of_files(batch: &Batch) -> bool {
    matches!(
        batch.stmts[0].effect,
        Effect::Backup { .. }
            | Effect::BackupLog(..)
            | Effect::Restored(..)
            | Effect::Over(_)
            | Effect::Shown(_)
            | Effect::Rolls { .. }
            | Effect::Recovers
    )
}

/// What a session sees when an operation is done: `Ok` when it must be done.
pub fn allowed(model: &Model, op: &Op) -> Result<(), No> {
    model.clone().apply(op)
}
