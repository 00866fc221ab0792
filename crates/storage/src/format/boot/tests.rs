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
        }),
    };
    let mut b = Box::new([0u8; PAGE_BYTES]);
    boot.format(&mut b).expect("fits");
    assert_eq!(Boot::read(&b), Ok(boot));
    PageRef::new(&b).check().expect("consistent");
}

#[test]
fn file_header_round_trip() {
    let mut header = FileHeader {
        binding: [3; 16],
        file_id: 1,
        filegroup: 1,
        size: 1024,
        max_size: None,
        growth: 8192,
        growth_percent: false,
        logical_name: "credit_data".into(),
        own: true,
    };
    let mut b = Box::new([0u8; PAGE_BYTES]);
    header.format(&mut b).expect("fits");
    assert_eq!(FileHeader::read(&b), Ok(header.clone()));
    header.size = 2048;
    header.logical_name = "another_longer_name".into();
    header.max_size = Some(4096);
    header.write(&mut b).expect("fits");
    assert_eq!(FileHeader::read(&b), Ok(header));
}
