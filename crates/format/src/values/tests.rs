//! Values through whole rows.

use duramen_types::SqlType;

use super::*;
use crate::layout::{ColumnSpec, RowKind, layout_for};

#[test]
fn rows_of_values_round_trip() {
    let specs = [
        ColumnSpec::new(SqlType::INT, false),
        ColumnSpec::new(SqlType::nvarchar(30), true),
        ColumnSpec::new(SqlType::BIT, true),
        ColumnSpec::new(SqlType::VARIANT, true),
        ColumnSpec::uniquifier(),
    ];
    let rows = [
        vec![
            Value::Int(1),
            Value::nvarchar("Zoë"),
            Value::Bit(true),
            Value::Variant(Box::new((SqlType::BIGINT, Value::BigInt(9)))),
            Value::Int(3),
        ],
        vec![
            Value::Int(2),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Int(0),
        ],
        vec![
            Value::Int(3),
            Value::nvarchar(""),
            Value::Bit(false),
            Value::Null,
            Value::Int(0),
        ],
    ];
    for kind in [RowKind::Data, RowKind::IndexLeaf] {
        let layout = layout_for(&specs, kind);
        for values in &rows {
            let bytes = encode_row(&layout, values).expect("encodes");
            assert_eq!(
                &decode_row(&layout, RowRef::new(&bytes)).expect("decodes"),
                values
            );
        }
    }
    let node = layout_for(&specs[..2], RowKind::IndexNode);
    let bytes = encode_node_row(&node, &rows[0][..2], PageId::new(1, 7)).expect("encodes");
    assert_eq!(
        decode_row(&node, RowRef::new(&bytes)).expect("decodes"),
        rows[0][..2]
    );
}

/// Rows are written without a buffer for each column, and come out as those that are put together from fields.
#[test]
fn rows_are_those_made_of_fields() {
    let specs = [
        ColumnSpec::new(SqlType::varchar(30), true),
        ColumnSpec::new(SqlType::BIGINT, false),
        ColumnSpec::new(SqlType::BIT, true),
        ColumnSpec::new(SqlType::nvarchar(30), true),
        ColumnSpec::new(SqlType::decimal(9, 2), true),
        ColumnSpec::new(SqlType::varchar(10), true),
        ColumnSpec::uniquifier(),
    ];
    let texts = [Value::Null, Value::nvarchar(""), Value::nvarchar("Zoë")];
    let words = [
        Value::Null,
        Value::VarChar(Vec::new()),
        Value::VarChar(b"ab".to_vec()),
    ];
    for kind in [RowKind::Data, RowKind::IndexLeaf] {
        let layout = layout_for(&specs, kind);
        for (i, text) in texts.iter().enumerate() {
            for word in &words {
                for last in &words {
                    let values = vec![
                        word.clone(),
                        Value::BigInt(-7),
                        Value::Bit(i == 1),
                        text.clone(),
                        Value::Null,
                        last.clone(),
                        Value::Int(i as i32),
                    ];
                    let fields: Vec<Field<'_>> = layout
                        .columns
                        .iter()
                        .zip(&values)
                        .map(|(c, v)| field_of(c, v).unwrap())
                        .collect();
                    let expected = crate::row::encode_fields(&layout, &fields, None);
                    assert_eq!(encode_row(&layout, &values).unwrap(), expected.unwrap());
                }
            }
        }
    }
}
