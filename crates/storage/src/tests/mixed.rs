//! Extents whose pages belong to several units.

use duramen_format::alloc::pfs;
use duramen_os::Env;
use duramen_os::sim::Simulation;
use duramen_types::Value;

use super::fixture::*;

/// One transaction has taken a new extent for a page of it and has not ended when the power goes; another has taken the
/// next page, and has committed.
#[test]
fn an_extent_of_single_pages_outlives_who_took_it_first() {
    let disk = Simulation::new(5).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        db.checkpoint().unwrap();
        let cut = begin(&engine, 51).system("AllocFirstPage");
        let au = heap_numbered(30).au;
        let flags = pfs::ALLOCATED | pfs::IAM;
        // Until a page is the first of its extent.
        while !db
            .take_mixed_page(&cut, 1, au, flags)
            .unwrap()
            .page
            .is_multiple_of(8)
        {}
        let heap = new_heap(&engine, &db, 31, 1).unwrap();
        let tx = begin(&engine, 52);
        heap.insert(&tx, &[Value::Int(1), Value::Null]).unwrap();
        engine.commit(&tx, None).unwrap();
        db.log().unwrap().flush_all().unwrap();
        sim.disk()
    });
    Simulation::new(6).on_disk(disk.crash(6)).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = open(&engine).unwrap();
        // What is taken now is nobody's.
        for number in 32..40 {
            new_heap(&engine, &db, number, 1).unwrap();
        }
        db.close().unwrap();
        sound(&*sim.disk());
    });
}
