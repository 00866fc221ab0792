//! Redo leaves a heap page as full as it was, to the last slot.

use duramen_os::sim::Simulation;

use super::fixture::*;

/// The rollback of inserts takes the slots at the end of the page away, and rows that come later fill their bytes. Redo
/// must take them away too: else the last of those rows finds no room.
#[test]
fn slots_that_a_rollback_took_away_are_taken_away_by_redo() {
    Simulation::new(5).run(|sim| {
        let disk = sim.disk();
        let env = duramen_os::Env::with_disk(disk.clone());
        let engine = engine(&env, 8 << 20);
        let db = create(&engine).unwrap();
        db.checkpoint().unwrap();
        let rows = db.rowset(&heap());
        let tx = begin(&engine, 51);
        for id in 0..300 {
            rows.insert(&tx, &row(id, 1, None)[..2]).unwrap();
        }
        engine.rollback(&tx, None).unwrap();
        let tx = begin(&engine, 51);
        for id in 0..120 {
            rows.insert(&tx, &row(id, 180, None)[..2]).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        db.log().unwrap().flush_all().unwrap();

        let env = duramen_os::Env::with_disk(disk.crash(1));
        let engine = super::fixture::engine(&env, 8 << 20);
        let db = open(&engine).unwrap();
        let tx = begin(&engine, 51);
        assert_eq!(all(&db.rowset(&heap()), &tx).len(), 120);
        engine.rollback(&tx, None).unwrap();
    });
}
