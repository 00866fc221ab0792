//! Random work, a crash at a random moment, recovery, and a comparison with what was promised.
//!
//! The model holds what every committed transaction has left. A commit is *promised* once the log is flushed up to its
//! record. After the crash the tables must hold exactly the state after some prefix of the commits, and no promised
//! commit may be missing.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use duramen_base::SqlError;
use duramen_os::random::Rng;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::sync::Mutex;
use duramen_txn::LockMode;
use duramen_types::Value;

use super::fixture::*;
use super::tables::{Model, Tables, index_key, tables};
use crate::{Database, Engine, Logging, Rowset};

/// Loads go up to here.
const LAST_ID: i32 = 600;

#[derive(Default)]
struct Promise {
    /// The state after each commit; the first is the empty table.
    states: Vec<Model>,
    /// Commits up to here are durable.
    durable: usize,
}

/// Loads the rows of a range of ids that are not there: in order, or the index's first.
fn load(
    tables: &Tables,
    tx: &duramen_txn::Transaction,
    rng: &mut Rng,
    model: &mut Model,
) -> Result<(), SqlError> {
    let first = match (rng.below(3), model.keys().last()) {
        (0, _) | (_, None) => rng.below(200) as i32,
        (_, Some(last)) => last + 1,
    };
    let count = 1 + rng.below(120) as i32;
    let long = rng.one_in(3);
    let mut rows = Vec::new();
    for id in (first..first + count).filter(|id| *id < LAST_ID) {
        if model.contains_key(&id) {
            continue;
        }
        let pad = rng.below(if long { 3000 } else { 200 }) as usize;
        let n = (!rng.one_in(5)).then(|| rng.below(50) as i32);
        model.insert(id, (pad, n));
        rows.push((id, pad, n));
    }
    let logging = match rng.one_in(4) {
        true => Logging::Rows,
        false => Logging::Pages,
    };
    let alone = rng.one_in(2);
    let insert = |rowset: &Rowset, rows: &[Vec<Value>]| {
        let mut logging = logging;
        if alone && (rowset.def().is_heap() || rowset.row_count()? == 0) {
            rowset.lock_object(tx, LockMode::X)?;
            logging = Logging::Minimal;
        }
        let mut load = rowset.load(logging);
        for some in rows.chunks(50) {
            let added = load.add(tx, some, false);
            added.map_err(|e| SqlError::from(e.error))?;
        }
        load.finish(tx)
    };
    let data: Vec<_> = rows.iter().map(|(id, pad, n)| row(*id, *pad, *n)).collect();
    insert(&tables.table, &data)?;
    let mut entries: Vec<_> = rows.iter().map(|(id, _, n)| index_key(*id, *n)).collect();
    if !rng.one_in(3) {
        // The index is descending.
        entries.sort_by_key(|e| (std::cmp::Reverse(e[0].as_i64()), e[1].as_i64()));
    }
    insert(&tables.index, &entries)?;
    let short = |(id, pad, _): &(i32, usize, Option<i32>)| row(*id, pad / 2, None)[..2].to_vec();
    insert(&tables.heap, &rows.iter().map(short).collect::<Vec<_>>())
}

fn one_step(
    tables: &Tables,
    tx: &duramen_txn::Transaction,
    rng: &mut Rng,
    model: &mut Model,
) -> Result<(), SqlError> {
    if rng.one_in(10) {
        return load(tables, tx, rng, model);
    }
    let id = rng.below(120) as i32;
    let pad = match rng.below(4) {
        0 => rng.below(3000),
        _ => rng.below(200),
    } as usize;
    let n = (!rng.one_in(5)).then(|| rng.below(50) as i32);
    match model.get(&id).copied() {
        None => {
            tables.insert(tx, id, pad, n)?;
            model.insert(id, (pad, n));
        }
        Some((_, old)) if rng.one_in(2) => {
            tables.delete(tx, id, old)?;
            model.remove(&id);
        }
        Some((_, old)) => {
            tables.update(tx, id, old, pad, n)?;
            model.insert(id, (pad, n));
        }
    }
    Ok(())
}

/// Works until the disk loses its power; every error before that is a bug.
fn work(
    engine: &Arc<Engine>,
    db: &Arc<Database>,
    rng: &mut Rng,
    promise: &Mutex<Promise>,
    rounds: u32,
) -> Result<(), SqlError> {
    let tables = tables(db);
    let mut model = promise.lock().states.last().cloned().unwrap_or_default();
    for _ in 0..rounds {
        let tx = begin(engine, 52);
        let mut next = model.clone();
        let steps = 1 + rng.below(12);
        let mut saved = None;
        if rng.one_in(20) {
            for rowset in [&tables.table, &tables.index, &tables.heap] {
                rowset.truncate(&tx)?;
            }
            next.clear();
        }
        for _ in 0..steps {
            one_step(&tables, &tx, rng, &mut next)?;
            if rng.one_in(8) {
                saved = Some((
                    tx.statement_point(engine.locks.mark(&tx.owner)),
                    next.clone(),
                ));
            }
            if rng.one_in(8)
                && let Some((point, then)) = saved.take()
            {
                engine.rollback(&tx, Some(&point))?;
                next = then;
            }
        }
        if rng.one_in(4) {
            engine.rollback(&tx, None)?;
        } else {
            let lsns = engine.commit(&tx, None)?;
            model = next;
            promise.lock().states.push(model.clone());
            if rng.one_in(3)
                && let (Some(log), Some((_, lsn))) = (db.log(), lsns.parts.first())
            {
                log.flush(*lsn).map_err(|e| e.to_sql("t"))?;
                let mut p = promise.lock();
                p.durable = p.states.len() - 1;
            }
        }
        if rng.one_in(12) {
            db.checkpoint()?;
        }
    }
    Ok(())
}

fn crash_and_compare(seed: u64) {
    let mut rng = Rng::new(seed);
    let memory = if rng.one_in(2) { 1 << 20 } else { 8 << 20 };
    let promise = Arc::new(Mutex::new(Promise {
        states: vec![Model::new()],
        durable: 0,
    }));
    // Make the database and lose power somewhere in the work.
    let off_after = 10 + rng.below(500);
    let kept = promise.clone();
    let mut rng2 = Rng::new(seed ^ 0x5eed);
    let mut disk = Simulation::new(seed).run(move |sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, memory);
        let db = create(&engine).unwrap();
        db.checkpoint().unwrap();
        sim.disk().power_off_after(off_after);
        let result = work(&engine, &db, &mut rng2, &kept, 150);
        assert!(
            result.is_ok() || sim.disk().is_off(),
            "an error with the power on: {result:?}"
        );
        sim.disk()
    });
    // Crash, recover (sometimes cut short by another crash), compare; twice over.
    for round in 0..4u64 {
        disk = disk.crash(seed.wrapping_mul(31).wrapping_add(round));
        let cut = (round < 2).then(|| 1 + rng.below(60));
        let debt = match rng.one_in(2) {
            true => 0,
            false => u32::MAX,
        };
        let mut more = rng.one_in(2).then(|| Rng::new(seed ^ round));
        let kept = promise.clone();
        let (next, done) = Simulation::new(seed + 1000 + round)
            .on_disk(disk)
            .run(move |sim| {
                if let Some(n) = cut {
                    sim.disk().power_off_after(n);
                }
                let env = duramen_os::Env::with_disk(sim.disk());
                let opened = std::panic::AssertUnwindSafe(|| {
                    let engine = crate::Engine::new(
                        &env,
                        &crate::EngineConfig {
                            memory,
                            doublewrite_path: "/data/duramen.dwb".into(),
                        },
                    )?;
                    engine.checkpoint_debt.store(debt, SeqCst);
                    let db = open(&engine)?;
                    Ok::<_, SqlError>((engine, db))
                })();
                let (engine, db) = match opened {
                    Ok(found) => found,
                    Err(e) => {
                        assert!(sim.disk().is_off(), "recovery failed: {e}");
                        return (sim.disk(), false);
                    }
                };
                let tx = begin(&engine, 60);
                let state = tables(&db).state(&tx);
                let mut p = kept.lock();
                let fits = p.states[p.durable..].iter().position(|s| *s == state);
                let Some(at) = fits else {
                    panic!(
                        "the state after recovery is none of the {} that may be",
                        p.states.len() - p.durable
                    );
                };
                p.durable += at;
                let now = p.durable + 1;
                p.states.truncate(now);
                drop(p);
                if !sim.disk().is_off() {
                    engine.commit(&tx, None).unwrap();
                }
                if let Some(rng) = &mut more {
                    // Work goes on, on top of a recovery whose checkpoint may not have been taken.
                    sim.disk().power_off_after(5 + rng.below(100));
                    let result = work(&engine, &db, rng, &kept, 20);
                    assert!(result.is_ok() || sim.disk().is_off(), "{result:?}");
                    return (sim.disk(), true);
                }
                let whole = !sim.disk().is_off() && db.close().is_ok();
                if whole && !sim.disk().is_off() {
                    sound(&*env.disk);
                }
                (sim.disk(), true)
            });
        disk = next;
        let _ = done;
    }
}

#[test]
fn a_crash_keeps_promised_commits_and_nothing_half_done() {
    for seed in seeds(1, 12) {
        crash_and_compare(seed);
    }
}
