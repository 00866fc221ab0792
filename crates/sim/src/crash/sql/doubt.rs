//! What is in doubt: what running requests may have committed, when power fails or when nobody has told yet.

use super::disk::DATABASES;
use super::life::{Life, Txn};
use super::matrix::Ending;
use super::model::{Model, Op};
use super::step::{Effect, Stmt};
use super::world::{End, possible};

/// What may have been committed of the running requests.
pub fn in_doubt(life: &Life<'_>) -> Vec<Vec<Vec<Op>>> {
    let busy = life.who.iter().filter_map(|w| Some((w, w.busy.as_ref()?)));
    busy.map(|(w, b)| alternatives(w.txn.clone().unwrap_or_default(), b.left()))
        .collect()
}

/// What may be committed where a session reads, with or without what others have not come to tell. Who waits for a lock has
/// told everything.
pub fn untold(life: &Life<'_>, who: usize) -> Vec<Model> {
    let mut all = Vec::new();
    for (n, w) in life.who.iter().enumerate() {
        if let Some(busy) = w.busy.as_ref().filter(|_| n != who && !life.is_blocked(w)) {
            all.push(alternatives(w.txn.clone().unwrap_or_default(), busy.left()));
        }
    }
    possible(&life.world.model, all)
}

/// Power is off: what was in flight is in doubt.
pub fn power(life: &mut Life<'_>, cuts: Vec<u64>) -> End {
    let mut in_doubt = Vec::new();
    for w in &mut life.who {
        let txn = w.txn.take();
        let mut kinds = txn.as_ref().map_or_else(Vec::new, |t| t.kinds.clone());
        let mut ending = Ending::CrashBefore;
        if let Some(busy) = w.busy.take() {
            let is_alone = txn.is_none();
            kinds.extend(busy.batch.kinds(busy.told, is_alone));
            let mut alternatives = alternatives(txn.unwrap_or_default(), busy.left());
            if let Effect::Over(path) = &busy.batch.stmts[0].effect
                && let Some(kept) = life.world.backups.get(path)
            {
                let states = kept.states.iter();
                let states = states.filter_map(|m| m.dbs.get(DATABASES[0]).cloned());
                alternatives.extend(states.map(|state| {
                    let (db, state) = (DATABASES[0].to_owned(), Box::new(state));
                    vec![Op::Becomes { db, state }]
                }));
            }
            if alternatives.len() > 1 || is_alone {
                ending = Ending::CrashInside;
            }
            in_doubt.push(alternatives);
        }
        life.world.matrix.count(&kinds, ending);
    }
    let instance = life.instance.clone();
    life.world.lost_power(&instance);
    life.world.in_doubt = in_doubt;
    End::Down(cuts)
}

/// What statements may have committed when power failed in them; nothing first.
fn alternatives(txn: Txn, stmts: &[Stmt]) -> Vec<Vec<Op>> {
    let (mut depth, mut open, mut saves) = (txn.depth, txn.ops, txn.saves);
    let mut durable: Vec<Op> = Vec::new();
    let mut all = vec![Vec::new()];
    for s in stmts {
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
