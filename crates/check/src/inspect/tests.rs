//! What is printed of pages that were made by hand, and that damage is shown and not fatal.

use duramen_base::AllocUnitId;
use duramen_format::layout::{ColumnSpec, RowKind, layout_for};
use duramen_format::page::{PageMut, page_type, seal};
use duramen_format::{alloc, encode_row};

use super::*;

fn data_page() -> (Box<PageBytes>, RowLayout) {
    let layout = layout_for(
        &[
            ColumnSpec::new(SqlType::INT, false),
            ColumnSpec::new(SqlType::varchar(20), true),
        ],
        RowKind::Data,
    );
    let mut page = Box::new([0; 8192]);
    let mut p = PageMut::new(&mut page);
    let unit = AllocUnitId::from_parts(256, 77);
    p.format(
        PageId::new(1, 300),
        page_type::DATA,
        unit,
        0,
        layout.pminlen,
    );
    for (i, text) in [(1, Value::varchar("one")), (2, Value::Null)] {
        let row = encode_row(&layout, &[Value::Int(i), text]).unwrap();
        let slot = p.as_ref().slot_count();
        p.insert_record(slot, &row).unwrap();
    }
    seal(&mut page);
    (page, layout)
}

fn show(page: &PageBytes, id: PageId, detail: Detail, owner: Option<Owner>) -> Dump {
    let mut maps = std::collections::BTreeMap::new();
    let mut pfs = Box::new([0; 8192]);
    alloc::format_pfs(&mut pfs, PageId::new(1, 1)).unwrap();
    alloc::pfs_set(&mut pfs, 300, alloc::pfs::ALLOCATED | alloc::pfs::MIXED | 2);
    maps.insert(1, pfs);
    let mut gam = Box::new([0; 8192]);
    let start = PageId::new(1, 0);
    alloc::format_bitmap(&mut gam, PageId::new(1, 2), page_type::GAM, start, true).unwrap();
    maps.insert(2, gam);
    dump(
        &mut Subject {
            id,
            page,
            file_pages: 512,
            read: &mut |n| maps.get(&n).cloned(),
            owner,
        },
        detail,
    )
}

#[test]
fn a_data_page_in_every_detail() {
    let (page, layout) = data_page();
    let owner = Owner {
        object: 5,
        index: 1,
        partition: 99,
        shape: Some(Shape {
            layout,
            names: vec!["id".to_owned(), "word".to_owned()],
            def: None,
        }),
    };
    let id = PageId::new(1, 300);
    let text = show(&page, id, Detail::Header, Some(owner.clone())).text();
    assert_eq!(text[0], "PAGE: (1:300)");
    let all = text.join("\n");
    assert!(all.contains("m_slotCnt = 2                       m_freeCnt = "));
    assert!(all.contains("Metadata: IndexId = 1"));
    assert!(all.contains("GAM (1:2) = NOT ALLOCATED           SGAM (1:3) = UNREADABLE\n"));
    assert!(all.contains("PFS (1:1) = 0x62 MIXED_EXT ALLOCATED  80_PCT_FULL"));
    let text = show(&page, id, Detail::Records, None).text().join("\n");
    assert!(text.contains("Slot 0, Offset 0x60, Length 18, DumpStyle BYTE\n"));
    assert!(
        text.contains("0000000000000060:   30000800 01000000 02000001 00120061 6e65      0.....")
            || text.contains("0000000000000060:   30000800 01000000")
    );
    assert!(text.contains("Row - Offset\n\n1 (0x1) -  = 114 (0x72)\n0 (0x0) -  = 96 (0x60)"));
    let rows = show(&page, id, Detail::Columns, Some(owner)).rows();
    let has = |wanted: [&str; 4]| rows.iter().any(|r| *r == wanted.map(str::to_owned));
    let slot = "Slot 0 Offset 0x60 Length 18";
    assert!(has([slot, "", "Record Type", "PRIMARY_RECORD"]), "{rows:?}");
    let column = "Slot 0 Column 1 Offset 0x4 Length 4 Length (physical) 4";
    assert!(has([slot, column, "id", "1"]), "{rows:?}");
    let column = "Slot 0 Column 2 Offset 0xf Length 3 Length (physical) 3";
    assert!(has([slot, column, "word", "one"]), "{rows:?}");
    let null = "Slot 1 Column 2 Offset 0x0 Length 0 Length (physical) 0";
    assert!(rows.iter().any(|r| r[1] == null && r[3] == "[NULL]"));
}

#[test]
fn maps_are_ranges() {
    let mut pfs = Box::new([0; 8192]);
    alloc::format_pfs(&mut pfs, PageId::new(1, 1)).unwrap();
    let text = show(&pfs, PageId::new(1, 1), Detail::Columns, None).text();
    let first = "(1:0) - (1:3) =     ALLOCATED 100_PCT_FULL";
    assert!(text.iter().any(|l| l == first), "{text:#?}");
    assert!(
        text.iter()
            .any(|l| l == "(1:8) - (1:511) = NOT ALLOCATED   0_PCT_FULL")
    );
}

#[test]
fn no_damage_stops_a_dump() {
    let (page, layout) = data_page();
    let owner = Owner {
        shape: Some(Shape {
            names: vec!["a".to_owned(); layout.columns.len()],
            layout,
            def: None,
        }),
        ..Owner::default()
    };
    // Every byte of header, records and row-offset array is changed in three ways.
    let places: Vec<usize> = (0..160).chain(8180..8192).collect();
    for at in places {
        for change in [1, 128, 0xff] {
            let mut broken = page.clone();
            broken[at] ^= change;
            for detail in 1..4 {
                let detail = Detail::of(detail).unwrap();
                let dump = show(&broken, PageId::new(1, 300), detail, Some(owner.clone()));
                assert!(dump.text().len() > 3 && !dump.rows().is_empty());
            }
        }
    }
    let mut broken = page;
    broken[100] ^= 1;
    let text = show(&broken, PageId::new(1, 300), Detail::Header, None).text();
    let is_audit = |l: &String| l.starts_with("DuramenPageAudit = incorrect checksum (expected: ");
    assert!(text.iter().any(is_audit));
}
