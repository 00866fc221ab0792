//! Bulk loads in pieces of every size, with and without their end.

use duramen_types::{SqlType, Value};

use super::*;
use crate::token::{Column, DoneKind, DoneToken, put_columns, put_done, put_row};

fn stream(done: bool) -> (Vec<u8>, Vec<Vec<Value>>) {
    let types = [
        SqlType::INT,
        SqlType::nvarchar(20),
        SqlType::varchar(duramen_types::MAX_LENGTH),
        SqlType::TEXT,
    ];
    let columns: Vec<Column> = types
        .iter()
        .map(|ty| Column {
            name: "c".into(),
            ty: *ty,
            flags: 1,
        })
        .collect();
    let long = vec![b'x'; 5000];
    let rows = vec![
        vec![
            Value::Int(1),
            Value::nvarchar("one"),
            Value::VarChar(long),
            Value::VarChar(b"text".to_vec()),
        ],
        vec![Value::Null, Value::Null, Value::Null, Value::Null],
    ];
    let mut out = Vec::new();
    put_columns(&mut out, &columns);
    for row in &rows {
        put_row(&mut out, &types, row).unwrap();
    }
    // NULL, 'b', NULL, NULL.
    out.extend_from_slice(&[NBCROW, 0b1101, 2, 0, b'b', 0]);
    if done {
        let done = DoneToken {
            kind: DoneKind::Done,
            status: 0,
            command: 0,
            rows: 0,
        };
        put_done(&mut out, &done);
    }
    let mut rows = rows;
    rows.push(vec![
        Value::Null,
        Value::nvarchar("b"),
        Value::Null,
        Value::Null,
    ]);
    (out, rows)
}

fn read(bytes: &[u8], piece: usize, limit: usize) -> TdsResult<Vec<Vec<Value>>> {
    let mut reader = BulkReader::new(limit);
    let mut rows = Vec::new();
    let mut take = |item: BulkItem| {
        if let BulkItem::Row(row) = item {
            rows.push(row);
        }
    };
    for piece in bytes.chunks(piece) {
        reader.push(piece);
        while let Some(item) = reader.next_item()? {
            take(item);
        }
    }
    while let Some(item) = reader.finish()? {
        take(item);
    }
    Ok(rows)
}

#[test]
fn rows_come_whole_from_pieces_of_any_size() {
    for done in [true, false] {
        let (bytes, rows) = stream(done);
        for piece in [1, 7, 512, 100_000] {
            assert_eq!(
                read(&bytes, piece, 1 << 20).unwrap(),
                rows,
                "{done} {piece}"
            );
        }
    }
}

#[test]
fn the_table_name_of_text_may_be_one_name() {
    let (bytes, rows) = stream(true);
    // One part, empty: 01 00 00. FreeTDS sends the name alone.
    let at = bytes
        .windows(5)
        .position(|w| w == [1, 0, 0, 1, b'c'])
        .unwrap();
    let mut one = bytes[..at].to_vec();
    one.extend_from_slice(&[1, 0, b't', 0]);
    one.extend_from_slice(&bytes[at + 3..]);
    assert_eq!(read(&one, 100_000, 1 << 20).unwrap(), rows);
}

#[test]
fn what_does_not_end_or_goes_on_is_refused() {
    let (bytes, _) = stream(true);
    let cut = read(&bytes[..bytes.len() - 3], 512, 1 << 20);
    assert_eq!(
        cut,
        Err(TdsError::Malformed("a bulk load that ends inside a row"))
    );
    let mut more = bytes.clone();
    more.push(ROW);
    assert!(matches!(
        read(&more, 512, 1 << 20),
        Err(TdsError::Malformed(_))
    ));
    assert_eq!(
        read(&bytes, 64, 1000),
        Err(TdsError::TooLarge("row of a bulk load"))
    );
    assert!(read(&bytes[3..], 512, 1 << 20).is_err());
}

#[test]
fn an_end_with_a_short_count_is_an_end() {
    let (bytes, rows) = stream(true);
    assert_eq!(read(&bytes[..bytes.len() - 4], 512, 1 << 20).unwrap(), rows);
}
