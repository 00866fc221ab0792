//! Transactions: their beginnings, ends and savepoints; TRY and CATCH around what may fail.

use super::{Generator, Scene};
use crate::crash::sql::model::No;
use crate::crash::sql::step::{Batch, Caught, Effect, Form, Level, Stmt};

impl Generator {
    pub(super) fn flow(&mut self, scene: &Scene<'_>) -> Batch {
        let one = |sql: &str, effect| Batch::plain(sql.to_owned(), effect);
        let point = format!("s{}", self.rng.below(2));
        if scene.depth == 0 {
            return match self.rng.below(14) {
                11..13 => {
                    let last = if scene.versioned { 4 } else { 3 };
                    let level = Level::ALL[self.rng.below(last) as usize];
                    one(level.sql(), Effect::Level(level))
                }
                0 => one("SET XACT_ABORT ON", Effect::XactAbort(true)),
                1 => one("SET XACT_ABORT OFF", Effect::XactAbort(false)),
                2 => {
                    let ms = [0, 5, 200, -1][self.rng.below(4) as usize];
                    Batch::plain(format!("SET LOCK_TIMEOUT {ms}"), Effect::Nothing)
                }
                _ => one("BEGIN TRAN", Effect::Begin),
            };
        }
        match self.rng.below(20) {
            0..8 => one("COMMIT", Effect::Commit),
            8..12 => one("ROLLBACK", Effect::Rollback),
            12 => one("BEGIN TRAN", Effect::Begin),
            13..16 => Batch::plain(format!("SAVE TRAN {point}"), Effect::Save(point)),
            _ if scene.saves.contains(&point) => {
                Batch::plain(format!("ROLLBACK TRAN {point}"), Effect::Back(point))
            }
            _ => Batch::plain(format!("SAVE TRAN {point}"), Effect::Save(point)),
        }
    }

    /// Some changes in a TRY, in a transaction of their own or not; at the end sometimes an error.
    pub(super) fn try_catch(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let mut view = scene.view.clone();
        let (mut stmts, mut defined) = (Vec::new(), Vec::new());
        let own = scene.depth == 0 && self.rng.one_in(2);
        if own {
            stmts.push(Stmt {
                sql: "BEGIN TRAN".to_owned(),
                effect: Effect::Begin,
            });
        }
        for _ in 0..1 + self.rng.below(4) {
            let inner = Scene {
                who: scene.who,
                view: &view,
                depth: scene.depth,
                saves: scene.saves.clone(),
                ..*scene
            };
            let Some(stmt) = self.change(&inner) else {
                continue;
            };
            let Effect::Do(op) = &stmt.effect else {
                continue;
            };
            if !stmt.fits_try() {
                continue;
            }
            if matches!(view.apply(op), Err(No::Unknown)) {
                continue;
            }
            // What was defined in this batch cannot be bound with it.
            let touched = stmt.touches();
            let again = touched.iter().any(|(at, _)| defined.contains(at));
            defined.extend(touched.into_iter().filter(|t| t.1).map(|t| t.0));
            if again && !stmt.fits_string() {
                continue;
            }
            stmts.push(if again {
                stmt.in_string()
            } else {
                stmt.alone_in_string()
            });
        }
        if self.rng.one_in(4) {
            stmts.push(Stmt {
                sql: "RAISERROR('x', 16, 1)".to_owned(),
                effect: Effect::Fails(vec![50000]),
            });
        }
        if own {
            stmts.push(Stmt {
                sql: "COMMIT".to_owned(),
                effect: Effect::Commit,
            });
        }
        let caught = match self.rng.one_in(3) {
            true if !own => Caught::Doomed,
            _ => Caught::Rollback,
        };
        (!stmts.is_empty()).then_some(Batch {
            stmts,
            form: Form::Try(caught),
        })
    }
}
