//! Boot page and file header survive a round trip.

use super::*;
use duramen_base::PAGE_BYTES;

#[test]
fn boot_page_round_trip() {
    let boot = Boot {
        version: DATABASE_VERSION,
        create_version: DATABASE_VERSION,
        status: 0,
        next_object_id: 581_577_110,
        created: (42_000, 300),
        name: "Crédit".into(),
        database_id: 5,
        compatibility_level: 130,
        checkpoint_lsn: Lsn::new(33, 16, 1),
        differential_base_lsn: Lsn::NULL,
        last_backup_lsn: Lsn::new(1, 2, 3),
        collation: 0x34d0_0008,
        first_sysallocunits: PageId::new(1, 20),
        own: Some(OwnBoot {
            log_epoch: 7,
            log_profile: 2,
            options: 5,
            next_xdes: 900,
            next_alloc_unit: 300,
            database_guid: [9; 16],
            target_recovery_seconds: 60,
            family: [8; 16],
            log_backup_lsn: Lsn::new(7, 6, 1),
            differential_base: [5; 16],
            closed: true,
            last_good_check: (45_000, 1_234),
            log_first: 7,
            log_backed_up: (45_001, 4_321),
        }),
    };
    let mut b = Box::new([0u8; PAGE_BYTES]);
    boot.format(&mut b).expect("fits");
    assert_eq!(Boot::read(&b), Ok(boot));
    PageRef::new(&b).check().expect("consistent");
}
