//! Short stories that each of some bugs would spoil, which crashes at random moments seldom show. With the feature
//! `planted` the bugs are planted and must spoil them: `cargo test -p duramen-storage --features planted planted`.

use std::sync::Arc;

use duramen_base::planted::Bug;
use duramen_os::sim::{DiskOp, SimDisk, Simulation};
use duramen_os::{Env, IoError, thread};
use duramen_types::Value;

use super::fixture::*;
use crate::{Database, LockHint, RowLocator};

type Found = Result<(), String>;

fn has_row(db: &Arc<Database>, id: i32) -> Result<bool, String> {
    let tx = begin(&db.engine, 60);
    let at = RowLocator::Key(vec![Value::Int(id)]);
    let seen = db.rowset(&clustered()).fetch(&tx, &at, LockHint::Read);
    db.engine.locks.release_session(&tx.owner);
    seen.map(|row| row.is_some()).map_err(|e| e.to_string())
}

/// What the next start makes of a disk that has lost its power: whether the row of the transaction that was open is
/// gone, and a committed one there.
fn after_crash(disk: Arc<SimDisk>) -> Found {
    Simulation::new(9).on_disk(disk.crash(9)).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = open(&engine).map_err(|e| format!("recovery: {e}"))?;
        if has_row(&db, 1)? {
            return Err("a row that nobody has committed".into());
        }
        if !has_row(&db, 2)? {
            return Err("a committed row is not there".into());
        }
        Ok(())
    })
}

/// A transaction that has written before a checkpoint and nothing after it.
fn quiet_over_a_checkpoint() -> Found {
    let disk = Simulation::new(1).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        table.insert(&tx, &row(2, 10, None)).unwrap();
        engine.commit(&tx, None).unwrap();
        let open = begin(&engine, 53);
        table.insert(&open, &row(1, 10, None)).unwrap();
        db.checkpoint().unwrap();
        sim.disk()
    });
    after_crash(disk)
}

/// A transaction that is open while others fill the log and checkpoints let go of it.
fn open_while_the_log_wraps() -> Found {
    let disk = Simulation::new(2).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create_fixed_log(&engine, 5).unwrap();
        let table = db.rowset(&clustered());
        let open = begin(&engine, 53);
        table.insert(&open, &row(1, 10, None)).unwrap();
        'full: for id in 0..4000 {
            let tx = begin(&engine, 52);
            // The log is full at some time: the open transaction holds it.
            if table.insert(&tx, &row(2 + id, 900, None)).is_err() {
                let _ = engine.rollback(&tx, None);
                break 'full;
            }
            if engine.commit(&tx, None).is_err() {
                break 'full;
            }
            if id % 100 == 99 && db.checkpoint().is_err() {
                break 'full;
            }
        }
        let _ = db.access.flush(db.access.last_lsn());
        sim.disk()
    });
    after_crash(disk)
}

/// Whoever sees a row finds that its reply depends on the commit that brought it.
fn seen_means_noted() -> Found {
    for seed in 0..8u64 {
        Simulation::new(seed).run(|sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            let before = db.transactions.commits.last_full();
            let tx = begin(&engine, 52);
            let table = db.rowset(&clustered());
            table.insert(&tx, &row(1, 10, None)).unwrap();
            let reader = thread::spawn("reader", {
                let db = db.clone();
                move || {
                    // Waits for the row's lock.
                    let seen = has_row(&db, 1)?;
                    let noted = db.transactions.commits.last_full() > before;
                    Ok::<_, String>((seen, noted))
                }
            });
            thread::sleep(std::time::Duration::from_micros(100 * seed));
            engine.commit(&tx, None).unwrap();
            match reader.join() {
                Ok(Ok((true, false))) => Err("a commit is seen before it is logged".to_owned()),
                Ok(Ok(_)) => Ok(()),
                Ok(Err(e)) => Err(e),
                Err(_) => Err("the reader panicked".into()),
            }
        })?;
    }
    Ok(())
}

/// Power fails after every number of changes of the disk while a transaction over two databases commits.
fn both_or_neither() -> Found {
    for n in 0..16u64 {
        let disk = Simulation::new(n).run(move |sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let both = [(5, "t"), (6, "u")].map(|(id, name)| create_as(&engine, id, name).unwrap());
            let tx = begin(&engine, 52);
            for db in &both {
                db.checkpoint().unwrap();
                let table = db.rowset(&clustered());
                table.insert(&tx, &row(1, 10, None)).unwrap();
            }
            sim.disk().power_off_after(n);
            let _ = engine.commit(&tx, None);
            sim.disk()
        });
        Simulation::new(99).on_disk(disk.crash(n)).run(|sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let fail = |e| format!("after {n} changes: {e:?}");
            let first = open_as(&engine, 5, "t").map_err(fail)?;
            let second = open_as(&engine, 6, "u").map_err(fail)?;
            match (has_row(&first, 1)?, has_row(&second, 1)?) {
                (a, b) if a == b => Ok(()),
                found => Err(format!("after {n} changes: {found:?}")),
            }
        })?;
    }
    Ok(())
}

/// A transaction whose log has failed is not rolled back; its session goes.
fn lost_with_its_log() -> Found {
    Simulation::new(7).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&clustered());
        let tx = begin(&engine, 52);
        table.insert(&tx, &row(1, 10, None)).unwrap();
        let error = IoError::device("test");
        sim.disk().fail_nth(DiskOp::Write, 1, error);
        if db.access.flush(db.access.last_lsn()).is_ok() || engine.rollback(&tx, None).is_ok() {
            return Err("the log has not failed".into());
        }
        engine.locks.release_session(&tx.owner);
        match has_row(&db, 1) {
            Err(_) => Ok(()),
            Ok(seen) => Err(format!("it is told that the row is there: {seen}")),
        }
    })
}

const STORIES: [(Bug, fn() -> Found); 6] = [
    (Bug::CheckpointForgetsActive, quiet_over_a_checkpoint),
    (Bug::TruncatedTooFar, open_while_the_log_wraps),
    (Bug::LocksBeforeCommit, seen_means_noted),
    (Bug::DecisionBeforePrepared, both_or_neither),
    (Bug::PreparedIsAborted, both_or_neither),
    (Bug::LostKeepsNoLocks, lost_with_its_log),
];

#[test]
fn stories_that_planted_bugs_spoil() {
    for (bug, story) in STORIES {
        story().unwrap_or_else(|e| panic!("without {bug:?}: {e}"));
        #[cfg(feature = "planted")]
        {
            let began = duramen_os::time::now();
            duramen_base::planted::plant(Some(bug));
            let found = std::panic::catch_unwind(story);
            duramen_base::planted::plant(None);
            assert!(!matches!(found, Ok(Ok(()))), "{bug:?} is not found");
            let took = began.elapsed().as_millis();
            println!("planted\t{bug:?}\ta story of storage\t{took}");
        }
    }
}

/// Bugs that tests of this room find, which were not made for them.
#[cfg(feature = "planted")]
#[test]
fn tests_that_planted_bugs_spoil() {
    use super::{pool, recovery, rows, two};
    const TESTS: [(Bug, &str, fn()); 7] = [
        (
            Bug::UndoNextForgotten,
            "undo_that_is_cut_short_again_and_again_undoes_nothing_twice",
            recovery::undo_that_is_cut_short_again_and_again_undoes_nothing_twice,
        ),
        (
            Bug::RoomNotKept,
            "whatever_is_undone_finds_its_room",
            crate::kept_room::tests::whatever_is_undone_finds_its_room,
        ),
        (
            Bug::GhostsGoEarly,
            "ghosts_go_when_their_deleter_has_ended_and_not_before",
            rows::ghosts_go_when_their_deleter_has_ended_and_not_before,
        ),
        (
            Bug::NeighbourUntold,
            "inserts_in_random_order_come_back_in_key_order",
            rows::inserts_in_random_order_come_back_in_key_order,
        ),
        (
            Bug::PageUnverified,
            "a_page_that_rotted_is_error_824",
            two::a_page_that_rotted_is_error_824,
        ),
        (
            Bug::TornStays,
            "torn_pages_come_back_from_the_double_write_file",
            pool::torn_pages_come_back_from_the_double_write_file,
        ),
        (
            Bug::ChecksumTrusted,
            "a_torn_page_whose_checksum_fits_is_repaired_too",
            pool::a_torn_page_whose_checksum_fits_is_repaired_too,
        ),
    ];
    let mut missed = Vec::new();
    for (bug, name, test) in TESTS {
        let began = duramen_os::time::now();
        match duramen_base::planted::found(bug, test) {
            Some(_) => {
                let took = began.elapsed().as_millis();
                println!("planted\t{bug:?}\t{name}\t{took}");
            }
            None => missed.push((bug, name)),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
