//! Placement rules.

use super::*;

fn spec(ty: SqlType) -> ColumnSpec {
    ColumnSpec::new(ty, true)
}

#[test]
fn fixed_columns_from_four_variable_ones_numbered() {
    let l = layout_for(
        &[
            spec(SqlType::INT),
            spec(SqlType::varchar(10)),
            spec(SqlType::SMALLINT),
            spec(SqlType::nvarchar(10)),
            spec(SqlType::char(5)),
        ],
        RowKind::Data,
    );
    let offsets: Vec<i16> = l.columns.iter().map(|c| c.leaf_offset).collect();
    assert_eq!(offsets, [4, -1, 8, -2, 10]);
    assert_eq!((l.pminlen, l.null_bits, l.variable_columns), (15, 5, 2));
}

#[test]
fn eight_bits_share_a_byte() {
    let mut columns = vec![spec(SqlType::BIT); 9];
    columns.insert(3, spec(SqlType::INT));
    let l = layout_for(&columns, RowKind::Data);
    let at: Vec<(i16, u8)> = l
        .columns
        .iter()
        .map(|c| (c.leaf_offset, c.bitpos))
        .collect();
    assert_eq!(at[..5], [(4, 0), (4, 1), (4, 2), (5, 0), (4, 3)]);
    assert_eq!(at[8], (4, 7));
    assert_eq!(at[9], (9, 0));
    assert_eq!(l.pminlen, 10);
}

#[test]
fn the_uniquifier_is_the_first_variable_column_of_data_rows() {
    let columns = [
        spec(SqlType::INT),
        spec(SqlType::varchar(10)),
        ColumnSpec::uniquifier(),
    ];
    let data = layout_for(&columns, RowKind::Data);
    let offsets: Vec<i16> = data.columns.iter().map(|c| c.leaf_offset).collect();
    assert_eq!(offsets, [4, -2, -1]);
    let l = layout_for(&columns, RowKind::IndexNode);
    let offsets: Vec<i16> = l.columns.iter().map(|c| c.leaf_offset).collect();
    assert_eq!(offsets, [1, -1, -2]);
    assert_eq!(l.pminlen, 11);
}

#[test]
fn physical_order_is_independent_of_value_order() {
    let l = layout_in_order(
        &[spec(SqlType::INT), spec(SqlType::BIGINT)],
        &[1, 0],
        RowKind::Data,
    );
    let at: Vec<(i16, u16)> = l
        .columns
        .iter()
        .map(|c| (c.leaf_offset, c.nullbit))
        .collect();
    assert_eq!(at, [(12, 2), (4, 1)]);
}

#[test]
fn the_shortest_data_row_can_become_a_forwarding_stub() {
    let l = layout_for(&[spec(SqlType::TINYINT)], RowKind::Data);
    assert_eq!(l.max_row_bytes(), 9);
}

#[test]
fn rows_without_a_null_bitmap_have_no_null_bits() {
    let columns = [SqlType::INT, SqlType::BIGINT].map(|ty| ColumnSpec::new(ty, false));
    let bits = |kind| {
        layout_for(&columns, kind)
            .columns
            .iter()
            .map(|c| c.nullbit)
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(RowKind::Data), [1, 2]);
    assert_eq!(bits(RowKind::IndexLeaf), [0, 0]);
    assert_eq!(bits(RowKind::IndexNode), [0, 0]);
    assert_eq!(layout_for(&columns, RowKind::IndexLeaf).null_bits, 0);
}
