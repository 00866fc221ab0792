//! Slot array, free space and compaction, against the invariant that free + records + slots is 8,096.

use super::*;

fn page() -> Box<PageBytes> {
    let mut b = Box::new([0u8; PAGE_BYTES]);
    PageMut::new(&mut b).format(
        PageId::new(1, 77),
        page_type::DATA,
        AllocUnitId::from_parts(256, 30),
        0,
        8,
    );
    b
}

fn row(tag: u8, len: usize) -> Vec<u8> {
    let mut r = vec![tag; len];
    r[0] = 0x10;
    r[1] = 0;
    let fixed_end = (len - 3) as u16;
    r[2..4].copy_from_slice(&fixed_end.to_le_bytes());
    r[len - 3..].copy_from_slice(&[1, 0, 0]);
    r
}

fn invariant(b: &PageBytes) {
    let p = PageRef::new(b);
    p.check().expect("page is consistent");
    let used: usize = (0..p.slot_count())
        .filter_map(|s| p.record(s).expect("record"))
        .map(RowRef::len)
        .sum();
    assert_eq!(
        usize::from(p.free_bytes()) + used + 2 * usize::from(p.slot_count()),
        BODY_BYTES
    );
}

#[test]
fn format_sets_the_header() {
    let b = page();
    let p = PageRef::new(&b);
    assert_eq!(p.page_id(), PageId::new(1, 77));
    assert_eq!(p.alloc_unit(), AllocUnitId::from_parts(256, 30));
    assert_eq!(p.free_bytes(), 8096);
    assert_eq!(p.free_data(), 96);
    assert_eq!(p.slot_count(), 0);
}

#[test]
fn inserts_keep_slot_order_and_deletes_close_it() {
    let mut b = page();
    let mut p = PageMut::new(&mut b);
    p.insert_record(0, &row(1, 20)).expect("fits");
    p.insert_record(1, &row(3, 30)).expect("fits");
    p.insert_record(1, &row(2, 25)).expect("fits");
    assert_eq!(p.as_ref().record(1), Ok(Some(RowRef::new(&row(2, 25)))));
    assert_eq!(p.as_ref().record(2), Ok(Some(RowRef::new(&row(3, 30)))));
    p.delete_record(0).expect("exists");
    assert_eq!(p.as_ref().record(0), Ok(Some(RowRef::new(&row(2, 25)))));
    assert_eq!(p.as_ref().slot_count(), 2);
    assert_eq!(p.delete_record(2), Err(FormatError::NoSlot(2)));
    invariant(&b);
}

#[test]
fn heap_slots_stay_when_cleared() {
    let mut b = page();
    let mut p = PageMut::new(&mut b);
    for i in 0..4 {
        p.put_record(i, &row(i as u8, 40)).expect("fits");
    }
    p.clear_slot(1).expect("exists");
    assert_eq!(p.as_ref().record(1), Ok(None));
    assert_eq!(p.as_ref().first_free_slot(), 1);
    p.put_record(1, &row(9, 60)).expect("fits");
    p.put_record(7, &row(8, 10)).expect("fits");
    assert_eq!(p.as_ref().slot_count(), 8);
    assert_eq!(p.as_ref().record(5), Ok(None));
    p.clear_slot(7).expect("exists");
    p.trim_slots();
    assert_eq!(p.as_ref().slot_count(), 4);
    invariant(&b);
}

#[test]
fn a_full_page_compacts_when_the_holes_are_enough() {
    let mut b = page();
    let mut p = PageMut::new(&mut b);
    let mut n = 0;
    while p.as_ref().fits(100, true) {
        p.insert_record(n, &row(n as u8, 100)).expect("fits");
        n += 1;
    }
    assert_eq!(p.insert_record(n, &row(0, 100)), Err(FormatError::NoSpace));
    for _ in 0..3 {
        p.delete_record(0).expect("exists");
    }
    p.insert_record(0, &row(200, 280))
        .expect("fits after compaction");
    p.replace_record(1, &row(201, 110)).expect("fits");
    p.replace_record(2, &row(202, 50)).expect("shrinks");
    assert_eq!(p.as_ref().record(1), Ok(Some(RowRef::new(&row(201, 110)))));
    assert_eq!(p.as_ref().record(2), Ok(Some(RowRef::new(&row(202, 50)))));
    invariant(&b);
}

#[test]
fn checksum_is_verified_and_finds_a_flipped_bit() {
    let mut b = page();
    seal(&mut b);
    assert_eq!(verify(&b), Verify::Ok);
    b[5000] ^= 4;
    assert!(matches!(verify(&b), Verify::BadChecksum { .. }));
}

#[test]
fn nonsense_bytes_are_errors_not_panics() {
    for fill in [0xff, 0x7f, 0x81] {
        let mut b = Box::new([fill; PAGE_BYTES]);
        assert!(PageRef::new(&b).check().is_err());
        let mut p = PageMut::new(&mut b);
        assert!(p.delete_record(3).is_err());
        assert!(p.insert_record(0, &row(1, 20)).is_err());
        assert!(p.compact().is_err());
        let _ = p.put_record(u16::MAX, &row(1, 20));
        let _ = p.replace_record(0, &row(1, 20));
    }
}
