//! tempdb: nothing of it waits for a disk, and every life begins empty, whatever the last one left in the files.

use std::path::PathBuf;

use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault, Simulation};

use super::fixture::*;

fn refuse(disk: &duramen_os::sim::SimDisk, op: DiskOp, file: &str) {
    disk.add_fault(Fault {
        op,
        path: Some(PathBuf::from(file)),
        nth: 1,
        error: IoError::device("sync"),
        lasting: true,
    });
}

#[test]
fn lives_without_a_sync_and_is_born_empty() {
    let mut disk = None;
    for life in 0..3u64 {
        let sim = Simulation::new(life + 1);
        let sim = match disk.take() {
            Some(d) => sim.on_disk(d),
            None => sim,
        };
        let left = sim.run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            for file in ["/data/t.mdf", "/data/t_log.ldf"] {
                refuse(&sim.disk(), DiskOp::Sync, file);
            }
            // 128 frames: pages have to leave memory and come back.
            let engine = engine(&env, 1 << 20);
            let db = create_as(&engine, 2, "t").unwrap();
            let table = db.rowset(&clustered());
            let tx = begin(&engine, 60);
            assert!(all(&table, &tx).is_empty(), "life {life} is not empty");
            engine.commit(&tx, None).unwrap();
            for i in 0..180 {
                let tx = begin(&engine, 60);
                table.insert(&tx, &row(i, 3000, None)).unwrap();
                if i % 7 == 0 {
                    engine.rollback(&tx, None).unwrap();
                } else {
                    let lsns = engine.commit(&tx, None).unwrap();
                    db.log().unwrap().flush(lsns.parts[0].1).unwrap();
                }
                if i % 60 == 0 {
                    db.checkpoint().unwrap();
                }
            }
            let tx = begin(&engine, 60);
            table.check_tree().unwrap();
            assert_eq!(all(&table, &tx).len(), 180 - 26);
            engine.commit(&tx, None).unwrap();
            if life == 0 {
                db.close().unwrap();
            }
            sim.disk()
        });
        left.clear_faults();
        disk = Some(if life == 1 { left } else { left.crash(life) });
    }
}
