//! Our own header page, and the two real ones.

use super::*;
use duramen_base::PAGE_BYTES;

#[test]
fn a_header_page_survives_a_round_trip_and_changes() {
    let mut header = FileHeader {
        binding: [3; 16],
        file_id: 3,
        filegroup: 2,
        size: 1024,
        max_size: None,
        growth: 8192,
        growth_percent: false,
        min_size: 1024,
        create_lsn: Lsn::new(40, 16, 2),
        guid: [8; 16],
        logical_name: "credit_data".into(),
        own: true,
    };
    let mut b = Box::new([0u8; PAGE_BYTES]);
    header.format(&mut b).expect("fits");
    assert_eq!(FileHeader::read(&b), Ok(header.clone()));
    PageRef::new(&b).check().expect("consistent");
    header.size = 2048;
    header.logical_name = "another_longer_name".into();
    header.max_size = Some(4096);
    header.growth = 10;
    header.growth_percent = true;
    let row = header.changed_row(&b).expect("a row");
    PageMut::new(&mut b).replace_record(0, &row).expect("fits");
    assert_eq!(FileHeader::read(&b), Ok(header));
}

#[test]
fn a_header_page_that_is_cut_short_is_an_error() {
    let header = FileHeader {
        file_id: 1,
        ..FileHeader::default()
    };
    let mut b = Box::new([0u8; PAGE_BYTES]);
    header.format(&mut b).expect("fits");
    for at in [96, 98, 100, 104, 106, 112, 8190] {
        let mut bad = b.clone();
        bad[at] ^= 0x40;
        let _ = FileHeader::read(&bad).and_then(|h| h.changed_row(&bad));
    }
    b[1] = page_type::DATA;
    assert!(FileHeader::read(&b).is_err());
}
