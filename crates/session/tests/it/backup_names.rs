//! A log backup that power fails behind: its file is there as soon as the database goes on without what is in it.

use duramen_backup::Medium;
use duramen_base::Lsn;
use duramen_os::memory::Broker;

use super::backups::{MAKE, all};
use super::*;

const BACKUP: &str = "BACKUP LOG b TO DISK = '/data/new/b.trn'";

/// A database with a chain of log backups and something to back up.
fn prepared() -> Arc<SimDisk> {
    let disk = SimDisk::new(31);
    let env = disk.env();
    let instance = start(&env);
    let mut s = login(&instance);
    all(&mut s, &[MAKE, "ALTER DATABASE b SET RECOVERY FULL"]);
    all(
        &mut s,
        &[
            "CREATE TABLE b.dbo.t (id int IDENTITY PRIMARY KEY, x varchar(900))",
            "BACKUP DATABASE b TO DISK = 'nul'",
            "INSERT b.dbo.t SELECT REPLICATE('x', 900) FROM GENERATE_SERIES(1, 50)",
        ],
    );
    env.disk.create_dir_all("/data/new".as_ref()).expect("made");
    drop(s);
    drop(instance);
    disk
}

fn begins(instance: &Started) -> Lsn {
    let b = instance.databases.find("b").expect("b is there");
    b.db.log_backup_lsn()
}

#[test]
fn a_log_backup_has_a_name_before_the_log_lets_go_of_it() {
    let prepared = prepared();
    let (mut advanced, mut not_yet) = (0, 0);
    // Power fails at each of the changes of the disk with which a backup ends.
    let whole = {
        let disk = prepared.fork();
        let instance = start(&disk.env());
        let mut s = login(&instance);
        let from = disk.changes();
        all(&mut s, &[BACKUP]);
        disk.changes() - from
    };
    for n in whole.saturating_sub(10)..=whole {
        let disk = prepared.fork();
        let before = {
            let instance = start(&disk.env());
            let before = begins(&instance);
            let mut s = login(&instance);
            disk.power_off_after(n);
            run(&mut s, BACKUP);
            before
        };
        for seed in 0..5 {
            let disk = disk.crash(seed);
            let instance = start(&disk.env());
            let next = begins(&instance);
            if next == before {
                not_yet += 1;
                continue;
            }
            advanced += 1;
            let medium = Medium::open(&*disk, "/data/new/b.trn".as_ref(), "b.trn");
            let medium = medium.unwrap_or_else(|e| {
                panic!("change {n}, crash {seed}: the log before {next} is in no backup: {e}")
            });
            let set = medium.sets.first().expect("a set");
            assert!(set.complete && set.header.last_lsn >= next, "change {n}");
            medium
                .verify(set, Default::default(), &Broker::new(64 << 20))
                .expect("it is whole");
        }
    }
    // Both sides of the moment have been seen.
    assert!(advanced > 0 && not_yet > 0, "{advanced} and {not_yet}");
}
