//! pubs and Northwind through the codecs that write our own files. Need `DURAMEN_MATERIAL` (the directory that holds
//! `real-files`); without it these tests say so and pass.

#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::path::PathBuf;

use duramen_base::{PAGE_BYTES, PageId};

use super::alloc::{
    GAM_EXTENTS, Iam, bit_find, bit_get, format_bitmap, format_iam, format_pfs, is_fixed_page, pfs,
    pfs_get,
};
use super::boot::{Boot, FileHeader};
use super::page::{PageMut, PageRef, page_type, restore_torn_bits};
use super::*;

pub(crate) fn material(name: &str) -> Option<Vec<u8>> {
    let Some(dir) = std::env::var_os("DURAMEN_MATERIAL") else {
        println!("skipped: DURAMEN_MATERIAL is not set");
        return None;
    };
    let dir = PathBuf::from(dir);
    ["", "real-files", "fixtures/real-files"]
        .iter()
        .find_map(|sub| std::fs::read(dir.join(sub).join(name)).ok())
        .or_else(|| {
            println!("skipped: {name} is not in DURAMEN_MATERIAL");
            None
        })
}

fn pages(bytes: &[u8]) -> Vec<Box<PageBytes>> {
    let pages = bytes.chunks_exact(PAGE_BYTES).map(|p| {
        let mut page: Box<PageBytes> = Box::new(p.try_into().unwrap());
        restore_torn_bits(&mut page);
        page
    });
    pages.collect()
}

/// Page header fields that a codec decides: type, flags, pminlen, slots, free bytes, slot array.
fn shape(page: &PageBytes) -> Vec<u8> {
    let slots = 2 * usize::from(PageRef::new(page).slot_count());
    let mut shape = [&page[..4], &page[14..16], &page[22..32]].concat();
    shape.extend(&page[PAGE_BYTES - slots..]);
    shape
}

#[test]
fn the_header_page_of_a_real_file() {
    for (name, logical, size) in [
        ("pubs.mdf", "pubs", 288),
        ("northwnd.mdf", "Northwind", 416),
    ] {
        let Some(bytes) = material(name) else { return };
        let page = &pages(&bytes)[0];
        let header = FileHeader::read(page).unwrap();
        assert_eq!(header.logical_name, logical);
        let fields = (header.file_id, header.filegroup, header.size, header.growth);
        assert_eq!(fields, (1, 1, size, 128));
        assert_eq!((header.max_size, header.growth_percent), (None, false));
        assert!(!header.own && header.binding != [0; 16] && header.guid != [0; 16]);
        // What we write into it puts every byte where it was.
        let row = header.changed_row(page).unwrap();
        assert_eq!(row, PageRef::new(page).expect_record(0).unwrap().bytes());
        let log = material(&name.replace(".mdf", "_log.ldf")).unwrap();
        let log = FileHeader::read(&pages(&log[..PAGE_BYTES])[0]).unwrap();
        assert_eq!(
            (log.file_id, log.filegroup, log.binding),
            (2, 0, header.binding)
        );
        assert_eq!((log.growth, log.growth_percent), (10, true));
        // A page that we make has the same columns, and one more for the mark.
        let mut ours = [0; PAGE_BYTES];
        let mut own = header.clone();
        own.own = true;
        own.format(&mut ours).unwrap();
        let ours = PageRef::new(&ours).expect_record(0).unwrap().to_vec();
        let theirs = file_header::variable_columns(&row).unwrap();
        let ours = file_header::variable_columns(&ours).unwrap();
        assert_eq!(ours.len(), theirs.len() + 1);
        for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            let ignored = matches!(i, 12 | 20 | 21);
            assert!(ignored || a == b, "{name} column {i}: {a:?} {b:?}");
        }
    }
}

#[test]
fn the_maps_of_a_real_file() {
    for name in ["pubs.mdf", "northwnd.mdf"] {
        let Some(bytes) = material(name) else { return };
        let pages = pages(&bytes);
        let first = PageId::new(1, 0);
        assert!(Boot::read(&pages[9]).is_ok());
        let mut made = [0; PAGE_BYTES];
        for (n, kind) in [
            (2, page_type::GAM),
            (3, page_type::SGAM),
            (6, page_type::DIFF_MAP),
            (7, page_type::ML_MAP),
        ] {
            let fill = kind == page_type::GAM;
            format_bitmap(&mut made, PageId::new(1, n), kind, first, fill).unwrap();
            PageMut::new(&mut made).set_flags(PageRef::new(&pages[n as usize]).flags());
            assert_eq!(shape(&made), shape(&pages[n as usize]), "{name} page {n}");
        }
        format_pfs(&mut made, PageId::new(1, 1)).unwrap();
        assert_eq!(shape(&made), shape(&pages[1]));
        for n in 0..8 {
            assert_eq!(pfs_get(&made, n), pfs_get(&pages[1], n), "{name} page {n}");
        }
        let extents = pages.len() as u32 / 8;
        let mut owned = BTreeSet::new();
        let mut places = BTreeSet::new();
        for (n, page) in pages.iter().enumerate() {
            let byte = pfs_get(&pages[1], n as u32);
            if byte & (pfs::ALLOCATED | pfs::IAM) != pfs::ALLOCATED | pfs::IAM {
                continue;
            }
            let iam = Iam::new(page).unwrap();
            assert_eq!(iam.start(), first);
            places.insert(PageRef::new(page).slot_offset(1).unwrap());
            if places.len() == 1 {
                let (id, unit) = (
                    PageRef::new(page).page_id(),
                    PageRef::new(page).alloc_unit(),
                );
                format_iam(&mut made, id, unit, first, 0).unwrap();
                assert_eq!(shape(&made), shape(page), "{name} page {n}");
            }
            for extent in iam.extents() {
                assert!(extent.page / 8 < extents, "{name} {n}: {extent}");
                assert!(owned.insert(extent.page / 8), "{name} {n}: {extent} twice");
            }
            for single in iam.singles() {
                let byte = pfs_get(&pages[1], single.page);
                assert_eq!(byte & 0x60, 0x60, "{name} {n}: {single}");
            }
        }
        // Both places of the bitmap occur, and read through the slot they agree with the GAM.
        assert_eq!(places, BTreeSet::from([190, 192]), "{name}");
        for e in owned {
            assert!(
                !bit_get(&pages[2], e),
                "{name}: extent {e} is owned and free"
            );
        }
        let mut e = 0;
        while let Some(free) = bit_find(&pages[2], e, extents.min(GAM_EXTENTS)) {
            for n in free * 8..free * 8 + 8 {
                let used = pfs_get(&pages[1], n) & pfs::ALLOCATED != 0;
                assert!(
                    !used || is_fixed_page(n),
                    "{name}: page {n} is used and free"
                );
            }
            e = free + 1;
        }
    }
}
