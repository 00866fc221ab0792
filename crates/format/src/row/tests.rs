//! Fields survive a round trip in every row shape; bad bytes are errors.

use duramen_types::SqlType;

use super::*;
use crate::layout::{ColumnSpec, layout_for};
use crate::page::record_len;

fn inline(b: &[u8]) -> Field<'_> {
    Field::Inline(Cow::Borrowed(b))
}

fn columns() -> Vec<ColumnSpec> {
    vec![
        ColumnSpec::new(SqlType::INT, false),
        ColumnSpec::new(SqlType::varchar(20), true),
        ColumnSpec::new(SqlType::BIT, true),
        ColumnSpec::new(SqlType::varchar(20), true),
        ColumnSpec::uniquifier(),
    ]
}

#[test]
fn every_kind_of_row_round_trips() {
    for kind in [RowKind::Data, RowKind::IndexLeaf, RowKind::IndexNode] {
        let layout = layout_for(&columns(), kind);
        let child = (kind == RowKind::IndexNode).then_some(PageId::new(1, 4711));
        let five = [5, 0, 0, 0];
        for fields in [
            [
                inline(&five),
                inline(b"abc"),
                inline(&[1]),
                Field::Null,
                inline(&[7, 0, 0, 0]),
            ],
            [
                inline(&five),
                Field::Null,
                Field::Null,
                inline(b"xyz"),
                Field::Null,
            ],
            [
                inline(&five),
                Field::Null,
                inline(&[0]),
                Field::Null,
                Field::Null,
            ],
            [
                inline(&five),
                Field::Complex(Cow::Borrowed(b"pointer")),
                inline(&[1]),
                inline(b"tail"),
                Field::Null,
            ],
        ] {
            let row = encode_fields(&layout, &fields, child).expect("encodes");
            assert_eq!(record_len(&row, layout.pminlen), Ok(row.len()));
            assert_eq!(
                decode_fields(&layout, RowRef::new(&row)).expect("decodes"),
                fields
            );
            if let Some(child) = child {
                assert_eq!(node_child(RowRef::new(&row), layout.pminlen), Ok(child));
            }
        }
    }
}

#[test]
fn known_bytes_of_a_data_row() {
    let layout = layout_for(&columns()[..4], RowKind::Data);
    let fields = [
        inline(&[5, 0, 0, 0]),
        inline(b"ab"),
        inline(&[1]),
        Field::Null,
    ];
    let row = encode_fields(&layout, &fields, None).expect("encodes");
    assert_eq!(
        row,
        [
            0x30, 0, 9, 0, 5, 0, 0, 0, 1, 4, 0, 0x08, 1, 0, 18, 0, b'a', b'b'
        ]
    );
}

#[test]
fn columns_added_later_read_as_null() {
    let old = layout_for(&columns()[..2], RowKind::Data);
    let row = encode_fields(&old, &[inline(&[5, 0, 0, 0]), inline(b"ab")], None).expect("encodes");
    let new = layout_for(
        &[
            columns()[0],
            columns()[1],
            columns()[3],
            ColumnSpec::new(SqlType::varchar(9), true),
        ],
        RowKind::Data,
    );
    let fields = decode_fields(&new, RowRef::new(&row)).expect("decodes");
    assert_eq!(fields[1], inline(b"ab"));
    assert_eq!(fields[2..], [Field::Null, Field::Null]);
}

#[test]
fn forwarding_keeps_the_columns_and_finds_the_stub() {
    let layout = layout_for(&columns()[..4], RowKind::Data);
    for fields in [
        [
            inline(&[5, 0, 0, 0]),
            inline(b"ab"),
            inline(&[1]),
            Field::Null,
        ],
        [
            inline(&[5, 0, 0, 0]),
            Field::Null,
            inline(&[1]),
            Field::Null,
        ],
    ] {
        let row = encode_fields(&layout, &fields, None).expect("encodes");
        let moved =
            to_forwarded(&layout, RowRef::new(&row), PageId::new(1, 99), 3).expect("forwards");
        assert_eq!(record_len(&moved, layout.pminlen), Ok(moved.len()));
        assert_eq!(
            decode_fields(&layout, RowRef::new(&moved)).expect("decodes"),
            fields
        );
        assert_eq!(
            back_pointer(RowRef::new(&moved)),
            Ok((PageId::new(1, 99), 3))
        );
    }
    let stub = forwarding_stub(PageId::new(1, 5), 6);
    assert_eq!(
        forwarding_target(RowRef::new(&stub)),
        Ok((PageId::new(1, 5), 6))
    );
    assert_eq!(record_len(&stub, 4), Ok(9));
}

#[test]
fn ghosts_come_and_go() {
    let mut row = [0x30, 0, 0, 0];
    set_ghost(&mut row, true);
    assert!(RowRef::new(&row).is_ghost());
    assert_eq!(RowRef::new(&row).status(), 0x3c);
    set_ghost(&mut row, false);
    assert!(!RowRef::new(&row).is_ghost());
    assert_eq!(RowRef::new(&row).status(), 0x30);
}

#[test]
fn any_bytes_decode_or_fail_without_panic() {
    let layout = layout_for(&columns(), RowKind::Data);
    let mut state = 12345u32;
    for _ in 0..20_000 {
        let row: Vec<u8> = (0..24)
            .map(|i| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if i == 3 || i == 10 {
                    0
                } else {
                    (state >> 27) as u8
                }
            })
            .collect();
        let _ = decode_fields(&layout, RowRef::new(&row));
        let _ = record_len(&row, 9);
        let _ = to_forwarded(&layout, RowRef::new(&row), PageId::NULL, 0);
        let _ = back_pointer(RowRef::new(&row));
    }
}
