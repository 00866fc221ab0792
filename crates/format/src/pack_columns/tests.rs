//! Rows from columns are the rows that values give, byte for byte.

use duramen_os::random::Rng;
use duramen_types::{DateTime, DateTime2, Decimal, SqlType};

use super::*;
use crate::layout::{ColumnSpec, layout_for};
use crate::pack::append_row;

fn types() -> Vec<SqlType> {
    vec![
        SqlType::INT,
        SqlType::BIT,
        SqlType::BIGINT,
        SqlType::varchar(30),
        SqlType::TINYINT,
        SqlType::SMALLINT,
        SqlType::nvarchar(12),
        SqlType::char(5),
        SqlType::nchar(3),
        SqlType::DATETIME,
        SqlType::datetime2(3),
        SqlType::decimal(12, 2),
        SqlType::FLOAT,
        SqlType::MONEY,
        SqlType::binary(4),
        SqlType::varbinary(9),
        SqlType::BIT,
    ]
}

fn value(rng: &mut Rng, ty: &SqlType) -> Value {
    let text = |rng: &mut Rng, n: usize| -> Vec<u8> {
        (0..n).map(|_| b'a' + rng.below(26) as u8).collect()
    };
    let wide = |b: Vec<u8>| b.into_iter().map(u16::from).collect::<Vec<_>>();
    let n = rng.below(1 << 40) as i64 - (1 << 39);
    let short = rng.below(9) as usize;
    match ty.id {
        TypeId::Int => Value::Int(n as i32),
        TypeId::Bit => Value::Bit(n % 2 == 0),
        TypeId::BigInt => Value::BigInt(n),
        TypeId::TinyInt => Value::TinyInt(n as u8),
        TypeId::SmallInt => Value::SmallInt(n as i16),
        TypeId::VarChar => Value::VarChar(text(rng, short)),
        TypeId::NVarChar => Value::NVarChar(wide(text(rng, short))),
        TypeId::Char => Value::VarChar(text(rng, 5)),
        TypeId::NChar => Value::NVarChar(wide(text(rng, 3))),
        TypeId::DateTime => Value::DateTime(DateTime {
            days: rng.below(80_000) as i32 - 40_000,
            ticks: rng.below(25_920_000) as u32,
        }),
        TypeId::DateTime2 => Value::DateTime2(DateTime2 {
            days: rng.below(700_000) as i32,
            time: rng.below(86_400_000) * 10_000,
        }),
        TypeId::Decimal => Value::Decimal(Decimal::new(i128::from(n % 10_000_000), 12, 2).unwrap()),
        TypeId::Float => Value::Float(n as f64 / 3.0),
        TypeId::Money => Value::Money(n),
        TypeId::Binary => Value::Binary(text(rng, 4)),
        _ => Value::Binary(text(rng, short)),
    }
}

#[test]
fn columns_give_the_bytes_that_values_give() {
    let mut rng = Rng::new(11);
    for round in 0..300 {
        let mut specs: Vec<ColumnSpec> = Vec::new();
        let all = types();
        for _ in 0..1 + rng.below(10) {
            let ty = all[rng.below(all.len() as u64) as usize];
            specs.push(ColumnSpec::new(ty, rng.below(2) == 0));
        }
        if round % 3 == 0 {
            specs.push(ColumnSpec::uniquifier());
        }
        let kind = [RowKind::Data, RowKind::IndexLeaf][round % 2];
        let layout = layout_for(&specs, kind);
        let mut columns: Vec<Column> = specs.iter().map(|s| Column::of(&s.ty)).collect();
        let (mut expected, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            let mut row = Vec::new();
            for (spec, column) in specs.iter().zip(&mut columns) {
                let value = match (spec.nullable && rng.below(4) == 0, spec.uniquifier) {
                    (true, _) => Value::Null,
                    (_, true) => Value::Int(rng.below(3) as i32),
                    _ => value(&mut rng, &spec.ty),
                };
                column.push(value.clone());
                row.push(value);
            }
            append_row(&layout, &row, None, &mut expected).unwrap();
            ends.push(expected.len());
        }
        let columns: Vec<Arc<Column>> = columns.into_iter().map(Arc::new).collect();
        let (mut got, mut got_ends) = (Vec::new(), Vec::new());
        append_rows(&layout, &columns, 20, &mut got, &mut got_ends).unwrap();
        assert_eq!(got_ends, ends, "{specs:?}");
        assert_eq!(got, expected, "{specs:?}");
    }
}

#[test]
fn a_cell_that_is_not_of_its_column_is_refused() {
    let layout = layout_for(&[ColumnSpec::new(SqlType::INT, false)], RowKind::Data);
    let mut column = Column::of(&SqlType::BIGINT);
    column.push(Value::BigInt(1 << 40));
    let made = append_rows(
        &layout,
        &[Arc::new(column)],
        1,
        &mut Vec::new(),
        &mut Vec::new(),
    );
    assert!(made.is_err());
}
