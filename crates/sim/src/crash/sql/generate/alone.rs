//! Statements that no transaction takes, and how they end: done, refused, or interrupted on their way.

use super::Generator;
use super::aims::{meet, on, run};
use crate::crash::sql::kinds::K;
use crate::crash::sql::matrix::Ending;
use crate::crash::sql::step::{Batch, Caught, Effect, Form, Step, Stmt};

/// A KILL of nobody.
const KILL_NOBODY: &str = "KILL 9999";
const NOBODY: i32 = 6106;

/// What a transaction says to a statement of a kind; BACKUP and RESTORE add 3013.
fn in_transaction(kind: K) -> Vec<i32> {
    match kind {
        K::BackupDatabase | K::BackupLog | K::Restore | K::RestoreLog => vec![3021, 3013],
        K::Kill => vec![6115],
        K::Reconfigure => vec![574],
        _ => vec![226],
    }
}

/// A statement of the kind that is refused wherever it stands, and what is said to it.
fn hopeless(kind: K) -> Option<(&'static str, Vec<i32>)> {
    Some(match kind {
        K::CreateDatabase => ("CREATE DATABASE a", vec![1801]),
        K::DropDatabase => ("DROP DATABASE nobodys", vec![3701]),
        K::AlterDatabase => (
            "ALTER DATABASE nobodys SET RECOVERY FULL",
            vec![5011, 5069, 911],
        ),
        K::BackupDatabase => (
            "BACKUP DATABASE nobodys TO DISK = '/data/nobodys.bak'",
            vec![911, 3013],
        ),
        K::BackupLog => (
            "BACKUP LOG nobodys TO DISK = '/data/nobodys.trn'",
            vec![911, 3013],
        ),
        K::Restore => (
            "RESTORE DATABASE r FROM DISK = '/data/nobodys.bak'",
            vec![3201, 3013],
        ),
        K::RestoreLog => (
            "RESTORE LOG r FROM DISK = '/data/nobodys.trn'",
            vec![3201, 3013],
        ),
        K::Kill => (KILL_NOBODY, vec![NOBODY]),
        _ => return None,
    })
}

/// KILL of nobody, as a statement that somebody may interrupt.
pub(super) fn kill_nobody(who: usize) -> Step {
    run(who, KILL_NOBODY, Effect::Fails(vec![NOBODY]))
}

/// In a TRY whose CATCH ends the transaction.
fn tried(who: usize, sql: String, numbers: Vec<i32>) -> Step {
    let effect = Effect::Fails(numbers);
    let batch = Batch {
        stmts: vec![Stmt { sql, effect }],
        form: Form::Try(Caught::Rollback),
    };
    let on = false;
    Step::Run { who, batch, on }
}

/// A transaction that refuses a statement, says so, and is rolled back.
fn refused(kind: K, who: usize, sql: String) -> Vec<Step> {
    let begin = run(who, "BEGIN TRAN", Effect::Begin);
    vec![begin, tried(who, sql, in_transaction(kind))]
}

/// The same statement, behind something that is waited for.
fn later(step: Step) -> Step {
    match step {
        Step::Run { who, batch, on } => {
            let stmts = batch.stmts.into_iter().map(Stmt::later).collect();
            let form = batch.form;
            let batch = Batch { stmts, form };
            Step::Run { who, batch, on }
        }
        other => other,
    }
}

impl Generator {
    /// The ends of what is in no transaction.
    pub(super) fn alone(
        &mut self,
        (who, other): (usize, usize),
        kind: K,
        step: Step,
        ending: Option<Ending>,
    ) -> Vec<Step> {
        let cuts = vec![self.rng.below(60)];
        let writes = !matches!(kind, K::Kill | K::Reconfigure);
        let n = match ending {
            None => self.rng.below(10),
            Some(Ending::CrashAfter) => 0,
            Some(Ending::CrashInRecovery) => 1,
            Some(Ending::Attention) => 2,
            Some(Ending::Kill) => 3,
            Some(Ending::CrashInside) if writes && self.rng.below(4) > 0 => 4,
            Some(Ending::CrashInside) => 5,
            Some(Ending::Disconnect) => 6,
            Some(Ending::Caught) => 7 + self.rng.below(2),
            Some(_) => 9,
        };
        match n {
            0 => vec![step, Step::Down { cuts: Vec::new() }],
            1 => vec![step, Step::Down { cuts }],
            2 | 3 | 6 => self.interrupted((who, other), step, n),
            4 => {
                let scale = [4, 12, 40][self.rng.below(3) as usize];
                let after = self.rng.below(scale);
                vec![Step::Fails { after }, step, Step::Down { cuts }]
            }
            // It writes nothing, or has not come to it: another does.
            5 => {
                let after = self.rng.below(3);
                let fails = Step::Fails { after };
                vec![on(later(step)), fails, meet(other, 1), Step::Down { cuts }]
            }
            7 => match hopeless(kind) {
                Some((sql, numbers)) => vec![tried(who, sql.to_owned(), numbers)],
                None => refused(kind, who, text(&step)),
            },
            8 => refused(kind, who, text(&step)),
            _ => vec![step],
        }
    }

    /// Somebody comes between, while it runs or before it does: what is short is interrupted while its request waits.
    fn interrupted(&mut self, (who, by): (usize, usize), step: Step, how: u64) -> Vec<Step> {
        let waits = self.rng.one_in(2);
        let after = match waits {
            true => 50,
            false => {
                let scale = [40, 400, 4000][self.rng.below(3) as usize];
                self.rng.below(scale)
            }
        };
        let step = on(if waits { later(step) } else { step });
        match how {
            2 => vec![step, Step::Cancel { who, after }],
            3 => vec![step, Step::Kill { by, who }],
            _ => vec![step, Step::Rest { us: after }, Step::Leave { who }],
        }
    }
}

/// The text of a step; of a KILL of another one of nobody, for a transaction refuses it before it asks whom.
fn text(step: &Step) -> String {
    match step {
        Step::Run { batch, .. } => batch.stmts[0].sql.clone(),
        _ => KILL_NOBODY.to_owned(),
    }
}
