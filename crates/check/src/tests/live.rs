//! Pages of an open database, looked at where they are: in the pool, on the disk, changed or not.

use std::path::Path;

use duramen_base::PageId;
use duramen_os::sim::SimDisk;
use duramen_storage::RowLocator;

use super::fixture::*;

use crate::{Request, check_live};

fn request() -> Request {
    Request {
        allocation: false,
        catalog: false,
        ..Request::default()
    }
}

#[test]
fn pages_are_checked_where_they_are_and_damage_on_the_disk_is_found() {
    let disk = SimDisk::new(5);
    let env = disk.env();
    let engine = engine(&env, 8 << 20);
    let db = create(&engine).unwrap();
    let tx = begin(&engine, 51);
    let rows = db.rowset(&heap());
    let mut at = PageId::NULL;
    for id in 0..200 {
        if let RowLocator::Rid(page, _) = rows.insert(&tx, &row(id, 700, None)[..2]).unwrap() {
            at = page;
        }
    }
    engine.commit(&tx, None).unwrap();
    let check = |db: &_| {
        let found = check_live(db, &request(), &mut |_| Ok(())).unwrap();
        assert!(found.pages > 20, "{} pages", found.pages);
        found.findings
    };
    // Nothing of it is on the disk yet.
    assert_eq!(check(&db), []);
    db.checkpoint().unwrap();
    assert_eq!(check(&db), []);
    // Damage below a page of the pool is not seen, and not there once the page is written again.
    let place = u64::from(at.page) * 8192 + 4000;
    disk.damage(Path::new("/data/t.mdf"), place, b"rot")
        .unwrap();
    assert_eq!(check(&db), []);
    db.close().unwrap();
    drop((rows, db));
    let engine = super::fixture::engine(&env, 8 << 20);
    let db = open(&engine).unwrap();
    let found = check(&db);
    let of_page = |n: u32| found.iter().any(|f| f.number == n && f.page == Some(at));
    assert!(of_page(8939), "{found:?}");
}
