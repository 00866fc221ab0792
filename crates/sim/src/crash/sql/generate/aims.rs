//! Short sequences of steps that bring a statement to a chosen end: what chance alone does too seldom.

use std::collections::VecDeque;

use super::{Generator, Scene, alone};
use crate::crash::sql::kinds::{ALL, Fate, K, KINDS};
use crate::crash::sql::life::Life;
use crate::crash::sql::matrix::Ending;
use crate::crash::sql::model::{At, Filter, Op, Set};
use crate::crash::sql::step::{Batch, Caught, Effect, Form, Level, Step, Stmt};
use crate::crash::sql::world::SESSIONS;

pub(super) fn run(who: usize, sql: &str, effect: Effect) -> Step {
    Step::Run {
        who,
        batch: Batch::plain(sql.to_owned(), effect),
        on: false,
    }
}

/// The same, and the next step comes at once.
pub(super) fn on(step: Step) -> Step {
    match step {
        Step::Run { who, batch, .. } => Step::Run {
            who,
            batch,
            on: true,
        },
        other => other,
    }
}

/// A change of a row that everybody may change.
pub(super) fn meet(who: usize, table: u32) -> Step {
    let at = At {
        db: "a".to_owned(),
        table: format!("lk{table}"),
    };
    let filter = Filter {
        low: 0,
        high: 0,
        of: None,
    };
    let sql = format!("UPDATE {} SET c0 = c0 + 1 WHERE id = 0", at.sql());
    let set = vec![("c0".to_owned(), Set::Plus(1))];
    run(who, &sql, Effect::Do(Op::Update { at, filter, set }))
}

/// A restore over a database in use can end so: it is not tried in what it refuses, nor is it interrupted.
fn is_over(ending: Option<Ending>) -> bool {
    !matches!(
        ending,
        Some(Ending::Attention | Ending::Kill | Ending::Disconnect | Ending::Caught)
    )
}

/// The forms of [`Generator::ending`] that lead to an end.
fn ways(ending: Ending, changes: bool) -> &'static [u64] {
    match ending {
        Ending::Commit => &[0],
        Ending::Rollback if changes => &[1, 1, 15],
        Ending::Rollback => &[1],
        Ending::Savepoint => &[2],
        Ending::XactAbort => &[3],
        Ending::Caught if changes => &[4, 14],
        Ending::Caught => &[14],
        Ending::Deadlock => &[5],
        Ending::Attention if changes => &[6, 6, 7],
        Ending::Attention => &[6],
        Ending::Kill => &[8],
        Ending::Disconnect => &[9],
        Ending::CrashBefore => &[10],
        Ending::CrashInside if changes => &[11, 12],
        Ending::CrashInside => &[12],
        Ending::CrashAfter | Ending::CrashInRecovery => &[13],
    }
}

/// An error.
fn raises() -> Stmt {
    Stmt {
        sql: "RAISERROR('x', 16, 1)".to_owned(),
        effect: Effect::Fails(vec![50000]),
    }
}

/// The beginnings and ends of transactions, one in the other.
fn inner(who: usize) -> Vec<Step> {
    vec![
        run(who, "BEGIN TRAN", Effect::Begin),
        run(who, "SAVE TRAN s1", Effect::Save("s1".to_owned())),
        run(who, "ROLLBACK TRAN s1", Effect::Back("s1".to_owned())),
        run(who, "COMMIT", Effect::Commit),
    ]
}

impl Generator {
    /// A statement and the steps to its end, for a session that is free.
    pub(super) fn aim(&mut self, life: &Life<'_>) -> Option<VecDeque<Step>> {
        let who = self.rng.below(self.sessions as u64) as usize;
        // A story with a theme ends what is open for it.
        let clears = self.theme.is_some();
        let is_open = |n: usize| life.who[n].txn.is_some();
        let free = |n: usize| life.who[n].busy.is_none() && (clears || !is_open(n));
        let others = || (0..SESSIONS).filter(|n| *n != who && free(*n));
        let other = others().find(|n| !is_open(*n)).or_else(|| others().next());
        if !free(who) {
            return None;
        }
        let view = match is_open(who) {
            true => life.world.model.clone(),
            false => life.view(who),
        };
        let scene = Scene {
            who,
            view: &view,
            depth: 1,
            saves: Vec::new(),
            level: Level::ReadCommitted,
            versioned: life.world.versioned,
        };
        let theme = self.theme.filter(|_| self.rng.below(4) > 0);
        if theme.is_none() && self.rng.one_in(5) {
            return self.meeting(life, &scene, other.filter(|n| !is_open(*n))?);
        }
        self.look_at_backups(life);
        let ending = theme.map(|t| t.ending);
        let mut all = VecDeque::new();
        if life.who[who].level != Level::ReadCommitted {
            let level = Level::ReadCommitted;
            all.push_back(run(who, level.sql(), Effect::Level(level)));
        }
        let opened = [Some(who), other].into_iter().flatten();
        for n in opened.filter(|n| is_open(*n)) {
            all.push_front(run(n, "ROLLBACK", Effect::Rollback));
        }
        let kind = match theme {
            Some(t) => ALL[t.kind],
            None => self.any_kind()?,
        };
        let fate = KINDS[kind as usize].fate;
        match kind {
            _ if fate == Fate::Flow => {
                all.extend(self.ending(life, (who, other), inner(who), false, ending)?);
            }
            K::Kill => {
                all.push_back(run(who, "SET NOCOUNT OFF", Effect::Nothing));
                let step = match ending {
                    None | Some(Ending::Commit | Ending::CrashAfter | Ending::CrashInRecovery) => {
                        Step::Kill { by: other?, who }
                    }
                    Some(_) => alone::kill_nobody(who),
                };
                all.extend(self.alone((who, other?), kind, step, ending));
            }
            K::RestoreLog => all.extend(self.roll_forward(life, (who, other?), ending)),
            K::Restore if is_over(ending) && self.rng.one_in(2) => {
                all.clear();
                all.extend(self.restore_over(life, ending)?);
            }
            _ => {
                let (before, batch) = self.with_needs(&scene, kind)?;
                let step = |batch| Step::Run {
                    who,
                    batch,
                    on: false,
                };
                all.extend(before.into_iter().map(step));
                let step = step(batch);
                all.extend(match fate {
                    Fate::Alone => self.alone((who, other?), kind, step, ending),
                    _ => {
                        let changes = fate == Fate::Change;
                        self.ending(life, (who, other), vec![step], changes, ending)?
                    }
                });
            }
        }
        Some(all)
    }

    /// The ends of a transaction with these steps in it. `changes`: there is something to be refused, undone or cut.
    #[expect(clippy::too_many_lines, reason = "one arm an ending")]
    fn ending(
        &mut self,
        life: &Life<'_>,
        (who, other): (usize, Option<usize>),
        steps: Vec<Step>,
        changes: bool,
        ending: Option<Ending>,
    ) -> Option<Vec<Step>> {
        let Some(Step::Run { batch: form, .. }) = steps.last() else {
            return None;
        };
        let form = form.clone();
        let begin = run(who, "BEGIN TRAN", Effect::Begin);
        let commit = run(who, "COMMIT", Effect::Commit);
        let rollback = run(who, "ROLLBACK", Effect::Rollback);
        let abort = run(who, "SET XACT_ABORT ON", Effect::XactAbort(true));
        let mut cuts = Vec::new();
        if self.rng.one_in(2) {
            cuts.push(self.rng.below(60));
        }
        let n = match (ending, changes) {
            (Some(ending), _) => {
                let ways = ways(ending, changes);
                *self.rng.choose(ways)?
            }
            (None, true) => self.rng.below(16),
            // Those that are about the statement itself only where it changes something.
            (None, false) => [0, 1, 2, 3, 5, 6, 8, 9, 10, 12, 13, 14][self.rng.below(12) as usize],
        };
        // All between a beginning and an end.
        let within = |first: &[&Step], last: Vec<Step>| -> Vec<Step> {
            let first = first.iter().map(|s| (*s).clone());
            first.chain(steps.iter().cloned()).chain(last).collect()
        };
        Some(match n {
            0 => within(&[&begin], vec![commit]),
            1 => within(&[&begin], vec![rollback]),
            2 => {
                let save = run(who, "SAVE TRAN s0", Effect::Save("s0".to_owned()));
                let back = run(who, "ROLLBACK TRAN s0", Effect::Back("s0".to_owned()));
                within(&[&begin, &save], vec![back, commit])
            }
            3 => {
                let fails = run(who, "SELECT 1 / 0", Effect::Fails(vec![8134]));
                within(&[&abort, &begin], vec![fails])
            }
            4 if form.form == Form::Plain && form.stmts[0].fits_try() => {
                let mut batch = form;
                let first = batch.stmts.remove(0);
                batch
                    .stmts
                    .push(match first.fits_string() && self.rng.one_in(2) {
                        true => first.in_string(),
                        false => first.alone_in_string(),
                    });
                batch.form = Form::Try(Caught::Rollback);
                batch.stmts.push(raises());
                let on = false;
                vec![begin, Step::Run { who, batch, on }]
            }
            // What is caught comes after it.
            4 | 14 => {
                let batch = Batch {
                    stmts: vec![raises()],
                    form: Form::Try(Caught::Rollback),
                };
                let on = false;
                within(&[&begin], vec![Step::Run { who, batch, on }])
            }
            5 => {
                let other = other?;
                let before = [
                    &run(who, "SET DEADLOCK_PRIORITY LOW", Effect::Nothing),
                    &run(who, "SET LOCK_TIMEOUT -1", Effect::Nothing),
                    &run(other, "SET LOCK_TIMEOUT -1", Effect::Nothing),
                    &begin,
                ];
                let after = vec![
                    meet(who, 1),
                    run(other, "BEGIN TRAN", Effect::Begin),
                    meet(other, 2),
                    on(meet(who, 2)),
                    on(meet(other, 1)),
                    Step::Rest { us: 6_000_000 },
                    run(other, "COMMIT", Effect::Commit),
                ];
                within(&before, after)
            }
            6 => {
                let waits = on(run(who, "WAITFOR DELAY '00:00:05'", Effect::Nothing));
                let cancel = Step::Cancel { who, after: 50 };
                within(&[&abort, &begin], vec![waits, cancel])
            }
            // The statement itself is interrupted: somebody holds what it needs.
            7 => {
                let other = other?;
                let (at, _) = form.stmts[0].touches().first()?.clone();
                if at.is_local() || life.view(who).table(&at).is_none() {
                    return None;
                }
                let sql = format!("SELECT COUNT(*) FROM {} WITH (TABLOCKX)", at.sql());
                // By then another may have dropped it.
                let defines = false;
                let holds = Effect::Do(Op::Touch { at, defines });
                let mut all = vec![
                    run(other, "BEGIN TRAN", Effect::Begin),
                    run(other, &sql, holds),
                    run(who, "SET LOCK_TIMEOUT -1", Effect::Nothing),
                    begin,
                ];
                all.extend(steps.into_iter().map(on));
                all.push(match self.rng.below(3) {
                    0 => Step::Leave { who },
                    1 => Step::Kill {
                        by: self.idle(life, who, other)?,
                        who,
                    },
                    _ => Step::Cancel { who, after: 500 },
                });
                all.push(run(other, "ROLLBACK", Effect::Rollback));
                all
            }
            8 => within(&[&begin], vec![Step::Kill { by: other?, who }]),
            9 => within(&[&begin], vec![Step::Leave { who }]),
            10 => within(&[&begin], vec![Step::Down { cuts }]),
            11 => {
                let after = [0, 0, 1, 1, 2, 3, 5, 8][self.rng.below(8) as usize];
                within(&[&Step::Fails { after }], vec![Step::Down { cuts }])
            }
            // There is something to commit.
            12 => {
                let after = self.rng.below(3);
                let fails = Step::Fails { after };
                let mut last = vec![fails, commit, Step::Down { cuts }];
                if !changes || self.rng.one_in(2) {
                    last.insert(0, meet(who, 1));
                }
                within(&[&begin], last)
            }
            // The undoing itself is interrupted, and goes on.
            15 => {
                let after = self.rng.below(100);
                let interrupt = match (self.rng.one_in(2), other) {
                    (true, Some(by)) => Step::Kill { by, who },
                    _ => Step::Cancel { who, after },
                };
                within(&[&begin], vec![on(rollback), interrupt])
            }
            _ => {
                cuts.push(self.rng.below(60));
                within(&[&begin], vec![commit, Step::Down { cuts }])
            }
        })
    }

    /// A third session, at leisure.
    fn idle(&self, life: &Life<'_>, who: usize, other: usize) -> Option<usize> {
        let free = |n: &usize| life.who[*n].busy.is_none() && life.who[*n].txn.is_none();
        (0..SESSIONS)
            .filter(|n| *n != who && *n != other)
            .find(free)
    }

    /// Another session changes rows of a table while one that has changed some is still to decide.
    fn meeting(
        &mut self,
        life: &Life<'_>,
        scene: &Scene<'_>,
        other: usize,
    ) -> Option<VecDeque<Step>> {
        let (at, table) = self.table(scene)?;
        if at.is_local() {
            return None;
        }
        let view = life.view(other);
        let beside = Scene {
            who: other,
            view: &view,
            depth: 0,
            saves: Vec::new(),
            level: Level::ReadCommitted,
            versioned: life.world.versioned,
        };
        let who = scene.who;
        let mut steps = vec![run(who, "BEGIN TRAN", Effect::Begin)];
        for n in 0..2 + self.rng.below(4) {
            let of = if n < 2 { scene } else { &beside };
            let Some(stmt) = self.rows_of(of, at.clone(), table) else {
                continue;
            };
            steps.push(Step::Run {
                who: of.who,
                batch: Batch {
                    stmts: vec![stmt],
                    form: Form::Plain,
                },
                on: false,
            });
        }
        steps.push(match self.rng.below(4) {
            0 => run(who, "COMMIT", Effect::Commit),
            1 => Step::Down { cuts: Vec::new() },
            _ => run(who, "ROLLBACK", Effect::Rollback),
        });
        Some(steps.into())
    }
}
