//! Which batches make sense to send: those of which the model knows what must come.

use super::disk::DATABASES;
use super::life::Life;
use super::model::{At, No, Op};
use super::step::{Batch, Effect, Level};

/// Whether a batch makes sense here: the model says what must come of it.
pub fn fits(life: &Life<'_>, who: usize, batch: &Batch) -> bool {
    let mut view = life.view(who);
    let txn = life.who[who].txn.as_ref();
    let mut depth = txn.map_or(0, |t| t.depth);
    // Whether a snapshot of tempdb may be read is a setting of its own.
    let is_snapshot = life.who[who].level == Level::Snapshot;
    let mut saves: Vec<String> =
        txn.map_or_else(Vec::new, |t| t.saves.iter().map(|s| s.0.clone()).collect());
    for s in &batch.stmts {
        if is_snapshot && s.touches().iter().any(|(at, _)| at.is_global()) {
            return false;
        }
        match &s.effect {
            // The catalog is no part of a snapshot.
            Effect::Rights(_) if is_snapshot => return false,
            Effect::Do(op) => match view.apply(op) {
                Err(No::Unknown) => return false,
                // Where the key goes meanwhile the rows are there twice.
                Err(No::Refused(n)) if n.contains(&2627) && is_redefined(life, who, op) => {
                    return false;
                }
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
            // What others have is only known where no version of it can be in between.
            Effect::Look { at, filter } if filter.of.is_none() => {
                return sees_whole(life, who, depth, at);
            }
            Effect::Level(Level::Snapshot) if !life.world.versioned || depth > 0 => return false,
            _ => {}
        }
    }
    true
}

/// Whether others are about to change the definition of a table that an operation touches.
fn is_redefined(life: &Life<'_>, who: usize, op: &Op) -> bool {
    let touched = op.touches();
    let changes = |op: &Op| {
        let all = op.touches();
        all.iter()
            .any(|(at, defines)| *defines && touched.iter().any(|(t, _)| t == at))
    };
    life.who.iter().enumerate().any(|(n, w)| {
        let mut running = w.busy.iter().flat_map(|b| b.batch.ops());
        let mut open = w.txn.iter().flat_map(|t| &t.ops);
        n != who && (running.any(changes) || open.any(changes))
    })
}

/// A read of everybody's rows is the same whenever it is made, or of one moment.
fn sees_whole(life: &Life<'_>, who: usize, depth: u32, at: &At) -> bool {
    let by_versions = life.world.versioned && at.db == DATABASES[1];
    match life.who[who].level {
        Level::ReadCommitted => by_versions,
        Level::RepeatableRead => false,
        Level::Serializable | Level::Snapshot => depth > 0 && !at.is_local(),
    }
}
