//! Map positions and bits.

use super::*;
use duramen_base::PAGE_BYTES;

#[test]
fn maps_stand_where_the_format_says() {
    assert_eq!(pfs_page_of(0), 1);
    assert_eq!(pfs_page_of(8087), 1);
    assert_eq!(pfs_page_of(8088), 8088);
    assert_eq!(pfs_page_of(16_200), 16_176);
    assert_eq!(gam_page_of(511_231), 2);
    assert_eq!(gam_page_of(511_232), 511_232);
    assert_eq!(sgam_page_of(600_000), 511_233);
    assert_eq!(diff_page_of(600_000), 511_238);
    assert_eq!(ml_page_of(10), 7);
    assert!(is_fixed_page(8088) && is_fixed_page(511_239) && !is_fixed_page(8));
}

#[test]
fn bits_are_found_and_counted() {
    let mut b = Box::new([0u8; PAGE_BYTES]);
    format_bitmap(
        &mut b,
        PageId::new(1, 2),
        page_type::GAM,
        PageId::new(1, 0),
        false,
    )
    .expect("fits");
    for e in [3, 64, 63_903] {
        bit_set(&mut b, e, true);
    }
    assert_eq!(bit_find(&b, 0, GAM_EXTENTS), Some(3));
    assert_eq!(bit_find(&b, 4, GAM_EXTENTS), Some(64));
    assert_eq!(bit_find(&b, 65, 1000), None);
    assert_eq!(bit_find(&b, 65, u32::MAX), Some(63_903));
    assert_eq!(bit_count(&b, GAM_EXTENTS), 3);
    assert_eq!(bit_count(&b, 65), 2);
    PageRef::new(&b).check().expect("consistent");
    bit_set(&mut b, 64, false);
    assert!(!bit_get(&b, 64));
}

#[test]
fn an_iam_page_lists_its_pages() {
    let mut b = Box::new([0u8; PAGE_BYTES]);
    let au = AllocUnitId::from_parts(256, 41);
    format_iam(&mut b, PageId::new(1, 90), au, PageId::new(1, 0), 2).expect("fits");
    iam_set_single(&mut b, 1, PageId::new(1, 33));
    bit_set(&mut b, 5, true);
    let iam = Iam::new(&b).expect("an IAM page");
    assert_eq!(iam.sequence(), 2);
    assert_eq!(iam.singles().collect::<Vec<_>>(), [PageId::new(1, 33)]);
    assert_eq!(iam.extents().collect::<Vec<_>>(), [PageId::new(1, 40)]);
}

#[test]
fn pfs_bytes_and_fullness() {
    let mut b = Box::new([0u8; PAGE_BYTES]);
    format_pfs(&mut b, PageId::new(1, 8088)).expect("fits");
    pfs_set(&mut b, 8089, pfs::ALLOCATED | 4);
    assert_eq!(pfs_get(&b, 8089), 0x44);
    assert_eq!(
        [0, 1, 4048, 4200, 6600, 8000].map(pfs::fullness),
        [0, 1, 1, 2, 3, 4]
    );
    for used in 0..=8096 {
        assert!(pfs::free_at_least(pfs::fullness(used)) <= 8096 - used);
    }
}
