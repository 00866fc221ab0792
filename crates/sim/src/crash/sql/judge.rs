//! What an answer says, and what it makes of the model.

use std::collections::BTreeSet;

use super::close;
use super::commits::committed;
use super::disk::{DATABASES, MADE};
use super::doubt;
use super::fault::Fault;
use super::found;
use super::grounds;
use super::kinds;
use super::life::{Busy, Life, Txn, Who};
use super::matrix::Ending;
use super::model::{At, Filter, Model, NAMES, No, Op};
use super::rights;
use super::seat::Answer;
use super::show;
use super::snapshot::Snapshot;
use super::step::{Batch, Caught, Effect, Form, Level, Stmt};
use super::world::Kept;

/// Errors of locks and of memory, which may come to everybody.
const LOCKS: &[i32] = &[1222, 1205, 701];
/// Errors that end a statement and, under XACT_ABORT, its transaction; never without.
const STATEMENT: &[i32] = &[2627, 2601, 547, 515, 2628, 8152, 8134];
const LOG_FULL: i32 = 9002;
/// What a SWITCH finds in its target.
const TARGET_HAS_ROWS: i32 = 4905;
/// How two tables of a SWITCH are not alike.
const UNLIKE: &[i32] = &[4913, 4942, 4943, 4944, 4947, 4970, 4971, 4985];
const NOT_SUPPORTED: i32 = 40517;
/// DROP DATABASE of one that others use.
const IN_USE: i32 = 3702;
/// Another has changed the row, or the table, since the snapshot was taken.
const SNAPSHOT: &[i32] = &[3960, 3961];
/// Of databases that a story makes: only those that it begins with allow snapshots.
const NO_SNAPSHOTS: i32 = 3952;
const KILLED: i32 = 596;
/// A batch that ends, by an attention, with a doomed transaction.
const DOOMED_AT_THE_END: i32 = 3998;
/// The transaction ended in a trigger.
const ENDED_IN_TRIGGER: i32 = 3609;

/// Whether the session's request may end a transaction that others wait for.
pub fn ends(w: &Who) -> bool {
    let defines = |ops: &[Op]| ops.iter().flat_map(Op::touches).any(|(_, d)| d);
    let Some(busy) = &w.busy else { return false };
    let nothing = |s: &Stmt| s.effect == Effect::Nothing;
    if busy.batch.stmts.iter().all(nothing) {
        return false;
    }
    busy.batch.has_ends()
        || busy.batch.ops().flat_map(Op::touches).any(|(_, d)| d)
        || w.txn.as_ref().is_some_and(|t| defines(&t.ops))
}

/// What stands still, for a message.
pub fn stuck(life: &Life<'_>) -> String {
    let mut out = String::from("nobody moves:");
    for (n, w) in life.who.iter().enumerate() {
        let what = w.busy.as_ref().map(|b| b.batch.sql()).unwrap_or_default();
        out += &format!(" session {}: {:.200};", n + 1, what);
    }
    for l in life
        .instance
        .databases
        .all()
        .first()
        .iter()
        .flat_map(|d| d.db.engine.locks.snapshot())
    {
        if l.waited.is_some() {
            out += &format!(
                " {:?} waits for {:?} {:?} behind {:?};",
                l.spid, l.resource, l.mode, l.blocked_by
            );
        }
    }
    out
}

/// Judges a session's answer.
pub fn answer(life: &mut Life<'_>, who: usize, answer: Answer) -> Result<(), Fault> {
    if life.world.talk {
        let errors: Vec<String> = answer.errors.iter().map(|e| e.to_string()).collect();
        eprintln!(
            "             session {} -> {} rows, done {}, open {}, off {}, {errors:?}",
            who + 1,
            answer.rows.len(),
            answer.has_done(false, 1),
            answer.is_open(),
            answer.off
        );
    }
    if answer.off {
        // In doubt: as if it had not ended.
        return Ok(());
    }
    let Some(busy) = life.who[who].busy.take() else {
        return Ok(());
    };
    let ctx = Context::new(who, &busy);
    match busy.batch.form {
        Form::Plain | Form::Bulk(_) => ctx.single(life, &answer)?,
        Form::Try(_) | Form::Around(..) => ctx.several(life, &answer)?,
    }
    if answer.has(KILLED) && !busy.killed {
        return Err(ctx.fault("error 596", "nobody has killed it"));
    }
    if busy.killed {
        // Also when the KILL came a moment after its end.
        killed(life, who);
        return life_leaves(life, who);
    }
    // However its transaction has ended: with its locks.
    let w = &life.who[who];
    match w.seat.as_ref().and_then(|s| s.spid()) {
        Some(spid) if w.txn.is_none() => close::holds_nothing(life, spid, false),
        _ => Ok(()),
    }
}

/// A session's batch has told that so many of its statements are done: the model follows.
pub fn told(life: &mut Life<'_>, who: usize, came: usize) -> Result<(), Fault> {
    let Some(mut busy) = life.who[who].busy.take() else {
        return Ok(());
    };
    let ctx = Context::new(who, &busy);
    for stmt in busy.batch.stmts.iter().take(came).skip(busy.told) {
        ctx.done(life, stmt, None)?;
    }
    busy.told = busy.told.max(came);
    life.who[who].busy = Some(busy);
    Ok(())
}

/// The connection of a killed session goes.
fn life_leaves(life: &mut Life<'_>, who: usize) -> Result<(), Fault> {
    if let Some(seat) = life.who[who].seat.take() {
        life.leaving.push(seat.leave());
    }
    left(life, who);
    Ok(())
}

struct Context<'a> {
    who: usize,
    batch: &'a Batch,
    seen: &'a Model,
    cancelled: bool,
    leaves: bool,
    killed: bool,
    /// So many of its statements are done, and the model has followed.
    told: usize,
    /// What was committed while it ran.
    states: &'a [Model],
}

impl<'a> Context<'a> {
    fn new(who: usize, busy: &'a Busy) -> Context<'a> {
        Context {
            who,
            batch: &busy.batch,
            seen: &busy.seen,
            cancelled: busy.cancelled,
            leaves: busy.leaves,
            killed: busy.killed,
            told: busy.told,
            states: &busy.states,
        }
    }

    fn fault(&self, class: &str, text: &str) -> Fault {
        Fault::new(
            class,
            format!(
                "session {}: {:.400}: {text}",
                self.who + 1,
                self.batch.sql()
            ),
        )
    }

    /// One statement.
    fn single(&self, life: &mut Life<'_>, answer: &Answer) -> Result<(), Fault> {
        let stmt = &self.batch.stmts[0];
        let errors: Vec<i32> = answer
            .errors
            .iter()
            .map(|e| e.number)
            .filter(|n| *n != KILLED)
            .collect();
        let least = stmt.ends(self.cancelled || self.killed);
        if errors.is_empty() && answer.has_done(stmt.is_string(), least) {
            self.done(life, stmt, Some(answer))?;
            if !answer.has(KILLED) {
                self.state(life, answer.is_open())?;
            }
            return Ok(());
        }
        life.holds(self.who, stmt);
        self.not_done(life, stmt)?;
        let mut ending = Ending::XactAbort;
        match answer.errors.iter().find(|e| e.number != KILLED) {
            Some(e) => {
                self.refusal(life, stmt, e.number, &e.to_string())?;
                if e.number == 1205 {
                    ending = Ending::Deadlock;
                    self.count(life, stmt, ending);
                }
            }
            None if self.cancelled => {
                ending = self.interruption();
                self.count(life, stmt, ending);
            }
            None if self.killed => {
                self.count(life, stmt, Ending::Kill);
                return Ok(());
            }
            None => return Err(self.fault("no answer", "neither an error nor an end")),
        }
        if answer.has(KILLED) {
            return Ok(());
        }
        self.after(life, answer, ending, errors.first().copied())
    }

    /// What has stopped it: an attention; or its client has gone, which comes as one.
    fn interruption(&self) -> Ending {
        match self.leaves {
            true => Ending::Disconnect,
            false => Ending::Attention,
        }
    }

    /// What restores leave that have not been told as done.
    fn not_done(&self, life: &mut Life<'_>, stmt: &Stmt) -> Result<(), Fault> {
        let left = match &stmt.effect {
            Effect::Over(path) => life.not_replaced(path, &stmt.sql),
            Effect::Rolls { .. } | Effect::Recovers => life.roll_interrupted(),
            _ => Ok(()),
        };
        left.map_err(|f| self.fault(&f.class, &f.text))
    }

    /// After a statement that was not done: is the transaction still there?
    fn after(
        &self,
        life: &mut Life<'_>,
        answer: &Answer,
        ending: Ending,
        error: Option<i32>,
    ) -> Result<(), Fault> {
        let open = match answer.dones.is_empty() || self.cancelled {
            false => answer.is_open(),
            true => match life.ask(self.who, "SELECT @@TRANCOUNT") {
                // Killed between its answer and the question.
                Some(a) if a.rows.is_empty() && a.has(KILLED) => return Ok(()),
                Some(a) => a.rows.first().and_then(|r| r[0].as_i64()) != Some(0),
                None => return Ok(()),
            },
        };
        let w = &mut life.who[self.who];
        let abort = w.xact_abort;
        let hard = error.is_some_and(|e| STATEMENT.contains(&e));
        let gone = [1205, ENDED_IN_TRIGGER, LOG_FULL, 3960, 3961]
            .map(Some)
            .contains(&error);
        match (&w.txn, open) {
            (Some(_), true) if gone || hard && abort => {
                Err(self.fault("transaction left", "its transaction is still open"))
            }
            (Some(_), false) if hard && !abort && !self.alters() => {
                Err(self.fault("transaction gone", "its transaction is gone"))
            }
            (None, true) => Err(self.fault("transaction made", "a transaction is open")),
            (Some(_), false) => {
                let txn = w.txn.take().unwrap_or_default();
                life.world.matrix.count(&txn.kinds, ending);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// It changes a definition: rows that a new constraint refuses end the batch and its transaction.
    fn alters(&self) -> bool {
        let mut touched = self.batch.ops().flat_map(Op::touches);
        touched.any(|(_, defines)| defines)
    }

    /// The transaction must be as the model has it.
    fn state(&self, life: &Life<'_>, open: bool) -> Result<(), Fault> {
        match life.who[self.who].txn.is_some() == open {
            true => Ok(()),
            false => Err(self.fault("transaction", &format!("a transaction is open: {open}"))),
        }
    }

    fn count(&self, life: &mut Life<'_>, stmt: &Stmt, ending: Ending) {
        let kinds = kinds::of(&stmt.sql);
        life.world.matrix.count(&kinds, ending);
    }

    /// A statement was refused: was it to be?
    fn refusal(
        &self,
        life: &mut Life<'_>,
        stmt: &Stmt,
        number: i32,
        text: &str,
    ) -> Result<(), Fault> {
        let interrupted = self.cancelled || self.killed;
        life.holds(self.who, stmt);
        // The locks of what was refused stay until the transaction ends.
        if let (Effect::Do(op), Some(txn)) = (&stmt.effect, &mut life.who[self.who].txn) {
            txn.undone.push(op.clone());
        }
        let doomed = interrupted && number == DOOMED_AT_THE_END;
        let snapshot = life.who[self.who].level == Level::Snapshot;
        let full = life.world.tight && number == LOG_FULL;
        let made = |(at, _): &(At, bool)| MADE.contains(&at.db.as_str());
        let by_snapshot =
            SNAPSHOT.contains(&number) || number == NO_SNAPSHOTS && stmt.touches().iter().any(made);
        if LOCKS.contains(&number) || doomed || full || snapshot && by_snapshot {
            return Ok(());
        }
        let now = life.view(self.who);
        let known = match &stmt.effect {
            Effect::Fails(numbers) | Effect::May(numbers) | Effect::BackupLog(_, numbers) => {
                numbers.contains(&number)
            }
            Effect::Calls(at) => {
                let lacks = |m: &Model| procedure(m, at).is_none();
                number == 2812 && (lacks(&now) || lacks(self.seen))
            }
            // A file has not got its place.
            Effect::Over(_) => number == 5123 && life.bell.spared() > 0,
            // Tables whose columns have other numbers, since one was dropped.
            Effect::Do(Op::Switch { .. }) if number == NOT_SUPPORTED => true,
            // Somebody has put rows into the target meanwhile.
            Effect::Do(Op::Switch { to, .. }) if number == TARGET_HAS_ROWS => {
                now.table(to).is_some_and(|t| !t.rows.is_empty())
            }
            // It reads a table that must be there.
            Effect::Look { at, .. } => {
                let (at, defines) = (at.clone(), false);
                self.explains(&now, &Op::Touch { at, defines }, number)
            }
            Effect::Do(op) if number == IN_USE && op.drops_database().is_some() => op
                .drops_database()
                .is_some_and(|db| life.is_used_by_others(self.who, db)),
            // Its session has gone meanwhile.
            Effect::Do(op) if NAMES.contains(&number) && life.is_of_going(op) => true,
            Effect::Do(op) => self.explains(&now, op, number),
            _ => false,
        };
        match known {
            true => Ok(()),
            false => Err(self
                .fault(&format!("error {number}"), text)
                .because(grounds::of(life, self.who, stmt))),
        }
    }

    /// The operation is refused with this number, by what the session sees now or saw when it was asked.
    fn explains(&self, now: &Model, op: &Op, number: i32) -> bool {
        let by = |m: &Model| match super::life::allowed(m, op) {
            Err(No::Refused(n)) => {
                // Rows may have several faults, and any may be found first.
                let hard = |n: &i32| STATEMENT.contains(n);
                n.contains(&number) || n.iter().any(hard) && hard(&number)
            }
            _ => false,
        };
        let changed = op.touches().iter().any(|(at, _)| {
            now.table(at).map(|t| (&t.columns, &t.indexes))
                != self.seen.table(at).map(|t| (&t.columns, &t.indexes))
        });
        let switch = matches!(op, Op::Switch { .. });
        let by_change = NAMES.contains(&number) || switch && UNLIKE.contains(&number);
        by(now) || by(self.seen) || changed && by_change
    }

    /// A statement was done: the model follows.
    #[expect(clippy::too_many_lines, reason = "one arm an operation")]
    fn done(&self, life: &mut Life<'_>, stmt: &Stmt, answer: Option<&Answer>) -> Result<(), Fault> {
        let kinds = kinds::of(&stmt.sql);
        let who = self.who;
        life.holds(self.who, stmt);
        match &stmt.effect {
            Effect::Nothing | Effect::May(_) | Effect::Shown(_) => done_kinds(life, who, &kinds),
            Effect::Backup { of, path } => {
                done_kinds(life, who, &kinds);
                let states = life.backed_up(self.states);
                let files = vec![path.clone()];
                if of == DATABASES[0] {
                    life.world.chain.clone_from(&files);
                }
                let of = of.clone();
                let kept = Kept { of, states, files };
                life.world.backups.insert(path.clone(), kept);
            }
            Effect::BackupLog(path, _) => {
                done_kinds(life, who, &kinds);
                let mut chain = std::mem::take(&mut life.world.open_chain);
                if !chain.is_empty() {
                    let states = life.backed_up(self.states);
                    chain.push(path.clone());
                    let files = chain.clone();
                    let of = DATABASES[0].to_owned();
                    let kept = Kept { of, states, files };
                    life.world.backups.insert(path.clone(), kept);
                    life.world.chain = chain;
                }
            }
            // Of several statements the first has ended: what they were to make waits for the others.
            Effect::Restored(..)
                if answer.is_some_and(|a| a.dones.len() < stmt.sql.matches("RESTORE ").count()) => {
            }
            Effect::Restored(path, db) => {
                done_kinds(life, who, &kinds);
                life.restored(path, db)
                    .map_err(|f| self.fault(&f.class, &f.text))?;
            }
            Effect::Over(path) => {
                done_kinds(life, who, &kinds);
                life.replaced(path)
                    .map_err(|f| self.fault(&f.class, &f.text))?;
            }
            Effect::Rolls { last, .. } => {
                done_kinds(life, who, &kinds);
                life.rolled(*last)
                    .map_err(|f| self.fault(&f.class, &f.text))?;
            }
            Effect::Recovers => {
                done_kinds(life, who, &kinds);
                life.rolled(true)
                    .map_err(|f| self.fault(&f.class, &f.text))?;
            }
            Effect::XactAbort(on) => life.who[who].xact_abort = *on,
            Effect::Begin => {
                let txn = life.who[who].txn.get_or_insert_with(Txn::default);
                txn.depth += 1;
                txn.kinds.extend(kinds);
            }
            Effect::Commit => {
                let txn = life.who[who].txn.as_mut();
                let txn = txn.ok_or_else(|| self.fault("model", "COMMIT without a transaction"))?;
                txn.depth -= 1;
                txn.kinds.extend(kinds);
                if txn.depth == 0 {
                    let txn = life.who[who].txn.take().unwrap_or_default();
                    self.commit(life, &txn.ops, txn.kinds)?;
                }
            }
            Effect::Rollback => {
                let mut txn = life.who[who].txn.take().unwrap_or_default();
                txn.kinds.extend(kinds);
                life.world.matrix.count(&txn.kinds, Ending::Rollback);
            }
            Effect::Save(name) => {
                if let Some(txn) = &mut life.who[who].txn {
                    txn.kinds.extend(kinds);
                    txn.saves
                        .push((name.clone(), txn.ops.len(), txn.kinds.len()));
                }
            }
            Effect::Back(name) => {
                if let Some(txn) = &mut life.who[who].txn
                    && let Some(at) = txn.saves.iter().rposition(|s| s.0 == *name)
                {
                    let (_, ops, before) = txn.saves[at].clone();
                    txn.saves.truncate(at + 1);
                    let undone = txn.ops.split_off(ops);
                    txn.undone.extend(undone);
                    let undone = txn.kinds.split_off(before);
                    txn.kinds.extend(kinds);
                    life.world.matrix.count(&undone, Ending::Savepoint);
                }
            }
            Effect::Do(op) => {
                let known = op.touches().into_iter().map(|t| t.0);
                life.world.known.extend(known);
                let grounds = |f: Fault, life: &Life<'_>| f.because(grounds::of(life, who, stmt));
                self.did(life, op, kinds).map_err(|f| grounds(f, life))?;
            }
            Effect::Look { at, filter } => {
                done_kinds(life, who, &kinds);
                if let Some(answer) = answer {
                    self.looked(life, (at, filter), answer)?;
                }
            }
            Effect::Calls(at) => {
                let must = procedure(&life.view(who), at);
                done_kinds(life, who, &kinds);
                let gave = answer.and_then(|a| a.rows.first()?.first()?.as_i64());
                if answer.is_some() && (gave.is_none() || gave != must) {
                    let text = format!("{gave:?} and not {must:?}");
                    return Err(self.fault("procedure", &text));
                }
            }
            Effect::Rights(at) => {
                done_kinds(life, who, &kinds);
                if let Some(answer) = answer {
                    self.told_rights(life, at, answer)?;
                }
            }
            Effect::Level(level) => {
                done_kinds(life, who, &kinds);
                life.who[who].level = *level;
            }
            Effect::Fails(_) => return Err(self.fault("acknowledged", "it must be refused")),
        }
        Ok(())
    }

    /// Rows were read.
    fn looked(
        &self,
        life: &mut Life<'_>,
        (at, filter): (&At, &Filter),
        answer: &Answer,
    ) -> Result<(), Fault> {
        let view = life.view(self.who);
        let level = life.who[self.who].level;
        if !at.is_temporary() {
            self.take_snapshot(life);
        }
        let by_versions = filter.of.is_none() && level == Level::ReadCommitted;
        let untold = match filter.of {
            None => doubt::untold(life, self.who),
            Some(_) => vec![life.world.model.clone()],
        };
        let found = match &mut life.who[self.who].txn {
            Some(txn) if level == Level::Snapshot && !at.is_temporary() => {
                let snapshot = &mut txn.snapshot;
                snapshot.look(self.who, &view, (at, filter), &answer.rows)
            }
            _ if by_versions => {
                let mut snapshot = Snapshot::of(self.states);
                untold.iter().for_each(|m| snapshot.may_be(m));
                snapshot.look(self.who, &view, (at, filter), &answer.rows)
            }
            _ => {
                let differs = |model: &Model| {
                    let view = life.view_of(model.clone(), self.who);
                    let table = view.table(at)?;
                    let rows = table.rows.iter().filter(|(id, _)| filter.takes(**id));
                    found::differ(&at.sql(), &answer.rows, rows)
                };
                let first = differs(&untold[0]);
                first.filter(|_| untold.iter().all(|m| differs(m).is_some()))
            }
        };
        match found {
            Some(f) => Err(self.fault(&format!("look {}", f.class), &f.text)),
            None => Ok(()),
        }
    }

    /// Somebody's rights were read: as they were at some time meanwhile.
    fn told_rights(&self, life: &Life<'_>, at: &At, answer: &Answer) -> Result<(), Fault> {
        let told: BTreeSet<String> = answer.rows.iter().map(|r| found::line(r)).collect();
        let of = at.table.rsplit(' ').next().unwrap_or("");
        let must = |model: &Model| {
            let view = life.view_of(model.clone(), self.who);
            let db = view.dbs.get(&at.db).cloned().unwrap_or_default();
            rights::of(&db, of)
        };
        let untold = doubt::untold(life, self.who);
        let mut all = self.states.iter().chain(&untold).map(must);
        match all.any(|lines| lines == told) {
            true => Ok(()),
            false => {
                let must = must(&untold[0]);
                Err(self.fault("rights", &format!("{told:?} and not {must:?}")))
            }
        }
    }

    /// A statement under SNAPSHOT has read or changed something: what others had committed by then, told or not, is what
    /// its transaction sees.
    fn take_snapshot(&self, life: &mut Life<'_>) {
        let w = &life.who[self.who];
        if w.level != Level::Snapshot || w.txn.as_ref().is_none_or(|t| t.snapshot.is_taken()) {
            return;
        }
        let untold = doubt::untold(life, self.who);
        if let Some(txn) = &mut life.who[self.who].txn {
            untold.iter().for_each(|m| txn.snapshot.may_be(m));
            txn.snapshot.take();
        }
    }

    fn did(&self, life: &mut Life<'_>, op: &Op, kinds: Vec<usize>) -> Result<(), Fault> {
        let view = life.view(self.who);
        match super::life::allowed(&view, op) {
            Ok(()) => {}
            Err(No::Refused(n)) => {
                let text = format!("it must be refused with one of {n:?}");
                return Err(self.fault("acknowledged", &text));
            }
            Err(No::Unknown) => return Err(self.fault("model", "nobody knows what it did")),
        }
        self.take_snapshot(life);
        match &mut life.who[self.who].txn {
            Some(txn) => {
                txn.ops.push(view.settled(op));
                txn.kinds.extend(kinds);
                Ok(())
            }
            None => self.commit(life, std::slice::from_ref(op), kinds),
        }
    }

    fn commit(&self, life: &mut Life<'_>, ops: &[Op], kinds: Vec<usize>) -> Result<(), Fault> {
        for op in ops {
            life.globals.note(self.who, op);
            if let Err(no) = life.world.model.apply(op) {
                let op = format!("{op:?}");
                let op = show::head(&op, 300);
                let text = format!("{op} is committed beside what others did: {no:?}");
                return Err(self.fault("committed beside", &text));
            }
        }
        committed(life, self.who, kinds);
        life.note_state();
        ops.iter().try_for_each(|op| life.harden(op))
    }

    /// Several statements that tell how far they came.
    fn several(&self, life: &mut Life<'_>, answer: &Answer) -> Result<(), Fault> {
        let number = |r: &[duramen_types::Value], n: usize| r[n].as_i64().unwrap_or(0);
        let (mut came, mut caught, mut last) = (0, None, None);
        for row in &answer.rows {
            match row.len() {
                1 => came = number(row, 0) as usize,
                3 if number(row, 0) == -1 => caught = Some((number(row, 1) as i32, number(row, 2))),
                _ => last = Some(number(row, 2)),
            }
        }
        for stmt in self.batch.stmts.iter().take(came).skip(self.told) {
            self.done(life, stmt, None)?;
        }
        if let Some(cut) = self.batch.stmts.get(came) {
            life.holds(self.who, cut);
        }
        if let Some((error, state)) = caught {
            let stmt = self.batch.stmts.get(came);
            let stmt =
                stmt.ok_or_else(|| self.fault("caught", &format!("{error} after the end")))?;
            self.refusal(life, stmt, error, &format!("error {error}, caught"))?;
            self.count(life, stmt, Ending::Caught);
            self.caught(life, error, state)?;
        } else if last.is_none() || came < self.batch.stmts.len() {
            let e = answer.errors.iter().find(|e| e.number != KILLED);
            // All are bound before the first one runs: any may be the one that was refused.
            let stmts = &self.batch.stmts;
            let unbound = answer.rows.is_empty();
            let suspects = if unbound {
                &stmts[..]
            } else {
                stmts.get(came..=came).unwrap_or(&[])
            };
            if let (Some(e), Some(first)) = (e, suspects.first()) {
                let text = e.to_string();
                let mut explained = false;
                for stmt in suspects {
                    explained |= self.refusal(life, stmt, e.number, &text).is_ok();
                }
                if !explained {
                    self.refusal(life, first, e.number, &text)?;
                }
            } else if !self.cancelled && !self.killed {
                return Err(self.fault("no answer", "neither an error nor an end"));
            }
            let number = e.map(|e| e.number);
            let killed = answer.has(KILLED) || self.killed;
            let ending = match number {
                Some(1205) => Ending::Deadlock,
                _ if killed => Ending::Kill,
                _ if self.cancelled => self.interruption(),
                _ => Ending::XactAbort,
            };
            if ending != Ending::XactAbort {
                let kinds = self.batch.kinds(came, life.who[self.who].txn.is_none());
                life.world.matrix.count(&kinds, ending);
            }
            if killed {
                return Ok(());
            }
            self.come_home(life);
            return match (number, self.cancelled) {
                // A refused statement, with nothing behind it that counts.
                (Some(_), false) if self.batch.stmts.len() == 1 => {
                    self.after(life, answer, ending, number)
                }
                _ => self.cut_short(life, answer, ending),
            };
        }
        if caught.is_none() {
            let around = kinds::around(&self.batch.sql());
            done_kinds(life, self.who, &around);
        }
        self.state(life, last.is_some_and(|x| x != 0))
    }

    /// A batch that has gone to another database and was cut short has not come back.
    fn come_home(&self, life: &mut Life<'_>) {
        if let Form::Around(before, after) = &self.batch.form
            && before.starts_with("USE ")
        {
            life.ask(self.who, after);
        }
    }

    /// The batch did not come to its end: how far it came is not told exactly, and its transaction goes.
    fn cut_short(&self, life: &mut Life<'_>, answer: &Answer, ending: Ending) -> Result<(), Fault> {
        self.after(life, answer, ending, None)?;
        if let Some(txn) = life.who[self.who].txn.take() {
            life.world.matrix.count(&txn.kinds, ending);
            if let Some(a) = life.ask(self.who, "ROLLBACK")
                && let Some(e) = a.errors.first()
            {
                return Err(self.fault(&format!("error {}", e.number), &format!("ROLLBACK: {e}")));
            }
        }
        Ok(())
    }

    fn caught(&self, life: &mut Life<'_>, error: i32, state: i64) -> Result<(), Fault> {
        let rolled = match (self.batch.form.clone(), state) {
            (_, -1) | (Form::Try(Caught::Rollback), 1) => true,
            (_, 0) if error == ENDED_IN_TRIGGER => {
                if let Some(txn) = life.who[self.who].txn.take() {
                    life.world.matrix.count(&txn.kinds, Ending::Caught);
                }
                false
            }
            (_, 0) => {
                if life.who[self.who].txn.is_some() {
                    return Err(self.fault("caught", "its transaction is gone in the CATCH"));
                }
                false
            }
            _ => false,
        };
        let hard = STATEMENT.contains(&error);
        if state == 1 && hard && life.who[self.who].xact_abort {
            return Err(self.fault("caught", "under XACT_ABORT its transaction is not doomed"));
        }
        if rolled {
            let txn = life.who[self.who].txn.take();
            let txn = txn.ok_or_else(|| self.fault("caught", "a transaction is there"))?;
            let ending = if error == 1205 {
                Ending::Deadlock
            } else {
                Ending::Caught
            };
            life.world.matrix.count(&txn.kinds, ending);
        }
        Ok(())
    }
}

/// The number that a procedure gives: `at` is its database, kind and name.
fn procedure(model: &Model, at: &At) -> Option<i64> {
    let (kind, name) = at.table.split_once(' ')?;
    let what = (kind.to_owned(), name.to_owned());
    let text = model.dbs.get(&at.db)?.others.get(&what)?;
    text.rsplit(' ').next()?.parse().ok()
}

/// A statement without an effect on rows or names was done.
fn done_kinds(life: &mut Life<'_>, who: usize, kinds: &[usize]) {
    match &mut life.who[who].txn {
        Some(txn) => txn.kinds.extend(kinds),
        None => committed(life, who, kinds.to_vec()),
    }
}

/// The session was killed: its transaction is undone.
pub fn killed(life: &mut Life<'_>, who: usize) {
    if let Some(txn) = life.who[who].txn.take() {
        life.world.matrix.count(&txn.kinds, Ending::Kill);
    }
}

/// The client has gone, and with it the session: its transaction, its temporary tables.
pub fn left(life: &mut Life<'_>, who: usize) {
    if let Some(txn) = life.who[who].txn.take() {
        life.world.matrix.count(&txn.kinds, Ending::Disconnect);
    }
    life.world.model.dbs.remove(&format!("#{who}"));
    life.who[who] = Who::default();
    life.leave_globals(who);
}
