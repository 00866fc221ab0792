//! A real small database on the simulated disk, closed, and one thing wrong in it at a time.

use std::path::Path;
use std::sync::Arc;

use duramen_base::{AllocUnitId, PAGE_BYTES};
use duramen_format::PageBytes;
use duramen_format::alloc::{
    Iam, bit_get, bit_set, gam_page_of, iam_set_single, pfs, pfs_get, pfs_page_of, pfs_set,
    sgam_page_of,
};
use duramen_format::page::{PageMut, PageRef, page_type, seal};
use duramen_os::sim::{SimDisk, Simulation};

use super::fixture::*;

use crate::*;

const FILE: &str = "/data/t.mdf";

/// The pages of a closed database with a clustered table, an index and a heap; more files are beside it.
fn database() -> Arc<SimDisk> {
    Simulation::new(11).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let tx = begin(&engine, 51);
        for id in 0..300 {
            db.rowset(&clustered())
                .insert(&tx, &row(id, 200, Some(id)))
                .unwrap();
            db.rowset(&heap())
                .insert(&tx, &row(id, 300, None)[..2])
                .unwrap();
        }
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
        sim.disk()
    })
}

fn read(disk: &SimDisk, page: u32) -> PageBytes {
    let options = duramen_os::OpenOptions {
        read_only: true,
        ..duramen_os::OpenOptions::default()
    };
    let file = Disk::open(disk, Path::new(FILE), &options).unwrap();
    let mut bytes = [0; PAGE_BYTES];
    file.read_at(&mut bytes, u64::from(page) * PAGE_BYTES as u64)
        .unwrap();
    bytes
}

fn change(disk: &SimDisk, page: u32, f: impl FnOnce(&mut PageBytes)) {
    let mut bytes = read(disk, page);
    f(&mut bytes);
    seal(&mut bytes);
    let at = u64::from(page) * PAGE_BYTES as u64;
    disk.damage(Path::new(FILE), at, &bytes).unwrap();
}

/// IAM pages with their units, and the first extent of each.
fn iams(disk: &SimDisk) -> Vec<(u32, AllocUnitId, Option<u32>)> {
    let pfs_page = read(disk, 1);
    let mut found = Vec::new();
    for n in 0..128 {
        if pfs_get(&pfs_page, n) & (pfs::IAM | pfs::ALLOCATED) == pfs::IAM | pfs::ALLOCATED {
            let page = read(disk, n);
            let iam = Iam::new(&page).unwrap();
            let extent = iam.extents().next().map(|e| e.page);
            found.push((n, PageRef::new(&page).alloc_unit(), extent));
        }
    }
    found
}

fn findings(disk: &SimDisk) -> Vec<(u32, Option<u32>)> {
    let reports = check_directory(disk, Path::new("/data")).unwrap();
    let found = reports.iter().flat_map(|r| &r.findings);
    found.map(|f| (f.number, f.page.map(|p| p.page))).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of faults")]
fn each_planted_fault_is_found() {
    let clean = database();
    assert_eq!(findings(&clean), []);
    let unit = |au: AllocUnitId| {
        let list = iams(&clean);
        let (iam, _, extent) = list.iter().find(|(_, u, _)| *u == au).unwrap();
        (*iam, extent.unwrap())
    };
    let (heap_iam, heap_extent) = unit(heap().au);
    let (tree_iam, tree_extent) = unit(clustered().au);
    let free = (2..16)
        .find(|e| bit_get(&read(&clean, 2), *e))
        .map(|e| e * 8)
        .unwrap();
    type Damage = Box<dyn Fn(&SimDisk)>;
    let at = |page: u32, f: fn(&mut PageBytes, u32), n: u32| -> Damage {
        Box::new(move |d| change(d, page, |p| f(p, n)))
    };
    let set_bit: fn(&mut PageBytes, u32) = |p, n| bit_set(p, n / 8, true);
    let clear_bit: fn(&mut PageBytes, u32) = |p, n| bit_set(p, n / 8, false);
    let cases: Vec<(&str, Damage, u32, u32)> = vec![
        (
            "an extent that is owned and free",
            at(gam_page_of(0), set_bit, heap_extent),
            number::TWO_EXTENT_OWNERS,
            heap_extent,
        ),
        (
            "an extent that is owned and mixed",
            at(sgam_page_of(0), set_bit, heap_extent),
            number::TWO_EXTENT_OWNERS,
            heap_extent,
        ),
        (
            "an extent that is free and mixed",
            at(sgam_page_of(0), set_bit, free),
            number::FREE_AND_MIXED,
            free,
        ),
        (
            "an extent in use that nobody owns",
            at(gam_page_of(0), clear_bit, free),
            number::EXTENT_OF_NOBODY,
            free,
        ),
        (
            "an extent of two units",
            at(tree_iam, set_bit, heap_extent),
            number::TWO_EXTENT_OWNERS,
            heap_extent,
        ),
        (
            "an extent that its IAM page has lost",
            at(heap_iam, clear_bit, heap_extent),
            number::PAGE_OF_NOBODY,
            heap_extent,
        ),
        (
            "a page in use that is free in the PFS",
            at(pfs_page_of(0), |p, n| pfs_set(p, n, 0), heap_iam),
            number::IAM_CHAIN,
            heap_iam,
        ),
        (
            "a heap page whose free space the PFS has wrong",
            at(
                pfs_page_of(0),
                |p, n| pfs_set(p, n, pfs_get(p, n) ^ 1),
                heap_extent,
            ),
            number::WRONG_FREE_SPACE,
            heap_extent,
        ),
        (
            "a change that the DIFF map has forgotten",
            at(6, clear_bit, heap_extent),
            number::BAD_MAP,
            heap_extent,
        ),
        (
            "a page in use of a free extent",
            at(pfs_page_of(0), |p, n| pfs_set(p, n, pfs::ALLOCATED), free),
            number::PAGE_OF_NOBODY,
            free,
        ),
        (
            "a page that is an IAM page by its PFS byte only",
            at(
                pfs_page_of(0),
                |p, n| pfs_set(p, n, pfs::ALLOCATED | pfs::IAM),
                heap_extent,
            ),
            number::WRONG_PFS,
            heap_extent,
        ),
        (
            "a single page inside an extent",
            at(
                tree_iam,
                |p, n| iam_set_single(p, 0, PageId::new(1, n)),
                tree_extent,
            ),
            number::TWO_PAGE_OWNERS,
            tree_extent,
        ),
        (
            "a page with another unit in its header",
            at(
                tree_extent,
                |p, _| PageMut::new(p).set_alloc_unit(AllocUnitId(77 << 16)),
                0,
            ),
            number::PAGE_NOT_SEEN,
            tree_extent,
        ),
        (
            "a chain that goes on at a data page",
            at(
                heap_iam,
                |p, n| PageMut::new(p).set_next_page(PageId::new(1, n)),
                heap_extent,
            ),
            number::IAM_CHAIN,
            heap_iam,
        ),
        (
            "a chain that nobody begins",
            at(
                heap_iam,
                |p, _| PageMut::new(p).set_alloc_unit(AllocUnitId(77 << 16)),
                0,
            ),
            number::PAGE_OF_NOBODY,
            heap_iam,
        ),
        (
            "an IAM page that covers no interval",
            at(heap_iam, |p, _| p[96 + 40] = 16, 0),
            number::BAD_MAP,
            heap_iam,
        ),
    ];
    for (name, damage, number, page) in cases {
        let disk = database();
        damage(&disk);
        let found = findings(&disk);
        assert!(found.contains(&(number, Some(page))), "{name}: {found:?}");
    }
}

#[test]
fn a_wrong_row_count_is_found() {
    let disk = database();
    let rowsets = (0..128)
        .find(|n| {
            let page = read(&disk, *n);
            let p = PageRef::new(&page);
            p.alloc_unit() == sysrowsets().au && p.page_type() == page_type::DATA
        })
        .unwrap();
    change(&disk, rowsets, |p| {
        let mut p = PageMut::new(p);
        let slots = p.as_ref().slot_count();
        let row = p.record_mut(slots - 1).unwrap();
        row[31] ^= 1;
    });
    assert_eq!(findings(&disk), [(number::WRONG_COUNT, Some(rowsets))]);
}
