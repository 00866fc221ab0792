//! Pages of an open database, looked at where they are: in the pool, on the disk, changed or not.

use std::path::Path;

use duramen_base::PageId;
use duramen_os::sim::SimDisk;

use super::fixture::*;
use crate::RowLocator;
use crate::check::{Request, check_live};
use crate::format::page::PageRef;

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

/// Recovery undoes whole transactions. Where a crash falls between a change and the PFS byte that follows it, another
/// loser that is undone first may hide that the byte is of no moment at all.
#[test]
fn the_class_of_a_page_is_right_after_undo_in_another_order() {
    let disk = SimDisk::new(7);
    let engine = engine(&disk.env(), 8 << 20);
    let db = create(&engine).unwrap();
    let rows = db.rowset(&heap());
    let tx = begin(&engine, 51);
    let mut places = Vec::new();
    for (id, pad) in [(1, 3000), (2, 3000), (3, 570)] {
        places.push(rows.insert(&tx, &row(id, pad, None)[..2]).unwrap());
    }
    engine.commit(&tx, None).unwrap();
    let RowLocator::Rid(page, _) = places[2] else {
        panic!("a heap")
    };
    let class = || {
        let p = db.read_page(page).unwrap();
        crate::free_space::class_of(PageRef::new(p.bytes()))
    };
    assert_eq!(class(), 3);
    // One transaction takes a row away, another one fills the room that was there before.
    let first = begin(&engine, 52);
    assert!(rows.delete(&first, &places[2]).unwrap());
    assert_eq!(class(), 2);
    let second = begin(&engine, 53);
    let added = rows.insert(&second, &row(4, 700, None)[..2]).unwrap();
    assert!(matches!(added, RowLocator::Rid(p, _) if p == page));
    assert_eq!(class(), 3);
    // As if the record of the byte were behind the end of the log.
    db.set_free_space(page, 2).unwrap();
    // The first one has the later end: it is undone first.
    let other = db.rowset(&clustered());
    other.insert(&first, &row(1, 10, None)).unwrap();
    db.log().unwrap().flush_all().unwrap();

    let disk = disk.crash(1);
    let engine = super::fixture::engine(&disk.env(), 8 << 20);
    let db = open(&engine).unwrap();
    let tx = begin(&engine, 51);
    assert_eq!(all(&db.rowset(&heap()), &tx).len(), 3);
    engine.rollback(&tx, None).unwrap();
    db.close().unwrap();
    sound(&*disk.env().disk);
}
