//! The boot page of a database that is closed, or torn.

use std::path::Path;

use duramen_base::PAGE_BYTES;
use duramen_format::page::{Verify, verify};
use duramen_os::sim::SimDisk;

use super::fixture::*;
use crate::{RestoreFiles, Restores, Tolerance};

/// A restore of pages reads the boot page of a database that is closed, perhaps since a crash that tore it: it finds the one
/// that opening the database will put there.
#[test]
fn the_boot_page_of_a_closed_database_is_that_of_the_last_batch() {
    let disk = SimDisk::new(9);
    {
        let engine = engine(&disk.env(), 8 << 20);
        let db = create(&engine).unwrap();
        let tx = begin(&engine, 51);
        for id in 0..60 {
            let row = row(id, 3000, Some(id));
            db.rowset(&clustered()).insert(&tx, &row).unwrap();
        }
        engine.commit(&tx, None).unwrap();
        db.checkpoint().unwrap();
    }
    let files = RestoreFiles {
        name: "t".to_owned(),
        id: 5,
        data: data_files("t"),
        log: log_files("t"),
        tolerance: Tolerance::default(),
    };
    let target = || {
        let engine = engine(&disk.crash(1).env(), 8 << 20);
        Restores::new(&engine, &files).page_restore_target()
    };
    let whole = target().unwrap();
    let (page, mdf) = (9, Path::new("/data/t.mdf"));
    let from = page * PAGE_BYTES + 1024;
    disk.damage(mdf, from as u64, &[0x55; 700]).unwrap();
    let image = disk.durable_bytes(mdf).unwrap();
    let bytes = image[page * PAGE_BYTES..][..PAGE_BYTES].try_into().unwrap();
    assert!(matches!(verify(bytes), Verify::BadChecksum { .. }));
    assert_eq!(target().unwrap(), whole);
}
