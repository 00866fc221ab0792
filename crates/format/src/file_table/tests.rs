//! Rows of the file table survive a round trip; damaged ones are errors.

use super::*;
use duramen_base::PAGE_BYTES;

fn rows() -> Vec<TableRow> {
    vec![
        TableRow::Filegroup(FilegroupRow {
            id: 1,
            name: "PRIMARY".into(),
            is_default: true,
            autogrow_all: false,
        }),
        TableRow::File(FileRow {
            file_id: 3,
            filegroup: 1,
            create_lsn: Lsn::new(40, 16, 2),
            logical_name: "crédit".into(),
            shown_path: r"D:\data\credit.ndf".into(),
            path: "/srv/d/data/credit.ndf".into(),
        }),
        TableRow::Filegroup(FilegroupRow {
            id: 2,
            name: String::new(),
            is_default: false,
            autogrow_all: true,
        }),
    ]
}

#[test]
fn rows_come_back_in_slot_order() {
    let mut b = Box::new([0u8; PAGE_BYTES]);
    format_table_page(&mut b, 10);
    for (i, row) in rows().iter().enumerate() {
        PageMut::new(&mut b)
            .insert_record(i as u16, &row.encode())
            .expect("fits");
    }
    PageRef::new(&b).check().expect("consistent");
    let found = table_rows(&b).expect("readable");
    let expected: Vec<_> = (0..).zip(rows()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_damaged_row_is_an_error_and_no_panic() {
    for row in rows() {
        let bytes = row.encode();
        for cut in 0..bytes.len() {
            assert!(TableRow::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0xff;
            let _ = TableRow::decode(&bad);
        }
    }
}
