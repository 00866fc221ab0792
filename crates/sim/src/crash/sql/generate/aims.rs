//! Short sequences of steps that bring a statement to a chosen end: what chance alone does too seldom.

use std::collections::VecDeque;

use super::{Generator, Scene};
use crate::crash::sql::life::Life;
use crate::crash::sql::model::{At, Filter, Op, Set};
use crate::crash::sql::step::{Batch, Caught, Effect, Form, Step, Stmt};
use crate::crash::sql::world::SESSIONS;

fn run(who: usize, sql: &str, effect: Effect) -> Step {
    Step::Run {
        who,
        batch: Batch::plain(sql.to_owned(), effect),
        on: false,
    }
}

/// The same, and the next step comes at once.
fn on(step: Step) -> Step {
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
fn meet(who: usize, table: u32) -> Step {
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

impl Generator {
    /// A statement and the steps to its end, for a session that is free.
    pub(super) fn aim(&mut self, life: &Life<'_>) -> Option<VecDeque<Step>> {
        let who = self.rng.below(self.sessions as u64) as usize;
        let idle = |n: usize| life.who[n].busy.is_none() && life.who[n].txn.is_none();
        let other = (0..SESSIONS).find(|n| *n != who && idle(*n));
        if !idle(who) {
            return None;
        }
        let view = life.view(who);
        let scene = Scene {
            who,
            view: &view,
            depth: 1,
            saves: Vec::new(),
        };
        if self.rng.one_in(5) {
            return self.meeting(life, &scene, other?);
        }
        let form = self.one_of_each(&scene)?;
        let step = |batch: Batch| Step::Run {
            who,
            batch,
            on: false,
        };
        let begin = run(who, "BEGIN TRAN", Effect::Begin);
        let commit = run(who, "COMMIT", Effect::Commit);
        let mut cuts = Vec::new();
        if self.rng.one_in(2) {
            cuts.push(self.rng.below(60));
        }
        let steps: Vec<Step> = match self.rng.below(14) {
            0 => vec![begin, step(form), commit],
            1 => vec![begin, step(form), run(who, "ROLLBACK", Effect::Rollback)],
            2 => vec![
                begin,
                run(who, "SAVE TRAN s0", Effect::Save("s0".to_owned())),
                step(form),
                run(who, "ROLLBACK TRAN s0", Effect::Back("s0".to_owned())),
                commit,
            ],
            3 => vec![
                run(who, "SET XACT_ABORT ON", Effect::XactAbort(true)),
                begin,
                step(form),
                run(who, "SELECT 1 / 0", Effect::Fails(vec![8134])),
            ],
            4 if form.form == Form::Plain && form.stmts[0].fits_string() => {
                let mut batch = form;
                batch.form = Form::Try(Caught::Rollback);
                batch.stmts.push(Stmt {
                    sql: "RAISERROR('x', 16, 1)".to_owned(),
                    effect: Effect::Fails(vec![50000]),
                });
                vec![begin, step(batch)]
            }
            4..6 => {
                let other = other?;
                vec![
                    run(who, "SET DEADLOCK_PRIORITY LOW", Effect::Nothing),
                    run(who, "SET LOCK_TIMEOUT -1", Effect::Nothing),
                    run(other, "SET LOCK_TIMEOUT -1", Effect::Nothing),
                    begin,
                    step(form),
                    meet(who, 1),
                    run(other, "BEGIN TRAN", Effect::Begin),
                    meet(other, 2),
                    on(meet(who, 2)),
                    on(meet(other, 1)),
                    Step::Rest { ms: 6000 },
                    run(other, "COMMIT", Effect::Commit),
                ]
            }
            6 => vec![
                run(who, "SET XACT_ABORT ON", Effect::XactAbort(true)),
                begin,
                step(form),
                on(run(who, "WAITFOR DELAY '00:00:05'", Effect::Nothing)),
                Step::Cancel { who, after: 50 },
            ],
            // The statement itself is interrupted: somebody holds what it needs.
            7 => {
                let other = other?;
                let (at, _) = form.stmts[0].touches().first()?.clone();
                if at.is_temporary() || view.table(&at).is_none() {
                    return None;
                }
                let sql = format!("SELECT COUNT(*) FROM {} WITH (TABLOCKX)", at.sql());
                vec![
                    run(other, "BEGIN TRAN", Effect::Begin),
                    run(other, &sql, Effect::Nothing),
                    run(who, "SET LOCK_TIMEOUT -1", Effect::Nothing),
                    begin,
                    on(step(form)),
                    Step::Cancel { who, after: 500 },
                    run(other, "ROLLBACK", Effect::Rollback),
                ]
            }
            8 => vec![begin, step(form), Step::Kill { by: other?, who }],
            9 => vec![begin, step(form), Step::Leave { who }],
            10 => vec![begin, step(form), Step::Down { cuts }],
            11 => {
                let after = self.rng.below(8);
                vec![Step::Fails { after }, step(form), Step::Down { cuts }]
            }
            12 => {
                let after = self.rng.below(3);
                let fails = Step::Fails { after };
                vec![begin, step(form), fails, commit, Step::Down { cuts }]
            }
            _ => {
                cuts.push(self.rng.below(60));
                vec![begin, step(form), commit, Step::Down { cuts }]
            }
        };
        Some(steps.into())
    }

    /// Another session changes rows of a table while one that has changed some is still to decide.
    fn meeting(
        &mut self,
        life: &Life<'_>,
        scene: &Scene<'_>,
        other: usize,
    ) -> Option<VecDeque<Step>> {
        let (at, table) = self.table(scene)?;
        if at.is_temporary() {
            return None;
        }
        let view = life.view(other);
        let beside = Scene {
            who: other,
            view: &view,
            depth: 0,
            saves: Vec::new(),
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

    /// A change of any kind, each as likely as the others.
    fn one_of_each(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let stmt = match self.rng.below(10) {
            0 => return self.bulk(scene),
            1..3 => self.rows(scene),
            3..5 => self.other(scene),
            5..7 => {
                let (at, table) = self.table(scene)?;
                self.lesser(scene, at, table)
            }
            _ => self.define(scene),
        }?;
        Some(Batch {
            stmts: vec![stmt],
            form: Form::Plain,
        })
    }
}
