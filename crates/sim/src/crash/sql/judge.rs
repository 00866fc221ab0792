//! What an answer says, and what it makes of the model.

use super::fault::Fault;
use super::found;
use super::kinds;
use super::life::{Life, Txn, Who};
use super::matrix::Ending;
use super::model::{Model, NAMES, No, Op};
use super::seat::Answer;
use super::step::{Batch, Caught, Effect, Form, Stmt};
use super::world::End;

/// Errors of locks, which may come to everybody.
const LOCKS: &[i32] = &[1222, 1205];
/// Errors that end a statement and, under XACT_ABORT, its transaction; never without.
const STATEMENT: &[i32] = &[2627, 2601, 547, 515, 2628, 8152, 8134];
const KILLED: i32 = 596;
/// A batch that ends, by an attention, with a doomed transaction.
const DOOMED_AT_THE_END: i32 = 3998;
/// The transaction ended in a trigger.
const ENDED_IN_TRIGGER: i32 = 3609;

/// Whether the session's request may end a transaction that others wait for.
pub fn ends(w: &Who) -> bool {
    let defines = |ops: &[Op]| ops.iter().flat_map(Op::touches).any(|(_, d)| d);
    let Some(busy) = &w.busy else { return false };
    busy.batch.has_ends()
        || busy.batch.ops().flat_map(Op::touches).any(|(_, d)| d)
        || w.txn.as_ref().is_some_and(|t| defines(&t.ops))
}

/// Whether a batch makes sense here: the model says what must come of it.
pub fn fits(life: &Life<'_>, who: usize, batch: &Batch) -> bool {
    let mut view = life.view(who);
    let txn = life.who[who].txn.as_ref();
    let mut depth = txn.map_or(0, |t| t.depth);
    let mut saves: Vec<String> =
        txn.map_or_else(Vec::new, |t| t.saves.iter().map(|s| s.0.clone()).collect());
    for s in &batch.stmts {
        match &s.effect {
            Effect::Do(op) => match view.apply(op) {
                Err(No::Unknown) => return false,
                Err(No::Refused(_)) | Ok(()) => {}
            },
            Effect::Begin => depth += 1,
            Effect::Commit if depth == 0 => return false,
            Effect::Commit => depth -= 1,
            Effect::Rollback if depth == 0 => return false,
            Effect::Rollback => depth = 0,
            Effect::Save(_) if depth == 0 => return false,
            Effect::Save(name) => saves.push(name.clone()),
            Effect::Back(name) if depth == 0 || !saves.contains(name) => return false,
            Effect::Look { at, .. } if view.table(at).is_none_or(|t| t.is_shut()) => return false,
            _ => {}
        }
    }
    true
}

/// What stands still, for a message.
pub fn stuck(life: &Life<'_>) -> String {
    let mut out = String::from("nobody moves:");
    for (n, w) in life.who.iter().enumerate() {
        let what = w.busy.as_ref().map(|b| b.batch.sql());
        out += &format!(" session {}: {:.200?};", n + 1, what);
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
            answer.has_done(false),
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
    let ctx = Context {
        who,
        batch: &busy.batch,
        seen: &busy.seen,
        cancelled: busy.cancelled,
        killed: busy.killed,
        states: &busy.states,
    };
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
    killed: bool,
    /// What was committed while it ran.
    states: &'a [Model],
}

impl Context<'_> {
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
        if errors.is_empty() && answer.has_done(stmt.is_string()) {
            self.done(life, stmt, Some(answer))?;
            if !answer.has(KILLED) {
                self.state(life, answer.is_open())?;
            }
            return Ok(());
        }
        let mut ending = Ending::XactAbort;
        match answer.errors.iter().find(|e| e.number != KILLED) {
            Some(e) => {
                self.refusal(life, stmt, e.number, &e.to_string())?;
                if e.number == 1205 {
                    ending = Ending::Deadlock;
                }
            }
            None if self.cancelled => ending = Ending::Attention,
            None if self.killed => return Ok(()),
            None => return Err(self.fault("no answer", "neither an error nor an end")),
        }
        if answer.has(KILLED) {
            return Ok(());
        }
        if ending == Ending::Attention {
            self.count(life, stmt, ending);
        }
        self.after(life, answer, ending, errors.first().copied())
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
                Some(a) => a.rows.first().and_then(|r| r[0].as_i64()) != Some(0),
                None => return Ok(()),
            },
        };
        let w = &mut life.who[self.who];
        let abort = w.xact_abort;
        let hard = error.is_some_and(|e| STATEMENT.contains(&e));
        let gone = [Some(1205), Some(ENDED_IN_TRIGGER)].contains(&error);
        match (&w.txn, open) {
            (Some(_), true) if gone || hard && abort => {
                Err(self.fault("transaction left", "its transaction is still open"))
            }
            (Some(_), false) if hard && !abort => {
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
        let doomed = self.cancelled && number == DOOMED_AT_THE_END;
        if LOCKS.contains(&number) || doomed {
            return Ok(());
        }
        let now = life.view(self.who);
        let known = match &stmt.effect {
            Effect::Fails(numbers) | Effect::May(numbers) => numbers.contains(&number),
            Effect::Do(op) => {
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
                by(&now) || by(self.seen) || changed && NAMES.contains(&number)
            }
            _ => false,
        };
        match known {
            true => Ok(()),
            false => Err(self.fault(&format!("error {number}"), text)),
        }
    }

    /// A statement was done: the model follows.
    fn done(&self, life: &mut Life<'_>, stmt: &Stmt, answer: Option<&Answer>) -> Result<(), Fault> {
        let kinds = kinds::of(&stmt.sql);
        let who = self.who;
        match &stmt.effect {
            Effect::Nothing | Effect::May(_) => done_kinds(life, who, &kinds),
            Effect::Backup(path) => {
                done_kinds(life, who, &kinds);
                let states = life.backed_up(self.states);
                life.world.backups.insert(path.clone(), states);
            }
            Effect::Restored(path, db) => {
                done_kinds(life, who, &kinds);
                life.restored(path, db)
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
            Effect::Do(op) => self.did(life, op, kinds)?,
            Effect::Look { at, filter } => {
                let view = life.view(who);
                done_kinds(life, who, &kinds);
                if let (Some(table), Some(answer)) = (view.table(at), answer) {
                    let rows = table.rows.iter().filter(|(id, _)| filter.takes(**id));
                    if let Some(f) = found::differ(&at.sql(), &answer.rows, rows) {
                        return Err(self.fault(&format!("look {}", f.class), &f.text));
                    }
                }
            }
            Effect::Fails(_) => return Err(self.fault("acknowledged", "it must be refused")),
        }
        Ok(())
    }

    fn did(&self, life: &mut Life<'_>, op: &Op, kinds: Vec<usize>) -> Result<(), Fault> {
        match super::life::allowed(&life.view(self.who), op) {
            Ok(()) => {}
            Err(No::Refused(n)) => {
                let text = format!("it must be refused with one of {n:?}");
                return Err(self.fault("acknowledged", &text));
            }
            Err(No::Unknown) => return Err(self.fault("model", "nobody knows what it did")),
        }
        match &mut life.who[self.who].txn {
            Some(txn) => {
                txn.ops.push(op.clone());
                txn.kinds.extend(kinds);
                Ok(())
            }
            None => self.commit(life, std::slice::from_ref(op), kinds),
        }
    }

    fn commit(&self, life: &mut Life<'_>, ops: &[Op], kinds: Vec<usize>) -> Result<(), Fault> {
        for op in ops {
            if let Err(no) = life.world.model.apply(op) {
                let text = format!("{op:.300?} is committed beside what others did: {no:?}");
                return Err(self.fault("committed beside", &text));
            }
        }
        committed(life, kinds);
        life.note_state();
        Ok(())
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
        for stmt in &self.batch.stmts[..came.min(self.batch.stmts.len())] {
            self.done(life, stmt, None)?;
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
            if let (Some(e), Some(stmt)) = (e, self.batch.stmts.get(came)) {
                self.refusal(life, stmt, e.number, &e.to_string())?;
            } else if !self.cancelled && !self.killed {
                return Err(self.fault("no answer", "neither an error nor an end"));
            }
            if answer.has(KILLED) || self.killed {
                return Ok(());
            }
            let ending = if self.cancelled {
                Ending::Attention
            } else {
                Ending::XactAbort
            };
            let number = e.map(|e| e.number);
            return match (number, self.cancelled) {
                // A refused statement, with nothing behind it that counts.
                (Some(n), false) if self.batch.stmts.len() == 1 => {
                    let ending = if n == 1205 { Ending::Deadlock } else { ending };
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

/// A statement without an effect on rows or names was done.
fn done_kinds(life: &mut Life<'_>, who: usize, kinds: &[usize]) {
    match &mut life.who[who].txn {
        Some(txn) => txn.kinds.extend(kinds),
        None => committed(life, kinds.to_vec()),
    }
}

fn committed(life: &mut Life<'_>, kinds: Vec<usize>) {
    life.world.matrix.count(&kinds, Ending::Commit);
    let last = &mut life.world.committed;
    last.push(kinds);
    if last.len() > 12 {
        last.remove(0);
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
}

/// What may have been committed of the running requests.
pub fn in_doubt(life: &Life<'_>) -> Vec<Vec<Vec<Op>>> {
    let busy = life.who.iter().filter_map(|w| Some((w, w.busy.as_ref()?)));
    busy.map(|(w, b)| alternatives(w.txn.clone().unwrap_or_default(), &b.batch))
        .collect()
}

/// Power is off: what was in flight is in doubt.
pub fn power(life: &mut Life<'_>, cuts: Vec<u64>) -> End {
    let mut in_doubt = Vec::new();
    for w in &mut life.who {
        let txn = w.txn.take();
        let mut kinds = txn.as_ref().map_or_else(Vec::new, |t| t.kinds.clone());
        let mut ending = Ending::CrashBefore;
        if let Some(busy) = w.busy.take() {
            kinds.extend(busy.batch.stmts.iter().flat_map(|s| kinds::of(&s.sql)));
            let alternatives = alternatives(txn.unwrap_or_default(), &busy.batch);
            if alternatives.len() > 1 {
                ending = Ending::CrashInside;
            }
            in_doubt.push(alternatives);
        }
        life.world.matrix.count(&kinds, ending);
    }
    let committed = std::mem::take(&mut life.world.committed);
    for kinds in &committed {
        life.world.matrix.count(kinds, Ending::CrashAfter);
    }
    life.world.committed_before = committed;
    life.world.in_doubt = in_doubt;
    End::Down(cuts)
}

/// What a batch may have committed when power failed in it; nothing first.
fn alternatives(txn: Txn, batch: &Batch) -> Vec<Vec<Op>> {
    let (mut depth, mut open, mut saves) = (txn.depth, txn.ops, txn.saves);
    let mut durable: Vec<Op> = Vec::new();
    let mut all = vec![Vec::new()];
    for s in &batch.stmts {
        match &s.effect {
            Effect::Do(op) if depth > 0 => open.push(op.clone()),
            Effect::Do(op) => {
                durable.push(op.clone());
                all.push(durable.clone());
            }
            Effect::Begin => depth += 1,
            Effect::Commit => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    durable.append(&mut open);
                    all.push(durable.clone());
                }
            }
            Effect::Rollback => {
                depth = 0;
                open.clear();
            }
            Effect::Save(name) => saves.push((name.clone(), open.len(), 0)),
            Effect::Back(name) => {
                if let Some((_, n, _)) = saves.iter().rfind(|s| s.0 == *name) {
                    open.truncate(*n);
                }
            }
            _ => {}
        }
    }
    all
}
