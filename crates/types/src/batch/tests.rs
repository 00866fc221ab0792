//! A column gives back what was put in, whatever its form becomes on the way. Random, with seeds that count up.

use super::{Batch, Column, NO_ROW};
use crate::{DateTime, DateTime2, Decimal, SqlType, Value};

/// xorshift64
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

fn types() -> Vec<SqlType> {
    vec![
        SqlType::INT,
        SqlType::BIT,
        SqlType::BIGINT,
        SqlType::FLOAT,
        SqlType::REAL,
        SqlType::DATETIME,
        SqlType::datetime2(7),
        SqlType::numeric(10, 2),
        SqlType::varchar(20),
        SqlType::nvarchar(20),
        SqlType::varbinary(20),
        SqlType::GUID,
    ]
}

fn value(dice: &mut Dice, kind: u64) -> Value {
    let n = dice.next();
    let text: String = (0..n % 5)
        .map(|i| char::from(b'a' + (n >> (8 * i)) as u8 % 20))
        .collect();
    match kind {
        0 => Value::Int(n as i32),
        1 => Value::Bit(n & 1 == 1),
        2 => Value::BigInt(n as i64),
        3 => Value::Float(n as i32 as f64 / 8.0),
        4 => Value::Real(n as i16 as f32),
        5 => Value::DateTime(DateTime {
            days: (n % 2_000_000) as i32 - 53_690,
            ticks: dice.below(25_920_000) as u32,
        }),
        6 => Value::DateTime2(DateTime2 {
            days: (n % 3_000_000) as i32,
            time: dice.below(864_000_000_000),
        }),
        7 => Value::Decimal(Decimal::new(n as i32 as i128, 10, 2).unwrap()),
        8 => Value::varchar(&text),
        9 => Value::nvarchar(&text),
        10 => Value::Binary(text.into_bytes()),
        11 => Value::Guid([n as u8; 16]),
        12 => Value::Decimal(Decimal::new(n as i8 as i128, 5, 1).unwrap()),
        _ => Value::Null,
    }
}

fn column(ty: SqlType, values: &[Value]) -> Column {
    let mut column = Column::of(&ty);
    values.iter().for_each(|v| column.push(v.clone()));
    column
}

fn cells(column: &Column) -> Vec<Value> {
    (0..column.len()).map(|i| column.get(i)).collect()
}

/// Mostly values of one kind, some NULLs, now and then a stranger.
fn values(dice: &mut Dice, kind: u64) -> Vec<Value> {
    let strangers = dice.below(3) == 0;
    let n = dice.below(12);
    let mut one = || match dice.below(8) {
        0 => Value::Null,
        1 if strangers => {
            let any = dice.below(13);
            value(dice, any)
        }
        _ => value(dice, kind),
    };
    (0..n).map(|_| one()).collect()
}

#[test]
fn what_goes_in_comes_out() {
    for seed in 1..2000 {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed << 7);
        dice.next();
        let (a, b) = (dice.below(12), dice.below(24).min(11));
        let mut all = values(&mut dice, a);
        let mut first = column(types()[a as usize], &all);
        assert_eq!(cells(&first), all, "seed {seed}");
        let b = if b % 2 == 0 { a } else { b };
        let more = values(&mut dice, b);
        first.append(&column(types()[b as usize], &more));
        all.extend(more);
        assert_eq!(cells(&first), all, "seed {seed}");

        let mut bytes = Vec::new();
        first.write(&mut bytes, &mut Vec::new());
        bytes.push(7);
        let mut rest = &bytes[..];
        assert_eq!(
            super::Column::read(&mut rest, &[]).as_ref(),
            Ok(&first),
            "seed {seed}"
        );
        assert_eq!(rest, [7]);
        for n in 0..bytes.len() - 1 {
            assert!(
                super::Column::read(&mut &bytes[..n], &[]).is_err(),
                "seed {seed}"
            );
        }
        let mut one_by_one = first.like();
        (0..all.len()).for_each(|i| one_by_one.push_from(&first, i));
        assert_eq!(cells(&one_by_one), all, "seed {seed}");

        let from = dice.below(all.len() as u64 + 1) as usize;
        let to = from + dice.below((all.len() - from) as u64 + 1) as usize;
        assert_eq!(cells(&first.slice(from, to)), all[from..to], "seed {seed}");

        let picks: Vec<u32> = (0..all.len() as u32).rev().chain([NO_ROW]).collect();
        let mut expected: Vec<Value> = all.iter().rev().cloned().collect();
        expected.push(Value::Null);
        assert_eq!(cells(&first.gather(&picks)), expected, "seed {seed}");
    }
}

#[test]
fn stored_bytes_are_read_as_the_value_reader_reads_them() {
    let fixed = [
        SqlType::INT,
        SqlType::BIGINT,
        SqlType::TINYINT,
        SqlType::SMALLINT,
        SqlType::MONEY,
        SqlType::numeric(9, 2),
        SqlType::DATE,
        SqlType::datetime2(3),
    ];
    let mut refused = 0;
    for seed in 1..500 {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed << 7);
        for ty in fixed {
            let short = dice.below(10) == 0;
            let n = if short { 1 } else { ty.fixed_bytes() };
            let cell = |dice: &mut Dice| {
                let mut b = (dice.next() >> 40).to_le_bytes().to_vec();
                b.resize(n, 0);
                (dice.below(4) > 0).then_some(b)
            };
            let bytes: Vec<Option<Vec<u8>>> = (0..dice.below(9)).map(|_| cell(&mut dice)).collect();
            let read = |b: &Option<Vec<u8>>| match b {
                Some(b) => Value::decode_var(&ty, b),
                None => Ok(Value::Null),
            };
            let expected: Result<Vec<Value>, _> = bytes.iter().map(read).collect();
            let mut column = Column::of(&ty);
            let found = column.append_fixed(&ty, bytes.iter().map(|b| Ok(b.as_deref())));
            assert_eq!(found.is_err(), expected.is_err(), "seed {seed}");
            match expected {
                Ok(expected) => assert_eq!(cells(&column), expected, "seed {seed}"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 10, "cells that are too short were met");
}

#[test]
fn a_batch_gathers_all_its_columns() {
    let a = column(SqlType::INT, &[Value::Int(1), Value::Null, Value::Int(3)]);
    let batch = Batch::new(3, vec![a.into(), Column::absent().into()]);
    let picked = batch.gather(&[2, 0]);
    assert_eq!(picked.row(0), [Value::Int(3), Value::Null]);
    assert_eq!(picked.row(1), [Value::Int(1), Value::Null]);
}
